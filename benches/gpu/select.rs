//! Compaction: selects, partitions, positions and runs, beside CUB and a copy of as many bytes.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::elements::{Sample, data};
use crate::measure::{Contender, Work};
use crate::record::Library;
use crate::trial::{Name, Trial};
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut,
};
use warpfold::cuda::{PartitionBy, Positions, Runs, Select, SelectBy, Workspace};
use warpfold::source::{Equal, Flagged, Form, Heads, Map, NonZero, Slice, Zip};
use warpfold::{Element, Function, flagged, flags, function, heads_by, zip};

#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
pub(crate) struct Pair {
    key: u32,
    value: u32,
}

impl Sample for Pair {
    fn sample(random: u64) -> Pair {
        Pair {
            key: (random >> 7) as u32,
            value: random as u32,
        }
    }
}

#[function]
fn half(x: u32) -> bool {
    x < 0x8000_0000
}

#[function]
fn twentieth(x: u32) -> bool {
    x < 0x0ccc_cccd
}

#[function]
fn half_of_pairs(x: Pair) -> bool {
    x.key < 0x8000_0000
}

#[function]
fn half_of_bytes(x: u8) -> bool {
    x < 128
}

#[function]
fn few_bytes(x: u8) -> bool {
    x < 13
}

#[function]
fn half_of_words(x: u16) -> bool {
    x < 0x8000
}

#[function]
fn half_of_f64(x: f64) -> bool {
    x > 0.75
}

#[function]
fn half_of_pixels(x: [u8; 3]) -> bool {
    x[1] < 128
}

#[function]
fn half_of_triples(x: [f32; 3]) -> bool {
    x[1] > 0.75
}

#[function]
fn same_triples(a: [f32; 3], b: [f32; 3]) -> bool {
    a[0] == b[0] && a[1] == b[1] && a[2] == b[2]
}

#[function]
fn half_of_fours(x: [f32; 4]) -> bool {
    x[1] > 0.424
}

#[function]
fn half_of_sixes(x: [f32; 6]) -> bool {
    x[1] > 0.75
}

#[function]
fn half_of_blocks(x: [f32; 16]) -> bool {
    x[1] > 0.75
}

const EVERY: &[usize] = &[
    1,
    1000,
    1 << 14,
    1 << 16,
    1 << 18,
    1_000_000,
    1 << 20,
    1 << 22,
    1 << 24,
    1 << 26,
    1 << 28,
    1 << 30,
];
const SOME: &[usize] = &[1000, 1_000_000, 1 << 22, 1 << 24, 1 << 26, 1 << 28];
/// Of the types that only show what the element's size costs.
const FEW: &[usize] = &[1_000_000, 1 << 26];

pub(crate) fn run(bench: &mut Bench) {
    select::<u32, half>(bench, "u32", "half", EVERY, half);
    select::<u32, twentieth>(bench, "u32", "twentieth", EVERY, twentieth);
    select::<Pair, half_of_pairs>(bench, "pair", "half", SOME, half_of_pairs);
    select::<u8, half_of_bytes>(bench, "u8", "half", SOME, half_of_bytes);
    select_flags(bench);
    partition::<u32, half>(bench, "u32", SOME, half);
    positions(bench);
    unique::<_, Equal<u32>>(bench, "u32", "fours", SOME, |run| run);
    runs::<_, Equal<u32>>(bench, "u32", "fours", SOME, |run| run);

    select::<u8, few_bytes>(bench, "u8", "twentieth", FEW, few_bytes);
    select::<u16, half_of_words>(bench, "u16", "half", FEW, half_of_words);
    select::<f64, half_of_f64>(bench, "f64", "half", FEW, half_of_f64);
    select::<[u8; 3], half_of_pixels>(bench, "pixel", "half", FEW, half_of_pixels);
    select::<[f32; 3], half_of_triples>(bench, "f32x3", "half", FEW, half_of_triples);
    select::<[f32; 4], half_of_fours>(bench, "f32x4", "half", FEW, half_of_fours);
    select::<[f32; 6], half_of_sixes>(bench, "f32x6", "half", FEW, half_of_sixes);
    select::<[f32; 16], half_of_blocks>(bench, "f32x16", "half", FEW, half_of_blocks);
    partition::<u8, half_of_bytes>(bench, "u8", FEW, half_of_bytes);
    partition::<u16, half_of_words>(bench, "u16", FEW, half_of_words);
    partition::<f64, half_of_f64>(bench, "f64", FEW, half_of_f64);
    partition::<[f32; 3], half_of_triples>(bench, "f32x3", FEW, half_of_triples);
    unique::<_, Equal<u8>>(bench, "u8", "fours", FEW, |run| run as u8);
    unique::<_, Equal<u16>>(bench, "u16", "fours", FEW, |run| run as u16);
    unique::<_, Equal<f64>>(bench, "f64", "fours", FEW, f64::from);
    unique::<_, same_triples>(bench, "f32x3", "fours", FEW, |run| [run as f32, 0.0, 1.0]);
    unique::<_, Equal<u32>>(bench, "u32", "thousands", FEW, |run| run / 256);
    runs::<_, Equal<u8>>(bench, "u8", "fours", FEW, |run| run as u8);
    runs::<_, Equal<f64>>(bench, "f64", "fours", FEW, f64::from);
    runs::<_, Equal<u32>>(bench, "u32", "thousands", FEW, |run| run / 256);
}

