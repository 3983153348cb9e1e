//! The automaton: classes of bytes, states, and the step from a state to the next. A function of a
//! state is a table of 16 values, four bits each, the first state's lowest.

use crate::Kind;

/// What a byte means to the automaton. It may depend on the two bytes that follow, which keeps the
/// states few.
#[derive(Clone, Copy)]
enum Class {
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
    /// The sign `'` anywhere else: before a lifetime, or behind a character.
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
    const ALL: [Class; 13] = [
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

const SPACE: u8 = Class::Space as u8;
const NEWLINE: u8 = Class::Newline as u8;
const LETTER: u8 = Class::Letter as u8;
const DIGIT: u8 = Class::Digit as u8;
const POINT: u8 = Class::Point as u8;
const QUOTE: u8 = Class::Quote as u8;
const CHAR_QUOTE: u8 = Class::CharQuote as u8;
const APOSTROPHE: u8 = Class::Apostrophe as u8;
const BACKSLASH: u8 = Class::Backslash as u8;
const SLASH_SLASH: u8 = Class::SlashSlash as u8;
const SLASH_STAR: u8 = Class::SlashStar as u8;
const STAR_SLASH: u8 = Class::StarSlash as u8;
const OTHER: u8 = Class::Other as u8;

/// The class of a byte, from the two bytes that follow it.
#[warpfold::function]
pub(crate) fn class_of(byte: u8, next: u8, second: u8) -> u8 {
    match byte {
        b'\n' => NEWLINE,
        b' ' | b'\t' | b'\r' => SPACE,
        // Bytes from 0x80 on are parts of letters, or of what only comments and literals have.
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80..=0xff => LETTER,
        b'0'..=b'9' => DIGIT,
        b'.' => match next {
            b'0'..=b'9' => POINT,
            _ => OTHER,
        },
        b'"' => QUOTE,
        b'\'' if next == b'\\' || next >= 0x80 || second == b'\'' => CHAR_QUOTE,
        b'\'' => APOSTROPHE,
        b'\\' => BACKSLASH,
        b'/' if next == b'/' => SLASH_SLASH,
        b'/' if next == b'*' => SLASH_STAR,
        b'*' if next == b'/' => STAR_SLASH,
        _ => OTHER,
    }
}

/// What the last byte was part of.
#[derive(Clone, Copy)]
enum State {
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
    const ALL: [State; 16] = [
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
    const fn kind(self) -> Kind {
        match self {
            State::Space | State::Closed => Kind::None,
            State::Word => Kind::Word,
            State::Number => Kind::Number,
            State::Punctuation => Kind::Punctuation,
            State::String | State::StringEscape => Kind::String,
            State::Char | State::CharEscape => Kind::Char,
            State::LineComment
            | State::OuterOpens
            | State::OuterComment
            | State::OuterCloses
            | State::InnerOpens
            | State::InnerComment
            | State::InnerCloses => Kind::Comment,
        }
    }
}

/// The states after a byte of a class, as a table.
const fn table(class: Class) -> u64 {
    let (mut table, mut state) = (0, 0);
    while state < State::ALL.len() {
        table |= (step(State::ALL[state], class) as u64) << (4 * state);
        state += 1;
    }
    table
}

/// The states after a byte of each class, as tables.
const TABLES: [u64; 16] = {
    let (mut tables, mut class) = ([0; 16], 0);
    while class < Class::ALL.len() {
        tables[class] = table(Class::ALL[class]);
        class += 1;
    }
    tables
};

/// The states after a byte of a class, as a table.
#[warpfold::function]
pub(crate) fn table_of(class: u8) -> u64 {
    TABLES[(class & 15) as usize]
}

/// The kinds of all states, as a table.
const KINDS: u64 = {
    let (mut table, mut state) = (0, 0);
    while state < State::ALL.len() {
        table |= (State::ALL[state].kind() as u64) << (4 * state);
        state += 1;
    }
    table
};

/// The state after a byte of a class.
const fn step(state: State, class: Class) -> State {
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

/// The value that a table has for a state.
#[warpfold::function]
pub(crate) fn look_up(table: u64, state: u32) -> u32 {
    (table >> (4 * state)) as u32 & 15
}

/// The kind of a token, from the state after its first byte.
#[warpfold::function]
pub(crate) fn kind(state: u32) -> u32 {
    look_up(KINDS, state)
}

const PUNCTUATION: u32 = State::Punctuation as u32;
const CLOSED: u32 = State::Closed as u32;

/// Whether two bytes are of one token, or of the blanks between two, from the states after them.
#[warpfold::function]
pub(crate) fn is_same_token(before: u32, after: u32) -> bool {
    after == CLOSED || before != CLOSED && after != PUNCTUATION && kind(before) == kind(after)
}
