//! The move of records to their buckets. Those of a bucket are collected in a line of the cache,
//! which is written whole and past the caches.

use super::Sorter;
use super::buckets::{Buckets, DIGITS};
use super::digits::Digit;
use super::records::Record;
use crate::cpu::stream::{self, Line};
use std::mem::MaybeUninit;
use std::ops::Range;

impl<R: Record> Sorter<R> {
    /// Moves records to where those of their buckets lie, from `starts` on.
    ///
    /// # Safety
    ///
    /// The records of a bucket may be written to `target` from its start on, and nobody else does.
    pub(super) unsafe fn scatter(
        &self,
        records: &[R],
        digit: Digit,
        buckets: &Buckets,
        starts: &[usize],
        target: *mut MaybeUninit<R>,
    ) {
        let mut places = starts.to_vec();
        let (of_digit, size) = (&buckets.of_digit, size_of::<R>());
        let fills_lines = R::IS_DENSE && Line::BYTES.is_multiple_of(size);
        if !fills_lines || !target.addr().is_multiple_of(size) {
            return self.for_each_digit(records, digit, |record, digit| {
                let place = &mut places[usize::from(of_digit[digit & (DIGITS - 1)])];
                // SAFETY: the caller's.
                unsafe { (*target.add(*place)).write(*record) };
                *place += 1;
            });
        }
        let of_line = Line::BYTES / size;
        // The place of a record within its line depends on where the target starts in one.
        let phase = target.addr() % Line::BYTES / size;
        let mut lines = vec![Line([0; Line::BYTES]); places.len()];
        self.for_each_digit(records, digit, |record, digit| {
            let bucket = usize::from(of_digit[digit & (DIGITS - 1)]);
            // SAFETY: each digit has one of the buckets.
            let (place, line) = unsafe {
                let place = places.get_unchecked_mut(bucket);
                (place, lines.get_unchecked_mut(bucket))
            };
            let slot = (*place + phase) % of_line;
            // SAFETY: a line has room for so many records, and its alignment is greater than
            // theirs.
            unsafe { line.0.as_mut_ptr().cast::<R>().add(slot).write(*record) };
            *place += 1;
            if slot + 1 == of_line {
                match *place >= starts[bucket] + of_line {
                    // SAFETY: the line ends at the place, and begins in the chunk's own share of
                    // the bucket.
                    true => unsafe { stream::line(line, target.add(*place - of_line).cast()) },
                    // SAFETY: the records from the start on are in the line.
                    false => unsafe { write_out(line, starts[bucket]..*place, phase, target) },
                }
            }
        });
        stream::finish();
        for ((line, &start), &place) in lines.iter().zip(starts).zip(&places) {
            let begun = (place + phase) % of_line;
            // SAFETY: the last records of the bucket are in the line.
            unsafe {
                write_out(
                    line,
                    place.saturating_sub(begun).max(start)..place,
                    phase,
                    target,
                )
            };
        }
    }
}

/// Writes the records of a line whose places are given.
///
/// # Safety
///
/// The places are of the line, hold records, and may be written.
unsafe fn write_out<R: Record>(
    line: &Line,
    places: Range<usize>,
    phase: usize,
    target: *mut MaybeUninit<R>,
) {
    let of_line = Line::BYTES / size_of::<R>();
    for place in places {
        let from = line.0.as_ptr().cast::<MaybeUninit<R>>();
        // SAFETY: the caller's.
        unsafe {
            target
                .add(place)
                .write(*from.add((place + phase) % of_line))
        };
    }
}
