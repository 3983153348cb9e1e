//! Compiling CUDA source with NVRTC. Needs no GPU and no driver.

use super::nvrtc_library::{CopyOf, NAME, Nvrtc, SizeOf, Status, in_a_thread};
use crate::render::COMPILER_OPTIONS;
use crate::{Error, Result};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

/// What a source is compiled to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Machine code for one architecture, such as 90 for `sm_90`. Loads fastest.
    Cubin(u32),
    /// PTX for a virtual architecture, such as 90 for `compute_90`, which the driver translates for
    /// any GPU of that architecture or a later one.
    Ptx(u32),
}

impl Target {
    /// The target for a GPU of compute capability `capability` (90 for 9.0). It is machine code if
    /// this NVRTC knows the architecture, and otherwise the newest PTX that the GPU can run.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without NVRTC, or if it has dropped architectures as old as this one.
    pub fn for_capability(capability: u32) -> Result<Target> {
        let known = architectures()?;
        if known.contains(&capability) {
            return Ok(Target::Cubin(capability));
        }
        let older = known
            .iter()
            .copied()
            .filter(|&known| known < capability)
            .max();
        older.map(Target::Ptx).ok_or_else(|| Error::Library {
            library: NAME,
            cause: format!(
                "it does not compile for a GPU as old as compute capability {}.{}",
                capability / 10,
                capability % 10
            ),
            remedy: "install the NVRTC of an older CUDA toolkit, such as 12, for this GPU",
        })
    }

    /// The architecture, such as 90.
    pub(super) fn architecture(self) -> u32 {
        match self {
            Target::Cubin(architecture) | Target::Ptx(architecture) => architecture,
        }
    }

    /// The architecture's name, such as `sm_90` or `compute_90`.
    pub fn name(self) -> String {
        match self {
            Target::Cubin(architecture) => format!("sm_{architecture}"),
            Target::Ptx(architecture) => format!("compute_{architecture}"),
        }
    }
}

/// NVRTC's version, major and minor.
///
/// # Errors
///
/// [`Error::Library`] without NVRTC.
pub fn version() -> Result<(u32, u32)> {
    Nvrtc::get().map(|nvrtc| nvrtc.version)
}

/// NVRTC's file, such as `/usr/local/cuda/lib64/libnvrtc.so.13.0.88`. Without `WARPFOLD_NVRTC`,
/// which names another, it is the newest major version in the loader's path that the driver goes
/// with; and of that version the first in the path.
///
/// # Errors
///
/// [`Error::Library`] without NVRTC.
pub fn file() -> Result<PathBuf> {
    Nvrtc::get().map(|nvrtc| nvrtc.file.clone())
}

/// NVRTC's release, such as `13.2.86`. Two releases of one version compile to different code.
///
/// # Errors
///
/// [`Error::Library`] without NVRTC.
///
/// # Complexity
///
/// The first call compiles an empty program, in some 25 milliseconds: only PTX names the release.
pub fn release() -> Result<String> {
    static RELEASE: OnceLock<Result<String>> = OnceLock::new();
    let find = || {
        let (major, minor) = version()?;
        let oldest = architectures()?.into_iter().min().unwrap_or_default();
        let ptx = compile_with("", "nothing", Target::Ptx(oldest), &[])?;
        let head = String::from_utf8_lossy(&ptx);
        // Such as `// Cuda compilation tools, release 13.2, V13.2.86`.
        let named = head.lines().filter(|line| line.starts_with("//"));
        let release = named.filter_map(|line| line.rsplit_once(", V")).next();
        Ok(release.map_or(format!("{major}.{minor}"), |(_, release)| {
            release.trim().to_owned()
        }))
    };
    RELEASE.get_or_init(find).clone()
}

