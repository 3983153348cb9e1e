// Trees in shared memory that loops walk: code that holds the operator once or a few times, however
// many nodes there are. A node lies where its last leaf lay (blelloch.cuh).
#pragma once
#include "block/blelloch.cuh"
#include "warp/lanes.cuh"

namespace warpfold {

/// Values in shared memory, STRIDE bytes from one to the next.
template <class A, int STRIDE>
struct Apart {
    unsigned char* first;

    __device__ __forceinline__ A get(int i) const { return InWords<A>::get(first + i * STRIDE); }
    __device__ __forceinline__ void set(int i, const A& value) const {
        InWords<A>::set(first + i * STRIDE, value);
    }
};

/// The tree over the leaves of one lane, which nobody else needs to walk. They lie STRIDE bytes
/// apart. Four nodes are folded at a time: fewer of them are loaded and stored again. COUNT is a
/// power of two.
template <class Operator, class A, int COUNT, int STRIDE>
struct ShareTree {
    static constexpr bool HAS_PAIR = LOG2<COUNT> % 2 != 0;

    Apart<A, STRIDE> leaves;

    /// Turns the leaves into the sums of their subtrees.
    __device__ __forceinline__ void up_sweep() const {
#pragma unroll 1
        for (int width = 1; width <= COUNT / 4; width *= 4) {
#pragma unroll 1
            for (int first = width - 1; first < COUNT; first += 4 * width)
                up_sweep_over<4>(first, width);
        }
        if constexpr (HAS_PAIR) up_sweep_over<2>(COUNT / 2 - 1, COUNT / 2);
    }

    /// Turns the sums into the leaves' prefixes. The last leaf, the root's place, has the prefix of
    /// the first, and `present` says whether there is one.
    __device__ __forceinline__ void down_sweep(bool present) const {
        if constexpr (HAS_PAIR) down_sweep_over<2>(COUNT / 2 - 1, COUNT / 2, present);
#pragma unroll 1
        for (int width = HAS_PAIR ? COUNT / 8 : COUNT / 4; width > 0; width /= 4) {
#pragma unroll 1
            for (int first = width - 1; first < COUNT; first += 4 * width)
                down_sweep_over<4>(first, width, present || first >= width);
        }
    }

private:
    template <int NODES>
    __device__ __forceinline__ void up_sweep_over(int first, int width) const {
        A nodes[NODES];
#pragma unroll
        for (int i = 0; i < NODES; i++) nodes[i] = leaves.get(first + i * width);
        run_up_sweep<Operator, true>(nodes, NODES);
#pragma unroll
        for (int i = 1; i < NODES; i += 2) leaves.set(first + i * width, nodes[i]);
    }

    template <int NODES>
    __device__ __forceinline__ void down_sweep_over(int first, int width, bool present) const {
        A nodes[NODES];
#pragma unroll
        for (int i = 0; i < NODES; i++) nodes[i] = leaves.get(first + i * width);
        run_down_sweep<Operator, true>(nodes, NODES, nodes[NODES - 1], present);
#pragma unroll
        for (int i = 0; i < NODES; i++) leaves.set(first + i * width, nodes[i]);
    }
};

/// A tree whose leaves lie STRIDE bytes apart, or some of its levels. A warp walks them. `count` is
/// the number of leaves, a power of two.
template <class Operator, class A, int STRIDE>
struct StridedTree {
    Apart<A, STRIDE> leaves;
    int count;

    /// Makes nodes of `end` leaves of those of `width`.
    __device__ __forceinline__ void up_sweep(int width, int end) const {
#pragma unroll 1
        for (; width < end; width *= 2) {
#pragma unroll 1
            for (int k = threadIdx.x % WARP; k < count / (2 * width); k += WARP) {
                A right = node(2 * k + 1, width);
                set_node(2 * k + 1, width, Operator::combine(node(2 * k, width), right));
            }
            __syncwarp();
        }
    }

    /// Turns the prefixes of nodes of `end` leaves into those of `width`. `present` says whether
    /// the first has one.
    __device__ __forceinline__ void down_sweep(int width, int end, bool present) const {
#pragma unroll 1
        for (end /= 2; end >= width; end /= 2) {
#pragma unroll 1
            for (int k = threadIdx.x % WARP; k < count / (2 * end); k += WARP) {
                A left = node(2 * k, end);
                Prefix<Operator, A> prefix{node(2 * k + 1, end), present || k > 0};
                set_node(2 * k, end, prefix.value);
                prefix.append(left);
                set_node(2 * k + 1, end, prefix.value);
            }
            __syncwarp();
        }
    }

    /// The node over `width` leaves with this number.
    __device__ __forceinline__ A node(int number, int width) const {
        return leaves.get((number + 1) * width - 1);
    }
    __device__ __forceinline__ void set_node(int number, int width, const A& value) const {
        leaves.set((number + 1) * width - 1, value);
    }
};

/// The tree over a warp's leaves, of which each lane holds COUNT neighbours in registers. `lefts`
/// is BYTES of shared memory.
template <class Operator, class A, int COUNT>
struct LaneLoopTree {
    static constexpr int LEVELS = LOG2<WARP>, BYTES = LEVELS * WARP * (int)sizeof(A);

    /// The siblings of the nodes on the way up from each lane.
    Apart<A, (int)sizeof(A)> lefts;
    A leaves[COUNT];

    /// Turns the leaves into the sums of their subtrees. Returns the sum of all.
    __device__ __forceinline__ A up_sweep() {
        int lane = threadIdx.x % WARP;
        run_up_sweep<Operator, true>(leaves, COUNT);
        A sum = leaves[COUNT - 1];
#pragma unroll 1
        for (int level = 0; level < LEVELS; level++) {
            A sibling = shuffle_xor(sum, 1 << level);
            lefts.set(level * WARP + lane, sibling);
            sum = combine_neighbours<Operator>(sum, sibling, (lane >> level & 1) != 0);
        }
        return sum;
    }

    /// Turns the sums into the leaves' prefixes, given that of the first.
    __device__ __forceinline__ void down_sweep(Prefix<Operator, A> before) {
        int lane = threadIdx.x % WARP;
#pragma unroll 1
        for (int level = LEVELS - 1; level >= 0; level--)
            before.append_if((lane >> level & 1) != 0, lefts.get(level * WARP + lane));
        run_down_sweep<Operator, true>(leaves, COUNT, before.value, before.present);
    }
};

}  // namespace warpfold
