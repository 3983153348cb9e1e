// Segmented reduction: the fold of each segment, bracketed by the law over that segment alone.
//
// Tiles are those of segmented_tiles.cuh. Short segments finish in theirs. Units of long ones leave
// a sum, and another launch makes these the segment's fold. A tile that has nothing but whole units
// of one segment does not pass through shared memory: a warp loads a unit into registers, row by
// row, as engines do. `Policy` also has RUN, the items that a lane then loads side by side.
#pragma once
#include "segmented_tiles.cuh"
#include "source/source_rows.cuh"

namespace warpfold {

/// A long segment. `finish` folds it.
struct LongSegment {
    u64 number, start, length;
};

struct Nothing {};

template <class Operator, class Source, class Segments, class Policy>
struct SegmentedReducer : SegmentTiles<Operator, Source, Segments, Policy, Nothing> {
    using Tiles = SegmentTiles<Operator, Source, Segments, Policy, Nothing>;
    using typename Tiles::T, typename Tiles::A, typename Tiles::P, typename Tiles::Group,
        typename Tiles::OfWarp, typename Tiles::Tile, typename Tiles::Span, typename Tiles::Work;
    using Tiles::THREADS, Tiles::UNIT, Tiles::LOG_UNIT, Tiles::GROUP, Tiles::UNITS;
    using Tiles::source, Tiles::segments, Tiles::shared, Tiles::item, Tiles::is_long, Tiles::push;

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

    // ----------------------------------------------------------------------------------- lanes

    /// Puts the units and the tail of a long segment on the lists, those that start in the tile.
    static __device__ __forceinline__ void push_units(const Tile& tile, const Span& span, u64 start,
                                                      u64 end) {
        Tiles::each_unit(tile, span, start, end,
                         [](int first, int length) { push(first, length, UNITS); });
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

    // ------------------------------------------------------------------------------ whole units

    static constexpr int RUN = Policy::RUN, ROW = WARP * RUN;
    /// Whether there are such tiles: short items beside a long sum may fill no row.
    static constexpr bool BY_ROWS = ROW <= UNIT;
    static constexpr int UNIT_ROWS = BY_ROWS ? UNIT / ROW : 1;

    /// Whether a tile has nothing but whole units of one segment. Where offsets fall, it says
    /// anything; still, units that start in the tile are within that segment then.
    static __device__ __forceinline__ bool is_inside(const Tile& tile) {
        if (tile.count() > 0 || !tile.has_before()) return false;
        u64 start = tile.before_start, end = tile.before_end;
        return is_long(start, end) && (tile.to - 1 - start) / UNIT * UNIT + UNIT <= end - start;
    }

    /// Folds the units of such a tile, one a warp at a time.
    __device__ __forceinline__ void fold_inside(const Tile& tile) const {
        u64 unit = Tiles::first_unit(tile.before_start, tile.before_end, tile.from);
        unit += warp_index() * UNIT;
        for (; unit < tile.to; unit += Policy::WARPS * UNIT) {
            A sum = sum_of_rows<RUN, UNIT_ROWS>(source, unit, segments.items);
            if (threadIdx.x % WARP == 0) sums[unit >> LOG_UNIT] = sum;
        }
    }

    /// The sum of ROWS rows of a source with `end` items, from one on.
    template <int RUN, int ROWS, class From>
    static __device__ __forceinline__ A sum_of_rows(const From& from, u64 first, u64 end) {
        SourceRows<From, RUN, ROWS> rows;
        load_rows<From, RUN, ROWS>(rows, from, first, ROWS * WARP * RUN, 0, end, first);
        A sums[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            A values[RUN];
#pragma unroll
            for (int i = 0; i < RUN; i++) values[i] = value_of(rows.item(row, i));
            sums[row] = sum_of_run<Operator>(values);
        }
        A sum = RowsTree<Operator, A, ROWS>().up_sweep(sums);
        return LaneTree<Operator, A, ROWS>().up_sweep(sum);
    }
    /// Of an item, or of a sum.
    template <class X>
    static __device__ __forceinline__ A value_of(const X& x) {
        if constexpr (SAME<X, A>) return x;
        else return Fold<T>::widen(x);
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
        if (this->is_beyond(blockIdx.x)) return;
        Tile tile = this->cut(blockIdx.x);
        if constexpr (BY_ROWS) {
            if (is_inside(tile)) return fold_inside(tile);
        }
        Span span = this->span_of(tile);
        this->load(tile, span);
        fold_by_lanes(tile, span);
        auto& all = shared();
        fold_by_groups<OfWarp>(tile, span, all.for_warps, Tiles::works_for_warps(), WARP);
        fold_by_groups<Group>(tile, span, all.for_groups, Tiles::works_for_groups(), GROUP);
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

    /// The sum of as many units as a warp folds at once. Short sums are loaded in rows:
    /// neighbouring lanes load neighbouring ones.
    static __device__ __forceinline__ A fold_chunk(const A* from) {
        if constexpr (sizeof(A) <= 8) {
            constexpr int RUN = sizeof(A) > 4 ? 2 : sizeof(A) > 2 ? 4 : sizeof(A) > 1 ? 8 : 16;
            constexpr int ROWS = OfWarp::MOST / (WARP * RUN);
            return sum_of_rows<RUN, ROWS>(Slice<A>{from}, 0, OfWarp::MOST);
        } else {
            OfWarp fold;
            fold.template fold<AT_ONCE>(OfWarp::MOST, [&](int i) { return from[i]; });
            return fold.sum;
        }
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
                A sum = fold_chunk(units + ((round << LOG_CHUNKS) + chunk << LOG_AT_ONCE));
                if (threadIdx.x % WARP == 0) all.chunks[chunk] = sum;
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
