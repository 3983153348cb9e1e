// Sources: what primitives read. `src/source/` builds the same on the host.
//
// A source is an expression over slices: map, zip, numbers. It is used in two ways.
//
//   SourceRows     source/source_rows.cuh: rows of items in registers. Each slice under the
//                  expression is loaded in words of its own, as wide as they can be. An item is
//                  made when it is asked for.
//   SourceStage    source/source_stage.cuh: a tile of items in shared memory, where the copy engine
//                  has put the slices
//
// A type `S` of source has `S::Item`, and
//
//   at(i)                       item i, read by itself
//   is(out)                     whether it is the slice that starts at `out`: then we work in place
//   prefetch(…)                 as in device.cuh, for each slice
//   COUNTED, limit(length)      whether a number in memory limits the length, and the length then
#pragma once
#include "machine/order.cuh"
#include "machine/words.cuh"

namespace warpfold {

/// The elements of an array.
template <class T>
struct Slice {
    using Item = T;

    const T* data;

    __device__ __forceinline__ T at(u64 i) const { return data[i]; }
    static constexpr bool COUNTED = false;
    __device__ __forceinline__ u64 limit(u64 length) const { return length; }
    __device__ __forceinline__ bool is(const void* out) const { return data == out; }
    __device__ __forceinline__ void prefetch(u64 length, u64 first, u64 count, bool wanted) const {
        warpfold::prefetch(data, length, first, count, wanted);
    }
};

/// Calls a function with an item, with its parts (SPREADS is 1), or with the parts of its first
/// part and the second (2).
template <auto FUNCTION, int SPREADS, class X>
__device__ __forceinline__ auto call_with(const X& x) {
    if constexpr (SPREADS == 0) return FUNCTION(x);
    else if constexpr (SPREADS == 2) return FUNCTION(x._0._0, x._0._1, x._1);
    else if constexpr (requires { x._2; }) return FUNCTION(x._0, x._1, x._2);
    else return FUNCTION(x._0, x._1);
}

/// What becomes of each item of a source: what a function gives for it. SPREADS says which parts of
/// it are the function's arguments.
template <auto FUNCTION, int SPREADS>
struct Mapped {
    /// Whether items lie in memory as they are.
    static constexpr bool KEEPS = false;

    template <class X>
    static __device__ __forceinline__ auto call(const X& x) {
        return call_with<FUNCTION, SPREADS>(x);
    }
};

/// The item itself, and what a predicate says of it.
template <auto PREDICATE, int SPREADS>
struct WithFlag {
    static constexpr bool KEEPS = true;

    template <class X>
    static __device__ __forceinline__ Tuple<X, bool> call(const X& x) {
        return {x, call_with<PREDICATE, SPREADS>(x)};
    }
};

/// Something made of each item of another source.
template <class Made, class S>
struct Each {
    using Item = decltype(Made::call(typename S::Item()));

    S source;

    static constexpr bool COUNTED = S::COUNTED;
    __device__ __forceinline__ u64 limit(u64 length) const { return source.limit(length); }
    __device__ __forceinline__ Item at(u64 i) const { return Made::call(source.at(i)); }
    __device__ __forceinline__ bool is(const void* out) const {
        return Made::KEEPS && source.is(out);
    }
    __device__ __forceinline__ void prefetch(u64 length, u64 first, u64 count, bool wanted) const {
        source.prefetch(length, first, count, wanted);
    }
};

template <auto FUNCTION, class S, int SPREADS>
using Map = Each<Mapped<FUNCTION, SPREADS>, S>;

template <auto PREDICATE, class S, int SPREADS>
using Flagged = Each<WithFlag<PREDICATE, SPREADS>, S>;

/// The first part of a pair, and what a predicate says of both.
template <auto PREDICATE, int SPREADS>
struct FirstWithFlag {
    static constexpr bool KEEPS = false;

    template <class X, class P>
    static __device__ __forceinline__ Tuple<X, bool> call(const Tuple<X, P>& x) {
        return {x._0, call_with<PREDICATE, SPREADS>(x)};
    }
};

/// What `==` says of two numbers of the host.
template <class T>
__device__ __forceinline__ bool equal(T a, T b) {
    if constexpr (requires { a.re; }) return a.re == b.re && a.im == b.im;
    else return Fold<T>::widen(a) == Fold<T>::widen(b);
}

template <class T>
__device__ __forceinline__ bool not_zero(T a) {
    return !equal(a, T{});
}

/// The item itself, and whether a run begins with it: SAME says whether an item is equal to the one
/// before it. The first item begins one.
template <auto SAME, class S>
struct Heads {
    using Item = Tuple<typename S::Item, bool>;

    S source;

    static constexpr bool COUNTED = S::COUNTED;
    __device__ __forceinline__ u64 limit(u64 length) const { return source.limit(length); }
    __device__ __forceinline__ Item at(u64 i) const {
        typename S::Item item = source.at(i);
        return {item, i == 0 || !SAME(source.at(i - 1), item)};
    }
    /// Never in place: other blocks would overwrite the items before ours.
    __device__ __forceinline__ bool is(const void*) const { return false; }
    __device__ __forceinline__ void prefetch(u64 length, u64 first, u64 count, bool wanted) const {
        source.prefetch(length, first, count, wanted);
    }
};

/// Whether an item of `Heads` begins a run.
template <class T>
__device__ __forceinline__ bool begins_run(const T&, bool begins) {
    return begins;
}

/// The pairs of the items of two sources.
template <class A, class B>
struct Zip {
    using Item = Tuple<typename A::Item, typename B::Item>;

    A a;
    B b;

