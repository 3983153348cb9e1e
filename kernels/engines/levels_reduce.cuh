// The levels engine for reductions: the sums of whole tiles, and the fold of what is left.
//
// `reduce_tiles` gives the sum S(tile) of every complete tile. The same kernel reduces these sums
// again, until less than a tile is left at the top. The end of a launch is the barrier between
// blocks. `reduce_finish` then folds the remainders, the top level first:
//
//   level 2   ......                     prefix of the last sums
//   level 1   .......................    ⊕ the sums that filled no tile
//   level 0   .......................…   ⊕ the elements that filled no tile
//
// That is the prefix over the aligned blocks of the whole length, left to right.
#pragma once
#include "block/blelloch.cuh"
#include "block/tile.cuh"
#include "warp/lanes.cuh"

namespace warpfold {

/// Sums whole tiles of THREADS * ITEMS elements: `sums[b]` gets the sum of tile b, one block a
/// tile.
///
/// A warp reads rows of 32 short runs, one a lane, so that each access is coalesced. It folds the
/// tree in the order of its levels: run, row, rows of a warp, warps.
template <class Operator, class Source, int THREADS, int ITEMS>
struct TileReducer {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    static constexpr int WARPS = THREADS / WARP;
    static constexpr int TILE = THREADS * ITEMS;

    /// The shortest run that whole 16-byte words tile, without holding more than 64 bytes.
    static __device__ constexpr int run_items() {
        int items = 16 / word_bytes((int)sizeof(T));
        while (items > 1 && items * (int)sizeof(T) > 64) items /= 2;
        return items < ITEMS ? items : ITEMS;
    }
    static constexpr int RUN = run_items();
    static constexpr int ROWS = ITEMS / RUN;
    using R = Run<T, RUN>;

    struct Shared {
        PaddedArray<A, WARPS> warp_sums;
    };

    template <int BYTES>
    static __device__ __forceinline__ void load_words(R (&rows)[ROWS], const T* from) {
        constexpr int WORDS = R::BYTES / BYTES;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const Word<BYTES>* words =
                reinterpret_cast<const Word<BYTES>*>(from + row * WARP * RUN);
#pragma unroll
            for (int i = 0; i < WORDS; i++) rows[row].template words<BYTES>()[i] = words[i];
        }
    }

    static __device__ __forceinline__ void load(R (&rows)[ROWS], const Slice<T>& source, u64 from) {
        if (is_aligned(source.data, R::WIDE)) load_words<R::WIDE>(rows, source.data + from);
        else load_words<R::NARROW>(rows, source.data + from);
    }
    template <class S>
    static __device__ __forceinline__ void load(R (&rows)[ROWS], const S& source, u64 from) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < RUN; i++)
                rows[row].items[i] = source.at(from + row * WARP * RUN + i);
        }
    }

    static __device__ __forceinline__ void reduce(const Source& source, A* sums) {
        auto& warp_sums = block_shared<Shared>().warp_sums;
        int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

        R rows[ROWS];
        load(rows, source, (u64)blockIdx.x * TILE + warp * (WARP * ITEMS) + lane * RUN);

        A row_sums[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            A values[RUN];
#pragma unroll
            for (int i = 0; i < RUN; i++) values[i] = Fold<T>::widen(rows[row].items[i]);
            row_sums[row] = LaneTree<Operator, A, WARP>().up_sweep(tree_fold<Operator>(values));
        }
        A warp_sum = tree_fold<Operator>(row_sums);
        if (lane == 0) warp_sums.set(warp, warp_sum);
        __syncthreads();

        if (warp == 0) {
            A sum = LaneTree<Operator, A, WARPS>().up_sweep(warp_sums.get(lane % WARPS));
            if (lane == 0) sums[blockIdx.x] = sum;
        }
    }
};

/// Folds `prefix`, if present, with fewer than a tile of elements. One block; every thread gets the
/// result.
template <class Operator, class Source, int THREADS, int ITEMS>
struct RemainderFolder {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;

