//! The command line.

use crate::help::*;
use crate::number::{DType, Operator};
use clap::{Parser, Subcommand};

mod files;
mod folds;
mod kernels;
mod rows;
mod statistics;
mod text;

pub(crate) use files::{FileArguments, Format, InputArguments, OutputFormat};
pub(crate) use folds::{
    AxisArguments, DecodeArguments, FoldArguments, GroupArguments, SegmentsArguments,
};
pub(crate) use kernels::{
    ExplainArguments, Explained, LadderArguments, PrimitiveName, TuneArguments, names_several,
    number_of_items,
};
pub(crate) use rows::{Condition, SortArguments, TopArguments, UniqueArguments};
pub(crate) use statistics::{HistogramArguments, StatsArguments};
pub(crate) use text::{Missing, TextArguments};

/// Reduce, scan, select and count the numbers in a file, and tell their statistics, on CUDA GPUs
/// and CPUs, with the same bits on each.
#[derive(Debug, Parser)]
#[command(name = "warpfold", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Show neither progress nor warnings; errors stay, and what says that data may be lost
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fold all numbers into one
    #[command(after_help = REDUCE_HELP, after_long_help = REDUCE_LONG_HELP)]
    Reduce {
        #[command(flatten)]
        fold: FoldArguments,

        #[command(flatten)]
        axis: AxisArguments,
    },

    /// Replace each number by the fold of all up to it: running totals
    #[command(after_help = SCAN_HELP, after_long_help = SCAN_LONG_HELP)]
    Scan {
        #[command(flatten)]
        fold: FoldArguments,

        /// Fold all up to each number and the number itself, as numpy.cumsum does: the default
        #[arg(short, long, overrides_with = "exclusive")]
        inclusive: bool,

        /// Leave each number itself out: the first output is --init, or the operator's identity
        #[arg(short = 'x', long, overrides_with = "inclusive")]
        exclusive: bool,

        /// From the last number to the first: fold all from each number on
        #[arg(long)]
        reverse: bool,

        #[command(flatten)]
        axis: AxisArguments,
    },

    /// Fold or scan each segment of the numbers by itself
    #[command(after_help = SEGMENTS_HELP)]
    Segments(SegmentsArguments),

    /// Sum, mean, least and greatest of the rows of each key
    #[command(after_help = GROUP_HELP)]
    Group(GroupArguments),

    /// Write each number as often as its count says: what undoes `unique --counts`
    #[command(after_help = DECODE_HELP)]
    Decode(DecodeArguments),

    /// Keep the numbers that satisfy a condition, in their order
    #[command(after_help = SELECT_HELP, after_long_help = SELECT_LONG_HELP)]
    Select {
        #[command(flatten)]
        condition: Condition,

        /// Write the positions of these numbers, from 0 and as u64, instead of the numbers
        #[arg(long)]
        positions: bool,

        #[command(flatten)]
        files: FileArguments,
    },

    /// Sort numbers, or the rows of a table
    #[command(after_help = SORT_HELP, after_long_help = SORT_LONG_HELP)]
    Sort(SortArguments),

    /// Keep the greatest or least numbers or rows, sorted
    #[command(after_help = TOP_HELP, after_long_help = TOP_LONG_HELP)]
    Top(TopArguments),

    /// Keep the first of equal neighbours, and say how many there are
    #[command(after_help = UNIQUE_HELP, after_long_help = UNIQUE_LONG_HELP)]
    Unique(UniqueArguments),

    /// Print count, extremes and their positions, sum, mean and standard deviation
    #[command(after_help = STATS_HELP, after_long_help = STATS_LONG_HELP)]
    Stats(StatsArguments),

    /// Count how many numbers fall into each bin, as NumPy does
    #[command(after_help = HISTOGRAM_HELP, after_long_help = HISTOGRAM_LONG_HELP)]
    Histogram(HistogramArguments),

    /// Print what makes a shell complete the command's options and names
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },

    /// Print the manual page of the command, or of one of its commands
    #[command(after_help = MAN_HELP)]
    Man {
        /// The command, such as `scan`
        command: Option<String>,
    },

    /// List the devices, and say why CUDA cannot be used if it cannot
    Devices {
        /// Print JSON instead of the list
        #[arg(long)]
        json: bool,
    },

    /// Print the CUDA source that a primitive compiles
    Source {
        /// The primitive
        primitive: PrimitiveName,

        /// The operator of a reduction or scan [default: add]
        #[arg(long, value_enum)]
        op: Option<Operator>,

        /// The type of the elements
        #[arg(long, value_enum)]
        dtype: DType,

        /// Print JSON, which has the source as a string
        #[arg(long)]
        json: bool,
    },

    /// Say what a call does on a GPU: engine, launches, workspace, and why
    #[command(after_help = EXPLAIN_HELP)]
    Explain(ExplainArguments),

    /// Climb from a first reduction to a good one: time, count, draw and explain each step
    #[command(after_help = LADDER_HELP)]
    Ladder(LadderArguments),

    /// Search for the fastest parameters of the GPU's kernels, and print the library's table of
    /// them
    #[command(after_help = TUNE_HELP)]
    Tune(TuneArguments),
}
