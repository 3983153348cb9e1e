// The items at some places of the sorted order, without a sort: by the digits of their ranks.
//
// A launch reads all items, and counts the digits of those that can still be wanted. So the last
// block to end knows one digit more of each wanted one. The highest digits come first. Then a rank
// is known, and mostly it says which number has it. Where several numbers have one rank, as -0 and
// +0, the digits of positions follow: of equal items the first comes first.
//
// Every wanted item has a table of counts, and those with the same digits so far share one. Tables
// rise by what is known, as places in the sorted order do.
#pragma once
#include "grid/workspace.cuh"
#include "machine/order.cuh"
#include "source/source_rows.cuh"

namespace warpfold {

/// What a launch takes.
template <class Source, class B>
struct NthCall {
    Source source;
    u64 length;
    /// Of each wanted item, as they come in the sorted order: the digits of its rank that are
    /// known, those of its position, its place among the items that share these, and whether it was
    /// found.
    B* ranks;
    u64* positions;
    u64* places;
    u64* found;
    /// The items that were found.
    typename Source::Item* values;
    /// The tables: all 0 before a launch and after it.
    u64* counts;
    Workspace workspace;
    /// How many are wanted.
    u32 wanted;
    SortOrder order;
    /// The digit: `bits` bits from bit `shift` on.
    u32 shift, bits;
    /// Whether it is one of positions.
    bool of_positions;
};

/// A digit has up to DIGIT_BITS bits. MOST items may be wanted, a power of two.
template <class Source, class B, bool FLOAT, int RUN, int ROWS, int THREADS, int DIGIT_BITS,
          int MOST>
struct NthItems {
    using Item = typename Source::Item;
    using Ranks = KeyRanks<B, FLOAT>;
    using Call = NthCall<Source, B>;
    static constexpr int WARPS = THREADS / WARP;
    static constexpr u32 DIGITS = 1u << DIGIT_BITS, NONE = MOST;
    static_assert(sizeof(B) == sizeof(Item) && THREADS >= MOST && DIGITS >= WARP);

    /// The digits of a rank and of a position that are known.
    struct Known {
        B rank;
        u64 position;

        __device__ __forceinline__ bool is(B other, u64 at) const {
            return rank == other && position == at;
        }
        /// Whether it comes behind another one.
        __device__ __forceinline__ bool behind(B other, u64 at) const {
            return rank > other || (rank == other && position > at);
        }
    };
    struct Shared {
        /// What is known of the wanted ones, and then of those of each table.
        Known known[MOST];
        /// The table of a wanted one, or NONE if it was found.
        u32 table_of[MOST];
        u32 tables;
        bool last;
        u32 counts[MOST * DIGITS];
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    static __device__ __forceinline__ u32 lane() { return threadIdx.x % WARP; }
    static __device__ __forceinline__ B bits_of(const Item& item) {
        union {
            Item item;
            B bits;
        } either;
        either.item = item;
        return either.bits;
    }
    static __device__ __forceinline__ Item item_of(B bits) {
        union {
            B bits;
            Item item;
        } either;
        either.bits = bits;
        return either.item;
    }
    /// All bits from `shift` on.
    template <class W>
    static __device__ __forceinline__ W high(W word, u32 shift) {
        return shift >= 8 * sizeof(W) ? (W)0 : (W)(word >> shift);
    }

    /// Shares tables out, and returns their number. Synchronises the block.
    static __device__ __forceinline__ u32 share_tables(const Call& call) {
        Shared& s = shared();
        u32 thread = threadIdx.x;
        if (thread < call.wanted) {
            s.known[thread] = {call.ranks[thread], call.positions[thread]};
            s.table_of[thread] = call.found[thread] != 0 ? NONE : 0;
        }
        __syncthreads();
        if (thread == 0) {
            u32 tables = 0;
            for (u32 i = 0; i < call.wanted; i++) {
                if (s.table_of[i] == NONE) continue;
                Known own = s.known[i];
                if (tables == 0 || !s.known[tables - 1].is(own.rank, own.position))
                    s.known[tables++] = own;
                s.table_of[i] = tables - 1;
            }
            s.tables = tables;
        }
        __syncthreads();
        return s.tables;
    }

    /// The table of items with these digits, or NONE.
    static __device__ __forceinline__ u32 table_of(u32 tables, B rank, u64 position) {
        Shared& s = shared();
        u32 at = 0;
#pragma unroll
        for (u32 step = MOST / 2; step > 0; step /= 2)
            if (at + step < tables && !s.known[at + step].behind(rank, position)) at += step;
        return s.known[at].is(rank, position) ? at : NONE;
    }

