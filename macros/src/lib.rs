//! The macros of the `warpfold` crate; use them from there.

mod element;
mod function;
mod groups;
mod math;
mod monoid;
mod names;
mod translate;

use proc_macro::TokenStream;

/// Implements `warpfold::Element` for a `#[repr(C)]` struct of elements.
///
/// The struct must derive `Clone` and `Copy`. It has at least one field, at most 64 bytes, no
/// padding and no type parameters. Its fields are elements themselves. The macro also implements
/// `bytemuck::Pod` and `bytemuck::Zeroable`; a struct that has them already says `#[element(pod)]`.
#[proc_macro_derive(Element, attributes(element))]
pub fn derive_element(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    element::derive(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes an operator from an ordinary Rust function: one function, for the host and for GPUs.
///
/// ```
/// use warpfold::{Element, scan};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Affine { a: f32, b: f32 }
///
/// #[warpfold::monoid(identity = Affine { a: 1.0, b: 0.0 })]
/// fn compose(first: Affine, then: Affine) -> Affine {
///     Affine { a: first.a * then.a, b: then.a * first.b + then.b }
/// }
///
/// let steps = [Affine { a: 0.5, b: 1.0 }; 3];
/// let states = scan::<Affine, Compose>(&steps)?;
/// assert_eq!(states[2], Affine { a: 0.25, b: 1.5 });
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// The function stays as it is and can be called. The macro adds a type, named for it in
/// `CamelCase`, which implements `warpfold::Monoid`. [`function`](macro@function) lists what the
/// function may contain.
///
/// # Arguments
///
/// - `identity = VALUE`: the value that changes nothing that it is combined with. Required.
/// - `exact`, or `exact = CONDITION`: the operator is associative to the last bit
///   (`Monoid::EXACT`).
/// - `commutative`, or `commutative = CONDITION`: `f(a, b)` and `f(b, a)` are the same bits
///   (`Monoid::COMMUTATIVE`).
/// - `name = Operator`: the type's name, instead of the function's.
///
/// # Several types
///
/// A generic function gives one type that is an operator on all of them. Examples are `fn
/// farthest<T: Scalar>(a: T, b: T) -> T` and `fn sums<const N: usize>(a: [f32; N], b: [f32; N]) ->
/// [f32; N]`.
///
/// If the function differs from type to type, or elements are folded in a wider type (`f16` in
/// `f32`), implement the trait for a type of yours, and put the macro before the implementation. It
/// adds the CUDA code:
///
/// ```
/// use warpfold::Monoid;
///
/// struct Sum;
///
/// #[warpfold::monoid]
/// impl Monoid<u32> for Sum {
///     const EXACT: bool = true;
///     const COMMUTATIVE: bool = true;
///     fn identity() -> u32 { 0 }
///     fn combine(a: u32, b: u32) -> u32 { a.wrapping_add(b) }
/// }
/// ```
#[proc_macro_attribute]
pub fn monoid(arguments: TokenStream, item: TokenStream) -> TokenStream {
    monoid::expand(arguments.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes an ordinary Rust function run on GPUs too. Operators ([`monoid`](macro@monoid)) and other
/// such functions can call it. Its name, as a type, implements `warpfold::Function`.
///
/// ```
/// #[warpfold::function]
/// fn positive(x: f32) -> bool {
///     x > 0.0
/// }
/// assert!(positive(1.0));
/// ```
///
/// # What a function may contain
///
/// - **Types**: `u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f32 f64 bool`, `usize` and `isize` (64
///   bits on a GPU), structs that derive `Element`, tuples of up to six parts and arrays of all
///   these. NVRTC has integers of 128 bits on Linux only. Halves are stored only: operators get
///   them as `f32`. No references, no text, no `Option`, nothing allocated.
/// - **Statements**: `let` with or without `mut` and type, of names, tuples and structs;
///   assignments to variables, fields, elements of arrays and tuples of these; `if`, `match`, `for
///   i in a..b` (`..=`, `.rev()`), `while`, `break`, `continue`, `return`; `const` and `use`.
/// - **Expressions**: arithmetic, comparisons, logic, bit operations and shifts of numbers; `as`;
///   struct and tuple literals, `..base`; `[a, b]`, `[x; N]`, `a[i]`; blocks, `if` and `match` as
///   values; any path to a constant, such as `f32::MAX`, `std::f32::consts::PI` or `T::ZERO`.
/// - **Patterns** of `match`: numbers, ranges, constants in capitals that are numbers, `true`,
///   `false`, names in lower case, `_`, `x @ …`, `|`, tuples and structs of these, with guards.
/// - **Calls** of other functions with this attribute or [`monoid`](macro@monoid), by any path, and
///   of `warpfold::ops::{minimum, maximum}`. No recursion. (If Rust says that it cannot find a
///   module or type of a function's name, give that function the attribute.)
/// - **Methods of numbers**, also as `f32::max(a, b)`; and `T::from(x)`, `f32::from_bits(x)`:
///   - integers and floats: `min max clamp abs signum rem_euclid div_euclid`
///   - integers: `wrapping_` and `saturating_` `add sub mul`, `wrapping_` `div rem neg abs shl shr
///     pow`, `abs_diff unsigned_abs pow div_ceil count_ones count_zeros leading_zeros
///     trailing_zeros leading_ones trailing_ones rotate_left rotate_right swap_bytes reverse_bits
///     is_power_of_two is_positive is_negative`
///   - floats: `sqrt mul_add floor ceil round round_ties_even trunc fract recip copysign to_bits
///     is_nan is_finite is_infinite is_normal is_sign_negative is_sign_positive`
///   - floats, as `warpfold::math` has them: `exp exp2 exp_m1 ln log2 log10 ln_1p powi powf cbrt
///     hypot sin cos tan asin acos atan atan2 sinh cosh tanh`
///
/// Conditional compilation (`cfg`) stands before the attribute, for the whole function.
///
/// Everything else is an error at its place, which says what to write instead. Rust infers the
/// types, for the host and for the GPU.
///
/// Functions are inlined, on both sides. `#[inline(never)]` makes calls of one:
/// for long code that rarely runs.
///
/// # The same bits
///
/// A function gives the same bits on the host and on a GPU. `u8` does not become `int`, casts
/// saturate, and shifts are masked. A product and a sum are rounded twice unless you write
/// `mul_add`. `exp`, `ln` and the others of the last list above are those of `warpfold::math` on
/// both sides, not the standard library's, whose last digits depend on the platform. `min` and
/// `max` of floats are IEEE 754-2019's `minimumNumber` and `maximumNumber` on both sides: if one is
/// a NaN, quiet or signalling, the other; −0 is less than +0. The standard library's differ there
/// from platform to platform. The exceptions:
///
/// - The sign and payload of a NaN that was computed.
/// - Where Rust panics, a GPU cannot. Overflow wraps there and shifts are masked, as in Rust's
///   release builds. Division of integers by zero gives 0, and so does the remainder; `MIN / -1`
///   gives `MIN`. An index beyond the end means the last element.
///
/// # How it works
///
/// A macro does not know types. Rust infers them for a copy of the function's body that is never
/// called, and completes the CUDA text with them when a kernel is first needed. So compile errors
/// in the body may be reported for both copies.
#[proc_macro_attribute]
pub fn function(arguments: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(arguments.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
