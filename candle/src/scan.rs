//! Scans: sums, products and extremes up to each place, and operators of the user's own.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, fault};
use crate::job::{Job, tracked};
use crate::lacking::contiguous;
use crate::lanes::Lanes;
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::shape::Dim;
use candle_core::{CpuStorage, Result, Tensor, WithDType};
use std::marker::PhantomData;
use warpfold::{Axis, Monoid, Prefixes, scan_axis};

/// Which prefixes a scan gives: inclusive or exclusive, from the front or from the end.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use warpfold_candle::{Scan, WarpfoldExt};
///
/// let x = Tensor::new(&[1_u32, 2, 3], &Device::Cpu)?;
/// let sums = |scan| x.warpfold().cumsum_as(scan, 0)?.to_vec1::<i64>();
/// assert_eq!(sums(Scan::inclusive())?, [1, 3, 6]);
/// assert_eq!(sums(Scan::exclusive())?, [0, 1, 3]);
/// assert_eq!(sums(Scan::inclusive().reverse())?, [6, 5, 3]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scan {
    exclusive: bool,
    reverse: bool,
}

impl Scan {
    /// Each place's prefix ends with its own number: the default.
    pub const fn inclusive() -> Scan {
        Scan {
            exclusive: false,
            reverse: false,
        }
    }

    /// Each place's prefix ends before its own number. The first is the identity.
    pub const fn exclusive() -> Scan {
        Scan {
            exclusive: true,
            reverse: false,
        }
    }

    /// From the end to the front.
    pub const fn reverse(self) -> Scan {
        Scan {
            reverse: !self.reverse,
            ..self
        }
    }

    fn prefixes<T>(self) -> Prefixes<T> {
        let prefixes = match self.exclusive {
            true => Prefixes::exclusive(),
            false => Prefixes::inclusive(),
        };
        match self.reverse {
            true => prefixes.reverse(),
            false => prefixes,
        }
    }
}

