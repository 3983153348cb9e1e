//! Search in sorted data: the bounds of many needles, and whether data is sorted.

use super::collect::kernel::Collect;
use super::collect::{collected, lying};
use super::sort::{KeyMap, Kind, Order, Sortable};
use crate::definitions::Definitions;
use crate::device::{Call, OnDevice};
use crate::engine::{Engine, RowPolicy};
use crate::ops::Min;
use crate::render::{Kernel, Kernels};
use crate::source::{
    Constant, ConstantArguments, Form, Host, Index, Map, Slice, Source, Zip, ZipArguments, index,
    map_with,
};
use crate::{Buffer, CudaType, Device, Function, Result};
use std::marker::PhantomData;

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod launches;

/// Sorted numbers in a device's memory, and how they are searched: the address, the length, and the
/// order's flags with whether equals come before.
pub(crate) type Sorted = [u64; 3];

/// The bit beside an order's flags that says whether equals come before.
const EQUALS: u64 = 1 << 32;

/// How many of some sorted numbers come before a needle.
#[derive(Debug)]
pub(crate) struct BoundIn<K>(PhantomData<fn() -> K>);

/// The numbers of a device that reads its memory here.
///
/// # Safety
///
/// They lie there, borrowed for as long as the result is used.
unsafe fn numbers<'a, K: Sortable>([address, len, _]: Sorted) -> &'a [K] {
    // SAFETY: the caller's; also an empty slice has an address.
    unsafe { std::slice::from_raw_parts(address as *const K, len as usize) }
}

#[diagnostic::do_not_recommend]
impl<K: Sortable> Function for BoundIn<K> {
    type Input = (K, Sorted);
    type Output = u64;

    /// `bound_in` in `kernels/machine/order.cuh` takes each step that this takes. So both find one
    /// place in numbers that are not sorted, too.
    #[inline(always)]
    fn call((needle, sorted): (K, Sorted)) -> u64 {
        // SAFETY: only the calls of this room can make the function's parameters, and there the
        // numbers lie in the memory of the device that reads them, and stay borrowed.
        let numbers = unsafe { numbers::<K>(sorted) };
        let map: KeyMap<K::Bits> = K::key_map(Order::of_flags(sorted[2] as u32));
        let (rank, equals) = (map.rank(needle), sorted[2] & EQUALS != 0);
        let (mut start, mut len) = (0, numbers.len());
        while len > 0 {
            let half = len / 2;
            let other = map.rank(numbers[start + half]);
            if other < rank || (equals && other == rank) {
                start += half + 1;
                len -= half + 1;
            } else {
                len = half;
            }
        }
        start as u64
    }

    fn cuda(definitions: &mut Definitions) -> String {
        definitions.define_function::<Self>("bound", |definitions, name| {
            let (key, types, code) = cuda_types::<K>(definitions);
            format!(
                "__device__ __forceinline__ u64 {name}({key} needle, const Array<u64, 3>& sorted) {{\n    \
                 return bound_in<{types}>(reinterpret_cast<const {key}*>(sorted[0]), sorted[1], needle,\n        \
                 (u32)sorted[2] | {code}u, sorted[2] >> 32 != 0);\n}}"
            )
        })
    }
}

/// The CUDA type of a number; that of its rank, and whether it is a float; the code of its kind.
fn cuda_types<K: Sortable>(definitions: &mut Definitions) -> (String, String, u32) {
    let (key, bits) = (K::cuda_type(definitions), K::Bits::cuda_type(definitions));
    let is_float = matches!(K::KIND, Kind::Float(_));
    (key, format!("{bits}, {is_float}"), K::KIND.code())
}

/// The number of items up to the one that comes before its predecessor, given the predecessor's
/// place; or the largest number, if it does not.
#[derive(Debug)]
pub(crate) struct EndAt<K>(PhantomData<fn() -> K>);

#[diagnostic::do_not_recommend]
impl<K: Sortable> Function for EndAt<K> {
    type Input = (u64, Sorted);
    type Output = u64;

    #[inline(always)]
    fn call((place, sorted): (u64, Sorted)) -> u64 {
        // SAFETY: as for `BoundIn`.
        let numbers = unsafe { numbers::<K>(sorted) };
        let map: KeyMap<K::Bits> = K::key_map(Order::of_flags(sorted[2] as u32));
        let pair = &numbers[place as usize..][..2];
        match map.rank(pair[1]) < map.rank(pair[0]) {
            true => place + 1,
            false => u64::MAX,
        }
    }

