//! Statistics of each segment.

use super::extremes::{First, Place, pack, place};
use super::{Estimate, Extremes, Merge, Moments, Number, QuickMerge, QuickMoments};
use super::{measured, quickly_measured, twice};
use crate::device::OnDevice;
use crate::ops::Min;
use crate::primitives::segmented::reduce_on;
use crate::source::{ByReference, Host, Source};
use crate::{Buffer, Device, Function, Result, Segments, function, index, map, zip};

/// Where positions of extremes count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// From the start of the segment, as [`arg_max`](crate::arg_max()) of the segment alone counts.
    Segment,
    /// From the start of the input.
    Input,
}

/// The position of the least number of each segment, the first of equal ones, and `None` for an
/// empty segment. NaN, and zeros of either sign, are treated as by [`arg_min`](crate::arg_min()).
///
/// ```
/// use warpfold::{Offsets, segmented_arg_min, statistics::Origin};
///
/// let (x, offsets) = ([3, 1, 4, 1, 5], [0_u32, 3, 3, 5]);
/// let offsets = Offsets::new(&offsets)?;
/// assert_eq!(segmented_arg_min(&x, offsets, Origin::Segment)?, [Some(1), None, Some(0)]);
/// assert_eq!(segmented_arg_min(&x, offsets, Origin::Input)?, [Some(1), None, Some(3)]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// It is one [`segmented_reduce`](crate::segmented_reduce()), and another one of positions alone if
/// they count from the segment.
///
/// # Errors
///
/// As [`segmented_reduce`](crate::segmented_reduce()).
pub fn segmented_arg_min<T: Number>(
    input: impl Source<Item = T>,
    segments: impl Segments,
    origin: Origin,
) -> Result<Vec<Option<usize>>> {
    let device = Device::for_host_data()?;
    host_positions(first_on::<Host, T, T::RankUp>(
        &device, input, segments, origin,
    )?)
}

/// The position of the greatest number of each segment. Otherwise as [`segmented_arg_min`].
///
/// ```
/// use warpfold::{Rows, segmented_arg_max, statistics::Origin};
///
/// let scores = [0.1_f32, 0.7, 0.2, 0.5, 0.2, 0.3];
/// let best = segmented_arg_max(&scores, Rows::new(2, 3), Origin::Segment)?;
/// assert_eq!(best, [Some(1), Some(0)]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`segmented_reduce`](crate::segmented_reduce()).
pub fn segmented_arg_max<T: Number>(
    input: impl Source<Item = T>,
    segments: impl Segments,
    origin: Origin,
) -> Result<Vec<Option<usize>>> {
    let device = Device::for_host_data()?;
    host_positions(first_on::<Host, T, T::RankDown>(
        &device, input, segments, origin,
    )?)
}

/// The least and the greatest number of each segment, as [`min_max`](crate::min_max()) has them,
/// and `None` for an empty segment.
///
/// ```
/// use warpfold::{Offsets, segmented_min_max};
///
/// let offsets = Offsets::new(&[0_u64, 2, 2, 5])?;
/// let ranges = segmented_min_max(&[3, -7, 5, 9, 5], offsets)?;
/// assert_eq!(ranges, [Some((-7, 3)), None, Some((5, 9))]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// For one of the two, [`segmented_reduce`](crate::segmented_reduce()) with
/// [`ops::Min`](crate::ops::Min) or [`ops::Max`](crate::ops::Max), which give an empty segment
/// their identity.
///
/// # Errors
///
/// As [`segmented_reduce`](crate::segmented_reduce()).
pub fn segmented_min_max<T: Number>(
    input: impl Source<Item = T>,
    segments: impl Segments,
) -> Result<Vec<Option<(T, T)>>> {
    min_max_on::<Host, T>(&Device::for_host_data()?, input, segments)
}

