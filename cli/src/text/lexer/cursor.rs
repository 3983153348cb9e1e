//! From one step of a text to the next: where lines, rows and fields end.

use super::rules::Rules;
use super::{KEPT_BYTES, LONG};
use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// How far a text was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    /// The next byte in the buffer.
    pub(super) at: usize,
    /// From 1 on.
    pub(super) line: u64,
    /// Where the line starts in the buffer, or the buffer itself if that starts later.
    line_start: usize,
    /// The characters of the line before the buffer.
    dropped: usize,
    /// Where the row starts.
    pub(super) row_line: u64,
    /// How many fields of the row came before.
    pub(super) fields: usize,
    after: After,
    in_comment: bool,
    /// The fields of the row before.
    pub(super) last_row: usize,
    /// The first line of a table that is a comment, and looks like a row.
    pub(super) doubtful: Option<u64>,
    /// The line of a comment before the first row that may be one, and how many fields it has.
    pub(super) early: Option<(u64, usize)>,
    /// Whether a comma behind a word was one that separates words.
    commas_separate: bool,
}

/// What a comma is that begins a word.
enum Comma {
    Separates,
    /// It stands before a fraction.
    OfNumber,
    /// The buffer ends before that is known.
    Unknown,
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
pub(in crate::text) enum Step {
    Field(Field),
    /// The row ends after so many fields.
    RowEnd(usize),
    /// The buffer ends before that is known.
    More,
    End,
}

/// A field in the buffer, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(in crate::text) struct Field {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(in crate::text) quoted: bool,
    /// Whether two quotes in it stand for one.
    doubled: bool,
    /// The line ends in it.
    pub(in crate::text) lines: u64,
}

/// What is wrong with a text whatever its fields mean.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Comma,
    /// From here up to there it is a fraction, or a number behind a comma that separates.
    Fraction(usize, usize),
    OpenQuote,
    AfterQuote(usize),
    TooLong,
}

impl Field {
    #[inline]
    pub(super) fn bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
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
    /// The start of a text.
    pub(super) fn new() -> Cursor {
        Cursor {
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
            early: None,
            commas_separate: false,
        }
    }

