//! What is said about the columns of a text: which are there, and which ones a name can mean.

use super::{First, Found, Planner, named_mark};
use crate::failure::{Failure, Result};
use crate::logger;
use crate::text::lexer::{Lexer, Step};
use crate::text::survey::{Contents, Points};
use crate::text::{Column, shown};

/// What takes quotes off that stand around whole rows.
pub(in crate::text) const WITHOUT_QUOTES: &str = r#"sed -E 's/^"(.*)"(\r?)$/\1\2/; s/""/"/g'"#;

/// What a text is that begins with a word, if this is that of a format whose numbers stand below
/// rows of sizes, and how to read it.
pub(in crate::text) fn printed_format(word: &[u8]) -> Option<(String, String)> {
    let (what, header) = match word {
        b"P1" | b"P2" | b"P3" => (
            "an image in PBM, PGM or PPM",
            "comments, the width and height, and, but for P1, the greatest value",
        ),
        b"OFF" => ("a mesh in OFF", "comments, and the counts"),
        b"DSAA" => (
            "a grid of Surfer",
            "the counts, and the ranges in x, y and z",
        ),
        b"%%MatrixMarket" => (
            "a matrix in MatrixMarket",
            "comments, and the numbers of rows, columns and entries",
        ),
        _ => return None,
    };
    Some((
        format!("`{}` begins {what}", shown(word)),
        format!("give --skip with the number of lines of its header: this one, {header}"),
    ))
}

/// Whether a text is an image of one number a line: below its name stand the width, the height and
/// the greatest value, which P1 lacks, and then as many numbers as these say.
pub(super) fn is_image(lexer: &Lexer) -> bool {
    let mut sample = lexer.sample();
    let mut words = std::iter::from_fn(|| {
        loop {
            match sample.step() {
                Step::Field(field) => return Some(sample.bytes(&field)),
                Step::RowEnd(_) => {}
                Step::More | Step::End => return None,
            }
        }
    });
    let (colours, has_greatest) = match words.next().as_deref() {
        Some(b"P1") => (1, false),
        Some(b"P2") => (1, true),
        Some(b"P3") => (3, true),
        _ => return false,
    };
    let mut numbers = words.map_while(|word| str::from_utf8(&word).ok()?.parse::<u64>().ok());
    let mut size = || numbers.next().filter(|&size| size > 0);
    let (Some(width), Some(height)) = (size(), size()) else {
        return false;
    };
    let Some(greatest) = (match has_greatest {
        true => size(),
        false => Some(1),
    }) else {
        return false;
    };
    let count = numbers.take_while(|&number| number <= greatest).count() as u64;
    let wanted = width.saturating_mul(height).saturating_mul(colours);
    count == wanted || count < wanted && !lexer.ended
}

/// The option that passes over lines above a table, and when that is right. Formats have rows of
/// sizes there, which look like rows of the table.
pub(in crate::text) fn skipping(lines: u64) -> String {
    format!(
        "--skip {lines} if line {} is the first row of the table, and holds no sizes",
        lines + 1
    )
}

