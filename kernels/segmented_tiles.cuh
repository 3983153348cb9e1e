// Segments, cut into tiles: what segmented reductions and scans share.
//
// Work is cut into tiles by a merge path: one list has the positions of all items, the other the
// starts of all segments, and a start comes before the position that it equals. A tile is so many
// entries of both lists together. So neither a long segment nor many empty ones fall to one block,
// and a search among the starts finds where a tile begins (Merrill and Garland, "Merge-based
// parallel sparse matrix-vector multiplication", 2016).
//
// A segment of more than UNIT items is long. It is cut into units of UNIT items from its start on,
// and a tail of fewer. Each unit is a node of the segment's tree. A short segment is in the tile
// that its start is in, and a unit or a tail in the one that its first item is in. So a tile reads
// up to UNIT - 1 items beyond its end, and no item is read twice.
//
//   cut       two warps search for the tile's first and last segment
//   load      items and starts go to shared memory
//   lists     a lane takes a segment of up to 32 items, and puts others on lists
//   groups    8 lanes take what has up to 256 items, a warp what has more
#pragma once
#include "block/padded.cuh"
#include "grid/workspace.cuh"
#include "warp/lanes.cuh"

namespace warpfold {

// ------------------------------------------------------------------------------------ segments

/// Segments between neighbouring offsets. Offsets beyond the items count as the end of the items.
template <class I>
struct OffsetSegments {
    const I* offsets;
    u64 count, items;

    __device__ __forceinline__ void begin() {}
    /// Where segment i starts, and the one before it ends, as it is given.
    __device__ __forceinline__ u64 given(u64 i) const { return offsets[i]; }
    /// Where it starts within the items.
    __device__ __forceinline__ u64 bound(u64 i) const {
        u64 at = given(i);
        return at < items ? at : items;
    }
};

/// Segments that each go on to the start of the next one, and the last one to the end of the items.
template <class I>
struct StartSegments {
    const I* starts;
    u64 count, items;

    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ u64 given(u64 i) const { return i < count ? starts[i] : items; }
    __device__ __forceinline__ u64 bound(u64 i) const {
        u64 at = given(i);
        return at < items ? at : items;
    }
};

/// As many segments with starts as a number in memory says: the kernel before this one may have
/// written it. If there is no room for all starts, the last one that there is says where the items
/// end.
template <class I>
struct CountedStartSegments : StartSegments<I> {
    const u64* counted;

    __device__ __forceinline__ void begin() {
        u64 room = this->count;
        this->count = *counted;
        if (this->count <= room) return;
        this->count = room > 0 ? room - 1 : 0;
        u64 end = room > 0 ? this->starts[this->count] : 0;
        if (end < this->items) this->items = end;
    }
};

/// Segments of one length.
struct EvenSegments {
    u64 length, count, items;

    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ u64 given(u64 i) const { return length * i; }
    __device__ __forceinline__ u64 bound(u64 i) const {
        u64 at = given(i);
        return at < items ? at : items;
    }
};

// ---------------------------------------------------------------------------------- merge path

/// What a tile has of both lists.
struct SegmentTile {
    /// The segments that start in it, and the positions.
    u64 first, end, from, to;
    /// The bounds of the segment before the first one, and of the last one.
    u64 before_start, before_end, last_start, last_end;

    __device__ __forceinline__ bool has_before() const { return first > 0; }
    __device__ __forceinline__ int count() const { return (int)(end - first); }
};

/// Cuts tiles of TILE entries out of both lists.
template <class Segments, int TILE>
struct SegmentPath {
    Segments segments;

    struct Shared {
        /// The first segment of the tile, and the end of them.
        u64 numbers[2];
        /// Where the segment before each of these starts, and it itself.
        u64 bounds[2][2];
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    /// Whether there are no entries for a tile.
    __device__ __forceinline__ bool is_beyond(u64 number) const {
        return number * TILE >= segments.items + segments.count;
    }

