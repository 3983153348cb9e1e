//! Collect: the items of a source, evaluated and stored.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
mod tuning;

use crate::device::Backend;
use crate::device::DeviceBinder;
use crate::element::assert_element_size;
use crate::source::{Feeds, Form, HostBinder, Items, Map, Slice, SliceArguments, Source};
use crate::{Buffer, Device, Element, Error, Function, Result};

/// The items of a source, in their order: an elementwise operation, such as NumPy's arithmetic on
/// arrays or Thrust's `transform`.
///
/// ```
/// use warpfold::{collect, function, map, zip};
///
/// #[function]
/// fn sum(x: f32, y: f32) -> f32 {
///     x + y
/// }
///
/// let (a, b) = ([1.0_f32, 2.0], [3.0, 4.0]);
/// assert_eq!(collect(map::<sum, _>(zip(&a, &b)))?, [4.0, 6.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Primitives take sources as they are. So collect what is wanted for itself, or read many times.
///
/// Complexity: O(n) work. Every item is read once and written once. Memory: the result, and on the
/// CPU up to 8 KiB for each thread. [`Device::for_host_data`] says where it runs.
///
/// # Errors
///
/// [`Error::OutOfHostMemory`] if there is no room for the result; [`Error::Zip`] if zipped sources
/// have different lengths. If `WARPFOLD_DEVICE` is set, also those of [`Device::for_host_data`],
/// and if it names a GPU, those of [`Device::upload`], [`Device::collect`] and [`Buffer::to_vec`].
///
/// # Panics
///
/// On the CPU if a function of the source does.
pub fn collect<T: Element>(input: impl Source<Item = T>) -> Result<Vec<T>> {
    collect_host(input)
}

fn collect_host<T: Element, S: Source<Item = T>>(input: S) -> Result<Vec<T>> {
    let device = Device::for_host_data()?;
    let mut binder = HostBinder::new(&device);
    let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
    // SAFETY: the binder gave addresses on the device, and it and the source outlive the call.
    unsafe { device.collect_bound::<T, S::Form>(arguments, len) }?.into_vec()
}

/// Writes the items of a source over `output`, which must have their number. Otherwise as
/// [`collect`].
///
/// ```
/// use warpfold::{collect_into, function, map, zip};
///
/// #[function]
/// fn sum(x: f32, y: f32) -> f32 {
///     x + y
/// }
///
/// let mut output = [0.0; 2];
/// collect_into(map::<sum, _>(zip(&[1.0_f32, 2.0], &[3.0, 4.0])), &mut output)?;
/// assert_eq!(output, [4.0, 6.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`collect`], and [`Error::Length`] if `output` has another length. Then it is as it was.
///
/// # Panics
///
/// On the CPU if a function of the source does. What stands in `output` then is not specified.
pub fn collect_into<T: Element>(input: impl Source<Item = T>, output: &mut [T]) -> Result<()> {
    collect_host_into(input, output)
}

/// Replaces every element of `data` by what `P` makes of it.
///
/// ```
/// use warpfold::{function, map_in_place};
///
/// #[function]
/// fn square(x: f32) -> f32 {
///     x * x
/// }
///
/// let mut samples = [1.0, -2.0, 3.0];
/// map_in_place::<f32, square>(&mut samples)?;
/// assert_eq!(samples, [1.0, 4.0, 9.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`collect`].
///
/// # Panics
///
/// On the CPU if `P` does. What stands in `data` then is not specified.
pub fn map_in_place<T, P>(data: &mut [T]) -> Result<()>
where
    T: Element + Feeds<P::Input>,
    P: Function<Output = T>,
{
    let device = Device::for_host_data()?;
    if device.is_cpu() {
        let address = data.as_mut_ptr() as u64;
        let source = SliceArguments { address };
        // SAFETY: the slice is borrowed for writing. Item `i` is made of element `i` alone.
        return unsafe { device.fill::<T, Map<P, Slice<T>>>(source, data.len(), address, true) };
    }
    let mut buffer = device.upload(data)?;
    device.map_in_place::<T, P>(&mut buffer)?;
    data.copy_from_slice(&buffer.into_vec()?);
    Ok(())
}

fn collect_host_into<T: Element, S: Source<Item = T>>(input: S, output: &mut [T]) -> Result<()> {
    let device = Device::for_host_data()?;
    let mut binder = HostBinder::new(&device);
    let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
    Error::check_length(len, output.len())?;
    if device.is_cpu() {
        let address = output.as_mut_ptr() as u64;
        // SAFETY: the binder gave addresses in host memory, and the source outlives the call. The
        // output has room for all items, and is borrowed for writing.
        return unsafe { device.fill::<T, S::Form>(arguments, len, address, false) };
    }
    // SAFETY: the binder gave addresses on the device; it and the source outlive the call.
    let items = unsafe { device.collect_bound::<T, S::Form>(arguments, len) }?;
    output.copy_from_slice(&items.into_vec()?);
    Ok(())
}

