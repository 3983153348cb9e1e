//! Reduce: the fold of an array.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod plan;

use crate::buffer::Storage;
use crate::device::Backend;
use crate::element::assert_element_size;
use crate::{Buffer, Device, Element, Monoid, Result};

/// The fold of all elements, and the identity if there are none.
///
/// A tree reduction, bracketed over the aligned blocks of the length (see [the
/// law](crate#the-law)). The result is bitwise the last element of
/// [`inclusive_scan`](crate::inclusive_scan()). The error of a float sum grows with log n.
/// [`Device::for_host_data`] says where it runs.
///
/// Complexity: O(n) work, in a bracketing O(log n) deep. Memory on the CPU: up to 64 KiB for each
/// thread, and less than 1% of the input.
///
/// ```
/// use warpfold::{ops::{Add, Max}, reduce};
/// assert_eq!(reduce::<u64, Add>(&[1, 2, 3, 4])?, 10);
/// assert_eq!(reduce::<f32, Max>(&[])?, f32::NEG_INFINITY);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// None on the CPU. If `WARPFOLD_DEVICE` is set: those of [`Device::for_host_data`], and if it
/// names a GPU, those of [`Device::upload`] and [`Device::reduce`].
pub fn reduce<T: Element, Op: Monoid<T>>(input: &[T]) -> Result<T> {
    reduce_slice::<T, Op>(input, None)
}

/// The fold of `init` and all elements, and `init` if there are none.
///
/// The bracketing is `((init ⊕ S₁) ⊕ S₂) ⊕ …`; otherwise as [`reduce`].
///
/// ```
/// use warpfold::{ops::Min, reduce_from};
/// assert_eq!(reduce_from::<i16, Min>(100, &[300, 200])?, 100);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`reduce`].
pub fn reduce_from<T: Element, Op: Monoid<T>>(init: T, input: &[T]) -> Result<T> {
    reduce_slice::<T, Op>(input, Some(init))
}

fn reduce_slice<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> Result<T> {
    const { assert_element_size::<T>() };
    let device = Device::for_host_data()?;
    if device.is_cpu() {
        return Ok(cpu::reduce::<T, Op>(input, init));
    }
    device.reduce_buffer::<T, Op>(&device.upload(input)?, init)
}

/// # Reduce
///
/// On a GPU a call is one launch that reads every element once, whatever the type and the length.
/// Memory: a workspace that the device keeps, for sums of chunks of the input; less than 1% of a
/// long input.
///
/// # Errors
///
/// Of every method: [`Error::WrongDevice`](crate::Error::WrongDevice) if a buffer lives elsewhere;
/// [`Error::Library`](crate::Error::Library) without NVRTC;
/// [`Error::Compile`](crate::Error::Compile) if an operator's CUDA text is wrong;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), after which the device is usable as before;
/// [`Error::Driver`](crate::Error::Driver).
impl Device {
    /// The fold of `input`, or the identity; see [`reduce`](crate::reduce()). Waits for the result.
    pub fn reduce<T: Element, Op: Monoid<T>>(&self, input: &Buffer<T>) -> Result<T> {
        self.reduce_buffer::<T, Op>(input, None)
    }

    /// The fold of `init` and `input`; see [`reduce_from`](crate::reduce_from()). Waits for the
    /// result.
    pub fn reduce_from<T: Element, Op: Monoid<T>>(&self, init: T, input: &Buffer<T>) -> Result<T> {
        self.reduce_buffer::<T, Op>(input, Some(init))
    }

    fn reduce_buffer<T: Element, Op: Monoid<T>>(
        &self,
        input: &Buffer<T>,
        init: Option<T>,
    ) -> Result<T> {
        const { assert_element_size::<T>() };
        self.check_owns(input)?;
        match (&self.backend, &input.storage) {
            (Backend::Cpu, Storage::Cpu(input)) => Ok(cpu::reduce::<T, Op>(input, init)),
            #[cfg(feature = "cuda")]
            (Backend::Cuda(gpu), Storage::Cuda(input)) => gpu.reduce::<T, Op>(input, init),
            #[cfg(feature = "cuda")]
            _ => unreachable!("a buffer's storage is its device's"),
        }
    }
}
