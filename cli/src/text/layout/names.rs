//! The choice of names: whether the first row is a header, or a comment names the columns.

use super::Planner;
use crate::failure::{Failure, Result};
use crate::logger;
use crate::text::lexer::{Lexer, Step};
use crate::text::oddity;
use crate::text::spelling::{Kind, Spelling};
use crate::text::survey::{self, First, Survey, fields_of};
use crate::text::{Column, SAMPLE_BYTES, shown};

/// The names of columns, by their index.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) names: Vec<String>,
    /// Where they stand.
    pub(super) line: u64,
    pub(super) is_first_row: bool,
}

impl Names {
    /// Whether the first column holds the names of rows: it alone has no name.
    pub(super) fn of_rows(&self) -> bool {
        let mut named = self.names.iter().map(|name| !name.is_empty());
        named.next() == Some(false) && named.all(|named| named)
    }
}

impl Planner<'_> {
    /// Fails if a word that no column is called by may be a damaged value, and no name.
    fn check_first_words(&self) -> Result<()> {
        let survey = self.survey;
        let Some(word) = survey.doubtful_name(self.spelling) else {
            let alike = survey.name_like_number(self.spelling);
            if let Some((word, number)) = alike.filter(|_| !self.names_one()) {
                logger::insist(format!(
                    "{}: line {}: `{}` is taken for a name, and may be {number} with letters that \
                     look like digits: --header says that it is a name",
                    self.file,
                    survey.first_line,
                    shown(word.as_bytes())
                ));
            }
            return Ok(());
        };
        let is_number = |text: &str| self.spelling.kind(text.as_bytes()).is_number();
        let first = self.survey.first[0].as_bytes();
        if let Some(mark) = oddity::comment_mark(first, is_number) {
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", self.file, survey.first_line),
                "this can be a header or the first row, or a comment of another program",
                format_args!("give --header, --no-header, or --comment '{mark}' if it is one"),
            ));
        }
        let alike = oddity::alike(word, is_number);
        let alike = alike.map_or_else(String::new, |number| {
            format!(", letters that look like digits, as in {number}")
        });
        if self.names_one() {
            return Ok(());
        }
        Err(Failure::with_remedy(
            format_args!("{}: line {}", self.file, survey.first_line),
            format_args!(
                "this can be a header or the first row: `{}` may be a value with a mistake in \
                 it{alike}",
                shown(word.as_bytes())
            ),
            "give --header or --no-header",
        ))
    }

    /// Whether the user calls a column by a name of the first row.
    fn names_one(&self) -> bool {
        let is_name = |text: &str| self.survey.first.iter().any(|name| name == text);
        let columns = self.options.columns.iter().map(|column| &*column.0);
        let keys = self.keys.names.iter().flat_map(|key| {
            let ends = ["", ":asc", ":desc"].into_iter();
            ends.filter_map(|end| key.strip_suffix(end))
        });
        let mut called = columns.chain(keys);
        called.any(|text| is_name(text.strip_prefix("name:").unwrap_or(text)))
    }

    /// Fails if rows with a field more than the header may begin with something else than names.
    pub(super) fn check_row_names(&self, names: Option<&Names>) -> Result<()> {
        let survey = self.survey;
        if self.options.row_names {
            return self.check_given_row_names();
        }
        let is_shifted = names.is_some_and(|names| names.names.len() > survey.first.len());
        let doubt = survey.doubt_of_row_names(self.dialect.delimiter);
        let Some(doubt) = doubt.filter(|_| is_shifted) else {
            return Ok(());
        };
        Err(Failure::with_remedy(
            format_args!("{}: line {}", self.file, survey.second_line),
            format_args!("the rows have a field more than the header: {doubt}"),
            match self.dialect.delimiter {
                Some(b',') => {
                    "put quotes around numbers with commas; or give --row-names if each row \
                     begins with its name, and the header does not name that column; or name all \
                     columns"
                }
                None if survey.has_tabs => {
                    "give --delimiter tab if tabs separate the columns, --row-names if each row \
                     begins with its name, and the header does not name that column; else name all \
                     columns"
                }
                _ => {
                    "give --row-names if each row begins with its name, and the header does not \
                     name that column; else name all columns, and take spaces out of numbers"
                }
            },
        ))
    }

    /// Fails if the rows have as many fields as a header that is said to lack one. Says so if two
    /// fields can be one number, since then it lacks none.
    fn check_given_row_names(&self) -> Result<()> {
        let survey = self.survey;
        let fields = survey.first.len();
        if survey.rows_of(fields + 1) < survey.rows_of(fields) {
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", self.file, survey.first_line),
                format_args!(
                    "this header has {fields} fields, as most rows have, and --row-names says that \
                     it has one less than these, since their names have none"
                ),
                "leave --row-names out if the header names the first column, too; else mend the \
                 rows, which lack a field",
            ));
        }
        if let Some(column) = survey.thousands_behind_names() {
            let mark = match self.dialect.delimiter {
                None => "a space",
                Some(_) => "a comma",
            };
            logger::insist(format!(
                "{}: columns {} and {} can be one number with {mark} in it, in each row; then rows \
                 have no names beyond the header: put quotes around such numbers, or name all \
                 columns in the header if they are two",
                self.file,
                column,
                column + 1
            ));
        }
        Ok(())
    }

    /// The names of the columns, if there are any.
    pub(super) fn names(&self) -> Result<Option<Names>> {
        let (survey, options) = (self.survey, self.options);
        let all_wider = survey.wider == survey.rows;
        let is_shifted =
            survey.is_shifted() && !survey.ends_empty && (all_wider || !options.ragged);
        let shift = options.row_names || is_shifted;
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
        let has_all = |names: &Names| {
            let fields = names.names.len();
            let mut columns = by_name.iter();
            columns.all(|column| !column.meanings(&names.names, fields).is_empty())
        };
        let comment = || self.names_in_comments().find(has_all);
        if survey.first.is_empty() {
            return match by_name.first() {
                None => Ok(comment()),
                Some(name) => match comment() {
                    Some(names) => Ok(Some(names)),
                    None => Err(self.no_name(name)),
                },
            };
        }
        if options.header || options.row_names {
            self.tell_of_names_above();
            return Ok(Some(first()));
        }
        let verdict = survey.first_row();
        if !by_name.is_empty() {
            let first = first();
            let names = match !options.no_header && has_all(&first) {
                true => Some(first),
                false => comment(),
            };
            let missing = by_name.iter().find(|column| {
                let meanings = column.meanings(&survey.first, survey.first.len());
                meanings.is_empty()
            });
            return match names {
                Some(names) => Ok(Some(names)),
                None => Err(self.no_name(missing.unwrap_or(&by_name[0]))),
            };
        }
        if options.no_header {
            return Ok(comment());
        }
        if let Some(line) = survey.repeated_names() {
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", self.file, survey.first_line),
                format_args!("this can be a header or the first row: line {line} repeats it"),
                "give --header or --no-header; take out the headers of files that were joined",
            ));
        }
        Ok(match verdict {
            First::Header => {
                self.check_first_words()?;
                Some(first())
            }
            First::Data => {
                if survey.looks_counted() {
                    tell_of_numbers_that_may_be_names(self.file, survey);
                }
                comment()
            }
            First::Unclear if self.skipped_header() && survey.has_values() => comment(),
            // Commands print sizes before names; where a header has names, one comes first.
            First::Unclear
                if self.dialect.delimiter.is_none()
                    && self.starts_with_number()
                    && survey.has_values()
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
                let is_odd = |index| survey.odd_numbers.contains(&index);
                let settings = match survey.settings_above() {
                    Some(lines) => format!(
                        "; or --skip {lines} if the table begins in line {}, as the first column \
                         has words above it alone",
                        lines + 1
                    ),
                    None => String::new(),
                };
                if kinds
                    .any(|(index, kind)| wanted(index) && (*kind != Kind::Word || is_odd(index)))
                {
                    return Err(Failure::with_remedy(
                        format_args!("{}: line {}", self.file, survey.first_line),
                        match survey.is_quoted_alone() {
                            true => {
                                "this can be a header or the first row: its numbers alone are quoted"
                            }
                            false if survey.lacks_names_of_numbers() => {
                                "this can be a header or the first row: nothing stands above numbers"
                            }
                            false => {
                                "this can be a header or the first row: it holds words and numbers"
                            }
                        },
                        match self.names_in_comments().next() {
                            Some(_) => {
                                "a comment above may name the columns: give --no-header if it \
                                 does, and this row is data; --header if this row names them"
                            }
                            None => "give --header or --no-header",
                        }
                        .to_owned()
                            + &settings,
                    ));
                }
                // None of these words is a number, which is told when they are read.
                comment()
            }
        })
    }

    /// Says so if a line above the header that the user wants may name the columns: then the header
    /// is the first row of data, which is no longer read.
    fn tell_of_names_above(&self) {
        let survey = self.survey;
        let holds = |kind: Kind| survey.kinds.contains(&kind);
        if !(holds(Kind::Integer) || holds(Kind::Float)) {
            return;
        }
        let is_named = |names: &[String]| names.iter().any(|name| survey::is_name(name));
        let above = if self.names_in_comments().any(|names| is_named(&names.names)) {
            "a comment"
        } else if self.skipped_header() && survey.has_values() {
            "the last line that --skip passes over"
        } else {
            return;
        };
        logger::insist(format!(
            "{}: {above} may name the columns, and --header makes line {} names, too: --no-header \
             reads it as data",
            self.file, survey.first_line
        ));
    }

    /// The names that each comment above the first row may be, the last one first.
    pub(super) fn names_in_comments(&self) -> impl Iterator<Item = Names> {
        let names = self.survey.names_in_comments(self.dialect);
        names.map(|names| Names {
            names,
            line: self.survey.first_line,
            is_first_row: false,
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
            Some((first, _)) if !column.is_number() => {
                first > fields.max(1) && self.survey.first_row() != First::Data
            }
            Some(_) => false,
        }
    }
}

