//! `warpfold stats`: a table of statistics.

use super::lanes::{axis_of, read};
use super::quantiles::Quantiles;
use super::{choose_device, print};
use crate::args::{Format, StatsArguments};
use crate::columns::Columns;
use crate::exact;
use crate::failure::{Failure, Result};
use crate::logger;
use crate::number::{DType, End, Number};
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
        let mut statistics: Vec<Statistics> = Vec::new();
        for dtype in &types {
            statistics.push(Statistics::new(
                &device,
                *dtype,
                estimate,
                !levels.is_empty(),
            ));
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
    let lanes = of_lanes(device, axis, read(numbers, dtype)?, estimate, levels)?;
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
fn of_lanes(
    device: &Device,
    axis: Axis,
    values: Values,
    estimate: Estimate,
    levels: &[f64],
) -> Result<Vec<Vec<Value>>> {
    let (count, lanes, dtype) = (axis.lane_len(), axis.lanes(), values.dtype());
    let lane_of = |place: usize| {
        let inner = axis.inner_len();
        place / (count * inner) * inner + place % inner
    };
    let (mut sums, mut nans) = (vec![0_i128; lanes], vec![0_u64; lanes]);
    let mut quantiles: Vec<Quantiles> = Vec::new();
    if !levels.is_empty() {
        quantiles.extend((0..lanes).map(|_| Quantiles::new(device, dtype)));
    }
    for place in 0..values.len() {
        let lane = lane_of(place);
        match dtype.is_float() {
            true => nans[lane] += u64::from(values.float(place).is_nan()),
            false => sums[lane] += values.integer(place),
        }
        if let Some(quantiles) = quantiles.get_mut(lane) {
            quantiles.push_one(&values, place)?;
        }
    }
    let Along {
        least,
        greatest,
        places,
        moments,
    } = with_counted!(dtype, C => along_axis::<C>(device, axis, values.into_vec())?);
    let mut quantiles = quantiles.into_iter();
    let of_lane = |lane: usize| -> Result<Vec<Value>> {
        let some = (count > 0).then_some(lane);
        let number = |all: &Values| some.map_or(Value::Nothing, |lane| shown(all, lane, dtype));
        let place = |all: &[u64]| Value::count(some.map(|lane| all[lane]));
        let mut values = vec![
            Value::count(Some(count as u64)),
            Value::count(dtype.is_float().then_some(nans[lane])),
            number(&least),
            place(&places[0]),
            number(&greatest),
            place(&places[1]),
        ];
        values.extend(of_moments(&moments[lane], estimate, sums[lane], dtype));
        if let Some(quantiles) = quantiles.next() {
            values.extend(quantiles.at(levels)?);
        }
        Ok(values)
    };
    (0..lanes).map(of_lane).collect()
}

/// What reductions along an axis give.
struct Along {
    least: Values,
    greatest: Values,
    /// Where the least and the greatest stand. Nothing if lanes are empty.
    places: [Vec<u64>; 2],
    moments: Vec<Moments>,
}

fn along_axis<C: Number>(device: &Device, axis: Axis, values: Vec<C>) -> Result<Along> {
    let values = device.upload_vec(values)?;
    let least = device.reduce_axis::<C, C::Least>(&values, axis)?;
    let greatest = device.reduce_axis::<C, C::Greatest>(&values, axis)?;
    Ok(Along {
        least: C::to_values(least.into_vec()?),
        greatest: C::to_values(greatest.into_vec()?),
        places: match axis.lane_len() {
            0 => [Vec::new(), Vec::new()],
            _ => [
                device.arg_min_axis(&values, axis)?.into_vec()?,
                device.arg_max_axis(&values, axis)?.into_vec()?,
            ],
        },
        moments: device.moments_axis(&values, axis)?,
    })
}

/// Evaluates an expression in which a name stands for the type that numbers are compared in, and
/// counted: one that holds all numbers of the type that a [`DType`] names. There are few, since all
/// that the expression calls is compiled for each.
macro_rules! with_counted {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::number::with_bound!(@arms $dtype, $T => $body,
            U8 | I8 | U16 | I16 | F16 | Bf16 | F32 f32, U32 | I32 | F64 f64, U64 u64, I64 i64)
    };
}
pub(super) use with_counted;

