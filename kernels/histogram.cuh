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
#include "source/source_rows.cuh"

namespace warpfold {

/// Guesses at a bin: those in src/primitives/histogram/guess.rs, which says why they can be
/// trusted.
struct Guess {
    f64 origin, scale, low;
};
struct FixedGuess {
    u64 bias;
    u32 scale, shift, low;
};

/// What a lookup takes: that in src/primitives/histogram/lookup.rs, which says what it is.
struct LookupShape {
    u64 origin;
    u32 drop, last, log_segment, segments, cells, log_bin;
};

/// The place of a number in the order of all numbers of its type: `Binned::rank`.
template <class V>
__device__ __forceinline__ auto rank_of(V x) {
    constexpr bool IS_SIGNED = (V)-1 < (V)0;
    if constexpr (sizeof(V) == 8) {
        constexpr u64 SIGN = (u64)1 << 63;
        if constexpr (!SAME<V, f64>) return IS_SIGNED ? (u64)x ^ SIGN : (u64)x;
        else return bits_of(x) ^ ((u64)((i64)bits_of(x) >> 63) | SIGN);
    } else {
        constexpr u32 SIGN = 1u << 31;
        if constexpr (SAME<V, f32>) return bits_of(x) ^ ((u32)((i32)bits_of(x) >> 31) | SIGN);
        else if constexpr (sizeof(V) == 4) return IS_SIGNED ? (u32)x ^ SIGN : (u32)x;
        else return (u32)((i32)x + (IS_SIGNED ? 1 << (8 * sizeof(V) - 1) : 0));
    }
}

/// The lookup of a block, in shared memory: for each segment where its cells begin and how many
/// numbers a cell has, and the cells, 2^log_copies copies of each.
struct Lookup {
    LookupShape shape;
    /// In global memory.
    const u32* words;
    u32 log_copies;
    /// Where segments lie in shared memory, the lane's first cell, and the bytes from one to the
    /// next.
    u32 segments, own, stride;

    __device__ __forceinline__ u32 segment_words() const {
        return (2 * shape.segments + 3) / 4 * 4;
    }
    /// One cell more than there are numbers for.
    __device__ __forceinline__ u32 cell_words() const { return (shape.cells + 1 + 3) / 4 * 4; }
    __device__ __forceinline__ u32 bytes() const {
        return 4 * (segment_words() + (cell_words() << log_copies));
    }

    /// Copies it to behind `offset` bytes of shared memory, a multiple of 16.
    __device__ __forceinline__ void copy(u32 offset) {
        u32 lanes_copy = threadIdx.x & ((1u << log_copies) - 1);
        segments = offset;
        own = in_register(offset + 4 * segment_words() + 4 * lanes_copy);
        stride = 4u << log_copies;
        copy_words(offset, words, segment_words() / 4, 0);
        copy_words(offset + 4 * segment_words(), words + segment_words(), cell_words() / 4,
                   log_copies);
    }

    /// The offset of a number from the origin, as far as the lookup looks at it. That of numbers
    /// that have no bin is one that has a cell.
    template <class V>
    __device__ __forceinline__ u32 offset_of(V x) const {
        u32 offset;
        if constexpr (sizeof(V) == 8) offset = (u32)((rank_of(x) - shape.origin) >> shape.drop);
        else offset = rank_of(x) - (u32)shape.origin;
        return offset < shape.last ? offset : shape.last;
    }

    /// Where the cell of an offset lies.
    __device__ __forceinline__ u32 cell_at(u32 offset) const {
        u32 at = segments + 8 * (offset >> shape.log_segment);
        u64 segment = *reinterpret_cast<const u64*>(dynamic_shared() + at);
        return own + ((u32)segment + (offset >> (u32)(segment >> 32))) * stride;
    }
    __device__ __forceinline__ u32 cell(u32 at) const {
        return *reinterpret_cast<const u32*>(dynamic_shared() + at);
    }

