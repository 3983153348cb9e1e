//! Items at positions that another source gives.

use super::{Form, HostBinder, Leaves, Place, Slice, Source, sealed};
use crate::cpu::threads;
use crate::definitions::Definitions;
use crate::{Element, Error, Result};

/// The integers that indices may be: `u8 i8 u16 i16 u32 i32 u64 i64`.
pub trait IndexNumber: Element + Ord + sealed::Sealed {
    /// The index, and 0 for a negative number.
    #[doc(hidden)]
    fn to_index(self) -> u64;

    /// The number as it is written.
    #[doc(hidden)]
    fn to_i128(self) -> i128;
}

macro_rules! index_numbers {
    ($($number:ty),*) => {$(
        impl IndexNumber for $number {
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn to_index(self) -> u64 {
                if self < 0 { 0 } else { self as u64 }
            }

            fn to_i128(self) -> i128 {
                self.into()
            }
        }
    )*};
}

index_numbers!(u8, i8, u16, i16, u32, i32, u64, i64);

/// Positions of items, which [`gather`] reads and `scatter` writes to. They are checked when the
/// value is made, and never again: [`new`](Indices::new) is for host memory,
/// [`Device::indices`](crate::Device::indices) for a buffer.
/// [`unchecked`](Indices::unchecked) takes them as they are.
///
/// ```
/// use warpfold::{Indices, collect, gather};
///
/// let indices = Indices::new(&[2_u32, 0, 2])?;
/// assert_eq!(collect(gather(&[1.5_f32, 2.5, 3.5], indices))?, [3.5, 1.5, 3.5]);
/// assert_eq!(collect(gather(&[7_u8, 8, 9], indices))?, [9, 7, 9]);
///
/// let error = Indices::new(&[0_i64, -1]).unwrap_err();
/// assert!(error.to_string().contains("indices[1] is -1"));
/// let error = collect(gather(&[7_u8, 8], indices)).unwrap_err();
/// assert!(error.to_string().contains("indices[0] is 2, but there are 2 items"));
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Indices<S> {
    source: S,
    most: Option<Most>,
}

/// The greatest index, and where it stands first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    pub(crate) index: u64,
    pub(crate) place: usize,
}

impl<S> Indices<S> {
    /// Checks indices in host memory. Reads them once.
    ///
    /// # Errors
    ///
    /// [`Error::Indices`] if one is negative.
    pub fn new<N: IndexNumber>(indices: S) -> Result<Indices<S>>
    where
        S: Source<Item = N, Form = Slice<N>>,
    {
        let len = indices.items()?;
        let arguments = indices.bind(&mut HostBinder::with(None))?;
        // SAFETY: these are the address and the length of a slice that `indices` borrows.
        let slice = unsafe { Slice::<N>::as_slice(&arguments, len) }.expect("a slice is one");
        Ok(Indices {
            most: check(slice)?,
            source: indices,
        })
    }

    /// Takes any source of indices as it is, wherever it lies.
    ///
    /// What is read or written stays within the items whatever the indices are: one beyond the end
    /// counts as that of the last item, a negative one as 0.
    pub fn unchecked(indices: S) -> Indices<S> {
        Indices {
            source: indices,
            most: None,
        }
    }

    pub(crate) fn checked(source: S, most: Option<Most>) -> Indices<S> {
        Indices { source, most }
    }

    /// The indices themselves.
    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    /// An error if `count` of them are known not to be positions of `items` items.
    pub(crate) fn check_fits(&self, count: usize, items: usize) -> Result<()> {
        let fault = match self.most {
            _ if count > 0 && items == 0 => {
                format!("are {count}, but there are no items\n  remedy: give items")
            }
            Some(Most { index, place }) if index >= items as u64 => format!(
                "pass the end: indices[{place}] is {index}, but there are {items} items\n  remedy: give indices from 0 to {}",
                items.saturating_sub(1)
            ),
            _ => return Ok(()),
        };
        Err(Error::Indices { fault })
    }
}

/// The indices that a thread checks at a time.
const CHUNK: usize = 1 << 16;

