//! Signals that end the program: they take its temporary files with them.

use std::io;
use std::path::PathBuf;

#[cfg(unix)]
mod unix {
    use super::*;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::{flag, low_level};
    use std::sync::atomic::AtomicBool;
    use std::sync::{Arc, Mutex, Once};

    /// The files that have a temporary name.
    static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    static WATCH: Once = Once::new();

    pub(in super::super) fn guard<R>(
        create: impl FnOnce() -> io::Result<(PathBuf, R)>,
    ) -> io::Result<R> {
        WATCH.call_once(watch);
        // Signals wait until the new file is known.
        let mut files = FILES.lock().expect("nothing panics with the list of files");
        let (path, result) = create()?;
        files.push(path);
        Ok(result)
    }

    fn watch() {
        let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]) else {
            return;
        };
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                // It stays locked: no file comes after this.
                let files = FILES.lock();
                for path in files.iter().flat_map(|files| files.iter()) {
                    let _ = std::fs::remove_file(path);
                }
                let _ = low_level::emulate_default_handler(signal);
            }
        });
    }

    pub(in super::super) fn outlive_limits() {
        // That it was raised tells nothing that the failed write does not.
        let _ = flag::register(SIGXFSZ, Arc::<AtomicBool>::default());
    }
}

#[cfg(unix)]
pub(super) use unix::{guard, outlive_limits};

/// Creates a file that has a temporary name. A signal that ends the program removes it.
#[cfg(not(unix))]
pub(super) fn guard<R>(create: impl FnOnce() -> io::Result<(PathBuf, R)>) -> io::Result<R> {
    create().map(|(_, result)| result)
}

/// Makes a write beyond the limit for files fail, rather than end the program.
#[cfg(not(unix))]
pub(super) fn outlive_limits() {}
