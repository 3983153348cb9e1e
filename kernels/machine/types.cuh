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

/// A value of parts shorter than a register, while it is folded: as words, in the order of memory.
/// By itself the compiler would give each part a register, and put them together for every exchange
/// between lanes.
template <class T>
struct Held {
    u32 words[(sizeof(T) + 3) / 4];

    union Either {
        u32 words[(sizeof(T) + 3) / 4];
        T value;
    };

    static __device__ __forceinline__ Held of(const T& value) {
        Either either;
        either.words[sizeof(words) / 4 - 1] = 0;
        either.value = value;
        Held held;
#pragma unroll
        for (int i = 0; i < (int)sizeof(words) / 4; i++) held.words[i] = either.words[i];
        return held;
    }
    __device__ __forceinline__ T value() const {
        Either either;
#pragma unroll
        for (int i = 0; i < (int)sizeof(words) / 4; i++) either.words[i] = words[i];
        return either.value;
    }
};

/// Whether values are held.
template <class T>
constexpr bool IS_HELD = __is_class(T) && alignof(T) < 4 && sizeof(T) >= 2;
template <class T>
constexpr bool IS_HELD<Held<T>> = false;

/// The type in which folds over T compute, and the two conversions.
template <class T>
struct Fold {
    using Accumulator = T;
    static __device__ __forceinline__ T widen(T value) { return value; }
    static __device__ __forceinline__ T narrow(T value) { return value; }
};

template <class T>
    requires IS_HELD<T>
struct Fold<T> {
    using Accumulator = Held<T>;
    static __device__ __forceinline__ Held<T> widen(const T& value) { return Held<T>::of(value); }
    static __device__ __forceinline__ T narrow(const Held<T>& held) { return held.value(); }
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
    static __device__ __forceinline__ f32 widen(bf16 value) {
        return from_bits((u32)value.bits << 16);
    }
    static __device__ __forceinline__ bf16 narrow(f32 value) {
        return bf16{f32_to_bf16_bits(value)};
    }
};

template <class T>
using AccumulatorOf = typename Fold<T>::Accumulator;

/// What operators take and give of a type that folds compute in.
template <class A>
struct Operand {
    using Type = A;
    static __device__ __forceinline__ const A& of(const A& value) { return value; }
    static __device__ __forceinline__ const A& keep(const A& value) { return value; }
};
template <class T>
struct Operand<Held<T>> {
    using Type = T;
    static __device__ __forceinline__ T of(const Held<T>& held) { return held.value(); }
    static __device__ __forceinline__ Held<T> keep(const T& value) { return Held<T>::of(value); }
};

}  // namespace warpfold
