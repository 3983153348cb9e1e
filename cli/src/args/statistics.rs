//! The arguments of `histogram` and `stats`.

use super::{AxisArguments, FileArguments, InputArguments};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct HistogramArguments {
    /// The number of bins [default: 10]; with --bincount the least number, as NumPy's minlength
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) bins: Option<String>,

    /// The lower edge of the first bin and the upper one of the last [default: the least number
    /// and the greatest]
    #[arg(long, num_args = 2, value_names = ["LO", "HI"], allow_hyphen_values = true)]
    pub(crate) range: Option<Vec<String>>,

    /// The edges of the bins, in rising order: a list such as 0,1,2.5 or '0;1;2.5', or a file
    ///
    /// With --decimal `,` fractions have that comma here, too, and semicolons stand between edges.
    #[arg(
        long,
        value_name = "LIST|FILE",
        allow_hyphen_values = true,
        conflicts_with_all = ["bins", "range"]
    )]
    pub(crate) edges: Option<String>,

    /// A bin for each value 0, 1, 2, ... of integers, none of which may be negative
    #[arg(long, conflicts_with_all = ["range", "edges"])]
    pub(crate) bincount: bool,

    /// Draw a chart into this file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) files: FileArguments,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    /// The files to read; `-` or nothing is the standard input
    pub(crate) files: Vec<PathBuf>,

    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,

    /// Quantiles, too, at levels from 0 to 1 [default: 0.25,0.5,0.75]
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0.25,0.5,0.75"
    )]
    pub(crate) quantiles: Option<String>,

    /// Divide the squared deviations by n - 1, not by n: the numbers are a sample of others
    #[arg(long)]
    pub(crate) sample: bool,

    #[command(flatten)]
    pub(crate) axis: AxisArguments,

    #[command(flatten)]
    pub(crate) input: InputArguments,
}
