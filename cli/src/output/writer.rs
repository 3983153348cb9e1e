//! Numbers on their way out, in any format.

use super::Output;
use crate::args::OutputFormat;
use crate::columns::Column;
use crate::failure::{Failure, Result};
use crate::npy::{self, Times};
use crate::number::{DType, Number, TO_F64, with_number};
use crate::pieces::Places;
use crate::text::{Values, Words};
use crate::value::Value;
use std::sync::Arc;
use warpfold::bytemuck::{self, Pod};

/// Text is handed on in pieces of about this size.
const CHUNK_BYTES: usize = 1 << 16;

/// What stands for an absent number where an empty field could not be seen.
const ABSENT: &[u8] = b"NA";

/// Writes numbers piece by piece.
pub(crate) struct Writer {
    output: Output,
    format: OutputFormat,
    dtype: DType,
    /// The lengths of the axes, where they were known beforehand.
    shape: Option<Vec<usize>>,
    /// How many numbers a line of text has, and what separates them.
    row: usize,
    separator: u8,
    /// What the numbers are if they are times or durations.
    times: Option<Times>,
    /// Whether each number comes with a count.
    counted: bool,
    /// Whether there are two axes, of rows and columns.
    is_table: bool,
    written: usize,
    begun: bool,
    text: Vec<u8>,
}

impl Writer {
    /// Begins to write numbers of a type. Without a shape they have one axis, as long as they are
    /// many. In text the last axis of several is a line.
    pub(crate) fn new(
        output: Output,
        format: OutputFormat,
        dtype: DType,
        shape: Option<Vec<usize>>,
    ) -> Writer {
        let row = match shape.as_deref() {
            Some([_, .., row]) => *row,
            _ => 1,
        };
        Writer {
            separator: output.promise.separator.unwrap_or(b' '),
            output,
            format,
            dtype,
            shape,
            row,
            times: None,
            counted: false,
            is_table: false,
            written: 0,
            begun: false,
            text: Vec::new(),
        }
    }

    /// Takes rows of so many numbers: an array of two axes.
    fn rows(self, row: usize) -> Writer {
        Writer {
            row,
            is_table: true,
            ..self
        }
    }

    /// Says that the numbers are times or durations.
    pub(crate) fn times(self, times: Option<Times>) -> Writer {
        Writer { times, ..self }
    }

    /// Takes a count beside each number.
    pub(crate) fn counted(self) -> Writer {
        Writer {
            counted: true,
            ..self
        }
    }

