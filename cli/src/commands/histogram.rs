//! `warpfold histogram`: bins, counts, and how they are shown.

use super::Job;
use super::stats::{Combination, Reduction};
use crate::args::{Format, HistogramArguments, InputArguments, OutputFormat};
use crate::bound::{Bound, float_text};
use crate::columns::Columns;
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::{BadNumber, DType, End, Number, with_bound, with_number};
use crate::numbers::Numbers;
use crate::output::{Output, Writer, quoted};
use crate::text::Gaps;
use crate::value::Value;
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
    let range = arguments.range.as_deref().map(read_range).transpose()?;
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
        check,
    )?;
    let mut histograms = Vec::new();
    for (column, numbers) in job.columns.into_each("histogram")? {
        let dtype = column.dtype;
        let mut histogram = count(&job.device, numbers, arguments, edges.as_deref(), range)?;
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
        return write_all(&histograms, job.output_format, job.output);
    };
    if let Some(output) = svg {
        write_text(&histogram.svg(&output.name)?, output)?;
    }
    match job.output_format {
        OutputFormat::Text if job.output.is_terminal() => {
            write_text(&histogram.bars(width_of_terminal()), job.output)
        }
        OutputFormat::Text => {
            let separator = job.output.promise.separator.unwrap_or(b',');
            write_text(&histogram.lines(separator.into(), ""), job.output)
        }
        OutputFormat::Json => {
            let object = histogram.json();
            write_text(&format!("{{\"dtype\":\"{dtype}\",{object}}}\n"), job.output)
        }
        format => {
            let shape = vec![histogram.counts.len()];
            let mut writer = Writer::new(job.output, format, DType::U64, Some(shape));
            writer.write(&histogram.counts)?;
            writer.finish()
        }
    }
}

fn width_of_terminal() -> usize {
    terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into())
}

