//! Several devices as one: `--device cuda:all`, and how `warpfold devices` says that GPUs are
//! linked. Without GPUs several parts of the CPU stand for them, and a library for the driver.

use crate::support::{command, fail_in, folder, pass_in, run_in};
#[cfg(feature = "cuda")]
use std::path::Path;

#[cfg(feature = "cuda")]
#[path = "../../tests/support/stand_in.rs"]
mod stand_in;

/// Sums of these depend on the bracketing.
fn floats() -> Vec<u8> {
    let floats = (0..300_007_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 * 0.1);
    floats.flat_map(f32::to_le_bytes).collect()
}

fn texts() -> Vec<u8> {
    let lines = (0..300_000_u64).map(|i| format!("{},{}\n", i * 7 % 1000, (i % 77) as f64 * 0.1));
    lines.collect::<String>().into_bytes()
}

#[test]
fn several_devices_have_the_bits_of_one() {
    let folder = folder(&[("x.f32", &floats()), ("x.csv", &texts()), ("none.f32", b"")]);
    for line in [
        "reduce --dtype f32 --format raw x.f32",
        "reduce --dtype f32 --format raw x.f32 --accumulate f64",
        "reduce --op max --dtype f32 --format raw x.f32",
        "reduce --init 0.1 --dtype f32 --format raw x.f32",
        "reduce --dtype f32 --format raw none.f32",
        "reduce --dtype u32 --format raw x.f32",
        "reduce --dtype u32 --format raw --wrapping x.f32",
        "reduce --dtype u32 --format raw --op min x.f32",
        "reduce --column 2 x.csv",
        "reduce --column 1 --column 2 x.csv",
        "reduce --column 1 --op max x.csv",
        "reduce --column 1 --wrapping x.csv",
    ] {
        let alone = pass_in(folder.path(), &format!("{line} --device cpu"), b"");
        for device in ["cpu:2", "cpu:5"] {
            let several = pass_in(folder.path(), &format!("{line} --device {device}"), b"");
            assert_eq!(
                String::from_utf8_lossy(&several),
                String::from_utf8_lossy(&alone),
                "{line} --device {device}"
            );
        }
    }
    // From a pipe, and named by the environment.
    let alone = pass_in(folder.path(), "reduce --format raw --dtype f32", &floats());
    let piped = pass_in(
        folder.path(),
        "reduce --format raw --dtype f32 --device cpu:3",
        &floats(),
    );
    assert_eq!(piped, alone);
    let output = command()
        .args(["reduce", "--format", "raw", "--dtype", "f32", "x.f32"])
        .current_dir(folder.path())
        .env("WARPFOLD_DEVICE", "cpu:3")
        .output()
        .unwrap();
    assert_eq!((output.stdout, output.status.success()), (alone, true));
}

#[test]
fn several_devices_have_the_errors_of_one() {
    let big = [u64::MAX, 1].map(u64::to_le_bytes).concat();
    let folder = folder(&[
        ("big.bin", &big),
        ("bad.txt", b"1\n2\nx\n"),
        ("none.txt", b""),
    ]);
    for line in [
        "reduce --dtype u64 --format raw big.bin",
        "reduce bad.txt",
        "reduce --op max none.txt",
        "reduce --dtype u64 --format raw --op mul --init 2 big.bin",
    ] {
        let alone = fail_in(folder.path(), &format!("{line} --device cpu"), b"");
        let several = fail_in(folder.path(), &format!("{line} --device cpu:2"), b"");
        assert_eq!(several, alone, "{line}");
    }
    // Misspelt names are found before any work, and a variable that names several where one works.
    for name in ["cuda:all,", "cuda:0,", "cpu:", "cuda:", "all"] {
        let output = run_in(
            folder.path(),
            &format!("reduce --device {name} big.bin"),
            b"",
        );
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && error.contains("`cuda:all`"),
            "{error}"
        );
    }
    let output = command()
        .args(["sort", "none.txt"])
        .current_dir(folder.path())
        .env("WARPFOLD_DEVICE", "cuda:all")
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let expected = "WARPFOLD_DEVICE=cuda:all: only reduce without --axis runs on several devices";
    assert!(
        error.contains(expected) && output.status.code() == Some(1),
        "{error}"
    );
}

