// The block engine for reductions: up to a few thousand elements by one block, in the law's order.
//
// Such a launch takes about as long as the GPU takes to start it, to read memory once and to write
// a result. What counts besides is how many steps follow each other, and how many instructions the
// GPU must fetch for them. So there is little code, and a lane has just one run of neighbours:
//
//   run     each lane folds its own, as a tree in registers
//   part    32 runs: a warp's tree over its lanes
//   block   the last warp's tree over the parts, and what fills none
//
// The input ends somewhere in the last warp's part. Before that place lie aligned blocks, one for
// each bit of its number. The last warp appends them to each other, the largest first.
#pragma once
#include "block/blelloch.cuh"
#include "block/padded.cuh"
#include "engines/block_input.cuh"

namespace warpfold {

/// The sums of aligned blocks of 2^l leaves, one a lane, for l up to LEVELS. The first lane of a
/// block has the block's sum. What other lanes compute, nothing reads.
template <class Operator, class A, int LEVELS>
struct LaneBlocks {
    A sums[LEVELS + 1];

    __device__ __forceinline__ explicit LaneBlocks(const A& leaf) {
        sums[0] = leaf;
        bool unsure = false;
        fold_by(FastPath<Operator>{unsure});
        if constexpr (MAY_BE_UNSURE<Operator>) {
            if (any_lane(unsure)) fold_by(SlowPath<Operator>{});
        }
    }
    template <class By>
    __device__ __forceinline__ void fold_by(const By& combine) {
#pragma unroll
        for (int level = 0; level < LEVELS; level++)
            sums[level + 1] = combine(sums[level], shuffle_xor(sums[level], 1 << level));
    }

    /// Of the aligned blocks that lie before leaf `place`, the one of 2^level leaves: bit `level`
    /// of `place` is set.
    __device__ __forceinline__ A before(int place, int level) const {
        return shuffle(sums[level], place >> (level + 1) << (level + 1));
    }
};

template <class Operator, class Source, class Policy>
struct BlockReducer {
    static constexpr int RUN = Policy::RUN, LOG_RUN = LOG2<RUN>, LANES = LOG2<WARP>;
    using Input = BlockInput<Source, RUN>;
    using A = typename Input::A;
    using P = Prefix<Operator, A>;

    struct Shared {
        PaddedArray<A, Policy::WARPS> parts;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Input input;

    /// Appends the elements to what precedes them. Returns whether this warp has the result.
    __device__ __forceinline__ bool run(P& result) const {
        constexpr u32 PART = Input::PART;
        int warp = warp_index();
        u32 length = input.length, rest = length - (u32)warp * PART;
        if (length == 0) return true;
        bool whole = rest >= PART;
        A run[RUN];
        input.load(run, (u32)warp * PART);
        run_up_sweep<Operator, true>(run, RUN);
        LaneBlocks<Operator, A, LANES> lanes(run[RUN - 1]);
        if (whole && threadIdx.x % WARP == 0) shared().parts.set(warp, lanes.sums[LANES]);
        // Of the last part, unless it is whole. They are fetched while the others are waited for.
        int runs = whole ? 0 : (int)(rest / RUN), items = (int)(rest % RUN);
        A of_lanes[LANES], of_run[LOG_RUN > 0 ? LOG_RUN : 1];
#pragma unroll
        for (int level = 0; level < LANES; level++) of_lanes[level] = lanes.before(runs, level);
#pragma unroll
        for (int level = 0; level < LOG_RUN; level++)
            of_run[level] = shuffle(before(run, items, level), runs);
        __syncthreads();
        if (rest > PART) return false;
        append_parts(result, (int)(length / PART));
        if (whole) return true;
#pragma unroll
        for (int level = LANES - 1; level >= 0; level--)
            if ((runs >> level & 1) != 0) result.append(of_lanes[level]);
#pragma unroll
        for (int level = LOG_RUN - 1; level >= 0; level--)
            if ((items >> level & 1) != 0) result.append(of_run[level]);
        return true;
    }

    /// Of the aligned blocks that lie before item `place` of a run that has been folded, the one of
    /// 2^level items: bit `level` of `place` is set.
    static __device__ __forceinline__ A before(const A (&run)[RUN], int place, int level) {
        int block = 1 << level;
        A sum = run[block - 1];
#pragma unroll
        for (int first = 2 * block; first < RUN; first += 2 * block)
            sum = choose(place >= first, run[first + block - 1], sum);
        return sum;
    }

    /// Appends the parts that are whole.
    static __device__ __forceinline__ void append_parts(P& result, int whole) {
        constexpr int LEVELS = LOG2<Policy::WARPS>;
        if (whole == 0) return;
        int lane = threadIdx.x % WARP;
        LaneBlocks<Operator, A, LEVELS> parts(shared().parts.get(lane < whole ? lane : 0));
#pragma unroll
        for (int level = LEVELS; level >= 0; level--)
            if ((whole >> level & 1) != 0) result.append(parts.before(whole, level));
    }
};

}  // namespace warpfold