/// The greatest of some indices. An error if one is negative.
pub(crate) fn check<N: IndexNumber>(indices: &[N]) -> Result<Option<Most>> {
    let extremes = |number: usize| {
        let start = number * CHUNK;
        let chunk = &indices[start..indices.len().min(start + CHUNK)];
        let (least, most) = (*chunk.iter().min()?, *chunk.iter().max()?);
        let at = |wanted| {
            let found = chunk.iter().position(|&index| index == wanted);
            number * CHUNK + found.unwrap_or(0)
        };
        if least.to_i128() < 0 {
            let negative = chunk.iter().position(|index| index.to_i128() < 0);
            let place = number * CHUNK + negative.unwrap_or(0);
            return Some(Err((place, chunk[place - number * CHUNK])));
        }
        Some(Ok((most.to_index(), std::cmp::Reverse(at(most)))))
    };
    let chunks = indices.len().div_ceil(CHUNK);
    let extremes = threads::map(chunks, &|| (), &|(), number| extremes(number));
    let extremes: Vec<_> = extremes.into_iter().flatten().collect();
    if let Some(&(place, index)) = extremes.iter().find_map(|one| one.as_ref().err()) {
        return Err(negative(place, index.to_i128()));
    }
    let greatest = extremes.into_iter().flatten().max();
    Ok(greatest.map(|(index, std::cmp::Reverse(place))| Most { index, place }))
}

pub(crate) fn negative(place: usize, index: i128) -> Error {
    Error::Indices {
        fault: format!(
            "are positions: indices[{place}] is {index}\n  remedy: give indices from 0 on"
        ),
    }
}

/// The source of the items at some positions; [`gather`] makes it.
#[derive(Debug, Clone, Copy)]
pub struct Gather<D, I> {
    data: D,
    indices: Indices<I>,
}

