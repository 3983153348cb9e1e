// The sums of the aligned blocks of a range, by a block of threads: what a reduction by the rows
// engine does with a chunk, or with what fills none (rows_reduce.cuh). A whole chunk has just one
// such block. A range is cut up like this:
//
//   parts      the work of a warp
//   batches    a warp folds one after the other, and adds them up in a binary counter
//   rows       as many as a warp holds at once; each has 32 runs, one a lane
//   runs       neighbouring elements, of 16 bytes if their size allows
//
// For operators bound by computing, rows of several batches may be folded together (GROUPED), or
// the code may be COMPACT: trees are folded by loops, except those of a batch. Unrolled, they would
// hold the operator so often that compiling it takes a second. If the operator may be unsure
// (warp/fast_path.cuh), its code is long. Then GROUPED code is compact, too, outside of its inner
// loop.
//
// On each of these levels the range ends at one place. Before that place lie blocks of one size.
// Their aligned blocks are the left siblings of the place, and the lane that has it knows them once
// the level is folded. Places after the end are filled up with elements from before it, whose sums
// belong to no such block.
#pragma once
#include "block/padded.cuh"
#include "grid/look_back.cuh"
#include "source/source_rows.cuh"

namespace warpfold {

/// Whether what is outside of the inner loop has little code.
template <class Operator, class Policy>
constexpr bool LITTLE_CODE = Policy::COMPACT || (Policy::GROUPED && MAY_BE_UNSURE<Operator>);

/// The sums of aligned blocks, in shared memory. Entry l is the sum of 2^l elements.
template <class Operator, class A, bool BY_LOOPS, int LEVELS = 32>
struct AlignedBlocks {
    static constexpr int UNROLLED = BY_LOOPS ? 1 : 5;
    PaddedArray<A, LEVELS> sums;

    /// Sets the entries from `first` on to the left siblings of leaf `place` of a tree that has
    /// been folded.
    template <class Tree>
    __device__ __forceinline__ void set_siblings(const Tree& tree, int place, int first) {
        bool mine = (int)(threadIdx.x % WARP) == place;
#pragma unroll
        for (int level = 0; level < Tree::LEVELS; level++)
            if (mine && (place >> level & 1) != 0) sums.set(first + level, tree.siblings[level][0]);
    }

    /// Folds the tree over one value a lane, only as high as leaf `place` has siblings. Sets the
    /// entries from `first` on to those left of it, and returns the fold.
    __device__ __forceinline__ A set_siblings_of(A sum, int place, int first) {
        int lane = threadIdx.x % WARP;
#pragma unroll UNROLLED
        for (int level = 0; level < 5; level++) {
            if (place >> level == 0) break;
            A sibling = shuffle_xor(sum, 1 << level);
            if (lane == place && (place >> level & 1) != 0) sums.set(first + level, sibling);
            sum = combine_neighbours<Operator>(sum, sibling, (lane >> level & 1) != 0);
        }
        return sum;
    }

    /// Appends the aligned blocks of `length` elements to a prefix.
    __device__ __forceinline__ void append_to(Prefix<Operator, A>& prefix, u32 length) {
        while (length != 0) {
            int level = 31 - __clz(length);
            prefix.append(sums.get(level));
            length ^= 1u << level;
        }
    }

    /// Leaves only those aligned blocks that `length` elements have, the smallest first. By a warp,
    /// while it waits for something else anyway.
    __device__ __forceinline__ void pack(u32 length) {
        int lane = threadIdx.x % WARP;
        bool has = (length >> lane & 1) != 0;
        A sum;
        if (has) sum = sums.get(lane);
        __syncwarp();
        if (has) sums.set(__popc(length & ((1u << lane) - 1)), sum);
        __syncwarp();
    }

    /// `append_to` for blocks that are packed: no bit is looked for, which takes longer than a
    /// cheap operator, and each sum is read while the one before is combined.
    __device__ __forceinline__ void append_packed_to(Prefix<Operator, A>& prefix, u32 length) {
        int left = __popc(length);
        if (left == 0) return;
        A next = sums.get(left - 1);
#pragma unroll 1
        for (; left > 0; left--) {
            A sum = next;
            next = sums.get(left > 1 ? left - 2 : 0);
            prefix.append(sum);
        }
    }
};

/// Folds ranges of an array, one after the other. Blocks may have up to 32 warps.
template <class Operator, class Source, class Policy>
struct BlockFolder {
    using T = typename Source::Item;
    using A = AccumulatorOf<T>;
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS;
    static constexpr int ROW = WARP * RUN, BATCH = ROWS * ROW;
    static constexpr bool COMPACT = Policy::COMPACT, GROUPED = Policy::GROUPED;
    using Blocks = AlignedBlocks<Operator, A, LITTLE_CODE<Operator, Policy>>;
    using Rows = SourceRows<Source, RUN, ROWS, Policy::MOST_WARPS>;

