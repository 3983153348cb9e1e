// A piece of a stream, scanned in one launch: the rows engine, from any position on.
//
// Its tiles lie at multiples of their length in the stream (grid/stream_sums.cuh says why). Those
// between the first and the last are whole, and are scanned as those of an array (rows.cuh). The
// first one may start before the piece, and the last one ends after it: it may hold no item at all.
// These two are edges. They take plain loops over values that may be absent: blocks of the carry
// stand where the items before the piece would, and nothing stands behind its end.
//
// The block of the last tile leaves the sums of the aligned blocks before the piece's end, for the
// next piece.
#pragma once
#include "engines/rows.cuh"
#include "grid/stream_sums.cuh"

namespace warpfold {

template <PrefixSink Sink, class Source, class Policy>
struct PieceEngine : RowsEngine<Sink, Source, Policy> {
    using Base = RowsEngine<Sink, Source, Policy>;
    using Base::RUN, Base::ROWS, Base::BATCH, Base::ROW, Base::CHUNK;
    using Base::source, Base::sink, Base::length, Base::workspace, Base::by_ticket;
    using typename Base::Operator, typename Base::Item, typename Base::A, typename Base::P,
        typename Base::Tile, typename Base::Rows, typename Base::Chunk;
    static constexpr int WARPS = Policy::MOST_WARPS;
    using Present = Skipping<Operator, A>;
    using PP = Prefix<Present, P>;
    using Stored = typename Operand<A>::Type;

    /// A value that may be absent, in shared memory: without the gaps of a struct, which nothing
    /// writes.
    template <int COUNT>
    struct Room {
        A values[COUNT];
        u32 present[COUNT];

        __device__ __forceinline__ void set(int i, const P& prefix) {
            values[i] = prefix.value;
            present[i] = prefix.present;
        }
        __device__ __forceinline__ P get(int i) const { return {values[i], present[i] != 0}; }
    };
    struct Shared {
        Room<WARPS> chunks;
        Room<1> before;
        u64 tile;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Carry<Operator, A> carry;
    /// Where the sums of the blocks before the end go.
    Stored* left;

    /// A tile, and which of its items are there: from one place to another.
    struct Edge {
        Tile tile;
        int from, to;

        /// Without the last item of the tile. Nothing after it in the tile asks for it, and in place
        /// the next tile's block may be writing its result.
        __device__ __forceinline__ Edge without_last(int items) const {
            return {tile, from, to < items ? to : items - 1};
        }
    };

    __device__ __forceinline__ u64 end() const { return carry.position + length; }
    __device__ __forceinline__ int tile_items() const { return CHUNK * (int)(blockDim.x / WARP); }
    __device__ __forceinline__ u64 first() const { return carry.position / tile_items(); }

    /// Prefetches the tile, before the launch has begun.
    __device__ __forceinline__ void prefetch() const {
        int items = tile_items();
        u64 skipped = carry.position % items, start = blockIdx.x * (u64)items;
        start = start > skipped ? start - skipped : 0;
        source.prefetch(length, start, items, !by_ticket && threadIdx.x == 0);
    }

    __device__ __forceinline__ void run() {
        Tile taken = this->take_tile(shared().tile);
        int items = tile_items();
        u64 place = first() + taken.number, start = place * items;
        Edge edge{{taken.number, start - carry.position, items, true},
                  start < carry.position ? (int)(carry.position - start) : 0,
                  end() - start < items ? (int)(end() - start) : items};
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();
        if (edge.to - edge.from == items) scan_whole(edge.tile, state);
        else scan_edge(edge, state);
    }

    // ---- whole tiles ----

