//! Sources: what primitives read.
//!
//! A source is a number of items in an order. A slice is one. [`map`] and [`zip`] make sources out
//! of others, [`index`] and [`constant`] out of nothing, and [`strided`] takes the start of every
//! row of a slice. [`gather`] takes items at any positions. [`map_with`] and [`flagged_with`] give
//! a function parameters. Nothing is computed or stored when a source is made: a primitive
//! evaluates each item where it needs it, in registers.
//!
//! ```
//! use warpfold::{function, map, ops::Add, reduce, zip};
//!
//! #[function]
//! fn product(x: f32, y: f32) -> f32 {
//!     x * y
//! }
//!
//! let (a, b) = ([1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]);
//! assert_eq!(reduce::<f32, Add>(map::<product, _>(zip(&a, &b)))?, 32.0);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! # How it is built
//!
//! A source consists of a *form*, which is a type without data ([`Form`]), and of *arguments*: the
//! addresses and numbers that the form leaves open. `map::<product, _>(zip(&a, &b))` has the form
//! `Map<product, Zip<(Slice<f32>, Slice<f32>)>>`, and its arguments are two addresses. The form
//! names the kernel; the arguments go to each launch. A form is evaluated on the host by
//! [`Form::get`], and on a GPU by its twin in `kernels/source.cuh`.
//!
//! A new source is a file in this folder, and its twin in `kernels/source.cuh` and
//! `kernels/source/`: a form with its arguments, how an item is made, how rows and tiles are
//! loaded.

mod by_reference;
mod flags;
mod gather;
mod generated;
mod items;
mod map;
mod slice;
mod strided;
mod up_to;
mod with;
mod zip;

pub use flags::{Comparable, Equal, Heads, NonZero, bools, flags, heads, heads_by};
pub use gather::{
    Gather, GatherArguments, GatherRows, GatherRowsArguments, IndexNumber, Indices, gather,
    gather_rows,
};
pub use generated::{Constant, ConstantArguments, Index, IndexArguments, constant, index};
pub use map::{Feeds, Flagged, Map, flagged, map};
pub use slice::{Slice, SliceArguments};
pub use strided::{Strided, StridedArguments, strided};
pub use up_to::{UpTo, UpToArguments};
pub use with::{FlaggedWith, With, flagged_with, map_with};
pub use zip::{Zip, ZipArguments, zip, zip3};

pub(crate) use by_reference::ByReference;
pub(crate) use gather::{Most, check as check_indices, negative as negative_index};
pub(crate) use items::{FlaggedItems, Items, SumBlock};

use crate::definitions::Definitions;
use crate::{CudaType, Element, Result};

/// What a primitive reads: items in an order.
///
/// `Place` says where the data may lie:
///
/// - [`Host`], for the functions on host data: `&[T]`, `&[T; N]`, `&Vec<T>`;
/// - [`Device`](crate::Device), for its methods: `&Buffer<T>`;
/// - `CudaStream`, for [`cuda`](crate::cuda): `&CudaSlice<T>`, `&CudaView<T>`, `&CudaViewMut<T>`.
///
/// [`map`], [`map_with`], [`zip`], [`zip3`], [`gather`], [`index`], [`constant`] and [`strided`]
/// build sources
/// on these, at every place. The module [`source`](crate::source) has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no source that can be read here",
    label = "no source here",
    note = "functions on host data read `&[T]`, `&[T; N]` and `&Vec<T>`, so write `&values`; methods of Device read `&Buffer<T>`; warpfold::cuda reads `&CudaSlice<T>` and its views; and all of them what map, zip, gather, index, constant and strided make of these; a slice of `bool` is `warpfold::bools(&flags)`; iterators and closures do not run on a GPU: write a function with #[warpfold::function], and `map::<function, _>(&values)`"
)]
pub trait Source<P: Place = Host> {
    /// What the source consists of.
    type Item: CudaType;

    /// The source without its data.
    type Form: Form<Item = Self::Item>;

    /// The number of items.
    ///
    /// # Errors
    ///
    /// [`Error::Zip`](crate::Error::Zip) if sources of different lengths are zipped.
    fn items(&self) -> Result<usize>;

    /// What the form leaves open.
    #[doc(hidden)]
    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<Self::Form as Form>::Arguments>;
}

/// Where the data of a source may lie.
pub trait Place: sealed::Sealed {
    #[doc(hidden)]
    type Binder<'a>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Host memory, as a [place](Place) of sources.
#[derive(Debug)]
pub enum Host {}

impl sealed::Sealed for Host {}

impl Place for Host {
    type Binder<'a> = HostBinder;
}

/// Gives the addresses of host slices, or of their copies where work is done elsewhere.
#[doc(hidden)]
#[derive(Debug)]
pub struct HostBinder {
    elsewhere: Option<Box<dyn Upload>>,
    kept: Vec<Box<dyn std::any::Any>>,
}

/// Copies host memory to where work is done.
pub(crate) trait Upload: std::fmt::Debug {
    /// The address of a copy, and what keeps it. The address is a multiple of 256.
    fn upload(&self, bytes: &[u8]) -> Result<(u64, Box<dyn std::any::Any>)>;
}

impl HostBinder {
    /// For work where the slices lie, or elsewhere. The binder must live until the work is done.
    pub(crate) fn with(elsewhere: Option<Box<dyn Upload>>) -> HostBinder {
        HostBinder {
            elsewhere,
            kept: Vec::new(),
        }
    }

