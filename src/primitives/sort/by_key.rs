//! Sorts by a key: a number, or a tuple of numbers that is sorted as one integer, or by several
//! stable sorts.

use super::argsort_numbers;
use super::order::{Bits, Kind, Order, Sortable};
use crate::definitions::Definitions;
use crate::device::{Bound, DeviceBinder};
use crate::primitives::collect::{collect_on, collected};
use crate::source::{
    Constant, ConstantArguments, Feeds, Form, Host, Indices, Map, Slice, Source, Zip, ZipArguments,
    gather, map,
};
use crate::{Buffer, CudaType, Device, Element, Function, Result, argsort};
use std::marker::PhantomData;
use std::ops::Range;

/// What [`argsort`] and [`sort_by_key`] sort by: a number, or a tuple of up to six of them.
///
/// Of tuples the first part decides, of equal first parts the second, and so on. One [`Order`] is
/// that of all parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no key that warpfold sorts by",
    label = "not a number, nor a tuple of numbers",
    note = "keys are u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f16 bf16 f32 f64, and tuples of up to six of these; for others, sort_by takes a comparison"
)]
pub trait SortKey: CudaType + sealed::Sealed {
    /// Finds the places of keys in sorted order.
    ///
    /// # Safety
    ///
    /// There is room for as many places.
    #[doc(hidden)]
    unsafe fn argsort<F: Form<Item = Self>>(
        keys: Bound<'_, F>,
        order: Order,
        places: &mut Buffer<u64>,
    ) -> Result<()>;

    /// Sorts values by keys, of which there are as many. The keys are read before the values are
    /// written.
    #[doc(hidden)]
    fn sort_values<F: Form<Item = Self>, V: Element>(
        keys: Bound<'_, F>,
        order: Order,
        values: &mut Buffer<V>,
    ) -> Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl<K: super::Sortable> Sealed for K {}
}

impl<K: Sortable> SortKey for K {
    unsafe fn argsort<F: Form<Item = K>>(
        keys: Bound<'_, F>,
        order: Order,
        places: &mut Buffer<u64>,
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { argsort_numbers::<K, F>(keys, order, places) }
    }

    fn sort_values<F: Form<Item = K>, V: Element>(
        keys: Bound<'_, F>,
        order: Order,
        values: &mut Buffer<V>,
    ) -> Result<()> {
        let device = keys.device();
        device.sort_pairs_in_place(&mut collected(keys)?, values, order)
    }
}

/// A tuple of numbers.
pub trait Parts: CudaType {
    /// The bytes of the parts, and what they are.
    const PARTS: &[(usize, Kind)];

    /// The ranks of some parts, one behind the other.
    fn rank<B: Bits>(self, order: Order, parts: Range<u32>) -> B;
}

/// The rank of a tuple's first parts, followed by that of the next one.
#[inline(always)]
fn append<B: Bits, P: Bits>(rank: B, part: P) -> B {
    let part = B::of_wide(part.wide());
    match P::BITS < B::BITS {
        true => rank << P::BITS as usize | part,
        false => part,
    }
}

