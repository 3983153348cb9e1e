//! Reduce: the fold of an array.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
#[cfg(feature = "cuda")]
pub(crate) mod pieces;
mod stream;

pub use stream::Reducer;

use crate::device::Backend;
use crate::element::assert_element_size;
use crate::source::{DeviceBinder, Form, HostBinder, Items, Source};
use crate::{Device, Element, Monoid, Result};

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
/// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths. If
/// `WARPFOLD_DEVICE` is set: those of [`Device::for_host_data`], and if it
/// names a GPU, those of [`Device::upload`] and [`Device::reduce`].
pub fn reduce<T: Element, Op: Monoid<T>>(input: impl Source<Item = T>) -> Result<T> {
    reduce_host::<T, Op, _>(input, None)
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
pub fn reduce_from<T: Element, Op: Monoid<T>>(init: T, input: impl Source<Item = T>) -> Result<T> {
    reduce_host::<T, Op, _>(input, Some(init))
}

fn reduce_host<T: Element, Op: Monoid<T>, S: Source<Item = T>>(
    input: S,
    init: Option<T>,
) -> Result<T> {
    let device = Device::for_host_data()?;
    let mut binder = HostBinder::new(&device);
    let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
    // SAFETY: the binder gave addresses on the device, and it and the source outlive the call.
    unsafe { device.reduce_bound::<T, Op, S::Form>(arguments, len, init) }
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
/// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths;
/// [`Error::Items`](crate::Error::Items) if a GPU is to reduce more than 2^40 items;
/// [`Error::Library`](crate::Error::Library) without NVRTC;
/// [`Error::Compile`](crate::Error::Compile) if an operator's CUDA text is wrong;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), after which the device is usable as before;
/// [`Error::Driver`](crate::Error::Driver).
impl Device {
    /// The fold of `input`, or the identity; see [`reduce`](crate::reduce()). Waits for the result.
    pub fn reduce<T: Element, Op: Monoid<T>>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<T> {
        self.reduce_source::<T, Op, _>(input, None)
    }

    /// The fold of `init` and `input`; see [`reduce_from`](crate::reduce_from()). Waits for the
    /// result.
    pub fn reduce_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: impl Source<Device, Item = T>,
    ) -> Result<T> {
        self.reduce_source::<T, Op, _>(input, Some(init))
    }

    fn reduce_source<T: Element, Op: Monoid<T>, S: Source<Device, Item = T>>(
        &self,
        input: S,
        init: Option<T>,
    ) -> Result<T> {
        let mut binder = DeviceBinder::new(self);
        let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed.
        unsafe { self.reduce_bound::<T, Op, S::Form>(arguments, len, init) }
    }

    /// # Safety
    ///
    /// The arguments are those of a source in this device's memory, with `len` items, which stays
    /// borrowed.
    unsafe fn reduce_bound<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
        &self,
        arguments: F::Arguments,
        len: usize,
        init: Option<T>,
    ) -> Result<T> {
        const { assert_element_size::<T>() };
        match &self.backend {
            Backend::Cpu => {
                // SAFETY: the caller's.
                Ok(unsafe {
                    Items::with_sums::<F, Op, _>(&arguments, len, |items, sum_block| {
                        cpu::reduce::<T, Op>(items, sum_block, init)
                    })
                })
            }
            #[cfg(feature = "cuda")]
            // SAFETY: the caller's.
            Backend::Cuda(gpu) => unsafe { gpu.reduce::<T, Op, F>(arguments, len, init) },
        }
    }
}
