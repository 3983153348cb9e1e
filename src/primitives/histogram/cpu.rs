//! Histograms on the CPU: each thread counts in tables of its own, and adds them to the result.
//!
//! Neighbouring items often have the same bin. An addition to a counter waits for the one before it
//! to the same counter, through memory. So where there are few bins, items take turns among several
//! tables.

use super::bins::{Bins, Rule, Table};
use super::index::Index;
use super::number::{Binned, Count, Counted};
use crate::Element;
use crate::cpu::stream::prefetch;
use crate::cpu::threads::{self, lock};
use crate::cpu::with_simd;
use crate::source::Items;
use bytemuck::Zeroable;
use std::sync::Mutex;

/// The items whose bins are found before they are counted.
pub(crate) const BLOCK: usize = 1 << 10;

/// The tables of a thread, where they stay in the L1 cache and where not.
const FEW_BINS: usize = 1 << 11;
const TABLES: usize = 4;

/// The most bytes of all threads' tables. With more bins, fewer threads count.
pub(crate) const TABLE_BYTES: usize = 256 << 20;

/// The fewest items that are worth a thread's tables.
pub(crate) const PART: usize = 1 << 16;

/// A counter of a thread must not wrap.
const MOST_BETWEEN_MERGES: usize = 1 << 31;

/// Adds the counts of all items to `counts`, which has as many for each channel as there are bins.
pub(super) fn histogram<C: Count, X: Counted>(
    input: &Items<'_, X>,
    bins: &Bins<X::Value>,
    counts: &mut [C],
) {
    let (len, bytes) = (input.len(), size_of_val(counts));
    let most = (TABLE_BYTES / bytes).clamp(1, rayon::current_num_threads());
    let parts = len.div_ceil(PART.max(counts.len())).clamp(1, most);
    let part = len.div_ceil(parts);
    let counts = Mutex::new(counts);
    let count = |number: usize| {
        let range = (number * part).min(len)..((number + 1) * part).min(len);
        count_part(input, bins, range, &counts);
    };
    threads::for_each(parts, &|| (), &|(), number| count(number));
}

fn count_part<C: Count, X: Counted>(
    input: &Items<'_, X>,
    bins: &Bins<X::Value>,
    part: std::ops::Range<usize>,
    counts: &Mutex<&mut [C]>,
) {
    let all = lock(counts).len();
    let tables = if all <= FEW_BINS { TABLES } else { 1 };
    // What has no bin is counted, too, behind the others. So no counter waits for a branch.
    let mut counters = vec![0_u32; (all + 1) * tables];
    let (mut room, mut places) = (Vec::new(), Vec::new());
    for start in part.clone().step_by(MOST_BETWEEN_MERGES / X::CHANNELS) {
        let end = part.end.min(start + MOST_BETWEEN_MERGES / X::CHANNELS);
        for block in (start..end).step_by(BLOCK) {
            let items = input.range(block..(block + BLOCK).min(end), &mut room);
            if tables == TABLES
                && let Some(bytes) = bytes(items, bins)
            {
                count_in::<u8, TABLES>(bytes, &mut counters);
                continue;
            }
            places.resize(items.len() * X::CHANNELS, 0);
            place(items, bins, all, &mut places);
            match tables {
                TABLES => count_in::<u32, TABLES>(&places, &mut counters),
                _ => count_in::<u32, 1>(&places, &mut counters),
            }
        }
        let mut counts = lock(counts);
        for (bin, count) in counts.iter_mut().enumerate() {
            let of_tables = counters.iter().skip(bin).step_by(all + 1);
            *count = of_tables.fold(*count, |count, &more| count.plus(more));
        }
        counters.fill(0);
    }
}

/// The items, if they are bytes and each is the number of its bin.
fn bytes<'i, X: Counted>(items: &'i [X], bins: &Bins<X::Value>) -> Option<&'i [u8]> {
    let are_bytes = size_of::<X>() == 1 && bins.have_all();
    are_bytes.then(|| bytemuck::cast_slice(items))
}

/// Counts what was placed, in tables that lie one after the other.
fn count_in<P: Copy + Into<u32>, const TABLES: usize>(places: &[P], counters: &mut [u32]) {
    let table = counters.len() / TABLES;
    let mut tables = counters.chunks_exact_mut(table);
    let mut tables: [&mut [u32]; TABLES] =
        std::array::from_fn(|_| tables.next().expect("there are as many"));
    let (groups, rest) = places.as_chunks::<GROUP>();
    for group in groups {
        if size_of::<P>() == 1 {
            prefetch_behind(group);
        }
        for places in group.as_chunks::<TABLES>().0 {
            for (table, &place) in tables.iter_mut().zip(places) {
                table[place.into() as usize] += 1;
            }
        }
    }
    for &place in rest {
        tables[0][place.into() as usize] += 1;
    }
}

