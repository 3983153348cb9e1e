// Peers by operators on floats whose results depend on how a compiler rounds. They are compiled
// twice: as CUDA's compiler does by itself, and, with ROUNDED and `-fmad=false`, as Rust rounds.
// Then no product is joined with a sum, and `exp` and `ln` are those of `double`, which is what a
// user of CUB would write to have them rounded (nearly always) correctly. Their names end in
// `_rounded`.
#include "peer.cuh"

namespace {

#ifdef ROUNDED
__device__ float exponential(float x) { return static_cast<float>(exp(static_cast<double>(x))); }
__device__ float logarithm(float x) { return static_cast<float>(log(static_cast<double>(x))); }
#else
__device__ float exponential(float x) { return expf(x); }
__device__ float logarithm(float x) { return logf(x); }
#endif

template <class F>
struct Affine {
    F slope, offset;
};

struct Then {
    template <class F>
    __device__ Affine<F> operator()(Affine<F> a, Affine<F> b) const {
        return {a.slope * b.slope, a.offset * b.slope + b.offset};
    }
};

template <class F>
struct Spread {
    F count, mean, squares;
};

struct MergeSpreads {
    template <class F>
    __device__ Spread<F> operator()(Spread<F> a, Spread<F> b) const {
        F count = a.count + b.count;
        if (count == 0) return a;
        F distance = b.mean - a.mean, part = b.count / count;
        return {count, a.mean + distance * part,
                a.squares + b.squares + distance * distance * a.count * part};
    }
};

struct LogAdd {
    __device__ float operator()(float a, float b) const {
        float more = a > b ? a : b, less = a > b ? b : a;
        return less == -INFINITY ? more : more + logarithm(1.0f + exponential(less - more));
    }
};

/// The greatest of some numbers, and the sum of the exponentials of their distances from it.
struct alignas(8) Softmax {
    float most, sum;
};

struct MergeSoftmax {
    __device__ Softmax operator()(Softmax a, Softmax b) const {
        float most = fmaxf(a.most, b.most);
        if (most == -INFINITY) return {most, a.sum + b.sum};
        return {most, a.sum * exponential(a.most - most) + b.sum * exponential(b.most - most)};
    }
};

struct Norm {
    __device__ float operator()(float a, float b) const { return sqrtf(a * a + b * b); }
};

struct Parallel {
    __device__ float operator()(float a, float b) const { return 1 / (1 / a + 1 / b); }
};

struct alignas(8) Mean {
    float mean, weight;
};

struct MergeMeans {
    __device__ Mean operator()(Mean a, Mean b) const {
        float weight = a.weight + b.weight;
        if (weight == 0) return a;
        return {(a.mean * a.weight + b.mean * b.weight) / weight, weight};
    }
};

/// Of quaternions.
struct HamiltonProduct {
    __device__ float4 operator()(float4 a, float4 b) const {
        return {a.x * b.x - a.y * b.y - a.z * b.z - a.w * b.w,
                a.x * b.y + a.y * b.x + a.z * b.w - a.w * b.z,
                a.x * b.z - a.y * b.w + a.z * b.x + a.w * b.y,
                a.x * b.w + a.y * b.z - a.z * b.y + a.w * b.x};
    }
};

}  // namespace

#ifdef ROUNDED
#define FLOATS(element, operator_, ...) CLASS(element, operator_##_rounded, __VA_ARGS__)
#else
#define FLOATS(element, operator_, ...) CLASS(element, operator_, __VA_ARGS__)
#endif

FLOATS(affine, then, Affine<float>, Then{}, Affine<float>{1, 0})
FLOATS(f64x2, then, Affine<double>, Then{}, Affine<double>{1, 0})
FLOATS(spread12, merge, Spread<float>, MergeSpreads{}, Spread<float>{})
FLOATS(spread24, merge, Spread<double>, MergeSpreads{}, Spread<double>{})
FLOATS(f32, logadd, float, LogAdd{}, -INFINITY)
FLOATS(softmax, merge, Softmax, MergeSoftmax{}, Softmax{-INFINITY, 0})
FLOATS(quaternion, product, float4, HamiltonProduct{}, float4{1, 0, 0, 0})
FLOATS(f32, norm, float, Norm{}, 0.0f)
FLOATS(f32, parallel, float, Parallel{}, INFINITY)
FLOATS(mean, merge, Mean, MergeMeans{}, Mean{})
