//! What operations here need of candle 0.11 and it cannot do on a GPU: integers of 16 and 32 bits,
//! for which it has no kernels, and tensors without numbers, for which it launches no blocks, and
//! fails. Of all other tensors candle does it.

#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, Stored, fault, with_number};
use crate::job::{Job, on_cpu, plain, run};
use crate::steps::{Host, Steps};
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::{CpuStorage, DType, Result, Shape, Tensor, WithDType};
use warpfold::source::Source;
use warpfold::{Indices, function, gather, index, map, map_with, zip};

/// Whether candle has no kernels for a tensor.
pub(crate) fn is_lacking(x: &Tensor) -> bool {
    x.device().is_cuda() && matches!(x.dtype(), DType::I16 | DType::I32)
}

/// Whether a tensor of so many numbers beside `x` is one for which candle launches nothing.
pub(crate) fn is_nothing(x: &Tensor, numbers: usize) -> bool {
    x.device().is_cuda() && numbers == 0
}

/// A tensor without numbers, on the device of `x`.
pub(crate) fn empty(x: &Tensor, dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
    let [none] = run(&Empty { dtype }, x, 0)?;
    Ok(plain(none, shape))
}

/// The tensor without gaps, in the order of its dimensions.
pub(crate) fn contiguous(x: &Tensor) -> Result<Tensor> {
    if x.is_contiguous() {
        return Ok(x.clone());
    }
    match (is_nothing(x, x.elem_count()), is_lacking(x)) {
        (true, _) => empty(x, x.dtype(), x.shape()),
        (_, true) => compact(x),
        _ => x.contiguous(),
    }
}

/// The tensor in another dtype.
pub(crate) fn to_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    match is_nothing(x, x.elem_count()) && x.dtype() != dtype {
        true => empty(x, dtype, x.shape()),
        false => x.to_dtype(dtype),
    }
}

fn compact(x: &Tensor) -> Result<Tensor> {
    let job = Compact::of(x)?;
    let [copy] = run(&job, x, job.extent)?;
    Ok(plain(copy, x.shape()))
}

/// Integers as `i64`.
pub(crate) fn to_i64(x: &Tensor) -> Result<Tensor> {
    match is_lacking(x) {
        true => widen(x),
        false => to_dtype(x, DType::I64),
    }
}

fn widen(x: &Tensor) -> Result<Tensor> {
    let x = contiguous(x)?;
    let [wide] = run(&Widen, &x, x.elem_count())?;
    Ok(plain(wide, x.shape()))
}

/// The sum of two tensors of one shape.
pub(crate) fn add(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    match (is_nothing(x, x.elem_count()), is_lacking(x)) {
        (true, _) => Ok(x.clone()),
        (_, true) => plus(x, y),
        _ => x + y,
    }
}

fn plus(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (x, y) = (contiguous(x)?, contiguous(y)?);
    let [sums] = run(&Plus { y }, &x, x.elem_count())?;
    Ok(plain(sums, x.shape()))
}

/// The numbers of a tensor at flat places, in the shape of these.
pub(crate) fn pick(x: &Tensor, places: &Tensor) -> Result<Tensor> {
    let (x, shape) = (contiguous(x)?, places.shape());
    let job = Pick {
        places: contiguous(places)?,
    };
    let [picked] = run(&job, &x, x.elem_count())?;
    Ok(plain(picked, shape))
}

/// The dimensions that a tensor may have to be made contiguous here.
const RANK: usize = 8;

/// Where a number lies, of its place in the order of the dimensions. `layout` has the length and
/// the stride of each dimension, of the last one first.
#[function]
pub(crate) fn strided_place(at: u64, layout: [u64; 16]) -> u64 {
    let mut rest = at;
    let mut place = 0;
    for dim in 0..8 {
        place += rest % layout[2 * dim] * layout[2 * dim + 1];
        rest /= layout[2 * dim];
    }
    place
}

/// No numbers of a dtype.
struct Empty {
    dtype: DType,
}

