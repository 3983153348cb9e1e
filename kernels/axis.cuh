// Reductions and scans along an axis of an array that lies row by row, seen as outer × axis ×
// inner. A lane is what lies along the axis at one place of the others.
//
// Neighbouring threads take neighbouring lanes, so a warp reads neighbouring items. A thread walks
// along its lane, a group of rows at a time, and holds the tree over them in registers, as a binary
// counter of sums. Where lanes are long and few, they are cut into chunks of a power of two of
// rows. The sum of a whole chunk is a node of its lane's tree:
//
//   reduce    a launch leaves the sums of whole chunks, and the nodes of what is left at the end.
//             The sums are an array again, whose axis is shorter: the next launch folds it. The
//             last launch, with one chunk a lane, appends the nodes that the others left.
//   scan      launches leave sums of whole chunks in the same way, level by level. Then the sums of
//             each level are turned into prefixes, from the top down: they seed the chunks of the
//             level below. At last the items are read a second time.
#pragma once
#include "block/blelloch.cuh"
#include "source.cuh"
#include "warp/lanes.cuh"

namespace warpfold {

/// Which part of an array the threads of a launch take: thread (o · chunks + k) · inner + i has
/// chunk k of the lane at outer place o and inner place i.
struct AxisShape {
    /// The length of a lane, and the number of inner places.
    u64 length, inner;
    /// From one outer place to the next, and from one row to the next, where items are read.
    u64 outer_stride, stride;
    /// The chunks of a lane, and the threads of all lanes.
    u64 chunks, threads;
    /// The rows of a chunk, as a power of two.
    u32 log_chunk;
    /// Whether the last row comes first.
    u32 reverse;
};

/// GROUP rows are loaded at once. A chunk has at most 2^LOG_MOST rows.
template <class Operator, class Source, int GROUP, int LOG_MOST>
struct AxisLanes {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    using P = Prefix<Operator, A>;
    static constexpr int LOG_GROUP = LOG2<GROUP>;
    /// The nodes of more than a group of rows are on so many levels.
    static constexpr int LEVELS = LOG_MOST - LOG_GROUP + 1;
    static_assert(LOG_MOST >= LOG_GROUP);

    Source source;
    AxisShape shape;

    /// A chunk of a lane.
    struct Chunk {
        u64 outer, number, inner;
        /// Its first row, and how many there are.
        u64 first;
        int rows;
        /// Whether it is as long as chunks can be, and one of several.
        bool whole;
    };

    static __device__ __forceinline__ u64 divide(u64 a, u64 b) {
        // A division of 64 bits takes four times as long.
        return ((a | b) >> 32) == 0 ? (u64)((u32)a / (u32)b) : a / b;
    }

    __device__ __forceinline__ bool has_work() const { return thread() < shape.threads; }
    static __device__ __forceinline__ u64 thread() {
        return (u64)blockIdx.x * blockDim.x + threadIdx.x;
    }

    __device__ __forceinline__ Chunk chunk() const {
        // Mostly lanes are whole, and often there is one outer place.
        u64 rest = shape.threads == shape.inner ? 0 : divide(thread(), shape.inner);
        u64 outer = shape.chunks == 1 ? rest : divide(rest, shape.chunks);
        u64 number = rest - outer * shape.chunks;
        u64 first = number << shape.log_chunk, left = shape.length - first;
        bool whole = left >> shape.log_chunk != 0;
        int rows = whole ? 1 << shape.log_chunk : (int)left;
        return {outer, number, thread() - rest * shape.inner, first, rows,
                whole && shape.chunks > 1};
    }

    /// The place of a row in an array with these strides.
    __device__ __forceinline__ u64 place(const Chunk& chunk, u64 row, u64 outer_stride,
                                         u64 stride) const {
        if (shape.reverse != 0) row = shape.length - 1 - row;
        return chunk.outer * outer_stride + row * stride + chunk.inner;
    }

