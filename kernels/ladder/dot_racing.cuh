// Wrong, and here to be found out: every thread reads the sum, adds its product and writes the sum
// back. Another thread may have written in between, and what it wrote is lost.
#include "ladder/step.cuh"

extern "C" __global__ void dot_racing(const Element* a, const Element* b, u64 length, T* out) {
    begin_launch();
    u64 i = thread_of_grid();
    if (i < length) *out = combine(*out, item(a, b, i));  // ⊕
}
