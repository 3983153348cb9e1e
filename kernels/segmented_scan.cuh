// Segmented scan: the prefixes of each segment's items, bracketed by the law over that segment
// alone.
//
// Tiles are those of segmented_tiles.cuh. Short segments are scanned in theirs. Of a long one, each
// unit is folded first, and its sum published. Then a warp waits for the sums of the units before
// it, and scans the unit. Every item is read once, and every result written once.
//
//   publish   a warp folds a unit, and tells the others its sum
//   scan      lanes, groups and warps scan segments and units in shared memory
//   store     results go to memory, neighbouring lanes to neighbouring places
//
// An item that belongs to no segment stays as it is.
//
// Where offsets fall, blocks may see segments differently, and one could wait for a unit that no
// other one has. So each tile checks its own part of the offsets. If they fall, it stores nothing,
// and says so in the workspace: nobody waits any longer. A block waits for tiles only that were
// taken before its own. All of these see the units of a segment alike, unless one of them finds a
// fall.
#pragma once
#include "grid/look_back.cuh"
#include "segmented_tiles.cuh"

namespace warpfold {

/// The sums of the units of long segments, of 32 units, of 1024 units and so on, as blocks exchange
/// them. Units are counted from the start of their segment. So the aligned blocks of these nodes
/// are the law's.
template <class Operator, class A, int LOG_UNIT>
struct UnitSums {
    using P = Prefix<Operator, A>;
    using Tree = LaneTree<Operator, A, WARP>;
    static constexpr int LOG_RADIX = LOG2<WARP>;

    TileSums<A, 1> sums;
    u64 items;
    const u64* failed;

    /// Publishes the sum of a whole unit, and those of the nodes that it completes. A whole warp
    /// calls; all its lanes hold the sum.
    __device__ __forceinline__ void publish(u64 start, u64 unit, A sum) const {
#pragma unroll 1
        for (int level = 0;; level++, unit /= WARP) {
            sums.publish(slot(level, start, unit), sum);
            int digit = (int)(unit % WARP);
            if (digit < WARP - 1) return;
            // The unit's own sum has only just been sent.
            sum = Tree().up_sweep(read(level, start, unit - digit, digit, sum));
        }
    }

    /// What precedes a unit.
    __device__ __forceinline__ P prefix(u64 start, u64 unit, const A& sum, const P& before) const {
        return prefix_from<0>(start, unit, sum, before);
    }

    /// What precedes a whole unit, and what precedes the next one. `sum` is the unit's.
    __device__ __forceinline__ void prefixes(u64 start, u64 unit, const A& sum, const P& before,
                                             P& own, P& next) const {
        P group = prefix_from<1>(start, unit, sum, before);
        int digit = (int)(unit % WARP);
        Tree tree;
        tree.up_sweep(read(0, start, unit - digit, digit, sum));
        P lanes = tree.down_sweep(group);
        own = {shuffle(lanes.value, digit), group.present || digit > 0};
        next = {shuffle(lanes.value, (digit + 1) % WARP), true};
        if (digit == WARP - 1) next = prefix_from<1>(start, unit + 1, sum, before);
    }

private:
    /// Where the sum of a node is. Nodes of one size have as many items, so no two of them have the
    /// same number here.
    __device__ __forceinline__ u64 slot(int level, u64 start, u64 number) const {
        u64 first = 0;
        for (int i = 0; i < level; i++) first += (items >> (LOG_UNIT + i * LOG_RADIX)) + 1;
        return first + (start >> (LOG_UNIT + level * LOG_RADIX)) + number;
    }

    /// The sums of `count` nodes from `first` on, one a lane. Lanes beyond have `other`; so do all
    /// lanes if something has failed.
    __device__ __forceinline__ A read(int level, u64 start, u64 first, int count,
                                      const A& other) const {
        if (count == 0) return other;
        int lane = threadIdx.x % WARP;
        u64 slots[1] = {slot(level, start, first + (lane < count ? lane : 0))};
        A values[1] = {other};
        auto has_failed = [&] { return any_lane(load_relaxed(failed) == sums.tag); };
        sums.wait_unless(has_failed, slots, values);
        return choose(lane < count, values[0], other);
    }

