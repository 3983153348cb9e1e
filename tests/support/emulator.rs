//! The emulator's toolchain, or a skip.

use super::skips::skip;
use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;

/// The toolchain of all tests. What it compiles stays in `target/tmp/emulator`.
pub(crate) struct Toolchain(&'static warpfold_emulator::Toolchain);

impl Toolchain {
    /// The toolchain; `None` after reporting the skip.
    pub(crate) fn get() -> Option<&'static Toolchain> {
        static FOUND: OnceLock<Result<Toolchain, &str>> = OnceLock::new();
        let found = FOUND.get_or_init(|| {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
            warpfold_emulator::Toolchain::get(&folder).map(Toolchain)
        });
        match found {
            Ok(toolchain) => Some(toolchain),
            Err(why) => {
                skip("emulator", why);
                None
            }
        }
    }
}

impl Deref for Toolchain {
    type Target = warpfold_emulator::Toolchain;

    fn deref(&self) -> &warpfold_emulator::Toolchain {
        self.0
    }
}
