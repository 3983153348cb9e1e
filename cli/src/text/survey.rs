//! What stands at the start of a text: its first row, what may be names, and what each column
//! holds.

mod contents;
mod counted;
mod names;
mod points;

pub(super) use contents::{Codes, Contents};
pub(super) use counted::is_written_year;
pub(super) use names::is_name;
pub(super) use points::Points;

use super::Column;
use super::lexer::{Dialect, Lexer, Step};
use super::oddity;
use super::spelling::{Kind, Needs, Spelling, trim_text, truth};
use crate::input::Input;
use contents::{Mark, RowNames, Tabs};
use counted::{Below, is_period};
use memchr::memchr3;
use names::is_plain_name;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// So many rows tell whether a column holds numbers at all.
const TELLING_ROWS: usize = 1000;

/// No table has more columns.
pub(super) const MOST_COLUMNS: usize = 1 << 20;

/// What the first row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Header,
    Data,
    /// It can be either.
    Unclear,
}

/// What stands at the start of a text.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) first: Vec<String>,
    pub(super) first_line: u64,
    /// Whether tabs stand in it, where white space separates fields.
    pub(super) has_tabs: bool,
    /// Whether the sample holds all of it.
    pub(super) is_whole: bool,
    pub(super) kinds: Vec<Kind>,
    /// Its finite numbers, but for truth values.
    values: Vec<Option<f64>>,
    /// What its numbers need of a type.
    pub(super) needs: Vec<Needs>,
    /// Where it has words that are no names, but numbers with a mark in them or a comment behind.
    pub(super) odd_numbers: Vec<usize>,
    /// Whether it has more fields than there is room for.
    pub(super) is_too_wide: bool,
    /// Whether quotes stand around each of its fields.
    all_quoted: bool,
    /// Whether a number below stands in no quotes.
    bare_numbers: bool,
    /// Comments before the first row, which can be headers.
    pub(super) comments: Vec<Vec<u8>>,
    /// The line of the first row below that begins with a number, and the words before it.
    first_number: Option<(u64, usize)>,
    /// The line of the first row below that holds the name of a column that is wanted.
    pub(super) named: Option<u64>,
    /// The rows after the first one.
    pub(super) rows: usize,
    /// Their fewest fields and their most.
    pub(super) widths: Option<(usize, usize)>,
    /// How many of them have one field more than the first row, and it is not empty.
    pub(super) wider: usize,
    pub(super) second_line: u64,
    /// How many rows have so many fields, and the line of the first of these.
    lengths: BTreeMap<usize, (usize, u64)>,
    /// Whether each of them ends with an empty field.
    pub(super) ends_empty: bool,
    /// What is in them.
    pub(super) columns: Vec<Contents>,
    /// What their first fields are, if these are names of rows.
    row_names: RowNames,
    /// The first line that has the fields of the first row again. Nothing if another row begins
    /// like it, as data do.
    pub(super) repeated: Option<u64>,
    /// Whether a row begins like the first one, and is another.
    begins_alike: bool,
    tabs: Tabs,
    /// What the rows below a first one of numbers are, compared with it.
    below: Below,
    /// How often other marks than the delimiter stand in each row, and whether beside numbers.
    marks: [Mark; MARKS.len()],
}

/// What separates the columns of other tables.
const MARKS: [u8; 3] = [b';', b'|', b'\t'];