    /// Writes the header before the first numbers, and not before there are any: an input that
    /// cannot be read leaves nothing.
    fn begin(&mut self) -> Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        match self.format {
            OutputFormat::Npy => {
                if self.shape.is_none() {
                    self.output.keep_start()?;
                }
                self.output.write(&self.header())
            }
            OutputFormat::Json => {
                let (name, open) = match (self.is_single(), self.counted) {
                    (true, _) => ("value", ""),
                    (false, false) => ("values", "["),
                    (false, true) => ("runs", "["),
                };
                self.output.keep_all()?;
                let unit = self.times.as_ref();
                let unit = unit.map_or(String::new(), |times| format!("\"unit\":\"{times}\","));
                let start = format!("{{\"dtype\":\"{}\",{unit}\"{name}\":{open}", self.dtype);
                self.output.write(start.as_bytes())
            }
            OutputFormat::Raw | OutputFormat::Text => Ok(()),
        }
    }

    /// The header of an .npy file. It is as long for every length of one axis.
    fn header(&self) -> Vec<u8> {
        match &self.shape {
            Some(shape) => npy::header_bytes(self.dtype, self.times.as_ref(), shape),
            None if self.is_table => npy::header_bytes(
                self.dtype,
                self.times.as_ref(),
                &[self.written / self.row, self.row],
            ),
            None => npy::header_bytes(self.dtype, self.times.as_ref(), &[self.written]),
        }
    }

    /// Whether there is a number and no axis.
    fn is_single(&self) -> bool {
        self.shape.as_ref().is_some_and(Vec::is_empty)
    }

    /// Writes numbers, in the type that was said.
    pub(crate) fn write(&mut self, values: impl Into<Values>) -> Result<()> {
        self.write_all(&values.into().cast(self.dtype))
    }

    /// Writes numbers of the type that was said.
    fn write_all(&mut self, values: &Values) -> Result<()> {
        self.begin()?;
        if self.format.is_binary() {
            self.output.write(values.bytes())?;
        } else if self.format == OutputFormat::Json {
            for row in 0..values.len() {
                if self.written + row > 0 {
                    self.text.push(b',');
                }
                append_json(&values.value(row), &mut self.text);
                self.hand_on(CHUNK_BYTES)?;
            }
            self.hand_on(0)?;
        } else {
            with_number!(self.dtype, T => {
                let numbers: &[T] = bytemuck::cast_slice(values.bytes());
                self.write_text(numbers)?;
            });
        }
        self.written += values.len();
        Ok(())
    }

    /// Writes numbers of the type that was said, and `NA` where one is absent.
    pub(crate) fn write_values(&mut self, values: Values, absent: &[usize]) -> Result<()> {
        if absent.is_empty() {
            return self.write_all(&values.cast(self.dtype));
        }
        let cells = cells(values.len(), absent);
        if self.format.is_binary() {
            let values = spread(&self.output.name, &values, &cells)?;
            return self.write_values(values, &[]);
        }
        self.begin()?;
        let json = self.format == OutputFormat::Json;
        for cell in cells {
            if json && self.written > 0 {
                self.text.push(b',');
            }
            match (cell, json) {
                (Some(at), false) => values.append_text(at, &mut self.text),
                (Some(at), true) => append_json(&values.value(at), &mut self.text),
                (None, true) => append_json(&Value::Nothing, &mut self.text),
                // An empty line would be passed over where it is read.
                (None, false) => self.text.extend_from_slice(ABSENT),
            }
            if !json {
                self.text.push(b'\n');
            }
            self.written += 1;
            self.hand_on(CHUNK_BYTES)?;
        }
        self.hand_on(0)
    }

    /// Writes numbers of the type of the output, as text.
    fn write_text<T: Number>(&mut self, values: &[T]) -> Result<()> {
        let (written, row, separator) = (self.written, self.row, self.separator);
        for (index, value) in values.iter().enumerate() {
            value.append_to(&mut self.text);
            let ends = (written + index + 1).is_multiple_of(row);
            self.text.push(if ends { b'\n' } else { separator });
            self.hand_on(CHUNK_BYTES)?;
        }
        self.hand_on(0)
    }

    /// Writes numbers as text, each with a count before it: as `uniq -c` does, or in columns where
    /// the name of the output says so.
    pub(crate) fn write_counted(&mut self, counts: &[u64], values: &Values) -> Result<()> {
        self.begin()?;
        for (row, count) in counts.iter().enumerate() {
            match self.format {
                OutputFormat::Json => {
                    if self.written > 0 {
                        self.text.push(b',');
                    }
                    self.text.extend_from_slice(b"{\"value\":");
                    append_json(&values.value(row), &mut self.text);
                    let count = format!(",\"count\":{count}}}");
                    self.text.extend_from_slice(count.as_bytes());
                }
                _ => {
                    let count = match self.output.promise.separator {
                        Some(separator) => format!("{count}{}", char::from(separator)),
                        None => format!("{count:7} "),
                    };
                    self.text.extend_from_slice(count.as_bytes());
                    values.append_text(row, &mut self.text);
                    self.text.push(b'\n');
                }
            }
            self.written += 1;
            self.hand_on(CHUNK_BYTES)?;
        }
        self.hand_on(0)
    }

    /// Writes the text so far if it is so long.
    fn hand_on(&mut self, least: usize) -> Result<()> {
        if self.text.len() > least {
            self.output.write(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// Makes sure that all is written, and gives a file its name.
    pub(crate) fn finish(self) -> Result<()> {
        self.end()?.finish()
    }

    /// Writes the end, after which the output can be finished.
    pub(crate) fn end(mut self) -> Result<Output> {
        self.begin()?;
        match &self.shape {
            Some(shape) if npy::count_of(shape) != Some(self.written) => {
                let cause = "the input changed while it was read";
                return Err(Failure::at(&self.output.name, cause));
            }
            None if self.format == OutputFormat::Npy => {
                let header = self.header();
                self.output.write_start(&header)?;
            }
            _ => {}
        }
        if self.format == OutputFormat::Json {
            let end = match &self.shape {
                Some(shape) if shape.is_empty() => "}\n".into(),
                _ if self.counted => "]}\n".into(),
                Some(shape) => format!("],\"shape\":{shape:?}}}\n"),
                None => format!("],\"shape\":[{}]}}\n", self.written),
            };
            self.output.write(end.as_bytes())?;
        }
        Ok(self.output)
    }
}

/// Writes the rows of a table.
pub(crate) struct TableWriter {
    /// Of npy and raw, which have one type.
    binary: Option<Writer>,
    output: Option<Output>,
    json: bool,
    separator: u8,
    /// The words of each column that holds words, by their codes.
    words: Vec<Option<Vec<Arc<str>>>>,
    rows: usize,
    text: Vec<u8>,
}

impl TableWriter {
    /// Begins with the names of columns, if they have any. What separates columns is what the name
    /// of the output says, or else `separator`. All words of the columns must be known.
    pub(crate) fn new(
        output: Output,
        format: OutputFormat,
        columns: &[Column],
        separator: u8,
    ) -> Result<TableWriter> {
        let separator = output.promise.separator.unwrap_or(separator);
        let mut writer = TableWriter {
            binary: None,
            output: None,
            json: format == OutputFormat::Json,
            separator,
            words: columns
                .iter()
                .map(|column| column.words.as_ref().map(Words::list))
                .collect(),
            rows: 0,
            text: Vec::new(),
        };
        if let Some(column) = columns.iter().find(|column| column.words.is_some())
            && format.is_binary()
        {
            return Err(Failure::with_remedy(
                &output.name,
                format_args!(
                    "column {} holds words, and here is room for numbers",
                    column.title()
                ),
                match output.promise.format {
                    Some(_) => "give a name that ends in .csv, .tsv or .json",
                    None => "give a name that ends in .csv, .tsv or .json, or --output-format text",
                },
            ));
        }
        if format.is_binary() {
            let dtype = columns[0].dtype;
            if let Some(other) = columns.iter().find(|column| column.dtype != dtype) {
                return Err(Failure::with_remedy(
                    &output.name,
                    format_args!(
                        "the columns have different types: {} is {dtype}, {} is {}",
                        columns[0].title(),
                        other.title(),
                        other.dtype
                    ),
                    match output.promise.format {
                        _ if columns.iter().all(|column| !column.is_made) => {
                            format!("{TO_F64}, or write .csv, .tsv or .json")
                        }
                        Some(_) => "give a name that ends in .csv, .tsv or .json, and no other \
                                    --output-format"
                            .into(),
                        None => "give --output-format text or --output-format json".into(),
                    },
                ));
            }
            writer.binary = Some(Writer::new(output, format, dtype, None).rows(columns.len()));
            return Ok(writer);
        }
        let output = writer.output.insert(output);
        if writer.json {
            output.keep_all()?;
            let titles: Vec<_> = columns.iter().map(Column::title).collect();
            let dtypes: Vec<_> = columns
                .iter()
                .map(|column| match column.words {
                    Some(_) => "str".to_owned(),
                    None => column.dtype.to_string(),
                })
                .collect();
            let titles = serde_json::to_string(&titles).expect("names have a text");
            let dtypes = serde_json::to_string(&dtypes).expect("names have a text");
            let start = format!("{{\"columns\":{titles},\"dtypes\":{dtypes},\"rows\":[");
            writer.text.extend_from_slice(start.as_bytes());
        } else if columns.iter().any(|column| column.name.is_some()) {
            for (place, column) in columns.iter().enumerate() {
                if place > 0 {
                    writer.text.push(separator);
                }
                let name = quoted(&column.title(), separator);
                writer.text.extend_from_slice(name.as_bytes());
            }
            writer.text.push(b'\n');
        }
        Ok(writer)
    }

    /// Writes some rows, column by column: as many as the shortest column has. What is absent from
    /// a column leaves an empty field.
    pub(crate) fn write(&mut self, columns: &[Values], absent: &[Vec<usize>]) -> Result<()> {
        let cells: Option<Vec<_>> = absent.iter().any(|absent| !absent.is_empty()).then(|| {
            let columns = columns.iter().zip(absent);
            columns
                .map(|(values, absent)| cells(values.len(), absent))
                .collect()
        });
        if let (Some(writer), Some(cells)) = (&self.binary, &cells) {
            let name = &writer.output.name;
            let spread = columns
                .iter()
                .zip(cells)
                .map(|(values, cells)| spread(name, values, cells));
            let spread: Vec<_> = spread.collect::<Result<_>>()?;
            return self.write(&spread, &[]);
        }
        let rows = match &cells {
            Some(cells) => cells.iter().map(Vec::len).min(),
            None => columns.iter().map(Values::len).min(),
        };
        let rows = rows.unwrap_or(0);
        if let Some(writer) = &mut self.binary {
            let dtype = writer.dtype;
            let columns = columns.iter().map(|values| values.clone().cast(dtype));
            let columns: Vec<Values> = columns.collect();
            let mut all = Values::zeros(dtype, rows * columns.len());
            let to = all.bytes_mut();
            match dtype.size() {
                1 => interleave::<u8>(&columns, to),
                2 => interleave::<u16>(&columns, to),
                4 => interleave::<u32>(&columns, to),
                _ => interleave::<u64>(&columns, to),
            }
            return writer.write_all(&all);
        }
        for row in 0..rows {
            if self.json {
                self.text
                    .extend_from_slice(if self.rows > 0 { b",[" } else { b"[" });
            }
            for (place, values) in columns.iter().enumerate() {
                if place > 0 {
                    self.text
                        .push(if self.json { b',' } else { self.separator });
                }
                let at = match &cells {
                    Some(cells) => cells[place][row],
                    None => Some(row),
                };
                let word = self.words[place].as_ref().zip(at);
                if let Some((words, at)) = word {
                    let code = values.value(at);
                    let word = word_of(code, words);
                    match self.json {
                        true => append_json(&word, &mut self.text),
                        false => {
                            self.text
                                .extend_from_slice(quoted(word, self.separator).as_bytes());
                        }
                    }
                    continue;
                }
                match (self.json, at) {
                    (true, Some(at)) => append_json(&values.value(at), &mut self.text),
                    (true, None) => append_json(&Value::Nothing, &mut self.text),
                    (false, Some(at)) => values.append_text(at, &mut self.text),
                    (false, None) if self.separator == b' ' => self.text.extend_from_slice(ABSENT),
                    (false, None) => {}
                }
            }
            self.text.push(if self.json { b']' } else { b'\n' });
            self.rows += 1;
            self.hand_on(CHUNK_BYTES)?;
        }
        self.hand_on(0)
    }

    fn hand_on(&mut self, least: usize) -> Result<()> {
        if self.text.len() > least
            && let Some(output) = &mut self.output
        {
            output.write(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// Makes sure that all is written, and gives a file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.json {
            self.text.extend_from_slice(b"]}\n");
        }
        self.hand_on(0)?;
        match (self.binary, self.output) {
            (Some(writer), _) => writer.finish(),
            (None, Some(output)) => output.finish(),
            (None, None) => Ok(()),
        }
    }
}

/// Writes rows of numbers of so many bytes, column by column.
fn interleave<Bits: Pod>(columns: &[Values], to: &mut [u8]) {
    let columns = columns
        .iter()
        .map(|values| bytemuck::cast_slice(values.bytes()));
    let columns: Vec<&[Bits]> = columns.collect();
    let to: &mut [Bits] = bytemuck::cast_slice_mut(to);
    for (row, to) in to.chunks_exact_mut(columns.len()).enumerate() {
        for (to, column) in to.iter_mut().zip(&columns) {
            *to = column[row];
        }
    }
}

/// Which of so many numbers stands in each place: none where one is absent.
fn cells(count: usize, absent: &[usize]) -> Vec<Option<usize>> {
    let mut cells = vec![None; Places::of(absent).place(count)];
    let mut places = Places::of(absent);
    (0..count).for_each(|number| cells[places.place(number)] = Some(number));
    cells
}

/// The numbers in their places, for formats that have no empty field.
fn spread(name: &str, values: &Values, cells: &[Option<usize>]) -> Result<Values> {
    values.spread(cells).ok_or_else(|| {
        Failure::with_remedy(
            name,
            format_args!(
                "a missing value keeps its place, and {} has no NaN for it",
                values.dtype()
            ),
            format_args!("{TO_F64}, or write text, .csv or .json"),
        )
    })
}

/// A name as CSV has it.
pub(crate) fn quoted(name: &str, separator: u8) -> String {
    let plain = |byte: u8| byte != separator && !b"\"\r\n".contains(&byte);
    let is_comment = name.starts_with('#');
    match name.bytes().all(plain) && name.trim() == name && !name.is_empty() && !is_comment {
        true => name.into(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// The word that a code stands for.
fn word_of(code: Value, words: &[Arc<str>]) -> &str {
    match code {
        Value::Integer(code) => &words[code as usize],
        _ => unreachable!("codes are integers"),
    }
}

/// Appends a number or a word as JSON has it.
fn append_json(value: &impl serde::Serialize, text: &mut Vec<u8>) {
    serde_json::to_writer(text, value).expect("memory can be written");
}
