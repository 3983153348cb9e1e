// The rows engine for prefixes: any length in one launch, by plain loads. It runs on every GPU, and
// slices may start anywhere.
//
// Each block works on one tile, which it holds in registers: load, fold, look back, emit. Its warps
// load rows and fold them. From each other, and from the blocks before them (look_back.cuh), they
// learn what precedes each row. What becomes of the prefixes is the sink's affair (scan.cuh,
// select.cuh).
//
// A short input is the tile of a single block, of as many warps as it needs, and touches no
// workspace. Where the GPU holds all tiles at once, warps keep the trees over their rows. For
// longer inputs, and where the code would be too long, they make the trees anew, a batch at a time,
// once they know what comes before.
//
// A block waits for what precedes its tile as late as it can: after the up-sweeps over runs, lanes,
// rows and warps. A sink that only counts packs its items before, too.
#pragma once
#include "engines/row_tiles.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

template <AnySink Sink, class Source, class Policy>
struct RowsEngine : RowTiles<Sink, Source, Policy> {
    using Tiles = RowTiles<Sink, Source, Policy>;
    using Tiles::RUN, Tiles::ROWS, Tiles::BATCH, Tiles::ROW, Tiles::CHUNK, Tiles::COUNTED;
    using Tiles::source, Tiles::sink, Tiles::length, Tiles::workspace;
    using typename Tiles::Operator, typename Tiles::Item, typename Tiles::A, typename Tiles::P,
        typename Tiles::Tile;
    /// The room of a warp in shared memory, in items: for rows on their way to memory that does not
    /// take words of 16 bytes, or for what is kept of a chunk.
    static constexpr int ROOM = PrefixSink<Sink> ? ROW : CHUNK;
    using Rows = SourceRows<Source, RUN, ROWS>;
    using Store = RowStore<RUN, ROOM>;
    /// Whether the up-sweep's trees are kept for the down-sweep.
    static constexpr bool KEEPS = BATCH == ROWS;

    struct Shared {
        A warp_sums[Policy::MOST_WARPS];
        A prefix;
        u64 tile;
        alignas(
            16) unsigned char rooms[Policy::MOST_WARPS][(Sink::room_bytes(ROOM) + 15) / 16 * 16];
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    __device__ __forceinline__ void run() {
        int warp = warp_index();
        Tile tile = this->take_tile(shared().tile);
        bool empty = COUNTED && tile.valid == 0;
        Rows rows;
        if (!empty) this->load(rows, tile, warp * CHUNK);
        // Under way while the rows are folded.
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();

        if constexpr (PrefixSink<Sink>) {
            Chunk chunk;
            chunk.fold(sink, rows);
            LaneTree<Operator, A, Policy::MOST_WARPS> warps;
            A sum = fold_warps(warps, chunk.sum);
            P before = look_back(tile, state, sum);
            if (tile.number > 0 && threadIdx.x == 0) sink.begin_tile(tile.start, before.value);
            if (warp * CHUNK < tile.valid) emit(rows, chunk, tile, warps, before, sum);
        } else {
            FlaggedChunk chunk{};
            if (!empty) chunk.fold(rows, tile, warp);
            LaneTree<Operator, A, Policy::MOST_WARPS> warps;
            A sum = fold_warps(warps, chunk.sum);
            // What comes before the tile decides only where its items go. They are packed while
            // that is on its way.
            publish(tile, state, sum);
            bool there = warp * CHUNK < tile.valid;
            Store store = store_of(warp);
            auto kept = sink.begin_chunk(tile.start + warp * CHUNK, chunk.sum);
            if (there) pack(rows, chunk, tile, kept, store);
            P of_warps = warps.down_sweep(look_back(tile, state, sum));
            if (there)
                sink.end_chunk(kept, shuffle(of_warps.value, warp), store, is_last(tile, warp));
        }
    }

    // ---- fold ----

    /// The rows of a warp, folded.
    struct Chunk {
        typename Sink::template Rows<RUN, BATCH> trees;
        Item batch[BATCH][RUN];
        A sum;
        LaneTree<Operator, A, ROWS> rows;

        __device__ __forceinline__ void fold(const Sink& sink, const Rows& from) {
            if constexpr (KEEPS) {
                unpack(from, 0);
                sum = rows.up_sweep(trees.up_sweep(sink, batch));
            } else {
                A leaves[ROWS];
#pragma unroll
                for (int row = 0; row < ROWS; row++) {
                    Item items[RUN];
                    A values[RUN];
#pragma unroll
                    for (int i = 0; i < RUN; i++) items[i] = from.item(row, i);
                    sink.values(values, items);
                    leaves[row] = sum_of_run<Operator>(values);
                }
                sum = rows.up_sweep(RowsTree<Operator, A, ROWS>().up_sweep(leaves));
            }
        }

        __device__ __forceinline__ void unpack(const Rows& from, int first) {
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
#pragma unroll
                for (int i = 0; i < RUN; i++) batch[k][i] = from.item(first + k, i);
            }
        }
    };

    /// The rows of a warp, of which only flags are folded.
    struct FlaggedChunk {
        typename Sink::template Flags<RUN, ROWS> flags;
        A sum;

