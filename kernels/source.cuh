// Sources: what primitives read. `src/source/` builds the same on the host.
//
// A source is an expression over slices: map, zip, numbers. It is used in two ways.
//
//   SourceRows     rows of items in registers. Each slice under the expression is loaded in words
//                  of its own, as wide as they can be. An item is made when it is asked for.
//   SourceStage    a tile of items in shared memory, where the copy engine has put the slices
//
// A type `S` of source has `S::Item`, and
//
//   at(i)                       item i, read by itself
//   is(out)                     whether it is the slice that starts at `out`: then we work in place
//   prefetch(…)                 as in device.cuh, for each slice
//   COUNTED, limit(length)      whether a number in memory limits the length, and the length then
#pragma once
#include "warp/displaced.cuh"
#include "warp/row_load.cuh"

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

/// Calls a function with an item, or with its parts.
template <auto FUNCTION, bool SPREADS, class X>
__device__ __forceinline__ auto call_with(const X& x) {
    if constexpr (!SPREADS) return FUNCTION(x);
    else if constexpr (requires { x._2; }) return FUNCTION(x._0, x._1, x._2);
    else return FUNCTION(x._0, x._1);
}

/// What becomes of each item of a source: what a function gives for it. SPREADS says that an item
/// is a tuple of the function's arguments.
template <auto FUNCTION, bool SPREADS>
struct Mapped {
    /// Whether items lie in memory as they are.
    static constexpr bool KEEPS = false;

    template <class X>
    static __device__ __forceinline__ auto call(const X& x) {
        return call_with<FUNCTION, SPREADS>(x);
    }
};

/// The item itself, and what a predicate says of it.
template <auto PREDICATE, bool SPREADS>
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

template <auto FUNCTION, class S, bool SPREADS>
using Map = Each<Mapped<FUNCTION, SPREADS>, S>;

template <auto PREDICATE, class S, bool SPREADS>
using Flagged = Each<WithFlag<PREDICATE, SPREADS>, S>;

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

// ---- rows in registers -------------------------------------------------------------------------

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
template <class S, int RUN, int ROWS>
struct SourceRows;

template <class T, int RUN, int ROWS>
struct SourceRows<Slice<T>, RUN, ROWS> {
    using Loader = LoaderOf<T, RUN, ROWS>;
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

template <class Made, class S, int RUN, int ROWS>
struct SourceRows<Each<Made, S>, RUN, ROWS> {
    using M = Each<Made, S>;
    using Inner = SourceRows<S, RUN, ROWS>;
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

template <auto SAME, class S, int RUN, int ROWS>
struct SourceRows<Heads<SAME, S>, RUN, ROWS> {
    using H = Heads<SAME, S>;
    using T = typename S::Item;
    using Inner = SourceRows<S, RUN, ROWS>;
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

template <class S, int RUN, int ROWS>
struct SourceRows<UpTo<S>, RUN, ROWS> : SourceRows<S, RUN, ROWS> {
    using U = UpTo<S>;
    using Inner = SourceRows<S, RUN, ROWS>;

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

template <class A, class B, int RUN, int ROWS>
struct SourceRows<Zip<A, B>, RUN, ROWS> {
    using Z = Zip<A, B>;
    using RowsA = SourceRows<A, RUN, ROWS>;
    using RowsB = SourceRows<B, RUN, ROWS>;
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

template <int RUN, int ROWS>
struct SourceRows<Index, RUN, ROWS> : NoMemory<Index> {
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

template <class T, int RUN, int ROWS>
struct SourceRows<Constant<T>, RUN, ROWS> : NoMemory<Constant<T>> {
    T value;

