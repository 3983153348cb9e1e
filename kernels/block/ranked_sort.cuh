// A block sorts candidates in shared memory: ranks, and places that tell equal ranks apart.
#pragma once
#include "machine/words.cuh"

namespace warpfold {

/// A rank, and the place of what has it. No two in a sort are equal.
template <class B, class P>
struct Ranked {
    static constexpr B LAST = (B) ~(B)0;
    static constexpr P NOWHERE = (P) ~(P)0;

    B rank;
    P place;

    __device__ __forceinline__ bool before(const Ranked& other) const {
        return rank < other.rank || (rank == other.rank && place < other.place);
    }
    /// Comes after every item.
    static __device__ __forceinline__ Ranked none() { return {LAST, NOWHERE}; }
    __device__ __forceinline__ bool is_none() const { return rank == LAST && place == NOWHERE; }
    __device__ __forceinline__ bool admits(B other, P at) const {
        return other < rank || (other == rank && at <= place);
    }

    __device__ __forceinline__ Ranked shuffle_xor(int by) const {
        constexpr int WORDS = (int)(sizeof(B) + 3) / 4;
        union {
            u32 words[WORDS];
            B rank;
        } both;
        both.words[0] = 0;
        both.rank = rank;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            both.words[i] = __shfl_xor_sync(ALL_LANES, both.words[i], by);
        return {both.rank, __shfl_xor_sync(ALL_LANES, place, by)};
    }
};

/// Room for so many.
template <class B, class P, int CAPACITY>
struct RankedRoom {
    B ranks[CAPACITY];
    P places[CAPACITY];

    __device__ __forceinline__ Ranked<B, P> at(u32 i) const { return {ranks[i], places[i]}; }
    __device__ __forceinline__ void set(u32 i, const Ranked<B, P>& item) {
        ranks[i] = item.rank;
        places[i] = item.place;
    }

    /// Sorts the first `count`, a power of two from 32 on, and no more than there are threads. All
    /// threads call. A warp sorts what its lanes have, by Batcher's bitonic sort. Then neighbouring
    /// runs are merged: an item's place is its place in its own run and the number of items before
    /// it in the other one. If places RISE to begin with, ranks decide there: of equal ones the
    /// first run's come first.
    template <bool RISE>
    __device__ __forceinline__ void sort(u32 count) {
        u32 index = threadIdx.x, lane = index % WARP;
        bool mine = index < count;
        __syncthreads();
        Ranked<B, P> own = Ranked<B, P>::none();
        if (mine) {
            own = at(index);
#pragma unroll
            for (int width = 2; width <= WARP; width *= 2)
#pragma unroll
                for (int step = width / 2; step > 0; step /= 2) {
                    Ranked<B, P> other = own.shuffle_xor(step);
                    bool keeps_first = ((lane & width) == 0) == ((lane & step) == 0);
                    if (other.before(own) == keeps_first) own = other;
                }
            set(index, own);
        }
        for (u32 width = WARP; width < count; width *= 2) {
            __syncthreads();
            u32 pair = index & ~(2 * width - 1), other = pair + (~index & width), before = 0;
            if (mine) {
                own = at(index);
                bool is_second = (index & width) != 0;
                auto comes_first = [&](u32 i) {
                    if constexpr (RISE)
                        return ranks[i] < own.rank || (is_second && ranks[i] == own.rank);
                    else return at(i).before(own);
                };
                for (u32 step = width / 2; step > 0; step /= 2)
                    if (comes_first(other + before + step - 1)) before += step;
                if (comes_first(other + before)) before++;
            }
            __syncthreads();
            if (mine) set(pair + (index & (width - 1)) + before, own);
        }
        __syncthreads();
    }
};

/// The least power of two that is no less, from 32 on.
__device__ __forceinline__ u32 power_of_two(u64 least) {
    u32 power = WARP;
    while (power < least) power *= 2;
    return power;
}

}  // namespace warpfold
