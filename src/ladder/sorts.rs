//! The steps of sorts.

use super::call::sort;
use super::kernel::kernel;
use super::{Runner, Seed, Step};
use crate::engine::Order;
use crate::ladder::Problem::Sort;

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "sort-loop",
        title: "comparisons on the CPU",
        problem: Sort,
        change: "The standard library's stable sort: runs that are sorted are merged, n log n \
                 comparisons in all. Each asks which of two numbers is less, and the processor \
                 guesses the answer before it knows it.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Loop,
    },
    Step {
        name: "sort-split",
        title: "a radix sort made of scans",
        problem: Sort,
        change: "No number is compared with another one. For each bit, from the lowest, a scan \
                 counts how many numbers before each one have a 0 there. That is where a number \
                 with a 0 goes; those with a 1 go behind all of them. Neither group changes its \
                 order, so what the lower bits have sorted stays so. All numbers move at once, in \
                 as many rounds as there are bits, each of log n steps.",
        seeds: &[Seed {
            text: "002",
            name: "radix sort, an application of scans",
            microseconds: None,
        }],
        formulas: &[],
        runner: kernel!(
            "sort_split", |n, shape| sort("sort_split", n, shape),
            most: Some(1024),
        ),
    },
    Step {
        name: "sort-cpu",
        title: "ours on the CPU",
        problem: Sort,
        change: "Eight bits at a time. The highest digit that varies parts the numbers among the \
                 cores, and each part is sorted from its lowest digit on, in a cache.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Cpu,
    },
    Step {
        name: "sort-digits",
        title: "ours on the GPU",
        problem: Sort,
        change: "Eight bits at a time there, too: 256 counts take the place of one, and each of \
                 them is scanned over the tiles. A tile looks back at the counts of the tiles \
                 before it, as a scan does that reads its input once. So numbers are read and \
                 written once for each eight bits, and digits that all numbers share are left out. \
                 (It is not counted in the emulator.)",
        seeds: &[],
        formulas: &[],
        runner: Runner::Engine("digits", Order::Law),
    },
];