    /// Counts the items of this block. It has fewer than 2^32.
    static __device__ __forceinline__ void count(const Call& call, const Ranks& ranks, u32 tables) {
        constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW;
        Shared& s = shared();
        u32 above = call.shift + call.bits, mask = (1u << call.bits) - 1;
        u64 warp = (u64)blockIdx.x * WARPS + warp_index(), warps = (u64)gridDim.x * WARPS;
        for (u64 start = warp * CHUNK; start < call.length; start += warps * CHUNK) {
            u64 rest = call.length - start;
            int here = rest < CHUNK ? (int)rest : CHUNK;
            SourceRows<Source, RUN, ROWS> rows;
            load_rows<Source, RUN, ROWS>(rows, call.source, start, here, 0, call.length, start);
#pragma unroll
            for (int row = 0; row < ROWS; row++)
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    int offset = (row * WARP + (int)lane()) * RUN + i;
                    if (offset >= here) continue;
                    B rank = ranks.rank(bits_of(rows.item(row, i)));
                    u64 position = start + offset;
                    u32 table, digit;
                    if (call.of_positions) {
                        table = table_of(tables, rank, high(position, above));
                        digit = (u32)(position >> call.shift) & mask;
                    } else {
                        table = table_of(tables, high(rank, above), 0);
                        digit = (u32)(B)(rank >> call.shift) & mask;
                    }
                    if (table != NONE) atomicAdd(&s.counts[table * DIGITS + digit], 1u);
                }
        }
    }

    /// Finds a digit of each wanted item, a warp each. The last block calls.
    static __device__ __forceinline__ void find_digits(const Call& call, const Ranks& ranks) {
        Shared& s = shared();
        for (u32 i = warp_index(); i < call.wanted; i += WARPS) {
            u32 table = s.table_of[i];
            if (table == NONE) continue;
            u64 place = call.places[i], before = 0;
            u32 digit = 0;
            for (u32 first = 0; first < DIGITS; first += WARP) {
                u64 count = load_relaxed(&call.counts[table * DIGITS + first + lane()]);
                u64 end = before + count;
#pragma unroll
                for (int by = 1; by < WARP; by *= 2) {
                    u64 other = __shfl_up_sync(ALL_LANES, end - before, by);
                    if (lane() >= by) end += other;
                }
                u32 beyond = __ballot_sync(ALL_LANES, end > place);
                int owner = beyond != 0 ? __popc(~beyond & (beyond - 1)) : WARP - 1;
                digit = first + owner;
                before = shuffle(beyond != 0 ? end - count : end, owner);
                if (beyond != 0) break;
            }
            // Every lane has read the place.
            __syncwarp();
            if (lane() == 0) advance(call, ranks, i, s.known[table], place - before, digit);
        }
    }

    /// One digit more of a wanted item is known.
    static __device__ __forceinline__ void advance(const Call& call, const Ranks& ranks, u32 i,
                                                   Known known, u64 place, u32 digit) {
        call.places[i] = place;
        if (call.of_positions) {
            known.position = known.position << call.bits | digit;
            call.positions[i] = known.position;
            if (call.shift != 0) return;
            call.values[i] = call.source.at(known.position);
        } else {
            known.rank = (B)((B)(known.rank << call.bits) | (B)digit);
            call.ranks[i] = known.rank;
            B bits;
            if (call.shift != 0 || !ranks.only(known.rank, bits)) return;
            call.values[i] = item_of(bits);
        }
        call.found[i] = 1;
    }

    static __device__ __forceinline__ void run(const Call& call) {
        Shared& s = shared();
        u32 tables = share_tables(call);
        if (tables == 0) return;
        Ranks ranks = Ranks::of(call.order);
        for (u32 i = threadIdx.x; i < tables * DIGITS; i += THREADS) s.counts[i] = 0;
        __syncthreads();
        count(call, ranks, tables);
        __syncthreads();
        for (u32 i = threadIdx.x; i < tables * DIGITS; i += THREADS)
            if (s.counts[i] != 0) add_relaxed(&call.counts[i], s.counts[i]);
        __syncthreads();
        u64 tag = 0;
        if (threadIdx.x == 0) {
            tag = call.workspace.tag();
            s.last = call.workspace.header->end(tag);
        }
        __syncthreads();
        if (!s.last) return;
        find_digits(call, ranks);
        __syncthreads();
        for (u32 i = threadIdx.x; i < tables * DIGITS; i += THREADS) call.counts[i] = 0;
        if (threadIdx.x == 0) call.workspace.header->reset(tag, call.workspace.key);
    }
};

}  // namespace warpfold
