// The rows engine for reductions in any order, by operators that are exact and commute: one launch,
// any length. The order of its steps does not show.
//
// The law's tree takes exchanges between lanes for every row of elements (rows_fold.cuh). Here
// each lane folds all that it reads by itself, and lanes, warps and blocks exchange sums once.
//
//   1. The warps of the grid share out the whole runs, a batch at a time. Less than a warp of
//      elements lies before them (until one starts at a multiple of 16 bytes), and less than a warp
//      after them. The last block's first warp takes those, one a lane. So if the input fills the
//      grid, no block is left without elements.
//   2. Nothing is combined with padding: lanes that got nothing are left out. They come after the
//      others of their warp, and such warps after the others of their block.
//   3. The last block collects the sums of the others. There are no more blocks than the GPU holds
//      at once. When it starts, the others have started, or start first: so far every GPU starts
//      blocks in that order, even where other work keeps some of them waiting.
#pragma once
#include "grid/chunks.cuh"
#include "grid/look_back.cuh"
#include "source/source_rows.cuh"

namespace warpfold {

/// Where the first run of a source starts: where no slice has to be shifted, or else where no words
/// that hold a run reach back before a slice. Fewer than a warp of items come before it.
template <class Source, int RUN, int ROWS>
struct FirstRun {
    using Rows = SourceRows<Source, RUN, ROWS>;
    static constexpr bool SHIFTS = Rows::SHIFTS;

    static __device__ __forceinline__ u32 items_before(const Source& source) {
        if constexpr (!SHIFTS) return 0;
#pragma unroll 1
        for (u32 head = 0; head < 16; head++)
            if (!Rows::shifts(source, head)) return head;
#pragma unroll 1
        for (u32 head = 0; head < 16; head++)
            if (!Rows::reaches_before(source, head, 0)) return head;
        return 16;
    }
};

template <class Made, class S, int RUN, int ROWS>
struct FirstRun<Each<Made, S>, RUN, ROWS> {
    using Inner = FirstRun<S, RUN, ROWS>;
    static constexpr bool SHIFTS = Inner::SHIFTS;

    static __device__ __forceinline__ u32 items_before(const Each<Made, S>& source) {
        return Inner::items_before(source.source);
    }
};

/// In most slices some element starts at a multiple of 16 bytes. The address says which.
template <class T, int RUN, int ROWS>
struct FirstRun<Slice<T>, RUN, ROWS> {
    using Rows = SourceRows<Slice<T>, RUN, ROWS>;
    static constexpr int BYTES = (int)sizeof(T);
    /// Whether there may be a slice without a run that starts at a multiple of 16 bytes.
    static constexpr bool SHIFTS =
        Rows::SHIFTS && (RUN * BYTES % 16 != 0 || (int)alignof(T) < word_bytes(BYTES));

    static __device__ __forceinline__ u32 items_before(const Slice<T>& source) {
        if constexpr (!SHIFTS && 16 % BYTES == 0) {
            return (16 - (u32)(u64)source.data % 16) % 16 / BYTES;
        } else {
#pragma unroll 1
            for (u32 head = 0; head < 16; head++)
                if (!Rows::shifts(source, head)) return head;
            return Rows::reaches_before(source, 0, 0) ? (15 + BYTES) / BYTES : 0;
        }
    }
};

template <class Operator, class Source, class Policy>
struct AnyOrderReducer {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS;
    /// Runs of a batch.
    static constexpr int BATCH = ROWS * WARP;
    /// Sums of blocks that a lane reads at once.
    static constexpr int PER_LANE = Policy::PER_LANE;
    using Rows = SourceRows<Source, RUN, ROWS, Policy::MOST_WARPS>;
    using Head = FirstRun<Source, RUN, ROWS>;
    using P = Prefix<Operator, A>;
    static_assert(Operator::EXACT && Operator::COMMUTATIVE);
    /// Whether lanes fold items as a function made them, each byte in a register. To hold two bytes
    /// in a word would cost more than an operator such as the least and the greatest.
    static constexpr bool FOLDED_AS_MADE =
        IS_HELD<T> && sizeof(T) == 2 && !SAME<Source, Slice<T>>;
    struct AsMade {
        static __device__ __forceinline__ T combine(const T& a, const T& b) {
            return Operator::combine_operands(a, b);
        }
    };

    struct Shared {
        P warp_sums[WARP];
        u64 tag;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Source source;
    u64 length;
    Workspace workspace;
    /// Only the law's order needs this.
    Chunks chunks;

    /// Prefetches the first batches, before the launch begins.
    __device__ __forceinline__ void prefetch() const {
        constexpr int ELEMENTS = BATCH * RUN;
        u32 warps = blockDim.x / WARP;
        u64 first = ((u64)blockIdx.x * warps + threadIdx.x / WARP) * ELEMENTS;
        bool few = (u64)gridDim.x * warps * ELEMENTS * sizeof(T) <= MOST_PREFETCHED;
        source.prefetch(length, first, ELEMENTS, few && threadIdx.x % WARP == 0);
    }

    /// Appends the elements to what precedes them. Returns whether this block has the result, in
    /// its first thread.
    __device__ __forceinline__ bool run(P& result) const {
        bool alone = gridDim.x == 1, collects = blockIdx.x == gridDim.x - 1;
        if (length == 0) return true;
        WorkspaceHeader::State state{};
        if (!alone && threadIdx.x == 0) state = workspace.header->load_state();
        P sum{result.value, false};
        fold_elements(sum);
        if (!alone && threadIdx.x == 0) workspace.require(state);
        if (!alone && collects) {
            if (threadIdx.x == 0) shared().tag = state.tag;
            __syncthreads();
            collect(sums(shared().tag), sum);
        }
        A total = fold_block(sum);
        if (!collects) {
            if (warp_index() == 0)
                sums(same_in_all_lanes(state.tag)).publish(blockIdx.x, shuffle(total, 0));
            return false;
        }
        result.append(total);
        // All other blocks have read the state: otherwise this block would not have their sums.
        if (!alone && threadIdx.x == 0) workspace.header->reset(state.tag, workspace.key);
        return true;
    }

