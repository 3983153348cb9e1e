//! The figures of README.md, made of a run: how near to a copy's speed, and how far ahead of CUB or
//! behind it.

use crate::record::{Cell, Library, Run, Times, gbs, median, ratio};
use crate::report::AHEAD;
use crate::table::{Table, cut, length};
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// A line of the table: what it says, and the cells that it is of.
struct Line {
    text: &'static str,
    cells: &'static [&'static str],
    length: usize,
    /// The first element of the cells.
    from: usize,
}

const fn at(length: usize, text: &'static str, cells: &'static [&'static str]) -> Line {
    Line {
        text,
        cells,
        length,
        from: 0,
    }
}

const LONG: usize = 1 << 28;
const SHORTER: usize = 1 << 26;

const LINES: &[Line] = &[
    at(
        LONG,
        "scan `f32`, `u32`; running maxima of `f32`",
        &["scan f32 add", "scan u32 add", "inclusive f32 max"],
    ),
    at(LONG, "scan `u64`, `f64`", &["scan u64 add", "scan f64 add"]),
    at(
        LONG,
        "scan of a struct of 8 bytes, user-defined operator that does not commute",
        &["scan affine then"],
    ),
    at(
        LONG,
        "scan `f16`, `bf16`, `u16`",
        &["scan f16 add", "scan bf16 add", "scan u16 add"],
    ),
    at(LONG, "scan `u8`", &["scan u8 add"]),
    at(
        LONG,
        "scan `u8`, `i16`, user-defined: saturating sums, the number furthest from 0",
        &["scan u8 saturating", "scan i16 furthest"],
    ),
    Line {
        from: 1,
        ..at(LONG, "scan `f32`, from element 1 on", &["scan f32 add"])
    },
    at(
        SHORTER,
        "scan bound by computing: maps in 8 bytes, maps of `f64`, matrices",
        &[
            "scan maps compose",
            "scan f64x2 then",
            "scan matrix product",
        ],
    ),
    at(
        LONG,
        "reduce `u8` to `u64`, `f32`, `f64`",
        &["reduce u8 wide", "reduce f32 add", "reduce f64 add"],
    ),
    Line {
        from: 1,
        ..at(LONG, "reduce `u8`, from element 1 on", &["reduce u8 add"])
    },
    at(
        LONG,
        "select `u32`, half kept, a twentieth kept",
        &["select u32 half", "select u32 twentieth"],
    ),
    at(
        LONG,
        "select of a struct of 8 bytes, half kept",
        &["select pair half"],
    ),
    at(
        LONG,
        "select by flags; partition",
        &["select u32 flags", "partition u32 half"],
    ),
    at(
        LONG,
        "positions of flags; unique, and runs, of four",
        &["positions u8 flags", "unique u32 fours", "runs u32 fours"],
    ),
    at(
        LONG,
        "histogram `u8` and `u32`, 256 bins",
        &["histogram u8 256 uniform", "histogram u32 256 uniform"],
    ),
    at(
        LONG,
        "histogram `f32`, 57,000 and 2^20 bins",
        &[
            "histogram f32 57000 uniform",
            "histogram f32 1048576 uniform",
        ],
    ),
    at(
        SHORTER,
        "histogram `u16`, all values; `f32` between 100 edges",
        &[
            "histogram u16 65536 uniform",
            "histogram f32 100 edges uniform",
        ],
    ),
    at(
        LONG,
        "least and greatest; position of the greatest; mean and variance",
        &[
            "reduce f32 minmax",
            "reduce f32 argmax",
            "reduce f32 moments",
        ],
    ),
    at(
        LONG,
        "dot product of `f32`, bytes added up in `u64`",
        &["reduce f32 dot", "reduce u8 wide"],
    ),
    at(
        LONG,
        "sort `u32`, `f32`, `u64`",
        &[
            "sort u32 ascending",
            "sort f32 ascending",
            "sort u64 ascending",
        ],
    ),
    at(
        LONG,
        "the greatest 100 of `u32` and `f32`",
        &["top u32 100", "top f32 100"],
    ),
    at(
        SHORTER,
        "sums of segments of 4, 100 and 32,000 `f32`",
        &[
            "segments f32 sum of 4",
            "segments f32 sum of 100",
            "segments f32 sum of 32000",
        ],
    ),
];

/// What stands between the marks in README.md.
pub(crate) fn markdown(run: &Run) -> String {
    let gpu = run.machine.gpu.trim_start_matches("NVIDIA ");
    let cub = run.machine.cub.as_deref().unwrap_or("none");
    let mut text = wrapped(&format!(
        "**How fast**, on an {gpu}, beside CUB {cub} in the same run: 🔴 where CUB is faster, bold \
         where ours takes less than four fifths of its time. [BENCHMARKS.md](BENCHMARKS.md) says \
         more."
    )) + "\n\n";
    let mut table = Table::new(&["", "elements", "of a copy's speed", "CUB's time over ours"]);
    for line in LINES {
        let found = line.cells.iter().filter_map(|name| find(run, name, line));
        let found: Vec<&Cell> = found.collect();
        if found.is_empty() {
            continue;
        }
        let shares = found.iter().filter_map(|cell| {
            let rate = gbs(cell.bytes(), median(cell.times(), Library::Warpfold)?);
            Some(format!("{:.0}%", (100.0 * rate / run.copy_gbs()).floor()))
        });
        let ratios = found
            .iter()
            .map(|cell| match ratio(cell.times(), Library::Cub) {
                Some(ratio) => cut(Some(ratio)),
                None => "–".to_owned(),
            });
        let ratios: Vec<String> = ratios.collect();
        let ratios = match ratios.iter().all(|ratio| ratio == "–") {
            true => String::new(),
            false => ratios.join(", "),
        };
        table.row([
            line.text.to_owned(),
            length(line.length),
            shares.collect::<Vec<_>>().join(", "),
            ratios,
        ]);
    }
    let remark = format!(
        "For {} of 1000 to 10^6 `f32`, CUB's time over ours is {}; for {}, {}.",
        "scans",
        short(run, "scan f32 add"),
        "reductions",
        short(run, "reduce f32 add"),
    );
    if let Some(table) = table.text(&wrapped(&remark)) {
        let _ = writeln!(text, "{table}");
    }
    if let Some(table) = behind(run) {
        let _ = writeln!(text, "**Where CUB is ahead**:\n\n{table}");
    }
    text
}

fn find<'a>(run: &'a Run, name: &str, line: &Line) -> Option<&'a Cell> {
    (run.cells.iter())
        .find(|cell| cell.name() == name && (cell.length, cell.offset) == (line.length, line.from))
}

