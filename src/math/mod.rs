//! `exp`, `ln`, `sin` and the like, with the same bits on every CPU and GPU.
//!
//! The standard library's functions are the platform's, whose last digits differ. These are written
//! once, in the Rust that [`#[function]`](macro@crate::function) translates, and run on both sides.
//! Within such a function, `x.exp()` *is* [`exp`]; so are the methods of the other names here.
//! Elsewhere call them by these names:
//!
//! ```
//! use warpfold::{collect, function, map, math};
//!
//! #[function]
//! fn logistic(x: f32) -> f32 {
//!     1.0 / (1.0 + (-x).exp())
//! }
//!
//! let x = [-2.0_f32, 0.0, 3.5];
//! let y = collect(map::<logistic, _>(&x))?; // here or on a GPU
//! for (x, y) in x.iter().zip(y) {
//!     assert_eq!(y.to_bits(), (1.0 / (1.0 + math::exp(-x))).to_bits());
//! }
//! // They are functions in the sense of `map`, too.
//! assert_eq!(collect(map::<math::exp2<f64>, _>(&[3.0, -1.0]))?, [8.0, 0.5]);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! # Accuracy
//!
//! - **`f32`, one argument, and [`hypot`]**: rounded correctly, to nearest, ties to even. A test
//!   compares all 2³² arguments of each function of one, if it is told to.
//! - **`f32`, [`powf`], [`powi`] and [`atan2`]**: computed in `f64` with an error below 1 ulp of
//!   `f64`, and rounded to `f32`. So the result is the nearest `f32`, unless the exact value lies
//!   within such an ulp of the middle between two.
//! - **`f64`**: the error is below 1 ulp.
//!
//! Special values are those of the standard library: `ln(-1.0)` is NaN, `powf(x, 0.0)` is 1 even
//! for NaN, `atan2(0.0, -0.0)` is π.
//!
//! # Cost
//!
//! All arithmetic is in `f64`, with fused multiply-add. [`sin`], [`cos`] and [`tan`] read a table
//! where they reduce |x| ≥ 2²⁰. Of `f32`, [`exp`], [`exp2`] and the logarithms read tables of 256
//! and 512 bytes, and compute some digits more than they need. Where those do not tell how the
//! result rounds, a call takes longer: about once in two million calls of these, and once in 30,000
//! of other functions of `f32`; and always of special arguments, such as 0 or an infinity of a
//! logarithm. Otherwise it takes a constant time, and one of [`powi`] a time that grows with log n.
//! On x86-64 a call asks whether the CPU has FMA instructions. Without them the results are the
//! same, and take much longer. `docs/math.md` has figures.
//!
//! [`atan2`]: fn@atan2
//! [`cos`]: fn@cos
//! [`exp`]: fn@exp
//! [`exp2`]: fn@exp2
//! [`hypot`]: fn@hypot
//! [`powf`]: fn@powf
//! [`powi`]: fn@powi
//! [`sin`]: fn@sin
//! [`tan`]: fn@tan

mod arc;
mod circular;
mod exponential;
mod hyperbolic;
mod logarithm;
mod parts;
mod power;
mod reduction;
mod root;
mod tables;

pub(crate) use tables::is_sure as IsSure;

use crate::Function;
use crate::definitions::Definitions;
use crate::translated::Primitive;
use std::marker::PhantomData;

/// `f32` and `f64`, on which the functions of this module are defined.
#[diagnostic::on_unimplemented(
    message = "`exp`, `ln`, `sin` and the like are not defined on `{Self}`",
    label = "neither f32 nor f64",
    note = "write `f64::from(x)` or `x as f64` first"
)]
#[allow(private_bounds, reason = "there are no other such types")]
pub trait Real: Primitive + Functions {}

impl Real for f32 {}
impl Real for f64 {}

/// Defines, for each function: the function itself, over both types; the type of its name, which
/// stands for it where translations are put together; and an associated type of [`Functions`],
/// which says what it is for `f32` and for `f64`.
macro_rules! functions {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident($($x:ident: $ty:ident),+) = $single:path, $double:path;
    )*) => {
        /// What the functions are for a type.
        #[allow(non_camel_case_types)]
        trait Functions: Sized {
            $(type $name: Function<Input = ($(of!(Self, $ty),)+), Output = Self>;)*
        }

        #[allow(non_camel_case_types)]
        impl Functions for f32 {
            $(type $name = $single;)*
        }

        #[allow(non_camel_case_types)]
        impl Functions for f64 {
            $(type $name = $double;)*
        }

        $(
            $(#[$attribute])*
            #[inline]
            #[must_use]
            pub fn $name<T: Real>($($x: of!(T, $ty)),+) -> T {
                fused::<T::$name>(($($x,)+))
            }

            #[doc = concat!("[`", stringify!($name), "()`], as a type: see [`Function`].")]
            #[allow(non_camel_case_types, missing_debug_implementations)]
            pub struct $name<T> {
                __of: PhantomData<fn() -> T>,
            }

            impl<T: Real> $name<T> {
                #[doc(hidden)]
                pub fn __call(_: PhantomData<Self>, $(_: of!(T, $ty)),+) -> T {
                    unreachable!("it tells types, and is never called")
                }
            }

            impl<T: Real> Function for $name<T> {
                type Input = ($(of!(T, $ty),)+);
                type Output = T;

                #[inline(always)]
                fn call(($($x,)+): Self::Input) -> T {
                    $name($($x),+)
                }

                fn cuda(definitions: &mut Definitions) -> String {
                    T::$name::cuda(definitions)
                }
            }
        )*
    };
}

