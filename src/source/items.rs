//! How the CPU's loops take the items of a source.

use super::Form;
use crate::cpu::block_len;
use crate::cpu::tree::{STRIP, Tree, block_sum_of};
use crate::{Element, Monoid};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The items of a source in host memory, as the CPU's loops take them.
///
/// A slice is used where it lies. Anything else is evaluated a block at a time, into memory that
/// stays in a cache. So the loops are compiled once for a type and an operator, whatever the
/// source.
pub(crate) struct Items<'a, T> {
    len: usize,
    slice: Option<&'a [T]>,
    part: Part<'a, T>,
    fill: Fill<'a, T>,
}

/// Calls `write` with each of the targets and an item, from item `start` on, in a loop that the
/// compiler turns into SIMD code.
///
/// The arguments come by value. Behind a reference, each write might change them for all that the
/// compiler knows: it would read them again for each item, and vectorise nothing.
///
/// # Safety
///
/// As for [`Form::get`], for as many items as there are targets.
#[inline(always)]
unsafe fn evaluate<F: Form, To>(
    arguments: F::Arguments,
    start: usize,
    targets: impl Iterator<Item = To>,
    mut write: impl FnMut(To, F::Item),
) {
    crate::cpu::with_simd(
        #[inline(always)]
        move || {
            let arguments = arguments;
            for (i, to) in targets.enumerate() {
                // SAFETY: the caller's.
                write(to, unsafe { F::get(&arguments, start + i) });
            }
        },
    );
}

/// Some of the items, if these lie side by side. A pointer, since a reference would fix the
/// lifetime `'a`; what it points to stays as long.
type Part<'a, T> = &'a (dyn Fn(Range<usize>) -> Option<*const [T]> + Sync);

/// Writes the items from a position on: as many as there is room for.
type Fill<'a, T> = &'a (dyn Fn(usize, &mut [MaybeUninit<T>]) + Sync);

/// The sum of a whole block of items, from a position on.
pub(crate) type SumBlock<'a, A> = &'a (dyn Fn(&mut Tree<A>, usize) -> A + Sync);

// These are functions of their own since a closure is compiled for all types of the function that
// it stands in: for each kind of work.

/// What gives some items of a form where they lie.
///
/// # Safety
///
/// As for [`Items::with`], as long as it is called.
unsafe fn part_of<F: Form>(
    arguments: &F::Arguments,
    len: usize,
) -> impl Fn(Range<usize>) -> Option<*const [F::Item]> + Sync {
    move |range| {
        assert!(range.end <= len);
        // SAFETY: the positions are below `len`; the rest is the caller's.
        unsafe { F::part(arguments, range) }.map(std::ptr::from_ref)
    }
}

/// What writes items of a form.
///
/// # Safety
///
/// As for [`Items::with`], as long as it is called.
unsafe fn fill_of<F: Form>(
    arguments: &F::Arguments,
    len: usize,
) -> impl Fn(usize, &mut [MaybeUninit<F::Item>]) + Sync {
    move |start, to| {
        assert!(start + to.len() <= len);
        let (first, count) = (start + AHEAD_BYTES / size_of::<F::Item>(), to.len());
        // SAFETY: the positions are below `len`; the rest is the caller's.
        unsafe {
            evaluate::<F, _>(*arguments, start, to.iter_mut(), |to, item| {
                to.write(item);
            });
        }
        F::prefetch(arguments, first.min(len)..(first + count).min(len));
    }
}

/// What adds up a block of items of a form.
///
/// # Safety
///
/// As for [`Items::with`], as long as it is called.
unsafe fn sum_block_of<F: Form<Item = T>, T: Element, Op: Monoid<T>>(
    arguments: &F::Arguments,
    len: usize,
) -> impl Fn(&mut Tree<T::Accumulator>, usize) -> T::Accumulator + Sync {
    move |tree, start| {
        assert!(start + block_len::<T::Accumulator>() <= len);
        let arguments = *arguments;
        // SAFETY: the positions are below `len`; the rest is the caller's.
        let get = move |i| unsafe { F::get(&arguments, start + i) };
        let prefetch = move |i: usize| {
            let ahead = start + i + AHEAD_ITEMS;
            F::prefetch(&arguments, ahead.min(len)..(ahead + STRIP).min(len));
        };
        block_sum_of::<T, Op>(tree, get, prefetch)
    }
}

/// What writes items of a form, and their flags.
///
/// # Safety
///
/// As for [`FlaggedItems::with`], as long as it is called.
unsafe fn fill_flagged_of<F: Form<Item = (T, bool)>, T: Element>(
    arguments: &F::Arguments,
    len: usize,
) -> impl Fn(usize, &mut [MaybeUninit<T>], &mut [MaybeUninit<bool>]) + Sync {
    move |start, items, flags| {
        assert!(items.len() == flags.len() && start + items.len() <= len);
        let (first, count) = (start + AHEAD_BYTES / size_of::<T>(), items.len());
        let targets = items.iter_mut().zip(flags);
        // SAFETY: the positions are below `len`; the rest is the caller's.
        unsafe {
            evaluate::<F, _>(*arguments, start, targets, |(to, flag), item| {
                to.write(item.0);
                flag.write(item.1);
            });
        }
        F::prefetch(arguments, first.min(len)..(first + count).min(len));
    }
}

