// Weighted histogram: the sum of the weights of the items in each bin, bracketed by the law over
// the weights of that bin.
//
// Each item has a place: the counter that its weight goes to (`histogram_places`). Weights are
// sorted by place. Then those of a bin lie side by side in their order: a segment, which is folded
// (segmented.cuh).
//
// This is one pass of the sort, which is stable, by one digit of the place. A pass has two
// launches, and a scan between them: how many items of each tile have each digit, where those go,
// and the moves.
#pragma once
#include "block/padded.cuh"
#include "warp/lanes.cuh"

namespace warpfold {

/// Sorts places, and the weights for them, by a digit of `bits` bits of the place. Items whose
/// place is no bin are left out. A block of WARPS warps has a tile, and each of its warps ROWS rows
/// of that, side by side.
template <class T, int WARPS, int ROWS>
struct WeightSorter {
    static constexpr u32 TILE = WARPS * ROWS * WARP;
    static constexpr u32 MOST_DIGITS = 256;
    static_assert(WARPS * WARP >= MOST_DIGITS, "each digit has a thread");

    const u32* places;
    u64 length;
    u32 bins;
    /// How many items of each tile have a digit: those of the first digit come first. After a scan,
    /// where these items go. At last comes 0, and then the number of all.
    u64* digits;
    u32 shift, bits;

    struct Shared {
        /// How many items of a warp have a digit, and then of all warps before it.
        u32 counts[WARPS][MOST_DIGITS];
        /// Where the items of a digit start in the tile.
        u32 starts[MOST_DIGITS];
        /// Where the tile's first item would go if it had that digit.
        u64 targets[MOST_DIGITS];
        u32 sums[WARPS];
        /// The tile in its new order.
        u32 places[TILE];
        PaddedArray<T, TILE> weights;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    __device__ __forceinline__ u32 most() const { return 1u << bits; }
    __device__ __forceinline__ u32 digit_of(u32 place) const {
        return place >> shift & (most() - 1);
    }
    /// The first item of the thread's warp, plus the lane.
    __device__ __forceinline__ u64 first() const {
        return (u64)blockIdx.x * TILE + warp_index() * (ROWS * WARP) + threadIdx.x % WARP;
    }
    __device__ __forceinline__ u64* digits_of_tile(u32 digit) const {
        return digits + (u64)digit * gridDim.x + blockIdx.x;
    }

    /// The places of the thread's items; `bins` for those that are not there.
    __device__ __forceinline__ void load(u32 (&place)[ROWS]) const {
        u64 at = first();
#pragma unroll
        for (int row = 0; row < ROWS; row++, at += WARP)
            place[row] = at < length ? places[at] : bins;
    }

    /// Clears the counts of the thread's warp.
    __device__ __forceinline__ void clear() const {
        u32* counts = shared().counts[warp_index()];
        for (u32 i = threadIdx.x % WARP; i < most(); i += WARP) counts[i] = 0;
        __syncwarp();
    }

    /// Counts the digits of a tile.
    __device__ __forceinline__ void count() const {
        u32 place[ROWS];
        load(place);
        clear();
        u32* counts = shared().counts[warp_index()];
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            if (place[row] < bins) atomicAdd(counts + digit_of(place[row]), 1u);
        __syncthreads();
        u32 digit = threadIdx.x;
        if (digit < most()) {
            u64 sum = 0;
#pragma unroll
            for (int warp = 0; warp < WARPS; warp++) sum += shared().counts[warp][digit];
            *digits_of_tile(digit) = sum;
        }
        if (digit == 0 && blockIdx.x == 0) digits[(u64)most() * gridDim.x] = 0;
    }

    /// The lanes whose items have this lane's digit, among those that are there.
    __device__ __forceinline__ u32 peers_of(u32 digit, bool there) const {
        u32 peers = __ballot_sync(ALL_LANES, there);
        for (u32 bit = 0; bit < bits; bit++) {
            bool set = (digit >> bit & 1) != 0;
            u32 those = __ballot_sync(ALL_LANES, set);
            peers &= set ? those : ~those;
        }
        return peers;
    }

    /// Makes of the counts of warps how many of each digit come before, in the tile, and learns
    /// where each digit starts. Returns the number of items. Each digit has a thread.
    __device__ __forceinline__ u32 place_digits() const {
        u32 digit = threadIdx.x, lane = digit % WARP, warp = digit / WARP, sum = 0;
        if (digit < most()) {
#pragma unroll
            for (int of = 0; of < WARPS; of++) {
                u32 count = shared().counts[of][digit];
                shared().counts[of][digit] = sum;
                sum += count;
            }
        }
        u32 end = sum;
#pragma unroll
        for (int by = 1; by < WARP; by *= 2) {
            u32 other = __shfl_up_sync(ALL_LANES, end, by);
            if (lane >= by) end += other;
        }
        if (lane == WARP - 1) shared().sums[warp] = end;
        __syncthreads();
        u32 before = 0, all = 0;
#pragma unroll
        for (int of = 0; of < WARPS; of++) {
            u32 more = shared().sums[of];
            if (of < warp) before += more;
            all += more;
        }
        if (digit < most()) {
            u32 start = before + end - sum;
            shared().starts[digit] = start;
            shared().targets[digit] = *digits_of_tile(digit) - start;
        }
        __syncthreads();
        return all;
    }

    /// Moves a tile. `parts` places have one weight.
    __device__ __forceinline__ void move(const T* weights, u32 parts, u32* places_to,
                                         T* weights_to) const {
        u32 place[ROWS], rank[ROWS];
        load(place);
        clear();
        u32* counts = shared().counts[warp_index()];
        // In the order of the items: each learns how many come before it in the warp.
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            bool there = place[row] < bins;
            u32 digit = digit_of(place[row]), peers = peers_of(digit, there);
            u32 before = counts[digit];
            __syncwarp();
            u32 first_peers = peers & ((1u << threadIdx.x % WARP) - 1);
            if (there && first_peers == 0) counts[digit] = before + __popc(peers);
            __syncwarp();
            rank[row] = before + __popc(first_peers);
        }
        __syncthreads();
        u32 all = place_digits();
        u64 at = first();
#pragma unroll
        for (int row = 0; row < ROWS; row++, at += WARP) {
            if (place[row] >= bins) continue;
            u32 digit = digit_of(place[row]);
            u32 to = shared().starts[digit] + counts[digit] + rank[row];
            shared().places[to] = place[row];
            shared().weights.set(to, weights[parts == 1 ? at : at / parts]);
        }
        __syncthreads();
        // Items of a digit go side by side.
        for (u32 i = threadIdx.x; i < all; i += blockDim.x) {
            u32 moved = shared().places[i];
            u64 to = shared().targets[digit_of(moved)] + i;
            places_to[to] = moved;
            weights_to[to] = shared().weights.get(i);
        }
    }
};

}  // namespace warpfold
