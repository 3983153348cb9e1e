//! NVRTC compiles the kernels, for old and new GPUs.

use crate::support::skip;
use warpfold::codegen::{SortShape, sort_gather};
use warpfold::cuda::nvrtc::{self, Target};

#[test]
fn kernels_of_a_sort_compile_for_old_and_new_gpus() {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
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
    for (kernel, architecture) in all.zip([75, 90, 120, 80].into_iter().cycle()) {
        let source = kernel.source().unwrap();
        match nvrtc::compile(&source, "a sort", Target::Cubin(architecture)) {
            Ok(image) => assert_eq!(&image[..4], b"\x7fELF", "{kernel:?} for sm_{architecture}"),
            Err(error) => panic!("{kernel:?} for sm_{architecture}: {error}"),
        }
    }
}
