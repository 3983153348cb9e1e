//! Folds of segments of rows.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, fault};
use crate::job::{Backward, Job, on_cpu, plain, run, tracked};
use crate::lacking::{contiguous, to_dtype};
use crate::reduce::{in_f64, measured_as};
use crate::scatter::numbers;
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::{CpuStorage, DType, Result, Shape, Tensor};
use warpfold::ops::Add;
use warpfold::source::Source;
use warpfold::{
    Element, Monoid, Offset, Offsets, map, segmented_reduce, segmented_reduce_from,
    segmented_reduce_vectors, segmented_reduce_vectors_from,
};

/// What a segment is folded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fold {
    /// The sum; of an empty segment 0.
    Sum,
    /// The mean: the sum in `f64`, divided by the number of rows, and rounded once. Of integers it
    /// is `f64`. Of an empty segment it is NaN.
    Mean,
    /// The product; of an empty segment 1.
    Prod,
    /// The greatest number; of an empty segment the least that there is. NaN if one is.
    Max,
    /// The least number; of an empty segment the greatest that there is. NaN if one is.
    Min,
}

/// Folds of segments. They are folded in the order of the tensor, by warpfold's bracketing: with
/// the same bits every time, on every device.
impl Warpfold<'_> {
    /// Folds each segment of rows: row `s` of the result is that of the rows `offsets[s]` to
    /// `offsets[s + 1]` along the first dimension, column by column. `torch.segment_reduce` with
    /// offsets. Sums, means and products are differentiable.
    ///
    /// `offsets` has one number more than there are segments, of dtype `u32` or `i64`. They must
    /// not fall. On a GPU that is not checked: the results of offsets that fall are unspecified,
    /// and offsets beyond the end count as the end.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::{Fold, WarpfoldExt};
    ///
    /// let x = Tensor::new(&[[1_f32, 10.0], [2.0, 20.0], [4.0, 40.0]], &Device::Cpu)?;
    /// let offsets = Tensor::new(&[0_u32, 2, 2, 3], &Device::Cpu)?;
    /// let sums = x.warpfold().segment_reduce(&offsets, Fold::Sum)?;
    /// assert_eq!(sums.to_vec2::<f32>()?, [[3.0, 30.0], [0.0, 0.0], [4.0, 40.0]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// Integers are folded in their own dtype, and wrap; but means of them are `f64`.
    ///
    /// The gradient of a product divides it by each of its numbers, as PyTorch's does: where the
    /// product overflows, it is infinite. Zeros are no trouble.
    ///
    /// # Errors
    ///
    /// If the tensor has no dimension, `offsets` is not one row of a supported dtype on the
    /// tensor's device, or, on the CPU, if offsets fall or pass the last row.
    pub fn segment_reduce(&self, offsets: &Tensor, fold: Fold) -> Result<Tensor> {
        const NAME: &str = "segment_reduce";
        let rows = Vectors::of(NAME, self.0)?;
        let offsets = numbers(NAME, "offsets", self.0, offsets)?;
        let Some(count) = offsets.elem_count().checked_sub(1) else {
            return Err(fault(
                NAME,
                "there are no offsets; for no segments give one",
            ));
        };
        let shape = rows.shape(count);
        let job = Segments {
            offsets: offsets.clone(),
            count,
            inner: rows.inner,
            fold,
        };
        let backward: Option<Backward> = match fold {
            Fold::Sum => Some(Box::new(move |x, _, gradient| {
                spread(&offsets, x, gradient)
            })),
            Fold::Mean => Some(Box::new(move |x, _, gradient| {
                let each = gradient.broadcast_div(&lengths(&offsets, x, gradient)?)?;
                spread(&offsets, x, &each)?.to_dtype(x.dtype())
            })),
            Fold::Prod => Some(Box::new(move |x, _, gradient| {
                spread_products(&offsets, x, gradient)
            })),
            Fold::Max | Fold::Min => None,
        };
        let folds = tracked(job, &rows.view, rows.view.elem_count(), shape, backward)?;
        match fold {
            Fold::Mean => to_dtype(&folds, measured_as(self.0.dtype())),
            _ => Ok(folds),
        }
    }
}

/// A tensor as rows along its first dimension.
pub(crate) struct Vectors {
    pub view: Tensor,
    pub rows: usize,
    pub inner: usize,
}

impl Vectors {
    pub(crate) fn of(name: &str, x: &Tensor) -> Result<Vectors> {
        let Some(&rows) = x.dims().first() else {
            return Err(fault(name, "a single number has no rows"));
        };
        let inner = x.dims()[1..].iter().product();
        Ok(Vectors {
            view: contiguous(x)?,
            rows,
            inner,
        })
    }

    /// The shape of so many of these rows.
    pub(crate) fn shape(&self, rows: usize) -> Shape {
        let mut dims = self.view.dims().to_vec();
        dims[0] = rows;
        dims.into()
    }
}

/// The gradient of segment sums: each row gets that of its segment, and rows of no segment none.
fn spread(offsets: &Tensor, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    let [ids] = run(
        &SegmentIds { items: x.dims()[0] },
        offsets,
        offsets.elem_count(),
    )?;
    let ids = plain(ids, x.dims()[0]);
    // What belongs to no segment takes the row of zeros behind them.
    let zeros = Tensor::zeros(
        [&[1], &gradient.dims()[1..]].concat(),
        gradient.dtype(),
        gradient.device(),
    )?;
    Warpfold(&Tensor::cat(&[gradient, &zeros], 0)?).index_select(&ids, 0)
}

