//! Where segments lie.

use crate::cpu::threads;
use crate::source::{
    ByReference, Form, Host, HostBinder, Place, Slice, SliceArguments, Source, index, map, sealed,
    zip3,
};
use crate::{Buffer, Device, Element, Error, Function, Result, function, monoid};
use std::marker::PhantomData;

/// How the items of a source are cut into segments.
///
/// - [`Offsets`]: between neighbouring numbers in memory, as a compressed sparse matrix (CSR) has
///   its rows, and Arrow its lists;
/// - [`Starts`]: from each of some numbers to the next one, as head flags and runs have them;
/// - [`Rows`]: all of one length.
///
/// `Place` says where offsets may lie, as for a [`Source`].
pub trait Segments<P: Place = Host> {
    /// How they are given, without the data.
    #[doc(hidden)]
    type Cut: Cut;

    /// The number of segments.
    fn count(&self) -> usize;

    /// What the form leaves open, for a source of so many items. Checks what is known of them.
    #[doc(hidden)]
    fn bind<'a>(
        &'a self,
        binder: &mut P::Binder<'a>,
        items: usize,
    ) -> Result<<Self::Cut as Cut>::Arguments>;
}

/// Segments that several calls take.
impl<P: Place, G: Segments<P>> Segments<P> for ByReference<'_, G> {
    type Cut = G::Cut;

    fn count(&self) -> usize {
        self.0.count()
    }

    fn bind<'a>(
        &'a self,
        binder: &mut P::Binder<'a>,
        items: usize,
    ) -> Result<<G::Cut as Cut>::Arguments> {
        self.0.bind(binder, items)
    }
}

/// How segments are given, as a type without data.
///
/// # Safety
///
/// `Arguments` is laid out as the members of the type that [`cuda`](Cut::cuda) names.
#[doc(hidden)]
pub unsafe trait Cut: sealed::Sealed + 'static {
    /// What the type leaves open.
    type Arguments: Copy + Send + Sync + 'static;

    /// Where segment `i` starts, and the one before it ends. Never beyond the items.
    ///
    /// # Safety
    ///
    /// The arguments are of segments in host memory that are still borrowed; `i` is no greater than
    /// their number.
    unsafe fn bound(arguments: &Self::Arguments, i: usize) -> usize;

    /// The CUDA type.
    fn cuda() -> String;
}

/// The integers that offsets may be: `u32` and `u64`.
pub trait Offset: Element + Ord + sealed::Sealed {
    #[doc(hidden)]
    const CUDA: &'static str;

    #[doc(hidden)]
    fn to_u64(self) -> u64;

    /// The first offset of a buffer that is less than that before it, or `u64::MAX`; and the last
    /// one. There are two at least.
    #[doc(hidden)]
    fn first_fall(device: &Device, offsets: &Buffer<Self>) -> Result<[u64; 2]>;

    /// The first segment that ends before it begins, or `u64::MAX`; and the greatest end, or 0.
    #[doc(hidden)]
    fn first_backwards(
        device: &Device,
        begins: &Buffer<Self>,
        ends: &Buffer<Self>,
    ) -> Result<[u64; 2]>;

    /// From a begin, an end and the number of all items: how many items lie between. None if the
    /// end comes first.
    #[doc(hidden)]
    type Length: Function<Input = (Self, Self, u64), Output = u64>;

    /// From the place of a segment among those of all segments, its begin, and the number of all
    /// items: how far it was moved.
    #[doc(hidden)]
    type Shift: Function<Input = (u64, Self, u64), Output = u64>;

    /// Items of this type as `u64`.
    #[doc(hidden)]
    fn widened<P: Place, S: Source<P, Item = Self>>(source: S) -> impl Source<P, Item = u64>;
}

/// The first fall of all, and the last offset.
#[monoid(name = FirstFall, identity = [u64::MAX, 0], exact)]
fn first_fall(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    [a[0].min(b[0]), b[1]]
}

