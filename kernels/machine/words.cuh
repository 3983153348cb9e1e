// Moving elements of any size as machine words.
#pragma once
#include "machine/types.cuh"

namespace warpfold {

/// An unsigned word of BYTES bytes; the hardware moves 16 at once.
template <int BYTES>
struct WordOf;
template <> struct WordOf<1> { using Type = u8; };
template <> struct WordOf<2> { using Type = u16; };
template <> struct WordOf<4> { using Type = u32; };
template <> struct WordOf<8> { using Type = u64; };
template <> struct WordOf<16> { using Type = u64x2; };

template <int BYTES>
using Word = typename WordOf<BYTES>::Type;

/// The largest power of two, at most 16, that divides `bytes`.
__device__ constexpr int word_bytes(int bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

/// Whether two types are one.
template <class S, class T>
constexpr bool SAME = false;
template <class T>
constexpr bool SAME<T, T> = true;

/// The exponent of a power of two.
template <int POWER>
constexpr int LOG2 = 1 + LOG2<POWER / 2>;
template <>
constexpr int LOG2<1> = 0;

/// Whether a register has room for more than one number of a type.
template <class T>
constexpr bool IS_SHORT_NUMBER = sizeof(T) <= 2 && !__is_class(T);

/// A word of elements that was loaded within a wider one. If they are short, or consist of what is,
/// the compiler is to take them from this word and not from that: then `word_of` costs nothing.
template <class T>
__device__ __forceinline__ u32 as_word_of(u32 word) {
    return IS_SHORT_NUMBER<T> || IS_HELD<T> ? in_register(word) : word;
}

/// A value as the words that lanes exchange.
template <class T>
union Words {
    static constexpr int COUNT = ((int)sizeof(T) + 3) / 4;
    u32 words[COUNT];
    T value;
};

/// RUN elements as the registers that hold them. Shifts of whole registers take the elements out;
/// for short elements the compiler would not find them by itself.
template <class T, int RUN>
struct PackedRun {
    static constexpr int BYTES = RUN * (int)sizeof(T);
    static constexpr int PARTS = (BYTES + 3) / 4;

    u32 parts[PARTS];

    __device__ __forceinline__ T get(int i) const {
        Words<T> element;
#pragma unroll
        for (int word = 0; word < Words<T>::COUNT; word++) {
            int byte = i * (int)sizeof(T) + 4 * word, part = byte / 4, shift = byte % 4 * 8;
            u32 low = parts[part] >> shift;
            bool split = shift != 0 && (int)sizeof(T) - 4 * word > 4 - byte % 4;
            element.words[word] = split ? low | parts[part + 1] << (32 - shift) : low;
        }
        return element.value;
    }

    __device__ __forceinline__ void set(const T (&elements)[RUN]) {
        union {
            u32 words[PARTS];
            T elements[RUN];
        } run;
        run.words[PARTS - 1] = 0;
#pragma unroll
        for (int i = 0; i < RUN; i++) run.elements[i] = elements[i];
#pragma unroll
        for (int i = 0; i < PARTS; i++) parts[i] = run.words[i];
    }

    /// Sets all elements by shifts, for those that are in registers as words.
    __device__ __forceinline__ void pack(const T (&elements)[RUN]) {
#pragma unroll
        for (int i = 0; i < PARTS; i++) parts[i] = 0;
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            Words<T> element;
            element.words[Words<T>::COUNT - 1] = 0;
            element.value = elements[i];
#pragma unroll
            for (int word = 0; word < Words<T>::COUNT; word++) {
                int byte = i * (int)sizeof(T) + 4 * word, part = byte / 4, shift = byte % 4 * 8;
                parts[part] |= element.words[word] << shift;
                if (shift != 0 && (int)sizeof(T) - 4 * word > 4 - byte % 4)
                    parts[part + 1] |= element.words[word] >> (32 - shift);
            }
        }
    }
};

/// ITEMS consecutive elements as one lane holds them: as elements, or as the words to move.
template <class T, int ITEMS>
struct alignas(16) Run {
    static constexpr int BYTES = ITEMS * (int)sizeof(T);
    /// The widest word that tiles a run, and the one that every element address is aligned to.
    static constexpr int WIDE = word_bytes(BYTES);
    static constexpr int NARROW = alignof(T) < 16 ? (int)alignof(T) : 16;
    /// The widest word that tiles an element.
    static constexpr int PART = word_bytes((int)sizeof(T));