    fn slice<T: Element>(&mut self, data: &[T]) -> Result<SliceArguments> {
        let Some(elsewhere) = &self.elsewhere else {
            return Ok(SliceArguments::of_host(data));
        };
        let (address, copy) = elsewhere.upload(bytemuck::cast_slice(data))?;
        self.kept.push(copy);
        Ok(SliceArguments { address })
    }
}

/// A source without its data: a type that says how items are made of what lies in memory.
///
/// The types of this module implement it: [`Slice`], [`Map`], [`Zip`], [`Gather`], [`Index`],
/// [`Constant`], [`Strided`]. It cannot be implemented elsewhere.
///
/// # Safety
///
/// `Arguments` is laid out as the members of the type that [`cuda`](Form::cuda) names.
pub unsafe trait Form: sealed::Sealed + 'static {
    /// What the source consists of.
    type Item: CudaType;

    /// What the form leaves open.
    #[doc(hidden)]
    type Arguments: Copy + Send + Sync + 'static;

    /// What it is made of.
    #[doc(hidden)]
    const LEAVES: Leaves;

    /// Item `i`.
    ///
    /// # Safety
    ///
    /// The arguments are of a source in host memory that is still borrowed, and has more items.
    #[doc(hidden)]
    unsafe fn get(arguments: &Self::Arguments, i: usize) -> Self::Item;

    /// Has the caches fetch what some items are made of. Any range will do, even beyond the end.
    #[doc(hidden)]
    #[inline(always)]
    fn prefetch(arguments: &Self::Arguments, items: std::ops::Range<usize>) {
        let _ = (arguments, items);
    }

    /// The items, if they lie in host memory as they are.
    ///
    /// # Safety
    ///
    /// As for [`get`](Form::get), for `len` items and the lifetime `'a`.
    #[doc(hidden)]
    unsafe fn as_slice<'a>(arguments: &Self::Arguments, len: usize) -> Option<&'a [Self::Item]> {
        let _ = (arguments, len);
        None
    }

    /// Some of the items, if these lie side by side in host memory as they are.
    ///
    /// # Safety
    ///
    /// As for [`get`](Form::get), for the items of the range and the lifetime `'a`.
    #[doc(hidden)]
    unsafe fn part<'a>(
        arguments: &Self::Arguments,
        range: std::ops::Range<usize>,
    ) -> Option<&'a [Self::Item]> {
        // SAFETY: the caller's; what lies before the range is not read.
        unsafe { Self::as_slice(arguments, range.end) }.map(|items| &items[range])
    }

    /// The arguments of the slice that starts at an address, if the form is a slice.
    #[doc(hidden)]
    fn of_address(_: u64) -> Option<Self::Arguments> {
        None
    }

    /// Where the items lie, if the form is a slice.
    #[doc(hidden)]
    fn address(_: &Self::Arguments) -> Option<u64> {
        None
    }

    /// Whether all slices start at multiples of `bytes`.
    #[doc(hidden)]
    fn is_aligned(arguments: &Self::Arguments, bytes: u64) -> bool;

    /// Adds what the CUDA type needs to `definitions`, and returns its name.
    #[doc(hidden)]
    fn cuda(definitions: &mut Definitions) -> String;
}

/// What a form is made of.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaves {
    /// Whether the form is a slice, and nothing else.
    pub plain: bool,
    /// Whether its items, apart from a flag, are those of a slice.
    pub kept: bool,
    /// Whether the copy engine can fetch it: there are slices, and their items lie side by side.
    pub fetched: bool,
    /// Whether a number in memory limits the length.
    pub counted: bool,
    /// The bytes of the item before each item, if that is read too.
    pub before: usize,
    /// How many slices, indices and constants there are.
    pub count: usize,
    /// The bytes that all slices take for an item.
    pub bytes: usize,
    /// The bytes of the largest slice's elements.
    pub largest: usize,
    /// The largest power of two, up to 16, that divides the sizes of all slices' elements.
    pub granule: usize,
}

impl Leaves {
    const fn slice(bytes: usize) -> Leaves {
        let granule = bytes & bytes.wrapping_neg();
        Leaves {
            plain: true,
            kept: true,
            fetched: true,
            counted: false,
            before: 0,
            count: 1,
            bytes,
            largest: bytes,
            granule: if granule > 16 { 16 } else { granule },
        }
    }

    /// What reads no memory.
    const fn nowhere() -> Leaves {
        Leaves {
            plain: false,
            kept: false,
            fetched: false,
            counted: false,
            before: 0,
            count: 1,
            bytes: 0,
            largest: 0,
            granule: 16,
        }
    }

    const fn and(self, other: Leaves) -> Leaves {
        // The items of a slice may be followed by a flag. The copy engine fetches the rest even if
        // one of the two reads no memory.
        Leaves {
            plain: false,
            kept: self.plain,
            fetched: (self.fetched || self.bytes == 0)
                && (other.fetched || other.bytes == 0)
                && self.bytes + other.bytes > 0,
            counted: self.counted || other.counted,
            before: self.before + other.before,
            count: self.count + other.count,
            bytes: self.bytes + other.bytes,
            largest: if self.largest > other.largest {
                self.largest
            } else {
                other.largest
            },
            granule: if self.granule < other.granule {
                self.granule
            } else {
                other.granule
            },
        }
    }

    const fn mapped(self) -> Leaves {
        Leaves {
            plain: false,
            kept: false,
            ..self
        }
    }

    /// What also reads the item before each item. Only those of slices can be fetched.
    const fn with_neighbours(self) -> Leaves {
        Leaves {
            plain: false,
            kept: self.plain,
            fetched: self.plain,
            before: self.largest,
            ..self
        }
    }

    const fn flagged(self) -> Leaves {
        Leaves {
            plain: false,
            ..self
        }
    }
}