impl Survey {
    pub(super) fn of(lexer: &Lexer, spelling: &Spelling, wanted: &[Column]) -> Survey {
        let mut survey = Survey {
            ends_empty: true,
            all_quoted: true,
            ..Survey::default()
        };
        let mut sample = lexer.sample();
        let (mut row, mut index, mut last_empty) = (0, 0, false);
        // How many fields of the row, from the start, are those of the first one.
        let (mut alike, mut tabs_behind) = (0, 0);
        let mut unsettled = Vec::new();
        let delimiter = lexer.dialect.delimiter;
        let mut before: Option<Cow<'_, [u8]>> = None;
        let ends = loop {
            match sample.step() {
                Step::Field(field) if index < MOST_COLUMNS => {
                    let bytes = sample.bytes(&field);
                    if row < TELLING_ROWS && delimiter.is_none() {
                        survey.tabs.row.push(sample.tabs_before(&field));
                        tabs_behind = sample.tabs_behind(&field);
                    }
                    if row < TELLING_ROWS {
                        if !field.quoted && delimiter.is_some() {
                            survey.look_for_marks(&bytes, spelling);
                        }
                        if row > 0 {
                            let names = &mut survey.row_names;
                            names.take(index, &bytes, field.quoted);
                            names.join(index, before.as_deref(), &bytes, field.quoted, delimiter);
                        }
                        before = (!field.quoted).then(|| bytes.clone());
                    }
                    last_empty = bytes.is_empty() && !field.quoted;
                    if row == 0 {
                        if index == 0 {
                            let comments = comments(sample.before(&field), lexer.dialect.comment);
                            survey.comments = comments;
                            survey.first_line = sample.row_line();
                            survey.has_tabs = delimiter.is_none() && sample.has_tab_from(&field);
                        }
                        let kind = spelling.kind(&bytes);
                        let start = before_comment(&bytes, lexer.dialect.comment);
                        let is_odd = kind == Kind::Word
                            && (spelling.looks_like_number(start)
                                || spelling.kind(start) != Kind::Word);
                        survey.odd_numbers.extend(is_odd.then_some(index));
                        survey.kinds.push(kind);
                        let is_plain = kind.is_number() && truth(&bytes).is_none();
                        let value = is_plain.then(|| spelling.value(&bytes)).flatten();
                        survey.values.push(value.filter(|value| value.is_finite()));
                        let mut needs = Needs::default();
                        match kind {
                            Kind::Float => needs.float = true,
                            Kind::Integer => needs.take_integer(&bytes, spelling),
                            Kind::Missing | Kind::Word => {}
                        }
                        survey.needs.push(needs);
                        survey.first.push(text_of(&bytes));
                        survey.all_quoted &= field.quoted;
                    } else {
                        let first = survey.first.get(index).filter(|_| alike == index);
                        let is_alike = first.is_some_and(|first| text_is(&bytes, first));
                        alike += usize::from(is_alike);
                        let comment = lexer.dialect.comment;
                        let kind = survey.look_at(row, index, &bytes, spelling, comment);
                        let is_number = matches!(kind, Some(Kind::Integer | Kind::Float));
                        survey.bare_numbers |= is_number && !field.quoted;
                        if index == 0 && is_number && survey.first_number.is_none() {
                            let words = survey.columns[0].words;
                            survey.first_number = Some((sample.row_line(), words));
                        }
                        let is_wanted = |column: &Column| column.0.as_bytes() == &*bytes;
                        if row < TELLING_ROWS && survey.named.is_none() && !is_number {
                            let is_named = wanted.iter().any(is_wanted);
                            survey.named = is_named.then(|| sample.row_line());
                        }
                        if row < TELLING_ROWS && survey.below.is_compared() {
                            let value = spelling.value(&bytes).filter(|_| is_number);
                            survey.below.take(index, value);
                        }
                    }
                    index += 1;
                }
                Step::Field(_) if row == 0 => {
                    survey.is_too_wide = true;
                    return survey;
                }
                Step::Field(_) => index += 1,
                Step::RowEnd(width) => {
                    before = None;
                    if row > 0 && alike == width && width == survey.first.len() {
                        survey.repeated.get_or_insert(sample.row_line());
                    } else {
                        survey.begins_alike |= alike > 0;
                    }
                    alike = 0;
                    if row < TELLING_ROWS && delimiter.is_none() {
                        survey.tabs.row.push(tabs_behind);
                        survey.tabs.end_row(row == 0);
                    }
                    if row < TELLING_ROWS {
                        survey.end_marks(row == 0);
                        let line = sample.row_line();
                        survey.lengths.entry(width).or_insert((0, line)).0 += 1;
                    }
                    if row > 0 {
                        let (least, most) = survey.widths.unwrap_or((width, width));
                        survey.widths = Some((least.min(width), most.max(width)));
                        survey.ends_empty &= last_empty;
                        let is_wider = width == survey.first.len() + 1 && !last_empty;
                        survey.wider += usize::from(is_wider);
                    }
                    match row {
                        0 => survey.below = Below::of(survey.numbers_alone()),
                        _ if row < TELLING_ROWS => survey.below.end_row(),
                        _ => {}
                    }
                    if row == 1 {
                        survey.second_line = sample.row_line();
                    }
                    row += 1;
                    index = 0;
                    if row == TELLING_ROWS {
                        unsettled = survey.wanted(wanted);
                    }
                    if row >= TELLING_ROWS {
                        unsettled.retain(|&column| !survey.columns[column].is_settled());
                        if unsettled.is_empty() {
                            break false;
                        }
                    }
                }
                Step::More => break false,
                Step::End => break true,
            }
        };
        if survey.begins_alike {
            survey.repeated = None;
        }
        survey.rows = row.saturating_sub(1);
        survey.is_whole = row > 0 || ends && survey.first.is_empty();
        survey
    }

