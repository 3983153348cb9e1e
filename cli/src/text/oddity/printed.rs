//! Numbers as programs and people print them: with labels, raised digits, minutes, and no cents.

use super::Oddity;

/// What takes the dash for no cents out.
pub(super) const WITHOUT_DASH: &str = "sed -E 's/([0-9])[.,](-+|\u{2013}|\u{2014})/\\1/g'";

/// What a word is, if it was printed for people.
pub(super) fn of(text: &str, is_number: impl Fn(&str) -> bool + Copy) -> Option<Oddity> {
    const RAISED: &str = "\u{b2}\u{b3}\u{b9}\u{2070}\u{2074}\u{2075}\u{2076}\u{2077}\u{2078}\u{2079}\u{207a}\u{207b}";
    let is_vulgar =
        |c: char| matches!(c, '\u{bc}'..='\u{be}' | '\u{2150}'..='\u{215f}' | '\u{2189}');
    if text.contains(is_vulgar)
        && text
            .chars()
            .all(|c| is_vulgar(c) || "+- ".contains(c) || c.is_ascii_digit())
    {
        return Some(Oddity::Fraction);
    }
    let raised = text.trim_end_matches(|c| RAISED.contains(c));
    if raised.len() < text.len() {
        let powers = ["x10", "*10", "\u{d7}10", "\u{b7}10"];
        let packed: String = raised.chars().filter(|c| !c.is_whitespace()).collect();
        let is_power = powers.iter().any(|power| packed.ends_with(power)) || raised == "10";
        if is_power {
            return Some(Oddity::Power);
        }
        if is_number(raised) {
            return Some(Oddity::Raised);
        }
    }
    let powers = text.split_once('^').or(text.split_once("**"));
    if powers.is_some_and(|(base, exponent)| is_number(base) && is_number(exponent)) {
        return Some(Oddity::Power);
    }
    let whole = text.trim_end_matches(['-', '\u{2013}', '\u{2014}']);
    if whole.len() < text.len()
        && let Some(whole) = whole.strip_suffix([',', '.'])
        && is_number(whole)
    {
        return Some(Oddity::Price);
    }
    let marks = [
        '\u{b0}', '\'', '"', '\u{2032}', '\u{2033}', '\u{2019}', '\u{201d}',
    ];
    let unsigned = text.trim_start_matches(['+', '-']);
    let angle = unsigned.trim_end_matches(|c: char| "NSEWO ".contains(c));
    let mut parts = angle.split(marks).filter(|part| !part.is_empty());
    let is_digits = |part: &str| part.trim().bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if angle.ends_with(marks) && parts.clone().count() > 1 && parts.all(is_digits) {
        return Some(Oddity::Minutes);
    }
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "_.".contains(c))
    };
    if let Some((name, value)) = text.split_once('(')
        && is_name(name.trim_start_matches(['[', '(', '{']))
    {
        let value = value.trim_end_matches([')', ']', ',']);
        let value = value.trim_start_matches(['(', '[', '\'', '"']);
        let value = value.trim_end_matches(['\'', '"', '.']);
        return is_number(value).then_some(Oddity::Shown);
    }
    if let Some((name, value)) = text.split_once(['=', ':'])
        && is_name(name)
        && is_number(value.trim_end_matches([',', ';']))
    {
        return Some(Oddity::Labelled(
            r"sed -E 's/[[:alpha:]_][[:alnum:]_.]*[=:] *//g'",
        ));
    }
    None
}

/// Whether a text counts the rows above it, as psql does.
pub(in crate::text) fn is_footer(text: &str) -> bool {
    let inner = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let words = inner.and_then(|inner| inner.split_once(' '));
    words.is_some_and(|(count, rows)| {
        !count.is_empty()
            && count.bytes().all(|b| b.is_ascii_digit())
            && ["row", "rows"].contains(&rows)
    })
}

/// What the words from one on are, if what stands beside it tells.
pub(super) fn in_line(
    word: &[u8],
    line: &[u8],
    is_number: impl Fn(&str) -> bool + Copy,
) -> Option<Oddity> {
    let (word, line) = (str::from_utf8(word).ok()?, str::from_utf8(line).ok()?);
    let rest = line.get(word.len()..)?.trim_start();
    if word == "*" && rest.is_empty() {
        return Some(Oddity::Factor);
    }
    if is_footer(line.trim_end()) {
        return Some(Oddity::Footer);
    }
    let next = rest.split_whitespace().next().unwrap_or("");
    if word.ends_with([':', '=']) && word.len() > 1 && is_number(next) {
        return Some(Oddity::Labelled(
            r"sed -E 's/[^[:space:]]*[=:][[:space:]]+//g'",
        ));
    }
    if next == "=" && rest[1..].split_whitespace().next().is_some_and(&is_number) {
        return Some(Oddity::Labelled(
            r"sed -E 's/[^[:space:]]+[[:space:]]+=[[:space:]]+//g'",
        ));
    }
    let inner = word
        .strip_prefix('(')
        .and_then(|word| word.strip_suffix(')'));
    let (first, second) = inner?.split_once(',')?;
    let is_group = second.len() == 3 && second.bytes().all(|byte| byte.is_ascii_digit());
    let are_numbers = [first, second]
        .iter()
        .all(|part| !part.contains(',') && is_number(part));
    (are_numbers && !is_group && !second.contains('.')).then_some(Oddity::Pair)
}

/// What a line begins with, if that is a label of several words, an equals sign or a colon, white
/// space and a number.
pub(super) fn label_of_line(line: &[u8], is_number: impl Fn(&str) -> bool) -> Option<Oddity> {
    let (label, rest) = str::from_utf8(line).ok()?.split_once([':', '='])?;
    let next = rest.split_whitespace().next()?;
    let starts = label.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_apart = rest.starts_with(char::is_whitespace);
    (starts && is_apart && is_number(next.trim_end_matches([',', ';']))).then_some(
        Oddity::Labelled(r"sed -E 's/^[[:space:]]*[[:alpha:]_][^=:]*[=:][[:space:]]+//'"),
    )
}