    /// Cuts a tile out. Synchronises the block.
    __device__ __forceinline__ SegmentTile tile(u64 number) const {
        u64 diagonal = number * TILE;
        int warp = warp_index(), lane = threadIdx.x % WARP;
        if (warp < 2) {
            u64 before = starts_before(diagonal + warp * TILE);
            if (lane == 0) shared().numbers[warp] = before;
            if (lane < 2) {
                u64 of = before + lane;
                shared().bounds[warp][lane] = of > 0 ? segments.bound(of - 1) : 0;
            }
        }
        __syncthreads();
        SegmentTile tile;
        tile.first = shared().numbers[0];
        tile.end = shared().numbers[1];
        // Offsets that fall may give anything.
        if (tile.end < tile.first || tile.end - tile.first > TILE) tile.end = tile.first;
        tile.from = diagonal - tile.first;
        tile.to = diagonal + TILE - tile.end;
        tile.before_start = shared().bounds[0][0];
        tile.before_end = shared().bounds[0][1];
        tile.last_start = shared().bounds[1][0];
        tile.last_end = shared().bounds[1][1];
        return tile;
    }

    /// How many segments start before entry `diagonal` of the merge path. A warp calls. Whatever
    /// the offsets hold, it ends.
    __device__ __forceinline__ u64 starts_before(u64 diagonal) const {
        u64 low = 0, high = segments.count < diagonal ? segments.count : diagonal;
        guess(low, high, diagonal);
        // 32 probes a step leave 1/33.
        while (low < high) {
            u64 step = (high - low) / WARP + 1, probe = low + threadIdx.x % WARP * step;
            bool before = probe < high && segments.bound(probe) + probe < diagonal;
            u32 count = __popc(__ballot_sync(ALL_LANES, before));
            u64 end = low + count * step;
            if (end < high) high = end;
            if (count > 0) low = end - step + 1;
        }
        return low;
    }

    /// The first step: probes around where the number would be if all segments had one length, at
    /// distances that grow fourfold. Mostly that is near.
    __device__ __forceinline__ void guess(u64& low, u64& high, u64 diagonal) const {
        f32 share = (f32)segments.count / ((f32)segments.count + (f32)segments.items);
        i64 middle = (i64)((f32)diagonal * share), end = (i64)high;
        auto probe = [&](int lane) {
            return lane < WARP / 2 ? middle - (1ll << 2 * (WARP / 2 - 1 - lane))
                                   : middle - 1 + (1ll << 2 * (lane - WARP / 2));
        };
        i64 own = probe(threadIdx.x % WARP);
        bool before = own < end && (own < 0 || segments.bound(own) + own < diagonal);
        int count = __popc(__ballot_sync(ALL_LANES, before));
        i64 last = probe(count - 1), next = probe(count);
        if (count > 0 && last >= 0) low = (u64)last + 1;
        if (count < WARP && next >= 0 && next < end) high = (u64)next;
        if (low > high) low = high;
    }
};

// ------------------------------------------------------------------------------- folds of lanes

/// The most items that a lane folds, as a power of two.
constexpr int LOG_LANE_MOST = 5;

/// What one lane knows of up to 32 values side by side.
template <class Operator, class A>
struct LaneFold {
    /// For each bit that is set in the number of values: the sum of the aligned block that it
    /// stands for.
    A blocks[LOG_LANE_MOST + 1];

    /// `load(i)` is value i; 4 * AT_ONCE of them are loaded at once. Nothing but values and their
    /// sums is combined.
    template <int AT_ONCE, class Load>
    __device__ __forceinline__ void fold(int count, const Load& load) {
        int quads = count / 4;
#pragma unroll 1
        for (int first = 0; first < quads; first += AT_ONCE) {
            A values[AT_ONCE][4];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    if (i == 0 || first + i < quads) values[i][k] = load(4 * (first + i) + k);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (i == 0 || first + i < quads) carry<2>(first + i, tree_fold<Operator>(values[i]));
        }
        int rest = 4 * quads;
        if ((count & 2) != 0) {
            blocks[1] = Operator::combine(load(rest), load(rest + 1));
            rest += 2;
        }
        if ((count & 1) != 0) blocks[0] = load(rest);
    }

