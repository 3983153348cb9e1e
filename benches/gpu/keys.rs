//! Runs of equal keys, beside CUB: reductions, scans, and the decoding of runs.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::elements::{Sample, data};
use crate::measure::{Arrays, Contender};
use crate::select::fours;
use crate::trial::{Calls, Name, Outcome, Row};
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use warpfold::cuda::{Expand, ReduceByKey, RunOutputs, ScanByKey, Workspace};
use warpfold::ops::Add;
use warpfold::{Offsets, Prefixes, decode, reduce_by_key, runs, scan_by_key};

const LENGTHS: &[usize] = &[1000, 1_000_000, 1 << 28];

/// The key of a run of four, by its number.
type KeyOf = fn(u32) -> u32;

/// Runs of so many items on average, and their keys, made from those of runs of four.
const RUNS: &[(&str, KeyOf)] = &[("4", |run| run), ("1000", |run| run / 250)];

pub(crate) fn run(bench: &mut Bench) {
    for (runs, key) in RUNS {
        family(bench, "reduce", runs, *key, |keyed, bench, row| {
            keyed.reduce(bench, row)
        });
        family(bench, "scan", runs, *key, |keyed, bench, row| {
            keyed.scan(bench, row)
        });
        family(bench, "decode", runs, *key, |keyed, bench, row| {
            keyed.decode(bench, row)
        });
    }
}

/// Keys and values of one length.
struct Keyed<'a> {
    stream: &'a Arc<CudaStream>,
    keys: &'a RefCell<Arena<u32>>,
    values: &'a RefCell<Arena<f32>>,
    host_keys: &'a [u32],
    host_values: &'a [f32],
    /// Where runs start, and how long they are.
    starts: Vec<u64>,
    lengths: Vec<u64>,
}

fn family(
    bench: &mut Bench,
    kind: &str,
    runs_name: &str,
    key: KeyOf,
    hold: fn(&Keyed<'_>, &mut Bench, Row<'_>),
) {
    let operator = format!("{kind} of {runs_name}");
    let name = Name {
        primitive: "by key",
        element: "f32",
        operator: &operator,
    };
    if !bench.wants(&name.text()) {
        return;
    }
    let stream = &bench.stream.clone();
    let quick = bench.run.quick;
    let lengths = LENGTHS.iter().filter(|length| !quick || **length < 1 << 28);
    let longest = *lengths.clone().max().expect("lengths");
    let (all_keys, all_values) = (fours(longest, key), data::<f32>(longest));
    let keys = stream.clone_htod(&all_keys).expect("memory on the device");
    let values = stream
        .clone_htod(&all_values)
        .expect("memory on the device");
    let keys = RefCell::new(Arena::new(stream, keys, longest));
    let values = RefCell::new(Arena::new(stream, values, longest));
    for &length in lengths {
        keys.borrow_mut().arrange(length, 0);
        values.borrow_mut().arrange(length, 0);
        let found = runs::<u32>(&all_keys[..length]).expect("memory");
        let keyed = Keyed {
            stream,
            keys: &keys,
            values: &values,
            host_keys: &all_keys[..length],
            host_values: &all_values[..length],
            starts: found.starts,
            lengths: found.lengths,
        };
        let row = Row {
            name,
            element_bytes: size_of::<f32>(),
            length,
            moved: 0,
        };
        hold(&keyed, bench, row);
    }
}