    __device__ __forceinline__ void load(const Constant<T>& s, u64, int, int, bool) {
        value = s.value;
    }
    __device__ __forceinline__ void load_run(const Constant<T>& s, int, u64, int, u64) {
        value = s.value;
    }
    __device__ __forceinline__ T item(int, int) const { return value; }
};

template <class T, int RUN, int ROWS>
struct SourceRows<Strided<T>, RUN, ROWS> : NoMemory<Strided<T>> {
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

// ---- a tile in shared memory -------------------------------------------------------------------

/// A tile of TILE items of a source, in shared memory.
///
///   begin(s)              before all tiles, by one thread: initialises what no tile writes
///   prepare(s, tile, elements)
///                         by a warp: if fewer items are there than a tile has, puts copies of one
///                         of them in place of the others
///   fetched(s, tile, elements)
///                         the bytes that the copy engine will bring
///   load(s, tile, elements, loaded)
///                         by a warp: has the copy engine fetch the tile. Lane 0 has arrived at the
///                         barrier and has told it the bytes; the other lanes arrive afterwards
///   read(s, tile, run, items)
///                         the items of a run
///   read_again(s, tile, run, items)
///                         the same, when others may have overwritten the runs before. Only where
///                         that matters
///   room(item)            where a slice's items lie from one on, with flags beside them or not;
///                         null for other sources
///
/// With ANYWHERE, slices may start anywhere; otherwise at multiples of 16 bytes.
template <class S, int RUN, int TILE, bool ANYWHERE>
struct SourceStage;

/// What the copy engine is to fetch for a tile.
struct Fetch {
    void* to;
    const void* from;
    int bytes;
};

template <class T, int RUN, int TILE, bool ANYWHERE>
struct SourceStage<Slice<T>, RUN, TILE, ANYWHERE> {
    using R = Run<T, RUN>;
    using Word16 = Word<16>;
    using Runs = DisplacedRuns<T, RUN>;
    static constexpr bool DISPLACED = ANYWHERE && alignof(T) < 16;
    static constexpr int BYTES = TILE * (int)sizeof(T);
    /// The bytes of an item's room.
    static constexpr int ROOM = (int)sizeof(T);
    static_assert(R::BYTES % 16 == 0, "runs are moved in words of 16 bytes");

    alignas(16) unsigned char bytes[BYTES + (ANYWHERE ? 16 : 0)];

    __device__ __forceinline__ Word16* words() { return reinterpret_cast<Word16*>(bytes); }

    __device__ __forceinline__ unsigned char* room(int item) {
        return bytes + item * (int)sizeof(T);
    }

    __device__ __forceinline__ void begin(const Slice<T>& s) {
        // Whole words are read, even if a tile begins or ends within one.
        if constexpr (DISPLACED)
            if (offset_of(s.data) > 0) words()[0] = words()[BYTES / 16] = Word16{};
    }

    /// What the copy engine brings of a tile: the words that belong to this tile alone. Other
    /// blocks may be writing to the rest of the first word and the last.
    __device__ __forceinline__ Fetch fetch(const Slice<T>& s, u64 tile, int elements) {
        const unsigned char* from = reinterpret_cast<const unsigned char*>(s.data + tile * TILE);
        if constexpr (DISPLACED) {
            int offset = offset_of(s.data), end = offset + elements * (int)sizeof(T);
            int first = offset > 0 ? 16 : 0, last = end / 16 * 16 > first ? end / 16 * 16 : first;
            return {bytes + first, from - offset + first, last - first};
        } else {
            return {bytes, from, elements * (int)sizeof(T) / 16 * 16};
        }
    }
    __device__ __forceinline__ int fetched(const Slice<T>& s, u64 tile, int elements) {
        return fetch(s, tile, elements).bytes;
    }

    __device__ __forceinline__ void prepare(const Slice<T>& s, u64 tile, int elements) {
        if (elements == 0 || elements == TILE) return;
        const T* from = s.data + tile * TILE;
        if constexpr (DISPLACED) {
            int offset = offset_of(s.data);
            Runs::fill(bytes, from, offset, offset + elements * (int)sizeof(T), offset + BYTES);
        } else {
            fill(from, elements, fetched(s, tile, elements));
        }
    }

