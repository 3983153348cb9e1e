// The machine: blocks that live at the same time, their threads, and all the ways in which threads
// wait for each other.
//
// A thread runs until it must wait, touches memory atomically, or returns. The seed decides which
// thread goes on: any that can, or the newest of those, so that one warp runs ahead of the others
// as far as barriers allow. Blocks start in any order, and no more live at a time than the launch
// says. So a block that waits for one that has not started may wait for ever. A bulk copy is made
// at some time between its start and the last moment at which another thread can do without it. So
// is an atomic store: other threads see those of one thread to several places in any order, unless
// a fence, a barrier or a release stands between them. Loads are made at once: the emulator does
// not delay them.
#pragma once
#include "counters.hpp"
#include "fiber.hpp"
#include "kernel.hpp"
#include <deque>
#include <random>

namespace emulator {

constexpr unsigned LANES = 32;
constexpr size_t STATIC_SHARED_BYTES = 48 << 10, SHARED_BYTES = 227 << 10;
/// Bulk copies that can be under way in a block, for what the thread that begins one more knows.
constexpr unsigned COPIES = 32;
/// The agents of these copies: of each, one reads and one writes.
constexpr unsigned COPY_AGENTS = 2 * COPIES;
/// Bytes that an mbarrier can lack, or have got before they were expected.
constexpr int64_t MBARRIER_BYTES = (1 << 20) - 1;
/// After this many atomic accesses in a row, without anything else happening, nothing will happen
/// any more.
constexpr uint64_t PATIENCE = 200'000;
/// After this many loads and stores of a thread in a row, without a turn for others, it will go on
/// for ever. A loop that waits by such loads keeps the thread that it waits for from its turn.
constexpr uint64_t MOST_ACCESSES = 10'000'000;
/// Atomic stores that can be pending.
constexpr size_t PENDING_STORES = 64;

/// What is passed on where threads synchronise.
struct Knowledge {
    Clock seen, fenced, depends;

    void add(const Knowledge& other) {
        seen = join(seen, other.seen);
        fenced = join(fenced, other.fenced);
        depends = join(depends, other.depends);
    }
};

/// Knowledge by whom it reaches. What only a fence for the block passed on reaches threads of that
/// block alone.
struct ByScope {
    Knowledge everywhere, in_block;
};

/// What atomic stores to an address left there for loads.
struct Left {
    Knowledge for_all;
    std::map<unsigned, Knowledge> for_blocks;  // by their numbers
    Clock source;  // of the value, as far as anybody can tell: see Actor::depends
};

/// The bulk stores that a thread committed together.
struct CopyGroup {
    size_t unread = 0, unwritten = 0;
    Clock reads, writes;
    bool waited_for = false;
    Place place = 0;  // of one of the copies, if there are any
};

struct Block;

struct Thread : Actor {
    Block* block = nullptr;
    unsigned index = 0;
    std::unique_ptr<Fiber> fiber;
    bool begun = false, returned = false;
    /// What it waits for, if it does: told when all wait.
    const char* waits = nullptr;
    Source source{nullptr, 0};
    const void* object = nullptr;
    unsigned number = 0;
    /// What it looks at or writes, if it has just begun an atomic access.
    uintptr_t looks_at = 0;
    Place looks_from = 0;
    bool is_writing = false;
    /// Its atomic stores that are pending.
    unsigned pending = 0;
    /// What it got from the last exchange.
    unsigned long long result = 0;
    /// What atomic stores pass on since its last fence, and what atomic loads met that a fence
    /// would make known.
    ByScope released, met;
    std::shared_ptr<CopyGroup> open_group = std::make_shared<CopyGroup>();
    std::deque<std::shared_ptr<CopyGroup>> groups;

    unsigned lane() const { return index % LANES; }

    /// Ends its step: what it did until now is what the result says, and what it does next is not.
    Knowledge release() {
        Gathering all;
        all.add(seen);
        all.add(agent, step++, numbering.agents_of_a_block);
        return {all.clock(), fenced, depends};
    }
    void acquire(const Knowledge& other) {
        seen = join(seen, other.seen);
        fenced = join(fenced, other.fenced);
        depends = join(depends, other.depends);
    }
};

/// An atomic store that its thread has made and others do not see yet. A thread's stores to one
/// place keep their order.
struct PendingStore {
    Thread* thread;  // null once its block is gone
    Id id;
    unsigned char* to;
    size_t bytes;
    unsigned char value[16];
    Left left;

