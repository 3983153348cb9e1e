//! The templating stage: a typed request in, CUDA source out.
//!
//! A [`Kernel`] is a value: a template, what it is bound to (a source, an operator), the engine
//! with its policy. The templates in `templates/` bind the names that the algorithms in `kernels/`
//! are written against. Everything here is pure: it needs no GPU, no CUDA and no file, and a kernel
//! always gives the same text.
//!
//! ```
//! use warpfold::{codegen::{Engine, kernels, source}, ops::Add};
//! let cuda = source::<kernels::Scan<f32, Add>>(Engine::Levels)?;
//! assert!(cuda.contains("scan_tiles"));
//! # Ok::<(), warpfold::Error>(())
//! ```

pub use crate::definitions::Definitions;
pub use crate::engine::{Engine, Explanation, LaunchShape, Machine, Order, Primitive};
// They change with each tuning.
#[doc(hidden)]
pub use crate::engine::{
    BlockPolicy, ComputeBoundReduce, ComputeBoundScan, Policy, ReducePolicy, RowPolicy,
    SharePolicy, WavePolicy, Way,
};
#[doc(hidden)]
pub use crate::engine::{
    Chunks, HEADER_BYTES, Launch, Layouts, PiecePlan, Plan, ReducePlan, ScanPlan, SharePlan, Step,
    WavePlan, WorkspaceKey, lengths_of_blocks,
};
pub use crate::operator::cost;
pub use crate::primitives::axis::launches::{explain_reduce_axis, explain_scan_axis};
pub use crate::primitives::axis::vectors::launches::explain_segmented_reduce_vectors;
pub use crate::primitives::collect::launches::explain_collect;
pub use crate::primitives::histogram::launches::explain_histogram;
#[doc(hidden)]
pub use crate::primitives::histogram::lookup::{Lookup, LookupBytes};
#[doc(hidden)]
pub use crate::primitives::histogram::plan::HistogramPolicy;
#[doc(hidden)]
pub use crate::primitives::histogram::plan::{
    HistogramCounters, HistogramMachine, HistogramPlace, HistogramPlan,
};
#[doc(hidden)]
pub use crate::primitives::merge::kernel::{
    MERGE, MergeArguments, MergeShape, SORT_RUNS, SORT_TILES, merge as merge_kernel,
    merge_by as merge_by_kernel, sort_by as sort_by_kernel,
};
pub use crate::primitives::merge::launches::{explain_merge, explain_sort_by};
pub use crate::primitives::reduce::candidates::explain_reduce;
pub use crate::primitives::scan::candidates::explain_scan;
pub use crate::primitives::scatter::launches::explain_scatter;
pub use crate::primitives::search::launches::explain_search;
#[doc(hidden)]
pub use crate::primitives::search::search_kernels;
pub use crate::primitives::segmented::launches::{
    explain_expand, explain_segmented_reduce, explain_segmented_scan,
};
#[doc(hidden)]
pub use crate::primitives::segmented_sort::kernel::{SegmentedSortScratch, SegmentedSortShape};
pub use crate::primitives::segmented_sort::launches::explain_segmented_sort;
pub use crate::primitives::select::candidates::explain_select;
#[doc(hidden)]
pub use crate::primitives::sort::kernel::{
    BEGIN as SORT_BEGIN, COPY as SORT_COPY, COUNT as SORT_COUNT, GATHER as SORT_GATHER,
    GatherArguments, MERGE as SORT_SHORT_MERGE, PASS as SORT_PASS, RUNS as SORT_SHORT_RUNS,
    SortArguments, SortPlan, SortShape, gather as sort_gather,
};
pub use crate::primitives::sort::launches::{explain_argsort, explain_sort, explain_sort_pairs};
#[doc(hidden)]
pub use crate::primitives::sort::tuning::{
    COUNT_THREADS as SORT_COUNT_THREADS, MERGE_THREADS as SORT_MERGE_THREADS,
};
#[doc(hidden)]
pub use crate::primitives::top::kernel::{TopPlan, TopScratch, TopShape, TopWay};
pub use crate::primitives::top::launches::{explain_top, explain_top_rows};
#[doc(hidden)]
pub use crate::primitives::top::nth::kernel::NthShape;
pub use crate::primitives::weighted::launches::explain_histogram_weighted;
#[doc(hidden)]
pub use crate::render::{Arguments, Function, LevelArguments, WorkspaceArguments};
pub use crate::render::{COMPILER_OPTIONS, Kernel, Kernels, check, source, with_kernels};
/// What the output of `#[warpfold::function]` calls.
#[doc(hidden)]
pub mod translated {
    pub use crate::translated::*;
}

/// The kernels of the primitives, as types for [`source`].
pub mod kernels {
    pub use crate::primitives::axis::kernel::{
        AxisArguments, AxisLanes, AxisSegments, AxisSegmentsArguments,
    };
    #[doc(hidden)]
    pub use crate::primitives::axis::plan::{AxisLevel, AxisPlan, AxisPolicy};
    pub use crate::primitives::collect::kernel::{Collect, CollectArguments};
    #[doc(hidden)]
    pub use crate::primitives::distinct::OfOneRank;
    pub use crate::primitives::histogram::guess::{FixedGuess, Guess};
    pub use crate::primitives::histogram::kernel::{
        Histogram, HistogramArguments, HistogramArgumentsOf, PlacesOf, SumsOf, Weight, WeightedForm,
    };
    #[doc(hidden)]
    pub use crate::primitives::histogram::lookup::LookupShape;
    pub use crate::primitives::histogram::rule::{
        BinRule, ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue, GuessArguments,
        SearchArguments, TableArguments, TablesAt,
    };
    pub use crate::primitives::reduce::kernel::{
        FoldArguments, PieceFold, Reduce, ReduceArguments,
    };
    pub use crate::primitives::scan::kernel::{Piece, PieceArguments, Scan, ScanArguments};
    pub use crate::primitives::scatter::kernel::{Scatter, ScatterArguments};
    #[doc(hidden)]
    pub use crate::primitives::scatter::tuning::THREADS as SCATTER_THREADS;
    pub use crate::primitives::segmented::kernel::{
        Expand, ExpandArguments, SegmentedArguments, SegmentedReduce, SegmentedScan,
        SegmentedScanArguments,
    };
    #[doc(hidden)]
    pub use crate::primitives::segmented::kernel::{SegmentedPolicy, SegmentedScratch};
    pub use crate::primitives::segmented_sort::kernel::{SegmentedSort, SegmentedSortArguments};
    pub use crate::primitives::select::kernel::{
        Kept, Outputs, Places, RunParts, Select, SelectArguments, Sides,
    };
    #[doc(hidden)]
    pub use crate::primitives::sort::{Asked, Bits, KeyMap, Kind, Parts, RankOf};
    pub use crate::primitives::top::kernel::{Top, TopArguments};
    pub use crate::primitives::top::nth::kernel::{Nth, NthArguments};
}
