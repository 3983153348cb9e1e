//! Reduce on the CPU. Threads sum blocks in parallel; a binary counter takes the sums, and then
//! what filled no block.

use crate::cpu::counter::Counter;
use crate::cpu::fold::Fold;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::Tree;
use crate::cpu::{block_len, chunk_len};
use crate::source::Items;
use crate::{Element, Monoid};
use rayon::prelude::*;

/// The bytes of a chunk. Reading that much takes far longer than handing it to a thread.
const CHUNK_BYTES: usize = 512 << 10;

pub(crate) fn reduce<T: Element, Op: Monoid<T>>(input: &Items<'_, T>, init: Option<T>) -> T {
    in_rust_mode(|| reduce_with(input, init, Fold::new::<Op>()))
}

fn reduce_with<T: Element>(input: &Items<'_, T>, init: Option<T>, fold: Fold<T>) -> T {
    let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
    let chunks = input.len() / chunk;
    let sums: Vec<T::Accumulator> = if chunks > 1 {
        let sum = |worker: &mut Worker<T>, number| {
            in_rust_mode(|| worker.sum(input, number * chunk, chunk))
        };
        (0..chunks)
            .into_par_iter()
            .map_init(|| Worker::new(fold), sum)
            .collect()
    } else {
        let mut worker = Worker::new(fold);
        (0..chunks)
            .map(|number| worker.sum(input, number * chunk, chunk))
            .collect()
    };

    // First the chunks, then the blocks that filled no chunk, then the elements that filled no
    // block. Each group is aligned blocks in a counter, smaller than all before.
    let mut worker = Worker::new(fold);
    let (start, rest) = (chunks * chunk, input.len() % chunk);
    worker.sum_blocks(input, start, rest);
    let prefix = init.map(T::widen);
    let prefix = fold_all(&sums, prefix, fold.combine);
    let prefix = fold_all(&worker.sums, prefix, fold.combine);
    let tail = input.len() - rest % block_len::<T::Accumulator>()..input.len();
    let tail = input.range(tail, &mut worker.items).iter();
    let tail: Vec<_> = tail.map(|element| element.widen()).collect();
    fold_all(&tail, prefix, fold.combine).map_or_else(fold.identity, T::narrow)
}

/// `prefix` and the aligned blocks of `sums`.
fn fold_all<A: Copy + bytemuck::Zeroable>(
    sums: &[A],
    prefix: Option<A>,
    combine: fn(A, A) -> A,
) -> Option<A> {
    let mut counter = Counter::new();
    sums.iter().for_each(|&sum| counter.push(sum, combine));
    counter.prefix(prefix, combine)
}

/// A thread's working memory.
struct Worker<T: Element> {
    fold: Fold<T>,
    tree: Tree<T::Accumulator>,
    /// The items of a block, unless they are used where they lie.
    items: Vec<T>,
    /// The sums of blocks.
    sums: Vec<T::Accumulator>,
}

impl<T: Element> Worker<T> {
    fn new(fold: Fold<T>) -> Worker<T> {
        Worker {
            fold,
            tree: Tree::new(),
            items: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Computes the sums of the complete blocks of `len` items, from `start` on.
    fn sum_blocks(&mut self, input: &Items<'_, T>, start: usize, len: usize) {
        self.sums.clear();
        let block = block_len::<T::Accumulator>();
        let whole = len / block * block;
        // Blocks that must be evaluated first go one by one, through the L1 cache.
        let step = if input.is_slice() { whole } else { block };
        for first in (0..whole).step_by(step.max(1)) {
            let range = start + first..start + first + step;
            let items = input.range(range, &mut self.items);
            (self.fold.block_sums)(&mut self.tree, items, &mut self.sums);
        }
    }

    /// The sum of a whole chunk.
    fn sum(&mut self, input: &Items<'_, T>, start: usize, len: usize) -> T::Accumulator {
        self.sum_blocks(input, start, len);
        // A power of two of blocks: the counter ends with one sum.
        fold_all(&self.sums, None, self.fold.combine).expect("a chunk has at least one block")
    }
}
