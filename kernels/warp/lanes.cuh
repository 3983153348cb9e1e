// Trees whose leaves are the values that the lanes of a warp hold.
//
// Five exchanges serve up-sweep and down-sweep together. At level d a lane receives the sum of its
// sibling's 2^d lanes. If bit d of the lane's index is set, that is the left sibling: just what the
// down-sweep will need.
#pragma once
#include "warp/fast_path.cuh"
#include "warp/register_width.cuh"
#include "warp/pairs.cuh"

namespace warpfold {

template <class By, class A, int VALUES>
__device__ __forceinline__ A tree_fold_by(const By& combine, const A (&values)[VALUES]) {
    A nodes[VALUES];
#pragma unroll
    for (int i = 0; i < VALUES; i++) nodes[i] = values[i];
#pragma unroll
    for (int half = 1; half < VALUES; half *= 2) {
#pragma unroll
        for (int i = 0; i < VALUES; i += 2 * half) nodes[i] = combine(nodes[i], nodes[i + half]);
    }
    return nodes[0];
}

/// Folds VALUES values pairwise. Each is the sum of a block, neighbours in order, all of one size.
/// VALUES is a power of two.
template <class Operator, class A, int VALUES>
__device__ __forceinline__ A tree_fold(const A (&values)[VALUES]) {
    bool unsure = false;
    A sum = tree_fold_by(FastPath<Operator>{unsure}, values);
    if constexpr (MAY_BE_UNSURE<Operator>) {
        if (unsure) sum = tree_fold_by(SlowPath<Operator>{}, values);
    }
    return sum;
}

/// Whether a run of numbers is folded by its words.
template <class Operator, class A, int RUN>
constexpr bool FOLDED_BY_WORDS =
    FOLDED_IN_PAIRS<Operator, A, RUN> || FOLDED_AT_REGISTER_WIDTH<Operator, A, RUN>;

/// Folds the words of a run, for other lanes.
template <class Operator, class A, int RUN, int WORDS>
__device__ __forceinline__ auto run_fold_of_words(const u32 (&words)[WORDS]) {
    if constexpr (FOLDED_IN_PAIRS<Operator, A, RUN>) {
        using Pairs = OnPairs<Operator, A>;
        u32 pairs[RUN / 2];
        pair_up<Pairs, A>(pairs, words);
        return Pairs::fold(tree_fold<Pairs>(pairs));
    } else {
        i32 integers[RUN];
        OnRegisterWidth<Operator, A>::extend(integers, words);
        return tree_fold<OnRegisterWidth<Operator, A>>(integers);
    }
}

/// Folds a run, for other lanes.
template <class Operator, class A, int RUN>
__device__ __forceinline__ typename RunSum<Operator, A, RUN>::Value run_fold(A (&values)[RUN]) {
    if constexpr (FOLDED_BY_WORDS<Operator, A, RUN>) {
        u32 words[RUN * sizeof(A) / 4];
        words_of_run(words, values);
        return run_fold_of_words<Operator, A, RUN>(words);
    } else {
        return tree_fold<Operator>(values);
    }
}

/// Folds a run.
template <class Operator, class A, int RUN>
__device__ __forceinline__ A sum_of_run(A (&values)[RUN]) {
    return RunSum<Operator, A, RUN>::value(run_fold<Operator>(values));
}

/// Folds several runs, side by side.
template <class Operator, class A, int ROWS, int RUN>
__device__ __forceinline__ void sums_of_runs(A (&sums)[ROWS], A (&values)[ROWS][RUN]) {
    if constexpr (MAY_BE_UNSURE<Operator>) {
        bool unsure[ROWS], any = false;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            unsure[row] = false;
            sums[row] = tree_fold_by(FastPath<Operator>{unsure[row]}, values[row]);
            any |= unsure[row];
        }
        if (!any) return;
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            if (unsure[row]) sums[row] = tree_fold_by(SlowPath<Operator>{}, values[row]);
    } else {
#pragma unroll
        for (int row = 0; row < ROWS; row++) sums[row] = sum_of_run<Operator>(values[row]);
    }
}

/// The fold of everything before some position. Absent if there is nothing before it.
template <class Operator, class A>
struct Prefix {
    A value;
    bool present;

