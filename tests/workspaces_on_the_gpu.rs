//! Calls whose workspace is too small, of another stream or of another context are errors, and
//! spoil nothing.

use crate::support::cases::{Case, assert_bits};
use crate::support::data::sample;
use crate::support::{captured, oracle, stream};
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, sys};
use warpfold::cuda::{Reduce, Scan, Workspace};
use warpfold::ops::Add;
use warpfold::{Error, Prefixes, Result};

/// A scan and a reduction of one length, with buffers.
struct Calls {
    scan: Scan<f32, Add>,
    reduce: Reduce<f32, Add>,
    case: Case<f32>,
    input: CudaSlice<f32>,
    output: CudaSlice<f32>,
    total: CudaSlice<f32>,
}

impl Calls {
    const LENGTH: usize = 1 << 20;

    fn new(context: &Arc<CudaContext>, stream: &Arc<CudaStream>) -> Calls {
        let case = Case::new::<Add>(Self::LENGTH, 3);
        Calls {
            scan: Scan::load(context).unwrap(),
            reduce: Reduce::load(context).unwrap(),
            input: stream.clone_htod(&case.data).unwrap(),
            output: stream.alloc_zeros(Self::LENGTH).unwrap(),
            total: stream.alloc_zeros(1).unwrap(),
            case,
        }
    }

    /// What a scan, a scan in place and a reduction return.
    fn errors(&mut self, stream: &Arc<CudaStream>, workspace: &mut Workspace) -> [Error; 3] {
        let (input, output) = (&self.input, &mut self.output);
        [
            self.scan
                .enqueue(stream, Prefixes::exclusive(), input, output, workspace),
            self.scan
                .enqueue_in_place(stream, Prefixes::inclusive(), output, workspace),
            self.reduce
                .enqueue(stream, input, &mut self.total, workspace),
        ]
        .map(Result::unwrap_err)
    }

    #[track_caller]
    fn check(&mut self, stream: &Arc<CudaStream>, workspace: &mut Workspace, what: &str) {
        let (input, output) = (&self.input, &mut self.output);
        self.scan
            .enqueue(stream, Prefixes::exclusive(), input, output, workspace)
            .unwrap();
        self.reduce
            .enqueue(stream, input, &mut self.total, workspace)
            .unwrap();
        let got = stream.clone_dtoh(&self.output).unwrap();
        assert_bits(&got, &self.case.exclusive, what);
        let got = stream.clone_dtoh(&self.total).unwrap();
        assert_bits(&got, &[self.case.total], what);
    }
}

#[test]
fn a_workspace_that_is_too_small_is_an_error_until_it_grows() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let mut calls = Calls::new(&context, &stream);
    let mut workspace = Workspace::new(&stream, 1).unwrap();
    let given = workspace.bytes();
    let needed = [
        calls.scan.workspace_bytes(Calls::LENGTH),
        calls.reduce.workspace_bytes(Calls::LENGTH),
    ];
    assert!(needed.iter().all(|&needed| given < needed));
    let [scan, reduce] = needed.map(|needed| Error::Workspace { needed, given });
    assert_eq!(
        calls.errors(&stream, &mut workspace),
        [scan.clone(), scan, reduce]
    );
    for bytes in needed {
        workspace.grow(bytes).unwrap();
        assert!(workspace.bytes() >= bytes);
    }
    calls.check(&stream, &mut workspace, "a workspace that grew");
    let bytes = workspace.bytes();
    workspace.grow(1).unwrap();
    assert_eq!(workspace.bytes(), bytes);
    calls.check(&stream, &mut workspace, "a workspace that had room");
}

#[test]
fn a_workspace_of_another_stream_is_an_error_until_it_moves() {
    let Some((context, first)) = stream() else {
        return;
    };
    let second = context.new_stream().unwrap();
    let mut calls = Calls::new(&context, &first);
    let bytes = calls
        .scan
        .workspace_bytes(Calls::LENGTH)
        .max(calls.reduce.workspace_bytes(Calls::LENGTH));
    let mut workspace = Workspace::new(&first, bytes).unwrap();
    assert_eq!(workspace.stream().cu_stream(), first.cu_stream());
    calls.check(&first, &mut workspace, "the stream that it was made for");
    for error in calls.errors(&second, &mut workspace) {
        assert_eq!(error, Error::WorkspaceStream);
    }
    for (from, to) in [(&first, &second), (&second, &first)] {
        workspace.move_to(to).unwrap();
        assert_eq!(workspace.stream().cu_stream(), to.cu_stream());
        for error in calls.errors(from, &mut workspace) {
            assert_eq!(error, Error::WorkspaceStream);
        }
        calls.check(to, &mut workspace, "the stream that it moved to");
    }
}

