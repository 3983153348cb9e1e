// Scan of any length in one pass: 2n of memory traffic, and the bracketing of one tree over everything.
//
// Tiles are handed out in order. Each block walks its tiles through a ring of stages in shared memory, in which
// every warp has one job, so that a tile is loaded, another summed, a third waits for what comes before it, a
// fourth is scanned and a fifth stored, all at the same time:
//
//   loader       takes the next tile, and has the copy engine bring it in
//   reducers     the sums of the tile's rows and warps
//   publisher    the tile's sum, to where all blocks see it
//   historian    the prefix of the tile's wave: of the last WAVE tiles and all before them
//   look-back    the prefix of the tile, from that and the sums of the wave's tiles before it
//   scanners     the scan of the tile, in place
//   storer       has the copy engine take it away
//
// No tile waits for another tile's prefix, as it would in the usual chain of single-pass scans (Duane Merrill, Michael
// Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVR-2016-002). Every block keeps the sums of
// all past waves itself, as a binary counter, whose digits are just the blocks of the tree that the law asks for.
// What a tile needs from others are sums, and those wait for nothing but memory.
//
//   1. A tile's number is the order in which it was taken, so the tiles before it are in the hands of blocks that
//      run, however many run at a time: nothing waits for a block that has not started.
//   2. A sum travels in words of 16 bytes, 8 of value and 8 of tag, each written and read at once: it needs no
//      flag, and no fence. The tag tells the launch, so nothing has to be cleared before one. The last block to end
//      counts the launch and resets what the others left.
//   3. An unfinished tile, which can only be the last, is filled up with one of its elements. What they are
//      combined to lies behind the last result, where nobody looks.
//   4. An inclusive result is the exclusive one of the next position. For the last of a tile that is the next
//      tile's prefix, so its block stores it; and after a last tile that is whole follows one without elements.
#pragma once
#include "blelloch.cuh"
#include "lanes.cuh"
#include "workspace.cuh"

namespace warpfold {

/// What the blocks tell each other of tiles.
template <class A>
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

    /// By a whole warp whose lanes all hold the sum.
    __device__ __forceinline__ void publish(u64 tile, const A& value) {
        Sum sum;
        sum.chunks[CHUNKS - 1] = 0;
        sum.value = value;
        int lane = threadIdx.x % WARP;
        Packet packet;
        packet.parts[1] = tag;
#pragma unroll
        for (int i = 0; i < CHUNKS; i++)
            if (lane == i) packet.parts[0] = sum.chunks[i];
        if (lane < CHUNKS) store_relaxed(&words[tile * CHUNKS + lane], packet.word);
    }

    /// The sums of COUNT tiles; waits until they are all there.
    template <int COUNT>
    __device__ __forceinline__ void wait(const u64 (&tiles)[COUNT], A (&values)[COUNT]) {
        Packet packets[COUNT][CHUNKS];
#pragma unroll
        for (int k = 0; k < COUNT; k++)
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) packets[k][i].word = load_relaxed(&words[tiles[k] * CHUNKS + i]);
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            Sum sum;
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) {
                while (packets[k][i].parts[1] != tag) packets[k][i].word = load_relaxed(&words[tiles[k] * CHUNKS + i]);
                sum.chunks[i] = packets[k][i].parts[0];
            }
            values[k] = sum.value;
        }
    }
};

template <class Operator, class T, class Policy>
struct WaveScanner {
    using A = AccumulatorOf<T>;
    static constexpr int WARPS = Policy::WARPS, ROWS = Policy::ROWS, RUN = Policy::RUN, STAGES = Policy::STAGES;
    static constexpr int BATCH = Policy::BATCH < ROWS ? Policy::BATCH : ROWS;
    static constexpr int WAVE = Policy::WAVE, PER_LANE = WAVE / WARP;
    static constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW, TILE = WARPS * CHUNK;
    static constexpr int TILE_BYTES = TILE * (int)sizeof(T);
    static constexpr int REDUCERS = Policy::REDUCERS, SCANNERS = WARPS;
    static constexpr int THREADS = (REDUCERS + SCANNERS + 5) * WARP;
    using R = Run<T, RUN>;
    using P = Prefix<Operator, A>;
    using Word16 = Word<16>;
    static_assert(R::BYTES % 16 == 0, "runs are moved in words of 16 bytes");

    /// What a stage holds besides the tile. Every lane of a warp arrives where the warp is done with something: what it wrote
    /// and what it read, which the next tile will overwrite.
    struct Notes {
        u64 tile;
        A row_sums[WARPS * ROWS], warp_sums[WARPS];
        A wave_prefix, prefix;
        Mbarrier taken, loaded, summed, waved, prefixed, scanned, stored;
    };
    struct Shared {
        unsigned char tiles[STAGES][TILE_BYTES];
        Notes notes[STAGES];
        A row_prefixes[WARPS][ROWS + 1];
        u64 launch;
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
        __device__ __forceinline__ R* runs() { return reinterpret_cast<R*>(shared.tiles[stage]); }
        /// The tile that the loader took.
        __device__ __forceinline__ u64 tile() {
            mbarrier_wait(notes().taken, phase);
            return notes().tile;
        }
    };

