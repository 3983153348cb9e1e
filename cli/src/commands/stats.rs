//! `warpfold stats`: a table of statistics.

use super::quantiles::Quantiles;
use super::{choose_device, print};
use crate::args::{Format, StatsArguments};
use crate::columns::Columns;
use crate::condition::Kept;
use crate::exact;
use crate::failure::{Failure, Result};
use crate::number::{DType, End, Number, Work, with_number};
use crate::pieces::Places;
use crate::text::{Gaps, Values};
use crate::value::Value;
use serde::ser::{Serialize, SerializeMap, Serializer};
use warpfold::statistics::{Estimate, Moments, MomentsReducer};
use warpfold::{Buffer, Device, Monoid};

/// Prints a table: a line for each statistic, a column for each column of each file.
pub(super) fn run(arguments: &StatsArguments) -> Result<()> {
    let device = choose_device(arguments.input.device.as_deref())?;
    let estimate = if arguments.sample {
        Estimate::Sample
    } else {
        Estimate::Population
    };
    let quantiles = arguments
        .quantiles
        .as_deref()
        .map(read_levels)
        .transpose()?;
    let (names, levels): (Vec<String>, Vec<f64>) =
        quantiles.unwrap_or_default().into_iter().unzip();
    let names: Vec<String> = NAMES.iter().map(|&name| name.into()).chain(names).collect();
    let files = match arguments.files.as_slice() {
        [] => vec![None],
        files => files.iter().map(|file| Some(file.as_path())).collect(),
    };
    let mut all = Vec::new();
    for file in &files {
        let input = Columns::open(*file, &arguments.input, Some(Gaps::Apart))?;
        let (columns, is_text) = (input.columns.clone(), input.format == Format::Text);
        let file = file.map_or_else(|| input.name.clone(), |file| file.display().to_string());
        let unit = input.times.as_ref().map(ToString::to_string);
        let types = input.dtypes();
        let mut statistics: Vec<Box<dyn Statistics>> = Vec::new();
        for dtype in &types {
            statistics.push(with_number!(*dtype, T => {
                Box::new(Of::<T>::new(&device, estimate, !levels.is_empty()))
            }));
        }
        let mut pieces = input.pieces(types);
        while let Some(piece) = pieces.next() {
            for ((statistics, values), absent) in
                statistics.iter_mut().zip(piece?).zip(&pieces.absent)
            {
                statistics.push(values, absent)?;
            }
        }
        let missing = pieces
            .missing
            .iter()
            .map(|&missing| is_text.then_some(missing));
        for ((column, missing), statistics) in columns.iter().zip(missing).zip(statistics) {
            let name = match (columns.len() > 1 || column.name.is_some(), files.len() > 1) {
                (true, false) => column.title(),
                (true, true) => format!("{file}:{}", column.title()),
                (false, _) => file.clone(),
            };
            all.push(Shown {
                name,
                dtype: column.dtype,
                unit: unit.clone(),
                names: &names,
                values: statistics.values(missing, &levels)?,
            });
        }
    }
    print(&match arguments.json {
        true => json(&all),
        false => table(&names, &all),
    })
}

/// The levels of quantiles, and their names.
fn read_levels(given: &str) -> Result<Vec<(String, f64)>> {
    let level = |text: &str| match text.parse() {
        // One level has one name, however it is written.
        Ok(level) if (0.0..=1.0).contains(&level) => Ok((format!("q{level}"), level)),
        _ => Err(Failure::with_remedy(
            "--quantiles",
            format_args!("`{text}` is no number from 0 to 1"),
            "give a list such as --quantiles=0.05,0.5,0.95",
        )),
    };
    let mut levels: Vec<(String, f64)> = Vec::new();
    for text in given.split(',') {
        let level = level(text.trim())?;
        if levels.contains(&level) {
            return Err(Failure::with_remedy(
                "--quantiles",
                format_args!("the level {} comes twice", level.1),
                "give each once",
            ));
        }
        levels.push(level);
    }
    Ok(levels)
}

/// The names of the statistics, a line each, but for quantiles.
const NAMES: [&str; 10] = [
    "count", "missing", "nan", "min", "argmin", "max", "argmax", "sum", "mean", "std",
];

/// The statistics of some numbers.
struct Shown<'a> {
    name: String,
    dtype: DType,
    /// Of times and durations.
    unit: Option<String>,
    names: &'a [String],
    /// In the order of their names.
    values: Vec<Value>,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("dtype", &self.dtype.to_string())?;
        if let Some(unit) = &self.unit {
            map.serialize_entry("unit", unit)?;
        }
        for (name, value) in self.names.iter().zip(&self.values) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The statistics of all columns, as one object.
