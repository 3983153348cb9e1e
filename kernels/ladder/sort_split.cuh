// A radix sort made of scans: one bit after the other, from the lowest. A scan counts, before each
// item, those whose bit is 0. That is where such an item goes; the others go behind all of them.
// Both keep their order, so each bit keeps what the bits before it have done, and after the last one
// all is sorted. A block does it: log n rounds of a scan for each bit.
#include "ladder/step.cuh"

/// The bits of an item as an integer that grows as the items do.
struct Ranks {
    using Bits = Word<(int)sizeof(T)>;
    static constexpr bool FLOAT = (T)0.5 != (T)0;
    static constexpr u32 KIND =
        FLOAT ? (sizeof(T) == 8 ? 52 : 23) << 8 : (T)-1 < (T)0 ? 2 : 0;

    static __device__ __forceinline__ Bits of(T item) { return rank_of<Bits, FLOAT>(item, KIND); }
};

extern "C" __global__ void sort_split(const Element* in, u64 length, T* out) {
    begin_launch();
    struct Buffers {
        T items[2][MOST_THREADS];
        u32 zeros[2][MOST_THREADS];
    };
    auto& buffers = block_shared<Buffers>();
    T *from = buffers.items[0], *to = buffers.items[1];
    u32 t = threadIdx.x;
    if (t < length) from[t] = item(in, t);
    for (u32 bit = 0; bit < 8 * sizeof(T); bit++) {
        __syncthreads();
        bool is_zero = t < length && (Ranks::of(from[t]) >> bit & 1) == 0;
        // How many items up to this one have a 0 there, as in scan_log_steps.
        u32 *zeros = buffers.zeros[0], *next = buffers.zeros[1];
        zeros[t] = is_zero;
        for (u32 stride = 1; stride < blockDim.x; stride *= 2) {
            __syncthreads();
            next[t] = t >= stride ? zeros[t - stride] + zeros[t] : zeros[t];
            u32* swapped = zeros;
            zeros = next;
            next = swapped;
        }
        __syncthreads();
        u32 before = zeros[t] - is_zero, all = zeros[blockDim.x - 1];
        if (t < length) to[is_zero ? before : all + t - before] = from[t];
        T* swapped = from;
        from = to;
        to = swapped;
    }
    __syncthreads();
    if (t < length) out[t] = from[t];
}
