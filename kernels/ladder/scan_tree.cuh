// Blelloch's scan: up a tree to the sums of ever larger parts, and down again to the prefixes.
#pragma once
#include "ladder/step.cuh"

/// Scans two values for each thread of a block, which lie where `Layout` says. Returns the total to
/// thread 0.
template <class Layout>
__device__ __forceinline__ T scan_tree(T* tree, T identity) {
    u32 t = threadIdx.x, stride = 1;
    T total = identity;
    for (u32 nodes = blockDim.x; nodes >= 1; nodes /= 2, stride *= 2) {
        __syncthreads();
        if (t < nodes) {
            u32 left = Layout::place(stride * (2 * t + 1) - 1),
                right = Layout::place(stride * (2 * t + 2) - 1);
            tree[right] = combine(tree[left], tree[right]);  // ⊕
        }
    }
    if (t == 0) {
        total = tree[Layout::place(2 * blockDim.x - 1)];
        tree[Layout::place(2 * blockDim.x - 1)] = identity;
    }
    for (u32 nodes = 1; nodes <= blockDim.x; nodes *= 2) {
        stride /= 2;
        __syncthreads();
        if (t < nodes) {
            u32 left = Layout::place(stride * (2 * t + 1) - 1),
                right = Layout::place(stride * (2 * t + 2) - 1);
            T before = tree[right], sum = tree[left];
            tree[left] = before;
            tree[right] = combine(before, sum);  // ⊕
        }
    }
    __syncthreads();
    return total;
}

/// Loads the part of a block into the tree, with identities behind the end; scans it; stores it.
template <class Layout, class In>
__device__ __forceinline__ T scan_part(const In* in, u64 length, T identity, T* out) {
    struct Tree {
        T at[Layout::place(2 * MOST_THREADS - 1) + 1];
    };
    T* tree = block_shared<Tree>().at;
    u64 first = 2 * (u64)blockDim.x * blockIdx.x;
    for (u32 k = threadIdx.x; k < 2 * blockDim.x; k += blockDim.x)
        tree[Layout::place(k)] = first + k < length ? item(in, first + k) : identity;
    T total = scan_tree<Layout>(tree, identity);
    for (u32 k = threadIdx.x; k < 2 * blockDim.x && first + k < length; k += blockDim.x)
        out[first + k] = tree[Layout::place(k)];
    return total;
}

/// Value after value.
struct Plain {
    static constexpr __device__ u32 place(u32 i) { return i; }
};

/// A gap after as many values as there are banks. Strides of a power of two then reach every bank.
struct Padded {
    static constexpr u32 BANKS = 32;
    static constexpr __device__ u32 place(u32 i) { return i + i / BANKS; }
};
