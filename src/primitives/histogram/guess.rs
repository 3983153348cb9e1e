//! Guesses at the bins of items: a few operations in place of a search.
//!
//! A guess is a monotone function of the item. So it is computed once for the first and the last
//! number of each bin. The worst of these tell for which items it is certain. It is at most one bin
//! off, and what is not certain is compared with the first numbers of the bins.

use super::bins::Table;
use super::number::{Binned, Edge, before};

/// A guess at an item's bin: the integer that is nearest to `(x - origin) * scale`, in `f64` or in
/// `f32`.
///
/// For the first number of each bin it is right. For others it is the bin or the next one. It is
/// the bin where `(x - origin) * scale` less that integer is greater than `low`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Guess<E = f64> {
    /// About the middle of the first bin.
    pub origin: E,
    /// About the number of bins in a range of 1.
    pub scale: E,
    /// The greatest distance from the integer that is not certain; −1 if all are.
    pub low: E,
}

/// A guess at the bin of an integer of up to 32 bits, in fixed point: the integer part of
/// `(offset * scale + bias) / 2^shift`, where `offset` is the distance from the first number that
/// has a bin.
///
/// For the first number of each bin it is right. For others it is the bin or the next one. Where
/// the first 32 bits of the fraction are at least `low`, it is the bin.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct FixedGuess {
    /// About the distance of the first number from the first edge, scaled. The sum may wrap.
    pub bias: u64,
    /// About the number of bins in a range of 1, times 2^shift.
    pub scale: u32,
    /// From 32 to 63.
    pub shift: u32,
    /// The least fraction that is certain.
    pub low: u32,
}

impl<E: Edge> Guess<E> {
    /// The guess for a table of bins of about one width, `bins` from `lo` to `hi`. There is none
    /// if more than `uncertain` of the items of a bin, which is less than 1, would have to be
    /// compared.
    pub(super) fn new<T: Binned>(
        table: &Table<T>,
        (lo, hi): (f64, f64),
        bins: usize,
        uncertain: f64,
    ) -> Option<Guess<E>> {
        let scale = bins as f64 / (hi - lo);
        let with_margin = |margin: f64| Guess {
            origin: E::of(lo + (0.5 - margin) / scale),
            scale: E::of(scale),
            low: E::of(-1.0),
        };
        if !scale.is_normal() || !E::of(scale).is_normal() || table.firsts.is_empty() {
            return None;
        }
        // Guesses are raised by a margin, so that none is too low. A power of two that is large
        // beside what is rounded rounds no number that was not rounded without it.
        let rounded = E::epsilon().into() * (bins as f64 + (lo * scale).abs());
        let mut step = (4.0 * rounded).log2().ceil().exp2();
        let below = with_margin(0.0).reach(table).0.max(0.0);
        while below + step < uncertain {
            let margin = below + step;
            let mut guess = with_margin(margin);
            let (below, above) = guess.reach(table);
            if below < 0.0 {
                guess.low = guess.low.max(E::of(above));
                return (above < uncertain - 0.5).then_some(guess);
            }
            step *= 2.0;
        }
        None
    }

    /// How far the guess for a bin's first number lies below that bin's, at the most, and how far
    /// that for its last number lies above the next bin's middle. Both may be negative. Numbers
    /// that are guessed beyond the last bin get that.
    fn reach<T: Binned>(&self, table: &Table<T>) -> (f64, f64) {
        let (mut below, mut above) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let at = |x: T| -> f64 { self.at(x).into() };
        for (bin, &first) in table.firsts.iter().enumerate() {
            let next = table.firsts.get(bin + 1);
            if next == Some(&first) {
                continue;
            }
            below = below.max(bin as f64 - 0.5 - at(first));
            if let Some(&next) = next {
                above = above.max(at(before(next)) - (bin + 1) as f64);
            }
        }
        (below, above)
    }

    #[inline(always)]
    fn at<T: Binned>(&self, x: T) -> E {
        (E::of(x.to_f64()) - self.origin) * self.scale
    }