    fn cuda(definitions: &mut Definitions) -> String {
        definitions.define_function::<Self>("end", |definitions, name| {
            let (key, types, code) = cuda_types::<K>(definitions);
            format!(
                "__device__ __forceinline__ u64 {name}(u64 place, const Array<u64, 3>& sorted) {{\n    \
                 const {key}* pair = reinterpret_cast<const {key}*>(sorted[0]) + place;\n    \
                 u32 code = (u32)sorted[2] | {code}u;\n    \
                 return rank_of<{types}>(pair[1], code) < rank_of<{types}>(pair[0], code) ? place + 1 : ~0ull;\n}}"
            )
        })
    }
}

/// For each needle how many of the sorted numbers come before it: the first place where it can be
/// inserted. C++'s `lower_bound`, NumPy's `searchsorted(side="left")`.
///
/// ```
/// use warpfold::{Order, lower_bound, upper_bound};
///
/// let (sorted, needles) = ([1, 3, 3, 7], [3, 0, 8]);
/// assert_eq!(lower_bound(&sorted, &needles, Order::ascending())?, [1, 0, 4]);
/// assert_eq!(upper_bound(&sorted, &needles, Order::ascending())?, [3, 0, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// The numbers are sorted by the [`Order`] that is given: in a descending one the greatest stands
/// first. Needles come in any order. If the numbers are not sorted, each result is some place from
/// 0 to their number, on every device the same one. [`is_sorted`] finds out.
///
/// Complexity: O(log n) work for each needle. Memory: the result; sorted numbers that are no slice
/// are stored once.
///
/// # Errors
///
/// As [`collect`](crate::collect()).
pub fn lower_bound<K: Sortable>(
    sorted: impl Source<Item = K>,
    needles: impl Source<Item = K>,
    order: Order,
) -> Result<Vec<u64>> {
    bounds_on::<Host, K, _, _>(&Device::for_host_data()?, sorted, needles, order, false)?.into_vec()
}

/// For each needle how many of the sorted numbers come before it or are equal: the last place where
/// it can be inserted. C++'s `upper_bound`, NumPy's `searchsorted(side="right")`. Otherwise as
/// [`lower_bound`].
///
/// # Errors
///
/// As [`collect`](crate::collect()).
pub fn upper_bound<K: Sortable>(
    sorted: impl Source<Item = K>,
    needles: impl Source<Item = K>,
    order: Order,
) -> Result<Vec<u64>> {
    bounds_on::<Host, K, _, _>(&Device::for_host_data()?, sorted, needles, order, true)?.into_vec()
}

fn bounds_on<P: OnDevice, K: Sortable, S: Source<P, Item = K>, N: Source<P, Item = K>>(
    device: &Device,
    sorted: S,
    needles: N,
    order: Order,
    equals: bool,
) -> Result<Buffer<u64>> {
    let call = Call::<P>::on(device);
    let (sorted, needles) = (lying(call.bind(&sorted)?)?, call.bind(&needles)?);
    // SAFETY: the numbers lie on the device, and are kept until the search has ended.
    let bounds = unsafe {
        needles
            .into::<Bounds<K, N::Form>>(|needles| bounds_of(needles, sorted.place(), order, equals))
    };
    collected(bounds)
}

/// Whether no item comes before the one in front of it.
///
/// ```
/// use warpfold::{Order, is_sorted, is_sorted_until};
///
/// assert!(is_sorted(&[1, 2, 2, 5], Order::ascending())?);
/// assert!(is_sorted(&[f32::NAN, 7.0, -0.0, 0.0], Order::descending())?);
/// assert_eq!(is_sorted_until(&[1, 2, 0, 5, 4], Order::ascending())?, 2);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: O(n) work, a [`reduce`](crate::reduce()) of neighbours; items that are no slice are
/// stored once.
///
/// # Errors
///
/// As [`collect`](crate::collect()).
pub fn is_sorted<K: Sortable>(input: impl Source<Item = K>, order: Order) -> Result<bool> {
    let until = sorted_until::<Host, K, _>(&Device::for_host_data()?, &input, order)?;
    Ok(until == input.items()? as u64)
}

