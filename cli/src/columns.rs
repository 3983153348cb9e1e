//! The columns of an input: those of a table, or else all of its numbers as the only one.

use crate::args::{Format, InputArguments};
use crate::failure::{Failure, Result};
use crate::input::{Input, SharedFile};
use crate::npy::Times;
use crate::number::DType;
use crate::numbers::{Numbers, tell_of_rounding};
use crate::pieces::{PIECE, Piece, Pieces, read_ahead};
use crate::text::{Gaps, Table, Values, Words};
use std::io::{Seek, Write};
use std::path::Path;
use tempfile::SpooledTempFile;

/// A column is kept in memory up to this size, and in a temporary file beyond.
const SPOOL_BYTES: usize = 16 << 20;

/// An input of which no more was read than its types need.
pub(crate) struct Columns {
    /// The name that messages use.
    pub(crate) name: String,
    /// The columns that are read, at least one.
    pub(crate) columns: Vec<Column>,
    pub(crate) format: Format,
    /// The lengths of the axes of an array, where they are known beforehand.
    pub(crate) shape: Option<Vec<usize>>,
    /// What the numbers of an array are if they are times or durations.
    pub(crate) times: Option<Times>,
    /// What separates the columns of a table, if it is not white space.
    pub(crate) delimiter: Option<u8>,
    lasting: bool,
    source: Source,
}

/// What is known of a column beforehand.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Its name in the header.
    pub(crate) name: Option<String>,
    /// From 1 on.
    pub(crate) number: usize,
    pub(crate) dtype: DType,
    /// Its words, if it holds words: the numbers are their codes.
    pub(crate) words: Option<Words>,
    /// Whether it is none of the input, so that `--dtype` does not choose its type.
    pub(crate) is_made: bool,
}

impl Column {
    /// What people call it.
    pub(crate) fn title(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => self.number.to_string(),
        }
    }
}

enum Source {
    Numbers(Box<Numbers>),
    Table(Box<Table>),
}

impl Columns {
    /// Opens a file or the standard input. `gaps` says whether the rows of a table stay together
    /// where a value is missing; without it all numbers are one column. Columns that `keys` call
    /// may hold words.
    pub(crate) fn open(
        file: Option<&Path>,
        options: &InputArguments,
        gaps: Option<Gaps>,
        keys: &[String],
    ) -> Result<Columns> {
        let (input, format) = Input::open(file, options)?;
        if format != Format::Text {
            options.text.check_unused(&input.name)?;
        }
        let (name, lasting) = (input.name.clone(), input.lasting);
        let gaps = gaps.filter(|_| format == Format::Text && !options.flatten);
        let Some(gaps) = gaps else {
            let numbers = Numbers::of(input, format, options)?;
            let column = Column {
                name: None,
                number: 1,
                dtype: numbers.dtype,
                words: None,
                is_made: false,
            };
            return Ok(Columns {
                name,
                columns: vec![column],
                format,
                shape: numbers.shape.clone(),
                times: numbers.times.clone(),
                delimiter: None,
                lasting,
                source: Source::Numbers(numbers.into()),
            });
        };
        let table = Table::open(input, &options.text, options.dtype, gaps, keys)?;
        if table.columns.is_empty() {
            let delimiter = table.delimiter();
            return Columns::of_nothing(name, lasting, delimiter, options);
        }
        let columns = table.columns.iter().map(|column| Column {
            name: column.name.clone(),
            number: column.number,
            dtype: column.dtype,
            words: column.words.clone(),
            is_made: false,
        });
        Ok(Columns {
            name,
            columns: columns.collect(),
            format,
            shape: None,
            times: None,
            delimiter: table.delimiter(),
            lasting,
            source: Source::Table(table.into()),
        })
    }

    /// Those of a text that has no rows and no header: one column, without numbers.
    fn of_nothing(
        name: String,
        lasting: bool,
        delimiter: Option<u8>,
        options: &InputArguments,
    ) -> Result<Columns> {
        let dtype = options.dtype.unwrap_or(DType::I64);
        let options = InputArguments {
            dtype: Some(dtype),
            ..InputArguments::default()
        };
        let nothing = Input::reading(&name, std::io::empty());
        let numbers = Numbers::of(nothing, Format::Raw, &options)?;
        let column = Column {
            name: None,
            number: 1,
            dtype,
            words: None,
            is_made: false,
        };
        Ok(Columns {
            name,
            columns: vec![column],
            format: Format::Text,
            shape: None,
            times: None,
            delimiter,
            lasting,
            source: Source::Numbers(numbers.into()),
        })
    }

