//! What may be an element of an array.

use crate::codegen::Definitions;
use bytemuck::Pod;
use half::{bf16, f16};

/// The largest element, in bytes.
pub const MAX_ELEMENT_BYTES: usize = 64;

/// A type whose values can be reduced and scanned, on the host and on a GPU alike.
///
/// Implemented for `u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64`, for arrays of elements, for
/// `Complex<f32>` and `Complex<f64>` with the `complex` feature, and by `#[derive(Element)]` for
/// your own `#[repr(C)]` structs of elements:
///
/// ```
/// use warpfold::Element;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Affine {
///     slope: f32,
///     offset: f32,
/// }
/// ```
///
/// # Safety
///
/// An implementation promises that
///
/// 1. the type meets the contract of [`bytemuck::Pod`]: every bit pattern is a value, there is no
///    padding, no pointer and no interior mutability;
/// 2. its size is between 1 and [`MAX_ELEMENT_BYTES`] bytes (checked again where it is used);
/// 3. the CUDA type that [`cuda_type`](Element::cuda_type) names has the same size, the same
///    alignment and the same fields at the same offsets;
/// 4. [`widen`](Element::widen) and [`narrow`](Element::narrow) give the same bits as the CUDA
///    functions `warpfold::widen` and `warpfold::narrow` do for that type (NaN payloads aside).
///    For a type that is its own accumulator both are the identity.
///
/// The derive macro checks the first three and implements [`bytemuck::Pod`] and
/// [`bytemuck::Zeroable`] on the way.
///
/// What has padding is rejected:
///
/// ```compile_fail
/// # use warpfold::Element;
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Padded { small: u8, large: u32 } // three bytes of padding after `small`
/// ```
///
/// and so is what is larger than 64 bytes:
///
/// ```compile_fail
/// # use warpfold::Element;
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Large { values: [f64; 9] }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a warpfold element",
    label = "not an element",
    note = "elements are u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64, arrays of elements, Complex with the `complex` feature, and #[repr(C)] structs with #[derive(warpfold::Element)]"
)]
pub unsafe trait Element: Pod + Send + Sync {
    /// The type that folds are carried out in: `f32` for `f16` and `bf16`, `Self` for all others.
    /// A result is rounded to the element type once, when it is written.
    type Accumulator: Element<Accumulator = Self::Accumulator>;

    /// The element as an accumulator; exact.
    fn widen(self) -> Self::Accumulator;

    /// The accumulator rounded to an element, to nearest, ties to even.
    fn narrow(accumulator: Self::Accumulator) -> Self;

    /// Adds what the CUDA type needs to `definitions`, and returns its name.
    fn cuda_type(definitions: &mut Definitions) -> String;
}

/// For a type that is folded in itself.
#[doc(hidden)]
#[macro_export]
macro_rules! __own_accumulator {
    () => {
        type Accumulator = Self;

        #[inline(always)]
        fn widen(self) -> Self {
            self
        }

        #[inline(always)]
        fn narrow(accumulator: Self) -> Self {
            accumulator
        }
    };
}

use __own_accumulator as own_accumulator;

macro_rules! scalar_elements {
    ($($scalar:ty),*) => {$(
        // SAFETY: a primitive number is `Pod`, at most 8 bytes, laid out in CUDA as in Rust, and
        // its own accumulator.
        unsafe impl Element for $scalar {
            own_accumulator!();

            fn cuda_type(_: &mut Definitions) -> String {
                stringify!($scalar).into()
            }
        }
    )*};
}

scalar_elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

macro_rules! half_elements {
    ($($half:ty),*) => {$(
        // SAFETY: `Pod`, 2 bytes; `kernels/types.cuh` declares the same layout, widens exactly
        // and rounds to nearest even as the `half` crate does.
        unsafe impl Element for $half {
            type Accumulator = f32;

            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }

            #[inline(always)]
            fn narrow(accumulator: f32) -> Self {
                Self::from_f32(accumulator)
            }

            fn cuda_type(_: &mut Definitions) -> String {
                stringify!($half).into()
            }
        }
    )*};
}

half_elements!(f16, bf16);

#[cfg(feature = "complex")]
macro_rules! complex_elements {
    ($($part:ty),*) => {$(
        // SAFETY: `#[repr(C)]` with two parts of one type, as `warpfold::Complex` in
        // `kernels/types.cuh`, and its own accumulator.
        unsafe impl Element for num_complex::Complex<$part> {
            own_accumulator!();

            fn cuda_type(_: &mut Definitions) -> String {
                concat!("Complex<", stringify!($part), ">").into()
            }
        }
    )*};
}

#[cfg(feature = "complex")]
complex_elements!(f32, f64);

// SAFETY: an array of `Pod` is `Pod`, and `warpfold::Array` in `kernels/types.cuh` is a struct
// around the same C array. Arrays are their own accumulator: an operator over an array of halves
// works on the halves as they are stored.
unsafe impl<E: Element, const N: usize> Element for [E; N] {
    own_accumulator!();

    fn cuda_type(definitions: &mut Definitions) -> String {
        format!("Array<{}, {N}>", E::cuda_type(definitions))
    }
}

/// Fails to compile for a type that is empty or too large; every entry point evaluates it.
pub(crate) const fn assert_element_size<T: Element>() {
    assert!(
        size_of::<T>() > 0 && size_of::<T>() <= MAX_ELEMENT_BYTES,
        "an element must be 1 to 64 bytes in size"
    );
}
