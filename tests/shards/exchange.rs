//! Ranks that do not do the same, or are gone; exchanges that do not do what they should.

use super::{LONG, on_ranks};
use std::time::{Duration, Instant};
use warpfold::ops::{Add, Max};
use warpfold::shards::{Communicator, Exchange, Nodes, Shard, Threads};
use warpfold::{Error, Prefixes, Result, zip};

/// Asserts that every rank gets an error, and that its text contains this.
#[track_caller]
fn all_say<T: std::fmt::Debug>(results: &[Result<T>], text: &str) {
    for result in results {
        let message = result.as_ref().unwrap_err().to_string();
        assert!(message.contains(text), "{message}");
    }
}

/// A call of one rank that differs from those of the others.
fn one_differs<T: Send + std::fmt::Debug>(
    usual: impl Fn(&Communicator) -> Result<T> + Sync,
    other: impl Fn(&Communicator) -> Result<T> + Sync,
    text: &str,
) {
    let results = on_ranks(3, |communicator| {
        let first = match communicator.rank() {
            1 => other(&communicator),
            _ => usual(&communicator),
        };
        // It can be used as before.
        let shard = communicator.shard(communicator.rank()).unwrap();
        let sum = shard
            .reduce::<u32, Add>(&[1, 2][..communicator.rank()])
            .unwrap();
        (first, sum)
    });
    let (first, sums): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    all_say(&first, text);
    assert_eq!(sums, [4; 3]);
}

#[test]
fn ranks_that_do_not_do_the_same_all_get_an_error() {
    let data = [1.0_f32, 2.0, 3.0];
    fn with(communicator: &Communicator) -> Result<Shard<'_>> {
        communicator.shard_with(&[3; 3])
    }
    one_differs(
        |c| with(c)?.reduce::<f32, Add>(&data),
        |c| with(c)?.reduce::<f32, Max>(&data),
        "rank 1 calls reduce of f32 with Max, but rank 0 reduce of f32 with Add",
    );
    one_differs(
        |c| with(c)?.reduce::<f32, Add>(&data).map(f64::from),
        |c| with(c)?.reduce::<f64, Add>(&[1.0; 3]),
        "rank 1 calls reduce of f64 with Add, but rank 0 reduce of f32 with Add",
    );
    one_differs(
        |c| with(c)?.reduce::<f32, Add>(&data).map(|_| ()),
        |c| {
            let prefixes = with(c)?.scan::<f32, Add>(Prefixes::exclusive(), &data);
            prefixes.map(|_| ())
        },
        "rank 1 calls scan of f32 with Add, but rank 0 reduce",
    );
    one_differs(
        |c| with(c)?.reduce_from::<f32, Add>(1.0, &data),
        |c| with(c)?.reduce_from::<f32, Add>(2.0, &data),
        "rank 1 calls reduce of f32 with Add, with other arguments",
    );
    let scan = |c: &Communicator, prefixes| with(c)?.scan::<f32, Add>(prefixes, &data);
    one_differs(
        |c| scan(c, Prefixes::exclusive()),
        |c| scan(c, Prefixes::inclusive()),
        "with other arguments",
    );
    one_differs(
        |c| scan(c, Prefixes::exclusive()),
        |c| scan(c, Prefixes::exclusive().reverse()),
        "with other arguments",
    );
    one_differs(
        |c| c.shard_with(&[3, 3, 3])?.reduce::<f32, Add>(&data),
        |c| c.shard_with(&[3, 3, 4])?.reduce::<f32, Add>(&data),
        "with other arguments, lengths or definitions",
    );
    one_differs(
        |c| with(c)?.reduce::<f32, Add>(&data),
        |c| c.shard(3)?.reduce::<f32, Add>(&data),
        "rank 1 calls shard, but rank 0 reduce",
    );
}

