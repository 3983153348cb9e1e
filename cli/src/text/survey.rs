//! What stands at the start of a text: its first row, what may be names, and what each column
//! holds.

use super::Column;
use super::lexer::{Dialect, Lexer, Step};
use super::spelling::{Kind, Spelling};
use crate::input::Input;

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
    /// Whether the sample holds all of it.
    pub(super) is_whole: bool,
    pub(super) kinds: Vec<Kind>,
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
    /// The rows after the first one.
    pub(super) rows: usize,
    /// Their fewest fields and their most.
    widths: Option<(usize, usize)>,
    /// How many of them have one field more than the first row, and it is not empty.
    pub(super) wider: usize,
    pub(super) second_line: u64,
    /// Whether each of them ends with an empty field.
    pub(super) ends_empty: bool,
    /// What is in them.
    pub(super) columns: Vec<Contents>,
}

/// What the rows after the first have in a column.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    pub(super) numbers: usize,
    pub(super) is_float: bool,
    integers: usize,
    /// How many of the numbers can be years.
    years: usize,
    pub(super) words: usize,
    /// How many of the words begin like numbers: dates, for example.
    digits: usize,
    pub(super) missing: usize,
    /// Whether one of them is the word of the first row.
    recurs: bool,
}

impl Contents {
    /// Whether more rows would tell nothing.
    fn is_settled(&self) -> bool {
        self.is_float || self.numbers < self.words
    }
}

