//! Numbers as text: words between white space, or the fields of a table with a delimiter.
//!
//! One [lexer] cuts every text into lines, rows and fields, so words and tables agree on what a
//! line, a comment or a quote is. A [layout] says which fields are read, and [spelling] what a
//! field means. Two readers stand on these:
//!
//! * [`Text`] gives one sequence of numbers in one type: all numbers of the text, row by row, or
//!   those of the columns that `--column` names.
//! * [`Table`] gives the columns side by side, each in its own type, and some rows at a time. A
//!   text is a table if it has a delimiter, a header, or is read with `--column`; other words are
//!   one column without a name. Without `--column`, all columns that hold numbers are read, and a
//!   warning names the others.
//!
//! The reading of a `Table`, which [`Columns`](crate::columns::Columns) reads:
//!
//! ```text
//! for column in &table.columns { column.name, column.number, column.dtype }
//! loop {
//!     let columns: Vec<Values> = table.read(PIECE)?;      // in the order of table.columns
//!     for values in columns {
//!         with_number!(values.dtype(), T => { let values: Vec<T> = values.into_vec(); … })
//!     }
//!     if table.ended() { break }
//! }
//! table.missing(0)                                        // of the first column, at the end
//! ```
//!
//! Missing values: with `--missing error`, the default, the first one is an error; with `nan` it is
//! a NaN; with `skip` it takes part in nothing, but keeps its place: positions count it. [`Gaps`]
//! says whether its row is left out in all columns, or columns may differ in length; the places are
//! handed out beside the values. When the text ends, what was skipped is told on the standard
//! error, once for each file.

mod column;
mod doubts;
mod layout;
mod lexer;
mod oddity;
mod rows;
mod spelling;
mod survey;
mod tabs;
#[cfg(test)]
mod tests;
mod values;
mod words;

pub(crate) use column::Column;
pub(crate) use values::Values;
pub(crate) use words::Words;

use crate::args::TextArguments;
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::{DType, Number};
use layout::Keys;
use rows::{Arrangement, Rows, Sink};
use spelling::{Bad, Needs, Spelling};

/// So much is looked through for the type of the numbers.
const SAMPLE_BYTES: usize = if cfg!(test) { 256 } else { 16 << 20 };

/// A number of an option as Rust writes it: it may have the marks of the text, or those of Rust
/// where these mean nothing else.
pub(crate) fn plain_number(number: &str, options: &TextArguments) -> Result<String> {
    Spelling::of(options)?.plain_number(number)
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

/// One sequence of numbers.
pub(crate) struct Text {
    rows: Rows,
    /// How many columns are read; one if all numbers stand one behind the other.
    pub(crate) columns: usize,
    inferred: bool,
    absent: Vec<usize>,
}

impl Text {
    /// Takes the start of a text apart. The type of its numbers is that which is given, or else
    /// `f64` if any number at the start of the text has a point, an exponent, or is `inf` or `nan`;
    /// if not, `u64` if one is beyond `i64` and none is negative, and else `i64`.
    pub(crate) fn open(
        input: Input,
        options: &TextArguments,
        dtype: Option<DType>,
    ) -> Result<(Text, DType)> {
        let mut rows = Rows::open(input, options)?;
        let keys = Keys {
            names: &[],
            are_numbers: dtype.is_some(),
        };
        let (columns, needs) = match rows.arrange(options, keys)? {
            Arrangement::Columns(columns) => {
                let needs = columns.iter().map(|column| column.needs);
                (columns.len(), needs.fold(Needs::default(), Needs::and))
            }
            Arrangement::Sequence(needs) => (1, needs),
        };
        let inferred = dtype.is_none();
        let dtype = dtype.unwrap_or(needs.dtype());
        let absent = Vec::new();
        Ok((
            Text {
                rows,
                columns,
                inferred,
                absent,
            },
            dtype,
        ))
    }

    /// Reads up to so many numbers. Fewer are the last.
    pub(crate) fn read<T: Number>(&mut self, count: usize) -> Result<Vec<T>> {
        let mut sequence = Sequence {
            values: Vec::new(),
            absent: Vec::new(),
            most: count,
        };
        self.rows.read(&mut sequence, self.inferred)?;
        self.absent = sequence.absent;
        Ok(sequence.values)
    }

    /// The places, among those that were read last, whose value was skipped.
    pub(crate) fn take_absent(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.absent)
    }

    /// Refuses numbers with zeros in front.
    pub(crate) fn refuse_codes(&mut self) {
        self.rows.refuse_codes(vec![true; self.rows.missing.len()]);
    }

    /// How many values were missing so far.
    pub(crate) fn missing(&self) -> u64 {
        self.rows.missing.iter().sum()
    }

    /// Whether the first row names the columns.
    pub(crate) fn has_header(&self) -> bool {
        self.rows.has_header
    }

    /// Whether all numbers were read.
    pub(crate) fn ended(&self) -> bool {
        self.rows.ended
    }
}

