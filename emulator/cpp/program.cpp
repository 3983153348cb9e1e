// The emulator: `emulator MODULE SCRIPT` loads a shared object of kernels and does what the script
// says.
//
//   seed N                       draws schedules from here on
//   buffer NAME SHIFT BYTES [FILE]
//                                global memory whose data start SHIFT bytes after an address that
//                                a GPU would give; from the file, or else not written yet
//   launch KERNEL BLOCKS THREADS SHARED RESIDENT ARG…
//                                SHARED is in bytes; RESIDENT is how many blocks live at a time, or
//                                0 for a number drawn from 1 to 8; an ARG is `null`, an address
//                                NAME+OFFSET, or a value =HEXBYTES, in which @PLACE:NAME+OFFSET
//                                puts an address at a byte
//   save NAME                    writes the buffer to the standard output; all of it must have been
//                                written
//   clear                        frees all buffers
//   start in order | start drawn whether blocks start in the order of their indices, or in one that
//                                is drawn, as at first
//   seconds N                    how long a launch may go on without any thread returning, or any
//                                block starting: seconds of the processor's time; 120 at first
//   count                        counts warp instructions from here on
//   tallies FILE                 writes what was counted: operation, place in the source, issued,
//                                lanes, sectors, lines, passes, conflicts
//   trace                        keeps each access that is counted from here on
//   touches FILE                 writes these: launch, block (by the order of starting), thread,
//                                step (how often its warp's lanes have met), operation, offset, bytes,
//                                buffer or shared variable; a shuffle reads the `lanes`
//
// A broken rule ends the program with a message. Kernels are compiled with the instrumentation of
// the thread sanitizer, whose calls end up here: that is how the emulator sees each load and store.
//
//   kernel.hpp     what a kernel finds in place of CUDA
//   machine.hpp    blocks, threads, barriers, exchanges, mbarriers, bulk copies
//   memory.hpp     what every load and store is checked for
//   clock.hpp      what happened before what
//   counters.hpp   warp instructions, memory requests, bank conflicts
//   fiber.hpp      what threads run on
#define WARPFOLD_EMULATOR_PROGRAM
#include "machine.hpp"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <link.h>
#include <sstream>
#include <sys/time.h>
#include <unistd.h>
#include <unwind.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {

// ---- places in a module ------------------------------------------------------------------------

struct Module {
    std::string path;
    void* handle = nullptr;
    uintptr_t start = 0, bytes = 0;

    void load(const char* file) {
        path = file;
        handle = dlopen(file, RTLD_NOW);
        if (!handle) fail(dlerror());
        link_map* map;
        if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) fail(dlerror());
        start = map->l_addr;
        auto measure = [](dl_phdr_info* info, size_t, void* data) {
            Module& self = *static_cast<Module*>(data);
            if (info->dlpi_addr != self.start) return 0;
            for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_LOAD)
                    self.bytes = std::max<uintptr_t>(
                        self.bytes, info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
            return 1;
        };
        dl_iterate_phdr(measure, this);
    }

    bool holds(uintptr_t address) const { return address - start < bytes; }

    /// The lines of places, the innermost of inlined functions first.
    std::vector<std::vector<std::string>> lines(const std::vector<Place>& places) const {
        std::ostringstream command;
        command << "addr2line -a -i -e '" << path << "'" << std::hex;
        for (Place place : places) command << " 0x" << place - 1;
        command << " 2>/dev/null";
        std::vector<std::vector<std::string>> result;
        if (FILE* output = popen(command.str().c_str(), "r")) {
            char line[4096];
            while (fgets(line, sizeof line, output)) {
                std::string text = line;
                text.erase(text.find_last_not_of("\r\n") + 1);
                if (text.starts_with("0x")) {
                    result.emplace_back();
                } else if (!result.empty()) {
                    text = text.substr(0, text.find(" (discriminator"));
                    result.back().push_back(text.substr(text.rfind('/') + 1));
                }
            }
            pclose(output);
        }
        result.resize(places.size());
        for (auto& found : result)
            if (found.empty()) found.push_back("a place that only addr2line could name");
        return result;
    }
};

