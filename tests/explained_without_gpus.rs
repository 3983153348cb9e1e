//! What `explain` says of launches is what a call enqueues, over libraries that stand in for the
//! driver and for NVRTC: kernels do nothing there, and the driver writes launches down.

use crate::explained_calls::{Launched, of_length, said};
use crate::support::{skip, stand_in};
use std::ffi::{CStr, c_char};
use std::process::Command;
use warpfold::codegen::Explanation;
use warpfold::cuda::cudarc::driver::CudaContext;
use warpfold::cuda::{Workspace, nvrtc, without_disk_cache};

/// Says that a process has the stand-ins.
const VARIABLE: &str = "WARPFOLD_EXPLAINED";

#[test]
fn calls_have_the_launches_that_are_explained() {
    let folder = match stand_in::folder() {
        Ok(folder) => folder,
        Err(why) => return skip("emulator", why),
    };
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "explained_without_gpus::with_stand_ins"])
        .arg("--nocapture")
        .env_remove("WARPFOLD_REQUIRE")
        .env("LD_LIBRARY_PATH", folder)
        .env("WARPFOLD_NVRTC", folder.join("nvrtc"))
        .env("STAND_IN_KERNELS", "1")
        .env(VARIABLE, "1")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let passed = output.status.success() && text.contains("all calls were compared");
    assert!(passed, "{text}");
}

/// The process of the other test, since a process loads a library once.
#[test]
fn with_stand_ins() {
    if std::env::var(VARIABLE).is_err() {
        return;
    }
    // What the stand-in compiles is no kernel.
    without_disk_cache();
    assert_eq!(nvrtc::version().unwrap(), (13, 0));
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let mut calls = 0;
    let mut check =
        |explanation: &Explanation,
         work: &mut dyn FnMut(&mut Workspace) -> warpfold::Result<()>| {
            let bytes = explanation.workspace_bytes();
            let mut workspace = Workspace::new(&stream, bytes).unwrap();
            launched();
            work(&mut workspace).unwrap();
            assert_eq!(launched(), said(explanation), "{explanation}");
            calls += 1;
        };
    for len in [0, 1, 1000, 4100, 100_000, 1_000_000, 5_000_000] {
        of_length(&stream, len, &mut check);
    }
    assert!(calls > 500, "{calls}");
    println!("all calls were compared");
}

/// What was launched since the last call.
fn launched() -> Vec<Launched> {
    // SAFETY: it is the stand-in, which is loaded already.
    let driver = unsafe { libloading::Library::new("libcuda.so") }.unwrap();
    // SAFETY: the stand-in's function has this type.
    let launched =
        unsafe { driver.get::<unsafe extern "C" fn() -> *const c_char>("stand_in_launched") };
    // SAFETY: the text stands until the next call, and ends with a NUL.
    let text = unsafe { CStr::from_ptr(launched.unwrap()()) };
    let launch = |line: &str| {
        let mut words = line.split(' ');
        let mut number = || words.next().unwrap().parse::<u32>().unwrap();
        let (blocks, threads, shared_bytes) = (number(), number(), number());
        let function = words.next().unwrap().to_owned();
        (function, blocks.into(), threads, shared_bytes)
    };
    text.to_str().unwrap().lines().map(launch).collect()
}
