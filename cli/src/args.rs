//! The command line.

use crate::number::{DType, Operator};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Reduce, scan, select and count the numbers in a file, and tell their statistics, on CUDA GPUs
/// and CPUs, with the same bits on each.
#[derive(Debug, Parser)]
#[command(name = "warpfold", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fold all numbers into one
    #[command(after_help = REDUCE_HELP, after_long_help = REDUCE_LONG_HELP)]
    Reduce(FoldArguments),

    /// Replace each number by the fold of all before it
    #[command(after_help = SCAN_HELP, after_long_help = SCAN_LONG_HELP)]
    Scan {
        #[command(flatten)]
        fold: FoldArguments,

        /// Fold each number in too: without --init, the first output is the first input
        #[arg(short, long)]
        inclusive: bool,
    },

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

    /// Keep the first of equal neighbours, and say how many there are
    #[command(after_help = UNIQUE_HELP, after_long_help = UNIQUE_LONG_HELP)]
    Unique(UniqueArguments),

    /// Print count, extremes and their positions, sum, mean and standard deviation
    #[command(after_help = STATS_HELP, after_long_help = STATS_LONG_HELP)]
    Stats(StatsArguments),

    /// Count how many numbers fall into each bin, as NumPy does
    #[command(after_help = HISTOGRAM_HELP, after_long_help = HISTOGRAM_LONG_HELP)]
    Histogram(HistogramArguments),

    /// List the devices, and say why CUDA cannot be used if it cannot
    Devices,

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
    },

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

#[derive(Debug, Args)]
pub(crate) struct FoldArguments {
    /// The operator
    #[arg(long, value_enum, default_value_t = Operator::Add)]
    pub(crate) op: Operator,

    /// Start from this value instead of the operator's identity
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) init: Option<String>,

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

    /// Keep what is NaN, of floats
    #[arg(long, conflicts_with_all = ["gt", "ge", "lt", "le", "eq", "ne"])]
    pub(crate) nan: bool,

    /// Keep what is not NaN, of floats
    #[arg(long, conflicts_with_all = ["gt", "ge", "lt", "le", "eq", "ne", "nan"])]
    pub(crate) not_nan: bool,
}

/// What else `warpfold unique` writes.
#[derive(Debug, Args)]
pub(crate) struct UniqueArguments {
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
    /// The number of bins [default: 10; with --bincount one more than the greatest value]
    #[arg(long, value_name = "N")]
    pub(crate) bins: Option<usize>,

    /// The lower edge of the first bin and the upper one of the last [default: the least number
    /// and the greatest]
    #[arg(long, num_args = 2, value_names = ["LO", "HI"], allow_negative_numbers = true)]
    pub(crate) range: Option<Vec<f64>>,

    /// The edges of the bins, in rising order: a list such as 0,1,2.5, or a file of text
    #[arg(long, value_name = "LIST|FILE", allow_hyphen_values = true, conflicts_with_all = ["bins", "range"])]
    pub(crate) edges: Option<String>,

    /// A bin for each value 0, 1, 2, ... of integers
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
    /// The files to read, a column of the table each; `-` or nothing is the standard input
    pub(crate) files: Vec<PathBuf>,

    /// Divide the squared deviations by n - 1, not by n: the numbers are a sample of others
    #[arg(long)]
    pub(crate) sample: bool,

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
    pub(crate) output_format: Option<Format>,
}

/// What numbers are, and where the work is done.
#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    /// The type of the elements; raw input needs it
    ///
    /// An .npy file knows its own type. In text, integers are i64, or f64 if any number has a
    /// point, an exponent, or is `inf` or `nan`.
    #[arg(long, value_enum)]
    pub(crate) dtype: Option<DType>,

    /// The format of the input [default: see the end of --help]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,

    /// Where to work: `cpu`, `cuda` or `cuda:N` [default: $WARPFOLD_DEVICE, else cpu]
    #[arg(long, value_parser = device_name)]
    pub(crate) device: Option<String>,
}

/// How numbers are laid out in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// NumPy's .npy, in C order and little endian
    Npy,
    /// The elements alone, little endian
    Raw,
    /// Decimal numbers, separated by white space or commas; written one per line
    Text,
}