    /// Appends the blocks of `count` values, as many as were folded or what is left of them when
    /// higher bits are taken away.
    __device__ __forceinline__ void append_to(Prefix<Operator, A>& prefix, int count) const {
#pragma unroll
        for (int bit = LOG_LANE_MOST; bit >= 0; bit--)
            if ((count >> bit & 1) != 0) prefix.append(blocks[bit]);
    }

    /// The sum of 2^log values, if they are so many.
    __device__ __forceinline__ A sum_of(int log) const {
        A sum = blocks[0];
#pragma unroll
        for (int bit = 1; bit <= LOG_LANE_MOST; bit++) sum = choose(log == bit, blocks[bit], sum);
        return sum;
    }

private:
    /// Takes in the sum of 2^LEVEL values, as a binary counter that has counted `before` of them.
    template <int LEVEL>
    __device__ __forceinline__ void carry(int before, const A& sum) {
        if constexpr (LEVEL == LOG_LANE_MOST) {
            blocks[LEVEL] = sum;
        } else if ((before & 1) == 0) {
            blocks[LEVEL] = sum;
        } else {
            carry<LEVEL + 1>(before / 2, Operator::combine(blocks[LEVEL], sum));
        }
    }
};

/// The fold of up to 32 values a lane by LANES neighbouring lanes. Whole warps call, each of their
/// groups for values of its own.
template <class Operator, class A, int LANES>
struct GroupFold {
    using P = Prefix<Operator, A>;
    static constexpr int MOST = LANES << LOG_LANE_MOST;

    LaneFold<Operator, A> own;
    LaneTree<Operator, A, LANES> lanes;
    /// The sum of all, if each lane has all values that it can have.
    A sum;
    /// Each lane has 2^log_run values, as far as there are some.
    int length, log_run;

    static __device__ __forceinline__ int lane() { return threadIdx.x % LANES; }
    /// How many lanes have all their values.
    __device__ __forceinline__ int whole() const { return length >> log_run; }
    /// How many values the lane behind them has.
    __device__ __forceinline__ int rest() const { return length & ((1 << log_run) - 1); }
    /// The lane that knows the result.
    __device__ __forceinline__ bool knows() const {
        return lane() == (whole() < LANES ? whole() : LANES - 1);
    }

    /// Folds `length` values, from 1 to MOST.
    template <int AT_ONCE, class Load>
    __device__ __forceinline__ void fold(int length, const Load& load) {
        this->length = length;
        log_run = 2;
        while (LANES << log_run < length) log_run++;
        int first = lane() << log_run;
        int count = lane() < whole() ? 1 << log_run : lane() == whole() ? rest() : 0;
        own.template fold<AT_ONCE>(count, [&](int i) { return load(first + i); });
        // Another value stands for the sum of a lane that has none; nobody asks for it.
        A leaf = load(0);
        if (lane() < whole()) leaf = own.sum_of(log_run);
        sum = lanes.up_sweep(leaf);
    }

    /// Appends the values, in the lane that knows the result.
    __device__ __forceinline__ void append_to(P& prefix) const {
        if (whole() == LANES) return prefix.append(sum);
        if (!knows()) return;
#pragma unroll
        for (int level = LOG2<LANES> - 1; level >= 0; level--)
            if ((lane() >> level & 1) != 0) prefix.append(lanes.siblings[level][0]);
        own.append_to(prefix, rest());
    }

