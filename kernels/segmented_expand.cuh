// Expansion: every item of a segment gets the value of its segment. It is the inverse of a
// reduction, and with a run's item for its value, of run-length encoding.
//
// Tiles are cut by a merge path (segmented_tiles.cuh). In a tile, each segment that has items marks
// the place of its first one with its number. The last mark up to an item's place is its segment.
#pragma once
#include "segmented_tiles.cuh"

namespace warpfold {

/// `Policy` has WARPS, the threads of a block; and TILE, the entries of both lists in a tile.
template <class Source, class Segments, class Policy>
struct SegmentExpander {
    using T = typename Source::Item;
    static constexpr int THREADS = Policy::WARPS * WARP, TILE = Policy::TILE;
    /// The places of a warp.
    static constexpr int PART = TILE / Policy::WARPS;
    static_assert(PART % WARP == 0);

    /// The values of segments.
    Source source;
    Segments segments;
    T* out;
    /// What items of no segment get.
    T none;

    struct Shared {
        /// At the first place of each segment its number in the tile, from 1 on.
        u32 marks[TILE];
        /// The last number among the places of a warp, or 0.
        u32 lasts[Policy::WARPS];
    };

    __device__ __forceinline__ void run() const {
        SegmentPath<Segments, TILE> path{segments};
        if (path.is_beyond(blockIdx.x)) return;
        auto& shared = block_shared<Shared>();
        for (int place = threadIdx.x; place < TILE; place += THREADS) shared.marks[place] = 0;
        if (threadIdx.x < Policy::WARPS) shared.lasts[threadIdx.x] = 0;
        SegmentTile tile = path.tile(blockIdx.x);
        for (int number = threadIdx.x; number < tile.count(); number += THREADS) {
            u64 start = segments.bound(tile.first + number);
            u64 end = segments.bound(tile.first + number + 1), place = start - tile.from;
            // Where offsets fall, anything may come, and several segments to one place.
            if (end <= start || place >= TILE) continue;
            atomicMax(&shared.marks[place], (u32)(number + 1));
            atomicMax(&shared.lasts[place / PART], (u32)(number + 1));
        }
        __syncthreads();
        int warp = warp_index(), lane = threadIdx.x % WARP;
        u32 last = 0;
        for (int before = 0; before < warp; before++)
            if (shared.lasts[before] > last) last = shared.lasts[before];
        u64 to = tile.to < segments.items ? tile.to : segments.items;
        int length = tile.from < to ? (int)(to - tile.from) : 0;
#pragma unroll 4
        for (int place = warp * PART + lane; place - lane < length && place < (warp + 1) * PART;
             place += WARP) {
            u32 mark = shared.marks[place];
            u32 marked = __ballot_sync(ALL_LANES, mark != 0) & (ALL_LANES >> (WARP - 1 - lane));
            u32 own = shuffle(mark, marked != 0 ? 31 - __clz(marked) : 0);
            own = marked != 0 ? own : last;
            if (place < length) store(tile, tile.from + place, own);
            last = shuffle(own, WARP - 1);
        }
    }

    /// Stores the value of a position's segment, which is number `own` in the tile, or that before
    /// the tile.
    __device__ __forceinline__ void store(const SegmentTile& tile, u64 position, u32 own) const {
        u64 number = tile.first + own;
        bool there = number > 0 && position < tile.last_end;
        out[position] = there ? source.at(number - 1) : none;
    }
};

}  // namespace warpfold
