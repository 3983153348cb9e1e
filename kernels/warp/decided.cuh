// Operators that may be unsure.
//
// A function such as exp of f32 has a fast path, which nearly always tells how its result rounds,
// and a slow one. An operator that calls such functions comes in two versions: `combine_nearly`
// takes fast paths alone, and says whether one of them was unsure; `combine_surely` is called for
// what is right in any case. So many combinations are computed with no branch between them, side by
// side where none waits for another. Then one branch tells whether all must be computed again.
#pragma once
#include "machine/words.cuh"

namespace warpfold {

template <class Operator>
constexpr bool MAY_BE_UNSURE = requires { &Operator::combine_nearly; };

/// Combines by fast paths, and sets `unsure` if one of them was.
template <class Operator>
struct Nearly {
    bool& unsure;

    template <class A>
    __device__ __forceinline__ A operator()(const A& a, const A& b) const {
        return Operator::combine_nearly(unsure, a, b);
    }
};

/// Combines what a fast path was unsure of.
template <class Operator>
struct Surely {
    template <class A>
    __device__ __forceinline__ A operator()(const A& a, const A& b) const {
        return Operator::combine_surely(a, b);
    }
};

/// Combines by the operator.
template <class Operator>
struct Combine {
    template <class A>
    __device__ __forceinline__ A operator()(const A& a, const A& b) const {
        return Operator::combine(a, b);
    }
};

/// Runs `compute(combine)`, where `combine` combines two values. It may run twice, so it must not
/// change what it reads.
template <class Operator, class Compute>
__device__ __forceinline__ void decided(const Compute& compute) {
    if constexpr (MAY_BE_UNSURE<Operator>) {
        bool unsure = false;
        compute(Nearly<Operator>{unsure});
        if (unsure) compute(Surely<Operator>{});
    } else {
        compute(Combine<Operator>{});
    }
}

/// The same by whole warps: `compute` may exchange values between lanes.
template <class Operator, class Compute>
__device__ __forceinline__ void decided_by_warp(const Compute& compute) {
    if constexpr (MAY_BE_UNSURE<Operator>) {
        bool unsure = false;
        compute(Nearly<Operator>{unsure});
        if (__any_sync(ALL_LANES, unsure)) compute(Surely<Operator>{});
    } else {
        compute(Combine<Operator>{});
    }
}

}  // namespace warpfold