    /// The lowest bits of a cell are the bin of its first number, and whether to search.
    __device__ __forceinline__ u32 bin(u32 cell) const {
        return cell & ((1u << (shape.log_bin - 1)) - 1);
    }
    __device__ __forceinline__ u32 flag() const { return 1u << (shape.log_bin - 1); }

private:
    /// Copies words of 16 bytes, each word of 4 bytes to 2^log_copies places side by side. Several
    /// loads are on their way at a time.
    static __device__ __forceinline__ void copy_words(u32 offset, const u32* from, u32 count,
                                                      u32 log_copies) {
        constexpr int AT_ONCE = 4;
        struct alignas(16) Four {
            u32 words[4];
        };
        const Four* fours = reinterpret_cast<const Four*>(from);
        u32* to = reinterpret_cast<u32*>(dynamic_shared() + offset);
        if (log_copies > 0) {
            for (u32 i = threadIdx.x; i < 4 * count << log_copies; i += blockDim.x)
                to[i] = from[i >> log_copies];
            return;
        }
        for (u32 first = threadIdx.x; first < count; first += AT_ONCE * blockDim.x) {
            Four four[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i * blockDim.x < count) four[i] = fours[first + i * blockDim.x];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i * blockDim.x < count)
                    reinterpret_cast<Four*>(to)[first + i * blockDim.x] = four[i];
        }
    }
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
    Lookup lookup;
    u32 bins;

    __device__ __forceinline__ bool has(V x) const { return x >= first && x <= last; }
};

/// Some numbers' bins, as far as they have one.
template <int COUNT>
struct BinsOf {
    u32 bins[COUNT];
    bool there[COUNT];
};

/// A number is that of its bin, if it has one.
template <bool ALL_HAVE>
struct ByNumber {
    static constexpr bool SEARCHES = false;

    template <class V, int COUNT>
    static __device__ __forceinline__ void find(const BinTable<V>& table, const V (&x)[COUNT],
                                                BinsOf<COUNT>& of) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            of.bins[i] = (u32)x[i];
            of.there[i] = ALL_HAVE || (u64)x[i] < table.bins;
        }
    }
};
using ByValue = ByNumber<false>;
using ByAnyValue = ByNumber<true>;

/// The last bin whose first number is not above ours, by a lookup. The few items whose cell does
/// not tell take a binary search in what is left.
struct BySearch {
    static constexpr bool SEARCHES = true;

    template <class V, int COUNT>
    static __device__ __forceinline__ void find(const BinTable<V>& table, const V (&x)[COUNT],
                                                BinsOf<COUNT>& of) {
        const Lookup& lookup = table.lookup;
        u32 at[COUNT], cells[COUNT];
        bool unsure[COUNT], are_sure = true;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            u32 offset = lookup.offset_of(x[i]), key = offset << lookup.shape.log_bin;
            at[i] = lookup.cell_at(offset);
            u32 cell = cells[i] = lookup.cell(at[i]);
            of.bins[i] = lookup.bin(cell) + (cell < key);
            of.there[i] = table.has(x[i]);
            unsure[i] = (cell & lookup.flag()) != 0;
            // Numbers of 64 bits may differ in bits that were dropped.
            if constexpr (sizeof(V) == 8) unsure[i] |= (cell ^ key) < 2 * lookup.flag();
            are_sure &= !unsure[i];
        }
        if (are_sure) return;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if (!unsure[i]) continue;
            u32 bin = lookup.bin(cells[i]);
            u32 rest = lookup.bin(lookup.cell(at[i] + lookup.stride)) - bin + 1;
            while (rest > 1) {
                u32 half = rest / 2;
                rest -= half;
                if (table.firsts[bin + half] <= x[i]) bin += half;
            }
            of.bins[i] = bin;
        }
    }
};

/// The same by a guess, which is compared with the bin's first number where it is not certain.
struct ByGuess {
    static constexpr bool SEARCHES = false;

    template <class V, int COUNT>
    static __device__ __forceinline__ void find(const BinTable<V>& table, const V (&x)[COUNT],
                                                BinsOf<COUNT>& of) {
        // In a sum with these, the integer nearest to a number of less than 2^31 is the low word.
        // Conversions to integers and back take four times as long.
        constexpr f64 UNITS = 0x1.8p52;
        const Guess& guess = table.guess;
        u32 last = table.known - 1;
        bool certain = true;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            f64 guessed = ((f64)x[i] - guess.origin) * guess.scale, sum = guessed + UNITS;
            f64 beyond = guessed - (sum - UNITS);
            // The nearest integer is the bin or the next one. What is outside is guessed to be
            // anything.
            u32 bin = (u32)bits_of(sum);
            of.bins[i] = bin < last ? bin : last;
            of.there[i] = table.has(x[i]);
            certain &= beyond > guess.low || !of.there[i];
        }
        if (certain) return;
        // For all of them: what is right stays as it is.
#pragma unroll
        for (int i = 0; i < COUNT; i++) of.bins[i] -= x[i] < table.firsts[of.bins[i]];
    }
};

