//! What is sorted, and what must come of it.

use crate::support::data::Random;
use std::cmp::Ordering;
use std::fmt::Debug;
use warpfold::half::{bf16, f16};
use warpfold::{Order, Sortable, bytemuck};

/// The orders, each with what tells them apart: descending, NaN last, total.
pub(crate) const ORDERS: [(Order, bool, Floats); 6] = [
    (Order::ascending(), false, Floats::NanGreatest),
    (Order::descending(), true, Floats::NanGreatest),
    (Order::ascending().nan_last(), false, Floats::NanLast),
    (Order::descending().nan_last(), true, Floats::NanLast),
    (Order::ascending().total(), false, Floats::Total),
    (Order::descending().total(), true, Floats::Total),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floats {
    NanGreatest,
    NanLast,
    Total,
}

/// A key whose order is known by comparisons.
pub(crate) trait Key: Sortable + Debug {
    /// Any bits, as a key.
    fn of(bits: u128) -> Self;
    fn ordering(self, other: Self) -> Option<Ordering>;
    fn total(self, other: Self) -> Ordering;
    fn is_unordered(self) -> bool;
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Key for $integer {
            fn of(bits: u128) -> Self {
                bits as $integer
            }
            fn ordering(self, other: Self) -> Option<Ordering> {
                Some(self.cmp(&other))
            }
            fn total(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
            fn is_unordered(self) -> bool {
                false
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);

macro_rules! floats {
    ($($float:ty: $bits:ty, $mantissa:literal;)*) => {$(
        impl Key for $float {
            /// Numbers of all magnitudes, and of 16 one of NaN, infinity and zero each.
            fn of(bits: u128) -> Self {
                let special = match bits >> 64 & 15 {
                    0 => bits as $bits | ((1 << (<$bits>::BITS - 1 - $mantissa)) - 1) << $mantissa,
                    1 => <$float>::INFINITY.to_bits(),
                    2 => 0,
                    _ => bits as $bits,
                };
                <$float>::from_bits(special | (bits as $bits & 1) << (<$bits>::BITS - 1))
            }
            fn ordering(self, other: Self) -> Option<Ordering> {
                self.partial_cmp(&other)
            }
            fn total(self, other: Self) -> Ordering {
                self.total_cmp(&other)
            }
            fn is_unordered(self) -> bool {
                self.is_nan()
            }
        }
    )*};
}

floats! { f32: u32, 23; f64: u64, 52; f16: u16, 10; bf16: u16, 7; }

/// How the order compares, said by comparisons alone.
pub(crate) fn compare<K: Key>(
    (_, descending, floats): (Order, bool, Floats),
    a: K,
    b: K,
) -> Ordering {
    let turn = |ordering: Ordering| match descending {
        true => ordering.reverse(),
        false => ordering,
    };
    let nans = || a.is_unordered().cmp(&b.is_unordered());
    match floats {
        Floats::Total => turn(a.total(b)),
        Floats::NanGreatest => turn(a.ordering(b).unwrap_or_else(nans)),
        Floats::NanLast => a.ordering(b).map_or_else(nans, turn),
    }
}

/// The places of the keys in sorted order, by the standard library's stable sort.
pub(crate) fn oracle<K: Key>(order: (Order, bool, Floats), keys: &[K]) -> Vec<u64> {
    let mut places: Vec<u64> = (0..keys.len() as u64).collect();
    places.sort_by(|&a, &b| compare(order, keys[a as usize], keys[b as usize]));
    places
}

pub(crate) fn by_places<T: Copy>(items: &[T], places: &[u64]) -> Vec<T> {
    places.iter().map(|&place| items[place as usize]).collect()
}

/// Fails unless both have the same bits: NaN keeps its payload, and -0 its sign.
#[track_caller]
pub(crate) fn assert_bits<T: bytemuck::NoUninit + Debug>(given: &[T], expected: &[T], what: &str) {
    assert_eq!(given.len(), expected.len(), "{what}");
    for (i, (a, b)) in given.iter().zip(expected).enumerate() {
        let same = bytemuck::bytes_of(a) == bytemuck::bytes_of(b);
        assert!(same, "{what}: at {i}: {a:?}, not {b:?}");
    }
}

/// Keys that go wrong in different ways.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pattern {
    Random,
    Equal,
    Two,
    /// Only the lowest byte varies, and with it the sign of a float.
    LowByte,
    /// Only the highest byte varies.
    HighByte,
    Rising,
    Falling,
    /// Few are large, many equal.
    Skewed,
}

pub(crate) const PATTERNS: [Pattern; 8] = [
    Pattern::Random,
    Pattern::Equal,
    Pattern::Two,
    Pattern::LowByte,
    Pattern::HighByte,
    Pattern::Rising,
    Pattern::Falling,
    Pattern::Skewed,
];

pub(crate) fn keys<K: Key>(pattern: Pattern, len: usize, seed: u64) -> Vec<K> {
    let mut random = Random::new(seed);
    let top = 8 * (size_of::<K>() as u32 - 1);
    let bits = (0..len as u128).map(|i| {
        let bits = u128::from(random.next()) << 64 | u128::from(random.next());
        // Behind the bits that are drawn stands what makes no special float.
        let plain = 15 << 64;
        match pattern {
            Pattern::Random => bits,
            Pattern::Equal => plain | 0x4224_2442,
            Pattern::Two => {
                plain
                    | if bits & 1 == 0 {
                        0x4012_3456
                    } else {
                        0x4212_3456
                    }
            }
            Pattern::LowByte => plain | 0x4224_2400 | bits & 0xff,
            Pattern::HighByte => plain | (bits & 0xff) << top,
            Pattern::Rising => plain | i << 1,
            Pattern::Falling => plain | (len as u128 - i) << 1,
            Pattern::Skewed => plain | (bits & u128::from(u64::MAX)) >> (bits >> 70 & 63) << 1,
        }
    });
    bits.map(K::of).collect()
}
