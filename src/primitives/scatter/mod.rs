//! Scatter: stores values at indices. And indices in buffers, which are checked here.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
pub(crate) mod launches;
pub(crate) mod tuning;

use crate::device::{Backend, Bound, Call};
use crate::element::assert_element_size;
use crate::source::{Form, Host, IndexNumber, Indices, Most, Source};
use crate::source::{check_indices, negative_index};
use crate::{Buffer, Device, Element, Error, Result, function, index, map, monoid, zip};

/// Stores each value at its index: `output[indices[i]] = values[i]`. Of values with one index the
/// last is stored, wherever it runs. Places that no index names stay as they are.
///
/// [`Device::for_host_data`] says where it runs. Complexity: O(n + m) work for n values and m
/// places. Memory: 8 bytes for each place, but for short inputs on the CPU.
///
/// ```
/// use warpfold::{Indices, scatter};
///
/// let mut output = [0; 5];
/// scatter(&[10, 20, 30], Indices::new(&[4_u32, 1, 4])?, &mut output)?;
/// assert_eq!(output, [0, 20, 0, 0, 30]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Pairs`] unless there is an index for each value; [`Error::Indices`] if checked indices
/// pass the end of `output`, or if there are values and no places; [`Error::Zip`] if zipped sources
/// have different lengths. Then `output` is as it was. If `WARPFOLD_DEVICE` is set: those of
/// [`Device::for_host_data`], and if it names a GPU, those of [`Device::upload`] and
/// [`Device::scatter`].
pub fn scatter<T, N, V, I>(values: V, indices: Indices<I>, output: &mut [T]) -> Result<()>
where
    T: Element,
    N: IndexNumber,
    V: Source<Item = T>,
    I: Source<Item = N>,
{
    let device = Device::for_host_data()?;
    let call = Call::<Host>::on(&device);
    check(&values, &indices, output.len())?;
    let (values, indices) = (call.bind(&values)?, call.bind(indices.source())?);
    if device.is_cpu() {
        let room = (output.as_mut_ptr() as u64, output.len());
        // SAFETY: the slice is borrowed for writing.
        return unsafe { scatter_bound(values, indices, room) };
    }
    let mut buffer = device.upload(output)?;
    // SAFETY: the buffer is this call's.
    unsafe { scatter_bound(values, indices, (buffer.address_mut(), buffer.len())) }?;
    output.copy_from_slice(&buffer.into_vec()?);
    Ok(())
}

/// An error if the values cannot be stored.
fn check<P, N, V, I>(values: &V, indices: &Indices<I>, places: usize) -> Result<()>
where
    P: crate::source::Place,
    N: IndexNumber,
    V: Source<P>,
    I: Source<P, Item = N>,
{
    let (len, count) = (values.items()?, indices.source().items()?);
    Error::check_pairs(count, len)?;
    indices.check_fits(count, places)
}

/// Stores values at indices.
///
/// # Safety
///
/// There is room for so many elements at the address in the device's memory, borrowed for writing.
unsafe fn scatter_bound<F: Form<Item: Element>, I: Form<Item: IndexNumber>>(
    values: Bound<'_, F>,
    indices: Bound<'_, I>,
    (out, places): (u64, usize),
) -> Result<()> {
    const { assert_element_size::<F::Item>() };
    let len = values.len();
    let (source, indices) = (values.arguments(), indices.arguments());
    match &values.device().backend {
        Backend::Cpu => {
            // SAFETY: the caller's; the sources are in host memory.
            unsafe {
                let out = std::slice::from_raw_parts_mut(out as *mut F::Item, places);
                cpu::scatter::<F, I>(&source, &indices, len, out);
            }
            Ok(())
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let call = cuda::Call {
                values: source,
                indices,
                len,
                places,
                out,
            };
            // SAFETY: the caller's; the sources are on this GPU.
            unsafe { cuda::scatter_on::<F, I>(gpu, call) }
        }
    }
}