    bool overlaps(uintptr_t address, size_t count) const {
        uintptr_t start = reinterpret_cast<uintptr_t>(to);
        return address < start + bytes && start < address + count;
    }
};

/// What lanes meet for.
struct Purpose {
    unsigned mask;
    bool is_barrier;
    Exchange what;
    Source source;
};

/// Lanes that meet to exchange values, or at a warp's barrier.
struct Meeting : Purpose {
    unsigned arrived = 0;
    unsigned long long values[LANES] = {};
    int from[LANES] = {};
};

struct BlockBarrier {
    std::vector<Thread*> waiting;
    /// Whether one of those that wait says yes.
    bool some_say_yes = false;
    Source source{nullptr, 0};
};

struct MbarrierState {
    unsigned count = 0, missing = 0;
    int64_t bytes = 0;
    unsigned phase = 0;
    Knowledge gathered, completed;
    std::vector<Thread*> waiting;
    Access initialised;
    bool fenced = false;
};

struct Copy {
    Block* block;
    bool is_load;
    unsigned char *shared, *global;
    size_t bytes;
    uintptr_t barrier = 0;
    Place place;
    Actor reader, writer;
    std::shared_ptr<CopyGroup> group;
    std::vector<unsigned char> data;
    bool read = false;
};

/// The numbers of a copy's two agents, and then those of later copies in the same slot. A thread
/// that knows of a later copy must know of this one too: either the thread that began the later one
/// did, or both are stores of one thread, which waits for them in order.
struct CopySlot {
    uint32_t step = 0;  // of the last copy
    const Thread* storer = nullptr;
};

struct Block {
    unsigned number, index;
    std::vector<Thread> threads;
    size_t living;
    std::vector<unsigned> active;                // of each warp: the lanes that have not returned
    std::vector<std::vector<Meeting>> meetings;  // of each warp
    BlockBarrier barrier;
    std::map<uintptr_t, MbarrierState> mbarriers;
    std::map<const char*, std::unique_ptr<Region>> variables;
    std::unique_ptr<Region> dynamic;
    CopySlot slots[COPIES];
};

struct Launch {
    const Kernel* kernel;
    std::string name;
    unsigned blocks, threads;
    size_t shared_bytes;
    unsigned resident;
    void* const* arguments;
};

inline std::mt19937_64 random_bits;
inline uint64_t seed;
inline Memory memory;
inline Counters counters;

inline const Launch* launched;
inline bool starts_in_order = false;
inline std::vector<unsigned> order;  // of the blocks: which one is started as number …
inline std::vector<std::unique_ptr<Block>> living_blocks;
inline size_t started_blocks;
inline std::vector<Thread*> ready;
inline std::vector<std::unique_ptr<Copy>> copies;
inline std::vector<PendingStore> pending_stores;  // those of a thread in the order of its program
inline std::vector<std::unique_ptr<Fiber>> spare_fibers;
inline std::map<uintptr_t, Left> left;  // by atomic stores, at their addresses
inline Thread* current;
inline uint64_t polls;
inline uint64_t accesses;  // of the running thread, since it was its turn
/// Blocks that have started and threads that have returned. Where this stays as it is for too long,
/// nothing will end.
inline volatile uint64_t milestones;
inline volatile bool is_overdue;
inline bool newest_first, copies_first, stores_first;
/// A read of what nothing wrote, so far.
inline std::string suspicion;

Place place_of(void* return_address);
extern unsigned
    seconds;  // of the processor's time that a launch may go on without a thread returning
std::vector<std::string> texts_of_places(const std::vector<Place>& places);
void set_indices(unsigned thread, unsigned block);

inline uint64_t draw(uint64_t below) { return random_bits() % below; }

std::string text_of_thread(const Thread& thread) {
    return "thread " + std::to_string(thread.index) + " of block " +
           std::to_string(thread.block->index);
}

std::string text_of_agent(Id id) {
    Agent agent = numbering.agent(id);
    std::string block = "block " + std::to_string(order[agent.block]);
    if (agent.index >= launched->threads) return "a bulk copy of " + block;
    return "thread " + std::to_string(agent.index) + " of " + block;
}

std::string text_of_source(Source source) {
    return std::string(source.file) + ":" + std::to_string(source.line);
}

bool same(Source a, Source b) { return a.line == b.line && strcmp(a.file, b.file) == 0; }

bool Region::wrote_as_copy(const Access& write) {
    return write.id >= numbering.first && numbering.agent(write.id).index >= launched->threads;
}

void suspect_read(const Region& region, size_t byte, Place place) {
    if (!suspicion.empty()) return;
    suspicion = "a read of what nothing wrote: byte " + std::to_string(byte) + " of " +
                region.name + "\n  at " + text_of_place(place);
    if (current) suspicion += "\nin " + text_of_thread(*current) + " of " + launched->name;
}

void progress() { polls = 0; }

// ---- pending stores ----------------------------------------------------------------------------

/// Makes a store visible, or else an earlier one of its thread to the same place.
void show_store(size_t which) {
    for (size_t i = 0; i < which; i++) {
        const PendingStore& later = pending_stores[which];
        uintptr_t address = reinterpret_cast<uintptr_t>(later.to);
        if (pending_stores[i].id == later.id && pending_stores[i].overlaps(address, later.bytes))
            return show_store(i);
    }
    PendingStore store = std::move(pending_stores[which]);
    pending_stores.erase(pending_stores.begin() + (ptrdiff_t)which);
    uintptr_t address = reinterpret_cast<uintptr_t>(store.to);
    memcpy(store.to, store.value, store.bytes);
    memory.find(address, store.bytes, 0).mark_written(address, store.bytes);
    left[address] = std::move(store.left);
    if (store.thread) store.thread->pending--;
    progress();
}

/// Makes the stores of a thread visible that `choose` takes.
template <class Choose>
void show_stores(const Thread& thread, Choose choose) {
    for (size_t i = 0; thread.pending && i < pending_stores.size();) {
        if (pending_stores[i].thread == &thread && choose(pending_stores[i])) {
            show_store(i);
            i = 0;
        } else {
            i++;
        }
    }
}

/// Before others learn what a thread has done.
void show_stores(const Thread& thread) {
    show_stores(thread, [](auto&) { return true; });
}

/// A thread sees its own stores.
void show_stores_to(const Thread& thread, uintptr_t address, size_t bytes) {
    show_stores(thread, [=](const PendingStore& store) { return store.overlaps(address, bytes); });
}

// ---- waiting and going on ----------------------------------------------------------------------

/// Lets others go on until one of them wakes this thread.
void wait_for(const char* what, Source source, const void* object = nullptr, unsigned number = 0) {
    Thread& self = *current;
    self.waits = what;
    self.source = source;
    self.object = object;
    self.number = number;
    self.fiber->pause();
}

void wake(Thread& thread) {
    thread.waits = nullptr;
    ready.push_back(&thread);
    progress();
}

void wake_all(std::vector<Thread*>& threads) {
    std::shuffle(threads.begin(), threads.end(), random_bits);
    for (Thread* thread : threads) wake(*thread);
    threads.clear();
}

/// The threads that met know what any of them knew.
void synchronise(const std::vector<Thread*>& threads) {
    Gathering seen, fenced, depends;
    for (Thread* thread : threads) {
        show_stores(*thread);
        seen.add(thread->seen);
        seen.add(thread->agent, thread->step++, numbering.agents_of_a_block);
        fenced.add(thread->fenced);
        depends.add(thread->depends);
    }
    Knowledge all{seen.clock(), fenced.clock(), depends.clock()};
    for (Thread* thread : threads) {
        thread->seen = all.seen;
        thread->fenced = all.fenced;
        thread->depends = all.depends;
    }
}

std::string text_of_wait(const Block& block, const Thread& thread) {
    if (thread.returned) return "returned";
    if (thread.looks_at)
        return (thread.is_writing ? "is about to write " : "looks at ") +
               memory.find(thread.looks_at, 1, 0).at(thread.looks_at) + ", at " +
               text_of_place(thread.looks_from);
    if (!thread.waits) return "could go on";
    std::string text =
        std::string("waits at ") + text_of_source(thread.source) + " for " + thread.waits;
    if (thread.waits == std::string("an mbarrier")) {
        auto& barrier = block.mbarriers.at(reinterpret_cast<uintptr_t>(thread.object));
        text += " at " + memory.find(reinterpret_cast<uintptr_t>(thread.object), 8, 0)
                             .at(reinterpret_cast<uintptr_t>(thread.object));
        text += " to complete a phase of parity " + std::to_string(thread.number) + "; it lacks " +
                std::to_string(barrier.missing) + " arrivals and " + std::to_string(barrier.bytes) +
                " bytes";
    }
    return text;
}

/// Stops the run with what each thread waits for, or does.
[[noreturn]] void fail_of_all(std::string message) {
    for (auto& block : living_blocks) {
        std::map<std::string, std::vector<unsigned>> groups;
        for (const Thread& thread : block->threads)
            groups[text_of_wait(*block, thread)].push_back(thread.index);
        for (auto& [text, threads] : groups) {
            message += "\n  block " + std::to_string(block->index) + ": thread " +
                       std::to_string(threads.front());
            if (threads.size() > 1)
                message += " and " + std::to_string(threads.size() - 1) + " others";
            message += ": " + text;
        }
    }
    if (started_blocks < order.size()) {
        message += "\n  not started, since no more than " + std::to_string(launched->resident) +
                   " blocks live at a time: block";
        size_t end = std::min(order.size(), started_blocks + 16);
        if (end > started_blocks + 1) message += "s";
        for (size_t i = started_blocks; i < end; i++)
            message += (i > started_blocks ? ", " : " ") + std::to_string(order[i]);
        if (end < order.size()) message += " and " + std::to_string(order.size() - end) + " others";
    }
    current = nullptr;
    fail(message);
}

[[noreturn]] void fail_of_deadlock() { fail_of_all("a deadlock: nobody can go on"); }

/// Lets others go on, if the schedule wants it.
void yield() {
    if (++polls > PATIENCE + 100 * ready.size()) fail_of_deadlock();
    Thread& self = *current;
    ready.push_back(&self);
    std::swap(ready.back(), ready[draw(ready.size())]);
    self.fiber->pause();
}

// ---- barriers and exchanges --------------------------------------------------------------------

unsigned lane() { return current->lane(); }

unsigned active_lanes() {
    Thread& self = *current;
    return self.block->active[self.index / LANES];
}

bool meet_block(bool says_yes, Source source, Place place) {
    Thread& self = *current;
    Block& block = *self.block;
    counters.add(self.agent, Operation::BLOCK_BARRIER, place);
    BlockBarrier& barrier = block.barrier;
    if (barrier.waiting.empty()) {
        barrier.source = source;
    } else if (!same(barrier.source, source)) {
        fail("a divergent barrier: " + text_of_thread(self) + " comes to " +
             text_of_source(source) + " while " + text_of_thread(*barrier.waiting.front()) +
             " waits at " + text_of_source(barrier.source));
    }
    barrier.waiting.push_back(&self);
    barrier.some_say_yes |= says_yes;
    if (block.living < block.threads.size())
        fail("a divergent barrier: " + text_of_thread(self) + " comes to " +
             text_of_source(source) + ", but " +
             std::to_string(block.threads.size() - block.living) +
             " threads of the block have returned");
    if (barrier.waiting.size() == block.threads.size()) {
        synchronise(barrier.waiting);
        for (Thread* thread : barrier.waiting) {
            counters.meet(thread->agent);
            thread->result = barrier.some_say_yes;
        }
        barrier.some_say_yes = false;
        wake_all(barrier.waiting);
        self.fiber->pause();
    } else {
        wait_for("a barrier of the block", source);
    }
    return self.result != 0;
}
void synchronise_block(Source source) {
    meet_block(false, source, place_of(__builtin_return_address(0)));
}
bool synchronise_block_or(bool says_yes, Source source) {
    return meet_block(says_yes, source, place_of(__builtin_return_address(0)));
}

void finish(Meeting& meeting, std::vector<Thread*>& lanes) {
    using enum Exchange;
    unsigned long long combined = meeting.values[lanes.front()->lane()];
    unsigned ballot = 0;
    for (Thread* thread : lanes) {
        unsigned long long value = meeting.values[thread->lane()];
        if (value) ballot |= 1u << thread->lane();
        if (thread == lanes.front()) continue;
        if (meeting.what == ADD) combined += value;
        if (meeting.what == MIN) combined = std::min((long long)combined, (long long)value);
        if (meeting.what == MAX) combined = std::max((long long)combined, (long long)value);
        if (meeting.what == AND) combined &= value;
        if (meeting.what == OR) combined |= value;
        if (meeting.what == XOR) combined ^= value;
    }
    for (Thread* thread : lanes) {
        switch (meeting.what) {
            case SHUFFLE: thread->result = meeting.values[meeting.from[thread->lane()]]; break;
            case BALLOT: thread->result = ballot; break;
            case ALL: thread->result = ballot == meeting.mask; break;
            case ANY: thread->result = ballot != 0; break;
            case MATCH:
                thread->result = 0;
                for (Thread* other : lanes)
                    if (meeting.values[other->lane()] == meeting.values[thread->lane()])
                        thread->result |= 1u << other->lane();
                break;
            default: thread->result = combined;
        }
    }
}

/// Comes to a meeting of the lanes of `mask`.
void meet(const Purpose& meeting, unsigned long long value, int from, Place place) {
    Thread& self = *current;
    Block& block = *self.block;
    const char* what = meeting.is_barrier ? "a barrier of the warp" : "an exchange between lanes";
    unsigned bit = 1u << self.lane(), first = self.index - self.lane();
    auto here = [&] { return " at " + text_of_source(meeting.source); };
    if (!(meeting.mask & bit))
        fail(std::string(what) + " that does not name the lane which comes to it\n " + here());
    if (unsigned inactive = meeting.mask & ~active_lanes()) {
        unsigned i = (unsigned)std::countr_zero(inactive);
        fail(std::string(what) + " with an inactive lane: it names lane " + std::to_string(i) +
             (first + i >= block.threads.size() ? ", which is not there" : ", which has returned") +
             "\n " + here());
    }
    if (!meeting.is_barrier && meeting.what == Exchange::SHUFFLE) {
        if (from < 0 || from >= (int)LANES)
            fail("a shuffle from lane " + std::to_string(from) + ", which there is not\n " +
                 here());
        if (!(meeting.mask >> from & 1))
            fail("a shuffle from an inactive lane: lane " + std::to_string(from) +
                 " is not named by the mask\n " + here());
    }
    if (meeting.is_barrier) counters.add(self.agent, Operation::WARP_BARRIER, place);
    else counters.add_exchange(self.agent, place, from);

    // Lanes that wait for each other at different places would wait for ever.
    auto& meetings = block.meetings[self.index / LANES];
    auto found = meetings.end();
    for (auto other = meetings.begin(); other != meetings.end(); other++) {
        if (other->mask == meeting.mask && other->is_barrier == meeting.is_barrier &&
            other->what == meeting.what && same(other->source, meeting.source))
            found = other;
        else if ((other->mask & bit) && (other->arrived & meeting.mask))
            fail("lanes of a warp diverge: lane " + std::to_string(self.lane()) + " comes to " +
                 what + here() + ", while others of the lanes that it names wait at " +
                 text_of_source(other->source));
    }
    if (found == meetings.end()) found = meetings.insert(meetings.end(), Meeting{meeting});
    found->arrived |= bit;
    found->values[self.lane()] = value;
    found->from[self.lane()] = from;
    if (found->arrived != found->mask) return wait_for(what, meeting.source);

    std::vector<Thread*> lanes;
    for (unsigned i = 0; i < LANES; i++)
        if (found->mask >> i & 1) lanes.push_back(&block.threads[first + i]);
    if (meeting.is_barrier) synchronise(lanes);
    else finish(*found, lanes);
    counters.meet(self.agent);
    meetings.erase(found);
    wake_all(lanes);
    self.fiber->pause();
}

void synchronise_warp(unsigned mask, Source source) {
    meet({mask, true, {}, source}, 0, 0, place_of(__builtin_return_address(0)));
}

unsigned long long exchange(Exchange what, unsigned mask, unsigned long long value, int from,
                            Source source) {
    Thread& self = *current;
    meet({mask, false, what, source}, value, from, place_of(__builtin_return_address(0)));
    return self.result;
}

// ---- memory ------------------------------------------------------------------------------------

void check_shared_bytes(size_t bytes) {
    if (bytes > SHARED_BYTES)
        fail("a block has 227 KiB of shared memory, variables and dynamic, and not " +
             std::to_string(bytes) + " bytes");
}

void* shared_variable(size_t bytes, size_t align, const char* name) {
    Block& block = *current->block;
    auto& region = block.variables[name];
    if (!region) {
        size_t together = bytes;
        for (auto& [other, variable] : block.variables)
            if (variable) together += variable->bytes;
        if (together > STATIC_SHARED_BYTES)
            fail("a block has 48 KiB of shared variables, and not " + std::to_string(together) +
                 " bytes");
        check_shared_bytes(together + launched->shared_bytes);
        if (align > 256) fail("shared variables are aligned to 256 bytes at most");
        std::string text = name;  // … [with T = X] or [T = X]
        size_t start = text.find("T = ");
        region = std::make_unique<Region>(
            "shared " + text.substr(start + 4, text.size() - start - 5), true, 0, bytes);
        memory.add(*region);
    }
    return region->data();
}

[[noreturn]] void trap(const char* why) {
    fail(std::string("a trap: ") + why + "\n  at " +
         text_of_place(place_of(__builtin_return_address(0))));
}

void* dynamic_shared_memory() {
    Region* region = current->block->dynamic.get();
    if (!region) fail("the launch gives no dynamic shared memory");
    return region->data();
}

void check_alignment(uintptr_t address, size_t bytes, Place place) {
    if (address % bytes != 0)
        fail("a misaligned access of " + std::to_string(bytes) + " bytes\n  at " +
             text_of_place(place));
}

void begin_launch() { current->begun = true; }

/// Threads may touch global memory once they have waited for what precedes the launch.
void check_begun(const Region& region, uintptr_t address, Place place) {
    if (!region.shared && !current->begun)
        fail("a missing begin_launch(): " + text_of_thread(*current) + " touches " +
             region.at(address) + " before it\n  at " + text_of_place(place));
}

/// The layer's loads and stores are for words through which blocks communicate, but for one.
void check_space(const Region& region, bool shared, Place place) {
    if (region.shared == shared) return;
    const char* memory[] = {"global", "shared"};
    fail(std::string("an access to ") + memory[!shared] + " memory by a function for " +
         memory[shared] + " memory\n  at " + text_of_place(place));
}

/// Touches memory as atomic operations do.
Region& touch_atomically(const void* address, size_t bytes, Reach reach, void* from) {
    uintptr_t number = reinterpret_cast<uintptr_t>(address);
    Place place = place_of(from);
    check_alignment(number, bytes, place);
    current->looks_at = number;
    current->looks_from = place;
    current->is_writing = reach == Reach::WRITE;
    yield();
    current->looks_at = 0;
    if (reach != Reach::WRITE) show_stores_to(*current, number, bytes);
    Region& region = memory.find(number, bytes, place);
    check_begun(region, number, place);
    region.access(*current, number, bytes, reach, true, place);
    counters.add(current->agent, Operation::ATOMIC, place, number, bytes, &region);
    return region;
}

/// What a relaxed load or update meets, and a fence after it makes known.
void meet(Left& here) {
    current->met.everywhere.add(here.for_all);
    current->met.in_block.add(here.for_blocks[current->block->number]);
}

void load(const void* from, void* to, size_t bytes, Order order, bool shared) {
    check_space(touch_atomically(from, bytes, Reach::READ, __builtin_return_address(0)), shared,
                current->looks_from);
    memcpy(to, from, bytes);
    auto found = left.find(reinterpret_cast<uintptr_t>(from));
    if (found == left.end()) return;
    Left& here = found->second;
    current->depends = join(current->depends, here.source);
    if (order != Order::ACQUIRE) return meet(here);
    current->acquire(here.for_all);
    current->acquire(here.for_blocks[current->block->number]);
}

void store(void* to, const void* from, size_t bytes, Order order) {
    if (order == Order::RELEASE) show_stores(*current);
    check_space(touch_atomically(to, bytes, Reach::WRITE, __builtin_return_address(0)), false,
                current->looks_from);
    Knowledge mine = current->release();
    ByScope passed = order == Order::RELEASE ? ByScope{mine, mine} : current->released;
    PendingStore store{current, current->id, static_cast<unsigned char*>(to), bytes, {}, {}};
    memcpy(store.value, from, bytes);
    store.left = {passed.everywhere,
                  {{current->block->number, passed.in_block}},
                  join(mine.seen, mine.depends)};
    current->pending++;
    pending_stores.push_back(std::move(store));
    if (pending_stores.size() > PENDING_STORES) show_store(draw(PENDING_STORES));
}

/// Updates are relaxed, as CUDA's are, and carry on what the stores before them released. They are
/// made at once, and so pass stores that are pending.
void* begin_update(void* address, size_t bytes, void* place) {
    touch_atomically(address, bytes, Reach::UPDATE, place);
    Left& here = left[reinterpret_cast<uintptr_t>(address)];
    meet(here);
    here.for_all.add(current->released.everywhere);
    here.for_blocks[current->block->number].add(current->released.in_block);
    return address;
}

/// An update that changes nothing may be one of those by which threads wait, as in `while
/// (atomicCAS(…) != 1) {}`.
void end_update(bool changed) {
    if (changed) progress();
}

void fence() {
    show_stores(*current);
    current->acquire(current->met.everywhere);
    current->acquire(current->met.in_block);
    current->released.everywhere = current->released.in_block = current->release();
}

/// Shows the thread's stores to all, although it promises that to the block only.
void fence_block() {
    show_stores(*current);
    current->acquire(current->met.in_block);
    current->released.in_block = current->release();
}

// ---- mbarriers and bulk copies -----------------------------------------------------------------

MbarrierState& mbarrier_at(const Block& block, const void* barrier, Place place) {
    uintptr_t address = reinterpret_cast<uintptr_t>(barrier);
    check_alignment(address, 8, place);
    auto& all = const_cast<Block&>(block).mbarriers;
    auto found = all.find(address);
    if (found == all.end())
        fail("an mbarrier that nobody initialised\n  at " + text_of_place(place));
    return found->second;
}

/// The mbarrier, as a thread that must know that it is initialised finds it.
MbarrierState& known_mbarrier(const void* barrier, Place place) {
    MbarrierState& state = mbarrier_at(*current->block, barrier, place);
    if (!current->knows(current->seen, state.initialised.id, state.initialised.step))
        fail("a race: " + text_of_thread(*current) + " uses an mbarrier\n  at " +
             text_of_place(place) + "\nwhich " + text_of_agent(state.initialised.id) +
             " initialised\n  at " + text_of_place(state.initialised.place) +
             "\nand nothing orders the two");
    return state;
}

void complete_if_due(MbarrierState& state) {
    if (state.missing != 0 || state.bytes != 0) return;
    state.completed = std::move(state.gathered);
    state.gathered = {};
    state.missing = state.count;
    state.phase++;
    wake_all(state.waiting);
}

/// Has the phase lack more bytes, or fewer.
void add_bytes(MbarrierState& state, int64_t bytes, Place place) {
    state.bytes += bytes;
    if (std::abs(state.bytes) > MBARRIER_BYTES)
        fail("an mbarrier counts to 2^20 - 1 bytes, and not to " +
             std::to_string(std::abs(state.bytes)) + "\n  at " + text_of_place(place));
}

void mbarrier_init(void* barrier, unsigned arrivals) {
    Place place = place_of(__builtin_return_address(0));
    uintptr_t address = reinterpret_cast<uintptr_t>(barrier);
    Region& region = memory.find(address, 8, place);
    if (!region.shared) fail("an mbarrier outside shared memory\n  at " + text_of_place(place));
    check_alignment(address, 8, place);
    if (arrivals == 0 || arrivals >= 1u << 20)
        fail("an mbarrier for " + std::to_string(arrivals) + " arrivals\n  at " +
             text_of_place(place));
    region.access(*current, address, 8, Reach::WRITE, false, place);
    MbarrierState& state = current->block->mbarriers[address];
    if (!state.waiting.empty())
        fail("an mbarrier is initialised while " + text_of_thread(*state.waiting.front()) +
             " waits for it\n  at " + text_of_place(place));
    state = {};
    state.count = state.missing = arrivals;
    state.initialised = {current->id, current->step, 1, 0, 0, place};
}

void mbarrier_arrive(void* barrier, unsigned expected_bytes) {
    Place place = place_of(__builtin_return_address(0));
    MbarrierState& state = known_mbarrier(barrier, place);
    show_stores(*current);
    if (state.missing == 0)
        fail("more arrivals at an mbarrier than it was initialised for\n  at " +
             text_of_place(place));
    state.gathered.add(current->release());
    add_bytes(state, expected_bytes, place);
    state.missing--;
    progress();
    complete_if_due(state);
}

void mbarrier_wait(void* barrier, unsigned parity, Source source) {
    MbarrierState& state = known_mbarrier(barrier, place_of(__builtin_return_address(0)));
    if (parity > 1)
        fail("a phase has parity 0 or 1, and not " + std::to_string(parity) + "\n  at " +
             text_of_source(source));
    while ((state.phase & 1) == parity) {
        state.waiting.push_back(current);
        wait_for("an mbarrier", source, barrier, parity);
    }
    current->acquire(state.completed);
}

void fence_mbarrier_init() {
    for (auto& [address, state] : current->block->mbarriers)
        if (state.initialised.id == current->id) state.fenced = true;
}

void fence_proxy_async() {
    fence_mbarrier_init();
    current->fenced = join(current->fenced, current->release().seen);
}

/// The slot for a copy that the running thread begins.
unsigned slot_for_copy(bool is_load, Place place) {
    Thread& self = *current;
    auto& slots = self.block->slots;
    auto knows_of_the_end = [&](const CopySlot& slot) {
        unsigned first = launched->threads + 2 * (unsigned)(&slot - slots);
        auto knows = [&](unsigned index) {
            return self.knows(self.seen, numbering.id({self.block->number, index}), slot.step);
        };
        return knows(first) && knows(first + 1);
    };
    CopySlot* found = std::end(slots);
    if (!is_load)
        found = std::find_if(slots, std::end(slots),
                             [&](const CopySlot& slot) { return slot.storer == &self; });
    if (found == std::end(slots)) found = std::find_if(slots, std::end(slots), knows_of_the_end);
    if (found == std::end(slots))
        fail(std::to_string(COPIES) +
             " bulk copies of the block are under way, as far as the thread that begins one more "
             "knows, and the emulator keeps no more apart\n  at " +
             text_of_place(place));
    found->step++;
    found->storer = is_load ? nullptr : &self;
    return (unsigned)(found - slots);
}

/// Checks a bulk copy and gets it under way.
void start_copy(bool is_load, void* shared, void* global, size_t bytes, void* barrier,
                Place place) {
    Thread& self = *current;
    auto here = [&] { return "\n  at " + text_of_place(place); };
    uintptr_t inner = reinterpret_cast<uintptr_t>(shared),
              outer = reinterpret_cast<uintptr_t>(global);
    if (inner % 16 || outer % 16 || bytes % 16 || bytes == 0)
        fail("a misaligned bulk copy: " + std::to_string(bytes) +
             " bytes between shared memory at an address of 16n+" + std::to_string(inner % 16) +
             " and global memory at one of 16n+" + std::to_string(outer % 16) +
             "; the copy engine wants multiples of 16 bytes" + here());
    if (!memory.find(inner, bytes, place).shared)
        fail("a bulk copy whose shared memory is not shared" + here());
    const Region& global_region = memory.find(outer, bytes, place);
    if (global_region.shared) fail("a bulk copy whose global memory is not global" + here());
    check_begun(global_region, outer, place);
    auto copy = std::make_unique<Copy>();
    copy->block = self.block;
    copy->is_load = is_load;
    copy->shared = static_cast<unsigned char*>(shared);
    copy->global = static_cast<unsigned char*>(global);
    copy->bytes = bytes;
    copy->place = place;
    show_stores(self);  // whoever waits for the copy will know of them
    Knowledge issued = self.release();
    unsigned slot = slot_for_copy(is_load, place), index = launched->threads + 2 * slot;
    for (Actor* actor : {&copy->reader, &copy->writer}) {
        actor->become({self.block->number, index++});
        actor->step = self.block->slots[slot].step;
        actor->seen = issued.seen;
        actor->fenced = self.fenced;
        actor->depends = self.depends;
        actor->is_copy = true;
    }
    if (is_load) {
        MbarrierState& state = known_mbarrier(barrier, place);
        if (!state.fenced)
            fail(
                "a missing proxy fence: the bulk copy may not see that its mbarrier is "
                "initialised: fence_mbarrier_init() "
                "after the initialisation makes it visible" +
                here());
        copy->barrier = reinterpret_cast<uintptr_t>(barrier);
    } else {
        copy->group = self.open_group;
        copy->group->unread++;
        copy->group->unwritten++;
        copy->group->place = place;
    }
    copies.push_back(std::move(copy));
}

void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier) {
    start_copy(true, shared, const_cast<void*>(global), bytes, barrier,
               place_of(__builtin_return_address(0)));
}

