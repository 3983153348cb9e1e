// Memory that knows what was done to it: what belongs to whom, what was written, and who touched it
// last.
//
// Every load and store of a kernel comes by here (program.cpp), and stops the run if it
//
//   - reaches beyond the buffer or the shared variable that it starts in, or into no such thing;
//   - is not aligned to its size;
//   - reads a byte that nothing wrote;
//   - races: it and an earlier access touch the same byte, one of the two is a write, nothing
//     orders them, and they are not atomic accesses of one size. PTX calls only those "morally
//     strong" that overlap completely: a word that is written in halves may be read half old, half
//     new.
#pragma once
#include "clock.hpp"
#include <bit>
#include <cstring>
#include <new>
#include <string>

namespace emulator {

/// Stops the run. The message goes on with where the running thread is.
[[noreturn]] void fail(const std::string& message);

/// A place in a kernel's code: the offset of a return address in the module.
using Place = uint32_t;
std::string text_of_place(Place place);

/// A read of what nothing wrote stops the run when the launch ends, unless something worse does
/// before. Should somebody write there after all, then what is wrong is that nothing orders the
/// two.
class Region;
void suspect_read(const Region& region, size_t byte, Place place);

/// Numbers that name agents across launches: those of earlier launches are smaller than any of the
/// running one, and what they did happened before. Number 0 is nobody.
using Id = uint32_t;
std::string text_of_agent(Id id);

/// The numbering of the running launch.
struct Numbering {
    Id first = 1;
    uint32_t agents_of_a_block = 1;
    Id id(Agent agent) const { return first + agent.block * agents_of_a_block + agent.index; }
    Agent agent(Id id) const {
        return {(id - first) / agents_of_a_block, (id - first) % agents_of_a_block};
    }
};
inline Numbering numbering;

/// Somebody who accesses memory: a thread, or a bulk copy under way.
struct Actor {
    Agent agent{};
    Id id = 0;
    /// Its own present step, and what it knows of others'.
    uint32_t step = 1;
    Clock seen;
    /// What its stores depend on, through atomic loads that tell what others made of what they had
    /// read. That orders only one thing: what the others read before is not overwritten first. The
    /// emulator does not see what an atomic store made its value of. So it takes it as made of all
    /// that its thread had read or learnt until then. It takes `read x; store_relaxed(&flag, 1)`
    /// before `see the flag; overwrite x` for an order, which it is not.
    Clock depends;
    /// The part of it that the async proxy sees too, through which bulk copies reach memory: what
    /// happened before a proxy fence.
    Clock fenced;
    bool is_copy = false;

    void become(Agent which) {
        agent = which;
        id = numbering.id(which);
    }

    bool knows(const Clock& clock, Id other, uint32_t other_step) const {
        if (other < numbering.first || (other == id && !is_copy))
            return true;  // copies share their slots' numbers
        return known(clock, numbering.agent(other)) >= other_step;
    }
};

/// One access to one byte.
struct Access {
    Id id = 0;
    uint32_t step : 27 = 0, wrote : 1 = 0, atomic : 1 = 0;
    /// Of an atomic access: 2 to this power is its size, and with that says which word it is.
    uint32_t log_size : 3 = 0;
    Place place = 0;
    bool operator==(const Access&) const = default;
};

enum class Reach { READ, WRITE, UPDATE };

/// A buffer of global memory, or a variable of a block's shared memory.
class Region {
    static constexpr Id CROWD =
        ~0u;  // in Cell::accesses[0]: there are more than two; `step` says which crowd
    static constexpr std::align_val_t ALIGN{256};
    static constexpr size_t MARGIN = 256;  // so that what comes just after a region is in no other

    /// Accesses that a later one may race with.
    struct Cell {
        Access accesses[2];
        bool written = false;
        bool operator==(const Cell&) const = default;
        bool is_crowded() const { return accesses[0].id == CROWD; }
    };
    /// More than two of them. A whole block may read a byte, one thread after the other, so reads
    /// are not searched each time. When they have become too many, those that need not be
    /// remembered are forgotten.
    struct Crowd {
        static constexpr size_t LIMIT = 8;
        std::vector<Access> reads, writes;
        size_t limit = LIMIT;
        void add(const Access& access) { (access.wrote ? writes : reads).push_back(access); }
    };
    struct Free {
        void operator()(unsigned char* block) { operator delete[](block, ALIGN); }
    };

