//! What the tests share: the sequential oracle, the test data, the operators, and the skips.

#[cfg(feature = "cuda")]
pub(crate) mod cases;
#[cfg(feature = "cuda")]
pub(crate) mod compiled;
pub(crate) mod data;
pub(crate) mod emulator;
pub(crate) mod layer;
#[macro_use]
pub(crate) mod matrix;
pub(crate) mod numbers;
pub(crate) mod operators;
pub(crate) mod oracle;
pub(crate) mod skips;
#[cfg(feature = "cuda")]
pub(crate) mod spinner;
#[cfg(feature = "cuda")]
pub(crate) mod stand_in;
pub(crate) mod workspace;

#[cfg(feature = "cuda")]
pub(crate) use skips::skip;

#[cfg(feature = "cuda")]
use std::sync::Arc;
#[cfg(feature = "cuda")]
use warpfold::codegen::{Engine, Primitive, kernels, source};
#[cfg(feature = "cuda")]
use warpfold::cuda::cudarc::driver::{CudaContext, CudaGraph, CudaStream, sys};
#[cfg(feature = "cuda")]
use warpfold::{Element, Monoid};

/// What the tests draw at random, as a number: `WARPFOLD_SEED`, or 0.
pub(crate) fn seed() -> u64 {
    std::env::var("WARPFOLD_SEED").map_or(0, |text| {
        text.parse().expect("WARPFOLD_SEED is a whole number")
    })
}

/// The CUDA source of a primitive over slices.
#[cfg(feature = "cuda")]
pub(crate) fn source_of<T: Element, Op: Monoid<T>>(
    primitive: Primitive,
    engine: Engine,
) -> warpfold::Result<String> {
    match primitive {
        Primitive::Reduce => source::<kernels::Reduce<T, Op>>(engine),
        Primitive::Scan => source::<kernels::Scan<T, Op>>(engine),
    }
}

/// The CPU, and the first GPU if there is one.
pub(crate) fn devices() -> Vec<warpfold::Device> {
    let gpu = warpfold::Device::cuda(0).ok();
    std::iter::once(warpfold::Device::cpu())
        .chain(gpu)
        .collect()
}

/// GPU `ordinal`, or a skip.
#[cfg(feature = "cuda")]
#[track_caller]
pub(crate) fn gpu(ordinal: usize) -> Option<warpfold::Device> {
    match warpfold::Device::cuda(ordinal) {
        Ok(device) => Some(device),
        Err(error) => {
            skip("cuda", &error.to_string());
            None
        }
    }
}

/// A context without event tracking and a stream of its own, or a skip. With tracking on, making
/// the stream would wait for the whole GPU, which ends what other tests capture.
#[cfg(feature = "cuda")]
#[track_caller]
pub(crate) fn stream() -> Option<(Arc<CudaContext>, Arc<CudaStream>)> {
    gpu(0)?;
    let context = CudaContext::new(0).unwrap();
    // SAFETY: each test orders its streams itself.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream().unwrap();
    Some((context, stream))
}

/// What `work` enqueues on a stream, as a graph.
#[cfg(feature = "cuda")]
pub(crate) fn captured(
    stream: &Arc<CudaStream>,
    work: impl FnOnce() -> warpfold::Result<()>,
) -> CudaGraph {
    stream
        .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    let done = work();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0));
    done.unwrap();
    graph.unwrap().expect("something was captured")
}
