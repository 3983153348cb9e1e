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

/// Those whose first word is below a limit.
struct Below {
    uint32_t limit;
    __device__ bool operator()(uint8_t x) const { return x < limit; }
    __device__ bool operator()(uint32_t x) const { return x < limit; }
    __device__ bool operator()(uint2 x) const { return x.x < limit; }
};

template <class T>
cudaError_t select(Call call, uint64_t* count, uint32_t limit) {
    return cub::DeviceSelect::If(call.workspace, *call.workspace_bytes, static_cast<const T*>(call.in), static_cast<T*>(call.out), count, call.length,
                                 Below{limit}, call.stream);
}

struct Product {
    __device__ float operator()(float x, float y) const { return x * y; }
};

/// The dot product of the input with itself, moved by half its length.
cudaError_t dot(Call call) {
    auto in = static_cast<const float*>(call.in);
    auto products = cuda::zip_transform_iterator(Product{}, in, in + call.length / 2);
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, products, static_cast<float*>(call.out), call.length / 2,
                                     cuda::std::plus<>{}, 0.0f, call.stream);
}

struct WidenByte {
    __host__ __device__ uint64_t operator()(uint8_t x) const { return x; }
};

cudaError_t bytes_in_64_bits(Call call) {
    auto in = cuda::transform_iterator(static_cast<const uint8_t*>(call.in), WidenByte{});
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, in, static_cast<uint64_t*>(call.out), call.length,
                                     cuda::std::plus<>{}, uint64_t{0}, call.stream);
}

}  // namespace

#define PEER(name, ...)                                                                                                                   \
    extern "C" __attribute__((visibility("default"))) int name(void* workspace, size_t* workspace_bytes, const void* in, void* out,       \
                                                               uint32_t length, cudaStream_t stream) {                                    \
        Call call{workspace, workspace_bytes, in, out, length, stream};                                                                   \
        return __VA_ARGS__;                                                                                                               \
    }

// With the address of the count after the output's.
#define SELECT(name, T, limit)                                                                                                            \
    extern "C" __attribute__((visibility("default"))) int name(void* workspace, size_t* workspace_bytes, const void* in, void* out,       \
                                                               uint64_t* count, uint32_t length, cudaStream_t stream) {                   \
        Call call{workspace, workspace_bytes, in, out, length, stream};                                                                   \
        return select<T>(call, count, limit);                                                                                             \
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
SELECT(select_u32_half, uint32_t, 0x80000000)
SELECT(select_u32_twentieth, uint32_t, 0x0ccccccd)
SELECT(select_pair_half, uint2, 0x80000000)
SELECT(select_u8_half, uint8_t, 128)
PEER(reduce_f32_dot, dot(call))
PEER(reduce_u8_wide, bytes_in_64_bits(call))
