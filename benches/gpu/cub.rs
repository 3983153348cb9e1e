//! NVIDIA's CUB, compiled to a shared library from `benches/peers/cub.cu`, on our buffers and our
//! stream.

use crate::arena::Arena;
use crate::elements::Sample;
use crate::measure::Work;
use libloading::Library;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut,
};

const NAME: &str = "libcub_peer.so";

/// Says where the library lies, if not beside this program.
const VARIABLE: &str = "WARPFOLD_CUB_PEER";

/// As declared in `benches/peers/cub.cu`.
type Call = unsafe extern "C" fn(
    workspace: *mut c_void,
    workspace_bytes: *mut usize,
    input: *const c_void,
    output: *mut c_void,
    length: u32,
    stream: *mut c_void,
) -> c_int;

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
        match workspace_bytes(call, 1, ptr::null_mut()) {
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

    /// Calls of one of CUB's functions, if it is there.
    pub(crate) fn work<'a, T: Sample>(
        &self,
        name: &str,
        stream: &'a Arc<CudaStream>,
        arena: &'a RefCell<Arena<T>>,
        length: usize,
    ) -> Option<Work<'a>> {
        // SAFETY: all functions with such names have this type, and the library stays.
        let call = *unsafe { self.library.get::<Call>(name.as_bytes()) }.ok()?;
        let length = u32::try_from(length).ok()?;
        let queue = stream.cu_stream().cast();
        let mut bytes = workspace_bytes(call, length, queue).expect("CUB's answer");
        let mut workspace = stream.alloc_zeros::<u8>(bytes.max(1)).expect("memory");
        Some(Box::new(move || {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            assert_eq!(input.len(), length as usize);
            let (input, _reading) = input.device_ptr(stream);
            let (output, _writing) = output.device_ptr_mut(stream);
            let (workspace, _working) = workspace.device_ptr_mut(stream);
            // SAFETY: the arrays are that long and the workspace as large as CUB asked for; both
            // live until the benchmark has waited for the stream.
            let status = unsafe {
                call(
                    workspace as *mut c_void,
                    &mut bytes,
                    input as *const c_void,
                    output as *mut c_void,
                    length,
                    queue,
                )
            };
            assert_eq!(status, 0, "CUB's error");
        }))
    }
}

/// A call on input, output and count.
pub(crate) type SelectCall<'a, T> =
    Box<dyn FnMut(&CudaView<'_, T>, &mut CudaViewMut<'_, T>, &mut CudaSlice<u64>) + 'a>;

/// As declared in `benches/peers/cub.cu`, for selects.
type Select = unsafe extern "C" fn(
    workspace: *mut c_void,
    workspace_bytes: *mut usize,
    input: *const c_void,
    output: *mut c_void,
    count: *mut u64,
    length: u32,
    stream: *mut c_void,
) -> c_int;

impl Cub {
    /// One of CUB's selects, if it is there: a function of input, output and count.
    pub(crate) fn select<'a, T: Sample>(
        &self,
        name: &str,
        stream: &'a Arc<CudaStream>,
        length: usize,
    ) -> Option<SelectCall<'a, T>> {
        // SAFETY: all functions with such names have this type, and the library stays.
        let call = *unsafe { self.library.get::<Select>(name.as_bytes()) }.ok()?;
        let length = u32::try_from(length).ok()?;
        let queue = stream.cu_stream().cast();
        let (mut bytes, null) = (0, ptr::null_mut());
        // SAFETY: without a workspace, CUB does not look at the arrays.
        let status = unsafe { call(null, &mut bytes, null, null, null.cast(), length, queue) };
        assert_eq!(status, 0, "CUB's error");
        let mut workspace = stream.alloc_zeros::<u8>(bytes.max(1)).expect("memory");
        Some(Box::new(
            move |input: &CudaView<'_, T>,
                  output: &mut CudaViewMut<'_, T>,
                  count: &mut CudaSlice<u64>| {
                let (input, _reading) = input.device_ptr(stream);
                let (output, _writing) = output.device_ptr_mut(stream);
                let (count, _counting) = count.device_ptr_mut(stream);
                let (workspace, _working) = workspace.device_ptr_mut(stream);
                // SAFETY: as in `work`.
                let status = unsafe {
                    call(
                        workspace as *mut c_void,
                        &mut bytes,
                        input as *const c_void,
                        output as *mut c_void,
                        count as *mut u64,
                        length,
                        queue,
                    )
                };
                assert_eq!(status, 0, "CUB's error");
            },
        ))
    }
}

/// The workspace that CUB needs for this many elements, or CUDA's error.
fn workspace_bytes(call: Call, length: u32, queue: *mut c_void) -> Result<usize, c_int> {
    let mut bytes = 0;
    let (input, output) = (ptr::null(), ptr::null_mut());
    // SAFETY: without a workspace, CUB does not look at the arrays.
    let status = unsafe { call(ptr::null_mut(), &mut bytes, input, output, length, queue) };
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
