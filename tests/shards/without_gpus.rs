//! The exchanges between GPUs, over libraries that stand in for NVIDIA's: their order, their
//! errors, and how libraries are found. Each test is a process of its own, since a process loads a
//! library once.

use super::exchange::gather_packets;
use super::gpus::{Input, Kind, check, cuts, on_gpus};
use crate::support::matrix::in_turn;
use crate::support::{skip, stand_in};
use std::ffi::{c_int, c_void};
use std::process::Command;
use std::time::{Duration, Instant};
use warpfold::ops::Add;
use warpfold::shards::{Communicator, Exchange, Nccl, NcclId, Peers};
use warpfold::{Device, Error, Result};

/// Says which of the cases below a process is for.
const CASE: &str = "WARPFOLD_STAND_IN";

/// Runs a case in a process with the stand-ins and these variables.
#[track_caller]
fn run(case: &str, variables: &[(&str, &str)]) {
    let folder = match stand_in::folder() {
        Ok(folder) => folder,
        Err(why) => return skip("emulator", why),
    };
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "shards::without_gpus::a_case", "--nocapture"])
        .env_remove("WARPFOLD_REQUIRE")
        .env_remove("WARPFOLD_NCCL")
        .env("LD_LIBRARY_PATH", folder)
        .env(CASE, case)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let passed = output.status.success() && text.contains("the case is done");
    assert!(passed, "{case} {variables:?}: {text}");
}

/// A process of the other tests.
#[test]
fn a_case() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    match case.as_str() {
        "bits" => bits(),
        "long packets" => long_packets(),
        "lengths" => packets_of_any_length(),
        "peers" => faults_of_ranks(Kind::Peers),
        "nccl" => faults_of_ranks(Kind::Nccl),
        "arguments" => arguments(),
        "copies" => copies_that_fail(),
        "the caller's" => the_callers(),
        "init" => nccl_says("making a communicator of all ranks: unhandled system error"),
        "gather" => nccl_says("gathering packets: unhandled system error"),
        "later" => nccl_says("gathering packets: remote process exited"),
        "version" => assert_eq!(Nccl::version().unwrap(), (2, 28, 7)),
        "library" => no_library(&std::env::var("EXPECTED").unwrap()),
        "links" => links(&std::env::var("EXPECTED").unwrap()),
        case => panic!("there is no case {case}"),
    }
    println!("the case is done");
}

fn stand_ins(count: usize) -> Vec<Device> {
    let gpus = (0..count).map(|rank| Device::cuda(rank).unwrap());
    gpus.collect()
}

/// The parts lie on CPUs, and what is exchanged goes through the GPUs.
fn bits() {
    for ranks in [1, 2, 3, 5] {
        let (gpus, cpus) = (stand_ins(ranks), vec![Device::cpu(); ranks]);
        for kind in [Kind::Peers, Kind::Nccl] {
            for len in [0, 1, 5003] {
                let input = Input::new(len);
                for bounds in cuts(len, ranks) {
                    check(kind, &gpus, &cpus, &input, &bounds);
                }
            }
        }
    }
}

/// A MiB of each rank goes through the GPUs in pieces.
fn long_packets() {
    let data: Vec<u64> = (0..400_003).map(|i| i * i).collect();
    for kind in [Kind::Peers, Kind::Nccl] {
        let results = on_gpus(kind, &stand_ins(3), super::LONG, |communicator| {
            let part =
                [0..300_000, 300_000..300_001, 300_001..400_003][communicator.rank()].clone();
            let shard = communicator.shard(part.len())?;
            shard.rebalance(&data[part]).map(|even| even.items)
        });
        let parts: Vec<Vec<u64>> = results.into_iter().map(Result::unwrap).collect();
        assert!(parts.concat() == data, "{kind:?}");
        assert!(
            parts.iter().all(|part| part.len() / 10 == 13_333),
            "{kind:?}"
        );
    }
}

