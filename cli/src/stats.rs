//! `warpfold stats`: a table of statistics.

use crate::condition::Kept;
use crate::failure::Result;
use crate::number::Number;
use warpfold::Device;
use warpfold::statistics::Estimate;

/// The names of the statistics, a line each.
const NAMES: [&str; 9] = [
    "count", "nan", "min", "argmin", "max", "argmax", "sum", "mean", "std",
];

/// What stands where there is nothing to tell.
const NOTHING: &str = "-";

/// The statistics of some numbers, as text, in the order of their names.
pub(crate) fn of<T: Number>(
    device: &Device,
    values: Vec<T>,
    estimate: Estimate,
) -> Result<[String; NAMES.len()]> {
    let values = device.upload_vec(values)?;
    let nan = match T::DTYPE.is_float() {
        true => Some(Kept::<T>::nan().count(device, &values)?),
        false => None,
    };
    let (min, max) = device.min_max(&values)?.unzip();
    let (argmin, argmax) = (device.arg_min(&values)?, device.arg_max(&values)?);
    let moments = device.moments(&values)?;
    let position = |position: Option<usize>| shown(position.map(|position| position as u64));
    // A sum of integers that was not rounded is an integer.
    let sum = match moments.sum() {
        sum if !T::DTYPE.is_float() && sum.abs() < EXACT => shown(Some(sum as i64)),
        sum => shown(Some(sum)),
    };
    Ok([
        shown(Some(values.len() as u64)),
        position(nan),
        shown(min),
        position(argmin),
        shown(max),
        position(argmax),
        sum,
        shown(Some(moments.mean())),
        shown(Some(moments.std_dev(estimate))),
    ])
}

/// Below, every integer is an `f64`.
const EXACT: f64 = (1_u64 << 53) as f64;

fn shown<T: Number>(value: Option<T>) -> String {
    let mut text = Vec::new();
    match value {
        Some(value) => value.append_to(&mut text),
        None => text.extend_from_slice(NOTHING.as_bytes()),
    }
    String::from_utf8(text).expect("numbers are ASCII")
}

/// The table of these columns, which have the names of files. A single one needs no name.
pub(crate) fn table(columns: &[(String, [String; NAMES.len()])]) -> String {
    let widths: Vec<usize> = columns
        .iter()
        .map(|(name, values)| {
            let of_values = values.iter().map(|value| value.len()).max();
            let of_name = if columns.len() > 1 {
                name.chars().count()
            } else {
                0
            };
            of_values.unwrap_or(0).max(of_name)
        })
        .collect();
    let line = |name: &str, values: &mut dyn Iterator<Item = &str>| {
        let mut line = format!("{name:<6}");
        for (value, width) in values.zip(&widths) {
            line += &format!("  {value:>width$}");
        }
        line + "\n"
    };
    let mut text = String::new();
    if columns.len() > 1 {
        text += &line("", &mut columns.iter().map(|(name, _)| name.as_str()));
    }
    for (number, name) in NAMES.iter().enumerate() {
        text += &line(
            name,
            &mut columns.iter().map(|(_, values)| values[number].as_str()),
        );
    }
    text
}
