// Reduction of any length in one launch.
//
// The input is cut into chunks of a power of two of elements. Blocks take them one after the other and leave their sums in the
// workspace. What fills no chunk is one more task: the sums of its aligned blocks are left beside the others. The last
// block to end folds the sums of the chunks, appends those of the rest, and writes the result.
//
// A short input is the task of a single block, which needs no workspace. One that the GPU holds at once is a task for each of
// some blocks, which tell each other the sums as those of a scan do (look_back.cuh): it takes them half the time that counting
// who has ended would, with its fences.
//
// All of these are one task, which `BlockFolder` does: the sums of the aligned blocks of a range, of which a whole chunk has
// just one. A range is cut up like this:
//
//   parts      one a warp
//   batches    which a warp folds one after the other, and adds up in a binary counter
//   rows       as many as a warp holds at once, of 32 runs, one a lane
//   runs       neighbouring elements, of 16 bytes if their size allows
//
// On each of these levels the range ends at one place. What lies there before it is a number of blocks of one size, and their
// aligned blocks are the left siblings of that place: the lane that has it knows them once the level is folded.
// Places after the end are filled up with elements from before it; what those are combined to is part of no such block.
#pragma once
#include "lanes.cuh"
#include "look_back.cuh"
#include "padded.cuh"
#include "rows.cuh"
#include "workspace.cuh"

namespace warpfold {

/// The sums of aligned blocks in shared memory: entry l is that of 2^l elements.
template <class Operator, class A>
struct AlignedBlocks {
    static constexpr int LEVELS = 32;

    PaddedArray<A, LEVELS> sums;

    /// Sets the entries from `first` on to the left siblings of leaf `place` of a tree that has been folded.
    template <class Tree>
    __device__ __forceinline__ void set_siblings(const Tree& tree, int which, int place, int first) {
        bool mine = (int)(threadIdx.x % WARP) == place;
#pragma unroll
        for (int level = 0; level < Tree::LEVELS; level++)
            if (mine && (place >> level & 1) != 0) sums.set(first + level, tree.siblings[level][which]);
    }

    /// Appends the aligned blocks of `length` elements to a prefix.
    __device__ __forceinline__ void append_to(Prefix<Operator, A>& prefix, u32 length) {
        while (length != 0) {
            int level = 31 - __clz(length);
            prefix.append(sums.get(level));
            length ^= 1u << level;
        }
    }
};

/// Folds ranges of an array, one after the other. Blocks may have up to 32 warps.
template <class Operator, class T, class Policy>
struct BlockFolder {
    using A = AccumulatorOf<T>;
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS;
    static constexpr int ROW = WARP * RUN, BATCH = ROWS * ROW;
    using Loader = RowLoader<T, RUN, ROWS>;

    struct Shared {
        /// Of two turns: one can be written while the other is still read.
        PaddedArray<A, WARP> part_sums[2];
        u64 tickets[2];
        AlignedBlocks<Operator, A> blocks;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    /// An array, and the range of it to fold.
    struct Range {
        const T* begin;
        const T* end;
        u64 first, length;
    };

    /// Leaves the sums of the range's aligned blocks for the first warp, in parts of 2^log_batches batches, of which the
    /// block's warps must have enough. Meanwhile takes a ticket of `queue`, unless that is null. Synchronises the
    /// block once; turns alternate between 0 and 1.
    static __device__ __forceinline__ void fold(const Range& range, int log_batches, WorkspaceHeader* queue, int turn) {
        u64 ticket = 0;
        if (queue != nullptr && threadIdx.x == 0) ticket = queue->take();
        int warp = warp_index(), log_part = LOG2<BATCH> + log_batches;
        u64 start = (u64)warp << log_part, part = (u64)1 << log_part;
        if (start < range.length) {
            u64 rest = range.length - start;
            fold_part(range, start, rest < part ? rest : part, log_batches, turn);
        }
        if (threadIdx.x == 0) shared().tickets[turn] = ticket;
        __syncthreads();
        if (warp == 0) fold_parts((int)(range.length >> log_part), log_part, turn);
    }

    /// The least log_batches with which the block's warps have enough for `length` elements.
    static __device__ __forceinline__ int log_batches_for(u64 length) {
        int log_batches = 0;
        while (((u64)(blockDim.x / WARP * BATCH) << log_batches) < length) log_batches++;
        return log_batches;
    }

