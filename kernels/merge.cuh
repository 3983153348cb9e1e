// Merge: two sorted arrays into one, and a sort by a comparison that merges runs of what is sorted.
// A merge path (Green, McColl and Bader, "GPU merge path: a GPU merging algorithm", 2012) cuts both
// arrays where an output is cut, so all tiles of the output have one length, and so have the parts
// of the threads.
//
//   split, split_by_warp    how many of the first items of a merge come from the first array
//   Merger                  a tile of the output of a merge; a tile that is sorted
//
// Equals come from the first array first. `Less` says whether an item comes before another one.
#pragma once
#include "machine/order.cuh"
#include "machine/words.cuh"

namespace warpfold {

/// Whether a number comes before another one, by rank.
template <class B, bool FLOAT>
struct LessByRank {
    KeyRanks<B, FLOAT> ranks;

    __device__ __forceinline__ bool operator()(B a, B b) const {
        return ranks.rank(a) < ranks.rank(b);
    }
};

/// How many of the first `diagonal` items of a merge come from the first array.
template <class Less, class Item, class Number>
__device__ __forceinline__ Number split(const Less& less, const Item* a, Number a_length,
                                        const Item* b, Number b_length, Number diagonal) {
    Number least = diagonal > b_length ? diagonal - b_length : 0;
    Number most = diagonal < a_length ? diagonal : a_length;
    while (least < most) {
        Number middle = least + (most - least) / 2;
        if (less(b[diagonal - 1 - middle], a[middle])) most = middle;
        else least = middle + 1;
    }
    return least;
}

/// `split`, found by all lanes of a warp. Each round asks at 32 places, so that few loads from
/// memory wait for each other.
template <class Less, class Item>
__device__ __forceinline__ u64 split_by_warp(const Less& less, const Item* a, u64 a_length,
                                             const Item* b, u64 b_length, u64 diagonal) {
    u32 lane = threadIdx.x % WARP;
    u64 least = diagonal > b_length ? diagonal - b_length : 0;
    u64 most = diagonal < a_length ? diagonal : a_length;
    while (least < most) {
        u64 length = most - least, step = (length + WARP - 1) / WARP;
        u64 place = least + lane * step;
        bool beyond = place >= most || less(b[diagonal - 1 - place], a[place]);
        u32 those = __ballot_sync(ALL_LANES, beyond);
        u32 before = those == 0 ? WARP : __ffs(those) - 1;
        if (before < WARP && least + before * step < most) most = least + before * step;
        if (before > 0) least = least + (before - 1) * step + 1;
    }
    return least;
}

/// The tiles of a block of THREADS threads, each of which has ITEMS neighbours.
template <class Item, class Less, int THREADS, int ITEMS>
struct Merger {
    static constexpr u32 TILE = THREADS * ITEMS;

    struct Shared {
        /// Where the tile begins in the first array, and where it ends.
        u64 splits[2];
        Item items[TILE];
    };
    static __device__ __forceinline__ Shared& shared() {
        return *reinterpret_cast<Shared*>(dynamic_shared());
    }

    Less less;

    /// The first items of a merge of two neighbouring parts of the tile, from a diagonal on: as
    /// many as a thread has.
    __device__ __forceinline__ void merge_in_tile(Item (&merged)[ITEMS], const Item* a, u32 a_length,
                                                  const Item* b, u32 b_length,
                                                  u32 diagonal) const {
        u32 length = a_length + b_length;
        if (diagonal > length) diagonal = length;
        u32 i = split(less, a, a_length, b, b_length, diagonal), j = diagonal - i;
        // The next item of each part.
        Item x, y;
        if (i < a_length) x = a[i];
        if (j < b_length) y = b[j];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (diagonal + k >= length) break;
            bool second = i >= a_length || (j < b_length && less(y, x));
            merged[k] = second ? y : x;
            if (second) {
                if (++j < b_length) y = b[j];
            } else {
                if (++i < a_length) x = a[i];
            }
        }
    }

