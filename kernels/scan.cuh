// Scan: a fold by any operator, and the sink that stores every prefix.
//
// An inclusive result is the exclusive one of the next position. For the last of a tile that is the
// next tile's prefix, so the next tile's block stores it. If the last tile is whole, one without
// elements follows it.
#pragma once
#include "warp/unaligned.cuh"
#include "warp/row_scan.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

/// In REVERSE the result of position i lies at `last` - i.
template <class O, class T, bool REVERSE = false>
struct Scan {
    using Operator = O;
    using Item = T;
    using A = AccumulatorOf<T>;
    using P = Prefix<Operator, A>;
    static constexpr bool REVERSED = REVERSE;
    /// Whether the warps of the wave engine need more room than that for items.
    static constexpr bool BESIDE = false;
    /// What is kept from one batch of a chunk's rows to the next: nothing.
    struct Chunk {};

    T* out;
    A init;
    bool seeded, inclusive;
    u64 last;

    /// The bytes that a warp needs for what it stores of so many items.
    static __device__ constexpr int room_bytes(int items) { return items * (int)sizeof(T); }

    /// The number of tiles of `tile` items.
    __device__ __forceinline__ u64 tiles(u64 length, u64 tile) const {
        return inclusive ? length / tile + 1 : (length + tile - 1) / tile;
    }
    /// What precedes everything.
    __device__ __forceinline__ P before() const { return {init, seeded}; }

    /// The values of a run of items.
    template <int RUN>
    __device__ __forceinline__ void values(A (&values)[RUN], const T (&items)[RUN]) const {
#pragma unroll
        for (int i = 0; i < RUN; i++) values[i] = Fold<T>::widen(items[i]);
    }

    /// The trees over several rows at once.
    template <int RUN, int ROWS>
    struct Rows {
        RowTrees<Operator, A, RUN, ROWS> trees;

        /// Returns the sum of row l % ROWS to lane l.
        __device__ __forceinline__ A up_sweep(const Scan& scan, const T (&items)[ROWS][RUN]) {
            A values[ROWS][RUN];
#pragma unroll
            for (int k = 0; k < ROWS; k++) scan.values(values[k], items[k]);
            return trees.up_sweep(values);
        }
    };

    /// Stores one result.
    __device__ __forceinline__ void store(u64 position, const A& result) const {
        out[REVERSE ? last - position : position] = Fold<T>::narrow(result);
    }

    /// Called once for each tile, by a thread that knows its prefix.
    __device__ __forceinline__ void begin_tile(u64 start, const A& prefix) const {
        if (inclusive && start > 0) store(start - 1, prefix);
    }

    /// Stores the results of rows, from item `first` of a tile on, that come before `results`. In
    /// lane l, `before` is the prefix of row l % ROWS; it is present if the first row has one.
    /// `after` is the prefix of what follows these rows.
    template <int RUN, int ROWS, class Store>
    __device__ __forceinline__ void emit(Chunk&, Rows<RUN, ROWS>& rows, const T (&)[ROWS][RUN],
                                         const P& before, const A& after, u64 start, int first,
                                         int results, const Store& store) const {
        MovedRun<T, RUN> moved[ROWS];
        move(moved, rows, before, after);
        store_rows(moved, start + first, results - first, store);
    }

    /// The results of rows, as they are stored. In lane l, `before` is the prefix of row l % ROWS.
    template <int RUN, int ROWS>
    __device__ __forceinline__ void move(MovedRun<T, RUN> (&moved)[ROWS], Rows<RUN, ROWS>& rows,
                                         const P& before, const A& after) const {
        typename RowTrees<Operator, A, RUN, ROWS>::Scanned scanned[ROWS];
        rows.trees.down_sweep(scanned, before.value, before.present, after, init, inclusive);
#pragma unroll
        for (int k = 0; k < ROWS; k++) moved[k] = scanned[k].template moved<T>();
    }

    /// Stores a row of results, from item `first` of a tile on, that come before `results`.
    template <int RUN, class Store>
    __device__ __forceinline__ void store_row(const A (&values)[RUN], u64 start, int first,
                                              int results, const Store& store) const {
        T items[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = Fold<T>::narrow(values[i]);
        MovedRun<T, RUN> row[1] = {pack_run(items)};
        store_rows(row, start + first, results - first, store);
    }

    /// Stores rows of results, the first of them at `position`, except from the `limit`th on.
    template <class Moved, int ROWS, class Store>
    __device__ __forceinline__ void store_rows(Moved (&rows)[ROWS], u64 position, int limit,
                                               const Store& store) const {
        if constexpr (REVERSE) store.reversed_rows(out + (last + 1 - position), rows, limit);
        else store.rows(out + position, rows, limit);
    }

    /// How many of the items of a tile have a result that this tile stores.
    __device__ __forceinline__ int results(int elements, bool whole) const {
        return elements - (inclusive && whole ? 1 : 0);
    }
};

}  // namespace warpfold
