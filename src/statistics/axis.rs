//! Statistics of each lane of an array: its moments, and where its least and its greatest number
//! stand.

use super::extremes::{has_short_positions, has_short_ranks};
use super::{Estimate, First, Merge, Moments, Number, Packed, Place, QuickMerge, QuickMoments};
use super::{greatest, least, measured, position_of, quickly_measured};
use crate::ops::{Add, Min};
use crate::source::ByReference;
use crate::source::Source;
use crate::{
    Axis, Buffer, Device, Error, Result, function, index, map, map_with, reduce_axis, zip,
};
use std::any::TypeId;

/// Where the greatest number of each lane along an axis stands, counted along the axis: the first
/// of equal ones, as [`arg_max`](crate::arg_max()) says; NumPy's `argmax` with an `axis`.
///
/// ```
/// use warpfold::{Axis, arg_max_axis, arg_min_axis};
///
/// let scores = [
///     0.5, 2.0, 2.0, //
///     1.0, 0.0, f32::NAN,
/// ];
/// assert_eq!(arg_max_axis(&scores, Axis::of(&[2, 3], 1)?)?, [1, 2]);
/// assert_eq!(arg_min_axis(&scores, Axis::of(&[2, 3], 0)?)?, [0, 1, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// It is one [`reduce_axis`], with its costs.
///
/// # Errors
///
/// [`Error::Axis`] if lanes have no items, so that none of them is the greatest; and those of
/// [`reduce_axis`].
pub fn arg_max_axis<T: Number>(input: impl Source<Item = T>, axis: Axis) -> Result<Vec<u64>> {
    check(&axis)?;
    let len = input.items()?;
    if const { has_short_ranks::<T>() } && has_short_positions(len) {
        let packed = reduce_axis::<u64, Min>(packed_greatest::<T, _>(input, len), axis)?;
        return Ok(along(packed.into_iter().map(position_of), &axis));
    }
    let places = reduce_axis::<Place, First>(greatest::<T, _>(input, len), axis)?;
    Ok(along(places.iter().map(Place::position), &axis))
}

/// Where the least number of each lane stands. Otherwise as [`arg_max_axis`].
///
/// # Errors
///
/// As [`arg_max_axis`].
pub fn arg_min_axis<T: Number>(input: impl Source<Item = T>, axis: Axis) -> Result<Vec<u64>> {
    check(&axis)?;
    let len = input.items()?;
    if const { has_short_ranks::<T>() } && has_short_positions(len) {
        let packed = reduce_axis::<u64, Min>(packed_least::<T, _>(input, len), axis)?;
        return Ok(along(packed.into_iter().map(position_of), &axis));
    }
    let places = reduce_axis::<Place, First>(least::<T, _>(input, len), axis)?;
    Ok(along(places.iter().map(Place::position), &axis))
}

/// The [moments](Moments) of each lane along an axis, bit for bit those that
/// [`moments`](crate::moments()) gives for it alone: count, sum, mean, variance. Those of a lane
/// without items are [`Moments::EMPTY`].
///
/// ```
/// use warpfold::{Axis, moments_axis, statistics::Estimate};
///
/// let x = [
///     1.0_f32, 4.0, //
///     2.0, 4.0, //
///     6.0, 4.0,
/// ];
/// let of = moments_axis(&x, Axis::of(&[3, 2], 0)?)?;
/// assert_eq!((of[0].mean(), of[0].variance(Estimate::Sample)), (3.0, 7.0));
/// assert_eq!((of[1].count(), of[1].std_dev(Estimate::Population)), (3, 0.0));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// It is one [`reduce_axis`], and another one if the first has lost digits of a lane, or met
/// numbers that are not finite.
///
/// # Errors
///
/// Those of [`reduce_axis`].
pub fn moments_axis<T: Number>(input: impl Source<Item = T>, axis: Axis) -> Result<Vec<Moments>> {
    let input = ByReference(&input);
    let quick = reduce_axis::<QuickMoments, QuickMerge>(quickly_measured::<T, _>(input), axis)?;
    Moments::choose_each(quick, || {
        reduce_axis::<Moments, Merge>(measured::<T, _>(input), axis)
    })
}

/// The mean of each lane along an axis, with the bits of [`mean`](crate::mean()) of it alone; NaN
/// for a lane without items. NumPy's `mean` with an `axis`, in `f64`.
///
/// ```
/// use warpfold::{Axis, mean_axis};
/// assert_eq!(mean_axis(&[1_u8, 2, 4, 8], Axis::of(&[2, 2], 0)?)?, [2.5, 5.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`moments_axis`].
pub fn mean_axis<T: Number>(input: impl Source<Item = T>, axis: Axis) -> Result<Vec<f64>> {
    let all = moments_axis(input, axis)?;
    Ok(all.iter().map(Moments::mean).collect())
}

