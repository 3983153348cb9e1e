// Arrays of any length: each block scans its tile and leaves the tile's sum. The sums are scanned
// in the same way, by further launches. At last every item gets the prefix of its tile. Items are
// moved twice: read, written, and both again.
#include "ladder/scan_tree.cuh"

extern "C" __global__ void scan_tiled(const Element* in, u64 length, T identity, T* out, T* sums) {
    begin_launch();
    T sum = scan_part<Padded>(in, length, identity, out);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// Scans tiles of sums, in place.
extern "C" __global__ void scan_tiled_sums(T* values, u64 length, T identity, T* sums) {
    begin_launch();
    T sum = scan_part<Padded>(values, length, identity, values);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// Puts the prefix of its tile before each item.
extern "C" __global__ void scan_tiled_add(T* out, u64 length, const T* prefixes) {
    begin_launch();
    u64 first = 2 * (u64)blockDim.x * blockIdx.x;
    T prefix = prefixes[blockIdx.x];
    for (u32 k = threadIdx.x; k < 2 * blockDim.x && first + k < length; k += blockDim.x)
        out[first + k] = combine(prefix, out[first + k]);  // ⊕
}
