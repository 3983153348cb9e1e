// A stand-in for NCCL over the stand-in of the driver. Its all-gather runs on the ranks' streams,
// and waits there for all of them, as NCCL's kernels do. Memory that a GPU does not reach is
// refused.
//
// STAND_IN_NCCL says what goes wrong on rank 1: `init`, `gather` or `later`. With -DOLD there is no
// ncclCommAbort.

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

extern "C" void stand_in_enqueue(void* stream, void (*work)(void*), void* argument);
extern "C" int cuCtxGetCurrent(void** context);
extern "C" int cuPointerGetAttributes(unsigned, int*, void**, uintptr_t);

namespace {

struct Group {
    std::mutex mutex;
    std::condition_variable changed;
    int ranks = 0, joined = 0;
    struct Round {
        std::vector<std::vector<char>> packets;
        int given = 0;
    };
    std::map<long, Round> rounds;
};

struct Comm {
    std::shared_ptr<Group> group;
    int rank, device;
    long round = 0;
    bool aborted = false;
};

struct Call {
    Comm* comm;
    std::shared_ptr<Group> group;
    const char* send;
    char* receive;
    size_t bytes;
    long round;
};

struct UniqueId {
    char bytes[128];
};

std::mutex everything;
std::map<std::string, std::shared_ptr<Group>> groups;

bool faulty(const char* fault, int rank) {
    const char* text = std::getenv("STAND_IN_NCCL");
    return rank == 1 && text && !std::strcmp(text, fault);
}

// Whether the driver knows the memory: a GPU's, or pinned memory of the host.
bool is_reached(const void* address) {
    int attribute = 2;
    unsigned type = 0;
    void* values[] = {&type};
    return !cuPointerGetAttributes(1, &attribute, values, (uintptr_t)address) && type != 0;
}

void gather(void* argument) {
    std::unique_ptr<Call> call((Call*)argument);
    Group& group = *call->group;
    std::unique_lock lock(group.mutex);
    if (faulty("later", call->comm->rank)) {
        group.changed.wait(lock, [&] { return call->comm->aborted; });
        return;
    }
    auto& round = group.rounds[call->round];
    round.packets.resize(group.ranks);
    round.packets[call->comm->rank].assign(call->send, call->send + call->bytes);
    round.given++;
    group.changed.notify_all();
    group.changed.wait(lock, [&] { return round.given == group.ranks || call->comm->aborted; });
    if (round.given < group.ranks) return;
    for (auto& packet : round.packets) {
        std::memcpy(call->receive, packet.data(), packet.size());
        call->receive += packet.size();
    }
}

}  // namespace

API int ncclGetVersion(int* version) { return *version = 22807, 0; }

API const char* ncclGetErrorString(int status) {
    if (status == 2) return "unhandled system error";
    if (status == 6) return "remote process exited or there was a network error";
    return "an error of the stand-in";
}

API int ncclGetUniqueId(UniqueId* id) {
    static int count = 0;
    std::lock_guard lock(everything);
    std::memset(id, 0, sizeof *id);
    std::memcpy(id->bytes, &++count, sizeof count);
    return 0;
}

API int ncclCommInitRank(Comm** comm, int ranks, UniqueId id, int rank) {
    if (faulty("init", rank)) return 2;
    if (rank < 0 || rank >= ranks) return 4;
    void* context = nullptr;
    cuCtxGetCurrent(&context);
    if (!context) return 1;
    std::shared_ptr<Group> group;
    {
        std::lock_guard lock(everything);
        auto& found = groups[std::string(id.bytes, sizeof id.bytes)];
        if (!found) found = std::make_shared<Group>();
        group = found;
    }
    // The device is the first number of the stand-in's context.
    *comm = new Comm{group, rank, *(int*)context};
    std::unique_lock lock(group->mutex);
    group->ranks = ranks;
    group->joined++;
    group->changed.notify_all();
    const char* fault = std::getenv("STAND_IN_NCCL");
    if (fault && !std::strcmp(fault, "init")) return 0;
    group->changed.wait(lock, [&] { return group->joined == ranks; });
    return 0;
}

API int ncclAllGather(const char* send, char* receive, size_t count, int type, Comm* comm,
                      void* stream) {
    if (faulty("gather", comm->rank)) return 2;
    if (type != 1 || !is_reached(send) || !is_reached(receive)) return 4;
    auto call = new Call{comm, comm->group, send, receive, count, comm->round++};
    stand_in_enqueue(stream, gather, call);
    return 0;
}

API int ncclCommGetAsyncError(Comm* comm, int* status) {
    return *status = faulty("later", comm->rank) ? 6 : 0, 0;
}

API int ncclCommCount(Comm* comm, int* count) { return *count = comm->group->ranks, 0; }
API int ncclCommUserRank(Comm* comm, int* rank) { return *rank = comm->rank, 0; }
API int ncclCommCuDevice(Comm* comm, int* device) { return *device = comm->device, 0; }

API int ncclCommDestroy(Comm*) { return 0; }

#ifndef OLD
API int ncclCommAbort(Comm* comm) {
    std::lock_guard lock(comm->group->mutex);
    comm->aborted = true;
    comm->group->changed.notify_all();
    return 0;
}
#endif