fn json(columns: &[Shown<'_>]) -> String {
    let columns = serde_json::to_string(columns).expect("numbers and names have a text");
    format!("{{\"columns\":{columns}}}")
}

/// Statistics of numbers that come in pieces.
trait Statistics {
    /// Takes numbers, and the places among them that are absent.
    fn push(&mut self, values: Values, absent: &[usize]) -> Result<()>;

    /// In the order of their names. So many values were missing, if that can be.
    fn values(self: Box<Self>, missing: Option<u64>, levels: &[f64]) -> Result<Vec<Value>>;
}

/// The statistics of numbers of a type.
struct Of<T: Number> {
    device: Device,
    estimate: Estimate,
    count: u64,
    /// Where the next piece starts: those that are absent have places, too.
    places: u64,
    nan: u64,
    min: Extreme<T>,
    max: Extreme<T>,
    moments: MomentsReducer<Device>,
    /// Of integers.
    sum: i128,
    quantiles: Option<Quantiles>,
}

impl<T: Number> Of<T> {
    fn new(device: &Device, estimate: Estimate, quantiles: bool) -> Self {
        Of {
            device: device.clone(),
            estimate,
            count: 0,
            places: 0,
            nan: 0,
            min: Extreme::new(End::Least),
            max: Extreme::new(End::Greatest),
            moments: device.moments_reducer(),
            sum: 0,
            quantiles: quantiles.then(|| Quantiles::new(T::DTYPE)),
        }
    }
}

impl<T: Number> Statistics for Of<T> {
    fn push(&mut self, values: Values, absent: &[usize]) -> Result<()> {
        let piece = values.into_vec::<T>();
        if !T::DTYPE.is_float() {
            self.sum += piece.iter().map(|value| value.to_integer()).sum::<i128>();
        }
        if let Some(quantiles) = &mut self.quantiles {
            quantiles.push(&piece)?;
        }
        let device = &self.device;
        let values = device.upload_vec(piece)?;
        if T::DTYPE.is_float() {
            self.nan += Kept::<T>::nan().count(device, &values)? as u64;
        }
        let place = |number| self.places + Places::of(absent).place(number) as u64;
        self.min.look_at(device, &values, place)?;
        self.max.look_at(device, &values, place)?;
        self.count += values.len() as u64;
        self.places += (values.len() + absent.len()) as u64;
        self.moments.push::<T>(&values)?;
        Ok(())
    }

    fn values(self: Box<Self>, missing: Option<u64>, levels: &[f64]) -> Result<Vec<Value>> {
        let moments = self.moments.value();
        let of_some = |least: u64, value: f64| match self.count >= least {
            true => Value::Double(value),
            false => Value::Nothing,
        };
        let least = if self.estimate == Estimate::Sample {
            2
        } else {
            1
        };
        let number = |value: Option<T>| value.map_or(Value::Nothing, T::to_value);
        let place = |place: Option<(T, u64)>| Value::count(place.map(|(_, place)| place));
        let mut values = vec![
            Value::count(Some(self.count)),
            Value::count(missing),
            Value::count(T::DTYPE.is_float().then_some(self.nan)),
            number(self.min.value),
            place(self.min.place),
            number(self.max.value),
            place(self.max.place),
            match T::DTYPE.is_float() {
                true => Value::Double(sum_of(&moments, self.count)),
                false => Value::Integer(self.sum),
            },
            of_some(
                1,
                match T::DTYPE.is_float() {
                    true => moments.mean(),
                    false => exact::mean(self.sum, self.count),
                },
            ),
            of_some(least, moments.std_dev(self.estimate)),
        ];
        if let Some(quantiles) = self.quantiles {
            values.extend(quantiles.at(levels)?);
        }
        Ok(values)
    }
}

/// The sum. Where that of finite numbers overflows on the way, their mean does not.
fn sum_of(moments: &Moments, count: u64) -> f64 {
    match moments.sum().is_finite() || !moments.mean().is_finite() {
        true => moments.sum(),
        false => moments.mean() * count as f64,
    }
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

    /// Looks at a piece. `place_of` says where a number of it stands in the whole input.
    fn look_at(
        &mut self,
        device: &Device,
        values: &Buffer<T>,
        place_of: impl Fn(usize) -> u64,
    ) -> Result<()> {
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
            self.place = Some((here, place_of(place)));
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

/// The table of some columns. A single one needs no name.
fn table(names: &[String], columns: &[Shown<'_>]) -> String {
    let has_heading = columns.len() > 1;
    let has_unit = columns.iter().any(|column| column.unit.is_some());
    let texts: Vec<Vec<String>> = columns
        .iter()
        .map(|column| {
            let name = has_heading.then(|| column.name.clone());
            let unit = has_unit.then(|| column.unit.clone().unwrap_or_else(|| "-".into()));
            let values = column.values.iter().map(|value| value.text());
            name.into_iter().chain(unit).chain(values).collect()
        })
        .collect();
    let width = |texts: &[String]| {
        texts
            .iter()
            .map(|text| text.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = texts.iter().map(|texts| width(texts)).collect();
    let of_names = width(names);
    let names = names.iter().map(String::as_str);
    let mut text = String::new();
    for (line, name) in has_heading
        .then_some("")
        .into_iter()
        .chain(has_unit.then_some("unit"))
        .chain(names)
        .enumerate()
    {
        text += &format!("{name:<of_names$}");
        for (texts, width) in texts.iter().zip(&widths) {
            text += &format!("  {:>width$}", texts[line]);
        }
        text.push('\n');
    }
    text
}
