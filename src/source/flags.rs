//! Flags: numbers as flags, and flags of where runs of equal items begin.

use super::{Form, Leaves, Map, Place, Source, map, sealed};
use crate::definitions::Definitions;
use crate::{CudaType, Element, Function, Result};
use half::{bf16, f16};
use std::marker::PhantomData;

/// The numbers of all types: what [`flags`], [`heads`] and [`unique`](crate::unique()) compare.
pub trait Comparable: Element + PartialEq + sealed::Sealed {
    /// 0
    #[doc(hidden)]
    const ZERO: Self;
}

macro_rules! comparable {
    ($($number:ty = $zero:expr;)*) => {$(
        impl sealed::Sealed for $number {}

        impl Comparable for $number {
            const ZERO: Self = $zero;
        }
    )*};
}

comparable! {
    u8 = 0; i8 = 0; u16 = 0; i16 = 0; u32 = 0; i32 = 0; u64 = 0; i64 = 0;
    f32 = 0.0; f64 = 0.0; f16 = f16::ZERO; bf16 = bf16::ZERO;
}

#[cfg(feature = "complex")]
comparable! {
    num_complex::Complex<f32> = num_complex::Complex::new(0.0, 0.0);
    num_complex::Complex<f64> = num_complex::Complex::new(0.0, 0.0);
}

/// The function that says whether two numbers are equal, as `==` does.
#[derive(Debug)]
pub struct Equal<T>(PhantomData<fn() -> T>);

impl<T: Comparable> Function for Equal<T> {
    type Input = (T, T);
    type Output = bool;

    #[inline(always)]
    fn call((a, b): (T, T)) -> bool {
        a == b
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!("warpfold::equal<{}>", T::cuda_type(definitions))
    }
}

/// The function that says whether a number is not 0.
#[derive(Debug)]
pub struct NonZero<T>(PhantomData<fn() -> T>);

impl<T: Comparable> Function for NonZero<T> {
    type Input = (T,);
    type Output = bool;

    #[inline(always)]
    fn call((x,): (T,)) -> bool {
        x != T::ZERO
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!("warpfold::not_zero<{}>", T::cuda_type(definitions))
    }
}

/// Numbers as flags: true for each that is not 0. A NaN is not 0.
///
/// ```
/// use warpfold::{flags, select_flagged, zip};
///
/// let (x, mask) = ([10, 20, 30, 40], [0_u8, 1, 1, 0]);
/// assert_eq!(select_flagged::<i32>(zip(&x, flags(&mask)))?, [20, 30]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// For slices of `bool` there is [`bools`].
pub fn flags<T: Comparable, S>(source: S) -> Map<NonZero<T>, S> {
    map(source)
}

/// The flags of a slice of the host, as they are.
///
/// ```
/// use warpfold::{bools, select_flagged, zip};
///
/// let (x, mask) = ([10, 20, 30, 40], vec![false, true, true, false]);
/// assert_eq!(select_flagged::<i32>(zip(&x, bools(&mask)))?, [20, 30]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn bools(slice: &[bool]) -> Map<NonZero<u8>, &[u8]> {
    map(bytemuck::cast_slice(slice))
}

/// The source of the pairs of an item and whether a run begins with it; [`heads`] and
/// [`heads_by`] make it.
#[derive(Debug)]
pub struct Heads<Same, S> {
    source: S,
    function: PhantomData<fn() -> Same>,
}

impl<Same, S: Clone> Clone for Heads<Same, S> {
    fn clone(&self) -> Self {
        heads_by(self.source.clone())
    }
}

impl<Same, S: Copy> Copy for Heads<Same, S> {}

/// Pairs each number of `source` with a head flag: whether it differs from the one before it, so
/// that a run of equal numbers begins. The first number begins a run. `==` compares: each NaN is a
/// run of its own, and −0 equals +0.
///
/// ```
/// use warpfold::{heads, select_flagged};
/// assert_eq!(select_flagged::<i32>(heads(&[7, 7, 2, 2, 2, 7]))?, [7, 2, 7]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// An item is evaluated twice, for itself and for the one after it.
pub fn heads<T: Comparable, S>(source: S) -> Heads<Equal<T>, S> {
    heads_by(source)
}

/// As [`heads`], for any items. The function `Same` says whether an item belongs to the run of the
/// one before it; it takes that one first.
///
/// ```
/// use warpfold::{function, heads_by, select_flagged};
///
/// #[function]
/// fn close(before: f32, x: f32) -> bool {
///     (x - before).abs() < 0.5
/// }
///
/// let starts = select_flagged::<f32>(heads_by::<close, _>(&[1.0, 1.2, 1.4, 5.0, 5.1]))?;
/// assert_eq!(starts, [1.0, 5.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn heads_by<Same, S>(source: S) -> Heads<Same, S> {
    Heads {
        source,
        function: PhantomData,
    }
}

impl<Same, S> sealed::Sealed for Heads<Same, S> {}

// SAFETY: `warpfold::Heads` in `kernels/source.cuh` holds its source, and nothing else.
unsafe impl<T: CudaType, Same, S> Form for Heads<Same, S>
where
    Same: Function<Input = (T, T), Output = bool>,
    S: Form<Item = T>,
{
    type Item = (T, bool);
    type Arguments = S::Arguments;

    const LEAVES: Leaves = S::LEAVES.with_neighbours();

    #[inline(always)]
    unsafe fn get(arguments: &S::Arguments, i: usize) -> (T, bool) {
        // SAFETY: the caller's.
        let (item, before) =
            unsafe { (S::get(arguments, i), S::get(arguments, i.saturating_sub(1))) };
        (item, i == 0 || !Same::call((before, item)))
    }

    #[inline(always)]
    fn prefetch(arguments: &S::Arguments, items: std::ops::Range<usize>) {
        S::prefetch(arguments, items);
    }

    fn is_aligned(arguments: &S::Arguments, bytes: u64) -> bool {
        S::is_aligned(arguments, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let (source, same) = (S::cuda(definitions), Same::cuda(definitions));
        format!("warpfold::Heads<{same}, {source}>")
    }
}

impl<P: Place, T: CudaType, Same, S> Source<P> for Heads<Same, S>
where
    Same: Function<Input = (T, T), Output = bool>,
    S: Source<P, Item = T>,
{
    type Item = (T, bool);
    type Form = Heads<Same, S::Form>;

    fn items(&self) -> Result<usize> {
        self.source.items()
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<S::Form as Form>::Arguments> {
        self.source.bind(binder)
    }
}
