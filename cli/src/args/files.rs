//! The arguments that say where numbers come from and go to, and what they are.

use super::TextArguments;
use super::kernels::device_name;
use crate::number::DType;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Where numbers come from and go to, what they are, and where the work is done.
#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// The file to read; `-` or nothing is the standard input
    pub(crate) file: Option<PathBuf>,

    /// The file to write, replaced only once the result is complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// The format of the output [default: see the end of --help]
    #[arg(long, value_enum)]
    pub(crate) output_format: Option<OutputFormat>,

    /// Write JSON: short for --output-format json
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
}

/// What numbers are, and where the work is done.
#[derive(Debug, Default, Args)]
pub(crate) struct InputArguments {
    /// The type of the elements, also by NumPy's names, such as float32; raw input needs it
    ///
    /// An .npy file knows its own type. Text is i64; f64 if any number in its first 16 MiB has a
    /// point, an exponent, or is `inf` or `nan`; u64 if one is beyond i64, and none is negative.
    /// Each column of a table has a type of its own.
    #[arg(long, value_enum, value_name = "TYPE")]
    pub(crate) dtype: Option<DType>,

    #[command(flatten)]
    pub(crate) text: TextArguments,

    /// Take all columns of a table as one, and write one number a line
    #[arg(long)]
    pub(crate) flatten: bool,

    /// The array to read from an .npz file that holds several
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Option<String>,

    /// The format of the input [default: see the end of --help]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,

    /// Take raw data as they are, even if they look like records of Fortran
    #[arg(long)]
    pub(crate) no_records: bool,

    /// Where to work: `cpu`, `cuda` or `cuda:N`; for reduce also several GPUs: `cuda:all`,
    /// `cuda:0,1` [default: $WARPFOLD_DEVICE, else cpu]
    #[arg(long, value_parser = device_name)]
    pub(crate) device: Option<String>,
}

/// How numbers are laid out in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// NumPy's .npy
    Npy,
    /// The elements alone, little endian
    Raw,
    /// Decimal numbers, between white space or in columns; written one per line
    Text,
}

/// How results are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// NumPy's .npy
    Npy,
    /// The elements alone, little endian
    Raw,
    /// Decimal numbers, a row per line
    Text,
    /// One object of JSON
    Json,
}

impl OutputFormat {
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, OutputFormat::Npy | OutputFormat::Raw)
    }
}

impl From<Format> for OutputFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Npy => OutputFormat::Npy,
            Format::Raw => OutputFormat::Raw,
            Format::Text => OutputFormat::Text,
        }
    }
}