    T items[ITEMS];

    template <int BYTES_PER_WORD>
    __device__ __forceinline__ Word<BYTES_PER_WORD>* words() {
        return reinterpret_cast<Word<BYTES_PER_WORD>*>(items);
    }

    /// The items, once the run was moved.
    __device__ __forceinline__ void items_by_words(T (&to)[ITEMS]) {
        if constexpr (IS_SHORT_NUMBER<T> && BYTES % 4 == 0) {
            constexpr int IN_WORD = 4 / (int)sizeof(T);
#pragma unroll
            for (int i = 0; i < ITEMS; i += IN_WORD) {
                u32 word = as_word_of<T>(words<4>()[i / IN_WORD]);
#pragma unroll
                for (int k = 0; k < IN_WORD; k++) to[i + k] = (T)(word >> (8 * (int)sizeof(T) * k));
            }
        } else if constexpr (IS_HELD<T> && BYTES % 4 == 0) {
            PackedRun<T, ITEMS> packed;
#pragma unroll
            for (int i = 0; i < BYTES / 4; i++) packed.parts[i] = as_word_of<T>(words<4>()[i]);
#pragma unroll
            for (int i = 0; i < ITEMS; i++) to[i] = packed.get(i);
        } else {
#pragma unroll
            for (int i = 0; i < ITEMS; i++) to[i] = items[i];
        }
    }
};

/// Whether `address` is a multiple of `bytes`.
__device__ __forceinline__ bool is_aligned(const void* address, int bytes) {
    return ((u64)address & (u64)(bytes - 1)) == 0;
}

/// A run that is only moved from now on, as words.
template <class T, int ITEMS,
          bool BYTES = (sizeof(T) == 1 || IS_HELD<T>) && ITEMS * sizeof(T) % 4 == 0>
struct MovedRunOf {
    using Type = Run<T, ITEMS>;
};
template <class T, int ITEMS>
struct MovedRunOf<T, ITEMS, true> {
    using Type = Run<u32, ITEMS * (int)sizeof(T) / 4>;
};
template <class T, int ITEMS>
using MovedRun = typename MovedRunOf<T, ITEMS>::Type;

/// Four bytes, or two numbers of 16 bits, as they lie in memory. If they came from
/// a word, the compiler finds it.
template <class A>
__device__ __forceinline__ u32 word_of(const A* items) {
    if constexpr (sizeof(A) == 2) return (u32)(u16)items[0] | (u32)(u16)items[1] << 16;
    else
        return (u32)(u8)items[0] | (u32)(u8)items[1] << 8 | (u32)(u8)items[2] << 16 |
               (u32)(u8)items[3] << 24;
}

/// The words of a run of such numbers.
template <class A, int RUN>
__device__ __forceinline__ void words_of_run(u32 (&words)[RUN * sizeof(A) / 4],
                                             const A (&items)[RUN]) {
#pragma unroll
    for (int i = 0; i < RUN * (int)sizeof(A) / 4; i++)
        words[i] = word_of(items + i * (4 / (int)sizeof(A)));
}

/// The run of these elements. The compiler by itself would put bytes together in three times as
/// many instructions.
template <class T, int ITEMS>
__device__ __forceinline__ MovedRun<T, ITEMS> pack_run(const T (&items)[ITEMS]) {
    MovedRun<T, ITEMS> run;
    if constexpr (SAME<MovedRun<T, ITEMS>, Run<T, ITEMS>>) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) run.items[i] = items[i];
    } else if constexpr (IS_HELD<T>) {
        PackedRun<T, ITEMS> packed;
        packed.pack(items);
#pragma unroll
        for (int i = 0; i < packed.PARTS; i++) run.items[i] = packed.parts[i];
    } else {
        union Byte {
            T value;
            u8 bits;
        };
#pragma unroll
        for (int i = 0; i < ITEMS; i += 4) {
            Byte bytes[4];
#pragma unroll
            for (int k = 0; k < 4; k++) bytes[k].value = items[i + k];
            run.items[i / 4] =
                pack_bytes(bytes[0].bits, bytes[1].bits, bytes[2].bits, bytes[3].bits);
        }
    }
    return run;
}

/// Whether the compiler moves values of a type through registers by itself. It does, unless the
/// type is a struct. Leaving such values to it compiles faster.
template <class T>
constexpr bool IS_SCALAR = !__is_class(T) && !__is_union(T);

