//! Partitions, positions and runs at the third level: every engine, from and to everywhere, into
//! too little room, with a workspace that others have used.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::stream;
use warpfold::codegen::Engine;
use warpfold::codegen::kernels::{self, Outputs};
use warpfold::cuda::cudarc::driver::{CudaContext, DeviceRepr, ValidAsZeroBits};
use warpfold::cuda::{PartitionBy, Positions, Runs, Select, SelectBy, Workspace, up_to};
use warpfold::source::{Comparable, Equal, Flagged, Form, Heads, Map, NonZero, Slice, UpTo, Zip};
use warpfold::{Function, flagged, flags, function, heads, zip};

#[function]
fn below_nine(x: u32) -> bool {
    x < 9
}

const LENGTHS: &[usize] = &[
    0, 1, 2, 31, 33, 1000, 4095, 8192, 8193, 100_003, 262_144, 1_000_000, 5_000_011, 20_000_003,
];

/// What is loaded without a word, and each engine by itself.
fn engines<T, F, O>(context: &std::sync::Arc<CudaContext>) -> Vec<Select<T, F, O>>
where
    T: Sample,
    F: Form<Item = (T, bool)>,
    O: Outputs,
{
    let (major, minor) = context.compute_capability().unwrap();
    let capability = (10 * major + minor) as u32;
    let rows = Engine::Rows(kernels::Select::<T, F, O>::rows_policy(capability));
    let long = kernels::Select::<T, F, O>::long_rows_policy(capability).map(Engine::Rows);
    let wave = kernels::Select::<T, F, O>::wave_policy(capability).map(Engine::Wave);
    let short = kernels::Select::<T, F, O>::short_rows_policy(capability).map(Engine::Rows);
    let mut engines = vec![rows];
    engines.extend(short.into_iter().chain(long));
    engines.extend(wave.filter(|wave| wave.runs_on(capability)));
    let by_engine = engines
        .into_iter()
        .map(|engine| Select::load_engine(context, engine).unwrap());
    std::iter::once(Select::load(context).unwrap())
        .chain(by_engine)
        .collect()
}

/// Where a slice starts, and two outputs.
const PLACES: [(usize, usize, usize); 5] =
    [(0, 0, 0), (1, 0, 2), (0, 3, 1), (5, 1, 0), (16, 16, 16)];

fn check_partition<T, P>(lengths: &[usize], holds: fn(T) -> bool)
where
    T: Sample + DeviceRepr + ValidAsZeroBits,
    P: Function<Input = (T,), Output = bool>,
    Flagged<P, Slice<T>>: Form<Item = (T, bool)>,
    T: warpfold::source::Feeds<(T,)>,
{
    let Some((context, stream)) = stream() else {
        return;
    };
    type F<P, T> = Flagged<P, Slice<T>>;
    let most = lengths[lengths.len() - 1] + 20;
    let data = sample::<T>(most, 9);
    let input = stream.clone_htod(&data).unwrap();
    for partition in engines::<T, F<P, T>, kernels::Sides>(&context) {
        let partition: PartitionBy<T, P> = partition;
        let mut workspace = Workspace::new(&stream, partition.workspace_bytes(most)).unwrap();
        let [mut first, mut second] = [0; 2].map(|_| stream.alloc_zeros::<T>(most).unwrap());
        let mut count = stream.alloc_zeros::<u64>(1).unwrap();
        for (number, &len) in lengths.iter().enumerate() {
            let (from, to, others_to) = PLACES[number % 5];
            let what = format!("{} from {from}: {len}", std::any::type_name::<T>());
            let (kept, others): (Vec<T>, Vec<T>) =
                data[from..from + len].iter().partition(|x| holds(**x));
            // Now and then too little room.
            let room = |all: usize, often| if number % often == 3 { all / 2 } else { all };
            let rooms = (room(kept.len(), 4), room(others.len(), 5));
            let view = input.slice(from..from + len);
            let mut a = first.slice_mut(to..to + rooms.0);
            let mut b = second.slice_mut(others_to..others_to + rooms.1);
            let source = flagged::<P, _>(&view);
            partition
                .enqueue(&stream, source, &mut a, &mut b, &mut count, &mut workspace)
                .unwrap();
            let counted = stream.clone_dtoh(&count).unwrap()[0] as usize;
            assert_eq!(counted, kept.len(), "{what}");
            assert_same(&stream.clone_dtoh(&a).unwrap(), &kept[..rooms.0], &what);
            assert_same(&stream.clone_dtoh(&b).unwrap(), &others[..rooms.1], &what);
        }
    }
}

#[function]
fn low_byte(x: u8) -> bool {
    x < 200
}

#[function]
fn low_short(x: u16) -> bool {
    x < 3000
}

#[function]
fn small(x: u32) -> bool {
    x & 15 < 3
}

#[function]
fn never(x: u32) -> bool {
    x > 0 && x < 1
}

#[function]
fn always(x: u64) -> bool {
    x > 0 || x < 1
}

