// Kernels that break one rule each. Beside each stands what is right, so that what is found is the
// fault and not the kernel.
#include "machine/words.cuh"
using namespace warpfold;

constexpr u32 N = 64;

struct Values {
    u32 at[N];
};

enum Barrier { NONE, WARPS, BLOCK };

template <Barrier BARRIER>
__device__ void rotate(const u32* in, u32* out, u32 group) {
    begin_launch();
    auto& values = block_shared<Values>();
    u32 i = threadIdx.x, next = i / group * group + (i + 1) % group;
    values.at[i] = in[i];
    if (BARRIER == WARPS) __syncwarp();
    if (BARRIER == BLOCK) __syncthreads();
    out[i] = values.at[next];
}
__global__ void rotate_block(const u32* in, u32* out) { rotate<BLOCK>(in, out, N); }
__global__ void rotate_warps(const u32* in, u32* out) { rotate<WARPS>(in, out, 32); }
__global__ void lacks_syncthreads(const u32* in, u32* out) { rotate<WARPS>(in, out, N); }
__global__ void lacks_syncwarp(const u32* in, u32* out) { rotate<NONE>(in, out, 32); }

/// Each round reads what the last one wrote; the barrier before the write is the one that is easily
/// forgotten.
template <bool BEFORE_WRITING>
__device__ void rotate_often(const u32* in, u32* out) {
    begin_launch();
    auto& values = block_shared<Values>();
    u32 i = threadIdx.x;
    values.at[i] = in[i];
    for (int round = 0; round < 3; round++) {
        __syncthreads();
        u32 next = values.at[(i + 1) % N];
        if (BEFORE_WRITING) __syncthreads();
        values.at[i] = next;
    }
    out[i] = values.at[i];
}
__global__ void reads_before_writing(const u32* in, u32* out) { rotate_often<true>(in, out); }
__global__ void writes_too_early(const u32* in, u32* out) { rotate_often<false>(in, out); }

/// A shuffle orders no memory.
__global__ void trusts_a_shuffle(const u32* in, u32* out) {
    begin_launch();
    auto& values = block_shared<Values>();
    u32 i = threadIdx.x;
    values.at[i] = in[i];
    out[i] = values.at[i ^ 1] + 0 * __shfl_xor_sync(ALL_LANES, in[i], 1);
}

/// As one access of many bytes.
template <Barrier BARRIER>
__device__ void copy_at_once(const u32* in, u32* out) {
    begin_launch();
    auto& values = block_shared<Values>();
    u32 i = threadIdx.x;
    if (i < 8) memcpy(values.at + 8 * i, in + 8 * i, 32);
    if (BARRIER == BLOCK) __syncthreads();
    out[i] = values.at[N - 1 - i];
}
__global__ void copies_at_once(const u32* in, u32* out) { copy_at_once<BLOCK>(in, out); }
__global__ void reads_what_is_copied(const u32* in, u32* out) { copy_at_once<NONE>(in, out); }

// ---- atomic accesses, which race with others only ----

enum Mix { ATOMIC_ONLY, WRITES_BEFORE, READS_BEFORE, WRITES_AFTER };

/// Two threads access a word atomically; one of them also plainly, and nobody sees that between the
/// two.
template <Mix MIX>
__device__ void mix(u32* out) {
    begin_launch();
    u32 i = threadIdx.x, seen = 0;
    if (i == 0) *out = 0;
    __syncthreads();
    if (i == 0) {
        if (MIX == WRITES_BEFORE) *out = 7;
        if (MIX == READS_BEFORE) seen = *out;
        if (MIX == READS_BEFORE) seen += load_relaxed(out);
        else atomicAdd(out, 1u);
        if (MIX == WRITES_AFTER) *out = 7;
    }
    if (i == 32 && MIX != WRITES_AFTER) atomicAdd(out, 1u);
    if (i == 32 && MIX == WRITES_AFTER) seen = load_relaxed(out);
    __syncthreads();
    out[i] = i + (seen >> 31);
}
__global__ void updates_only(const u32*, u32* out) { mix<ATOMIC_ONLY>(out); }
__global__ void writes_before_updating(const u32*, u32* out) { mix<WRITES_BEFORE>(out); }
__global__ void reads_before_loading(const u32*, u32* out) { mix<READS_BEFORE>(out); }
__global__ void writes_after_updating(const u32*, u32* out) { mix<WRITES_AFTER>(out); }

