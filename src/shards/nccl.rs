//! Ranks whose GPUs exchange packets through NCCL.

use super::Exchange;
use super::peers::{PIECE_BYTES, gpu_of, scatter};
use super::threads::deadline;
use crate::cuda::Gpu;
use crate::cuda::driver_error;
use crate::cuda::nccl::{Comm, Nccl as Library, UniqueId};
use crate::cuda::staging::Staging;
use crate::{Device, Error, Result};
use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::time::Duration;

/// The [`Exchange`] of a rank whose GPU NCCL reaches: on this host and on others.
///
/// NCCL is loaded when it is first needed: `libnccl.so.2` from the loader's path, or what the
/// environment variable `WARPFOLD_NCCL` names. One rank makes an [`NcclId`], all get it by any
/// other way, and each makes its exchange of it:
///
/// ```no_run
/// use std::time::Duration;
/// use warpfold::{Device, ops::Add, shards::{Communicator, Nccl, NcclId}};
///
/// # fn broadcast(id: Option<NcclId>) -> NcclId { id.unwrap() }
/// # let (rank, ranks) = (0, 1);
/// let id = if rank == 0 { Some(NcclId::new()?) } else { None };
/// let id = broadcast(id); // Yours: 128 bytes, through a file, a socket, MPI.
/// let device = Device::cuda(0)?;
/// let exchange = Nccl::new(&device, rank, ranks, id, Duration::from_secs(60))?;
/// let communicator = Communicator::new(rank, ranks, exchange)?;
/// let part = device.upload(&vec![0.1_f32; 1000 + rank])?;
/// let sum = communicator.shard(part.len())?.on(&device).reduce::<f32, Add>(&part)?;
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// An exchange is one all-gather on a stream of its own. NCCL reads the packet from the host's
/// pinned memory, and writes those of all ranks there. The host waits for that, but no longer than
/// the timeout. Meanwhile it asks NCCL for errors of other ranks. After either, a communicator that
/// was made here is aborted. From NCCL 2.22 on the first exchange also connects the ranks, and NCCL
/// waits for all of them without a timeout.
///
/// Memory: pinned on the host, 256 KiB for each rank. Longer packets go in pieces.
pub struct Nccl {
    library: &'static Library,
    comm: Comm,
    /// Whether it was made here.
    is_own: bool,
    rank: usize,
    ranks: usize,
    gpu: Gpu,
    timeout: Duration,
    /// Made before the first exchange: to make memory between two could wait for work of a GPU
    /// which waits for this rank.
    staging: ManuallyDrop<Staging>,
    /// It was given up, so later exchanges fail.
    broken: bool,
}

// SAFETY: NCCL's communicators may be used by any thread, one at a time; `&mut self` sees to that.
unsafe impl Send for Nccl {}

/// What the ranks of one communicator of NCCL have in common: its `ncclUniqueId`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NcclId([u8; 128]);

impl NcclId {
    /// A new one, for all ranks of one communicator.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without NCCL; [`Error::Nccl`].
    pub fn new() -> Result<NcclId> {
        Ok(NcclId(Library::get()?.unique_id()?.0))
    }

    /// The bytes, for other processes.
    pub fn to_bytes(self) -> [u8; 128] {
        self.0
    }

    /// That of bytes which another process gives.
    pub fn from_bytes(bytes: [u8; 128]) -> NcclId {
        NcclId(bytes)
    }
}

impl Nccl {
    /// The exchange of a rank, with a communicator of its own, which is destroyed with it. All
    /// ranks make theirs at the same time, each with another GPU, and wait for each other as long
    /// as NCCL does: it has no timeout for that.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the device is the CPU; [`Error::Ranks`] if there is no such rank;
    /// [`Error::Library`] without NCCL; [`Error::Nccl`]; [`Error::Driver`].
    pub fn new(
        device: &Device,
        rank: usize,
        ranks: usize,
        id: NcclId,
        timeout: Duration,
    ) -> Result<Nccl> {
        let gpu = gpu_of(device, "Nccl")?;
        let number = |number: usize| c_int::try_from(number).ok();
        let (Some(of_rank), Some(of_ranks)) =
            (number(rank), number(ranks).filter(|_| rank < ranks))
        else {
            return Err(super::communicator::fault(format!(
                "are {ranks}, so there is no rank {rank}\n  remedy: count ranks from 0"
            )));
        };
        let library = Library::get()?;
        let staging = Staging::new(&gpu, ranks * PIECE_BYTES)?;
        bind(&gpu)?;
        let comm = library.init(of_ranks, UniqueId(id.0), of_rank)?;
        Ok(Nccl {
            library,
            comm,
            is_own: true,
            rank,
            ranks,
            gpu,
            timeout,
            staging: ManuallyDrop::new(staging),
            broken: false,
        })
    }

