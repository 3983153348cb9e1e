//! Which fields of a text are read: its header, its columns, and what they hold.

mod messages;
mod names;

pub(super) use messages::{WITHOUT_QUOTES, printed_format, skipping};
pub(super) use names::tell_of_numbers_as_names;

use super::lexer::{Dialect, Lexer, Step};
use super::spelling::{Kind, Needs, Spelling};
use super::survey::{Codes, Contents, First, MOST_COLUMNS, Survey};
use super::{Column, SAMPLE_BYTES};
use crate::args::{Missing, TextArguments};
use crate::failure::{Failure, Result};
use crate::logger;
use names::Names;
use std::collections::HashSet;

/// What was found out about a text before it is read.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Whether the first row is a header, and no data.
    pub(super) has_header: bool,
    /// The fields of every row, and what says so.
    pub(super) width: Option<Width>,
    /// The columns that are read, in this order.
    pub(super) columns: Vec<Found>,
    pub(super) left_out: LeftOut,
    /// The lines above the table, if the first rows have fewer fields than most.
    pub(super) lines_above: Option<u64>,
    /// The fields of the header, or of the first row.
    pub(super) fields: usize,
}

/// The columns that are not read, although the user named none.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The first one, which holds the names of rows.
    pub(super) row_names: bool,
    /// The names of those without a number.
    pub(super) labels: Vec<String>,
    /// The names of those with more words than numbers.
    pub(super) mixed: Vec<String>,
    /// The indices of those that held nothing as far as one looked.
    pub(super) empty: Vec<usize>,
}

impl LeftOut {
    /// Says what is not read.
    pub(super) fn warn(&self, file: &str) {
        if self.row_names {
            logger::insist(format!(
                "{file}: the first column has no name: it names the rows, and is left out \
                 (--column 1- reads all)"
            ));
        }
        if !self.labels.is_empty() {
            let labels = self.labels.join(", ");
            logger::warn(format_args!(
                "{file}: columns without numbers are left out: {labels}"
            ));
        }
        // Numbers are among them.
        if !self.mixed.is_empty() {
            let mixed = self.mixed.join(", ");
            logger::insist(format!(
                "{file}: columns with more words than numbers are left out: {mixed}"
            ));
        }
    }
}

/// How many fields each row has.
#[derive(Debug, Clone)]
pub(super) struct Width {
    pub(super) fields: usize,
    /// The line that has so many.
    pub(super) line: u64,
    /// Whether that line is a header which does not name the first column.
    pub(super) row_names: bool,
    /// Whether tabs stand in the first row, where white space separates fields.
    pub(super) has_tabs: bool,
}

/// A column that is read.
#[derive(Debug)]
pub(super) struct Found {
    /// From 0 on.
    pub(super) index: usize,
    pub(super) name: Option<String>,
    pub(super) needs: Needs,
    /// Whether rows are ordered by it.
    pub(super) is_key: bool,
    /// Whether it is a key whose numbers may be codes.
    pub(super) may_be_codes: bool,
    /// Whether it is a key that holds words.
    pub(super) has_words: bool,
    /// Whether its integers have zeros in front, as codes have.
    pub(super) has_zeros: bool,
    /// Whether it held numbers, and no truth values.
    pub(super) without_truths: bool,
}

impl Found {
    /// Its name, or else its number.
    pub(super) fn title(&self) -> String {
        let number = || (self.index + 1).to_string();
        self.name.clone().unwrap_or_else(number)
    }
}

