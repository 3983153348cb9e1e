// Quotients of floats without a branch.
//
// A compiler computes them by a fast path, and branches to a slow one where that is not exact:
// where an exponent is extreme, for infinities and NaN. No two such branches are taken at once, so
// several divisions take as long as one after the other. Here the fast path says whether it was
// exact. If not, it sets `unsure`, and what it returns may be anything (warp/fast_path.cuh).
//
// Each begins with an approximation by the hardware. Newton's steps double its digits. The last one
// adds what a quotient leaves over. A fused multiply-add tells that exactly, unless it is
// subnormal. Then the sum rounds as the true quotient does (P. Markstein, "Computation of
// elementary functions on the IBM RISC System/6000 processor", 1990). CUDA's own fast paths take
// the same steps on all architectures from 7.5 to 12.0.
#pragma once
#include "machine/rust.cuh"

namespace warpfold {
namespace rust {

/// The magnitude of the upper half of a float of 64 bits, as a float of 32 bits: the greater the
/// one, the greater the other. From 2^1017 on, and of NaN, it is infinity or NaN.
__device__ __forceinline__ f32 upper_half(f64 a) {
    return from_bits((u32)(bits_of(a) >> 32) & 0x7fffffffu);
}
/// The upper half of 2^exponent.
__device__ __forceinline__ f32 upper_half_of_power(int exponent) {
    return from_bits((u32)(1023 + exponent) << 20);
}

// A quotient of 0 has the right sign, unless it is that of -0.

__device__ __forceinline__ f32 div(bool& unsure, f32 a, f32 b) {
    f32 by = near_reciprocal(b);
    by = fmaf(by, fmaf(-b, by, 1.0f), by);
    f32 nearly = a * by, quotient = fmaf(fmaf(-b, nearly, a), by, nearly), size = abs(quotient);
    bool is_exact = (abs(a) >= 0x1p-100f) & (size >= 0x1p-125f) & (size <= 0x1p126f);
    bool is_zero = (bits_of(a) == 0) & (quotient == 0);
    unsure |= !(is_exact | is_zero);
    return quotient;
}

__device__ __forceinline__ f64 div(bool& unsure, f64 a, f64 b) {
    f64 by = near_reciprocal(b), error = fma(-b, by, 1.0);
    by = fma(by, fma(error, error, error), by);
    by = fma(by, fma(-b, by, 1.0), by);
    f64 nearly = a * by, quotient = fma(fma(-b, nearly, a), by, nearly);
    f32 size = upper_half(quotient);
    bool is_exact = (upper_half(a) >= upper_half_of_power(-960)) &
                    (size >= upper_half_of_power(-1020)) & (size <= upper_half_of_power(1015));
    bool is_zero = (bits_of(a) == 0) & (size == 0);
    unsure |= !(is_exact | is_zero);
    return quotient;
}

template <Float T>
__device__ __forceinline__ T recip(bool& unsure, T a) {
    return div(unsure, (T)1, a);
}

// Integers have no slow path.
template <Integer T>
__device__ __forceinline__ T div(bool&, T a, T b) {
    return div(a, b);
}

}  // namespace rust
}  // namespace warpfold