/// The first number of all, and the greatest of the others.
#[monoid(name = FirstAndMost, identity = [u64::MAX, 0], exact, commutative)]
fn first_and_most(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

macro_rules! offsets {
    ($($ty:ident in $functions:ident),*) => {$(
        /// Functions of begins and ends. What lies beyond the items counts as their end.
        #[expect(unreachable_pub, reason = "a public trait has them as types")]
        mod $functions {
            use crate::function;

            #[function]
            pub fn length(begin: $ty, end: $ty, items: u64) -> u64 {
                (end as u64).min(items).saturating_sub((begin as u64).min(items))
            }

            #[function]
            pub fn shift(place: u64, begin: $ty, items: u64) -> u64 {
                (begin as u64).min(items).wrapping_sub(place)
            }
        }

        impl Offset for $ty {
            const CUDA: &'static str = stringify!($ty);
            type Length = $functions::length;
            type Shift = $functions::shift;

            fn to_u64(self) -> u64 {
                self.into()
            }

            fn first_backwards(
                device: &Device,
                begins: &Buffer<$ty>,
                ends: &Buffer<$ty>,
            ) -> Result<[u64; 2]> {
                #[function]
                fn backwards(begin: $ty, end: $ty, number: u64) -> [u64; 2] {
                    [if end < begin { number } else { u64::MAX }, end as u64]
                }

                let all = zip3(begins, ends, index(begins.len()));
                device.reduce::<[u64; 2], FirstAndMost>(map::<backwards, _>(all))
            }

            fn widened<P: Place, S: Source<P, Item = $ty>>(
                source: S,
            ) -> impl Source<P, Item = u64> {
                #[function]
                fn widen(x: $ty) -> u64 {
                    x as u64
                }

                map::<widen, _>(source)
            }

            fn first_fall(device: &Device, offsets: &Buffer<$ty>) -> Result<[u64; 2]> {
                #[function]
                fn fall(before: $ty, after: $ty, number: u64) -> [u64; 2] {
                    [if after < before { number + 1 } else { u64::MAX }, after as u64]
                }

                let count = offsets.len() - 1;
                let pairs = zip3(offsets.slice(..count), offsets.slice(1..), index(count));
                device.reduce::<[u64; 2], FirstFall>(map::<fall, _>(pairs))
            }
        }
    )*};
}

offsets!(u32 in of_u32, u64 in of_u64);

/// Segments between neighbouring offsets: segment `i` has the items from `offsets[i]` to
/// `offsets[i + 1]`. So n segments take n + 1 offsets. Items before the first offset and after the
/// last one belong to no segment.
///
/// The offsets are checked when the value is made, and never again: [`new`](Offsets::new) is for
/// host memory, [`Device::offsets`] for a buffer. [`unchecked`](Offsets::unchecked) takes them as
/// they are.
///
/// ```
/// use warpfold::{Offsets, ops::Add, segmented_reduce};
///
/// let offsets = Offsets::new(&[0_u32, 2, 2, 5])?;
/// assert_eq!(segmented_reduce::<u32, Add>(&[1, 2, 3, 4, 5], offsets)?, [3, 0, 12]);
///
/// let error = Offsets::new(&[0_u32, 5, 2]).unwrap_err();
/// assert!(error.to_string().contains("offsets[2] is 2, less than the 5 before it"));
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Offsets<S> {
    source: S,
    count: usize,
    /// The last offset, if they were checked.
    end: Option<u64>,
}

impl<S> Offsets<S> {
    /// Checks offsets in host memory. Reads them once.
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if there are none, or if one is less than the one before it.
    pub fn new<I: Offset>(offsets: S) -> Result<Offsets<S>>
    where
        S: Source<Item = I, Form = Slice<I>>,
    {
        let count = count_of(offsets.items()?)?;
        let end = check_host("offsets", &offsets)?;
        Ok(Offsets {
            source: offsets,
            count,
            end,
        })
    }

    /// Takes offsets as they are, wherever they lie: those of device memory, for
    #[cfg_attr(feature = "cuda", doc = "[`cuda`](crate::cuda).")]
    #[cfg_attr(not(feature = "cuda"), doc = "the feature `cuda`.")]
    ///
    /// What is read stays within the source whatever the offsets are: those beyond its end count as
    /// its end. If offsets fall, the results of all segments are unspecified.
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if there are none.
    pub fn unchecked<P: Place, I: Offset>(offsets: S) -> Result<Offsets<S>>
    where
        S: Source<P, Item = I, Form = Slice<I>>,
    {
        Ok(Offsets {
            count: count_of(offsets.items()?)?,
            source: offsets,
            end: None,
        })
    }
}

impl Device {
    /// Checks offsets in a buffer: segments for any number of calls. Reads them once, and waits for
    /// the answer.
    ///
    /// ```
    /// use warpfold::{Device, ops::Max};
    ///
    /// let device = Device::cpu();
    /// let (x, offsets) = (device.upload(&[3.0_f32, 1.0, 2.0])?, device.upload(&[0_u64, 1, 3])?);
    /// let offsets = device.offsets(&offsets)?;
    /// assert_eq!(device.segmented_reduce::<f32, Max>(&x, offsets)?.to_vec()?, [3.0, 2.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if there are none, or if one is less than the one before it; and those
    /// of [`Device::reduce`].
    pub fn offsets<'b, I: Offset>(&self, offsets: &'b Buffer<I>) -> Result<Offsets<&'b Buffer<I>>> {
        self.check_owns(offsets)?;
        let count = count_of(offsets.len())?;
        Ok(Offsets {
            count,
            end: check_buffer("offsets", self, offsets)?,
            source: offsets,
        })
    }

    /// Checks starts in a buffer, as [`offsets`](Device::offsets) checks offsets.
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if a start is less than the one before it; and those of
    /// [`Device::reduce`] and [`Buffer::to_vec`].
    pub fn starts<'b, I: Offset>(&self, starts: &'b Buffer<I>) -> Result<Starts<&'b Buffer<I>>> {
        self.check_owns(starts)?;
        Ok(Starts {
            count: starts.len(),
            end: check_buffer("starts", self, starts)?,
            source: starts,
        })
    }
}

