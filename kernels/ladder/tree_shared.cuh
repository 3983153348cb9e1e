// Values on the way stay in shared memory. Global memory is read once, and gets only the result.
#include "ladder/tree.cuh"

extern "C" __global__ void tree_shared(const Element* in, u64 length, T* out) {
    begin_launch();
    T* values = block_values();
    if (threadIdx.x < length) values[threadIdx.x] = first_two(in, threadIdx.x, length);
    fold_values(values, count_from(0, length, blockDim.x));
    if (threadIdx.x == 0) *out = values[0];
}
