//! Calls on host slices that run on a GPU, as a program makes them: right, and nothing that
//! NVIDIA's sanitizer reports.

use crate::support::data::{assert_same, sample};
use crate::support::{oracle, skip, stream};
use std::path::PathBuf;
use std::process::Command;
use warpfold::ops::{Add, Max};
use warpfold::{Axis, Device, Offsets, Order, Prefixes};

/// Is run by the next test, with `WARPFOLD_DEVICE=cuda:0`.
#[test]
#[ignore = "is called by the next test"]
fn calls_on_host_slices() {
    let data: Vec<f32> = sample(100_003, 7);
    let cpu = Device::cpu();
    let there = cpu.upload(&data).unwrap();
    assert!(!Device::for_host_data().unwrap().is_cpu());

    let sum = warpfold::reduce::<f32, Add>(&data).unwrap();
    assert_same(&[sum], &[cpu.reduce::<f32, Add>(&there).unwrap()], "sum");
    let scanned = warpfold::inclusive_scan::<f32, Add>(&data).unwrap();
    let mut expected = cpu.upload(&data).unwrap();
    cpu.scan_in_place::<f32, Add>(Prefixes::inclusive(), &mut expected)
        .unwrap();
    assert_same(&scanned, &expected.to_vec().unwrap(), "scan");
    let mut in_place = data.clone();
    warpfold::scan_in_place::<f32, Add>(Prefixes::inclusive(), &mut in_place).unwrap();
    assert_same(&in_place, &scanned, "in place");

    let ascending = Order::ascending();
    let sorted = warpfold::sort(&data, ascending).unwrap();
    let expected = cpu.sort(&there, ascending).unwrap().to_vec().unwrap();
    assert_same(&sorted, &expected, "sort");
    let offsets = [0_u64, 10, 10, 100_000];
    let segments = Offsets::new(&offsets).unwrap();
    let folds = warpfold::segmented_reduce::<f32, Max>(&data, segments).unwrap();
    let fold = |ends: &[u64]| {
        let segment = &data[ends[0] as usize..ends[1] as usize];
        oracle::reduce::<f32, Max>(segment, None)
    };
    let expected: Vec<f32> = offsets.windows(2).map(fold).collect();
    assert_same(&folds, &expected, "segments");
    let axis = Axis::of(&[100, 1000], 0).unwrap();
    let sums = warpfold::reduce_axis::<f32, Add>(&data[..100_000], axis).unwrap();
    let lane =
        |inner: usize| -> Vec<f32> { (0..100).map(|row| data[row * 1000 + inner]).collect() };
    let expected: Vec<f32> = (0..1000)
        .map(|inner| oracle::reduce::<f32, Add>(&lane(inner), None))
        .collect();
    assert_same(&sums, &expected, "axis");

    let mut stream = warpfold::Reducer::<f32, Add>::new();
    stream.push(&data).unwrap();
    assert_same(&[stream.value()], &[sum], "stream");
}

#[test]
fn calls_on_host_slices_are_clean_for_the_sanitizer() {
    if stream().is_none() {
        return;
    }
    let Some(sanitizer) = sanitizer() else {
        return skip(
            "sanitizer",
            "compute-sanitizer is not in PATH or /usr/local/cuda",
        );
    };
    let output = Command::new(sanitizer)
        .args(["--tool", "memcheck", "--error-exitcode", "9"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "level_one_on_the_gpu::calls_on_host_slices"])
        .args(["--ignored", "--nocapture"])
        .env("WARPFOLD_DEVICE", "cuda:0")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let is_clean = text.contains("ERROR SUMMARY: 0 errors") && text.contains("1 passed");
    assert!(output.status.success() && is_clean, "{text}");
}

fn sanitizer() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders).chain([
        "/usr/local/cuda/bin".into(),
        "/usr/local/cuda/compute-sanitizer".into(),
    ]);
    let mut programs = folders.map(|folder| folder.join("compute-sanitizer"));
    programs.find(|program| program.is_file())
}
