// A stand-in for the CUDA driver: GPUs whose memory is the host's, and whose kernels do nothing. It
// is for tests of what goes between GPUs, and of what is launched. Streams are threads that dawdle, so that a wait which is missing
// shows. Every address and context is checked, and a call that a GPU would refuse is refused.
//
// STAND_IN_GPUS says how many GPUs there are, and STAND_IN_LINK how they are linked: nvlink, pcie,
// none, or pairs by NVLink and the rest by PCIe. After STAND_IN_COPIES copies between GPUs all
// others fail.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace {

enum Status {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    PEER_ACCESS_UNSUPPORTED = 217,
    NOT_READY = 600,
    PEER_ACCESS_ALREADY_ENABLED = 704,
    LAUNCH_FAILED = 719,
    NOT_SUPPORTED = 801,
};

std::string variable(const char* name, const char* usual) {
    const char* text = std::getenv(name);
    return text ? text : usual;
}

int gpus() { return std::stoi(variable("STAND_IN_GPUS", "2")); }

struct Context;

struct Stream {
    Context* context;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    uint64_t given = 0, done = 0;
    bool ends = false;
    std::thread thread;

    explicit Stream(Context* context) : context(context), thread([this] { run(); }) {}

    ~Stream() {
        {
            std::lock_guard lock(mutex);
            ends = true;
        }
        changed.notify_all();
        thread.join();
    }

    void run() {
        static std::atomic<unsigned> turns{0};
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock lock(mutex);
                changed.wait(lock, [this] { return ends || !tasks.empty(); });
                if (tasks.empty()) return;
                task = std::move(tasks.front());
                tasks.pop_front();
            }
            // One in some tasks comes late.
            unsigned turn = turns++ * 2654435761u >> 16;
            if (turn % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(turn % 1000));
            task();
            std::lock_guard lock(mutex);
            done++;
            changed.notify_all();
        }
    }

    void give(std::function<void()> task) {
        std::lock_guard lock(mutex);
        tasks.push_back(std::move(task));
        given++;
        changed.notify_all();
    }

    void synchronize() {
        std::unique_lock lock(mutex);
        uint64_t all = given;
        changed.wait(lock, [&] { return done >= all; });
    }
};

struct Context {
    int device;
    std::set<Context*> peers;
    std::set<Stream*> streams;
};

struct Event {
    Context* context;
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t recorded = 0, done = 0;

    void wait(uint64_t ticket) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return done >= ticket; });
    }
};

struct Allocation {
    size_t bytes;
    int device;  // -1: pinned memory of the host.
};

std::mutex everything;
std::map<uintptr_t, Allocation> allocations;
thread_local Context* current = nullptr;
std::atomic<long> copies{0};

Context* context_of(int device) {
    static std::map<int, Context> contexts;
    std::lock_guard lock(everything);
    Context& context = contexts[device];
    context.device = device;
    return &context;
}

// The device of memory; -1 if it is the host's and pinned, and -2 if the driver does not know it.
int owner(uintptr_t address, size_t bytes) {
    std::lock_guard lock(everything);
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return -2;
    auto [start, allocation] = *std::prev(after);
    return address + bytes <= start + allocation.bytes ? allocation.device : -2;
}

uintptr_t allocate(size_t bytes, int device) {
    void* memory = std::malloc(bytes);
    std::memset(memory, 0xdb, bytes);  // What nothing wrote shows.
    std::lock_guard lock(everything);
    allocations[(uintptr_t)memory] = {bytes, device};
    return (uintptr_t)memory;
}

Status release(uintptr_t address) {
    std::lock_guard lock(everything);
    auto found = allocations.find(address);
    if (found == allocations.end()) return INVALID_VALUE;
    std::memset((void*)address, 0xdd, found->second.bytes);
    std::free((void*)address);
    allocations.erase(found);
    return SUCCESS;
}

bool accesses(Context* context, int device) {
    if (device == context->device) return true;
    std::lock_guard lock(everything);
    for (Context* peer : context->peers)
        if (peer->device == device) return true;
    return false;
}

bool has_access() { return variable("STAND_IN_LINK", "nvlink") != "none"; }

}  // namespace

// For the stand-in of NCCL: work that runs on a stream.
API void stand_in_enqueue(Stream* stream, void (*work)(void*), void* argument) {
    stream->give([=] { work(argument); });
}

API int cuInit(unsigned) { return gpus() > 0 ? SUCCESS : NO_DEVICE; }
API int cuDriverGetVersion(int* version) { return *version = 13000, 0; }

