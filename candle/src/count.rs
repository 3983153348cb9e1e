//! Counts: of numbers, of what falls between edges, and searches in sorted numbers.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, fault};
use crate::job::{Job, on_cpu, plain, run, same_device};
use crate::lacking::{contiguous, empty, to_dtype, to_i64};
use crate::scan::stored;
use crate::select::signed;
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::{CpuStorage, DType, Result, Tensor};
use warpfold::{Binned, Bins, Integer, Order, lower_bound, reduce, upper_bound};

/// Counts and searches. Their results are `i64`.
impl Warpfold<'_> {
    /// How often each number from 0 on occurs: `torch.bincount`. The result has as many counts as
    /// the greatest number says, and `at_least` so many. On a GPU the greatest number comes to the
    /// host; [`bincount_padded`](Warpfold::bincount_padded) has no need of it.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[3_u32, 1, 3], &Device::Cpu)?;
    /// assert_eq!(x.warpfold().bincount(0)?.to_vec1::<i64>()?, [0, 1, 0, 2]);
    /// assert_eq!(x.warpfold().bincount(6)?.to_vec1::<i64>()?, [0, 1, 0, 2, 0, 0]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the dtype is not one of integers, a number is negative, or there are more than 2^24
    /// counts.
    pub fn bincount(&self, at_least: usize) -> Result<Tensor> {
        const NAME: &str = "bincount";
        let x = integers(NAME, self.0)?;
        if x.elem_count() == 0 && at_least > 0 {
            return Tensor::zeros(at_least, DType::I64, x.device());
        }
        if x.elem_count() == 0 {
            return empty(&x, DType::I64, 0);
        }
        let x = x.flatten_all()?;
        let ends = [extreme(&x, false)?, extreme(&x, true)?];
        let ends = Tensor::stack(&[to_i64(&ends[0])?, to_i64(&ends[1])?], 0)?.to_vec1::<i64>()?;
        if ends[0] < 0 {
            return Err(fault(NAME, format!("{} is negative", ends[0])));
        }
        let bins = (ends[1] as u64).saturating_add(1).max(at_least as u64);
        counts(&x, usize::try_from(bins).unwrap_or(usize::MAX))
    }

    /// How often each number from 0 to below `len` occurs. Others are not counted. Nothing comes to
    /// the host.
    ///
    /// # Errors
    ///
    /// If the dtype is not one of integers, or `len` is more than 2^24.
    pub fn bincount_padded(&self, len: usize) -> Result<Tensor> {
        counts(&integers("bincount", self.0)?, len)
    }

    /// How many numbers fall into each of `bins` bins of one width from `lo` to `hi`:
    /// `numpy.histogram` with a range, to the last count. The last bin includes `hi`. Numbers
    /// outside, and NaN, are not counted.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[0.1_f32, 0.4, 0.5, 1.0, 7.0], &Device::Cpu)?;
    /// assert_eq!(x.warpfold().histogram(2, 0.0, 1.0)?.to_vec1::<i64>()?, [2, 2]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `lo` is not below `hi`, there are no bins or more than 2^24, or the dtype is not
    /// supported.
    pub fn histogram(&self, bins: usize, lo: f64, hi: f64) -> Result<Tensor> {
        let rule = Rule::Even(lo, hi, bins);
        histogram(rule, self.0, bins)
    }

    /// How many numbers fall between neighbouring edges: `numpy.histogram`. The last bin includes
    /// its end. Otherwise as [`histogram`](Warpfold::histogram).
    ///
    /// # Errors
    ///
    /// If there are fewer than two edges, one is not above the one before it, or the dtype is not
    /// supported.
    pub fn histogram_between(&self, edges: &[f64]) -> Result<Tensor> {
        let rule = Rule::Edges(edges.to_vec());
        histogram(rule, self.0, edges.len().saturating_sub(1))
    }

    /// For each of `needles`, how many of these sorted numbers come before it: with `right` those
    /// that are equal, too. `torch.searchsorted`. NaN is the greatest number.
    ///
    /// One row of sorted numbers serves needles of any shape. Of several rows each serves its own:
    /// then the needles have the same dimensions but for the last one.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let sorted = Tensor::new(&[1_f32, 3.0, 3.0, 7.0], &Device::Cpu)?;
    /// let needles = Tensor::new(&[[3_f32, 0.0], [9.0, 5.0]], &Device::Cpu)?;
    /// let before = sorted.warpfold().searchsorted(&needles, false)?;
    /// assert_eq!(before.to_vec2::<i64>()?, [[1, 0], [4, 3]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// What is not sorted gives unspecified places. Of several rows, each takes a launch on a GPU.
    ///
    /// # Errors
    ///
    /// If the shapes do not fit, or dtypes or devices differ.
    pub fn searchsorted(&self, needles: &Tensor, right: bool) -> Result<Tensor> {
        const NAME: &str = "searchsorted";
        same_device(NAME, self.0, needles)?;
        let (sorted, of) = (self.0.dims(), needles.dims());
        let fits = match sorted.len() {
            0 => false,
            1 => true,
            rank => of.len() == rank && sorted[..rank - 1] == of[..rank - 1],
        };
        if !fits || self.0.dtype() != needles.dtype() {
            let dtypes = (self.0.dtype().as_str(), needles.dtype().as_str());
            return Err(fault(
                NAME,
                format!(
                    "needles of {} and shape {of:?} do not fit sorted numbers of {} and shape {sorted:?}",
                    dtypes.1, dtypes.0
                ),
            ));
        }
        let rows = sorted[..sorted.len() - 1].iter().product();
        let (sorted, needles) = (contiguous(self.0)?, contiguous(needles)?);
        let job = Search {
            needles: needles.clone(),
            right,
            rows,
        };
        let [places] = run(&job, &sorted, sorted.elem_count())?;
        Ok(plain(places, needles.shape()))
    }
}

