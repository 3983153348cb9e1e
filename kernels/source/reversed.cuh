// A source from its last item to the first.
#pragma once
#include "source/source_rows.cuh"

namespace warpfold {

/// Item i is item `last` - i of another source.
template <class S>
struct Reversed {
    using Item = typename S::Item;

    S source;
    u64 last;

    static constexpr bool COUNTED = false;
    __device__ __forceinline__ u64 limit(u64 length) const { return length; }
    __device__ __forceinline__ Item at(u64 i) const { return source.at(last - i); }
    __device__ __forceinline__ bool is(const void* out) const { return source.is(out); }
    __device__ __forceinline__ void prefetch(u64 length, u64 first, u64 count, bool wanted) const {
        u64 end = first < length ? length - first : 0;
        u64 from = count < end ? end - count : 0;
        source.prefetch(length, from, end - from, wanted && end > 0);
    }
};

/// Items one by one. No word holds anything but items of its run, so nothing is shifted.
template <class S, int RUN, int ROWS, int WARPS>
struct SourceRows<Reversed<S>, RUN, ROWS, WARPS> : NoMemory<Reversed<S>> {
    using Item = typename S::Item;

    Item items[ROWS][RUN];

    __device__ __forceinline__ void load(const Reversed<S>& s, u64 from, int first, int last,
                                         bool) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run < first) run = first;
            if (run > last) run = last;
#pragma unroll
            for (int i = 0; i < RUN; i++) items[row][i] = s.at(from + run * RUN + i);
        }
    }
    __device__ __forceinline__ void load_run(const Reversed<S>& s, int row, u64 from, int count,
                                             u64 filler) {
#pragma unroll
        for (int i = 0; i < RUN; i++) items[row][i] = s.at(i < count ? from + i : filler);
    }
    __device__ __forceinline__ Item item(int row, int i) const { return items[row][i]; }
};

/// Slices are read in words as wide as their place allows.
template <class T, int RUN, int ROWS, int WARPS>
struct SourceRows<Reversed<Slice<T>>, RUN, ROWS, WARPS> : NoMemory<Reversed<Slice<T>>> {
    using R = Run<T, RUN>;

    PackedRun<T, RUN> rows[ROWS];

    template <int BYTES>
    __device__ __forceinline__ void load_words(const Reversed<Slice<T>>& s, u64 from, int first,
                                               int last) {
        R runs[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run < first) run = first;
            if (run > last) run = last;
            // The run's last item lies first.
            const T* lowest = s.source.data + (s.last - from - run * RUN - (RUN - 1));
#pragma unroll
            for (int i = 0; i < R::BYTES / BYTES; i++)
                runs[row].template words<BYTES>()[i] =
                    reinterpret_cast<const Word<BYTES>*>(lowest)[i];
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            T forward[RUN], items[RUN];
            runs[row].items_by_words(forward);
#pragma unroll
            for (int i = 0; i < RUN; i++) items[i] = forward[RUN - 1 - i];
            rows[row].set(items);
        }
    }

    __device__ __forceinline__ void load(const Reversed<Slice<T>>& s, u64 from, int first, int last,
                                         bool) {
        const T* lowest = s.source.data + (s.last - from - (RUN - 1));
        if (is_aligned(lowest, R::WIDE)) load_words<R::WIDE>(s, from, first, last);
        else load_words<R::NARROW>(s, from, first, last);
    }
    __device__ __forceinline__ void load_run(const Reversed<Slice<T>>& s, int row, u64 from,
                                             int count, u64 filler) {
        T items[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = s.at(i < count ? from + i : filler);
        rows[row].set(items);
    }
    __device__ __forceinline__ T item(int row, int i) const { return rows[row].get(i); }
};

template <class Made, class S, int RUN, int ROWS, int WARPS>
struct SourceRows<Reversed<Each<Made, S>>, RUN, ROWS, WARPS> : NoMemory<Reversed<Each<Made, S>>> {
    using M = Reversed<Each<Made, S>>;

    SourceRows<Reversed<S>, RUN, ROWS, WARPS> inner;

    static __device__ __forceinline__ Reversed<S> inner_of(const M& s) {
        return {s.source.source, s.last};
    }
    __device__ __forceinline__ void load(const M& s, u64 from, int first, int last, bool shifted) {
        inner.load(inner_of(s), from, first, last, shifted);
    }
    __device__ __forceinline__ void load_run(const M& s, int row, u64 from, int count, u64 filler) {
        inner.load_run(inner_of(s), row, from, count, filler);
    }
    __device__ __forceinline__ typename M::Item item(int row, int i) const {
        return Made::call(inner.item(row, i));
    }
};

template <class A, class B, int RUN, int ROWS, int WARPS>
struct SourceRows<Reversed<Zip<A, B>>, RUN, ROWS, WARPS> : NoMemory<Reversed<Zip<A, B>>> {
    using Z = Reversed<Zip<A, B>>;

    SourceRows<Reversed<A>, RUN, ROWS, WARPS> a;
    SourceRows<Reversed<B>, RUN, ROWS, WARPS> b;

    __device__ __forceinline__ void load(const Z& s, u64 from, int first, int last, bool shifted) {
        a.load({s.source.a, s.last}, from, first, last, shifted);
        b.load({s.source.b, s.last}, from, first, last, shifted);
    }
    __device__ __forceinline__ void load_run(const Z& s, int row, u64 from, int count, u64 filler) {
        a.load_run({s.source.a, s.last}, row, from, count, filler);
        b.load_run({s.source.b, s.last}, row, from, count, filler);
    }
    __device__ __forceinline__ typename Z::Item item(int row, int i) const {
        return {a.item(row, i), b.item(row, i)};
    }
};

/// Segments of what is read in reverse: the last one comes first.
template <class Segments>
struct ReversedSegments {
    Segments segments;
    u64 count, items;

    /// The start of a segment is the end of one of the others.
    __device__ __forceinline__ u64 bound(u64 i) const {
        return items - segments.bound(count - i);
    }
    __device__ __forceinline__ u64 given(u64 i) const { return bound(i); }
};

/// Results that count from the last place on.
template <class T>
struct ReversedOut {
    T* data;
    u64 last;

    __device__ __forceinline__ T& operator[](u64 i) const { return data[last - i]; }
    __device__ __forceinline__ operator const void*() const { return data; }
};

/// What a scan reads: a source, or in REVERSE the same from its last item on.
template <bool REVERSE, class S>
struct ReadBy {
    using Type = S;
    static __device__ __forceinline__ const S& of(const S& source, u64) { return source; }
};
template <class S>
struct ReadBy<true, S> {
    using Type = Reversed<S>;
    static __device__ __forceinline__ Type of(const S& source, u64 length) {
        return {source, length - 1};
    }
};

}  // namespace warpfold