    __device__ __forceinline__ void load(const Slice<T>& s, u64 tile, int elements,
                                         Mbarrier& loaded) {
        Fetch fetch = this->fetch(s, tile, elements);
        if (threadIdx.x % WARP == 0 && fetch.bytes > 0)
            bulk_load(fetch.to, fetch.from, fetch.bytes, loaded);
        if constexpr (DISPLACED) {
            int offset = offset_of(s.data), first = offset > 0 ? 16 : 0;
            const unsigned char* from =
                reinterpret_cast<const unsigned char*>(s.data + tile * TILE) - offset;
            Runs::load_ends(bytes, from, offset, first, first + fetch.bytes,
                            offset + elements * (int)sizeof(T));
        }
    }

    /// Fills the end of an unfinished tile, from the first byte that the copy engine leaves.
    __device__ __forceinline__ void fill(const T* tile, int elements, int copied) {
        using Narrow = Word<R::NARROW>;
        constexpr int PER_ELEMENT = (int)sizeof(T) / R::NARROW;
        int lane = threadIdx.x % WARP;
        const Narrow* from = reinterpret_cast<const Narrow*>(tile);
        Narrow* to = reinterpret_cast<Narrow*>(bytes);
        int loaded = copied / R::NARROW, there = elements * PER_ELEMENT,
            run_end = (elements + RUN - 1) / RUN * (R::BYTES / R::NARROW);
#pragma unroll 1
        for (int i = loaded + lane; i < run_end; i += WARP)
            to[i] = from[i < there ? i : i % PER_ELEMENT];
        R run;
#pragma unroll
        for (int i = 0; i < RUN; i++) run.items[i] = tile[0];
#pragma unroll 1
        for (int i = (elements + RUN - 1) / RUN + lane; i < TILE / RUN; i += WARP) {
#pragma unroll
            for (int k = 0; k < R::BYTES / 16; k++)
                words()[i * (R::BYTES / 16) + k] = run.template words<16>()[k];
        }
    }

    /// Neighbouring lanes read neighbouring runs.
    __device__ __forceinline__ void read(const Slice<T>& s, u64, int run, T (&items)[RUN]) {
        constexpr int WORDS = R::BYTES / 16;
        const Word16* from = words() + run * WORDS;
        R moved;
        if constexpr (DISPLACED) {
            moved = Runs::read(from, offset_of(s.data));
        } else {
            Word16 run_words[WORDS];
#pragma unroll
            for (int i = 0; i < WORDS; i++) run_words[i] = from[i ^ Turns<WORDS>::turn()];
            Turns<WORDS>::sort(run_words);
#pragma unroll
            for (int i = 0; i < WORDS; i++) moved.template words<16>()[i] = run_words[i];
        }
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = moved.items[i];
    }
};

template <class Made, class S, int RUN, int TILE, bool ANYWHERE>
struct SourceStage<Each<Made, S>, RUN, TILE, ANYWHERE> {
    using M = Each<Made, S>;

    SourceStage<S, RUN, TILE, ANYWHERE> inner;

    static constexpr int ROOM = Made::KEEPS ? decltype(inner)::ROOM : 0;
    __device__ __forceinline__ unsigned char* room(int item) {
        return Made::KEEPS ? inner.room(item) : nullptr;
    }
    __device__ __forceinline__ void begin(const M& s) { inner.begin(s.source); }
    __device__ __forceinline__ int fetched(const M& s, u64 tile, int elements) {
        return inner.fetched(s.source, tile, elements);
    }
    __device__ __forceinline__ void prepare(const M& s, u64 tile, int elements) {
        inner.prepare(s.source, tile, elements);
    }
    __device__ __forceinline__ void load(const M& s, u64 tile, int elements, Mbarrier& loaded) {
        inner.load(s.source, tile, elements, loaded);
    }
    __device__ __forceinline__ void read(const M& s, u64 tile, int run,
                                         typename M::Item (&items)[RUN]) {
        typename S::Item from[RUN];
        inner.read(s.source, tile, run, from);
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = Made::call(from[i]);
    }
};

template <class S, int RUN, int TILE, bool ANYWHERE>
struct SourceStage<UpTo<S>, RUN, TILE, ANYWHERE> {
    using U = UpTo<S>;

