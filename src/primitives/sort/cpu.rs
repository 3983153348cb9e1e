//! Sorting on the CPU: by digits of 8 bits, from the highest that varies, in parallel; and parts
//! that fit a cache from the lowest.

use super::order::{Bits, KeyMap, Sortable};
use crate::{Element, Error, Result};
use num_traits::{PrimInt, Zero};
use rayon::prelude::*;
use std::mem::MaybeUninit;

/// The bits of a digit, and how many digits there are.
const DIGIT: u32 = 8;
const DIGITS: usize = 1 << DIGIT;

/// What is sorted: a key, with or without something that it takes along.
pub(super) trait Record: Copy + Send + Sync {
    type Key: Sortable;
    fn key(&self) -> Self::Key;
}

impl<K: Sortable> Record for K {
    type Key = K;

    #[inline(always)]
    fn key(&self) -> K {
        *self
    }
}

/// A key with a value.
#[derive(Clone, Copy)]
struct Pair<K, V> {
    key: K,
    value: V,
}

/// A place that its key was at.
trait PlaceOf: Copy + Send + Sync {
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

impl<K: Sortable, V: Copy + Send + Sync> Record for Pair<K, V> {
    type Key = K;

    #[inline(always)]
    fn key(&self) -> K {
        self.key
    }
}

/// Values up to this size move with their keys. Larger ones move once, by places.
const MOVED_BYTES: usize = 16;

/// The records that a thread sorts alone take so many bytes: they and their new places stay in its
/// L2 cache.
const LEAF_BYTES: usize = 256 << 10;

/// Up to so many records are sorted by comparisons.
const FEW: usize = 192;

/// Sorts `data`. Memory: as much again.
pub(crate) fn sort<K: Sortable>(data: &mut [K], map: KeyMap<K::Bits>) -> Result<()> {
    sort_records(data, map)
}

/// Sorts `keys`, and moves `values` along.
pub(crate) fn sort_pairs<K: Sortable, V: Element>(
    keys: &mut [K],
    values: &mut [V],
    map: KeyMap<K::Bits>,
) -> Result<()> {
    assert_eq!(keys.len(), values.len());
    if size_of::<V>() <= MOVED_BYTES {
        let pairs = keys.par_iter().zip(&*values);
        let pairs = pairs.map(|(&key, &value)| Pair { key, value });
        let mut pairs = collect(keys.len(), pairs)?;
        sort_records(&mut pairs, map)?;
        let targets = keys.par_iter_mut().zip(values).zip(pairs);
        targets.for_each(|((key, value), pair)| (*key, *value) = (pair.key, pair.value));
        return Ok(());
    }
    match u32::try_from(keys.len()) {
        Ok(_) => sort_by_places::<u32, K, V>(keys, values, map),
        Err(_) => sort_by_places::<u64, K, V>(keys, values, map),
    }
}

fn sort_by_places<P: PlaceOf, K: Sortable, V: Element>(
    keys: &mut [K],
    values: &mut [V],
    map: KeyMap<K::Bits>,
) -> Result<()> {
    let pairs = sorted_places::<P, K>(keys, map)?;
    let moved = collect(
        values.len(),
        pairs.par_iter().map(|pair| values[pair.value.place()]),
    )?;
    values.copy_from_slice(&moved);
    let targets = keys.par_iter_mut().zip(pairs);
    targets.for_each(|(key, pair)| *key = pair.key);
    Ok(())
}

/// Writes where each key of the sorted order stands in `keys`.
pub(crate) fn argsort<K: Sortable>(
    keys: &[K],
    map: KeyMap<K::Bits>,
    places: &mut [MaybeUninit<u64>],
) -> Result<()> {
    fn write<P: PlaceOf, K: Sortable>(
        keys: &[K],
        map: KeyMap<K::Bits>,
        places: &mut [MaybeUninit<u64>],
    ) -> Result<()> {
        let pairs = sorted_places::<P, K>(keys, map)?;
        let targets = places.par_iter_mut().zip(pairs);
        targets.for_each(|(to, pair)| {
            to.write(pair.value.place() as u64);
        });
        Ok(())
    }
    assert_eq!(keys.len(), places.len());
    match u32::try_from(keys.len()) {
        Ok(_) => write::<u32, K>(keys, map, places),
        Err(_) => write::<u64, K>(keys, map, places),
    }
}

fn sorted_places<P: PlaceOf, K: Sortable>(
    keys: &[K],
    map: KeyMap<K::Bits>,
) -> Result<Vec<Pair<K, P>>> {
    let pairs = keys.par_iter().enumerate();
    let pairs = pairs.map(|(place, &key)| Pair {
        key,
        value: P::of(place),
    });
    let mut pairs = collect(keys.len(), pairs)?;
    sort_records(&mut pairs, map)?;
    Ok(pairs)
}

/// So many items in a new vector, or an error if there is no room.
fn collect<T: Send>(len: usize, items: impl IndexedParallelIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = reserve(len)?;
    items.collect_into_vec(&mut all);
    Ok(all)
}

fn reserve<T>(len: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(len)
        .map_err(|_| Error::OutOfHostMemory {
            requested: len.saturating_mul(size_of::<T>()),
        })?;
    Ok(room)
}

fn sort_records<R: Record>(data: &mut [R], map: KeyMap<<R::Key as Sortable>::Bits>) -> Result<()> {
    let sorter = Sorter::<R> { map };
    if data.len() <= FEW {
        sorter.sort_few(data);
        return Ok(());
    }
    let mut room = reserve::<R>(data.len())?;
    let room = &mut room.spare_capacity_mut()[..data.len()];
    // SAFETY: a `MaybeUninit<R>` has the layout of an `R`, and `sort` writes nothing to `data` but
    // records.
    let data = unsafe { &mut *(&raw mut *data as *mut [MaybeUninit<R>]) };
    // SAFETY: all of `data` is there.
    unsafe { sorter.sort(data, room, false) };
    Ok(())
}

struct Sorter<R: Record> {
    map: KeyMap<<R::Key as Sortable>::Bits>,
}

/// What a look at all keys tells.
struct Survey<B> {
    /// The bits that some rank has, and those that all have.
    any: B,
    all: B,
    sorted: bool,
    /// Whether no rank is greater than the one before it.
    falls: bool,
}

impl<R: Record> Sorter<R> {
    const LEAF: usize = LEAF_BYTES / size_of::<R>();

