// Where a block counts.
//
//   SharedCounters   in shared memory, in several copies where there is room
//   NarrowCounters   there too, in 16 bits each
//   CachedCounters   in global memory, with a cache in shared memory
//
// Each has `clear()`, `add(…)`, `end_unit()` after the items of a unit, and `finish_round(…)`,
// which adds what was counted to the result. The block synchronises after `clear()`, and before and
// after `finish_round(…)`.
#pragma once
#include "machine/words.cuh"

namespace warpfold {

/// Counters in shared memory, 2^log_copies copies of each. What has no bin is counted too, behind
/// the others: a branch would take longer.
///
/// Amounts of 64 bits have counters of two words, the upper ones behind the lower ones. There are
/// no additions of 64 bits in shared memory. A lower word that wraps carries 1.
template <class Count, class Amount = u32>
struct SharedCounters {
    static constexpr bool BY_RUNS = false, WIDE = sizeof(Amount) == 8;

    Count* counts;
    u32 places, log_copies;
    /// Where the lane's first counter is, and the bytes from one to the next.
    u32 own, stride;

    __device__ __forceinline__ SharedCounters(Count* counts, u32 places, u32 log_copies)
        : counts(counts),
          places(places),
          log_copies(log_copies),
          own(in_register(4 * (threadIdx.x & ((1u << log_copies) - 1)))),
          stride(4u << log_copies) {}

    __device__ __forceinline__ u32* counters() const {
        return reinterpret_cast<u32*>(dynamic_shared());
    }
    /// The counters, or their lower words.
    __device__ __forceinline__ u32 lower() const { return (places + 1) << log_copies; }
    __device__ __forceinline__ u32 words() const { return WIDE ? 2 * lower() : lower(); }
    __device__ __forceinline__ u32 bytes() const { return (words() + 1) / 2 * 8; }

    __device__ __forceinline__ void clear() const {
        for (u32 i = threadIdx.x; i < words(); i += blockDim.x) counters()[i] = 0;
    }

    /// Nothing is kept from one unit to the next.
    __device__ __forceinline__ void end_unit() const {}

    __device__ __forceinline__ void add(u32 place, bool is_counted, Amount amount) const {
        u32 at = (is_counted ? place : places) * stride + own;
        u32* counter = reinterpret_cast<u32*>(dynamic_shared() + at);
        u32 low = (u32)amount, before = atomicAdd(counter, low);
        if constexpr (WIDE) {
            u32 high = (u32)(amount >> 32) + (before + low < before);
            if (high != 0) atomicAdd(counter + lower(), high);
        }
    }

    /// Adds up the copies, and clears them if another round comes. A block that is alone stores the
    /// sums of its first round. Neighbouring threads begin with different copies, which lie in
    /// different banks.
    __device__ __forceinline__ void finish_round(bool stores, bool is_last) const {
        u32 copies = 1u << log_copies;
        for (u32 place = threadIdx.x; place < places; place += blockDim.x) {
            u32* copy = counters() + (place << log_copies);
            Amount sum = 0;
            for (u32 i = 0; i < copies; i++) {
                sum += copy[place + i & (copies - 1)];
                if constexpr (WIDE) sum += (u64)copy[lower() + (place + i & (copies - 1))] << 32;
            }
            if (stores) counts[place] = sum;
            else if (sum != 0) atomicAdd(counts + place, (Count)sum);
            for (u32 i = 0; !is_last && i < copies; i++) {
                copy[i] = 0;
                if constexpr (WIDE) copy[lower() + i] = 0;
            }
        }
    }
};

/// Counters of 16 bits in shared memory, two in a word, for items that count once. That of place p
/// is the lower half of word p, or the upper half of word p - words(). What has no bin is counted
/// behind the others.
///
/// No counter overflows, whatever the items. From 2^log_full on, where log_full is at most 15, a
/// counter is full. A thread that adds to one that was full before empties it before it goes on to
/// the next items: it moves all from 2^log_full on to the result. So from the moment when a counter
/// becomes full until a thread empties it, each thread adds to it the items of one run at most,
/// beside the one that made it full. These are fewer than 2^15, so the counter stays below 2^16.
///
/// Additions to one word wait for each other. So a warp counts the items of one place by itself, in
/// registers, as long as most of its lanes meet that place in each unit.
template <class Count>
struct NarrowCounters {
    /// Whether the items of a run are added together.
    static constexpr bool BY_RUNS = true;
    /// A place that no item has.
    static constexpr u32 NONE = 0xffffffffu;

    Count* counts;
    u32 places, full;
    /// Behind the counters, one for each lane.
    u32 idle;
    /// The place that the warp counts by itself, and how many such items the lane had: in all, and
    /// before this unit.
    u32 hot = NONE, hits = 0, hits_before = 0;
    /// A place that the lane met last.
    u32 latest = NONE;

    __device__ __forceinline__ NarrowCounters(Count* counts, u32 places, u32 log_full)
        : counts(counts),
          places(places),
          full((0xffffu & ~((1u << log_full) - 1)) * 0x10001u),
          idle(words() + threadIdx.x % WARP) {}

    __device__ __forceinline__ u32* counters() const {
        return reinterpret_cast<u32*>(dynamic_shared());
    }
    __device__ __forceinline__ u32 words() const { return (places + 2) / 2; }
    __device__ __forceinline__ u32 bytes() const { return 4 * (words() + WARP); }

