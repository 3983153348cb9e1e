//! Lexical analysis of a source file, of all its bytes at once.
//!
//! A lexer is a finite automaton: each byte takes it from one state to the next, and in which state
//! a byte is read depends on everything before it, such as a quotation mark a hundred lines above.
//! But a byte *is* a function from states to states, and so is a block of bytes. Functions compose
//! associatively, and so their scan gives the state before every block (Ladner & Fischer 1980; as a
//! parallel lexer: Hillis & Steele 1986). From there on the automaton runs through each block.
//! Whether a byte goes on with the token of the one before it shows in the two states. A select
//! keeps the places where something begins: tokens, and the blanks between them. A second one drops
//! the blanks.
//!
//! The language is Rust's without raw strings, and with comments nested to a depth of two: a finite
//! automaton cannot count further than its states. `automaton.rs` has the automaton,
//! `sequential.rs` a lexer as one writes it by hand.
//!
//! `cargo run --release --example lexer`

mod automaton;
mod sequential;
#[path = "../support/mod.rs"]
mod support;

use automaton::{class_of, is_same_token, kind, look_up, table_of};
use support::Report;
use warpfold::{Buffer, Device, Element, Result, Source, constant, index, map, zip, zip3};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// No token: blanks.
    None,
    Word,
    Number,
    String,
    Char,
    Comment,
    Punctuation,
}

/// The bytes from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Token {
    start: u32,
    end: u32,
    /// A [`Kind`].
    kind: u32,
}

impl Token {
    /// Its bytes in the text.
    fn bytes(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..self.end as usize]
    }
}

/// A function from states to states: the table of its values, four bits each.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Transition {
    table: u64,
}

/// First one function, `then` the other.
#[warpfold::monoid(identity = Transition { table: 0xfedc_ba98_7654_3210 }, exact)]
fn compose(first: Transition, then: Transition) -> Transition {
    let mut table = 0;
    for state in 0..16 {
        table |= (look_up(then.table, look_up(first.table, state)) as u64) << (4 * state);
    }
    Transition { table }
}

/// How many bytes a block has: one function of 8 bytes is stored for it.
const BLOCK: usize = 8;

/// All bytes of a block as one function, from their classes: where the automaton gets to from each
/// state. That takes three operations for a byte and a state, which a CPU does on vectors.
#[warpfold::function]
fn transition(classes: [u8; BLOCK]) -> Transition {
    let mut states = [0_u64; 16];
    for state in 0..16 {
        states[state] = table_of(classes[0]) >> (4 * state) & 15;
    }
    for i in 1..BLOCK {
        let then = table_of(classes[i]);
        for state in 0..16 {
            states[state] = then >> (4 * states[state]) & 15;
        }
    }
    let mut table = 0;
    for state in 0..16 {
        table |= states[state] << (4 * state);
    }
    Transition { table }
}

/// What begins at each byte of a block: 0 if nothing does, or else one more than a [`Kind`]. A text
/// begins as after a blank.
#[warpfold::function]
fn marks(classes: [u8; BLOCK], before: Transition) -> [u8; BLOCK] {
    let mut state = look_up(before.table, 0);
    let mut marks = classes;
    for i in 0..BLOCK {
        let after = look_up(table_of(classes[i]), state);
        marks[i] = if is_same_token(state, after) {
            0
        } else {
            1 + kind(after) as u8
        };
        state = after;
    }
    marks
}

/// A token, or the blanks between two.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Start {
    place: u32,
    /// A [`Kind`].
    kind: u32,
}

/// What begins at a place, and whether anything does. Behind the text the last token ends.
#[warpfold::function]
fn start(place: u64, length: u64, mark: u8) -> (Start, bool) {
    let start = Start {
        place: place as u32,
        kind: (mark as u32).wrapping_sub(1),
    };
    (start, mark != 0 || place == length)
}

/// What begins at a place and ends where the next begins.
#[warpfold::function]
fn token(start: Start, next: Start) -> Token {
    Token {
        start: start.place,
        end: next.place,
        kind: start.kind,
    }
}

#[warpfold::function]
fn is_token(token: Token) -> bool {
    token.kind != 0
}

/// The tokens of `text`: a scan, and two selects. There are fewer than 2^32 bytes.
fn in_parallel(device: &Device, text: &Buffer<u8>) -> Result<Buffer<Token>> {
    let classes = classes(device, text)?;
    let before = device.scan::<Transition, Compose>(map::<transition, _>(&classes))?;
    let marks = device.collect(map::<marks, _>(zip(&classes, &before)))?;
    let marks = marks.into_flattened();
    let starts = device.select_flagged::<Start>(starts(&marks, text.len()))?;
    let count = starts.len() - 1;
    let tokens = map::<token, _>(zip(starts.slice(..count), starts.slice(1..)));
    device.select::<Token, is_token>(tokens)
}

/// The classes of all bytes, and of at least one blank behind them, in blocks. The class of a byte
/// depends on two bytes more.
fn classes(device: &Device, text: &Buffer<u8>) -> Result<Buffer<[u8; BLOCK]>> {
    let len = (text.len() + 1).next_multiple_of(BLOCK);
    let blanks = device.upload(&vec![b' '; len + 2 - text.len()])?;
    let bytes = device.concat(&[text, &blanks])?;
    let [byte, next, second] = [0, 1, 2].map(|ahead| bytes.slice(ahead..ahead + len));
    let classes = device.collect(map::<class_of, _>(zip3(byte, next, second)))?;
    Ok(classes.into_chunks())
}

