//! How a weighted histogram is cut up: pure, and tested without a GPU.

use crate::engine::RowPolicy;

/// The launches of a weighted histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedPlan {
    /// The passes of the sort: the lowest bit of the digit in a place, and its bits.
    pub passes: Vec<(u32, u32)>,
    /// The tiles that are sorted.
    pub tiles: u64,
}

/// The most bits of a digit.
const DIGIT: u32 = 8;

impl WeightedPlan {
    /// The plan for so many places, each the number of one of some bins, or another one.
    pub fn new(policy: RowPolicy, places: usize, bins: usize) -> WeightedPlan {
        let bits = (usize::BITS - (bins - 1).leading_zeros()).max(1);
        let passes = bits.div_ceil(DIGIT);
        let digit = bits.div_ceil(passes);
        let tile = policy.elements() * u64::from(policy.warps);
        WeightedPlan {
            passes: (0..passes)
                .map(|pass| (pass * digit, digit.min(bits - pass * digit)))
                .collect(),
            tiles: (places as u64).div_ceil(tile).max(1),
        }
    }

    /// How many digits a pass counts, of all tiles, and an end.
    pub fn digits(&self, bits: u32) -> usize {
        ((self.tiles as usize) << bits) + 1
    }
}

/// Where a call keeps what it needs in between, from some address on: places and weights that were
/// sorted, in turns; digits of the first pass, and of the others; and where the weights of each bin
/// start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scratch {
    pub places: [u64; 2],
    pub weights: [u64; 2],
    pub digits: [u64; 2],
    pub offsets: u64,
    /// The end.
    pub end: u64,
}

impl WeightedPlan {
    /// What `places` places take, with weights of `weight` bytes.
    pub fn scratch(&self, from: u64, (places, bins): (usize, usize), weight: usize) -> Scratch {
        let mut end = from;
        let mut room = |len: usize, bytes: usize| {
            let at = end.next_multiple_of(256);
            end = at + (len * bytes) as u64;
            at
        };
        let several = self.passes.len() > 1;
        let digits = |pass: usize| self.passes.get(pass).map_or(0, |pass| self.digits(pass.1));
        let scratch = Scratch {
            places: [room(places, 4), room(places, 4)],
            weights: [
                room(places, weight),
                room(if several { places } else { 0 }, weight),
            ],
            digits: [room(digits(0), 8), room(digits(1), 8)],
            offsets: room(bins + 1, 8),
            end: 0,
        };
        Scratch { end, ..scratch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(places: usize, bins: usize) -> WeightedPlan {
        WeightedPlan::new(RowPolicy::for_weights::<f32>(90), places, bins)
    }

    /// Digits cover every place, each bit once, and fit the kernels.
    #[test]
    fn passes_sort_all_places() {
        for bins in (1..25).flat_map(|log| [(1_usize << log) - 1, 1 << log, (1 << log) + 1]) {
            let plan = plan_of(1000, bins);
            let mut covered = 0_u64;
            for &(shift, bits) in &plan.passes {
                assert!((1..=8).contains(&bits), "{bins}: {plan:?}");
                let digit = ((1 << bits) - 1) << shift;
                assert_eq!(covered & digit, 0, "{bins}: {plan:?}");
                covered |= digit;
            }
            let last = bins as u64 - 1;
            assert_eq!(covered & last, last, "{bins}: {plan:?}");
            assert!(
                plan.passes.len() <= (bins.max(1).ilog2() as usize) / 8 + 1,
                "{bins}: {plan:?}"
            );
        }
    }

    /// What lies in scratch memory does not overlap, and the second pass has the most digits of all
    /// but the first.
    #[test]
    fn scratch_has_room_for_all() {
        for (places, bins) in [(0, 1), (1000, 10), (100_000, 70_000), (1 << 20, 1 << 24)] {
            let plan = plan_of(places, bins);
            let of = plan.scratch(1000, (places, bins), 4);
            let later = plan.passes.iter().skip(1).map(|pass| plan.digits(pass.1));
            let digits = [plan.digits(plan.passes[0].1), later.max().unwrap_or(0)];
            let several = if plan.passes.len() > 1 { places } else { 0 };
            let ends = [
                (of.places[0], 4 * places),
                (of.places[1], 4 * places),
                (of.weights[0], 4 * places),
                (of.weights[1], 4 * several),
                (of.digits[0], 8 * digits[0]),
                (of.digits[1], 8 * digits[1]),
                (of.offsets, 8 * (bins + 1)),
            ];
            for (i, &(start, bytes)) in ends.iter().enumerate() {
                let next = ends.get(i + 1).map_or(of.end, |next| next.0);
                assert!(start >= 1000 && start % 256 == 0 && start + bytes as u64 <= next);
            }
        }
    }
}
