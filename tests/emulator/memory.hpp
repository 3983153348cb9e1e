// Memory that knows what was done to it: what belongs to whom, what was written, and who touched it last.
//
// Every load and store of a kernel comes by here (program.cpp), and stops the run if it
//
//   - reaches beyond the buffer or the shared variable that it starts in, or into no such thing;
//   - is not aligned to its size;
//   - reads a byte that nothing wrote;
//   - races: it and an earlier access touch the same byte, one of the two is a write, not both are atomic, and
//     nothing orders them.
#pragma once
#include "clock.hpp"
#include <cstring>
#include <new>
#include <string>

namespace emulator {

/// Stops the run. The message goes on with where the running thread is.
[[noreturn]] void fail(const std::string& message);

/// A place in a kernel's code: the offset of a return address in the module.
using Place = uint32_t;
std::string text_of_place(Place place);

/// A read of what nothing wrote stops the run when the launch ends, unless something worse does before. Should
/// somebody write there after all, then what is wrong is that nothing orders the two.
class Region;
void suspect_read(const Region& region, size_t byte, Place place);

/// Numbers that name agents across launches: those of earlier launches are smaller than any of the running one, and
/// what they did happened before. Number 0 is nobody.
using Id = uint32_t;
std::string text_of_agent(Id id);

/// The numbering of the running launch.
struct Numbering {
    Id first = 1;
    uint32_t agents_of_a_block = 1;
    Id id(Agent agent) const { return first + agent.block * agents_of_a_block + agent.index; }
    Agent agent(Id id) const { return {(id - first) / agents_of_a_block, (id - first) % agents_of_a_block}; }
};
inline Numbering numbering;

/// Somebody who accesses memory: a thread, or a bulk copy under way.
struct Actor {
    Agent agent{};
    Id id = 0;
    /// Its own present step, and what it knows of others'.
    uint32_t step = 1;
    Clock seen;
    /// What of it the async proxy, by which bulk copies reach memory, sees too: what happened before a proxy fence.
    Clock fenced;
    bool is_copy = false;

    void become(Agent which) {
        agent = which;
        id = numbering.id(which);
    }

    bool knows(const Clock& clock, Id other, uint32_t other_step) const {
        if (other < numbering.first || other == id) return true;
        Agent which = numbering.agent(other);
        return known(clock, which) >= other_step;
    }
};

/// One access to one byte.
struct Access {
    Id id = 0;
    uint32_t step : 31 = 0, atomic : 1 = 0;
    Place place = 0;
};

enum class Reach { READ, WRITE, UPDATE };

/// A buffer of global memory, or a variable of a block's shared memory.
class Region {
    static constexpr Id CROWD = ~0u;  // in Cell::read: several have read; `step` says which crowd
    static constexpr std::align_val_t ALIGN{256};
    static constexpr size_t MARGIN = 256;  // so that what comes just after a region is in no other

    struct Cell {
        Access write, read;
        bool written = false;
    };
    struct Free {
        void operator()(unsigned char* block) { operator delete[](block, ALIGN); }
    };

    std::unique_ptr<unsigned char[], Free> block;
    size_t shift;
    std::vector<Cell> cells;
    std::vector<std::vector<Access>> crowds;
    std::vector<uint32_t> free_crowds;

public:
    const std::string name;
    const bool shared;
    const size_t bytes;

    /// `shift` bytes after an address that a GPU would give.
    Region(std::string name, bool shared, size_t shift, size_t bytes)
        : block(static_cast<unsigned char*>(operator new[](shift + bytes + MARGIN, ALIGN))), shift(shift), cells(bytes),
          name(std::move(name)), shared(shared), bytes(bytes) {}

    unsigned char* data() const { return block.get() + shift; }
    uintptr_t begin() const { return reinterpret_cast<uintptr_t>(data()); }
    bool holds(uintptr_t address, size_t count) const {
        return address - begin() <= bytes && count <= bytes - (address - begin());
    }
    std::string at(uintptr_t address) const { return name + "+" + std::to_string((long long)(address - begin())); }

    void mark_written() {
        for (Cell& cell : cells) cell.written = true;
    }

    /// The first byte from `from` on that nothing wrote, or the size.
    size_t first_unwritten(size_t from = 0) const {
        while (from < bytes && cells[from].written) from++;
        return from;
    }

