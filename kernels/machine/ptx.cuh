// The layer of device.cuh for GPUs, in PTX. Each function names the oldest GPU that has it, unless
// all do. Only what a kernel calls gets to the assembler, so the rest may need more than the GPU
// has.
#pragma once

namespace warpfold {

// ---- numbers ----

__device__ __forceinline__ f32 half_bits_to_f32(u16 bits) {
    f32 value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ u16 f32_to_half_bits(f32 value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

/// To nearest, ties to even. The hardware does it from sm_80 on.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ u16 f32_to_bf16_bits(f32 value) {
    u16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#else
__device__ __forceinline__ u16 f32_to_bf16_bits(f32 value) {
    u32 bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (u16)((bits >> 16) | 0x40);  // NaN stays NaN
    return (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#endif

__device__ __forceinline__ u32 bits_of(f32 value) { return __float_as_uint(value); }
__device__ __forceinline__ u64 bits_of(f64 value) { return (u64)__double_as_longlong(value); }
__device__ __forceinline__ f32 from_bits(u32 bits) { return __uint_as_float(bits); }
__device__ __forceinline__ f64 from_bits(u64 bits) { return __longlong_as_double((i64)bits); }

// About 1 / a, and 1 / √a: all bits of 32 but the last, 20 bits of 64. Subnormals count as 0.
__device__ __forceinline__ f32 near_reciprocal(f32 a) {
    f32 result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
}
__device__ __forceinline__ f64 near_reciprocal(f64 a) {
    f64 result;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(a));
    return result;
}
__device__ __forceinline__ f32 near_reciprocal_root(f32 a) {
    f32 result;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
}

// IEEE 754-2019 minimum and maximum. The hardware has them from sm_80 on. On older GPUs they are
// what rust.cuh defines for the other types.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ f32 minimum_f32(f32 a, f32 b) {
    f32 result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
__device__ __forceinline__ f32 maximum_f32(f32 a, f32 b) {
    f32 result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
#else
template <class T>
__device__ __forceinline__ T minimum_by_comparison(T a, T b);
template <class T>
__device__ __forceinline__ T maximum_by_comparison(T a, T b);
__device__ __forceinline__ f32 minimum_f32(f32 a, f32 b) { return minimum_by_comparison(a, b); }
__device__ __forceinline__ f32 maximum_f32(f32 a, f32 b) { return maximum_by_comparison(a, b); }
#endif

/// The value. The compiler cannot tell what it is made of, and so keeps it in a register.
__device__ __forceinline__ u32 in_register(u32 value) {
    asm volatile("" : "+r"(value));
    return value;
}

/// Number `place` of those of BYTES bytes in a word, extended to 32 bits: by its sign, or zeros. A
/// permutation of bytes.
template <int BYTES, bool SIGNED>
__device__ __forceinline__ i32 permuted_part(u32 word, int place) {
    // Four bits for each byte of the result. They tell which byte of the word it is; 4 is a zero,
    // and 8 more is the sign of that byte, eight times.
    int last = BYTES * place + BYTES - 1, fill = SIGNED ? last + 8 : 4;
    int selector = BYTES == 1 ? last | fill * 0x1110 : (last - 1) | last << 4 | fill * 0x1100;
    i32 result;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(result) : "r"(word), "r"(selector));
    return result;
}

/// `permuted_part` as a product of two vectors, of which one has a single 1. It takes a multiplier,
/// where the permutation takes one of those units that do most other things.
template <int BYTES, bool SIGNED>
__device__ __forceinline__ i32 multiplied_part(u32 word, int place) {
    u32 one = 1u << 8 * place;
    i32 result;
    if constexpr (BYTES == 1 && SIGNED)
        asm("dp4a.s32.s32 %0, %1, %2, 0;" : "=r"(result) : "r"(word), "r"(one));
    else if constexpr (BYTES == 1)
        asm("dp4a.u32.u32 %0, %1, %2, 0;" : "=r"(result) : "r"(word), "r"(one));
    else if constexpr (SIGNED)
        asm("dp2a.lo.s32.s32 %0, %1, %2, 0;" : "=r"(result) : "r"(word), "r"(one));
    else asm("dp2a.lo.u32.u32 %0, %1, %2, 0;" : "=r"(result) : "r"(word), "r"(one));
    return result;
}

// Extremes of two numbers of 16 bits at once, from sm_90 on.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool HAS_PAIRS = true;
#else
constexpr bool HAS_PAIRS = false;
#endif
#define WARPFOLD_ON_PAIRS(NAME, INSTRUCTION)                             \
    __device__ __forceinline__ u32 NAME(u32 a, u32 b) {                  \
        u32 result;                                                      \
        asm(INSTRUCTION " %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b)); \
        return result;                                                   \
    }
WARPFOLD_ON_PAIRS(min_u16x2, "min.u16x2")
WARPFOLD_ON_PAIRS(max_u16x2, "max.u16x2")
WARPFOLD_ON_PAIRS(min_i16x2, "min.s16x2")
WARPFOLD_ON_PAIRS(max_i16x2, "max.s16x2")
#undef WARPFOLD_ON_PAIRS

/// Four bytes as one word, by insertions. The assembler knows that these need not clear what is
/// above a byte first; of shifts and permutations it does not.
__device__ __forceinline__ u32 pack_bytes(i32 a, i32 b, i32 c, i32 d) {
    u32 word;
    asm("{ .reg .b32 w; bfi.b32 w, %2, %1, 8, 8; bfi.b32 w, %3, w, 16, 8;"
        " bfi.b32 %0, %4, w, 24, 8; }"
        : "=r"(word)
        : "r"(a), "r"(b), "r"(c), "r"(d));
    return word;
}
__device__ __forceinline__ u32 pack_bytes(u8 a, u8 b, u8 c, u8 d) {
    u32 word;
    asm("{ .reg .b32 w, b, c, d; cvt.u32.u16 w, %1; cvt.u32.u16 b, %2; cvt.u32.u16 c, %3; "
        "cvt.u32.u16 d, %4;"
        " bfi.b32 w, b, w, 8, 8; bfi.b32 w, c, w, 16, 8; bfi.b32 %0, d, w, 24, 8; }"
        : "=r"(word)
        : "h"((u16)a), "h"((u16)b), "h"((u16)c), "h"((u16)d));
    return word;
}

// ---- the beginning and the end ----

/// The first statement of every kernel, for all of its threads, even those with nothing to do. Only
/// `prefetch` may come before, and what touches shared memory alone. From sm_90 on, blocks may
/// start before what precedes the launch on the stream has ended (programmatic dependent launch).
/// Here they wait until it has, and its writes are seen. Then they let the blocks of the next
/// launch start, which wait in the same place. Every launch must wait: one that ended without would
/// tell the next one that everything before it has ended, too.
__device__ __forceinline__ void begin_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Asks for `count` elements of an array, from `first` on, as far as there are so many, to be
/// brought into the L2 cache. The threads that want it call. No result depends on it, and nothing
/// waits for it, so this alone may come before `begin_launch`. It uses the time in which the last
/// blocks of the launch before this one leave memory idle. The words of 16 bytes that are asked for
/// may begin a little before the elements. They lie within the same allocation, whose start is a
/// multiple of more. From sm_90 on.
template <class T>
__device__ __forceinline__ void prefetch(const T* array, u64 length, u64 first, u64 count,
                                         bool wanted) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    u64 end = first + count < length ? first + count : length;
    u64 from = (u64)(array + first) & ~(u64)15, to = (u64)(array + end) & ~(u64)15;
    u32 bytes = wanted && first < end ? (u32)(to - from) : 0;
    asm volatile(
        "{ .reg .pred wanted; setp.ne.u32 wanted, %1, 0; @wanted cp.async.bulk.prefetch.L2.global "
        "[%0], %1; }" ::"l"(from),
        "r"(bytes));
#endif
}

/// Ends the kernel with an error, which the stream will report. The emulator says what is wrong.
__device__ __forceinline__ void trap(const char*) { asm volatile("trap;"); }

// ---- shared memory ----

/// The block's one variable of type T in shared memory, which nothing initialises.
template <class T>
__device__ __forceinline__ T& block_shared() {
    __shared__ T value;
    return value;
}

/// The shared memory that the launch asks for, aligned to 128 bytes.
__device__ __forceinline__ unsigned char* dynamic_shared() {
    extern __shared__ __align__(128) unsigned char launch_shared[];
    return launch_shared;
}

/// The address of something in shared memory, as PTX wants it.
__device__ __forceinline__ u32 shared_address(const void* address) {
    return (u32)__cvta_generic_to_shared(address);
}

/// The address of something in global memory, as PTX wants it.
__device__ __forceinline__ u64 global_address(const void* address) {
    return (u64)__cvta_generic_to_global(address);
}

/// A word in shared memory that other threads of the block change at the same time, atomically.
/// sm_70
__device__ __forceinline__ u32 load_relaxed_shared(const u32* from) {
    u32 word;
    asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];"
                 : "=r"(word)
                 : "r"(shared_address(from))
                 : "memory");
    return word;
}

// ---- words in global memory that other blocks access at the same time ----
//
// Each is one access: no other can come in the middle of it. All threads of the GPU see it in the
// order that its name says. sm_70

/// 16 bytes.
struct alignas(16) u64x2 {
    u64 low, high;
};

#define WARPFOLD_WORD(W, TYPE, REGISTER)                                                   \
    __device__ __forceinline__ W load_relaxed(const W* from) {                             \
        W word;                                                                            \
        asm volatile("ld.relaxed.gpu.global." TYPE " %0, [%1];"                            \
                     : "=" REGISTER(word)                                                  \
                     : "l"(global_address(from))                                           \
                     : "memory");                                                          \
        return word;                                                                       \
    }                                                                                      \
    __device__ __forceinline__ W load_acquire(const W* from) {                             \
        W word;                                                                            \
        asm volatile("ld.acquire.gpu.global." TYPE " %0, [%1];"                            \
                     : "=" REGISTER(word)                                                  \
                     : "l"(global_address(from))                                           \
                     : "memory");                                                          \
        return word;                                                                       \
    }                                                                                      \
    __device__ __forceinline__ void store_relaxed(W* to, W word) {                         \
        asm volatile("st.relaxed.gpu.global." TYPE " [%0], %1;" ::"l"(global_address(to)), \
                     REGISTER(word)                                                        \
                     : "memory");                                                          \
    }                                                                                      \
    __device__ __forceinline__ void store_release(W* to, W word) {                         \
        asm volatile("st.release.gpu.global." TYPE " [%0], %1;" ::"l"(global_address(to)), \
                     REGISTER(word)                                                        \
                     : "memory");                                                          \
    }

WARPFOLD_WORD(u32, "u32", "r")
WARPFOLD_WORD(u64, "u64", "l")
#undef WARPFOLD_WORD

// Before CUDA 12.3, PTX accesses 128 bits only as a vector, and promises no more than that each
// half is one access. It is one in machine code: the instruction is `LDG.E.128.STRONG.GPU` in both
// cases.
#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 3
#define WARPFOLD_LOAD_16_PTX(ORDER) "ld." ORDER ".gpu.global.v2.u64 {%0, %1}, [%2];"
#define WARPFOLD_STORE_16_PTX(ORDER) "st." ORDER ".gpu.global.v2.u64 [%0], {%1, %2};"
#else
#define WARPFOLD_LOAD_16_PTX(ORDER) \
    "{ .reg .b128 word; ld." ORDER ".gpu.global.b128 word, [%2]; mov.b128 {%0, %1}, word; }"
#define WARPFOLD_STORE_16_PTX(ORDER) \
    "{ .reg .b128 word; mov.b128 word, {%1, %2}; st." ORDER ".gpu.global.b128 [%0], word; }"
#endif

#define WARPFOLD_LOAD_16(NAME, ORDER)                          \
    __device__ __forceinline__ u64x2 NAME(const u64x2* from) { \
        u64x2 word;                                            \
        asm volatile(WARPFOLD_LOAD_16_PTX(ORDER)               \
                     : "=l"(word.low), "=l"(word.high)         \
                     : "l"(global_address(from))               \
                     : "memory");                              \
        return word;                                           \
    }
#define WARPFOLD_STORE_16(NAME, ORDER)                                                     \
    __device__ __forceinline__ void NAME(u64x2* to, u64x2 word) {                          \
        asm volatile(WARPFOLD_STORE_16_PTX(ORDER)::"l"(global_address(to)), "l"(word.low), \
                     "l"(word.high)                                                        \
                     : "memory");                                                          \
    }

WARPFOLD_LOAD_16(load_relaxed, "relaxed")
WARPFOLD_LOAD_16(load_acquire, "acquire")
WARPFOLD_STORE_16(store_relaxed, "relaxed")
WARPFOLD_STORE_16(store_release, "release")
#undef WARPFOLD_LOAD_16
#undef WARPFOLD_STORE_16
#undef WARPFOLD_LOAD_16_PTX
#undef WARPFOLD_STORE_16_PTX

/// Adds to a word, and returns what it was. sm_70
__device__ __forceinline__ u64 add_relaxed(u64* word, u64 more) {
    u64 before;
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(global_address(word)), "l"(more)
                 : "memory");
    return before;
}

/// Adds to a word, and returns what it was. Releases what the thread did before, and acquires what
/// the threads that added before it released. sm_70
__device__ __forceinline__ u32 add_acquire_release(u32* word, u32 more) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(global_address(word)), "r"(more)
                 : "memory");
    return before;
}

