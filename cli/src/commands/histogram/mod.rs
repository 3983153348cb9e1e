//! `warpfold histogram`: how many numbers fall into each bin.

mod bins;
mod chart;

use super::Job;
use super::stats::{extreme_of, extreme_of_two};
use crate::args::{Format, HistogramArguments, InputArguments, OutputFormat};
use crate::bound::Bound;
use crate::columns::Columns;
use crate::failure::{Failure, Result};
use crate::input::{Input, ending_of};
use crate::number::{DType, End, Number, with_bound};
use crate::numbers::Numbers;
use crate::output::{Output, Writer, quoted};
use crate::pieces::Places;
use crate::text::Gaps;
use bins::{Plan, read_count, read_edges, read_range};
use chart::{Histogram, width_of_terminal};
use std::io::{Seek, Write};
use std::path::Path;
use tempfile::SpooledTempFile;
use warpfold::{Device, bytemuck};

/// The number of bins if the user does not say: NumPy's.
const BINS: usize = 10;

/// Numbers from a pipe that have to be read twice are kept in memory up to this size, and in a
/// temporary file beyond.
const KEPT_BYTES: usize = 64 << 20;

/// Counts. All that can fail early does so, before the long work.
pub(super) fn run(arguments: &HistogramArguments) -> Result<()> {
    let decimal = arguments.files.input.text.decimal;
    let edges = arguments
        .edges
        .as_deref()
        .map(|edges| read_edges(edges, decimal));
    let edges = edges.transpose()?;
    let (edges, edge_times) = edges.map_or((None, None), |(edges, times)| (Some(edges), times));
    let text = &arguments.files.input.text;
    let range = arguments.range.as_deref();
    let range = range.map(|range| read_range(range, text)).transpose()?;
    let bins = arguments.bins.as_deref().map(read_count).transpose()?;
    let svg = arguments.svg.as_deref().map(open_chart).transpose()?;
    let check = |dtype: DType| match arguments.bincount && dtype.is_float() {
        true => Err(Failure::with_remedy(
            "--bincount",
            format_args!("not defined on {dtype}"),
            "give --bins or --edges instead",
        )),
        false => Ok(DType::U64),
    };
    let job = Job::open(
        &arguments.files,
        Some(OutputFormat::Text),
        Some(Gaps::Apart),
        &[],
        check,
    )?;
    let edges_file = arguments
        .edges
        .as_deref()
        .map(|edges| Some(Path::new(edges)));
    if let Some(svg) = &svg {
        svg.refuse_others([&job.output])?;
        svg.refuse_inputs([arguments.files.file.as_deref()])?;
        svg.refuse_inputs(edges_file)?;
    }
    job.output.refuse_inputs(edges_file)?;
    if let Some(edges) = edge_times {
        let numbers = job.columns.times.as_ref();
        if numbers != Some(&edges) {
            let numbers = numbers.map_or("plain numbers".into(), ToString::to_string);
            return Err(Failure::with_remedy(
                "--edges",
                format_args!("the edges are {edges}, and the numbers {numbers}"),
                "save both in one unit: numpy.save(file, x.astype('M8[s]'))",
            ));
        }
    }
    let unit = job.columns.times.as_ref();
    let unit = unit.map_or(String::new(), |times| format!("\"unit\":\"{times}\","));
    let mut histograms = Vec::new();
    for (column, numbers) in job.columns.into_each("histogram")? {
        let dtype = column.dtype;
        let mut histogram = count(
            &job.device,
            numbers,
            arguments,
            edges.as_deref(),
            range,
            bins,
        )?;
        histogram.title = column.title();
        histograms.push((histogram, dtype));
    }
    let [(histogram, dtype)] = &histograms[..] else {
        if svg.is_some() || job.output_format.is_binary() {
            return Err(Failure::with_remedy(
                if svg.is_some() {
                    "--svg"
                } else {
                    &job.output.name
                },
                format_args!(
                    "there is room for one column, and there are {}",
                    histograms.len()
                ),
                "choose one with --column, or give --flatten",
            ));
        }
        return write_all(&histograms, job.output_format, job.output)?.finish();
    };
    let chart = svg
        .map(|mut output| -> Result<Output> {
            let chart = histogram.svg(&output.name)?;
            output.write(chart.as_bytes())?;
            Ok(output)
        })
        .transpose()?;
    let output = match job.output_format {
        OutputFormat::Text if job.output.is_terminal() => {
            write_text(&histogram.bars(width_of_terminal()), job.output)
        }
        OutputFormat::Text => {
            let separator = job.output.promise.separator.unwrap_or(b',');
            write_text(&histogram.lines(separator.into(), ""), job.output)
        }
        OutputFormat::Json => {
            let object = histogram.json();
            write_text(
                &format!("{{\"dtype\":\"{dtype}\",{unit}{object}}}\n"),
                job.output,
            )
        }
        format => {
            let shape = vec![histogram.counts.len()];
            let mut writer = Writer::new(job.output, format, DType::U64, Some(shape));
            writer.write(histogram.counts.clone())?;
            writer.end()
        }
    }?;
    Output::finish_all([output].into_iter().chain(chart))
}

