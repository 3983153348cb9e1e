// The shares engine for prefixes: any length in one launch, with 2n combinations and little code,
// for costly operators. Trees in registers (rows.cuh) are unrolled, and their code holds the
// operator dozens of times. The wave engine combines each item three times.
//
// A block's tile lies in shared memory. Each lane folds its share of neighbouring items by a loop
// (strided_tree.cuh), and so walks down its tree again once it knows what comes before. Only two
// warps have something to do between:
//
//   the first     folds the sums of the shares, publishes the tile's sum, reads those of the tiles
//                 just before it, and walks down to the prefixes of the shares
//   the second    computes what precedes those tiles, from sums that have long been there
//
// Meanwhile other blocks have the multiprocessor. So what these two do one after the other is kept
// short: it is what a block waits for.
#pragma once
#include "block/strided_tree.cuh"
#include "engines/row_tiles.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

template <class Sink, class Source, class Policy>
struct SharesEngine : RowTiles<Sink, Source, Policy> {
    using Tiles = RowTiles<Sink, Source, Policy>;
    using Tiles::RUN, Tiles::ROWS, Tiles::BATCH, Tiles::ROW, Tiles::CHUNK;
    using Tiles::source, Tiles::sink, Tiles::length, Tiles::workspace;
    using typename Tiles::Operator, typename Tiles::Item, typename Tiles::A, typename Tiles::P,
        typename Tiles::Tile, typename Tiles::Sums;
    static constexpr int WARPS = Policy::WARPS, THREADS = WARPS * WARP;
    /// The items of a lane's share, and the bytes from one share to the next. A word lies between
    /// them, so that equal places of different shares lie in different banks (padded.cuh).
    static constexpr int SHARE = CHUNK / WARP, SIZE = (int)sizeof(A);
    static constexpr int STRIDE = SHARE * SIZE + InWords<A>::WORD;
    using Share = ShareTree<Operator, A, SHARE>;
    using SumsTree = StridedTree<Operator, A, STRIDE>;
    /// The shares that each warp sums itself. The first warp goes on with fewer leaves.
    static constexpr int GROUP = 4;
    using Store = RowStore<RUN, ROW>;
    static_assert(Sink::NEEDS_ROWS, "counts are cheap");
    static_assert(WARPS >= 2, "two warps look back");

    struct Shared {
        alignas(16) unsigned char rooms[WARPS][(Sink::room_bytes(ROW) + 15) / 16 * 16];
        alignas(16) unsigned char nodes[THREADS * STRIDE];
        /// What precedes the items of each warp; then, what follows those of the last one.
        alignas(16) unsigned char before[(WARPS + 1) * SIZE];
        /// What precedes the group of tiles that the tile belongs to.
        A group;
        u64 tile, tag;
    };
    static __device__ __forceinline__ Shared& shared() {
        return *reinterpret_cast<Shared*>(dynamic_shared());
    }

    __device__ __forceinline__ void run() const {
        int lane = threadIdx.x % WARP, warp = warp_index();
        Tile tile = this->take_tile(shared().tile);
        // Under way while the items are loaded and folded.
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();

        unsigned char* chunk = shared().nodes + warp * WARP * STRIDE;
        fill(chunk, tile, warp * CHUNK);
        __syncwarp();
        Share share{{chunk + lane * STRIDE}};
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

    /// The place of an item in the room of a chunk.
    static __device__ __forceinline__ int place(int item) {
        return item * SIZE + item / SHARE * InWords<A>::WORD;
    }

    /// Loads the items of a warp, from item `first` of the tile on.
    __device__ __forceinline__ void fill(unsigned char* chunk, const Tile& tile, int first) const {
        int lane = threadIdx.x % WARP;
#pragma unroll 1
        for (int row = 0; row < ROWS; row += BATCH) {
            SourceRows<Source, RUN, BATCH> rows;
            this->load(rows, tile, first + row * ROW);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                Item items[RUN];
                A values[RUN];
#pragma unroll
                for (int i = 0; i < RUN; i++) items[i] = rows.item(k, i);
                sink.values(values, items);
#pragma unroll
                for (int i = 0; i < RUN; i++)
                    InWords<A>::set(chunk + place((row + k) * ROW + lane * RUN + i), values[i]);
            }
        }
    }

