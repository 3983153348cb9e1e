// Sort: a stable radix sort by digits of 8 bits, from the lowest. Every digit is one pass over
// memory, as in Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for
// GPUs" (2022).
//
//   SortTile      ranks the items of a tile by a digit, and moves them within the tile
//   Sorter        begin, count, pass: the launches of a long sort
//   RunSorter     short inputs: blocks sort runs, and few launches merge them
//
// The passes learn from one reading of all keys how many have which digit (`count`). A digit that
// all keys share needs no pass; only the device knows which these are, so the launches of such
// passes end at once. A tile learns by look-back how many of each digit lie in the tiles before:
// its threads, one for each digit, walk over the counts of these tiles until one says how many
// there are up to it.
//
// Items move with the bits of their keys as they are, and each pass computes the digit anew. So
// numbers that are equal to the order, such as -0 and +0, keep their bits and their places.
#pragma once
#include "block/ranked_sort.cuh"
#include "machine/order.cuh"
#include "machine/words.cuh"
#include "grid/workspace.cuh"

namespace warpfold {

constexpr u32 SORT_DIGITS = 256;

/// A sort without values.
struct NoValue {};
template <class V>
constexpr bool HAS_VALUES = !SAME<V, NoValue>;

/// Values that can be the places of keys: numbers of 32 or 64 bits.
template <class V>
struct Places {
    static constexpr bool WIDE = sizeof(V) == 8;
    static constexpr bool FIT =
        HAS_VALUES<V> && (sizeof(V) == 4 || WIDE) && alignof(V) == sizeof(V);

    static __device__ __forceinline__ V value(u64 place) {
        V value;
        if constexpr (WIDE) *reinterpret_cast<u64*>(&value) = place;
        else *reinterpret_cast<u32*>(&value) = (u32)place;
        return value;
    }
    static __device__ __forceinline__ u64 place(const V& value) {
        if constexpr (WIDE) return *reinterpret_cast<const u64*>(&value);
        else return *reinterpret_cast<const u32*>(&value);
    }
};

/// The items of a tile. A block of WARPS warps has it, and each warp ROWS rows of WARP neighbours.
template <class B, bool FLOAT, class V, int WARPS, int ROWS>
struct SortTile {
    static constexpr u32 THREADS = WARPS * WARP, TILE = THREADS * ROWS;
    static_assert(THREADS >= SORT_DIGITS, "each digit has a thread");

    /// Values, where there are some.
    template <class W, u32 COUNT>
    struct Room {
        W values[COUNT];
    };
    template <u32 COUNT>
    struct Room<NoValue, COUNT> {};

    struct Shared {
        /// Where the items of a digit go: the place of the tile's first item if it had that digit.
        u64 targets[SORT_DIGITS];
        u32 sums[WARPS];
        u32 varying[WARPS];
        u64 tile;
        union {
            /// How many items of a warp have a digit, and then where the first of them goes.
            u32 counts[WARPS][SORT_DIGITS];
            struct {
                /// The tile in its new order.
                B keys[TILE];
                Room<V, TILE> room;
            };
        };
    };
    static __device__ __forceinline__ Shared& shared() {
        return *reinterpret_cast<Shared*>(dynamic_shared());
    }

    static __device__ __forceinline__ u32 lane() { return threadIdx.x % WARP; }

    static __device__ __forceinline__ void clear_counts() {
        u32* counts = shared().counts[warp_index()];
#pragma unroll
        for (u32 i = 0; i < SORT_DIGITS; i += WARP) counts[i + lane()] = 0;
        __syncwarp();
    }

    /// The lanes whose items have this lane's digit.
    static __device__ __forceinline__ u32 peers_of(u32 digit) {
        u32 peers = ALL_LANES;
#pragma unroll
        for (int bit = 0; bit < 8; bit++) {
            bool set = (digit >> bit & 1) != 0;
            u32 those = __ballot_sync(ALL_LANES, set);
            peers &= set ? those : ~those;
        }
        return peers;
    }

