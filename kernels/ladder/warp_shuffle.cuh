// Lanes of the last warp hand values to each other from register to register, without memory.
#include "ladder/tree.cuh"

/// Folds the values that the first `count` lanes hold; lane 0 gets the result.
__device__ __forceinline__ T fold_lanes(T value, u32 count) {
#pragma unroll
    for (u32 stride = WARP / 2; stride >= 1; stride /= 2) {
        T other = shuffle_xor(value, (int)stride);
        if ((threadIdx.x ^ stride) < count) value = combine(value, other);
    }
    return value;
}

/// Folds the part of a block, two items for each thread; thread 0 gets the result.
template <class In>
__device__ __forceinline__ T fold_part(const In* in, u64 length) {
    T* values = block_values();
    u64 first = 2 * (u64)blockDim.x * blockIdx.x, i = first + threadIdx.x;
    u32 t = threadIdx.x, count = count_from(first, length, blockDim.x);
    if (t < count) values[t] = first_two(in, i, length);
    __syncthreads();
    for (u32 stride = blockDim.x / 2; stride >= WARP; stride /= 2) {
        if (t < stride && t + stride < count)
            values[t] = combine(values[t], values[t + stride]);  // ⊕
        __syncthreads();
    }
    T value = values[t < count ? t : 0];
    return t < WARP ? fold_lanes(value, count) : value;
}

extern "C" __global__ void warp_shuffle(const Element* in, u64 length, Cell* out) {
    begin_launch();
    T value = fold_part(in, length);
    if (threadIdx.x == 0) fold_into(out, value);
}
