//! Merge of sorted arrays, and a sort by a comparison, which merges.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
pub(crate) mod launches;
mod tuning;

use super::collect::{collect_on, lying};
use super::sort::{Order, Sortable};
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::source::{Form, Host, Source};
use crate::{Buffer, Device, Element, Error, Function, Result};

/// Two sorted arrays as one, which is sorted. Equals stay in their order, those of the first array
/// come first. So it is the sort of both, one behind the other.
///
/// Both are sorted by the [`Order`] that is given. If they are not, the result is none, and may
/// differ from device to device; [`is_sorted`](crate::is_sorted) finds out.
///
/// ```
/// use warpfold::{Order, merge};
///
/// assert_eq!(merge(&[1, 4, 6], &[2, 4, 9], Order::ascending())?, [1, 2, 4, 4, 6, 9]);
/// assert_eq!(merge(&[7.5, 0.0], &[f64::INFINITY], Order::descending())?, [f64::INFINITY, 7.5, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: O(n) work for n items; each is read once and written once. Memory: the result; what
/// is no slice is stored once.
///
/// # Errors
///
/// As [`collect`](crate::collect()).
pub fn merge<K: Sortable>(
    first: impl Source<Item = K>,
    second: impl Source<Item = K>,
    order: Order,
) -> Result<Vec<K>> {
    merge_on::<Host, _, _, _>(&Device::for_host_data()?, first, second, &ByOrder(order))?.into_vec()
}

/// As [`merge`], of any items by a comparison: the function `Less` says whether its first argument
/// comes before its second. [`sort_by`] says which functions are comparisons.
///
/// ```
/// use warpfold::{Element, function, merge_by};
///
/// #[derive(Debug, Clone, Copy, PartialEq, Element)]
/// #[repr(C)]
/// struct Event {
///     time: u64,
///     source: u64,
/// }
///
/// #[function]
/// fn earlier(a: Event, b: Event) -> bool {
///     a.time < b.time
/// }
///
/// let events = |source, times: [u64; 2]| times.map(|time| Event { time, source });
/// let (a, b) = (events(0, [3, 8]), events(1, [3, 5]));
/// assert_eq!(merge_by::<Event, earlier>(&a, &b)?, [a[0], b[0], b[1], a[1]]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`collect`](crate::collect()).
pub fn merge_by<T, Less>(
    first: impl Source<Item = T>,
    second: impl Source<Item = T>,
) -> Result<Vec<T>>
where
    T: Element,
    Less: Function<Input = (T, T), Output = bool>,
{
    merge_on::<Host, _, _, _>(
        &Device::for_host_data()?,
        first,
        second,
        &By::<Less>(std::marker::PhantomData),
    )?
    .into_vec()
}

/// The items of a source, sorted by a comparison: for what no [key](crate::sort_by_key) can say.
/// Equals stay in their order.
///
/// The function `Less` says whether its first argument comes before its second, as `<` does. It is
/// a comparison if no item comes before itself, if `a` comes before `c` whenever it comes before
/// `b` and `b` before `c`, and if the same holds of what is equal. `<` is one of numbers without
/// NaN. For another function the result is unspecified, and may lack items.
///
/// ```
/// use warpfold::{Element, function, sort_by};
///
/// /// A fraction whose denominator is positive.
/// #[derive(Debug, Clone, Copy, PartialEq, Element)]
/// #[repr(C)]
/// struct Fraction {
///     numerator: i32,
///     denominator: i32,
/// }
///
/// #[function]
/// fn less(a: Fraction, b: Fraction) -> bool {
///     a.numerator as i64 * (b.denominator as i64) < b.numerator as i64 * a.denominator as i64
/// }
///
/// let fraction = |numerator, denominator| Fraction { numerator, denominator };
/// let (half, third) = (fraction(1, 2), fraction(1, 3));
/// let sorted = sort_by::<Fraction, less>(&[half, third, fraction(2, 4)])?;
/// assert_eq!(sorted, [third, half, fraction(2, 4)]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: O(n log n) comparisons. It is a merge sort, and slower than a sort by a key: on a
/// GPU items are read and written log₂(n / 1000) times or so. Memory: the result, and as much
/// again.
///
/// # Errors
///
/// As [`sort`](crate::sort()).
///
/// # Panics
///
/// On the CPU if `Less` does.
pub fn sort_by<T, Less>(input: impl Source<Item = T>) -> Result<Vec<T>>
where
    T: Element,
    Less: Function<Input = (T, T), Output = bool>,
{
    let device = Device::for_host_data()?;
    let mut items = collect_on::<Host, T, _>(&device, input)?;
    device.sort_in_place_by::<T, Less>(&mut items)?;
    items.into_vec()
}

