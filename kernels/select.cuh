// Select: a count of flags, and the sink that stores the items that have one, in their order. It
// can store the other items too, in theirs, and the positions of the items that have a flag.
//
// What is folded are counts. So the prefix of a warp's share of a tile, its *chunk*, is the place
// of the first item that the chunk keeps. The warp packs what it keeps in shared memory. Then it
// stores that in words, so that stores stay coalesced wherever the place is. The other items lie
// behind those that are kept. Of a position the warp holds the distance from its chunk's start.
//
// Items with positions are the heads of runs. The length of a run is known where the next one
// starts. So the position of the last head is folded beside the count, and each head stores the
// length of the run before its own.
#pragma once
#include "warp/lanes.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

/// The flags of a lane's items in ROWS rows: RUN bits a row, the first item's the lowest.
template <int RUN, int ROWS>
struct FlagBits {
    static_assert(RUN <= 16, "flags of a run fit into half a word");
    static constexpr int PER_WORD = 32 / RUN, WORDS = (ROWS + PER_WORD - 1) / PER_WORD;
    static constexpr u32 ALL = (1u << RUN) - 1;

    u32 words[WORDS];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < WORDS; i++) words[i] = 0;
    }
    __device__ __forceinline__ u32 row(int row) const {
        return words[row / PER_WORD] >> row % PER_WORD * RUN & ALL;
    }
    /// Adds a row. It has none yet.
    __device__ __forceinline__ void add(int row, u32 flags) {
        words[row / PER_WORD] |= flags << row % PER_WORD * RUN;
    }
    template <class Item>
    __device__ __forceinline__ void add(int row, const Item (&items)[RUN]) {
#pragma unroll
        for (int i = 0; i < RUN; i++)
            if (items[i]._1) words[row / PER_WORD] |= 1u << row % PER_WORD * RUN + i;
    }
    /// The bits of a row of which only the first items are there, if `there` items are there from
    /// the first row's start on.
    static __device__ __forceinline__ u32 present(int row, int there) {
        int count = there - (row * WARP + (int)(threadIdx.x % WARP)) * RUN;
        return count >= RUN ? ALL : count > 0 ? (1u << count) - 1 : 0;
    }

    __device__ __forceinline__ int count() const {
        int count = 0;
#pragma unroll
        for (int i = 0; i < WORDS; i++) count += __popc(words[i]);
        return count;
    }
    /// The place of the lane's last item with a flag, from the first row's start on; 0 if there is
    /// none.
    __device__ __forceinline__ int last() const {
        int last = 0, lane = threadIdx.x % WARP;
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            int bit = 31 - __clz(words[i]);
            if (bit >= 0) last = ((i * PER_WORD + bit / RUN) * WARP + lane) * RUN + bit % RUN;
        }
        return last;
    }
};

/// Sums that are counts of flags.
struct FlagCount {
    using Sum = u64;
    struct Operator {
        static constexpr bool EXACT = true, COMMUTATIVE = true;
        static __device__ __forceinline__ u64 combine(u64 a, u64 b) { return a + b; }
    };

    /// What lanes and their tree fold within a warp's chunk.
    struct InChunk {
        static constexpr bool EXACT = true, COMMUTATIVE = true;
        static __device__ __forceinline__ u32 combine(u32 a, u32 b) { return a + b; }
    };
    template <class Bits>
    static __device__ __forceinline__ u32 of_lane(const Bits& flags) {
        return flags.count();
    }
    static __device__ __forceinline__ Sum of_chunk(u32 sum, u64) { return sum; }

    /// What the warp's lanes hold of the chunks of a tile, added up; all lanes get it. A template,
    /// since GPUs before 8.0 do not have the instruction, nor the engine that calls this.
    template <class S>
    static __device__ __forceinline__ Sum of_chunks(const S& sum, u64) {
        return __reduce_add_sync(ALL_LANES, (u32)sum);
    }
    static __device__ __forceinline__ u64 count(const Sum& sum) { return sum; }
};

/// Counts of flags, with the position of the last item that has one; 0 if none has.
struct FlagCountAndLast {
    struct Sum {
        u64 count, last;
    };
    struct Operator {
        static constexpr bool EXACT = true, COMMUTATIVE = true;
        static __device__ __forceinline__ Sum combine(const Sum& a, const Sum& b) {
            return {a.count + b.count, a.last > b.last ? a.last : b.last};
        }
    };