    /// The exchange over a communicator of the caller's, an `ncclComm_t`, of the device's GPU.
    /// [`rank`](Nccl::rank) and [`ranks`](Nccl::ranks) say what it is.
    ///
    /// It is not destroyed, and not aborted either: after a timeout its work may hang on a stream
    /// for ever, until its owner aborts it.
    ///
    /// # Safety
    ///
    /// - It is a communicator that the NCCL library which [`NcclId::new`] would load has made, and
    ///   it lives longer than the exchange.
    /// - While a call over shards runs, nobody else calls NCCL with it.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if it is null, or of another GPU than the device's; those of
    /// [`new`](Nccl::new).
    pub unsafe fn over(device: &Device, comm: *mut c_void, timeout: Duration) -> Result<Nccl> {
        let gpu = gpu_of(device, "Nccl")?;
        let fault = |fault: String| Error::Argument {
            argument: "comm",
            fault,
        };
        if comm.is_null() {
            return Err(fault(
                "is null\n  remedy: give the `ncclComm_t` that `ncclCommInitRank` has made"
                    .to_owned(),
            ));
        }
        let library = Library::get()?;
        // SAFETY: the caller's.
        let (ranks, rank, ordinal) = unsafe { library.describe(comm) }?;
        if ordinal != gpu.ordinal() {
            return Err(fault(format!(
                "is of cuda:{ordinal}, and the device is {device}\n  remedy: give the device with whose context it was made"
            )));
        }
        Ok(Nccl {
            library,
            comm,
            is_own: false,
            rank,
            ranks,
            staging: ManuallyDrop::new(Staging::new(&gpu, ranks * PIECE_BYTES)?),
            gpu,
            timeout,
            broken: false,
        })
    }

    /// This rank's number in the communicator.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The communicator's number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// NCCL's version: major, minor and patch.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without NCCL.
    pub fn version() -> Result<(u32, u32, u32)> {
        // NCCL 2.8 and before counted otherwise.
        Ok(match Library::get()?.version {
            old @ ..10_000 => (old / 1000, old / 100 % 10, old % 100),
            new => (new / 10_000, new / 100 % 100, new % 100),
        })
    }

    /// Gathers a piece of each packet, which stands at `at` of packets of so many bytes.
    fn gather(
        &mut self,
        piece: &[u8],
        at: usize,
        bytes: usize,
        all: &mut [u8],
    ) -> std::result::Result<(), Fault> {
        let deadline = deadline(self.timeout);
        let (library, comm, rank) = (self.library, self.comm, self.rank);
        let (staging, len) = (&mut *self.staging, self.ranks * piece.len());
        let mut gather = || {
            let stream = staging.stream()?.cu_stream();
            let room = staging.host(0, len);
            room[rank * piece.len()..][..piece.len()].copy_from_slice(piece);
            let address = room.as_mut_ptr();
            // SAFETY: the memory has room for all, and lives until the stream has come so far: the
            // drop of `staging` waits, or it is lost. It is pinned, so every GPU reaches it, and
            // nobody looks at it before the wait. Nobody else uses the communicator.
            unsafe { library.all_gather(comm, rank, address, piece.len(), stream) }?;
            // SAFETY: it is a communicator.
            staging.wait(deadline, || unsafe { library.check_background(comm) })
        };
        match gather() {
            Ok(true) => {
                scatter(staging.host(0, len), piece.len(), at, bytes, all);
                Ok(())
            }
            Ok(false) => {
                let timeout = self.timeout;
                self.give_up();
                Err(format!("not all ranks gave a packet within {timeout:?}").into())
            }
            Err(error) => {
                self.give_up();
                Err(error.into())
            }
        }
    }

    /// Aborts a communicator of its own. The work of the caller's may hang for ever.
    fn give_up(&mut self) {
        self.broken = true;
        if self.is_own {
            // SAFETY: it was made here, and `broken` keeps it from use.
            unsafe { self.library.end(self.comm, true) };
        } else {
            self.staging.lose();
        }
    }
}

/// What keeps an exchange from its work.
type Fault = Box<dyn std::error::Error + Send + Sync>;

fn bind(gpu: &Gpu) -> Result<()> {
    let bound = gpu.context().bind_to_thread();
    bound.map_err(|error| driver_error("choosing a GPU for NCCL", error))
}

impl Exchange for Nccl {
    fn all_gather(&mut self, mine: &[u8], all: &mut [u8]) -> std::result::Result<(), Fault> {
        if self.broken {
            return Err("the communicator failed before".into());
        }
        if mine.len() * self.ranks != all.len() {
            let (ranks, others) = (self.ranks, all.len() / mine.len().max(1));
            return Err(format!("NCCL has {ranks} ranks, not {others}").into());
        }
        for (number, piece) in mine.chunks(PIECE_BYTES).enumerate() {
            self.gather(piece, number * PIECE_BYTES, mine.len(), all)?;
        }
        Ok(())
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        // What runs on the stream ends before the communicator does.
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.staging) };
        if self.is_own && !self.broken && bind(&self.gpu).is_ok() {
            // SAFETY: it was made here, and is not used again.
            unsafe { self.library.end(self.comm, false) };
        }
    }
}

impl fmt::Debug for NcclId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NcclId").finish_non_exhaustive()
    }
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nccl")
            .field("rank", &self.rank)
            .field("ranks", &self.ranks)
            .field("gpu", &self.gpu.ordinal())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
