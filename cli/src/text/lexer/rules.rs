//! What each byte means in a dialect.

use super::Dialect;

/// What a dialect says about each byte.
pub(super) struct Rules {
    pub(super) delimiter: Option<u8>,
    pub(super) comment: Option<u8>,
    /// Whether a comma stands before fractions, if the user says so or the contrary.
    pub(super) comma_is_decimal: Option<bool>,
    /// Whether the user says what starts a comment.
    is_said: bool,
    /// The bytes that end a field without quotes.
    pub(super) ends: [bool; 256],
    /// The bytes that a field can begin and end with, and that mean nothing else there.
    pub(super) plain: [bool; 256],
}

impl Rules {
    pub(super) fn of(dialect: &Dialect) -> Rules {
        let mut ends = [false; 256];
        match dialect.delimiter {
            Some(delimiter) => ends[usize::from(delimiter)] = true,
            None => (0..=u8::MAX).for_each(|b| ends[usize::from(b)] = b.is_ascii_whitespace()),
        }
        ends[usize::from(b'\n')] = true;
        ends[usize::from(b'\r')] = true;
        if let Some(comment) = dialect.comment.filter(|_| dialect.comment_is_said)
            && dialect.delimiter.is_some()
        {
            ends[usize::from(comment)] = true;
        }
        Rules {
            delimiter: dialect.delimiter,
            comment: dialect.comment,
            comma_is_decimal: dialect.comma_is_decimal,
            is_said: dialect.comment_is_said,
            ends,
            plain: std::array::from_fn(|byte| {
                let byte = byte as u8;
                let special = matches!(byte, b'"' | b',') || Some(byte) == dialect.comment;
                !special && !byte.is_ascii_whitespace() && !ends[usize::from(byte)]
            }),
        }
    }

    /// Whether a word is the start of a comment. What spreadsheets write for an error is none,
    /// though it starts alike.
    #[inline]
    pub(super) fn starts_comment(&self, byte: u8, text: &[u8], within_row: bool) -> bool {
        let is_error = || byte == b'#' && !self.is_said && self.starts_error(text, within_row);
        Some(byte) == self.comment && !is_error()
    }

    /// Whether a text starts with what spreadsheets write in place of a number.
    fn starts_error(&self, text: &[u8], within_row: bool) -> bool {
        let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next();
        let line = line.unwrap_or(text);
        let ends = |byte: &u8| b" \t,;|\"".contains(byte) || Some(*byte) == self.delimiter;
        let end = line.iter().position(ends).unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        if WORDS.contains(&word) {
            return true;
        }
        if within_row {
            // With a mark, words in small letters are those of a comment.
            let capital = word.to_ascii_uppercase();
            let is_known = WORDS.contains(&&capital[..])
                || !capital.ends_with(b"!") && !capital.ends_with(b"?") && is_error_word(&capital);
            return is_known
                || is_error_word(word)
                || word.len() >= 3 && word.iter().all(|&byte| byte == b'#');
        }
        // At the start of a line, words after it make it a comment.
        let is_field = rest
            .first()
            .is_some_and(|byte| Some(*byte) == self.delimiter || b",;|".contains(byte));
        is_error_word(word) && (is_field || rest.trim_ascii().is_empty())
    }
}

/// Errors of spreadsheets that no comment starts with. The last ones are German, and Spanish or
/// Portuguese.
const WORDS: [&[u8]; 13] = [
    b"#N/A", b"#NA", b"#DIV/0!", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!", b"#NV",
    b"#WERT!", b"#ZAHL!", b"#BEZUG!", b"#N/D",
];

/// Whether a word is an error of a spreadsheet, in any language: capital letters with `!` or `?`
/// behind them, two letters with a stroke between them, or a division by 0.
pub(in crate::text) fn is_error_word(word: &[u8]) -> bool {
    const BARE: [&str; 7] = ["NAN", "INF", "IND", "ERR", "ERROR", "NULL", "GETTING_DATA"];
    if WORDS.contains(&word) {
        return true;
    }
    let text = str::from_utf8(word)
        .ok()
        .and_then(|word| word.strip_prefix('#'));
    let Some(text) = text else {
        return false;
    };
    let body = text.strip_suffix(['!', '?']);
    let letters = body
        .unwrap_or(text)
        .trim_start_matches(['\u{a1}', '\u{bf}']);
    let is_capital = |c: char| c.is_alphabetic() && !c.is_lowercase();
    let is_marked = body.is_some()
        && letters.starts_with(is_capital)
        && letters.chars().count() >= 2
        && letters
            .chars()
            .all(|c| is_capital(c) || c.is_ascii_digit() || "/_.'".contains(c));
    let is_bare = BARE.contains(&text)
        || match text.split_once('/') {
            Some((first, "0")) => !first.is_empty() && first.chars().all(is_capital),
            Some((first, second)) => {
                let is_letter =
                    |part: &str| part.chars().count() == 1 && part.chars().all(is_capital);
                is_letter(first) && is_letter(second)
            }
            None => false,
        };
    is_marked || is_bare
}
