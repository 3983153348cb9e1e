//! The elements of arrays.

// To add a scalar: its implementation here (`# Safety` below is the contract); its name and
// constants in CUDA in `src/function.rs`; its layout in `kernels/machine/types.cuh`, with `Fold` if
// it is folded in a wider type; random values and equality in `tests/support/data.rs`; and
// `tests/support/matrix.rs`. If functions compute with it: `kernels/machine/rust.cuh`,
// `src/scalar.rs` and `src/translated.rs`; its name in `macros/src/names.rs` and
// `macros/src/translate/calls.rs`; its operators in `src/ops.rs`; random programs in
// `tests/programs/`. `cli/src/number.rs` for the command.

use crate::CudaType;
use bytemuck::Pod;
use half::{bf16, f16};

/// The largest element, in bytes.
pub const MAX_ELEMENT_BYTES: usize = 64;

/// A type whose values can be reduced and scanned, on the host and on a GPU alike.
///
/// Implemented for `u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f16 bf16 f32 f64`, for arrays of
/// elements, for `Complex<f32>` and `Complex<f64>` with the `complex` feature, and by
/// `#[derive(Element)]` for your own `#[repr(C)]` structs of elements. (On a GPU `u128` and `i128`
/// need NVRTC for Linux.)
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
/// 3. the CUDA type that [`cuda_type`](CudaType::cuda_type) names has the same size, the same
///    alignment and the same fields at the same offsets;
/// 4. [`widen`](Element::widen) and [`narrow`](Element::narrow) give the same bits as the CUDA
///    functions `warpfold::widen` and `warpfold::narrow` do for that type (NaN payloads aside).
///    For a type that is its own accumulator both are the identity.
///
/// The derive macro checks the first three, and implements [`bytemuck::Pod`] and
/// [`bytemuck::Zeroable`].
///
/// A struct with padding is rejected:
///
/// ```compile_fail
/// # use warpfold::Element;
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Padded { small: u8, large: u32 } // three bytes of padding after `small`
/// ```
///
/// So is one larger than 64 bytes:
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
    note = "elements are u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f16 bf16 f32 f64, arrays of elements, Complex with the `complex` feature, and #[repr(C)] structs with #[derive(warpfold::Element)]",
    note = "instead of `usize` take `u64`, of `isize` `i64`, whose size is the same everywhere; of `bool` `u8`, or as a source `warpfold::bools(&flags)`; of a tuple such a struct"
)]
pub unsafe trait Element: Pod + Send + Sync + CudaType {
    /// The type in which folds compute: `f32` for `f16` and `bf16`, `Self` for all others. A result
    /// is rounded to the element type once, when it is written.
    type Accumulator: Element<Accumulator = Self::Accumulator>;

    /// The element as an accumulator; exact.
    fn widen(self) -> Self::Accumulator;

    /// The accumulator rounded to an element, to nearest, ties to even.
    fn narrow(accumulator: Self::Accumulator) -> Self;
}

/// For a type that is its own accumulator.
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
        // SAFETY: a primitive number is `Pod`, at most 16 bytes, laid out in CUDA as in Rust, and
        // its own accumulator.
        unsafe impl Element for $scalar {
            own_accumulator!();
        }
    )*};
}

scalar_elements!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f32, f64);

// The conversions of the `half` crate choose an instruction at run time, in a function that is not
// inlined. A loop that calls them is not vectorised, and takes 20 times as long. These have no
// branches.