__global__ void matches_floats(const u32*, u32* out) {
    begin_launch();
    out[threadIdx.x] = __match_any_sync(ALL_LANES, (f32)(threadIdx.x % 2) / 4);
}

enum Packets { WHOLE, HALVES, HALVES_AND_RELEASE };

union Packet {
    u64x2 word;
    u64 parts[2];  // value, tag
};

template <Packets PACKETS>
__device__ void publish(u64x2* to, u64 value, u32* flag) {
    Packet packet;
    packet.parts[0] = value;
    packet.parts[1] = 1;
    if (PACKETS == WHOLE) {
        store_relaxed(to, packet.word);
    } else {
        u64* halves = reinterpret_cast<u64*>(to);
        store_relaxed(&halves[0], packet.parts[0]);
        store_relaxed(&halves[1], packet.parts[1]);
    }
    if (PACKETS == HALVES_AND_RELEASE) store_release(flag, 1u);
}

/// Sums travel from block to block, as words of 16 bytes that are written at once, or are not.
template <Packets PACKETS>
__device__ void chain_of_packets(const u32* in, u32* out, u32* work) {
    begin_launch();
    if (threadIdx.x != 0) return;
    u32 block = blockIdx.x, *flags = work + 4 * N;
    u64x2* packets = reinterpret_cast<u64x2*>(work);
    Packet before;
    before.parts[0] = 0;
    if (block > 0) {
        if (PACKETS == HALVES_AND_RELEASE)
            while (load_acquire(&flags[block - 1]) == 0) {
            }
        do before.word = load_relaxed(&packets[block - 1]);
        while (before.parts[1] == 0);
    }
    u64 sum = before.parts[0] + in[block];
    publish<PACKETS>(&packets[block], sum, &flags[block]);
    out[block] = (u32)sum;
}
__global__ void publishes_whole_words(const u32* in, u32* out, u32* work) {
    chain_of_packets<WHOLE>(in, out, work);
}
__global__ void publishes_halves(const u32* in, u32* out, u32* work) {
    chain_of_packets<HALVES>(in, out, work);
}
__global__ void releases_halves(const u32* in, u32* out, u32* work) {
    chain_of_packets<HALVES_AND_RELEASE>(in, out, work);
}

/// Block 0 replaces a word of 16 bytes when all others have told it that they have read it. What it
/// writes depends on that, which is enough for one word, but does not order others.
template <Packets PACKETS>
__device__ void replace_header(const u32* in, u32* out, u32* work) {
    begin_launch();
    if (threadIdx.x != 0) return;
    u32 block = blockIdx.x, *flags = work + 4;
    u64x2* header = reinterpret_cast<u64x2*>(work);
    if (block > 0) {
        Packet packet;
        packet.word = load_relaxed(header);
        if (PACKETS == HALVES_AND_RELEASE) store_release(&flags[block], 1 + (u32)packet.parts[0]);
        else store_relaxed(&flags[block], 1 + (u32)packet.parts[0]);
    } else {
        for (u32 i = 1; i < gridDim.x; i++) {
            if (PACKETS == HALVES_AND_RELEASE)
                while (load_acquire(&flags[i]) != 1) {
                }
            else
                while (load_relaxed(&flags[i]) != 1) {
                }
        }
        publish<PACKETS>(header, 7, &flags[0]);
    }
    out[block] = in[block];
}
__global__ void replaces_whole_header(const u32* in, u32* out, u32* work) {
    replace_header<WHOLE>(in, out, work);
}
__global__ void replaces_header_by_halves(const u32* in, u32* out, u32* work) {
    replace_header<HALVES>(in, out, work);
}
__global__ void replaces_header_in_order(const u32* in, u32* out, u32* work) {
    replace_header<HALVES_AND_RELEASE>(in, out, work);
}

// ---- bounds, and what nothing wrote ----

