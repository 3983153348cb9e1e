//! Tests run side by side: a module that several of them ask for is compiled once, and whole before
//! any of them gets it.

use crate::emulator::Toolchain;
use std::fs;

#[test]
fn a_module_is_compiled_once_however_many_ask_for_it() {
    let Some(shared) = Toolchain::get() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let toolchain =
        warpfold_emulator::Toolchain::find(&[shared.compiler()], folder.path()).unwrap();
    let text = "__global__ void nothing() {}";
    let written = || {
        let module = toolchain.module("asked for", text, &["nothing"]);
        let script = folder.path().join("script");
        let arguments = module.command(&script);
        let object = arguments.get_args().next().unwrap();
        fs::metadata(object).unwrap().modified().unwrap()
    };
    let times: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(written)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
}
