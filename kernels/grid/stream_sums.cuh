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
// A stands for positions 0 to 3, B for 4 and 5. It stands at the first of them; the others hold
// nothing. A node whose right half is nothing is its left half. So a tree over these places finds
// A and B, and puts them together with what follows, as the law asks.
#pragma once
#include "grid/look_back.cuh"

namespace warpfold {

/// An operator on values that may be absent, and are skipped then.
template <class O, class A>
struct Skipping {
    using P = Prefix<O, A>;
    static constexpr bool COMMUTATIVE = O::COMMUTATIVE;

    static __device__ __forceinline__ P combine(const P& a, const P& b) {
        if (!b.present) return a;
        if (!a.present) return b;
        return {O::combine(a.value, b.value), true};
    }
};

/// The sums of the aligned blocks before a position of a stream: at place l that of 2^l items, if
/// bit l of the position is set.
template <class Operator, class A>
struct Carry {
    using P = Prefix<Operator, A>;
    using Stored = typename Operand<A>::Type;

    const Stored* sums;
    u64 position;

    __device__ __forceinline__ P block(int level) const {
        return {Operand<A>::keep(sums[level]), true};
    }

    /// What stands at a place before `origin`, the position in units of 2^level: a block's sum, or
    /// nothing. Both are below the unit that the blocks above are made of.
    __device__ __forceinline__ P at(u32 place, u32 origin, int level, const A& usual) const {
        int bit = 31 - __clz((int)(place ^ origin));
        bool is_first = (place & ((2u << bit) - 1)) == 0;
        return is_first ? block(level + bit) : P{usual, false};
    }

    /// The blocks of 2^level items and more, appended to what precedes the stream. Whole warps call.
    __device__ __forceinline__ P above(int level, P before) const {
        u64 blocks = level < 64 ? position >> level << level : 0;
        int lane = threadIdx.x % WARP;
#pragma unroll 1
        for (int first = 32; first >= 0; first -= WARP) {
            u32 rest = (u32)(blocks >> first);
            if (rest == 0) continue;
            // A block a lane, so that one way to memory brings them all.
            A sum = before.value;
            if ((rest >> lane & 1) != 0) sum = block(first + lane).value;
#pragma unroll 1
            while (rest != 0) {
                int bit = 31 - __clz((int)rest);
                before.append(shuffle(sum, bit));
                rest ^= 1u << bit;
            }
        }
        return before;
    }
};

/// The sums of the tiles of a piece, of RADIX tiles, of RADIX² tiles …, by their places in the
/// stream. On each level a warp reads RADIX of them, the nodes around a tile.
template <class Operator, class A>
struct StreamSums {
    static constexpr int LOG_RADIX = LOG2<WARP>, RADIX = WARP;
    using P = Prefix<Operator, A>;
    using Present = Skipping<Operator, A>;
    using Tree = LaneTree<Present, P, WARP>;

    TileSums<A, 1> sums;
    Carry<Operator, A> carry;
    /// The first tile and the last, by their places in the stream; the length of a tile is
    /// 2^log_tile.
    u64 first, last;
    int log_tile;
    /// What is held where nothing is.
    A usual;

    /// How many levels the piece takes. Above them all its tiles lie in one node.
    __device__ __forceinline__ int levels() const {
        int levels = 1;
        while (first >> levels * LOG_RADIX != last >> levels * LOG_RADIX) levels++;
        return levels;
    }

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

    /// The nodes of the group of RADIX that a tile lies in, those before the tile's own: one a
    /// lane. Whole warps call, and wait for them.
    __device__ __forceinline__ P nodes(u64 tile, int level) const {
        int lane = threadIdx.x % WARP, own = digit_of(tile, level);
        u64 group = tile >> (level + 1) * LOG_RADIX;
        bool starts_here = group == first >> (level + 1) * LOG_RADIX;
        int origin = starts_here ? digit_of(first, level) : 0;
        P node{usual, false};
        if (own > origin) {
            // The others read one that will be there.
            bool there = origin <= lane && lane < own;
            u64 places[1] = {slot(level, (group << LOG_RADIX) + (there ? lane : origin))};
            A values[1];
            sums.wait(places, values);
            node = {values[0], there};
        }
        if (lane < origin) node = carry.at(lane, origin, log_tile + level * LOG_RADIX, usual);
        return node;
    }

    /// Publishes the sum of a tile, and those of the nodes that it completes. A whole warp calls;
    /// all its lanes hold the sum.
    __device__ __forceinline__ void publish(u64 tile, const A& sum) const {
        int lane = threadIdx.x % WARP, levels = this->levels();
        P node{sum, true};
        sums.publish(slot(0, tile), sum);
        for (int level = 0; level + 1 < levels && digit_of(tile, level) == RADIX - 1; level++) {
            P before = nodes(tile, level);
            Tree tree;
            node = tree.up_sweep(lane == RADIX - 1 ? node : before);
            sums.publish(slot(level + 1, tile >> (level + 1) * LOG_RADIX), node.value);
        }
    }

    /// The prefix of a tile, given what precedes the stream. Whole warps call; all lanes get it.
    /// `leave` is called with the sum of each aligned block before the tile that does not lie
    /// before the levels' one node, and its logarithm in items.
    template <class Leave>
    __device__ __forceinline__ P prefix(u64 tile, const P& before, const Leave& leave) const {
        int levels = this->levels();
        P prefix = carry.above(log_tile + levels * LOG_RADIX, before);
        for (int level = levels - 1; level >= 0; level--) {
            int digit = digit_of(tile, level);
            if (digit == 0) continue;
            Tree tree;
            tree.up_sweep(nodes(tile, level));
            Prefix<Present, P> own = tree.down_sweep(Prefix<Present, P>{prefix, true});
            prefix = shuffle(own.value, digit);
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