/// Scans. Complexity: O(n) work.
///
/// The result lies in memory as the input does: that of a transposed tensor is transposed, and that
/// of a broadcast one is broadcast.
impl Warpfold<'_> {
    /// The sums up to each place along a dimension: `torch.cumsum`, and candle's `cumsum`, which
    /// multiplies by a triangular matrix. Differentiable.
    ///
    /// Those of integers are `i64`, and wrap beyond it. Those of halves are added up in `f32` and
    /// rounded once each.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[[1_f32, 2.0, f32::INFINITY], [3.0, 4.0, 5.0]], &Device::Cpu)?;
    /// let sums = x.warpfold().cumsum(1)?.to_vec2::<f32>()?;
    /// assert_eq!(sums, [[1.0, 3.0, f32::INFINITY], [3.0, 7.0, 12.0]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such dimension or the dtype is not supported.
    pub fn cumsum<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.cumsum_as(Scan::inclusive(), dim)
    }

    /// The sums up to each place in the form that `scan` says. Otherwise as
    /// [`cumsum`](Warpfold::cumsum).
    ///
    /// # Errors
    ///
    /// As [`cumsum`](Warpfold::cumsum).
    pub fn cumsum_as<D: Dim>(&self, scan: Scan, dim: D) -> Result<Tensor> {
        let lanes = Lanes::of(self.0, dim, "cumsum")?;
        let at = lanes.along_view()[0];
        let backward = move |_: &Tensor, _: &Tensor, gradient: &Tensor| {
            Warpfold(gradient).cumsum_as(scan.reverse(), at)
        };
        let job = Totals {
            name: "cumsum",
            product: false,
            scan,
            axis: lanes.axis,
        };
        let shape = lanes.view.shape().clone();
        let sums = tracked(
            job,
            &lanes.view,
            lanes.extent,
            shape,
            Some(Box::new(backward)),
        )?;
        lanes.restore(&sums)
    }

    /// The products up to each place along a dimension: `torch.cumprod`. Those of integers are
    /// `i64`, and wrap beyond it. Those of halves are computed in `f32` and rounded once each. No
    /// gradient is known.
    ///
    /// # Errors
    ///
    /// As [`cumsum`](Warpfold::cumsum).
    pub fn cumprod<D: Dim>(&self, dim: D) -> Result<Tensor> {
        let lanes = Lanes::of(self.0, dim, "cumprod")?;
        let (scan, axis) = (Scan::inclusive(), lanes.axis);
        let job = Totals {
            name: "cumprod",
            product: true,
            scan,
            axis,
        };
        let shape = lanes.view.shape().clone();
        lanes.restore(&tracked(job, &lanes.view, lanes.extent, shape, None)?)
    }

    /// The greatest number up to each place along a dimension: the values of `torch.cummax`. From a
    /// NaN on, they are NaN. No gradient is known.
    ///
    /// # Errors
    ///
    /// As [`cumsum`](Warpfold::cumsum).
    pub fn cummax<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.extremes("cummax", dim, true)
    }

    /// The least number up to each place along a dimension. Otherwise as
    /// [`cummax`](Warpfold::cummax).
    ///
    /// # Errors
    ///
    /// As [`cumsum`](Warpfold::cumsum).
    pub fn cummin<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.extremes("cummin", dim, false)
    }

    fn extremes<D: Dim>(&self, name: &'static str, dim: D, greatest: bool) -> Result<Tensor> {
        let lanes = Lanes::of(self.0, dim, name)?;
        let job = Extremes {
            name,
            axis: lanes.axis,
            greatest,
        };
        let shape = lanes.view.shape().clone();
        lanes.restore(&tracked(job, &lanes.view, lanes.extent, shape, None)?)
    }

    /// The prefixes by any operator along a dimension. `T` is the type of the tensor's numbers. No
    /// gradient is known.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold::Prefixes;
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// /// The greatest common divisor.
    /// #[warpfold::monoid(name = Gcd, identity = 0, exact, commutative)]
    /// fn gcd(a: u32, b: u32) -> u32 {
    ///     let (mut a, mut b) = (a, b);
    ///     while b != 0 {
    ///         (a, b) = (b, a % b);
    ///     }
    ///     a
    /// }
    ///
    /// let x = Tensor::new(&[[12_u32, 18, 27], [8, 6, 3]], &Device::Cpu)?;
    /// let prefixes = x.warpfold().scan::<u32, Gcd, _>(Prefixes::inclusive(), 1)?;
    /// assert_eq!(prefixes.to_vec2::<u32>()?, [[12, 6, 3], [8, 2, 1]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`cumsum`](Warpfold::cumsum), and if the tensor's dtype is not that of `T`.
    pub fn scan<T, Op, D>(&self, prefixes: Prefixes<T>, dim: D) -> Result<Tensor>
    where
        T: Number,
        Op: Monoid<T>,
        D: Dim,
    {
        expect::<T>("scan", self.0)?;
        let lanes = Lanes::of(self.0, dim, "scan")?;
        let job = Own::<T, Op> {
            prefixes,
            axis: lanes.axis,
            operator: PhantomData,
        };
        let shape = lanes.view.shape().clone();
        lanes.restore(&tracked(job, &lanes.view, lanes.extent, shape, None)?)
    }

    /// The prefixes by an operator on arrays of `N` numbers, which lie along the last dimension:
    /// linear recurrences, for instance. `dim` is one of the others. Otherwise as
    /// [`scan`](Warpfold::scan). Arrays that do not lie side by side are copied first.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold::Prefixes;
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// /// `h ↦ a · h + b`, one after the other: what state space models compute.
    /// #[warpfold::monoid(name = Compose, identity = [1.0, 0.0])]
    /// fn compose(first: [f32; 2], then: [f32; 2]) -> [f32; 2] {
    ///     [first[0] * then[0], first[1] * then[0] + then[1]]
    /// }
    ///
    /// let steps = Tensor::new(&[[0.5_f32, 1.0], [0.5, 1.0], [2.0, 0.0]], &Device::Cpu)?;
    /// let states = steps.warpfold().scan_arrays::<f32, 2, Compose, _>(Prefixes::inclusive(), 0)?;
    /// assert_eq!(states.to_vec2::<f32>()?, [[0.5, 1.0], [0.25, 1.5], [0.5, 3.0]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`scan`](Warpfold::scan), and if the last dimension is not `N` long or `dim` is the last.
    pub fn scan_arrays<T, const N: usize, Op, D>(
        &self,
        prefixes: Prefixes<[T; N]>,
        dim: D,
    ) -> Result<Tensor>
    where
        T: Number,
        Op: Monoid<[T; N]>,
        D: Dim,
    {
        let (x, axis) = arrays::<T, N>("scan_arrays", self.0, dim)?;
        let job = OwnArrays::<T, N, Op> {
            prefixes,
            axis,
            operator: PhantomData,
        };
        let shape = x.shape().clone();
        tracked(job, &x, x.elem_count(), shape, None)
    }
}

/// An error unless the tensor consists of such numbers.
pub(crate) fn expect<T: WithDType>(operation: &str, x: &Tensor) -> Result<()> {
    match x.dtype() == T::DTYPE {
        true => Ok(()),
        false => Err(fault(
            operation,
            format!(
                "the operator works on {}, and the tensor of shape {:?} holds {}",
                T::DTYPE.as_str(),
                x.dims(),
                x.dtype().as_str()
            ),
        )),
    }
}

