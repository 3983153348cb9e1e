// Select: a count of flags, and the sink that stores the items that have one, in their order. It
// can store the other items too, in theirs, and the positions of the items that have a flag.
//
// What is folded are counts. So the prefix of a warp's share of a tile, its *chunk*, is the place
// of the first item that the chunk keeps. The warp packs what it keeps in shared memory. Then it
// stores that in words, so that stores stay coalesced wherever the place is. The other items lie
// behind those that are kept. Of a position the warp holds the distance from its chunk's start.
#pragma once
#include "warp/lanes.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

/// KEEPS, SPLITS and PLACES say what is stored: the items that have a flag, the others, and the
/// positions of those that have one.
template <class T, bool KEEPS, bool SPLITS, bool PLACES>
struct Select {
    static_assert(KEEPS || !SPLITS);

    /// Counts are added up.
    struct Operator {
        static constexpr bool EXACT = true, COMMUTATIVE = true;
        static __device__ __forceinline__ u64 combine(u64 a, u64 b) { return a + b; }
    };
    using Item = Tuple<T, bool>;
    using A = u64;
    using P = Prefix<Operator, A>;
    /// Whether `emit` wants the prefix of each row, and not of each chunk alone.
    static constexpr bool NEEDS_ROWS = false;
    static constexpr bool seeded = true;

    /// A warp's chunk: where it starts in the source, and how many items it keeps in all. If the
    /// source ends within the chunk, `in_all` may be more: it counts what fills the chunk up.
    struct Chunk {
        u64 start;
        int in_all;
        /// How many items the warp has read so far, how many of these there are, and how many of
        /// those it keeps.
        int read, there, kept;
    };

    T *out, *others;
    u64* places;
    /// How many items, or positions, there is room for in `out` and `places`, and in `others`.
    u64 capacity, others_capacity;
    u64* count;

    /// The bytes that a warp needs for what it stores of so many items.
    static constexpr int room_bytes(int items) {
        return places_at(items) + (PLACES ? items * (int)sizeof(u16) : 0);
    }
    /// Where positions begin in that room.
    static constexpr int places_at(int items) {
        return KEEPS ? (items * (int)sizeof(T) + 15) / 16 * 16 : 0;
    }

    __device__ __forceinline__ u64 tiles(u64 length, u64 tile) const {
        return (length + tile - 1) / tile;
    }
    __device__ __forceinline__ P before() const { return {0, true}; }

    /// Counts of a tile's items, which fit into 32 bits.
    struct ShortSum {
        static constexpr bool EXACT = true, COMMUTATIVE = true;
        static __device__ __forceinline__ u32 combine(u32 a, u32 b) { return a + b; }
    };

    /// How many items of a run have a flag.
    template <int RUN>
    static __device__ __forceinline__ u32 count_run(const Item (&items)[RUN]) {
        u32 count = 0;
#pragma unroll
        for (int i = 0; i < RUN; i++) count += items[i]._1 ? 1 : 0;
        return count;
    }

    /// The same, if only the first `there` items count.
    template <int RUN>
    static __device__ __forceinline__ u32 count_run(const Item (&items)[RUN], int there) {
        u32 count = 0;
#pragma unroll
        for (int i = 0; i < RUN; i++) count += items[i]._1 && i < there ? 1 : 0;
        return count;
    }

    /// There are no trees over rows.
    template <int RUN, int ROWS>
    struct Rows {
        __device__ __forceinline__ A up_sweep(const Select&, const Item (&)[ROWS][RUN]) {
            return 0;
        }
    };

    __device__ __forceinline__ void begin_tile(u64, const A&) const {}
    __device__ __forceinline__ int results(int elements, bool) const { return elements; }
    __device__ __forceinline__ Chunk begin_chunk(u64 start, const A& sum) const {
        return {start, (int)sum, 0, 0, 0};
    }