__global__ void reads_after(const u32* in, u32* out) {
    begin_launch();
    out[threadIdx.x] = in[threadIdx.x + 1];
}
__global__ void writes_after(const u32* in, u32* out) {
    begin_launch();
    out[threadIdx.x + 1] = in[threadIdx.x];
}
__global__ void writes_before(const u32* in, u32* out) {
    begin_launch();
    out[(int)threadIdx.x - 1] = in[threadIdx.x];
}
__global__ void writes_after_shared(const u32* in, u32* out) {
    begin_launch();
    u32* values = block_shared<Values>().at;
    values[threadIdx.x + 1] = in[threadIdx.x];
    out[threadIdx.x] = values[threadIdx.x + 1];
}
__global__ void reads_before_shared(const u32*, u32* out) {
    begin_launch();
    u32* values = block_shared<Values>().at;
    values[threadIdx.x] = 0;
    __syncthreads();
    out[threadIdx.x] = values[(int)threadIdx.x - 1];
}
__global__ void leaves_a_local_array(const u32* in, u32* out) {
    begin_launch();
    u32 values[4] = {in[0], in[1], in[2], in[3]};
    out[threadIdx.x] = values[threadIdx.x / 8];
}
struct Row {
    u32 of[4];
};
__global__ void leaves_the_array_of_a_struct(const u32* in, u32* out) {
    begin_launch();
    Row row{{in[0], in[1], in[2], in[3]}};
    out[threadIdx.x] = row.of[threadIdx.x / 8];
}
__global__ void reads_unwritten_shared(const u32*, u32* out) {
    begin_launch();
    out[threadIdx.x] = block_shared<Values>().at[threadIdx.x];
}
__global__ void reads_unwritten_global(const u32*, u32* out) {
    begin_launch();
    out[threadIdx.x] = out[threadIdx.x] + 1;
}
__global__ void leaves_output_unwritten(const u32* in, u32* out) {
    begin_launch();
    if (threadIdx.x != 5) out[threadIdx.x] = in[threadIdx.x];
}
__global__ void clears_too_much(const u32*, u32* out) {
    begin_launch();
    if (threadIdx.x == 0) memset(out, 0, (N + 1) * sizeof(u32));
}
__global__ void misaligned(const u32* in, u32* out) {
    begin_launch();
    out[threadIdx.x] = *(const u32*)((const char*)(in + threadIdx.x / 2) + 1);
}
__global__ void overflows(const u32* in, u32* out) {
    begin_launch();
    out[threadIdx.x] = (u32)((int)in[threadIdx.x] + 0x7fffffff);
}
__global__ void asks_too_much_shared(const u32*, u32* out) {
    begin_launch();
    struct Much {
        u32 at[13000];
    };
    auto& much = block_shared<Much>();
    much.at[threadIdx.x] = 0;
    out[threadIdx.x] = 0;
}

// ---- divergence ----

__global__ void some_wait(const u32*, u32* out) {
    begin_launch();
    if (threadIdx.x % 2) __syncthreads();
    out[threadIdx.x] = 0;
}
__global__ void wait_at_two_places(const u32*, u32* out) {
    begin_launch();
    if (threadIdx.x % 2) __syncthreads();
    else __syncthreads();
    out[threadIdx.x] = 0;
}
__global__ void lanes_part(const u32*, u32* out) {
    begin_launch();
    if (threadIdx.x % 2) __syncwarp();
    else out[threadIdx.x] = __shfl_xor_sync(ALL_LANES, 0u, 1);
}
__global__ void shuffles_with_returned(const u32*, u32* out) {
    begin_launch();
    out[threadIdx.x] = 0;
    if (threadIdx.x % 32 == 3) return;
    out[threadIdx.x] = __shfl_xor_sync(ALL_LANES, 0u, 1);
}
__global__ void shuffles_from_outside(const u32*, u32* out) {
    begin_launch();
    u32 mask = threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
    out[threadIdx.x] = __shfl_xor_sync(mask, threadIdx.x, 16);
}
__global__ void shuffles_unnamed(const u32*, u32* out) {
    begin_launch();
    out[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, threadIdx.x, 1);
}
__global__ void some_lanes_shuffle(const u32*, u32* out) {
    begin_launch();
    out[threadIdx.x] = 0;
    if (threadIdx.x % 32 < 20) out[threadIdx.x] = __shfl_xor_sync(ALL_LANES, 0u, 1);
    else __syncthreads();
}

// ---- blocks that wait for each other ----

enum Fence { NO_FENCE, BLOCK_FENCE, FENCE };

template <Fence WHICH>
__device__ void fence() {
    if (WHICH == BLOCK_FENCE) __threadfence_block();
    if (WHICH == FENCE) __threadfence();
}

