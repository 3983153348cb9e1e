//! `warpfold reduce --axis`, `warpfold scan --axis`, `warpfold segments` and `warpfold decode`:
//! folds of many parts of an input, which is held in memory.

use super::fold::{Start, no_extreme, note_rounding, only, warn_of_overflow};
use super::{Job, Results, ScanForm};
use crate::accumulate::Accumulation;
use crate::args::{
    DecodeArguments, FoldArguments, InputArguments, OutputFormat, SegmentsArguments,
};
use crate::columns::{Column, Columns};
use crate::failure::{Failure, Result, text_of};
use crate::logger;
use crate::number::{DType, FoldWork, Number, Operator, with_fold, with_number};
use crate::numbers::{Numbers, tell_of_rounding};
use crate::text::{Gaps, Values};
use std::path::Path;
use warpfold::statistics::Moments;
use warpfold::{Axis, Device, Monoid, Offsets, Prefixes, Sortable, ops};

/// The parts of an input, each of which is folded by itself.
pub(super) enum Lanes {
    Axis(Axis),
    /// Where segments start, and the last one ends.
    Segments(Vec<u64>),
}

impl Lanes {
    fn reduce<T: warpfold::Element, Op: Monoid<T>>(
        &self,
        device: &Device,
        values: Vec<T>,
        init: Option<T>,
    ) -> Result<Vec<T>> {
        let values = device.upload_vec(values)?;
        let folds = match (self, init) {
            (Lanes::Axis(axis), None) => device.reduce_axis::<T, Op>(&values, *axis),
            (Lanes::Axis(axis), Some(init)) => {
                device.reduce_axis_from::<T, Op>(init, &values, *axis)
            }
            (Lanes::Segments(offsets), init) => {
                let offsets = device.upload(offsets)?;
                let offsets = device.offsets(&offsets)?;
                match init {
                    None => device.segmented_reduce::<T, Op>(&values, offsets),
                    Some(init) => device.segmented_reduce_from::<T, Op>(init, &values, offsets),
                }
            }
        };
        Ok(folds?.into_vec()?)
    }

    fn scan<T: warpfold::Element, Op: Monoid<T>>(
        &self,
        device: &Device,
        values: Vec<T>,
        prefixes: Prefixes<T>,
    ) -> Result<Vec<T>> {
        let mut values = device.upload_vec(values)?;
        match self {
            Lanes::Axis(axis) => {
                device.scan_axis_in_place::<T, Op>(prefixes, *axis, &mut values)?;
            }
            Lanes::Segments(offsets) => {
                let offsets = device.upload(offsets)?;
                let offsets = device.offsets(&offsets)?;
                device.segmented_scan_in_place::<T, Op>(prefixes, &mut values, offsets)?;
            }
        }
        Ok(values.into_vec()?)
    }

    /// The mean of each segment, which is finite if its numbers are.
    pub(super) fn means(&self, device: &Device, values: Vec<f64>) -> Result<Vec<f64>> {
        let Lanes::Segments(offsets) = self else {
            unreachable!("only segments are asked for means");
        };
        let (values, offsets) = (device.upload_vec(values)?, device.upload(offsets)?);
        let moments = device.segmented_moments(&values, device.offsets(&offsets)?)?;
        Ok(moments.iter().map(Moments::mean).collect())
    }

    /// The places of the items of each part.
    fn places(&self) -> Vec<Vec<usize>> {
        match self {
            Lanes::Axis(axis) => {
                let (len, inner) = (axis.lane_len(), axis.inner_len());
                let lane = |lane: usize| {
                    let start = lane / inner * len * inner + lane % inner;
                    (0..len).map(|row| start + row * inner).collect()
                };
                (0..axis.lanes()).map(lane).collect()
            }
            Lanes::Segments(offsets) => {
                let pairs = offsets.windows(2);
                pairs
                    .map(|pair| (pair[0] as usize..pair[1] as usize).collect())
                    .collect()
            }
        }
    }

    /// The first part without items.
    fn first_empty(&self) -> Option<usize> {
        match self {
            Lanes::Axis(axis) => (axis.lane_len() == 0 && axis.lanes() > 0).then_some(0),
            Lanes::Segments(offsets) => offsets.windows(2).position(|pair| pair[0] == pair[1]),
        }
    }

    /// What a part is called.
    fn name(&self, number: usize) -> String {
        match self {
            Lanes::Axis(_) => format!("lane {number}"),
            Lanes::Segments(_) => format!("segment {number}"),
        }
    }

