//! Sums of what belongs together: segments, rows that are added to others by number, and the
//! gathers whose gradients these are.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, fault};
use crate::job::{Backward, Job, on_cpu, plain, run, same_device, tracked};
use crate::scan::stored;
use candle_core::backend::BackendStorage;
use candle_core::shape::Dim;
use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, DType, Layout, Result, Shape, Storage, Tensor,
};
use warpfold::{
    Indices, Offsets, Order, argsort, gather, gather_rows, offsets_from_ids,
    segmented_reduce_vectors, segmented_reduce_vectors_from,
};

/// What a segment is folded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fold {
    /// The sum; of an empty segment 0.
    Sum,
    /// The greatest number; of an empty segment the least that there is. NaN if one is.
    Max,
    /// The least number; of an empty segment the greatest that there is. NaN if one is.
    Min,
}

/// Sums by segment and by number. They are added up in the order of the tensor, by warpfold's
/// bracketing: with the same bits every time, on every device. Nothing is added atomically.
impl Warpfold<'_> {
    /// Folds each segment of rows: row `s` of the result is that of the rows `offsets[s]` to
    /// `offsets[s + 1]` along the first dimension, column by column. `torch.segment_reduce` with
    /// offsets. Sums are differentiable.
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
    /// Integers are folded in their own dtype, and wrap.
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
            Fold::Max | Fold::Min => None,
        };
        tracked(job, &rows.view, rows.view.elem_count(), shape, backward)
    }

    /// The tensor, with the rows of `source` along `dim` added to those that `ids` names: candle's
    /// and PyTorch's `index_add`. Differentiable with regard to both tensors.
    ///
    /// To each number is added the sum of what belongs to it. `ids` has a number for each row of
    /// `source`, of an integer dtype.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[1_f32, 2.0, 3.0], &Device::Cpu)?;
    /// let ids = Tensor::new(&[2_u32, 0, 2], &Device::Cpu)?;
    /// let source = Tensor::new(&[10_f32, 20.0, 30.0], &Device::Cpu)?;
    /// let sums = x.warpfold().index_add(&ids, &source, 0)?;
    /// assert_eq!(sums.to_vec1::<f32>()?, [21.0, 2.0, 43.0]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// Memory: the places of all rows in order, 16 bytes for each. `source` is copied if its rows
    /// do not lie side by side.
    ///
    /// # Errors
    ///
    /// If the shapes do not fit, dtypes or devices differ, or, on the CPU, if a number is not a
    /// row's. On a GPU the rows of such numbers are added to nothing.
    pub fn index_add<D: Dim>(&self, ids: &Tensor, source: &Tensor, dim: D) -> Result<Tensor> {
        const NAME: &str = "index_add";
        let dim = dim.to_index(self.0.shape(), NAME)?;
        check_source(NAME, self.0, source)?;
        let ids = numbers(NAME, "ids", self.0, ids)?;
        let fits = (0..self.0.rank()).all(|at| match at == dim {
            true => source.dims()[at] == ids.elem_count(),
            false => source.dims()[at] == self.0.dims()[at],
        });
        if !fits {
            let (of, from) = (self.0.dims(), source.dims());
            return Err(fault(
                NAME,
                format!(
                    "{} ids along dimension {dim} do not fit a source of shape {from:?} and a tensor of shape {of:?}",
                    ids.elem_count()
                ),
            ));
        }
        let source = Vectors::of(NAME, &source.transpose(0, dim)?)?;
        let sums = sums_by_number(NAME, &source, ids, self.0.dims()[dim])?;
        self.0 + sums.transpose(0, dim)?
    }

    /// The tensor, with each number of `source` added to the place along `dim` that `indices`
    /// names: candle's and PyTorch's `scatter_add`. Differentiable with regard to both tensors.
    ///
    /// `indices` has the shape of `source`, and an integer dtype. Otherwise as
    /// [`index_add`](Warpfold::index_add).
    ///
    /// # Errors
    ///
    /// As [`index_add`](Warpfold::index_add).
    pub fn scatter_add<D: Dim>(&self, indices: &Tensor, source: &Tensor, dim: D) -> Result<Tensor> {
        const NAME: &str = "scatter_add";
        let dim = dim.to_index(self.0.shape(), NAME)?;
        check_source(NAME, self.0, source)?;
        let fits = (0..self.0.rank()).all(|at| at == dim || source.dims()[at] == self.0.dims()[at]);
        if source.dims() != indices.dims() || !fits {
            let (of, from, by) = (self.0.dims(), source.dims(), indices.dims());
            return Err(fault(
                NAME,
                format!(
                    "along dimension {dim}, indices of shape {by:?} do not fit a source of shape {from:?} and a tensor of shape {of:?}"
                ),
            ));
        }
        let places = flat_places(NAME, self.0, indices, dim)?;
        let source = source.flatten_all()?.unsqueeze(1)?;
        let source = Vectors::of(NAME, &source)?;
        let sums = sums_by_number(NAME, &source, places, self.0.elem_count())?;
        self.0 + sums.reshape(self.0.shape())?
    }

    /// The numbers that `indices` names along `dim`: candle's `gather`, with a gradient that has
    /// the same bits every time.
    ///
    /// # Errors
    ///
    /// As candle's.
    pub fn gather<D: Dim>(&self, indices: &Tensor, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.0.shape(), "gather")?;
        same_device("gather", self.0, indices)?;
        let fits = self.0.rank() == indices.rank()
            && (0..self.0.rank()).all(|at| at == dim || indices.dims()[at] == self.0.dims()[at]);
        if !fits {
            let (of, by) = (self.0.dims(), indices.dims());
            return Err(fault(
                "gather",
                format!(
                    "along dimension {dim}, indices of shape {by:?} do not fit a tensor of shape {of:?}"
                ),
            ));
        }
        if !indices.dtype().is_int() {
            let dtype = indices.dtype().as_str();
            return Err(fault(
                "gather",
                format!("indices of {dtype}; give integers"),
            ));
        }
        let indices = wide(indices)?;
        self.0.contiguous()?.apply_op1(Gather { indices, dim })
    }

    /// The rows along `dim` that `ids` names: candle's `index_select`, with a gradient that has the
    /// same bits every time.
    ///
    /// # Errors
    ///
    /// As candle's.
    pub fn index_select<D: Dim>(&self, ids: &Tensor, dim: D) -> Result<Tensor> {
        const NAME: &str = "index_select";
        let dim = dim.to_index(self.0.shape(), NAME)?;
        let ids = numbers(NAME, "ids", self.0, ids)?;
        let mut shape = self.0.dims().to_vec();
        shape[dim] = ids.elem_count();
        let op = IndexSelect {
            ids,
            dim,
            shape: shape.into(),
        };
        self.0.contiguous()?.apply_op1(op)
    }
}

