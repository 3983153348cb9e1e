// The wave engine: a scan of any length in one pass. It moves 2n of memory, and brackets as one
// tree over everything.
//
// Tiles are handed out in order. Each block passes its tiles through a ring of stages in shared
// memory. Every warp has one job. So at one time one tile is loaded, another is summed, a third
// waits for what comes before it, and a fourth is scanned:
//
//   loader       takes the next tile, and has the copy engine fetch it
//   reducers     compute the sums of the tile's rows and warps
//   publisher    publishes the tile's sum for all blocks
//   historian    computes the prefix of the tile's wave: of all waves before it
//   look-back    computes the prefix of the tile: from that, and the sums of its wave before it
//   scanners     scan the tile, and store it straight from their registers
//
// A wave is WAVE tiles. No tile waits for another tile's prefix, as it would in the usual chain of
// single-pass scans (Duane Merrill, Michael Garland, "Single-pass Parallel Prefix Scan with
// Decoupled Look-back", NVR-2016-002). Every block keeps the sums of all past waves itself, in a
// binary counter. Its digits are the very blocks that the law asks for. From other blocks a tile
// needs only sums (look_back.cuh), and those wait for nothing but memory.
//
//   1. A tile's number is the order in which it was taken. So running blocks hold the tiles before
//      it, however many blocks run at a time, and nothing waits for a block that has not started.
//      That also keeps memory busy to the end: with every block's tiles fixed beforehand, even a
//      mere copy is 4% slower.
//   2. Separate warps make the sums as soon as a tile is there: other blocks wait for them.
//   3. The last block to find no tile left resets the workspace's header.
//   4. Only the last tile can be unfinished. It is filled up with one of its elements. What they
//      are combined to lies behind the last result, where nothing reads it.
//   5. An inclusive result is the exclusive one of the next position. For the last of a tile that
//      is the next tile's prefix, so the next tile's block stores it. If the last tile is whole,
//      one without elements follows it.
//   6. With ANYWHERE, input and output may start anywhere (displaced.cuh). The plain kernel needs
//      both at multiples of 16 bytes.
#pragma once
#include "block/blelloch.cuh"
#include "warp/displaced.cuh"
#include "grid/look_back.cuh"
#include "warp/row_scan.cuh"

namespace warpfold {

template <class Operator, class T, class Policy>
struct WaveScanner {
    using A = AccumulatorOf<T>;
    static constexpr int WARPS = Policy::WARPS, ROWS = Policy::ROWS, RUN = Policy::RUN, REDUCERS = Policy::REDUCERS;
    static constexpr int STAGES = Policy::STAGES, LOADS = Policy::LOADS;
    static constexpr int BATCH = Policy::BATCH < ROWS ? Policy::BATCH : ROWS;
    static constexpr int WAVE = Policy::WAVE, PER_LANE = WAVE / WARP;
    static constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW, TILE = WARPS * CHUNK;
    static constexpr int TILE_BYTES = TILE * (int)sizeof(T), STAGE_BYTES = TILE_BYTES + (Policy::ANYWHERE ? 16 : 0);
    static constexpr bool ANYWHERE = Policy::ANYWHERE && alignof(T) < 16;
    static constexpr int THREADS = (WARPS + REDUCERS + 4) * WARP;
    using R = Run<T, RUN>;
    using P = Prefix<Operator, A>;
    using Word16 = Word<16>;
    static_assert(R::BYTES % 16 == 0, "runs are moved in words of 16 bytes");
    static_assert(LOADS <= STAGES && ROWS <= WARP && WARPS % REDUCERS == 0);

    /// What a stage holds besides the tile.
    struct Notes {
        u64 tile;
        A row_sums[WARPS * ROWS], warp_sums[WARPS];
        A wave_prefix, prefix;
        Mbarrier taken, loaded, summed, waved, prefixed, free;
    };
    struct Shared {
        unsigned char tiles[STAGES][STAGE_BYTES];
        Notes notes[STAGES];
        u64 tag;
    };

    /// The stage whose turn it is, for one warp.
    struct Turn {
        Shared& shared;
        int stage = 0;
        u32 phase = 0;

