//! Reductions and scans along an axis of an array.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
pub(crate) mod launches;
pub(crate) mod plan;
mod shape;
mod tuning;
pub(crate) mod vectors;

pub use shape::Axis;
pub use vectors::{segmented_reduce_vectors, segmented_reduce_vectors_from};

#[cfg(feature = "cuda")]
use crate::cuda::Gpu;
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::primitives::scan::Prefixes;
use crate::primitives::segmented::{self, Rows};
use crate::source::{Form, Host, Source};
#[cfg(feature = "cuda")]
use crate::source::{Slice, SliceArguments};
use crate::{Buffer, Device, Element, Error, Monoid, Result};

/// The fold of each lane of an array along an axis, in the order of the lanes: NumPy's
/// `ufunc.reduce` with an `axis`. Lanes without items give the identity.
///
/// Each result is bit for bit what [`reduce`](crate::reduce()) gives for that lane alone.
/// [`Device::for_host_data`] says where it runs.
///
/// Complexity: O(n) work. Each item is read once. Memory on the CPU: the result, and up to 64 KiB
/// for each thread.
///
/// ```
/// use warpfold::{Axis, ops::Add, reduce_axis};
///
/// // Two matrices of 2 × 3.
/// let x: Vec<u32> = (1..=12).collect();
/// assert_eq!(reduce_axis::<u32, Add>(&x, Axis::of(&[2, 2, 3], 2)?)?, [6, 15, 24, 33]);
/// assert_eq!(reduce_axis::<u32, Add>(&x, Axis::of(&[2, 2, 3], 1)?)?, [5, 7, 9, 17, 19, 21]);
/// assert_eq!(reduce_axis::<u32, Add>(&x, Axis::of(&[2, 2, 3], 0)?)?, [8, 10, 12, 14, 16, 18]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Axis`] if the input does not hold the array; [`Error::Zip`] if zipped sources have
/// different lengths; [`Error::OutOfHostMemory`] if there is no room for the result. If
/// `WARPFOLD_DEVICE` is set: those of [`Device::for_host_data`], and if it names a GPU, those of
/// [`Device::upload`] and [`Device::reduce_axis`].
pub fn reduce_axis<T: Element, Op: Monoid<T>>(
    input: impl Source<Item = T>,
    axis: Axis,
) -> Result<Vec<T>> {
    axis.check(input.items()?)?;
    match axis.is_rows() {
        true => segmented::segmented_reduce::<T, Op>(input, Rows::new(axis.outer, axis.len)),
        false => {
            reduce_on::<Host, T, Op, _>(&Device::for_host_data()?, input, axis, None)?.into_vec()
        }
    }
}

/// The fold of `init` and each lane: bit for bit what [`reduce_from`](crate::reduce_from) gives for
/// it. Otherwise as [`reduce_axis`].
///
/// ```
/// use warpfold::{Axis, ops::Min, reduce_axis_from};
/// assert_eq!(reduce_axis_from::<i32, Min>(3, &[1, 7, 5, 2], Axis::of(&[2, 2], 0)?)?, [1, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`reduce_axis`].
pub fn reduce_axis_from<T: Element, Op: Monoid<T>>(
    init: T,
    input: impl Source<Item = T>,
    axis: Axis,
) -> Result<Vec<T>> {
    axis.check(input.items()?)?;
    let rows = Rows::new(axis.outer, axis.len);
    match axis.is_rows() {
        true => segmented::segmented_reduce_from::<T, Op>(init, input, rows),
        false => reduce_on::<Host, T, Op, _>(&Device::for_host_data()?, input, axis, Some(init))?
            .into_vec(),
    }
}

