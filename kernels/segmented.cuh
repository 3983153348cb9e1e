// Segmented reduction: the fold of each segment, bracketed by the law over that segment alone.
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
//   lanes     a lane folds a segment of up to 32 items, and puts others on lists
//   groups    8 lanes fold what has up to 256 items, a warp what has more
//   finish    another launch: the units and the tail of each long segment become its fold
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

    /// Where segment i starts, and the one before it ends, as it is given.
    __device__ __forceinline__ u64 given(u64 i) const { return offsets[i]; }
    /// The same, within the items.
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

    __device__ __forceinline__ u64 given(u64 i) const { return i < count ? starts[i] : items; }
    __device__ __forceinline__ u64 bound(u64 i) const {
        u64 at = given(i);
        return at < items ? at : items;
    }
};

/// Segments of one length.
struct EvenSegments {
    u64 length, count, items;

    __device__ __forceinline__ u64 given(u64 i) const { return length * i; }
    __device__ __forceinline__ u64 bound(u64 i) const {
        u64 at = given(i);
        return at < items ? at : items;
    }
};

/// A long segment. `finish` folds it.
struct LongSegment {
    u64 number, start, length;
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

// -------------------------------------------------------------------------------- the reduction

/// What both launches know. `Policy` has WARPS, the threads of a block; TILE, the entries of both
/// lists in a tile; and UNIT, the items of a unit, a power of two from 128 to 1024.
template <class Operator, class Source, class Segments, class Policy>
struct SegmentedReducer {
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
    /// How much the lists hold, one for groups and one for warps. Each entry has more than 32, or
    /// more than 256, items of its own; and a long segment has a tail.
    static constexpr int MOST_FOR_GROUPS = ROOM / 33 + ROOM / UNIT + 2;
    static constexpr int MOST_FOR_WARPS = ROOM / (Group::MOST + 1) + 1;
    static_assert(ROOM < 1 << 16, "places in a tile are u16");
    static_assert(UNIT <= OfWarp::MOST && UNIT >= WARP * 4, "a warp folds a unit");
    static_assert(TILE >= UNIT);

    Source source;
    Segments segments;
    T* out;
    Workspace workspace;
    /// The sum of each unit, at the number of its first position over UNIT. Units have UNIT
    /// positions, so these numbers differ.
    A* sums;
    /// The nodes of each tail, found in the same way.
    A* tails;
    /// Long segments of few units, `capacity` at most, and then those of many.
    LongSegment* list;
    u32 capacity;
    bool seeded;
    A init;

    /// What is folded by several lanes.
    struct Work {
        u16 first, length;
        /// The number of a whole segment in the tile, or UNITS.
        u32 number;
    };
    static constexpr u32 UNITS = 0xffffffffu;

    struct Shared {
        /// The first segment of the tile, and the end of them.
        u64 numbers[2];
        /// Where the segment before each of these starts, and it itself.
        u64 bounds[2][2];
        u32 works[2];
        Work for_groups[MOST_FOR_GROUPS];
        Work for_warps[MOST_FOR_WARPS];
        u16 starts[TILE + 1];
        PaddedArray<T, ROOM> items;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    // ------------------------------------------------------------------------------------- cut

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

    /// The part of the two lists that a tile has.
    struct Tile {
        /// The segments that start in it, and the positions.
        u64 first, end, from, to;
        /// The bounds of the segment before the first one, and of the last one.
        u64 before_start, before_end, last_start, last_end;

        __device__ __forceinline__ bool has_before() const { return first > 0; }
        __device__ __forceinline__ int count() const { return (int)(end - first); }
    };