    /// The count in the lower half of a word, and in the upper one the last one's place in the
    /// chunk.
    struct InChunk {
        static constexpr bool EXACT = true, COMMUTATIVE = true;
        static __device__ __forceinline__ u32 combine(u32 a, u32 b) {
            u32 last = (a > b ? a : b) & 0xffff0000;
            return last + (a & 0xffff) + (b & 0xffff);
        }
    };
    template <class Bits>
    static __device__ __forceinline__ u32 of_lane(const Bits& flags) {
        return (u32)flags.last() << 16 | flags.count();
    }
    static __device__ __forceinline__ Sum of_chunk(u32 sum, u64 start) {
        u32 count = sum & 0xffff;
        return {count, count > 0 ? start + (sum >> 16) : 0};
    }

    template <class S>
    static __device__ __forceinline__ Sum of_chunks(const S& sum, u64 tile_start) {
        u32 count = __reduce_add_sync(ALL_LANES, (u32)sum.count);
        u32 last = sum.count > 0 ? (u32)(sum.last - tile_start) : 0;
        last = __reduce_max_sync(ALL_LANES, last);
        return {count, count > 0 ? tile_start + last : 0};
    }
    static __device__ __forceinline__ u64 count(const Sum& sum) { return sum.count; }
};

template <bool MEASURES>
struct FoldedFlags : FlagCount {};
template <>
struct FoldedFlags<true> : FlagCountAndLast {};

/// KEEPS, SPLITS and PLACES say what is stored: the items that have a flag, the others, and the
/// positions of those that have one. With items and positions the distances between positions are
/// stored too.
template <class T, bool KEEPS, bool SPLITS, bool PLACES>
struct Select {
    static constexpr bool MEASURES = KEEPS && PLACES;
    static_assert(KEEPS || !SPLITS);

    using Folded = FoldedFlags<MEASURES>;
    using Operator = typename Folded::Operator;
    using InChunk = typename Folded::InChunk;
    using Item = Tuple<T, bool>;
    using Stored = T;
    template <int RUN, int ROWS>
    using Flags = FlagBits<RUN, ROWS>;
    using A = typename Folded::Sum;
    using P = Prefix<Operator, A>;
    /// Whether the warps of the wave engine need more room than that for items: for positions.
    static constexpr bool BESIDE = PLACES;
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
    u64 *places, *lengths;
    /// How many there is room for in `out`, `places` and `lengths`, and in `others`.
    u64 capacity, others_capacity;
    u64* count;

    /// The bytes that a warp needs for what it stores of so many items.
    static __device__ constexpr int room_bytes(int items) {
        return places_at(items) + (PLACES ? items * (int)sizeof(u16) : 0);
    }
    /// Where positions begin in that room.
    static __device__ constexpr int places_at(int items) {
        return KEEPS ? (items * (int)sizeof(T) + 15) / 16 * 16 : 0;
    }

    __device__ __forceinline__ u64 tiles(u64 length, u64 tile) const {
        return (length + tile - 1) / tile;
    }
    __device__ __forceinline__ P before() const { return {A{}, true}; }

    __device__ __forceinline__ Chunk begin_chunk(u64 start, const A& sum) const {
        return {start, (int)Folded::count(sum), 0, 0, 0};
    }

    /// How many items of each of ROWS rows are kept. The counts share words on their way over the
    /// lanes.
    template <int RUN, int ROWS>
    struct KeptCounts {
        static constexpr int BITS = RUN <= 4 ? 8 : 16, PER_WORD = 32 / BITS;
        static constexpr int WORDS = (ROWS + PER_WORD - 1) / PER_WORD;
        static constexpr u32 MASK = (1u << BITS) - 1;

        /// In the lanes before, and in all lanes.
        u32 before[WORDS], counts[WORDS];

        /// Counts, given what is kept of the lane's items. All lanes call.
        __device__ __forceinline__ void count(const u32 (&kept)[ROWS]) {
            int lane = threadIdx.x % WARP;
#pragma unroll
            for (int word = 0; word < WORDS; word++) {
                u32 own = 0;
#pragma unroll
                for (int i = 0; i < PER_WORD; i++)
                    if (word * PER_WORD + i < ROWS)
                        own |= (u32)__popc(kept[(word * PER_WORD + i) % ROWS]) << i * BITS;
                u32 sum = own;
#pragma unroll
                for (int lanes = 1; lanes < WARP; lanes *= 2) {
                    u32 other = __shfl_up_sync(ALL_LANES, sum, lanes);
                    if (lane >= lanes) sum += other;
                }
                before[word] = sum - own;
                counts[word] = shuffle(sum, WARP - 1);
            }
        }
        /// A row's count, of the lanes before or of all lanes.
        static __device__ __forceinline__ int of_row(const u32 (&words)[WORDS], int row) {
            return (int)(words[row / PER_WORD] >> row % PER_WORD * BITS & MASK);
        }
    };

