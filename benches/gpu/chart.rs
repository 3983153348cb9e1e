//! Charts of a run: speed over length, a line for each library.

use crate::record::{Library, Run, gbs, median};
use plotters::prelude::*;

/// Sums of `f32` by one primitive.
pub(crate) struct Chart {
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    primitive: &'static str,
    unit: &'static str,
    /// The height of a point: of a run, and of a rate in GB/s.
    height: fn(&Run, f64) -> f64,
}

pub(crate) const CHARTS: &[Chart] = &[
    Chart {
        file: "scan-f32.svg",
        title: "Exclusive scan of f32 by addition",
        primitive: "scan",
        unit: "% of the speed of a copy of 1 GiB",
        height: |run, rate| 100.0 * rate / run.copy_gbs(),
    },
    Chart {
        file: "reduce-f32.svg",
        title: "Reduction of f32 by addition",
        primitive: "reduce",
        unit: "GB/s (the copy: read and written)",
        height: |_, rate| rate,
    },
];

/// Below, all lines lie on the axis.
const SHORTEST: f64 = 1000.0;

const LINES: &[(Library, &str, RGBColor)] = &[
    (Library::Warpfold, "warpfold", RGBColor(200, 30, 30)),
    (Library::Cub, "CUB", RGBColor(60, 130, 40)),
    (Library::Torch, "PyTorch", RGBColor(220, 130, 0)),
    (Library::Memcpy, "copy", RGBColor(120, 120, 120)),
];

impl Chart {
    pub(crate) fn svg(&self, run: &Run) -> Result<String, String> {
        let mut svg = String::new();
        self.draw(run, &mut svg)
            .map_err(|error| format!("{}: {error}", self.file))?;
        Ok(svg)
    }

    fn draw(&self, run: &Run, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let lines: Vec<_> = LINES
            .iter()
            .map(|(library, name, colour)| (self.points(run, *library), name, colour))
            .collect();
        let all = || lines.iter().flat_map(|(points, ..)| points);
        let left = SHORTEST.log2();
        let right = all().map(|point| point.0).fold(left + 1.0, f64::max);
        let top = all().map(|point| point.1).fold(1.0, f64::max) * 1.05;

        let area = SVGBackend::with_string(svg, (900, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 20))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(left..right, 0.0..top)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(16)
            .x_label_formatter(&|power| format!("2^{power:.0}"))
            .x_desc("elements")
            .y_label_formatter(&|height| format!("{height:.0}"))
            .y_desc(self.unit)
            .draw()?;
        for (points, name, colour) in lines {
            let style = colour.stroke_width(2);
            chart.draw_series(
                points
                    .iter()
                    .map(|&point| Circle::new(point, 3, colour.filled())),
            )?;
            if !points.is_empty() {
                chart
                    .draw_series(LineSeries::new(points, style))?
                    .label(*name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE)
            .border_style(BLACK)
            .draw()?;
        area.present()?;
        Ok(())
    }

    /// (log₂ of the length, height).
    fn points(&self, run: &Run, library: Library) -> Vec<(f64, f64)> {
        let name = format!("{} f32 add", self.primitive);
        let mut points: Vec<(f64, f64)> = run
            .cells
            .iter()
            .filter(|cell| cell.name() == name && cell.is_plain())
            .filter(|cell| cell.length as f64 >= SHORTEST)
            .filter_map(|cell| {
                let bytes = match library {
                    Library::Memcpy => 2 * cell.length * cell.element_bytes,
                    _ => cell.bytes(),
                };
                let rate = gbs(bytes, median(cell.times(), library)?);
                Some(((cell.length as f64).log2(), (self.height)(run, rate)))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }
}
