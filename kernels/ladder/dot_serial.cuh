// Each block collects its products in shared memory, where thread 0 adds them up: one atomic
// operation for each block, but 1 thread works while all others wait.
#include "ladder/tree.cuh"

extern "C" __global__ void dot_serial(const Element* a, const Element* b, u64 length, Cell* out) {
    begin_launch();
    T* values = block_values();
    u64 i = thread_of_grid();
    if (i < length) values[threadIdx.x] = item(a, b, i);
    __syncthreads();
    if (threadIdx.x != 0) return;
    u32 count = count_from(i, length, blockDim.x);
    T sum = values[0];
    for (u32 k = 1; k < count; k++) sum = combine(sum, values[k]);  // ⊕
    fold_into(out, sum);
}