    __device__ __forceinline__ void scan_whole(const Tile& tile, WorkspaceHeader::State state) {
        Rows rows;
        this->load(rows, tile, warp_index() * CHUNK);
        Chunk chunk;
        chunk.fold(sink, rows);
        LaneTree<Operator, A, WARPS> warps;
        A sum = Base::fold_warps(warps, chunk.sum);
        if (warp_index() == 0) {
            auto sums = this->sums(state);
            sums.publish(first() + tile.number, sum);
            P before = sums.prefix(first() + tile.number, sink.before(), [](int, const P&) {});
            if (threadIdx.x == 0) shared().before.set(0, before);
        }
        __syncthreads();
        P before = shared().before.get(0);
        if (threadIdx.x == 0) begin_tile(tile, before);
        this->emit(rows, chunk, tile, warps, before, sum);
    }

    /// The sums of tiles, by the first warp.
    __device__ __forceinline__ StreamSums<Operator, A> sums(WorkspaceHeader::State& state) const {
        if (gridDim.x > 1) {
            state = shuffle(state, 0);
            workspace.require(state);
        }
        int log_tile = 31 - __clz(tile_items());
        return {{workspace.packets(), state.tag}, carry,    first(),
                end() / tile_items(),             log_tile, sink.init};
    }

    /// Stores the last inclusive result of the tile before.
    __device__ __forceinline__ void begin_tile(const Tile& tile, const P& before) const {
        if (tile.number > 0) sink.begin_tile(tile.start, before.value);
    }

    // ---- edges ----

    /// The values of a lane in a row of the tile.
    __device__ __forceinline__ void load_run(const Edge& edge, int row, P (&values)[RUN]) const {
        int first = warp_index() * CHUNK + row * ROW + (int)(threadIdx.x % WARP) * RUN;
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            int place = first + i;
            values[i] = {sink.init, false};
            if (place < edge.from) values[i] = carry.at(place, edge.from, 0, sink.init);
            else if (place < edge.to)
                values[i] = {Fold<Item>::widen(source.at(edge.tile.start + place)), true};
        }
    }

    /// Rows that a warp folds side by side.
    struct Batch {
        P nodes[BATCH][RUN];
        LaneTrees<Present, P, WARP, BATCH> lanes;

        /// Leaves the sum of each row.
        __device__ __forceinline__ void up_sweep(P (&sums)[BATCH]) {
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                run_up_sweep<Present, true>(nodes[k], RUN);
                sums[k] = nodes[k][RUN - 1];
            }
            lanes.up_sweep(sums);
        }
    };

    __device__ __forceinline__ void load_batch(const Edge& edge, int first, Batch& batch) const {
#pragma unroll
        for (int k = 0; k < BATCH; k++) load_run(edge, first + k, batch.nodes[k]);
    }

