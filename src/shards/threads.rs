//! Ranks that are threads of one process.

use super::Exchange;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
pub struct Threads {
    rank: usize,
    timeout: Duration,
    group: Arc<Group>,
}

struct Group {
    state: Mutex<State>,
    changed: Condvar,
    /// How many exchanges are over, for those who look at it again and again.
    rounds: AtomicU64,
    /// How long they do before they sleep. To wake up takes longer than most exchanges.
    impatience: Duration,
}

struct State {
    /// How many exchanges are over.
    round: u64,
    /// What ranks have given to the one that is not.
    packets: Vec<Option<Vec<u8>>>,
    /// What came of the last one.
    last: Arc<Vec<u8>>,
    gone: Vec<bool>,
    failure: Option<String>,
}

impl Threads {
    /// An exchange for each of so many ranks, in their order. A rank waits for the others as long
    /// as `timeout` says.
    pub fn group(ranks: usize, timeout: Duration) -> Vec<Threads> {
        let group = Arc::new(Group {
            state: Mutex::new(State {
                round: 0,
                packets: vec![None; ranks],
                last: Arc::default(),
                gone: vec![false; ranks],
                failure: None,
            }),
            changed: Condvar::new(),
            rounds: AtomicU64::new(0),
            // Where each rank can have a core to itself.
            impatience: match std::thread::available_parallelism() {
                Ok(cores) if cores.get() >= ranks => Duration::from_micros(50),
                _ => Duration::ZERO,
            },
        });
        let of_rank = |rank| Threads {
            rank,
            timeout,
            group: group.clone(),
        };
        (0..ranks).map(of_rank).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.group.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when a round is over, or soon.
    fn look_for(&self, round: u64) {
        let started = Instant::now();
        while self.group.rounds.load(Ordering::Acquire) == round
            && started.elapsed() < self.group.impatience
        {
            std::hint::spin_loop();
        }
    }

    /// The packets of all ranks.
    pub(super) fn exchange(&self, mine: &[u8]) -> Result<Arc<Vec<u8>>, String> {
        let deadline = deadline(self.timeout);
        let mut state = self.lock();
        let round = state.round;
        state.packets[self.rank] = Some(mine.to_vec());
        if state.failure.is_none() && state.packets.iter().all(Option::is_some) {
            state.finish();
            self.group.rounds.store(state.round, Ordering::Release);
            self.group.changed.notify_all();
        } else if !self.group.impatience.is_zero() {
            drop(state);
            self.look_for(round);
            state = self.lock();
        }
        while state.round == round && state.failure.is_none() {
            let gone = state.missing().find(|&rank| state.gone[rank]);
            if let Some(gone) = gone {
                state.failure = Some(format!("rank {gone} is gone"));
                break;
            }
            let left = time_to(deadline);
            if left.is_zero() {
                let missing: Vec<_> = state.missing().map(|rank| rank.to_string()).collect();
                state.failure = Some(format!(
                    "rank {} gave nothing within {:?}",
                    missing.join(", "),
                    self.timeout
                ));
                break;
            }
            let waited = self.group.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match &state.failure {
            Some(failure) if state.round == round => {
                self.group.changed.notify_all();
                Err(failure.clone())
            }
            _ => Ok(state.last.clone()),
        }
    }
}

/// When a time is over, if ever.
pub(super) fn deadline(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

/// The time that is left.
fn time_to(deadline: Option<Instant>) -> Duration {
    deadline.map_or(Duration::from_secs(3600), |deadline| {
        deadline.saturating_duration_since(Instant::now())
    })
}

impl State {
    /// The ranks that have given nothing yet.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let missing = |(rank, packet): (usize, &Option<Vec<u8>>)| packet.is_none().then_some(rank);
        self.packets.iter().enumerate().filter_map(missing)
    }

    /// Ends the exchange to which all ranks have given.
    fn finish(&mut self) {
        let packets: Vec<_> = self.packets.iter_mut().flat_map(Option::take).collect();
        let lens: Vec<_> = packets.iter().map(Vec::len).collect();
        match lens.iter().all(|len| *len == lens[0]) {
            true => {
                self.last = Arc::new(packets.concat());
                self.round += 1;
            }
            false => self.failure = Some(format!("ranks gave packets of {lens:?} bytes")),
        }
    }
}

impl Exchange for Threads {
    fn all_gather(
        &mut self,
        mine: &[u8],
        all: &mut [u8],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let packets = self.exchange(mine)?;
        if packets.len() != all.len() {
            return Err(format!("{} bytes came, not {}", packets.len(), all.len()).into());
        }
        all.copy_from_slice(&packets);
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.lock().gone[self.rank] = true;
        self.group.changed.notify_all();
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
