// A tile in shared memory: read and written coalesced, held by the threads as consecutive runs.
//
// Thread t owns the run of elements t*ITEMS … (t+1)*ITEMS - 1. If it read its run straight from
// global memory, each access of a warp would touch 32 distant places. So the block copies the tile
// through shared memory, in words as wide as the run allows.
//
// Runs of an even number of words would start in few different banks. So a word of padding follows
// wherever both a run and a row of all 32 banks end. Neighbouring words of the tile then still lie
// in different banks. A word after every run would spoil that.
#pragma once
#include "source.cuh"

namespace warpfold {

template <class T, int THREADS, int ITEMS>
struct StagedTile {
    using R = Run<T, ITEMS>;
    static constexpr int WIDE = R::WIDE;
    static constexpr int PADDING = R::BYTES / WIDE % 2 == 0 ? WIDE : 0;
    /// The least common multiple of a run and of the banks' 128 bytes.
    static constexpr int POWER_OF_TWO = R::BYTES & -R::BYTES;
    static constexpr int ROW = R::BYTES * (POWER_OF_TWO < 128 ? 128 / POWER_OF_TWO : 1);
    static constexpr int LENGTH = THREADS * ITEMS;
    static constexpr int BYTES = THREADS * R::BYTES;

    alignas(16) unsigned char bytes[BYTES + BYTES / ROW * PADDING];

    /// Where byte `offset` of the tile lies.
    __device__ __forceinline__ unsigned char* at(int offset) {
        return bytes + offset + offset / ROW * PADDING;
    }

    /// Copies `valid` elements of a slice, from `first` on; the block must synchronise before it
    /// reads runs. A run that is valid in part is filled up with zeros.
    __device__ __forceinline__ void load(const Slice<T>& all, u64 first, int valid) {
        const T* source = all.data + first;
        if (valid == LENGTH && is_aligned(source, WIDE)) {
            // All loads are issued before the first store: that is what hides memory's latency.
            constexpr int WORDS = R::BYTES / WIDE;
            Word<WIDE> words[WORDS];
            const Word<WIDE>* from = reinterpret_cast<const Word<WIDE>*>(source) + threadIdx.x;
#pragma unroll
            for (int i = 0; i < WORDS; i++) words[i] = from[i * THREADS];
#pragma unroll
            for (int i = 0; i < WORDS; i++)
                *reinterpret_cast<Word<WIDE>*>(at(((int)threadIdx.x + i * THREADS) * WIDE)) =
                    words[i];
        } else {
            using Narrow = Word<R::NARROW>;
            const Narrow* from = reinterpret_cast<const Narrow*>(source);
            int count = valid * (int)sizeof(T) / R::NARROW;
            int filled = (valid + ITEMS - 1) / ITEMS * (R::BYTES / R::NARROW);
#pragma unroll 8
            for (int i = threadIdx.x; i < filled; i += THREADS)
                *reinterpret_cast<Narrow*>(at(i * R::NARROW)) = i < count ? from[i] : Narrow{};
        }
    }

    /// Copies `valid` items of any source, from `first` on.
    template <class S>
    __device__ __forceinline__ void load(const S& source, u64 first, int valid) {
        using Narrow = Word<R::NARROW>;
        constexpr int WORDS = (int)sizeof(T) / R::NARROW;
        int filled = (valid + ITEMS - 1) / ITEMS * ITEMS;
#pragma unroll 1
        for (int i = threadIdx.x; i < filled; i += THREADS) {
            Run<T, 1> item;
#pragma unroll
            for (int word = 0; word < WORDS; word++)
                item.template words<R::NARROW>()[word] = Narrow{};
            if (i < valid) item.items[0] = source.at(first + i);
#pragma unroll
            for (int word = 0; word < WORDS; word++)
                *reinterpret_cast<Narrow*>(at((i * WORDS + word) * R::NARROW)) =
                    item.template words<R::NARROW>()[word];
        }
    }

    /// Copies `valid` elements to global memory; the block must have synchronised after writing
    /// runs.
    __device__ __forceinline__ void store(T* target, int valid) {
        if (valid == LENGTH && is_aligned(target, WIDE)) {
            constexpr int WORDS = R::BYTES / WIDE;
            Word<WIDE>* to = reinterpret_cast<Word<WIDE>*>(target) + threadIdx.x;
#pragma unroll
            for (int i = 0; i < WORDS; i++)
                to[i * THREADS] =
                    *reinterpret_cast<Word<WIDE>*>(at(((int)threadIdx.x + i * THREADS) * WIDE));
        } else {
            using Narrow = Word<R::NARROW>;
            Narrow* to = reinterpret_cast<Narrow*>(target);
            int count = valid * (int)sizeof(T) / R::NARROW;
#pragma unroll 8
            for (int i = threadIdx.x; i < count; i += THREADS)
                to[i] = *reinterpret_cast<Narrow*>(at(i * R::NARROW));
        }
    }

    /// Copies them backwards: the first element goes just before `end`.
    __device__ __forceinline__ void store_reversed(T* end, int valid) {
        constexpr int WORDS = (int)sizeof(T) / R::NARROW;
        using Narrow = Word<R::NARROW>;
        Narrow* to = reinterpret_cast<Narrow*>(end - valid);
#pragma unroll 8
        for (int i = threadIdx.x; i < valid * WORDS; i += THREADS) {
            int from = (valid - 1 - i / WORDS) * WORDS + i % WORDS;
            to[i] = *reinterpret_cast<Narrow*>(at(from * R::NARROW));
        }
    }

    /// This thread's run, of which `valid` elements count. If none does, it is the tile's first run
    /// instead: nothing was written to this one.
    __device__ __forceinline__ R read_run(int valid) {
        R run;
        Word<WIDE>* from =
            reinterpret_cast<Word<WIDE>*>(at((valid > 0 ? (int)threadIdx.x : 0) * R::BYTES));
#pragma unroll
        for (int i = 0; i < R::BYTES / WIDE; i++) run.template words<WIDE>()[i] = from[i];
        return run;
    }

    __device__ __forceinline__ void write_run(R run) {
        Word<WIDE>* to = reinterpret_cast<Word<WIDE>*>(at((int)threadIdx.x * R::BYTES));
#pragma unroll
        for (int i = 0; i < R::BYTES / WIDE; i++) to[i] = run.template words<WIDE>()[i];
    }
};

}  // namespace warpfold
