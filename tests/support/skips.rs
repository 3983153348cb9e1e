//! A test that cannot run here says so; `WARPFOLD_REQUIRE=cuda,nvrtc,emulator` forbids it to.

/// Reports that a test is skipped because `what` is missing, or fails if `WARPFOLD_REQUIRE` names
/// it.
#[track_caller]
pub(crate) fn skip(what: &str, why: &str) {
    let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
    if required.split(',').any(|name| name.trim() == what) {
        panic!("WARPFOLD_REQUIRE names {what}, but {why}");
    }
    eprintln!("skipped ({what}): {why}");
}
