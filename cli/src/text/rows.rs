//! The rows of a text: each is checked, and its fields that are wanted are handed on.

use super::doubts;
use super::layout::{Found, Keys, Layout, Width, tell_of_years_as_names};
use super::lexer::{Dialect, Field, Lexer, Step};
use super::oddity::{self, Oddity};
use super::spelling::{self, Bad, Kind, Needs, Spelling};
use super::survey::is_name;
use super::tabs::Cells;
use super::{Mistake, SAMPLE_BYTES, shown};
use crate::args::{Missing, TextArguments};
use crate::failure::{Failure, Result};
use crate::input::{Input, ending_of};
use crate::logger;
use crate::number::{BadNumber, DType, TO_F64};
use std::path::Path;

/// Takes the fields that are wanted. Those of a column have its lane.
pub(super) trait Sink {
    fn dtype(&self, lane: usize) -> DType;

    fn is_full(&self) -> bool;

    /// Takes a field, and says whether it held a value.
    fn take(&mut self, lane: usize, field: &[u8], spelling: &Spelling) -> Result<bool, Bad>;

    /// Says whether the row is kept.
    fn end_row(&mut self) -> bool;
}

/// A text whose rows are read one after the other.
pub(super) struct Rows {
    lexer: Lexer,
    spelling: Spelling,
    plan: Plan,
    width: Option<Width>,
    /// The lines above the table, if the first rows have fewer fields than most.
    lines_above: Option<u64>,
    /// Whether rows may be of other lengths.
    ragged: bool,
    has_header: bool,
    /// Rows that have the fields of the header again, if these can be read as data.
    repeats: Option<Repeats>,
    /// Fields from this index on are beyond those that --ragged expects, and how many were left
    /// out.
    beyond: (usize, u64),
    /// Columns that are left out since they held nothing as far as one looked.
    empty: Vec<usize>,
    /// Where the first row stands, or nothing before it was read.
    first_line: Option<u64>,
    pub(super) ended: bool,
    /// How many values were missing, in each lane.
    pub(super) missing: Vec<u64>,
    /// How many rows were left out for that.
    rows_left_out: u64,
    /// Where the first integer stands that its type does not hold, and what is to be said of it.
    rounded: Option<String>,
    /// Whether tabs cut the rows as white space does.
    cells: Cells,
    /// Whether the numbers of each lane are told apart as texts are, so that zeros in front of
    /// them are refused; nothing if none are.
    codes: Vec<bool>,
}

/// Rows that have the fields of the header again.
struct Repeats {
    header: Vec<Vec<u8>>,
    /// How many fields of this row, from the start, are those of the header.
    alike: usize,
    first_line: Option<u64>,
    count: u64,
}

impl Repeats {
    #[inline]
    fn take(&mut self, index: usize, field: &[u8]) {
        let is_alike = self.alike == index && self.header.get(index).is_some_and(|h| h == field);
        self.alike += usize::from(is_alike);
    }

    #[inline]
    fn end_row(&mut self, fields: usize, line: u64) {
        if std::mem::take(&mut self.alike) == fields && fields == self.header.len() {
            self.first_line.get_or_insert(line);
            self.count += 1;
        }
    }
}

/// What a text is read as.
pub(super) enum Arrangement {
    /// The columns of a table.
    Columns(Vec<Found>),
    /// All numbers, one behind the other.
    Sequence(Needs),
}

/// Which fields of a row are wanted.
enum Plan {
    /// All, in one lane.
    All,
    /// That of an index.
    One(usize),
    /// Those that have a lane; and the indices, by lane.
    Some(Vec<Option<usize>>, Vec<usize>),
}

impl Plan {
    #[inline]
    fn lane(&self, index: usize) -> Option<usize> {
        match self {
            Plan::All => Some(0),
            Plan::One(wanted) => (index == *wanted).then_some(0),
            Plan::Some(lanes, _) => lanes.get(index).copied().flatten(),
        }
    }

