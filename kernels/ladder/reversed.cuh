// The strides the other way round, the longest first: the threads at work stay neighbours, and
// whole warps are done early.
#include "ladder/tree.cuh"

extern "C" __global__ void reversed(const Element* in, u64 length, Cell* out) {
    begin_launch();
    T* values = block_values();
    u64 i = thread_of_grid();
    u32 t = threadIdx.x, count = count_from(i - t, length, blockDim.x);
    if (t < count) values[t] = item(in, i);
    fold_values(values, count);
    if (t == 0) fold_into(out, values[0]);
}
