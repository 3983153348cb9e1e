//! `warpfold reduce` and `warpfold scan`.

use super::Job;
use crate::accumulate::Accumulation;
use crate::args::{FoldArguments, Format};
use crate::carry::{self, Carry};
use crate::exact;
use crate::failure::{Failure, Result};
use crate::number::{DType, Number, Operator, Work, with_folded, with_number};
use crate::numbers::Pieces;
use crate::output::Writer;
use warpfold::{Device, Monoid};

/// Folds all numbers into one.
pub(super) fn reduce(arguments: &FoldArguments) -> Result<()> {
    let (job, accumulation) = open(arguments, Some(Format::Text))?;
    let dtype = accumulation.dtype;
    let mut writer = Writer::new(job.output, job.output_format, dtype, Some(Vec::new()));
    let name = job.numbers.name.clone();
    with_folded!(dtype, C => {
        let init = parse_init::<C>(arguments, dtype)?;
        let pieces = job.numbers.pieces::<C>();
        let result: C = if accumulation.checked {
            checked(&job.device, arguments.op, pieces, init, accumulation, &name)?
        } else {
            let (device, pieces) = (&job.device, pieces);
            C::with_operator(arguments.op, Reduction { device, pieces, init })?
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
    pieces: Pieces<C>,
    init: Option<C>,
}

impl<C: Number<Bound = C>> Work<C> for Reduction<'_, C> {
    type Output = C;

    fn run<Op: Monoid<C>>(self) -> Result<C> {
        carry::reduce::<C, Op>(self.device, self.pieces, self.init)
    }
}

/// A sum or product of integers, or a failure if it is out of range.
fn checked<C: Number>(
    device: &Device,
    op: Operator,
    pieces: Pieces<C>,
    init: Option<C>,
    accumulation: Accumulation,
    name: &str,
) -> Result<C> {
    let mut result = match (op, init) {
        (_, Some(init)) => init.to_integer(),
        (Operator::Mul, None) => 1,
        _ => 0_i128,
    };
    for piece in pieces {
        result = match op {
            Operator::Mul => result.saturating_mul(exact::product(&piece?)),
            _ => result.saturating_add(exact::sum(device, piece?)?),
        };
    }
    if accumulation.fits(result) {
        return Ok(C::from_integer(result));
    }
    Err(match op {
        Operator::Mul => accumulation.overflow(name, "the product"),
        _ => accumulation.overflow(name, format_args!("the sum, {result},")),
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
        let mut carry = Carry::<C, Op>::new(self.init);
        let mut start = 0;
        while let Some(piece) = self.pieces.next().transpose()? {
            let items = if self.accumulation.checked {
                piece.clone()
            } else {
                Vec::new()
            };
            let before = carry.prefix().unwrap_or_else(Op::identity);
            let prefixes = carry::scan(self.device, &mut carry, piece, self.inclusive)?;
            let overflow = self.overflow(before, &items, &prefixes);
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

impl<C: Number> Scan<'_, C> {
    /// The first prefix of a piece that is out of range. The step to it overflowed, and none
    /// before.
    fn overflow(&self, before: C, items: &[C], prefixes: &[C]) -> Option<usize> {
        let overflowed = |(before, item): (&C, &C)| C::overflowed(self.op, *before, *item);
        if self.inclusive {
            let befores = std::iter::once(&before).chain(prefixes);
            return befores.zip(items).position(overflowed);
        }
        // The step from the last one leads to the next piece.
        let step = prefixes.iter().zip(items).position(overflowed);
        step.map(|step| step + 1)
    }
}
