//! Values as words of eight bytes, each the bits of a number: how Rust and C++ hand them to each other.

use crate::random::Random;
use std::fmt::Debug;

/// A type of arguments and results.
pub(crate) trait Words: Copy + Debug {
    /// A value that is as likely an edge as any other.
    fn sample(random: &mut Random) -> Self;
    /// Appends the value's words. All NaNs are one, since which of them a result is, is not promised.
    fn put(self, words: &mut Vec<u64>);
}

macro_rules! ints {
    ($($int:ident),*) => {$(
        impl Words for $int {
            fn sample(random: &mut Random) -> Self {
                let bits = random.bits();
                match random.below(12) {
                    0..=1 => 0,
                    2 => 1,
                    3 => (0 as $int).wrapping_sub(1),
                    4 => $int::MIN,
                    5 => $int::MAX,
                    6 => (1 as $int) << (bits % u64::from($int::BITS)),
                    7 => (bits % 16) as $int,
                    8 => ((bits % 16) as $int).wrapping_neg(),
                    9 => (bits % 1000) as $int,
                    _ => bits as $int,
                }
            }

            fn put(self, words: &mut Vec<u64>) {
                words.push(self as u64);
            }
        }
    )*};
}
ints!(u8, u16, u32, u64, usize, i8, i16, i32, i64);

macro_rules! floats {
    ($($float:ident, $bits:ident);*) => {$(
        impl Words for $float {
            fn sample(random: &mut Random) -> Self {
                const EDGES: [$float; 16] = [
                    0.0, 1.0, 0.5, 2.0, 1.5, 3.0, 100.25, 8388609.5,
                    $float::MAX, $float::INFINITY, $float::NAN, $float::EPSILON, $float::MIN_POSITIVE,
                    $float::from_bits(1), $float::from_bits(12345), 2147483648.0,
                ];
                let bits = random.bits();
                let magnitude = match random.below(10) {
                    0..=4 => EDGES[(bits % 16) as usize],
                    5 => (bits >> 44) as $float / 1024.0,
                    6 => (1 + bits % 8) as $float / (1 + (bits >> 32) % 8) as $float,
                    7 => (bits % 1000) as $float,
                    _ => $float::from_bits((bits >> (64 - $bits::BITS)) as $bits),
                };
                if random.chance(40) { -magnitude } else { magnitude }
            }

            fn put(self, words: &mut Vec<u64>) {
                words.push(if self.is_nan() { $float::NAN.to_bits() } else { self.to_bits() }.into());
            }
        }
    )*};
}
floats!(f32, u32; f64, u64);

impl Words for bool {
    fn sample(random: &mut Random) -> Self {
        random.chance(50)
    }

    fn put(self, words: &mut Vec<u64>) {
        words.push(self.into());
    }
}

impl<T: Words, const N: usize> Words for [T; N] {
    fn sample(random: &mut Random) -> Self {
        std::array::from_fn(|_| T::sample(random))
    }

    fn put(self, words: &mut Vec<u64>) {
        for element in self {
            element.put(words);
        }
    }
}

macro_rules! tuples {
    ($(($($part:ident),*)),*) => {$(
        impl<$($part: Words),*> Words for ($($part,)*) {
            fn sample(random: &mut Random) -> Self {
                ($($part::sample(random),)*)
            }

            fn put(self, words: &mut Vec<u64>) {
                #[allow(non_snake_case, reason = "a variable is called as its type")]
                let ($($part,)*) = self;
                $($part.put(words);)*
            }
        }
    )*};
}
tuples!((A), (A, B), (A, B, C), (A, B, C, D));

/// For a struct with its fields, and for a tuple struct with their numbers.
macro_rules! words {
    ($name:ident { $($field:tt),* }) => {
        impl $crate::words::Words for $name {
            fn sample(random: &mut $crate::random::Random) -> Self {
                $name { $($field: $crate::words::Words::sample(random)),* }
            }

            fn put(self, words: &mut Vec<u64>) {
                $($crate::words::Words::put(self.$field, words);)*
            }
        }
    };
}
pub(crate) use words;
