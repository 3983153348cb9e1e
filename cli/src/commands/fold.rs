//! `warpfold reduce` and `warpfold scan`.

mod overflow;
mod reducing;
mod running;

pub(super) use overflow::{note_rounding, warn_of_overflow};

use super::kept::Kept;
use super::{Job, Results, ScanForm, choose_device, choose_devices};
use crate::accumulate::{Accumulation, types_that_hold};
use crate::args::{FoldArguments, OutputFormat};
use crate::bound::Bound;
use crate::columns::{Column, Columns};
use crate::failure::{Failure, Result};
use crate::logger;
use crate::npy::Times;
use crate::number::{BadNumber, DType, Number, Operator, with_number};
use crate::pieces::{Pieces, Places};
use crate::text::{Gaps, Values};
use running::Running;
use warpfold::Device;
use warpfold::shards::Group;

/// Folds all numbers into one, or those of each column that is named.
pub(super) fn reduce(arguments: &FoldArguments) -> Result<()> {
    let named = !arguments.files.input.text.columns.is_empty();
    let gaps = named.then_some(Gaps::Apart);
    let devices = choose_devices(arguments.files.input.device.as_deref())?;
    let (job, accumulations) = open_on(devices, arguments, Some(OutputFormat::Text), gaps)?;
    let op = arguments.op;
    let mut folds = Vec::new();
    for (column, accumulation) in job.columns.columns.iter().zip(&accumulations) {
        let start = Start::of(arguments, &job, column, *accumulation);
        folds.push(start.fold(job.group.as_ref())?);
    }
    let columns = results(&job.columns, &accumulations);
    let delimiter = job.columns.delimiter;
    let (output, format) = (job.output, job.output_format);
    let results = Results::new(output, format, &columns, delimiter, Some(Vec::new()))?;
    let mut results = results.times(times_of(op, &job.columns));
    // A sum that is checked is made by the CPU's threads, and a product by one.
    let checked = accumulations[0].checked;
    let may_share = !checked || job.device.is_cpu() && op == Operator::Add;
    let shared = match may_share {
        true => job.columns.shared(),
        false => Err(Box::new(job.columns)),
    };
    match shared {
        Ok(file) => folds[0].push_file(&file)?,
        Err(columns) => {
            let types = accumulations.iter().map(|accumulation| accumulation.dtype);
            let mut pieces = columns.pieces(types.collect());
            // As many as keep all devices at work.
            let count = job.group.map_or(1, |group| 2 * group.devices().len());
            loop {
                let mut batches: Vec<Vec<Values>> = folds.iter().map(|_| Vec::new()).collect();
                for piece in pieces.by_ref().take(count) {
                    let columns = batches.iter_mut().zip(piece?);
                    columns.for_each(|(batch, values)| batch.push(values));
                }
                if batches.iter().all(Vec::is_empty) {
                    break;
                }
                for (fold, batch) in folds.iter_mut().zip(batches) {
                    fold.push(batch)?;
                }
            }
        }
    }
    results.write(
        folds
            .iter()
            .map(|fold| fold.value())
            .collect::<Result<_>>()?,
    )?;
    results.finish()
}