    /// The most parts of a group of chunks.
    static constexpr int MOST_PARTS = 256;

    struct Shared {
        PaddedArray<A, MOST_PARTS> part_sums;
        u64 tickets[2];
        Blocks blocks;
    };
    static __device__ __forceinline__ Shared& shared() { return block_shared<Shared>(); }

    Source source;
    /// The number of all items.
    u64 items;

    /// Folds the parts of `length` elements. They have 2^log_batches batches each. Leaves the sums
    /// of whole parts from place `first` on, and those of the aligned blocks of what fills none.
    /// The warps of the block take parts in turn. A block that takes chunks in turn has a warp for
    /// each part.
    __device__ __forceinline__ void fold(u64 from, u64 length, int log_batches, int first) const {
        int log_part = LOG2<BATCH> + log_batches;
        u32 part = 1u << log_part;
#pragma unroll 1
        for (u32 place = warp_index();; place += blockDim.x / WARP) {
            u64 start = (u64)place << log_part;
            if (start >= length) return;
            u64 rest = length - start;
            fold_part(from + start, rest < part ? (u32)rest : part, log_batches,
                      first + (int)place);
            if constexpr (Policy::IN_TURN) return;
        }
    }

    /// The sum of 2^log_parts whole parts, from place `first` on, in all lanes of the calling warp.
    static __device__ __forceinline__ A sum_of_parts(int first, int log_parts) {
        int lane = threadIdx.x % WARP;
        A sum = shared().part_sums.get(first + (lane & ((1 << log_parts) - 1)));
#pragma unroll Blocks::UNROLLED
        for (int level = 0; level < 5; level++) {
            if (level == log_parts) break;
            A sibling = shuffle_xor(sum, 1 << level);
            sum = combine_neighbours<Operator>(sum, sibling, (lane >> level & 1) != 0);
        }
        return sum;
    }

    /// Leaves the sum of a whole part in its place, or the sums of the aligned blocks of another
    /// one, which has an element at least. By a warp.
    __device__ __forceinline__ void fold_part(u64 from, u32 length, int log_batches,
                                              int place) const {
        int lane = threadIdx.x % WARP;
        LaneCounter<Operator, A> batches;
        A sum;
        batches.count = 0;
        bool is_whole = length >> log_batches >= BATCH;
        if constexpr (COMPACT) {
            sum = fold_compactly(batches, from, length);
        } else {
            if constexpr (GROUPED) {
                sum = fold_groups(batches, from, length);
            } else {
                for (; length >= BATCH; length -= BATCH, from += BATCH) {
                    A leaves[ROWS];
                    load_leaves(leaves, from, BATCH / RUN);
                    sum = batches.push(sum_of_batch(leaves));
                }
            }
            if (length > 0) fold_end(from, (int)length);
        }
        if (is_whole) {
            if (lane == 0) shared().part_sums.set(place, sum);
        } else {
            if ((batches.count >> lane & 1) != 0)
                shared().blocks.sums.set(LOG2<BATCH> + lane, batches.digit);
        }
    }

    /// Folds a part by code that loads leaves in one place, whether they fill a batch or not.
    /// Leaves the sums of those that do not. Returns the last sum that was pushed.
    __device__ __forceinline__ A fold_compactly(LaneCounter<Operator, A>& batches, u64 from,
                                                u32 length) const {
        A sum;
        auto& blocks = shared().blocks;
#pragma unroll 1
        for (; length > 0; length -= BATCH, from += BATCH) {
            auto [rest, runs] = End(length < BATCH ? (int)length : BATCH);
            if (rest > 0) {
                A element = element_of_rest(from + runs * RUN, rest);
                blocks.set_siblings_of(element, rest, 0);
            }
            if (runs == 0) break;
            A leaves[ROWS], last;
            load_leaves(leaves, from, runs);
            if (length < BATCH) last = row_at(leaves, runs / WARP);
            A rows = RowsTree<Operator, A, ROWS>().up_sweep(leaves);
            if (length < BATCH) {
                blocks.set_siblings_of(last, runs % WARP, LOG2<RUN>);
                blocks.set_siblings_of(rows, runs / WARP, LOG2<ROW>);
                break;
            }
            sum = batches.push(LaneTree<Operator, A, ROWS>().up_sweep(rows));
        }
        return sum;
    }