    /// Takes note of what may separate columns, in a field without quotes.
    fn look_for_marks(&mut self, bytes: &[u8], spelling: &Spelling) {
        // Behind the last value of a row, one ends it.
        let bytes = bytes.strip_suffix(b";").unwrap_or(bytes);
        if memchr3(MARKS[0], MARKS[1], MARKS[2], bytes).is_none() {
            return;
        }
        for (mark, byte) in self.marks.iter_mut().zip(MARKS) {
            mark.count += bytes.iter().filter(|&&other| other == byte).count();
            let mut pieces = bytes.split(|&other| other == byte);
            let is_number =
                |piece: &[u8]| matches!(spelling.kind(piece), Kind::Integer | Kind::Float);
            mark.is_beside |= bytes.contains(&byte) && pieces.any(is_number);
        }
    }

    fn end_marks(&mut self, is_first: bool) {
        for mark in &mut self.marks {
            let count = std::mem::take(&mut mark.count);
            let is_alike = is_first || mark.in_all == Some(count);
            mark.in_all = Some(count).filter(|&count| count > 0 && is_alike);
            mark.beside += usize::from(std::mem::take(&mut mark.is_beside));
        }
    }

    /// Whether a row has several fields.
    pub(super) fn has_several(&self) -> bool {
        self.first.len() > 1 || self.widths.is_some_and(|(_, most)| most > 1)
    }

    /// What stands as often in each row, and beside numbers: it may separate the columns.
    pub(super) fn other_mark(&self) -> Option<u8> {
        let mut marks = self.marks.iter().zip(MARKS);
        let rows = (self.rows + 1).min(TELLING_ROWS);
        // A header has no numbers.
        let found = marks
            .find(|(mark, _)| mark.in_all.is_some() && mark.beside > 0 && mark.beside + 1 >= rows);
        found.map(|(_, byte)| byte)
    }

    /// Whether tabs separate other columns than white space does, as often in each row.
    pub(super) fn has_other_cells(&self) -> bool {
        self.rows > 0 && self.tabs.cut_otherwise()
    }

    /// A word of the first row that may be a damaged value: it stands above numbers, and does not
    /// look like a name.
    pub(super) fn doubtful_name(&self, spelling: &Spelling) -> Option<&str> {
        let shift = usize::from(self.is_shifted() && !self.ends_empty);
        let is_above_numbers = |index: usize| {
            let below = self.columns.get(index + shift);
            below.is_none_or(|below| {
                let (numbers, words) = below.numbers_and_words();
                numbers > 0 || words == 0
            })
        };
        let is_quoted = self.is_quoted_alone();
        let words = self.first.iter().zip(&self.kinds).enumerate();
        let mut words = words.filter(|(_, (_, kind))| **kind == Kind::Word);
        // `O2` beside `time` is a name, and `l0` alone may be a 10.
        let is_number = |text: &str| spelling.kind(text.as_bytes()).is_number();
        let is_alike = |word: &str| !is_quoted && oddity::alike(word, is_number).is_some();
        let all_alike = words.clone().all(|(_, (word, _))| is_alike(word));
        let doubtful = words.find(|&(index, (word, _))| {
            is_above_numbers(index) && (all_alike || !is_plain_name(word, is_quoted, spelling))
        });
        doubtful.map(|(_, (word, _))| word.as_str())
    }

    /// A name above numbers that is a number if letters in it are digits, and that number, if all
    /// names above numbers are so.
    pub(super) fn name_like_number(&self, spelling: &Spelling) -> Option<(&str, String)> {
        let is_number = |text: &str| spelling.kind(text.as_bytes()).is_number();
        let columns = self.first.iter().zip(&self.kinds).zip(&self.columns);
        let names = columns.filter(|((_, kind), below)| **kind == Kind::Word && below.numbers > 0);
        let mut names = names.map(|((name, _), _)| {
            let number = oddity::alike(name, is_number)?;
            // `O2` is a gas.
            (!number.starts_with('0')).then_some((name.as_str(), number))
        });
        let first = names.next()??;
        names.all(|name| name.is_some()).then_some(first)
    }

