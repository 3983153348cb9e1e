// The rows engine for scans: any length in one launch, by plain loads. It runs on every GPU, and
// slices may start anywhere.
//
// Each block scans one tile, which it holds in registers. Its warps load rows and fold them. From
// each other, and from the blocks before them (look_back.cuh), they learn what precedes each row.
//
// A short input is the tile of a single block, of as many warps as it needs, and touches no
// workspace. Its warps keep the trees over their rows. For long inputs warps have more rows. They
// make the trees anew, a batch at a time, once they know what comes before. Then two blocks fit a
// multiprocessor, and the whole input fits the GPU.
//
// A block waits for what precedes its tile as late as it can: after the up-sweeps over runs, lanes,
// rows and warps.
//
//   1. If all blocks fit the GPU at once, they take tiles by their index. The blocks before have
//      then started, or start first: so far every GPU starts blocks in that order, even where other
//      work keeps some of them waiting. Otherwise a tile's number is the order in which it was
//      taken. So running blocks hold the tiles before it, and nothing waits for a block that has
//      not started.
//   2. The block of the last tile resets the workspace's header, once it knows what precedes the
//      tile.
//   3. Only the last tile can be unfinished. It is filled up with one of its elements. What they
//      are combined to lies behind the last result, where nothing reads it.
//   4. An inclusive result is the exclusive one of the next position. For the last of a tile that
//      is the next tile's prefix, so the next tile's block stores it. If the last tile is whole,
//      one without elements follows it.
#pragma once
#include "grid/look_back.cuh"
#include "warp/row_scan.cuh"
#include "warp/row_load.cuh"

namespace warpfold {

template <class Operator, class T, class Policy>
struct OnceScanner {
    using A = AccumulatorOf<T>;
    static constexpr int RUN = Policy::RUN, ROWS = Policy::ROWS, BATCH = Policy::BATCH < ROWS ? Policy::BATCH : ROWS;
    static constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW;
    using R = Run<T, RUN>;
    using P = Prefix<Operator, A>;
    using Packed = PackedRun<T, RUN>;
    using Loader = RowLoader<T, RUN, ROWS>;
    using Word16 = Word<16>;
    using Sums = SumTree<Operator, A, Policy::PER_LANE>;
    using Trees = RowTrees<Operator, T, RUN, BATCH>;
    /// Whether the up-sweep's trees are kept for the down-sweep.
    static constexpr bool KEEPS = BATCH == ROWS;

    struct Shared {
        A warp_sums[Policy::MOST_WARPS];
        A prefix;
        u64 tile;
        /// A row of each warp, on its way to memory that does not take words of 16 bytes.
        alignas(16) unsigned char rows[Policy::MOST_WARPS][WARP * sizeof(R)];
    };

    const T* in;
    T* out;
    u64 length;
    Workspace workspace;
    A init;
    bool seeded, inclusive, by_ticket;

    /// Prefetches the tile. Before the launch has begun. A tile by ticket is near the one of the
    /// block's index; then not all blocks are there at once.
    __device__ __forceinline__ void prefetch() const {
        u64 elements = blockDim.x / WARP * CHUNK;
        bool few = by_ticket || gridDim.x * elements * sizeof(T) <= MOST_PREFETCHED;
        warpfold::prefetch(in, length, blockIdx.x * elements, elements, few && threadIdx.x == 0);
    }

