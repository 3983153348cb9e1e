// Unaligned runs: those of an array that starts anywhere. They move in words of 16 bytes that start
// at multiples of 16.
//
// In shared memory such runs lie as they do in global memory: `offset` bytes after a multiple
// of 16. Each is read as the words that hold it, and shifted into place. On the way out the bytes
// of neighbouring lanes are shifted into whole words of the target. A warp shares the words at
// either end with others, so it stores only its part of them.
#pragma once
#include "warp/row_load.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

/// How many bytes after a multiple of 16 an address is.
__device__ __forceinline__ int offset_of(const void* address) { return (int)((u64)address & 15); }

template <class T, int RUN>
struct UnalignedRuns {
    using R = Run<T, RUN>;
    using Loader = RowLoader<T, RUN, 1>;
    using Word16 = Word<16>;
    using Narrow = Word<R::NARROW>;
    static constexpr int WORDS = R::BYTES / 16, SPAN = Loader::SPAN;
    static_assert(SPAN == WORDS + 1, "the offset is not always 0");

    /// The run that starts `offset` bytes into the words from `from` on.
    static __device__ __forceinline__ R read(const Word16* from, int offset) {
        typename Loader::Span span;
#pragma unroll
        for (int i = 0; i < WORDS; i++) span.words[i] = from[i];
        span.words[WORDS] =
            from[offset > 0 ? WORDS
                            : WORDS - 1];  // nobody wrote a word that holds nothing of the run
        R run;
        shift(run, span, offset);
        return run;
    }

    template <class Row>
    static __device__ __forceinline__ void shift(Row& run, const typename Loader::Span& span,
                                                 int offset) {
        PackedRun<T, RUN> packed;
        Loader::shift(packed, span, (u32)offset);
#pragma unroll
        for (int i = 0; i < R::BYTES / 4; i++) run.template words<4>()[i] = packed.parts[i];
    }

    /// Copies those of the bytes from `offset` to `end` that lie outside of the words from `first`
    /// to `last`. Lane 0 has nothing to do.
    static __device__ __forceinline__ void load_ends(unsigned char* to, const unsigned char* from,
                                                     int offset, int first, int last, int end) {
        int lane = threadIdx.x % WARP, byte = lane % 16 * R::NARROW;
        if (lane >= 16) byte += last;
        else if (byte < offset || byte >= first) return;
        if (byte < end)
            *reinterpret_cast<Narrow*>(to + byte) = *reinterpret_cast<const Narrow*>(from + byte);
    }

    /// Fills the bytes from `begin` to `end` of shared memory with copies of an element. Whole
    /// warps call.
    static __device__ __forceinline__ void fill(unsigned char* to, const T* element, int offset,
                                                int begin, int end) {
        constexpr int PER_ELEMENT = (int)sizeof(T) / R::NARROW;
        int lane = threadIdx.x % WARP;
        // The first run of words; the others are copies of it.
        int first = (begin + 15) / 16,
            until = first * 16 + R::BYTES < end ? first * 16 + R::BYTES : end;
        for (int byte = begin + lane * R::NARROW; byte < until; byte += WARP * R::NARROW)
            *reinterpret_cast<Narrow*>(to + byte) =
                reinterpret_cast<const Narrow*>(element)[(byte - offset) / R::NARROW % PER_ELEMENT];
        __syncwarp();
        Word16* words = reinterpret_cast<Word16*>(to);
        for (int i = first + WORDS + lane; i < (end + 15) / 16; i += WARP)
            words[i] = words[first + (i - first) % WORDS];
    }

    /// Stores the bytes [begin, limit) of rows of runs that start at `target`. Bytes outside stay
    /// as they are. `begin` is 15 at most. `whole` says that no row reaches beyond the limit.
    template <int ROWS>
    static __device__ __forceinline__ void store(MovedRun<T, RUN> (&rows)[ROWS], T* target,
                                                 int begin, int limit, bool whole) {
        int offset = offset_of(target);
        if (offset > 0) move_up(rows, offset);
        store_moved(rows, target, begin, limit, whole);
    }

