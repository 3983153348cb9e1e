//! The kernels of reductions and scans along an axis, and what they take.

use crate::definitions::Definitions;
use crate::primitives::segmented::Cut;
use crate::render::{
    Arguments, Function, Kernel, Named, Variables, arguments, bind_read, with_texts,
};
use crate::source::{Form, Slice, SliceArguments};
use crate::{Element, Monoid};

use super::plan::AxisPolicy;

/// The names of the functions.
pub(super) const REDUCE: &str = "axis_reduce";
/// See [`REDUCE`].
pub(super) const REDUCE_SUMS: &str = "axis_reduce_sums";
/// See [`REDUCE`].
pub(super) const SCAN: &str = "axis_scan";
/// See [`REDUCE`].
pub(super) const SCAN_SUMS: &str = "axis_scan_sums";
/// See [`REDUCE`].
pub(super) const SEGMENTS: &str = "axis_segments";

/// The kernels that fold and scan the lanes of sources of a form with `Op`.
#[derive(Debug)]
pub struct AxisLanes<T, Op, F = Slice<T>>(Named<(T, Op, F)>);

arguments! {
    /// What the kernels take.
    pub struct AxisArguments<S, A> {
        /// What is read.
        pub source: S => "Source",
        /// The results: elements, or of a scan of sums, prefixes.
        pub out: u64 => "void*",
        /// Of a reduction: where the sums of whole chunks go, or null where a lane is one chunk. Of
        /// a scan: the prefixes of chunks.
        pub sums: u64 => "T*",
        /// Where the nodes of the ends of lanes lie, or null where nobody wants them.
        pub rests: u64 => "T*",
        /// The length of a lane.
        pub length: u64 => "u64",
        /// The number of inner places.
        pub inner: u64 => "u64",
        /// From one outer place to the next, where items are read.
        pub outer_stride: u64 => "u64",
        /// From one row to the next.
        pub stride: u64 => "u64",
        /// The chunks of a lane.
        pub chunks: u64 => "u64",
        /// The chunks of all lanes.
        pub threads: u64 => "u64",
        /// The length of a lane before it was cut.
        pub whole_length: u64 => "u64",
        /// The number of lanes.
        pub lanes: u64 => "u64",
        /// From one outer place to the next, where a scan writes.
        pub out_outer_stride: u64 => "u64",
        /// From one row to the next.
        pub out_stride: u64 => "u64",
        /// The rows of a chunk, as a power of two.
        pub log_chunk: u32 => "u32",
        /// The rows that an item stands for, as a power of two.
        pub shift: u32 => "u32",
        /// Whether the last row comes first.
        pub reverse: u32 => "u32",
        /// Whether `init` comes first.
        pub seeded: u32 => "u32",
        /// Whether an item takes part in its own result.
        pub inclusive: u32 => "u32",
        /// Whether there is a row for the prefix of the end.
        pub closed: u32 => "u32",
        /// What comes first, or else is shown where nothing does.
        pub init: A => "Operand<T>::Type",
    }
}

/// The arguments for a form `F`.
pub(crate) type ArgumentsOf<T, F> =
    AxisArguments<<F as Form>::Arguments, <T as Element>::Accumulator>;

/// The arguments for sums.
pub(crate) type ArgumentsOfSums<T> = AxisArguments<SliceArguments, <T as Element>::Accumulator>;

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> AxisLanes<T, Op, F> {
    /// The function that folds items.
    pub const REDUCE: Function<ArgumentsOf<T, F>> = Function::new(REDUCE);
    /// The one that folds sums.
    pub const REDUCE_SUMS: Function<ArgumentsOfSums<T>> = Function::new(REDUCE_SUMS);
    /// The one that scans items.
    pub const SCAN: Function<ArgumentsOf<T, F>> = Function::new(SCAN);
    /// The one that scans sums.
    pub const SCAN_SUMS: Function<ArgumentsOfSums<T>> = Function::new(SCAN_SUMS);

    /// The kernel.
    pub fn kernel(policy: AxisPolicy) -> Kernel {
        let functions = const {
            &[
                Self::REDUCE.name,
                Self::REDUCE_SUMS.name,
                Self::SCAN.name,
                Self::SCAN_SUMS.name,
            ]
        };
        Kernel::new("axis.cu.jinja", functions, &bind::<T, Op, F>)
            .parameter("group", policy.group().into())
            .parameter("log_most", policy.log_most.into())
            .parameter("threads", policy.threads.into())
            .operator::<Op>()
    }
}

fn bind<T: Element, Op: Monoid<T>, F: Form<Item = T>>(definitions: &mut Definitions) -> Variables {
    let texts = [
        ("arguments", &*ArgumentsOf::<T, F>::cuda()),
        ("arguments_of_sums", &ArgumentsOfSums::<T>::cuda()),
    ];
    with_texts(&texts, bind_read::<T, Op, F>(definitions))
}

/// The kernel that folds segments of rows of sources of a form with `Op`; `C` says how segments are
/// given.
#[derive(Debug)]
pub struct AxisSegments<T, Op, F = Slice<T>, C = crate::OffsetsOf<u64>>(Named<(T, Op, F, C)>);

arguments! {
    /// What the kernel takes.
    pub struct AxisSegmentsArguments<S, C, A> {
        /// What is read.
        pub source: S => "Source",
        /// Where segments of rows lie.
        pub segments: C => "Segments",
        /// The results.
        pub out: u64 => "Element*",
        /// The items of a row.
        pub inner: u64 => "u64",
        /// The number of results.
        pub threads: u64 => "u64",
        /// Whether `init` comes first.
        pub seeded: u32 => "u32",
        /// Nothing.
        pub unused: u32 => "u32",
        /// What comes first; the result of an empty segment.
        pub init: A => "Operand<T>::Type",
    }
}

/// The arguments for a form `F` and segments given as `C`.
pub(crate) type SegmentsArgumentsOf<T, F, C> = AxisSegmentsArguments<
    <F as Form>::Arguments,
    <C as Cut>::Arguments,
    <T as Element>::Accumulator,
>;

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> AxisSegments<T, Op, F, C> {
    /// The function.
    pub const REDUCE: Function<SegmentsArgumentsOf<T, F, C>> = Function::new(SEGMENTS);

    /// The kernel.
    pub fn kernel(policy: AxisPolicy) -> Kernel {
        let functions = const { &[Self::REDUCE.name] };
        Kernel::new(
            "axis_segments.cu.jinja",
            functions,
            &bind_segments::<T, Op, F, C>,
        )
        .parameter("group", policy.group().into())
        .parameter("log_most", policy.log_most.into())
        .parameter("threads", policy.threads.into())
        .operator::<Op>()
    }
}

fn bind_segments<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    definitions: &mut Definitions,
) -> Variables {
    let texts = [
        ("arguments", &*SegmentsArgumentsOf::<T, F, C>::cuda()),
        ("segments", &C::cuda()),
    ];
    with_texts(&texts, bind_read::<T, Op, F>(definitions))
}