fn select<T, P>(
    bench: &mut Bench,
    element: &'static str,
    operator: &'static str,
    lengths: &'static [usize],
    holds: fn(T) -> bool,
) where
    T: Sample,
    P: Function<Input = (T,), Output = bool>,
    Flagged<P, Slice<T>>: Form<Item = (T, bool)>,
{
    let family = Family {
        primitive: "select",
        element,
        operator,
        lengths,
        elements: &data::<T>,
        keeps: &|elements, i| holds(elements[i]),
        stored: &[Stored::Kept],
        flag_bytes: 0,
    };
    family.run(bench, |stream, bench| {
        let select = SelectBy::<T, P>::load(&bench.context).expect("kernels");
        let bytes = select.workspace_bytes(family.longest());
        let call: Call<'_, T> = Box::new(move |input, output, more| {
            let (source, count) = (flagged::<P, _>(input), &mut more.count);
            select
                .enqueue(stream, source, output, count, &mut more.workspace)
                .expect("a launch");
        });
        (bytes, call)
    });
}

/// Flags lie in a slice of their own.
fn select_flags(bench: &mut Bench) {
    type Flags = Map<NonZero<u8>, Slice<u8>>;
    let family = Family {
        primitive: "select",
        element: "u32",
        operator: "flags",
        lengths: SOME,
        elements: &data::<u32>,
        keeps: &|_, i| flag(i) != 0,
        stored: &[Stored::Kept],
        flag_bytes: 1,
    };
    family.run(bench, |stream, bench| {
        let select = Select::<u32, Zip<(Slice<u32>, Flags)>>::load(&bench.context);
        let select = select.expect("kernels");
        let bytes = select.workspace_bytes(family.longest());
        let call: Call<'_, u32> = Box::new(move |input, output, more| {
            let flags = more.flags.slice(..input.len());
            let source = zip(input, warpfold::flags(&flags));
            select
                .enqueue(stream, source, output, &mut more.count, &mut more.workspace)
                .expect("a launch");
        });
        (bytes, call)
    });
}

fn partition<T, P>(
    bench: &mut Bench,
    element: &'static str,
    lengths: &'static [usize],
    holds: fn(T) -> bool,
) where
    T: Sample,
    P: Function<Input = (T,), Output = bool>,
    Flagged<P, Slice<T>>: Form<Item = (T, bool)>,
{
    let family = Family {
        primitive: "partition",
        element,
        operator: "half",
        lengths,
        elements: &data::<T>,
        keeps: &|elements: &[T], i| holds(elements[i]),
        stored: &[Stored::Kept, Stored::Others],
        flag_bytes: 0,
    };
    family.run(bench, |stream, bench| {
        let partition = PartitionBy::<T, P>::load(&bench.context).expect("kernels");
        let bytes = partition.workspace_bytes(family.longest());
        let call: Call<'_, T> = Box::new(move |input, output, more| {
            let (source, count) = (flagged::<P, _>(input), &mut more.count);
            let (others, workspace) = (&mut more.others, &mut more.workspace);
            partition
                .enqueue(stream, source, output, others, count, workspace)
                .expect("a launch");
        });
        (bytes, call)
    });
}

