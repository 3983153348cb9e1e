//! Which fields of a text are read: its header, its columns, and what they hold.

use super::lexer::{Dialect, Lexer, Step};
use super::spelling::{Kind, Spelling};
use super::{Column, SAMPLE_BYTES, shown};
use crate::args::{Missing, TextArguments};
use crate::failure::{Failure, Result};
use crate::input::Input;

/// So many rows tell whether a column holds numbers at all.
const TELLING_ROWS: usize = 1000;

/// No table has more columns.
const MOST_COLUMNS: usize = 1 << 20;

/// What was found out about a text before it is read.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Whether the first row is a header, and no data.
    pub(super) has_header: bool,
    /// The fields of every row, and what says so.
    pub(super) width: Option<Width>,
    /// The columns that are read, in this order.
    pub(super) columns: Vec<Found>,
    /// The names of columns that hold no numbers, and are not read for that.
    pub(super) labels: Vec<String>,
}

/// How many fields each row has.
#[derive(Debug, Clone)]
pub(super) struct Width {
    pub(super) fields: usize,
    /// The line that has so many.
    pub(super) line: u64,
    /// Whether that line is a header which does not name the first column.
    pub(super) row_names: bool,
}

/// A column that is read.
#[derive(Debug)]
pub(super) struct Found {
    /// From 0 on.
    pub(super) index: usize,
    pub(super) name: Option<String>,
    pub(super) is_float: bool,
}

/// The names of columns, by their index.
#[derive(Debug, Clone)]
struct Names {
    names: Vec<String>,
    /// Where they stand.
    line: u64,
    is_first_row: bool,
}

/// What the first row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Header,
    Data,
    /// It can be either.
    Unclear,
}

/// What stands at the start of a text.
#[derive(Debug, Default)]
struct Survey {
    first: Vec<String>,
    first_line: u64,
    /// Whether the sample holds all of it.
    is_whole: bool,
    kinds: Vec<Kind>,
    /// Comments before the first row, which can be headers.
    comments: Vec<Vec<u8>>,
    /// The rows after the first one.
    rows: usize,
    /// Their fewest fields and their most.
    widths: Option<(usize, usize)>,
    second_line: u64,
    /// Whether each of them ends with an empty field.
    ends_empty: bool,
    /// What is in them.
    columns: Vec<Contents>,
}

