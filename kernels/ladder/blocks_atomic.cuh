// Many blocks, each with its part of the array, and one atomic operation for each block: blocks
// cannot wait for each other, but they can all fold into one place.
#include "ladder/tree.cuh"

extern "C" __global__ void blocks_atomic(const Element* in, u64 length, Cell* out) {
    begin_launch();
    T* values = block_values();
    u64 first = 2 * (u64)blockDim.x * blockIdx.x, i = first + threadIdx.x;
    if (i < length) values[threadIdx.x] = first_two(in, i, length);
    fold_values(values, count_from(first, length, blockDim.x));
    if (threadIdx.x == 0) fold_into(out, values[0]);
}
