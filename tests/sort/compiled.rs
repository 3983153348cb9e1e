//! NVRTC compiles the kernels, for old and new GPUs.

use crate::support::compiled::check_compiled;
use warpfold::codegen::{SortShape, sort_gather};

#[test]
fn kernels_of_a_sort_compile_for_old_and_new_gpus() {
    let shapes = [
        SortShape::of_keys::<u8>(),
        SortShape::of_pairs::<i16, [u8; 3]>(),
        SortShape::of_keys::<f32>(),
        SortShape::of_pairs::<f64, u32>(),
        SortShape::of_pairs::<u64, u128>(),
        SortShape::of_pairs::<i128, [u16; 5]>(),
    ];
    let kernels = shapes.map(|shape| [shape.short(), shape.long(32), shape.long(64)]);
    let all = kernels.as_flattened().iter().cloned();
    let all = all.chain([sort_gather::<[f64; 8]>(), sort_gather::<u8>()]);
    check_compiled("a sort", all.zip([75, 90, 120, 80].into_iter().cycle()));
}