    std::unique_ptr<unsigned char[], Free> block;
    size_t shift;
    std::vector<Cell> cells;
    std::vector<Crowd> crowds;
    std::vector<uint32_t> free_crowds;

public:
    const std::string name;
    const bool shared;
    const size_t bytes;

    /// `shift` bytes after an address that a GPU would give.
    Region(std::string name, bool shared, size_t shift, size_t bytes)
        : block(static_cast<unsigned char*>(operator new[](shift + bytes + MARGIN, ALIGN))),
          shift(shift),
          cells(bytes),
          name(std::move(name)),
          shared(shared),
          bytes(bytes) {}

    unsigned char* data() const { return block.get() + shift; }
    uintptr_t begin() const { return reinterpret_cast<uintptr_t>(data()); }
    bool holds(uintptr_t address, size_t count) const {
        return address - begin() <= bytes && count <= bytes - (address - begin());
    }
    std::string at(uintptr_t address) const {
        return name + "+" + std::to_string((long long)(address - begin()));
    }

    void mark_written() {
        for (Cell& cell : cells) cell.written = true;
    }
    void mark_written(uintptr_t address, size_t count) {
        size_t first = address - begin();
        for (size_t i = first; i < first + count; i++) cells[i].written = true;
    }

    /// The first byte from `from` on that nothing wrote, or the size.
    size_t first_unwritten(size_t from = 0) const {
        while (from < bytes && cells[from].written) from++;
        return from;
    }

    /// An access that lies within the region.
    void access(const Actor& actor, uintptr_t address, size_t count, Reach reach, bool atomic,
                Place place) {
        unsigned log_size = atomic ? (unsigned)std::countr_zero(count) : 0;
        Access mine{actor.id, actor.step, reach != Reach::READ, atomic, log_size, place};
        Cell was, became;  // the byte before
        size_t first = address - begin();
        for (size_t i = first; i < first + count; i++) {
            Cell& cell = cells[i];
            // Bytes that were touched together fare alike; but a crowd belongs to one byte alone.
            if (i > first && cell == was && !became.is_crowded()) {
                cell = became;
                continue;
            }
            was = cell;
            access_byte(actor, mine, reach, i);
            became = cell;
        }
    }

private:
    void access_byte(const Actor& actor, const Access& mine, Reach reach, size_t i) {
        Cell& cell = cells[i];
        if (reach != Reach::WRITE && !cell.written) suspect_read(*this, i, mine.place);
        // What an atomic store writes others may see later: see PendingStore.
        if (mine.wrote && !(mine.atomic && reach == Reach::WRITE)) cell.written = true;
        if (cell.is_crowded()) {
            Crowd& crowd = crowds[cell.accesses[0].step];
            auto check = [&](const Access& before) {
                if (!may_follow(actor, mine, before)) fail_of_race(actor, mine, reach, i, before);
            };
            auto is_covered = [&](const Access& before) {
                return stands_for(actor, mine, reach, before);
            };
            std::for_each(crowd.writes.begin(), crowd.writes.end(), check);
            std::erase_if(crowd.writes, is_covered);
            if (mine.wrote) std::for_each(crowd.reads.begin(), crowd.reads.end(), check);
            if ((mine.wrote && !mine.atomic) || crowd.reads.size() >= crowd.limit) {
                std::erase_if(crowd.reads, is_covered);
                crowd.limit = std::max(Crowd::LIMIT, 2 * crowd.reads.size());
            }
            if (crowd.reads.empty() && crowd.writes.empty()) {
                free_crowds.push_back(cell.accesses[0].step);
                cell.accesses[0] = mine;
            } else {
                crowd.add(mine);
            }
            return;
        }
        for (Access& before : cell.accesses) {
            if (!may_follow(actor, mine, before)) fail_of_race(actor, mine, reach, i, before);
            if (stands_for(actor, mine, reach, before)) before = {};
        }
        if (cell.accesses[0].id == 0) cell.accesses[0] = mine;
        else if (cell.accesses[1].id == 0) cell.accesses[1] = mine;
        else form_crowd(cell, mine);
    }

