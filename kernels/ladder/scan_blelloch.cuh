// Blelloch's tree in one block: 2(n - 1) combinations, whatever n is. The strides are powers of
// two, so the lanes of a warp meet in the same few banks of shared memory, and wait for each other.
#include "ladder/scan_tree.cuh"

extern "C" __global__ void scan_blelloch(const Element* in, u64 length, T identity, T* out) {
    begin_launch();
    scan_part<Plain>(in, length, identity, out);
}
