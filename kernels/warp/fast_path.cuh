// Operators that may be unsure.
//
// A function such as exp of f32 has a fast path, which nearly always tells how its result rounds,
// and a slow one. An operator that calls such functions comes in two versions: `combine_fast`
// takes fast paths alone, and says whether one of them was unsure; `combine_slow` gives the right
// result in any case. So many combinations are computed with no branch between them, side by
// side where none waits for another. Then one branch tells whether all must be computed again.
#pragma once
#include "machine/words.cuh"

namespace warpfold {

/// Functions named `…_by` take one of the functions below in place of the operator. They are called
/// by `FastPath`, and then perhaps by `SlowPath`.
template <class Operator>
constexpr bool MAY_BE_UNSURE = requires { &Operator::combine_fast; };

/// Combines by fast paths, and sets `unsure` if one of them was. Operators without a fast path
/// combine as always.
template <class Operator>
struct FastPath {
    bool& unsure;

    template <class A>
    __device__ __forceinline__ A operator()(const A& a, const A& b) const {
        if constexpr (MAY_BE_UNSURE<Operator>) return Operator::combine_fast(unsure, a, b);
        else return Operator::combine(a, b);
    }
};

/// Combines what a fast path was unsure of.
template <class Operator>
struct SlowPath {
    template <class A>
    __device__ __forceinline__ A operator()(const A& a, const A& b) const {
        return Operator::combine_slow(a, b);
    }
};

/// Combines as always.
template <class Operator>
struct Combine {
    template <class A>
    __device__ __forceinline__ A operator()(const A& a, const A& b) const {
        return Operator::combine(a, b);
    }
};

}  // namespace warpfold