    struct Shared {
        StagedTile<T, THREADS, ITEMS> tile;
        BlockTree<Operator, A, THREADS> tree;
    };

    static __device__ __noinline__ A fold(Shared& shared, const Source& source, u64 from,
                                          int length, A prefix, bool present) {
        shared.tile.load(source, from, length);
        __syncthreads();

        int valid = length - (int)threadIdx.x * ITEMS;
        auto run = shared.tile.read_run(valid);
        A node[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; i++) node[i] = Fold<T>::widen(run.items[i]);
        run_up_sweep<Operator, false>(node, valid);
        shared.tree.nodes.set(threadIdx.x, node[ITEMS - 1]);
        shared.tree.scan(length / ITEMS, prefix, present);

        // The result is the prefix of the end of the elements. One thread's run holds that
        // position; the aligned blocks between the run's start and it are nodes of the run's tree.
        if (0 <= valid && valid < ITEMS) {
            A sum = shared.tree.nodes.get(threadIdx.x);
            bool has_sum = present || threadIdx.x > 0;
#pragma unroll
            for (int half = ITEMS / 2; half >= 1; half /= 2) {
                if ((valid & half) != 0) {
                    // Compare to choose: an index known only at run time would move the array out
                    // of the registers.
                    A block = node[half - 1];
#pragma unroll
                    for (int i = half - 1; i < ITEMS; i += 2 * half)
                        if (i == (valid & -2 * half) + half - 1) block = node[i];
                    sum = has_sum ? Operator::combine(sum, block) : block;
                    has_sum = true;
                }
            }
            shared.tree.total = sum;
        }
        __syncthreads();
        A result = shared.tree.total;
        __syncthreads();
        return result;
    }
};

/// The reduction of `in`, given the sums of its complete tiles, of their complete tiles, and so on.
/// These lie one after the other in `levels`; each level starts at a multiple of 16 bytes. `init`
/// precedes everything if `seeded`. It is the result for an empty input in any case.
template <class Operator, class Source, class TilePolicy, class SumPolicy>
struct ReduceFinisher {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    static constexpr int MAX_LEVELS = 8;
    using Elements = RemainderFolder<Operator, Source, TilePolicy::THREADS, TilePolicy::ITEMS>;
    using Sums = RemainderFolder<Operator, Slice<A>, SumPolicy::THREADS, SumPolicy::ITEMS>;
    static_assert(TilePolicy::THREADS == SumPolicy::THREADS, "one block works on both");

    union Shared {
        typename Elements::Shared elements;
        typename Sums::Shared sums;
    };

    static __device__ __forceinline__ void finish(const Source& source, u64 length, const A* levels,
                                                  T* out, A init, bool seeded) {
        auto& shared = block_shared<Shared>();

        const A* level[MAX_LEVELS];
        u64 lengths[MAX_LEVELS];
        int top = 0;
        u64 count = length / (TilePolicy::THREADS * TilePolicy::ITEMS);
        const unsigned char* next = reinterpret_cast<const unsigned char*>(levels);
        while (count > 0) {
            top++;
            level[top] = reinterpret_cast<const A*>(next);
            lengths[top] = count;
            next += (count * sizeof(A) + 15) / 16 * 16;
            count /= SumPolicy::THREADS * SumPolicy::ITEMS;
        }

        A result = init;
        bool present = seeded;
        for (int k = top; k > 0; k--) {
            constexpr int TILE = SumPolicy::THREADS * SumPolicy::ITEMS;
            int remainder = (int)(lengths[k] % TILE);
            if (remainder > 0) {
                result = Sums::fold(shared.sums, Slice<A>{level[k]}, lengths[k] - remainder,
                                    remainder, result, present);
                present = true;
            }
        }
        constexpr int TILE = TilePolicy::THREADS * TilePolicy::ITEMS;
        int remainder = (int)(length % TILE);
        if (remainder > 0)
            result = Elements::fold(shared.elements, source, length - remainder, remainder, result,
                                    present);
        if (threadIdx.x == 0) *out = Fold<T>::narrow(result);
    }
};

}  // namespace warpfold
