//! Collect: the items of a source, evaluated and stored.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
pub(crate) mod launches;
mod tuning;

use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::source::{Feeds, Form, Host, Map, Slice, SliceArguments, Source};
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
    collect_on::<Host, T, _>(&Device::for_host_data()?, input)?.into_vec()
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
        return unsafe {
            let source = Bound::<Map<P, Slice<T>>>::new(&device, source, data.len());
            fill(source, address, true)
        };
    }
    let mut buffer = device.upload(data)?;
    device.map_in_place::<T, P>(&mut buffer)?;
    data.copy_from_slice(&buffer.into_vec()?);
    Ok(())
}

fn collect_host_into<T: Element, S: Source<Item = T>>(input: S, output: &mut [T]) -> Result<()> {
    let device = Device::for_host_data()?;
    let call = Call::<Host>::on(&device);
    let input = call.bind(&input)?;
    Error::check_length(input.len(), output.len())?;
    if device.is_cpu() {
        // SAFETY: the output has room for all items, and is borrowed for writing.
        return unsafe { fill(input, output.as_mut_ptr() as u64, false) };
    }
    output.copy_from_slice(&collected(input)?.into_vec()?);
    Ok(())
}

/// The items of a source in a new buffer, on a device.
pub(crate) fn collect_on<P: OnDevice, T: Element, S: Source<P, Item = T>>(
    device: &Device,
    input: S,
) -> Result<Buffer<T>> {
    let call = Call::<P>::on(device);
    collected(call.bind(&input)?)
}

/// The items of a source in a new buffer.
pub(crate) fn collected<F: Form<Item: Element>>(input: Bound<'_, F>) -> Result<Buffer<F::Item>> {
    let mut output = Buffer::<F::Item>::reserve(input.device(), input.len())?;
    let address = output.address_mut();
    // SAFETY: the buffer has room for all items, and all of them are written.
    unsafe {
        fill(input, address, false)?;
        output.set_len(input.len());
    }
    Ok(output)
}

/// Items that lie in a device's memory, one after the other.
pub(crate) struct Lying<'c, T: Element> {
    address: u64,
    len: usize,
    device: &'c Device,
    /// What was collected lives as long.
    _collected: Option<Buffer<T>>,
}

/// The items of a source where they lie, or else collected.
pub(crate) fn lying<'c, F: Form<Item: Element>>(input: Bound<'c, F>) -> Result<Lying<'c, F::Item>> {
    let (device, len) = (input.device(), input.len());
    let place = F::address(&input.arguments());
    let (address, collected) = match place {
        Some(address) => (address, None),
        None => {
            let items = collected(input)?;
            (items.address(), Some(items))
        }
    };
    Ok(Lying {
        address,
        len,
        device,
        _collected: collected,
    })
}

impl<T: Element> Lying<'_, T> {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Their address, and their number.
    pub(crate) fn place(&self) -> (u64, usize) {
        (self.address, self.len)
    }

    /// The items, on the CPU.
    pub(crate) fn as_slice(&self) -> &[T] {
        assert!(self.device.is_cpu(), "the items are in host memory");
        // SAFETY: they lie there, borrowed or collected; an empty slice has an address, too.
        unsafe { std::slice::from_raw_parts(self.address as *const T, self.len) }
    }
}

/// Writes the items of a source from an address on. `in_place` says that they are read there.
///
/// # Safety
///
/// There is room for all of them in the device's memory, borrowed for writing. If they are read
/// there, item `i` is made of element `i` alone.
unsafe fn fill<F: Form<Item: Element>>(
    input: Bound<'_, F>,
    address: u64,
    in_place: bool,
) -> Result<()> {
    const { assert_element_size::<F::Item>() };
    match &input.device().backend {
        Backend::Cpu => {
            // SAFETY: the caller's.
            input.with_items(|items| unsafe {
                cpu::collect(items, address as *mut F::Item, in_place);
            });
            Ok(())
        }
        #[cfg(feature = "cuda")]
        // SAFETY: the caller's; the source is on this GPU.
        Backend::Cuda(gpu) => unsafe {
            gpu.collect::<F>(input.arguments(), input.len(), address, in_place)
        },
    }
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
        collect_on::<Device, T, _>(self, input)
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
        unsafe {
            let source = Bound::<Map<P, Slice<T>>>::new(self, source, data.len());
            fill(source, address, true)
        }
    }

    fn collect_source_into<T: Element, S: Source<Device, Item = T>>(
        &self,
        input: S,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        let call = Call::<Device>::on(self);
        let input = call.bind(&input)?;
        self.check_owns(output)?;
        Error::check_length(input.len(), output.len())?;
        // SAFETY: the output has room for all items, and is borrowed for writing.
        unsafe { fill(input, output.address_mut(), false) }
    }
}