/// Up to so many numbers.
struct Sequence<T> {
    values: Vec<T>,
    /// The places that lack one.
    absent: Vec<usize>,
    most: usize,
}

impl<T: Number> Sink for Sequence<T> {
    fn dtype(&self, _: usize) -> DType {
        T::DTYPE
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.values.len() + self.absent.len() >= self.most
    }

    #[inline]
    fn take(&mut self, _: usize, field: &[u8], spelling: &Spelling) -> Result<bool, Bad> {
        let number = spelling.number::<T>(field)?;
        match number {
            Some(number) => self.values.push(number),
            None => self.absent.push(self.values.len() + self.absent.len()),
        }
        Ok(number.is_some())
    }

    fn end_row(&mut self) -> bool {
        true
    }
}

/// Whether a row with a gap is left out as a whole, when missing values are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// Each column leaves out its own.
    Apart,
    /// Rows stay together.
    Together,
}

/// Columns of numbers, side by side.
pub(crate) struct Table {
    rows: Rows,
    pub(crate) columns: Vec<TableColumn>,
    gaps: Gaps,
    inferred: bool,
    absent: Vec<Vec<usize>>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableColumn {
    /// From 1 on.
    pub(crate) number: usize,
    pub(crate) name: Option<String>,
    /// That of the codes, if it holds words.
    pub(crate) dtype: DType,
    /// Its words, if it is a key that holds words.
    pub(crate) words: Option<Words>,
}

impl Table {
    /// Takes the start of a text apart. Each column has the type that is given, or else that of
    /// its own numbers, chosen as for a [`Text`]. Columns that `keys` call may hold words.
    pub(crate) fn open(
        input: Input,
        options: &TextArguments,
        dtype: Option<DType>,
        gaps: Gaps,
        keys: &[String],
    ) -> Result<Table> {
        let mut rows = Rows::open(input, options)?;
        let of = |needs: Needs| dtype.unwrap_or(needs.dtype());
        let keys = Keys {
            names: keys,
            are_numbers: dtype.is_some(),
        };
        let columns = match rows.arrange(options, keys)? {
            Arrangement::Columns(columns) => {
                rows.refuse_codes(columns.iter().map(|found| found.may_be_codes).collect());
                if gaps == Gaps::Together {
                    rows.tell_of_codes(&columns);
                }
                let file = rows.name();
                let columns = columns.into_iter().map(|found| TableColumn {
                    number: found.index + 1,
                    dtype: match found.has_words {
                        true => DType::U64,
                        false => of(found.needs),
                    },
                    words: found.has_words.then(|| {
                        let is_doubtful = !options.words;
                        let title = || format!("{file}: column {}", found.title());
                        Words::of(is_doubtful.then(title))
                    }),
                    name: found.name,
                });
                columns.collect()
            }
            Arrangement::Sequence(needs) => {
                if gaps == Gaps::Together {
                    rows.tell_of_codes(&[]);
                }
                vec![TableColumn {
                    number: 1,
                    name: None,
                    dtype: of(needs),
                    words: None,
                }]
            }
        };
        Ok(Table {
            rows,
            columns,
            gaps,
            inferred: dtype.is_none(),
            absent: Vec::new(),
        })
    }

