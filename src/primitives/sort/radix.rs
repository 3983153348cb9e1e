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

use super::few::{FEW, sort_few};
use super::order::{Bits, KeyMap, Sortable};
use crate::Result;
use crate::cpu::memory::reserve;
use crate::cpu::stream::{self, Line};
use crate::cpu::threads::{for_each_of, for_each_of_with, map};
use crate::cpu::with_simd;
use num_traits::PrimInt;
use std::mem::MaybeUninit;

/// What is sorted: a key, with or without something that it takes along.
pub(super) trait Record: Copy + Send + Sync {
    type Key: Sortable;
    /// Whether all bytes of it have a value.
    const IS_DENSE: bool;
    fn key(&self) -> Self::Key;
}

impl<K: Sortable> Record for K {
    type Key = K;
    const IS_DENSE: bool = true;

    #[inline(always)]
    fn key(&self) -> K {
        *self
    }
}

/// A key with a value, which has no padding.
#[derive(Clone, Copy)]
pub(super) struct Pair<K, V> {
    pub(super) key: K,
    pub(super) value: V,
}

impl<K: Sortable, V: Copy + Send + Sync> Record for Pair<K, V> {
    type Key = K;
    const IS_DENSE: bool = size_of::<Self>() == size_of::<K>() + size_of::<V>();

    #[inline(always)]
    fn key(&self) -> K {
        self.key
    }
}

/// A place that a key was at.
pub(super) trait PlaceOf: Copy + Send + Sync {
    fn of(place: usize) -> Self;
    fn place(self) -> usize;
}

macro_rules! places {
    ($($integer:ty),*) => {$(
        impl PlaceOf for $integer {
            #[inline(always)]
            fn of(place: usize) -> Self {
                place as $integer
            }

            #[inline(always)]
            fn place(self) -> usize {
                self as usize
            }
        }
    )*};
}

places!(u32, u64);

/// The bytes of the longest leaf. It and its room stay in the L2 cache of a core.
const LEAF_BYTES: usize = 1 << 20;

/// The most bits of a digit of a leaf: its counters, and the lines that it writes to, are in the
/// caches nearest to a core.
const LEAF_BITS: u32 = 11;

/// The most passes over a leaf.
const LEAF_PASSES: usize = 3;

/// A leaf is sorted by so many bits more than tell as many numbers apart. Of random records few are
/// equal in these.
const SPARE_BITS: u32 = 5;

/// The most bits of a digit that buckets are made of, and the number of such digits.
const DIGIT_BITS: u32 = 13;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Digits share buckets of this part of all records, and no less than so many bytes.
const BUCKETS: usize = 512;
const BUCKET_BYTES: usize = 32 << 10;

/// With up to so many digits, each has a bucket of its own.
const FEW_DIGITS: usize = 1 << 10;

/// A thread that begins late leaves some of its share to others.
const CHUNKS_PER_THREAD: usize = 4;

/// Records whose digits are found together, by vector instructions.
const GROUP: usize = 64;

/// A record that is out of order by so many places is sorted with all those around it.
const NEAR: usize = 16;

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

/// The longest parts first: no thread begins one when the others are done.
fn longest_first<P: Send>(
    parts: Vec<P>,
    len: impl Fn(&P) -> usize,
) -> impl ExactSizeIterator<Item = P> + Send {
    // Their places are sorted, which is compiled once for all records.
    let order = order_of_lengths(parts.iter().map(len).collect());
    let mut parts: Vec<Option<P>> = parts.into_iter().map(Some).collect();
    let take = move |place: usize| parts[place].take().expect("each is taken once");
    order.into_iter().map(take)
}

/// Where the longest are, and then the others.
fn order_of_lengths(lengths: Vec<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(lengths[place]));
    order
}

/// Some neighbouring bits of a rank.
#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    mask: u32,
}

impl Digit {
    fn new(shift: u32, bits: u32) -> Digit {
        Digit {
            shift,
            mask: (1 << bits) - 1,
        }
    }
}

/// What a look at all keys tells.
struct Survey<B> {
    /// The bits that some rank has, and those that all have.
    any: B,
    all: B,
    /// Whether no rank is less than the one before it.
    rises: bool,
    /// Whether no rank is greater than the one before it.
    falls: bool,
}

