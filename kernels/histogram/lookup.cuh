// A lookup of bins. src/primitives/histogram/lookup.rs makes it, and says what it is.
#pragma once
#include "machine/words.cuh"

namespace warpfold {

/// The sizes of a lookup: `LookupShape` on the host.
struct LookupShape {
    u64 origin;
    u32 drop, last, log_segment, segments, cells, log_bin;
};

/// The place of a number in the order of all numbers of its type: `Binned::rank`.
template <class V>
__device__ __forceinline__ auto rank_of(V x) {
    constexpr bool IS_SIGNED = (V)-1 < (V)0;
    if constexpr (sizeof(V) == 8) {
        constexpr u64 SIGN = (u64)1 << 63;
        if constexpr (!SAME<V, f64>) return IS_SIGNED ? (u64)x ^ SIGN : (u64)x;
        else return bits_of(x) ^ ((u64)((i64)bits_of(x) >> 63) | SIGN);
    } else {
        constexpr u32 SIGN = 1u << 31;
        if constexpr (SAME<V, f32>) return bits_of(x) ^ ((u32)((i32)bits_of(x) >> 31) | SIGN);
        else if constexpr (sizeof(V) == 4) return IS_SIGNED ? (u32)x ^ SIGN : (u32)x;
        else return (u32)((i32)x + (IS_SIGNED ? 1 << (8 * sizeof(V) - 1) : 0));
    }
}

/// The lookup of a block, in shared memory: for each segment where its cells begin and how many
/// numbers a cell has, and the cells, 2^log_copies copies of each.
struct Lookup {
    LookupShape shape;
    u32 log_copies;
    /// Where segments lie in shared memory, the lane's first cell, and the bytes from one to the
    /// next.
    u32 segments, own, stride;

    __device__ __forceinline__ u32 segment_words() const {
        return (2 * shape.segments + 3) / 4 * 4;
    }
    /// One cell more than there are numbers for.
    __device__ __forceinline__ u32 cell_words() const { return (shape.cells + 1 + 3) / 4 * 4; }
    __device__ __forceinline__ u32 bytes() const {
        return 4 * (segment_words() + (cell_words() << log_copies));
    }

    /// Copies one from global memory to behind `offset` bytes of shared memory, a multiple of 16.
    __device__ __forceinline__ void copy(const LookupShape& its_shape, const u32* words,
                                         u32 its_log_copies, u32 offset) {
        shape = its_shape;
        log_copies = its_log_copies;
        u32 lanes_copy = threadIdx.x & ((1u << log_copies) - 1);
        segments = offset;
        own = in_register(offset + 4 * segment_words() + 4 * lanes_copy);
        stride = 4u << log_copies;
        copy_words(offset, words, segment_words() / 4, 0);
        copy_words(offset + 4 * segment_words(), words + segment_words(), cell_words() / 4,
                   log_copies);
    }

    /// The offset of a number from the origin, as far as the lookup looks at it. That of numbers
    /// that have no bin is one that has a cell.
    template <class V>
    __device__ __forceinline__ u32 offset_of(V x) const {
        u32 offset;
        if constexpr (sizeof(V) == 8) offset = (u32)((rank_of(x) - shape.origin) >> shape.drop);
        else offset = rank_of(x) - (u32)shape.origin;
        return offset < shape.last ? offset : shape.last;
    }

    /// Where the cell of an offset lies.
    __device__ __forceinline__ u32 cell_at(u32 offset) const {
        u32 at = segments + 8 * (offset >> shape.log_segment);
        u64 segment = *reinterpret_cast<const u64*>(dynamic_shared() + at);
        return own + ((u32)segment + (offset >> (u32)(segment >> 32))) * stride;
    }
    __device__ __forceinline__ u32 cell(u32 at) const {
        return *reinterpret_cast<const u32*>(dynamic_shared() + at);
    }

    /// The lowest bits of a cell are the bin of its first number, and whether to search.
    __device__ __forceinline__ u32 bin(u32 cell) const {
        return cell & ((1u << (shape.log_bin - 1)) - 1);
    }
    __device__ __forceinline__ u32 flag() const { return 1u << (shape.log_bin - 1); }

private:
    /// Copies words of 16 bytes, each word of 4 bytes to 2^log_copies places side by side. Several
    /// loads are on their way at a time.
    static __device__ __forceinline__ void copy_words(u32 offset, const u32* from, u32 count,
                                                      u32 log_copies) {
        constexpr int AT_ONCE = 4;
        struct alignas(16) Four {
            u32 words[4];
        };
        const Four* fours = reinterpret_cast<const Four*>(from);
        u32* to = reinterpret_cast<u32*>(dynamic_shared() + offset);
        if (log_copies > 0) {
            for (u32 i = threadIdx.x; i < 4 * count << log_copies; i += blockDim.x)
                to[i] = from[i >> log_copies];
            return;
        }
        for (u32 first = threadIdx.x; first < count; first += AT_ONCE * blockDim.x) {
            Four four[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i * blockDim.x < count) four[i] = fours[first + i * blockDim.x];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i * blockDim.x < count)
                    reinterpret_cast<Four*>(to)[first + i * blockDim.x] = four[i];
        }
    }
};

}  // namespace warpfold
