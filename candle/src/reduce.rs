//! Reductions along dimensions: sums, means, variances, places of extremes, and operators of the
//! user's own.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, fault};
use crate::job::{Backward, Job, plain, run, tracked};
use crate::lacking::to_dtype;
use crate::lanes::Lanes;
use crate::scan::{expect, stored};
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::shape::{Dim, Dims};
use candle_core::{CpuStorage, DType, Result, Tensor};
use std::marker::PhantomData;
use warpfold::ops::Add;
use warpfold::statistics::{
    Estimate, Merge, Moments, QuickMerge, QuickMoments, measured, quickly_measured,
};
use warpfold::{Axis, Monoid, arg_max_axis, arg_min_axis, map, reduce_axis};

/// Reductions along dimensions. Each lane gets bit for bit what warpfold gives for it alone, in the
/// order of the tensor's dimensions. Complexity: O(n) work; each number is read once.
impl Warpfold<'_> {
    /// The sums along dimensions: candle's `sum`. Differentiable.
    ///
    /// Those of integers are `i64`, and wrap beyond it. Those of halves are added up in `f32` and
    /// rounded once. Lanes without numbers give 0.
    ///
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// // Candle's own sum of these stays at 256.
    /// let ones = Tensor::ones((1000, 2), DType::BF16, &Device::Cpu)?;
    /// let sums = ones.warpfold().sum(0)?.to_dtype(DType::F32)?.to_vec1::<f32>()?;
    /// assert_eq!(sums, [1000.0, 1000.0]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such dimension, one is named twice, or the dtype is not supported.
    pub fn sum<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.sum_of(dims, false)
    }

    /// The sums along dimensions, which stay with length 1. Otherwise as [`sum`](Warpfold::sum).
    ///
    /// # Errors
    ///
    /// As [`sum`](Warpfold::sum).
    pub fn sum_keepdim<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.sum_of(dims, true)
    }

    fn sum_of<D: Dims>(&self, dims: D, keep_dims: bool) -> Result<Tensor> {
        let lanes = Lanes::of(self.0, dims, "sum")?;
        let backward = spread(&lanes, |_, _, gradient| Ok(gradient));
        let job = Sums { axis: lanes.axis };
        let sums = tracked(
            job,
            &lanes.view,
            lanes.extent,
            lanes.reduced(),
            Some(backward),
        )?;
        lanes.restore_reduced(&sums, keep_dims)
    }

    /// The means along dimensions: candle's `mean`. Differentiable.
    ///
    /// They are computed in `f64`, as [`warpfold::mean`] does, and rounded once. Those of integers
    /// are `f64`. Lanes without numbers give NaN.
    ///
    /// # Errors
    ///
    /// As [`sum`](Warpfold::sum).
    pub fn mean<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.mean_of(dims, false)
    }

    /// The means along dimensions, which stay with length 1. Otherwise as [`mean`](Warpfold::mean).
    ///
    /// # Errors
    ///
    /// As [`sum`](Warpfold::sum).
    pub fn mean_keepdim<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.mean_of(dims, true)
    }

    fn mean_of<D: Dims>(&self, dims: D, keep_dims: bool) -> Result<Tensor> {
        let lanes = Lanes::of(self.0, dims, "mean")?;
        let len = lanes.axis.lane_len() as f64;
        let backward = spread(&lanes, move |_, _, gradient| gradient / len);
        let job = Measures {
            axis: lanes.axis,
            measure: Measure::Mean,
        };
        let means = tracked(
            job,
            &lanes.view,
            lanes.extent,
            lanes.reduced(),
            Some(backward),
        )?;
        let means = to_dtype(&means, measured_as(self.0.dtype()))?;
        lanes.restore_reduced(&means, keep_dims)
    }

    /// The variances along dimensions, of a sample: candle's `var`, which divides by one less than
    /// there are numbers. Differentiable.
    ///
    /// They are computed in `f64`, as [`warpfold::variance`] does, and rounded once. Those of
    /// integers are `f64`. Lanes of fewer than two numbers give NaN.
    ///
    /// # Errors
    ///
    /// As [`sum`](Warpfold::sum).
    pub fn var<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.var_as(Estimate::Sample, dims, false)
    }

    /// The variances along dimensions, which stay with length 1. Otherwise as
    /// [`var`](Warpfold::var).
    ///
    /// # Errors
    ///
    /// As [`sum`](Warpfold::sum).
    pub fn var_keepdim<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.var_as(Estimate::Sample, dims, true)
    }

    /// The variances of a sample or a population, with or without the dimensions. Otherwise as
    /// [`var`](Warpfold::var).
    ///
    /// # Errors
    ///
    /// As [`sum`](Warpfold::sum).
    pub fn var_as<D: Dims>(&self, estimate: Estimate, dims: D, keep_dims: bool) -> Result<Tensor> {
        let lanes = Lanes::of(self.0, dims, "var")?;
        let len = lanes.axis.lane_len() as f64;
        let divisor = len - f64::from(estimate.ddof());
        let along = lanes.along_view();
        let backward = spread(&lanes, move |x, _, gradient| {
            let mean = Warpfold(x).mean_keepdim(along.clone())?;
            let deviations = x.broadcast_sub(&mean)?;
            gradient.broadcast_mul(&(deviations * (2.0 / divisor))?)
        });
        let job = Measures {
            axis: lanes.axis,
            measure: Measure::Variance(estimate),
        };
        let variances = tracked(
            job,
            &lanes.view,
            lanes.extent,
            lanes.reduced(),
            Some(backward),
        )?;
        let variances = to_dtype(&variances, measured_as(self.0.dtype()))?;
        lanes.restore_reduced(&variances, keep_dims)
    }

    /// Where the greatest number of each lane stands along a dimension, the first of equal ones, as
    /// `u32`: candle's `argmax`. A NaN counts as the greatest.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[[1_f32, 5.0, 5.0], [2.0, f32::NAN, 9.0]], &Device::Cpu)?;
    /// assert_eq!(x.warpfold().argmax(1)?.to_vec1::<u32>()?, [1, 1]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such dimension, it has no numbers or more than 2^32, or the dtype is not
    /// supported.
    pub fn argmax<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.places("argmax", dim, true, false)
    }

    /// The places along a dimension, which stays with length 1. Otherwise as
    /// [`argmax`](Warpfold::argmax).
    ///
    /// # Errors
    ///
    /// As [`argmax`](Warpfold::argmax).
    pub fn argmax_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.places("argmax", dim, true, true)
    }

    /// Where the least number of each lane stands. A NaN counts as the least. Otherwise as
    /// [`argmax`](Warpfold::argmax).
    ///
    /// # Errors
    ///
    /// As [`argmax`](Warpfold::argmax).
    pub fn argmin<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.places("argmin", dim, false, false)
    }

    /// The places along a dimension, which stays with length 1. Otherwise as
    /// [`argmin`](Warpfold::argmin).
    ///
    /// # Errors
    ///
    /// As [`argmax`](Warpfold::argmax).
    pub fn argmin_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.places("argmin", dim, false, true)
    }

    fn places<D: Dim>(
        &self,
        name: &'static str,
        dim: D,
        greatest: bool,
        keep_dims: bool,
    ) -> Result<Tensor> {
        let lanes = Lanes::of(self.0, dim, name)?;
        let len = lanes.axis.lane_len();
        check_places(name, len, self.0)?;
        if len == 0 && lanes.axis.lanes() > 0 {
            let shape = self.0.dims();
            return Err(fault(
                name,
                format!("the dimension has no numbers; the shape is {shape:?}"),
            ));
        }
        let job = Places {
            name,
            axis: lanes.axis,
            strides: lanes.strides,
            greatest,
        };
        let [places] = run(&job, &lanes.view, lanes.extent)?;
        lanes.restore_reduced(&plain(places, lanes.reduced()), keep_dims)
    }

    /// The folds by any operator along dimensions. `T` is the type of the tensor's numbers. Lanes
    /// without numbers give the identity. No gradient is known.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold::ops::BitXor;
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[[1_u8, 2, 4], [3, 3, 8]], &Device::Cpu)?;
    /// assert_eq!(x.warpfold().reduce::<u8, BitXor, _>(1)?.to_vec1::<u8>()?, [7, 8]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`sum`](Warpfold::sum), and if the tensor's dtype is not that of `T`.
    pub fn reduce<T, Op, D>(&self, dims: D) -> Result<Tensor>
    where
        T: Number,
        Op: Monoid<T>,
        D: Dims,
    {
        expect::<T>("reduce", self.0)?;
        let lanes = Lanes::of(self.0, dims, "reduce")?;
        let job = Own::<T, Op> {
            axis: lanes.axis,
            operator: PhantomData,
        };
        let folds = tracked(job, &lanes.view, lanes.extent, lanes.reduced(), None)?;
        lanes.restore_reduced(&folds, false)
    }
}