/// The same by a guess in fixed point, for integers of up to 32 bits. Where all guesses are certain,
/// such as in bins whose width is a power of two, nothing asks.
struct ByFixedGuess {
    static constexpr bool SEARCHES = false;

    template <class V, int COUNT>
    static __device__ __forceinline__ void find(const BinTable<V>& table, const V (&x)[COUNT],
                                                BinsOf<COUNT>& of) {
        if (table.fixed.low == 0) find<false>(table, x, of);
        else find<true>(table, x, of);
    }

private:
    template <bool UNCERTAIN, class V, int COUNT>
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
            if (UNCERTAIN && there && (u32)(product >> (guess.shift - 32)) < guess.low &&
                x[i] < table.firsts[bin])
                bin--;
            of.bins[i] = bin;
            of.there[i] = there;
        }
    }
};

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

/// Counters in shared memory, 2^log_copies copies of each. What has no bin is counted too, behind
/// the others: a branch would take longer.
///
/// Amounts of 64 bits have counters of two words, the upper ones behind the lower ones. There are
/// no additions of 64 bits in shared memory. A lower word that wraps carries 1.
template <class Count, class Amount = u32>
struct SharedCounters {
    static constexpr bool BY_RUNS = false, WIDE = sizeof(Amount) == 8;

    Count* counts;
    u32 places, log_copies;
    /// Where the lane's first counter is, and the bytes from one to the next.
    u32 own, stride;

    __device__ __forceinline__ SharedCounters(Count* counts, u32 places, u32 log_copies)
        : counts(counts),
          places(places),
          log_copies(log_copies),
          own(in_register(4 * (threadIdx.x & ((1u << log_copies) - 1)))),
          stride(4u << log_copies) {}

    __device__ __forceinline__ u32* counters() const {
        return reinterpret_cast<u32*>(dynamic_shared());
    }
    /// The counters, or their lower words.
    __device__ __forceinline__ u32 lower() const { return (places + 1) << log_copies; }
    __device__ __forceinline__ u32 words() const { return WIDE ? 2 * lower() : lower(); }
    __device__ __forceinline__ u32 bytes() const { return (words() + 1) / 2 * 8; }

    __device__ __forceinline__ void clear() const {
#pragma unroll 4
        for (u32 i = threadIdx.x; i < words(); i += blockDim.x) counters()[i] = 0;
    }

    /// Nothing is kept from one unit to the next.
    __device__ __forceinline__ void end_unit() const {}

    __device__ __forceinline__ void add(u32 place, bool is_counted, Amount amount) const {
        u32 at = (is_counted ? place : places) * stride + own;
        u32* counter = reinterpret_cast<u32*>(dynamic_shared() + at);
        u32 low = (u32)amount, before = atomicAdd(counter, low);
        if constexpr (WIDE) {
            u32 high = (u32)(amount >> 32) + (before + low < before);
            if (high != 0) atomicAdd(counter + lower(), high);
        }
    }

    /// Adds up the copies, and clears them if another round comes. A block that is alone stores the
    /// sums of its first round. Neighbouring threads begin with different copies, which lie in
    /// different banks.
    __device__ __forceinline__ void finish_round(bool stores, bool is_last) const {
        u32 copies = 1u << log_copies;
#pragma unroll 4
        for (u32 place = threadIdx.x; place < places; place += blockDim.x) {
            u32* copy = counters() + (place << log_copies);
            Amount sum = 0;
            for (u32 i = 0; i < copies; i++) {
                sum += copy[place + i & (copies - 1)];
                if constexpr (WIDE) sum += (u64)copy[lower() + (place + i & (copies - 1))] << 32;
            }
            if (stores) counts[place] = sum;
            else if (sum != 0) atomicAdd(counts + place, (Count)sum);
            for (u32 i = 0; !is_last && i < copies; i++) {
                copy[i] = 0;
                if constexpr (WIDE) copy[lower() + i] = 0;
            }
        }
    }
};

