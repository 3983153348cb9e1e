//! Reduce: the fold of an array.

pub(crate) mod candidates;
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
#[cfg(feature = "cuda")]
mod pieces;
mod stream;

pub use stream::Reducer;

use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::source::{Form, Host, Source};
use crate::{Buffer, Device, Element, Error, Monoid, Result};

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
/// The fold has the elements' type. **Integers wrap**, also in debug builds. [`sum`](crate::sum())
/// adds up in 64 bits, and [`min`](crate::min()) and [`max`](crate::max()) give nothing of nothing:
///
/// ```
/// use warpfold::{max, ops::Add, reduce, sum};
/// assert_eq!(reduce::<u8, Add>(&[200, 100])?, 44);
/// assert_eq!(sum::<u8>(&[200, 100])?, 300);
/// assert_eq!(max::<f32>(&[])?, None);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Where a part is out of range
///
/// A part of a sum or a product can be out of the range of its type though the whole is not. That
/// part is infinite, and so is the result; or it is NaN, where an infinity meets 0 or the other
/// infinity. Another bracketing can give another result:
///
/// ```
/// use warpfold::{ops::Mul, reduce};
/// let x = [0.0, 1e200, 1e200, 1e200];
/// assert!(reduce::<f64, Mul>(&x)?.is_nan()); // (0 × 1e200) × (1e200 × 1e200)
/// assert_eq!(x.iter().product::<f64>(), 0.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Products of floats
///
/// A product of `n` `f32` near 1 (1 ± 10^-5, say) comes out too small, by n / 2^27 of itself: 0.7%
/// for a million. The errors of a sum have either sign, and cancel; these do not. Below 1 there are
/// twice as many `f32` as above it. So a factor above 1 times one below it lies in the middle
/// between two numbers, less a little, and is rounded down: that happens to one pair in eight. A
/// sequential product loses as much while it is above 1, and nothing below. If the factors spread
/// more, less is lost: for 1 ± 10^-3 a tenth.
///
/// The cure is to fold in `f64`:
///
/// ```
/// use warpfold::{function, map, ops::Mul, reduce};
///
/// #[function]
/// fn as_f64(x: f32) -> f64 {
///     x as f64
/// }
///
/// // A million random numbers, 1 ± up to 10^-5.
/// let mut state = 1_u64;
/// let x: Vec<f32> = (0..1_000_000)
///     .map(|_| {
///         state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
///         1.0 + ((state >> 40) as f32 / 8388608.0 - 1.0) * 1e-5
///     })
///     .collect();
/// let exact: f64 = x.iter().map(|&x| f64::from(x).ln()).sum::<f64>().exp();
/// let error = |product: f64| product / exact - 1.0;
/// let in_f32 = error(f64::from(reduce::<f32, Mul>(&x)?));
/// assert!(-0.0076 < in_f32 && in_f32 < -0.0072, "{in_f32}");
/// let in_f64 = error(reduce::<f64, Mul>(map::<as_f64, _>(&x))?);
/// assert!(in_f64.abs() < 1e-11, "{in_f64}");
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths. If
/// `WARPFOLD_DEVICE` is set: those of [`Device::for_host_data`], and if it
/// names a GPU, those of [`Device::upload`] and [`Device::reduce`].
pub fn reduce<T: Element, Op: Monoid<T>>(input: impl Source<Item = T>) -> Result<T> {
    reduce_on::<Host, T, Op, _>(&Device::for_host_data()?, input, None)
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
    reduce_on::<Host, T, Op, _>(&Device::for_host_data()?, input, Some(init))
}

pub(crate) fn reduce_on<P: OnDevice, T: Element, Op: Monoid<T>, S: Source<P, Item = T>>(
    device: &Device,
    input: S,
    init: Option<T>,
) -> Result<T> {
    let call = Call::<P>::on(device);
    reduce_bound::<T, Op, S::Form>(call.bind(&input)?, init)
}

fn reduce_bound<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    input: Bound<'_, F>,
    init: Option<T>,
) -> Result<T> {
    const { assert_element_size::<T>() };
    match &input.device().backend {
        Backend::Cpu => Ok(input
            .with_sums::<Op, _>(|items, sum_block| cpu::reduce::<T, Op>(items, sum_block, init))),
        #[cfg(feature = "cuda")]
        // SAFETY: the source is on this GPU.
        Backend::Cuda(gpu) => unsafe {
            gpu.reduce::<T, Op, F>(input.arguments(), input.len(), init)
        },
    }
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
        reduce_on::<Device, T, Op, _>(self, input, None)
    }

    /// The fold of `init` and `input`; see [`reduce_from`](crate::reduce_from()). Waits for the
    /// result.
    pub fn reduce_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: impl Source<Device, Item = T>,
    ) -> Result<T> {
        reduce_on::<Device, T, Op, _>(self, input, Some(init))
    }

    /// Writes the fold of `input`, after `init` if there is one, over `output`, which has one
    /// element. Does not wait for it.
    ///
    /// ```
    /// use warpfold::{Device, ops::Max};
    ///
    /// let device = Device::cpu();
    /// let (x, mut greatest) = (device.upload(&[3, 7, 5])?, device.allocate(1)?);
    /// device.reduce_into::<i32, Max>(None, &x, &mut greatest)?;
    /// assert_eq!(greatest.to_vec()?, [7]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Also [`Error::Length`](crate::Error::Length) if `output` has another length.
    pub fn reduce_into<T: Element, Op: Monoid<T>>(
        &self,
        init: Option<T>,
        input: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.check_owns(output)?;
        Error::check_length(1, output.len())?;
        let call = Call::<Device>::on(self);
        reduce_bound_into::<T, Op, _>(call.bind(&input)?, init, output)
    }
}

fn reduce_bound_into<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    input: Bound<'_, F>,
    init: Option<T>,
    output: &mut Buffer<T>,
) -> Result<()> {
    match &input.device().backend {
        Backend::Cpu => {
            output.as_host_mut()[0] = reduce_bound::<T, Op, F>(input, init)?;
            Ok(())
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            const { assert_element_size::<T>() };
            let address = output.address_mut();
            // SAFETY: the source is on this GPU, and so is the output, which has an element.
            unsafe { gpu.reduce_to::<T, Op, F>(input.arguments(), input.len(), init, address) }
        }
    }
}
