//! NVRTC compiles the kernels, for old and new GPUs.

use crate::support::skip;
use warpfold::codegen::kernels::SegmentedSort;
use warpfold::cuda::nvrtc::{self, Target};
use warpfold::half::bf16;
use warpfold::{Cut, OffsetsOf, Rows, Sortable, StartsOf};

fn compile<K: Sortable, C: Cut>(architecture: u32) {
    let kernel = SegmentedSort::<K, C>::kernel(SegmentedSort::<K, C>::shape());
    let source = kernel.source().unwrap();
    match nvrtc::compile(&source, "a segmented sort", Target::Cubin(architecture)) {
        Ok(image) => assert_eq!(&image[..4], b"\x7fELF", "{kernel:?} for sm_{architecture}"),
        Err(error) => panic!("{kernel:?} for sm_{architecture}: {error}"),
    }
}

#[test]
fn kernels_of_a_segmented_sort_compile_for_old_and_new_gpus() {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    compile::<f32, OffsetsOf<u64>>(90);
    compile::<u8, StartsOf<u32>>(75);
    compile::<bf16, Rows>(120);
    compile::<i128, OffsetsOf<u32>>(80);
    compile::<f64, Rows>(100);
}