/// The variance of each lane along an axis, with the bits of [`variance`](crate::variance()) of it
/// alone; NaN for a lane without items. NumPy's `var` with an `axis`, in `f64`.
///
/// ```
/// use warpfold::{Axis, statistics::Estimate, variance_axis};
///
/// let x = [1.0, 2.0, 6.0, 4.0, 4.0, 4.0];
/// assert_eq!(variance_axis(&x, Axis::of(&[2, 3], 1)?, Estimate::Sample)?, [7.0, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`moments_axis`].
pub fn variance_axis<T: Number>(
    input: impl Source<Item = T>,
    axis: Axis,
    estimate: Estimate,
) -> Result<Vec<f64>> {
    let all = moments_axis(input, axis)?;
    Ok(all.iter().map(|one| one.variance(estimate)).collect())
}

/// # Statistics along an axis
///
/// Costs and errors are those of [`reduce_axis`](Device::reduce_axis). Those that give buffers do
/// not wait for the result.
impl Device {
    /// The moments of each lane; see [`moments_axis`](crate::moments_axis()). Waits for them.
    pub fn moments_axis<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        axis: Axis,
    ) -> Result<Vec<Moments>> {
        let input = ByReference(&input);
        let source = quickly_measured::<T, _>(input);
        let quick = self.reduce_axis::<QuickMoments, QuickMerge>(source, axis)?;
        Moments::choose_each(quick.into_vec()?, || {
            let source = measured::<T, _>(input);
            self.reduce_axis::<Moments, Merge>(source, axis)?.into_vec()
        })
    }

    /// The mean of each lane; see [`mean_axis`](crate::mean_axis()).
    pub fn mean_axis<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        axis: Axis,
    ) -> Result<Buffer<f64>> {
        if TypeId::of::<T>() == TypeId::of::<f64>() {
            let careful = self.reduce_axis::<Moments, Merge>(measured::<T, _>(input), axis)?;
            return self.collect(map::<mean_of, _>(&careful));
        }
        // No sum of others overflows.
        let sums = self.reduce_axis::<f64, Add>(map::<T::AsF64, _>(input), axis)?;
        self.collect(map_with::<quotient, _, _>(&sums, axis.lane_len() as f64))
    }

    /// The variance of each lane; see [`variance_axis`](crate::variance_axis()). Reduces the lanes
    /// twice.
    pub fn variance_axis<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        axis: Axis,
        estimate: Estimate,
    ) -> Result<Buffer<f64>> {
        let (quick, careful) = self.both_moments::<T, _>(&input, axis)?;
        let divisor = divisor(axis, estimate);
        self.collect(map_with::<variance_of, _, _>(
            zip(&quick, &careful),
            divisor,
        ))
    }

    /// The standard deviation of each lane: [`Moments::std_dev`] of it alone. Reduces the lanes
    /// twice.
    pub fn std_dev_axis<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        axis: Axis,
        estimate: Estimate,
    ) -> Result<Buffer<f64>> {
        let (quick, careful) = self.both_moments::<T, _>(&input, axis)?;
        let divisor = divisor(axis, estimate);
        self.collect(map_with::<std_dev_of, _, _>(zip(&quick, &careful), divisor))
    }

    fn both_moments<T: Number, S: Source<Device, Item = T>>(
        &self,
        input: &S,
        axis: Axis,
    ) -> Result<(Buffer<QuickMoments>, Buffer<Moments>)> {
        let quick = quickly_measured::<T, _>(ByReference(input));
        let quick = self.reduce_axis::<QuickMoments, QuickMerge>(quick, axis)?;
        let careful = measured::<T, _>(ByReference(input));
        Ok((quick, self.reduce_axis::<Moments, Merge>(careful, axis)?))
    }

    /// Where the greatest number of each lane stands; see
    /// [`arg_max_axis`](crate::arg_max_axis()).
    ///
    /// # Errors
    ///
    /// Also [`Error::Axis`] if lanes have no items.
    pub fn arg_max_axis<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        axis: Axis,
    ) -> Result<Buffer<u64>> {
        check(&axis)?;
        let len = input.items()?;
        if const { has_short_ranks::<T>() } && has_short_positions(len) {
            let packed = packed_greatest::<T, _>(input, len);
            return self.rows_of_packed(self.reduce_axis::<u64, Min>(packed, axis)?, &axis);
        }
        let places = greatest::<T, _>(input, len);
        self.rows_of_places(self.reduce_axis::<Place, First>(places, axis)?, &axis)
    }

    /// Where the least number of each lane stands; see [`arg_min_axis`](crate::arg_min_axis()).
    ///
    /// # Errors
    ///
    /// Also [`Error::Axis`] if lanes have no items.
    pub fn arg_min_axis<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        axis: Axis,
    ) -> Result<Buffer<u64>> {
        check(&axis)?;
        let len = input.items()?;
        if const { has_short_ranks::<T>() } && has_short_positions(len) {
            let packed = packed_least::<T, _>(input, len);
            return self.rows_of_packed(self.reduce_axis::<u64, Min>(packed, axis)?, &axis);
        }
        let places = least::<T, _>(input, len);
        self.rows_of_places(self.reduce_axis::<Place, First>(places, axis)?, &axis)
    }

    fn rows_of_packed(&self, packed: Buffer<u64>, axis: &Axis) -> Result<Buffer<u64>> {
        self.collect(map_with::<row_of_packed, _, _>(&packed, strides(axis)))
    }

    fn rows_of_places(&self, places: Buffer<Place>, axis: &Axis) -> Result<Buffer<u64>> {
        self.collect(map_with::<row_of_place, _, _>(&places, strides(axis)))
    }
}