impl Layout {
    /// What a text consists of. Without `columns`, all that hold numbers are read. There is none if
    /// the first row is too long to look at, and nothing about it is asked.
    pub(super) fn of(
        lexer: &mut Lexer,
        options: &TextArguments,
        spelling: &Spelling,
        keys: Keys<'_>,
    ) -> Result<Option<Layout>> {
        lexer.read_ahead(SAMPLE_BYTES)?;
        let survey = Survey::of(lexer, spelling, &options.columns);
        if !survey.is_whole {
            lexer.check_row()?;
            let is_asked = options.header || options.row_names || options.ragged;
            if options.columns.is_empty() && !is_asked {
                return Ok(None);
            }
            if survey.first.is_empty() {
                return Err(Failure::with_remedy(
                    &lexer.input.name,
                    format_args!(
                        "no row begins within the first {} MiB, and columns are chosen by the \
                         first one",
                        SAMPLE_BYTES >> 20
                    ),
                    "pass over the lines above with --skip; or take comments out, as grep -v '^#' \
                     FILE | warpfold ...",
                ));
            }
            let what = match survey.is_too_wide {
                true => format!("has more than {MOST_COLUMNS} fields"),
                false => format!("is longer than {} MiB", SAMPLE_BYTES >> 20),
            };
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", lexer.input.name, survey.first_line),
                format_args!("this row {what}, and columns are chosen by the first one"),
                "give --delimiter, if it ends elsewhere",
            ));
        }
        let planner = Planner {
            file: &lexer.input.name,
            survey: &survey,
            options,
            spelling,
            dialect: &lexer.dialect,
            skipped: lexer.skipped.as_deref(),
            keys,
            is_image: messages::is_image(lexer),
        };
        planner.layout().map(Some)
    }

    /// Whether a text without a delimiter is a table for all that: a comment names its columns, or
    /// the first row looks like a header, and holds no number outside of quotes.
    pub(super) fn is_evident(lexer: &mut Lexer, spelling: &Spelling) -> Result<bool> {
        lexer.read_ahead(SAMPLE_BYTES)?;
        let mut sample = lexer.sample();
        let (mut has_values, mut has_comment) = (false, None);
        while let Step::Field(field) = sample.step() {
            let comment = lexer.dialect.comment;
            // A comment stands before the first field, if anywhere.
            let has_comment = *has_comment.get_or_insert_with(|| {
                comment.is_some_and(|comment| sample.before(&field).contains(&comment))
            });
            has_values |= !field.quoted && spelling.kind(&sample.bytes(&field)) != Kind::Word;
            if has_values && !has_comment {
                return Ok(false);
            }
        }
        let survey = Survey::of(lexer, spelling, &[]);
        if has_values {
            return Ok(survey.has_names_in_comment(&lexer.dialect));
        }
        let can_be = match survey.first_row() {
            First::Header => true,
            First::Unclear => survey.is_quoted_alone(),
            First::Data => false,
        };
        Ok(can_be && survey.rows > 0)
    }
}

/// What the user says of columns that rows are ordered by.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Keys<'a> {
    /// What they are called.
    pub(super) names: &'a [String],
    /// Whether all columns are numbers of a type that was given.
    pub(super) are_numbers: bool,
}

struct Planner<'a> {
    file: &'a str,
    survey: &'a Survey,
    options: &'a TextArguments,
    spelling: &'a Spelling,
    dialect: &'a Dialect,
    skipped: Option<&'a [u8]>,
    keys: Keys<'a>,
    /// Whether the text is an image of one number a line.
    is_image: bool,
}

