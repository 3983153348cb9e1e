//! `warpfold stats`: a table of statistics.

use super::{choose_device, print};
use crate::args::StatsArguments;
use crate::condition::Kept;
use crate::failure::Result;
use crate::number::{End, Number, Work, with_number};
use crate::numbers::{Numbers, Pieces};
use warpfold::statistics::Estimate;
use warpfold::{Buffer, Device, Monoid};

/// Prints a table: a line for each statistic, a column for each file.
pub(super) fn run(arguments: &StatsArguments) -> Result<()> {
    let device = choose_device(arguments.input.device.as_deref())?;
    let estimate = if arguments.sample {
        Estimate::Sample
    } else {
        Estimate::Population
    };
    let files = match arguments.files.as_slice() {
        [] => vec![None],
        files => files.iter().map(|file| Some(file.as_path())).collect(),
    };
    let mut columns = Vec::new();
    for file in files {
        let numbers = Numbers::open(file, &arguments.input)?;
        let name = file.map_or_else(|| "-".into(), |file| file.display().to_string());
        let values = with_number!(numbers.dtype, T => {
            of(&device, numbers.pieces::<T>(), estimate)?
        });
        columns.push((name, values));
    }
    print(&table(&columns))
}

/// The names of the statistics, a line each.
const NAMES: [&str; 9] = [
    "count", "nan", "min", "argmin", "max", "argmax", "sum", "mean", "std",
];

/// What stands where there is nothing to tell.
const NOTHING: &str = "-";

/// The statistics of some numbers, as text, in the order of their names.
fn of<T: Number>(
    device: &Device,
    pieces: Pieces<T>,
    estimate: Estimate,
) -> Result<[String; NAMES.len()]> {
    let (mut count, mut nan) = (0_u64, 0_u64);
    let (mut min, mut max) = (Extreme::new(End::Least), Extreme::new(End::Greatest));
    let mut moments = device.moments_reducer();
    let mut exact_sum = (!T::DTYPE.is_float()).then_some(0_i128);
    for piece in pieces {
        let piece = piece?;
        if let Some(sum) = &mut exact_sum {
            *sum += piece.iter().map(|value| value.to_integer()).sum::<i128>();
        }
        let values = device.upload_vec(piece)?;
        if T::DTYPE.is_float() {
            nan += Kept::<T>::nan().count(device, &values)? as u64;
        }
        min.look_at(device, &values, count)?;
        max.look_at(device, &values, count)?;
        count += values.len() as u64;
        moments.push::<T>(&values)?;
    }
    let moments = moments.value();
    Ok([
        shown(Some(count)),
        shown(T::DTYPE.is_float().then_some(nan)),
        shown(min.value),
        shown(min.place.map(|(_, place)| place)),
        shown(max.value),
        shown(max.place.map(|(_, place)| place)),
        match exact_sum {
            Some(sum) => sum.to_string(),
            None => shown(Some(moments.sum())),
        },
        shown(Some(moments.mean())),
        shown(Some(moments.std_dev(estimate))),
    ])
}

/// The least or the greatest number of all pieces so far, and where the first of those stands.
struct Extreme<T> {
    end: End,
    value: Option<T>,
    /// That number, but for the sign of 0.
    place: Option<(T, u64)>,
}

impl<T: Number> Extreme<T> {
    fn new(end: End) -> Self {
        Extreme {
            end,
            value: None,
            place: None,
        }
    }

    /// Looks at a piece that starts at a position.
    fn look_at(&mut self, device: &Device, values: &Buffer<T>, start: u64) -> Result<()> {
        let is_min = self.end == End::Least;
        let place = match is_min {
            true => device.arg_min(values)?,
            false => device.arg_max(values)?,
        };
        let Some(place) = place else { return Ok(()) };
        let here = T::with_extreme(self.end, Reduction(device, values))?;
        let beats = |old: T| {
            let (old, new) = (old.widen(), here.widen());
            let is_nan = |x: T::Bound| x.partial_cmp(&x).is_none();
            !is_nan(old) && (is_nan(new) || if is_min { new < old } else { new > old })
        };
        if self.place.is_none_or(|(old, _)| beats(old)) {
            self.place = Some((here, start + place as u64));
        }
        self.value = Some(match self.value {
            Some(old) => T::with_extreme(self.end, Combination(old, here))?,
            None => here,
        });
        Ok(())
    }
}

/// The fold of a buffer, except its operator.
pub(super) struct Reduction<'a, T: Number>(pub(super) &'a Device, pub(super) &'a Buffer<T>);

impl<T: Number> Work<T> for Reduction<'_, T> {
    type Output = T;

    fn run<Op: Monoid<T>>(self) -> Result<T> {
        Ok(self.0.reduce::<T, Op>(self.1)?)
    }
}

/// The fold of two numbers, except its operator.
pub(super) struct Combination<T>(pub(super) T, pub(super) T);

impl<T: Number> Work<T> for Combination<T> {
    type Output = T;

    fn run<Op: Monoid<T>>(self) -> Result<T> {
        Ok(T::narrow(Op::combine(self.0.widen(), self.1.widen())))
    }
}

fn shown<T: Number>(value: Option<T>) -> String {
    let mut text = Vec::new();
    match value {
        Some(value) => value.append_to(&mut text),
        None => text.extend_from_slice(NOTHING.as_bytes()),
    }
    String::from_utf8(text).expect("numbers are ASCII")
}

/// The table of these columns, which have the names of files. A single one needs no name.
fn table(columns: &[(String, [String; NAMES.len()])]) -> String {
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