    #[inline(always)]
    fn rank(&self, record: &R) -> <R::Key as Sortable>::Bits {
        self.map.rank(record.key())
    }

    #[inline(always)]
    fn digit(&self, record: &R, shift: u32) -> usize {
        (self.rank(record) >> shift as usize).low_byte()
    }

    fn sort_few(&self, records: &mut [R]) {
        records.sort_by_key(|record| self.rank(record));
    }

    /// Sorts the records of `from`, into `to` or in place. What stands in the other one afterwards
    /// is not specified.
    ///
    /// # Safety
    ///
    /// All of `from` is there. Both have one length.
    unsafe fn sort(&self, from: &mut [MaybeUninit<R>], to: &mut [MaybeUninit<R>], moves: bool) {
        let len = from.len();
        if len <= FEW {
            // SAFETY: all of `from` is there.
            self.sort_few(unsafe { records_mut(from) });
            if moves {
                to.copy_from_slice(from);
            }
            return;
        }
        // SAFETY: all of `from` is there.
        let survey = self.survey(unsafe { records(from) });
        let varying = survey.any ^ survey.all;
        if survey.sorted || varying.is_zero() {
            if moves {
                copy(from, to);
            }
            return;
        }
        if survey.falls {
            // SAFETY: all of `from` is there.
            self.turn(unsafe { records_mut(from) });
            if moves {
                copy(from, to);
            }
            return;
        }
        let bits = <R::Key as Sortable>::Bits::BITS - varying.leading_zeros();
        // SAFETY: the caller's.
        unsafe {
            if len <= Self::LEAF {
                self.sort_leaf(from, to, moves, varying);
            } else {
                self.sort_parts(from, to, moves, bits.saturating_sub(DIGIT));
            }
        }
    }