    /// Folds whole batches with the fewest combinations, for operators bound by computing. Returns
    /// the last sum that was pushed.
    ///
    /// A batch has fewer rows than a warp has lanes, so the last levels would be computed several
    /// times over. Each of them waits for the rows of another batch instead.
    __device__ __forceinline__ A fold_groups(LaneCounter<Operator, A>& batches, u64& from,
                                             u32& length) const {
        A sum, started[OPEN > 0 ? OPEN : 1];
        u32 count = 0;
        auto push = [&](const A& rows, int level) {
            sum = batches.push(fold_lanes(rows, DIVIDED + level), level);
        };
#pragma unroll 1
        for (; length >= BATCH; length -= BATCH, from += BATCH, count++) {
            A leaves[ROWS];
            load_leaves(leaves, from, BATCH / RUN);
            A rows = fold_rows<Operator, A, 0, DIVIDED>(leaves);
            if (join<0>(started, count, rows)) push(rows, OPEN);
        }
#pragma unroll 1
        for (int level = OPEN - 1; level >= 0; level--) {
            A rows = started[0];
#pragma unroll
            for (int i = 1; i < OPEN; i++) rows = choose(i == level, started[i], rows);
            if ((count >> level & 1) != 0) push(rows, level);
        }
        return sum;
    }

    static __device__ __forceinline__ A sum_of_batch(const A (&leaves)[ROWS]) {
        bool unsure = false;
        LaneTree<Operator, A, ROWS> tree;
        A sum = up_sweep_by(FastPath<Operator>{unsure}, tree, leaves);
        if constexpr (MAY_BE_UNSURE<Operator>) {
            if (any_lane(unsure)) sum = up_sweep_by(SlowPath<Operator>{}, tree, leaves);
        }
        return sum;
    }

    /// The tree over the rows of a batch, given their leaves.
    template <class By>
    static __device__ __forceinline__ A up_sweep_by(const By& combine,
                                                    LaneTree<Operator, A, ROWS>& tree,
                                                    const A (&leaves)[ROWS]) {
        return tree.up_sweep_by(combine,
                                RowsTree<Operator, A, ROWS>().up_sweep_by(combine, leaves));
    }

    /// How up to a batch is folded: as runs, and as the rest, which fills none: one element a lane.
    struct End {
        int rest, runs;

        __device__ __forceinline__ explicit End(int length)
            : rest(length < WARP ? length : length % RUN), runs((length - rest) / RUN) {}
    };

    static __device__ __forceinline__ A row_at(const A (&leaves)[ROWS], int place) {
        A row = leaves[0];
#pragma unroll
        for (int i = 1; i < ROWS; i++) row = choose(i == place, leaves[i], row);
        return row;
    }

    /// The levels over lanes that a batch has rows enough to be divided for, and the others.
    static constexpr int DIVIDED = LOG2<ROWS>, OPEN = LOG2<WARP> - DIVIDED;

    /// Joins the rows of 2^LEVEL batches with those that wait for them, and so on. `count` batches
    /// came before the last one. Returns whether there are as many rows as lanes now.
    template <int LEVEL>
    static __device__ __forceinline__ bool join(A (&started)[OPEN > 0 ? OPEN : 1], u32 count,
                                                A& rows) {
        if constexpr (LEVEL == OPEN) {
            return true;
        } else {
            if ((count >> LEVEL & 1) == 0) {
                started[LEVEL] = rows;
                return false;
            }
            A both[2] = {started[LEVEL], rows};
            rows = fold_rows<Operator, A, DIVIDED + LEVEL, DIVIDED + LEVEL + 1>(both);
            return join<LEVEL + 1>(started, count, rows);
        }
    }

    /// The sum of 2^divided rows, in all lanes. The levels below `divided` are folded; lane l has
    /// row l % 2^divided.
    static __device__ __forceinline__ A fold_lanes(A rows, int divided) {
#pragma unroll 1
        for (int step = 0; step < LOG2<WARP>; step++) {
            int level = divided + step < LOG2<WARP> ? divided + step : divided + step - LOG2<WARP>;
            bool odd = (threadIdx.x >> level & 1) != 0;
            rows = combine_neighbours<Operator>(rows, shuffle_xor(rows, 1 << level), odd);
        }
        return rows;
    }

