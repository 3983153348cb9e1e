// What passes from one piece of a stream to the next.
#pragma once
#include "warp/lanes.cuh"

namespace warpfold {

/// The highest bit in which two numbers differ.
__device__ __forceinline__ int first_difference(int a, int b) { return 31 - __clz(a ^ b); }

/// The sums of the aligned blocks before a position of a stream: at place l that of 2^l items, if
/// bit l of the position is set.
template <class Operator, class A>
struct Carry {
    using P = Prefix<Operator, A>;
    using Stored = typename Operand<A>::Type;
    static constexpr bool IS_KNOWN = true;

    const Stored* sums;
    u64 position;

    __device__ __forceinline__ A block(int level) const { return Operand<A>::keep(sums[level]); }

    /// What stands at a place before `origin`, the position in units of 2^level: a block's sum, or
    /// something that counts for nothing. Both are below the unit that the blocks above are made
    /// of.
    __device__ __forceinline__ A at(u32 place, u32 origin, int level, const A& nothing) const {
        int bit = first_difference(place, origin);
        bool is_first = (place & ((2u << bit) - 1)) == 0;
        return is_first ? block(level + bit) : nothing;
    }

    /// The blocks of 2^level items and more, appended to what precedes the stream. Whole warps
    /// call.
    __device__ __forceinline__ P above(int level, P before) const {
        u64 blocks = level < 64 ? position >> level << level : 0;
        int lane = threadIdx.x % WARP;
#pragma unroll 1
        for (int first = 32; first >= 0; first -= WARP) {
            u32 rest = (u32)(blocks >> first);
            if (rest == 0) continue;
            // A block a lane, so that one way to memory brings them all.
            A sum = before.value;
            if ((rest >> lane & 1) != 0) sum = block(first + lane);
#pragma unroll 1
            while (rest != 0) {
                int bit = 31 - __clz((int)rest);
                before.append(shuffle(sum, bit));
                rest ^= 1u << bit;
            }
        }
        return before;
    }
};

/// What stands before a piece of which only its own sums are wanted: nothing is known of it. Where
/// the law would put a block of it, anything may stand.
template <class Operator, class A>
struct NoCarry {
    static constexpr bool IS_KNOWN = false;

    u64 position;

    __device__ __forceinline__ A at(u32, u32, int, const A& nothing) const { return nothing; }
};

}  // namespace warpfold
