//! Runs that several tests look at.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use warpfold::ops::Add;
use warpfold_emulator::Toolchain;
use warpfold_ladder::{Options, Report, run};

/// A test that cannot run says so; `WARPFOLD_REQUIRE` forbids it to.
#[track_caller]
pub(crate) fn skip(what: &str, why: &str) {
    let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| name.trim() == what);
    assert!(!is_required, "WARPFOLD_REQUIRE names {what}, but {why}");
    eprintln!("skipped ({what}): {why}");
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator")
}

/// Whether the emulator is here, after reporting the skip.
pub(crate) fn has_emulator() -> bool {
    match Toolchain::get(&folder()) {
        Ok(_) => true,
        Err(why) => {
            skip("emulator", why);
            false
        }
    }
}

/// A run of sums of `f32` that counts 2048 numbers.
pub(crate) fn sums() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let options = Options {
            elements: 1 << 16,
            counted: 1 << 11,
            folder: Some(folder()),
            ..Options::default()
        };
        run::<f32, Add>("add", &options).expect("the ladder runs without a GPU")
    })
}