    SourceStage<S, RUN, TILE, ANYWHERE> inner;

    static constexpr int ROOM = decltype(inner)::ROOM;
    __device__ __forceinline__ unsigned char* room(int item) { return inner.room(item); }
    __device__ __forceinline__ void begin(const U& s) { inner.begin(s.source); }
    __device__ __forceinline__ int fetched(const U& s, u64 tile, int elements) {
        return inner.fetched(s.source, tile, elements);
    }
    __device__ __forceinline__ void prepare(const U& s, u64 tile, int elements) {
        inner.prepare(s.source, tile, elements);
    }
    __device__ __forceinline__ void load(const U& s, u64 tile, int elements, Mbarrier& loaded) {
        inner.load(s.source, tile, elements, loaded);
    }
    __device__ __forceinline__ void read(const U& s, u64 tile, int run,
                                         typename U::Item (&items)[RUN]) {
        inner.read(s.source, tile, run, items);
    }
};

/// The item before the tile comes with the tile. Emitters may overwrite items that they have read.
/// So the first to read a run notes what comes before it, for those that read it again.
template <auto SAME, class T, int RUN, int TILE, bool ANYWHERE>
struct SourceStage<Heads<SAME, Slice<T>>, RUN, TILE, ANYWHERE> {
    using H = Heads<SAME, Slice<T>>;
    /// Words that end with the item before the tile.
    static constexpr int BYTES = ((int)sizeof(T) + 15) / 16 * 16;

    SourceStage<Slice<T>, RUN, TILE, ANYWHERE> inner;
    alignas(16) unsigned char before_tile[BYTES];
    /// The item before each row of runs.
    T before_rows[TILE / RUN / WARP];

    static constexpr int ROOM = (int)sizeof(T);
    __device__ __forceinline__ unsigned char* room(int item) { return inner.room(item); }
    __device__ __forceinline__ void begin(const H& s) { inner.begin(s.source); }
    static __device__ __forceinline__ bool comes_with(u64 tile, int elements) {
        return !ANYWHERE && tile > 0 && elements > 0;
    }
    __device__ __forceinline__ int fetched(const H& s, u64 tile, int elements) {
        return inner.fetched(s.source, tile, elements) + (comes_with(tile, elements) ? BYTES : 0);
    }
    __device__ __forceinline__ void prepare(const H& s, u64 tile, int elements) {
        inner.prepare(s.source, tile, elements);
        // The copy engine takes whole words at multiples of 16 bytes.
        if (ANYWHERE && threadIdx.x % WARP == 0 && tile > 0 && elements > 0)
            *last_before() = s.source.at(tile * TILE - 1);
    }
    __device__ __forceinline__ void load(const H& s, u64 tile, int elements, Mbarrier& loaded) {
        inner.load(s.source, tile, elements, loaded);
        const unsigned char* end =
            reinterpret_cast<const unsigned char*>(s.source.data + tile * TILE);
        if (threadIdx.x % WARP == 0 && comes_with(tile, elements))
            bulk_load(before_tile, end - BYTES, BYTES, loaded);
    }
    __device__ __forceinline__ T* last_before() {
        return reinterpret_cast<T*>(before_tile + BYTES - (int)sizeof(T));
    }

