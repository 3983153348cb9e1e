//! NVRTC compiles the kernels, for old and new GPUs.

use crate::support::compiled::check_compiled;
use warpfold::codegen::Kernel;
use warpfold::codegen::kernels::SegmentedSort;
use warpfold::half::bf16;
use warpfold::{Cut, OffsetsOf, Rows, Sortable, StartsOf};

fn kernel<K: Sortable, C: Cut>() -> Kernel {
    SegmentedSort::<K, C>::kernel(SegmentedSort::<K, C>::shape(0))
}

#[test]
fn kernels_of_a_segmented_sort_compile_for_old_and_new_gpus() {
    let kernels = [
        (kernel::<f32, OffsetsOf<u64>>(), 90),
        (kernel::<u8, StartsOf<u32>>(), 75),
        (kernel::<bf16, Rows>(), 120),
        (kernel::<i128, OffsetsOf<u32>>(), 80),
        (kernel::<f64, Rows>(), 100),
    ];
    check_compiled("a segmented sort", kernels);
}
