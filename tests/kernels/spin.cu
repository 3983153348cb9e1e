// A kernel that keeps its multiprocessors busy until the host says so.

/// Tells that the block runs, then waits for the flag. Ends after a minute in any case.
extern "C" __global__ void spin(const volatile unsigned* flag, volatile unsigned* started) {
    if (threadIdx.x != 0) return;
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    started[blockIdx.x] = 1;
    do {
        __nanosleep(1000);
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (*flag == 0 && now - start < 60000000000ull);
}