    /// Stores the sum of the block that each set bit of the length stands for at nodes[bit].
    __device__ __forceinline__ void store(A* nodes) const {
        if (!knows()) return;
        if (whole() == LANES) {
            nodes[log_run + LOG2<LANES>] = sum;
            return;
        }
#pragma unroll
        for (int level = 0; level < LOG2<LANES>; level++)
            if ((lane() >> level & 1) != 0) nodes[log_run + level] = lanes.siblings[level][0];
#pragma unroll
        for (int bit = 0; bit < LOG_LANE_MOST; bit++)
            if ((rest() >> bit & 1) != 0) nodes[bit] = own.blocks[bit];
    }
};

// ---------------------------------------------------------------------------------------- tiles

/// What both primitives know. `Policy` has WARPS, the threads of a block; TILE, the entries of both
/// lists in a tile; and UNIT, the items of a unit, a power of two from 128 to 1024. `Extra` is what
/// else a block keeps in shared memory.
template <class Operator, class Source, class Segments, class Policy, class Extra>
struct SegmentTiles {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    using P = Prefix<Operator, A>;
    static constexpr int THREADS = Policy::WARPS * WARP, TILE = Policy::TILE, UNIT = Policy::UNIT;
    static constexpr int LOG_UNIT = LOG2<UNIT>;
    /// The most items that a tile reads.
    static constexpr int ROOM = TILE + UNIT - 1;
    static constexpr int ROWS = (ROOM + THREADS - 1) / THREADS;
    /// The items that a thread loads at once: more would not stay in registers.
    static constexpr int BATCH = sizeof(T) <= 4 ? ROWS : sizeof(T) <= 8 ? 10 : sizeof(T) <= 16 ? 5 : 2;
    static constexpr int GROUP = 8;
    using Group = GroupFold<Operator, A, GROUP>;
    using OfWarp = GroupFold<Operator, A, WARP>;
    using Tile = SegmentTile;
    /// How much the lists hold, one for groups and one for warps. Each entry has more than 32, or
    /// more than 256, items of its own; and a long segment has a tail.
    static constexpr int MOST_FOR_GROUPS = ROOM / 33 + ROOM / UNIT + 2;
    static constexpr int MOST_FOR_WARPS = ROOM / (Group::MOST + 1) + 1;
    static_assert(ROOM < 1 << 16, "places in a tile are u16");
    static_assert(UNIT <= OfWarp::MOST && UNIT >= WARP * 4, "a warp folds a unit");
    static_assert(TILE >= UNIT);

    Source source;
    Segments segments;

    /// What is folded by several lanes.
    struct Work {
        u16 first, length;
        /// The number of a whole segment in the tile, or UNITS.
        u32 number;
    };
    static constexpr u32 UNITS = 0xffffffffu;

    struct Shared {
        u32 works[2];
        Work for_groups[MOST_FOR_GROUPS];
        Work for_warps[MOST_FOR_WARPS];
        Extra extra;
        u16 starts[TILE + 1];
        PaddedArray<T, ROOM> items;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    // ------------------------------------------------------------------------------------- cut

    /// Cuts a tile out, and empties the lists. Synchronises the block.
    __device__ __forceinline__ Tile cut(u64 number) const {
        if (threadIdx.x < 2) shared().works[threadIdx.x] = 0;
        return path().tile(number);
    }
    /// Whether there are no entries for a tile.
    __device__ __forceinline__ bool is_beyond(u64 number) const {
        return path().is_beyond(number);
    }
    __device__ __forceinline__ SegmentPath<Segments, TILE> path() const { return {segments}; }

    /// Whether a segment is long.
    static __device__ __forceinline__ bool is_long(u64 start, u64 end) {
        return end > start && end - start > UNIT;
    }

    /// The positions of the items that a tile needs.
    struct Span {
        u64 from, to;

        __device__ __forceinline__ int length() const { return (int)(to - from); }
        /// The place of a position in the span. No offset that a tile asks for comes before it,
        /// unless offsets fall; then the span's end will do as well.
        __device__ __forceinline__ int place(u64 position) const {
            u64 place = position - from;
            return place < (u64)length() ? (int)place : length();
        }
    };

    __device__ __forceinline__ Span span_of(const Tile& tile) const {
        Span span{tile.from, tile.from};
        bool goes_on = tile.has_before() && is_long(tile.before_start, tile.before_end);
        if (tile.has_before() && tile.before_end > tile.from)
            span.from = goes_on ? first_unit(tile.before_start, tile.before_end, tile.from)
                                : tile.before_end;
        if (is_long(tile.last_start, tile.last_end) && tile.end > 0) {
            // The last unit that starts in the tile ends it.
            span.to = tile.last_start;
            if (tile.to > tile.last_start) {
                u64 last = (tile.to - 1 - tile.last_start) / UNIT * UNIT + tile.last_start;
                span.to = last + UNIT < tile.last_end ? last + UNIT : tile.last_end;
            }
        } else if (tile.count() > 0) {
            span.to = tile.last_end;
        }
        if (span.to > span.from + ROOM) span.to = span.from + ROOM;
        if (span.to > segments.items) span.to = segments.items;
        if (span.to < span.from) span.from = span.to;
        return span;
    }