/// How many rows each segment has, to divide a gradient by: of its dtype and rank.
fn lengths(offsets: &Tensor, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    let count = offsets.elem_count() - 1;
    let ends = offsets.to_dtype(DType::I64)?.minimum(x.dims()[0] as i64)?;
    let lengths = (ends.narrow(0, 1, count)? - ends.narrow(0, 0, count)?)?;
    let mut shape = vec![1; gradient.rank()];
    shape[0] = count;
    lengths.to_dtype(gradient.dtype())?.reshape(shape)
}

/// The gradient of segments' products: that of a number is the product of the others. Halves are
/// computed in `f32`.
fn spread_products(offsets: &Tensor, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let wide = match dtype {
        DType::F64 => DType::F64,
        _ => DType::F32,
    };
    let (x, gradient) = (x.detach().to_dtype(wide)?, gradient.to_dtype(wide)?);
    let none = x.zeros_like()?;
    let is_zero = x.eq(&none)?;
    // Zeros are counted, and left out of the products.
    let others = is_zero.where_cond(&x.ones_like()?, &x)?;
    let is_zero = is_zero.to_dtype(wide)?;
    let products = Warpfold(&others).segment_reduce(offsets, Fold::Prod)?;
    let products = spread(offsets, &x, &(products * gradient)?)?;
    let zeros = Warpfold(&is_zero).segment_reduce(offsets, Fold::Sum)?;
    let other_zeros = (spread(offsets, &x, &zeros)? - is_zero)?;
    other_zeros
        .eq(&none)?
        .where_cond(&(products / others)?, &none)?
        .to_dtype(dtype)
}

/// The folds of segments of rows of `inner` items, which `init` goes before if there is one.
pub(crate) fn fold_rows<T: Element, Op: Monoid<T>>(
    init: Option<T>,
    rows: impl Source<Item = T>,
    inner: usize,
    segments: impl warpfold::Segments,
) -> warpfold::Result<Vec<T>> {
    match (inner, init) {
        (0, _) => Ok(Vec::new()),
        // Those of single numbers are cut where they are long.
        (1, None) => segmented_reduce::<T, Op>(rows, segments),
        (1, Some(init)) => segmented_reduce_from::<T, Op>(init, rows, segments),
        (_, None) => segmented_reduce_vectors::<T, Op>(rows, inner, segments),
        (_, Some(init)) => segmented_reduce_vectors_from::<T, Op>(init, rows, inner, segments),
    }
}

struct Segments {
    offsets: Tensor,
    #[cfg_attr(not(feature = "cuda"), expect(dead_code))]
    count: usize,
    inner: usize,
    fold: Fold,
}

impl Segments {
    fn fold<T: Number, I: Offset>(&self, x: &[T], offsets: &[I]) -> warpfold::Result<CpuStorage> {
        let (segments, inner) = (Offsets::new(offsets)?, self.inner);
        let folds = match self.fold {
            Fold::Sum => fold_rows::<T, T::Add>(None, x, inner, segments),
            Fold::Prod => fold_rows::<T, T::Times>(None, x, inner, segments),
            Fold::Max => fold_rows::<T, T::Greatest>(None, x, inner, segments),
            Fold::Min => fold_rows::<T, T::Least>(None, x, inner, segments),
            Fold::Mean => {
                let sums = fold_rows::<f64, Add>(None, map::<T::AsF64, _>(x), inner, segments)?;
                let means = sums.iter().enumerate().map(|(at, sum)| {
                    let segment = at / inner;
                    let (start, end) = (offsets[segment], offsets[segment + 1]);
                    sum / (end.to_u64() - start.to_u64()) as f64
                });
                return Ok(match in_f64(T::DTYPE) {
                    true => CpuStorage::F64(means.collect()),
                    false => CpuStorage::F32(means.map(|mean| mean as f32).collect()),
                });
            }
        };
        Ok(T::to_cpu_storage_owned(folds?))
    }
}

impl Job<1> for Segments {
    fn name(&self) -> &'static str {
        "segment_reduce"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let (storage, layout) = self.offsets.storage_and_layout();
        let folds = match self.offsets.dtype() {
            DType::U32 => self.fold::<T, u32>(x, on_cpu(self.name(), &storage, layout)?),
            _ => {
                let offsets = on_cpu::<i64>(self.name(), &storage, layout)?;
                check_negative(self.name(), "offsets", offsets)?;
                self.fold::<T, u64>(x, bytemuck::cast_slice(offsets))
            }
        };
        Ok([folds.map_err(|error| fault(self.name(), error))?])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.segments(x, &self.offsets, (self.count, self.inner), self.fold)
    }
}

pub(crate) fn check_negative(name: &str, what: &str, numbers: &[i64]) -> Result<()> {
    match numbers.iter().position(|&number| number < 0) {
        Some(at) => Err(fault(
            name,
            format!("{what}[{at}] is {}, which is negative", numbers[at]),
        )),
        None => Ok(()),
    }
}

/// The number of the segment that each item belongs to, and the number of segments for those that
/// belong to none.
struct SegmentIds {
    items: usize,
}

impl Job<1> for SegmentIds {
    fn name(&self) -> &'static str {
        "segment_ids"
    }

    fn cpu<T: Number>(&self, offsets: &[T]) -> Result<[CpuStorage; 1]> {
        let none = offsets.len() as i64 - 1;
        let offsets: Vec<u64> = offsets
            .iter()
            .map(|offset| offset.to_f64() as u64)
            .collect();
        let segments = Offsets::new(&offsets).map_err(|error| fault(self.name(), error))?;
        let ids = warpfold::segment_ids(segments, self.items);
        let ids = ids.map_err(|error| fault(self.name(), error))?;
        let ids = ids
            .iter()
            .map(|&id| if id == u64::MAX { none } else { id as i64 });
        Ok([CpuStorage::I64(ids.collect())])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, offsets: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.segment_ids(offsets, self.items)
    }
}
