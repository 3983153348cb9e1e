// Segmented sort: each segment by itself, in place. Stable.
//
// Segments are shared out by where they start: a block has all that start within a stretch of
// STRIDE items. It sorts the short ones together, by the digits of their keys and then by those of
// the number that their segment has in the tile. So any mix of short segments takes as long.
//
// A segment of more than LONG items is none of these. They are put on a list, gathered side by
// side, and sorted by the launches of sort.cuh: by key, and then by their number on the list.
#pragma once
#include "segmented_tiles.cuh"
#include "sort.cuh"

namespace warpfold {

/// A long segment: where it starts, and where its items go when long segments are gathered.
struct LongSorted {
    u64 start, base;
};

/// What the launches share.
template <class Segments, class B>
struct SegmentedSortCall {
    Segments segments;
    B* keys;
    /// Where items stood in their segments. May be null.
    u64* places;
    u64 length;
    /// How many long segments there are, and how many items they have.
    u64* counter;
    /// The latter alone.
    u64* limit;
    LongSorted* list;
    u64 capacity;
    /// The gathered keys, each with the number of its segment and its place there.
    B* gathered;
    u64* tags;
    /// The number alone, and which gathered key it is.
    u32* numbers;
    u64* which;
    SortOrder order;
};

template <class Segments, class B, bool FLOAT, int WARPS, int ROWS>
struct SegmentedSorter {
    /// Of an item: the number of its segment in the tile, and where it stood in the tile.
    using Value = u32;
    using Tile = SortTile<B, FLOAT, Value, WARPS, ROWS>;
    using Ranks = KeyRanks<B, FLOAT>;
    using Call = SegmentedSortCall<Segments, B>;
    static constexpr u32 THREADS = Tile::THREADS, STRIDE = Tile::TILE / 2, LONG = STRIDE;
    static constexpr int KEY_BYTES = (int)sizeof(B), PASSES = KEY_BYTES + 2;
    /// Which items of a tile are the first of a segment, as bits; and for each word of these how
    /// many are set before it, and where the last of them stands.
    struct Heads {
        static constexpr u32 WORDS = Tile::TILE / WARP;

        u32 words[WORDS], before[WORDS], last[WORDS];

        __device__ __forceinline__ u32 up_to(u32 i) const {
            return words[i / WARP] & (ALL_LANES >> (WARP - 1 - i % WARP));
        }
        /// The number of the segment of an item, and where it starts.
        __device__ __forceinline__ u32 number(u32 i) const {
            return before[i / WARP] + __popc(up_to(i)) - 1;
        }
        __device__ __forceinline__ u32 start(u32 i) const {
            u32 own = up_to(i);
            return own != 0 ? i / WARP * WARP + (WARP - 1 - __clz(own)) : last[i / WARP];
        }
    };
    struct Shared {
        typename Tile::Shared tile;
        Heads heads;
    };
    static __device__ __forceinline__ Heads& heads() {
        return reinterpret_cast<Shared*>(dynamic_shared())->heads;
    }

    // The counter and tags: numbers of segments above, items below.
    static constexpr int NUMBER_SHIFT = 40;
    static constexpr u64 ITEMS = ((u64)1 << NUMBER_SHIFT) - 1;

    static __device__ __forceinline__ u64 first_index() {
        return (u64)blockIdx.x * blockDim.x + threadIdx.x;
    }
    static __device__ __forceinline__ u64 step() { return (u64)gridDim.x * blockDim.x; }

    // ---- begin ---------------------------------------------------------------------------------

    static __device__ __forceinline__ void begin(const Call& call) {
        if (first_index() == 0) *call.counter = 0;
        // Items of no segment are segments of their own.
        if (call.places != nullptr)
            for (u64 i = first_index(); i < call.length; i += step()) call.places[i] = 0;
    }

    // ---- tiles of short segments ---------------------------------------------------------------

    /// The first segment that starts at a position or behind it. A warp calls.
    static __device__ __forceinline__ u64 segment_from(const Segments& segments, u64 position) {
        u64 low = 0, high = segments.count, lane = threadIdx.x % WARP;
        while (low < high) {
            u64 part = (high - low + WARP - 1) / WARP, probe = low + lane * part;
            bool before = probe < high && segments.bound(probe) < position;
            u32 all = __ballot_sync(ALL_LANES, before);
            // Those before are the first ones.
            u64 number = __popc(all);
            if (number == 0) return low;
            u64 end = low + number * part;
            low += (number - 1) * part + 1;
            high = end < high ? end : high;
        }
        return low;
    }

    /// Where the segment of an item starts, given the segments from `first` to before `end`, of
    /// which one has it.
    static __device__ __forceinline__ u64 start_of(const Segments& segments, u64 first, u64 end,
                                                   u64 position) {
        while (end - first > 1) {
            u64 middle = first + (end - first) / 2;
            if (segments.bound(middle) <= position) first = middle;
            else end = middle;
        }
        return segments.bound(first);
    }

