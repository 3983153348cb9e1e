//! Segments on the CPU. Threads get stretches of items and segments together, and long segments are
//! shared out again.

use super::segments::Cut;
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::memory::reserve;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::{Tree, block_sums};
use crate::cpu::{block_len, short, threads};
use crate::primitives::reduce::cpu as reduce;
use crate::source::Items;
use crate::{Element, Monoid, Result};
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

/// What is compiled for each operator.
struct Folds<T: Element, C: Cut> {
    /// See [`Worker::fold`].
    some: FoldSome<T, C>,
    /// The fold of all items, by all threads.
    long: fn(&Items<'_, T>, Option<T>) -> T,
}

type FoldSome<T, C> =
    fn(&mut Worker<T>, &Items<'_, T>, &Bounds<'_, C>, usize, &mut [MaybeUninit<T>]);

/// The fold of each segment.
pub(super) fn reduce<T: Element, Op: Monoid<T>, C: Cut>(
    items: &Items<'_, T>,
    bounds: &Bounds<'_, C>,
    init: Option<T>,
) -> Result<Vec<T>> {
    let folds = Folds {
        some: Worker::fold::<Op, C>,
        long: |part, init| reduce::reduce::<T, Op>(part, None, init),
    };
    let empty = init.unwrap_or_else(Op::identity);
    reduce_with(items, bounds, (init, empty), &folds)
}

/// `empty` is the fold of an empty segment.
fn reduce_with<T: Element, C: Cut>(
    items: &Items<'_, T>,
    bounds: &Bounds<'_, C>,
    (init, empty): (Option<T>, T),
    folds: &Folds<T, C>,
) -> Result<Vec<T>> {
    let worker = || Worker::new(init, empty);
    let work = |worker: &mut Worker<T>, first, room: &mut [MaybeUninit<T>]| {
        in_rust_mode(|| (folds.some)(worker, items, bounds, first, room));
        worker.fold_long(items, room, first, folds.long);
    };
    let mut output = reserve(bounds.count)?;
    let room = &mut output.spare_capacity_mut()[..bounds.count];
    let all = items.len() + bounds.count;
    let stretch = stretch_of(all);
    if all <= stretch {
        work(&mut worker(), 0, room);
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
        type Stretch<'r, T> = (usize, &'r mut [MaybeUninit<T>]);
        let work = |worker: &mut Worker<T>, (first, room): Stretch<'_, T>| {
            work(worker, first, room);
        };
        threads::for_each_of_with(&mut stretches.into_iter(), &worker, &work);
    }
    // SAFETY: the stretches are all segments, and each was written.
    unsafe { output.set_len(bounds.count) };
    Ok(output)
}

/// What a thread works with.
struct Worker<T: Element> {
    init: Option<T::Accumulator>,
    /// The result of an empty segment.
    empty: T,
    evaluated: Vec<T>,
    tree: Option<Tree<T::Accumulator>>,
    sums: Vec<T::Accumulator>,
    long: Vec<(usize, Range<usize>)>,
}

impl<T: Element> Worker<T> {
    fn new(init: Option<T>, empty: T) -> Self {
        Worker {
            init: init.map(T::widen),
            empty,
            evaluated: Vec::new(),
            tree: None,
            sums: Vec::new(),
            long: Vec::new(),
        }
    }

    /// Folds the segments from `first` on, as many as there is room for, but for long ones.
    fn fold<Op: Monoid<T>, C: Cut>(
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
            to.write(self.fold_one::<Op>(elements));
        }
        self.evaluated = evaluated;
    }

    /// The fold of a segment that is not long.
    #[inline(always)]
    fn fold_one<Op: Monoid<T>>(&mut self, segment: &[T]) -> T {
        let prefix = match segment {
            [] => return self.empty,
            _ if Op::EXACT => short::fold::<T, Op>(self.init, segment),
            [one] => short::append::<T, Op>(self.init, one.widen()),
            _ if segment.len() <= MOST_BY_HALVES => short::fold_blocks::<T, Op>(self.init, segment),
            _ => self.fold_by_levels::<Op>(segment),
        };
        prefix.map_or(self.empty, T::narrow)
    }

    #[inline(never)]
    fn fold_by_levels<Op: Monoid<T>>(&mut self, segment: &[T]) -> Option<T::Accumulator> {
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
    fn fold_long(
        &mut self,
        items: &Items<'_, T>,
        room: &mut [MaybeUninit<T>],
        first: usize,
        fold: fn(&Items<'_, T>, Option<T>) -> T,
    ) {
        for (number, segment) in self.long.drain(..) {
            let init = self.init.map(T::narrow);
            room[number - first].write(items.with_part(segment, |part| fold(part, init)));
        }
    }
}

/// Segments of up to so many items are folded by straight code. For longer ones loops over levels
/// are faster.
const MOST_BY_HALVES: usize = 256;