/// The prefixes of each lane of an array along an axis, as an array of its shape without gaps:
/// `numpy.cumsum` with an `axis`, for any operator and any form of [`Prefixes`].
///
/// Each lane is bit for bit what a scan gives for it alone. [`Device::for_host_data`] says where it
/// runs.
///
/// Complexity: O(n) work. Memory on the CPU: the result, and up to 64 KiB for each thread. Where
/// lanes are fewer than threads, each item is read twice.
///
/// ```
/// use warpfold::{Axis, Prefixes, ops::Add, scan_axis};
///
/// let matrix = [
///     1, 2, 3, //
///     4, 5, 6,
/// ];
/// let down = scan_axis::<u32, Add>(Prefixes::inclusive(), &matrix, Axis::of(&[2, 3], 0)?)?;
/// assert_eq!(down, [1, 2, 3, 5, 7, 9]);
/// let left = Prefixes::inclusive().reverse();
/// assert_eq!(scan_axis::<u32, Add>(left, &matrix, Axis::of(&[2, 3], 1)?)?, [6, 5, 3, 15, 11, 6]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`reduce_axis`].
pub fn scan_axis<T: Element, Op: Monoid<T>>(
    prefixes: Prefixes<T>,
    input: impl Source<Item = T>,
    axis: Axis,
) -> Result<Vec<T>> {
    axis.check(input.items()?)?;
    match axis.is_rows() {
        true => {
            let rows = Rows::new(axis.outer, axis.len);
            segmented::segmented_scan::<T, Op>(prefixes, input, rows)
        }
        false => {
            scan_on::<Host, T, Op, _>(&Device::for_host_data()?, prefixes, input, axis)?.into_vec()
        }
    }
}

/// Replaces each item of an array by its prefix along an axis. What lies in the gaps of the array
/// stays as it is. Otherwise as [`scan_axis`].
///
/// ```
/// use warpfold::{Axis, Prefixes, ops::Max, scan_axis_in_place};
///
/// let mut matrix = [1, 5, 3, 4];
/// scan_axis_in_place::<i32, Max>(Prefixes::inclusive(), Axis::of(&[2, 2], 0)?, &mut matrix)?;
/// assert_eq!(matrix, [1, 5, 3, 5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan_axis`].
pub fn scan_axis_in_place<T: Element, Op: Monoid<T>>(
    prefixes: Prefixes<T>,
    axis: Axis,
    data: &mut [T],
) -> Result<()> {
    const { assert_element_size::<T>() };
    axis.check(data.len())?;
    if axis.is_rows() {
        let rows = Rows::new(axis.outer, axis.len);
        return segmented::segmented_scan_in_place::<T, Op>(prefixes, data, rows);
    }
    let device = Device::for_host_data()?;
    if device.is_cpu() {
        let target = data.as_mut_ptr();
        // SAFETY: the slice is borrowed for writing, and holds the array.
        unsafe { cpu::scan::<T, Op>(cpu::Input::InPlace, &axis, prefixes, target, &axis) };
        return Ok(());
    }
    let mut buffer = device.upload(data)?;
    device.scan_axis_in_place::<T, Op>(prefixes, axis, &mut buffer)?;
    data.copy_from_slice(&buffer.into_vec()?);
    Ok(())
}

/// # Axes
///
/// Each lane gets bit for bit what [`reduce`](Device::reduce) or a scan gives for it alone. On a
/// GPU a call is one launch where lanes are many; where they are few and long it takes a launch for
/// each level of chunks that they are cut into, and a scan reads each item twice. Calls do not wait
/// for the result. Memory: the result, and a workspace that the device keeps, below 3% of the
/// input's size but for arrays of few items a lane.
///
/// # Errors
///
/// Of every method: [`Error::Axis`] if the input does not hold the array; [`Error::WrongDevice`] if
/// a buffer lives elsewhere; [`Error::Zip`] if zipped sources have different lengths;
/// [`Error::Library`] without NVRTC; [`Error::Compile`] if an operator's CUDA text is wrong;
/// [`Error::OutOfMemory`], after which the device is usable as before; [`Error::Driver`].
impl Device {
    /// The fold of each lane along an axis; see [`reduce_axis`](crate::reduce_axis).
    pub fn reduce_axis<T: Element, Op: Monoid<T>>(
        &self,
        input: impl Source<Device, Item = T>,
        axis: Axis,
    ) -> Result<Buffer<T>> {
        self.reduce_lanes::<T, Op, _>(None, input, axis)
    }

