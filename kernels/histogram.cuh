// Histogram: how many items fall into each bin.
//
// A block counts in shared memory, and adds its counters to the result once. Blocks are at most as
// many as the GPU holds, so each of them has a large share of the items.
//
// Items of one bin would wait for each other. So where there is room a block has several copies of
// its counters, interleaved: copy c of bin b is word b * copies + c, and a lane counts in the copy
// of its number. With 32 copies every lane has a bank of its own. Then additions of a warp never
// conflict, whatever the items.
//
// Counters of 16 bits take half of the room. A block empties those that are full into the result.
//
// Counters that do not fit into shared memory either are those in global memory. There too items of
// one bin would wait for each other, so a block keeps counters of the bins that come often, in a
// cache.
#pragma once
#include "histogram/bins.cuh"
#include "histogram/counters.cuh"
#include "source/source_rows.cuh"

namespace warpfold {

/// What is counted of an item, and how often: once.
template <class Item>
struct CountedOf {
    using Amount = u32;
    static __device__ __forceinline__ const Item& value(const Item& item) { return item; }
    static __device__ __forceinline__ u32 amount(const Item&) { return 1; }
};
/// An item with a weight counts for that: an integer without a sign, whose sums wrap.
template <class Item, class Weight>
struct CountedOf<Tuple<Item, Weight>> {
    using Amount = u32;
    static __device__ __forceinline__ const Item& value(const Tuple<Item, Weight>& item) {
        return item._0;
    }
    static __device__ __forceinline__ u32 amount(const Tuple<Item, Weight>& item) {
        return item._1;
    }
};
template <class Item>
struct CountedOf<Tuple<Item, u64>> {
    using Amount = u64;
    static __device__ __forceinline__ const Item& value(const Tuple<Item, u64>& item) {
        return item._0;
    }
    static __device__ __forceinline__ u64 amount(const Tuple<Item, u64>& item) { return item._1; }
};

/// Part `part` of an item of several, or the item.
template <class V>
__device__ __forceinline__ V part_of(const V& item, int) {
    return item;
}
template <class V, int PARTS>
__device__ __forceinline__ V part_of(const Array<V, PARTS>& item, int part) {
    return item.values[part];
}

/// Counts the PARTS parts of each item, each in a channel of its own. V is the type of a part.
///
/// Warps take the items by units: a unit is a batch of several rows, or, where there are not enough
/// items for that, one row.
template <class Source, class Rule, class Count, class V, int PARTS, class Policy>
struct Histogram {
    static constexpr int RUN = Policy::RUN, ROW = WARP * RUN, BATCH = Policy::ROWS * ROW;
    using Of = CountedOf<typename Source::Item>;
    using Amount = typename Of::Amount;

    Source source;
    u64 length;
    Rule rule;
    Count* counts;
    /// Of each channel.
    u32 bins;
    /// How many parts are counted.
    u32 channels;
    /// The logarithm of how many copies counters in shared memory have, of the slots of a cache, or
    /// of where a narrow counter is full.
    u32 log_copies;
    /// After how many units of a warp the block adds its counters to the result. None may reach
    /// 2^32 before.
    u32 units_a_round;
    /// Whether every unit is a row.
    bool by_rows;

    /// The counters of all channels.
    __device__ __forceinline__ u32 places() const { return channels * bins; }

    /// Prefetches the first units. Before the launch has begun.
    __device__ __forceinline__ void prefetch() const {
        u32 warps = blockDim.x / WARP, unit = by_rows ? ROW : BATCH;
        u64 first = ((u64)blockIdx.x * warps + threadIdx.x / WARP) * unit;
        bool few = (u64)gridDim.x * warps * unit * sizeof(typename Source::Item) <= MOST_PREFETCHED;
        source.prefetch(length, first, unit, few && threadIdx.x % WARP == 0);
    }

    __device__ __forceinline__ SharedCounters<Count, Amount> shared() const {
        return SharedCounters<Count, Amount>(counts, places(), log_copies);
    }
    __device__ __forceinline__ NarrowCounters<Count> narrow() const {
        return NarrowCounters<Count>(counts, places(), log_copies);
    }
    __device__ __forceinline__ CachedCounters<Count, Amount> cached() const {
        return {counts, log_copies};
    }

