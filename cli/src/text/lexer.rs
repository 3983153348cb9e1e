//! Lines, rows, fields: what a text consists of, for words and for tables alike.
//!
//! A line ends with LF, CR, or CR and LF. A row is a line that is neither blank nor a comment, or
//! several lines if there are line ends between quotes. Its fields are words between white space,
//! each with a comma behind it or not, or they have a delimiter between them. A field that begins
//! with a double quote ends with one, and two of them within stand for one.
//!
//! The text streams through a buffer that holds one block, and the field that is read.

mod cursor;
mod rules;

pub(super) use cursor::{Field, Step};
pub(super) use rules::is_error_word;

use super::Mistake;
use crate::failure::{Failure, Result};
use crate::input::Input;
use cursor::{Cursor, Fault};
use memchr::{memchr, memchr2, memrchr};
use rules::Rules;
use std::borrow::Cow;

/// So much is read at a time.
const BLOCK_BYTES: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// The least room that is made for text.
const FIRST_BYTES: usize = if cfg!(test) { 16 } else { 64 << 10 };

/// No field is longer. A quote that is never closed does not fill the memory.
pub(super) const LONGEST_FIELD: usize = if cfg!(test) { 1 << 10 } else { 16 << 20 };

/// A field is looked through at once up to this length.
const LONG: usize = 64;

/// So much of a line that is skipped is kept.
const KEPT_BYTES: usize = 1 << 16;

/// How fields and comments are told apart.
#[derive(Debug, Clone)]
pub(super) struct Dialect {
    /// What stands between fields; nothing is white space.
    pub(super) delimiter: Option<u8>,
    /// What a comment starts with.
    pub(super) comment: Option<u8>,
    /// Whether the user says so. Then a comment may follow data also in a table.
    pub(super) comment_is_said: bool,
    /// Whether a comma stands before fractions, if the user says so or the contrary.
    pub(super) comma_is_decimal: Option<bool>,
}

/// A text in pieces that are read one after the other.
pub(super) struct Lexer {
    pub(super) input: Input,
    pub(super) dialect: Dialect,
    rules: Rules,
    /// What was read and not dropped.
    buffer: Vec<u8>,
    pub(super) ended: bool,
    cursor: Cursor,
    /// The last line that was skipped.
    pub(super) skipped: Option<Vec<u8>>,
    /// Whether a byte is 0, behind the lines that are skipped.
    pub(super) has_nul: bool,
}

impl Lexer {
    pub(super) fn new(input: Input, dialect: Dialect) -> Self {
        Lexer {
            rules: Rules::of(&dialect),
            input,
            dialect,
            buffer: Vec::new(),
            ended: false,
            cursor: Cursor::new(),
            skipped: None,
            has_nul: false,
        }
    }

    /// Passes over so many lines, whatever is in them.
    pub(super) fn skip_lines(&mut self, lines: u64) -> Result<()> {
        let mut skipped = Vec::new();
        let count = |passed: u64| match passed {
            1 => "1 line".to_owned(),
            _ => format!("{passed} lines"),
        };
        for passed in 0..lines {
            skipped.clear();
            loop {
                let rest = &self.buffer[self.cursor.at..];
                let end = memchr2(b'\n', b'\r', rest);
                let part = &rest[..end.unwrap_or(rest.len())];
                let room = KEPT_BYTES - skipped.len();
                skipped.extend_from_slice(&part[..part.len().min(room)]);
                self.cursor.at += part.len();
                if end.is_some() && self.cursor.end_line(&self.buffer, self.ended) {
                    break;
                }
                if self.ended && end.is_none() {
                    if skipped.is_empty() {
                        return Err(Failure::with_remedy(
                            &self.input.name,
                            format_args!(
                                "it has {}, and --skip passes over {lines}",
                                count(passed)
                            ),
                            "give --skip a smaller number",
                        ));
                    }
                    break;
                }
                self.refill(BLOCK_BYTES)?;
            }
        }
        if lines == 0 {
            return Ok(());
        }
        self.skipped = Some(skipped);
        self.has_nul = memchr(0, &self.buffer[self.cursor.at..]).is_some();
        if self.buffer.len() == self.cursor.at && !self.ended {
            self.refill(BLOCK_BYTES)?;
        }
        if self.buffer.len() == self.cursor.at {
            return Err(Failure::with_remedy(
                &self.input.name,
                format_args!("it has {}, and --skip passes over all", count(lines)),
                "give --skip a smaller number",
            ));
        }
        Ok(())
    }

    /// What comes next if that is plain: most of a text is.
    #[inline]
    pub(super) fn quick_step(&mut self) -> Option<Step> {
        self.cursor.quick_step(&self.buffer, &self.rules)
    }

