//! The sequential program: a lexer as one writes it by hand, from a token to the next.

use crate::{Kind, Token};

/// The tokens of `text`.
pub(crate) fn tokens(text: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        if let b' ' | b'\t' | b'\r' | b'\n' = rest[0] {
            start += 1;
            continue;
        }
        let (kind, length) = token(rest);
        let end = start + length;
        tokens.push(Token {
            start: start as u32,
            end: end as u32,
            kind: kind as u32,
        });
        start = end;
    }
    tokens
}

/// The token that `rest` begins with, and its length.
fn token(rest: &[u8]) -> (Kind, usize) {
    match rest {
        [b'/', b'/', ..] => (Kind::Comment, span(rest, |byte| byte != b'\n')),
        [b'/', b'*', ..] => (Kind::Comment, block_comment(rest)),
        [b'"', ..] => (Kind::String, literal(rest)),
        [b'\'', b'\\' | 0x80.., ..] | [b'\'', _, b'\'', ..] => (Kind::Char, literal(rest)),
        [byte, ..] if byte.is_ascii_digit() => (Kind::Number, number(rest)),
        [byte, ..] if is_in_word(*byte) => (Kind::Word, span(rest, is_in_word)),
        _ => (Kind::Punctuation, 1),
    }
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// How many bytes from the start belong.
fn span(rest: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    let end = rest.iter().position(|&byte| !belongs(byte));
    end.unwrap_or(rest.len())
}

/// Digits and letters, and points before digits.
fn number(rest: &[u8]) -> usize {
    let mut length = 0;
    loop {
        length += span(&rest[length..], is_in_word);
        match rest[length..] {
            [b'.', digit, ..] if digit.is_ascii_digit() => length += 1,
            _ => return length,
        }
    }
}

/// To the same quotation mark again, unless a backslash is in front of it.
fn literal(rest: &[u8]) -> usize {
    let mut i = 1;
    while i < rest.len() {
        match rest[i] {
            b'\\' => i += 2,
            quote if quote == rest[0] => return i + 1,
            _ => i += 1,
        }
    }
    rest.len()
}

/// To the end of a comment that may have others in it, but these none.
fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 1;
    let mut i = 2;
    while i < rest.len() && depth > 0 {
        match rest[i..] {
            [b'/', b'*', ..] if depth == 1 => {
                depth += 1;
                i += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                i += 2;
            }
            _ => i += 1,
        }
    }
    i.min(rest.len())
}