    __device__ __forceinline__ void run() {
        auto& shared = block_shared<Shared>();
        int lane = threadIdx.x % WARP, warp = warp_index(), warps = blockDim.x / WARP;
        u64 tile = blockIdx.x;
        if (by_ticket) {
            if (threadIdx.x == 0)
                shared.tile = workspace.header->take(workspace.header->load_state().tag);
            __syncthreads();
            tile = shared.tile;
            // By all threads: a branch for one of them would cost the others registers.
            if (tile >= gridDim.x) trap("the start of the workspace was overwritten");
        }
        u64 start = tile * (CHUNK * warps), rest = length - start;
        int valid = rest < CHUNK * warps ? (int)rest : CHUNK * warps;

        Packed runs[ROWS];
        load(runs, start, warp * CHUNK, valid);
        // Under way while the rows are folded.
        WorkspaceHeader::State state{};
        if (gridDim.x > 1 && threadIdx.x == 0) state = workspace.header->load_state();

        // A lane's place in the down-sweep. If the trees are kept, each lane knows the sums of all
        // rows; otherwise that of row lane % ROWS.
        Trees trees;
        R batch[BATCH];
        A sums_of_rows[ROWS], sum;
        LaneTree<Operator, A, ROWS> rows;
        if constexpr (KEEPS) {
            unpack(batch, runs, 0);
            trees.up_sweep(batch, sums_of_rows);
            run_up_sweep<Operator, true>(sums_of_rows, ROWS);
            sum = sums_of_rows[ROWS - 1];
        } else {
#pragma unroll
            for (int row = 0; row < ROWS; row++) sums_of_rows[row] = fold_run<Operator>(runs[row]);
            sum = rows.up_sweep(fold_rows<Operator>(sums_of_rows));
        }
        if (lane == 0) shared.warp_sums[warp] = sum;
        __syncthreads();
        // Lanes without a warp take the first one's sum; nothing reads what they compute.
        LaneTree<Operator, A, Policy::MOST_WARPS> warp_tree;
        sum = shuffle(warp_tree.up_sweep_over(shared.warp_sums[lane < warps ? lane : 0], warps), 0);

        P before{init, seeded};
        if (gridDim.x > 1) {
            if (warp == 0) {
                state = shuffle(state, 0);
                workspace.require(state);
                Sums sums{{workspace.packets(), state.tag}, gridDim.x};
                if (valid == CHUNK * warps) sums.publish(tile, sum);
                before = sums.prefix(tile, before);
                if (lane == 0) shared.prefix = before.value;
                // All other blocks have taken their tiles and read the state: otherwise this block
                // would not have their sums.
                if (lane == 0 && tile == gridDim.x - 1) workspace.header->reset(state.tag, workspace.key);
            }
            __syncthreads();
            before = {shared.prefix, seeded || tile > 0};
        }
        if (inclusive && tile > 0 && threadIdx.x == 0) out[start - 1] = Fold<T>::narrow(before.value);
        if (warp * CHUNK >= valid) return;

        P of_warps = warp_tree.down_sweep(before);
        bool present = before.present || warp > 0;
        A after = shuffle(of_warps.value, (warp + 1) % WARP);
        int results = valid;
        if (gridDim.x == 1) {
            before.append(sum);
            after = choose(warp == warps - 1, before.value, after);
        } else if (inclusive && valid == CHUNK * warps) {
            results--;
        }
        P own{shuffle(of_warps.value, warp), present};
        if constexpr (KEEPS) run_down_sweep<Operator, true>(sums_of_rows, ROWS, own.value, present);
        else own = rows.down_sweep(own);
        bool direct = R::BYTES % 16 == 0 && is_aligned(out, 16);
#pragma unroll
        for (int first = 0; first < ROWS; first += BATCH) {
            P starts[BATCH];
            A ends[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                int row = first + k, next = (row + 1) % ROWS;
                starts[k] = {KEEPS ? sums_of_rows[row] : shuffle(own.value, row), present || row > 0};
                ends[k] = row + 1 == ROWS ? after : KEEPS ? sums_of_rows[next] : shuffle(own.value, next);
            }
            if constexpr (!KEEPS) {
                A unused[BATCH];
                unpack(batch, runs, first);
                trees.up_sweep(batch, unused);
            }
            MovedRun<T, RUN> scanned[BATCH];
            trees.down_sweep(scanned, starts, ends, init, inclusive);
#pragma unroll
            for (int k = 0; k < BATCH; k++) store(scanned[k], out + start, warp * CHUNK + (first + k) * ROW, results, direct);
        }
    }

