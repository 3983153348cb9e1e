//! Comparing elements number by number.

use crate::CudaType;
use crate::translated::Part;
use std::fmt::Write as _;

fn parts_of(value: &impl CudaType) -> Vec<Part> {
    let mut parts = Vec::new();
    value.parts(&mut |part| parts.push(part));
    parts
}

/// Whether the bits are equal, where all NaN are one.
pub(super) fn same_bits<T: CudaType>(a: &T, b: &T) -> bool {
    all(a, b, |a, b| {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
    })
}

/// Whether the numbers are equal: −0 is 0, and all NaN are one.
pub(super) fn are_equal<T: CudaType>(a: &T, b: &T) -> bool {
    all(a, b, |a, b| a == b || a.is_nan() && b.is_nan())
}

/// Floats no farther apart than `tolerance` times the greatest of them and of what they came from.
pub(super) fn are_close<T: CudaType>(a: &T, b: &T, sources: &[&T], tolerance: f64) -> bool {
    let floats = [a, b]
        .into_iter()
        .chain(sources.iter().copied())
        .flat_map(parts_of);
    let greatest = floats
        .filter_map(|part| match part {
            Part::Float(float) if float.is_finite() => Some(float.abs()),
            _ => None,
        })
        .fold(0.0, f64::max);
    all(a, b, |a, b| {
        a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * greatest
    })
}

/// Whether all floats are finite.
pub(super) fn are_finite(value: &impl CudaType) -> bool {
    parts_of(value)
        .iter()
        .all(|part| !matches!(part, Part::Float(float) if !float.is_finite()))
}

fn all<T: CudaType>(a: &T, b: &T, floats: impl Fn(f64, f64) -> bool) -> bool {
    parts_of(a)
        .into_iter()
        .zip(parts_of(b))
        .all(|pair| match pair {
            (Part::Float(a), Part::Float(b)) => floats(a, b),
            (a, b) => a == b,
        })
}

/// The numbers of a value: accumulators need not have `Debug`.
pub(super) fn show(value: &impl CudaType) -> String {
    let mut text = String::new();
    let parts = parts_of(value);
    for (number, part) in parts.iter().enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        let written = match part {
            Part::Integer(integer) => write!(text, "{comma}{integer}"),
            Part::Beyond(integer) => write!(text, "{comma}{integer}"),
            Part::Float(float) => write!(text, "{comma}{float:?}"),
        };
        written.expect("writing to a string cannot fail");
    }
    if parts.len() == 1 {
        text
    } else {
        format!("({text})")
    }
}