    /// The fold of `init` and each lane; see [`reduce_axis_from`](crate::reduce_axis_from).
    pub fn reduce_axis_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: impl Source<Device, Item = T>,
        axis: Axis,
    ) -> Result<Buffer<T>> {
        self.reduce_lanes::<T, Op, _>(Some(init), input, axis)
    }

    fn reduce_lanes<T: Element, Op: Monoid<T>, S: Source<Device, Item = T>>(
        &self,
        init: Option<T>,
        input: S,
        axis: Axis,
    ) -> Result<Buffer<T>> {
        axis.check(input.items()?)?;
        let rows = Rows::new(axis.outer, axis.len);
        match (axis.is_rows(), init) {
            (true, _) if axis.outer == 1 => {
                let mut fold = self.allocate(1)?;
                self.reduce_into::<T, Op>(init, input, &mut fold)?;
                Ok(fold)
            }
            (true, None) => self.segmented_reduce::<T, Op>(input, rows),
            (true, Some(init)) => self.segmented_reduce_from::<T, Op>(init, input, rows),
            (false, _) => reduce_on::<Device, T, Op, _>(self, input, axis, init),
        }
    }

    /// The fold of each lane, or of `init` and each lane, into `output`, which has an element for
    /// each lane.
    ///
    /// ```
    /// use warpfold::{Axis, Device, ops::Add};
    ///
    /// let device = Device::cpu();
    /// let matrix = device.upload(&[1, 2, 3, 4])?;
    /// let mut sums = device.allocate(2)?;
    /// device.reduce_axis_into::<i32, Add>(None, &matrix, Axis::of(&[2, 2], 0)?, &mut sums)?;
    /// assert_eq!(sums.to_vec()?, [4, 6]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Also [`Error::Length`] if `output` has another length. Then it is as it was.
    pub fn reduce_axis_into<T: Element, Op: Monoid<T>>(
        &self,
        init: Option<T>,
        input: impl Source<Device, Item = T>,
        axis: Axis,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.check_owns(output)?;
        axis.check(input.items()?)?;
        Error::check_length(axis.lanes(), output.len())?;
        match &self.backend {
            _ if axis.is_rows() && axis.outer == 1 => {
                self.reduce_into::<T, Op>(init, input, output)
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) if !axis.is_rows() => {
                let call = Call::<Device>::on(self);
                reduce_to::<T, Op, _>(gpu, &call.bind(&input)?, axis, init, output)
            }
            _ => output.replace(self.reduce_lanes::<T, Op, _>(init, input, axis)?),
        }
    }

    /// The prefixes of each lane along an axis; see [`scan_axis`](crate::scan_axis).
    pub fn scan_axis<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        input: impl Source<Device, Item = T>,
        axis: Axis,
    ) -> Result<Buffer<T>> {
        axis.check(input.items()?)?;
        match axis.is_rows() {
            true => {
                let rows = Rows::new(axis.outer, axis.len);
                self.segmented_scan::<T, Op>(prefixes, input, rows)
            }
            false => scan_on::<Device, T, Op, _>(self, prefixes, input, axis),
        }
    }

    /// The prefixes of each lane along an axis into `output`, an array without gaps.
    ///
    /// ```
    /// use warpfold::{Axis, Device, Prefixes, ops::Add};
    ///
    /// let (device, prefixes) = (Device::cpu(), Prefixes::inclusive());
    /// let matrix = device.upload(&[1, 2, 3, 4])?;
    /// let mut sums = device.allocate(4)?;
    /// device.scan_axis_into::<i32, Add>(prefixes, &matrix, Axis::of(&[2, 2], 0)?, &mut sums)?;
    /// assert_eq!(sums.to_vec()?, [1, 2, 4, 6]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Also [`Error::Length`] if `output` has another length. Then it is as it was.
    pub fn scan_axis_into<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        input: impl Source<Device, Item = T>,
        axis: Axis,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.check_owns(output)?;
        axis.check(input.items()?)?;
        Error::check_length(axis.items(), output.len())?;
        match &self.backend {
            _ if axis.is_rows() && axis.outer == 1 => {
                self.scan_into::<T, Op>(prefixes, input, output)
            }
            _ if axis.is_rows() => {
                let rows = Rows::new(axis.outer, axis.len);
                self.segmented_scan_into::<T, Op>(prefixes, input, rows, output)
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let call = Call::<Device>::on(self);
                scan_to::<T, Op, _>(gpu, &call.bind(&input)?, axis, prefixes, output)
            }
            Backend::Cpu => {
                let results = scan_on::<Device, T, Op, _>(self, prefixes, input, axis)?;
                output.replace(results)
            }
        }
    }

    /// Replaces each item of an array by its prefix along an axis; see
    /// [`scan_axis_in_place`](crate::scan_axis_in_place).
    pub fn scan_axis_in_place<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        axis: Axis,
        data: &mut Buffer<T>,
    ) -> Result<()> {
        const { assert_element_size::<T>() };
        self.check_owns(data)?;
        axis.check(data.len())?;
        if axis.is_rows() {
            let rows = Rows::new(axis.outer, axis.len);
            return self.segmented_scan_in_place::<T, Op>(prefixes, data, rows);
        }
        let address = data.address_mut();
        match &self.backend {
            Backend::Cpu => {
                let (input, target) = (cpu::Input::InPlace, address as *mut T);
                // SAFETY: the buffer is borrowed for writing, and holds the array.
                unsafe { cpu::scan::<T, Op>(input, &axis, prefixes, target, &axis) };
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let source = SliceArguments { address };
                let target = (address, &axis);
                // SAFETY: as above.
                unsafe { cuda::scan_on::<T, Op, Slice<T>>(gpu, source, &axis, prefixes, target) }
            }
        }
    }
}

