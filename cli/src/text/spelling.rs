//! What a field means: a number, or a missing value.

use super::lexer::is_error_word;
use crate::args::{Missing, TextArguments};
use crate::failure::{Failure, Result};
use crate::number::{BadNumber, DType, Number, with_number};
use std::borrow::Cow;
use std::cell::Cell;

/// No integer of 64 bits is longer, with its sign.
const LONGEST_INTEGER: usize = 21;

/// What stands for a missing value in public tables, whatever its case. `nan` is one only where
/// missing values are skipped; elsewhere it is a number.
const MISSING: [&str; 29] = [
    "", "na", "n/a", "n.a.", "#n/a", "#na", "#n/a n/a", "<na>", "null", "#null!", "none", "nil",
    "missing", "-", "--", ".", "..", "?", "–", "—", "\\n", "nat", "#div/0!", "#name?", "#num!",
    "#ref!", "#value!", "#nv", "n.d.",
];

/// All integers of so many digits are numbers of a type.
#[inline]
pub(super) fn exact_digits(dtype: DType) -> usize {
    match dtype {
        DType::F64 => 15,
        DType::F32 => 7,
        DType::F16 => 3,
        DType::Bf16 => 2,
        _ => usize::MAX,
    }
}

/// The marks that may stand between the thousands of a number.
const THOUSANDS: [char; 9] = [
    ',', '.', '\'', '\u{2019}', '_', ' ', '\u{a0}', '\u{202f}', '\u{2009}',
];

/// How numbers are written.
#[derive(Debug, Clone)]
pub(crate) struct Spelling {
    decimal: u8,
    decimal_is_said: bool,
    /// What stands between groups of three digits.
    thousands: Option<char>,
    pub(super) missing: Missing,
    /// What the user says stands for a missing value.
    own: Vec<Vec<u8>>,
    own_numbers: Vec<OwnNumber>,
    /// Whether numbers are as in Rust: most are.
    plain: bool,
    /// Whether a truth value was read since one asked.
    has_truth: Cell<bool>,
    /// Whether keys are words, also those that stand for missing values elsewhere.
    pub(super) keys_are_words: bool,
}

/// A number that the user says stands for a missing value.
#[derive(Debug, Clone, Copy)]
struct OwnNumber {
    value: f64,
    /// If it is one: an `f64` equals its neighbours as well, beyond 2^53.
    integer: Option<i128>,
}

impl OwnNumber {
    fn of(plain: &[u8]) -> Option<OwnNumber> {
        let value = f64::parse(plain).ok()?;
        let integer = integer_of(plain);
        Some(OwnNumber { value, integer })
    }

    /// Whether a field has this number, and this value.
    fn is(&self, value: f64, plain: &[u8]) -> bool {
        let is_other = |own| integer_of(plain).is_some_and(|integer| integer != own);
        self.value == value && !self.integer.is_some_and(is_other)
    }
}

/// Why a field gives no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    Number(BadNumber),
    /// It stands for a missing value.
    Missing,
}

/// What a field can be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Missing,
    Integer,
    Float,
    Word,
}

impl Kind {
    pub(super) fn is_number(self) -> bool {
        matches!(self, Kind::Integer | Kind::Float)
    }
}

impl Spelling {
    pub(super) fn of(options: &TextArguments) -> Result<Spelling> {
        // A point between thousands is none before a fraction.
        let other = if options.thousands == Some('.') {
            b','
        } else {
            b'.'
        };
        let decimal = options.decimal.unwrap_or(other);
        if let Some(thousands) = options.thousands.filter(|&c| c == char::from(decimal)) {
            return Err(Failure::with_remedy(
                "--thousands",
                format_args!("`{thousands}` stands before the fraction already"),
                "give another character, or another with --decimal",
            ));
        }
        let own: Vec<_> = options
            .missing_word
            .iter()
            .map(|word| word.trim())
            .collect();
        let mut spelling = Spelling {
            decimal,
            decimal_is_said: options.decimal.is_some() || options.thousands == Some('.'),
            thousands: options.thousands,
            missing: options.missing.unwrap_or_default(),
            own_numbers: Vec::new(),
            plain: decimal == b'.' && own.is_empty() && options.missing != Some(Missing::Skip),
            own: own.iter().map(|word| word.as_bytes().to_vec()).collect(),
            has_truth: Cell::new(false),
            keys_are_words: options.words && options.missing.unwrap_or_default() == Missing::Error,
        };
        // A word may have the marks of the text, or those of Rust.
        let number = |word: &&str| {
            let plain = spelling.plain(word.as_bytes());
            OwnNumber::of(&plain).or_else(|| OwnNumber::of(word.as_bytes()))
        };
        spelling.own_numbers = own.iter().filter_map(number).collect();
        Ok(spelling)
    }