/// How many items, from the first on, are sorted: C++'s `is_sorted_until`. All of them, if that is
/// their number. Otherwise as [`is_sorted`].
///
/// # Errors
///
/// As [`collect`](crate::collect()).
pub fn is_sorted_until<K: Sortable>(input: impl Source<Item = K>, order: Order) -> Result<u64> {
    sorted_until::<Host, K, _>(&Device::for_host_data()?, &input, order)
}

fn sorted_until<P: OnDevice, K: Sortable, S: Source<P, Item = K>>(
    device: &Device,
    input: &S,
    order: Order,
) -> Result<u64> {
    let call = Call::<P>::on(device);
    // Kept until the answer is there.
    let items = lying(call.bind(input)?)?;
    let sorted: Sorted = [items.address(), items.len() as u64, order.flags().into()];
    let ends = map_with::<EndAt<K>, _, _>(index(items.len().saturating_sub(1)), sorted);
    Ok(device.reduce::<u64, Min>(ends)?.min(items.len() as u64))
}

/// # Search
///
/// The order is that of [`sort`](Device::sort).
///
/// # Errors
///
/// Of every method: those of [`collect`](Device::collect) and [`reduce`](Device::reduce).
impl Device {
    /// For each needle how many of the sorted numbers come before it, in a new buffer; see
    /// [`lower_bound`]. Does not wait for the result.
    ///
    /// ```
    /// use warpfold::{Device, Order};
    ///
    /// let device = Device::cpu();
    /// let sorted = device.upload(&[9.0_f32, 4.0, 4.0, -1.0])?;
    /// let needles = device.upload(&[4.0_f32, f32::NAN])?;
    /// let order = Order::descending();
    /// assert_eq!(device.lower_bound(&sorted, &needles, order)?.to_vec()?, [1, 0]);
    /// assert_eq!(device.upper_bound(&sorted, &needles, order)?.to_vec()?, [3, 0]);
    /// assert!(device.is_sorted(&sorted, order)?);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn lower_bound<K: Sortable>(
        &self,
        sorted: impl Source<Device, Item = K>,
        needles: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<Buffer<u64>> {
        bounds_on::<Device, K, _, _>(self, sorted, needles, order, false)
    }

    /// For each needle how many of the sorted numbers come before it or are equal, in a new buffer;
    /// see [`upper_bound`]. Does not wait for the result.
    pub fn upper_bound<K: Sortable>(
        &self,
        sorted: impl Source<Device, Item = K>,
        needles: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<Buffer<u64>> {
        bounds_on::<Device, K, _, _>(self, sorted, needles, order, true)
    }

    /// Whether no item comes before the one in front of it; see [`is_sorted`]. Waits for the
    /// answer.
    pub fn is_sorted<K: Sortable>(
        &self,
        input: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<bool> {
        Ok(sorted_until::<Device, K, _>(self, &input, order)? == input.items()? as u64)
    }

    /// How many items, from the first on, are sorted; see [`is_sorted_until`]. Waits for the
    /// answer.
    pub fn is_sorted_until<K: Sortable>(
        &self,
        input: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<u64> {
        sorted_until::<Device, K, _>(self, &input, order)
    }
}

/// The form of the bounds of needles.
pub(crate) type Bounds<K, N> = Map<BoundIn<K>, Zip<(N, Constant<Sorted>)>>;

/// What a test launches of a search, at a capability: for bounds, and for ends of sorted numbers.
#[doc(hidden)]
pub fn search_kernels<K: Sortable>(capability: u32) -> [(Kernel, RowPolicy); 2] {
    fn of<F: Form<Item: crate::Element>>(capability: u32) -> (Kernel, RowPolicy) {
        let policy = Collect::<F>::rows_policy(capability);
        (Collect::<F>::kernel(Engine::Rows(policy)), policy)
    }
    [
        of::<Bounds<K, Slice<K>>>(capability),
        of::<Map<EndAt<K>, Zip<(Index, Constant<Sorted>)>>>(capability),
    ]
}

/// The arguments of a search for needles in numbers that lie at an address.
pub(crate) fn bounds_of<A>(
    needles: A,
    (address, len): (u64, usize),
    order: Order,
    equals: bool,
) -> ZipArguments<A, ConstantArguments<Sorted>> {
    let how = u64::from(order.flags()) | if equals { EQUALS } else { 0 };
    let value = [address, len as u64, how];
    ZipArguments(needles, ConstantArguments { value })
}