    /// Stores by way of a room in shared memory for these rows, so that neighbouring lanes store
    /// neighbouring words. Nothing is written to the first word of the room.
    template <int ROWS>
    static __device__ __forceinline__ void store_staged(MovedRun<T, RUN> (&rows)[ROWS], T* target,
                                                        unsigned char* room, int begin, int limit,
                                                        bool whole) {
        using Line = UnalignedRuns<Narrow, 16 / R::NARROW>;
        MovedRun<Narrow, 16 / R::NARROW> lines[ROWS * WORDS];
        int offset = offset_of(target);
        if (offset > 0) move_up(rows, offset);
        pass_through<R::BYTES, false>(rows, room, lines);
        Line::store_moved(lines, reinterpret_cast<Narrow*>(target), begin, limit, whole);
    }

    /// Stores rows that were moved up by the offset of `target`.
    template <int ROWS>
    static __device__ __forceinline__ void store_moved(MovedRun<T, RUN> (&rows)[ROWS], T* target,
                                                       int begin, int limit, bool whole) {
        int lane = threadIdx.x % WARP, offset = offset_of(target);
        unsigned char* to = reinterpret_cast<unsigned char*>(target) - offset;
        begin += offset;
        limit += offset;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < WORDS; i++) {
                const Word16& word = rows[row].template words<16>()[i];
                int at = row * WARP * R::BYTES + lane * R::BYTES + i * 16;
                // Nothing of such a word is stored here, or a part (`store_first`).
                bool early = row == 0 && at < begin;
                if ((whole || at + 16 <= limit) && !early)
                    *reinterpret_cast<Word16*>(to + at) = word;
                if (!whole) {
                    u32 cut = __ballot_sync(ALL_LANES, at < limit && limit < at + 16 && !early);
                    if (cut != 0) {
                        int by = 31 - __clz(cut), cut_at = shuffle(at, by);
                        store_part(to + cut_at, shuffle(word, by), 0, limit - cut_at);
                    }
                }
            }
        }
        if (begin % 16 > 0) store_first(rows, to, begin, limit);
        if (offset > 0) {
            constexpr int END = ROWS * WARP * R::BYTES;
            Word16 ends = shuffle(rows[0].template words<16>()[0], 0);
            store_part(to + END, ends, 0, limit - END < offset ? limit - END : offset);
        }
    }

    /// Stores a part of a word, if `begin` lies within it: from there to its end, or to `limit`.
    template <int ROWS>
    static __device__ __forceinline__ void store_first(MovedRun<T, RUN> (&rows)[ROWS],
                                                       unsigned char* to, int begin, int limit) {
        int place = begin / 16, at = place * 16;
        Word16 word = shuffle(rows[0].template words<16>()[place % WORDS], place / WORDS);
        store_part(to + at, word, begin - at, limit - at < 16 ? limit - at : 16);
    }

    /// Moves the bytes of rows up by `offset`, 1 … 15. Begins with the last ones.
    template <int ROWS>
    static __device__ __forceinline__ void move_up(MovedRun<T, RUN> (&rows)[ROWS], int offset) {
        int lane = threadIdx.x % WARP;
        Word16 before[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            before[row] =
                shuffle(rows[row].template words<16>()[WORDS - 1], (lane + WARP - 1) % WARP);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            typename Loader::Span span;
            span.words[0] = choose(lane == 0, before[(row + ROWS - 1) % ROWS], before[row]);
#pragma unroll
            for (int i = 0; i < WORDS; i++) span.words[1 + i] = rows[row].template words<16>()[i];
            shift(rows[row], span, 16 - offset);
        }
    }

    /// Stores the bytes from `begin` to `end` of a word that all lanes know.
    static __device__ __forceinline__ void store_part(unsigned char* to, const Word16& word,
                                                      int begin, int end) {
        int byte = (int)(threadIdx.x % WARP) * R::NARROW;
        union {
            Word16 both;
            u64 halves[2];
        };
        both = word;
        u64 half = choose(byte >= 8, halves[1], halves[0]) >> byte % 8 * 8;
        if (begin <= byte && byte < end) *reinterpret_cast<Narrow*>(to + byte) = (Narrow)half;
    }
};

}  // namespace warpfold