void bulk_store(void* global, const void* shared, unsigned bytes) {
    start_copy(false, const_cast<void*>(shared), global, bytes, nullptr,
               place_of(__builtin_return_address(0)));
}

void bulk_commit() {
    current->groups.push_back(std::exchange(current->open_group, std::make_shared<CopyGroup>()));
}

/// Waits for all but the last `groups` of the thread's committed groups.
void bulk_wait(unsigned groups, bool reads_only, Source source) {
    Thread& self = *current;
    for (size_t i = 0; i + groups < self.groups.size(); i++) {
        CopyGroup& group = *self.groups[i];
        while (reads_only ? group.unread : group.unwritten)
            wait_for("its bulk stores", source, &group);
        group.waited_for = true;
        self.acquire(
            {reads_only ? group.reads : join(group.reads, group.writes), nullptr, nullptr});
    }
    while (!reads_only && self.groups.size() > groups) self.groups.pop_front();
}

/// Takes a copy a step further: a load is made at once, a store first reads and later writes.
void advance_copy(size_t which) {
    Copy& copy = *copies[which];
    uintptr_t inner = reinterpret_cast<uintptr_t>(copy.shared),
              outer = reinterpret_cast<uintptr_t>(copy.global);
    progress();
    auto access = [&](const Actor& actor, uintptr_t address, Reach reach) {
        memory.find(address, copy.bytes, copy.place)
            .access(actor, address, copy.bytes, reach, false, copy.place);
    };
    auto done = [&](const Actor& actor) {
        Gathering all;
        all.add(actor.seen);
        all.add(actor.agent, actor.step, numbering.agents_of_a_block);
        return all.clock();
    };
    auto wake_waiting = [&] {
        for (Thread& thread : copy.block->threads)
            if (thread.waits && thread.object == copy.group.get()) wake(thread);
    };
    if (copy.is_load) {
        access(copy.reader, outer, Reach::READ);
        access(copy.writer, inner, Reach::WRITE);
        memcpy(copy.shared, copy.global, copy.bytes);
        MbarrierState& state =
            mbarrier_at(*copy.block, reinterpret_cast<void*>(copy.barrier), copy.place);
        state.gathered.add({join(done(copy.reader), done(copy.writer)), nullptr, nullptr});
        add_bytes(state, -(int64_t)copy.bytes, copy.place);
        complete_if_due(state);
    } else if (!copy.read) {
        access(copy.reader, inner, Reach::READ);
        copy.data.assign(copy.shared, copy.shared + copy.bytes);
        copy.read = true;
        copy.group->unread--;
        copy.group->reads = join(copy.group->reads, done(copy.reader));
        return wake_waiting();
    } else {
        access(copy.writer, outer, Reach::WRITE);
        memcpy(copy.global, copy.data.data(), copy.bytes);
        copy.group->unwritten--;
        copy.group->writes = join(copy.group->writes, done(copy.writer));
        // The block may be gone; then no thread waits.
        for (auto& block : living_blocks)
            if (block.get() == copy.block) wake_waiting();
    }
    copies.erase(copies.begin() + (long)which);
}

