//! `warpfold`: reduce, scan, select and count the numbers in a file, and tell their statistics, on
//! CUDA GPUs and CPUs with the same bits.

#![deny(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("raw and .npy data are read and written in the machine's own order: little endian");

mod accumulate;
mod args;
mod commands;
mod condition;
mod exact;
mod failure;
#[cfg(test)]
mod fuzz;
mod help;
mod input;
#[cfg(feature = "ladder")]
mod ladder;
mod logger;
mod npy;
mod number;
mod numbers;
mod output;
mod progress;
mod raw;
mod source;
mod text;
#[cfg(feature = "tune")]
mod tune;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    logger::install();
    match commands::run(arguments.command) {
        // The reader of a pipeline has all it wants: not an error, for a filter.
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            logger::show("error", format_args!("{message}"));
            ExitCode::FAILURE
        }
    }
}