/// What squared deviations are divided by.
fn divisor(axis: Axis, estimate: Estimate) -> f64 {
    let count = axis.lane_len() as f64;
    match estimate {
        Estimate::Population => count,
        Estimate::Sample => count - 1.0,
    }
}

#[function]
fn quotient(sum: f64, count: f64) -> f64 {
    sum / count
}

/// [`Moments::mean`].
#[function]
fn mean_of(moments: Moments) -> f64 {
    if moments.sum.is_finite() || !moments.deviations.is_finite() {
        moments.sum / moments.count
    } else {
        (moments.origin / moments.scale + moments.offset) * moments.scale
    }
}

/// Deviations and their scale: of the quick moments if they are [to be
/// trusted](QuickMoments::trusted), and of the careful ones otherwise; NaN if these are not finite.
#[function]
fn deviations_of(quick: QuickMoments, careful: Moments) -> [f64; 2] {
    let mean = quick.sum / quick.count;
    let variance = quick.deviations / quick.count;
    // 2^-800 and 2^800.
    let least = f64::from_bits(223 << 52);
    let greatest = f64::from_bits(1823 << 52);
    if variance > least && variance < greatest && mean.abs() < 256.0 * variance.sqrt() {
        [quick.deviations, 1.0]
    } else if careful.deviations.is_finite() {
        [careful.deviations, careful.scale]
    } else {
        [f64::NAN, 1.0]
    }
}

/// [`Moments::variance`].
#[function]
fn variance_of(quick: QuickMoments, careful: Moments, divisor: f64) -> f64 {
    let of = deviations_of(quick, careful);
    if divisor > 0.0 {
        of[0] / divisor * of[1] * of[1]
    } else {
        f64::NAN
    }
}

/// [`Moments::std_dev`].
#[function]
fn std_dev_of(quick: QuickMoments, careful: Moments, divisor: f64) -> f64 {
    let of = deviations_of(quick, careful);
    if divisor > 0.0 {
        (of[0] / divisor).sqrt() * of[1]
    } else {
        f64::NAN
    }
}

/// What turns a position in the array into one along the axis.
fn strides(axis: &Axis) -> [u64; 2] {
    let outer = match axis.outer {
        0 | 1 => u64::MAX,
        _ => axis.outer_stride as u64,
    };
    [outer, axis.stride.max(1) as u64]
}

#[function]
fn row(position: u64, strides: [u64; 2]) -> u64 {
    position % strides[0] / strides[1]
}

#[function]
fn row_of_packed(packed: u64, strides: [u64; 2]) -> u64 {
    row(packed & 0xffff_ffff, strides)
}

#[function]
fn row_of_place(place: Place, strides: [u64; 2]) -> u64 {
    row(place.position, strides)
}

fn along(positions: impl Iterator<Item = u64>, axis: &Axis) -> Vec<u64> {
    let strides = strides(axis);
    positions.map(|position| row(position, strides)).collect()
}

/// The places of some numbers, each in one word.
fn packed_greatest<T: Number, S>(source: S, len: usize) -> Packed<T::RankDown, S> {
    map(zip(map(source), index(len)))
}

fn packed_least<T: Number, S>(source: S, len: usize) -> Packed<T::RankUp, S> {
    map(zip(map(source), index(len)))
}

fn check(axis: &Axis) -> Result<()> {
    match axis.lane_len() == 0 && axis.lanes() > 0 {
        true => Err(Error::Axis {
            fault: format!(
                "the {} lanes have no items, so none is the least or the greatest",
                axis.lanes()
            ),
        }),
        false => Ok(()),
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;
    use crate::Element;
    use crate::cuda::nvrtc::{self, Target};
    use crate::engine::Engine;
    use crate::primitives::collect::kernel::Collect;
    use crate::source::{Constant, Form, Map, Slice, Zip};

    type Both = Zip<(Slice<QuickMoments>, Slice<Moments>)>;
    type OfBoth<P> = Map<P, Zip<(Both, Constant<f64>)>>;

    fn compile<F: Form<Item: Element>>(name: &str) {
        let policy = Collect::<F>::rows_policy(90);
        let text = crate::render::source::<Collect<F>>(Engine::Rows(policy)).unwrap();
        let target = Target::for_capability(90).unwrap();
        nvrtc::compile(&text, name, target).unwrap();
    }

    #[test]
    fn nvrtc_compiles_what_a_gpu_makes_of_moments() {
        if let Err(error) = nvrtc::version() {
            let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|what| what == "nvrtc"), "{error}");
            return println!("skipped: {error}");
        }
        compile::<Map<mean_of, Slice<Moments>>>("mean");
        compile::<Map<quotient, Zip<(Slice<f64>, Constant<f64>)>>>("quotient");
        compile::<OfBoth<variance_of>>("variance");
        compile::<OfBoth<std_dev_of>>("standard deviation");
    }
}