// ---- launches ----------------------------------------------------------------------------------

void run_thread() {
    launched->kernel->call(launched->arguments);
    if (!current->begun)
        fail("a missing begin_launch(): " + text_of_thread(*current) +
             " returns without it, so that the next launch may " +
             "begin before the one that precedes this one has ended");
    current->returned = true;
    current->block->active[current->index / LANES] &= ~(1u << current->lane());
    current->fiber->pause();
}

void start_block() {
    auto block = std::make_unique<Block>();
    block->number = (unsigned)started_blocks++;
    block->index = order[block->number];
    block->threads = std::vector<Thread>(launched->threads);
    block->living = launched->threads;
    block->meetings.resize((launched->threads + LANES - 1) / LANES);
    block->active.resize(block->meetings.size());
    if (launched->shared_bytes) {
        block->dynamic =
            std::make_unique<Region>("dynamic shared memory", true, 0, launched->shared_bytes);
        memory.add(*block->dynamic);
    }
    std::vector<Thread*> threads;
    for (unsigned i = 0; i < launched->threads; i++) {
        Thread& thread = block->threads[i];
        thread.block = block.get();
        thread.index = i;
        block->active[i / LANES] |= 1u << i % LANES;
        thread.become({block->number, i});
        if (spare_fibers.empty()) spare_fibers.push_back(std::make_unique<Fiber>());
        thread.fiber = std::move(spare_fibers.back());
        spare_fibers.pop_back();
        thread.fiber->start(run_thread);
        threads.push_back(&thread);
    }
    std::shuffle(threads.begin(), threads.end(), random_bits);
    if (newest_first) {  // by warps, in any order
        uint64_t salt = random_bits() | 1;
        auto rank = [salt](const Thread* thread) { return (thread->index / LANES + 1) * salt; };
        std::stable_sort(threads.begin(), threads.end(),
                         [&](auto* a, auto* b) { return rank(a) < rank(b); });
    }
    ready.insert(ready.end(), threads.begin(), threads.end());
    living_blocks.push_back(std::move(block));
    milestones = milestones + 1;
    progress();
}

