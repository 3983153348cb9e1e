// Rows of a source in registers.
#pragma once
#include "source.cuh"
#include "warp/row_load.cuh"

namespace warpfold {

/// ROWS rows of a source, RUN items a lane, in registers. A position is that of an item in the
/// source.
///
///   shifts(s, from)                 whether runs from there on are shifted into place
///   reaches_before(s, from, begin)  whether the words that hold the run there reach outside of
///   reaches_beyond(s, from, end)    the items from `begin` to `end`
///   load(s, from, first, last, …)   loads rows from there on. A lane whose run comes before the
///                                   first, or after the last, gets one of those
///   load_run(s, row, from, count, filler)
///                                   loads one run by single items, of which only `count` are to
///                                   be read; the item at `filler` stands for the others
///   item(row, i)                    an item of this lane
/// Blocks of up to WARPS warps may take shared memory to load rows; 0 if they have none to spare.
template <class S, int RUN, int ROWS, int WARPS = 0>
struct SourceRows;

template <class T, int RUN, int ROWS, int WARPS>
struct SourceRows<Slice<T>, RUN, ROWS, WARPS> {
    using Loader = LoaderOf<T, RUN, ROWS, WARPS>;
    static constexpr bool SHIFTS = Loader::SHIFTS;

    PackedRun<T, RUN> rows[ROWS];

    static __device__ __forceinline__ bool shifts(const Slice<T>& s, u64 from) {
        return Loader::shifts(s.data + from);
    }
    static __device__ __forceinline__ bool reaches_before(const Slice<T>& s, u64 from, u64 begin) {
        return Loader::reaches_before(s.data + from, s.data + begin);
    }
    static __device__ __forceinline__ bool reaches_beyond(const Slice<T>& s, u64 from, u64 end) {
        return Loader::reaches_beyond(s.data + from, s.data + end);
    }

    __device__ __forceinline__ void load(const Slice<T>& s, u64 from, int first, int last,
                                         bool shifted) {
        Loader::load(rows, s.data + from, first, last, shifted);
    }
    __device__ __forceinline__ void load_run(const Slice<T>& s, int row, u64 from, int count,
                                             u64 filler) {
        T items[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = s.data[i < count ? from + i : filler];
        rows[row].set(items);
    }
    __device__ __forceinline__ T item(int row, int i) const { return rows[row].get(i); }
};

template <class Made, class S, int RUN, int ROWS, int WARPS>
struct SourceRows<Each<Made, S>, RUN, ROWS, WARPS> {
    using M = Each<Made, S>;
    using Inner = SourceRows<S, RUN, ROWS, WARPS>;
    static constexpr bool SHIFTS = Inner::SHIFTS;

    Inner inner;

    static __device__ __forceinline__ bool shifts(const M& s, u64 from) {
        return Inner::shifts(s.source, from);
    }
    static __device__ __forceinline__ bool reaches_before(const M& s, u64 from, u64 begin) {
        return Inner::reaches_before(s.source, from, begin);
    }
    static __device__ __forceinline__ bool reaches_beyond(const M& s, u64 from, u64 end) {
        return Inner::reaches_beyond(s.source, from, end);
    }

    __device__ __forceinline__ void load(const M& s, u64 from, int first, int last, bool shifted) {
        inner.load(s.source, from, first, last, shifted);
    }
    __device__ __forceinline__ void load_run(const M& s, int row, u64 from, int count, u64 filler) {
        inner.load_run(s.source, row, from, count, filler);
    }
    __device__ __forceinline__ typename M::Item item(int row, int i) const {
        return Made::call(inner.item(row, i));
    }
};

template <auto SAME, class S, int RUN, int ROWS, int WARPS>
struct SourceRows<Heads<SAME, S>, RUN, ROWS, WARPS> {
    using H = Heads<SAME, S>;
    using T = typename S::Item;
    using Inner = SourceRows<S, RUN, ROWS, WARPS>;
    static constexpr bool SHIFTS = Inner::SHIFTS;

