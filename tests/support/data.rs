//! Test data: reproducible, and rich in what goes wrong.

use super::operators::{Affine, Bicyclic, Guarded, Keyed};
use half::{bf16, f16};
use warpfold::bytemuck::{cast, cast_slice};
use warpfold::statistics::{Estimate, Moments, Place, QuickMerge, QuickMoments};
use warpfold::{Element, Monoid};

/// A small generator (xorshift64*), so that a failing test fails again.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// Elements that can be drawn at random and compared bit for bit.
pub(crate) trait Sample: Element + std::fmt::Debug {
    fn sample(random: &mut Random) -> Self;

    /// Whether two results are the same: the same bits, or both NaN (whose payload is not
    /// promised).
    fn same(self, other: Self) -> bool {
        warpfold::bytemuck::bytes_of(&self) == warpfold::bytemuck::bytes_of(&other)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Sample for $t {
            fn sample(random: &mut Random) -> $t {
                random.next() as $t
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, u32, i32, u64, i64);

macro_rules! long_integers {
    ($($t:ty),*) => {$(
        impl Sample for $t {
            fn sample(random: &mut Random) -> $t {
                (u128::from(random.next()) << 64 | u128::from(random.next())) as $t
            }
        }
    )*};
}

long_integers!(u128, i128);

/// Mostly numbers of either sign whose sums round at every step, now and then a −0.
macro_rules! floats {
    ($($t:ty: $from:expr),*) => {$(
        impl Sample for $t {
            fn sample(random: &mut Random) -> $t {
                let bits = random.next();
                if bits % 64 == 0 {
                    return $from(-0.0);
                }
                let magnitude = (bits >> 11) as f64 / (1u64 << 53) as f64 + 0.5;
                $from(if bits & 128 == 0 { magnitude } else { -magnitude })
            }

            fn same(self, other: $t) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }
        }
    )*};
}

floats!(f32: |x: f64| x as f32, f64: |x: f64| x, f16: f16::from_f64, bf16: bf16::from_f64);

#[cfg(feature = "complex")]
macro_rules! complex {
    ($($part:ty),*) => {$(
        impl Sample for num_complex::Complex<$part> {
            fn sample(random: &mut Random) -> Self {
                Self::new(Sample::sample(random), Sample::sample(random))
            }

            fn same(self, other: Self) -> bool {
                self.re.same(other.re) && self.im.same(other.im)
            }
        }
    )*};
}

#[cfg(feature = "complex")]
complex!(f32, f64);

impl<E: Sample, const N: usize> Sample for [E; N] {
    fn sample(random: &mut Random) -> Self {
        std::array::from_fn(|_| E::sample(random))
    }

    fn same(self, other: Self) -> bool {
        self.into_iter().zip(other).all(|(a, b)| a.same(b))
    }
}

impl Sample for Bicyclic {
    fn sample(random: &mut Random) -> Self {
        Bicyclic {
            p: (random.next() >> 60) as u32,
            q: (random.next() >> 60) as u32,
        }
    }
}

impl Sample for Affine {
    fn sample(random: &mut Random) -> Self {
        Affine {
            slope: f32::sample(random),
            offset: f32::sample(random),
        }
    }

    fn same(self, other: Self) -> bool {
        self.slope.same(other.slope) && self.offset.same(other.offset)
    }
}

impl Sample for Keyed {
    fn sample(random: &mut Random) -> Self {
        // Many keys are equal.
        let bits = random.next();
        Keyed {
            key: 1 + (bits >> 61) as u16,
            first: (bits >> 8) as u8,
            second: (bits >> 16) as u8,
        }
    }
}

impl Sample for Guarded {
    fn sample(random: &mut Random) -> Self {
        Guarded::new(random.next() as u32)
    }
}

impl Sample for Moments {
    fn sample(random: &mut Random) -> Self {
        let mut moments = Moments::EMPTY;
        for _ in 0..random.next() >> 62 {
            moments = moments.merge(Moments::of(f64::sample(random)));
        }
        moments
    }

    fn same(self, other: Self) -> bool {
        self.count() == other.count()
            && self.sum().same(other.sum())
            && self.mean().same(other.mean())
            && self.squared_deviations().same(other.squared_deviations())
            && self
                .std_dev(Estimate::Population)
                .same(other.std_dev(Estimate::Population))
    }
}

impl Sample for QuickMoments {
    fn sample(random: &mut Random) -> Self {
        let mut moments = QuickMoments::EMPTY;
        for _ in 0..random.next() >> 62 {
            moments = QuickMerge::combine(moments, QuickMoments::of(f64::sample(random)));
        }
        moments
    }

    fn same(self, other: Self) -> bool {
        cast::<QuickMoments, [f64; 3]>(self).same(cast(other))
    }
}

impl Sample for Place {
    fn sample(random: &mut Random) -> Self {
        // Both halves of the rank count.
        Place::new(random.next() & 0x3_0000_0003, random.next() >> 60)
    }
}

/// `length` elements, the same ones for the same length and seed.
pub(crate) fn sample<T: Sample>(length: usize, seed: u64) -> Vec<T> {
    let mut random = Random::new(seed ^ (length as u64) << 20);
    (0..length).map(|_| T::sample(&mut random)).collect()
}

/// Fails with the first position where two arrays differ.
#[track_caller]
pub(crate) fn assert_same<T: Sample>(got: &[T], expected: &[T], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: length");
    // Equal bytes are the rule. One comparison of them is much faster than the loop, since tests
    // are compiled without optimisation.
    if cast_slice::<T, u8>(got) == cast_slice::<T, u8>(expected) {
        return;
    }
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        assert!(
            got.same(expected),
            "{what}: at {i}: got {got:?}, expected {expected:?}"
        );
    }
}

/// Lengths at which something changes for a tile of `tile` elements: nothing, one, warps, tiles,
/// their neighbours, primes.
pub(crate) fn boundary_lengths(tile: usize) -> Vec<usize> {
    let mut lengths = vec![
        0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129, 255, 256, 257,
        1009,
    ];
    for base in [tile / 2, tile, 2 * tile, 3 * tile, 4 * tile, 33 * tile] {
        lengths.extend([base.saturating_sub(1), base, base + 1]);
    }
    lengths.push(5 * tile + 12_347);
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}
