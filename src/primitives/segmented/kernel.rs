//! The kernels of segmented reductions, and what they take.

use super::segments::Cut;
use super::tuning::{EXPAND_ROWS, EXPAND_WARPS};
use crate::definitions::Definitions;
use crate::engine::{HEADER_BYTES, RowPolicy, accumulator_layout};
use crate::render::{
    Arguments, Function, Kernel, Named, Variables, WorkspaceArguments, arguments, bind_read,
    bind_source, with_texts,
};
use crate::source::{Form, Slice};
use crate::{Element, Monoid};

/// The names of the functions.
pub(super) const REDUCE: &str = "segmented_reduce";
/// See [`REDUCE`].
pub(super) const FINISH: &str = "segmented_finish";
/// See [`REDUCE`].
pub(super) const SCAN: &str = "segmented_scan";
/// See [`REDUCE`].
pub(super) const EXPAND: &str = "segmented_expand";

/// The kernels that fold each segment of sources of a form with `Op`; `C` says how segments are
/// given.
#[derive(Debug)]
pub struct SegmentedReduce<T, Op, F = Slice<T>, C = super::OffsetsOf<u64>>(Named<(T, Op, F, C)>);

arguments! {
    /// What the kernels take.
    pub struct SegmentedArguments<S, C, A> {
        /// What is reduced.
        pub source: S => "Source",
        /// Where segments lie.
        pub segments: C => "Segments",
        /// The result.
        pub out: u64 => "Element*",
        /// Where blocks count long segments.
        pub workspace: WorkspaceArguments => "Workspace",
        /// The sums of units.
        pub sums: u64 => "T*",
        /// The nodes of tails.
        pub tails: u64 => "T*",
        /// The long segments.
        pub list: u64 => "LongSegment*",
        /// How many long segments there can be.
        pub capacity: u32 => "u32",
        /// Whether `init` comes first.
        pub seeded: u32 => "u32",
        /// What comes first; the result of an empty segment.
        pub init: A => "Operand<T>::Type",
    }
}

/// The arguments for a form `F` and segments given as `C`.
pub(crate) type ArgumentsOf<T, F, C> =
    SegmentedArguments<<F as Form>::Arguments, <C as Cut>::Arguments, <T as Element>::Accumulator>;

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> SegmentedReduce<T, Op, F, C> {
    /// The function that folds short segments, and the units of long ones.
    pub const REDUCE: Function<ArgumentsOf<T, F, C>> = Function::new(REDUCE);
    /// The one that folds units.
    pub const FINISH: Function<ArgumentsOf<T, F, C>> = Function::new(FINISH);

    /// The kernel.
    pub fn kernel(policy: SegmentedPolicy) -> Kernel {
        let functions = const { &[Self::REDUCE.name, Self::FINISH.name] };
        Kernel::new("segmented.cu.jinja", functions, &bind::<T, Op, F, C>)
            .parameter("warps", policy.warps.into())
            .parameter("rows", policy.rows.into())
            .parameter("blocks", policy.blocks.into())
            .parameter("finish_warps", policy.finish_warps.into())
            .parameter("unit", policy.unit.into())
            .parameter("run", run_of::<T, F>().into())
            .operator::<Op>()
    }
}

fn bind<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    definitions: &mut Definitions,
) -> Variables {
    let texts = [
        ("arguments", &*ArgumentsOf::<T, F, C>::cuda()),
        ("segments", &C::cuda()),
    ];
    with_texts(&texts, bind_read::<T, Op, F>(definitions))
}

/// The kernel that scans each segment of sources of a form with `Op`; `C` says how segments are
/// given.
#[derive(Debug)]
pub struct SegmentedScan<T, Op, F = Slice<T>, C = super::OffsetsOf<u64>>(Named<(T, Op, F, C)>);

