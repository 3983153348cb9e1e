// The shares engine for prefixes: any length in one launch, with little over 2n combinations and
// little code, for operators bound by computing. Trees in registers (rows.cuh) are unrolled, and
// their code holds the operator dozens of times. The wave engine combines each item three times.
//
// A block's tile lies in shared memory. A run is what a lane loads and stores at once. Lanes fold
// runs in registers. Then each lane folds its share, which is some neighbouring runs, by a loop
// (strided_tree.cuh). Once it is known what comes before, they walk down these trees again. Only
// three warps have something to do between:
//
//   the first     folds the sums of the shares, publishes the tile's sum, and later joins what the
//                 others found, and walks down to the prefixes of the shares
//   the second    computes what precedes the group of tiles that the tile belongs to
//   the third     reads the sums of the tiles just before it, and folds them
//
// Meanwhile other blocks have the multiprocessor. So what these do one after the other is kept
// short: it is what a block waits for.
#pragma once
#include "block/strided_tree.cuh"
#include "engines/row_tiles.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

template <PrefixSink Sink, class Source, class Policy>
struct SharesEngine : RowTiles<Sink, Source, Policy> {
    using Tiles = RowTiles<Sink, Source, Policy>;
    using Tiles::RUN, Tiles::ROWS, Tiles::BATCH, Tiles::ROW, Tiles::CHUNK;
    using Tiles::source, Tiles::sink, Tiles::length, Tiles::workspace;
    using typename Tiles::Operator, typename Tiles::Item, typename Tiles::A, typename Tiles::P,
        typename Tiles::Tile, typename Tiles::Sums;
    static constexpr int WARPS = Policy::WARPS, THREADS = WARPS * WARP;
    static constexpr int SIZE = (int)sizeof(A);
    /// The nodes of a run's tree. The last one is its sum, and later its prefix.
    struct Nodes {
        A nodes[RUN];
    };
    using RunInWords = InWords<Nodes>;
    /// Whether runs are folded before they are written to shared memory. That code is unrolled, so
    /// it must hold the operator seldom. Otherwise a loop reads them again.
    static constexpr bool FOLDED_AT_ONCE = BATCH * (RUN - 1) <= 8;
    /// A share has ROWS runs. 16 bytes or more lie between two shares: from one to the next it is
    /// an odd number of words of 16, so equal places of 8 shares lie in different banks
    /// (padded.cuh).
    static constexpr int SHARE_BYTES = ((ROWS * RUN * SIZE + 15) / 16 + 1 | 1) * 16;
    static constexpr int CHUNK_BYTES = WARP * SHARE_BYTES;
    using Share = ShareTree<Operator, A, ROWS, RUN * SIZE>;
    using SumsTree = StridedTree<Operator, A, SHARE_BYTES>;
    /// The shares that each warp sums together, and how many of these sums are left for each lane
    /// of the first warp.
    static constexpr int GROUP = WARPS < 4 ? WARPS : 4, TOP = WARPS / GROUP;
    using TopTree = LaneLoopTree<Operator, A, TOP>;
    /// The warps that compute what precedes the group of tiles that the tile belongs to, and what
    /// comes between.
    static constexpr int HISTORIAN = 1, LOOK_BACK = WARPS > 2 ? 2 : 1;
    using Digit = typename Sums::DigitByLoops;
    using Store = RowStore<RUN, ROW>;
    static_assert(Sink::room_bytes(ROW) <= ROW * SIZE, "results fit where the row's nodes lay");
    static_assert(WARPS >= 2, "the first warp does not look back");

    struct Shared {
        alignas(16) unsigned char nodes[THREADS * SHARE_BYTES];
        alignas(16) unsigned char lefts[TopTree::BYTES];
        /// What precedes the items of each warp; then, what follows those of the last one.
        alignas(16) unsigned char before[(WARPS + 1) * SIZE];
        /// What precedes the group of tiles that the tile belongs to, and the sums of the aligned
        /// blocks of the tiles between.
        alignas(16) unsigned char preceding[(1 + Sums::LOG_RADIX) * SIZE];
        u64 tile, tag;
    };
    static __device__ __forceinline__ Shared& shared() {
        return *reinterpret_cast<Shared*>(dynamic_shared());
    }