    /// Stores the items of the threads to the tile. All threads call.
    static __device__ __forceinline__ void keep(const Item (&items)[ITEMS], u32 length) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 at = threadIdx.x * ITEMS + k;
            if (at < length) shared().items[at] = items[k];
        }
        __syncthreads();
    }

    static __device__ __forceinline__ void store(Item* out, u32 length) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 at = threadIdx.x + k * THREADS;
            if (at < length) out[at] = shared().items[at];
        }
    }

    /// Writes the tile of a merge that begins at item `start` of the output.
    __device__ __forceinline__ void merge(const Item* a, u64 a_length, const Item* b, u64 b_length,
                                          Item* out, u64 start) const {
        u64 rest = a_length + b_length - start;
        u32 length = rest < TILE ? (u32)rest : TILE;
        // A warp for each end, so that no search waits for the other.
        int end = warp_index();
        if (end < 2) {
            u64 found = split_by_warp(less, a, a_length, b, b_length, start + (u64)end * length);
            if (threadIdx.x % WARP == 0) shared().splits[end] = found;
        }
        __syncthreads();
        u64 first = shared().splits[0], second = start - first;
        u32 from_a = (u32)(shared().splits[1] - first);
        // A comparison that is none may give any splits.
        if (from_a > length) from_a = length;
        u32 from_b = length - from_a;
        // All loads are issued before the first is waited for.
        Item merged[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 at = threadIdx.x + k * THREADS;
            u64 i = first + at, j = second + (at - from_a);
            if (at < from_a) {
                if (i < a_length) merged[k] = a[i];
            } else if (at < length) {
                if (j < b_length) merged[k] = b[j];
            }
        }
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 at = threadIdx.x + k * THREADS;
            if (at < length) shared().items[at] = merged[k];
        }
        __syncthreads();
        const Item* items = shared().items;
        merge_in_tile(merged, items, from_a, items + from_a, from_b, threadIdx.x * ITEMS);
        keep(merged, length);
        store(out + start, length);
    }

    /// Merges neighbouring runs of `run` items, which are sorted. The tile begins at item `start`.
    __device__ __forceinline__ void merge_runs(const Item* from, Item* to, u64 total, u64 run,
                                               u64 start) const {
        u64 base = start / (2 * run) * (2 * run), rest = total - base;
        u64 a_length = run < rest ? run : rest;
        u64 b_length = rest - a_length < run ? rest - a_length : run;
        merge(from + base, a_length, from + base + run, b_length, to + base, start - base);
    }

    /// Sorts a tile: each thread its items, and then twice as many in each round.
    __device__ __forceinline__ void sort(const Item* from, Item* to, u32 length) const {
        Item items[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 at = threadIdx.x + k * THREADS;
            if (at < length) items[k] = from[at];
        }
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 at = threadIdx.x + k * THREADS;
            if (at < length) shared().items[at] = items[k];
        }
        __syncthreads();
        u32 first = threadIdx.x * ITEMS;
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (first + k < length) items[k] = shared().items[first + k];
        // Neighbours that stand the wrong way round change places: equals never do.
#pragma unroll
        for (int round = 0; round < ITEMS; round++) {
#pragma unroll
            for (int k = round % 2; k + 1 < ITEMS; k += 2) {
                if (first + k + 1 < length && less(items[k + 1], items[k])) {
                    Item item = items[k];
                    items[k] = items[k + 1];
                    items[k + 1] = item;
                }
            }
        }
        keep(items, length);
        for (u32 run = ITEMS; run < length; run *= 2) {
            u32 base = first / (2 * run) * (2 * run);
            u32 rest = base < length ? length - base : 0;
            u32 a_length = run < rest ? run : rest;
            u32 b_length = rest - a_length < run ? rest - a_length : run;
            const Item* runs = shared().items + base;
            merge_in_tile(items, runs, a_length, runs + a_length, b_length, first - base);
            keep(items, length);
        }
        store(to, length);
    }
};

}  // namespace warpfold