/// Sorts `data` by a comparison. Otherwise as [`sort_by`].
///
/// # Errors
///
/// As [`sort_by`]. Then `data` is as it was.
///
/// # Panics
///
/// On the CPU if `Less` does. Then `data` has its items in some order.
pub fn sort_in_place_by<T, Less>(data: &mut [T]) -> Result<()>
where
    T: Element,
    Less: Function<Input = (T, T), Output = bool>,
{
    if Device::for_host_data()?.is_cpu() {
        return cpu::sort_by::<T, Less>(data);
    }
    data.copy_from_slice(&sort_by::<T, Less>(&*data)?);
    Ok(())
}

/// How a merge compares.
trait Comparison<T: Element> {
    fn merge_on_the_host(&self, a: &[T], b: &[T], out: &mut [std::mem::MaybeUninit<T>]);

    /// # Safety
    ///
    /// As for [`cuda::merge`].
    #[cfg(feature = "cuda")]
    unsafe fn merge_on(&self, gpu: &crate::cuda::Gpu, call: cuda::Call) -> Result<()>;
}

struct ByOrder(Order);

impl<K: Sortable> Comparison<K> for ByOrder {
    fn merge_on_the_host(&self, a: &[K], b: &[K], out: &mut [std::mem::MaybeUninit<K>]) {
        let map = K::key_map(self.0);
        cpu::merge(a, b, out, |x, y| map.rank(x) < map.rank(y));
    }

    #[cfg(feature = "cuda")]
    unsafe fn merge_on(&self, gpu: &crate::cuda::Gpu, call: cuda::Call) -> Result<()> {
        let order = self.0.code(K::KIND);
        // SAFETY: the caller's.
        unsafe { cuda::merge(gpu, kernel::merge::<K>, size_of::<K>(), order, call) }
    }
}

struct By<Less>(std::marker::PhantomData<Less>);

impl<T, Less> Comparison<T> for By<Less>
where
    T: Element,
    Less: Function<Input = (T, T), Output = bool>,
{
    fn merge_on_the_host(&self, a: &[T], b: &[T], out: &mut [std::mem::MaybeUninit<T>]) {
        cpu::merge(a, b, out, |x, y| Less::call((x, y)));
    }

    #[cfg(feature = "cuda")]
    unsafe fn merge_on(&self, gpu: &crate::cuda::Gpu, call: cuda::Call) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { cuda::merge(gpu, kernel::merge_by::<T, Less>, size_of::<T>(), 0, call) }
    }
}

fn merge_on<P: OnDevice, T: Element, A: Source<P, Item = T>, B: Source<P, Item = T>>(
    device: &Device,
    first: A,
    second: B,
    comparison: &impl Comparison<T>,
) -> Result<Buffer<T>> {
    let call = Call::<P>::on(device);
    merge_bound(call.bind(&first)?, call.bind(&second)?, comparison)
}

