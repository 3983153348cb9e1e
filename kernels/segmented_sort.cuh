// Segmented sort: each segment by itself, in place. Stable.
//
// All items are cut into tiles of one length. A block sorts the short segments that start in its
// tile, to their end, and of long ones what lies in the tile: each thread its neighbours, and then
// pairs of runs are merged, of one thread's items at first, then of two, four and so on. A merge
// touches only the one segment that lies on both sides of where two runs meet. Runs that meet at
// the start of a segment cost nothing.
//
// Where two tiles meet within a long segment, they go on likewise in global memory, a launch for
// each doubling, as in Baxter's segmented sort ("moderngpu", 2013). Other tiles have no work there.
//
//   SegmentHeads       where the segments of a tile start
//   SegmentedSorter    sort_tile, merge_tiles: the launches
//   levels_of          the doublings in which a segment moves
#pragma once
#include "merge.cuh"
#include "segmented_tiles.cuh"

namespace warpfold {

/// A segment that has items on both sides of where two tiles meet, and the levels in which it
/// moves; or nothing. A short one moves in none.
struct CrossingSegment {
    u64 start, end;
    u32 levels, unused;

    __device__ __forceinline__ bool is_there() const { return start < end; }
    __device__ __forceinline__ bool moves_at(u32 level) const { return (levels >> level & 1) != 0; }
};

/// The levels in which a segment moves, as bits, given the tiles that have its first and its last
/// item. At level i runs of 2^i tiles are merged in pairs, so two of them meet at each odd multiple
/// of 2^i. A segment moves if such a tile comes after its first one.
__device__ __forceinline__ u32 levels_of(u64 first, u64 last) {
    if (first >= last) return 0;
    int top = 63 - __clzll((i64)(first ^ last));
    // Before and after the meeting at the top level, the others are those of numbers from 1 on.
    u64 middle = last >> top << top, below = middle - 1 - first, above = last - middle;
    u64 most = below > above ? below : above;
    u32 lower = most == 0 ? 0 : (u32)(((u64)2 << (63 - __clzll((i64)most))) - 1);
    return (u32)1 << top | lower;
}

/// What the launches share.
template <class Segments, class B, class Place>
struct SegmentedSortCall {
    Segments segments;
    B* keys;
    /// Room for as many.
    B* room;
    /// Where items stood in their segments.
    u64* places;
    /// Room for the places of segments that move again an even number of times, or an odd one.
    Place *even_places, *odd_places;
    /// For each tile the segment that crosses its first position.
    CrossingSegment* crossings;
    u64 length;
    SortOrder order;
    u32 level;
};

/// Where the segments of up to COUNT items start.
template <u32 COUNT>
struct SegmentHeads {
    static constexpr u32 WORDS = COUNT / WARP;
    static_assert(COUNT % WARP == 0 && COUNT <= 0x8000, "places in a tile are u16");

    /// A bit for each item that is the first of a segment. Then for each word of these where the
    /// last one before it is, and the first one behind it.
    u32 words[WORDS];
    u16 last[WORDS], next[WORDS];

    /// Those of up to 32 items from `i` on, as bits.
    __device__ __forceinline__ u32 from(u32 i) const {
        u32 word = i / WARP;
        u64 next = word + 1 < WORDS ? words[word + 1] : 0;
        return (u32)((next << WARP | words[word]) >> i % WARP);
    }
    /// Where the segment of an item starts.
    __device__ __forceinline__ u32 start(u32 i) const {
        u32 own = words[i / WARP] & (ALL_LANES >> (WARP - 1 - i % WARP));
        return own != 0 ? i / WARP * WARP + (WARP - 1 - __clz(own)) : last[i / WARP];
    }
    /// Where the next segment starts.
    __device__ __forceinline__ u32 end(u32 i) const {
        u32 own = words[i / WARP] & ~(ALL_LANES >> (WARP - 1 - i % WARP));
        return own != 0 ? i / WARP * WARP + __ffs(own) - 1 : next[i / WARP];
    }

