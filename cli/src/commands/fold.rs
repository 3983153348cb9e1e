//! `warpfold reduce` and `warpfold scan`.

use super::kept::Kept;
use super::{Job, Results, ScanForm, choose_device, choose_devices};
use crate::accumulate::{Accumulation, types_that_hold};
use crate::args::{FoldArguments, OutputFormat};
use crate::bound::Bound;
use crate::columns::{Column, Columns};
use crate::exact;
use crate::failure::{Failure, Result};
use crate::input::SharedFile;
use crate::logger;
use crate::npy::Times;
use crate::number::{BadNumber, DType, Number, Operator, Work, with_folded, with_number};
use crate::numbers::cast_all;
use crate::pieces::{Pieces, Places};
use crate::text::{Gaps, Values};
use std::marker::PhantomData;
use warpfold::shards::{Group, Nodes};
use warpfold::{Device, Element, Monoid, Reducer, Scanner};

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
    scans: &mut [Box<dyn Scan>],
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
    let which = if op == Operator::Min {
        "least"
    } else {
        "greatest"
    };
    Failure::with_remedy(
        place,
        format_args!("there are no numbers, so none is the {which}"),
        "give --init VALUE for the result of nothing",
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

/// What a fold starts from: a number of the type of the result.
fn parse_init<C: Number>(
    init: Option<&str>,
    op: Operator,
    dtype: DType,
    elements: DType,
) -> Result<Option<C>> {
    let Some(init) = init else { return Ok(None) };
    match parse_as(init, dtype) {
        Ok(value) => Ok(Some(value)),
        Err(bad) => Err(bad_init(bad, init, op, dtype, elements)),
    }
}

/// A number of one type in another one.
fn parse_as<C: Number>(text: &str, dtype: DType) -> Result<C, BadNumber> {
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
        value.map(T::cast)
    })
}

/// Why a fold cannot start from this, and which options help.
fn bad_init(bad: BadNumber, init: &str, op: Operator, dtype: DType, elements: DType) -> Failure {
    let cause = bad.describe(init, dtype);
    if bad == BadNumber::NotANumber {
        return Failure::at("--init", cause);
    }
    let holds = |dtype: &DType| parse_as::<f64>(init, *dtype).is_ok();
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

    pub(super) fn parse_init<C: Number>(&self) -> Result<Option<C>> {
        let dtype = self.accumulation.dtype;
        let value: Option<C> = parse_init(self.init, self.op, dtype, self.elements)?;
        let given = self
            .init
            .and_then(|init| Bound::parse(init).ok()?.integer());
        if let (Some(value), Some(given)) = (value, given)
            && dtype.is_float()
            && value.to_integer() != given
        {
            logger::insist(format!(
                "--init: {given} is beyond 2^{}, and rounded to {dtype}",
                dtype.exact_bits()
            ));
        }
        Ok(value)
    }

    /// On all devices of a group, if there is one.
    fn fold(self, group: Option<&Group>) -> Result<Box<dyn Fold>> {
        with_folded!(self.accumulation.dtype, C => {
            let init = self.parse_init::<C>()?;
            if self.accumulation.checked {
                return Ok(Box::new(Checked::new(self, group, init)));
            }
            C::with_operator(self.op, Reduction { start: self, group, init })
        })
    }

    fn scan(self, inclusive: bool) -> Result<Box<dyn Scan>> {
        with_folded!(self.accumulation.dtype, C => {
            let init = self.parse_init::<C>()?;
            C::with_operator(self.op, Scanning { start: self, init, inclusive })
        })
    }
}

/// A fold of numbers that come in pieces.
trait Fold {
    /// Takes in pieces of numbers of the type that the fold is computed in.
    fn push(&mut self, pieces: Vec<Values>) -> Result<()>;

    /// Takes in all numbers of a file.
    fn push_file(&mut self, file: &SharedFile) -> Result<()>;

    /// The fold of all numbers so far.
    fn value(&self) -> Result<Values>;
}

/// Whether a number is neither infinite nor NaN.
fn is_finite<T: Number>(number: T) -> bool {
    !T::DTYPE.is_float() || number.cast::<f64>().is_finite()
}

/// Says that a fold of finite numbers left the range of its type on the way. What it gives then
/// depends on the bracketing: an infinity, or NaN where that meets 0 or the other infinity.
pub(super) fn warn_of_overflow<T: Number>(name: &str, what: impl std::fmt::Display, value: T) {
    let dtype = T::DTYPE;
    let value = value.to_value().text();
    let wider = match dtype {
        DType::F64 => "",
        _ => "; --accumulate f64 has a wider range",
    };
    logger::insist(format!(
        "{name}: {what} is {value}, and all numbers are finite: a part of the fold is out of the \
         range of {dtype}{wider}"
    ));
}

