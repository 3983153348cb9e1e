//! Comparing results with the oracle's, all of them, on the GPU: as fast as they are computed.

use crate::elements::Sample;
use crate::machine::load;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaStream, CudaView, DevicePtr, LaunchConfig,
    PushKernelArg,
};

/// What a result must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// The oracle's, bit for bit.
    Bits,
    /// Sums of `f32`, bracketed in another way.
    NearF32,
    /// Sums of `f64`, bracketed in another way.
    NearF64,
    /// Anything.
    Nothing,
}

const SOURCE: &str = r#"
using u64 = unsigned long long;

#define FIRST_WHERE(name, T, differ)                                                                     \
    extern "C" __global__ void name(const T* got, const T* expected, u64 length, u64* first) {           \
        for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) {   \
            T a = got[i], b = expected[i];                                                               \
            if (differ) atomicMin(first, i);                                                             \
        }                                                                                                \
    }

FIRST_WHERE(bits, unsigned char, a != b)
// What compares to nothing is far.
FIRST_WHERE(near_f32, float, !(fabsf(a - b) <= 1e-3f * fabsf(b) + 1e-2f))
FIRST_WHERE(near_f64, double, !(fabs(a - b) <= 1e-9 * fabs(b) + 1e-6))

// Whether `places` are where the keys of a sorted order stood, of equal ones the first one first,
// and `sorted`, if given, those keys. Places that ascend strictly by key and place differ, so there
// is one order that passes.
#define FIRST_DISORDER(name, K, P)                                                                       \
    extern "C" __global__ void name(const K* keys, const K* sorted, const P* places, u64 length,         \
                                    u64* first) {                                                        \
        for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) {   \
            u64 at = places[i], before = i ? places[i - 1] : 0;                                          \
            bool wrong = at >= length || before >= length || (sorted && sorted[i] != keys[at]);          \
            if (!wrong && i) {                                                                           \
                K a = keys[before], b = keys[at];                                                        \
                wrong = !(a < b || (a == b && before < at));                                             \
            }                                                                                            \
            if (wrong) atomicMin(first, i);                                                              \
        }                                                                                                \
    }

FIRST_DISORDER(disorder_u32_u32, unsigned, unsigned)
FIRST_DISORDER(disorder_u64_u64, u64, u64)
FIRST_DISORDER(disorder_u32_u64, unsigned, u64)
FIRST_DISORDER(disorder_f32_u64, float, u64)
"#;

pub(crate) struct Comparer {
    stream: Arc<CudaStream>,
    module: Arc<CudaModule>,
    bits: CudaFunction,
    near_f32: CudaFunction,
    near_f64: CudaFunction,
}

impl Comparer {
    pub(crate) fn new(context: &Arc<CudaContext>, stream: &Arc<CudaStream>) -> Comparer {
        let module = load(context, SOURCE, "the comparison").expect("a module");
        let function = |name| module.load_function(name).expect("a kernel");
        let comparer = Comparer {
            stream: stream.clone(),
            bits: function("bits"),
            near_f32: function("near_f32"),
            near_f64: function("near_f64"),
            module,
        };
        comparer.must_see_planted_differences();
        comparer
    }

    /// The first byte or float that is not as `check` has it.
    pub(crate) fn first_difference<T: Sample>(
        &self,
        check: Check,
        got: &CudaView<'_, T>,
        expected: &CudaView<'_, T>,
    ) -> Option<u64> {
        assert_eq!(got.len(), expected.len());
        let (function, bytes) = match check {
            Check::Bits => (&self.bits, 1),
            Check::NearF32 => (&self.near_f32, 4),
            Check::NearF64 => (&self.near_f64, 8),
            Check::Nothing => return None,
        };
        let length = (size_of::<T>() * got.len() / bytes) as u64;
        let (got, _reading) = got.device_ptr(&self.stream);
        let (expected, _reading_too) = expected.device_ptr(&self.stream);
        // SAFETY: the arguments are those of the kernels in `SOURCE`, and the views hold `length`
        // values each.
        unsafe { self.first(function, &[got, expected, length]) }
    }