[[noreturn]] void fail_of_copy(Place place) {
    fail(
        "a block returns while a bulk copy may use its shared memory: bulk_wait_read<0>() waits "
        "for stores, "
        "mbarrier_wait() for loads\n  at " +
        text_of_place(place));
}

void end_block(Block& block) {
    for (size_t i = 0; i < copies.size(); i++) {
        if (copies[i]->block != &block || copies[i]->read) continue;
        Place place = copies[i]->place;
        advance_copy(i);  // which may be stopped for a race, and that says more
        fail_of_copy(place);
    }
    for (Thread& thread : block.threads) {
        thread.groups.push_back(thread.open_group);
        for (auto& group : thread.groups)
            if (group->place && !group->waited_for) fail_of_copy(group->place);
    }
    auto forget = [](const Region& region) {
        memory.remove(region);
        left.erase(left.lower_bound(region.begin()),
                   left.lower_bound(region.begin() + region.bytes));
    };
    for (PendingStore& store : pending_stores)
        if (store.thread && store.thread->block == &block) store.thread = nullptr;
    if (block.dynamic) forget(*block.dynamic);
    for (auto& [name, region] : block.variables) forget(*region);
    for (Thread& thread : block.threads) spare_fibers.push_back(std::move(thread.fiber));
    std::erase_if(living_blocks, [&](auto& other) { return other.get() == &block; });
}

