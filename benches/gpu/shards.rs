//! One array over 2, 4, 8 … GPUs, by every exchange, beside one GPU in the same run. Times are by
//! the host's clock, from the moment when all ranks begin until all have their result.

use crate::bench::Bench;
use crate::measure::repeat;
use crate::record::{Sharded, Spread};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use warpfold::ops::Add;
use warpfold::shards::{Communicator, Exchange, Group, Nccl, NcclId, Nodes, Peers, Shard, Threads};
use warpfold::{Bins, Buffer, Device, Error, Prefixes, Result, function, index, map_with, zip};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Elements of all ranks: 2^28, and 2^30, beside [`EACH`] of each rank.
const ALL: [usize; 2] = [1 << 28, 1 << 30];
/// Elements of each rank.
const EACH: usize = 1 << 28;
/// Elements of each rank where the exchange is what takes the time.
const SMALL: usize = 1 << 16;
/// The bytes of the packets that are exchanged alone: of most calls, and of longer ones.
const PACKETS: [usize; 3] = [Communicator::PACKET_BYTES, 64 << 10, 1 << 20];

#[derive(Clone, Copy, PartialEq)]
enum By {
    /// Each rank has its own result alone. The others are beside this one: what the exchange adds.
    Nothing,
    Threads,
    Peers,
    Nccl,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Nothing => "no exchange",
            By::Threads => "threads",
            By::Peers => "peer memory",
            By::Nccl => "NCCL",
        }
    }
}

#[derive(Clone, Copy)]
enum Call {
    Reduce,
    Scan,
    Select,
    Histogram,
}

const CALLS: [(&str, Call); 4] = [
    ("reduce", Call::Reduce),
    ("scan", Call::Scan),
    ("select", Call::Select),
    ("histogram", Call::Histogram),
];

#[function]
fn is_small(x: f32) -> bool {
    x < 0.5
}

fn bins() -> Bins<f32> {
    Bins::even(0.0, 1.0, 256).expect("bins")
}

