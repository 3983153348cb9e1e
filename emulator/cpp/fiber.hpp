// Fibers: what the threads of a kernel run on. All of them share one thread of the host, and switch
// only where they say so.
#pragma once
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulator {

#if defined(__x86_64__)
/// Saves what a call must preserve and the stack in `*from`, and goes on where `to` was saved. The
/// C library's swapcontext does the same and asks the kernel for the signal mask, which takes
/// twenty times as long.
extern "C" void emulator_switch(void** from, void* to);
asm(R"(
.text
.type emulator_switch, @function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulator_switch, .-emulator_switch
)");
#endif

/// One fiber, which runs when it is resumed, until it pauses.
class Fiber {
    static constexpr size_t STACK = 128 << 10, GUARD = 4 << 10;
    /// Pages are as long as a way of the cache. Stacks that all began where a page does would fight
    /// for the same few lines.
    static constexpr size_t LINE = 64, PLACES = 64;
    static inline size_t places = 0;
    size_t place = places++ % PLACES * LINE;
    unsigned char* memory = nullptr;
#if defined(__x86_64__)
    void* stopped = nullptr;
    static inline void* scheduler = nullptr;
#else
    ucontext_t stopped;
    static inline ucontext_t scheduler;
#endif

public:
    Fiber() = default;
    Fiber(const Fiber&) = delete;
    ~Fiber() {
        if (memory) munmap(memory, STACK + GUARD);
    }

    /// Has the next resume() call `entry`, which must not return.
    void start(void (*entry)()) {
        if (!memory) {
            void* pages = mmap(nullptr, STACK + GUARD, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (pages == MAP_FAILED) __builtin_trap();
            memory = static_cast<unsigned char*>(pages);
            mprotect(memory, GUARD, PROT_NONE);
        }
#if defined(__x86_64__)
        // As if `entry` had been called from nowhere and had switched at once: six registers, and
        // where to go on.
        void** top = reinterpret_cast<void**>(memory + GUARD + STACK - place) - 2;
        *top = reinterpret_cast<void*>(entry);
        stopped = top - 6;
#else
        getcontext(&stopped);
        stopped.uc_stack.ss_sp = memory + GUARD;
        stopped.uc_stack.ss_size = STACK - place;
        makecontext(&stopped, entry, 0);
#endif
    }

    void resume() {
#if defined(__x86_64__)
        emulator_switch(&scheduler, stopped);
#else
        swapcontext(&scheduler, &stopped);
#endif
    }

    void pause() {
#if defined(__x86_64__)
        emulator_switch(&stopped, scheduler);
#else
        swapcontext(&stopped, &scheduler);
#endif
    }

    /// Whether an address lies in the fiber's own stack.
    bool holds(uintptr_t address) const {
        return address - reinterpret_cast<uintptr_t>(memory) < STACK + GUARD;
    }
};

}  // namespace emulator