fn merge_bound<T: Element, A: Form<Item = T>, B: Form<Item = T>>(
    first: Bound<'_, A>,
    second: Bound<'_, B>,
    comparison: &impl Comparison<T>,
) -> Result<Buffer<T>> {
    const { assert_element_size::<T>() };
    let device = first.device();
    let too_many = Error::OutOfHostMemory {
        requested: usize::MAX,
    };
    let len = first.len().checked_add(second.len()).ok_or(too_many)?;
    let (first, second) = (lying(first)?, lying(second)?);
    let mut merged = Buffer::<T>::reserve(device, len)?;
    match &device.backend {
        Backend::Cpu => {
            let room = &mut merged.spare()[..len];
            comparison.merge_on_the_host(first.as_slice(), second.as_slice(), room);
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let call = cuda::Call {
                first: first.place(),
                second: second.place(),
                out: merged.address_mut(),
            };
            // SAFETY: the items lie there, and there is room for all.
            unsafe { comparison.merge_on(gpu, call) }?;
        }
    }
    // SAFETY: all of them are written.
    unsafe { merged.set_len(len) };
    Ok(merged)
}

/// # Merge, and sort by a comparison
///
/// On a GPU a merge is one launch. A sort by a comparison sorts tiles, and then merges neighbouring
/// runs, one launch for each time that runs double. The algorithm is that of Green, McColl and
/// Bader, "GPU merge path: a GPU merging algorithm" (2012). No call waits for its result.
///
/// # Errors
///
/// Of every method: [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if zipped
/// sources have different lengths; [`Error::Library`] without NVRTC; [`Error::Compile`] if a
/// function's CUDA text is wrong; [`Error::OutOfMemory`] or [`Error::OutOfHostMemory`];
/// [`Error::Driver`].
impl Device {
    /// Two sorted arrays as one, in a new buffer; see [`merge`].
    ///
    /// ```
    /// use warpfold::{Device, Order};
    ///
    /// let device = Device::cpu();
    /// let (a, b) = (device.upload(&[2_u8, 9])?, device.upload(&[1_u8, 2, 3])?);
    /// let merged = device.merge(&a, &b, Order::ascending())?;
    /// assert_eq!(merged.to_vec()?, [1, 2, 2, 3, 9]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn merge<K: Sortable>(
        &self,
        first: impl Source<Device, Item = K>,
        second: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<Buffer<K>> {
        merge_on::<Device, _, _, _>(self, first, second, &ByOrder(order))
    }

    /// As [`merge`](Device::merge), by a comparison; see [`merge_by`].
    pub fn merge_by<T, Less>(
        &self,
        first: impl Source<Device, Item = T>,
        second: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>>
    where
        T: Element,
        Less: Function<Input = (T, T), Output = bool>,
    {
        merge_on::<Device, _, _, _>(self, first, second, &By::<Less>(std::marker::PhantomData))
    }

    /// The items of a source, sorted by a comparison, in a new buffer; see [`sort_by`].
    ///
    /// ```
    /// use warpfold::{Device, function};
    ///
    /// #[function]
    /// fn nearer(a: i32, b: i32) -> bool {
    ///     a.abs() < b.abs()
    /// }
    ///
    /// let device = Device::cpu();
    /// let x = device.upload(&[-7, 3, -2, 7])?;
    /// assert_eq!(device.sort_by::<i32, nearer>(&x)?.to_vec()?, [-2, 3, -7, 7]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn sort_by<T, Less>(&self, input: impl Source<Device, Item = T>) -> Result<Buffer<T>>
    where
        T: Element,
        Less: Function<Input = (T, T), Output = bool>,
    {
        let mut items = self.collect(input)?;
        self.sort_in_place_by::<T, Less>(&mut items)?;
        Ok(items)
    }

    /// Sorts `data` by a comparison; see [`sort_by`].
    pub fn sort_in_place_by<T, Less>(&self, data: &mut Buffer<T>) -> Result<()>
    where
        T: Element,
        Less: Function<Input = (T, T), Output = bool>,
    {
        const { assert_element_size::<T>() };
        self.check_owns(data)?;
        match &self.backend {
            Backend::Cpu => cpu::sort_by::<T, Less>(data.as_host_mut()),
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => cuda::sort_buffer::<T, Less>(gpu, data),
        }
    }
}
