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

template <PrefixSink Sink, class Source, class Policy>
struct PieceFold : PieceTiles<Sink, Source, Policy,
                              NoCarry<typename Sink::Operator, typename Sink::A>> {
    using Tiles =
        PieceTiles<Sink, Source, Policy, NoCarry<typename Sink::Operator, typename Sink::A>>;
    using Tiles::RUN, Tiles::ROWS, Tiles::ROW, Tiles::CHUNK, Tiles::WARPS;
    using Tiles::sink, Tiles::workspace, Tiles::shared, Tiles::carry, Tiles::left, Tiles::first,
        Tiles::last, Tiles::log_tile, Tiles::levels;
    using typename Tiles::Operator, typename Tiles::Item, typename Tiles::A, typename Tiles::Tile, typename Tiles::Rows,
        typename Tiles::Chunk, typename Tiles::Sums, typename Tiles::Edge,
        typename Tiles::EdgeItems, typename Tiles::EdgeRow;

    /// Where the two ways meet: all blocks have less than 2^top items. Those of the end go where
    /// `left` says, and those of the beginning behind room for one of each length.
    int top;

    __device__ __forceinline__ void run() {
        Edge edge = this->take();
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();
        if (this->is_whole(edge)) fold_whole(edge.tile, state);
        else fold_edge(*this, edge, state);
    }

    __device__ __forceinline__ void fold_whole(const Tile& tile,
                                               WorkspaceHeader::State state) const {
        Rows rows;
        this->load(rows, tile, warp_index() * CHUNK);
        Chunk chunk;
        chunk.fold(sink, rows);
        LaneTree<Operator, A, WARPS> warps;
        A sum = Tiles::fold_warps(warps, chunk.sum);
        if (warp_index() == 0) this->sums(state).publish(first + tile.number, sum);
    }

    /// A function of its own, so that whole tiles have their registers for themselves.
    static __device__ __noinline__ void fold_edge(PieceFold engine, Edge edge,
                                                  WorkspaceHeader::State state) {
        engine.fold_edge(edge, state);
    }

    __device__ __forceinline__ void fold_edge(const Edge& edge,
                                              WorkspaceHeader::State state) const {
        int lane = threadIdx.x % WARP, warp = warp_index(), most = this->tile_items();
        int end = edge.to, before = edge.from - 1;
        bool begins = before >= 0, of_begin = begins && warp == before / CHUNK;
        bool of_end = edge.is_last && warp == end / CHUNK;
        A of_row = sink.init;  // of row l % ROWS in lane l
        if (end > 0) {
            EdgeItems items;
            this->load_edge(items, edge);
            of_row = this->fold_rows(items);
            if (of_begin && edge.from % ROW != 0) leave_from_row(edge, before);
            if (of_end && end % ROW != 0) leave_to_row(edge, end);
        }
        LaneTree<Operator, A, ROWS> rows;
        A of_chunk = rows.up_sweep(of_row);
        if (of_begin) leave_right(rows, LOG2<ROW>, before / ROW % ROWS, log_tile);
        if (of_end) leave_left(rows, LOG2<ROW>, end / ROW % ROWS);
        if (lane == 0) shared().chunks[warp] = of_chunk;
        __syncthreads();
        if (warp > 0) return;
        // Lanes without a chunk take the first one's; nothing reads what they compute.
        int chunks = most / CHUNK, chunk = lane % WARPS < chunks ? lane % WARPS : 0;
        LaneTree<Operator, A, WARPS> warps;
        A sum = warps.up_sweep_over(shared().chunks[chunk], chunks);
        sum = shuffle(sum, 0);
        if (begins) leave_right(warps, LOG2<CHUNK>, before / CHUNK, log_tile);
        Sums sums = this->sums(state);
        if (!edge.is_last) {
            sums.publish(first + edge.tile.number, sum);
            return;
        }
        leave_left(warps, LOG2<CHUNK>, end / CHUNK);
        for (int level = 0; level < levels; level++) leave_tiles(sums, level);
        if (lane == 0 && gridDim.x > 1) this->end_launch(edge.tile, state.tag);
    }

    /// The blocks of tiles, of which 32 are a node, 32 of these, and so on, up to a level.
    __device__ __forceinline__ void leave_tiles(const Sums& sums, int level) const {
        int lane = threadIdx.x % WARP, leaf = log_tile + level * Sums::LOG_RADIX;
        int digit = Sums::digit_of(last, level), origin = sums.origin_of(last, level);
        // It waits for all that precede the last tile.
        if (digit > origin) {
            LaneTree<Operator, A, WARP> tree;
            tree.up_sweep(sums.nodes(last, level, origin));
            leave_left(tree, leaf, digit);
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
        leave_right(tree, leaf, digit, 64);
    }

    // ---- blocks on the two ways ----

    __device__ __forceinline__ void leave_begin(int level, const A& block) const {
        if (level < top) this->leave(left + 64, level, block);
    }
    __device__ __forceinline__ void leave_end(int level, const A& block) const {
        if (level < top) this->leave(left, level, block);
    }

    /// Leaves the right siblings of less than 2^most items on the way up from a lane, by that lane.
    /// Leaves of the tree have 2^leaf items.
    template <class Tree>
    __device__ __forceinline__ void leave_right(const Tree& tree, int leaf, int lane,
                                                int most) const {
        if ((int)(threadIdx.x % WARP) != lane) return;
#pragma unroll
        for (int level = 0; level < Tree::LEVELS; level++)
            if ((lane >> level & 1) == 0 && leaf + level < most)
                leave_begin(leaf + level, tree.siblings[level][0]);
    }

    /// Leaves the left siblings.
    template <class Tree>
    __device__ __forceinline__ void leave_left(const Tree& tree, int leaf, int lane) const {
        if ((int)(threadIdx.x % WARP) != lane) return;
#pragma unroll
        for (int level = 0; level < Tree::LEVELS; level++)
            if ((lane >> level & 1) != 0) leave_end(leaf + level, tree.siblings[level][0]);
    }

    /// The blocks in the row of the item before the piece.
    __device__ __forceinline__ void leave_from_row(const Edge& edge, int before) const {
        EdgeRow row;
        this->fold_row(row, edge, before / ROW % ROWS);
        int lane = before / RUN % WARP;
        leave_right(row.lanes, LOG2<RUN>, lane, log_tile);
        Item items[RUN];
        A nodes[RUN];
        int at_run = this->run_at(before / ROW % ROWS);
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = this->item_at(edge, at_run + i);
        sink.values(nodes, items);
        if ((int)(threadIdx.x % WARP) != lane) return;
        // Once more: the node above a right sibling has taken its place.
#pragma unroll
        for (int level = 0; level < LOG2<RUN>; level++) {
            int at = ((before % RUN >> level) + 2 << level) - 1;
#pragma unroll
            for (int i = (1 << level) - 1; i < RUN; i += 1 << level) {
                if ((before >> level & 1) == 0 && i == at) leave_begin(level, nodes[i]);
                if ((i >> level & 1) != 0)
                    nodes[i] = Operator::combine(nodes[i - (1 << level)], nodes[i]);
            }
        }
    }

    /// The blocks in the row that the piece ends in.
    __device__ __forceinline__ void leave_to_row(const Edge& edge, int end) const {
        EdgeRow row;
        this->fold_row(row, edge, end / ROW % ROWS);
        int lane = end / RUN % WARP;
        leave_left(row.lanes, LOG2<RUN>, lane);
        if ((int)(threadIdx.x % WARP) != lane) return;
#pragma unroll
        for (int level = 0; level < LOG2<RUN>; level++) {
            int at = (end % RUN >> level << level) - 1;
#pragma unroll
            for (int i = 0; i < RUN; i++)
                if ((end >> level & 1) != 0 && i == at) leave_end(level, row.nodes[i]);
        }
    }
};

}  // namespace warpfold