/// The last number of a slice in host memory. An error if they fall.
fn check_host<I: Offset>(
    argument: &'static str,
    numbers: &impl Source<Item = I, Form = Slice<I>>,
) -> Result<Option<u64>> {
    let len = numbers.items()?;
    let arguments = numbers.bind(&mut HostBinder::new(&Device::cpu()))?;
    // SAFETY: on the CPU these are the address and the length of a slice that `numbers` borrows.
    let slice = unsafe { Slice::<I>::as_slice(&arguments, len) }.expect("a slice is one");
    // Neighbouring chunks share a number.
    let fall_in = |number: usize| {
        let start = number * CHUNK;
        let chunk = &slice[start..len.min(start + CHUNK + 1)];
        let fall = || chunk.windows(2).position(|pair| pair[1] < pair[0]);
        (!chunk.is_sorted()).then(|| start + fall().expect("it falls") + 1)
    };
    let first = |a: Option<usize>, b: Option<usize>| a.into_iter().chain(b).min();
    let fall = threads::reduce(len.div_ceil(CHUNK), &fall_in, &first).flatten();
    match fall {
        Some(fall) => Err(falls(argument, fall, [slice[fall - 1], slice[fall]])),
        None => Ok(slice.last().map(|last| last.to_u64())),
    }
}

/// The last number of a buffer. An error if they fall.
fn check_buffer<I: Offset>(
    argument: &'static str,
    device: &Device,
    numbers: &Buffer<I>,
) -> Result<Option<u64>> {
    if numbers.len() < 2 {
        return Ok(numbers.to_vec()?.first().map(|one| one.to_u64()));
    }
    let [fall, last] = I::first_fall(device, numbers)?;
    if fall == u64::MAX {
        return Ok(Some(last));
    }
    let fall = fall as usize;
    let pair = numbers.slice(fall - 1..=fall).to_vec()?;
    Err(falls(argument, fall, [pair[0], pair[1]]))
}

/// The offsets that a thread checks at a time.
const CHUNK: usize = 1 << 16;

fn count_of(offsets: usize) -> Result<usize> {
    offsets.checked_sub(1).ok_or_else(|| Error::Segments {
        argument: "offsets",
        fault: "are none\n  remedy: give n + 1 offsets for n segments, and one for none".into(),
    })
}

fn falls<I: Offset>(argument: &'static str, number: usize, pair: [I; 2]) -> Error {
    let [before, at] = pair.map(I::to_u64);
    Error::Segments {
        argument,
        fault: format!(
            "fall: {argument}[{number}] is {at}, less than the {before} before it\n  remedy: give {argument} in ascending order"
        ),
    }
}

/// An error if the last number of some, which is `end`, lies beyond the items.
fn check_end(argument: &'static str, last: usize, end: Option<u64>, items: usize) -> Result<()> {
    match end {
        Some(end) if end > items as u64 => Err(Error::Segments {
            argument,
            fault: format!(
                "pass the end: {argument}[{last}] is {end}, but there are {items} items\n  remedy: give {argument} up to the number of items"
            ),
        }),
        _ => Ok(()),
    }
}

