//! Finding the CUDA driver without a panic.
//!
//! `cudarc` loads libcuda when a function of it is first called. If it, or the function, is
//! missing, it panics. So this module opens the library before anything else is called, under the
//! names that `cudarc` tries and in the same order, and looks up every function that this crate
//! uses. Tests compare the lists with the sources, and with what the command line tool links.

use crate::{Error, Result};
use libloading::Library;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Functions of a library that is not `cudarc`'s to load: what they are, and for each the field's
/// name, its own name, and its type.
macro_rules! functions {
    ($what:literal $($(#[$about:meta])* $field:ident $name:literal $type:ty;)*) => {
        #[doc = $what]
        pub(super) struct Functions {
            $($(#[$about])* pub(super) $field: $type,)*
        }

        impl Functions {
            /// All functions of a library; or the name of one that it lacks.
            fn find(library: &Library) -> Result<Functions, &'static str> {
                Ok(Functions {
                    $(
                        // SAFETY: it is the library's function of that name, which has this type.
                        $field: *unsafe { library.get::<$type>($name) }.map_err(|_| $name)?,
                    )*
                })
            }
        }
    };
}
pub(super) use functions;

/// Why a file will not do as a library.
pub(super) struct Failure {
    pub(super) cause: String,
    /// There is no file of that name.
    pub(super) is_missing: bool,
}

impl Failure {
    pub(super) fn new(cause: String) -> Failure {
        Failure {
            cause,
            is_missing: false,
        }
    }

    /// That of the loader.
    pub(super) fn of(name: &Path, error: &libloading::Error) -> Failure {
        // The error comes from the loader's own words. They begin with the file that is missing,
        // which may be one that the library needs.
        let cause = std::error::Error::source(error).map(ToString::to_string);
        let name = name.display().to_string();
        let cause = cause.unwrap_or_else(|| format!("{name}: {error}"));
        let is_missing = cause.contains("No such file") && cause.starts_with(&name)
            || cfg!(windows) && cause.contains("os error 126");
        Failure { cause, is_missing }
    }
}

/// The library that a user names: a file, a name for the loader, or a folder that holds a file of
/// one of these names.
pub(super) fn file_named(
    named: &Path,
    names: impl Iterator<Item = String>,
) -> Result<PathBuf, String> {
    if !named.is_dir() {
        return Ok(named.to_owned());
    }
    let mut files = names.map(|name| named.join(name));
    let found = files.find(|file| file.exists());
    found.ok_or_else(|| "it holds no file of that name".to_owned())
}

/// A library that is loaded at run time.
struct Requirement {
    name: &'static str,
    /// The file's base names, without prefix and suffix.
    files: &'static [&'static str],
    functions: &'static [&'static str],
    remedy: &'static str,
}

const DRIVER: Requirement = Requirement {
    name: "the CUDA driver (libcuda)",
    files: &["cuda", "nvcuda"],
    functions: &[
        "cuInit",
        "cuDriverGetVersion",
        "cuGetErrorName",
        "cuGetErrorString",
        "cuDeviceGet",
        "cuDeviceGetCount",
        "cuDeviceGetName",
        "cuDeviceGetAttribute",
        "cuDeviceTotalMem_v2",
        "cuDeviceCanAccessPeer",
        "cuDeviceGetP2PAttribute",
        "cuDevicePrimaryCtxRetain",
        "cuDevicePrimaryCtxRelease_v2",
        "cuCtxDestroy_v2",
        "cuCtxGetCurrent",
        "cuCtxSetCurrent",
        "cuCtxSynchronize",
        "cuCtxEnablePeerAccess",
        "cuStreamQuery",
        "cuStreamCreate",
        "cuStreamDestroy_v2",
        "cuStreamSynchronize",
        "cuStreamWaitEvent",
        "cuStreamIsCapturing",
        "cuThreadExchangeStreamCaptureMode",
        "cuEventCreate",
        "cuEventDestroy_v2",
        "cuEventRecord",
        "cuEventQuery",
        "cuEventSynchronize",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemsetD8Async",
        "cuMemAllocAsync",
        "cuDeviceGetDefaultMemPool",
        "cuMemPoolGetAttribute",
        "cuMemPoolSetAttribute",
        "cuMemFreeAsync",
        "cuMemHostAlloc",
        "cuMemFreeHost",
        "cuPointerGetAttributes",
        "cuMemGetInfo_v2",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemcpyPeerAsync",
        "cuModuleLoad",
        "cuModuleLoadData",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuFuncSetAttribute",
        "cuLaunchKernelEx",
    ],
    remedy: "install an NVIDIA driver of release 525 or later (`nvidia-smi` shows it), or use Device::cpu()",
};

/// What timing calls on the device needs as well.
const TIMING: Requirement = Requirement {
    name: DRIVER.name,
    files: DRIVER.files,
    functions: &[if cudarc::driver::sys::CUDA_VERSION >= 13_000 {
        "cuEventElapsedTime_v2" // Since CUDA 12.8: more than calls need.
    } else {
        "cuEventElapsedTime"
    }],
    remedy: "install an NVIDIA driver of release 570 or later (`nvidia-smi` shows it)",
};

/// `Ok` if the CUDA driver can be called.
pub(crate) fn require_driver() -> Result<()> {
    static FOUND: OnceLock<Result<()>> = OnceLock::new();
    FOUND.get_or_init(|| DRIVER.probe()).clone()
}

/// `Ok` if the CUDA driver can also time calls on the device, with `cudarc`'s events.
///
/// For the command line tool.
///
/// # Errors
///
/// [`Error::Library`] without the driver, or if it is too old.
#[doc(hidden)]
pub fn require_timing() -> Result<()> {
    require_driver()?;
    TIMING.probe()
}

/// The major version of CUDA that the driver is for, if there is a driver.
pub(super) fn driver_major() -> Option<u32> {
    require_driver().ok()?;
    let mut version = 0;
    // SAFETY: the driver is loaded, and the pointer is valid for a write.
    let asked = unsafe { cudarc::driver::sys::cuDriverGetVersion(&mut version) };
    asked.result().ok()?;
    Some(version.unsigned_abs() / 1000)
}

impl Requirement {
    fn probe(&self) -> Result<()> {
        let mut failures = Vec::new();
        for file in self.file_names() {
            // SAFETY: opening a CUDA library runs its initialisers, which have no preconditions;
            // `cudarc` does the same next.
            let library = match unsafe { Library::new(&file) } {
                Ok(library) => library,
                Err(error) => {
                    // The error comes from the loader's own words, which name the file.
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    failures.push(cause.unwrap_or_else(|| format!("{file}: {error}")));
                    continue;
                }
            };
            // This is the file that `cudarc` will use: if a function is missing here, another file
            // does not help.
            for function in self.functions {
                // SAFETY: the symbol is looked up and not called.
                if unsafe { library.get::<unsafe extern "C" fn()>(*function) }.is_err() {
                    return Err(
                        self.error(format!("{file} has no function {function}; it is too old"))
                    );
                }
            }
            // Never closed: `cudarc` holds the same library for as long as the process runs.
            std::mem::forget(library);
            return Ok(());
        }
        failures.dedup();
        Err(self.error(failures.first().cloned().unwrap_or_default()))
    }

    fn error(&self, cause: String) -> Error {
        Error::Library {
            library: self.name,
            cause,
            remedy: self.remedy,
        }
    }

    /// The names under which `cudarc` looks for the library, in its order.
    fn file_names(&self) -> Vec<String> {
        use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
        let major = cudarc::driver::sys::CUDA_VERSION / 1000;
        let minor = cudarc::driver::sys::CUDA_VERSION % 1000 / 10;
        let endings = [
            DLL_SUFFIX.to_owned(),
            format!("64{DLL_SUFFIX}"),
            format!("64_{major}{DLL_SUFFIX}"),
            format!("64_{major}{minor}{DLL_SUFFIX}"),
            format!("64_{major}{minor}_0{DLL_SUFFIX}"),
            format!("64_{major}0_{minor}{DLL_SUFFIX}"),
            format!("64_11{DLL_SUFFIX}"),
            format!("64_12{DLL_SUFFIX}"),
            format!("64_{major}0_0{DLL_SUFFIX}"),
            format!("{DLL_SUFFIX}.{major}"),
            format!("{DLL_SUFFIX}.12"),
            format!("{DLL_SUFFIX}.11"),
            format!("{DLL_SUFFIX}.1"),
        ];
        self.files
            .iter()
            .flat_map(|file| {
                endings
                    .iter()
                    .map(move |ending| format!("{DLL_PREFIX}{file}{ending}"))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The words in a source that begin as functions of the driver do.
    fn functions(source: &str) -> impl Iterator<Item = &str> {
        let words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| {
            let rest = word.strip_prefix("cu").unwrap_or_default();
            rest.starts_with(|c: char| c.is_ascii_uppercase())
        })
    }

    /// The functions that this crate calls by name. Those that it calls through `cudarc`'s
    /// functions are checked by the test `driver` of the command line tool, which links them.
    #[test]
    fn every_function_that_is_named_is_looked_up() {
        let known: BTreeSet<_> = [DRIVER, TIMING]
            .iter()
            .flat_map(|library| library.functions)
            .copied()
            .collect();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        if !folders[0].exists() {
            return eprintln!("skipped: the sources are not there");
        }
        let mut found = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs")
                    && path.file_name() != Some("library.rs".as_ref())
                {
                    let source = std::fs::read_to_string(&path).unwrap();
                    for function in functions(&source) {
                        let place = path.display();
                        assert!(known.contains(function), "{place} calls {function}");
                        found.insert(function.to_owned());
                    }
                }
            }
        }
        assert!(
            found.contains("cuLaunchKernelEx"),
            "sources name functions, such as this"
        );
    }
}
