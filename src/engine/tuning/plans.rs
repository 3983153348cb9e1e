//! The numbers by which plans cut inputs up. They are the H200's, and hold for all GPUs, since
//! plans count blocks, warps and elements, not bytes of a cache.
//!
//! Measured: an NVIDIA H200, 2026-11-27, together, by the benchmark's reductions and scans.

/// About how long a reduction in groups takes. Found together: by these numbers the plans of 27
/// operators on 1 to 40 bytes came out best, of 30,000 to 12,000,000 elements on an H200. None was
/// measured alone. The unit is a 48th of what a lane takes to combine two items, where all warps of
/// a multiprocessor do so at once.
pub(in crate::engine) mod groups {
    /// What is folded over lanes counts as so many more items: of each batch, or if batches are
    /// grouped, of each part.
    pub(in crate::engine) const OVER_LANES: u64 = 4;
    /// What a batch of a group counts for where warps work side by side, and what it counts for
    /// where they wait.
    pub(in crate::engine) const SIDE_BY_SIDE: u64 = 2;
    /// What it counts for to collect as many sums as the last block reads at once.
    pub(in crate::engine) const ROUND: u64 = 64;
    /// What more it counts for if they are more than a warp reads at once.
    pub(in crate::engine) const NODES: u64 = 96;
    /// What a warp counts for that a block starts with.
    pub(in crate::engine) const WARP: u64 = 4;
    /// So many sums count for what a batch does.
    pub(in crate::engine) const SUMS_A_BATCH: u64 = 48;
}

/// How often a warp folds its rows of a long piece of a stream before it waits for the others of
/// its block. Of `f32`, 2^28 from 2^33 on took 294 µs with 1, 262 with 4 and 259 with 8, and 2^25
/// 52, 49 and 58. Measured: an NVIDIA H200, 2026-11-29, `bench-gpu pieces` with other numbers here.
#[cfg(feature = "cuda")]
pub(crate) const FOLDS_PER_WARP: u32 = 4;

/// Waves for each launch: a piece of a stream leaves its whole waves to the wave engine if there
/// are as many. What comes before and after them are launches of their own. Of `f32`, 2^25 from
/// 2^33 on took 88 µs by rows alone, and 74 by waves; from an odd position on 98 and 99, and 2^23
/// 29 and 46. Measured: an NVIDIA H200, 2026-11-29, `bench-gpu pieces` with other numbers here.
#[cfg(feature = "cuda")]
pub(crate) const PIECE_WAVES: u64 = 5;

/// Chunks that are taken in turn have this many bytes or more, but for the last ones. Not measured
/// alone.
pub(in crate::engine) const CHUNK_BYTES: u64 = 256 << 10;

/// What a block waits for after a chunk takes as long as so many bytes. Not measured alone.
pub(in crate::engine) const BYTES_A_CHUNK: u64 = 16 << 10;

/// The fewest warps of a block of a reduction in any order. Not measured alone.
pub(in crate::engine) const FEWEST_WARPS: u32 = 4;

/// How many blocks of so many warps are better than half as many of twice as many warps, where a
/// result is made for each item. Not measured alone.
pub(in crate::engine) const MOST_BLOCKS: [(u32, u64); 4] = [(1, 8), (2, 16), (4, 52), (8, 128)];

/// The most warps of such a block that is alone. Two of half as many warps take less time. Not
/// measured alone.
pub(in crate::engine) const ALONE_WARPS: u32 = 8;

/// The most warps of a block for inputs that the GPU does not hold at once. Two blocks then share a
/// multiprocessor: one loads while the other waits. Not measured alone.
pub(in crate::engine) const LONG_WARPS: u32 = 8;

/// An input is long from more blocks than this for each multiprocessor. Not measured alone.
pub(in crate::engine) const LONG_ROUNDS: u64 = 2;

/// Items that are widened take registers beside their accumulators: no more blocks of four warps
/// fit. From what the compiler says of registers.
pub(in crate::engine) const MOST_BLOCKS_WIDENED: u32 = 5;

/// From this cost on, the trees of many rows are too much code for scans that the GPU holds at
/// once. Not measured alone.
pub(in crate::engine) const TOO_MUCH_CODE: u32 = 90;

/// So are those over more registers.
pub(in crate::engine) const MOST_REGISTERS: u32 = 32;

/// What an operator must cost more for each part but the first, where no words of 4 bytes tile
/// elements. The estimate counts taking each part out of a word, which is cheaper: on an H200,
/// waves scan sums of `[u16; 3]` in 0.81 of the time of shares, of `[u8; 5]` in 0.75.
pub(in crate::engine) const A_PART: u32 = 16;
