// How blocks of one launch learn what comes before their tiles.
//
// A sum travels in packets of 16 bytes: 8 of value and 8 of tag. Each packet is written and read by
// one access, so it needs no flag and no fence. The tag belongs to the launch (workspace.cuh), so
// nothing has to be cleared before one.
//
// The workspace gets the sum of each tile, of RADIX tiles, of RADIX² tiles and so on. RADIX is as
// many sums as a warp reads at once: 32, 64 or 128. The block that completes such a group publishes
// its sum. On each of these levels, fewer than RADIX nodes precede a tile, and their aligned blocks
// are the very ones that the law asks for. A warp reads the nodes at once, some a lane, and folds
// them as a tree. No tile waits for another one's prefix, as in the chain of Merrill and Garland's
// decoupled look-back (NVR-2016-002). It waits for sums only, and those wait for nothing but
// memory.
#pragma once
#include "block/blelloch.cuh"
#include "warp/lanes.cuh"
#include "grid/workspace.cuh"

namespace warpfold {

/// The sums that blocks exchange. They lie as a warp reads them: PER_LANE neighbouring sums a lane,
/// neighbouring lanes from neighbouring words. All blocks read the same few lines of the cache, so
/// answers come sooner if there are fewer lines.
template <class A, int PER_LANE>
struct TileSums {
    static constexpr int CHUNKS = ((int)sizeof(A) + 7) / 8;

    union Packet {
        u64x2 word;
        u64 parts[2];  // value, tag
    };
    union Sum {
        u64 chunks[CHUNKS];
        A value;
    };

    u64x2* words;
    u64 tag;

    __device__ __forceinline__ u64x2* word(u64 tile, int chunk) const {
        u64 row = tile / (WARP * PER_LANE) * PER_LANE + tile % PER_LANE;
        return words + (row * CHUNKS + chunk) * WARP + tile / PER_LANE % WARP;
    }

    /// Publishes a sum. A whole warp calls; all its lanes hold the sum.
    __device__ __forceinline__ void publish(u64 tile, const A& value) const {
        Sum sum;
        sum.chunks[CHUNKS - 1] = 0;
        sum.value = value;
        int lane = threadIdx.x % WARP;
        Packet packet;
        packet.parts[1] = tag;
#pragma unroll
        for (int i = 0; i < CHUNKS; i++)
            if (lane == i) packet.parts[0] = sum.chunks[i];
        if (lane < CHUNKS) store_relaxed(word(tile, lane), packet.word);
    }

    /// The sums of COUNT tiles for each lane. Whole warps call. They wait until all the sums are
    /// there. Lanes must not leave one by one: the compiler would gather them again before every
    /// shuffle that follows, and the last block would collect for 0.5 to 1.5 µs longer.
    ///
    /// SPARING repeats only the reads that found nothing, to leave memory to others. That takes
    /// longer: a compiler that is short of registers makes such reads one after the other.
    template <bool SPARING = false, int COUNT>
    __device__ __forceinline__ void wait(const u64 (&tiles)[COUNT], A (&values)[COUNT]) const {
        wait_unless<SPARING>([] { return false; }, tiles, values);
    }

    /// Waits likewise, but gives up if something has failed, which all lanes must see alike. Then
    /// there are no values, and it returns false.
    template <bool SPARING = false, int COUNT, class Failed>
    __device__ __forceinline__ bool wait_unless(const Failed& failed, const u64 (&tiles)[COUNT],
                                                A (&values)[COUNT]) const {
        Packet packets[COUNT][CHUNKS];
        bool missing[COUNT][CHUNKS], there;
#pragma unroll
        for (int k = 0; k < COUNT; k++)
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) missing[k][i] = true;
        for (;;) {
            there = true;
#pragma unroll
            for (int k = 0; k < COUNT; k++)
#pragma unroll
                for (int i = 0; i < CHUNKS; i++)
                    if (!SPARING || missing[k][i])
                        packets[k][i].word = load_relaxed(word(tiles[k], i));
#pragma unroll
            for (int k = 0; k < COUNT; k++)
#pragma unroll
                for (int i = 0; i < CHUNKS; i++) {
                    missing[k][i] = packets[k][i].parts[1] != tag;
                    there = there && !missing[k][i];
                }
            if (!any_lane(!there)) break;
            if (failed()) return false;
        }
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            Sum sum;
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) sum.chunks[i] = packets[k][i].parts[0];
            values[k] = sum.value;
        }
        return true;
    }
};

