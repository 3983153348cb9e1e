//! Reduce on the CPU. Threads sum the chunks of a piece in parallel; a binary counter takes the
//! sums.

use crate::cpu::counter::{Counter, blocks};
use crate::cpu::fold::Fold;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::Tree;
use crate::cpu::{Parts, block_len, chunk_len, short, threads};
use crate::source::{Items, SumBlock};
use crate::{Element, Monoid};
use std::ops::Range;

/// The bytes of a chunk. Reading that much takes far longer than handing it to a thread.
const CHUNK_BYTES: usize = 512 << 10;

/// The chunks that are read before their sums are taken in. So the memory for sums is bounded.
const CHUNKS_AHEAD: usize = 1024;

/// `sum_block` adds up a block of the input, where that is faster.
pub(crate) fn reduce<T: Element, Op: Monoid<T>>(
    input: &Items<'_, T>,
    sum_block: Option<SumBlock<'_, T::Accumulator>>,
    init: Option<T>,
) -> T {
    if Op::EXACT
        && short::is_short::<T>(input.len())
        && let Some(items) = input.slice(0..input.len())
    {
        let sum = short::fold::<T, Op>(init.map(T::widen), items);
        return sum.map_or_else(Op::identity, T::narrow);
    }
    let mut counter = Counter::at(0);
    push::<T, Op>(input, sum_block, &mut counter);
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
    sum_block: Option<SumBlock<'_, T::Accumulator>>,
    counter: &mut Counter<T::Accumulator>,
) {
    in_rust_mode(|| {
        if short::is_short::<T>(input.len()) {
            let mut room = Vec::new();
            short::push::<T, Op>(input.range(0..input.len(), &mut room), counter);
        } else {
            push_with(input, sum_block, counter, Fold::new::<Op>());
        }
    });
}

fn push_with<T: Element>(
    input: &Items<'_, T>,
    sum_block: Option<SumBlock<'_, T::Accumulator>>,
    counter: &mut Counter<T::Accumulator>,
    fold: Fold<T>,
) {
    let (position, chunk) = (counter.end(), chunk_len::<T, T::Accumulator>(CHUNK_BYTES));
    let chunks = Parts::new(position, input.len(), chunk);
    if chunks.count() < 2 {
        let sums = Worker::new(fold).sums(input, sum_block, position, 0..input.len());
        return counter.append(&sums, fold.combine);
    }
    let sums = threads::map(chunks.count(), &|| Worker::new(fold), &|worker, number| {
        worker.sums(input, sum_block, position, chunks.range(number))
    });
    for sums in &sums {
        counter.append(sums, fold.combine);
    }
}

/// Appends the sums of `len` elements. Threads have them read, each its own chunks. After an error
/// the counter is to be dropped.
pub(crate) fn push_read<T: Element, Op: Monoid<T>, E: Send>(
    len: usize,
    read: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync,
    counter: &mut Counter<T::Accumulator>,
) -> Result<(), E> {
    push_read_with(len, &read, counter, Fold::new::<Op>())
}

/// Brings elements from a position on.
type Read<'a, T, E> = &'a (dyn Fn(usize, &mut [T]) -> Result<(), E> + Sync);

fn push_read_with<T: Element, E: Send>(
    len: usize,
    read: Read<'_, T, E>,
    counter: &mut Counter<T::Accumulator>,
    fold: Fold<T>,
) -> Result<(), E> {
    let (position, chunk) = (counter.end(), chunk_len::<T, T::Accumulator>(CHUNK_BYTES));
    let chunks = Parts::new(position, len, chunk);
    let sums = |worker: &mut Worker<T>, number: usize| {
        let range = chunks.range(number);
        // The memory keeps its length, so that a chunk is not cleared before it is read.
        let mut room = std::mem::take(&mut worker.items);
        room.resize(room.len().max(range.len()), T::zeroed());
        let items = &mut room[..range.len()];
        read(range.start, items)?;
        let sums = worker.slice_sums(position + range.start as u64, items);
        worker.items = room;
        Ok(sums)
    };
    for first in (0..chunks.count()).step_by(CHUNKS_AHEAD) {
        let count = CHUNKS_AHEAD.min(chunks.count() - first);
        let sums = threads::try_map(count, &|| Worker::new(fold), &|worker, number| {
            sums(worker, first + number)
        })?;
        in_rust_mode(|| {
            sums.iter()
                .for_each(|sums| counter.append(sums, fold.combine));
        });
    }
    Ok(())
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
        sum_block: Option<SumBlock<'_, T::Accumulator>>,
        position: u64,
        items: Range<usize>,
    ) -> Counter<T::Accumulator> {
        let start = position + items.start as u64;
        if let Some(slice) = input.slice(items.clone()) {
            return self.slice_sums(start, slice);
        }
        self.sums.clear();
        // Items that must be evaluated first go block by block, through the L1 cache.
        let block = block_len::<T::Accumulator>();
        for part in Parts::new(start, items.len(), block).ranges() {
            let first = items.start + part.start;
            if let Some(sum_block) = sum_block
                && part.len() == block
            {
                self.sums.push(sum_block(&mut self.tree, first));
                continue;
            }
            let evaluated = input.range(first..items.start + part.end, &mut self.items);
            let position = position + first as u64;
            (self.fold.block_sums)(&mut self.tree, position, evaluated, &mut self.sums);
        }
        self.counted(start, items.len())
    }

    /// The sums of elements where they lie. The first stands at `start`.
    fn slice_sums(&mut self, start: u64, elements: &[T]) -> Counter<T::Accumulator> {
        self.sums.clear();
        (self.fold.block_sums)(&mut self.tree, start, elements, &mut self.sums);
        self.counted(start, elements.len())
    }

    /// The sums of the blocks of `len` elements from `start` on, joined.
    fn counted(&self, start: u64, len: usize) -> Counter<T::Accumulator> {
        let mut counter = Counter::at(start);
        let block = block_len::<T::Accumulator>();
        for ((level, _), &sum) in blocks(start, len, block.ilog2()).zip(&self.sums) {
            counter.push(level, sum, self.fold.combine);
        }
        counter
    }
}
