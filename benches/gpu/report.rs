//! The GPU part of BENCHMARKS.md, made of a run.

use crate::chart::CHARTS;
use crate::record::{Cell, Combination, Library, Run, Spread, Times, gbs, median, ratio};
use std::fmt::Write as _;
use std::path::Path;

const BEGIN: &str = "<!-- gpu:begin -->";
const END: &str = "<!-- gpu:end -->";

/// The length that the price of the law is shown at.
const LARGE: usize = 1 << 28;

/// The share of its limit from which on a row does not fall short.
const GOAL: f64 = 0.85;

/// CUB is ahead where its time is less than this share of ours. What is above is noise.
const AHEAD: f64 = 0.99;

/// What has a table of its own, with all lengths and PyTorch.
const BY_DATA: &[&str] = &[
    "segments", "axes", "by key", "sort", "top", "gather", "scatter",
];

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
    let _ = writeln!(text, "## Every row\n\n{}", rows(runs));
    text += "## Sums of `f32` by length\n\n";
    for chart in CHARTS {
        let path = charts.join(chart.file);
        let _ = writeln!(text, "![{}]({})\n", chart.title, path.display());
    }
    for (title, table) in [
        (None, by_length(first)),
        (Some("Segments, axes, keys and sorts"), by_data(first)),
        (Some("The price of the law"), price_of_the_law(first)),
        (Some("The price of your own operator"), price_of_own(first)),
        (Some("Compiling and loading"), loading(first)),
        (Some("Data in host memory"), host_data(first)),
        (Some("One array over two GPUs"), shards(first)),
    ] {
        let Some(table) = table else { continue };
        if let Some(title) = title {
            let _ = writeln!(text, "## {title}\n");
        }
        let _ = writeln!(text, "{table}");
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
    let worst: Vec<String> = (worst.iter())
        .map(|(name, ratio, length, cells)| {
            let ratio = (ratio * 100.0).floor() / 100.0;
            let cells = if *cells == 1 {
                "one length".into()
            } else {
                format!("{cells} lengths")
            };
            format!("`{name}` {ratio:.2} at {length} ({cells})")
        })
        .collect();
    let mut text = format!(
        "**{}.** CUB is ahead by 1% and more in {} of {} cells",
        run.machine.gpu,
        behind.count(),
        compared.len()
    );
    if !worst.is_empty() {
        let _ = write!(
            text,
            "; its time over ours at the worst: {}",
            worst.join(", ")
        );
    }
    text += ".\n";
    let limits = limits(run);
    let mut below: Vec<_> = limits.iter().filter(|limit| limit.share < GOAL).collect();
    below.sort_by(|a, b| a.share.total_cmp(&b.share));
    if !limits.is_empty() {
        let names: Vec<String> = (below.iter())
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
            let _ = write!(text, "; below: {}", names.join(", "));
        }
        text += ".\n";
    }
    text + "\n"
}

/// A row for each primitive on a type with an operator, and columns for each card.
fn rows(runs: &[Run]) -> String {
    let several = runs.len() > 1;
    let mut head = vec![String::new(), "elements".to_owned()];
    for run in runs {
        let card = match several {
            true => format!("{}: ", run.machine.gpu.trim_start_matches("NVIDIA ")),
            false => String::new(),
        };
        for column in ["µs", "of a copy", "ratio", "least ratio", "at"] {
            head.push(format!("{card}{column}"));
        }
    }
    let mut table = Table {
        head,
        rows: Vec::new(),
    };
    let mut names: Vec<String> = Vec::new();
    for cell in runs.iter().flat_map(|run| &run.cells) {
        let has_own_table =
            ["free", "own"].contains(&&*cell.operator) || BY_DATA.contains(&&*cell.primitive);
        if !names.contains(&cell.name()) && !has_own_table {
            names.push(cell.name());
        }
    }
    for name in names {
        let longest = (runs.iter().flat_map(|run| &run.cells))
            .filter(|cell| cell.is_plain() && cell.name() == name)
            .map(|cell| cell.length)
            .max();
        let Some(longest) = longest else { continue };
        let mut row = vec![name.clone(), length(longest)];
        for run in runs {
            row.extend(columns(run, &name, longest));
        }
        table.row(row);
    }
    let remark = "*Ratio* is CUB's time over ours at that length, *least ratio* the lowest of all \
                  lengths that were measured, and *at* is where. By the GPU's time: up to 64 MiB \
                  from graphs of 64 calls, which leave out how fast the host enqueues. Ratios are \
                  cut off after two digits: 🔴 where CUB is faster, bold where ours takes less than \
                  four fifths of its time. *Of a copy* counts what the problem must move: a \
                  reduction reads n elements, a scan reads n and writes n.";
    table.text(remark).unwrap_or_default()
}