template <bool IN_ORDER_OF_START, bool RELEASE>
__device__ void chain(const u32* in, u32* out, u32* flags, u32* sums, u32* tickets) {
    begin_launch();
    if (threadIdx.x != 0) return;
    u32 block = IN_ORDER_OF_START ? atomicAdd(tickets, 1u) : blockIdx.x;
    u32 sum = in[block];
    if (block > 0) {
        while (load_acquire(&flags[block - 1]) == 0) {
        }
        sum += sums[block - 1];
    }
    sums[block] = sum;
    if (RELEASE) store_release(&flags[block], 1u);
    else store_relaxed(&flags[block], 1u);
    out[block] = sum;
}
/// One block waits for all others.
__device__ void collect(const u32* in, u32* out, u32* flags, u32 collector) {
    begin_launch();
    if (threadIdx.x != 0) return;
    store_relaxed(&flags[blockIdx.x], in[blockIdx.x] + 1);
    if (blockIdx.x != collector) return;
    for (u32 block = 0; block < gridDim.x; block++) {
        u32 flag = 0;
        while (flag == 0) flag = load_relaxed(&flags[block]);
        out[block] = flag;
    }
}
__global__ void first_block_collects(const u32* in, u32* out, u32* work) {
    collect(in, out, work, 0);
}
__global__ void last_block_collects(const u32* in, u32* out, u32* work) {
    collect(in, out, work, gridDim.x - 1);
}

__global__ void chain_of_tickets(const u32* in, u32* out, u32* work) {
    chain<true, true>(in, out, work + 1, work + 65, work);
}
__global__ void chain_of_blocks(const u32* in, u32* out, u32* work) {
    chain<false, true>(in, out, work + 1, work + 65, work);
}
__global__ void lacks_release(const u32* in, u32* out, u32* work) {
    chain<true, false>(in, out, work + 1, work + 65, work);
}

enum Flag { RELAXED_FLAG, RELEASED_FLAG, UPDATED_FLAG };

/// A chain whose sums are accessed atomically too, so that nothing races. But the flag may
/// pass the sum.
template <Flag FLAG, Fence BETWEEN>
__device__ void chain_of_words(const u32* in, u32* out, u32* flags, u32* sums, u32* tickets) {
    begin_launch();
    if (threadIdx.x != 0) return;
    u32 block = atomicAdd(tickets, 1u), sum = in[block];
    if (block > 0) {
        if (FLAG == RELEASED_FLAG)
            while (load_acquire(&flags[block - 1]) == 0) {
            }
        else
            while (load_relaxed(&flags[block - 1]) == 0) {
            }
        fence<BETWEEN>();
        sum += load_relaxed(&sums[block - 1]);
    }
    store_relaxed(&sums[block], sum);
    fence<BETWEEN>();
    if (FLAG == RELAXED_FLAG) store_relaxed(&flags[block], 1u);
    if (FLAG == RELEASED_FLAG) store_release(&flags[block], 1u);
    if (FLAG == UPDATED_FLAG) atomicExch(&flags[block], 1u);
    out[block] = sum;
}
__global__ void releases_the_flag(const u32* in, u32* out, u32* work) {
    chain_of_words<RELEASED_FLAG, NO_FENCE>(in, out, work + 1, work + 65, work);
}
__global__ void fences_the_flag(const u32* in, u32* out, u32* work) {
    chain_of_words<RELAXED_FLAG, FENCE>(in, out, work + 1, work + 65, work);
}
__global__ void updates_after_a_fence(const u32* in, u32* out, u32* work) {
    chain_of_words<UPDATED_FLAG, FENCE>(in, out, work + 1, work + 65, work);
}
__global__ void trusts_the_order_of_stores(const u32* in, u32* out, u32* work) {
    chain_of_words<RELAXED_FLAG, NO_FENCE>(in, out, work + 1, work + 65, work);
}
__global__ void trusts_an_update(const u32* in, u32* out, u32* work) {
    chain_of_words<UPDATED_FLAG, NO_FENCE>(in, out, work + 1, work + 65, work);
}