macro_rules! tuples {
    ($(($($part:ident $number:tt),*);)*) => {$(
        impl<$($part: Sortable),*> sealed::Sealed for ($($part,)*) {}

        impl<$($part: Sortable),*> Parts for ($($part,)*) {
            const PARTS: &[(usize, Kind)] = &[$((size_of::<$part>(), $part::KIND)),*];

            #[inline(always)]
            fn rank<Whole: Bits>(self, order: Order, parts: Range<u32>) -> Whole {
                let rank = Whole::zero();
                $(let rank = match parts.contains(&$number) {
                    true => append(rank, $part::key_map(order).rank(self.$number)),
                    false => rank,
                };)*
                rank
            }
        }

        impl<$($part: Sortable),*> SortKey for ($($part,)*) {
            unsafe fn argsort<Keys: Form<Item = Self>>(
                keys: Bound<'_, Keys>,
                order: Order,
                places: &mut Buffer<u64>,
            ) -> Result<()> {
                // SAFETY: the caller's.
                unsafe { argsort_tuples::<Self, Keys>(keys, order, places) }
            }

            fn sort_values<Keys: Form<Item = Self>, V: Element>(
                keys: Bound<'_, Keys>,
                order: Order,
                values: &mut Buffer<V>,
            ) -> Result<()> {
                sort_values_by_tuples::<Self, Keys, V>(keys, order, values)
            }
        }
    )*};
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// What is asked of a tuple: the flags of an order, and from which part to which.
pub type Asked = [u32; 3];

/// The function that gives the rank of a tuple of numbers as one integer `B`.
#[derive(Debug)]
pub struct RankOf<K, B>(PhantomData<fn() -> (K, B)>);

#[diagnostic::do_not_recommend]
impl<K: Parts, B: Bits> Function for RankOf<K, B> {
    type Input = (K, Asked);
    type Output = B;

    #[inline(always)]
    fn call((key, [flags, first, end]): (K, Asked)) -> B {
        key.rank(Order::of_flags(flags), first..end)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        definitions.define_function::<Self>("rank", |definitions, name| {
            let (key, bits) = (K::cuda_type(definitions), B::cuda_type(definitions));
            let parts = K::PARTS.iter().enumerate().map(|(number, &(bytes, kind))| {
                let is_float = matches!(kind, Kind::Float(_));
                let (part, code) = (8 * bytes, kind.code());
                format!(
                    "    if (asked[1] <= {number} && {number} < asked[2])\n        \
                     rank = append_rank<{bits}>(rank, rank_of<u{part}, {is_float}>(key._{number}, asked[0] | {code}u));\n"
                )
            });
            format!(
                "__device__ __forceinline__ {bits} {name}(const {key}& key, const Array<u32, 3>& asked) {{\n    \
                 {bits} rank = 0;\n{}    return rank;\n}}",
                parts.collect::<String>()
            )
        })
    }
}

/// The parts of a tuple that one integer holds together, from the last ones to the first.
fn groups<K: Parts>() -> Vec<(Range<u32>, usize)> {
    let mut groups: Vec<(Range<u32>, usize)> = Vec::new();
    for (number, &(bytes, _)) in K::PARTS.iter().enumerate().rev() {
        let number = number as u32;
        match groups.last_mut() {
            Some((parts, sum)) if *sum + bytes <= size_of::<u128>() => {
                parts.start = number;
                *sum += bytes;
            }
            _ => groups.push((number..number + 1, bytes)),
        }
    }
    groups
}

/// Calls a function with the smallest integer that has room for so many bytes.
macro_rules! with_room_for {
    ($bytes:expr, $function:ident::<_ $(, $type:ty)*>($($argument:expr),*)) => {
        match $bytes {
            0..=4 => $function::<u32 $(, $type)*>($($argument),*),
            5..=8 => $function::<u64 $(, $type)*>($($argument),*),
            _ => $function::<u128 $(, $type)*>($($argument),*),
        }
    };
}

/// The form of the ranks of tuples.
type Ranks<B, K, F> = Map<RankOf<K, B>, Zip<(F, Constant<Asked>)>>;

/// The ranks of some parts of tuples.
fn ranks_of<'c, B: Bits, K: Parts, F: Form<Item = K>>(
    keys: Bound<'c, F>,
    order: Order,
    parts: &Range<u32>,
) -> Bound<'c, Ranks<B, K, F>> {
    let value = [order.flags(), parts.start, parts.end];
    // SAFETY: no address is added.
    unsafe { keys.into(|keys| ZipArguments(keys, ConstantArguments { value })) }
}