/// The [moments](Moments) of each segment, bit for bit those that [`moments`](crate::moments())
/// gives for it alone: count, sum, mean, variance. Those of an empty segment are
/// [`Moments::EMPTY`].
///
/// ```
/// use warpfold::{Offsets, segmented_moments, statistics::Estimate};
///
/// let offsets = Offsets::new(&[0_u32, 3, 3, 5])?;
/// let of = segmented_moments(&[1.0_f32, 2.0, 6.0, 4.0, 4.0], offsets)?;
/// assert_eq!((of[0].mean(), of[0].variance(Estimate::Sample)), (3.0, 7.0));
/// assert_eq!((of[1].count(), of[2].std_dev(Estimate::Population)), (0, 0.0));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// It is one [`segmented_reduce`](crate::segmented_reduce()), and another one if the first has lost
/// digits of a segment, or met numbers that are not finite.
///
/// # Errors
///
/// As [`segmented_reduce`](crate::segmented_reduce()).
pub fn segmented_moments<T: Number>(
    input: impl Source<Item = T>,
    segments: impl Segments,
) -> Result<Vec<Moments>> {
    moments_on::<Host, T>(&Device::for_host_data()?, input, segments)
}

/// The mean of each segment, with the bits of [`mean`](crate::mean()) of it alone; NaN for an empty
/// one.
///
/// ```
/// use warpfold::{Rows, segmented_mean};
/// assert_eq!(segmented_mean(&[1_u8, 2, 4, 8], Rows::new(2, 2))?, [1.5, 6.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`segmented_moments`].
pub fn segmented_mean<T: Number>(
    input: impl Source<Item = T>,
    segments: impl Segments,
) -> Result<Vec<f64>> {
    let all = segmented_moments(input, segments)?;
    Ok(all.iter().map(Moments::mean).collect())
}

/// The variance of each segment, with the bits of [`variance`](crate::variance()) of it alone; NaN
/// for an empty one.
///
/// ```
/// use warpfold::{Rows, segmented_variance, statistics::Estimate};
///
/// let x = [1.0, 2.0, 6.0, 4.0, 4.0, 4.0];
/// assert_eq!(segmented_variance(&x, Rows::new(2, 3), Estimate::Sample)?, [7.0, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`segmented_moments`].
pub fn segmented_variance<T: Number>(
    input: impl Source<Item = T>,
    segments: impl Segments,
    estimate: Estimate,
) -> Result<Vec<f64>> {
    let all = segmented_moments(input, segments)?;
    Ok(all.iter().map(|one| one.variance(estimate)).collect())
}

/// # Statistics of segments
///
/// Costs and errors are those of [`Device::segmented_reduce`]. Each waits for its result, but for
/// those that give buffers.
impl Device {
    /// The position of the least number of each segment; see
    /// [`segmented_arg_min`](crate::segmented_arg_min()). An empty segment has `u64::MAX`.
    pub fn segmented_arg_min<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
        origin: Origin,
    ) -> Result<Buffer<u64>> {
        first_on::<Device, T, T::RankUp>(self, input, segments, origin)
    }

    /// The position of the greatest number of each segment; see
    /// [`segmented_arg_max`](crate::segmented_arg_max()). An empty segment has `u64::MAX`.
    ///
    /// ```
    /// use warpfold::{Device, Offsets, statistics::Origin};
    ///
    /// let device = Device::cpu();
    /// let (x, offsets) = (device.upload(&[3, 1, 4])?, device.upload(&[0_u32, 2, 2, 3])?);
    /// let offsets = device.offsets(&offsets)?;
    /// let places = device.segmented_arg_max(&x, offsets, Origin::Input)?;
    /// assert_eq!(places.to_vec()?, [0, u64::MAX, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn segmented_arg_max<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
        origin: Origin,
    ) -> Result<Buffer<u64>> {
        first_on::<Device, T, T::RankDown>(self, input, segments, origin)
    }

    /// The least and the greatest number of each segment; see
    /// [`segmented_min_max`](crate::segmented_min_max()).
    pub fn segmented_min_max<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
    ) -> Result<Vec<Option<(T, T)>>> {
        min_max_on::<Device, T>(self, input, segments)
    }

    /// The moments of each segment; see [`segmented_moments`](crate::segmented_moments()).
    pub fn segmented_moments<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
    ) -> Result<Vec<Moments>> {
        moments_on::<Device, T>(self, input, segments)
    }
}