    Inner inner;
    /// The item before each run. The run at the start has none.
    T before[ROWS];
    bool at_start;

    static __device__ __forceinline__ bool shifts(const H& s, u64 from) {
        return Inner::shifts(s.source, from);
    }
    static __device__ __forceinline__ bool reaches_before(const H& s, u64 from, u64 begin) {
        return Inner::reaches_before(s.source, from, begin);
    }
    static __device__ __forceinline__ bool reaches_beyond(const H& s, u64 from, u64 end) {
        return Inner::reaches_beyond(s.source, from, end);
    }

    __device__ __forceinline__ void load(const H& s, u64 from, int first, int last, bool shifted) {
        inner.load(s.source, from, first, last, shifted);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run < first) run = first;
            if (run > last) run = last;
            load_before(s, row, from + run * RUN);
        }
    }
    __device__ __forceinline__ void load_run(const H& s, int row, u64 from, int count, u64 filler) {
        inner.load_run(s.source, row, from, count, filler);
        load_before(s, row, count > 0 ? from : filler);
    }
    /// Of most runs this is a word that another lane loads too.
    __device__ __forceinline__ void load_before(const H& s, int row, u64 start) {
        before[row] = s.source.at(start > 0 ? start - 1 : 0);
        if (row == 0) at_start = start == 0;
    }
    __device__ __forceinline__ typename H::Item item(int row, int i) const {
        T item = inner.item(row, i), previous = i == 0 ? before[row] : inner.item(row, i - 1);
        return {item, (row == 0 && i == 0 && at_start) || !SAME(previous, item)};
    }
};

template <class S, int RUN, int ROWS, int WARPS>
struct SourceRows<UpTo<S>, RUN, ROWS, WARPS> : SourceRows<S, RUN, ROWS, WARPS> {
    using U = UpTo<S>;
    using Inner = SourceRows<S, RUN, ROWS, WARPS>;

    static __device__ __forceinline__ bool shifts(const U& s, u64 from) {
        return Inner::shifts(s.source, from);
    }
    static __device__ __forceinline__ bool reaches_before(const U& s, u64 from, u64 begin) {
        return Inner::reaches_before(s.source, from, begin);
    }
    static __device__ __forceinline__ bool reaches_beyond(const U& s, u64 from, u64 end) {
        return Inner::reaches_beyond(s.source, from, end);
    }

    __device__ __forceinline__ void load(const U& s, u64 from, int first, int last, bool shifted) {
        Inner::load(s.source, from, first, last, shifted);
    }
    __device__ __forceinline__ void load_run(const U& s, int row, u64 from, int count, u64 filler) {
        Inner::load_run(s.source, row, from, count, filler);
    }
};

template <class A, class B, int RUN, int ROWS, int WARPS>
struct SourceRows<Zip<A, B>, RUN, ROWS, WARPS> {
    using Z = Zip<A, B>;
    using RowsA = SourceRows<A, RUN, ROWS, WARPS>;
    using RowsB = SourceRows<B, RUN, ROWS, WARPS>;
    static constexpr bool SHIFTS = RowsA::SHIFTS || RowsB::SHIFTS;

    RowsA a;
    RowsB b;

    static __device__ __forceinline__ bool shifts(const Z& s, u64 from) {
        return RowsA::shifts(s.a, from) || RowsB::shifts(s.b, from);
    }
    static __device__ __forceinline__ bool reaches_before(const Z& s, u64 from, u64 begin) {
        return RowsA::reaches_before(s.a, from, begin) || RowsB::reaches_before(s.b, from, begin);
    }
    static __device__ __forceinline__ bool reaches_beyond(const Z& s, u64 from, u64 end) {
        return RowsA::reaches_beyond(s.a, from, end) || RowsB::reaches_beyond(s.b, from, end);
    }