/// Short packets of `Peers` stay in host memory, and longer ones go through the GPUs, in pieces.
/// One rank after another is late.
fn packets_of_any_length() {
    let kib = 1 << 10;
    let lens = [
        8 * kib,
        64 * kib,
        64 * kib + 1,
        8,
        256 * kib,
        256 * kib + 1,
        600 * kib,
        100 * kib,
    ];
    let lens = &lens.repeat(3);
    for ranks in [1, 2, 3] {
        let gpus = stand_ins(ranks);
        let peers = Peers::group(&gpus, super::LONG).unwrap();
        let id = NcclId::new().unwrap();
        std::thread::scope(|scope| {
            for ((rank, mut peers), gpu) in peers.into_iter().enumerate().zip(&gpus) {
                scope.spawn(move || {
                    gather_packets(&mut peers, (rank, ranks), lens);
                    let mut nccl = Nccl::new(gpu, rank, ranks, id, super::LONG).unwrap();
                    gather_packets(&mut nccl, (rank, ranks), lens);
                });
            }
        });
    }
}

#[test]
fn packets_go_through_gpus() {
    let unlinked = ("STAND_IN_LINK", "none");
    for (subject, gpus) in in_turn("packets", &[("lengths", "3"), ("bits", "5")]) {
        let gpus = ("STAND_IN_GPUS", *gpus);
        run(subject, &[gpus]);
        run(subject, &[gpus, unlinked]);
    }
    run("long packets", &[("STAND_IN_GPUS", "3")]);
}

/// Sums with as many calls as each rank makes.
fn sums(kind: Kind, timeout: Duration, calls: impl Fn(usize) -> usize + Sync) -> Vec<Result<u32>> {
    on_gpus(kind, &stand_ins(3), timeout, |communicator| {
        let shard = communicator.shard_with(&[1; 3])?;
        let mut sum = 0;
        for _ in 0..calls(communicator.rank()) {
            sum = shard.reduce::<u32, Add>(&[1])?;
        }
        if calls(communicator.rank()) < 5 {
            std::thread::sleep(Duration::from_millis(if timeout > SHORT {
                0
            } else {
                3000
            }));
        }
        Ok(sum)
    })
}

const SHORT: Duration = Duration::from_millis(500);

fn faults_of_ranks(kind: Kind) {
    // A rank makes fewer calls, and stays.
    let results = sums(kind, SHORT, |rank| if rank == 1 { 2 } else { 5 });
    assert!(results[1].is_ok());
    for rank in [0, 2] {
        let error = results[rank].clone().unwrap_err();
        let says = [
            "rank 1 gave nothing within 500ms",
            "not all ranks gave a packet within 500ms",
        ];
        let text = error.to_string();
        assert!(says.iter().any(|says| text.contains(says)), "{text}");
        assert!(
            text.contains("in call 3 (reduce of u32 with Add)"),
            "{text}"
        );
    }
    if kind == Kind::Peers {
        // A rank is gone.
        let started = Instant::now();
        let results = sums(kind, super::LONG, |rank| if rank == 1 { 2 } else { 5 });
        for rank in [0, 2] {
            let text = results[rank].clone().unwrap_err().to_string();
            assert!(text.contains("rank 1 is gone"), "{text}");
        }
        assert!(started.elapsed() < super::LONG / 2);
    }
}

#[test]
fn faults_of_ranks_are_errors_in_time() {
    run("peers", &[("STAND_IN_GPUS", "3")]);
    run("nccl", &[("STAND_IN_GPUS", "3")]);
}

/// All ranks' text of what goes wrong when they exchange packets of these lengths.
fn exchanged(lens: [usize; 2], room: usize) -> Vec<String> {
    let peers = Peers::group(&stand_ins(2), SHORT).unwrap();
    std::thread::scope(|scope| {
        let ranks = peers.into_iter().zip(lens);
        let ranks: Vec<_> = ranks
            .map(|(mut peers, len)| {
                scope.spawn(move || {
                    let mut all = vec![0; room * len];
                    let result = peers.all_gather(&vec![7; len], &mut all);
                    result.map_or_else(|error| error.to_string(), |()| format!("{:?}", &all[..4]))
                })
            })
            .collect();
        let results = ranks.into_iter().map(|rank| rank.join().unwrap());
        results.collect()
    })
}

