// Reduction of any length in one launch, where the order of its steps does not show: by operators that are exact and commute.
//
// The tree that the law asks for takes exchanges between lanes for every row of elements (reduce_once.cuh). Here each lane folds all
// that it reads by itself, and lanes, warps and blocks tell each other once.
//
//   1. The whole runs are dealt out to the warps of the grid, a batch at a time. What lies before them, until one starts at a multiple of
//      16 bytes, and after them is less than a warp of elements, of which the last block's first warp takes one a lane. So no block of
//      a grid that its input fills is left with nothing.
//   2. Nothing is combined with padding: lanes that got nothing are left out. They come after the others of their warp, and such
//      warps after the others of their block.
//   3. The last block collects the sums of the others. Where all fit the GPU at once, that is the one with the last index: the others
//      have started by then, or start before it, as on every GPU so far. Otherwise it is the one that starts last, by its ticket.
#pragma once
#include "lanes.cuh"
#include "look_back.cuh"
#include "rows.cuh"
#include "workspace.cuh"

namespace warpfold {

template <class Operator, class T, class Policy>
struct AnyOrderReducer {
    using A = AccumulatorOf<T>;
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS, BYTES = (int)sizeof(T);
    /// Runs of a batch.
    static constexpr int BATCH = ROWS * WARP;
    /// Sums of blocks that a lane reads at once.
    static constexpr int PER_LANE = sizeof(A) <= 8 ? 4 : 1;
    using Loader = RowLoader<T, RUN, ROWS>;
    /// Whether some array has no run at a multiple of 16 bytes.
    static constexpr bool SHIFTS = !Loader::TILES_WORDS || (int)alignof(T) < word_bytes(BYTES);
    using P = Prefix<Operator, A>;
    static_assert(Operator::EXACT && Operator::COMMUTATIVE);

    struct Shared {
        P warp_sums[WARP];
        u64 launch;
        bool collects;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    const T* in;
    u64 length;
    WorkspaceHeader* header;
    bool by_ticket;

    /// Appends the elements to what precedes them. Whether this block has the result, in its first thread.
    __device__ __forceinline__ bool run(P& result) const {
        if (length == 0) return true;
        bool alone = gridDim.x == 1;
        u64 magic = 0, launch = 0, ticket = blockIdx.x;
        if (!alone && threadIdx.x == 0) {
            magic = load_relaxed(&header->magic);
            launch = load_relaxed(&header->launches);
            if (by_ticket) ticket = header->take();
        }
        P sum{result.value, false};
        fold_elements(sum);
        if (alone) {
            result.append(fold_block(sum));
            return true;
        }
        if (threadIdx.x == 0) {
            if (magic != 0 && magic != WorkspaceHeader::MAGIC) trap("the workspace was not zeroed before its first use");
            if (ticket >= gridDim.x) trap("the start of the workspace was overwritten");
            shared().launch = launch;
            shared().collects = ticket == gridDim.x - 1;
        }
        __syncthreads();
        TileSums<A> sums{reinterpret_cast<u64x2*>(header + 1), WorkspaceHeader::tag(shared().launch)};
        bool collects = shared().collects;
        if (collects) collect(sums, sum);
        A total = fold_block(sum);
        if (!collects) {
            if (warp_index() == 0) sums.publish(blockIdx.x, shuffle(total, 0));
            return false;
        }
        if (threadIdx.x == 0) {
            // All others know which launch this is, or it would not have their sums.
            store_relaxed(&header->magic, (u64)WorkspaceHeader::MAGIC);
            store_relaxed(&header->tickets, (u64)0);
            store_relaxed(&header->launches, launch + 1);
        }
        result.append(total);
        return true;
    }

    /// How many elements come before the first run: until one starts at a multiple of 16 bytes; or, where none does, until the words
    /// that hold it reach no further back than the array.
    __device__ __forceinline__ u32 elements_before_runs() const {
        if constexpr (!SHIFTS && 16 % BYTES == 0) {
            return (16 - (u32)(u64)in % 16) % 16 / BYTES;
        } else {
#pragma unroll 1
            for (u32 head = 0; head < 16; head++)
                if (!Loader::shifts(in + head)) return head;
            return Loader::reaches_before(in, in) ? (15 + BYTES) / BYTES : 0;
        }
    }

