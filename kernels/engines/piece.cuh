// A piece of a stream, scanned in one launch: the rows engine, from any position on.
//
// Its tiles lie at multiples of their length in the stream (grid/stream_sums.cuh says why). Those
// between the first and the last are whole, and are scanned as those of an array (rows.cuh). The
// first one may start before the piece, and the last one ends after it: it may hold no item at all.
// These two are edges, and are scanned by loops. Blocks of the carry stand where the items before
// the piece would.
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

    /// What a lane knows of its warp's rows. It lies in local memory, and is worked on by loops:
    /// such a tile is met once, so code without them took no less time.
    struct EdgeRows {
        A nodes[ROWS][RUN];
        /// Of each row's tree over lanes.
        A siblings[ROWS][LOG2<WARP>];
    };

    __device__ __forceinline__ void load_edge(EdgeRows& rows, const Edge& edge) const {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < RUN; i++) {
                int place = run_at(row) + i;
                rows.nodes[row][i] = sink.init;
                if (edge.from <= place && place < edge.to)
                    rows.nodes[row][i] = Fold<Item>::widen(source.at(edge.tile.start + place));
            }
        }
    }

    /// Folds a row of the tile. Returns its sum.
    __device__ __forceinline__ A fold_edge(EdgeRows& rows, const Edge& edge, int row) const {
        int origin = edge.from - run_at(row), row_at = run_at(row) - threadIdx.x % WARP * RUN;
        A nodes[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) nodes[i] = rows.nodes[row][i];
        if (row_at < edge.from) {
#pragma unroll
            for (int i = 0; i < RUN; i++) {
                // A block of the carry stands at its first place.
                int place = run_at(row) + i;
                int bit = place < edge.from ? 31 - __clz(place ^ edge.from) : 0;
                bool is_first = place < edge.from && (place & (2 << bit) - 1) == 0;
                nodes[i] = choose(is_first, shared().blocks[bit], nodes[i]);
            }
        }
#pragma unroll
        for (int half = 1; half < RUN; half *= 2) {
#pragma unroll
            for (int i = 2 * half - 1; i < RUN; i += 2 * half) {
                A both = Operator::combine(nodes[i - half], nodes[i]);
                nodes[i] = choose(i < origin, nodes[i - half], both);
            }
        }
        LaneTreeFrom<Operator, A, WARP> lanes;
        int before = edge.from - row_at;
        A sum = lanes.up_sweep(nodes[RUN - 1], before > 0 ? before / RUN : 0);
#pragma unroll
        for (int i = 0; i < RUN; i++) rows.nodes[row][i] = nodes[i];
#pragma unroll
        for (int level = 0; level < LOG2<WARP>; level++)
            rows.siblings[row][level] = lanes.siblings[level][0];
        return sum;
    }

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
        EdgeRows own;
        if (edge.to > 0) {
            load_edge(own, edge);
#pragma unroll 1
            for (int row = 0; row < ROWS; row++) {
                A sum = fold_edge(own, edge, row);
                if (lane == row) of_row = sum;
            }
            if (leaves) leave_row(own, end / ROW % ROWS, end);
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
        for (int row = 0; row < ROWS; row++) {
            LaneTree<Operator, A, WARP> lanes;
#pragma unroll
            for (int level = 0; level < LOG2<WARP>; level++)
                lanes.siblings[level][0] = own.siblings[row][level];
            P prefix = lanes.down_sweep(
                P{shuffle(of_rows.value, row), before.present || warp > 0 || row > 0});
            A nodes[RUN];
#pragma unroll
            for (int i = 0; i < RUN; i++) nodes[i] = own.nodes[row][i];
            run_down_sweep<Operator, true>(nodes, RUN, prefix.value, prefix.present);
            nodes[0] = choose(prefix.present, nodes[0], sink.init);
            A of_next = shuffle(of_rows.value, (row + 1) % ROWS);
            A after = shuffle(prefix.value, (lane + 1) % WARP);
            after = choose(lane == WARP - 1, row + 1 < ROWS ? of_next : next, after);
            store_run(edge, row, nodes, after, results);
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
    __device__ __forceinline__ void leave_row(const EdgeRows& rows, int row, int end) const {
        int lane = end / RUN % WARP;
        if ((int)(threadIdx.x % WARP) != lane) return;
        for (int level = 0; level < LOG2<WARP>; level++)
            if ((lane >> level & 1) != 0) leave(LOG2<RUN> + level, rows.siblings[row][level]);
        // A node lies where its last item lay.
        for (int level = 0; level < LOG2<RUN>; level++)
            if ((end >> level & 1) != 0)
                leave(level, rows.nodes[row][(end % RUN >> level << level) - 1]);
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