/// The counter of each part of each item; `none` for those that are not counted.
pub(crate) fn place<X: Counted>(
    items: &[X],
    bins: &Bins<X::Value>,
    none: usize,
    places: &mut [u32],
) {
    let values: &[X::Value] = bytemuck::cast_slice(items);
    let none = none as u32;
    match bins.rule() {
        Rule::Values => {
            let count = bins.count() as u32;
            place_groups(values, places, move |group| {
                group.map(|x| {
                    // What cannot be a bin is very large.
                    let bin = match X::Value::IS_SHORT_INTEGER {
                        true => x.offset(X::Value::zeroed()),
                        false => u32::try_from(x.to_bin()).unwrap_or(u32::MAX),
                    };
                    if bin < count { bin } else { none }
                })
            });
        }
        Rule::Search(table, index) => place_by_search(table, index, values, places, none),
        Rule::Guess(table, _, Some(guess)) => {
            let guess = *guess;
            place_by_guess(table, values, places, none, move |x| guess.near_bin(x));
        }
        Rule::Guess(table, guess, None) => {
            let guess = *guess;
            place_by_guess(table, values, places, none, move |x| guess.near_bin(x));
        }
        Rule::Fixed(table, guess) => {
            let (guess, first) = (*guess, table.ends().0);
            let bin = move |x: X::Value| guess.near_bin(x.offset(first));
            place_by_guess(table, values, places, none, bin);
        }
    }
    if X::CHANNELS > 1 {
        let channels = (none as usize / bins.count()) as u32;
        for places in places.chunks_exact_mut(X::CHANNELS) {
            for (place, channel) in places.iter_mut().zip(0..) {
                let counted = *place < none && channel < channels;
                *place = if counted {
                    channel * bins.count() as u32 + *place
                } else {
                    none
                };
            }
        }
    }
}

/// Items that are placed together. Their bins are in an array of its own: the compiler sees that no
/// store to it changes a table, and makes SIMD code of the loops.
const GROUP: usize = 64;

/// `guess` gives the bin of an item in the range of all bins, or perhaps the next one, and whether
/// it is certain.
fn place_by_guess<T: Binned>(
    table: &Table<T>,
    values: &[T],
    places: &mut [u32],
    none: u32,
    guess: impl Fn(T) -> (u32, bool),
) {
    let ((first, last), firsts) = (table.ends(), &table.firsts[..]);
    let last_bin = firsts.len() as u32 - 1;
    place_groups(values, places, move |group| {
        let (mut bins, mut are_certain) = ([0; GROUP], true);
        for (bin, &x) in bins.iter_mut().zip(group) {
            let nearest = nearest(x, first, last);
            let there = nearest == x;
            let (guessed, is_certain) = guess(nearest);
            *bin = if there { guessed.min(last_bin) } else { none };
            are_certain &= is_certain || !there;
        }
        if !are_certain {
            for (bin, &x) in bins.iter_mut().zip(group) {
                // SAFETY: it is the last bin at most.
                let first = unsafe { *firsts.get_unchecked((*bin).min(last_bin) as usize) };
                *bin -= u32::from(*bin < none && x < first);
            }
        }
        bins
    });
}

/// A binary search within a cell of the index. Those of a group go on together.
fn place_by_search<T: Binned>(
    table: &Table<T>,
    index: &Index<T>,
    values: &[T],
    places: &mut [u32],
    none: u32,
) {
    let ((first, last), firsts) = (table.ends(), &table.firsts[..]);
    if firsts.is_empty() {
        return places.fill(none);
    }
    place_groups(values, places, move |group| {
        let (mut bins, mut rest) = ([0; GROUP], index.most);
        for (bin, &x) in bins.iter_mut().zip(group) {
            *bin = index.cell(nearest(x, first, last));
        }
        for bin in &mut bins {
            // SAFETY: an item from the first number to the last has a cell.
            *bin = unsafe { *index.bins.get_unchecked(*bin as usize) };
        }
        while rest > 1 {
            let half = rest / 2;
            rest -= half;
            for (bin, &x) in bins.iter_mut().zip(group) {
                let next = *bin + half;
                // SAFETY: the bin lies in `bin..bin + rest`, which only shrinks.
                let first = unsafe { *firsts.get_unchecked(next as usize) };
                *bin = if first <= x { next } else { *bin };
            }
        }
        let mut places = [none; GROUP];
        for ((place, bin), &x) in places.iter_mut().zip(bins).zip(group) {
            // Two masks: of a choice the compiler would make one between two addresses.
            let there = u32::from(x >= first && x <= last).wrapping_neg();
            *place = bin & there | none & !there;
        }
        places
    });
}

/// The number from `first` to `last` that is nearest to an item; of a NaN, `first`.
#[inline(always)]
fn nearest<T: Binned>(x: T, first: T, last: T) -> T {
    let x = if x > first { x } else { first };
    if x < last { x } else { last }
}

/// How far ahead of the items the caches fetch. Placing and counting alternate; without this the
/// memory would be idle while items are counted.
const AHEAD_BYTES: usize = 4 << 10;

/// Has the caches fetch what comes behind a group of items.
#[inline(always)]
fn prefetch_behind<T>(group: &[T]) {
    let ahead = group.as_ptr().wrapping_byte_add(AHEAD_BYTES);
    prefetch(ahead.cast(), size_of_val(group));
}

#[inline(always)]
fn place_groups<T: Element>(
    values: &[T],
    places: &mut [u32],
    bins: impl Fn(&[T; GROUP]) -> [u32; GROUP],
) {
    with_simd(
        #[inline(always)]
        move || {
            let (groups, rest) = values.as_chunks::<GROUP>();
            let (targets, last) = places.as_chunks_mut::<GROUP>();
            for (target, group) in targets.iter_mut().zip(groups) {
                prefetch_behind(group);
                *target = bins(group);
            }
            if !rest.is_empty() {
                let mut group = [T::zeroed(); GROUP];
                group[..rest.len()].copy_from_slice(rest);
                last.copy_from_slice(&bins(&group)[..rest.len()]);
            }
        },
    );
}
