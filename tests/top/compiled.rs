//! NVRTC compiles the kernels, for old and new GPUs.

use crate::support::compiled::check_compiled;
use warpfold::codegen::Kernel;
use warpfold::codegen::kernels::Top;
use warpfold::half::f16;
use warpfold::source::{Flagged, Form, Map, Slice, Strided, UpTo};
use warpfold::{Candidate, function};

#[function]
fn positive(x: f32) -> bool {
    x > 0.0
}

#[function]
fn squared(x: i64) -> f64 {
    x as f64 * x as f64
}

fn kernel<F: Form<Item: Candidate>>() -> Kernel {
    Top::<F>::kernel(Top::<F>::shape())
}

#[test]
fn kernels_of_top_k_compile_for_old_and_new_gpus() {
    let kernels = [
        (kernel::<Slice<f32>>(), 90),
        (kernel::<Slice<u8>>(), 75),
        (kernel::<UpTo<Slice<f16>>>(), 120),
        (kernel::<Slice<i128>>(), 80),
        (kernel::<Flagged<positive, Slice<f32>>>(), 100),
        (kernel::<Map<squared, Slice<i64>>>(), 75),
        (kernel::<Strided<Slice<u32>>>(), 86),
    ];
    check_compiled("top-k", kernels);
}
