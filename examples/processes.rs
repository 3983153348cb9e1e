//! One array over several processes, which exchange packets through sockets.
//!
//! Each process holds a shard of the array. What it computes of it, some nodes of the tree over the
//! whole array, goes to all others (an all-gather), and each folds them in the tree's order. So all
//! have the sum of one process over everything, bit for bit, however many they are.
//!
//! `cargo run --release --example processes -- 4` starts four processes on this machine. Where the
//! environment has a rank it is one of them: `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `PORT`, or the
//! first two as Open MPI's `mpirun` names them.

use std::env;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use warpfold::Prefixes;
use warpfold::ops::Add;
use warpfold::shards::Communicator;

/// The elements of the whole array.
const LENGTH: u64 = 1_000_003;

/// How long a rank waits for the others.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Element `i` of the array.
fn element(i: u64) -> f32 {
    (i as f32).sqrt()
}

// --- An exchange over sockets ---

/// Rank 0 collects the packets, and gives all of them to everybody.
fn all_gather(peers: &mut [TcpStream], rank: usize, mine: &[u8], all: &mut [u8]) -> io::Result<()> {
    if rank > 0 {
        peers[0].write_all(mine)?;
        return peers[0].read_exact(all);
    }
    all[..mine.len()].copy_from_slice(mine);
    for (peer, packet) in peers
        .iter_mut()
        .zip(all[mine.len()..].chunks_mut(mine.len()))
    {
        peer.read_exact(packet)?;
    }
    peers.iter_mut().try_for_each(|peer| peer.write_all(all))
}

/// The sockets of a rank: to rank 0, or from there to all others in their order.
fn connect(rank: usize, ranks: usize, address: &str) -> io::Result<Vec<TcpStream>> {
    let mut peers = if rank == 0 {
        accept(&TcpListener::bind(address)?, ranks)?
    } else {
        let mut peer = dial(address)?;
        peer.write_all(&(rank as u64).to_le_bytes())?;
        vec![peer]
    };
    for peer in &mut peers {
        peer.set_nodelay(true)?;
        peer.set_read_timeout(Some(TIMEOUT))?;
        peer.set_write_timeout(Some(TIMEOUT))?;
    }
    Ok(peers)
}

fn accept(listener: &TcpListener, ranks: usize) -> io::Result<Vec<TcpStream>> {
    let mut peers: Vec<Option<TcpStream>> = (0..ranks).map(|_| None).collect();
    listener.set_nonblocking(true)?;
    for _ in 1..ranks {
        let (mut peer, _) = in_time(|| listener.accept())?;
        peer.set_nonblocking(false)?;
        peer.set_read_timeout(Some(TIMEOUT))?;
        let mut rank = [0; 8];
        peer.read_exact(&mut rank)?;
        let place = peers.get_mut(u64::from_le_bytes(rank) as usize);
        *place.ok_or_else(|| io::Error::other("a rank that is not there"))? = Some(peer);
    }
    let others = peers.into_iter().skip(1);
    let all = others.map(|peer| peer.ok_or_else(|| io::Error::other("a rank came twice")));
    all.collect()
}

fn dial(address: &str) -> io::Result<TcpStream> {
    in_time(|| TcpStream::connect(address))
}

/// Tries until the time is over.
fn in_time<R>(mut attempt: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match attempt() {
            Err(_) if Instant::now() < deadline => sleep(Duration::from_millis(10)),
            result => return result,
        }
    }
}

// --- A rank ---

/// What a rank prints: the sum of everything, and the last prefix of its shard.
fn work(rank: usize, ranks: usize, address: &str) -> Result<String, Box<dyn Error>> {
    let mut peers = connect(rank, ranks, address)?;
    let exchange = move |mine: &[u8], all: &mut [u8]| all_gather(&mut peers, rank, mine, all);
    let communicator = Communicator::new(rank, ranks, exchange)?;
    let shard = communicator.even_shard(LENGTH)?;
    let range = shard.range();
    let part: Vec<f32> = range.clone().map(element).collect();
    let sum = shard.reduce::<f32, Add>(&part)?;
    if env::var("DIES").is_ok_and(|dies| dies == rank.to_string()) {
        return Err("this rank was told to die".into());
    }
    let prefixes = shard.scan::<f32, Add>(Prefixes::inclusive(), &part)?;
    let last = prefixes.last().map_or(0, |last| last.to_bits());
    Ok(format!(
        "sum {:08x}, up to {} {last:08x}",
        sum.to_bits(),
        range.end
    ))
}