    /// What comes next, read from the input if need be.
    pub(super) fn step(&mut self) -> Result<Step> {
        loop {
            let step = self.cursor.step(&self.buffer, self.ended, &self.rules);
            match step {
                Ok(Step::More) => self.more()?,
                Ok(step) => return Ok(step),
                Err(fault) => return Err(self.failure(&self.cursor, fault)),
            }
        }
    }

    #[cold]
    fn more(&mut self) -> Result<()> {
        if self.buffer.len() - self.cursor.at > LONGEST_FIELD {
            let fault = match self.buffer[self.cursor.at] {
                b'"' => Fault::OpenQuote,
                _ => Fault::TooLong,
            };
            return Err(self.failure(&self.cursor, fault));
        }
        self.refill(BLOCK_BYTES)
    }

    /// Reads ahead until so much of the text is in the buffer, or all of it.
    pub(super) fn read_ahead(&mut self, bytes: usize) -> Result<()> {
        let held = self.buffer.len() - self.cursor.at;
        match bytes.checked_sub(held) {
            Some(lacking) if lacking > 0 && !self.ended => self.refill(lacking),
            _ => Ok(()),
        }
    }

    /// Drops what was read, and reads about so many bytes more. The buffer doubles as it fills, so a
    /// short text takes little room.
    fn refill(&mut self, bytes: usize) -> Result<()> {
        self.cursor.drop_before(&self.buffer);
        self.buffer.drain(..self.cursor.at);
        self.cursor.at = 0;
        let mut lacking = bytes;
        while lacking > 0 && !self.ended {
            let start = self.buffer.len();
            let part = lacking.min(start.max(FIRST_BYTES));
            self.buffer.resize(start + part, 0);
            let count = self.input.fill(&mut self.buffer[start..])?;
            self.buffer.truncate(start + count);
            self.has_nul |= memchr(0, &self.buffer[start..]).is_some();
            self.ended = count < part;
            lacking -= part;
        }
        // DOS ends a text with ^Z.
        if self.ended && self.buffer.last() == Some(&0x1a) {
            self.buffer.pop();
        }
        Ok(())
    }

