// One atomic operation for each item: nothing comes between a thread's read and its write. Right,
// and one after the other: all threads queue for one place.
#include "ladder/step.cuh"

extern "C" __global__ void dot_atomic(const Element* a, const Element* b, u64 length, Cell* out) {
    begin_launch();
    u64 i = thread_of_grid();
    if (i < length) fold_into(out, item(a, b, i));
}
