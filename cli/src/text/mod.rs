//! Numbers as text: words between white space, or the fields of a table with a delimiter.

mod table;
#[cfg(test)]
mod tests;
mod words;

use crate::args::TextArguments;
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::{BadNumber, DType, Number};
use std::path::Path;
use table::Table;
use words::Words;

/// So much is looked through for the type of the numbers.
const SAMPLE_BYTES: usize = if cfg!(test) { 256 } else { 16 << 20 };

/// Numbers that are read one after the other.
pub(crate) struct Text {
    fields: Fields,
    inferred: bool,
}

enum Fields {
    Words(Words),
    Table(Table),
}

/// The column that is read, if not all are.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    /// From 1 on.
    Number(usize),
    Name(String),
}

/// Where a text stands, and what is wrong with it.
struct Mistake {
    place: String,
    cause: String,
    remedy: Option<String>,
}

impl Mistake {
    fn failure(self, name: &str) -> Failure {
        let place = format!("{name}: {}", self.place);
        match self.remedy {
            Some(remedy) => Failure::with_remedy(place, self.cause, remedy),
            None => Failure::at(place, self.cause),
        }
    }
}

impl Text {
    /// Takes the start of a text apart. The type of its numbers is that which is given, or else
    /// `f64` if any number at the start of the text has a point, an exponent, or is `inf` or `nan`,
    /// and `i64` if not.
    pub(crate) fn open(
        mut input: Input,
        options: &TextArguments,
        dtype: Option<DType>,
    ) -> Result<(Text, DType)> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        if input.peek(3)? == BYTE_ORDER_MARK {
            input.fill(&mut [0; 3])?;
        }
        let delimiter = options
            .delimiter
            .or_else(|| input.path.as_deref().and_then(delimiter_of_name));
        let mut fields = match delimiter {
            None | Some(b' ') => Fields::Words(Words::open(input, options)?),
            Some(delimiter) => Fields::Table(Table::open(input, options, delimiter)?),
        };
        let inferred = dtype.is_none();
        let dtype = match (dtype, &mut fields) {
            (Some(dtype), _) => dtype,
            (None, Fields::Words(words)) => words.infer()?,
            (None, Fields::Table(table)) => table.infer()?,
        };
        Ok((Text { fields, inferred }, dtype))
    }

    /// Reads up to so many numbers. Fewer are the last.
    pub(crate) fn read<T: Number>(&mut self, count: usize) -> Result<Vec<T>> {
        let mut values = Vec::new();
        let take = |token: &[u8]| {
            values.push(T::parse(token)?);
            Ok(())
        };
        let (explain, read) = (Explain::of(T::DTYPE, self.inferred), &mut self.fields);
        match read {
            Fields::Words(words) => words.read(count, explain, take)?,
            Fields::Table(table) => table.read(count, explain, take)?,
        }
        Ok(values)
    }
}

/// The delimiter that a file's ending stands for.
fn delimiter_of_name(path: &Path) -> Option<u8> {
    let ending = path.extension()?;
    if ending.eq_ignore_ascii_case("csv") {
        Some(b',')
    } else if ending.eq_ignore_ascii_case("tsv") {
        Some(b'\t')
    } else {
        None
    }
}

/// Whether only a float is written like this.
fn is_of_floats(token: &[u8]) -> bool {
    let of_float = |byte: &u8| matches!(byte, b'.' | b'e' | b'E' | b'i' | b'I' | b'n' | b'N');
    token.iter().any(of_float)
}

/// Words for what is no number of the type that is read.
#[derive(Debug, Clone, Copy)]
struct Explain {
    dtype: DType,
    inferred: bool,
}

impl Explain {
    fn of(dtype: DType, inferred: bool) -> Self {
        Explain { dtype, inferred }
    }

    /// What is wrong with a token, and what can be done. `first` says whether it stands where a
    /// header may.
    #[cold]
    fn bad(self, bad: BadNumber, token: &[u8], first: bool) -> (String, Option<String>) {
        const SHOWN: usize = 40;
        let mut shown: String = String::from_utf8_lossy(token)
            .escape_debug()
            .take(SHOWN)
            .collect();
        if token.len() > shown.len() {
            shown.push('…');
        }
        let mut cause = bad.describe(&shown, self.dtype);
        let control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        let remedy = match bad {
            BadNumber::NotANumber if token.is_empty() => {
                cause = "a number is missing here".into();
                Some("choose a column with --column, or fill the gap".into())
            }
            BadNumber::NotANumber
                if str::from_utf8(token).is_err() || token.iter().any(control) =>
            {
                cause += "; this looks like binary data";
                Some("give --format raw and --dtype".into())
            }
            BadNumber::NotANumber if looks_like_number(token) => {
                cause += ", or more than one";
                Some(
                    "if commas separate numbers, give --delimiter ,; if they are in numbers, take \
                     them out, as tr -d , does"
                        .into(),
                )
            }
            BadNumber::NotANumber if token.iter().any(|byte| b";|".contains(byte)) => Some(
                "if this separates columns, give it as --delimiter, such as --delimiter ';'".into(),
            ),
            BadNumber::NotANumber if first => Some(
                "if this line is a header, give --skip 1, or --column NAME for a column".into(),
            ),
            BadNumber::NotAnInteger if self.inferred => {
                cause = format!("`{shown}` is not an integer, but all numbers before it are");
                Some("give --dtype f64".into())
            }
            bad => bad
                .remedy(self.dtype)
                .map(|remedy| format!("{remedy}, with --dtype")),
        };
        (cause, remedy)
    }
}

/// Whether commas are all that keeps a token from being a number.
fn looks_like_number(token: &[u8]) -> bool {
    let without: Vec<u8> = token.iter().copied().filter(|&byte| byte != b',').collect();
    without.len() < token.len() && f64::parse(&without) != Err(BadNumber::NotANumber)
}