    __device__ __forceinline__ void run() const {
        int warp = warp_index();
        Tile tile = this->take_tile(shared().tile);
        // Under way while the items are loaded and folded.
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();

        unsigned char* chunk = shared().nodes + warp * CHUNK_BYTES;
        fill(chunk, tile, warp * CHUNK);
        if constexpr (!FOLDED_AT_ONCE) fold_runs(chunk);
        __syncwarp();
        Share share{{chunk + threadIdx.x % WARP * SHARE_BYTES + (RUN - 1) * SIZE}};
        share.up_sweep();
        if (gridDim.x > 1 && threadIdx.x == 0) {
            workspace.require(state);
            shared().tag = state.tag;
        }
        __syncwarp();
        scan_shares(tile, warp);
        share.down_sweep(sink.seeded || tile.number > 0 || threadIdx.x > 0);
        __syncwarp();
        emit(chunk, tile, warp);
    }

    /// Where the nodes of a run lie in the room of a chunk.
    static __device__ __forceinline__ int place(int run) {
        return run * RUN * SIZE + run / ROWS * (SHARE_BYTES - ROWS * RUN * SIZE);
    }

    /// Loads the items of a warp, from item `first` of the tile on, or, if they are FOLDED_AT_ONCE,
    /// the sums of their runs' trees.
    __device__ __forceinline__ void fill(unsigned char* chunk, const Tile& tile, int first) const {
        int lane = threadIdx.x % WARP;
#pragma unroll 1
        for (int row = 0; row < ROWS; row += BATCH) {
            SourceRows<Source, RUN, BATCH> rows;
            this->load(rows, tile, first + row * ROW);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                Item items[RUN];
                Nodes run;
#pragma unroll
                for (int i = 0; i < RUN; i++) items[i] = rows.item(k, i);
                sink.values(run.nodes, items);
                if constexpr (FOLDED_AT_ONCE) run_up_sweep<Operator, true>(run.nodes, RUN);
                RunInWords::set(chunk + place((row + k) * WARP + lane), run);
            }
        }
    }

    /// Turns the items of a warp into the sums of their runs' trees. Each lane takes the runs that
    /// it has loaded.
    __device__ __forceinline__ void fold_runs(unsigned char* chunk) const {
#pragma unroll 1
        for (int row = 0; row < ROWS; row++) {
            unsigned char* at = chunk + place(row * WARP + threadIdx.x % WARP);
            Nodes run = RunInWords::get(at);
            run_up_sweep<Operator, true>(run.nodes, RUN);
            RunInWords::set(at, run);
        }
    }

    /// Turns the sums of all shares into their prefixes. Synchronises the block.
    __device__ __forceinline__ void scan_shares(const Tile& tile, int warp) const {
        unsigned char* sums = shared().nodes + (ROWS * RUN - 1) * SIZE;
        SumsTree of_warp{{sums + warp * CHUNK_BYTES}, WARP}, of_tile{{sums}, THREADS};
        of_warp.up_sweep(1, GROUP);
        __syncthreads();
        // Of the first warp.
        TopTree top{{shared().lefts}};
        A sum;
        if (warp == 0) {
#pragma unroll
            for (int i = 0; i < TOP; i++)
                top.leaves[i] = of_tile.node(threadIdx.x % WARP * TOP + i, GROUP);
            sum = top.up_sweep();
            if (gridDim.x > 1) this->publish_sum(tile, shared().tag, sum);
        } else if (gridDim.x > 1 && warp <= LOOK_BACK) {
            look_back(tile, warp);
        }
        __syncthreads();
        if (warp == 0) begin(tile, of_tile, top, sum);
        __syncthreads();
        of_warp.down_sweep(1, GROUP, sink.seeded || tile.number > 0 || warp > 0);
    }

    /// Leaves what precedes the tile. The warps from HISTORIAN to LOOK_BACK call. They may be one.
    __device__ __forceinline__ void look_back(const Tile& tile, int warp) const {
        Sums all = this->sums(shared().tag);
        Apart<A, SIZE> preceding{shared().preceding};
        int lane = threadIdx.x % WARP;
        if (warp == HISTORIAN) {
            P group = all.prefix_of_group(tile.number, sink.before());
            if (lane == 0) preceding.set(0, group.value);
        }
        if (warp == LOOK_BACK) {
            Digit digit{};
            digit.read(all, all.group_of(tile.number, 0), all.digit_of(tile.number, 0));
            if (lane < Sums::LOG_RADIX) preceding.set(1 + lane, digit.nodes);
        }
    }

    /// What precedes the tile, once the look-back is done.
    __device__ __forceinline__ P before(const Tile& tile) const {
        Apart<A, SIZE> preceding{shared().preceding};
        int lane = threadIdx.x % WARP;
        P before{preceding.get(0), sink.seeded || tile.number >= Sums::RADIX};
        Digit digit{(int)(tile.number % Sums::RADIX),
                    preceding.get(lane < Sums::LOG_RADIX ? 1 + lane : 0)};
        digit.append_to(before);
        return before;
    }

    /// Walks down to the sums that warps made, given what precedes the tile and its own sum. The
    /// first warp calls.
    __device__ __forceinline__ void begin(const Tile& tile, const SumsTree& of_tile, TopTree& top,
                                          const A& sum) const {
        constexpr int LANES = WARP / WARPS;
        int lane = threadIdx.x % WARP;
        Apart<A, SIZE> of_warps{shared().before};
        P before = sink.before();
        if (gridDim.x > 1) before = this->before(tile);
        if (lane == 0) {
            if (gridDim.x > 1) this->end_launch(tile, shared().tag);
            if (tile.number > 0) sink.begin_tile(tile.start, before.value);
        }
        top.down_sweep(before);
#pragma unroll
        for (int i = 0; i < TOP; i++) of_tile.set_node(lane * TOP + i, GROUP, top.leaves[i]);
        if (lane % LANES == 0) of_warps.set(lane / LANES, top.leaves[0]);
        // Where there are several tiles, the next one's block stores the result that this is for.
        if (gridDim.x == 1) before.append(sum);
        if (lane == 0) of_warps.set(WARPS, before.value);
    }

    /// Walks down the trees of the runs of a chunk, which hold their prefixes now, and stores the
    /// prefixes of the items.
    __device__ __forceinline__ void emit(unsigned char* chunk, const Tile& tile, int warp) const {
        int lane = threadIdx.x % WARP;
        int results = gridDim.x == 1 ? tile.valid : sink.results(tile.valid, tile.whole);
        bool aligned = is_aligned(sink.out, 16);
        bool begun = sink.seeded || tile.number > 0 || warp > 0;
        const unsigned char* after = shared().before + (warp + 1) * SIZE;
#pragma unroll 1
        for (int row = 0; row < ROWS; row++) {
            int number = row * WARP + lane;
            Nodes run = RunInWords::get(chunk + place(number));
            // An inclusive result is the prefix of the next item.
            A next = run.nodes[RUN - 1];
            if (sink.inclusive)
                next = InWords<A>::get(number + 1 < ROWS * WARP
                                           ? chunk + place(number + 1) + (RUN - 1) * SIZE
                                           : after);
            run_down_sweep<Operator, true>(run.nodes, RUN, run.nodes[RUN - 1], begun || number > 0);
            if (sink.inclusive) {
#pragma unroll
                for (int i = 0; i + 1 < RUN; i++) run.nodes[i] = run.nodes[i + 1];
                run.nodes[RUN - 1] = next;
            }
            // All lanes read their runs before any writes to the room.
            Store store{chunk + place(row * WARP), aligned};
            sink.store_row(run.nodes, tile.start, warp * CHUNK + row * ROW, results, store);
        }
    }
};

}  // namespace warpfold