/// Counters of 16 bits in shared memory, two in a word, for items that count once. That of place p
/// is the lower half of word p, or the upper half of word p - words(). What has no bin is counted
/// behind the others.
///
/// No counter overflows, whatever the items. From 2^log_full on, where log_full is at most 15, a
/// counter is full. A thread that adds to one that was full before empties it before it goes on to
/// the next items: it moves all from 2^log_full on to the result. So from the moment when a counter
/// becomes full until a thread empties it, each thread adds to it the items of one run at most,
/// beside the one that made it full. These are fewer than 2^15, so the counter stays below 2^16.
///
/// Additions to one word wait for each other. So a warp counts the items of one place by itself, in
/// registers, as long as most of its lanes meet that place in each unit.
template <class Count>
struct NarrowCounters {
    /// Whether the items of a run are added together.
    static constexpr bool BY_RUNS = true;
    /// A place that no item has.
    static constexpr u32 NONE = 0xffffffffu;

    Count* counts;
    u32 places, full;
    /// Behind the counters, one for each lane.
    u32 idle;
    /// The place that the warp counts by itself, and how many such items the lane had: in all, and
    /// before this unit.
    u32 hot = NONE, hits = 0, hits_before = 0;
    /// A place that the lane met last.
    u32 latest = NONE;

    __device__ __forceinline__ NarrowCounters(Count* counts, u32 places, u32 log_full)
        : counts(counts),
          places(places),
          full((0xffffu & ~((1u << log_full) - 1)) * 0x10001u),
          idle(words() + threadIdx.x % WARP) {}

    __device__ __forceinline__ u32* counters() const {
        return reinterpret_cast<u32*>(dynamic_shared());
    }
    __device__ __forceinline__ u32 words() const { return (places + 2) / 2; }
    __device__ __forceinline__ u32 bytes() const { return 4 * (words() + WARP); }

    __device__ __forceinline__ void clear() const {
        for (u32 i = threadIdx.x; i < words() + WARP; i += blockDim.x) counters()[i] = 0;
    }

    template <int COUNT>
    __device__ __forceinline__ void add(const u32 (&at)[COUNT], const bool (&is_counted)[COUNT]) {
        static_assert(COUNT <= 16, "a block of 1024 threads adds fewer than 2^15 at a time");
        u32 before = 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            u32 place = is_counted[i] ? at[i] : places;
            bool is_hot = place == hot;
            hits += is_hot;
            // A hot item adds nothing to a word that is the lane's alone: a branch would take
            // longer.
            u32 word = is_hot ? idle : word_of(place);
            u32 one = place < words() ? 1u : 0x10000u;
            before |= atomicAdd(counters() + word, is_hot ? 0u : one);
            latest = place;
        }
        if ((before & full) == 0) return;
#pragma unroll
        for (int i = 0; i < COUNT; i++) empty(is_counted[i] ? at[i] : places);
    }

    /// Has the warp count another place by itself, if few of its lanes met the one that it has.
    __device__ __forceinline__ void end_unit() {
        u32 met = __ballot_sync(ALL_LANES, hits != hits_before);
        if (__popc(met) < WARP / 2) {
            add_hits();
            hot = __shfl_sync(ALL_LANES, latest, 0);
        }
        hits_before = hits;
    }

    /// Adds up what is left, and clears the counters if another round comes. The counts were clear
    /// before.
    __device__ __forceinline__ void finish_round(bool, bool is_last) {
        add_hits();
        hits_before = 0;
        for (u32 i = threadIdx.x; i < words(); i += blockDim.x) {
            u32 word = counters()[i], upper = i + words();
            if ((word & 0xffff) != 0 && i < places) atomicAdd(counts + i, (Count)(word & 0xffff));
            if (word >> 16 != 0 && upper < places) atomicAdd(counts + upper, (Count)(word >> 16));
            if (!is_last) counters()[i] = 0;
        }
    }

private:
    __device__ __forceinline__ u32 word_of(u32 place) const {
        // A place of the lower half wraps.
        u32 upper = place - words();
        return place < upper ? place : upper;
    }

    /// Moves what is full of a counter to the result.
    __device__ __forceinline__ void empty(u32 place) const {
        u32 shift = place < words() ? 0 : 16, bits = full & (0xffffu << shift);
        u32 more = atomicAnd(counters() + word_of(place), ~bits) & bits;
        if (more != 0 && place < places) atomicAdd(counts + place, (Count)(more >> shift));
    }

    __device__ __forceinline__ void add_hits() {
        if (!__any_sync(ALL_LANES, hits != 0)) return;
        u32 sum = hits;
#pragma unroll
        for (int by = WARP / 2; by > 0; by /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, by);
        if (threadIdx.x % WARP == 0 && hot < places) atomicAdd(counts + hot, (Count)sum);
        hits = 0;
    }
};

