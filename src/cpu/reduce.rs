//! Reduce on the CPU: chunks in parallel, their sums in a binary counter, then what filled no chunk.

use super::counter::Counter;
use super::tree::Tree;
use super::{block_len, chunk_len, with_simd};
use crate::{Element, Monoid};
use rayon::prelude::*;

/// The bytes of a chunk: large enough that handing it to a thread costs nothing beside reading it.
const CHUNK_BYTES: usize = 512 << 10;

pub(crate) fn reduce<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> T {
    let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
    let chunks = input.chunks_exact(chunk);
    let rest = chunks.remainder();
    let sums: Vec<T::Accumulator> = if chunks.len() > 1 {
        input.par_chunks_exact(chunk).map_init(Tree::new, chunk_sum::<T, Op>).collect()
    } else {
        let mut tree = Tree::new();
        chunks.map(|chunk| chunk_sum::<T, Op>(&mut tree, chunk)).collect()
    };
    let mut counter = Counter::new();
    sums.into_iter().for_each(|sum| counter.push(sum, Op::combine));
    let prefix = counter.prefix(init.map(T::widen), Op::combine);
    fold_rest::<T, Op>(rest, prefix).map_or_else(Op::identity, T::narrow)
}

/// The sum of a whole chunk.
fn chunk_sum<T: Element, Op: Monoid<T>>(tree: &mut Tree<T::Accumulator>, chunk: &[T]) -> T::Accumulator {
    with_simd(
        #[inline(always)]
        || {
            let mut counter = Counter::new();
            for block in chunk.chunks_exact(block_len::<T::Accumulator>()) {
                counter.push(tree.sum::<T, Op>(block), Op::combine);
            }
            // A power of two of blocks: the counter holds one sum.
            counter.prefix(None, Op::combine).expect("a chunk has at least one block")
        },
    )
}

/// `prefix` and the elements that filled no chunk: their whole blocks, then their aligned blocks down to one element.
fn fold_rest<T: Element, Op: Monoid<T>>(
    rest: &[T],
    prefix: Option<T::Accumulator>,
) -> Option<T::Accumulator> {
    with_simd(
        #[inline(always)]
        || {
            let mut tree = Tree::new();
            let mut counter = Counter::new();
            let blocks = rest.chunks_exact(block_len::<T::Accumulator>());
            let mut tail = blocks.remainder();
            for block in blocks {
                counter.push(tree.sum::<T, Op>(block), Op::combine);
            }
            let mut prefix = counter.prefix(prefix, Op::combine);
            while !tail.is_empty() {
                let (block, after) = tail.split_at(1 << tail.len().ilog2());
                let sum = tree.sum::<T, Op>(block);
                prefix = Some(match prefix {
                    Some(prefix) => Op::combine(prefix, sum),
                    None => sum,
                });
                tail = after;
            }
            prefix
        },
    )
}
