//! Sources: what primitives read.
//!
//! A source is a number of items in an order. A slice is one. [`map`] and [`zip`] make sources out
//! of others, [`index`] and [`constant`] out of nothing, and [`strided`] takes the start of every
//! row of a slice. Nothing is computed or stored when a source is made: a primitive evaluates each
//! item where it needs it, in registers.
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

use crate::codegen::Definitions;
use crate::{Buffer, CudaType, Device, Element, Error, Function, Result};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// What a primitive reads: items in an order.
///
/// `Place` says where the data may lie:
///
/// - [`Host`], for the functions on host data: `&[T]`, `&[T; N]`, `&Vec<T>`;
/// - [`Device`], for its methods: `&Buffer<T>`;
/// - `CudaStream`, for [`cuda`](crate::cuda): `&CudaSlice<T>`, `&CudaView<T>`, `&CudaViewMut<T>`.
///
/// [`map`], [`zip`], [`zip3`], [`index`], [`constant`] and [`strided`] build sources on these, at
/// every place. The module [`source`](crate::source) has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no source that can be read here",
    label = "no source here",
    note = "functions on host data read `&[T]`, arrays and `&Vec<T>`; methods of Device read `&Buffer<T>`; warpfold::cuda reads `&CudaSlice<T>` and its views; and all of them what map, zip, index, constant and strided make of these"
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
    /// [`Error::Zip`] if sources of different lengths are zipped.
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

impl sealed::Sealed for Device {}

impl Place for Device {
    type Binder<'a> = DeviceBinder<'a>;
}

/// Gives the addresses of host slices; or uploads them, and gives those of the copies.
#[doc(hidden)]
#[derive(Debug)]
pub struct HostBinder {
    device: Device,
    kept: Vec<Box<dyn std::any::Any>>,
}

impl HostBinder {
    /// For work on `device`. The binder must live until the work is done.
    pub(crate) fn new(device: &Device) -> HostBinder {
        HostBinder {
            device: device.clone(),
            kept: Vec::new(),
        }
    }

    fn slice<T: Element>(&mut self, data: &[T]) -> Result<SliceArguments> {
        if self.device.is_cpu() {
            return Ok(SliceArguments::of_host(data));
        }
        let copy = self.device.upload(data)?;
        let arguments = SliceArguments {
            address: copy.address(),
        };
        self.kept.push(Box::new(copy));
        Ok(arguments)
    }
}

/// Gives the addresses of buffers that live on a device.
#[doc(hidden)]
#[derive(Debug)]
pub struct DeviceBinder<'a> {
    device: &'a Device,
}

impl<'a> DeviceBinder<'a> {
    pub(crate) fn new(device: &'a Device) -> DeviceBinder<'a> {
        DeviceBinder { device }
    }
}

/// A source without its data: a type that says how items are made of what lies in memory.
///
/// The types of this module implement it: [`Slice`], [`Map`], [`Zip`], [`Index`], [`Constant`],
/// [`Strided`]. It cannot be implemented elsewhere.
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

    /// Has the caches fetch what some items are made of. That is never wrong, whatever the numbers.
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