/// # Scatter and indices
impl Device {
    /// Stores each value at its index; see [`scatter`](crate::scatter). On a GPU this is three
    /// launches, which the call does not wait for.
    ///
    /// # Errors
    ///
    /// [`Error::Pairs`], [`Error::Indices`] and [`Error::Zip`] as [`scatter`](crate::scatter);
    /// [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Library`] without NVRTC;
    /// [`Error::Compile`] if a function's CUDA text is wrong; [`Error::OutOfMemory`];
    /// [`Error::Driver`].
    pub fn scatter<T, N, V, I>(
        &self,
        values: V,
        indices: Indices<I>,
        output: &mut Buffer<T>,
    ) -> Result<()>
    where
        T: Element,
        N: IndexNumber,
        V: Source<Device, Item = T>,
        I: Source<Device, Item = N>,
    {
        check(&values, &indices, output.len())?;
        let call = Call::<Device>::on(self);
        let (values, indices) = (call.bind(&values)?, call.bind(indices.source())?);
        self.check_owns(output)?;
        let room = (output.address_mut(), output.len());
        // SAFETY: the buffer is on this device, and borrowed for writing.
        unsafe { scatter_bound(values, indices, room) }
    }

    /// Checks indices in a buffer, for any number of calls. Reads them once, and waits for the
    /// answer.
    ///
    /// ```
    /// use warpfold::{Device, gather};
    ///
    /// let device = Device::cpu();
    /// let (x, places) = (device.upload(&[1.5_f32, 2.5])?, device.upload(&[1_u16, 1, 0])?);
    /// let indices = device.indices(&places)?;
    /// assert_eq!(device.collect(gather(&x, indices))?.to_vec()?, [2.5, 2.5, 1.5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Indices`] if one is negative; and those of [`Device::reduce`].
    pub fn indices<'b, N: DeviceIndex>(
        &self,
        indices: &'b Buffer<N>,
    ) -> Result<Indices<&'b Buffer<N>>> {
        self.check_owns(indices)?;
        if self.is_cpu() {
            let numbers = indices.to_vec()?;
            return Ok(Indices::checked(indices, check_indices(&numbers)?));
        }
        let [least, place, most, place_of_most] = N::extremes(self, indices)?;
        if indices.is_empty() {
            return Ok(Indices::checked(indices, None));
        }
        if least == 0 {
            let place = place as usize;
            let number = indices.slice(place..=place).to_vec()?[0];
            return Err(negative_index(place, number.to_i128()));
        }
        let most = Most {
            index: most,
            place: place_of_most as usize,
        };
        Ok(Indices::checked(indices, Some(most)))
    }
}

/// The integers whose buffers hold indices: all that [`IndexNumber`] is for.
pub trait DeviceIndex: IndexNumber {
    /// Of a buffer: 0 if a number is negative, and where the first of them stands; the greatest,
    /// and where it stands first.
    #[doc(hidden)]
    fn extremes(device: &Device, numbers: &Buffer<Self>) -> Result<[u64; 4]>;
}

macro_rules! device_indices {
    ($($number:ident),*) => {$(
        impl DeviceIndex for $number {
            fn extremes(device: &Device, numbers: &Buffer<$number>) -> Result<[u64; 4]> {
                #[function]
                #[allow(unused_comparisons)]
                fn placed(number: $number, place: u64) -> [u64; 4] {
                    [if number < 0 { 0 } else { 1 }, place, number as u64, place]
                }

                let placed = map::<placed, _>(zip(numbers, index(numbers.len())));
                device.reduce::<[u64; 4], Ends>(placed)
            }
        }
    )*};
}

device_indices!(u8, i8, u16, i16, u32, i32, u64, i64);

/// The first negative one, and the first of the greatest.
#[monoid(name = Ends, identity = [u64::MAX, 0, 0, 0], exact)]
fn ends(a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
    let first = if b[0] < a[0] { b } else { a };
    let last = if b[2] > a[2] || a[0] == u64::MAX {
        b
    } else {
        a
    };
    [first[0], first[1], last[2], last[3]]
}