Module module;

/// The arguments of the running launch, which its threads copy.
struct Arguments {
    std::vector<unsigned char> bytes;
    std::vector<void*> pointers;

    bool hold(uintptr_t address) const {
        return address - reinterpret_cast<uintptr_t>(bytes.data()) < bytes.size() ||
               address - reinterpret_cast<uintptr_t>(pointers.data()) <
                   pointers.size() * sizeof(void*);
    }
};
Arguments arguments;

Place place_of(void* return_address) {
    return (Place)(reinterpret_cast<uintptr_t>(return_address) - module.start);
}

/// Lines of the source, the innermost of inlined functions first. Those of the emulator's face say
/// little, and go unless there are no others.
std::vector<std::string> texts_of_places(const std::vector<Place>& places) {
    std::vector<std::string> texts;
    for (auto& lines : module.lines(places)) {
        auto is_face = [](const std::string& line) { return line.starts_with("kernel.hpp:"); };
        if (!std::all_of(lines.begin(), lines.end(), is_face)) std::erase_if(lines, is_face);
        texts.emplace_back();
        for (const std::string& line : lines)
            texts.back() += (texts.back().empty() ? "" : ", inlined at ") + line;
    }
    return texts;
}

std::string text_of_place(Place place) { return texts_of_places({place}).front(); }

void set_indices(unsigned thread, unsigned block) {
    threadIdx = {thread, 0, 0};
    blockIdx = {block, 0, 0};
}

std::string circumstances() {
    std::string text;
    if (current) text += "\nin " + text_of_thread(*current);
    if (launched) text += (current ? " of " : "\nin ") + launched->name;
    return text + "\nunder seed " + std::to_string(seed);
}

void fail(const std::string& message) {
    fflush(stdout);
    fprintf(stderr, "emulator: %s%s\n", message.c_str(), circumstances().c_str());
    if (!suspicion.empty() && !message.starts_with("a race"))
        fprintf(stderr, "and before that, %s\n", suspicion.c_str());
    _exit(1);
}

/// Before the undefined behaviour sanitizer, which has said what is wrong, ends the program.
void fail_of_undefined_behaviour() {
    fprintf(stderr, "emulator: undefined behaviour%s\n", circumstances().c_str());
}

// ---- endless loops -----------------------------------------------------------------------------

unsigned seconds = 120;

[[noreturn]] __attribute__((noinline)) void fail_of_accesses(Place place) {
    fail("an endless loop: " + text_of_thread(*current) + " has loaded and stored " +
         std::to_string(MOST_ACCESSES) +
         " times while no other thread had a turn; to wait for one takes load_relaxed or "
         "load_acquire\n  at " +
         text_of_place(place));
}

/// The innermost place of the running thread, for a signal.
Place interrupted_place() {
    Place place = 0;
    _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* found) {
            uintptr_t address = _Unwind_GetIP(frame);
            if (!module.holds(address)) return _URC_NO_REASON;
            *static_cast<Place*>(found) = place_of(reinterpret_cast<void*>(address));
            return _URC_END_OF_STACK;
        },
        &place);
    return place;
}

/// Each second of the processor's time. Where threads take turns the launch itself sees that it is
/// overdue. The last resort is for a thread that does nothing which the emulator sees: then the
/// signal may stop the run from within, since the thread holds none of the emulator's locks.
void tick(int) {
    static uint64_t seen;
    static unsigned idle;
    if (!launched || seen != milestones) {
        seen = milestones;
        idle = 0;
        return;
    }
    idle++;
    if (idle >= seconds) is_overdue = true;
    if (idle < seconds + 2 || !current) return;
    alarm(20);  // ends the program if even that fails
    Place place = interrupted_place();
    fail("an endless loop: " + text_of_thread(*current) +
         " has gone on alone for 2 seconds\n  at " +
         (place ? text_of_place(place) : "a place that is not the module's"));
}

