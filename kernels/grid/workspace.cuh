// The workspace: where the blocks of one launch agree on who does what, and exchange sums.
//
//   header    64 bytes: the tag of the next launch, and counters
//   packets   16 bytes each: 8 of a value, 8 of a tag (look_back.cuh)
//
// Every launch has its own tag. A block believes a packet only if it carries that tag, so nothing
// has to be cleared before a launch. The host draws the first tag of a workspace, and its key, at
// random; each launch goes on to the next tag. So no launch of this or another workspace leaves a
// packet that a later launch could believe, and neither can data.
//
// The key is an argument of the kernel. If a header does not fit it, the header was overwritten.
// That ends the launch with an error.
#pragma once
#include "machine/device.cuh"

namespace warpfold {

/// Every launch leaves the header ready for the next.
struct alignas(16) WorkspaceHeader {
    /// Odd, so that the tags of 2^64 launches differ.
    static constexpr u64 STEP = 0x9e3779b97f4a7c15;

    /// The tag of the next launch, or of this one; and the same, combined with the key.
    struct State {
        u64 tag, proof;

        __device__ __forceinline__ bool fits(u64 key) const { return (tag ^ proof) == key; }
    };
    union StateWord {
        u64x2 word;
        State state;
    };

    u64x2 state;
    /// Counters start at the tag. If anything else stands here, the number taken is far too large.
    u64 tickets;
    u32 ended, unused;
    /// The tag of the last launch that gave up.
    u64 failed;
    u64 more[3];

    /// Reads the state in one access. A late block may read it while the last one resets it; such a
    /// block needs nothing more of it.
    __device__ __forceinline__ State load_state() const {
        StateWord word;
        word.word = load_relaxed(&state);
        return word.state;
    }

    /// Takes the next of the numbers 0, 1, 2, …, given the tag. If the header was overwritten, it
    /// is a number far beyond the tiles.
    __device__ __forceinline__ u64 take(u64 tag) { return add_relaxed(&tickets, 1) - tag; }

    /// Takes a number for thread 0, which subtracts the tag itself, and waits for the number only
    /// then. It adds 1, but the compiler must not know: of additions of the same number it would
    /// make one for the warp, and wait for it at once.
    __device__ __forceinline__ u64 take_ahead() { return add_relaxed(&tickets, 1 + threadIdx.x); }

    /// Says whether this is the last block to call. One thread of each block calls, once the block
    /// takes nothing more.
    __device__ __forceinline__ bool end(u64 tag) { return end(tag, gridDim.x); }

    /// Says it where only so many blocks of the grid call.
    __device__ __forceinline__ bool end(u64 tag, u32 blocks) {
        u32 before = add_acquire_release(&ended, 1) - (u32)tag;
        if (before >= blocks) trap("the start of the workspace was overwritten");
        return before == blocks - 1;
    }

    /// Prepares the next launch. One thread of the grid calls, when every block has read the state
    /// and taken its last ticket.
    __device__ __forceinline__ void reset(u64 tag, u64 key) {
        u64 next = tag + STEP;
        StateWord word;
        word.state = {next, next ^ key};
        store_relaxed(&state, word.word);
        store_relaxed(&tickets, next);
        store_relaxed(&ended, (u32)next);
    }
};

/// What a kernel is told of its workspace.
struct Workspace {
    WorkspaceHeader* header;
    u64 key;

    __device__ __forceinline__ u64x2* packets() const {
        return reinterpret_cast<u64x2*>(header + 1);
    }

    /// Ends the launch unless the state is as the host or a launch left it.
    __device__ __forceinline__ void require(const WorkspaceHeader::State& state) const {
        if (!state.fits(key)) trap("the start of the workspace was overwritten");
    }

    /// The tag of this launch. Waits for it.
    __device__ __forceinline__ u64 tag() const {
        WorkspaceHeader::State state = header->load_state();
        require(state);
        return state.tag;
    }
};

}  // namespace warpfold
