//! Merges and merge sorts on the CPU.

use crate::cpu::mode::in_rust_mode;
use crate::{Error, Function, Result};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::mem::MaybeUninit;

/// A thread merges as many items at once.
const PART: usize = 1 << 14;

/// Merges two sorted arrays into `out`, which has room for both; equals of the first array come
/// first. `less` says whether an item comes before another one.
///
/// Parts of the output are merged in parallel: a merge path cuts the arrays where the output is
/// cut.
pub(super) fn merge<T: Copy + Send + Sync>(
    a: &[T],
    b: &[T],
    out: &mut [MaybeUninit<T>],
    less: impl Fn(T, T) -> bool + Sync,
) {
    assert_eq!(out.len(), a.len() + b.len());
    out.par_chunks_mut(PART)
        .enumerate()
        .for_each(|(part, out)| in_rust_mode(|| merge_part(a, b, part * PART, out, &less)));
}

/// Writes what stands from `start` on in the merged array.
fn merge_part<T: Copy>(
    a: &[T],
    b: &[T],
    start: usize,
    out: &mut [MaybeUninit<T>],
    less: impl Fn(T, T) -> bool,
) {
    let mut i = split(a, b, start, &less);
    let mut j = start - i;
    for to in out {
        let from_second = i == a.len() || (j < b.len() && less(b[j], a[i]));
        if from_second {
            to.write(b[j]);
            j += 1;
        } else {
            to.write(a[i]);
            i += 1;
        }
    }
}

/// How many of the first `diagonal` items of a merge come from the first array.
fn split<T: Copy>(a: &[T], b: &[T], diagonal: usize, less: impl Fn(T, T) -> bool) -> usize {
    let (mut least, mut most) = (diagonal.saturating_sub(b.len()), diagonal.min(a.len()));
    while least < most {
        let middle = least + (most - least) / 2;
        match less(b[diagonal - 1 - middle], a[middle]) {
            true => most = middle,
            false => least = middle + 1,
        }
    }
    least
}

/// Sorts items by a comparison. Equals stay in their order. Memory: as much again.
pub(super) fn sort_by<T, Less>(data: &mut [T]) -> Result<()>
where
    T: Copy + Send,
    Less: Function<Input = (T, T), Output = bool>,
{
    // rayon would end the process if there is no room.
    let mut room: Vec<T> = Vec::new();
    room.try_reserve_exact(data.len())
        .map_err(|_| Error::OutOfHostMemory {
            requested: size_of_val(data),
        })?;
    drop(room);
    // Threads of rayon can have any mode.
    data.par_sort_by(|&a, &b| {
        in_rust_mode(|| {
            if Less::call((a, b)) {
                Ordering::Less
            } else if Less::call((b, a)) {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        })
    });
    Ok(())
}