    /// The first unit of a long segment that starts at `position` or later, or the segment's end.
    static __device__ __forceinline__ u64 first_unit(u64 start, u64 end, u64 position) {
        if (position <= start) return start;
        u64 unit = start + (position - start + UNIT - 1) / UNIT * UNIT;
        return unit < end ? unit : end;
    }

    // ------------------------------------------------------------------------------------ load

    /// Fills shared memory. All loads of a batch are under way at once.
    __device__ __forceinline__ void load(const Tile& tile, const Span& span) const {
        constexpr int STARTS = 4;
        int count = tile.count();
        u64 bounds[STARTS];
        auto load_starts = [&](int first) {
#pragma unroll
            for (int i = 0; i < STARTS; i++) {
                int number = first + i * THREADS;
                if (number <= count) bounds[i] = segments.given(tile.first + number);
            }
        };
        auto store_starts = [&](int first) {
#pragma unroll
            for (int i = 0; i < STARTS; i++) {
                int number = first + i * THREADS;
                if (number <= count) shared().starts[number] = (u16)span.place(bounds[i]);
            }
        };
        load_starts(threadIdx.x);
        using Items = PaddedArray<T, ROOM>;
        constexpr int ROW_BYTES = THREADS * Items::STRIDE + THREADS / WARP * Items::WORD;
        int length = span.length();
#pragma unroll 1
        for (int row = 0; row * THREADS < length; row += BATCH) {
            int first = row * THREADS + threadIdx.x;
            T items[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; i++)
                if (first + i * THREADS < length) items[i] = source.at(span.from + first + i * THREADS);
            unsigned char* to = shared().items.at(first);
#pragma unroll
            for (int i = 0; i < BATCH; i++)
                if (first + i * THREADS < length) InWords<T>::set(to + i * ROW_BYTES, items[i]);
        }
        store_starts(threadIdx.x);
#pragma unroll 1
        for (int first = STARTS * THREADS; first <= count; first += STARTS * THREADS) {
            load_starts(first + threadIdx.x);
            store_starts(first + threadIdx.x);
        }
        __syncthreads();
    }

    static __device__ __forceinline__ A item(int place) {
        return Fold<T>::widen(shared().items.get(place));
    }

    // ----------------------------------------------------------------------------------- lists

    /// Puts work on a list.
    static __device__ __forceinline__ void push(int first, int length, u32 number) {
        bool by_warp = length > Group::MOST;
        u32 at = atomicAdd(&shared().works[by_warp], 1u);
        Work work{(u16)first, (u16)length, number};
        if (by_warp && at < MOST_FOR_WARPS) shared().for_warps[at] = work;
        if (!by_warp && at < MOST_FOR_GROUPS) shared().for_groups[at] = work;
    }

    /// Visits the units and the tail of a long segment, those that start in the tile: the place of
    /// each, and its length.
    template <class Visit>
    static __device__ __forceinline__ void each_unit(const Tile& tile, const Span& span, u64 start,
                                                     u64 end, const Visit& visit) {
        u64 unit = first_unit(start, end, tile.from);
        for (; unit < end && unit < tile.to; unit += UNIT) {
            int length = end - unit < UNIT ? (int)(end - unit) : UNIT;
            if (unit < span.from || unit + length > span.to) return;
            visit(span.place(unit), length);
        }
    }

    /// What is on a list, at most what it has room for.
    static __device__ __forceinline__ u32 works_for_groups() {
        return shared().works[0] < MOST_FOR_GROUPS ? shared().works[0] : MOST_FOR_GROUPS;
    }
    static __device__ __forceinline__ u32 works_for_warps() {
        return shared().works[1] < MOST_FOR_WARPS ? shared().works[1] : MOST_FOR_WARPS;
    }
};

}  // namespace warpfold