    /// The lanes whose fields a row of so many lacks.
    fn lacking(&self, fields: usize) -> Vec<usize> {
        match self {
            Plan::All => Vec::new(),
            Plan::One(wanted) => (fields..=*wanted).take(1).map(|_| 0).collect(),
            Plan::Some(_, indices) => {
                let lanes = indices.iter().enumerate();
                lanes
                    .filter(|(_, index)| **index >= fields)
                    .map(|(lane, _)| lane)
                    .collect()
            }
        }
    }
}

impl Rows {
    /// Goes to the first row of a text, after the lines that are skipped.
    pub(super) fn open(mut input: Input, options: &TextArguments) -> Result<Rows> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        if input.peek(3)? == BYTE_ORDER_MARK {
            input.fill(&mut [0; 3])?;
        }
        let of_name = input.path.as_deref().and_then(delimiter_of_name);
        let of_name = said_by_excel(&mut input, options.skip == 0)?.or(of_name);
        let delimiter = options.delimiter.or(match of_name {
            // Where a comma stands before the fraction, a semicolon stands between fields.
            Some(b',') if options.decimal == Some(b',') => Some(b';'),
            of_name => of_name,
        });
        let dialect = Dialect {
            delimiter: delimiter.filter(|&delimiter| delimiter != b' '),
            comment: match options.no_comments {
                true => None,
                false => Some(options.comment.unwrap_or(b'#')),
            },
            comment_is_said: options.comment.is_some(),
        };
        if dialect.comment.is_some() && dialect.comment == dialect.delimiter {
            return Err(Failure::with_remedy(
                "--delimiter",
                "comments start with this character",
                "give --no-comments, or --comment with another",
            ));
        }
        let spelling = Spelling::of(options)?;
        let mut lexer = Lexer::new(input, dialect);
        lexer.skip_lines(options.skip)?;
        if lexer.dialect.delimiter.is_none() && spelling.uses(b' ') {
            return Err(Failure::with_remedy(
                &lexer.input.name,
                "a space separates the numbers of this text, so none can stand within one",
                "give --delimiter, such as --delimiter ';' or --delimiter tab, or the \
                 non-breaking space itself to --thousands",
            ));
        }
        if let Some(delimiter) = lexer.dialect.delimiter.filter(|&byte| spelling.uses(byte)) {
            check_quotes(&mut lexer, delimiter)?;
        }
        if options.delimiter.is_none() && options.decimal == Some(b',') {
            check_commas(&mut lexer, &spelling)?;
            if lexer.dialect.delimiter.is_none() {
                doubts::check_spaces(&mut lexer, options, &spelling)?;
            }
        }
        let cells = match options.delimiter.is_none() && lexer.dialect.delimiter.is_none() {
            true => Cells::default(),
            false => Cells::off(),
        };
        Ok(Rows {
            lexer,
            spelling,
            plan: Plan::All,
            width: None,
            lines_above: None,
            ragged: options.ragged,
            has_header: false,
            repeats: None,
            beyond: (usize::MAX, 0),
            empty: Vec::new(),
            first_line: None,
            ended: false,
            missing: vec![0],
            rows_left_out: 0,
            rounded: None,
            cells,
            codes: Vec::new(),
        })
    }

    pub(super) fn delimiter(&self) -> Option<u8> {
        self.lexer.dialect.delimiter
    }

    pub(super) fn has_delimiter(&self) -> bool {
        self.delimiter().is_some()
    }

    pub(super) fn is_flat(&self) -> bool {
        matches!(self.plan, Plan::All)
    }

    /// Chooses what is read. What the numbers of a sequence need is found out unless they have a
    /// type.
    pub(super) fn arrange(
        &mut self,
        options: &TextArguments,
        keys: Keys<'_>,
    ) -> Result<Arrangement> {
        let is_table = self.has_delimiter()
            || options.header
            || options.row_names
            || !options.columns.is_empty()
            || !options.no_header && Layout::is_evident(&mut self.lexer, &self.spelling)?;
        let lexer = &mut self.lexer;
        if is_table && let Some(layout) = Layout::of(lexer, options, &self.spelling, keys)? {
            return Ok(Arrangement::Columns(self.choose(layout)?));
        }
        if !is_table {
            if !options.no_header {
                tell_of_years_as_names(&mut self.lexer, &self.spelling)?;
            }
            doubts::check_words(&mut self.lexer, options, &self.spelling)?;
        }
        Ok(Arrangement::Sequence(match keys.are_numbers {
            false => self.needs()?,
            true => Needs::default(),
        }))
    }

    /// What the numbers near the start need of a type.
    fn needs(&mut self) -> Result<Needs> {
        self.lexer.read_ahead(SAMPLE_BYTES)?;
        let mut needs = Needs::default();
        let mut sample = self.lexer.sample();
        loop {
            match sample.step() {
                Step::Field(field) => {
                    let bytes = sample.bytes(&field);
                    if self.spelling.is_of_floats(&bytes)
                        && !(self.spelling.is_missing(&bytes)
                            && self.spelling.missing != Missing::Nan)
                    {
                        needs.float = true;
                        return Ok(needs);
                    }
                    needs.take_integer(&bytes, &self.spelling);
                }
                Step::RowEnd(_) => {}
                Step::More | Step::End => return Ok(needs),
            }
        }
    }

    /// Takes the columns of a layout, and passes over the header.
    fn choose(&mut self, layout: Layout) -> Result<Vec<Found>> {
        let indices: Vec<_> = layout.columns.iter().map(|column| column.index).collect();
        self.missing = vec![0; indices.len()];
        self.width = layout.width;
        self.lines_above = layout.lines_above;
        self.plan = match indices[..] {
            [index] => Plan::One(index),
            _ => {
                let mut lanes = vec![None; indices.iter().max().map_or(0, |last| last + 1)];
                for (lane, &index) in indices.iter().enumerate() {
                    lanes[index] = Some(lane);
                }
                Plan::Some(lanes, indices)
            }
        };
        if layout.has_header {
            self.read_header()?;
        }
        if self.ragged && layout.fields > 0 {
            self.beyond.0 = layout.fields;
        }
        layout.left_out.warn(&self.lexer.input.name);
        self.empty = layout.left_out.empty;
        Ok(layout.columns)
    }

    fn read_header(&mut self) -> Result<()> {
        let mut header = Vec::new();
        while let Step::Field(field) = self.lexer.step()? {
            header.push(self.lexer.bytes(&field).into_owned());
        }
        let has_numbers = header
            .iter()
            .any(|field| self.spelling.kind(field).is_number());
        // A word that comes again is told where it is read.
        self.repeats = (has_numbers && header.len() > 1).then_some(Repeats {
            header,
            alike: 0,
            first_line: None,
            count: 0,
        });
        self.has_header = true;
        Ok(())
    }

    /// Hands on fields until the sink is full, or the text ends.
    pub(super) fn read(&mut self, sink: &mut impl Sink, inferred: bool) -> Result<()> {
        while !sink.is_full() && !self.ended {
            let step = match self.lexer.quick_step() {
                Some(step) => step,
                None => self.lexer.step()?,
            };
            match step {
                Step::Field(field) => {
                    let index = self.lexer.fields() - 1;
                    if !self.cells.is_off() {
                        let before = self.lexer.gap_before(&field);
                        let behind = self.lexer.gap_behind(&field);
                        let is_flat = self.is_flat();
                        self.cells.take(before, behind, is_flat);
                    }
                    if let Some(repeats) = &mut self.repeats {
                        repeats.take(index, &self.lexer.bytes(&field));
                    }
                    let Some(lane) = self.plan.lane(index) else {
                        if index >= self.beyond.0 {
                            self.beyond.1 += u64::from(!self.lexer.bytes(&field).is_empty());
                        }
                        if !self.empty.is_empty() {
                            self.check_empty(&field)?;
                        }
                        continue;
                    };
                    let bytes = self.lexer.bytes(&field);
                    match sink.take(lane, &bytes, &self.spelling) {
                        Ok(true) => {
                            let dtype = sink.dtype(lane);
                            let is_code = self.codes.get(lane) == Some(&true);
                            if is_code && spelling::has_zeros(&bytes) {
                                return Err(self.code(&field, &bytes));
                            }
                            if bytes.len() > spelling::exact_digits(dtype)
                                && self.rounded.is_none()
                                && let Some(integer) = self.spelling.rounded(&bytes, dtype)
                            {
                                self.rounded =
                                    Some(self.rounding(&field, integer, dtype, inferred));
                            }
                        }
                        Ok(false) => self.missing[lane] += 1,
                        Err(bad) => {
                            let place = self.lexer.place(&field);
                            let dtype = sink.dtype(lane);
                            return Err(self.mistake(place, bad, &bytes, &field, dtype, inferred));
                        }
                    }
                }
                Step::RowEnd(fields) => self.end_row(fields, sink)?,
                Step::More | Step::End => {
                    self.ended = true;
                    self.tell_what_is_left_out();
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn end_row(&mut self, fields: usize, sink: &mut impl Sink) -> Result<()> {
        if self.first_line.is_none() {
            self.first_line = Some(self.lexer.row_line());
        }
        if let Some(repeats) = &mut self.repeats {
            repeats.end_row(fields, self.lexer.row_line());
        }
        match &self.width {
            Some(width) if width.fields != fields => return Err(self.other_width(width, fields)),
            Some(_) => {}
            // The rows of a table are alike, also where the first one is too long to look at.
            None if self.is_flat() && self.has_delimiter() && !self.ragged => {
                self.width = Some(Width {
                    fields,
                    line: self.lexer.row_line(),
                    row_names: false,
                    has_tabs: false,
                });
            }
            None => {
                for lane in self.plan.lacking(fields) {
                    let there = sink.take(lane, b"", &self.spelling);
                    let place = format!("line {}", self.lexer.row_line());
                    let dtype = sink.dtype(lane);
                    match there {
                        Ok(true) => {}
                        Ok(false) => self.missing[lane] += 1,
                        Err(bad) => {
                            let (cause, remedy) = self.missing_words(b"", bad, dtype);
                            let mistake = Mistake {
                                place,
                                cause,
                                remedy,
                            };
                            return Err(mistake.failure(&self.lexer.input.name));
                        }
                    }
                }
            }
        }
        if self.cells.end_row() {
            return Err(Failure::with_remedy(
                format_args!("{}: line {}", self.lexer.input.name, self.lexer.row_line()),
                "tabs cut this row in another way than white space does, and the rows before it not",
                "give --delimiter tab if tabs separate the columns, else --delimiter space",
            ));
        }
        self.rows_left_out += u64::from(!sink.end_row());
        Ok(())
    }

    /// Says which columns of rows that are written again lose zeros in front of their numbers.
    pub(super) fn tell_of_codes(&self, columns: &[Found]) {
        let losing = columns
            .iter()
            .filter(|column| column.has_zeros && !column.has_words);
        let titles: Vec<String> = losing
            .map(|column| {
                let number = || (column.index + 1).to_string();
                column.name.clone().unwrap_or_else(number)
            })
            .collect();
        if !titles.is_empty() {
            logger::insist(format!(
                "{}: these columns have zeros in front of their numbers, as codes have, and lose \
                 them: {}",
                self.lexer.input.name,
                titles.join(", ")
            ));
        }
    }

    /// Refuses numbers with zeros in front in some lanes: there they are told apart as texts are.
    pub(super) fn refuse_codes(&mut self, lanes: Vec<bool>) {
        self.codes = lanes;
    }

    #[cold]
    fn code(&self, field: &Field, bytes: &[u8]) -> Failure {
        Failure::with_remedy(
            format_args!("{}: {}", self.lexer.input.name, self.lexer.place(field)),
            format_args!(
                "`{}` has zeros in front, as codes have: as a number it is the same without them",
                shown(bytes)
            ),
            "give --dtype i64 if it is a number; `LC_ALL=C sort` and `uniq` take codes as they are",
        )
    }

    /// Fails if a column that seemed empty holds a number after all.
    fn check_empty(&self, field: &Field) -> Result<()> {
        let bytes = self.lexer.bytes(field);
        let number = self.lexer.fields();
        if bytes.is_empty()
            || !self.empty.contains(&(number - 1))
            || !matches!(self.spelling.kind(&bytes), Kind::Integer | Kind::Float)
        {
            return Ok(());
        }
        Err(Failure::with_remedy(
            format_args!("{}: {}", self.lexer.input.name, self.lexer.place(field)),
            format_args!(
                "`{}` is the first number of a column that seemed empty",
                shown(&bytes)
            ),
            "name the columns to read, with --column",
        ))
    }

    #[cold]
    fn other_width(&self, width: &Width, fields: usize) -> Failure {
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
                Some(lines) => {
                    format!(
                        "give --skip {lines} if the lines above are no part of the table; else {remedy}"
                    )
                }
                None => remedy.into(),
            },
        )
    }

    fn remedy_of_width(&self, width: &Width, fields: usize) -> &'static str {
        match width.row_names {
            true => {
                "mend the row, or leave --row-names out; with --ragged, what is beyond is left out, \
                 and what lacks is missing (--missing skip)"
            }
            false if width.has_tabs => {
                "give --delimiter tab if tabs separate the columns; else mend the row"
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
        }
    }

    fn tell_what_is_left_out(&self) {
        let name = &self.lexer.input.name;
        let is_said = self.lexer.dialect.comment_is_said;
        if let Some(line) = self.lexer.doubtful().filter(|_| !is_said) {
            logger::insist(format!(
                "{name}: line {line}: what follows # looks like data, and is left out as a \
                 comment: --no-comments reads it, --comment '#' says that it is one"
            ));
        }
        let repeats = self.repeats.as_ref();
        if let Some((repeats, line)) = repeats.and_then(|r| Some((r, r.first_line?))) {
            let (rows, are) = match repeats.count {
                1 => (format!("line {line} repeats the header"), "is"),
                count => (
                    format!("{count} rows, from line {line} on, repeat the header"),
                    "are",
                ),
            };
            logger::insist(format!(
                "{name}: {rows}, and {are} read as data: take them out if files were joined"
            ));
        }
        let (_, beyond) = self.beyond;
        if beyond > 0 {
            let what = if self.has_header {
                "the header"
            } else {
                "the first row"
            };
            let were = if beyond == 1 { "was" } else { "were" };
            logger::remark(
                "note",
                format!(
                    "{name}: {} beyond those of {what} {were} left out, as --ragged says",
                    counted(beyond as usize, "field")
                ),
            );
        }
        if let Some(rounded) = &self.rounded {
            logger::insist(format!("{name}: {rounded}"));
        }
        let missing: u64 = self.missing.iter().sum();
        if missing > 0 && self.spelling.missing == Missing::Skip {
            let values = match missing {
                1 => "1 missing value was".into(),
                _ => format!("{missing} missing values were"),
            };
            let rows = match self.rows_left_out {
                0 => String::new(),
                rows => {
                    let them = if missing == 1 { "it" } else { "them" };
                    format!(", and {} with {them}", counted(rows as usize, "row"))
                }
            };
            logger::remark(
                "note",
                format!("{}: {values} skipped{rows}", self.lexer.input.name),
            );
        }
    }

    /// What is said of an integer that is rounded.
    #[cold]
    fn rounding(&self, field: &Field, integer: i128, dtype: DType, inferred: bool) -> String {
        let place = self.lexer.place(field);
        let why = match inferred {
            true => "the type that the other values need".into(),
            false => match (i64::try_from(integer), u64::try_from(integer)) {
                (Ok(_), _) => "as --dtype says; i64 holds it".into(),
                (_, Ok(_)) => "as --dtype says; u64 holds it".into(),
                _ => String::from("as --dtype says"),
            },
        };
        format!(
            "{place}: this integer is beyond 2^{}, and rounded to {dtype}, {why}",
            dtype.exact_bits()
        )
    }

    #[cold]
    fn missing_words(&self, field: &[u8], bad: Bad, dtype: DType) -> (String, Option<String>) {
        debug_assert!(field.is_empty() || bad == Bad::Missing || !dtype.is_float());
        let what = match field {
            b"" => "a number is missing here".into(),
            field => format!("`{}` stands for a missing number", shown(field)),
        };
        let comment = match field.starts_with(b"#") {
            true => "; or give --comment '#' if a comment starts here",
            false => "",
        };
        match bad {
            Bad::Missing => (
                what,
                Some(format!(
                    "give --missing skip or --missing nan, or choose others with --column{comment}"
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
    fn mistake(
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
        let (cause, remedy) = match bad {
            Bad::Missing => self.missing_words(token, bad, dtype),
            Bad::Number(_) if self.spelling.kind(token) == Kind::Missing => {
                self.missing_words(token, bad, dtype)
            }
            Bad::Number(bad) => {
                let cause = bad.describe(&shown, dtype);
                match (bad, other_data(token)) {
                    (BadNumber::NotANumber, Some((what, remedy))) => {
                        (format!("{cause}; {what}"), Some(remedy.into()))
                    }
                    (BadNumber::NotANumber, _) if self.spelling.looks_like_number(token) => (
                        cause + ", or more than one",
                        Some(self.remedy_of_marks(token, field.quoted)),
                    ),
                    (BadNumber::NotANumber, _) if token.iter().any(|b| b";|".contains(b)) => (
                        cause,
                        Some(
                            "if this separates columns, give it as --delimiter, such as \
                             --delimiter ';'"
                                .into(),
                        ),
                    ),
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
                                        "a comment starts with a word: put a space before it".into()
                                    }
                                },
                            ),
                        )
                    }
                    // Behind a number it is no header, but for other columns.
                    (BadNumber::NotANumber, _)
                        if is_first
                            && (self.lexer.fields() == 1 || !self.is_flat())
                            && is_name(&String::from_utf8_lossy(token)) =>
                    {
                        (cause, Some(self.remedy_of_names(token)))
                    }
                    (BadNumber::NotAnInteger, _) if inferred => (
                        format!("`{shown}` is not an integer, but all numbers before it are"),
                        Some(TO_F64.into()),
                    ),
                    (BadNumber::NotANumber, _) => {
                        let (what, remedy) = self.oddity(token, &shown, is_first);
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
        let mistake = Mistake {
            place,
            cause,
            remedy,
        };
        mistake.failure(&self.lexer.input.name)
    }

    /// What a word is that is no number, and what to do about it.
    fn oddity(&self, token: &[u8], shown: &str, is_first: bool) -> (String, String) {
        let others = match (self.is_flat(), is_first) {
            (true, _) => "",
            (false, false) => "; or choose other columns with --column",
            (false, true) => {
                "; or give --header if this line is one, or choose other columns with --column"
            }
        };
        let skip = match self.lines_above {
            Some(lines) => {
                format!("; if lines above the table are no part of it, give --skip {lines}")
            }
            None => String::new(),
        };
        let oddity = Oddity::of(token, &self.spelling);
        // A word that is not shown as a whole cannot be given.
        if oddity == Oddity::Word && shown.as_bytes() == token {
            let word = in_shell(shown);
            let remedy = format!(
                "mend it; or give --missing skip --missing-word {word}, if it stands for a missing \
                 value{others}{skip}"
            );
            return (String::new(), remedy);
        }
        let feed = oddity::Feed {
            delimiter: self.delimiter(),
            field: self.lexer.fields(),
            has_header: self.has_header,
        };
        let (what, remedy) = oddity.told(&feed);
        (what, format!("{remedy}{others}{skip}"))
    }

    /// What to do about a first word that may be the name of a column.
    fn remedy_of_names(&self, token: &[u8]) -> String {
        let header = match !self.is_flat() {
            true => "if this line is a header, give --header, or --skip 1 to leave it out",
            false => "if this line is a header, give --skip 1, or --column NAME for a column",
        };
        match Oddity::of(token, &self.spelling) {
            Oddity::Alike(number) => format!(
                "letters in it look like digits: write {number} if it is that number; {header}"
            ),
            _ => header.into(),
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
        if remedies.is_empty() {
            return "mend it: three digits stand between marks of thousands, and one mark before \
                    a fraction"
                .into();
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
            "this looks like text in UTF-16",
            "iconv -f UTF-16LE -t UTF-8 FILE | warpfold ..., or with UTF-16BE",
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
            Some(_) => Some((
                "it holds a control character, as binary data do",
                "tr '\\000-\\010\\016-\\037' ' ' < FILE | warpfold ..., or --format raw and --dtype \
                 for binary data",
            )),
        },
    }
}

/// Fails where a byte stands between fields, is to stand within numbers as well, and no quotes tell
/// one from the other.
fn check_quotes(lexer: &mut Lexer, delimiter: u8) -> Result<()> {
    lexer.read_ahead(SAMPLE_BYTES)?;
    let mut sample = lexer.sample();
    loop {
        match sample.step() {
            Step::Field(field) if field.quoted && sample.bytes(&field).contains(&delimiter) => {
                return Ok(());
            }
            Step::Field(_) | Step::RowEnd(_) => {}
            Step::More | Step::End => break,
        }
    }
    let delimiter = char::from(delimiter);
    Err(Failure::with_remedy(
        &lexer.input.name,
        format_args!("`{delimiter}` separates fields, and stands within no quotes, as in numbers"),
        "give another --delimiter, such as --delimiter ';', or --delimiter space; or leave out \
         --decimal and --thousands",
    ))
}

/// Fails where commas are said to stand before fractions, and look as if they separated fields:
/// those of a name in the first row, of a .csv without a semicolon, or behind quotes.
fn check_commas(lexer: &mut Lexer, spelling: &Spelling) -> Result<()> {
    lexer.read_ahead(SAMPLE_BYTES)?;
    let mut sample = lexer.sample();
    let (mut fields, mut names, mut others) = (0, false, false);
    while let Step::Field(field) = sample.step() {
        let bytes = sample.bytes(&field);
        fields += 1;
        if bytes.contains(&b',') && !field.quoted {
            match spelling.kind(&bytes) {
                Kind::Word if !spelling.looks_like_number(&bytes) => names = true,
                _ => others = true,
            }
        }
    }
    let is_single = lexer.dialect.delimiter.is_some() && fields == 1;
    let is_quoted = lexer.dialect.delimiter.is_some() && sample.has_comma_behind_quote();
    if names || others && is_single || is_quoted {
        return Err(Failure::with_remedy(
            &lexer.input.name,
            "the commas of the first row may separate columns, and --decimal , says that they \
             stand before fractions",
            "if they separate columns, give --delimiter ',' and leave --decimal out unless numbers \
             stand in quotes; else give --delimiter ';', or what separates them",
        ));
    }
    Ok(())
}

/// The delimiter that a first line `sep=;` names, as Excel writes and reads it. The line is no
/// data.
fn said_by_excel(input: &mut Input, pass: bool) -> Result<Option<u8>> {
    let start = input.peek(b"sep=;\r\n".len())?;
    let Some(&[delimiter, first, ref rest @ ..]) = start.strip_prefix(b"sep=") else {
        return Ok(None);
    };
    if !matches!(first, b'\r' | b'\n') {
        return Ok(None);
    }
    let length = 6 + usize::from(first == b'\r' && rest.first() == Some(&b'\n'));
    if pass {
        input.fill(&mut [0; 7][..length])?;
    }
    Ok(Some(delimiter))
}

/// The delimiter that a file's ending stands for.
fn delimiter_of_name(path: &Path) -> Option<u8> {
    match &*ending_of(path)? {
        "csv" => Some(b','),
        "tsv" | "tab" => Some(b'\t'),
        "psv" => Some(b'|'),
        _ => None,
    }
}

/// A word as a shell takes it.
fn in_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A number of things.
fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}