arguments! {
    /// What the kernel takes.
    pub struct SegmentedScanArguments<S, C, A> {
        /// What is scanned.
        pub source: S => "Source",
        /// Where segments lie.
        pub segments: C => "Segments",
        /// The results.
        pub out: u64 => "Element*",
        /// Where blocks exchange the sums of units.
        pub workspace: WorkspaceArguments => "Workspace",
        /// What comes first in each segment, or else is shown where nothing does.
        pub init: A => "Operand<T>::Type",
        /// Whether `init` comes first.
        pub seeded: u32 => "u32",
        /// Whether an item takes part in its own result.
        pub inclusive: u32 => "u32",
    }
}

/// The arguments of a scan of a form `F`, by segments given as `C`.
pub(crate) type ScanArgumentsOf<T, F, C> = SegmentedScanArguments<
    <F as Form>::Arguments,
    <C as Cut>::Arguments,
    <T as Element>::Accumulator,
>;

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> SegmentedScan<T, Op, F, C> {
    /// The function.
    pub const SCAN: Function<ScanArgumentsOf<T, F, C>> = Function::new(SCAN);

    /// The kernel; in `reverse` it scans from the last item on.
    pub fn kernel(policy: SegmentedPolicy, reverse: bool) -> Kernel {
        let functions = const { &[Self::SCAN.name] };
        Kernel::new(
            "segmented_scan.cu.jinja",
            functions,
            &bind_scan::<T, Op, F, C>,
        )
        .parameter("reverse", reverse.into())
        .parameter("warps", policy.warps.into())
        .parameter("rows", policy.rows.into())
        .parameter("blocks", policy.blocks.into())
        .parameter("unit", policy.unit.into())
        .operator::<Op>()
    }
}

fn bind_scan<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    definitions: &mut Definitions,
) -> Variables {
    let texts = [
        ("arguments", &*ScanArgumentsOf::<T, F, C>::cuda()),
        ("segments", &C::cuda()),
    ];
    with_texts(&texts, bind_read::<T, Op, F>(definitions))
}

/// The kernel that gives every item the value of its segment.
#[derive(Debug)]
pub struct Expand<T, F = Slice<T>, C = super::OffsetsOf<u64>>(Named<(T, F, C)>);

arguments! {
    /// What the kernel takes.
    pub struct ExpandArguments<S, C, T> {
        /// The value of each segment.
        pub values: S => "Source",
        /// Where segments lie.
        pub segments: C => "Segments",
        /// The items.
        pub out: u64 => "Element*",
        /// What items of no segment get.
        pub none: T => "Element",
    }
}

/// The arguments of an expansion of a form `F`, by segments given as `C`.
pub(crate) type ExpandArgumentsOf<T, F, C> =
    ExpandArguments<<F as Form>::Arguments, <C as Cut>::Arguments, T>;

impl<T: Element, F: Form<Item = T>, C: Cut> Expand<T, F, C> {
    /// The function.
    pub const EXPAND: Function<ExpandArgumentsOf<T, F, C>> = Function::new(EXPAND);

    /// The kernel.
    pub fn kernel() -> Kernel {
        let functions = const { &[Self::EXPAND.name] };
        Kernel::new(
            "segmented_expand.cu.jinja",
            functions,
            &bind_expand::<T, F, C>,
        )
        .parameter("warps", EXPAND_WARPS.into())
        .parameter("rows", EXPAND_ROWS.into())
        .operator::<F>()
    }

    /// The blocks for so many items and segments, and their threads.
    pub fn grid(items: usize, segments: usize) -> (u64, u32) {
        expand_grid(items, segments)
    }
}

/// See [`Expand::grid`].
pub(super) fn expand_grid(items: usize, segments: usize) -> (u64, u32) {
    let tile = u64::from(EXPAND_ROWS * EXPAND_WARPS * 32);
    let tiles = (items as u64 + segments as u64).div_ceil(tile);
    (tiles, 32 * EXPAND_WARPS)
}