    /// Counts. The counters are clear, once the block has synchronised.
    template <class Counters>
    __device__ __forceinline__ void run(Counters& counters) {
        rule.prepare(counters.bytes());
        u64 batches = by_rows ? 0 : length / BATCH, rest = length - batches * BATCH;
        u64 units = batches + (rest + ROW - 1) / ROW;
        u64 step = (u64)gridDim.x * (blockDim.x / WARP);
        u64 unit = (u64)blockIdx.x * (blockDim.x / WARP) + warp_index();
        // Every block goes through as many rounds, and one at least.
        u64 begun = 0;
        do {
            bool is_first = begun == 0;
            begun += units_a_round * step;
            __syncthreads();
            for (u32 i = 0; i < units_a_round && unit < units; i++, unit += step) {
                if (unit < batches) count_unit<Policy::ROWS>(counters, unit * BATCH);
                else count_unit<1>(counters, batches * BATCH + (unit - batches) * ROW);
            }
            __syncthreads();
            counters.finish_round(gridDim.x == 1 && is_first, begun >= units);
        } while (begun < units);
    }

    /// Stores the counter of each part of each item, and `places()` for those that have none. The
    /// address is a multiple of 16 bytes.
    __device__ __forceinline__ void store_places(u32* to) {
        rule.prepare(0);
        __syncthreads();
        u64 step = (u64)gridDim.x * (blockDim.x / WARP) * BATCH;
        u64 from = ((u64)blockIdx.x * (blockDim.x / WARP) + warp_index()) * BATCH;
        for (; from < length; from += step) {
            SourceRows<Source, RUN, Policy::ROWS> rows;
            int here = length - from > BATCH ? BATCH : (int)(length - from);
            load_rows<Source, RUN, Policy::ROWS>(rows, source, from, here, 0, length, from);
#pragma unroll
            for (int row = 0; row < Policy::ROWS; row++) {
                int first = (row * WARP + (int)(threadIdx.x % WARP)) * RUN;
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                    V x[RUN];
                    BinsOf<RUN> of;
#pragma unroll
                    for (int i = 0; i < RUN; i++)
                        x[i] = part_of(Of::value(rows.item(row, i)), part);
                    rule.find(x, of);
                    u32 found[RUN];
#pragma unroll
                    for (int i = 0; i < RUN; i++)
                        found[i] = of.there[i] && part < channels ? of.bins[i] + part * bins
                                                                  : places();
                    store_run(to + (from + first) * PARTS + part, found, here - first);
                }
            }
        }
    }

    /// Stores the places of a run, of which only `count` are there: in words where they lie side by
    /// side.
    static __device__ __forceinline__ void store_run(u32* to, const u32 (&found)[RUN], int count) {
        if constexpr (PARTS == 1 && RUN > 1) {
            constexpr int WORD = RUN % 4 == 0 ? 16 : 8;
            if (count >= RUN) {
                auto run = pack_run(found);
#pragma unroll
                for (int i = 0; i < RUN * 4 / WORD; i++)
                    reinterpret_cast<Word<WORD>*>(to)[i] = run.template words<WORD>()[i];
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < RUN; i++)
            if (i < count) to[i * PARTS] = found[i];
    }

    /// Clears the result.
    __device__ __forceinline__ void clear() const {
        u32 step = gridDim.x * blockDim.x;
        for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < places(); i += step) counts[i] = 0;
    }

    /// Counts a unit. Only one of a single row can be unfinished.
    template <int ROWS, class Counters>
    __device__ __forceinline__ void count_unit(Counters& counters, u64 from) const {
        SourceRows<Source, RUN, ROWS> rows;
        int here = ROWS > 1 || length - from > ROW ? ROWS * ROW : (int)(length - from);
        load_rows<Source, RUN, ROWS>(rows, source, from, here, 0, length, from);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int first = (row * WARP + (int)(threadIdx.x % WARP)) * RUN;
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                if (part >= channels) break;
                V x[RUN];
                BinsOf<RUN> of;
#pragma unroll
                for (int i = 0; i < RUN; i++) x[i] = part_of(Of::value(rows.item(row, i)), part);
                rule.find(x, of);
                auto is_counted = [&](int i) {
                    return of.there[i] && (ROWS > 1 || first + i < here);
                };
                if constexpr (Counters::BY_RUNS) {
#pragma unroll
                    for (int i = 0; i < RUN; i++) {
                        of.bins[i] += part * bins;
                        of.there[i] = is_counted(i);
                    }
                    counters.add(of.bins, of.there);
                } else {
#pragma unroll
                    for (int i = 0; i < RUN; i++)
                        counters.add(of.bins[i] + part * bins, is_counted(i),
                                     Of::amount(rows.item(row, i)));
                }
            }
        }
        counters.end_unit();
    }
};

}  // namespace warpfold
