//! What is said about rows: what is wrong with one, what can be done, and what was left out.

use super::Rows;
use crate::failure::Failure;
use crate::number::{BadNumber, DType, TO_F64};
use crate::text::layout::{WITHOUT_QUOTES, Width, named_mark, printed_format, skipping};
use crate::text::lexer::Field;
use crate::text::oddity::{self, Oddity, WITHOUT_RULES, is_frame};
use crate::text::spelling::{Bad, Kind};
use crate::text::survey::is_name;
use crate::text::{Mistake, shown};

/// What comes before all programs where lines end in CR alone, in which these see one line.
const WITH_LF: &str = "first let its lines end in LF in place of CR, as tr '\\r' '\\n' < FILE | \
                       warpfold ...";

impl Rows {
    #[cold]
    pub(super) fn code(&self, field: &Field, bytes: &[u8]) -> Failure {
        Failure::with_remedy(
            format_args!("{}: {}", self.lexer.input.name, self.lexer.place(field)),
            format_args!(
                "`{}` has zeros in front, as codes have: as a number it is the same without them",
                shown(bytes)
            ),
            format_args!(
                "give --dtype {} if it is a number; `LC_ALL=C sort` and `uniq` take codes as they \
                 are, and columns with --by do with --words",
                match self.spelling.is_of_floats(bytes) {
                    true => "f64",
                    false => "i64",
                }
            ),
        )
    }

    #[cold]
    pub(super) fn other_width(&self, width: &Width, fields: usize) -> Failure {
        let place = format!("{}: line {}", self.lexer.input.name, self.lexer.row_line());
        let what = match (self.has_header, width.row_names) {
            (true, true) => "the header and the names of the rows make",
            (true, false) => "the header has",
            (false, _) => "the first row has",
        };
        let remedy = self.remedy_of_width(width, fields);
        Failure::with_remedy(
            place,
            format_args!(
                "this row has {}, but {what} {}, in line {}",
                counted(fields, "field"),
                width.fields,
                width.line
            ),
            match self.lines_above {
                Some(lines) => format!("give {}; else {remedy}", skipping(lines)),
                None => remedy,
            },
        )
    }

    fn remedy_of_width(&self, width: &Width, fields: usize) -> String {
        let line = self.lexer.line_before();
        let is_drawn = line.len() > 2 && line.iter().all(|byte| b"-=_+|: ".contains(byte));
        let text = str::from_utf8(line).unwrap_or_default().trim();
        let comment = self.lexer.dialect.comment;
        let remedy = match width.row_names {
            _ if text.contains(is_frame) => oddity::WITHOUT_FRAME,
            _ if oddity::is_footer(text) && self.lexer.row_had_cr_alone() => return WITH_LF.into(),
            _ if oddity::is_footer(text) => oddity::WITHOUT_FOOTER,
            _ if is_drawn && self.lexer.row_had_cr_alone() => return WITH_LF.into(),
            _ if is_drawn => {
                return format!(
                    "take lines that are drawn out, as {WITHOUT_RULES} FILE | warpfold ..."
                );
            }
            true => {
                "mend the row, or leave --row-names out; with --ragged, what is beyond is left out, \
                 and what lacks is missing (--missing skip)"
            }
            false if width.has_tabs => {
                "give --delimiter tab if tabs separate the columns; else mend the row"
            }
            false if fields < width.fields && comment.is_some_and(|c| line.contains(&c)) => {
                "give --no-comments if what starts comments is data here; else fill the gaps, such \
                 as with NA"
            }
            false if fields < width.fields && !self.has_delimiter() => {
                "fill the gaps, such as with NA, or give --delimiter: white space does not tell \
                 which column of this row is empty"
            }
            false if fields > width.fields && self.delimiter() == Some(b',') => {
                "mend the row (a number with commas stands in quotes), or give --ragged: what is \
                 beyond is left out"
            }
            false => {
                "mend the row, or give --ragged: what is beyond is left out, what lacks is missing \
                 (--missing skip)"
            }
        };
        remedy.into()
    }

