//! `warpfold`: reduce, scan, select and count the numbers in a file, and tell their statistics, on
//! CUDA GPUs and CPUs with the same bits.

#![deny(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("raw and .npy data are read and written in the machine's own order: little endian");

mod accumulate;
mod args;
mod bound;
mod cast;
mod columns;
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
mod pieces;
mod progress;
mod raw;
mod source;
mod text;
#[cfg(feature = "tune")]
mod tune;
mod value;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match args::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            if let Some(hint) = commands::meant(&error) {
                logger::show("error", format_args!("{hint}"));
                return ExitCode::from(2);
            }
            error.exit()
        }
    };
    logger::install(arguments.quiet);
    if arguments.quiet {
        progress::hide();
    }
    match commands::run(arguments.command) {
        // The reader of a pipeline has all it wants: not an error, for a filter.
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            logger::show("error", format_args!("{message}"));
            ExitCode::FAILURE
        }
    }
}
