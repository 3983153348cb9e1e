//! Rows that are added to others by number, and the gathers whose gradients these are.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, fault};
use crate::job::{Backward, Job, on_cpu, plain, run, same_device, tracked};
use crate::lacking::{add, contiguous, empty, is_lacking, is_nothing, pick, to_dtype, to_i64};
use crate::scan::stored;
use crate::segments::{Vectors, check_negative, fold_rows};
use candle_core::backend::BackendStorage;
use candle_core::shape::Dim;
use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, DType, Layout, Result, Shape, Storage, Tensor,
};
use rayon::prelude::*;
use warpfold::{Indices, Offsets, gather, gather_rows};

/// Sums by number. They are added up in the order of the tensor, by warpfold's bracketing: with the
/// same bits every time, on every device. Nothing is added atomically.
impl Warpfold<'_> {
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
    /// Memory: the places of all rows in order, and where those of each number begin, of 8 bytes
    /// each; on a GPU also what sorting takes. `source` is copied if its rows do not lie side by
    /// side.
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
        add(self.0, &sums.transpose(0, dim)?)
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
        let source = contiguous(source)?.flatten_all()?.unsqueeze(1)?;
        let source = Vectors::of(NAME, &source)?;
        let sums = sums_by_number(NAME, &source, places, self.0.elem_count())?;
        add(self.0, &sums.reshape(self.0.shape())?)
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
        if is_nothing(self.0, indices.elem_count()) {
            return empty(self.0, self.0.dtype(), indices.shape());
        }
        if is_lacking(self.0) {
            let places = flat_places("gather", self.0, indices, dim)?;
            return pick(self.0, &places.reshape(indices.shape())?);
        }
        let indices = wide(indices)?;
        contiguous(self.0)?.apply_op1(Gather { indices, dim })
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
        if is_nothing(self.0, shape.iter().product()) {
            return empty(self.0, self.0.dtype(), shape);
        }
        if is_lacking(self.0) {
            let mut along = vec![1; shape.len()];
            along[dim] = ids.elem_count();
            let indices = ids.reshape(along)?.broadcast_as(shape)?;
            return self.gather(&indices, dim);
        }
        let op = IndexSelect {
            ids,
            dim,
            shape: shape.into(),
        };
        contiguous(self.0)?.apply_op1(op)
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
pub(crate) fn numbers(name: &str, what: &str, x: &Tensor, given: &Tensor) -> Result<Tensor> {
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
        DType::U32 | DType::I64 => contiguous(numbers),
        DType::U8 => contiguous(&to_dtype(numbers, DType::U32)?),
        _ => contiguous(&to_i64(numbers)?),
    }
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

struct SumsByNumber {
    name: &'static str,
    ids: Tensor,
    count: usize,
    inner: usize,
}

impl SumsByNumber {
    /// The numbers were found to be in range.
    fn sums<T: Number, I: Copy + Sync>(
        &self,
        x: &[T],
        ids: &[I],
        number: fn(I) -> usize,
    ) -> warpfold::Result<Vec<T>> {
        let (places, offsets) = by_number(ids, self.count, number);
        let (places, segments) = (Indices::new(&places[..])?, Offsets::new(&offsets[..])?);
        // Nothing is added to −0 without a trace, and a sum that starts with it is as without it.
        let zero = Some(T::from_f64(-0.0));
        match self.inner {
            1 => fold_rows::<T, T::Add>(zero, gather(x, places), 1, segments),
            inner => {
                let rows = gather_rows(x, inner.max(1), places);
                fold_rows::<T, T::Add>(zero, rows, inner, segments)
            }
        }
    }
}