    /// A field that is whole in the buffer and has nothing around it but what ends it, or the end
    /// of a row behind one. [`Cursor::step`] gives the same, and all that is not so plain.
    #[inline]
    pub(super) fn quick_step(&mut self, text: &[u8], rules: &Rules) -> Option<Step> {
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
    pub(super) fn step(&mut self, text: &[u8], ended: bool, rules: &Rules) -> Result<Step, Fault> {
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
                byte if Some(byte) == rules.comment && !self.has_line(text, ended) => {
                    return Ok(Step::More);
                }
                byte if rules.starts_comment(byte, &text[self.at..], self.fields > 0) => {
                    self.begin_comment(text, None);
                }
                // White space stands before it, or nothing.
                b',' => match self.comma(text, ended, rules)? {
                    Comma::Unknown => return Ok(Step::More),
                    Comma::Separates => {
                        self.after = After::Delimiter;
                        self.at += 1;
                    }
                    Comma::OfNumber => return Ok(self.take_word(text, rules)),
                },
                b'"' => {
                    let Some(field) = self.quoted(text, self.at, ended)? else {
                        return Ok(Step::More);
                    };
                    let after = field.end + 1;
                    match text.get(after) {
                        None if !ended => return Ok(Step::More),
                        Some(b',') if !ended && text.len() == after + 1 => return Ok(Step::More),
                        Some(b',') => {
                            let step = self.take(field, after + 1);
                            self.end_with_comma();
                            return match text.get(after + 1) {
                                Some(b',') => Err(Fault::Comma),
                                _ => Ok(step),
                            };
                        }
                        Some(&byte) if !rules.ends[usize::from(byte)] => {
                            return Err(Fault::AfterQuote(after));
                        }
                        _ => {}
                    }
                    return Ok(self.take(field, after));
                }
                _ => {
                    let rest = &text[self.at..];
                    if !ended && !rest.iter().any(|&b| rules.ends[usize::from(b)]) {
                        return Ok(Step::More);
                    }
                    return Ok(self.take_word(text, rules));
                }
            }
        }
    }

    /// Takes the word that begins here, which is whole in the buffer.
    #[inline]
    pub(super) fn take_word(&mut self, text: &[u8], rules: &Rules) -> Step {
        let rest = &text[self.at..];
        let length = rest.iter().position(|&b| rules.ends[usize::from(b)]);
        let end = self.at + length.unwrap_or(rest.len());
        let comma = text[end - 1] == b',';
        let mut field = Field::empty(self.at);
        field.end = end - usize::from(comma);
        let step = self.take(field, end);
        if comma {
            self.end_with_comma();
        }
        step
    }

    /// A comma that separates words follows a field.
    fn end_with_comma(&mut self) {
        self.after = After::Delimiter;
        self.commas_separate = true;
    }

    /// What the comma here is, which begins a word.
    #[cold]
    fn comma(&mut self, text: &[u8], ended: bool, rules: &Rules) -> Result<Comma, Fault> {
        let rest = &text[self.at..];
        let length = rest.iter().position(|&b| rules.ends[usize::from(b)]);
        if length.is_none() && !ended {
            return Ok(Comma::Unknown);
        }
        let word = &rest[..length.unwrap_or(rest.len())];
        let end = self.at + word.len();
        let digits = word[1..].strip_suffix(b",").unwrap_or(&word[1..]);
        let may_be_fraction = digits.first().is_some_and(u8::is_ascii_digit)
            && digits
                .iter()
                .all(|byte| byte.is_ascii_digit() || b"+-dDeE".contains(byte));
        let separates = match rules.comma_is_decimal {
            _ if !may_be_fraction => true,
            Some(decimal) => !decimal,
            None => self.commas_separate || has_fraction(&text[self.line_start..self.at]),
        };
        match (separates, self.after) {
            (true, After::Field) if word.get(1) != Some(&b',') => {
                self.commas_separate = true;
                Ok(Comma::Separates)
            }
            (true, _) => Err(Fault::Comma),
            (false, After::Field) if rules.comma_is_decimal.is_none() || self.commas_separate => {
                Err(Fault::Fraction(self.at, end))
            }
            (false, _) if rules.comma_is_decimal.is_some() => Ok(Comma::OfNumber),
            (false, _) => Err(Fault::Comma),
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
                if Some(byte) == rules.comment && !self.has_line(text, ended) {
                    return Ok(Step::More);
                }
                if rules.starts_comment(byte, &text[self.at..], false) {
                    self.begin_comment(text, Some(delimiter));
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

    /// Whether the rest of the line is in the buffer, or enough of it.
    #[cold]
    fn has_line(&self, text: &[u8], ended: bool) -> bool {
        let rest = &text[self.at..];
        ended || rest.len() > KEPT_BYTES || memchr2(b'\n', b'\r', rest).is_some()
    }

    /// Begins a comment. Takes note of one that may be data.
    #[cold]
    fn begin_comment(&mut self, text: &[u8], delimiter: Option<u8>) {
        let rest = &text[self.at + 1..];
        let end = memchr2(b'\n', b'\r', rest);
        let comment = &rest[..end.unwrap_or(rest.len())];
        if self.is_doubtful(comment, delimiter) {
            self.doubtful = self.doubtful.or(Some(self.line));
        } else if self.last_row == 0 && self.fields == 0 && self.early.is_none() {
            self.early = fields_like_a_row(comment, delimiter).map(|count| (self.line, count));
        }
        self.in_comment = true;
    }

    /// Whether a comment looks like a row, or the rest of one, whose first field starts with what
    /// starts comments; or like the start of a row that goes on in the next line.
    fn is_doubtful(&self, comment: &[u8], delimiter: Option<u8>) -> bool {
        let has_digit = |word: &[u8]| {
            let digits = word.strip_prefix(b"-").unwrap_or(word);
            digits.first().is_some_and(u8::is_ascii_digit)
        };
        let Some(delimiter) = delimiter else {
            let words = || {
                comment
                    .split(u8::is_ascii_whitespace)
                    .filter(|word| !word.is_empty())
            };
            let (count, mut numbers) = (words().count(), words().filter(|word| has_digit(word)));
            let is_attached = comment
                .first()
                .is_some_and(|byte| !byte.is_ascii_whitespace());
            // Narrow columns of spreadsheets hold nothing but these.
            let is_narrow = self.last_row == 1
                && comment.len() >= 2
                && comment.iter().all(|&byte| byte == b'#');
            if self.last_row > 0 && is_attached && comment.contains(&b'"') {
                return fields_like_a_row(comment, None) == Some(self.last_row);
            }
            return is_narrow
                || is_attached
                    && match self.last_row {
                        // Behind numbers of the first row, one more is enough.
                        0 => count + self.fields > 1 && has_digit(comment),
                        fields => self.fields + count == fields && numbers.next().is_some(),
                    };
        };
        let quotes = comment.iter().filter(|&&byte| byte == b'"').count();
        let opens = |pair: &[u8]| pair[0] == delimiter && pair[1] == b'"';
        let is_quoted = comment.starts_with(b"\"") || comment.windows(2).any(opens);
        if quotes % 2 == 1 && is_quoted {
            return true;
        }
        let count = fields_of(comment, &|byte| byte == delimiter).len();
        match self.last_row {
            0 => count > 1 && has_digit(comment),
            1 => count == 1 && is_number(comment),
            fields => count == fields,
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
    pub(super) fn end_line(&mut self, text: &[u8], ended: bool) -> bool {
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
            if self.last_row == 0
                && let Some((line, count)) = self.early
                && count == self.fields
            {
                self.doubtful = self.doubtful.or(Some(line));
            }
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
    pub(super) fn drop_before(&mut self, buffer: &[u8]) {
        self.dropped += characters(&buffer[self.line_start..self.at]);
        self.line_start = 0;
    }

    /// The column of a byte of the line, as an editor counts.
    pub(super) fn column(&self, buffer: &[u8], at: usize) -> usize {
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

/// Whether a word has a point before a fraction. Before three digits, one may stand between
/// thousands.
fn has_fraction(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace);
    words.any(|word| {
        let word = word.strip_suffix(b",").unwrap_or(word);
        let point = word.iter().position(|&byte| byte == b'.');
        let fraction = point.map_or(&[][..], |point| &word[point + 1..]);
        is_number(word) && !fraction.contains(&b'.') && !matches!(fraction.len(), 0 | 3)
    })
}

/// The number of lines that end in some bytes.
pub(super) fn line_ends(bytes: &[u8]) -> u64 {
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

/// The fields of a line, which are split outside of quotes.
fn fields_of<'a>(line: &'a [u8], separates: &dyn Fn(u8) -> bool) -> Vec<&'a [u8]> {
    let mut is_quoted = false;
    let ends = |&byte: &u8| {
        is_quoted ^= byte == b'"';
        !is_quoted && separates(byte)
    };
    line.split(ends).collect()
}

/// How many fields a comment has if it may be a row: its first one follows at once, and it or one
/// behind it is a number.
fn fields_like_a_row(comment: &[u8], delimiter: Option<u8>) -> Option<usize> {
    let fields = match delimiter {
        Some(delimiter) => fields_of(comment, &|byte| byte == delimiter),
        None => {
            let mut words = fields_of(comment, &|byte| byte.is_ascii_whitespace());
            words.retain(|word| !word.is_empty());
            words
        }
    };
    let is_attached = comment
        .first()
        .is_some_and(|byte| !byte.is_ascii_whitespace());
    let (first, others) = fields.split_first()?;
    let has_numbers = match others {
        [] => is_number(first),
        others => others.iter().any(|field| is_number(field)),
    };
    (is_attached && has_numbers).then_some(fields.len())
}

/// Whether a field consists of what numbers are written with, in quotes or without.
fn is_number(field: &[u8]) -> bool {
    let field = field.trim_ascii();
    let quoted = field
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let field = quoted.unwrap_or(field);
    field.iter().any(u8::is_ascii_digit)
        && field
            .iter()
            .all(|byte| byte.is_ascii_digit() || b"+-.,eE".contains(byte))
}