    const T* in;
    T* out;
    u64 length;
    WorkspaceHeader* header;
    A init;
    bool seeded, inclusive;

    __device__ __forceinline__ u64 tiles() const { return inclusive ? length / TILE + 1 : (length + TILE - 1) / TILE; }
    __device__ __forceinline__ int valid(u64 tile) const {
        u64 rest = length - tile * TILE;
        return rest < TILE ? (int)rest : TILE;
    }
    __device__ __forceinline__ TileSums<A> sums(u64 launch) const {
        return {reinterpret_cast<u64x2*>(header + 1), WorkspaceHeader::tag(launch)};
    }

    // ---- the jobs ----

    __device__ __forceinline__ void load(Turn turn) {
        int lane = threadIdx.x % WARP;
        u64 count = tiles(), ticket = 0;
        if (lane == 0) ticket = header->take();
        for (int round = 0;; round++, turn.next()) {
            u64 tile = shuffle(ticket, 0);
            Notes& notes = turn.notes();
            if (lane == 0) {
                if (round >= STAGES) mbarrier_wait(notes.stored, turn.phase ^ 1);
                notes.tile = tile;
                mbarrier_arrive(notes.taken);
            }
            if (tile >= count) {
                if (tile - count >= gridDim.x) trap("the start of the workspace was overwritten, or never zeroed");
                return;
            }
            int elements = valid(tile), bytes = elements * (int)sizeof(T) / 16 * 16;
            __syncwarp();  // the stage is free
            if (elements < TILE) fill(turn, tile, elements, bytes);
            if (lane == 0) {
                mbarrier_expect(notes.loaded, bytes);
                if (bytes > 0) bulk_load(turn.runs(), in + tile * TILE, bytes, notes.loaded);
                ticket = header->take();
            } else {
                mbarrier_arrive(notes.loaded);
            }
        }
    }

    /// The end of an unfinished tile, from the bytes on that the copy engine leaves.
    __device__ __noinline__ void fill(Turn turn, u64 tile, int elements, int bytes) {
        if (elements == 0) return;
        using Narrow = Word<R::NARROW>;
        constexpr int PER_ELEMENT = (int)sizeof(T) / R::NARROW;
        int lane = threadIdx.x % WARP;
        const Narrow* from = reinterpret_cast<const Narrow*>(in + tile * TILE);
        Narrow* to = reinterpret_cast<Narrow*>(turn.runs());
        int loaded = bytes / R::NARROW, there = elements * PER_ELEMENT, run_end = (elements + RUN - 1) / RUN * (R::BYTES / R::NARROW);
        for (int i = loaded + lane; i < run_end; i += WARP) to[i] = from[i < there ? i : i % PER_ELEMENT];
        R run;
#pragma unroll
        for (int i = 0; i < RUN; i++) run.items[i] = in[tile * TILE];
        for (int i = (elements + RUN - 1) / RUN + lane; i < TILE / RUN; i += WARP) write_run(turn, i, run);
        __syncwarp();
    }

    __device__ __forceinline__ R read_run(Turn turn, int index) {
        R run;
        const Word16* from = reinterpret_cast<const Word16*>(turn.runs()) + index * (R::BYTES / 16);
#pragma unroll
        for (int i = 0; i < R::BYTES / 16; i++) run.template words<16>()[i] = from[i];
        return run;
    }
    __device__ __forceinline__ void write_run(Turn turn, int index, R run) {
        Word16* to = reinterpret_cast<Word16*>(turn.runs()) + index * (R::BYTES / 16);
#pragma unroll
        for (int i = 0; i < R::BYTES / 16; i++) to[i] = run.template words<16>()[i];
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
            mbarrier_arrive(notes.summed);
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
        LaneTrees<Operator, A, WARP, ROWS>().up_sweep(row_sums);
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            if (lane == row) notes.row_sums[chunk * ROWS + row] = row_sums[row];
        A sum = tree_fold<Operator>(row_sums);
        if (lane == 0) notes.warp_sums[chunk] = sum;
    }

    __device__ __forceinline__ void publish(Turn turn, TileSums<A> sums) {
        int lane = threadIdx.x % WARP;
        for (u64 tile; (tile = turn.tile()) < tiles(); turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait(notes.summed, turn.phase);
            // Nobody comes after an unfinished tile.
            if (valid(tile) == TILE)
                sums.publish(tile, LaneTree<Operator, A, WARPS>().up_sweep(notes.warp_sums[lane % WARPS]));
            mbarrier_arrive(notes.scanned);  // it has read what the next tile will overwrite
        }
    }

