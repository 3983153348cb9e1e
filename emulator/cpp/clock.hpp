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
#include <utility>
#include <vector>

namespace emulator {

/// An agent of the running launch: agent `index` of the block that was started as number `block`.
struct Agent {
    uint32_t block, index;
    bool operator==(const Agent&) const = default;
};

using Row = std::shared_ptr<const std::vector<uint32_t>>;

/// What somebody knows: the last step of each agent, by blocks in rising order; none where there is
/// no row. Clocks share their rows, since most of what two agents know is the same.
using Rows = std::vector<std::pair<uint32_t, Row>>;
using Clock = std::shared_ptr<const Rows>;

inline uint32_t known(const Clock& clock, Agent agent) {
    if (!clock) return 0;
    auto entry = std::lower_bound(clock->begin(), clock->end(), agent.block,
                                  [](auto& entry, uint32_t block) { return entry.first < block; });
    return entry == clock->end() || entry->first != agent.block ? 0 : (*entry->second)[agent.index];
}

/// Whether `a` says all that `b` says.
inline bool covers(const Row& a, const Row& b) {
    return a == b || std::equal(a->begin(), a->end(), b->begin(), std::greater_equal<>());
}

inline bool covers(const Clock& a, const Clock& b) {
    auto mine = a->begin();
    return std::all_of(b->begin(), b->end(), [&](auto& entry) {
        while (mine != a->end() && mine->first < entry.first) mine++;
        return mine != a->end() && mine->first == entry.first && covers(mine->second, entry.second);
    });
}

inline Row join(const Row& a, const Row& b) {
    if (covers(a, b)) return a;
    if (covers(b, a)) return b;
    auto both = std::make_shared<std::vector<uint32_t>>(*a);
    std::transform(b->begin(), b->end(), both->begin(), both->begin(),
                   [](uint32_t x, uint32_t y) { return std::max(x, y); });
    return both;
}

/// All that `a` and `b` say: one of the two, if it says what the other does.
inline Clock merge(const Clock& a, const Clock& b) {
    if (a == b || !b) return a;
    if (!a || covers(b, a)) return b;
    if (covers(a, b)) return a;
    auto rows = std::make_shared<Rows>();
    rows->reserve(a->size() + b->size());
    auto x = a->begin(), y = b->begin();
    while (x != a->end() && y != b->end()) {
        if (x->first < y->first) rows->push_back(*x++);
        else if (y->first < x->first) rows->push_back(*y++);
        else {
            rows->emplace_back(x->first, join(x->second, y->second));
            x++, y++;
        }
    }
    rows->insert(rows->end(), x, a->end());
    rows->insert(rows->end(), y, b->end());
    return rows;
}

/// Gathers what several know into one clock.
class Gathering {
    Clock all;
    std::vector<Clock> merged;
    std::map<uint32_t, std::vector<uint32_t>> steps;

public:
    void add(const Clock& clock) {
        if (!clock || std::find(merged.begin(), merged.end(), clock) != merged.end()) return;
        merged.push_back(clock);
        all = merge(all, clock);
    }

    /// `agent`, whose block has `agents` of them, is known to have come to `step`.
    void add(Agent agent, uint32_t step, size_t agents) {
        auto& mine = steps[agent.block];
        if (mine.empty()) mine.resize(agents);
        mine[agent.index] = std::max(mine[agent.index], step);
    }

    Clock clock() const {
        if (steps.empty()) return all;
        Rows own;
        for (auto& [block, row] : steps)
            own.emplace_back(block, std::make_shared<const std::vector<uint32_t>>(row));
        return merge(all, std::make_shared<const Rows>(std::move(own)));
    }
};

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
    Clock both = merge(a, b);
    known[next++ % std::size(known)] = {a, b, both};
    return both;
}

}  // namespace emulator
