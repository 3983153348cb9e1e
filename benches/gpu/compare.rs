//! Comparing results with the oracle's, all of them, on the GPU: as fast as they are computed.

use crate::elements::Sample;
use crate::machine::load;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, CudaView, DevicePtr, LaunchConfig, PushKernelArg,
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
"#;

pub(crate) struct Comparer {
    stream: Arc<CudaStream>,
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
        let first = self.stream.clone_htod(&[u64::MAX]).expect("memory");
        let (got, _reading) = got.device_ptr(&self.stream);
        let (expected, _reading_too) = expected.device_ptr(&self.stream);
        let (place, _writing) = first.device_ptr(&self.stream);
        let config = LaunchConfig {
            grid_dim: (4096, 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = self.stream.launch_builder(function);
        launch.arg(&got).arg(&expected).arg(&length).arg(&place);
        // SAFETY: the arguments are those of the kernels in `SOURCE`, and the views hold `length`
        // values each.
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
    }
}
