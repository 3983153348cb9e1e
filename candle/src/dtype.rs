//! The numbers that tensors are made of, and the one place where a dtype becomes a type.

use candle_core::{DType, Error, WithDType};
use half::{bf16, f16};
use warpfold::ops::{Add, Mul};
use warpfold::source::Comparable;
use warpfold::statistics;
use warpfold::{Axis, Binned, Candidate, Element, Monoid, Prefixes, Sortable, function, map};

/// A number that a tensor may consist of: `u8 u32 i16 i32 i64 bf16 f16 f32 f64`.
///
/// [`Warpfold::scan`](crate::Warpfold::scan) and [`Warpfold::reduce`](crate::Warpfold::reduce) take
/// operators of your own for these. The trait cannot be implemented elsewhere.
pub trait Number:
    WithDType + Element + Comparable + Sortable + Candidate<Key = Self> + statistics::Number + OnDevice
{
    /// What sums and products of such numbers are: `i64` of integers, and of floats their own type.
    type Summed: Number;

    /// As what they are put into bins: halves as `f32`, others as they are.
    #[doc(hidden)]
    type Binned: Binned + OnDevice;

    /// Adds such numbers.
    #[doc(hidden)]
    type Add: Monoid<Self>;

    /// Multiplies such numbers.
    #[doc(hidden)]
    type Times: Monoid<Self>;

    /// Adds totals.
    #[doc(hidden)]
    type Plus: Monoid<Self::Summed>;

    /// Multiplies totals.
    #[doc(hidden)]
    type Product: Monoid<Self::Summed>;

    /// The prefixes of each lane, in the type of totals.
    #[doc(hidden)]
    fn scan_sums<Op: Monoid<Self::Summed>>(
        prefixes: Prefixes<Self::Summed>,
        x: &[Self],
        axis: Axis,
    ) -> warpfold::Result<Vec<Self::Summed>>;

    /// The fold of each lane, in the type of totals.
    #[doc(hidden)]
    fn reduce_sums<Op: Monoid<Self::Summed>>(
        x: &[Self],
        axis: Axis,
    ) -> warpfold::Result<Vec<Self::Summed>>;

    /// [`scan_sums`](Number::scan_sums) on a GPU.
    #[cfg(feature = "cuda")]
    #[doc(hidden)]
    fn scan_sums_on<Op: Monoid<Self::Summed>>(
        gpu: &crate::cuda::Gpu,
        prefixes: Prefixes<Self::Summed>,
        x: &crate::cuda::View<'_, Self>,
        axis: Axis,
    ) -> candle_core::Result<crate::cuda::Slice<Self::Summed>>;

    /// [`reduce_sums`](Number::reduce_sums) on a GPU.
    #[cfg(feature = "cuda")]
    #[doc(hidden)]
    fn reduce_sums_on<Op: Monoid<Self::Summed>>(
        gpu: &crate::cuda::Gpu,
        x: &crate::cuda::View<'_, Self>,
        axis: Axis,
    ) -> candle_core::Result<crate::cuda::Slice<Self::Summed>>;
}

/// What candle and `cudarc` ask of a number on a GPU; nothing without the feature `cuda`.
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub trait OnDevice: candle_core::cuda_backend::CudaDType + crate::cuda::DeviceRepr {}

/// What candle and `cudarc` ask of a number on a GPU; nothing without the feature `cuda`.
#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
pub trait OnDevice {}

/// What steps of operations store.
#[cfg(feature = "cuda")]
pub(crate) trait Stored: Element + crate::cuda::DeviceRepr {}

#[cfg(feature = "cuda")]
impl<T: Element + crate::cuda::DeviceRepr> Stored for T {}

/// What steps of operations store.
#[cfg(not(feature = "cuda"))]
pub(crate) trait Stored: Element {}

#[cfg(not(feature = "cuda"))]
impl<T: Element> Stored for T {}