/// The places of rows in the order of their numbers, those of one number in their own order, and
/// where each number's begin. The numbers are below `count`.
///
/// A counting sort: O(n + count) work, but each thread reads all numbers, and places those of its
/// own range.
fn by_number<I: Copy + Sync>(
    ids: &[I],
    count: usize,
    number: fn(I) -> usize,
) -> (Vec<u64>, Vec<u64>) {
    /// Fewer numbers are not worth a thread of their own.
    const LEAST: usize = 1 << 14;
    let threads = (ids.len() / LEAST).clamp(1, rayon::current_num_threads());
    // Each part has counts of its own: all of them are no more than there are numbers.
    let parts = (ids.len() / count.max(1)).clamp(1, threads);
    let counts = ids
        .par_chunks(ids.len().div_ceil(parts).max(1))
        .map(|part| {
            let mut counts = vec![0_u64; count];
            for &id in part {
                counts[number(id)] += 1;
            }
            counts
        });
    let counts = counts.reduce_with(|mut all, part| {
        for (sum, count) in all.iter_mut().zip(part) {
            *sum += count;
        }
        all
    });
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(0);
    let mut end = 0;
    for count in counts.unwrap_or_else(|| vec![0; count]) {
        end += count;
        offsets.push(end);
    }

    let mut places = vec![0; ids.len()];
    let mut rest = &mut places[..];
    let mut ranges = Vec::new();
    let mut first = 0;
    for thread in 1..=threads {
        // So many places are in the ranges up to this thread's.
        let share = (ids.len() * thread / threads) as u64;
        let end = match thread == threads {
            true => count,
            false => offsets.partition_point(|&offset| offset <= share) - 1,
        };
        let end = end.max(first);
        let room = rest.split_off_mut(..(offsets[end] - offsets[first]) as usize);
        ranges.push((first..end, room.expect("a place for each number")));
        first = end;
    }
    ranges.into_par_iter().for_each(|(range, room)| {
        let start = offsets[range.start];
        let mut next: Vec<u64> = offsets[range.clone()]
            .iter()
            .map(|&at| at - start)
            .collect();
        for (place, &id) in ids.iter().enumerate() {
            // A number below the range wraps, and is beyond it.
            if let Some(next) = next.get_mut(number(id).wrapping_sub(range.start)) {
                room[*next as usize] = place as u64;
                *next += 1;
            }
        }
    });
    (places, offsets)
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
                    self.sums(x, ids, |id: u32| id as usize)
                }
                _ => {
                    let ids = on_cpu::<i64>(self.name, &storage, layout)?;
                    check_negative(self.name, "numbers", ids)?;
                    if let Some(at) = ids.iter().position(|&id| id as u64 >= self.count as u64) {
                        return outside(at, &ids[at]);
                    }
                    self.sums(x, ids, |id: i64| id as usize)
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

impl FlatPlaces {
    fn places<I: Copy + Sync + std::fmt::Display>(
        &self,
        indices: &[I],
        number: fn(I) -> Option<usize>,
    ) -> Result<[CpuStorage; 1]> {
        let (len, rows) = self.along;
        let is_outside = |&index: &I| number(index).is_none_or(|index| index >= len);
        if let Some(at) = indices.par_iter().position_first(is_outside) {
            return Err(fault(
                self.name,
                format!(
                    "index {at} is {}, and the dimension has {len} numbers",
                    indices[at]
                ),
            ));
        }
        let (inner, of_outer) = (self.inner.max(1), (rows * self.inner).max(1));
        let mut places = vec![0; indices.len()];
        let outers = places.par_chunks_mut(of_outer);
        let outers = outers.zip(indices.par_chunks(of_outer)).enumerate();
        outers.for_each(|(outer, (places, indices))| {
            let rows = places.chunks_mut(inner).zip(indices.chunks(inner));
            for (at, (place, &index)) in
                rows.flat_map(|row| row.0.iter_mut().zip(row.1).enumerate())
            {
                let index = number(index).unwrap_or_default();
                *place = ((outer * len + index) * inner + at) as i64;
            }
        });
        Ok([CpuStorage::I64(places)])
    }
}

impl Job<1> for FlatPlaces {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu<T: Number>(&self, indices: &[T]) -> Result<[CpuStorage; 1]> {
        match T::DTYPE {
            DType::U32 => self.places(bytemuck::cast_slice::<T, u32>(indices), |index| {
                Some(index as usize)
            }),
            _ => self.places(bytemuck::cast_slice::<T, i64>(indices), |index| {
                usize::try_from(index).ok()
            }),
        }
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