    /// Gives an absent prefix, which mostly holds the identity, a usual value instead. No result
    /// depends on either, but the fast path combines what is there. Of an identity such as infinity
    /// or 0 it may be unsure, and the slow path would run for nothing.
    __device__ __forceinline__ void fill(const A& usual) {
        if constexpr (MAY_BE_UNSURE<Operator>) value = choose(present, value, usual);
    }
    __device__ __forceinline__ void append(const A& sum) {
        fill(sum);
        value = choose(present, Operator::combine(value, sum), sum);
        present = true;
    }
    /// Appends if `follows`, without a branch.
    __device__ __forceinline__ void append_if(bool follows, const A& sum) {
        append_if(Combine<Operator>{}, follows, sum);
    }
    template <class By>
    __device__ __forceinline__ void append_if(const By& combine, bool follows, const A& sum) {
        value = choose(follows, choose(present, combine(value, sum), sum), value);
        present = present || follows;
    }
};

/// Combines a lane's value with its neighbour's, which is the left one for odd lanes.
template <class Operator, class By, class A>
__device__ __forceinline__ A combine_neighbours(const By& combine, const A& mine,
                                                const A& other, bool odd) {
    if constexpr (Operator::COMMUTATIVE) return combine(mine, other);
    else return combine(choose(odd, other, mine), choose(odd, mine, other));
}

template <class Operator, class A>
__device__ __forceinline__ A combine_neighbours(const A& mine, const A& other, bool odd) {
    return combine_neighbours<Operator>(Combine<Operator>{}, mine, other, odd);
}

/// COUNT trees at once, level by level: their exchanges do not wait for each other.
template <class Operator, class A, int LANES, int COUNT = 1>
struct LaneTrees {
    static_assert(1 <= LANES && LANES <= WARP && (LANES & (LANES - 1)) == 0);
    static constexpr int LEVELS = LOG2<LANES>;

    A siblings[LEVELS > 0 ? LEVELS : 1][COUNT];

    /// Replaces sums by those over LANES neighbouring lanes, in each of them.
    __device__ __forceinline__ void up_sweep(A (&sums)[COUNT]) {
        bool unsure = false;
        A leaves[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; k++) leaves[k] = sums[k];
        up_sweep_by(FastPath<Operator>{unsure}, sums);
        if constexpr (MAY_BE_UNSURE<Operator> && LEVELS > 0) {
            if (!any_lane(unsure)) return;
#pragma unroll
            for (int k = 0; k < COUNT; k++) sums[k] = leaves[k];
            up_sweep_by(SlowPath<Operator>{}, sums);
        }
    }

    template <class By>
    __device__ __forceinline__ void up_sweep_by(const By& combine, A (&sums)[COUNT]) {
#pragma unroll
        for (int level = 0; level < LEVELS; level++) {
            bool odd = (threadIdx.x >> level & 1) != 0;
#pragma unroll
            for (int k = 0; k < COUNT; k++) siblings[level][k] = shuffle_xor(sums[k], 1 << level);
#pragma unroll
            for (int k = 0; k < COUNT; k++)
                sums[k] =
                    combine_neighbours<Operator>(combine, sums[k], siblings[level][k], odd);
        }
    }

    /// Replaces the prefixes of the first of the LANES by that of this lane.
    __device__ __forceinline__ void down_sweep(Prefix<Operator, A> (&prefixes)[COUNT]) const {
        bool unsure = false;
        Prefix<Operator, A> first[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            if constexpr (LEVELS > 0) prefixes[k].fill(siblings[LEVELS - 1][k]);
            first[k] = prefixes[k];
        }
        down_sweep_by(FastPath<Operator>{unsure}, prefixes);
        if constexpr (MAY_BE_UNSURE<Operator>) {
            if (!unsure) return;
#pragma unroll
            for (int k = 0; k < COUNT; k++) prefixes[k] = first[k];
            down_sweep_by(SlowPath<Operator>{}, prefixes);
        }
    }

    template <class By>
    __device__ __forceinline__ void down_sweep_by(const By& combine,
                                                  Prefix<Operator, A> (&prefixes)[COUNT]) const {
#pragma unroll
        for (int level = LEVELS - 1; level >= 0; level--) {
            bool follows = (threadIdx.x >> level & 1) != 0;
#pragma unroll
            for (int k = 0; k < COUNT; k++)
                prefixes[k].append_if(combine, follows, siblings[level][k]);
        }
    }