/// The items of `data` at `indices`: item `i` is item `indices[i]` of `data`.
///
/// `data` is any source, and so are unchecked indices. As all sources, it is evaluated on the way.
/// So the product of a sparse matrix and a vector is a segmented sum, and nothing is stored
/// between:
///
/// ```
/// use warpfold::{Indices, Offsets, function, gather, map, ops::Add, segmented_reduce, zip};
///
/// #[function]
/// fn product(x: f32, y: f32) -> f32 {
///     x * y
/// }
///
/// // The rows are 2 0 1, 0 0 0 and 0 3 0.
/// let (values, rows) = ([2.0_f32, 1.0, 3.0], Offsets::new(&[0_u32, 2, 2, 3])?);
/// let columns = Indices::new(&[0_u32, 2, 1])?;
/// let x = [1.0_f32, 10.0, 100.0];
/// let products = map::<product, _>(zip(&values, gather(&x, columns)));
/// assert_eq!(segmented_reduce::<f32, Add>(products, rows)?, [102.0, 0.0, 30.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Cost: an index and an item are read for each item. Where indices jump, memory moves whole
/// sectors: 32 bytes on a GPU, 64 on a CPU.
///
/// A call that reads it fails with [`Error::Indices`] if checked indices pass the end of `data`, or
/// if there are indices and no data.
pub fn gather<D, I>(data: D, indices: Indices<I>) -> Gather<D, I> {
    Gather { data, indices }
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct GatherArguments<D, I> {
    pub data: D,
    pub index: I,
    /// The position of the last item.
    pub last: u64,
}

impl<D, I> sealed::Sealed for Gather<D, I> {}

// SAFETY: `warpfold::Gather` in `kernels/source.cuh` holds both sources and the number.
unsafe impl<D: Form, I: Form<Item: IndexNumber>> Form for Gather<D, I> {
    type Item = D::Item;
    type Arguments = GatherArguments<D::Arguments, I::Arguments>;

    const LEAVES: Leaves = Leaves {
        fetched: false,
        counted: I::LEAVES.counted,
        ..D::LEAVES.and(I::LEAVES).mapped()
    };

    #[inline(always)]
    unsafe fn get(arguments: &Self::Arguments, i: usize) -> D::Item {
        // SAFETY: the caller's. The last item is one.
        unsafe {
            let index = I::get(&arguments.index, i).to_index().min(arguments.last);
            D::get(&arguments.data, index as usize)
        }
    }

    #[inline(always)]
    fn prefetch(arguments: &Self::Arguments, items: std::ops::Range<usize>) {
        I::prefetch(&arguments.index, items);
    }

    fn is_aligned(arguments: &Self::Arguments, bytes: u64) -> bool {
        I::is_aligned(&arguments.index, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let (data, index) = (D::cuda(definitions), I::cuda(definitions));
        format!("warpfold::Gather<{data}, {index}>")
    }
}

impl<P: Place, N, D, I> Source<P> for Gather<D, I>
where
    N: IndexNumber,
    D: Source<P>,
    I: Source<P, Item = N>,
{
    type Item = D::Item;
    type Form = Gather<D::Form, I::Form>;

    fn items(&self) -> Result<usize> {
        self.indices.source.items()
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<Self::Form as Form>::Arguments> {
        let items = self.data.items()?;
        self.indices
            .check_fits(self.indices.source.items()?, items)?;
        Ok(GatherArguments {
            data: self.data.bind(binder)?,
            index: self.indices.source.bind(binder)?,
            last: items.saturating_sub(1) as u64,
        })
    }
}

/// The source of the items of some rows; [`gather_rows`] makes it.
#[derive(Debug, Clone, Copy)]
pub struct GatherRows<D, I> {
    data: D,
    width: usize,
    indices: Indices<I>,
}

/// The rows of `data` at `indices`, one after the other: row `i` is row `indices[i]` of `data`, and
/// each has `width` items. What is left of `data` after the last whole row counts for nothing.
///
/// So rows that belong to unsorted segments are summed by way of the permutation that sorts them:
///
/// ```
/// use warpfold::{Indices, Offsets, gather_rows, ops::Add, segmented_reduce_vectors};
///
/// let rows = [1, 2, 10, 20, 100, 200];
/// // The second row belongs to segment 0, and the others to segment 1.
/// let order = Indices::new(&[1_u32, 0, 2])?;
/// let (sorted, offsets) = (gather_rows(&rows, 2, order), Offsets::new(&[0_u32, 1, 3])?);
/// assert_eq!(segmented_reduce_vectors::<i32, Add>(sorted, 2, offsets)?, [10, 20, 101, 202]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Otherwise as [`gather`].
///
/// # Panics
///
/// If `width` is 0.
pub fn gather_rows<D, I>(data: D, width: usize, indices: Indices<I>) -> GatherRows<D, I> {
    assert!(width > 0, "a row has an item at least");
    GatherRows {
        data,
        width,
        indices,
    }
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct GatherRowsArguments<D, I> {
    pub data: D,
    pub index: I,
    /// The number of the last row.
    pub last: u64,
    pub width: u64,
}

impl<D, I> sealed::Sealed for GatherRows<D, I> {}

// SAFETY: `warpfold::GatherRows` in `kernels/source.cuh` holds both sources and the numbers.
unsafe impl<D: Form, I: Form<Item: IndexNumber>> Form for GatherRows<D, I> {
    type Item = D::Item;
    type Arguments = GatherRowsArguments<D::Arguments, I::Arguments>;

    const LEAVES: Leaves = Leaves {
        fetched: false,
        ..D::LEAVES.and(I::LEAVES).mapped()
    };

    #[inline(always)]
    unsafe fn get(arguments: &Self::Arguments, i: usize) -> D::Item {
        let width = arguments.width as usize;
        // SAFETY: the caller's. The last row is one.
        unsafe {
            let row = I::get(&arguments.index, i / width).to_index();
            let row = row.min(arguments.last) as usize;
            D::get(&arguments.data, row * width + i % width)
        }
    }

    /// Some items of one row.
    unsafe fn part<'a>(
        arguments: &Self::Arguments,
        range: std::ops::Range<usize>,
    ) -> Option<&'a [D::Item]> {
        let width = arguments.width as usize;
        let (row, first) = (range.start / width, range.start % width);
        if range.is_empty() || first + range.len() > width {
            return None;
        }
        // SAFETY: the caller's. The last row is one.
        unsafe {
            let row = I::get(&arguments.index, row).to_index();
            let start = row.min(arguments.last) as usize * width + first;
            D::part(&arguments.data, start..start + range.len())
        }
    }

    fn is_aligned(_: &Self::Arguments, _: u64) -> bool {
        true
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let (data, index) = (D::cuda(definitions), I::cuda(definitions));
        format!("warpfold::GatherRows<{data}, {index}>")
    }
}

impl<P: Place, N, D, I> Source<P> for GatherRows<D, I>
where
    N: IndexNumber,
    D: Source<P>,
    I: Source<P, Item = N>,
{
    type Item = D::Item;
    type Form = GatherRows<D::Form, I::Form>;

    fn items(&self) -> Result<usize> {
        let rows = self.indices.source.items()?;
        rows.checked_mul(self.width).ok_or_else(|| Error::Indices {
            fault: format!("are {rows} rows of {} items, more than can be", self.width),
        })
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<Self::Form as Form>::Arguments> {
        let rows = self.data.items()? / self.width;
        self.indices
            .check_fits(self.indices.source.items()?, rows)?;
        Ok(GatherRowsArguments {
            data: self.data.bind(binder)?,
            index: self.indices.source.bind(binder)?,
            last: rows.saturating_sub(1) as u64,
            width: self.width as u64,
        })
    }
}