    /// The bin of an item from the first number of all to the last, and true; or that or the next
    /// one, and false. Without a branch, so that loops become SIMD code.
    #[inline(always)]
    pub(crate) fn near_bin<T: Binned>(&self, x: T) -> (u32, bool) {
        let guess = self.at(x);
        let sum = guess + E::UNITS;
        (sum.units(), guess - (sum - E::UNITS) > self.low)
    }
}

impl FixedGuess {
    /// The guess for a table of bins of about one width, `bins` from `lo` to `hi`. There is none
    /// for other types, nor where bins are narrower than 1.
    fn rough<T: Binned>(table: &Table<T>, (lo, hi): (f64, f64), bins: usize) -> Option<FixedGuess> {
        let (&first, ratio) = (table.firsts.first()?, bins as f64 / (hi - lo));
        if !T::IS_SHORT_INTEGER || !ratio.is_normal() {
            return None;
        }
        // The most that keeps the scale below 2^32, and the number of bins below 2^(64 − shift).
        // Bins of width 1 get a scale that is a little too small.
        let shift = (31 - ratio.log2().floor() as i32).clamp(32, 63 - bins.ilog2() as i32);
        let power = f64::from(shift).exp2();
        let bias = (first.to_f64() - lo) * ratio * power;
        (ratio <= 1.0).then_some(FixedGuess {
            bias: bias as u64,
            scale: (ratio * power).round() as u32,
            shift: shift as u32,
            low: 0,
        })
    }

    pub(super) fn new<T: Binned>(
        table: &Table<T>,
        ends: (f64, f64),
        bins: usize,
    ) -> Option<FixedGuess> {
        let mut guess = FixedGuess::rough(table, ends, bins)?;
        let origin = table.firsts[0];
        let exact = |guess: &FixedGuess, x: T| {
            i128::from(x.offset(origin)) * i128::from(guess.scale) + i128::from(guess.bias)
        };
        // How far the guess for a bin's first number lies below the bin, at most, and how far that
        // for its last one reaches into the next.
        let (mut below, mut above) = (i128::MIN, i128::MIN);
        for (bin, &first) in table.firsts.iter().enumerate() {
            let next = table.firsts.get(bin + 1);
            if next == Some(&first) {
                continue;
            }
            let edge = |bin: usize| (bin as i128) << guess.shift;
            below = below.max(edge(bin) - exact(&guess, first));
            if let Some(&next) = next {
                above = above.max(exact(&guess, before(next)) - edge(bin + 1));
            }
        }
        let greatest = exact(&guess, table.last) + below;
        guess.bias = guess.bias.wrapping_add(below as u64);
        let excess = u64::try_from(above.saturating_add(below)).ok();
        let low = excess.map_or(0, |excess| (excess >> (guess.shift - 32)) + 1);
        guess.low = u32::try_from(low).ok()?;
        u64::try_from(greatest).is_ok().then_some(guess)
    }

    #[inline(always)]
    fn at(&self, offset: u32) -> u64 {
        let product = u64::from(offset) * u64::from(self.scale);
        product.wrapping_add(self.bias)
    }

