// Select: a count of flags, and the sink that stores the items that have one, in their order.
//
// What is folded are counts. So the prefix of a warp's share of a tile, its *chunk*, is the place
// of the first item that the chunk keeps. The warp packs what it keeps in shared memory. Then it
// stores that in words, so that stores stay coalesced wherever the place is.
#pragma once
#include "warp/lanes.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

template <class T>
struct Select {
    /// Counts are added up.
    struct Operator {
        static constexpr bool EXACT = true, COMMUTATIVE = true;
        static __device__ __forceinline__ u64 combine(u64 a, u64 b) { return a + b; }
    };
    using Item = Tuple<T, bool>;
    using Result = T;
    using A = u64;
    using P = Prefix<Operator, A>;
    /// Whether `emit` wants the prefix of each row, and not of each chunk alone.
    static constexpr bool NEEDS_ROWS = false;
    static constexpr bool seeded = true;

    /// What the warp has kept of its chunk so far.
    struct Chunk {
        u64 place;
        int kept;
    };

    T* out;
    /// How many items there is room for.
    u64 capacity;
    u64* count;

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

    /// There are no trees over rows.
    template <int RUN, int ROWS>
    struct Rows {
        __device__ __forceinline__ void up_sweep(const Select&, const Item (&)[ROWS][RUN],
                                                 A (&)[ROWS]) {}
    };

    __device__ __forceinline__ void begin_tile(u64, const A&) const {}
    __device__ __forceinline__ int results(int elements, bool) const { return elements; }
    __device__ __forceinline__ Chunk begin_chunk(const A& place) const { return {place, 0}; }

    /// Packs what is kept of rows into the warp's room, behind what it has kept so far. The room
    /// may be the chunk itself: no more is kept of rows than was read.
    template <int RUN, int ROWS, class Store>
    __device__ __forceinline__ void emit(Chunk& chunk, Rows<RUN, ROWS>&,
                                         const Item (&items)[ROWS][RUN], const P (&)[ROWS],
                                         const A (&)[ROWS], u64, int first, int results,
                                         const Store& store) const {
        int lane = threadIdx.x % WARP;
        static_assert(RUN <= 16,
                      "flags of a run fit into a word, and counts of a row into half of one");
        u32 flags[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            flags[k] = 0;
#pragma unroll
            for (int i = 0; i < RUN; i++) flags[k] |= items[k][i]._1 ? 1u << i : 0;
        }
        if (first + ROWS * WARP * RUN > results) {
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                int there = results - first - (k * WARP + lane) * RUN;
                if (there < RUN) flags[k] &= there > 0 ? (1u << there) - 1 : 0;
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
            int at = place * (int)sizeof(T);
#pragma unroll
            for (int i = 0; i < RUN; i++) {
                if ((flags[k] >> i & 1) != 0) {
                    *reinterpret_cast<T*>(store.room + at) = items[k][i]._0;
                    at += (int)sizeof(T);
                }
            }
            chunk.kept += (int)(counts[k / 2] >> shift & 0xffff);
        }
    }

    /// Stores what the chunk has kept. The last one knows the count.
    template <class Store>
    __device__ __forceinline__ void end_chunk(const Chunk& chunk, const Store& store,
                                              bool is_last) const {
        // The last word is read as a whole.
        int end = chunk.kept * (int)sizeof(T), lane = threadIdx.x % WARP;
        if (sizeof(T) % 4 != 0 && lane < (-end & 3)) store.room[end + lane] = 0;
        __syncwarp();
        u64 room = chunk.place < capacity ? capacity - chunk.place : 0;
        int stored = chunk.kept < room ? chunk.kept : (int)room;
        if (stored > 0) store_bytes(out + chunk.place, store.room, stored * (int)sizeof(T));
        if (is_last && lane == 0) *count = chunk.place + chunk.kept;
        store.release();
    }
};

}  // namespace warpfold