/// Replaces each number by a fold of those before it in its column, or in reverse behind it.
pub(super) fn scan(arguments: &FoldArguments, form: ScanForm) -> Result<()> {
    let ScanForm { inclusive, reverse } = form;
    if !inclusive && arguments.op.picks() && arguments.init.is_none() {
        return Err(no_extreme("the first result of --exclusive", arguments.op));
    }
    let (job, accumulations) = open(arguments, None, Some(Gaps::Apart))?;
    let mut scans = Vec::new();
    for (column, accumulation) in job.columns.columns.iter().zip(&accumulations) {
        scans.push(Start::of(arguments, &job, column, *accumulation).scan(inclusive)?);
    }
    let columns = results(&job.columns, &accumulations);
    let (shape, delimiter) = (job.columns.shape.clone(), job.columns.delimiter);
    let (output, format) = (job.output, job.output_format);
    let shape = match arguments.files.input.flatten && !format.is_binary() {
        true => None,
        false => shape,
    };
    let results = Results::new(output, format, &columns, delimiter, shape)?;
    let mut results = results.times(times_of(arguments.op, &job.columns));
    let types = accumulations.iter().map(|accumulation| accumulation.dtype);
    let types: Vec<DType> = types.collect();
    let mut pieces = job.columns.pieces(types.clone());
    if reverse {
        scan_in_reverse(&mut scans, pieces, &types, &mut results)?;
        return results.finish();
    }
    let mut done = 0;
    while let Some(piece) = pieces.next() {
        let piece = piece?;
        let rows = piece[0].len() + pieces.absent[0].len();
        let (mut outputs, mut overflow) = (Vec::new(), None);
        for ((scan, values), absent) in scans.iter_mut().zip(piece).zip(&pieces.absent) {
            let position = |number| done + Places::of(absent).place(number);
            let (output, failure) = scan.push(values, &position)?;
            outputs.push(output);
            overflow = overflow.or(failure);
        }
        done += rows;
        results.write_spread(outputs, &pieces.absent)?;
        if let Some(failure) = overflow {
            return Err(failure);
        }
    }
    results.finish()
}

/// Scans from the last number to the first. Pieces wait in temporary files if they are large: first
/// for the last number, and then for the result of the first.
fn scan_in_reverse(
    scans: &mut [Running],
    mut pieces: Pieces<Vec<Values>>,
    types: &[DType],
    results: &mut Results,
) -> Result<()> {
    let (mut numbers, mut ends) = (Kept::new(types.to_vec()), vec![0]);
    while let Some(piece) = pieces.next() {
        let piece = piece?;
        ends.push(ends[numbers.len()] + piece[0].len() + pieces.absent[0].len());
        numbers.push(&piece, &pieces.absent)?;
    }
    let mut scanned = Kept::new(types.to_vec());
    for number in (0..numbers.len()).rev() {
        let (piece, absent) = numbers.read(number)?;
        let mut outputs = Vec::new();
        for ((scan, values), absent) in scans.iter_mut().zip(piece).zip(&absent) {
            let count = values.len();
            let position = |turned| ends[number] + Places::of(absent).place(count - 1 - turned);
            let (output, failure) = scan.push(values.reversed(), &position)?;
            if let Some(failure) = failure {
                return Err(failure);
            }
            outputs.push(output.reversed());
        }
        scanned.push(&outputs, &absent)?;
    }
    drop(numbers);
    for number in (0..scanned.len()).rev() {
        let (outputs, absent) = scanned.read(number)?;
        results.write_spread(outputs, &absent)?;
    }
    Ok(())
}

/// What the results are if the numbers are times or durations. The sum of times is none.
pub(super) fn times_of(op: Operator, columns: &Columns) -> Option<Times> {
    let times = columns.times.clone();
    times.filter(|times| op.picks() || op == Operator::Add && times.are_durations())
}

/// The columns of the results.
fn results(columns: &Columns, accumulations: &[Accumulation]) -> Vec<Column> {
    let columns = columns.columns.iter().zip(accumulations);
    let result = |(column, accumulation): (&Column, &Accumulation)| Column {
        dtype: accumulation.dtype,
        ..column.clone()
    };
    columns.map(result).collect()
}

/// What has no numbers has no least and no greatest one.
pub(super) fn no_extreme(place: &str, op: Operator) -> Failure {
    let (which, beyond) = match op {
        Operator::Min => ("least", "less"),
        _ => ("greatest", "greater"),
    };
    Failure::with_remedy(
        place,
        format_args!("there are no numbers, so none is the {which}"),
        format_args!(
            "give --init VALUE, the result of nothing: all results start with it, so no number may \
             be {beyond} where others have numbers"
        ),
    )
}

/// Opens everything, for a command that runs on one device.
pub(super) fn open(
    arguments: &FoldArguments,
    format: Option<OutputFormat>,
    gaps: Option<Gaps>,
) -> Result<(Job, Vec<Accumulation>)> {
    let device = choose_device(arguments.files.input.device.as_deref())?;
    open_on((device, None), arguments, format, gaps)
}