    /// Appends the elements of this lane.
    __device__ __forceinline__ void fold_elements(P& sum) const {
        u32 lane = threadIdx.x % WARP, head = elements_before_runs();
        const T* from = in + head;
        bool shifted = SHIFTS && Loader::shifts(from);
        u64 runs = length > head ? (length - head) / RUN : 0;
        if (runs > 0 && shifted && Loader::reaches_beyond(from + (runs - 1) * RUN, in + length)) runs--;

        u32 batch = blockIdx.x * (blockDim.x / WARP) + warp_index(), step = gridDim.x * (blockDim.x / WARP);
        u32 whole = (u32)(runs / BATCH), rest = (u32)(runs % BATCH);
        u32 edges = blockIdx.x == gridDim.x - 1 && warp_index() == 0 ? (u32)(length - runs * RUN) : 0;
        // Under way while the rest is read.
        T edge;
        if (lane < edges) edge = in[lane < head ? lane : lane + runs * RUN];
        for (; batch < whole; batch += step) {
            A rows[ROWS];
            load(rows, from + (u64)batch * (BATCH * RUN), BATCH, shifted);
            sum.append(tree_fold<Operator>(rows));
        }
        if (batch == whole && rest > 0) {
            A rows[ROWS];
            load(rows, from + (u64)batch * (BATCH * RUN), (int)rest, shifted);
#pragma unroll
            for (int row = 0; row < ROWS; row++) sum.append_if(row * WARP + lane < rest, rows[row]);
        }
        if (lane < edges) sum.append(Fold<T>::widen(edge));
    }

    /// The sums of the runs from `from` on, of which there are `runs`. Lanes beyond them get that of the last.
    static __device__ __forceinline__ void load(A (&rows)[ROWS], const T* from, int runs, bool shifted) {
        PackedRun<T, RUN> packed[ROWS];
        Loader::load(packed, from, 0, runs - 1, shifted);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            A values[RUN];
#pragma unroll
            for (int i = 0; i < RUN; i++) values[i] = Fold<T>::widen(packed[row].get(i));
            rows[row] = tree_fold<Operator>(values);
        }
    }

    /// Appends what the other blocks published, shared out to the threads.
    static __device__ __forceinline__ void collect(const TileSums<A>& sums, P& sum) {
        u32 others = gridDim.x - 1, threads = blockDim.x;
        for (u32 first = threadIdx.x; first < others; first += PER_LANE * threads) {
            u64 blocks[PER_LANE];
            A values[PER_LANE];
#pragma unroll
            for (int k = 0; k < PER_LANE; k++) {
                u32 other = first + k * threads < others ? first + k * threads : first;
                blocks[k] = other < blockIdx.x ? other : other + 1;
            }
            sums.wait(blocks, values);
#pragma unroll
            for (int k = 0; k < PER_LANE; k++) sum.append_if(first + k * threads < others, values[k]);
        }
    }

    /// The fold of what the threads of the block hold, in the first. Synchronises the block.
    static __device__ __forceinline__ A fold_block(P sum) {
        int lane = threadIdx.x % WARP, warp = warp_index();
        auto& sums = shared().warp_sums;
        sum = fold_lanes(sum);
        if (lane == 0) sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            bool there = lane < (int)blockDim.x / WARP;
            sum = fold_lanes({sums[there ? lane : 0].value, there && sums[there ? lane : 0].present});
        }
        return sum.value;
    }

    /// The fold of what the lanes hold, in the first.
    static __device__ __forceinline__ P fold_lanes(P sum) {
        int lane = threadIdx.x % WARP, count = __popc(__ballot_sync(ALL_LANES, sum.present));
#pragma unroll
        for (int offset = 1; offset < WARP; offset *= 2) {
            A other = shuffle(sum.value, (lane + offset) % WARP);
            sum.value = choose(lane + offset < count, Operator::combine(sum.value, other), sum.value);
        }
        return sum;
    }
};

}  // namespace warpfold
