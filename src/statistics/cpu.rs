//! Extremes on the CPU.
//!
//! There a reduction of pairs, of a least and a greatest number or of a rank and a position, does
//! several times the work of a reduction of numbers. So a block is reduced by one operator after
//! the other, and a position is looked for in one block only.

use super::Number;
use crate::Function;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::fold_exactly;
use crate::cpu::with_simd;
use crate::ops::{maximum, minimum};
use crate::source::Items;
use rayon::prelude::*;
use std::ops::Range;

/// The items of a block, which is read twice: the second time from the L1 cache.
const BLOCK: usize = 1 << 12;

/// The items of a chunk, the work of a thread. Reading that much takes far longer than handing it
/// to a thread.
const CHUNK: usize = 1 << 17;

/// The least and the greatest of all items, and `None` if there is none.
pub(super) fn min_max<T: Number>(items: &Items<'_, T>) -> Option<(T, T)> {
    let of_block = |block: &[T], _| {
        with_simd(
            #[inline(always)]
            || (fold_exactly(block, minimum), fold_exactly(block, maximum)),
        )
    };
    let combine = |a: (_, _), b: (_, _)| (minimum(a.0, b.0), maximum(a.1, b.1));
    let (min, max) = fold_blocks(items, of_block, combine)?;
    Some((T::narrow(min), T::narrow(max)))
}

/// The position of the first of the least items by `Rank`, and `None` if there is none.
///
/// `combine` gives the lesser of two by that rank, and any of two that are equal.
pub(super) fn first<T: Number, Rank: Function<Input = (T,), Output = u64>>(
    items: &Items<'_, T>,
    combine: impl Fn(T::Accumulator, T::Accumulator) -> T::Accumulator + Copy + Sync,
) -> Option<usize> {
    let of_block = |block: &[T], start| {
        let least = with_simd(
            #[inline(always)]
            || fold_exactly(block, combine),
        );
        (Rank::call((T::narrow(least),)), start)
    };
    let (rank, start) = fold_blocks(items, of_block, |a, b| a.min(b))?;
    let mut room = Vec::new();
    let block = items.range(start..items.len().min(start + BLOCK), &mut room);
    let in_block = block.iter().position(|&x| Rank::call((x,)) == rank);
    Some(start + in_block.expect("the least item of the block"))
}

/// The fold of what blocks give, each with its first position, by an operator that is exact and
/// commutes. `None` if there is no block.
fn fold_blocks<T: Number, V: Send>(
    items: &Items<'_, T>,
    of_block: impl Fn(&[T], usize) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
) -> Option<V> {
    let of_range = |room: &mut Vec<T>, range: Range<usize>| {
        let blocks = range.clone().step_by(BLOCK).map(|start| {
            let block = items.range(start..range.end.min(start + BLOCK), room);
            of_block(block, start)
        });
        in_rust_mode(|| blocks.reduce(&combine))
    };
    if items.len() <= CHUNK {
        return of_range(&mut Vec::new(), 0..items.len());
    }
    let chunks = (0..items.len()).into_par_iter().step_by(CHUNK);
    chunks
        .map_init(Vec::new, |room, start| {
            of_range(room, start..items.len().min(start + CHUNK))
        })
        .flatten()
        .reduce_with(&combine)
}
