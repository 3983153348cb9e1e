//! What may be folded with.

use crate::Element;
use crate::codegen::Definitions;

/// An associative operator over `T`, with an identity.
///
/// A type that implements this trait *is* the operator; it is never constructed. The operators of
/// [`ops`](crate::ops) are such types, and yours can be one too. State the operation twice: as a
/// Rust function for the host, and as the body of the same function in CUDA C++.
///
/// ```
/// use warpfold::{Element, Monoid, inclusive_scan};
///
/// /// The map x ↦ slope·x + offset.
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Affine {
///     slope: f32,
///     offset: f32,
/// }
///
/// /// First `a`, then `b`: associative, but not commutative.
/// struct Then;
///
/// impl Monoid<Affine> for Then {
///     const CUDA: &'static str = "
///         return T{ a.slope * b.slope, a.offset * b.slope + b.offset };
///     ";
///
///     fn identity() -> Affine {
///         Affine { slope: 1.0, offset: 0.0 }
///     }
///
///     fn combine(a: Affine, b: Affine) -> Affine {
///         Affine { slope: a.slope * b.slope, offset: a.offset * b.slope + b.offset }
///     }
/// }
///
/// let halve_and_add_one = Affine { slope: 0.5, offset: 1.0 };
/// let maps = inclusive_scan::<Affine, Then>(&[halve_and_add_one; 3])?;
/// assert_eq!(maps[2], Affine { slope: 0.125, offset: 1.75 });
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # What an implementation promises
///
/// 1. **Associativity**: `combine(combine(a, b), c)` equals `combine(a, combine(b, c))`, or comes as
///    near as the type's arithmetic can (floats). The bracketing is always the same one (see
///    the [crate documentation](crate#the-law)), so results do not vary even where it shows.
/// 2. **Identity**: `combine(identity(), a)` and `combine(a, identity())` equal `a`. Unless the operator is
///    [`EXACT`](Monoid::EXACT) the crate does not rely on it: the identity is only *shown*, for an empty reduction and
///    as the first element of an exclusive scan.
/// 3. **One operation**: `CUDA` computes what `combine` computes, bit for bit. Kernels are compiled
///    with `--fmad=false`: `a * b + c` is rounded twice, on the device as in Rust. Write `fma(a, b,
///    c)` there and `f32::mul_add` here where one rounding is wanted.
/// 4. **Purity**: no side effects, no dependence on anything but `a` and `b`. In particular, `combine` does not wait
///    for other threads: a call into rayon or back into this crate from within it can deadlock.
///
/// Nothing unsafe follows from a broken promise; the results are then merely not those one expects.
/// Operators are called with elements of the input and results of `combine` only (exact ones with the identity, too), never with
/// padding or uninitialised values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operator on `{T}`",
    label = "no such operator",
    note = "bitwise operators exist on integers only, Min and Max on ordered numbers only; implement `Monoid<{T}>` for a type of your own to define another"
)]
pub trait Monoid<T: Element>: 'static {
    /// Whether `combine` is *exactly* associative: every bracketing of the same elements, in the same order, gives the same
    /// bits, with the identity before them or without. Says that a kernel may choose the fastest bracketing, and start from the
    /// identity. When in doubt leave it `false`; it costs little.
    const EXACT: bool = false;

    /// Whether `combine(a, b)` and `combine(b, a)` are the same bits. Says that a kernel may swap the two.
    const COMMUTATIVE: bool = false;

    /// The identity element.
    fn identity() -> T;

    /// `a ⊕ b`, where `a` stands before `b` in the array.
    fn combine(a: T::Accumulator, b: T::Accumulator) -> T::Accumulator;

    /// Adds `combine` in CUDA C++ to `definitions`, and returns the name to call it by. [`#[monoid]`](macro@crate::monoid)
    /// writes it.
    fn cuda(definitions: &mut Definitions) -> String;
}