/// # Collect
///
/// Every item is read once and written once, on a GPU in one launch, which the call does not wait
/// for.
///
/// # Errors
///
/// Of every method: [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if zipped
/// sources have different lengths; [`Error::Library`] without NVRTC; [`Error::Compile`] if a
/// function's CUDA text is wrong; [`Error::OutOfMemory`] or [`Error::OutOfHostMemory`];
/// [`Error::Driver`].
///
/// # Panics
///
/// On the CPU if a function of the source does. What stands in an output then is not specified.
impl Device {
    /// The items of a source, in a new buffer; see [`collect`](crate::collect()).
    ///
    /// ```
    /// use warpfold::{Device, function, map};
    ///
    /// #[function]
    /// fn square(x: f32) -> f32 {
    ///     x * x
    /// }
    ///
    /// let device = Device::cpu();
    /// let mut samples = device.upload(&[1.0_f32, -2.0, 3.0])?;
    /// let squares = device.collect(map::<square, _>(&samples))?;
    /// assert_eq!(squares.to_vec()?, [1.0, 4.0, 9.0]);
    ///
    /// device.map_in_place::<f32, square>(&mut samples)?;
    /// assert_eq!(samples.to_vec()?, [1.0, 4.0, 9.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn collect<T: Element>(&self, input: impl Source<Device, Item = T>) -> Result<Buffer<T>> {
        self.collect_source(input)
    }

    /// Writes the items of a source over `output`, which must have their number.
    ///
    /// # Errors
    ///
    /// Also [`Error::Length`] if `output` has another length. Then it is as it was.
    pub fn collect_into<T: Element>(
        &self,
        input: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.collect_source_into(input, output)
    }

    /// Replaces every element of `data` by what `P` makes of it.
    pub fn map_in_place<T, P>(&self, data: &mut Buffer<T>) -> Result<()>
    where
        T: Element + Feeds<P::Input>,
        P: Function<Output = T>,
    {
        self.check_owns(data)?;
        let address = data.address_mut();
        let source = SliceArguments { address };
        // SAFETY: the buffer is borrowed for writing. Item `i` is made of element `i` alone.
        unsafe { self.fill::<T, Map<P, Slice<T>>>(source, data.len(), address, true) }
    }

    fn collect_source<T: Element, S: Source<Device, Item = T>>(
        &self,
        input: S,
    ) -> Result<Buffer<T>> {
        let mut binder = DeviceBinder::new(self);
        let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed.
        unsafe { self.collect_bound::<T, S::Form>(arguments, len) }
    }

    /// Collects into a new buffer.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source in this device's memory, with `len` items, which stays
    /// borrowed.
    pub(crate) unsafe fn collect_bound<T: Element, F: Form<Item = T>>(
        &self,
        arguments: F::Arguments,
        len: usize,
    ) -> Result<Buffer<T>> {
        let mut output = Buffer::<T>::reserve(self, len)?;
        let address = output.address_mut();
        // SAFETY: the caller's. The buffer has room for all items, and all of them are written.
        unsafe {
            self.fill::<T, F>(arguments, len, address, false)?;
            output.set_len(len);
        }
        Ok(output)
    }

    /// Where the items of a source lie in this device's memory: the source itself if it is a slice,
    /// else a new buffer, which is to be kept as long.
    ///
    /// # Safety
    ///
    /// As for [`collect_bound`](Device::collect_bound).
    pub(crate) unsafe fn lying<T: Element, F: Form<Item = T>>(
        &self,
        arguments: F::Arguments,
        len: usize,
    ) -> Result<(u64, Option<Buffer<T>>)> {
        if let Some(address) = F::address(&arguments) {
            return Ok((address, None));
        }
        // SAFETY: the caller's.
        let items = unsafe { self.collect_bound::<T, F>(arguments, len) }?;
        Ok((items.address(), Some(items)))
    }

    fn collect_source_into<T: Element, S: Source<Device, Item = T>>(
        &self,
        input: S,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        let mut binder = DeviceBinder::new(self);
        let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
        self.check_owns(output)?;
        Error::check_length(len, output.len())?;
        let address = output.address_mut();
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed, and
        // the output for writing.
        unsafe { self.fill::<T, S::Form>(arguments, len, address, false) }
    }

    /// Stores all items at an address in this device's memory.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source in this device's memory, with `len` items, which stays
    /// borrowed. There is room for as many at the address, borrowed for writing. In place, item `i`
    /// is made of element `i` alone.
    unsafe fn fill<T: Element, F: Form<Item = T>>(
        &self,
        arguments: F::Arguments,
        len: usize,
        address: u64,
        in_place: bool,
    ) -> Result<()> {
        const { assert_element_size::<T>() };
        match &self.backend {
            // SAFETY: the caller's.
            Backend::Cpu => unsafe {
                Items::with::<F, _>(&arguments, len, |items| {
                    cpu::collect(items, address as *mut T, in_place);
                });
                Ok(())
            },
            #[cfg(feature = "cuda")]
            // SAFETY: the caller's.
            Backend::Cuda(gpu) => unsafe { gpu.collect::<F>(arguments, len, address, in_place) },
        }
    }
}