fn positions(bench: &mut Bench) {
    let family = Family {
        primitive: "positions",
        element: "u8",
        operator: "flags",
        lengths: SOME,
        elements: &|length| (0..length).map(flag).collect(),
        keeps: &|elements: &[u8], i| elements[i] != 0,
        stored: &[Stored::Starts],
        flag_bytes: 0,
    };
    family.run(bench, |stream, bench| {
        let positions = Positions::<Map<NonZero<u8>, Slice<u8>>>::load(&bench.context);
        let positions = positions.expect("kernels");
        let bytes = positions.workspace_bytes(family.longest());
        let call: Call<'_, u8> = Box::new(move |input, _, more| {
            let (starts, count) = (&mut more.starts, &mut more.count);
            positions
                .enqueue(stream, flags(input), starts, count, &mut more.workspace)
                .expect("a launch");
        });
        (bytes, call)
    });
}

fn unique<T, Same>(
    bench: &mut Bench,
    element: &'static str,
    operator: &'static str,
    lengths: &'static [usize],
    item: fn(u32) -> T,
) where
    T: Sample + PartialEq,
    Same: Function<Input = (T, T), Output = bool>,
    Heads<Same, Slice<T>>: Form<Item = (T, bool)>,
{
    let family = Family {
        primitive: "unique",
        element,
        operator,
        lengths,
        elements: &|length| fours(length, item),
        keeps: &is_head::<T>,
        stored: &[Stored::Kept],
        flag_bytes: 0,
    };
    family.run(bench, |stream, bench| {
        let unique = Select::<T, Heads<Same, Slice<T>>>::load(&bench.context).expect("kernels");
        let bytes = unique.workspace_bytes(family.longest());
        let call: Call<'_, T> = Box::new(move |input, output, more| {
            let (source, count) = (heads_by::<Same, _>(input), &mut more.count);
            unique
                .enqueue(stream, source, output, count, &mut more.workspace)
                .expect("a launch");
        });
        (bytes, call)
    });
}

fn runs<T, Same>(
    bench: &mut Bench,
    element: &'static str,
    operator: &'static str,
    lengths: &'static [usize],
    item: fn(u32) -> T,
) where
    T: Sample + PartialEq,
    Same: Function<Input = (T, T), Output = bool>,
    Heads<Same, Slice<T>>: Form<Item = (T, bool)>,
{
    let family = Family {
        primitive: "runs",
        element,
        operator,
        lengths,
        elements: &|length| fours(length, item),
        keeps: &is_head::<T>,
        stored: &[Stored::Kept, Stored::Starts, Stored::Lengths],
        flag_bytes: 0,
    };
    family.run(bench, |stream, bench| {
        let runs = Runs::<T, Heads<Same, Slice<T>>>::load(&bench.context).expect("kernels");
        let bytes = runs.workspace_bytes(family.longest());
        let call: Call<'_, T> = Box::new(move |input, output, more| {
            let outputs = (output, &mut more.starts, &mut more.lengths);
            let (count, workspace) = (&mut more.count, &mut more.workspace);
            runs.enqueue(
                stream,
                heads_by::<Same, _>(input),
                outputs,
                count,
                workspace,
            )
            .expect("a launch");
        });
        (bytes, call)
    });
}

/// Whether position `i` has a flag: one in two has.
fn flag(i: usize) -> u8 {
    (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).count_ones() as u8 & 1
}

/// Runs of four on average. `item` gives the items of a run, by its number.
pub(crate) fn fours<T>(length: usize, item: fn(u32) -> T) -> Vec<T> {
    let mut run = 0;
    let heads = (0..length).map(|i| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62 == 0);
    let next = |is_head| {
        run += u32::from(is_head);
        item(run)
    };
    heads.map(next).collect()
}

fn is_head<T: PartialEq>(elements: &[T], i: usize) -> bool {
    i == 0 || elements[i] != elements[i - 1]
}

/// What a compaction stores. Positions are where runs start.
#[derive(Clone, Copy, PartialEq)]
enum Stored {
    Kept,
    Others,
    Starts,
    Lengths,
}

/// What calls use besides input and output.
struct More<T> {
    flags: CudaSlice<u8>,
    others: CudaSlice<T>,
    starts: CudaSlice<u64>,
    lengths: CudaSlice<u64>,
    count: CudaSlice<u64>,
    workspace: Workspace,
}

