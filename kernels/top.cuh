// Top-k: the first k items of a source by an order, sorted, and where they stand.
//
// Items are compared by their ranks (KeyRanks), and equal ones by their places. So no two are
// equal, and whatever holds for random data holds for equal, rising and two-valued data, too.
//
//   sample   the items at some drawn places bound what can be among the first k
//   filter   one reading of all items. Those within the bound are candidates, some thousands
//   finish   one block narrows the candidates down by digits, and sorts what is left
//
// The bound is a guess. It lies so far behind the k-th item that it cuts off too much less than
// once in 10^9 calls. `finish` knows by the number of candidates. Then it narrows down the source
// itself, which is slow, and right. Which places are drawn depends on the length alone, so all runs
// are alike.
//
// Short inputs, and rows of a matrix, take one block each, which does all of this by itself. Up to
// some millions take one launch: every block draws the same sample, and the last one to end
// finishes. More than a block sorts are sorted by the launches of sort.cuh: by their places, and
// then by rank.
#pragma once
#include "block/ranked_sort.cuh"
#include "grid/workspace.cuh"
#include "machine/words.cuh"
#include "sort.cuh"
#include "source/source_rows.cuh"

namespace warpfold {

/// The number of an item, and whether the item is there: whether it has a flag, if there are some.
template <class Item>
struct Candidate {
    using Key = Item;
    static constexpr bool FLAGGED = false;
    static __device__ __forceinline__ Key key(const Item& item) { return item; }
    static __device__ __forceinline__ bool there(const Item&) { return true; }
};
template <class K>
struct Candidate<Tuple<K, bool>> {
    using Key = K;
    static constexpr bool FLAGGED = true;
    static __device__ __forceinline__ Key key(const Tuple<K, bool>& item) { return item._0; }
    static __device__ __forceinline__ bool there(const Tuple<K, bool>& item) { return item._1; }
};

/// Combines a value over the lanes of a warp, word by word. All lanes get it.
template <class B>
__device__ __forceinline__ B or_of_lanes(B value) {
    union {
        B value;
        u32 words[(sizeof(B) + 3) / 4];
    } both;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(B) + 3) / 4; i++) both.words[i] = 0;
    both.value = value;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(B) + 3) / 4; i++)
#pragma unroll
        for (int by = 1; by < WARP; by *= 2)
            both.words[i] |= __shfl_xor_sync(ALL_LANES, both.words[i], by);
    return both.value;
}

/// What the launches share.
template <class Source, class Key, class B>
struct TopCall {
    Source source;
    Key* values;
    u64* places;
    /// How many were found. May be null.
    u64* found;
    /// The items of a row.
    u64 length;
    u64 k;
    /// What bounds the candidates, and how many there are.
    struct State {
        alignas(16) B rank;
        u64 place, count, again;
    };
    State* state;
    /// The least of each group of samples.
    B* sample_ranks;
    u64* sample_places;
    /// The candidates: so many for each row.
    B* ranks;
    u64* at;
    u64 room;
    Workspace workspace;
    /// The row of the first block, or of all.
    u64 row;
    SortOrder order;
    /// The samples of a group, and the lanes that take them, as powers of 2.
    u32 rounds, lanes;
    /// Whether the candidates are sorted by other launches: then a second filter may follow.
    bool sorted_outside, again;
};

/// A block of THREADS threads sorts up to CAPACITY candidates, and so many groups are sampled.
template <class Source, class B, bool FLOAT, int RUN, int ROWS, int THREADS, int CAPACITY>
struct TopK {
    using Item = typename Source::Item;
    using OfItem = Candidate<Item>;
    using Key = typename OfItem::Key;
    using Ranks = KeyRanks<B, FLOAT>;
    using Call = TopCall<Source, Key, B>;
    static constexpr int BITS = 8 * (int)sizeof(B);
    static constexpr B LAST = (B) ~(B)0;
    static constexpr u64 NOWHERE = ~(u64)0;
    static constexpr u32 GROUPS = CAPACITY;
    static constexpr int DIGIT_BITS = THREADS >= 256 ? 8 : 6, DIGITS = 1 << DIGIT_BITS;
    static_assert(sizeof(B) == sizeof(Key) && THREADS >= DIGITS && THREADS <= 1024);