impl Job<1> for Empty {
    fn name(&self) -> &'static str {
        "empty"
    }

    fn cpu<T: Number>(&self, _: &[T]) -> Result<[CpuStorage; 1]> {
        with_number!(self.dtype, self.name(), O => Ok([O::to_cpu_storage_owned(Vec::new())]))
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, _: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        with_number!(self.dtype, self.name(), O => Ok([gpu.store(gpu.allocate::<O>(0)?)]))
    }
}

struct Compact {
    layout: [u64; 2 * RANK],
    len: usize,
    /// How many numbers of the storage there are from the first to the last.
    extent: usize,
}

impl Compact {
    fn of(x: &Tensor) -> Result<Compact> {
        if x.rank() > RANK {
            return Err(fault(
                "contiguous",
                format!(
                    "on a GPU a strided tensor of {} has up to {RANK} dimensions, and this one {}",
                    x.dtype().as_str(),
                    x.rank()
                ),
            ));
        }
        let mut layout = [1; 2 * RANK];
        let dims = x.dims().iter().zip(x.stride());
        for (at, (&len, &stride)) in dims.clone().rev().enumerate() {
            layout[2 * at] = len.max(1) as u64;
            layout[2 * at + 1] = stride as u64;
        }
        let last: usize = dims
            .map(|(len, stride)| len.saturating_sub(1) * stride)
            .sum();
        let len = x.elem_count();
        Ok(Compact {
            layout,
            len,
            extent: if len == 0 { 0 } else { last + 1 },
        })
    }

    fn copy<E: Steps, T: Stored>(
        &self,
        steps: &E,
        x: impl Source<E::Place, Item = T>,
    ) -> Result<E::Array<T>> {
        let places = map_with::<strided_place, _, _>(index(self.len), self.layout);
        steps.collect(gather(x, Indices::unchecked(places)))
    }
}

impl Job<1> for Compact {
    fn name(&self) -> &'static str {
        "contiguous"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let host = Host { name: self.name() };
        Ok([T::to_cpu_storage_owned(self.copy(&host, x)?)])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        Ok([gpu.store(self.copy::<Gpu, T>(gpu, x)?)])
    }
}

#[function]
pub(crate) fn wide_i16(x: i16) -> i64 {
    x as i64
}

#[function]
pub(crate) fn wide_i32(x: i32) -> i64 {
    x as i64
}

#[function]
pub(crate) fn plus_i16(x: i16, y: i16) -> i16 {
    x.wrapping_add(y)
}

#[function]
pub(crate) fn plus_i32(x: i32, y: i32) -> i32 {
    x.wrapping_add(y)
}

/// Of `i16` or `i32`.
struct Widen;

impl Job<1> for Widen {
    fn name(&self) -> &'static str {
        "to_dtype"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let host = Host { name: self.name() };
        let wide = match T::DTYPE {
            DType::I16 => host.collect(map::<wide_i16, _>(bytemuck::cast_slice::<T, i16>(x))),
            _ => host.collect(map::<wide_i32, _>(bytemuck::cast_slice::<T, i32>(x))),
        };
        Ok([CpuStorage::I64(wide?)])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let wide = match T::DTYPE {
            DType::I16 => gpu.collect(map::<wide_i16, _>(&gpu.cast::<T, i16>(x)?)),
            _ => gpu.collect(map::<wide_i32, _>(&gpu.cast::<T, i32>(x)?)),
        };
        Ok([gpu.store::<i64>(wide?)])
    }
}

/// Of `i16` or `i32`.
struct Plus {
    y: Tensor,
}

impl Job<1> for Plus {
    fn name(&self) -> &'static str {
        "add"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let host = Host { name: self.name() };
        let (storage, layout) = self.y.storage_and_layout();
        match T::DTYPE {
            DType::I16 => {
                let y = on_cpu::<i16>(self.name(), &storage, layout)?;
                let pairs = zip(bytemuck::cast_slice::<T, i16>(x), y);
                Ok([CpuStorage::I16(host.collect(map::<plus_i16, _>(pairs))?)])
            }
            _ => {
                let y = on_cpu::<i32>(self.name(), &storage, layout)?;
                let pairs = zip(bytemuck::cast_slice::<T, i32>(x), y);
                Ok([CpuStorage::I32(host.collect(map::<plus_i32, _>(pairs))?)])
            }
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        match T::DTYPE {
            DType::I16 => gpu.with::<i16, _>(&self.y, |y| {
                let x = gpu.cast::<T, i16>(x)?;
                let sums = gpu.collect(map::<plus_i16, _>(zip(&x, y)))?;
                Ok([gpu.store(sums)])
            }),
            _ => gpu.with::<i32, _>(&self.y, |y| {
                let x = gpu.cast::<T, i32>(x)?;
                let sums = gpu.collect(map::<plus_i32, _>(zip(&x, y)))?;
                Ok([gpu.store(sums)])
            }),
        }
    }
}

