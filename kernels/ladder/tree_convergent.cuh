// The strides the other way round, the longest first: the first threads work. Whole warps drop out
// together, and neighbours touch neighbours, so that one request serves a warp.
#include "ladder/step.cuh"

extern "C" __global__ void tree_convergent(T* data, u64 length, T* out) {
    begin_launch();
    u32 t = threadIdx.x;
    for (u32 stride = blockDim.x; stride >= 1; stride /= 2) {
        if (t < stride && t + stride < length) data[t] = combine(data[t], data[t + stride]);  // ⊕
        __syncthreads();
    }
    if (t == 0) *out = data[0];
}
