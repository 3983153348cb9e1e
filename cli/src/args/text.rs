//! The arguments that say how a text is laid out.

use crate::failure::{Failure, Result};
use crate::text::{Column, plain_number};
use clap::{Args, ValueEnum};

/// How text is laid out.
#[derive(Debug, Default, Args)]
pub(crate) struct TextArguments {
    /// Skip so many lines at the start of a text
    #[arg(
        long,
        value_name = "LINES",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) skip: u64,

    /// Read a column of a text: its number, from 1 on, its name in the header, or a range of
    /// either, such as 2-4, 3- or first:last; may be given several times
    ///
    /// `name:2020` is a name, and `number:3` a number, where the one can be taken for the other.
    #[arg(
        long = "column",
        value_name = "N|NAME|RANGE",
        allow_hyphen_values = true,
        value_parser = column
    )]
    pub(crate) columns: Vec<Column>,

    /// What separates the columns of a text: one character, or `tab` [default: `,` for .csv, `;`
    /// with --decimal `,`, tab for .tsv, else white space]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,

    /// The first row of a table is a header [default: if it holds words above numbers]
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,

    /// The first row of a table holds data
    #[arg(long)]
    pub(crate) no_header: bool,

    /// Let rows be longer or shorter than the header: what is beyond it is left out, what lacks is
    /// missing
    #[arg(long)]
    pub(crate) ragged: bool,

    /// The rows begin with their names, and the header does not name that column
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) row_names: bool,

    /// What a comment starts with, where a word or a field can [default: #, which starts whole
    /// lines of tables only]
    #[arg(long, value_name = "CHAR", value_parser = comment, conflicts_with = "no_comments")]
    pub(crate) comment: Option<u8>,

    /// Nothing is a comment: # is data
    #[arg(long)]
    pub(crate) no_comments: bool,

    /// What stands before the fraction of a number [default: `.`, or `,` with --thousands `.`]
    #[arg(long, value_name = "CHAR", value_parser = decimal)]
    pub(crate) decimal: Option<u8>,

    /// What stands between the thousands of a number, such as `,` or `space` [default: nothing may]
    #[arg(long, value_name = "CHAR", value_parser = thousands)]
    pub(crate) thousands: Option<char>,

    /// What to do about missing values: NA, N/A, null, -, ?, nothing at all, and the like
    /// [default: error]
    ///
    /// One that is skipped takes part in nothing, and keeps its place: reduce, stats and histogram
    /// leave it out of its column alone, positions count it, scan leaves its field empty (NA
    /// in a column by itself and between white space), and select, sort, top and group keep no row
    /// that has one.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) missing: Option<Missing>,

    /// Columns that rows are ordered or grouped by hold words, also where these look like numbers
    ///
    /// Without --missing, NA and the like are words then, too; nothing at all is still missing.
    #[arg(long, conflicts_with = "dtype")]
    pub(crate) words: bool,

    /// Another word, or a number, that stands for a missing value; may be given several times
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) missing_word: Vec<String>,
}

/// What is done about a missing value.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Missing {
    /// Leave it out, and NaN as well, and say how many
    Skip,
    /// Read NaN
    Nan,
    /// Stop there
    #[default]
    Error,
}

impl TextArguments {
    /// Writes the number of an option as Rust does, if it has the marks of the text.
    pub(crate) fn take_marks(&self, number: &mut Option<String>) -> Result<()> {
        if self.decimal.is_none() && self.thousands.is_none() {
            return Ok(());
        }
        if let Some(number) = number {
            *number = plain_number(number, self)?;
        }
        Ok(())
    }

    /// Fails if any is given: the input has another format.
    pub(crate) fn check_unused(&self, name: &str) -> Result<()> {
        let given = [
            ("--skip", self.skip > 0),
            ("--column", !self.columns.is_empty()),
            ("--delimiter", self.delimiter.is_some()),
            ("--header", self.header),
            ("--no-header", self.no_header),
            ("--ragged", self.ragged),
            ("--row-names", self.row_names),
            ("--comment", self.comment.is_some()),
            ("--no-comments", self.no_comments),
            ("--decimal", self.decimal.is_some()),
            ("--thousands", self.thousands.is_some()),
            ("--missing", self.missing.is_some()),
            ("--words", self.words),
            ("--missing-word", !self.missing_word.is_empty()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::with_remedy(
                option,
                format_args!("{name} is no text"),
                format_args!("leave {option} out, or give --format text"),
            )),
        }
    }
}

/// A column's number or name, or a range of them.
fn column(text: &str) -> Result<Column, String> {
    match text {
        "0" => Err("the first column is 1".into()),
        "" => Err("give a number or a name".into()),
        _ => Ok(Column(text.into())),
    }
}

/// A single byte that may stand between numbers.
fn delimiter(text: &str) -> Result<u8, String> {
    match ascii(text)? {
        byte if byte.is_ascii_alphanumeric() || b"+-.\"\n\r".contains(&byte) => {
            Err("numbers, quotes and lines have this character".into())
        }
        byte => Ok(byte),
    }
}

/// A single byte that starts comments, and no number.
fn comment(text: &str) -> Result<u8, String> {
    match ascii(text)? {
        byte if byte.is_ascii_digit() || b"+-.eEiInN\"\n\r".contains(&byte) => {
            Err("numbers, quotes and lines have this character".into())
        }
        byte => Ok(byte),
    }
}

/// One character of ASCII, or its name.
fn ascii(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        b"space" => Ok(b' '),
        b"comma" => Ok(b','),
        b"semicolon" => Ok(b';'),
        &[byte] if byte.is_ascii() => Ok(byte),
        _ => Err("give one ASCII character, `tab`, `comma`, `semicolon` or `space`".into()),
    }
}

/// What may stand before a fraction.
fn decimal(text: &str) -> Result<u8, String> {
    match ascii(text)? {
        byte @ (b'.' | b',' | b'\'' | b'_' | b':' | b'*') => Ok(byte),
        _ => Err("give `.` or `,`".into()),
    }
}

/// What may stand between thousands.
fn thousands(text: &str) -> Result<char, String> {
    let one = |text: &str| {
        let mut characters = text.chars();
        characters.next().filter(|_| characters.next().is_none())
    };
    match ascii(text).map(char::from).ok().or_else(|| one(text)) {
        Some(c) if !c.is_ascii_alphanumeric() && !"+-\"\n\r".contains(c) => Ok(c),
        _ => Err("give one character that is in no number, or `space`".into()),
    }
}