    /// A candidate, or the last that may be one.
    using Ranked = warpfold::Ranked<B, u64>;

    struct Shared {
        RankedRoom<B, u64, CAPACITY> room;
        u32 counts[DIGITS];
        B any[THREADS / WARP], all[THREADS / WARP];
        u64 sums[THREADS / WARP];
        u64 below, inside;
        u32 digit, kept, taken;
        bool last;
    };
    static __device__ __forceinline__ Shared& shared() {
        return *reinterpret_cast<Shared*>(dynamic_shared());
    }

    static __device__ __forceinline__ B bits_of(const Key& key) {
        union {
            Key key;
            B bits;
        } either;
        either.key = key;
        return either.bits;
    }
    static __device__ __forceinline__ u32 lane() { return threadIdx.x % WARP; }

    // ---- what is narrowed down -----------------------------------------------------------------

    /// The items of a row.
    struct InSource {
        const Source& source;
        const Ranks& ranks;
        u64 base, count;

        __device__ __forceinline__ bool get(u64 i, Ranked& to) const {
            Item item = source.at(base + i);
            to = {ranks.rank(bits_of(OfItem::key(item))), i};
            return OfItem::there(item);
        }
        /// Places are below this.
        __device__ __forceinline__ u64 end() const { return count; }
    };
    /// Candidates.
    struct InMemory {
        const B* ranks;
        const u64* places;
        u64 count, length;

        __device__ __forceinline__ bool get(u64 i, Ranked& to) const {
            to = {ranks[i], places[i]};
            return true;
        }
        __device__ __forceinline__ u64 end() const { return length; }
    };

    /// The least of each group of samples. Of some there may be none.
    struct InShared {
        u64 count, length;

        __device__ __forceinline__ bool get(u64 i, Ranked& to) const {
            to = sorted((u32)i);
            return !to.is_none();
        }
        __device__ __forceinline__ u64 end() const { return length; }
    };

    // ---- narrowing down by digits: one block ---------------------------------------------------

    /// All bits from `shift` on.
    template <class W>
    static __device__ __forceinline__ W high(W word, int shift) {
        return shift >= 8 * (int)sizeof(W) ? (W)0 : (W)(word >> shift);
    }
    /// The greatest word with these bits from `shift` on.
    template <class W>
    static __device__ __forceinline__ W greatest(W prefix, int shift) {
        if (shift >= 8 * (int)sizeof(W)) return (W) ~(W)0;
        return (W)((W)(prefix << shift) | (W)(((W)1 << shift) - 1));
    }
    /// How many bits there are from the lowest to the highest that is set.
    template <class W>
    static __device__ __forceinline__ int width(W word) {
        if constexpr (sizeof(W) > 8) {
            u64 upper = (u64)(word >> 64);
            return upper != 0 ? 128 - __clzll((i64)upper) : width((u64)word);
        } else {
            return 64 - __clzll((i64)(u64)word);
        }
    }

    /// Of the items that `digit_of` gives a digit of: the digit with which the k-th item of all
    /// comes, how many there are with lower ones, and how many have it.
    template <class Reader, class DigitOf>
    static __device__ __forceinline__ u32 pick_digit(const Reader& reader, const DigitOf& digit_of,
                                                     u64 k, u64& below, u64& inside) {
        Shared& s = shared();
        // Counts have 32 bits.
        constexpr u64 PART = (u64)1 << 31;
        u32 thread = threadIdx.x;
        u64 count = 0;
        for (u64 from = 0; from < reader.count; from += PART) {
            u64 to = reader.count - from < PART ? reader.count : from + PART;
            if (thread < DIGITS) s.counts[thread] = 0;
            __syncthreads();
            for (u64 i = from + thread; i < to; i += blockDim.x) {
                Ranked item;
                u32 digit;
                if (reader.get(i, item) && digit_of(item, digit)) atomicAdd(&s.counts[digit], 1u);
            }
            __syncthreads();
            if (thread < DIGITS) count += s.counts[thread];
        }
        u64 end = count;
#pragma unroll
        for (int by = 1; by < WARP; by *= 2) {
            u64 other = __shfl_up_sync(ALL_LANES, end, by);
            if (lane() >= by) end += other;
        }
        int own_warp = warp_index();
        if (lane() == WARP - 1) s.sums[own_warp] = end;
        __syncthreads();
        u64 start = below + end - count;
        for (int warp = 0; warp < own_warp && warp < DIGITS / WARP; warp++) start += s.sums[warp];
        if (thread < DIGITS && start < k && k <= start + count) {
            s.digit = thread;
            s.below = start;
            s.inside = count;
        }
        __syncthreads();
        below = s.below;
        inside = s.inside;
        u32 digit = s.digit;
        __syncthreads();
        return digit;
    }

