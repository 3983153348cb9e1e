// CUDA for functions over values, when a C++ compiler compiles them for the CPU: CUDA's words and
// built-in names, and their part of the layer that device.cuh describes. Such functions touch no
// memory but their own, and no other thread. The emulator (emulator/) adds memory and threads.
#pragma once
#include <math.h>
#include <string.h>

#define WARPFOLD_EMULATOR

#define __global__
#define __host__
#define __device__
#define __constant__ const
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned picked = 0;
    for (int i = 0; i < 4; i++)
        picked |= (unsigned)(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
    return picked;
}
inline double __hiloint2double(int high, int low) {
    unsigned long long bits = (unsigned long long)(unsigned)high << 32 | (unsigned)low;
    return __builtin_bit_cast(double, bits);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++) reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}
inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }

namespace warpfold {

// As on chips before sm_80: by the definition in rust.cuh.
template <class T>
T minimum_by_comparison(T a, T b);
template <class T>
T maximum_by_comparison(T a, T b);
inline float minimum_f32(float a, float b) { return minimum_by_comparison(a, b); }
inline float maximum_f32(float a, float b) { return maximum_by_comparison(a, b); }

// CUDA's fmin and fmax are PTX's min and max: if one is NaN, the other, and -0 is less than +0. C's
// give NaN for a signalling one, and either of two zeros.
template <class T>
inline T minimum_number(T a, T b) {
    return a != a ? b : b != b ? a : minimum_by_comparison(a, b);
}
template <class T>
inline T maximum_number(T a, T b) {
    return a != a ? b : b != b ? a : maximum_by_comparison(a, b);
}
inline float fminf(float a, float b) { return minimum_number(a, b); }
inline float fmaxf(float a, float b) { return maximum_number(a, b); }
inline double fmin(double a, double b) { return minimum_number(a, b); }
inline double fmax(double a, double b) { return maximum_number(a, b); }

inline unsigned bits_of(float value) { return __builtin_bit_cast(unsigned, value); }
inline unsigned long long bits_of(double value) {
    return __builtin_bit_cast(unsigned long long, value);
}
inline float from_bits(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline double from_bits(unsigned long long bits) { return __builtin_bit_cast(double, bits); }

// About 1 / a, and 1 / √a. Subnormals count as 0.
inline float near_reciprocal(float a) {
    float result = 1 / (fabsf(a) < 0x1p-126f ? copysignf(0, a) : a);
    return fabsf(result) < 0x1p-126f ? copysignf(0, result) : result;
}
inline float near_reciprocal_root(float a) {
    return (float)(1 / sqrt((double)(fabsf(a) < 0x1p-126f ? copysignf(0, a) : a)));
}
/// Of a float of 64 bits a GPU tells the upper half alone.
inline double near_reciprocal(double a) {
    double result = 1 / (fabs(a) < 0x1p-1022 ? copysign(0, a) : a);
    bool is_subnormal = fabs(result) < 0x1p-1022;
    return is_subnormal ? copysign(0, result)
                        : from_bits(bits_of(result) & 0xffffffff00000000ull);
}

inline unsigned in_register(unsigned value) { return value; }

template <int BYTES, bool SIGNED>
int permuted_part(unsigned word, int place) {
    constexpr int ABOVE = 32 - 8 * BYTES;
    unsigned highest = word >> (8 * BYTES * place) << ABOVE;
    return SIGNED ? (int)highest >> ABOVE : (int)(highest >> ABOVE);
}
template <int BYTES, bool SIGNED>
int multiplied_part(unsigned word, int place) {
    return permuted_part<BYTES, SIGNED>(word, place);
}

constexpr bool HAS_PAIRS = true;

/// The extreme of the lower halves, and of the upper ones, as numbers of a type.
template <class Half>
unsigned on_pairs(unsigned a, unsigned b, bool wants_greater) {
    auto pick = [&](Half x, Half y) {
        return (unsigned)(unsigned short)((x > y) == wants_greater ? x : y);
    };
    return pick((Half)a, (Half)b) | pick((Half)(a >> 16), (Half)(b >> 16)) << 16;
}
inline unsigned min_u16x2(unsigned a, unsigned b) { return on_pairs<unsigned short>(a, b, false); }
inline unsigned max_u16x2(unsigned a, unsigned b) { return on_pairs<unsigned short>(a, b, true); }
inline unsigned min_i16x2(unsigned a, unsigned b) { return on_pairs<short>(a, b, false); }
inline unsigned max_i16x2(unsigned a, unsigned b) { return on_pairs<short>(a, b, true); }

inline unsigned pack_bytes(unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
    return (unsigned)d << 24 | (unsigned)c << 16 | (unsigned)b << 8 | a;
}

inline unsigned pack_bytes(int a, int b, int c, int d) {
    return pack_bytes((unsigned char)a, (unsigned char)b, (unsigned char)c, (unsigned char)d);
}

inline float half_bits_to_f32(unsigned short half) {
    unsigned sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    if (magnitude < 0x0400)
        return from_bits(sign | bits_of((float)magnitude * 0x1p-24f));  // subnormal
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
    else if (magnitude < 0x33000000) half = 0;  // less than half of the smallest subnormal
    else half = shift_and_round((magnitude & 0x7fffff) | 0x800000, 126 - (magnitude >> 23));
    return (unsigned short)(sign | half);
}

inline unsigned short f32_to_bf16_bits(float value) {
    bool is_nan = (bits_of(value) & 0x7fffffffu) > 0x7f800000u;
    return (unsigned short)(is_nan ? 0x7fff : shift_and_round(bits_of(value), 16));
}

}  // namespace warpfold

// For operators that are written in CUDA.
namespace user {
using warpfold::fmax;
using warpfold::fmaxf;
using warpfold::fmin;
using warpfold::fminf;
}  // namespace user