    #[cold]
    pub(super) fn missing_words(
        &self,
        field: &[u8],
        bad: Bad,
        dtype: DType,
    ) -> (String, Option<String>) {
        debug_assert!(field.is_empty() || bad == Bad::Missing || !dtype.is_float());
        let what = match field {
            b"" => "a number is missing here".into(),
            field => format!("`{}` stands for a missing number", shown(field)),
        };
        let other = match field {
            [b'#', ..] => "; or give --comment '#' if a comment starts here",
            b".." => "; or let the program write all rows, if it leaves some out here",
            _ => "",
        };
        match bad {
            Bad::Missing => (
                what,
                Some(format!(
                    "give --missing skip or --missing nan, or choose others with --column{other}"
                )),
            ),
            Bad::Number(_) => (
                format!("{what}, and {dtype} has no NaN"),
                Some(format!("{TO_F64}, or --missing skip")),
            ),
        }
    }

    /// What is wrong with a field, and what can be done.
    #[cold]
    pub(super) fn mistake(
        &self,
        place: String,
        bad: Bad,
        token: &[u8],
        field: &Field,
        dtype: DType,
        inferred: bool,
    ) -> Failure {
        let is_first = self.first_line.is_none() && !self.has_header;
        let shown = shown(token);
        // Where nothing separates columns, white space does.
        let is_mark = |byte: &u8| b";|".contains(byte) || *byte == b'\t' && self.has_delimiter();
        let (cause, remedy) = match bad {
            Bad::Missing => self.missing_or_sign(token, field, dtype),
            Bad::Number(_) if self.spelling.kind(token) == Kind::Missing => {
                self.missing_words(token, bad, dtype)
            }
            Bad::Number(bad) => {
                let cause = bad.describe(&shown, dtype);
                match (bad, other_data(token)) {
                    (BadNumber::NotANumber, Some((what, remedy))) => {
                        (format!("{cause}; {what}"), Some(remedy.into()))
                    }
                    (BadNumber::NotANumber, _)
                        if self.spelling.looks_like_number(token)
                            && !self.is_apart(token, field) =>
                    {
                        (
                            cause + ", or more than one",
                            Some(self.remedy_of_marks(token, field.quoted)),
                        )
                    }
                    (BadNumber::NotANumber, _)
                        if token.iter().any(is_mark)
                            && !matches!(
                                self.oddity_of(token, field),
                                Oddity::Rule | Oddity::Comment(_)
                            ) =>
                    {
                        let byte = token.iter().copied().find(|byte| is_mark(byte));
                        let byte = byte.unwrap_or(b';');
                        let mark = named_mark(byte.into());
                        let remedy = match self.ends_row(token, field) {
                            true => "`;` ends rows, as in MATLAB: make it the end of a line, as \
                                     tr ';' '\\n' < FILE | warpfold ..."
                                .into(),
                            false => {
                                let remedy =
                                    format!("if {mark} separates columns, give --delimiter {mark}");
                                match self.lexer.lines_until(field, byte).filter(|_| is_first) {
                                    Some(lines) => format!("{remedy}; or {}", skipping(lines)),
                                    None => remedy,
                                }
                            }
                        };
                        (cause, Some(remedy))
                    }
                    (BadNumber::NotANumber, _)
                        if self.has_comment(token) && !oddity::has_hash(token) =>
                    {
                        (
                            cause,
                            Some(
                                match self.has_delimiter() && !self.lexer.dialect.comment_is_said {
                                    true => {
                                        "if this ends with a comment, give --comment '#'".into()
                                    }
                                    false => {
                                        "a comment starts with a word: put a space before it; if \
                                         # marks numbers, take it out, as tr -d '#' < FILE | \
                                         warpfold ..."
                                            .into()
                                    }
                                },
                            ),
                        )
                    }
                    // Behind a number it is no header, but for other columns.
                    (BadNumber::NotANumber, _)
                        if is_first
                            && (self.lexer.fields() == 1 || !self.is_flat())
                            && is_name(&String::from_utf8_lossy(token))
                            && !self.is_printed(token, field) =>
                    {
                        (cause, Some(self.remedy_of_names(token)))
                    }
                    (BadNumber::NotAnInteger, _) if inferred => (
                        format!("`{shown}` is not an integer, but all numbers before it are"),
                        Some(TO_F64.into()),
                    ),
                    (BadNumber::NotANumber, _) => {
                        let (what, remedy) = self.oddity(token, field, &shown, is_first);
                        (cause + &what, Some(remedy))
                    }
                    (BadNumber::OutOfRange, _) if dtype == DType::F64 => (
                        cause,
                        Some("mend it: no type of numbers here holds it".into()),
                    ),
                    (bad, _) => (cause, bad.remedy(self.spelling.integer(token), dtype)),
                }
            }
        };
        let remedy = match remedy {
            Some(remedy) if remedy.contains(" FILE | ") && self.lexer.line_has_cr_alone(field) => {
                Some(WITH_LF.into())
            }
            remedy => remedy,
        };
        let mistake = Mistake {
            place,
            cause,
            remedy,
        };
        mistake.failure(&self.lexer.input.name)
    }

