//! Finding NVRTC, of any release that compiles the kernels, and calling it.
//!
//! `cudarc` opens the first library that has one of its names, and of the versions only that of the
//! toolkit it was built beside. So this module opens NVRTC itself: the newest major version that is
//! in the loader's path, or what [`VARIABLE`] names. It also looks up every function before any is
//! called.

use super::library::{Failure, file_named, functions};
use crate::{Error, Result};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names the library, or its folder, instead of the loader's path.
pub(super) const VARIABLE: &str = "WARPFOLD_NVRTC";

pub(super) const NAME: &str = "NVRTC, CUDA's run-time compiler (libnvrtc)";

/// The oldest major version that compiles the kernels: the first that knows C++20.
const OLDEST: u32 = 12;
/// The newest major version that is looked for: there is none yet.
const NEWEST: u32 = 15;

/// A program that NVRTC compiles.
pub(super) type Program = *mut c_void;
/// 0, or the number of an error.
pub(super) type Status = c_int;

pub(super) type CopyOf = unsafe extern "C" fn(Program, *mut c_char) -> Status;
pub(super) type SizeOf = unsafe extern "C" fn(Program, *mut usize) -> Status;

functions! {
    "NVRTC's functions, which have had these types since CUDA 11.1."
    version "nvrtcVersion" unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;
    error_string "nvrtcGetErrorString" unsafe extern "C" fn(Status) -> *const c_char;
    count_architectures "nvrtcGetNumSupportedArchs" unsafe extern "C" fn(*mut c_int) -> Status;
    architectures "nvrtcGetSupportedArchs" unsafe extern "C" fn(*mut c_int) -> Status;
    /// The program, its text, its name, and headers: their number, texts and names.
    create "nvrtcCreateProgram" unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status;
    compile "nvrtcCompileProgram" unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
    destroy "nvrtcDestroyProgram" unsafe extern "C" fn(*mut Program) -> Status;
    log_size "nvrtcGetProgramLogSize" SizeOf;
    log "nvrtcGetProgramLog" CopyOf;
    ptx_size "nvrtcGetPTXSize" SizeOf;
    ptx "nvrtcGetPTX" CopyOf;
    cubin_size "nvrtcGetCUBINSize" SizeOf;
    cubin "nvrtcGetCUBIN" CopyOf;
}

/// NVRTC, loaded for as long as the process runs.
pub(super) struct Nvrtc {
    pub(super) functions: Functions,
    /// Major and minor.
    pub(super) version: (u32, u32),
    /// The file, without symbolic links; or the name under which the loader found it.
    pub(super) file: PathBuf,
}

impl Nvrtc {
    /// This process's NVRTC.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] if there is none that compiles the kernels.
    pub(super) fn get() -> Result<&'static Nvrtc> {
        static FOUND: OnceLock<Result<Nvrtc>> = OnceLock::new();
        FOUND
            .get_or_init(Nvrtc::find)
            .as_ref()
            .map_err(Clone::clone)
    }

    fn find() -> Result<Nvrtc> {
        match std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
            Some(named) => Nvrtc::named(Path::new(&named)),
            None => Nvrtc::in_the_path(),
        }
    }

    /// What the user names: a file, a folder, or a name for the loader.
    fn named(named: &Path) -> Result<Nvrtc> {
        let error = |cause: String| Error::Library {
            library: NAME,
            cause: format!("{VARIABLE} is {}: {cause}", named.display()),
            remedy: "let WARPFOLD_NVRTC name NVRTC's library of CUDA 12 or later, or the folder that holds it, or \
                     unset it",
        };
        let file = file_named(named, names()).map_err(error)?;
        Nvrtc::open(&file).map_err(|failure| error(failure.cause))
    }

    /// The newest major version in the loader's path whose code the driver loads, if there is a
    /// driver: one for CUDA 12 does not know the format of CUDA 13's.
    fn in_the_path() -> Result<Nvrtc> {
        let driver = super::library::driver_major();
        let (mut failures, mut too_new) = (Vec::new(), None);
        for name in names() {
            match Nvrtc::open(Path::new(&name)) {
                Ok(nvrtc) if driver.is_none_or(|driver| nvrtc.version.0 <= driver) => {
                    return Ok(nvrtc);
                }
                Ok(nvrtc) => too_new = too_new.or(Some(nvrtc)),
                Err(failure) if failure.is_missing => {}
                Err(failure) => failures.push(failure.cause),
            }
        }
        too_new.ok_or_else(|| Error::Library {
            library: NAME,
            cause: if failures.is_empty() {
                let names: Vec<_> = names().collect();
                format!("{} is not in the loader's path", names.join(" or "))
            } else {
                failures.join("; ")
            },
            remedy: if driver.is_some_and(|driver| driver < 13) {
                "install the CUDA toolkit 12, or the Python package `nvidia-cuda-nvrtc-cu12`, and put the folder \
                 that holds libnvrtc into LD_LIBRARY_PATH or name it in WARPFOLD_NVRTC"
            } else {
                "install the CUDA toolkit 12 or later, or the Python package `nvidia-cuda-nvrtc`, and put the \
                 folder that holds libnvrtc into LD_LIBRARY_PATH or name it in WARPFOLD_NVRTC"
            },
        })
    }

    fn open(name: &Path) -> Result<Nvrtc, Failure> {
        // SAFETY: opening NVRTC runs its initialisers, which have no preconditions.
        let library = unsafe { Library::new(name) }.map_err(|error| Failure::of(name, &error))?;
        let functions = Functions::find(&library).map_err(|function| {
            Failure::new(format!("{} has no function {function}", name.display()))
        })?;
        let file = file_of(functions.version).unwrap_or_else(|| name.to_owned());
        // Never closed: its functions are called for as long as the process runs.
        std::mem::forget(library);

        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for a write.
        let status = unsafe { (functions.version)(&mut major, &mut minor) };
        if status != 0 {
            return Err(Failure::new(format!(
                "{} does not tell its version",
                file.display()
            )));
        }
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        if version.0 < OLDEST {
            return Err(Failure::new(format!(
                "{} is of CUDA {major}.{minor}, and kernels need {OLDEST}.0 or later",
                file.display()
            )));
        }
        load_builtins(&file, version);
        Ok(Nvrtc {
            functions,
            version,
            file,
        })
    }

    /// What NVRTC says of a status.
    pub(super) fn describe(&self, status: Status) -> String {
        // SAFETY: NVRTC returns a string that is never freed, for any number.
        let text = unsafe { (self.functions.error_string)(status) };
        if text.is_null() {
            return format!("error {status}");
        }
        // SAFETY: it is not null, so it is such a string.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_string_lossy().into_owned()
    }
}