    /// Where the first row stands again, if it begins with a name, as a header that came with its
    /// file does.
    pub(super) fn repeated_names(&self) -> Option<u64> {
        let begins = self.first.first().is_some_and(|name| is_name(name));
        let is_word = self.kinds.first() == Some(&Kind::Word);
        self.repeated.filter(|_| begins && is_word)
    }

    /// How many rows below the first one have so many fields, of those that tell.
    pub(super) fn rows_of(&self, fields: usize) -> usize {
        let rows = self.lengths.get(&fields).map_or(0, |(rows, _)| *rows);
        rows - usize::from(fields == self.first.len() && rows > 0)
    }

    /// The number of a column behind the names of rows that can be the start of a number, whose
    /// last three digits are the next column, in each row.
    pub(super) fn thousands_behind_names(&self) -> Option<usize> {
        self.row_names.thousands().map(|pair| pair + 1)
    }

    /// Why the first fields of rows with one more than the header may be no names of rows.
    pub(super) fn doubt_of_row_names(&self, delimiter: Option<u8>) -> Option<&'static str> {
        let names = &self.row_names;
        // What quotes its names does so with numbers that have a mark, too.
        if !names.bare && self.all_quoted && !names.are_odd(delimiter) {
            return None;
        }
        Some(match (names.joins.contains(&true), delimiter) {
            (true, None) => "names of rows before the others, or numbers with a space in them",
            (true, Some(_)) => "names of rows before the others, or numbers with a comma in them",
            (false, _) => "names of rows before the others, or a column without a name",
        })
    }

    /// Takes note of a field, and says what it is unless that tells nothing more.
    fn look_at(
        &mut self,
        row: usize,
        index: usize,
        bytes: &[u8],
        spelling: &Spelling,
        comment: Option<u8>,
    ) -> Option<Kind> {
        if index >= self.columns.len() {
            self.columns.resize(index + 1, Contents::default());
        }
        let contents = &mut self.columns[index];
        if row > TELLING_ROWS {
            if contents.is_settled() {
                return None;
            }
            // Only a float or a large one changes what is known of a column of integers.
            if contents.numbers > 0 && !spelling.is_of_floats(bytes) {
                contents.missing += usize::from(bytes.is_empty());
                contents.needs.take_integer(bytes, spelling);
                contents.codes.take(bytes);
                return None;
            }
        }
        let kind = spelling.kind(bytes);
        let is_odd =
            || spelling.looks_like_number(bytes) && !spelling.other_marks(bytes, false).is_empty();
        match kind {
            Kind::Missing => contents.missing += 1,
            Kind::Integer => {
                contents.numbers += 1;
                contents.integers += 1;
                let is_truth = truth(bytes).is_some();
                contents.truths += u32::from(is_truth);
                contents.others += u32::from(!is_truth && !matches!(bytes, b"0" | b"1"));
                contents.points.take_integer(bytes);
                contents.codes.take(bytes);
                contents.needs.take_integer(bytes, spelling);
                let text = str::from_utf8(bytes).unwrap_or("").trim();
                contents.years += u32::from(text.parse().is_ok_and(is_period));
            }
            Kind::Float => {
                (contents.numbers, contents.needs.float) = (contents.numbers + 1, true);
                contents.needs.negative |= bytes.starts_with(b"-");
                contents.codes.take_float(bytes);
                contents.others += 1;
                contents.points.take_float(bytes);
            }
            // A number with other marks is no label: it is told.
            Kind::Word if is_odd() => {
                contents.numbers += 1;
                contents.points.take_odd(bytes);
            }
            Kind::Word => {
                contents.words += 1;
                let start = before_comment(bytes, comment);
                let is_quantity = oddity::is_quantity(bytes, spelling)
                    || start.len() < bytes.len() && spelling.kind(start).is_number();
                contents.quantities += u32::from(is_quantity);
                contents.digits += u32::from(!is_name(&String::from_utf8_lossy(bytes)));
                let first = self.first.get(index);
                contents.recurs |= first.is_some_and(|first| first.as_bytes() == bytes);
            }
        }
        Some(kind)
    }

    /// The lines above the row that is the first one of a table, where the rows before it have
    /// fewer fields than most.
    pub(super) fn lines_above(&self) -> Option<u64> {
        let most = self.lengths.iter().max_by_key(|(_, (rows, _))| *rows);
        let (&fields, &(rows, line)) = most?;
        let is_wider = fields > self.first.len() && rows > 1 && line > self.first_line;
        // Sizes are numbers alone, and names of columns are not.
        let has_names = self.is_quoted_alone() || self.kinds.contains(&Kind::Word);
        (is_wider && !(has_names && self.is_shifted())).then_some(line - 1)
    }

    /// The lines above the first row that begins with a number, if rows below the first begin with
    /// names, and all of these stand above it: settings of what measured the table.
    pub(super) fn settings_above(&self) -> Option<u64> {
        let (line, words) = self.first_number?;
        let first = self.columns.first()?;
        let are_above = words > 0 && words == first.words && first.words < first.numbers;
        let are_names = first.digits == 0 && self.kinds.first() == Some(&Kind::Word);
        (are_above && are_names).then_some(line - 1)
    }

    /// Whether a word of the first row is a number with a mark in it, or something beside it.
    pub(super) fn is_odd_number(&self, index: usize, spelling: &Spelling) -> bool {
        let word = self.first.get(index).map_or("", String::as_str);
        self.odd_numbers.contains(&index) || oddity::is_quantity(word.as_bytes(), spelling)
    }

    /// The names that each comment above the first row may be, the last one first.
    pub(super) fn names_in_comments(&self, dialect: &Dialect) -> impl Iterator<Item = Vec<String>> {
        let names = self
            .comments
            .iter()
            .rev()
            .map(|line| fields_of(line, dialect));
        let width = self.first.len();
        names.filter(move |names| width == 0 || names.len() == width)
    }

    /// Whether a comment names the columns of rows between white space: several, of one length.
    pub(super) fn has_names_in_comment(&self, dialect: &Dialect) -> bool {
        let fields = self.first.len();
        let is_even = self.widths.is_none_or(|widths| widths == (fields, fields));
        let mut comments = self.names_in_comments(dialect);
        let names = comments.next();
        fields > 1 && is_even && names.is_some_and(|names| names.iter().all(|name| is_name(name)))
    }

    /// The columns that may be wanted, and some others.
    fn wanted(&self, wanted: &[Column]) -> Vec<usize> {
        let name = |index: usize| self.first.get(index).map_or("", |name| name);
        let may_be = |index: &usize| {
            // Where rows have names, columns move by one.
            let named = [name(*index), name(index.saturating_sub(1))];
            wanted.is_empty() || wanted.iter().any(|column| column.may_be(*index, &named))
        };
        (0..self.columns.len()).filter(may_be).collect()
    }

    /// Whether all rows have a field more than the first one, as where rows have names, and the
    /// first row or these names are words. With one column the other can be a fraction as well,
    /// behind a comma.
    pub(super) fn is_shifted(&self) -> bool {
        let wider = self.first.len() + 1;
        let has_words = self.kinds.contains(&Kind::Word) || self.is_quoted_alone() || {
            let names = self.columns.first();
            names.is_some_and(|names| names.numbers == 0 && names.words > 0)
        };
        wider > 2 && self.widths == Some((wider, wider)) && has_words
    }

    /// Whether quotes stand around the first row alone, as programs write names.
    pub(super) fn is_quoted_alone(&self) -> bool {
        self.all_quoted && self.bare_numbers && !self.first.is_empty()
    }

    /// What the first row is, as far as one can see.
    pub(super) fn first_row(&self) -> First {
        let has = |kind| self.kinds.contains(&kind);
        let has_numbers = has(Kind::Integer) || has(Kind::Float);
        if self.is_shifted() && !self.ends_empty {
            return match has_numbers {
                true => First::Unclear,
                false => First::Header,
            };
        }
        if self.has_truth_as_name() {
            return First::Unclear;
        }
        let words = self.kinds.iter().zip(&self.first).enumerate();
        let words = words.filter(|(_, (kind, _))| **kind == Kind::Word);
        if !has(Kind::Word) {
            // Programs leave out the name of what names the rows.
            let corner = self.first.len() > 1
                && self.first[0].is_empty()
                && self.rows > 0
                && self.columns[0].missing == 0;
            return match corner || self.is_quoted_alone() {
                true => First::Unclear,
                false => First::Data,
            };
        }
        if words.clone().count() == self.odd_numbers.len() {
            return First::Data;
        }
        // What stands for a missing value may be the first one of its column.
        let mut fields = self.kinds.iter().zip(&self.first);
        let has_missing = fields.any(|(kind, text)| *kind == Kind::Missing && !text.is_empty());
        let has_values = has_numbers || has_missing || !self.odd_numbers.is_empty();
        let below = |index: usize| self.columns.get(index);
        // A date above dates is one of them.
        let is_like = |(index, (_, name)): (usize, (&Kind, &String))| {
            let all = |below: &Contents| below.words > 0 && below.digits as usize == below.words;
            !is_name(name) && below(index).is_some_and(all)
        };
        let recurs = |index: usize| below(index).is_some_and(|below| below.recurs);
        if words.clone().any(is_like) {
            return First::Data;
        }
        if words.clone().any(|(index, _)| recurs(index)) {
            let may_be_names = self.has_name_above_numbers()
                || self.has_numbers_as_names()
                || self.is_quoted_alone();
            return match may_be_names {
                true => First::Unclear,
                false => First::Data,
            };
        }
        let is_header = !has_values && words.clone().any(|(_, (_, name))| is_name(name));
        match is_header && !self.lacks_names_of_numbers() {
            true => First::Header,
            false => First::Unclear,
        }
    }

    /// Whether a truth value stands above numbers that are none, as where values are counted.
    fn has_truth_as_name(&self) -> bool {
        let mut columns = self.first.iter().zip(&self.columns);
        columns.any(|(name, below)| {
            truth(name.as_bytes()).is_some() && below.numbers > below.truths as usize
        })
    }

    /// Whether words stand above words alone, and nothing above each column of numbers: then the
    /// numbers of a row of data may be missing. A last column without a name, which is empty, is
    /// none.
    pub(super) fn lacks_names_of_numbers(&self) -> bool {
        let columns = self.first.iter().zip(&self.kinds).zip(&self.columns);
        let mut above_numbers = columns.filter(|(_, below)| below.numbers > 0).peekable();
        above_numbers.peek().is_some()
            && above_numbers.all(|((name, kind), _)| *kind == Kind::Missing && name.is_empty())
    }

    /// Whether a name stands above numbers.
    fn has_name_above_numbers(&self) -> bool {
        let mut columns = self.first.iter().zip(&self.kinds).zip(&self.columns);
        columns.any(|((name, kind), below)| {
            *kind == Kind::Word && is_name(name) && below.numbers > 0 && below.words == 0
        })
    }

    /// Whether numbers of the first row, if any, are values and no names.
    pub(super) fn has_values(&self) -> bool {
        !self.has_name_above_numbers() && !self.has_numbers_as_names()
    }
}

