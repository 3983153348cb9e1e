// The fold of a piece of a stream in one launch: the sums of the largest aligned blocks that make
// it up, wherever it starts and ends.
//
// These are nodes of the stream's one tree. They lie between two ways up: from the leaf before the
// piece, and from the leaf behind it. On the first way they are right siblings, and get longer. On
// the second one they are left siblings, and get shorter towards the piece's end. Where the two
// ways are siblings themselves, all are found:
//
//              ┌───────────┴───────────┐
//        ┌─────┴─────┐           ┌─────┴─────┐        the piece is 3 to 6
//     ┌──┴──┐     ┌──┴──┐     ┌──●──┐     ┌──┴──┐     ● its blocks: 3, 4 to 5, 6
//     0     1     2     ●     4     5     ●     7
//                 └ before                      └ behind
//
// So the trees need not know which of their leaves are there (piece_tiles.cuh): such blocks hold
// none of the others.
#pragma once
#include "engines/piece_tiles.cuh"

namespace warpfold {

/// A warp folds PER_WARP chunks of a tile, one after the other: it waits for the others only then.
template <PrefixSink Sink, class Source, class Policy, int PER_WARP>
struct PieceFold : PieceTiles<Sink, Source, Policy,
                              NoCarry<typename Sink::Operator, typename Sink::A>> {
    using Tiles =
        PieceTiles<Sink, Source, Policy, NoCarry<typename Sink::Operator, typename Sink::A>>;
    using Tiles::RUN, Tiles::ROWS, Tiles::ROW, Tiles::CHUNK, Tiles::WARPS;
    using Tiles::sink, Tiles::length, Tiles::workspace, Tiles::by_ticket, Tiles::shared,
        Tiles::carry, Tiles::left, Tiles::first, Tiles::last, Tiles::log_tile, Tiles::levels;
    using typename Tiles::Operator, typename Tiles::Item, typename Tiles::A, typename Tiles::Tile,
        typename Tiles::Rows, typename Tiles::Chunk, typename Tiles::Sums, typename Tiles::Edge,
        typename Tiles::EdgeItems, typename Tiles::EdgeRow;

    /// The items of a warp.
    static constexpr int OF_WARP = PER_WARP * CHUNK;

    /// Bits below the level at which the two ways meet: all blocks are shorter.
    u64 below;

    /// Folds one tile after the other, in the order in which they are taken. So a tile waits only
    /// for tiles of blocks that run.
    __device__ __forceinline__ void run() {
        WorkspaceHeader* header = workspace.header;
        WorkspaceHeader::State state{};
        bool is_first = threadIdx.x == 0;
        if (first < last && is_first) state = header->load_state();
        u64 ticket = 0, number = blockIdx.x;
        if (by_ticket) {
            if (is_first) ticket = header->take_ahead();
            number = pass(ticket, state, 1);
        }
        for (int turn = 0; number <= last - first; turn ^= 1) {
            if (by_ticket && is_first) ticket = header->take_ahead();
            Edge edge = this->edge_of(number);
            if (this->is_whole(edge)) fold_whole(edge.tile, state);
            else fold_edge(*this, edge, state);
            if (!by_ticket) break;
            number = pass(ticket, state, turn);
        }
        if (first < last && is_first && header->end(state.tag))
            header->reset(state.tag, workspace.key);
    }

    /// The number that the first thread has taken. Two places take turns: a warp may read one while
    /// the next number is written.
    __device__ __forceinline__ u64 pass(u64 ticket, const WorkspaceHeader::State& state,
                                        int turn) const {
        if (threadIdx.x == 0) shared().tickets[turn] = ticket - state.tag;
        __syncthreads();
        u64 number = same_in_all_lanes(shared().tickets[turn]);
        if (number > last - first + gridDim.x)
            trap("the start of the workspace was overwritten");
        return number;
    }

    __device__ __forceinline__ void fold_whole(const Tile& tile,
                                               WorkspaceHeader::State state) const {
        int lane = threadIdx.x % WARP;
        A of_chunk = sink.init;  // of chunk l in lane l
#pragma unroll 1
        for (int i = 0; i < PER_WARP; i++) {
            A sum = fold_whole_chunk(*this, tile, warp_index() * PER_WARP + i);
            of_chunk = choose(lane == i, sum, of_chunk);
        }
        LaneTree<Operator, A, PER_WARP> chunks;
        LaneTree<Operator, A, WARPS> warps;
        A sum = Tiles::fold_warps(warps, chunks.up_sweep(of_chunk));
        if (warp_index() == 0) this->sums(state).publish(first + tile.number, sum);
    }

    /// The sum of a chunk of which all items are there. A function of its own: where it is part of
    /// others, the compiler keeps what they need in local memory, and odd addresses take half as
    /// long again.
    static __device__ __noinline__ A fold_whole_chunk(const PieceFold& engine, const Tile& tile,
                                                      int chunk) {
        Rows rows;
        engine.load(rows, tile, chunk * CHUNK);
        Chunk folded;
        folded.fold(engine.sink, rows);
        return folded.sum;
    }

    /// A function of its own, too, so that whole tiles have their registers for themselves.
    static __device__ __noinline__ void fold_edge(PieceFold engine, Edge edge,
                                                  WorkspaceHeader::State state) {
        engine.fold_edge(edge, state);
    }

    __device__ __forceinline__ void fold_edge(const Edge& edge,
                                              WorkspaceHeader::State state) const {
        int lane = threadIdx.x % WARP, warp = warp_index();
        int end = edge.to, before = edge.from - 1;
        bool begins = before >= 0;
        A of_chunk = sink.init;  // of chunk l in lane l
#pragma unroll 1
        for (int i = 0; i < PER_WARP; i++) {
            A sum = fold_chunk(edge, warp * PER_WARP + i);
            of_chunk = choose(lane == i, sum, of_chunk);
        }
        LaneTree<Operator, A, PER_WARP> chunks;
        A of_warp = chunks.up_sweep(of_chunk);
        if (begins && warp == before / OF_WARP)
            leave_way<true>(chunks, LOG2<CHUNK>, before / CHUNK % PER_WARP, log_tile);
        if (edge.is_last && warp == end / OF_WARP)
            leave_way<false>(chunks, LOG2<CHUNK>, end / CHUNK % PER_WARP, log_tile);
        if (lane == 0) shared().chunks[warp] = of_warp;
        __syncthreads();
        if (warp > 0) return;
        // Lanes without a warp take the first one's; nothing reads what they compute.
        int count = this->tile_items() / OF_WARP, own = lane % WARPS < count ? lane % WARPS : 0;
        LaneTree<Operator, A, WARPS> warps;
        A sum = shuffle(warps.up_sweep_over(shared().chunks[own], count), 0);
        if (begins) leave_way<true>(warps, LOG2<OF_WARP>, before / OF_WARP, log_tile);
        Sums sums = this->sums(state);
        if (!edge.is_last) {
            sums.publish(first + edge.tile.number, sum);
            return;
        }
        leave_way<false>(warps, LOG2<OF_WARP>, end / OF_WARP, log_tile);
        for (int level = 0; level < levels; level++) leave_tiles(sums, level);
    }

    /// The sum of a chunk of an edge. Leaves the blocks within it. Of chunks without items nothing
    /// is wanted.
    __device__ __forceinline__ A fold_chunk(const Edge& edge, int chunk) const {
        int end = edge.to, before = edge.from - 1, at = chunk * CHUNK;
        bool has_begin = before >= 0 && chunk == before / CHUNK;
        bool has_end = edge.is_last && chunk == end / CHUNK && end > 0;
        bool has_items = edge.from < at + CHUNK && at < end;
        if (!has_begin && !has_end)
            return has_items ? fold_whole_chunk(*this, edge.tile, chunk) : sink.init;
        EdgeItems items;
        this->load_edge(items, edge, chunk);
        A of_row = this->fold_rows(items);  // of row l % ROWS in lane l
        if (has_begin && edge.from % ROW != 0) leave_row<true>(edge, before);
        if (has_end && end % ROW != 0) leave_row<false>(edge, end);
        LaneTree<Operator, A, ROWS> rows;
        A sum = rows.up_sweep(of_row);
        if (has_begin) leave_way<true>(rows, LOG2<ROW>, before / ROW % ROWS, log_tile);
        if (has_end) leave_way<false>(rows, LOG2<ROW>, end / ROW % ROWS, log_tile);
        return sum;
    }

    /// The blocks of tiles, of which 32 are a node, 32 of these, and so on, up to a level.
    __device__ __forceinline__ void leave_tiles(const Sums& sums, int level) const {
        int lane = threadIdx.x % WARP, leaf = log_tile + level * Sums::LOG_RADIX;
        int digit = Sums::digit_of(last, level), origin = sums.origin_of(last, level);
        if (digit > origin) {
            LaneTree<Operator, A, WARP> tree;
            tree.up_sweep(sums.nodes(last, level, origin));
            leave_way<false>(tree, leaf, digit, 64);
        }
        if (carry.position == 0) return;
        u64 before = carry.position - 1 >> log_tile;
        digit = Sums::digit_of(before, level);
        bool is_common = (before ^ last) >> (level + 1) * Sums::LOG_RADIX == 0;
        int end = is_common ? Sums::digit_of(last, level) : WARP;
        if (digit + 1 >= end) return;
        LaneTree<Operator, A, WARP> tree;
        int place = digit < lane && lane < end ? lane : digit + 1;
        u64 group = before >> (level + 1) * Sums::LOG_RADIX << Sums::LOG_RADIX;
        u64 places[1] = {sums.slot(level, group + place)};
        A values[1];
        sums.sums.wait(places, values);
        tree.up_sweep(values[0]);
        leave_way<true>(tree, leaf, digit, 64);
    }

    // ---- blocks on the two ways ----

    /// The lengths of the blocks of the piece's beginning, as bits: those that are 0 in the place
    /// before it. And those of its end: the ones that are 1 in the place behind it.
    template <bool BEGIN>
    __device__ __forceinline__ u64 lengths() const {
        return (BEGIN ? ~(carry.position - 1) : carry.position + length) & below;
    }

    /// Leaves a sibling of 2^level items on one of the ways, if it is a block of the piece. Blocks
    /// go from left to right.
    template <bool BEGIN>
    __device__ __forceinline__ void leave_block(int level, const A& block) const {
        u64 own = lengths<BEGIN>(), bit = 1ull << level;
        if ((own & bit) == 0) return;
        int place = BEGIN ? __popcll(own & bit - 1)
                          : __popcll(lengths<true>()) + __popcll(own & ~(bit | bit - 1));
        left[place] = Operand<A>::of(block);
    }

    /// Leaves the siblings of less than 2^most items on the way up from a lane, by that lane.
    /// Leaves of the tree have 2^leaf items.
    template <bool BEGIN, class Tree>
    __device__ __forceinline__ void leave_way(const Tree& tree, int leaf, int lane,
                                              int most) const {
        if ((int)(threadIdx.x % WARP) != lane) return;
#pragma unroll
        for (int level = 0; level < Tree::LEVELS; level++)
            if (leaf + level < most) leave_block<BEGIN>(leaf + level, tree.siblings[level][0]);
    }

    /// Leaves the siblings on the way up from a place of an edge within its row.
    template <bool BEGIN>
    __device__ __forceinline__ void leave_row(const Edge& edge, int place) const {
        EdgeRow row;
        this->fold_row(row, edge, place / ROW);
        int lane = place / RUN % WARP, at_run = this->run_at(0, place / ROW);
        leave_way<BEGIN>(row.lanes, LOG2<RUN>, lane, log_tile);
        // Once more: above a right sibling, another node has taken its place.
        Item items[RUN];
        A nodes[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = this->item_at(edge, at_run + i);
        sink.values(nodes, items);
        if ((int)(threadIdx.x % WARP) != lane) return;
#pragma unroll
        for (int level = 0; level < LOG2<RUN>; level++) {
            // A node lies where its last item lay.
            int at = ((place % RUN >> level ^ 1) + 1 << level) - 1;
#pragma unroll
            for (int i = (1 << level) - 1; i < RUN; i += 1 << level) {
                if (i == at) leave_block<BEGIN>(level, nodes[i]);
                if ((i >> level & 1) != 0)
                    nodes[i] = Operator::combine(nodes[i - (1 << level)], nodes[i]);
            }
        }
    }
};

}  // namespace warpfold
