// The tree over a run: the values of the neighbouring items that one lane holds.
#pragma once
#include "block/blelloch.cuh"
#include "warp/lanes.cuh"

namespace warpfold {

template <class Operator, class A, int RUN>
struct RunTree {
    A node[RUN];

    __device__ __forceinline__ void up_sweep(const A (&values)[RUN]) {
#pragma unroll
        for (int i = 0; i < RUN; i++) node[i] = values[i];
        run_up_sweep<Operator, true>(node, RUN);
    }

    __device__ __forceinline__ A sum() const { return node[RUN - 1]; }

    /// The scan, given what precedes the run and, for inclusive ones, what precedes the next.
    /// `init` is shown where there is no prefix.
    __device__ __forceinline__ void down_sweep(A (&scanned)[RUN], const Prefix<Operator, A>& prefix,
                                               const A& next, const A& init, bool inclusive) {
        run_down_sweep<Operator, true>(node, RUN, prefix.value, prefix.present);
        if (!inclusive) node[0] = choose(prefix.present, node[0], init);
        if (inclusive) {
#pragma unroll
            for (int i = 0; i < RUN; i++) scanned[i] = i + 1 < RUN ? node[(i + 1) % RUN] : next;
            return;
        }
#pragma unroll
        for (int i = 0; i < RUN; i++) scanned[i] = node[i];
    }
};

}  // namespace warpfold
