//! The element types and operators, and the way from their names to generic code.

use crate::condition::Width;
use crate::failure::{Failure, Result};
use crate::text::Values;
use crate::value::Value;
use clap::ValueEnum;
use std::borrow::Cow;
use std::fmt;
use warpfold::half::{bf16, f16};
use warpfold::{Bins, Element, Monoid, Scalar, Sortable, bytemuck, ops, statistics};

/// The name of an element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DType {
    /// Or `uint8`
    #[value(aliases = ["uint8"])]
    U8,
    /// Or `int8`
    #[value(aliases = ["int8"])]
    I8,
    /// Or `uint16`
    #[value(aliases = ["uint16"])]
    U16,
    /// Or `int16`
    #[value(aliases = ["int16"])]
    I16,
    /// Or `uint32`
    #[value(aliases = ["uint32"])]
    U32,
    /// Or `int32`
    #[value(aliases = ["int32"])]
    I32,
    /// Or `uint64`
    #[value(aliases = ["uint64"])]
    U64,
    /// Or `int64`
    #[value(aliases = ["int64"])]
    I64,
    /// Or `float16`, `half`
    #[value(aliases = ["float16", "half"])]
    F16,
    /// Or `bfloat16`
    #[value(aliases = ["bfloat16"])]
    Bf16,
    /// Or `float32`, `single`
    #[value(aliases = ["float32", "single"])]
    F32,
    /// Or `float64`, `double`
    #[value(aliases = ["float64", "double"])]
    F64,
}

/// Evaluates an expression in which a name stands for the type that a [`DType`] names.
macro_rules! with_number {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::number::with_number!(@arms $dtype, $T => $body,
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64,
            F16 warpfold::half::f16, Bf16 warpfold::half::bf16, F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $T:ident => $body:expr, $($name:ident $number:ty),*) => {
        match $dtype {
            $($crate::number::DType::$name => {
                type $T = $number;
                $body
            })*
        }
    };
}
pub(crate) use with_number;

/// Evaluates an expression in which a name stands for the type that numbers of a [`DType`] are
/// counted in, which holds them all.
macro_rules! with_bound {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::number::with_bound!(@arms $dtype, $T => $body,
            U8 u8, I8 | U16 | I16 | I32 i32, U32 | I64 i64, U64 u64,
            F16 | Bf16 | F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $T:ident => $body:expr, $($($name:ident)|+ $number:ty),*) => {
        match $dtype {
            $($($crate::number::DType::$name)|+ => {
                type $T = $number;
                $body
            })*
        }
    };
}
pub(crate) use with_bound;

impl DType {
    pub(crate) fn size(self) -> usize {
        with_number!(self, T => size_of::<T>())
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::Bf16 | DType::F32 | DType::F64)
    }

    /// How many bits of an integer a type of floats holds, whatever they are.
    pub(crate) fn exact_bits(self) -> u32 {
        match self {
            DType::Bf16 => 8,
            DType::F16 => 11,
            DType::F32 => 24,
            DType::F64 => 53,
            _ => 0,
        }
    }

    pub(crate) fn is_signed(self) -> bool {
        !matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_name(self, f)
    }
}

/// The name of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum Operator {
    /// The sum, or `sum`; integers add up in 64 bits
    #[value(alias = "sum")]
    Add,
    /// The product, or `prod`; integers multiply in 64 bits
    #[value(aliases = ["prod", "product"])]
    Mul,
    /// The smallest; NaN if any is NaN
    #[value(alias = "minimum")]
    Min,
    /// The largest; NaN if any is NaN
    #[value(alias = "maximum")]
    Max,
    /// Bitwise and, or `and`, of integers
    #[value(alias = "and")]
    BitAnd,
    /// Bitwise or, or `or`, of integers
    #[value(alias = "or")]
    BitOr,
    /// Bitwise exclusive or, or `xor`, of integers
    #[value(alias = "xor")]
    BitXor,
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_name(self, f)
    }
}

