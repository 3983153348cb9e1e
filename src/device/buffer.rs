//! An array that lives on a device.

use super::Backend;
#[cfg(doc)]
use crate::Error;
use crate::cpu::memory::reserve;
use crate::{Device, Element, Result};
use std::mem::MaybeUninit;
use std::ops::{Bound, Range, RangeBounds};

/// An array of `T` in the memory of a [`Device`].
///
/// [`Device::upload`], [`Device::upload_vec`], [`Device::allocate`] and calls with a new result
/// make one. Between calls the data stays where it is; [`to_vec`](Buffer::to_vec) copies it back.
/// Dropping the buffer frees the memory.
#[derive(Debug)]
pub struct Buffer<T: Element> {
    pub(crate) device: Device,
    pub(crate) storage: Storage<T>,
}

/// Where the elements are. The variant always matches the device's backend.
#[derive(Debug)]
pub(crate) enum Storage<T: Element> {
    Cpu(Vec<T>),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::DeviceArray<T>),
}

impl<T: Element> Buffer<T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.storage {
            Storage::Cpu(data) => data.len(),
            #[cfg(feature = "cuda")]
            Storage::Cuda(data) => data.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device that the data lives on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A buffer of a CPU, which is `device`.
    pub(crate) fn of_host(device: &Device, data: Vec<T>) -> Buffer<T> {
        Buffer {
            device: device.clone(),
            storage: Storage::Cpu(data),
        }
    }

    /// A buffer of length 0, with memory for `len` elements. [`set_len`](Buffer::set_len) says how
    /// many of them were written.
    pub(crate) fn reserve(device: &Device, len: usize) -> Result<Buffer<T>> {
        let storage = match &device.backend {
            Backend::Cpu => Storage::Cpu(reserve(len)?),
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => Storage::Cuda(gpu.allocate(len)?),
        };
        Ok(Buffer {
            device: device.clone(),
            storage,
        })
    }

    /// Gives the buffer its length, and gives host memory back that it does not need.
    ///
    /// # Safety
    ///
    /// The memory was reserved, and so many elements were written.
    pub(crate) unsafe fn set_len(&mut self, len: usize) {
        match &mut self.storage {
            Storage::Cpu(data) => {
                // SAFETY: the caller's.
                unsafe { data.set_len(len) };
                data.shrink_to_fit();
            }
            #[cfg(feature = "cuda")]
            Storage::Cuda(data) => data.truncate(len),
        }
    }

