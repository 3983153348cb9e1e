//! Where work is done.

mod buffer;
mod call;
mod source;

pub use buffer::{Buffer, BufferView};
pub(crate) use call::{Bound, Call, OnDevice};
pub(crate) use source::DeviceBinder;

use crate::cpu::concat::concat;
use crate::source::{Slice, Source};
use crate::{Element, Error, Result};
pub(crate) use buffer::Storage;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// The environment variable that says where calls on host data run.
const DEVICE_VARIABLE: &str = "WARPFOLD_DEVICE";

/// The CPU, or one NVIDIA GPU.
///
/// Results do not depend on the device; only speed does. A `Device` is cheap to clone, and many
/// threads may use it. Each GPU device has a stream of its own, on which its calls run in the order
/// in which they were made.
///
/// ```
/// use warpfold::{Device, Prefixes, ops::Add};
///
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::cpu());
/// let mut samples = device.upload(&[1.5_f32, -0.5, 2.0])?;
/// device.scan_in_place::<f32, Add>(Prefixes::inclusive(), &mut samples)?;
/// assert_eq!(samples.to_vec()?, [1.5, 1.0, 3.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) backend: Backend,
}

#[derive(Debug, Clone)]
pub(crate) enum Backend {
    Cpu,
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::Gpu),
}

impl Device {
    /// The CPU: all threads of rayon's current pool.
    pub fn cpu() -> Device {
        Device {
            backend: Backend::Cpu,
        }
    }

