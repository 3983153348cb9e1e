//! Selection on the CPU: the ranks of the wanted items are found digit by digit, the highest first.
//!
//! Each digit takes one reading, which counts how often each of its values comes. Once few items
//! are left that can be wanted, these are copied, and only they are read.

use crate::Result;
use crate::cpu::memory::reserve;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::threads;
use crate::primitives::sort::{Bits, KeyMap, Sortable};
use crate::source::Form;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A table of counts for each value of a digit stays in a core's own cache.
const DIGIT_BITS: u32 = 12;

/// The items that a thread takes at a time.
const PART: usize = 1 << 16;

/// The items at some places of the sorted order, which rise.
///
/// # Safety
///
/// The arguments are of a source in host memory with `len` items, which is borrowed meanwhile. The
/// places are below `len`.
pub(super) unsafe fn select<K: Sortable, F: Form<Item = K>>(
    arguments: &F::Arguments,
    len: usize,
    map: KeyMap<K::Bits>,
    places: &[usize],
) -> Result<Vec<K>> {
    // SAFETY: the caller's; all positions below are less than `len`.
    let read = |position: usize| unsafe { F::get(arguments, position) };
    let item = |position: usize| in_rust_mode(|| read(position));
    let rank = |position: usize| map.rank(read(position));
    let mut search = Search::<K::Bits>::new(len, places);
    while search.shift > 0 && search.candidates() > len / 8 {
        search.next_digit(len, rank);
    }
    if search.shift == 0 {
        // Many items are equal to one that is wanted.
        let wanted = search.wanted.iter();
        return Ok(wanted.map(|one| item(one.position(len, rank))).collect());
    }
    let few = search.collect(len, rank)?;
    let rank = |number: usize| few[number].0;
    while search.shift > 0 {
        search.next_digit(few.len(), rank);
    }
    let position = |one: &Wanted<_>| few[one.position(few.len(), rank)].1;
    Ok(search
        .wanted
        .iter()
        .map(|one| item(position(one)))
        .collect())
}

/// What is known of the wanted items.
struct Search<B> {
    wanted: Vec<Wanted<B>>,
    /// The bits of ranks that are not known.
    shift: u32,
}

#[derive(Clone, Copy)]
struct Wanted<B> {
    /// The digits of its rank that are known.
    prefix: B,
    /// How many items have a rank that begins so.
    count: usize,
    /// Its place among these in the sorted order.
    place: usize,
}

impl<B: Bits> Search<B> {
    fn new(len: usize, places: &[usize]) -> Search<B> {
        let wanted = places.iter().map(|&place| Wanted {
            prefix: B::zero(),
            count: len,
            place,
        });
        Search {
            wanted: wanted.collect(),
            shift: B::BITS,
        }
    }

    /// The different prefixes, in rising order, as places are.
    fn prefixes(&self) -> Vec<B> {
        let mut prefixes: Vec<B> = self.wanted.iter().map(|one| one.prefix).collect();
        prefixes.dedup();
        prefixes
    }

    /// How many items can be wanted.
    fn candidates(&self) -> usize {
        let mut wanted = self.wanted.clone();
        wanted.dedup_by_key(|one| one.prefix);
        wanted.iter().map(|one| one.count).sum()
    }

    /// Finds one more digit of each rank. `rank` gives those of `len` items, among them all that
    /// can be wanted.
    fn next_digit(&mut self, len: usize, rank: impl Fn(usize) -> B + Sync) {
        let above = self.shift;
        let shift = above.saturating_sub(DIGIT_BITS);
        let (prefixes, values) = (self.prefixes(), 1_usize << (above - shift));
        let none = || vec![0_usize; prefixes.len() * values];
        let count = |counts: &mut Vec<usize>, number: usize| {
            for position in part(number, len) {
                let rank = rank(position);
                if let Some(table) = place_of(&prefixes, high(rank, above)) {
                    let digit = rank.unsigned_shr(shift).wide() as usize & (values - 1);
                    counts[table * values + digit] += 1;
                }
            }
        };
        let all = Mutex::new(none());
        let add = |counts: Vec<usize>| {
            let mut all = threads::lock(&all);
            all.iter_mut()
                .zip(counts)
                .for_each(|(all, more)| *all += more);
        };
        threads::for_each_then(parts(len), &none, &count, &add);
        let counts = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        for one in &mut self.wanted {
            let table = place_of(&prefixes, one.prefix).expect("it is one of them");
            let counts = &counts[table * values..][..values];
            let mut digit = 0;
            while one.place >= counts[digit] {
                one.place -= counts[digit];
                digit += 1;
            }
            one.count = counts[digit];
            let known = match above == B::BITS {
                true => B::zero(),
                false => one.prefix.unsigned_shl(above - shift),
            };
            one.prefix = known | B::of_wide(digit as u128);
        }
        self.shift = shift;
    }

    /// The ranks and positions of the items that can be wanted, in the order of the input.
    fn collect(&self, len: usize, rank: impl Fn(usize) -> B + Sync) -> Result<Vec<(B, usize)>> {
        let prefixes = self.prefixes();
        let of_part = |number: usize| {
            let part = part(number, len);
            let ranked = part.map(|position| (rank(position), position));
            let found =
                ranked.filter(|(rank, _)| place_of(&prefixes, high(*rank, self.shift)).is_some());
            found.collect::<Vec<_>>()
        };
        let found = threads::map(parts(len), &|| (), &|(), number| of_part(number));
        let mut few = reserve(found.iter().map(Vec::len).sum())?;
        found.into_iter().for_each(|part| few.extend(part));
        Ok(few)
    }
}

impl<B: Bits> Wanted<B> {
    /// Where the item stands, once its whole rank is known. Of equals the sorted order has the
    /// first first.
    fn position(&self, len: usize, rank: impl Fn(usize) -> B + Sync) -> usize {
        let equals = |part: Range<usize>| part.filter(|&position| rank(position) == self.prefix);
        let count = |(): &mut (), number| equals(part(number, len)).count();
        let counts = threads::map(parts(len), &|| (), &count);
        let mut before = 0;
        for (number, count) in counts.into_iter().enumerate() {
            if self.place < before + count {
                let mut among = equals(part(number, len));
                let position = in_rust_mode(|| among.nth(self.place - before));
                return position.expect("as many as were counted");
            }
            before += count;
        }
        unreachable!("as many as were counted have this rank")
    }
}

/// The bits of a rank from one on.
#[inline(always)]
fn high<B: Bits>(rank: B, from: u32) -> B {
    match from == B::BITS {
        true => B::zero(),
        false => rank.unsigned_shr(from),
    }
}

#[inline(always)]
fn place_of<B: Bits>(prefixes: &[B], prefix: B) -> Option<usize> {
    match prefixes {
        [only] => (*only == prefix).then_some(0),
        _ => prefixes.binary_search(&prefix).ok(),
    }
}

fn part(number: usize, len: usize) -> Range<usize> {
    number * PART..len.min((number + 1) * PART)
}

fn parts(len: usize) -> usize {
    len.div_ceil(PART)
}