fn arguments() {
    assert_eq!(exchanged([2, 2], 2), ["[7, 7, 7, 7]"; 2]);
    assert_eq!(
        exchanged([8, 16], 2),
        ["ranks gave packets of [8, 16] bytes"; 2]
    );
    assert_eq!(
        exchanged([70_000, 80_000], 2),
        ["ranks gave packets of [70000, 80000] bytes"; 2]
    );
    for text in exchanged([8, 80_000], 2) {
        assert!(text.starts_with("ranks gave packets of [8, "), "{text}");
    }
    assert_eq!(exchanged([8, 8], 3), ["2 packets are no 24 bytes"; 2]);
    let (cpu, gpu) = (Device::cpu(), Device::cuda(0).unwrap());
    let id = NcclId::new().unwrap();
    let says = |result: Result<Nccl>, says: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(says), "{text}");
    };
    let text = Peers::group(&[gpu.clone(), cpu.clone()], SHORT);
    let text = text.unwrap_err().to_string();
    assert!(
        text.contains("is the CPU, and `Peers` is for GPUs"),
        "{text}"
    );
    says(
        Nccl::new(&cpu, 0, 1, id, SHORT),
        "is the CPU, and `Nccl` is for GPUs",
    );
    says(
        Nccl::new(&gpu, 2, 2, id, SHORT),
        "are 2, so there is no rank 2",
    );
    // SAFETY: it is refused.
    says(
        unsafe { Nccl::over(&gpu, std::ptr::null_mut(), SHORT) },
        "is null",
    );
    // A communicator that is told of other ranks than NCCL has.
    let nccl = Nccl::new(&gpu, 0, 1, id, SHORT).unwrap();
    assert_eq!((nccl.rank(), nccl.ranks()), (0, 1));
    let communicator = Communicator::new(0, 2, nccl).unwrap();
    let text = communicator.shard(1).unwrap_err().to_string();
    assert!(text.contains("NCCL has 1 ranks, not 2"), "{text}");
    let id = NcclId::new().unwrap();
    assert!(NcclId::from_bytes(id.to_bytes()) == id);
}

#[test]
fn what_cannot_be_exchanged_is_an_error() {
    run("arguments", &[]);
}

fn copies_that_fail() {
    let data = vec![1_u64; 100_000];
    let results = on_gpus(Kind::Peers, &stand_ins(3), super::LONG, |communicator| {
        let len = [100_000, 1, 1][communicator.rank()];
        let shard = communicator.shard(len)?;
        shard.rebalance(&data[..len]).map(|even| even.items.len())
    });
    assert!(results.iter().all(Result::is_err), "{results:?}");
    for result in results {
        let text = result.unwrap_err().to_string();
        let says = ["the GPU of rank", "CUDA_ERROR_LAUNCH_FAILED"];
        assert!(says.iter().any(|says| text.contains(says)), "{text}");
    }
}

#[test]
fn a_copy_that_fails_is_an_error_of_all_ranks_at_once() {
    run(
        "copies",
        &[("STAND_IN_GPUS", "3"), ("STAND_IN_COPIES", "9")],
    );
}

