//! Where the work of a call runs: without the interpreter's lock, on threads that exist.

use crate::error::exception;
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use warpfold::Error;

/// From so many bytes on the lock is released. Below, that would take as long as the work.
const LONG: usize = 1 << 15;

/// Runs work over so many bytes.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce() -> Result<R, Error> + Send,
) -> PyResult<R> {
    let work = || on_threads(work);
    let result = match bytes {
        0..LONG => work(),
        _ => py.detach(work),
    };
    result.map_err(exception)
}

static FORKED: AtomicBool = AtomicBool::new(false);

/// Says that this process was forked: `os.register_at_fork` calls it in the child. The threads of
/// the parent are not there, and to wait for them would take for ever.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Of a forked process: its own. A process that such a one forks has none: it works alone.
fn on_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    static POOL: OnceLock<(u32, Option<ThreadPool>)> = OnceLock::new();
    if !FORKED.load(Ordering::Relaxed) {
        return work();
    }
    let process = std::process::id();
    let (owner, pool) =
        POOL.get_or_init(|| (process, rayon::ThreadPoolBuilder::new().build().ok()));
    match pool {
        Some(pool) if *owner == process => pool.install(work),
        // A pool of one thread, which is this one.
        _ => match rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
        {
            Ok(pool) => pool.install(work),
            Err(_) => work(),
        },
    }
}
