//! Compiling CUDA source with NVRTC. Needs no GPU and no driver.

use super::library::require_nvrtc;
use crate::render::COMPILER_OPTIONS;
use crate::{Error, Result};
use cudarc::nvrtc::{result, sys};
use std::ffi::{CString, c_char, c_int};

/// What a source is compiled to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
            library: "NVRTC, CUDA's run-time compiler (libnvrtc)",
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
    require_nvrtc()?;
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: NVRTC is loaded, and both pointers are valid for a write.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) }
        .result()
        .map_err(|error| failure(&error))?;
    Ok((major.unsigned_abs(), minor.unsigned_abs()))
}

/// The architectures that this NVRTC compiles for, such as 75, 80, 90.
///
/// # Errors
///
/// [`Error::Library`] without NVRTC.
pub fn architectures() -> Result<Vec<u32>> {
    require_nvrtc()?;
    let mut count: c_int = 0;
    // SAFETY: NVRTC is loaded, and the pointer is valid for a write.
    unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) }
        .result()
        .map_err(|error| failure(&error))?;
    let mut architectures = vec![0 as c_int; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the array has room for as many entries as NVRTC just announced.
    unsafe { sys::nvrtcGetSupportedArchs(architectures.as_mut_ptr()) }
        .result()
        .map_err(|error| failure(&error))?;
    Ok(architectures
        .into_iter()
        .filter_map(|known| u32::try_from(known).ok())
        .collect())
}

/// Compiles a source of [`codegen::source`](crate::codegen::source) to a binary that the CUDA
/// driver loads: an ELF image, or PTX text with a final NUL. `operator` is named in errors.
///
/// # Errors
///
/// [`Error::Compile`] with NVRTC's log; [`Error::Library`] without NVRTC.
pub fn compile(source: &str, operator: &str, target: Target) -> Result<Vec<u8>> {
    require_nvrtc()?;
    let text = CString::new(source).map_err(|_| {
        Error::Codegen(format!(
            "the CUDA text of {operator} contains a NUL character"
        ))
    })?;
    let program = Program::new(&text)?;
    let mut options: Vec<String> = COMPILER_OPTIONS
        .iter()
        .map(|&option| option.to_owned())
        .collect();
    options.push(format!("--gpu-architecture={}", target.name()));
    // SAFETY: the program was created above and is destroyed when `program` is dropped.
    if let Err(error) = unsafe { result::compile_program(program.0, &options) } {
        return Err(match error.0 {
            sys::nvrtcResult::NVRTC_ERROR_COMPILATION => Error::Compile {
                operator: operator.to_owned(),
                architecture: target.name(),
                log: program.log(),
            },
            _ => failure(&error),
        });
    }
    match target {
        Target::Cubin(_) => program.image(sys::nvrtcGetCUBINSize, sys::nvrtcGetCUBIN),
        Target::Ptx(_) => program.image(sys::nvrtcGetPTXSize, sys::nvrtcGetPTX),
    }
}

/// A failure of NVRTC that is not the source's fault.
fn failure(error: &result::NvrtcError) -> Error {
    Error::Library {
        library: "NVRTC, CUDA's run-time compiler (libnvrtc)",
        cause: format!("it failed with {error}"),
        remedy: "check that libnvrtc and libnvrtc-builtins of one and the same release are in the loader's path",
    }
}

struct Program(sys::nvrtcProgram);

type SizeOf = unsafe fn(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult;
type CopyOf = unsafe fn(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult;

impl Program {
    fn new(text: &CString) -> Result<Program> {
        // NVRTC copies the text, although cudarc's documentation doubts it. The caller keeps it for
        // the program's lifetime anyway.
        result::create_program(text, Some(c"warpfold.cu"))
            .map(Program)
            .map_err(|error| failure(&error))
    }

    fn image(&self, size_of: SizeOf, copy_of: CopyOf) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program is alive, and the pointer is valid for a write.
        unsafe { size_of(self.0, &mut size) }
            .result()
            .map_err(|error| failure(&error))?;
        let mut image = vec![0_u8; size];
        // SAFETY: the program is alive, and the buffer has the size that NVRTC asked for.
        unsafe { copy_of(self.0, image.as_mut_ptr().cast()) }
            .result()
            .map_err(|error| failure(&error))?;
        Ok(image)
    }

    fn log(&self) -> String {
        let log = self
            .image(sys::nvrtcGetProgramLogSize, sys::nvrtcGetProgramLog)
            .unwrap_or_default();
        String::from_utf8_lossy(&log)
            .trim_end_matches(['\0', '\n'])
            .to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created by NVRTC and is destroyed once. A failure leaks it.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}
