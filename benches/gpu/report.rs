//! The GPU part of BENCHMARKS.md, made of a run.

use crate::chart::CHARTS;
use crate::record::{Cell, Combination, Library, Run, Spread, gbs, median, ratio};
use crate::table::{Table, cut, length, us};
use std::fmt::Write as _;
use std::path::Path;

/// The marks around what is made.
const BEGIN: &str = "<!-- gpu:begin -->";
/// See [`BEGIN`].
const END: &str = "<!-- gpu:end -->";

/// The length that the price of the law is shown at.
const LARGE: usize = 1 << 28;

/// The share of its limit from which on a row does not fall short.
const GOAL: f64 = 0.85;

/// CUB is ahead where its time is less than this share of ours. What is above is noise.
pub(crate) const AHEAD: f64 = 0.99;

/// How many rows are named of those that fall short the most.
const NAMED: usize = 12;

/// `document` with `part` between the markers, and all else as it was.
pub(crate) fn replace(document: &str, part: &str) -> Result<String, String> {
    let missing = || format!("there must be a line {BEGIN}, and a line {END} after it");
    let (before, rest) = document.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!(
        "{before}{BEGIN}\n\n{}\n\n{END}{after}",
        part.trim()
    ))
}

/// The text between the markers, of one run a card. Charts are of the first run, and are linked to
/// in the folder `charts`.
pub(crate) fn markdown(runs: &[Run], charts: &Path) -> String {
    let mut text = String::new();
    for run in runs {
        text += &machine(run);
    }
    text += "\n## What falls short\n\n";
    for run in runs {
        text += &falls_short(run);
    }
    let Some(first) = runs.first() else {
        return text;
    };
    if let Some(table) = by_primitive(runs) {
        let _ = writeln!(text, "## By primitive\n\n{table}");
    }
    text += "## Sums of `f32` by length\n\n";
    for chart in CHARTS {
        let path = charts.join(chart.file);
        let _ = writeln!(text, "![{}]({})\n", chart.title, path.display());
    }
    for (title, table) in [
        ("The price of the law", price_of_the_law(first)),
        ("The price of your own operator", price_of_own(first)),
        ("Compiling and loading", loading(first)),
        ("Data in host memory", host_data(first)),
        ("Pieces of streams", pieces(first)),
        (
            "One array over several GPUs",
            crate::scaling::summary(first),
        ),
    ] {
        let Some(table) = table else { continue };
        let _ = writeln!(text, "## {title}\n\n{table}");
    }
    text
}

/// Which card and which libraries a run had, and what it could not measure.
fn machine(run: &Run) -> String {
    let machine = &run.machine;
    let known = |what: &str, version: &Option<String>| match version {
        Some(version) => format!(", {what} {version}"),
        None => String::new(),
    };
    let mut text = format!(
        "- **{}**, {}{}: {} multiprocessors{}, NVRTC {}{}{}. Medians of {} batches. The copy of 1 GiB \
         moves {:.0} GB/s.",
        machine.gpu,
        machine.date,
        if run.quick { ", a quick run" } else { "" },
        machine.multiprocessors,
        known("driver", &machine.driver),
        machine.nvrtc,
        known("CUB", &machine.cub),
        known("PyTorch", &machine.torch),
        run.batches,
        run.copy_gbs()
    );
    if let Some(note) = &run.note {
        let _ = write!(text, " {note}");
    }
    if !run.missing.is_empty() {
        let _ = write!(text, " Not measured: {}.", run.missing.join("; "));
    }
    text + "\n"
}

/// Where CUB is ahead, and which rows stay below [`GOAL`] of what memory and arithmetic allow.
fn falls_short(run: &Run) -> String {
    let compared: Vec<(&Cell, f64)> = (run.cells.iter())
        .filter_map(|cell| Some((cell, ratio(cell.times(), Library::Cub)?)))
        .collect();
    let behind = compared.iter().filter(|(_, ratio)| *ratio < AHEAD);
    let mut worst: Vec<(String, f64, String, usize)> = Vec::new();
    for (cell, ratio) in behind.clone() {
        let name = cell.name();
        match worst.iter_mut().find(|(other, ..)| *other == name) {
            Some(row) if row.1 <= *ratio => row.3 += 1,
            Some(row) => (row.1, row.2, row.3) = (*ratio, length(cell.length), row.3 + 1),
            None => worst.push((name, *ratio, length(cell.length), 1)),
        }
    }
    worst.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut text = format!(
        "**{}.** CUB is ahead by 1% and more in {} of {} cells, of {} rows",
        run.machine.gpu,
        behind.count(),
        compared.len(),
        worst.len()
    );
    let mut table = Table::new(&["", "CUB's time over ours, at the least", "at", "lengths"]);
    for (name, ratio, length, cells) in worst.iter().take(NAMED) {
        table.row([
            name.clone(),
            cut(Some(*ratio)),
            length.clone(),
            cells.to_string(),
        ]);
    }
    text += match worst.len() > NAMED {
        true => "; those that fall short the most:\n\n",
        false => ".\n\n",
    };
    if let Some(table) = table.text("") {
        let _ = writeln!(text, "{table}");
    }
    let limits = limits(run);
    let mut below: Vec<_> = limits.iter().filter(|limit| limit.share < GOAL).collect();
    below.sort_by(|a, b| a.share.total_cmp(&b.share));
    if !limits.is_empty() {
        let names: Vec<String> = (below.iter().take(NAMED))
            .map(|limit| format!("`{}` {:.0}%", limit.name, (100.0 * limit.share).floor()))
            .collect();
        let _ = write!(
            text,
            "{} of {} rows reach {:.0}% of their limit at their longest",
            limits.len() - below.len(),
            limits.len(),
            100.0 * GOAL
        );
        if !names.is_empty() {
            let _ = write!(text, "; the lowest: {}", names.join(", "));
        }
        text += ".\n";
    }
    text + "\n"
}

