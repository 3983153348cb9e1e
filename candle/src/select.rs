//! What a mask keeps, where numbers are not 0, and runs of equal numbers.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, fault};
use crate::job::{Backward, Job, len_of, on_cpu, plain, run, same_device, tracked};
use crate::lacking::{contiguous, empty, is_nothing, to_i64};
use crate::scan::{Scan, stored};
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::{CpuStorage, DType, Result, Tensor};
use warpfold::source::flags;
use warpfold::{Offsets, positions, runs, segment_ids, select_flagged, zip};

/// What [`Warpfold::unique_consecutive`] finds.
#[derive(Debug, Clone)]
pub struct Unique {
    /// The first number of each run.
    pub values: Tensor,
    /// The run that each number belongs to, as `i64`, in the shape of the tensor.
    pub inverse: Tensor,
    /// How many numbers each run has, as `i64`.
    pub counts: Tensor,
}

/// Selections. The shape of the result depends on the data. So on a GPU one number comes to the
/// host, how many there are; the forms named `_padded` have no need of it.
impl Warpfold<'_> {
    /// The numbers whose mask is not 0, in the order of the tensor: `torch.masked_select`.
    /// Differentiable.
    ///
    /// The mask is of an integer dtype, and of the tensor's shape or one that broadcasts to it.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[[1_f32, -2.0], [3.0, -4.0]], &Device::Cpu)?;
    /// let kept = x.warpfold().masked_select(&x.gt(0_f32)?)?;
    /// assert_eq!(kept.to_vec1::<f32>()?, [1.0, 3.0]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the mask is no mask for the tensor: of floats, of another shape, on another device.
    pub fn masked_select(&self, mask: &Tensor) -> Result<Tensor> {
        let mask = self.mask("masked_select", mask)?;
        let x = contiguous(self.0)?;
        let by = mask.clone();
        let backward: Backward = Box::new(move |x, _, gradient| unselect(x, &by, gradient));
        let [count] = run(&Count, &mask, mask.elem_count())?;
        let count = plain(count, ()).to_scalar::<i64>()? as usize;
        let job = Masked { mask, room: count };
        tracked(job, &x, x.elem_count(), count.into(), Some(backward))
    }

    /// As [`masked_select`](Warpfold::masked_select), with room for `len` numbers: what is kept
    /// comes first, and zeros follow. What there is no room for is left out. The second tensor is
    /// how many the mask keeps, as `i64`, on the tensor's device: nothing comes to the host. No
    /// gradient is known.
    ///
    /// # Errors
    ///
    /// As [`masked_select`](Warpfold::masked_select).
    pub fn masked_select_padded(&self, mask: &Tensor, len: usize) -> Result<(Tensor, Tensor)> {
        let mask = self.mask("masked_select", mask)?;
        let x = contiguous(self.0)?;
        let [count] = run(&Count, &mask, mask.elem_count())?;
        let job = Masked { mask, room: len };
        let kept = tracked(job, &x, x.elem_count(), len.into(), None)?;
        Ok((kept, plain(count, ())))
    }

    fn mask(&self, name: &str, mask: &Tensor) -> Result<Tensor> {
        same_device(name, self.0, mask)?;
        if !mask.dtype().is_int() {
            return Err(fault(
                name,
                format!(
                    "a mask of {}; give integers, as comparisons do",
                    mask.dtype().as_str()
                ),
            ));
        }
        let fitted = mask.broadcast_as(self.0.shape()).map_err(|_| {
            let (of, by) = (self.0.dims(), mask.dims());
            fault(
                name,
                format!("a mask of shape {by:?} for a tensor of shape {of:?}"),
            )
        })?;
        if is_nothing(self.0, self.0.elem_count()) {
            return empty(self.0, DType::U8, self.0.shape());
        }
        match mask.dtype() {
            DType::U8 => fitted.contiguous(),
            _ => {
                let mask = to_i64(mask)?.ne(0_i64)?;
                mask.broadcast_as(self.0.shape())?.contiguous()
            }
        }
    }

    /// Where the numbers are that are not 0: a row for each, in the order of the tensor, with its
    /// place along each dimension, as `i64`: `torch.nonzero`. NaN is not 0.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[[0_u8, 7, 0], [1, 0, 2]], &Device::Cpu)?;
    /// assert_eq!(x.warpfold().nonzero()?.to_vec2::<i64>()?, [[0, 1], [1, 0], [1, 2]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the dtype is not supported.
    pub fn nonzero(&self) -> Result<Tensor> {
        let x = contiguous(self.0)?;
        let [flat] = run(&Nonzero { room: None }, &x, x.elem_count())?;
        let count = len_of("nonzero", &flat)?;
        coordinates(&plain(flat, count), x.dims())
    }

    /// As [`nonzero`](Warpfold::nonzero), with `len` rows: those of zeros follow the places, and
    /// what there is no room for is left out. The second tensor is how many numbers are not 0, as
    /// `i64`, on the tensor's device: nothing comes to the host.
    ///
    /// # Errors
    ///
    /// If the dtype is not supported.
    pub fn nonzero_padded(&self, len: usize) -> Result<(Tensor, Tensor)> {
        let x = contiguous(self.0)?;
        let [flat] = run(&Nonzero { room: Some(len) }, &x, x.elem_count())?;
        let [count] = run(&Count, &x, x.elem_count())?;
        Ok((coordinates(&plain(flat, len), x.dims())?, plain(count, ())))
    }

    /// The runs of equal numbers in the order of the tensor: `torch.unique_consecutive`. NaN is
    /// equal to nothing, and −0 to +0. Differentiable with regard to the values.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[7_u32, 7, 2, 2, 2, 7], &Device::Cpu)?;
    /// let unique = x.warpfold().unique_consecutive()?;
    /// assert_eq!(unique.values.to_vec1::<u32>()?, [7, 2, 7]);
    /// assert_eq!(unique.inverse.to_vec1::<i64>()?, [0, 0, 1, 1, 1, 2]);
    /// assert_eq!(unique.counts.to_vec1::<i64>()?, [2, 3, 1]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the dtype is not supported.
    pub fn unique_consecutive(&self) -> Result<Unique> {
        let x = contiguous(self.0)?;
        let [values, inverse, counts] = run(&Runs, &x, x.elem_count())?;
        let len = len_of("unique_consecutive", &counts)?;
        let counts = plain(counts, len);
        let values = match x.track_op() {
            true => {
                let starts = Warpfold(&counts).cumsum_as(Scan::exclusive(), 0)?;
                Warpfold(&x.flatten_all()?).index_select(&starts, 0)?
            }
            false => plain(values, len),
        };
        Ok(Unique {
            values,
            inverse: plain(inverse, x.shape()),
            counts,
        })
    }
}

