// The wave engine for prefixes: any length in one pass. A scan moves 2n of memory, and brackets as
// one tree over everything. What becomes of the prefixes is the sink's affair (scan.cuh,
// select.cuh).
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
//   emitters     make the sink's results of the tile, and store them straight from their registers
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
//   4. Only the last tile can be unfinished. It is filled up with one of its items. The results of
//      these lie behind the last one that counts, and nothing reads them.
//   5. With ANYWHERE, slices may start anywhere (unaligned.cuh). The plain kernel needs all of them
//      at multiples of 16 bytes.
//   6. With LEADS, tiles start at multiples of 16 bytes even so: the first one starts before the
//      slice. In place of what is not there the operator's identity is put, so it must be exact.
//      Only results are moved, and only if their slice starts elsewhere in its words.
//   7. With CARRIES, it scans whole waves of a stream, from a multiple of a wave on. The carry's
//      blocks are the first digits of the historians' counters. The one that sees the last tile,
//      which is empty, leaves its own.
//
// The barriers of a stage, each of which a phase of the stage's turn ends:
//
//   barrier      who arrives                                     who waits
//   taken        the loader, lane 0                              all other warps
//   loaded       the loader, all lanes; the copy engine          reducers
//   summed       each reducer's lanes that leave something       publisher, look-back, emitters
//   waved        the historian, all lanes                        look-back
//   prefixed     the look-back, all lanes                        emitters
//   free         each emitter and the publisher, lane 0          the loader, STAGES turns later
#pragma once
#include "block/blelloch.cuh"
#include "engines/sink.cuh"
#include "grid/carry.cuh"
#include "grid/look_back.cuh"
#include "source/source_stage.cuh"
#include "warp/row_store.cuh"

namespace warpfold {

/// Room for each of WARPS warps to hold COUNT values.
template <class T, int WARPS, int COUNT>
struct WarpRooms {
    T rooms[WARPS][COUNT];
    __device__ __forceinline__ T* of(int warp) { return rooms[warp]; }
};
template <class T, int WARPS>
struct WarpRooms<T, WARPS, 0> {
    __device__ __forceinline__ T* of(int) { return nullptr; }
};

/// What reducers leave for emitters: the sum of each row, or the flags of its items.
template <class A, int WARPS, int ROWS, int RUN, bool SUMS>
struct OfRows {
    A sums[WARPS * ROWS];
};
template <class A, int WARPS, int ROWS, int RUN>
struct OfRows<A, WARPS, ROWS, RUN, false> {
    u32 flags[WARPS][(ROWS * RUN + 31) / 32][WARP];
};

/// How many items are missing at the start of the first tile, and what stands for them.
template <class Item, bool LEADS>
struct Lead {
    int items;
    Item neutral;
};
template <class Item>
struct Lead<Item, false> {
    static constexpr int items = 0;
};

/// What comes before waves of a stream, and where what comes before their end goes.
template <class Operator, class A, bool CARRIES>
struct Carried {
    Carry<Operator, A> carry;
    typename Operand<A>::Type* left;