    /// An item's digit, and its rank: how many items with that digit come before it in the warp. In
    /// one register.
    static __device__ __forceinline__ u32 packed(u32 digit) { return digit << 16; }
    static __device__ __forceinline__ u32 digit_of(u32 ranked) { return ranked >> 16; }
    static __device__ __forceinline__ u32 rank_of(u32 ranked) { return ranked & 0xffff; }
    static_assert(TILE <= 0xffff);

    /// Finds the ranks of items, given their digits. Counts the items of the warp by digit.
    static __device__ __forceinline__ void rank_in_warp(u32 (&ranked)[ROWS], u32 rows) {
        u32* counts = shared().counts[warp_index()];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (row >= (int)rows) break;
            u32 digit = digit_of(ranked[row]), peers = peers_of(digit), before = counts[digit];
            u32 lower = __popc(peers & ((1u << lane()) - 1));
            __syncwarp();
            if (lower == 0) counts[digit] = before + __popc(peers);
            __syncwarp();
            ranked[row] += before + lower;
        }
    }

    /// How many items of the tile have the digit of the thread. Afterwards `counts` says for each
    /// warp how many of the warps before it have that digit.
    static __device__ __forceinline__ u32 sum_of_warps() {
        u32 sum = 0;
        if (threadIdx.x < SORT_DIGITS) {
#pragma unroll
            for (int warp = 0; warp < WARPS; warp++) {
                u32 count = shared().counts[warp][threadIdx.x];
                shared().counts[warp][threadIdx.x] = sum;
                sum += count;
            }
        }
        return sum;
    }

    /// Given how many items have the digit of the thread: where the first of them goes in the tile.
    /// `counts` says so for each warp afterwards. All threads call.
    static __device__ __forceinline__ u32 start_of_digit(u32 sum) {
        u32 end = sum;
#pragma unroll
        for (int by = 1; by < WARP; by *= 2) {
            u32 other = __shfl_up_sync(ALL_LANES, end, by);
            if (lane() >= by) end += other;
        }
        int own_warp = warp_index();
        if (lane() == WARP - 1) shared().sums[own_warp] = end;
        __syncthreads();
        u32 start = end - sum;
#pragma unroll
        for (int warp = 0; warp < (int)SORT_DIGITS / WARP; warp++)
            if (warp < own_warp) start += shared().sums[warp];
        if (threadIdx.x < SORT_DIGITS) {
#pragma unroll
            for (int warp = 0; warp < WARPS; warp++) shared().counts[warp][threadIdx.x] += start;
        }
        __syncthreads();
        return start;
    }

    /// Makes places in the tile of the ranks in the warp.
    static __device__ __forceinline__ void place(u32 (&ranked)[ROWS], u32 rows) {
        const u32* counts = shared().counts[warp_index()];
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            if (row < (int)rows) ranked[row] = counts[digit_of(ranked[row])] + rank_of(ranked[row]);
        // What the counts are in is overwritten next.
        __syncthreads();
    }
};

/// What the launches of a sort share.
template <class B, class V, class Count>
struct SortCall {
    /// Keys are read from `keys`, and end up in `keys_out`. `keys_room` is as long.
    const B* keys;
    B *keys_out, *keys_room;
    /// Values likewise. Without `values`, they are places: numbers from 0 on.
    const V* values;
    V *values_out, *values_room;
    u64 length;
    /// How many keys have which digit, digit after digit, and then how many have a lower one.
    u64* bins;
    /// The digits that are not the same for all keys, as bits.
    u64* varying;
    /// What tiles tell each other, twice.
    Count* status;
    Workspace workspace;
    SortOrder order;
    u32 pass;
    /// How many passes have a launch.
    u32 passes;
    /// Whether the places at `values_out` have 64 bits. Then no keys are written there.
    bool places_only;
};

/// The launches of a long sort. Count holds 2 bits, and the length.
template <class B, bool FLOAT, class V, class Count, int WARPS, int ROWS, int COLUMNS>
struct Sorter {
    using Tile = SortTile<B, FLOAT, V, WARPS, ROWS>;
    using Ranks = KeyRanks<B, FLOAT>;
    using Call = SortCall<B, V, Count>;
    static constexpr u32 THREADS = Tile::THREADS, TILE = Tile::TILE;
    static constexpr int PASSES = (int)sizeof(B);

