//! Finding NCCL, which carries bytes between GPUs, and calling it.
//!
//! `cudarc` never tries the name `libnccl.so.2`, which is the only one in the Python package, so
//! this module opens the library itself. It looks up every function before any is called.

use super::library::{Failure, file_named, functions};
use crate::{Error, Result};
use cudarc::driver::sys::CUstream;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names the library, or its folder, instead of the loader's path.
const VARIABLE: &str = "WARPFOLD_NCCL";

const NAME: &str = "NCCL, which carries packets between GPUs (libnccl)";

/// NCCL's `ncclComm_t`.
pub(crate) type Comm = *mut c_void;
/// NCCL's `ncclResult_t`.
type Status = c_int;

const SUCCESS: Status = 0;
/// A communicator that does not block is still at work.
const IN_PROGRESS: Status = 7;
/// NCCL's `ncclUint8`.
const BYTES: c_int = 1;

/// NCCL's `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId(pub(crate) [u8; 128]);

functions! {
    "NCCL's functions, which have had these types since NCCL 2.4."
    version "ncclGetVersion" unsafe extern "C" fn(*mut c_int) -> Status;
    error_string "ncclGetErrorString" unsafe extern "C" fn(Status) -> *const c_char;
    unique_id "ncclGetUniqueId" unsafe extern "C" fn(*mut UniqueId) -> Status;
    init "ncclCommInitRank" unsafe extern "C" fn(*mut Comm, c_int, UniqueId, c_int) -> Status;
    count "ncclCommCount" unsafe extern "C" fn(Comm, *mut c_int) -> Status;
    rank "ncclCommUserRank" unsafe extern "C" fn(Comm, *mut c_int) -> Status;
    device "ncclCommCuDevice" unsafe extern "C" fn(Comm, *mut c_int) -> Status;
    async_error "ncclCommGetAsyncError" unsafe extern "C" fn(Comm, *mut Status) -> Status;
    /// From where, to where, how many, of which type, through what, on which stream.
    all_gather "ncclAllGather" unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        usize,
        c_int,
        Comm,
        CUstream,
    ) -> Status;
    destroy "ncclCommDestroy" unsafe extern "C" fn(Comm) -> Status;
    abort "ncclCommAbort" unsafe extern "C" fn(Comm) -> Status;
}

/// NCCL, loaded for as long as the process runs.
pub(crate) struct Nccl {
    functions: Functions,
    /// As NCCL numbers it: 22807 for 2.28.7.
    pub(crate) version: u32,
}

impl Nccl {
    /// This process's NCCL.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] if there is none.
    pub(crate) fn get() -> Result<&'static Nccl> {
        static FOUND: OnceLock<Result<Nccl>> = OnceLock::new();
        FOUND.get_or_init(Nccl::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Nccl> {
        let error = |cause: String, remedy| Error::Library {
            library: NAME,
            cause,
            remedy,
        };
        if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
            let named = PathBuf::from(named);
            return file_named(&named, names())
                .and_then(|file| Nccl::open(&file).map_err(|failure| failure.cause))
                .map_err(|cause| {
                    error(
                        format!("{VARIABLE} is {}: {cause}", named.display()),
                        "let WARPFOLD_NCCL name NCCL's library, or the folder that holds it, or unset it",
                    )
                });
        }
        let mut failures = Vec::new();
        for name in names() {
            match Nccl::open(Path::new(&name)) {
                Ok(nccl) => return Ok(nccl),
                Err(failure) if failure.is_missing => {}
                Err(failure) => failures.push(failure.cause),
            }
        }
        let cause = match failures.is_empty() {
            true => {
                let names: Vec<_> = names().collect();
                format!("{} is not in the loader's path", names.join(" or "))
            }
            false => failures.join("; "),
        };
        Err(error(
            cause,
            "install NCCL, or the Python package `nvidia-nccl-cu13`, and put the folder that holds libnccl into \
             LD_LIBRARY_PATH or name it in WARPFOLD_NCCL; or take another exchange, such as `Peers`",
        ))
    }

    fn open(name: &Path) -> Result<Nccl, Failure> {
        // SAFETY: opening NCCL runs its initialisers, which have no preconditions.
        let library = unsafe { Library::new(name) }.map_err(|error| Failure::of(name, &error))?;
        let functions = Functions::find(&library).map_err(|function| {
            Failure::new(format!(
                "{} has no function {function}, which NCCL has had since 2.4",
                name.display()
            ))
        })?;
        // Never closed: its functions are called for as long as the process runs.
        std::mem::forget(library);
        let mut version = 0;
        // SAFETY: the pointer is valid for a write.
        match unsafe { (functions.version)(&mut version) } {
            SUCCESS => Ok(Nccl {
                functions,
                version: version.unsigned_abs(),
            }),
            _ => Err(Failure::new(format!(
                "{} does not tell its version",
                name.display()
            ))),
        }
    }