    __device__ __forceinline__ void load(const Z& s, u64 from, int first, int last, bool) {
        a.load(s.a, from, first, last, RowsA::shifts(s.a, from));
        b.load(s.b, from, first, last, RowsB::shifts(s.b, from));
    }
    __device__ __forceinline__ void load_run(const Z& s, int row, u64 from, int count, u64 filler) {
        a.load_run(s.a, row, from, count, filler);
        b.load_run(s.b, row, from, count, filler);
    }
    __device__ __forceinline__ typename Z::Item item(int row, int i) const {
        return {a.item(row, i), b.item(row, i)};
    }
};

/// Sources that read no memory: nothing is shifted, and nothing reaches outside.
template <class S>
struct NoMemory {
    static constexpr bool SHIFTS = false;

    static __device__ __forceinline__ bool shifts(const S&, u64) { return false; }
    static __device__ __forceinline__ bool reaches_before(const S&, u64, u64) { return false; }
    static __device__ __forceinline__ bool reaches_beyond(const S&, u64, u64) { return false; }
};

template <int RUN, int ROWS, int WARPS>
struct SourceRows<Index, RUN, ROWS, WARPS> : NoMemory<Index> {
    /// The first number of each run, and how many are there; the others are `filler`.
    u64 firsts[ROWS], filler;
    int there[ROWS];

    __device__ __forceinline__ void load(const Index& s, u64 from, int first, int last, bool) {
        u64 begin = s.first + from;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run < first) run = first;
            if (run > last) run = last;
            firsts[row] = Index::plus(begin, run * RUN);
            there[row] = RUN;
        }
    }
    __device__ __forceinline__ void load_run(const Index& s, int row, u64 from, int count,
                                             u64 of_filler) {
        firsts[row] = s.first + from;
        there[row] = count;
        filler = s.first + of_filler;
    }
    __device__ __forceinline__ u64 item(int row, int i) const {
        return i < there[row] ? Index::plus(firsts[row], i) : filler;
    }
};

template <class T, int RUN, int ROWS, int WARPS>
struct SourceRows<Constant<T>, RUN, ROWS, WARPS> : NoMemory<Constant<T>> {
    T value;

    __device__ __forceinline__ void load(const Constant<T>& s, u64, int, int, bool) {
        value = s.value;
    }
    __device__ __forceinline__ void load_run(const Constant<T>& s, int, u64, int, u64) {
        value = s.value;
    }
    __device__ __forceinline__ T item(int, int) const { return value; }
};

template <class T, int RUN, int ROWS, int WARPS>
struct SourceRows<Strided<T>, RUN, ROWS, WARPS> : NoMemory<Strided<T>> {
    using R = Run<T, RUN>;
    using Place = typename Strided<T>::Place;

    PackedRun<T, RUN> rows[ROWS];

    __device__ __forceinline__ void load(const Strided<T>& s, u64 from, int first, int last, bool) {
        R runs[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run < first) run = first;
            if (run > last) run = last;
            Place place = s.place(from + (u64)run * RUN);
            const T* address = s.address(place);
            if (place.column + RUN <= s.width && is_aligned(address, R::WIDE)) {
#pragma unroll
                for (int i = 0; i < R::BYTES / R::WIDE; i++)
                    runs[row].template words<R::WIDE>()[i] =
                        reinterpret_cast<const Word<R::WIDE>*>(address)[i];
            } else {
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    runs[row].items[i] = *s.address(place);
                    if (++place.column == s.width) place = {place.row + 1, 0};
                }
            }
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) rows[row].set(runs[row].items);
    }
    __device__ __forceinline__ void load_run(const Strided<T>& s, int row, u64 from, int count,
                                             u64 filler) {
        T items[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = s.at(i < count ? from + i : filler);
        rows[row].set(items);
    }
    __device__ __forceinline__ T item(int row, int i) const { return rows[row].get(i); }
};