#[test]
fn what_one_rank_cannot_do_is_an_error_of_all() {
    let data = [1.0_f32, 2.0, 3.0];
    one_differs(
        |c| c.shard_with(&[3; 3])?.reduce::<f32, Add>(&data),
        |c| c.shard_with(&[3; 3])?.reduce::<f32, Add>(&data[..2]),
        "that of rank 1 has 3 elements, but its source 2 items",
    );
    #[warpfold::function]
    fn first(x: f32, _y: f32) -> f32 {
        x
    }
    let zipped = |c: &Communicator, other: &[f32]| {
        let source = warpfold::map::<first, _>(zip(&data, other));
        c.shard_with(&[3; 3])?.reduce::<f32, Add>(source)
    };
    let results = on_ranks(3, |c| zipped(&c, &[0.0; 4][..3 + c.rank() % 2]));
    all_say(&results, "a source of 3 items is zipped with one of 4");
    assert!(
        matches!(results[1], Err(Error::Zip { .. })),
        "its own error"
    );
    all_say(&[results[0].clone(), results[2].clone()], "rank 1 failed");
    // Those that look at the length first, too.
    one_differs(
        |c| c.shard_with(&[3; 3])?.mean(&data),
        |c| {
            c.shard_with(&[3; 3])?
                .mean(warpfold::map::<first, _>(zip(&data, &data[..2])))
        },
        "a source of 3 items is zipped with one of 2",
    );
    one_differs(
        |c| {
            c.shard_with(&[3; 3])?.scan_into::<f32, Add>(
                Prefixes::exclusive(),
                &data,
                &mut [0.0; 3],
            )
        },
        |c| {
            c.shard_with(&[3; 3])?.scan_into::<f32, Add>(
                Prefixes::exclusive(),
                &data,
                &mut [0.0; 2],
            )
        },
        "the output holds 2 elements",
    );
}

#[test]
fn a_communicator_of_another_size_is_found() {
    let results = std::thread::scope(|scope| {
        let ranks = Threads::group(2, LONG).into_iter().enumerate();
        let ranks: Vec<_> = ranks
            .map(|(rank, mut exchange)| {
                scope.spawn(move || {
                    // Rank 1 takes part, but believes in three.
                    let all_gather = move |mine: &[u8], all: &mut [u8]| {
                        exchange.all_gather(mine, &mut all[..2 * mine.len()])
                    };
                    let communicator = Communicator::new(rank, 2 + rank, all_gather)?;
                    communicator.shard(1).map(|shard| shard.total())
                })
            })
            .collect();
        let results = ranks.into_iter().map(|rank| rank.join().unwrap());
        results.collect::<Vec<_>>()
    });
    assert!(results.iter().all(Result::is_err), "{results:?}");
    all_say(&results[..1], "rank 1 says 3, and 2 packets came");
    assert!(Communicator::new(2, 2, |_: &[u8], _: &mut [u8]| Ok::<_, String>(())).is_err());
}

/// What two ranks get of which a third makes no call, and either waits for their end or is gone.
fn without_the_last(timeout: Duration, waits: bool) -> (Vec<Result<u32>>, Duration) {
    let started = Instant::now();
    let (results, took) = std::thread::scope(|scope| {
        let mut exchanges = Threads::group(3, timeout);
        let last = exchanges.pop().filter(|_| waits);
        let threads: Vec<_> = exchanges
            .into_iter()
            .enumerate()
            .map(|(rank, exchange)| {
                scope.spawn(move || {
                    let communicator = Communicator::new(rank, 3, exchange)?;
                    let shard = communicator.shard_with(&[1; 3])?;
                    let sum = shard.reduce::<u32, Add>(&[1]);
                    // It stays an error, at once.
                    assert_eq!(shard.reduce::<u32, Add>(&[1]), sum);
                    sum
                })
            })
            .collect();
        let results = threads.into_iter().map(|rank| rank.join().unwrap());
        let results: Vec<_> = results.collect();
        drop(last);
        (results, started.elapsed())
    });
    (results, took)
}

#[test]
fn a_rank_that_makes_no_call_is_an_error_in_time() {
    let (results, took) = without_the_last(Duration::from_secs(1), true);
    all_say(&results, "2 gave nothing within 1s");
    all_say(&results, "in call 1 (reduce of u32 with Add)");
    assert!(took < LONG / 2, "{took:?}");
}

#[test]
fn a_rank_that_is_gone_is_an_error_at_once() {
    let (results, took) = without_the_last(LONG, false);
    all_say(&results, "rank 2 is gone");
    assert!(took < LONG / 2, "{took:?}");
}

/// What an exchange does wrong on one rank, from some call on.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Nothing comes.
    Zeros,
    /// A bit of a packet is turned: which byte.
    Bit(usize),
    /// Two packets change places.
    Swapped,
    /// A packet comes twice, in place of another.
    Twice,
    /// The packets are those of the call before.
    Late,
}

