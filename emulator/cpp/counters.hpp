// What a kernel asks of the machine, counted by warp instructions.
//
// The lanes of a warp run one after the other here. Which of their accesses a GPU would issue as
// one instruction is found afterwards: those that come from the same place in the code, for the
// same time since the lanes last met at a barrier or an exchange. That assumes that lanes which
// parted come together again as soon as they can.
//
// Arithmetic is not seen, but what it is done on is. Sizes are those of the C++ code, so that wider
// accesses that a GPU's compiler would make of several narrow ones count as several.
#pragma once
#include "memory.hpp"
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace emulator {

enum class Operation {
    GLOBAL_LOAD,
    GLOBAL_STORE,
    SHARED_LOAD,
    SHARED_STORE,
    ATOMIC,
    EXCHANGE,
    WARP_BARRIER,
    BLOCK_BARRIER
};

constexpr const char* NAMES[] = {"global_load", "global_store", "shared_load",  "shared_store",
                                 "atomic",      "exchange",     "warp_barrier", "block_barrier"};

struct Tally {
    /// Warp instructions issued, and lanes active in them.
    uint64_t issued = 0, lanes = 0;
    /// Global memory: pieces of 32 and of 128 bytes that the instructions touch, each aligned to
    /// its size.
    uint64_t sectors = 0, lines = 0;
    /// Shared memory: passes that the instructions take, and those of them that bank conflicts
    /// cost.
    uint64_t passes = 0, conflicts = 0;
};

/// One access of a thread, for pictures. Of the time, `step` says how often the lanes of its warp
/// have met since the launch began.
struct Touch {
    uint64_t launch;
    Agent agent;
    uint64_t step;
    Operation operation;
    std::string region;
    size_t offset, bytes;
};

/// Finds a text for each place; those of one text count as one place: the compiler may have made
/// two of it.
using Resolve = std::vector<std::string> (*)(const std::vector<Place>&);

class Counters {
    static constexpr unsigned LANES = 32, BANKS = 32, BANK_BYTES = 4;

    struct Event {
        uint64_t warp, interval;
        unsigned lane;
        Operation operation;
        Place place;
        uintptr_t address;
        size_t bytes;
    };
    struct Issue {
        size_t bytes;
        std::map<unsigned, uintptr_t> addresses;  // of the active lanes
    };
    std::vector<Event> events;
    std::unordered_map<uint64_t, uint64_t> intervals;  // of warps: how often lanes have met

public:
    bool on = false;
    std::map<std::pair<std::string, Operation>, Tally> tallies;
    /// Whether accesses are kept one by one, too, and what was kept.
    bool traces = false;
    uint64_t launches = 0;
    std::vector<Touch> touches;

    static uint64_t warp_of(Agent agent) {
        return (uint64_t)agent.block << 32 | agent.index / LANES;
    }

    void add(Agent agent, Operation operation, Place place, uintptr_t address = 0, size_t bytes = 0,
             const Region* region = nullptr) {
        if (!on) return;
        uint64_t warp = warp_of(agent), interval = intervals[warp];
        events.push_back({warp, interval, agent.index % LANES, operation, place, address, bytes});
        if (traces && region)
            touches.push_back({launches, agent, interval, operation, region->name,
                               address - region->begin(), bytes});
    }

    /// A lane comes to an exchange, to read what lane `from` gives.
    void add_exchange(Agent agent, Place place, int from) {
        if (on && traces)
            touches.push_back({launches, agent, intervals[warp_of(agent)], Operation::EXCHANGE,
                               "lanes", (size_t)from, 1});
        add(agent, Operation::EXCHANGE, place);
    }

    /// The lanes of a warp have met.
    void meet(Agent agent) {
        if (on) intervals[warp_of(agent)]++;
    }

    /// The launch has ended: what its lanes did becomes warp instructions.
    void end(Resolve resolve) {
        std::map<Place, std::string> texts;
        for (const Event& event : events) texts[event.place];
        std::vector<Place> places;
        for (auto& [place, text] : texts) places.push_back(place);
        std::vector<std::string> found = resolve(places);
        for (size_t i = 0; i < places.size(); i++) texts[places[i]] = found[i];

        using Where = std::tuple<uint64_t, uint64_t, Operation, std::string_view>;
        std::map<std::pair<Where, unsigned>, uint64_t> times;  // that a lane has been there
        std::map<std::pair<Where, uint64_t>, Issue> issues;
        for (const Event& event : events) {
            Where where{event.warp, event.interval, event.operation, texts[event.place]};
            Issue& issue = issues[{where, times[{where, event.lane}]++}];
            issue.bytes = event.bytes;
            issue.addresses[event.lane] = event.address;
        }
        for (auto& [key, issue] : issues) {
            auto& [warp, interval, operation, text] = key.first;
            count(operation, issue, tallies[{std::string(text), operation}]);
        }
        events.clear();
        intervals.clear();
        launches++;
    }

private:
    static void count(Operation operation, const Issue& issue, Tally& tally) {
        tally.issued++;
        tally.lanes += issue.addresses.size();
        if (operation == Operation::GLOBAL_LOAD || operation == Operation::GLOBAL_STORE) {
            tally.sectors += pieces(issue, 32);
            tally.lines += pieces(issue, 128);
        } else if (operation == Operation::SHARED_LOAD || operation == Operation::SHARED_STORE) {
            count_passes(issue, tally);
        }
    }

    static size_t pieces(const Issue& issue, size_t bytes) {
        std::set<uintptr_t> touched;
        for (auto [lane, address] : issue.addresses)
            for (uintptr_t piece = address / bytes; piece <= (address + issue.bytes - 1) / bytes;
                 piece++)
                touched.insert(piece);
        return touched.size();
    }

    /// Lanes are served in groups that could all be served at once: 32 with up to 4 bytes each, 16
    /// with 8, 8 with 16. A group takes as many passes as there are different words in the bank
    /// that has most.
    static void count_passes(const Issue& issue, Tally& tally) {
        size_t words = std::max<size_t>(1, issue.bytes / BANK_BYTES),
               group = std::max<size_t>(1, LANES / words);
        std::map<size_t, std::map<size_t, std::set<uintptr_t>>> words_of_banks;  // by groups
        for (auto [lane, address] : issue.addresses)
            for (size_t word = 0; word < words; word++) {
                uintptr_t number = address / BANK_BYTES + word;
                words_of_banks[lane / group][number % BANKS].insert(number);
            }
        for (auto& [number, banks] : words_of_banks) {
            size_t most = 0;
            for (auto& [bank, different] : banks) most = std::max(most, different.size());
            tally.passes += most;
            tally.conflicts += most - 1;
        }
    }
};

}  // namespace emulator