    /// The bits that any rank has and those that all have, and how many items are there. All
    /// threads call, and get it.
    template <class Reader>
    static __device__ __forceinline__ void fold_ranks(const Reader& reader, B& any, B& all,
                                                      u64& there) {
        Shared& s = shared();
        any = 0, all = LAST, there = 0;
        for (u64 i = threadIdx.x; i < reader.count; i += blockDim.x) {
            Ranked item;
            if (!reader.get(i, item)) continue;
            any |= item.rank;
            all &= item.rank;
            there++;
        }
        any = or_of_lanes(any);
        all = (B)~or_of_lanes((B)~all);
#pragma unroll
        for (int by = 1; by < WARP; by *= 2) there += __shfl_xor_sync(ALL_LANES, there, by);
        int own_warp = warp_index();
        if (lane() == 0) {
            s.any[own_warp] = any;
            s.all[own_warp] = all;
            s.sums[own_warp] = there;
        }
        __syncthreads();
        any = 0, all = LAST, there = 0;
        for (u32 warp = 0; warp < blockDim.x / WARP; warp++) {
            any |= s.any[warp];
            all &= s.all[warp];
            there += s.sums[warp];
        }
        __syncthreads();
    }

    /// A bound that admits at least the first k, and at most `room`; all of them if there are no
    /// more. `room` is not below k. All threads call, and get it. Blocks may be of any size from
    /// DIGITS threads on.
    template <class Reader>
    static __device__ __forceinline__ Ranked narrow(const Reader& reader, u64 k, u64 room) {
        B any, all;
        u64 there;
        fold_ranks(reader, any, all, there);
        if (there <= room) return Ranked::none();

        u64 below = 0, inside = there;
        int shift = width((B)(any ^ all));
        B prefix = high(any, shift);
        while (below + inside > room && shift > 0) {
            int bits = shift < DIGIT_BITS ? shift : DIGIT_BITS, outer = shift;
            shift -= bits;
            auto digit_of = [&](const Ranked& item, u32& digit) {
                digit = (u32)(B)(item.rank >> shift) & ((1u << bits) - 1);
                return high(item.rank, outer) == prefix;
            };
            u32 digit = pick_digit(reader, digit_of, k, below, inside);
            prefix = (B)((B)(prefix << bits) | (B)digit);
        }
        if (below + inside <= room) return {greatest(prefix, shift), NOWHERE};

        // Too many have the rank of the k-th: the first of them.
        B rank = prefix;
        shift = width(reader.end() - 1);
        u64 first = 0;
        while (below + inside > room) {
            int bits = shift < DIGIT_BITS ? shift : DIGIT_BITS, outer = shift;
            shift -= bits;
            auto digit_of = [&](const Ranked& item, u32& digit) {
                digit = (u32)(item.place >> shift) & ((1u << bits) - 1);
                return item.rank == rank && high(item.place, outer) == first;
            };
            u32 digit = pick_digit(reader, digit_of, k, below, inside);
            first = first << bits | digit;
        }
        return {rank, greatest(first, shift)};
    }

    // ---- sorting: one block --------------------------------------------------------------------

    static __device__ __forceinline__ Ranked sorted(u32 i) { return shared().room.at(i); }
    static __device__ __forceinline__ void set(u32 i, const Ranked& item) {
        shared().room.set(i, item);
    }

