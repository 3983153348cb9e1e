//! What words between white space may mean besides numbers one behind the other.

use super::lexer::{Lexer, Step};
use super::spelling::{Spelling, truth};
use super::{SAMPLE_BYTES, shown};
use crate::args::TextArguments;
use crate::failure::{Failure, Result};
use crate::logger;

/// So much tells what stands in the rows.
const TELLING_ROWS: usize = 1000;
const TELLING_FIELDS: usize = 1 << 16;

/// What was seen of the first rows.
#[derive(Debug, Default)]
struct Seen {
    rows: usize,
    /// Their fields, while all have as many.
    width: Option<usize>,
    is_uneven: bool,
    /// For each field and the next one, whether they make a number with a space between its
    /// thousands, in each row that holds numbers.
    joins: Vec<bool>,
    any_joins: bool,
    /// Whether the rest of such a number begins with a zero, as no number by itself does.
    has_zeros: bool,
    /// Whether all fields of each row with several make one number.
    all_grouped: bool,
    /// One that does.
    example: String,
    /// Whether the first row holds truth values alone.
    truths_first: bool,
    truths: bool,
    /// Whether numbers are none.
    others: bool,
    first_line: u64,
}

impl Seen {
    fn of(lexer: &Lexer, spelling: &Spelling) -> Seen {
        let mut seen = Seen {
            all_grouped: true,
            ..Seen::default()
        };
        let mut sample = lexer.sample();
        let (mut row, mut fields): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
        loop {
            match sample.step() {
                Step::Field(field) => {
                    // Quotes hold a whole number.
                    row.push(match field.quoted {
                        true => Vec::new(),
                        false => sample.bytes(&field).into_owned(),
                    });
                    fields += 1;
                    if fields > TELLING_FIELDS {
                        return seen;
                    }
                }
                Step::RowEnd(_) => {
                    if seen.rows == 0 {
                        seen.first_line = sample.row_line();
                    }
                    seen.take(&row, spelling);
                    row.clear();
                    if seen.rows == TELLING_ROWS {
                        return seen;
                    }
                }
                Step::More | Step::End => return seen,
            }
        }
    }

    fn take(&mut self, row: &[Vec<u8>], spelling: &Spelling) {
        let is_truth = |field: &Vec<u8>| truth(field).is_some();
        let are_truths = row.iter().all(is_truth);
        self.truths |= row.iter().any(is_truth);
        self.truths_first |= self.rows == 0 && are_truths;
        self.others |= row
            .iter()
            .any(|field| !is_truth(field) && !matches!(&field[..], b"0" | b"1"));
        self.rows += 1;
        // A header has no numbers.
        if !row.iter().any(|field| spelling.kind(field).is_number()) {
            return;
        }
        let width = *self.width.get_or_insert(row.len());
        self.is_uneven |= width != row.len();
        let mut before = false;
        let mut joins = Vec::new();
        for pair in row.windows(2) {
            before = joins_to(&pair[0], &pair[1], before, spelling);
            joins.push(before);
        }
        if joins.contains(&true) && self.example.is_empty() {
            let text: Vec<_> = row.iter().map(|field| shown(field)).collect();
            self.example = text.join(" ");
        }
        self.any_joins |= joins.contains(&true);
        let mut rests = joins.iter().zip(&row[1..]);
        self.has_zeros |= rests.any(|(joins, rest)| *joins && rest[0] == b'0');
        self.all_grouped &= joins.iter().all(|&joins| joins);
        match self.joins.is_empty() {
            true => self.joins = joins,
            false => {
                let each = self.joins.iter_mut().zip(joins);
                each.for_each(|(all, joins)| *all &= joins);
            }
        }
    }
}

/// Whether a field goes on in the next one, as `1 234,50` does. It may be the rest of another.
fn joins_to(field: &[u8], next: &[u8], is_rest: bool, spelling: &Spelling) -> bool {
    let unsigned = match field {
        [b'-' | b'+', digits @ ..] if !is_rest => digits,
        digits => digits,
    };
    let is_digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
    let starts = is_digits(unsigned)
        && match is_rest {
            true => unsigned.len() == 3,
            false => (1..=3).contains(&unsigned.len()) && unsigned[0] != b'0',
        };
    let end = next.iter().position(|byte| !byte.is_ascii_digit());
    let (digits, rest) = next.split_at(end.unwrap_or(next.len()));
    let fraction = rest.split_first();
    starts
        && digits.len() == 3
        && fraction.is_none_or(|(&mark, rest)| spelling.is_decimal(mark) && is_digits(rest))
}

/// Fails where commas are said to stand before fractions, and spaces may stand between thousands:
/// then words are parts of numbers.
pub(super) fn check_spaces(
    lexer: &mut Lexer,
    options: &TextArguments,
    spelling: &Spelling,
) -> Result<()> {
    lexer.read_ahead(SAMPLE_BYTES)?;
    let seen = Seen::of(lexer, spelling);
    let in_all = !seen.is_uneven && seen.joins.contains(&true);
    if !(in_all || seen.is_uneven && seen.any_joins) {
        return Ok(());
    }
    let is_said = options.decimal == Some(b',');
    if is_said {
        return Err(Failure::with_remedy(
            &lexer.input.name,
            format_args!(
                "`{}` can be numbers, or one with spaces between its thousands",
                seen.example
            ),
            "give --delimiter ';' --thousands space if spaces stand between thousands, and a \
             semicolon, or a line end alone, between numbers; --delimiter space if spaces separate \
             numbers",
        ));
    }
    Ok(())
}

/// Fails, or warns, where words that are read one behind the other may mean something else: truth
/// values above numbers are names, and rows of groups of three digits are numbers with spaces.
/// Says whether numbers stand there, and no truth values.
pub(super) fn check_words(
    lexer: &mut Lexer,
    options: &TextArguments,
    spelling: &Spelling,
) -> Result<bool> {
    lexer.read_ahead(SAMPLE_BYTES)?;
    let seen = Seen::of(lexer, spelling);
    let name = &lexer.input.name;
    if seen.truths && seen.others {
        if seen.truths_first && !options.no_header {
            return Err(Failure::with_remedy(
                format_args!("{name}: line {}", seen.first_line),
                "this can be a header or the first row: truth values stand above numbers",
                "give --header or --no-header",
            ));
        }
        logger::insist(format!(
            "{name}: truth values stand among other numbers, and are read as 1 and 0"
        ));
    }
    let is_odd = seen.is_uneven || seen.has_zeros;
    let may_be_groups = is_odd && seen.any_joins && seen.all_grouped;
    if may_be_groups && options.delimiter.is_none() {
        logger::insist(format!(
            "{name}: `{}` is read as several numbers: --delimiter ';' --thousands space reads it \
             as one, --delimiter space says that spaces separate numbers",
            seen.example
        ));
    }
    Ok(seen.others && !seen.truths)
}