/// What is promised even so: a word takes its values in order, a thread sees its own, and a barrier
/// shows them to the block.
__global__ void counts_in_order(const u32* in, u32* out, u32* work) {
    begin_launch();
    u32 i = threadIdx.x;
    if (i == 0) {
        for (u32 k = 1; k <= 20; k++) {
            store_relaxed(&work[1], k);
            store_relaxed(&work[0], k);
            if (load_relaxed(&work[0]) != k) trap("a thread does not see its own store");
        }
    } else if (i == 32) {
        for (u32 last = 0, next; last < 20; last = next) {
            next = load_relaxed(&work[0]);
            if (next < last) trap("a word goes back to what it was");
        }
    }
    store_relaxed(&work[2 + i], in[i]);
    __syncthreads();
    store_relaxed(&out[i], load_relaxed(&work[2 + (i + 1) % N]) + load_relaxed(&work[1]));
}

__global__ void sees_its_own_stores(const u32* in, u32* out, u32* work) {
    begin_launch();
    u64* halves = reinterpret_cast<u64*>(work) + 2 * threadIdx.x;
    u64x2* whole = reinterpret_cast<u64x2*>(halves);
    Packet packet;
    packet.parts[0] = packet.parts[1] = 2;
    store_relaxed(&halves[0], (u64)1);
    store_relaxed(whole, packet.word);
    store_relaxed(&halves[1], (u64)3 + in[threadIdx.x]);
    packet.word = load_relaxed(whole);
    out[threadIdx.x] = (u32)(packet.parts[0] + packet.parts[1]);
}

__global__ void stores_a_word_in_shared_memory(const u32* in, u32* out) {
    begin_launch();
    auto& values = block_shared<Values>();
    store_relaxed(&values.at[threadIdx.x], in[threadIdx.x]);
    out[threadIdx.x] = values.at[threadIdx.x];
}

__global__ void loads_a_word_in_global_memory(const u32* in, u32* out) {
    begin_launch();
    out[threadIdx.x] = load_relaxed_shared(&in[threadIdx.x]);
}

template <Fence BEFORE, Fence AFTER>
__device__ void last_block(const u32* in, u32* out, u32* work) {
    begin_launch();
    if (threadIdx.x != 0) return;
    work[1 + blockIdx.x] = in[blockIdx.x];
    fence<BEFORE>();
    bool last = atomicAdd(work, 1u) == gridDim.x - 1;
    fence<AFTER>();
    for (u32 i = 0; last && i < gridDim.x; i++) out[i] = work[1 + i];
}
__global__ void last_block_copies(const u32* in, u32* out, u32* work) {
    last_block<FENCE, FENCE>(in, out, work);
}
__global__ void lacks_threadfence(const u32* in, u32* out, u32* work) {
    last_block<NO_FENCE, FENCE>(in, out, work);
}
__global__ void releases_to_its_block(const u32* in, u32* out, u32* work) {
    last_block<BLOCK_FENCE, FENCE>(in, out, work);
}
__global__ void acquires_from_its_block(const u32* in, u32* out, u32* work) {
    last_block<FENCE, BLOCK_FENCE>(in, out, work);
}

/// Where a fence for the block will do.
template <Fence WHICH>
__device__ void tell_the_block(const u32* in, u32* out, u32* flag) {
    begin_launch();
    u32 i = threadIdx.x;
    if (i == 0) {
        for (u32 k = 0; k < N; k++) out[k] = in[k];
        fence<WHICH>();
        store_relaxed(flag, 1u);
    }
    if (i == 32) {
        while (load_relaxed(flag) == 0) {
        }
        fence<WHICH>();
        for (u32 k = 0; k < N; k++) out[k]++;
    }
}
__global__ void tells_the_block(const u32* in, u32* out, u32* work) {
    tell_the_block<BLOCK_FENCE>(in, out, work);
}
__global__ void tells_the_block_nothing(const u32* in, u32* out, u32* work) {
    tell_the_block<NO_FENCE>(in, out, work);
}

__global__ void adds_under_a_lock(const u32* in, u32* out, u32* work) {
    begin_launch();
    if (threadIdx.x != 0) return;
    while (atomicCAS(&work[0], 0u, 1u) != 0) {
    }
    __threadfence();
    u32 rank = work[1]++;
    __threadfence();
    atomicExch(&work[0], 0u);
    out[rank] = in[rank];
}