void start_ticking() {
    struct sigaction action = {};
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGVTALRM, &action, nullptr);
    itimerval each_second = {{1, 0}, {1, 0}};
    setitimer(ITIMER_VIRTUAL, &each_second, nullptr);
}

// ---- loads and stores --------------------------------------------------------------------------

/// Whether an address is that of threadIdx, blockIdx, blockDim or gridDim, which are no memory on a
/// GPU.
bool is_index(uintptr_t address) {
    auto is_part = [address](const uint3& index) {
        return address - reinterpret_cast<uintptr_t>(&index) < sizeof index;
    };
    return is_part(threadIdx) || is_part(blockIdx) || is_part(blockDim) || is_part(gridDim);
}

/// A load or store of a kernel. `width` is what it is aligned to on a GPU, or 0 if it is not one
/// access there.
inline void touch(void* address, size_t bytes, size_t width, Reach reach, void* from) {
    uintptr_t number = reinterpret_cast<uintptr_t>(address);
    Thread& self = *current;
    if (++accesses > MOST_ACCESSES) fail_of_accesses(place_of(from));
    if (self.fiber->holds(number)) return;  // a local variable
    Region* holder = memory.holder(number, bytes);
    bool is_read = reach == Reach::READ;
    if (!holder && is_read && (arguments.hold(number) || is_index(number) || module.holds(number)))
        return;
    if (self.pending) show_stores_to(self, number, bytes);
    Place place = place_of(from);
    if (!holder && module.holds(number))
        fail("a write to a static variable\n  at " + text_of_place(place));
    if (width) check_alignment(number, width, place);
    Region& region = holder ? *holder : memory.find(number, bytes, place);
    check_begun(region, number, place);
    region.access(self, number, bytes, reach, false, place);
    if (!counters.on) return;
    using enum Operation;
    Operation operation = is_read ? (region.shared ? SHARED_LOAD : GLOBAL_LOAD)
                                  : (region.shared ? SHARED_STORE : GLOBAL_STORE);
    counters.add(self.agent, operation, place, number, bytes, &region);
}

}  // namespace emulator

// What the compiler calls an access of 16 bytes may be one of a struct that is aligned to 8. For a
// word of 16 the undefined behaviour sanitizer knows better.
#define SEE(BYTES)                                                                      \
    void __tsan_read##BYTES(void* p) {                                                  \
        touch(p, BYTES, std::min(BYTES, 8), Reach::READ, __builtin_return_address(0));  \
    }                                                                                   \
    void __tsan_write##BYTES(void* p) {                                                 \
        touch(p, BYTES, std::min(BYTES, 8), Reach::WRITE, __builtin_return_address(0)); \
    }                                                                                   \
    void __tsan_unaligned_read##BYTES(void* p) {                                        \
        touch(p, BYTES, 0, Reach::READ, __builtin_return_address(0));                   \
    }                                                                                   \
    void __tsan_unaligned_write##BYTES(void* p) {                                       \
        touch(p, BYTES, 0, Reach::WRITE, __builtin_return_address(0));                  \
    }                                                                                   \
    void __tsan_volatile_read##BYTES(void* p) {                                         \
        touch(p, BYTES, std::min(BYTES, 8), Reach::READ, __builtin_return_address(0));  \
    }                                                                                   \
    void __tsan_volatile_write##BYTES(void* p) {                                        \
        touch(p, BYTES, std::min(BYTES, 8), Reach::WRITE, __builtin_return_address(0)); \
    }