    /// Loads rows from one on, of which `count` are there.
    template <int COUNT>
    __device__ __forceinline__ void load(A (&values)[COUNT], const Chunk& chunk, u64 row,
                                         int count) const {
        T items[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (i < count) items[i] = source.at(place(chunk, row + i, shape.outer_stride, shape.stride));
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (i < count) values[i] = Fold<T>::widen(items[i]);
    }

    // ---------------------------------------------------------------------------------- reduce

    /// The sums of aligned blocks of groups: one for each bit of their number that is set.
    struct Nodes {
        A nodes[LEVELS];

        template <int LEVEL>
        __device__ __forceinline__ void carry(int groups, const A& sum) {
            if constexpr (LEVEL + 1 < LEVELS) {
                if ((groups >> LEVEL & 1) != 0)
                    return carry<LEVEL + 1>(groups, Operator::combine(nodes[LEVEL], sum));
            }
            nodes[LEVEL] = sum;
        }

        /// The node on a level.
        __device__ __forceinline__ A on(int level) const {
            A node = nodes[0];
#pragma unroll
            for (int i = 1; i < LEVELS; i++) node = choose(i == level, nodes[i], node);
            return node;
        }
    };

    /// Calls `put(bit, node)` with the nodes of what is less than a group, the largest first.
    template <int BIT, class Put>
    __device__ __forceinline__ void put_rest(const Chunk& chunk, const Put& put) const {
        if constexpr (BIT >= 0) {
            if ((chunk.rows >> BIT & 1) != 0) {
                A values[1 << BIT];
                load(values, chunk, chunk.first + (chunk.rows >> BIT & ~1) * (1 << BIT), 1 << BIT);
                put(BIT, tree_fold<Operator>(values));
            }
            put_rest<BIT - 1>(chunk, put);
        }
    }

    /// Folds a chunk: `store(sum)` gets the sum of a whole one, and `put(bit, node)` the nodes of
    /// others, the largest first.
    template <class Store, class Put>
    __device__ __forceinline__ void fold(const Chunk& chunk, const Store& store,
                                         const Put& put) const {
        Nodes nodes;
        int groups = chunk.rows >> LOG_GROUP;
#pragma unroll 1
        for (int group = 0; group < groups; group++) {
            A values[GROUP];
            load(values, chunk, chunk.first + group * GROUP, GROUP);
            nodes.template carry<0>(group, tree_fold<Operator>(values));
        }
        if (chunk.whole) return store(nodes.on(shape.log_chunk - LOG_GROUP));
#pragma unroll
        for (int level = LEVELS - 1; level >= 0; level--)
            if ((groups >> level & 1) != 0) put(level + LOG_GROUP, nodes.nodes[level]);
        put_rest<LOG_GROUP - 1>(chunk, put);
    }

    /// What is left of lanes that were cut: for each bit of a lane's length that is set, the nodes
    /// of all lanes.
    struct Rests {
        A* nodes;
        /// The length of the lanes before they were cut, and their number.
        u64 length, lanes;
        /// The rows of an item of this launch, as a power of two.
        u32 shift;

        __device__ __forceinline__ A& of(int bit, u64 lane) const {
            u64 before = length & ((1ull << bit) - 1);
            return nodes[(u64)(__popc((u32)before) + __popc((u32)(before >> 32))) * lanes + lane];
        }
    };

    /// Folds the chunk of this thread. `sums` gets those of whole chunks; it is null where there is
    /// one chunk a lane. Then `out` gets the results. Without `rests` the end of lanes is left out.
    template <class Out>
    __device__ __forceinline__ void reduce(A* sums, const Rests& rests, Out* out, const A& init,
                                           bool seeded) const {
        if (!has_work()) return;
        Chunk chunk = this->chunk();
        u64 whole = shape.length >> shape.log_chunk, lane = chunk.outer * shape.inner + chunk.inner;
        if (sums != nullptr) {
            if (!chunk.whole && rests.nodes == nullptr) return;
            fold(
                chunk,
                [&](const A& sum) {
                    sums[(chunk.outer * whole + chunk.number) * shape.inner + chunk.inner] = sum;
                },
                [&](int bit, const A& node) { rests.of(bit + rests.shift, lane) = node; });
            return;
        }
        P prefix{init, seeded};
        auto append = [&](int, const A& node) { prefix.append(node); };
        fold(chunk, [](const A&) {}, append);
        for (int bit = (int)rests.shift - 1; bit >= 0; bit--)
            if ((rests.length >> bit & 1) != 0) prefix.append(rests.of(bit, lane));
        out[lane] = Fold<Out>::narrow(prefix.value);
    }

    /// Folds the segment of rows of this thread, for one inner place. A segment of several chunks
    /// is folded chunk by chunk, with a binary counter of their sums.
    template <class Segments, class Out>
    __device__ __forceinline__ void reduce_segments(const Segments& segments, Out* out,
                                                    const A& init, bool seeded) const {
        constexpr int MOST_CHUNKS = 40 - LOG_MOST;
        if (!has_work()) return;
        u64 number = divide(thread(), shape.inner), inner = thread() - number * shape.inner;
        u64 first = segments.bound(number), end = segments.bound(number + 1);
        // Unchecked offsets may fall.
        if (end < first) end = first;
        A sums[MOST_CHUNKS];
        u64 chunks = 0;
#pragma unroll 1
        for (; end - first >> LOG_MOST != 0; first += 1ull << LOG_MOST, chunks++) {
            A sum;
            fold({0, 0, inner, first, 1 << LOG_MOST, true}, [&](const A& of_chunk) { sum = of_chunk; },
                 [](int, const A&) {});
            int level = 0;
#pragma unroll 1
            for (; (chunks >> level & 1) != 0; level++) sum = Operator::combine(sums[level], sum);
            sums[level] = sum;
        }
        P prefix{init, seeded};
#pragma unroll 1
        for (int level = MOST_CHUNKS - 1; level >= 0; level--)
            if ((chunks >> level & 1) != 0) prefix.append(sums[level]);
        fold({0, 0, inner, first, (int)(end - first), false}, [](const A&) {},
             [&](int, const A& node) { prefix.append(node); });
        out[thread()] = Fold<Out>::narrow(prefix.value);
    }

    // ------------------------------------------------------------------------------------ scan

    /// The prefix of a position, as a binary counter of groups.
    struct Walk {
        A nodes[LEVELS];
        /// What precedes each node.
        A bases[LEVELS];
        P now;
        bool seeded;

        __device__ __forceinline__ explicit Walk(const P& seed) : now(seed), seeded(seed.present) {
#pragma unroll
            for (int level = 0; level < LEVELS; level++) bases[level] = seed.value;
        }

        template <int LEVEL>
        __device__ __forceinline__ void carry(int groups, const A& sum) {
            if constexpr (LEVEL + 1 < LEVELS) {
                if ((groups >> LEVEL & 1) != 0)
                    return carry<LEVEL + 1>(groups, Operator::combine(nodes[LEVEL], sum));
            }
            nodes[LEVEL] = sum;
            P end{bases[LEVEL], seeded || groups >> LEVEL >> 1 != 0};
            end.append(sum);
            now = end;
#pragma unroll
            for (int level = 0; level < LEVEL; level++) bases[level] = end.value;
        }
    };

    /// Stores the results of rows from one on. `next` is the prefix of what follows them.
    template <class Out>
    __device__ __forceinline__ void store(const Chunk& chunk, u64 row, int count,
                                          const A (&prefixes)[GROUP], const A& next, bool inclusive,
                                          Out* out, u64 outer_stride, u64 stride) const {
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            if (i >= count) break;
            A result = prefixes[i];
            if (inclusive) result = i + 1 < count ? prefixes[(i + 1) % GROUP] : next;
            out[place(chunk, row + i, outer_stride, stride)] = Fold<Out>::narrow(result);
        }
    }

