//! The arguments of commands that keep or order rows.

use super::{FileArguments, TextArguments};
use crate::commands::rows::FloatOrder;
use crate::failure::Result;
use clap::Args;
use std::path::PathBuf;

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

impl Condition {
    /// Writes the bounds as Rust does, where they have the marks of the text.
    pub(crate) fn take_marks(&mut self, text: &TextArguments) -> Result<()> {
        let bounds = [
            &mut self.gt,
            &mut self.ge,
            &mut self.lt,
            &mut self.le,
            &mut self.eq,
            &mut self.ne,
        ];
        bounds
            .into_iter()
            .try_for_each(|bound| text.take_marks(bound))
    }
}

/// What rows are sorted by.
#[derive(Debug, Args)]
pub(crate) struct ByArguments {
    /// Sort rows by this column: its number, from 1 on, or its name; may be given several times,
    /// the first decides first [default: all columns, the first one first]
    ///
    /// What ends in `:asc` or `:desc` has that direction.
    #[arg(long, value_name = "N|NAME", allow_hyphen_values = true)]
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