/// This process's rank and the number of ranks, if it is one of several.
fn rank() -> Option<(usize, usize)> {
    let number = |names: [&str; 2]| {
        let text = names.iter().find_map(|name| env::var(name).ok())?;
        text.parse().ok()
    };
    let rank = number(["RANK", "OMPI_COMM_WORLD_RANK"])?;
    Some((rank, number(["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"])?))
}

fn address() -> String {
    let variable = |name: &str, usual: &str| env::var(name).unwrap_or_else(|_| usual.to_owned());
    format!(
        "{}:{}",
        variable("MASTER_ADDR", "127.0.0.1"),
        variable("PORT", "29876")
    )
}

// --- All ranks on one machine ---

/// Starts a process for each rank.
fn start(
    ranks: usize,
    port: u16,
    arguments: &[&str],
    dies: Option<usize>,
) -> io::Result<Vec<Child>> {
    let start = |rank: usize| {
        let mut command = Command::new(env::current_exe()?);
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.env("RANK", rank.to_string());
        command.env("WORLD_SIZE", ranks.to_string());
        command.env("MASTER_ADDR", "127.0.0.1");
        command.env("PORT", port.to_string());
        command.envs(dies.map(|rank| ("DIES", rank.to_string())));
        command.spawn()
    };
    (0..ranks).map(start).collect()
}

/// A port that is free now.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// What one process finds, of all of these ranks.
fn alone(ranks: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let data: Vec<f32> = (0..LENGTH).map(element).collect();
    let sum = warpfold::reduce::<f32, Add>(&data)?.to_bits();
    let prefixes = warpfold::inclusive_scan::<f32, Add>(&data)?;
    let of_rank = |rank: usize| {
        let end = LENGTH as usize * (rank + 1) / ranks;
        let last = prefixes[end - 1].to_bits();
        format!("sum {sum:08x}, up to {end} {last:08x}")
    };
    Ok((0..ranks).map(of_rank).collect())
}

fn main() -> ExitCode {
    let done = match rank() {
        Some((rank, ranks)) => work(rank, ranks, &address()).map(|found| println!("{found}")),
        None => compare(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts all ranks, and compares what they find with what one process finds.
fn compare() -> Result<(), Box<dyn Error>> {
    let ranks = env::args().nth(1).map_or(Ok(4), |ranks| ranks.parse())?;
    let children = start(ranks, free_port()?, &[], None)?;
    for (rank, (child, alone)) in children.into_iter().zip(alone(ranks)?).enumerate() {
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        println!("rank {rank}: {}", text.trim());
        if text.trim() != alone {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("one process alone: {alone}\n{errors}").into());
        }
    }
    println!("one process alone has the same bits");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of the other tests.
    #[test]
    fn a_rank() -> Result<(), String> {
        if let Some((rank, ranks)) = rank() {
            let found = work(rank, ranks, &address());
            println!("<{}>", found.map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    const AS_A_RANK: [&str; 4] = [
        "--exact",
        "tests::a_rank",
        "--nocapture",
        "--test-threads=1",
    ];

    #[test]
    fn processes_have_the_bits_of_one() -> Result<(), Box<dyn Error>> {
        for ranks in [1, 2, 5] {
            let children = start(ranks, free_port()?, &AS_A_RANK, None)?;
            for (child, alone) in children.into_iter().zip(alone(ranks)?) {
                let output = child.wait_with_output()?;
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(text.contains(&format!("<{alone}>")), "{text}");
            }
        }
        Ok(())
    }

    #[test]
    fn the_page_on_scaling_out_shows_what_is_printed() -> Result<(), Box<dyn Error>> {
        let page = include_str!("../docs/scaling-out.md");
        for (rank, alone) in alone(2)?.into_iter().enumerate() {
            assert!(
                page.contains(&format!("\nrank {rank}: {alone}\n")),
                "{alone}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_process_that_dies_is_an_error_of_the_others() -> Result<(), Box<dyn Error>> {
        for dies in [0, 2] {
            let started = Instant::now();
            let children = start(3, free_port()?, &AS_A_RANK, Some(dies))?;
            for (rank, child) in children.into_iter().enumerate() {
                let output = child.wait_with_output()?;
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text);
                let says = match rank == dies {
                    true => "this rank was told to die",
                    false => "the exchange failed in call 2 (scan of f32 with Add)",
                };
                assert!(!output.status.success() && text.contains(says), "{text}");
            }
            assert!(started.elapsed() < 3 * TIMEOUT);
        }
        Ok(())
    }
}
