//! Lines, rows, fields: what a text consists of, for words and for tables alike.
//!
//! A line ends with LF, CR, or CR and LF. A row is a line that is neither blank nor a comment, or
//! several lines if there are line ends between quotes. Its fields are words between white space,
//! each with a comma behind it or not, or they have a delimiter between them. A field that begins
//! with a double quote ends with one, and two of them within stand for one.
//!
//! The text streams through a buffer that holds one block, and the field that is read.

use super::Mistake;
use crate::failure::{Failure, Result};
use crate::input::Input;
use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// So much is read at a time.
const BLOCK_BYTES: usize = if cfg!(test) { 64 } else { 1 << 20 };

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
}

/// A text in pieces that are read one after the other.
pub(super) struct Lexer {
    pub(super) input: Input,
    pub(super) dialect: Dialect,
    rules: Rules,
    /// What was read and not dropped.
    buffer: Vec<u8>,
    ended: bool,
    cursor: Cursor,
    /// The last line that was skipped.
    pub(super) skipped: Option<Vec<u8>>,
}

/// What a dialect says about each byte.
struct Rules {
    delimiter: Option<u8>,
    comment: Option<u8>,
    /// Whether the user says what starts a comment.
    is_said: bool,
    /// The bytes that end a field without quotes.
    ends: [bool; 256],
    /// The bytes that a field can begin and end with, and that mean nothing else there.
    plain: [bool; 256],
}

impl Rules {
    /// Whether a word is the start of a comment. What spreadsheets write for an error is none,
    /// though it starts alike.
    #[inline]
    fn starts_comment(&self, byte: u8, text: &[u8]) -> bool {
        Some(byte) == self.comment && !(byte == b'#' && !self.is_said && is_error_word(text))
    }
}

/// Whether a text starts with the word for an error in spreadsheets.
fn is_error_word(text: &[u8]) -> bool {
    // The last ones are German, and Spanish or Portuguese.
    const WORDS: [&[u8]; 13] = [
        b"#N/A", b"#NA", b"#DIV/0!", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!", b"#NV",
        b"#WERT!", b"#ZAHL!", b"#BEZUG!", b"#N/D",
    ];
    WORDS.iter().any(|word| {
        let rest = text.strip_prefix(*word);
        rest.is_some_and(|rest| {
            rest.first()
                .is_none_or(|byte| b" \t\r\n,;|\"".contains(byte))
        })
    })
}

/// How far a text was read.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    /// The next byte in the buffer.
    at: usize,
    /// From 1 on.
    line: u64,
    /// Where the line starts in the buffer, or the buffer itself if that starts later.
    line_start: usize,
    /// The characters of the line before the buffer.
    dropped: usize,
    /// Where the row starts.
    row_line: u64,
    /// How many fields of the row came before.
    fields: usize,
    after: After,
    in_comment: bool,
    /// The fields of the row before.
    last_row: usize,
    /// The first line of a table that is a comment, and looks like a row.
    doubtful: Option<u64>,
}

/// What stands before the cursor in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    Delimiter,
    Field,
}

/// What comes next in a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Field(Field),
    /// The row ends after so many fields.
    RowEnd(usize),
    /// The buffer ends before that is known.
    More,
    End,
}

/// A field in the buffer, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    start: usize,
    end: usize,
    pub(super) quoted: bool,
    /// Whether two quotes in it stand for one.
    doubled: bool,
    /// The line ends in it.
    lines: u64,
}

/// What is wrong with a text whatever its fields mean.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Comma,
    OpenQuote,
    AfterQuote(usize),
    TooLong,
}

