// Vector clocks: which accesses happened before which.
//
//   Leslie Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM
//   21(7), 1978. Cormac Flanagan, Stephen N. Freund, "FastTrack: Efficient and Precise Dynamic Race
//   Detection", PLDI 2009.
//
// Every agent (a thread of a block, or a slot for bulk copies) counts its own steps. It carries,
// for each other agent, the last step of it that it knows to have happened. Two accesses to one
// place race if neither's agent knew of the other's, whatever the order they were emulated in: that
// is why a missing barrier is found under any schedule.
//
// The threads of a block meet at barriers all the time and then know the same, so what is known is
// shared and never changed: a clock holds a row for each block, and is replaced when more becomes
// known.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace emulator {

/// An agent of the running launch: agent `index` of the block that was started as number `block`.
struct Agent {
    uint32_t block, index;
    bool operator==(const Agent&) const = default;
};

using Row = std::shared_ptr<const std::vector<uint32_t>>;

/// What somebody knows: the last step of each agent, by blocks; none where there is no row.
using Rows = std::map<uint32_t, Row>;
using Clock = std::shared_ptr<const Rows>;

inline uint32_t known(const Clock& clock, Agent agent) {
    if (!clock) return 0;
    auto row = clock->find(agent.block);
    return row == clock->end() ? 0 : (*row->second)[agent.index];
}

/// Gathers what several know into one clock.
class Gathering {
    std::map<uint32_t, std::vector<uint32_t>> rows;
    std::vector<const Rows*> merged;
    std::vector<Clock> kept;

public:
    void add(const Clock& clock) {
        if (!clock || std::find(merged.begin(), merged.end(), clock.get()) != merged.end()) return;
        merged.push_back(clock.get());
        kept.push_back(clock);
        for (auto& [block, row] : *clock) {
            auto& mine = rows[block];
            if (mine.empty()) mine = *row;
            else
                std::transform(row->begin(), row->end(), mine.begin(), mine.begin(),
                               [](uint32_t a, uint32_t b) { return std::max(a, b); });
        }
    }

    /// `agent`, whose block has `agents` of them, is known to have come to `step`.
    void add(Agent agent, uint32_t step, size_t agents) {
        auto& mine = rows[agent.block];
        if (mine.empty()) mine.resize(agents);
        mine[agent.index] = std::max(mine[agent.index], step);
    }

    Clock clock() const {
        if (rows.empty()) return nullptr;
        Rows result;
        for (auto& [block, row] : rows)
            result[block] = std::make_shared<const std::vector<uint32_t>>(row);
        return std::make_shared<const Rows>(std::move(result));
    }
};

/// Whether `a` says all that `b` says.
inline bool covers(const Clock& a, const Clock& b) {
    return std::all_of(b->begin(), b->end(), [&](auto& entry) {
        auto mine = a->find(entry.first);
        if (mine == a->end()) return false;
        return mine->second == entry.second ||
               std::equal(mine->second->begin(), mine->second->end(), entry.second->begin(),
                          std::greater_equal<>());
    });
}

inline Clock join(const Clock& a, const Clock& b) {
    if (a == b || !b) return a;
    if (!a) return b;
    // The lanes of a warp join the same two, one lane after the other, and then share what comes of
    // it.
    static struct {
        Clock a, b, both;
    } known[16];
    static size_t next;
    for (auto& join : known)
        if (join.a == a && join.b == b) return join.both;
    Clock both;
    if (covers(a, b)) both = a;
    else if (covers(b, a)) both = b;
    else {
        Gathering all;
        all.add(a);
        all.add(b);
        both = all.clock();
    }
    known[next++ % std::size(known)] = {a, b, both};
    return both;
}

}  // namespace emulator
