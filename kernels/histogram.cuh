// Histogram: how many items fall into each bin.
//
// A block counts in shared memory, and adds its counters to the result once. Blocks are as many as
// the GPU holds, so each of them has a large share of the items.
//
// Items of one bin would wait for each other. So where there is room a block has several copies of
// its counters, interleaved: copy c of bin b is word b * copies + c, and a lane counts in the copy
// of its number. With 32 copies every lane has a bank of its own. Then additions of a warp never
// conflict, whatever the items.
//
// Counters that do not fit into shared memory are those in global memory. There the lanes that have
// the bin of the first lane add to it together.
#pragma once
#include "source.cuh"

namespace warpfold {

/// Guesses at a bin: those in src/primitives/histogram/guess.rs, which says why they can be trusted.
struct Guess {
    f64 origin, scale, low, high;
};
struct FixedGuess {
    u64 bias;
    u32 scale, shift, low;
};

/// Where the bins of numbers lie: `Table` in src/primitives/histogram/bins.rs.
template <class V>
struct BinTable {
    /// The first number of each bin, as far as there is one.
    const V* firsts;
    u32 known;
    /// The first number that has a bin, and the last.
    V first, last;
    Guess guess;
    FixedGuess fixed;
    u32 bins;

    __device__ __forceinline__ bool has(V x) const { return x >= first && x <= last; }
};

/// Some numbers' bins, as far as they have one.
template <int COUNT>
struct BinsOf {
    u32 bins[COUNT];
    bool there[COUNT];
};

/// A number is that of its bin.
struct ByValue {
    static constexpr bool SEARCHES = false;

    template <class V, int COUNT>
    static __device__ __forceinline__ void find(const BinTable<V>& table, const V (&x)[COUNT],
                                                BinsOf<COUNT>& of) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            of.bins[i] = (u32)x[i];
            of.there[i] = (u64)x[i] < table.bins;
        }
    }
};

/// The last bin whose first number is not above ours, by a binary search. Searches do not wait for
/// each other, and none ends earlier than another.
struct BySearch {
    static constexpr bool SEARCHES = true;

    template <class V, int COUNT>
    static __device__ __forceinline__ void find(const BinTable<V>& table, const V (&x)[COUNT],
                                                BinsOf<COUNT>& of) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) of.bins[i] = 0;
#pragma unroll 1
        for (u32 rest = table.known; rest > 1;) {
            u32 half = rest / 2;
            rest -= half;
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (table.firsts[of.bins[i] + half] <= x[i]) of.bins[i] += half;
        }
#pragma unroll
        for (int i = 0; i < COUNT; i++) of.there[i] = table.has(x[i]);
    }
};

/// The same by a guess, which is compared with the bin's numbers where it is not certain.
struct ByGuess {
    static constexpr bool SEARCHES = false;

    template <class V, int COUNT>
    static __device__ __forceinline__ void find(const BinTable<V>& table, const V (&x)[COUNT],
                                                BinsOf<COUNT>& of) {
        const Guess& guess = table.guess;
        bool certain = guess.low <= 0 && guess.high >= 1;
        u32 last = table.known - 1;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            bool there = table.has(x[i]);
            // What is outside could be guessed to be anything.
            V inside = there ? x[i] : table.first;
            f64 guessed = ((f64)inside - guess.origin) * guess.scale;
            u32 bin = (u32)guessed;
            f64 fraction = guessed - bin;
            if (bin > last) bin = last;
            if (!certain && !(fraction >= guess.low && fraction < guess.high)) {
                if (inside < table.firsts[bin]) bin--;
                else if (bin < last && inside >= table.firsts[bin + 1]) bin++;
            }
            of.bins[i] = bin;
            of.there[i] = there;
        }
    }
};

/// The same by a guess in fixed point, for integers of up to 32 bits.
struct ByFixedGuess {
    static constexpr bool SEARCHES = false;

    template <class V, int COUNT>
    static __device__ __forceinline__ void find(const BinTable<V>& table, const V (&x)[COUNT],
                                                BinsOf<COUNT>& of) {
        const FixedGuess& guess = table.fixed;
        u32 last = table.known - 1, most = (u32)table.last - (u32)table.first;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            u32 offset = (u32)x[i] - (u32)table.first;
            bool there = offset <= most;
            u64 product = (u64)offset * guess.scale + guess.bias;
            u32 bin = (u32)(product >> 32) >> (guess.shift - 32);
            if (bin > last) bin = last;
            if (guess.low != 0 && there && (u32)(product >> (guess.shift - 32)) < guess.low &&
                x[i] < table.firsts[bin])
                bin--;
            of.bins[i] = bin;
            of.there[i] = there;
        }
    }
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

/// Counters in shared memory, of which a lane knows those that it adds to. What has no bin is
/// counted too, behind the others: a branch would take longer.
struct SharedCounters {
    unsigned char* own;
    /// The bytes from one counter to the next.
    u32 stride;
    u32 behind;

    __device__ __forceinline__ void add(u32 place, bool is_counted) const {
        atomicAdd(reinterpret_cast<u32*>(own + (is_counted ? place : behind) * stride), 1u);
    }
};

/// Counters in global memory. Whole warps add.
template <class Count>
struct GlobalCounters {
    Count* counts;

