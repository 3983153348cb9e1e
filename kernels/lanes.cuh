// Trees whose leaves are the lanes of a warp.
//
// Five exchanges serve up-sweep and down-sweep together: what a lane receives at level d is the sum of its
// sibling's 2^d lanes, and where bit d of the lane's index is set that is the left sibling, just what the
// way down will want.
#pragma once
#include "words.cuh"

namespace warpfold {

/// Folds VALUES values, each the sum of neighbouring blocks of one size, pairwise; VALUES a power of two.
template <class Operator, class A, int VALUES>
__device__ __forceinline__ A tree_fold(A (&values)[VALUES]) {
#pragma unroll
    for (int half = 1; half < VALUES; half *= 2) {
#pragma unroll
        for (int i = 0; i < VALUES; i += 2 * half) values[i] = Operator::combine(values[i], values[i + half]);
    }
    return values[0];
}

/// The fold of everything before some position; absent where there is nothing before it.
template <class Operator, class A>
struct Prefix {
    A value;
    bool present;

    __device__ __forceinline__ void append(const A& sum) {
        value = select(present, Operator::combine(value, sum), sum);
        present = true;
    }
    __device__ __forceinline__ void append_if(bool follows, const A& sum) {
        value = select(follows, select(present, Operator::combine(value, sum), sum), value);
        present = present || follows;
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
                sums[k] = Operator::combine(select(other_is_left, other, sums[k]), select(other_is_left, sums[k], other));
            }
        }
    }

    /// Replaces the prefixes of the first of the LANES by that of this lane.
    __device__ __forceinline__ void down_sweep(Prefix<Operator, A> (&prefixes)[COUNT]) const {
#pragma unroll
        for (int level = LEVELS - 1; level >= 0; level--) {
            bool follows = (threadIdx.x >> level & 1) != 0;
#pragma unroll
            for (int k = 0; k < COUNT; k++) prefixes[k].append_if(follows, siblings[level][k]);
        }
    }

    __device__ __forceinline__ A up_sweep(A sum) {
        A sums[1] = {sum};
        up_sweep(sums);
        return sums[0];
    }
    /// The same, but returns the sum over the first `count` lanes, a power of two, to those.
    __device__ __forceinline__ A up_sweep_over(A sum, int count) {
        A of_first = sum;
#pragma unroll
        for (int level = 0; level < LEVELS; level++) {
            bool other_is_left = !Operator::COMMUTATIVE && (threadIdx.x >> level & 1) != 0;
            A other = siblings[level][0] = shuffle_xor(sum, 1 << level);
            sum = Operator::combine(select(other_is_left, other, sum), select(other_is_left, sum, other));
            of_first = select(count >> level == 2, sum, of_first);
        }
        return of_first;
    }
    __device__ __forceinline__ Prefix<Operator, A> down_sweep(Prefix<Operator, A> prefix) const {
        Prefix<Operator, A> prefixes[1] = {prefix};
        down_sweep(prefixes);
        return prefixes[0];
    }
};

template <class Operator, class A, int LANES>
using LaneTree = LaneTrees<Operator, A, LANES, 1>;

/// The sums of ROWS rows, each of which lies in the lanes of a warp: that of row r in the lanes that equal r modulo ROWS.
///
/// At each level lanes that will pair up share the rows between them, so that eight rows take 4 + 2 + 1 + 1 + 1 exchanges and not forty.
template <class Operator, class A, int ROWS>
__device__ __forceinline__ A fold_rows(A (&rows)[ROWS]) {
    static_assert(1 <= ROWS && ROWS <= WARP && (ROWS & (ROWS - 1)) == 0);
#pragma unroll
    for (int distance = 1; distance < WARP; distance *= 2) {
        bool odd = (threadIdx.x & distance) != 0;
        int left = ROWS / distance / 2;
        if (left == 0) {
            A other = shuffle_xor(rows[0], distance);
            bool swap = odd && !Operator::COMMUTATIVE;
            rows[0] = Operator::combine(select(swap, other, rows[0]), select(swap, rows[0], other));
        }
#pragma unroll
        for (int k = 0; k < left; k++) {
            A kept = select(odd, rows[2 * k + 1], rows[2 * k]), given = select(odd, rows[2 * k], rows[2 * k + 1]);
            A other = shuffle_xor(given, distance);
            bool swap = odd && !Operator::COMMUTATIVE;
            rows[k] = Operator::combine(select(swap, other, kept), select(swap, kept, other));
        }
    }
    return rows[0];
}

}  // namespace warpfold