        __device__ __forceinline__ void next() {
            stage++;
            if (stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        __device__ __forceinline__ Notes& notes() { return shared.notes[stage]; }
        __device__ __forceinline__ Word16* words() { return reinterpret_cast<Word16*>(shared.tiles[stage]); }
        /// The tile that the loader took.
        __device__ __forceinline__ u64 tile() {
            mbarrier_wait(notes().taken, phase);
            return notes().tile;
        }
    };

    const T* in;
    T* out;
    u64 length;
    Workspace workspace;
    A init;
    bool seeded, inclusive;

    __device__ __forceinline__ u64 tiles() const { return inclusive ? length / TILE + 1 : (length + TILE - 1) / TILE; }
    __device__ __forceinline__ int valid(u64 tile) const {
        u64 rest = length - tile * TILE;
        return rest < TILE ? (int)rest : TILE;
    }

    // ---- the loader ----

    __device__ __forceinline__ void load(Shared& shared) {
        int lane = threadIdx.x % WARP;
        u64 count = tiles(), tag = shared.tag;
        Turn turn{shared}, arriving{shared};
        for (int round = 0;; round++, turn.next()) {
            Notes& notes = turn.notes();
            u64 tile = count;
            if (lane == 0) {
                if (round >= STAGES) mbarrier_wait(notes.free, turn.phase ^ 1);
                if (round >= LOADS) {
                    // More copies at a time than memory needs would only slow each other down.
                    mbarrier_wait(arriving.notes().loaded, arriving.phase);
                    arriving.next();
                }
                tile = workspace.header->take(tag);
                notes.tile = tile;
                mbarrier_arrive(notes.taken);
            }
            tile = shuffle(tile, 0);
            if (tile >= count) {
                if (tile - count >= gridDim.x) trap("the start of the workspace was overwritten");
                // The block takes no more tickets. The last block to get here resets the header for
                // the next launch.
                if (lane == 0 && workspace.header->end(tag)) workspace.header->reset(tag, workspace.key);
                return;
            }
            int elements = valid(tile), bytes = elements * (int)sizeof(T) / 16 * 16;
            __syncwarp();  // the stage is free
            if constexpr (ANYWHERE) {
                load_anywhere(turn, tile, elements);
            } else {
                if (elements < TILE) fill(turn, tile, elements, bytes);
                if (lane == 0) {
                    mbarrier_expect(notes.loaded, bytes);
                    if (bytes > 0) bulk_load(turn.words(), in + tile * TILE, bytes, notes.loaded);
                } else {
                    mbarrier_arrive(notes.loaded);
                }
            }
        }
    }

    /// The copy engine fetches the words that belong to this tile alone. Other blocks may be
    /// writing to the rest of the first word and the last.
    __device__ __forceinline__ void load_anywhere(Turn turn, u64 tile, int elements) {
        using Runs = DisplacedRuns<T, RUN>;
        int lane = threadIdx.x % WARP, offset = offset_of(in), end = offset + elements * (int)sizeof(T);
        int first = offset > 0 ? 16 : 0, last = end / 16 * 16 > first ? end / 16 * 16 : first;
        const unsigned char* from = reinterpret_cast<const unsigned char*>(in + tile * TILE) - offset;
        unsigned char* to = turn.shared.tiles[turn.stage];
        Mbarrier& loaded = turn.notes().loaded;
        if (0 < elements && elements < TILE) Runs::fill(to, in + tile * TILE, offset, end, offset + TILE_BYTES);
        if (lane == 0) {
            mbarrier_expect(loaded, last - first);
            if (last > first) bulk_load(to + first, from + first, last - first, loaded);
        }
        Runs::load_ends(to, from, offset, first, last, end);
        if (lane > 0) mbarrier_arrive(loaded);
    }

    /// Fills the end of an unfinished tile, from the first byte that the copy engine leaves.
    __device__ __forceinline__ void fill(Turn turn, u64 tile, int elements, int bytes) {
        if (elements == 0) return;
        using Narrow = Word<R::NARROW>;
        constexpr int PER_ELEMENT = (int)sizeof(T) / R::NARROW;
        int lane = threadIdx.x % WARP;
        const Narrow* from = reinterpret_cast<const Narrow*>(in + tile * TILE);
        Narrow* to = reinterpret_cast<Narrow*>(turn.words());
        int loaded = bytes / R::NARROW, there = elements * PER_ELEMENT, run_end = (elements + RUN - 1) / RUN * (R::BYTES / R::NARROW);
#pragma unroll 1
        for (int i = loaded + lane; i < run_end; i += WARP) to[i] = from[i < there ? i : i % PER_ELEMENT];
        R run;
#pragma unroll
        for (int i = 0; i < RUN; i++) run.items[i] = in[tile * TILE];
#pragma unroll 1
        for (int i = (elements + RUN - 1) / RUN + lane; i < TILE / RUN; i += WARP) write_run(turn.words(), i, run);
    }

    // ---- the reducers and the publisher ----

    __device__ __forceinline__ R read_run(Turn turn, int index) {
        const Word16* from = turn.words() + index * (R::BYTES / 16);
        if constexpr (ANYWHERE) {
            return DisplacedRuns<T, RUN>::read(from, offset_of(in));
        } else {
            R run;
#pragma unroll
            for (int i = 0; i < R::BYTES / 16; i++) run.template words<16>()[i] = from[i];
            return run;
        }
    }

    __device__ __forceinline__ void reduce(Turn turn, int warp) {
        int lane = threadIdx.x % WARP;
        u64 count = tiles();
        for (u64 tile; (tile = turn.tile()) < count; turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait(notes.loaded, turn.phase);
            if (valid(tile) > 0) {
#pragma unroll 1
                for (int chunk = warp; chunk < WARPS; chunk += REDUCERS) reduce_chunk(turn, notes, chunk);
            }
            __syncwarp();
            // Each lane that has left a sum arrives itself. By now the rest of the warp has read
            // its part of the stage.
            if (lane < ROWS) mbarrier_arrive(notes.summed);
        }
    }

    __device__ __forceinline__ void reduce_chunk(Turn turn, Notes& notes, int chunk) {
        int lane = threadIdx.x % WARP;
        A row_sums[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            R run = read_run(turn, (chunk * ROWS + row) * WARP + lane);
            A values[RUN];
#pragma unroll
            for (int i = 0; i < RUN; i++) values[i] = Fold<T>::widen(run.items[i]);
            row_sums[row] = tree_fold<Operator>(values);
        }
        A sum = fold_rows<Operator>(row_sums);
        if (lane < ROWS) notes.row_sums[chunk * ROWS + lane] = sum;
        sum = LaneTree<Operator, A, ROWS>().up_sweep(sum);
        if (lane == 0) notes.warp_sums[chunk] = sum;
    }

    __device__ __forceinline__ void publish(Turn turn, TileSums<A, PER_LANE> sums) {
        int lane = threadIdx.x % WARP;
        for (u64 tile; (tile = turn.tile()) < tiles(); turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait(notes.summed, turn.phase);
            // No tile comes after an unfinished one, so nobody needs its sum.
            if (valid(tile) == TILE)
                sums.publish(tile, LaneTree<Operator, A, WARPS>().up_sweep(notes.warp_sums[lane % WARPS]));
            __syncwarp();
            if (lane == 0) mbarrier_arrive(notes.free);  // it has read what the next tile will overwrite
        }
    }

    // ---- the historian ----

    __device__ __forceinline__ void remember(Turn turn, TileSums<A, PER_LANE> sums) {
        int lane = threadIdx.x % WARP;
        LaneCounter<Operator, A> counter{init, 0};
        P start{init, seeded}, prefix = start;
        for (u64 tile; (tile = turn.tile()) < tiles(); turn.next()) {
            Notes& notes = turn.notes();
            while (counter.count < tile / WAVE) {
                u64 members[PER_LANE];
                A values[PER_LANE];
#pragma unroll
                for (int k = 0; k < PER_LANE; k++) members[k] = (u64)counter.count * WAVE + lane * PER_LANE + k;
                sums.template wait<true>(members, values);
                counter.push(LaneTree<Operator, A, WARP>().up_sweep(tree_fold<Operator>(values)));
                prefix = counter.prefix(start);
            }
            if (lane == 0) notes.wave_prefix = prefix.value;
            mbarrier_arrive(notes.waved);
        }
    }

    // ---- the look-back ----

    __device__ __forceinline__ void look_back(Turn turn, TileSums<A, PER_LANE> sums) {
        int lane = threadIdx.x % WARP;
        for (u64 tile; (tile = turn.tile()) < tiles(); turn.next()) {
            Notes& notes = turn.notes();
            int place = (int)(tile % WAVE);
            LaneTree<Operator, A, WARP> tree;
            A values[PER_LANE];
            // Wait for this tile's own sum first. Earlier reads would only delay the stores we wait
            // for.
            mbarrier_wait(notes.summed, turn.phase);
            if (place > 0) {
                // Lanes that cover this tile or later ones read the wave's first sum instead: it
                // will be there.
                u64 members[PER_LANE];
#pragma unroll
                for (int k = 0; k < PER_LANE; k++)
                    members[k] = tile - place + (lane * PER_LANE + k < place ? lane * PER_LANE + k : 0);
                sums.template wait<true>(members, values);
                run_up_sweep<Operator, true>(values, PER_LANE);
                tree.up_sweep(values[PER_LANE - 1]);
            }
            mbarrier_wait(notes.waved, turn.phase);
            // The lane to which the tile belongs knows all it needs.
            if (lane == place / PER_LANE) {
                P prefix{notes.wave_prefix, seeded || tile >= WAVE};
                if (place > 0) {
                    prefix = tree.down_sweep(prefix);
                    SumTree<Operator, A, PER_LANE>::append_members(prefix, values, place % PER_LANE);
                }
                notes.prefix = prefix.value;
            }
            mbarrier_arrive(notes.prefixed);
        }
    }

    // ---- the scanners ----

    __device__ __forceinline__ void scan(Turn turn, int warp) {
        int lane = threadIdx.x % WARP;
        bool aligned = is_aligned(out, 16);
        u64 count = tiles();
        for (u64 tile; (tile = turn.tile()) < count; turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait(notes.summed, turn.phase);
            int elements = valid(tile);
            LaneTree<Operator, A, ROWS> rows;
            LaneTree<Operator, A, WARPS> warps;
            if (elements > 0) {
                rows.up_sweep(notes.row_sums[warp * ROWS + lane % ROWS]);
                warps.up_sweep(notes.warp_sums[lane % WARPS]);
            }
            mbarrier_wait(notes.prefixed, turn.phase);
            bool present = seeded || tile > 0;
            A prefix = notes.prefix;
            T* target = out + tile * TILE;
            // The last inclusive result of a whole tile is the next tile's prefix.
            if (inclusive && tile > 0 && warp == 0 && lane == 0) target[-1] = Fold<T>::narrow(prefix);
            if (elements > 0) {
                int results = inclusive && elements == TILE ? TILE - 1 : elements;
                P of_warps = warps.down_sweep(P{prefix, present});
                P of_rows = rows.down_sweep(P{shuffle(of_warps.value, warp), present || warp > 0});
                A next = shuffle(of_warps.value, (warp + 1) % WARPS);
#pragma unroll 1
                for (int row = 0; row < ROWS; row += BATCH) {
                    bool direct = (ANYWHERE || aligned) && (warp * ROWS + row + BATCH) * ROW <= results;
                    scan_batch(turn, of_rows.value, next, present, warp, row, target, results, direct);
                }
            }
            __syncwarp();
            if (lane == 0) mbarrier_arrive(notes.free);
        }
    }

    /// Scans BATCH rows. `direct` says that all results belong to the target, and, unless ANYWHERE,
    /// that it takes words of 16 bytes.
    __device__ __forceinline__ void scan_batch(Turn turn, const A& of_rows, const A& next, bool present, int warp, int first, T* target,
                                               int results, bool direct) {
        int index = (warp * ROWS + first) * WARP + threadIdx.x % WARP;
        R rows[BATCH];
        P starts[BATCH];
        A ends[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            rows[k] = read_run(turn, index + k * WARP);
            starts[k] = {shuffle(of_rows, first + k), present || warp > 0 || first + k > 0};
            A of_next = shuffle(of_rows, (first + k + 1) % ROWS);
            ends[k] = choose(first + k + 1 < ROWS, of_next, next);
        }
        A sums[BATCH];
        RowTrees<Operator, T, RUN, BATCH> trees;
        trees.up_sweep(rows, sums);
        MovedRun<T, RUN> scanned[BATCH];
        trees.down_sweep(scanned, starts, ends, init, inclusive);
        if constexpr (ANYWHERE) {
            int before = (warp * ROWS + first) * ROW;
            DisplacedRuns<T, RUN>::store(scanned, target + before, (results - before) * (int)sizeof(T), direct);
        } else {
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                if (direct) write_run(reinterpret_cast<Word16*>(target), index + k * WARP, scanned[k]);
                else write_run(turn.words(), index + k * WARP, scanned[k]);
            }
            if (!direct) store_rows(target, turn.words(), (warp * ROWS + first) * ROW, results);
        }
    }