/// Writes the histograms of several columns, each with its name.
fn write_all(
    histograms: &[(Histogram, DType)],
    format: OutputFormat,
    output: Output,
) -> Result<Output> {
    let separator: char = output.promise.separator.unwrap_or(b',').into();
    let text: Vec<String> = histograms
        .iter()
        .map(|(histogram, dtype)| match format {
            OutputFormat::Json => {
                let name = serde_json::to_string(&histogram.title).expect("names have a text");
                format!(
                    "{{\"name\":{name},\"dtype\":\"{dtype}\",{}}}",
                    histogram.json()
                )
            }
            _ if output.is_terminal() => {
                format!(
                    "{}\n{}",
                    histogram.title,
                    histogram.bars(width_of_terminal())
                )
            }
            _ => {
                let title = quoted(&histogram.title, separator as u8);
                histogram.lines(separator, &format!("{title}{separator}"))
            }
        })
        .collect();
    match format {
        OutputFormat::Json => {
            write_text(&format!("{{\"columns\":[{}]}}\n", text.join(",")), output)
        }
        _ => write_text(&text.concat(), output),
    }
}

/// Counts the numbers of one column.
fn count(
    device: &Device,
    mut numbers: Numbers,
    arguments: &HistogramArguments,
    edges: Option<&[Bound]>,
    range: Option<(Bound, Bound)>,
    bins: Option<usize>,
) -> Result<Histogram> {
    with_bound!(numbers.dtype, B => {
        let plan: Plan<B> = match (edges, range, bins) {
            (Some(edges), _, _) => Plan::with_edges(edges.to_vec())?,
            (None, Some((lo, hi)), bins) => Plan::even(lo, hi, bins.unwrap_or(BINS))?,
            // No value is beyond them.
            (None, None, Some(bins)) if arguments.bincount && Plan::<B>::holds_all(bins) => {
                Plan::values(bins)?
            }
            (None, None, bins) => {
                let (range, again) = least_and_greatest::<B>(device, numbers, arguments)?;
                numbers = again;
                if arguments.bincount {
                    let most = range.map_or(-1, |(_, greatest)| greatest.to_integer());
                    let values = usize::try_from(most + 1).unwrap_or(usize::MAX);
                    Plan::values(values.max(bins.unwrap_or(0)))?
                } else {
                    Plan::of_range(range, bins.unwrap_or(BINS))?
                }
            }
        };
        let mut counts = vec![0; plan.edges.len() - 1];
        let mut start = 0;
        let mut pieces = numbers.pieces(B::DTYPE);
        while let Some(piece) = pieces.next() {
            let piece = piece?.into_vec::<B>();
            if arguments.bincount {
                refuse_negative(&piece, start, &pieces.absent[0])?;
            }
            start += piece.len() + pieces.absent[0].len();
            let Some(bins) = &plan.bins else { continue };
            let piece = device.upload_vec(piece)?;
            let of_piece = device.histogram::<u64, _>(&piece, bins)?.into_vec()?;
            counts.iter_mut().zip(of_piece).for_each(|(all, more)| *all += more);
        }
        Ok(Histogram {
            title: String::new(),
            edges: plan.edges,
            counts,
            of_values: arguments.bincount,
        })
    })
}