    /// What a word is that is no number, and what to do about it.
    fn oddity(&self, token: &[u8], field: &Field, shown: &str, is_first: bool) -> (String, String) {
        let lane = self.plan.lane(self.lexer.fields() - 1);
        let is_key = lane.is_some_and(|lane| self.keys.get(lane) == Some(&true));
        let others = match (self.is_flat(), is_first) {
            (true, _) => "",
            _ if is_key => "; or give --words if this column holds words",
            (false, false) => "; or choose other columns with --column",
            (false, true) => {
                "; or give --header if this line is one, or choose other columns with --column"
            }
        };
        let skip = match self.lines_above {
            Some(lines) => format!("; or give {}", skipping(lines)),
            None => String::new(),
        };
        if self.has_words(token, field) {
            let what = "; spaces stand between numbers".into();
            return (
                what,
                "give --delimiter space if they separate the columns".into(),
            );
        }
        let oddity = self.oddity_of(token, field);
        // A word that is not shown as a whole cannot be given.
        if oddity == Oddity::Word && shown.as_bytes() == token {
            if is_key {
                return (String::new(), format!("mend it{others}{skip}"));
            }
            let word = in_shell(shown);
            let lines = match self.is_flat() && !self.has_delimiter() {
                true => format!(
                    "if lines with this word are no data, take them out, as grep -vwFe \
                     {word} FILE | warpfold ...; else "
                ),
                false => String::new(),
            };
            let remedy = format!(
                "{lines}mend it; or give --missing skip --missing-word {word}, if it stands for a missing \
                 value{others}{skip}{}",
                self.header_here(field)
            );
            return (String::new(), remedy);
        }
        let (what, remedy) = oddity.told(&self.feed(field));
        (what, format!("{remedy}{others}{skip}"))
    }

    /// What to do if the row of a word is the header, since it holds names alone: below the sizes
    /// of a table, for example.
    fn header_here(&self, field: &Field) -> String {
        let line = String::from_utf8_lossy(self.lexer.line_of(field));
        let mut names = line.split(|c: char| match self.delimiter() {
            Some(delimiter) => c == char::from(delimiter),
            None => c.is_ascii_whitespace(),
        });
        let is_first = self.first_line.is_none() || self.has_header || self.is_flat();
        let are_names = names.all(|name| is_name(name.trim().trim_matches('"')));
        match are_names && !is_first && !self.lexer.line_behind(field).is_empty() {
            true => format!(
                "; or give --skip {} if this line is the header, and none above holds data",
                self.lexer.line_number(field) - 1
            ),
            false => String::new(),
        }
    }

