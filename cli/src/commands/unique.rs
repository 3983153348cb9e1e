//! `warpfold unique`.

use super::Job;
use super::distinct::Distinct;
use crate::args::{OutputFormat, UniqueArguments};
use crate::failure::{Failure, Result};
use crate::number::{DType, Number, with_number};
use crate::output::{Output, Writer};
use crate::pieces::Places;
use crate::text::Gaps;
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
    let counted = arguments.count || counts.is_some() || starts.is_some();
    let mut writer = Writer::new(job.output, format, dtype, None).times(numbers.times.clone());
    if arguments.count {
        writer = writer.counted();
    }
    with_number!(dtype, T => if arguments.sort {
        let Distinct { items, counts: lengths, firsts } = Distinct::<T>::of(device, numbers)?;
        match arguments.count {
            true => writer.write_counted(&lengths, &items)?,
            false => writer.write(&items)?,
        }
        for (writer, numbers) in [(&mut counts, &lengths), (&mut starts, &firsts)] {
            if let Some(writer) = writer {
                writer.write(numbers)?;
            }
        }
    } else {
        let (mut open, mut places) = (None, 0);
        let mut pieces = numbers.pieces::<T>();
        loop {
            let piece = pieces.next().transpose()?;
            let ended = piece.is_none();
            let runs = match piece {
                Some(piece) => {
                    let count = piece.len() + pieces.absent[0].len();
                    let start = places;
                    places += count as u64;
                    Runs::of(device, piece, &mut open, start, &pieces.absent[0], counted)?
                }
                None => Runs::last(open.take()),
            };
            if arguments.count {
                writer.write_counted(&runs.lengths, &runs.items)?;
            } else {
                writer.write(&runs.items)?;
            }
            for (writer, numbers) in [(&mut counts, &runs.lengths), (&mut starts, &runs.starts)] {
                if let Some(writer) = writer {
                    writer.write(numbers)?;
                }
            }
            if ended {
                break;
            }
        }
    });
    let writers = [Some(writer), counts, starts].into_iter().flatten();
    let ended: Vec<Output> = writers.map(Writer::end).collect::<Result<_>>()?;
    Output::finish_all(ended)
}

/// A run of equal numbers that may go on in the next piece.
#[derive(Clone, Copy)]
struct Run<T> {
    item: T,
    start: u64,
    length: u64,
}

/// Runs that are complete.
struct Runs<T> {
    items: Vec<T>,
    starts: Vec<u64>,
    lengths: Vec<u64>,
}

impl<T: Number> Runs<T> {
    fn last(run: Option<Run<T>>) -> Runs<T> {
        let run = run.iter();
        Runs {
            items: run.clone().map(|run| run.item).collect(),
            starts: run.clone().map(|run| run.start).collect(),
            lengths: run.map(|run| run.length).collect(),
        }
    }

    /// The runs of a piece, but for the last, after the open one of the piece before. The first of
    /// the piece may go on with that. The piece starts at a place, and some of its places have no
    /// number. Without `counted`, starts and lengths are left out.
    fn of(
        device: &Device,
        mut piece: Vec<T>,
        open: &mut Option<Run<T>>,
        start: u64,
        absent: &[usize],
        counted: bool,
    ) -> Result<Runs<T>> {
        if piece.is_empty() {
            return Ok(Self::last(None));
        }
        // The open run comes again, as one number.
        let before = *open;
        if let Some(run) = before {
            piece.insert(0, run.item);
        }
        let values = device.upload_vec(piece)?;
        let mut runs = if counted {
            let runs = device.runs::<T>(&values)?;
            Runs {
                items: runs.items.into_vec()?,
                starts: runs.starts.into_vec()?,
                lengths: runs.lengths.into_vec()?,
            }
        } else {
            Runs {
                items: device.unique::<T>(&values)?.into_vec()?,
                starts: Vec::new(),
                lengths: Vec::new(),
            }
        };
        let mut places = Places::of(absent);
        for first in &mut runs.starts {
            let number = (*first as usize).saturating_sub(usize::from(before.is_some()));
            *first = start + places.place(number) as u64;
        }
        if let Some(run) = before
            && let (Some(start), Some(length)) = (runs.starts.first_mut(), runs.lengths.first_mut())
        {
            *start = run.start;
            *length += run.length - 1;
        }
        *open = runs.items.pop().map(|item| Run {
            item,
            start: runs.starts.pop().unwrap_or(0),
            length: runs.lengths.pop().unwrap_or(1),
        });
        Ok(runs)
    }
}
