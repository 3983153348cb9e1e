//! Messages on the standard error: those of the command, and what the library logs.

use crate::progress;
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::fmt;
use std::io::{self, Write};

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = match record.level() {
                Level::Error => "error",
                _ => "warning",
            };
            show(level, *record.args());
        }
    }

    fn flush(&self) {}
}

/// Writes one message. Unlike `eprintln!` it does not panic if nobody can read it.
pub(crate) fn show(level: &str, message: fmt::Arguments<'_>) {
    progress::clear();
    let _ = writeln!(io::stderr(), "warpfold: {level}: {message}");
}

/// Makes the standard error the place where log records go.
pub(crate) fn install() {
    // Fails only if a logger is there already, and then records have a place to go.
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