    /// Whether a field without quotes is several numbers, in a table with another delimiter.
    fn has_words(&self, token: &[u8], field: &Field) -> bool {
        let words = <[u8]>::split(token, u8::is_ascii_whitespace);
        let mut words = words.filter(|word| !word.is_empty());
        let is_number = |word: &[u8]| self.spelling.kind(word).is_number();
        self.has_delimiter() && !field.quoted && words.clone().count() > 1 && words.all(is_number)
    }

    fn feed(&self, field: &Field) -> oddity::Feed {
        let line_number = self.lexer.line_number(field);
        let is_late = self.first_line.is_some() && self.lexer.fields() == 1;
        oddity::Feed {
            line_number,
            line_alone: is_late.then_some(line_number),
            delimiter: self.delimiter(),
            field: self.lexer.fields(),
            has_header: self.has_header,
            quoted: field.quoted,
            has_quotes: self.lexer.line_of(field).contains(&b'"'),
            has_formats: self.has_formats(field),
            has_cr: self.lexer.line_has_cr(field),
            has_comma: self.spelling.is_decimal(b',') || self.lexer.bytes(field).contains(&b','),
            has_other_comma: !self.spelling.uses(b',')
                && has_comma_within(self.lexer.line_from(field)),
            comma: match (self.spelling.is_decimal(b','), self.spelling.uses(b',')) {
                (true, _) => Some("(,[0-9]+)?"),
                (_, true) => Some("(,[0-9]{3})*"),
                _ => None,
            },
        }
    }

    fn oddity_of(&self, token: &[u8], field: &Field) -> Oddity {
        // A header of a printed table is not its first line.
        if str::from_utf8(self.lexer.line_of(field)).is_ok_and(|line| line.contains(is_frame)) {
            return Oddity::Frame;
        }
        match self.has_delimiter() {
            true => Oddity::of(token, &self.spelling),
            false => {
                let line = self.lexer.line_from(field);
                Oddity::in_line(token, line, self.lexer.fields() == 1, &self.spelling)
            }
        }
    }

    /// Whether a word stands in the first row below a header, and each word there is a width and a
    /// letter, as below the header of RDB tables, and none in the next row.
    fn has_formats(&self, field: &Field) -> bool {
        let is_format = |word: &&[u8]| match word {
            [digits @ .., letter] => {
                let is_width = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
                is_width && b"sdnSDNM".contains(letter)
            }
            [] => false,
        };
        let words = |line| {
            let words = <[u8]>::split(line, u8::is_ascii_whitespace);
            words.filter(|word| !word.is_empty())
        };
        let (line, next) = (self.lexer.line_of(field), self.lexer.line_behind(field));
        self.has_header
            && self.first_line.is_none()
            && words(line).all(|word| is_format(&word))
            && !next.is_empty()
            && !words(next).any(|word| is_format(&word))
    }

    /// Whether a semicolon behind a number ends a row: nothing follows in the line, or another
    /// mark separates fields.
    fn ends_row(&self, token: &[u8], field: &Field) -> bool {
        let line = self.lexer.line_from(field);
        let rest = line.get(token.len()..).unwrap_or_default();
        let is_last = rest.trim_ascii().is_empty();
        let ends = token.ends_with(b";") && memchr::memchr_iter(b';', token).count() == 1;
        ends && (is_last || self.lexer.fields() > 1)
    }

    /// Whether a program shows a number like this, beside its name.
    fn is_printed(&self, token: &[u8], field: &Field) -> bool {
        matches!(
            self.oddity_of(token, field),
            Oddity::Shown | Oddity::Labelled(_)
        )
    }

    /// Whether the sign of a number stands apart from it.
    fn is_apart(&self, token: &[u8], field: &Field) -> bool {
        matches!(self.oddity_of(token, field), Oddity::Apart(_))
    }