/// An error unless places along a dimension fit `u32`.
pub(crate) fn check_places(name: &str, len: usize, x: &Tensor) -> Result<()> {
    match len as u64 > 1 << 32 {
        true => Err(fault(
            name,
            format!(
                "places among {len} numbers do not fit u32; the shape is {:?}",
                x.dims()
            ),
        )),
        false => Ok(()),
    }
}

/// The gradient of a reduction: `weigh`, of the input, the result and the gradient with a dimension
/// of length 1 for each that was reduced, broadcast to the input.
fn spread<F>(lanes: &Lanes, weigh: F) -> Backward
where
    F: Fn(&Tensor, &Tensor, Tensor) -> Result<Tensor> + Send + Sync + 'static,
{
    let mut kept = lanes.view.dims().to_vec();
    for at in lanes.along_view() {
        kept[at] = 1;
    }
    Box::new(move |x, result, gradient| {
        let gradient = gradient.reshape(kept.clone())?.to_dtype(x.dtype())?;
        weigh(x, result, gradient)?
            .broadcast_as(x.shape())?
            .contiguous()
    })
}

struct Sums {
    axis: Axis,
}

impl Job<1> for Sums {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        stored(self.name(), T::reduce_sums::<T::Plus>(x, self.axis))
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        Ok([gpu.store(T::reduce_sums_on::<T::Plus>(gpu, x, self.axis)?)])
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Measure {
    Mean,
    Variance(Estimate),
}

impl Measure {
    fn of(self, moments: &Moments) -> f64 {
        match self {
            Measure::Mean => moments.mean(),
            Measure::Variance(estimate) => moments.variance(estimate),
        }
    }
}

/// Whether means and variances of a dtype are `f64`. Others are `f32`, of which halves are made.
pub(crate) fn in_f64(dtype: DType) -> bool {
    dtype.is_int() || dtype == DType::F64
}

/// The dtype of the means and variances of a dtype.
pub(crate) fn measured_as(dtype: DType) -> DType {
    match dtype.is_int() {
        true => DType::F64,
        false => dtype,
    }
}

/// Means and variances.
struct Measures {
    axis: Axis,
    measure: Measure,
}

impl Measures {
    fn measure<T: Number>(&self, x: &[T]) -> warpfold::Result<Vec<f64>> {
        let (axis, len) = (self.axis, self.axis.lane_len() as f64);
        if let Measure::Mean = self.measure {
            let sums = reduce_axis::<f64, Add>(map::<T::AsF64, _>(x), axis)?;
            // Only sums of `f64` can overflow.
            if T::DTYPE != DType::F64 || sums.iter().all(|sum| sum.is_finite()) {
                return Ok(sums.into_iter().map(|sum| sum / len).collect());
            }
        }
        let quick = quickly_measured::<T, _>(x);
        let quick: Vec<QuickMoments> = reduce_axis::<QuickMoments, QuickMerge>(quick, axis)?;
        let trusted: Option<Vec<Moments>> = quick.iter().map(QuickMoments::trusted).collect();
        let moments = match trusted {
            Some(moments) => moments,
            None => {
                let careful = reduce_axis::<Moments, Merge>(measured::<T, _>(x), axis)?;
                let both = quick.iter().zip(careful);
                both.map(|(quick, careful)| quick.trusted().unwrap_or(careful))
                    .collect()
            }
        };
        Ok(moments
            .iter()
            .map(|moments| self.measure.of(moments))
            .collect())
    }
}

impl Job<1> for Measures {
    fn name(&self) -> &'static str {
        match self.measure {
            Measure::Mean => "mean",
            Measure::Variance(_) => "var",
        }
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let measures = self
            .measure::<T>(x)
            .map_err(|error| fault(self.name(), error))?;
        Ok([match in_f64(T::DTYPE) {
            true => CpuStorage::F64(measures),
            false => CpuStorage::F32(measures.into_iter().map(|x| x as f32).collect()),
        }])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.measures(x, self.axis, self.measure)
    }
}