impl Lexer {
    pub(super) fn new(input: Input, dialect: Dialect) -> Self {
        let mut ends = [false; 256];
        match dialect.delimiter {
            Some(delimiter) => ends[usize::from(delimiter)] = true,
            None => (0..=u8::MAX).for_each(|b| ends[usize::from(b)] = b.is_ascii_whitespace()),
        }
        ends[usize::from(b'\n')] = true;
        ends[usize::from(b'\r')] = true;
        if let Some(comment) = dialect.comment.filter(|_| dialect.comment_is_said)
            && dialect.delimiter.is_some()
        {
            ends[usize::from(comment)] = true;
        }
        let rules = Rules {
            delimiter: dialect.delimiter,
            comment: dialect.comment,
            is_said: dialect.comment_is_said,
            ends,
            plain: std::array::from_fn(|byte| {
                let byte = byte as u8;
                let special = matches!(byte, b'"' | b',') || Some(byte) == dialect.comment;
                !special && !byte.is_ascii_whitespace() && !ends[usize::from(byte)]
            }),
        };
        Lexer {
            input,
            dialect,
            rules,
            buffer: Vec::new(),
            ended: false,
            cursor: Cursor {
                at: 0,
                line: 1,
                line_start: 0,
                dropped: 0,
                row_line: 1,
                fields: 0,
                after: After::Nothing,
                in_comment: false,
                last_row: 0,
                doubtful: None,
            },
            skipped: None,
        }
    }

