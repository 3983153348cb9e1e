//! Which words can be the names of columns.

use crate::text::oddity;
use crate::text::spelling::{Kind, Spelling};

/// Whether a word can be a name: it starts with a letter. A date, a number with a mistake in it or
/// a sign before it, and words that stand for a value in data are none.
pub(in crate::text) fn is_name(word: &str) -> bool {
    const VALUES: [&str; 9] = [
        "true", "false", "yes", "no", "nd", "n.d.", "n.a.", "nat", "bdl",
    ];
    let start = word.trim_start_matches(['(', '[', '_', ' ']);
    start.starts_with(char::is_alphabetic) && !VALUES.contains(&word.to_lowercase().as_str())
}

/// Whether a word above numbers is a name, and no value with a mistake in it: it starts with a
/// letter, and is no quantity and no word for what lacks. Quotes around names alone let others
/// start with a sign.
pub(super) fn is_plain_name(word: &str, is_quoted: bool, spelling: &Spelling) -> bool {
    const VALUES: [&str; 20] = [
        "unknown",
        "undefined",
        "undef",
        "unavailable",
        "not available",
        "no data",
        "nodata",
        "n.k.",
        "n.s.",
        "n.b.",
        "n.v.",
        "k.a.",
        "n/d",
        "n/k",
        "n/r",
        "s/d",
        "qnan",
        "snan",
        "infty",
        "bql",
    ];
    let start = match is_quoted {
        true => word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_'),
        false => word,
    };
    // `(m)` and `°C` are units, or stand for what lacks.
    let is_enclosed = word.starts_with(['(', '[']) && word.ends_with([')', ']']);
    let length = start.chars().filter(|c| c.is_alphanumeric()).count();
    if start.len() < word.len() && (is_enclosed || length < 3) {
        return false;
    }
    let is_letter = |c: char| c == '_' || c.is_alphabetic() && !c.is_numeric();
    let lower = start.to_lowercase();
    // `nan(ind)`, `NA*`
    let end = start
        .find(|c| "([{*\u{2020}!?,;".contains(c))
        .unwrap_or(start.len());
    let head = &start[..end];
    let is_spelled = spelling.kind(head.as_bytes()) == Kind::Word
        || head.is_empty()
        || head.ends_with(char::is_whitespace);
    start.starts_with(is_letter)
        && is_spelled
        && (start.starts_with('_') || is_name(start))
        && !VALUES.contains(&lower.as_str())
        && !lower.starts_with("err:")
        && !oddity::is_quantity(word.as_bytes(), spelling)
}