    /// The first of `places` that is not where the keys of their sorted order stood, of equal ones
    /// the first one first; or whose key is not the one in `sorted`, if that is given. `types` are
    /// those of keys and places.
    pub(crate) fn first_disorder<K: Sample, P: Sample>(
        &self,
        types: &str,
        keys: &CudaView<'_, K>,
        sorted: Option<&CudaView<'_, K>>,
        places: &CudaView<'_, P>,
    ) -> Option<u64> {
        assert_eq!(keys.len(), places.len());
        assert!(sorted.is_none_or(|sorted| sorted.len() == keys.len()));
        let function = self.module.load_function(&format!("disorder_{types}"));
        let function = function.expect("keys and places of these types");
        let length = keys.len() as u64;
        let (keys, _reading) = keys.device_ptr(&self.stream);
        let (places, _reading_too) = places.device_ptr(&self.stream);
        let sorted = sorted.map(|sorted| sorted.device_ptr(&self.stream));
        let address = sorted.as_ref().map_or(0, |(address, _)| *address);
        // SAFETY: as above.
        unsafe { self.first(&function, &[keys, address, places, length]) }
    }

    /// What a kernel of `SOURCE` finds.
    ///
    /// # Safety
    ///
    /// The arguments are the kernel's but for the last, and what they point to stays borrowed.
    unsafe fn first(&self, function: &CudaFunction, arguments: &[u64]) -> Option<u64> {
        let first = self.stream.clone_htod(&[u64::MAX]).expect("memory");
        let (place, _writing) = first.device_ptr(&self.stream);
        let config = LaunchConfig {
            grid_dim: (4096, 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = self.stream.launch_builder(function);
        arguments.iter().for_each(|argument| {
            launch.arg(argument);
        });
        launch.arg(&place);
        // SAFETY: the caller's.
        unsafe { launch.launch(config) }.expect("a launch");
        let first = self.stream.clone_dtoh(&first).expect("a copy")[0];
        (first != u64::MAX).then_some(first)
    }

    /// The comparison must be trusted, so it is first shown a difference that it has to find.
    fn must_see_planted_differences(&self) {
        let upload = |values: &[f64]| self.stream.clone_htod(values).expect("memory");
        let values: Vec<f64> = (0..3_000_000).map(f64::from).collect();
        let mut other = values.clone();
        other[2_345_678] = f64::from_bits(other[2_345_678].to_bits() ^ 1);
        let (values, other) = (upload(&values), upload(&other));
        let first = |check, from, to| {
            self.first_difference(check, &values.slice(from..to), &other.slice(from..to))
        };
        assert_eq!(
            first(Check::Bits, 0, other.len()),
            Some(2_345_678 * 8),
            "the byte that was changed"
        );
        assert_eq!(first(Check::Bits, 2_345_679, other.len()), None);
        assert_eq!(first(Check::NearF64, 0, other.len()), None);
        let shifted = self.first_difference(
            Check::NearF64,
            &values.slice(1..1000),
            &values.slice(0..999),
        );
        assert_eq!(shifted, Some(0), "0 and 1 are far from each other");
        let upload = |values: &[u32]| self.stream.clone_htod(values).expect("memory");
        let keys = upload(&[3, 1, 2, 1]);
        let disorder = |sorted: &[u32], places: &[u32]| {
            let (sorted, places) = (upload(sorted), upload(places));
            let sorted = sorted.slice(..);
            self.first_disorder("u32_u32", &keys.slice(..), Some(&sorted), &places.slice(..))
        };
        assert_eq!(disorder(&[1, 1, 2, 3], &[1, 3, 2, 0]), None);
        assert_eq!(
            disorder(&[1, 1, 2, 3], &[3, 1, 2, 0]),
            Some(1),
            "not stable"
        );
        assert_eq!(disorder(&[1, 1, 2, 2], &[1, 3, 2, 2]), Some(3), "one twice");
        assert_eq!(
            disorder(&[1, 2, 2, 3], &[1, 3, 2, 0]),
            Some(1),
            "another key"
        );
        assert_eq!(disorder(&[1, 1, 2, 3], &[1, 3, 2, 9]), Some(3), "no place");
    }
}
