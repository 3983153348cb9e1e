//! Ranks that are threads of one process.

use super::Exchange;
use super::bytes::without_zeros;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The [`Exchange`] of a rank whose peers are other threads of this process.
///
/// ```
/// use std::time::Duration;
/// use warpfold::{ops::Add, reduce, shards::{Communicator, Threads}};
///
/// let data: Vec<f32> = (0..1000).map(|i| (i as f32).sqrt()).collect();
/// let sum = reduce::<f32, Add>(&data)?;
/// let shards = data.chunks(400).zip(Threads::group(3, Duration::from_secs(60)));
/// std::thread::scope(|scope| {
///     for (rank, (part, exchange)) in shards.enumerate() {
///         scope.spawn(move || {
///             let communicator = Communicator::new(rank, 3, exchange)?;
///             let shard = communicator.shard(part.len())?;
///             assert_eq!(shard.reduce::<f32, Add>(part)?, sum);
///             Ok::<(), warpfold::Error>(())
///         });
///     }
/// });
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// A rank that is dropped, by a panic too, ends the wait of the others at once.
///
/// A thread writes its packet to memory, and reads those of the others there. Nobody waits for a
/// lock, and zeros at a packet's end are not copied. Where each rank can have a core to itself, a
/// thread that waits looks again and again for 50 µs before it sleeps.
pub struct Threads {
    rank: usize,
    timeout: Duration,
    /// How many exchanges it has given a packet to.
    given: u64,
    group: Arc<Group>,
}

struct Group {
    slots: Vec<Slot>,
    /// How long threads look again and again before they sleep. To wake up takes longer than most
    /// exchanges.
    impatience: Duration,
    /// Why no exchange comes to its end any more.
    failure: Mutex<Option<String>>,
    /// Whether there is a failure.
    has_failed: AtomicBool,
    /// How many threads sleep, or are about to.
    sleepers: AtomicUsize,
    changed: Condvar,
}

/// What a rank shows the others. Its owner writes it while others look, so it has cache lines of
/// its own.
#[repr(align(128))]
struct Slot {
    /// How many packets it has given.
    given: AtomicU64,
    is_gone: AtomicBool,
    /// Packets go to two places in turn. Who writes to one again knows that all have read it, since
    /// they have given to the exchange between. So nobody waits for these locks.
    packets: [RwLock<Packet>; 2],
}

/// A packet without the zeros at its end.
#[derive(Default)]
struct Packet {
    len: usize,
    bytes: Vec<u8>,
}

impl Threads {
    /// An exchange for each of so many ranks, in their order. A rank waits for the others as long
    /// as `timeout` says.
    pub fn group(ranks: usize, timeout: Duration) -> Vec<Threads> {
        Threads::group_that_looks(ranks, timeout, Duration::from_micros(50))
    }

    /// Ranks that look so long for each other's packets before they sleep.
    pub(super) fn group_that_looks(
        ranks: usize,
        timeout: Duration,
        impatience: Duration,
    ) -> Vec<Threads> {
        let slot = |_| Slot {
            given: AtomicU64::new(0),
            is_gone: AtomicBool::new(false),
            packets: Default::default(),
        };
        let group = Arc::new(Group {
            slots: (0..ranks).map(slot).collect(),
            // Where each rank can have a core to itself.
            impatience: match std::thread::available_parallelism() {
                Ok(cores) if cores.get() >= ranks => impatience,
                _ => Duration::ZERO,
            },
            failure: Mutex::default(),
            has_failed: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            changed: Condvar::new(),
        });
        let of_rank = |rank| Threads {
            rank,
            timeout,
            given: 0,
            group: group.clone(),
        };
        (0..ranks).map(of_rank).collect()
    }

    /// Gives a packet, waits for those of all ranks, and writes them to `all`.
    pub(super) fn exchange(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), String> {
        let (group, round) = (&*self.group, self.given);
        if let Some(failure) = group.failure() {
            return Err(failure);
        }
        let place = (round % 2) as usize;
        let own = &group.slots[self.rank];
        own.packets[place]
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .set(mine);
        self.given += 1;
        own.given.store(self.given, Ordering::SeqCst);
        if group.missing(round).next().is_none() {
            group.wake();
        }
        group.wait(round, self.timeout)?;
        let packets = group.slots.iter().map(|slot| &slot.packets[place]);
        let packets: Vec<_> = packets
            .map(|packet| packet.read().unwrap_or_else(PoisonError::into_inner))
            .collect();
        if packets.iter().any(|packet| packet.len != mine.len()) {
            let lens: Vec<_> = packets.iter().map(|packet| packet.len).collect();
            let cause = format!("ranks gave packets of {lens:?} bytes");
            return Err(group.fail(&mut lock(&group.failure), cause));
        }
        if packets.len() * mine.len() != all.len() {
            let bytes = packets.len() * mine.len();
            return Err(format!("{bytes} bytes came, not {}", all.len()));
        }
        for (packet, room) in packets.iter().zip(all.chunks_mut(mine.len().max(1))) {
            packet.get(room);
        }
        Ok(())
    }
}

