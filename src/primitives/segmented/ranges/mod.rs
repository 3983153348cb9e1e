//! Segments that may overlap, leave gaps, and lie in any order.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use self::functions::shifted;
use super::expand::expand_host;
use super::keys::check_lengths;
use super::segments::{Offset, Offsets};
use crate::source::{Host, Indices, Place, Source, gather, index, map, zip};
use crate::{Buffer, Device, Error, Result, function, offsets_from_lengths};

/// Segments between begins and ends: segment `i` has the items from `begins[i]` to `ends[i]`. They
/// may overlap, leave gaps, and lie in any order.
///
/// [`items`](Ranges::items) gives the items of all segments, one segment after the other, and
/// [`offsets`](Ranges::offsets) says where each lies among those. So whatever takes a source and
/// segments takes these:
///
/// ```
/// use warpfold::{Ranges, ops::Add, segmented_reduce};
///
/// // Sums over windows that overlap.
/// let ranges = Ranges::new(&[2_u32, 0, 1, 4], &[5_u32, 3, 1, 5])?;
/// let x = [1.0_f32, 2.0, 4.0, 8.0, 16.0];
/// let sums = segmented_reduce::<f32, Add>(ranges.items(&x)?, ranges.offsets()?)?;
/// assert_eq!(sums, [28.0, 7.0, 0.0, 16.0]);
///
/// let error = Ranges::new(&[3_u32], &[2_u32]).unwrap_err();
/// assert!(error.to_string().contains("begins[0] is 3, greater than ends[0], which is 2"));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Begins and ends are checked when the value is made, here or by [`Device::ranges`]. Memory: 8
/// bytes for each segment, and 8 for each item of all segments together. To read an item takes as
/// much more.
#[cfg_attr(
    feature = "cuda",
    doc = "[`cuda::CutRanges`](crate::cuda::CutRanges) makes them on a stream of yours."
)]
#[derive(Debug, Clone)]
pub struct Ranges<V> {
    offsets: V,
    /// For each item of all segments, how far behind its place among them it lies.
    shifts: V,
    total: usize,
    /// The greatest end.
    end: u64,
}

impl Ranges<Vec<u64>> {
    /// Checks begins and ends in host memory.
    ///
    /// # Errors
    ///
    /// [`Error::Zip`] if there are not as many ends as begins; [`Error::Segments`] if a segment
    /// ends before it begins; [`Error::OutOfHostMemory`].
    pub fn new<I: Offset>(begins: &[I], ends: &[I]) -> Result<Ranges<Vec<u64>>> {
        check_lengths(begins.len(), ends.len())?;
        let pairs = begins.iter().zip(ends);
        let mut pairs = pairs.map(|(begin, end)| (begin.to_u64(), end.to_u64()));
        if let Some(number) = pairs.clone().position(|(begin, end)| begin > end) {
            return Err(backwards(number, begins[number], ends[number]));
        }
        let lengths: Vec<_> = pairs.clone().map(|(begin, end)| end - begin).collect();
        let offsets = offsets_from_lengths::<u64>(&lengths)?;
        let total = super::expand::total(&offsets);
        let starts = pairs.clone().zip(&offsets);
        let shifts: Vec<_> = starts
            .map(|((begin, _), offset)| begin.wrapping_sub(*offset))
            .collect();
        let segments = Offsets::unchecked::<Host, _>(&offsets[..])?;
        let shifts = expand_host(&shifts[..], segments, total, 0)?;
        let end = pairs.by_ref().map(|(_, end)| end).max().unwrap_or(0);
        Ok(Ranges {
            offsets,
            shifts,
            total,
            end,
        })
    }

    /// Where the segments lie among their items.
    ///
    /// # Errors
    ///
    /// None.
    pub fn offsets(&self) -> Result<Offsets<&[u64]>> {
        Offsets::unchecked::<Host, u64>(&self.offsets[..])
    }

    /// The items of all segments of a source, one segment after the other.
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if a segment passes the end of the source; those of the source.
    pub fn items<'s, S>(&'s self, source: S) -> Result<impl Source<Item = S::Item> + use<'s, S>>
    where
        S: Source,
    {
        self.check::<Host, S>(&source)?;
        let positions = map::<shifted, _>(zip(&self.shifts[..], index(self.total)));
        Ok(gather(source, Indices::unchecked(positions)))
    }
}