    /// Fills `last` and `next`, given the words. Two warps do, and all threads call. The first item
    /// is a head, and so is what there is room for behind the last one.
    __device__ __forceinline__ void link() {
        u32 lane = threadIdx.x % WARP;
        int warp = warp_index();
        if (warp < 2) {
            // The second warp goes from the end to the start.
            bool backwards = warp == 1;
            u32 found = 0;
            for (u32 from = 0; from < WORDS; from += WARP) {
                u32 number = from + lane, at = backwards ? WORDS - 1 - number : number;
                u32 own = number < WORDS ? words[at] : 0;
                u32 nearest = at * WARP + (backwards ? __ffs(own) - 1 : WARP - 1 - __clz(own));
                u32 those = __ballot_sync(ALL_LANES, own != 0), before = those & ((1u << lane) - 1);
                u32 from_lane = before != 0 ? WARP - 1 - __clz(before) : 0;
                u32 of_lane = __shfl_sync(ALL_LANES, nearest, from_lane);
                u32 value = before != 0 ? of_lane : found;
                if (number < WORDS) (backwards ? next : last)[at] = (u16)value;
                u32 last_lane = those != 0 ? WARP - 1 - __clz(those) : 0;
                u32 of_last = __shfl_sync(ALL_LANES, nearest, last_lane);
                if (those != 0) found = of_last;
            }
        }
        __syncthreads();
    }
};

/// Ranks in shared memory and in registers have 32 bits at least.
template <class B>
struct SortedWord {
    using Type = B;
};
template <> struct SortedWord<u8> { using Type = u32; };
template <> struct SortedWord<u16> { using Type = u32; };

/// Keys of the bits B. The block that sorts a tile has WARPS warps, with room for ITEMS neighbours
/// a thread; one that merges has MERGE_WARPS and MERGE_ITEMS. That these are odd keeps the banks of
/// neighbouring threads apart. A segment of up to LONG items is short.
template <class Segments, class B, bool FLOAT, class Place, int WARPS, int ITEMS, int LONG,
          int MERGE_WARPS, int MERGE_ITEMS>
struct SegmentedSorter {
    using Call = SegmentedSortCall<Segments, B, Place>;
    using Ranks = KeyRanks<B, FLOAT>;
    static constexpr u32 THREADS = WARPS * WARP, ROOM = THREADS * ITEMS;
    static constexpr u32 MERGE_THREADS = MERGE_WARPS * WARP;
    /// The items of a tile: with what is left of a short segment there is room for them.
    static constexpr u32 TILE = ROOM - LONG;
    using Heads = SegmentHeads<ROOM>;
    using Word = typename SortedWord<B>::Type;
    static_assert(ITEMS < WARP && ITEMS % 2 == 1 && WARPS >= 2 && LONG < TILE);
    static_assert(MERGE_ITEMS % 2 == 1 && MERGE_WARPS >= 2 && MERGE_THREADS * MERGE_ITEMS >= TILE);

    /// Ranks in shared memory, and for each where its item stood before.
    struct Room {
        Word ranks[ROOM];
        u16 places[ROOM];
    };
    struct TileShared {
        /// The segments that start in the tile, from one to before the other.
        u64 segments[2];
        /// What crosses the ends of the tile.
        CrossingSegment crossings[2];
        Heads heads;
        /// Where the segment of a thread's first item starts, and where it ends.
        u16 starts[THREADS], ends[THREADS];
        /// The length of the longest segment that several threads have.
        u32 longest;
        Room room;
    };
    struct MergeShared {
        /// Where a part of the output begins and ends in the first run.
        u64 splits[2];
        /// The tiles that have something to merge, as bits.
        u32 active[MERGE_WARPS];
        Room room;
    };
    static __device__ __forceinline__ TileShared& tile() {
        return *reinterpret_cast<TileShared*>(dynamic_shared());
    }
    static __device__ __forceinline__ MergeShared& merging() {
        return *reinterpret_cast<MergeShared*>(dynamic_shared());
    }

    /// The key of a rank, if there is one.
    static __device__ __forceinline__ B key_of(const Ranks& ranks, Word rank) {
        return ranks.number((B)rank);
    }
    /// Whether a key is not that of its rank. Then it cannot be told from its rank alone.
    static __device__ __forceinline__ bool is_special(const Ranks& ranks, B key, Word rank) {
        return FLOAT && key_of(ranks, rank) != key;
    }

