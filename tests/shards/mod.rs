//! One array over several ranks: the bits of one call over everything, and errors on every rank.

mod compaction;
mod exchange;
#[cfg(feature = "cuda")]
mod gpus;
mod group;
mod host;
mod nodes;
#[cfg(feature = "cuda")]
mod without_gpus;

use crate::support::data::Random;
use std::time::Duration;
use warpfold::shards::{Communicator, Threads};

/// The numbers of ranks that are tried.
const RANKS: [usize; 6] = [1, 2, 3, 5, 8, 64];

/// Nobody waits as long unless a test fails.
const LONG: Duration = Duration::from_secs(60);

/// What each rank gives, in threads of their own.
fn on_ranks<R: Send>(ranks: usize, work: impl Fn(Communicator) -> R + Sync) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let exchanges = Threads::group(ranks, LONG).into_iter().enumerate();
        let threads: Vec<_> = exchanges
            .map(|(rank, exchange)| {
                scope.spawn(move || work(Communicator::new(rank, ranks, exchange).unwrap()))
            })
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.collect()
    })
}

/// Where the shards of so many ranks begin, and the end: some are empty, some start at multiples of
/// powers of two, some beside them.
fn bounds(len: usize, ranks: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut draw = |below: usize| (random.next() >> 8) as usize % below.max(1);
    let mut bounds: Vec<_> = (1..ranks)
        .map(|rank| {
            let at = draw(len + 1);
            let power = 1 << draw(20);
            match draw(6) {
                0 => at,
                1 => at / power * power,
                2 => (at / power * power + 1).min(len),
                3 => (at / power * power).saturating_sub(1),
                4 => len / ranks * rank,
                _ => len,
            }
        })
        .chain([0, len])
        .collect();
    bounds.sort_unstable();
    bounds
}
