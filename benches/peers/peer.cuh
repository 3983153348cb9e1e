// What all peers have in common.
//
// Each function is one of the benchmark's, named PRIMITIVE_ELEMENT_OPERATOR. It takes the addresses
// of up to four arrays that it reads, and of up to four that it writes, and the numbers of elements
// and of segments. It is called as CUB is: with a null `workspace` it only says how many bytes that must have, and enqueues nothing. It
// returns a `cudaError_t`.
#pragma once
#include <cstdint>
#include <cub/cub.cuh>

namespace {

struct Call {
    void* workspace;
    size_t* workspace_bytes;
    const void* const* inputs;
    void* const* outputs;
    uint32_t length;
    uint32_t count;
    cudaStream_t stream;

    template <class T>
    const T* in(int number = 0) const {
        return static_cast<const T*>(inputs[number]);
    }
    template <class T>
    T* out(int number = 0) const {
        return static_cast<T*>(outputs[number]);
    }
};

template <class T, class Op>
cudaError_t reduce(Call call, Op op, T identity) {
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, call.in<T>(),
                                     call.out<T>(), call.length, op, identity, call.stream);
}

template <class T, class Op>
cudaError_t scan(Call call, Op op, T identity) {
    return cub::DeviceScan::ExclusiveScan(call.workspace, *call.workspace_bytes, call.in<T>(),
                                          call.out<T>(), op, identity, call.length, call.stream);
}

}  // namespace

#define PEER(name, ...)                                                                            \
    extern "C" __attribute__((visibility("default"))) int name(                                    \
        void* workspace, size_t* workspace_bytes, const void* const* inputs, void* const* outputs, \
        uint32_t length, uint32_t count, cudaStream_t stream) {                                    \
        Call call{workspace, workspace_bytes, inputs, outputs, length, count, stream};             \
        return __VA_ARGS__;                                                                        \
    }

#define CLASS(element, operator_, T, op, ...)                              \
    PEER(reduce_##element##_##operator_, reduce<T>(call, op, __VA_ARGS__)) \
    PEER(scan_##element##_##operator_, scan<T>(call, op, __VA_ARGS__))
