// What the kernels need of the machine beyond C++: the few places where PTX is spoken.
//
// The kernels include no CUDA or C++ header, so that NVRTC compiles them fast and without a
// toolkit's include folder. A host that emulates them supplies its own version of this file.
#pragma once

namespace warpfold {

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using i16 = short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;
using f32 = float;
using f64 = double;

constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu;

#ifndef WARPFOLD_EMULATOR

__device__ __forceinline__ f32 half_bits_to_f32(u16 bits) {
    f32 value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ u16 f32_to_half_bits(f32 value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

__device__ __forceinline__ u32 bits_of(f32 value) { return __float_as_uint(value); }
__device__ __forceinline__ u64 bits_of(f64 value) { return (u64)__double_as_longlong(value); }
__device__ __forceinline__ f32 from_bits(u32 bits) { return __uint_as_float(bits); }
__device__ __forceinline__ f64 from_bits(u64 bits) { return __longlong_as_double((i64)bits); }

#endif

}  // namespace warpfold
