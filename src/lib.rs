//! Parallel reduce, scan and select, and what is built on them, for any element type, any
//! associative operator and any predicate: on NVIDIA GPUs through `cudarc`, on CPUs, and with **the
//! same bits** wherever they run, floats included.
//!
//! ```
//! use warpfold::{inclusive_scan, ops::{Add, Max}, reduce, scan};
//!
//! let heights = [3_u32, 1, 7, 0, 4, 1, 6, 3];
//! assert_eq!(scan::<u32, Add>(&heights)?, [0, 3, 4, 11, 11, 15, 16, 22]);
//! assert_eq!(inclusive_scan::<u32, Max>(&heights)?, [3, 3, 7, 7, 7, 7, 7, 7]);
//! assert_eq!(reduce::<u32, Add>(&heights)?, 25);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! # Three levels, each built on the next
//!
//! 1. **Host slices**: functions, one line each.
//!    - [`reduce()`], [`reduce_from`]
//!    - [`scan()`], [`scan_from`], [`inclusive_scan`], [`inclusive_scan_from`],
//!      [`scan_into`], [`scan_in_place`]
//!    - [`select()`], [`select_flagged`], [`partition`], [`partition_flagged`], [`positions`]
//!    - [`unique`], [`unique_by`], [`runs`], [`runs_by`]
//!    - [`segmented_reduce`], [`segmented_reduce_from`], [`segmented_scan`]: of each of many
//!      segments; [`reduce_by_key`], [`scan_by_key`]: of each run of equal keys;
//!      [`decode`], [`offsets_from_lengths`], [`offsets_from_ids`], [`segment_ids`]
//!    - [`reduce_axis`], [`scan_axis`]: along an [`Axis`] of an array
//!    - [`gather()`] and [`scatter`], by [`Indices`]
//!    - [`sort()`], [`sort_into`], [`sort_in_place`], [`sort_pairs`], [`sort_pairs_in_place`],
//!      [`argsort`], [`argsort_into`], by one [`Order`]; [`sort_by_key`],
//!      [`sort_by_key_in_place`], [`argsort_by_key`]; [`sort_by`], [`sort_in_place_by`]
//!    - [`merge()`], [`merge_by`]: of two sorted arrays
//!    - [`lower_bound`], [`upper_bound`], [`is_sorted`], [`is_sorted_until`]: search in sorted data
//!    - [`unique_sorted`], [`unique_counts`], [`group_by`]: of items in any order
//!    - [`top_k`], [`bottom_k`], [`top_k_rows`], [`bottom_k_rows`], and [`TopK`] for streams;
//!      [`select_nth`] and [`quantiles`]
//!    - [`segmented_sort`], [`segmented_argsort`]: each of many segments by itself
//!    - [`histogram()`], [`histogram_weighted`], and the [`statistics`]
//!    - [`Reducer`], [`Scanner`]: reduce and scan in pieces, with the bits of one call
//!    - [`shards`]: one array over several threads, processes or hosts, with the bits of one call
//! 2. **[`Device`] and [`Buffer`]**: the data stays on the device between calls. The CPU is a
//!    device like any other. [`Device::partition_joined`] leaves both sides of a partition in one
//!    buffer, and [`Device::concat`] joins any buffers.
//! 3. **[`cuda`]**: for programs that already hold their data on a GPU through `cudarc`. Calls
//!    enqueue on your stream, with your workspace, and do nothing else.
//!
//! Operators are types: those of [`ops`], and your own, which [`#[monoid]`](macro@monoid) makes
//! from a Rust function. Elements are numbers, and your own structs that derive
//! [`Element`](derive@Element).
//!
//! # Sources and select
//!
//! Primitives read [sources](source): slices, and what [`map()`], [`zip()`], [`index()`],
//! [`constant()`] and [`strided()`] make of them; [`map_with`] has parameters. A source is
//! evaluated in registers, item by item, and takes no memory. So a dot product, a count or an
//! arg-max is a reduction that reads its input once. [`select()`] keeps the items that a predicate
//! keeps, in their order. [`partition`] gives the others, too; [`positions`] says where they stand.
//! [`unique`] and [`runs`] find runs of equals.
//! [`statistics`] has [`sum`], [`mean`], [`variance`], [`arg_max`] and others, which are such
//! reductions.
//! [`sort()`], [`sort_pairs`] and [`argsort`] are stable, and take one [`Order`].
//! [`collect`] stores a source. [`histogram()`] counts how many items fall into each of some
//! [`Bins`], and [`histogram_weighted`] adds up their weights.
//!
//! ```
//! use warpfold::{function, map, ops::Add, reduce, select, zip};
//!
//! #[function]
//! fn product(x: f32, y: f32) -> f32 {
//!     x * y
//! }
//!
//! #[function]
//! fn positive(x: f32) -> bool {
//!     x > 0.0
//! }
//!
//! let (a, b) = ([1.0_f32, 2.0, 3.0], [4.0_f32, -5.0, 6.0]);
//! assert_eq!(reduce::<f32, Add>(map::<product, _>(zip(&a, &b)))?, 12.0);
//! assert_eq!(select::<f32, positive>(map::<product, _>(zip(&a, &b)))?, [4.0, 18.0]);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! # The law
//!
//! A result depends on the input alone. Take the *aligned blocks* of a position `i`: `[0, i)` split
//! into powers of two, the largest first, one for each set bit of `i`. Each block is the root of a
//! perfect binary tree: `S(block) = S(left half) ⊕ S(right half)`. Then
//!
//! ```text
//! prefix(i)    = ((S₁ ⊕ S₂) ⊕ S₃) ⊕ …          over the aligned blocks of [0, i), left to right
//!                (((init ⊕ S₁) ⊕ S₂) ⊕ S₃) ⊕ …  with an init
//! exclusive[i] = prefix(i)      inclusive[i] = prefix(i + 1)      reduce = prefix(n)
//! ```
//!
//! For seven elements, `reduce` is `(((x₀ ⊕ x₁) ⊕ (x₂ ⊕ x₃)) ⊕ (x₄ ⊕ x₅)) ⊕ x₆`:
//!
//! ```text
//!                        ⊕
//!                 ┌──────┴──────┐
//!                 ⊕             x₆
//!         ┌───────┴───────┐
//!         ⊕               ⊕
//!     ┌───┴───┐         ┌─┴─┐
//!     ⊕       ⊕         x₄  x₅
//!   ┌─┴─┐   ┌─┴─┐
//!   x₀  x₁  x₂  x₃
//! ```
//!
//! On a power of two this is what Blelloch's up-sweep and down-sweep compute. It follows that
//!
//! - the order of elements is kept, so operators need not commute;
//! - appending data never changes an earlier result;
//! - `inclusive[i]` is bitwise `exclusive[i + 1]`, and `reduce` is bitwise the last inclusive
//!   element;
//! - the error of a float sum grows with log n, not with n (products of `f32` near 1 have a
//!   [bias](reduce()#products-of-floats), with this bracketing or another);
//! - nothing is combined with padding, nor with the identity unless that cannot show
//!   ([`Monoid::EXACT`]): −0, NaN and operators whose identity is inexact are safe.
//!
//! The payload of a NaN is the one thing that is not promised.
//!
//! On every device numbers are rounded to nearest, and subnormals are kept. A CPU can be switched
//! to another mode: some libraries set x86's MXCSR to flush subnormals to zero, for instance. On
//! x86-64 the mode of the calling thread, and of rayon's threads, does not show, and is as it was
//! after the call. On other CPUs the mode must be the one that Rust starts a thread with. On
//! AArch64, an FPCR that flushes or rounds otherwise shows in the results.
//!
//! # Versions and platforms
//!
//! **Bits are part of the contract.** The same call on the same input gives the same bits in every
//! version up to the next major one. Golden results in the tests hold that. Excepted is the payload
//! of a NaN. `exp`, `sin` and the like in [functions](macro@function#the-same-bits) are those of
//! [`math`], on every platform.
//!
//! **The least Rust version** is 1.89. A later one is asked for in a minor version, never in a
//! patch, and only one that is six months old or older.
//!
//! **Platforms.** The tests run on Linux on x86-64, and the GPU's on Linux with an NVIDIA driver.
//! The CPU side is plain Rust, with vector instructions of x86-64 where they exist. So it should
//! run wherever Rust's standard library and rayon do, Windows and macOS among them; but nobody has
//! run it there. macOS has no CUDA, and CUDA on Windows has not been tried.
//!
//! # Features
//!
//! - `cuda` (default): NVIDIA GPUs. It costs compile time only. Nothing of CUDA is linked, and a
//!   machine without it gets an [`Error`] that says what is missing.
//! - `testing`: `testing::assert_monoid`, which checks a user-defined operator. It depends on
//!   proptest; meant for `[dev-dependencies]`.
//! - `serde`: [`shards::Nodes`] can be serialised.
//! - `complex`: `Complex<f32>` and `Complex<f64>` of the `num-complex` crate as elements.

