//! The oracle, and lengths of segments at which something changes.

use crate::support::data::{Random, Sample};
use crate::support::oracle;
use std::ops::Range;
use warpfold::{Monoid, Prefixes};

/// Offsets with a name.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) offsets: Vec<u64>,
    /// The number of items.
    pub(super) items: usize,
}

impl Case {
    /// Segments of these lengths, after `before` items and followed by `after`.
    pub(super) fn new(name: &'static str, lengths: &[usize], before: usize, after: usize) -> Case {
        let mut offsets = vec![before as u64];
        for &length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length as u64);
        }
        Case {
            name,
            items: offsets[lengths.len()] as usize + after,
            offsets,
        }
    }

    /// Segments of one length.
    pub(super) fn rows(count: usize, length: usize) -> Case {
        Case::new("rows", &vec![length; count], 0, 0)
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        let pairs = self.offsets.windows(2);
        pairs.map(|pair| pair[0] as usize..pair[1] as usize)
    }

    /// Whether the last segment ends with the items.
    pub(super) fn reaches_the_end(&self) -> bool {
        self.offsets[self.count()] as usize == self.items && self.count() > 0
    }

    pub(super) fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// What the law gives for each segment alone.
    pub(super) fn folds<T: Sample, Op: Monoid<T>>(&self, items: &[T], init: Option<T>) -> Vec<T> {
        let fold = |segment| oracle::reduce::<T, Op>(&items[segment], init);
        self.segments().map(fold).collect()
    }

    /// What the law gives for the items of each segment alone. Items of none stay as they are.
    pub(super) fn scans<T: Sample, Op: Monoid<T>>(&self, items: &[T], form: Form<T>) -> Vec<T> {
        let mut results = items[..self.items].to_vec();
        for segment in self.segments() {
            results[segment.clone()].copy_from_slice(&form.scan::<Op>(&items[segment]));
        }
        results
    }
}

/// Which prefixes a scan gives, so that tests can look at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<T> {
    pub(super) inclusive: bool,
    pub(super) reverse: bool,
    pub(super) init: Option<T>,
}

impl<T: Sample> Form<T> {
    /// All of them.
    pub(super) fn all(init: T) -> [Form<T>; 6] {
        let form = |inclusive, init| Form {
            inclusive,
            reverse: false,
            init,
        };
        let reverse = |form| Form {
            reverse: true,
            ..form
        };
        [
            form(false, None),
            form(true, None),
            form(false, Some(init)),
            form(true, Some(init)),
            reverse(form(true, None)),
            reverse(form(false, Some(init))),
        ]
    }

    pub(super) fn prefixes(self) -> Prefixes<T> {
        let prefixes = match self.inclusive {
            false => Prefixes::exclusive(),
            true => Prefixes::inclusive(),
        };
        let prefixes = match self.init {
            Some(init) => prefixes.from(init),
            None => prefixes,
        };
        match self.reverse {
            true => prefixes.reverse(),
            false => prefixes,
        }
    }

    pub(super) fn scan<Op: Monoid<T>>(self, items: &[T]) -> Vec<T> {
        let mut items = items.to_vec();
        if self.reverse {
            items.reverse();
        }
        let mut results = match self.inclusive {
            false => oracle::exclusive::<T, Op>(&items, self.init),
            true => oracle::inclusive::<T, Op>(&items, self.init),
        };
        if self.reverse {
            results.reverse();
        }
        results
    }
}

/// Lengths as a power law has them: many short ones, and now and then a long one.
fn power_law(seed: u64, total: usize, most: usize) -> Vec<usize> {
    let mut random = Random::new(seed);
    let (mut lengths, mut sum) = (Vec::new(), 0);
    while sum < total {
        let draw = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let length = ((1.0 / draw.max(1e-9)) as usize).min(most) - 1;
        lengths.push(length);
        sum += length;
    }
    lengths
}

