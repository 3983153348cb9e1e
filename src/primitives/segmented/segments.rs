//! Where segments lie.

use crate::source::{
    Form, Host, HostBinder, Place, Slice, SliceArguments, Source, index, map, sealed, zip3,
};
use crate::{Buffer, Device, Element, Error, Result, function, monoid};
use rayon::prelude::*;
use std::marker::PhantomData;

/// How the items of a source are cut into segments.
///
/// - [`Offsets`]: between neighbouring numbers in memory, as a compressed sparse matrix (CSR) has
///   its rows, and Arrow its lists;
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
}

/// The first fall of all, and the last offset.
#[monoid(name = FirstFall, identity = [u64::MAX, 0], exact)]
fn first_fall(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    [a[0].min(b[0]), b[1]]
}

macro_rules! offsets {
    ($($ty:ident),*) => {$(
        impl Offset for $ty {
            const CUDA: &'static str = stringify!($ty);

            fn to_u64(self) -> u64 {
                self.into()
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

offsets!(u32, u64);

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
        let len = offsets.items()?;
        let count = count_of(len)?;
        let arguments = offsets.bind(&mut HostBinder::new(&Device::cpu()))?;
        // SAFETY: on the CPU these are the address and the length of a slice that `offsets` borrows.
        let slice = unsafe { Slice::<I>::as_slice(&arguments, len) }.expect("a slice is one");
        // Neighbouring chunks share an offset.
        let starts = (0..count).into_par_iter().step_by(CHUNK);
        let fall = starts.find_map_first(|start| {
            let chunk = &slice[start..len.min(start + CHUNK + 1)];
            let fall = || chunk.windows(2).position(|pair| pair[1] < pair[0]);
            (!chunk.is_sorted()).then(|| start + fall().expect("it falls") + 1)
        });
        if let Some(fall) = fall {
            return Err(falls(fall, slice[fall - 1].to_u64(), slice[fall].to_u64()));
        }
        Ok(Offsets {
            source: offsets,
            count,
            end: slice.last().map(|end| end.to_u64()),
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
    /// [`Error::Segments`] if there are none, or if one is less than the one before it; and those of
    /// [`Device::reduce`].
    pub fn offsets<'b, I: Offset>(&self, offsets: &'b Buffer<I>) -> Result<Offsets<&'b Buffer<I>>> {
        self.check_owns(offsets)?;
        let count = count_of(offsets.len())?;
        let mut end = None;
        if count > 0 {
            let [fall, last] = I::first_fall(self, offsets)?;
            if fall != u64::MAX {
                let fall = fall as usize;
                let pair = offsets.slice(fall - 1..=fall).to_vec()?;
                return Err(falls(fall, pair[0].to_u64(), pair[1].to_u64()));
            }
            end = Some(last);
        }
        Ok(Offsets {
            source: offsets,
            count,
            end,
        })
    }
}

/// The offsets that a thread checks at a time.
const CHUNK: usize = 1 << 16;

fn count_of(offsets: usize) -> Result<usize> {
    offsets.checked_sub(1).ok_or_else(|| Error::Segments {
        argument: "offsets",
        fault: "are none\n  remedy: give n + 1 offsets for n segments, and one for none".into(),
    })
}

fn falls(number: usize, before: u64, offset: u64) -> Error {
    Error::Segments {
        argument: "offsets",
        fault: format!(
            "fall: offsets[{number}] is {offset}, less than the {before} before it\n  remedy: give offsets in ascending order"
        ),
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

// SAFETY: `warpfold::OffsetSegments` in `kernels/segmented.cuh` holds a pointer and two numbers.
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
        if let Some(end) = self.end
            && end > items as u64
        {
            let fault = format!(
                "pass the end: offsets[{}] is {end}, but there are {items} items\n  remedy: give offsets up to the number of items",
                self.count
            );
            let argument = "offsets";
            return Err(Error::Segments { argument, fault });
        }
        let SliceArguments { address } = self.source.bind(binder)?;
        Ok(OffsetsArguments {
            offsets: address,
            count: self.count as u64,
            items: items as u64,
        })
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

// SAFETY: `warpfold::EvenSegments` in `kernels/segmented.cuh` holds three numbers.
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
        let Rows { count, len } = *self;
        if count.checked_mul(len) != Some(items) {
            let fault = format!(
                "are {count} of {len} items, but there are {items} items\n  remedy: give a source of as many items as all rows have"
            );
            let argument = "rows";
            return Err(Error::Segments { argument, fault });
        }
        Ok(RowsArguments {
            length: len as u64,
            count: count as u64,
            items: items as u64,
        })
    }
}