    __device__ __forceinline__ TileSums<A, 1> sums(u64 tag) const {
        return {workspace.packets(), tag};
    }

    /// Appends the elements of this lane.
    __device__ __forceinline__ void fold_elements(P& sum) const {
        u32 lane = threadIdx.x % WARP, head = Head::items_before(source);
        bool shifted = Head::SHIFTS && Rows::shifts(source, head);
        u64 runs = length > head ? (length - head) / RUN : 0;
        if (runs > 0 && shifted && Rows::reaches_beyond(source, head + (runs - 1) * RUN, length))
            runs--;

        u32 batch = blockIdx.x * (blockDim.x / WARP) + warp_index(),
            step = gridDim.x * (blockDim.x / WARP);
        u32 whole = (u32)(runs / BATCH), rest = (u32)(runs % BATCH);
        u32 edges =
            blockIdx.x == gridDim.x - 1 && warp_index() == 0 ? (u32)(length - runs * RUN) : 0;
        // These loads are under way while the rest is read.
        T edge;
        if (lane < edges) edge = source.at(lane < head ? lane : lane + runs * RUN);
        Rows rows;
        A sums[ROWS];
        for (; batch < whole; batch += step) {
            rows.load(source, head + (u64)batch * (BATCH * RUN), 0, BATCH - 1, shifted);
            if constexpr (Policy::ONE_BY_ONE) {
                append_each(sum, rows, BATCH);
            } else {
                fold_runs(sums, rows);
                sum.append(tree_fold<Operator>(sums));
            }
        }
        if (batch == whole && rest > 0) {
            rows.load(source, head + (u64)batch * (BATCH * RUN), 0, (int)rest - 1, shifted);
            if constexpr (Policy::ONE_BY_ONE) {
                append_each(sum, rows, rest);
            } else {
                fold_runs(sums, rows);
#pragma unroll
                for (int row = 0; row < ROWS; row++)
                    sum.append_if(row * WARP + lane < rest, sums[row]);
            }
        }
        if (lane < edges) sum.append(Fold<T>::widen(edge));
    }

    /// Appends the items of so many runs one by one. The time that an operator takes may depend on
    /// its operands: the greatest common divisor of many numbers is mostly small, so that the next
    /// step is short. A tree would combine pairs of fresh numbers.
    static __device__ __forceinline__ void append_each(P& sum, const Rows& rows, u32 runs) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (row * WARP + threadIdx.x % WARP < runs) {
#pragma unroll
                for (int i = 0; i < RUN; i++) sum.append(Fold<T>::widen(rows.item(row, i)));
            }
        }
    }

    static __device__ __forceinline__ void fold_runs(A (&sums)[ROWS], const Rows& rows) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if constexpr (FOLDED_AS_MADE) {
                T values[RUN];
#pragma unroll
                for (int i = 0; i < RUN; i++) values[i] = rows.item(row, i);
                sums[row] = Fold<T>::widen(tree_fold<AsMade>(values));
            } else {
                A values[RUN];
#pragma unroll
                for (int i = 0; i < RUN; i++) values[i] = Fold<T>::widen(rows.item(row, i));
                sums[row] = sum_of_run<Operator>(values);
            }
        }
    }

    /// Appends what the other blocks published: those before this one, which is the last. The
    /// threads share out the sums. Warps stay together: a lane that has none reads the first one.
    static __device__ __forceinline__ void collect(const TileSums<A, 1>& sums, P& sum) {
        u32 others = gridDim.x - 1, threads = blockDim.x;
        for (u32 of_warp = warp_index() * WARP; of_warp < others; of_warp += PER_LANE * threads) {
            u32 first = of_warp + threadIdx.x % WARP;
            u64 blocks[PER_LANE];
            A values[PER_LANE];
#pragma unroll
            for (int k = 0; k < PER_LANE; k++)
                blocks[k] = first + k * threads < others ? first + k * threads : 0;
            sums.wait(blocks, values);
#pragma unroll
            for (int k = 0; k < PER_LANE; k++)
                sum.append_if(first + k * threads < others, values[k]);
        }
    }

    /// The fold of what the threads of the block hold; the first thread gets it. Synchronises the
    /// block.
    static __device__ __forceinline__ A fold_block(P sum) {
        int lane = threadIdx.x % WARP, warp = warp_index();
        auto& sums = shared().warp_sums;
        sum = fold_lanes(sum);
        if (lane == 0) sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            bool there = lane < (int)blockDim.x / WARP;
            sum =
                fold_lanes({sums[there ? lane : 0].value, there && sums[there ? lane : 0].present});
        }
        return sum.value;
    }

    /// The fold of what the lanes hold; the first lane gets it.
    static __device__ __forceinline__ P fold_lanes(P sum) {
        int lane = threadIdx.x % WARP, count = __popc(__ballot_sync(ALL_LANES, sum.present));
#pragma unroll
        for (int offset = 1; offset < WARP; offset *= 2) {
            A other = shuffle(sum.value, (lane + offset) % WARP);
            sum.value =
                choose(lane + offset < count, Operator::combine(sum.value, other), sum.value);
        }
        return sum;
    }
};

}  // namespace warpfold