    // What a tile says of a digit: nothing yet, how many it has itself, or how many there are in
    // all tiles up to it.
    static constexpr int STATE_SHIFT = 8 * (int)sizeof(Count) - 2;
    static constexpr Count OWN = (Count)1 << STATE_SHIFT, ALL = (Count)2 << STATE_SHIFT,
                           VALUE = OWN - 1;

    static __device__ __forceinline__ u64 tiles(const Call& call) {
        return (call.length + TILE - 1) / TILE;
    }
    /// What tiles tell each other in pass `number` of those that are made.
    static __device__ __forceinline__ Count* status_of(const Call& call, u32 number, u64 tile) {
        return call.status + ((number % 2) * tiles(call) + tile) * SORT_DIGITS;
    }

    // ---- begin: nothing is counted yet ---------------------------------------------------------

    static __device__ __forceinline__ void begin(const Call& call) {
        for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < PASSES * SORT_DIGITS;
             i += gridDim.x * blockDim.x)
            call.bins[i] = 0;
    }

    // ---- count: one reading of all keys --------------------------------------------------------

    struct CountShared {
        /// COLUMNS counters for each digit: lanes that count the same digit need not wait.
        u32 counts[PASSES][SORT_DIGITS][COLUMNS];
        u32 sums[SORT_DIGITS / WARP];
        u32 varying[PASSES];
        bool last;
    };
    static __device__ __forceinline__ CountShared& count_shared() {
        return *reinterpret_cast<CountShared*>(dynamic_shared());
    }

    static __device__ __forceinline__ void count_key(const Ranks& ranks, B key) {
        B rank = ranks.rank(key);
#pragma unroll
        for (int pass = 0; pass < PASSES; pass++) {
            u32 digit = (u32)(B)(rank >> (8 * pass)) & (SORT_DIGITS - 1);
            atomicAdd(&count_shared().counts[pass][digit][threadIdx.x % COLUMNS], 1u);
        }
    }

    /// Counts the digits of the keys that a thread reads: every `step`-th word, from `first` on.
    static __device__ __forceinline__ void count_keys(const Call& call, u64 first, u64 step) {
        Ranks ranks = Ranks::of(call.order);
        // Whole words of 16 bytes, two at a time, from the first aligned one on.
        constexpr int IN_WORD = 16 / (int)sizeof(B);
        u64 head = (16 - (u64)call.keys % 16) % 16 / sizeof(B);
        if (head > call.length) head = call.length;
        u64 whole = (call.length - head) / IN_WORD;
        const Run<B, IN_WORD>* runs = reinterpret_cast<const Run<B, IN_WORD>*>(call.keys + head);
        constexpr int AT_ONCE = 4;
        u64 at = first;
        for (; at + (AT_ONCE - 1) * step < whole; at += AT_ONCE * step) {
            Run<B, IN_WORD> run[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) run[k] = runs[at + k * step];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
                for (int i = 0; i < IN_WORD; i++) count_key(ranks, run[k].items[i]);
        }
        for (; at < whole; at += step) {
            Run<B, IN_WORD> run = runs[at];
#pragma unroll
            for (int i = 0; i < IN_WORD; i++) count_key(ranks, run.items[i]);
        }
        u64 rest = call.length - whole * IN_WORD;
        for (u64 i = first; i < rest; i += step)
            count_key(ranks, call.keys[i < head ? i : i + whole * IN_WORD]);
    }

    static __device__ __forceinline__ void count(const Call& call) {
        CountShared& shared = count_shared();
        u32* counts = &shared.counts[0][0][0];
        for (u32 i = threadIdx.x; i < PASSES * SORT_DIGITS * COLUMNS; i += blockDim.x)
            counts[i] = 0;
        u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
        u64 step = (u64)gridDim.x * blockDim.x;
        u64 words = tiles(call) * SORT_DIGITS;
        for (u64 i = first; i < words; i += step) call.status[i] = 0;
        __syncthreads();

        count_keys(call, first, step);
        __syncthreads();

        for (u32 i = threadIdx.x; i < PASSES * SORT_DIGITS; i += blockDim.x) {
            u32 sum = 0;
#pragma unroll
            for (int column = 0; column < COLUMNS; column++)
                sum += counts[i * COLUMNS + (column + threadIdx.x) % COLUMNS];
            if (sum > 0) atomicAdd(call.bins + i, (u64)sum);
        }
        __syncthreads();
        u64 tag = 0;
        if (threadIdx.x == 0) {
            tag = call.workspace.tag();
            shared.last = call.workspace.header->end(tag);
        }
        __syncthreads();
        if (!shared.last) return;
        // The last block makes starts of counts.
        sum_bins(call);
        if (threadIdx.x == 0) call.workspace.header->reset(tag, call.workspace.key);
    }

    static __device__ __forceinline__ void sum_bins(const Call& call) {
        CountShared& shared = count_shared();
        u32 digit = threadIdx.x, lane = digit % WARP, warp = digit / WARP;
        // Sums of up to the length, in two words of 32 bits each.
        u64* sums = reinterpret_cast<u64*>(&shared.counts[0][0][0]);
        u64 varying = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            u64 count = 0, end = 0;
            if (digit < SORT_DIGITS) {
                count = load_relaxed(call.bins + pass * SORT_DIGITS + digit);
                end = count;
#pragma unroll
                for (int by = 1; by < WARP; by *= 2) {
                    u64 other = __shfl_up_sync(ALL_LANES, end, by);
                    if (lane >= by) end += other;
                }
                if (lane == WARP - 1) sums[warp] = end;
            }
            if (digit == 0) shared.varying[pass] = 1;
            __syncthreads();
            if (digit < SORT_DIGITS) {
                u64 start = end - count;
                for (u32 of = 0; of < warp; of++) start += sums[of];
                call.bins[pass * SORT_DIGITS + digit] = start;
                // Of no keys no digit has one; one thread says so.
                if (count == call.length && (count > 0 || digit == 0)) shared.varying[pass] = 0;
            }
            __syncthreads();
            varying |= (u64)shared.varying[pass] << pass;
        }
        if (digit == 0) *call.varying = varying;
    }

    // ---- copy: what an odd number of passes would overwrite ------------------------------------

    /// In place, an odd number of passes cannot begin with what it ends in.
    static __device__ __forceinline__ bool begins_in_room(const Call& call, u32 passes) {
        return call.keys == call.keys_out && passes % 2 == 1;
    }

    static __device__ __forceinline__ void copy(const Call& call) {
        if (!begins_in_room(call, __popcll(*call.varying))) return;
        u64 step = (u64)gridDim.x * blockDim.x;
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < call.length; i += step) {
            call.keys_room[i] = call.keys[i];
            if constexpr (HAS_VALUES<V>)
                if (call.values != nullptr) call.values_room[i] = call.values[i];
        }
    }

    // ---- pass: items move to where their digit says --------------------------------------------

    static constexpr bool MAY_BE_PLACES = Places<V>::FIT;

    /// Nothing moves if all keys are equal. The last launch copies then.
    static __device__ __forceinline__ void keep(const Call& call) {
        u64 step = (u64)gridDim.x * blockDim.x;
        bool in_place = call.keys == call.keys_out;
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < call.length; i += step) {
            if (call.places_only) {
                reinterpret_cast<u64*>(call.values_out)[i] = i;
                continue;
            }
            if (in_place) return;
            call.keys_out[i] = call.keys[i];
            if constexpr (MAY_BE_PLACES)
                if (call.values == nullptr) {
                    call.values_out[i] = Places<V>::value(i);
                    continue;
                }
            if constexpr (HAS_VALUES<V>) call.values_out[i] = call.values[i];
        }
    }

    /// A pass, and the tile of it that a block moves.
    struct TileOfPass {
        /// Which of the passes that are made it is, and whether it is the last one.
        u32 number;
        bool last;
        /// Whether items come from what the call gives, and whether they go where they end up.
        bool from_given, to_out;
        const B* from;
        B* to;
        /// The tile, its first item, and how many it has.
        u64 tile, start;
        u32 count;
        bool full;
        /// Where the thread's rows start in the tile.
        u32 first;
        /// The digit's lowest bit.
        u32 shift;
        Ranks ranks;
        /// What the tile tells of its digits.
        Count* status;
    };

    static __device__ __forceinline__ void run_pass(const Call& call) {
        u32 varying = (u32)*call.varying;
        if ((varying >> call.pass & 1) == 0) {
            if (varying == 0 && call.pass + 1 == call.passes) keep(call);
            return;
        }
        // A number in memory may say that there are fewer keys than the launch has blocks for.
        if (blockIdx.x >= tiles(call)) return;
        TileOfPass of;
        choose_memory(call, varying, of);
        u64 tag = 0;
        if (!take_tile(call, tag, of)) return;
        B key[ROWS];
        u32 place[ROWS];
        load(call, of, key, place);
        Tile::rank_in_warp(place, ROWS);
        __syncthreads();
        u32 sum = Tile::sum_of_warps(), own = tell(call, of, sum);
        u32 digit_start = Tile::start_of_digit(sum);
        move_in_tile(call, of, key, place);
        look_back(call, of, own, digit_start);
        __syncthreads();
        store(call, of);
        if (threadIdx.x == 0 && call.workspace.header->end(tag, (u32)tiles(call)))
            call.workspace.header->reset(tag, call.workspace.key);
    }

    /// Says where items come from and go, given the digits that vary.
    static __device__ __forceinline__ void choose_memory(const Call& call, u32 varying,
                                                         TileOfPass& of) {
        u32 all = __popc(varying), number = __popc(varying & ((1u << call.pass) - 1));
        bool to_out = of.to_out = (all - number) % 2 == 1;
        bool from_given = of.from_given = number == 0 && !begins_in_room(call, all);
        of.from = from_given ? call.keys : to_out ? call.keys_room : call.keys_out;
        of.to = to_out ? call.keys_out : call.keys_room;
        of.last = number + 1 == all;
        of.number = number;
    }

    /// Takes the next tile, and returns whether there is one. The first thread gets the tag.
    static __device__ __forceinline__ bool take_tile(const Call& call, u64& tag, TileOfPass& of) {
        typename Tile::Shared& shared = Tile::shared();
        if (threadIdx.x == 0) {
            tag = call.workspace.tag();
            shared.tile = call.workspace.header->take(tag);
        }
        Tile::clear_counts();
        __syncthreads();
        of.tile = shared.tile, of.start = of.tile * TILE;
        if (of.tile >= tiles(call)) {
            if (threadIdx.x == 0) trap("the start of the workspace was overwritten");
            return false;
        }
        of.count = call.length - of.start < TILE ? (u32)(call.length - of.start) : TILE;
        of.full = of.count == TILE;
        return true;
    }

    /// Loads the thread's keys, and packs their digits.
    static __device__ __forceinline__ void load(const Call& call, TileOfPass& of, B (&key)[ROWS],
                                                u32 (&ranked)[ROWS]) {
        Ranks ranks = of.ranks = Ranks::of(call.order);
        u32 first = of.first = warp_index() * (ROWS * WARP) + Tile::lane(), count = of.count;
        u32 shift = of.shift = 8 * call.pass;
        bool full = of.full;
        const B* keys = of.from + of.start + first;
        if (full) {
#pragma unroll
            for (int row = 0; row < ROWS; row++) key[row] = keys[row * WARP];
        } else {
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                key[row] = first + row * WARP < count ? keys[row * WARP] : (B)0;
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            u32 digit = ranks.digit(key[row], shift);
            // What is not there comes last.
            if (!full && first + row * WARP >= count) digit = SORT_DIGITS - 1;
            ranked[row] = Tile::packed(digit);
        }
    }

    /// Tells others how many items there are of the thread's digit, given how many the tile has
    /// with what fills it up.
    static __device__ __forceinline__ u32 tell(const Call& call, TileOfPass& of, u32 sum) {
        u32 of_digit = threadIdx.x, own = sum;
        if (of_digit == SORT_DIGITS - 1) own -= TILE - of.count;
        of.status = status_of(call, of.number, of.tile);
        if (of_digit < SORT_DIGITS) {
            store_relaxed(of.status + of_digit, (Count)((of.tile == 0 ? ALL : OWN) | own));
            // Nobody else looks at these in this launch.
            if (!of.last) status_of(call, of.number + 1, of.tile)[of_digit] = 0;
        }
        return own;
    }

    /// Moves keys and values to their places in the tile, given the ranks in the warp.
    static __device__ __forceinline__ void move_in_tile(const Call& call, const TileOfPass& of,
                                                        const B (&key)[ROWS], u32 (&place)[ROWS]) {
        typename Tile::Shared& shared = Tile::shared();
        u64 start = of.start;
        u32 first = of.first, count = of.count;
        bool full = of.full;
        Tile::place(place, ROWS);
#pragma unroll
        for (int row = 0; row < ROWS; row++) shared.keys[place[row]] = key[row];
        if constexpr (HAS_VALUES<V>) {
            const V* values = of.from_given ? call.values
                              : of.to_out   ? call.values_room
                                            : call.values_out;
            V value[ROWS];
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                u64 at = start + first + row * WARP;
                if constexpr (MAY_BE_PLACES)
                    if (values == nullptr) {
                        value[row] = Places<V>::value(at);
                        continue;
                    }
                if (full || first + row * WARP < count) value[row] = values[at];
            }
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                if (full || first + row * WARP < count) shared.room.values[place[row]] = value[row];
        }
    }

    /// Looks back at the tiles before, and finds where the items of the thread's digit go.
    static __device__ __forceinline__ void look_back(const Call& call, const TileOfPass& of,
                                                     u32 own, u32 digit_start) {
        u32 of_digit = threadIdx.x;
        if (of_digit < SORT_DIGITS) {
            Count before = count_before(call, of.number, of.tile, of_digit);
            if (of.tile > 0) store_relaxed(of.status + of_digit, (Count)(ALL | (before + own)));
            Tile::shared().targets[of_digit] =
                call.bins[call.pass * SORT_DIGITS + of_digit] + before - digit_start;
        }
    }

    /// Stores the items of the tile. Those of a digit go side by side.
    static __device__ __forceinline__ void store(const Call& call, const TileOfPass& of) {
        typename Tile::Shared& shared = Tile::shared();
        B* to = of.to;
        u32 count = of.count;
        bool full = of.full;
        bool writes_keys = !(of.last && call.places_only);
        V* values_to = nullptr;
        if constexpr (HAS_VALUES<V>) values_to = of.to_out ? call.values_out : call.values_room;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            u32 i = threadIdx.x + row * THREADS;
            if (!full && i >= count) break;
            B moved = shared.keys[i];
            u64 target = shared.targets[of.ranks.digit(moved, of.shift)] + i;
            if (writes_keys) to[target] = moved;
            if constexpr (HAS_VALUES<V>) {
                V value = shared.room.values[i];
                if constexpr (MAY_BE_PLACES)
                    if (!writes_keys) {
                        reinterpret_cast<u64*>(values_to)[target] = Places<V>::place(value);
                        continue;
                    }
                values_to[target] = value;
            }
        }
    }

    /// How many items with a digit lie in the tiles before. Whole warps call.
    static __device__ __forceinline__ Count count_before(const Call& call, u32 number, u64 tile,
                                                         u32 digit) {
        // So many tiles are read at once. More would bring the answers sooner, but threads that
        // wait read again and again, and that is what slows all others down.
        constexpr int AT_ONCE = 2;
        Count before = 0;
        bool done = tile == 0;
        while (any_lane(!done)) {
            Count said[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                u64 at = (u64)k < tile ? tile - 1 - k : 0;
                said[k] = load_relaxed(status_of(call, number, at) + digit);
            }
            bool speaks = true;
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                speaks = speaks && !done && said[k] >= OWN;
                if (speaks) {
                    before += said[k] & VALUE;
                    done = said[k] >= ALL;
                    tile--;
                }
            }
        }
        return before;
    }
};