/// Numbers at places of `i64`.
struct Pick {
    places: Tensor,
}

impl Job<1> for Pick {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let host = Host { name: self.name() };
        let (storage, layout) = self.places.storage_and_layout();
        let places = bytemuck::cast_slice(on_cpu::<i64>(self.name(), &storage, layout)?);
        let picked = host.collect(gather(x, Indices::<&[u64]>::unchecked(places)))?;
        Ok([T::to_cpu_storage_owned(picked)])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.with::<i64, _>(&self.places, |places| {
            let places = gpu.cast::<i64, u64>(places)?;
            let picked = gpu.collect(gather(x, Indices::unchecked(&places)))?;
            Ok([gpu.store(picked)])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    fn strided(dtype: DType) -> Result<Vec<Tensor>> {
        let cube = Tensor::arange(-30_i64, 30, &Device::Cpu)?
            .reshape((3, 4, 5))?
            .to_dtype(dtype)?;
        Ok(vec![
            cube.clone(),
            cube.permute((2, 0, 1))?,
            cube.narrow(1, 1, 2)?.narrow(2, 2, 3)?,
            cube.narrow(0, 1, 1)?.broadcast_as((2, 3, 4, 5))?.t()?,
            cube.narrow(2, 5, 0)?.t()?,
        ])
    }

    /// What runs on a GPU, on the CPU beside candle's own.
    #[test]
    fn integers_are_copied_widened_and_added_as_by_candle() -> Result<()> {
        let numbers = |x: &Tensor| x.flatten_all()?.to_dtype(DType::I64)?.to_vec1::<i64>();
        for dtype in [DType::I16, DType::I32] {
            for x in strided(dtype)? {
                assert_eq!(numbers(&compact(&x)?)?, numbers(&x)?, "{x:?}");
                let wide = widen(&x)?;
                assert_eq!(wide.dtype(), DType::I64);
                assert_eq!(numbers(&wide)?, numbers(&x)?, "{x:?}");
                let sums = plus(&x, &x)?;
                assert_eq!(sums.dtype(), dtype);
                assert_eq!(numbers(&sums)?, numbers(&(&x + &x)?)?, "{x:?}");
            }
        }
        let x = Tensor::new(&[[1_i16, 2], [3, 4]], &Device::Cpu)?.t()?;
        let places = Tensor::new(&[[3_i64], [1]], &Device::Cpu)?;
        assert_eq!(pick(&x, &places)?.to_vec2::<i16>()?, [[4], [3]]);
        let most = Tensor::new(&[i16::MAX], &Device::Cpu)?;
        let one = Tensor::new(&[1_i16], &Device::Cpu)?;
        assert_eq!(plus(&most, &one)?.to_vec1::<i16>()?, [i16::MIN]);
        Ok(())
    }

    #[test]
    fn nothing_has_a_dtype_and_a_shape() -> Result<()> {
        let x = Tensor::new(&[[1_i16, 2], [3, 4]], &Device::Cpu)?.t()?;
        let none = empty(&x, DType::BF16, (2, 0, 3))?;
        assert_eq!((none.dims(), none.dtype()), (&[2, 0, 3][..], DType::BF16));
        Ok(())
    }

    #[test]
    fn more_dimensions_than_can_be_copied_are_an_error() -> Result<()> {
        let x = Tensor::zeros(vec![1; 9], DType::I16, &Device::Cpu)?;
        let error = compact(&x).unwrap_err().to_string();
        assert!(
            error.contains("8 dimensions") && error.contains('9'),
            "{error}"
        );
        Ok(())
    }
}