/// A tensor as rows along its first dimension.
struct Vectors {
    view: Tensor,
    rows: usize,
    inner: usize,
}

impl Vectors {
    fn of(name: &str, x: &Tensor) -> Result<Vectors> {
        let Some(&rows) = x.dims().first() else {
            return Err(fault(name, "a single number has no rows"));
        };
        let inner = x.dims()[1..].iter().product();
        Ok(Vectors {
            view: x.contiguous()?,
            rows,
            inner,
        })
    }

    /// The shape of so many of these rows.
    fn shape(&self, rows: usize) -> Shape {
        let mut dims = self.view.dims().to_vec();
        dims[0] = rows;
        dims.into()
    }
}

fn check_source(name: &str, x: &Tensor, source: &Tensor) -> Result<()> {
    same_device(name, x, source)?;
    if x.dtype() != source.dtype() || x.rank() != source.rank() {
        return Err(fault(
            name,
            format!(
                "a source of {} and shape {:?} is added to a tensor of {} and shape {:?}",
                source.dtype().as_str(),
                source.dims(),
                x.dtype().as_str(),
                x.dims()
            ),
        ));
    }
    Ok(())
}

/// Offsets or numbers of rows, as `u32` or `i64`.
fn numbers(name: &str, what: &str, x: &Tensor, given: &Tensor) -> Result<Tensor> {
    same_device(name, x, given)?;
    if given.rank() != 1 || !given.dtype().is_int() {
        return Err(fault(
            name,
            format!(
                "{what} of {} and shape {:?}; give one dimension of integers",
                given.dtype().as_str(),
                given.dims()
            ),
        ));
    }
    wide(given)
}

