//! Ranks that are threads of one process, each with a GPU of its own, which writes to the memory of
//! the others.

use super::Exchange;
use super::bytes::Reader;
use super::threads::{Threads, deadline};
use crate::cuda::staging::{SharedMemory, Staging};
use crate::cuda::{Gpu, driver_error};
use crate::device::Backend;
use crate::{Device, Error, Result};
use cudarc::driver::{CudaEvent, DriverError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The [`Exchange`] of a rank that is a thread with a GPU: each GPU copies its packet to the memory
/// of every other one, over NVLink or PCIe, or where GPUs do not reach each other through host
/// memory. It needs no library.
///
/// ```no_run
/// use std::time::Duration;
/// use warpfold::{Device, ops::Add, shards::{Communicator, Peers}};
///
/// let devices = [Device::cuda(0)?, Device::cuda(1)?];
/// let ranks = Peers::group(&devices, Duration::from_secs(60))?.into_iter().zip(&devices);
/// std::thread::scope(|scope| {
///     for (rank, (exchange, device)) in ranks.enumerate() {
///         scope.spawn(move || {
///             let communicator = Communicator::new(rank, 2, exchange)?;
///             let part = device.upload(&vec![0.1_f32; 1000 + rank])?;
///             let shard = communicator.shard(part.len())?.on(device);
///             shard.reduce::<f32, Add>(&part)
///         });
///     }
/// });
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Threads tell each other that their copies are enqueued, and how long their packets are. So a
/// rank that is dropped ends the wait of the others at once, and one that makes no call after the
/// timeout. Then each stream waits for the copies of all GPUs, and the host for that. Packets begin
/// and end in host memory.
///
/// Memory: on each GPU, and pinned on the host, 512 KiB for each rank. Longer packets go in pieces.
pub struct Peers {
    rank: usize,
    timeout: Duration,
    gpu: Gpu,
    threads: Threads,
    /// Dropped before `slots`: it waits for the copies to the others.
    staging: Staging,
    slots: Arc<Vec<Slot>>,
    /// Packets go to two places in turn. Who writes to one again knows that all have read it, since
    /// they have given to the exchange between.
    turn: usize,
}

/// What the others need of a rank. It lives until the last of them is gone.
struct Slot {
    memory: Arc<SharedMemory>,
    /// Recorded after the copies to all others.
    sent: CudaEvent,
}

/// The bytes of a packet that go at a time. No memory is made between exchanges: that could wait
/// for work of a GPU which waits for this rank.
pub(super) const PIECE_BYTES: usize = 256 << 10;

impl Peers {
    /// An exchange for each of some GPUs, in their order; it goes to the thread that works with
    /// that GPU. A GPU may be there several times. A rank waits for the others as long as `timeout`
    /// says.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if one is the CPU; [`Error::Driver`].
    pub fn group(devices: &[Device], timeout: Duration) -> Result<Vec<Peers>> {
        let gpus = devices.iter().map(|device| gpu_of(device, "Peers"));
        let gpus = gpus.collect::<Result<Vec<_>>>()?;
        let (mut stagings, mut slots) = (Vec::new(), Vec::new());
        for gpu in &gpus {
            gpus.iter().try_for_each(|other| gpu.reach(other))?;
            let staging = Staging::new(gpu, 2 * gpus.len() * PIECE_BYTES)?;
            slots.push(Slot {
                memory: staging.memory().clone(),
                sent: gpu.context().new_event(None).map_err(failed)?,
            });
            stagings.push(staging);
        }
        let slots = Arc::new(slots);
        let threads = Threads::group(gpus.len(), timeout).into_iter();
        let ranks = threads.zip(gpus).zip(stagings).enumerate();
        let ranks = ranks.map(|(rank, ((threads, gpu), staging))| Peers {
            rank,
            timeout,
            gpu,
            threads,
            staging,
            slots: Arc::clone(&slots),
            turn: 0,
        });
        Ok(ranks.collect())
    }

    /// Waits until all ranks have enqueued their copies of a packet of so many bytes, or one says
    /// that it could not.
    fn meet(&self, bytes: usize, own: Result<()>) -> std::result::Result<(), Fault> {
        let numbers = [bytes as u64, own.is_err().into()];
        let all = self.threads.exchange(bytemuck::cast_slice(&numbers))?;
        own?;
        let (mut reader, mut lengths) = (Reader(&all), Vec::new());
        while let (Some(bytes), Some(failed)) = (reader.number(), reader.number()) {
            if failed != 0 {
                return Err(format!("the GPU of rank {} failed", lengths.len()).into());
            }
            lengths.push(bytes);
        }
        match lengths.iter().all(|length| *length == lengths[0]) {
            true => Ok(()),
            false => Err(format!("ranks gave packets of {lengths:?} bytes").into()),
        }
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
        let (rank, ranks) = (self.rank, self.slots.len());
        let half = self.turn * ranks * PIECE_BYTES;
        let place = half + rank * piece.len();
        self.turn = 1 - self.turn;
        let mut send = || {
            self.staging.upload(place, piece)?;
            for (_, slot) in others(&self.slots, rank) {
                // SAFETY: `slots` keeps the memory, and the drop of `staging` waits for the copy.
                // The place is this rank's alone. Its owner reads it once this exchange has met,
                // and has done so before it gives to the next one, which all wait for before they
                // come back to this half.
                unsafe { self.staging.send(place, piece.len(), &slot.memory) }?;
            }
            let recorded = self.slots[rank].sent.record(self.staging.stream());
            recorded.map_err(failed)
        };
        let sent = send();
        self.meet(bytes, sent)?;
        for (_, slot) in others(&self.slots, rank) {
            self.staging.stream().wait(&slot.sent).map_err(failed)?;
        }
        let len = ranks * piece.len();
        self.staging.download(half, len)?;
        if !self.staging.wait(deadline, || Ok(()))? {
            self.staging.lose();
            // Its stream may still write to the others.
            std::mem::forget(Arc::clone(&self.slots));
            return Err(format!("the copies took more than {:?}", self.timeout).into());
        }
        scatter(self.staging.host(half, len), piece.len(), at, bytes, all);
        Ok(())
    }
}

/// Puts pieces of all ranks where they stand in their packets.
pub(super) fn scatter(pieces: &[u8], piece: usize, at: usize, bytes: usize, all: &mut [u8]) {
    for (packet, piece) in all.chunks_mut(bytes).zip(pieces.chunks(piece)) {
        packet[at..at + piece.len()].copy_from_slice(piece);
    }
}

fn failed(error: DriverError) -> Error {
    driver_error("exchanging packets", error)
}

/// All but one, with their numbers.
fn others<T>(all: &[T], one: usize) -> impl Iterator<Item = (usize, &T)> {
    all.iter().enumerate().filter(move |(rank, _)| *rank != one)
}

/// What keeps an exchange from its work.
type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The GPU that a device is.
pub(super) fn gpu_of(device: &Device, what: &str) -> Result<Gpu> {
    match &device.backend {
        Backend::Cuda(gpu) => Ok(gpu.clone()),
        Backend::Cpu => Err(Error::Argument {
            argument: "device",
            fault: format!("is the CPU, and `{what}` is for GPUs\n  remedy: take `Threads`"),
        }),
    }
}

impl Exchange for Peers {
    fn all_gather(&mut self, mine: &[u8], all: &mut [u8]) -> std::result::Result<(), Fault> {
        let ranks = self.slots.len();
        if mine.len() * ranks != all.len() {
            return Err(format!("{ranks} packets are no {} bytes", all.len()).into());
        }
        for (number, piece) in mine.chunks(PIECE_BYTES).enumerate() {
            self.gather(piece, number * PIECE_BYTES, mine.len(), all)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers")
            .field("rank", &self.rank)
            .field("gpu", &self.gpu.ordinal())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
