//! The radix sort of the CPU: stable, of records by the ranks of their keys.
//!
//! 1. One reading finds which bits vary, and whether the records are in order already.
//! 2. Records move to *buckets*, in parallel. A digit is the highest bits that vary, up to 13.
//!    Neighbouring digits share a bucket. All are counted first, so buckets come out about equal
//!    for floats of a few magnitudes, too. A thread collects the records of a bucket in a line of
//!    its cache, and writes the line whole and past the caches.
//! 3. A bucket that fits a core's cache is a *leaf*. One thread sorts it there from the lowest
//!    digit on, by as many of the highest bits as tell most of its records apart, and then mends
//!    the few neighbours that are still out of order.
//!
//! Buckets and lines are those of Wassenberg and Sanders, "Engineering a multi-core radix sort"
//! (Euro-Par 2011).

mod buckets;
mod digits;
mod leaf;
mod mend;
mod records;
mod scatter;
mod survey;

pub(super) use records::{Pair, PlaceOf};

use super::few::{FEW, sort_few};
use super::order::{KeyMap, Sortable};
use crate::Result;
use crate::cpu::memory::reserve;
use crate::cpu::threads::{for_each_of, for_each_of_with};
use buckets::longest_first;
use records::{BitsOf, Record, records, records_mut};
use std::mem::MaybeUninit;

/// The bytes of the longest leaf. It and its room stay in the L2 cache of a core.
const LEAF_BYTES: usize = 1 << 20;

/// Sorts `data`. Memory: as much again.
pub(super) fn sort_records<R: Record>(
    data: &mut [R],
    map: KeyMap<<R::Key as Sortable>::Bits>,
) -> Result<()> {
    let sorter = Sorter::<R> { map };
    if data.len() <= FEW {
        sort_few(data, |record| sorter.rank(record));
        return Ok(());
    }
    let mut room = reserve::<R>(data.len())?;
    let room = &mut room.spare_capacity_mut()[..data.len()];
    // SAFETY: a `MaybeUninit<R>` has the layout of an `R`, and `sort` writes nothing to `data` but
    // records.
    let data = unsafe { &mut *(&raw mut *data as *mut [MaybeUninit<R>]) };
    // SAFETY: all of `data` is there.
    unsafe { sorter.sort(data, room, false, &mut Vec::new()) };
    Ok(())
}

/// Writes the records of `source` over `target`, of the same length, in their order. Buckets are
/// moved straight there and sorted in place, so only those that fit no cache take more memory.
pub(super) fn sort_records_into<R: Record>(
    source: &[R],
    target: &mut [MaybeUninit<R>],
    map: KeyMap<<R::Key as Sortable>::Bits>,
) -> Result<()> {
    assert_eq!(source.len(), target.len());
    let sorter = Sorter::<R> { map };
    // SAFETY: all of `source` is there.
    unsafe { sorter.sort_into(source, target) }
}

/// Sorts by the ranks that a map gives to keys. Each file here has a part of that.
struct Sorter<R: Record> {
    map: KeyMap<BitsOf<R>>,
}

impl<R: Record> Sorter<R> {
    const LEAF: usize = LEAF_BYTES / size_of::<R>();

    /// Sorts the records of `from`, into `to` or in place. What stands in the other one afterwards
    /// is not specified.
    ///
    /// # Safety
    ///
    /// All of `from` is there. Both have one length; `to` may be empty if a leaf is sorted in
    /// place.
    //
    // A thread's leaves share `spare`: new memory is cleared page by page.
    unsafe fn sort(
        &self,
        from: &mut [MaybeUninit<R>],
        to: &mut [MaybeUninit<R>],
        moves: bool,
        spare: &mut Vec<R>,
    ) {
        let len = from.len();
        if len <= FEW {
            // SAFETY: all of `from` is there.
            sort_few(unsafe { records_mut(from) }, |record| self.rank(record));
            if moves {
                to.copy_from_slice(from);
            }
            return;
        }
        // SAFETY: all of `from` is there.
        let survey = self.survey(unsafe { records(from) });
        let varying = survey.varying();
        if survey.rises || survey.falls {
            if !survey.rises {
                // SAFETY: all of `from` is there.
                self.turn(unsafe { records_mut(from) });
            }
            if moves {
                copy(from, to);
            }
            return;
        }
        // SAFETY: the caller's.
        unsafe {
            if len <= Self::LEAF {
                self.sort_leaf(from, to, moves, varying, spare);
            } else {
                self.sort_buckets(from, to, moves, varying);
            }
        }
    }

    /// Sorts records into another array.
    ///
    /// # Safety
    ///
    /// Both have one length.
    unsafe fn sort_into(&self, source: &[R], to: &mut [MaybeUninit<R>]) -> Result<()> {
        let copied = |to: &mut [MaybeUninit<R>]| {
            // SAFETY: a `MaybeUninit<R>` has the layout of an `R`.
            copy(
                unsafe { &*(&raw const *source as *const [MaybeUninit<R>]) },
                to,
            );
        };
        if source.len() <= Self::LEAF {
            copied(to);
            // SAFETY: all was copied, and a leaf takes no room.
            unsafe { self.sort(to, &mut [], false, &mut Vec::new()) };
            return Ok(());
        }
        let survey = self.survey(source);
        if survey.rises || survey.falls {
            copied(to);
            if !survey.rises {
                // SAFETY: all was copied.
                self.turn(unsafe { records_mut(to) });
            }
            return Ok(());
        }
        // SAFETY: the caller's; the survey tells which bits vary.
        let (ends, are_sorted) = unsafe { self.move_to_buckets(source, to, survey.varying()) };
        if are_sorted {
            return Ok(());
        }
        let (mut leaves, mut large, mut rest, mut start) = (Vec::new(), Vec::new(), to, 0);
        for end in ends {
            let (part, behind) = rest.split_at_mut(end - start);
            match part.len() <= Self::LEAF {
                true => leaves.push(part),
                false => large.push(part),
            }
            (rest, start) = (behind, end);
        }
        for part in large {
            let mut room = reserve::<R>(part.len())?;
            let room = &mut room.spare_capacity_mut()[..part.len()];
            // SAFETY: all of the part was written.
            unsafe { self.sort(part, room, false, &mut Vec::new()) };
        }
        let mut leaves = longest_first(leaves, |part| part.len());
        let leaf = |spare: &mut Vec<R>, part: &mut [MaybeUninit<R>]| {
            // SAFETY: all of the part was written, and a leaf in place takes no room.
            unsafe { self.sort(part, &mut [], false, spare) };
        };
        for_each_of_with(&mut leaves, &Vec::new, &leaf);
        Ok(())
    }
}

/// Copies all, in parallel if it is much.
fn copy<R: Copy + Send + Sync>(from: &[MaybeUninit<R>], to: &mut [MaybeUninit<R>]) {
    let chunk = LEAF_BYTES / size_of::<R>();
    let chunks = from.chunks(chunk).zip(to.chunks_mut(chunk));
    for_each_of(&mut { chunks }, &|(from, to)| to.copy_from_slice(from));
}
