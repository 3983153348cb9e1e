// What one block reads of a short input: a run of neighbouring elements a lane. A warp's part is 32
// runs.
#pragma once
#include "source/source_rows.cuh"

namespace warpfold {

template <class Source, int RUN>
struct BlockInput {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    static constexpr int PART = WARP * RUN;
    using Rows = SourceRows<Source, RUN, 1>;

    Source source;
    u32 length;

    /// Prefetches the warp's part, before the launch begins.
    __device__ __forceinline__ void prefetch() const {
        source.prefetch(length, threadIdx.x / WARP * PART, PART, threadIdx.x % WARP == 0);
    }

    /// The lane's run of a part, which has an item at least. Those after the last are the last.
    __device__ __forceinline__ void load(A (&run)[RUN], u32 part) const {
        if (length - part >= PART && !(Rows::SHIFTS && Rows::shifts(source, part))) {
            Rows rows;
            rows.load(source, part, 0, WARP - 1, false);
#pragma unroll
            for (int i = 0; i < RUN; i++) run[i] = Fold<T>::widen(rows.item(0, i));
        } else {
            u32 first = part + threadIdx.x % WARP * RUN;
#pragma unroll
            for (int i = 0; i < RUN; i++)
                run[i] = Fold<T>::widen(source.at(first + i < length ? first + i : length - 1));
        }
    }
};

}  // namespace warpfold
