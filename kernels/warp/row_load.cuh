// Rows of runs, read straight from global memory into registers. A row is 32 lanes with one run of
// neighbouring elements each, so every access of a warp is coalesced.
//
// Memory gives 16 bytes at a time if they start at a multiple of 16. An unaligned run is read in
// words of 4 or 8 bytes, if elements are aligned to those. Otherwise (short elements, odd sizes) it
// is read as the aligned words of 16 bytes that hold it, and shifted into place. Such a word can
// hold something else only beside the first run of an array and its last. The caller must handle
// those two. Reductions pass rows of odd sizes through shared memory instead.
#pragma once
#include "warp/lanes.cuh"

namespace warpfold {

template <class T, int RUN, int ROWS>
struct RowLoader {
    using Packed = PackedRun<T, RUN>;
    using Word16 = Word<16>;
    static constexpr int BYTES = Packed::BYTES, PARTS = Packed::PARTS;
    static constexpr int ALIGN = alignof(T) < 16 ? (int)alignof(T) : 16;
    static constexpr bool TILES_WORDS = BYTES % 16 == 0;
    /// Whether runs that start anywhere are read in words that elements are aligned to.
    static constexpr bool BY_PARTS = TILES_WORDS && ALIGN >= 4;
    /// The words that may hold a run.
    static constexpr int SPAN = (BYTES + (16 - ALIGN) + 15) / 16;
    static_assert(BYTES >= 16,
                  "neighbours of the first and the last run share no words with what is outside");

    union Span {
        Word16 words[SPAN];
        u32 parts[4 * SPAN];
    };

    /// Whether runs of some array must be shifted.
    static constexpr bool SHIFTS = !TILES_WORDS || ALIGN < 16;

    /// Whether runs must be shifted.
    static __device__ __forceinline__ bool shifts(const T* from) {
        return !TILES_WORDS || (ALIGN < 16 && !is_aligned(from, 16));
    }

    /// Whether runs are shifted, and the words that hold the run at `from` reach before or beyond
    /// an array.
    static __device__ __forceinline__ bool reaches_before(const T* from, const T* begin) {
        return !BY_PARTS && ((u64)from & ~(u64)15) < (u64)begin;
    }
    static __device__ __forceinline__ bool reaches_beyond(const T* from, const T* end) {
        return !BY_PARTS && ((u64)from & ~(u64)15) + 16 * SPAN > (u64)end;
    }

    /// Rows from `from` on. A lane whose run comes before the first or after the last gets one of
    /// those. All loads are issued before the first is waited for.
    static __device__ __forceinline__ void load(Packed (&rows)[ROWS], const T* from, int first,
                                                int last, bool shifted) {
        if constexpr (!TILES_WORDS) {
            load_shifted(rows, from, first, last);
        } else if constexpr (ALIGN < 16) {
            if (!shifted) {
                load_aligned(rows, from, last);
            } else {
                if constexpr (BY_PARTS) load_parts(rows, from, last);
                else load_shifted(rows, from, first, last);
                // Otherwise the compiler joins the two ways, and then it may put loads off until
                // earlier ones are used.
                __syncwarp();
            }
        } else {
            load_aligned(rows, from, last);
        }
    }

    static __device__ __forceinline__ void load_aligned(Packed (&rows)[ROWS], const T* from,
                                                        int last) {
        constexpr int WORDS = BYTES / 16;
        const Word16* words = reinterpret_cast<const Word16*>(from);
        Span spans[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run > last) run = last;
#pragma unroll
            for (int i = 0; i < WORDS; i++) spans[row].words[i] = words[run * WORDS + i];
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < PARTS; i++) rows[row].parts[i] = as_word_of<T>(spans[row].parts[i]);
        }
    }

    static __device__ __forceinline__ void load_parts(Packed (&rows)[ROWS], const T* from,
                                                      int last) {
        constexpr int WORD = ALIGN < 8 ? 4 : 8, WORDS = BYTES / WORD;
        union {
            Word<WORD> words[WORDS];
            u32 parts[PARTS];
        } runs[ROWS];
        const Word<WORD>* words = reinterpret_cast<const Word<WORD>*>(from);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run > last) run = last;