__global__ void waits_for_nobody(const u32*, u32* out, u32* work) {
    begin_launch();
    out[blockIdx.x * blockDim.x + threadIdx.x] = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        while (load_relaxed(&work[7]) == 0) {
        }
}
__global__ void waits_to_exchange(const u32*, u32* out, u32* work) {
    begin_launch();
    out[blockIdx.x * blockDim.x + threadIdx.x] = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        while (atomicCAS(&work[7], 1u, 2u) != 1u) {
        }
}

// ---- mbarriers and bulk copies ----

enum Fault {
    NO_FAULT,
    NO_PROXY_FENCE,
    NO_INIT_FENCE,
    NO_INIT_BARRIER,
    NO_WAIT,
    NO_DONE,
    NO_EXPECTED_BYTES,
    WRONG_PARITY,
    NO_ARRIVAL,
    NO_WAIT_READ,
    MISALIGNED_ADDRESS,
    MISALIGNED_SIZE,
    TOO_LONG,
    MUCH_TOO_MANY_BYTES,
    WRITTEN_SOURCE,
    SECOND_INIT
};

/// out = in + 1 for 64 numbers, through a stage that a bulk copy fills and another empties.
template <Fault FAULT>
__device__ void stage(const u32* in, u32* out) {
    begin_launch();
    struct Stage {
        alignas(16) u32 items[N];
        Mbarrier full, done;
    };
    auto& stage = block_shared<Stage>();
    u32 i = threadIdx.x, bytes = N * 4;
    if (i == 0) {
        mbarrier_init(stage.full, 1);
        mbarrier_init(stage.done, N);
        if (FAULT != NO_INIT_FENCE) fence_mbarrier_init();
    }
    if (FAULT == WRITTEN_SOURCE) {
        out[i] = in[i];
        fence_proxy_async();
    }
    if (FAULT != NO_INIT_BARRIER) __syncthreads();
    if (FAULT == SECOND_INIT && i == 9) mbarrier_init(stage.full, 1);
    if (i == 0) {
        mbarrier_expect(stage.full, FAULT == NO_EXPECTED_BYTES     ? bytes + 16
                                    : FAULT == MUCH_TOO_MANY_BYTES ? 1 << 20
                                                                   : bytes);
        if (FAULT == MISALIGNED_ADDRESS) bulk_load(stage.items, in + 1, bytes - 16, stage.full);
        else if (FAULT == MISALIGNED_SIZE) bulk_load(stage.items, in, bytes - 4, stage.full);
        else if (FAULT == TOO_LONG) bulk_load(stage.items, in, bytes + 16, stage.full);
        else bulk_load(stage.items, FAULT == WRITTEN_SOURCE ? out : in, bytes, stage.full);
    }
    if (FAULT != NO_WAIT) mbarrier_wait(stage.full, FAULT == WRONG_PARITY ? 1 : 0);
    stage.items[i]++;
    if (FAULT != NO_PROXY_FENCE) fence_proxy_async();
    if (FAULT != NO_ARRIVAL || i != 9) mbarrier_arrive(stage.done);
    if (i == 0) {
        if (FAULT != NO_DONE) mbarrier_wait(stage.done, 0);
        bulk_store(out, stage.items, bytes);
        bulk_commit();
        if (FAULT != NO_WAIT_READ) bulk_wait_read<0>();
        stage.items[0] = 0;
        bulk_wait<0>();
    }
}
__global__ void copies_through_a_stage(const u32* in, u32* out) { stage<NO_FAULT>(in, out); }
__global__ void lacks_proxy_fence(const u32* in, u32* out) { stage<NO_PROXY_FENCE>(in, out); }
__global__ void lacks_init_fence(const u32* in, u32* out) { stage<NO_INIT_FENCE>(in, out); }
__global__ void lacks_init_barrier(const u32* in, u32* out) { stage<NO_INIT_BARRIER>(in, out); }
__global__ void lacks_wait_for_copy(const u32* in, u32* out) { stage<NO_WAIT>(in, out); }
__global__ void lacks_wait_for_others(const u32* in, u32* out) { stage<NO_DONE>(in, out); }
__global__ void expects_too_many_bytes(const u32* in, u32* out) {
    stage<NO_EXPECTED_BYTES>(in, out);
}
__global__ void waits_for_wrong_parity(const u32* in, u32* out) { stage<WRONG_PARITY>(in, out); }
__global__ void lacks_an_arrival(const u32* in, u32* out) { stage<NO_ARRIVAL>(in, out); }
__global__ void overwrites_what_is_copied(const u32* in, u32* out) { stage<NO_WAIT_READ>(in, out); }
__global__ void copies_from_misaligned(const u32* in, u32* out) {
    stage<MISALIGNED_ADDRESS>(in, out);
}
__global__ void copies_misaligned_size(const u32* in, u32* out) { stage<MISALIGNED_SIZE>(in, out); }
__global__ void copies_too_much(const u32* in, u32* out) { stage<TOO_LONG>(in, out); }
__global__ void expects_a_mebibyte(const u32* in, u32* out) { stage<MUCH_TOO_MANY_BYTES>(in, out); }
__global__ void copies_what_was_written(const u32* in, u32* out) { stage<WRITTEN_SOURCE>(in, out); }
__global__ void initialises_again(const u32* in, u32* out) { stage<SECOND_INIT>(in, out); }

