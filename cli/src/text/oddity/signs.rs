//! Signs that stand elsewhere than before the first digit, and what `sed` does about them.

use super::{Oddity, is_comparison, sign_before};
use crate::text::spelling::trim_text;

/// What stands for a minus or a plus, also as other programs print it.
const SIGNS: [char; 8] = [
    '-', '+', '\u{2212}', '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}',
];

/// What stands between a number and its error.
pub(super) const SPREADS: [&str; 4] = ["\u{b1}", "+/-", "+-", "\u{2213}"];

/// An error or a mark behind a number, which a program takes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::text) enum Mark {
    /// `1.5±0.1`
    Spread,
    /// `1.25(67)`, also with an exponent behind it, which belongs to the number.
    Round,
    /// `1.5[a]`
    Square,
}

/// The mark behind a number that [`Mark::program`] takes out of this text.
pub(super) fn mark_behind(text: &str) -> Option<Mark> {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = behind_number(rest)?.trim_start_matches(' ');
    if let Some(inner) = rest.strip_prefix('(') {
        let (error, exponent) = inner.split_once(')')?;
        let is_error = |c: char| c.is_ascii_digit() || ".,%".contains(c);
        let is_whole = behind_exponent(exponent).is_empty();
        return (!error.is_empty() && error.chars().all(is_error) && is_whole)
            .then_some(Mark::Round);
    }
    if let Some(inner) = rest.strip_prefix('[') {
        let mark = inner.strip_suffix(']')?;
        let is_word = !mark.is_empty() && mark.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return is_word.then_some(Mark::Square);
    }
    let mut rest = rest;
    while !rest.is_empty() {
        let error = SPREADS
            .iter()
            .find_map(|&spread| rest.trim_start_matches(' ').strip_prefix(spread))?;
        rest = behind_number(error.trim_start_matches(' '))?;
    }
    Some(Mark::Spread)
}

/// What stands behind a number without a sign, whatever its marks are.
fn behind_number(text: &str) -> Option<&str> {
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
    starts.then(|| behind_exponent(rest))
}

/// What stands behind an exponent, if there is one.
fn behind_exponent(text: &str) -> &str {
    let digits = text
        .strip_prefix(['e', 'E'])
        .map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
    match digits {
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_digit()) => {
            digits.trim_start_matches(|c: char| c.is_ascii_digit())
        }
        _ => text,
    }
}

impl Mark {
    /// What takes it out of fields that consist of a number and such a mark. It leaves lines with
    /// quotes as they are: a comma in these need not end a field. A comma stands in an error only
    /// as a pattern for it says.
    pub(super) fn program(self, delimiter: Option<u8>, comma: Option<&str>) -> String {
        const EXPONENT: &str = "([eE][-+]?[0-9]+)?";
        let digits = match delimiter {
            Some(b',') => "[0-9.]",
            _ => "[0-9.,]",
        };
        let (start, space, end) = match delimiter {
            None => ("(^|[[:space:]])".into(), "", "(,?([[:space:]]|$))".into()),
            Some(delimiter) => {
                let mark = in_class(delimiter);
                let start = format!("(^|[{mark}]) *");
                (start, " *", format!("([[:space:]]*([{mark}]|$))"))
            }
        };
        let (mark, left) = match self {
            Mark::Spread => {
                let (error, left) = error_pattern(comma);
                (
                    format!(r"({space}(±|\+\/-|\+-|∓){space}{error}{EXPONENT})+"),
                    format!(r"\1\{}", 6 + left),
                )
            }
            Mark::Round => (format!(r"{space}\([0-9.,%]+\){EXPONENT}"), r"\1\4\5".into()),
            Mark::Square => (format!(r"{space}\[[[:alnum:]]+\]"), r"\1\4".into()),
        };
        format!(
            "sed -E ':a; /\"/!s/({start}[-+]?[0-9.]{digits}*{EXPONENT}){mark}{end}/{left}/; ta'"
        )
    }
}

/// A pattern for an error without its exponent, and the number of the group behind its own.
fn error_pattern(comma: Option<&str>) -> (String, usize) {
    match comma {
        None => ("[0-9.]+".into(), 1),
        Some(comma) => (format!("[0-9.]+{comma}[0-9.]*"), 2),
    }
}

