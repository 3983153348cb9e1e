// The rows engine for reductions: any length in one launch, in the law's order.
//
// The input is cut into chunks of a power of two of elements. A block folds a chunk and publishes
// its sum, as blocks of a scan do (look_back.cuh). There are no more blocks than the GPU holds at
// once. The last block begins with what fills no chunk, the *rest*. When no chunk is left, it
// collects the sums, appends the rest's, and writes the result. It starts last, or when all others
// have started: so far every GPU starts blocks in that order, even where other work keeps some of
// them waiting.
//
// An input of middle length has a group of chunks for each block, so that all have about as much.
// The warps of the block take the parts of all its chunks in turn, with no wait between. A long
// input has more chunks than that. Blocks take them in turn (IN_TURN), one at a time, unless the
// operator is bound by computing. The last ones are shorter, so that all blocks are done at about
// the same time. A short input is all rest: the task of a single block, which needs no workspace.
//
// Chunk and rest are one task, which `BlockFolder` does (rows_fold.cuh).
#pragma once
#include "engines/rows_fold.cuh"
#include "grid/chunks.cuh"

namespace warpfold {

/// The reduction of an input. A block folds a group of chunks, or takes chunks in turn. The last
/// block folds what fills no chunk; of a short input that is all.
template <class Operator, class Source, class Policy>
struct ChunkReducer {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    using P = Prefix<Operator, A>;
    using Elements = BlockFolder<Operator, Source, Policy>;
    static constexpr int PER_LANE = Policy::PER_LANE;
    static constexpr bool IN_TURN = Policy::IN_TURN;
    using Sums = SumTree<Operator, A, PER_LANE>;

    struct Shared {
        u64 tag;
        /// The sums of nodes. A node is as many chunks as a warp reads at once.
        PaddedArray<A, WARP> nodes;
        /// The sums of the aligned blocks of nodes.
        AlignedBlocks<Operator, A, LITTLE_CODE<Operator, Policy>, 5> blocks;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Source source;
    u64 length;
    Workspace workspace;
    ChunksOf<IN_TURN> chunks;

    /// The elements that fill no chunk.
    __device__ __forceinline__ u32 rest() const {
        return (u32)(length - chunks.start_of(chunks.count));
    }
    __device__ __forceinline__ bool is_last() const { return blockIdx.x == gridDim.x - 1; }
    /// The chunk that this block begins with. The last block begins with the rest, whose sums it
    /// does not publish, or, if there is none, with the last chunks.
    __device__ __forceinline__ u32 first_task() const {
        if constexpr (IN_TURN) {
            u32 of_last = chunks.count - (u32)((rest() == 0) & (chunks.count != 0));
            return is_last() ? of_last : blockIdx.x;
        }
        u32 first = blockIdx.x * chunks.at_once;
        if (blockIdx.x > chunks.larger) first -= blockIdx.x - chunks.larger;
        return first;
    }

    /// Prefetches the first batches, before the launch begins.
    __device__ __forceinline__ void prefetch() const {
        constexpr int BATCH = Elements::BATCH;
        u32 warp = threadIdx.x / WARP, task = first_task();
        int log_part = LOG2<BATCH> + chunks.log_batches_of(task);
        u64 first = chunks.start_of(task) + ((u64)warp << log_part);
        bool few = (u64)gridDim.x * (blockDim.x / WARP) * BATCH * sizeof(T) <= MOST_PREFETCHED;
        source.prefetch(length, first, BATCH, few && threadIdx.x % WARP == 0);
    }

    /// Appends the elements to what precedes them. Returns whether this block has the result, in
    /// its first warp.
    __device__ __forceinline__ bool run(P& result) const {
        u32 rest = this->rest();
        u32 task = first_task();
        WorkspaceHeader::State state = read_state();
        if constexpr (IN_TURN) fold_in_turn(task, rest, state);
        else fold_group(task, rest, state);
        if (!is_last()) return false;
        finish(rest, state, result);
        return true;
    }

    /// The workspace's state, in the first lane of each warp that publishes a sum: with it comes
    /// the tag.
    __device__ __forceinline__ WorkspaceHeader::State read_state() const {
        u32 publishing = IN_TURN ? 1 : chunks.at_once;
        WorkspaceHeader::State state{};
        if (chunks.count > 0 && threadIdx.x % WARP == 0 && threadIdx.x / WARP < publishing)
            state = workspace.header->load_state();
        return state;
    }

    // ---- fold and publish ----

    /// Folds the block's group of chunks, or the rest.
    __device__ __forceinline__ void fold_group(u32 task, u32 rest,
                                               const WorkspaceHeader::State& state) const {
        u32 together = chunks.at_once - (blockIdx.x >= chunks.larger);
        fold_task(task, rest, together, 0);
        __syncthreads();
        publish_task(task, rest, together, 0, state);
    }

