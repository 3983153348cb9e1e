// The block engine for scans: all prefixes of up to a few thousand elements by one block.
//
// As for reductions (block_reduce.cuh) little code and few steps count. Each lane has one run:
//
//   1. a warp folds its part, a tree over 32 runs, and keeps the tree
//   2. every warp makes the tree over all parts, and so learns what precedes its own
//   3. the tree over the part gives each run its prefix, and the run its results
#pragma once
#include "block/padded.cuh"
#include "engines/block_input.cuh"
#include "engines/sink.cuh"
#include "scan.cuh"

namespace warpfold {

template <PrefixSink Sink, class Source, class Policy>
struct BlockScanner {
    static constexpr int RUN = Policy::RUN, WARPS = Policy::WARPS;
    using Input = BlockInput<Source, RUN>;
    using T = typename Input::T;
    using A = typename Input::A;
    using Operator = typename Sink::Operator;
    using P = Prefix<Operator, A>;
    // One lane more than warps: its prefix is the sum of all parts.
    static_assert(WARPS < WARP);
    using PartsTree = LaneTree<Operator, A, 2 * WARPS>;

    struct Shared {
        PaddedArray<A, WARPS> parts;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Input input;
    Sink sink;

    __device__ __forceinline__ void run() const {
        if (input.length == 0) return;
        int lane = threadIdx.x % WARP, warp = warp_index(), warps = (int)(blockDim.x / WARP);
        A values[1][RUN];
        input.load(values[0], (u32)warp * Input::PART);
        RowTrees<Operator, A, RUN, 1> row;
        A sum = row.up_sweep(values);
        if (lane == 0) shared().parts.set(warp, sum);
        __syncthreads();
        // Lanes without a part take the first one's sum; nothing reads what they compute.
        PartsTree parts;
        parts.up_sweep(shared().parts.get(lane < warps ? lane : 0));
        P before = parts.down_sweep(sink.before());
        A start = shuffle(before.value, warp), after = shuffle(before.value, warp + 1);
        typename RowTrees<Operator, A, RUN, 1>::Scanned scanned[1];
        row.down_sweep(scanned, start, sink.seeded || warp > 0, after, sink.init, sink.inclusive);
        store(scanned[0].template moved<T>(), (u32)(warp * Input::PART + lane * RUN));
    }

    /// Stores the results of the run that begins with item `first`, as words if they fit.
    __device__ __forceinline__ void store(MovedRun<T, RUN> run, u32 first) const {
        using R = Run<T, RUN>;
        if constexpr (Sink::REVERSED) {
            constexpr int WORDS = R::BYTES / R::NARROW / RUN;
#pragma unroll
            for (int i = 0; i < RUN; i++) {
                if (first + i >= input.length) break;
#pragma unroll
                for (int k = 0; k < WORDS; k++)
                    reinterpret_cast<Word<R::NARROW>*>(sink.out + (sink.last - first - i))[k] =
                        run.template words<R::NARROW>()[i * WORDS + k];
            }
            return;
        }
        T* out = sink.out + first;
        if (first + RUN <= input.length && is_aligned(sink.out, R::WIDE)) {
#pragma unroll
            for (int i = 0; i < R::BYTES / R::WIDE; i++)
                reinterpret_cast<Word<R::WIDE>*>(out)[i] = run.template words<R::WIDE>()[i];
        } else {
            constexpr int WORDS = R::BYTES / R::NARROW / RUN;
#pragma unroll
            for (int i = 0; i < RUN; i++) {
                if (first + i < input.length) {
#pragma unroll
                    for (int k = 0; k < WORDS; k++)
                        reinterpret_cast<Word<R::NARROW>*>(out + i)[k] =
                            run.template words<R::NARROW>()[i * WORDS + k];
                }
            }
        }
    }
};

}  // namespace warpfold
