// CUB's functions as a shared library, which benches/gpu loads to time them on its own buffers and
// stream. `benches/peers/build` makes it.
//
// Where CUB can be called in several ways, it is called in the fastest: lengths are 32 bits wide,
// and sums of bytes are bytes (`plus<>` would make them `int`). Halves are added up in `float` and
// rounded once, as ours are.
#include "peer.cuh"

#include <cuda/iterator>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/functional>

namespace {

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

struct Best {
    float key;
    uint32_t owner;
};

struct Better {
    __device__ Best operator()(Best a, Best b) const { return b.key > a.key ? b : a; }
};

struct Matrix {
    uint32_t at[4];
};

struct Product {
    __device__ Matrix operator()(Matrix a, Matrix b) const {
        return {{a.at[0] * b.at[0] + a.at[1] * b.at[2], a.at[0] * b.at[1] + a.at[1] * b.at[3],
                 a.at[2] * b.at[0] + a.at[3] * b.at[2], a.at[2] * b.at[1] + a.at[3] * b.at[3]}};
    }
};

struct Modular {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const {
        return static_cast<uint32_t>(uint64_t{a} * b % 998244353);
    }
};

struct Maps {
    uint8_t at[8];
};

struct Compose {
    __device__ Maps operator()(Maps a, Maps b) const {
        Maps both;
        for (int i = 0; i < 8; i++) both.at[i] = b.at[a.at[i] & 7];
        return both;
    }
};

/// Parts shorter than a register.
struct Tag {
    uint16_t key;
    uint8_t group, place;
};

struct Saturating {
    __device__ uint8_t operator()(uint8_t a, uint8_t b) const {
        int sum = a + b;
        return uint8_t(sum > 255 ? 255 : sum);
    }
};

struct Furthest {
    __device__ int16_t operator()(int16_t a, int16_t b) const { return abs(b) >= abs(a) ? b : a; }
};

struct Latest {
    __device__ Tag operator()(Tag a, Tag b) const { return b.key >= a.key ? b : a; }
};

/// Of a stretch of numbers: the sum, the greatest sums of what it begins and ends with, and that of
/// neighbours.
struct Gains {
    int64_t all, first, last, most;
};

struct Greatest {
    __device__ Gains operator()(Gains a, Gains b) const {
        return {a.all + b.all, max(a.first, a.all + b.first), max(b.last, b.all + a.last),
                max(max(a.most, b.most), a.last + b.first)};
    }
};

struct ByteSums {
    __device__ uchar3 operator()(uchar3 a, uchar3 b) const {
        return {static_cast<uint8_t>(a.x + b.x), static_cast<uint8_t>(a.y + b.y),
                static_cast<uint8_t>(a.z + b.z)};
    }
};

/// As aligned as it is long, so that it is moved at once.
template <int N>
struct alignas(N) Bytes {
    uint8_t at[N];
};

struct ByteMaxima {
    template <int N>
    __device__ Bytes<N> operator()(Bytes<N> a, Bytes<N> b) const {
        for (int i = 0; i < N; i++) a.at[i] = a.at[i] < b.at[i] ? b.at[i] : a.at[i];
        return a;
    }
};

struct ShortMinima {
    __device__ short4 operator()(short4 a, short4 b) const {
        a.x = min(a.x, b.x);
        a.y = min(a.y, b.y);
        a.z = min(a.z, b.z);
        a.w = min(a.w, b.w);
        return a;
    }
};

struct Widen {
    template <class Half>
    __host__ __device__ float operator()(Half half) const {
        return static_cast<float>(half);
    }
};

template <class T, class Op>
cudaError_t inclusive(Call call, Op op) {
    return cub::DeviceScan::InclusiveScan(call.workspace, *call.workspace_bytes, call.in<T>(),
                                          call.out<T>(), op, call.length, call.stream);
}

template <class Half>
cudaError_t reduce_halves(Call call) {
    auto in = cuda::transform_iterator(call.in<Half>(), Widen{});
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, in, call.out<Half>(),
                                     call.length, cuda::std::plus<>{}, 0.0f, call.stream);
}

template <class Half>
cudaError_t scan_halves(Call call) {
    auto in = cuda::transform_iterator(call.in<Half>(), Widen{});
    return cub::DeviceScan::ExclusiveScan(call.workspace, *call.workspace_bytes, in,
                                          call.out<Half>(), cuda::std::plus<>{}, 0.0f, call.length,
                                          call.stream);
}