// ---- barriers in shared memory ----

/// Lets threads wait for the arrivals of others and for bulk copies, in phases that are counted
/// from 0.
struct Mbarrier {
    u64 state;
};

/// Begins phase 0. Every phase completes with `arrivals` arrivals and all expected bytes. Other
/// threads may use the barrier once the block has synchronised; bulk copies need
/// fence_mbarrier_init before. sm_80
__device__ __forceinline__ void mbarrier_init(Mbarrier& barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals)
                 : "memory");
}

/// Arrives. Releases to those in the block that wait. sm_80
__device__ __forceinline__ void mbarrier_arrive(Mbarrier& barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(
                     shared_address(&barrier))
                 : "memory");
}

/// Makes the phase wait for `bytes` more of bulk copies, and arrives. Releases as mbarrier_arrive
/// does. sm_90
__device__ __forceinline__ void mbarrier_expect(Mbarrier& barrier, u32 bytes) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(
                     shared_address(&barrier)),
                 "r"(bytes)
                 : "memory");
}

/// Whether the phase of this parity has completed: the current phase or the one before. Waits a
/// while for it. Acquires what those who arrived released, and the bytes of the bulk copies. sm_90
__device__ __forceinline__ bool mbarrier_try_wait(Mbarrier& barrier, u32 parity) {
    u32 completed;
    asm volatile(
        "{ .reg .pred completed; mbarrier.try_wait.parity.shared.b64 completed, [%1], %2;"
        " selp.u32 %0, 1, 0, completed; }"
        : "=r"(completed)
        : "r"(shared_address(&barrier)), "r"(parity)
        : "memory");
    return completed != 0;
}

