//! How the GPUs of this machine reach each other's memory.

use super::gpu::Gpu;
use super::{driver_error, library::require_driver};
use crate::{Error, Result};
use cudarc::driver::{DriverError, result, sys};
use std::fmt;

/// How a GPU reaches another one's memory, as far as the driver tells: [`links`] lists all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// The number of the GPU that reads and writes.
    pub from: usize,
    /// The number of the GPU that has the memory.
    pub to: usize,
    /// Whether it reads and writes there itself. If not, copies go through host memory.
    pub direct: bool,
    /// Whether it can do atomic operations there, as over NVLink.
    pub atomics: bool,
    /// The driver's rank of the link's speed: 0 is the fastest of this machine.
    pub performance_rank: u32,
}

impl fmt::Display for Link {
    /// What the link must be: of direct links NVLink has atomics, and PCIe has none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.direct, self.atomics) {
            (true, true) => "NVLink",
            (true, false) => "PCIe",
            (false, _) => "through host memory",
        })
    }
}

/// The links from each GPU to each other one. None if there are fewer than two GPUs.
///
/// ```no_run
/// for link in warpfold::cuda::links()? {
///     println!("cuda:{} reaches cuda:{}: {link}", link.from, link.to);
/// }
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Library`] without the CUDA driver, [`Error::Driver`] if it fails.
pub fn links() -> Result<Vec<Link>> {
    require_driver()?;
    let count = match Gpu::count() {
        Err(Error::Driver { cause, .. }) if cause.contains("CUDA_ERROR_NO_DEVICE") => 0,
        count => count?,
    };
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to);
    let links = pairs.map(|(from, to)| link(from, to));
    let links: Result<_, DriverError> = links.collect();
    links.map_err(|error| driver_error("asking how GPUs are linked", error))
}

fn link(from: usize, to: usize) -> Result<Link, DriverError> {
    use sys::CUdevice_P2PAttribute as Attribute;
    result::init()?;
    let (source, target) = (
        result::device::get(from as i32)?,
        result::device::get(to as i32)?,
    );
    let ask = |attribute| {
        let mut value = 0;
        // SAFETY: both are devices, and the pointer is valid for a write.
        unsafe { sys::cuDeviceGetP2PAttribute(&mut value, attribute, source, target) }.result()?;
        Ok::<_, DriverError>(value)
    };
    Ok(Link {
        from,
        to,
        direct: ask(Attribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED)? != 0,
        atomics: ask(Attribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)? != 0,
        performance_rank: ask(Attribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)?.unsigned_abs(),
    })
}

impl Gpu {
    /// Lets this GPU write to another one's memory itself, where it can. Otherwise copies go
    /// through host memory, which the driver does.
    pub(crate) fn reach(&self, other: &Gpu) -> Result<()> {
        if self.is_same(other) {
            return Ok(());
        }
        let enable = || {
            let (this, other) = (self.context(), other.context());
            let mut can = 0;
            // SAFETY: both are devices, and the pointer is valid for a write.
            unsafe { sys::cuDeviceCanAccessPeer(&mut can, this.cu_device(), other.cu_device()) }
                .result()?;
            if can == 0 {
                return Ok(());
            }
            this.bind_to_thread()?;
            // SAFETY: it is another GPU's context, and lives as long as `other`, which is kept for
            // as long as the process runs.
            match unsafe { sys::cuCtxEnablePeerAccess(other.cu_ctx(), 0) } {
                sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
                status => status.result(),
            }
        };
        enable().map_err(|error| driver_error("opening a GPU's memory to another", error))
    }
}