    /// The arguments of the slice that starts at an address, if the form is a slice.
    #[doc(hidden)]
    fn of_address(_: u64) -> Option<Self::Arguments> {
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
            count: 1,
            bytes,
            largest: bytes,
            granule: if granule > 16 { 16 } else { granule },
        }
    }

    /// What lies nowhere.
    const fn nowhere() -> Leaves {
        Leaves {
            plain: false,
            kept: false,
            fetched: false,
            count: 1,
            bytes: 0,
            largest: 0,
            granule: 16,
        }
    }

    const fn and(self, other: Leaves) -> Leaves {
        // What lies nowhere does not keep the copy engine from fetching the rest.
        Leaves {
            plain: false,
            kept: false,
            fetched: (self.fetched || self.bytes == 0)
                && (other.fetched || other.bytes == 0)
                && self.bytes + other.bytes > 0,
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

    const fn flagged(self) -> Leaves {
        Leaves {
            plain: false,
            ..self
        }
    }
}

// ---- slices ----

/// The [form](Form) of everything that holds elements as they are: slices, arrays, vectors, buffers
/// and device memory.
#[derive(Debug)]
pub struct Slice<T>(PhantomData<fn() -> T>);

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SliceArguments {
    pub address: u64,
}

impl SliceArguments {
    fn of_host<T>(data: &[T]) -> SliceArguments {
        SliceArguments {
            address: data.as_ptr() as u64,
        }
    }
}

impl<T> sealed::Sealed for Slice<T> {}

// SAFETY: `warpfold::Slice` in `kernels/source.cuh` holds a pointer.
unsafe impl<T: Element> Form for Slice<T> {
    type Item = T;
    type Arguments = SliceArguments;

    const LEAVES: Leaves = Leaves::slice(size_of::<T>());

    #[inline(always)]
    unsafe fn get(arguments: &SliceArguments, i: usize) -> T {
        // SAFETY: the caller's.
        unsafe { *(arguments.address as *const T).add(i) }
    }

    #[inline(always)]
    fn prefetch(arguments: &SliceArguments, items: std::ops::Range<usize>) {
        let start = (arguments.address as *const T).wrapping_add(items.start);
        crate::cpu::stream::prefetch(start.cast(), items.len() * size_of::<T>());
    }

    unsafe fn as_slice<'a>(arguments: &SliceArguments, len: usize) -> Option<&'a [T]> {
        // SAFETY: the caller's. The address is that of a slice, which is never null.
        Some(unsafe { std::slice::from_raw_parts(arguments.address as *const T, len) })
    }

    fn of_address(address: u64) -> Option<SliceArguments> {
        Some(SliceArguments { address })
    }

    fn is_aligned(arguments: &SliceArguments, bytes: u64) -> bool {
        arguments.address.is_multiple_of(bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!("warpfold::Slice<{}>", T::cuda_type(definitions))
    }
}

/// What refers to a slice of the host.
macro_rules! host_slices {
    ($(($($generics:tt)*) $ty:ty;)*) => {$(
        impl<$($generics)*> Source for $ty {
            type Item = T;
            type Form = Slice<T>;

            fn items(&self) -> Result<usize> {
                Ok(self.len())
            }

            fn bind(&self, binder: &mut HostBinder) -> Result<SliceArguments> {
                binder.slice::<T>(&self[..])
            }
        }
    )*};
}

host_slices! {
    (T: Element) &[T];
    (T: Element) &mut [T];
    (T: Element, const N: usize) &[T; N];
    (T: Element) &Vec<T>;
    (T: Element) &Box<[T]>;
    (T: Element) &std::sync::Arc<[T]>;
}

impl<T: Element> Source<Device> for &Buffer<T> {
    type Item = T;
    type Form = Slice<T>;

    fn items(&self) -> Result<usize> {
        Ok(self.len())
    }

    fn bind<'a>(&'a self, binder: &mut DeviceBinder<'a>) -> Result<SliceArguments> {
        binder.device.check_owns(self)?;
        Ok(SliceArguments {
            address: self.address(),
        })
    }
}

// ---- map ----

/// The source whose items are those of another, each given to a function; [`map`] makes it.
#[derive(Debug)]
pub struct Map<F, S> {
    source: S,
    function: PhantomData<fn() -> F>,
}

impl<F, S: Clone> Clone for Map<F, S> {
    fn clone(&self) -> Self {
        map(self.source.clone())
    }
}

impl<F, S: Copy> Copy for Map<F, S> {}

/// Gives each item of `source` to the function `F`.
///
/// `F` is the type that [`#[function]`](macro@crate::function) makes, which has the function's own
/// name. The items may have another type than those of `source`. The parts of a zipped item are the
/// function's arguments.
///
/// ```
/// use warpfold::{function, map, ops::Add, reduce};
///
/// #[function]
/// fn widen(byte: u8) -> u64 {
///     byte as u64
/// }
///
/// assert_eq!(reduce::<u64, Add>(map::<widen, _>(&[200_u8; 300]))?, 60_000);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn map<F, S>(source: S) -> Map<F, S> {
    Map {
        source,
        function: PhantomData,
    }
}

