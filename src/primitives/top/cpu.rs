//! Top-k on the CPU: each thread keeps the best of its part, and passes over what is behind them.

use super::{Candidate, Choice};
use crate::cpu::memory::reserve;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::{threads, with_simd};
use crate::primitives::sort::{Bits, Order, Sortable, cpu::sort_pairs};
use crate::source::Form;
use crate::{Error, Result};
use rayon::slice::ParallelSliceMut;
use std::ops::Range;

/// A candidate: its rank, and where it stands. The lesser comes first, and no two are equal.
pub(super) type Ranked<B> = (B, u64);

/// The items that a thread takes at a time, at least.
const PART: usize = 1 << 15;

/// Each part keeps items anew, before it knows which are too late. So parts of a long row are long,
/// but a thread that begins late leaves some of its share to others.
const LONG_PART: usize = 1 << 19;
const PARTS_PER_THREAD: usize = 8;

/// The items that are looked at together.
const GROUP: usize = 64;

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
    let ranked = |i: usize, origin: usize| {
        // SAFETY: the place is one of a row's; the rest is the caller's.
        let key = unsafe { F::get(arguments, i) }.key()?;
        Some((map.rank(key), (i - origin) as u64))
    };
    let reading = Reading {
        best: &|part: Range<usize>, origin: usize, best: &mut Best<_>| {
            let groups = part.len() / GROUP;
            for number in 0..groups {
                let start = part.start + number * GROUP;
                let (mut ranks, mut are_late) = ([best.bound; GROUP], [true; GROUP]);
                let bound = best.bound;
                with_simd(
                    #[inline(always)]
                    || {
                        for (i, (rank, is_late)) in ranks.iter_mut().zip(&mut are_late).enumerate()
                        {
                            if let Some((of_item, _)) = ranked(start + i, origin) {
                                (*rank, *is_late) = (of_item, of_item > bound);
                            }
                        }
                    },
                );
                // Of most groups no item is one of the best.
                if are_late == [true; GROUP] {
                    continue;
                }
                for (i, rank) in ranks.into_iter().enumerate() {
                    if !are_late[i] && best.may_have(rank) {
                        best.push((rank, (start + i - origin) as u64));
                    }
                }
            }
            let rest = part.start + groups * GROUP..part.end;
            for item in rest.filter_map(|i| ranked(i, origin)) {
                if best.may_have(item.0) {
                    best.push(item);
                }
            }
        },
        all: &|part: Range<usize>, origin: usize, all: &mut Vec<_>| {
            all.extend(part.filter_map(|i| ranked(i, origin)));
        },
    };
    let rows = best_of_rows(&reading, choice)?;
    for (row, best) in rows.into_iter().enumerate() {
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

/// How the items of a source are read: what is compiled for each form. Places count from an origin.
struct Reading<'r, B> {
    /// Takes in what may be one of the best of a part.
    best: &'r Read<'r, Best<B>>,
    /// Appends all of a part.
    all: &'r Read<'r, Vec<Ranked<B>>>,
}

/// Adds the items of a part to what it is given.
type Read<'r, To> = dyn Fn(Range<usize>, usize, &mut To) + Sync + 'r;

/// The best of each row, in order, with places counted from its start.
fn best_of_rows<B: Bits>(reading: &Reading<'_, B>, choice: Choice) -> Result<Vec<Vec<Ranked<B>>>> {
    let of_row = |row| {
        let start = row * choice.columns;
        best_of_row(reading, start..start + choice.columns, choice.k)
    };
    // Many rows are shared out whole. Where there are few, each is cut. To wake other threads takes
    // longer than what one part takes.
    let is_short = choice.rows * choice.columns <= PART;
    match choice.rows == 1 || is_short {
        true => (0..choice.rows).map(of_row).collect(),
        false => threads::try_map(choice.rows, &|| (), &|(), row| of_row(row)),
    }
}

/// The first `k` of a range, in order, with places counted from its start.
fn best_of_row<B: Bits>(
    reading: &Reading<'_, B>,
    row: Range<usize>,
    k: usize,
) -> Result<Vec<Ranked<B>>> {
    if k > row.len() / 8 {
        return sorted_row(reading, row, k);
    }
    let share = row.len() / (PARTS_PER_THREAD * rayon::current_num_threads());
    // A part keeps up to 2k, so it has some times more items.
    let part = share.clamp(PART, LONG_PART).max(8 * k);
    let of_part = |number: usize| {
        let start = row.start + number * part;
        let range = start..row.end.min(start + part);
        let mut best = Best::new(k, range.len())?;
        (reading.best)(range, row.start, &mut best);
        Ok(best)
    };
    let merge = |a: Result<Best<_>>, b: Result<Best<_>>| {
        let (mut a, b) = (a?, b?);
        a.take_in(b.kept)?;
        Ok(a)
    };
    let Some(best) = threads::reduce(row.len().div_ceil(part), &of_part, &merge) else {
        return Ok(Vec::new());
    };
    let mut best = best?;
    best.cut();
    best.kept.par_sort_unstable();
    Ok(best.kept)
}

/// The first `k` of a range, by a sort of all: where they are many, that is faster.
fn sorted_row<B: Bits>(
    reading: &Reading<'_, B>,
    row: Range<usize>,
    k: usize,
) -> Result<Vec<Ranked<B>>> {
    let of_part = |number: usize| {
        let start = row.start + number * PART;
        let range = start..row.end.min(start + PART);
        let mut kept = reserve(range.len())?;
        (reading.all)(range, row.start, &mut kept);
        Ok(kept)
    };
    let parts = threads::try_map(row.len().div_ceil(PART), &|| (), &|(), number| {
        of_part(number)
    })?;
    let len = parts.iter().map(Vec::len).sum();
    let (mut ranks, mut places) = (reserve(len)?, reserve(len)?);
    for (rank, place) in parts.into_iter().flatten() {
        ranks.push(rank);
        places.push(place);
    }
    sort_pairs(&mut ranks, &mut places, B::key_map(Order::ascending()))?;
    Ok(ranks.into_iter().zip(places).take(k).collect())
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