    /// The number that a field stands for; nothing if it is missing and to be skipped.
    #[inline]
    pub(super) fn number<T: Number>(&self, field: &[u8]) -> Result<Option<T>, Bad> {
        if self.plain
            && let Ok(number) = T::parse(field)
        {
            return Ok(Some(number));
        }
        self.odd_number(field)
    }

    /// The number that a field stands for which may be written in another way.
    fn odd_number<T: Number>(&self, field: &[u8]) -> Result<Option<T>, Bad> {
        // There can be white space between quotes, and no-break spaces around a word.
        let field = trim(field);
        if self.is_missing(field) {
            return match self.missing {
                Missing::Error => Err(Bad::Missing),
                Missing::Skip => Ok(None),
                Missing::Nan if T::DTYPE.is_float() => Ok(Some(T::from_float(f64::NAN))),
                Missing::Nan => Err(Bad::Number(BadNumber::NotAnInteger)),
            };
        }
        let bad = match T::parse(self.plain(field).as_ref()) {
            Ok(number) => return Ok(Some(number)),
            Err(bad) => bad,
        };
        match old_c(field, self.decimal) {
            Some(number) if T::DTYPE.is_float() => Ok(Some(T::from_float(number))),
            Some(_) => Err(Bad::Number(BadNumber::NotAnInteger)),
            None => Err(Bad::Number(bad)),
        }
    }