    /// Sorts records whose ranks fall: the last come first, and equals stay in their order.
    fn turn(&self, records: &mut [R]) {
        let (front, back) = records.split_at_mut(records.len() / 2);
        let ends = front.par_iter_mut().zip(back.par_iter_mut().rev());
        ends.with_min_len(Self::LEAF)
            .for_each(|(first, last)| std::mem::swap(first, last));
        let equal = |a: &R, b: &R| self.rank(a) == self.rank(b);
        records.chunk_by_mut(equal).for_each(<[R]>::reverse);
    }

    /// In parallel, if there are many.
    fn survey(&self, records: &[R]) -> Survey<<R::Key as Sortable>::Bits> {
        let both = |a: Survey<_>, b: Survey<_>| Survey {
            any: a.any | b.any,
            all: a.all & b.all,
            sorted: a.sorted && b.sorted,
            falls: a.falls && b.falls,
        };
        if records.len() <= Self::LEAF {
            return self.survey_part(records, 0, records.len());
        }
        let starts = (0..records.len()).into_par_iter().step_by(Self::LEAF);
        let parts = starts.map(|start| {
            let end = (start + Self::LEAF).min(records.len());
            self.survey_part(records, start, end)
        });
        parts.reduce_with(both).expect("there are records")
    }

    /// Of the records of a part, and the one before.
    fn survey_part(
        &self,
        records: &[R],
        start: usize,
        end: usize,
    ) -> Survey<<R::Key as Sortable>::Bits> {
        let start = start.saturating_sub(1);
        let (first, rest) = (self.rank(&records[start]), &records[start + 1..end]);
        let (mut any, mut all, mut before) = (first, first, first);
        let (mut sorted, mut falls) = (true, true);
        for record in rest {
            let rank = self.rank(record);
            any = any | rank;
            all = all & rank;
            sorted &= before <= rank;
            falls &= before >= rank;
            before = rank;
        }
        Survey {
            any,
            all,
            sorted,
            falls,
        }
    }

    /// From the lowest digit that varies: one thread, in its cache.
    ///
    /// # Safety
    ///
    /// As for [`sort`](Sorter::sort).
    unsafe fn sort_leaf<'a>(
        &self,
        mut from: &'a mut [MaybeUninit<R>],
        mut to: &'a mut [MaybeUninit<R>],
        moves: bool,
        varying: <R::Key as Sortable>::Bits,
    ) {
        // Random keys differ in few bits more than tell so many records apart. Only the highest of
        // those are sorted by; what is equal in them is mended at last.
        let top = <R::Key as Sortable>::Bits::BITS - varying.leading_zeros();
        let enough = (from.len().ilog2() + 4).next_multiple_of(DIGIT);
        let lowest = top.saturating_sub(enough);
        let mut shifts = [0; 16];
        let (mut passes, mut rest) = (0, (varying >> (lowest as usize)) << (lowest as usize));
        while !rest.is_zero() {
            // Digits start at a bit that varies.
            let shift = rest.trailing_zeros();
            shifts[passes] = shift;
            passes += 1;
            let done = shift + DIGIT;
            rest = match done < <R::Key as Sortable>::Bits::BITS {
                true => rest >> (done as usize) << (done as usize),
                false => Zero::zero(),
            };
        }
        let below = varying ^ ((varying >> (lowest as usize)) << (lowest as usize));
        let mut counts = [[0_u32; DIGITS]; 16];
        let (shifts, counts) = (&shifts[..passes], &mut counts[..passes]);
        // SAFETY: the caller's.
        for record in unsafe { records(from) } {
            for (&shift, counts) in shifts.iter().zip(&mut *counts) {
                counts[self.digit(record, shift)] += 1;
            }
        }
        let mut moved = false;
        for (&shift, counts) in shifts.iter().zip(counts) {
            let mut end = 0;
            for count in counts.iter_mut() {
                let start = end;
                end += *count;
                *count = start;
            }
            // SAFETY: all of `from` is there.
            for record in unsafe { records(from) } {
                let place = &mut counts[self.digit(record, shift)];
                to[*place as usize].write(*record);
                *place += 1;
            }
            std::mem::swap(&mut from, &mut to);
            moved = !moved;
        }
        if !below.is_zero() {
            // SAFETY: all of `from` is there.
            unsafe { self.mend(from, to, lowest) };
        }
        if moved != moves {
            to.copy_from_slice(from);
        }
    }

