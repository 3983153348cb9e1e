// One atomic operation for each item, all on one place in global memory.
#include "ladder/step.cuh"

extern "C" __global__ void global_atomic(const Element* in, u64 length, Cell* out) {
    begin_launch();
    u64 i = thread_of_grid();
    if (i < length) fold_into(out, item(in, i));
}
