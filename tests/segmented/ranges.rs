//! Segments that overlap, leave gaps and lie in any order have the bits of their slices alone.

use crate::support::data::{Random, assert_same, sample};
use crate::support::operators::Bracketing;
use crate::support::oracle;
#[cfg(feature = "cuda")]
use crate::support::{captured, gpu, stream};
use warpfold::ops::Add;
use warpfold::statistics::Origin;
use warpfold::{
    Device, Error, Function, Offset, Ranges, arg_max, function, map, segmented_arg_max,
    segmented_reduce, segmented_reduce_from,
};

/// Begins and ends: none, one, and many of any lengths among so many items.
fn all_ranges(items: usize) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut random = Random::new(5);
    let mut any = |count: usize, most: u64| -> (Vec<u64>, Vec<u64>) {
        let pair = |_| {
            let begin = random.next() % (items as u64 + 1);
            let end = begin + random.next() % most;
            (begin, end.min(items as u64))
        };
        (0..count).map(pair).unzip()
    };
    let n = items as u64;
    vec![
        (vec![], vec![]),
        (vec![0], vec![n]),
        (vec![n], vec![n]),
        (vec![0, 0, 0], vec![n, n, n]),
        (vec![5, 1, 3], vec![9, 1, 8]),
        any(700, 40),
        any(60, 3000),
        any(9, n + 1),
    ]
}

fn check(device: Option<&Device>) {
    let items = 20_000;
    let (x, y) = (sample::<f32>(items, 1), sample::<u64>(items, 2));
    for (number, (begins, ends)) in all_ranges(items).iter().enumerate() {
        let what = format!("ranges {number}");
        let slices: Vec<_> = begins
            .iter()
            .zip(ends)
            .map(|(&b, &e)| b as usize..e as usize)
            .collect();
        let sums: Vec<_> = slices
            .iter()
            .map(|slice| oracle::reduce::<f32, Add>(&x[slice.clone()], None))
            .collect();
        let brackets: Vec<_> = slices
            .iter()
            .map(|slice| oracle::reduce::<u64, Bracketing>(&y[slice.clone()], Some(7)))
            .collect();
        let (got, got_brackets) = match device {
            None => {
                let ranges = Ranges::new(begins, ends).unwrap();
                let offsets = ranges.offsets().unwrap();
                let of_x = ranges.items(&x).unwrap();
                let of_y = ranges.items(&y).unwrap();
                (
                    segmented_reduce::<f32, Add>(of_x, offsets).unwrap(),
                    segmented_reduce_from::<u64, Bracketing>(7, of_y, offsets).unwrap(),
                )
            }
            Some(device) => {
                let short = |all: &[u64]| all.iter().map(|&at| at as u32).collect::<Vec<_>>();
                let begins = device.upload(&short(begins)).unwrap();
                let ends = device.upload(&short(ends)).unwrap();
                let ranges = device.ranges(&begins, &ends).unwrap();
                let offsets = ranges.offsets().unwrap();
                let (x, y) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
                let of_x = ranges.items(&x).unwrap();
                let of_y = ranges.items(&y).unwrap();
                let sums = device.segmented_reduce::<f32, Add>(of_x, offsets).unwrap();
                let brackets = device
                    .segmented_reduce_from::<u64, Bracketing>(7, of_y, offsets)
                    .unwrap();
                (sums.to_vec().unwrap(), brackets.to_vec().unwrap())
            }
        };
        assert_same(&got, &sums, &what);
        assert_same(&got_brackets, &brackets, &what);
    }
}

#[test]
fn ranges_are_folded_as_their_slices_are() {
    check(None);
    check(Some(&Device::cpu()));
}

#[cfg(feature = "cuda")]
#[test]
fn ranges_on_the_gpu_are_folded_as_their_slices_are() {
    let Some(device) = gpu(0) else { return };
    check(Some(&device));
}

#[function]
fn negated(x: f32) -> f32 {
    -x
}