/// A call of ours.
type Call<'a, T> = Box<dyn FnMut(&CudaView<'_, T>, &mut CudaViewMut<'_, T>, &mut More<T>) + 'a>;

/// One compaction of elements of one type.
struct Family<'f, T> {
    primitive: &'static str,
    element: &'static str,
    operator: &'static str,
    lengths: &'static [usize],
    /// So many elements.
    elements: &'f dyn Fn(usize) -> Vec<T>,
    /// Whether it keeps the element at a position.
    keeps: &'f dyn Fn(&[T], usize) -> bool,
    stored: &'static [Stored],
    /// How many bytes of flags are read for an element.
    flag_bytes: usize,
}

/// What is right for all elements. What is right for the first ones is the start of each.
struct Expected<T> {
    kept: CudaSlice<T>,
    others: CudaSlice<T>,
    places: Vec<u64>,
    starts: CudaSlice<u64>,
    /// Of all runs but the last.
    lengths: CudaSlice<u64>,
}

impl<T: Sample> Expected<T> {
    fn of(stream: &Arc<CudaStream>, elements: &[T], keeps: &dyn Fn(&[T], usize) -> bool) -> Self {
        let (mut kept, mut others, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (i, element) in elements.iter().enumerate() {
            if keeps(elements, i) {
                kept.push(*element);
                places.push(i as u64);
            } else {
                others.push(*element);
            }
        }
        let lengths: Vec<u64> = places.windows(2).map(|two| two[1] - two[0]).collect();
        let items = |values: &[T]| stream.clone_htod(values).expect("memory on the device");
        let numbers = |values: &[u64]| stream.clone_htod(values).expect("memory on the device");
        Expected {
            kept: items(&kept),
            others: items(&others),
            starts: numbers(&places),
            lengths: numbers(&lengths),
            places,
        }
    }
}

impl<T: Sample> Family<'_, T> {
    fn longest(&self) -> usize {
        self.lengths.iter().copied().max().expect("lengths")
    }

    /// The bytes that are read and written for `length` elements, of which `kept` are kept.
    fn moved(&self, length: usize, kept: usize) -> usize {
        let written = self.stored.iter().map(|stored| match stored {
            Stored::Kept => kept * size_of::<T>(),
            Stored::Others => (length - kept) * size_of::<T>(),
            Stored::Starts | Stored::Lengths => 8 * kept,
        });
        length * (size_of::<T>() + self.flag_bytes) + written.sum::<usize>()
    }