template <class D, class I, int RUN, int ROWS, int WARPS>
struct SourceRows<Gather<D, I>, RUN, ROWS, WARPS> {
    using G = Gather<D, I>;
    using Indices = SourceRows<I, RUN, ROWS, WARPS>;
    static constexpr bool SHIFTS = Indices::SHIFTS;

    typename D::Item items[ROWS][RUN];

    static __device__ __forceinline__ bool shifts(const G& s, u64 from) {
        return Indices::shifts(s.index, from);
    }
    static __device__ __forceinline__ bool reaches_before(const G& s, u64 from, u64 begin) {
        return Indices::reaches_before(s.index, from, begin);
    }
    static __device__ __forceinline__ bool reaches_beyond(const G& s, u64 from, u64 end) {
        return Indices::reaches_beyond(s.index, from, end);
    }

    __device__ __forceinline__ void load(const G& s, u64 from, int first, int last, bool shifted) {
        Indices indices;
        indices.load(s.index, from, first, last, shifted);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < RUN; i++) items[row][i] = s.item(indices.item(row, i));
        }
    }
    __device__ __forceinline__ void load_run(const G& s, int row, u64 from, int count, u64 filler) {
        Indices indices;
        indices.load_run(s.index, row, from, count, filler);
#pragma unroll
        for (int i = 0; i < RUN; i++) items[row][i] = s.item(indices.item(row, i));
    }
    __device__ __forceinline__ typename G::Item item(int row, int i) const { return items[row][i]; }
};

template <class D, class I, int RUN, int ROWS, int WARPS>
struct SourceRows<GatherRows<D, I>, RUN, ROWS, WARPS> : NoMemory<GatherRows<D, I>> {
    using G = GatherRows<D, I>;

    typename D::Item items[ROWS][RUN];

    __device__ __forceinline__ void load(const G& s, u64 from, int first, int last, bool) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + (int)(threadIdx.x % WARP);
            if (run < first) run = first;
            if (run > last) run = last;
#pragma unroll
            for (int i = 0; i < RUN; i++) items[row][i] = s.at(from + run * RUN + i);
        }
    }
    __device__ __forceinline__ void load_run(const G& s, int row, u64 from, int count, u64 filler) {
#pragma unroll
        for (int i = 0; i < RUN; i++) items[row][i] = s.at(i < count ? from + i : filler);
    }
    __device__ __forceinline__ typename G::Item item(int row, int i) const { return items[row][i]; }
};

/// Loads rows from position `from` on, of which `here` items count; there may be none. Touches
/// nothing outside of the items from `begin` to `end`. The item at `filler` stands for those that
/// do not count.
template <class S, int RUN, int ROWS>
__device__ __forceinline__ void load_rows(SourceRows<S, RUN, ROWS>& rows, const S& source, u64 from,
                                          int here, u64 begin, u64 end, u64 filler) {
    using Rows = SourceRows<S, RUN, ROWS>;
    constexpr int RUNS = ROWS * WARP;
    bool shifted = Rows::SHIFTS && Rows::shifts(source, from);
    // The first and the last whole run that can be moved in words. Words that hold a run hold
    // neighbours of it, too, which may be none of ours.
    int runs = here < 0 ? 0 : here < RUNS * RUN ? here / RUN : RUNS;
    int low = shifted && Rows::reaches_before(source, from, begin) ? 1 : 0, high = runs - 1;
    if (shifted && runs > 0 && Rows::reaches_beyond(source, from + high * RUN, end)) high--;
    if (low <= high) rows.load(source, from, low, high, shifted);
    if (low == 0 && high == RUNS - 1) return;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        int run = row * WARP + (int)(threadIdx.x % WARP);
        if (run < low || run > high)
            rows.load_run(source, row, from + run * RUN, here - run * RUN, filler);
    }
}

}  // namespace warpfold
