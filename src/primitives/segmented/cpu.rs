//! Segments on the CPU. Threads get stretches of items and segments together, and long segments are
//! shared out again.

use super::segments::Cut;
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::memory::reserve;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::{Tree, block_sums};
use crate::cpu::{block_len, short};
use crate::primitives::reduce::cpu as reduce;
use crate::source::Items;
use crate::{Element, Monoid, Result};
use rayon::prelude::*;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The items and segments of a stretch. That takes far longer than handing it to a thread.
const LEAST: usize = 1 << 12;
const MOST: usize = 1 << 16;

/// A thread that begins late leaves some of its share to others.
const STRETCHES_PER_THREAD: usize = 8;

/// Segments of more items are long: all threads fold each of them.
pub(super) const LONG: usize = 1 << 17;

/// The items that are evaluated at a time, unless a segment has more.
const WINDOW: usize = 1 << 11;

/// The bounds of segments.
pub(crate) struct Bounds<'a, C: Cut> {
    arguments: &'a C::Arguments,
    pub(crate) count: usize,
}

impl<C: Cut> Bounds<'_, C> {
    /// # Safety
    ///
    /// The arguments are of `count` segments in host memory.
    pub(super) unsafe fn new(arguments: &C::Arguments, count: usize) -> Bounds<'_, C> {
        Bounds { arguments, count }
    }

    /// Where segment `i` starts.
    #[inline(always)]
    pub(crate) fn start(&self, i: usize) -> usize {
        assert!(i <= self.count);
        // SAFETY: there are so many; the rest `new` was promised.
        unsafe { C::bound(self.arguments, i) }
    }

    /// The items of segment `i`. Unchecked offsets may fall.
    #[inline(always)]
    pub(crate) fn items(&self, i: usize) -> Range<usize> {
        let (start, end) = (self.start(i), self.start(i + 1));
        start..end.max(start)
    }

    /// How many segments start before entry `diagonal` of the list of all items and starts, where a
    /// start comes before the item that it stands at.
    pub(super) fn starts_before(&self, diagonal: usize) -> usize {
        let (mut low, mut high) = (0, self.count.min(diagonal));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.start(middle) + middle < diagonal {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// The items and segments of a stretch, where there are `all` together.
pub(super) fn stretch_of(all: usize) -> usize {
    let share = all / (STRETCHES_PER_THREAD * rayon::current_num_threads());
    share.clamp(LEAST, MOST)
}

/// The fold of each segment.
pub(super) fn reduce<T: Element, Op: Monoid<T>, C: Cut>(
    items: &Items<'_, T>,
    bounds: &Bounds<'_, C>,
    init: Option<T>,
) -> Result<Vec<T>> {
    let mut output = reserve(bounds.count)?;
    let room = &mut output.spare_capacity_mut()[..bounds.count];
    let all = items.len() + bounds.count;
    let stretch = stretch_of(all);
    if all <= stretch {
        let mut worker = Worker::<T, Op>::new(init);
        in_rust_mode(|| worker.fold(items, bounds, 0, room));
        worker.fold_long(items, room, 0);
    } else {
        let mut rest = &mut *room;
        let mut stretches = Vec::new();
        let mut first = 0;
        for diagonal in (stretch..all + stretch).step_by(stretch) {
            let end = match diagonal < all {
                true => bounds.starts_before(diagonal).max(first),
                false => bounds.count,
            };
            let (own, others) = rest.split_at_mut(end - first);
            stretches.push((first, own));
            (first, rest) = (end, others);
        }
        stretches.into_par_iter().for_each_init(
            || Worker::<T, Op>::new(init),
            |worker, (first, room)| {
                in_rust_mode(|| worker.fold(items, bounds, first, room));
                worker.fold_long(items, room, first);
            },
        );
    }
    // SAFETY: the stretches are all segments, and each was written.
    unsafe { output.set_len(bounds.count) };
    Ok(output)
}

/// What a thread works with.
struct Worker<T: Element, Op> {
    init: Option<T::Accumulator>,
    /// The result of an empty segment.
    empty: T,
    evaluated: Vec<T>,
    tree: Option<Tree<T::Accumulator>>,
    sums: Vec<T::Accumulator>,
    long: Vec<(usize, Range<usize>)>,
    operator: std::marker::PhantomData<Op>,
}

impl<T: Element, Op: Monoid<T>> Worker<T, Op> {
    fn new(init: Option<T>) -> Self {
        Worker {
            init: init.map(T::widen),
            empty: init.unwrap_or_else(Op::identity),
            evaluated: Vec::new(),
            tree: None,
            sums: Vec::new(),
            long: Vec::new(),
            operator: std::marker::PhantomData,
        }
    }

    /// Folds the segments from `first` on, as many as there is room for, but for long ones.
    fn fold<C: Cut>(
        &mut self,
        items: &Items<'_, T>,
        bounds: &Bounds<'_, C>,
        first: usize,
        room: &mut [MaybeUninit<T>],
    ) {
        let all = items.slice(0..items.len());
        let mut evaluated = std::mem::take(&mut self.evaluated);
        // What is evaluated now.
        let mut window = 0..0;
        for (i, to) in room.iter_mut().enumerate() {
            let segment = bounds.items(first + i);
            if segment.len() > LONG {
                to.write(self.empty);
                self.long.push((first + i, segment));
                continue;
            }
            let elements = match all {
                Some(all) => &all[segment],
                None if segment.is_empty() => &[],
                None => {
                    if segment.start < window.start || segment.end > window.end {
                        let end = segment.end.max(segment.start + WINDOW).min(items.len());
                        window = segment.start..end;
                        items.range(window.clone(), &mut evaluated);
                    }
                    &evaluated[segment.start - window.start..segment.end - window.start]
                }
            };
            to.write(self.fold_one(elements));
        }
        self.evaluated = evaluated;
    }

    /// The fold of a segment that is not long.
    #[inline(always)]
    fn fold_one(&mut self, segment: &[T]) -> T {
        let prefix = match segment {
            [] => return self.empty,
            _ if Op::EXACT => short::fold::<T, Op>(self.init, segment),
            [one] => short::append::<T, Op>(self.init, one.widen()),
            _ if segment.len() <= MOST_BY_HALVES => {
                let sums = short::block_sums::<T, Op>(segment);
                sums.fold(self.init, short::append::<T, Op>)
            }
            _ => self.fold_by_levels(segment),
        };
        prefix.map_or(self.empty, T::narrow)
    }

    #[inline(never)]
    fn fold_by_levels(&mut self, segment: &[T]) -> Option<T::Accumulator> {
        let tree = self.tree.get_or_insert_with(Tree::new);
        self.sums.clear();
        block_sums::<T, Op>(tree, 0, segment, &mut self.sums);
        let mut counter = Counter::at(0);
        let most = block_len::<T::Accumulator>().ilog2();
        for ((level, _), &sum) in blocks(0, segment.len(), most).zip(&self.sums) {
            counter.push(level, sum, Op::combine);
        }
        counter.prefix(self.init, Op::combine)
    }

    /// Folds the long segments. All threads share each of them.
    fn fold_long(&mut self, items: &Items<'_, T>, room: &mut [MaybeUninit<T>], first: usize) {
        for (number, segment) in self.long.drain(..) {
            let init = self.init.map(T::narrow);
            let fold = items.with_part(segment, |part| reduce::reduce::<T, Op>(part, None, init));
            room[number - first].write(fold);
        }
    }
}

/// Segments of up to so many items are folded by straight code. For longer ones loops over levels
/// are faster.
const MOST_BY_HALVES: usize = 256;