    /// An access that lies within the region.
    void access(const Actor& actor, uintptr_t address, size_t count, Reach reach, bool atomic, Place place) {
        Access mine{actor.id, actor.step, atomic, place};
        for (size_t i = address - begin(), end = i + count; i < end; i++) {
            Cell& cell = cells[i];
            if (reach != Reach::WRITE && !cell.written)
                suspect_read(*this, i, place);
            if (!may_follow_write(actor, mine, cell.write)) fail_of_race(actor, mine, reach, i, cell.write, true);
            if (reach == Reach::READ) {
                remember_read(actor, cell, mine);
            } else {
                if (cell.read.id == CROWD) {
                    for (const Access& read : crowds[cell.read.step])
                        if (!may_follow(actor, mine, read)) fail_of_race(actor, mine, reach, i, read, false);
                    free_crowds.push_back(cell.read.step);
                } else if (!may_follow(actor, mine, cell.read)) {
                    fail_of_race(actor, mine, reach, i, cell.read, false);
                }
                cell.read = {};
                cell.write = mine;
                cell.written = true;
            }
        }
    }

private:
    static bool may_follow(const Actor& actor, const Access& mine, const Access& before) {
        return (mine.atomic && before.atomic) || actor.knows(actor.seen, before.id, before.step);
    }

    /// What a thread wrote to shared memory reaches the async proxy only across a fence.
    static bool may_follow_write(const Actor& actor, const Access& mine, const Access& write) {
        if (!actor.is_copy || wrote_as_copy(write)) return may_follow(actor, mine, write);
        return actor.knows(actor.fenced, write.id, write.step);
    }

    static bool wrote_as_copy(const Access& write);

    void remember_read(const Actor& actor, Cell& cell, const Access& mine) {
        if (cell.read.id == CROWD) {
            // Readers that this one knows of need not be remembered: what is ordered after it is after them.
            auto& crowd = crowds[cell.read.step];
            std::erase_if(crowd, [&](const Access& read) {
                return read.atomic == mine.atomic && actor.knows(actor.seen, read.id, read.step);
            });
            crowd.push_back(mine);
        } else if (actor.knows(actor.seen, cell.read.id, cell.read.step)) {
            cell.read = mine;
        } else {
            if (free_crowds.empty()) {
                free_crowds.push_back((uint32_t)crowds.size());
                crowds.emplace_back();
            }
            uint32_t crowd = free_crowds.back();
            free_crowds.pop_back();
            crowds[crowd] = {cell.read, mine};
            cell.read = {CROWD, crowd, 0, 0};
        }
    }

    [[noreturn]] void fail_of_race(const Actor& actor, const Access& mine, Reach reach, size_t i, const Access& before,
                                   bool before_wrote) const {
        bool lacks_fence = actor.is_copy && before_wrote && actor.knows(actor.seen, before.id, before.step);
        std::string what = reach == Reach::READ ? "reads" : reach == Reach::WRITE ? "writes" : "updates";
        fail((lacks_fence ? "a missing proxy fence: " : "a race: ") + text_of_agent(mine.id) + " " + what + " " + name +
             "+" + std::to_string(i) + "\n  at " + text_of_place(mine.place) + "\nwhich " + text_of_agent(before.id) + " " +
             (before_wrote ? "wrote" : "read") + (before.atomic ? " atomically" : "") + "\n  at " +
             text_of_place(before.place) +
             (lacks_fence ? "\nand nothing after that made it visible to bulk copies: fence_proxy_async() does"
                          : "\nand nothing orders the two"));
    }
};

/// All regions, by address.
class Memory {
    std::map<uintptr_t, Region*> regions;
    Region* last = nullptr;

public:
    void add(Region& region) { regions[region.begin()] = &region; }
    void remove(Region& region) {
        regions.erase(region.begin());
        if (last == &region) last = nullptr;
    }

    /// The region that an access lies in, if there is one.
    Region* holder(uintptr_t address, size_t count) {
        if (last && last->holds(address, count)) return last;
        auto after = regions.upper_bound(address);
        if (after == regions.begin()) return nullptr;
        Region* region = std::prev(after)->second;
        if (!region->holds(address, count)) return nullptr;
        return last = region;
    }

    /// The region that an access lies in.
    Region& find(uintptr_t address, size_t count, Place place) {
        if (Region* region = holder(address, count)) return *region;
        fail("out of bounds: " + std::to_string(count) + " bytes at " + nearest(address) + "\n  at " + text_of_place(place));
    }

private:
    std::string nearest(uintptr_t address) const {
        auto after = regions.upper_bound(address);
        constexpr uintptr_t NEAR = 1 << 20;
        Region* region = nullptr;
        uintptr_t distance = NEAR;
        if (after != regions.end() && after->first - address < distance) {
            region = after->second;
            distance = after->first - address;
        }
        if (after != regions.begin()) {
            Region* before = std::prev(after)->second;
            uintptr_t end = before->begin() + before->bytes;
            if (address < end || address - end < distance) region = before;
        }
        if (!region) return "an address that is in no buffer and no shared variable";
        return region->at(address) + ", but " + region->name + " has " + std::to_string(region->bytes) + " bytes";
    }
};

}  // namespace emulator