    /// Refuses numbers of a text with zeros in front: what tells texts apart would take them for
    /// others without these.
    pub(crate) fn refuse_codes(&mut self) {
        match &mut self.source {
            Source::Numbers(numbers) => numbers.refuse_codes(),
            Source::Table(table) => table.refuse_codes(),
        }
    }

    /// The numbers of the only column. Fails if there are several.
    pub(crate) fn into_numbers(self, command: &str) -> Result<Numbers> {
        let [column] = &self.columns[..] else {
            let titles: Vec<_> = self.columns.iter().map(Column::title).collect();
            return Err(Failure::with_remedy(
                &self.name,
                format_args!(
                    "{command} takes one column, and there are {}",
                    titles.join(", ")
                ),
                "choose one with --column, or give --flatten",
            ));
        };
        Ok(match self.source {
            Source::Numbers(numbers) => *numbers,
            Source::Table(table) => {
                Numbers::of_column(&self.name, column.dtype, self.lasting, table)
            }
        })
    }

    /// The numbers of each column. Those of several are kept in temporary files.
    pub(crate) fn into_each(self, command: &str) -> Result<Vec<(Column, Numbers)>> {
        let columns = self.columns.clone();
        if let [column] = &columns[..] {
            return Ok(vec![(column.clone(), self.into_numbers(command)?)]);
        }
        let failure = |error| Failure::at("a temporary file", error);
        let names: Vec<String> = columns.iter().map(|column| self.name_of(column)).collect();
        let mut spools: Vec<_> = columns
            .iter()
            .map(|_| SpooledTempFile::new(SPOOL_BYTES))
            .collect();
        let types = self.dtypes();
        for piece in self.pieces(types) {
            for (spool, values) in spools.iter_mut().zip(piece?) {
                spool.write_all(values.bytes()).map_err(failure)?;
            }
        }
        let each = columns.into_iter().zip(names).zip(spools);
        each.map(|((column, name), mut spool)| {
            spool.rewind().map_err(failure)?;
            let options = InputArguments {
                dtype: Some(column.dtype),
                ..InputArguments::default()
            };
            let numbers = Numbers::of(Input::reading(&name, spool), Format::Raw, &options)?;
            Ok((column, numbers))
        })
        .collect()
    }

    /// The file that holds all numbers as memory would, for several threads, if there is one.
    pub(crate) fn shared(self) -> Result<SharedFile, Box<Columns>> {
        let source = match self.source {
            Source::Numbers(numbers) => match numbers.shared() {
                Ok(file) => return Ok(file),
                Err(numbers) => Source::Numbers(numbers),
            },
            source => source,
        };
        Err(Columns { source, ..self }.into())
    }

    /// The name of a column for messages.
    pub(crate) fn name_of(&self, column: &Column) -> String {
        match self.columns.len() {
            1 => self.name.clone(),
            _ => format!("{}, column {}", self.name, column.title()),
        }
    }

    /// The types of the columns.
    pub(crate) fn dtypes(&self) -> Vec<DType> {
        self.columns.iter().map(|column| column.dtype).collect()
    }

    /// All pieces, each column as numbers of some type. They are read while others are worked on.
    pub(crate) fn pieces(self, dtypes: Vec<DType>) -> Pieces<Vec<Values>> {
        read_ahead(self, move |columns| columns.read(&dtypes))
    }

    fn read(&mut self, dtypes: &[DType]) -> Result<Piece<Vec<Values>>> {
        match &mut self.source {
            Source::Numbers(numbers) => {
                let piece = numbers.read(dtypes[0])?;
                Ok(Piece {
                    values: vec![piece.values],
                    absent: piece.absent,
                    missing: piece.missing,
                    last: piece.last,
                })
            }
            Source::Table(table) => {
                let values = table.read(PIECE)?;
                let values = values.into_iter().zip(dtypes);
                let cast = |(values, dtype): (Values, &DType)| {
                    if !values.dtype().is_float() && dtype.is_float() {
                        tell_of_rounding(&self.name, (values.dtype(), values.bytes()), *dtype);
                    }
                    values.cast(*dtype)
                };
                let values: Vec<_> = values.map(cast).collect();
                Ok(Piece {
                    absent: table.take_absent(),
                    missing: (0..values.len())
                        .map(|column| table.missing(column))
                        .collect(),
                    last: table.ended(),
                    values,
                })
            }
        }
    }
}