    /// The NVIDIA GPU that CUDA numbers `ordinal`. Every call with that number gives the same
    /// device, which has a stream of its own in the GPU's primary context.
    ///
    /// The driver keeps memory that buffers leave for the next ones, up to an eighth of the GPU's.
    /// Otherwise each wait for the GPU would give it back: on an H200 a result of 1 GiB then costs
    /// 2 ms more. If your program has set the release threshold of the GPU's default memory pool,
    /// that stands.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without the CUDA driver, [`Error::NoDevice`] if there are fewer GPUs,
    /// [`Error::Driver`] if the driver fails, [`Error::Feature`] if the crate was built without
    /// `cuda`. NVRTC is not needed until a kernel is.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        #[cfg(feature = "cuda")]
        return Ok(Device {
            backend: Backend::Cuda(crate::cuda::Gpu::get(ordinal)?),
        });
        #[cfg(not(feature = "cuda"))]
        {
            let _ = ordinal;
            Err(Error::Feature { feature: "cuda" })
        }
    }

    /// The GPU of a stream of yours, on which its calls are enqueued in their order: what they read
    /// must be ready there, and their results are. Each call of this function gives another device,
    /// with a workspace of its own that is freed on the stream. So keep it, and drop it before the
    /// stream is destroyed. Freed memory is kept as [`cuda`](Device::cuda) says.
    ///
    /// ```no_run
    /// use warpfold::{Device, cuda::cudarc::driver::CudaContext, ops::Add};
    ///
    /// let stream = CudaContext::new(0)?.default_stream();
    /// let samples = stream.clone_htod(&vec![1_u32; 1 << 20])?;
    /// let device = Device::on_stream(&stream);
    /// let (address, len) = (samples.leak(), 1 << 20);
    /// // SAFETY: that many numbers lie there, and the stream has written them.
    /// let samples = unsafe { device.borrow::<u32>(address, len)? };
    /// assert_eq!(device.reduce::<u32, Add>(&samples)?, 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "cuda")]
    pub fn on_stream(stream: &std::sync::Arc<cudarc::driver::CudaStream>) -> Device {
        Device {
            backend: Backend::Cuda(crate::cuda::Gpu::on(stream)),
        }
    }

    /// A buffer over memory that belongs to somebody else, who frees it: for results in a place of
    /// yours, and for arrays of other libraries.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] if the device is the CPU.
    ///
    /// # Safety
    ///
    /// At `address` there are `len` elements that the device can access, aligned to their size as
    /// far as that is a power of two. They stay there until the buffer is dropped and the calls
    /// with it have ended. Meanwhile nobody else writes them, and if a call writes them nobody
    /// reads them, but in the order of the device's stream.
    #[cfg(feature = "cuda")]
    pub unsafe fn borrow<T: Element>(&self, address: u64, len: usize) -> Result<Buffer<T>> {
        match &self.backend {
            Backend::Cpu => Err(Error::WrongDevice {
                buffer: "a GPU's memory".to_owned(),
                device: self.to_string(),
            }),
            Backend::Cuda(gpu) => Ok(Buffer {
                device: self.clone(),
                // SAFETY: the caller's.
                storage: Storage::Cuda(unsafe { gpu.borrow(address, len) }),
            }),
        }
    }

    /// All devices: the CPU, then every GPU that can be used.
    ///
    /// If a GPU is missing, [`Device::cuda`] says why.
    pub fn available() -> Vec<Device> {
        #[cfg(feature = "cuda")]
        let gpus = crate::cuda::Gpu::count().unwrap_or(0);
        #[cfg(not(feature = "cuda"))]
        let gpus = 0;
        let gpus = (0..gpus).filter_map(|ordinal| Device::cuda(ordinal).ok());
        std::iter::once(Device::cpu()).chain(gpus).collect()
    }

    /// The device that the environment variable `WARPFOLD_DEVICE` names: `cpu`, `cuda` (which is
    /// `cuda:0`) or `cuda:N`. `None` if it is not set, or empty.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceName`] if it says something else, and the errors of [`Device::cuda`].
    pub fn from_env() -> Result<Option<Device>> {
        match std::env::var_os(DEVICE_VARIABLE) {
            None => Ok(None),
            Some(text) if text.is_empty() => Ok(None),
            Some(text) => parse(&text.to_string_lossy(), DEVICE_VARIABLE).map(Some),
        }
    }

    /// The device that the functions on host slices run on: the one that `WARPFOLD_DEVICE` names,
    /// or else the CPU. The variable is read once: the first call that finds the device decides for
    /// all.
    ///
    /// Why the CPU: the data is there. It reads its memory faster than the bus can copy it to a
    /// GPU, so a GPU cannot win a single pass over host data (`BENCHMARKS.md` has the figures). It
    /// wins for data that stays there; keep such data in a [`Buffer`].
    ///
    /// # Errors
    ///
    /// As [`Device::from_env`].
    pub fn for_host_data() -> Result<Device> {
        static NAMED: OnceLock<Device> = OnceLock::new();
        if let Some(device) = NAMED.get() {
            return Ok(device.clone());
        }
        let device = Device::from_env()?.unwrap_or_else(Device::cpu);
        Ok(NAMED.get_or_init(|| device).clone())
    }

    /// Whether this is the CPU.
    pub fn is_cpu(&self) -> bool {
        matches!(self.backend, Backend::Cpu)
    }

    /// What the device is, in words. Of a GPU: model, memory and compute capability. Of the CPU:
    /// the number of threads that calls from here would use.
    pub fn description(&self) -> String {
        match &self.backend {
            Backend::Cpu => format!("{} threads", rayon::current_num_threads()),
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => gpu.description(),
        }
    }

    /// A buffer of `len` elements. All bytes are zero.
    ///
    /// # Errors
    ///
    /// As [`Device::upload`].
    pub fn allocate<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        let storage = match &self.backend {
            Backend::Cpu => {
                let bytes = len.saturating_mul(size_of::<T>());
                let zeros = bytemuck::allocation::try_zeroed_vec(len)
                    .map_err(|()| Error::OutOfHostMemory { requested: bytes })?;
                Storage::Cpu(zeros)
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => Storage::Cuda(gpu.allocate_zeroed(len)?),
        };
        Ok(Buffer {
            device: self.clone(),
            storage,
        })
    }

    /// Copies `data` to the device.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] or [`Error::OutOfHostMemory`], with the sizes; [`Error::Driver`].
    pub fn upload<T: Element>(&self, data: &[T]) -> Result<Buffer<T>> {
        let storage = match &self.backend {
            Backend::Cpu => {
                let mut copy = crate::cpu::memory::reserve(data.len())?;
                copy.extend_from_slice(data);
                Storage::Cpu(copy)
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => Storage::Cuda(gpu.upload(data)?),
        };
        Ok(Buffer {
            device: self.clone(),
            storage,
        })
    }

    /// Moves `data` to the device. Copies nothing if that is the CPU.
    ///
    /// # Errors
    ///
    /// As [`Device::upload`].
    pub fn upload_vec<T: Element>(&self, data: Vec<T>) -> Result<Buffer<T>> {
        match &self.backend {
            Backend::Cpu => Ok(Buffer {
                device: self.clone(),
                storage: Storage::Cpu(data),
            }),
            #[cfg(feature = "cuda")]
            Backend::Cuda(_) => self.upload(&data),
        }
    }

    /// The elements of all parts, one part behind another, in a new buffer: NumPy's `concatenate`.
    /// The parts are buffers of this device, or [slices](Buffer::slice) of them, of any lengths.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::cpu();
    /// let (a, b) = (device.upload(&[1, 2, 3])?, device.upload(&[4, 5])?);
    /// assert_eq!(device.concat(&[&a, &b])?.to_vec()?, [1, 2, 3, 4, 5]);
    /// assert_eq!(device.concat(&[b.slice(1..), a.slice(..2)])?.to_vec()?, [5, 1, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// Every element is read once and written once, and none goes by way of the host. On the CPU
    /// all threads copy. On a GPU each part is a copy on the device's stream, which the call does
    /// not wait for. Memory: the new buffer.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] if a part lives elsewhere; [`Error::OutOfMemory`] or
    /// [`Error::OutOfHostMemory`], also if there are more elements than can be counted;
    /// [`Error::Driver`].
    pub fn concat<T: Element, S>(&self, parts: &[S]) -> Result<Buffer<T>>
    where
        S: Source<Device, Item = T, Form = Slice<T>>,
    {
        let mut binder = DeviceBinder::new(self);
        let mut bound = Vec::with_capacity(parts.len());
        for part in parts {
            bound.push((part.bind(&mut binder)?.address, part.items()?));
        }
        let lengths = bound.iter().map(|&(_, len)| len);
        let len = lengths.fold(0, usize::saturating_add);
        let mut all = Buffer::reserve(self, len)?;
        // SAFETY: the binder saw to it that all parts are on this device; they are borrowed, and
        // have no part in what was reserved. That has room for all of them, and is written.
        unsafe {
            match &self.backend {
                Backend::Cpu => {
                    let slice = |&(address, len): &(u64, usize)| {
                        std::slice::from_raw_parts(address as *const T, len)
                    };
                    let parts: Vec<&[T]> = bound.iter().map(slice).collect();
                    concat(&parts, all.spare());
                }
                #[cfg(feature = "cuda")]
                Backend::Cuda(gpu) => {
                    let mut to = all.address_mut();
                    for (from, len) in bound {
                        gpu.copy(from, to, len * size_of::<T>())?;
                        to += (len * size_of::<T>()) as u64;
                    }
                }
            }
            all.set_len(len);
        }
        Ok(all)
    }

    /// An error unless `buffer` lives on this device.
    pub(crate) fn check_owns<T: Element>(&self, buffer: &Buffer<T>) -> Result<()> {
        let same = match (&self.backend, &buffer.device.backend) {
            (Backend::Cpu, Backend::Cpu) => true,
            #[cfg(feature = "cuda")]
            (Backend::Cuda(this), Backend::Cuda(other)) => this.is_same(other),
            #[cfg(feature = "cuda")]
            _ => false,
        };
        if same {
            return Ok(());
        }
        Err(Error::WrongDevice {
            buffer: buffer.device.to_string(),
            device: self.to_string(),
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.backend {
            Backend::Cpu => f.write_str("cpu"),
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => write!(f, "cuda:{}", gpu.ordinal()),
        }
    }
}

impl FromStr for Device {
    type Err = Error;

    /// Reads `cpu`, `cuda` or `cuda:N`.
    fn from_str(text: &str) -> Result<Device> {
        parse(text, "the device's name")
    }
}

fn parse(text: &str, place: &'static str) -> Result<Device> {
    if text == "cpu" {
        return Ok(Device::cpu());
    }
    match ordinal(text) {
        Some(ordinal) => Device::cuda(ordinal),
        None if names_several(text) => Err(Error::NotYet {
            call: "a call",
            device: format!("several devices, as `{text}` asks for,"),
            remedy: "name one GPU, `cuda:N`; or make a `shards::Group` of the name, which has other calls",
        }),
        None => Err(Error::DeviceName {
            text: text.to_owned(),
            place,
        }),
    }
}

/// The number of the GPU that `cuda` or `cuda:N` names.
fn ordinal(text: &str) -> Option<usize> {
    match text.strip_prefix("cuda")? {
        "" => Some(0),
        rest => rest.strip_prefix(':')?.parse().ok(),
    }
}

/// Whether it says `cuda:all`, or numbers with commas between, or how many parts a CPU has.
fn names_several(text: &str) -> bool {
    if let Some(count) = text.strip_prefix("cpu:") {
        return count.parse::<usize>().is_ok();
    }
    let Some(numbers) = text.strip_prefix("cuda:") else {
        return false;
    };
    let is_number = |number: &str| number.parse::<usize>().is_ok();
    numbers == "all" || (numbers.contains(',') && numbers.split(',').all(is_number))
}

#[cfg(test)]
mod tests {
    use super::{names_several, ordinal};

    #[test]
    fn several_gpus_are_told_from_misspelt_names() {
        for name in ["cuda:all", "cuda:0,1", "cuda:0,1,2", "cpu:2"] {
            assert!(names_several(name), "{name}");
            let error = name.parse::<super::Device>().unwrap_err().to_string();
            assert!(error.contains("cannot run on several devices"), "{error}");
        }
        for name in [
            "cuda", "cuda:0", "cuda:", "cuda:,", "cuda:x,y", "all", "cpu", "cpu:", "cpu:x",
        ] {
            assert!(!names_several(name), "{name}");
        }
    }

    #[test]
    fn the_name_cuda_is_the_first_gpu() {
        assert_eq!(ordinal("cuda"), Some(0));
        assert_eq!(ordinal("cuda:0"), Some(0));
        assert_eq!(ordinal("cuda:7"), Some(7));
        for name in ["cuda:", "cuda0", "cuda:-1", "cuda:x", "CUDA", "gpu", ""] {
            assert_eq!(ordinal(name), None, "{name}");
        }
    }
}
