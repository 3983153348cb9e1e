//! `warpfold histogram`: bins, counts, and how they are shown.

use super::Job;
use super::stats::{Combination, Reduction};
use crate::args::{Format, HistogramArguments, InputArguments};
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::{BadNumber, DType, End, Number, with_bound};
use crate::numbers::Numbers;
use crate::output::{Output, Writer};
use plotters::prelude::*;
use std::io::{Seek, Write};
use std::path::Path;
use tempfile::SpooledTempFile;
use warpfold::{Bins, Device, bytemuck};

/// The number of bins if the user does not say: NumPy's.
const BINS: usize = 10;

/// The width of a chart where the terminal does not tell its own.
const WIDTH: usize = 80;

/// Numbers from a pipe that have to be read twice are kept in memory up to this size, and in a
/// temporary file beyond.
const KEPT_BYTES: usize = 64 << 20;

/// Counts. All that can fail early does so, before the long work.
pub(super) fn run(arguments: &HistogramArguments) -> Result<()> {
    let edges = arguments.edges.as_deref().map(read_edges).transpose()?;
    let svg = arguments.svg.as_deref();
    let svg = svg.map(|path| Output::open(Some(path))).transpose()?;
    let check = |dtype: DType| match arguments.bincount && dtype.is_float() {
        true => Err(Failure::with_remedy(
            "--bincount",
            format_args!("not defined on {dtype}"),
            "give --bins or --edges instead",
        )),
        false => Ok(DType::U64),
    };
    let job = Job::open(&arguments.files, Some(Format::Text), check)?;
    let (device, mut numbers) = (job.device, job.numbers);
    let histogram = with_bound!(numbers.dtype, B => {
        let bins: Bins<B> = match (&edges, arguments.range.as_deref(), arguments.bins) {
            (Some(edges), _, _) => Bins::with_edges(edges)?,
            (None, Some(&[lo, hi]), bins) => Bins::even(lo, hi, bins.unwrap_or(BINS))?,
            (None, _, Some(bins)) if arguments.bincount => value_bins(bins)?,
            (None, _, bins) => {
                let (range, again) = range::<B>(&device, numbers, arguments)?;
                numbers = again;
                if arguments.bincount {
                    let most = range.map_or(0, |(_, greatest)| greatest.to_integer().max(0));
                    value_bins(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1))?
                } else {
                    even_bins(range, bins.unwrap_or(BINS))?
                }
            }
        };
        let mut counts = vec![0; bins.edges().len() - 1];
        for piece in numbers.pieces::<B>() {
            let piece = device.upload_vec(piece?)?;
            let of_piece = device.histogram::<u64, _>(&piece, &bins)?.into_vec()?;
            counts.iter_mut().zip(of_piece).for_each(|(all, more)| *all += more);
        }
        Histogram {
            edges: bins.edges().to_vec(),
            counts,
            of_values: arguments.bincount,
        }
    });
    if let Some(output) = svg {
        write_text(&histogram.svg(&output.name)?, output)?;
    }
    match job.output_format {
        Format::Text if job.output.is_terminal() => {
            let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into());
            write_text(&histogram.bars(width), job.output)
        }
        Format::Text => write_text(&histogram.lines(), job.output),
        format => {
            let shape = vec![histogram.counts.len()];
            let mut writer = Writer::new(job.output, format, DType::U64, Some(shape));
            writer.write(&histogram.counts)?;
            writer.finish()
        }
    }
}

/// A list of edges, or those in a file.
fn read_edges(given: &str) -> Result<Vec<f64>> {
    let path = Path::new(given);
    if path.is_file() {
        let numbers = Numbers::open(Some(path), &InputArguments::default())?;
        let pieces: Vec<_> = numbers.pieces().collect::<Result<_>>()?;
        return Ok(pieces.concat());
    }
    let edges = given.split(',').map(str::trim);
    let parse = |edge: &str| {
        let bad = |bad: BadNumber| Failure::at("--edges", bad.describe(edge, DType::F64));
        f64::parse(edge.as_bytes()).map_err(bad)
    };
    edges.map(parse).collect()
}

