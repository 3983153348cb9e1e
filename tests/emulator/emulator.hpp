// What generated kernels find in place of CUDA when they run on the CPU.
//
// A CUDA thread is a fiber. The fibers of a block take turns on one thread of the host, switch at
// barriers and shuffles only, and in an order drawn from a seed (emulator.cpp). A kernel that lacks
// a barrier therefore computes different things under different seeds, and the sanitizers that
// everything is compiled with see each access.
#pragma once
#include <math.h>
#include <stddef.h>
#include <utility>

#define WARPFOLD_EMULATOR

#define __global__
#define __host__
#define __device__
#define __constant__ const
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)

// One block runs at a time, so shared memory can be static. The emulator fills it with garbage before
// every block.
#define __shared__ static

struct uint3 {
    unsigned x, y, z;
};
using dim3 = uint3;

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

// Every thread of the block, or of the warp, must come to the same barrier: the same place in the source.
void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE());
void __syncwarp(unsigned mask = ~0u, const char* file = __builtin_FILE(), int line = __builtin_LINE());
unsigned __shfl_xor_sync(unsigned mask, unsigned value, int lane_mask, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE());

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }

// The part of kernels/device.cuh that speaks PTX on a GPU.
namespace warpfold {

inline unsigned bits_of(float value) { return __builtin_bit_cast(unsigned, value); }
inline unsigned long long bits_of(double value) { return __builtin_bit_cast(unsigned long long, value); }
inline float from_bits(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline double from_bits(unsigned long long bits) { return __builtin_bit_cast(double, bits); }

inline float half_bits_to_f32(unsigned short half) {
    unsigned sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    if (magnitude < 0x0400) return from_bits(sign | bits_of((float)magnitude * 0x1p-24f));  // subnormal
    unsigned exponent_offset = magnitude < 0x7c00 ? 127 - 15 : 255 - 31;
    return from_bits(sign | ((magnitude << 13) + (exponent_offset << 23)));
}

/// value / 2^shift, to nearest, ties to even.
inline unsigned shift_and_round(unsigned value, unsigned shift) {
    return (value + (1u << (shift - 1)) - 1 + (value >> shift & 1)) >> shift;
}

inline unsigned short f32_to_half_bits(float value) {
    unsigned sign = bits_of(value) >> 16 & 0x8000u, magnitude = bits_of(value) & 0x7fffffffu, half;
    if (magnitude > 0x7f800000) half = 0x7fff;        // NaN
    else if (magnitude >= 0x477ff000) half = 0x7c00;  // rounds to 2^16 or more, which is infinity
    else if (magnitude >= 0x38800000) half = shift_and_round(magnitude - ((127u - 15u) << 23), 13);
    else if (magnitude < 0x33000000) half = 0;        // less than half of the smallest subnormal
    else half = shift_and_round((magnitude & 0x7fffff) | 0x800000, 126 - (magnitude >> 23));
    return (unsigned short)(sign | half);
}

}  // namespace warpfold

namespace emulator {

/// A kernel without its type: to be called with a pointer to each argument, as a launch in CUDA is.
struct Kernel {
    void (*call)(void* const* arguments);
    const size_t* sizes;
    size_t count;
};

template <class... Arguments>
struct Signature {
    static constexpr size_t SIZES[] = {sizeof(Arguments)...};

    template <void (*kernel)(Arguments...)>
    static void call(void* const* arguments) {
        [&]<size_t... I>(std::index_sequence<I...>) {
            kernel(*static_cast<Arguments*>(arguments[I])...);
        }(std::index_sequence_for<Arguments...>());
    }
};

template <class... Arguments>
Signature<Arguments...> signature_of(void (*)(Arguments...));

}  // namespace emulator

/// Makes a kernel known to the emulator by its name.
#define EMULATE(kernel)                                                                                   \
    extern "C" {                                                                                          \
    extern const emulator::Kernel emulated_##kernel;                                                      \
    const emulator::Kernel emulated_##kernel = {                                                          \
        decltype(emulator::signature_of(kernel))::call<kernel>, decltype(emulator::signature_of(kernel))::SIZES, \
        sizeof(decltype(emulator::signature_of(kernel))::SIZES) / sizeof(size_t)};                        \
    }