/// A position in its segment, or that of none.
#[function]
fn within(position: u64, start: u64) -> u64 {
    if position == u64::MAX {
        position
    } else {
        position - start
    }
}

/// The position of a packed place, or that of none.
#[function]
fn unpacked(packed: u64) -> u64 {
    if packed == u64::MAX {
        packed
    } else {
        packed & 4294967295
    }
}

/// The position of a place, or that of none.
#[function]
fn position_or_none(place: Place) -> u64 {
    if place.position == 9223372036854775807 {
        u64::MAX
    } else {
        place.position
    }
}

fn first_on<P: OnDevice, T: Number, Rank: Function<Input = (T,), Output = u64>>(
    device: &Device,
    input: impl Source<P, Item = T>,
    segments: impl Segments<P>,
    origin: Origin,
) -> Result<Buffer<u64>> {
    let len = input.items()?;
    let segments = ByReference(&segments);
    let ranks = zip(map::<Rank, _>(input), index(len));
    // The last position of 32 bits would make a place that looks like none.
    let positions = if const { size_of::<T>() <= 4 } && (len as u64) < 1 << 32 {
        let packed = map::<pack, _>(ranks);
        let packed = reduce_on::<P, u64, Min, _, _>(device, packed, segments, None)?;
        device.collect(map::<unpacked, _>(&packed))?
    } else {
        let places = map::<place, _>(ranks);
        let places = reduce_on::<P, Place, First, _, _>(device, places, segments, None)?;
        device.collect(map::<position_or_none, _>(&places))?
    };
    match origin {
        Origin::Input => Ok(positions),
        Origin::Segment => {
            let starts = reduce_on::<P, u64, Min, _, _>(device, index(len), segments, None)?;
            device.collect(map::<within, _>(zip(&positions, &starts)))
        }
    }
}

fn host_positions(positions: Buffer<u64>) -> Result<Vec<Option<usize>>> {
    let position = |at: u64| (at != u64::MAX).then_some(at as usize);
    Ok(positions.into_vec()?.into_iter().map(position).collect())
}

fn min_max_on<P: OnDevice, T: Number>(
    device: &Device,
    input: impl Source<P, Item = T>,
    segments: impl Segments<P>,
) -> Result<Vec<Option<(T, T)>>> {
    let both = twice::<T, _>(input);
    let all = reduce_on::<P, [T::Accumulator; 2], Extremes, _, _>(device, both, segments, None)?;
    // Of nothing, the least is the greatest that there is, and the greatest the least.
    let found = |[min, max]: [T::Accumulator; 2]| {
        let is_empty = max < min;
        (!is_empty).then(|| (T::narrow(min), T::narrow(max)))
    };
    Ok(all.into_vec()?.into_iter().map(found).collect())
}

fn moments_on<P: OnDevice, T: Number>(
    device: &Device,
    input: impl Source<P, Item = T>,
    segments: impl Segments<P>,
) -> Result<Vec<Moments>> {
    let (input, segments) = (ByReference(&input), ByReference(&segments));
    let quick = quickly_measured::<T, _>(input);
    let quick = reduce_on::<P, QuickMoments, QuickMerge, _, _>(device, quick, segments, None)?;
    Moments::choose_each(quick.into_vec()?, || {
        let careful = measured::<T, _>(input);
        reduce_on::<P, Moments, Merge, _, _>(device, careful, segments, None)?.into_vec()
    })
}