    /// Folds one chunk after the other. A block begins with one of its own. The others are handed
    /// out in order.
    __device__ __forceinline__ void fold_in_turn(u32 task, u32 rest,
                                                 const WorkspaceHeader::State& state) const {
        bool has_more = chunks.count + (rest > 0) > gridDim.x;
        WorkspaceHeader* queue = has_more ? workspace.header : nullptr;
        for (int turn = 0;; turn ^= 1) {
            // Parts are written in one half of their places while those in the other are read.
            int place = turn * WARP;
            u64 ticket = 0;
            if (queue != nullptr && threadIdx.x == 0) ticket = queue->take_ahead();
            fold_task(task, rest, 1, place);
            if (queue != nullptr && threadIdx.x == 0)
                Elements::shared().tickets[turn] = ticket - state.tag;
            __syncthreads();
            publish_task(task, rest, 1, place, state);
            if (queue == nullptr) break;
            ticket = same_in_all_lanes(Elements::shared().tickets[turn]);
            if (ticket > chunks.count) trap("the start of the workspace was overwritten");
            task = gridDim.x - 1 + (u32)ticket;
            if (task >= (rest > 0 ? chunks.count : chunks.count - 1)) break;
        }
    }

    /// Folds `together` chunks from `task` on, or the rest. Leaves the sums of parts from a place
    /// on.
    __device__ __forceinline__ void fold_task(u32 task, u32 rest, u32 together, int place) const {
        bool is_rest = task >= chunks.count;
        u64 elements = is_rest ? rest : (u64)together << chunks.log_length_of(task);
        Elements{source, length}.fold(chunks.start_of(task), elements,
                                      chunks.log_batches_of(task), place);
    }

    /// Publishes the sums of the chunks that were folded, or leaves the sums of the rest's aligned
    /// blocks.
    __device__ __forceinline__ void publish_task(u32 task, u32 rest, u32 together, int place,
                                                 const WorkspaceHeader::State& state) const {
        int log_part = LOG2<Elements::BATCH> + chunks.log_batches_of(task);
        int log_parts = chunks.log_length_of(task) - log_part;
        if (task < chunks.count) {
#pragma unroll 1
            for (u32 chunk = warp_index(); chunk < together; chunk += blockDim.x / WARP) {
                A sum = Elements::sum_of_parts(place + (int)(chunk << log_parts), log_parts);
                sums(same_in_all_lanes(state.tag)).publish(task + chunk, sum);
                if constexpr (IN_TURN) break;
            }
        } else if (warp_index() == 0) {
            Elements::fold_parts((int)(rest >> log_part), log_part, place);
        }
    }

    // ---- collect ----

    /// Appends the sums of all chunks and of the rest. By the last block, for its first warp.
    __device__ __forceinline__ void finish(u32 rest, const WorkspaceHeader::State& state,
                                           P& result) const {
        auto& blocks = Elements::shared().blocks;
        if (warp_index() == 0 && rest != 0) blocks.pack(rest);
        if (chunks.count > 0) {
            if (threadIdx.x == 0) {
                workspace.require(state);
                shared().tag = state.tag;
            }
            __syncthreads();
            Sums all{sums(shared().tag), chunks.count};
#pragma unroll 1
            for (u32 first = 0; first < chunks.count;) {
                u32 end = chunks.end_of_length(first);
                if (first > 0) __syncthreads();
                collect(all, first, end - first, result);
                first = end;
            }
        }
        if (warp_index() != 0) return;
        blocks.append_packed_to(result, rest);
        // All other blocks have read the state and taken their last tickets: otherwise this block
        // would not have their sums.
        if (chunks.count > 0 && threadIdx.x == 0) workspace.header->reset(state.tag, workspace.key);
    }

    __device__ __forceinline__ TileSums<A, PER_LANE> sums(u64 tag) const {
        return {workspace.packets(), tag};
    }

    /// Appends `count` sums that the blocks publish, from the first of them on. Their chunks are of
    /// one length. By the whole block, for its first warp.
    __device__ __forceinline__ void collect(const Sums& sums, u32 first, u32 count,
                                            P& result) const {
        int lane = threadIdx.x % WARP, warp = warp_index(), warps = blockDim.x / WARP;
        int whole = (int)(count / Sums::RADIX), rest = (int)(count % Sums::RADIX);
        auto& nodes = shared().nodes;
        // All warps read at once, a node each. The first ends with the sums that fill no node.
        constexpr bool BY_LOOPS = LITTLE_CODE<Operator, Policy> && PER_LANE == 1;
        typename Sums::template DigitOf<BY_LOOPS> digit;
#pragma unroll 1
        for (int node = (whole - warp) & (warps - 1); node <= whole; node += warps) {
            int there = node < whole ? Sums::RADIX : rest;
            if (there == 0) break;
            A sum = digit.read(sums, first + node * Sums::RADIX, there);
            if (node < whole && lane == 0) nodes.set(node, sum);
        }
        if (whole > 0) __syncthreads();
        if (warp != 0) return;
        if (whole > 0) {
            // Mostly there are one or two nodes: too few for a tree.
            auto& blocks = shared().blocks;
            A sum = blocks.set_siblings_of(nodes.get(lane < whole ? lane : 0), whole, 0);
            __syncwarp();
            if (whole == WARP) result.append(sum);
            else blocks.append_to(result, whole);
        }
        if (rest > 0) result = digit.prefix(rest, result);
    }
};

}  // namespace warpfold