/// Two rounds of loads, all of one round at a time; and `out` is stored twice.
template <int LOADS, bool WAIT_BETWEEN>
__device__ void copy_often(const u32* in, u32* out) {
    begin_launch();
    struct Stage {
        alignas(16) u32 items[4 * LOADS];
        Mbarrier full;
    };
    auto& stage = block_shared<Stage>();
    if (threadIdx.x != 0) return;
    mbarrier_init(stage.full, 1);
    fence_mbarrier_init();
    for (u32 round = 0; round < 2; round++) {
        mbarrier_expect(stage.full, sizeof stage.items);
        for (u32 k = 0; k < LOADS; k++)
            bulk_load(stage.items + 4 * k, in + 4 * (k % (N / 4)), 16, stage.full);
        mbarrier_wait(stage.full, round);
        bulk_store(out, stage.items, N * 4);
        bulk_commit();
        bulk_wait_read<0>();
        if (WAIT_BETWEEN) bulk_wait<0>();
    }
}
__global__ void copies_often(const u32* in, u32* out) { copy_often<31, true>(in, out); }
__global__ void has_too_many_copies(const u32* in, u32* out) { copy_often<33, true>(in, out); }
__global__ void stores_while_storing(const u32* in, u32* out) { copy_often<31, false>(in, out); }

__global__ void returns_while_copying(const u32* in, u32* out) {
    begin_launch();
    struct Stage {
        alignas(16) u32 items[N];
    };
    auto& stage = block_shared<Stage>();
    stage.items[threadIdx.x] = in[threadIdx.x];
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(out, stage.items, sizeof stage.items);
        bulk_commit();
    }
}

// ---- the beginning of a launch ----

enum Beginning { FIRST, NEVER, TOO_LATE, IN_SOME_THREADS };
enum Touch { PLAINLY, ATOMICALLY, BY_COPY };

template <Beginning BEGINNING, Touch TOUCH>
__device__ void begin(const u32* in, u32* out) {
    struct Stage {
        alignas(16) u32 items[N];
        Mbarrier full;
    };
    auto& stage = block_shared<Stage>();
    u32 i = threadIdx.x, value = i;
    prefetch(in, N, i, 1, true);
    if (BEGINNING == FIRST || (BEGINNING == IN_SOME_THREADS && i < 32)) begin_launch();
    if (BEGINNING == NEVER || BEGINNING == IN_SOME_THREADS) return;
    if (TOUCH == PLAINLY) value = in[i];
    if (TOUCH == ATOMICALLY) value = load_relaxed(&in[i]);
    if (TOUCH == BY_COPY) {
        if (i == 0) {
            mbarrier_init(stage.full, 1);
            fence_mbarrier_init();
            mbarrier_expect(stage.full, sizeof stage.items);
            bulk_load(stage.items, in, sizeof stage.items, stage.full);
        }
        __syncthreads();
        mbarrier_wait(stage.full, 0);
        value = stage.items[i];
    }
    if (BEGINNING == TOO_LATE) begin_launch();
    out[i] = value;
}
__global__ void begins_first(const u32* in, u32* out) { begin<FIRST, PLAINLY>(in, out); }
__global__ void never_begins(const u32* in, u32* out) { begin<NEVER, PLAINLY>(in, out); }
__global__ void begins_in_some_threads(const u32* in, u32* out) {
    begin<IN_SOME_THREADS, PLAINLY>(in, out);
}
__global__ void reads_before_it_begins(const u32* in, u32* out) {
    begin<TOO_LATE, PLAINLY>(in, out);
}
__global__ void looks_before_it_begins(const u32* in, u32* out) {
    begin<TOO_LATE, ATOMICALLY>(in, out);
}
__global__ void copies_before_it_begins(const u32* in, u32* out) {
    begin<TOO_LATE, BY_COPY>(in, out);
}

