// Shared memory without bank conflicts.
//
// Shared memory has 32 banks of 4 bytes. Lanes that touch different words of one bank wait for each
// other. A tree walk touches elements at strides of powers of two, which is the worst case.
// Elements are moved in words as wide as their size allows, whatever their alignment in C++. Two
// paddings, both measured in such words, spread them over the banks:
//
//   - an element spans an odd number of words, so that neighbouring elements start in different
//     banks whatever the element's size (64 bytes take five words of 16, not four);
//   - one more word after every 32 elements, so that elements 32 apart do too.
#pragma once
#include "machine/words.cuh"

namespace warpfold {

/// A value in shared memory, as the words that it is moved in.
template <class T>
struct InWords {
    static constexpr int WORD = word_bytes((int)sizeof(T));
    static constexpr int WORDS = (int)sizeof(T) / WORD;

    static __device__ __forceinline__ T get(const unsigned char* at) {
        Run<T, 1> value;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            value.template words<WORD>()[i] = reinterpret_cast<const Word<WORD>*>(at)[i];
        return value.items[0];
    }

    static __device__ __forceinline__ void set(unsigned char* at, const T& element) {
        Run<T, 1> value;
        value.items[0] = element;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            reinterpret_cast<Word<WORD>*>(at)[i] = value.template words<WORD>()[i];
    }
};

template <class T, int LENGTH>
struct PaddedArray {
    static constexpr int WORD = InWords<T>::WORD, WORDS = InWords<T>::WORDS;
    static constexpr int STRIDE = (WORDS % 2 == 0 ? WORDS + 1 : WORDS) * WORD;
    static constexpr int BYTES = LENGTH * STRIDE + LENGTH / WARP * WORD;

    alignas(16) unsigned char bytes[BYTES];

    __device__ __forceinline__ unsigned char* at(int i) {
        return bytes + i * STRIDE + (int)((u32)i / WARP) * WORD;
    }
    __device__ __forceinline__ T get(int i) { return InWords<T>::get(at(i)); }
    __device__ __forceinline__ void set(int i, const T& element) {
        InWords<T>::set(at(i), element);
    }
};

}  // namespace warpfold