/// Those whose first word is below a limit.
struct Below {
    uint32_t limit;
    __device__ bool operator()(uint8_t x) const { return x < limit; }
    __device__ bool operator()(uint32_t x) const { return x < limit; }
    __device__ bool operator()(uint2 x) const { return x.x < limit; }
};

/// Selects: what is kept, then the count.
template <class T>
cudaError_t select(Call call, uint32_t limit) {
    return cub::DeviceSelect::If(call.workspace, *call.workspace_bytes, call.in<T>(), call.out<T>(),
                                 call.out<uint64_t>(1), call.length, Below{limit}, call.stream);
}

/// Of items and flags.
template <class T>
cudaError_t flagged(Call call) {
    return cub::DeviceSelect::Flagged(call.workspace, *call.workspace_bytes, call.in<T>(),
                                      call.in<uint8_t>(1), call.out<T>(), call.out<uint64_t>(1),
                                      call.length, call.stream);
}

/// CUB stores what is not kept at the end of the one output, from its end on.
template <class T>
cudaError_t partition(Call call, uint32_t limit) {
    return cub::DevicePartition::If(call.workspace, *call.workspace_bytes, call.in<T>(),
                                    call.out<T>(), call.out<uint64_t>(1), call.length, Below{limit},
                                    call.stream);
}

cudaError_t positions(Call call) {
    return cub::DeviceSelect::Flagged(
        call.workspace, *call.workspace_bytes, cuda::counting_iterator<uint64_t>(0),
        call.in<uint8_t>(), call.out<uint64_t>(), call.out<uint64_t>(1), call.length, call.stream);
}

template <class T>
cudaError_t unique(Call call) {
    return cub::DeviceSelect::Unique(call.workspace, *call.workspace_bytes, call.in<T>(),
                                     call.out<T>(), call.out<uint64_t>(1), call.length,
                                     call.stream);
}

/// Items and lengths; CUB does not say where runs start.
template <class T>
cudaError_t runs(Call call) {
    return cub::DeviceRunLengthEncode::Encode(call.workspace, *call.workspace_bytes, call.in<T>(),
                                              call.out<T>(), call.out<uint64_t>(2),
                                              call.out<uint64_t>(1), call.length, call.stream);
}

struct PairProduct {
    __device__ float operator()(float x, float y) const { return x * y; }
};

/// The dot product of the input with itself, moved by half its length.
cudaError_t dot(Call call) {
    auto in = call.in<float>();
    auto products = cuda::zip_transform_iterator(PairProduct{}, in, in + call.length / 2);
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, products,
                                     call.out<float>(), call.length / 2, cuda::std::plus<>{}, 0.0f,
                                     call.stream);
}

struct WidenByte {
    __host__ __device__ uint64_t operator()(uint8_t x) const { return x; }
};

cudaError_t bytes_in_64_bits(Call call) {
    auto in = cuda::transform_iterator(call.in<uint8_t>(), WidenByte{});
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, in,
                                     call.out<uint64_t>(), call.length, cuda::std::plus<>{},
                                     uint64_t{0}, call.stream);
}

template <class T, class L>
cudaError_t histogram(Call call, int bins, L lower, L upper) {
    return cub::DeviceHistogram::HistogramEven(call.workspace, *call.workspace_bytes, call.in<T>(),
                                               call.out<uint32_t>(), bins + 1, lower, upper,
                                               (int)call.length, call.stream);
}

/// Where the greatest number stands; behind that, the number.
cudaError_t arg_max(Call call) {
    return cub::DeviceReduce::ArgMax(call.workspace, *call.workspace_bytes, call.in<float>(),
                                     call.out<float>() + 2, call.out<int64_t>(),
                                     (int64_t)call.length, call.stream);
}

struct Twice {
    __host__ __device__ float2 operator()(float x) const { return {x, x}; }
};

struct Extremes {
    __device__ float2 operator()(float2 a, float2 b) const {
        return {fminf(a.x, b.x), fmaxf(a.y, b.y)};
    }
};

cudaError_t min_max(Call call) {
    auto in = cuda::transform_iterator(call.in<float>(), Twice{});
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, in, call.out<float2>(),
                                     call.length, Extremes{}, float2{INFINITY, -INFINITY},
                                     call.stream);
}

