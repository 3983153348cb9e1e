//! The starts of the rows of a slice.

use super::{Form, Leaves, Place, Slice, Source, sealed};
use crate::definitions::Definitions;
use crate::{Element, Result};

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