    template <class Moved>
    static __device__ __forceinline__ void write_run(Word16* to, int index, Moved& run) {
#pragma unroll
        for (int i = 0; i < R::BYTES / 16; i++) to[index * (R::BYTES / 16) + i] = run.template words<16>()[i];
    }

    /// Stores BATCH rows, from element `first` on, that were left in shared memory. Leaves out what
    /// lies beyond the results.
    static __device__ __noinline__ void store_rows(T* target, const Word16* rows, int first, int results) {
        using Narrow = Word<R::NARROW>;
        constexpr int PER_ELEMENT = (int)sizeof(T) / R::NARROW;
        int end = first + BATCH * ROW < results ? first + BATCH * ROW : results;
        __syncwarp();
#pragma unroll 1
        for (int i = first * PER_ELEMENT + threadIdx.x % WARP; i < end * PER_ELEMENT; i += WARP)
            reinterpret_cast<Narrow*>(target)[i] = reinterpret_cast<const Narrow*>(rows)[i];
        fence_proxy_async();  // the copy engine writes here next
    }

    // ---- the block ----

    /// Prefetches the tiles that the block, or a neighbour, will take first. Before the launch has
    /// begun.
    __device__ __forceinline__ void prefetch() const {
        warpfold::prefetch(in, length, (blockIdx.x + (u64)threadIdx.x * gridDim.x) * TILE, TILE, threadIdx.x < LOADS);
    }

