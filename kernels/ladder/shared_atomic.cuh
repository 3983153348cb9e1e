// Each block has a place of its own in shared memory, so threads queue for it within their block
// only. Then one atomic operation for each block.
#include "ladder/step.cuh"

extern "C" __global__ void shared_atomic(const Element* in, u64 length, Cell* out) {
    begin_launch();
    Cell& sum = block_shared<Cell>();
    u64 i = thread_of_grid();
    if (threadIdx.x == 0) sum.word = Cell::of(item(in, i)).word;
    __syncthreads();
    if (threadIdx.x > 0 && i < length) fold_into(&sum, item(in, i));
    __syncthreads();
    if (threadIdx.x == 0) fold_into(out, sum.value);
}