#[test]
fn faults_of_an_exchange_are_found() {
    // The header has 144 bytes; the payload of 4, the checksum and zeros follow.
    let bits = (0..170).chain([4000, 8184, 8191]).map(Fault::Bit);
    for fault in [Fault::Zeros, Fault::Swapped, Fault::Twice, Fault::Late]
        .into_iter()
        .chain(bits)
    {
        let results = std::thread::scope(|scope| {
            let exchanges = Threads::group(3, LONG).into_iter().enumerate();
            let ranks: Vec<_> = exchanges
                .map(|(rank, mut exchange)| {
                    scope.spawn(move || {
                        let (mut last, mut calls) = (Vec::new(), 0);
                        let faulty = move |mine: &[u8], all: &mut [u8]| {
                            exchange.all_gather(mine, all)?;
                            calls += 1;
                            let right = all.to_vec();
                            if rank == 1 && calls == 3 {
                                damage(fault, mine.len(), all, &last);
                            }
                            last = right;
                            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
                        };
                        let communicator = Communicator::new(rank, 3, faulty)?;
                        let shard = communicator.shard(1)?;
                        let first = shard.reduce::<u32, Add>(&[1])?;
                        assert_eq!(first, 3);
                        shard.reduce::<u32, Add>(&[1 + rank as u32])
                    })
                })
                .collect();
            let results = ranks.into_iter().map(|rank| rank.join().unwrap());
            results.collect::<Vec<_>>()
        });
        let [Ok(6), Err(error @ Error::Exchange { .. }), Ok(6)] = &results[..] else {
            panic!("{fault:?}: {results:?}");
        };
        assert!(
            error.to_string().contains("in call 3"),
            "{fault:?}: {error}"
        );
    }
}

fn damage(fault: Fault, packet: usize, all: &mut [u8], last: &[u8]) {
    match fault {
        Fault::Zeros => all.fill(0),
        Fault::Bit(byte) => all[2 * packet + byte] ^= 4,
        Fault::Swapped => {
            let (first, rest) = all.split_at_mut(packet);
            first.swap_with_slice(&mut rest[..packet]);
        }
        Fault::Twice => all.copy_within(..packet, packet),
        Fault::Late => all.copy_from_slice(last),
    }
}

/// The packet that a rank gives to an exchange. Zeros end it.
fn packet(rank: usize, round: usize, len: usize) -> Vec<u8> {
    let mut packet = vec![0; len];
    let used = len.saturating_sub((rank * 131 + round * 17) % 600);
    for (number, chunk) in packet[..used].chunks_mut(1000).enumerate() {
        chunk.fill(1 + (number * 7 + rank * 31 + round) as u8 % 255);
    }
    packet
}

/// Gives packets of these lengths, one after the other, and looks at what comes. One rank is late
/// now and then, so that others fall asleep.
pub(super) fn gather_packets(
    exchange: &mut impl Exchange,
    (rank, ranks): (usize, usize),
    lens: &[usize],
) {
    for (round, &len) in lens.iter().enumerate() {
        let mut all = vec![0xdb; ranks * len];
        if round % 10 == rank {
            std::thread::sleep(Duration::from_micros(700));
        }
        let mine = packet(rank, round, len);
        exchange.all_gather(&mine, &mut all).unwrap();
        let expected: Vec<_> = (0..ranks).map(|rank| packet(rank, round, len)).collect();
        let right = all == expected.concat();
        assert!(
            right,
            "rank {rank} of {ranks}, exchange {round} of {len} bytes"
        );
    }
}

#[test]
fn threads_gather_packets_of_any_length() {
    for ranks in [1, 2, 3, 8] {
        let lens = [8192, 0, 1, 8192, 255, 256, 257, 100_000, 16, 8192].repeat(20);
        std::thread::scope(|scope| {
            for (rank, mut exchange) in Threads::group(ranks, LONG).into_iter().enumerate() {
                let lens = &lens;
                scope.spawn(move || gather_packets(&mut exchange, (rank, ranks), lens));
            }
        });
    }
}

/// All ranks of a group make as many short exchanges, and go at once.
#[test]
fn what_a_rank_gave_before_it_went_counts() {
    for ranks in [2, 3] {
        for round in 0..300 {
            let results = on_ranks(ranks, |communicator| communicator.shard(round).is_ok());
            assert_eq!(results, vec![true; ranks], "{round}");
        }
    }
}