    /// `length` elements of the range from `start` on, at least one, by a warp.
    static __device__ __forceinline__ void fold_part(const Range& range, u64 start, u64 length, int log_batches, int turn) {
        int lane = threadIdx.x % WARP;
        const T* from = range.begin + (range.first + start);
        LaneCounter<Operator, A> batches;
        A sum;
        batches.count = 0;
        for (; length > 0 && batches.count >> log_batches == 0; length -= BATCH, from += BATCH) {
            int here = length < BATCH ? (int)length : BATCH;
            sum = fold_batch(range, from, here);
            if (here < BATCH) break;
            sum = batches.push(sum);
        }
        if (batches.count >> log_batches != 0) {
            if (lane == 0) shared().part_sums[turn].set(threadIdx.x / WARP, sum);
        } else {
            if ((batches.count >> lane & 1) != 0) shared().blocks.sums.set(LOG2<BATCH> + lane, batches.digit);
        }
    }

    /// The sum of a whole batch, in every lane. If it is not whole, the sums of its aligned blocks are left instead.
    static __device__ __forceinline__ A fold_batch(const Range& range, const T* from, int length) {
        int runs = length / RUN, rest = length % RUN;
        A leaves[ROWS], element;
        if (rest > 0) element = element_of_rest(from + (length - rest), rest);
        if (runs > 0) {
            load_leaves(leaves, range, from, runs);
        } else {
#pragma unroll
            for (int row = 0; row < ROWS; row++) leaves[row] = element;
        }
        bool whole = length == BATCH;
        if (!whole) leave_row(leaves, runs / WARP, runs % WARP, element, rest);
        LaneTree<Operator, A, ROWS> rows;
        A sum = rows.up_sweep(fold_rows<Operator>(leaves));
        if (!whole) shared().blocks.set_siblings(rows, 0, runs / WARP, LOG2<ROW>);
        return sum;
    }

    /// The sums of runs, of which there are `runs`, at least one. What lanes get that have none is the sum of some run.
    static __device__ __forceinline__ void load_leaves(A (&leaves)[ROWS], const Range& range, const T* from, int runs) {
        int first = 0, last = runs - 1;
        bool shifted = Loader::shifts(from);
        if (shifted) {
            if (Loader::reaches_before(from, range.begin)) first++;
            if (Loader::reaches_beyond(from + last * RUN, range.end)) last--;
        }
        if (first <= last) {
            PackedRun<T, RUN> rows[ROWS];
            Loader::load(rows, from, first, last, shifted);
#pragma unroll
            for (int row = 0; row < ROWS; row++) leaves[row] = fold_run(rows[row]);
        }
        if (shifted && last - first < runs - 1) fold_edges(leaves, from, first, last, runs);
    }

    static __device__ __forceinline__ A fold_run(const PackedRun<T, RUN>& run) {
        A values[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) values[i] = Fold<T>::widen(run.get(i));
        return tree_fold<Operator>(values);
    }

    /// What is left of the sums: of the run before the first, and of that after the last.
    static __device__ __forceinline__ void fold_edges(A (&leaves)[ROWS], const T* from, int first, int last, int runs) {
#pragma unroll 1
        for (int edge = first > 0 ? 0 : 1; edge < (last + 1 < runs ? 2 : 1); edge++) {
            A sum = fold_elements(from + (edge == 0 ? 0 : runs - 1) * RUN);
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                int run = row * WARP + (int)(threadIdx.x % WARP);
                leaves[row] = choose(run > last || (edge == 0 && run < first), sum, leaves[row]);
            }
        }
    }

    /// The sum of a run, of which no more is touched than its elements.
    static __device__ __forceinline__ A fold_elements(const T* from) {
        A values[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) values[i] = Fold<T>::widen(from[i]);
        return tree_fold<Operator>(values);
    }

    /// The elements that fill no run, one a lane.
    static __device__ __forceinline__ A element_of_rest(const T* from, int rest) {
        int lane = threadIdx.x % WARP;
        return Fold<T>::widen(from[lane < rest ? lane : rest - 1]);
    }

