//! The GPU part of BENCHMARKS.md, made of a run.

use crate::chart::CHARTS;
use crate::record::{Cell, Combination, Library, Run, Spread, Times, gbs, median, ratio};
use std::fmt::Write as _;
use std::path::Path;

const BEGIN: &str = "<!-- gpu:begin -->";
const END: &str = "<!-- gpu:end -->";

/// The length that the price of the law and most rows of the table of large arrays are shown at.
const LARGE: usize = 1 << 28;

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

/// The text between the markers. Charts are linked to in the folder `charts`.
pub(crate) fn markdown(run: &Run, charts: &Path) -> String {
    let mut text = introduction(run);
    for chart in CHARTS {
        let path = charts.join(chart.file);
        let _ = writeln!(text, "![{}]({})\n", chart.title, path.display());
    }
    for (title, table) in [
        ("Large arrays", large(run)),
        ("The roofline", roofline(run)),
        ("Odd lengths, and views that start at element 1", odd(run)),
        ("CUB's time over ours", ratios(run)),
        ("CUB by operators that round as ours do", rounded(run)),
        ("Sums of `f32` by length", by_length(run)),
        ("The price of the law", price_of_the_law(run)),
        ("The price of an operator of one's own", price_of_own(run)),
        ("Compiling and loading", loading(run)),
        ("Data in host memory", host_data(run)),
    ] {
        if let Some(table) = table {
            let _ = writeln!(text, "### {title}\n\n{table}");
        }
    }
    text
}

fn introduction(run: &Run) -> String {
    let machine = &run.machine;
    let known = |what: &str, version: &Option<String>| match version {
        Some(version) => format!(", {what} {version}"),
        None => String::new(),
    };
    let clocks = machine.clocks.as_ref().map_or(String::new(), |clocks| {
        format!(
            ", multiprocessors at {} of {} MHz, memory at {} MHz",
            clocks.multiprocessor, clocks.highest_multiprocessor, clocks.memory
        )
    });
    let mut text = format!(
        "{}, {} multiprocessors, {:.0} GiB{}{clocks}; NVRTC {}{}{}; {} threads on the host; {}{}.\n\n",
        machine.gpu,
        machine.multiprocessors,
        machine.memory_gib,
        known("driver", &machine.driver),
        machine.nvrtc,
        known("CUB", &machine.cub),
        known("PyTorch", &machine.torch),
        machine.host_threads,
        machine.date,
        if run.quick { ", a quick run" } else { "" },
    );
    let _ = writeln!(
        text,
        "Medians of {} batches, with quartiles. Buffers rotate through a pool larger than the L2 cache. Ours, CUB and a \
         device-to-device copy take turns on the same buffers; PyTorch runs after them on its own, and its scan is the inclusive one. Every \
         element of every result of ours is compared with the CPU backend's, bit for bit, before it is timed and after; \
         those of mapped sources are compared by the tests instead.\n\n\
         The copy of 1 GiB takes {} µs: {:.0} GB/s read and written. *GB/s* count what the problem must move: a reduction reads n elements, a \
         scan reads n and writes n; *of copy* is that over the copy's. *Ratio* is CUB's time over ours, cut off after two \
         digits: 🔴 where CUB is faster, bold where ours takes less than four fifths of its time.\n",
        run.batches,
        us(run.copy.median),
        run.copy_gbs()
    );
    if !run.missing.is_empty() {
        let _ = writeln!(text, "Not measured:\n\n- {}\n", run.missing.join("\n- "));
    }
    text
}

/// Each row of the measured at its longest, and at [`LARGE`].
fn large(run: &Run) -> Option<String> {
    let mut table = Table::new(&[
        "",
        "elements",
        "µs",
        "quartiles",
        "GB/s",
        "of copy",
        "CUB µs",
        "ratio",
        "PyTorch µs",
    ]);
    let shown = |cell: &&Cell| cell.is_plain() && cell.operator != "free";
    for cell in run.cells.iter().filter(shown) {
        if cell.length != LARGE && !is_longest(run, cell) {
            continue;
        }
        let ours = cell.stream.get(&Library::Warpfold)?;
        let rate = gbs(cell.bytes(), ours.median);
        table.row([
            cell.name(),
            length(cell.length),
            us(ours.median),
            format!("{}–{}", us(ours.lower_quartile), us(ours.upper_quartile)),
            format!("{rate:.0}"),
            format!("{:.0}%", 100.0 * rate / run.copy_gbs()),
            time(&cell.stream, Library::Cub),
            cut(ratio(&cell.stream, Library::Cub)),
            time(&cell.stream, Library::Torch),
        ]);
    }
    table.text("")
}

/// Whether no cell of the same row is longer.
fn is_longest(run: &Run, cell: &Cell) -> bool {
    let name = cell.name();
    let longer = |other: &Cell| other.name() == name && other.length > cell.length;
    !run.cells.iter().any(longer)
}