    __device__ __forceinline__ bool follows() const { return carry.position > 0; }
    /// The waves before; the carry's blocks of 2^log_wave items and more become the counter's
    /// digits, and what precedes them.
    __device__ __forceinline__ u32 begin(LaneCounter<Operator, A>& counter,
                                         Prefix<Operator, A>& start, int log_wave) const {
        int lane = threadIdx.x % WARP;
        counter.count = (u32)(carry.position >> log_wave);
        if ((counter.count >> lane & 1) != 0) counter.digit = carry.block(log_wave + lane);
        start = carry.above(log_wave + WARP, start);
        return counter.count;
    }
    __device__ __forceinline__ void leave(const LaneCounter<Operator, A>& counter,
                                          int log_wave) const {
        int lane = threadIdx.x % WARP, level = log_wave + lane;
        if ((counter.count >> lane & 1) != 0) left[level] = Operand<A>::of(counter.digit);
        level += WARP;
        if (level < 64 && (carry.position >> level & 1) != 0)
            left[level] = Operand<A>::of(carry.block(level));
    }
};
template <class Operator, class A>
struct Carried<Operator, A, false> {
    static __device__ __forceinline__ bool follows() { return false; }
};

template <AnySink Sink, class Source, class Policy>
struct WaveEngine {
    using Operator = typename Sink::Operator;
    using Item = typename Sink::Item;
    using A = typename Sink::A;
    using P = Prefix<Operator, A>;
    static constexpr int WARPS = Policy::WARPS, ROWS = Policy::ROWS, RUN = Policy::RUN,
                         REDUCERS = Policy::REDUCERS;
    static constexpr int STAGES = Policy::STAGES, LOADS = Policy::LOADS;
    static constexpr int BATCH = Policy::BATCH < ROWS ? Policy::BATCH : ROWS;
    static constexpr int WAVE = Policy::WAVE, PER_LANE = WAVE / WARP;
    static constexpr int ROW = WARP * RUN, CHUNK = ROWS * ROW, TILE = WARPS * CHUNK;
    static constexpr bool ANYWHERE = Policy::ANYWHERE, LEADS = Policy::LEADS,
                          CARRIES = Policy::CARRIES;
    static constexpr int THREADS = (WARPS + REDUCERS + 4) * WARP;
    using Stage = SourceStage<Source, RUN, TILE, ANYWHERE && !LEADS>;
    /// Whether results of several words a run are stored by way of the rows that they were made of.
    static constexpr bool STAGED =
        PrefixSink<Sink> && RUN * sizeof(Item) > 16 && Stage::ROOM >= (int)sizeof(Item);
    /// How many lanes of a reducer leave something for emitters: sums of rows, or flags.
    static constexpr int LEAVERS = PrefixSink<Sink> ? ROWS : WARP;
    static_assert(LOADS <= STAGES && ROWS <= WARP && WARPS % REDUCERS == 0);

    /// What a stage holds besides the tile.
    struct Notes {
        u64 tile;
        OfRows<A, WARPS, ROWS, RUN, PrefixSink<Sink>> rows;
        A warp_sums[WARPS];
        A wave_prefix, prefix;
        Mbarrier taken, loaded, summed, waved, prefixed, free;
    };
    using Beside = WarpRooms<u16, WARPS, Sink::BESIDE ? CHUNK : 0>;
    struct Shared : Beside {
        Stage tiles[STAGES];
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
        __device__ __forceinline__ Stage& items() { return shared.tiles[stage]; }
        /// The tile that the loader took.
        __device__ __forceinline__ u64 tile() {
            mbarrier_wait_by_warp(notes().taken, phase);
            return notes().tile;
        }
    };

    Source source;
    Sink sink;
    u64 length;
    Workspace workspace;
    Lead<Item, LEADS> lead{};
    Carried<Operator, A, CARRIES> carried{};

    /// Has the first tile start at a multiple of 16 bytes, at the slice or before it.
    __device__ __forceinline__ void lead_in(const Item& neutral) {
        lead = {offset_of(source.data) / (int)sizeof(Item), neutral};
        source.data -= lead.items;
        sink.out -= lead.items;
        length += lead.items;
    }

