// A tile of a source in shared memory.
#pragma once
#include "source.cuh"
#include "warp/unaligned.cuh"

namespace warpfold {

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

/// Reads a run, of those that lie in shared memory one after the other. Neighbouring lanes read
/// neighbouring runs.
template <class T, int RUN>
__device__ __forceinline__ void read_staged_run(const unsigned char* runs, int run,
                                                T (&items)[RUN]) {
    constexpr int WORDS = Run<T, RUN>::BYTES / 16;
    const Word<16>* from = reinterpret_cast<const Word<16>*>(runs) + run * WORDS;
    Word<16> words[WORDS];
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = from[i ^ Turns<WORDS>::turn()];
    Turns<WORDS>::sort(words);
    Run<T, RUN> moved;
#pragma unroll
    for (int i = 0; i < WORDS; i++) moved.template words<16>()[i] = words[i];
    moved.items_by_words(items);
}

template <class T, int RUN, int TILE, bool ANYWHERE>
struct SourceStage<Slice<T>, RUN, TILE, ANYWHERE> {
    using R = Run<T, RUN>;
    using Word16 = Word<16>;
    using Runs = UnalignedRuns<T, RUN>;
    static constexpr bool UNALIGNED = ANYWHERE && alignof(T) < 16;
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
        if constexpr (UNALIGNED)
            if (offset_of(s.data) > 0) words()[0] = words()[BYTES / 16] = Word16{};
    }

    /// What the copy engine brings of a tile: the words that belong to this tile alone. Other
    /// blocks may be writing to the rest of the first word and the last.
    __device__ __forceinline__ Fetch fetch(const Slice<T>& s, u64 tile, int elements) {
        const unsigned char* from = reinterpret_cast<const unsigned char*>(s.data + tile * TILE);
        if constexpr (UNALIGNED) {
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
        if constexpr (UNALIGNED) {
            int offset = offset_of(s.data);
            Runs::fill(bytes, from, offset, offset + elements * (int)sizeof(T), offset + BYTES);
        } else {
            fill(from, from, elements, fetched(s, tile, elements));
        }
    }

    __device__ __forceinline__ void load(const Slice<T>& s, u64 tile, int elements,
                                         Mbarrier& loaded) {
        Fetch fetch = this->fetch(s, tile, elements);
        if (threadIdx.x % WARP == 0 && fetch.bytes > 0)
            bulk_load(fetch.to, fetch.from, fetch.bytes, loaded);
        if constexpr (UNALIGNED) {
            int offset = offset_of(s.data), first = offset > 0 ? 16 : 0;
            const unsigned char* from =
                reinterpret_cast<const unsigned char*>(s.data + tile * TILE) - offset;
            Runs::load_ends(bytes, from, offset, first, first + fetch.bytes,
                            offset + elements * (int)sizeof(T));
        }
    }

    /// Loads the first tile if its first `lead` items are not there, fewer than a word has.
    /// `neutral` stands for each. Prepares it, and tells the barrier what the copy engine brings.
    __device__ __forceinline__ void load_led(const Slice<T>& s, int elements, int lead,
                                             const T& neutral, Mbarrier& loaded) {
        int lane = threadIdx.x % WARP, copied = elements * (int)sizeof(T) / 16 * 16;
        if (copied < 16) copied = 16;
        if (lane < 16 / (int)sizeof(T)) {
            bool there = lane >= lead && lane < elements;
            reinterpret_cast<T*>(bytes)[lane] = there ? s.data[lane] : neutral;
            fence_proxy_async();  // the copy engine writes a later tile there
        }
        if (elements < TILE) fill(s.data, s.data + lead, elements, copied);
        if (lane > 0) return;
        mbarrier_expect(loaded, copied - 16);
        if (copied > 16) bulk_load(bytes + 16, s.data + 16 / sizeof(T), copied - 16, loaded);
    }

    /// Fills the end of an unfinished tile, from the first byte that the copy engine leaves, with
    /// copies of an item.
    __device__ __forceinline__ void fill(const T* tile, const T* item, int elements, int copied) {
        using Narrow = Word<R::NARROW>;
        constexpr int PER_ELEMENT = (int)sizeof(T) / R::NARROW;
        int lane = threadIdx.x % WARP;
        const Narrow *from = reinterpret_cast<const Narrow*>(tile),
                     *copies = reinterpret_cast<const Narrow*>(item);
        Narrow* to = reinterpret_cast<Narrow*>(bytes);
        int loaded = copied / R::NARROW, there = elements * PER_ELEMENT,
            run_end = (elements + RUN - 1) / RUN * (R::BYTES / R::NARROW);
#pragma unroll 1
        for (int i = loaded + lane; i < run_end; i += WARP)
            to[i] = i < there ? from[i] : copies[i % PER_ELEMENT];
        R run;
#pragma unroll
        for (int i = 0; i < RUN; i++) run.items[i] = *item;
#pragma unroll 1
        for (int i = (elements + RUN - 1) / RUN + lane; i < TILE / RUN; i += WARP) {
#pragma unroll
            for (int k = 0; k < R::BYTES / 16; k++)
                words()[i * (R::BYTES / 16) + k] = run.template words<16>()[k];
        }
    }

    /// Neighbouring lanes read neighbouring runs.
    __device__ __forceinline__ void read(const Slice<T>& s, u64, int run, T (&items)[RUN]) {
        if constexpr (UNALIGNED) {
            R moved = Runs::read(words() + run * (R::BYTES / 16), offset_of(s.data));
            moved.items_by_words(items);
        } else {
            read_staged_run(bytes, run, items);
        }
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

/// The item before the tile comes with the tile.
template <auto SAME, class T, int RUN, int TILE, bool ANYWHERE>
struct SourceStage<Heads<SAME, Slice<T>>, RUN, TILE, ANYWHERE> {
    using H = Heads<SAME, Slice<T>>;
    /// Words that end with the item before the tile.
    static constexpr int BYTES = ((int)sizeof(T) + 15) / 16 * 16;

    SourceStage<Slice<T>, RUN, TILE, ANYWHERE> inner;
    alignas(16) unsigned char before_tile[BYTES];

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

    /// Whole warps call this, a lane a run.
    __device__ __forceinline__ void read(const H& s, u64 tile, int run,
                                         typename H::Item (&items)[RUN]) {
        T own[RUN], before{};
        inner.read(s.source, tile, run, own);
        int lane = threadIdx.x % WARP;
        if (lane == 0) {
            T left[RUN];
            if (run > 0) inner.read(s.source, tile, run - 1, left);
            before = run > 0 ? left[RUN - 1] : tile > 0 ? *last_before() : own[0];
        }
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