/// The architectures that this NVRTC compiles for, such as 75, 80, 90.
///
/// # Errors
///
/// [`Error::Library`] without NVRTC.
pub fn architectures() -> Result<Vec<u32>> {
    let nvrtc = Nvrtc::get()?;
    let mut count: c_int = 0;
    // SAFETY: the pointer is valid for a write.
    check(nvrtc, unsafe {
        (nvrtc.functions.count_architectures)(&mut count)
    })?;
    let mut architectures = vec![0 as c_int; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the array has room for as many entries as NVRTC just announced.
    check(nvrtc, unsafe {
        (nvrtc.functions.architectures)(architectures.as_mut_ptr())
    })?;
    Ok(architectures
        .into_iter()
        .filter_map(|known| u32::try_from(known).ok())
        .collect())
}

/// Compiles a source of [`codegen::source`](crate::codegen::source) to a binary that the CUDA
/// driver loads: an ELF image, or PTX text with a final NUL. `operator` is named in errors.
///
/// NVRTC works in a thread of its own, so that it does not change the caller's locale.
///
/// # Errors
///
/// [`Error::Compile`] with NVRTC's log; [`Error::Library`] without NVRTC.
pub fn compile(source: &str, operator: &str, target: Target) -> Result<Vec<u8>> {
    compile_with(source, operator, target, COMPILER_OPTIONS)
}

fn compile_with(source: &str, operator: &str, target: Target, options: &[&str]) -> Result<Vec<u8>> {
    let nvrtc = Nvrtc::get()?;
    let text = CString::new(source).map_err(|_| {
        Error::Codegen(format!(
            "the CUDA text of {operator} contains a NUL character"
        ))
    })?;
    let architecture = format!("--gpu-architecture={}", target.name());
    let options: Vec<CString> = options
        .iter()
        .copied()
        .chain([architecture.as_str()])
        .map(|option| CString::new(option).expect("options are words"))
        .collect();
    in_a_thread(|| {
        let program = Program::new(nvrtc, &text)?;
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program lives, and so do as many options as are announced.
        let status = unsafe {
            (nvrtc.functions.compile)(program.handle, options.len() as c_int, options.as_ptr())
        };
        match (status, target) {
            (COMPILATION, _) => Err(Error::Compile {
                operator: operator.to_owned(),
                architecture: target.name(),
                log: program.log(),
            }),
            (0, Target::Cubin(_)) => {
                program.image(nvrtc.functions.cubin_size, nvrtc.functions.cubin)
            }
            (0, Target::Ptx(_)) => program.image(nvrtc.functions.ptx_size, nvrtc.functions.ptx),
            (_, _) => Err(failure(nvrtc, status, &program.log())),
        }
    })?
}

/// The source is wrong.
const COMPILATION: Status = 6;

/// A failure of NVRTC that is not the source's fault.
fn check(nvrtc: &Nvrtc, status: Status) -> Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(failure(nvrtc, status, "")),
    }
}

fn failure(nvrtc: &Nvrtc, status: Status, log: &str) -> Error {
    let (file, what) = (nvrtc.file.display(), nvrtc.describe(status));
    Error::Library {
        library: NAME,
        cause: [&format!("{file} failed with {what}"), log]
            .join(" ")
            .trim()
            .to_owned(),
        remedy: "check that libnvrtc-builtins of the same release lies beside libnvrtc",
    }
}

struct Program {
    nvrtc: &'static Nvrtc,
    handle: *mut c_void,
}

impl Program {
    fn new(nvrtc: &'static Nvrtc, text: &CString) -> Result<Program> {
        let mut handle = std::ptr::null_mut();
        let (name, none) = (c"warpfold.cu".as_ptr(), std::ptr::null());
        // SAFETY: the pointer is valid for a write, the texts end with a NUL, and there are no
        // headers. The caller keeps the text for the program's lifetime.
        let status =
            unsafe { (nvrtc.functions.create)(&mut handle, text.as_ptr(), name, 0, none, none) };
        check(nvrtc, status)?;
        Ok(Program { nvrtc, handle })
    }

    fn image(&self, size_of: SizeOf, copy_of: CopyOf) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program is alive, and the pointer is valid for a write.
        check(self.nvrtc, unsafe { size_of(self.handle, &mut size) })?;
        let mut image = vec![0_u8; size];
        let start = image.as_mut_ptr().cast::<c_char>();
        // SAFETY: the program is alive, and the buffer has the size that NVRTC asked for.
        check(self.nvrtc, unsafe { copy_of(self.handle, start) })?;
        Ok(image)
    }

    fn log(&self) -> String {
        let functions = &self.nvrtc.functions;
        let log = self.image(functions.log_size, functions.log);
        String::from_utf8_lossy(&log.unwrap_or_default())
            .trim_end_matches(['\0', '\n'])
            .to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created by NVRTC and is destroyed once. A failure leaks it.
        unsafe { (self.nvrtc.functions.destroy)(&mut self.handle) };
    }
}
