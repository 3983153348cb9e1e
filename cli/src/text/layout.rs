//! Which fields of a text are read: its header, its columns, and what they hold.

use super::lexer::{Dialect, Lexer, Step};
use super::spelling::{Kind, Spelling};
use super::survey::{First, MOST_COLUMNS, Survey, fields_of};
use super::{Column, SAMPLE_BYTES, shown};
use crate::args::{Missing, TextArguments};
use crate::failure::{Failure, Result};
use crate::logger;

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
        let say = |what: &str| logger::warn(format_args!("{file}: {what}"));
        if self.row_names {
            say(
                "the first column has no name: it names the rows, and is left out (--column 1- reads all)",
            );
        }
        for (what, columns) in [
            ("columns without numbers are left out", &self.labels),
            (
                "columns with more words than numbers are left out",
                &self.mixed,
            ),
        ] {
            if !columns.is_empty() {
                say(&format!("{what}: {}", columns.join(", ")));
            }
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

impl Names {
    /// Whether the first column holds the names of rows: it alone has no name.
    fn of_rows(&self) -> bool {
        let mut named = self.names.iter().map(|name| !name.is_empty());
        named.next() == Some(false) && named.all(|named| named)
    }
}

impl Layout {
    /// What a text consists of. Without `columns`, all that hold numbers are read. There is none if
    /// the first row is too long to look at, and nothing about it is asked.
    pub(super) fn of(
        lexer: &mut Lexer,
        options: &TextArguments,
        spelling: &Spelling,
    ) -> Result<Option<Layout>> {
        lexer.read_ahead(SAMPLE_BYTES)?;
        let survey = Survey::of(lexer, spelling, &options.columns);
        if !survey.is_whole {
            if options.columns.is_empty() && !options.header && !options.ragged {
                return Ok(None);
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
        };
        planner.layout().map(Some)
    }

    /// Whether a text without a delimiter is a table for all that: the first row looks like a
    /// header, and holds no number outside of quotes.
    pub(super) fn is_evident(lexer: &mut Lexer, spelling: &Spelling) -> Result<bool> {
        lexer.read_ahead(SAMPLE_BYTES)?;
        let mut sample = lexer.sample();
        while let Step::Field(field) = sample.step() {
            if !field.quoted && spelling.kind(&sample.bytes(&field)) != Kind::Word {
                return Ok(false);
            }
        }
        let survey = Survey::of(lexer, spelling, &[]);
        let can_be = match survey.first_row() {
            First::Header => true,
            First::Unclear => survey.is_quoted_alone(),
            First::Data => false,
        };
        Ok(can_be && survey.rows > 0)
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
        let of_header = names.as_ref().filter(|_| has_header);
        let fields = of_header.map_or(survey.first.len(), |names| names.names.len());
        let name = |index: usize| {
            let name = names.as_ref().and_then(|names| names.names.get(index));
            name.filter(|name| !name.is_empty()).cloned()
        };
        let mut left_out = LeftOut::default();
        let indices = if wanted.is_empty() {
            left_out.row_names = fields > 1
                && names.as_ref().is_some_and(|names| names.of_rows())
                && (1..fields).any(|index| self.contents(index, has_header).0 > 0);
            let numbers = |index: &usize| {
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
            match indices.is_empty() {
                false => indices,
                // What is wrong is said where the first field is read.
                true => {
                    left_out = LeftOut::default();
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
            left_out,
        })
    }

    /// The names of the columns, if there are any.
    fn names(&self) -> Result<Option<Names>> {
        let (survey, options) = (self.survey, self.options);
        let all_wider = survey.wider == survey.rows;
        let shift = survey.is_shifted() && !survey.ends_empty && (all_wider || !options.ragged);
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
            First::Data => {
                if survey.looks_counted() {
                    logger::insist(format!(
                        "{}: line {}: {} look like names of columns, and are read as data: \
                         --header makes them names, --no-header says that they are data",
                        self.file,
                        survey.first_line,
                        shown(survey.first.join(", ").as_bytes()),
                    ));
                }
                comment()
            }
            First::Unclear if self.skipped_header() => comment(),
            // Commands print sizes before names; where a header has names, one comes first.
            First::Unclear
                if self.dialect.delimiter.is_none()
                    && self.starts_with_number()
                    && !survey.is_quoted_alone() =>
            {
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
                        match survey.is_quoted_alone() {
                            true => {
                                "this can be a header or the first row: its numbers alone are quoted"
                            }
                            false => {
                                "this can be a header or the first row: it holds words and numbers"
                            }
                        },
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
        let is_shifted = names.is_some_and(|names| names.names.len() > survey.first.len());
        // With one name the other field may also be a fraction, behind a comma.
        let is_doubtful = match self.options.ragged {
            true => 2 * survey.wider > survey.rows,
            false => survey.first.len() == 1 && survey.wider == survey.rows && survey.rows > 0,
        };
        if has_header && !is_shifted && is_doubtful {
            let remedy = "name all columns in the header, or skip it, with --skip 1 --no-header";
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", self.file, survey.first_line),
                "most rows have a field more than this header: they may begin with names of rows",
                match self.dialect.delimiter == Some(b',') && survey.first.len() == 1 {
                    true => format!(
                        "give --decimal , if a comma stands before fractions; else {remedy}"
                    ),
                    false => remedy.into(),
                },
            ));
        }
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
        let mut ranges = Vec::new();
        for (at, _) in column.0.match_indices(':') {
            let (from, to) = (&column.0[..at], &column.0[at + 1..]);
            if let (Some(from), Some(to)) = (place(from)?, place(to)?)
                && from <= to
            {
                ranges.push(from..to + 1);
            }
        }
        if !is_single_number {
            ranges.extend(
                column
                    .range()
                    .map(|(first, last)| first - 1..last.unwrap_or(fields.max(first))),
            );
            let named = place(&column.0)?;
            if let Some(index) = named.filter(|_| ranges.is_empty()) {
                return Ok(vec![index]);
            }
            if ranges.len() + usize::from(named.is_some()) > 1 {
                return Err(self.two_meanings(column, named, &ranges));
            }
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
                    // A comment can be the header, and then no option takes its names away.
                    Some(index)
                        if index + 1 != first && own.is_some() && !self.options.no_header =>
                    {
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
        match ranges.pop() {
            Some(range) => Ok(range.collect()),
            None => Err(self.no_column(column)),
        }
    }

    /// A name that can mean several columns.
    fn two_meanings(
        &self,
        column: &Column,
        named: Option<usize>,
        ranges: &[std::ops::Range<usize>],
    ) -> Failure {
        let shown = |range: &std::ops::Range<usize>| {
            format!("columns {} to {}", range.start + 1, range.end)
        };
        let name = named.map(|index| format!("column {}, which has this name", index + 1));
        let meanings: Vec<_> = name.into_iter().chain(ranges.iter().map(shown)).collect();
        Failure::with_remedy(
            format_args!("--column {}", column.0),
            format_args!("this can mean {}", meanings.join(", or ")),
            match named {
                Some(_) => format!(
                    "give --column name:{}, or each number of the others",
                    column.0
                ),
                None => "give the numbers of the columns".into(),
            },
        )
    }

    /// What separates the fields of the first row, if that was taken for a single one.
    fn other_delimiter(&self) -> Option<String> {
        let [first] = &self.survey.first[..] else {
            return None;
        };
        let delimiter = first.chars().find(|&c| ",;|\t".contains(c))?;
        let delimiter = match delimiter {
            '\t' => "tab".into(),
            delimiter => format!("'{delimiter}'"),
        };
        Some(format!(
            "give --delimiter {delimiter}, if that separates the columns"
        ))
    }

    fn too_few(&self, column: &str, fields: usize) -> Failure {
        if let Some(remedy) = self.other_delimiter() {
            return Failure::with_remedy(
                format_args!("{}: line {}", self.file, self.survey.first_line),
                format_args!("there is no column {column}, only {fields}"),
                remedy,
            );
        }
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
        let ends = column.0.split_once('-');
        let is_range = ends.is_some_and(|(from, to)| {
            let has = |name| first.iter().any(|other| other == name);
            has(from) && has(to)
        });
        Failure::with_remedy(
            self.file,
            format_args!("no column is named `{}`", column.0),
            match names.is_empty() {
                true => "there is no row at all".into(),
                false if is_range => {
                    format!(
                        "give --column {}; the names of a range have a colon between them",
                        column.0.replacen('-', ":", 1)
                    )
                }
                false if self.other_delimiter().is_some() => {
                    self.other_delimiter().unwrap_or_default()
                }
                false => format!("the first line that is read names {}", names.join(", ")),
            },
        )
    }

    /// How many numbers a column holds, and how many other words.
    fn contents(&self, index: usize, has_header: bool) -> (usize, usize) {
        let below = self.survey.columns.get(index);
        let (mut numbers, mut words) = below.map_or((0, 0), |c| (c.numbers, c.words));
        if !has_header {
            match self.survey.kinds.get(index) {
                Some(Kind::Integer | Kind::Float) => numbers += 1,
                Some(Kind::Word) if self.survey.odd_numbers.contains(&index) => numbers += 1,
                Some(Kind::Word) => words += 1,
                _ => {}
            }
        }
        (numbers, words)
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