    /// The fold of each part, or all prefixes if it says whether these are inclusive.
    pub(super) fn fold(
        &self,
        start: Start<'_>,
        values: Values,
        scan: Option<ScanForm>,
    ) -> Result<Values> {
        if start.op.picks() && start.init.is_none() {
            let empty = self.first_empty().filter(|_| scan.is_none());
            if let Some(number) = empty {
                let place = format!("{}, {}", start.name, self.name(number));
                return Err(no_extreme(&place, start.op));
            }
            if scan.is_some_and(|form| !form.inclusive) {
                return Err(no_extreme("the first result of --exclusive", start.op));
            }
        }
        let integers = (values.dtype(), values.bytes());
        tell_of_rounding(&start.name, integers, start.accumulation.dtype);
        let (init, dtype) = (start.parse_init()?, start.accumulation.dtype);
        if start.accumulation.checked {
            return self.exact(&start, &values, init, scan);
        }
        let is_finite = |values: &Values| values.first_not_finite().is_none();
        let finite = is_finite(&values) && init.as_ref().is_none_or(is_finite);
        let task = Task {
            lanes: self,
            device: start.device,
            values,
            init,
            scan,
        };
        let results = with_fold(start.op, dtype, task)?.cast(dtype);
        if !start.elements.is_float() {
            (0..results.len()).for_each(|at| note_rounding(&start.name, "a result", &results, at));
        }
        if finite && let Some(bad) = results.first_not_finite() {
            warn_of_overflow(&start.name, "a result", &results, bad);
        }
        Ok(results)
    }

    /// Sums and products of integers, none of which is out of range.
    fn exact(
        &self,
        start: &Start<'_>,
        values: &Values,
        init: Option<Values>,
        scan: Option<ScanForm>,
    ) -> Result<Values> {
        let init = init.map(|init| init.integer(0));
        let wide: Vec<i128> = (0..values.len()).map(|row| values.integer(row)).collect();
        let results = match start.op {
            Operator::Mul => self.products(&wide, init.unwrap_or(1), scan),
            _ => match scan {
                None => self.reduce::<i128, ops::Add>(start.device, wide, init)?,
                Some(form) => {
                    self.scan::<i128, ops::Add>(start.device, wide, form.prefixes(init))?
                }
            },
        };
        let accumulation = start.accumulation;
        if let Some(number) = results
            .iter()
            .position(|&result| !accumulation.fits(result))
        {
            let place = match scan {
                None => self.name(number),
                Some(_) => format!("the number at position {number}, from 0,"),
            };
            let what = format!("the result for {place}");
            return Err(accumulation.overflow(&start.name, what));
        }
        Ok(accumulation.values(results))
    }

    /// Products that stay out of range once they are, unless they become 0.
    fn products(&self, values: &[i128], init: i128, scan: Option<ScanForm>) -> Vec<i128> {
        let mut all = match scan {
            None => Vec::new(),
            Some(_) => values.to_vec(),
        };
        for mut places in self.places() {
            let mut product = init;
            if scan.is_some_and(|form| form.reverse) {
                places.reverse();
            }
            for place in places {
                let before = product;
                product = product.saturating_mul(values[place]);
                if let Some(form) = scan {
                    all[place] = if form.inclusive { product } else { before };
                }
            }
            if scan.is_none() {
                all.push(product);
            }
        }
        all
    }
}

/// A fold, except its operator.
struct Task<'a> {
    lanes: &'a Lanes,
    device: &'a Device,
    values: Values,
    init: Option<Values>,
    scan: Option<ScanForm>,
}

impl FoldWork for Task<'_> {
    type Output = Values;

    fn run<C: Number, Op: Monoid<C>>(self) -> Result<Values> {
        let (lanes, device, init) = (self.lanes, self.device, self.init.map(only::<C>));
        let values = self.values.into_vec::<C>();
        let results = match self.scan {
            None => lanes.reduce::<C, Op>(device, values, init),
            Some(form) => lanes.scan::<C, Op>(device, values, form.prefixes(init)),
        };
        results.map(C::to_values)
    }
}

/// Folds or scans an array along an axis, which counts from the end if it is negative.
pub(super) fn along(arguments: &FoldArguments, axis: i64, scan: Option<ScanForm>) -> Result<()> {
    let format = scan.is_none().then_some(OutputFormat::Text);
    let (job, accumulation) = open(arguments, format, None)?;
    let (mut shape, number) = axis_of(&job.columns, axis, arguments.files.input.flatten)?;
    let lanes = Lanes::Axis(Axis::of(&shape, number)?);
    if scan.is_none() {
        shape.remove(number);
    }
    let any = |_: &str, _: usize| Ok(());
    run(arguments, job, accumulation, &lanes, scan, Some(shape), any)
}

