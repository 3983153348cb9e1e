//! Equal numbers wherever they stand, for `warpfold unique --sort`.

use crate::failure::Result;
use crate::number::Number;
use crate::numbers::Numbers;
use crate::pieces::Places;
use warpfold::{Device, Order, Sortable};

/// Distinct numbers, sorted; how many there are of each, and where the first of them stands.
pub(super) struct Distinct<T> {
    pub(super) items: Vec<T>,
    pub(super) counts: Vec<u64>,
    pub(super) firsts: Vec<u64>,
}

impl<T: Number + Sortable> Distinct<T> {
    /// Those of all numbers of an input. Memory: for the distinct ones.
    pub(super) fn of(device: &Device, numbers: Numbers) -> Result<Distinct<T>> {
        // Sets of ever fewer numbers, which are merged when one is as large as the one before: so
        // each number is merged a few times.
        let mut sets: Vec<Distinct<T>> = Vec::new();
        let mut seen = 0;
        let mut pieces = numbers.pieces::<T>();
        while let Some(piece) = pieces.next() {
            let piece = device.upload_vec(piece?)?;
            let found = device.unique_counts(&piece, Order::ascending())?;
            let mut set = Distinct {
                items: found.values.into_vec()?,
                counts: found.counts.into_vec()?,
                firsts: found.firsts.into_vec()?,
            };
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
            for first in &mut set.firsts {
                let place = places
                    .get(*first as usize)
                    .map_or(*first, |&place| place as u64);
                *first = seen + place;
            }
            seen += (piece.len() + absent.len()) as u64;
            while let Some(before) = sets.pop_if(|before| before.items.len() <= 2 * set.items.len())
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
            items: Vec::new(),
            counts: Vec::new(),
            firsts: Vec::new(),
        }))
    }

    /// With the distinct numbers of what comes after.
    fn merged(self, after: Distinct<T>) -> Distinct<T> {
        let order = Order::ascending();
        let room = self.items.len() + after.items.len();
        let mut merged = Distinct {
            items: Vec::with_capacity(room),
            counts: Vec::with_capacity(room),
            firsts: Vec::with_capacity(room),
        };
        let (mut i, mut j) = (0, 0);
        while i < self.items.len() || j < after.items.len() {
            let order = match (self.items.get(i), after.items.get(j)) {
                (Some(&a), Some(&b)) => order.compare(a, b),
                (Some(_), None) => std::cmp::Ordering::Less,
                _ => std::cmp::Ordering::Greater,
            };
            let (set, at) = if order.is_le() {
                (&self, i)
            } else {
                (&after, j)
            };
            merged.items.push(set.items[at]);
            merged.firsts.push(set.firsts[at]);
            let mut count = set.counts[at];
            if order.is_eq() {
                count += after.counts[j];
            }
            merged.counts.push(count);
            i += usize::from(order.is_le());
            j += usize::from(order.is_ge());
        }
        merged
    }
}