/// The launches of a short sort: blocks sort runs of TILE items, and then each launch merges WAYS
/// runs at a time. An item's place is its place in its own run and the number of items before it in
/// each of the others.
template <class B, bool FLOAT, class V, int TILE, int WAYS>
struct RunSorter {
    using Ranks = KeyRanks<B, FLOAT>;
    static constexpr bool MAY_BE_PLACES = Places<V>::FIT;

    /// Where a launch reads and writes. The last one writes what the call gives.
    template <class Call>
    struct Stage {
        const Call& call;
        bool first, last, to_out;

        __device__ __forceinline__ explicit Stage(const Call& call)
            : call(call), first(call.pass == 0), last(call.pass + 1 == call.passes),
              to_out((call.passes - call.pass) % 2 == 1) {}
        __device__ __forceinline__ const B* from() const {
            return first ? call.keys : to_out ? call.keys_room : call.keys_out;
        }
        __device__ __forceinline__ V value(u64 i) const {
            const V* values = first ? call.values : to_out ? call.values_room : call.values_out;
            if constexpr (MAY_BE_PLACES)
                if (values == nullptr) return Places<V>::value(i);
            return values[i];
        }
        __device__ __forceinline__ void store(u64 i, B key) const {
            if (last && call.places_only) return;
            (to_out ? call.keys_out : call.keys_room)[i] = key;
        }
        __device__ __forceinline__ void store(u64 i, B key, const V& value) const {
            store(i, key);
            V* values = to_out ? call.values_out : call.values_room;
            if constexpr (MAY_BE_PLACES)
                if (last && call.places_only) {
                    reinterpret_cast<u64*>(values)[i] = Places<V>::place(value);
                    return;
                }
            values[i] = value;
        }
    };