/// The least and the greatest of CUB's times over ours, in graphs and on streams, of short arrays.
fn short(run: &Run, name: &str) -> String {
    const SHORT: RangeInclusive<usize> = 1000..=1_000_000;
    let range = |times: fn(&Cell) -> &Times| {
        let cells = run.cells.iter();
        let cells = cells.filter(|cell| cell.name() == name && SHORT.contains(&cell.length));
        let ratios = cells.filter_map(|cell| ratio(times(cell), Library::Cub));
        let (least, most) = ratios.fold((f64::INFINITY, 0.0_f64), |(least, most), ratio| {
            (least.min(ratio), most.max(ratio))
        });
        format!("{} to {}", digits(least), digits(most))
    };
    format!(
        "{} in a CUDA graph and {} on a stream",
        range(|cell| &cell.graph),
        range(|cell| &cell.stream)
    )
}

/// The text in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut columns = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if columns > 0 && columns + 1 + width > 100 {
            lines.push('\n');
            columns = 0;
        } else if columns > 0 {
            lines.push(' ');
            columns += 1;
        }
        lines += word;
        columns += width;
    }
    lines
}

/// Two digits, cut off.
fn digits(ratio: f64) -> String {
    format!("{:.2}", (ratio * 100.0).floor() / 100.0)
}

/// A line for each primitive of which CUB is ahead somewhere: in how many cells, and the worst.
fn behind(run: &Run) -> Option<String> {
    let mut table = Table::new(&[
        "",
        "of the cells",
        "CUB's time over ours, at the least",
        "at",
    ]);
    let mut primitives: Vec<&str> = Vec::new();
    for cell in &run.cells {
        if !primitives.contains(&&*cell.primitive) {
            primitives.push(&cell.primitive);
        }
    }
    for primitive in primitives {
        let cells = run.cells.iter().filter(|cell| cell.primitive == primitive);
        let ratios = cells.filter_map(|cell| Some((ratio(cell.times(), Library::Cub)?, cell)));
        let ratios: Vec<(f64, &Cell)> = ratios.collect();
        let ahead = ratios.iter().filter(|(ratio, _)| *ratio < AHEAD);
        let Some((least, cell)) = ahead.clone().min_by(|a, b| a.0.total_cmp(&b.0)) else {
            continue;
        };
        table.row([
            primitive.to_owned(),
            format!("{} of {}", ahead.count(), ratios.len()),
            cut(Some(*least)),
            format!(
                "{} {}, {}",
                cell.element,
                cell.operator,
                length(cell.length)
            ),
        ]);
    }
    let rounded = (run.cells.iter())
        .filter(|cell| {
            ["logadd", "softmax"]
                .iter()
                .any(|word| cell.name().contains(word))
        })
        .filter_map(|cell| ratio(cell.times(), Library::CubRounded));
    let (least, most) = rounded.fold((f64::INFINITY, 0.0_f64), |(least, most), ratio| {
        (least.min(ratio), most.max(ratio))
    });
    let remark = match most > 0.0 {
        true => format!(
            "Ours are slower by operators with `exp` and `ln`, such as `ln(eᵃ + eᵇ)` and softmax: \
             these are rounded correctly, and have the same bits on a CPU. With functions that \
             round so, CUB takes {} to {} times as long as ours.",
            digits(least),
            digits(most)
        ),
        false => String::new(),
    };
    table.text(&wrapped(&remark))
}
