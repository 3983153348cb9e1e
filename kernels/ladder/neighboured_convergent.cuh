// Pairs of neighbours again, but given to the first threads: thread t takes the t-th pair. Warps
// without a pair do nothing, and the others have all lanes at work.
#include "ladder/step.cuh"

extern "C" __global__ void neighboured_convergent(T* data, u64 length, T* out) {
    begin_launch();
    u64 first = (u64)blockDim.x * blockIdx.x;
    u32 count = count_from(first, length, blockDim.x);
    T* mine = data + first;
    for (u32 stride = 1; stride < blockDim.x; stride *= 2) {
        u32 i = 2 * stride * threadIdx.x;
        if (i + stride < count) mine[i] = combine(mine[i], mine[i + stride]);  // ⊕
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = mine[0];
}