impl<B: PrimInt> Survey<B> {
    /// The bits that some ranks have, and others have not.
    fn varying(&self) -> B {
        self.any ^ self.all
    }
}

type BitsOf<R> = <<R as Record>::Key as Sortable>::Bits;

struct Sorter<R: Record> {
    map: KeyMap<BitsOf<R>>,
}

impl<R: Record> Sorter<R> {
    const LEAF: usize = LEAF_BYTES / size_of::<R>();

    #[inline(always)]
    fn rank(&self, record: &R) -> BitsOf<R> {
        self.map.rank(record.key())
    }

    #[inline(always)]
    fn digit(&self, record: &R, digit: Digit) -> u32 {
        (self.rank(record) >> digit.shift as usize).low_word() & digit.mask
    }

    /// Calls `visit` with each record and its digit, in order.
    #[inline(always)]
    fn for_each_digit(&self, records: &[R], digit: Digit, mut visit: impl FnMut(&R, usize)) {
        let (groups, rest) = records.as_chunks::<GROUP>();
        let mut digits = [0; GROUP];
        for group in groups {
            self.find_digits(group, digit, &mut digits);
            for (record, &digit) in group.iter().zip(&digits) {
                visit(record, digit as usize);
            }
        }
        for record in rest {
            visit(record, self.digit(record, digit) as usize);
        }
    }

    fn find_digits(&self, records: &[R; GROUP], digit: Digit, digits: &mut [u32; GROUP]) {
        with_simd(
            #[inline(always)]
            || {
                for (to, record) in digits.iter_mut().zip(records) {
                    *to = self.digit(record, digit);
                }
            },
        );
    }

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

    /// Sorts records whose ranks fall: the last come first, and equals stay in their order.
    fn turn(&self, records: &mut [R]) {
        let half = records.len() / 2;
        let (front, back) = records.split_at_mut(half);
        // The record in the middle stays.
        let skipped = back.len() - half;
        let back = &mut back[skipped..];
        let ends = front
            .chunks_mut(Self::LEAF)
            .zip(back.rchunks_mut(Self::LEAF));
        for_each_of(&mut { ends }, &|(front, back)| {
            let ends = front.iter_mut().zip(back.iter_mut().rev());
            ends.for_each(|(first, last)| std::mem::swap(first, last));
        });
        let equal = |a: &R, b: &R| self.rank(a) == self.rank(b);
        records.chunk_by_mut(equal).for_each(<[R]>::reverse);
    }

    /// In parallel, if there are many.
    fn survey(&self, records: &[R]) -> Survey<BitsOf<R>> {
        let both = |a: Survey<_>, b: Survey<_>| Survey {
            any: a.any | b.any,
            all: a.all & b.all,
            rises: a.rises && b.rises,
            falls: a.falls && b.falls,
        };
        let parts = records.len().div_ceil(Self::LEAF);
        let parts = map(parts, &|| (), &|(), number| {
            let start = number * Self::LEAF;
            let end = (start + Self::LEAF).min(records.len());
            // With the record before the part.
            self.survey_part(&records[start.saturating_sub(1)..end])
        });
        parts.into_iter().reduce(both).expect("there are records")
    }

    fn survey_part(&self, records: &[R]) -> Survey<BitsOf<R>> {
        with_simd(
            #[inline(always)]
            || {
                let first = self.rank(&records[0]);
                let (mut any, mut all) = (first, first);
                let (mut rises, mut falls) = (true, true);
                for (before, record) in records.iter().zip(&records[1..]) {
                    let (before, rank) = (self.rank(before), self.rank(record));
                    any = any | rank;
                    all = all & rank;
                    rises &= before <= rank;
                    falls &= before >= rank;
                }
                Survey {
                    any,
                    all,
                    rises,
                    falls,
                }
            },
        )
    }