/// What takes a source and segments takes ranges, over any source.
#[test]
fn statistics_of_ranges_and_mapped_items() {
    let x = sample::<f32>(500, 3);
    let (begins, ends) = ([400_u32, 10, 30], [500_u32, 60, 30]);
    let ranges = Ranges::new(&begins, &ends).unwrap();
    let items = ranges.items(map::<negated, _>(&x)).unwrap();
    let got = segmented_arg_max(items, ranges.offsets().unwrap(), Origin::Segment).unwrap();
    let least = |from: usize, to: usize| {
        let slice: Vec<_> = x[from..to].iter().map(|x| -x).collect();
        arg_max(&slice).unwrap()
    };
    assert_eq!(got, [least(400, 500), least(10, 60), None]);
}

#[track_caller]
fn assert_refused<T>(result: Result<T, Error>, parts: &[&str]) {
    let message = result.err().expect("it is refused").to_string();
    for part in parts {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn wrong_ranges_are_refused_with_their_place() {
    let device = Device::cpu();
    let (begins, ends) = ([0_u32, 7, 9], [3_u32, 5, 9]);
    let parts = [
        "`begins` pass",
        "begins[1] is 7, greater than ends[1], which is 5",
    ];
    assert_refused(Ranges::new(&begins, &ends), &parts);
    let (b, e) = (
        device.upload(&begins).unwrap(),
        device.upload(&ends).unwrap(),
    );
    assert_refused(device.ranges(&b, &e), &parts);
    let parts = ["3 items is zipped with one of 2"];
    assert_refused(Ranges::new(&begins, &ends[..2]), &parts);
    let parts = [
        "`ends` pass the end",
        "the greatest is 9, but there are 8 items",
    ];
    let ranges = Ranges::new(&[1_u64, 0], &[9_u64, 2]).unwrap();
    assert_refused(ranges.items(&[1_u8; 8]), &parts);
    let (b, e) = (
        device.upload(&[1_u64, 0]).unwrap(),
        device.upload(&[9_u64, 2]).unwrap(),
    );
    let ranges = device.ranges(&b, &e).unwrap();
    let x = device.upload(&[1_u8; 8]).unwrap();
    assert_refused(ranges.items(&x), &parts);
}

/// Begins and ends that nobody checked: what lies beyond the items is their end, and a segment that
/// ends before it begins is empty.
#[test]
fn unchecked_ranges_stay_within_the_items() {
    let length = <u32 as Offset>::Length::call;
    assert_eq!(length((3, 7, 10)), 4);
    assert_eq!(length((7, 3, 10)), 0);
    assert_eq!(length((3, 70, 10)), 7);
    assert_eq!(length((30, 70, 10)), 0);
    assert_eq!(<u64 as Offset>::Length::call((3, u64::MAX, 10)), 7);
    let shift = <u32 as Offset>::Shift::call;
    assert_eq!(shift((2, 5, 10)), 3);
    assert_eq!(shift((5, 2, 10)), 3_u64.wrapping_neg());
    assert_eq!(shift((2, 70, 10)), 8);
    assert_eq!(<u64 as Offset>::Shift::call((2, u64::MAX, 10)), 8);
}

/// On a stream of the caller's: in the emulator, and on a GPU.
#[cfg(feature = "cuda")]
mod of_the_caller {
    use super::super::emulated::{arguments, policy, scratch_bytes, slice};
    use super::*;
    use crate::emulator::{Argument, Grid, Script, Toolchain, address, base_seed};
    use crate::support::workspace::used_workspace;
    use warpfold::codegen::kernels::{Expand, ExpandArguments, SegmentedReduce};
    use warpfold::cuda::{self, CutRanges, InRanges, Workspace, in_ranges};
    use warpfold::source::{
        Constant, ConstantArguments, GatherArguments, IndexArguments, Map, Slice, Zip, ZipArguments,
    };
    use warpfold::{Offsets, OffsetsArguments, OffsetsOf, bytemuck};

    type Shifts = Map<<u64 as Offset>::Shift, Zip<(Slice<u64>, Slice<u64>, Constant<u64>)>>;
    type Items = InRanges<Slice<f32>>;

    /// The ranges, and some that nobody checked; for each its slice, as it counts.
    fn all_unchecked(items: usize) -> Vec<(Vec<u64>, Vec<u64>)> {
        let n = items as u64;
        let mut all = all_ranges(items);
        all.push((vec![5, n + 9, 4, n - 2], vec![3, n + 20, 4, n + 7]));
        all
    }

    fn slices(begins: &[u64], ends: &[u64], items: usize) -> Vec<std::ops::Range<usize>> {
        let pair = |(&begin, &end): (&u64, &u64)| {
            let [begin, end] = [begin, end].map(|at| (at as usize).min(items));
            begin..end.max(begin)
        };
        begins.iter().zip(ends).map(pair).collect()
    }

    /// The scan that makes offsets of lengths is one as any other, so here the host does it.
    #[test]
    fn ranges_in_the_emulator_are_folded_as_their_slices_are() {
        let Some(toolchain) = Toolchain::get() else {
            return;
        };
        let expand = Expand::<u64, Shifts, OffsetsOf<u64>>::kernel();
        let text = expand.source().unwrap();
        let shifting = toolchain.module("shifts of ranges", &text, expand.functions());
        let plan = policy::<f32>();
        let reduce = SegmentedReduce::<f32, Add, Items, OffsetsOf<u64>>::kernel(plan);
        let text = reduce.source().unwrap();
        let reducing = toolchain.module("segmented ranges", &text, reduce.functions());
        let items = 9000;
        let x = sample::<f32>(items, 1);
        for (number, (begins, ends)) in all_unchecked(items).iter().enumerate() {
            let (what, count) = (format!("ranges {number}"), begins.len());
            let mut offsets = vec![0_u64];
            for (&begin, &end) in begins.iter().zip(ends) {
                let length = <u64 as Offset>::Length::call((begin, end, items as u64));
                offsets.push(offsets[offsets.len() - 1] + length);
            }
            // Room for one item more.
            let total = offsets[count] as usize + 1;
            if count == 0 {
                continue;
            }
            let mut script = Script::new();
            script.seed(base_seed() + number as u64);
            for (name, numbers) in [("begins", begins), ("offsets", &offsets)] {
                script.file(name, bytemuck::cast_slice(numbers));
                script.filled(name, 0, 8 * numbers.len(), name);
            }
            script.buffer("shifts", 0, 8 * total);
            let places = ZipArguments(
                slice("begins"),
                ConstantArguments {
                    value: items as u64,
                },
            );
            let segments = OffsetsArguments {
                offsets: address("offsets", 0),
                count: count as u64,
                items: total as u64,
            };
            let given = ExpandArguments {
                values: ZipArguments(slice("offsets"), places),
                segments,
                out: address("shifts", 0),
                none: 0_u64,
            };
            let (tiles, threads) = Expand::<u64, Shifts, OffsetsOf<u64>>::grid(total, count);
            let name = Expand::<u64, Shifts, OffsetsOf<u64>>::EXPAND.name;
            let grid = Grid::new(tiles, threads);
            script.launch(name, grid, &[Argument::of_struct(&given)]);
            script.save("shifts");
            let shifts = script.run_to_the_end(&what, &shifting);

            let mut script = Script::new();
            script.seed(base_seed() + number as u64);
            script.file("x", bytemuck::cast_slice(&x));
            script.filled("x", 0, 4 * items, "x");
            script.file("shifts", &shifts);
            script.filled("shifts", 0, shifts.len(), "shifts");
            script.file("offsets", bytemuck::cast_slice(&offsets));
            script.filled("offsets", 0, 8 * offsets.len(), "offsets");
            script.file("workspace", &used_workspace(scratch_bytes::<f32>(total)));
            script.filled("workspace", 0, scratch_bytes::<f32>(total), "workspace");
            script.buffer("out", 0, 4 * count);
            let source = GatherArguments {
                data: slice("x"),
                index: ZipArguments(slice("shifts"), IndexArguments { first: 0 }),
                last: items as u64 - 1,
            };
            let given = arguments::<f32, _, _>((source, segments), total, (0.0, false));
            let threads = 32 * plan.warps;
            let grid = Grid::new(plan.tiles(total, count), threads);
            script.launch("segmented_reduce", grid, &[Argument::of_struct(&given)]);
            if plan.has_long(total) {
                let grid = Grid::new(2, threads);
                script.launch("segmented_finish", grid, &[Argument::of_struct(&given)]);
            }
            script.save("out");
            let saved = script.run_to_the_end(&what, &reducing);
            let got: Vec<f32> = bytemuck::pod_collect_to_vec(&saved);
            let slices = slices(begins, ends, items);
            let fold = |slice: &std::ops::Range<usize>| {
                oracle::reduce::<f32, Add>(&x[slice.clone()], None)
            };
            assert_same(&got, &slices.iter().map(fold).collect::<Vec<_>>(), &what);
        }
    }

    /// One graph for all ranges of a number: they are read when it runs.
    #[test]
    fn ranges_on_a_stream_of_the_caller_are_captured() {
        let Some((context, stream)) = stream() else {
            return;
        };
        let items = 20_000;
        let x = sample::<f32>(items, 1);
        let source = stream.clone_htod(&x).unwrap();
        let cut = CutRanges::<u64>::load(&context).unwrap();
        let reduce = cuda::SegmentedReduce::<f32, Add, Items, OffsetsOf<u64>>::load(&context);
        let reduce = reduce.unwrap();
        for (number, (begins, ends)) in all_unchecked(items).iter().enumerate() {
            let count = begins.len();
            if count == 0 {
                continue;
            }
            let slices = slices(begins, ends, items);
            let total: usize = slices.iter().map(|slice| slice.len()).sum();
            let mut from = stream.alloc_zeros::<u64>(count).unwrap();
            let mut to = stream.alloc_zeros::<u64>(count).unwrap();
            let mut offsets = stream.clone_htod(&vec![9_u64; count + 1]).unwrap();
            let mut shifts = stream.alloc_zeros::<u64>(total + 3).unwrap();
            let mut sums = stream.alloc_zeros::<f32>(count).unwrap();
            let bytes = cut
                .workspace_bytes(count)
                .max(reduce.workspace_bytes(shifts.len()));
            let mut workspace = Workspace::new(&stream, bytes).unwrap();
            let mut enqueue = || {
                let ranges = (&from, &to, items);
                cut.enqueue(&stream, ranges, &mut offsets, &mut shifts, &mut workspace)?;
                let segments = Offsets::unchecked(&offsets)?;
                let all = in_ranges(&source, &shifts);
                reduce.enqueue(&stream, all, segments, &mut sums, &mut workspace)
            };
            // Kernels for odd addresses are loaded by the first call.
            enqueue().unwrap();
            let graph = captured(&stream, enqueue);
            // First in the other order.
            let turned = |all: &[u64]| all.iter().rev().copied().collect::<Vec<_>>();
            for turn in [true, false] {
                let [begins, ends] = [begins, ends].map(|all| match turn {
                    true => turned(all),
                    false => all.clone(),
                });
                stream.memcpy_htod(&begins, &mut from).unwrap();
                stream.memcpy_htod(&ends, &mut to).unwrap();
                graph.launch().unwrap();
                let mut slices = slices.clone();
                if turn {
                    slices.reverse();
                }
                let fold =
                    |slice: std::ops::Range<usize>| oracle::reduce::<f32, Add>(&x[slice], None);
                let expected: Vec<_> = slices.into_iter().map(fold).collect();
                let got = stream.clone_dtoh(&sums).unwrap();
                assert_same(&got, &expected, &format!("ranges {number} {turn}"));
                let last = stream.clone_dtoh(&offsets).unwrap()[count];
                assert_eq!(last, total as u64);
            }
        }
    }
}
