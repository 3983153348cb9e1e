//! Sorts by a key: a number, or a tuple of numbers that is sorted as one integer, or by several
//! stable sorts.

use super::order::{Bits, Kind, Order, Sortable};
use crate::definitions::Definitions;
use crate::device::DeviceBinder;
use crate::source::{
    At, Constant, ConstantArguments, Feeds, Form, Map, Source, Zip, ZipArguments, map, map_with,
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
    /// The arguments are those of a source in the device's memory, with `len` items, which stays
    /// borrowed. There is room for as many places.
    #[doc(hidden)]
    unsafe fn argsort<F: Form<Item = Self>>(
        device: &Device,
        keys: (F::Arguments, usize),
        order: Order,
        places: &mut Buffer<u64>,
    ) -> Result<()>;

    /// Sorts values by keys, of which there are as many.
    ///
    /// # Safety
    ///
    /// As for [`argsort`](SortKey::argsort). The source is read before the values are written.
    #[doc(hidden)]
    unsafe fn sort_values<F: Form<Item = Self>, V: Element>(
        device: &Device,
        keys: (F::Arguments, usize),
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
        device: &Device,
        (arguments, len): (F::Arguments, usize),
        order: Order,
        places: &mut Buffer<u64>,
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { device.argsort_numbers::<K, F>(arguments, len, order, places) }
    }

    unsafe fn sort_values<F: Form<Item = K>, V: Element>(
        device: &Device,
        (arguments, len): (F::Arguments, usize),
        order: Order,
        values: &mut Buffer<V>,
    ) -> Result<()> {
        // SAFETY: the caller's.
        let mut keys = unsafe { device.collect_bound::<K, F>(arguments, len) }?;
        device.sort_pairs_in_place(&mut keys, values, order)
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
                device: &Device,
                keys: (Keys::Arguments, usize),
                order: Order,
                places: &mut Buffer<u64>,
            ) -> Result<()> {
                // SAFETY: the caller's.
                unsafe { argsort_tuples::<Self, Keys>(device, keys, order, places) }
            }

            unsafe fn sort_values<Keys: Form<Item = Self>, V: Element>(
                device: &Device,
                keys: (Keys::Arguments, usize),
                order: Order,
                values: &mut Buffer<V>,
            ) -> Result<()> {
                // SAFETY: the caller's.
                unsafe { sort_values_by_tuples::<Self, Keys, V>(device, keys, order, values) }
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

fn ranks_of<A>(
    arguments: A,
    order: Order,
    parts: &Range<u32>,
) -> ZipArguments<A, ConstantArguments<Asked>> {
    let value = [order.flags(), parts.start, parts.end];
    ZipArguments(arguments, ConstantArguments { value })
}

/// # Safety
///
/// As for [`SortKey::argsort`].
unsafe fn argsort_tuples<K: Parts, F: Form<Item = K>>(
    device: &Device,
    (arguments, len): (F::Arguments, usize),
    order: Order,
    places: &mut Buffer<u64>,
) -> Result<()> {
    unsafe fn first<B: Sortable + Bits, K: Parts, F: Form<Item = K>>(
        device: &Device,
        (ranks, len): (<Ranks<B, K, F> as Form>::Arguments, usize),
        places: &mut Buffer<u64>,
    ) -> Result<()> {
        let order = Order::ascending();
        // SAFETY: the caller's.
        unsafe { device.argsort_numbers::<B, Ranks<B, K, F>>(ranks, len, order, places) }
    }
    /// Sorts places by an earlier group of parts.
    unsafe fn next<B: Sortable + Bits, K: Parts, F: Form<Item = K>>(
        device: &Device,
        (ranks, len): (<Ranks<B, K, F> as Form>::Arguments, usize),
        places: &Buffer<u64>,
    ) -> Result<Buffer<u64>> {
        // SAFETY: the caller's.
        let ranks = unsafe { device.collect_bound::<B, Ranks<B, K, F>>(ranks, len) }?;
        let ranks = gathered(device, &ranks, places)?;
        let moved = device.argsort(&ranks, Order::ascending())?;
        gathered(device, places, &moved)
    }
    let mut groups = groups::<K>().into_iter();
    let (parts, bytes) = groups.next().expect("tuples have parts");
    let ranks = (ranks_of(arguments, order, &parts), len);
    // SAFETY: the caller's.
    unsafe { with_room_for!(bytes, first::<_, K, F>(device, ranks, places)) }?;
    if groups.len() == 0 {
        return Ok(());
    }
    let mut found = Buffer::<u64>::reserve(device, 0)?;
    std::mem::swap(&mut found, places);
    // SAFETY: a place was written for each item.
    unsafe { found.set_len(len) };
    for (parts, bytes) in groups {
        let ranks = (ranks_of(arguments, order, &parts), len);
        // SAFETY: the caller's.
        found = unsafe { with_room_for!(bytes, next::<_, K, F>(device, ranks, &found)) }?;
    }
    *places = found;
    Ok(())
}

/// # Safety
///
/// As for [`SortKey::sort_values`].
unsafe fn sort_values_by_tuples<K: Parts + SortKey, F: Form<Item = K>, V: Element>(
    device: &Device,
    (arguments, len): (F::Arguments, usize),
    order: Order,
    values: &mut Buffer<V>,
) -> Result<()> {
    unsafe fn at_once<B: Sortable + Bits, K: Parts, F: Form<Item = K>, V: Element>(
        device: &Device,
        (ranks, len): (<Ranks<B, K, F> as Form>::Arguments, usize),
        values: &mut Buffer<V>,
    ) -> Result<()> {
        // SAFETY: the caller's.
        let mut ranks = unsafe { device.collect_bound::<B, Ranks<B, K, F>>(ranks, len) }?;
        device.sort_pairs_in_place(&mut ranks, values, Order::ascending())
    }
    if let [(parts, bytes)] = &groups::<K>()[..] {
        let ranks = (ranks_of(arguments, order, parts), len);
        // SAFETY: the caller's.
        return unsafe { with_room_for!(bytes, at_once::<_, K, F, V>(device, ranks, values)) };
    }
    let mut places = Buffer::<u64>::reserve(device, len)?;
    // SAFETY: the caller's; a place is written for each item.
    unsafe {
        argsort_tuples::<K, F>(device, (arguments, len), order, &mut places)?;
        places.set_len(len);
    }
    *values = gathered(device, values, &places)?;
    Ok(())
}

/// The elements of a buffer by their places, in a new one.
fn gathered<V: Element>(
    device: &Device,
    values: &Buffer<V>,
    places: &Buffer<u64>,
) -> Result<Buffer<V>> {
    let table = [values.address(), values.len() as u64];
    device.collect(map_with::<At<V>, _, _>(places, table))
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
    let mut items = super::collected(input)?;
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
        let len = data.len();
        let arguments = map::<F, _>(&*data).bind(&mut DeviceBinder::new(self))?;
        // SAFETY: the binder saw to it that the buffer is on this device. It is borrowed.
        unsafe {
            F::Output::sort_values::<Map<F, crate::source::Slice<T>>, T>(
                self,
                (arguments, len),
                order,
                data,
            )
        }
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
