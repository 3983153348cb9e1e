//! Scan: all prefixes of an array.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod plan;

use crate::buffer::Storage;
use crate::cpu::Prefixes;
use crate::device::Backend;
use crate::element::assert_element_size;
use crate::{Buffer, Device, Element, Error, Monoid, Result};

/// The exclusive scan: element `i` of the result is the fold of `input[..i]`, and the first is the
/// identity.
///
/// Blelloch's scan ("Prefix Sums and Their Applications", CMU-CS-90-190, 1990). Every element of
/// the result is bracketed over the aligned blocks before it (see [the law](crate#the-law)).
/// [`Device::for_host_data`] says where it runs.
///
/// Complexity: O(n) work, in a bracketing O(log n) deep. Memory on the CPU: the result, up to 64
/// KiB for each thread, and less than 1% of the input.
///
/// ```
/// use warpfold::{ops::Add, scan};
/// assert_eq!(scan::<u32, Add>(&[3, 1, 7, 0, 4, 1, 6, 3])?, [0, 3, 4, 11, 11, 15, 16, 22]);
/// assert_eq!(scan::<u32, Add>(&[])?, []);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::OutOfHostMemory`] if there is no room for the result. If `WARPFOLD_DEVICE` is set, also
/// those of [`Device::for_host_data`], and if it names a GPU, those of [`Device::upload`],
/// [`Device::scan`] and [`Buffer::to_vec`].
pub fn scan<T: Element, Op: Monoid<T>>(input: &[T]) -> Result<Vec<T>> {
    scan_slice::<T, Op>(input, None, Prefixes::Exclusive)
}

/// The exclusive scan that starts with `init`: element `i` of the result is the fold of `init` and
/// `input[..i]`.
///
/// The bracketing is `((init ⊕ S₁) ⊕ S₂) ⊕ …`; otherwise as [`scan`].
///
/// ```
/// use warpfold::{ops::Max, scan_from};
/// assert_eq!(scan_from::<i32, Max>(5, &[3, 8, 1])?, [5, 5, 8]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan`].
pub fn scan_from<T: Element, Op: Monoid<T>>(init: T, input: &[T]) -> Result<Vec<T>> {
    scan_slice::<T, Op>(input, Some(init), Prefixes::Exclusive)
}

/// The inclusive scan: element `i` of the result is the fold of `input[..=i]`. Otherwise as
/// [`scan`()].
///
/// ```
/// use warpfold::{inclusive_scan, ops::Add};
/// assert_eq!(inclusive_scan::<u8, Add>(&[100, 100, 100])?, [100, 200, 44]); // integers wrap
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan`].
pub fn inclusive_scan<T: Element, Op: Monoid<T>>(input: &[T]) -> Result<Vec<T>> {
    scan_slice::<T, Op>(input, None, Prefixes::Inclusive)
}

/// The inclusive scan that starts with `init`: element `i` of the result is the fold of `init` and
/// `input[..=i]`.
///
/// The bracketing is `((init ⊕ S₁) ⊕ S₂) ⊕ …`; otherwise as [`scan`].
///
/// ```
/// use warpfold::{inclusive_scan_from, ops::Mul};
/// assert_eq!(inclusive_scan_from::<f64, Mul>(0.5, &[2.0, 3.0])?, [1.0, 3.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan`].
pub fn inclusive_scan_from<T: Element, Op: Monoid<T>>(init: T, input: &[T]) -> Result<Vec<T>> {
    scan_slice::<T, Op>(input, Some(init), Prefixes::Inclusive)
}

fn scan_slice<T: Element, Op: Monoid<T>>(
    input: &[T],
    init: Option<T>,
    prefixes: Prefixes,
) -> Result<Vec<T>> {
    let device = Device::for_host_data()?;
    if device.is_cpu() {
        return scan_to_vec::<T, Op>(input, init, prefixes);
    }
    let mut buffer = device.upload(input)?;
    device.scan_buffer_in_place::<T, Op>(&mut buffer, init, prefixes)?;
    buffer.into_vec()
}

