//! Messages on the standard error: those of the command, and what the library logs.

use crate::progress;
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            match record.level() {
                Level::Error => show("error", *record.args()),
                _ => warn(*record.args()),
            }
        }
    }

    fn flush(&self) {}
}

/// Whether only errors are shown.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Writes a warning, unless the user wants none.
pub(crate) fn warn(message: fmt::Arguments<'_>) {
    if !QUIET.load(Ordering::Relaxed) {
        show("warning", message);
    }
}

/// What was said of inputs. Some results read theirs twice: what was said is not said again.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Writes a remark about an input, unless the user wants none.
pub(crate) fn remark(level: &str, message: String) {
    if !QUIET.load(Ordering::Relaxed) {
        show_once(level, message);
    }
}

/// Writes a warning that the result may not be what the user thinks, whatever the user wants.
pub(crate) fn insist(message: String) {
    show_once("warning", message);
}

fn show_once(level: &str, message: String) {
    let is_new = SAID
        .lock()
        .is_ok_and(|mut said| said.insert(message.clone()));
    if is_new {
        show(level, format_args!("{message}"));
    }
}

/// Writes one message. Unlike `eprintln!` it does not panic if nobody can read it.
pub(crate) fn show(level: &str, message: fmt::Arguments<'_>) {
    progress::clear();
    let _ = writeln!(io::stderr(), "warpfold: {level}: {message}");
}

/// Makes the standard error the place where log records go. If `quiet`, only errors do.
pub(crate) fn install(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
    // Fails only if a logger is there already, and then records have a place to go.
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