#pragma unroll
            for (int i = 0; i < WORDS; i++) runs[row].words[i] = words[run * WORDS + i];
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < PARTS; i++) rows[row].parts[i] = runs[row].parts[i];
        }
    }

    static __device__ __forceinline__ void load_shifted(Packed (&rows)[ROWS], const T* from,
                                                        int first, int last) {
        Span spans[ROWS];
        u32 offsets[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run < first) run = first;
            if (run > last) run = last;
            const unsigned char* bytes = reinterpret_cast<const unsigned char*>(from) + run * BYTES;
            offsets[row] = (u32)(u64)bytes & 15;
            const Word16* words = reinterpret_cast<const Word16*>(bytes - offsets[row]);
#pragma unroll
            for (int i = 0; i < SPAN; i++) spans[row].words[i] = words[i];
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) shift(rows[row], spans[row], offsets[row]);
    }

    /// The run that starts `offset` bytes into the words that hold it.
    static __device__ __forceinline__ void shift(Packed& run, const Span& span, u32 offset) {
        u32 parts[4 * SPAN];
#pragma unroll
        for (int i = 0; i < 4 * SPAN; i++) parts[i] = span.parts[i];
        if constexpr (ALIGN <= 8) shift_parts<2>(parts, (offset & 8) != 0);
        if constexpr (ALIGN <= 4) shift_parts<1>(parts, (offset & 4) != 0);
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            u32 low = parts[i];
            if constexpr (ALIGN < 4) {
                static_assert(PARTS < 4 * SPAN, "a word follows the last part of a run");
                low = (u32)(((u64)parts[i + 1] << 32 | low) >> (8 * (offset & 3)));
            }
            run.parts[i] = low;
        }
    }

    template <int BY>
    static __device__ __forceinline__ void shift_parts(u32 (&parts)[4 * SPAN], bool wanted) {
#pragma unroll
        for (int i = 0; i + BY < 4 * SPAN; i++) parts[i] = wanted ? parts[i + BY] : parts[i];
    }
};

/// For runs shorter than 16 bytes, whose elements lie beside larger ones in other arrays.
template <class T, int RUN, int ROWS>
struct ShortRowLoader {
    using Packed = PackedRun<T, RUN>;
    using R = Run<T, RUN>;
    static constexpr bool SHIFTS = false;

    static __device__ __forceinline__ bool shifts(const T*) { return false; }
    static __device__ __forceinline__ bool reaches_before(const T*, const T*) { return false; }
    static __device__ __forceinline__ bool reaches_beyond(const T*, const T*) { return false; }

    static __device__ __forceinline__ void load(Packed (&rows)[ROWS], const T* from, int first,
                                                int last, bool) {
        R runs[ROWS];
        if (is_aligned(from, R::WIDE)) load_words<R::WIDE>(runs, from, first, last);
        else load_words<R::NARROW>(runs, from, first, last);
#pragma unroll
        for (int row = 0; row < ROWS; row++) rows[row].set(runs[row].items);
    }

    template <int WORD>
    static __device__ __forceinline__ void load_words(R (&runs)[ROWS], const T* from, int first,
                                                      int last) {
        constexpr int WORDS = R::BYTES / WORD;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run < first) run = first;
            if (run > last) run = last;
#pragma unroll
            for (int i = 0; i < WORDS; i++)
                runs[row].template words<WORD>()[i] =
                    reinterpret_cast<const Word<WORD>*>(from)[run * WORDS + i];
        }
    }
};