/// Segments between offsets of type `I`, as a type without data.
#[derive(Debug)]
pub struct OffsetsOf<I>(PhantomData<fn() -> I>);

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct OffsetsArguments {
    pub offsets: u64,
    pub count: u64,
    pub items: u64,
}

impl<I> sealed::Sealed for OffsetsOf<I> {}

// SAFETY: `warpfold::OffsetSegments` in `kernels/segmented_tiles.cuh` holds a pointer and two
// numbers.
unsafe impl<I: Offset> Cut for OffsetsOf<I> {
    type Arguments = OffsetsArguments;

    #[inline(always)]
    unsafe fn bound(arguments: &OffsetsArguments, i: usize) -> usize {
        // SAFETY: there is one offset more than there are segments; the rest is the caller's.
        let offset = unsafe { *(arguments.offsets as *const I).add(i) };
        offset.to_u64().min(arguments.items) as usize
    }

    fn cuda() -> String {
        format!("warpfold::OffsetSegments<{}>", I::CUDA)
    }
}

impl<P: Place, I: Offset, S: Source<P, Item = I, Form = Slice<I>>> Segments<P> for Offsets<S> {
    type Cut = OffsetsOf<I>;

    fn count(&self) -> usize {
        self.count
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>, items: usize) -> Result<OffsetsArguments> {
        check_end("offsets", self.count, self.end, items)?;
        let SliceArguments { address } = self.source.bind(binder)?;
        Ok(OffsetsArguments {
            offsets: address,
            count: self.count as u64,
            items: items as u64,
        })
    }
}

/// Segments that each go on to the next one: segment `i` has the items from `starts[i]` to
/// `starts[i + 1]`, and the last one goes on to the end of the items. Items before the first start
/// belong to no segment.
///
/// So the starts of [`runs`](crate::runs()) cut what belongs to the runs, and
/// [`positions`](crate::positions) makes starts of flags that mark the first item of each segment:
///
/// ```
/// use warpfold::{Starts, flags, ops::Add, positions, segmented_reduce};
///
/// let heads = positions(flags(&[1_u8, 0, 0, 1, 0]))?;
/// let sums = segmented_reduce::<u32, Add>(&[1, 2, 3, 4, 5], Starts::new(&heads)?)?;
/// assert_eq!(sums, [6, 9]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// They are checked as [`Offsets`] are: by [`new`](Starts::new) in host memory, by
/// [`Device::starts`] in a buffer.
#[derive(Debug, Clone, Copy)]
pub struct Starts<S> {
    source: S,
    count: usize,
    /// The last start, if they were checked.
    end: Option<u64>,
}

impl<S> Starts<S> {
    /// Checks starts in host memory. Reads them once.
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if a start is less than the one before it.
    pub fn new<I: Offset>(starts: S) -> Result<Starts<S>>
    where
        S: Source<Item = I, Form = Slice<I>>,
    {
        Ok(Starts {
            count: starts.items()?,
            end: check_host("starts", &starts)?,
            source: starts,
        })
    }

    /// Takes starts as they are; see [`Offsets::unchecked`].
    ///
    /// # Errors
    ///
    /// None.
    pub fn unchecked<P: Place, I: Offset>(starts: S) -> Result<Starts<S>>
    where
        S: Source<P, Item = I, Form = Slice<I>>,
    {
        Ok(Starts {
            count: starts.items()?,
            source: starts,
            end: None,
        })
    }
}

impl<S> Starts<S> {
    /// The numbers of their segments for items that lie in their order, as starts.
    pub(super) fn of_ids<I: Offset>(ids: S) -> Result<Starts<S>>
    where
        S: Source<Item = I, Form = Slice<I>>,
    {
        check_host("ids", &ids)?;
        Starts::unchecked::<Host, I>(ids)
    }
}

