//! What all measurements share.

use crate::compare::{Check, Comparer};
use crate::cub::{Cub, Peer};
use crate::measure::{Clock, Contender};
use crate::record::{COPY_BYTES, Cell, Library, Run, Spread, gbs, median, ratio};
use crate::{machine, torch};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{CudaContext, CudaStream};

pub(crate) struct Bench {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) clock: Clock,
    pub(crate) comparer: Comparer,
    pub(crate) cub: Option<Cub>,
    pub(crate) filters: Vec<String>,
    pub(crate) run: Run,
}

impl Bench {
    pub(crate) fn new(filters: Vec<String>, quick: bool) -> Bench {
        let context = CudaContext::new(0).expect("the device was found");
        // SAFETY: all work goes to one stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().expect("a stream");
        let batches = if quick { 7 } else { 15 };
        let clock = Clock::new(&stream, batches);
        let copy = copy(&stream, &clock);
        let mut machine = machine::describe(&context);
        let mut missing = Vec::new();
        let cub = Cub::load().map_err(|reason| missing.push(format!("CUB: {reason}")));
        let cub = cub.ok();
        machine.cub = cub.as_ref().map(Cub::version);
        Bench {
            comparer: Comparer::new(&context, &stream),
            context,
            stream,
            clock,
            cub,
            filters,
            run: Run {
                machine,
                quick,
                batches,
                copy,
                cells: Vec::new(),
                combinations: Vec::new(),
                loading: Vec::new(),
                host_data: Vec::new(),
                shards: Vec::new(),
                pieces: Vec::new(),
                note: None,
                missing,
                wrong: Vec::new(),
            },
        }
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        let mut filters = self.filters.iter();
        self.filters.is_empty() || filters.any(|filter| name.contains(filter.as_str()))
    }

    /// CUB's function of that name for so many elements and segments, if there is one.
    pub(crate) fn peer<'a>(
        &self,
        name: &str,
        stream: &'a Arc<CudaStream>,
        length: usize,
        segments: usize,
    ) -> Option<Peer<'a>> {
        let cub = self.cub.as_ref()?;
        cub.peer_of_segments(name, stream, length, segments)
    }

    pub(crate) fn print_head(&self) {
        let run = &self.run;
        let version = |version: &Option<String>| version.clone().unwrap_or("none".into());
        println!(
            "driver {}, NVRTC {}, CUB {}, {} threads on the host",
            version(&run.machine.driver),
            run.machine.nvrtc,
            version(&run.machine.cub),
            run.machine.host_threads
        );
        run.missing
            .iter()
            .for_each(|what| println!("missing: {what}"));
        println!(
            "copy of 1 GiB: {:.1} µs, {:.0} GB/s read + written\n",
            run.copy.median,
            run.copy_gbs()
        );
        println!(
            "{:<26} {:>11} | {:>9} {:>17} {:>7} {:>5} {:>9} {:>6} | {:>8} {:>8} {:>6} {:>8} | {:>6} {:>6}",
            "stream, graph, host",
            "length",
            "µs",
            "quartiles",
            "GB/s",
            "copy",
            "CUB",
            "ratio",
            "graph",
            "CUB",
            "ratio",
            "memcpy",
            "host",
            "CUB"
        );
    }

    /// Keeps a cell, and shows it.
    pub(crate) fn record(&mut self, cell: Cell) {
        let ours = cell.stream[&Library::Warpfold];
        let gbs = gbs(cell.bytes(), ours.median);
        println!(
            "{:<26} {:>11} | {:>9.1} {:>17} {gbs:>7.0} {:>4.0}% {:>9} {:>6} | {:>8} {:>8} {:>6} {:>8} | {:>6} {:>6}",
            cell.name(),
            format!(
                "{}{}",
                cell.length,
                if cell.offset == 0 { "" } else { "+1" }
            ),
            ours.median,
            format!("{:.1}–{:.1}", ours.lower_quartile, ours.upper_quartile),
            100.0 * gbs / self.run.copy_gbs(),
            text(median(&cell.stream, Library::Cub), 1),
            text(ratio(&cell.stream, Library::Cub), 2),
            text(median(&cell.graph, Library::Warpfold), 2),
            text(median(&cell.graph, Library::Cub), 2),
            text(ratio(&cell.graph, Library::Cub), 2),
            text(median(&cell.graph, Library::Memcpy), 2),
            text(median(&cell.host, Library::Warpfold), 2),
            text(median(&cell.host, Library::Cub), 2),
        );
        self.run.cells.push(cell);
    }

    /// PyTorch, in a process of its own, once ours holds no more memory.
    pub(crate) fn torch(&mut self) {
        self.context.synchronize().expect("the device");
        let run = &mut self.run;
        match torch::measure(&mut run.cells, run.batches, &mut run.missing) {
            Ok(version) => run.machine.torch = Some(version),
            Err(reason) => run.missing.push(format!("PyTorch: {reason}")),
        }
        println!();
        for cell in &run.cells {
            for (library, name) in [
                (Library::Torch, "PyTorch"),
                (Library::TorchAdd, "index_add_"),
            ] {
                if let Some(us) = median(cell.times(), library) {
                    println!(
                        "{name:<10} {:<30} {:>11} {us:>9.2} µs",
                        cell.name(),
                        cell.length
                    );
                }
            }
        }
        let missing = run.missing.iter();
        missing.for_each(|what| println!("missing: {what}"));
    }

    /// Writes what there is so far.
    pub(crate) fn save(&self, path: &Path) -> Result<(), String> {
        fs::write(path, self.run.to_json()).map_err(|error| format!("{}: {error}", path.display()))
    }
}

fn text(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

/// What memory allows.
fn copy(stream: &Arc<CudaStream>, clock: &Clock) -> Spread {
    let from = stream.alloc_zeros::<u8>(COPY_BYTES).expect("memory");
    let mut to = stream.alloc_zeros::<u8>(COPY_BYTES).expect("memory");
    let mut copy = [Contender {
        library: Library::Memcpy,
        work: Box::new(move || stream.memcpy_dtod(&from, &mut to).expect("a copy")),
        check: Check::Nothing,
    }];
    // The first round is for the clocks, which rise under load.
    clock.stream(&mut copy, 1 << 20, &mut || {});
    clock.stream(&mut copy, 2 * COPY_BYTES, &mut || {})[&Library::Memcpy]
}