/// What takes errors out that stand by themselves, with the sign before each.
pub(super) fn without_spreads(comma: Option<&str>) -> String {
    let (error, left) = error_pattern(comma);
    format!(
        r"sed -E 's/ *(±|\+\/?-|∓) *{error}([eE][-+]?[0-9]+)?(,?([[:space:]]|$))/\{}/g'",
        2 + left
    )
}

/// Whether a text is several fractions without room between them, which the minus of each but the
/// first tells apart.
pub(super) fn are_glued(text: &str, is_number: impl Fn(&str) -> bool + Copy) -> bool {
    let has_point = |part: &str| part.contains('.') && is_number(part);
    let mut minuses = text.match_indices('-').map(|(at, _)| text.split_at(at));
    minuses.any(|(first, second)| {
        has_point(first) && (has_point(second) || are_glued(&second[1..], is_number))
    })
}

/// The number that a text holds behind spaces and a sign of money, and that sign.
fn of_money(text: &str, is_number: impl Fn(&str) -> bool) -> Option<&str> {
    match is_number(text) {
        true => Some(""),
        false => sign_before(trim_text(text), is_number).filter(|sign| !is_comparison(sign)),
    }
}

/// A pattern for numbers in parentheses, which are negative, if a text is one: `(5)`, `( 5 )`,
/// `($5)`, `$ (5)`.
pub(super) fn in_parentheses(text: &str, is_number: impl Fn(&str) -> bool) -> Option<String> {
    let unsigned = text.strip_suffix('%').unwrap_or(text);
    let (before, inner) = unsigned.strip_suffix(')')?.split_once('(')?;
    let percent = match inner.strip_suffix('%') {
        Some(_) => " *%",
        None => "",
    };
    let inner = inner.strip_suffix('%').unwrap_or(inner);
    let before = before.trim_end();
    // What stands before a bracket would stand before a number.
    let is_money = || {
        let number = format!("{before} 1");
        sign_before(&number, |text| text.trim() == "1") == Some(before) && !is_comparison(before)
    };
    if !before.is_empty() && !is_money() {
        return None;
    }
    let within = of_money(inner, is_number)?;
    let optional = |sign: &str| match sign {
        "" => String::new(),
        sign => format!("{} *", sign.replace('$', r"\$")),
    };
    // Marks of thousands that are no points and commas.
    let has_marks = inner
        .trim()
        .contains(['\'', '\u{2019}', '_', ' ', '\u{a0}', '\u{202f}']);
    let digits = match has_marks && within.is_empty() {
        true => "[0-9.][^][:alpha:]()[/:;\"%-]*",
        false => "[0-9.,]+",
    };
    Some(format!(
        r"{}\( *{}({digits}{percent}) *\)",
        optional(before),
        optional(within)
    ))
}

/// Whether a text is a complex number as Fortran and C++ write it: two fractions in parentheses.
pub(super) fn is_pair(text: &str, is_number: impl Fn(&str) -> bool) -> bool {
    let inner = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let parts = inner.and_then(|inner| inner.split_once(','));
    parts.is_some_and(|(first, second)| {
        [first, second]
            .iter()
            .all(|part| part.contains('.') && is_number(part))
    })
}

/// Whether a text is a row as SQL and Python write it: values in parentheses, with commas between
/// them that stand in no number. Two numbers can be one. A word may end within a quoted value.
pub(super) fn is_tuple(text: &str, is_number: impl Fn(&str) -> bool) -> bool {
    let text = text.trim_end_matches([',', ';', ']']);
    let Some(inner) = text.strip_prefix('[').unwrap_or(text).strip_prefix('(') else {
        return false;
    };
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_group = |part: &str| {
        let whole = part.split('.').next().unwrap_or(part);
        whole.len() == 3 && is_digits(whole)
    };
    match (inner.strip_suffix(')'), inner.split_once(',')) {
        (_, None) => false,
        (None, Some((_, rest))) => rest.starts_with(['\'', '"']),
        (Some(inner), _) => {
            let mut parts = inner.split(',');
            let first = parts.next().unwrap_or("");
            match parts.clone().count() {
                1 => !is_number(first) || !parts.all(&is_number),
                _ => !parts.all(is_group),
            }
        }
    }
}

