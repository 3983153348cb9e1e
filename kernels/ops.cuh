// The arithmetic of the built-in operators; operators of users may call it too.
#pragma once
#include "types.cuh"

namespace warpfold {

// Integers wrap. Signed overflow is undefined in C++, and short types are promoted to int, so
// everything is computed in an unsigned type of at least 32 bits.
#define WARPFOLD_INTEGER(T, UNSIGNED)                                                                       \
    __device__ __forceinline__ T add(T a, T b) { return (T)((UNSIGNED)a + (UNSIGNED)b); }                   \
    __device__ __forceinline__ T mul(T a, T b) { return (T)((UNSIGNED)a * (UNSIGNED)b); }                   \
    __device__ __forceinline__ T minimum(T a, T b) { return b < a ? b : a; }                                \
    __device__ __forceinline__ T maximum(T a, T b) { return b < a ? a : b; }

WARPFOLD_INTEGER(u8, u32)
WARPFOLD_INTEGER(i8, u32)
WARPFOLD_INTEGER(u16, u32)
WARPFOLD_INTEGER(i16, u32)
WARPFOLD_INTEGER(u32, u32)
WARPFOLD_INTEGER(i32, u32)
WARPFOLD_INTEGER(u64, u64)
WARPFOLD_INTEGER(i64, u64)
#undef WARPFOLD_INTEGER

// IEEE 754-2019 minimum and maximum, word for word as on the host (src/ops.rs): equal numbers differ at
// most in the sign of zero, which or/and settles; what does not compare holds a NaN, which + passes on.
template <class T>
__device__ __forceinline__ T minimum_by_comparison(T a, T b) {
    return a < b ? a : b < a ? b : a == b ? from_bits(bits_of(a) | bits_of(b)) : a + b;
}

template <class T>
__device__ __forceinline__ T maximum_by_comparison(T a, T b) {
    return b < a ? a : a < b ? b : a == b ? from_bits(bits_of(a) & bits_of(b)) : a + b;
}

__device__ __forceinline__ f32 add(f32 a, f32 b) { return a + b; }
__device__ __forceinline__ f32 mul(f32 a, f32 b) { return a * b; }
__device__ __forceinline__ f32 minimum(f32 a, f32 b) { return minimum_f32(a, b); }
__device__ __forceinline__ f32 maximum(f32 a, f32 b) { return maximum_f32(a, b); }
__device__ __forceinline__ f64 add(f64 a, f64 b) { return a + b; }
__device__ __forceinline__ f64 mul(f64 a, f64 b) { return a * b; }
__device__ __forceinline__ f64 minimum(f64 a, f64 b) { return minimum_by_comparison(a, b); }
__device__ __forceinline__ f64 maximum(f64 a, f64 b) { return maximum_by_comparison(a, b); }

template <class Part>
__device__ __forceinline__ Complex<Part> add(Complex<Part> a, Complex<Part> b) {
    return {a.re + b.re, a.im + b.im};
}

template <class Part>
__device__ __forceinline__ Complex<Part> mul(Complex<Part> a, Complex<Part> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

}  // namespace warpfold