/// # Safety
///
/// As for [`SortKey::argsort`].
unsafe fn argsort_tuples<K: Parts, F: Form<Item = K>>(
    keys: Bound<'_, F>,
    order: Order,
    places: &mut Buffer<u64>,
) -> Result<()> {
    unsafe fn first<B: Sortable + Bits, K: Parts, F: Form<Item = K>>(
        (keys, order, parts): (Bound<'_, F>, Order, &Range<u32>),
        places: &mut Buffer<u64>,
    ) -> Result<()> {
        let ranks = ranks_of::<B, K, F>(keys, order, parts);
        // SAFETY: the caller's.
        unsafe { argsort_numbers(ranks, Order::ascending(), places) }
    }
    /// Sorts places by an earlier group of parts.
    fn next<B: Sortable + Bits, K: Parts, F: Form<Item = K>>(
        (keys, order, parts): (Bound<'_, F>, Order, &Range<u32>),
        places: &Buffer<u64>,
    ) -> Result<Buffer<u64>> {
        let device = keys.device();
        let ranks = collected(ranks_of::<B, K, F>(keys, order, parts))?;
        let ranks = gathered(device, &ranks, places)?;
        let moved = device.argsort(&ranks, Order::ascending())?;
        gathered(device, places, &moved)
    }
    let mut groups = groups::<K>().into_iter();
    let (parts, bytes) = groups.next().expect("tuples have parts");
    let asked = (keys, order, &parts);
    // SAFETY: the caller's.
    unsafe { with_room_for!(bytes, first::<_, K, F>(asked, places)) }?;
    // SAFETY: a place was written for each item.
    unsafe { places.set_len(keys.len()) };
    for (parts, bytes) in groups {
        let asked = (keys, order, &parts);
        let found = with_room_for!(bytes, next::<_, K, F>(asked, &*places))?;
        places.replace(found)?;
    }
    Ok(())
}

/// As [`SortKey::sort_values`].
fn sort_values_by_tuples<K: Parts + SortKey, F: Form<Item = K>, V: Element>(
    keys: Bound<'_, F>,
    order: Order,
    values: &mut Buffer<V>,
) -> Result<()> {
    fn at_once<B: Sortable + Bits, K: Parts, F: Form<Item = K>, V: Element>(
        (keys, order, parts): (Bound<'_, F>, Order, &Range<u32>),
        values: &mut Buffer<V>,
    ) -> Result<()> {
        let mut ranks = collected(ranks_of::<B, K, F>(keys, order, parts))?;
        let device = keys.device();
        device.sort_pairs_in_place(&mut ranks, values, Order::ascending())
    }
    let device = keys.device();
    if let [(parts, bytes)] = &groups::<K>()[..] {
        let asked = (keys, order, parts);
        return with_room_for!(bytes, at_once::<_, K, F, V>(asked, values));
    }
    let mut places = Buffer::<u64>::reserve(device, keys.len())?;
    // SAFETY: there is room for all places, and each is written.
    unsafe {
        argsort_tuples::<K, F>(keys, order, &mut places)?;
        places.set_len(keys.len());
    }
    let sorted = gathered(device, values, &places)?;
    values.replace(sorted)
}

/// The elements of a buffer by their places, in a new one.
fn gathered<V: Element>(
    device: &Device,
    values: &Buffer<V>,
    places: &Buffer<u64>,
) -> Result<Buffer<V>> {
    device.collect(gather(values, Indices::unchecked(places)))
}

/// The items of a source, sorted by a key: Rust's `sort_by_key`. Items of equal keys stay in the
/// order of the source.
///
/// The function `F` gives the key of an item: a number, or a tuple of up to six.
///
/// ```
/// use warpfold::{Element, Order, function, sort_by_key};
///
/// #[derive(Debug, Clone, Copy, PartialEq, Element)]
/// #[repr(C)]
/// struct Player {
///     name: [u8; 4],
///     score: f32,
///     age: u32,
/// }
///
/// #[function]
/// fn score_and_age(player: Player) -> (f32, u32) {
///     (player.score, player.age)
/// }
///
/// let [a, b, c] = [(*b"Anna", 7.5, 31), (*b"Bela", 9.0, 19), (*b"Cleo", 7.5, 44)]
///     .map(|(name, score, age)| Player { name, score, age });
/// let best = sort_by_key::<Player, score_and_age>(&[a, b, c], Order::descending())?;
/// assert_eq!(best, [b, c, a]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity and memory: keys are computed once, and sorted as by
/// [`sort_pairs`](crate::sort_pairs()), only by the bits that vary. Items of up to 16 bytes move
/// with their keys, larger ones once. A tuple is one integer if its numbers have up to 16 bytes
/// together. A larger one takes a sort for each 16 bytes, from its last number to its first.
///
/// # Errors
///
/// As [`sort`](crate::sort()).
///
/// # Panics
///
/// On the CPU if `F` does.
pub fn sort_by_key<T, F>(input: impl Source<Item = T>, order: Order) -> Result<Vec<T>>
where
    T: Element + Feeds<F::Input>,
    F: Function<Output: SortKey>,
{
    let mut items = collect_on::<Host, T, _>(&Device::for_host_data()?, input)?;
    let device = items.device.clone();
    device.sort_by_key_in_place::<T, F>(&mut items, order)?;
    items.into_vec()
}

/// Sorts `data` by a key. Otherwise as [`sort_by_key`].
///
/// ```
/// use warpfold::{Order, function, sort_by_key_in_place};
///
/// #[function]
/// fn distance(x: i32) -> u32 {
///     (x - 10).unsigned_abs()
/// }
///
/// let mut data = [1, 12, 9, 30];
/// sort_by_key_in_place::<i32, distance>(&mut data, Order::ascending())?;
/// assert_eq!(data, [9, 12, 1, 30]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`sort_by_key`]. Then `data` is as it was.
///
/// # Panics
///
/// On the CPU if `F` does. Then `data` is as it was.
pub fn sort_by_key_in_place<T, F>(data: &mut [T], order: Order) -> Result<()>
where
    T: Element + Feeds<F::Input>,
    F: Function<Output: SortKey>,
{
    data.copy_from_slice(&sort_by_key::<T, F>(&*data, order)?);
    Ok(())
}

/// Where each item of the order by a key stands in the source, counted from 0. It is the
/// [`argsort`] of a [`map`].
///
/// ```
/// use warpfold::{Order, argsort_by_key, function, zip};
///
/// #[function]
/// fn area(width: f32, height: f32) -> f32 {
///     width * height
/// }
///
/// let (widths, heights) = ([2.0, 1.0, 3.0], [2.0, 5.0, 1.0]);
/// let places = argsort_by_key::<area>(zip(&widths, &heights), Order::ascending())?;
/// assert_eq!(places, [2, 0, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`argsort`].
///
/// # Panics
///
/// On the CPU if `F` does.
pub fn argsort_by_key<F>(
    input: impl Source<Item: Feeds<F::Input>>,
    order: Order,
) -> Result<Vec<u64>>
where
    F: Function<Output: SortKey>,
{
    argsort(map::<F, _>(input), order)
}

/// # Sort by a key
///
/// Costs and errors are those of a sort. See [`sort_by_key`](crate::sort_by_key).
impl Device {
    /// The items of a source, sorted by a key, in a new buffer; see
    /// [`sort_by_key`](crate::sort_by_key).
    ///
    /// ```
    /// use warpfold::{Device, Order, function};
    ///
    /// #[function]
    /// fn last_digit(x: u32) -> u8 {
    ///     (x % 10) as u8
    /// }
    ///
    /// let device = Device::cpu();
    /// let x = device.upload(&[17_u32, 25, 11, 95])?;
    /// let sorted = device.sort_by_key::<u32, last_digit>(&x, Order::ascending())?;
    /// assert_eq!(sorted.to_vec()?, [11, 25, 95, 17]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn sort_by_key<T, F>(
        &self,
        input: impl Source<Device, Item = T>,
        order: Order,
    ) -> Result<Buffer<T>>
    where
        T: Element + Feeds<F::Input>,
        F: Function<Output: SortKey>,
    {
        let mut items = self.collect(input)?;
        self.sort_by_key_in_place::<T, F>(&mut items, order)?;
        Ok(items)
    }

    /// Sorts `data` by a key.
    pub fn sort_by_key_in_place<T, F>(&self, data: &mut Buffer<T>, order: Order) -> Result<()>
    where
        T: Element + Feeds<F::Input>,
        F: Function<Output: SortKey>,
    {
        let arguments = map::<F, _>(&*data).bind(&mut DeviceBinder::new(self))?;
        // SAFETY: the binder saw to it that the buffer is on this device. It is borrowed, and read
        // before it is written.
        let keys = unsafe { Bound::<Map<F, Slice<T>>>::new(self, arguments, data.len()) };
        F::Output::sort_values(keys, order, data)
    }

    /// Where each item of the order by a key stands in the source, in a new buffer; see
    /// [`argsort_by_key`](crate::argsort_by_key).
    pub fn argsort_by_key<F>(
        &self,
        input: impl Source<Device, Item: Feeds<F::Input>>,
        order: Order,
    ) -> Result<Buffer<u64>>
    where
        F: Function<Output: SortKey>,
    {
        self.argsort(map::<F, _>(input), order)
    }
}