/// `condition ? a : b`; for structs, word by word. Choosing between addresses would move the values
/// out of the registers.
template <class T>
__device__ __forceinline__ T choose(bool condition, const T& a, const T& b) {
    if constexpr (IS_SCALAR<T>) {
        T first = a, second = b;
        return condition ? first : second;
    } else {
        Words<T> first, second, chosen;
        first.words[Words<T>::COUNT - 1] = 0;
        first.value = a;
        second.words[Words<T>::COUNT - 1] = 0;
        second.value = b;
#pragma unroll
        for (int i = 0; i < Words<T>::COUNT; i++)
            chosen.words[i] = condition ? first.words[i] : second.words[i];
        return chosen.value;
    }
}

/// In which order lanes move the words of neighbouring runs of WORDS words of 16 bytes to and from
/// shared memory.
///
/// 8 lanes move a word each at once, if these lie in different banks. The first words of runs of an
/// even number of words lie in few of them. So lanes take turns: lane l moves word `i ^ turn()` in
/// step i, and sorts its words afterwards.
template <int WORDS>
struct Turns {
    /// The words among which lanes take turns: the largest power of two in WORDS, at most 8.
    static constexpr int COUNT = WORDS % 8 == 0 ? 8 : WORDS & -WORDS;

    static __device__ __forceinline__ int turn() {
        return (int)(threadIdx.x / (8 / COUNT)) & (COUNT - 1);
    }

    /// Swaps words, so that place i holds word i of those that were moved in turn; or back again.
    static __device__ __forceinline__ void sort(Word<16> (&words)[WORDS]) {
        int turn = Turns::turn();
#pragma unroll
        for (int bit = 1; bit < COUNT; bit *= 2) {
            bool swaps = (turn & bit) != 0;
#pragma unroll
            for (int i = 0; i < WORDS; i++) {
                if ((i & bit) != 0) continue;
                Word<16> low = words[i], high = words[i | bit];
                words[i] = choose(swaps, high, low);
                words[i | bit] = choose(swaps, low, high);
            }
        }
    }
};

/// What one of two functions returns. Both are called, without a branch. Each sets a flag if it is
/// unsure, and only that of the one that is chosen counts.
template <class T, class First, class Second>
__device__ __forceinline__ T either(bool& unsure, bool condition, First first, Second second) {
    bool first_unsure = false, second_unsure = false;
    T a = first(first_unsure), b = second(second_unsure);
    unsure |= condition ? first_unsure : second_unsure;
    return choose(condition, a, b);
}

/// The value that the lane whose index differs in the bits of `mask` holds.
template <class T>
__device__ __forceinline__ T shuffle_xor(const T& value, int mask) {
    if constexpr (IS_SCALAR<T> && sizeof(T) >= 4 && sizeof(T) <= 8) {
        return __shfl_xor_sync(ALL_LANES, value, mask);
    } else {
        Words<T> mine, theirs;
        mine.words[Words<T>::COUNT - 1] = 0;
        mine.value = value;
#pragma unroll
        for (int i = 0; i < Words<T>::COUNT; i++)
            theirs.words[i] = __shfl_xor_sync(ALL_LANES, mine.words[i], mask);
        return theirs.value;
    }
}

/// The value that `lane` holds.
template <class T>
__device__ __forceinline__ T shuffle(const T& value, int lane) {
    if constexpr (IS_SCALAR<T> && sizeof(T) >= 4 && sizeof(T) <= 8) {
        return __shfl_sync(ALL_LANES, value, lane);
    } else {
        Words<T> mine, theirs;
        mine.words[Words<T>::COUNT - 1] = 0;
        mine.value = value;
#pragma unroll
        for (int i = 0; i < Words<T>::COUNT; i++)
            theirs.words[i] = __shfl_sync(ALL_LANES, mine.words[i], lane);
        return theirs.value;
    }
}

/// A value that is the same in all lanes of a warp anyway. This tells the compiler, so that it need
/// not rejoin lanes that branched on such a value.
template <class T>
__device__ __forceinline__ T same_in_all_lanes(const T& value) {
    return shuffle(value, 0);
}

/// The number of the warp in its block.
__device__ __forceinline__ int warp_index() { return same_in_all_lanes((int)threadIdx.x / WARP); }

/// Whether a condition holds in any lane.
__device__ __forceinline__ bool any_lane(bool condition) {
    return __any_sync(ALL_LANES, condition);
}

}  // namespace warpfold