/// The lengths of the aligned blocks of a shard, wherever it lies in its array: `shards` folds them
/// as segments.
fn blocks_of_a_shard(mut start: usize, end: usize) -> Vec<usize> {
    let mut lengths = Vec::new();
    while start < end {
        let largest = start.trailing_zeros().min((end - start).ilog2());
        lengths.push(1 << largest);
        start += 1 << largest;
    }
    lengths
}

/// Cases of up to some ten thousand items, for units of `unit` items.
pub(super) fn cases(unit: usize) -> Vec<Case> {
    let steps = [1, 2, 3, 4, 31, 32, 33, 63, 64, 255, 256, 257];
    let around_unit = [
        unit - 1,
        unit,
        unit + 1,
        unit + 31,
        2 * unit - 1,
        2 * unit,
        2 * unit + 1,
        3 * unit + unit / 2,
    ];
    let mut ones_and_tens = vec![1; 300];
    ones_and_tens.extend([10; 300]);
    let mut alternating = vec![0; 600];
    alternating
        .iter_mut()
        .skip(2)
        .step_by(3)
        .for_each(|length| *length = 70);
    vec![
        Case::new("no segment", &[], 0, 0),
        Case::new("no segment of some items", &[], 3, 9),
        Case::new("one empty segment", &[0], 0, 0),
        Case::new("one item", &[1], 0, 0),
        Case::new("empty segments", &[0; 3000], 0, 0),
        Case::new("empty segments within items", &[0; 3000], 777, 1500),
        Case::new("ones", &[1; 2500], 0, 0),
        Case::new("steps", &steps, 0, 0),
        Case::new("all up to 70", &(0..70).collect::<Vec<_>>(), 5, 7),
        Case::new("sixteens", &[16; 300], 0, 0),
        Case::new("hundreds", &[100; 60], 1, 0),
        Case::new("around a unit", &around_unit, 13, 29),
        Case::new(
            "around a unit, backwards",
            &{
                let mut lengths = around_unit;
                lengths.reverse();
                lengths
            },
            0,
            1,
        ),
        // Tiles have as many entries as a unit has items. The second one has nothing else.
        Case::new("a unit that is a tile", &[unit - 2, unit], 0, 0),
        // The last entry of a tile is the start that follows whole units.
        Case::new("a start that ends a tile", &[unit - 3, 3 * unit, 5], 0, 0),
        Case::new("one of many units", &[9 * unit + 345], 0, 0),
        Case::new(
            "a long one among empty ones",
            &{
                let mut lengths = vec![0; 2 * unit + 3];
                lengths[unit] = 5 * unit + 1;
                lengths
            },
            0,
            0,
        ),
        Case::new(
            "a long one among ones",
            &{
                let mut lengths = vec![1; unit];
                lengths[unit / 3] = 4 * unit;
                lengths
            },
            0,
            unit + 5,
        ),
        Case::new("half in ones, half in tens", &ones_and_tens, 0, 0),
        Case::new("a third are not empty", &alternating, 0, 0),
        Case::new("a power law", &power_law(1, 6 * unit, 3 * unit), 0, 0),
        Case::new("another power law", &power_law(2, 6 * unit, 5000), 17, 3),
        Case::new("two thirds of a unit", &[2 * unit / 3; 9], 2, 2),
        Case::new(
            "an odd shard",
            &blocks_of_a_shard(unit + 1, 8 * unit - 1),
            0,
            0,
        ),
        Case::new(
            "an even shard",
            &blocks_of_a_shard(8 * unit, 16 * unit),
            0,
            0,
        ),
    ]
}

/// Cases of more items than one thread takes.
pub(super) fn long_cases() -> Vec<Case> {
    let mut ends = vec![0; 200_000];
    (ends[0], ends[199_999]) = (150_001, 300_000);
    vec![
        Case::new("one long segment", &[700_001], 3, 4),
        Case::new("long ones at both ends of empty ones", &ends, 0, 0),
        Case::new("a long power law", &power_law(3, 900_000, 400_000), 0, 0),
        Case::new("many ones", &[1; 300_000], 0, 0),
        Case::new(
            "as many as a thread folds",
            &[1 << 17, (1 << 17) + 1, 5],
            0,
            0,
        ),
    ]
}