impl Planner<'_> {
    /// Fails if the points of a column may stand between thousands, since other columns have commas
    /// before fractions.
    pub(super) fn check_points(&self, read: &[Found]) -> Result<()> {
        let is_said = self.options.decimal.is_some() || self.options.thousands.is_some();
        let columns = &self.survey.columns;
        let points = |index: usize| columns.get(index).map(|column| column.points);
        let may_be = |index: &usize| points(*index).is_some_and(Points::may_be_thousands);
        let mut indices = read.iter().map(|column| column.index);
        let (Some(index), false) = (indices.find(may_be), is_said) else {
            return Ok(());
        };
        let are_commas = |column: &Contents| {
            column.points.are_commas() && column.numbers > 2 * column.words && !column.needs.float
        };
        // Where a comma stands before fractions, a .csv has semicolons, unless that is said.
        let again = match self.dialect.delimiter {
            Some(b',') => "--delimiter , ",
            _ => "",
        };
        match columns.iter().position(are_commas) {
            None => Ok(()),
            Some(other) => Err(Failure::with_remedy(
                self.file,
                format_args!(
                    "the points of column {} can stand between thousands, or before fractions, as \
                     the commas of column {} do",
                    index + 1,
                    other + 1
                ),
                format_args!(
                    "give {again}--decimal , --thousands . if 1.234 is 1234 there, --decimal . if \
                     it is a fraction"
                ),
            )),
        }
    }

    /// Fails, or warns, if another mark than the delimiter stands in each row, and beside numbers.
    pub(super) fn check_marks(&self) -> Result<()> {
        // What stands in the only field is told when that is read.
        let mark = self.survey.other_mark();
        let Some(mark) = mark.filter(|_| self.survey.has_several()) else {
            return Ok(());
        };
        let mark = named_mark(char::from(mark));
        let place = format!("{}: line {}", self.file, self.survey.first_line);
        let cause =
            format!("each row has as many {mark} beside numbers, which may separate columns");
        let is_said = self.options.decimal.is_some() || self.options.thousands.is_some();
        let (decimal, thousands) = match is_said {
            true => ("", String::new()),
            false => (
                " --decimal ,",
                format!(", --delimiter {mark} --thousands , if commas stand between thousands"),
            ),
        };
        let delimiter = named_mark(char::from(self.dialect.delimiter.unwrap_or(b' ')));
        if self.options.delimiter.is_none() {
            return Err(Failure::with_remedy(
                place,
                cause,
                format_args!(
                    "give --delimiter {mark}{decimal} if they do{thousands}, else --delimiter \
                     {delimiter}"
                ),
            ));
        }
        logger::insist(format!(
            "{place}: {cause}: --delimiter {mark}{decimal} reads them so"
        ));
        Ok(())
    }

    /// Fails if white space is to separate the columns, and tabs may separate others.
    pub(super) fn check_tabs(&self) -> Result<()> {
        let is_said = self.options.delimiter.is_some() || self.dialect.delimiter.is_some();
        if is_said || !self.survey.has_other_cells() {
            return Ok(());
        }
        Err(Failure::with_remedy(
            format_args!("{}: line {}", self.file, self.survey.first_line),
            "each row has as many tabs, and other columns stand between them than between spaces",
            "give --delimiter tab if tabs separate the columns, else --delimiter space",
        ))
    }

    /// Says so if the first column, which is not read, holds words in the first lines and numbers
    /// in all others: the header may be none, and these lines settings above the table.
    pub(super) fn tell_of_settings(&self, read: &[Found], has_header: bool) {
        let is_read = read.iter().any(|column| column.index == 0);
        if let Some(lines) = self
            .survey
            .settings_above()
            .filter(|_| has_header && !is_read)
        {
            logger::insist(format!(
                "{}: the first column holds words above line {}, and numbers from there on: give \
                 --skip {lines} if the table begins there",
                self.file,
                lines + 1
            ));
        }
    }

    /// Fails if the text begins as a format does that has rows of sizes before its numbers. Where
    /// each row has one field, that is the name of a column.
    pub(super) fn check_format(&self) -> Result<()> {
        let survey = self.survey;
        let [word] = &survey.first[..] else {
            return Ok(());
        };
        let is_even = survey.widths.is_none_or(|widths| widths == (1, 1));
        let is_name = is_even && (!self.is_image || self.options.header);
        match printed_format(word.as_bytes()) {
            Some((what, remedy)) if survey.first_line == 1 && !is_name => {
                let header = match is_even {
                    true => "; or --header if it names a column",
                    false => "",
                };
                Err(Failure::with_remedy(
                    format_args!("{}: line 1", self.file),
                    what,
                    format_args!("{remedy}{header}"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// A name that can mean several columns.
    pub(super) fn several_meanings(
        &self,
        column: &Column,
        meanings: &[std::ops::Range<usize>],
        names: &[String],
        fields: usize,
        line: u64,
    ) -> Failure {
        let text = &column.0;
        let numbered = column.range().map(|(first, _)| first - 1);
        let name = |index: usize| names.get(index).map_or("", String::as_str);
        let is_named = |index: usize| name(index) == text;
        let spelled = |range: &std::ops::Range<usize>| match range.len() {
            1 => format!("--column {}", Column::of(range.start, names, fields).0),
            _ => format!("--column number:{}-{}", range.start + 1, range.end),
        };
        let remedies: Vec<_> = meanings.iter().map(spelled).collect();
        let remedy = format!("give {}", remedies.join(", or "));
        match meanings {
            [first, second] if first.len() + second.len() == 2 => {
                let (first, second) = (first.start, second.start);
                if is_named(first) && is_named(second) {
                    return Failure::with_remedy(
                        format_args!("{}: line {line}", self.file),
                        format_args!(
                            "columns {} and {} are both named `{text}`",
                            first + 1,
                            second + 1
                        ),
                        remedy,
                    );
                }
                if let Some(number) = numbered {
                    let other = if first == number { second } else { first };
                    return Failure::with_remedy(
                        format_args!("--column {text}"),
                        format_args!(
                            "column {text} is `{}`, and column {} has the name `{text}`",
                            name(number),
                            other + 1
                        ),
                        remedy,
                    );
                }
            }
            _ => {}
        }
        let shown = meanings.iter().map(|range| match range.len() {
            1 if is_named(range.start) => {
                format!("column {}, which has this name", range.start + 1)
            }
            1 => format!("column {}", range.start + 1),
            _ => format!("columns {} to {}", range.start + 1, range.end),
        });
        Failure::with_remedy(
            format_args!("--column {text}"),
            format_args!("this can mean {}", shown.collect::<Vec<_>>().join(", or ")),
            remedy,
        )
    }

    /// What separates the fields of the first row, if that was taken for a single one.
    fn other_delimiter(&self) -> Option<String> {
        let [first] = &self.survey.first[..] else {
            return None;
        };
        let is_single = self.survey.widths.is_none_or(|widths| widths == (1, 1));
        let has_space = is_single && self.dialect.delimiter.is_some() && first.contains(' ');
        let Some(delimiter) = first.chars().find(|&c| ",;|\t".contains(c)) else {
            let space = "give --delimiter space, if that separates the columns";
            return has_space.then(|| space.into());
        };
        // It separates columns already, and here it stands within quotes.
        if self.dialect.delimiter.map(char::from) == Some(delimiter) {
            return Some(format!(
                "if quotes stand around whole rows, take them out, as {WITHOUT_QUOTES} < FILE | \
                 warpfold ... --delimiter {}",
                named_mark(delimiter)
            ));
        }
        Some(format!(
            "give --delimiter {}, if that separates the columns",
            named_mark(delimiter)
        ))
    }

    pub(super) fn too_few(&self, column: &str, fields: usize) -> Failure {
        if let Some(remedy) = self.other_delimiter() {
            return Failure::with_remedy(
                format_args!("{}: line {}", self.file, self.survey.first_line),
                format_args!("there is no column {column}, only {fields}"),
                remedy,
            );
        }
        let is_wider = self.survey.widths.is_some_and(|(_, most)| most > fields);
        let skip = match self.survey.lines_above() {
            Some(lines) => format!("; or give {}", skipping(lines)),
            None if is_wider => ", and --skip N passes over lines above the table".into(),
            None => String::new(),
        };
        Failure::with_remedy(
            format_args!("{}: line {}", self.file, self.survey.first_line),
            format_args!("there is no column {column}, only {fields}"),
            format_args!(
                "give a smaller number; a name that is a number is written name:{column}{skip}"
            ),
        )
    }

    /// What to say if nothing that may be a header has a name.
    pub(super) fn no_name(&self, column: &Column) -> Failure {
        let first = &self.survey.first;
        let in_comment = self.names_in_comments().next();
        match in_comment.filter(|_| self.survey.first_row() == First::Data) {
            Some(names) => self.no_column(column, &names.names, names.names.len()),
            None => self.no_column(column, first, first.len()),
        }
    }

    pub(super) fn no_column(&self, column: &Column, names: &[String], fields: usize) -> Failure {
        const SHOWN: usize = 20;
        let first = &self.survey.first;
        if column.range().is_some() && !first.is_empty() {
            return self.too_few(&column.0, first.len());
        }
        let known = if names.is_empty() { first } else { names };
        let mut listed: Vec<_> = known
            .iter()
            .take(SHOWN)
            .map(|n| shown(n.as_bytes()))
            .collect();
        if known.len() > SHOWN {
            listed.push("…".into());
        }
        if let Some(count) = column.0.strip_prefix('-')
            && let Ok(count) = count.parse::<usize>()
            && (1..=known.len().max(fields)).contains(&count)
        {
            let all = known.len().max(fields);
            let last = (all + 1).saturating_sub(count);
            return Failure::with_remedy(
                self.file,
                format_args!("no column is named `{}`", column.0),
                format_args!(
                    "columns count from 1 on: give --column {last} for number {count} from the \
                     end, --column 1-{count} for the first {count}"
                ),
            );
        }
        let other = column.other_range(known, fields);
        let comment = self.dialect.comment.map(char::from);
        let is_said = |comment: &char| {
            column.0.contains(*comment) && !known.iter().any(|name| column.0.ends_with(name))
        };
        if let Some(comment) = comment.filter(is_said) {
            return Failure::with_remedy(
                self.file,
                format_args!("no column is named `{}`", column.0),
                format_args!("{comment} starts a comment: give --no-comments if it is data"),
            );
        }
        Failure::with_remedy(
            self.file,
            format_args!("no column is named `{}`", column.0),
            match (listed.is_empty(), other) {
                (true, _) => match self.dialect.comment {
                    Some(comment) => format!(
                        "there is no row at all: lines with {} are comments, but with --no-comments",
                        char::from(comment)
                    ),
                    None => "there is no row at all".into(),
                },
                (_, Some(other)) => format!(
                    "give --column {}: the first stands on the left, and names have a colon \
                     between them",
                    other.0
                ),
                _ => match self.other_delimiter() {
                    Some(delimiter) => delimiter,
                    None if names == first => {
                        let skip = match (self.survey.named, self.survey.lines_above()) {
                            (Some(line), _) => format!(
                                "; give --skip {} if line {line} is the header: it holds this name",
                                line - 1
                            ),
                            (_, Some(lines)) => format!("; or give {}", skipping(lines)),
                            _ => String::new(),
                        };
                        format!(
                            "the first line that is read names {}{skip}",
                            listed.join(", ")
                        )
                    }
                    None => format!("the columns are {}", listed.join(", ")),
                },
            },
        )
    }
}
