// What the steps of the ladder share. The text before this one names their types: Element, what
// arrays hold, and T, in which folds compute; the operator; the product; and with HARDWARE_ATOMIC,
// the instruction that does what the operator does.
//
// Lines that end with this mark combine two values: ⊕. The counters find them by it.
#pragma once
#include "machine/words.cuh"

/// The most threads that a block can have. Each has a place in the block's shared memory.
constexpr u32 MOST_THREADS = 1024;

__device__ __forceinline__ T combine(T a, T b) { return Operator::combine(a, b); }

/// The item of an array.
template <class In>
__device__ __forceinline__ T item(const In* in, u64 i) {
    return Fold<In>::widen(in[i]);
}

/// An item of a dot product, whose sum is wanted.
__device__ __forceinline__ T item(const Element* a, const Element* b, u64 i) {
    return product(item(a, i), item(b, i));
}

/// The number of a thread in its grid.
__device__ __forceinline__ u64 thread_of_grid() {
    return (u64)blockDim.x * blockIdx.x + threadIdx.x;
}

/// How many of the items from `first` on a block of `most` has.
__device__ __forceinline__ u32 count_from(u64 first, u64 length, u32 most) {
    return length - first < most ? (u32)(length - first) : most;
}

/// A place that many threads fold values into: the value, in a word that atomic instructions take.
union Cell {
    static constexpr int BYTES = sizeof(T) <= 4 ? 4 : 8;
    static_assert(sizeof(T) <= 8, "atomic instructions take up to 8 bytes");
    Word<BYTES> word;
    T value;

    static __device__ __forceinline__ Cell of(T value) {
        Cell cell;
        cell.word = 0;
        cell.value = value;
        return cell;
    }
};

/// Folds a value into a cell, whoever else does. They come in any order, so the operator must
/// commute. Without an instruction for the operator each thread tries until nobody comes between.
__device__ __forceinline__ void fold_into(Cell* cell, T value) {
#ifdef HARDWARE_ATOMIC
    HARDWARE_ATOMIC(reinterpret_cast<AtomicWord*>(&cell->value), (AtomicWord)value);
#else
    Cell before, after;
    Word<Cell::BYTES> found = atomicCAS(&cell->word, 0, 0);  // which only reads
    do {
        before.word = after.word = found;
        after.value = combine(before.value, value);
        found = atomicCAS(&cell->word, before.word, after.word);
    } while (found != before.word);
#endif
}