fn scan_to_vec<T: Element, Op: Monoid<T>>(
    input: &[T],
    init: Option<T>,
    prefixes: Prefixes,
) -> Result<Vec<T>> {
    const { assert_element_size::<T>() };
    let mut output = Vec::new();
    output
        .try_reserve_exact(input.len())
        .map_err(|_| Error::OutOfHostMemory {
            requested: size_of_val(input),
        })?;
    cpu::scan::<T, Op>(
        input,
        &mut output.spare_capacity_mut()[..input.len()],
        init,
        prefixes,
    );
    // SAFETY: the capacity is at least `input.len()`, and the scan wrote that many elements.
    unsafe { output.set_len(input.len()) };
    Ok(output)
}

/// # Scan
///
/// The twelve methods are one grid. Each is `scan` or `inclusive_scan`; it starts from the first
/// element, or `_from` an `init`; and it writes to a new buffer, `_into` a given one, or
/// `_in_place`.
///
/// On a GPU a call enqueues one launch for elements of up to 16 bytes, which reads and writes every
/// element once. For longer elements it is one launch up to some thousands of elements, 3 up to a
/// tile squared, and so on; from 3 launches on, every element is read twice. Calls return without
/// waiting; [`Buffer::to_vec`] waits. Memory: a workspace that the device keeps, for the sums of
/// tiles; less than 1% of a long input.
///
/// # Errors
///
/// Of every method: [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Library`] without
/// NVRTC; [`Error::Compile`] if an operator's CUDA text is wrong; [`Error::OutOfMemory`], after
/// which the device is usable as before; [`Error::Driver`]. Of the `_into` methods also
/// [`Error::Length`], if the lengths differ. A call that fails before its first launch leaves the
/// output as it was.
impl Device {
    /// The exclusive scan of `input` into a new buffer; see [`scan`](crate::scan()).
    pub fn scan<T: Element, Op: Monoid<T>>(&self, input: &Buffer<T>) -> Result<Buffer<T>> {
        self.scan_buffer::<T, Op>(input, None, Prefixes::Exclusive)
    }

