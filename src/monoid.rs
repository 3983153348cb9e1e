//! Operators: what elements are folded with.

use crate::Element;
use crate::definitions::Definitions;

/// An associative operator over `T`, with an identity.
///
/// A type that implements this trait *is* the operator; no value of it is ever made. The operators
/// of [`ops`](crate::ops) are such types. For your own, put [`#[monoid]`](macro@crate::monoid)
/// before an ordinary Rust function. It makes the type, and translates the function to CUDA:
///
/// ```
/// use warpfold::{Element, inclusive_scan};
///
/// /// The map x ↦ slope·x + offset.
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Affine {
///     slope: f32,
///     offset: f32,
/// }
///
/// /// First one map, then the other: associative, but not commutative.
/// #[warpfold::monoid(identity = Affine { slope: 1.0, offset: 0.0 })]
/// fn compose(first: Affine, then: Affine) -> Affine {
///     Affine { slope: first.slope * then.slope, offset: first.offset * then.slope + then.offset }
/// }
///
/// let halve_and_add_one = Affine { slope: 0.5, offset: 1.0 };
/// let maps = inclusive_scan::<Affine, Compose>(&[halve_and_add_one; 3])?;
/// assert_eq!(maps[2], Affine { slope: 0.125, offset: 1.75 });
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # CUDA by hand
///
/// An operator can also be written in CUDA, for what no Rust function says: a special instruction,
/// `asm`. Then the operation stands twice. Only a test (`testing::assert_monoid`) shows whether
/// both are the same:
///
/// ```
/// use warpfold::{Monoid, codegen::Definitions, reduce};
///
/// /// The sum of each of the four bytes of a word.
/// struct Bytewise;
///
/// impl Monoid<u32> for Bytewise {
///     const EXACT: bool = true;
///     const COMMUTATIVE: bool = true;
///
///     fn identity() -> u32 {
///         0
///     }
///
///     fn combine(a: u32, b: u32) -> u32 {
///         ((a & 0x7f7f_7f7f) + (b & 0x7f7f_7f7f)) ^ ((a ^ b) & 0x8080_8080)
///     }
///
///     fn cuda(definitions: &mut Definitions) -> String {
///         definitions.define_function::<Self>("bytewise", |_, name| {
///             format!("__device__ u32 {name}(u32 a, u32 b) {{ return __vadd4(a, b); }}")
///         })
///     }
/// }
///
/// assert_eq!(reduce::<u32, Bytewise>(&[0x01ff_0203, 0x0101_0101])?, 0x0200_0304);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// That text calls `T` by its CUDA name ([`CudaType::cuda_type`](crate::CudaType::cuda_type)). In
/// scope are `u8 … i64`, `f32`, `f64`, CUDA's built-in functions and those of
/// `kernels/machine/rust.cuh`. The CUDA and C++ standard headers are not.
///
/// # What an implementation promises
///
/// 1. **Associativity**: `combine(combine(a, b), c)` equals `combine(a, combine(b, c))`, or comes
///    as near as the type's arithmetic can (floats). The bracketing is always the same ([the
///    law](crate#the-law)), so results do not vary even where it shows.
/// 2. **Identity**: `combine(identity(), a)` and `combine(a, identity())` equal `a`. The crate
///    relies on this only if the operator is [`EXACT`](Monoid::EXACT). Otherwise the identity is
///    only *shown*: for an empty reduction, and as the first element of an exclusive scan.
/// 3. **One operation**: `cuda` computes what `combine` computes, bit for bit. The macro sees to
///    that, also for [`exp` and the like](crate::math). Kernels are compiled with `--fmad=false`:
///    `a * b + c` is rounded twice, on the device as in Rust. `a.mul_add(b, c)` is rounded once on
///    both.
/// 4. **Purity**: no side effects, and no dependence on anything but `a` and `b`. In particular,
///    `combine` does not wait for other threads: if it calls rayon, or this crate, it can deadlock.
///
/// A broken promise leads to unexpected results, to nothing unsafe. Operators see elements of the
/// input, `init` and results of `combine`, and exact operators the identity, too. They never see
/// padding or uninitialised values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operator on `{T}`",
    label = "no such operator",
    note = "an operator of your own is the type that #[warpfold::monoid] makes of a function, named in CamelCase: of `fn gcd` it is `Gcd`; functions of the standard library are none: Min and Max are in warpfold::ops",
    note = "bitwise operators exist on integers only, Min and Max on ordered numbers only"
)]
pub trait Monoid<T: Element>: 'static {
    /// Whether `combine` is *exactly* associative: every bracketing of the same elements, in the
    /// same order, gives the same bits, with the identity before them or without. If so, a kernel
    /// may choose the fastest bracketing, and start from the identity. When in doubt leave it
    /// `false`; it costs little.
    const EXACT: bool = false;

    /// Whether `combine(a, b)` and `combine(b, a)` are the same bits. If so, a kernel may swap the
    /// two.
    const COMMUTATIVE: bool = false;

    /// The identity element.
    fn identity() -> T;

    /// `a ⊕ b`, where `a` stands before `b` in the array.
    fn combine(a: T::Accumulator, b: T::Accumulator) -> T::Accumulator;

    /// Adds `combine` in CUDA C++ to `definitions`, and returns the name to call it by.
    ///
    /// [`#[monoid]`](macro@crate::monoid) before the `impl` writes it. If the compiler reports it
    /// as missing, that attribute is missing.
    fn cuda(definitions: &mut Definitions) -> String;
}