fn starts(marks: &Buffer<u8>, length: usize) -> impl Source<Device, Item = (Start, bool)> {
    let places = length + 1;
    let length = constant(length as u64, places);
    map::<start, _>(zip3(index(places), length, marks.slice(..places)))
}

fn main() -> Result<()> {
    let length = support::length(1 << 20);
    let text = support::repeated(support::SOURCE.as_bytes(), length);
    let report = Report {
        example: "lexer",
        length,
    };

    let expected = sequential::tokens(&text);
    println!("{} tokens; the first and the longest:", expected.len());
    let longest = expected.iter().max_by_key(|token| token.end - token.start);
    for token in expected.iter().take(8).chain(longest) {
        println!("    {}", token.bytes(&text).escape_ascii());
    }
    report.sequential(|| sequential::tokens(&text));
    for device in support::devices() {
        let tokens = report.parallel(&device, &text, in_parallel)?;
        assert!(tokens == expected, "token by token");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::kernels::Kept;
    use warpfold::flagged;

    fn check(text: &str) -> Result<Vec<(u32, &str)>> {
        let tokens = support::answer(&Device::cpu(), text.as_bytes(), in_parallel)?;
        assert_eq!(tokens, sequential::tokens(text.as_bytes()), "{text:?}");
        let texts = tokens.iter().map(|token| {
            (
                token.kind,
                std::str::from_utf8(token.bytes(text.as_bytes())).unwrap(),
            )
        });
        Ok(texts.collect())
    }

    #[test]
    fn a_line_has_its_known_tokens() -> Result<()> {
        use Kind::*;
        let tokens = check(r#"let x1 = "a\"//" + 'c'; // 1.5"#)?;
        let expected = [
            (Word as u32, "let"),
            (Word as u32, "x1"),
            (Punctuation as u32, "="),
            (String as u32, r#""a\"//""#),
            (Punctuation as u32, "+"),
            (Char as u32, "'c'"),
            (Punctuation as u32, ";"),
            (Comment as u32, "// 1.5"),
        ];
        assert_eq!(tokens, expected);
        Ok(())
    }

    #[test]
    fn comments_nest_and_literals_end_where_they_end() -> Result<()> {
        use Kind::*;
        assert_eq!(
            check("/* a /* b */ c */d/*/ */e")?,
            [
                (Comment as u32, "/* a /* b */ c */"),
                (Word as u32, "d"),
                (Comment as u32, "/*/ */"),
                (Word as u32, "e")
            ]
        );
        assert_eq!(
            check(r"'\''&'a 1.5e3..0x2")?,
            [
                (Char as u32, r"'\''"),
                (Punctuation as u32, "&"),
                (Punctuation as u32, "'"),
                (Word as u32, "a"),
                (Number as u32, "1.5e3"),
                (Punctuation as u32, "."),
                (Punctuation as u32, "."),
                (Number as u32, "0x2"),
            ]
        );
        assert_eq!(
            check("\"\"\"\"")?,
            [(String as u32, "\"\""), (String as u32, "\"\"")]
        );
        Ok(())
    }

    /// Bytes that mean something, in any order, and any of them cut off.
    #[test]
    fn random_texts_have_the_tokens_of_the_sequential_lexer() -> Result<()> {
        const BYTES: &[u8] = b"/*/*\"\"''\\\n aa1.+";
        let mut random = support::random(23);
        for _ in 0..2000 {
            let length = random.next().expect("endless") % 60;
            let byte = |bits| BYTES[(bits % BYTES.len() as u64) as usize] as char;
            let text: String = random.by_ref().map(byte).take(length as usize).collect();
            check(&text)?;
        }
        Ok(())
    }

    #[test]
    fn this_file_has_the_tokens_of_the_sequential_lexer() -> Result<()> {
        assert!(check(include_str!("main.rs"))?.len() > 1000);
        Ok(())
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_operator_is_a_monoid() {
        use proptest::prelude::*;
        use warpfold::testing::assert_monoid;
        // Every number is the table of some function.
        assert_monoid::<Transition, Compose>(any::<u64>().prop_map(|table| Transition { table }));
    }

    #[test]
    fn the_kernels_compile_as_cuda() -> Result<()> {
        let device = Device::cpu();
        let classes = classes(&device, &device.upload(b"a")?)?;
        let before = device.scan::<Transition, Compose>(map::<transition, _>(&classes))?;
        support::check_scan::<Transition, Compose, _>(map::<transition, _>(&classes));
        let marks = map::<marks, _>(zip(&classes, &before));
        support::check_collect(marks);
        let marks = device.upload(&[0; 2])?;
        support::check_select::<Kept, Start, _>(starts(&marks, 1));
        let begins = device.select_flagged::<Start>(starts(&marks, 1))?;
        let tokens = map::<token, _>(zip(&begins, &begins));
        support::check_select::<Kept, Token, _>(flagged::<is_token, _>(tokens));
        Ok(())
    }
}