/// Runs a command with GPUs that stand in.
#[cfg(feature = "cuda")]
fn with_gpus(line: &str, folder: &Path, variables: &[(&str, &str)]) -> Option<(String, bool)> {
    let libraries = match stand_in::folder() {
        Ok(libraries) => libraries,
        Err(why) => {
            eprintln!("skipped (emulator): {why}");
            return None;
        }
    };
    let output = command()
        .args(line.split(' '))
        .current_dir(folder)
        .env("LD_LIBRARY_PATH", libraries)
        .env("WARPFOLD_CACHE_DIR", "")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    Some((String::from_utf8(text).unwrap(), output.status.success()))
}

#[cfg(feature = "cuda")]
#[test]
fn links_between_gpus_are_listed() {
    let here = Path::new(".");
    for (link, name) in [
        ("nvlink", "NVLink"),
        ("pcie", "PCIe"),
        ("none", "through host memory"),
    ] {
        let variables = [("STAND_IN_LINK", link), ("STAND_IN_GPUS", "3")];
        let Some((text, _)) = with_gpus("devices", here, &variables) else {
            return;
        };
        let line = format!("\nlinks    cuda:0, cuda:1, cuda:2: {name}\n");
        assert!(text.contains(&line), "{text}");
        assert!(
            text.contains("\ncuda:2   Stand-in, 1 GiB, compute capability 9.0\n"),
            "{text}"
        );
        let (text, _) = with_gpus("devices --json", here, &variables).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["links"].as_array().unwrap().len(), 6);
        assert_eq!(report["links"][1]["to"], "cuda:2");
        assert_eq!(report["links"][1]["link"], name);
        assert_eq!(report["links"][1]["direct"], link != "none");
    }
    let (text, _) = with_gpus("devices", here, &[("STAND_IN_GPUS", "1")]).unwrap();
    assert!(text.contains("cuda:0") && !text.contains("links"), "{text}");
    // Pairs of GPUs, between which there is PCIe.
    let variables = [("STAND_IN_LINK", "pairs"), ("STAND_IN_GPUS", "4")];
    let (text, _) = with_gpus("devices", here, &variables).unwrap();
    let lines = "links    cuda:0 to cuda:1: NVLink\nlinks    cuda:0 to cuda:2, cuda:3: PCIe\n";
    assert!(text.contains(lines), "{text}");
}

/// A stand-in has no kernels. So what needs one is an error, and not left to one device.
#[cfg(feature = "cuda")]
#[test]
fn what_the_gpus_cannot_do_is_an_error() {
    let folder = folder(&[("x.f32", &floats())]);
    let line = "reduce --device cuda:all --dtype f32 --format raw x.f32";
    let Some((text, passed)) = with_gpus(line, folder.path(), &[]) else {
        return;
    };
    assert!(!passed && text.contains("CUDA"), "{text}");
    let none = with_gpus(line, folder.path(), &[("STAND_IN_GPUS", "0")]);
    let (text, passed) = none.unwrap();
    assert!(
        !passed && text.contains("there is no device `cuda:0`"),
        "{text}"
    );
    let line = "reduce --device cuda:0,7 --dtype f32 --format raw x.f32";
    let (text, passed) = with_gpus(line, folder.path(), &[]).unwrap();
    let expected = "there is no device `cuda:7`; available: cpu, cuda:0, cuda:1";
    assert!(!passed && text.contains(expected), "{text}");
    let line = "reduce --device cuda:1,1 --dtype f32 --format raw x.f32";
    let (text, passed) = with_gpus(line, folder.path(), &[]).unwrap();
    assert!(!passed && text.contains("cuda:1 twice"), "{text}");
}