    /// Where the keys of a segment are when it moves so many times more. At last they are where
    /// they belong.
    static __device__ __forceinline__ B* keys_after(const Call& call, u32 moves) {
        return moves % 2 == 0 ? call.keys : call.room;
    }
    static __device__ __forceinline__ void put_place(const Call& call, u64 at, u32 moves,
                                                     u64 place) {
        if (moves == 0) call.places[at] = place;
        else (moves % 2 == 0 ? call.even_places : call.odd_places)[at] = (Place)place;
    }

    // ---- a merge in shared memory --------------------------------------------------------------

    /// Merges two runs of a room that stand from `a` to before `middle`, and from there to before
    /// `end`. Of the merged items the thread gets `count`, from `diagonal` on.
    template <bool PLACES, int MOST>
    static __device__ __forceinline__ void merge_runs(const Room& room, u32 a, u32 middle, u32 end,
                                                      u32 diagonal, int count, Word (&rank)[MOST],
                                                      u32 (&place)[MOST]) {
        u32 a_length = middle - a, b_length = end - middle;
        u32 least = diagonal > b_length ? diagonal - b_length : 0;
        u32 most = diagonal < a_length ? diagonal : a_length;
        const Word *of_first = room.ranks + a, *of_second = room.ranks + (middle + diagonal - 1);
        while (least < most) {
            u32 half = (least + most) / 2;
            if (*(of_second - half) < of_first[half]) most = half;
            else least = half + 1;
        }
        // The next item of each run. When there is none, another one stands for it.
        u32 i = a + least, j = middle + diagonal - least, last = end - 1;
        Word x = room.ranks[i], y = room.ranks[j < last ? j : last];
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            if (k >= count) break;
            bool second = i >= middle || (j < end && y < x);
            u32 from = second ? j : i;
            rank[k] = second ? y : x;
            if constexpr (PLACES) place[k] = room.places[from];
            Word next = room.ranks[from < last ? from + 1 : last];
            y = second ? next : y;
            x = second ? x : next;
            j += second;
            i += !second;
        }
    }

    // ---- tiles ---------------------------------------------------------------------------------

    /// The first segment that starts at a position or behind it. A warp calls.
    static __device__ __forceinline__ u64 segment_from(const Segments& segments, u64 position) {
        u64 low = 0, high = segments.count, lane = threadIdx.x % WARP;
        // All are empty, and start at 0.
        if (segments.items == 0) return position > 0 ? high : 0;
        // If all segments are alike it is near. Half of the lanes look before that place, and half
        // behind it, each four times as far away as the one before.
        i64 middle = (i64)((f32)position * ((f32)high / (f32)segments.items)), end = (i64)high;
        auto place = [&](int lane) {
            return lane < WARP / 2 ? middle - (1ll << 2 * (WARP / 2 - 1 - lane))
                                   : middle - 1 + (1ll << 2 * (lane - WARP / 2));
        };
        auto comes_before = [&](i64 i) {
            return i < end && (i < 0 || segments.bound((u64)i) < position);
        };
        int nearer = __popc(__ballot_sync(ALL_LANES, comes_before(place((int)lane))));
        if (nearer > 0 && place(nearer - 1) >= 0) low = (u64)place(nearer - 1) + 1;
        if (nearer < WARP && place(nearer) >= 0 && place(nearer) < end) high = (u64)place(nearer);
        while (low < high) {
            u64 part = (high - low + WARP - 1) / WARP, probe = low + lane * part;
            bool before = probe < high && segments.bound(probe) < position;
            u32 all = __ballot_sync(ALL_LANES, before);
            // Those before are the first ones.
            u64 number = __popc(all);
            if (number == 0) return low;
            u64 behind = low + number * part;
            low += (number - 1) * part + 1;
            high = behind < high ? behind : high;
        }
        return low;
    }

