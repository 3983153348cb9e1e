//! The arguments of commands about devices and what runs there.

use crate::number::{DType, Operator};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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

    /// The operator of `reduce` and `scan` [default: add]
    #[arg(long, value_enum)]
    pub(crate) op: Option<Operator>,

    /// The type of the elements; `vectors`, `decode` and `scatter` do not depend on it
    #[arg(long, value_enum)]
    pub(crate) dtype: Option<DType>,

    /// How many there are, such as 1000 or 1e6, or of `search` how many needles; of an axis the
    /// shape says it
    #[arg(short = 'n', long, value_name = "N", value_parser = number_of_items)]
    pub(crate) items: Option<usize>,

    /// How many are kept by `top`
    #[arg(short = 'k', value_name = "K", value_parser = number_of_items)]
    pub(crate) k: Option<usize>,

    /// How many rows there are of which `top` keeps so many each; -n counts the items of all rows
    #[arg(long, value_name = "N", value_parser = number_of_items)]
    pub(crate) rows: Option<usize>,

    /// How many segments there are
    #[arg(long, value_name = "N", value_parser = number_of_items)]
    pub(crate) segments: Option<usize>,

    /// How many items each row of `vectors` has
    #[arg(long, value_name = "N", value_parser = number_of_items)]
    pub(crate) columns: Option<usize>,

    /// The shape of an array, such as 1000,5000
    #[arg(long, value_name = "N,...", value_parser = number_of_items, value_delimiter = ',')]
    pub(crate) shape: Option<Vec<usize>>,

    /// The axis of the array, from 0 on, or from -1 on from the end
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) axis: Option<i64>,

    /// How many bins of one width a histogram has
    #[arg(long, value_name = "N", value_parser = number_of_items)]
    pub(crate) bins: Option<usize>,

    /// Explain the weighted histogram, with weights of this type
    #[arg(long, value_enum, value_name = "DTYPE")]
    pub(crate) weights: Option<DType>,

    /// Explain the scan of segments, or along an axis, and not the fold
    #[arg(long)]
    pub(crate) scan: bool,

    /// A GPU of this machine: `cuda` or `cuda:N` [default: the one that the next options describe]
    #[arg(
        long,
        value_name = "GPU",
        value_parser = gpu_number,
        conflicts_with_all = ["capability", "multiprocessors"]
    )]
    pub(crate) device: Option<usize>,

    /// The compute capability of a GPU
    #[arg(long, value_name = "X.Y", value_parser = compute_capability, default_value = "9.0")]
    pub(crate) capability: u32,

    /// How many multiprocessors the GPU has; an H100 and an H200 have 132
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1024),
        default_value_t = 132
    )]
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
    /// The numbers in order, in their place
    Sort,
    /// Where the numbers stand in order
    Argsort,
    /// The numbers of each segment in order, in their place
    SortSegments,
    /// The first numbers in order
    Top,
    /// One sorted array of two, which have the items together
    Merge,
    /// The fold of each segment
    Segments,
    /// The fold of each segment of rows, column by column
    Vectors,
    /// The fold along an axis
    Axis,
    /// How many numbers fall into each bin
    Histogram,
    /// Where each needle stands among sorted numbers
    Search,
    /// The numbers as they are
    Collect,
    /// For each item the value of its segment
    Decode,
    /// The numbers at their indices, in as many places
    Scatter,
}

pub(crate) fn number_of_items(text: &str) -> Result<usize, String> {
    const MOST: u64 = 1 << 53;
    // Powers of ten, too, and what else a float holds exactly.
    let of_float = || {
        let items = text.parse::<f64>().ok()?;
        let is_whole = (0.0..=MOST as f64).contains(&items) && items.fract() == 0.0;
        is_whole.then_some(items as u64)
    };
    let items = text.parse().ok().or_else(of_float);
    match items.filter(|items| *items <= MOST) {
        Some(items) => Ok(items as usize),
        None => Err("give a whole number up to 2^53, such as 1000 or 1e6".to_owned()),
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
    /// All prefixes of long arrays that start anywhere, on GPUs of compute capability 9.0 to 10.x
    ScanWaveAnywhere,
    /// All prefixes, bound by computing, in one launch, on GPUs of compute capability 8.0 and above
    ScanShares,
    /// The numbers that have a flag, which is a byte
    Select,
    /// The numbers that have a flag, of long arrays, on GPUs of compute capability 9.0 to 10.x
    SelectWave,
    /// The numbers that have a flag, and the others
    Partition,
    /// The positions of flags, whatever the numbers
    Positions,
    /// The first of each run of equal neighbours
    Unique,
    /// The first of each run, where it starts, and how long it is
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
pub(super) fn device_name(text: &str) -> Result<String, String> {
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