    /// Whole warps call these, a lane a run.
    __device__ __forceinline__ void read(const H& s, u64 tile, int run,
                                         typename H::Item (&items)[RUN]) {
        T own[RUN], before{};
        inner.read(s.source, tile, run, own);
        if (threadIdx.x % WARP == 0) {
            T left[RUN];
            if (run > 0) inner.read(s.source, tile, run - 1, left);
            before = run > 0 ? left[RUN - 1] : tile > 0 ? *last_before() : own[0];
            before_rows[run / WARP] = before;
        }
        mark(own, before, tile, run, items);
    }
    __device__ __forceinline__ void read_again(const H& s, u64 tile, int run,
                                               typename H::Item (&items)[RUN]) {
        T own[RUN];
        inner.read(s.source, tile, run, own);
        mark(own, before_rows[run / WARP], tile, run, items);
    }
    /// `before` is what comes before the first lane's run.
    static __device__ __forceinline__ void mark(const T (&own)[RUN], const T& before, u64 tile,
                                                int run, typename H::Item (&items)[RUN]) {
        int lane = threadIdx.x % WARP;
        T left = choose(lane == 0, before, shuffle(own[RUN - 1], (lane + WARP - 1) % WARP));
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            bool is_first = i == 0 && run == 0 && tile == 0;
            items[i] = {own[i],
                        is_first || !SAME(i == 0 ? left : own[(i + RUN - 1) % RUN], own[i])};
        }
    }
};

template <class A, class B, int RUN, int TILE, bool ANYWHERE>
struct SourceStage<Zip<A, B>, RUN, TILE, ANYWHERE> {
    using Z = Zip<A, B>;

    SourceStage<A, RUN, TILE, ANYWHERE> a;
    SourceStage<B, RUN, TILE, ANYWHERE> b;

    /// Of a slice with flags, the slice.
    static constexpr int ROOM = decltype(a)::ROOM;
    __device__ __forceinline__ unsigned char* room(int item) { return a.room(item); }
    __device__ __forceinline__ void begin(const Z& s) {
        a.begin(s.a);
        b.begin(s.b);
    }
    __device__ __forceinline__ int fetched(const Z& s, u64 tile, int elements) {
        return a.fetched(s.a, tile, elements) + b.fetched(s.b, tile, elements);
    }
    __device__ __forceinline__ void prepare(const Z& s, u64 tile, int elements) {
        a.prepare(s.a, tile, elements);
        b.prepare(s.b, tile, elements);
    }
    __device__ __forceinline__ void load(const Z& s, u64 tile, int elements, Mbarrier& loaded) {
        a.load(s.a, tile, elements, loaded);
        b.load(s.b, tile, elements, loaded);
    }
    __device__ __forceinline__ void read(const Z& s, u64 tile, int run,
                                         typename Z::Item (&items)[RUN]) {
        typename A::Item of_a[RUN];
        typename B::Item of_b[RUN];
        a.read(s.a, tile, run, of_a);
        b.read(s.b, tile, run, of_b);
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = {of_a[i], of_b[i]};
    }
};

/// Sources that read no memory: nothing is fetched.
template <class S>
struct NoStage {
    static constexpr int ROOM = 0;
    __device__ __forceinline__ unsigned char* room(int) { return nullptr; }
    __device__ __forceinline__ void begin(const S&) {}
    __device__ __forceinline__ int fetched(const S&, u64, int) { return 0; }
    __device__ __forceinline__ void prepare(const S&, u64, int) {}
    __device__ __forceinline__ void load(const S&, u64, int, Mbarrier&) {}
};

template <int RUN, int TILE, bool ANYWHERE>
struct SourceStage<Index, RUN, TILE, ANYWHERE> : NoStage<Index> {
    /// How many numbers of the tile are there.
    int elements;

    __device__ __forceinline__ void prepare(const Index&, u64, int elements_there) {
        if (threadIdx.x % WARP == 0) elements = elements_there;
    }
    __device__ __forceinline__ void read(const Index& s, u64 tile, int run, u64 (&items)[RUN]) {
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            int place = run * RUN + i;
            items[i] = s.first + tile * TILE + (place < elements ? place : 0);
        }
    }
};

template <class T, int RUN, int TILE, bool ANYWHERE>
struct SourceStage<Constant<T>, RUN, TILE, ANYWHERE> : NoStage<Constant<T>> {
    __device__ __forceinline__ void read(const Constant<T>& s, u64, int, T (&items)[RUN]) {
#pragma unroll
        for (int i = 0; i < RUN; i++) items[i] = s.value;
    }
};

}  // namespace warpfold
