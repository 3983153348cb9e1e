//! NVRTC compiles the kernels of a room.

use super::matrix::is_drawn;
use super::skip;
use warpfold::codegen::Kernel;
use warpfold::cuda::nvrtc::{self, Target};

/// Kernels of which a run takes the first. Of the others it takes what it draws: each compiles for
/// seconds.
const GROUP: usize = 7;

/// Compiles kernels, each for its architecture.
pub(crate) fn check_compiled(room: &str, kernels: impl IntoIterator<Item = (Kernel, u32)>) {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    for (number, (kernel, architecture)) in kernels.into_iter().enumerate() {
        let name = format!("{room} {number} for sm_{architecture}");
        if !is_drawn(&name, number.is_multiple_of(GROUP)) {
            continue;
        }
        let source = kernel.source().unwrap();
        match nvrtc::compile(&source, room, Target::Cubin(architecture)) {
            Ok(image) => assert_eq!(&image[..4], b"\x7fELF", "{name}: {kernel:?}"),
            Err(error) => panic!("{name}: {kernel:?}: {error}"),
        }
    }
}