/// Writes the histograms of several columns, each with its name.
fn write_all(
    histograms: &[(Histogram, DType)],
    format: OutputFormat,
    output: Output,
) -> Result<()> {
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
) -> Result<Histogram> {
    with_bound!(numbers.dtype, B => {
        let plan: Plan<B> = match (edges, range, arguments.bins) {
            (Some(edges), _, _) => Plan::with_edges(edges.to_vec())?,
            (None, Some((lo, hi)), bins) => Plan::even(lo, hi, bins.unwrap_or(BINS))?,
            (None, None, Some(bins)) if arguments.bincount => Plan::values(bins)?,
            (None, None, bins) => {
                let (range, again) = least_and_greatest::<B>(device, numbers, arguments)?;
                numbers = again;
                if arguments.bincount {
                    let most = range.map_or(-1, |(_, greatest)| greatest.to_integer());
                    Plan::values(usize::try_from(most + 1).unwrap_or(usize::MAX))?
                } else {
                    Plan::of_range(range, bins.unwrap_or(BINS))?
                }
            }
        };
        let mut counts = vec![0; plan.edges.len() - 1];
        let mut start = 0;
        for piece in numbers.pieces::<B>() {
            let piece = piece?;
            if arguments.bincount {
                refuse_negative(&piece, start)?;
            }
            start += piece.len();
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
    let ending = path.extension().unwrap_or_default();
    if ending.is_empty() || ending.eq_ignore_ascii_case("svg") {
        return Output::open_as_is(path);
    }
    Err(Failure::with_remedy(
        "--svg",
        format_args!("{} is no name of an SVG file", path.display()),
        "give a name that ends in .svg",
    ))
}

/// The two ends of a range.
fn read_range(given: &[String]) -> Result<(Bound, Bound)> {
    let read = |text: &String| {
        let bad = |bad: BadNumber| Failure::at("--range", bad.describe(text, DType::F64));
        let end = Bound::parse(text.trim()).map_err(bad)?;
        match end.float.is_finite() {
            true => Ok(end),
            false => Err(Failure::at("--range", format_args!("{text} is not finite"))),
        }
    };
    let (lo, hi) = (read(&given[0])?, read(&given[1])?);
    match lo.is_below(hi) {
        true => Ok((lo, hi)),
        false => Err(Failure::with_remedy(
            "--range",
            format_args!("{} is not above {}", hi.text(), lo.text()),
            "give the lower end first, and then one that is above it",
        )),
    }
}

/// A list of edges, or those in a file.
fn read_edges(given: &str) -> Result<Vec<Bound>> {
    let path = Path::new(given);
    let edges: Vec<Bound> = if path.is_file() {
        let options = InputArguments {
            flatten: true,
            ..InputArguments::default()
        };
        let numbers = Numbers::open(Some(path), &options)?;
        with_number!(numbers.dtype, T => {
            let pieces: Vec<Vec<T>> = numbers.pieces().collect::<Result<_>>()?;
            pieces.concat().into_iter().map(Bound::of).collect()
        })
    } else {
        let parse = |edge: &str| {
            Bound::parse(edge).map_err(|bad| {
                let looks_like_path = !given.contains(',') || edge.contains(['/', '\\']);
                match looks_like_path && Path::new(edge).extension().is_some() {
                    true => Failure::with_remedy(
                        "--edges",
                        format_args!("there is no file `{edge}`"),
                        "give the name of a file, or a list of numbers such as 0,1,2.5",
                    ),
                    false => Failure::at("--edges", bad.describe(edge, DType::F64)),
                }
            })
        };
        given
            .split(',')
            .map(|edge| parse(edge.trim()))
            .collect::<Result<_>>()?
    };
    if edges.len() < 2 {
        return Err(Failure::with_remedy(
            "--edges",
            format_args!(
                "{} of them make no bin, which lies between two",
                edges.len()
            ),
            "give two edges or more",
        ));
    }
    if let Some(place) = edges.iter().position(|edge| edge.float.is_nan()) {
        return Err(Failure::at(
            "--edges",
            format_args!("edge {} is NaN", place + 1),
        ));
    }
    match edges.windows(2).position(|pair| !pair[0].is_below(pair[1])) {
        None => Ok(edges),
        Some(place) => Err(Failure::with_remedy(
            "--edges",
            format_args!(
                "edge {}, {}, is not above the one before it, {}",
                place + 2,
                edges[place + 1].text(),
                edges[place].text()
            ),
            "give them in rising order, each once",
        )),
    }
}

/// What a bin for each value from 0 on cannot count.
fn refuse_negative<B: Number>(piece: &[B], start: usize) -> Result<()> {
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
            start + place
        ),
        "leave negative numbers out with `warpfold select --ge 0`, or give --range or --edges",
    ))
}

/// The bins to count in, and their edges.
struct Plan<B: warpfold::Binned> {
    /// As far as numbers of the type lie in them: those at the end may be missing.
    bins: Option<Bins<B>>,
    edges: Edges,
}

impl<B: Number<Bound = B> + warpfold::Binned> Plan<B> {
    fn of_bins(bins: Bins<B>) -> Self {
        Plan {
            edges: Edges::Floats(bins.edges().to_vec()),
            bins: Some(bins),
        }
    }

    /// A bin for each of so many values.
    fn values(count: usize) -> Result<Self> {
        if count == 0 {
            let edges = Edges::Floats(vec![0.0]);
            return Ok(Plan { bins: None, edges });
        }
        let bins = B::values(count).expect("the type was checked");
        Ok(Self::of_bins(bins?))
    }