/// One item's share of a checksum that knows positions.
#[function]
fn share(i: u64, x: f32, start: u64) -> u64 {
    let word = ((i + start) ^ ((x.to_bits() as u64) << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ (word >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The checksum of `x`, whose first item stands at `start`. Those of all parts add up to that of
/// the whole.
fn checksum(device: &Device, x: &Buffer<f32>, start: u64) -> Result<u64> {
    let shares = map_with::<share, _, _>(zip(index(x.len()), x), start);
    device.reduce::<u64, Add>(shares)
}

/// What a call leaves.
enum Outcome {
    /// What all ranks have alike.
    Same(u64),
    /// It has written to the output.
    Written,
    /// What a rank keeps, and where that begins.
    Kept(Buffer<f32>, u64),
}

impl Outcome {
    /// Every bit of it. `start` is where the output begins.
    fn checksum(&self, device: &Device, output: &Buffer<f32>, start: u64) -> Result<u64> {
        match self {
            Outcome::Same(bits) => Ok(*bits),
            Outcome::Written => checksum(device, output, start),
            Outcome::Kept(items, start) => checksum(device, items, *start),
        }
    }
}

impl Call {
    /// The call on one device, until it is done.
    fn alone(self, device: &Device, x: &Buffer<f32>, output: &mut Buffer<f32>) -> Result<Outcome> {
        Ok(match self {
            Call::Reduce => Outcome::Same(device.reduce::<f32, Add>(x)?.to_bits().into()),
            Call::Scan => {
                device.scan_into::<f32, Add>(Prefixes::inclusive(), x, output)?;
                wait_for(output)?;
                Outcome::Written
            }
            Call::Select => Outcome::Kept(device.select::<f32, is_small>(x)?, 0),
            Call::Histogram => {
                Outcome::Same(digest(device.histogram::<u64, f32>(x, &bins())?.to_vec()?))
            }
        })
    }

    /// The call over shards, until it is done.
    fn shared(
        self,
        shard: &Shard<'_, Device>,
        x: &Buffer<f32>,
        output: &mut Buffer<f32>,
    ) -> Result<Outcome> {
        Ok(match self {
            Call::Reduce => Outcome::Same(shard.reduce::<f32, Add>(x)?.to_bits().into()),
            Call::Scan => {
                shard.scan_into::<f32, Add>(Prefixes::inclusive(), x, output)?;
                wait_for(output)?;
                Outcome::Written
            }
            Call::Select => {
                let kept = shard.select::<f32, is_small>(x)?;
                Outcome::Kept(kept.items, kept.start)
            }
            Call::Histogram => {
                Outcome::Same(digest(shard.histogram::<u64, f32>(x, &bins())?.to_vec()?))
            }
        })
    }
}

/// Until the output is written: a copy of its last item waits.
fn wait_for(output: &Buffer<f32>) -> Result<()> {
    let end = output.len();
    output.slice(end.saturating_sub(1)..).to_vec()?;
    Ok(())
}

fn digest(counts: Vec<u64>) -> u64 {
    (1..)
        .zip(counts)
        .fold(0, |sum: u64, (bin, count)| sum.wrapping_add(bin * count))
}

/// Where threads wait for each other without sleeping.
struct Gate {
    ranks: usize,
    arrived: AtomicUsize,
    /// A rank came to its end, maybe early.
    open: AtomicBool,
}

/// Opens a gate at its end.
struct Opens<'a>(&'a Gate);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.open.store(true, Ordering::Release);
    }
}

impl Gate {
    fn wait(&self) {
        let arrival = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = (arrival / self.ranks + 1) * self.ranks;
        while self.arrived.load(Ordering::Acquire) < all && !self.open.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    }
}

/// What carries a rank's packets.
fn exchange_of(
    by: By,
    rank: usize,
    gpus: &[Device],
    (threads, peers, id): (Threads, Option<Peers>, Option<NcclId>),
) -> Result<Box<dyn Exchange + Send>> {
    Ok(match (by, peers, id) {
        (By::Peers, Some(peers), _) => Box::new(peers),
        (By::Nccl, _, Some(id)) => Box::new(Nccl::new(&gpus[rank], rank, gpus.len(), id, TIMEOUT)?),
        _ => Box::new(threads),
    })
}

/// Has a thread for each rank do `work`, which gets its rank, its exchange and the gate of all.
fn on_ranks<R: Send>(
    by: By,
    gpus: &[Device],
    work: impl Fn(usize, Box<dyn Exchange + Send>, &Gate) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let ranks = gpus.len();
    let mut peers = match by {
        By::Peers => Peers::group(gpus, TIMEOUT)?.into_iter(),
        _ => Vec::new().into_iter(),
    };
    let id = match by {
        By::Nccl => Some(NcclId::new()?),
        _ => None,
    };
    let gate = &Gate {
        ranks,
        arrived: AtomicUsize::new(0),
        open: AtomicBool::new(false),
    };
    let work = &work;
    std::thread::scope(|scope| {
        let threads = Threads::group(ranks, TIMEOUT).into_iter().enumerate();
        let threads: Vec<_> = threads
            .map(|(rank, threads)| {
                let carriers = (threads, peers.next(), id);
                scope.spawn(move || {
                    let _opens = Opens(gate);
                    work(rank, exchange_of(by, rank, gpus, carriers)?, gate)
                })
            })
            .collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        results.collect()
    })
}

/// The times of work that all ranks do together, in µs.
fn time_together(
    gate: &Gate,
    repeats: usize,
    mut work: impl FnMut() -> Result<()>,
) -> Result<Spread> {
    let mut failed = None;
    let spread = repeat(repeats, || {
        gate.wait();
        let started = Instant::now();
        failed = failed.take().or(work().err());
        gate.wait();
        started.elapsed().as_secs_f64() * 1e6
    });
    failed.map_or(Ok(spread), Err)
}

/// The times of a call over shards, and the checksum of what it leaves: of all ranks' results.
fn time(
    by: By,
    call: Call,
    gpus: &[Device],
    parts: &[Buffer<f32>],
    repeats: usize,
) -> Result<(Spread, u64)> {
    let ranks = gpus.len();
    let of_ranks = on_ranks(by, gpus, |rank, mut exchange, gate| {
        let (gpu, part) = (&gpus[rank], &parts[rank]);
        let carries = move |mine: &[u8], all: &mut [u8]| exchange.all_gather(mine, all);
        let communicator = Communicator::new(rank, ranks, carries)?;
        let shard = communicator.shard(part.len())?.on(gpu);
        let mut output = gpu.allocate::<f32>(part.len())?;
        let mut work = || match by {
            By::Nothing => call.alone(gpu, part, &mut output),
            _ => call.shared(&shard, part, &mut output),
        };
        for _ in 0..3 {
            work()?;
        }
        let spread = time_together(gate, repeats, || work().map(drop))?;
        let outcome = work()?;
        let found = outcome.checksum(gpu, &output, shard.range().start)?;
        Ok((spread, found, matches!(outcome, Outcome::Same(_))))
    })?;
    let (spread, first, is_same) = of_ranks[0];
    let mut found = of_ranks.iter().map(|&(_, found, _)| found);
    let found = match is_same {
        false => found.fold(0, u64::wrapping_add),
        true if found.all(|found| found == first) => first,
        true => u64::MAX,
    };
    Ok((spread, found))
}

/// The times of an exchange alone, and whether all ranks got the packets of all.
fn time_exchange(by: By, gpus: &[Device], bytes: usize) -> Result<(Spread, bool)> {
    let of_ranks = on_ranks(by, gpus, |rank, mut exchange, gate| {
        let mine = vec![rank as u8 + 1; bytes];
        let mut all = vec![0; bytes * gpus.len()];
        let mut work = |all: &mut [u8]| {
            let done = exchange.all_gather(&mine, all);
            done.map_err(|error| Error::Exchange {
                call: 0,
                operation: "an exchange alone".to_owned(),
                rank,
                cause: error.to_string(),
            })
        };
        for _ in 0..3 {
            work(&mut all)?;
        }
        let spread = time_together(gate, 2001, || work(&mut all))?;
        all.fill(0);
        work(&mut all)?;
        let mut packets = (1..).zip(all.chunks(bytes));
        let is_right = packets.all(|(rank, packet)| packet.iter().all(|&byte| byte == rank));
        Ok((spread, is_right))
    })?;
    let is_right = of_ranks.iter().all(|&(_, is_right)| is_right);
    Ok((of_ranks[0].0, is_right))
}

pub(crate) fn run(bench: &mut Bench) {
    let parts = [
        "shards large",
        "shards exchange",
        "shards added",
        "shards buses",
    ];
    if !parts.iter().any(|part| bench.wants(part)) {
        return;
    }
    if let Err(error) = measure(bench) {
        bench.run.wrong.push(format!("shards: {error}"));
    }
}

/// Where an array of `length` elements is cut: at even shares, and at odd places near them.
fn cuts(length: usize, ranks: usize) -> [(&'static str, Vec<usize>); 2] {
    let at = |odd: usize| -> Vec<usize> {
        (0..=ranks)
            .map(|rank| match rank {
                0 => 0,
                _ if rank == ranks => length,
                _ => length / ranks * rank - odd * rank,
            })
            .collect()
    };
    [("even", at(0)), ("odd", at(123))]
}

fn upload(gpus: &[Device], data: &[f32], cut: &[usize]) -> Result<Vec<Buffer<f32>>> {
    let parts = cut.windows(2).map(|ends| &data[ends[0]..ends[1]]);
    gpus.iter()
        .zip(parts)
        .map(|(gpu, x)| gpu.upload(x))
        .collect()
}

fn measure(bench: &mut Bench) -> Result<()> {
    let gpus: Vec<_> = (0..).map_while(|at| Device::cuda(at).ok()).collect();
    let Some(first) = gpus.first() else {
        return Device::cuda(0).map(drop);
    };
    let of_ranks: Vec<Vec<Device>> = match gpus.len() {
        1 => {
            let why = "shards: there is one GPU, so both ranks have it";
            bench.run.missing.push(why.to_owned());
            vec![vec![first.clone(); 2]]
        }
        count => (1..)
            .map(|power| 1 << power)
            .take_while(|&ranks| ranks <= count)
            .map(|ranks| gpus[..ranks].to_vec())
            .collect(),
    };
    println!("\nshards: {} GPUs, µs by the host's clock", gpus.len());
    for link in warpfold::cuda::links()? {
        println!("cuda:{} reaches cuda:{}: {link}", link.from, link.to);
    }
    let mut exchanges = vec![By::Threads, By::Peers];
    match Nccl::version() {
        // NCCL takes no GPU twice.
        Ok(_) if gpus.len() > 1 => exchanges.push(By::Nccl),
        Ok(_) => bench.run.missing.push("NCCL: it needs two GPUs".to_owned()),
        Err(error) => bench.run.missing.push(format!("NCCL: {error}")),
    }
    if bench.wants("shards large") {
        large(bench, &of_ranks, &exchanges)?;
    }
    for gpus in &of_ranks {
        if bench.wants("shards exchange") {
            exchange_alone(bench, gpus, &exchanges)?;
        }
        if bench.wants("shards added") {
            added(bench, gpus, &exchanges)?;
        }
    }
    if bench.wants("shards buses") {
        host_data(bench, &of_ranks)?;
    }
    Ok(())
}

fn numbers(length: usize) -> Vec<f32> {
    let numbers = (0..length as u64).into_par_iter();
    numbers
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / (1 << 24) as f32)
        .collect()
}

/// Long arrays over 2, 4, 8 … GPUs, beside one GPU. One GPU does each rank's share, too: what it
/// takes is what the paper expects.
fn large(bench: &mut Bench, of_ranks: &[Vec<Device>], exchanges: &[By]) -> Result<()> {
    let smaller = if bench.run.quick { 16 } else { 1 };
    let lengths_of = |ranks: usize| {
        let mut lengths = [ALL[0], ALL[1], EACH * ranks].map(|length| length / smaller);
        lengths.sort();
        let mut lengths = lengths.to_vec();
        lengths.dedup();
        lengths
    };
    let whole = of_ranks.iter().flat_map(|gpus| lengths_of(gpus.len()));
    let shares = (of_ranks.iter()).flat_map(|gpus| {
        let shares = lengths_of(gpus.len()).into_iter();
        shares.map(|length| length / gpus.len())
    });
    let mut lengths: Vec<usize> = whole.chain(shares).collect();
    lengths.sort();
    lengths.dedup();
    let data = numbers(*lengths.last().expect("two ranks or more"));
    let mut alone = Vec::new();
    for &length in &lengths {
        let x = of_ranks[0][0].upload(&data[..length])?;
        for (name, call) in CALLS {
            let (us, found) = time_alone(call, &of_ranks[0][0], &x, 15)?;
            bench.row(name, "one GPU", "", (1, length), us, None);
            alone.push(((name, length), us.median, found));
        }
    }
    for gpus in of_ranks {
        for length in lengths_of(gpus.len()) {
            for (cut, at) in cuts(length, gpus.len()) {
                let parts = upload(gpus, &data[..length], &at)?;
                for (name, call) in CALLS {
                    let one = alone.iter().find(|(what, ..)| *what == (name, length));
                    let &(_, one, expected) = one.expect("each length was measured");
                    for &by in [By::Nothing].iter().chain(exchanges) {
                        let (us, found) = time(by, call, gpus, &parts, 15)?;
                        let ranks = gpus.len();
                        if found != expected && by != By::Nothing {
                            let what = format!("{name} of {length} over {ranks}, {cut}");
                            let by = by.name();
                            bench.run.wrong.push(format!("shards: {what}, by {by}"));
                        }
                        let ratio = Some(one / us.median);
                        bench.row(name, by.name(), cut, (ranks, length), us, ratio);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Packets that are exchanged alone.
fn exchange_alone(bench: &mut Bench, gpus: &[Device], exchanges: &[By]) -> Result<()> {
    for bytes in PACKETS {
        for &by in exchanges {
            let (us, is_right) = time_exchange(by, gpus, bytes)?;
            if !is_right {
                let by = by.name();
                bench
                    .run
                    .wrong
                    .push(format!("shards: {bytes} bytes by {by}"));
            }
            let shape = (gpus.len(), bytes);
            bench.row("exchange of bytes", by.name(), "", shape, us, None);
        }
    }
    Ok(())
}

/// What the exchange adds to short reductions, beside ranks that exchange nothing.
fn added(bench: &mut Bench, gpus: &[Device], exchanges: &[By]) -> Result<()> {
    let ranks = gpus.len();
    let data = numbers(ranks * SMALL);
    for (cut, at) in cuts(data.len(), ranks) {
        let parts = upload(gpus, &data, &at)?;
        let one = time_alone(Call::Reduce, &gpus[0], &parts[0], 2001)?.0;
        bench.row("reduce", "one rank", cut, (1, parts[0].len()), one, None);
        for &by in [By::Nothing].iter().chain(exchanges) {
            let us = time(by, Call::Reduce, gpus, &parts, 2001)?.0;
            bench.row("reduce", by.name(), cut, (ranks, data.len()), us, None);
        }
    }
    Ok(())
}

/// The times of a call on one device, and the checksum of what it leaves.
fn time_alone(
    call: Call,
    device: &Device,
    x: &Buffer<f32>,
    repeats: usize,
) -> Result<(Spread, u64)> {
    let one = std::slice::from_ref(device);
    time(By::Nothing, call, one, std::slice::from_ref(x), repeats)
}

/// The sum of pinned memory, over one bus and over several.
fn host_data(bench: &mut Bench, of_ranks: &[Vec<Device>]) -> Result<()> {
    let length = if bench.run.quick { 1 << 28 } else { 1 << 32 };
    // SAFETY: it is written before it is read.
    let mut pinned =
        unsafe { bench.context.alloc_pinned_with_flags::<f32>(length, 1) }.expect("pinned memory");
    let data = pinned.as_mut_slice().expect("pinned memory");
    data.par_iter_mut()
        .enumerate()
        .for_each(|(i, x)| *x = (i % 1000) as f32 * 0.1);
    let data = &*data;
    let time = |work: &dyn Fn() -> Result<f32>| -> Result<(Spread, u32)> {
        let found = work()?.to_bits();
        let spread = repeat(5, || {
            let started = Instant::now();
            work().expect("it worked before");
            started.elapsed().as_secs_f64() * 1e6
        });
        Ok((spread, found))
    };
    let one = || Nodes::<f32, Add>::of_slice(&of_ranks[0][0], 0, data)?.value(length as u64);
    let (one, expected) = time(&one)?;
    bench.row("sum of pinned memory", "buses", "", (1, length), one, None);
    for gpus in of_ranks {
        let group = Group::new(gpus.clone())?;
        let (us, found) = time(&|| group.reduce_slice::<f32, Add>(data))?;
        if found != expected {
            let ranks = gpus.len();
            let what = format!("shards: the sum of pinned memory over {ranks} buses");
            bench.run.wrong.push(what);
        }
        let (shape, ratio) = ((gpus.len(), length), Some(one.median / us.median));
        bench.row("sum of pinned memory", "buses", "even", shape, us, ratio);
    }
    Ok(())
}

impl Bench {
    /// Prints and keeps a row of `ranks` GPUs and `length` elements of all of them.
    fn row(
        &mut self,
        call: &str,
        exchange: &str,
        cut: &str,
        (ranks, length): (usize, usize),
        us: Spread,
        beside_one: Option<f64>,
    ) {
        let ratio = beside_one.map_or(String::new(), |ratio| format!("{ratio:.2} ×"));
        println!(
            "{call:<20} {exchange:<12} {cut:<5} {ranks} {length:>11} {:>12.1} {ratio}",
            us.median
        );
        self.run.shards.push(Sharded {
            call: call.to_owned(),
            exchange: exchange.to_owned(),
            cut: cut.to_owned(),
            gpus: ranks,
            length,
            us,
            beside_one,
        });
    }
}