    /// An error that says what NCCL says of a status, unless it did its work.
    fn check(&self, action: &str, status: Status) -> Result<()> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: NCCL returns a string that is never freed, for any number.
        let text = unsafe { (self.functions.error_string)(status) };
        let cause = match text.is_null() {
            true => format!("error {status}"),
            // SAFETY: it is such a string.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into(),
        };
        Err(Error::Nccl {
            action: action.to_owned(),
            cause,
        })
    }

    pub(crate) fn unique_id(&self) -> Result<UniqueId> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: the pointer is valid for a write.
        let status = unsafe { (self.functions.unique_id)(&mut id) };
        self.check("making a unique id", status)?;
        Ok(id)
    }

    /// A communicator of this thread's current context. Waits for all ranks.
    pub(crate) fn init(&self, ranks: c_int, id: UniqueId, rank: c_int) -> Result<Comm> {
        let mut comm = std::ptr::null_mut();
        // SAFETY: the pointer is valid for a write; NCCL checks the numbers.
        let status = unsafe { (self.functions.init)(&mut comm, ranks, id, rank) };
        self.check("making a communicator of all ranks", status)?;
        Ok(comm)
    }

    /// A communicator's number of ranks, its rank, and the GPU's number.
    ///
    /// # Safety
    ///
    /// It is a communicator.
    pub(crate) unsafe fn describe(&self, comm: Comm) -> Result<(usize, usize, usize)> {
        let ask = |function: unsafe extern "C" fn(Comm, *mut c_int) -> Status| {
            let mut number = 0;
            // SAFETY: the caller's, and the pointer is valid for a write.
            let status = unsafe { function(comm, &mut number) };
            self.check("asking a communicator what it is", status)?;
            Ok::<_, Error>(number.unsigned_abs() as usize)
        };
        let functions = &self.functions;
        Ok((
            ask(functions.count)?,
            ask(functions.rank)?,
            ask(functions.device)?,
        ))
    }

    /// Enqueues an all-gather of so many bytes a rank. Those of this rank stand in their place.
    ///
    /// # Safety
    ///
    /// `all` has room for the bytes of all ranks in memory that the communicator's GPU reaches,
    /// until the stream has come so far. No other thread calls NCCL with the communicator
    /// meanwhile.
    pub(crate) unsafe fn all_gather(
        &self,
        comm: Comm,
        rank: usize,
        all: *mut u8,
        bytes: usize,
        stream: CUstream,
    ) -> Result<()> {
        // SAFETY: the caller's.
        let status = unsafe {
            let mine = all.add(rank * bytes);
            (self.functions.all_gather)(mine.cast(), all.cast(), bytes, BYTES, comm, stream)
        };
        match status {
            // The stream has it once the communicator says so; who waits for the stream asks.
            IN_PROGRESS => self.settled(comm),
            status => self.check("gathering packets", status),
        }
    }

    /// Waits until a communicator that does not block has done what it was told.
    fn settled(&self, comm: Comm) -> Result<()> {
        loop {
            // SAFETY: only `all_gather` comes here, with its communicator.
            match unsafe { self.state(comm) }? {
                true => return Ok(()),
                false => std::thread::yield_now(),
            }
        }
    }

    /// Whether a communicator is idle; an error if it has failed, in the background too.
    ///
    /// # Safety
    ///
    /// It is a communicator.
    unsafe fn state(&self, comm: Comm) -> Result<bool> {
        let mut state = SUCCESS;
        // SAFETY: the caller's, and the pointer is valid for a write.
        let status = unsafe { (self.functions.async_error)(comm, &mut state) };
        self.check("asking a communicator for errors", status)?;
        match state {
            IN_PROGRESS => Ok(false),
            state => self.check("gathering packets", state).map(|()| true),
        }
    }

    /// An error if a communicator has failed in the background.
    ///
    /// # Safety
    ///
    /// It is a communicator.
    pub(crate) unsafe fn check_background(&self, comm: Comm) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.state(comm) }.map(|_| ())
    }

    /// Ends a communicator: at once, if others may never come.
    ///
    /// # Safety
    ///
    /// It is one that [`init`](Nccl::init) made, and is not used again.
    pub(crate) unsafe fn end(&self, comm: Comm, at_once: bool) {
        let end = match at_once {
            true => self.functions.abort,
            false => self.functions.destroy,
        };
        // SAFETY: the caller's. An error cannot be told any more.
        let _ = unsafe { end(comm) };
    }
}

fn names() -> impl Iterator<Item = String> {
    ["libnccl.so.2", "libnccl.so"]
        .into_iter()
        .map(str::to_owned)
}