/// How many numbers are not 0.
struct Count;

impl Job<1> for Count {
    fn name(&self) -> &'static str {
        "count"
    }

    fn cpu<T: Number>(&self, mask: &[T]) -> Result<[CpuStorage; 1]> {
        let count =
            warpfold::count(flags::<T, _>(mask)).map_err(|error| fault(self.name(), error))?;
        Ok([CpuStorage::I64(vec![count as i64])])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, mask: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.count(mask)
    }
}

/// What a mask of `u8` keeps, for so many numbers; zeros behind them.
struct Masked {
    mask: Tensor,
    room: usize,
}

impl Job<1> for Masked {
    fn name(&self) -> &'static str {
        "masked_select"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let (storage, layout) = self.mask.storage_and_layout();
        let mask = on_cpu::<u8>(self.name(), &storage, layout)?;
        let kept = select_flagged::<T>(zip(x, flags::<u8, _>(mask)));
        stored(
            self.name(),
            kept.map(|mut kept| {
                kept.resize(self.room, T::from_f64(0.0));
                kept
            }),
        )
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.masked(x, &self.mask, self.room)
    }
}

/// The gradient of a selection: what was kept gets its own, and the others 0.
fn unselect(x: &Tensor, mask: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    if gradient.elem_count() == 0 {
        return x.zeros_like();
    }
    let mask = mask.flatten_all()?;
    let places = Warpfold(&mask.ne(0_u8)?).cumsum_as(Scan::exclusive(), 0)?;
    // Behind the last one that was kept, places are one too many.
    let last = gradient.elem_count() as i64 - 1;
    let places = places.minimum(last)?;
    let spread = Warpfold(gradient).index_select(&places, 0)?;
    mask.where_cond(&spread, &spread.zeros_like()?)?
        .reshape(x.shape())
}

/// The places along each dimension, a row each, of flat ones.
fn coordinates(flat: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let count = flat.elem_count();
    let mut stride = 1;
    let mut along = Vec::new();
    for &len in dims.iter().rev() {
        let [places] = run(&Coordinates { stride, len }, flat, count)?;
        along.push(plain(places, count));
        stride *= len;
    }
    along.reverse();
    match along.is_empty() {
        true => Tensor::zeros((count, 0), DType::I64, flat.device()),
        false => Tensor::stack(&along, 1),
    }
}

/// The flat places of what is not 0: all, or as many as there is room for, and zeros.
struct Nonzero {
    room: Option<usize>,
}

impl Job<1> for Nonzero {
    fn name(&self) -> &'static str {
        "nonzero"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let flat = positions(flags::<T, _>(x));
        let mut flat = flat.map_err(|error| fault(self.name(), error))?;
        if let Some(room) = self.room {
            flat.resize(room, 0);
        }
        Ok([signed(flat)])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.nonzero(x, self.room)
    }
}

/// The places along a dimension, of flat ones.
struct Coordinates {
    stride: usize,
    len: usize,
}

impl Job<1> for Coordinates {
    fn name(&self) -> &'static str {
        "nonzero"
    }

    fn cpu<T: Number>(&self, flat: &[T]) -> Result<[CpuStorage; 1]> {
        let flat = bytemuck::cast_slice::<T, i64>(flat);
        let (stride, len) = (self.stride.max(1) as i64, self.len.max(1) as i64);
        Ok([CpuStorage::I64(
            flat.iter().map(|&flat| flat / stride % len).collect(),
        )])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, flat: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.coordinates(
            &gpu.cast::<T, i64>(flat)?,
            self.stride as u64,
            self.len as u64,
        )
    }
}

/// Runs: their first numbers, the run of each number, and their lengths.
struct Runs;

impl Job<3> for Runs {
    fn name(&self) -> &'static str {
        "unique_consecutive"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 3]> {
        let find = || -> warpfold::Result<_> {
            let runs = runs::<T>(x)?;
            let mut offsets = runs.starts;
            offsets.push(x.len() as u64);
            let ids = segment_ids(Offsets::new(&offsets)?, x.len())?;
            Ok((runs.items, ids, runs.lengths))
        };
        let (values, ids, lengths) = find().map_err(|error| fault(self.name(), error))?;
        Ok([
            T::to_cpu_storage_owned(values),
            signed(ids),
            signed(lengths),
        ])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 3]> {
        gpu.runs(x)
    }
}

/// Numbers below 2^63 as candle stores them.
pub(crate) fn signed(numbers: Vec<u64>) -> CpuStorage {
    CpuStorage::I64(bytemuck::cast_vec(numbers))
}
