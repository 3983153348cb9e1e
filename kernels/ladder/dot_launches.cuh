// One kernel multiplies and stores the products. Another one folds the part of each block in shared
// memory, and is launched again on what the blocks leave, until one value is left.
#include "ladder/tree.cuh"

extern "C" __global__ void dot_products(const Element* a, const Element* b, u64 length,
                                        T* products) {
    begin_launch();
    u64 i = thread_of_grid();
    if (i < length) products[i] = item(a, b, i);
}

extern "C" __global__ void dot_launches(const T* in, u64 length, T* out) {
    begin_launch();
    T* values = block_values();
    u64 first = (u64)blockDim.x * blockIdx.x;
    u32 t = threadIdx.x, count = count_from(first, length, blockDim.x);
    if (t < count) values[t] = in[first + t];
    for (u32 stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        if (t % (2 * stride) == 0 && t + stride < count)
            values[t] = combine(values[t], values[t + stride]);  // ⊕
    }
    if (t == 0) out[blockIdx.x] = values[0];
}
