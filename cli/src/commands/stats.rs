//! `warpfold stats`: a table of statistics.

use super::lanes::{axis_of, read};
use super::quantiles::Quantiles;
use super::{choose_device, print};
use crate::args::{Format, StatsArguments};
use crate::columns::Columns;
use crate::condition::Kept;
use crate::exact;
use crate::failure::{Failure, Result};
use crate::logger;
use crate::number::{DType, End, Number, Work, with_number};
use crate::pieces::Places;
use crate::text::{Gaps, Values};
use crate::value::Value;
use serde::ser::{Serialize, SerializeMap, Serializer};
use warpfold::statistics::{Estimate, Moments, MomentsReducer};
use warpfold::{Axis, Buffer, Device, Monoid};

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
    if let Some(axis) = arguments.axis.axis {
        return along(arguments, axis, &device, estimate, names, &levels);
    }
    let names: Vec<String> = NAMES.iter().map(|&name| name.into()).chain(names).collect();
    let files = match arguments.files.as_slice() {
        [] => vec![None],
        files => files.iter().map(|file| Some(file.as_path())).collect(),
    };
    let mut all = Vec::new();
    for file in &files {
        let input = Columns::open(*file, &arguments.input, Some(Gaps::Apart), &[])?;
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
    let with_unit = |one: &Shown<'_>| Some((one.name.clone(), one.unit.clone()?));
    let units: Vec<_> = all.iter().filter_map(with_unit).collect();
    if let Some((name, unit)) = units.iter().find(|(_, unit)| *unit != units[0].1) {
        let (first, first_unit) = &units[0];
        logger::remark(
            "warning",
            format!("{first} has the unit {first_unit}, and {name} {unit}: do not compare them"),
        );
    }
    print(&match arguments.json {
        true => json(&all),
        false => table(&names, &all),
    })
}

/// Prints a line for each lane along an axis of an array, which is held in memory.
fn along(
    arguments: &StatsArguments,
    axis: i64,
    device: &Device,
    estimate: Estimate,
    quantiles: Vec<String>,
    levels: &[f64],
) -> Result<()> {
    let file = match &arguments.files[..] {
        [] => None,
        [file] => Some(file.as_path()),
        files => {
            return Err(Failure::with_remedy(
                "--axis",
                format_args!(
                    "there is room for one array, and there are {} files",
                    files.len()
                ),
                "run the command for each file",
            ));
        }
    };
    let input = Columns::open(file, &arguments.input, None, &[])?;
    let (mut shape, number) = axis_of(&input, axis, arguments.input.flatten)?;
    let axis = Axis::of(&shape, number)?;
    shape.remove(number);
    let unit = input.times.as_ref().map(ToString::to_string);
    let dtype = input.columns[0].dtype;
    // An array has no missing values.
    let names = NAMES.iter().filter(|&&name| name != MISSING);
    let names: Vec<String> = names.map(|&name| name.into()).chain(quantiles).collect();
    let numbers = input.into_numbers("it")?;
    let lanes = with_number!(dtype, T => {
        let values = read(numbers, dtype)?.into_vec::<T>();
        of_lanes::<T>(device, axis, values, estimate, levels)?
    });
    let shown = lanes.into_iter().enumerate().map(|(lane, values)| Shown {
        name: index_of(lane, &shape),
        dtype,
        unit: unit.clone(),
        names: &names,
        values,
    });
    let shown: Vec<Shown<'_>> = shown.collect();
    print(&match arguments.json {
        true => json(&shown),
        false => lines(&names, &shown),
    })
}

/// Where a lane lies in the axes that are left, as in `2,0`.
fn index_of(mut lane: usize, shape: &[usize]) -> String {
    let mut index: Vec<String> = Vec::new();
    for len in shape.iter().rev() {
        index.push((lane % len).to_string());
        lane /= len;
    }
    index.reverse();
    match index.is_empty() {
        true => "-".into(),
        false => index.join(","),
    }
}

