//! The rows of a text: each is checked, and its fields that are wanted are handed on.

mod messages;
mod notes;

use super::doubts;
use super::layout::{Found, Keys, Layout, Width, printed_format, tell_of_numbers_as_names};
use super::lexer::{Dialect, Field, Lexer, Step};
use super::spelling::{self, Bad, Kind, Needs, Spelling, trim};
use super::tabs::Cells;
use super::{Mistake, SAMPLE_BYTES, shown};
use crate::args::{Missing, TextArguments};
use crate::failure::{Failure, Result};
use crate::input::{Input, ending_of};
use crate::number::DType;
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
    pub(super) has_header: bool,
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
    /// Whether rows are ordered by each lane; nothing if by none.
    pub(super) keys: Vec<bool>,
    /// Whether numbers between white space have zeros in front, as codes have.
    has_codes: bool,
    /// Whether the numbers of each lane are told apart as texts are, so that zeros in front of
    /// them are refused; nothing if none are.
    codes: Vec<bool>,
    /// The lanes that held numbers without truth values as far as one looked: one among them is
    /// told.
    without_truths: Vec<bool>,
    /// The lines of a field that holds what look like rows, between its quotes.
    swallowed: Option<(u64, u64)>,
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
        check_start(&mut input, options)?;
        let of_name = input.path.as_deref().and_then(delimiter_of_name);
        let of_name = said_by_excel(&mut input, options.skip == 0)?.or(of_name);
        // Where points stand between thousands, a comma stands before the fraction.
        let points = (options.thousands == Some('.')).then_some(b',');
        let decimal = options.decimal.or(points);
        let delimiter = options.delimiter.or(match of_name {
            // Where a comma stands before the fraction, a semicolon stands between fields.
            Some(b',') if decimal == Some(b',') => Some(b';'),
            of_name => of_name,
        });
        let dialect = Dialect {
            delimiter: delimiter.filter(|&delimiter| delimiter != b' '),
            comment: match options.no_comments {
                true => None,
                false => Some(options.comment.unwrap_or(b'#')),
            },
            comment_is_said: options.comment.is_some(),
            comma_is_decimal: decimal.map(|decimal| decimal == b','),
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
        let is_in_numbers = |&byte: &u8| {
            options.decimal == Some(byte) || options.thousands == Some(char::from(byte))
        };
        if let Some(delimiter) = lexer.dialect.delimiter.filter(is_in_numbers) {
            check_quotes(&mut lexer, delimiter)?;
        }
        if options.delimiter.is_none() && decimal == Some(b',') {
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
            keys: Vec::new(),
            has_codes: false,
            codes: Vec::new(),
            without_truths: Vec::new(),
            swallowed: None,
        })
    }

    pub(super) fn delimiter(&self) -> Option<u8> {
        self.lexer.dialect.delimiter
    }

    /// What the text is called.
    pub(super) fn name(&self) -> &str {
        &self.lexer.input.name
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
        if options.words && keys.names.is_empty() {
            return Err(Failure::with_remedy(
                "--words",
                "no column orders or groups the rows",
                "leave --words out, or give --by in group, sort and top",
            ));
        }
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
                tell_of_numbers_as_names(&mut self.lexer, &self.spelling)?;
            }
            self.without_truths = vec![doubts::check_words(
                &mut self.lexer,
                options,
                &self.spelling,
            )?];
        }
        Ok(Arrangement::Sequence(match keys.are_numbers {
            false => self.needs()?,
            true => Needs::default(),
        }))
    }

    /// What the numbers near the start need of a type. Takes note of integers that may be codes.
    fn needs(&mut self) -> Result<Needs> {
        self.lexer.read_ahead(SAMPLE_BYTES)?;
        let mut needs = Needs::default();
        let mut has_zeros = false;
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
                    has_zeros |= spelling::has_zeros(&bytes);
                }
                Step::RowEnd(_) => {}
                Step::More | Step::End => {
                    self.has_codes = has_zeros && !needs.negative;
                    return Ok(needs);
                }
            }
        }
    }

    /// Takes the columns of a layout, and passes over the header.
    fn choose(&mut self, layout: Layout) -> Result<Vec<Found>> {
        let indices: Vec<_> = layout.columns.iter().map(|column| column.index).collect();
        self.keys = layout.columns.iter().map(|column| column.is_key).collect();
        let without = |column: &Found| column.without_truths;
        self.without_truths = layout.columns.iter().map(without).collect();
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
            if field.lines > 0 && self.swallowed.is_none() {
                self.look_for_rows(&field);
            }
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
                    if field.lines > 0 && self.swallowed.is_none() {
                        self.look_for_rows(&field);
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
                    // The lexer leaves white space that is no ASCII.
                    let shown = if field.quoted { &bytes } else { trim(&bytes) };
                    match sink.take(lane, shown, &self.spelling) {
                        Ok(true) => {
                            let dtype = sink.dtype(lane);
                            let is_code = self.codes.get(lane) == Some(&true);
                            if is_code && spelling::has_zeros(&bytes) {
                                return Err(self.code(&field, &bytes));
                            }
                            if self.spelling.take_truth() {
                                let lacks = self.without_truths.get(lane) == Some(&true);
                                if lacks && spelling::truth(shown).is_some() {
                                    self.without_truths[lane] = false;
                                    self.tell_of_truth(&field);
                                }
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

    /// Refuses numbers with zeros in front in some lanes: there they are told apart as texts are.
    pub(super) fn refuse_codes(&mut self, lanes: Vec<bool>) {
        self.codes = lanes;
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

/// Fails if a text is a matrix whose sizes would be read as an entry, once its first lines are
/// taken for comments.
fn check_start(input: &mut Input, options: &TextArguments) -> Result<()> {
    const MATRIX: &[u8] = b"%%MatrixMarket";
    let is_one = options.skip == 0 && input.peek(MATRIX.len())? == MATRIX;
    match printed_format(MATRIX).filter(|_| is_one) {
        None => Ok(()),
        Some((what, remedy)) => Err(Failure::with_remedy(
            format_args!("{}: line 1", input.name),
            what,
            remedy,
        )),
    }
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