/// Whether the content of a field is a text.
fn text_is(bytes: &[u8], text: &str) -> bool {
    bytes == text.as_bytes() || bytes.len() > text.len() && text_of(bytes) == text
}

/// The bytes before a comment.
fn before_comment(bytes: &[u8], comment: Option<u8>) -> &[u8] {
    let end = bytes.iter().position(|&byte| Some(byte) == comment);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// The content of a field, as text.
fn text_of(bytes: &[u8]) -> String {
    trim_text(&String::from_utf8_lossy(bytes)).to_owned()
}

/// The lines of some bytes that are comments, without what they start with.
fn comments(bytes: &[u8], comment: Option<u8>) -> Vec<Vec<u8>> {
    let Some(comment) = comment else {
        return Vec::new();
    };
    let lines = bytes.split(|&byte| matches!(byte, b'\n' | b'\r'));
    let text = lines.filter_map(|line| line.trim_ascii().strip_prefix(&[comment]));
    let content = text.map(|text| {
        let marks = text.iter().take_while(|&&byte| byte == comment).count();
        text[marks..].to_vec()
    });
    content.collect()
}

/// The fields of a line by itself.
pub(super) fn fields_of(line: &[u8], dialect: &Dialect) -> Vec<String> {
    let dialect = Dialect {
        comment: None,
        ..dialect.clone()
    };
    let input = Input::reading("", std::io::Cursor::new(line.to_vec()));
    let mut lexer = Lexer::new(input, dialect);
    let mut fields = Vec::new();
    if lexer.read_ahead(line.len() + 1).is_ok() {
        let mut sample = lexer.sample();
        while let Step::Field(field) = sample.step() {
            fields.push(text_of(&sample.bytes(&field)));
        }
    }
    fields
}