/// One of two types.
template <bool FIRST, class S, class T>
struct OneOf {
    using Type = S;
};
template <class S, class T>
struct OneOf<false, S, T> {
    using Type = T;
};

/// The sums of tiles, of RADIX tiles, of RADIX² tiles …, one level after the other. A warp reads
/// PER_LANE sums a lane at once.
template <class Operator, class A, int PER_LANE>
struct SumTree {
    static constexpr int RADIX = WARP * PER_LANE, LOG_RADIX = LOG2<RADIX>;

    TileSums<A, PER_LANE> sums;
    /// The number of tiles.
    u64 count;

    /// Publishes the sum of a whole tile, and those of the nodes that it completes. A whole warp
    /// calls; all its lanes hold the sum.
    __device__ __forceinline__ void publish(u64 tile, A sum) const {
        u64 start = 0, width = count + 1, place = tile;
        sums.publish(place, sum);
        while (place % RADIX == RADIX - 1) {
            // This tile's own sum has only just been sent. The others are there or on their way.
            A members[PER_LANE];
            read(start + place - (RADIX - 1), RADIX - 1, members);
            members[PER_LANE - 1] =
                choose(threadIdx.x % WARP == WARP - 1, sum, members[PER_LANE - 1]);
            sum = LaneTree<Operator, A, WARP>().up_sweep(tree_fold<Operator>(members));
            start += width;
            width = (width - 1 >> LOG_RADIX) + 1;
            place /= RADIX;
            sums.publish(start + place, sum);
        }
    }

    /// The prefix of a tile, given what precedes all tiles. Whole warps call; all lanes get it.
    __device__ __forceinline__ Prefix<Operator, A> prefix(u64 tile,
                                                          Prefix<Operator, A> before) const {
        int level = 0;
        while (tile >> level * LOG_RADIX >= RADIX) level++;
        for (; level >= 0; level--) {
            u64 place = tile >> level * LOG_RADIX;
            int digit = (int)(place % RADIX);
            if (digit == 0) continue;
            Digit sums_before;
            sums_before.read(*this, start_of(level) + place - digit, digit);
            before = sums_before.prefix(digit, before);
        }
        return before;
    }

    /// The first `digit` of the RADIX sums from some place on, as a tree.
    struct Digit {
        A members[PER_LANE];
        LaneTree<Operator, A, WARP> tree;

        /// Returns their sum, if they are RADIX.
        __device__ __forceinline__ A read(const SumTree& all, u64 first, int digit) {
            all.read(first, digit, members);
            run_up_sweep<Operator, true>(members, PER_LANE);
            return tree.up_sweep(members[PER_LANE - 1]);
        }

        /// The prefix of what comes after them. The lane that holds this place has all the sums
        /// that it takes.
        __device__ __forceinline__ Prefix<Operator, A> prefix(
            int digit, const Prefix<Operator, A>& before) const {
            Prefix<Operator, A> own = tree.down_sweep(before);
            append_members(own, members, digit % PER_LANE);
            return {shuffle(own.value, digit / PER_LANE), true};
        }
    };

    /// `Digit` by loops: code that holds the operator twice. It is for one sum a lane.
    struct DigitByLoops {
        int digit;
        /// Lane l has the sum of 2^l of them that belongs to bit l of the digit, if that is set.
        A nodes;