/// Says so if the first numbers of a text without columns are years, or count alone, as names of
/// columns do.
pub(in crate::text) fn tell_of_numbers_as_names(
    lexer: &mut Lexer,
    spelling: &Spelling,
) -> Result<()> {
    // No table by hand is wider.
    const MOST_FIELDS: usize = 1 << 12;
    lexer.read_ahead(SAMPLE_BYTES)?;
    let mut sample = lexer.sample();
    let (mut fields, mut are_years, mut before) = (0, true, Some(f64::NEG_INFINITY));
    while let Step::Field(field) = sample.step() {
        let bytes = sample.bytes(&field);
        are_years &= str::from_utf8(&bytes).is_ok_and(survey::is_written_year);
        let value = spelling.value(&bytes);
        before = value.filter(|&value| before.is_some_and(|before| before < value));
        fields += 1;
        if fields > MOST_FIELDS {
            return Ok(());
        }
    }
    let mut second = 0;
    while second <= fields && matches!(sample.step(), Step::Field(_)) {
        second += 1;
    }
    let is_short = second == fields + 1;
    if fields > 1 && (are_years || before.is_some() || is_short) {
        let survey = Survey::of(lexer, spelling, &[]);
        let name = &lexer.input.name;
        if survey.looks_counted_in_words() {
            tell_of_numbers_that_may_be_names(name, &survey);
        } else if survey.rows > 1 && survey.widths == Some((second, second)) && is_short {
            let (line, names) = match survey.has_other_cells() {
                true => (survey.first_line, "--delimiter tab and --header"),
                false => (survey.first_line, "--row-names"),
            };
            logger::insist(format!(
                "{name}: line {line}: this row has a field less than all others, and is read as \
                 data: give {names} if it names columns, and the others begin with names of rows; \
                 --skip {line} if it holds sizes; --no-header if it is data"
            ));
        }
    }
    Ok(())
}

fn tell_of_numbers_that_may_be_names(file: &str, survey: &Survey) {
    logger::insist(format!(
        "{file}: line {}: {} look like names of columns, and are read as data: --header makes \
         them names, --no-header says that they are data",
        survey.first_line,
        shown(survey.first.join(", ").as_bytes()),
    ));
}
