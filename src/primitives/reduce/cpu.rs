//! Reduce on the CPU. Threads sum blocks in parallel; a binary counter takes the sums, and then
//! what filled no block.

use crate::cpu::counter::Counter;
use crate::cpu::fold::Fold;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::Tree;
use crate::cpu::{block_len, chunk_len};
use crate::{Element, Monoid};
use rayon::prelude::*;

/// The bytes of a chunk. Reading that much takes far longer than handing it to a thread.
const CHUNK_BYTES: usize = 512 << 10;

pub(crate) fn reduce<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> T {
    in_rust_mode(|| reduce_with(input, init, Fold::new::<Op>()))
}

fn reduce_with<T: Element>(input: &[T], init: Option<T>, fold: Fold<T>) -> T {
    let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
    let chunks = input.chunks_exact(chunk);
    let rest = chunks.remainder();
    let sums: Vec<T::Accumulator> = if chunks.len() > 1 {
        let workers = || Worker::new(fold);
        input
            .par_chunks_exact(chunk)
            .map_init(workers, |worker, chunk| in_rust_mode(|| worker.sum(chunk)))
            .collect()
    } else {
        chunks.map(|chunk| Worker::new(fold).sum(chunk)).collect()
    };

    // First the chunks, then the blocks that filled no chunk, then the elements that filled no
    // block. Each group is aligned blocks in a counter, smaller than all before.
    let mut worker = Worker::new(fold);
    let tail = worker.sum_blocks(rest);
    let prefix = init.map(T::widen);
    let prefix = fold_all(&sums, prefix, fold.combine);
    let prefix = fold_all(&worker.sums, prefix, fold.combine);
    let tail: Vec<_> = tail.iter().map(|element| element.widen()).collect();
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
    /// The sums of blocks.
    sums: Vec<T::Accumulator>,
}

impl<T: Element> Worker<T> {
    fn new(fold: Fold<T>) -> Worker<T> {
        Worker {
            fold,
            tree: Tree::new(),
            sums: Vec::new(),
        }
    }

    /// Computes the sums of the complete blocks of `input`; returns the rest.
    fn sum_blocks<'a>(&mut self, input: &'a [T]) -> &'a [T] {
        self.sums.clear();
        (self.fold.block_sums)(&mut self.tree, input, &mut self.sums);
        input
            .chunks_exact(block_len::<T::Accumulator>())
            .remainder()
    }

    /// The sum of a whole chunk.
    fn sum(&mut self, chunk: &[T]) -> T::Accumulator {
        self.sum_blocks(chunk);
        // A power of two of blocks: the counter ends with one sum.
        fold_all(&self.sums, None, self.fold.combine).expect("a chunk has at least one block")
    }
}