/// Looks for the least number and the greatest. The numbers come back, to be read again.
fn range<B: Number<Bound = B>>(
    device: &Device,
    numbers: Numbers,
    arguments: &HistogramArguments,
) -> Result<(Option<(B, B)>, Numbers)> {
    let (name, lasting) = (numbers.name.clone(), numbers.lasting);
    let mut kept = SpooledTempFile::new(KEPT_BYTES);
    let mut range = None;
    for piece in numbers.pieces::<B>() {
        let piece = piece?;
        if piece.is_empty() {
            break;
        }
        if !lasting {
            let written = kept.write_all(bytemuck::cast_slice(&piece));
            written.map_err(|error| Failure::at("a temporary file", error))?;
        }
        let piece = device.upload_vec(piece)?;
        let least = B::with_extreme(End::Least, Reduction(device, &piece))?;
        let greatest = B::with_extreme(End::Greatest, Reduction(device, &piece))?;
        let (old_least, old_greatest) = range.unwrap_or((least, greatest));
        range = Some((
            B::with_extreme(End::Least, Combination(old_least, least))?,
            B::with_extreme(End::Greatest, Combination(old_greatest, greatest))?,
        ));
    }
    let numbers = if lasting {
        let files = &arguments.files;
        Numbers::open(files.file.as_deref(), &files.input)?
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

/// Bins of one width over the range of the numbers.
fn even_bins<B: Number + warpfold::Binned>(range: Option<(B, B)>, count: usize) -> Result<Bins<B>> {
    let Some((least, greatest)) = range else {
        return Ok(Bins::even(0.0, 1.0, count)?);
    };
    for end in [least, greatest] {
        let mut shown = Vec::new();
        end.append_to(&mut shown);
        if matches!(&shown[..], b"NaN" | b"inf" | b"-inf") {
            return Err(Failure::with_remedy(
                "the range of the numbers",
                format_args!("one of them is {}", String::from_utf8_lossy(&shown)),
                "give --range LO HI; what lies outside is not counted",
            ));
        }
    }
    Ok(Bins::of_range(least, greatest, count)?)
}

/// A bin for each of so many values.
fn value_bins<B: Number<Bound = B> + warpfold::Binned>(count: usize) -> Result<Bins<B>> {
    let bins = B::values(count).expect("the type was checked");
    Ok(bins?)
}

fn write_text(text: &str, mut output: Output) -> Result<()> {
    output.write(text.as_bytes())?;
    output.finish()
}

/// What is shown.
struct Histogram {
    edges: Vec<f64>,
    counts: Vec<u64>,
    /// Whether each bin is a value.
    of_values: bool,
}

impl Histogram {
    /// A line for each bin, for programs.
    fn lines(&self) -> String {
        let mut text = String::new();
        for (edges, count) in self.edges.windows(2).zip(&self.counts) {
            text += &match self.of_values {
                true => format!("{},{count}\n", edges[0]),
                false => format!("{},{},{count}\n", edges[0], edges[1]),
            };
        }
        text
    }

    /// A line for each bin, with a bar. The longest is as wide as there is room.
    fn bars(&self, width: usize) -> String {
        let edges = self.labels();
        let labels: Vec<_> = (0..self.counts.len())
            .map(|bin| match self.of_values {
                true => edges[bin].clone(),
                false => format!("{} to {}", edges[bin], edges[bin + 1]),
            })
            .collect();
        let counts: Vec<_> = self.counts.iter().map(u64::to_string).collect();
        let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
        let (of_labels, of_counts) = (widest(&labels), widest(&counts));
        let room = width.saturating_sub(of_labels + of_counts + 4).max(8);
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let mut text = String::new();
        for ((label, count), &number) in labels.iter().zip(&counts).zip(&self.counts) {
            let bar = bar(number as f64 / most as f64, room);
            let line = format!("{label:>of_labels$}  {count:>of_counts$}  {bar}");
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// The edges, with as few decimals as tell each from its neighbours.
    fn labels(&self) -> Vec<String> {
        let widths = self.edges.windows(2).map(|pair| pair[1] - pair[0]);
        let least = widths.fold(f64::INFINITY, f64::min);
        let sizes = self.edges.iter().map(|edge| edge.abs());
        let largest = sizes.fold(0.0, f64::max);
        let with = |decimals: usize| {
            self.edges
                .iter()
                .map(move |edge| format!("{edge:.decimals$}"))
        };
        let tells = |decimals: &usize| {
            with(*decimals).zip(&self.edges).all(|(text, edge)| {
                let shown: f64 = text.parse().unwrap_or(f64::NAN);
                (shown - edge).abs() <= least / 1000.0
            })
        };
        let decimals = (0..9).find(tells);
        match decimals.filter(|_| (1e-6..1e15).contains(&largest)) {
            Some(decimals) => with(decimals).collect(),
            None => self.edges.iter().map(f64::to_string).collect(),
        }
    }

    /// A chart for reports.
    fn svg(&self, name: &str) -> Result<String> {
        let (low, high) = (self.edges[0], self.edges[self.edges.len() - 1]);
        if !(high - low).is_finite() {
            let remedy = "give finite edges";
            return Err(Failure::with_remedy(
                name,
                "an infinite bin cannot be drawn",
                remedy,
            ));
        }
        let mut svg = String::new();
        self.draw(&mut svg)
            .map_err(|error| Failure::at(name, error))?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let colour = RGBColor(60, 110, 170);
        // Of values, each bar stands on its number.
        let shift = if self.of_values { 0.5 } else { 0.0 };
        let (low, high) = (
            self.edges[0] - shift,
            self.edges[self.edges.len() - 1] - shift,
        );
        let top = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64 * 1.05;
        let area = SVGBackend::with_string(svg, (900, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(80)
            .build_cartesian_2d(low..high, 0.0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .y_label_formatter(&|count| format!("{count:.0}"))
            .x_desc("value")
            .y_desc("count")
            .draw()?;
        let bars = self
            .edges
            .windows(2)
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0);
        chart.draw_series(bars.map(|(edges, &count)| {
            let corners = [(edges[0] - shift, 0.0), (edges[1] - shift, count as f64)];
            Rectangle::new(corners, colour.filled())
        }))?;
        area.present()?;
        Ok(())
    }
}

/// A bar of a length from 0 to 1, in `room` columns, to an eighth of one. What is not nothing
/// shows.
fn bar(length: f64, room: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let mut eighths = (length * room as f64 * 8.0).round() as usize;
    if length > 0.0 {
        eighths = eighths.max(1);
    }
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(edges: &[f64], counts: &[u64]) -> Histogram {
        Histogram {
            edges: edges.to_vec(),
            counts: counts.to_vec(),
            of_values: false,
        }
    }

    #[test]
    fn bars_fill_the_width() {
        let text = histogram(&[0.0, 0.1, 0.2, 0.30000000000000004], &[16, 8, 1]).bars(30);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "0.0 to 0.1  16  ██████████████",
                "0.1 to 0.2   8  ███████",
                "0.2 to 0.3   1  ▉"
            ]
        );
        assert_eq!(lines[0].chars().count(), 30);
    }

    #[test]
    fn what_is_not_nothing_shows() {
        let text = histogram(&[0.0, 1.0, 2.0], &[1_000_000, 1]).bars(40);
        assert!(text.ends_with("▏\n"), "{text}");
        let text = histogram(&[0.0, 1.0, 2.0], &[0, 0]).bars(40);
        assert_eq!(text, "0 to 1  0\n1 to 2  0\n");
    }

    #[test]
    fn labels_of_any_size_tell_edges_apart() {
        let labels = |edges: &[f64]| histogram(edges, &vec![0; edges.len() - 1]).labels();
        assert_eq!(
            labels(&[0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]),
            ["0.0000", "0.3333", "0.6667", "1.0000"]
        );
        assert_eq!(
            labels(&[1e20, 2e20]),
            ["100000000000000000000", "200000000000000000000"]
        );
        assert_eq!(
            labels(&[f64::NEG_INFINITY, 0.0, f64::INFINITY]),
            ["-inf", "0", "inf"]
        );
    }
}
