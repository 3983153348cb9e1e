// What generated kernels find in place of CUDA when they run in the emulator: CUDA's built-in
// names, and the emulator's face of the layer that kernels/machine/device.cuh describes.
//
// Nothing happens here. Code that touches memory that threads share, or another thread, calls the
// emulator. It passes a place in the source along, for messages, and because threads must meet at
// one place. Functions that call the emulator are always inlined, so that the place is one of the
// kernel's.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <type_traits>
#include <utility>

#include "host.hpp"

#define EMULATED_INLINE inline __attribute__((always_inline))

#define __shared__ \
    static_assert(false, "shared variables are declared as `auto& x = block_shared<X>()`");

struct uint3 {
    unsigned x, y, z;
};
using dim3 = uint3;

// A kernel sees constants, so reading them counts for no access. The emulator sets them when it
// goes on with a thread.
#ifdef WARPFOLD_EMULATOR_PROGRAM
#define EMULATED_CONSTANT
#else
#define EMULATED_CONSTANT const
#endif
extern EMULATED_CONSTANT uint3 threadIdx, blockIdx;
extern EMULATED_CONSTANT dim3 blockDim, gridDim;

namespace emulator {

struct Source {
    const char* file;
    int line;
    Source(const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : file(file), line(line) {}
};

/// A kernel without its type: to be called with a pointer to each argument, as a launch in CUDA is.
struct Kernel {
    void (*call)(void* const* arguments);
    const size_t* sizes;
    size_t count;
};

template <class... Arguments>
struct Signature {
    static constexpr size_t SIZES[] = {sizeof(Arguments)..., 0};

    template <void (*kernel)(Arguments...)>
    static void call(void* const* arguments) {
        [&]<size_t... I>(std::index_sequence<I...>) {
            kernel(*static_cast<Arguments*>(arguments[I])...);
        }(std::index_sequence_for<Arguments...>());
    }
};

template <class... Arguments>
Signature<Arguments...> signature_of(void (*)(Arguments...));

// ---- what the emulator does (machine.hpp) ----

enum class Order { RELAXED, ACQUIRE, RELEASE };
enum class Exchange { SHUFFLE, BALLOT, ALL, ANY, MATCH, ADD, MIN, MAX, AND, OR, XOR };

void synchronise_block(Source source);
/// Synchronises the block, and tells all threads whether one of them says yes.
bool synchronise_block_or(bool says_yes, Source source);
void synchronise_warp(unsigned mask, Source source);
/// Every lane of `mask` gives a value; what each gets depends on all. A shuffle gives the value of
/// lane `from`.
unsigned long long exchange(Exchange what, unsigned mask, unsigned long long value, int from,
                            Source source);
/// The lanes that are about to run the same: all that have not returned.
unsigned active_lanes();
unsigned lane();

void begin_launch();
[[noreturn]] void trap(const char* why);
void* shared_variable(size_t bytes, size_t align, const char* name);
void* dynamic_shared_memory();

void load(const void* from, void* to, size_t bytes, Order order, bool shared = false);
void store(void* to, const void* from, size_t bytes, Order order);
/// Before and after an update of memory, which nothing comes between. Returns where the memory is.
void* begin_update(void* address, size_t bytes, void* place);
void end_update(bool changed);
void fence();
void fence_block();

void mbarrier_init(void* barrier, unsigned arrivals);
void mbarrier_arrive(void* barrier, unsigned expected_bytes);
void mbarrier_wait(void* barrier, unsigned parity, Source source);
void fence_mbarrier_init();
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier);
void bulk_store(void* global, const void* shared, unsigned bytes);
void bulk_commit();
void bulk_wait(unsigned groups, bool reads_only, Source source);
void fence_proxy_async();

template <class T>
const char* name_of() {
    return __PRETTY_FUNCTION__;
}

template <class T, class F>
__attribute__((noinline, no_sanitize("thread"), no_sanitize("undefined"))) T update(T* address,
                                                                                    F change) {
    volatile T* memory =
        static_cast<T*>(begin_update(address, sizeof(T), __builtin_return_address(0)));
    T before = *memory, after = change(before);
    *memory = after;
    end_update(__builtin_memcmp(&before, &after, sizeof(T)) != 0);
    return before;
}

}  // namespace emulator