    __device__ __forceinline__ void remember(Turn turn, TileSums<A> sums) {
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
                sums.wait(members, values);
                counter.push(LaneTree<Operator, A, WARP>().up_sweep(tree_fold<Operator>(values)));
                prefix = counter.prefix(start);
            }
            if (lane == 0) notes.wave_prefix = prefix.value;
            mbarrier_arrive(notes.waved);
        }
    }

    __device__ __forceinline__ void look_back(Turn turn, TileSums<A> sums) {
        int lane = threadIdx.x % WARP;
        for (u64 tile; (tile = turn.tile()) < tiles(); turn.next()) {
            Notes& notes = turn.notes();
            int place = (int)(tile % WAVE);
            LaneTree<Operator, A, WARP> tree;
            A values[PER_LANE];
            if (place > 0) {
                // A lane that covers tiles from this one on takes the wave's first instead: some sum that is there.
                u64 members[PER_LANE];
#pragma unroll
                for (int k = 0; k < PER_LANE; k++)
                    members[k] = tile - place + (lane * PER_LANE + k < place ? lane * PER_LANE + k : 0);
                sums.wait(members, values);
            }
            node_sums(values, place > 0);
            if (place > 0) tree.up_sweep(values[PER_LANE - 1]);
            mbarrier_wait(notes.waved, turn.phase);
            // The lane that the tile falls to knows all it needs.
            if (lane == place / PER_LANE) {
                P prefix{notes.wave_prefix, seeded || tile >= WAVE};
                if (place > 0) {
                    prefix = tree.down_sweep(prefix);
                    append_members(prefix, values, place % PER_LANE);
                }
                notes.prefix = prefix.value;
            }
            mbarrier_arrive(notes.prefixed);
        }
    }

    /// Leaves the sums of the subtrees over a lane's tiles in place.
    static __device__ __forceinline__ void node_sums(A (&values)[PER_LANE], bool there) {
        if (there) run_up_sweep<Operator, true>(values, PER_LANE);
    }

    /// Appends the first `count` of a lane's tiles, given the sums of their subtrees: its aligned blocks.
    static __device__ __forceinline__ void append_members(P& prefix, const A (&nodes)[PER_LANE], int count) {
#pragma unroll
        for (int half = PER_LANE / 2; half >= 1; half /= 2) {
            if ((count & half) != 0) {
                A block = nodes[half - 1];
#pragma unroll
                for (int i = half - 1; i < PER_LANE; i += 2 * half)
                    if (i == (count & -2 * half) + half - 1) block = nodes[i];
                prefix.append(block);
            }
        }
    }

    __device__ __forceinline__ void scan(Turn turn, int warp) {
        int lane = threadIdx.x % WARP;
        A (&row_prefixes)[ROWS + 1] = turn.shared.row_prefixes[warp];
        u64 count = tiles();
        for (u64 tile; (tile = turn.tile()) < count; turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait(notes.summed, turn.phase);
            mbarrier_wait(notes.prefixed, turn.phase);
            if (valid(tile) > 0) {
                bool present = seeded || tile > 0;
                find_row_prefixes(row_prefixes, notes, warp, present);
#pragma unroll 1
                for (int row = 0; row < ROWS; row += BATCH) scan_rows(turn, row_prefixes, present, warp, row);
                fence_proxy_async();
            }
            mbarrier_arrive(notes.scanned);
        }
    }

    /// The prefixes of the warp's rows, and of what follows them unless that is the next tile.
    __device__ __forceinline__ void find_row_prefixes(A (&row_prefixes)[ROWS + 1], Notes& notes, int warp, bool present) {
        int lane = threadIdx.x % WARP;
        LaneTree<Operator, A, WARPS> warps;
        LaneTree<Operator, A, ROWS> rows;
        P prefix{notes.prefix, present};
        warps.up_sweep(notes.warp_sums[lane % WARPS]);
        P of_warps = warps.down_sweep(prefix);
        P of_rows{shuffle(of_warps.value, warp), present || warp > 0};
        A next = shuffle(of_warps.value, (warp + 1) % WARPS);
        rows.up_sweep(notes.row_sums[warp * ROWS + lane % ROWS]);
        of_rows = rows.down_sweep(of_rows);
        __syncwarp();  // the last tile's are no longer read
        if (lane < ROWS) row_prefixes[lane] = of_rows.value;
        if (lane == ROWS % WARP) row_prefixes[ROWS] = next;
        __syncwarp();
    }

    /// Scans BATCH rows at once: each step of one leaves time for the others'.
    __device__ __forceinline__ void scan_rows(Turn turn, A (&row_prefixes)[ROWS + 1], bool present, int warp, int first) {
        int lane = threadIdx.x % WARP, index = (warp * ROWS + first) * WARP + lane;
        A node[BATCH][RUN], sums[BATCH];
        P prefixes[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            R run = read_run(turn, index + k * WARP);
#pragma unroll
            for (int i = 0; i < RUN; i++) node[k][i] = Fold<T>::widen(run.items[i]);
            run_up_sweep<Operator, true>(node[k], RUN);
            sums[k] = node[k][RUN - 1];
            prefixes[k] = {row_prefixes[first + k], present || warp > 0 || first + k > 0};
        }
        LaneTrees<Operator, A, WARP, BATCH> trees;
        trees.up_sweep(sums);
        trees.down_sweep(prefixes);
#pragma unroll
        for (int k = 0; k < BATCH; k++) run_down_sweep<Operator, true>(node[k], RUN, prefixes[k].value, prefixes[k].present);
        A after[BATCH];
        if (inclusive) {
#pragma unroll
            for (int k = 0; k < BATCH; k++) after[k] = shuffle(node[k][0], (lane + 1) % WARP);
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            R run;
            if (inclusive) {
                if (lane == WARP - 1) after[k] = row_prefixes[first + k + 1];
#pragma unroll
                for (int i = 0; i + 1 < RUN; i++) run.items[i] = Fold<T>::narrow(node[k][i + 1]);
                run.items[RUN - 1] = Fold<T>::narrow(after[k]);
            } else {
                if (!prefixes[k].present) node[k][0] = init;
#pragma unroll
                for (int i = 0; i < RUN; i++) run.items[i] = Fold<T>::narrow(node[k][i]);
            }
            write_run(turn, index + k * WARP, run);
        }
    }

    __device__ __forceinline__ void store(Turn turn) {
        int lane = threadIdx.x % WARP;
        for (u64 tile; (tile = turn.tile()) < tiles(); turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait(notes.scanned, turn.phase);
            T* target = out + tile * TILE;
            const T* source = reinterpret_cast<const T*>(turn.runs());
            int elements = valid(tile);
            // The last result of a whole tile is another block's if it is inclusive.
            if (elements == TILE && inclusive) elements--;
            int bytes = elements * (int)sizeof(T) / 16 * 16;
            if (lane == 0) {
                if (bytes > 0) bulk_store(target, source, bytes);
                bulk_commit();
                if (inclusive && tile > 0) target[-1] = Fold<T>::narrow(notes.prefix);
            }
            store_rest(target, source, bytes, elements);
            if (lane == 0) bulk_wait_read<0>();
            mbarrier_arrive(notes.stored);
        }
    }

    /// The elements that do not fill 16 bytes.
    __device__ __forceinline__ void store_rest(T* target, const T* source, int bytes, int elements) {
        using Narrow = Word<R::NARROW>;
        int end = elements * (int)sizeof(T) / R::NARROW;
        for (int i = bytes / R::NARROW + threadIdx.x % WARP; i < end; i += WARP)
            reinterpret_cast<Narrow*>(target)[i] = reinterpret_cast<const Narrow*>(source)[i];
    }

    // ---- the block ----

    __device__ __forceinline__ void run() {
        Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared());
        if (threadIdx.x == 0) {
            if (!header->is_sound()) trap("the workspace was not zeroed before its first use");
            shared.launch = header->launches;
            for (int i = 0; i < STAGES; i++) {
                Notes& notes = shared.notes[i];
                mbarrier_init(notes.taken, 1);
                mbarrier_init(notes.loaded, WARP);
                mbarrier_init(notes.summed, REDUCERS * WARP);
                mbarrier_init(notes.waved, WARP);
                mbarrier_init(notes.prefixed, WARP);
                mbarrier_init(notes.scanned, (SCANNERS + 1) * WARP);
                mbarrier_init(notes.stored, WARP);
            }
            fence_mbarrier_init();
        }
        __syncthreads();
        int warp = threadIdx.x / WARP;
        Turn turn{shared};
        TileSums<A> tile_sums = sums(shared.launch);
        if (warp < SCANNERS) scan(turn, warp);
        else if (warp < SCANNERS + REDUCERS) reduce(turn, warp - SCANNERS);
        else if (warp == SCANNERS + REDUCERS) load(turn);
        else if (warp == SCANNERS + REDUCERS + 1) publish(turn, tile_sums);
        else if (warp == SCANNERS + REDUCERS + 2) remember(turn, tile_sums);
        else if (warp == SCANNERS + REDUCERS + 3) look_back(turn, tile_sums);
        else store(turn);
        __syncthreads();
        if (threadIdx.x == 0 && WorkspaceHeader::is_last(header->arrive())) header->reset();
    }
};

}  // namespace warpfold
