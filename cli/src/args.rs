//! The command line.

use crate::commands::rows::FloatOrder;
use crate::help::*;
use crate::number::{DType, Operator};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

mod text;

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

#[derive(Debug, Args)]
pub(crate) struct LadderArguments {
    /// The steps to run, by the names in the table [default: all]
    pub(crate) steps: Vec<String>,

    /// The operator
    #[arg(long, value_enum, default_value_t = Operator::Add)]
    pub(crate) op: Operator,

    /// The type of the numbers
    #[arg(long, value_enum, default_value_t = DType::F32)]
    pub(crate) dtype: DType,

    /// How many numbers steps are timed on; a step of one block takes fewer
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 1 << 24,
        value_parser = clap::value_parser!(u64).range(1..=1 << 32)
    )]
    pub(crate) n: u64,

    /// How many numbers kernels are counted on, in the emulator; 0 for none
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1 << 14,
        value_parser = clap::value_parser!(u64).range(0..=1 << 20)
    )]
    pub(crate) counted: u64,

    /// How many pairs of numbers each thread of the coarsened step takes
    #[arg(
        long,
        value_name = "K",
        default_value_t = 4,
        value_parser = clap::value_parser!(u32).range(1..=1 << 10)
    )]
    pub(crate) factor: u32,

    /// Where kernels are timed: `cuda` or `cuda:N`, or `cpu` for nowhere [default: the first GPU,
    /// if there is one]
    #[arg(long, value_parser = device_name)]
    pub(crate) device: Option<String>,

    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a page, too, with charts, pictures and sources; it needs no other file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write a page in Markdown, too, and its pictures into a folder beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The primitive
    pub(crate) primitive: Explained,

    /// The operator of a reduction or scan [default: add]
    #[arg(long, value_enum)]
    pub(crate) op: Option<Operator>,

    /// The type of the elements
    #[arg(long, value_enum)]
    pub(crate) dtype: DType,

    /// How many there are, such as 1000 or 1e6
    #[arg(short = 'n', long, value_name = "N", value_parser = number_of_items)]
    pub(crate) items: usize,

    /// A GPU of this machine: `cuda` or `cuda:N` [default: the one that the next options describe]
    #[arg(long, value_name = "GPU", value_parser = gpu_number, conflicts_with_all = ["capability", "multiprocessors"])]
    pub(crate) device: Option<usize>,

    /// The compute capability of a GPU
    #[arg(long, value_name = "X.Y", value_parser = compute_capability, default_value = "9.0")]
    pub(crate) capability: u32,

    /// How many multiprocessors the GPU has; an H100 and an H200 have 132
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), default_value_t = 132)]
    pub(crate) multiprocessors: u32,
}

/// What `warpfold explain` explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Explained {
    /// The fold of all numbers
    Reduce,
    /// All prefixes, each with its own number
    Scan,
    /// The numbers that have a flag
    Select,
}

pub(crate) fn number_of_items(text: &str) -> Result<usize, String> {
    if let Ok(items) = text.parse() {
        return Ok(items);
    }
    // Powers of ten, and what else a float holds exactly.
    const MOST: f64 = (1_u64 << 53) as f64;
    match text.parse::<f64>() {
        Ok(items) if (0.0..=MOST).contains(&items) && items.fract() == 0.0 => Ok(items as usize),
        _ => Err("give a whole number, such as 1000 or 1e6".to_owned()),
    }
}

fn compute_capability(text: &str) -> Result<u32, String> {
    let numbers = text.split_once('.').and_then(|(major, minor)| {
        let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
        ((5..=99).contains(&major) && minor < 10).then_some(10 * major + minor)
    });
    numbers.ok_or_else(|| "give it as 7.5 or 9.0".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct TuneArguments {
    /// The GPU: `cuda` or `cuda:N`
    #[arg(long, value_name = "GPU", value_parser = gpu_number, default_value = "cuda:0")]
    pub(crate) device: usize,

    /// How many elements to scan, of each size [default: 1 GiB of them; 256 MiB with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) elements: Option<u64>,

    /// Try only what is near the present parameters, and measure less; not for a table that stays
    #[arg(long)]
    pub(crate) quick: bool,
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
    #[arg(long, value_name = "N|NAME")]
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

/// What a number must satisfy: one bound, a lower and an upper one, or one of the others.
#[derive(Debug, Args)]
#[group(id = "condition", required = true, multiple = true)]
pub(crate) struct Condition {
    /// Keep numbers greater than this
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) gt: Option<String>,

    /// Keep numbers greater than or equal to this
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        conflicts_with = "gt"
    )]
    pub(crate) ge: Option<String>,

    /// Keep numbers less than this
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) lt: Option<String>,

    /// Keep numbers less than or equal to this
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        conflicts_with = "lt"
    )]
    pub(crate) le: Option<String>,

    /// Keep numbers equal to this
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        conflicts_with_all = ["gt", "ge", "lt", "le"]
    )]
    pub(crate) eq: Option<String>,

    /// Keep numbers not equal to this; NaN equals nothing
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        conflicts_with_all = ["gt", "ge", "lt", "le", "eq"]
    )]
    pub(crate) ne: Option<String>,

    /// Keep what is NaN; no integer is
    #[arg(long, conflicts_with_all = ["gt", "ge", "lt", "le", "eq", "ne"])]
    pub(crate) nan: bool,

    /// Keep what is not NaN: all integers
    #[arg(long, conflicts_with_all = ["gt", "ge", "lt", "le", "eq", "ne", "nan"])]
    pub(crate) not_nan: bool,
}

