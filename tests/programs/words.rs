//! Values as words of eight bytes, each the bits of a number: how Rust and C++ hand them to each
//! other.

use crate::random::Random;
use std::fmt::Debug;
use warpfold::CudaType;
use warpfold::codegen::Definitions;

/// A type of arguments and results.
pub(crate) trait Words: CudaType + Debug {
    /// Whether it is a number or a `bool`.
    const IS_NUMBER: bool = false;

    /// A value that is as likely an edge as any other.
    fn sample(random: &mut Random) -> Self;
    /// Appends the value's words. All NaNs are one, since which of them a result is, is not
    /// promised.
    fn put(self, words: &mut Vec<u64>);
    /// In C++, the value that the next words are.
    fn cuda_take(definitions: &mut Definitions) -> String;
    /// In C++, statements that append the words of `value`.
    fn cuda_put(value: &str) -> String;
}

/// Both directions in C++ for a number, which `program.hpp` knows.
macro_rules! number_in_cuda {
    () => {
        fn cuda_take(definitions: &mut Definitions) -> String {
            format!("take<{}>()", Self::cuda_type(definitions))
        }

        fn cuda_put(value: &str) -> String {
            format!("put({value}); ")
        }
    };
}

macro_rules! ints {
    ($($int:ident),*) => {$(
        impl Words for $int {
            const IS_NUMBER: bool = true;

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
                    // Of 128 bits, some have their sign from the lower half.
                    10 => bits as i64 as $int,
                    _ => (u128::from(bits) << 64 | u128::from(random.bits())) as $int,
                }
            }

            fn put(self, words: &mut Vec<u64>) {
                words.push(self as u64);
                if $int::BITS == 128 {
                    words.push((self as u128 >> 64) as u64);
                }
            }

            number_in_cuda!();
        }
    )*};
}
ints!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);

macro_rules! floats {
    ($($float:ident, $bits:ident);*) => {$(
        impl Words for $float {
            const IS_NUMBER: bool = true;

            fn sample(random: &mut Random) -> Self {
                const EDGES: [$float; 16] = [
                    0.0, 1.0, 0.5, 2.0, 1.5, 3.0, 100.25, 8388609.5,
                    $float::MAX, $float::INFINITY, $float::NAN, $float::EPSILON, $float::MIN_POSITIVE,
                    $float::from_bits(1), $float::from_bits(12345), 2147483648.0,
                ];
                let bits = random.bits();
                let magnitude = match random.below(10) {
                    0..=4 => *random.pick(&EDGES),
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

            number_in_cuda!();
        }
    )*};
}
floats!(f32, u32; f64, u64);

impl Words for bool {
    const IS_NUMBER: bool = true;

    fn sample(random: &mut Random) -> Self {
        random.chance(50)
    }

    fn put(self, words: &mut Vec<u64>) {
        words.push(self.into());
    }

    number_in_cuda!();
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

    fn cuda_take(definitions: &mut Definitions) -> String {
        let ty = Self::cuda_type(definitions);
        let elements: Vec<_> = (0..N).map(|_| T::cuda_take(definitions)).collect();
        format!("{ty}{{{{{}}}}}", elements.join(", "))
    }

    fn cuda_put(value: &str) -> String {
        (0..N)
            .map(|number| T::cuda_put(&format!("{value}[{number}]")))
            .collect()
    }
}

macro_rules! tuples {
    ($(($($part:ident $number:literal),*)),*) => {$(
        impl<$($part: Words),*> Words for ($($part,)*) {
            fn sample(random: &mut Random) -> Self {
                ($($part::sample(random),)*)
            }

            fn put(self, words: &mut Vec<u64>) {
                #[allow(non_snake_case, reason = "a variable is called as its type")]
                let ($($part,)*) = self;
                $($part.put(words);)*
            }

            fn cuda_take(definitions: &mut Definitions) -> String {
                let ty = Self::cuda_type(definitions);
                let parts = [$($part::cuda_take(definitions)),*];
                format!("{ty}{{{}}}", parts.join(", "))
            }

            fn cuda_put(value: &str) -> String {
                [$($part::cuda_put(&format!("{value}._{}", $number))),*].concat()
            }
        }
    )*};
}
tuples!((A 0), (A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, D 3));

/// For a struct with the names and types of its fields; those of a tuple struct are numbers.
macro_rules! words {
    ($name:ident { $($field:tt: $type:ty),* }) => {
        impl $crate::words::Words for $name {
            fn sample(random: &mut $crate::random::Random) -> Self {
                $name { $($field: $crate::words::Words::sample(random)),* }
            }

            fn put(self, words: &mut Vec<u64>) {
                $($crate::words::Words::put(self.$field, words);)*
            }

            fn cuda_take(definitions: &mut warpfold::codegen::Definitions) -> String {
                let ty = <Self as warpfold::CudaType>::cuda_type(definitions);
                let fields = [$(<$type as $crate::words::Words>::cuda_take(definitions)),*];
                format!("{ty}{{{}}}", fields.join(", "))
            }

            fn cuda_put(value: &str) -> String {
                [$(<$type as $crate::words::Words>::cuda_put(
                    &$crate::words::cuda_field(value, stringify!($field))
                )),*].concat()
            }
        }
    };
}
pub(crate) use words;

/// A field in C++, where names do not begin with digits, nor are they those of types.
pub(crate) fn cuda_field(value: &str, field: &str) -> String {
    let prefix = match field {
        "u8" => "r_",
        digits if digits.starts_with(|first: char| first.is_ascii_digit()) => "_",
        _ => "",
    };
    format!("{value}.{prefix}{field}")
}