    /// Cuts the tile out. Synchronises the block.
    __device__ __forceinline__ Tile cut() const {
        u64 diagonal = (u64)blockIdx.x * TILE;
        int warp = warp_index(), lane = threadIdx.x % WARP;
        if (warp < 2) {
            u64 number = starts_before(diagonal + warp * TILE);
            if (lane == 0) {
                shared().numbers[warp] = number;
                shared().works[warp] = 0;
            }
            if (lane < 2) {
                u64 of = number + lane;
                shared().bounds[warp][lane] = of > 0 ? segments.bound(of - 1) : 0;
            }
        }
        __syncthreads();
        Tile tile;
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
        if (span.to < span.from) span.to = span.from;
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

    // ----------------------------------------------------------------------------------- lanes

    /// Puts work on a list.
    static __device__ __forceinline__ void push(int first, int length, u32 number) {
        bool by_warp = length > Group::MOST;
        u32 at = atomicAdd(&shared().works[by_warp], 1u);
        Work work{(u16)first, (u16)length, number};
        if (by_warp && at < MOST_FOR_WARPS) shared().for_warps[at] = work;
        if (!by_warp && at < MOST_FOR_GROUPS) shared().for_groups[at] = work;
    }

    /// Puts the units and the tail of a long segment on the lists, those that start in the tile.
    static __device__ __forceinline__ void push_units(const Tile& tile, const Span& span, u64 start,
                                                      u64 end) {
        u64 unit = first_unit(start, end, tile.from);
        for (; unit < end && unit < tile.to; unit += UNIT) {
            int length = end - unit < UNIT ? (int)(end - unit) : UNIT;
            if (unit < span.from || unit + length > span.to) return;
            push(span.place(unit), length, UNITS);
        }
    }

    /// How many segments of many units there can be.
    __device__ __forceinline__ u32 most_of_many() const { return capacity / Group::MOST; }

    /// Tells the last launch of a long segment.
    __device__ __forceinline__ void enlist(u64 number, u64 start, u64 end) const {
        bool many = (end - start) >> LOG_UNIT > Group::MOST;
        u64 before = add_relaxed(&workspace.header->tickets, many ? 1ull << 32 : 1ull);
        before -= workspace.tag();
        u32 at = many ? (u32)(before >> 32) : (u32)before;
        // Where offsets fall, there may be more than there is room for.
        if (at < (many ? most_of_many() : capacity))
            list[many ? capacity + at : at] = {number, start, end - start};
    }

    /// Folds segments that a lane can fold. Others go on the lists.
    __device__ __forceinline__ void fold_by_lanes(const Tile& tile, const Span& span) const {
        int count = tile.count(), last = count - 1;
        if (threadIdx.x == 0 && tile.has_before() && is_long(tile.before_start, tile.before_end))
            push_units(tile, span, tile.before_start, tile.before_end);
#pragma unroll 1
        for (int number = threadIdx.x; number < count; number += THREADS) {
            int first = shared().starts[number], end = shared().starts[number + 1];
            int length = end > first ? end - first : 0;
            if (length > UNIT || (number == last && is_long(tile.last_start, tile.last_end))) {
                u64 from = number == last ? tile.last_start : span.from + first;
                u64 to = number == last ? tile.last_end : span.from + end;
                push_units(tile, span, from, to);
                enlist(tile.first + number, from, to);
            } else if (length > 1 << LOG_LANE_MOST) {
                push(first, length, number);
            } else {
                LaneFold<Operator, A> lane;
                lane.template fold<1>(length, [&](int i) { return item(first + i); });
                P prefix{init, seeded};
                lane.append_to(prefix, length);
                out[tile.first + number] = Fold<T>::narrow(prefix.value);
            }
        }
        __syncthreads();
    }

    // ---------------------------------------------------------------------------------- groups

    /// Folds the works of a list by groups of lanes. Groups without work do the last one again.
    template <class By>
    __device__ __forceinline__ void fold_by_groups(const Tile& tile, const Span& span,
                                                   const Work* works, u32 count, u32 lanes) const {
        u32 groups = THREADS / lanes, group = threadIdx.x / lanes;
#pragma unroll 1
        for (u32 first = 0; first < count; first += groups) {
            u32 at = first + group;
            bool there = at < count;
            Work work = works[there ? at : count - 1];
            By fold;
            fold.template fold<1>(work.length, [&](int i) { return item(work.first + i); });
            if (!there) continue;
            if (work.number != UNITS) {
                P prefix{init, seeded};
                fold.append_to(prefix);
                if (fold.knows()) out[tile.first + work.number] = Fold<T>::narrow(prefix.value);
                continue;
            }
            u64 slot = span.from + work.first >> LOG_UNIT;
            if (work.length < UNIT) fold.store(tails + slot * LOG_UNIT);
            else if (fold.lane() == 0) sums[slot] = fold.sum;
        }
    }

    /// The first launch: every block has a tile.
    __device__ __forceinline__ void run() const {
        Tile tile = cut();
        Span span = span_of(tile);
        load(tile, span);
        fold_by_lanes(tile, span);
        auto& all = shared();
        u32 for_warps = all.works[1] < MOST_FOR_WARPS ? all.works[1] : MOST_FOR_WARPS;
        u32 for_groups = all.works[0] < MOST_FOR_GROUPS ? all.works[0] : MOST_FOR_GROUPS;
        fold_by_groups<OfWarp>(tile, span, all.for_warps, for_warps, WARP);
        fold_by_groups<Group>(tile, span, all.for_groups, for_groups, GROUP);
    }

    // ---------------------------------------------------------------------------------- finish

    /// The quads of sums that a lane loads at once.
    static constexpr int AT_ONCE = sizeof(A) <= 8 ? 4 : 1;
    /// A warp folds the sums of so many units, and then one warp those of CHUNKS such chunks.
    static constexpr int LOG_AT_ONCE = LOG2<OfWarp::MOST>;
    static constexpr int CHUNKS = 256, LOG_CHUNKS = LOG2<CHUNKS>;

    struct Finish {
        /// The sums of chunks of units.
        A chunks[CHUNKS];
        /// For each bit of the number of CHUNKS chunks: the sum of the block that it stands for.
        A counter[32];
        P prefix;
        u64 tag, taken;
    };
    static __device__ __forceinline__ Finish& finisher() { return block_shared<Finish>(); }

    /// Appends the tail of a long segment, and stores the result. One lane calls.
    __device__ __forceinline__ void store(const LongSegment& segment, P prefix) const {
        u64 units = segment.length >> LOG_UNIT;
        const A* nodes = tails + ((segment.start >> LOG_UNIT) + units) * LOG_UNIT;
#pragma unroll 1
        for (int bit = LOG_UNIT - 1; bit >= 0; bit--)
            if ((segment.length >> bit & 1) != 0) prefix.append(nodes[bit]);
        out[segment.number] = Fold<T>::narrow(prefix.value);
    }

    /// Folds a segment of few units. Whole warps call, a group for each segment.
    __device__ __forceinline__ void finish_by_group(const LongSegment& segment, bool there) const {
        const A* units = sums + (segment.start >> LOG_UNIT);
        Group fold;
        fold.template fold<AT_ONCE>((int)(segment.length >> LOG_UNIT), [&](int i) { return units[i]; });
        P prefix{init, seeded};
        fold.append_to(prefix);
        if (there && fold.knows()) store(segment, prefix);
    }

    /// Folds a segment of many units. The block calls: warps fold chunks of units, and then one of
    /// them folds CHUNKS chunks, or what is left.
    __device__ __forceinline__ void finish_by_block(const LongSegment& segment) const {
        auto& all = finisher();
        const A* units = sums + (segment.start >> LOG_UNIT);
        u64 count = segment.length >> LOG_UNIT, chunks = count >> LOG_AT_ONCE;
        int warp = warp_index(), rest = (int)(count & (OfWarp::MOST - 1));
        for (u64 round = 0; round <= chunks >> LOG_CHUNKS; round++) {
            u64 left = chunks - (round << LOG_CHUNKS);
            int here = left < CHUNKS ? (int)left : CHUNKS;
#pragma unroll 1
            for (int chunk = warp; chunk < here; chunk += blockDim.x / WARP) {
                const A* from = units + ((round << LOG_CHUNKS) + chunk << LOG_AT_ONCE);
                OfWarp fold;
                fold.template fold<AT_ONCE>(OfWarp::MOST, [&](int i) { return from[i]; });
                if (fold.lane() == 0) all.chunks[chunk] = fold.sum;
            }
            __syncthreads();
            if (warp == 0) {
                OfWarp fold;
                if (here > 0) fold.template fold<1>(here, [&](int i) { return all.chunks[i]; });
                if (here == CHUNKS) {
                    // As a binary counter.
                    if (fold.lane() == 0) {
                        A sum = fold.sum;
                        int bit = 0;
                        for (; (round >> bit & 1) != 0; bit++)
                            sum = Operator::combine(all.counter[bit], sum);
                        all.counter[bit] = sum;
                    }
                } else {
                    P prefix{init, seeded};
                    for (int bit = 31; bit >= 0; bit--)
                        if ((round >> bit & 1) != 0) prefix.append(all.counter[bit]);
                    if (here > 0) fold.append_to(prefix);
                    if (here > 0 ? fold.knows() : fold.lane() == 0) all.prefix = prefix;
                    __syncwarp();
                    prefix = all.prefix;
                    const A* from = units + (chunks << LOG_AT_ONCE);
                    if (rest > 0) {
                        fold.template fold<AT_ONCE>(rest, [&](int i) { return from[i]; });
                        fold.append_to(prefix);
                    }
                    if (rest > 0 ? fold.knows() : fold.lane() == 0) store(segment, prefix);
                }
                __syncwarp();
            }
            __syncthreads();
        }
    }

    /// The last launch: blocks take long segments in turn.
    __device__ __forceinline__ void finish() const {
        auto& all = finisher();
        if (threadIdx.x == 0) {
            all.tag = workspace.tag();
            all.taken = load_relaxed(&workspace.header->tickets) - all.tag;
        }
        __syncthreads();
        u32 few = (u32)all.taken, many = (u32)(all.taken >> 32);
        if (few > capacity) few = capacity;
        if (many > most_of_many()) many = most_of_many();
        u32 groups = blockDim.x / GROUP, group = threadIdx.x / GROUP;
#pragma unroll 1
        for (u32 first = blockIdx.x * groups; first < few; first += gridDim.x * groups) {
            bool there = first + group < few;
            finish_by_group(list[there ? first + group : few - 1], there);
        }
#pragma unroll 1
        for (u32 at = blockIdx.x; at < many; at += gridDim.x)
            finish_by_block(list[capacity + at]);
        if (threadIdx.x == 0 && workspace.header->end(all.tag))
            workspace.header->reset(all.tag, workspace.key);
    }
};

}  // namespace warpfold