// ---- loops without an end ----

enum Wait { BY_ATOMIC_LOAD, BY_PLAIN_LOAD, BY_VOLATILE_LOAD };

/// Thread 32 waits for thread 0.
template <Wait WAIT>
__device__ void wait_for_flag(const u32* in, u32* out, u32* work) {
    begin_launch();
    u32 i = threadIdx.x;
    if (i == 0) store_release(&work[3], 1u);
    if (i == 32 && WAIT == BY_ATOMIC_LOAD)
        while (load_acquire(&work[3]) == 0) {
        }
    if (i == 32 && WAIT == BY_VOLATILE_LOAD)
        while (*(volatile u32*)&work[3] == 0) {
        }
    if (i == 32 && WAIT == BY_PLAIN_LOAD)
        while (work[3] == 0) asm volatile("" ::: "memory");
    out[i] = in[i];
}
__global__ void waits_by_atomic_loads(const u32* in, u32* out, u32* work) {
    wait_for_flag<BY_ATOMIC_LOAD>(in, out, work);
}
__global__ void waits_by_plain_loads(const u32* in, u32* out, u32* work) {
    wait_for_flag<BY_PLAIN_LOAD>(in, out, work);
}
__global__ void waits_by_volatile_loads(const u32* in, u32* out, u32* work) {
    wait_for_flag<BY_VOLATILE_LOAD>(in, out, work);
}

/// All of them change something, so it is no deadlock.
__global__ void counts_for_ever(const u32*, u32* out, u32* work) {
    begin_launch();
    while (atomicAdd(&work[threadIdx.x], 1u) != ~0u) {
    }
    out[threadIdx.x] = 0;
}
__global__ void stores_for_ever(const u32*, u32*, u32* work) {
    begin_launch();
    while (true) store_relaxed(&work[threadIdx.x], 1u);
}

/// Without a load or store that the emulator sees.
__global__ void computes_for_ever(const u32* in, u32* out, u32*) {
    begin_launch();
    u32 x = in[threadIdx.x] | 1;
    while (x != 0) {
        x = x * 5 | 1;
        asm volatile("" : "+r"(x));
    }
    out[threadIdx.x] = x;
}

// ---- padding that an operator sees, though nobody uses what it makes of it ----

/// A number and a check of it.
struct Guarded {
    u32 value, check;
};

__device__ Guarded guarded(u32 value) { return {value, value * 0x9e3779b1u ^ 0x85ebca77u}; }

__device__ Guarded guarded_sum(Guarded a, Guarded b) {
    if (guarded(a.value).check != a.check) trap("the left operand is no element");
    if (guarded(b.value).check != b.check) trap("the right operand is no element");
    return guarded(a.value + b.value);
}

enum Padding { NO_PADDING, ZEROS, UNSET };

/// Each of the first numbers plus the next one; for the others there is none.
template <Padding PADDING>
__device__ void add_neighbours(const u32* in, u32* out) {
    begin_launch();
    struct Stage {
        Guarded values[N + 1];
    };
    auto& stage = block_shared<Stage>();
    u32 i = threadIdx.x, valid = N - 7;
    stage.values[i + 1] = {0, 0};
    __syncthreads();
    if (i < valid) stage.values[i] = guarded(in[i]);
    __syncthreads();
    Guarded mine = guarded(0), next;
    if (i < valid) mine = stage.values[i];
    if (PADDING == ZEROS || i + 1 < valid) next = stage.values[i + 1];
    if (PADDING != NO_PADDING || i + 1 < valid) next = guarded_sum(mine, next);
    out[i] = i + 1 < valid ? next.value : 0;
}
__global__ void combines_elements(const u32* in, u32* out) { add_neighbours<NO_PADDING>(in, out); }
__global__ void combines_zeros(const u32* in, u32* out) { add_neighbours<ZEROS>(in, out); }
__global__ void combines_what_nothing_set(const u32* in, u32* out) {
    add_neighbours<UNSET>(in, out);
}
