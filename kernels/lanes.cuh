// Trees whose leaves are the lanes of a warp.
//
// Five exchanges serve up-sweep and down-sweep together: what a lane receives at level d is the sum of its
// sibling's 2^d lanes, and where bit d of the lane's index is set that is the left sibling, just what the
// way down will want.
#pragma once
#include "words.cuh"

namespace warpfold {

/// The fold of everything before some position; absent where there is nothing before it.
template <class Operator, class A>
struct Prefix {
    A value;
    bool present;

    __device__ __forceinline__ void append(const A& sum) {
        value = present ? Operator::combine(value, sum) : sum;
        present = true;
    }
};

/// COUNT trees at once, level by level: their exchanges do not wait for each other.
template <class Operator, class A, int LANES, int COUNT = 1>
struct LaneTrees {
    static_assert(1 <= LANES && LANES <= WARP && (LANES & (LANES - 1)) == 0);
    static constexpr int LEVELS = LANES == 1 ? 0 : LANES == 2 ? 1 : LANES == 4 ? 2 : LANES == 8 ? 3 : LANES == 16 ? 4 : 5;

    A siblings[LEVELS > 0 ? LEVELS : 1][COUNT];

    /// Replaces sums by those over LANES neighbouring lanes, in each of them.
    __device__ __forceinline__ void up_sweep(A (&sums)[COUNT]) {
#pragma unroll
        for (int level = 0; level < LEVELS; level++) {
            bool other_is_left = !Operator::COMMUTATIVE && (threadIdx.x >> level & 1) != 0;
#pragma unroll
            for (int k = 0; k < COUNT; k++) siblings[level][k] = shuffle_xor(sums[k], 1 << level);
#pragma unroll
            for (int k = 0; k < COUNT; k++) {
                A other = siblings[level][k];
                sums[k] = Operator::combine(other_is_left ? other : sums[k], other_is_left ? sums[k] : other);
            }
        }
    }

    /// Replaces the prefixes of the first of the LANES by that of this lane.
    __device__ __forceinline__ void down_sweep(Prefix<Operator, A> (&prefixes)[COUNT]) const {
#pragma unroll
        for (int level = LEVELS - 1; level >= 0; level--) {
            if ((threadIdx.x >> level & 1) == 0) continue;
#pragma unroll
            for (int k = 0; k < COUNT; k++) prefixes[k].append(siblings[level][k]);
        }
    }

    __device__ __forceinline__ A up_sweep(A sum) {
        A sums[1] = {sum};
        up_sweep(sums);
        return sums[0];
    }
    __device__ __forceinline__ Prefix<Operator, A> down_sweep(Prefix<Operator, A> prefix) const {
        Prefix<Operator, A> prefixes[1] = {prefix};
        down_sweep(prefixes);
        return prefixes[0];
    }
};

template <class Operator, class A, int LANES>
using LaneTree = LaneTrees<Operator, A, LANES, 1>;

}  // namespace warpfold
