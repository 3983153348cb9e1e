//! NVIDIA's CUB, compiled to a shared library from `benches/peers/`, on our buffers and our stream.

use crate::arena::Arena;
use crate::elements::Sample;
use crate::measure::{Arrays, Work};
use libloading::Library;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

const NAME: &str = "libcub_peer.so";

/// Says where the library lies, if not beside this program.
const VARIABLE: &str = "WARPFOLD_CUB_PEER";

/// As declared in `benches/peers/peer.cuh`.
type Call = unsafe extern "C" fn(
    workspace: *mut c_void,
    workspace_bytes: *mut usize,
    inputs: *const *const c_void,
    outputs: *const *mut c_void,
    length: u32,
    count: u32,
    stream: *mut c_void,
) -> c_int;

/// One of CUB's functions for a length, to be called with the addresses of what it reads and of
/// what it writes.
pub(crate) type Peer<'a> = Box<dyn FnMut(&[u64], &[u64]) + 'a>;

/// The most arrays that a function reads, or writes.
const MOST_ARRAYS: usize = 4;

pub(crate) struct Cub {
    /// Never unloaded, since the runtime in it is not made for that.
    library: &'static Library,
}

impl Cub {
    /// Loads the library; builds it if it is not there and nvcc is.
    pub(crate) fn load() -> Result<Cub, String> {
        let path = find()?;
        // SAFETY: the library is built from this repository, and runs no code when it is loaded but
        // its own runtime's.
        let library = unsafe { Library::new(&path) };
        let library = library.map_err(|error| format!("{}: {error}", path.display()))?;
        // SAFETY: as for all of its functions.
        let call = *unsafe { library.get::<Call>(b"reduce_f32_add") }
            .map_err(|error| format!("{}: {error}", path.display()))?;
        match workspace_bytes(call, [1, 1], ptr::null_mut()) {
            Ok(_) => Ok(Cub {
                library: Box::leak(Box::new(library)),
            }),
            Err(status) => Err(format!(
                "it was built for another GPU, or the driver is too old (CUDA's error {status})"
            )),
        }
    }

    pub(crate) fn version(&self) -> String {
        // SAFETY: the function has this type.
        let version = unsafe {
            self.library
                .get::<unsafe extern "C" fn() -> c_int>(b"cub_version")
                .map(|version| version())
        };
        // MMMmmmpp: major, minor, patch.
        let version = version.expect("every build of the library says its version");
        let (major, minor, patch) = (version / 100_000, version / 100 % 1000, version % 100);
        format!("{major}.{minor}.{patch}")
    }

    /// One of CUB's functions, if it is there and takes so many elements.
    pub(crate) fn peer<'a>(
        &self,
        name: &str,
        stream: &'a Arc<CudaStream>,
        length: usize,
    ) -> Option<Peer<'a>> {
        self.peer_of_segments(name, stream, length, 1)
    }

    /// A function of the library that wants to know how many segments there are.
    pub(crate) fn peer_of_segments<'a>(
        &self,
        name: &str,
        stream: &'a Arc<CudaStream>,
        length: usize,
        count: usize,
    ) -> Option<Peer<'a>> {
        // SAFETY: all functions with such names have this type, and the library stays.
        let call = *unsafe { self.library.get::<Call>(name.as_bytes()) }.ok()?;
        let sizes = [u32::try_from(length).ok()?, u32::try_from(count).ok()?];
        let queue = stream.cu_stream().cast();
        let mut bytes = workspace_bytes(call, sizes, queue).expect("CUB's answer");
        let mut workspace = stream.alloc_zeros::<u8>(bytes.max(1)).expect("memory");
        Some(Box::new(move |inputs, outputs| {
            let arrays = |of: &[u64]| -> [*mut c_void; MOST_ARRAYS] {
                std::array::from_fn(|i| of.get(i).copied().unwrap_or(0) as *mut c_void)
            };
            let (inputs, outputs) = (arrays(inputs), arrays(outputs));
            let (workspace, _working) = workspace.device_ptr_mut(stream);
            // SAFETY: the workspace is as large as CUB asked for. The callers' arrays are as long
            // as the function wants. All live until the benchmark has waited for the stream.
            let status = unsafe {
                call(
                    workspace as *mut c_void,
                    &mut bytes,
                    inputs.as_ptr().cast(),
                    outputs.as_ptr(),
                    sizes[0],
                    sizes[1],
                    queue,
                )
            };
            assert_eq!(status, 0, "CUB's error");
        }))
    }

    /// Calls of one of CUB's functions on the buffers of an arena.
    pub(crate) fn work<'a, T: Sample>(
        &self,
        name: &str,
        stream: &'a Arc<CudaStream>,
        arena: &'a RefCell<Arena<T>>,
        length: usize,
    ) -> Option<Work<'a>> {
        let mut peer = self.peer(name, stream, length)?;
        let arrays = arrays(stream, arena);
        Some(Box::new(move || arrays(&mut *peer)))
    }
}

/// The next input and output of an arena.
pub(crate) fn arrays<'a, T: Sample>(
    stream: &'a Arc<CudaStream>,
    arena: &'a RefCell<Arena<T>>,
) -> Arrays<'a> {
    Box::new(move |peer| {
        let mut arena = arena.borrow_mut();
        let (input, mut output) = arena.next();
        let (input, _reading) = input.device_ptr(stream);
        let (output, _writing) = output.device_ptr_mut(stream);
        peer(&[input], &[output]);
    })
}

/// The workspace that CUB needs for this many elements and segments, or CUDA's error.
fn workspace_bytes(
    call: Call,
    [length, count]: [u32; 2],
    queue: *mut c_void,
) -> Result<usize, c_int> {
    let mut bytes = 0;
    let nothing = [ptr::null_mut::<c_void>(); MOST_ARRAYS];
    let (inputs, outputs) = (nothing.as_ptr().cast(), nothing.as_ptr());
    // SAFETY: without a workspace, CUB does not look at the arrays.
    let status = unsafe {
        call(
            ptr::null_mut(),
            &mut bytes,
            inputs,
            outputs,
            length,
            count,
            queue,
        )
    };
    if status == 0 { Ok(bytes) } else { Err(status) }
}

/// The file of that name beside this program.
pub(crate) fn beside_program(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.is_file().then_some(path)
}

/// The library: named by the environment, beside this program, or built now.
fn find() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return Ok(path.into());
    }
    if let Some(path) = beside_program(NAME) {
        return Ok(path);
    }
    let script = Path::new("benches/peers/build");
    if !script.is_file() {
        return Err(format!("no {NAME} beside the program, and no {VARIABLE}"));
    }
    let path = Path::new("target").join(NAME);
    let built = Command::new(script).arg(&path).output();
    let built = built.map_err(|error| format!("{}: {error}", script.display()))?;
    if built.status.success() {
        return path.canonicalize().map_err(|error| error.to_string());
    }
    let message = String::from_utf8_lossy(&built.stderr);
    Err(message.lines().last().unwrap_or_default().to_owned())
}
