//! One array over several GPUs, beside what the paper expects of them.

use crate::record::{Run, Sharded};
use crate::table::{Table, length, us};
use std::fmt::Write as _;

const EXCHANGES: [&str; 4] = ["no exchange", "threads", "peer memory", "NCCL"];

/// The bytes of a packet.
const PACKET: usize = 8192;

/// What ranks have each where a reduction is so short that the exchange takes the time.
const SHORT: usize = 1 << 16;

/// A call, the elements of all ranks, where they are cut.
type Shape<'a> = (&'a str, usize, &'a str);

fn find<'a>(run: &'a Run, shape: Shape, exchange: &str, gpus: usize) -> Option<&'a Sharded> {
    run.shards.iter().find(|row| {
        (&*row.call, row.length, &*row.cut) == shape && row.exchange == exchange && row.gpus == gpus
    })
}

fn one(run: &Run, call: &str, length: usize) -> Option<f64> {
    Some(find(run, (call, length, ""), "one GPU", 1)?.us.median)
}

/// One GPU's time for one rank's share, and the exchange alone. A scan reduces its share first.
fn on_paper(run: &Run, row: &Sharded) -> Option<f64> {
    let share = row.length / row.gpus;
    let reduced = match &*row.call {
        "scan" => one(run, "reduce", share)?,
        _ => 0.0,
    };
    let shape = ("exchange of bytes", PACKET, "");
    let exchanged = match &*row.exchange {
        "no exchange" => return one(run, &row.call, share),
        exchange => find(run, shape, exchange, row.gpus)?.us.median,
    };
    Some(reduced + exchanged + one(run, &row.call, share)?)
}

/// The calls over long arrays, each once.
fn long_shapes(run: &Run) -> Vec<Shape<'_>> {
    let mut shapes = Vec::new();
    for row in run.shards.iter().filter(|row| row.beside_one.is_some()) {
        let shape = (&*row.call, row.length, &*row.cut);
        if EXCHANGES.contains(&&*row.exchange) && !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    shapes.sort_by_key(|&(call, length, cut)| {
        let calls = ["reduce", "scan", "select", "histogram"];
        let place = calls.iter().position(|&other| other == call);
        (place, cut.to_owned(), length)
    });
    shapes
}

/// How many GPUs the rows have.
fn counts(run: &Run) -> Vec<usize> {
    let mut counts: Vec<usize> = run.shards.iter().map(|row| row.gpus).collect();
    counts.sort();
    counts.dedup();
    counts.retain(|&gpus| gpus > 1);
    counts
}

fn told(run: &Run, row: &Sharded) -> String {
    let mut text = us(row.us.median);
    if let Some(ratio) = row.beside_one {
        let _ = write!(text, " {ratio:.2} ×");
    }
    if let Some(expected) = on_paper(run, row) {
        let _ = write!(text, " ({})", us(expected));
    }
    text
}

/// Long arrays by threads, short ones, packets alone.
pub(crate) fn summary(run: &Run) -> Option<String> {
    let counts = counts(run);
    let mut head = ["µs, × one GPU (on paper)", "elements", "cut", "one GPU"]
        .map(str::to_owned)
        .to_vec();
    head.extend(counts.iter().map(|gpus| format!("{gpus} GPUs")));
    let mut long = Table {
        head,
        rows: Vec::new(),
    };
    for (call, elements, cut) in long_shapes(run) {
        let has = |&gpus: &usize| find(run, (call, elements, cut), "threads", gpus).is_some();
        if !counts.iter().all(has) {
            continue;
        }
        let alone = one(run, call, elements).map_or(String::new(), us);
        let by_count = counts.iter().map(|&gpus| {
            let row = find(run, (call, elements, cut), "threads", gpus);
            row.map_or(String::new(), |row| told(run, row))
        });
        let head = [call.to_owned(), length(elements), cut.to_owned(), alone];
        long.row(head.into_iter().chain(by_count));
    }
    let long = long.text(
        "By the host's clock, from when all ranks begin until all have their result; packets go by \
         threads. *On paper*: one GPU's time for one rank's share, in the same run, and the \
         exchange alone; a scan reduces its share first. *Odd* shards end at no multiple of a \
         power of two. [Every exchange](benches/results/rows.md).",
    )?;
    let mut short = Table::new(&[
        "µs",
        "GPUs",
        "8 KiB",
        "64 KiB",
        "1 MiB",
        "adds, even",
        "adds, odd",
    ]);
    for exchange in &EXCHANGES[1..] {
        for &gpus in &counts {
            let packets = [PACKET, 64 << 10, 1 << 20].map(|bytes| {
                let row = find(run, ("exchange of bytes", bytes, ""), exchange, gpus);
                row.map_or(String::new(), |row| us(row.us.median))
            });
            let added = ["even", "odd"].map(|cut| {
                let shape = ("reduce", gpus * SHORT, cut);
                let rows = [exchange, EXCHANGES[0]].map(|by| find(run, shape, by, gpus));
                match rows {
                    [Some(with), Some(without)] => us(with.us.median - without.us.median),
                    _ => String::new(),
                }
            });
            let head = [(*exchange).to_owned(), gpus.to_string()];
            short.row(head.into_iter().chain(packets).chain(added));
        }
    }
    let short = short.text(
        "An exchange alone, of so many bytes a rank, and what an exchange adds to a reduction of \
         2^16 elements a rank.",
    )?;
    let buses: Vec<String> = (run.shards.iter().filter(|row| row.exchange == "buses"))
        .map(|row| {
            let ratio = row.beside_one.map(|ratio| format!(" {ratio:.2} ×"));
            let gpus = match row.gpus {
                1 => "one GPU".to_owned(),
                several => format!("{several} GPUs"),
            };
            format!(
                "{gpus} {:.1} ms{}",
                row.us.median / 1e3,
                ratio.unwrap_or_default()
            )
        })
        .collect();
    let buses = match &buses[..] {
        [] => String::new(),
        buses => format!("\nSum of 16 GiB of pinned memory: {}.\n", buses.join(", ")),
    };
    Some(format!("{long}\n{short}{buses}"))
}

/// Every exchange.
pub(crate) fn rows(run: &Run) -> Option<String> {
    let mut head = ["µs, × one GPU (on paper)", "elements", "cut", "GPUs"]
        .map(str::to_owned)
        .to_vec();
    head.extend(EXCHANGES.map(str::to_owned));
    let mut table = Table {
        head,
        rows: Vec::new(),
    };
    for (call, elements, cut) in long_shapes(run) {
        for gpus in counts(run) {
            let rows = EXCHANGES.map(|by| find(run, (call, elements, cut), by, gpus));
            if rows.iter().all(Option::is_none) {
                continue;
            }
            let told = rows.map(|row| row.map_or(String::new(), |row| told(run, row)));
            let head = [
                call.to_owned(),
                length(elements),
                cut.to_owned(),
                gpus.to_string(),
            ];
            table.row(head.into_iter().chain(told));
        }
    }
    table.text("")
}