    __device__ __forceinline__ A up_sweep(A sum) {
        A sums[1] = {sum};
        up_sweep(sums);
        return sums[0];
    }
    template <class By>
    __device__ __forceinline__ A up_sweep_by(const By& combine, A sum) {
        A sums[1] = {sum};
        up_sweep_by(combine, sums);
        return sums[0];
    }
    /// An up-sweep that returns to the first `count` lanes, a power of two, the sum over these.
    __device__ __forceinline__ A up_sweep_over(const A& leaf, int count) {
        bool unsure = false;
        A sum = up_sweep_over_by(FastPath<Operator>{unsure}, leaf, count);
        if constexpr (MAY_BE_UNSURE<Operator> && LEVELS > 0) {
            if (any_lane(unsure)) sum = up_sweep_over_by(SlowPath<Operator>{}, leaf, count);
        }
        return sum;
    }
    template <class By>
    __device__ __forceinline__ A up_sweep_over_by(const By& combine, A sum, int count) {
        A of_first = sum;
#pragma unroll
        for (int level = 0; level < LEVELS; level++) {
            siblings[level][0] = shuffle_xor(sum, 1 << level);
            sum = combine_neighbours<Operator>(combine, sum, siblings[level][0],
                                               (threadIdx.x >> level & 1) != 0);
            of_first = choose(count >> level == 2, sum, of_first);
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

/// The trees over ROWS rows. Every lane holds one leaf of each.
///
/// A tree for each row would take 5 exchanges and 5 combinations a lane, and each lane would learn
/// every sum. One sum a lane is enough. So at level d, two lanes that differ in bit d divide the
/// rows that are left. The lane with the bit set keeps the odd ones, the other one the even ones;
/// each gives away the rest. 8 rows take 4 + 2 + 1 exchanges, and then 1 + 1 as in a tree. The
/// down-sweep gives the rows back in the same steps. The bracketing is the tree's.
template <class Operator, class A, int ROWS>
struct RowsTree {
    static_assert(1 <= ROWS && ROWS <= WARP && (ROWS & (ROWS - 1)) == 0);
    static constexpr int LEVELS = LOG2<WARP>;

    /// Of each node that the lane made, its left child. Where rows are no longer divided: the other
    /// child, which is the left one for odd lanes.
    A lefts[LEVELS][ROWS > 1 ? ROWS / 2 : 1];

    /// Leaves the sum of row l % ROWS in lane l.
    __device__ __forceinline__ A up_sweep(const A (&leaves)[ROWS]) {
        bool unsure = false;
        A sum = up_sweep_by(FastPath<Operator>{unsure}, leaves);
        if constexpr (MAY_BE_UNSURE<Operator>) {
            if (any_lane(unsure)) sum = up_sweep_by(SlowPath<Operator>{}, leaves);
        }
        return sum;
    }
    template <class By>
    __device__ __forceinline__ A up_sweep_by(const By& combine, const A (&leaves)[ROWS]) {
        A nodes[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) nodes[row] = leaves[row];
        return up_sweep_from<0>(combine, nodes);
    }

    /// The prefix of the lane's leaf in each row, given that of row l % ROWS in lane l. `present`
    /// says whether anything precedes the first row; where nothing does, nothing is known.
    __device__ __forceinline__ void down_sweep(A (&prefixes)[ROWS], const A& before,
                                               bool present) const {
        bool unsure = false;
        down_sweep_by(FastPath<Operator>{unsure}, prefixes, before, present);
        if constexpr (MAY_BE_UNSURE<Operator>) {
            if (any_lane(unsure)) down_sweep_by(SlowPath<Operator>{}, prefixes, before, present);
        }
    }
    template <class By>
    __device__ __forceinline__ void down_sweep_by(const By& combine, A (&prefixes)[ROWS],
                                                  const A& before, bool present) const {
        int lane = threadIdx.x % WARP;
        Prefix<Operator, A> first{before, present || lane % ROWS > 0};
        first.fill(lefts[LEVELS - 1][0]);
#pragma unroll
        for (int level = LEVELS - 1; level >= 0; level--)
            if (ROWS >> level <= 1)
                first.append_if(combine, (lane >> level & 1) != 0, lefts[level][0]);
        prefixes[0] = first.value;
        down_sweep_from<LEVELS - 1>(combine, prefixes, first.present);
    }

private:
    // Each level is a function of its own. In a loop over levels compilers do not always unroll the
    // loop over the rows that are left, and then these lie in local memory.

    template <int LEVEL, class By>
    __device__ __forceinline__ A up_sweep_from(const By& combine, A (&leaves)[ROWS]) {
        constexpr int LEFT = ROWS >> LEVEL;
        bool odd = (threadIdx.x >> LEVEL & 1) != 0;
        if constexpr (LEFT > 1) {
#pragma unroll
            for (int i = 0; i < LEFT; i += 2) {
                A mine = choose(odd, leaves[i + 1], leaves[i]);
                A other = shuffle_xor(choose(odd, leaves[i], leaves[i + 1]), 1 << LEVEL);
                lefts[LEVEL][i / 2] = choose(odd, other, mine);
                leaves[i / 2] = combine_neighbours<Operator>(combine, mine, other, odd);
            }
        } else {
            lefts[LEVEL][0] = shuffle_xor(leaves[0], 1 << LEVEL);
            leaves[0] = combine_neighbours<Operator>(combine, leaves[0], lefts[LEVEL][0], odd);
        }
        if constexpr (LEVEL + 1 < LEVELS) return up_sweep_from<LEVEL + 1>(combine, leaves);
        else return leaves[0];
    }

    /// Gives the rows back. `present` says whether anything precedes the first leaf of the first.
    template <int LEVEL, class By>
    __device__ __forceinline__ void down_sweep_from(const By& combine, A (&prefixes)[ROWS],
                                                    bool present) const {
        bool odd = (threadIdx.x >> LEVEL & 1) != 0;
#pragma unroll
        for (int i = (ROWS >> LEVEL) - 2; i >= 0; i -= 2) {
            A even = prefixes[i / 2], left = lefts[LEVEL][i / 2];
            A next = combine(even, left);
            // Of all these only the first leaf of the first row may have nothing before it.
            if (i == 0) next = choose(present, next, left);
            A other = shuffle_xor(choose(odd, even, next), 1 << LEVEL);
            prefixes[i] = choose(odd, other, even);
            prefixes[i + 1] = choose(odd, next, other);
        }
        if constexpr (LEVEL > 0) down_sweep_from<LEVEL - 1>(combine, prefixes, present);
    }
};

template <class Operator, class A, int FIRST, int LAST, class By, int ROWS>
__device__ __forceinline__ A fold_rows_by(const By& combine, const A (&leaves)[ROWS]) {
    if constexpr (FIRST == LAST) {
        return leaves[0];
    } else {
        constexpr int HALF = ROWS > 1 ? ROWS / 2 : 1;
        bool odd = (threadIdx.x >> FIRST & 1) != 0;
        A sums[HALF];
#pragma unroll
        for (int i = 0; i < HALF; i++) {
            const A &even = leaves[2 * i % ROWS], &next = leaves[(2 * i + 1) % ROWS];
            A other = shuffle_xor(choose(odd, even, next), 1 << FIRST);
            sums[i] = combine_neighbours<Operator>(combine, choose(odd, next, even), other, odd);
        }
        return fold_rows_by<Operator, A, FIRST + 1, LAST>(combine, sums);
    }
}

/// Levels FIRST to LAST - 1 of the up-sweep of `RowsTree`. `leaves` are what lane l knows of the
/// rows whose numbers have the lower FIRST bits of l. It gets that of the one whose number has its
/// lower LAST bits, summed over the lanes that differ in bits FIRST to LAST - 1.
template <class Operator, class A, int FIRST, int LAST, int ROWS>
__device__ __forceinline__ A fold_rows(const A (&leaves)[ROWS]) {
    bool unsure = false;
    A sum = fold_rows_by<Operator, A, FIRST, LAST>(FastPath<Operator>{unsure}, leaves);
    if constexpr (MAY_BE_UNSURE<Operator> && FIRST < LAST) {
        if (any_lane(unsure))
            sum = fold_rows_by<Operator, A, FIRST, LAST>(SlowPath<Operator>{}, leaves);
    }
    return sum;
}

/// A binary counter over the sums of blocks of one size, as they come. If bit l of the count is
/// set, lane l holds the sum of the 2^l blocks that ended last. These are the aligned blocks of
/// what was pushed.
template <class Operator, class A>
struct LaneCounter {
    A digit;
    u32 count;

    /// Pushes one more block, or 2^level blocks at once if the count is a multiple of that. Whole
    /// warps call; the sum is in each lane. Returns the sum of the largest block that ends here.
    __device__ __forceinline__ A push(A sum, int level = 0) {
        int lane = threadIdx.x % WARP;
        u32 after = count + (1u << level);
        for (; (count >> level & 1) != 0; level++)
            sum = Operator::combine(shuffle(digit, level), sum);
        if (lane == level) digit = sum;
        count = after;
        return sum;
    }

    /// Everything pushed, appended to what precedes it.
    __device__ __forceinline__ Prefix<Operator, A> prefix(Prefix<Operator, A> before) const {
        for (u32 rest = count; rest != 0;) {
            int level = 31 - __clz(rest);
            before.append(shuffle(digit, level));
            rest ^= 1u << level;
        }
        return before;
    }
};

}  // namespace warpfold
