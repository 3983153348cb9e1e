//! Top-k on the CPU: each thread keeps the best of its part, and passes over what is behind them.

use super::{Candidate, Choice};
use crate::cpu::memory::reserve;
use crate::cpu::mode::in_rust_mode;
use crate::primitives::sort::{Bits, KeyMap, Sortable, cpu::sort_pairs};
use crate::source::Form;
use crate::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// A candidate: its rank, and where it stands. The lesser comes first, and no two are equal.
pub(super) type Ranked<B> = (B, u64);

type BitsOf<I> = <<I as Candidate>::Key as Sortable>::Bits;

/// The items that a thread takes at a time, at least.
const PART: usize = 1 << 15;

/// The values and places of the first `k` of each row, one row after the other.
///
/// # Safety
///
/// The arguments are of a source in host memory with as many items as all rows have, which is
/// borrowed meanwhile.
pub(super) unsafe fn best<I: Candidate, F: Form<Item = I>>(
    arguments: &F::Arguments,
    choice: Choice,
) -> Result<(Vec<I::Key>, Vec<u64>)> {
    let map = I::Key::key_map(choice.order);
    let mut values = reserve(choice.most())?;
    let mut places = reserve(choice.most())?;
    if choice.k == 0 {
        return Ok((values, places));
    }
    let of_row = |row| {
        let start = row * choice.columns;
        // SAFETY: the caller's.
        unsafe { best_of_row::<I, F>(arguments, start..start + choice.columns, choice.k, map) }
    };
    // Many rows are shared out whole. Where there are few, each is cut. To wake other threads takes
    // longer than what one part takes.
    let is_short = choice.rows * choice.columns <= PART;
    let rows: Result<Vec<_>> = match choice.rows == 1 || is_short {
        true => (0..choice.rows).map(of_row).collect(),
        false => (0..choice.rows).into_par_iter().map(of_row).collect(),
    };
    for (row, best) in rows?.into_iter().enumerate() {
        let start = row * choice.columns;
        let value = |&(_, place): &Ranked<_>| {
            // SAFETY: the place is one of the row's; the rest is the caller's.
            let item = unsafe { F::get(arguments, start + place as usize) };
            item.key().expect("only these are chosen")
        };
        in_rust_mode(|| values.extend(best.iter().map(value)));
        places.extend(best.iter().map(|&(_, place)| place));
    }
    Ok((values, places))
}

/// The first `k` of a range, in order, with places counted from its start.
///
/// # Safety
///
/// As for [`best`]; the range lies within the source.
unsafe fn best_of_row<I: Candidate, F: Form<Item = I>>(
    arguments: &F::Arguments,
    row: Range<usize>,
    k: usize,
    map: KeyMap<BitsOf<I>>,
) -> Result<Vec<Ranked<BitsOf<I>>>> {
    if k > row.len() / 8 {
        // SAFETY: the caller's.
        return unsafe { sorted_row::<I, F>(arguments, row, k, map) };
    }
    // A part keeps up to 2k, so it has some times more items.
    let part = PART.max(8 * k);
    let of_part = |start| {
        let part = start..row.end.min(start + part);
        // SAFETY: the caller's.
        in_rust_mode(|| unsafe { best_of_part::<I, F>(arguments, part, row.start, k, map) })
    };
    let merge = |a: Result<Best<_>>, b: Result<Best<_>>| {
        let (mut a, b) = (a?, b?);
        a.take_in(b.kept)?;
        Ok(a)
    };
    let best = match row.len() <= part {
        true => Some(of_part(row.start)),
        false => {
            let starts = row.clone().into_par_iter().step_by(part);
            starts.map(of_part).reduce_with(merge)
        }
    };
    let mut best = match best {
        Some(best) => best?,
        None => return Ok(Vec::new()),
    };
    best.cut();
    best.kept.par_sort_unstable();
    Ok(best.kept)
}

/// The first `k` of a range, by a sort of all: where they are many, that is faster.
///
/// # Safety
///
/// As for [`best_of_row`].
unsafe fn sorted_row<I: Candidate, F: Form<Item = I>>(
    arguments: &F::Arguments,
    row: Range<usize>,
    k: usize,
    map: KeyMap<BitsOf<I>>,
) -> Result<Vec<Ranked<BitsOf<I>>>> {
    let of_part = |start: usize| {
        let end = row.end.min(start + PART);
        let mut kept = reserve(end - start)?;
        let read = |i: usize| {
            // SAFETY: the caller's.
            let key = unsafe { F::get(arguments, i) }.key()?;
            Some((key, (i - row.start) as u64))
        };
        in_rust_mode(|| kept.extend((start..end).filter_map(read)));
        Ok(kept)
    };
    let parts: Vec<Vec<(I::Key, u64)>> = match row.len() <= PART {
        true => vec![of_part(row.start)?],
        false => {
            let starts = row.clone().into_par_iter().step_by(PART);
            starts.map(of_part).collect::<Result<_>>()?
        }
    };
    let len = parts.iter().map(Vec::len).sum();
    let (mut keys, mut places) = (reserve(len)?, reserve(len)?);
    for (key, place) in parts.into_iter().flatten() {
        keys.push(key);
        places.push(place);
    }
    sort_pairs(&mut keys, &mut places, map)?;
    let first = keys.into_iter().zip(places).take(k);
    Ok(first.map(|(key, place)| (map.rank(key), place)).collect())
}

/// # Safety
///
/// As for [`best_of_row`].
unsafe fn best_of_part<I: Candidate, F: Form<Item = I>>(
    arguments: &F::Arguments,
    part: Range<usize>,
    origin: usize,
    k: usize,
    map: KeyMap<BitsOf<I>>,
) -> Result<Best<BitsOf<I>>> {
    let mut best = Best::new(k, part.len())?;
    for i in part {
        // SAFETY: the caller's.
        let Some(key) = unsafe { F::get(arguments, i) }.key() else {
            continue;
        };
        let rank = map.rank(key);
        if best.may_have(rank) {
            best.push((rank, (i - origin) as u64));
        }
    }
    Ok(best)
}

/// The best so far, and up to as many more.
struct Best<B> {
    k: usize,
    kept: Vec<Ranked<B>>,
    /// The last rank that may still be one of the best.
    bound: B,
}

impl<B: Bits> Best<B> {
    /// Of up to `items` items.
    fn new(k: usize, items: usize) -> Result<Best<B>> {
        Ok(Best {
            k,
            kept: reserve(items.min(2 * k))?,
            bound: B::max_value(),
        })
    }

    /// Whether an item of this rank may be one of the best.
    #[inline(always)]
    fn may_have(&self, rank: B) -> bool {
        rank <= self.bound
    }

    fn push(&mut self, candidate: Ranked<B>) {
        if self.kept.len() == self.kept.capacity() {
            self.cut();
        }
        self.kept.push(candidate);
    }

    /// Keeps the first `k`.
    fn cut(&mut self) {
        if self.kept.len() > self.k {
            let (_, last, _) = self.kept.select_nth_unstable(self.k - 1);
            self.bound = last.0;
            self.kept.truncate(self.k);
        }
    }

    fn take_in(&mut self, others: Vec<Ranked<B>>) -> Result<()> {
        self.cut();
        if self.kept.try_reserve(others.len()).is_err() {
            return Err(no_room::<Ranked<B>>(others.len()));
        }
        self.kept.extend(others);
        self.cut();
        Ok(())
    }
}

fn no_room<T>(len: usize) -> Error {
    Error::OutOfHostMemory {
        requested: len.saturating_mul(size_of::<T>()),
    }
}