/// What memory and arithmetic allow a row at its longest, and our share of that.
struct Limit {
    name: String,
    share: f64,
}

/// Whether no cell of the row of `cell` is longer.
fn is_longest(run: &Run, cell: &Cell) -> bool {
    let name = cell.name();
    let longer = |other: &Cell| other.name() == name && other.length > cell.length;
    !run.cells.iter().any(longer)
}

/// No call takes less time than its bytes take to move, or its combinations to compute: n of them
/// for a reduction, 2n for a scan.
fn limits(run: &Run) -> Vec<Limit> {
    let read = read_gbs(run);
    let limit = |cell: &Cell| {
        let (rate, passes) = match cell.primitive.as_str() {
            "reduce" => (read, 1),
            "scan" | "inclusive" => (run.copy_gbs(), 2),
            _ => return None,
        };
        let is_its =
            |known: &&Combination| known.element == cell.element && known.operator == cell.operator;
        let combination = run.combinations.iter().find(is_its)?;
        let moving = cell.bytes() as f64 / rate / 1e3;
        let combining = (passes * cell.length) as f64 * combination.ps.median / 1e6;
        Some(Limit {
            name: cell.name(),
            share: moving.max(combining) / median(cell.times(), Library::Warpfold)?,
        })
    };
    (run.cells.iter())
        .filter(|cell| cell.is_plain() && is_longest(run, cell))
        .filter_map(limit)
        .collect()
}

/// The most bytes that a reduction reads in a second, in 10⁹: ours or CUB's, or what the copy moves
/// if that is more.
fn read_gbs(run: &Run) -> f64 {
    let reductions = run.cells.iter().filter(|cell| cell.primitive == "reduce");
    let rates = reductions.flat_map(|cell| {
        let times = [Library::Warpfold, Library::Cub].map(|library| median(&cell.stream, library));
        times.into_iter().flatten().map(|us| gbs(cell.bytes(), us))
    });
    rates.fold(run.copy_gbs(), f64::max)
}

fn price_of_the_law(run: &Run) -> Option<String> {
    let mut table = Table::new(&[
        "2^28 elements",
        "the law's order, µs",
        "any order, µs",
        "price",
    ]);
    compare(run, &mut table, "f32", ["add", "free"]);
    table.text(
        "The same sum twice: as it is, and by an operator that claims to be exact, so that the kernels may bracket it in the order that is \
         fastest.",
    )
}

fn price_of_own(run: &Run) -> Option<String> {
    let mut table = Table::new(&[
        "2^28 elements",
        "of one's own, µs",
        "`ops::Add`, µs",
        "price",
    ]);
    compare(run, &mut table, "f32", ["own", "add"]);
    compare(run, &mut table, "u64", ["own", "add"]);
    table.text("The same sum twice: by a function of the benchmark with `#[monoid]`, and by the library's operator.")
}

/// A row for each primitive: what one operator takes, what the other, and how much more the first
/// is.
fn compare(run: &Run, table: &mut Table, element: &str, operators: [&str; 2]) {
    for primitive in ["reduce", "scan"] {
        let us = |operator| {
            let name = format!("{primitive} {element} {operator}");
            let mut cells = run.cells.iter();
            let cell =
                cells.find(|cell| cell.name() == name && cell.length == LARGE && cell.offset == 0);
            cell.and_then(|cell| median(cell.times(), Library::Warpfold))
        };
        if let [Some(this), Some(that)] = operators.map(us) {
            let price = format!("{:+.1}%", 100.0 * (this / that - 1.0));
            table.row([
                format!("{primitive} `{element}`"),
                self::us(this),
                self::us(that),
                price,
            ]);
        }
    }
}