    /// Packs what is kept of rows into the warp's room, behind what it has kept so far. The room
    /// may be the chunk itself: no more is kept of rows than was read. With SPLITS these must be
    /// all rows of the chunk then.
    template <int RUN, int ROWS, class Store>
    __device__ __forceinline__ void emit(Chunk& chunk, Rows<RUN, ROWS>&,
                                         const Item (&items)[ROWS][RUN], const P&, const A&, u64,
                                         int first, int results, const Store& store) const {
        int lane = threadIdx.x % WARP;
        static_assert(RUN <= 16,
                      "flags of a run fit into a word, and counts of a row into half of one");
        constexpr int ALL = ROWS * WARP * RUN, PLACES_AT = places_at(Store::ITEMS);
        u32 flags[ROWS], there[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            flags[k] = 0;
            there[k] = (1u << RUN) - 1;
#pragma unroll
            for (int i = 0; i < RUN; i++) flags[k] |= items[k][i]._1 ? 1u << i : 0;
        }
        if (first + ALL > results) {
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                int count = results - first - (k * WARP + lane) * RUN;
                if (count < RUN) there[k] = count > 0 ? (1u << count) - 1 : 0;
                flags[k] &= there[k];
            }
        }
        // The counts of two rows share a word on their way through the tree over the lanes.
        constexpr int WORDS = (ROWS + 1) / 2;
        LaneTrees<ShortSum, u32, WARP, WORDS> lanes;
        u32 counts[WORDS];
        Prefix<ShortSum, u32> before[WORDS];
#pragma unroll
        for (int word = 0; word < WORDS; word++) {
            counts[word] = __popc(flags[2 * word]);
            if (2 * word + 1 < ROWS) counts[word] |= __popc(flags[(2 * word + 1) % ROWS]) << 16;
            before[word] = {0, true};
        }
        lanes.up_sweep(counts);
        lanes.down_sweep(before);
        __syncwarp();  // all lanes have read these rows
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            int shift = k % 2 * 16,
                place = chunk.kept + (int)(before[k / 2].value >> shift & 0xffff);
            int at = place * (int)sizeof(T), run = chunk.read + (k * WARP + lane) * RUN;
            int other = (chunk.in_all + run - place) * (int)sizeof(T);
            u16* position = reinterpret_cast<u16*>(store.room + PLACES_AT) + place;
#pragma unroll
            for (int i = 0; i < RUN; i++) {
                if ((flags[k] >> i & 1) != 0) {
                    if constexpr (KEEPS) {
                        *reinterpret_cast<T*>(store.room + at) = items[k][i]._0;
                        at += (int)sizeof(T);
                    }
                    if constexpr (PLACES) *position++ = (u16)(run + i);
                } else if constexpr (SPLITS) {
                    if ((there[k] >> i & 1) != 0) {
                        *reinterpret_cast<T*>(store.room + other) = items[k][i]._0;
                        other += (int)sizeof(T);
                    }
                }
            }
            chunk.kept += (int)(counts[k / 2] >> shift & 0xffff);
        }
        chunk.read += ALL;
        if constexpr (SPLITS) {
            int rest = results - first;
            chunk.there += rest < ALL ? rest > 0 ? rest : 0 : ALL;
        }
    }

    /// Zeroes the rest of the words in which the warp's items begin and end: words are read whole.
    static __device__ __forceinline__ void zero_ends(const Chunk& chunk, unsigned char* room) {
        int lane = threadIdx.x % WARP, end = chunk.kept * (int)sizeof(T), rest = -end & 3;
        if constexpr (!SPLITS) {
            if (lane < rest) room[end + lane] = 0;
        } else {
            // Between the two sides lie as many items as fill the chunk up and have a flag.
            int begin = chunk.in_all * (int)sizeof(T);
            int others_end = begin + (chunk.there - chunk.kept) * (int)sizeof(T);
            if (lane < rest && end + lane < begin) room[end + lane] = 0;
            if (lane < 3 && begin - 1 - lane >= end + rest) room[begin - 1 - lane] = 0;
            if (lane < (-others_end & 3)) room[others_end + lane] = 0;
        }
    }

    /// Stores what the chunk has kept, from a place on. The last one knows the count.
    template <class Store>
    __device__ __forceinline__ void end_chunk(const Chunk& chunk, const A& first,
                                              const Store& store, bool is_last) const {
        constexpr int SIZE = (int)sizeof(T), PLACES_AT = places_at(Store::ITEMS);
        int lane = threadIdx.x % WARP, kept = chunk.kept, split = chunk.there - kept;
        if constexpr (KEEPS && SIZE % 4 != 0) zero_ends(chunk, store.room);
        __syncwarp();
        u64 room = first < capacity ? capacity - first : 0;
        int stored = kept < room ? kept : (int)room;
        if constexpr (KEEPS) {
            if (stored > 0) store_bytes(out + first, store.room, stored * SIZE);
        }
        if constexpr (PLACES) {
            const u16* position = reinterpret_cast<const u16*>(store.room + PLACES_AT);
            copy_words(places + first, stored, [=](int i) { return chunk.start + position[i]; });
        }
        if constexpr (SPLITS) {
            u64 place = chunk.start - first;
            u64 room = place < others_capacity ? others_capacity - place : 0;
            int stored = split < room ? split : (int)room;
            if (stored > 0)
                store_bytes<false>(others + place, store.room + chunk.in_all * SIZE, stored * SIZE);
        }
        if (is_last && lane == 0) *count = first + kept;
        store.release();
    }
};

/// The lengths of `count` runs, from where they start in `length` items. There is room for
/// `capacity` of either; if that is too little, the last length cannot be known.
__device__ __forceinline__ void measure_runs(const u64* starts, u64* lengths, u64 capacity,
                                             u64 count, u64 length) {
    u64 known = count <= capacity ? count : capacity > 0 ? capacity - 1 : 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < known;
         i += (u64)gridDim.x * blockDim.x)
        lengths[i] = (i + 1 < count ? starts[i + 1] : length) - starts[i];
}

}  // namespace warpfold
