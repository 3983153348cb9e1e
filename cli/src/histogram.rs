//! `warpfold histogram`: bins, counts, and how they are shown.

use crate::args::{Format, HistogramArguments};
use crate::commands::{Job, read_elements, write_elements};
use crate::failure::{Failure, Result};
use crate::number::{DType, Number, Operator, Work, with_number};
use crate::output::Destination;
use crate::progress::spin;
use crate::text;
use plotters::prelude::*;
use std::path::Path;
use warpfold::{Bins, Buffer, Device, Monoid, bytemuck};

/// The number of bins if the user does not say: NumPy's.
const BINS: usize = 10;

/// The width of a chart where the terminal does not tell its own.
const WIDTH: usize = 80;

/// Counts. All that can fail early does so, before the long work.
pub(crate) fn run(arguments: &HistogramArguments) -> Result<()> {
    let edges = arguments.edges.as_deref().map(read_edges).transpose()?;
    let svg = arguments
        .svg
        .as_deref()
        .map(|path| Destination::look_at(Some(path)));
    let svg = svg.transpose()?;
    let check = |dtype: DType| match arguments.bincount && dtype.is_float() {
        true => Err(Failure::with_remedy(
            "--bincount",
            format_args!("not defined on {dtype}"),
            "give --bins or --edges instead",
        )),
        false => Ok(DType::U64),
    };
    let job = Job::new(&arguments.files, Some(Format::Text), check)?;
    let histogram = with_number!(job.dtype, T => {
        let values = as_bounds::<T>(read_elements::<T>(job.source)?.0);
        let bytes = size_of_val(values.as_slice()) as u64;
        spin("computing", bytes, || {
            let values = job.device.upload_vec(values)?;
            let bins = match &edges {
                Some(edges) => Bins::with_edges(edges)?,
                None if arguments.bincount => value_bins::<T>(&job.device, &values, arguments)?,
                None => even_bins(&job.device, &values, arguments)?,
            };
            let counts = job.device.histogram::<u64, _>(&values, &bins)?.into_vec()?;
            Ok::<_, Failure>(Histogram {
                edges: bins.edges().to_vec(),
                counts,
                of_values: arguments.bincount,
            })
        })?
    });
    if let Some(destination) = svg {
        write_text(&histogram.svg(&destination.name)?, destination)?;
    }
    match job.output_format {
        Format::Text if job.destination.is_terminal() => {
            let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into());
            write_text(&histogram.bars(width), job.destination)
        }
        Format::Text => write_text(&histogram.lines(), job.destination),
        format => {
            let shape = [histogram.counts.len()];
            write_elements(&histogram.counts, &shape, format, job.destination)
        }
    }
}

/// A list of edges, or the text of a file.
fn read_edges(given: &str) -> Result<Vec<f64>> {
    if Path::new(given).is_file() {
        let bytes = std::fs::read(given).map_err(|error| Failure::at(given, error))?;
        return text::parse(&bytes, given);
    }
    text::parse(given.as_bytes(), "--edges")
}

/// What is counted: the numbers themselves, or the `f32`s that halves are.
fn as_bounds<T: Number>(values: Vec<T>) -> Vec<T::Bound> {
    bytemuck::allocation::try_cast_vec::<T, T::Bound>(values)
        .unwrap_or_else(|(_, values)| values.into_iter().map(T::widen).collect())
}

/// The least number or the greatest.
struct End<'a, T: Number>(&'a Device, &'a Buffer<T>);

impl<T: Number> Work<T> for End<'_, T> {
    type Output = T;

    fn run<Op: Monoid<T>>(self) -> Result<T> {
        Ok(self.0.reduce::<T, Op>(self.1)?)
    }
}

/// Bins of one width: over the range that is given, or over that of the numbers.
fn even_bins<T: Number + warpfold::Binned>(
    device: &Device,
    values: &Buffer<T>,
    arguments: &HistogramArguments,
) -> Result<Bins<T>> {
    let count = arguments.bins.unwrap_or(BINS);
    match arguments.range.as_deref() {
        Some(&[lo, hi]) => return Ok(Bins::even(lo, hi, count)?),
        _ if values.is_empty() => return Ok(Bins::even(0.0, 1.0, count)?),
        _ => {}
    }
    let least = T::with_operator(Operator::Min, End(device, values))?;
    let greatest = T::with_operator(Operator::Max, End(device, values))?;
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

/// A bin for each value: up to the greatest, unless the user says how many.
fn value_bins<T: Number>(
    device: &Device,
    values: &Buffer<T::Bound>,
    arguments: &HistogramArguments,
) -> Result<Bins<T::Bound>> {
    let count = match arguments.bins {
        Some(count) => count,
        None if values.is_empty() => 1,
        None => {
            let greatest = T::Bound::with_operator(Operator::Max, End(device, values))?;
            let most = warpfold::Binned::to_f64(greatest).max(0.0);
            most as usize + 1
        }
    };
    match T::values(count) {
        Some(bins) => Ok(bins?),
        None => unreachable!("the type was checked"),
    }
}

fn write_text(text: &str, destination: Destination) -> Result<()> {
    let mut output = destination.open(None)?;
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