#[function]
fn even_first(x: [u32; 3]) -> bool {
    x[0] & 1 == 0
}

#[function]
fn odd_last(x: [u8; 33]) -> bool {
    x[32] % 2 == 1
}

#[test]
fn partitions_of_small_elements() {
    check_partition::<u8, low_byte>(LENGTHS, low_byte);
    check_partition::<u16, low_short>(LENGTHS, low_short);
}

#[test]
fn partitions_of_words() {
    check_partition::<u32, small>(LENGTHS, small);
    check_partition::<u32, never>(LENGTHS, never);
    check_partition::<u64, always>(LENGTHS, always);
}

#[test]
fn partitions_of_long_elements() {
    check_partition::<[u32; 3], even_first>(LENGTHS, even_first);
    check_partition::<[u8; 33], odd_last>(&LENGTHS[..11], odd_last);
}

#[test]
fn selects_and_positions_by_flags() {
    let Some((context, stream)) = stream() else {
        return;
    };
    type Mask = Map<NonZero<u8>, Slice<u8>>;
    let most = LENGTHS[LENGTHS.len() - 1] + 20;
    let (data, mut mask) = (sample::<u32>(most, 5), sample::<u8>(most, 6));
    mask.iter_mut().for_each(|flag| *flag &= 3);
    let x = stream.clone_htod(&data).unwrap();
    let m = stream.clone_htod(&mask).unwrap();
    let mut out = stream.alloc_zeros::<u32>(most).unwrap();
    let mut found = stream.alloc_zeros::<u64>(most).unwrap();
    let mut count = stream.alloc_zeros::<u64>(1).unwrap();
    let selects = engines::<u32, Zip<(Slice<u32>, Mask)>, kernels::Kept>(&context);
    let find = Positions::<Mask>::load(&context).unwrap();
    let bytes = selects.iter().map(|select| select.workspace_bytes(most));
    let bytes = bytes.max().unwrap().max(find.workspace_bytes(most));
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    for (number, &len) in LENGTHS.iter().enumerate() {
        let (from, mask_from, to) = PLACES[number % 5];
        let view = x.slice(from..from + len);
        let flags_of = m.slice(mask_from..mask_from + len);
        let set = |i: &usize| mask[mask_from + i] != 0;
        let places: Vec<usize> = (0..len).filter(set).collect();
        for select in &selects {
            let mut out = out.slice_mut(to..to + len);
            let source = zip(&view, flags(&flags_of));
            select
                .enqueue(&stream, source, &mut out, &mut count, &mut workspace)
                .unwrap();
            let counted = stream.clone_dtoh(&count).unwrap()[0] as usize;
            assert_eq!(counted, places.len(), "{len}");
            let got = stream.clone_dtoh(&out.slice(..counted)).unwrap();
            let expected: Vec<u32> = places.iter().map(|i| data[from + i]).collect();
            assert_same(
                &got,
                &expected,
                &format!("{len} from {from} and {mask_from}"),
            );
        }
        let mut found = found.slice_mut(to..to + len);
        find.enqueue(
            &stream,
            flags(&flags_of),
            &mut found,
            &mut count,
            &mut workspace,
        )
        .unwrap();
        let counted = stream.clone_dtoh(&count).unwrap()[0] as usize;
        let got = stream.clone_dtoh(&found.slice(..counted)).unwrap();
        let expected: Vec<u64> = places.iter().map(|&i| i as u64).collect();
        assert_same(
            &got,
            &expected,
            &format!("positions of {len} from {mask_from}"),
        );
    }
}

fn check_runs<T: Sample + Comparable + DeviceRepr + ValidAsZeroBits>() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let most = LENGTHS[LENGTHS.len() - 1] + 20;
    let mut data = sample::<T>(most, 7);
    for i in (1..most).filter(|i| i * 7 % 11 % 4 > 0) {
        data[i] = data[i - 1];
    }
    let input = stream.clone_htod(&data).unwrap();
    let mut items = stream.alloc_zeros::<T>(most).unwrap();
    let [mut starts, mut lengths] = [0; 2].map(|_| stream.alloc_zeros::<u64>(most).unwrap());
    let mut count = stream.alloc_zeros::<u64>(1).unwrap();
    let runs = Runs::<T, Heads<Equal<T>, Slice<T>>>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, runs.workspace_bytes(most)).unwrap();
    for (number, &len) in LENGTHS.iter().enumerate() {
        let (from, to, starts_to) = PLACES[number % 5];
        let what = format!("{} from {from}: {len}", std::any::type_name::<T>());
        let data = &data[from..from + len];
        let expected: Vec<usize> = (0..len)
            .filter(|&i| i == 0 || data[i] != data[i - 1])
            .collect();
        let view = input.slice(from..from + len);
        // Now and then too little room.
        let room = match number % 4 {
            3 => expected.len() / 2,
            _ => expected.len(),
        };
        let mut items = items.slice_mut(to..to + room);
        let mut starts = starts.slice_mut(starts_to..starts_to + len);
        let mut lengths = lengths.slice_mut(to..to + len);
        let outputs = (&mut items, &mut starts, &mut lengths);
        runs.enqueue(&stream, heads(&view), outputs, &mut count, &mut workspace)
            .unwrap();
        let counted = stream.clone_dtoh(&count).unwrap()[0] as usize;
        assert_eq!(counted, expected.len(), "{what}");
        let values: Vec<T> = expected[..room].iter().map(|&i| data[i]).collect();
        assert_same(&stream.clone_dtoh(&items).unwrap(), &values, &what);
        let places: Vec<u64> = expected[..room].iter().map(|&i| i as u64).collect();
        let got = stream.clone_dtoh(&starts.slice(..room)).unwrap();
        assert_same(&got, &places, &what);
        let ends = expected.iter().skip(1).copied().chain([len]);
        let all: Vec<u64> = expected
            .iter()
            .zip(ends)
            .map(|(s, e)| (e - s) as u64)
            .collect();
        let known = if room < counted {
            room.saturating_sub(1)
        } else {
            room
        };
        let got = stream.clone_dtoh(&lengths.slice(..known)).unwrap();
        assert_same(&got, &all[..known], &what);
    }
}