impl Format {
    pub(crate) fn is_binary(self) -> bool {
        self != Format::Text
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PrimitiveName {
    /// The fold of all numbers in one launch
    Reduce,
    /// The fold of all numbers, a launch for each level of a tree
    ReduceLevels,
    /// All prefixes in one launch, on any GPU
    Scan,
    /// All prefixes, a launch for each level of Blelloch's tree
    ScanLevels,
    /// All prefixes of long arrays in one launch, on GPUs of compute capability 9.0 to 10.x
    ScanWave,
    /// The same for arrays that do not start at a multiple of 16 bytes
    ScanWaveAnywhere,
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
    if text == "cpu" || text == "cuda" || number.is_some_and(|n| n.parse::<u32>().is_ok()) {
        Ok(text.into())
    } else {
        Err("write `cpu`, `cuda` or `cuda:N`".into())
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

/// What the help of the commands says about formats; a macro, for `concat!` to take.
macro_rules! formats {
    () => {
        "\
Format of the input:
  1. --format, if given;
  2. npy, if the data begin with NumPy's magic or the name ends in .npy;
  3. raw, if the name ends in .bin, .raw or .dat; --dtype is needed then;
  4. text otherwise, as for .txt, .csv, .tsv and the standard input.
"
    };
}

const EXAMPLES: &str = "\
Examples:
  seq 10 | warpfold scan                     0 1 3 6 ... one per line
  warpfold reduce --op max data.npy          the largest element
  warpfold scan -i data.npy -o sums.npy      running sums, in the same shape
  warpfold reduce --dtype f32 samples.bin    the sum of raw little-endian floats
  warpfold select --gt 0 data.npy            the numbers above 0
  warpfold unique -c sorted.txt              each number once, and how often it stands there
  warpfold stats data.npy                    extremes, mean and standard deviation
  warpfold histogram --bins 20 data.npy      how the numbers are distributed
  warpfold devices                           what there is to work on

`warpfold reduce --help` and that of the others describe the formats.";

const LADDER_HELP: &str = "\
Examples:
  warpfold ladder
  warpfold ladder --html ladder.html
  warpfold ladder --op max --dtype i32 tree-divergent tree-convergent tree-shared
  warpfold ladder --device cuda --markdown docs/ladder.md

Every step changes one thing: from a loop on the CPU, over the kernels of five texts, to the library's own engines. \
The CPU's steps are timed here, kernels on the GPU. What kernels ask of the machine is counted in an emulator, which \
needs a C++ compiler. Each result is compared with the library's own. What is missing is said, and the rest is shown.";

const TUNE_HELP: &str = "\
Examples:
  warpfold tune > sm_90.rs
  warpfold tune --device cuda:1 --quick

For those who build warpfold. The parameters of scans in one launch, on GPUs of compute capability 9.0 to 10.x, \
are varied one at a time until nothing gains. Only speed depends on them. Every candidate's result is compared \
with the CPU's before it is timed. The search takes some minutes, on a GPU that does nothing else. The table goes \
to the standard output, what was gained to the standard error.";

const REDUCE_HELP: &str = "\
Examples:
  seq 100 | warpfold reduce
  warpfold reduce --op max --device cuda data.npy";

const REDUCE_LONG_HELP: &str = concat!(
    "\
Examples:
  seq 100 | warpfold reduce
  warpfold reduce --op max --device cuda data.npy
  warpfold reduce --dtype u32 --op bitxor words.bin

The fold of no numbers is --init, or the operator's identity.

",
    formats!(),
    "\
Format of the output:
  1. --output-format, if given;
  2. that of the ending of --output, if it is one of those above;
  3. text."
);

const SCAN_HELP: &str = "\
Examples:
  seq 10 | warpfold scan
  warpfold scan -i --op mul rates.csv --init 100
  warpfold scan data.npy -o sums.npy";

const SCAN_LONG_HELP: &str = concat!(
    "\
Examples:
  seq 10 | warpfold scan
  warpfold scan -i --op mul rates.csv --init 100
  warpfold scan data.npy -o sums.npy
  warpfold scan --dtype f32 samples.bin --output-format text | head

An array of several axes is scanned in the order it is stored in, and keeps its shape.

",
    formats!(),
    "\
Format of the output:
  1. --output-format, if given;
  2. that of the ending of --output, if it is one of those above;
  3. the format of the input."
);

const SELECT_HELP: &str = "\
Examples:
  seq 10 | warpfold select --gt 3
  warpfold select --ge 0 --lt 1 data.npy -o unit.npy
  warpfold select --not-nan --dtype f32 samples.bin -o clean.bin
  warpfold select --nan data.npy --positions -o places.npy";

const SELECT_LONG_HELP: &str = concat!(
    "\
Examples:
  seq 10 | warpfold select --gt 3
  warpfold select --ge 0 --lt 1 data.npy -o unit.npy
  warpfold select --not-nan --dtype f32 samples.bin -o clean.bin
  warpfold select --nan data.npy --positions -o places.npy

Give a lower bound, an upper bound, or both; or one of the other conditions. VALUE is read as a \
number of the elements' type. A NaN satisfies --ne and --nan only. The result has one axis, also of \
an array of several.

",
    formats!(),
    "\
Format of the output:
  1. --output-format, if given;
  2. that of the ending of --output, if it is one of those above;
  3. the format of the input."
);

const UNIQUE_HELP: &str = "\
Examples:
  printf '7 7 2 2 2 7' | warpfold unique -c
  warpfold unique sorted.npy -o different.npy --counts counts.npy";

const UNIQUE_LONG_HELP: &str = concat!(
    "\
Examples:
  printf '7 7 2 2 2 7' | warpfold unique -c
  warpfold unique sorted.npy -o different.npy --counts counts.npy
  warpfold unique --dtype u32 keys.bin -o keys.npy --starts starts.npy

Only neighbours are compared: sort the numbers first to have each one once. A NaN equals nothing, \
and -0 equals 0. The result has one axis, also of an array of several. Files of counts and of \
starts have the format of their ending, or else that of the output.

",
    formats!(),
    "\
Format of the output:
  1. --output-format, if given;
  2. that of the ending of --output, if it is one of those above;
  3. the format of the input."
);

const HISTOGRAM_HELP: &str = "\
Examples:
  warpfold histogram --bins 20 data.npy
  warpfold histogram --range 0 1 --dtype f32 samples.bin
  warpfold histogram --edges 0,18,65,120 ages.csv
  warpfold histogram --bincount --dtype u8 picture.raw -o counts.npy";

const HISTOGRAM_LONG_HELP: &str = concat!(
    "\
Examples:
  warpfold histogram --bins 20 data.npy
  warpfold histogram --range 0 1 --dtype f32 samples.bin
  warpfold histogram --edges 0,18,65,120 ages.csv
  warpfold histogram --bincount --dtype u8 picture.raw -o counts.npy
  warpfold histogram data.npy --svg chart.svg

A bin has its lower edge, and not its upper one; the last bin has both. Numbers outside of all bins \
are not counted, as are NaNs. The counts are those of numpy.histogram and numpy.bincount, for an \
array of the same type. Halves are counted as f32.

On a terminal the counts are drawn as bars. Other text has a line for each bin: its lower edge, its \
upper edge and the count, or with --bincount the value and the count, with commas between them. npy \
and raw have the counts alone, as u64.

",
    formats!(),
    "\
Format of the output:
  1. --output-format, if given;
  2. that of the ending of --output, if it is one of those above;
  3. text."
);

const STATS_HELP: &str = "\
Examples:
  seq 10 | warpfold stats
  warpfold stats january.npy february.npy";

const STATS_LONG_HELP: &str = concat!(
    "\
Examples:
  seq 10 | warpfold stats
  warpfold stats january.npy february.npy
  warpfold select --not-nan data.npy | warpfold stats --sample

A line for each statistic:
  count   how many numbers there are
  nan     how many of them are NaN, of floats
  min     the least; NaN if there is a NaN
  argmin  where that stands, from 0: the first of equal ones, or the first NaN
  max     the greatest; NaN if there is a NaN
  argmax  where that stands, as argmin
  sum     in f64; of integers exact within +-2^53
  mean    in f64
  std     the standard deviation, in f64: squared deviations over n, with --sample over n - 1
What nothing has is `-`. An array of several axes counts in the order it is stored in.

",
    formats!()
);