API int cuGetErrorName(int status, const char** name) {
    static const std::map<int, const char*> names = {
        {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"}, {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
        {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"}, {NOT_READY, "CUDA_ERROR_NOT_READY"},
        {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"}};
    auto found = names.find(status);
    return *name = found == names.end() ? "CUDA_ERROR_UNKNOWN" : found->second, 0;
}

API int cuGetErrorString(int, const char** text) { return *text = "said by the stand-in", 0; }

API int cuDeviceGet(int* device, int ordinal) {
    return *device = ordinal, ordinal < gpus() ? SUCCESS : INVALID_DEVICE;
}

API int cuDeviceGetCount(int* count) { return *count = gpus(), 0; }

API int cuDeviceGetName(char* name, int length, int) {
    std::strncpy(name, "Stand-in", length);
    return 0;
}

API int cuDeviceGetAttribute(int* value, int attribute, int) {
    const std::map<int, int> values = {{75, 9},  {76, 0}, {16, 132},
                                       {115, 1}, {41, 1}, {97, 227 << 10}};
    auto found = values.find(attribute);
    return *value = found == values.end() ? 0 : found->second, 0;
}

API int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t(1) << 30, 0; }

API int cuDevicePrimaryCtxRetain(Context** context, int device) {
    return *context = context_of(device), 0;
}

API int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
API int cuCtxDestroy_v2(Context*) { return 0; }
API int cuCtxGetCurrent(Context** context) { return *context = current, 0; }
API int cuCtxSetCurrent(Context* context) { return current = context, 0; }

API int cuCtxSynchronize() {
    std::set<Stream*> streams;
    {
        std::lock_guard lock(everything);
        streams = current->streams;
    }
    for (Stream* stream : streams) stream->synchronize();
    return 0;
}

API int cuDeviceCanAccessPeer(int* can, int device, int peer) {
    return *can = device != peer && has_access(), 0;
}

API int cuDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
    if (from == to) return INVALID_DEVICE;
    std::string link = variable("STAND_IN_LINK", "nvlink");
    bool nvlink = link == "nvlink" || (link == "pairs" && from / 2 == to / 2);
    *value = attribute == 1 ? !nvlink : attribute == 2 ? has_access() : nvlink;
    return 0;
}

API int cuCtxEnablePeerAccess(Context* peer, unsigned flags) {
    if (!has_access()) return PEER_ACCESS_UNSUPPORTED;
    std::lock_guard lock(everything);
    if (flags || peer == current) return INVALID_VALUE;
    return current->peers.insert(peer).second ? SUCCESS : PEER_ACCESS_ALREADY_ENABLED;
}

API int cuStreamCreate(Stream** stream, unsigned) {
    *stream = new Stream(current);
    std::lock_guard lock(everything);
    current->streams.insert(*stream);
    return 0;
}

API int cuStreamDestroy_v2(Stream* stream) {
    {
        std::lock_guard lock(everything);
        stream->context->streams.erase(stream);
    }
    // The driver ends what is enqueued first.
    std::thread([stream] { delete stream; }).detach();
    return 0;
}

API int cuStreamSynchronize(Stream* stream) { return stream->synchronize(), 0; }

API int cuStreamQuery(Stream* stream) {
    if (stream->context != current) return INVALID_CONTEXT;
    std::lock_guard lock(stream->mutex);
    return stream->done == stream->given ? SUCCESS : NOT_READY;
}

API int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
    std::unique_lock lock(event->mutex);
    uint64_t ticket = event->recorded;
    lock.unlock();
    stream->give([=] { event->wait(ticket); });
    return 0;
}

API int cuStreamIsCapturing(Stream*, int* status) { return *status = 0, 0; }
API int cuThreadExchangeStreamCaptureMode(int*) { return 0; }

API int cuEventCreate(Event** event, unsigned) {
    return (*event = new Event)->context = current, 0;
}

API int cuEventDestroy_v2(Event*) { return 0; }  // A stream may still wait for it.

API int cuEventRecord(Event* event, Stream* stream) {
    if (event->context != stream->context) return INVALID_CONTEXT;
    std::unique_lock lock(event->mutex);
    uint64_t ticket = ++event->recorded;
    lock.unlock();
    stream->give([=] {
        std::lock_guard lock(event->mutex);
        event->done = std::max(event->done, ticket);
        event->changed.notify_all();
    });
    return 0;
}

API int cuEventQuery(Event* event) {
    std::lock_guard lock(event->mutex);
    return event->done >= event->recorded ? SUCCESS : NOT_READY;
}

API int cuEventSynchronize(Event* event) {
    std::unique_lock lock(event->mutex);
    uint64_t ticket = event->recorded;
    lock.unlock();
    return event->wait(ticket), 0;
}

API int cuEventElapsedTime(float* ms, Event*, Event*) { return *ms = 1, 0; }
API int cuEventElapsedTime_v2(float* ms, Event*, Event*) { return *ms = 1, 0; }

API int cuMemAlloc_v2(uintptr_t* address, size_t bytes) {
    return *address = allocate(bytes, current->device), 0;
}

API int cuMemFree_v2(uintptr_t address) { return cuCtxSynchronize(), release(address); }

API int cuMemAllocAsync(uintptr_t* address, size_t bytes, Stream*) {
    return *address = allocate(bytes, current->device), 0;
}

API int cuMemFreeAsync(uintptr_t address, Stream* stream) {
    stream->give([=] { release(address); });
    return 0;
}

// Pools keep what they like.
API int cuDeviceGetDefaultMemPool(void** pool, int) { return *pool = nullptr, 0; }
API int cuMemPoolGetAttribute(void*, int, uint64_t* value) { return *value = 0, 0; }
API int cuMemPoolSetAttribute(void*, int, const uint64_t*) { return 0; }

API int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
    return *memory = (void*)allocate(bytes, -1), 0;
}