    /// The segment that has items on both sides of a position, given the first one that starts
    /// there or behind it. A short one does not move.
    static __device__ __forceinline__ CrossingSegment crossing(const Segments& segments, u64 first,
                                                               u64 position) {
        if (first == 0 || first > segments.count) return {0, 0, 0, 0};
        u64 start = segments.bound(first - 1), end = segments.bound(first);
        if (start >= position || position >= end) return {0, 0, 0, 0};
        u32 levels = end - start > LONG ? levels_of(start / TILE, (end - 1) / TILE) : 0;
        return {start, end, levels, 0};
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

    /// Finds the heads of `count` items from `base` on, in which the segments from `first` to
    /// before `end` start, and the bounds of those that several threads have. The first item is a
    /// head, and so is each item of no segment. All threads call.
    static __device__ __forceinline__ void find_heads(const Segments& segments, u64 first, u64 end,
                                                      u64 base, u32 count) {
        Heads& heads = tile().heads;
        u32 thread = threadIdx.x;
        if (thread == 0) tile().longest = 0;
        // Before the first segment and behind the last one items belong to none.
        u64 lowest = segments.count > 0 ? segments.bound(0) : 0;
        u64 highest = segments.count > 0 ? segments.bound(segments.count) : 0;
        // Nor do others that there is room for.
        if (highest > base + count) highest = base + count;
        for (u32 word = thread; word < Heads::WORDS; word += THREADS) {
            u64 at = base + word * WARP;
            u32 none = 0;
            if (at < lowest) none |= at + WARP <= lowest ? ALL_LANES : (1u << (lowest - at)) - 1;
            if (at + WARP > highest)
                none |= at >= highest ? ALL_LANES : ALL_LANES << (highest - at);
            heads.words[word] = word == 0 ? none | 1 : none;
        }
        __syncthreads();
        auto mark = [&](u64 i) { atomicOr(&heads.words[i / WARP], 1u << i % WARP); };
        if (end - first <= 4 * ROOM) {
            for (u64 segment = first + thread; segment < end; segment += THREADS) {
                u64 start = segments.bound(segment);
                if (start - base < count) mark(start - base);
            }
        } else {
            // Most are empty.
            for (u32 i = thread; i < count; i += THREADS)
                if (start_of(segments, first, end, base + i) == base + i) mark(i);
        }
        __syncthreads();
        heads.link();
        u32 own = thread * ITEMS, start = heads.start(own), stop = heads.end(own);
        tile().starts[thread] = (u16)start;
        tile().ends[thread] = (u16)stop;
        u32 length = own < count && start < own ? stop - start : 0;
        if (length > 0) atomicMax(&tile().longest, length);
        __syncthreads();
    }

    /// Sorts the neighbours of a thread, each segment by itself. Neighbours that stand the wrong
    /// way round change places, so equals stay in their order.
    template <bool PLACES>
    static __device__ __forceinline__ void sort_neighbours(u32 first) {
        Room& room = tile().room;
        Word rank[ITEMS];
        // Which of the neighbours it was.
        u32 number[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            rank[k] = room.ranks[first + k];
            number[k] = k;
        }
        // The neighbours that are in one segment with the one before them.
        constexpr u32 ALL = (1u << ITEMS) - 1;
        u32 joined = ~tile().heads.from(first) & ALL & ~1u;
        // A segment of n > 1 neighbours needs n rounds.
        int rounds = 0;
        for (u32 rest = joined; __any_sync(ALL_LANES, rest != 0); rest &= rest << 1) rounds++;
        if (rounds > 0) rounds++;
#pragma unroll
        for (int round = 0; round < ITEMS; round++) {
            if (round >= rounds) break;
#pragma unroll
            for (int k = round % 2; k + 1 < ITEMS; k += 2) {
                bool swap = rank[k + 1] < rank[k] && (joined >> (k + 1) & 1) != 0;
                Word lower = swap ? rank[k + 1] : rank[k];
                rank[k + 1] = swap ? rank[k] : rank[k + 1];
                rank[k] = lower;
                if constexpr (PLACES) {
                    u32 one = swap ? number[k + 1] : number[k];
                    number[k + 1] = swap ? number[k] : number[k + 1];
                    number[k] = one;
                }
            }
        }
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            room.ranks[first + k] = rank[k];
            if constexpr (PLACES) room.places[first + k] = (u16)(first + number[k]);
        }
    }