/// Writes the name that the command line knows a value by.
fn show_name(value: &impl ValueEnum, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value.to_possible_value() {
        Some(name) => f.write_str(name.get_name()),
        None => Err(fmt::Error),
    }
}

impl Operator {
    /// Fails for a pair that has no meaning, before anything is read.
    pub(crate) fn check(self, dtype: DType) -> Result<()> {
        if dtype.is_float() && matches!(self, Self::BitAnd | Self::BitOr | Self::BitXor) {
            Err(self.undefined_on(dtype))
        } else {
            Ok(())
        }
    }

    /// Whether it gives one of the elements: then nothing has no result.
    pub(crate) fn picks(self) -> bool {
        matches!(self, Self::Min | Self::Max)
    }

    fn undefined_on(self, dtype: DType) -> Failure {
        let allowed: Vec<_> = DType::value_variants()
            .iter()
            .filter(|dtype| !dtype.is_float())
            .map(DType::to_string)
            .collect();
        Failure::with_remedy(
            format_args!("--op {self}"),
            format_args!("not defined on {dtype}"),
            format_args!("the types it takes are {}", allowed.join(", ")),
        )
    }
}

/// Work that is generic over the operator.
pub(crate) trait Work<T: Element> {
    type Output;

    fn run<Op: Monoid<T>>(self) -> Result<Self::Output>;
}

/// Work that is generic over the operator and the type that folds run in.
pub(crate) trait FoldWork {
    type Output;

    fn run<C: Number, Op: Monoid<C>>(self) -> Result<Self::Output>;
}

/// Does `work` with the operator that `op` names, in a type that holds the elements. Its results
/// are cut or rounded to theirs when they are written: sums and products modulo 2^64 are also right
/// modulo less, with a sign as without, and halves are folded as `f32` anyway.
pub(crate) fn with_fold<W: FoldWork>(op: Operator, dtype: DType, work: W) -> Result<W::Output> {
    let is_signed = dtype.is_signed();
    match dtype {
        DType::F64 => match op {
            Operator::Add => work.run::<f64, ops::Add>(),
            Operator::Mul => work.run::<f64, ops::Mul>(),
            Operator::Min => work.run::<f64, ops::Min>(),
            Operator::Max => work.run::<f64, ops::Max>(),
            Operator::BitAnd | Operator::BitOr | Operator::BitXor => Err(op.undefined_on(dtype)),
        },
        DType::F16 | DType::Bf16 | DType::F32 => match op {
            Operator::Add => work.run::<f32, ops::Add>(),
            Operator::Mul => work.run::<f32, ops::Mul>(),
            Operator::Min => work.run::<f32, ops::Min>(),
            Operator::Max => work.run::<f32, ops::Max>(),
            Operator::BitAnd | Operator::BitOr | Operator::BitXor => Err(op.undefined_on(dtype)),
        },
        _ => match op {
            Operator::Add => work.run::<u64, ops::Add>(),
            Operator::Mul => work.run::<u64, ops::Mul>(),
            Operator::Min if is_signed => work.run::<i64, ops::Min>(),
            Operator::Max if is_signed => work.run::<i64, ops::Max>(),
            Operator::Min => work.run::<u64, ops::Min>(),
            Operator::Max => work.run::<u64, ops::Max>(),
            Operator::BitAnd => work.run::<u64, ops::BitAnd>(),
            Operator::BitOr => work.run::<u64, ops::BitOr>(),
            Operator::BitXor => work.run::<u64, ops::BitXor>(),
        },
    }
}

/// Why a text is not a number of some type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadNumber {
    NotANumber,
    NotAnInteger,
    OutOfRange,
}

impl BadNumber {
    /// Says what is wrong with `token`.
    pub(crate) fn describe(self, token: &str, dtype: DType) -> String {
        match self {
            BadNumber::NotANumber => format!("`{token}` is not a number"),
            BadNumber::NotAnInteger => {
                format!("`{token}` is not an integer, but the type is {dtype}")
            }
            BadNumber::OutOfRange => format!("`{token}` is out of the range of {dtype}"),
        }
    }