    /// Bins between edges that rise. Integers are compared with them exactly.
    fn with_edges(edges: Vec<Bound>) -> Result<Self> {
        if B::DTYPE.is_float() {
            let edges: Vec<_> = edges.iter().map(|edge| edge.float).collect();
            return Ok(Self::of_bins(Bins::with_edges(&edges)?));
        }
        let (least, greatest) = (B::LEAST.to_integer(), B::GREATEST.to_integer());
        let (top, froms) = edges.split_last().expect("there are two edges");
        let last = top.floor().min(greatest);
        let firsts = froms.iter().map(|edge| edge.ceil().max(least));
        let firsts: Vec<B> = firsts
            .take_while(|&first| first <= last)
            .map(B::from_integer)
            .collect();
        let bins = match firsts.is_empty() {
            true => None,
            false => B::firsts(&firsts, B::from_integer(last)).transpose()?,
        };
        Ok(Plan {
            bins,
            edges: Edges::Exact(edges),
        })
    }

    /// Bins of one width. Those of integers that no `f64` may tell apart are exact; others are
    /// NumPy's, to the last bit.
    fn even(lo: Bound, hi: Bound, count: usize) -> Result<Self> {
        if B::DTYPE.is_float() || !(lo.is_large() || hi.is_large()) {
            return Ok(Self::of_bins(Bins::even(lo.float, hi.float, count)?));
        }
        match lo.doubled().zip(hi.doubled()) {
            Some((lo, hi)) => Self::exact(lo, hi, count),
            None => {
                let bins: Bins<f64> = Bins::even(lo.float, hi.float, count)?;
                Self::with_edges(bins.edges().iter().map(|&edge| edge.into()).collect())
            }
        }
    }

    /// Bins of one width over the range of the numbers, if there are any.
    fn of_range(range: Option<(B, B)>, count: usize) -> Result<Self> {
        let Some((least, greatest)) = range else {
            return Ok(Self::of_bins(Bins::even(0.0, 1.0, count)?));
        };
        let ends = [least, greatest].map(Bound::of);
        for end in ends {
            if !end.float.is_finite() {
                return Err(Failure::with_remedy(
                    "the range of the numbers",
                    format_args!("one of them is {}", end.text()),
                    "give --range LO HI; what lies outside is not counted",
                ));
            }
        }
        let [lo, hi] = ends;
        match B::DTYPE.is_float() || !(lo.is_large() || hi.is_large()) {
            true => Ok(Self::of_bins(Bins::of_range(least, greatest, count)?)),
            false => {
                let (lo, hi) = (2 * least.to_integer(), 2 * greatest.to_integer());
                // As NumPy has it: half below and half above a single value.
                let half = i128::from(lo == hi);
                Self::exact(lo - half, hi + half, count)
            }
        }
    }

    /// Bins of one width between the halves of two integers.
    fn exact(lo: i128, hi: i128, count: usize) -> Result<Self> {
        // Says whether there can be so many.
        let _: Bins<f64> = Bins::even(0.0, 1.0, count)?;
        let parts = count as i128;
        let edge = |k: i128| Bound::ratio(lo * parts + k * (hi - lo), 2 * parts);
        Self::with_edges((0..=parts).map(edge).collect())
    }
}

/// The edges of bins, in rising order.
enum Edges {
    Floats(Vec<f64>),
    /// Of integers.
    Exact(Vec<Bound>),
}

impl Edges {
    fn len(&self) -> usize {
        match self {
            Edges::Floats(edges) => edges.len(),
            Edges::Exact(edges) => edges.len(),
        }
    }

    /// The nearest `f64`.
    fn float(&self, place: usize) -> f64 {
        match self {
            Edges::Floats(edges) => edges[place],
            Edges::Exact(edges) => edges[place].float,
        }
    }

    fn text(&self, place: usize) -> String {
        match self {
            Edges::Floats(edges) => float_text(edges[place]),
            Edges::Exact(edges) => edges[place].text(),
        }
    }

    /// A number of JSON. Edges of integers have all their digits: as `f64` they could fall
    /// together.
    fn json(&self, place: usize) -> String {
        match self {
            Edges::Floats(edges) => {
                serde_json::to_string(&Value::Double(edges[place])).expect("numbers have a text")
            }
            Edges::Exact(edges) => edges[place].text(),
        }
    }