/// Opens the file of a chart, which is one of SVG.
fn open_chart(path: &Path) -> Result<Output> {
    if ending_of(path).is_none_or(|ending| ending == "svg") {
        return Output::open_as_is(path);
    }
    Err(Failure::with_remedy(
        "--svg",
        format_args!("{} is no name of an SVG file", path.display()),
        "give a name that ends in .svg",
    ))
}

/// What a bin for each value from 0 on cannot count.
fn refuse_negative<B: Number>(piece: &[B], start: usize, absent: &[usize]) -> Result<()> {
    if !B::DTYPE.is_signed() {
        return Ok(());
    }
    let Some(place) = piece.iter().position(|value| value.to_integer() < 0) else {
        return Ok(());
    };
    Err(Failure::with_remedy(
        "--bincount",
        format_args!(
            "{}, the number at position {}, from 0, is negative, and bins begin at 0",
            piece[place].to_integer(),
            start + Places::of(absent).place(place)
        ),
        "give --range or --edges in place of --bincount: they leave out what lies outside; so does \
         `warpfold select --ge 0` of one column, and of a table it leaves out whole rows",
    ))
}

/// Looks for the least number and the greatest. The numbers come back, to be read again.
fn least_and_greatest<B: Number<Bound = B>>(
    device: &Device,
    numbers: Numbers,
    arguments: &HistogramArguments,
) -> Result<(Option<(B, B)>, Numbers)> {
    let (name, lasting) = (numbers.name.clone(), numbers.lasting);
    let mut kept = SpooledTempFile::new(KEPT_BYTES);
    let mut range = None;
    let mut start = 0;
    let mut pieces = numbers.pieces(B::DTYPE);
    while let Some(piece) = pieces.next() {
        let piece = piece?.into_vec::<B>();
        if piece.is_empty() {
            start += pieces.absent[0].len();
            continue;
        }
        if arguments.bincount {
            refuse_negative(&piece, start, &pieces.absent[0])?;
        }
        start += piece.len() + pieces.absent[0].len();
        if !lasting {
            let written = kept.write_all(bytemuck::cast_slice(&piece));
            written.map_err(|error| Failure::at("a temporary file", error))?;
        }
        let piece = device.upload_vec(piece)?;
        let least = extreme_of(End::Least, device, &piece)?;
        let greatest = extreme_of(End::Greatest, device, &piece)?;
        let (old_least, old_greatest) = range.unwrap_or((least, greatest));
        range = Some((
            extreme_of_two(End::Least, old_least, least),
            extreme_of_two(End::Greatest, old_greatest, greatest),
        ));
    }
    let numbers = if lasting {
        let files = &arguments.files;
        Columns::open(files.file.as_deref(), &files.input, Some(Gaps::Apart), &[])?
            .into_numbers("histogram")?
    } else {
        kept.rewind()
            .map_err(|error| Failure::at("a temporary file", error))?;
        let options = InputArguments {
            dtype: Some(B::DTYPE),
            ..InputArguments::default()
        };
        Numbers::of(Input::reading(&name, kept), Format::Raw, &options)?
    };
    Ok((range, numbers))
}

fn write_text(text: &str, mut output: Output) -> Result<Output> {
    output.write(text.as_bytes())?;
    Ok(output)
}