    /// Merges pairs of runs that `threads` threads each have of `count` items, as far as a segment
    /// of `least` to `most` items lies on both sides of where they meet. Pairs begin at multiples
    /// of their length; or they are SHIFTED by a run. All threads call.
    template <bool PLACES, bool SHIFTED>
    static __device__ __forceinline__ void merge_pairs(u32 threads, u32 count, u32 least,
                                                       u32 most) {
        TileShared& shared = tile();
        Room& room = shared.room;
        u32 thread = threadIdx.x, shift = SHIFTED ? threads : 0;
        // What of the segment the runs have, and what of that is the thread's.
        u32 second = ((thread + shift) & ~(2 * threads - 1)) + threads - shift;
        u32 first = thread * ITEMS, run = threads * ITEMS, middle = second * ITEMS;
        u32 start = 0, end = 0, begin = 0, stop = 0;
        if (middle > 0 && middle < count) {
            start = shared.starts[second];
            end = shared.ends[second];
            if (start < middle && end - start >= least && end - start <= most) {
                if (middle > run && start < middle - run) start = middle - run;
                if (end > middle + run) end = middle + run;
                begin = first > start ? first : start;
                stop = first + ITEMS < end ? first + ITEMS : end;
            }
        }
        bool active = begin < stop, in_warp = !SHIFTED && threads < WARP;
        if (in_warp) {
            __syncwarp();
            if (!__any_sync(ALL_LANES, active)) return;
        } else {
            if (!__syncthreads_or(active)) return;
        }
        Word rank[ITEMS];
        u32 place[ITEMS];
        int length = active ? (int)(stop - begin) : 0;
        if (active)
            merge_runs<PLACES>(room, start, middle, end, begin - start, length, rank, place);
        if (in_warp) __syncwarp();
        else __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (k >= length) break;
            room.ranks[begin + k] = rank[k];
            if constexpr (PLACES) room.places[begin + k] = (u16)place[k];
        }
    }

    /// Sorts the ranks of `count` items, each segment by itself. All threads call.
    template <bool PLACES>
    static __device__ __forceinline__ void sort_ranks(u32 count) {
        sort_neighbours<PLACES>(threadIdx.x * ITEMS);
        // A segment no longer than a run lies in one pair of those that begin at multiples of their
        // length, or of those that are shifted. So after both it is sorted.
        u32 sorted = 0;
        for (u32 threads = 1; sorted < tile().longest; threads *= 2) {
            u32 run = threads * ITEMS;
            merge_pairs<PLACES, false>(threads, count, sorted + 1, ROOM);
            merge_pairs<PLACES, true>(threads, count, sorted + 1, run);
            sorted = run;
        }
        __syncthreads();
    }

    /// What a tile has.
    struct TilePart {
        /// The tile's first position, and its length.
        u64 base;
        u32 length;
        /// The first item to sort, and how many there are.
        u64 begin;
        u32 count;
        /// The segment that crosses the first position.
        CrossingSegment before;
        /// How often that one moves, how often the one that crosses the end, and where it starts.
        u32 moves_before, moves_behind;
        u64 behind_start;
    };

    /// How many keys a thread loads before it knows what the tile has.
    static constexpr int EARLY = (TILE - LONG + THREADS - 1) / THREADS;

    /// Sorts what a tile has, and notes what crosses its first position.
    template <bool PLACES>
    static __device__ __forceinline__ void sort_tile(const Call& call) {
        TileShared& shared = tile();
        u64 number = blockIdx.x, base = number * TILE, rest = call.length - base;
        u32 length = rest < TILE ? (u32)rest : TILE;
        Ranks ranks = Ranks::of(call.order);
        // These are in the tile for certain, so their loads do not wait for the search.
        B key[EARLY];
#pragma unroll
        for (int k = 0; k < EARLY; k++) {
            u32 at = LONG + threadIdx.x + k * THREADS;
            key[k] = at < length ? call.keys[base + at] : (B)0;
        }
        find_segments(call.segments, base, length);
        u64 first = shared.segments[0], end = shared.segments[1];
        // Offsets that fall may give anything.
        if (end < first) end = first;
        CrossingSegment before = shared.crossings[0], behind = shared.crossings[1];
        u64 begin = base, stop = base + length;
        // The tile before has a short segment that starts there, and this one has what follows.
        if (before.is_there() && before.levels == 0) begin = before.end < stop ? before.end : stop;
        if (behind.is_there() && behind.levels == 0) stop = behind.end;
        if (threadIdx.x == 0) call.crossings[number] = before;
        u32 count = (u32)(stop - begin);
        TilePart part = {base, length, begin, count, before};
        bool special = keep_ranks(call, part, ranks, key);
        bool by_place = __syncthreads_or(special);
        find_heads(call.segments, first, end, begin, count);
        if (PLACES || by_place) sort_ranks<true>(count);
        else sort_ranks<PLACES>(count);

        B sorted[ITEMS];
        load_sorted(call, part, ranks, by_place, sorted);
        if (by_place) __syncthreads();
        part.moves_before = __popc(before.levels);
        part.moves_behind = __popc(behind.levels);
        part.behind_start = behind.is_there() ? behind.start : stop;
        store_sorted<PLACES>(call, part, sorted);
    }

    /// Finds the segments that start in a tile, and those that cross its ends. All threads call.
    static __device__ __forceinline__ void find_segments(const Segments& segments, u64 base,
                                                         u32 length) {
        TileShared& shared = tile();
        int warp = warp_index();
        if (warp < 2) {
            u64 position = base + (u64)warp * length;
            u64 segment = segment_from(segments, position);
            if (threadIdx.x % WARP == 0) {
                shared.segments[warp] = segment;
                shared.crossings[warp] = crossing(segments, segment, position);
            }
        }
        __syncthreads();
    }

    /// Puts the ranks of all items into the room. Returns whether the thread has a key that is not
    /// that of its rank.
    static __device__ __forceinline__ bool keep_ranks(const Call& call, const TilePart& part,
                                                      const Ranks& ranks, const B (&key)[EARLY]) {
        Room& room = tile().room;
        u64 begin = part.begin;
        u32 count = part.count, skipped = (u32)(begin - part.base);
        u32 early = LONG - skipped, late = part.length - skipped;
        bool special = false;
        auto keep = [&](u32 at, B key) {
            Word rank = ranks.rank(key);
            room.ranks[at] = rank;
            special |= is_special(ranks, key, rank);
        };
        for (u32 at = threadIdx.x; at < early && at < count; at += THREADS)
            keep(at, call.keys[begin + at]);
#pragma unroll
        for (int k = 0; k < EARLY; k++) {
            u32 at = early + threadIdx.x + k * THREADS;
            if (at < late) keep(at, key[k]);
        }
        for (u32 at = late + threadIdx.x; at < ROOM; at += THREADS) {
            if (at < count) keep(at, call.keys[begin + at]);
            else room.ranks[at] = 0;
        }
        return special;
    }

    /// Loads the keys of the sorted ranks, or makes them.
    static __device__ __forceinline__ void load_sorted(const Call& call, const TilePart& part,
                                                       const Ranks& ranks, bool by_place,
                                                       B (&sorted)[ITEMS]) {
        Room& room = tile().room;
        u64 begin = part.begin;
        u32 count = part.count;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 at = threadIdx.x + k * THREADS;
            if (at >= count) break;
            sorted[k] =
                by_place ? call.keys[begin + room.places[at]] : key_of(ranks, room.ranks[at]);
        }
    }

    /// Stores the sorted keys to where the first merge reads them, or to where they belong.
    template <bool PLACES>
    static __device__ __forceinline__ void store_sorted(const Call& call, const TilePart& part,
                                                        const B (&sorted)[ITEMS]) {
        TileShared& shared = tile();
        Room& room = shared.room;
        u64 begin = part.begin, behind_start = part.behind_start;
        u32 count = part.count, moves_before = part.moves_before, moves_behind = part.moves_behind;
        const CrossingSegment& before = part.before;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 at = threadIdx.x + k * THREADS;
            if (at >= count) break;
            u64 position = begin + at;
            u32 moves = position < before.end      ? moves_before
                        : position >= behind_start ? moves_behind
                                                   : 0;
            keys_after(call, moves)[position] = sorted[k];
            if constexpr (PLACES) {
                u64 place = room.places[at] - shared.heads.start(at);
                if (position < before.end) place += begin - before.start;
                put_place(call, position, moves, place);
            }
        }
    }

    // ---- merges of tiles -----------------------------------------------------------------------

    /// Merges runs of 2^level tiles, as far as a long segment lies on both sides of where they
    /// meet. Blocks share the tiles out, and look at many of them at once.
    template <bool PLACES>
    static __device__ __forceinline__ void merge_tiles(const Call& call) {
        u64 tiles = (call.length + TILE - 1) / TILE, step = gridDim.x;
        u32 thread = threadIdx.x;
        for (u64 from = blockIdx.x; from < tiles; from += MERGE_THREADS * step) {
            u64 number = from + thread * step;
            bool active = number < tiles && call.crossings[number].moves_at(call.level);
            if (number + 1 < tiles) active |= call.crossings[number + 1].moves_at(call.level);
            u32 those = __ballot_sync(ALL_LANES, active);
            __syncthreads();
            if (thread % WARP == 0) merging().active[thread / WARP] = those;
            __syncthreads();
            for (u32 warp = 0; warp < MERGE_WARPS; warp++)
                for (u32 rest = merging().active[warp]; rest != 0; rest &= rest - 1)
                    merge_tile<PLACES>(call, from + (warp * WARP + __ffs(rest) - 1) * step);
        }
    }

    template <bool PLACES>
    static __device__ __forceinline__ void merge_tile(const Call& call, u64 number) {
        u64 base = number * TILE, end = base + TILE;
        if (end > call.length) end = call.length;
        // What crosses the start of the tile, and then what crosses its end.
#pragma unroll 1
        for (int i = 0; i < 2; i++) {
            if (i == 1 && end == call.length) break;
            CrossingSegment segment = call.crossings[number + i];
            // One that crosses both is there already.
            bool is_known = i == 1 && segment.start < base;
            if (!segment.moves_at(call.level) || is_known) continue;
            u64 from = i == 0 ? base : segment.start;
            u64 to = segment.end < end ? segment.end : end;
            if (from < to) move<PLACES>(call, segment, from, (u32)(to - from), number);
        }
    }

    /// What of two runs goes to a tile: items of the first one, and then of the second.
    struct MergedPart {
        const B* keys;
        /// Where the items of each run are, but for what comes before them in the part.
        u64 a, b;
        /// How many items are of the first run, and how many there are.
        u32 half, length;

        /// Where an item is.
        __device__ __forceinline__ u64 source(u32 at) const { return (at < half ? a : b) + at; }
    };

    /// Moves `length` items of a segment from `begin` on, which are in a tile.
    template <bool PLACES>
    static __device__ __forceinline__ void move(const Call& call, const CrossingSegment& segment,
                                                u64 begin, u32 length, u64 number) {
        u32 moves = __popc(segment.levels >> call.level) - 1;
        const B* keys = keys_after(call, moves + 1);
        const Place* places = moves % 2 == 0 ? call.odd_places : call.even_places;
        B* to = keys_after(call, moves) + begin;

        // The pair of runs, and what the segment has of it.
        u64 run = (u64)TILE << call.level;
        u64 middle = ((number >> call.level | 1) << call.level) * TILE;
        u64 first = middle - run, stop = middle + run;
        if (first < segment.start) first = segment.start;
        if (stop > segment.end) stop = segment.end;
        if (middle <= first || middle >= stop) {
            for (u32 i = threadIdx.x; i < length; i += MERGE_THREADS) {
                to[i] = keys[begin + i];
                if constexpr (PLACES) put_place(call, begin + i, moves, places[begin + i]);
            }
            return;
        }

        Ranks ranks = Ranks::of(call.order);
        find_splits(ranks, keys, first, middle, stop, begin, length);
        u64 split = merging().splits[0], a_length = merging().splits[1] - split;
        u64 a = first + split, b = middle + (begin - first - split);
        if (a_length > length) {
            // The keys are not sorted: offsets fall. They stay where they are.
            a = begin;
            a_length = length;
        }
        u32 half = (u32)a_length;
        MergedPart part = {keys, a, b - half, half, length};
        bool special = load_runs<PLACES>(part, ranks);
        bool by_place = __syncthreads_or(special);
        if (!PLACES && by_place) {
            Room& room = merging().room;
            for (u32 at = threadIdx.x; at < length; at += MERGE_THREADS) room.places[at] = (u16)at;
            __syncthreads();
        }
        if (PLACES || by_place) merge_room<true>(half, length);
        else merge_room<PLACES>(half, length);
        store_merged<PLACES>(call, part, ranks, by_place, to, places, begin, moves);
    }

    /// Finds where the output from `begin` on begins and ends in the first of two runs, which meet
    /// at `middle`. All threads call.
    static __device__ __forceinline__ void find_splits(const Ranks& ranks, const B* keys, u64 first,
                                                       u64 middle, u64 stop, u64 begin,
                                                       u32 length) {
        auto less = [&](B x, B y) { return ranks.rank(x) < ranks.rank(y); };
        int warp = warp_index();
        // The last merge may still read.
        __syncthreads();
        if (warp < 2) {
            u64 found = split_by_warp(less, keys + first, middle - first, keys + middle,
                                      stop - middle, begin - first + (u64)warp * length);
            if (threadIdx.x % WARP == 0) merging().splits[warp] = found;
        }
        __syncthreads();
    }

    /// Puts the ranks of a part's items into the room. Returns whether the thread has a key that is
    /// not that of its rank.
    template <bool PLACES>
    static __device__ __forceinline__ bool load_runs(const MergedPart& part, const Ranks& ranks) {
        Room& room = merging().room;
        const B* keys = part.keys;
        u32 length = part.length;
        bool special = false;
        // So many loads are under way at once.
        constexpr u32 AT_ONCE = 8;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < length; i += AT_ONCE * MERGE_THREADS) {
            B key[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u32 at = i + k * MERGE_THREADS;
                if (at < length) key[k] = keys[part.source(at)];
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u32 at = i + k * MERGE_THREADS;
                if (at >= length) break;
                Word rank = ranks.rank(key[k]);
                special |= is_special(ranks, key[k], rank);
                room.ranks[at] = rank;
                if constexpr (PLACES) room.places[at] = (u16)at;
            }
        }
        return special;
    }

    /// Stores a part that is merged in the room, from position `begin` on.
    template <bool PLACES>
    static __device__ __forceinline__ void store_merged(const Call& call, const MergedPart& part,
                                                        const Ranks& ranks, bool by_place, B* to,
                                                        const Place* places, u64 begin, u32 moves) {
        Room& room = merging().room;
        const B* keys = part.keys;
        u32 length = part.length;
#pragma unroll 4
        for (u32 at = threadIdx.x; at < length; at += MERGE_THREADS) {
            u64 from = PLACES || by_place ? part.source(room.places[at]) : 0;
            to[at] = by_place ? keys[from] : key_of(ranks, room.ranks[at]);
            if constexpr (PLACES) put_place(call, begin + at, moves, places[from]);
        }
    }

    /// Merges the two runs of a room of `length` items that meet at `half`.
    template <bool PLACES>
    static __device__ __forceinline__ void merge_room(u32 half, u32 length) {
        Room& room = merging().room;
        Word rank[MERGE_ITEMS];
        u32 place[MERGE_ITEMS], diagonal = threadIdx.x * MERGE_ITEMS;
        int count = diagonal < length ? (int)(length - diagonal) : 0;
        if (count > 0) merge_runs<PLACES>(room, 0, half, length, diagonal, count, rank, place);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < MERGE_ITEMS; k++) {
            if (k >= count) break;
            room.ranks[diagonal + k] = rank[k];
            if constexpr (PLACES) room.places[diagonal + k] = (u16)place[k];
        }
        __syncthreads();
    }
};

}  // namespace warpfold
