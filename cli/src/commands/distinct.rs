//! Equal numbers wherever they stand, for `warpfold unique --sort`.

use crate::failure::Result;
use crate::numbers::Numbers;
use crate::pieces::Places;
use crate::text::Values;
use warpfold::{Device, Order};

/// Distinct numbers, sorted; how many there are of each, and where the first of them stands.
pub(super) struct Distinct {
    /// They grow as the numbers do.
    ranks: Vec<u64>,
    pub(super) items: Values,
    pub(super) counts: Vec<u64>,
    pub(super) firsts: Vec<u64>,
}

impl Distinct {
    /// Those of all numbers of an input. Memory: for the distinct ones.
    pub(super) fn of(device: &Device, numbers: Numbers) -> Result<Distinct> {
        let dtype = numbers.dtype;
        // Sets of ever fewer numbers, which are merged when one is as large as the one before: so
        // each number is merged a few times.
        let mut sets: Vec<Distinct> = Vec::new();
        let mut seen = 0;
        let mut pieces = numbers.pieces(dtype);
        while let Some(piece) = pieces.next() {
            let piece = piece?;
            let ranks = device.upload_vec(piece.ranks(Order::ascending()))?;
            let found = device.unique_counts(&ranks, Order::ascending())?;
            let mut firsts = found.firsts.into_vec()?;
            let rows: Vec<usize> = firsts.iter().map(|&first| first as usize).collect();
            // Values that were skipped keep their place.
            let absent = &pieces.absent[0];
            let places: Vec<usize> = match absent[..] {
                [] => Vec::new(),
                _ => {
                    let mut places = Places::of(absent);
                    (0..piece.len())
                        .map(|number| places.place(number))
                        .collect()
                }
            };
            for first in &mut firsts {
                let place = places
                    .get(*first as usize)
                    .map_or(*first, |&place| place as u64);
                *first = seen + place;
            }
            seen += (piece.len() + absent.len()) as u64;
            let mut set = Distinct {
                ranks: found.values.into_vec()?,
                items: piece.gather(&rows),
                counts: found.counts.into_vec()?,
                firsts,
            };
            while let Some(before) = sets.pop_if(|before| before.ranks.len() <= 2 * set.ranks.len())
            {
                set = before.merged(set);
            }
            sets.push(set);
        }
        let all = sets
            .into_iter()
            .rev()
            .reduce(|after, before| before.merged(after));
        Ok(all.unwrap_or(Distinct {
            ranks: Vec::new(),
            items: Values::of(dtype),
            counts: Vec::new(),
            firsts: Vec::new(),
        }))
    }

    /// With the distinct numbers of what comes after.
    fn merged(mut self, after: Distinct) -> Distinct {
        let (before, room) = (self.ranks.len(), self.ranks.len() + after.ranks.len());
        let mut ranks = Vec::with_capacity(room);
        let mut counts = Vec::with_capacity(room);
        // Where a number stands in the numbers of both, one behind the other.
        let mut rows = Vec::with_capacity(room);
        let (mut i, mut j) = (0, 0);
        while i < before || j < after.ranks.len() {
            let order = match (self.ranks.get(i), after.ranks.get(j)) {
                (Some(a), Some(b)) => a.cmp(b),
                (Some(_), None) => std::cmp::Ordering::Less,
                _ => std::cmp::Ordering::Greater,
            };
            let (set, at) = match order.is_le() {
                true => (&self, i),
                false => (&after, j),
            };
            ranks.push(set.ranks[at]);
            rows.push(if order.is_le() { i } else { before + j });
            let mut count = set.counts[at];
            if order.is_eq() {
                count += after.counts[j];
            }
            counts.push(count);
            i += usize::from(order.is_le());
            j += usize::from(order.is_ge());
        }
        self.items.append(after.items);
        self.firsts.extend(after.firsts);
        Distinct {
            ranks,
            items: self.items.gather(&rows),
            counts,
            firsts: rows.iter().map(|&row| self.firsts[row]).collect(),
        }
    }
}
