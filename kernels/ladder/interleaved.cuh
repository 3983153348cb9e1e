// A tree in shared memory in place of the queue, pairs of neighbours first. Warps diverge: in each
// round every second one of the threads at work drops out.
#include "ladder/tree.cuh"

extern "C" __global__ void interleaved(const Element* in, u64 length, Cell* out) {
    begin_launch();
    T* values = block_values();
    u64 i = thread_of_grid();
    u32 t = threadIdx.x, count = count_from(i - t, length, blockDim.x);
    if (t < count) values[t] = item(in, i);
    for (u32 stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        if (t % (2 * stride) == 0 && t + stride < count)
            values[t] = combine(values[t], values[t + stride]);  // ⊕
    }
    if (t == 0) fold_into(out, values[0]);
}