    /// Turns the sums of all shares into their prefixes. Synchronises the block.
    __device__ __forceinline__ void scan_shares(const Tile& tile, int warp) const {
        unsigned char* sums = shared().nodes + (SHARE - 1) * SIZE;
        SumsTree of_warp{{sums + warp * WARP * STRIDE}, WARP}, of_tile{{sums}, THREADS};
        typename Sums::DigitByLoops just_before;
        of_warp.up_sweep(1, GROUP);
        __syncthreads();
        if (warp == 0) {
            of_tile.up_sweep(GROUP, THREADS);
            if (gridDim.x > 1) {
                Sums all = this->sums(shared().tag);
                this->publish_sum(tile, all.sums.tag, of_tile.node(0, THREADS));
                just_before.read(all, tile.number, 0);
            }
        } else if (warp == 1 && gridDim.x > 1) {
            P before = this->sums(shared().tag).prefix_of_group(tile.number, sink.before());
            if (threadIdx.x % WARP == 0) shared().group = before.value;
        }
        __syncthreads();
        if (warp == 0) {
            P before = sink.before();
            if (gridDim.x > 1) {
                before = {shared().group, sink.seeded || tile.number >= Sums::RADIX};
                just_before.append_to(before);
            }
            begin(tile, of_tile, before);
        }
        __syncthreads();
        of_warp.down_sweep(1, GROUP, sink.seeded || tile.number > 0 || warp > 0);
    }

    /// Walks down to the groups of shares, given what precedes the tile. The first warp calls.
    __device__ __forceinline__ void begin(const Tile& tile, const SumsTree& of_tile,
                                          P before) const {
        int lane = threadIdx.x % WARP;
        Apart<A, SIZE> of_warps{shared().before};
        A sum = of_tile.node(0, THREADS);
        __syncwarp();
        if (lane == 0) {
            of_tile.set_node(0, THREADS, before.value);
            if (gridDim.x > 1) this->end_launch(tile, shared().tag);
            if (tile.number > 0) sink.begin_tile(tile.start, before.value);
        }
        __syncwarp();
        of_tile.down_sweep(GROUP, THREADS, before.present);
        if (lane < WARPS) of_warps.set(lane, of_tile.node(lane * (WARP / GROUP), GROUP));
        // Where there are several tiles, the next one's block stores the result that this is for.
        if (gridDim.x == 1) before.append(sum);
        if (lane == 0) of_warps.set(WARPS, before.value);
    }

    /// Stores what a chunk holds now: the prefixes of its items.
    __device__ __forceinline__ void emit(const unsigned char* chunk, const Tile& tile,
                                         int warp) const {
        int lane = threadIdx.x % WARP;
        Store store{shared().rooms[warp], is_aligned(sink.out, 16)};
        int results = gridDim.x == 1 ? tile.valid : sink.results(tile.valid, tile.whole);
        // An inclusive result is the prefix of the next item.
        int next = sink.inclusive ? 1 : 0;
        const unsigned char* after = shared().before + (warp + 1) * SIZE;
#pragma unroll 1
        for (int row = 0; row < ROWS; row++) {
            int first = row * ROW + lane * RUN + next;
            A prefixes[RUN];
#pragma unroll
            for (int i = 0; i < RUN; i++)
                prefixes[i] =
                    InWords<A>::get(first + i < CHUNK ? chunk + place(first + i) : after);
            sink.store_row(prefixes, tile.start, warp * CHUNK + row * ROW, results, store);
        }
    }
};

}  // namespace warpfold