fn reduce_on<P: OnDevice, T: Element, Op: Monoid<T>, S: Source<P, Item = T>>(
    device: &Device,
    input: S,
    axis: Axis,
    init: Option<T>,
) -> Result<Buffer<T>> {
    let call = Call::<P>::on(device);
    reduce_bound::<T, Op, _>(call.bind(&input)?, axis, init)
}

fn reduce_bound<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    input: Bound<'_, F>,
    axis: Axis,
    init: Option<T>,
) -> Result<Buffer<T>> {
    const { assert_element_size::<T>() };
    axis.check(input.len())?;
    let (device, lanes) = (input.device(), axis.lanes());
    let mut folds = Buffer::<T>::reserve(device, lanes)?;
    match &device.backend {
        Backend::Cpu => {
            let room = &mut folds.spare()[..lanes];
            input.with_items(|items| cpu::reduce::<T, Op>(items, &axis, init, room));
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => reduce_to::<T, Op, F>(gpu, &input, axis, init, &mut folds)?,
    }
    // SAFETY: all results are written.
    unsafe { folds.set_len(lanes) };
    Ok(folds)
}

fn scan_on<P: OnDevice, T: Element, Op: Monoid<T>, S: Source<P, Item = T>>(
    device: &Device,
    prefixes: Prefixes<T>,
    input: S,
    axis: Axis,
) -> Result<Buffer<T>> {
    let call = Call::<P>::on(device);
    scan_bound::<T, Op, _>(call.bind(&input)?, axis, prefixes)
}

fn scan_bound<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    input: Bound<'_, F>,
    axis: Axis,
    prefixes: Prefixes<T>,
) -> Result<Buffer<T>> {
    const { assert_element_size::<T>() };
    axis.check(input.len())?;
    let (device, all, to) = (input.device(), axis.items(), axis.compact());
    let mut results = Buffer::<T>::reserve(device, all)?;
    match &device.backend {
        Backend::Cpu => {
            let target = results.spare().as_mut_ptr().cast::<T>();
            input.with_items(|items| {
                let input = cpu::Input::Source(items);
                // SAFETY: the source holds the array, and there is room for all results.
                unsafe { cpu::scan::<T, Op>(input, &axis, prefixes, target, &to) };
            });
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => scan_to::<T, Op, F>(gpu, &input, axis, prefixes, &mut results)?,
    }
    // SAFETY: all results are written.
    unsafe { results.set_len(all) };
    Ok(results)
}

/// Reduces into a buffer, which has memory for the results.
#[cfg(feature = "cuda")]
fn reduce_to<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    gpu: &Gpu,
    input: &Bound<'_, F>,
    axis: Axis,
    init: Option<T>,
    output: &mut Buffer<T>,
) -> Result<()> {
    const { assert_element_size::<T>() };
    let out = output.address_mut();
    // SAFETY: the source is on this GPU, and holds the array. There is room for all results.
    unsafe { cuda::reduce_on::<T, Op, F>(gpu, input.arguments(), &axis, init, out) }
}

/// Scans into a buffer, which has memory for the results.
#[cfg(feature = "cuda")]
fn scan_to<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    gpu: &Gpu,
    input: &Bound<'_, F>,
    axis: Axis,
    prefixes: Prefixes<T>,
    output: &mut Buffer<T>,
) -> Result<()> {
    const { assert_element_size::<T>() };
    let (source, target) = (input.arguments(), (output.address_mut(), &axis.compact()));
    // SAFETY: the source is on this GPU, and holds the array. There is room for all results.
    unsafe { cuda::scan_on::<T, Op, F>(gpu, source, &axis, prefixes, target) }
}