impl<'b, I: Offset> Starts<&'b Buffer<I>> {
    /// Starts from such numbers in a buffer.
    pub(super) fn of_ids_on(device: &Device, ids: &'b Buffer<I>) -> Result<Self> {
        device.check_owns(ids)?;
        check_buffer("ids", device, ids)?;
        Starts::unchecked::<Device, I>(ids)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// Segments that start at numbers of type `I`, as a type without data.
#[derive(Debug)]
pub struct StartsOf<I>(PhantomData<fn() -> I>);

impl<I> sealed::Sealed for StartsOf<I> {}

// SAFETY: `warpfold::StartSegments` in `kernels/segmented_tiles.cuh` holds a pointer and two
// numbers.
unsafe impl<I: Offset> Cut for StartsOf<I> {
    type Arguments = OffsetsArguments;

    #[inline(always)]
    unsafe fn bound(arguments: &OffsetsArguments, i: usize) -> usize {
        if i as u64 == arguments.count {
            return arguments.items as usize;
        }
        // SAFETY: there are as many starts as segments; the rest is the caller's.
        let start = unsafe { *(arguments.offsets as *const I).add(i) };
        start.to_u64().min(arguments.items) as usize
    }

    fn cuda() -> String {
        format!("warpfold::StartSegments<{}>", I::CUDA)
    }
}

impl<P: Place, I: Offset, S: Source<P, Item = I, Form = Slice<I>>> Segments<P> for Starts<S> {
    type Cut = StartsOf<I>;

    fn count(&self) -> usize {
        self.count
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>, items: usize) -> Result<OffsetsArguments> {
        check_end("starts", self.count.saturating_sub(1), self.end, items)?;
        let SliceArguments { address } = self.source.bind(binder)?;
        Ok(OffsetsArguments {
            offsets: address,
            count: self.count as u64,
            items: items as u64,
        })
    }
}

/// Segments that start at numbers of type `I`, as many as a number in device memory says; as a type
/// without data.
#[derive(Debug)]
pub struct CountedStartsOf<I>(PhantomData<fn() -> I>);

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CountedArguments {
    pub starts: u64,
    /// How many starts there is room for.
    pub room: u64,
    pub items: u64,
    /// The address of their number.
    pub counted: u64,
}

impl<I> sealed::Sealed for CountedStartsOf<I> {}

// SAFETY: `warpfold::CountedStartSegments` in `kernels/segmented_tiles.cuh` holds a pointer, two
// numbers and a pointer.
unsafe impl<I: Offset> Cut for CountedStartsOf<I> {
    type Arguments = CountedArguments;

    unsafe fn bound(_: &CountedArguments, _: usize) -> usize {
        unreachable!("the number of segments is in device memory")
    }

    fn cuda() -> String {
        format!("warpfold::CountedStartSegments<{}>", I::CUDA)
    }
}

/// Segments of one length: the rows of a matrix that lies row by row.
///
/// ```
/// use warpfold::{Rows, ops::Add, segmented_reduce};
///
/// let matrix = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// assert_eq!(segmented_reduce::<f32, Add>(&matrix, Rows::new(2, 3))?, [6.0, 15.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Rows that lie further apart are those of a [`strided`](crate::strided) source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    count: usize,
    len: usize,
}

impl Rows {
    /// So many rows of `len` items each.
    pub fn new(count: usize, len: usize) -> Rows {
        Rows { count, len }
    }

    /// Their number and their length. An error unless they have so many items.
    pub(crate) fn check(self, items: usize) -> Result<(usize, usize)> {
        let Rows { count, len } = self;
        if count.checked_mul(len) != Some(items) {
            let fault = format!(
                "are {count} of {len} items, but there are {items} items\n  remedy: give a source of as many items as all rows have"
            );
            let argument = "rows";
            return Err(Error::Segments { argument, fault });
        }
        Ok((count, len))
    }
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct RowsArguments {
    pub length: u64,
    pub count: u64,
    pub items: u64,
}

impl sealed::Sealed for Rows {}

// SAFETY: `warpfold::EvenSegments` in `kernels/segmented_tiles.cuh` holds three numbers.
unsafe impl Cut for Rows {
    type Arguments = RowsArguments;

    #[inline(always)]
    unsafe fn bound(arguments: &RowsArguments, i: usize) -> usize {
        (arguments.length as usize * i).min(arguments.items as usize)
    }

    fn cuda() -> String {
        "warpfold::EvenSegments".into()
    }
}

impl<P: Place> Segments<P> for Rows {
    type Cut = Rows;

    fn count(&self) -> usize {
        self.count
    }

    fn bind<'a>(&'a self, _: &mut P::Binder<'a>, items: usize) -> Result<RowsArguments> {
        let (count, len) = self.check(items)?;
        Ok(RowsArguments {
            length: len as u64,
            count: count as u64,
            items: items as u64,
        })
    }
}