impl Planner<'_> {
    fn layout(&self) -> Result<Layout> {
        let (survey, options) = (self.survey, self.options);
        let wanted = &options.columns;
        self.check_marks()?;
        self.check_tabs()?;
        self.check_format()?;
        let names = self.names()?;
        let has_header = names.as_ref().is_some_and(|names| names.is_first_row);
        self.check_row_names(names.as_ref().filter(|_| has_header))?;
        let width = self.width(names.as_ref(), has_header)?;
        let of_header = names.as_ref().filter(|_| has_header);
        let fields = of_header.map_or(survey.first.len(), |names| names.names.len());
        let name = |index: usize| {
            let name = names.as_ref().and_then(|names| names.names.get(index));
            name.filter(|name| !name.is_empty()).cloned()
        };
        let known = names.as_ref().map_or(&[][..], |names| &names.names[..]);
        let keys = self.key_columns(known, fields);
        let is_key = |index| keys.contains(&index);
        let codes = |index| self.codes(index, has_header);
        let has_words = |index| {
            let holds = || self.holds_words(index, has_header) || codes(index).is_some();
            is_key(index) && (options.words || holds())
        };
        let mut left_out = LeftOut::default();
        let indices = if wanted.is_empty() {
            left_out.row_names = fields > 1
                && names.as_ref().is_some_and(|names| names.of_rows())
                && (1..fields).any(|index| self.contents(index, has_header).0 > 0);
            let numbers = |index: &usize| {
                if has_words(*index) {
                    return true;
                }
                if left_out.row_names && *index == 0 {
                    return false;
                }
                let (numbers, words) = self.contents(*index, has_header);
                // What has no name and holds nothing lacks numbers, which is told.
                let holds = numbers >= words && (numbers > 0 || words == 0 && !has_header);
                if !holds {
                    let title = name(*index).unwrap_or_else(|| (index + 1).to_string());
                    match numbers {
                        0 => left_out.labels.push(title),
                        _ => left_out.mixed.push(title),
                    }
                    if words == 0 {
                        left_out.empty.push(*index);
                    }
                }
                holds
            };
            let indices: Vec<_> = (0..fields).filter(numbers).collect();
            // Who says that rows have names knows where they stand.
            left_out.row_names &= !options.row_names;
            match indices.is_empty() {
                false => indices,
                // What is wrong is said where it is read: in a column that holds numbers, if any.
                true => {
                    left_out = LeftOut::default();
                    let mut held: Vec<_> = (0..fields).collect();
                    let has_numbers = |index: &usize| self.contents(*index, has_header).0 > 0;
                    if held.iter().any(has_numbers) {
                        held.retain(has_numbers);
                    }
                    held
                }
            }
        } else {
            let mut indices = Vec::new();
            for column in wanted {
                indices.extend(self.resolve(column, names.as_ref(), fields)?);
            }
            indices
        };
        let mut seen = indices.clone();
        seen.sort_unstable();
        if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
            let cause = format_args!("column {} is named twice", twice[0] + 1).to_string();
            return Err(Failure::with_remedy("--column", cause, "name each once"));
        }
        let columns = indices.into_iter().map(|index| Found {
            index,
            name: name(index),
            needs: self.needs(index, has_header),
            is_key: is_key(index),
            may_be_codes: is_key(index)
                && !has_words(index)
                && self.may_be_codes(index, has_header),
            has_words: has_words(index),
            has_zeros: codes(index).is_some(),
            without_truths: survey
                .columns
                .get(index)
                .is_some_and(Contents::lacks_truths),
        });
        let columns: Vec<Found> = columns.collect();
        self.tell_of_settings(&columns, has_header);
        self.check_points(&columns)?;
        for column in &columns {
            self.tell_of_contents(column, &column.title(), has_header)?;
        }
        Ok(Layout {
            lines_above: survey.lines_above(),
            has_header,
            width,
            columns,
            left_out,
            fields,
        })
    }

    fn width(&self, names: Option<&Names>, has_header: bool) -> Result<Option<Width>> {
        let survey = self.survey;
        let is_shifted = names.is_some_and(|names| names.names.len() > survey.first.len());
        // With one name the other field may also be a fraction, behind a comma.
        let is_doubtful = match self.options.ragged {
            true => 2 * survey.wider > survey.rows,
            false => survey.first.len() == 1 && survey.wider == survey.rows && survey.rows > 0,
        };
        if has_header && !is_shifted && is_doubtful {
            let remedy = "give --row-names if they do; else name all columns in the header";
            let skip = match survey.lines_above() {
                Some(lines) => format!(", or give {}", skipping(lines)),
                None => String::new(),
            };
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", self.file, survey.first_line),
                "most rows have a field more than this header: they may begin with names of rows",
                match self.dialect.delimiter == Some(b',') && survey.first.len() == 1 {
                    true => format!(
                        "give --delimiter ';' and --decimal , if a comma stands before fractions, \
                         or --thousands , if between thousands; {remedy}{skip}"
                    ),
                    false => format!("{remedy}{skip}"),
                },
            ));
        }
        if self.options.ragged || survey.first.is_empty() {
            return Ok(None);
        }
        let fields = names.filter(|names| names.is_first_row);
        let fields = fields.map_or(survey.first.len(), |names| names.names.len());
        if has_header && survey.is_shifted() && survey.ends_empty && !self.options.row_names {
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", self.file, survey.second_line),
                "the rows have a field more than the header: an empty one at their end, or names \
                 of rows before the others",
                "give --ragged if it is the one at the end, --row-names if rows begin with names",
            ));
        }
        Ok(Some(Width {
            fields,
            line: survey.first_line,
            row_names: fields > survey.first.len(),
            has_tabs: survey.has_tabs,
        }))
    }

    /// The indices of a column, or of a range of them.
    fn resolve(&self, column: &Column, names: Option<&Names>, fields: usize) -> Result<Vec<usize>> {
        let range = column.range();
        // The user can say that no names are above the data, but a comment has some.
        let numbers_alone = self.options.no_header && range.is_some();
        let names = names.filter(|_| !numbers_alone);
        let known = names.map_or(&[][..], |names| &names.names[..]);
        let mut meanings = column.meanings(known, fields);
        if meanings.len() > 1 {
            let line = names.map_or(self.survey.first_line, |names| names.line);
            return Err(self.several_meanings(column, &meanings, known, fields, line));
        }
        let any_field = self.options.ragged || self.survey.first.is_empty();
        match (meanings.pop(), range) {
            (Some(range), _) => Ok(range.collect()),
            (None, Some((first, last))) if any_field => {
                Ok((first - 1..last.unwrap_or(fields.max(first))).collect())
            }
            (None, Some((first, last))) => {
                Err(self.too_few(&last.unwrap_or(first).to_string(), fields))
            }
            (None, None) => Err(self.no_column(column, known, fields)),
        }
    }

    /// Says what a column holds that can be read in two ways.
    fn tell_of_contents(&self, column: &Found, title: &str, has_header: bool) -> Result<()> {
        let below = self.survey.columns.get(column.index);
        if !column.has_words {
            if below.is_some_and(Contents::mixes_truths) {
                logger::insist(format!(
                    "{}: truth values stand among the other numbers of column {title}, and are \
                     read as 1 and 0",
                    self.file
                ));
            }
            let has_zeros = below.is_some_and(|below| below.codes.has_zeros);
            let needs = self.needs_of_numbers(column.index, has_header);
            let is_doubtful = column.is_key && !self.keys.are_numbers && !self.options.words;
            if is_doubtful && has_zeros && needs.float && !needs.negative {
                logger::insist(format!(
                    "{}: column {title} has zeros in front of its numbers, as codes have, and \
                     fractions or exponents: they are numbers, and 01.10 is 1.1; --words says that \
                     they are words, --dtype f64 that they are numbers",
                    self.file
                ));
            }
            return Ok(());
        }
        if self.options.words {
            return Ok(());
        }
        match self.codes(column.index, has_header) {
            None if self.contents(column.index, has_header).0 > 0 => {
                logger::insist(format!(
                    "{}: column {title} holds words, so the numbers in it are words as well",
                    self.file
                ));
            }
            None => {}
            Some(codes) if codes.are_even() => logger::remark(
                "note",
                format!(
                    "{}: column {title} has zeros in front of its numbers, as codes have, so \
                     these are words; with --dtype they are numbers",
                    self.file
                ),
            ),
            Some(_) => {
                return Err(Failure::with_remedy(
                    format_args!("{}: column {title}", self.file),
                    "it has zeros in front of its numbers, which have more or fewer digits: as \
                     codes, 01 and 1 are two keys, and as numbers one",
                    "give --dtype i64 if they are numbers, or --dtype f64 where others have \
                     fractions, --words if they are codes",
                ));
            }
        }
        Ok(())
    }

    /// What the integers of a column look like, if it holds nothing else, and they may be codes.
    fn codes(&self, index: usize, has_header: bool) -> Option<Codes> {
        let below = self.survey.columns.get(index);
        let first = self.survey.first.get(index).filter(|_| !has_header);
        let first = first.map_or_else(Codes::default, |first| Codes::of(first.as_bytes()));
        let codes = below.map_or(first, |below| below.codes.and(first));
        let may_be = self.may_be_codes(index, has_header) && !self.holds_words(index, has_header);
        (may_be && codes.has_zeros).then_some(codes)
    }

    /// Whether the numbers of a column may be codes: they have no type, no fractions and no signs.
    fn may_be_codes(&self, index: usize, has_header: bool) -> bool {
        let needs = self.needs_of_numbers(index, has_header);
        !self.keys.are_numbers && !needs.negative && !needs.float
    }

    /// Whether a column holds words, and fewer numbers.
    fn holds_words(&self, index: usize, has_header: bool) -> bool {
        let first = self.survey.kinds.get(index).filter(|_| !has_header);
        let below = self.survey.columns.get(index);
        let words = below.map_or(0, |below| below.words) + usize::from(first == Some(&Kind::Word));
        words > below.map_or(0, |below| below.numbers)
    }

    /// The columns that rows are ordered by.
    fn key_columns(&self, names: &[String], fields: usize) -> HashSet<usize> {
        let texts = self.keys.names.iter().flat_map(|key| {
            let ends = ["", ":asc", ":desc"].into_iter();
            ends.filter_map(|end| key.strip_suffix(end))
        });
        let meanings = texts.flat_map(|text| Column(text.into()).meanings(names, fields));
        let single = meanings.filter(|range| range.len() == 1);
        single.map(|range| range.start).collect()
    }

    /// How many numbers a column holds, and how many other words.
    fn contents(&self, index: usize, has_header: bool) -> (usize, usize) {
        let below = self.survey.columns.get(index);
        let (mut numbers, mut words) = below.map_or((0, 0), Contents::numbers_and_words);
        if !has_header {
            match self.survey.kinds.get(index) {
                Some(Kind::Integer | Kind::Float) => numbers += 1,
                Some(Kind::Word) if self.survey.is_odd_number(index, self.spelling) => numbers += 1,
                Some(Kind::Word) => words += 1,
                _ => {}
            }
        }
        (numbers, words)
    }

    /// What a column needs of a type.
    fn needs(&self, index: usize, has_header: bool) -> Needs {
        let below = self.survey.columns.get(index);
        let kind = self.survey.kinds.get(index).filter(|_| !has_header);
        let mut needs = self.needs_of_numbers(index, has_header);
        let missing = below.is_some_and(|below| below.missing > 0) || kind == Some(&Kind::Missing);
        needs.float |= missing && self.spelling.missing == Missing::Nan;
        needs
    }

    /// What a column's numbers need, if none is missing.
    fn needs_of_numbers(&self, index: usize, has_header: bool) -> Needs {
        let below = self.survey.columns.get(index);
        let first = self.survey.needs.get(index).filter(|_| !has_header);
        let below = below.map_or_else(Needs::default, |below| below.needs);
        below.and(first.copied().unwrap_or_default())
    }
}

/// What separates columns, as it is given to `--delimiter`.
pub(super) fn named_mark(mark: char) -> String {
    match mark {
        '\t' => "tab".into(),
        mark => format!("'{mark}'"),
    }
}
