// The rows engine for prefixes: any length in one launch, by plain loads. It runs on every GPU, and
// slices may start anywhere.
//
// Each block works on one tile, which it holds in registers: load, fold, look back, emit. Its warps
// load rows and fold them. From each other, and from the blocks before them (look_back.cuh), they
// learn what precedes each row. What becomes of the prefixes is the sink's affair (scan.cuh,
// select.cuh).
//
// A short input is the tile of a single block, of as many warps as it needs, and touches no
// workspace. Its warps keep the trees over their rows. For long inputs warps have more rows. They
// make the trees anew, a batch at a time, once they know what comes before. Then two blocks fit a
// multiprocessor, and the whole input fits the GPU.
//
// A block waits for what precedes its tile as late as it can: after the up-sweeps over runs, lanes,
// rows and warps. A sink that only counts packs its items before, too.
//
//   1. If all blocks fit the GPU at once, they take tiles by their index. The blocks before have
//      then started, or start first: so far every GPU starts blocks in that order, even where other
//      work keeps some of them waiting. Otherwise a tile's number is the order in which it was
//      taken. So running blocks hold the tiles before it, and nothing waits for a block that has
//      not started.
//   2. The block of the last tile resets the workspace's header, once it knows what precedes the
//      tile.
//   3. Only the last tile can be unfinished. It is filled up with one of its items. What they are
//      combined to lies behind the last result, where nothing reads it.
//   4. A source may be COUNTED: a number in memory limits its length, and the grid is for a longer
//      one. Then tiles may be unfinished, or empty, before the last. They publish what they have.
//      That needs a sum of nothing, so only sinks that count take such sources.
//   5. A block holds its items before it publishes their sum. Sinks store only where items of this
//      tile or an earlier one were. So a primitive can work in place.
#pragma once
#include "grid/look_back.cuh"
#include "source/source_rows.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

template <class Sink, class Source, class Policy>
struct RowsEngine {
    using Operator = typename Sink::Operator;
    using Item = typename Sink::Item;
    using A = typename Sink::A;
    using P = Prefix<Operator, A>;
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS,
                         BATCH = Policy::BATCH < ROWS ? Policy::BATCH : ROWS;
    static constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW;
    /// The room of a warp in shared memory, in items: for rows on their way to memory that does not
    /// take words of 16 bytes, or for what is kept of a chunk.
    static constexpr int ROOM = Sink::NEEDS_ROWS ? ROW : CHUNK;
    using Rows = SourceRows<Source, RUN, ROWS>;
    using Sums = SumTree<Operator, A, Policy::PER_LANE>;
    using Store = RowStore<RUN, ROOM>;
    using Batch = typename Sink::template Rows<RUN, BATCH>;
    using Kept = typename Sink::Chunk;
    /// Whether the up-sweep's trees are kept for the down-sweep.
    static constexpr bool KEEPS = BATCH == ROWS && Sink::NEEDS_ROWS;
    static constexpr bool COUNTED = Source::COUNTED;
    static_assert(!COUNTED || !Sink::NEEDS_ROWS, "only sinks that count take counted sources");

    struct Shared {
        A warp_sums[Policy::MOST_WARPS];
        A prefix;
        u64 tile;
        alignas(
            16) unsigned char rooms[Policy::MOST_WARPS][(Sink::room_bytes(ROOM) + 15) / 16 * 16];
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Source source;
    Sink sink;
    u64 length;
    Workspace workspace;
    bool by_ticket;

    /// The block's tile, of which only `valid` items are there.
    struct Tile {
        u64 number, start;
        int valid;
        bool whole;
    };

    /// Prefetches the tile. Before the launch has begun. A tile by ticket is near the one of the
    /// block's index; then not all blocks are there at once.
    __device__ __forceinline__ void prefetch() const {
        u64 elements = blockDim.x / WARP * CHUNK;
        bool few = by_ticket || gridDim.x * elements * sizeof(Item) <= MOST_PREFETCHED;
        source.prefetch(length, blockIdx.x * elements, elements, few && threadIdx.x == 0);
    }

    __device__ __forceinline__ void run() {
        int warp = warp_index();
        Tile tile = take_tile();
        bool empty = COUNTED && tile.valid == 0;
        Rows rows;
        if (!empty) load(rows, tile, warp * CHUNK);
        // Under way while the rows are folded.
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();

        Chunk chunk;
        if (empty) chunk.sum = A{};
        else chunk.fold(sink, rows, tile.valid - warp * CHUNK);
        if (threadIdx.x % WARP == 0) shared().warp_sums[warp] = chunk.sum;
        __syncthreads();
        LaneTree<Operator, A, Policy::MOST_WARPS> warps;
        A sum = fold_warps(warps);
        bool there = warp * CHUNK < tile.valid;
        if constexpr (Sink::NEEDS_ROWS) {
            P before = look_back(tile, state, sum);
            if (tile.number > 0 && threadIdx.x == 0) sink.begin_tile(tile.start, before.value);
            if (there) emit(rows, chunk, tile, warps, before, sum);
        } else {
            // What comes before the tile decides only where its items go. They are packed while
            // that is on its way.
            publish(tile, state, sum);
            Store store = store_of(warp);
            Kept kept = sink.begin_chunk(tile.start + warp * CHUNK, chunk.sum);
            if (there) pack(rows, chunk, tile, kept, store);
            P of_warps = warps.down_sweep(look_back(tile, state, sum));
            if (there)
                sink.end_chunk(kept, shuffle(of_warps.value, warp), store, is_last(tile, warp));
        }
    }