#[test]
fn runs_of_equal_numbers() {
    check_runs::<u8>();
    check_runs::<u32>();
    check_runs::<f64>();
}

/// What one call counts limits the next. The host waits for neither.
#[test]
fn a_count_on_the_device_is_the_next_calls_length() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let most = LENGTHS[LENGTHS.len() - 1];
    let data: Vec<u32> = sample::<u32>(most, 3).iter().map(|x| x % 16).collect();
    let input = stream.clone_htod(&data).unwrap();
    let [mut first, mut items] = [0; 2].map(|_| stream.alloc_zeros::<u32>(most).unwrap());
    let [mut starts, mut lengths] = [0; 2].map(|_| stream.alloc_zeros::<u64>(most).unwrap());
    let [mut kept, mut counted] = [0; 2].map(|_| stream.alloc_zeros::<u64>(1).unwrap());
    let select = SelectBy::<u32, below_nine>::load(&context).unwrap();
    let runs = Runs::<u32, Heads<Equal<u32>, UpTo<Slice<u32>>>>::load(&context).unwrap();
    let bytes = select.workspace_bytes(most).max(runs.workspace_bytes(most));
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    for &len in LENGTHS {
        let source = input.slice(..len);
        let source = flagged::<below_nine, _>(&source);
        select
            .enqueue(&stream, source, &mut first, &mut kept, &mut workspace)
            .unwrap();
        let source = first.slice(..len);
        let source = heads(up_to(&source, &kept));
        let outputs = (&mut items, &mut starts, &mut lengths);
        runs.enqueue(&stream, source, outputs, &mut counted, &mut workspace)
            .unwrap();
        let small: Vec<u32> = data[..len].iter().copied().filter(|x| *x < 9).collect();
        let expected: Vec<(u32, u64)> = small
            .chunk_by(|a, b| a == b)
            .map(|run| (run[0], run.len() as u64))
            .collect();
        let count = stream.clone_dtoh(&counted).unwrap()[0] as usize;
        let got_items = stream.clone_dtoh(&items.slice(..count)).unwrap();
        let got_lengths = stream.clone_dtoh(&lengths.slice(..count)).unwrap();
        let got: Vec<(u32, u64)> = got_items.into_iter().zip(got_lengths).collect();
        assert!(got == expected, "{len} items");
    }
}

#[test]
fn a_length_that_is_not_there_is_an_error() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let input = stream.clone_htod(&[1_u32, 2, 3]).unwrap();
    let none = input.slice(..0);
    let numbers = stream.alloc_zeros::<u64>(1).unwrap();
    let none_counted = numbers.slice(..0);
    let mut out = stream.alloc_zeros::<u32>(3).unwrap();
    let mut count = stream.alloc_zeros::<u64>(1).unwrap();
    let select = Select::<u32, Flagged<below_nine, UpTo<Slice<u32>>>>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, select.workspace_bytes(3)).unwrap();
    let source = flagged::<below_nine, _>(up_to(&input, &none_counted));
    let error = select
        .enqueue(&stream, source, &mut out, &mut count, &mut workspace)
        .unwrap_err();
    assert!(error.to_string().contains("give a slice of one `u64`"));
    let source = flagged::<below_nine, _>(up_to(&none, &numbers));
    select
        .enqueue(&stream, source, &mut out, &mut count, &mut workspace)
        .unwrap();
    assert_eq!(stream.clone_dtoh(&count).unwrap(), [0]);
}

/// Short, so that compute-sanitizer can watch.
#[test]
fn sanitized_partitions() {
    check_partition::<u32, small>(&LENGTHS[..9], small);
    check_partition::<u8, low_byte>(&LENGTHS[..9], low_byte);
}
