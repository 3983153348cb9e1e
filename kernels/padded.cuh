// Shared memory without bank conflicts.
//
// Shared memory has 32 banks of 4 bytes; lanes that touch different words of one bank wait for each
// other. A tree walk touches elements at strides of powers of two, which is the worst case. Two
// paddings, both measured in the element's own alignment unit, spread them over the banks:
//
//   - an element spans an odd number of units, so that neighbouring elements start in different banks
//     whatever the element's size (a 64-byte struct of floats takes 17 words, not 16);
//   - one more unit after every 32 elements, so that elements 32 apart do too.
#pragma once
#include "words.cuh"

namespace warpfold {

template <class T, int LENGTH>
struct PaddedArray {
    static constexpr int UNIT = Run<T, 1>::NARROW;
    static constexpr int STRIDE = (int)sizeof(T) + ((int)sizeof(T) / UNIT % 2 == 0 ? UNIT : 0);
    static constexpr int BYTES = LENGTH * STRIDE + LENGTH / WARP * UNIT;

    alignas(16) unsigned char bytes[BYTES];

    __device__ __forceinline__ T& operator[](int i) {
        return *reinterpret_cast<T*>(bytes + i * STRIDE + i / WARP * UNIT);
    }
};

}  // namespace warpfold