    /// The number as Rust writes it. What is in no way one stays none.
    fn plain<'a>(&self, field: &'a [u8]) -> Cow<'a, [u8]> {
        if let Some(truth) = truth(field) {
            self.has_truth.set(true);
            return Cow::Borrowed(truth);
        }
        if field.last() == Some(&b')') && is_c_nan(field) {
            return Cow::Borrowed(b"nan");
        }
        let field = ascii_minus(field);
        let mut plain = field.clone();
        if let Some(thousands) = self.thousands {
            match without_groups(&field, thousands, self.decimal) {
                Some(without) => plain = Cow::Owned(without),
                // A point that stands elsewhere than between thousands is none before a fraction.
                None => return Cow::Borrowed(b""),
            }
        }
        if self.decimal != b'.' {
            // A point is not what stands before the fraction here.
            if plain.contains(&b'.') {
                return Cow::Borrowed(b"");
            }
            if plain.contains(&self.decimal) {
                let bytes = plain.iter();
                let point = |&byte| if byte == self.decimal { b'.' } else { byte };
                plain = Cow::Owned(bytes.map(point).collect());
            }
        }
        // Fortran's double precision: 1.5D+03. Without a point or a sign it may be a label.
        if let Some(at) = plain.iter().position(|byte| matches!(byte, b'd' | b'D'))
            && (plain[..at].contains(&b'.') || matches!(plain.get(at + 1), Some(b'+' | b'-')))
        {
            plain.to_mut()[at] = b'E';
        }
        plain
    }

    /// A number of an option as Rust writes it, if it is one; else what was given.
    pub(super) fn plain_number(&self, given: &str) -> Result<String> {
        let plain = self.plain(given.as_bytes());
        match str::from_utf8(&plain) {
            Ok(plain) if plain.parse::<f64>().is_ok() => Ok(plain.to_owned()),
            _ if self.thousands == Some('.') && given.contains('.') => Err(Failure::with_remedy(
                "--thousands .",
                format_args!("the point of `{given}` stands not between thousands"),
                format_args!("write {} before a fraction", char::from(self.decimal)),
            )),
            _ => Ok(given.to_owned()),
        }
    }

    /// Whether a field stands for a missing value.
    pub(super) fn is_missing(&self, field: &[u8]) -> bool {
        let usual = |word: &&str| field.eq_ignore_ascii_case(word.as_bytes());
        // None of them starts with a digit, and most fields do.
        let may_be_usual = field.first().is_none_or(|byte| !byte.is_ascii_digit());
        let is_usual = || MISSING.iter().any(usual) || is_of_stata(field) || is_error_word(field);
        if may_be_usual && is_usual() || self.own.iter().any(|own| own == field) {
            return true;
        }
        let of_number = self.missing == Missing::Skip || !self.own_numbers.is_empty();
        if !of_number {
            return false;
        }
        let plain = self.plain(field);
        let value = f64::parse(&plain)
            .ok()
            .or_else(|| old_c(field, self.decimal));
        value.is_some_and(|value| {
            self.own_numbers.iter().any(|own| own.is(value, &plain))
                || self.missing == Missing::Skip && value.is_nan()
        })
    }

    /// The integer that a field is, if a type of floats rounds it: also `3.0`, but no `3e0`.
    #[inline]
    pub(super) fn rounded(&self, field: &[u8], dtype: DType) -> Option<i128> {
        // Most long numbers are fractions, whose digits go on behind the point.
        let point = field
            .iter()
            .take(LONGEST_INTEGER)
            .position(|&byte| byte == b'.');
        let is_fraction = |at: usize| {
            field
                .get(at + 1)
                .is_some_and(|byte| (b'1'..=b'9').contains(byte))
        };
        match self.decimal == b'.' && point.is_some_and(is_fraction) {
            true => None,
            false => self.rounded_integer(field, dtype),
        }
    }

    #[cold]
    fn rounded_integer(&self, field: &[u8], dtype: DType) -> Option<i128> {
        let field = self.plain(trim(field));
        let integer =
            integer_of(&field).filter(|_| !field.contains(&b'e') && !field.contains(&b'E'))?;
        let held = with_number!(dtype, T => T::parse(&field).ok()?.to_integer());
        (held != integer).then_some(integer)
    }

    /// Whether a truth value was read since this was asked.
    #[inline]
    pub(super) fn take_truth(&self) -> bool {
        let has = self.has_truth.get();
        if has {
            self.has_truth.set(false);
        }
        has
    }

    /// The integer that a field is, if it is one of 128 bits.
    pub(super) fn integer(&self, field: &[u8]) -> Option<i128> {
        integer_of(&self.plain(trim(field)))
    }

    /// Whether a byte stands before the fraction.
    pub(super) fn is_decimal(&self, byte: u8) -> bool {
        self.decimal == byte
    }

    /// Whether a byte may stand within a number as well as between fields.
    pub(super) fn uses(&self, delimiter: u8) -> bool {
        self.decimal == delimiter || self.thousands == Some(char::from(delimiter))
    }

    /// What a field can be read as.
    pub(super) fn kind(&self, field: &[u8]) -> Kind {
        let field = trim(field);
        if self.is_missing(field) {
            return Kind::Missing;
        }
        let plain = self.plain(field);
        match f64::parse(plain.as_ref()) {
            Err(BadNumber::NotANumber) if old_c(field, self.decimal).is_none() => Kind::Word,
            _ if self.is_of_floats(field) => Kind::Float,
            _ => Kind::Integer,
        }
    }

    /// Whether only a float is written like this, if it is a number.
    pub(super) fn is_of_floats(&self, field: &[u8]) -> bool {
        let of_float = |byte: &u8| {
            *byte == self.decimal
                || matches!(byte, b'd' | b'D' | b'e' | b'E' | b'i' | b'I' | b'n' | b'N')
        };
        field.iter().any(of_float) && truth(trim(field)).is_none()
    }

    /// The options with which a field that is no number would be one, and that number. `in_words`
    /// says that white space separates the numbers.
    pub(super) fn other_marks(&self, field: &[u8], in_words: bool) -> Vec<(String, String)> {
        let field = trim(field);
        let text = String::from_utf8_lossy(field);
        let has = |mark: char| text.contains(mark);
        // A space for `--thousands` stands for all that look like one.
        let is_other = |mark: char| "\u{a0}\u{202f}\u{2009}".contains(mark) && !in_words;
        let present = THOUSANDS
            .into_iter()
            .filter(|&mark| has(mark) && !is_other(mark));
        let space = (!in_words && has_space(&text)).then_some(' ');
        let mut marks: Vec<char> = present.chain(space).collect();
        marks.dedup();
        let mut fitting = Vec::new();
        for decimal in [b'.', b','] {
            let mut is_plain = false;
            for thousands in std::iter::once(None).chain(marks.iter().copied().map(Some)) {
                let stays = (!self.decimal_is_said || decimal == self.decimal)
                    && self.thousands.is_none_or(|said| thousands == Some(said));
                // Without a comma the other decimal is one of two readings of a point alone.
                let can_be = decimal == b'.' || has(',') || thousands == Some('.');
                if !stays || !can_be || is_plain || thousands == Some(decimal.into()) {
                    continue;
                }
                let spelling = Spelling {
                    decimal,
                    thousands,
                    ..self.clone()
                };
                let number = spelling.plain(field);
                if f64::parse(&number).is_err() {
                    continue;
                }
                is_plain = thousands.is_none();
                let mut options = Vec::new();
                // Without a comma in it, the one follows from the other.
                if decimal != self.decimal && (thousands != Some('.') || has(',')) {
                    options.push(format!("--decimal {}", char::from(decimal)));
                }
                match thousands.filter(|_| thousands != self.thousands) {
                    Some(' ') => options.push("--thousands space".into()),
                    Some('\'') => options.push("--thousands \"'\"".into()),
                    Some(mark) if mark.is_whitespace() => {
                        options.push(format!("--thousands '{mark}'"));
                    }
                    Some(mark) => options.push(format!("--thousands {mark}")),
                    None => {}
                }
                if !options.is_empty() {
                    let number = String::from_utf8_lossy(&number).into_owned();
                    fitting.push((options.join(" "), number));
                }
            }
        }
        fitting
    }

    /// Whether a text is a number, or would be one with other marks in it.
    pub(super) fn may_be_number(&self, text: &str) -> bool {
        let bytes = trim_text(text).as_bytes();
        self.kind(bytes).is_number() || self.looks_like_number(bytes)
    }

    /// The number that a field is.
    pub(super) fn value(&self, field: &[u8]) -> Option<f64> {
        f64::parse(&self.plain(trim(field))).ok()
    }

    /// Whether a field would be a number with another character before the fraction, or between
    /// thousands.
    pub(super) fn looks_like_number(&self, field: &[u8]) -> bool {
        let field = ascii_minus(trim(field));
        let Ok(text) = str::from_utf8(&field) else {
            return false;
        };
        let digits: String = text.chars().filter(|c| !THOUSANDS.contains(c)).collect();
        // SPSS and Oracle leave out the 0 before a comma.
        let is_fraction = text.strip_prefix(',') == Some(&digits);
        digits.len() < text.len()
            && (is_fraction || !text.starts_with(THOUSANDS))
            && f64::parse(digits.as_bytes()) != Err(BadNumber::NotANumber)
    }
}

