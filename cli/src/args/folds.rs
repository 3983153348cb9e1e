//! The arguments of folds: `reduce`, `scan`, `segments`, `group` and `decode`.

use super::FileArguments;
use crate::failure::Result;
use crate::number::{DType, Operator};
use clap::Args;
use std::path::PathBuf;

impl FoldArguments {
    /// Writes the number that a fold starts from as Rust does, if it has the marks of the text.
    pub(crate) fn take_marks(&mut self) -> Result<()> {
        self.files.input.text.take_marks(&mut self.init)
    }
}

/// Which axis of an array.
#[derive(Debug, Args)]
pub(crate) struct AxisArguments {
    /// Work along this axis of an array, from 0 on, or from -1 on from the end: each lane by itself
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) axis: Option<i64>,
}

/// Where segments lie.
#[derive(Debug, Args)]
#[group(id = "bounds", required = true, multiple = false)]
pub(crate) struct BoundArguments {
    /// A file with the position where each segment starts, from 0, and last where the last one ends
    #[arg(long, value_name = "FILE")]
    pub(crate) offsets: Option<PathBuf>,

    /// A file with the length of each segment
    #[arg(long, value_name = "FILE")]
    pub(crate) lengths: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SegmentsArguments {
    #[command(flatten)]
    pub(crate) bounds: BoundArguments,

    /// Write all prefixes of each segment, and not one fold; what is in no segment stays as it is
    #[arg(long)]
    pub(crate) scan: bool,

    /// Leave each number itself out of its prefix
    #[arg(short = 'x', long, requires = "scan")]
    pub(crate) exclusive: bool,

    /// Scan each segment from its last number to its first
    #[arg(long, requires = "scan")]
    pub(crate) reverse: bool,

    #[command(flatten)]
    pub(crate) fold: FoldArguments,
}

#[derive(Debug, Args)]
pub(crate) struct GroupArguments {
    /// The column with the keys: its number, from 1 on, or its name
    #[arg(long, value_name = "N|NAME", allow_hyphen_values = true)]
    pub(crate) by: String,

    /// Take keys as they stand: each run of equal neighbours is a group
    #[arg(long)]
    pub(crate) runs: bool,

    #[command(flatten)]
    pub(crate) files: FileArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DecodeArguments {
    /// A file with how often each number is to be written
    #[arg(long, value_name = "FILE")]
    pub(crate) counts: PathBuf,

    #[command(flatten)]
    pub(crate) files: FileArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FoldArguments {
    /// The operator; sum, prod, and, or, xor are names too
    #[arg(long, value_enum, default_value_t = Operator::Add)]
    pub(crate) op: Operator,

    /// Start from this value instead of the operator's identity
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) init: Option<String>,

    /// The type to add up or multiply in [default: i64 or u64 for integers, f64 for products of
    /// floats, else the elements']
    ///
    /// It must hold every element: integers take wider integers, and floats that hold them; floats
    /// take wider floats. f64 takes all. The result has this type.
    #[arg(long, value_enum, value_name = "TYPE", hide_possible_values = true)]
    pub(crate) accumulate: Option<DType>,

    /// Let sums and products of integers wrap: without it, one out of range is an error
    #[arg(long)]
    pub(crate) wrapping: bool,

    #[command(flatten)]
    pub(crate) files: FileArguments,
}
