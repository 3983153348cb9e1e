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
    using Stored = typename Operand<A>::Type;
    using Sums = StreamSums<Operator, A>;

    struct Shared {
        /// The carry's blocks that are shorter than a tile.
        A blocks[WARP];
        A chunks[WARPS], before;
        u64 tile;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Carry<Operator, A> carry;
    /// Where the sums of the blocks before the end go.
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

        /// Without the last item of the tile. Nothing after it in the tile asks for it, and in place
        /// the next tile's block may be writing its result.
        __device__ __forceinline__ Edge without_last(int items) const {
            return {tile, from, to < items ? to : items - 1, is_last};
        }
    };

    __device__ __forceinline__ int tile_items() const { return 1 << log_tile; }

    /// Prefetches the tile, before the launch has begun.
    __device__ __forceinline__ void prefetch() const {
        int items = tile_items();
        u64 skipped = carry.position % items, start = blockIdx.x * (u64)items;
        start = start > skipped ? start - skipped : 0;
        source.prefetch(length, start, items, !by_ticket && threadIdx.x == 0);
    }

    __device__ __forceinline__ void run() {
        Tile taken = this->take_tile(shared().tile);
        u64 start = first + taken.number << log_tile, end = carry.position + length;
        int items = tile_items();
        Edge edge{{taken.number, start - carry.position, items, true},
                  start < carry.position ? (int)(carry.position - start) : 0,
                  end - start < items ? (int)(end - start) : items,
                  taken.number == gridDim.x - 1};
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();
        if (edge.to - edge.from == items) scan_whole(edge.tile, state);
        else scan_edge(*this, edge, state);
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

    /// The sums of tiles, by the first warp.
    __device__ __forceinline__ Sums sums(WorkspaceHeader::State& state) const {
        if (gridDim.x > 1) {
            state = shuffle(state, 0);
            workspace.require(state);
        }
        return {{workspace.packets(), state.tag}, carry,  first, last, log_tile, levels,
                sink.init};
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

    /// Where the run of a lane in a row of the tile begins.
    static __device__ __forceinline__ int run_at(int row) {
        return warp_index() * CHUNK + row * ROW + (int)(threadIdx.x % WARP) * RUN;
    }

    /// Rows that a warp folds side by side.
    struct Batch {
        A nodes[BATCH][RUN];
        LaneTreesFrom<Operator, A, WARP, BATCH> lanes;

        /// Loads rows from `first` on.
        __device__ __forceinline__ void load(const PieceEngine& engine, const Edge& edge,
                                             int first) {
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    int place = run_at(first + k) + i;
                    nodes[k][i] = engine.sink.init;
                    if (edge.from <= place && place < edge.to)
                        nodes[k][i] = Fold<Item>::widen(engine.source.at(edge.tile.start + place));
                }
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                if (run_at(first + k) - (int)(threadIdx.x % WARP) * RUN >= edge.from) continue;
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    int place = run_at(first + k) + i;
                    // A block of the carry stands at its first place.
                    int bit = place < edge.from ? 31 - __clz(place ^ edge.from) : 0;
                    bool is_first = place < edge.from && (place & (2 << bit) - 1) == 0;
                    nodes[k][i] = choose(is_first, shared().blocks[bit], nodes[k][i]);
                }
            }
        }

        /// Leaves the sum of each row, from row `first` on.
        __device__ __forceinline__ void up_sweep(A (&sums)[BATCH], const Edge& edge, int first) {
            int origins[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                int origin = edge.from - run_at(first + k);
#pragma unroll
                for (int half = 1; half < RUN; half *= 2) {
#pragma unroll
                    for (int i = 2 * half - 1; i < RUN; i += 2 * half) {
                        A both = Operator::combine(nodes[k][i - half], nodes[k][i]);
                        nodes[k][i] = choose(i < origin, nodes[k][i - half], both);
                    }
                }
                sums[k] = nodes[k][RUN - 1];
                int before = edge.from - (warp_index() * CHUNK + (first + k) * ROW);
                origins[k] = before > 0 ? before / RUN : 0;
            }
            lanes.up_sweep(sums, origins);
        }
    };

    /// A function of its own, so that whole tiles have their registers for themselves.
    static __device__ __noinline__ void scan_edge(PieceEngine engine, Edge edge,
                                                  WorkspaceHeader::State state) {
        engine.scan_edge(edge, state);
    }

    __device__ __forceinline__ void scan_edge(const Edge& edge,
                                              WorkspaceHeader::State state) const {
        int lane = threadIdx.x % WARP, warp = warp_index();
        int end = edge.to, most = tile_items();
        if (edge.from > 0) {
            if (warp == 0) {
                A block = sink.init;
                if ((edge.from >> lane & 1) != 0) block = carry.block(lane);
                shared().blocks[lane] = block;
            }
            __syncthreads();
        }
        A of_row = sink.init;  // lane l has the sum of row l
        bool leaves = edge.is_last && warp == end / CHUNK;
        Batch batch;
        if (edge.to > 0) {
#pragma unroll 1
            for (int first = 0; first < ROWS; first += BATCH) {
                A sums[BATCH];
                batch.load(*this, edge, first);
                batch.up_sweep(sums, edge, first);
#pragma unroll
                for (int k = 0; k < BATCH; k++) {
                    if (lane == first + k) of_row = sums[k];
                    if (leaves && first + k == end / ROW % ROWS) leave_row(batch, k, end);
                }
            }
        }
        LaneTreeFrom<Operator, A, ROWS> rows;
        int before_chunk = edge.from - warp * CHUNK;
        A of_chunk =
            rows.up_sweep(shuffle(of_row, lane % ROWS), before_chunk > 0 ? before_chunk / ROW : 0);
        if (leaves) leave_siblings(rows, LOG2<ROW>, end / ROW % ROWS);
        if (lane == 0) shared().chunks[warp] = of_chunk;
        __syncthreads();
        // Lanes without a chunk take the first one's; nothing reads what they compute.
        int chunk = lane % WARPS < most / CHUNK ? lane % WARPS : 0;
        LaneTreeFrom<Operator, A, WARPS> warps;
        A sum = warps.up_sweep(shared().chunks[chunk], edge.from / CHUNK);
        // In a block of fewer warps, the lane that comes after them has their sum.
#pragma unroll
        for (int level = 0; level < LOG2<WARPS>; level++)
            if (most == CHUNK << level) sum = shuffle(warps.siblings[level][0], 1 << level);
        if (warp == 0) {
            Sums sums = this->sums(state);
            u64 place = first + edge.tile.number;
            if (!edge.is_last) sums.publish(place, sum);
            else leave_siblings(warps, LOG2<CHUNK>, end / CHUNK);
            P before = sums.prefix(place, sink.before(), [&](int level, const A& block) {
                if (edge.is_last) leave(level, block);
            });
            if (edge.is_last) {
                for (int level = log_tile + levels * Sums::LOG_RADIX + lane; level < 64;
                     level += WARP)
                    if ((carry.position >> level & 1) != 0) leave(level, carry.block(level));
            }
            if (lane == 0) {
                shared().before = before.value;
                if (gridDim.x > 1) this->end_launch(edge.tile, state.tag);
            }
        }
        __syncthreads();
        P before = before_of(edge.tile);
        if (threadIdx.x == 0) begin_tile(edge.tile, before);
        int results = sink.results(end, end == most);
        if (edge.from >= results) return;
        P of_chunks = warps.down_sweep(before);
        // What follows the last chunk of a whole tile is the next tile's affair.
        A next = shuffle(of_chunks.value, (warp + 1) % WARPS);
        P of_rows = rows.down_sweep(P{shuffle(of_chunks.value, warp), before.present || warp > 0});
#pragma unroll 1
        for (int first = 0; first < ROWS; first += BATCH) {
            if constexpr (!Base::KEEPS) {
                A sums[BATCH];
                Edge read = edge.without_last(most);
                batch.load(*this, read, first);
                batch.up_sweep(sums, read, first);
            }
            P prefixes[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++)
                prefixes[k] = {shuffle(of_rows.value, first + k),
                               before.present || warp > 0 || first + k > 0};
            batch.lanes.down_sweep(prefixes);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                int row = first + k;
                A of_next = shuffle(of_rows.value, (row + 1) % ROWS);
                const P& prefix = prefixes[k];
                run_down_sweep<Operator, true>(batch.nodes[k], RUN, prefix.value, prefix.present);
                batch.nodes[k][0] = choose(prefix.present, batch.nodes[k][0], sink.init);
                A after = shuffle(prefix.value, (lane + 1) % WARP);
                after = choose(lane == WARP - 1, row + 1 < ROWS ? of_next : next, after);
                store_run(edge, row, batch.nodes[k], after, results);
            }
        }
    }

    /// Stores the results of a lane's run in a row, given the prefixes of its items and of what
    /// follows it.
    __device__ __forceinline__ void store_run(const Edge& edge, int row, const A (&prefixes)[RUN],
                                              const A& after, int results) const {
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            int place = run_at(row) + i;
            if (place < edge.from || place >= results) continue;
            A following = i + 1 < RUN ? prefixes[(i + 1) % RUN] : after;
            sink.store(edge.tile.start + place, choose(sink.inclusive, following, prefixes[i]));
        }
    }

    // ---- what the piece leaves ----

    __device__ __forceinline__ void leave(int level, const A& block) const {
        left[level] = Operand<A>::of(block);
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
