//! What the rows at the start of a text hold: their tabs, other marks, first fields, and columns.

use super::points::Points;
use crate::text::spelling::{Needs, has_zeros, trim};
use std::collections::HashSet;

/// How many tabs stand before, between and behind the words of rows.
#[derive(Debug, Default)]
pub(super) struct Tabs {
    pub(super) row: Vec<usize>,
    pub(super) first: Vec<usize>,
    /// Whether a row has more or fewer than the first.
    pub(super) is_uneven: bool,
    /// Whether a row has them in other places than the first.
    pub(super) differ: bool,
}

impl Tabs {
    pub(super) fn end_row(&mut self, is_first: bool) {
        let row = std::mem::take(&mut self.row);
        if is_first {
            self.first = row;
            return;
        }
        self.is_uneven |= row.iter().sum::<usize>() != self.first.iter().sum::<usize>();
        self.differ |= row != self.first;
    }

    /// Whether each row has as many, and other fields stand between them than white space cuts.
    pub(super) fn cut_otherwise(&self) -> bool {
        let has_tabs = self.first.iter().any(|&tabs| tabs > 0);
        let inner = self.first.get(1..self.first.len().saturating_sub(1));
        let has_spaces = inner.is_some_and(|inner| inner.contains(&0));
        // Between two of them a column may be empty in each row.
        let has_gap = inner.is_some_and(|inner| inner.iter().any(|&tabs| tabs > 1));
        has_tabs && !self.is_uneven && (self.differ || has_spaces || has_gap)
    }
}

/// A mark in the fields of the rows.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mark {
    /// How often it stands in this row.
    pub(super) count: usize,
    /// How often it stands in each row so far; nothing if that differs.
    pub(super) in_all: Option<usize>,
    /// Whether it stands beside a number in this row, and in how many rows.
    pub(super) is_beside: bool,
    pub(super) beside: usize,
}

/// The first fields of rows that have a field more than the header.
#[derive(Debug, Default)]
pub(super) struct RowNames {
    /// Whether one stands in no quotes.
    pub(super) bare: bool,
    /// Whether a field and the next make a number in each row, with the delimiter as a mark in it.
    pub(super) joins: Vec<bool>,
    /// Whether that is a mark of thousands in each row.
    grouped: Vec<bool>,
    /// How many digits the next field has, if it has as many in each row.
    lengths: Vec<Option<usize>>,
    /// The names so far, and whether one came again: R has each once.
    names: HashSet<Vec<u8>>,
    is_twice: bool,
    /// Whether a number behind them stands in quotes: R quotes none.
    quotes_numbers: bool,
}

/// What the rows after the first have in a column.
#[derive(Debug, Clone, Default)]
pub(in crate::text) struct Contents {
    pub(in crate::text) numbers: usize,
    pub(in crate::text) needs: Needs,
    pub(super) integers: u32,
    /// How many of the numbers are truth values, and how many are no such and neither 0 nor 1.
    pub(super) truths: u32,
    pub(super) others: u32,
    /// What its integers look like.
    pub(in crate::text) codes: Codes,
    /// What stands for its points and commas.
    pub(in crate::text) points: Points,
    /// How many of the numbers can be years.
    pub(super) years: u32,
    pub(in crate::text) words: usize,
    /// How many of the words are a number and something beside it: a unit, a sign.
    pub(super) quantities: u32,
    /// How many of the words begin like numbers: dates, for example.
    pub(super) digits: u32,
    pub(in crate::text) missing: usize,
    /// Whether one of them is the word of the first row.
    pub(super) recurs: bool,
}

/// What integers look like that may be codes: zip codes and their like, with zeros in front.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::text) struct Codes {
    pub(in crate::text) has_zeros: bool,
    /// The digits of the shortest and the longest, up to 255; 0 of none.
    least: u8,
    most: u8,
}

impl Codes {
    #[inline]
    pub(super) fn take(&mut self, field: &[u8]) {
        let field = trim(field);
        if field.iter().all(u8::is_ascii_digit) && !field.is_empty() {
            let length = u8::try_from(field.len()).unwrap_or(u8::MAX);
            *self = self.and(Codes {
                has_zeros: has_zeros(field),
                least: length,
                most: length,
            });
        }
    }

    /// Takes note of a number with a point or an exponent: `01.10`, but not `0.10`.
    pub(super) fn take_float(&mut self, field: &[u8]) {
        self.has_zeros |= has_zeros(field);
    }