/// The items that a function with these arguments takes: one that is its only argument, or a tuple
/// of all of them.
#[diagnostic::on_unimplemented(
    message = "the function takes `{Input}`, and the items are `{Self}`",
    label = "not the function's arguments",
    note = "a function of one argument maps a source of that type; a function of several maps what zip makes of as many sources"
)]
pub trait Feeds<Input>: CudaType {
    /// Whether the item is a tuple of the arguments.
    #[doc(hidden)]
    const SPREADS: bool;

    #[doc(hidden)]
    fn feed(self) -> Input;
}

impl<X: CudaType> Feeds<(X,)> for X {
    const SPREADS: bool = false;

    #[inline(always)]
    fn feed(self) -> (X,) {
        (self,)
    }
}

impl<A: CudaType, B: CudaType> Feeds<(A, B)> for (A, B) {
    const SPREADS: bool = true;

    #[inline(always)]
    fn feed(self) -> (A, B) {
        self
    }
}

impl<A: CudaType, B: CudaType, C: CudaType> Feeds<(A, B, C)> for (A, B, C) {
    const SPREADS: bool = true;

    #[inline(always)]
    fn feed(self) -> (A, B, C) {
        self
    }
}

impl<F, S> sealed::Sealed for Map<F, S> {}

// SAFETY: `warpfold::Map` in `kernels/source.cuh` holds its source, and nothing else.
unsafe impl<F, S> Form for Map<F, S>
where
    F: Function<Output: CudaType>,
    S: Form<Item: Feeds<F::Input>>,
{
    type Item = F::Output;
    type Arguments = S::Arguments;

    const LEAVES: Leaves = S::LEAVES.mapped();

    #[inline(always)]
    unsafe fn get(arguments: &S::Arguments, i: usize) -> F::Output {
        // SAFETY: the caller's.
        F::call(unsafe { S::get(arguments, i) }.feed())
    }

    #[inline(always)]
    fn prefetch(arguments: &S::Arguments, items: std::ops::Range<usize>) {
        S::prefetch(arguments, items);
    }

    fn is_aligned(arguments: &S::Arguments, bytes: u64) -> bool {
        S::is_aligned(arguments, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let (source, function) = (S::cuda(definitions), F::cuda(definitions));
        let spreads = <S::Item as Feeds<F::Input>>::SPREADS;
        format!("warpfold::Map<{function}, {source}, {spreads}>")
    }
}

impl<P: Place, F, S> Source<P> for Map<F, S>
where
    F: Function<Output: CudaType>,
    S: Source<P, Item: Feeds<F::Input>>,
{
    type Item = F::Output;
    type Form = Map<F, S::Form>;

    fn items(&self) -> Result<usize> {
        self.source.items()
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<S::Form as Form>::Arguments> {
        self.source.bind(binder)
    }
}

// ---- flags ----

/// The source of the pairs of an item and what a predicate says of it; [`flagged`] makes it.
#[derive(Debug)]
pub struct Flagged<P, S> {
    source: S,
    predicate: PhantomData<fn() -> P>,
}

impl<P, S: Clone> Clone for Flagged<P, S> {
    fn clone(&self) -> Self {
        flagged(self.source.clone())
    }
}

impl<P, S: Copy> Copy for Flagged<P, S> {}

/// Pairs each item of `source` with what the predicate `P` says of it.
///
/// ```
/// use warpfold::{flagged, function, select_flagged};
///
/// #[function]
/// fn even(x: u32) -> bool {
///     x % 2 == 0
/// }
///
/// assert_eq!(select_flagged::<u32>(flagged::<even, _>(&[3, 8, 1, 4]))?, [8, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn flagged<P, S>(source: S) -> Flagged<P, S> {
    Flagged {
        source,
        predicate: PhantomData,
    }
}

impl<P, S> sealed::Sealed for Flagged<P, S> {}

// SAFETY: `warpfold::Flagged` in `kernels/source.cuh` holds its source, and nothing else.
unsafe impl<P, S> Form for Flagged<P, S>
where
    P: Function<Output = bool>,
    S: Form<Item: Feeds<P::Input>>,
{
    type Item = (S::Item, bool);
    type Arguments = S::Arguments;

    const LEAVES: Leaves = S::LEAVES.flagged();

    #[inline(always)]
    unsafe fn get(arguments: &S::Arguments, i: usize) -> Self::Item {
        // SAFETY: the caller's.
        let item = unsafe { S::get(arguments, i) };
        (item, P::call(item.feed()))
    }

    fn of_address(address: u64) -> Option<Self::Arguments> {
        S::of_address(address)
    }

    #[inline(always)]
    fn prefetch(arguments: &S::Arguments, items: std::ops::Range<usize>) {
        S::prefetch(arguments, items);
    }

    fn is_aligned(arguments: &S::Arguments, bytes: u64) -> bool {
        S::is_aligned(arguments, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let (source, predicate) = (S::cuda(definitions), P::cuda(definitions));
        let spreads = <S::Item as Feeds<P::Input>>::SPREADS;
        format!("warpfold::Flagged<{predicate}, {source}, {spreads}>")
    }
}

impl<L: Place, P, S> Source<L> for Flagged<P, S>
where
    P: Function<Output = bool>,
    S: Source<L, Item: Feeds<P::Input>>,
{
    type Item = (S::Item, bool);
    type Form = Flagged<P, S::Form>;

    fn items(&self) -> Result<usize> {
        self.source.items()
    }

    fn bind<'a>(&'a self, binder: &mut L::Binder<'a>) -> Result<<S::Form as Form>::Arguments> {
        self.source.bind(binder)
    }
}

// ---- zip ----

/// The source of the tuples of several sources' items; [`zip`] and [`zip3`] make it.
#[derive(Debug, Clone, Copy)]
pub struct Zip<Sources>(Sources);

/// The pairs of the items of two sources, which must have as many.
///
/// ```
/// use warpfold::{Element, function, index, map, monoid, reduce, zip};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Found {
///     place: u64,
///     value: i64,
/// }
///
/// /// The larger value, and of equals the first.
/// #[monoid(identity = Found { place: u64::MAX, value: i64::MIN }, exact)]
/// fn larger(a: Found, b: Found) -> Found {
///     if a.value < b.value { b } else { a }
/// }
///
/// #[function]
/// fn found(value: i64, place: u64) -> Found {
///     Found { place, value }
/// }
///
/// let values = [3_i64, 9, -2, 9];
/// let largest = reduce::<Found, Larger>(map::<found, _>(zip(&values, index(4))))?;
/// assert_eq!(largest, Found { place: 1, value: 9 });
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn zip<A, B>(a: A, b: B) -> Zip<(A, B)> {
    Zip((a, b))
}

/// The triples of the items of three sources, which must have as many.
///
/// ```
/// use warpfold::{function, map, ops::Add, reduce, zip3};
///
/// #[function]
/// fn weighted(weight: f64, x: f64, y: f64) -> f64 {
///     weight * (x * y)
/// }
///
/// let (weights, x, y) = ([0.5_f64, 2.0], [1.0_f64, 3.0], [4.0_f64, 5.0]);
/// assert_eq!(reduce::<f64, Add>(map::<weighted, _>(zip3(&weights, &x, &y)))?, 32.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn zip3<A, B, C>(a: A, b: B, c: C) -> Zip<(A, B, C)> {
    Zip((a, b, c))
}

