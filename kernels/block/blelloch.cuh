// Blelloch's work-efficient scan of one tile. An up-sweep leaves the sum of every node of a
// balanced tree in the tree's place. A down-sweep turns the sums into prefixes.
//
//   Guy E. Blelloch, "Prefix Sums and Their Applications", CMU-CS-90-190, 1990.
//
// The tree's node over 2^k elements lies where its last element lay. The tree is walked in three
// storeys. They differ in where nodes live, not in what is computed:
//
//   registers       the ITEMS elements of one thread's run
//   shared memory   32 threads of a warp, synchronised by the warp alone
//   shared memory   the warps of the block
//
// Departures from the textbook, and why:
//
//   1. The root gets the prefix of everything before the tile instead of an identity, so the base
//      enters at the top and every output has the bracketing of one tree over the whole input.
//   2. Nothing is padded with identities. A node that reaches past the valid elements is never
//      computed, and the very first prefix, which does not exist, is marked absent. So the operator
//      sees elements of the input only, and -0.0 and inexact identities come out right.
//   3. A node is worked on by the thread that owns its last element, not by consecutive threads.
//      That keeps the lower five levels inside a warp, where a barrier costs next to nothing.
#pragma once
#include "block/padded.cuh"
#include "warp/fast_path.cuh"

namespace warpfold {

template <bool WHOLE, class By, class A, int ITEMS>
__device__ __forceinline__ void run_up_sweep_by(const By& combine, A (&node)[ITEMS], int valid) {
#pragma unroll
    for (int half = 1; half < ITEMS; half *= 2) {
#pragma unroll
        for (int i = 2 * half - 1; i < ITEMS; i += 2 * half)
            if (WHOLE || i < valid) node[i] = combine(node[i - half], node[i]);
    }
}

template <bool WHOLE, class By, class A, int ITEMS>
__device__ __forceinline__ void run_down_sweep_by(const By& combine, A (&node)[ITEMS], int valid,
                                                  const A& prefix, bool present) {
    node[ITEMS - 1] = prefix;
#pragma unroll
    for (int half = ITEMS / 2; half >= 1; half /= 2) {
#pragma unroll
        for (int i = 2 * half - 1; i < ITEMS; i += 2 * half) {
            A left = node[i - half], above = node[i];
            bool has_above = i >= 2 * half || present;
            node[i - half] = above;
            if (WHOLE || i - half < valid) node[i] = has_above ? combine(above, left) : left;
        }
    }
}

/// Turns the elements of a run into the sums of its subtrees. Only `valid` elements count. WHOLE
/// says that all do, and saves the tests.
template <class Operator, bool WHOLE, class A, int ITEMS>
__device__ __forceinline__ void run_up_sweep(A (&node)[ITEMS], int valid) {
    bool unsure = false;
    A leaves[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) leaves[i] = node[i];
    run_up_sweep_by<WHOLE>(FastPath<Operator>{unsure}, node, valid);
    if constexpr (MAY_BE_UNSURE<Operator>) {
        if (!unsure) return;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) node[i] = leaves[i];
        run_up_sweep_by<WHOLE>(SlowPath<Operator>{}, node, valid);
    }
}

/// Turns the sums of a run's subtrees into the exclusive prefixes of its elements. If the valid
/// part ends within the run, its end gets its prefix too. `present` says whether there is a prefix
/// at all.
template <class Operator, bool WHOLE, class A, int ITEMS>
__device__ __forceinline__ void run_down_sweep(A (&node)[ITEMS], int valid, A prefix,
                                               bool present) {
    bool unsure = false;
    A sums[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) sums[i] = node[i];
    run_down_sweep_by<WHOLE>(FastPath<Operator>{unsure}, node, valid, prefix, present);
    if constexpr (MAY_BE_UNSURE<Operator>) {
        if (!unsure) return;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) node[i] = sums[i];
        run_down_sweep_by<WHOLE>(SlowPath<Operator>{}, node, valid, prefix, present);
    }
}

/// The tree over the threads of a block: one node a thread.
template <class Operator, class A, int THREADS>
struct BlockTree {
    static constexpr int WARPS = THREADS / WARP;
    static_assert(THREADS % WARP == 0 && (WARPS & (WARPS - 1)) == 0 && WARPS <= WARP,
                  "a block has 1, 2, 4, … 32 warps");

    PaddedArray<A, THREADS> nodes;
    A total;

    /// Up-sweep over COUNT nodes, STRIDE slots apart, by COUNT lanes of one warp. The first
    /// `complete` nodes hold sums, the others nothing.
    template <int COUNT, int STRIDE>
    __device__ __forceinline__ void up_sweep(int first, int lane, int complete) {
        int slot = first + (lane + 1) * STRIDE - 1;
#pragma unroll
        for (int half = 1; half < COUNT; half *= 2) {
            bool owner = lane < complete && (lane & (2 * half - 1)) == 2 * half - 1;
            if (owner)
                nodes.set(slot,
                          Operator::combine(nodes.get(slot - half * STRIDE), nodes.get(slot)));
            __syncwarp();
        }
    }

    /// Down-sweep over the same nodes, whose last slot holds the prefix of them all, if `present`.
    template <int COUNT, int STRIDE>
    __device__ __forceinline__ void down_sweep(int first, int lane, int complete, bool present) {
        int slot = first + (lane + 1) * STRIDE - 1;
#pragma unroll
        for (int half = COUNT / 2; half >= 1; half /= 2) {
            if (lane < COUNT && (lane & (2 * half - 1)) == 2 * half - 1) {
                A left = nodes.get(slot - half * STRIDE), above = nodes.get(slot);
                bool has_above = lane >= 2 * half || present;
                nodes.set(slot - half * STRIDE, above);
                if (lane - half < complete)
                    nodes.set(slot, has_above ? Operator::combine(above, left) : left);
            }
            __syncwarp();
        }
    }

    /// Replaces the sums of the first `complete` threads' runs, in `nodes`, by the prefixes of the
    /// starts of these runs. If all are complete, `total` gets the sum of all. The other nodes
    /// count for nothing, but must have been set too, since they are moved about. `seed` precedes
    /// the tile if `seeded`. Synchronises the block before and after.
    __device__ __forceinline__ void scan(int complete, const A& seed, bool seeded) {
        int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        int complete_lanes = complete - warp * WARP;
        __syncwarp();
        up_sweep<WARP, 1>(warp * WARP, lane, complete_lanes);
        __syncthreads();
        if (warp == 0) {
            int complete_warps = complete / WARP;
            up_sweep<WARPS, WARP>(0, lane, complete_warps);
            if (lane == 0) {
                if (complete == THREADS) total = nodes.get(THREADS - 1);
                if (seeded) nodes.set(THREADS - 1, seed);
            }
            __syncwarp();
            down_sweep<WARPS, WARP>(0, lane, complete_warps, seeded);
        }
        __syncthreads();
        down_sweep<WARP, 1>(warp * WARP, lane, complete_lanes, seeded || warp > 0);
        __syncthreads();
    }
};

}  // namespace warpfold