    /// Folds less than a batch, as `fold_part` does.
    __device__ __forceinline__ void fold_end(u64 from, int length) const {
        auto [rest, runs] = End(length);
        A element, leaves[ROWS];
        // These loads are under way while the rows are read.
        if (rest > 0) element = element_of_rest(from + (length - rest), rest);
        if (runs > 0) load_leaves(leaves, from, runs);
        auto& blocks = shared().blocks;
        if (rest > 0) blocks.set_siblings_of(element, rest, 0);
        if (runs == 0) return;
        A end = row_at(leaves, runs / WARP);
        if constexpr (LITTLE_CODE<Operator, Policy>) {
            A sum = RowsTree<Operator, A, ROWS>().up_sweep(leaves);
            blocks.set_siblings_of(end, runs % WARP, LOG2<RUN>);
            blocks.set_siblings_of(sum, runs / WARP, LOG2<ROW>);
            return;
        }
        LaneTree<Operator, A, WARP> row;
        LaneTree<Operator, A, ROWS> rows;
        bool unsure = false;
        row.up_sweep_by(FastPath<Operator>{unsure}, end);
        up_sweep_by(FastPath<Operator>{unsure}, rows, leaves);
        if constexpr (MAY_BE_UNSURE<Operator>) {
            if (any_lane(unsure)) {
                row.up_sweep_by(SlowPath<Operator>{}, end);
                up_sweep_by(SlowPath<Operator>{}, rows, leaves);
            }
        }
        blocks.set_siblings(row, runs % WARP, LOG2<RUN>);
        blocks.set_siblings(rows, runs / WARP, LOG2<ROW>);
    }

    /// The sums of `runs` runs, at least one. A lane that has none gets the sum of some run.
    __device__ __forceinline__ void load_leaves(A (&leaves)[ROWS], u64 from, int runs) const {
        int first = 0, last = runs - 1;
        bool shifted = Rows::SHIFTS && Rows::shifts(source, from);
        if (shifted) {
            if (Rows::reaches_before(source, from, 0)) first++;
            if (Rows::reaches_beyond(source, from + last * RUN, items)) last--;
        }
        if (first <= last) {
            Rows rows;
            rows.load(source, from, first, last, shifted);
            fold_runs(leaves, rows);
        }
        if (shifted && last - first < runs - 1) fold_edges(leaves, from, first, last, runs);
    }

    static __device__ __forceinline__ void fold_runs(A (&sums)[ROWS], const Rows& rows) {
        if constexpr (FOLDED_BY_WORDS<Operator, A, RUN> && SAME<Source, Slice<T>>) {
            using Sum = RunSum<Operator, A, RUN>;
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                sums[row] = Sum::value(run_fold_of_words<Operator, A, RUN>(rows.rows[row].parts));
            return;
        }
        A values[ROWS][RUN];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int i = 0; i < RUN; i++) values[row][i] = Fold<T>::widen(rows.item(row, i));
        }
        sums_of_runs<Operator>(sums, values);
    }

    /// The sums that are left: of the run before the first, and of the one after the last.
    __device__ __forceinline__ void fold_edges(A (&leaves)[ROWS], u64 from, int first, int last,
                                               int runs) const {
#pragma unroll 1
        for (int edge = first > 0 ? 0 : 1; edge < (last + 1 < runs ? 2 : 1); edge++) {
            A sum = fold_elements(from + (edge == 0 ? 0 : runs - 1) * RUN);
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                int run = row * WARP + (int)(threadIdx.x % WARP);
                leaves[row] = choose(run > last || (edge == 0 && run < first), sum, leaves[row]);
            }
        }
    }

    /// The sum of a run. Touches nothing but its elements.
    __device__ __forceinline__ A fold_elements(u64 from) const {
        A values[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++) values[i] = Fold<T>::widen(source.at(from + i));
        return tree_fold<Operator>(values);
    }

    /// The elements that fill no run, one a lane.
    __device__ __forceinline__ A element_of_rest(u64 from, int rest) const {
        int lane = threadIdx.x % WARP;
        return Fold<T>::widen(source.at(from + (lane < rest ? lane : rest - 1)));
    }

    /// Leaves the sums of the aligned blocks of the `whole` parts from place `first` on. By the
    /// first warp.
    static __device__ __forceinline__ void fold_parts(int whole, int log_part, int first) {
        int lane = threadIdx.x % WARP;
        auto& blocks = shared().blocks;
        if (whole > 0) {
            A sum = blocks.set_siblings_of(
                shared().part_sums.get(first + (lane < whole ? lane : 0)), whole, log_part);
            if (whole == WARP && lane == 0) blocks.sums.set(log_part + 5, sum);
        }
        __syncwarp();
    }
};

}  // namespace warpfold
