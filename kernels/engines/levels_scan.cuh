// The levels engine for scans: any length, with a launch for each level.
//
//   up      reduce_tiles: the sum of every complete tile; of those sums again; until one tile is
//           left
//   top     scan_tiles on that one tile, inclusive: its outputs are the prefixes of the ends of the
//           tiles below
//   down    scan_tiles on each level below; the level above holds the prefix that seeds each tile
//
// The elements are read twice and written once: 3n of memory traffic. (Scanning tiles first and
// adding bases afterwards moves 4n, and brackets differently.) The base enters at the root of each
// tile's tree, so the outputs are bracketed as one tree over everything.
#pragma once
#include "block/blelloch.cuh"
#include "block/tile.cuh"

namespace warpfold {

/// In REVERSE, results are stored from the last place on.
template <class Operator, class Source, int THREADS, int ITEMS, bool REVERSE = false>
struct TileScanner {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    using Tile = StagedTile<T, THREADS, ITEMS>;
    static constexpr int TILE = THREADS * ITEMS;

    struct Shared {
        Tile tile;
        BlockTree<Operator, A, THREADS> tree;
    };

    /// Scans one tile that is in shared memory, of which `length` elements are valid.
    /// `end` is the prefix of the position after the tile, if `has_end`.
    static __device__ __forceinline__ void scan_tile(Shared& shared, int length, const A& init,
                                                     bool seeded, const A& seed, bool inclusive,
                                                     const A& end, bool has_end) {
        bool whole = length == TILE;
        int valid = length - (int)threadIdx.x * ITEMS;
        auto run = shared.tile.read_run(valid);
        A node[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; i++) node[i] = Fold<T>::widen(run.items[i]);
        if (whole) run_up_sweep<Operator, true>(node, valid);
        else run_up_sweep<Operator, false>(node, valid);
        shared.tree.nodes.set(threadIdx.x, node[ITEMS - 1]);
        shared.tree.scan(length / ITEMS, seed, seeded);

        bool present = seeded || threadIdx.x > 0;
        A prefix = shared.tree.nodes.get(threadIdx.x);
        if (whole) run_down_sweep<Operator, true>(node, valid, prefix, present);
        else run_down_sweep<Operator, false>(node, valid, prefix, present);

        if (inclusive) {
            // An element's inclusive prefix is the exclusive one of its right neighbour. For the
            // last of a run that is the next thread's, and for the last of a tile the next tile's.
            A after = end;
            if (threadIdx.x + 1 < THREADS) after = shared.tree.nodes.get(threadIdx.x + 1);
            else if (!has_end && valid >= ITEMS)
                after = seeded ? Operator::combine(seed, shared.tree.total) : shared.tree.total;
#pragma unroll
            for (int i = 0; i + 1 < ITEMS; i++) run.items[i] = Fold<T>::narrow(node[i + 1]);
            run.items[ITEMS - 1] = Fold<T>::narrow(after);
        } else {
            if (!present) node[0] = init;
#pragma unroll
            for (int i = 0; i < ITEMS; i++) run.items[i] = Fold<T>::narrow(node[i]);
        }
        shared.tile.write_run(run);
    }

    /// Scans tile `blockIdx.x`, counted from the last: the pass that summed the tiles went upwards,
    /// so the last ones are still in the L2 cache. `bases` holds the inclusive prefixes of the
    /// tiles, and is null if there is one tile only. `init` precedes everything if `seeded`.
    /// Otherwise an exclusive scan shows it as its first result.
    static __device__ __forceinline__ void scan(const Source& source, T* out, u64 length,
                                                const A* bases, A init, bool seeded,
                                                bool inclusive) {
        auto& shared = block_shared<Shared>();

        u64 tile = gridDim.x - 1 - blockIdx.x;
        u64 start = tile * TILE;
        bool whole = length - start >= TILE;
        int here = whole ? TILE : (int)(length - start);

        shared.tile.load(source, start, here);
        A seed = init, end = init;
        bool has_end = false;
        if (tile > 0) {
            seed = bases[tile - 1];
            has_end = inclusive && whole;
            if (has_end) end = bases[tile];
        }
        __syncthreads();
        scan_tile(shared, here, init, seeded || tile > 0, seed, inclusive, end, has_end);
        __syncthreads();
        if constexpr (REVERSE) shared.tile.store_reversed(out + (length - start), here);
        else shared.tile.store(out + start, here);
    }
};

}  // namespace warpfold