    fn floats(&self) -> impl Iterator<Item = f64> {
        (0..self.len()).map(|place| self.float(place))
    }
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
    for piece in numbers.pieces::<B>() {
        let piece = piece?;
        if piece.is_empty() {
            break;
        }
        if arguments.bincount {
            refuse_negative(&piece, start)?;
        }
        start += piece.len();
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
        Columns::open(files.file.as_deref(), &files.input, Some(Gaps::Apart))?
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

fn write_text(text: &str, mut output: Output) -> Result<()> {
    output.write(text.as_bytes())?;
    output.finish()
}

/// What is shown.
struct Histogram {
    /// The name of the column.
    title: String,
    edges: Edges,
    counts: Vec<u64>,
    /// Whether each bin is a value.
    of_values: bool,
}

impl Histogram {
    /// A line for each bin, for programs.
    fn lines(&self, separator: char, before: &str) -> String {
        let mut text = String::new();
        for (bin, count) in self.counts.iter().enumerate() {
            let from = self.edges.text(bin);
            text += &match self.of_values {
                true => format!("{before}{from}{separator}{count}\n"),
                false => format!(
                    "{before}{from}{separator}{}{separator}{count}\n",
                    self.edges.text(bin + 1)
                ),
            };
        }
        text
    }

    /// What is in an object of JSON.
    fn json(&self) -> String {
        let (name, edges): (_, Vec<String>) = match self.of_values {
            true => (
                "values",
                (0..self.counts.len())
                    .map(|value| value.to_string())
                    .collect(),
            ),
            false => (
                "edges",
                (0..self.edges.len())
                    .map(|place| self.edges.json(place))
                    .collect(),
            ),
        };
        let counts = serde_json::to_string(&self.counts).expect("numbers have a text");
        format!("\"{name}\":[{}],\"counts\":{counts}", edges.join(","))
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
        let edges: Vec<f64> = self.edges.floats().collect();
        let widths = edges.windows(2).map(|pair| pair[1] - pair[0]);
        let least = widths.fold(f64::INFINITY, f64::min);
        let largest = edges.iter().map(|edge| edge.abs()).fold(0.0, f64::max);
        let with = |decimals: usize| edges.iter().map(move |edge| format!("{edge:.decimals$}"));
        let tells = |decimals: &usize| {
            with(*decimals).zip(&edges).all(|(text, edge)| {
                let shown: f64 = text.parse().unwrap_or(f64::NAN);
                (shown - edge).abs() <= least / 1000.0
            })
        };
        let decimals = (0..9).find(tells);
        match decimals.filter(|_| (1e-6..1e15).contains(&largest)) {
            Some(decimals) => with(decimals).collect(),
            None => (0..edges.len())
                .map(|place| self.edges.text(place))
                .collect(),
        }
    }

    /// A chart for reports.
    fn svg(&self, name: &str) -> Result<String> {
        let (low, high) = self.ends();
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

    fn ends(&self) -> (f64, f64) {
        (self.edges.float(0), self.edges.float(self.edges.len() - 1))
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let colour = RGBColor(60, 110, 170);
        // Of values, each bar stands on its number.
        let shift = if self.of_values { 0.5 } else { 0.0 };
        let (low, high) = self.ends();
        let (low, high) = (low - shift, high - shift);
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
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        chart.draw_series(bars.map(|(bin, &count)| {
            let [from, to] = [bin, bin + 1].map(|place| self.edges.float(place) - shift);
            Rectangle::new([(from, 0.0), (to, count as f64)], colour.filled())
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
            title: String::new(),
            edges: Edges::Floats(edges.to_vec()),
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
        assert_eq!(labels(&[1e20, 2e20]), ["1e20", "2e20"]);
        assert_eq!(
            labels(&[f64::NEG_INFINITY, 0.0, f64::INFINITY]),
            ["-inf", "0", "inf"]
        );
    }
}