/// A number that was compared, as one of its own type.
fn shown(values: &Values, row: usize, dtype: DType) -> Value {
    match dtype.is_float() {
        true => values.value(row),
        false => Value::Integer(values.integer(row)),
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
struct Statistics {
    dtype: DType,
    estimate: Estimate,
    count: u64,
    /// Where the next piece starts: those that are absent have places, too.
    places: u64,
    nan: u64,
    of_type: Box<dyn Extremes>,
    /// Of integers.
    sum: i128,
    quantiles: Option<Quantiles>,
}

impl Statistics {
    fn new(device: &Device, dtype: DType, estimate: Estimate, quantiles: bool) -> Self {
        Statistics {
            dtype,
            estimate,
            count: 0,
            places: 0,
            nan: 0,
            of_type: with_counted!(dtype, C => Box::new(Of::<C>::new(device))),
            sum: 0,
            quantiles: quantiles.then(|| Quantiles::new(device, dtype)),
        }
    }

    /// Takes numbers, and the places among them that are absent.
    fn push(&mut self, values: Values, absent: &[usize]) -> Result<()> {
        let count = values.len();
        if !self.dtype.is_float() {
            self.sum += values.sum();
        }
        if let Some(quantiles) = &mut self.quantiles {
            quantiles.push(&values)?;
        }
        let before = self.places;
        let place = |number| before + Places::of(absent).place(number) as u64;
        self.nan += self.of_type.push(values, &place)?;
        self.count += count as u64;
        self.places += (count + absent.len()) as u64;
        Ok(())
    }

    /// In the order of their names. So many values were missing, if that can be.
    fn values(self, missing: Option<u64>, levels: &[f64]) -> Result<Vec<Value>> {
        let dtype = self.dtype;
        let (moments, extremes) = self.of_type.values();
        let [min, max] = extremes.map(|extreme| match extreme {
            Some((value, place)) => [shown(&value, 0, dtype), Value::count(Some(place))],
            None => [Value::Nothing; 2],
        });
        let mut values = vec![
            Value::count(Some(self.count)),
            Value::count(missing),
            Value::count(dtype.is_float().then_some(self.nan)),
        ];
        values.extend([min, max].concat());
        values.extend(of_moments(&moments, self.estimate, self.sum, dtype));
        if let Some(quantiles) = self.quantiles {
            values.extend(quantiles.at(levels)?);
        }
        Ok(values)
    }
}

/// What is compiled for each type that numbers are compared in.
trait Extremes {
    /// Takes numbers, and says how many of them are NaN. `place_of` says where a number of these
    /// stands in the whole input.
    fn push(&mut self, values: Values, place_of: &dyn Fn(usize) -> u64) -> Result<u64>;

    /// The moments; and the least number and the greatest, with the places of the first of those.
    fn values(&self) -> (Moments, [Option<(Values, u64)>; 2]);
}

struct Of<C: Number> {
    device: Device,
    min: Extreme<C>,
    max: Extreme<C>,
    moments: MomentsReducer<Device>,
}

impl<C: Number<Bound = C>> Of<C> {
    fn new(device: &Device) -> Self {
        Of {
            device: device.clone(),
            min: Extreme::new(End::Least),
            max: Extreme::new(End::Greatest),
            moments: device.moments_reducer(),
        }
    }
}

impl<C: Number<Bound = C>> Extremes for Of<C> {
    fn push(&mut self, values: Values, place_of: &dyn Fn(usize) -> u64) -> Result<u64> {
        let piece = values.into_vec::<C>();
        // Nothing else is not equal to itself.
        let nan = piece
            .iter()
            .filter(|value| value.partial_cmp(value).is_none());
        let nan = nan.count() as u64;
        let values = self.device.upload_vec(piece)?;
        self.min.look_at(&self.device, &values, place_of)?;
        self.max.look_at(&self.device, &values, place_of)?;
        self.moments.push::<C>(&values)?;
        Ok(nan)
    }

    fn values(&self) -> (Moments, [Option<(Values, u64)>; 2]) {
        let extremes = [&self.min, &self.max].map(|extreme| {
            let (value, (_, place)) = extreme.value.zip(extreme.place)?;
            Some((C::to_values(vec![value]), place))
        });
        (self.moments.value(), extremes)
    }
}

/// The sum, the mean and the standard deviation. Those of integers have an exact sum.
fn of_moments(moments: &Moments, estimate: Estimate, sum: i128, dtype: DType) -> [Value; 3] {
    let count = moments.count();
    let of_some = |least: u64, value: f64| match count >= least {
        true => Value::Double(value),
        false => Value::Nothing,
    };
    let least = 1 + u64::from(estimate.ddof());
    let (sum, mean) = match dtype.is_float() {
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

impl<T: Number<Bound = T>> Extreme<T> {
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
        place_of: &dyn Fn(usize) -> u64,
    ) -> Result<()> {
        let is_min = self.end == End::Least;
        let place = match is_min {
            true => device.arg_min(values)?,
            false => device.arg_max(values)?,
        };
        let Some(place) = place else { return Ok(()) };
        let here = extreme_of(self.end, device, values)?;
        let beats = |old: T| {
            let is_nan = |x: T| x.partial_cmp(&x).is_none();
            !is_nan(old) && (is_nan(here) || if is_min { here < old } else { here > old })
        };
        if self.place.is_none_or(|(old, _)| beats(old)) {
            self.place = Some((here, place_of(place)));
        }
        self.value = Some(match self.value {
            Some(old) => extreme_of_two(self.end, old, here),
            None => here,
        });
        Ok(())
    }
}

/// The least or the greatest number of a buffer.
pub(super) fn extreme_of<C: Number>(end: End, device: &Device, values: &Buffer<C>) -> Result<C> {
    Ok(match end {
        End::Least => device.reduce::<C, C::Least>(values)?,
        End::Greatest => device.reduce::<C, C::Greatest>(values)?,
    })
}

/// The lesser or the greater of two numbers.
pub(super) fn extreme_of_two<C: Number<Bound = C>>(end: End, a: C, b: C) -> C {
    match end {
        End::Least => <C::Least as Monoid<C>>::combine(a, b),
        End::Greatest => <C::Greatest as Monoid<C>>::combine(a, b),
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