    /// Sorts neighbours that are equal but for the bits below `lowest`, given that all others are
    /// sorted.
    ///
    /// # Safety
    ///
    /// All of `data` is there. `room` is as long.
    unsafe fn mend(&self, data: &mut [MaybeUninit<R>], room: &mut [MaybeUninit<R>], lowest: u32) {
        let mut start = 0;
        while start < data.len() {
            // SAFETY: all of `data` is there.
            let rest = unsafe { records(&data[start..]) };
            let first = self.rank(&rest[0]) >> lowest as usize;
            let equal = |record: &&R| self.rank(record) >> lowest as usize == first;
            let len = 1 + rest[1..].iter().take_while(equal).count();
            if len > 1 {
                let run = start..start + len;
                // SAFETY: all of `data` is there.
                unsafe { self.sort(&mut data[run.clone()], &mut room[run], false) };
            }
            start += len;
        }
    }

    /// Moves records to where those of a digit lie, and sorts these parts. In parallel.
    ///
    /// # Safety
    ///
    /// As for [`sort`](Sorter::sort).
    unsafe fn sort_parts(
        &self,
        from: &mut [MaybeUninit<R>],
        to: &mut [MaybeUninit<R>],
        moves: bool,
        shift: u32,
    ) {
        let len = from.len();
        let chunks = (CHUNKS_PER_THREAD * rayon::current_num_threads())
            .min(len.div_ceil(Self::LEAF))
            .max(1);
        let chunk = len.div_ceil(chunks);
        // SAFETY: the caller's.
        let source = unsafe { records(from) };
        let counted = source.par_chunks(chunk).map(|records| {
            let mut counts = [0_usize; DIGITS];
            for record in records {
                counts[self.digit(record, shift)] += 1;
            }
            counts
        });
        let mut places: Vec<[usize; DIGITS]> = counted.collect();
        let (mut end, mut ends) = (0, [0; DIGITS]);
        for digit in 0..DIGITS {
            for counts in &mut places {
                let start = end;
                end += counts[digit];
                counts[digit] = start;
            }
            ends[digit] = end;
        }
        let target = Target(to.as_mut_ptr());
        source
            .par_chunks(chunk)
            .zip(places)
            .for_each(|(records, mut places)| {
                let target = &target;
                for record in records {
                    let place = &mut places[self.digit(record, shift)];
                    // SAFETY: places are below the length. Each chunk has places of its own for
                    // each digit, as many as it counted.
                    unsafe { target.0.add(*place).write(MaybeUninit::new(*record)) };
                    *place += 1;
                }
            });
        if shift == 0 {
            // No bits are left.
            if !moves {
                copy(to, from);
            }
            return;
        }
        let (mut parts, mut rest, mut start) = (Vec::new(), (to, from), 0);
        for end in ends {
            let (front, back) = rest.0.split_at_mut(end - start);
            let (other_front, other_back) = rest.1.split_at_mut(end - start);
            if !front.is_empty() {
                parts.push((front, other_front));
            }
            rest = (back, other_back);
            start = end;
        }
        // The longest parts first: no thread begins one when the others are done.
        parts.sort_by_key(|(part, _)| std::cmp::Reverse(part.len()));
        parts
            .into_par_iter()
            .with_max_len(1)
            .for_each(|(part, other)| {
                // SAFETY: all of the part was written.
                unsafe { self.sort(part, other, !moves) };
            });
    }
}

/// A thread that begins late leaves some of its share to others.
const CHUNKS_PER_THREAD: usize = 4;

/// Where threads write, each to places of its own.
struct Target<R>(*mut MaybeUninit<R>);

// SAFETY: the pointer is only written through, at places that no two threads share.
unsafe impl<R: Send> Sync for Target<R> {}

/// Copies all, in parallel if it is much.
fn copy<R: Copy + Send + Sync>(from: &[MaybeUninit<R>], to: &mut [MaybeUninit<R>]) {
    let chunk = (LEAF_BYTES / size_of::<R>()).max(1);
    if from.len() <= chunk {
        return to.copy_from_slice(from);
    }
    let chunks = from.par_chunks(chunk).zip(to.par_chunks_mut(chunk));
    chunks.for_each(|(from, to)| to.copy_from_slice(from));
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