    __device__ __forceinline__ void scan_edge(const Edge& edge, WorkspaceHeader::State state) {
        int lane = threadIdx.x % WARP, warp = warp_index(), count = (int)(blockDim.x / WARP);
        bool is_last = edge.tile.number == gridDim.x - 1;
        int end = edge.to;
        P of_row{sink.init, false};  // lane l has the sum of row l
#pragma unroll 1
        for (int first = 0; first < ROWS; first += BATCH) {
            Batch batch;
            P sums[BATCH];
            load_batch(edge, first, batch);
            batch.up_sweep(sums);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                if (lane == first + k) of_row = sums[k];
                if (is_last && warp == end / CHUNK && first + k == end / ROW % ROWS)
                    leave_row(batch, k, end);
            }
        }
        LaneTree<Present, P, ROWS> rows;
        P of_chunk = rows.up_sweep(shuffle(of_row, lane % ROWS));
        if (is_last && warp == end / CHUNK)
            leave_siblings(rows, LOG2<ROW>, end / ROW % ROWS);
        if (lane == 0) shared().chunks.set(warp, of_chunk);
        __syncthreads();
        P chunk_of_lane{sink.init, false};
        if (lane % WARPS < count) chunk_of_lane = shared().chunks.get(lane % WARPS);
        LaneTree<Present, P, WARPS> warps;
        P sum = warps.up_sweep(chunk_of_lane);
        if (warp == 0) {
            auto sums = this->sums(state);
            u64 place = first() + edge.tile.number;
            if (!is_last) sums.publish(place, sum.value);
            else leave_siblings(warps, LOG2<CHUNK>, end / CHUNK);
            P before = sums.prefix(place, sink.before(), [&](int level, const P& block) {
                if (is_last) leave(level, block);
            });
            if (is_last) {
                int above = sums.log_tile + sums.levels() * sums.LOG_RADIX;
                for (int level = above + lane; level < 64; level += WARP)
                    if ((carry.position >> level & 1) != 0) leave(level, carry.block(level));
            }
            if (lane == 0) {
                shared().before.set(0, before);
                if (gridDim.x > 1) this->end_launch(edge.tile, state.tag);
            }
        }
        __syncthreads();
        P before = shared().before.get(0);
        if (threadIdx.x == 0) begin_tile(edge.tile, before);
        P of_chunks = warps.down_sweep(PP{before, true}).value;
        // What follows the last chunk of a whole tile is the next tile's affair.
        P own = shuffle(of_chunks, warp), next = shuffle(of_chunks, (warp + 1) % WARPS);
        P of_rows = rows.down_sweep(PP{own, true}).value;
#pragma unroll 1
        for (int first = 0; first < ROWS; first += BATCH) {
            Batch batch;
            P sums[BATCH];
            load_batch(edge.without_last(tile_items()), first, batch);
            batch.up_sweep(sums);
            PP prefixes[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) prefixes[k] = {shuffle(of_rows, first + k), true};
            batch.lanes.down_sweep(prefixes);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                int row = first + k;
                P of_next = shuffle(of_rows, (row + 1) % ROWS);
                run_down_sweep<Present, true>(batch.nodes[k], RUN, prefixes[k].value, true);
                P after = shuffle(prefixes[k].value, (lane + 1) % WARP);
                if (lane == WARP - 1) after = row + 1 < ROWS ? of_next : next;
                store_run(edge, row, batch.nodes[k], after);
            }
        }
    }

    /// Stores the results of a lane's run in a row, given the prefixes of its items and of what
    /// follows it.
    __device__ __forceinline__ void store_run(const Edge& edge, int row, const P (&prefixes)[RUN],
                                              const P& after) const {
        int first = warp_index() * CHUNK + row * ROW + (int)(threadIdx.x % WARP) * RUN;
        int results = sink.results(edge.to, edge.to == tile_items());
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            int place = first + i;
            if (place < edge.from || place >= results) continue;
            const P& exclusive = prefixes[i];
            const P& following = i + 1 < RUN ? prefixes[(i + 1) % RUN] : after;
            sink.store(edge.tile.start + place,
                       sink.inclusive        ? following.value
                       : exclusive.present ? exclusive.value
                                           : sink.init);
        }
    }

    // ---- what the piece leaves ----

    __device__ __forceinline__ void leave(int level, const P& block) const {
        left[level] = Operand<A>::of(block.value);
    }

    /// Leaves the blocks within the row that the piece ends in, by the lane that it ends in.
    __device__ __forceinline__ void leave_row(const Batch& batch, int k, int end) const {
        int lane = end / RUN % WARP;
        if ((int)(threadIdx.x % WARP) != lane) return;
#pragma unroll
        for (int level = 0; level < LOG2<WARP>; level++)
            if ((lane >> level & 1) != 0)
                leave(LOG2<RUN> + level, batch.lanes.siblings[level][k]);
        // A node lies where its last item lay.
#pragma unroll
        for (int level = 0; level < LOG2<RUN>; level++) {
#pragma unroll
            for (int node = (1 << level) - 1; node < RUN; node += 2 << level)
                if ((end >> level & 1) != 0 && node == (end % RUN >> level << level) - 1)
                    leave(level, batch.nodes[k][node]);
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