struct Places {
    name: &'static str,
    axis: Axis,
    /// How far the numbers of two outer places lie apart, and two along the lanes.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code))]
    strides: (usize, usize),
    greatest: bool,
}

impl Job<1> for Places {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let places = match self.greatest {
            true => arg_max_axis(x, self.axis),
            false => arg_min_axis(x, self.axis),
        };
        stored(self.name, places.map(|places| narrow(&places)))
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let (outer, stride) = self.strides;
        // With one outer place, a position says the place along the axis whatever comes after it.
        let outer = if outer == 0 { u64::MAX } else { outer as u64 };
        gpu.places(x, (self.axis, [outer, stride.max(1) as u64]), self.greatest)
    }
}

/// Places that were found to fit.
pub(crate) fn narrow(places: &[u64]) -> Vec<u32> {
    places.iter().map(|&place| place as u32).collect()
}

/// An operator of the user's own.
struct Own<T, Op> {
    axis: Axis,
    operator: PhantomData<fn() -> (T, Op)>,
}

impl<O: Number, Op: Monoid<O>> Job<1> for Own<O, Op> {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let x = bytemuck::cast_slice::<T, O>(x);
        stored(self.name(), reduce_axis::<O, Op>(x, self.axis))
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let x = gpu.cast::<T, O>(x)?;
        Ok([gpu.store(gpu.reduce::<O, Op, _>(&x, self.axis)?)])
    }
}