    /// From the lowest digit: one thread, in its cache.
    ///
    /// # Safety
    ///
    /// As for [`sort`](Sorter::sort). Some bits are `varying`, and no others vary.
    //
    // Only where records move is `to` written.
    unsafe fn sort_leaf(
        &self,
        from: &mut [MaybeUninit<R>],
        to: &mut [MaybeUninit<R>],
        moves: bool,
        varying: BitsOf<R>,
        spare: &mut Vec<R>,
    ) {
        const { assert!(LEAF_BYTES.ilog2() + SPARE_BITS <= LEAF_PASSES as u32 * LEAF_BITS) };
        let len = from.len();
        let top = BitsOf::<R>::BITS - varying.leading_zeros();
        let wanted = (top - varying.trailing_zeros()).min(len.ilog2() + SPARE_BITS);
        let passes = wanted.div_ceil(LEAF_BITS);
        let bits = wanted.div_ceil(passes);
        let lowest = top.saturating_sub(passes * bits);
        let digits = (0..passes).map(|pass| Digit::new(lowest + pass * bits, bits));
        // Of the bits between, all may be constant.
        let varies = |digit: &Digit| (varying >> digit.shift as usize).low_word() & digit.mask != 0;
        let mut counted = [(Digit::new(0, 0), [0_u32; 1 << LEAF_BITS]); LEAF_PASSES];
        let mut passes = 0;
        for digit in digits.filter(varies) {
            counted[passes].0 = digit;
            passes += 1;
        }
        let counted = &mut counted[..passes];
        for (digit, counts) in &mut *counted {
            // SAFETY: all of `from` is there.
            self.for_each_digit(unsafe { records(from) }, *digit, |_, digit| {
                counts[digit & ((1 << LEAF_BITS) - 1)] += 1;
            });
            let mut end = 0;
            for count in &mut counts[..=digit.mask as usize] {
                end += std::mem::replace(count, end);
            }
        }
        spare.clear();
        spare.reserve(len);
        let (origin, other) = (from.as_mut_ptr(), to.as_mut_ptr());
        let spare = spare.spare_capacity_mut().as_mut_ptr();
        let goal = if moves { other } else { origin };
        // These two are in the cache; what lies in `to` is not.
        let targets = [spare, origin, spare];
        let mut source = origin;
        for ((digit, places), target) in counted.iter_mut().zip(targets) {
            // SAFETY: all of the source is there: it is `from`, or the pass before wrote it. The
            // target is another of three arrays, which have one length.
            let all = unsafe { std::slice::from_raw_parts(source.cast::<R>(), len) };
            self.for_each_digit(all, *digit, |record, digit| {
                let place = &mut places[digit & ((1 << LEAF_BITS) - 1)];
                // SAFETY: places are below the length: as many were counted.
                unsafe { (*target.add(*place as usize)).write(*record) };
                *place += 1;
            });
            source = target;
        }
        // SAFETY: the three arrays are apart from each other, and only used through the pointers
        // here. The source was written.
        unsafe {
            if varying.trailing_zeros() < lowest {
                let unused = if source == spare { origin } else { spare };
                let data = std::slice::from_raw_parts_mut(source, len);
                self.mend(data, std::slice::from_raw_parts_mut(unused, len), lowest);
            }
            if source != goal {
                goal.copy_from_nonoverlapping(source, len);
            }
        }
    }

    /// Sorts neighbours that are equal but for the bits below `lowest`, given that all others are
    /// in order.
    ///
    /// # Safety
    ///
    /// All of `data` is there. `room` is as long.
    unsafe fn mend(&self, data: &mut [MaybeUninit<R>], room: &mut [MaybeUninit<R>], lowest: u32) {
        for start in (0..data.len() - 1).step_by(GROUP) {
            // SAFETY: all of `data` is there.
            let falls = self.find_falls(unsafe { records(&data[start..]) });
            for (word, falls) in falls.as_chunks::<8>().0.iter().enumerate() {
                if u64::from_ne_bytes(*falls) == 0 {
                    continue;
                }
                let places = (start + 8 * word + 1..).zip(falls);
                for (mut place, _) in places.filter(|(_, falls)| **falls != 0) {
                    // What moved up may be greater than what comes behind it.
                    while place < data.len() {
                        // SAFETY: all of `data` is there.
                        let all = unsafe { records_mut(data) };
                        if self.rank(&all[place - 1]) <= self.rank(&all[place]) {
                            break;
                        }
                        place = match self.insert(all, place) {
                            true => place + 1,
                            // SAFETY: as above.
                            false => unsafe { self.sort_run(data, room, place, lowest) },
                        };
                    }
                }
            }
        }
    }

    /// Moves a record down to where its rank belongs, or some steps towards it. Whether it came
    /// there.
    #[inline]
    fn insert(&self, data: &mut [R], place: usize) -> bool {
        let record = data[place];
        let (rank, mut to) = (self.rank(&record), place);
        while to > 0 && place - to < NEAR && self.rank(&data[to - 1]) > rank {
            data[to] = data[to - 1];
            to -= 1;
        }
        data[to] = record;
        place - to < NEAR
    }

