// Partial stores: a warp stores what lies in shared memory, or in registers, to where wide words do
// not fit.
#pragma once
#include "machine/words.cuh"

namespace warpfold {

/// Moves four words a lane at a time: all are read before the first is stored.
template <class W, class Read>
__device__ __forceinline__ void copy_words(W* to, int count, Read read) {
#pragma unroll 1
    for (int i = threadIdx.x % WARP; i < count; i += 4 * WARP) {
        W words[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * WARP < count) words[k] = read(i + k * WARP);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * WARP < count) to[i + k * WARP] = words[k];
    }
}

/// Stores bytes that lie in shared memory, by a warp, in words as wide as the target takes. Both
/// places are multiples of an element's size, and with ALIGNED that in shared memory is one of 16.
/// If elements are shorter than 4 bytes, words have 4 bytes, except at the ends. Words are read
/// whole, also the first and the last.
template <bool ALIGNED = true, class T>
__device__ __forceinline__ void store_bytes(T* target, const unsigned char* row, int bytes) {
    constexpr int NARROW = Run<T, 1>::NARROW;
    if constexpr (NARROW >= 4) {
        using Narrow = Word<NARROW>;
        const Narrow* from = reinterpret_cast<const Narrow*>(row);
        copy_words(reinterpret_cast<Narrow*>(target), bytes / NARROW,
                   [=](int i) { return from[i]; });
    } else {
        unsigned char* to = reinterpret_cast<unsigned char*>(target);
        int lane = threadIdx.x % WARP, head = (int)(-(u64)to % 4);
        if (head > bytes) head = bytes;
        int words = (bytes - head) / 4, end = head + 4 * words;
        int shift = ALIGNED ? head : (int)((u64)(row + head) % 4), next = shift > 0 ? 1 : 0;
        const u32* from = reinterpret_cast<const u32*>(row + head - shift);
        copy_words(reinterpret_cast<u32*>(to + head), words, [=](int i) {
            return (u32)(((u64)from[i + next] << 32 | from[i]) >> 8 * shift);
        });
        // At most three bytes at either end: by lanes below 4, and by those from 4 on.
        int byte = lane < 4 ? lane : end + lane - 4;
        if (byte < (lane < 4 ? head : bytes)) to[byte] = row[byte];
    }
}

/// Stores rows of runs to `target`, a multiple of 16 bytes, from registers. What lies `limit` bytes
/// after it, or farther, stays as it is. `whole` says that nothing does. The limit is a multiple of
/// PART bytes.
template <int PART, int BYTES, class Moved, int ROWS>
__device__ __forceinline__ void store_aligned(void* target, Moved (&rows)[ROWS], int limit,
                                              bool whole) {
    constexpr int WORDS = BYTES / 16;
    unsigned char* to = reinterpret_cast<unsigned char*>(target);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            int at = ((row * WARP + (int)(threadIdx.x % WARP)) * WORDS + i) * 16;
            if (whole || at + 16 <= limit) {
                *reinterpret_cast<Word<16>*>(to + at) = rows[row].template words<16>()[i];
            } else if (at < limit) {
#pragma unroll
                for (int byte = 0; byte < 16; byte += PART)
                    if (at + byte < limit)
                        *reinterpret_cast<Word<PART>*>(to + at + byte) =
                            rows[row].template words<PART>()[(i * 16 + byte) / PART];
            }
        }
    }
}

/// Passes rows of runs through a room in shared memory, so that neighbouring lanes get neighbouring
/// words of 16 bytes. Unless it may be written, the FIRST word goes by register.
template <int BYTES, bool FIRST, class Moved, int ROWS, class Line>
__device__ __forceinline__ void pass_through(Moved (&rows)[ROWS], unsigned char* room,
                                             Line (&lines)[ROWS * BYTES / 16]) {
    constexpr int WORDS = BYTES / 16;
    Word<16>* in_room = reinterpret_cast<Word<16>*>(room);
    int lane = threadIdx.x % WARP, turn = Turns<WORDS>::turn();
    Word<16> first = rows[0].template words<16>()[0];
    __syncwarp();  // all lanes have read what is there
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        Word<16> words[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i++) words[i] = rows[row].template words<16>()[i];
        Turns<WORDS>::sort(words);
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            if (FIRST || row > 0 || i > 0 || lane > 0)
                in_room[(row * WARP + lane) * WORDS + (i ^ turn)] = words[i];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < ROWS * WORDS; i++) {
        Word<16>& word = lines[i].template words<16>()[0];
        if (FIRST || i > 0) word = in_room[i * WARP + lane];
        else word = choose(lane == 0, first, in_room[lane > 0 ? lane : 1]);
    }
}

