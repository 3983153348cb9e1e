// CUB's reduce and scan, timed as benches/gpu.rs times ours: for figures of the peer from the same card and the same minute.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -I <cccl's include folders> benches/peers/cub.cu -o cub && ./cub
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <vector>

#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t error = (call);                                              \
        if (error != cudaSuccess) {                                              \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));       \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

constexpr size_t POOL_BYTES = size_t(1) << 30;

template <class Work>
double median_us(int repeats, Work work) {
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    for (int i = 0; i < 2; i++) work(i);
    std::vector<double> times;
    for (int batch = 0; batch < 11; batch++) {
        CHECK(cudaEventRecord(start));
        for (int i = 0; i < repeats; i++) work(batch * repeats + i);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        times.push_back(ms * 1e3 / repeats);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

__global__ void fill(unsigned* words, size_t count) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        words[i] = (unsigned(i) * 2654435761u & 0x807fffffu) | 0x3f000000u;  // as f32: of magnitude 0.5 to 1
}

struct Maximum {
    template <class T>
    __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

template <class T, bool SCAN, class Call>
void measure(const char* name, size_t n, Call call) {
    size_t bytes = n * sizeof(T), rounded = (bytes + 255) / 256 * 256;
    size_t copies = std::clamp<size_t>(POOL_BYTES / (bytes * (SCAN ? 2 : 1)), 1, 64);
    char *in, *out;
    CHECK(cudaMalloc(&in, copies * rounded));
    CHECK(cudaMalloc(&out, SCAN ? copies * rounded : 256));
    fill<<<1024, 256>>>((unsigned*)in, copies * rounded / 4);
    void* workspace = nullptr;
    size_t workspace_bytes = 0;
    CHECK(call(workspace, workspace_bytes, (T*)in, (T*)out, n));
    CHECK(cudaMalloc(&workspace, workspace_bytes));
    int repeats = int(std::clamp<size_t>((size_t(64) << 20) / bytes, 2, 40));
    double us = median_us(repeats, [&](int i) {
        size_t offset = size_t(i) % copies * rounded;
        CHECK(call(workspace, workspace_bytes, (T*)(in + offset), (T*)(out + (SCAN ? offset : 0)), n));
    });
    printf("cub %-30s %12zu %10.1f %9.0f\n", name, n, us, bytes * (SCAN ? 2 : 1) / us / 1e3);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaFree(workspace));
}

template <class T>
void sum(const char* name, size_t n) {
    measure<T, false>(name, n, [](void* w, size_t& b, T* in, T* out, size_t n) { return cub::DeviceReduce::Sum(w, b, in, out, n); });
}

template <class T>
void exclusive_sum(const char* name, size_t n) {
    measure<T, true>(name, n, [](void* w, size_t& b, T* in, T* out, size_t n) { return cub::DeviceScan::ExclusiveSum(w, b, in, out, n); });
}

int main() {
    printf("%-34s %12s %10s %9s\n", "primitive", "n", "µs", "GB/s");
    for (size_t n : {size_t(1000), size_t(1) << 16, size_t(1000000), size_t(1) << 22, size_t(1) << 24, size_t(1) << 28}) sum<float>("reduce f32 add", n);
    for (size_t n : {size_t(1000), size_t(1) << 16, size_t(1000000), size_t(1) << 22, size_t(1) << 24, size_t(1) << 28}) exclusive_sum<float>("scan f32 add", n);
    size_t n = size_t(1) << 28;
    sum<unsigned char>("reduce u8 add", n);
    sum<unsigned long long>("reduce u64 add", n);
    sum<double>("reduce f64 add", n);
    measure<float, false>("reduce f32 max", n, [](void* w, size_t& b, float* in, float* out, size_t n) { return cub::DeviceReduce::Max(w, b, in, out, n); });
    exclusive_sum<unsigned char>("scan u8 add", n);
    exclusive_sum<unsigned short>("scan u16 add", n);
    exclusive_sum<unsigned>("scan u32 add", n);
    exclusive_sum<unsigned long long>("scan u64 add", n);
    measure<float, true>("scan f32 max", n, [](void* w, size_t& b, float* in, float* out, size_t n) { return cub::DeviceScan::InclusiveScan(w, b, in, out, Maximum(), n); });
}
