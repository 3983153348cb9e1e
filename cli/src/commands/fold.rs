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
use crate::number::{BadNumber, DType, FoldWork, Number, Operator, with_fold, with_number};
use crate::pieces::{Pieces, Places};
use crate::text::{Gaps, Values};
use warpfold::shards::{Group, Nodes};
use warpfold::{Device, Element, Monoid, Scanner, bytemuck};

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

    /// The devices of a group, if there is one.
    fn devices(&self, group: Option<&Group>) -> Group {
        let one = || Group::new(vec![self.device.clone()]).expect("it is one device");
        group.cloned().unwrap_or_else(one)
    }

    /// On all devices of a group, if there is one.
    fn fold(self, group: Option<&Group>) -> Result<Box<dyn Fold>> {
        let init = self.parse_init()?;
        if self.accumulation.checked {
            return Ok(Box::new(Checked::new(self, group, init)));
        }
        let (op, dtype) = (self.op, self.accumulation.dtype);
        let reduction = Reduction {
            group: self.devices(group),
            init: init.clone(),
        };
        Ok(Box::new(Reducing {
            reducer: with_fold(op, dtype, reduction)?,
            finite: init.as_ref().is_none_or(is_finite),
            has_init: init.is_some(),
            op,
            dtype,
            of_integers: !self.elements.is_float(),
            name: self.name,
        }))
    }

    fn scan(self, inclusive: bool) -> Result<Running> {
        let init = self.parse_init()?;
        let (op, dtype) = (self.op, self.accumulation.dtype);
        let form = ScanForm {
            inclusive,
            reverse: false,
        };
        let scanning = Scanning {
            device: self.device,
            init: init.clone(),
            form,
        };
        let first = || match (init.clone(), op) {
            (Some(init), _) => init,
            (None, Operator::Mul) => Values::from(vec![1_u64]),
            (None, _) => Values::from(vec![0_u64]),
        };
        Ok(Running {
            scanner: with_fold(op, dtype, scanning)?,
            steps: match (self.accumulation.checked, dtype) {
                (false, _) => None,
                (true, DType::I64) => Some(Steps::<i64>::after(op, form, first)),
                (true, _) => Some(Steps::<u64>::after(op, form, first)),
            },
            inclusive,
            finite: init.as_ref().is_none_or(is_finite),
            exact: !self.elements.is_float(),
            accumulation: self.accumulation,
            name: self.name,
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

/// Whether no number is infinite or NaN.
fn is_finite(values: &Values) -> bool {
    values.first_not_finite().is_none()
}

/// Says that a fold of finite numbers left the range of its type on the way. What it gives then
/// depends on the bracketing: an infinity, or NaN where that meets 0 or the other infinity.
pub(super) fn warn_of_overflow(
    name: &str,
    what: impl std::fmt::Display,
    values: &Values,
    at: usize,
) {
    let dtype = values.dtype();
    let value = values.value(at).text();
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
pub(super) fn note_rounding(name: &str, what: impl std::fmt::Display, values: &Values, at: usize) {
    let (dtype, bits) = (values.dtype(), values.dtype().exact_bits());
    if dtype.is_float() && values.float(at).abs() >= 2_f64.powi(bits as i32) {
        logger::remark(
            "note",
            format!("{name}: {what} is 2^{bits} or beyond, and rounded to {dtype}"),
        );
    }
}

/// A reduction.
struct Reducing {
    reducer: Box<dyn Reduce>,
    has_init: bool,
    op: Operator,
    dtype: DType,
    name: String,
    /// Whether all numbers so far are finite.
    finite: bool,
    of_integers: bool,
}

impl Fold for Reducing {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()> {
        self.finite = self.finite && pieces.iter().all(is_finite);
        self.reducer.push(pieces)
    }

    fn push_file(&mut self, file: &SharedFile) -> Result<()> {
        self.reducer.push_file(file)?;
        if !is_finite(&self.reducer.value(false)?) {
            self.finite = self.finite && file.is_finite()?;
        }
        Ok(())
    }

    fn value(&self) -> Result<Values> {
        if !self.has_init && self.reducer.count() == 0 && self.op.picks() {
            return Err(no_extreme(&self.name, self.op));
        }
        let value = self.reducer.value(true)?.cast(self.dtype);
        if self.finite && !is_finite(&value) {
            warn_of_overflow(&self.name, "the result", &value, 0);
        }
        if self.of_integers {
            note_rounding(&self.name, "the result", &value, 0);
        }
        Ok(value)
    }
}

/// What is compiled for each type and operator of a reduction.
trait Reduce {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()>;

    fn push_file(&mut self, file: &SharedFile) -> Result<()>;

    /// How many numbers there were.
    fn count(&self) -> u64;

    /// The fold so far, of the type that is folded in: after what it starts from, or without that.
    fn value(&self, with_init: bool) -> Result<Values>;
}

/// What has taken in so many numbers, on one device or several.
struct Folded<C: Element, Op: Monoid<C>> {
    group: Group,
    nodes: Nodes<C, Op>,
    count: u64,
    init: Option<C>,
}

/// The bytes of a file that a device of several takes at a time, at most.
const SHARE_BYTES: usize = 64 << 20;

impl<C: Number, Op: Monoid<C>> Reduce for Folded<C, Op> {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()> {
        let jobs = pieces.into_iter().map(|piece| {
            let start = self.count;
            self.count += piece.len() as u64;
            (start, piece)
        });
        let jobs: Vec<(u64, Values)> = jobs.collect();
        let nodes = self.group.share(jobs, |device, (start, piece)| {
            Nodes::of_slice(device, start, &piece.into_vec::<C>())
        })?;
        nodes.iter().try_for_each(|nodes| self.nodes.merge(nodes))?;
        Ok(())
    }

    fn push_file(&mut self, file: &SharedFile) -> Result<()> {
        let most = match self.group.devices() {
            [_] => usize::MAX,
            _ => SHARE_BYTES / size_of::<C>(),
        };
        let even = file.count.div_ceil(self.group.devices().len());
        let share = even.clamp(1, most);
        let first = self.count;
        let nodes = self
            .group
            .share((0..file.count).step_by(share), |device, start| {
                let len = share.min(file.count - start);
                let read = |at, to: &mut [C]| file.read(start + at, to);
                Nodes::read(device, first + start as u64, len, read)
            })?;
        nodes.iter().try_for_each(|nodes| self.nodes.merge(nodes))?;
        self.count += file.count as u64;
        Ok(())
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn value(&self, with_init: bool) -> Result<Values> {
        let value = match self.init.filter(|_| with_init) {
            None => self.nodes.value(self.count)?,
            Some(init) => self.nodes.value_from(init, self.count)?,
        };
        Ok(C::to_values(vec![value]))
    }
}

/// A reduction, except its operator.
struct Reduction {
    group: Group,
    init: Option<Values>,
}

impl FoldWork for Reduction {
    type Output = Box<dyn Reduce>;

    fn run<C: Number, Op: Monoid<C>>(self) -> Result<Box<dyn Reduce>> {
        Ok(Box::new(Folded {
            group: self.group,
            nodes: Nodes::<C, Op>::new(),
            count: 0,
            init: self.init.map(only::<C>),
        }))
    }
}

/// A sum or product of integers of 64 bits, which is a failure if it is out of range.
struct Checked {
    devices: Group,
    op: Operator,
    accumulation: Accumulation,
    name: String,
    result: i128,
}

impl Checked {
    fn new(start: Start<'_>, group: Option<&Group>, init: Option<Values>) -> Self {
        Checked {
            devices: start.devices(group),
            op: start.op,
            accumulation: start.accumulation,
            name: start.name,
            result: match (start.op, init) {
                (_, Some(init)) => init.integer(0),
                (Operator::Mul, None) => 1,
                _ => 0,
            },
        }
    }
}

impl Fold for Checked {
    fn push(&mut self, pieces: Vec<Values>) -> Result<()> {
        if self.op == Operator::Mul {
            for piece in pieces {
                self.result = self.result.saturating_mul(exact::product(&piece));
            }
            return Ok(());
        }
        for sum in self.devices.share(pieces, exact::sum)? {
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
            return Ok(self.accumulation.values([self.result]));
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

/// What is compiled for each type and operator of a scan that goes on.
trait Scan {
    /// The results for the next numbers, of the type that is folded in.
    fn scan(&mut self, values: Values) -> Result<Values>;
}

struct OnDevice<C: Element, Op: Monoid<C>> {
    device: Device,
    scanner: Scanner<C, Op, Device>,
}

impl<C: Number, Op: Monoid<C>> Scan for OnDevice<C, Op> {
    fn scan(&mut self, values: Values) -> Result<Values> {
        let mut piece = self.device.upload_vec(values.into_vec::<C>())?;
        self.scanner.scan_in_place(&mut piece)?;
        Ok(C::to_values(piece.into_vec()?))
    }
}

/// A scan, except its operator.
struct Scanning<'a> {
    device: &'a Device,
    init: Option<Values>,
    form: ScanForm,
}

impl FoldWork for Scanning<'_> {
    type Output = Box<dyn Scan>;

    fn run<C: Number, Op: Monoid<C>>(self) -> Result<Box<dyn Scan>> {
        let prefixes = self.form.prefixes(self.init.map(only::<C>));
        Ok(Box::new(OnDevice {
            device: self.device.clone(),
            scanner: self.device.scanner::<C, Op>(prefixes),
        }))
    }
}

/// A scan of numbers that come in pieces.
struct Running {
    scanner: Box<dyn Scan>,
    /// Where results may not wrap.
    steps: Option<Box<dyn Overflow>>,
    inclusive: bool,
    accumulation: Accumulation,
    name: String,
    /// Whether all numbers so far are finite, and all results.
    finite: bool,
    /// Whether a result of integers may be rounded, and none was so far.
    exact: bool,
}

impl Running {
    /// The results for the next numbers, and a failure if there are fewer. `position` says where a
    /// number of these stands in the input, for messages.
    fn push(
        &mut self,
        values: Values,
        position: &dyn Fn(usize) -> usize,
    ) -> Result<(Values, Option<Failure>)> {
        let infinite = values.first_not_finite();
        let items = self.steps.is_some().then(|| values.clone());
        let mut results = self.scanner.scan(values)?.cast(self.accumulation.dtype);
        let overflow = match (&mut self.steps, items) {
            (Some(steps), Some(items)) => steps.first(&items, &results, self.inclusive),
            _ => None,
        };
        results.truncate(overflow.unwrap_or(results.len()));
        let failure = overflow.map(|number| {
            let what = format!(
                "the result for the number at position {}, from 0,",
                position(number)
            );
            self.accumulation.overflow(&self.name, what)
        });
        self.warn_of_range(infinite, &results, position);
        self.note_first_rounding(&results, position);
        Ok((results, failure))
    }

    /// Says which result of integers is the first that a type of floats may round.
    fn note_first_rounding(&mut self, results: &Values, position: &dyn Fn(usize) -> usize) {
        let dtype = results.dtype();
        if !self.exact || !dtype.is_float() {
            return;
        }
        let most = 2_f64.powi(dtype.exact_bits() as i32);
        if let Some(place) = (0..results.len()).find(|&row| results.float(row).abs() >= most) {
            let what = format!("the result at position {}, from 0,", position(place));
            note_rounding(&self.name, what, results, place);
            self.exact = false;
        }
    }

    /// Warns of the first result that is not finite, if all numbers in it are. Of the numbers of
    /// the piece, one may be infinite.
    fn warn_of_range(
        &mut self,
        infinite: Option<usize>,
        results: &Values,
        position: &dyn Fn(usize) -> usize,
    ) {
        if !self.finite {
            return;
        }
        let numbers = infinite.map_or(results.len(), |at| at + usize::from(!self.inclusive));
        let place = results.first_not_finite().filter(|&place| place < numbers);
        if let Some(result) = place {
            let what = format!("the result at position {}, from 0,", position(result));
            warn_of_overflow(&self.name, what, results, result);
        }
        self.finite = infinite.is_none() && place.is_none();
    }
}

/// Finds results of a scan that are out of range.
trait Overflow {
    /// The first result of a piece that is out of range: the step to it overflowed, and none
    /// before.
    fn first(&mut self, items: &Values, results: &Values, inclusive: bool) -> Option<usize>;
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
    /// The steps of a scan that starts from a number.
    fn after(op: Operator, form: ScanForm, first: impl FnOnce() -> Values) -> Box<dyn Overflow> {
        Box::new(Steps {
            op,
            before: form.inclusive.then(|| only::<C>(first())),
            left: None,
        })
    }
}

impl<C: Number> Overflow for Steps<C> {
    fn first(&mut self, items: &Values, results: &Values, inclusive: bool) -> Option<usize> {
        let items: &[C] = bytemuck::cast_slice(items.bytes());
        let results: &[C] = bytemuck::cast_slice(results.bytes());
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
