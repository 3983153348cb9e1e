// Runs of short numbers, two in a register.
//
// A lane computes in registers of 32 bits. So a number of 8 or 16 bits costs as much as one of 32,
// and a run of bytes more than memory leaves time for. But some operations a GPU has for two
// numbers of 16 bits at once. Here item i of a run shares a register with item i + RUN / 2. Both
// halves of the run are folded in the same instructions, each by its own tree, and in the end one
// combination joins them: the bracketing is the law's.
#pragma once
#include "machine/parts.cuh"

namespace warpfold {

/// Whether a run is folded in pairs. Each half must fill registers.
template <class Operator, class A, int RUN>
constexpr bool FOLDED_IN_PAIRS =
    HAS_PAIRS && RUN * sizeof(A) % 8 == 0 && requires { Operator::PAIRS; };

/// The operator on pairs: it combines the first numbers, and the second.
///
/// A byte is the upper one of its 16 bits. What is below it decides nothing: extremes compare the
/// upper bytes first, and where these are equal, either will do. Only sums need zeros there. What
/// the first number carries over falls below the second, where there is room for 255 times that;
/// `fold` clears it.
template <class Operator, class A>
struct OnPairs {
    static constexpr bool COMMUTATIVE = true;
    static constexpr InPairs OPERATION = Operator::PAIRS;

    static __device__ __forceinline__ u32 combine(u32 a, u32 b) {
        if constexpr (OPERATION == InPairs::ADD) return a + b;
        else if constexpr (OPERATION == InPairs::AND) return a & b;
        else if constexpr (OPERATION == InPairs::OR) return a | b;
        else if constexpr (OPERATION == InPairs::XOR) return a ^ b;
        else return extremes_of_pairs<OPERATION, IS_SIGNED_NUMBER<A>>(a, b);
    }

    /// What changes nothing that it is combined with.
    static __device__ __forceinline__ u32 identity() {
        constexpr A LEAST = IS_SIGNED_NUMBER<A> ? (A)(1u << (8 * sizeof(A) - 1)) : (A)0;
        constexpr A GREATEST = (A)~LEAST;
        if constexpr (OPERATION == InPairs::AND) return of((A)~0u);
        else if constexpr (OPERATION == InPairs::MINIMUM) return of(GREATEST);
        else if constexpr (OPERATION == InPairs::MAXIMUM) return of(LEAST);
        else return 0;
    }

    static constexpr int SHIFT = 16 - 8 * (int)sizeof(A);

    /// A pair whose first is a value.
    static __device__ __forceinline__ u32 of(A value) { return (u32)value << SHIFT; }
    static __device__ __forceinline__ A first(u32 pair) { return (A)(pair >> SHIFT); }
    /// The firsts of two pairs.
    static __device__ __forceinline__ u32 join(u32 first, u32 second) {
        return __byte_perm(first, second, 0x5410);
    }
    /// The first and the second, combined. What comes after it decides nothing.
    static __device__ __forceinline__ u32 fold(u32 pair) {
        return clear(combine(pair, pair >> 16));
    }
    /// Puts zeros where the operator needs them.
    static __device__ __forceinline__ u32 clear(u32 pair) {
        return OPERATION == InPairs::ADD ? pair & 0xff00ff00 : pair;
    }
};

/// What lanes hold of runs, and exchange: values, combined by an operator.
template <class O, class A, int RUN>
struct RunSum {
    using Operator = O;
    using Value = A;
    static __device__ __forceinline__ const A& of(const A& value) { return value; }
    static __device__ __forceinline__ const A& value(const A& held) { return held; }
};

/// The first of a pair, since to cut off the second would take an instruction each time.
template <class O, class A, int RUN>
    requires FOLDED_IN_PAIRS<O, A, RUN>
struct RunSum<O, A, RUN> {
    using Operator = OnPairs<O, A>;
    using Value = u32;
    static __device__ __forceinline__ u32 of(A value) { return Operator::of(value); }
    static __device__ __forceinline__ A value(u32 held) { return Operator::first(held); }
};

/// The pairs of the words of a run.
template <class Pairs, class A, int WORDS, int HALF>
__device__ __forceinline__ void pair_up(u32 (&pairs)[HALF], const u32 (&words)[WORDS]) {
    constexpr int IN_WORD = 4 / (int)sizeof(A);
#pragma unroll
    for (int i = 0; i < HALF; i += IN_WORD) {
        u32 first = words[i / IN_WORD], second = words[WORDS / 2 + i / IN_WORD];
        if constexpr (sizeof(A) == 2) {
            pairs[i] = __byte_perm(first, second, 0x5410);
            pairs[i + 1] = __byte_perm(first, second, 0x7632);
        } else {
            pairs[i] = Pairs::clear(__byte_perm(first, second, 0x4400));
            pairs[i + 1] = Pairs::clear(__byte_perm(first, second, 0x5511));
            pairs[i + 2] = Pairs::clear(__byte_perm(first, second, 0x6622));
            pairs[i + 3] = Pairs::clear(__byte_perm(first, second, 0x7733));
        }
    }
}

/// The items of pairs, as words.
template <class A, int WORDS, int HALF>
__device__ __forceinline__ void take_apart(u32 (&words)[WORDS], const u32 (&pairs)[HALF]) {
#pragma unroll
    for (int i = 0; i < WORDS / 2; i++) {
        u32 &first = words[i], &second = words[WORDS / 2 + i];
        if constexpr (sizeof(A) == 2) {
            first = __byte_perm(pairs[2 * i], pairs[2 * i + 1], 0x5410);
            second = __byte_perm(pairs[2 * i], pairs[2 * i + 1], 0x7632);
        } else {
            u32 left = __byte_perm(pairs[4 * i], pairs[4 * i + 1], 0x7351);
            u32 right = __byte_perm(pairs[4 * i + 2], pairs[4 * i + 3], 0x7351);
            first = __byte_perm(left, right, 0x5410);
            second = __byte_perm(left, right, 0x7632);
        }
    }
}

}  // namespace warpfold
