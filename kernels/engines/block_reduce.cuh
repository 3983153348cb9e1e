// The block engine: a reduction of up to a few thousand elements by one block, in the law's order.
//
// Such a launch takes about as long as the GPU takes to start it, to read memory once and to write
// a result. What counts besides is how many steps follow each other, and how many instructions the
// GPU must fetch for them. So a lane has just one run of neighbours:
//
//   run     each lane folds its own, as a tree in registers
//   part    32 runs: a warp's tree over its lanes
//   block   the last warp's tree over the parts, and what fills none
//
// The input ends somewhere in the last warp's part. Before that place lie aligned blocks, one for
// each bit of its number. The last warp appends them to each other, the largest first.
//
// In a tree over lanes, the sum of a block is in the block's first lane. What other lanes compute,
// nothing reads.
#pragma once
#include "block/blelloch.cuh"
#include "block/padded.cuh"
#include "source/source_rows.cuh"

namespace warpfold {

/// The sums of aligned blocks of 2^l leaves, one a lane, for l up to LEVELS.
template <class Operator, class A, int LEVELS>
struct LaneBlocks {
    A sums[LEVELS + 1];

    __device__ __forceinline__ explicit LaneBlocks(const A& leaf) {
        sums[0] = leaf;
#pragma unroll
        for (int level = 0; level < LEVELS; level++)
            sums[level + 1] =
                Operator::combine(sums[level], shuffle_xor(sums[level], 1 << level));
    }

    /// The block of 2^level leaves that ends before leaf `place`, or where a block ends that ends
    /// there: bit `level` of `place` is set.
    __device__ __forceinline__ A before(int place, int level) const {
        return shuffle(sums[level], place >> (level + 1) << (level + 1));
    }
};

template <class Operator, class Source, class Policy>
struct BlockReducer {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    using P = Prefix<Operator, A>;
    static constexpr int RUN = Policy::RUN, PART = WARP * RUN, LOG_RUN = LOG2<RUN>;
    using Rows = SourceRows<Source, RUN, 1>;

    struct Shared {
        PaddedArray<A, Policy::WARPS> parts;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Source source;
    u32 length;

    /// Prefetches the warp's part, before the launch begins.
    __device__ __forceinline__ void prefetch() const {
        source.prefetch(length, threadIdx.x / WARP * PART, PART, threadIdx.x % WARP == 0);
    }

    /// Appends the elements to what precedes them. Returns whether this warp has the result.
    __device__ __forceinline__ bool run(P& result) const {
        int warp = warp_index();
        u32 start = (u32)warp * PART, rest = length - start;
        bool whole = rest >= PART;
        if (length == 0) return true;
        A run[RUN];
        load(run, start, whole);
        run_up_sweep<Operator, true>(run, RUN);
        LaneBlocks<Operator, A, LOG2<WARP>> lanes(run[RUN - 1]);
        if (whole && threadIdx.x % WARP == 0) shared().parts.set(warp, lanes.sums[LOG2<WARP>]);
        // Of the last part, unless it is whole. They are fetched while the others are waited for.
        int runs = whole ? 0 : (int)(rest / RUN), items = (int)(rest % RUN);
        A of_lanes[LOG2<WARP>], of_run[LOG_RUN > 0 ? LOG_RUN : 1];
#pragma unroll
        for (int level = 0; level < LOG2<WARP>; level++)
            of_lanes[level] = lanes.before(runs, level);
#pragma unroll
        for (int level = 0; level < LOG_RUN; level++)
            of_run[level] = shuffle(before(run, items, level), runs);
        __syncthreads();
        if (rest > PART) return false;
        append_parts(result, (int)(length / PART));
        if (whole) return true;
#pragma unroll
        for (int level = LOG2<WARP> - 1; level >= 0; level--)
            if ((runs >> level & 1) != 0) result.append(of_lanes[level]);
#pragma unroll
        for (int level = LOG_RUN - 1; level >= 0; level--)
            if ((items >> level & 1) != 0) result.append(of_run[level]);
        return true;
    }

    /// The elements of a lane's run. Those after the last are the last one.
    __device__ __forceinline__ void load(A (&run)[RUN], u32 start, bool whole) const {
        if (whole && !(Rows::SHIFTS && Rows::shifts(source, start))) {
            Rows rows;
            rows.load(source, start, 0, WARP - 1, false);
#pragma unroll
            for (int i = 0; i < RUN; i++) run[i] = Fold<T>::widen(rows.item(0, i));
        } else {
            u32 first = start + threadIdx.x % WARP * RUN;
#pragma unroll
            for (int i = 0; i < RUN; i++)
                run[i] = Fold<T>::widen(source.at(first + i < length ? first + i : length - 1));
        }
    }

    /// The sum of the 2^level elements of a run that has been folded, which end before element
    /// `place`, or where such a block ends: bit `level` of `place` is set.
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
