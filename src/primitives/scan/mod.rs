//! Scan: all prefixes of an array.

pub(crate) mod candidates;
#[cfg(feature = "cuda")]
mod carry;
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
#[cfg(feature = "cuda")]
mod pieces;
mod prefixes;
mod stream;

pub use prefixes::Prefixes;
pub use stream::Scanner;

use crate::device::{Backend, Bound, Call, OnDevice, Storage};
use crate::element::assert_element_size;
#[cfg(feature = "cuda")]
use crate::source::Slice;
use crate::source::{Form, Host, Items, Source};
use crate::{Buffer, Device, Element, Error, Monoid, Result};
use cpu::Output;

/// The exclusive scan: element `i` of the result is the fold of `input[..i]`, and the first is the
/// identity.
///
/// Blelloch's scan ("Prefix Sums and Their Applications", CMU-CS-90-190, 1990). Every element of
/// the result is bracketed over the aligned blocks before it (see [the law](crate#the-law)).
/// [`Device::for_host_data`] says where it runs.
///
/// Complexity: O(n) work, in a bracketing O(log n) deep. Memory on the CPU: the result, up to 64
/// KiB for each thread (192 KiB if the input is not a slice), and less than 1% of the input.
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
/// [`Error::OutOfHostMemory`] if there is no room for the result, [`Error::Zip`] if zipped sources
/// have different lengths. If `WARPFOLD_DEVICE` is set, also
/// those of [`Device::for_host_data`], and if it names a GPU, those of [`Device::upload`],
/// [`Device::scan`] and [`Buffer::to_vec`].
pub fn scan<T: Element, Op: Monoid<T>>(input: impl Source<Item = T>) -> Result<Vec<T>> {
    scan_on::<Host, T, Op, _>(&Device::for_host_data()?, input, Prefixes::exclusive())?.into_vec()
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
pub fn scan_from<T: Element, Op: Monoid<T>>(
    init: T,
    input: impl Source<Item = T>,
) -> Result<Vec<T>> {
    scan_on::<Host, T, Op, _>(
        &Device::for_host_data()?,
        input,
        Prefixes::exclusive().from(init),
    )?
    .into_vec()
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
pub fn inclusive_scan<T: Element, Op: Monoid<T>>(input: impl Source<Item = T>) -> Result<Vec<T>> {
    scan_on::<Host, T, Op, _>(&Device::for_host_data()?, input, Prefixes::inclusive())?.into_vec()
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
pub fn inclusive_scan_from<T: Element, Op: Monoid<T>>(
    init: T,
    input: impl Source<Item = T>,
) -> Result<Vec<T>> {
    scan_on::<Host, T, Op, _>(
        &Device::for_host_data()?,
        input,
        Prefixes::inclusive().from(init),
    )?
    .into_vec()
}

/// Writes the scan of `input` to `output`, of the same length. Otherwise as [`scan`()].
///
/// Memory that was written before is not asked of the operating system again. That takes most of
/// the time of a scan into a new vector.
///
/// ```
/// use warpfold::{Prefixes, ops::Add, scan_into};
///
/// let mut offsets = [0; 3];
/// scan_into::<u32, Add>(Prefixes::exclusive(), &[3, 1, 7], &mut offsets)?;
/// assert_eq!(offsets, [0, 3, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan`], and [`Error::Length`] if the lengths differ. Then `output` is as it was.
pub fn scan_into<T: Element, Op: Monoid<T>>(
    prefixes: Prefixes<T>,
    input: impl Source<Item = T>,
    output: &mut [T],
) -> Result<()> {
    scan_host_into::<T, Op, _>(prefixes, input, output)
}

/// Replaces each element of `data` by its prefix. Otherwise as [`scan_into`].
///
/// ```
/// use warpfold::{Prefixes, ops::Add, scan_in_place};
///
/// let mut totals = [3, 1, 7];
/// scan_in_place::<u32, Add>(Prefixes::inclusive().from(100), &mut totals)?;
/// assert_eq!(totals, [103, 104, 111]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan`].
pub fn scan_in_place<T: Element, Op: Monoid<T>>(
    prefixes: Prefixes<T>,
    data: &mut [T],
) -> Result<()> {
    const { assert_element_size::<T>() };
    let device = Device::for_host_data()?;
    if device.is_cpu() {
        cpu::scan::<T, Op>(&Items::of_slice(&[]), Output::InPlace(data), prefixes);
        return Ok(());
    }
    let mut buffer = device.upload(data)?;
    device.scan_in_place::<T, Op>(prefixes, &mut buffer)?;
    data.copy_from_slice(&buffer.to_vec()?);
    Ok(())
}

fn scan_host_into<T: Element, Op: Monoid<T>, S: Source<Item = T>>(
    prefixes: Prefixes<T>,
    input: S,
    output: &mut [T],
) -> Result<()> {
    const { assert_element_size::<T>() };
    let device = Device::for_host_data()?;
    let call = Call::<Host>::on(&device);
    let input = call.bind(&input)?;
    Error::check_length(input.len(), output.len())?;
    if !device.is_cpu() {
        output.copy_from_slice(&scan_bound::<T, Op, S::Form>(input, prefixes)?.into_vec()?);
        return Ok(());
    }
    input.with_items(|items| {
        // SAFETY: the scan writes elements only.
        let output = unsafe { Output::over(output) };
        cpu::scan::<T, Op>(items, output, prefixes);
    });
    Ok(())
}

fn scan_on<P: OnDevice, T: Element, Op: Monoid<T>, S: Source<P, Item = T>>(
    device: &Device,
    input: S,
    prefixes: Prefixes<T>,
) -> Result<Buffer<T>> {
    let call = Call::<P>::on(device);
    scan_bound::<T, Op, S::Form>(call.bind(&input)?, prefixes)
}

fn scan_bound<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    input: Bound<'_, F>,
    prefixes: Prefixes<T>,
) -> Result<Buffer<T>> {
    const { assert_element_size::<T>() };
    let (device, len) = (input.device(), input.len());
    let mut output = Buffer::<T>::reserve(device, len)?;
    match (&device.backend, &mut output.storage) {
        (Backend::Cpu, Storage::Cpu(output)) => {
            let room = &mut output.spare_capacity_mut()[..len];
            input.with_items(|items| cpu::scan::<T, Op>(items, Output::Into(room), prefixes));
        }
        #[cfg(feature = "cuda")]
        (Backend::Cuda(gpu), Storage::Cuda(output)) => {
            let input = Some((input.arguments(), len));
            // SAFETY: the source is on this GPU.
            unsafe { gpu.scan::<T, Op, F>(input, output, prefixes) }?;
        }
        #[cfg(feature = "cuda")]
        _ => unreachable!("a buffer's storage is its device's"),
    }
    // SAFETY: the scan writes as many elements.
    unsafe { output.set_len(len) };
    Ok(output)
}

/// # Scan
///
/// `scan`, `inclusive_scan` and their `_from` give a new buffer. `scan_into` and `scan_in_place`
/// take the form as a value, [`Prefixes`].
///
/// On a GPU a call enqueues one launch for elements of up to 16 bytes, which reads and writes every
/// element once. So it is for most scans of longer elements. Others take several launches, which
/// read every element twice: [`cuda::Scan`](crate::cuda::Scan) says what that depends on. Calls
/// return without waiting; [`Buffer::to_vec`] waits.
///
/// Memory: a workspace that the device keeps, for the sums of tiles; less than 1% of a long input.
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
    pub fn scan<T: Element, Op: Monoid<T>>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        scan_on::<Device, T, Op, _>(self, input, Prefixes::exclusive())
    }

    /// The exclusive scan from `init` into a new buffer; see [`scan_from`](crate::scan_from()).
    pub fn scan_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        scan_on::<Device, T, Op, _>(self, input, Prefixes::exclusive().from(init))
    }

    /// The inclusive scan of `input` into a new buffer; see
    /// [`inclusive_scan`](crate::inclusive_scan()).
    pub fn inclusive_scan<T: Element, Op: Monoid<T>>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        scan_on::<Device, T, Op, _>(self, input, Prefixes::inclusive())
    }

    /// The inclusive scan from `init` into a new buffer; see
    /// [`inclusive_scan_from`](crate::inclusive_scan_from()).
    pub fn inclusive_scan_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        scan_on::<Device, T, Op, _>(self, input, Prefixes::inclusive().from(init))
    }

    /// The scan of `input` into `output`, of the same length.
    pub fn scan_into<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        input: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.scan_source_into::<T, Op, _>(input, output, prefixes)
    }

    /// The scan of `data`, in its place.
    pub fn scan_in_place<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        data: &mut Buffer<T>,
    ) -> Result<()> {
        const { assert_element_size::<T>() };
        self.check_owns(data)?;
        match (&self.backend, &mut data.storage) {
            (Backend::Cpu, Storage::Cpu(data)) => {
                cpu::scan::<T, Op>(&Items::of_slice(&[]), Output::InPlace(data), prefixes);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            (Backend::Cuda(gpu), Storage::Cuda(data)) => {
                // SAFETY: nothing but the data is read.
                unsafe { gpu.scan::<T, Op, Slice<T>>(None, data, prefixes) }
            }
            #[cfg(feature = "cuda")]
            _ => unreachable!("a buffer's storage is its device's"),
        }
    }

    fn scan_source_into<T: Element, Op: Monoid<T>, S: Source<Device, Item = T>>(
        &self,
        input: S,
        output: &mut Buffer<T>,
        prefixes: Prefixes<T>,
    ) -> Result<()> {
        const { assert_element_size::<T>() };
        let call = Call::<Device>::on(self);
        let input = call.bind(&input)?;
        self.check_owns(output)?;
        Error::check_length(input.len(), output.len())?;
        match (&self.backend, &mut output.storage) {
            (Backend::Cpu, Storage::Cpu(output)) => {
                input.with_items(|items| {
                    // SAFETY: the scan writes elements only.
                    let output = unsafe { Output::over(output) };
                    cpu::scan::<T, Op>(items, output, prefixes);
                });
                Ok(())
            }
            #[cfg(feature = "cuda")]
            (Backend::Cuda(gpu), Storage::Cuda(output)) => {
                let input = Some((input.arguments(), input.len()));
                // SAFETY: the source is on this GPU.
                unsafe { gpu.scan::<T, Op, S::Form>(input, output, prefixes) }
            }
            #[cfg(feature = "cuda")]
            _ => unreachable!("a buffer's storage is its device's"),
        }
    }
}