    /// Finds the first k in what a reader gives, and stores them in order.
    template <class Reader>
    static __device__ __forceinline__ void finish(const Call& call, const Reader& reader, u64 row) {
        Shared& s = shared();
        u32 least = CAPACITY < 256 ? CAPACITY : 256;
        u32 room = power_of_two(call.k > least ? call.k : least);
        Ranked bound = narrow(reader, call.k, room);
        if (threadIdx.x == 0) s.kept = 0;
        __syncthreads();
        for (u64 i = threadIdx.x; i < reader.count; i += THREADS) {
            Ranked item;
            if (reader.get(i, item) && bound.admits(item.rank, item.place))
                set(atomicAdd(&s.kept, 1u), item);
        }
        __syncthreads();
        u32 kept = s.kept, count = power_of_two(kept);
        // What fills up comes after every item, and no two are equal.
        for (u32 i = kept + threadIdx.x; i < count; i += THREADS)
            set(i, {LAST, NOWHERE - CAPACITY + i});
        s.room.template sort<false>(count);
        u32 stored = kept < call.k ? kept : (u32)call.k;
        for (u32 i = threadIdx.x; i < stored; i += THREADS) {
            u64 place = s.room.places[i];
            call.values[row * call.k + i] = OfItem::key(call.source.at(row * call.length + place));
            call.places[row * call.k + i] = place;
        }
        if (threadIdx.x == 0 && call.found != nullptr) *call.found = stored;
    }

    // ---- the sample ----------------------------------------------------------------------------

    /// The samples of a group, as a power of two: no more than leave the k-th item in the first
    /// quarter of the groups.
    static __device__ __forceinline__ u32 rounds_for(const Call& call, u64 length) {
        u64 most = length / (4 * call.k);
        u32 rounds = most > 1 ? width(most) - 1 : 0;
        return rounds < call.rounds ? rounds : call.rounds;
    }

    /// The least of a lane's samples of a group. Each sample is drawn from a stratum of its own.
    /// The strata of a group lie far from each other.
    static __device__ __forceinline__ Ranked sample(const Call& call, const Ranks& ranks, u64 base,
                                                    u64 length, u32 group, u32 first, u32 step) {
        u32 rounds = rounds_for(call, length);
        constexpr int GROUP_BITS = CAPACITY == 1024 ? 10 : 6;
        static_assert(CAPACITY == 1 << GROUP_BITS);
        int bits = GROUP_BITS + (int)rounds;
        Ranked least = Ranked::none();
        for (u32 round = first; round < 1u << rounds; round += step) {
            u32 turn = (round * 0x9e3779b1u) >> 16;
            u64 stratum = (u64)round * GROUPS + (group + turn) % GROUPS;
            u64 drawn = (stratum + 1) * 0x9e3779b97f4a7c15;
            drawn = (drawn ^ drawn >> 30) * 0xbf58476d1ce4e5b9;
            drawn = (drawn ^ drawn >> 27) * 0x94d049bb133111eb;
            u64 part = stratum << (64 - bits) | drawn >> bits;
            u64 place = upper_half(part, length);
            Item item = call.source.at(base + place);
            Ranked one = {ranks.rank(bits_of(OfItem::key(item))), place};
            if (OfItem::there(item) && one.before(least)) least = one;
        }
        return least;
    }

    /// The bound, given the least of each group in shared memory. All threads call.
    static __device__ __forceinline__ Ranked bound_of(const Call& call, u64 length) {
        // So many groups hold one of the first k, at most; their number varies by its root.
        u64 hit = ((u64)GROUPS << rounds_for(call, length)) * call.k / length + 1, root = 1;
        while (root * root < hit) root++;
        u64 number = hit + 6 * root + 8;
        __syncthreads();
        if (number > GROUPS) return Ranked::none();
        return narrow(InShared{GROUPS, length}, number, number + number / 4);
    }
    /// The upper 64 bits of a product, or 1 less.
    static __device__ __forceinline__ u64 upper_half(u64 a, u64 b) {
        u64 low = (a >> 32) * (u32)b, middle = (a & 0xffffffff) * (b >> 32);
        return (a >> 32) * (b >> 32) + (low >> 32) + (middle >> 32);
    }