    /// What these and those look like.
    pub(in crate::text) fn and(self, other: Codes) -> Codes {
        Codes {
            has_zeros: self.has_zeros || other.has_zeros,
            least: match (self.least, other.least) {
                (0, least) | (least, 0) => least,
                (these, those) => these.min(those),
            },
            most: self.most.max(other.most),
        }
    }

    /// That of one field.
    pub(in crate::text) fn of(field: &[u8]) -> Codes {
        let mut codes = Codes::default();
        codes.take(field);
        codes
    }

    /// Whether all have as many digits.
    pub(in crate::text) fn are_even(self) -> bool {
        self.least == self.most
    }
}

impl Contents {
    /// Whether truth values stand among other numbers.
    pub(in crate::text) fn mixes_truths(&self) -> bool {
        self.truths > 0 && self.others > 0
    }

    /// Whether numbers are there, and no truth values.
    pub(in crate::text) fn lacks_truths(&self) -> bool {
        self.truths == 0 && self.others > 0
    }

    /// Whether more rows would tell nothing.
    pub(super) fn is_settled(&self) -> bool {
        let (numbers, words) = self.numbers_and_words();
        self.needs.float || numbers < words
    }

    /// How many numbers there are, with what is one but for something beside it, and how many other
    /// words.
    pub(in crate::text) fn numbers_and_words(&self) -> (usize, usize) {
        let quantities = self.quantities as usize;
        (self.numbers + quantities, self.words - quantities)
    }
}

impl RowNames {
    /// Takes note of a field of a row.
    pub(super) fn take(&mut self, index: usize, bytes: &[u8], quoted: bool) {
        match index {
            0 => {
                self.bare |= !quoted;
                self.is_twice |= !self.names.insert(bytes.to_vec());
            }
            _ => {
                let is_number = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
                self.quotes_numbers |= quoted && is_number;
            }
        }
    }

    /// Whether the program that wrote them is none of those that leave out the name of this column.
    /// Commas between digits can stand within numbers; programs print no spaces there.
    pub(super) fn are_odd(&self, delimiter: Option<u8>) -> bool {
        let mut pairs = self.joins.iter().zip(&self.lengths).skip(1);
        let is_number = |(joins, length): (&bool, &Option<usize>)| *joins && *length > Some(1);
        let has_commas = delimiter == Some(b',') && pairs.any(is_number);
        self.is_twice || self.quotes_numbers || has_commas
    }

    /// The index of a field behind the names that may be the thousands of a number in each row,
    /// whose rest is the next field.
    pub(super) fn thousands(&self) -> Option<usize> {
        let mut grouped = self.grouped.iter().enumerate().skip(1);
        grouped.find(|(_, grouped)| **grouped).map(|(pair, _)| pair)
    }

    /// Takes note of whether a field and the one before make a number: `1,250` or `1,5`, and where
    /// white space separates fields `1 250`.
    pub(super) fn join(
        &mut self,
        index: usize,
        before: Option<&[u8]>,
        bytes: &[u8],
        quoted: bool,
        delimiter: Option<u8>,
    ) {
        let Some(pair) = index.checked_sub(1) else {
            return;
        };
        if self.joins.len() <= pair {
            self.joins.resize(pair + 1, true);
            self.grouped.resize(pair + 1, true);
        }
        let digits = |bytes: &[u8]| {
            bytes
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count()
        };
        // Whether they make one, and whether by thousands.
        let made = before
            .filter(|_| self.joins[pair] && !quoted)
            .map(|before| {
                let whole = before.strip_prefix(b"-").or(before.strip_prefix(b"+"));
                let whole = whole.unwrap_or(before);
                let (first, second) = (digits(whole), digits(bytes));
                let is_number = first == whole.len() && first > 0 && second > 0;
                let rest = &bytes[second..];
                let fraction = rest
                    .strip_prefix(b".")
                    .is_some_and(|rest| digits(rest) == rest.len());
                let is_grouped = first <= 3 && second == 3 && (rest.is_empty() || fraction);
                let makes_one = match delimiter {
                    Some(b',') => rest.is_empty() || is_grouped,
                    None => is_grouped,
                    Some(_) => false,
                };
                (
                    is_number && makes_one,
                    is_grouped && whole.first() != Some(&b'0'),
                )
            });
        let (makes_one, is_grouped) = made.unwrap_or_default();
        self.joins[pair] = makes_one;
        self.grouped[pair] &= makes_one && is_grouped;
        match self.lengths.get_mut(pair) {
            None => self.lengths.push(Some(bytes.len())),
            Some(length) => *length = length.filter(|&length| length == bytes.len()),
        }
    }
}
