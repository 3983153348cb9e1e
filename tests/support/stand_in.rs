//! Libraries that stand in for NVIDIA's, built from `tests/shards/stand_in/`: several GPUs whose
//! memory is the host's, and whose kernels do nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const SOURCES: [(&str, &str); 3] = [
    ("cuda", include_str!("../shards/stand_in/cuda.cpp")),
    ("nccl", include_str!("../shards/stand_in/nccl.cpp")),
    ("nvrtc", include_str!("../shards/stand_in/nvrtc.cpp")),
];

/// The folder that holds `libcuda.so`, `libnccl.so.2`, `old/libnccl.so.2`, which lacks a function,
/// and `nvrtc/libnvrtc.so`; or why it cannot be made.
pub(crate) fn folder() -> Result<&'static Path, &'static str> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = FOLDER.get_or_init(build);
    folder.as_deref().map_err(String::as_str)
}

fn build() -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if !target.is_dir() {
        return Err(format!("{} is not there", target.display()));
    }
    let folder = target.join("stand-in");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for inner in ["old", "nvrtc"] {
        std::fs::create_dir_all(folder.join(inner)).map_err(failed)?;
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    let (stamp, built) = (folder.join("built"), format!("{compiler} {SOURCES:?}"));
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == built) {
        return Ok(folder);
    }
    for (name, text) in SOURCES {
        std::fs::write(folder.join(format!("{name}.cpp")), text).map_err(failed)?;
    }
    for (library, arguments) in [
        ("libcuda.so", "cuda.cpp -Wl,-soname,libcuda.so"),
        ("libnccl.so.2", "nccl.cpp libcuda.so"),
        ("old/libnccl.so.2", "-DOLD nccl.cpp libcuda.so"),
        ("nvrtc/libnvrtc.so", "nvrtc.cpp"),
    ] {
        // Another process may use what is there.
        let new = format!("{library}.{}", std::process::id());
        let output = Command::new(&compiler)
            .args("-std=c++20 -O1 -shared -fPIC -fvisibility=hidden -pthread -o".split(' '))
            .arg(&new)
            .args(arguments.split(' '))
            .current_dir(&folder)
            .output()
            .map_err(|error| format!("{compiler}: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        std::fs::rename(folder.join(new), folder.join(library)).map_err(failed)?;
    }
    std::fs::write(stamp, built).map_err(failed)?;
    Ok(folder)
}