/// What memory and arithmetic allow each operator of the benchmark's table, at its longest, and our
/// share of it.
fn roofline(run: &Run) -> Option<String> {
    let mut table = Table::new(&[
        "",
        "elements",
        "ps a combination",
        "bound by",
        "roofline, µs",
        "ours, µs",
        "share",
    ]);
    let read = read_gbs(run);
    let shown = |cell: &&Cell| cell.is_plain() && is_longest(run, cell);
    for cell in run.cells.iter().filter(shown) {
        let (rate, passes) = match cell.primitive.as_str() {
            "reduce" => (read, 1),
            "scan" | "inclusive" => (run.copy_gbs(), 2),
            _ => continue,
        };
        let is_its =
            |known: &&Combination| known.element == cell.element && known.operator == cell.operator;
        let Some(combination) = run.combinations.iter().find(is_its) else {
            continue;
        };
        let ps = combination.ps.median;
        let moving = cell.bytes() as f64 / rate / 1e3;
        let combining = (passes * cell.length) as f64 * ps / 1e6;
        let (bound, roof) = if moving > combining {
            ("bytes", moving)
        } else {
            ("combinations", combining)
        };
        let ours = median(cell.times(), Library::Warpfold)?;
        table.row([
            cell.name(),
            length(cell.length),
            format!("{ps:.3}"),
            bound.to_owned(),
            us(roof),
            us(ours),
            format!("{:.0}%", (100.0 * roof / ours).floor()),
        ]);
    }
    table.text(&format!(
        "No call takes less time than its bytes take to move, or its combinations to compute. A scan \
         moves them at the copy's {:.0} GB/s. A reduction reads them at {read:.0} GB/s: that of the \
         fastest reduction of this run, ours or CUB's, or the copy's if that is more. A reduction of \
         n elements has n combinations, a scan 2n. *ps a combination* is that of the whole GPU, on \
         elements in registers. Kernels that keep several short numbers in a word may need less. \
         *Share* is the roofline over our time, cut off.",
        run.copy_gbs()
    ))
}

/// The most bytes that a reduction reads in a second, in 10⁹.
fn read_gbs(run: &Run) -> f64 {
    let reductions = run.cells.iter().filter(|cell| cell.primitive == "reduce");
    let rates = reductions.flat_map(|cell| {
        let times = [Library::Warpfold, Library::Cub].map(|library| median(&cell.stream, library));
        times.into_iter().flatten().map(|us| gbs(cell.bytes(), us))
    });
    rates.fold(run.copy_gbs(), f64::max)
}

fn odd(run: &Run) -> Option<String> {
    let mut table = Table::new(&["", "elements", "from", "µs", "CUB µs", "ratio"]);
    for cell in run.cells.iter().filter(|cell| !cell.is_plain()) {
        table.row([
            cell.name(),
            length(cell.length),
            cell.offset.to_string(),
            time(cell.times(), Library::Warpfold),
            time(cell.times(), Library::Cub),
            cut(ratio(cell.times(), Library::Cub)),
        ]);
    }
    table.text("The GPU's time of a call.")
}

/// All types at all lengths.
fn ratios(run: &Run) -> Option<String> {
    ratios_to(run, Library::Cub).text(
        "By the GPU's time: up to 64 MiB from graphs of 64 calls, which leave out how fast the \
         host enqueues. CUB's reduction wants operators that commute; for `affine then`, which \
         does not, it computes something else in its time.",
    )
}

/// The same where a compiler's way of rounding makes a difference.
fn rounded(run: &Run) -> Option<String> {
    ratios_to(run, Library::CubRounded).text(
        "CUB's time over ours once more, by operators that round as ours do, nearly always. There \
         are no multiply-adds in place of a product and a sum, and the `exp` and `log` are CUDA's \
         of `double`. In the table above they are `expf` and `logf`, whose errors are up to 2 ulp.",
    )
}

/// The time of one of CUB's over ours, a row for each primitive, a column for each length.
fn ratios_to(run: &Run, library: Library) -> Table {
    let ratio = |cell: &Cell| ratio(cell.times(), library);
    let compared: Vec<&Cell> = run
        .cells
        .iter()
        .filter(|cell| cell.is_plain() && ratio(cell).is_some())
        .collect();
    let mut lengths: Vec<usize> = compared.iter().map(|cell| cell.length).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut names: Vec<String> = Vec::new();
    for name in compared.iter().map(|cell| cell.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let heads = lengths.iter().map(|&n| length(n));
    let mut table = Table {
        head: std::iter::once(String::new()).chain(heads).collect(),
        rows: Vec::new(),
    };
    for name in names {
        let at = |&length: &usize| {
            let mut cells = compared.iter();
            let cell = cells.find(|cell| cell.length == length && cell.name() == name);
            cut(cell.and_then(|cell| ratio(cell)))
        };
        let row: Vec<String> = lengths.iter().map(at).collect();
        table.row(std::iter::once(name).chain(row));
    }
    table
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