/// Stores as `store_aligned` does, by way of a room in shared memory for these rows.
template <int PART, int BYTES, class Moved, int ROWS>
__device__ __forceinline__ void store_staged(void* target, Moved (&rows)[ROWS], unsigned char* room,
                                             int limit, bool whole) {
    Run<Word<16>, 1> lines[ROWS * BYTES / 16];
    pass_through<BYTES, true>(rows, room, lines);
    store_aligned<PART, 16>(target, lines, limit, whole);
}

/// Stores from registers where words of 16 bytes fit, and by way of shared memory elsewhere.
template <int RUN, int ROOM>
struct RowStore {
    /// How many items the room is for.
    static constexpr int ITEMS = ROOM, ROW = WARP * RUN;

    /// The warp's own.
    unsigned char* room;
    bool aligned;

    /// Where the warp holds positions: so many bytes behind the start of its room.
    __device__ __forceinline__ u16* positions(int at) const {
        return reinterpret_cast<u16*>(room + at);
    }

    /// Says that the room was used for the last time.
    __device__ __forceinline__ void release() const {}

    /// Stores rows from `target` on, except what comes `limit` items after it or later.
    template <class T, class Moved, int COUNT>
    __device__ __forceinline__ void rows(T* target, Moved (&rows)[COUNT], int limit) const {
        using R = Run<T, RUN>;
        int lane = threadIdx.x % WARP;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            int end = limit - k * ROW < ROW ? limit - k * ROW : ROW;
            if constexpr (R::BYTES % 16 == 0) {
                if (aligned && end == ROW) {
                    Moved one[1] = {rows[k]};
                    if constexpr (R::BYTES > 16)
                        store_staged<R::PART, R::BYTES>(target + k * ROW, one, room, 0, true);
                    else store_aligned<R::PART, R::BYTES>(target + k * ROW, one, 0, true);
                    continue;
                }
            }
            if (end > 0) {
                constexpr int WORDS = R::BYTES / R::WIDE;
                __syncwarp();
#pragma unroll
                for (int i = 0; i < WORDS; i++)
                    reinterpret_cast<Word<R::WIDE>*>(room)[lane * WORDS + i] =
                        rows[k].template words<R::WIDE>()[i];
                __syncwarp();
                store_bytes(target + k * ROW, room, end * (int)sizeof(T));
            }
        }
    }

    /// Stores rows backwards, the first item just before `end`, except what comes `limit` items
    /// after the first or later.
    template <class T, class Moved, int COUNT>
    __device__ __forceinline__ void reversed_rows(T* end, Moved (&rows)[COUNT], int limit) const {
        using R = Run<T, RUN>;
        constexpr int WORDS = R::BYTES / R::PART / RUN;
        int lane = threadIdx.x % WARP;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            int count = limit - k * ROW < ROW ? limit - k * ROW : ROW;
            if (count <= 0) continue;
            if constexpr (R::BYTES % 16 == 0) {
                if (count == ROW && is_aligned(end, 16)) {
                    R run;
#pragma unroll
                    for (int i = 0; i < RUN; i++) {
#pragma unroll
                        for (int word = 0; word < WORDS; word++)
                            run.template words<R::PART>()[(RUN - 1 - i) * WORDS + word] =
                                rows[k].template words<R::PART>()[i * WORDS + word];
                    }
                    Word<16>* to = reinterpret_cast<Word<16>*>(end - k * ROW - (lane + 1) * RUN);
#pragma unroll
                    for (int i = 0; i < R::BYTES / 16; i++)
                        to[i] = run.template words<16>()[i];
                    continue;
                }
            }
            __syncwarp();
            Word<R::PART>* to = reinterpret_cast<Word<R::PART>*>(room);
#pragma unroll
            for (int i = 0; i < RUN; i++) {
#pragma unroll
                for (int word = 0; word < WORDS; word++)
                    to[(ROW - 1 - lane * RUN - i) * WORDS + word] =
                        rows[k].template words<R::PART>()[i * WORDS + word];
            }
            __syncwarp();
            store_bytes<false>(end - k * ROW - count, room + (ROW - count) * (int)sizeof(T),
                               count * (int)sizeof(T));
        }
    }
};

}  // namespace warpfold