impl Survey {
    pub(super) fn of(lexer: &Lexer, spelling: &Spelling, wanted: &[Column]) -> Survey {
        let mut survey = Survey {
            ends_empty: true,
            all_quoted: true,
            ..Survey::default()
        };
        let mut sample = lexer.sample();
        let (mut row, mut index, mut last_empty) = (0, 0, false);
        let mut unsettled = Vec::new();
        loop {
            match sample.step() {
                Step::Field(field) if index < MOST_COLUMNS => {
                    let bytes = sample.bytes(&field);
                    last_empty = bytes.is_empty() && !field.quoted;
                    if row == 0 {
                        if index == 0 {
                            let comments = comments(sample.before(&field), lexer.dialect.comment);
                            survey.comments = comments;
                            survey.first_line = sample.row_line();
                        }
                        let kind = spelling.kind(&bytes);
                        let start = before_comment(&bytes, lexer.dialect.comment);
                        let is_odd = kind == Kind::Word
                            && (spelling.looks_like_number(start)
                                || spelling.kind(start) != Kind::Word);
                        survey.odd_numbers.extend(is_odd.then_some(index));
                        survey.kinds.push(kind);
                        survey.first.push(text_of(&bytes));
                        survey.all_quoted &= field.quoted;
                    } else {
                        let kind = survey.look_at(row, index, &bytes, spelling);
                        let is_number = matches!(kind, Some(Kind::Integer | Kind::Float));
                        survey.bare_numbers |= is_number && !field.quoted;
                    }
                    index += 1;
                }
                Step::Field(_) if row == 0 => {
                    survey.is_too_wide = true;
                    return survey;
                }
                Step::Field(_) => index += 1,
                Step::RowEnd(width) => {
                    if row > 0 {
                        let (least, most) = survey.widths.unwrap_or((width, width));
                        survey.widths = Some((least.min(width), most.max(width)));
                        survey.ends_empty &= last_empty;
                        let is_wider = width == survey.first.len() + 1 && !last_empty;
                        survey.wider += usize::from(is_wider);
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
                            break;
                        }
                    }
                }
                Step::More | Step::End => break,
            }
        }
        survey.rows = row.saturating_sub(1);
        survey.is_whole = row > 0 || survey.first.is_empty();
        survey
    }

    /// Takes note of a field, and says what it is unless that tells nothing more.
    fn look_at(
        &mut self,
        row: usize,
        index: usize,
        bytes: &[u8],
        spelling: &Spelling,
    ) -> Option<Kind> {
        if index >= self.columns.len() {
            self.columns.resize(index + 1, Contents::default());
        }
        let contents = &mut self.columns[index];
        if row > TELLING_ROWS {
            if contents.is_settled() {
                return None;
            }
            // Only a float changes what is known of a column of integers.
            if contents.numbers > 0 && !spelling.is_of_floats(bytes) {
                contents.missing += usize::from(bytes.is_empty());
                return None;
            }
        }
        let kind = spelling.kind(bytes);
        let is_odd =
            || spelling.looks_like_number(bytes) && !spelling.other_marks(bytes).is_empty();
        match kind {
            Kind::Missing => contents.missing += 1,
            Kind::Integer => {
                contents.numbers += 1;
                contents.integers += 1;
                let text = str::from_utf8(bytes).unwrap_or("").trim();
                contents.years += usize::from(text.parse().is_ok_and(is_year));
            }
            Kind::Float => (contents.numbers, contents.is_float) = (contents.numbers + 1, true),
            // A number with other marks is no label: it is told.
            Kind::Word if is_odd() => contents.numbers += 1,
            Kind::Word => {
                contents.words += 1;
                contents.digits += usize::from(!is_name(&String::from_utf8_lossy(bytes)));
                let first = self.first.get(index);
                contents.recurs |= first.is_some_and(|first| first.as_bytes() == bytes);
            }
        }
        Some(kind)
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

    /// Whether the first row looks like names although it holds integers alone: years above what
    /// are none, or 0, 1, 2 above fractions, as pandas counts columns.
    pub(super) fn looks_counted(&self) -> bool {
        let number = |name: &String| name.parse::<i64>().ok();
        let Some(first): Option<Vec<i64>> = self.first.iter().map(number).collect() else {
            return false;
        };
        let [start, second, ..] = first[..] else {
            return false;
        };
        let step = second.saturating_sub(start);
        let is_even = first
            .windows(2)
            .all(|pair| pair[1].saturating_sub(pair[0]) == step);
        let columns = self.columns.get(..first.len()).unwrap_or(&[]);
        let below = |holds: fn(&Contents) -> bool| !columns.is_empty() && columns.iter().all(holds);
        let are_years = (1..=10).contains(&step) && first.iter().copied().all(is_year);
        is_even
            && (are_years && below(|column| column.numbers > 0 && column.years == 0)
                || step == 1
                    && matches!(start, 0 | 1)
                    && below(|column| column.numbers > 0 && column.integers == 0))
    }

    /// What the first row is, as far as one can see.
    pub(super) fn first_row(&self) -> First {
        let has = |kind| self.kinds.contains(&kind);
        let has_numbers = has(Kind::Integer) || has(Kind::Float);
        if self.is_shifted() && !self.ends_empty {
            return First::Header;
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
        if has_numbers && words.clone().count() == self.odd_numbers.len() {
            return First::Data;
        }
        let recurs = |index: usize| self.columns.get(index).is_some_and(|below| below.recurs);
        // A date above dates is one of them.
        let is_like = |(index, (_, name)): (usize, (&Kind, &String))| {
            let below = self.columns.get(index);
            let all = |below: &Contents| below.words > 0 && below.digits == below.words;
            !is_name(name) && below.is_some_and(all)
        };
        if words.clone().any(|(index, _)| recurs(index)) || words.clone().any(is_like) {
            return First::Data;
        }
        // What stands for a missing value may be the first one of its column.
        let mut fields = self.kinds.iter().zip(&self.first);
        let has_missing = fields.any(|(kind, text)| *kind == Kind::Missing && !text.is_empty());
        let has_values = has_numbers || has_missing;
        if !has_values && words.clone().any(|(_, (_, name))| is_name(name)) {
            return First::Header;
        }
        First::Unclear
    }
}

fn is_year(number: i64) -> bool {
    (1500..=2200).contains(&number)
}

/// Whether a word can be a name: it starts with a letter. A date, a number with a mistake in it or
/// a sign before it, and words that stand for a value in data are none.
pub(super) fn is_name(word: &str) -> bool {
    const VALUES: [&str; 9] = [
        "true", "false", "yes", "no", "nd", "n.d.", "n.a.", "nat", "bdl",
    ];
    let start = word.trim_start_matches(['(', '[', '_', ' ']);
    start.starts_with(char::is_alphabetic) && !VALUES.contains(&word.to_lowercase().as_str())
}

/// The bytes before a comment.
fn before_comment(bytes: &[u8], comment: Option<u8>) -> &[u8] {
    let end = bytes.iter().position(|&byte| Some(byte) == comment);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// The content of a field, as text.
fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
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
