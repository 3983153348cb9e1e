//! Scans, reductions, sorts, selections, segment sums and sampling for
//! [candle](https://docs.rs/candle-core)'s tensors, by [`warpfold`]: on the CPU and on NVIDIA GPUs,
//! with the same bits.
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use warpfold_candle::WarpfoldExt;
//!
//! let x = Tensor::new(&[[3_u32, 1, 2], [6, 5, 4]], &Device::Cpu)?;
//! assert_eq!(x.warpfold().cumsum(1)?.to_vec2::<i64>()?, [[3, 4, 6], [6, 11, 15]]);
//! let (best, places) = x.warpfold().topk(2, 1)?;
//! assert_eq!(best.to_vec2::<u32>()?, [[3, 2], [6, 5]]);
//! assert_eq!(places.to_vec2::<u32>()?, [[0, 2], [0, 1]]);
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! [`Warpfold`] has all operations. Candle's tensors have methods of some of their names, which
//! would hide ours. So `x.cumsum(1)` is candle's, and `x.warpfold().cumsum(1)` is ours.
//!
//! # Dtypes
//!
//! `u8 u32 i16 i32 i64 bf16 f16 f32 f64`; all others are an error.
//!
//! | of | sums and products are | means and variances are | computed in |
//! |---|---|---|---|
//! | integers | `i64`, and wrap beyond it | `f64` | `i64`; `f64` |
//! | `bf16`, `f16` | of the tensor's dtype, rounded once | of the tensor's dtype | `f32`; `f64` |
//! | `f32`, `f64` | of the tensor's dtype | of the tensor's dtype | that dtype; `f64` |
//!
//! [`segment_reduce`](Warpfold::segment_reduce), [`index_add`](Warpfold::index_add) and
//! [`scatter_add`](Warpfold::scatter_add) keep the dtype of integers, too, and wrap; but means of
//! segments are as other means.
//!
//! # Layouts
//!
//! Scans and reductions read transposed, permuted and broadcast tensors, and parts of tensors,
//! without a copy where the lanes have one stride and what lies between them another. What they
//! cannot read so is copied: several narrowed dimensions, lanes along a
//! broadcast dimension, and reductions over dimensions that do not lie side by side. The other
//! operations copy whatever is not contiguous.
//!
//! # The same bits
//!
//! Each lane's result is bit for bit what [`warpfold`] gives for that lane alone, by
//! [one bracketing](warpfold#the-law). It does not depend on the device, on threads, on the layout,
//! or on other lanes. Nothing is added in the order in which threads happen to arrive, gradients of
//! these operations included. Where a gradient is not known, asking for it is an error.
//!
//! # GPUs
//!
//! With the feature `cuda` operations run on the stream of the tensor's device, in memory from it.
//! They wait for nothing, but for one number where the shape of the result needs it:
//! [`masked_select`](Warpfold::masked_select), [`nonzero`](Warpfold::nonzero),
//! [`unique_consecutive`](Warpfold::unique_consecutive), [`bincount`](Warpfold::bincount). Bins of
//! a [`histogram`](Warpfold::histogram) are sent to the device with each call. Kernels are compiled
//! when they are first used, and cached as `warpfold::cuda` says; a workspace for each thread and
//! stream is kept.
//!
//! Candle needs nvcc to build its own kernels then, and the program needs libcuda, libcudart,
//! cuBLAS and cuRAND to link and to start. Without the feature there is nothing of CUDA. Candle has
//! no kernels for `i16` and `i32` there; these operations copy and convert such tensors themselves,
//! if they have up to 8 dimensions.
//!
//! Tensors on Metal are an error. If `WARPFOLD_DEVICE` names a GPU, warpfold computes there what
//! lies in host memory, as [`warpfold::Device::for_host_data`] says; the bits are the same.

mod count;
#[cfg(feature = "cuda")]
mod cuda;
mod draw;
mod dtype;
#[cfg(any(feature = "cuda", test))]
mod functions;
mod job;
mod lacking;
mod lanes;
mod reduce;
mod sample;
mod scan;
mod scatter;
mod segments;
mod select;
mod sort;
mod steps;
#[cfg(test)]
mod steps_tests;

pub use dtype::Number;
pub use sample::Sampling;
pub use scan::Scan;
pub use segments::Fold;
pub use select::Unique;

use candle_core::Tensor;

/// Gives a tensor [warpfold's operations](Warpfold).
pub trait WarpfoldExt {
    /// The tensor's operations.
    fn warpfold(&self) -> Warpfold<'_>;
}

impl WarpfoldExt for Tensor {
    fn warpfold(&self) -> Warpfold<'_> {
        Warpfold(self)
    }
}

/// warpfold's operations on a tensor; [`WarpfoldExt::warpfold`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct Warpfold<'a>(&'a Tensor);

/// The programs in the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