    /// Leaves the aligned blocks of the row in which the range ends: of whole runs, and of the elements that fill none.
    static __device__ __forceinline__ void leave_row(const A (&leaves)[ROWS], int row, int runs, const A& element, int rest) {
        constexpr int TREES = RUN > 1 ? 2 : 1;
        A ends[TREES];
        ends[0] = leaves[0];
#pragma unroll
        for (int i = 1; i < ROWS; i++) ends[0] = choose(i == row, leaves[i], ends[0]);
        if constexpr (TREES == 2) ends[1] = choose(rest > 0, element, ends[0]);
        LaneTrees<Operator, A, WARP, TREES> trees;
        trees.up_sweep(ends);
        shared().blocks.set_siblings(trees, 0, runs, LOG2<RUN>);
        if constexpr (TREES == 2) shared().blocks.set_siblings(trees, 1, rest, 0);
    }

    /// The first `whole` parts are whole.
    static __device__ __forceinline__ void fold_parts(int whole, int log_part, int turn) {
        int lane = threadIdx.x % WARP;
        auto& blocks = shared().blocks;
        if (whole > 0) {
            LaneTree<Operator, A, WARP> parts;
            A sum = parts.up_sweep(shared().part_sums[turn].get(lane < whole ? lane : whole - 1));
            blocks.set_siblings(parts, 0, whole, log_part);
            if (whole == WARP && lane == 0) blocks.sums.set(log_part + 5, sum);
        }
        __syncwarp();
    }
};

/// The reduction of a short input: by one block whose warps have enough in a batch each; or by blocks that all run at a time, of a power
/// of two of warps, a chunk of one batch a warp for each, and what fills no chunk for the last.
template <class Operator, class T, class Policy>
struct ShortReducer {
    using A = AccumulatorOf<T>;
    using Elements = BlockFolder<Operator, T, Policy>;
    using Tree = SumTree<Operator, A, sizeof(A) <= 8 ? 4 : sizeof(A) <= 16 ? 2 : 1>;

    const T* in;
    u64 length;
    WorkspaceHeader* header;

    /// Appends the elements to what precedes them. Whether this block has the result, in its first warp.
    __device__ __forceinline__ bool run(Prefix<Operator, A>& result) const {
        bool alone = gridDim.x == 1;
        int log_chunk = LOG2<Elements::BATCH> + 31 - __clz(blockDim.x / WARP);
        u64 chunks = length >> log_chunk, task = blockIdx.x, first = alone ? 0 : task << log_chunk;
        u64 here = alone || task == chunks ? length - first : (u64)1 << log_chunk;
        u64 launch = 0;
        bool sound = true;
        if (!alone && threadIdx.x == 0) {
            u64 magic = load_relaxed(&header->magic);
            launch = load_relaxed(&header->launches);
            sound = magic == 0 || magic == WorkspaceHeader::MAGIC;
        }
        Elements::fold({in, in + length, first, here}, 0, nullptr, 0);
        bool last = task == gridDim.x - 1;
        if (warp_index() != 0) return last;
        auto& blocks = Elements::shared().blocks;
        if (alone) {
            blocks.append_to(result, (u32)length);
            return true;
        }
        if (same_in_all_lanes((u32)!sound) != 0) trap("the workspace was not zeroed before its first use");
        launch = same_in_all_lanes(launch);
        Tree tree{{reinterpret_cast<u64x2*>(header + 1), WorkspaceHeader::tag(launch)}, gridDim.x};
        if (task < chunks) tree.publish(task, blocks.sums.get(log_chunk));
        if (!last) return false;
        result = tree.prefix(chunks, result);
        blocks.append_to(result, (u32)(length - (chunks << log_chunk)));
        if (threadIdx.x == 0) {
            // All others know which launch this is, or it would not have their sums.
            store_relaxed(&header->magic, (u64)WorkspaceHeader::MAGIC);
            store_relaxed(&header->launches, launch + 1);
        }
        return true;
    }
};

/// The reduction of an input of any length, by blocks of a power of two of warps, of which there are no more than tasks. Every
/// warp folds 2^log_batches batches of a chunk.
template <class Operator, class T, class Policy, class SumPolicy>
struct ChunkReducer {
    using A = AccumulatorOf<T>;
    using Elements = BlockFolder<Operator, T, Policy>;
    using Sums = BlockFolder<Operator, A, SumPolicy>;