/// Numbers that add up in a wider type are read through a function, others as they are.
macro_rules! numbers {
    ($($number:ty as $binned:ty => $summed:ty $(, $widen:ident)?;)*) => {$(
        $(
            #[function]
            fn $widen(x: $number) -> $summed {
                x as $summed
            }
        )?

        impl OnDevice for $number {}

        impl Number for $number {
            type Summed = $summed;
            type Binned = $binned;
            type Add = Add;
            type Times = Mul;
            type Plus = Add;
            type Product = Mul;

            fn scan_sums<Op: Monoid<$summed>>(
                prefixes: Prefixes<$summed>,
                x: &[Self],
                axis: Axis,
            ) -> warpfold::Result<Vec<$summed>> {
                warpfold::scan_axis::<$summed, Op>(prefixes, numbers!(x $(, $widen)?), axis)
            }

            fn reduce_sums<Op: Monoid<$summed>>(
                x: &[Self],
                axis: Axis,
            ) -> warpfold::Result<Vec<$summed>> {
                warpfold::reduce_axis::<$summed, Op>(numbers!(x $(, $widen)?), axis)
            }

            #[cfg(feature = "cuda")]
            fn scan_sums_on<Op: Monoid<$summed>>(
                gpu: &crate::cuda::Gpu,
                prefixes: Prefixes<$summed>,
                x: &crate::cuda::View<'_, Self>,
                axis: Axis,
            ) -> candle_core::Result<crate::cuda::Slice<$summed>> {
                gpu.scan::<$summed, Op, _>(prefixes, numbers!(x $(, $widen)?), axis)
            }

            #[cfg(feature = "cuda")]
            fn reduce_sums_on<Op: Monoid<$summed>>(
                gpu: &crate::cuda::Gpu,
                x: &crate::cuda::View<'_, Self>,
                axis: Axis,
            ) -> candle_core::Result<crate::cuda::Slice<$summed>> {
                gpu.reduce::<$summed, Op, _>(numbers!(x $(, $widen)?), axis)
            }
        }
    )*};
    ($x:ident) => { $x };
    ($x:ident, $widen:ident) => { map::<$widen, _>($x) };
}

numbers! {
    u8 as u8 => i64, widen_u8;
    u32 as u32 => i64, widen_u32;
    i16 as i16 => i64, widen_i16;
    i32 as i32 => i64, widen_i32;
    i64 as i64 => i64;
    bf16 as f32 => bf16;
    f16 as f32 => f16;
    f32 as f32 => f32;
    f64 as f64 => f64;
}

/// The value of `$body`, in which `$number` is the type of the dtype's numbers. An error for the
/// dtypes that this crate does not know.
macro_rules! with_number {
    ($dtype:expr, $operation:expr, $number:ident => $body:expr) => {{
        use candle_core::DType;
        match $dtype {
            DType::U8 => {
                type $number = u8;
                $body
            }
            DType::U32 => {
                type $number = u32;
                $body
            }
            DType::I16 => {
                type $number = i16;
                $body
            }
            DType::I32 => {
                type $number = i32;
                $body
            }
            DType::I64 => {
                type $number = i64;
                $body
            }
            DType::BF16 => {
                type $number = half::bf16;
                $body
            }
            DType::F16 => {
                type $number = half::f16;
                $body
            }
            DType::F32 => {
                type $number = f32;
                $body
            }
            DType::F64 => {
                type $number = f64;
                $body
            }
            other => Err($crate::dtype::unsupported($operation, other)),
        }
    }};
}

pub(crate) use with_number;

/// The dtypes that there are, for messages.
const NAMES: &str = "u8, u32, i16, i32, i64, bf16, f16, f32 and f64";

pub(crate) fn unsupported(operation: &str, dtype: DType) -> Error {
    fault(
        operation,
        format!("the dtype {} is not supported; {NAMES} are", dtype.as_str()),
    )
}

/// An error of an operation of this crate.
pub(crate) fn fault(operation: &str, cause: impl std::fmt::Display) -> Error {
    Error::msg(format!("warpfold {operation}: {cause}")).bt()
}
