// Each block folds its part in place, pairs of neighbours first, and leaves one value. The next
// launch folds these values, and so on: the end of a launch is where all blocks meet.
#include "ladder/step.cuh"

extern "C" __global__ void neighboured(T* data, u64 length, T* out) {
    begin_launch();
    u64 first = (u64)blockDim.x * blockIdx.x;
    u32 t = threadIdx.x, count = count_from(first, length, blockDim.x);
    T* mine = data + first;
    for (u32 stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0 && t + stride < count)
            mine[t] = combine(mine[t], mine[t + stride]);  // ⊕
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = mine[0];
}