fn integers(name: &str, x: &Tensor) -> Result<Tensor> {
    match x.dtype().is_int() {
        true => contiguous(x),
        false => Err(fault(
            name,
            format!(
                "numbers of {} are not counted; give integers",
                x.dtype().as_str()
            ),
        )),
    }
}

/// The greatest or the least of some integers.
fn extreme(x: &Tensor, greatest: bool) -> Result<Tensor> {
    let [extreme] = run(&Extreme { greatest }, x, x.elem_count())?;
    Ok(plain(extreme, ()))
}

struct Extreme {
    greatest: bool,
}

impl Job<1> for Extreme {
    fn name(&self) -> &'static str {
        "bincount"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let extreme = match self.greatest {
            true => reduce::<T, T::Greatest>(x),
            false => reduce::<T, T::Least>(x),
        };
        stored(self.name(), extreme.map(|extreme| vec![extreme]))
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let all = gpu.all(x.len())?;
        Ok([match self.greatest {
            true => gpu.store(gpu.reduce::<T, T::Greatest, _>(x, all)?),
            false => gpu.store(gpu.reduce::<T, T::Least, _>(x, all)?),
        }])
    }
}

fn counts(x: &Tensor, bins: usize) -> Result<Tensor> {
    if bins == 0 {
        return empty(x, DType::I64, 0);
    }
    let x = match x.dtype() {
        DType::U8 | DType::U32 => x.clone(),
        _ => to_i64(x)?,
    };
    let [counts] = run(&Values { bins }, &x, x.elem_count())?;
    Ok(plain(counts, bins))
}

/// Halves are counted as `f32`, to which they convert exactly.
fn histogram(rule: Rule, x: &Tensor, bins: usize) -> Result<Tensor> {
    let x = match x.dtype() {
        DType::BF16 | DType::F16 => to_dtype(x, DType::F32)?,
        _ => x.clone(),
    };
    let x = contiguous(&x)?;
    let job = Counts { rule };
    let [counts] = run(&job, &x, x.elem_count())?;
    Ok(plain(counts, bins))
}

/// Between which edges numbers are counted.
enum Rule {
    Even(f64, f64, usize),
    Edges(Vec<f64>),
}

impl Rule {
    fn bins<T: Binned>(&self) -> warpfold::Result<Bins<T>> {
        match self {
            Rule::Even(lo, hi, count) => Bins::even(*lo, *hi, *count),
            Rule::Edges(edges) => Bins::with_edges(edges),
        }
    }
}

/// How often each number below `bins` occurs, of `u8`, `u32` or `i64`.
struct Values {
    bins: usize,
}

impl Values {
    fn counts<T: Number, I: Integer>(&self, x: &[T]) -> warpfold::Result<Vec<u64>> {
        let bins = Bins::<I>::values(self.bins)?;
        warpfold::histogram::<u64, _>(bytemuck::cast_slice::<T, I>(x), &bins)
    }
}

impl Job<1> for Values {
    fn name(&self) -> &'static str {
        "bincount"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let counts = match T::DTYPE {
            DType::U8 => self.counts::<T, u8>(x),
            DType::U32 => self.counts::<T, u32>(x),
            _ => self.counts::<T, i64>(x),
        };
        Ok([signed(counts.map_err(|error| fault(self.name(), error))?)])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        match T::DTYPE {
            DType::U8 => gpu.values::<u8>(&gpu.cast::<T, u8>(x)?, self.bins),
            DType::U32 => gpu.values::<u32>(&gpu.cast::<T, u32>(x)?, self.bins),
            _ => gpu.values::<i64>(&gpu.cast::<T, i64>(x)?, self.bins),
        }
    }
}

/// Counts between edges.
struct Counts {
    rule: Rule,
}

impl Job<1> for Counts {
    fn name(&self) -> &'static str {
        "histogram"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        // Halves come as `f32`. All others are their own.
        let x = bytemuck::cast_slice::<T, T::Binned>(x);
        let counts = self.rule.bins::<T::Binned>();
        let counts = counts.and_then(|bins| warpfold::histogram::<u64, _>(x, &bins));
        Ok([signed(counts.map_err(|error| fault(self.name(), error))?)])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let bins = self
            .rule
            .bins::<T::Binned>()
            .map_err(|error| fault(self.name(), error))?;
        gpu.histogram(&gpu.cast::<T, T::Binned>(x)?, &bins)
    }
}

struct Search {
    needles: Tensor,
    right: bool,
    /// How many rows the sorted numbers and the needles have.
    rows: usize,
}

impl Job<1> for Search {
    fn name(&self) -> &'static str {
        "searchsorted"
    }

    fn cpu<T: Number>(&self, sorted: &[T]) -> Result<[CpuStorage; 1]> {
        let (storage, layout) = self.needles.storage_and_layout();
        let needles = on_cpu::<T>(self.name(), &storage, layout)?;
        let mut all = Vec::with_capacity(needles.len());
        let (each, of_each) = (
            sorted.len() / self.rows.max(1),
            needles.len() / self.rows.max(1),
        );
        for row in 0..self.rows {
            let sorted = &sorted[row * each..(row + 1) * each];
            let needles = &needles[row * of_each..(row + 1) * of_each];
            let places = match self.right {
                true => upper_bound(sorted, needles, Order::ascending()),
                false => lower_bound(sorted, needles, Order::ascending()),
            };
            all.extend(places.map_err(|error| fault(self.name(), error))?);
        }
        Ok([signed(all)])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, sorted: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.search(sorted, &self.needles, self.right, self.rows)
    }
}