    /// Times it at every length. `load` gives the bytes of a workspace, and the call.
    fn run(
        &self,
        bench: &mut Bench,
        load: impl for<'a> FnOnce(&'a Arc<CudaStream>, &Bench) -> (usize, Call<'a, T>),
    ) {
        let name = Name {
            primitive: self.primitive,
            element: self.element,
            operator: self.operator,
        };
        if !bench.wants(&name.text()) {
            return;
        }
        let stream = bench.stream.clone();
        let longest = self.longest();
        let elements = (self.elements)(longest);
        let expected = Expected::of(&stream, &elements, self.keeps);
        let upload = stream.clone_htod(&elements).expect("memory on the device");
        drop(elements);
        let arena = RefCell::new(Arena::new(&stream, upload, longest));
        let (bytes, call) = load(&stream, bench);
        let call = RefCell::new(call);
        let room = |stored| {
            if self.stored.contains(&stored) {
                longest
            } else {
                0
            }
        };
        let flags: Vec<u8> = (0..self.flag_bytes * longest).map(flag).collect();
        let numbers = |room| stream.alloc_zeros::<u64>(room).expect("memory");
        let more = RefCell::new(More {
            flags: stream.clone_htod(&flags).expect("memory"),
            others: stream.alloc_zeros(room(Stored::Others)).expect("memory"),
            starts: numbers(room(Stored::Starts)),
            lengths: numbers(room(Stored::Lengths)),
            count: numbers(1),
            workspace: Workspace::new(&stream, bytes).expect("memory"),
        });
        let quick = bench.run.quick;
        for &length in self.lengths.iter().filter(|n| !quick || **n <= 1 << 28) {
            arena.borrow_mut().arrange(length, 0);
            let kept = expected
                .places
                .partition_point(|&place| place < length as u64);
            let moved = self.moved(length, kept);
            let ours: Work<'_> = Box::new(|| {
                let mut arena = arena.borrow_mut();
                let (input, mut output) = arena.next();
                call.borrow_mut()(&input, &mut output, &mut more.borrow_mut());
            });
            let mut contenders = vec![Contender {
                library: Library::Warpfold,
                work: ours,
                check: Check::Bits,
            }];
            contenders.extend(self.cub(bench, &stream, name, length, &arena, &more));
            // As many bytes, read and written.
            let copied = moved / size_of::<T>() / 2;
            if copied <= length {
                contenders.push(Contender {
                    library: Library::Memcpy,
                    work: Box::new(|| {
                        let mut arena = arena.borrow_mut();
                        let (input, mut output) = arena.next();
                        let input = input.slice(..copied);
                        let mut output = output.slice_mut(..copied);
                        stream.memcpy_dtod(&input, &mut output).expect("a copy");
                    }),
                    check: Check::Nothing,
                });
            }
            let trial = Trial {
                name,
                element_bytes: size_of::<T>(),
                length,
                offset: 0,
                moved: Some(moved),
                contenders,
                poison: Box::new(|| {
                    arena.borrow_mut().poison_next();
                    let mut more = more.borrow_mut();
                    let More { starts, count, .. } = &mut *more;
                    stream.memset_zeros(starts).expect("a memset");
                    stream.memset_zeros(count).expect("a memset");
                }),
                fault: Box::new(|comparer, contender| {
                    let (arena, more) = (arena.borrow(), more.borrow());
                    let counted = stream.clone_dtoh(&more.count).expect("the count")[0];
                    if counted != kept as u64 {
                        return Some(format!("counts {counted}, not {kept}"));
                    }
                    // CUB stores the others elsewhere, and no starts of runs.
                    let ours = contender.library == Library::Warpfold;
                    let starts_are_all = self.stored == [Stored::Starts];
                    let check = contender.check;
                    let at = self.stored.iter().find_map(|stored| match stored {
                        Stored::Kept => {
                            let got = arena.last_output().slice(..kept);
                            comparer.first_difference(check, &got, &expected.kept.slice(..kept))
                        }
                        Stored::Others if ours => {
                            let rest = ..length - kept;
                            let right = expected.others.slice(rest);
                            comparer.first_difference(check, &more.others.slice(rest), &right)
                        }
                        Stored::Starts if ours || starts_are_all => {
                            let right = expected.starts.slice(..kept);
                            comparer.first_difference(check, &more.starts.slice(..kept), &right)
                        }
                        Stored::Lengths => {
                            let known = ..kept.saturating_sub(1);
                            let right = expected.lengths.slice(known);
                            comparer.first_difference(check, &more.lengths.slice(known), &right)
                        }
                        _ => None,
                    });
                    at.map(|at| format!("differs at {at}"))
                }),
            };
            trial.hold(bench);
        }
    }

    /// CUB's call, on the same buffers.
    fn cub<'a>(
        &'a self,
        bench: &Bench,
        stream: &'a Arc<CudaStream>,
        name: Name<'_>,
        length: usize,
        arena: &'a RefCell<Arena<T>>,
        more: &'a RefCell<More<T>>,
    ) -> Option<Contender<'a>> {
        let mut peer = bench.cub.as_ref()?.peer(&name.function(), stream, length)?;
        let keeps = self.stored.contains(&Stored::Kept);
        Some(Contender {
            library: Library::Cub,
            work: Box::new(move || {
                let (mut arena, more) = (arena.borrow_mut(), more.borrow());
                let (input, mut output) = arena.next();
                let (input, _reading) = input.device_ptr(stream);
                let (output, _writing) = output.device_ptr_mut(stream);
                let (flags, _flagging) = more.flags.device_ptr(stream);
                let (count, _counting) = more.count.device_ptr(stream);
                let (starts, _starting) = more.starts.device_ptr(stream);
                let (lengths, _measuring) = more.lengths.device_ptr(stream);
                peer(
                    &[input, flags],
                    &[if keeps { output } else { starts }, count, lengths],
                );
            }),
            check: Check::Bits,
        })
    }
}
