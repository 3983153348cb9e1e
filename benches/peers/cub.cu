// CUB's reductions and scans as a shared library, which benches/gpu loads to time them on its own
// buffers and stream. `benches/peers/build` makes it.
//
// Each function is one of the benchmark's, named PRIMITIVE_ELEMENT_OPERATOR, and is called as CUB
// is: with a null `workspace` it only says how many bytes that must have, and enqueues nothing. It
// returns a `cudaError_t`.
//
// Where CUB can be called in several ways, it is called in the fastest: lengths are 32 bits wide,
// and sums of bytes are bytes (`plus<>` would make them `int`). Halves are added up in `float` and
// rounded once, as ours are.
#include <cstdint>
#include <cub/cub.cuh>
#include <cuda/iterator>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

struct Affine {
    float slope, offset;
};

struct Then {
    __device__ Affine operator()(Affine a, Affine b) const { return {a.slope * b.slope, a.offset * b.slope + b.offset}; }
};

template <int N>
struct Floats {
    float values[N];
};

struct Sums {
    template <int N>
    __device__ Floats<N> operator()(Floats<N> a, Floats<N> b) const {
        for (int i = 0; i < N; i++) a.values[i] += b.values[i];
        return a;
    }
};

struct Widen {
    template <class Half>
    __host__ __device__ float operator()(Half half) const { return static_cast<float>(half); }
};

struct Call {
    void* workspace;
    size_t* workspace_bytes;
    const void* in;
    void* out;
    uint32_t length;
    cudaStream_t stream;
};

template <class T, class Op>
cudaError_t reduce(Call call, Op op, T identity) {
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, static_cast<const T*>(call.in), static_cast<T*>(call.out), call.length, op,
                                     identity, call.stream);
}

template <class T, class Op>
cudaError_t scan(Call call, Op op, T identity) {
    return cub::DeviceScan::ExclusiveScan(call.workspace, *call.workspace_bytes, static_cast<const T*>(call.in), static_cast<T*>(call.out), op, identity,
                                          call.length, call.stream);
}

template <class T, class Op>
cudaError_t inclusive(Call call, Op op) {
    return cub::DeviceScan::InclusiveScan(call.workspace, *call.workspace_bytes, static_cast<const T*>(call.in), static_cast<T*>(call.out), op,
                                          call.length, call.stream);
}

template <class Half>
cudaError_t reduce_halves(Call call) {
    auto in = cuda::transform_iterator(static_cast<const Half*>(call.in), Widen{});
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, in, static_cast<Half*>(call.out), call.length, cuda::std::plus<>{}, 0.0f,
                                     call.stream);
}

template <class Half>
cudaError_t scan_halves(Call call) {
    auto in = cuda::transform_iterator(static_cast<const Half*>(call.in), Widen{});
    return cub::DeviceScan::ExclusiveScan(call.workspace, *call.workspace_bytes, in, static_cast<Half*>(call.out), cuda::std::plus<>{}, 0.0f,
                                          call.length, call.stream);
}

}  // namespace

#define PEER(name, ...)                                                                                                                   \
    extern "C" __attribute__((visibility("default"))) int name(void* workspace, size_t* workspace_bytes, const void* in, void* out,       \
                                                               uint32_t length, cudaStream_t stream) {                                    \
        Call call{workspace, workspace_bytes, in, out, length, stream};                                                                   \
        return __VA_ARGS__;                                                                                                               \
    }

#define SUMS(element, T)                                                          \
    PEER(reduce_##element##_add, reduce<T>(call, cuda::std::plus<T>{}, T{}))       \
    PEER(scan_##element##_add, scan<T>(call, cuda::std::plus<T>{}, T{}))

extern "C" __attribute__((visibility("default"))) int cub_version() { return CUB_VERSION; }

SUMS(f32, float)
SUMS(f64, double)
SUMS(u32, uint32_t)
SUMS(u64, uint64_t)
SUMS(u16, uint16_t)
SUMS(u8, uint8_t)
PEER(reduce_f16_add, reduce_halves<__half>(call))
PEER(scan_f16_add, scan_halves<__half>(call))
PEER(reduce_bf16_add, reduce_halves<__nv_bfloat16>(call))
PEER(scan_bf16_add, scan_halves<__nv_bfloat16>(call))
PEER(reduce_i8_max, reduce<int8_t>(call, cuda::maximum<>{}, int8_t{-128}))
PEER(reduce_f32_max, reduce<float>(call, cuda::maximum<>{}, -INFINITY))
PEER(inclusive_f32_max, inclusive<float>(call, cuda::maximum<>{}))
PEER(reduce_affine_then, reduce<Affine>(call, Then{}, Affine{1.0f, 0.0f}))
PEER(scan_affine_then, scan<Affine>(call, Then{}, Affine{1.0f, 0.0f}))
PEER(reduce_f32x3_sums, reduce<Floats<3>>(call, Sums{}, Floats<3>{}))
PEER(scan_f32x3_sums, scan<Floats<3>>(call, Sums{}, Floats<3>{}))
PEER(reduce_f32x16_sums, reduce<Floats<16>>(call, Sums{}, Floats<16>{}))
PEER(scan_f32x16_sums, scan<Floats<16>>(call, Sums{}, Floats<16>{}))
