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

// IEEE 754-2019 minimum and maximum, word for word as on the host (src/ops.rs): equal numbers
// differ at most in the sign of zero, which or/and settles; what does not compare holds a NaN,
// which + passes on.
#define WARPFOLD_FLOAT(T)                                                                                   \
    __device__ __forceinline__ T add(T a, T b) { return a + b; }                                            \
    __device__ __forceinline__ T mul(T a, T b) { return a * b; }                                            \
    __device__ __forceinline__ T minimum(T a, T b) {                                                        \
        return a < b ? a : b < a ? b : a == b ? from_bits(bits_of(a) | bits_of(b)) : a + b;                 \
    }                                                                                                       \
    __device__ __forceinline__ T maximum(T a, T b) {                                                        \
        return b < a ? a : a < b ? b : a == b ? from_bits(bits_of(a) & bits_of(b)) : a + b;                 \
    }

WARPFOLD_FLOAT(f32)
WARPFOLD_FLOAT(f64)
#undef WARPFOLD_FLOAT

template <class Part>
__device__ __forceinline__ Complex<Part> add(Complex<Part> a, Complex<Part> b) {
    return {a.re + b.re, a.im + b.im};
}

template <class Part>
__device__ __forceinline__ Complex<Part> mul(Complex<Part> a, Complex<Part> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

}  // namespace warpfold