// SAFETY: `Pod`, 2 bytes; `kernels/machine/types.cuh` declares the same layout, widens exactly and
// rounds to nearest even, as these functions do; a test compares them with the `half` crate's.
unsafe impl Element for f16 {
    type Accumulator = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        let bits = u32::from(self.to_bits());
        let magnitude = bits & 0x7fff;
        // The exponent's bias differs by 112; the product is exact and makes subnormal halves
        // normal.
        let finite = (f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000)).to_bits();
        let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
        f32::from_bits((bits & 0x8000) << 16 | finite | special)
    }

    #[inline(always)]
    fn narrow(accumulator: f32) -> f16 {
        let bits = accumulator.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let odd = magnitude >> 13 & 1;
        let normal = magnitude
            .wrapping_add(0xfff + odd)
            .wrapping_sub(0x3800_0000)
            >> 13;
        // The unit in the last place of 0.5 is that of a subnormal half: the sum rounds to it.
        let subnormal = (f32::from_bits(magnitude) + 0.5)
            .to_bits()
            .wrapping_sub(0x3f00_0000);
        let rounded = if magnitude < 0x3880_0000 {
            subnormal
        } else {
            normal
        };
        let rounded = if magnitude >= 0x477f_f000 {
            0x7c00
        } else {
            rounded
        };
        let rounded = if magnitude > 0x7f80_0000 {
            0x7e00
        } else {
            rounded
        };
        f16::from_bits((bits >> 16 & 0x8000 | rounded) as u16)
    }
}

// SAFETY: as for `f16`.
unsafe impl Element for bf16 {
    type Accumulator = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn narrow(accumulator: f32) -> bf16 {
        let bits = accumulator.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        let quiet_nan = bits >> 16 | 0x40;
        let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
        bf16::from_bits(if is_nan { quiet_nan } else { rounded } as u16)
    }
}

#[cfg(feature = "complex")]
macro_rules! complex_elements {
    ($($part:ty),*) => {$(
        // SAFETY: `#[repr(C)]` with two parts of one type, as `warpfold::Complex` in
        // `kernels/machine/types.cuh`, and its own accumulator.
        unsafe impl Element for num_complex::Complex<$part> {
            own_accumulator!();
        }
    )*};
}

#[cfg(feature = "complex")]
complex_elements!(f32, f64);

// SAFETY: an array of `Pod` is `Pod`, and `warpfold::Array` in `kernels/machine/types.cuh` is a
// struct around the same C array. Arrays are their own accumulator: an operator over an array of
// halves works on the halves as they are stored.
unsafe impl<E: Element, const N: usize> Element for [E; N] {
    own_accumulator!();
}

/// Fails to compile for a type that is empty or too large; every entry point evaluates it.
pub(crate) const fn assert_element_size<T: Element>() {
    assert!(
        size_of::<T>() > 0 && size_of::<T>() <= MAX_ELEMENT_BYTES,
        "an element must be 1 to 64 bytes in size"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every half, and floats at and beside every place where rounding changes its mind, are
    /// converted as the `half` crate converts them.
    #[test]
    fn halves_are_converted_as_by_the_half_crate() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(
                half.is_nan() || half.widen().to_bits() == half.to_f32().to_bits(),
                "{bits:#x}"
            );
            assert!(
                brain.is_nan() || brain.widen().to_bits() == brain.to_f32().to_bits(),
                "{bits:#x}"
            );
            assert_eq!(
                (half.widen().is_nan(), brain.widen().is_nan()),
                (half.is_nan(), brain.is_nan())
            );
            // A coarse grid over all floats, with the ties of either format and their neighbours.
            for low in [
                0, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0xffff,
            ] {
                let value = f32::from_bits(u32::from(bits) << 16 | low);
                let (half, brain) = (
                    <f16 as Element>::narrow(value),
                    <bf16 as Element>::narrow(value),
                );
                if value.is_nan() {
                    assert!(half.is_nan() && brain.is_nan(), "{:#x}", value.to_bits());
                } else {
                    assert_eq!(
                        half.to_bits(),
                        f16::from_f32(value).to_bits(),
                        "{:#x}",
                        value.to_bits()
                    );
                    assert_eq!(
                        brain.to_bits(),
                        bf16::from_f32(value).to_bits(),
                        "{:#x}",
                        value.to_bits()
                    );
                }
            }
        }
    }
}
