//! Cases: a form with what lies under it and its items, and scripts that place its slices.

use crate::emulator::{Module, Script, address};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::workspace::used_workspace;
use warpfold::bytemuck;
use warpfold::source::{Form, SliceArguments};

/// A slice under a source: the bytes of its elements, and their alignment.
pub(crate) struct Leaf {
    name: &'static str,
    pub(crate) bytes: Vec<u8>,
    element: usize,
    align: usize,
}

pub(crate) fn leaf<T: Sample>(name: &'static str, length: usize, seed: u64) -> (Leaf, Vec<T>) {
    let data = sample::<T>(length, seed);
    (leaf_of(name, &data), data)
}

pub(crate) fn leaf_of<T: Sample>(name: &'static str, data: &[T]) -> Leaf {
    Leaf {
        name,
        bytes: bytemuck::cast_slice(data).to_vec(),
        element: size_of::<T>(),
        align: align_of::<T>(),
    }
}

pub(crate) fn slice(name: &'static str) -> SliceArguments {
    SliceArguments {
        address: address(name, 0),
    }
}

/// A form, its arguments, what lies under it, and its items.
pub(crate) struct Case<F: Form> {
    /// For some number of items.
    pub(crate) arguments: fn(usize) -> F::Arguments,
    pub(crate) leaves: Vec<Leaf>,
    /// How many elements of each slice this many items take.
    pub(crate) elements: fn(usize) -> usize,
    pub(crate) items: Vec<F::Item>,
}

/// The longest source.
pub(crate) const MOST: usize = 9000;

/// The lengths at which something changes for shares of a warp of `share` items in runs of `run`.
pub(crate) fn lengths(run: usize, share: usize) -> Vec<usize> {
    let row = 32 * run;
    let mut lengths = vec![1, 2, run, run + 1, row - 1, row, row + 1, share - 1, share];
    lengths.extend([
        share + 1,
        2 * share,
        3 * share + run + 1,
        6 * share,
        9 * share + 5,
    ]);
    lengths.retain(|&length| length <= MOST);
    lengths
}

pub(crate) fn script<F: Form>(case: &Case<F>) -> Script {
    let mut script = Script::new();
    for leaf in &case.leaves {
        script.file(leaf.name, &leaf.bytes);
    }
    script.file("workspace", &used_workspace(1 << 16));
    script
}

/// Puts the buffers of a call into a script; slices start where `number` says.
pub(crate) fn place<F: Form>(script: &mut Script, case: &Case<F>, length: usize, number: usize) {
    for (i, leaf) in case.leaves.iter().enumerate() {
        let shift = match number % 4 {
            0 => 0,
            1 => leaf.align,
            2 => (3 + 2 * i) * leaf.align,
            _ => 16 * i + leaf.align * (i % 2),
        };
        let bytes = (case.elements)(length) * leaf.element;
        script.filled(leaf.name, shift, bytes, leaf.name);
    }
}

#[track_caller]
pub(super) fn compare<T: Sample>(script: Script, name: &str, module: &Module, expected: &[T]) {
    let output = script.run_to_the_end(name, module);
    let mut got = vec![T::zeroed(); expected.len()];
    bytemuck::cast_slice_mut(&mut got).copy_from_slice(&output);
    assert_same(&got, expected, name);
}