    static __device__ __forceinline__ void unpack(R (&batch)[BATCH], const Packed (&rows)[ROWS], int first) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
#pragma unroll
            for (int i = 0; i < RUN; i++) batch[k].items[i] = rows[first + k].get(i);
        }
    }

    /// The rows of a warp, from element `first` of the tile on.
    __device__ __forceinline__ void load(Packed (&rows)[ROWS], u64 start, int first, int valid) {
        int lane = threadIdx.x % WARP, here = valid - first;
        const T* from = in + start + first;
        // Words that hold a run hold neighbours of it, too. We must not read those outside of the
        // array. In place, the block of the tile before this one may be overwriting its own; the
        // tile's other end is treated alike.
        bool in_place = in == out, shifted = Loader::shifts(from);
        const T* begin = in_place ? in + start : in;
        const T* end = in_place ? in + start + valid : in + length;
        // The first and the last whole run that can be moved in words.
        int runs = here < 0 ? 0 : here < CHUNK ? here / RUN : CHUNK / RUN;
        int low = shifted && Loader::reaches_before(from, begin) ? 1 : 0, high = runs - 1;
        if (shifted && runs > 0 && Loader::reaches_beyond(from + high * RUN, end)) high--;
        if (low <= high) Loader::load(rows, from, low, high, shifted);
        if (low == 0 && high == CHUNK / RUN - 1) return;
        // Any element will do to fill up with. An empty tile has one before it.
        u64 filler = valid > 0 ? start : start - 1;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            int run = row * WARP + lane;
            if (run < low || run > high) {
                T items[RUN];
#pragma unroll
                for (int i = 0; i < RUN; i++) items[i] = run * RUN + i < here ? from[run * RUN + i] : in[filler];
                rows[row].set(items);
            }
        }
    }

    /// Stores a row, which starts with element `first` of the tile. Leaves out what lies beyond the
    /// results.
    __device__ __forceinline__ void store(MovedRun<T, RUN>& run, T* tile, int first, int results, bool direct) {
        int lane = threadIdx.x % WARP, end = results - first < ROW ? results - first : ROW;
        if (direct && end == ROW) {
            Word16* to = reinterpret_cast<Word16*>(tile + first) + lane * (R::BYTES / 16);
#pragma unroll
            for (int i = 0; i < R::BYTES / 16; i++) to[i] = run.template words<16>()[i];
        } else if (end > 0) {
            using Wide = Word<R::WIDE>;
            constexpr int WORDS = R::BYTES / R::WIDE;
            unsigned char* row = block_shared<Shared>().rows[threadIdx.x / WARP];
            __syncwarp();
#pragma unroll
            for (int i = 0; i < WORDS; i++) reinterpret_cast<Wide*>(row)[lane * WORDS + i] = run.template words<R::WIDE>()[i];
            __syncwarp();
            copy(tile + first, row, end * (int)sizeof(T));
        }
    }

    /// Stores bytes of a row, by a warp, in words as wide as the target takes. If elements are
    /// shorter than 4 bytes, words have 4 bytes, except at the ends.
    static __device__ __forceinline__ void copy(T* target, const unsigned char* row, int bytes) {
        if constexpr (R::NARROW >= 4) {
            using Narrow = Word<R::NARROW>;
            const Narrow* from = reinterpret_cast<const Narrow*>(row);
            copy_words(reinterpret_cast<Narrow*>(target), bytes / R::NARROW, [=](int i) { return from[i]; });
        } else {
            unsigned char* to = reinterpret_cast<unsigned char*>(target);
            const u32* from = reinterpret_cast<const u32*>(row);
            int lane = threadIdx.x % WARP, head = (int)(-(u64)to % 4);
            if (head > bytes) head = bytes;
            int words = (bytes - head) / 4, end = head + 4 * words;
            int next = head > 0 ? 1 : 0;
            copy_words(reinterpret_cast<u32*>(to + head), words,
                       [=](int i) { return (u32)(((u64)from[i + next] << 32 | from[i]) >> 8 * head); });
            // At most three bytes at either end.
            int byte = lane < 4 ? lane : end + lane - 4;
            if (byte < (lane < 4 ? head : lane < 8 ? bytes : 0)) to[byte] = row[byte];
        }
    }

    /// Moves four words a lane at a time: all are read before the first is stored.
    template <class W, class Read>
    static __device__ __forceinline__ void copy_words(W* to, int count, Read read) {
#pragma unroll 1
        for (int i = threadIdx.x % WARP; i < count; i += 4 * WARP) {
            W words[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (i + k * WARP < count) words[k] = read(i + k * WARP);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (i + k * WARP < count) to[i + k * WARP] = words[k];
        }
    }
};

}  // namespace warpfold
