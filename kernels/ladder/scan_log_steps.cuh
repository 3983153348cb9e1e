// The first attempt: log n rounds, and in each of them every item takes in the one `stride` before
// it. All threads work, but on n log n combinations where n would do. Two buffers in turn: no round
// writes what it reads.
#include "ladder/step.cuh"

extern "C" __global__ void scan_log_steps(const Element* in, u64 length, T identity, T* out) {
    begin_launch();
    struct Buffers {
        T at[2][MOST_THREADS];
    };
    auto& buffers = block_shared<Buffers>();
    T *from = buffers.at[0], *to = buffers.at[1];
    u32 t = threadIdx.x;
    // Shifted by one, since an item is not part of its own result.
    if (t < length) from[t] = t == 0 ? identity : item(in, t - 1);
    for (u32 stride = 1; stride < length; stride *= 2) {
        __syncthreads();
        if (t >= stride && t < length) to[t] = combine(from[t - stride], from[t]);  // ⊕
        else if (t < length) to[t] = from[t];
        T* swapped = from;
        from = to;
        to = swapped;
    }
    if (t < length) out[t] = from[t];
}
