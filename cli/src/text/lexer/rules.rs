//! What each byte means in a dialect.

use super::Dialect;

/// What a dialect says about each byte.
pub(super) struct Rules {
    pub(super) delimiter: Option<u8>,
    pub(super) comment: Option<u8>,
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
    pub(super) fn starts_comment(&self, byte: u8, text: &[u8]) -> bool {
        Some(byte) == self.comment && !(byte == b'#' && !self.is_said && is_error_word(text))
    }
}

/// Whether a text starts with the word for an error in spreadsheets.
fn is_error_word(text: &[u8]) -> bool {
    // The last ones are German, and Spanish or Portuguese.
    const WORDS: [&[u8]; 13] = [
        b"#N/A", b"#NA", b"#DIV/0!", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!", b"#NV",
        b"#WERT!", b"#ZAHL!", b"#BEZUG!", b"#N/D",
    ];
    WORDS.iter().any(|word| {
        let rest = text.strip_prefix(*word);
        rest.is_some_and(|rest| {
            rest.first()
                .is_none_or(|byte| b" \t\r\n,;|\"".contains(byte))
        })
    })
}