#![cfg_attr(docsrs, feature(doc_cfg))]

// The macros' output names the crate, also within it.
extern crate self as warpfold;

mod carry;
pub mod codegen;
mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod definitions;
mod device;
mod element;
mod engine;
mod error;
mod function;
#[cfg(feature = "ladder")]
pub mod ladder;
pub mod math;
mod monoid;
mod operator;
pub mod ops;
mod primitives;
mod render;
mod scalar;
pub mod shards;
pub mod source;
pub mod statistics;
#[cfg(feature = "testing")]
pub mod testing;
#[doc(hidden)]
mod translated;

pub use carry::Carry;
pub use device::{Buffer, BufferView, Device};
pub use element::{Element, MAX_ELEMENT_BYTES};
pub use error::{Error, Result};
pub use function::{CudaType, Function};
pub use monoid::Monoid;
pub use primitives::axis::{
    Axis, reduce_axis, reduce_axis_from, scan_axis, scan_axis_in_place, segmented_reduce_vectors,
    segmented_reduce_vectors_from,
};
pub use primitives::collect::{collect, collect_into, map_in_place};
pub use primitives::distinct::{Distinct, Groups, group_by, unique_counts, unique_sorted};
pub use primitives::histogram::{Binned, Bins, Count, Counted, Integer, histogram};
pub use primitives::merge::{merge, merge_by, sort_by, sort_in_place_by};
pub use primitives::reduce::{Reducer, reduce, reduce_from};
pub use primitives::scan::{
    Prefixes, Scanner, inclusive_scan, inclusive_scan_from, scan, scan_from, scan_in_place,
    scan_into,
};
pub use primitives::scatter::{DeviceIndex, scatter};
pub use primitives::search::{is_sorted, is_sorted_until, lower_bound, upper_bound};
#[doc(hidden)]
pub use primitives::segmented::{CountedArguments, Cut, OffsetsArguments, RowsArguments};
pub use primitives::segmented::{
    CountedStartsOf, Offset, Offsets, OffsetsOf, Ranges, Rows, Segments, Starts, StartsOf, decode,
    decode_into, offsets_from_ids, offsets_from_lengths, reduce_by_key, reduce_by_key_with,
    scan_by_key, scan_by_key_with, segment_ids, segmented_reduce, segmented_reduce_from,
    segmented_scan, segmented_scan_in_place, segmented_scan_into,
};
pub use primitives::segmented_sort::{segmented_argsort, segmented_sort};
pub use primitives::select::{
    Runs, partition, partition_flagged, partition_flagged_into, partition_into, positions,
    positions_into, runs, runs_by, select, select_flagged, select_flagged_into, select_in_place,
    select_into, unique, unique_by, unique_by_in_place, unique_by_into, unique_in_place,
    unique_into,
};
pub use primitives::sort::{
    Order, SortKey, Sortable, argsort, argsort_by_key, argsort_into, sort, sort_by_key,
    sort_by_key_in_place, sort_in_place, sort_into, sort_pairs, sort_pairs_in_place,
};
pub use primitives::top::{
    Candidate, TopK, bottom_k, bottom_k_rows, select_nth, select_nths, top_k, top_k_rows,
};
pub use primitives::weighted::histogram_weighted;
pub use scalar::Scalar;
pub use source::{
    IndexNumber, Indices, Source, bools, constant, flagged, flagged_with, flags, gather,
    gather_rows, heads, heads_by, index, map, map_with, strided, zip, zip3,
};
pub use statistics::{
    Interpolation, all, any, arg_max, arg_max_axis, arg_min, arg_min_axis, count, max, mean,
    mean_axis, min, min_max, moments, moments_axis, quantiles, segmented_arg_max,
    segmented_arg_min, segmented_mean, segmented_min_max, segmented_moments, segmented_variance,
    std_dev, sum, variance, variance_axis,
};
pub use warpfold_macros::{Element, function, monoid};

pub use bytemuck;
pub use half;

/// What `#[derive(Element)]` adds for `cudarc`, if the crate was built with it.
#[cfg(feature = "cuda")]
#[doc(hidden)]
#[macro_export]
macro_rules! __device_repr {
    ($element:ty) => {
        // SAFETY: an element is `Pod` and laid out in CUDA as it is in Rust.
        unsafe impl $crate::cuda::cudarc::driver::DeviceRepr for $element {}
        // SAFETY: every bit pattern of an element is a value.
        unsafe impl $crate::cuda::cudarc::driver::ValidAsZeroBits for $element {}
    };
}

/// What `#[derive(Element)]` adds for `cudarc`: nothing without it.
#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __device_repr {
    ($element:ty) => {};
}

/// The programs in the README run as tests.
#[cfg(all(doctest, feature = "cuda"))]
#[doc = include_str!("../README.md")]
mod readme {}
