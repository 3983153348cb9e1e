//! Tests run side by side: a module that several of them ask for is compiled once, and whole before
//! any of them gets it.

use crate::emulator::Toolchain;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[test]
fn a_module_is_compiled_once_however_many_ask_for_it() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    // What no run before has compiled.
    let name = format!("asked for {}", std::process::id());
    let text = format!("__global__ void nothing() {{}}  // {:?}", SystemTime::now());
    let object = || {
        let module = toolchain.module(&name, &text, &["nothing"]);
        let command = module.command(Path::new("script"));
        PathBuf::from(command.get_args().next().unwrap())
    };
    let written = || fs::metadata(object()).unwrap().modified().unwrap();
    let times: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(written)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
    let object = object();
    let stem = object.file_stem().unwrap();
    for file in fs::read_dir(object.parent().unwrap()).unwrap() {
        let path = file.unwrap().path();
        if path.file_stem() == Some(stem) {
            fs::remove_file(path).unwrap();
        }
    }
}
