// What the kernels need of the machine beyond C++ and CUDA's built-in names: a thin layer with two
// faces.
//
//   ptx.cuh                   speaks PTX; the only place that does
//   host.hpp and emulator/    speak for the CPU; they come first, and define WARPFOLD_EMULATOR and
//                             the same functions
//
// The kernels include no CUDA or C++ header, so that NVRTC compiles them fast and without a
// toolkit's include folder.
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
#if defined(__CUDACC_RTC_INT128__) || defined(__SIZEOF_INT128__)
using u128 = unsigned __int128;
using i128 = __int128;
#else
// NVRTC has them on Linux only.
struct u128;
struct i128;
#endif
using f32 = float;
using f64 = double;

constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu;

/// The most bytes that a launch prefetches before it begins. More would delay what the launch
/// before it still reads.
constexpr u64 MOST_PREFETCHED = 9 << 20;

}  // namespace warpfold

#ifndef WARPFOLD_EMULATOR
#include "machine/ptx.cuh"
#endif
