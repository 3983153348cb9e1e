// Rules: how items get their bins.
//
// A rule has
//
//   Arguments       what a kernel takes for it: that in src/primitives/histogram/rule.rs. Where a
//                   kernel takes more than 128 bytes, NVCC unrolls no loop whose length it does not
//                   know. So this is no more than the rule needs.
//   prepare(bytes)  puts what the block finds bins by into shared memory, behind so many bytes. The
//                   block must synchronise before it finds any.
//   find(x, of)     the bins of some items
#pragma once
#include "histogram/lookup.cuh"

namespace warpfold {

/// Where the bins of numbers lie: `Table` in src/primitives/histogram/bins.rs.
template <class V>
struct BinTable {
    /// The first number of each bin, as far as there is one.
    const V* firsts;
    u32 known;
    /// The first number that has a bin, and the last.
    V first, last;

    __device__ __forceinline__ bool has(V x) const { return x >= first && x <= last; }
};

/// Some numbers' bins, as far as they have one.
template <int COUNT>
struct BinsOf {
    u32 bins[COUNT];
    bool there[COUNT];
};

/// A number is that of its bin, if it has one.
template <class V, bool ALL_HAVE>
struct ByNumber {
    using Arguments = ByNumber;

    u32 bins;

    __device__ __forceinline__ void prepare(u32) const {}

    template <int COUNT>
    __device__ __forceinline__ void find(const V (&x)[COUNT], BinsOf<COUNT>& of) const {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            of.bins[i] = (u32)x[i];
            of.there[i] = ALL_HAVE || (u64)x[i] < bins;
        }
    }
};
template <class V>
using ByValue = ByNumber<V, false>;
template <class V>
using ByAnyValue = ByNumber<V, true>;

/// The last bin whose first number is not above ours, by a lookup. The few items whose cell does
/// not tell take a binary search in what is left.
template <class V>
struct BySearch {
    struct Arguments {
        BinTable<V> table;
        LookupShape shape;
        const u32* words;
        /// A block has 2^log_copies copies of the cells of the lookup.
        u32 log_copies;
        /// Whether the first numbers are copied to shared memory, too.
        u32 copies_table;
    };

    Arguments given;
    Lookup lookup;

    __device__ __forceinline__ void prepare(u32 offset) {
        offset = (offset + 15) / 16 * 16;
        lookup.copy(given.shape, given.words, given.log_copies, offset);
        if (given.copies_table == 0) return;
        V* firsts = reinterpret_cast<V*>(dynamic_shared() + offset + lookup.bytes());
        BinTable<V>& table = given.table;
        for (u32 i = threadIdx.x; i < table.known; i += blockDim.x) firsts[i] = table.firsts[i];
        table.firsts = firsts;
    }

    template <int COUNT>
    __device__ __forceinline__ void find(const V (&x)[COUNT], BinsOf<COUNT>& of) const {
        const BinTable<V>& table = given.table;
        u32 at[COUNT], cells[COUNT];
        bool unsure[COUNT], are_sure = true;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            u32 offset = lookup.offset_of(x[i]), key = offset << lookup.shape.log_bin;
            at[i] = lookup.cell_at(offset);
            u32 cell = cells[i] = lookup.cell(at[i]);
            of.bins[i] = lookup.bin(cell) + (cell < key);
            of.there[i] = table.has(x[i]);
            unsure[i] = (cell & lookup.flag()) != 0;
            // Numbers of 64 bits may differ in bits that were dropped.
            if constexpr (sizeof(V) == 8) unsure[i] |= (cell ^ key) < 2 * lookup.flag();
            are_sure &= !unsure[i];
        }
        if (are_sure) return;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if (!unsure[i]) continue;
            u32 bin = lookup.bin(cells[i]);
            u32 rest = lookup.bin(lookup.cell(at[i] + lookup.stride)) - bin + 1;
            while (rest > 1) {
                u32 half = rest / 2;
                rest -= half;
                if (table.firsts[bin + half] <= x[i]) bin += half;
            }
            of.bins[i] = bin;
        }
    }
};

/// Guesses at a bin: those in src/primitives/histogram/guess.rs, which says why they can be
/// trusted.
struct Guess {
    f64 origin, scale, low;
};
struct FixedGuess {
    u64 bias;
    u32 scale, shift, low;
};

/// Finds bins by a guess, which is compared with the bin's first number where it is not certain.
template <class V>
struct ByGuess {
    using Arguments = ByGuess;

    BinTable<V> table;
    Guess guess;

    __device__ __forceinline__ void prepare(u32) const {}

    template <int COUNT>
    __device__ __forceinline__ void find(const V (&x)[COUNT], BinsOf<COUNT>& of) const {
        // In a sum with these, the integer nearest to a number of less than 2^31 is the low word.
        // Conversions to integers and back take four times as long.
        constexpr f64 UNITS = 0x1.8p52;
        u32 last = table.known - 1;
        bool certain = true;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            f64 guessed = ((f64)x[i] - guess.origin) * guess.scale, sum = guessed + UNITS;
            f64 beyond = guessed - (sum - UNITS);
            // The nearest integer is the bin or the next one. What is outside is guessed to be
            // anything.
            u32 bin = (u32)bits_of(sum);
            of.bins[i] = bin < last ? bin : last;
            of.there[i] = table.has(x[i]);
            certain &= beyond > guess.low || !of.there[i];
        }
        if (certain) return;
        // For all of them: what is right stays as it is.
#pragma unroll
        for (int i = 0; i < COUNT; i++) of.bins[i] -= x[i] < table.firsts[of.bins[i]];
    }
};

/// Finds bins by a guess in fixed point, for integers of up to 32 bits. Where all guesses are
/// certain, such as in bins whose width is a power of two, nothing asks.
template <class V>
struct ByFixedGuess {
    using Arguments = ByFixedGuess;

    BinTable<V> table;
    FixedGuess guess;

    __device__ __forceinline__ void prepare(u32) const {}

    template <int COUNT>
    __device__ __forceinline__ void find(const V (&x)[COUNT], BinsOf<COUNT>& of) const {
        if (guess.low == 0) find<false>(x, of);
        else find<true>(x, of);
    }

private:
    template <bool UNCERTAIN, int COUNT>
    __device__ __forceinline__ void find(const V (&x)[COUNT], BinsOf<COUNT>& of) const {
        u32 last = table.known - 1, most = (u32)table.last - (u32)table.first;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            u32 offset = (u32)x[i] - (u32)table.first;
            bool there = offset <= most;
            u64 product = (u64)offset * guess.scale + guess.bias;
            u32 bin = (u32)(product >> 32) >> (guess.shift - 32);
            if (bin > last) bin = last;
            if (UNCERTAIN && there && (u32)(product >> (guess.shift - 32)) < guess.low &&
                x[i] < table.firsts[bin])
                bin--;
            of.bins[i] = bin;
            of.there[i] = there;
        }
    }
};

}  // namespace warpfold
