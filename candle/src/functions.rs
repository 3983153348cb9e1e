//! What the operations on a GPU compute beside the primitives, item by item.

use warpfold::function;

#[function]
pub(crate) fn quotient(sum: f64, len: f64) -> f64 {
    sum / len
}

#[function]
pub(crate) fn rounded(x: f64) -> f32 {
    x as f32
}

#[function]
pub(crate) fn narrowed(place: u64) -> u32 {
    place as u32
}

#[function]
pub(crate) fn widened(number: u32) -> u64 {
    number as u64
}

#[function]
pub(crate) fn next(number: u64) -> u64 {
    number + 1
}

#[function]
pub(crate) fn one_if(flag: bool) -> u64 {
    flag as u64
}

#[function]
pub(crate) fn row(position: u64, strides: [u64; 2]) -> u32 {
    (position % strides[0] / strides[1]) as u32
}

#[function]
pub(crate) fn row_of_packed(packed: u64, strides: [u64; 2]) -> u32 {
    row(packed & 0xffff_ffff, strides)
}

#[function]
pub(crate) fn row_of_place(place: [u64; 2], strides: [u64; 2]) -> u32 {
    row(place[1], strides)
}

#[function]
pub(crate) fn coordinate(position: u64, of: [u64; 2]) -> u64 {
    position / of[0] % of[1]
}

/// Where an index leads: `shape` has the dimension's length, how many indices an outer place has,
/// and how many an inner one. What lies outside leads nowhere.
#[function]
pub(crate) fn flat(at: u64, index: u64, shape: [u64; 3]) -> u64 {
    if index < shape[0] {
        (at / shape[1] * shape[0] + index) * shape[2] + at % shape[2]
    } else {
        u64::MAX
    }
}

/// The number of the offset where the segment of a result begins, or of the `next` one, of rows of
/// so many numbers.
#[function]
pub(crate) fn bound_of(at: u64, inner_and_next: [u64; 2]) -> u64 {
    at / inner_and_next[0] + inner_and_next[1]
}

#[function]
pub(crate) fn at_most(number: u64, most: u64) -> u64 {
    number.min(most)
}

#[function]
pub(crate) fn mean_of_segment(sum: f64, start: u64, end: u64) -> f64 {
    sum / end.wrapping_sub(start) as f64
}

/// [`Moments::mean`](warpfold::statistics::Moments::mean), of the parts of moments: count, sum,
/// origin, offset, deviations, scale.
#[function]
pub(crate) fn careful_mean(moments: [f64; 6]) -> f64 {
    if moments[1].is_finite() || !moments[4].is_finite() {
        moments[1] / moments[0]
    } else {
        (moments[2] / moments[5] + moments[3]) * moments[5]
    }
}

/// [`Moments::variance`](warpfold::statistics::Moments::variance) of the quick moments if they are
/// to be trusted, and of the careful ones otherwise.
#[function]
pub(crate) fn chosen_variance(quick: [f64; 3], careful: [f64; 6], divisor: f64) -> f64 {
    let mean = quick[1] / quick[0];
    let variance = quick[2] / quick[0];
    // 2^-800 and 2^800.
    let least = f64::from_bits(223 << 52);
    let greatest = f64::from_bits(1823 << 52);
    if divisor <= 0.0 {
        f64::NAN
    } else if variance > least && variance < greatest && mean.abs() < 256.0 * variance.sqrt() {
        quick[2] / divisor
    } else if careful[4].is_finite() {
        careful[4] / divisor * careful[5] * careful[5]
    } else {
        f64::NAN
    }
}