/// Over communicators that a program has made by itself.
fn the_callers() {
    #[repr(C)]
    struct Id([u8; 128]);
    type Init = unsafe extern "C" fn(*mut *mut c_void, c_int, Id, c_int) -> c_int;
    // SAFETY: it is the stand-in, whose function has this type.
    let init: Init = unsafe {
        let library = libloading::Library::new("libnccl.so.2").unwrap();
        let init = *library.get::<Init>("ncclCommInitRank").unwrap();
        std::mem::forget(library);
        init
    };
    let id = NcclId::new().unwrap().to_bytes();
    let sums: Vec<u32> = std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..2)
            .map(|rank| {
                scope.spawn(move || {
                    let device = Device::cuda(rank).unwrap();
                    // Opening a GPU leaves its context to the thread.
                    device.upload(&[0_u8]).unwrap();
                    let mut comm = std::ptr::null_mut();
                    // SAFETY: the pointer is valid for a write.
                    let status = unsafe { init(&mut comm, 2, Id(id), rank as c_int) };
                    assert_eq!(status, 0);
                    let other = Device::cuda(1 - rank).unwrap();
                    // SAFETY: it is a communicator, which nobody else uses.
                    let refused = unsafe { Nccl::over(&other, comm, SHORT) };
                    let text = refused.unwrap_err().to_string();
                    assert!(
                        text.contains(&format!("`comm` is of cuda:{rank}")),
                        "{text}"
                    );
                    // SAFETY: likewise.
                    let nccl = unsafe { Nccl::over(&device, comm, super::LONG) }.unwrap();
                    assert_eq!((nccl.rank(), nccl.ranks()), (rank, 2));
                    let communicator = Communicator::new(rank, 2, nccl).unwrap();
                    let shard = communicator.shard(1).unwrap();
                    shard.reduce::<u32, Add>(&[1 + rank as u32]).unwrap()
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    assert_eq!(sums, [3, 3]);
}

#[test]
fn the_callers_communicators_serve() {
    run("the caller's", &[]);
}

/// What goes wrong on rank 1 of NCCL.
fn nccl_says(says: &str) {
    let results = on_gpus(Kind::Nccl, &stand_ins(2), SHORT, |communicator| {
        communicator.shard_with(&[1; 2])?.reduce::<u32, Add>(&[1])
    });
    let text = results[1].clone().unwrap_err().to_string();
    assert!(
        text.contains(&format!("NCCL failed while {says}")),
        "{text}"
    );
    assert!(results[0].is_err());
}

#[test]
fn what_nccl_says_is_told() {
    for fault in ["init", "gather", "later"] {
        run(fault, &[("STAND_IN_NCCL", fault)]);
    }
}

fn no_library(expected: &str) {
    let error = NcclId::new().unwrap_err();
    assert!(matches!(error, Error::Library { .. }));
    assert!(error.to_string().contains(expected), "{error}");
    let gpu = Device::cuda(0).unwrap();
    let id = NcclId::from_bytes([0; 128]);
    assert_eq!(Nccl::new(&gpu, 0, 1, id, SHORT).unwrap_err(), error);
}

#[test]
fn nccl_is_found_where_it_is_and_missed_where_not() {
    run("version", &[]);
    let Ok(folder) = stand_in::folder() else {
        return skip("emulator", "there is no stand-in");
    };
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for named in ["libnccl.so.2", ""] {
        run("version", &[("WARPFOLD_NCCL", &path(named))]);
    }
    run("version", &[("WARPFOLD_NCCL", "libnccl.so.2")]);
    for (named, expected) in [
        (
            path("old"),
            "has no function ncclCommAbort, which NCCL has had since 2.4",
        ),
        (path("old/nothing"), "WARPFOLD_NCCL is"),
        (path("nccl.cpp"), "nccl.cpp: "),
    ] {
        run(
            "library",
            &[("WARPFOLD_NCCL", &named), ("EXPECTED", expected)],
        );
    }
    // The driver alone.
    let alone = tempfile::tempdir().unwrap();
    std::fs::copy(folder.join("libcuda.so"), alone.path().join("libcuda.so")).unwrap();
    let expected = "libnccl.so.2 or libnccl.so is not in the loader's path\n  remedy: install NCCL";
    let variables = [
        ("LD_LIBRARY_PATH", alone.path().to_str().unwrap()),
        ("EXPECTED", expected),
    ];
    run("library", &variables);
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    let expected = "it holds no file of that name";
    run(
        "library",
        &[("WARPFOLD_NCCL", empty), ("EXPECTED", expected)],
    );
}

fn links(expected: &str) {
    let links = warpfold::cuda::links().unwrap();
    let links = links
        .iter()
        .map(|link| format!("{} {} {link}", link.from, link.to));
    assert_eq!(links.collect::<Vec<_>>().join(", "), expected);
}

#[test]
fn links_between_gpus_are_told() {
    for (link, name) in [
        ("nvlink", "NVLink"),
        ("pcie", "PCIe"),
        ("none", "through host memory"),
    ] {
        let expected = format!("0 1 {name}, 1 0 {name}");
        run("links", &[("STAND_IN_LINK", link), ("EXPECTED", &expected)]);
    }
    run("links", &[("STAND_IN_GPUS", "1"), ("EXPECTED", "")]);
    run("links", &[("STAND_IN_GPUS", "0"), ("EXPECTED", "")]);
}
