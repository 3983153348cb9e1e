//! Statistics: sums, extremes and where they stand, means and variances, counts.
//!
//! Each is one [reduction](crate::reduce()) of a [source](crate::source) with a monoid. So it reads
//! its input once, takes any source, runs wherever a reduction does, and gives the same bits there.
//! On the CPU there are shorter ways to those bits: extremes are looked for among integers that
//! have the numbers' order, and moments are merged level by level of the law's tree.
//!
//! ```
//! use warpfold::{arg_max, mean, min_max, std_dev, statistics::Estimate};
//!
//! let x = [2.0_f32, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
//! assert_eq!(min_max(&x)?, Some((2.0, 9.0)));
//! assert_eq!(arg_max(&x)?, Some(7));
//! assert_eq!(mean(&x)?, 5.0);
//! assert_eq!(std_dev(&x, Estimate::Population)?, 2.0);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! | function | value | of nothing |
//! |---|---|---|
//! | [`sum`] | the sum, in 64 bits | 0 |
//! | [`min`], [`max`] | the least number, the greatest | `None` |
//! | [`min_max`] | both in one pass | `None` |
//! | [`arg_min`], [`arg_max`] | the position of the first of those | `None` |
//! | [`mean`] | the sum over the count, in `f64` | NaN |
//! | [`variance`], [`std_dev`] | of a [population or a sample](Estimate), in `f64` | NaN |
//! | [`moments()`] | all of the last two at once | no number |
//! | [`count`] | how many flags are set | 0 |
//! | [`any`], [`all`] | whether some flag is, and whether each is | `false`, `true` |
//!
//! Each segment of a source has them by [`segmented_moments`], [`segmented_min_max`],
//! [`segmented_arg_max`] and the like, and each lane of an array by [`moments_axis`],
//! [`arg_max_axis`] and the like.
//!
//! [`Device`](crate::Device) has them as methods, for buffers and sources made of them.
//!
//! **Numbers** are `u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64`. Means and variances are
//! computed in `f64`, to which all of them but the 64-bit integers convert exactly; those are
//! rounded to nearest in sums and means, and exact in variances. A sum of integers is exact as long
//! as it, and what it is made of, stays within ±2^53. Those of 8 and 16 bits are added up as
//! integers, which gives the same bits sooner.
//!
//! **NaN** follows NumPy: if there is one, minimum, maximum, mean and variance are NaN, and
//! [`arg_min`] and [`arg_max`] give the position of the first. To leave NaNs out,
//! [`select`](crate::select()) first.
//!
//! **Large and small.** The mean and the standard deviation of finite numbers are finite. Equal
//! numbers have a standard deviation of exactly 0. Numbers far from zero that differ little keep
//! their digits; so do integers of 64 bits. [`moments()`] says what that costs.
//!
//! **Streams**: a [`Reducer`](crate::Reducer) for sums and extremes, a [`MomentsReducer`] for means
//! and variances, with the bits of one call.
//!
//! Complexity: O(n) work in a bracketing O(log n) deep, and one launch on a GPU; two where
//! variances need a second pass. Memory: that of a [reduction](crate::reduce()).
//!
//! # At the third level
//!
//! [`cuda::Reduce`](crate::cuda::Reduce) has the reduction, and this module the monoids and the
//! sources: [`Merge`] with [`measured`], [`QuickMerge`] with [`quickly_measured`], [`Extremes`]
//! with [`twice`], [`First`] with [`least`] and
//! [`greatest`], and [`ops::Min`](crate::ops::Min) with [`least_packed`] and [`greatest_packed`],
//! which are faster. For sums and counts, use [`ops`](crate::ops) and [`map`](crate::map()).
//!
//! ```no_run
//! # #[cfg(feature = "cuda")] {
//! use warpfold::cuda::{Reduce, Workspace, allocate, cudarc::driver::CudaContext, download};
//! use warpfold::statistics::{Estimate, Measured, Merge, Moments, measured};
//!
//! let context = CudaContext::new(0)?;
//! let stream = context.default_stream();
//! let samples = stream.clone_htod(&vec![1.5_f32; 1 << 20])?;
//! let mut result = allocate::<Moments>(&stream, 1)?;
//!
//! let reduce = Reduce::<Moments, Merge, Measured<f32>>::load(&context)?;
//! let mut workspace = Workspace::new(&stream, reduce.workspace_bytes(samples.len()))?;
//! reduce.enqueue(&stream, measured::<f32, _>(&samples), &mut result, &mut workspace)?;
//! let moments = download(&stream, &result)?[0];
//! println!("{} ± {}", moments.mean(), moments.std_dev(Estimate::Sample));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod axis;
mod counts;
mod cpu;
mod extremes;
mod folds;
mod moments;
#[doc(hidden)]
pub mod number;
mod on;
mod quantiles;
mod segments;
mod stream;

pub(crate) use counts::{all_on, any_on, count_on};
pub(crate) use extremes::min_max_on;
pub(crate) use folds::{max_on, min_on, sum_on};
pub(crate) use moments::{mean_on, moments_on};
pub(crate) use on::On;

pub use axis::{arg_max_axis, arg_min_axis, mean_axis, moments_axis, variance_axis};
pub use counts::{all, any, count};
pub use extremes::{
    Extremes, First, Packed, Place, Ranked, Twice, arg_max, arg_min, greatest, greatest_packed,
    least, least_packed, min_max, position_of, twice,
};
pub use folds::{max, min, sum};
pub use moments::{
    Estimate, Measured, Merge, Moments, QuickMerge, QuickMoments, QuicklyMeasured, mean, measured,
    moments, quickly_measured, std_dev, variance,
};
pub use number::Number;
pub use quantiles::{Interpolation, quantiles};
pub use segments::{
    Origin, segmented_arg_max, segmented_arg_min, segmented_mean, segmented_min_max,
    segmented_moments, segmented_variance,
};
pub use stream::MomentsReducer;

#[doc(hidden)]
pub use extremes::{pack, pair, place};
#[doc(hidden)]
pub use moments::{quick_single, single};
