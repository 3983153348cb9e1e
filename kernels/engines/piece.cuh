// The scan of a piece of a stream in one launch: piece_tiles.cuh, and what becomes of its prefixes.
//
// The block of the last tile leaves the sums of the aligned blocks before the piece's end, for the
// next piece.
#pragma once
#include "engines/piece_tiles.cuh"

namespace warpfold {

template <PrefixSink Sink, class Source, class Policy>
struct PieceEngine : PieceTiles<Sink, Source, Policy,
                                Carry<typename Sink::Operator, typename Sink::A>> {
    using Tiles =
        PieceTiles<Sink, Source, Policy, Carry<typename Sink::Operator, typename Sink::A>>;
    using Tiles::RUN, Tiles::ROWS, Tiles::BATCH, Tiles::ROW, Tiles::CHUNK, Tiles::WARPS;
    using Tiles::sink, Tiles::workspace, Tiles::shared, Tiles::carry, Tiles::left, Tiles::first,
        Tiles::log_tile, Tiles::levels;
    using typename Tiles::Operator, typename Tiles::Item, typename Tiles::A, typename Tiles::P,
        typename Tiles::Tile, typename Tiles::Rows, typename Tiles::Chunk, typename Tiles::Sums,
        typename Tiles::Edge, typename Tiles::EdgeItems, typename Tiles::EdgeRow;

    __device__ __forceinline__ void run() {
        Edge edge = this->edge_of(this->take_tile(shared().tickets[0]).number);
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();
        if (this->is_whole(edge)) scan_whole(edge.tile, state);
        else scan_edge(*this, edge, state);
    }

    // ---- whole tiles ----

    __device__ __forceinline__ void scan_whole(const Tile& tile, WorkspaceHeader::State state) {
        Rows rows;
        this->load(rows, tile, warp_index() * CHUNK);
        Chunk chunk;
        chunk.fold(sink, rows);
        LaneTree<Operator, A, WARPS> warps;
        A sum = Tiles::fold_warps(warps, chunk.sum);
        if (warp_index() == 0) {
            Sums sums = this->sums(state);
            sums.publish(first + tile.number, sum);
            P before = sums.prefix(first + tile.number, sink.before(), [](int, const A&) {});
            if (threadIdx.x == 0) shared().before = before.value;
        }
        __syncthreads();
        P before = before_of(tile);
        if (threadIdx.x == 0) begin_tile(tile, before);
        this->emit(rows, chunk, tile, warps, before, sum);
    }

    /// What precedes a tile, once the first warp has found it.
    __device__ __forceinline__ P before_of(const Tile& tile) const {
        return {shared().before, sink.seeded || first + tile.number > 0};
    }

    /// Stores the last inclusive result of the tile before.
    __device__ __forceinline__ void begin_tile(const Tile& tile, const P& before) const {
        if (tile.number > 0) sink.begin_tile(tile.start, before.value);
    }

    // ---- edges ----

    /// A function of its own, so that whole tiles have their registers for themselves.
    static __device__ __noinline__ void scan_edge(PieceEngine engine, Edge edge,
                                                  WorkspaceHeader::State state) {
        engine.scan_edge(edge, state);
    }

    __device__ __forceinline__ void scan_edge(const Edge& edge,
                                              WorkspaceHeader::State state) const {
        int warp = warp_index(), end = edge.to;
        EdgeItems items;
        EdgeRow begun;
        LaneTreeFrom<Operator, A, ROWS> rows;
        LaneTreeFrom<Operator, A, WARPS> warps;
        A sum = fold_chunks(edge, warps, fold_chunk(edge, items, begun, rows));
        if (warp == 0) look_back(edge, warps, sum, state);
        __syncthreads();
        P before = before_of(edge.tile);
        if (threadIdx.x == 0) begin_tile(edge.tile, before);
        int results = sink.results(end, end == this->tile_items());
        if (edge.from >= results) return;
        P of_chunks = warps.down_sweep(before);
        // What follows the last chunk of a whole tile is the next tile's affair.
        A next = shuffle(of_chunks.value, (warp + 1) % WARPS);
        P own{shuffle(of_chunks.value, warp), before.present || warp > 0};
        if (warp * CHUNK < results && (warp + 1) * CHUNK > edge.from)
            emit_edge(edge, items, begun, P{rows.down_sweep(own).value, own.present}, next,
                      results);
    }

    /// The sum of a warp's chunk of an edge, and what its prefixes take: the items, the row that
    /// the piece begins in, the tree over rows. Leaves the blocks within the chunk.
    __device__ __forceinline__ A fold_chunk(const Edge& edge, EdgeItems& items, EdgeRow& begun,
                                            LaneTreeFrom<Operator, A, ROWS>& rows) const {
        int warp = warp_index(), end = edge.to, before = edge.from - warp * CHUNK;
        bool leaves = edge.is_last && warp == end / CHUNK;
        this->keep_blocks(edge);
        A of_row = sink.init;  // of row l % ROWS in lane l
        if (end > 0) {
            this->load_edge(items, edge, warp);
            of_row = this->put_right(this->fold_rows(items), begun, edge);
            if (leaves && end % ROW != 0) {
                EdgeRow ended;
                this->fold_row(ended, edge, end / ROW);
                leave_row(ended, end);
            }
        }
        A sum = rows.up_sweep(of_row, before > 0 ? before / ROW : 0);
        if (leaves) leave_siblings(rows, LOG2<ROW>, end / ROW % ROWS);
        return sum;
    }

    /// The sum of an edge, and the tree over its chunks. Synchronises the block.
    __device__ __forceinline__ A fold_chunks(const Edge& edge,
                                             LaneTreeFrom<Operator, A, WARPS>& warps,
                                             const A& of_chunk) const {
        int lane = threadIdx.x % WARP, warp = warp_index(), most = this->tile_items();
        if (lane == 0) shared().chunks[warp] = of_chunk;
        __syncthreads();
        // Lanes without a chunk take the first one's; nothing reads what they compute.
        int chunk = lane % WARPS < most / CHUNK ? lane % WARPS : 0;
        A sum = warps.up_sweep(shared().chunks[chunk], edge.from / CHUNK);
        // In a block of fewer warps, the lane that comes after them has their sum.
#pragma unroll
        for (int level = 0; level < LOG2<WARPS>; level++)
            if (most == CHUNK << level) sum = shuffle(warps.siblings[level][0], 1 << level);
        return sum;
    }

    /// Publishes the sum of an edge, and finds what precedes it. The last one leaves the blocks of
    /// tiles, and those before the piece. The first warp calls.
    __device__ __forceinline__ void look_back(const Edge& edge,
                                              const LaneTreeFrom<Operator, A, WARPS>& warps,
                                              const A& sum, WorkspaceHeader::State state) const {
        int lane = threadIdx.x % WARP;
        Sums sums = this->sums(state);
        u64 place = first + edge.tile.number;
        if (!edge.is_last) sums.publish(place, sum);
        else leave_siblings(warps, LOG2<CHUNK>, edge.to / CHUNK);
        P before = sums.prefix(place, sink.before(), [&](int level, const A& block) {
            if (edge.is_last) leave(level, block);
        });
        if (edge.is_last) {
            int above = log_tile + levels * Sums::LOG_RADIX;
            for (int level = above + lane; level < 64; level += WARP)
                if ((carry.position >> level & 1) != 0)
                    leave(level, carry.block(level));
        }
        if (lane > 0) return;
        shared().before = before.value;
        if (gridDim.x > 1) this->end_launch(edge.tile, state.tag);
    }

    /// Stores the results of a warp's rows of an edge. In lane l, `of_row` is the prefix of row
    /// l % ROWS; it is present if the first row has one. `next` is that of what follows the rows.
    __device__ __forceinline__ void emit_edge(const Edge& edge, const EdgeItems& items,
                                              const EdgeRow& begun, const P& of_row,
                                              const A& next, int results) const {
        int warp = warp_index(), lane = threadIdx.x % WARP;
        bool present = of_row.present;
        auto store = this->store_of(warp, edge.tile.start);
#pragma unroll
        for (int first = 0; first < ROWS; first += BATCH) {
            int row = first + lane % BATCH, following = (first + BATCH) % ROWS;
            A start = shuffle(of_row.value, row);
            A end = following == 0 ? next : shuffle(of_row.value, following);
            Item batch[BATCH][RUN];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
#pragma unroll
                for (int i = 0; i < RUN; i++) batch[k][i] = items.rows[first + k][i];
            }
            typename Sink::template Rows<RUN, BATCH> trees;
            trees.up_sweep(sink, batch);
            MovedRun<Item, RUN> moved[BATCH];
            sink.move(moved, trees, P{start, present || first > 0}, end);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                int at = warp * CHUNK + (first + k) * ROW;
                MovedRun<Item, RUN> one[1] = {moved[k]};
                if (at >= edge.from)
                    sink.store_rows(one, edge.tile.start + at, results - at, store);
            }
        }
        if (this->begins_in(edge)) {
            int row = edge.from / ROW % ROWS;
            A after = choose(row + 1 < ROWS, shuffle(of_row.value, (row + 1) % ROWS), next);
            emit_row(edge, row, begun, P{shuffle(of_row.value, row), present || row > 0}, after,
                     results);
        }
    }

    /// Stores the results of the row that the piece begins in.
    __device__ __forceinline__ void emit_row(const Edge& edge, int row, const EdgeRow& begun,
                                             const P& of_row, const A& of_next,
                                             int results) const {
        int lane = threadIdx.x % WARP;
        P prefix = begun.lanes.down_sweep(of_row);
        A nodes[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) nodes[i] = begun.nodes[i];
        run_down_sweep<Operator, true>(nodes, RUN, prefix.value, prefix.present);
        nodes[0] = choose(prefix.present, nodes[0], sink.init);
        A after = choose(lane == WARP - 1, of_next, shuffle(prefix.value, (lane + 1) % WARP));
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            int place = this->run_at(warp_index(), row) + i;
            if (place < edge.from || place >= results) continue;
            A following = i + 1 < RUN ? nodes[(i + 1) % RUN] : after;
            sink.store(edge.tile.start + place, choose(sink.inclusive, following, nodes[i]));
        }
    }

    // ---- what the piece leaves ----

    /// Leaves the sum of an aligned block before the end, by the logarithm of its length.
    __device__ __forceinline__ void leave(int level, const A& block) const {
        left[level] = Operand<A>::of(block);
    }

    /// Leaves the blocks within a row that end at a place of it, by the lane of that place.
    __device__ __forceinline__ void leave_row(const EdgeRow& row, int end) const {
        if ((int)(threadIdx.x % WARP) != end / RUN % WARP) return;
        leave_siblings(row.lanes, LOG2<RUN>, end / RUN % WARP);
        // A node lies where its last item lay.
#pragma unroll
        for (int level = 0; level < LOG2<RUN>; level++) {
            int at = (end % RUN >> level << level) - 1;
#pragma unroll
            for (int i = 0; i < RUN; i++)
                if ((end >> level & 1) != 0 && i == at) leave(level, row.nodes[i]);
        }
    }

    /// Leaves the blocks before a lane of a tree whose leaves have 2^leaf items, by that lane.
    template <class Tree>
    __device__ __forceinline__ void leave_siblings(const Tree& tree, int leaf, int lane) const {
        if ((int)(threadIdx.x % WARP) != lane) return;
#pragma unroll
        for (int level = 0; level < Tree::LEVELS; level++)
            if ((lane >> level & 1) != 0) leave(leaf + level, tree.siblings[level][0]);
    }
};

}  // namespace warpfold