    /// Reads the columns of up to so many rows.
    pub(crate) fn read(&mut self, rows: usize) -> Result<Vec<Values>> {
        let mut chunk = Chunk {
            values: self
                .columns
                .iter()
                .map(|column| Values::of(column.dtype))
                .collect(),
            words: self
                .columns
                .iter()
                .map(|column| column.words.clone())
                .collect(),
            // Each word that has no place is a row of its own.
            is_flat: self.rows.is_flat(),
            together: self.gaps == Gaps::Together,
            absent: vec![Vec::new(); self.columns.len()],
            has_gap: false,
            whole: 0,
            rows: 0,
            most: rows,
        };
        self.rows.read(&mut chunk, self.inferred)?;
        self.absent = chunk.absent;
        Ok(chunk.values)
    }

    /// The places, among the rows that were read last, that each column skipped: with
    /// [`Gaps::Together`] all columns the same.
    pub(crate) fn take_absent(&mut self) -> Vec<Vec<usize>> {
        std::mem::take(&mut self.absent)
    }

    /// Refuses numbers with zeros in front.
    pub(crate) fn refuse_codes(&mut self) {
        self.rows.refuse_codes(vec![true; self.columns.len()]);
    }

    /// What separates the columns, if it is not white space.
    pub(crate) fn delimiter(&self) -> Option<u8> {
        self.rows.delimiter()
    }

    /// Whether all rows were read.
    pub(crate) fn ended(&self) -> bool {
        self.rows.ended
    }

    /// How many values of a column were missing so far, of those in [`Table::columns`].
    pub(crate) fn missing(&self, column: usize) -> u64 {
        self.rows.missing[column]
    }
}

/// The columns of up to so many rows.
struct Chunk {
    values: Vec<Values>,
    /// The words of each column that holds words.
    words: Vec<Option<Words>>,
    is_flat: bool,
    together: bool,
    /// The rows that each column lacks.
    absent: Vec<Vec<usize>>,
    /// Whether the row lacks a value so far.
    has_gap: bool,
    /// The rows that lack none.
    whole: usize,
    rows: usize,
    most: usize,
}

impl Sink for Chunk {
    fn dtype(&self, lane: usize) -> DType {
        self.values[lane].dtype()
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.rows >= self.most
    }

    #[inline]
    fn take(&mut self, lane: usize, field: &[u8], spelling: &Spelling) -> Result<bool, Bad> {
        let there = match &self.words[lane] {
            Some(words) => self.values[lane].push_word(field, spelling, words)?,
            None => self.values[lane].push(field, spelling)?,
        };
        if !there {
            self.has_gap = true;
            if self.is_flat || !self.together {
                self.absent[lane].push(self.rows);
            }
        }
        self.rows += usize::from(self.is_flat);
        Ok(there)
    }

    #[inline]
    fn end_row(&mut self) -> bool {
        if self.is_flat {
            return true;
        }
        let is_torn = self.together && std::mem::take(&mut self.has_gap);
        if is_torn {
            for (values, absent) in self.values.iter_mut().zip(&mut self.absent) {
                values.truncate(self.whole);
                absent.push(self.rows);
            }
        }
        self.whole += usize::from(!is_torn);
        self.rows += 1;
        !is_torn
    }
}

/// A few characters of what stands in a text, for a message.
fn shown(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    let mut characters = text.chars();
    let mut shown = String::new();
    for character in characters.by_ref().take(SHOWN) {
        match character.is_control() {
            true => shown.extend(character.escape_debug()),
            false => shown.push(character),
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}