    /// What precedes a unit, but for the nodes on levels below LEVEL. `other` is any sum.
    template <int LEVEL>
    __device__ __forceinline__ P prefix_from(u64 start, u64 unit, const A& other, P before) const {
        int level = LEVEL;
        while (unit >> (level + 1) * LOG_RADIX != 0) level++;
#pragma unroll 1
        for (; level >= LEVEL; level--) {
            u64 number = unit >> level * LOG_RADIX;
            int digit = (int)(number % WARP);
            if (digit == 0) continue;
            Tree tree;
            tree.up_sweep(read(level, start, number - digit, digit, other));
            before = {shuffle(tree.down_sweep(before).value, digit), true};
        }
        return before;
    }
};

/// A unit of a long segment, or its tail: its place in the tile, and where the segment starts.
struct Unit {
    u64 start;
    u16 first, length;
};

/// What a block that scans keeps beside its tile. A tile has fewer whole units than it has room
/// for, and after each a tail at most.
template <int MOST_UNITS>
struct ScanExtra {
    Unit units[MOST_UNITS];
    u32 unit_count, falls;
    u64 tag, tile;
};

template <class Policy>
constexpr int MOST_UNITS = 2 * (Policy::TILE / Policy::UNIT) + 3;

/// `Out` is where results go: a pointer, or one that counts from the end.
template <class Operator, class Source, class Segments, class Policy, class Out>
struct SegmentedScanner
    : SegmentTiles<Operator, Source, Segments, Policy, ScanExtra<MOST_UNITS<Policy>>> {
    using Tiles = SegmentTiles<Operator, Source, Segments, Policy, ScanExtra<MOST_UNITS<Policy>>>;
    using typename Tiles::T, typename Tiles::A, typename Tiles::P, typename Tiles::Group,
        typename Tiles::OfWarp, typename Tiles::Tile, typename Tiles::Span, typename Tiles::Work;
    using Tiles::THREADS, Tiles::TILE, Tiles::UNIT, Tiles::LOG_UNIT, Tiles::GROUP;
    using Tiles::source, Tiles::segments, Tiles::shared, Tiles::item, Tiles::is_long, Tiles::push;
    using Sums = UnitSums<Operator, A, LOG_UNIT>;

    Out out;
    Workspace workspace;
    A init;
    bool seeded, inclusive;

    __device__ __forceinline__ void run() const {
        u64 tag = take_tile();
        if (!this->is_beyond(shared().extra.tile)) scan_tile(tag);
        if (threadIdx.x == 0 && workspace.header->end(tag))
            workspace.header->reset(tag, workspace.key);
    }

    __device__ __forceinline__ void scan_tile(u64 tag) const {
        Tile tile = this->cut(shared().extra.tile);
        Span span = this->span_of(tile);
        Sums sums{{workspace.packets(), tag}, segments.items, &workspace.header->failed};
        this->load(tile, span);
        if (!is_sound(tile, span)) {
            if (threadIdx.x == 0) store_relaxed(&workspace.header->failed, tag);
        } else {
            scan_by_lanes(tile, span);
            publish(span, sums);
            auto& all = shared();
            scan_by_groups<OfWarp>(all.for_warps, Tiles::works_for_warps(), WARP);
            scan_by_groups<Group>(all.for_groups, Tiles::works_for_groups(), GROUP);
            scan_units(span, sums);
            __syncthreads();
            store(tile, span);
        }
    }

    // ------------------------------------------------------------------------------------ take

    /// Takes a tile, in the order in which blocks start. Returns the launch's tag. Synchronises the
    /// block.
    __device__ __forceinline__ u64 take_tile() const {
        auto& extra = shared().extra;
        if (threadIdx.x == 0) {
            u64 taken = workspace.header->take_ahead();
            extra.tag = workspace.tag();
            extra.tile = taken - extra.tag;
            extra.unit_count = extra.falls = 0;
        }
        __syncthreads();
        if (extra.tile >= gridDim.x) trap("the start of the workspace was overwritten");
        return extra.tag;
    }

    // ----------------------------------------------------------------------------------- check

    /// Whether no two neighbouring offsets of the tile fall, its end is where the search says, and
    /// its last segment starts in it. Where it begins, the tile before ends: that one checks it.
    /// Synchronises the block.
    __device__ __forceinline__ bool is_sound(const Tile& tile, const Span& span) const {
        bool sound = true;
        for (int number = threadIdx.x; number < tile.count(); number += THREADS)
            sound = sound && shared().starts[number] <= shared().starts[number + 1];
        if (threadIdx.x == 0) sound = sound && has_sound_end(tile, span);
        if (!sound) atomicAdd(&shared().extra.falls, 1u);
        __syncthreads();
        return shared().extra.falls == 0;
    }
    __device__ __forceinline__ bool has_sound_end(const Tile& tile, const Span& span) const {
        const u64* numbers = SegmentPath<Segments, TILE>::shared().numbers;
        u64 first = numbers[0], end = numbers[1];
        u64 next = (shared().extra.tile + 1) * TILE;
        bool ordered = first <= end && end - first <= TILE;
        bool ends = (end == 0 || tile.last_start + (end - 1) < next) &&
                    (end == segments.count || tile.last_end + end >= next);
        bool within = tile.count() == 0 ||
                      (tile.last_start >= span.from && tile.last_start <= span.to &&
                       tile.last_end >= tile.last_start);
        return ordered && ends && within;
    }

    // ----------------------------------------------------------------------------------- lanes

    /// Scans segments that a lane can scan. Others go on the lists. Synchronises the block.
    __device__ __forceinline__ void scan_by_lanes(const Tile& tile, const Span& span) const {
        int count = tile.count(), last = count - 1;
        if (threadIdx.x == 0 && tile.has_before() && is_long(tile.before_start, tile.before_end))
            push_units(tile, span, tile.before_start, tile.before_end);
#pragma unroll 1
        for (int number = threadIdx.x; number < count; number += THREADS) {
            int first = shared().starts[number], end = shared().starts[number + 1];
            int length = end - first;
            if (length > UNIT || (number == last && is_long(tile.last_start, tile.last_end))) {
                u64 from = number == last ? tile.last_start : span.from + first;
                u64 to = number == last ? tile.last_end : span.from + end;
                push_units(tile, span, from, to);
            } else if (length > 1 << LOG_LANE_MOST) {
                push(first, length, number);
            } else if (length > 0) {
                scan_run(first, length, P{init, seeded}, false, P{});
            }
        }
        __syncthreads();
    }

    static __device__ __forceinline__ void push_units(const Tile& tile, const Span& span, u64 start,
                                                      u64 end) {
        Tiles::each_unit(tile, span, start, end, [&](int first, int length) {
            u32 at = atomicAdd(&shared().extra.unit_count, 1u);
            if (at < MOST_UNITS<Policy>) shared().extra.units[at] = {start, (u16)first, (u16)length};
        });
    }

    /// Scans a run of up to 32 items of a lane, given what precedes them. What precedes the items
    /// behind them is `end`, if that is known.
    __device__ __forceinline__ void scan_run(int first, int count, const P& before, bool known,
                                             P end) const {
        P found;
        A sum = scan_node<LOG_LANE_MOST, 0>(first, count, before, found);
        if (!inclusive) return;
        if (!known) {
            if (count == 1 << LOG_LANE_MOST) {
                found = before;
                found.append(sum);
            }
            end = found;
        }
        set(first + count - 1, end);
    }

    /// Scans a node of 2^LOG items, from the run's item INDEX on, of which the first `count` are
    /// there. Returns their sum, if all are; if not, `end` is what precedes the items behind them.
    ///
    /// An inclusive result is the exclusive one of the next place. So an item is read before its
    /// result is known, and the result takes its place.
    template <int LOG, int INDEX>
    __device__ __forceinline__ A scan_node(int first, int count, const P& before, P& end) const {
        constexpr int HALF = (1 << LOG) / 2;
        if constexpr (LOG == 2) {
            return scan_quad<INDEX>(first, count, before, end);
        } else {
            A left = scan_node<LOG - 1, INDEX>(first, count, before, end);
            if (count < HALF) return left;
            P middle = before;
            middle.append(left);
            if (count == HALF) {
                end = middle;
                return left;
            }
            A right = scan_node<LOG - 1, INDEX + HALF>(first, count - HALF, middle, end);
            return count < 2 * HALF ? right : Operator::combine(left, right);
        }
    }

    template <int INDEX>
    __device__ __forceinline__ A scan_quad(int first, int count, const P& before, P& end) const {
        A values[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (i == 0 || i < count) values[i] = item(first + INDEX + i);
        if (INDEX > 0 || !inclusive) emit(first + INDEX, before);
        P next = before;
        next.append(values[0]);
        if (count == 1) {
            end = next;
            return values[0];
        }
        emit(first + INDEX + 1, next);
        A pair = Operator::combine(values[0], values[1]);
        next = before;
        next.append(pair);
        if (count == 2) {
            end = next;
            return pair;
        }
        emit(first + INDEX + 2, next);
        next.append(values[2]);
        if (count == 3) {
            end = next;
            return pair;
        }
        emit(first + INDEX + 3, next);
        return Operator::combine(pair, Operator::combine(values[2], values[3]));
    }

    /// Puts what precedes an item where it belongs.
    __device__ __forceinline__ void emit(int place, const P& prefix) const {
        set(place - (inclusive ? 1 : 0), prefix);
    }
    static __device__ __forceinline__ void set(int place, const P& prefix) {
        shared().items.set(place, Fold<T>::narrow(prefix.value));
    }

    // ---------------------------------------------------------------------------------- groups

    /// Scans what lanes have folded, given what precedes it. `end` is what precedes the items
    /// behind it; it is asked for only if every lane has all items that it can have. Whole warps
    /// call, and only the lanes of which something is `there` scan.
    template <class By>
    __device__ __forceinline__ void scan_group(const By& fold, int first, const P& before,
                                               const P& end, bool there) const {
        P own = fold.lanes.down_sweep(before);
        int lane = fold.lane(), run = 1 << fold.log_run;
        P next{shuffle(own.value, (threadIdx.x + 1) % WARP), true};
        if (lane == By::MOST / (1 << LOG_LANE_MOST) - 1) next = end;
        int count = lane < fold.whole() ? run : lane == fold.whole() ? fold.rest() : 0;
        // Every lane has read the first item, which another one overwrites.
        __syncwarp();
        if (there && count > 0) scan_run(first + lane * run, count, own, lane < fold.whole(), next);
    }

    /// Scans the segments of a list by groups of lanes. Groups without work fold that of the warp's
    /// first group once more.
    template <class By>
    __device__ __forceinline__ void scan_by_groups(const Work* works, u32 count, u32 lanes) const {
        u32 in_warp = WARP / lanes;
#pragma unroll 1
        for (u32 first = warp_index() * in_warp; first < count; first += Policy::WARPS * in_warp) {
            u32 at = first + threadIdx.x % WARP / lanes;
            Work work = works[at < count ? at : first];
            By fold;
            fold.template fold<1>(work.length, [&](int i) { return item(work.first + i); });
            P before{init, seeded}, end = before;
            end.append(fold.sum);
            scan_group(fold, work.first, before, end, at < count);
        }
    }

    // ----------------------------------------------------------------------------------- units

    static __device__ __forceinline__ u32 unit_count() {
        u32 count = shared().extra.unit_count;
        return count < MOST_UNITS<Policy> ? count : MOST_UNITS<Policy>;
    }

    /// Publishes the sums of whole units.
    __device__ __forceinline__ void publish(const Span& span, const Sums& sums) const {
#pragma unroll 1
        for (u32 at = warp_index(); at < unit_count(); at += Policy::WARPS) {
            Unit unit = shared().extra.units[at];
            if (unit.length < UNIT) continue;
            OfWarp fold;
            fold.template fold<1>(UNIT, [&](int i) { return item(unit.first + i); });
            sums.publish(unit.start, number_of(unit, span), fold.sum);
        }
    }

    /// Scans the units.
    __device__ __forceinline__ void scan_units(const Span& span, const Sums& sums) const {
#pragma unroll 1
        for (u32 at = warp_index(); at < unit_count(); at += Policy::WARPS) {
            Unit unit = shared().extra.units[at];
            OfWarp fold;
            fold.template fold<1>(unit.length, [&](int i) { return item(unit.first + i); });
            P before{init, seeded}, own, next;
            u64 number = number_of(unit, span);
            if (inclusive && unit.length == UNIT) {
                sums.prefixes(unit.start, number, fold.sum, before, own, next);
            } else {
                own = sums.prefix(unit.start, number, fold.sum, before);
                // If every lane of a tail has all its items, the tail is a node.
                next = own;
                next.append(fold.sum);
            }
            scan_group(fold, unit.first, own, next, true);
        }
    }

    /// How many units of its segment precede one.
    static __device__ __forceinline__ u64 number_of(const Unit& unit, const Span& span) {
        return (span.from + unit.first - unit.start) / UNIT;
    }

    // ----------------------------------------------------------------------------------- store

    /// Stores the results of the tile, and the items that belong to no segment.
    __device__ __forceinline__ void store(const Tile& tile, const Span& span) const {
        int length = span.length();
        int first = tile.has_before() || tile.count() == 0 ? 0 : shared().starts[0];
#pragma unroll 4
        for (int place = first + threadIdx.x; place < length; place += THREADS)
            out[span.from + place] = shared().items.get(place);
        if (source.is(out)) return;
        bool none = segments.count == 0;
        if (tile.first == 0) copy(tile, tile.from, none ? segments.items : tile.before_end);
        if (tile.end == segments.count && !none)
            copy(tile, tile.last_end > tile.from ? tile.last_end : tile.from, segments.items);
    }

    /// Copies the items of the tile from one position to another.
    __device__ __forceinline__ void copy(const Tile& tile, u64 from, u64 to) const {
        if (to > tile.to) to = tile.to;
        if (to > segments.items) to = segments.items;
        for (u64 position = from + threadIdx.x; position < to; position += THREADS)
            out[position] = source.at(position);
    }
};

}  // namespace warpfold
