// The tree over a run: the neighbouring elements that one lane holds.
#pragma once
#include "block/blelloch.cuh"
#include "warp/lanes.cuh"

namespace warpfold {

template <class Operator, class T, int RUN>
struct RunTree {
    using A = AccumulatorOf<T>;

    A node[RUN];

    __device__ __forceinline__ void up_sweep(const Run<T, RUN>& run) {
#pragma unroll
        for (int i = 0; i < RUN; i++) node[i] = Fold<T>::widen(run.items[i]);
        run_up_sweep<Operator, true>(node, RUN);
    }

    __device__ __forceinline__ A sum() const { return node[RUN - 1]; }

    /// The scan, given what precedes the run and, for inclusive ones, what precedes the next.
    /// `init` is shown where there is no prefix.
    __device__ __forceinline__ MovedRun<T, RUN> down_sweep(const Prefix<Operator, A>& prefix, const A& next, const A& init, bool inclusive) {
        run_down_sweep<Operator, true>(node, RUN, prefix.value, prefix.present);
        if (!inclusive) node[0] = choose(prefix.present, node[0], init);
        T items[RUN];
        if (inclusive) {
#pragma unroll
            for (int i = 0; i < RUN; i++) items[i] = Fold<T>::narrow(i + 1 < RUN ? node[(i + 1) % RUN] : next);
            return pack_run(items);
        }
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = Fold<T>::narrow(node[i]);
        return pack_run(items);
    }
};

}  // namespace warpfold