    struct Shared {
        RankedRoom<B, u32, TILE> room;
        B keys[TILE];
    };

    /// A block of TILE threads sorts a run.
    template <class Call>
    static __device__ __forceinline__ void sort_run(const Call& call) {
        Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared());
        u64 start = (u64)blockIdx.x * TILE;
        if (start >= call.length) return;
        u32 count = call.length - start < TILE ? (u32)(call.length - start) : TILE;
        Stage<Call> stage(call);
        Ranks ranks = Ranks::of(call.order);
        u32 i = threadIdx.x;
        Ranked<B, u32> own = {Ranked<B, u32>::LAST, i};
        if (i < count) {
            B key = stage.from()[start + i];
            shared.keys[i] = key;
            own.rank = ranks.rank(key);
        }
        shared.room.set(i, own);
        shared.room.template sort<true>(power_of_two(count));
        u32 from = shared.room.places[i];
        if constexpr (HAS_VALUES<V>) {
            V value;
            if (i < count) value = stage.value(start + from);
            // In place, all are read before one is written.
            __syncthreads();
            if (i < count) stage.store(start + i, shared.keys[from], value);
        } else {
            if (i < count) stage.store(start + i, shared.keys[from]);
        }
    }

    /// Merges runs of so many items. A thread an item.
    template <class Call>
    static __device__ __forceinline__ void merge_runs(const Call& call) {
        u32 length = (u32)call.length, i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= length) return;
        u32 run = TILE;
        for (u32 pass = 1; pass < call.pass; pass++) run *= WAYS;
        Stage<Call> stage(call);
        Ranks ranks = Ranks::of(call.order);
        const B* keys = stage.from();
        B key = keys[i], rank = ranks.rank(key);
        u32 own = i / run % WAYS, group = i / run - own;
        // How many items of each other run come before. The first ones of all runs are looked at
        // side by side, so that their loads overlap.
        u32 before[WAYS];
#pragma unroll
        for (int way = 0; way < WAYS; way++) before[way] = 0;
        for (u32 step = run; step > 0; step /= 2) {
            B other[WAYS];
            bool there[WAYS];
#pragma unroll
            for (int way = 0; way < WAYS; way++) {
                u32 probe = before[way] + step - 1, at = (group + way) * run + probe;
                there[way] = way != (int)own && probe < run && at < length;
                other[way] = keys[there[way] ? at : i];
            }
#pragma unroll
            for (int way = 0; way < WAYS; way++) {
                B its = ranks.rank(other[way]);
                // Equal items of a run before come first.
                bool comes_first = its < rank || (way < (int)own && its == rank);
                if (there[way] && comes_first) before[way] += step;
            }
        }
        u32 place = group * run + i % run;
#pragma unroll
        for (int way = 0; way < WAYS; way++) place += before[way];
        if constexpr (HAS_VALUES<V>) stage.store(place, key, stage.value(i));
        else stage.store(place, key);
    }
};

}  // namespace warpfold