    /// Sorts the records around a place that are equal but for the bits below `lowest`. Returns
    /// where they end.
    ///
    /// # Safety
    ///
    /// As for [`mend`](Sorter::mend).
    unsafe fn sort_run(
        &self,
        data: &mut [MaybeUninit<R>],
        room: &mut [MaybeUninit<R>],
        place: usize,
        lowest: u32,
    ) -> usize {
        // SAFETY: all of `data` is there.
        let all = unsafe { records(data) };
        let high = |record: &R| self.rank(record) >> lowest as usize;
        let equal = |record: &&R| high(record) == high(&all[place]);
        let before = all[..place].iter().rev().take_while(equal).count();
        let behind = all[place..].iter().take_while(equal).count();
        let run = place - before..place + behind;
        // SAFETY: as above.
        unsafe {
            self.sort(
                &mut data[run.clone()],
                &mut room[run.clone()],
                false,
                &mut Vec::new(),
            )
        };
        run.end
    }

    /// Which of the first records have a rank greater than that of the next.
    fn find_falls(&self, all: &[R]) -> [u8; GROUP] {
        let falls = |a: &R, b: &R| u8::from(self.rank(a) > self.rank(b));
        let mut found = [0; GROUP];
        match all.first_chunk::<{ GROUP + 1 }>() {
            Some(all) => with_simd(
                #[inline(always)]
                || {
                    for i in 0..GROUP {
                        found[i] = falls(&all[i], &all[i + 1]);
                    }
                },
            ),
            None => {
                for (found, pair) in found.iter_mut().zip(all.windows(2)) {
                    *found = falls(&pair[0], &pair[1]);
                }
            }
        }
        found
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

    /// Moves records to buckets, and sorts these. In parallel.
    ///
    /// # Safety
    ///
    /// As for [`sort`](Sorter::sort). Some bits are `varying`, and no others vary.
    unsafe fn sort_buckets(
        &self,
        from: &mut [MaybeUninit<R>],
        to: &mut [MaybeUninit<R>],
        moves: bool,
        varying: BitsOf<R>,
    ) {
        // SAFETY: the caller's.
        let (ends, are_sorted) = unsafe { self.move_to_buckets(records(from), to, varying) };
        if are_sorted {
            if !moves {
                copy(to, from);
            }
            return;
        }
        let (mut parts, mut rest, mut start) = (Vec::new(), (to, from), 0);
        for end in ends {
            let (front, back) = rest.0.split_at_mut(end - start);
            let (other_front, other_back) = rest.1.split_at_mut(end - start);
            parts.push((front, other_front));
            rest = (back, other_back);
            start = end;
        }
        let mut parts = longest_first(parts, |(part, _)| part.len());
        type Part<'r, R> = (&'r mut [MaybeUninit<R>], &'r mut [MaybeUninit<R>]);
        let sort = |spare: &mut Vec<R>, (part, other): Part<'_, R>| {
            // SAFETY: all of the part was written.
            unsafe { self.sort(part, other, !moves, spare) };
        };
        for_each_of_with(&mut parts, &Vec::new, &sort);
    }

    /// Moves records to buckets, in parallel: where these end, and whether no bits are left to sort
    /// by.
    ///
    /// # Safety
    ///
    /// Both have one length. Some bits are `varying`, and no others vary.
    unsafe fn move_to_buckets(
        &self,
        source: &[R],
        to: &mut [MaybeUninit<R>],
        varying: BitsOf<R>,
    ) -> (Vec<usize>, bool) {
        let top = BitsOf::<R>::BITS - varying.leading_zeros();
        let shift = top.saturating_sub(DIGIT_BITS).max(varying.trailing_zeros());
        let digit = Digit::new(shift, top - shift);
        let chunks = (CHUNKS_PER_THREAD * rayon::current_num_threads())
            .min(source.len().div_ceil(Self::LEAF))
            .max(source.len().div_ceil(1 << 31));
        let chunk = source.len().div_ceil(chunks);
        let counts = map(source.len().div_ceil(chunk), &|| (), &|(), number| {
            let end = ((number + 1) * chunk).min(source.len());
            let mut counts = vec![0_u32; DIGITS];
            self.for_each_digit(&source[number * chunk..end], digit, |_, digit| {
                counts[digit & (DIGITS - 1)] += 1;
            });
            counts
        });
        let least = BUCKET_BYTES / size_of::<R>();
        let buckets = Buckets::new(&counts, digit, (source.len() / BUCKETS).max(least));
        drop(counts);
        let target = Target(to.as_mut_ptr());
        let chunks = source.chunks(chunk).zip(&buckets.starts);
        for_each_of(&mut { chunks }, &|(records, starts)| {
            let target: &Target<R> = &target;
            // SAFETY: each chunk has places of its own for each bucket, as many as it counted.
            unsafe { self.scatter(records, digit, &buckets, starts, target.0) };
        });
        let are_sorted = shift == varying.trailing_zeros() && buckets.are_digits;
        (buckets.ends, are_sorted)
    }