extern "C" {
using namespace emulator;
SEE(1)
SEE(2)
SEE(4)
SEE(8)
SEE(16)
void __tsan_read_range(void* p, size_t bytes) {
    touch(p, bytes, 0, Reach::READ, __builtin_return_address(0));
}
void __tsan_write_range(void* p, size_t bytes) {
    touch(p, bytes, 0, Reach::WRITE, __builtin_return_address(0));
}
void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    touch(const_cast<void*>(from), bytes, 0, Reach::READ, __builtin_return_address(0));
    touch(to, bytes, 0, Reach::WRITE, __builtin_return_address(0));
    return memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    touch(const_cast<void*>(from), bytes, 0, Reach::READ, __builtin_return_address(0));
    touch(to, bytes, 0, Reach::WRITE, __builtin_return_address(0));
    return memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, size_t bytes) {
    touch(to, bytes, 0, Reach::WRITE, __builtin_return_address(0));
    return memset(to, value, bytes);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}

// ---- scripts -----------------------------------------------------------------------------------

namespace {

std::map<std::string, Region> buffers;

Region& buffer(const std::string& name) {
    auto found = buffers.find(name);
    if (found == buffers.end()) fail("there is no buffer " + name);
    return found->second;
}

void make_buffer(const std::string& name, size_t shift, size_t bytes, const std::string& file) {
    auto [entry, is_new] = buffers.try_emplace(name, name, false, shift, bytes);
    if (!is_new) fail("there is a buffer " + name + " already");
    Region& region = entry->second;
    memory.add(region);
    if (file.empty()) return;
    std::ifstream stream(file, std::ios::binary);
    if (!stream.read(reinterpret_cast<char*>(region.data()), (std::streamsize)bytes))
        fail(file + " is too short");
    region.mark_written();
}

void save(const Region& region) {
    size_t unwritten = region.first_unwritten();
    if (unwritten < region.bytes)
        fail("nothing wrote byte " + std::to_string(unwritten) + " of the " +
             std::to_string(region.bytes) + " of " + region.name);
    std::cout.write(reinterpret_cast<const char*>(region.data()), (std::streamsize)region.bytes);
}

/// A number that is all of `digits`, which are a part of the argument `text`.
size_t number(std::string_view digits, int base, const std::string& text) {
    size_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || end != digits.data() + digits.size())
        fail("the argument `" + text + "` is not `null`, NAME+OFFSET or =HEXBYTES");
    return value;
}

/// The address that NAME+OFFSET names.
unsigned char* address(const std::string& text) {
    size_t plus = std::min(text.find('+'), text.size() - 1);
    size_t offset = number(std::string_view(text).substr(plus + 1), 10, text);
    return buffer(text.substr(0, plus)).data() + offset;
}

std::vector<unsigned char> argument(const std::string& text) {
    std::vector<unsigned char> bytes;
    std::string_view view = text;
    unsigned char* pointer = nullptr;
    if (text.front() == '=') {
        size_t end = std::min(text.find('@'), text.size());
        for (size_t i = 1; i < end; i += 2)
            bytes.push_back((unsigned char)number(view.substr(i, 2), 16, text));
        while (end < text.size()) {
            size_t colon = std::min(text.find(':', end), text.size() - 1),
                   next = std::min(text.find('@', colon), text.size());
            size_t place = number(view.substr(end + 1, colon - end - 1), 10, text);
            pointer = address(text.substr(colon + 1, next - colon - 1));
            if (place + sizeof pointer > bytes.size())
                fail("the argument `" + text + "` has no byte " + std::to_string(place));
            memcpy(bytes.data() + place, &pointer, sizeof pointer);
            end = next;
        }
        return bytes;
    }
    if (text != "null") pointer = address(text);
    bytes.resize(sizeof pointer);
    memcpy(bytes.data(), &pointer, sizeof pointer);
    return bytes;
}