    /// Packs what is kept of rows into the warp's room, behind what it has kept so far. The room
    /// may be the chunk itself: no more is kept of rows than was read. With SPLITS these must be
    /// all rows of the chunk then. The rows start at item `first` of the tile, of which only
    /// `elements` are there.
    template <int RUN, int ROWS, class Store>
    __device__ __forceinline__ void pack(Chunk& chunk, const T (&items)[ROWS][RUN],
                                         const FlagBits<RUN, ROWS>& flags, int first, int elements,
                                         const Store& store) const {
        constexpr int ALL = ROWS * WARP * RUN;
        int lane = threadIdx.x % WARP;
        u32 kept[ROWS], there[ROWS];
        bool whole = first + ALL <= elements;
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            there[k] = whole ? FlagBits<RUN, ROWS>::ALL : flags.present(k, elements - first);
            kept[k] = flags.row(k) & there[k];
        }
        KeptCounts<RUN, ROWS> in_row;
        in_row.count(kept);
        __syncwarp();  // all lanes have read these rows
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            int place = chunk.kept + in_row.of_row(in_row.before, k);
            int at = place * (int)sizeof(T), run = chunk.read + (k * WARP + lane) * RUN;
            int other = (chunk.in_all + run - place) * (int)sizeof(T);
            u16* position = positions_of(store) + place;
#pragma unroll
            for (int i = 0; i < RUN; i++) {
                if ((kept[k] >> i & 1) != 0) {
                    if constexpr (KEEPS) {
                        *reinterpret_cast<T*>(store.room + at) = items[k][i];
                        at += (int)sizeof(T);
                    }
                    if constexpr (PLACES) *position++ = (u16)(run + i);
                } else if constexpr (SPLITS) {
                    if ((there[k] >> i & 1) != 0) {
                        *reinterpret_cast<T*>(store.room + other) = items[k][i];
                        other += (int)sizeof(T);
                    }
                }
            }
            chunk.kept += in_row.of_row(in_row.counts, k);
        }
        chunk.read += ALL;
        if constexpr (SPLITS || MEASURES) {
            int rest = elements - first;
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

    /// Where the warp holds positions.
    template <class Store>
    static __device__ __forceinline__ u16* positions_of(const Store& store) {
        if constexpr (PLACES) return store.positions(places_at(Store::ITEMS));
        else return nullptr;
    }

    /// Stores what the chunk has kept, given what comes before it. The last one knows the count.
    template <class Store>
    __device__ __forceinline__ void end_chunk(const Chunk& chunk, const A& before,
                                              const Store& store, bool is_last) const {
        constexpr int SIZE = (int)sizeof(T);
        int lane = threadIdx.x % WARP, kept = chunk.kept, split = chunk.there - kept;
        u64 first = Folded::count(before);
        if constexpr (KEEPS && SIZE % 4 != 0) zero_ends(chunk, store.room);
        __syncwarp();
        u64 room = first < capacity ? capacity - first : 0;
        int stored = kept < room ? kept : (int)room;
        if constexpr (KEEPS) {
            if (stored > 0) store_bytes(out + first, store.room, stored * SIZE);
        }
        if constexpr (PLACES) {
            const u16* position = positions_of(store);
            copy_words(places + first, stored, [=](int i) { return chunk.start + position[i]; });
        }
        if constexpr (MEASURES) store_lengths(chunk, before, positions_of(store), is_last);
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

    /// Stores how long the runs are that end where the chunk's heads are; the last chunk also that
    /// of the last run, which ends with the source.
    __device__ __forceinline__ void store_lengths(const Chunk& chunk,
                                                  const FlagCountAndLast::Sum& before,
                                                  const u16* position, bool is_last) const {
        // Head i of the chunk ends run i - 1, if it is not the first of all.
        int begin = before.count > 0 ? 0 : 1, ended = chunk.kept - begin;
        u64 run = before.count + begin - 1, room = run < capacity ? capacity - run : 0;
        int stored = ended < room ? ended : (int)room;
        copy_words(lengths + run, stored, [=](int i) {
            int head = begin + i;
            u64 start = head > 0 ? chunk.start + position[head - 1] : before.last;
            return chunk.start + position[head] - start;
        });
        run = before.count + chunk.kept - 1;
        if (is_last && threadIdx.x % WARP == 0 && run < capacity) {
            u64 start = chunk.kept > 0 ? chunk.start + position[chunk.kept - 1] : before.last;
            lengths[run] = chunk.start + chunk.there - start;
        }
    }
};

}  // namespace warpfold
