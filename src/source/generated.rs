//! Sources that read no memory: indices and constants.

use super::{Form, Leaves, Place, Source, sealed};
use crate::definitions::Definitions;
use crate::{Element, Result};

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