    __device__ __forceinline__ void run() {
        Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared());
        if (threadIdx.x == 0) {
            shared.tag = workspace.tag();
            for (int i = 0; i < STAGES; i++) {
                Notes& notes = shared.notes[i];
                mbarrier_init(notes.taken, 1);
                mbarrier_init(notes.loaded, WARP);
                mbarrier_init(notes.summed, REDUCERS * ROWS);
                mbarrier_init(notes.waved, WARP);
                mbarrier_init(notes.prefixed, WARP);
                mbarrier_init(notes.free, WARPS + 1);
            }
            fence_mbarrier_init();
        }
        if constexpr (ANYWHERE) {
            // Reads whole words, even if a tile begins or ends within one.
            if (threadIdx.x < STAGES && offset_of(in) > 0) {
                Word16* words = reinterpret_cast<Word16*>(shared.tiles[threadIdx.x]);
                words[0] = words[TILE_BYTES / 16] = Word16{};
            }
        }
        __syncthreads();
        int warp = threadIdx.x / WARP;
        TileSums<A, PER_LANE> tile_sums{workspace.packets(), shared.tag};
        Turn turn{shared};
        if (warp < WARPS) scan(turn, warp);
        else if (warp < WARPS + REDUCERS) reduce(turn, warp - WARPS);
        else if (warp == WARPS + REDUCERS) load(shared);
        else if (warp == WARPS + REDUCERS + 1) publish(turn, tile_sums);
        else if (warp == WARPS + REDUCERS + 2) remember(turn, tile_sums);
        else look_back(turn, tile_sums);
    }
};

}  // namespace warpfold
