// The emulator: `emulator MODULE SCRIPT` loads a shared object of kernels and does what the script says.
//
//   seed N                               draws schedules and garbage from here on
//   buffer NAME SHIFT BYTES [FILE]       a heap block, whose data start SHIFT bytes after an address that a GPU
//                                        would give, and are read from the file, or else are garbage
//   launch KERNEL BLOCKS THREADS ARG…    an ARG is `null`, an address NAME+OFFSET, or a value =HEXBYTES
//   save NAME                            writes the buffer to the standard output
//   clear                                frees all buffers
//
// A broken rule ends the program with a message, as does whatever the sanitizers find.
#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <ucontext.h>

#include "emulator.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace {

constexpr size_t WARP = 32;
constexpr size_t STACK_BYTES = 128 << 10;

std::mt19937_64 random_bits;

[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("emulator: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

void fill_with_garbage(unsigned char* bytes, size_t count) {
    std::generate_n(bytes, count, [] { return (unsigned char)random_bits(); });
}

// ---- fibers --------------------------------------------------------------------------------------

/// A place to switch to and from, with what the address sanitizer wants to know about it.
struct Fiber {
    ucontext_t context;
    const void* stack = nullptr;
    size_t stack_bytes = 0;
    void* fake_stack = nullptr;
};

struct Thread : Fiber {
    std::unique_ptr<unsigned char[]> memory = std::make_unique_for_overwrite<unsigned char[]>(STACK_BYTES);
    unsigned index = 0;
    /// Where it waits: at no place if it does not, or has finished.
    const char* file = nullptr;
    int line = 0;
    bool finished = false;
    /// What it shuffles. Two, by turns: a lane may come to the next shuffle before another has read this one.
    unsigned shuffled[2] = {};
    unsigned shuffles = 0;
};

struct Barrier {
    size_t members = 0;
    std::vector<Thread*> waiting;
};

Fiber host;
Thread* current;
std::vector<Thread> threads;
std::vector<Thread*> ready;
std::vector<Barrier> warp_barriers;
Barrier block_barrier;
size_t unfinished;
/// One of two kinds of schedule: any thread that can goes on; or one warp runs ahead of the others, as far as
/// barriers allow, since its threads are the newest of those that can.
bool newest_first;
void (*kernel_call)(void* const*);
void* const* kernel_arguments;

/// `leaving` says that `from` will not be resumed.
void switch_fibers(Fiber& from, Fiber& to, bool leaving = false) {
    __sanitizer_start_switch_fiber(leaving ? nullptr : &from.fake_stack, to.stack, to.stack_bytes);
    swapcontext(&from.context, &to.context);
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
}

[[noreturn]] void fail_of_divergence() {
    std::map<std::string, int> places;
    for (const Thread& thread : threads) {
        if (thread.finished) places["have returned"]++;
        else if (thread.file) places["wait at " + std::string(thread.file) + ":" + std::to_string(thread.line)]++;
    }
    std::string message;
    for (auto& [place, count] : places) message += "\n  " + std::to_string(count) + " " + place;
    fail("the threads of block %u do not meet at one barrier:%s", blockIdx.x, message.c_str());
}

/// Goes on with a thread that can.
void resume_another(Fiber& self, bool leaving) {
    if (ready.empty()) fail_of_divergence();
    if (!newest_first) std::swap(ready[random_bits() % ready.size()], ready.back());
    Thread& next = *ready.back();
    ready.pop_back();
    current = &next;
    threadIdx = {next.index, 0, 0};
    if (&self != &next) switch_fibers(self, next, leaving);
}

void wait(Barrier& barrier, const char* file, int line) {
    Thread& self = *current;
    self.file = file;
    self.line = line;
    for (Thread* other : barrier.waiting)
        if (other->line != line || strcmp(other->file, file) != 0) fail_of_divergence();
    barrier.waiting.push_back(&self);
    if (barrier.waiting.size() == barrier.members) {
        std::shuffle(barrier.waiting.begin(), barrier.waiting.end(), random_bits);
        for (Thread* thread : barrier.waiting) thread->file = nullptr;
        ready.insert(ready.end(), barrier.waiting.begin(), barrier.waiting.end());
        barrier.waiting.clear();
    }
    resume_another(self, false);
}

void run_thread() {
    const void* stack;
    size_t stack_bytes;
    __sanitizer_finish_switch_fiber(nullptr, &stack, &stack_bytes);
    if (!host.stack) {  // the first thread of all was switched to from the host
        host.stack = stack;
        host.stack_bytes = stack_bytes;
    }
    kernel_call(kernel_arguments);
    current->finished = true;
    if (--unfinished == 0) switch_fibers(*current, host, true);
    else resume_another(*current, true);
}

void run_block() {
    warp_barriers.assign((threads.size() + WARP - 1) / WARP, {});
    block_barrier = {threads.size(), {}};
    unfinished = threads.size();
    newest_first = random_bits() % 2;
    for (unsigned i = 0; i < threads.size(); i++) {
        Thread& thread = threads[i];
        thread.index = i;
        thread.finished = false;
        thread.shuffles = 0;
        thread.stack = thread.memory.get();
        thread.stack_bytes = STACK_BYTES;
        // The frames that the last thread left for good still guard their variables.
        ASAN_UNPOISON_MEMORY_REGION(thread.memory.get(), STACK_BYTES);
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.memory.get();
        thread.context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&thread.context, run_thread, 0);
        // The address sanitizer forgets what it knows of a stack whose size stands here, at every switch.
        thread.context.uc_stack.ss_size = 0;
        warp_barriers[i / WARP].members++;
        ready.push_back(&thread);
    }
    std::shuffle(ready.begin(), ready.end(), random_bits);
    if (newest_first) {
        uint64_t salt = random_bits();
        auto rank = [salt](const Thread* thread) { return (thread->index / WARP + 1) * salt; };
        std::stable_sort(ready.begin(), ready.end(), [&](auto* a, auto* b) { return rank(a) < rank(b); });
    }
    resume_another(host, false);
}

// ---- modules -------------------------------------------------------------------------------------

/// The zero-initialised data of a module, which are the shared memory of its kernels.
struct SharedMemory {
    uintptr_t module_start = 0;
    unsigned char *begin = nullptr, *end = nullptr;

    /// Past the address sanitizer: there are guarded gaps between the variables.
    __attribute__((no_sanitize("address"))) void fill_with_garbage() {
        for (volatile unsigned char* byte = begin; byte != end; byte++) *byte = (unsigned char)random_bits();
    }
};

SharedMemory shared_memory_of(void* module) {
    link_map* map;
    if (dlinfo(module, RTLD_DI_LINKMAP, &map) != 0) fail("%s", dlerror());
    SharedMemory shared{map->l_addr};
    auto find = [](dl_phdr_info* info, size_t, void* data) {
        SharedMemory& shared = *static_cast<SharedMemory*>(data);
        if (info->dlpi_addr != shared.module_start) return 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
            const auto& segment = info->dlpi_phdr[i];
            if (segment.p_type != PT_LOAD || segment.p_memsz == segment.p_filesz) continue;
            unsigned char* start = reinterpret_cast<unsigned char*>(info->dlpi_addr + segment.p_vaddr);
            shared.begin = start + segment.p_filesz;
            shared.end = start + segment.p_memsz;
        }
        return 1;
    };
    dl_iterate_phdr(find, &shared);
    return shared;
}