fn open_on(
    devices: (Device, Option<Group>),
    arguments: &FoldArguments,
    format: Option<OutputFormat>,
    gaps: Option<Gaps>,
) -> Result<(Job, Vec<Accumulation>)> {
    let (wanted, wrapping) = (arguments.accumulate, arguments.wrapping);
    let choose = |dtype| Accumulation::choose(arguments.op, dtype, wanted, wrapping);
    let written = |dtype| Ok(choose(dtype)?.dtype);
    let job = Job::open_on(devices, &arguments.files, format, gaps, &[], written)?;
    let accumulations = job.columns.dtypes().into_iter().map(choose);
    let accumulations = accumulations.collect::<Result<_>>()?;
    Ok((job, accumulations))
}

/// One number of a type.
fn parse_as(text: &str, dtype: DType) -> Result<Values, BadNumber> {
    with_number!(dtype, T => {
        let value = match T::parse(text.as_bytes()) {
            // An integer may be written with an exponent or a point.
            Err(BadNumber::NotAnInteger) => {
                let value = Bound::parse(text).ok().and_then(Bound::integer);
                let value = value.ok_or(BadNumber::NotAnInteger)?;
                match T::from_integer(value).to_integer() == value {
                    true => Ok(T::from_integer(value)),
                    false => Err(BadNumber::OutOfRange),
                }
            }
            value => value,
        };
        Ok(Values::from(vec![value?]))
    })
}

/// The number that is alone.
pub(super) fn only<C: Number>(values: Values) -> C {
    values.into_vec::<C>()[0]
}

/// Why a fold cannot start from this, and which options help.
fn bad_init(bad: BadNumber, init: &str, op: Operator, dtype: DType, elements: DType) -> Failure {
    let cause = bad.describe(init, dtype);
    if bad == BadNumber::NotANumber {
        return Failure::at("--init", cause);
    }
    let holds = |dtype: &DType| parse_as(init, *dtype).is_ok();
    let able = match op {
        Operator::Add | Operator::Mul => types_that_hold(elements)
            // Narrower floats hold each number, but not their sums.
            .filter(|dtype| dtype.size() == 8)
            .find(holds),
        _ => None,
    };
    match able {
        Some(able) => Failure::with_remedy(
            "--init",
            cause,
            format_args!("a fold starts from a number of its own type: give --accumulate {able}"),
        ),
        None => Failure::with_remedy(
            "--init",
            cause,
            format_args!("the result has the type {dtype}: give a number that it holds"),
        ),
    }
}

/// A fold of one column that has not begun.
pub(super) struct Start<'a> {
    pub(super) device: &'a Device,
    pub(super) op: Operator,
    pub(super) init: Option<&'a str>,
    pub(super) accumulation: Accumulation,
    /// The type of the elements.
    pub(super) elements: DType,
    /// The name that messages use.
    pub(super) name: String,
}

impl<'a> Start<'a> {
    fn of(
        arguments: &'a FoldArguments,
        job: &'a Job,
        column: &Column,
        accumulation: Accumulation,
    ) -> Self {
        Start {
            device: &job.device,
            op: arguments.op,
            init: arguments.init.as_deref(),
            accumulation,
            elements: column.dtype,
            name: job.columns.name_of(column),
        }
    }

    /// What the fold starts from: a number of the type of the result.
    pub(super) fn parse_init(&self) -> Result<Option<Values>> {
        let Some(init) = self.init else {
            return Ok(None);
        };
        let dtype = self.accumulation.dtype;
        let value = parse_as(init, dtype)
            .map_err(|bad| bad_init(bad, init, self.op, dtype, self.elements))?;
        let given = Bound::parse(init).ok().and_then(Bound::integer);
        if let Some(given) = given
            && dtype.is_float()
            && only::<f64>(value.clone()).to_integer() != given
        {
            logger::insist(format!(
                "--init: {given} is beyond 2^{}, and rounded to {dtype}",
                dtype.exact_bits()
            ));
        }
        Ok(Some(value))
    }
}
