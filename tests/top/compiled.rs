//! NVRTC compiles the kernels, for old and new GPUs.

use crate::support::skip;
use warpfold::codegen::kernels::Top;
use warpfold::cuda::nvrtc::{self, Target};
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

fn compile<F: Form<Item: Candidate>>(architecture: u32) {
    let kernel = Top::<F>::kernel(Top::<F>::shape());
    let source = kernel.source().unwrap();
    match nvrtc::compile(&source, "top-k", Target::Cubin(architecture)) {
        Ok(image) => assert_eq!(&image[..4], b"\x7fELF", "{kernel:?} for sm_{architecture}"),
        Err(error) => panic!("{kernel:?} for sm_{architecture}: {error}"),
    }
}

#[test]
fn kernels_of_top_k_compile_for_old_and_new_gpus() {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    compile::<Slice<u8>>(75);
    compile::<Slice<f32>>(90);
    compile::<UpTo<Slice<f16>>>(120);
    compile::<Slice<i128>>(80);
    compile::<Flagged<positive, Slice<f32>>>(100);
    compile::<Map<squared, Slice<i64>>>(75);
    compile::<Strided<Slice<u32>>>(86);
}
