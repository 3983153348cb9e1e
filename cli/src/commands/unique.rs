//! `warpfold unique`.

use super::Job;
use super::distinct::Distinct;
use crate::args::{OutputFormat, UniqueArguments};
use crate::failure::{Failure, Result};
use crate::number::DType;
use crate::output::{Output, Writer};
use crate::pieces::Places;
use crate::text::{Gaps, Values};
use std::path::Path;
use warpfold::Device;

/// Keeps the first of equal neighbours, or of all equals, and counts them.
pub(super) fn run(arguments: &UniqueArguments) -> Result<()> {
    let has_others = arguments.counts.is_some() || arguments.starts.is_some();
    match write_all(arguments) {
        // A filter may end early, but files that were asked for may not lack without a word.
        Err(Failure::BrokenPipe) if has_others => Err(Failure::with_remedy(
            "standard output",
            "nobody reads it to its end, so the files of counts and starts were not written",
            "give -o FILE",
        )),
        result => result,
    }
}

fn write_all(arguments: &UniqueArguments) -> Result<()> {
    let mut job = Job::open(&arguments.files, None, Some(Gaps::Apart), &[], Ok)?;
    if arguments.files.input.dtype.is_none() {
        job.columns.refuse_codes();
    }
    let numbers = job.columns.into_numbers("unique")?;
    let (device, format, dtype) = (&job.device, job.output_format, numbers.dtype);
    if arguments.count && format.is_binary() {
        return Err(Failure::with_remedy(
            "--count",
            "binary output has no room for counts among its numbers",
            match job.output.promise.format {
                Some(_) => "give --counts FILE in place of --count, or a name that ends in .csv",
                None => "give --counts FILE in place of --count, or --output-format text",
            },
        ));
    }
    let beside = |path: &Path| -> Result<_> {
        let output = Output::open(Some(path))?;
        let format = output.promise.format_instead(format).unwrap_or(format);
        output.promise.check(&output.name, format)?;
        Ok((output, format))
    };
    let others: [Option<(Output, OutputFormat)>; 2] = [
        arguments.counts.as_deref().map(beside).transpose()?,
        arguments.starts.as_deref().map(beside).transpose()?,
    ];
    let outputs: Vec<_> = others.iter().flatten().map(|(output, _)| output).collect();
    for (number, output) in outputs.iter().enumerate() {
        output.refuse_others(outputs[..number].iter().copied().chain([&job.output]))?;
        output.refuse_inputs([arguments.files.file.as_deref()])?;
    }
    let [mut counts, mut starts] =
        others.map(|other| other.map(|(to, format)| Writer::new(to, format, DType::U64, None)));
    let mut writer = Writer::new(job.output, format, dtype, None).times(numbers.times.clone());
    if arguments.count {
        writer = writer.counted();
    }
    if arguments.sort {
        let Distinct {
            items,
            counts: lengths,
            firsts,
            ..
        } = Distinct::of(device, numbers)?;
        match arguments.count {
            true => writer.write_counted(&lengths, &items)?,
            false => writer.write(items)?,
        }
        for (writer, numbers) in [(&mut counts, lengths), (&mut starts, firsts)] {
            if let Some(writer) = writer {
                writer.write(numbers)?;
            }
        }
    } else {
        let (mut open, mut places) = (None, 0);
        let mut pieces = numbers.pieces(dtype);
        loop {
            let piece = pieces.next().transpose()?;
            let ended = piece.is_none();
            let runs = match piece {
                Some(piece) => {
                    let count = piece.len() + pieces.absent[0].len();
                    let start = places;
                    places += count as u64;
                    Runs::of(device, piece, &mut open, start, &pieces.absent[0])?
                }
                None => Runs::last(open.take(), dtype),
            };
            if arguments.count {
                writer.write_counted(&runs.lengths, &runs.items)?;
            } else {
                writer.write(runs.items)?;
            }
            for (writer, numbers) in [(&mut counts, runs.lengths), (&mut starts, runs.starts)] {
                if let Some(writer) = writer {
                    writer.write(numbers)?;
                }
            }
            if ended {
                break;
            }
        }
    }
    let writers = [Some(writer), counts, starts].into_iter().flatten();
    let ended: Vec<Output> = writers.map(Writer::end).collect::<Result<_>>()?;
    Output::finish_all(ended)
}

/// A run of equal numbers that may go on in the next piece.
struct Run {
    /// One number.
    item: Values,
    start: u64,
    length: u64,
}

/// Runs that are complete.
struct Runs {
    items: Values,
    starts: Vec<u64>,
    lengths: Vec<u64>,
}

impl Runs {
    fn last(run: Option<Run>, dtype: DType) -> Runs {
        match run {
            Some(run) => Runs {
                items: run.item,
                starts: vec![run.start],
                lengths: vec![run.length],
            },
            None => Runs {
                items: Values::of(dtype),
                starts: Vec::new(),
                lengths: Vec::new(),
            },
        }
    }

    /// The runs of a piece, but for the last, after the open one of the piece before. The first of
    /// the piece may go on with that. The piece starts at a place, and some of its places have no
    /// number.
    fn of(
        device: &Device,
        mut piece: Values,
        open: &mut Option<Run>,
        start: u64,
        absent: &[usize],
    ) -> Result<Runs> {
        if piece.len() == 0 {
            return Ok(Self::last(None, piece.dtype()));
        }
        // The open run comes again, as one number.
        let before = open.take();
        if let Some(run) = &before {
            let mut all = run.item.clone();
            all.append(piece);
            piece = all;
        }
        let (mut starts, mut lengths) = runs_of(device, piece.clone())?;
        let firsts: Vec<usize> = starts.iter().map(|&first| first as usize).collect();
        let (last, others) = firsts.split_last().expect("the piece has a run");
        let (items, item) = (piece.gather(others), piece.gather(&[*last]));
        let mut places = Places::of(absent);
        for first in &mut starts {
            let number = (*first as usize).saturating_sub(usize::from(before.is_some()));
            *first = start + places.place(number) as u64;
        }
        if let Some(run) = before {
            starts[0] = run.start;
            lengths[0] += run.length - 1;
        }
        *open = starts.pop().zip(lengths.pop()).map(|(start, length)| Run {
            item,
            start,
            length,
        });
        Ok(Runs {
            items,
            starts,
            lengths,
        })
    }
}

/// Where runs of equal numbers start, and how long they are. A number is equal to another one of
/// its type if it is in 64 bits: so this is compiled for two types.
fn runs_of(device: &Device, values: Values) -> Result<(Vec<u64>, Vec<u64>)> {
    let runs = match values.dtype().is_float() {
        true => {
            let values = device.upload_vec(values.into_vec::<f64>())?;
            let runs = device.runs::<f64>(&values)?;
            (runs.starts, runs.lengths)
        }
        false => {
            let values = device.upload_vec(values.into_vec::<u64>())?;
            let runs = device.runs::<u64>(&values)?;
            (runs.starts, runs.lengths)
        }
    };
    Ok((runs.0.into_vec()?, runs.1.into_vec()?))
}