    /// Finds the heads of a tile of `count` items from `begin` on, which have the segments from
    /// `first` to before `end`. The first item is one. All threads call.
    static __device__ __forceinline__ void find_heads(const Segments& segments, u64 first, u64 end,
                                                      u64 begin, u32 count) {
        Heads& all = heads();
        u32 thread = threadIdx.x;
        for (u32 word = thread; word < Heads::WORDS; word += THREADS) all.words[word] = 0;
        __syncthreads();
        auto mark = [&](u64 i) { atomicOr(&all.words[i / WARP], 1u << i % WARP); };
        if (end - first <= 4 * Tile::TILE) {
            for (u64 segment = first + thread; segment < end; segment += THREADS) {
                u64 start = segments.bound(segment), stop = segments.bound(segment + 1);
                if (start < stop && start - begin < count) mark(start - begin);
            }
        } else {
            // Most are empty.
            for (u32 i = thread; i < count; i += THREADS)
                if (start_of(segments, first, end, begin + i) == begin + i) mark(i);
        }
        __syncthreads();
        if (warp_index() == 0) {
            u32 number = 0, last = 0;
            for (u32 from = 0; from < Heads::WORDS; from += WARP) {
                u32 word = from + thread, own = word < Heads::WORDS ? all.words[word] : 0;
                u32 count = __popc(own), latest = own != 0 ? word * WARP + 31 - __clz(own) : 0;
                u32 sum = count, greatest = latest;
#pragma unroll
                for (int by = 1; by < WARP; by *= 2) {
                    u32 other = __shfl_up_sync(ALL_LANES, sum, by);
                    u32 other_latest = __shfl_up_sync(ALL_LANES, greatest, by);
                    if (thread >= by) {
                        sum += other;
                        greatest = other_latest > greatest ? other_latest : greatest;
                    }
                }
                u32 before = __shfl_up_sync(ALL_LANES, greatest, 1);
                if (thread == 0) before = 0;
                if (word < Heads::WORDS) {
                    all.before[word] = number + sum - count;
                    all.last[word] = before > last ? before : last;
                }
                u32 most = __shfl_sync(ALL_LANES, greatest, WARP - 1);
                number += __shfl_sync(ALL_LANES, sum, WARP - 1);
                last = most > last ? most : last;
            }
        }
        __syncthreads();
    }