API int cuMemFreeHost(void* memory) { return release((uintptr_t)memory); }

API int cuMemsetD8Async(uintptr_t address, unsigned char byte, size_t bytes, Stream* stream) {
    if (owner(address, bytes) != current->device) return INVALID_VALUE;
    stream->give([=] { std::memset((void*)address, byte, bytes); });
    return 0;
}

API int cuPointerGetAttributes(unsigned, int* attribute, void** values, uintptr_t address) {
    int device = owner(address, 0);
    if (*attribute != 2) return INVALID_VALUE;
    *(unsigned*)values[0] = device == -2 ? 0 : device == -1 ? 1 : 2;
    return 0;
}

API int cuMemGetInfo_v2(size_t* free, size_t* total) {
    return *free = *total = size_t(1) << 30, 0;
}

API int cuMemcpyHtoDAsync_v2(uintptr_t to, const void* from, size_t bytes, Stream* stream) {
    int device = owner(to, bytes);
    if (device < 0 || !accesses(stream->context, device)) return INVALID_VALUE;
    if (owner((uintptr_t)from, bytes) == -1) {
        stream->give([=] { std::memcpy((void*)to, from, bytes); });
    } else {
        auto start = (const char*)from;
        auto copy = std::make_shared<std::vector<char>>(start, start + bytes);
        stream->give([=] { std::memcpy((void*)to, copy->data(), bytes); });
    }
    return 0;
}

API int cuMemcpyDtoHAsync_v2(void* to, uintptr_t from, size_t bytes, Stream* stream) {
    int device = owner(from, bytes);
    if (device < 0 || !accesses(stream->context, device)) return INVALID_VALUE;
    stream->give([=] { std::memcpy(to, (void*)from, bytes); });
    if (owner((uintptr_t)to, bytes) != -1) stream->synchronize();
    return 0;
}

API int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t bytes, Stream* stream) {
    int source = owner(from, bytes), target = owner(to, bytes);
    if (source < 0 || target < 0) return INVALID_VALUE;
    if (!accesses(stream->context, source)) return INVALID_VALUE;
    if (!accesses(stream->context, target)) return INVALID_VALUE;
    stream->give([=] { std::memcpy((void*)to, (void*)from, bytes); });
    return 0;
}

API int cuMemcpyPeerAsync(uintptr_t to, Context* target, uintptr_t from, Context* source,
                          size_t bytes, Stream* stream) {
    if (owner(to, bytes) != target->device || owner(from, bytes) != source->device)
        return INVALID_VALUE;
    if (copies++ >= std::stol(variable("STAND_IN_COPIES", "1000000000"))) return LAUNCH_FAILED;
    stream->give([=] { std::memcpy((void*)to, (void*)from, bytes); });
    return 0;
}

// Kernels load only if STAND_IN_KERNELS is set, and then do nothing. But each launch is written down.
namespace {

bool has_kernels() { return variable("STAND_IN_KERNELS", "").size() > 0; }

// As the driver has it.
struct Launch {
    unsigned blocks[3], threads[3], shared_bytes;
    Stream* stream;
};

std::string launched;

}  // namespace

API int cuModuleLoad(void*, const char*) { return NOT_SUPPORTED; }

API int cuModuleLoadData(void** module, const void*) {
    return *module = &launched, has_kernels() ? SUCCESS : NOT_SUPPORTED;
}

API int cuModuleUnload(void*) { return has_kernels() ? SUCCESS : NOT_SUPPORTED; }

API int cuModuleGetFunction(const std::string** function, void*, const char* name) {
    if (!has_kernels()) return NOT_SUPPORTED;
    std::lock_guard lock(everything);
    static std::set<std::string> names;
    return *function = &*names.insert(name).first, 0;
}

API int cuFuncSetAttribute(void*, int, int) { return has_kernels() ? SUCCESS : NOT_SUPPORTED; }

API int cuLaunchKernelEx(const Launch* launch, const std::string* function, void**, void**) {
    if (!has_kernels()) return NOT_SUPPORTED;
    if (launch->stream->context != current) return INVALID_CONTEXT;
    unsigned blocks = launch->blocks[0], threads = launch->threads[0];
    if (blocks == 0 || blocks > 0x7fffffff || threads == 0 || threads > 1024) return INVALID_VALUE;
    std::lock_guard lock(everything);
    for (unsigned number : {blocks, threads, launch->shared_bytes})
        launched += std::to_string(number) + " ";
    launched += *function + "\n";
    return 0;
}

// For tests: a line for each launch since the last call. It stands until the next one.
API const char* stand_in_launched() {
    static std::string text;
    std::lock_guard lock(everything);
    text = std::move(launched);
    launched.clear();
    return text.c_str();
}
