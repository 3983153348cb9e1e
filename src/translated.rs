//! What the output of `#[warpfold::function]` calls. Programs must not name it.
//!
//! `macros/src/translate/` explains holes and the shadow.

use crate::definitions::Definitions;
use crate::{CudaType, Function};
use std::marker::PhantomData;

/// What arithmetic, comparisons and numbers' methods are defined on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that a GPU computes with",
    label = "not a number",
    note = "operators and methods work on u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize f32 f64 and bool; for what a struct, a tuple or an array does, write a function with #[warpfold::function] and call it by its name; halves are `f32` in operators"
)]
pub trait Primitive: CudaType {}

/// A number with literals.
pub trait Number: Primitive {
    /// The number that a literal's digits name.
    fn parse(digits: &str) -> Self;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Primitive for $number {}

        impl Number for $number {
            fn parse(digits: &str) -> Self {
                digits.parse().expect("Rust has accepted the literal")
            }
        }
    )*};
}

numbers!(
    u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, usize, isize, f32, f64
);

impl Primitive for bool {}

/// Defines traits for the types that have methods of a kind as their own.
macro_rules! kinds {
    ($($(#[$attribute:meta])* $kind:ident: $($number:ident)*;)*) => {$(
        $(#[$attribute])*
        #[diagnostic::on_unimplemented(
            message = "`{Self}` has no such method on a GPU",
            label = "this has no such method of its own",
            note = "only the methods of numbers themselves are translated: write a function with #[warpfold::function], and call it by its name"
        )]
        pub trait $kind: Primitive {}

        $(impl $kind for $number {})*
    )*};
}

kinds! {
    /// What has `min`.
    AnyNumber: u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64;
    /// What has `signum`.
    SignedNumber: i8 i16 i32 i64 i128 isize f32 f64;
    /// What has `count_ones`.
    Integer: u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize;
    /// What has `unsigned_abs`.
    SignedInteger: i8 i16 i32 i64 i128 isize;
    /// What has `is_power_of_two`.
    UnsignedInteger: u8 u16 u32 u64 u128 usize;
    /// What has `sqrt`.
    Float: f32 f64;
}

/// What `min` and `max` of a number are, on the host. `kernels/machine/rust.cuh` defines them
/// alike.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method on a GPU",
    label = "this has no such method of its own",
    note = "only the methods of numbers themselves are translated: write a function with #[warpfold::function], and call it by its name"
)]
pub trait Extreme: CudaType {
    #[doc(hidden)]
    fn least_of(self, other: Self) -> Self;
    #[doc(hidden)]
    fn greatest_of(self, other: Self) -> Self;
}

macro_rules! extremes_of_integers {
    ($($integer:ident)*) => {$(
        impl Extreme for $integer {
            #[inline(always)]
            fn least_of(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn greatest_of(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

extremes_of_integers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

macro_rules! extremes_of_floats {
    ($($float:ident)*) => {$(
        // IEEE 754-2019's minimumNumber and maximumNumber: if one is a NaN, quiet or signalling,
        // the other; −0 is less than +0.
        impl Extreme for $float {
            #[inline(always)]
            fn least_of(self, other: Self) -> Self {
                if self.is_nan() {
                    other
                } else if other.is_nan() {
                    self
                } else {
                    crate::ops::minimum(self, other)
                }
            }

            #[inline(always)]
            fn greatest_of(self, other: Self) -> Self {
                if self.is_nan() {
                    other
                } else if other.is_nan() {
                    self
                } else {
                    crate::ops::maximum(self, other)
                }
            }
        }
    )*};
}

extremes_of_floats!(f32 f64);

/// What `a.min(b)` becomes on the host.
#[inline(always)]
pub fn min<T: Extreme>(a: T, b: T) -> T {
    a.least_of(b)
}

/// What `a.max(b)` becomes on the host.
#[inline(always)]
pub fn max<T: Extreme>(a: T, b: T) -> T {
    a.greatest_of(b)
}

// In the shadow: take the receiver of a method that only these have.

pub fn number<T: AnyNumber>(value: T) -> T {
    value
}

pub fn signed_number<T: SignedNumber>(value: T) -> T {
    value
}

pub fn integer<T: Integer>(value: T) -> T {
    value
}

pub fn signed_integer<T: SignedInteger>(value: T) -> T {
    value
}

pub fn unsigned_integer<T: UnsignedInteger>(value: T) -> T {
    value
}

pub fn float<T: Float>(value: T) -> T {
    value
}

/// What `T::from` takes.
#[diagnostic::on_unimplemented(
    message = "`from` is not translated for `{Self}`",
    label = "not a number",
    note = "`T::from(x)` widens a number or a half: write a function with #[warpfold::function] for other conversions, and call it by its name"
)]
pub trait Convertible: CudaType {}

impl<T: Primitive> Convertible for T {}
impl Convertible for half::f16 {}
impl Convertible for half::bf16 {}

/// In the shadow: takes what `T::from` takes.
pub fn convertible<T: Convertible>(value: T) -> T {
    value
}

/// The value of a constant in a pattern.
pub fn constant_of_pattern<T: Primitive>(value: T, definitions: &mut Definitions) -> String {
    value.cuda_value(definitions)
}

/// In the shadow: gives a hole the type of a value. The hole itself checks that this is a type of
/// CUDA, so it is checked once.
pub fn typed<T>(value: T, _: PhantomData<T>) -> T {
    value
}

/// In the shadow: takes numbers only.
pub fn primitive<T: Primitive>(value: T) -> T {
    value
}

/// The CUDA type of a hole.
pub fn type_of<T: CudaType>(_: PhantomData<T>, definitions: &mut Definitions) -> String {
    T::cuda_type(definitions)
}

/// The CUDA name of the function that a hole stands for.
pub fn name_of<F: Function>(_: PhantomData<F>, definitions: &mut Definitions) -> String {
    F::cuda(definitions)
}

/// A literal, of the hole's type.
pub fn literal<T: Number>(_: PhantomData<T>, is_negative: bool, digits: &str) -> String {
    let sign = if is_negative { "-" } else { "" };
    T::parse(&format!("{sign}{digits}")).cuda_value(&mut Definitions::default())
}

/// The pieces of a text, and what its holes are filled with, in turn.
pub fn text(pieces: &[&str], holes: &[String]) -> String {
    let mut text = pieces[0].to_owned();
    for (hole, piece) in holes.iter().zip(&pieces[1..]) {
        text += hole;
        text += piece;
    }
    text
}

/// One of the numbers that a value consists of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// An integer of any type, or a boolean.
    Integer(i128),
    /// A `u128` beyond the greatest `i128`.
    Beyond(u128),
    /// A float of any type; what is narrower than 64 bits is contained exactly.
    Float(f64),
}