void launch(const emulator::Kernel& kernel, SharedMemory shared, unsigned blocks, unsigned block_threads,
            void* const* arguments) {
    gridDim = {blocks, 1, 1};
    blockDim = {block_threads, 1, 1};
    kernel_call = kernel.call;
    kernel_arguments = arguments;
    if (threads.size() != block_threads) threads = std::vector<Thread>(block_threads);
    std::vector<unsigned> order(blocks);
    for (unsigned i = 0; i < blocks; i++) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_bits);
    for (unsigned block : order) {
        blockIdx = {block, 0, 0};
        shared.fill_with_garbage();
        run_block();
    }
}

// ---- scripts -------------------------------------------------------------------------------------

/// A heap block that ends where its data do, so that the address sanitizer sees what comes after; what
/// comes before, if they are shifted, is garbage that must stay as it is.
class Buffer {
    static constexpr std::align_val_t ALIGN{256};
    struct Free {
        void operator()(unsigned char* block) { operator delete[](block, ALIGN); }
    };
    std::vector<unsigned char> before;
    std::unique_ptr<unsigned char[], Free> block;
    size_t bytes;

public:
    Buffer(size_t shift, size_t bytes)
        : before(shift), block(static_cast<unsigned char*>(operator new[](shift + bytes, ALIGN))), bytes(bytes) {
        fill_with_garbage(block.get(), shift + bytes);
        std::copy_n(block.get(), shift, before.begin());
    }