    struct Shared {
        u32 arrived;
        AlignedBlocks<Operator, A> rest;
    };

    const T* in;
    u64 length;
    WorkspaceHeader* header;
    int log_batches;

    __device__ __forceinline__ int warps() const { return blockDim.x / WARP; }
    __device__ __forceinline__ int log_chunk() const { return LOG2<Elements::BATCH> + log_batches + 31 - __clz(warps()); }
    __device__ __forceinline__ u64 chunks() const { return length >> log_chunk(); }
    __device__ __forceinline__ u32 rest() const { return (u32)(length & (((u64)1 << log_chunk()) - 1)); }
    __device__ __forceinline__ u64 tasks() const { return chunks() + (rest() > 0); }
    /// From the last to the first: the rest takes longest.
    __device__ __forceinline__ u64 task(u64 ticket) const { return tasks() - 1 - ticket; }
    __device__ __forceinline__ A* sums() const { return reinterpret_cast<A*>(header + 1); }
    __device__ __forceinline__ A* rest_sums() const { return sums() + chunks(); }

    /// Appends the elements to what precedes them. Whether this block has the result, in its first warp.
    __device__ __forceinline__ bool run(Prefix<Operator, A>& result) {
        u64 ticket = blockIdx.x;
        WorkspaceHeader* queue = tasks() > gridDim.x ? header : nullptr;
        typename Elements::Range range = range_of(task(ticket));
        int log_part = log_batches, turn = 0;
        bool summing = false, again = true;
        while (again) {
            Elements::fold(range, log_part, queue, turn);
            if (summing) {
                again = false;
            } else {
                leave_sums(task(ticket));
                ticket = queue != nullptr ? next_ticket(turn) : tasks();
                if (ticket < tasks()) {
                    range = range_of(task(ticket));
                } else {
                    summing = again = ends_last();
                    queue = nullptr;
                    if constexpr (SAME<T, A>) {
                        // Once more around: the compiler need not see `fold` twice.
                        range = {sums(), rest_sums(), 0, chunks()};
                        log_part = Sums::log_batches_for(chunks());
                    } else {
                        again = false;
                    }
                }
            }
            turn ^= 1;
        }
        if (!summing) return false;
        if constexpr (!SAME<T, A>)
            Sums::fold({sums(), rest_sums(), 0, chunks()}, Sums::log_batches_for(chunks()), nullptr, 0);
        if (warp_index() == 0) {
            Sums::shared().blocks.append_to(result, (u32)chunks());
            block_shared<Shared>().rest.append_to(result, rest());
        }
        return true;
    }

    __device__ __forceinline__ typename Elements::Range range_of(u64 task) const {
        return {in, in + length, task << log_chunk(), task < chunks() ? (u64)1 << log_chunk() : rest()};
    }

    __device__ __forceinline__ u64 next_ticket(int turn) const {
        u64 ticket = same_in_all_lanes(Elements::shared().tickets[turn]);
        if (ticket >= tasks()) trap("the start of the workspace was overwritten, or never zeroed");
        return gridDim.x + ticket;
    }

    /// Leaves what the block has folded in the workspace.
    __device__ __forceinline__ void leave_sums(u64 task) const {
        if (warp_index() != 0) return;
        int lane = threadIdx.x % WARP;
        auto& blocks = Elements::shared().blocks.sums;
        if (task < chunks()) {
            if (lane == 0) sums()[task] = blocks.get(log_chunk());
        } else {
            if ((rest() >> lane & 1) != 0) rest_sums()[lane] = blocks.get(lane);
        }
        __syncwarp();
    }

    /// Whether this block is the last to end. If so, fetches what fills no chunk, and leaves the workspace ready.
    __device__ __forceinline__ bool ends_last() const {
        auto& shared = block_shared<Shared>();
        if (threadIdx.x == 0) shared.arrived = header->arrive();
        __syncthreads();
        if (!WorkspaceHeader::is_last(same_in_all_lanes(shared.arrived))) return false;
        // By a warp that has less to do than the first.
        int lane = threadIdx.x % WARP;
        if (warp_index() == warps() - 1) {
            if ((rest() >> lane & 1) != 0) shared.rest.sums.set(lane, rest_sums()[lane]);
            if (lane == 0) header->reset();
        }
        return true;
    }
};

}  // namespace warpfold
