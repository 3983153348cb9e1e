//! The kernel that finds items of the sorted order, what it takes, and how a call is cut up.

use super::tuning::{BLOCKS, DIGITS, LANE_BYTES, MOST_ROWS, THREADS};
use crate::definitions::Definitions;
use crate::engine::RowPolicy;
use crate::primitives::sort::{Kind, Sortable};
use crate::render::{
    Arguments, Function, Kernel, Named, Variables, WorkspaceArguments, arguments, bind_source,
    with_texts,
};
use crate::source::Form;

arguments! {
    /// What the kernel takes.
    pub struct NthArguments<S> {
        /// What is chosen from.
        pub source: S => "Source",
        /// The number of items.
        pub length: u64 => "u64",
        /// Of each wanted item, the digits of its rank that are known.
        pub ranks: u64 => "Bits*",
        /// The digits of its position that are known.
        pub positions: u64 => "u64*",
        /// Its place in the sorted order, among the items with the same digits.
        pub places: u64 => "u64*",
        /// Whether it was found.
        pub found: u64 => "u64*",
        /// The items that were found.
        pub values: u64 => "Element*",
        /// Tables of counts. All are 0.
        pub counts: u64 => "u64*",
        /// Where blocks count those that have ended.
        pub workspace: WorkspaceArguments => "Workspace",
        /// How many items are wanted.
        pub wanted: u32 => "u32",
        /// `Order::code`.
        pub order: u32 => "u32",
        /// The bit that the digit starts from.
        pub shift: u32 => "u32",
        /// The bits of the digit.
        pub bits: u32 => "u32",
        /// Whether it is one of positions.
        pub of_positions: u32 => "u32",
    }
}

/// The kernel that finds items of sources of a form.
#[derive(Debug)]
pub struct Nth<F>(Named<F>);

impl<F: Form<Item: Sortable>> Nth<F> {
    /// The function.
    pub const COUNT: Function<NthArguments<F::Arguments>> = Function::new("nth_count");

    /// The kernel.
    pub fn kernel(shape: NthShape) -> Kernel {
        let functions = const { &[Self::COUNT.name] };
        Kernel::new("nth.cu.jinja", functions, &bind::<F>)
            .parameter("key_bytes", shape.key_bytes as u64)
            .parameter("float", matches!(F::Item::KIND, Kind::Float(_)).into())
            .parameter("run", shape.run.into())
            .parameter("rows", shape.rows.into())
            .parameter("threads", shape.threads.into())
            .parameter("blocks", BLOCKS.into())
            .parameter("digit_bits", shape.digit_bits.into())
            .parameter("most", shape.most as u64)
            .operator::<F>()
    }

    /// The shapes: for few wanted items, and for as many as there can be.
    pub fn shapes() -> [NthShape; 2] {
        let run = RowPolicy::run_of_scan(F::LEAVES, size_of::<F::Item>());
        let size = (F::LEAVES.bytes.max(size_of::<F::Item>())) as u32;
        DIGITS.map(|(digit_bits, most)| NthShape {
            key_bytes: size_of::<F::Item>(),
            run,
            rows: 1 << (LANE_BYTES / (run * size)).clamp(1, MOST_ROWS).ilog2(),
            threads: THREADS,
            digit_bits,
            most,
        })
    }
}

fn bind<F: Form<Item: Sortable>>(definitions: &mut Definitions) -> Variables {
    let arguments = NthArguments::<F::Arguments>::cuda();
    with_texts(&[("arguments", &arguments)], bind_source::<F>(definitions))
}

/// How the kernel is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NthShape {
    key_bytes: usize,
    /// The items of a run, and the runs of a lane.
    run: u32,
    rows: u32,
    /// The threads of a block.
    pub threads: u32,
    /// The bits of a digit, at most.
    pub digit_bits: u32,
    /// So many items may be wanted.
    pub most: usize,
}

impl NthShape {
    /// This shape with smaller blocks, for tests.
    #[must_use]
    pub fn small(self) -> NthShape {
        NthShape {
            threads: 64,
            digit_bits: self.digit_bits - 3,
            ..self
        }
    }

    /// The items that a warp reads at once.
    pub fn chunk(self) -> u64 {
        u64::from(32 * self.run * self.rows)
    }

    /// The digits of ranks, and of the positions of `len` items if `ambiguous` ranks leave open
    /// which item is meant: the bit that each starts from, its bits, and whether it is one of
    /// positions. One launch finds one.
    pub fn digits(self, len: usize, ambiguous: bool) -> Vec<(u32, u32, bool)> {
        let of = |width: u32, of_positions: bool| {
            let count = width.div_ceil(self.digit_bits);
            // Each has as many bits, or one less.
            let digit = move |number: u32| {
                let (above, below) = (width * (number + 1), width * number);
                let shift = below / count.max(1);
                (shift, above / count.max(1) - shift, of_positions)
            };
            (0..count).rev().map(digit)
        };
        let positions = match ambiguous {
            true => usize::BITS - (len - 1).leading_zeros(),
            false => 0,
        };
        let ranks = 8 * self.key_bytes as u32;
        // A single item has a position without digits.
        let positions = if ambiguous { positions.max(1) } else { 0 };
        of(ranks, false).chain(of(positions, true)).collect()
    }

    /// The 64-bit numbers of all tables.
    pub fn counts(self) -> usize {
        self.most << self.digit_bits
    }
}