/// Makes a kernel known to the emulator by its name.
#define EMULATE(kernel)                                                                \
    extern "C" {                                                                       \
    extern const emulator::Kernel emulated_##kernel;                                   \
    const emulator::Kernel emulated_##kernel = {                                       \
        decltype(emulator::signature_of(kernel))::call<kernel>,                        \
        decltype(emulator::signature_of(kernel))::SIZES,                               \
        sizeof(decltype(emulator::signature_of(kernel))::SIZES) / sizeof(size_t) - 1}; \
    }

// ---- CUDA's built-in names ---------------------------------------------------------------------

EMULATED_INLINE void __syncthreads(emulator::Source source = {}) {
    emulator::synchronise_block(source);
}
EMULATED_INLINE int __syncthreads_or(int predicate, emulator::Source source = {}) {
    return emulator::synchronise_block_or(predicate != 0, source);
}
EMULATED_INLINE void __syncwarp(unsigned mask = ~0u, emulator::Source source = {}) {
    emulator::synchronise_warp(mask, source);
}
EMULATED_INLINE unsigned __activemask() { return emulator::active_lanes(); }

EMULATED_INLINE void __threadfence() { emulator::fence(); }
EMULATED_INLINE void __threadfence_block() { emulator::fence_block(); }

#define EMULATE_SHUFFLES(T, BITS, FROM_BITS)                                                   \
    EMULATED_INLINE T emulated_shuffle(unsigned mask, T value, int from,                       \
                                       emulator::Source source) {                              \
        return FROM_BITS(                                                                      \
            emulator::exchange(emulator::Exchange::SHUFFLE, mask, BITS(value), from, source)); \
    }                                                                                          \
    EMULATED_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32,            \
                                  emulator::Source source = {}) {                              \
        int self = (int)emulator::lane();                                                      \
        return emulated_shuffle(mask, value, (self & -width) | (lane & (width - 1)), source);  \
    }                                                                                          \
    EMULATED_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,   \
                                     emulator::Source source = {}) {                           \
        int self = (int)emulator::lane(), from = self - (int)delta;                            \
        return emulated_shuffle(mask, value, from < (self & -width) ? self : from, source);    \
    }                                                                                          \
    EMULATED_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, \
                                       emulator::Source source = {}) {                         \
        int self = (int)emulator::lane(), from = self + (int)delta;                            \
        return emulated_shuffle(mask, value, from >= (self & -width) + width ? self : from,    \
                                source);                                                       \
    }                                                                                          \
    EMULATED_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,   \
                                      emulator::Source source = {}) {                          \
        int self = (int)emulator::lane(), from = self ^ lane_mask;                             \
        return emulated_shuffle(mask, value, from >= (self & -width) + width ? self : from,    \
                                source);                                                       \
    }
#define EMULATED_SAME(x) x
#define EMULATED_NARROW(x) (unsigned)(x)
#define EMULATED_BITS_F32(x) __builtin_bit_cast(unsigned, x)
#define EMULATED_F32(x) __builtin_bit_cast(float, (unsigned)(x))
#define EMULATED_BITS_F64(x) __builtin_bit_cast(unsigned long long, x)
#define EMULATED_F64(x) __builtin_bit_cast(double, x)
EMULATE_SHUFFLES(unsigned, EMULATED_SAME, EMULATED_NARROW)
EMULATE_SHUFFLES(int, EMULATED_NARROW, (int))
EMULATE_SHUFFLES(unsigned long long, EMULATED_SAME, EMULATED_SAME)
EMULATE_SHUFFLES(long long, EMULATED_SAME, (long long))
EMULATE_SHUFFLES(float, EMULATED_BITS_F32, EMULATED_F32)
EMULATE_SHUFFLES(double, EMULATED_BITS_F64, EMULATED_F64)

EMULATED_INLINE unsigned __ballot_sync(unsigned mask, int predicate, emulator::Source source = {}) {
    return (unsigned)emulator::exchange(emulator::Exchange::BALLOT, mask, predicate != 0, 0,
                                        source);
}
EMULATED_INLINE int __all_sync(unsigned mask, int predicate, emulator::Source source = {}) {
    return (int)emulator::exchange(emulator::Exchange::ALL, mask, predicate != 0, 0, source);
}
EMULATED_INLINE int __any_sync(unsigned mask, int predicate, emulator::Source source = {}) {
    return (int)emulator::exchange(emulator::Exchange::ANY, mask, predicate != 0, 0, source);
}

