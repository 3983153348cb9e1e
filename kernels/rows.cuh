// Rows of runs, read straight from global memory into registers: 32 lanes, one run of neighbouring elements each, so that
// every access of a warp is coalesced.
//
// Memory gives 16 bytes at a time where they start at a multiple of 16. Runs that do not (a view that starts anywhere, elements
// of odd sizes) are read as the aligned words that hold them, and shifted into place.
#pragma once
#include "words.cuh"

namespace warpfold {

template <class T, int RUN, int ROWS>
struct RowLoader {
    using R = Run<T, RUN>;
    using Word16 = Word<16>;
    static constexpr int ALIGN = R::NARROW;
    static constexpr bool TILES_WORDS = R::BYTES % 16 == 0;
    /// The most words that a run can touch, and the 4-byte parts of one.
    static constexpr int SPAN = (R::BYTES + (16 - ALIGN) + 15) / 16;
    static constexpr int PARTS = (R::BYTES + 3) / 4;

    /// Rows from `from` on, within an array from `begin` to `end`. Lanes past the first `runs` runs get the last of those:
    /// some elements that are there. All loads are issued before the first is waited for.
    static __device__ __forceinline__ void load(R (&rows)[ROWS], const T* from, int runs, const T* begin, const T* end) {
        if constexpr (ALIGN == 16) {
            load_aligned(rows, from, runs);
        } else if constexpr (TILES_WORDS) {
            if (is_aligned(from, 16)) load_aligned(rows, from, runs);
            else load_shifted(rows, from, runs, begin, end);
        } else {
            load_shifted(rows, from, runs, begin, end);
        }
    }

    /// The run that this lane reads of a row.
    static __device__ __forceinline__ int index(int row, int runs) {
        int own = row * WARP + (int)(threadIdx.x % WARP);
        return own < runs ? own : runs - 1;
    }

    static __device__ __forceinline__ void load_aligned(R (&rows)[ROWS], const T* from, int runs) {
        constexpr int WORDS = R::BYTES / 16;
        const Word16* words = reinterpret_cast<const Word16*>(from);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = index(row, runs);
#pragma unroll
            for (int i = 0; i < WORDS; i++) rows[row].template words<16>()[i] = words[run * WORDS + i];
        }
    }

    union Span {
        Word16 words[SPAN];
        u32 parts[4 * SPAN];
    };
    union Shifted {
        u32 parts[sizeof(R) / 4];
        R run;
        __device__ __forceinline__ Shifted() {}
    };

    static __device__ __forceinline__ void load_shifted(R (&rows)[ROWS], const T* from, int runs, const T* begin, const T* end) {
        Span spans[ROWS];
        bool all_within = true;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < SPAN; i++) {
                const Word16* word = word_of(from, index(row, runs), i);
                bool within = is_within(word, begin, end);
                if (within) spans[row].words[i] = *word;
                all_within = all_within && within;
            }
        }
        if (!all_within) {
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
#pragma unroll
                for (int i = 0; i < SPAN; i++) {
                    const Word16* word = word_of(from, index(row, runs), i);
                    if (!is_within(word, begin, end)) spans[row].words[i] = edge(word, begin, end);
                }
            }
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            rows[row] = shift(spans[row], (u32)(u64)from + (u32)index(row, runs) * R::BYTES);
    }

    /// Word `i` of those that hold a run.
    static __device__ __forceinline__ const Word16* word_of(const T* from, int run, int i) {
        u64 address = (u64)from + (u64)((u32)run * R::BYTES);
        return reinterpret_cast<const Word16*>(address & ~(u64)15) + i;
    }

    static __device__ __forceinline__ bool is_within(const Word16* word, const T* begin, const T* end) {
        return (u64)word >= (u64)begin && (u64)(word + 1) <= (u64)end;
    }

    /// A word of which not all belongs to the array, or nothing. The rest is not touched.
    static __device__ __noinline__ Word16 edge(const Word16* word, const T* begin, const T* end) {
        union {
            Word16 word;
            Word<ALIGN> pieces[16 / ALIGN];
        } edge;
        const Word<ALIGN>* pieces = reinterpret_cast<const Word<ALIGN>*>(word);
#pragma unroll
        for (int i = 0; i < 16 / ALIGN; i++) {
            bool belongs = (u64)(pieces + i) >= (u64)begin && (u64)(pieces + i) < (u64)end;
            edge.pieces[i] = belongs ? pieces[i] : Word<ALIGN>{};
        }
        return edge.word;
    }

    /// The run that starts at `address`, from the words that hold it.
    static __device__ __forceinline__ R shift(Span span, u32 address) {
        Shifted shifted;
        if constexpr (ALIGN <= 8) shift_parts<2>(span.parts, (address & 8) != 0);
        if constexpr (ALIGN <= 4) shift_parts<1>(span.parts, (address & 4) != 0);
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            u32 low = span.parts[i];
            if constexpr (ALIGN < 4) {
                u32 high = i + 1 < 4 * SPAN ? span.parts[i + 1] : 0;
                low = (u32)(((u64)high << 32 | low) >> (8 * (address & 3)));
            }
            shifted.parts[i] = low;
        }
        return shifted.run;
    }

    template <int BY>
    static __device__ __forceinline__ void shift_parts(u32 (&parts)[4 * SPAN], bool wanted) {
#pragma unroll
        for (int i = 0; i + BY < 4 * SPAN; i++) parts[i] = wanted ? parts[i + BY] : parts[i];
    }
};

}  // namespace warpfold