    __device__ __forceinline__ Tile take_tile() {
        u64 number = blockIdx.x;
        if (by_ticket) {
            if (threadIdx.x == 0)
                shared().tile = workspace.header->take(workspace.header->load_state().tag);
            __syncthreads();
            number = shared().tile;
            // By all threads: a branch for one of them would cost the others registers.
            if (number >= gridDim.x) trap("the start of the workspace was overwritten");
        }
        int most = CHUNK * (int)(blockDim.x / WARP);
        u64 start = number * most, rest = COUNTED && start >= length ? 0 : length - start;
        return {number, start, rest < most ? (int)rest : most, rest >= most};
    }

    // ---- load ----

    /// The rows of a warp, from item `first` of the tile on.
    __device__ __forceinline__ void load(Rows& rows, const Tile& tile, int first) const {
        // In place, the block of the tile before this one may be overwriting its own items. We must
        // not read those. The tile's other end is treated alike.
        bool in_place = source.is(sink.out);
        u64 begin = in_place ? tile.start : 0, end = in_place ? tile.start + tile.valid : length;
        // Any item will do to fill up with. An empty tile has one before it.
        u64 filler = tile.valid > 0 ? tile.start : tile.start - 1;
        load_rows<Source, RUN, ROWS>(rows, source, tile.start + first, tile.valid - first, begin,
                                     end, filler);
    }

    // ---- fold ----

    /// The rows of a warp, folded.
    struct Chunk {
        Batch trees;
        Item batch[BATCH][RUN];
        A sum;
        LaneTree<Operator, A, ROWS> rows;

        /// Of a counted source only `there` items count.
        __device__ __forceinline__ void fold(const Sink& sink, const Rows& from, int there) {
            if constexpr (!Sink::NEEDS_ROWS) {
                u32 count = 0;
#pragma unroll
                for (int row = 0; row < ROWS; row++) {
                    Item items[RUN];
#pragma unroll
                    for (int i = 0; i < RUN; i++) items[i] = from.item(row, i);
                    int run = (row * WARP + (int)(threadIdx.x % WARP)) * RUN;
                    count += COUNTED ? Sink::count_run(items, there - run) : Sink::count_run(items);
                }
                sum = LaneTree<typename Sink::ShortSum, u32, WARP>().up_sweep(count);
            } else if constexpr (KEEPS) {
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

    /// The sum of the tile, and the tree over its warps.
    static __device__ __forceinline__ A
    fold_warps(LaneTree<Operator, A, Policy::MOST_WARPS>& tree) {
        int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
        // Lanes without a warp take the first one's sum; nothing reads what they compute.
        return shuffle(tree.up_sweep_over(shared().warp_sums[lane < warps ? lane : 0], warps), 0);
    }

    // ---- look back ----

    /// Publishes the sum of the tile, if another tile may want it. The first warp calls.
    __device__ __forceinline__ void publish_by_warp(const Tile& tile, WorkspaceHeader::State& state,
                                                    const A& sum) const {
        state = shuffle(state, 0);
        workspace.require(state);
        if (tile.whole || (COUNTED && tile.number + 1 < gridDim.x))
            sums(state).publish(tile.number, sum);
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
            if constexpr (Sink::NEEDS_ROWS) publish_by_warp(tile, state, sum);
            before = sums(state).prefix(tile.number, before);
            if (threadIdx.x == 0) {
                shared().prefix = before.value;
                // All other blocks have taken their tiles and read the state: otherwise this block
                // would not have their sums.
                if (tile.number == gridDim.x - 1) workspace.header->reset(state.tag, workspace.key);
            }
        }
        __syncthreads();
        return {shared().prefix, sink.seeded || tile.number > 0};
    }

    __device__ __forceinline__ Sums sums(WorkspaceHeader::State state) const {
        return {{workspace.packets(), state.tag}, gridDim.x};
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
        Kept kept;
        Store store = store_of(warp);
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

    /// Emits rows to a sink that wants no prefixes for that.
    __device__ __forceinline__ void pack(const Rows& rows, Chunk& chunk, const Tile& tile,
                                         Kept& kept, const Store& store) const {
#pragma unroll
        for (int first = 0; first < ROWS; first += BATCH) {
            chunk.unpack(rows, first);
            sink.emit(kept, chunk.trees, chunk.batch, P{}, A{}, tile.start,
                      warp_index() * CHUNK + first * ROW, tile.valid, store);
        }
    }

    __device__ __forceinline__ Store store_of(int warp) const {
        return {shared().rooms[warp], is_aligned(sink.out, 16)};
    }
    /// Whether a warp has the last items.
    __device__ __forceinline__ bool is_last(const Tile& tile, int warp) const {
        return tile.start + (warp + 1) * CHUNK >= length;
    }
};

}  // namespace warpfold