        /// Of a counted source only the items that are there count.
        __device__ __forceinline__ void fold(const Rows& from, const Tile& tile, int warp) {
            flags.clear();
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                u32 bits = 0;
#pragma unroll
                for (int i = 0; i < RUN; i++)
                    if (from.item(row, i)._1) bits |= 1u << i;
                if (COUNTED) bits &= flags.present(row, tile.valid - warp * CHUNK);
                flags.add(row, bits);
            }
            using Folded = typename Sink::Folded;
            u32 folded =
                LaneTree<typename Folded::InChunk, u32, WARP>().up_sweep(Folded::of_lane(flags));
            sum = Folded::of_chunk(folded, tile.start + warp * CHUNK);
        }
    };

    /// The sum of the tile, and the tree over its warps. Synchronises the block.
    static __device__ __forceinline__ A fold_warps(LaneTree<Operator, A, Policy::MOST_WARPS>& tree,
                                                   const A& of_chunk) {
        int lane = threadIdx.x % WARP, warp = warp_index(), warps = blockDim.x / WARP;
        if (lane == 0) shared().warp_sums[warp] = of_chunk;
        __syncthreads();
        // Lanes without a warp take the first one's sum; nothing reads what they compute.
        return shuffle(tree.up_sweep_over(shared().warp_sums[lane < warps ? lane : 0], warps), 0);
    }

    // ---- look back ----

    /// Publishes the sum of the tile, if another tile may want it. The first warp calls.
    __device__ __forceinline__ void publish_by_warp(const Tile& tile, WorkspaceHeader::State& state,
                                                    const A& sum) const {
        state = shuffle(state, 0);
        workspace.require(state);
        this->publish_sum(tile, state.tag, sum);
    }
    __device__ __forceinline__ void publish(const Tile& tile, WorkspaceHeader::State& state,
                                            const A& sum) const {
        if (gridDim.x == 1) return;
        if (warp_index() == 0) publish_by_warp(tile, state, sum);
        // Without it the compiler takes the lanes of a warp for apart in all that follows.
        __syncthreads();
    }

    /// What precedes the tile. Publishes its sum, unless the sink has that done before.
    /// Synchronises the block.
    __device__ __forceinline__ P look_back(const Tile& tile, WorkspaceHeader::State state,
                                           const A& sum) const {
        P before = sink.before();
        if (gridDim.x == 1) return before;
        if (warp_index() == 0) {
            if constexpr (PrefixSink<Sink>) publish_by_warp(tile, state, sum);
            before = this->sums(state.tag).prefix(tile.number, before);
            if (threadIdx.x == 0) {
                shared().prefix = before.value;
                this->end_launch(tile, state.tag);
            }
        }
        __syncthreads();
        return {shared().prefix, sink.seeded || tile.number > 0};
    }

    // ---- emit ----

    __device__ __forceinline__ void emit(const Rows& rows, Chunk& chunk, const Tile& tile,
                                         const LaneTree<Operator, A, Policy::MOST_WARPS>& warp_tree,
                                         P before, const A& sum) {
        int warp = warp_index(), warps = blockDim.x / WARP;
        P of_warps = warp_tree.down_sweep(before);
        bool present = before.present || warp > 0;
        A after = shuffle(of_warps.value, (warp + 1) % WARP);
        int results = tile.valid;
        if (gridDim.x == 1) {
            before.append(sum);
            after = choose(warp == warps - 1, before.value, after);
        } else {
            results = sink.results(tile.valid, tile.whole);
        }
        P own = chunk.rows.down_sweep(P{shuffle(of_warps.value, warp), present});
        typename Sink::Chunk kept;
        Store store = store_of(warp, tile.start);
#pragma unroll
        for (int first = 0; first < ROWS; first += BATCH) {
            int row = first + (int)(threadIdx.x % BATCH), next = (first + BATCH) % ROWS;
            A start = ROWS == BATCH ? own.value : shuffle(own.value, row);
            A end = next == 0 ? after : shuffle(own.value, next);
            if constexpr (!KEEPS) {
                chunk.unpack(rows, first);
                chunk.trees.up_sweep(sink, chunk.batch);
            }
            sink.emit(kept, chunk.trees, chunk.batch, P{start, present || first > 0}, end,
                      tile.start, warp * CHUNK + first * ROW, results, store);
        }
    }

    /// Packs what a sink keeps of flagged rows.
    template <class Kept>
    __device__ __forceinline__ void pack(const Rows& rows, const FlaggedChunk& chunk,
                                         const Tile& tile, Kept& kept, const Store& store) const {
#pragma unroll
        for (int first = 0; first < ROWS; first += BATCH) {
            typename Sink::template Flags<RUN, BATCH> flags;
            typename Sink::Stored items[BATCH][RUN];
            flags.clear();
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                flags.add(k, chunk.flags.row(first + k));
#pragma unroll
                for (int i = 0; i < RUN; i++) items[k][i] = rows.item(first + k, i)._0;
            }
            sink.pack(kept, items, flags, warp_index() * CHUNK + first * ROW, tile.valid, store);
        }
    }

    /// A warp's store, for results of a tile that starts so.
    __device__ __forceinline__ Store store_of(int warp, u64 start = 0) const {
        return {shared().rooms[warp], is_aligned(sink.out + start, 16)};
    }
    /// Whether a warp has the last items.
    __device__ __forceinline__ bool is_last(const Tile& tile, int warp) const {
        return tile.start + (warp + 1) * CHUNK >= length;
    }
};

}  // namespace warpfold
