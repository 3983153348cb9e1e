// The scan of rows: 32 runs of neighbouring elements each, one a lane, in registers.
#pragma once
#include "warp/lanes.cuh"
#include "warp/runs.cuh"

namespace warpfold {

/// The trees over several rows at once, so that each step of one leaves time for the others'.
template <class Operator, class A, int RUN, int ROWS>
struct RowTrees {
    using Run = RunTree<Operator, A, RUN>;
    using Scanned = typename Run::Scanned;
    using Sum = RunSum<Operator, A, RUN>;
    using V = typename Sum::Value;
    using P = Prefix<typename Sum::Operator, V>;

    Run runs[ROWS];
    RowsTree<typename Sum::Operator, V, ROWS> lanes;

    /// Returns the sum of row l % ROWS to lane l.
    __device__ __forceinline__ A up_sweep(const A (&values)[ROWS][RUN]) {
        V sums[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            runs[k].up_sweep(values[k]);
            sums[k] = runs[k].sum();
        }
        return Sum::value(lanes.up_sweep(sums));
    }

    /// The scans of the same rows. In lane l, `before` is the prefix of row l % ROWS; `after` that
    /// of what follows the last row, wanted for inclusive scans. `present` says whether anything
    /// precedes the first row; `init` is shown where nothing does.
    __device__ __forceinline__ void down_sweep(Scanned (&scanned)[ROWS], const A& before,
                                               bool present, const A& after, const A& init,
                                               bool inclusive) {
        int lane = threadIdx.x % WARP;
        V prefixes[ROWS], end = Sum::of(after);
        lanes.down_sweep(prefixes, Sum::of(before), present);
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            // An inclusive result is the prefix of the next item: for the last one of a run, of the
            // next run. After the last run of a row comes the first of the next row.
            V next = end;
            if (inclusive) {
                V given = k + 1 < ROWS ? prefixes[(k + 1) % ROWS] : end;
                next = shuffle(choose(lane == 0, given, prefixes[k]), (lane + 1) % WARP);
            }
            P prefix{prefixes[k], present || k > 0 || lane > 0};
            scanned[k] = runs[k].down_sweep(prefix, next, Sum::of(init), inclusive);
        }
    }
};

}  // namespace warpfold
