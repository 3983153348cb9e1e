//! Where and when it was measured, and kernels of the benchmark's own.

use crate::record::{Clocks, Machine};
use std::process::Command;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use warpfold::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
use warpfold::cuda::cudarc::driver::{CudaContext, CudaModule};
use warpfold::cuda::cudarc::nvrtc::Ptx;
use warpfold::cuda::nvrtc::{self, Target};

pub(crate) fn describe(context: &CudaContext) -> Machine {
    let smi = ask_nvidia_smi();
    let (major, minor) = nvrtc::version().expect("NVRTC");
    let multiprocessors = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let memory = context.total_mem().expect("the device's memory");
    Machine {
        gpu: context.name().expect("the device's name"),
        multiprocessors: multiprocessors.expect("an attribute").unsigned_abs(),
        memory_gib: memory as f64 / f64::from(1 << 30),
        driver: smi.as_ref().map(|(driver, _)| driver.clone()),
        clocks: smi.map(|(_, clocks)| clocks),
        nvrtc: format!("{major}.{minor}"),
        cub: None,
        torch: None,
        host_threads: rayon::current_num_threads(),
        date: today(),
    }
}

/// A source of the benchmark, compiled as the library compiles its own. Errors call it `name`.
pub(crate) fn load(
    context: &Arc<CudaContext>,
    source: &str,
    name: &str,
) -> Result<Arc<CudaModule>, String> {
    let capability = context.compute_capability();
    let (major, minor) = capability.map_err(|error| error.to_string())?;
    let image = Target::for_capability((major * 10 + minor) as u32)
        .and_then(|target| Ok((target, nvrtc::compile(source, name, target)?)))
        .map_err(|error| error.to_string())?;
    let image = match image {
        (Target::Cubin(_), image) => Ptx::from_binary(image),
        (Target::Ptx(_), text) => {
            Ptx::from_src(String::from_utf8_lossy(&text).trim_end_matches('\0'))
        }
        (target, _) => return Err(format!("{name}: nothing loads {target:?}")),
    };
    let module = context.load_module(image);
    module.map_err(|error| format!("{name}: {error}"))
}

/// The driver's version and the clocks now; CUDA itself does not tell.
fn ask_nvidia_smi() -> Option<(String, Clocks)> {
    let output = Command::new("nvidia-smi")
        .args(["--id=0", "--format=csv,noheader,nounits"])
        .arg("--query-gpu=driver_version,clocks.sm,clocks.max.sm,clocks.mem")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut values = text.lines().next()?.split(", ");
    let driver = values.next()?.to_owned();
    let mut clock = || values.next()?.trim().parse().ok();
    let clocks = Clocks {
        multiprocessor: clock()?,
        highest_multiprocessor: clock()?,
        memory: clock()?,
    };
    Some((driver, clocks))
}

fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let (year, month, day) = civil(since.map_or(0, |since| since.as_secs() / 86_400));
    format!("{year}-{month:02}-{day:02}")
}

/// The date of a day counted from 1970-01-01; years are taken to begin in March, so that leap days
/// come last.
fn civil(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}