    /// The type that holds the number, if one does. `integer` is the number, if it is one.
    pub(crate) fn remedy(self, integer: Option<i128>, dtype: DType) -> Option<String> {
        let fits = |range: std::ops::RangeInclusive<i128>| {
            integer.is_some_and(|integer| range.contains(&integer))
        };
        match self {
            BadNumber::NotANumber => None,
            BadNumber::NotAnInteger => Some(TO_F64.into()),
            BadNumber::OutOfRange if dtype == DType::F64 => None,
            BadNumber::OutOfRange if dtype.is_float() => Some("give --dtype f64".into()),
            BadNumber::OutOfRange if fits(i64::MIN.into()..=i64::MAX.into()) => Some(match dtype {
                DType::U64 => format!("give --dtype i64; if others are above its range, {TO_F64}"),
                _ => "give --dtype i64".into(),
            }),
            BadNumber::OutOfRange if fits(0..=u64::MAX.into()) => Some(format!(
                "give --dtype u64; if others are negative, {TO_F64}"
            )),
            BadNumber::OutOfRange => Some(format!("no integer here has so many bits: {TO_F64}")),
        }
    }
}

/// What is recommended where only `f64` holds all that is read.
pub(crate) const TO_F64: &str = "give --dtype f64, which rounds integers beyond 2^53";

/// An element type of the command line.
pub(crate) trait Number:
    statistics::Number + Element<Accumulator = Self::Bound> + Sortable<Bits: Width>
{
    const DTYPE: DType;

    /// What the bounds of a selection are, and what is counted: the type itself, or the `f32` that
    /// a half is.
    type Bound: Scalar + warpfold::Binned + Number<Bound = Self::Bound>;

    /// The least bound above another.
    fn next_above(bound: Self::Bound) -> Option<Self::Bound>;

    /// The greatest bound below another.
    fn next_below(bound: Self::Bound) -> Option<Self::Bound>;

    /// A bin for each of the first so many values, of an integer.
    fn values(count: usize) -> Option<warpfold::Result<Bins<Self::Bound>>>;

    /// Bins from integers on, the last up to `last`.
    fn firsts(firsts: &[Self], last: Self) -> Option<warpfold::Result<Bins<Self::Bound>>>;

    fn parse(token: &[u8]) -> Result<Self, BadNumber>;

    /// The numbers of this type.
    fn of_values(values: Values) -> Vec<Self>;

    fn to_values(numbers: Vec<Self>) -> Values;

    /// The bits of numbers, in their place.
    fn to_bits_of(numbers: Vec<Self>) -> Vec<Self::Bits> {
        bytemuck::allocation::cast_vec(numbers)
    }

    fn of_bits(bits: Vec<Self::Bits>) -> Vec<Self> {
        bytemuck::allocation::cast_vec(bits)
    }

    /// The number as a double, rounded if it is an integer beyond 2^53.
    fn to_float(self) -> f64;

    /// The value of an integer.
    fn to_integer(self) -> i128;

    /// What an integer is in the type, cut to fit.
    fn from_integer(value: i128) -> Self;

    fn from_float(value: f64) -> Self;

    /// Whether the step of a running sum or product of integers overflowed: from the result before
    /// an item to the one after.
    fn overflowed(op: Operator, before: Self, item: Self) -> bool;

    /// The number as a result.
    fn to_value(self) -> Value;

    /// Appends the shortest text that reads back as the same bits.
    fn append_to(self, text: &mut Vec<u8>);

    /// Does `work` with the operator that `op` names.
    fn with_operator<W: Work<Self>>(op: Operator, work: W) -> Result<W::Output>;
}

/// An end of a range of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Least,
    Greatest,
}

/// The way from numbers whose type is known at run time, and back.
macro_rules! of_values {
    ($name:ident) => {
        fn of_values(values: Values) -> Vec<Self> {
            match values {
                Values::$name(numbers) => numbers,
                others => unreachable!("{} are cast before", others.dtype()),
            }
        }

        fn to_values(numbers: Vec<Self>) -> Values {
            Values::$name(numbers)
        }
    };
}