/// Integers as `u32` or `i64`, contiguous.
fn wide(numbers: &Tensor) -> Result<Tensor> {
    match numbers.dtype() {
        DType::U32 | DType::I64 => numbers.contiguous(),
        DType::U8 => numbers.to_dtype(DType::U32)?.contiguous(),
        _ => numbers.to_dtype(DType::I64)?.contiguous(),
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

/// The sums of rows by their numbers: row `i` of the result is that of the rows with number `i`.
fn sums_by_number(
    name: &'static str,
    source: &Vectors,
    ids: Tensor,
    count: usize,
) -> Result<Tensor> {
    let shape = source.shape(count);
    let job = SumsByNumber {
        name,
        ids: ids.clone(),
        count,
        inner: source.inner,
    };
    let backward: Backward =
        Box::new(move |_, _, gradient| Warpfold(gradient).index_select(&ids, 0));
    tracked(
        job,
        &source.view,
        source.rows * source.inner,
        shape,
        Some(backward),
    )
}

/// Where indices along `dim` lead in the tensor's memory if it has no gaps.
fn flat_places(name: &'static str, x: &Tensor, indices: &Tensor, dim: usize) -> Result<Tensor> {
    same_device(name, x, indices)?;
    if !indices.dtype().is_int() {
        return Err(fault(
            name,
            format!("indices of {}; give integers", indices.dtype().as_str()),
        ));
    }
    let indices = wide(indices)?;
    let inner = x.dims()[dim + 1..].iter().product();
    let job = FlatPlaces {
        name,
        along: (x.dims()[dim], indices.dims()[dim]),
        inner,
    };
    let [places] = run(&job, &indices, indices.elem_count())?;
    Ok(plain(places, indices.elem_count()))
}

struct Segments {
    offsets: Tensor,
    #[cfg_attr(not(feature = "cuda"), expect(dead_code))]
    count: usize,
    inner: usize,
    fold: Fold,
}

impl Segments {
    fn fold<T: Number, I: warpfold::Offset>(
        &self,
        x: &[T],
        offsets: &[I],
    ) -> warpfold::Result<Vec<T>> {
        let segments = Offsets::new(offsets)?;
        if self.inner == 0 {
            return Ok(Vec::new());
        }
        match self.fold {
            Fold::Sum => segmented_reduce_vectors::<T, T::Add>(x, self.inner, segments),
            Fold::Max => segmented_reduce_vectors::<T, T::Greatest>(x, self.inner, segments),
            Fold::Min => segmented_reduce_vectors::<T, T::Least>(x, self.inner, segments),
        }
    }
}

impl Job<1> for Segments {
    fn name(&self) -> &'static str {
        "segment_reduce"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let (storage, layout) = self.offsets.storage_and_layout();
        stored(
            self.name(),
            match self.offsets.dtype() {
                DType::U32 => self.fold::<T, u32>(x, on_cpu(self.name(), &storage, layout)?),
                _ => {
                    let offsets = on_cpu::<i64>(self.name(), &storage, layout)?;
                    check_negative(self.name(), "offsets", offsets)?;
                    self.fold::<T, u64>(x, bytemuck::cast_slice(offsets))
                }
            },
        )
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.segments(x, &self.offsets, (self.count, self.inner), self.fold)
    }
}

fn check_negative(name: &str, what: &str, numbers: &[i64]) -> Result<()> {
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

struct SumsByNumber {
    name: &'static str,
    ids: Tensor,
    count: usize,
    inner: usize,
}

impl SumsByNumber {
    /// `ids` were found to be in range.
    fn sums<T: Number, I>(&self, x: &[T], ids: &[I]) -> warpfold::Result<Vec<T>>
    where
        I: warpfold::SortKey + warpfold::Offset + warpfold::IndexNumber,
    {
        if self.inner == 0 {
            return Ok(Vec::new());
        }
        let places = argsort(ids, Order::ascending())?;
        let indices = Indices::new(&places)?;
        let sorted = warpfold::collect(gather(ids, indices))?;
        let offsets = offsets_from_ids(&sorted, self.count)?;
        let (rows, offsets) = (gather_rows(x, self.inner, indices), Offsets::new(&offsets)?);
        // Nothing is added to −0 without a trace, and a sum that starts with it is as without it.
        let zero = T::from_f64(-0.0);
        segmented_reduce_vectors_from::<T, T::Add>(zero, rows, self.inner, offsets)
    }
}

impl Job<1> for SumsByNumber {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let (storage, layout) = self.ids.storage_and_layout();
        let outside = |at: usize, id: &dyn std::fmt::Display| {
            let count = self.count;
            Err(fault(
                self.name,
                format!("number {at} is {id}, which is not below {count}"),
            ))
        };
        stored(
            self.name,
            match self.ids.dtype() {
                DType::U32 => {
                    let ids = on_cpu::<u32>(self.name, &storage, layout)?;
                    if let Some(at) = ids.iter().position(|&id| id as usize >= self.count) {
                        return outside(at, &ids[at]);
                    }
                    self.sums::<T, u32>(x, ids)
                }
                _ => {
                    let ids = on_cpu::<i64>(self.name, &storage, layout)?;
                    check_negative(self.name, "numbers", ids)?;
                    if let Some(at) = ids.iter().position(|&id| id as u64 >= self.count as u64) {
                        return outside(at, &ids[at]);
                    }
                    self.sums::<T, u64>(x, bytemuck::cast_slice(ids))
                }
            },
        )
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.sums_by_number(x, &self.ids, (self.count, self.inner))
    }
}

struct FlatPlaces {
    name: &'static str,
    /// The length of the dimension in the tensor, and in the indices.
    along: (usize, usize),
    inner: usize,
}

impl Job<1> for FlatPlaces {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu<T: Number>(&self, indices: &[T]) -> Result<[CpuStorage; 1]> {
        let (len, rows) = self.along;
        let places = indices.iter().enumerate().map(|(at, index)| {
            let index = index.to_f64();
            if index < 0.0 || index >= len as f64 {
                return Err(fault(
                    self.name,
                    format!("index {at} is {index}, and the dimension has {len} numbers"),
                ));
            }
            let outer = at / (rows * self.inner);
            Ok(((outer * len + index as usize) * self.inner + at % self.inner) as i64)
        });
        Ok([CpuStorage::I64(places.collect::<Result<_>>()?)])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, indices: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.flat_places(indices, self.along, self.inner)
    }
}

struct Gather {
    indices: Tensor,
    dim: usize,
}

impl CustomOp1 for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (indices, by) = self.indices.storage_and_layout();
        let Storage::Cpu(indices) = &*indices else {
            return Err(fault("gather", "the tensors are on different devices"));
        };
        let result = storage.gather(layout, indices, by, self.dim)?;
        Ok((result, self.indices.shape().clone()))
    }

    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let (indices, by) = self.indices.storage_and_layout();
        let Storage::Cuda(indices) = &*indices else {
            return Err(fault("gather", "the tensors are on different devices"));
        };
        let result = storage.gather(layout, indices, by, self.dim)?;
        Ok((result, self.indices.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let zeros = x.zeros_like()?;
        Warpfold(&zeros)
            .scatter_add(&self.indices, gradient, self.dim)
            .map(Some)
    }
}

struct IndexSelect {
    ids: Tensor,
    dim: usize,
    shape: Shape,
}

impl CustomOp1 for IndexSelect {
    fn name(&self) -> &'static str {
        "index_select"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (ids, by) = self.ids.storage_and_layout();
        let Storage::Cpu(ids) = &*ids else {
            return Err(fault(self.name(), "the tensors are on different devices"));
        };
        let result = storage.index_select(ids, layout, by, self.dim)?;
        Ok((result, self.shape.clone()))
    }

    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let (ids, by) = self.ids.storage_and_layout();
        let Storage::Cuda(ids) = &*ids else {
            return Err(fault(self.name(), "the tensors are on different devices"));
        };
        let result = storage.index_select(ids, layout, by, self.dim)?;
        Ok((result, self.shape.clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let zeros = x.zeros_like()?;
        Warpfold(&zeros)
            .index_add(&self.ids, gradient, self.dim)
            .map(Some)
    }
}
