//! `warpfold reduce` and `warpfold scan`.

use super::Job;
use crate::accumulate::Accumulation;
use crate::args::{FoldArguments, Format};
use crate::exact;
use crate::failure::{Failure, Result};
use crate::input::SharedFile;
use crate::number::{DType, Number, Operator, Work, with_folded, with_number};
use crate::numbers::{Numbers, Pieces};
use crate::output::Writer;
use warpfold::{Device, Monoid, Prefixes};

/// Folds all numbers into one.
pub(super) fn reduce(arguments: &FoldArguments) -> Result<()> {
    let (job, accumulation) = open(arguments, Some(Format::Text))?;
    let dtype = accumulation.dtype;
    let mut writer = Writer::new(job.output, job.output_format, dtype, Some(Vec::new()));
    with_folded!(dtype, C => {
        let init = parse_init::<C>(arguments, dtype)?;
        let (device, numbers) = (&job.device, job.numbers);
        let result: C = if accumulation.checked {
            checked(device, arguments.op, numbers, init, accumulation)?
        } else {
            C::with_operator(arguments.op, Reduction { device, numbers, init })?
        };
        writer.write(&[result])?;
    });
    writer.finish()
}

/// Replaces each number by a fold.
pub(super) fn scan(arguments: &FoldArguments, inclusive: bool) -> Result<()> {
    let (job, accumulation) = open(arguments, None)?;
    let dtype = accumulation.dtype;
    let shape = job.numbers.shape.clone();
    let writer = Writer::new(job.output, job.output_format, dtype, shape);
    let name = job.numbers.name.clone();
    let writer = with_folded!(dtype, C => {
        let work = Scan {
            device: &job.device,
            init: parse_init::<C>(arguments, dtype)?,
            pieces: job.numbers.pieces::<C>(),
            inclusive,
            op: arguments.op,
            accumulation,
            name: &name,
            writer,
        };
        C::with_operator(arguments.op, work)?
    });
    writer.finish()
}

fn open(arguments: &FoldArguments, format: Option<Format>) -> Result<(Job, Accumulation)> {
    let mut accumulation = None;
    let job = Job::open(&arguments.files, format, |dtype| {
        let (wanted, wrapping) = (arguments.accumulate, arguments.wrapping);
        let chosen = Accumulation::choose(arguments.op, dtype, wanted, wrapping)?;
        accumulation = Some(chosen);
        Ok(chosen.dtype)
    })?;
    Ok((job, accumulation.expect("the type was looked at")))
}

/// What a fold starts from: a number of the type of the result.
fn parse_init<C: Number>(arguments: &FoldArguments, dtype: DType) -> Result<Option<C>> {
    let Some(init) = &arguments.init else {
        // The least number of 64 bits is none of 8.
        let of_integer = |extreme: C| (!dtype.is_float()).then_some(extreme);
        return with_number!(dtype, T => {
            Ok(T::extreme(arguments.op).map(T::cast).and_then(of_integer))
        });
    };
    with_number!(dtype, T => match T::parse(init.as_bytes()) {
        Ok(value) => Ok(Some(value.cast())),
        Err(bad) => {
            let cause = bad.describe(init, dtype);
            Err(match bad.remedy(dtype) {
                None => Failure::at("--init", cause),
                Some(_) => Failure::with_remedy(
                    "--init",
                    cause,
                    "a fold starts from a number of its own type: choose that with --accumulate",
                ),
            })
        }
    })
}

/// A reduction, except its operator.
struct Reduction<'a, C> {
    device: &'a Device,
    numbers: Numbers,
    init: Option<C>,
}

impl<C: Number<Bound = C>> Work<C> for Reduction<'_, C> {
    type Output = C;

    fn run<Op: Monoid<C>>(self) -> Result<C> {
        let mut reducer = self.device.reducer::<C, Op>();
        match self.numbers.shared_or_pieces() {
            Ok(file) => reducer.push_read(file.count, |start, to| file.read(start, to))?,
            Err(pieces) => {
                for piece in pieces {
                    reducer.push_slice(&piece?)?;
                }
            }
        }
        Ok(match self.init {
            Some(init) => reducer.value_from(init),
            None => reducer.value(),
        })
    }
}

/// A file for the CPU's threads, or else pieces for the device.
fn numbers_on<C: Number>(device: &Device, numbers: Numbers) -> Result<SharedFile, Pieces<C>> {
    match device.is_cpu() {
        true => numbers.shared_or_pieces(),
        false => Err(numbers.pieces()),
    }
}

/// A sum or product of integers, or a failure if it is out of range.
fn checked<C: Number>(
    device: &Device,
    op: Operator,
    numbers: Numbers,
    init: Option<C>,
    accumulation: Accumulation,
) -> Result<C> {
    let name = numbers.name.clone();
    let mut result = match (op, init) {
        (_, Some(init)) => init.to_integer(),
        (Operator::Mul, None) => 1,
        _ => 0_i128,
    };
    if op == Operator::Mul {
        for piece in numbers.pieces::<C>() {
            result = result.saturating_mul(exact::product(&piece?));
        }
    } else {
        match numbers_on::<C>(device, numbers) {
            Ok(file) => result = result.saturating_add(exact::sum_of_file(&file)?),
            Err(pieces) => {
                for piece in pieces {
                    result = result.saturating_add(exact::sum(device, piece?)?);
                }
            }
        }
    }
    if accumulation.fits(result) {
        return Ok(C::from_integer(result));
    }
    Err(match op {
        Operator::Mul => accumulation.overflow(&name, "the product"),
        _ => accumulation.overflow(&name, format_args!("the sum, {result},")),
    })
}

/// A scan, except its operator. It writes each piece.
struct Scan<'a, C> {
    device: &'a Device,
    pieces: Pieces<C>,
    init: Option<C>,
    inclusive: bool,
    op: Operator,
    accumulation: Accumulation,
    name: &'a str,
    writer: Writer,
}

impl<C: Number<Bound = C>> Work<C> for Scan<'_, C> {
    type Output = Writer;

    fn run<Op: Monoid<C>>(mut self) -> Result<Writer> {
        let mut prefixes = match self.inclusive {
            true => Prefixes::inclusive(),
            false => Prefixes::exclusive(),
        };
        if let Some(init) = self.init {
            prefixes = prefixes.from(init);
        }
        let mut scanner = self.device.scanner::<C, Op>(prefixes);
        let mut steps = Steps {
            op: self.op,
            before: (self.inclusive).then(|| self.init.unwrap_or_else(Op::identity)),
            left: None,
        };
        let mut start = 0;
        while let Some(piece) = self.pieces.next().transpose()? {
            let items = if self.accumulation.checked {
                piece.clone()
            } else {
                Vec::new()
            };
            let mut piece = self.device.upload_vec(piece)?;
            scanner.scan_in_place(&mut piece)?;
            let prefixes = piece.into_vec()?;
            let overflow = steps.overflow(&items, &prefixes, self.inclusive);
            let good = overflow.unwrap_or(prefixes.len());
            start += good;
            self.writer.write(&prefixes[..good])?;
            if overflow.is_some() {
                let what = format!("the result for the number at position {start}, from 0,");
                return Err(self.accumulation.overflow(self.name, what));
            }
        }
        Ok(self.writer)
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
