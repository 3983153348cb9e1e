// One block folds two items a thread, in place. Pairs of neighbours first, then pairs of pairs: the
// threads at work are further and further apart, so every warp stays busy, with ever fewer lanes.
#include "ladder/step.cuh"

extern "C" __global__ void tree_divergent(T* data, u64 length, T* out) {
    begin_launch();
    u64 i = 2 * threadIdx.x;
    for (u32 stride = 1; stride <= blockDim.x; stride *= 2) {
        if (threadIdx.x % stride == 0 && i + stride < length)
            data[i] = combine(data[i], data[i + stride]);  // ⊕
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = data[0];
}