/// Says that a result of integers is beyond those that a type of floats holds all of.
pub(super) fn note_rounding<T: Number>(name: &str, what: impl std::fmt::Display, value: T) {
    let (dtype, bits) = (T::DTYPE, T::DTYPE.exact_bits());
    if dtype.is_float() && value.cast::<f64>().abs() >= 2_f64.powi(bits as i32) {
        logger::remark(
            "note",
            format!("{name}: {what} is 2^{bits} or beyond, and rounded to {dtype}"),
        );
    }
}

/// One number in the type of the results.
fn single<C: Number>(value: C, dtype: DType) -> Values {
    with_number!(dtype, T => Values::from(vec![value.cast::<T>()]))
}

/// A reduction, except its operator.
struct Reduction<'a, C> {
    start: Start<'a>,
    group: Option<&'a Group>,
    init: Option<C>,
}

/// A reduction.
struct Reducing<C: Element, Op: Monoid<C>> {
    reducer: Reducers<C, Op>,
    init: Option<C>,
    op: Operator,
    dtype: DType,
    name: String,
    /// Whether all numbers so far are finite.
    finite: bool,
    of_integers: bool,
}

/// What has taken in numbers: one device; or several, with the nodes of so many numbers.
enum Reducers<C: Element, Op: Monoid<C>> {
    One(Reducer<C, Op, Device>),
    Several(Group, Nodes<C, Op>, u64),
}

/// The bytes of a file that a device of several takes at a time, at most.
const SHARE_BYTES: usize = 64 << 20;

impl<C: Number, Op: Monoid<C>> Reducers<C, Op> {
    fn push(&mut self, pieces: Vec<Vec<C>>) -> Result<()> {
        match self {
            Reducers::One(reducer) => {
                for piece in &pieces {
                    reducer.push_slice(piece)?;
                }
            }
            Reducers::Several(group, all, count) => {
                let jobs = pieces.iter().map(|piece| {
                    let start = *count;
                    *count += piece.len() as u64;
                    (start, piece)
                });
                let nodes = group.share(jobs.collect::<Vec<_>>(), |device, (start, piece)| {
                    Nodes::of_slice(device, start, piece)
                })?;
                nodes.iter().try_for_each(|nodes| all.merge(nodes))?;
            }
        }
        Ok(())
    }

    fn push_file(&mut self, file: &SharedFile) -> Result<()> {
        match self {
            Reducers::One(reducer) => {
                reducer.push_read(file.count, |start, to| file.read(start, to))?;
            }
            Reducers::Several(group, all, count) => {
                let even = file.count.div_ceil(group.devices().len());
                let share = even.clamp(1, SHARE_BYTES / size_of::<C>());
                let nodes = group.share((0..file.count).step_by(share), |device, start| {
                    let len = share.min(file.count - start);
                    let read = |at, to: &mut [C]| file.read(start + at, to);
                    Nodes::read(device, *count + start as u64, len, read)
                })?;
                nodes.iter().try_for_each(|nodes| all.merge(nodes))?;
                *count += file.count as u64;
            }
        }
        Ok(())
    }

    /// How many numbers there were.
    fn count(&self) -> u64 {
        match self {
            Reducers::One(reducer) => reducer.carry().position(),
            Reducers::Several(_, _, count) => *count,
        }
    }

    fn value(&self, init: Option<C>) -> Result<C> {
        Ok(match (self, init) {
            (Reducers::One(reducer), None) => reducer.value(),
            (Reducers::One(reducer), Some(init)) => reducer.value_from(init),
            (Reducers::Several(_, all, count), None) => all.value(*count)?,
            (Reducers::Several(_, all, count), Some(init)) => all.value_from(init, *count)?,
        })
    }
}

impl<C: Number<Bound = C>> Work<C> for Reduction<'_, C> {
    type Output = Box<dyn Fold>;

    fn run<Op: Monoid<C>>(self) -> Result<Box<dyn Fold>> {
        Ok(Box::new(Reducing {
            reducer: match self.group {
                None => Reducers::One(self.start.device.reducer::<C, Op>()),
                Some(group) => Reducers::Several(group.clone(), Nodes::new(), 0),
            },
            finite: self.init.is_none_or(is_finite),
            init: self.init,
            op: self.start.op,
            dtype: self.start.accumulation.dtype,
            of_integers: !self.start.elements.is_float(),
            name: self.start.name,
        }))
    }
}