/// The type of an argument: `T` is that of the result.
macro_rules! of {
    ($t:ty, T) => {
        $t
    };
    ($t:ty, $ty:ident) => {
        $ty
    };
}

functions! {
    /// eˣ.
    fn exp(x: T) = exponential::exp_f32, exponential::exp_f64;
    /// 2ˣ, exact where x is a whole number.
    fn exp2(x: T) = exponential::exp2_f32, exponential::exp2_f64;
    /// eˣ − 1, accurate for small x.
    fn exp_m1(x: T) = exponential::exp_m1_f32, exponential::exp_m1_f64;
    /// The natural logarithm.
    fn ln(x: T) = logarithm::ln_f32, logarithm::ln_f64;
    /// The logarithm to base 2, exact for powers of two.
    fn log2(x: T) = logarithm::log2_f32, logarithm::log2_f64;
    /// The logarithm to base 10.
    fn log10(x: T) = logarithm::log10_f32, logarithm::log10_f64;
    /// ln(1 + x), accurate for small x.
    fn ln_1p(x: T) = logarithm::ln_1p_f32, logarithm::ln_1p_f64;
    /// The sine of an angle in radians, of any size.
    fn sin(x: T) = circular::sin_f32, circular::sin_f64;
    /// The cosine of an angle in radians, of any size.
    fn cos(x: T) = circular::cos_f32, circular::cos_f64;
    /// The tangent of an angle in radians, of any size.
    fn tan(x: T) = circular::tan_f32, circular::tan_f64;
    /// The angle from −π/2 to π/2 whose sine is x. NaN if |x| > 1.
    fn asin(x: T) = arc::asin_f32, arc::asin_f64;
    /// The angle from 0 to π whose cosine is x. NaN if |x| > 1.
    fn acos(x: T) = arc::acos_f32, arc::acos_f64;
    /// The angle from −π/2 to π/2 whose tangent is x.
    fn atan(x: T) = arc::atan_f32, arc::atan_f64;
    /// The angle from −π to π of the point (x, y). It takes y first, as `y.atan2(x)` does.
    fn atan2(y: T, x: T) = arc::atan2_f32, arc::atan2_f64;
    /// The hyperbolic sine.
    fn sinh(x: T) = hyperbolic::sinh_f32, hyperbolic::sinh_f64;
    /// The hyperbolic cosine.
    fn cosh(x: T) = hyperbolic::cosh_f32, hyperbolic::cosh_f64;
    /// The hyperbolic tangent.
    fn tanh(x: T) = hyperbolic::tanh_f32, hyperbolic::tanh_f64;
    /// The cube root, also of negative numbers.
    fn cbrt(x: T) = root::cbrt_f32, root::cbrt_f64;
    /// √(x² + y²), where the squares may be out of range.
    fn hypot(x: T, y: T) = root::hypot_f32, root::hypot_f64;
    /// xʸ. Of negative x, for whole y only; NaN for others.
    fn powf(x: T, y: T) = power::powf_f32, power::powf_f64;
    /// xⁿ.
    fn powi(x: T, n: i32) = power::powi_f32, power::powi_f64;
}

/// Calls a function where fused multiply-add is an instruction, if there is one.
#[inline]
fn fused<F: Function>(input: F::Input) -> F::Output {
    #[cfg(all(target_arch = "x86_64", not(target_feature = "fma")))]
    {
        #[target_feature(enable = "fma")]
        fn with_fma<F: Function>(input: F::Input) -> F::Output {
            F::call(input)
        }
        if is_x86_feature_detected!("fma") {
            // SAFETY: the CPU has the instructions.
            return unsafe { with_fma::<F>(input) };
        }
    }
    F::call(input)
}

#[cfg(test)]
mod tests {
    use super::{Functions, fused};
    use crate::Function;

    /// Without the instruction, `mul_add` is a function of the platform, which rounds once as well.
    #[test]
    fn results_do_not_depend_on_the_instruction() {
        let words = (0..2000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let x = words.map(|word| (word >> 11) as f64 / (1_u64 << 50) as f64 - 4.0);
        fn check<F: Function<Input = (f64,), Output = f64>>(x: f64) {
            let (with, without) = (fused::<F>((x,)), F::call((x,)));
            let are_same = with.to_bits() == without.to_bits() || with.is_nan() && without.is_nan();
            assert!(are_same, "{}({x:e})", std::any::type_name::<F>());
        }
        for x in x {
            check::<<f64 as Functions>::exp>(x);
            check::<<f64 as Functions>::exp2>(x);
            check::<<f64 as Functions>::exp_m1>(x);
            check::<<f64 as Functions>::ln>(x);
            check::<<f64 as Functions>::ln_1p>(x);
            check::<<f64 as Functions>::sin>(x);
            check::<<f64 as Functions>::tan>(x * 1e18);
            check::<<f64 as Functions>::asin>(x);
            check::<<f64 as Functions>::atan>(x);
            check::<<f64 as Functions>::sinh>(x);
            check::<<f64 as Functions>::cbrt>(x);
        }
    }
}