#define EMULATE_MATCH(T, BITS)                                                               \
    EMULATED_INLINE unsigned __match_any_sync(unsigned mask, T value,                        \
                                              emulator::Source source = {}) {                \
        return (unsigned)emulator::exchange(emulator::Exchange::MATCH, mask, BITS(value), 0, \
                                            source);                                         \
    }                                                                                        \
    EMULATED_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all,              \
                                              emulator::Source source = {}) {                \
        *all = (unsigned)emulator::exchange(emulator::Exchange::MATCH, mask, BITS(value), 0, \
                                            source) == mask;                                 \
        return *all ? mask : 0;                                                              \
    }
EMULATE_MATCH(unsigned, EMULATED_SAME)
EMULATE_MATCH(int, EMULATED_NARROW)
EMULATE_MATCH(unsigned long, EMULATED_SAME)
EMULATE_MATCH(long, (unsigned long))
EMULATE_MATCH(unsigned long long, EMULATED_SAME)
EMULATE_MATCH(long long, (unsigned long long))
EMULATE_MATCH(float, EMULATED_BITS_F32)
EMULATE_MATCH(double, EMULATED_BITS_F64)

#define EMULATE_REDUCE(T, NAME, WHAT)                                                  \
    EMULATED_INLINE T NAME(unsigned mask, T value, emulator::Source source = {}) {     \
        auto bits = (unsigned long long)(long long)value;                              \
        return (T)emulator::exchange(emulator::Exchange::WHAT, mask, bits, 0, source); \
    }
EMULATE_REDUCE(unsigned, __reduce_add_sync, ADD)
EMULATE_REDUCE(int, __reduce_add_sync, ADD)
EMULATE_REDUCE(unsigned, __reduce_min_sync, MIN)
EMULATE_REDUCE(int, __reduce_min_sync, MIN)
EMULATE_REDUCE(unsigned, __reduce_max_sync, MAX)
EMULATE_REDUCE(int, __reduce_max_sync, MAX)
EMULATE_REDUCE(unsigned, __reduce_and_sync, AND)
EMULATE_REDUCE(unsigned, __reduce_or_sync, OR)
EMULATE_REDUCE(unsigned, __reduce_xor_sync, XOR)

template <class T>
EMULATED_INLINE T atomicAdd(T* address, std::type_identity_t<T> value) {
    return emulator::update(address, [&](T old) { return (T)(old + value); });
}
template <class T>
EMULATED_INLINE T atomicExch(T* address, std::type_identity_t<T> value) {
    return emulator::update(address, [&](T) { return value; });
}
template <class T>
EMULATED_INLINE T atomicCAS(T* address, std::type_identity_t<T> expected,
                            std::type_identity_t<T> value) {
    return emulator::update(address, [&](T old) { return old == expected ? value : old; });
}
template <class T>
EMULATED_INLINE T atomicMin(T* address, std::type_identity_t<T> value) {
    return emulator::update(address, [&](T old) { return value < old ? value : old; });
}
template <class T>
EMULATED_INLINE T atomicMax(T* address, std::type_identity_t<T> value) {
    return emulator::update(address, [&](T old) { return old < value ? value : old; });
}
template <class T>
EMULATED_INLINE T atomicAnd(T* address, std::type_identity_t<T> value) {
    return emulator::update(address, [&](T old) { return (T)(old & value); });
}
template <class T>
EMULATED_INLINE T atomicOr(T* address, std::type_identity_t<T> value) {
    return emulator::update(address, [&](T old) { return (T)(old | value); });
}
template <class T>
EMULATED_INLINE T atomicXor(T* address, std::type_identity_t<T> value) {
    return emulator::update(address, [&](T old) { return (T)(old ^ value); });
}
/// Counts up to `limit`, and then from 0 again.
EMULATED_INLINE unsigned atomicInc(unsigned* address, unsigned limit) {
    return emulator::update(address, [&](unsigned old) { return old >= limit ? 0 : old + 1; });
}

// Compilers make loads and stores of these that nothing would see, or call the C library.
#ifndef WARPFOLD_EMULATOR_PROGRAM
extern "C" void* __tsan_memcpy(void* to, const void* from, size_t bytes);
extern "C" void* __tsan_memmove(void* to, const void* from, size_t bytes);
extern "C" void* __tsan_memset(void* to, int value, size_t bytes);
#define memcpy(to, from, bytes) __tsan_memcpy(to, from, bytes)
#define memmove(to, from, bytes) __tsan_memmove(to, from, bytes)
#define memset(to, value, bytes) __tsan_memset(to, value, bytes)
#define __builtin_memcpy(to, from, bytes) __tsan_memcpy(to, from, bytes)
#define __builtin_memmove(to, from, bytes) __tsan_memmove(to, from, bytes)
#define __builtin_memset(to, value, bytes) __tsan_memset(to, value, bytes)
#endif