/// Whether a word in front of others is an integer in parentheses, which may count the lines.
pub(super) fn counts(word: &[u8], line: &[u8]) -> bool {
    let inner = word
        .strip_prefix(b"(")
        .and_then(|word| word.strip_suffix(b")"));
    let rest = line.get(word.len()..).unwrap_or_default();
    inner.is_some_and(|inner| !inner.is_empty() && inner.iter().all(u8::is_ascii_digit))
        && !rest.trim_ascii().is_empty()
}

/// The sign of a number, if space stands between them.
pub(super) fn apart(text: &str, is_number: impl Fn(&str) -> bool) -> Option<char> {
    let sign = text.chars().next().filter(|sign| SIGNS.contains(sign))?;
    let rest = &text[sign.len_utf8()..];
    let starts = |c: char| c.is_ascii_digit() || c == '.';
    let number = trim_text(rest);
    (rest.starts_with(char::is_whitespace) && number.starts_with(starts) && is_number(number))
        .then_some(sign)
}

/// What the words from one on are, if it is a sign or a bracket of the number behind it.
pub(super) fn in_line(
    word: &[u8],
    line: &[u8],
    is_number: impl Fn(&str) -> bool + Copy,
) -> Option<Oddity> {
    let line = String::from_utf8_lossy(line);
    if let Some(end) = line.find(')') {
        let text = &line[..=end];
        // Of several words within it is a list.
        let inner = text.split_once('(').map_or("", |(_, inner)| inner);
        let words = inner.trim_end_matches(')').split_whitespace();
        let is_one = words.count() <= 2 && !inner.contains(',');
        if word.len() < text.len()
            && is_one
            && let Some(pattern) = in_parentheses(text, |text| {
                !text.trim().contains(char::is_whitespace) && is_number(text)
            })
        {
            return Some(Oddity::Negative(pattern));
        }
    }
    let sign = String::from_utf8_lossy(word);
    let mut words = line.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    // A tab stands between columns.
    let has_tab = line[..line.find(second)?].contains('\t');
    let is_apart = first == sign && !has_tab;
    let sign = is_apart.then(|| apart(&format!("{first} {second}"), is_number));
    sign.flatten().map(Oddity::Apart)
}

/// What joins signs to the numbers behind them.
pub(super) fn joining(sign: char, delimiter: Option<u8>) -> String {
    let written = if sign == '+' { '+' } else { '-' };
    let escaped = match sign {
        '+' => r"\+".into(),
        sign => sign.to_string(),
    };
    let start = match delimiter {
        None => "^| ".into(),
        Some(delimiter) => format!("^|[{}\"]", in_class(delimiter)),
    };
    format!(r"sed -E 's/({start}) *{escaped} +([0-9.])/\1{written}\2/g'")
}

/// What takes a minus behind a number before it. A comma between columns is none of the number's,
/// unless it stands in quotes, and what follows the sign is no rest of a date.
pub(super) fn turning(delimiter: Option<u8>, quoted: bool) -> String {
    if quoted {
        return r#"sed -E 's/"([0-9.][^[:alpha:]":/-]*)-"/"-\1"/g'"#.into();
    }
    // Whatever marks of thousands are.
    let (start, inner, end) = match delimiter {
        None => (
            "(^|[[:space:]])".into(),
            "[:space:]".into(),
            "(,?([[:space:]]|$))".into(),
        ),
        Some(delimiter) => {
            let mark = in_class(delimiter);
            (
                format!("(^|[{mark}]) *"),
                mark.clone(),
                format!("([[:space:]]*([{mark}]|$))"),
            )
        }
    };
    format!("sed -E ':a; s/({start})([0-9.][^[:alpha:]\":/{inner}-]*)-{end}/\\1-\\3\\4/; ta'")
}

/// A delimiter between the brackets of a pattern.
pub(super) fn in_class(delimiter: u8) -> String {
    match delimiter {
        b'\t' => r"\t".into(),
        delimiter => char::from(delimiter).to_string(),
    }
}