/// The shape of an array, and the number of an axis that may count from its end.
pub(super) fn axis_of(columns: &Columns, axis: i64, flatten: bool) -> Result<(Vec<usize>, usize)> {
    let name = &columns.name;
    let Some(shape) = columns.shape.clone().filter(|_| !flatten) else {
        return Err(Failure::with_remedy(
            name,
            "--axis is for arrays, which have a shape",
            "give an .npy file; the columns of a table are chosen with --column",
        ));
    };
    let count = shape.len() as i64;
    let number = if axis < 0 { axis + count } else { axis };
    if !(0..count).contains(&number) {
        let axes = match count {
            0 => "it has no axes".to_owned(),
            1 => "its only axis is 0".to_owned(),
            _ => format!("its axes are 0 to {}, or -{count} to -1", count - 1),
        };
        let cause = format!("the array has no axis {axis}: its shape is {shape:?}");
        return Err(Failure::with_remedy(name, cause, axes));
    }
    Ok((shape, number as usize))
}

/// Folds or scans each segment.
pub(super) fn segments(arguments: &SegmentsArguments) -> Result<()> {
    let data = arguments.fold.files.file.as_deref();
    let scan = arguments.scan.then_some(ScanForm {
        inclusive: !arguments.exclusive,
        reverse: arguments.reverse,
    });
    let given = &arguments.bounds;
    let offsets = match (&given.offsets, &given.lengths) {
        (Some(file), _) => read_whole_numbers(file, "offsets", data)?,
        (None, Some(file)) => {
            let lengths = read_whole_numbers(file, "lengths", data)?;
            let mut offsets = vec![0_u64];
            for (number, length) in lengths.into_iter().enumerate() {
                let end = offsets[number].checked_add(length);
                offsets.push(end.ok_or_else(|| {
                    Failure::at(file.display(), "the sum of the lengths is beyond 64 bits")
                })?);
            }
            offsets
        }
        (None, None) => unreachable!("one of them is required"),
    };
    let bounds = given.offsets.as_deref().or(given.lengths.as_deref());
    let file = bounds.map_or_else(String::new, |file| file.display().to_string());
    // Says what is wrong before anything else is read.
    Offsets::new(&offsets).map_err(|error| Failure::at(&file, text_of(&error)))?;
    let format = scan.is_none().then_some(OutputFormat::Text);
    let (job, accumulation) = open(&arguments.fold, format, Some(Gaps::Together))?;
    job.output.refuse_inputs(bounds.map(Some))?;
    let (are_lengths, is_scan) = (given.lengths.is_some(), scan.is_some());
    let check =
        |name: &str, count: usize| check_bounds(&offsets, are_lengths, is_scan, name, count);
    let lanes = Lanes::Segments(offsets.clone());
    run(
        &arguments.fold,
        job,
        accumulation,
        &lanes,
        scan,
        None,
        check,
    )
}

/// Fails if segments do not fit so many numbers. Offsets may leave some out, lengths may not.
fn check_bounds(
    offsets: &[u64],
    are_lengths: bool,
    is_scan: bool,
    name: &str,
    count: usize,
) -> Result<()> {
    let (start, end) = (offsets[0], offsets[offsets.len() - 1]);
    if are_lengths && end != count as u64 {
        return Err(Failure::with_remedy(
            name,
            format_args!("the lengths add up to {end}, but there are {count} numbers"),
            "give lengths that add up to the number of numbers; --offsets can leave numbers out",
        ));
    }
    if end > count as u64 {
        return Err(Failure::with_remedy(
            name,
            format_args!("the segments end at {end}, but there are {count} numbers"),
            "give segments up to the number of numbers",
        ));
    }
    let outside = count as u64 - (end - start);
    // A scan writes them, as they are.
    if outside > 0 && !is_scan {
        logger::insist(format!(
            "{name}: the segments go from {start} to {end}, so {outside} of {count} numbers are in \
             none"
        ));
    }
    Ok(())
}

fn open(
    arguments: &FoldArguments,
    format: Option<OutputFormat>,
    gaps: Option<Gaps>,
) -> Result<(Job, Accumulation)> {
    let (job, accumulations) = super::fold::open(arguments, format, gaps)?;
    Ok((job, accumulations[0]))
}

