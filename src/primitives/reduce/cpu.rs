//! Reduce on the CPU. Threads sum the chunks of a piece in parallel; a binary counter takes the
//! sums.

use crate::cpu::counter::{Counter, blocks};
use crate::cpu::fold::Fold;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::Tree;
use crate::cpu::{Parts, block_len, chunk_len, short};
use crate::source::Items;
use crate::{Element, Monoid};
use rayon::prelude::*;
use std::ops::Range;

/// The bytes of a chunk. Reading that much takes far longer than handing it to a thread.
const CHUNK_BYTES: usize = 512 << 10;

pub(crate) fn reduce<T: Element, Op: Monoid<T>>(input: &Items<'_, T>, init: Option<T>) -> T {
    if Op::EXACT
        && short::is_short::<T>(input.len())
        && let Some(items) = input.slice(0..input.len())
    {
        let sum = short::fold::<T, Op>(init.map(T::widen), items);
        return sum.map_or_else(Op::identity, T::narrow);
    }
    let mut counter = Counter::at(0);
    push::<T, Op>(input, &mut counter);
    value::<T, Op>(&counter, init)
}

/// The fold of what a counter has counted.
pub(crate) fn value<T: Element, Op: Monoid<T>>(
    counter: &Counter<T::Accumulator>,
    init: Option<T>,
) -> T {
    in_rust_mode(|| {
        let prefix = counter.prefix(init.map(T::widen), Op::combine);
        prefix.map_or_else(Op::identity, T::narrow)
    })
}

/// Appends the sums of `input`.
pub(crate) fn push<T: Element, Op: Monoid<T>>(
    input: &Items<'_, T>,
    counter: &mut Counter<T::Accumulator>,
) {
    in_rust_mode(|| {
        if short::is_short::<T>(input.len()) {
            let mut room = Vec::new();
            short::push::<T, Op>(input.range(0..input.len(), &mut room), counter);
        } else {
            push_with(input, counter, Fold::new::<Op>());
        }
    });
}

fn push_with<T: Element>(
    input: &Items<'_, T>,
    counter: &mut Counter<T::Accumulator>,
    fold: Fold<T>,
) {
    let (position, chunk) = (counter.end(), chunk_len::<T, T::Accumulator>(CHUNK_BYTES));
    let chunks = Parts::new(position, input.len(), chunk);
    if chunks.count() < 2 {
        let sums = Worker::new(fold).sums(input, position, 0..input.len());
        return counter.append(&sums, fold.combine);
    }
    let sums = |worker: &mut Worker<T>, number| {
        in_rust_mode(|| worker.sums(input, position, chunks.range(number)))
    };
    let sums: Vec<_> = (0..chunks.count())
        .into_par_iter()
        .map_init(|| Worker::new(fold), sums)
        .collect();
    for sums in &sums {
        counter.append(sums, fold.combine);
    }
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

    /// The sums of some items of a piece, which starts at `position`.
    fn sums(
        &mut self,
        input: &Items<'_, T>,
        position: u64,
        items: Range<usize>,
    ) -> Counter<T::Accumulator> {
        let (start, len) = (position + items.start as u64, items.len());
        let block = block_len::<T::Accumulator>();
        self.sums.clear();
        if let Some(slice) = input.slice(items.clone()) {
            (self.fold.block_sums)(&mut self.tree, start, slice, &mut self.sums);
        } else {
            // Items that must be evaluated first go block by block, through the L1 cache.
            for part in Parts::new(start, len, block).ranges() {
                let first = items.start + part.start;
                let evaluated = input.range(first..items.start + part.end, &mut self.items);
                let position = position + first as u64;
                (self.fold.block_sums)(&mut self.tree, position, evaluated, &mut self.sums);
            }
        }
        let mut counter = Counter::at(start);
        for ((level, _), &sum) in blocks(start, len, block.ilog2()).zip(&self.sums) {
            counter.push(level, sum, self.fold.combine);
        }
        counter
    }
}