// ---- the layer of kernels/machine/device.cuh ----

namespace warpfold {

typedef unsigned long long u64x2 __attribute__((vector_size(16)));

template <class T>
EMULATED_INLINE T& block_shared() {
    return *static_cast<T*>(
        emulator::shared_variable(sizeof(T), alignof(T), emulator::name_of<T>()));
}
/// Launches do not overlap here, but the emulator checks that threads call this.
EMULATED_INLINE void begin_launch() { emulator::begin_launch(); }
template <class T>
EMULATED_INLINE void prefetch(const T*, unsigned long long, unsigned long long, unsigned long long,
                              bool) {}
EMULATED_INLINE void trap(const char* why) { emulator::trap(why); }
EMULATED_INLINE unsigned char* dynamic_shared() {
    return static_cast<unsigned char*>(emulator::dynamic_shared_memory());
}

template <class W>
EMULATED_INLINE W load_relaxed(const W* address) {
    W value;
    emulator::load(address, &value, sizeof value, emulator::Order::RELAXED);
    return value;
}
EMULATED_INLINE unsigned load_relaxed_shared(const unsigned* address) {
    unsigned value;
    emulator::load(address, &value, sizeof value, emulator::Order::RELAXED, true);
    return value;
}
template <class W>
EMULATED_INLINE W load_acquire(const W* address) {
    W value;
    emulator::load(address, &value, sizeof value, emulator::Order::ACQUIRE);
    return value;
}
template <class W>
EMULATED_INLINE void store_relaxed(W* address, W value) {
    emulator::store(address, &value, sizeof value, emulator::Order::RELAXED);
}
template <class W>
EMULATED_INLINE void store_release(W* address, W value) {
    emulator::store(address, &value, sizeof value, emulator::Order::RELEASE);
}

EMULATED_INLINE unsigned long long add_relaxed(unsigned long long* address,
                                               unsigned long long more) {
    return atomicAdd(address, more);
}

EMULATED_INLINE unsigned add_acquire_release(unsigned* address, unsigned more) {
    __threadfence();
    unsigned before = atomicAdd(address, more);
    __threadfence();
    return before;
}

struct Mbarrier {
    unsigned long long state;
};
EMULATED_INLINE void mbarrier_init(Mbarrier& barrier, unsigned arrivals) {
    emulator::mbarrier_init(&barrier, arrivals);
}
EMULATED_INLINE void mbarrier_arrive(Mbarrier& barrier) { emulator::mbarrier_arrive(&barrier, 0); }
EMULATED_INLINE void mbarrier_expect(Mbarrier& barrier, unsigned bytes) {
    emulator::mbarrier_arrive(&barrier, bytes);
}
EMULATED_INLINE void mbarrier_wait(Mbarrier& barrier, unsigned parity,
                                   emulator::Source source = {}) {
    emulator::mbarrier_wait(&barrier, parity, source);
}
EMULATED_INLINE void mbarrier_wait_by_warp(Mbarrier& barrier, unsigned parity,
                                           emulator::Source source = {}) {
    emulator::mbarrier_wait(&barrier, parity, source);
    __any_sync(0xffffffffu, 0, source);
}
EMULATED_INLINE void fence_mbarrier_init() { emulator::fence_mbarrier_init(); }

EMULATED_INLINE void bulk_load(void* shared, const void* global, unsigned bytes,
                               Mbarrier& barrier) {
    emulator::bulk_load(shared, global, bytes, &barrier);
}
EMULATED_INLINE void bulk_store(void* global, const void* shared, unsigned bytes) {
    emulator::bulk_store(global, shared, bytes);
}
EMULATED_INLINE void bulk_commit() { emulator::bulk_commit(); }
template <int GROUPS>
EMULATED_INLINE void bulk_wait_read(emulator::Source source = {}) {
    emulator::bulk_wait(GROUPS, true, source);
}
template <int GROUPS>
EMULATED_INLINE void bulk_wait(emulator::Source source = {}) {
    emulator::bulk_wait(GROUPS, false, source);
}
EMULATED_INLINE void fence_proxy_async() { emulator::fence_proxy_async(); }

}  // namespace warpfold
