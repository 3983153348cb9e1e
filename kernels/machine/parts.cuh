// Elements of several short numbers, whose operator treats each number by itself. It computes with
// words: four bytes at once, or two numbers of 16 bits.
#pragma once
#include "machine/words.cuh"

namespace warpfold {

/// An operation that a GPU has for pairs of short numbers. Operators that are one of them, or that
/// apply one to each of their numbers, were recognised (src/operator/pairs.rs, parts.rs).
enum class InPairs { ADD, MINIMUM, MAXIMUM, AND, OR, XOR };

template <class A>
constexpr bool IS_SIGNED_NUMBER = false;
template <>
inline constexpr bool IS_SIGNED_NUMBER<i8> = true;
template <>
inline constexpr bool IS_SIGNED_NUMBER<i16> = true;

/// The extremes of both numbers of 16 bits.
template <InPairs OPERATION, bool SIGNED>
__device__ __forceinline__ u32 extremes_of_pairs(u32 a, u32 b) {
    if constexpr (OPERATION == InPairs::MINIMUM) return SIGNED ? min_i16x2(a, b) : min_u16x2(a, b);
    else return SIGNED ? max_i16x2(a, b) : max_u16x2(a, b);
}

/// An operation on each of the numbers in a word.
template <class Number, InPairs OPERATION>
__device__ __forceinline__ u32 on_each(u32 a, u32 b) {
    constexpr bool ARE_BYTES = sizeof(Number) == 1, SIGNED = IS_SIGNED_NUMBER<Number>;
    if constexpr (OPERATION == InPairs::AND) return a & b;
    else if constexpr (OPERATION == InPairs::OR) return a | b;
    else if constexpr (OPERATION == InPairs::XOR) return a ^ b;
    else if constexpr (OPERATION == InPairs::ADD) {
        // The highest bits by themselves: they must not carry over.
        constexpr u32 HIGHEST = ARE_BYTES ? 0x80808080 : 0x80008000;
        return ((a & ~HIGHEST) + (b & ~HIGHEST)) ^ ((a ^ b) & HIGHEST);
    } else {
        u32 odd = extremes_of_pairs<OPERATION, SIGNED>(a, b);
        if constexpr (!ARE_BYTES) return odd;
        // Bytes are the upper ones of their 16 bits. What is below them decides nothing.
        u32 even = extremes_of_pairs<OPERATION, SIGNED>(a << 8, b << 8);
        return __byte_perm(even, odd, 0x7351);
    }
}

/// An operation for each of the numbers that an element consists of.
template <class Number, InPairs... OPERATIONS>
struct InParts {
    static constexpr int COUNT = sizeof...(OPERATIONS), IN_WORD = 4 / (int)sizeof(Number),
                         WORDS = (COUNT + IN_WORD - 1) / IN_WORD;
    /// Whether this GPU has all of them: extremes of pairs are younger than the rest.
    static constexpr bool FITS =
        HAS_PAIRS || ((OPERATIONS != InPairs::MINIMUM && OPERATIONS != InPairs::MAXIMUM) && ...);

    /// The bits of a word that an operation computes. Those that no number fills are computed, too,
    /// in any way.
    static __device__ constexpr u32 mask(int word, InPairs operation) {
        constexpr InPairs ALL[] = {OPERATIONS...};
        u32 mask = 0;
        for (int i = 0; i < IN_WORD; i++) {
            int number = word * IN_WORD + i;
            if (ALL[number < COUNT ? number : word * IN_WORD] == operation)
                mask |= (sizeof(Number) == 1 ? 0xffu : 0xffffu) << (8 * (int)sizeof(Number) * i);
        }
        return mask;
    }

    template <int WORD, InPairs OPERATION>
    static __device__ __forceinline__ void add_to(u32& result, u32 a, u32 b) {
        constexpr u32 MASK = mask(WORD, OPERATION);
        if constexpr (MASK == ~0u) result = on_each<Number, OPERATION>(a, b);
        else if constexpr (MASK != 0) result |= on_each<Number, OPERATION>(a, b) & MASK;
    }

    template <int WORD>
    static __device__ __forceinline__ void combine_words(u32 (&a)[WORDS], const u32 (&b)[WORDS]) {
        u32 result = 0;
        add_to<WORD, InPairs::ADD>(result, a[WORD], b[WORD]);
        add_to<WORD, InPairs::MINIMUM>(result, a[WORD], b[WORD]);
        add_to<WORD, InPairs::MAXIMUM>(result, a[WORD], b[WORD]);
        add_to<WORD, InPairs::AND>(result, a[WORD], b[WORD]);
        add_to<WORD, InPairs::OR>(result, a[WORD], b[WORD]);
        add_to<WORD, InPairs::XOR>(result, a[WORD], b[WORD]);
        a[WORD] = result;
        if constexpr (WORD + 1 < WORDS) combine_words<WORD + 1>(a, b);
    }

    /// Of values that are held in words.
    template <class T>
    static __device__ __forceinline__ T combine(const T& a, const T& b) {
        static_assert(sizeof(T) == 4 * WORDS, "values are held in words");
        Words<T> first, second;
        first.value = a;
        second.value = b;
        combine_words<0>(first.words, second.words);
        return first.value;
    }
};

}  // namespace warpfold
