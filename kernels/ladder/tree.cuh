// The tree that many steps end with: in shared memory, over the values of a block.
#pragma once
#include "ladder/step.cuh"

/// A value for each thread of a block.
__device__ __forceinline__ T* block_values() {
    struct Values {
        T at[MOST_THREADS];
    };
    return block_shared<Values>().at;
}

/// Folds the first `count` values into the first one. Threads `stride` apart meet, from half the
/// block down to 1: those at work are neighbours, and so are the values that they touch.
__device__ __forceinline__ void fold_values(T* values, u32 count) {
    u32 t = threadIdx.x;
    for (u32 stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride && t + stride < count)
            values[t] = combine(values[t], values[t + stride]);  // ⊕
    }
}

/// What a thread starts with: two items, a block apart, or one near the end. For threads that have
/// any.
template <class In>
__device__ __forceinline__ T first_two(const In* in, u64 i, u64 length) {
    T value = item(in, i);
    if (i + blockDim.x < length) value = combine(value, item(in, i + blockDim.x));
    return value;
}