    /// What is said of a missing value, which may be the sign of the word behind it.
    fn missing_or_sign(
        &self,
        token: &[u8],
        field: &Field,
        dtype: DType,
    ) -> (String, Option<String>) {
        let (cause, mut remedy) = self.missing_words(token, Bad::Missing, dtype);
        let lane = self.plan.lane(self.lexer.fields() - 1);
        if !token.is_empty() && lane.is_some_and(|lane| self.keys.get(lane) == Some(&true)) {
            remedy = remedy.map(|remedy| {
                format!("{remedy}; or give --words if it is a word, as NA is of Namibia")
            });
        }
        if self.oddity_of(token, field) == Oddity::Dashes {
            remedy = remedy.map(|remedy| {
                format!(
                    "{remedy}; or take such lines out, as {}, if they are comments",
                    oddity::WITHOUT_DASHES
                )
            });
        }
        let sign = match self.is_apart(token, field) {
            true => self.oddity_of(token, field).told(&self.feed(field)).1,
            false => return (cause, remedy),
        };
        (
            cause + ", or is the sign of the one behind it",
            remedy.map(|remedy| format!("{remedy}; or {sign}, if it is a sign")),
        )
    }

    /// What to do about a first word that may be the name of a column.
    fn remedy_of_names(&self, token: &[u8]) -> String {
        let line = self.lexer.row_line();
        if let Some((what, remedy)) = printed_format(token).filter(|_| line == 1) {
            return format!("{what}: {remedy}");
        }
        let header = match !self.is_flat() {
            true => {
                format!("if this line is a header, give --header, or --skip {line} to leave it out")
            }
            false => format!(
                "if this line is a header, give --skip {line}, or --column NAME for a column"
            ),
        };
        match Oddity::of(token, &self.spelling) {
            Oddity::Alike(number) => format!(
                "letters in it look like digits: write {number} if it is that number; {header}"
            ),
            _ => header,
        }
    }

    fn has_comment(&self, token: &[u8]) -> bool {
        self.lexer
            .dialect
            .comment
            .is_some_and(|comment| token[1..].contains(&comment))
    }

    /// What to do about marks between the digits of a number: each may mean another thing.
    fn remedy_of_marks(&self, token: &[u8], quoted: bool) -> String {
        let fitting = self.spelling.other_marks(token, !self.has_delimiter());
        // Without a delimiter, .csv is taken for one with semicolons.
        let again = match self.delimiter() {
            Some(b',') if quoted => " --delimiter ,",
            _ => "",
        };
        let mut remedies: Vec<String> = fitting
            .into_iter()
            .map(|(options, number)| format!("{options}{again} if this is {number}"))
            .collect();
        let mark = |mark: u8| token.contains(&mark) && !self.spelling.uses(mark);
        if remedies.is_empty() {
            if mark(b',') {
                remedies.push("--decimal , if a comma stands before the fraction".into());
                remedies.push("--thousands , if it stands between thousands".into());
            } else if mark(b'.') {
                remedies
                    .push("--decimal , --thousands . if a point stands between thousands".into());
            }
        }
        if mark(b',') && !self.has_delimiter() && !quoted {
            remedies.push("--delimiter , if a comma separates numbers".into());
        }
        if let Some(delimiter) = self.delimiter().filter(|_| quoted)
            && token.contains(&delimiter)
            && self.width.as_ref().is_none_or(|width| width.fields == 1)
        {
            remedies.push(format!(
                "if quotes stand around whole rows, take them out, as {WITHOUT_QUOTES} < FILE | \
                 warpfold ... --delimiter {}",
                named_mark(delimiter.into())
            ));
            return match remedies.len() {
                1 => remedies.remove(0),
                _ => format!("give {}", remedies.join("; or ")),
            };
        }
        if remedies.is_empty() {
            let space = match self.has_delimiter() && !quoted && token.contains(&b' ') {
                true => "; or give --delimiter space if spaces separate numbers",
                false => "",
            };
            return format!(
                "mend it: three digits stand between marks of thousands, and one mark before a \
                 fraction{space}"
            );
        }
        format!("give {}", remedies.join(", "))
    }
}

