// The scan of rows: 32 runs of neighbouring elements each, one a lane, in registers.
#pragma once
#include "warp/lanes.cuh"
#include "warp/runs.cuh"

namespace warpfold {

/// The prefix of the run that follows a lane's, which after the row is `end`; only for inclusive
/// scans.
template <class Operator, class A>
__device__ __forceinline__ A prefix_of_next(const Prefix<Operator, A>& prefix, const A& end,
                                            bool inclusive) {
    if (!inclusive) return end;
    int lane = threadIdx.x % WARP;
    return choose(lane == WARP - 1, end, shuffle(prefix.value, (lane + 1) % WARP));
}

/// The trees over several rows at once, so that each step of one leaves time for the others'.
template <class Operator, class A, int RUN, int ROWS>
struct RowTrees {
    using P = Prefix<Operator, A>;

    RunTree<Operator, A, RUN> runs[ROWS];
    LaneTrees<Operator, A, WARP, ROWS> lanes;

    /// Leaves the sums of the rows in every lane.
    __device__ __forceinline__ void up_sweep(const A (&values)[ROWS][RUN], A (&sums)[ROWS]) {
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            runs[k].up_sweep(values[k]);
            sums[k] = runs[k].sum();
        }
        lanes.up_sweep(sums);
    }

    /// The scans of the same rows. `starts` are the prefixes of the rows; `ends`, wanted for
    /// inclusive scans, those of what follows each. `init` is shown where there is no prefix.
    __device__ __forceinline__ void down_sweep(A (&scanned)[ROWS][RUN], const P (&starts)[ROWS],
                                               const A (&ends)[ROWS], const A& init,
                                               bool inclusive) {
        P prefixes[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; k++) prefixes[k] = starts[k];
        lanes.down_sweep(prefixes);
#pragma unroll
        for (int k = 0; k < ROWS; k++)
            runs[k].down_sweep(scanned[k], prefixes[k],
                               prefix_of_next(prefixes[k], ends[k], inclusive), init, inclusive);
    }
};

}  // namespace warpfold