    unsigned char* data() { return block.get() + before.size(); }

    void read(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file.read(reinterpret_cast<char*>(data()), (std::streamsize)bytes)) fail("%s is too short", path.c_str());
    }

    void save(const std::string& name) {
        if (!std::equal(before.begin(), before.end(), block.get())) fail("something wrote before %s", name.c_str());
        std::cout.write(reinterpret_cast<const char*>(data()), (std::streamsize)bytes);
    }
};

struct Interpreter {
    void* module;
    SharedMemory shared = shared_memory_of(module);
    std::map<std::string, Buffer> buffers{};

    Buffer& buffer(const std::string& name) {
        auto found = buffers.find(name);
        if (found == buffers.end()) fail("there is no buffer %s", name.c_str());
        return found->second;
    }

    std::vector<unsigned char> argument(const std::string& text) {
        std::vector<unsigned char> bytes;
        if (text.front() == '=') {
            for (size_t i = 1; i < text.size(); i += 2)
                bytes.push_back((unsigned char)std::stoul(text.substr(i, 2), nullptr, 16));
            return bytes;
        }
        unsigned char* address = nullptr;
        if (text != "null") {
            size_t plus = text.find('+');
            address = buffer(text.substr(0, plus)).data() + std::stoul(text.substr(plus + 1));
        }
        bytes.resize(sizeof address);
        memcpy(bytes.data(), &address, sizeof address);
        return bytes;
    }

    void launch_kernel(std::istream& words) {
        std::string name, word;
        unsigned blocks, block_threads;
        words >> name >> blocks >> block_threads;
        auto* kernel = static_cast<const emulator::Kernel*>(dlsym(module, ("emulated_" + name).c_str()));
        if (!kernel) fail("there is no kernel %s", name.c_str());
        std::vector<std::vector<unsigned char>> values;
        while (words >> word) values.push_back(argument(word));
        if (values.size() != kernel->count) fail("%s takes %zu arguments", name.c_str(), kernel->count);
        std::vector<void*> arguments;
        for (auto& value : values) {
            size_t size = kernel->sizes[arguments.size()];
            if (value.size() != size) fail("argument %zu of %s has %zu bytes", arguments.size(), name.c_str(), size);
            arguments.push_back(value.data());
        }
        launch(*kernel, shared, blocks, block_threads, arguments.data());
    }

    void execute(const std::string& line) {
        std::istringstream words(line);
        std::string command, name, file;
        size_t number = 0, shift = 0;
        words >> command;
        if (command == "seed" && words >> number) {
            random_bits.seed(number);
        } else if (command == "buffer" && words >> name >> shift >> number) {
            Buffer buffer(shift, number);
            if (words >> file) buffer.read(file);
            buffers.insert_or_assign(name, std::move(buffer));
        } else if (command == "launch") {
            launch_kernel(words);
        } else if (command == "save" && words >> name) {
            buffer(name).save(name);
        } else if (command == "clear") {
            buffers.clear();
        } else {
            fail("what does `%s` mean?", line.c_str());
        }
    }
};

Barrier& warp_barrier(unsigned mask) {
    if (mask != ~0u) fail("only barriers and shuffles of all lanes are emulated");
    return warp_barriers[current->index / WARP];
}

}  // namespace

void __syncthreads(const char* file, int line) { wait(block_barrier, file, line); }

void __syncwarp(unsigned mask, const char* file, int line) { wait(warp_barrier(mask), file, line); }

unsigned __shfl_xor_sync(unsigned mask, unsigned value, int lane_mask, const char* file, int line) {
    Barrier& barrier = warp_barrier(mask);
    if (barrier.members != WARP || (unsigned)lane_mask >= WARP) fail("%s:%d: no such lane", file, line);
    Thread& self = *current;
    unsigned turn = self.shuffles++ % 2;
    self.shuffled[turn] = value;
    wait(barrier, file, line);
    return threads[self.index ^ (unsigned)lane_mask].shuffled[turn];
}

int main(int count, char** arguments) {
    if (count != 3) fail("usage: emulator MODULE SCRIPT");
    void* module = dlopen(arguments[1], RTLD_NOW);
    if (!module) fail("%s", dlerror());
    Interpreter interpreter{module};
    std::ifstream script(arguments[2]);
    for (std::string line; std::getline(script, line);) interpreter.execute(line);
}
