//! One array over two GPUs, by every exchange, beside one GPU in the same run. Times are by the
//! host's clock, from the moment when all ranks begin until all have their result.

use crate::bench::Bench;
use crate::measure::repeat;
use crate::record::{Sharded, Spread};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use warpfold::ops::Add;
use warpfold::shards::{Communicator, Group, Nccl, NcclId, Nodes, Peers, Shard, Threads};
use warpfold::{Bins, Buffer, Device, Prefixes, Result, function};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Elements of the large arrays: 2^30.
const LARGE: usize = 1 << 30;
/// Elements of each rank where the exchange is what takes the time.
const SMALL: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq)]
enum Exchange {
    /// Each rank has its own result alone. The others are beside this one: what the exchange adds.
    Nothing,
    Threads,
    Peers,
    Nccl,
}

impl Exchange {
    fn name(self) -> &'static str {
        match self {
            Exchange::Nothing => "no exchange",
            Exchange::Threads => "threads",
            Exchange::Peers => "peer memory",
            Exchange::Nccl => "NCCL",
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

impl Call {
    /// The call on one device, until it is done, and a digest of its result.
    fn alone(self, device: &Device, x: &Buffer<f32>, output: &mut Buffer<f32>) -> Result<u64> {
        match self {
            Call::Reduce => Ok(device.reduce::<f32, Add>(x)?.to_bits().into()),
            Call::Scan => {
                device.scan_into::<f32, Add>(Prefixes::inclusive(), x, output)?;
                last(output)
            }
            Call::Select => Ok(device.select::<f32, is_small>(x)?.len() as u64),
            Call::Histogram => Ok(digest(device.histogram::<u64, f32>(x, &bins())?.to_vec()?)),
        }
    }

    /// The call over shards. Of a scan the last rank has the digest.
    fn shared(
        self,
        shard: &Shard<'_, Device>,
        x: &Buffer<f32>,
        output: &mut Buffer<f32>,
    ) -> Result<u64> {
        match self {
            Call::Reduce => Ok(shard.reduce::<f32, Add>(x)?.to_bits().into()),
            Call::Scan => {
                shard.scan_into::<f32, Add>(Prefixes::inclusive(), x, output)?;
                last(output)
            }
            Call::Select => Ok(shard.select::<f32, is_small>(x)?.total),
            Call::Histogram => Ok(digest(shard.histogram::<u64, f32>(x, &bins())?.to_vec()?)),
        }
    }
}

/// The bits of the last element.
fn last(output: &Buffer<f32>) -> Result<u64> {
    let end = output.len();
    let last = output.slice(end.saturating_sub(1)..).to_vec()?;
    Ok(last.first().map_or(0, |last| last.to_bits().into()))
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

/// The times of a call over shards in µs, and the digest that the last rank has.
fn time(
    exchange: Exchange,
    call: Call,
    gpus: &[Device],
    parts: &[Buffer<f32>],
    repeats: usize,
) -> Result<(Spread, u64)> {
    let ranks = gpus.len();
    let mut peers = match exchange {
        Exchange::Peers => Peers::group(gpus, TIMEOUT)?.into_iter(),
        _ => Vec::new().into_iter(),
    };
    let id = match exchange {
        Exchange::Nccl => Some(NcclId::new()?),
        _ => None,
    };
    let gate = &Gate {
        ranks,
        arrived: AtomicUsize::new(0),
        open: AtomicBool::new(false),
    };
    let of_ranks = std::thread::scope(|scope| {
        let threads = Threads::group(ranks, TIMEOUT)
            .into_iter()
            .zip(gpus.iter().zip(parts));
        let threads: Vec<_> = threads
            .enumerate()
            .map(|(rank, (threads, (gpu, part)))| {
                let peers = peers.next();
                scope.spawn(move || {
                    let _opens = Opens(gate);
                    let communicator = match (peers, id) {
                        (Some(peers), _) => Communicator::new(rank, ranks, peers)?,
                        (None, Some(id)) => {
                            let nccl = Nccl::new(gpu, rank, ranks, id, TIMEOUT)?;
                            Communicator::new(rank, ranks, nccl)?
                        }
                        (None, None) => Communicator::new(rank, ranks, threads)?,
                    };
                    let shard = communicator.shard(part.len())?.on(gpu);
                    let mut output = gpu.allocate::<f32>(part.len())?;
                    let mut work = || match exchange {
                        Exchange::Nothing => call.alone(gpu, part, &mut output),
                        _ => call.shared(&shard, part, &mut output),
                    };
                    let mut found = 0;
                    for _ in 0..3 {
                        found = work()?;
                    }
                    let mut failed = None;
                    let spread = repeat(repeats, || {
                        gate.wait();
                        let started = Instant::now();
                        match work() {
                            Ok(now) if now == found => {}
                            Ok(_) => found = u64::MAX,
                            Err(error) => failed = Some(error),
                        }
                        gate.wait();
                        started.elapsed().as_secs_f64() * 1e6
                    });
                    failed.map_or(Ok((spread, found)), Err)
                })
            })
            .collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        results.collect::<Result<Vec<_>>>()
    })?;
    Ok((of_ranks[0].0, of_ranks[ranks - 1].1))
}

pub(crate) fn run(bench: &mut Bench) {
    let parts = ["shards large", "shards added", "shards buses"];
    if !parts.iter().any(|part| bench.wants(part)) {
        return;
    }
    if let Err(error) = measure(bench) {
        bench.run.wrong.push(format!("shards: {error}"));
    }
}

fn measure(bench: &mut Bench) -> Result<()> {
    let first = Device::cuda(0)?;
    let (gpus, distinct) = match Device::cuda(1) {
        Ok(second) => ([first.clone(), second], 2),
        Err(_) => {
            let why = "shards: there is one GPU, so both ranks have it";
            bench.run.missing.push(why.to_owned());
            ([first.clone(), first.clone()], 1)
        }
    };
    println!("\nshards: 2 ranks on {distinct} GPUs, µs by the host's clock");
    for link in warpfold::cuda::links()? {
        println!("cuda:{} reaches cuda:{}: {link}", link.from, link.to);
    }
    let mut exchanges = vec![Exchange::Threads, Exchange::Peers];
    match Nccl::version() {
        // NCCL takes no GPU twice.
        Ok(_) if distinct == 2 => exchanges.push(Exchange::Nccl),
        Ok(_) => bench.run.missing.push("NCCL: it needs two GPUs".to_owned()),
        Err(error) => bench.run.missing.push(format!("NCCL: {error}")),
    }
    if bench.wants("shards large") {
        large(bench, &gpus, &exchanges)?;
    }
    if bench.wants("shards added") {
        added(bench, &gpus, &exchanges)?;
    }
    if bench.wants("shards buses") {
        host_data(bench, &gpus)?;
    }
    Ok(())
}

fn numbers(length: usize) -> Vec<f32> {
    let numbers = (0..length as u64).into_par_iter();
    numbers
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / (1 << 24) as f32)
        .collect()
}

/// Long arrays, beside one GPU.
fn large(bench: &mut Bench, gpus: &[Device; 2], exchanges: &[Exchange]) -> Result<()> {
    let length = if bench.run.quick { LARGE / 16 } else { LARGE };
    let data = numbers(length);
    for (name, call) in CALLS {
        let (one, expected) = alone(call, &gpus[0], &data)?;
        row(bench, name, "one GPU", "", length, one, None);
        let other = alone(call, &gpus[1], &data)?.0;
        let ratio = Some(one.median / other.median);
        row(bench, name, "the other GPU", "", length, other, ratio);
        for (cut, at) in [("even", length / 2), ("odd", length / 2 - 12_345)] {
            let parts = [gpus[0].upload(&data[..at])?, gpus[1].upload(&data[at..])?];
            for &exchange in [Exchange::Nothing].iter().chain(exchanges) {
                let (us, found) = time(exchange, call, gpus, &parts, 15)?;
                if found != expected && exchange != Exchange::Nothing {
                    let exchange = exchange.name();
                    bench
                        .run
                        .wrong
                        .push(format!("shards: {name} by {exchange}, {cut}"));
                }
                let ratio = Some(one.median / us.median);
                row(bench, name, exchange.name(), cut, length, us, ratio);
            }
        }
    }
    Ok(())
}

/// What the exchange adds to short reductions, beside ranks that exchange nothing.
fn added(bench: &mut Bench, gpus: &[Device; 2], exchanges: &[Exchange]) -> Result<()> {
    let data = numbers(2 * SMALL);
    for (cut, at) in [("even", SMALL), ("odd", SMALL - 123)] {
        let parts = [gpus[0].upload(&data[..at])?, gpus[1].upload(&data[at..])?];
        let one = time(
            Exchange::Nothing,
            Call::Reduce,
            &gpus[..1],
            &parts[..1],
            2001,
        )?
        .0;
        row(bench, "reduce", "one GPU", cut, at, one, None);
        let mut without = 0.0;
        for &exchange in [Exchange::Nothing].iter().chain(exchanges) {
            let us = time(exchange, Call::Reduce, gpus, &parts, 2001)?.0;
            row(bench, "reduce", exchange.name(), cut, data.len(), us, None);
            match exchange {
                Exchange::Nothing => without = us.median,
                _ => println!("{:<12} adds {:.1} µs", exchange.name(), us.median - without),
            }
        }
    }
    Ok(())
}

fn alone(call: Call, device: &Device, data: &[f32]) -> Result<(Spread, u64)> {
    let x = device.upload(data)?;
    let mut output = device.allocate::<f32>(data.len())?;
    let mut found = 0;
    for _ in 0..3 {
        found = call.alone(device, &x, &mut output)?;
    }
    let mut failed = None;
    let spread = repeat(15, || {
        let started = Instant::now();
        failed = failed.take().or(call.alone(device, &x, &mut output).err());
        started.elapsed().as_secs_f64() * 1e6
    });
    failed.map_or(Ok((spread, found)), Err)
}

/// The sum of pinned memory, over one bus and over both.
fn host_data(bench: &mut Bench, gpus: &[Device; 2]) -> Result<()> {
    let length = if bench.run.quick { 1 << 28 } else { 1 << 32 };
    // SAFETY: it is written before it is read.
    let mut pinned =
        unsafe { bench.context.alloc_pinned_with_flags::<f32>(length, 1) }.expect("pinned memory");
    let data = pinned.as_mut_slice().expect("pinned memory");
    data.par_iter_mut()
        .enumerate()
        .for_each(|(i, x)| *x = (i % 1000) as f32 * 0.1);
    let data = &*data;
    let group = Group::new(gpus.to_vec())?;
    let one = || Nodes::<f32, Add>::of_slice(&gpus[0], 0, data)?.value(length as u64);
    let both = || group.reduce_slice::<f32, Add>(data);
    if one()?.to_bits() != both()?.to_bits() {
        bench
            .run
            .wrong
            .push("shards: the sum of pinned memory".to_owned());
    }
    let time = |work: &dyn Fn() -> Result<f32>| {
        repeat(5, || {
            let started = Instant::now();
            work().expect("it worked before");
            started.elapsed().as_secs_f64() * 1e6
        })
    };
    let (one, both) = (time(&one), time(&both));
    row(
        bench,
        "sum of pinned memory",
        "one bus",
        "",
        length,
        one,
        None,
    );
    let ratio = Some(one.median / both.median);
    row(
        bench,
        "sum of pinned memory",
        "both buses",
        "even",
        length,
        both,
        ratio,
    );
    Ok(())
}

fn row(
    bench: &mut Bench,
    call: &str,
    exchange: &str,
    cut: &str,
    length: usize,
    us: Spread,
    beside_one: Option<f64>,
) {
    let ratio = beside_one.map_or(String::new(), |ratio| format!("{ratio:.2} ×"));
    println!(
        "{call:<20} {exchange:<12} {cut:<5} {length:>11} {:>12.1} {ratio}",
        us.median
    );
    bench.run.shards.push(Sharded {
        call: call.to_owned(),
        exchange: exchange.to_owned(),
        cut: cut.to_owned(),
        length,
        us,
        beside_one,
    });
}