struct Moments {
    double count, sum, deviations;
};

struct Single {
    __host__ __device__ Moments operator()(float x) const { return {1.0, (double)x, 0.0}; }
};

struct Merge {
    __device__ Moments operator()(Moments a, Moments b) const {
        if (a.count == 0) return b;
        if (b.count == 0) return a;
        double count = a.count + b.count, d = a.sum / a.count - b.sum / b.count;
        return {count, a.sum + b.sum,
                a.deviations + b.deviations + d * d * (a.count * b.count / count)};
    }
};

cudaError_t moments(Call call) {
    auto in = cuda::transform_iterator(call.in<float>(), Single{});
    return cub::DeviceReduce::Reduce(call.workspace, *call.workspace_bytes, in, call.out<Moments>(),
                                     call.length, Merge{}, Moments{0.0, 0.0, 0.0}, call.stream);
}

struct Square {
    __device__ float operator()(float x) const { return x * x; }
};

/// Takes no workspace.
cudaError_t squares(Call call) {
    if (call.workspace == nullptr) {
        *call.workspace_bytes = 1;
        return cudaSuccess;
    }
    return cub::DeviceTransform::Transform(call.in<float>(), call.out<float>(), call.length,
                                           Square{}, call.stream);
}

template <class T>
cudaError_t sort(Call call) {
    return cub::DeviceRadixSort::SortKeys(call.workspace, *call.workspace_bytes, call.in<T>(),
                                          call.out<T>(), call.length, 0, 8 * sizeof(T),
                                          call.stream);
}

template <class K, class V>
cudaError_t sort_pairs(Call call) {
    return cub::DeviceRadixSort::SortPairs(call.workspace, *call.workspace_bytes, call.in<K>(),
                                           call.out<K>(), call.in<V>(1), call.out<V>(1),
                                           call.length, 0, 8 * sizeof(K), call.stream);
}

/// Of items and offsets.
cudaError_t segmented_sum(Call call) {
    auto offsets = call.in<uint64_t>(1);
    return cub::DeviceSegmentedReduce::Sum(call.workspace, *call.workspace_bytes, call.in<float>(),
                                           call.out<float>(), call.count, offsets, offsets + 1,
                                           call.stream);
}

cudaError_t segmented_max(Call call) {
    auto offsets = call.in<uint64_t>(1);
    return cub::DeviceSegmentedReduce::Max(call.workspace, *call.workspace_bytes, call.in<float>(),
                                           call.out<float>(), call.count, offsets, offsets + 1,
                                           call.stream);
}

cudaError_t segmented_sort(Call call) {
    auto offsets = call.in<uint64_t>(1);
    return cub::DeviceSegmentedSort::SortKeys(
        call.workspace, *call.workspace_bytes, call.in<float>(), call.out<float>(),
        (int64_t)call.length, (int64_t)call.count, offsets, offsets + 1, call.stream);
}

struct Times {
    int64_t by;
    __host__ __device__ int64_t operator()(int64_t x) const { return x * by; }
};

/// Segments of one length.
cudaError_t sums_of_rows(Call call) {
    auto rows = cuda::counting_iterator<int64_t>(0);
    auto offsets = cuda::transform_iterator(rows, Times{call.length / call.count});
    return cub::DeviceSegmentedReduce::Sum(call.workspace, *call.workspace_bytes, call.in<float>(),
                                           call.out<float>(), call.count, offsets, offsets + 1,
                                           call.stream);
}

/// Of keys and values; keys, sums and their number.
cudaError_t reduce_by_key(Call call) {
    return cub::DeviceReduce::ReduceByKey(
        call.workspace, *call.workspace_bytes, call.in<uint32_t>(), call.out<uint32_t>(),
        call.in<float>(1), call.out<float>(1), call.out<uint64_t>(2), cuda::std::plus<>{},
        call.length, call.stream);
}

cudaError_t scan_by_key(Call call) {
    return cub::DeviceScan::InclusiveSumByKey(
        call.workspace, *call.workspace_bytes, call.in<uint32_t>(), call.in<float>(1),
        call.out<float>(), call.length, cuda::std::equal_to<>{}, call.stream);
}

}  // namespace

