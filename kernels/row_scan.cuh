// The scan of rows: 32 runs of neighbouring elements each, one a lane, in registers.
#pragma once
#include "lanes.cuh"
#include "runs.cuh"

namespace warpfold {

/// The prefix of the run that follows a lane's, which after the row is `end`; only for inclusive scans.
template <class Operator, class A>
__device__ __forceinline__ A prefix_of_next(const Prefix<Operator, A>& prefix, const A& end, bool inclusive) {
    if (!inclusive) return end;
    int lane = threadIdx.x % WARP;
    return choose(lane == WARP - 1, end, shuffle(prefix.value, (lane + 1) % WARP));
}

/// Scans rows, several at once, so that each step of one leaves time for the others'. `starts` are the prefixes of the
/// rows; `ends`, wanted for inclusive scans, those of what follows each. `init` is shown where there is no prefix.
template <class Operator, class T, int RUN, int ROWS, class A>
__device__ __forceinline__ void scan_rows(const Run<T, RUN> (&rows)[ROWS], MovedRun<T, RUN> (&scanned)[ROWS], const Prefix<Operator, A> (&starts)[ROWS],
                                          const A (&ends)[ROWS], const A& init, bool inclusive) {
    RunTree<Operator, T, RUN> runs[ROWS];
    A sums[ROWS];
    Prefix<Operator, A> prefixes[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        runs[k].up_sweep(rows[k]);
        sums[k] = runs[k].sum();
        prefixes[k] = starts[k];
    }
    LaneTrees<Operator, A, WARP, ROWS> trees;
    trees.up_sweep(sums);
    trees.down_sweep(prefixes);
#pragma unroll
    for (int k = 0; k < ROWS; k++) scanned[k] = runs[k].down_sweep(prefixes[k], prefix_of_next(prefixes[k], ends[k], inclusive), init, inclusive);
}

}  // namespace warpfold