fn run(
    arguments: &FoldArguments,
    job: Job,
    accumulation: Accumulation,
    lanes: &Lanes,
    scan: Option<ScanForm>,
    shape: Option<Vec<usize>>,
    check: impl FnOnce(&str, usize) -> Result<()>,
) -> Result<()> {
    let column = job.columns.columns[0].clone();
    let times = super::fold::times_of(arguments.op, &job.columns);
    let name = job.columns.name.clone();
    let numbers = job.columns.into_numbers("it")?;
    let values = read(numbers, accumulation.dtype)?;
    check(&name, values.len())?;
    let start = Start {
        device: &job.device,
        op: arguments.op,
        init: arguments.init.as_deref(),
        accumulation,
        elements: column.dtype,
        name,
    };
    let results = lanes.fold(start, values, scan)?;
    let column = Column {
        dtype: accumulation.dtype,
        ..column
    };
    let written = Results::new(job.output, job.output_format, &[column], None, shape)?;
    let mut written = written.times(times);
    written.write(vec![results])?;
    written.finish()
}

/// All numbers, in a type.
pub(super) fn read(numbers: Numbers, dtype: DType) -> Result<Values> {
    let name = numbers.name.clone();
    let (mut all, mut pieces) = (Values::of(dtype), numbers.pieces(dtype));
    while let Some(piece) = pieces.next() {
        all.append(piece?);
        if pieces.absent.iter().any(|absent| !absent.is_empty()) {
            return Err(Failure::with_remedy(
                &name,
                "numbers are missing, so the others would lie in other places",
                "give --missing nan, or fill them in",
            ));
        }
    }
    Ok(all)
}

/// The whole numbers of a file beside the data.
fn read_whole_numbers(file: &Path, what: &str, data: Option<&Path>) -> Result<Vec<u64>> {
    let stdin = Path::new("-");
    if file == stdin && data.is_none_or(|data| data == stdin) {
        return Err(Failure::with_remedy(
            format_args!("--{what} -"),
            "the numbers come from the standard input, too",
            "give a file for one of them",
        ));
    }
    read_beside_data(file, what).map_err(|failure| failure.beside_data(&[]))
}

fn read_beside_data(file: &Path, what: &str) -> Result<Vec<u64>> {
    let options = InputArguments {
        flatten: true,
        ..InputArguments::default()
    };
    let numbers = Numbers::open(Some(file), &options)?;
    let (name, dtype) = (numbers.name.clone(), numbers.dtype);
    if dtype.is_float() {
        return Err(Failure::with_remedy(
            &name,
            format_args!("the {what} are {dtype}"),
            format_args!("give {what} that are whole numbers"),
        ));
    }
    let values = numbers.list(what, Values::integer)?;
    let of = |(number, value): (usize, i128)| {
        u64::try_from(value).map_err(|_| {
            let cause = format!("number {number}, from 0, is {value}: {what} are not negative");
            Failure::at(&name, cause)
        })
    };
    values.into_iter().enumerate().map(of).collect()
}

/// Writes each number as often as its count says.
pub(super) fn decode(arguments: &DecodeArguments) -> Result<()> {
    let counts = read_whole_numbers(&arguments.counts, "counts", arguments.files.file.as_deref())?;
    let job = Job::open(&arguments.files, None, Some(Gaps::Together), &[], Ok)?;
    job.output.refuse_inputs([Some(&*arguments.counts)])?;
    let column = job.columns.columns[0].clone();
    let (name, times) = (job.columns.name.clone(), job.columns.times.clone());
    let numbers = job.columns.into_numbers("decode")?;
    let values = read(numbers, column.dtype)?;
    if values.len() != counts.len() {
        return Err(Failure::with_remedy(
            &name,
            format_args!(
                "there are {} numbers and {} counts",
                values.len(),
                counts.len()
            ),
            "give a count for each number, as `warpfold unique --counts FILE` writes them",
        ));
    }
    let decoded = with_number!(column.dtype, T => {
        let bits = T::to_bits_of(values.into_vec::<T>());
        Values::from(T::of_bits(warpfold::decode::<<T as Sortable>::Bits, u64>(&bits, &counts)?))
    });
    let results = Results::new(job.output, job.output_format, &[column], None, None)?;
    let mut results = results.times(times);
    results.write(vec![decoded])?;
    results.finish()
}
