//! Several sources side by side.

use super::{Form, Leaves, Place, Source, sealed};
use crate::definitions::Definitions;
use crate::{Error, Result};

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
