//! The steps of scans.

use super::call::{scan, tiled_scan};
use super::kernel::kernel;
use super::{Formula, Quantity, Runner, Seed, Step};
use crate::engine::Order;
use crate::ladder::Problem::Scan;

/// The combinations of a tree, up and down.
const UP_AND_DOWN: Formula = Formula {
    quantity: Quantity::Combinations,
    text: "2 · (N − 1)",
    value: |n| 2 * (n - 1),
    besides: None,
};

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "scan-loop",
        title: "one after the other on the CPU",
        problem: Scan,
        change: "Each result is the one before it and one more number: n operations, the fewest \
                 there can be, and each waits for the last one.",
        seeds: &[Seed {
            text: "002",
            name: "scan on the CPU",
            microseconds: None,
        }],
        formulas: &[],
        runner: Runner::Loop,
    },
    Step {
        name: "scan-log-steps",
        title: "log n rounds over two buffers",
        problem: Scan,
        change: "In each round every number takes in the one a stride before it, and the stride \
                 doubles. After log n rounds it has taken in all. With two buffers a round needs \
                 one barrier, not two. But it does n log n operations: at 1024 numbers nine times \
                 as many as the loop.",
        seeds: &[Seed {
            text: "002",
            name: "first-attempt scan, double-buffered",
            microseconds: None,
        }],
        formulas: &[Formula {
            quantity: Quantity::Combinations,
            text: "(N − 1) + (N − 2) + (N − 4) + … = N · log₂ N − (N − 1)",
            value: |n| n * u64::from(n.ilog2()) - (n - 1),
            besides: None,
        }],
        runner: kernel!(
            "scan_log_steps", |n, shape| scan("scan_log_steps", 1, n, shape),
            most: Some(1024),
        ),
    },
    Step {
        name: "scan-blelloch",
        title: "Blelloch's tree",
        problem: Scan,
        change: "Up a tree to sums of growing parts, and down again to the prefixes: 2 (n − 1) \
                 operations in 2 log n rounds. The strides are powers of two, so lanes meet in \
                 few banks of shared memory and are served one after the other.",
        seeds: &[Seed {
            text: "002",
            name: "balanced trees: sum tree, zero, scan",
            microseconds: None,
        }],
        formulas: &[UP_AND_DOWN],
        runner: kernel!(
            "scan_blelloch", |n, shape| scan("scan_blelloch", 2, n, shape),
            most: Some(2048),
        ),
    },
    Step {
        name: "scan-padded",
        title: "the same with padding",
        problem: Scan,
        change: "A gap after every 32 numbers (16 in the text, for the G80's banks). Strides of \
                 powers of two now reach all banks, and most conflicts are gone. One more word \
                 for every 32, and an addition for each address.",
        seeds: &[Seed {
            text: "002",
            name: "padding against bank conflicts",
            microseconds: None,
        }],
        formulas: &[UP_AND_DOWN],
        runner: kernel!(
            "scan_padded", |n, shape| scan("scan_padded", 2, n, shape),
            most: Some(2048),
        ),
    },
    Step {
        name: "scan-tiled",
        title: "tiles, and launches as barriers",
        problem: Scan,
        change: "Arrays of any length: blocks scan tiles and leave their sums, further launches \
                 scan the sums, and a last one puts each tile's prefix before its numbers. Every \
                 number is read twice and written twice, so half the speed of a copy is the most \
                 there can be.",
        seeds: &[Seed {
            text: "002",
            name: "tiled, with global synchronization",
            microseconds: None,
        }],
        formulas: &[],
        runner: kernel!(
            "scan_tiled",
            |n, shape| tiled_scan(("scan_tiled", "scan_tiled_sums", "scan_tiled_add"), n, shape),
            functions: &["scan_tiled", "scan_tiled_sums", "scan_tiled_add"],
        ),
    },
    Step {
        name: "scan-cpu",
        title: "ours on the CPU",
        problem: Scan,
        change: "All cores and vectors, in the law's order, in place.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Cpu,
    },
    Step {
        name: "scan-levels",
        title: "ours: levels",
        problem: Scan,
        change: "The sums of tiles first, then the tiles, seeded from the level above: numbers \
                 are read twice, but written once. Trees and tiles lie in shared memory without \
                 any conflict.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Engine("levels", Order::Law),
    },
    Step {
        name: "scan-rows",
        title: "ours: rows",
        problem: Scan,
        change: "One launch: read once, write once. A tile waits in registers while its block \
                 looks back at the sums that the blocks before it have published.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Engine("rows", Order::Law),
    },
    Step {
        name: "scan-wave",
        title: "ours: wave",
        problem: Scan,
        change: "The copy engine fetches tiles into a ring of shared memory and takes results \
                 away, while warps with one job each reduce, look back and scan. Loads and stores \
                 never stop. It needs compute capability 9.0 to 10.x. (The emulator does not \
                 count what the copy engine moves.)",
        seeds: &[],
        formulas: &[],
        runner: Runner::Engine("wave", Order::Law),
    },
];