impl<C: Number<Bound = C>, Op: Monoid<C>> Fold for Reducing<C, Op> {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()> {
        let pieces: Vec<Vec<C>> = pieces.into_iter().map(Values::into_vec).collect();
        let mut numbers = pieces.iter().flatten().copied();
        self.finite = self.finite && numbers.all(is_finite);
        self.reducer.push(pieces)
    }

    fn push_file(&mut self, file: &SharedFile) -> Result<()> {
        self.reducer.push_file(file)?;
        if !is_finite(self.reducer.value(None)?) {
            with_number!(file.dtype, T => file.blocks::<T>(0, file.count, |block| {
                self.finite = self.finite && block.iter().copied().all(is_finite);
            }))?;
        }
        Ok(())
    }

    fn value(&self) -> Result<Values> {
        if self.init.is_none() && self.reducer.count() == 0 && self.op.picks() {
            return Err(no_extreme(&self.name, self.op));
        }
        let value = self.reducer.value(self.init)?;
        with_number!(self.dtype, T => {
            let value: T = value.cast();
            if self.finite && !is_finite(value) {
                warn_of_overflow(&self.name, "the result", value);
            }
            if self.of_integers {
                note_rounding(&self.name, "the result", value);
            }
        });
        Ok(single(value, self.dtype))
    }
}

/// A sum or product of integers of type `C`, which is a failure if it is out of range.
struct Checked<C> {
    devices: Group,
    op: Operator,
    accumulation: Accumulation,
    name: String,
    result: i128,
    of: PhantomData<C>,
}

impl<C: Number> Checked<C> {
    fn new(start: Start<'_>, group: Option<&Group>, init: Option<C>) -> Self {
        let one = || Group::new(vec![start.device.clone()]).expect("it is one device");
        Checked {
            devices: group.cloned().unwrap_or_else(one),
            op: start.op,
            accumulation: start.accumulation,
            name: start.name,
            result: match (start.op, init) {
                (_, Some(init)) => init.to_integer(),
                (Operator::Mul, None) => 1,
                _ => 0,
            },
            of: PhantomData,
        }
    }
}

impl<C: Number> Fold for Checked<C> {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()> {
        let pieces = pieces.into_iter().map(Values::into_vec::<C>);
        if self.op == Operator::Mul {
            for piece in pieces {
                self.result = self.result.saturating_mul(exact::product(&piece));
            }
            return Ok(());
        }
        let sums = self.devices.share(pieces.collect::<Vec<_>>(), exact::sum)?;
        for sum in sums {
            self.result = self.result.saturating_add(sum);
        }
        Ok(())
    }

    fn push_file(&mut self, file: &SharedFile) -> Result<()> {
        self.result = self.result.saturating_add(exact::sum_of_file(file)?);
        Ok(())
    }

    fn value(&self) -> Result<Values> {
        if self.accumulation.fits(self.result) {
            return Ok(single(
                C::from_integer(self.result),
                self.accumulation.dtype,
            ));
        }
        Err(match self.op {
            Operator::Mul => self.accumulation.overflow(&self.name, "the product"),
            _ => {
                let what = format_args!("the sum, {},", self.result);
                self.accumulation.overflow(&self.name, what)
            }
        })
    }
}

/// A scan of numbers that come in pieces.
trait Scan {
    /// The results for the next numbers, and a failure if there are fewer. `position` says where a
    /// number of these stands in the input, for messages.
    fn push(
        &mut self,
        values: Values,
        position: &dyn Fn(usize) -> usize,
    ) -> Result<(Values, Option<Failure>)>;
}

/// A scan, except its operator.
struct Scanning<'a, C> {
    start: Start<'a>,
    init: Option<C>,
    inclusive: bool,
}

/// A scan that goes on.
struct Running<C: Element, Op: Monoid<C>> {
    device: Device,
    scanner: Scanner<C, Op, Device>,
    steps: Steps<C>,
    inclusive: bool,
    accumulation: Accumulation,
    name: String,
    /// Whether all numbers so far are finite, and all results.
    finite: bool,
    /// Whether a result of integers may be rounded, and none was so far.
    exact: bool,
}