    /// Passes over so many lines, whatever is in them.
    pub(super) fn skip_lines(&mut self, lines: u64) -> Result<()> {
        let mut skipped = Vec::new();
        for _ in 0..lines {
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
                    break;
                }
                self.refill(BLOCK_BYTES)?;
            }
        }
        self.skipped = (lines > 0).then_some(skipped);
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
                Err(fault) => return Err(self.failure(fault)),
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
            return Err(self.failure(fault));
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

    /// Drops what was read, and reads about so many bytes more.
    fn refill(&mut self, bytes: usize) -> Result<()> {
        self.cursor.drop_before(&self.buffer);
        self.buffer.drain(..self.cursor.at);
        self.cursor.at = 0;
        let start = self.buffer.len();
        self.buffer.resize(start + bytes, 0);
        let count = self.input.fill(&mut self.buffer[start..])?;
        self.buffer.truncate(start + count);
        self.ended = count < bytes;
        Ok(())
    }

    /// Looks at what is in the buffer from here on, without reading it.
    pub(super) fn sample(&self) -> Sample<'_> {
        Sample {
            lexer: self,
            cursor: self.cursor,
        }
    }

    /// The bytes of the field that was read last.
    #[inline]
    pub(super) fn bytes(&self, field: &Field) -> Cow<'_, [u8]> {
        field.bytes(&self.buffer)
    }

    /// How many fields of the row were read.
    #[inline]
    pub(super) fn fields(&self) -> usize {
        self.cursor.fields
    }

    /// The first line of a table that was left out as a comment, and looks like a row.
    pub(super) fn doubtful(&self) -> Option<u64> {
        self.cursor.doubtful
    }

    /// Where the row starts that was read last.
    pub(super) fn row_line(&self) -> u64 {
        self.cursor.row_line
    }

    /// Where the field stands that was read last, as an editor would say.
    #[cold]
    pub(super) fn place(&self, field: &Field) -> String {
        let line = self.cursor.line - field.lines;
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
    fn failure(&self, fault: Fault) -> Failure {
        let Cursor { line, fields, .. } = self.cursor;
        let field = format!("line {line}, field {}", fields + 1);
        let mistake = match fault {
            Fault::Comma => {
                let column = self.cursor.column(&self.buffer, self.cursor.at);
                Mistake {
                    place: format!("line {line}, column {column}"),
                    cause: "there is no number before this comma".into(),
                    remedy: None,
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
                Mistake {
                    place: field,
                    cause: format!("`{shown}` follows the quote that closes"),
                    remedy: Some("two quotes within quotes are one".into()),
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

/// A look at the text that the buffer holds.
pub(super) struct Sample<'a> {
    lexer: &'a Lexer,
    cursor: Cursor,
}

impl<'a> Sample<'a> {
    /// What comes next. What is wrong is the end: it is told when it is read.
    #[inline]
    pub(super) fn step(&mut self) -> Step {
        let step = self
            .cursor
            .step(&self.lexer.buffer, self.lexer.ended, &self.lexer.rules);
        match step {
            Ok(Step::More) | Err(_) => Step::End,
            Ok(step) => step,
        }
    }

    #[inline]
    pub(super) fn bytes(&self, field: &Field) -> Cow<'a, [u8]> {
        field.bytes(&self.lexer.buffer)
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

impl Field {
    #[inline]
    fn bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let bytes = &text[self.start..self.end];
        match self.doubled {
            false => Cow::Borrowed(bytes),
            true => Cow::Owned(undoubled(bytes)),
        }
    }
}

/// The content of quotes, with one quote for two.
#[cold]
fn undoubled(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::with_capacity(bytes.len());
    let mut bytes = bytes.iter();
    while let Some(&byte) = bytes.next() {
        content.push(byte);
        if byte == b'"' {
            bytes.next();
        }
    }
    content
}

impl Cursor {
    /// A field that is whole in the buffer and has nothing around it but what ends it, or the end
    /// of a row behind one. [`Cursor::step`] gives the same, and all that is not so plain.
    #[inline]
    fn quick_step(&mut self, text: &[u8], rules: &Rules) -> Option<Step> {
        let at = self.at;
        let first = *text.get(at)?;
        if self.in_comment {
            return None;
        }
        if first == b'\n' && self.after != After::Delimiter && self.fields > 0 {
            let fields = self.fields;
            self.begin_line(at + 1);
            return Some(Step::RowEnd(fields));
        }
        if self.after == After::Field && rules.delimiter.is_some() {
            return None;
        }
        if first == b'"' && rules.delimiter.is_some() {
            let start = at + 1;
            let is_end = |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r');
            let end = start + text[start..].iter().take(LONG).position(is_end)?;
            let after = *text.get(end + 1)?;
            let is_delimiter = rules.delimiter == Some(after);
            if text[end] != b'"' || !(is_delimiter || after == b'\n') {
                return None;
            }
            let mut field = Field::empty(start);
            (field.end, field.quoted) = (end, true);
            return Some(self.take_plain(field, end + 1, is_delimiter));
        }
        if !rules.plain[usize::from(first)] {
            return None;
        }
        let ends = |&byte: &u8| rules.ends[usize::from(byte)];
        let end = at + text[at..].iter().take(LONG).position(ends)?;
        let last = text[end - 1];
        let is_delimiter = rules.delimiter == Some(text[end]);
        // What is not plain can begin no field, and end none in this way.
        if !rules.plain[usize::from(last)] || !(is_delimiter || text[end].is_ascii_whitespace()) {
            return None;
        }
        let mut field = Field::empty(at);
        field.end = end;
        Some(self.take_plain(field, end, is_delimiter))
    }

    /// Goes on behind a field without line ends, and its delimiter.
    #[inline]
    fn take_plain(&mut self, field: Field, end: usize, delimiter: bool) -> Step {
        if self.fields == 0 {
            self.row_line = self.line;
        }
        self.fields += 1;
        self.at = end + usize::from(delimiter);
        self.after = if delimiter {
            After::Delimiter
        } else {
            After::Field
        };
        Step::Field(field)
    }

    /// What comes next.
    fn step(&mut self, text: &[u8], ended: bool, rules: &Rules) -> Result<Step, Fault> {
        match rules.delimiter {
            None => self.word(text, ended, rules),
            Some(delimiter) => self.table_field(text, ended, rules, delimiter),
        }
    }

    /// The next word, or the end of a row of them.
    #[inline]
    fn word(&mut self, text: &[u8], ended: bool, rules: &Rules) -> Result<Step, Fault> {
        loop {
            if self.in_comment {
                self.pass_comment(text);
            }
            let Some(&byte) = text.get(self.at) else {
                return Ok(self.text_end(ended));
            };
            match byte {
                b'\n' | b'\r' => {
                    let fields = self.fields;
                    if !self.end_line(text, ended) {
                        return Ok(Step::More);
                    }
                    if fields > 0 {
                        return Ok(Step::RowEnd(fields));
                    }
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                byte if rules.starts_comment(byte, &text[self.at..]) => self.in_comment = true,
                b',' => {
                    if self.after != After::Field {
                        return Err(Fault::Comma);
                    }
                    self.after = After::Delimiter;
                    self.at += 1;
                }
                b'"' => {
                    let Some(field) = self.quoted(text, self.at, ended)? else {
                        return Ok(Step::More);
                    };
                    let after = field.end + 1;
                    match text.get(after) {
                        None if !ended => return Ok(Step::More),
                        Some(&byte) if byte != b',' && !rules.ends[usize::from(byte)] => {
                            return Err(Fault::AfterQuote(after));
                        }
                        _ => {}
                    }
                    return Ok(self.take(field, after));
                }
                _ => {
                    let rest = &text[self.at..];
                    let length = rest.iter().position(|&b| rules.ends[usize::from(b)]);
                    if length.is_none() && !ended {
                        return Ok(Step::More);
                    }
                    let (start, end) = (self.at, self.at + length.unwrap_or(rest.len()));
                    let comma = text[end - 1] == b',';
                    let field = Field {
                        start,
                        end: end - usize::from(comma),
                        quoted: false,
                        doubled: false,
                        lines: 0,
                    };
                    let step = self.take(field, end);
                    if comma {
                        self.after = After::Delimiter;
                    }
                    return Ok(step);
                }
            }
        }
    }

    /// The next field of a table, or the end of a row.
    #[inline]
    fn table_field(
        &mut self,
        text: &[u8],
        ended: bool,
        rules: &Rules,
        delimiter: u8,
    ) -> Result<Step, Fault> {
        loop {
            if self.in_comment {
                self.pass_comment(text);
            } else {
                let rest = &text[self.at..];
                let blanks = rest.iter().position(|&b| !is_blank(b, delimiter));
                self.at += blanks.unwrap_or(rest.len());
            }
            let Some(&byte) = text.get(self.at) else {
                if ended && self.after == After::Delimiter {
                    return Ok(self.take(Field::empty(self.at), self.at));
                }
                return Ok(self.text_end(ended));
            };
            let ends_line = matches!(byte, b'\n' | b'\r');
            if self.after == After::Field {
                if byte == delimiter {
                    self.at += 1;
                    self.after = After::Delimiter;
                } else if ends_line {
                    let fields = self.fields;
                    return Ok(match self.end_line(text, ended) {
                        true => Step::RowEnd(fields),
                        false => Step::More,
                    });
                } else if Some(byte) == rules.comment {
                    self.in_comment = true;
                } else {
                    // A field without quotes ends with one of these.
                    return Err(Fault::AfterQuote(self.at));
                }
                continue;
            }
            if self.after == After::Nothing {
                if ends_line {
                    if !self.end_line(text, ended) {
                        return Ok(Step::More);
                    }
                    continue;
                }
                if rules.starts_comment(byte, &text[self.at..]) {
                    self.doubt(text, delimiter);
                    self.in_comment = true;
                    continue;
                }
            }
            if byte == b'"' {
                let Some(field) = self.quoted(text, self.at, ended)? else {
                    return Ok(Step::More);
                };
                let mut after = field.end + 1;
                while text.get(after).is_some_and(|&b| is_blank(b, delimiter)) {
                    after += 1;
                }
                match text.get(after) {
                    None if !ended => return Ok(Step::More),
                    Some(&byte) if !rules.ends[usize::from(byte)] => {
                        return Err(Fault::AfterQuote(after));
                    }
                    _ => return Ok(self.take(field, after)),
                }
            }
            let start = self.at;
            let mut from = start;
            let end = loop {
                let rest = &text[from..];
                let Some(length) = rest.iter().position(|&b| rules.ends[usize::from(b)]) else {
                    if !ended {
                        return Ok(Step::More);
                    }
                    break text.len();
                };
                let end = from + length;
                // A comment starts a word; within one its character is data.
                let within = end > start && !is_blank(text[end - 1], delimiter);
                if !(Some(text[end]) == rules.comment && within) {
                    break end;
                }
                from = end + 1;
            };
            let blanks = text[start..end].iter().rev();
            let blanks = blanks.take_while(|&&b| is_blank(b, delimiter)).count();
            let mut field = Field::empty(start);
            field.end = end - blanks;
            let step = self.take(field, end);
            if text.get(end) == Some(&delimiter) {
                self.at += 1;
                self.after = After::Delimiter;
            }
            return Ok(step);
        }
    }

    /// The field whose first quote stands somewhere, if its last one is here.
    fn quoted(&self, text: &[u8], open: usize, ended: bool) -> Result<Option<Field>, Fault> {
        let start = open + 1;
        let (mut from, mut doubled) = (start, false);
        let end = loop {
            let Some(length) = memchr(b'"', &text[from..]) else {
                return if ended {
                    Err(Fault::OpenQuote)
                } else {
                    Ok(None)
                };
            };
            let end = from + length;
            match text.get(end + 1) {
                Some(b'"') => (from, doubled) = (end + 2, true),
                None if !ended => return Ok(None),
                _ => break end,
            }
        };
        Ok(Some(Field {
            start,
            end,
            quoted: true,
            doubled,
            lines: line_ends(&text[start..end]),
        }))
    }

    /// Goes on behind a field.
    #[inline]
    fn take(&mut self, field: Field, at: usize) -> Step {
        if self.fields == 0 {
            self.row_line = self.line;
        }
        if field.lines > 0 {
            self.line += field.lines;
            (self.line_start, self.dropped) = (at, 0);
        }
        self.at = at;
        self.fields += 1;
        self.after = After::Field;
        Step::Field(field)
    }

    /// Looks whether the comment here may be a row whose first field starts like one.
    #[cold]
    fn doubt(&mut self, text: &[u8], delimiter: u8) {
        let rest = &text[self.at + 1..];
        let end = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let delimiters = rest[..end].iter().filter(|&&byte| byte == delimiter);
        let alike = match self.last_row {
            0 => rest.first().is_some_and(u8::is_ascii_digit),
            fields => delimiters.clone().count() + 1 == fields,
        };
        if alike && delimiters.count() > 0 {
            self.doubtful = self.doubtful.or(Some(self.line));
        }
    }

    /// Passes over a comment, up to the end of its line or of the text.
    fn pass_comment(&mut self, text: &[u8]) {
        let end = memchr2(b'\n', b'\r', &text[self.at..]);
        self.in_comment = end.is_none();
        self.at = end.map_or(text.len(), |end| self.at + end);
    }

    /// Passes over the end of a line and begins a row, unless the text may go on with LF.
    #[inline]
    fn end_line(&mut self, text: &[u8], ended: bool) -> bool {
        if text[self.at] == b'\r' {
            match text.get(self.at + 1) {
                None if !ended => return false,
                Some(b'\n') => self.at += 1,
                _ => {}
            }
        }
        self.begin_line(self.at + 1);
        true
    }

    #[inline]
    fn begin_line(&mut self, at: usize) {
        self.at = at;
        self.line += 1;
        (self.line_start, self.dropped) = (at, 0);
        if self.fields > 0 {
            self.last_row = std::mem::take(&mut self.fields);
        }
        self.after = After::Nothing;
    }

    /// What comes where the buffer ends. A last line needs no end.
    fn text_end(&mut self, ended: bool) -> Step {
        if !ended {
            return Step::More;
        }
        self.after = After::Nothing;
        match std::mem::take(&mut self.fields) {
            0 => Step::End,
            fields => Step::RowEnd(fields),
        }
    }

    /// Forgets the bytes that were read.
    fn drop_before(&mut self, buffer: &[u8]) {
        self.dropped += characters(&buffer[self.line_start..self.at]);
        self.line_start = 0;
    }

    /// The column of a byte of the line, as an editor counts.
    fn column(&self, buffer: &[u8], at: usize) -> usize {
        1 + self.dropped + characters(&buffer[self.line_start.min(at)..at])
    }
}

impl Field {
    fn empty(at: usize) -> Field {
        Field {
            start: at,
            end: at,
            quoted: false,
            doubled: false,
            lines: 0,
        }
    }
}

/// White space around a field of a table.
#[inline]
fn is_blank(byte: u8, delimiter: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0c') && byte != delimiter
}

/// The number of lines that end in some bytes.
fn line_ends(bytes: &[u8]) -> u64 {
    if memchr2(b'\n', b'\r', bytes).is_none() {
        return 0;
    }
    let ends = bytes.iter().enumerate().filter(|&(at, &byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    ends.count() as u64
}

/// The number of characters of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}
