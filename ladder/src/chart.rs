//! Bar charts of the steps, as SVG.

use crate::report::Row;
use crate::table::microseconds;
use std::fmt::Write as _;

/// The numbers and bytes that the texts measured.
const TEXT_BYTES: f64 = 4.0 * (1 << 24) as f64;

const LEFT: f64 = 150.0;
const WIDTH: f64 = 330.0;
const RIGHT: f64 = 120.0;
const ROW: f64 = 20.0;

struct Bar<'a> {
    row: &'a Row,
    /// The bar's length, and what stands behind it.
    value: Option<(f64, String)>,
    /// Where a mark is.
    mark: Option<f64>,
}

/// How fast the steps are, in GB/s. Marks say what the texts measured. `None` if nothing is known.
pub(crate) fn speeds<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let bars = rows.map(|row| Bar {
        row,
        value: row.time.map(|time| {
            let text = format!(
                "{} in {}",
                speed(time.gigabytes_per_second),
                microseconds(time.microseconds)
            );
            (time.gigabytes_per_second, text)
        }),
        mark: row
            .seeds
            .iter()
            .find_map(|seed| seed.microseconds)
            .map(|time| TEXT_BYTES / time / 1e3),
    });
    draw("GB/s, on a logarithmic scale", &bars.collect::<Vec<_>>())
}

fn speed(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    }
}

/// How many requests to global memory the steps make for 1000 numbers. `None` if nothing was
/// counted.
pub(crate) fn requests<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let bars = rows.filter_map(|row| {
        let count = row.count?;
        let requests = 1000.0 * count.requests as f64 / count.elements as f64;
        (requests > 0.0).then(|| Bar {
            row,
            value: Some((requests, format!("{requests:.0}"))),
            mark: None,
        })
    });
    draw(
        "memory requests for 1000 numbers, on a logarithmic scale",
        &bars.collect::<Vec<_>>(),
    )
}

fn draw(title: &str, bars: &[Bar]) -> Option<String> {
    let values = bars
        .iter()
        .flat_map(|bar| {
            bar.value
                .as_ref()
                .map(|(value, _)| *value)
                .into_iter()
                .chain(bar.mark)
        })
        .filter(|value| *value > 0.0);
    let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    if most == 0.0 {
        return None;
    }
    // Whole powers of ten.
    let (first, last) = (least.log10().floor(), most.log10().ceil());
    let last = last.max(first + 1.0);
    let x = |value: f64| LEFT + WIDTH * (value.log10() - first).max(0.0) / (last - first);
    let height = ROW * (bars.len() as f64 + 1.0) + 6.0;
    let total = LEFT + WIDTH + RIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ladder\" role=\"img\" \
         viewBox=\"0 0 {total} {height}\" width=\"{total}\" height=\"{height}\">\
         <title>{title}</title>\n"
    );
    let mut add = |text: std::fmt::Arguments<'_>| writeln!(svg, "{text}").expect("strings grow");
    for power in first as i32..=last as i32 {
        let at = x(10_f64.powi(power));
        add(format_args!(
            "<line class=\"rule\" x1=\"{at:.1}\" y1=\"16\" x2=\"{at:.1}\" y2=\"{height}\"/>\
             <text x=\"{at:.1}\" y=\"12\" text-anchor=\"middle\">{}</text>",
            10_f64.powi(power)
        ));
    }
    for (number, bar) in bars.iter().enumerate() {
        let y = ROW * (number as f64 + 1.0);
        let middle = y + 12.0;
        add(format_args!(
            "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            bar.row.name
        ));
        if let Some((value, text)) = &bar.value {
            let end = x(*value).max(LEFT + 1.0);
            // Behind a mark that would stand in the text.
            let marks = bar.mark.map(x).filter(|at| (end..end + RIGHT).contains(at));
            let text_x = marks.unwrap_or(end) + 5.0;
            add(format_args!(
                "<rect class=\"bar\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\"/>\
                 <text x=\"{text_x:.1}\" y=\"{middle:.1}\">{text}</text>",
                y + 3.0,
                end - LEFT
            ));
        }
        if let Some(mark) = bar.mark {
            let at = x(mark);
            add(format_args!(
                "<line class=\"mark\" x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{:.1}\"/>",
                y + 1.0,
                y + 17.0
            ));
        }
    }
    svg.push_str("</svg>\n");
    Some(svg)
}
