//! The fields of a table with a delimiter, quoted or not: CSV and its like.

use super::{Column, Explain, Mistake, SAMPLE_BYTES, is_of_floats};
use crate::args::TextArguments;
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::{BadNumber, DType};
use csv::{ByteRecord, Reader, ReaderBuilder, Trim};
use std::io::{self, Chain, Cursor, Read};

/// Fields that are read one after the other.
pub(super) struct Table {
    name: String,
    delimiter: u8,
    reader: Reader<Chain<Cursor<Vec<u8>>, Input>>,
    record: ByteRecord,
    /// The next field of the record.
    field: usize,
    /// The only field of each record that is wanted, from 1 on; 0 for all.
    column: usize,
    /// The lines before those that the reader sees.
    skipped: u64,
    /// Whether the first record was read as a header.
    has_header: bool,
}

impl Table {
    pub(super) fn open(mut input: Input, options: &TextArguments, delimiter: u8) -> Result<Self> {
        input.skip_lines(options.skip)?;
        let name = input.name.clone();
        let mut head = vec![0; SAMPLE_BYTES];
        let count = input.fill(&mut head)?;
        head.truncate(count);
        let mut table = Table {
            name,
            delimiter,
            reader: reader(delimiter, Cursor::new(head).chain(input)),
            record: ByteRecord::new(),
            field: 0,
            column: 0,
            skipped: options.skip,
            has_header: false,
        };
        match &options.column {
            None => {}
            Some(Column::Number(number)) => table.column = *number,
            Some(Column::Name(name)) => {
                table.next_record()?;
                let names = table.record.iter().map(String::from_utf8_lossy);
                let names: Vec<_> = names.collect();
                let names: Vec<_> = names.iter().map(|name| &**name).collect();
                let column = names.iter().position(|other| other == name);
                table.column = 1 + column.ok_or_else(|| no_column(&table.name, name, &names))?;
                table.record.clear();
                table.has_header = true;
            }
        }
        Ok(table)
    }

    /// The type that the fields of the sample ask for.
    pub(super) fn infer(&mut self) -> Result<DType> {
        let (head, _) = self.reader.get_ref().get_ref();
        let head = head.get_ref();
        let whole = match head.len() < SAMPLE_BYTES {
            true => &head[..],
            false => {
                let last = head.iter().rposition(|&byte| byte == b'\n');
                &head[..last.unwrap_or(head.len())]
            }
        };
        let mut sample = reader(self.delimiter, whole);
        let mut record = ByteRecord::new();
        let mut header = self.has_header;
        let mut floats = false;
        while !floats && sample.read_byte_record(&mut record).unwrap_or(false) {
            if !std::mem::take(&mut header) {
                floats = match self.column {
                    0 => record.iter().any(is_of_floats),
                    column => record.get(column - 1).is_some_and(is_of_floats),
                };
            }
        }
        Ok(if floats { DType::F64 } else { DType::I64 })
    }

    /// Gives up to so many fields to `take`. Fewer are the last.
    pub(super) fn read(
        &mut self,
        count: usize,
        explain: Explain,
        mut take: impl FnMut(&[u8]) -> Result<(), BadNumber>,
    ) -> Result<()> {
        let mut taken = 0;
        while taken < count {
            if self.field >= self.record.len() {
                if !self.next_record()? {
                    break;
                }
                continue;
            }
            let field = &self.record[self.field];
            take(field).map_err(|bad| {
                let first = !self.has_header && self.reader.position().record() == 1;
                let (cause, remedy) = explain.bad(bad, field, first);
                self.mistake(cause, remedy)
            })?;
            taken += 1;
            self.field = match self.column {
                0 => self.field + 1,
                _ => self.record.len(),
            };
        }
        Ok(())
    }

    /// Goes to the next record that is not blank, if there is one, and to its first field that is
    /// wanted.
    fn next_record(&mut self) -> Result<bool> {
        loop {
            let more = self.reader.read_byte_record(&mut self.record);
            if !more.map_err(|error| self.unreadable(error))? {
                return Ok(false);
            }
            if self.record.len() > 1 || self.record.iter().any(|field| !field.is_empty()) {
                break;
            }
        }
        self.field = self.column.saturating_sub(1);
        if self.column > self.record.len() {
            self.field = self.record.len() - 1;
            return Err(self.mistake(
                format!("the last; there is no column {}", self.column),
                None,
            ));
        }
        Ok(true)
    }

    fn unreadable(&self, error: csv::Error) -> Failure {
        let cause = match error.into_kind() {
            csv::ErrorKind::Io(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof => "the compressed data are truncated".into(),
                _ => error.to_string(),
            },
            _ => "this is no table".into(),
        };
        Failure::at(&self.name, cause)
    }

    #[cold]
    fn mistake(&self, cause: String, remedy: Option<String>) -> Failure {
        let line = self.record.position().map_or(1, |place| place.line());
        let mistake = Mistake {
            place: format!("line {}, field {}", self.skipped + line, self.field + 1),
            cause,
            remedy,
        };
        mistake.failure(&self.name)
    }
}

fn reader<R: Read>(delimiter: u8, text: R) -> Reader<R> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(Trim::All)
        .from_reader(text)
}

/// There is no column of a name.
pub(super) fn no_column(file: &str, name: &str, names: &[&str]) -> Failure {
    Failure::with_remedy(
        file,
        format_args!("no column is named `{name}`"),
        format_args!("the first line that is read names {}", names.join(", ")),
    )
}
