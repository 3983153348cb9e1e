// The last rounds concern one warp only. Its lanes need not wait for the block, and none drops out:
// those beyond the stride compute what nobody reads, at no cost. Since Volta lanes need not run in
// step, so __syncwarp keeps them together.
#include "ladder/tree.cuh"

/// Folds 64 values, or as many as there are, into the first one.
__device__ __forceinline__ void fold_last_warp(T* values, u32 count) {
    u32 t = threadIdx.x;
#pragma unroll
    for (u32 stride = WARP; stride >= 1; stride /= 2) {
        bool meets = t + stride < count;
        T sum;
        if (meets) sum = combine(values[t], values[t + stride]);
        __syncwarp();                // all have read
        if (meets) values[t] = sum;  // ⊕
        __syncwarp();                // all have written
    }
}

extern "C" __global__ void last_warp(const Element* in, u64 length, Cell* out) {
    begin_launch();
    T* values = block_values();
    u64 first = 2 * (u64)blockDim.x * blockIdx.x, i = first + threadIdx.x;
    u32 t = threadIdx.x, count = count_from(first, length, blockDim.x);
    if (t < count) values[t] = first_two(in, i, length);
    __syncthreads();
    for (u32 stride = blockDim.x / 2; stride > WARP; stride /= 2) {
        if (t < stride && t + stride < count)
            values[t] = combine(values[t], values[t + stride]);  // ⊕
        __syncthreads();
    }
    if (t < WARP) fold_last_warp(values, count);
    if (t == 0) fold_into(out, values[0]);
}