fn bind_expand<T: Element, F: Form<Item = T>, C: Cut>(definitions: &mut Definitions) -> Variables {
    let texts = [
        ("arguments", &*ExpandArgumentsOf::<T, F, C>::cuda()),
        ("segments", &C::cuda()),
    ];
    with_texts(&texts, bind_source::<F>(definitions))
}

/// The items of a unit that a lane loads side by side.
fn run_of<T: Element, F: Form<Item = T>>() -> u32 {
    RowPolicy::run_of_scan(F::LEAVES, size_of::<T>())
}

/// How the kernels cut their work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentedPolicy {
    /// The warps of a block.
    pub warps: u32,
    /// The entries of a tile for each thread: items, and starts of segments.
    pub rows: u32,
    /// The blocks that a multiprocessor has registers for.
    pub blocks: u32,
    /// The warps of a block of the last launch.
    pub finish_warps: u32,
    /// The items of a unit of a long segment, a power of two from 128 to 1024, and no more than a
    /// tile has. A tile reads nearly as many beyond its end.
    pub unit: u32,
}

/// Where a call keeps what the last launch needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentedScratch {
    /// The long segments.
    pub list: u64,
    /// The sums of units.
    pub sums: u64,
    /// The nodes of tails.
    pub tails: u64,
    /// The end.
    pub end: u64,
}

impl SegmentedPolicy {
    /// The policy for elements of type `T`: tiles of some 16 KiB.
    pub fn of<T: Element>() -> SegmentedPolicy {
        SegmentedPolicy::for_bytes(size_of::<T>())
    }

    /// The tiles of so many items and segments.
    pub fn tiles(self, items: usize, segments: usize) -> u64 {
        let tile = u64::from(self.rows * self.warps * 32);
        (items as u64 + segments as u64).div_ceil(tile)
    }

    /// Whether one of so many items can be a long segment.
    pub fn has_long(self, items: usize) -> bool {
        items as u64 > u64::from(self.unit)
    }

    /// The most long segments, and the most units.
    pub fn most_long(self, items: usize) -> u64 {
        items as u64 / u64::from(self.unit) + 1
    }

    /// What so many items of type `T` take from an address on, a multiple of 16.
    pub fn scratch<T: Element>(self, list: u64, items: usize) -> SegmentedScratch {
        self.scratch_for(accumulator_layout::<T>().size(), list, items)
    }

    /// What so many items take, whose sums have so many bytes.
    pub(super) fn scratch_for(self, sum_bytes: usize, list: u64, items: usize) -> SegmentedScratch {
        const LONG_SEGMENT: u64 = 24;
        let (most, sum) = (self.most_long(items), sum_bytes as u64);
        // Those of more units than 8 lanes fold have a list of their own.
        let listed = most + most / 256;
        let sums = (list + listed * LONG_SEGMENT).next_multiple_of(16);
        let tails = (sums + most * sum).next_multiple_of(16);
        SegmentedScratch {
            list,
            sums,
            tails,
            end: tails + most * u64::from(self.unit.ilog2()) * sum,
        }
    }

    /// The bytes of a workspace for a scan of so many items of type `T`: a packet of 16 bytes for
    /// each 8 bytes of the sum of a unit, of 32 units, and so on.
    pub fn scan_bytes<T: Element>(self, items: usize) -> usize {
        self.scan_bytes_for(accumulator_layout::<T>().size(), items)
    }

    /// As [`scan_bytes`](SegmentedPolicy::scan_bytes), for sums of so many bytes.
    pub(crate) fn scan_bytes_for(self, sum_bytes: usize, items: usize) -> usize {
        let mut nodes = items as u64 / u64::from(self.unit);
        let mut slots = 0;
        while nodes > 0 {
            slots += nodes + 1;
            nodes /= 32;
        }
        let packets = sum_bytes.div_ceil(8);
        HEADER_BYTES + slots.next_multiple_of(32) as usize * packets * 16
    }
}