    static constexpr bool COUNTED = A::COUNTED || B::COUNTED;
    __device__ __forceinline__ u64 limit(u64 length) const { return a.limit(b.limit(length)); }
    __device__ __forceinline__ Item at(u64 i) const { return {a.at(i), b.at(i)}; }
    __device__ __forceinline__ bool is(const void*) const { return false; }
    __device__ __forceinline__ void prefetch(u64 length, u64 first, u64 count, bool wanted) const {
        a.prefetch(length, first, count, wanted);
        b.prefetch(length, first, count, wanted);
    }
};

/// A pair whose second part is a pair, as a triple.
struct Flattened {
    static constexpr bool KEEPS = false;

    template <class A, class B, class C>
    static __device__ __forceinline__ Tuple<A, B, C> call(const Tuple<A, Tuple<B, C>>& x) {
        return {x._0, x._1._0, x._1._1};
    }
};

/// The triples of the items of three sources.
template <class A, class B, class C>
using Zip3 = Each<Flattened, Zip<A, Zip<B, C>>>;

/// The numbers from `first` on.
struct Index {
    using Item = u64;

    u64 first;

    static constexpr bool COUNTED = false;
    __device__ __forceinline__ u64 limit(u64 length) const { return length; }
    __device__ __forceinline__ u64 at(u64 i) const { return first + i; }
    /// A number and a small one. Signed, so that the compiler knows which of two sums is less: it
    /// takes no overflow into account.
    static __device__ __forceinline__ u64 plus(u64 number, int i) { return (u64)((i64)number + i); }
    __device__ __forceinline__ bool is(const void*) const { return false; }
    __device__ __forceinline__ void prefetch(u64, u64, u64, bool) const {}
};

/// One value, again and again.
template <class T>
struct Constant {
    using Item = T;

    T value;

    static constexpr bool COUNTED = false;
    __device__ __forceinline__ u64 limit(u64 length) const { return length; }
    __device__ __forceinline__ T at(u64) const { return value; }
    __device__ __forceinline__ bool is(const void*) const { return false; }
    __device__ __forceinline__ void prefetch(u64, u64, u64, bool) const {}
};

/// The items of a source, and what a predicate says of them and some parameters.
template <auto PREDICATE, class S, class P, int SPREADS>
using FlaggedWith = Each<FirstWithFlag<PREDICATE, SPREADS>, Zip<S, Constant<P>>>;

/// The first `width` elements of every row of `stride` elements.
template <class T>
struct Strided {
    using Item = T;

    const T* data;
    u64 width, stride;

    /// The row and the column of an item.
    struct Place {
        u64 row, column;
    };
    __device__ __forceinline__ Place place(u64 i) const {
        // A division of 64 bits takes four times as long.
        u64 row = ((i | width) >> 32) == 0 ? (u64)((u32)i / (u32)width) : i / width;
        return {row, i - row * width};
    }
    __device__ __forceinline__ const T* address(const Place& place) const {
        return data + (place.row * stride + place.column);
    }

    static constexpr bool COUNTED = false;
    __device__ __forceinline__ u64 limit(u64 length) const { return length; }
    __device__ __forceinline__ T at(u64 i) const { return *address(place(i)); }
    __device__ __forceinline__ bool is(const void*) const { return false; }
    __device__ __forceinline__ void prefetch(u64, u64, u64, bool) const {}
};

/// The position that an index stands for: within the items up to `last`, whatever it is.
template <class N>
__device__ __forceinline__ u64 place_of(N index, u64 last) {
    if constexpr ((N)-1 < (N)1)
        if (index < 0) return 0;
    u64 place = (u64)index;
    return place < last ? place : last;
}

/// The items of a source at positions that another one gives.
template <class D, class I>
struct Gather {
    using Item = typename D::Item;

    D data;
    I index;
    u64 last;

    static constexpr bool COUNTED = I::COUNTED;
    __device__ __forceinline__ u64 limit(u64 length) const { return index.limit(length); }
    __device__ __forceinline__ Item item(typename I::Item index) const {
        return data.at(place_of(index, last));
    }
    __device__ __forceinline__ Item at(u64 i) const { return item(index.at(i)); }
    __device__ __forceinline__ bool is(const void*) const { return false; }
    __device__ __forceinline__ void prefetch(u64 length, u64 first, u64 count, bool wanted) const {
        index.prefetch(length, first, count, wanted);
    }
};

/// The rows of a source at positions that another one gives.
template <class D, class I>
struct GatherRows {
    using Item = typename D::Item;

    D data;
    I index;
    u64 last, width;

    static constexpr bool COUNTED = false;
    __device__ __forceinline__ u64 limit(u64 length) const { return length; }
    __device__ __forceinline__ Item at(u64 i) const {
        // A division of 64 bits takes four times as long.
        u64 row = ((i | width) >> 32) == 0 ? (u64)((u32)i / (u32)width) : i / width;
        return data.at(place_of(index.at(row), last) * width + (i - row * width));
    }
    __device__ __forceinline__ bool is(const void*) const { return false; }
    __device__ __forceinline__ void prefetch(u64, u64, u64, bool) const {}
};

/// The items of another source, as many as a number in memory says. The kernel before this one may
/// have written it.
template <class S>
struct UpTo {
    using Item = typename S::Item;

    S source;
    const u64* count;

    static constexpr bool COUNTED = true;
    __device__ __forceinline__ u64 limit(u64 length) const {
        length = source.limit(length);
        return *count < length ? *count : length;
    }
    __device__ __forceinline__ Item at(u64 i) const { return source.at(i); }
    __device__ __forceinline__ bool is(const void* out) const { return source.is(out); }
    __device__ __forceinline__ void prefetch(u64 length, u64 first, u64 count, bool wanted) const {
        source.prefetch(length, first, count, wanted);
    }
};

}  // namespace warpfold
