// The scan of rows: 32 runs of neighbouring elements each, one a lane, in registers.
#pragma once
#include "blelloch.cuh"
#include "lanes.cuh"

namespace warpfold {

/// Scans rows in place, several at once, so that each step of one leaves time for the others'. `starts` are the prefixes of the
/// rows; `ends`, wanted for inclusive scans, those of what follows each. `init` is shown where there is no prefix.
template <class Operator, class T, int RUN, int ROWS, class A>
__device__ __forceinline__ void scan_rows(Run<T, RUN> (&rows)[ROWS], const Prefix<Operator, A> (&starts)[ROWS], const A (&ends)[ROWS],
                                          const A& init, bool inclusive) {
    int lane = threadIdx.x % WARP;
    A node[ROWS][RUN], sums[ROWS];
    Prefix<Operator, A> prefixes[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
#pragma unroll
        for (int i = 0; i < RUN; i++) node[k][i] = Fold<T>::widen(rows[k].items[i]);
        run_up_sweep<Operator, true>(node[k], RUN);
        sums[k] = node[k][RUN - 1];
        prefixes[k] = starts[k];
    }
    LaneTrees<Operator, A, WARP, ROWS> trees;
    trees.up_sweep(sums);
    trees.down_sweep(prefixes);
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        A after = inclusive ? shuffle(prefixes[k].value, (lane + 1) % WARP) : init;
        run_down_sweep<Operator, true>(node[k], RUN, prefixes[k].value, prefixes[k].present);
        if (inclusive) {
            after = select(lane == WARP - 1, ends[k], after);
#pragma unroll
            for (int i = 0; i + 1 < RUN; i++) rows[k].items[i] = Fold<T>::narrow(node[k][i + 1]);
            rows[k].items[RUN - 1] = Fold<T>::narrow(after);
        } else {
            node[k][0] = select(prefixes[k].present, node[k][0], init);
#pragma unroll
            for (int i = 0; i < RUN; i++) rows[k].items[i] = Fold<T>::narrow(node[k][i]);
        }
    }
}

}  // namespace warpfold