/// What the rows after the first have in a column.
#[derive(Debug, Clone, Default)]
struct Contents {
    numbers: usize,
    is_float: bool,
    words: usize,
    /// How many of the words begin like numbers: dates, for example.
    digits: usize,
    missing: usize,
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
    fn of(lexer: &Lexer, spelling: &Spelling, wanted: &[Column]) -> Survey {
        let mut survey = Survey {
            ends_empty: true,
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
                        survey.kinds.push(spelling.kind(&bytes));
                        survey.first.push(text_of(&bytes));
                    } else {
                        survey.look_at(row, index, &bytes, spelling);
                    }
                    index += 1;
                }
                Step::Field(_) => index += 1,
                Step::RowEnd(width) => {
                    if row > 0 {
                        let (least, most) = survey.widths.unwrap_or((width, width));
                        survey.widths = Some((least.min(width), most.max(width)));
                        survey.ends_empty &= last_empty;
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

    fn look_at(&mut self, row: usize, index: usize, bytes: &[u8], spelling: &Spelling) {
        if index >= self.columns.len() {
            self.columns.resize(index + 1, Contents::default());
        }
        let contents = &mut self.columns[index];
        if row > TELLING_ROWS {
            if contents.is_settled() {
                return;
            }
            if !spelling.is_of_floats(bytes) {
                contents.missing += usize::from(bytes.is_empty());
                return;
            }
        }
        match spelling.kind(bytes) {
            Kind::Missing => contents.missing += 1,
            Kind::Integer => contents.numbers += 1,
            Kind::Float => (contents.numbers, contents.is_float) = (contents.numbers + 1, true),
            Kind::Word => {
                contents.words += 1;
                contents.digits += usize::from(!is_name(&String::from_utf8_lossy(bytes)));
                let first = self.first.get(index);
                contents.recurs |= first.is_some_and(|first| first.as_bytes() == bytes);
            }
        }
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
    fn is_shifted(&self) -> bool {
        let wider = self.first.len() + 1;
        let has_words = self.kinds.contains(&Kind::Word) || {
            let names = self.columns.first();
            names.is_some_and(|names| names.numbers == 0 && names.words > 0)
        };
        wider > 2 && self.widths == Some((wider, wider)) && has_words
    }

    /// What the first row is, as far as one can see.
    fn first_row(&self) -> First {
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
            return if corner { First::Unclear } else { First::Data };
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
        if !has_numbers && words.clone().any(|(_, (_, name))| is_name(name)) {
            return First::Header;
        }
        First::Unclear
    }
}

/// Whether a word can be a name: it starts with a letter. A date, a number with a mistake in it or
/// a sign before it, and words that stand for a value in data are none.
fn is_name(word: &str) -> bool {
    const VALUES: [&str; 9] = [
        "true", "false", "yes", "no", "nd", "n.d.", "n.a.", "nat", "bdl",
    ];
    let start = word.trim_start_matches(['(', '[', '_', ' ']);
    start.starts_with(char::is_alphabetic) && !VALUES.contains(&word.to_lowercase().as_str())
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
fn fields_of(line: &[u8], dialect: &Dialect) -> Vec<String> {
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

impl Layout {
    /// What a text consists of. Without `columns`, all that hold numbers are read.
    pub(super) fn of(
        lexer: &mut Lexer,
        options: &TextArguments,
        spelling: &Spelling,
    ) -> Result<Layout> {
        lexer.read_ahead(SAMPLE_BYTES)?;
        let survey = Survey::of(lexer, spelling, &options.columns);
        if !survey.is_whole {
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", lexer.input.name, survey.first_line),
                format_args!("this row is longer than {} MiB", SAMPLE_BYTES >> 20),
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
        };
        planner.layout()
    }

    /// Whether a text without a delimiter is a table for all that: the first row is a header, and
    /// no number.
    pub(super) fn is_evident(lexer: &mut Lexer, spelling: &Spelling) -> Result<bool> {
        lexer.read_ahead(SAMPLE_BYTES)?;
        let mut sample = lexer.sample();
        while let Step::Field(field) = sample.step() {
            if spelling.kind(&sample.bytes(&field)) != Kind::Word {
                return Ok(false);
            }
        }
        let survey = Survey::of(lexer, spelling, &[]);
        Ok(survey.first_row() == First::Header && survey.rows > 0)
    }
}

struct Planner<'a> {
    file: &'a str,
    survey: &'a Survey,
    options: &'a TextArguments,
    spelling: &'a Spelling,
    dialect: &'a Dialect,
    skipped: Option<&'a [u8]>,
}

impl Planner<'_> {
    fn layout(&self) -> Result<Layout> {
        let (survey, options) = (self.survey, self.options);
        let wanted = &options.columns;
        let names = self.names()?;
        let has_header = names.as_ref().is_some_and(|names| names.is_first_row);
        let width = self.width(names.as_ref(), has_header)?;
        let fields = width
            .as_ref()
            .map_or(survey.first.len(), |width| width.fields);
        let name = |index: usize| {
            let name = names.as_ref().and_then(|names| names.names.get(index));
            name.filter(|name| !name.is_empty()).cloned()
        };
        let mut labels = Vec::new();
        let indices = if wanted.is_empty() {
            let numbers = |index: &usize| {
                let holds = self.holds_numbers(*index, has_header);
                if !holds {
                    labels.push(name(*index).unwrap_or_else(|| (index + 1).to_string()));
                }
                holds
            };
            let indices: Vec<_> = (0..fields).filter(numbers).collect();
            match indices.is_empty() {
                false => indices,
                // What is wrong is said where the first field is read.
                true => {
                    labels.clear();
                    (0..fields).collect()
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
            is_float: self.is_float(index, has_header),
        });
        Ok(Layout {
            has_header,
            width,
            columns: columns.collect(),
            labels,
        })
    }

    /// The names of the columns, if there are any.
    fn names(&self) -> Result<Option<Names>> {
        let (survey, options) = (self.survey, self.options);
        let shift = survey.is_shifted() && !survey.ends_empty && !options.ragged;
        let first = || {
            let mut names = survey.first.clone();
            if shift {
                names.insert(0, String::new());
            }
            Names {
                names,
                line: survey.first_line,
                is_first_row: true,
            }
        };
        let by_name: Vec<_> = options.columns.iter().filter(|c| self.is_name(c)).collect();
        let has_all = |names: &Names| by_name.iter().all(|column| column.is_in(&names.names));
        let comment = || {
            let lines = survey.comments.iter().rev();
            let names = lines.map(|line| Names {
                names: fields_of(line, self.dialect),
                line: survey.first_line,
                is_first_row: false,
            });
            let width = survey.first.len();
            names
                .filter(|names| width == 0 || names.names.len() == width)
                .find(has_all)
        };
        if survey.first.is_empty() {
            return match by_name.first() {
                None => Ok(comment()),
                Some(name) => match comment() {
                    Some(names) => Ok(Some(names)),
                    None => Err(self.no_column(name)),
                },
            };
        }
        if options.header {
            return Ok(Some(first()));
        }
        let verdict = survey.first_row();
        if !by_name.is_empty() {
            let first = first();
            let names = match !options.no_header && has_all(&first) {
                true => Some(first),
                false => comment(),
            };
            let missing = by_name.iter().find(|c| !c.is_in(&survey.first));
            return match names {
                Some(names) => Ok(Some(names)),
                None => Err(self.no_column(missing.unwrap_or(&by_name[0]))),
            };
        }
        if options.no_header {
            return Ok(comment());
        }
        Ok(match verdict {
            First::Header => Some(first()),
            First::Data => comment(),
            First::Unclear if self.skipped_header() => comment(),
            // Commands print sizes before names; where a header has names, one comes first.
            First::Unclear if self.dialect.delimiter.is_none() && self.starts_with_number() => {
                comment()
            }
            First::Unclear => {
                let wanted = |index| match options.columns.is_empty() {
                    true => true,
                    false => options.columns.iter().any(|column| {
                        let fields = self.resolve(column, None, survey.first.len());
                        fields.is_ok_and(|fields| fields.contains(&index))
                    }),
                };
                let mut kinds = survey.kinds.iter().enumerate();
                if kinds.any(|(index, kind)| wanted(index) && *kind != Kind::Word) {
                    return Err(Failure::with_remedy(
                        format_args!("{}: line {}", self.file, survey.first_line),
                        "this can be a header or the first row: it holds words and numbers",
                        "give --header or --no-header",
                    ));
                }
                // None of these words is a number, which is told when they are read.
                comment()
            }
        })
    }

    fn starts_with_number(&self) -> bool {
        matches!(self.survey.kinds[0], Kind::Integer | Kind::Float)
    }

    /// Whether the line that was skipped last looks like a header of these rows.
    fn skipped_header(&self) -> bool {
        self.skipped.is_some_and(|line| {
            let fields = fields_of(line, self.dialect).len();
            fields > 1 && fields == self.survey.first.len()
        })
    }

    /// Whether a column can only be meant by its name.
    fn is_name(&self, column: &Column) -> bool {
        let fields = self.survey.first.len() + usize::from(self.survey.is_shifted());
        match column.range() {
            None => true,
            // A number of the first row is no name by itself: it may be data.
            Some((first, _)) if column.is_single() => {
                first > fields.max(1) && self.survey.first_row() != First::Data
            }
            Some(_) => false,
        }
    }

    fn width(&self, names: Option<&Names>, has_header: bool) -> Result<Option<Width>> {
        let survey = self.survey;
        if self.options.ragged || survey.first.is_empty() {
            return Ok(None);
        }
        let fields = names.filter(|names| names.is_first_row);
        let fields = fields.map_or(survey.first.len(), |names| names.names.len());
        if has_header && survey.is_shifted() && survey.ends_empty {
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", self.file, survey.second_line),
                "the rows have a field more than the header: an empty one at their end, or names \
                 of rows before the others",
                "give --ragged if it is the one at the end, else name the first column",
            ));
        }
        Ok(Some(Width {
            fields,
            line: survey.first_line,
            row_names: fields > survey.first.len(),
        }))
    }

    /// The indices of a column, or of a range of them.
    fn resolve(&self, column: &Column, names: Option<&Names>, fields: usize) -> Result<Vec<usize>> {
        let place = |name: &str| -> Result<Option<usize>> {
            let Some(names) = names else { return Ok(None) };
            let places = names.names.iter().enumerate();
            let mut places = places.filter(|(_, other)| other.as_str() == name);
            let first = places.next().map(|(index, _)| index);
            match (first, places.next()) {
                (Some(first), Some((second, _))) => Err(Failure::with_remedy(
                    format_args!("{}: line {}", self.file, names.line),
                    format_args!(
                        "columns {} and {} are both named `{name}`",
                        first + 1,
                        second + 1
                    ),
                    format_args!("give the number, such as --column {}", first + 1),
                )),
                (first, _) => Ok(first),
            }
        };
        let is_single_number = column.is_single() && column.range().is_some();
        if let Some(name) = column.explicit_name()
            && let Some(index) = place(name)?
        {
            return Ok(vec![index]);
        }
        if !is_single_number && let Some(index) = place(&column.0)? {
            return Ok(vec![index]);
        }
        if let Some((first, last)) = column.range() {
            let last = if column.is_single() {
                Some(first)
            } else {
                last
            };
            if is_single_number {
                let named = place(&column.0)?;
                let own = names.and_then(|names| names.names.get(first - 1));
                match named {
                    Some(index) if first > fields => return Ok(vec![index]),
                    Some(index) if index + 1 != first && own.is_some() => {
                        return Err(Failure::with_remedy(
                            format_args!("--column {first}"),
                            format_args!(
                                "column {first} is `{}`, and column {} has the name `{first}`",
                                own.map_or("", |name| name),
                                index + 1
                            ),
                            format_args!(
                                "give --column name:{first} for that, or --no-header for the other"
                            ),
                        ));
                    }
                    _ => {}
                }
            }
            let last = last.unwrap_or(fields.max(first));
            let survey = self.survey;
            if last > fields && !survey.first.is_empty() && !self.options.ragged {
                return Err(self.too_few(&last.to_string(), fields));
            }
            return Ok((first - 1..last).collect());
        }
        for (at, _) in column.0.match_indices(':') {
            let (from, to) = (&column.0[..at], &column.0[at + 1..]);
            if let (Some(from), Some(to)) = (place(from)?, place(to)?)
                && from <= to
            {
                return Ok((from..=to).collect());
            }
        }
        Err(self.no_column(column))
    }

    fn too_few(&self, column: &str, fields: usize) -> Failure {
        Failure::with_remedy(
            format_args!("{}: line {}", self.file, self.survey.first_line),
            format_args!("there is no column {column}, only {fields}"),
            format_args!("give a smaller number; a name that is a number is written name:{column}"),
        )
    }

    fn no_column(&self, column: &Column) -> Failure {
        const SHOWN: usize = 20;
        let first = &self.survey.first;
        if column.is_single() && !first.is_empty() {
            return self.too_few(&column.0, first.len());
        }
        let mut names: Vec<_> = first
            .iter()
            .take(SHOWN)
            .map(|n| shown(n.as_bytes()))
            .collect();
        if first.len() > SHOWN {
            names.push("…".into());
        }
        Failure::with_remedy(
            self.file,
            format_args!("no column is named `{}`", column.0),
            match names.is_empty() {
                true => "there is no row at all".into(),
                false => format!("the first line that is read names {}", names.join(", ")),
            },
        )
    }

    /// Whether a column holds numbers, or more of them than of other words.
    fn holds_numbers(&self, index: usize, has_header: bool) -> bool {
        let below = self.survey.columns.get(index);
        let (mut numbers, mut words) = below.map_or((0, 0), |c| (c.numbers, c.words));
        if !has_header {
            match self.survey.kinds.get(index) {
                Some(Kind::Integer | Kind::Float) => numbers += 1,
                Some(Kind::Word) => words += 1,
                _ => {}
            }
        }
        numbers > 0 && numbers >= words
    }

    fn is_float(&self, index: usize, has_header: bool) -> bool {
        let survey = self.survey;
        let below = survey.columns.get(index).cloned().unwrap_or_default();
        let first = survey.kinds.get(index).filter(|_| !has_header);
        let missing = below.missing > 0 || first == Some(&Kind::Missing);
        let nan = missing && self.spelling.missing == Missing::Nan;
        below.is_float || nan || first == Some(&Kind::Float)
    }
}