void launch_kernel(std::istream& words) {
    std::string name, word;
    unsigned blocks = 0, threads = 0, resident = 0;
    size_t shared = 0;
    if (!(words >> name >> blocks >> threads >> shared >> resident))
        fail("a launch lacks its name or one of its numbers");
    auto* kernel = static_cast<const Kernel*>(dlsym(module.handle, ("emulated_" + name).c_str()));
    if (!kernel) fail("there is no kernel " + name);
    if (blocks == 0) fail("a grid has a block at least");
    if (threads == 0 || threads > 1024)
        fail("a block has 1 to 1024 threads, and not " + std::to_string(threads));
    constexpr size_t ALIGN = 16;
    std::vector<size_t> offsets;
    arguments.bytes.clear();
    while (words >> word) {
        std::vector<unsigned char> value = argument(word);
        size_t size = offsets.size() < kernel->count ? kernel->sizes[offsets.size()] : 0;
        if (value.size() != size)
            fail("argument " + std::to_string(offsets.size()) + " of " + name + " has " +
                 std::to_string(size) + " bytes");
        offsets.push_back(arguments.bytes.size());
        arguments.bytes.insert(arguments.bytes.end(), value.begin(), value.end());
        arguments.bytes.resize((arguments.bytes.size() + ALIGN - 1) / ALIGN * ALIGN);
    }
    if (offsets.size() != kernel->count)
        fail(name + " takes " + std::to_string(kernel->count) + " arguments");
    arguments.pointers.clear();
    for (size_t offset : offsets) arguments.pointers.push_back(arguments.bytes.data() + offset);
    if (resident == 0) resident = 1 + (unsigned)draw(std::min(blocks, 8u));
    gridDim = {blocks, 1, 1};
    blockDim = {threads, 1, 1};
    launch({kernel, name, blocks, threads, shared, resident, arguments.pointers.data()});
}

void write_tallies(const std::string& path) {
    std::ofstream file(path);
    for (auto& [key, tally] : counters.tallies)
        file << NAMES[(int)key.second] << ' ' << key.first.substr(0, key.first.find(',')) << ' '
             << tally.issued << ' ' << tally.lanes << ' ' << tally.sectors << ' ' << tally.lines
             << ' ' << tally.passes << ' ' << tally.conflicts << '\n';
    if (!file.flush()) fail(path + " cannot be written");
}

void write_touches(const std::string& path) {
    std::ofstream file(path);
    for (const Touch& touch : counters.touches)
        file << touch.launch << ' ' << touch.agent.block << ' ' << touch.agent.index << ' '
             << touch.step << ' ' << NAMES[(int)touch.operation] << ' ' << touch.offset << ' '
             << touch.bytes << ' ' << touch.region << '\n';
    if (!file.flush()) fail(path + " cannot be written");
}

void execute(const std::string& line) {
    std::istringstream words(line);
    std::string command, name, file;
    size_t bytes = 0, shift = 0;
    words >> command;
    if (command == "seed" && words >> seed) {
        random_bits.seed(seed);
    } else if (command == "buffer" && words >> name >> shift >> bytes) {
        words >> file;
        make_buffer(name, shift, bytes, file);
    } else if (command == "launch") {
        launch_kernel(words);
    } else if (command == "save" && words >> name) {
        save(buffer(name));
    } else if (command == "clear") {
        for (auto& [key, region] : buffers) memory.remove(region);
        buffers.clear();
    } else if (line == "start in order") {
        starts_in_order = true;
    } else if (line == "start drawn") {
        starts_in_order = false;
    } else if (command == "seconds" && words >> seconds) {
    } else if (command == "count") {
        counters.on = true;
        counters.tallies.clear();
    } else if (command == "tallies" && words >> file) {
        write_tallies(file);
    } else if (command == "trace") {
        counters.traces = true;
    } else if (command == "touches" && words >> file) {
        write_touches(file);
    } else {
        fail("what does `" + line + "` mean?");
    }
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) fail("usage: emulator MODULE SCRIPT");
    module.load(words[1]);
    using Callback = void (*)();
    if (void* symbol = dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback"))
        reinterpret_cast<void (*)(Callback)>(symbol)(fail_of_undefined_behaviour);
    start_ticking();
    std::ifstream script(words[2]);
    if (!script) fail(std::string(words[2]) + " cannot be read");
    for (std::string line; std::getline(script, line);) execute(line);
    std::cout.flush();
    if (!std::cout) fail("the results cannot be written");
}