impl<C: Number<Bound = C>> Work<C> for Scanning<'_, C> {
    type Output = Box<dyn Scan>;

    fn run<Op: Monoid<C>>(self) -> Result<Box<dyn Scan>> {
        let forward = ScanForm {
            inclusive: self.inclusive,
            reverse: false,
        };
        let prefixes = forward.prefixes(self.init);
        let start = self.start;
        Ok(Box::new(Running {
            device: start.device.clone(),
            scanner: start.device.scanner::<C, Op>(prefixes),
            steps: Steps {
                op: start.op,
                before: (self.inclusive).then(|| self.init.unwrap_or_else(Op::identity)),
                left: None,
            },
            inclusive: self.inclusive,
            accumulation: start.accumulation,
            name: start.name,
            finite: self.init.is_none_or(is_finite),
            exact: !start.elements.is_float(),
        }))
    }
}

impl<C: Number<Bound = C>, Op: Monoid<C>> Scan for Running<C, Op> {
    fn push(
        &mut self,
        values: Values,
        position: &dyn Fn(usize) -> usize,
    ) -> Result<(Values, Option<Failure>)> {
        let piece = values.into_vec::<C>();
        let infinite = piece.iter().position(|&number| !is_finite(number));
        let items = match self.accumulation.checked {
            true => piece.clone(),
            false => Vec::new(),
        };
        let mut piece = self.device.upload_vec(piece)?;
        self.scanner.scan_in_place(&mut piece)?;
        let mut prefixes = piece.into_vec()?;
        let overflow = self.steps.overflow(&items, &prefixes, self.inclusive);
        prefixes.truncate(overflow.unwrap_or(prefixes.len()));
        let failure = overflow.map(|number| {
            let what = format!(
                "the result for the number at position {}, from 0,",
                position(number)
            );
            self.accumulation.overflow(&self.name, what)
        });
        let values = with_number!(self.accumulation.dtype, T => {
            let results = cast_all::<C, T>(prefixes);
            self.warn_of_range(infinite, &results, position);
            self.note_first_rounding(&results, position);
            Values::from(results)
        });
        Ok((values, failure))
    }
}

impl<C: Number, Op: Monoid<C>> Running<C, Op> {
    /// Says which result of integers is the first that a type of floats may round.
    fn note_first_rounding<T: Number>(&mut self, results: &[T], position: &dyn Fn(usize) -> usize) {
        if !self.exact || !T::DTYPE.is_float() {
            return;
        }
        let most = 2_f64.powi(T::DTYPE.exact_bits() as i32);
        let is_large = |result: &T| result.cast::<f64>().abs() >= most;
        if let Some(place) = results.iter().position(is_large) {
            let what = format!("the result at position {}, from 0,", position(place));
            note_rounding(&self.name, what, results[place]);
            self.exact = false;
        }
    }

    /// Warns of the first result that is not finite, if all numbers in it are. Of the numbers of
    /// the piece, one may be infinite.
    fn warn_of_range<T: Number>(
        &mut self,
        infinite: Option<usize>,
        results: &[T],
        position: &dyn Fn(usize) -> usize,
    ) {
        if !self.finite {
            return;
        }
        let numbers = infinite.map_or(results.len(), |at| at + usize::from(!self.inclusive));
        let place = results
            .iter()
            .take(numbers)
            .position(|&result| !is_finite(result));
        if let Some(result) = place {
            let what = format!("the result at position {}, from 0,", position(result));
            warn_of_overflow(&self.name, what, results[result]);
        }
        self.finite = infinite.is_none() && place.is_none();
    }
}

/// The steps of a scan, each from one result to the next by one number.
struct Steps<C> {
    op: Operator,
    /// The result before the next piece.
    before: Option<C>,
    /// The number that the first step of the next piece folds in, if it is not of that piece.
    left: Option<C>,
}

impl<C: Number> Steps<C> {
    /// The first result of a piece that is out of range: the step to it overflowed, and none
    /// before.
    fn overflow(&mut self, items: &[C], results: &[C], inclusive: bool) -> Option<usize> {
        // No step leads to the first result of an exclusive scan.
        let first = usize::from(self.before.is_none());
        let befores = self.before.iter().chain(results);
        let numbers = self.left.iter().chain(items);
        let steps = befores.zip(numbers);
        let overflowed = |(before, item): (&C, &C)| C::overflowed(self.op, *before, *item);
        let step = steps
            .take(results.len().saturating_sub(first))
            .position(overflowed);
        if !results.is_empty() {
            self.before = results.last().copied();
            self.left = items.last().copied().filter(|_| !inclusive);
        }
        step.map(|step| step + first)
    }
}
