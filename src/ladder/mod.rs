//! The ladder: the kernels that teach, from a first reduction to a good one, as data.
//!
//! Five texts on reductions and scans start at the bottom and climb ([`TEXTS`]). Every kernel of
//! theirs is a [`Step`] here, in `kernels/ladder/`, for any number type and operator. The last
//! steps are the library's own engines. The command `warpfold ladder` runs, counts, draws and
//! explains them.
//!
//! All here is pure, as [`codegen`](crate::codegen) is: which steps there are, [their
//! source](source), and which launches a [call](Kernel::call) takes. Only [`Loaded`] needs a GPU.
//!
//! ```
//! use warpfold::{ladder, ops::{Add, Mul}};
//!
//! let step = ladder::step("warp-shuffle").expect("there is such a step");
//! let kernel = step.kernel().expect("it is a kernel");
//! let cuda = ladder::source::<f32, Add, Mul>(&[kernel])?;
//! assert!(cuda.contains("shuffle_xor"));
//! assert_eq!(kernel.call(1 << 24, kernel.shape()).launches[0].blocks, 8192);
//! # Ok::<(), warpfold::Error>(())
//! ```

mod call;
#[cfg(feature = "cuda")]
mod cuda;
mod dots;
mod kernel;
mod reductions;
mod scans;
mod sequential;
mod sorts;

pub use call::{Argument, Buffer, Call, Launch, Shape};
#[cfg(feature = "cuda")]
pub use cuda::{Loaded, Ready};
pub use kernel::{InAnyOrder, Kernel, MOST_RETRIED, file, has_hardware_atomic, source};
pub use sequential::{halving, sequential_reduce, sequential_scan};

use crate::engine::Order;

/// One of the texts that the ladder is made from.
#[derive(Debug)]
pub struct Text {
    /// The number that steps name it by.
    pub number: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it is about, and on which machine it measured.
    pub about: &'static str,
}

/// The texts, by their numbers.
pub const TEXTS: [Text; 5] = [
    Text {
        number: "000",
        title: "CUDA kernels to perform parallel sum reduction tree",
        about: "After chapter 10 of “Programming Massively Parallel Processors” by Hwu, Kirk and \
                El Hajj. It counts instead of measuring.",
    },
    Text {
        number: "001",
        title: "Parallel Reduction Optimization with CUDA",
        about: "A draft of 2023. It measured 2^24 integers on a GeForce RTX 3090.",
    },
    Text {
        number: "002",
        title: "Reductions and Their Implementation",
        about: "Lecture slides on scans, after Blelloch, for the G80 with its 16 banks.",
    },
    Text {
        number: "003",
        title: "Global Thread Interactions and Reductions",
        about: "Chapter 7 of a course with Numba, on dot products. It gives no times.",
    },
    Text {
        number: "004",
        title: "Reduction Problem",
        about: "Course notes in Korean. They measured sums of 16M floats on a GPU that they do \
                not name.",
    },
];

/// What a step computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The fold of all numbers.
    Reduce,
    /// The fold of the products of two arrays' numbers.
    Dot,
    /// What comes before each number, folded.
    Scan,
    /// The numbers, sorted. The operator does not matter.
    Sort,
}

impl Problem {
    /// All of them, in the order of the ladder.
    pub const ALL: [Problem; 4] = [Problem::Reduce, Problem::Dot, Problem::Scan, Problem::Sort];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Problem::Reduce => "reduce",
            Problem::Dot => "dot",
            Problem::Scan => "scan",
            Problem::Sort => "sort",
        }
    }
}

/// What runs a step.
#[derive(Debug)]
pub enum Runner {
    /// The CPU: a loop over all numbers, one after the other.
    Loop,
    /// The CPU: the upper half is folded onto the lower one, again and again.
    Halving,
    /// A kernel of the ladder.
    Kernel(Kernel),
    /// The library's own call on the CPU, on all cores.
    Cpu,
    /// One of the library's engines, by its name. A reduction combines in an order.
    Engine(&'static str, Order),
}

/// A kernel that a text has, and what the text says about it.
#[derive(Debug)]
pub struct Seed {
    /// The text's number.
    pub text: &'static str,
    /// What the text calls it.
    pub name: &'static str,
    /// The time that the text gives, in microseconds, for 2^24 elements of 4 bytes.
    pub microseconds: Option<f64>,
}

/// What a formula predicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Requests to global memory, of 128 bytes.
    Requests,
    /// Combinations of two values in memory.
    Combinations,
    /// Atomic operations, in shared memory and in global memory.
    Atomics,
}

impl Quantity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Requests => "memory requests",
            Quantity::Combinations => "combinations",
            Quantity::Atomics => "atomic operations",
        }
    }
}

/// A formula of a text for what a step asks of the machine. It is for elements of 4 bytes, and
/// lengths N that are powers of two from 256 on.
#[derive(Debug)]
pub struct Formula {
    /// What it predicts.
    pub quantity: Quantity,
    /// The formula as a text.
    pub text: &'static str,
    /// Its value.
    pub value: fn(u64) -> u64,
    /// What is counted beyond it, and why: the text leaves it out.
    pub besides: Option<(u64, &'static str)>,
}

/// A step of the ladder.
#[derive(Debug)]
pub struct Step {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// What it computes.
    pub problem: Problem,
    /// What changed since the step before it, and why it helps.
    pub change: &'static str,
    /// The kernels of the texts that it is.
    pub seeds: &'static [Seed],
    /// What the texts predict of it.
    pub formulas: &'static [Formula],
    /// What runs it.
    pub runner: Runner,
}

impl Step {
    /// Its kernel, if it is one of the ladder's.
    pub fn kernel(&self) -> Option<&Kernel> {
        match &self.runner {
            Runner::Kernel(kernel) => Some(kernel),
            _ => None,
        }
    }

    /// Whether it gives results. One step is there to be found wrong.
    pub fn is_sound(&self) -> bool {
        self.kernel().is_none_or(|kernel| !kernel.races)
    }
}

/// All steps, from the first to the last, problem by problem.
pub fn steps() -> impl Iterator<Item = &'static Step> {
    [reductions::STEPS, dots::STEPS, scans::STEPS, sorts::STEPS]
        .into_iter()
        .flatten()
}

/// The step of a name.
pub fn step(name: &str) -> Option<&'static Step> {
    steps().find(|step| step.name == name)
}