macro_rules! integers {
    ($($name:ident $number:ty),*) => {$(
        impl Number for $number {
            const DTYPE: DType = DType::$name;

            type Bound = Self;

            fn next_above(bound: Self) -> Option<Self> {
                bound.checked_add(1)
            }

            fn next_below(bound: Self) -> Option<Self> {
                bound.checked_sub(1)
            }

            fn values(count: usize) -> Option<warpfold::Result<Bins<Self>>> {
                Some(Bins::values(count))
            }

            fn firsts(firsts: &[Self], last: Self) -> Option<warpfold::Result<Bins<Self>>> {
                Some(Bins::with_firsts(firsts, last))
            }

            #[inline]
            fn parse(token: &[u8]) -> Result<Self, BadNumber> {
                let text = str::from_utf8(token).map_err(|_| BadNumber::NotANumber)?;
                match text.parse() {
                    Ok(value) => Ok(value),
                    Err(_) => parse_odd_integer(text),
                }
            }

            of_values!($name);

            #[inline]
            fn to_float(self) -> f64 {
                self as f64
            }

            #[inline]
            fn to_integer(self) -> i128 {
                self.into()
            }

            #[inline]
            fn from_integer(value: i128) -> Self {
                value as Self
            }

            #[inline]
            fn from_float(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn overflowed(op: Operator, before: Self, item: Self) -> bool {
                match op {
                    Operator::Add => before.overflowing_add(item).1,
                    Operator::Mul => before.overflowing_mul(item).1,
                    _ => false,
                }
            }

            fn to_value(self) -> Value {
                Value::Integer(self.into())
            }

            fn append_to(self, text: &mut Vec<u8>) {
                text.extend_from_slice(itoa::Buffer::new().format(self).as_bytes());
            }

            fn with_operator<W: Work<Self>>(op: Operator, work: W) -> Result<W::Output> {
                match op {
                    Operator::Add => work.run::<ops::Add>(),
                    Operator::Mul => work.run::<ops::Mul>(),
                    Operator::Min => work.run::<ops::Min>(),
                    Operator::Max => work.run::<ops::Max>(),
                    Operator::BitAnd => work.run::<ops::BitAnd>(),
                    Operator::BitOr => work.run::<ops::BitOr>(),
                    Operator::BitXor => work.run::<ops::BitXor>(),
                }
            }
        }
    )*};
}

integers!(U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64);

macro_rules! floats {
    ($(
        $name:ident $number:ty, $bound:ty,
        $parse:expr, $widen:expr, $narrow:expr
    );*) => {$(
        impl Number for $number {
            const DTYPE: DType = DType::$name;

            type Bound = $bound;

            // What lies between a half and the next one is no half, and changes nothing. A NaN
            // stays one, and nothing is greater or less.
            fn next_above(bound: $bound) -> Option<$bound> {
                (bound != <$bound>::INFINITY).then(|| bound.next_up())
            }

            fn next_below(bound: $bound) -> Option<$bound> {
                (bound != <$bound>::NEG_INFINITY).then(|| bound.next_down())
            }

            fn values(_: usize) -> Option<warpfold::Result<Bins<$bound>>> {
                None
            }

            fn firsts(_: &[Self], _: Self) -> Option<warpfold::Result<Bins<$bound>>> {
                None
            }

            #[inline]
            fn parse(token: &[u8]) -> Result<Self, BadNumber> {
                let text = str::from_utf8(token).map_err(|_| BadNumber::NotANumber)?;
                let text = match text.len() > LONG_FLOAT {
                    true => &*with_short_exponent(text),
                    false => text,
                };
                let value: Self = $parse(text).map_err(|_| BadNumber::NotANumber)?;
                if value.is_infinite() && !is_infinity(text) {
                    return Err(BadNumber::OutOfRange);
                }
                Ok(value)
            }

            of_values!($name);

            #[inline]
            fn to_float(self) -> f64 {
                $widen(self).into()
            }

            fn to_integer(self) -> i128 {
                let value: f64 = $widen(self).into();
                value as i128
            }

            #[inline]
            fn from_integer(value: i128) -> Self {
                Self::from_float(value as f64)
            }

            #[inline]
            fn from_float(value: f64) -> Self {
                $narrow(value)
            }

            fn overflowed(_: Operator, _: Self, _: Self) -> bool {
                false
            }

            fn to_value(self) -> Value {
                Value::from($widen(self))
            }

            fn append_to(self, text: &mut Vec<u8>) {
                text.extend_from_slice(zmij::Buffer::new().format($widen(self)).as_bytes());
            }

            fn with_operator<W: Work<Self>>(op: Operator, work: W) -> Result<W::Output> {
                match op {
                    Operator::Add => work.run::<ops::Add>(),
                    Operator::Mul => work.run::<ops::Mul>(),
                    Operator::Min => work.run::<ops::Min>(),
                    Operator::Max => work.run::<ops::Max>(),
                    Operator::BitAnd | Operator::BitOr | Operator::BitXor => {
                        Err(op.undefined_on(Self::DTYPE))
                    }
                }
            }
        }
    )*};
}

floats!(
    F16 f16, f32,
        |text: &str| text.parse().map(|v| f16::from_f32(to_odd_f32(v))),
        f16::to_f32, |v| f16::from_f32(to_odd_f32(v));
    Bf16 bf16, f32,
        |text: &str| text.parse().map(|v| bf16::from_f32(to_odd_f32(v))),
        bf16::to_f32, |v| bf16::from_f32(to_odd_f32(v));
    F32 f32, f32, str::parse,
        std::convert::identity, |v: f64| v as f32;
    F64 f64, f64, str::parse,
        std::convert::identity, std::convert::identity
);

/// Rounds to an `f32` whose last bit is set if anything was lost. A 16-bit float made from it is
/// the same as one made from the `f64`. With two ordinary roundings, the first can land on the
/// middle between two 16-bit floats; then the second goes to the wrong side.
fn to_odd_f32(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    if back == value || value.is_nan() {
        return near;
    }
    let toward_zero = near.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(toward_zero | 1)
}

/// A float of more characters than this can have an exponent that the standard library caps.
pub(crate) const LONG_FLOAT: usize = 1 << 15;

/// A long float with the point before its first digit. Where exponents are beyond 2^16, the parser
/// of the standard library caps them, also if as many zeros make up for that.
#[cold]
pub(crate) fn with_short_exponent(text: &str) -> Cow<'_, str> {
    // Beyond all floats, and below the cap.
    const MOST: i64 = 60_000;
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let is_number = are_digits(whole)
        && are_digits(fraction)
        && are_digits(exponent_digits)
        && !exponent_digits.is_empty()
        && whole.len() + fraction.len() > 0;
    if !is_number {
        return Cow::Borrowed(text);
    }
    let sign = &text[..text.len() - unsigned.len()];
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0');
    let zeros = (digits.len() - significant.len()) as i64;
    let exponent = exponent.parse().unwrap_or(match exponent.starts_with('-') {
        true => i64::MIN,
        false => i64::MAX,
    });
    let point = exponent.saturating_add(whole.len() as i64 - zeros);
    let significant = significant.trim_end_matches('0');
    Cow::Owned(format!(
        "{sign}0.{significant}0e{}",
        point.clamp(-MOST, MOST)
    ))
}

/// Judges what the standard library's parser for `T` refused, such as `-0` for an unsigned type.
#[cold]
fn parse_odd_integer<T: TryFrom<i128>>(text: &str) -> Result<T, BadNumber> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let value: i128 = text.parse().map_err(|_| BadNumber::OutOfRange)?;
        T::try_from(value).map_err(|_| BadNumber::OutOfRange)
    } else if text.parse::<f64>().is_ok() {
        Err(BadNumber::NotAnInteger)
    } else {
        Err(BadNumber::NotANumber)
    }
}

/// Whether a number's text says `inf` or `infinity`, not just too many digits.
fn is_infinity(text: &str) -> bool {
    let word = text.trim_start_matches(['+', '-']);
    word.starts_with(['i', 'I'])
}