/// Counters in global memory, and a cache of 2^log_slots of them in shared memory. A slot belongs
/// to the first bin that comes, which most likely is one that comes often. Items of other bins of
/// that slot are counted in global memory. So are all amounts of 64 bits.
template <class Count, class Amount = u32>
struct CachedCounters {
    static constexpr bool BY_RUNS = false;
    /// The bin of a slot that belongs to none.
    static constexpr u32 NONE = 0xffffffffu;
    /// A slot with fewer items in a round is there for any bin in the next one.
    static constexpr u32 FEW = 8;

    Count* counts;
    u32 log_slots;

    __device__ __forceinline__ u32 slots() const { return 1u << log_slots; }
    __device__ __forceinline__ u32* bins() const {
        return reinterpret_cast<u32*>(dynamic_shared());
    }
    __device__ __forceinline__ u32* counters() const { return bins() + slots(); }
    __device__ __forceinline__ u32 bytes() const { return 8 * slots(); }

    __device__ __forceinline__ void clear() const {
        for (u32 slot = threadIdx.x; slot < slots(); slot += blockDim.x) {
            bins()[slot] = NONE;
            counters()[slot] = 0;
        }
    }

    __device__ __forceinline__ void end_unit() const {}

    __device__ __forceinline__ void add(u32 place, bool is_counted, Amount amount) const {
        if constexpr (sizeof(Amount) == 8) {
            if (is_counted) atomicAdd(counts + place, (Count)amount);
            return;
        }
        u32 slot = place & (slots() - 1), bin = load_relaxed_shared(bins() + slot);
        if (!is_counted) return;
        if (bin == NONE) {
            bin = atomicCAS(bins() + slot, NONE, place);
            if (bin == NONE) bin = place;
        }
        if (bin == place) atomicAdd(counters() + slot, (u32)amount);
        else atomicAdd(counts + place, (Count)amount);
    }

    __device__ __forceinline__ void finish_round(bool, bool) const {
        for (u32 slot = threadIdx.x; slot < slots(); slot += blockDim.x) {
            u32 count = counters()[slot];
            if (count != 0) atomicAdd(counts + bins()[slot], (Count)count);
            if (count < FEW) bins()[slot] = NONE;
            counters()[slot] = 0;
        }
    }
};

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
    BinTable<V> table;
    Count* counts;
    /// How many parts are counted.
    u32 channels;
    /// The logarithm of how many copies counters in shared memory have, of the slots of a cache, or
    /// of where a narrow counter is full.
    u32 log_copies;
    /// After how many units of a warp the block adds its counters to the result. None may reach
    /// 2^32 before.
    u32 units_a_round;
    /// Whether the first numbers of bins are copied to shared memory.
    bool copies_table;
    /// Whether every unit is a row.
    bool by_rows;

    /// The counters of all channels.
    __device__ __forceinline__ u32 places() const { return channels * table.bins; }

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
        copy_table(counters.bytes());
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
        copy_table(0);
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
                    Rule::find(table, x, of);
                    u32 found[RUN];
#pragma unroll
                    for (int i = 0; i < RUN; i++)
                        found[i] = of.there[i] && part < channels ? of.bins[i] + part * table.bins
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

    /// Copies what bins are found by to behind `offset` bytes of shared memory, as far as it is to
    /// be there. The block must synchronise before it is used.
    __device__ __forceinline__ void copy_table(u32 offset) {
        if constexpr (Rule::SEARCHES) {
            offset = (offset + 15) / 16 * 16;
            table.lookup.copy(offset);
            if (!copies_table) return;
            V* firsts = reinterpret_cast<V*>(dynamic_shared() + offset + table.lookup.bytes());
            for (u32 i = threadIdx.x; i < table.known; i += blockDim.x) firsts[i] = table.firsts[i];
            table.firsts = firsts;
        }
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
                Rule::find(table, x, of);
                auto is_counted = [&](int i) {
                    return of.there[i] && (ROWS > 1 || first + i < here);
                };
                if constexpr (Counters::BY_RUNS) {
#pragma unroll
                    for (int i = 0; i < RUN; i++) {
                        of.bins[i] += part * table.bins;
                        of.there[i] = is_counted(i);
                    }
                    counters.add(of.bins, of.there);
                } else {
#pragma unroll
                    for (int i = 0; i < RUN; i++)
                        counters.add(of.bins[i] + part * table.bins, is_counted(i),
                                     Of::amount(rows.item(row, i)));
                }
            }
        }
        counters.end_unit();
    }
};

}  // namespace warpfold
