// The tree over a run: the values of the neighbouring items that one lane holds.
#pragma once
#include "block/blelloch.cuh"
#include "warp/lanes.cuh"

namespace warpfold {

template <class Operator, class A, int RUN>
struct RunTree {
    static constexpr bool AT_REGISTER_WIDTH = FOLDED_AT_REGISTER_WIDTH<Operator, A, RUN>;
    using O = typename RunSum<Operator, A, RUN>::Operator;
    using V = typename RunSum<Operator, A, RUN>::Value;

    /// The prefixes of a run.
    struct Scanned {
        V values[RUN];

        /// As items of a type, to be stored.
        template <class T>
        __device__ __forceinline__ MovedRun<T, RUN> moved() const {
            if constexpr (AT_REGISTER_WIDTH) {
                static_assert(SAME<T, A>);
                return O::pack(values);
            } else {
                T items[RUN];
#pragma unroll
                for (int i = 0; i < RUN; i++) items[i] = Fold<T>::narrow(values[i]);
                return pack_run(items);
            }
        }
    };

    V node[RUN];

    __device__ __forceinline__ void up_sweep(const A (&values)[RUN]) {
        if constexpr (AT_REGISTER_WIDTH) {
            u32 words[RUN / O::IN_WORD];
            words_of_run(words, values);
            O::extend(node, words);
        } else {
#pragma unroll
            for (int i = 0; i < RUN; i++) node[i] = values[i];
        }
        run_up_sweep<O, true>(node, RUN);
    }

    __device__ __forceinline__ V sum() const { return node[RUN - 1]; }

    /// The scan, given what precedes the run and, for inclusive ones, what precedes the next.
    /// `init` is shown where there is no prefix.
    __device__ __forceinline__ Scanned down_sweep(const Prefix<O, V>& prefix, const V& next,
                                                  const V& init, bool inclusive) {
        Scanned scanned;
        run_down_sweep<O, true>(node, RUN, prefix.value, prefix.present);
        if (!inclusive) node[0] = choose(prefix.present, node[0], init);
        if (inclusive) {
#pragma unroll
            for (int i = 0; i < RUN; i++)
                scanned.values[i] = i + 1 < RUN ? node[(i + 1) % RUN] : next;
            return scanned;
        }
#pragma unroll
        for (int i = 0; i < RUN; i++) scanned.values[i] = node[i];
        return scanned;
    }
};

/// The tree in pairs: the two halves of the run side by side.
template <class Operator, class A, int RUN>
    requires FOLDED_IN_PAIRS<Operator, A, RUN>
struct RunTree<Operator, A, RUN> {
    using Pairs = OnPairs<Operator, A>;
    static constexpr int HALF = RUN / 2, WORDS = RUN * (int)sizeof(A) / 4;

    struct Scanned {
        u32 words[WORDS];

        template <class T>
        __device__ __forceinline__ MovedRun<T, RUN> moved() const {
            static_assert(SAME<T, A>);
            MovedRun<T, RUN> run;
#pragma unroll
            for (int i = 0; i < WORDS; i++) run.template words<4>()[i] = words[i];
            return run;
        }
    };

    u32 node[HALF];

    __device__ __forceinline__ void up_sweep(const A (&values)[RUN]) {
        u32 words[WORDS];
        words_of_run(words, values);
        pair_up<Pairs, A>(node, words);
        run_up_sweep<Pairs, true>(node, HALF);
    }

    __device__ __forceinline__ u32 sum() const { return Pairs::fold(node[HALF - 1]); }

    /// The scan of both halves. Where there is no prefix, these operations have an identity, which
    /// is exact.
    __device__ __forceinline__ Scanned down_sweep(const Prefix<Pairs, u32>& prefix, u32 next,
                                                  u32 init, bool inclusive) {
        u32 first = choose(prefix.present, prefix.value, Pairs::identity());
        u32 middle = Pairs::combine(first, node[HALF - 1]);
        run_down_sweep<Pairs, true>(node, HALF, Pairs::join(first, middle), true);
        if (inclusive) {
#pragma unroll
            for (int i = 0; i + 1 < HALF; i++) node[i] = node[i + 1];
            node[HALF - 1] = Pairs::join(middle, next);
        } else {
            node[0] = Pairs::join(choose(prefix.present, first, init), middle);
        }
        Scanned scanned;
        take_apart<A>(scanned.words, node);
        return scanned;
    }
};

}  // namespace warpfold
