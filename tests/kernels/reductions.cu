// Three ways for one block to add up 2 * blockDim.x numbers, each asking less of the machine than
// the one before; after the reduction trees of "Programming Massively Parallel Processors" by Hwu,
// Kirk and El Hajj, chapter 10.
#include "machine/device.cuh"
using namespace warpfold;

/// Threads at growing distances work, so that all warps stay busy with few of their lanes.
__global__ void divergent(f32* data, f32* sum) {
    begin_launch();
    u32 i = 2 * threadIdx.x;
    for (u32 distance = 1; distance <= blockDim.x; distance *= 2) {
        if (threadIdx.x % distance == 0)
            data[i] += data[i + distance];  // the step
        __syncthreads();
    }
    if (threadIdx.x == 0) *sum = data[0];
}

/// The first threads work, so that whole warps drop out, and neighbours touch neighbours.
__global__ void convergent(f32* data, f32* sum) {
    begin_launch();
    u32 i = threadIdx.x;
    for (u32 distance = blockDim.x; distance >= 1; distance /= 2) {
        if (i < distance)
            data[i] += data[i + distance];  // the step
        __syncthreads();
    }
    if (i == 0) *sum = data[0];
}

/// Sums that are not final stay in shared memory.
__global__ void in_shared_memory(f32* data, f32* sum) {
    begin_launch();
    struct Sums {
        f32 at[1024];
    };
    f32* sums = block_shared<Sums>().at;
    u32 i = threadIdx.x;
    sums[i] = data[i] + data[i + blockDim.x];
    for (u32 distance = blockDim.x / 2; distance >= 1; distance /= 2) {
        __syncthreads();
        if (i < distance)
            sums[i] += sums[i + distance];  // the step
    }
    if (i == 0) *sum = sums[0];
}