    bool may_follow(const Actor& actor, const Access& mine, const Access& before) const {
        if (!mine.wrote && !before.wrote) return true;
        if (mine.atomic && before.atomic)
            return is_one_word(mine, before) || actor.knows(actor.seen, before.id, before.step);
        if (!before.wrote && actor.knows(actor.depends, before.id, before.step)) return true;
        if (!needs_fence(actor, before)) return actor.knows(actor.seen, before.id, before.step);
        static const Clock NOTHING;
        return actor.knows(shared ? actor.fenced : NOTHING, before.id, before.step);
    }

    /// Of two atomic accesses to one byte.
    static bool is_one_word(const Access& a, const Access& b) { return a.log_size == b.log_size; }

    /// What a thread wrote reaches the async proxy only across a fence; and the layer's is one for
    /// shared memory.
    static bool needs_fence(const Actor& actor, const Access& before) {
        return actor.is_copy && before.wrote && !wrote_as_copy(before);
    }

    /// Whether `before` need not be remembered beside `mine`: everything that races with it races
    /// with `mine` as well.
    static bool stands_for(const Actor& actor, const Access& mine, Reach reach,
                           const Access& before) {
        if (mine.wrote && !mine.atomic) return true;  // which nothing was in the way of
        if ((before.wrote && !mine.wrote) || (mine.atomic && !before.atomic)) return false;
        // A later access of the same size races with that of another size only.
        if (mine.atomic && !is_one_word(mine, before)) return false;
        // Whoever knows of an update also knows of the atomic writes that it saw.
        return (reach == Reach::UPDATE && before.wrote) ||
               actor.knows(actor.seen, before.id, before.step);
    }

    static bool wrote_as_copy(const Access& write);

    void form_crowd(Cell& cell, const Access& mine) {
        if (free_crowds.empty()) {
            free_crowds.push_back((uint32_t)crowds.size());
            crowds.emplace_back();
        }
        uint32_t crowd = free_crowds.back();
        free_crowds.pop_back();
        crowds[crowd] = {};
        for (const Access& access : {cell.accesses[0], cell.accesses[1], mine})
            crowds[crowd].add(access);
        cell.accesses[0] = {CROWD, crowd};
        cell.accesses[1] = {};
    }

    [[noreturn]] void fail_of_race(const Actor& actor, const Access& mine, Reach reach, size_t i,
                                   const Access& before) const {
        bool mixes_sizes = mine.atomic && before.atomic;
        auto atomically = [&](const Access& access) {
            std::string size =
                mixes_sizes ? ", as " + std::to_string(1u << access.log_size) + " bytes" : "";
            return access.atomic ? " atomically" + size : "";
        };
        bool lacks_fence =
            needs_fence(actor, before) && actor.knows(actor.seen, before.id, before.step);
        std::string what = reach == Reach::READ    ? "reads"
                           : reach == Reach::WRITE ? "writes"
                                                   : "updates";
        std::string why = "and nothing orders the two";
        if (mixes_sizes) why += ": only atomic accesses of one size are atomic to each other";
        if (lacks_fence)
            why = "and nothing after that made it visible to bulk copies: fence_proxy_async() does";
        if (lacks_fence && !shared)
            why =
                "and nothing makes it visible to bulk copies: fence_proxy_async() is for shared "
                "memory";
        fail((lacks_fence ? "a missing proxy fence: " : "a race: ") + text_of_agent(mine.id) + " " +
             what + " " + name + "+" + std::to_string(i) + atomically(mine) + "\n  at " +
             text_of_place(mine.place) + "\nwhich " + text_of_agent(before.id) + " " +
             (before.wrote ? "wrote" : "read") + atomically(before) + "\n  at " +
             text_of_place(before.place) + "\n" + why);
    }
};

/// All regions, by address.
class Memory {
    std::map<uintptr_t, Region*> regions;
    Region* last = nullptr;

public:
    void add(Region& region) { regions[region.begin()] = &region; }
    void remove(const Region& region) {
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
        fail("out of bounds: " + std::to_string(count) + " bytes at " + nearest(address) +
             "\n  at " + text_of_place(place));
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
        return region->at(address) + ", but " + region->name + " has " +
               std::to_string(region->bytes) + " bytes";
    }
};

}  // namespace emulator