        /// The first `digit` sums from some place on; there may be none. If the last of them is
        /// `known`, it is not read. Returns their sum, if they are RADIX.
        __device__ __forceinline__ A read(const SumTree& all, u64 first, int digit,
                                          bool known = false, const A& last = A{}) {
            static_assert(PER_LANE == 1);
            this->digit = digit;
            int lane = threadIdx.x % WARP, there = known ? digit - 1 : digit;
            A sum[1] = {last};
            if (digit == 0) return last;
            if (there > 0) all.read(first, there, sum);
            if (known && lane == there) sum[0] = last;
#pragma unroll 1
            for (int bit = 0; bit < LOG_RADIX; bit++) {
                A sibling = shuffle_xor(sum[0], 1 << bit), node = shuffle(sibling, digit);
                if (lane == bit) nodes = node;
                sum[0] = combine_neighbours<Operator>(sum[0], sibling, (lane >> bit & 1) != 0);
            }
            return sum[0];
        }

        __device__ __forceinline__ void append_to(Prefix<Operator, A>& before) const {
#pragma unroll 1
            for (int bit = LOG_RADIX - 1; bit >= 0; bit--)
                if ((digit >> bit & 1) != 0) before.append(shuffle(nodes, bit));
        }
        __device__ __forceinline__ Prefix<Operator, A> prefix(int,
                                                              Prefix<Operator, A> before) const {
            append_to(before);
            return before;
        }
    };

    /// By loops, or not.
    template <bool BY_LOOPS>
    using DigitOf = typename OneOf<BY_LOOPS, DigitByLoops, Digit>::Type;

    /// The digit of a tile at some level.
    __device__ __forceinline__ int digit_of(u64 tile, int level) const {
        return (int)((tile >> level * LOG_RADIX) % RADIX);
    }
    /// Where the sums are that a digit is of.
    __device__ __forceinline__ u64 group_of(u64 tile, int level) const {
        return start_of(level) + (tile >> level * LOG_RADIX) / RADIX * RADIX;
    }

    /// What precedes the group of RADIX tiles that a tile belongs to, given what precedes all
    /// tiles. By loops.
    ///
    /// The sum of the group before is folded here, and so is that of each larger group that ends
    /// there. Their own blocks do so, too, but it would take two more ways through memory to learn
    /// that from them.
    __device__ __forceinline__ Prefix<Operator, A> prefix_of_group(
        u64 tile, Prefix<Operator, A> before) const {
        if (tile < RADIX) return before;
        DigitByLoops nodes;
        A last{};
        int level = 0;
        // A group ends where the tile's own starts.
#pragma unroll 1
        for (; level == 0 || digit_of(tile, level) == 0; level++)
            last = nodes.read(*this, group_of(tile, level) - RADIX, RADIX, level > 0, last);
        int top = level;
        while (tile >> top * LOG_RADIX >= RADIX) top++;
#pragma unroll 1
        for (; top >= level; top--) {
            nodes.read(*this, group_of(tile, top), digit_of(tile, top), top == level, last);
            nodes.append_to(before);
        }
        return before;
    }

    /// The sums from place `first` on, PER_LANE a lane. Only `there` of them exist or will; lanes
    /// beyond read the first one instead.
    __device__ __forceinline__ void read(u64 first, int there, A (&members)[PER_LANE]) const {
        u64 places[PER_LANE];
#pragma unroll
        for (int k = 0; k < PER_LANE; k++) {
            int member = (int)(threadIdx.x % WARP) * PER_LANE + k;
            places[k] = first + (member < there ? member : 0);
        }
        sums.wait(places, members);
    }

    /// Appends the first `count` of a lane's sums, as aligned blocks, given the sums of their
    /// subtrees.
    static __device__ __forceinline__ void append_members(Prefix<Operator, A>& prefix,
                                                          const A (&nodes)[PER_LANE], int count) {
#pragma unroll
        for (int half = PER_LANE / 2; half >= 1; half /= 2) {
            A block = nodes[half - 1];
#pragma unroll
            for (int i = half - 1; i < PER_LANE; i += 2 * half)
                block = choose(i == (count & -2 * half) + half - 1, nodes[i], block);
            prefix.append_if((count & half) != 0, block);
        }
    }

    __device__ __forceinline__ u64 start_of(int level) const {
        u64 start = 0;
        for (int i = 0; i < level; i++) start += (count >> i * LOG_RADIX) + 1;
        return start;
    }
};

}  // namespace warpfold