    /// Looks at what is in the buffer from here on, without reading it.
    pub(super) fn sample(&self) -> Sample<'_> {
        Sample {
            lexer: self,
            cursor: self.cursor,
        }
    }

    /// What is wrong with the next row, as far as it is in the buffer.
    pub(super) fn check_row(&self) -> Result<()> {
        let mut cursor = self.cursor;
        loop {
            match cursor.step(&self.buffer, self.ended, &self.rules) {
                Ok(Step::Field(_)) => {}
                Ok(_) => return Ok(()),
                Err(fault) => return Err(self.failure(&cursor, fault)),
            }
        }
    }

    /// The bytes of the field that was read last.
    #[inline]
    pub(super) fn bytes(&self, field: &Field) -> Cow<'_, [u8]> {
        field.bytes(&self.buffer)
    }

    /// The line that ended last, as far as the buffer holds it.
    pub(super) fn line_before(&self) -> &[u8] {
        self.lines_before().next().unwrap_or_default()
    }

    /// The lines that ended last, the last one first, but for empty ones.
    pub(super) fn lines_before(&self) -> impl Iterator<Item = &[u8]> {
        let lines = self.buffer[..self.cursor.at].rsplit(|byte| matches!(byte, b'\n' | b'\r'));
        lines
            .map(<[u8]>::trim_ascii_end)
            .filter(|line| !line.is_empty())
    }

    /// The line of a field, as far as the buffer holds it.
    pub(super) fn line_of(&self, field: &Field) -> &[u8] {
        let before = self.buffer[..field.start].iter().rev();
        let back = before
            .take_while(|byte| !matches!(byte, b'\n' | b'\r'))
            .count();
        let line = &self.buffer[field.start - back..];
        &line[..memchr2(b'\n', b'\r', line).unwrap_or(line.len())]
    }

    /// The line behind that of a field, as far as the buffer holds it.
    pub(super) fn line_behind(&self, field: &Field) -> &[u8] {
        let rest = &self.buffer[field.end..];
        let end = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let next = rest[end..].trim_ascii_start();
        &next[..memchr2(b'\n', b'\r', next).unwrap_or(next.len())]
    }

    /// The number of the last line that holds a byte, if lines follow it, as far as the buffer
    /// holds them.
    pub(super) fn lines_until(&self, field: &Field, byte: u8) -> Option<u64> {
        let rest = &self.buffer[field.end..];
        let last = memrchr(byte, rest).unwrap_or(0);
        let end = last + memchr2(b'\n', b'\r', &rest[last..])?;
        let follows = !rest[end..].trim_ascii().is_empty();
        follows.then(|| self.line_number(field) + cursor::line_ends(&rest[..last]))
    }

    /// Whether the line of a field ends with CR and LF.
    pub(super) fn line_has_cr(&self, field: &Field) -> bool {
        let rest = &self.buffer[field.end..];
        let end = memchr2(b'\n', b'\r', rest);
        end.is_some_and(|end| rest[end..].starts_with(b"\r\n"))
    }

    /// Whether the line of a field ends with CR alone.
    pub(super) fn line_has_cr_alone(&self, field: &Field) -> bool {
        let rest = &self.buffer[field.end..];
        let end = memchr2(b'\n', b'\r', rest);
        end.is_some_and(|end| rest[end] == b'\r' && !rest[end..].starts_with(b"\r\n"))
    }

    /// Whether the row that was read last ended with CR alone.
    pub(super) fn row_had_cr_alone(&self) -> bool {
        self.buffer[..self.cursor.at].ends_with(b"\r")
    }

    /// The line from a word on, as far as it was read.
    pub(super) fn line_from(&self, field: &Field) -> &[u8] {
        let rest = &self.buffer[field.start - usize::from(field.quoted)..];
        &rest[..memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())]
    }

    /// What stands before a word, if it is the first of its row.
    pub(super) fn gap_before(&self, field: &Field) -> Option<Gap> {
        let start = field.start - usize::from(field.quoted);
        (self.cursor.fields == 1).then(|| match tabs(self.buffer[..start].iter().rev()) {
            0 => Gap::Space,
            _ => Gap::Tabs,
        })
    }

    /// What stands behind a word.
    pub(super) fn gap_behind(&self, field: &Field) -> Gap {
        let rest = &self.buffer[field.end + usize::from(field.quoted)..];
        let is_gap = |byte: &u8| matches!(byte, b'\t' | b' ' | b',' | 0x0b | 0x0c);
        let end = rest.iter().position(|byte| !is_gap(byte));
        let ends = match end.map(|end| (rest[end], &rest[end..])) {
            None => return Gap::Unknown,
            Some((byte, text)) => {
                matches!(byte, b'\n' | b'\r') || self.rules.starts_comment(byte, text, true)
            }
        };
        match (tabs(rest.iter()), ends) {
            (0, true) => Gap::End,
            (0, false) => Gap::Space,
            (1, false) => Gap::Tab,
            _ => Gap::Tabs,
        }
    }

    /// How many fields of the row were read.
    #[inline]
    pub(super) fn fields(&self) -> usize {
        self.cursor.fields
    }

    /// The first line that was left out as a comment, and looks like a row. Where there are no
    /// rows, one number is enough.
    pub(super) fn doubtful(&self) -> Option<u64> {
        let early = self.cursor.early.filter(|_| self.cursor.last_row == 0);
        self.cursor.doubtful.or(early.map(|(line, _)| line))
    }

    /// Where the row starts that was read last.
    pub(super) fn row_line(&self) -> u64 {
        self.cursor.row_line
    }

    /// The line in which the field begins that was read last.
    pub(super) fn line_number(&self, field: &Field) -> u64 {
        self.cursor.line - field.lines
    }

    /// Where the field stands that was read last, as an editor would say.
    #[cold]
    pub(super) fn place(&self, field: &Field) -> String {
        let line = self.line_number(field);
        match self.dialect.delimiter {
            None if field.lines == 0 => {
                let start = field.start - usize::from(field.quoted);
                format!(
                    "line {line}, column {}",
                    self.cursor.column(&self.buffer, start)
                )
            }
            _ => format!("line {line}, field {}", self.cursor.fields),
        }
    }

    #[cold]
    fn failure(&self, cursor: &Cursor, fault: Fault) -> Failure {
        let Cursor { line, fields, .. } = *cursor;
        let field = format!("line {line}, field {}", fields + 1);
        let mistake = match fault {
            Fault::Comma => {
                let column = cursor.column(&self.buffer, cursor.at);
                Mistake {
                    place: format!("line {line}, column {column}"),
                    cause: "there is no number before this comma".into(),
                    remedy: match self.dialect.comma_is_decimal {
                        Some(_) => None,
                        None => Some(
                            "give --decimal , if commas stand before fractions, --delimiter ',' if \
                             they separate columns"
                                .into(),
                        ),
                    },
                }
            }
            Fault::Fraction(start, end) => {
                let column = cursor.column(&self.buffer, start);
                let word = super::shown(&self.buffer[start..end]);
                let digits = word.trim_matches(',');
                Mistake {
                    place: format!("line {line}, column {column}"),
                    cause: format!(
                        "`{word}` can be 0,{digits}, or {digits} behind a comma that separates"
                    ),
                    remedy: Some(match self.dialect.comma_is_decimal {
                        None => {
                            "give --decimal , if commas stand before fractions, --delimiter ',' \
                                 if they separate columns, --decimal . if they stand between \
                                 numbers of a list"
                                .into()
                        }
                        Some(_) => format!(
                            "other commas separate: write 0,{digits}, or {digits} with white space \
                             before it"
                        ),
                    }),
                }
            }
            Fault::OpenQuote => Mistake {
                place: field,
                cause: match self.ended {
                    true => "the quote that opens here is never closed".into(),
                    false => format!(
                        "the quote that opens here is not closed within {} MiB",
                        LONGEST_FIELD >> 20
                    ),
                },
                remedy: Some("close it, or take it out; two quotes within quotes are one".into()),
            },
            Fault::AfterQuote(at) => {
                let rest = &self.buffer[at..];
                let end = rest.iter().position(|&b| self.rules.ends[usize::from(b)]);
                let shown = super::shown(&rest[..end.unwrap_or(rest.len())]);
                let is_delimiter = |&mark: &u8| b";|\t,".contains(&mark);
                let other = match rest.first().copied().filter(is_delimiter) {
                    Some(mark) => format!(
                        ", and --delimiter {} is for columns that this separates",
                        super::layout::named_mark(char::from(mark))
                    ),
                    None => String::new(),
                };
                Mistake {
                    place: field,
                    cause: format!("`{shown}` follows the quote that closes"),
                    remedy: Some(format!("two quotes within quotes are one{other}")),
                }
            }
            Fault::TooLong => Mistake {
                place: field,
                cause: format!("it is longer than {} MiB", LONGEST_FIELD >> 20),
                remedy: Some(
                    "give --delimiter or --format, if this is another kind of data".into(),
                ),
            },
        };
        mistake.failure(&self.input.name)
    }
}

