//! Lexical analysis of a source file, of all its bytes at once.
//!
//! A lexer is a finite automaton: each byte takes it from one state to the next, and in which state
//! a byte is read depends on everything before it, such as a quotation mark a hundred lines above.
//! But a byte *is* a function from states to states, functions compose associatively, and so their
//! inclusive scan gives the state after every byte (Ladner & Fischer 1980; as a parallel lexer:
//! Hillis & Steele 1986). Whether a byte goes on with the token of the one before it shows in the
//! two states. So tokens, and the blanks between them, are the runs of the states; a select drops
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

use automaton::{is_same_token, kind, look_up, table_of};
use support::Report;
use warpfold::{Buffer, Device, Element, Result, Source, map, zip3};

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

/// A function from states to states: the table of its values.
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

/// A byte as a function, from the two bytes that follow it.
#[warpfold::function]
fn transition(byte: u8, next: u8, second: u8) -> Transition {
    let table = table_of(byte, next, second);
    Transition { table }
}

/// The state after a byte, from the function of all bytes up to it. A text begins as after a blank.
#[warpfold::function]
fn state(all: Transition) -> u32 {
    look_up(all.table, 0)
}

/// A run of states as a token.
#[warpfold::function]
fn token(first: u32, start: u64, length: u64) -> Token {
    Token {
        start: start as u32,
        end: (start + length) as u32,
        kind: kind(first),
    }
}

#[warpfold::function]
fn is_token(token: Token) -> bool {
    token.kind != 0
}

/// The tokens of `text`: a scan, its runs, and a select. There are fewer than 2^32 bytes.
fn in_parallel(device: &Device, text: &Buffer<u8>) -> Result<Buffer<Token>> {
    let bytes = padded(device, text)?;
    let states = device.inclusive_scan::<Transition, Compose>(transitions(&bytes))?;
    let runs = device.runs_by::<u32, is_same_token>(map::<state, _>(&states))?;
    let tokens = map::<token, _>(zip3(&runs.items, &runs.starts, &runs.lengths));
    device.select::<Token, is_token>(tokens)
}

/// The bytes, and two blanks.
fn padded(device: &Device, text: &Buffer<u8>) -> Result<Buffer<u8>> {
    device.concat(&[text, &device.upload(b"  ")?])
}

/// Each byte as a function. They are made where the scan needs them, in registers.
fn transitions(bytes: &Buffer<u8>) -> impl Source<Device, Item = Transition> {
    let len = bytes.len() - 2;
    let [byte, next, second] = [0, 1, 2].map(|ahead| bytes.slice(ahead..ahead + len));
    map::<transition, _>(zip3(byte, next, second))
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
    use warpfold::codegen::kernels::{Kept, RunParts};
    use warpfold::{flagged, heads_by};

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
        let bytes = padded(&device, &device.upload(b"a")?)?;
        support::check_scan::<Transition, Compose, _>(transitions(&bytes));
        let states = device.inclusive_scan::<Transition, Compose>(transitions(&bytes))?;
        let heads = heads_by::<is_same_token, _>(map::<state, _>(&states));
        support::check_select::<RunParts, u32, _>(heads);
        let numbers = device.upload(&[0_u64])?;
        let tokens = map::<token, _>(zip3(map::<state, _>(&states), &numbers, &numbers));
        support::check_select::<Kept, Token, _>(flagged::<is_token, _>(tokens));
        Ok(())
    }
}
