//! How counts are shown: lines for programs, bars for a terminal, a chart for reports.

use super::bins::Edges;
use crate::failure::{Failure, Result};
use plotters::prelude::*;

/// The width of a chart where the terminal does not tell its own.
const WIDTH: usize = 80;

pub(super) fn width_of_terminal() -> usize {
    terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into())
}

/// What is shown.
pub(super) struct Histogram {
    /// The name of the column.
    pub(super) title: String,
    pub(super) edges: Edges,
    pub(super) counts: Vec<u64>,
    /// Whether each bin is a value.
    pub(super) of_values: bool,
}

impl Histogram {
    /// A line for each bin, for programs.
    pub(super) fn lines(&self, separator: char, before: &str) -> String {
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
    pub(super) fn json(&self) -> String {
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
    pub(super) fn bars(&self, width: usize) -> String {
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
    pub(super) fn svg(&self, name: &str) -> Result<String> {
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
