//! The steps of dot products.

use super::call::{dot, products_and_launches};
use super::kernel::kernel;
use super::{Formula, InAnyOrder, Quantity, Runner, Seed, Step};
use crate::engine::Order;
use crate::ladder::Problem::Dot;

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "dot-loop",
        title: "one after the other on the CPU",
        problem: Dot,
        change: "Multiply, add, next: the serial program that the others are compared with.",
        seeds: &[Seed {
            text: "003",
            name: "dot (serial, and listing 7.1)",
            microseconds: None,
        }],
        formulas: &[],
        runner: Runner::Loop,
    },
    Step {
        name: "dot-racing",
        title: "every thread adds to one sum: wrong",
        problem: Dot,
        change: "The serial program's last line, in each thread. Between a thread's read and its \
                 write others read the same old sum, and what they wrote is lost. The emulator \
                 stops here and names the two. There is no result.",
        seeds: &[Seed {
            text: "003",
            name: "listing 7.2, naive.py",
            microseconds: None,
        }],
        formulas: &[],
        runner: kernel!(
            "dot_racing", |n, shape| dot("dot_racing", n, shape),
            threads: 32, in_any_order: Some(InAnyOrder::Items), races: true,
        ),
    },
    Step {
        name: "dot-atomic",
        title: "an atomic operation for each product",
        problem: Dot,
        change: "Read, add and write become one operation that cannot be divided. The result is \
                 right. The threads take turns, which is what they were there to avoid.",
        seeds: &[Seed {
            text: "003",
            name: "listing 7.3, atomic.py",
            microseconds: None,
        }],
        formulas: &[Formula {
            quantity: Quantity::Atomics,
            text: "N",
            value: |n| n,
            besides: None,
        }],
        runner: kernel!(
            "dot_atomic", |n, shape| dot("dot_atomic", n, shape),
            threads: 32, in_any_order: Some(InAnyOrder::Items),
        ),
    },
    Step {
        name: "dot-serial",
        title: "thread 0 adds up each block's products",
        problem: Dot,
        change: "Products meet in shared memory, and one atomic operation a block remains. But \
                 511 threads wait while thread 0 adds. (The text's loop adds the thread's own \
                 product each time. Here it adds all.)",
        seeds: &[Seed {
            text: "003",
            name: "listing 7.4, simple_shared.py",
            microseconds: None,
        }],
        formulas: &[Formula {
            quantity: Quantity::Atomics,
            text: "N/512",
            value: |n| n.div_ceil(512),
            besides: None,
        }],
        runner: kernel!(
            "dot_serial", |n, shape| dot("dot_serial", n, shape),
            threads: 512, in_any_order: Some(InAnyOrder::Blocks),
        ),
    },
    Step {
        name: "dot-launches",
        title: "a tree in each block, launched until one value is left",
        problem: Dot,
        change: "A tree in shared memory takes thread 0's place, and launches take that of atomic \
                 operations. The products are stored first and read again, which the next step \
                 saves. (Threads past the end stay for the barriers here. In the text they return \
                 before them.)",
        seeds: &[Seed {
            text: "003",
            name: "listing 7.5, shared.py",
            microseconds: None,
        }],
        formulas: &[Formula {
            quantity: Quantity::Atomics,
            text: "0",
            value: |_| 0,
            besides: None,
        }],
        runner: kernel!(
            "dot_launches",
            |n, shape| products_and_launches(("dot_products", "dot_launches"), n, shape),
            functions: &["dot_products", "dot_launches"], threads: 512,
        ),
    },
    Step {
        name: "dot-cpu",
        title: "one line of ours, on the CPU",
        problem: Dot,
        change: "reduce::<T, Add>(map::<product, _>(zip(&a, &b))): say what is reduced, and leave \
                 the rest to the library. Products are made on the way, and never stored.",
        seeds: &[Seed {
            text: "003",
            name: "listing 7.6, built_in.py",
            microseconds: None,
        }],
        formulas: &[],
        runner: Runner::Cpu,
    },
    Step {
        name: "dot-rows",
        title: "the same line on the GPU",
        problem: Dot,
        change: "The rows engine reads both arrays in words of 16 bytes and multiplies in \
                 registers: one launch, in the law's order.",
        seeds: &[Seed {
            text: "003",
            name: "listing 7.6, built_in.py",
            microseconds: None,
        }],
        formulas: &[],
        runner: Runner::Engine("rows", Order::Law),
    },
];