/// The statistics of each lane, but for missing values.
fn of_lanes<T: Number>(
    device: &Device,
    axis: Axis,
    values: Vec<T>,
    estimate: Estimate,
    levels: &[f64],
) -> Result<Vec<Vec<Value>>> {
    let (count, lanes) = (axis.lane_len(), axis.lanes());
    let lane_of = |place: usize| {
        let inner = axis.inner_len();
        place / (count * inner) * inner + place % inner
    };
    let (mut sums, mut nans) = (vec![0_i128; lanes], vec![0_u64; lanes]);
    let mut quantiles: Vec<Quantiles> = Vec::new();
    if !levels.is_empty() {
        quantiles.extend((0..lanes).map(|_| Quantiles::new(device, T::DTYPE)));
    }
    for (place, &value) in values.iter().enumerate() {
        let lane = lane_of(place);
        match T::DTYPE.is_float() {
            true => nans[lane] += u64::from(value.cast::<f64>().is_nan()),
            false => sums[lane] += value.to_integer(),
        }
        if let Some(quantiles) = quantiles.get_mut(lane) {
            quantiles.push(&[value])?;
        }
    }
    let values = device.upload_vec(values)?;
    let extreme = |end| -> Result<Vec<T>> { T::with_extreme(end, Lanes(device, &values, axis)) };
    let (least, greatest) = (extreme(End::Least)?, extreme(End::Greatest)?);
    let [arg_min, arg_max] = match count {
        0 => [Vec::new(), Vec::new()],
        _ => [
            device.arg_min_axis(&values, axis)?.into_vec()?,
            device.arg_max_axis(&values, axis)?.into_vec()?,
        ],
    };
    let moments = device.moments_axis(&values, axis)?;
    let mut quantiles = quantiles.into_iter();
    let of_lane = |lane: usize| -> Result<Vec<Value>> {
        let some = (count > 0).then_some(lane);
        let number = |all: &[T]| some.map_or(Value::Nothing, |lane| all[lane].to_value());
        let place = |all: &[u64]| Value::count(some.map(|lane| all[lane]));
        let mut values = vec![
            Value::count(Some(count as u64)),
            Value::count(T::DTYPE.is_float().then_some(nans[lane])),
            number(&least),
            place(&arg_min),
            number(&greatest),
            place(&arg_max),
        ];
        values.extend(of_moments::<T>(&moments[lane], estimate, sums[lane]));
        if let Some(quantiles) = quantiles.next() {
            values.extend(quantiles.at(levels)?);
        }
        Ok(values)
    };
    (0..lanes).map(of_lane).collect()
}

/// The extreme of each lane, except its operator.
struct Lanes<'a, T: Number>(&'a Device, &'a Buffer<T>, Axis);

impl<T: Number> Work<T> for Lanes<'_, T> {
    type Output = Vec<T>;

    fn run<Op: Monoid<T>>(self) -> Result<Vec<T>> {
        Ok(self.0.reduce_axis::<T, Op>(self.1, self.2)?.into_vec()?)
    }
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

const MISSING: &str = "missing";

/// The names of the statistics, a line each, but for quantiles.
const NAMES: [&str; 10] = [
    "count", MISSING, "nan", "min", "argmin", "max", "argmax", "sum", "mean", "std",
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
            quantiles: quantiles.then(|| Quantiles::new(device, T::DTYPE)),
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
        ];
        values.extend(of_moments::<T>(&moments, self.estimate, self.sum));
        if let Some(quantiles) = self.quantiles {
            values.extend(quantiles.at(levels)?);
        }
        Ok(values)
    }
}

/// The sum, the mean and the standard deviation. Those of integers have an exact sum.
fn of_moments<T: Number>(moments: &Moments, estimate: Estimate, sum: i128) -> [Value; 3] {
    let count = moments.count();
    let of_some = |least: u64, value: f64| match count >= least {
        true => Value::Double(value),
        false => Value::Nothing,
    };
    let least = match estimate {
        Estimate::Sample => 2,
        Estimate::Population => 1,
    };
    let (sum, mean) = match T::DTYPE.is_float() {
        true => (Value::Double(sum_of(moments, count)), moments.mean()),
        false => (Value::Integer(sum), exact::mean(sum, count)),
    };
    [
        sum,
        of_some(1, mean),
        of_some(least, moments.std_dev(estimate)),
    ]
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

/// A line for each lane, below the names.
fn lines(names: &[String], lanes: &[Shown<'_>]) -> String {
    let has_unit = lanes.iter().any(|lane| lane.unit.is_some());
    let unit = || has_unit.then(|| "unit".to_owned());
    let heading = ["lane".to_owned()].into_iter().chain(unit());
    let mut rows: Vec<Vec<String>> = vec![heading.chain(names.iter().cloned()).collect()];
    rows.extend(lanes.iter().map(|lane| {
        let start = [lane.name.clone()].into_iter().chain(lane.unit.clone());
        start
            .chain(lane.values.iter().map(|value| value.text()))
            .collect()
    }));
    let width = |place: usize| rows.iter().map(|row| row[place].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(text, width)| format!("{text:>width$}"))
            .collect();
        cells.join("  ") + "\n"
    };
    rows.iter().map(line).collect()
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