/// The names of NVRTC's libraries, the newest first. The one without a version is last: it may be
/// of any.
fn names() -> impl Iterator<Item = String> {
    let versioned = (OLDEST..=NEWEST).rev().map(|major| {
        if cfg!(windows) {
            format!("nvrtc64_{major}0_0.dll")
        } else {
            format!("libnvrtc.so.{major}")
        }
    });
    let plain = if cfg!(windows) {
        "nvrtc64.dll"
    } else {
        "libnvrtc.so"
    };
    versioned.chain([plain.to_owned()])
}

/// Loads the library that NVRTC itself loads by name when it compiles. NVRTC 13.0 looks for it in
/// the loader's path alone, so a file that [`VARIABLE`] names would not find the one beside it.
fn load_builtins(nvrtc: &Path, (major, minor): (u32, u32)) {
    let name = if cfg!(windows) {
        format!("nvrtc-builtins64_{major}{minor}.dll")
    } else {
        format!("libnvrtc-builtins.so.{major}.{minor}")
    };
    // SAFETY: NVRTC opens it, too; its initialisers have no preconditions.
    if let Ok(builtins) = unsafe { Library::new(nvrtc.with_file_name(name)) } {
        std::mem::forget(builtins);
    }
}

/// The file that holds a function.
#[cfg(unix)]
fn file_of(function: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and the pointer is valid for a write.
    let found = unsafe {
        if libc::dladdr(function as *const c_void, found.as_mut_ptr()) == 0 {
            return None;
        }
        found.assume_init()
    };
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: it is a string that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    path.canonicalize().ok()
}

#[cfg(not(unix))]
fn file_of(_: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status) -> Option<PathBuf> {
    None
}

/// Lets NVRTC work in a thread of its own: NVRTC 12.0 to 12.5 leaves the thread that it compiles in
/// in the C locale. 12.0 and 12.1 leave the process's numbers in it, too; they are set back.
pub(super) fn in_a_thread<R: Send>(work: impl FnOnce() -> R + Send) -> Result<R> {
    let numbers = NumericLocale::keep();
    let result = std::thread::scope(|scope| {
        // As much as a program's first thread has.
        let thread = std::thread::Builder::new().stack_size(8 << 20);
        let thread = thread.spawn_scoped(scope, work)?;
        let result = thread.join();
        Ok(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    drop(numbers);
    result.map_err(|error: std::io::Error| Error::Library {
        library: NAME,
        cause: format!("no thread can be started for it: {error}"),
        remedy: "end other programs, or raise the limit of threads (`ulimit -u`)",
    })
}

/// Keeps how the process writes numbers (`LC_NUMERIC`), from the first of several compilations to
/// the last.
struct NumericLocale;

/// How many compilations go on, and what was set before the first.
#[cfg(unix)]
static KEPT: std::sync::Mutex<(usize, Option<CString>)> = std::sync::Mutex::new((0, None));

#[cfg(unix)]
impl NumericLocale {
    fn keep() -> NumericLocale {
        let mut kept = KEPT
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.0 == 0 {
            kept.1 = NumericLocale::current();
        }
        kept.0 += 1;
        NumericLocale
    }

    fn current() -> Option<CString> {
        // SAFETY: it asks, and changes nothing.
        let name = unsafe { libc::setlocale(libc::LC_NUMERIC, std::ptr::null()) };
        if name.is_null() {
            return None;
        }
        // SAFETY: it is a string that stands until the locale is set again.
        Some(unsafe { CStr::from_ptr(name) }.to_owned())
    }
}

#[cfg(unix)]
impl Drop for NumericLocale {
    fn drop(&mut self) {
        let mut kept = KEPT
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        kept.0 -= 1;
        if kept.0 == 0
            && let Some(before) = kept.1.take()
            && NumericLocale::current().is_some_and(|now| now != before)
        {
            // SAFETY: it is the name of a locale that was set before. NVRTC has just set another in
            // the same way, so the program must bear that.
            unsafe { libc::setlocale(libc::LC_NUMERIC, before.as_ptr()) };
        }
    }
}

#[cfg(not(unix))]
impl NumericLocale {
    fn keep() -> NumericLocale {
        NumericLocale
    }
}
