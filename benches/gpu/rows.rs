//! Every row of the runs, for `benches/results/rows.md`.

use crate::record::{Library, Run, Times, gbs, median, ratio};
use crate::table::{Table, cut, length, time, us};

/// What has a table of its own, with all lengths and PyTorch.
const BY_DATA: &[&str] = &[
    "segments", "axes", "by key", "sort", "top", "gather", "scatter",
];

/// The document, of one run a card.
pub(crate) fn markdown(runs: &[Run]) -> String {
    let mut text = String::from(
        "# Every row of the benchmark\n\nThis file is generated with \
         [BENCHMARKS.md](../../BENCHMARKS.md), which says how and sums it up.\n\n",
    );
    let mut section = |title: &str, table: Option<String>| {
        if let Some(table) = table {
            text += &format!("## {title}\n\n{table}\n");
        }
    };
    section("Reductions, scans, compactions, histograms", rows(runs));
    for run in runs {
        let card = run.machine.gpu.trim_start_matches("NVIDIA ");
        section(&format!("{card}: sums of `f32` by length"), by_length(run));
        section(
            &format!("{card}: segments, axes, keys and sorts"),
            by_data(run),
        );
        section(
            &format!("{card}: one array over several GPUs"),
            crate::scaling::rows(run),
        );
    }
    text.trim_end().to_owned() + "\n"
}

/// A row for each primitive on a type with an operator, and columns for each card.
fn rows(runs: &[Run]) -> Option<String> {
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
    table.text(remark)
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
