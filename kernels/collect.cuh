// Collect: stores every item of a source. Nothing is folded, so no warp waits for another.
#pragma once
#include "source/source_rows.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

/// A warp stores one chunk: it loads rows, all of them, and then stores them.
template <class Source, class Policy>
struct Collector {
    using Item = typename Source::Item;
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS;
    static constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW;
    using Store = RowStore<RUN, ROW>;

    struct Shared {
        alignas(16) unsigned char rooms[Policy::MOST_WARPS][(ROW * sizeof(Item) + 15) / 16 * 16];
    };

    Source source;
    Item* out;
    u64 length;
    /// Whether the items are read from where they are stored.
    bool in_place;

    __device__ __forceinline__ void prefetch() const {
        u64 items = blockDim.x / WARP * CHUNK;
        bool few = gridDim.x * items * sizeof(Item) <= MOST_PREFETCHED;
        source.prefetch(length, blockIdx.x * items, items, few && threadIdx.x == 0);
    }

    __device__ __forceinline__ void run() const {
        int warp = warp_index();
        u64 start = (blockIdx.x * (u64)(blockDim.x / WARP) + warp) * CHUNK;
        if (start >= length) return;
        u64 rest = length - start;
        int here = rest < CHUNK ? (int)rest : CHUNK;
        // In place, other warps may be overwriting their own items. We must not read those.
        u64 begin = in_place ? start : 0, end = in_place ? start + here : length;
        SourceRows<Source, RUN, ROWS> rows;
        load_rows<Source, RUN, ROWS>(rows, source, start, here, begin, end, start);
        MovedRun<Item, RUN> moved[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            Item items[RUN];
#pragma unroll
            for (int i = 0; i < RUN; i++) items[i] = rows.item(row, i);
            moved[row] = pack_run(items);
        }
        // In place, the lanes must not store what another one has not read yet.
        __syncwarp();
        Store store{block_shared<Shared>().rooms[warp], is_aligned(out, 16)};
        store.rows(out + start, moved, here);
    }
};

}  // namespace warpfold