    /// Whether a sample says something.
    static __device__ __forceinline__ bool can_sample(const Call& call, u64 length) {
        return length / 4 >= call.k;
    }

    // ---- the filter ----------------------------------------------------------------------------

    /// Stores the items of a row that the bound admits. Each warp takes every so manyth chunk.
    /// `take` counts them, and says where a lane's first one goes.
    template <class Take>
    static __device__ __forceinline__ void filter(const Call& call, const Ranks& ranks, u64 base,
                                                  u64 length, const Ranked& bound, u64 warp,
                                                  u64 warps, B* to_ranks, u64* to_places,
                                                  const Take& take) {
        constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW;
        for (u64 start = warp * CHUNK; start < length; start += warps * CHUNK) {
            // Behind the bound's place only lower ranks count. So where most items are equal, most
            // chunks need no second look.
            B last = bound.rank;
            if (start > bound.place) {
                if (last == 0) return;
                last = (B)(last - 1);
            }
            u64 rest = length - start;
            int here = rest < CHUNK ? (int)rest : CHUNK;
            SourceRows<Source, RUN, ROWS> rows;
            load_rows<Source, RUN, ROWS>(rows, call.source, base + start, here, base, base + length,
                                         base + start);
            bool some = false;
#pragma unroll
            for (int row = 0; row < ROWS; row++)
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    Item item = rows.item(row, i);
                    B rank = ranks.rank(bits_of(OfItem::key(item)));
                    some |= OfItem::there(item) && rank <= last;
                }
            if (!any_lane(some)) continue;

            u64 hits = 0;
#pragma unroll
            for (int row = 0; row < ROWS; row++)
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    Item item = rows.item(row, i);
                    B rank = ranks.rank(bits_of(OfItem::key(item)));
                    int offset = (row * WARP + (int)lane()) * RUN + i;
                    bool hit = OfItem::there(item) && bound.admits(rank, start + offset);
                    if (hit && offset < here) hits |= (u64)1 << (row * RUN + i);
                }
            u64 at = take((u32)__popcll(hits));
#pragma unroll
            for (int row = 0; row < ROWS; row++)
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    if ((hits >> (row * RUN + i) & 1) == 0) continue;
                    if (at < call.room) {
                        to_ranks[at] = ranks.rank(bits_of(OfItem::key(rows.item(row, i))));
                        to_places[at] = start + (row * WARP + lane()) * RUN + i;
                    }
                    at++;
                }
        }
    }
    static_assert(RUN * ROWS <= 64);

    /// Counts what a block's lanes store. Rows of a block have fewer than 2^32 items.
    struct TakeInBlock {
        __device__ __forceinline__ u64 operator()(u32 count) const {
            return count == 0 ? 0 : atomicAdd(&shared().taken, count);
        }
    };
    /// Counts what the lanes of all blocks store: an addition a warp.
    struct TakeInGrid {
        u64* counter;
        /// Where it started.
        u64 origin;

        __device__ __forceinline__ u64 operator()(u32 count) const {
            u32 end = count;
#pragma unroll
            for (int by = 1; by < WARP; by *= 2) {
                u32 other = __shfl_up_sync(ALL_LANES, end, by);
                if (lane() >= by) end += other;
            }
            u32 sum = __shfl_sync(ALL_LANES, end, WARP - 1);
            if (sum == 0) return 0;
            u64 first = 0;
            if (lane() == 0) first = add_relaxed(counter, sum) - origin;
            return __shfl_sync(ALL_LANES, first, 0) + (end - count);
        }
    };

    // ---- a block a row -------------------------------------------------------------------------

    /// Rows of up to so many items are narrowed down as they are.
    static constexpr u64 DIRECT = 4 * CAPACITY;

    /// The bound by a sample that the block takes by itself.
    static __device__ __forceinline__ Ranked bound_by_block(const Call& call, const Ranks& ranks,
                                                            u64 base, u64 length) {
        if (!can_sample(call, length)) return Ranked::none();
        for (u32 group = threadIdx.x; group < GROUPS; group += THREADS)
            set(group, sample(call, ranks, base, length, group, 0, 1));
        return bound_of(call, length);
    }

    static __device__ __forceinline__ void run_row(const Call& call) {
        u64 row = call.row + blockIdx.x, base = row * call.length;
        u64 length = Source::COUNTED ? call.source.limit(call.length) : call.length;
        Shared& s = shared();
        Ranks ranks = Ranks::of(call.order);
        InSource source{call.source, ranks, base, length};
        if (length <= DIRECT) return finish(call, source, row);
        if (threadIdx.x == 0) s.taken = 0;
        Ranked bound = bound_by_block(call, ranks, base, length);
        __syncthreads();
        B* to_ranks = call.ranks + row * call.room;
        u64* to_places = call.at + row * call.room;
        filter(call, ranks, base, length, bound, warp_index(), THREADS / WARP, to_ranks, to_places,
               TakeInBlock{});
        __syncthreads();
        u64 count = s.taken;
        if (is_right(call, bound, count)) {
            finish(call, InMemory{to_ranks, to_places, count, length}, row);
        } else {
            finish(call, source, row);
        }
    }

    /// Whether the first k are among so many candidates, and all of these have room.
    static __device__ __forceinline__ bool is_right(const Call& call, const Ranked& bound,
                                                    u64 count) {
        return count <= call.room && (count >= call.k || bound.is_none());
    }

    // ---- one launch of many blocks -------------------------------------------------------------

    /// Every block takes the sample by itself, and reads its share of the items. The last one to
    /// end finishes.
    static __device__ __forceinline__ void run_once(const Call& call) {
        Shared& s = shared();
        u64 length = length_of(call), base = call.row * call.length;
        Ranks ranks = Ranks::of(call.order);
        if (threadIdx.x == 0) s.below = call.workspace.tag();
        __syncthreads();
        u64 tag = s.below;
        __syncthreads();
        Ranked bound = bound_by_block(call, ranks, base, length);
        WorkspaceHeader* header = call.workspace.header;
        u64 warp = (u64)warp_index() * gridDim.x + blockIdx.x;
        filter(call, ranks, base, length, bound, warp, (u64)gridDim.x * (THREADS / WARP),
               call.ranks, call.at, TakeInGrid{&header->tickets, tag});
        __syncthreads();
        if (threadIdx.x == 0) {
            s.last = header->end(tag);
            if (s.last) {
                s.below = load_relaxed(&header->tickets) - tag;
                header->reset(tag, call.workspace.key);
            }
        }
        __syncthreads();
        if (!s.last) return;
        u64 count = s.below;
        __syncthreads();
        if (is_right(call, bound, count))
            finish(call, InMemory{call.ranks, call.at, count, length}, call.row);
        else finish(call, InSource{call.source, ranks, base, length}, call.row);
    }

    // ---- many blocks ---------------------------------------------------------------------------

    static __device__ __forceinline__ u64 length_of(const Call& call) {
        return call.source.limit(call.length);
    }

    static __device__ __forceinline__ void run_sample(const Call& call) {
        Shared& s = shared();
        u64 length = length_of(call), base = call.row * call.length;
        Ranks ranks = Ranks::of(call.order);
        u32 lanes = 1u << call.lanes, thread = threadIdx.x, here = blockDim.x / lanes;
        bool guesses = can_sample(call, length);
        if (guesses)
            set(thread, sample(call, ranks, base, length, blockIdx.x * here + thread / lanes,
                               thread % lanes, lanes));
        __syncthreads();
        if (guesses && thread < here) {
            Ranked least = sorted(thread * lanes);
            for (u32 i = 1; i < lanes; i++) {
                Ranked other = sorted(thread * lanes + i);
                if (other.before(least)) least = other;
            }
            call.sample_ranks[blockIdx.x * here + thread] = least.rank;
            call.sample_places[blockIdx.x * here + thread] = least.place;
        }
        __syncthreads();
        u64 tag = 0;
        if (thread == 0) {
            tag = call.workspace.tag();
            s.last = call.workspace.header->end(tag);
        }
        __syncthreads();
        if (!s.last) return;
        Ranked bound = Ranked::none();
        if (guesses) {
            for (u32 i = thread; i < GROUPS; i += blockDim.x)
                set(i, {call.sample_ranks[i], call.sample_places[i]});
            bound = bound_of(call, length);
        }
        if (thread == 0) {
            call.state->rank = bound.rank;
            call.state->place = bound.place;
            call.state->count = 0;
            call.state->again = 0;
            call.workspace.header->reset(tag, call.workspace.key);
        }
    }

    static __device__ __forceinline__ Ranked bound_in(const Call& call) {
        return {call.state->rank, call.state->place};
    }

    static __device__ __forceinline__ void run_filter(const Call& call) {
        if (call.again && call.state->again == 0) return;
        Ranks ranks = Ranks::of(call.order);
        u64 warp = (u64)blockIdx.x * (blockDim.x / WARP) + warp_index();
        u64 warps = (u64)gridDim.x * (blockDim.x / WARP);
        filter(call, ranks, call.row * call.length, length_of(call), bound_in(call), warp, warps,
               call.ranks, call.at, TakeInGrid{&call.state->count, 0});
    }

    static __device__ __forceinline__ void run_finish(const Call& call) {
        u64 length = length_of(call), count = call.state->count;
        Ranks ranks = Ranks::of(call.order);
        InSource source{call.source, ranks, call.row * call.length, length};
        bool right = is_right(call, bound_in(call), count);
        if (call.sorted_outside) {
            // The bound is found from the source, and the filter runs again.
            if (right) return;
            Ranked bound = narrow(source, call.k, call.room);
            if (threadIdx.x == 0) {
                call.state->rank = bound.rank;
                call.state->place = bound.place;
                call.state->count = 0;
                call.state->again = 1;
            }
            return;
        }
        if (right) finish(call, InMemory{call.ranks, call.at, count, length}, call.row);
        else finish(call, source, call.row);
    }

    // ---- what is sorted outside ----------------------------------------------------------------

    /// All items are candidates, in their order. With flags, those without one come last.
    static __device__ __forceinline__ void run_all(const Call& call) {
        u64 length = length_of(call);
        Ranks ranks = Ranks::of(call.order);
        InSource source{call.source, ranks, call.row * call.length, length};
        u64 step = (u64)gridDim.x * blockDim.x;
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < call.length; i += step) {
            Ranked item = Ranked::none();
            if (i < length && !source.get(i, item)) item = Ranked::none();
            call.ranks[i] = item.rank;
            call.at[i] = item.place;
        }
    }

    /// Fills the room behind the candidates up, so that all of it can be sorted.
    static __device__ __forceinline__ void run_fill(const Call& call) {
        u64 step = (u64)gridDim.x * blockDim.x;
        u64 i = call.state->count + (u64)blockIdx.x * blockDim.x + threadIdx.x;
        for (; i < call.room; i += step) {
            call.ranks[i] = LAST;
            call.at[i] = NOWHERE;
        }
    }

    /// Stores the first k of the sorted candidates.
    static __device__ __forceinline__ void run_store(const Call& call) {
        u64 step = (u64)gridDim.x * blockDim.x;
        u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
        if (call.k == 0 && first == 0 && call.found != nullptr) *call.found = 0;
        for (u64 i = first; i < call.k; i += step) {
            u64 place = call.at[i];
            bool is_there = place != NOWHERE;
            if (is_there) {
                Item item = call.source.at(call.row * call.length + place);
                call.values[call.row * call.k + i] = OfItem::key(item);
                call.places[call.row * call.k + i] = place;
            }
            if (call.found == nullptr) continue;
            // One thread sees the end.
            bool ends = is_there && (i + 1 == call.k || call.at[i + 1] == NOWHERE);
            if (ends) *call.found = i + 1;
            else if (i == 0 && !is_there) *call.found = 0;
        }
    }
};

}  // namespace warpfold