impl Ranges<Buffer<u64>> {
    /// Where the segments lie among their items.
    ///
    /// # Errors
    ///
    /// None.
    pub fn offsets(&self) -> Result<Offsets<&Buffer<u64>>> {
        Offsets::unchecked::<Device, u64>(&self.offsets)
    }

    /// The items of all segments of a source, one segment after the other.
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if a segment passes the end of the source; those of the source.
    pub fn items<'s, S>(
        &'s self,
        source: S,
    ) -> Result<impl Source<Device, Item = S::Item> + use<'s, S>>
    where
        S: Source<Device>,
    {
        self.check::<Device, S>(&source)?;
        let positions = map::<shifted, _>(zip(&self.shifts, index(self.total)));
        Ok(gather(source, Indices::unchecked(positions)))
    }
}

impl<V> Ranges<V> {
    fn check<P: Place, S: Source<P>>(&self, source: &S) -> Result<()> {
        let (end, items) = (self.end, source.items()?);
        match end > items as u64 {
            true => Err(Error::Segments {
                argument: "ends",
                fault: format!(
                    "pass the end: the greatest is {end}, but there are {items} items\n  remedy: give ends up to the number of items"
                ),
            }),
            false => Ok(()),
        }
    }
}

impl Device {
    /// Checks begins and ends in buffers: segments for any number of calls; see [`Ranges`]. Waits
    /// for the answer.
    ///
    /// ```
    /// use warpfold::{Device, ops::Max};
    ///
    /// let device = Device::cpu();
    /// let x = device.upload(&[3, 1, 4, 1, 5])?;
    /// let (begins, ends) = (device.upload(&[3_u32, 0])?, device.upload(&[5_u32, 3])?);
    /// let ranges = device.ranges(&begins, &ends)?;
    /// let most = device.segmented_reduce::<i32, Max>(ranges.items(&x)?, ranges.offsets()?)?;
    /// assert_eq!(most.to_vec()?, [5, 4]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Ranges::new`], and those of [`Device::reduce`].
    pub fn ranges<I: Offset>(
        &self,
        begins: &Buffer<I>,
        ends: &Buffer<I>,
    ) -> Result<Ranges<Buffer<u64>>> {
        self.check_owns(begins)?;
        self.check_owns(ends)?;
        check_lengths(begins.len(), ends.len())?;
        let [number, end] = I::first_backwards(self, begins, ends)?;
        if number != u64::MAX {
            let number = number as usize;
            let at = |all: &Buffer<I>| Ok(all.slice(number..=number).to_vec()?[0]);
            return Err(backwards(number, at(begins)?, at(ends)?));
        }
        let begins = self.collect(I::widened::<Device, _>(begins))?;
        let ends = self.collect(I::widened::<Device, _>(ends))?;
        let offsets = self.offsets_from_lengths(map::<distance, _>(zip(&begins, &ends)))?;
        let total = self.total(&offsets)?;
        let pairs = zip(offsets.slice(..begins.len()), &begins);
        let of_segments = self.collect(map::<distance, _>(pairs))?;
        let segments = Offsets::unchecked::<Device, u64>(&offsets)?;
        let shifts = self.expanded(&of_segments, segments, total)?;
        Ok(Ranges {
            offsets,
            shifts,
            total,
            end,
        })
    }
}

/// How far the second number lies behind the first, which may be greater.
#[function]
fn distance(from: u64, to: u64) -> u64 {
    to.wrapping_sub(from)
}

#[expect(unreachable_pub, reason = "a public form of sources names it")]
mod functions {
    use crate::function;

    /// A place, shifted.
    #[function]
    pub fn shifted(shift: u64, place: u64) -> u64 {
        place.wrapping_add(shift)
    }
}

fn backwards<I: Offset>(number: usize, begin: I, end: I) -> Error {
    let [begin, end] = [begin, end].map(I::to_u64);
    Error::Segments {
        argument: "begins",
        fault: format!(
            "pass their ends: begins[{number}] is {begin}, greater than ends[{number}], which is {end}\n  remedy: give ends that are not less than begins"
        ),
    }
}
