// Kernels that use every function of the layer in kernels/machine/device.cuh, and keep its rules. They run
// in the emulator and on a GPU, and must give the same.
#include "machine/words.cuh"
using namespace warpfold;

constexpr int STAGES = 3, STAGE_ITEMS = 128;

/// The ring of a pipeline: a loader fills stages, a warp works on them in place, a storer empties
/// them.
struct Ring {
    alignas(16) u32 items[STAGES][STAGE_ITEMS];
    Mbarrier full[STAGES], done[STAGES], empty[STAGES];
};

/// out = in + 1, by bulk copies; `length` in stages. One block of three warps, dynamic shared
/// memory.
extern "C" __global__ void pipeline(const u32* in, u32* out, u32 length) {
    prefetch(in, (u64)length * STAGE_ITEMS, 0, STAGE_ITEMS, threadIdx.x == 0);
    begin_launch();
    Ring& ring = *reinterpret_cast<Ring*>(dynamic_shared());
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(ring.full[i], 1);
            mbarrier_init(ring.done[i], WARP);
            mbarrier_init(ring.empty[i], 1);
        }
        fence_mbarrier_init();
    }
    __syncthreads();
    for (u32 i = 0; i < length; i++) {
        u32 stage = i % STAGES, phase = i / STAGES & 1;
        u32* items = ring.items[stage];
        if (warp == 0 && lane == 0) {
            if (i >= STAGES) mbarrier_wait(ring.empty[stage], phase ^ 1);
            mbarrier_expect(ring.full[stage], sizeof ring.items[0]);
            bulk_load(items, in + i * STAGE_ITEMS, sizeof ring.items[0], ring.full[stage]);
        } else if (warp == 1) {
            mbarrier_wait_by_warp(ring.full[stage], phase);
            for (u32 k = lane; k < STAGE_ITEMS; k += WARP) items[k]++;
            fence_proxy_async();
            mbarrier_arrive(ring.done[stage]);
        } else if (warp == 2 && lane == 0) {
            mbarrier_wait(ring.done[stage], phase);
            bulk_store(out + i * STAGE_ITEMS, items, sizeof ring.items[0]);
            bulk_commit();
            if (i > 0) {
                bulk_wait_read<1>();
                mbarrier_arrive(ring.empty[(i - 1) % STAGES]);
            }
        }
    }
    if (threadIdx.x == 2 * WARP) bulk_wait<0>();
}

/// Inclusive sums of one number a block. A block takes the next ticket and waits for the one before
/// it, whose sum comes with a flag: in plain memory that the flag's release orders, or as one word
/// of 8 or of 16 bytes.
struct Chain {
    u32 tickets;
    u32 flags[32], sums[32];
    u64 pairs[32];
    alignas(16) u64x2 words[32];
};

extern "C" __global__ void chained_sums(const u32* in, u32* out, Chain* chain) {
    begin_launch();
    auto& ticket = block_shared<u32>();
    if (threadIdx.x == 0) ticket = atomicAdd(&chain->tickets, 1u);
    __syncthreads();
    u32 t = ticket, sum = in[t];
    if (threadIdx.x == 0) {
        if (t > 0) {
            while (load_acquire(&chain->flags[t - 1]) == 0) {}
            sum += chain->sums[t - 1];
        }
        chain->sums[t] = sum;
        store_release(&chain->flags[t], 1u);
        out[t] = sum;
    } else if (threadIdx.x == 32) {
        u64 before = 0;
        if (t > 0)
            while ((before = load_relaxed(&chain->pairs[t - 1])) >> 32 == 0) {}
        store_relaxed(&chain->pairs[t], (u64)1 << 32 | (u32)(sum + before));
        out[gridDim.x + t] = (u32)(sum + before);
    } else if (threadIdx.x == 64) {
        union Word {
            u64x2 word;
            u64 parts[2];
        } before, mine;
        before.parts[0] = 0;
        if (t > 0)
            do before.word = load_relaxed(&chain->words[t - 1]);
            while (before.parts[1] == 0);
        mine.parts[0] = sum + before.parts[0];
        mine.parts[1] = 1;
        store_relaxed(&chain->words[t], mine.word);
        out[2 * gridDim.x + t] = (u32)mine.parts[0];
    }
}

/// The sum of one number a block: the block that comes last adds up what the others left.
extern "C" __global__ void last_block_sums(const u32* in, u32* out, u32* parts, u32* arrived) {
    begin_launch();
    auto& is_last = block_shared<bool>();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 2 * in[blockIdx.x];
        __threadfence();
        is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last || threadIdx.x >= 32) return;
    u32 sum = 0;
    for (u32 i = threadIdx.x; i < gridDim.x; i += 32) sum += parts[i];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(ALL_LANES, sum, distance);
    if (threadIdx.x == 0) *out = sum;
}

/// What lanes tell each other. One warp; eight results a lane.
extern "C" __global__ void exchanges(const u32* in, u32* out) {
    begin_launch();
    u32 lane = threadIdx.x, value = in[lane], *mine = out + 10 * lane;
    mine[0] = __shfl_sync(ALL_LANES, value, (lane * 7) % 32);
    mine[1] = __shfl_up_sync(ALL_LANES, value, 3);
    mine[2] = __shfl_down_sync(ALL_LANES, value, 5, 16);
    mine[3] = __shfl_xor_sync(ALL_LANES, value, 9);
    mine[4] = __ballot_sync(ALL_LANES, value % 3 == 0);
    mine[5] = (u32)__all_sync(ALL_LANES, value < 1000) * 2 + (u32)__any_sync(ALL_LANES, value == 13);
    mine[6] = __match_any_sync(ALL_LANES, value % 5);
    u32 half = lane < 12 ? 0x00000fffu : 0xfffff000u;  // two groups, each on its own
    mine[7] = __ballot_sync(half, value & 1);
    mine[8] = __float_as_uint(__shfl_xor_sync(ALL_LANES, __uint_as_float(value << 20), 1));
    mine[9] = shuffle_xor((u64)value << 30, 2) >> 30;
}

/// Threads claim slots of a table in shared memory. Those of one slot claim the same for it.
extern "C" __global__ void claimed_slots(const u32* in, u32* out) {
    begin_launch();
    struct Slots {
        u32 at[8];
    };
    auto& slots = block_shared<Slots>();
    u32 i = threadIdx.x;
    if (i < 8) slots.at[i] = 0;
    __syncthreads();
    u32 slot = in_register(in[i] % 7), found = load_relaxed_shared(&slots.at[slot]);
    if (found == 0) {
        found = atomicCAS(&slots.at[slot], 0u, slot + 1);
        if (found == 0) found = load_relaxed_shared(&slots.at[slot]);
    }
    out[i] = found;
}

template <int BYTES, bool SIGNED>
__device__ void put_parts(u32*& to, u32 word) {
    for (int place = 0; place < 4 / BYTES; place++) {
        *to++ = (u32)permuted_part<BYTES, SIGNED>(word, place);
        *to++ = (u32)multiplied_part<BYTES, SIGNED>(word, place);
    }
}

/// Numbers are taken out of words, and bytes are put into one, whatever is above them.
extern "C" __global__ void parts_of_words(const u32* in, u32* out) {
    begin_launch();
    u32 word = in[threadIdx.x] * 0x9e3779b9u, *mine = out + 25 * threadIdx.x;
    put_parts<1, false>(mine, word);
    put_parts<1, true>(mine, word);
    put_parts<2, false>(mine, word);
    put_parts<2, true>(mine, word);
    *mine = pack_bytes((i32)word, (i32)(word >> 3), (i32)(word >> 5), (i32)(word >> 7));
}