    __device__ __forceinline__ void add(u32 place, bool is_counted) const {
        constexpr u32 NOWHERE = 0xffffffffu;
        if (!is_counted) place = NOWHERE;
        u32 first = shuffle(place, 0), same = __ballot_sync(ALL_LANES, place == first);
        Count more = place == first ? (Count)__popc(same) : 1;
        if (place != NOWHERE && (place != first || threadIdx.x % WARP == 0))
            atomicAdd(counts + place, more);
    }
};

/// Counts the PARTS parts of each item, each in a channel of its own. V is the type of a part.
template <class Source, class Rule, class Count, class V, int PARTS, class Policy>
struct Histogram {
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS, BATCH = ROWS * WARP * RUN;
    using Rows = SourceRows<Source, RUN, ROWS>;

    Source source;
    u64 length;
    BinTable<V> table;
    Count* counts;
    /// How many parts are counted.
    u32 channels;
    /// Of shared counters: the copies, and after how many batches of a warp the block adds them to
    /// the result. No counter may reach 2^32 before.
    u32 log_copies, batches_a_round;
    /// Whether the table is searched in shared memory.
    bool copies_table;

    /// The counters of all channels.
    __device__ __forceinline__ u32 places() const { return channels * table.bins; }

    /// Prefetches the first batches. Before the launch has begun.
    __device__ __forceinline__ void prefetch() const {
        u32 warps = blockDim.x / WARP;
        u64 first = ((u64)blockIdx.x * warps + threadIdx.x / WARP) * BATCH;
        bool few =
            (u64)gridDim.x * warps * BATCH * sizeof(typename Source::Item) <= MOST_PREFETCHED;
        source.prefetch(length, first, BATCH, few && threadIdx.x % WARP == 0);
    }

    /// Counts in shared memory. A block that is alone stores the counts; several add to them.
    __device__ __forceinline__ void run_shared() {
        u32* counters = reinterpret_cast<u32*>(dynamic_shared());
        u32 words = (places() + 1) << log_copies;
        copy_table((words + 1) / 2 * 8);
        u32 copies = 1u << log_copies;
        SharedCounters own{dynamic_shared() + 4 * (threadIdx.x % copies), 4 * copies, places()};
        u64 step = (u64)gridDim.x * (blockDim.x / WARP), batches = (length + BATCH - 1) / BATCH;
        u64 batch = (u64)blockIdx.x * (blockDim.x / WARP) + warp_index();
        // Every block goes through as many rounds, and one at least.
        for (u64 begun = 0; begun == 0 || begun < batches; begun += batches_a_round * step) {
            for (u32 i = threadIdx.x; i < words; i += blockDim.x) counters[i] = 0;
            __syncthreads();
            for (u32 i = 0; i < batches_a_round && batch < batches; i++, batch += step)
                count_batch(own, batch * BATCH);
            __syncthreads();
            add_to_result(counters, gridDim.x == 1 && begun == 0);
            __syncthreads();
        }
    }

    /// Counts in global memory.
    __device__ __forceinline__ void run_global() {
        copy_table(0);
        __syncthreads();
        u64 step = (u64)gridDim.x * (blockDim.x / WARP), batches = (length + BATCH - 1) / BATCH;
        u64 batch = (u64)blockIdx.x * (blockDim.x / WARP) + warp_index();
        for (; batch < batches; batch += step)
            count_batch(GlobalCounters<Count>{counts}, batch * BATCH);
    }

    /// Has the table searched in shared memory, behind `offset` bytes, if it is to be. The block
    /// must synchronise before.
    __device__ __forceinline__ void copy_table(u32 offset) {
        if (!Rule::SEARCHES || !copies_table) return;
        V* firsts = reinterpret_cast<V*>(dynamic_shared() + offset);
        for (u32 i = threadIdx.x; i < table.known; i += blockDim.x) firsts[i] = table.firsts[i];
        table.firsts = firsts;
    }

    template <class Counters>
    __device__ __forceinline__ void count_batch(const Counters& counters, u64 from) const {
        Rows rows;
        int here = length - from < BATCH ? (int)(length - from) : BATCH;
        load_rows<Source, RUN, ROWS>(rows, source, from, here, 0, length, from);
        if (here == BATCH) count_rows<true>(counters, rows, here);
        else count_rows<false>(counters, rows, here);
    }

    template <bool WHOLE, class Counters>
    __device__ __forceinline__ void count_rows(const Counters& counters, const Rows& rows,
                                               int here) const {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int first = (row * WARP + (int)(threadIdx.x % WARP)) * RUN;
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                if (part >= channels) break;
                V x[RUN];
                BinsOf<RUN> of;
#pragma unroll
                for (int i = 0; i < RUN; i++) x[i] = part_of(rows.item(row, i), part);
                Rule::find(table, x, of);
#pragma unroll
                for (int i = 0; i < RUN; i++)
                    counters.add(of.bins[i] + part * table.bins,
                                 of.there[i] && (WHOLE || first + i < here));
            }
        }
    }

    /// Adds up the copies of the block's counters. Neighbouring threads begin with different
    /// copies, which lie in different banks.
    __device__ __forceinline__ void add_to_result(const u32* counters, bool stores) const {
        u32 copies = 1u << log_copies, all = places();
        for (u32 place = threadIdx.x; place < all; place += blockDim.x) {
            u32 sum = 0;
            for (u32 i = 0; i < copies; i++)
                sum += counters[(place << log_copies) + (place + i) % copies];
            if (stores) counts[place] = sum;
            else if (sum != 0) atomicAdd(counts + place, (Count)sum);
        }
    }
};

}  // namespace warpfold
