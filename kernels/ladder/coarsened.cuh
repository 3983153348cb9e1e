// Each thread first folds several items by itself: no barrier, no shared memory, all lanes at work.
// There are fewer blocks, so fewer trees, whose late rounds leave most threads idle.
#include "ladder/tree.cuh"

extern "C" __global__ void coarsened(const Element* in, u64 length, u32 factor, Cell* out) {
    begin_launch();
    T* values = block_values();
    u64 first = 2 * factor * (u64)blockDim.x * blockIdx.x, i = first + threadIdx.x;
    if (i < length) {
        T value = item(in, i);
        for (u32 tile = 1; tile < 2 * factor && i + (u64)tile * blockDim.x < length; tile++)
            value = combine(value, item(in, i + (u64)tile * blockDim.x));
        values[threadIdx.x] = value;
    }
    fold_values(values, count_from(first, length, blockDim.x));
    if (threadIdx.x == 0) fold_into(out, values[0]);
}