    /// Moves records to where those of their buckets lie, from `starts` on.
    ///
    /// # Safety
    ///
    /// The records of a bucket may be written to `target` from its start on, and nobody else does.
    unsafe fn scatter(
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
    places: std::ops::Range<usize>,
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

/// Which digits share a bucket, and where buckets lie.
struct Buckets {
    /// The bucket of each digit.
    of_digit: Box<[u16; DIGITS]>,
    /// Whether no bucket has records of several digits.
    are_digits: bool,
    /// For each chunk, where its records of each bucket start.
    starts: Vec<Vec<usize>>,
    ends: Vec<usize>,
}

impl Buckets {
    /// Of about `share` records each, from what each chunk has of each digit.
    fn new(counts: &[Vec<u32>], digit: Digit, share: usize) -> Buckets {
        const { assert!(2 * BUCKETS + FEW_DIGITS < u16::MAX as usize) };
        let digits = digit.mask as usize + 1;
        let mut are_digits = true;
        let mut of_digit = vec![0; DIGITS];
        let (mut last, mut len) = (0, 0);
        for (digit, bucket) in of_digit.iter_mut().enumerate().take(digits) {
            let more: usize = counts.iter().map(|counts| counts[digit] as usize).sum();
            if len > 0 && more > 0 {
                if digits <= FEW_DIGITS || len + more > share {
                    (last, len) = (last + 1, 0);
                } else {
                    are_digits = false;
                }
            }
            len += more;
            *bucket = last;
        }
        let of_chunk = |counts: &Vec<u32>| {
            let mut sums = vec![0; usize::from(last) + 1];
            for (&bucket, &count) in of_digit[..digits].iter().zip(counts) {
                sums[usize::from(bucket)] += count as usize;
            }
            sums
        };
        let mut starts: Vec<_> = counts.iter().map(of_chunk).collect();
        let mut end = 0;
        let ends = (0..=usize::from(last)).map(|bucket| {
            for of_chunk in &mut starts {
                end += std::mem::replace(&mut of_chunk[bucket], end);
            }
            end
        });
        Buckets {
            ends: ends.collect(),
            starts,
            are_digits,
            of_digit: of_digit.try_into().expect("as many"),
        }
    }
}

/// Where threads write, each to places of its own.
struct Target<R>(*mut MaybeUninit<R>);

// SAFETY: the pointer is only written through, at places that no two threads share.
unsafe impl<R: Send> Sync for Target<R> {}

/// Copies all, in parallel if it is much.
fn copy<R: Copy + Send + Sync>(from: &[MaybeUninit<R>], to: &mut [MaybeUninit<R>]) {
    let piece = LEAF_BYTES / size_of::<R>();
    let pieces = from.chunks(piece).zip(to.chunks_mut(piece));
    for_each_of(&mut { pieces }, &|(from, to)| to.copy_from_slice(from));
}

/// # Safety
///
/// All are there.
unsafe fn records<R>(of: &[MaybeUninit<R>]) -> &[R] {
    // SAFETY: `MaybeUninit<R>` has the layout of `R`; the rest is the caller's.
    unsafe { &*(&raw const *of as *const [R]) }
}

/// # Safety
///
/// All are there.
unsafe fn records_mut<R>(of: &mut [MaybeUninit<R>]) -> &mut [R] {
    // SAFETY: as in `records`.
    unsafe { &mut *(&raw mut *of as *mut [R]) }
}