    __device__ __forceinline__ u64 tiles() const {
        return CARRIES ? length / TILE + 1 : sink.tiles(length, TILE);
    }
    /// Whether anything precedes the first tile.
    __device__ __forceinline__ bool follows() const { return sink.seeded || carried.follows(); }
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
                // In the first rounds all are free: the phase before the first counts as completed.
                mbarrier_wait(notes.free, turn.phase ^ 1);
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
                if (lane == 0 && workspace.header->end(tag))
                    workspace.header->reset(tag, workspace.key);
                return;
            }
            int elements = valid(tile);
            __syncwarp();  // the stage is free
            Stage& stage = turn.items();
            bool leads = LEADS && lead.items > 0 && tile == 0;
            if constexpr (LEADS)
                if (leads) stage.load_led(source, elements, lead.items, lead.neutral, notes.loaded);
            if (!leads) {
                stage.prepare(source, tile, elements);
                if (lane == 0) mbarrier_expect(notes.loaded, stage.fetched(source, tile, elements));
                stage.load(source, tile, elements, notes.loaded);
            }
            if (lane > 0) mbarrier_arrive(notes.loaded);
        }
    }

    // ---- the reducers and the publisher ----

    __device__ __forceinline__ void reduce(Turn turn, int warp) {
        int lane = threadIdx.x % WARP;
        u64 count = tiles();
        for (u64 tile; (tile = turn.tile()) < count; turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait_by_warp(notes.loaded, turn.phase);
            if (valid(tile) > 0) {
                if constexpr (PrefixSink<Sink>) {
#pragma unroll 1
                    for (int chunk = warp; chunk < WARPS; chunk += REDUCERS)
                        reduce_chunk(turn, tile, notes, chunk);
                } else {
                    reduce_flags(turn, tile, notes, warp);
                }
            }
            __syncwarp();
            // Each lane that has left something arrives itself. By now the rest of the warp has
            // read its part of the stage.
            if (lane < LEAVERS) mbarrier_arrive(notes.summed);
        }
    }

    __device__ __forceinline__ void reduce_chunk(Turn turn, u64 tile, Notes& notes, int chunk) {
        int lane = threadIdx.x % WARP;
        using Sum = RunSum<Operator, A, RUN>;
        typename Sum::Value row_sums[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            Item items[RUN];
            A values[RUN];
            turn.items().read(source, tile, (chunk * ROWS + row) * WARP + lane, items);
            sink.values(values, items);
            row_sums[row] = run_fold<Operator>(values);
        }
        RowsTree<typename Sum::Operator, typename Sum::Value, ROWS> tree;
        A sum = Sum::value(tree.up_sweep(row_sums));
        if (lane < ROWS) notes.rows.sums[chunk * ROWS + lane] = sum;
        sum = LaneTree<Operator, A, ROWS>().up_sweep(sum);
        if (lane == 0) notes.warp_sums[chunk] = sum;
    }

    /// The flags of all chunks of a reducer, and their sums, where those of rows are not needed.
    __device__ __forceinline__ void reduce_flags(Turn turn, u64 tile, Notes& notes, int warp) {
        using Folded = typename Sink::Folded;
        constexpr int CHUNKS = WARPS / REDUCERS;
        int lane = threadIdx.x % WARP;
        u32 sums[CHUNKS];
#pragma unroll
        for (int k = 0; k < CHUNKS; k++) {
            int chunk = warp + k * REDUCERS;
            typename Sink::template Flags<RUN, ROWS> flags;
            flags.clear();
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                Item items[RUN];
                turn.items().read(source, tile, (chunk * ROWS + row) * WARP + lane, items);
                flags.add(row, items);
            }
#pragma unroll
            for (int i = 0; i < flags.WORDS; i++) notes.rows.flags[chunk][i][lane] = flags.words[i];
            sums[k] = Folded::of_lane(flags);
        }
        LaneTrees<typename Folded::InChunk, u32, WARP, CHUNKS>().up_sweep(sums);