/// Sums and products.
struct Totals {
    name: &'static str,
    product: bool,
    scan: Scan,
    axis: Axis,
}

impl Job<1> for Totals {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let prefixes = self.scan.prefixes();
        let totals = match self.product {
            true => T::scan_sums::<T::Product>(prefixes, x, self.axis),
            false => T::scan_sums::<T::Plus>(prefixes, x, self.axis),
        };
        stored(self.name, totals)
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let prefixes = self.scan.prefixes();
        let totals = match self.product {
            true => T::scan_sums_on::<T::Product>(gpu, prefixes, x, self.axis)?,
            false => T::scan_sums_on::<T::Plus>(gpu, prefixes, x, self.axis)?,
        };
        Ok([gpu.store(totals)])
    }
}

/// Extremes.
struct Extremes {
    name: &'static str,
    axis: Axis,
    greatest: bool,
}

impl Job<1> for Extremes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let prefixes = Prefixes::inclusive();
        let extremes = match self.greatest {
            true => scan_axis::<T, T::Greatest>(prefixes, x, self.axis),
            false => scan_axis::<T, T::Least>(prefixes, x, self.axis),
        };
        stored(self.name, extremes)
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let prefixes = Prefixes::inclusive();
        let extremes = match self.greatest {
            true => gpu.scan::<T, T::Greatest, _>(prefixes, x, self.axis)?,
            false => gpu.scan::<T, T::Least, _>(prefixes, x, self.axis)?,
        };
        Ok([gpu.store(extremes)])
    }
}

/// An operator of the user's own.
struct Own<T, Op> {
    prefixes: Prefixes<T>,
    axis: Axis,
    operator: PhantomData<fn() -> Op>,
}

impl<O: Number, Op: Monoid<O>> Job<1> for Own<O, Op> {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let x = bytemuck::cast_slice::<T, O>(x);
        stored(self.name(), scan_axis::<O, Op>(self.prefixes, x, self.axis))
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let x = gpu.cast::<T, O>(x)?;
        let prefixes = gpu.scan::<O, Op, _>(self.prefixes, &x, self.axis)?;
        Ok([gpu.store(prefixes)])
    }
}

/// A result of warpfold as candle's storage.
pub(crate) fn stored<T: WithDType>(
    operation: &str,
    result: warpfold::Result<Vec<T>>,
) -> Result<[CpuStorage; 1]> {
    let result = result.map_err(|error| fault(operation, error))?;
    Ok([T::to_cpu_storage_owned(result)])
}

/// A tensor of arrays along its last dimension, and the axis of one of the others.
fn arrays<T: Number, const N: usize>(
    name: &'static str,
    x: &Tensor,
    dim: impl Dim,
) -> Result<(Tensor, Axis)> {
    expect::<T>(name, x)?;
    let dim = dim.to_index(x.shape(), name)?;
    let Some((&len, others)) = x
        .dims()
        .split_last()
        .filter(|(_, others)| dim < others.len())
    else {
        let shape = x.dims();
        return Err(fault(
            name,
            format!("dimension {dim} is that of the arrays; the shape is {shape:?}"),
        ));
    };
    if len != N {
        let shape = x.dims();
        return Err(fault(
            name,
            format!(
                "arrays of {N} numbers lie along the last dimension, and the shape is {shape:?}"
            ),
        ));
    }
    let axis = Axis::of(others, dim).map_err(|error| fault(name, error))?;
    Ok((contiguous(x)?, axis))
}

/// An operator of the user's own, on arrays.
struct OwnArrays<T, const N: usize, Op> {
    prefixes: Prefixes<[T; N]>,
    axis: Axis,
    operator: PhantomData<fn() -> Op>,
}

impl<O: Number, const N: usize, Op: Monoid<[O; N]>> Job<1> for OwnArrays<O, N, Op> {
    fn name(&self) -> &'static str {
        "scan_arrays"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let x = bytemuck::cast_slice::<T, [O; N]>(x);
        let prefixes = scan_axis::<[O; N], Op>(self.prefixes, x, self.axis);
        stored(self.name(), prefixes.map(bytemuck::cast_vec::<[O; N], O>))
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let x = gpu.arrays::<T, [O; N]>(x)?;
        Ok([
            gpu.store(gpu.numbers::<[O; N], O>(gpu.scan::<[O; N], Op, _>(
                self.prefixes,
                &x,
                self.axis,
            )?)),
        ])
    }
}