#define SUMS(element, T)                                                     \
    PEER(reduce_##element##_add, reduce<T>(call, cuda::std::plus<T>{}, T{})) \
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
PEER(reduce_f32x3_sums, reduce<Floats<3>>(call, Sums{}, Floats<3>{}))
PEER(scan_f32x3_sums, scan<Floats<3>>(call, Sums{}, Floats<3>{}))
PEER(reduce_f32x16_sums, reduce<Floats<16>>(call, Sums{}, Floats<16>{}))
PEER(scan_f32x16_sums, scan<Floats<16>>(call, Sums{}, Floats<16>{}))
PEER(select_u32_half, select<uint32_t>(call, 0x80000000))
PEER(select_u32_twentieth, select<uint32_t>(call, 0x0ccccccd))
PEER(select_pair_half, select<uint2>(call, 0x80000000))
PEER(select_u8_half, select<uint8_t>(call, 128))
PEER(select_u32_flags, flagged<uint32_t>(call))
PEER(partition_u32_half, partition<uint32_t>(call, 0x80000000))
PEER(positions_u8_flags, positions(call))
PEER(unique_u32_fours, unique<uint32_t>(call))
PEER(runs_u32_fours, runs<uint32_t>(call))
PEER(sort_u32_ascending, sort<uint32_t>(call))
PEER(sort_f32_ascending, sort<float>(call))
PEER(sort_u64_ascending, sort<uint64_t>(call))
PEER(sort_u16_ascending, sort<uint16_t>(call))
PEER(sort_u32_u32_pairs, sort_pairs<uint32_t, uint32_t>(call))
PEER(sort_f32_u32_pairs, sort_pairs<float, uint32_t>(call))
PEER(sort_u64_u64_pairs, sort_pairs<uint64_t, uint64_t>(call))
PEER(segments_f32_sum, segmented_sum(call))
PEER(segments_f32_max, segmented_max(call))
PEER(segments_f32_sort, segmented_sort(call))
PEER(axes_f32_sum, sums_of_rows(call))
PEER(by_key_f32_reduce, reduce_by_key(call))
PEER(by_key_f32_scan, scan_by_key(call))
PEER(histogram_u8_256, histogram<uint8_t>(call, 256, 0, 256))
PEER(histogram_u32_256, histogram<uint32_t>(call, 256, 0u, 0x80000000u))
PEER(histogram_u32_4096, histogram<uint32_t>(call, 4096, 0u, 0x80000000u))
PEER(histogram_f32_57000, histogram<float>(call, 57000, 0.0f, 1.0f))
PEER(histogram_f32_1048576, histogram<float>(call, 1 << 20, 0.0f, 1.0f))
PEER(reduce_f32_argmax, arg_max(call))
PEER(reduce_f32_minmax, min_max(call))
PEER(reduce_f32_moments, moments(call))
PEER(reduce_f32_dot, dot(call))
PEER(collect_f32_squares, squares(call))
PEER(reduce_u8_wide, bytes_in_64_bits(call))
CLASS(u8, max, uint8_t, cuda::maximum<>{}, uint8_t{0})
CLASS(i16, min, int16_t, cuda::minimum<>{}, int16_t{32767})
CLASS(u32, modular, uint32_t, Modular{}, uint32_t{1})
CLASS(best, better, Best, Better{}, Best{-INFINITY, 0xffffffff})
CLASS(maps, compose, Maps, Compose{}, Maps{{0, 1, 2, 3, 4, 5, 6, 7}})
CLASS(matrix, product, Matrix, Product{}, Matrix{{1, 0, 0, 1}})
CLASS(f32x6, sums, Floats<6>, Sums{}, Floats<6>{})
CLASS(f32x8, sums, Floats<8>, Sums{}, Floats<8>{})
CLASS(rgb, sums, uchar3, ByteSums{}, uchar3{})
CLASS(bytes4, max, Bytes<4>, ByteMaxima{}, Bytes<4>{})
CLASS(shorts4, min, short4, ShortMinima{}, short4{32767, 32767, 32767, 32767})
CLASS(bytes16, max, Bytes<16>, ByteMaxima{}, Bytes<16>{})
CLASS(tag, latest, Tag, Latest{}, Tag{})
CLASS(u8, saturating, uint8_t, Saturating{}, uint8_t{0})
CLASS(i16, furthest, int16_t, Furthest{}, int16_t{0})
CLASS(gains, greatest, Gains, Greatest{}, Gains{})