    __device__ __forceinline__ void clear() const {
        for (u32 i = threadIdx.x; i < words() + WARP; i += blockDim.x) counters()[i] = 0;
    }

    template <int COUNT>
    __device__ __forceinline__ void add(const u32 (&at)[COUNT], const bool (&is_counted)[COUNT]) {
        static_assert(COUNT <= 16, "a block of 1024 threads adds fewer than 2^15 at a time");
        u32 before = 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            u32 place = is_counted[i] ? at[i] : places;
            bool is_hot = place == hot;
            hits += is_hot;
            // A hot item adds nothing to a word that is the lane's alone: a branch would take
            // longer.
            u32 word = is_hot ? idle : word_of(place);
            u32 one = place < words() ? 1u : 0x10000u;
            before |= atomicAdd(counters() + word, is_hot ? 0u : one);
            latest = place;
        }
        if ((before & full) == 0) return;
#pragma unroll
        for (int i = 0; i < COUNT; i++) empty(is_counted[i] ? at[i] : places);
    }

    /// Has the warp count another place by itself, if few of its lanes met the one that it has.
    __device__ __forceinline__ void end_unit() {
        u32 met = __ballot_sync(ALL_LANES, hits != hits_before);
        if (__popc(met) < WARP / 2) {
            add_hits();
            hot = __shfl_sync(ALL_LANES, latest, 0);
        }
        hits_before = hits;
    }

    /// Adds up what is left, and clears the counters if another round comes. The counts were clear
    /// before.
    __device__ __forceinline__ void finish_round(bool, bool is_last) {
        add_hits();
        hits_before = 0;
        for (u32 i = threadIdx.x; i < words(); i += blockDim.x) {
            u32 word = counters()[i], upper = i + words();
            if ((word & 0xffff) != 0 && i < places) atomicAdd(counts + i, (Count)(word & 0xffff));
            if (word >> 16 != 0 && upper < places) atomicAdd(counts + upper, (Count)(word >> 16));
            if (!is_last) counters()[i] = 0;
        }
    }

private:
    __device__ __forceinline__ u32 word_of(u32 place) const {
        // A place of the lower half wraps.
        u32 upper = place - words();
        return place < upper ? place : upper;
    }

    /// Moves what is full of a counter to the result.
    __device__ __forceinline__ void empty(u32 place) const {
        u32 shift = place < words() ? 0 : 16, bits = full & (0xffffu << shift);
        u32 more = atomicAnd(counters() + word_of(place), ~bits) & bits;
        if (more != 0 && place < places) atomicAdd(counts + place, (Count)(more >> shift));
    }

    __device__ __forceinline__ void add_hits() {
        if (!__any_sync(ALL_LANES, hits != 0)) return;
        u32 sum = hits;
#pragma unroll
        for (int by = WARP / 2; by > 0; by /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, by);
        if (threadIdx.x % WARP == 0 && hot < places) atomicAdd(counts + hot, (Count)sum);
        hits = 0;
    }
};

/// Counters in global memory, and a cache of 2^log_slots of them in shared memory. A slot belongs
/// to the first bin that comes, which most likely is one that comes often. Items of other bins of
/// that slot are counted in global memory. So are all amounts of 64 bits.
template <class Count, class Amount = u32>
struct CachedCounters {
    static constexpr bool BY_RUNS = false;
    /// The bin of a slot that belongs to none.
    static constexpr u32 NONE = 0xffffffffu;
    /// A slot with fewer items in a round is there for any bin in the next one.
    static constexpr u32 FEW = 8;

    Count* counts;
    u32 log_slots;

    __device__ __forceinline__ u32 slots() const { return 1u << log_slots; }
    __device__ __forceinline__ u32* bins() const {
        return reinterpret_cast<u32*>(dynamic_shared());
    }
    __device__ __forceinline__ u32* counters() const { return bins() + slots(); }
    __device__ __forceinline__ u32 bytes() const { return 8 * slots(); }

    __device__ __forceinline__ void clear() const {
        for (u32 slot = threadIdx.x; slot < slots(); slot += blockDim.x) {
            bins()[slot] = NONE;
            counters()[slot] = 0;
        }
    }

    __device__ __forceinline__ void end_unit() const {}

    __device__ __forceinline__ void add(u32 place, bool is_counted, Amount amount) const {
        if constexpr (sizeof(Amount) == 8) {
            if (is_counted) atomicAdd(counts + place, (Count)amount);
            return;
        }
        u32 slot = place & (slots() - 1), bin = load_relaxed_shared(bins() + slot);
        if (!is_counted) return;
        if (bin == NONE) {
            bin = atomicCAS(bins() + slot, NONE, place);
            if (bin == NONE) bin = place;
        }
        if (bin == place) atomicAdd(counters() + slot, (u32)amount);
        else atomicAdd(counts + place, (Count)amount);
    }

    __device__ __forceinline__ void finish_round(bool, bool) const {
        for (u32 slot = threadIdx.x; slot < slots(); slot += blockDim.x) {
            u32 count = counters()[slot];
            if (count != 0) atomicAdd(counts + bins()[slot], (Count)count);
            if (count < FEW) bins()[slot] = NONE;
            counters()[slot] = 0;
        }
    }
};

}  // namespace warpfold