    /// The bin of an item with an offset, and true; or that or the next one, and false. Without a
    /// branch, so that loops become SIMD code.
    #[inline(always)]
    pub(crate) fn near_bin(&self, offset: u32) -> (u32, bool) {
        let guess = self.at(offset);
        let fraction = (guess >> (self.shift - 32)) as u32;
        ((guess >> self.shift) as u32, fraction >= self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::{Bins, Rule};
    use super::super::cpu::place;
    use super::super::number::Counted;
    use super::*;

    /// The bin that a search finds.
    fn searched<T: Binned>(table: &Table<T>, x: T) -> Option<u32> {
        let bin = table.firsts.partition_point(|&first| first <= x);
        (bin > 0 && x <= table.last).then(|| bin as u32 - 1)
    }

    /// Compares guesses with a search, for all numbers of up to 16 bits, and for others near edges.
    fn check<T: Counted<Value = T> + Binned>(lo: f64, hi: f64, count: usize) -> bool {
        let bins = Bins::<T>::even(lo, hi, count).unwrap();
        let table = match bins.rule() {
            Rule::Guess(table, ..) | Rule::Fixed(table, _) => table.clone(),
            rule => panic!("{rule:?}"),
        };
        let ends = (T::ENDS.0.rank(), T::ENDS.1.rank());
        let ranks: Vec<u64> = if ends.1 < 1 << 16 {
            (0..=ends.1).collect()
        } else {
            let edges = table.firsts.iter().chain([&table.last]);
            let near = edges.flat_map(|x| (0..5).map(|step| (x.rank() + step).saturating_sub(2)));
            near.map(|rank| rank.clamp(ends.0, ends.1)).collect()
        };
        let none = count as u32;
        for ranks in ranks.chunks(1000) {
            let items: Vec<T> = ranks.iter().map(|&rank| T::of_rank(rank)).collect();
            let mut places = vec![0; items.len()];
            place(&items, &bins, count, &mut places);
            for (&x, place) in items.iter().zip(places) {
                let what = format!("{x:?} in {count} bins from {lo} to {hi}");
                let bin = (place < none).then_some(place);
                assert_eq!(bin, searched(&table, x), "{what}: {:?}", bins.rule());
            }
        }
        matches!(bins.rule(), Rule::Fixed(..))
    }

    #[test]
    fn guesses_are_what_a_search_finds() {
        for count in [1, 2, 3, 7, 16, 31, 100, 255, 256] {
            assert!(check::<u8>(0.0, 256.0, count));
            check::<u8>(-3.7, 91.3, count.min(60));
            check::<i8>(-128.0, 127.0, count.min(200));
            check::<i16>(-20_000.5, 10_000.25, count);
            check::<u16>(0.0, 65_535.0, count * 100);
            assert!(check::<u32>(0.0, 4_294_967_296.0, count));
            assert!(check::<u32>(0.0, 4_294_967_295.0, 16 * count));
            assert!(check::<i32>(
                -2_147_483_648.0,
                2_147_483_647.0,
                1000 * count
            ));
            assert!(check::<i32>(-5e9, 5e9, count.max(3)));
            assert!(check::<u32>(-7.5, 1e5 + 0.1, count));
            check::<f32>(-0.7, 0.9, count);
        }
    }

    #[test]
    fn powers_of_two_are_certain() {
        for log in 1..=20 {
            let bins = Bins::<u32>::even(0.0, 4_294_967_296.0, 1 << log).unwrap();
            match bins.rule() {
                Rule::Fixed(_, guess) => assert_eq!(guess.low, 0, "{guess:?}"),
                rule => panic!("{rule:?}"),
            }
        }
    }

    /// Few bins of `f32` are guessed in `f32`, and many in `f64`.
    #[test]
    fn guesses_in_floats_of_both_widths() {
        let is_fast = |lo: f64, hi: f64, count: usize| {
            check::<f32>(lo, hi, count);
            match Bins::<f32>::even(lo, hi, count).unwrap().rule() {
                Rule::Guess(_, _, fast) => fast.is_some(),
                rule => panic!("{rule:?}"),
            }
        };
        for count in [1, 10, 100, 256, 1000] {
            assert!(is_fast(0.0, 1.0, count), "{count}");
            assert!(is_fast(-3.3, 7.1, count), "{count}");
            assert!(is_fast(0.0, count as f64, count), "{count}");
        }
        assert!(!is_fast(-0.7, 0.9, 100_000));
        assert!(!is_fast(1e6, 1e6 + 300.0, 1000));
        for (lo, hi) in [(0.0, 1.0), (-1e300, 1e299), (1e9, 1e9 + 1.0)] {
            for count in [1, 10, 1000, 100_000] {
                check::<f64>(lo, hi, count);
            }
        }
        check::<i64>(-1e18, 1e18, 1000);
        check::<u64>(0.0, 1e19, 777);
    }

    /// What is wider than the type is guessed as well: bins without numbers, and a last number far
    /// from the last edge.
    #[test]
    fn narrow_bins_are_guessed_in_floats() {
        assert!(!check::<u8>(0.0, 256.0, 1000));
        assert!(!check::<i32>(0.0, 10.0, 11));
    }
}