#[test]
fn packets_of_different_lengths_are_an_error_of_all_ranks() {
    let exchanges = Threads::group(3, LONG).into_iter().enumerate();
    let texts: Vec<_> = std::thread::scope(|scope| {
        let ranks = exchanges.map(|(rank, mut exchange)| {
            scope.spawn(move || {
                let len = [8, 8, 16][rank];
                let mut gather = || exchange.all_gather(&vec![1; len], &mut vec![0; 3 * len]);
                let first = gather().unwrap_err().to_string();
                // It stays an error, at once.
                assert_eq!(gather().unwrap_err().to_string(), first);
                first
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    assert_eq!(texts, ["ranks gave packets of [8, 8, 16] bytes"; 3]);
}

#[test]
fn a_rank_that_comes_after_the_timeout_gets_the_error_too() {
    let mut ranks = Threads::group(2, Duration::from_millis(100));
    let mut gather = |rank: usize| ranks[rank].all_gather(&[1], &mut [0; 2]);
    let says = "rank 1 gave nothing within 100ms";
    assert_eq!(gather(0).unwrap_err().to_string(), says);
    assert_eq!(gather(1).unwrap_err().to_string(), says);
}

/// Rank 1 begins to wait long after rank 0, and rank 2 gives nothing.
#[test]
fn the_timeout_of_one_rank_ends_the_wait_of_all() {
    let mut ranks = Threads::group(3, Duration::from_secs(4));
    let _silent = ranks.pop();
    std::thread::scope(|scope| {
        for (rank, exchange) in ranks.iter_mut().enumerate() {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_secs(3) * rank as u32);
                let started = Instant::now();
                let error = exchange.all_gather(&[1], &mut [0; 3]).unwrap_err();
                assert!(error.to_string().contains("2 gave nothing within 4s"));
                let most = [LONG, Duration::from_secs(3)][rank];
                assert!(started.elapsed() < most, "{rank}: {:?}", started.elapsed());
            });
        }
    });
}

/// Counts of more bytes than a packet has follow in a second exchange.
#[test]
fn faults_of_the_second_exchange_are_found() {
    let bins = warpfold::Bins::values(3000).unwrap();
    let results = std::thread::scope(|scope| {
        let exchanges = Threads::group(2, LONG).into_iter().enumerate();
        let ranks: Vec<_> = exchanges
            .map(|(rank, mut exchange)| {
                let bins = &bins;
                scope.spawn(move || {
                    let faulty = move |mine: &[u8], all: &mut [u8]| {
                        let done = exchange.all_gather(mine, all);
                        if rank == 0 && mine.len() == 8 * 3000 {
                            all[mine.len() + 7] ^= 1;
                        }
                        done
                    };
                    let communicator = Communicator::new(rank, 2, faulty)?;
                    let shard = communicator.shard(2)?;
                    shard.histogram::<u64, u16>(&[2999, 1], bins)
                })
            })
            .collect();
        let results = ranks.into_iter().map(|rank| rank.join().unwrap());
        results.collect::<Vec<_>>()
    });
    all_say(&results[..1], "what came of rank 1 is damaged");
    let counts = results[1].as_ref().unwrap();
    assert_eq!(
        (counts[1], counts[2999], counts.iter().sum::<u64>()),
        (2, 2, 4)
    );
}

/// Panics on one rank.
#[warpfold::monoid(identity = 0)]
fn no_thirteen(a: u32, b: u32) -> u32 {
    let unlucky = [0_u32; 2];
    a + b + unlucky[(a == 13 || b == 13) as usize * 2]
}

#[test]
fn a_panic_on_one_rank_is_an_error_of_the_others_at_once() {
    let started = Instant::now();
    let results = std::thread::scope(|scope| {
        let exchanges = Threads::group(3, LONG).into_iter().enumerate();
        let ranks: Vec<_> = exchanges
            .map(|(rank, exchange)| {
                scope.spawn(move || {
                    let communicator = Communicator::new(rank, 3, exchange)?;
                    let part = [1, if rank == 1 { 13 } else { 2 }];
                    communicator.shard(2)?.reduce::<u32, NoThirteen>(&part)
                })
            })
            .collect();
        let results = ranks.into_iter().map(|rank| rank.join());
        results.collect::<Vec<_>>()
    });
    assert!(results[1].is_err(), "it panicked");
    for rank in [0, 2] {
        all_say(&[results[rank].as_ref().unwrap().clone()], "rank 1 is gone");
    }
    assert!(started.elapsed() < LONG / 2);
}

#[test]
fn nodes_of_another_part_are_refused() {
    let of = |start: u64| Nodes::<f32, Add>::of(start, &[1.0, 2.0, 3.0]).unwrap();
    one_differs(
        |c| c.shard_with(&[3; 3])?.gather(&of(3 * c.rank() as u64)),
        |c| c.shard_with(&[3; 3])?.gather(&of(6)),
        "that of rank 1 is 3..6, but its nodes are of [6..9]",
    );
}
