// The tiles of a piece of a stream, by the rows engine, from any position on.
//
// Tiles lie at multiples of their length in the stream (grid/stream_sums.cuh says why). Those
// between the first and the last are whole, and are worked on as those of an array (rows.cuh). The
// first one may start before the piece, and the last one ends after it: it may hold no item at all.
// These two are edges.
//
// A warp folds its rows of an edge as if all items were there: an item of the piece stands for each
// one that is not. What is wrong then is put right. Rows before the piece are blocks of the carry,
// which stand at their first places, or nothing. The row that the piece begins in is folded once
// more, by the rule of stream_sums.cuh. What is wrong behind the piece's end, nothing reads.
#pragma once
#include "engines/rows.cuh"
#include "grid/stream_sums.cuh"

namespace warpfold {

template <PrefixSink Sink, class Source, class Policy, class Before>
struct PieceTiles : RowsEngine<Sink, Source, Policy> {
    using Base = RowsEngine<Sink, Source, Policy>;
    using Base::RUN, Base::ROWS, Base::ROW, Base::CHUNK;
    using Base::source, Base::sink, Base::length, Base::workspace, Base::by_ticket;
    using typename Base::Operator, typename Base::Item, typename Base::A, typename Base::Tile;
    static constexpr int WARPS = Policy::MOST_WARPS;
    using Stored = typename Operand<A>::Type;
    using Sums = StreamSums<Operator, A, Before>;

    struct Shared {
        /// The carry's blocks that are shorter than a tile.
        A blocks[WARP];
        A chunks[WARPS], before;
        u64 tickets[2];
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Before carry;
    /// Where the sums go that the piece leaves.
    Stored* left;
    /// The first tile and the last, by their places in the stream.
    u64 first, last;
    /// The logarithm of a tile's length, and the levels of nodes over tiles.
    int log_tile, levels;

    /// A tile, and which of its items are there: from one place to another.
    struct Edge {
        Tile tile;
        int from, to;
        bool is_last;
    };

    __device__ __forceinline__ int tile_items() const { return 1 << log_tile; }

    /// Prefetches the tile, before the launch has begun.
    __device__ __forceinline__ void prefetch() const {
        int items = tile_items();
        u64 skipped = carry.position & (items - 1), start = blockIdx.x * (u64)items;
        start = start > skipped ? start - skipped : 0;
        source.prefetch(length, start, items, !by_ticket && threadIdx.x == 0);
    }

    /// The tile of that number, from 0 on.
    __device__ __forceinline__ Edge edge_of(u64 number) const {
        u64 start = first + number << log_tile, end = carry.position + length;
        int items = tile_items();
        return {{number, start - carry.position, items, true},
                start < carry.position ? (int)(carry.position - start) : 0,
                end - start < items ? (int)(end - start) : items,
                number == last - first};
    }
    __device__ __forceinline__ bool is_whole(const Edge& edge) const {
        return edge.to - edge.from == tile_items();
    }

    /// The sums of tiles, by the first warp. Its first thread has loaded the state.
    __device__ __forceinline__ Sums sums(WorkspaceHeader::State& state) const {
        if (first < last) {
            state = shuffle(state, 0);
            workspace.require(state);
        }
        return {{workspace.packets(), state.tag}, carry,  first, last, log_tile, levels,
                sink.init};
    }

    // ---- edges ----

    /// Where the run of a lane in a row of a chunk begins, in the tile. Rows of a warp are a chunk.
    static __device__ __forceinline__ int run_at(int chunk, int row) {
        return chunk * CHUNK + row * ROW + (int)(threadIdx.x % WARP) * RUN;
    }

    /// The item at a place of an edge, or one that is there.
    __device__ __forceinline__ Item item_at(const Edge& edge, int place) const {
        int there = place < edge.from ? edge.from : place < edge.to ? place : edge.to - 1;
        return source.at(edge.tile.start + there);
    }

    /// A chunk of an edge.
    struct EdgeItems {
        Item rows[ROWS][RUN];
    };
    __device__ __forceinline__ void load_edge(EdgeItems& items, const Edge& edge,
                                              int chunk) const {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < RUN; i++)
                items.rows[row][i] = item_at(edge, run_at(chunk, row) + i);
        }
    }

    /// The sums of a chunk's rows, as if all items were there: in lane l that of row l % ROWS.
    __device__ __forceinline__ A fold_rows(const EdgeItems& items) const {
        A leaves[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            A values[RUN];
            sink.values(values, items.rows[row]);
            leaves[row] = sum_of_run<Operator>(values);
        }
        return RowsTree<Operator, A, ROWS>().up_sweep(leaves);
    }

    /// A row of an edge, of which some items are not there: the nodes over each lane's run, and the
    /// tree over lanes. Rows of a tile are numbered.
    struct EdgeRow {
        A nodes[RUN];
        LaneTreeFrom<Operator, A, WARP> lanes;
        A sum;
    };
    __device__ __forceinline__ void fold_row(EdgeRow& folded, const Edge& edge, int row) const {
        int at = run_at(0, row), origin = edge.from - at;
        Item items[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = item_at(edge, at + i);
        sink.values(folded.nodes, items);
        if constexpr (Before::IS_KNOWN) {
#pragma unroll
            for (int i = 0; i < RUN; i++)
                if (i < origin) folded.nodes[i] = block_at(at + i, edge.from, 0);
        }
#pragma unroll
        for (int half = 1; half < RUN; half *= 2) {
#pragma unroll
            for (int i = 2 * half - 1; i < RUN; i += 2 * half) {
                A left = folded.nodes[i - half];
                folded.nodes[i] =
                    choose(i < origin, left, Operator::combine(left, folded.nodes[i]));
            }
        }
        int before = origin + (int)(threadIdx.x % WARP) * RUN;
        folded.sum = folded.lanes.up_sweep(folded.nodes[RUN - 1], before > 0 ? before / RUN : 0);
    }

    /// Keeps the carry's blocks that are shorter than a tile, if the edge begins with them.
    __device__ __forceinline__ void keep_blocks(const Edge& edge) const {
        if (!Before::IS_KNOWN || edge.from == 0) return;
        int lane = threadIdx.x % WARP;
        if (warp_index() == 0) {
            A block = sink.init;
            if ((edge.from >> lane & 1) != 0) block = carry.block(lane);
            shared().blocks[lane] = block;
        }
        __syncthreads();
    }

    /// What stands at a place before `origin`, the first one that is there, in units of 2^level
    /// items.
    __device__ __forceinline__ A block_at(int place, int origin, int level) const {
        int bit = first_difference(place, origin);
        bool is_first = (place & (2 << bit) - 1) == 0;
        return choose(is_first, shared().blocks[level + bit], sink.init);
    }

    /// Puts the sums of rows right that lie before the piece, or hold its beginning. The tree over
    /// that row's lanes is wanted again, for its prefixes.
    __device__ __forceinline__ A put_right(A of_row, EdgeRow& begun, const Edge& edge) const {
        if (edge.from == 0) return of_row;
        int row = threadIdx.x % ROWS, place = warp_index() * ROWS + row, origin = edge.from / ROW;
        if (place < origin) of_row = block_at(place, origin, LOG2<ROW>);
        if (begins_in(edge)) {
            fold_row(begun, edge, origin);
            of_row = choose(row == origin % ROWS, begun.sum, of_row);
        }
        return of_row;
    }
    /// Whether the piece begins within a row of this warp.
    static __device__ __forceinline__ bool begins_in(const Edge& edge) {
        return edge.from % ROW != 0 && edge.from / CHUNK == warp_index();
    }
};

}  // namespace warpfold
