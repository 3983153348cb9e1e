// The start of the workspace, by which the blocks of a launch agree on who does what, and on who ends last.
#pragma once
#include "device.cuh"

namespace warpfold {

/// Zeros before the first launch; every launch leaves it ready for the next.
struct WorkspaceHeader {
    static constexpr u64 MAGIC = 0x7761727066306c64;

    u64 magic, launches, tickets;
    u32 finished, unused;
    u64 more[4];

    /// Looks like nothing else that may lie in the workspace from earlier.
    static __device__ __forceinline__ u64 tag(u64 launch) { return (launch + 1) * 0x9e3779b97f4a7c15ull ^ MAGIC; }

    /// Neither fresh nor left by a launch: there is no telling what would happen.
    __device__ __forceinline__ bool is_sound() const { return magic == 0 || magic == MAGIC; }

    /// The next of the tickets 0, 1, 2, …
    __device__ __forceinline__ u64 take() { return add_relaxed(&tickets, 1); }

    /// By one thread of each block when its work is done: the number of blocks that were before it. Those have their
    /// work done, and the thread sees it.
    __device__ __forceinline__ u32 arrive() {
        bool sound = is_sound();
        u32 before = add_acquire_release(&finished, 1);
        return sound ? before : ~0u;
    }

    /// Whether the block that so many were before is the last.
    static __device__ __forceinline__ bool is_last(u32 before) {
        if (before >= gridDim.x) trap("the start of the workspace was overwritten, or not zeroed before its first use");
        return before == gridDim.x - 1;
    }

    /// By the block that ends last.
    __device__ __forceinline__ void reset() {
        magic = MAGIC;
        launches++;
        tickets = 0;
        finished = 0;
    }
};

}  // namespace warpfold