fn loading(run: &Run) -> Option<String> {
    let mut table = Table::new(&["kernels of", "cold, ms", "disk, ms", "memory, µs"]);
    for loading in &run.loading {
        table.row([
            loading.name.clone(),
            format!("{:.0}", loading.cold_ms.median),
            format!("{:.2}", loading.disk_ms.median),
            format!("{:.2}", loading.memory_us.median),
        ]);
    }
    table.text(
        "What `load` takes: *cold* compiles with nothing in any cache, *disk* finds the kernels in the user's cache directory, *memory* in this \
         process.",
    )
}

fn host_data(run: &Run) -> Option<String> {
    let mut table = Table::new(&[
        "f32 add, 2^26 elements, ms by the host's clock",
        "reduce",
        "scan",
    ]);
    for data in &run.host_data {
        let ms = |spread: &Spread| format!("{:.1}", spread.median);
        table.row([data.device.clone(), ms(&data.reduce_ms), ms(&data.scan_ms)]);
    }
    table.text(
        "From and to ordinary (pageable) memory, but for *pinned*. *As buffers* is to upload, compute \
         and download. *As streams* is `push_slice` and `scan_slice_into`, which copy chunks by way of \
         pinned memory while others are worked on; with *pinned* the data lies in such memory. *The \
         bus alone* copies as many bytes from pinned memory to the GPU, and (under *scan*) as many \
         back at the same time.",
    )
}

/// Pieces of one type, by where they start: a row for each length.
fn pieces(run: &Run) -> Option<String> {
    let mut places: Vec<&str> = Vec::new();
    let mut rows: Vec<(&str, usize)> = Vec::new();
    for piece in (run.pieces.iter()).filter(|piece| piece.name.ends_with("f32 add")) {
        if !places.contains(&&*piece.from) {
            places.push(&piece.from);
        }
        if !rows.contains(&(&*piece.name, piece.length)) {
            rows.push((&piece.name, piece.length));
        }
    }
    let mut head = vec!["µs, and × a whole array".to_owned(), "elements".to_owned()];
    head.extend(places.iter().map(|place| format!("from {place}")));
    let mut table = Table {
        head,
        rows: Vec::new(),
    };
    for (name, items) in rows {
        let told = places.iter().map(|place| {
            let mut pieces = run.pieces.iter();
            let piece = pieces
                .find(|piece| (&*piece.name, piece.length, &*piece.from) == (name, items, *place));
            piece.map_or(String::new(), |piece| {
                format!("{} {:.2} ×", us(piece.us.median), piece.beside_whole)
            })
        });
        table.row([name.to_owned(), length(items)].into_iter().chain(told));
    }
    table.text(
        "By the host's clock, call after call, beside arrays as long: scans on a `Scanner` of a \
         device, and reductions on a `Reducer`, which wait for their results. A piece from an odd \
         position on has its tiles at odd addresses.",
    )
}

/// A line for each primitive, and columns for each card: how it stands beside CUB.
fn by_primitive(runs: &[Run]) -> Option<String> {
    let mut head = vec![String::new()];
    for run in runs {
        let card = run.machine.gpu.trim_start_matches("NVIDIA ");
        for column in ["cells", "median", "least", "of"] {
            head.push(format!("{card}: {column}"));
        }
    }
    let mut primitives: Vec<&str> = Vec::new();
    for cell in runs.iter().flat_map(|run| &run.cells) {
        if !primitives.contains(&&*cell.primitive) {
            primitives.push(&cell.primitive);
        }
    }
    let mut table = Table {
        head,
        rows: Vec::new(),
    };
    for primitive in primitives {
        let columns = runs.iter().map(|run| beside_cub(run, primitive));
        let columns: Vec<[String; 4]> = columns.collect();
        if columns.iter().any(|columns| !columns[0].is_empty()) {
            table.row(
                [primitive.to_owned()]
                    .into_iter()
                    .chain(columns.into_iter().flatten()),
            );
        }
    }
    table.text(
        "CUB's time over ours, of all lengths, types and operators that CUB has: the median, the \
         least, and which that is. [Every row](benches/results/rows.md) is in a file of its own.",
    )
}

/// How many cells of a primitive CUB has, the median ratio, the least one, and whose it is.
fn beside_cub(run: &Run, primitive: &str) -> [String; 4] {
    let cells = run.cells.iter().filter(|cell| cell.primitive == primitive);
    let mut ratios: Vec<(f64, &Cell)> = cells
        .filter_map(|cell| Some((ratio(cell.times(), Library::Cub)?, cell)))
        .collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(least, cell)) = ratios.first() else {
        return Default::default();
    };
    let median = ratios[ratios.len() / 2].0;
    let of = format!(
        "{} {} at {}",
        cell.element,
        cell.operator,
        length(cell.length)
    );
    [
        ratios.len().to_string(),
        cut(Some(median)),
        cut(Some(least)),
        of,
    ]
}