impl Packet {
    fn set(&mut self, packet: &[u8]) {
        self.len = packet.len();
        self.bytes.clear();
        self.bytes.extend_from_slice(without_zeros(packet));
    }

    fn get(&self, room: &mut [u8]) {
        let (bytes, zeros) = room.split_at_mut(self.bytes.len());
        bytes.copy_from_slice(&self.bytes);
        zeros.fill(0);
    }
}

impl Group {
    /// The ranks that have given nothing to a round yet.
    fn missing(&self, round: u64) -> impl Iterator<Item = usize> {
        let missing = move |(rank, slot): (usize, &Slot)| {
            (slot.given.load(Ordering::SeqCst) <= round).then_some(rank)
        };
        self.slots.iter().enumerate().filter_map(missing)
    }

    /// Waits until all ranks have given to a round. An error if one of them never will, or does not
    /// in time, or if another rank had such an error.
    fn wait(&self, round: u64, timeout: Duration) -> Result<(), String> {
        let started = Instant::now();
        while self.missing(round).next().is_some() {
            if self.has_failed.load(Ordering::SeqCst) || started.elapsed() >= self.impatience {
                return self.wait_asleep(round, timeout, started);
            }
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn wait_asleep(&self, round: u64, timeout: Duration, started: Instant) -> Result<(), String> {
        let deadline = started.checked_add(timeout);
        let mut failure = lock(&self.failure);
        // Who gives a packet looks for sleepers after that, and here it is the other way about. So
        // one of both sees the other, and who wakes others waits for the lock until they sleep.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let result = loop {
            let missing: Vec<_> = self.missing(round).collect();
            if missing.is_empty() {
                break Ok(());
            }
            if let Some(failure) = &*failure {
                break Err(failure.clone());
            }
            // What a rank gave before it went counts, so that is looked at again.
            let is_gone = |slot: &Slot| {
                slot.is_gone.load(Ordering::SeqCst) && slot.given.load(Ordering::SeqCst) <= round
            };
            let left = time_to(deadline);
            let cause = match missing.iter().find(|&&rank| is_gone(&self.slots[rank])) {
                Some(gone) => format!("rank {gone} is gone"),
                None if left.is_zero() => {
                    let missing: Vec<_> = missing.iter().map(usize::to_string).collect();
                    format!(
                        "rank {} gave nothing within {timeout:?}",
                        missing.join(", ")
                    )
                }
                None => {
                    let waited = self.changed.wait_timeout(failure, left);
                    failure = waited.unwrap_or_else(PoisonError::into_inner).0;
                    continue;
                }
            };
            break Err(self.fail(&mut failure, cause));
        };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Wakes those who sleep.
    fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _asleep = lock(&self.failure);
            self.changed.notify_all();
        }
    }

    /// Ends the wait of all ranks, now and later. Gives the first cause of that.
    fn fail(&self, failure: &mut Option<String>, cause: String) -> String {
        let cause = failure.get_or_insert(cause).clone();
        self.has_failed.store(true, Ordering::SeqCst);
        self.changed.notify_all();
        cause
    }

    /// Why no exchange comes to its end any more.
    fn failure(&self) -> Option<String> {
        match self.has_failed.load(Ordering::SeqCst) {
            true => lock(&self.failure).clone(),
            false => None,
        }
    }
}

fn lock(failure: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    failure.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When a time is over, if ever.
#[cfg(feature = "cuda")]
pub(super) fn deadline(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

/// The time that is left.
fn time_to(deadline: Option<Instant>) -> Duration {
    deadline.map_or(Duration::from_secs(3600), |deadline| {
        deadline.saturating_duration_since(Instant::now())
    })
}

impl Exchange for Threads {
    fn all_gather(
        &mut self,
        mine: &[u8],
        all: &mut [u8],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.exchange(mine, all)?)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let own = &self.group.slots[self.rank];
        own.is_gone.store(true, Ordering::SeqCst);
        self.group.wake();
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads")
            .field("rank", &self.rank)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
