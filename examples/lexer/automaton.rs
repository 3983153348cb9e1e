//! The automaton: classes of bytes, states, and the step from a state to the next.

use crate::Kind;

/// What a byte means to the automaton. It may depend on the two bytes that follow, which keeps the
/// states few: all bytes can still be classified at once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub(crate) enum Class {
    Space,
    Newline,
    Letter,
    Digit,
    /// A point before a digit.
    Point,
    /// The quotation mark of strings.
    Quote,
    /// The one of characters, where it can open one.
    CharQuote,
    /// The same sign anywhere else: before a lifetime, or behind a character.
    Apostrophe,
    Backslash,
    /// The first byte of `//`.
    SlashSlash,
    /// The first byte of `/*`.
    SlashStar,
    /// The first byte of `*/`.
    StarSlash,
    Other,
}

impl Class {
    pub(crate) const ALL: [Class; 13] = [
        Class::Space,
        Class::Newline,
        Class::Letter,
        Class::Digit,
        Class::Point,
        Class::Quote,
        Class::CharQuote,
        Class::Apostrophe,
        Class::Backslash,
        Class::SlashSlash,
        Class::SlashStar,
        Class::StarSlash,
        Class::Other,
    ];
}

/// The class of byte `i`.
pub(crate) fn classify(text: &[u8], i: usize) -> Class {
    let next = text.get(i + 1).copied().unwrap_or(b' ');
    match text[i] {
        b'\n' => Class::Newline,
        b' ' | b'\t' | b'\r' => Class::Space,
        // Bytes from 0x80 on are parts of letters, or of what only comments and literals have.
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => Class::Letter,
        b'0'..=b'9' => Class::Digit,
        b'.' if next.is_ascii_digit() => Class::Point,
        b'"' => Class::Quote,
        b'\'' if next == b'\\' || next >= 0x80 || text.get(i + 2) == Some(&b'\'') => {
            Class::CharQuote
        }
        b'\'' => Class::Apostrophe,
        b'\\' => Class::Backslash,
        b'/' if next == b'/' => Class::SlashSlash,
        b'/' if next == b'*' => Class::SlashStar,
        b'*' if next == b'/' => Class::StarSlash,
        _ => Class::Other,
    }
}

/// What the last byte was part of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub(crate) enum State {
    Space,
    Word,
    Number,
    Punctuation,
    LineComment,
    /// The first byte of `/*`, from outside of comments.
    OuterOpens,
    OuterComment,
    /// The first byte of `*/`, after which no comment is left.
    OuterCloses,
    InnerOpens,
    InnerComment,
    InnerCloses,
    String,
    StringEscape,
    Char,
    CharEscape,
    /// The last byte of a comment, a string or a character.
    Closed,
}

impl State {
    pub(crate) const ALL: [State; 16] = [
        State::Space,
        State::Word,
        State::Number,
        State::Punctuation,
        State::LineComment,
        State::OuterOpens,
        State::OuterComment,
        State::OuterCloses,
        State::InnerOpens,
        State::InnerComment,
        State::InnerCloses,
        State::String,
        State::StringEscape,
        State::Char,
        State::CharEscape,
        State::Closed,
    ];

    /// The kind of token, where the state says it.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            State::Space | State::Closed => None,
            State::Word => Some(Kind::Word),
            State::Number => Some(Kind::Number),
            State::Punctuation => Some(Kind::Punctuation),
            State::String | State::StringEscape => Some(Kind::String),
            State::Char | State::CharEscape => Some(Kind::Char),
            State::LineComment
            | State::OuterOpens
            | State::OuterComment
            | State::OuterCloses
            | State::InnerOpens
            | State::InnerComment
            | State::InnerCloses => Some(Kind::Comment),
        }
    }
}

/// The state after a byte of a class.
pub(crate) fn step(state: State, class: Class) -> State {
    match (state, class) {
        (State::LineComment, Class::Newline) => State::Space,
        (State::LineComment, _) => State::LineComment,

        (State::OuterOpens | State::InnerCloses, _) => State::OuterComment,
        (State::OuterComment, Class::SlashStar) => State::InnerOpens,
        (State::OuterComment, Class::StarSlash) => State::OuterCloses,
        (State::OuterComment, _) => State::OuterComment,
        (State::OuterCloses, _) => State::Closed,
        (State::InnerOpens, _) => State::InnerComment,
        (State::InnerComment, Class::StarSlash) => State::InnerCloses,
        (State::InnerComment, _) => State::InnerComment,

        (State::String, Class::Quote) => State::Closed,
        (State::String, Class::Backslash) => State::StringEscape,
        (State::String | State::StringEscape, _) => State::String,

        (State::Char, Class::CharQuote | Class::Apostrophe) => State::Closed,
        (State::Char, Class::Backslash) => State::CharEscape,
        (State::Char | State::CharEscape, _) => State::Char,

        (State::Word, Class::Digit) => State::Word,
        (State::Number, Class::Letter | Class::Point) => State::Number,

        // All others are outside of anything: the byte begins something, or goes on with a word or
        // a number.
        (_, Class::Space | Class::Newline) => State::Space,
        (_, Class::Letter) => State::Word,
        (_, Class::Digit) => State::Number,
        (_, Class::Quote) => State::String,
        (_, Class::CharQuote) => State::Char,
        (_, Class::SlashSlash) => State::LineComment,
        (_, Class::SlashStar) => State::OuterOpens,
        (
            _,
            Class::Point | Class::Apostrophe | Class::Backslash | Class::StarSlash | Class::Other,
        ) => State::Punctuation,
    }
}

/// Whether a token begins with a byte that takes the automaton from one state to another.
pub(crate) fn begins_token(before: State, after: State) -> bool {
    after.kind().is_some() && !continues_token(before, after)
}

/// Whether both bytes are of one token, if the automaton was in a state `before`, and is in another
/// `after` a byte.
pub(crate) fn continues_token(before: State, after: State) -> bool {
    match after {
        State::Space | State::Punctuation => false,
        State::Closed => true,
        _ => before.kind() == after.kind(),
    }
}