impl<'a, T: Element> Items<'a, T> {
    /// Calls `work` with the items of a form.
    ///
    /// # Safety
    ///
    /// The arguments are of a source in host memory with `len` items, which is borrowed meanwhile.
    pub(crate) unsafe fn with<F: Form<Item = T>, R>(
        arguments: &F::Arguments,
        len: usize,
        work: impl FnOnce(&Items<'_, T>) -> R,
    ) -> R {
        // SAFETY: the caller's.
        let slice = unsafe { F::as_slice(arguments, len) };
        // The constant lets the compiler leave out what evaluates slices.
        if const { F::LEAVES.plain } {
            return work(&Items::of_slice(slice.expect("a plain source is a slice")));
        }
        // SAFETY: the caller's.
        let (part, fill) = unsafe { (part_of::<F>(arguments, len), fill_of::<F>(arguments, len)) };
        work(&Items {
            len,
            slice,
            part: &part,
            fill: &fill,
        })
    }

    /// Calls `work` with the items of a form, and with what adds up a block of them, if that is
    /// faster than to write the items first.
    ///
    /// # Safety
    ///
    /// As for [`with`](Items::with).
    pub(crate) unsafe fn with_sums<F: Form<Item = T>, Op: Monoid<T>, R>(
        arguments: &F::Arguments,
        len: usize,
        work: impl FnOnce(&Items<'_, T>, Option<SumBlock<'_, T::Accumulator>>) -> R,
    ) -> R {
        // The constant lets the compiler leave out what sums up slices, which is much.
        if const { F::LEAVES.plain } {
            // SAFETY: the caller's.
            return unsafe { Items::with::<F, R>(arguments, len, |items| work(items, None)) };
        }
        // SAFETY: the caller's.
        let sum_block = unsafe { sum_block_of::<F, T, Op>(arguments, len) };
        let work = |items: &Items<'_, T>| work(items, Some(&sum_block));
        // SAFETY: the caller's.
        unsafe { Items::with::<F, R>(arguments, len, work) }
    }

    /// Calls `work` with some of the items.
    pub(crate) fn with_part<R>(
        &self,
        part: Range<usize>,
        work: impl FnOnce(&Items<'_, T>) -> R,
    ) -> R {
        work(&Items {
            len: part.len(),
            slice: self.slice(part.clone()),
            part: &|range| {
                assert!(range.end <= part.len());
                (self.part)(part.start + range.start..part.start + range.end)
            },
            fill: &|start, to| {
                assert!(start + to.len() <= part.len());
                (self.fill)(part.start + start, to);
            },
        })
    }

    /// Writes the items from `start` on: as many as there is room for.
    pub(crate) fn write(&self, start: usize, to: &mut [MaybeUninit<T>]) {
        let Some(items) = self.slice(start..start + to.len()) else {
            return (self.fill)(start, to);
        };
        // SAFETY: `MaybeUninit<T>` has the layout of `T`.
        let items = unsafe { &*(&raw const *items as *const [MaybeUninit<T>]) };
        to.copy_from_slice(items);
    }

    /// The items of a slice.
    pub(crate) fn of_slice(slice: &'a [T]) -> Items<'a, T> {
        Items {
            len: slice.len(),
            slice: Some(slice),
            part: &|_| None,
            fill: &|_, _| unreachable!("a slice is used where it lies"),
        }
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The items of a range where they lie, if they lie somewhere.
    pub(crate) fn slice(&self, range: Range<usize>) -> Option<&'a [T]> {
        self.slice.map(|slice| &slice[range])
    }

    /// The items of a range: where they lie, or evaluated into `room`, which keeps its memory.
    pub(crate) fn range<'r>(&'r self, range: Range<usize>, room: &'r mut Vec<T>) -> &'r [T] {
        if let Some(slice) = self.slice {
            return &slice[range];
        }
        if let Some(part) = (self.part)(range.clone()) {
            // SAFETY: these are items of the source, which stays borrowed.
            return unsafe { &*part };
        }
        room.clear();
        room.reserve(range.len());
        let len = range.len();
        (self.fill)(range.start, &mut room.spare_capacity_mut()[..len]);
        // SAFETY: `fill` wrote that many.
        unsafe { room.set_len(len) };
        room
    }
}

/// The items of a source in host memory, each with a flag, as the CPU's loops take them.
///
/// They are evaluated a block at a time. So the loops are compiled once for a type, whatever the
/// source.
pub(crate) struct FlaggedItems<'a, T> {
    len: usize,
    fill: FillFlagged<'a, T>,
}

/// How far ahead of what is evaluated the caches fetch, in bytes of items. Evaluating items and
/// taking them alternate; without this the memory would be idle while items are taken.
const AHEAD_BYTES: usize = 2 << 10;

/// How far ahead they fetch where the items of a block are folded, in items.
const AHEAD_ITEMS: usize = 1 << 9;

/// Writes the items from a position on, and their flags: as many as there is room for.
type FillFlagged<'a, T> =
    &'a (dyn Fn(usize, &mut [MaybeUninit<T>], &mut [MaybeUninit<bool>]) + Sync);

impl<T: Element> FlaggedItems<'_, T> {
    /// Calls `work` with the items of a form.
    ///
    /// # Safety
    ///
    /// The arguments are of a source in host memory with `len` items. Nothing but `work` writes to
    /// it meanwhile, and `work` does not evaluate an item that it has overwritten.
    pub(crate) unsafe fn with<F: Form<Item = (T, bool)>, R>(
        arguments: &F::Arguments,
        len: usize,
        work: impl FnOnce(&FlaggedItems<'_, T>) -> R,
    ) -> R {
        // SAFETY: the caller's.
        let fill = unsafe { fill_flagged_of::<F, T>(arguments, len) };
        work(&FlaggedItems { len, fill: &fill })
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Writes the items from `start` on, and their flags: all of the two slices, which have one
    /// length.
    pub(crate) fn evaluate(
        &self,
        start: usize,
        items: &mut [MaybeUninit<T>],
        flags: &mut [MaybeUninit<bool>],
    ) {
        (self.fill)(start, items, flags);
    }
}