void resume(Thread& thread) {
    current = &thread;
    accesses = 0;
    set_indices(thread.index, thread.block->index);
    thread.fiber->resume();
    if (!thread.returned) return;
    milestones = milestones + 1;
    progress();
    current = nullptr;
    Block& block = *thread.block;
    if (--block.living == 0) {
        end_block(block);
    } else if (const BlockBarrier& barrier = block.barrier; !barrier.waiting.empty()) {
        fail("a divergent barrier: " + text_of_thread(thread) + " has returned, but " +
             std::to_string(barrier.waiting.size()) + " threads of the block wait at " +
             text_of_source(barrier.source));
    }
}

void launch(const Launch& what) {
    launched = &what;
    check_shared_bytes(what.shared_bytes);
    numbering = {numbering.first + (Id)order.size() * numbering.agents_of_a_block,
                 what.threads + COPY_AGENTS};
    order.resize(what.blocks);
    for (unsigned i = 0; i < what.blocks; i++) order[i] = i;
    if (!starts_in_order) std::shuffle(order.begin(), order.end(), random_bits);
    newest_first = draw(2);
    copies_first = draw(2);
    stores_first = draw(2);
    started_blocks = 0;
    while (started_blocks < what.blocks || !living_blocks.empty() || !copies.empty()) {
        while (started_blocks < what.blocks && living_blocks.size() < what.resident) start_block();
        current = nullptr;
        if (is_overdue)
            fail_of_all("an endless loop: no thread has returned for " + std::to_string(seconds) +
                        " seconds");
        if (!pending_stores.empty() && draw(stores_first ? 2 : 64) == 0)
            show_store(draw(pending_stores.size()));
        if (!copies.empty() && (ready.empty() || draw(copies_first ? 2 : 64) == 0)) {
            advance_copy(draw(copies.size()));
            continue;
        }
        if (ready.empty()) fail_of_deadlock();
        if (!newest_first) std::swap(ready[draw(ready.size())], ready.back());
        Thread& next = *ready.back();
        ready.pop_back();
        resume(next);
    }
    while (!pending_stores.empty()) show_store(0);
    launched = nullptr;
    if (!suspicion.empty()) fail(std::exchange(suspicion, {}));  // which names the kernel
    left.clear();
    if (counters.on) counters.end(texts_of_places);
}

}  // namespace emulator
