// How the blocks that scan a piece of a stream learn what precedes their tiles.
//
// A tile lies at a multiple of its length in the stream, wherever the piece starts. So the nodes
// over tiles are nodes of the stream's one tree. What precedes the piece is known by the sums of
// its aligned blocks, the carry. Such a block takes its place among the tiles, or the items, like
// any other node:
//
//   position   0 1 2 3 4 5 | 6 7 …          the piece starts at 6 = 4 + 2
//   node       A - - - B - | tiles or items
//
// A is the sum of positions 0 to 3, and stands at the first of them; B that of 4 and 5. The other
// places hold nothing. A node whose right half holds nothing is its left half. So a tree over these
// places finds A and B, and puts them together with what follows, as the law asks.
#pragma once
#include "grid/carry.cuh"
#include "grid/look_back.cuh"

namespace warpfold {

/// The trees over lanes where the first leaves of some hold nothing, or a block that reaches over
/// several of them. Such a block is the value of its first lane.
template <class Operator, class A, int LANES, int COUNT = 1>
struct LaneTreesFrom : LaneTrees<Operator, A, LANES, COUNT> {
    using Trees = LaneTrees<Operator, A, LANES, COUNT>;

    /// Replaces sums by those over LANES neighbouring lanes. Leaves before the origin are part of
    /// blocks. A node whose right half ends there, or before, is its left half.
    __device__ __forceinline__ void up_sweep(A (&sums)[COUNT], const int (&origins)[COUNT]) {
        int lane = threadIdx.x % LANES;
#pragma unroll
        for (int level = 0; level < Trees::LEVELS; level++) {
            bool odd = (lane >> level & 1) != 0;
            int end = (lane >> level | 1) + 1 << level;
#pragma unroll
            for (int k = 0; k < COUNT; k++) {
                A other = shuffle_xor(sums[k], 1 << level);
                this->siblings[level][k] = other;
                A left = choose(odd, other, sums[k]);
                A both = combine_neighbours<Operator>(sums[k], other, odd);
                sums[k] = choose(end <= origins[k], left, both);
            }
        }
    }
    __device__ __forceinline__ A up_sweep(const A& sum, int origin) {
        A sums[1] = {sum};
        int origins[1] = {origin};
        up_sweep(sums, origins);
        return sums[0];
    }
};

template <class Operator, class A, int LANES>
using LaneTreeFrom = LaneTreesFrom<Operator, A, LANES, 1>;

/// The sums of the tiles of a piece, of RADIX tiles, of RADIX² tiles …, by their places in the
/// stream. On each level a warp reads RADIX of them, the nodes around a tile.
template <class Operator, class A, class Before>
struct StreamSums {
    static constexpr int LOG_RADIX = LOG2<WARP>, RADIX = WARP;
    using P = Prefix<Operator, A>;
    using Tree = LaneTreeFrom<Operator, A, WARP>;

    TileSums<A, 1> sums;
    Before carry;
    /// The first tile and the last, by their places in the stream; the length of a tile is
    /// 2^log_tile.
    u64 first, last;
    int log_tile;
    /// How many levels the piece takes. Above them all its tiles lie in one node.
    int levels;
    /// What is held where nothing is.
    A nothing;

    /// Where a level keeps the sum of a node, given the node's place in the stream. The host
    /// reckons with the same: `PiecePlan` in `src/engine/rows/piece.rs`.
    __device__ __forceinline__ u64 slot(int level, u64 node) const {
        u64 start = 0;
        for (int i = 0; i < level; i++)
            start += ((last >> i * LOG_RADIX) - first_of(i)) / RADIX * RADIX + RADIX;
        return start + node - first_of(level);
    }
    /// The first node of the group that the piece starts in.
    __device__ __forceinline__ u64 first_of(int level) const {
        return first >> (level + 1) * LOG_RADIX << LOG_RADIX;
    }

    static __device__ __forceinline__ int digit_of(u64 tile, int level) {
        return (int)((tile >> level * LOG_RADIX) % RADIX);
    }
    /// Of the nodes of a tile's group, how many lie before the piece.
    __device__ __forceinline__ int origin_of(u64 tile, int level) const {
        bool starts_here = (tile ^ first) >> (level + 1) * LOG_RADIX == 0;
        return starts_here ? digit_of(first, level) : 0;
    }

    /// The nodes of the group of RADIX that a tile lies in, those before the tile's own: one a
    /// lane. Whole warps call, and wait for them.
    __device__ __forceinline__ A nodes(u64 tile, int level, int origin) const {
        int lane = threadIdx.x % WARP, own = digit_of(tile, level);
        A node = nothing;
        if (own > origin) {
            // The others read one that will be there.
            int place = origin <= lane && lane < own ? lane : origin;
            u64 group = tile >> (level + 1) * LOG_RADIX << LOG_RADIX;
            u64 places[1] = {slot(level, group + place)};
            A values[1];
            sums.wait(places, values);
            node = values[0];
        }
        if (lane < origin) node = carry.at(lane, origin, log_tile + level * LOG_RADIX, nothing);
        return node;
    }

    /// Publishes the sum of a tile, and those of the nodes that it completes. A whole warp calls;
    /// all its lanes hold the sum.
    __device__ __forceinline__ void publish(u64 tile, A sum) const {
        sums.publish(slot(0, tile), sum);
        for (int level = 0; level + 1 < levels && digit_of(tile, level) == RADIX - 1; level++) {
            int origin = origin_of(tile, level);
            A node = nodes(tile, level, origin);
            node = choose(threadIdx.x % WARP == RADIX - 1, sum, node);
            sum = Tree().up_sweep(node, origin);
            sums.publish(slot(level + 1, tile >> (level + 1) * LOG_RADIX), sum);
        }
    }

    /// The prefix of a tile, given what precedes the stream. Whole warps call; all lanes get it.
    /// `leave` is called with the sum of each aligned block before the tile that does not lie
    /// before the levels' one node, and its logarithm in items.
    template <class Leave>
    __device__ __forceinline__ P prefix(u64 tile, const P& before, const Leave& leave) const {
        P prefix = carry.above(log_tile + levels * LOG_RADIX, before);
        for (int level = levels - 1; level >= 0; level--) {
            int digit = digit_of(tile, level), origin = origin_of(tile, level);
            if (digit == 0) continue;
            Tree tree;
            tree.up_sweep(nodes(tile, level, origin), origin);
            P own = tree.down_sweep(prefix);
            prefix = {shuffle(own.value, digit), true};
            if ((int)(threadIdx.x % WARP) == digit) {
#pragma unroll
                for (int bit = 0; bit < LOG_RADIX; bit++)
                    if ((digit >> bit & 1) != 0)
                        leave(log_tile + level * LOG_RADIX + bit, tree.siblings[bit][0]);
            }
        }
        return prefix;
    }
};

}  // namespace warpfold
