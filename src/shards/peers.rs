//! Ranks that are threads of one process, each with a GPU of its own, which writes to the memory of
//! the others.

use super::Exchange;
use super::bytes::Reader;
use super::threads::{Threads, deadline};
use crate::cuda::staging::{IMPATIENCE, SharedMemory, Staging};
use crate::cuda::{Gpu, driver_error};
use crate::device::Backend;
use crate::{Device, Error, Result};
use cudarc::driver::{CudaEvent, DriverError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The [`Exchange`] of a rank that is a thread with a GPU. It needs no library.
///
/// Packets begin and end in host memory, which all ranks share. So short ones, up to 64 KiB, stay
/// there, as those of [`Threads`](super::Threads): a copy to a GPU alone takes longer. Of longer
/// ones, such as [`rebalance`](super::Shard::rebalance) has, each GPU copies its own to the memory
/// of every other GPU: over NVLink or PCIe, or where GPUs do not reach each other through host
/// memory.
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
/// A rank that is dropped ends the wait of the others at once, and one that makes no call after the
/// timeout. Where each rank can have a core to itself, a thread that waits looks again and again
/// for 500 µs before it sleeps. When threads have told each other that their copies are enqueued,
/// each stream waits for those of all GPUs, and the host for that.
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
    memory: SharedMemory,
    /// Recorded after the copies to all others.
    sent: CudaEvent,
}

/// The longest packets that stay in host memory.
const NEAR_BYTES: usize = 64 << 10;

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
            let bytes = 2 * gpus.len() * PIECE_BYTES;
            let staging = Staging::new(gpu, bytes)?;
            slots.push(Slot {
                memory: SharedMemory::new(gpu, bytes)?,
                sent: gpu.context().new_event(None).map_err(failed)?,
            });
            stagings.push(staging);
        }
        let slots = Arc::new(slots);
        // A GPU may come long after another, and to sleep would cost more than the exchange.
        let threads = Threads::group_that_looks(gpus.len(), timeout, IMPATIENCE).into_iter();
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
    fn meet(&mut self, bytes: usize, own: Result<()>) -> std::result::Result<(), Fault> {
        let numbers = [bytes as u64, own.is_err().into()];
        let mut all = vec![0; self.slots.len() * size_of_val(&numbers)];
        let mine = bytemuck::cast_slice(&numbers);
        self.threads.exchange(mine, &mut all)?;
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
        let slots = Arc::clone(&self.slots);
        let own = &slots[rank];
        let mut send = || {
            // SAFETY: `slots` keeps the memory, and the drop of `staging` waits for copies. The
            // place is this rank's alone. Its owner reads it once this exchange has met, and has
            // done so before it gives to the next one, which all wait for before they come back to
            // this half.
            unsafe {
                self.staging.upload(&own.memory, place, piece)?;
                for slot in others(&slots, rank) {
                    let memory = &slot.memory;
                    self.staging.send(&own.memory, place, piece.len(), memory)?;
                }
            }
            own.sent.record(self.staging.stream()?).map_err(failed)
        };
        let sent = send();
        self.meet(bytes, sent)?;
        for slot in others(&slots, rank) {
            self.staging.stream()?.wait(&slot.sent).map_err(failed)?;
        }
        let len = ranks * piece.len();
        // SAFETY: as above: the stream waits until all is there.
        unsafe { self.staging.download(&own.memory, half, len) }?;
        if !self.staging.wait(deadline, || Ok(()))? {
            self.staging.lose();
            // Its stream may still write to the others.
            std::mem::forget(slots);
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

/// All but one.
fn others<T>(all: &[T], one: usize) -> impl Iterator<Item = &T> {
    let (before, rest) = all.split_at(one);
    before.iter().chain(&rest[1..])
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
        if mine.len() <= NEAR_BYTES {
            return Ok(self.threads.exchange(mine, all)?);
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