impl Keyed<'_> {
    fn zeros<T: Sample>(&self, length: usize) -> RefCell<CudaSlice<T>> {
        RefCell::new(self.stream.alloc_zeros(length).expect("memory"))
    }

    /// Ours also stores where runs start, and how long they are.
    fn reduce(&self, bench: &mut Bench, row: Row<'_>) {
        let (stream, count) = (self.stream, self.starts.len());
        let reduce = ReduceByKey::<u32, f32, Add>::load(&bench.context).expect("kernels");
        let workspace = Workspace::new(stream, reduce.workspace_bytes(row.length));
        let mut workspace = workspace.expect("memory");
        let (firsts, folds) = (self.zeros::<u32>(count), self.zeros::<f32>(count));
        let (starts, lengths) = (self.zeros::<u64>(count), self.zeros::<u64>(count));
        let counted = self.zeros::<u64>(1);
        let ours = Contender::ours(|| {
            let (mut keys, mut values) = (self.keys.borrow_mut(), self.values.borrow_mut());
            let ((keys, _), (values, _)) = (keys.next(), values.next());
            let outputs = RunOutputs {
                keys: &mut *firsts.borrow_mut(),
                starts: &mut *starts.borrow_mut(),
                lengths: &mut *lengths.borrow_mut(),
                folds: &mut *folds.borrow_mut(),
            };
            let counted = &mut *counted.borrow_mut();
            reduce
                .enqueue(stream, &keys, &values, outputs, counted, &mut workspace)
                .expect("launches");
        });
        let arrays: Arrays<'_> = Box::new(|peer| {
            let (mut keys, mut values) = (self.keys.borrow_mut(), self.values.borrow_mut());
            let ((keys, _), (values, _)) = (keys.next(), values.next());
            let (mut firsts, mut folds) = (firsts.borrow_mut(), folds.borrow_mut());
            let mut counted = counted.borrow_mut();
            let (keys, _reading) = keys.device_ptr(stream);
            let (values, _reading_too) = values.device_ptr(stream);
            let (firsts, _writing) = firsts.device_ptr_mut(stream);
            let (folds, _folding) = folds.device_ptr_mut(stream);
            let (counted, _counting) = counted.device_ptr_mut(stream);
            peer(&[keys, values], &[firsts, folds, counted]);
        });
        let peer = bench.peer("by_key_f32_reduce", stream, row.length, 1);
        let expected = reduce_by_key::<u32, f32, Add>(self.host_keys, self.host_values);
        let (right_keys, right_folds) = expected.expect("memory");
        let row = Row {
            moved: 8 * (row.length + count),
            ..row
        };
        row.hold(
            bench,
            [ours]
                .into_iter()
                .chain(Contender::cub(peer, Check::NearF32, arrays)),
            vec![
                Outcome::of_buffer(stream, &counted, &[count as u64]).exact(),
                Outcome::of_buffer(stream, &firsts, &right_keys).exact(),
                Outcome::of_buffer(stream, &folds, &right_folds),
                Outcome::of_buffer(stream, &starts, &self.starts).ours_only(),
                Outcome::of_buffer(stream, &lengths, &self.lengths).ours_only(),
            ],
            Calls::default(),
        );
    }

    /// Ours also stores where runs start.
    fn scan(&self, bench: &mut Bench, row: Row<'_>) {
        let stream = self.stream;
        let scan = ScanByKey::<u32, f32, Add>::load(&bench.context).expect("kernels");
        let workspace = Workspace::new(stream, scan.workspace_bytes(row.length));
        let mut workspace = workspace.expect("memory");
        let (starts, counted) = (self.zeros::<u64>(row.length), self.zeros::<u64>(1));
        let ours = Contender::ours(|| {
            let (mut keys, mut values) = (self.keys.borrow_mut(), self.values.borrow_mut());
            let ((keys, _), (values, mut output)) = (keys.next(), values.next());
            let (mut starts, mut counted) = (starts.borrow_mut(), counted.borrow_mut());
            let (form, runs) = (Prefixes::inclusive(), (&mut *starts, &mut *counted));
            scan.enqueue(
                stream,
                form,
                &keys,
                &values,
                &mut output,
                runs,
                &mut workspace,
            )
            .expect("launches");
        });
        let arrays: Arrays<'_> = Box::new(|peer| {
            let (mut keys, mut values) = (self.keys.borrow_mut(), self.values.borrow_mut());
            let ((keys, _), (values, mut output)) = (keys.next(), values.next());
            let (keys, _reading) = keys.device_ptr(stream);
            let (values, _reading_too) = values.device_ptr(stream);
            let (output, _writing) = output.device_ptr_mut(stream);
            peer(&[keys, values], &[output]);
        });
        let peer = bench.peer("by_key_f32_scan", stream, row.length, 1);
        let form = Prefixes::inclusive();
        let expected = scan_by_key::<u32, f32, Add>(form, self.host_keys, self.host_values);
        let row = Row {
            moved: 12 * row.length,
            ..row
        };
        row.hold(
            bench,
            [ours]
                .into_iter()
                .chain(Contender::cub(peer, Check::NearF32, arrays)),
            vec![
                Outcome::of_arena(stream, self.values, &expected.expect("memory")),
                Outcome::of_buffer(stream, &starts, &self.starts).ours_only(),
            ],
            Calls::default(),
        );
    }

    /// From values and offsets of runs. Neither CUB nor PyTorch has it.
    fn decode(&self, bench: &mut Bench, row: Row<'_>) {
        let (stream, count) = (self.stream, self.starts.len());
        let expand = Expand::<f32>::load(&bench.context).expect("kernels");
        let values = &self.host_values[..count];
        let offsets: Vec<u64> = self
            .starts
            .iter()
            .copied()
            .chain([row.length as u64])
            .collect();
        let offsets = stream.clone_htod(&offsets).expect("memory on the device");
        let expected = decode(values, &self.lengths[..]).expect("memory");
        let values = stream.clone_htod(values).expect("memory on the device");
        let ours = Contender::ours(|| {
            let mut arena = self.values.borrow_mut();
            let (_, mut output) = arena.next();
            let segments = Offsets::unchecked(&offsets).expect("offsets");
            expand
                .enqueue(stream, &values, segments, 0.0, &mut output)
                .expect("a launch");
        });
        let row = Row {
            moved: 4 * row.length + 12 * count,
            ..row
        };
        let outcomes = vec![Outcome::of_arena(stream, self.values, &expected)];
        row.hold(bench, [ours], outcomes, Calls::default());
    }
}