    /// Takes over the elements of another buffer of this device, which has as many. Borrowed memory
    /// is overwritten, since its owner expects them there.
    pub(crate) fn replace(&mut self, by: Buffer<T>) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let (Backend::Cuda(gpu), Storage::Cuda(array)) = (&self.device.backend, &self.storage)
            && array.is_borrowed()
        {
            assert_eq!(self.len(), by.len());
            let bytes = by.len() * size_of::<T>();
            // SAFETY: both are on this GPU, and its stream frees `by` after the copy.
            return unsafe { gpu.copy(by.address(), self.address(), bytes) };
        }
        *self = by;
        Ok(())
    }

    /// Gives up all elements from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        match &mut self.storage {
            Storage::Cpu(data) => data.truncate(len),
            #[cfg(feature = "cuda")]
            Storage::Cuda(data) => data.truncate(len),
        }
    }

    /// Where the elements lie, in the memory of the buffer's device.
    pub(crate) fn address(&self) -> u64 {
        match &self.storage {
            Storage::Cpu(data) => data.as_ptr() as u64,
            #[cfg(feature = "cuda")]
            Storage::Cuda(data) => data.address(),
        }
    }

    /// Where the elements lie, for those who write there.
    pub(crate) fn address_mut(&mut self) -> u64 {
        match &mut self.storage {
            Storage::Cpu(data) => data.as_mut_ptr() as u64,
            #[cfg(feature = "cuda")]
            Storage::Cuda(data) => data.address(),
        }
    }

    /// The elements, if the buffer's device is the CPU.
    pub(crate) fn as_host_mut(&mut self) -> &mut [T] {
        match &mut self.storage {
            Storage::Cpu(data) => data,
            #[cfg(feature = "cuda")]
            Storage::Cuda(_) => unreachable!("a buffer's storage is its device's"),
        }
    }

    /// The memory that was reserved, if the buffer's device is the CPU.
    pub(crate) fn spare(&mut self) -> &mut [MaybeUninit<T>] {
        match &mut self.storage {
            Storage::Cpu(data) => data.spare_capacity_mut(),
            #[cfg(feature = "cuda")]
            Storage::Cuda(_) => unreachable!("a buffer's storage is its device's"),
        }
    }

    /// A copy of the elements in host memory. Waits for the calls that write the buffer.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if a kernel or the copy failed, [`Error::OutOfHostMemory`] if there is no
    /// room for the copy.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.copy(0..self.len())
    }

    fn copy(&self, range: Range<usize>) -> Result<Vec<T>> {
        match &self.storage {
            Storage::Cpu(data) => {
                let data = &data[range];
                let mut copy = reserve(data.len())?;
                copy.extend_from_slice(data);
                Ok(copy)
            }
            #[cfg(feature = "cuda")]
            Storage::Cuda(data) => match &self.device.backend {
                Backend::Cuda(gpu) => gpu.download(data, range),
                Backend::Cpu => unreachable!("a buffer's storage is its device's"),
            },
        }
    }

    /// Some neighbouring elements, as a [source](crate::source). Copies nothing.
    ///
    /// ```
    /// use warpfold::{Device, function, map, zip};
    ///
    /// #[function]
    /// fn difference(x: f32, next: f32) -> f32 {
    ///     next - x
    /// }
    ///
    /// let device = Device::cpu();
    /// let x = device.upload(&[1.0_f32, 4.0, 9.0])?;
    /// let pairs = zip(x.slice(..2), x.slice(1..));
    /// assert_eq!(device.collect(map::<difference, _>(pairs))?.to_vec()?, [3.0, 5.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the range does not lie within the buffer, as a slice's index does.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> BufferView<'_, T> {
        let len = self.len();
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => len,
        };
        assert!(
            start <= end && end <= len,
            "{start}..{end} is no range of a buffer of {len} elements"
        );
        BufferView {
            buffer: self,
            range: start..end,
        }
    }

    /// The elements in host memory. Copies nothing if the device is the CPU.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Buffer::to_vec).
    pub fn into_vec(self) -> Result<Vec<T>> {
        match self.storage {
            Storage::Cpu(data) => Ok(data),
            #[cfg(feature = "cuda")]
            Storage::Cuda(_) => self.to_vec(),
        }
    }
}

impl<T: Element, const N: usize> Buffer<[T; N]>
where
    [T; N]: Element,
{
    /// The elements of all arrays, one array behind another, in the same memory: for buffers what
    /// [`Vec::into_flattened`] is. Copies nothing.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let pairs = Device::cpu().upload(&[[1, 2], [3, 4], [5, 6]])?;
    /// assert_eq!(pairs.into_flattened().to_vec()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn into_flattened(self) -> Buffer<T> {
        let storage = match self.storage {
            Storage::Cpu(data) => Storage::Cpu(data.into_flattened()),
            #[cfg(feature = "cuda")]
            Storage::Cuda(data) => Storage::Cuda(data.into_flattened()),
        };
        Buffer {
            device: self.device,
            storage,
        }
    }
}

impl<T: Element> Buffer<T> {
    /// Arrays of `N` neighbours each, in the same memory. What fills no array is given up. Copies
    /// nothing; but host memory with room to spare gives that back, for which it may move.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let x = Device::cpu().upload(&[1, 2, 3, 4, 5])?;
    /// assert_eq!(x.into_chunks::<2>().to_vec()?, [[1, 2], [3, 4]]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn into_chunks<const N: usize>(mut self) -> Buffer<[T; N]>
    where
        [T; N]: Element,
    {
        const { assert!(N > 0, "an array holds something") };
        self.truncate(self.len() / N * N);
        let storage = match self.storage {
            Storage::Cpu(data) => {
                // A boxed slice has room for no more than its elements.
                let data: Box<[T]> = data.into_boxed_slice();
                Storage::Cpu(bytemuck::allocation::cast_slice_box(data).into_vec())
            }
            #[cfg(feature = "cuda")]
            Storage::Cuda(data) => Storage::Cuda(data.into_chunks()),
        };
        Buffer {
            device: self.device,
            storage,
        }
    }
}

/// Neighbouring elements of a [`Buffer`]; [`Buffer::slice`] makes it. It is a
/// [source](crate::source).
#[derive(Debug, Clone)]
pub struct BufferView<'b, T: Element> {
    pub(crate) buffer: &'b Buffer<T>,
    pub(crate) range: Range<usize>,
}

impl<T: Element> BufferView<'_, T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// A copy of the elements in host memory; see [`Buffer::to_vec`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::to_vec`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.buffer.copy(self.range.clone())
    }
}
