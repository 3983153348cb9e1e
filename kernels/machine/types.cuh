// The element types, laid out as they are on the host.
#pragma once
#include "machine/device.cuh"

namespace warpfold {

/// A half-precision float as it is stored; arithmetic is done in f32.
struct f16 {
    u16 bits;
};

/// A bfloat16 as it is stored: the upper half of an f32. Arithmetic is done in f32.
struct bf16 {
    u16 bits;
};

template <class Part>
struct Complex {
    Part re, im;
};

/// A fixed-size array as a value. As aligned as its element, like a Rust array.
template <class E, int N>
struct Array {
    E values[N];
    __device__ E& operator[](int i) { return values[i]; }
    __device__ const E& operator[](int i) const { return values[i]; }
};

/// A Rust tuple.
template <class... Parts>
struct Tuple;
template <class A>
struct Tuple<A> { A _0; };
template <class A, class B>
struct Tuple<A, B> { A _0; B _1; };
template <class A, class B, class C>
struct Tuple<A, B, C> { A _0; B _1; C _2; };
template <class A, class B, class C, class D>
struct Tuple<A, B, C, D> { A _0; B _1; C _2; D _3; };
template <class A, class B, class C, class D, class E>
struct Tuple<A, B, C, D, E> { A _0; B _1; C _2; D _3; E _4; };
template <class A, class B, class C, class D, class E, class F>
struct Tuple<A, B, C, D, E, F> { A _0; B _1; C _2; D _3; E _4; F _5; };

/// The type in which folds over T compute, and the two conversions.
template <class T>
struct Fold {
    using Accumulator = T;
    static __device__ __forceinline__ T widen(T value) { return value; }
    static __device__ __forceinline__ T narrow(T value) { return value; }
};

template <>
struct Fold<f16> {
    using Accumulator = f32;
    static __device__ __forceinline__ f32 widen(f16 value) { return half_bits_to_f32(value.bits); }
    static __device__ __forceinline__ f16 narrow(f32 value) { return f16{f32_to_half_bits(value)}; }
};

template <>
struct Fold<bf16> {
    using Accumulator = f32;
    static __device__ __forceinline__ f32 widen(bf16 value) { return from_bits((u32)value.bits << 16); }
    static __device__ __forceinline__ bf16 narrow(f32 value) { return bf16{f32_to_bf16_bits(value)}; }
};

template <class T>
using AccumulatorOf = typename Fold<T>::Accumulator;

}  // namespace warpfold