/// What one card has to say about a row.
fn columns(run: &Run, name: &str, longest: usize) -> [String; 5] {
    let cells = || run.cells.iter().filter(|cell| cell.name() == name);
    let at = cells().find(|cell| cell.is_plain() && cell.length == longest);
    let us_of = at.and_then(|cell| median(cell.times(), Library::Warpfold));
    let share = at.zip(us_of).map(|(cell, us)| {
        let rate = gbs(cell.bytes(), us);
        format!("{:.0}%", (100.0 * rate / run.copy_gbs()).floor())
    });
    let least = cells()
        .filter_map(|cell| Some((ratio(cell.times(), Library::Cub)?, cell)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let place = least.map(|(_, cell)| match cell.offset {
        0 => length(cell.length),
        from => format!("{} from {from}", length(cell.length)),
    });
    [
        us_of.map_or(String::new(), us),
        share.unwrap_or_default(),
        cut(at.and_then(|cell| ratio(cell.times(), Library::Cub))),
        cut(least.map(|(ratio, _)| ratio)),
        place.unwrap_or_default(),
    ]
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

fn by_length(run: &Run) -> Option<String> {
    let mut table = Table::new(&[
        "",
        "elements",
        "graph: ours",
        "CUB",
        "ratio",
        "PyTorch",
        "copy",
        "stream: ours",
        "CUB",
        "ratio",
        "PyTorch",
        "copy",
        "host: ours",
        "CUB",
    ]);
    let sums = run
        .cells
        .iter()
        .filter(|cell| cell.element == "f32" && cell.operator == "add" && cell.is_plain());
    for cell in sums {
        let columns = |times: &Times| {
            [
                time(times, Library::Warpfold),
                time(times, Library::Cub),
                cut(ratio(times, Library::Cub)),
                time(times, Library::Torch),
                time(times, Library::Memcpy),
            ]
        };
        let name = [cell.primitive.clone(), length(cell.length)];
        let host = [Library::Warpfold, Library::Cub].map(|library| time(&cell.host, library));
        let row = name.into_iter().chain(columns(&cell.graph));
        table.row(row.chain(columns(&cell.stream)).chain(host));
    }
    table.text(
        "µs of one call: of the GPU's time in a graph of 64 calls; on a stream, call after call as a program makes them; and of the host's time \
         to enqueue it.",
    )
}

/// A row for each cell of what depends on how the data is cut or spread.
fn by_data(run: &Run) -> Option<String> {
    let mut table = Table::new(&[
        "",
        "elements",
        "µs",
        "GB/s",
        "of a copy",
        "CUB",
        "ratio",
        "PyTorch",
        "ratio",
    ]);
    for primitive in BY_DATA {
        for cell in run.cells.iter().filter(|cell| cell.primitive == *primitive) {
            let times = cell.times();
            let Some(ours) = median(times, Library::Warpfold) else {
                continue;
            };
            let rate = gbs(cell.bytes(), ours);
            let mut torch = time(times, Library::Torch);
            if let Some(added) = median(times, Library::TorchAdd) {
                torch = format!("{torch}; `index_add_` {}", us(added));
            }
            table.row([
                cell.name(),
                length(cell.length),
                us(ours),
                format!("{:.0}", rate.floor()),
                format!("{:.0}%", (100.0 * rate / run.copy_gbs()).floor()),
                time(times, Library::Cub),
                cut(ratio(times, Library::Cub)),
                torch,
                cut(ratio(times, Library::Torch)),
            ]);
        }
    }
    table.text(
        "*Elements* are those of all segments, lanes or rows. *Ratio* is the other library's time over \
         ours, by the GPU's time. *GB/s* counts what the problem must move, and of a sort one \
         reading and one writing. CUB's scan by key stands beside segmented scans, and its sort of \
         pairs with places of 32 bits beside places. Its segmented sort waits for the GPU. \
         PyTorch's sums of segments are those of `segment_reduce`.",
    )
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

fn shards(run: &Run) -> Option<String> {
    let mut table = Table::new(&["call on f32", "elements", "by", "cut", "µs", "× one GPU"]);
    for row in &run.shards {
        table.row([
            row.call.clone(),
            row.length.to_string(),
            row.exchange.clone(),
            row.cut.clone(),
            format!("{:.1}", row.us.median),
            row.beside_one
                .map_or(String::new(), |ratio| format!("{ratio:.2}")),
        ]);
    }
    table.text(
        "By the host's clock, from when both ranks begin until both have their result. *Odd* shards \
         end at no multiple of a power of two.",
    )
}

/// Cut off, not rounded: what is shown is not in our favour.
fn cut(ratio: Option<f64>) -> String {
    let Some(ratio) = ratio else {
        return String::new();
    };
    let shown = (ratio * 100.0).floor() / 100.0;
    if shown < 1.0 {
        format!("🔴 {shown:.2}")
    } else if shown > 1.25 {
        format!("**{shown:.2}**")
    } else {
        format!("{shown:.2}")
    }
}

fn time(times: &Times, library: Library) -> String {
    median(times, library).map_or(String::new(), us)
}

fn us(us: f64) -> String {
    let digits = if us < 10.0 { 2 } else { 1 };
    format!("{us:.digits$}")
}

fn length(length: usize) -> String {
    match length {
        1_000_000 => "10^6".to_owned(),
        _ if length.is_power_of_two() && length > 1 => format!("2^{}", length.ilog2()),
        _ => length.to_string(),
    }
}

struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(head: &[&str]) -> Table {
        Table {
            head: head.iter().map(|&cell| cell.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table and what there is to say about it; `None` if nothing was measured.
    fn text(&self, remark: &str) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&self.head);
        text += &format!("|---|{}\n", "---:|".repeat(self.head.len() - 1));
        text.extend(self.rows.iter().map(|row| line(row)));
        if !remark.is_empty() {
            text += &format!("\n{remark}\n");
        }
        Some(text)
    }
}