    /// The exclusive scan from `init` into a new buffer; see [`scan_from`](crate::scan_from()).
    pub fn scan_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        self.scan_buffer::<T, Op>(input, Some(init), Prefixes::Exclusive)
    }

    /// The inclusive scan of `input` into a new buffer; see
    /// [`inclusive_scan`](crate::inclusive_scan()).
    pub fn inclusive_scan<T: Element, Op: Monoid<T>>(
        &self,
        input: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        self.scan_buffer::<T, Op>(input, None, Prefixes::Inclusive)
    }

    /// The inclusive scan from `init` into a new buffer; see
    /// [`inclusive_scan_from`](crate::inclusive_scan_from()).
    pub fn inclusive_scan_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        self.scan_buffer::<T, Op>(input, Some(init), Prefixes::Inclusive)
    }

    /// The exclusive scan of `input` into `output`.
    pub fn scan_into<T: Element, Op: Monoid<T>>(
        &self,
        input: &Buffer<T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.scan_buffer_into::<T, Op>(input, output, None, Prefixes::Exclusive)
    }

    /// The exclusive scan from `init` into `output`.
    pub fn scan_from_into<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: &Buffer<T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.scan_buffer_into::<T, Op>(input, output, Some(init), Prefixes::Exclusive)
    }

    /// The inclusive scan of `input` into `output`.
    pub fn inclusive_scan_into<T: Element, Op: Monoid<T>>(
        &self,
        input: &Buffer<T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.scan_buffer_into::<T, Op>(input, output, None, Prefixes::Inclusive)
    }

    /// The inclusive scan from `init` into `output`.
    pub fn inclusive_scan_from_into<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: &Buffer<T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.scan_buffer_into::<T, Op>(input, output, Some(init), Prefixes::Inclusive)
    }

    /// The exclusive scan of `data`, in its place.
    pub fn scan_in_place<T: Element, Op: Monoid<T>>(&self, data: &mut Buffer<T>) -> Result<()> {
        self.scan_buffer_in_place::<T, Op>(data, None, Prefixes::Exclusive)
    }

    /// The exclusive scan of `data` from `init`, in its place.
    pub fn scan_from_in_place<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        data: &mut Buffer<T>,
    ) -> Result<()> {
        self.scan_buffer_in_place::<T, Op>(data, Some(init), Prefixes::Exclusive)
    }

    /// The inclusive scan of `data`, in its place.
    pub fn inclusive_scan_in_place<T: Element, Op: Monoid<T>>(
        &self,
        data: &mut Buffer<T>,
    ) -> Result<()> {
        self.scan_buffer_in_place::<T, Op>(data, None, Prefixes::Inclusive)
    }

    /// The inclusive scan of `data` from `init`, in its place.
    pub fn inclusive_scan_from_in_place<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        data: &mut Buffer<T>,
    ) -> Result<()> {
        self.scan_buffer_in_place::<T, Op>(data, Some(init), Prefixes::Inclusive)
    }

    fn scan_buffer<T: Element, Op: Monoid<T>>(
        &self,
        input: &Buffer<T>,
        init: Option<T>,
        prefixes: Prefixes,
    ) -> Result<Buffer<T>> {
        self.check_owns(input)?;
        let storage = match (&self.backend, &input.storage) {
            (Backend::Cpu, Storage::Cpu(input)) => {
                Storage::Cpu(scan_to_vec::<T, Op>(input, init, prefixes)?)
            }
            #[cfg(feature = "cuda")]
            (Backend::Cuda(gpu), Storage::Cuda(input)) => {
                let mut output = gpu.allocate(input.len())?;
                gpu.scan::<T, Op>(Some(input), &mut output, init, prefixes)?;
                Storage::Cuda(output)
            }
            #[cfg(feature = "cuda")]
            _ => unreachable!("a buffer's storage is its device's"),
        };
        Ok(Buffer {
            device: self.clone(),
            storage,
        })
    }

    fn scan_buffer_into<T: Element, Op: Monoid<T>>(
        &self,
        input: &Buffer<T>,
        output: &mut Buffer<T>,
        init: Option<T>,
        prefixes: Prefixes,
    ) -> Result<()> {
        const { assert_element_size::<T>() };
        self.check_owns(input)?;
        self.check_owns(output)?;
        if input.len() != output.len() {
            return Err(Error::Length {
                input: input.len(),
                output: output.len(),
            });
        }
        match (&self.backend, &input.storage, &mut output.storage) {
            (Backend::Cpu, Storage::Cpu(input), Storage::Cpu(output)) => {
                // SAFETY: `MaybeUninit<T>` has the layout of `T`, and the scan writes elements
                // only.
                let output =
                    unsafe { &mut *(&raw mut output[..] as *mut [std::mem::MaybeUninit<T>]) };
                cpu::scan::<T, Op>(input, output, init, prefixes);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            (Backend::Cuda(gpu), Storage::Cuda(input), Storage::Cuda(output)) => {
                gpu.scan::<T, Op>(Some(input), output, init, prefixes)
            }
            #[cfg(feature = "cuda")]
            _ => unreachable!("a buffer's storage is its device's"),
        }
    }

    fn scan_buffer_in_place<T: Element, Op: Monoid<T>>(
        &self,
        data: &mut Buffer<T>,
        init: Option<T>,
        prefixes: Prefixes,
    ) -> Result<()> {
        const { assert_element_size::<T>() };
        self.check_owns(data)?;
        match (&self.backend, &mut data.storage) {
            (Backend::Cpu, Storage::Cpu(data)) => {
                cpu::scan_in_place::<T, Op>(data, init, prefixes);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            (Backend::Cuda(gpu), Storage::Cuda(data)) => {
                gpu.scan::<T, Op>(None, data, init, prefixes)
            }
            #[cfg(feature = "cuda")]
            _ => unreachable!("a buffer's storage is its device's"),
        }
    }
}