/// What a field holds that is no text in UTF-8, and what to do about it.
#[cold]
fn other_data(token: &[u8]) -> Option<(&'static str, &'static str)> {
    let control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    let zeros = token.iter().filter(|&&byte| byte == 0).count();
    let has_zeros = zeros > 0 && token.len().abs_diff(2 * zeros) <= 1;
    let is_utf16 = |parity| {
        let mut bytes = token.iter().enumerate();
        has_zeros && bytes.all(|(at, &byte)| (at % 2 == parity) == (byte == 0))
    };
    if token.contains(&0x1b) {
        return Some((
            "it holds colours of a terminal",
            r"sed 's/\x1b\[[0-9;]*[mK]//g' < FILE | warpfold ..., or let the program write none",
        ));
    }
    // A line end cuts its own two bytes apart.
    if is_utf16(1) || is_utf16(0) {
        return Some((
            "this looks like text in UTF-16, or like records that end in NUL",
            "iconv -f UTF-16LE -t UTF-8 FILE | warpfold ..., or with UTF-16BE; tr '\\0' '\\n' < FILE \
             | warpfold ... if records end in NUL, as find -print0 ends them",
        ));
    }
    if str::from_utf8(token).is_err() {
        return Some(match token.iter().any(control) {
            true => (
                "this looks like binary data",
                "give --format raw and --dtype",
            ),
            false => (
                "this is no UTF-8",
                "iconv -f LATIN1 -t UTF-8 FILE | warpfold ..., or --format raw and --dtype for \
                 binary data",
            ),
        });
    }
    match token {
        [text @ .., 0x1a] | [0x1a, text @ ..] if !text.iter().any(control) => Some((
            "it holds ^Z, which looks like binary data, or like texts of DOS one behind the other",
            "tr -d '\\032' < FILE | warpfold ..., or --format raw and --dtype for binary data",
        )),
        _ => match token.iter().find(|byte| control(byte)) {
            None => None,
            Some(0x0b) => Some((
                "it holds a vertical tab",
                "tr '\\013' ' ' < FILE | warpfold ...",
            )),
            Some(0) => Some((
                "it holds NUL, which ends records of find -print0 and others, or is in binary data",
                "tr '\\0' '\\n' < FILE | warpfold ..., or --format raw and --dtype for binary data",
            )),
            Some(0x08) if is_struck_over(token) => Some((
                "it holds backspaces, as bold letters of nroff",
                "col -b < FILE | warpfold ...",
            )),
            Some(b'\n' | b'\r') => Some((
                "a line ends between its quotes",
                "close them before the line ends, or take them out",
            )),
            Some(_) => Some((
                "it holds a control character, as binary data do",
                "tr '\\000-\\010\\016-\\037' ' ' < FILE | warpfold ..., or --format raw and --dtype \
                 for binary data",
            )),
        },
    }
}

/// Whether a character stands before each backspace, and one behind it.
fn is_struck_over(token: &[u8]) -> bool {
    let mut bytes = token.iter().enumerate();
    bytes.all(|(at, &byte)| {
        let is_shown = |at: usize| token.get(at).is_some_and(u8::is_ascii_graphic);
        byte != 0x08 || at > 0 && is_shown(at - 1) && is_shown(at + 1)
    })
}

/// Whether a comma stands between digits.
fn has_comma_within(line: &[u8]) -> bool {
    let is_within =
        |three: &[u8]| three[0].is_ascii_digit() && three[1] == b',' && three[2].is_ascii_digit();
    line.windows(3).any(is_within)
}

/// A word as a shell takes it.
fn in_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A number of things.
pub(super) fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}