/// What stands between two words, or behind the last one of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    Space,
    /// One tab, and spaces or none.
    Tab,
    /// Several tabs, or one at an end of the row.
    Tabs,
    /// The end of the row.
    End,
    /// The buffer does not hold all of it.
    Unknown,
}

/// A look at the text that the buffer holds.
pub(super) struct Sample<'a> {
    lexer: &'a Lexer,
    cursor: Cursor,
}

impl<'a> Sample<'a> {
    /// What comes next. Where something is wrong there is no more: it is told when it is read.
    #[inline]
    pub(super) fn step(&mut self) -> Step {
        let step = self
            .cursor
            .step(&self.lexer.buffer, self.lexer.ended, &self.lexer.rules);
        match step {
            // One word, whatever its comma is.
            Err(Fault::Fraction(..)) => {
                self.cursor.take_word(&self.lexer.buffer, &self.lexer.rules)
            }
            Err(_) => Step::More,
            Ok(step) => step,
        }
    }

    /// Whether a tab stands in the line of a field, from there on.
    pub(super) fn has_tab_from(&self, field: &Field) -> bool {
        let rest = &self.lexer.buffer[field.start..];
        let end = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        rest[..end].contains(&b'\t')
    }

    /// How many tabs stand before a field, up to the one before or the start of the line.
    pub(super) fn tabs_before(&self, field: &Field) -> usize {
        let start = field.start - usize::from(field.quoted);
        tabs(self.lexer.buffer[..start].iter().rev())
    }

    /// How many tabs stand behind a field, up to the next one or the end of the line.
    pub(super) fn tabs_behind(&self, field: &Field) -> usize {
        let end = field.end + usize::from(field.quoted);
        tabs(self.lexer.buffer[end..].iter())
    }

    #[inline]
    pub(super) fn bytes(&self, field: &Field) -> Cow<'a, [u8]> {
        field.bytes(&self.lexer.buffer)
    }

    /// Whether the first quote that closes on this line has a comma behind it.
    pub(super) fn has_comma_behind_quote(&self) -> bool {
        let rest = &self.lexer.buffer[self.lexer.cursor.at..];
        let line = rest.split(|byte| matches!(byte, b'\n' | b'\r')).next();
        line.is_some_and(|line| line.windows(2).any(|pair| pair == b"\","))
    }

    /// Where the row starts that comes from the last step.
    pub(super) fn row_line(&self) -> u64 {
        self.cursor.row_line
    }

    /// The bytes between where the sample began and a field.
    pub(super) fn before(&self, field: &Field) -> &'a [u8] {
        let from = self.lexer.cursor.at;
        &self.lexer.buffer[from..(field.start - usize::from(field.quoted)).max(from)]
    }
}

/// The tabs in what separates words, up to something else.
fn tabs<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    let gap = bytes.take_while(|byte| matches!(byte, b'\t' | b' ' | b',' | 0x0b | 0x0c));
    gap.filter(|&&byte| byte == b'\t').count()
}
