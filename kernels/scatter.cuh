// Scatter: stores each value at its index. Of those with one index the last is stored.
//
// A launch finds, for each place, the last value that wants it: an atomic maximum of positions,
// whose result does not depend on the schedule. Another one stores, place by place. So each place
// is written once, and neighbouring threads write to neighbouring places.
#pragma once
#include "source.cuh"

namespace warpfold {

template <class Values, class Indices>
struct Scatterer {
    using T = typename Values::Item;

    Values values;
    Indices indices;
    T* out;
    /// For each place, the position after the last value that wants it, and 0 if none does.
    u64* owners;
    u64 length, places;

    static __device__ __forceinline__ u64 thread() {
        return (u64)blockIdx.x * blockDim.x + threadIdx.x;
    }

    __device__ __forceinline__ void clear() const {
        if (thread() < places) owners[thread()] = 0;
    }
    __device__ __forceinline__ void claim() const {
        if (thread() < length)
            atomicMax(&owners[place_of(indices.at(thread()), places - 1)], thread() + 1);
    }
    __device__ __forceinline__ void store() const {
        if (thread() >= places) return;
        u64 owner = owners[thread()];
        if (owner > 0) out[thread()] = values.at(owner - 1);
    }
};

}  // namespace warpfold