/// What rows are sorted by.
#[derive(Debug, Args)]
pub(crate) struct ByArguments {
    /// Sort rows by this column: its number, from 1 on, or its name; may be given several times,
    /// the first decides first [default: all columns, the first one first]
    ///
    /// What ends in `:asc` or `:desc` has that direction.
    #[arg(long, value_name = "N|NAME")]
    pub(crate) by: Vec<String>,

    /// Where NaN and -0 stand
    #[arg(long, value_enum, value_name = "ORDER", default_value = "nan-greatest")]
    pub(crate) order: FloatOrder,
}

#[derive(Debug, Args)]
pub(crate) struct SortArguments {
    /// The greatest first; equals stay in their order
    #[arg(short = 'r', long)]
    pub(crate) descending: bool,

    #[command(flatten)]
    pub(crate) by: ByArguments,

    /// The memory to sort in, such as 512M or 4G; what does not fit goes through a temporary file
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = memory)]
    pub(crate) memory: usize,

    #[command(flatten)]
    pub(crate) files: FileArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TopArguments {
    /// How many
    #[arg(
        short,
        value_name = "K",
        default_value_t = 10,
        allow_negative_numbers = true
    )]
    pub(crate) k: usize,

    /// The least, not the greatest
    #[arg(long)]
    pub(crate) bottom: bool,

    #[command(flatten)]
    pub(crate) by: ByArguments,

    /// Write the positions of these rows, from 0 and as u64, instead of the rows
    #[arg(long, conflicts_with = "with_positions")]
    pub(crate) positions: bool,

    /// Write the position of each row behind it, from 0
    #[arg(long)]
    pub(crate) with_positions: bool,

    #[command(flatten)]
    pub(crate) files: FileArguments,
}

/// A number of bytes, with or without a unit.
fn memory(text: &str) -> Result<usize, String> {
    let lower = text.trim().to_ascii_lowercase();
    let lower = lower
        .strip_suffix("ib")
        .or(lower.strip_suffix('b'))
        .unwrap_or(&lower);
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let unit = units
        .iter()
        .find_map(|&(unit, bits)| Some((lower.strip_suffix(unit)?, bits)));
    let (number, bits) = unit.unwrap_or((lower, 0));
    let bytes = number
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite());
    match bytes.map(|number| number * (1_u64 << bits) as f64) {
        Some(bytes) if bytes >= 1.0 => Ok(bytes as usize),
        _ => Err("give a number of bytes, such as 512M or 4G".into()),
    }
}

/// What else `warpfold unique` writes.
#[derive(Debug, Args)]
pub(crate) struct UniqueArguments {
    /// Keep the first of all equal numbers, wherever they stand, and sort them; every NaN is equal
    #[arg(short, long)]
    pub(crate) sort: bool,

    /// Write how many equal neighbours there were before each number, as `uniq -c` does; in text
    #[arg(short, long)]
    pub(crate) count: bool,

    /// Write these counts to a file of their own, as u64
    #[arg(long, value_name = "FILE")]
    pub(crate) counts: Option<PathBuf>,

    /// Write to a file at which position, from 0, each number stood first, as u64
    #[arg(long, value_name = "FILE")]
    pub(crate) starts: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) files: FileArguments,
}

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

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PrimitiveName {
    /// The fold of all numbers in one launch
    Reduce,
    /// The fold of all numbers, a launch for each level of a tree
    ReduceLevels,
    /// The fold of a few thousand numbers, by one block
    ReduceBlock,
    /// All prefixes in one launch, on any GPU
    Scan,
    /// All prefixes of a few thousand numbers, by one block
    ScanBlock,
    /// All prefixes, a launch for each level of Blelloch's tree
    ScanLevels,
    /// All prefixes of long arrays in one launch, on GPUs of compute capability 9.0 to 10.x
    ScanWave,
    /// The same for arrays that do not start at a multiple of 16 bytes
    ScanWaveAnywhere,
    /// All prefixes by a costly operator in one launch, on GPUs of compute capability 8.0 and above
    ScanShares,
    /// The numbers that have a flag, which is a byte
    Select,
    /// The same for long arrays, on GPUs of compute capability 9.0 to 10.x
    SelectWave,
    /// The numbers that have a flag, and the others
    Partition,
    /// The positions of flags, whatever the numbers
    Positions,
    /// The first of each run of equal neighbours
    Unique,
    /// The same, and where runs start and how long they are
    Runs,
    /// The numbers as they are
    Collect,
    /// How many numbers fall into each of some bins of one width
    HistogramEven,
    /// How many lie between neighbouring edges
    HistogramEdges,
    /// How often each value occurs
    HistogramValues,
}

/// Catches a misspelt name before any work; whether the device exists is asked later.
fn device_name(text: &str) -> Result<String, String> {
    let number = text.strip_prefix("cuda:");
    let is_number = number.is_some_and(|number| number.parse::<u32>().is_ok());
    match text == "cpu" || text == "cuda" || is_number || names_several(text) {
        true => Ok(text.into()),
        false => Err("write `cpu`, `cuda` or `cuda:N`; or several: `cuda:all`, `cuda:0,1`".into()),
    }
}

/// Whether a name is that of several devices: `cuda:all`, `cuda:0,1`, or `cpu:4`.
pub(crate) fn names_several(text: &str) -> bool {
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    match (text.strip_prefix("cuda:"), text.strip_prefix("cpu:")) {
        (Some("all"), _) => true,
        (Some(list), _) => list.contains(',') && list.split(',').all(is_number),
        (_, count) => count.is_some_and(is_number),
    }
}

/// The number of a GPU.
fn gpu_number(text: &str) -> Result<usize, String> {
    let number = match text {
        "cuda" => Some(0),
        _ => text
            .strip_prefix("cuda:")
            .and_then(|number| number.parse().ok()),
    };
    number.ok_or_else(|| "write `cuda` or `cuda:N`".into())
}