    static __device__ __forceinline__ void sort_tile(const Call& call) {
        typename Tile::Shared& shared = Tile::shared();
        u64 from = (u64)blockIdx.x * STRIDE;
        int own_warp = warp_index();
        if (own_warp < 2) {
            u64 segment = segment_from(call.segments, from + own_warp * STRIDE);
            if (Tile::lane() == 0) shared.targets[own_warp] = segment;
        }
        __syncthreads();
        u64 first = shared.targets[0], end = shared.targets[1];
        __syncthreads();
        if (first >= end) return;
        u64 begin = call.segments.bound(first), last = call.segments.bound(end - 1);
        u64 stop = call.segments.bound(end);
        if (stop > last && stop - last > LONG) {
            if (threadIdx.x == 0) add_long(call, last, stop - last);
            stop = last;
        }
        // Offsets that fall are nobody's segments.
        if (stop <= begin || stop - begin > Tile::TILE) return;
        u32 count = (u32)(stop - begin), rows = (count + THREADS - 1) / THREADS;

        find_heads(call.segments, first, end, begin, count);
        Ranks ranks = Ranks::of(call.order);
        u32 at = own_warp * (rows * WARP) + Tile::lane();
        B key[ROWS];
        Value value[ROWS];
        B any = 0, all = (B) ~(B)0;
        u32 any_number = 0, all_number = ~0u;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            u32 i = at + row * WARP;
            bool there = row < (int)rows && i < count;
            key[row] = 0;
            value[row] = 0;
            if (!there) continue;
            key[row] = call.keys[begin + i];
            u32 number = heads().number(i);
            value[row] = number << 16 | i;
            B rank = ranks.rank(key[row]);
            any |= rank;
            all &= rank;
            any_number |= number;
            all_number &= number;
        }
        u32 varying = varying_bytes(any, all, any_number, all_number);
        for (int pass = 0; pass < PASSES; pass++) {
            if ((varying >> pass & 1) == 0) continue;
            // Else each row's index would be kept, in memory.
            at = in_register(at);
            u32 place[ROWS];
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                u32 digit = pass < KEY_BYTES ? ranks.digit(key[row], 8 * pass)
                                             : value[row] >> (16 + 8 * (pass - KEY_BYTES)) & 255;
                // What is not there stays last.
                if (at + row * WARP >= count) digit = SORT_DIGITS - 1;
                place[row] = Tile::packed(digit);
            }
            Tile::clear_counts();
            Tile::rank_in_warp(place, rows);
            __syncthreads();
            Tile::start_of_digit(Tile::sum_of_warps());
            Tile::place(place, rows);
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                if (row >= (int)rows) break;
                shared.keys[place[row]] = key[row];
                shared.room.values[place[row]] = value[row];
            }
            __syncthreads();
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                if (row >= (int)rows) break;
                key[row] = shared.keys[at + row * WARP];
                value[row] = shared.room.values[at + row * WARP];
            }
            __syncthreads();
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            u32 i = at + row * WARP;
            if (row >= (int)rows || i >= count) break;
            call.keys[begin + i] = key[row];
            if (call.places != nullptr)
                call.places[begin + i] = (value[row] & 0xffff) - heads().start(i);
        }
    }
    static_assert(Tile::TILE <= 0xffff);

    /// The bytes that are not the same in all items, as bits: of ranks, and above them of numbers.
    /// All threads get them.
    static __device__ __forceinline__ u32 varying_bytes(B any, B all, u32 any_number,
                                                        u32 all_number) {
        typename Tile::Shared& shared = Tile::shared();
        union {
            B rank;
            u32 words[(sizeof(B) + 3) / 4];
        } some, every;
        constexpr int WORDS = (int)(sizeof(B) + 3) / 4;
        some.words[0] = 0;
        some.rank = any;
        every.words[0] = ~0u;
        every.rank = all;
        // Each warp's words, the numbers last.
        u32* words = shared.counts[0];
        u32 lane = Tile::lane();
        int own_warp = warp_index();
#pragma unroll
        for (int i = 0; i <= WORDS; i++) {
            u32 one = i < WORDS ? some.words[i % WORDS] : any_number;
            u32 other = i < WORDS ? every.words[i % WORDS] : all_number;
#pragma unroll
            for (int by = 1; by < WARP; by *= 2) {
                one |= __shfl_xor_sync(ALL_LANES, one, by);
                other &= __shfl_xor_sync(ALL_LANES, other, by);
            }
            if (lane == 0) {
                words[(2 * i) * WARPS + own_warp] = one;
                words[(2 * i + 1) * WARPS + own_warp] = other;
            }
        }
        __syncthreads();
        u32 bytes = 0;
#pragma unroll
        for (int i = 0; i <= WORDS; i++) {
            u32 one = 0, other = ~0u;
#pragma unroll
            for (int warp = 0; warp < WARPS; warp++) {
                one |= words[(2 * i) * WARPS + warp];
                other &= words[(2 * i + 1) * WARPS + warp];
            }
            u32 differing = one & ~other;
#pragma unroll
            for (int byte = 0; byte < 4; byte++) {
                int bit = i < WORDS ? 4 * i + byte : KEY_BYTES + byte;
                if ((differing >> (8 * byte) & 255) != 0) bytes |= 1u << bit;
            }
        }
        __syncthreads();
        return bytes;
    }

    // ---- long segments -------------------------------------------------------------------------

    static __device__ __forceinline__ void add_long(const Call& call, u64 start, u64 length) {
        u64 before = add_relaxed(call.counter, ((u64)1 << NUMBER_SHIFT) + length);
        u64 number = before >> NUMBER_SHIFT;
        if (number < call.capacity) call.list[number] = {start, before & ITEMS};
    }

    /// How many items long segments have. Of offsets that fall there may seem to be more.
    static __device__ __forceinline__ u64 long_items(const Call& call) {
        u64 items = *call.counter & ITEMS;
        return items < call.length ? items : call.length;
    }
    static __device__ __forceinline__ u32 long_segments(const Call& call) {
        u64 number = *call.counter >> NUMBER_SHIFT;
        return (u32)(number < call.capacity ? number : call.capacity);
    }

    /// Puts the items of long segments side by side.
    static __device__ __forceinline__ void gather(const Call& call) {
        u64 items = long_items(call);
        u32 all = long_segments(call);
        if (first_index() == 0) *call.limit = items;
        for (u64 i = first_index(); i < items; i += step()) {
            u32 first = 0, end = all;
            while (end - first > 1) {
                u32 middle = first + (end - first) / 2;
                if (call.list[middle].base <= i) first = middle;
                else end = middle;
            }
            LongSorted segment = call.list[first];
            u64 place = i - segment.base, at = segment.start + place;
            call.gathered[i] = call.keys[at < call.length ? at : call.length - 1];
            call.tags[i] = (u64)first << NUMBER_SHIFT | place;
        }
    }

    /// Takes the numbers of segments from the tags, which are sorted by key.
    static __device__ __forceinline__ void number(const Call& call) {
        u64 items = *call.limit;
        for (u64 i = first_index(); i < items; i += step()) {
            call.numbers[i] = (u32)(call.tags[i] >> NUMBER_SHIFT);
            call.which[i] = i;
        }
    }

    /// Moves items to where they belong, given their order by segment.
    static __device__ __forceinline__ void scatter(const Call& call) {
        u64 items = *call.limit;
        for (u64 i = first_index(); i < items; i += step()) {
            u64 which = call.which[i], tag = call.tags[which];
            LongSorted segment = call.list[tag >> NUMBER_SHIFT];
            u64 at = segment.start + (i - segment.base);
            if (at >= call.length) continue;
            call.keys[at] = call.gathered[which];
            if (call.places != nullptr) call.places[at] = tag & ITEMS;
        }
    }
};

}  // namespace warpfold
