//! Work on one tensor's numbers: written once for each device, chosen by dtype, and handed to
//! candle as an operation with or without a gradient.

use crate::dtype::{Number, fault, with_number};
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CudaStorage, CustomOp1, Layout, Result, Shape, Storage, Tensor};

/// What is done with the numbers of a tensor, giving `N` storages.
pub(crate) trait Job<const N: usize>: Send + Sync {
    /// The operation, for messages.
    fn name(&self) -> &'static str;

    /// Does it on the CPU.
    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; N]>;

    /// Does it on a GPU, in the order of candle's stream.
    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(
        &self,
        gpu: &crate::cuda::Gpu,
        x: &crate::cuda::View<'_, T>,
    ) -> Result<[CudaStorage; N]>;

    /// Does it on the CPU with what lies from the layout's start on, `extent` numbers.
    fn on_cpu(&self, x: &CpuStorage, layout: &Layout, extent: usize) -> Result<[CpuStorage; N]> {
        let range = range(self.name(), layout, extent)?;
        with_number!(x.dtype(), self.name(), T => {
            self.cpu::<T>(slice(x.as_slice::<T>()?, range, self.name())?)
        })
    }

    /// Does it on a GPU.
    #[cfg(feature = "cuda")]
    fn on_cuda(&self, x: &CudaStorage, layout: &Layout, extent: usize) -> Result<[CudaStorage; N]> {
        let range = range(self.name(), layout, extent)?;
        let gpu = crate::cuda::Gpu::of(x.device(), self.name());
        with_number!(x.dtype(), self.name(), T => {
            self.cuda::<T>(&gpu, &gpu.view(x.as_cuda_slice::<T>()?, range)?)
        })
    }

    /// Does it on a GPU: not without the feature `cuda`.
    #[cfg(not(feature = "cuda"))]
    fn on_cuda(&self, _: &CudaStorage, _: &Layout, _: usize) -> Result<[CudaStorage; N]> {
        Err(fault(self.name(), "built without the feature `cuda`"))
    }
}

fn range(name: &str, layout: &Layout, extent: usize) -> Result<std::ops::Range<usize>> {
    let start = layout.start_offset();
    let end = start.checked_add(extent);
    let end = end.ok_or_else(|| fault(name, format!("{extent} numbers from {start} on")))?;
    Ok(start..end)
}

fn slice<'a, T>(all: &'a [T], range: std::ops::Range<usize>, name: &str) -> Result<&'a [T]> {
    let len = all.len();
    all.get(range.clone())
        .ok_or_else(|| fault(name, format!("numbers {range:?} of a storage of {len}")))
}

/// The results of a job, whose `extent` numbers start at the layout's. They have no gradient.
pub(crate) fn run<const N: usize>(
    job: &impl Job<N>,
    x: &Tensor,
    extent: usize,
) -> Result<[Storage; N]> {
    let (storage, layout) = x.storage_and_layout();
    match &*storage {
        Storage::Cpu(x) => Ok(job.on_cpu(x, layout, extent)?.map(Storage::Cpu)),
        Storage::Cuda(x) => Ok(job.on_cuda(x, layout, extent)?.map(Storage::Cuda)),
        Storage::Metal(_) => Err(fault(job.name(), "tensors on Metal are not supported")),
    }
}

/// A tensor without a gradient.
pub(crate) fn plain(storage: Storage, shape: impl Into<Shape>) -> Tensor {
    Tensor::from_storage(storage, shape, candle_core::op::BackpropOp::none(), false)
}

/// The gradient of an operation's input, of the input, the result and its gradient.
pub(crate) type Backward = Box<dyn Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor> + Send + Sync>;

/// The result of a job as a tensor that remembers where it comes from. Without `backward`, asking
/// for a gradient through it is an error.
pub(crate) fn tracked(
    job: impl Job<1> + 'static,
    x: &Tensor,
    extent: usize,
    shape: Shape,
    backward: Option<Backward>,
) -> Result<Tensor> {
    x.apply_op1(Operation {
        job,
        extent,
        shape,
        backward,
    })
}

struct Operation<J> {
    job: J,
    extent: usize,
    shape: Shape,
    backward: Option<Backward>,
}

impl<J: Job<1>> CustomOp1 for Operation<J> {
    fn name(&self) -> &'static str {
        self.job.name()
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let [result] = self.job.on_cpu(storage, layout, self.extent)?;
        Ok((result, self.shape.clone()))
    }

    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let [result] = self.job.on_cuda(storage, layout, self.extent)?;
        Ok((result, self.shape.clone()))
    }

    fn bwd(&self, x: &Tensor, result: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        match &self.backward {
            Some(backward) => backward(x, result, gradient).map(Some),
            None => Err(fault(
                self.name(),
                "no gradient is known for this operation; `detach` the tensor before it if none is needed",
            )),
        }
    }
}

/// The numbers of a contiguous tensor on the CPU.
pub(crate) fn on_cpu<'a, T: Number>(
    name: &str,
    storage: &'a Storage,
    layout: &Layout,
) -> Result<&'a [T]> {
    let Storage::Cpu(numbers) = storage else {
        return Err(fault(name, "the tensors are on different devices"));
    };
    let Some((start, end)) = layout.contiguous_offsets() else {
        return Err(fault(name, "a tensor is not contiguous"));
    };
    slice(numbers.as_slice::<T>()?, start..end, name)
}

/// An error unless both tensors are on one device.
pub(crate) fn same_device(name: &str, x: &Tensor, other: &Tensor) -> Result<()> {
    match x.device().same_device(other.device()) {
        true => Ok(()),
        false => {
            let places = (x.device().location(), other.device().location());
            Err(fault(
                name,
                format!("tensors are on {:?} and on {:?}", places.0, places.1),
            ))
        }
    }
}

/// How many numbers a storage has.
pub(crate) fn len_of(name: &str, storage: &Storage) -> Result<usize> {
    match storage {
        Storage::Cpu(numbers) => {
            with_number!(numbers.dtype(), name, T => Ok(numbers.as_slice::<T>()?.len()))
        }
        #[cfg(feature = "cuda")]
        Storage::Cuda(numbers) => {
            with_number!(numbers.dtype(), name, T => Ok(numbers.as_cuda_slice::<T>()?.len()))
        }
        _ => Err(fault(name, "tensors on this device are not supported")),
    }
}