/// Waits until the phase of this parity has completed.
__device__ __forceinline__ void mbarrier_wait(Mbarrier& barrier, u32 parity) {
    while (!mbarrier_try_wait(barrier, parity)) {
    }
}

/// Waits for it by a whole warp. If its lanes left the loop one by one, the compiler would have to
/// gather them again before every shuffle that follows.
__device__ __forceinline__ void mbarrier_wait_by_warp(Mbarrier& barrier, u32 parity) {
    while (__any_sync(ALL_LANES, !mbarrier_try_wait(barrier, parity))) {
    }
}

/// Makes the barriers that this thread has begun known to bulk copies. sm_90
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// ---- bulk copies, which go on while the thread does: sm_90 ----
//
// Addresses and sizes are multiples of 16 bytes. One thread begins a copy for all.

/// Copies from global to shared memory. The barrier's phase counts the bytes as they arrive.
__device__ __forceinline__ void bulk_load(void* shared, const void* global, u32 bytes,
                                          Mbarrier& barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(shared)),
        "l"(global_address(global)), "r"(bytes), "r"(shared_address(&barrier))
        : "memory");
}

/// Copies from shared to global memory, in the thread's next group. The threads that wrote those
/// bytes must have called fence_proxy_async, and then synchronised with this thread.
__device__ __forceinline__ void bulk_store(void* global, const void* shared, u32 bytes) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global_address(global)),
        "r"(shared_address(shared)), "r"(bytes)
        : "memory");
}

/// Ends the group of this thread's stores so far.
__device__ __forceinline__ void bulk_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all but the thread's last N groups have read shared memory. It may then be
/// overwritten.
template <int N>
__device__ __forceinline__ void bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

/// Waits until all but the thread's last N groups have been written.
template <int N>
__device__ __forceinline__ void bulk_wait() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

/// Orders this thread's accesses to shared memory before bulk copies: those that it begins, and
/// those of threads that synchronise with it afterwards. sm_90
__device__ __forceinline__ void fence_proxy_async() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace warpfold