/// Where the warps of a block lay out rows, one at a time, of whatever slice. All slices of a
/// source share it, so it takes at most 32 KiB.
template <int WARPS>
struct RowStaging {
    static constexpr int BYTES = (32 << 10) / (WARPS < 16 ? 16 : WARPS);
    alignas(16) unsigned char rows[WARPS][BYTES];
};

/// For runs that tile no words of 16 bytes, of elements that are aligned to 4 bytes. If each lane
/// read its own run, word by word, all lanes would touch all lines of the row with every word. Here
/// a warp reads a row as it lies in memory, each line once, and passes it on through shared memory.
template <class T, int RUN, int ROWS, int WARPS>
struct StagedRowLoader {
    using Packed = PackedRun<T, RUN>;
    static constexpr int WORD = alignof(T) < 8 ? 4 : 8;
    static constexpr int WORDS = Packed::BYTES / WORD;
    static constexpr bool SHIFTS = false;

    static __device__ __forceinline__ bool shifts(const T*) { return false; }
    static __device__ __forceinline__ bool reaches_before(const T*, const T*) { return false; }
    static __device__ __forceinline__ bool reaches_beyond(const T*, const T*) { return false; }

    /// By a whole warp. Nothing reaches before, so the first run is 0.
    static __device__ __forceinline__ void load(Packed (&rows)[ROWS], const T* from, int, int last,
                                                bool) {
        int lane = threadIdx.x % WARP, end = (last + 1) * WORDS;
        const Word<WORD>* words = reinterpret_cast<const Word<WORD>*>(from);
        Word<WORD> held[ROWS][WORDS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < WORDS; i++) {
                int word = (row * WORDS + i) * WARP + lane;
                held[row][i] = words[word < end ? word : end - 1];
            }
        }
        auto* staged = reinterpret_cast<Word<WORD>*>(
            block_shared<RowStaging<WARPS>>().rows[threadIdx.x / WARP]);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            __syncwarp();
#pragma unroll
            for (int i = 0; i < WORDS; i++) staged[i * WARP + lane] = held[row][i];
            __syncwarp();
            int here = last - row * WARP;
            if (row == 0 || here >= 0) rows[row] = run(staged, lane < here ? lane : here);
            else rows[row] = rows[0];
        }
    }

    /// A run of a row.
    static __device__ __forceinline__ Packed run(const Word<WORD>* staged, int i) {
        union {
            Word<WORD> words[WORDS];
            Packed run;
        } copy;
#pragma unroll
        for (int word = 0; word < WORDS; word++) copy.words[word] = staged[i * WORDS + word];
        return copy.run;
    }
};

/// Whether rows are loaded like this: if it helps, and there is room for one.
template <class T, int RUN, int WARPS>
__device__ constexpr bool is_staged() {
    constexpr int BYTES = RUN * (int)sizeof(T);
    if constexpr (WARPS == 0 || BYTES <= 16 || BYTES % 16 == 0 || alignof(T) < 4) return false;
    else return WARP * BYTES <= RowStaging<WARPS>::BYTES;
}

template <class T, int RUN, int ROWS, int WARPS, bool SHORT = (RUN * sizeof(T) < 16),
          bool STAGED = is_staged<T, RUN, WARPS>()>
struct LoaderFor {
    using Type = RowLoader<T, RUN, ROWS>;
};
template <class T, int RUN, int ROWS, int WARPS>
struct LoaderFor<T, RUN, ROWS, WARPS, true, false> {
    using Type = ShortRowLoader<T, RUN, ROWS>;
};
template <class T, int RUN, int ROWS, int WARPS>
struct LoaderFor<T, RUN, ROWS, WARPS, false, true> {
    using Type = StagedRowLoader<T, RUN, ROWS, WARPS>;
};
/// The loader for runs of some length. Blocks of up to WARPS warps may take shared memory for it; 0
/// if they have none to spare.
template <class T, int RUN, int ROWS, int WARPS>
using LoaderOf = typename LoaderFor<T, RUN, ROWS, WARPS>::Type;

}  // namespace warpfold
