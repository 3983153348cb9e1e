// How a reduction in the law's order cuts its input into chunks.
#pragma once
#include "machine/device.cuh"

namespace warpfold {

/// Chunks, numbered from the start of the input. Their lengths are powers of two. As on the host:
/// `Chunks` in `src/engine/rows/chunks.rs`.
struct Chunks {
    /// The number of chunks, and of the first of them, which are longer than the others.
    u32 count, long_ones;
    /// The others have 2^log_length elements, in parts of 2^log_batches batches for a warp each.
    /// The first ones have 2^log_ratio times as many of both.
    u32 log_length, log_batches, log_ratio;
    /// If blocks do not take chunks in turn, the first `larger` blocks have a group of `at_once`
    /// chunks. The others have one chunk less.
    u32 at_once, larger;
};

/// Chunks of which it is known whether blocks take them in turn. Only then some may be longer.
template <bool IN_TURN>
struct ChunksOf : Chunks {
    /// Where a chunk begins. The last one ends where another one would begin.
    __device__ __forceinline__ u64 start_of(u32 chunk) const {
        u32 shorter = chunk;
        if constexpr (IN_TURN) {
            u32 before = chunk < long_ones ? chunk : long_ones;
            shorter = (before << log_ratio) + (chunk - before);
        }
        return (u64)shorter << log_length;
    }
    /// The logarithm of how many elements a chunk has.
    __device__ __forceinline__ int log_length_of(u32 chunk) const {
        return (int)log_length + log_longer(chunk);
    }
    /// The logarithm of how many batches its parts have. What fills no chunk comes last.
    __device__ __forceinline__ int log_batches_of(u32 chunk) const {
        return (int)log_batches + log_longer(chunk);
    }
    /// The first of the chunks from this one on that has another length, or the number of chunks.
    __device__ __forceinline__ u32 end_of_length(u32 chunk) const {
        return IN_TURN && chunk < long_ones ? long_ones : count;
    }

private:
    __device__ __forceinline__ int log_longer(u32 chunk) const {
        return IN_TURN && chunk < long_ones ? (int)log_ratio : 0;
    }
};

}  // namespace warpfold
