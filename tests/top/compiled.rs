//! NVRTC compiles the kernels, for old and new GPUs.

use crate::support::compiled::check_compiled;
use warpfold::codegen::Kernel;
use warpfold::codegen::kernels::{Nth, Top};
use warpfold::half::f16;
use warpfold::source::{Flagged, Form, Map, Slice, Strided, UpTo};
use warpfold::{Candidate, Sortable, function};

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

fn nth<F: Form<Item: Sortable>>(number: usize) -> Kernel {
    Nth::<F>::kernel(Nth::<F>::shapes()[number])
}

#[test]
fn kernels_of_the_nth_item_compile_for_old_and_new_gpus() {
    let kernels = [
        (nth::<Slice<f32>>(0), 90),
        (nth::<Slice<u8>>(1), 75),
        (nth::<Slice<f16>>(0), 120),
        (nth::<Slice<i128>>(1), 80),
        (nth::<Map<squared, Slice<i64>>>(0), 100),
    ];
    check_compiled("nth", kernels);
}