fn same_length(first: usize, second: usize) -> Result<()> {
    if first == second {
        return Ok(());
    }
    Err(Error::Zip { first, second })
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ZipArguments<A, B>(pub A, pub B);

impl<Sources> sealed::Sealed for Zip<Sources> {}

// SAFETY: `warpfold::Zip` in `kernels/source.cuh` holds its sources in their order.
unsafe impl<A: Form, B: Form> Form for Zip<(A, B)> {
    type Item = (A::Item, B::Item);
    type Arguments = ZipArguments<A::Arguments, B::Arguments>;

    const LEAVES: Leaves = A::LEAVES.and(B::LEAVES);

    #[inline(always)]
    unsafe fn get(arguments: &Self::Arguments, i: usize) -> Self::Item {
        // SAFETY: the caller's.
        unsafe { (A::get(&arguments.0, i), B::get(&arguments.1, i)) }
    }

    #[inline(always)]
    fn prefetch(arguments: &Self::Arguments, items: std::ops::Range<usize>) {
        A::prefetch(&arguments.0, items.clone());
        B::prefetch(&arguments.1, items);
    }

    fn is_aligned(arguments: &Self::Arguments, bytes: u64) -> bool {
        A::is_aligned(&arguments.0, bytes) && B::is_aligned(&arguments.1, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!(
            "warpfold::Zip<{}, {}>",
            A::cuda(definitions),
            B::cuda(definitions)
        )
    }
}

impl<P: Place, A: Source<P>, B: Source<P>> Source<P> for Zip<(A, B)> {
    type Item = (A::Item, B::Item);
    type Form = Zip<(A::Form, B::Form)>;

    fn items(&self) -> Result<usize> {
        let (a, b) = &self.0;
        let (a, b) = (a.items()?, b.items()?);
        same_length(a, b)?;
        Ok(a)
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<Self::Form as Form>::Arguments> {
        let (a, b) = &self.0;
        Ok(ZipArguments(a.bind(binder)?, b.bind(binder)?))
    }
}

// SAFETY: `warpfold::Zip3` in `kernels/source.cuh` is the pair of the first source and the pair of
// the others.
unsafe impl<A: Form, B: Form, C: Form> Form for Zip<(A, B, C)> {
    type Item = (A::Item, B::Item, C::Item);
    type Arguments = ZipArguments<A::Arguments, ZipArguments<B::Arguments, C::Arguments>>;

    const LEAVES: Leaves = A::LEAVES.and(B::LEAVES).and(C::LEAVES);

    #[inline(always)]
    unsafe fn get(arguments: &Self::Arguments, i: usize) -> Self::Item {
        // SAFETY: the caller's.
        unsafe {
            (
                A::get(&arguments.0, i),
                B::get(&arguments.1.0, i),
                C::get(&arguments.1.1, i),
            )
        }
    }

    #[inline(always)]
    fn prefetch(arguments: &Self::Arguments, items: std::ops::Range<usize>) {
        A::prefetch(&arguments.0, items.clone());
        B::prefetch(&arguments.1.0, items.clone());
        C::prefetch(&arguments.1.1, items);
    }

    fn is_aligned(arguments: &Self::Arguments, bytes: u64) -> bool {
        A::is_aligned(&arguments.0, bytes)
            && B::is_aligned(&arguments.1.0, bytes)
            && C::is_aligned(&arguments.1.1, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!(
            "warpfold::Zip3<{}, {}, {}>",
            A::cuda(definitions),
            B::cuda(definitions),
            C::cuda(definitions)
        )
    }
}

impl<P: Place, A: Source<P>, B: Source<P>, C: Source<P>> Source<P> for Zip<(A, B, C)> {
    type Item = (A::Item, B::Item, C::Item);
    type Form = Zip<(A::Form, B::Form, C::Form)>;

    fn items(&self) -> Result<usize> {
        let (a, b, c) = &self.0;
        let (a, b, c) = (a.items()?, b.items()?, c.items()?);
        same_length(a, b)?;
        same_length(a, c)?;
        Ok(a)
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<Self::Form as Form>::Arguments> {
        let (a, b, c) = &self.0;
        Ok(ZipArguments(
            a.bind(binder)?,
            ZipArguments(b.bind(binder)?, c.bind(binder)?),
        ))
    }
}

// ---- what lies nowhere ----

/// The source of the numbers 0, 1, 2, …; [`index`] makes it.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    len: usize,
}

/// The numbers `0, 1, 2, … len - 1`, as `u64`.
///
/// Zipped with another source, they are the positions of its items.
///
/// ```
/// use warpfold::{index, ops::Add, reduce};
/// assert_eq!(reduce::<u64, Add>(index(101))?, 5050);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn index(len: usize) -> Index {
    Index { len }
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct IndexArguments {
    pub first: u64,
}

impl sealed::Sealed for Index {}

// SAFETY: `warpfold::Index` in `kernels/source.cuh` holds the first number.
unsafe impl Form for Index {
    type Item = u64;
    type Arguments = IndexArguments;

    const LEAVES: Leaves = Leaves::nowhere();

    #[inline(always)]
    unsafe fn get(arguments: &IndexArguments, i: usize) -> u64 {
        arguments.first + i as u64
    }

    fn is_aligned(_: &IndexArguments, _: u64) -> bool {
        true
    }

    fn cuda(_: &mut Definitions) -> String {
        "warpfold::Index".into()
    }
}

impl<P: Place> Source<P> for Index {
    type Item = u64;
    type Form = Index;

    fn items(&self) -> Result<usize> {
        Ok(self.len)
    }

    fn bind<'a>(&'a self, _: &mut P::Binder<'a>) -> Result<IndexArguments> {
        Ok(IndexArguments { first: 0 })
    }
}

/// The source of one value, again and again; [`constant`] makes it.
#[derive(Debug, Clone, Copy)]
pub struct Constant<T> {
    value: T,
    len: usize,
}

/// `len` times the same value.
///
/// ```
/// use warpfold::{constant, function, inclusive_scan, map, ops::Add, zip};
///
/// #[function]
/// fn scaled(x: f64, factor: f64) -> f64 {
///     x * factor
/// }
///
/// let percent = map::<scaled, _>(zip(&[5.0, 7.0], constant(0.01, 2)));
/// assert_eq!(inclusive_scan::<f64, Add>(percent)?, [0.05, 0.05 + 0.07]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn constant<T: Element>(value: T, len: usize) -> Constant<T> {
    Constant { value, len }
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ConstantArguments<T> {
    pub value: T,
}

impl<T> sealed::Sealed for Constant<T> {}

// SAFETY: `warpfold::Constant` in `kernels/source.cuh` holds the value, which is laid out in CUDA
// as it is here.
unsafe impl<T: Element> Form for Constant<T> {
    type Item = T;
    type Arguments = ConstantArguments<T>;

    const LEAVES: Leaves = Leaves::nowhere();

    #[inline(always)]
    unsafe fn get(arguments: &ConstantArguments<T>, _: usize) -> T {
        arguments.value
    }

    fn is_aligned(_: &ConstantArguments<T>, _: u64) -> bool {
        true
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!("warpfold::Constant<{}>", T::cuda_type(definitions))
    }
}

impl<P: Place, T: Element> Source<P> for Constant<T> {
    type Item = T;
    type Form = Constant<T>;

    fn items(&self) -> Result<usize> {
        Ok(self.len)
    }

    fn bind<'a>(&'a self, _: &mut P::Binder<'a>) -> Result<ConstantArguments<T>> {
        Ok(ConstantArguments { value: self.value })
    }
}

// ---- rows with a stride ----

/// The source of the starts of a slice's rows; [`strided`] makes it.
#[derive(Debug, Clone, Copy)]
pub struct Strided<S> {
    source: S,
    width: usize,
    stride: usize,
}

/// The first `width` elements of every row of `stride` elements: a stretch of columns of a matrix,
/// row by row. What is left of `source` after the last whole row counts if it has `width` elements.
///
/// `source` is a slice, a buffer or device memory. To begin with another column, leave out the
/// elements before it: `strided(&matrix[2..], 3, 10)` has columns 2 to 4 of 10.
///
/// ```
/// use warpfold::{ops::Add, reduce, strided};
///
/// let matrix = [
///     1, 2, 3, //
///     4, 5, 6,
/// ];
/// assert_eq!(reduce::<i32, Add>(strided(&matrix, 2, 3))?, 1 + 2 + 4 + 5);
/// assert_eq!(reduce::<i32, Add>(strided(&matrix[2..], 1, 3))?, 3 + 6);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Panics
///
/// If `width` is 0, or more than `stride`.
pub fn strided<S>(source: S, width: usize, stride: usize) -> Strided<S> {
    assert!(
        0 < width && width <= stride,
        "a row of {stride} elements has no first {width}: width is 1 to stride"
    );
    Strided {
        source,
        width,
        stride,
    }
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct StridedArguments {
    pub address: u64,
    pub width: u64,
    pub stride: u64,
}

impl<S> sealed::Sealed for Strided<S> {}

// SAFETY: `warpfold::Strided` in `kernels/source.cuh` holds a pointer and the two numbers.
unsafe impl<T: Element> Form for Strided<Slice<T>> {
    type Item = T;
    type Arguments = StridedArguments;

    const LEAVES: Leaves = Leaves {
        plain: false,
        kept: false,
        fetched: false,
        ..Leaves::slice(size_of::<T>())
    };

    #[inline(always)]
    unsafe fn get(arguments: &StridedArguments, i: usize) -> T {
        let (width, stride) = (arguments.width as usize, arguments.stride as usize);
        // A division takes longer than all the rest.
        let place = match width {
            1 => i * stride,
            _ => i / width * stride + i % width,
        };
        // SAFETY: the caller's.
        unsafe { *(arguments.address as *const T).add(place) }
    }

    fn is_aligned(arguments: &StridedArguments, bytes: u64) -> bool {
        arguments.address.is_multiple_of(bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!("warpfold::Strided<{}>", T::cuda_type(definitions))
    }
}

impl<P: Place, T: Element, S: Source<P, Item = T, Form = Slice<T>>> Source<P> for Strided<S> {
    type Item = T;
    type Form = Strided<Slice<T>>;

    fn items(&self) -> Result<usize> {
        let len = self.source.items()?;
        let (rows, rest) = (len / self.stride, len % self.stride);
        Ok((rows + usize::from(rest >= self.width)) * self.width)
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<StridedArguments> {
        Ok(StridedArguments {
            address: self.source.bind(binder)?.address,
            width: self.width as u64,
            stride: self.stride as u64,
        })
    }
}

// ---- on the CPU ----

/// The items of a source in host memory, as the CPU's loops take them.
///
/// A slice is used where it lies. Anything else is evaluated a block at a time, into memory that
/// stays in a cache. So the loops are compiled once for a type and an operator, whatever the
/// source.
pub(crate) struct Items<'a, T> {
    len: usize,
    slice: Option<&'a [T]>,
    fill: Fill<'a, T>,
}

/// Calls `write` with each of the targets and an item, from item `start` on, in a loop that the
/// compiler turns into SIMD code.
///
/// The arguments come by value. The compiler must assume that a write changes what they are read
/// from otherwise, reads an address again for each item, and vectorises nothing.
///
/// # Safety
///
/// As for [`Form::get`], for as many items as there are targets.
#[inline(always)]
unsafe fn evaluate<F: Form, To>(
    arguments: F::Arguments,
    start: usize,
    targets: impl Iterator<Item = To>,
    mut write: impl FnMut(To, F::Item),
) {
    crate::cpu::with_simd(
        #[inline(always)]
        move || {
            let arguments = arguments;
            for (i, to) in targets.enumerate() {
                // SAFETY: the caller's.
                write(to, unsafe { F::get(&arguments, start + i) });
            }
        },
    );
}

/// Writes the items from a position on: as many as there is room for.
type Fill<'a, T> = &'a (dyn Fn(usize, &mut [MaybeUninit<T>]) + Sync);

impl<'a, T: Element> Items<'a, T> {
    /// Calls `work` with the items of a form.
    ///
    /// # Safety
    ///
    /// The arguments are of a source in host memory with `len` items, which is borrowed meanwhile.
    pub(crate) unsafe fn with<F: Form<Item = T>, R>(
        arguments: &F::Arguments,
        len: usize,
        work: impl FnOnce(&Items<'_, T>) -> R,
    ) -> R {
        let fill = |start: usize, to: &mut [MaybeUninit<T>]| {
            assert!(start + to.len() <= len);
            let (first, count) = (start + AHEAD_BYTES / size_of::<T>(), to.len());
            // SAFETY: the positions are below `len`; the rest is the caller's.
            unsafe {
                evaluate::<F, _>(*arguments, start, to.iter_mut(), |to, item| {
                    to.write(item);
                });
            }
            F::prefetch(arguments, first.min(len)..(first + count).min(len));
        };
        work(&Items {
            len,
            // SAFETY: the caller's.
            slice: unsafe { F::as_slice(arguments, len) },
            fill: &fill,
        })
    }

    /// The items of a slice.
    pub(crate) fn of_slice(slice: &'a [T]) -> Items<'a, T> {
        Items {
            len: slice.len(),
            slice: Some(slice),
            fill: &|_, _| unreachable!("a slice is used where it lies"),
        }
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The items of a range where they lie, if they lie somewhere.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Option<&'a [T]> {
        self.slice.map(|slice| &slice[range])
    }

    /// Whether items are used where they lie.
    pub(crate) fn is_slice(&self) -> bool {
        self.slice.is_some()
    }

    /// The items of a range: where they lie, or evaluated into `room`, which keeps its memory.
    pub(crate) fn range<'r>(
        &'r self,
        range: std::ops::Range<usize>,
        room: &'r mut Vec<T>,
    ) -> &'r [T] {
        if let Some(slice) = self.slice {
            return &slice[range];
        }
        room.clear();
        room.reserve(range.len());
        let len = range.len();
        (self.fill)(range.start, &mut room.spare_capacity_mut()[..len]);
        // SAFETY: `fill` wrote that many.
        unsafe { room.set_len(len) };
        room
    }
}

/// The items of a source in host memory, each with a flag, as the CPU's loops take them.
///
/// They are evaluated a block at a time. So the loops are compiled once for a type, whatever the
/// source.
pub(crate) struct FlaggedItems<'a, T> {
    len: usize,
    fill: FillFlagged<'a, T>,
}

/// How far ahead of what is evaluated the caches fetch, in bytes of items. The loops that take the
/// items in turn with the evaluation would leave the memory idle otherwise.
const AHEAD_BYTES: usize = 2 << 10;

/// Writes the items from a position on, and their flags: as many as there is room for.
type FillFlagged<'a, T> =
    &'a (dyn Fn(usize, &mut [MaybeUninit<T>], &mut [MaybeUninit<bool>]) + Sync);

impl<T: Element> FlaggedItems<'_, T> {
    /// Calls `work` with the items of a form.
    ///
    /// # Safety
    ///
    /// The arguments are of a source in host memory with `len` items, which nothing but `work`
    /// writes to meanwhile, and which `work` does not read with what it has written over.
    pub(crate) unsafe fn with<F: Form<Item = (T, bool)>, R>(
        arguments: &F::Arguments,
        len: usize,
        work: impl FnOnce(&FlaggedItems<'_, T>) -> R,
    ) -> R {
        let fill = |start: usize, items: &mut [MaybeUninit<T>], flags: &mut [MaybeUninit<bool>]| {
            assert!(items.len() == flags.len() && start + items.len() <= len);
            let (first, count) = (start + AHEAD_BYTES / size_of::<T>(), items.len());
            let targets = items.iter_mut().zip(flags);
            // SAFETY: the positions are below `len`; the rest is the caller's.
            unsafe {
                evaluate::<F, _>(*arguments, start, targets, |(to, flag), item| {
                    to.write(item.0);
                    flag.write(item.1);
                });
            }
            F::prefetch(arguments, first.min(len)..(first + count).min(len));
        };
        work(&FlaggedItems { len, fill: &fill })
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Writes the items from `start` on, and their flags: all of the two slices, which have one
    /// length.
    pub(crate) fn evaluate(
        &self,
        start: usize,
        items: &mut [MaybeUninit<T>],
        flags: &mut [MaybeUninit<bool>],
    ) {
        (self.fill)(start, items, flags);
    }
}