#pragma unroll
        for (int k = 0; k < CHUNKS; k++) {
            int chunk = warp + k * REDUCERS;
            u64 start = tile * TILE + chunk * CHUNK;
            if (lane == k) notes.warp_sums[chunk] = Folded::of_chunk(sums[k], start);
        }
    }

    __device__ __forceinline__ void publish(Turn turn, TileSums<A, PER_LANE> sums) {
        int lane = threadIdx.x % WARP;
        for (u64 tile; (tile = turn.tile()) < tiles(); turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait_by_warp(notes.summed, turn.phase);
            // No tile comes after an unfinished one, so nobody needs its sum.
            if (valid(tile) == TILE)
                sums.publish(
                    tile, LaneTree<Operator, A, WARPS>().up_sweep(notes.warp_sums[lane % WARPS]));
            __syncwarp();
            if (lane == 0)
                mbarrier_arrive(notes.free);  // it has read what the next tile will overwrite
        }
    }

    // ---- the historian ----

    __device__ __forceinline__ void remember(Turn turn, TileSums<A, PER_LANE> sums) {
        int lane = threadIdx.x % WARP;
        constexpr int LOG_WAVE = LOG2<WAVE * TILE>;
        P start = sink.before();
        LaneCounter<Operator, A> counter{start.value, 0};
        u32 before = 0;
        if constexpr (CARRIES) before = carried.begin(counter, start, LOG_WAVE);
        P prefix = counter.prefix(start);
        for (u64 tile; (tile = turn.tile()) < tiles(); turn.next()) {
            Notes& notes = turn.notes();
            while (counter.count - before < tile / WAVE) {
                u64 members[PER_LANE];
                A values[PER_LANE];
#pragma unroll
                for (int k = 0; k < PER_LANE; k++)
                    members[k] = (u64)(counter.count - before) * WAVE + lane * PER_LANE + k;
                sums.template wait<true>(members, values);
                counter.push(LaneTree<Operator, A, WARP>().up_sweep(tree_fold<Operator>(values)));
                prefix = counter.prefix(start);
            }
            if (lane == 0) notes.wave_prefix = prefix.value;
            mbarrier_arrive(notes.waved);
            if constexpr (CARRIES)
                if (tile + 1 == tiles()) carried.leave(counter, LOG_WAVE);
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
            mbarrier_wait_by_warp(notes.summed, turn.phase);
            if (place > 0) {
                // Lanes that cover this tile or later ones read the wave's first sum instead: it
                // will be there.
                u64 members[PER_LANE];
#pragma unroll
                for (int k = 0; k < PER_LANE; k++)
                    members[k] =
                        tile - place + (lane * PER_LANE + k < place ? lane * PER_LANE + k : 0);
                sums.template wait<true>(members, values);
                run_up_sweep<Operator, true>(values, PER_LANE);
                tree.up_sweep(values[PER_LANE - 1]);
            }
            mbarrier_wait_by_warp(notes.waved, turn.phase);
            // The lane to which the tile belongs knows all it needs.
            if (lane == place / PER_LANE) {
                P prefix{notes.wave_prefix, follows() || tile >= WAVE};
                if (place > 0) {
                    prefix = tree.down_sweep(prefix);
                    SumTree<Operator, A, PER_LANE>::append_members(prefix, values,
                                                                   place % PER_LANE);
                }
                notes.prefix = prefix.value;
            }
            mbarrier_arrive(notes.prefixed);
        }
    }

    // ---- the emitters ----

    /// Stores from registers.
    struct Store {
        /// How many items the room is for.
        static constexpr int ITEMS = CHUNK;

        /// Where the warp may write: over what it has read of its chunk. If slices are unaligned
        /// in their stage, not to the first word.
        unsigned char* room;
        /// Where it holds positions.
        u16* beside;
        /// How many of the first items are not there, and have no result.
        int lead = 0;

        __device__ __forceinline__ u16* positions(int) const { return beside; }

        /// Says that the room was used for the last time: the copy engine writes there next.
        __device__ __forceinline__ void release() const { fence_proxy_async(); }

        /// Stores rows from `target` on, except what comes `limit` items after it or later.
        template <class T, class Moved, int COUNT>
        __device__ __forceinline__ void rows(T* target, Moved (&rows)[COUNT], int limit) const {
            using R = Run<T, RUN>;
            bool whole = limit >= COUNT * ROW;
            int bytes = limit * (int)sizeof(T);
            using Unaligned = UnalignedRuns<T, RUN>;
            int begin = lead * (int)sizeof(T);
            if constexpr (ANYWHERE && alignof(T) < 16 && STAGED)
                Unaligned::store_staged(rows, target, room, begin, bytes, whole);
            else if constexpr (ANYWHERE && alignof(T) < 16)
                Unaligned::store(rows, target, begin, bytes, whole);
            else if constexpr (STAGED)
                store_staged<R::PART, R::BYTES>(target, rows, room, bytes, whole);
            else store_aligned<R::PART, R::BYTES>(target, rows, bytes, whole);
        }
    };

    /// For sinks that want the prefix of each row.
    __device__ __forceinline__ void emit(Turn turn, int warp) {
        int lane = threadIdx.x % WARP;
        u64 count = tiles();
        for (u64 tile; (tile = turn.tile()) < count; turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait_by_warp(notes.summed, turn.phase);
            emit_tile(turn, tile, warp, valid(tile));
            __syncwarp();
            if (lane == 0) mbarrier_arrive(notes.free);
        }
    }

    __device__ __forceinline__ void emit_tile(Turn turn, u64 tile, int warp, int elements) {
        int lane = threadIdx.x % WARP;
        Notes& notes = turn.notes();
        LaneTree<Operator, A, ROWS> rows;
        LaneTree<Operator, A, WARPS> warps;
        if (elements > 0) {
            rows.up_sweep(notes.rows.sums[warp * ROWS + lane % ROWS]);
            warps.up_sweep(notes.warp_sums[lane % WARPS]);
        }
        mbarrier_wait_by_warp(notes.prefixed, turn.phase);
        bool present = follows() || tile > 0;
        A prefix = notes.prefix;
        if (tile > 0 && warp == 0 && lane == 0) sink.begin_tile(tile * TILE, prefix);
        if (elements == 0) return;
        P of_warps = warps.down_sweep(P{prefix, present});
        P of_chunk{shuffle(of_warps.value, warp), present || warp > 0};
        A next = shuffle(of_warps.value, (warp + 1) % WARPS);
        P of_rows = rows.down_sweep(of_chunk);
        auto ends_of = [&](int first, P& before, A& after) {
            before = {shuffle(of_rows.value, first + lane % BATCH), of_chunk.present || first > 0};
            A of_next = shuffle(of_rows.value, (first + BATCH) % ROWS);
            after = choose(first + BATCH < ROWS, of_next, next);
        };
        emit_rows(turn, tile, warp, ends_of, sink.results(elements, elements == TILE));
    }

    /// Emits the rows of a warp. `ends_of` says what comes before the rows of a batch, for lane l
    /// before row l % BATCH, and before the next batch.
    template <class Ends>
    __device__ __forceinline__ void emit_rows(Turn turn, u64 tile, int warp, const Ends& ends_of,
                                              int results) {
        typename Sink::Chunk kept;
#pragma unroll 1
        for (int first = 0; first < ROWS; first += BATCH) {
            Store store = store_of(turn, warp, warp * CHUNK + (STAGED ? first * ROW : 0));
            if constexpr (LEADS) store.lead = tile == 0 && warp == 0 && first == 0 ? lead.items : 0;
            int index = (warp * ROWS + first) * WARP + threadIdx.x % WARP;
            Item items[BATCH][RUN];
#pragma unroll
            for (int k = 0; k < BATCH; k++)
                turn.items().read(source, tile, index + k * WARP, items[k]);
            P before;
            A after;
            ends_of(first, before, after);
            typename Sink::template Rows<RUN, BATCH> trees;
            trees.up_sweep(sink, items);
            sink.emit(kept, trees, items, before, after, tile * TILE, (warp * ROWS + first) * ROW,
                      results, store);
        }
        if constexpr (STAGED) fence_proxy_async();
    }

    /// For sinks that count: what comes before the tile decides only where its items go. They are
    /// packed while that is on its way.
    __device__ __forceinline__ void emit_packed(Turn turn, int warp) {
        using Folded = typename Sink::Folded;
        int lane = threadIdx.x % WARP;
        u64 count = tiles();
        for (u64 tile; (tile = turn.tile()) < count; turn.next()) {
            Notes& notes = turn.notes();
            mbarrier_wait_by_warp(notes.summed, turn.phase);
            Store store = store_of(turn, warp, warp * CHUNK);
            u64 begin = tile * TILE + warp * CHUNK;
            auto kept = sink.begin_chunk(begin, notes.warp_sums[warp]);
            A before = Folded::of_chunks(lane < warp ? notes.warp_sums[lane] : A{}, tile * TILE);
            pack_rows(notes, warp, kept, valid(tile), store);
            mbarrier_wait_by_warp(notes.prefixed, turn.phase);
            bool is_last = begin < length && begin + CHUNK >= length;
            sink.end_chunk(kept, Operator::combine(notes.prefix, before), store, is_last);
            __syncwarp();
            if (lane == 0) mbarrier_arrive(notes.free);
        }
    }

    /// Packs what the sink keeps of the rows of a warp. They lie where it is packed.
    template <class Kept>
    __device__ __forceinline__ void pack_rows(Notes& notes, int warp, Kept& kept, int elements,
                                              const Store& store) {
        using T = typename Sink::Stored;
        constexpr int BITS = BATCH * RUN;
        int lane = threadIdx.x % WARP;
#pragma unroll 1
        for (int first = 0; first < ROWS; first += BATCH) {
            T items[BATCH][RUN];
#pragma unroll
            for (int k = 0; k < BATCH; k++)
                read_staged_run(store.room, (first + k) * WARP + lane, items[k]);
            typename Sink::template Flags<RUN, BATCH> flags;
            const auto& words = notes.rows.flags[warp];
#pragma unroll
            for (int i = 0; i < flags.WORDS; i++)
                flags.words[i] = words[first * RUN / 32 + i][lane];
            if constexpr (BITS < 32) flags.words[0] >>= first * RUN % 32;
            sink.pack(kept, items, flags, (warp * ROWS + first) * ROW, elements, store);
        }
    }

    /// A warp's store, with its room in the stage from `item` on.
    static __device__ __forceinline__ Store store_of(Turn& turn, int warp, int item) {
        return {turn.items().room(item), turn.shared.of(warp)};
    }

    // ---- the block ----

    /// Prefetches the tiles that the block, or a neighbour, will take first, before the launch
    /// begins.
    __device__ __forceinline__ void prefetch() const {
        source.prefetch(length, (blockIdx.x + (u64)threadIdx.x * gridDim.x) * TILE, TILE,
                        threadIdx.x < LOADS);
    }

    __device__ __forceinline__ void run() {
        Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared());
        if (threadIdx.x == 0) {
            shared.tag = workspace.tag();
            for (int i = 0; i < STAGES; i++) {
                Notes& notes = shared.notes[i];
                mbarrier_init(notes.taken, 1);
                mbarrier_init(notes.loaded, WARP);
                mbarrier_init(notes.summed, REDUCERS * LEAVERS);
                mbarrier_init(notes.waved, WARP);
                mbarrier_init(notes.prefixed, WARP);
                mbarrier_init(notes.free, WARPS + 1);
            }
            fence_mbarrier_init();
        }
        if (threadIdx.x < STAGES) shared.tiles[threadIdx.x].begin(source);
        __syncthreads();
        int warp = warp_index();
        TileSums<A, PER_LANE> tile_sums{workspace.packets(), shared.tag};
        Turn turn{shared};
        if (warp < WARPS) {
            if constexpr (PrefixSink<Sink>) emit(turn, warp);
            else emit_packed(turn, warp);
        } else if (warp < WARPS + REDUCERS) reduce(turn, warp - WARPS);
        else if (warp == WARPS + REDUCERS) load(shared);
        else if (warp == WARPS + REDUCERS + 1) publish(turn, tile_sums);
        else if (warp == WARPS + REDUCERS + 2) remember(turn, tile_sums);
        else look_back(turn, tile_sums);
    }
};

}  // namespace warpfold