/// Calls on two streams in turn. One workspace moves between them, and nothing else orders them.
#[test]
fn a_workspace_that_moves_waits_for_the_calls_so_far() {
    let Some((context, first)) = stream() else {
        return;
    };
    let second = context.new_stream().unwrap();
    let scan = Scan::<f32, Add>::load(&context).unwrap();
    let length = (1 << 22) + 3;
    let mut expected = sample::<f32>(length, 4);
    let [mut of_first, mut of_second] = [(); 2].map(|()| first.clone_htod(&expected).unwrap());
    first.synchronize().unwrap();
    let mut workspace = Workspace::new(&first, scan.workspace_bytes(length)).unwrap();
    for _ in 0..10 {
        for (stream, values) in [(&first, &mut of_first), (&second, &mut of_second)] {
            workspace.move_to(stream).unwrap();
            scan.enqueue_in_place(stream, Prefixes::inclusive(), values, &mut workspace)
                .unwrap();
        }
        expected = oracle::inclusive::<f32, Add>(&expected, None);
    }
    for (stream, values) in [(&first, &of_first), (&second, &of_second)] {
        let got = stream.clone_dtoh(values).unwrap();
        assert_bits(&got, &expected, "in place, 10 times");
    }
}

/// Memory that a graph would allocate and zero at each replay, or never.
#[test]
fn a_workspace_is_not_made_while_its_stream_is_captured() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let mut calls = Calls::new(&context, &stream);
    let bytes = calls.scan.workspace_bytes(Calls::LENGTH);
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    let before = workspace.bytes();
    let graph = captured(&stream, || {
        assert!(Workspace::new(&stream, bytes).is_err());
        assert!(workspace.grow(4 * before).is_err());
        let (input, output) = (&calls.input, &mut calls.output);
        calls.scan.enqueue(
            &stream,
            Prefixes::exclusive(),
            input,
            output,
            &mut workspace,
        )
    });
    assert_eq!(workspace.bytes(), before);
    for _ in 0..3 {
        stream.memset_zeros(&mut calls.output).unwrap();
        graph.launch().unwrap();
        let got = stream.clone_dtoh(&calls.output).unwrap();
        assert_bits(&got, &calls.case.exclusive, "a replay");
    }
}

/// A second context on the same GPU. The function that makes one has another name in each version
/// of CUDA.
fn another_context(context: &CudaContext) -> Arc<CudaContext> {
    type Create =
        unsafe extern "C" fn(*mut sys::CUcontext, std::ffi::c_uint, sys::CUdevice) -> sys::CUresult;
    let names = ["libcuda.so.1", "libcuda.so", "nvcuda.dll"];
    // SAFETY: the driver is loaded already, and has run its initialisers.
    let open = |name| unsafe { libloading::Library::new(name) }.ok();
    let driver = names.into_iter().find_map(open).expect("the driver");
    let mut created = std::ptr::null_mut();
    // SAFETY: that is the function's type, and the pointer is valid for a write.
    let result = unsafe {
        let create = driver.get::<Create>(b"cuCtxCreate_v2\0").unwrap();
        create(&mut created, 0, context.cu_device())
    };
    result.result().unwrap();
    // SAFETY: the context was made above, and is handed over.
    let other = unsafe { CudaContext::from_raw_context(0, context.cu_device(), created) }.unwrap();
    // SAFETY: the test works on one stream of it.
    unsafe { other.disable_event_tracking() };
    other
}

#[test]
fn what_belongs_to_another_context_is_an_error() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let mut calls = Calls::new(&context, &stream);
    let bytes = calls
        .scan
        .workspace_bytes(Calls::LENGTH)
        .max(calls.reduce.workspace_bytes(Calls::LENGTH));
    let other = another_context(&context);
    let stranger = other.new_stream().unwrap();
    let mut strange = Workspace::new(&stranger, bytes).unwrap();
    let wrong = |what: &str| Error::WrongDevice {
        buffer: format!("another context ({what}, on cuda:0)"),
        device: "cuda:0, where the kernels were loaded".into(),
    };
    // A workspace of the other context, its stream, and both.
    let error = wrong("workspace");
    assert_eq!(
        calls.errors(&stream, &mut strange),
        [(); 3].map(|()| error.clone())
    );
    let error = wrong("stream");
    assert_eq!(
        calls.errors(&stranger, &mut strange),
        [(); 3].map(|()| error.clone())
    );
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    assert_eq!(
        calls.errors(&stranger, &mut workspace),
        [(); 3].map(|()| error.clone())
    );
    // Nothing was enqueued, and nothing is spoilt.
    calls.check(&stream, &mut workspace, "after the errors");
    drop(strange);
    drop(stranger);
    drop(other);
    calls.check(&stream, &mut workspace, "after the other context");
}