/// What some numbers need of a type.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Needs {
    /// One is a float.
    pub(super) float: bool,
    /// An integer is beyond `i64`, and not beyond `u64`.
    large: bool,
    pub(super) negative: bool,
}

impl Needs {
    /// What all of these and those need.
    pub(super) fn and(self, other: Needs) -> Needs {
        Needs {
            float: self.float || other.float,
            large: self.large || other.large,
            negative: self.negative || other.negative,
        }
    }

    /// Takes note of an integer.
    #[inline]
    pub(super) fn take_integer(&mut self, field: &[u8], spelling: &Spelling) {
        const LONG: usize = "9223372036854775808".len();
        self.negative |= field
            .first()
            .is_some_and(|byte| matches!(byte, b'-' | 0xe2));
        if field.len() >= LONG && !self.large {
            let beyond = i128::from(i64::MAX) + 1..=i128::from(u64::MAX);
            let integer = spelling.integer(field);
            self.large = integer.is_some_and(|integer| beyond.contains(&integer));
        }
    }

    /// The type that holds them, if one does.
    pub(super) fn dtype(self) -> DType {
        match (self.float, self.large && !self.negative) {
            (true, _) => DType::F64,
            (false, true) => DType::U64,
            (false, false) => DType::I64,
        }
    }
}

/// A field without what nobody sees around it: white space, also that which breaks no line, and
/// marks for the direction of text.
pub(super) fn trim(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    let is_ascii = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii);
    match is_ascii(field.first()) && is_ascii(field.last()) {
        true => field,
        false => match str::from_utf8(field) {
            Ok(text) => trim_text(text).as_bytes(),
            Err(_) => field,
        },
    }
}

/// A text without what nobody sees around it.
pub(super) fn trim_text(text: &str) -> &str {
    text.trim_matches(|c: char| {
        let is_mark = matches!(
            c,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}'
        );
        c.is_whitespace() || is_mark
    })
}

/// Whether a number has zeros in front of digits, as codes have: `007`, `01.10`.
#[inline]
pub(super) fn has_zeros(field: &[u8]) -> bool {
    matches!(trim(field), [b'0', b'0'..=b'9', ..])
}

/// The number that a truth value is.
pub(super) fn truth(field: &[u8]) -> Option<&'static [u8]> {
    match field.len() {
        4 if field.eq_ignore_ascii_case(b"true") => Some(b"1"),
        5 if field.eq_ignore_ascii_case(b"false") => Some(b"0"),
        _ => None,
    }
}

