// Runs of short integers, one in a register of 32 bits.
//
// Operators that pairs.cuh cannot compute take the integers one by one. A GPU computes with 32 bits
// only. So an integer of 8 or 16 bits is extended to 32, by zeros or its sign, when it is taken out
// of the word that was loaded; and it stays extended between combinations, also when lanes exchange
// it. If it became an `i8` in between, a compiler would extend it again before each use, since it
// does not know how the register was filled. For the same reason the operator is written a second
// time, on integers that are extended (`rust::RegisterWidth`, src/operator/register_width.rs).
//
// Of a sum or a product, the lower bits depend on the lower bits of the operands alone. For such
// operators anything may be above them.
#pragma once
#include "machine/rust.cuh"
#include "warp/pairs.cuh"

namespace warpfold {

/// Whether a run is folded so. It must fill registers.
template <class Operator, class A, int RUN>
constexpr bool FOLDED_AT_REGISTER_WIDTH = requires {
    &Operator::combine_at_register_width;
} && RUN * sizeof(A) % 4 == 0 && !FOLDED_IN_PAIRS<Operator, A, RUN>;

/// The operator on integers that are extended.
template <class O, class A>
struct OnRegisterWidth {
    static constexpr bool COMMUTATIVE = O::COMMUTATIVE;
    static constexpr int IN_WORD = 4 / (int)sizeof(A);

    static __device__ __forceinline__ i32 combine(i32 a, i32 b) {
        return O::combine_at_register_width(a, b);
    }

    /// One of the integers in a word.
    static __device__ __forceinline__ i32 part(u32 word, int place) {
        constexpr bool SIGNED = IS_SIGNED_NUMBER<A>;
        bool can_shift = O::IS_OF_LOWER_BITS && (O::MULTIPLIES || place == 0);
        if (can_shift) return (i32)(word >> 8 * (int)sizeof(A) * place);
        if constexpr (O::MULTIPLIES) return permuted_part<sizeof(A), SIGNED>(word, place);
        else return multiplied_part<sizeof(A), SIGNED>(word, place);
    }

    /// The integers of the words of a run.
    template <int RUN>
    static __device__ __forceinline__ void extend(i32 (&integers)[RUN],
                                                  const u32 (&words)[RUN / IN_WORD]) {
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            integers[i] = part(words[i / IN_WORD], i % IN_WORD);
        }
    }

    /// The run of these integers.
    template <int RUN>
    static __device__ __forceinline__ MovedRun<A, RUN> pack(const i32 (&integers)[RUN]) {
        MovedRun<A, RUN> run;
#pragma unroll
        for (int i = 0; i < RUN; i += IN_WORD) {
            u32& word = run.template words<4>()[i / IN_WORD];
            if constexpr (sizeof(A) == 2)
                word = __byte_perm((u32)integers[i], (u32)integers[i + 1], 0x5410);
            else
                word = pack_bytes(integers[i], integers[i + 1], integers[i + 2], integers[i + 3]);
        }
        return run;
    }
};

template <class O, class A, int RUN>
    requires FOLDED_AT_REGISTER_WIDTH<O, A, RUN>
struct RunSum<O, A, RUN> {
    using Operator = OnRegisterWidth<O, A>;
    using Value = i32;
    static __device__ __forceinline__ i32 of(A value) { return value; }
    static __device__ __forceinline__ A value(i32 held) { return (A)held; }
};

}  // namespace warpfold
