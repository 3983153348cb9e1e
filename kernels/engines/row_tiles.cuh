// A tile a block: which one a block takes, how its rows are loaded, and how blocks tell each other
// their sums.
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
#include "engines/sink.cuh"
#include "grid/look_back.cuh"
#include "source/source_rows.cuh"

namespace warpfold {

template <class S, class I, class Policy>
struct RowTiles {
    using Sink = S;
    using Source = I;
    using Operator = typename Sink::Operator;
    using Item = typename Sink::Item;
    using A = typename Sink::A;
    using P = Prefix<Operator, A>;
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS,
                         BATCH = Policy::BATCH < ROWS ? Policy::BATCH : ROWS;
    static constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW;
    static constexpr bool COUNTED = Source::COUNTED;
    static_assert(PrefixSink<Sink> != PackingSink<Sink>, "a sink is one of both kinds");
    static_assert(!COUNTED || PackingSink<Sink>, "only sinks that count take counted sources");
    using Sums = SumTree<Operator, A, Policy::PER_LANE>;

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

    /// The block passes the number of the tile through `shared`.
    __device__ __forceinline__ Tile take_tile(u64& shared) const {
        u64 number = blockIdx.x;
        if (by_ticket) {
            if (threadIdx.x == 0)
                shared = workspace.header->take(workspace.header->load_state().tag);
            __syncthreads();
            number = shared;
            // By all threads: a branch for one of them would cost the others registers.
            if (number >= gridDim.x) trap("the start of the workspace was overwritten");
        }
        int most = CHUNK * (int)(blockDim.x / WARP);
        u64 start = number * most, rest = COUNTED && start >= length ? 0 : length - start;
        return {number, start, rest < most ? (int)rest : most, rest >= most};
    }

    /// Loads rows of a warp, from item `first` of the tile on.
    template <int COUNT>
    __device__ __forceinline__ void load(SourceRows<Source, RUN, COUNT>& rows, const Tile& tile,
                                         int first) const {
        // In place, the block of the tile before this one may be overwriting its own items. We must
        // not read those. The tile's other end is treated alike.
        bool in_place = source.is(sink.out);
        u64 begin = in_place ? tile.start : 0, end = in_place ? tile.start + tile.valid : length;
        // Any item will do to fill up with. An empty tile has one before it.
        u64 filler = tile.valid > 0 ? tile.start : tile.start - 1;
        load_rows<Source, RUN, COUNT>(rows, source, tile.start + first, tile.valid - first, begin,
                                      end, filler);
    }

    /// Publishes the sum of the tile, if another tile may want it. A whole warp calls.
    __device__ __forceinline__ void publish_sum(const Tile& tile, u64 tag, const A& sum) const {
        if (tile.whole || (COUNTED && tile.number + 1 < gridDim.x))
            sums(tag).publish(tile.number, sum);
    }

    /// Resets the header, if the tile is the last. Called when what precedes it is known: all other
    /// blocks have taken their tiles and read the state, otherwise they would not have published.
    __device__ __forceinline__ void end_launch(const Tile& tile, u64 tag) const {
        if (tile.number == gridDim.x - 1) workspace.header->reset(tag, workspace.key);
    }

    __device__ __forceinline__ Sums sums(u64 tag) const {
        return {{workspace.packets(), tag}, gridDim.x};
    }
};

}  // namespace warpfold