/// Whether a field is NaN with what C puts in parentheses behind it, as gdb prints it:
/// `nan(0x8000000000000)`.
#[cold]
fn is_c_nan(field: &[u8]) -> bool {
    let unsigned = field.strip_prefix(b"-").unwrap_or(field);
    let inner = unsigned
        .strip_prefix(b"nan(")
        .and_then(|rest| rest.strip_suffix(b")"));
    let is_of_c = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    inner.is_some_and(|inner| inner.iter().all(is_of_c))
}

/// Whether a field is a missing value of Stata or SAS: `.a` to `.z`, `._`.
fn is_of_stata(field: &[u8]) -> bool {
    matches!(field, [b'.', kind] if kind.is_ascii_alphabetic() || *kind == b'_')
}

/// A number with the minus of ASCII in place of the typographic one, U+2212.
fn ascii_minus(field: &[u8]) -> Cow<'_, [u8]> {
    const MINUS: &str = "\u{2212}";
    match str::from_utf8(field) {
        Ok(text) if !field.is_ascii() && text.contains(MINUS) => {
            Cow::Owned(text.replace(MINUS, "-").into_bytes())
        }
        _ => Cow::Borrowed(field),
    }
}

/// Whether a text has what looks like a space.
fn has_space(text: &str) -> bool {
    text.contains([' ', '\u{a0}', '\u{202f}', '\u{2009}'])
}

/// The integer that a number is, whatever its form: `20`, `20.0`, `2e1`.
fn integer_of(plain: &[u8]) -> Option<i128> {
    let text = str::from_utf8(plain).ok()?;
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits: i128 = match fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        true => [whole, fraction].concat().parse().ok()?,
        false => return None,
    };
    let shift = exponent.checked_sub(fraction.len().try_into().ok()?)?;
    let scale = 10_i128.checked_pow(shift.unsigned_abs());
    match (shift >= 0, digits) {
        (_, 0) => Some(0),
        (true, _) => digits.checked_mul(scale?),
        (false, _) => (digits % scale? == 0).then_some(digits / scale?),
    }
}

/// A number without what stands between its thousands; nothing if that stands in other places.
fn without_groups(field: &[u8], thousands: char, decimal: u8) -> Option<Vec<u8>> {
    let text = str::from_utf8(field).ok()?;
    let is_mark = |c: char| match thousands {
        // Spaces of several widths, which do not break a line.
        ' ' => matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}'),
        '\'' | '\u{2019}' => matches!(c, '\'' | '\u{2019}'),
        _ => c == thousands,
    };
    if !text.contains(is_mark) {
        return Some(field.to_vec());
    }
    let end = text
        .find([char::from(decimal), 'e', 'E'])
        .unwrap_or(text.len());
    let (whole, rest) = text.split_at(end);
    if rest.contains(is_mark) {
        return None;
    }
    let (sign, digits) = match whole.strip_prefix(['+', '-']) {
        Some(digits) => (&whole[..1], digits),
        None => ("", whole),
    };
    let groups: Vec<_> = digits.split(is_mark).collect();
    let [first, middle @ .., last] = groups.as_slice() else {
        return None;
    };
    let long = |group: &&str, length| group.len() == length;
    let even = middle.iter().all(|group| long(group, 3))
        // Lakhs and crores.
        || first.len() <= 2 && middle.iter().all(|group| long(group, 2));
    // A number that starts with 0 is a fraction: its comma is not that of thousands.
    let starts = (1..=3).contains(&first.len()) && !first.starts_with('0');
    if !even || !long(last, 3) || !starts {
        return None;
    }
    Some([sign, &groups.concat(), rest].concat().into_bytes())
}

/// What infinity and NaN are called by C libraries before C99: `1.#INF`, `-1.#IND`, also with
/// zeros or an exponent of 0 behind it. A QNAN that is rounded like digits is `1.#R`.
fn old_c(field: &[u8], decimal: u8) -> Option<f64> {
    let (negative, magnitude) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, field),
    };
    let name = magnitude.strip_prefix(&[b'1', decimal, b'#'])?;
    let name = [&b"e+000"[..], b"e+00", b"E+000", b"E+00"]
        .iter()
        .find_map(|exponent| name.strip_suffix(*exponent))
        .unwrap_or(name);
    let zeros = name.iter().rev().take_while(|&&byte| byte == b'0').count();
    match &name[..name.len() - zeros] {
        b"INF" if negative => Some(f64::NEG_INFINITY),
        b"INF" => Some(f64::INFINITY),
        b"IND" | b"QNAN" | b"SNAN" | b"R" | b"QO" | b"QNB" | b"SNB" => Some(f64::NAN),
        _ => None,
    }
}