    /// Scans the chunk of this thread. `seeds` has the prefixes of the starts of all chunks and of
    /// the end of the last whole one, where there are several chunks a lane. With `closed`, results
    /// have a row more, which gets the prefix of the end.
    template <class Out>
    __device__ __forceinline__ void scan(const A* seeds, Out* out, u64 outer_stride, u64 stride,
                                         const A& init, bool seeded, bool inclusive,
                                         bool closed) const {
        if (!has_work()) return;
        Chunk chunk = this->chunk();
        u64 whole = shape.length >> shape.log_chunk;
        u64 seed = (chunk.outer * (whole + 1) + chunk.number) * shape.inner + chunk.inner;
        P before{init, seeded};
        if (chunk.number > 0) before = {seeds[seed], true};
        Walk walk{before};
        int groups = chunk.rows >> LOG_GROUP, rest = chunk.rows & (GROUP - 1);
#pragma unroll 1
        for (int group = 0; group < groups; group++) {
            u64 row = chunk.first + group * GROUP;
            A nodes[GROUP];
            load(nodes, chunk, row, GROUP);
            run_up_sweep<Operator, true>(nodes, GROUP);
            A sum = nodes[GROUP - 1];
            P start = walk.now;
            start.fill(sum);
            run_down_sweep<Operator, true>(nodes, GROUP, start.value, start.present);
            if (!start.present) nodes[0] = init;
            walk.template carry<0>(group, sum);
            // Of a whole chunk, the node that it is may be part of a larger one.
            if (chunk.whole && group + 1 == groups) walk.now = {seeds[seed + shape.inner], true};
            store(chunk, row, GROUP, nodes, walk.now.value, inclusive, out, outer_stride, stride);
        }
        if (rest > 0) {
            u64 row = chunk.first + groups * GROUP;
            A nodes[GROUP];
            load(nodes, chunk, row, rest);
#pragma unroll
            for (int i = 1; i < GROUP; i++)
                if (i >= rest) nodes[i] = nodes[0];
            run_up_sweep<Operator, false>(nodes, rest);
            P start = walk.now;
            start.fill(nodes[0]);
            run_down_sweep<Operator, false>(nodes, rest, start.value, start.present);
            if (!start.present) nodes[0] = init;
#pragma unroll
            for (int i = 1; i < GROUP; i++)
                if (i == rest) walk.now = {nodes[i], true};
            store(chunk, row, rest, nodes, walk.now.value, inclusive, out, outer_stride, stride);
        }
        if (closed && chunk.first + chunk.rows == shape.length)
            out[chunk.outer * outer_stride + shape.length * stride + chunk.inner] =
                Fold<Out>::narrow(walk.now.value);
    }
};

}  // namespace warpfold
