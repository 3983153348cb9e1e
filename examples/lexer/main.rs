//! Lexical analysis of a source file, of all its bytes at once.
//!
//! A lexer is a finite automaton: each byte takes it from one state to the next, and in which state
//! a byte is read depends on everything before it, such as a quotation mark a hundred lines above.
//! But a byte *is* a function from states to states, functions compose associatively, and so their
//! inclusive scan gives the state after every byte (Ladner & Fischer 1980; as a parallel lexer:
//! Hillis & Steele 1986). Where a token begins and ends shows in two neighbouring states, and a
//! second scan, of a count, gives each token its place in the result.
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

use automaton::State;
use support::Report;
use warpfold::{Device, Element, Result, ops::Add};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Word,
    Number,
    String,
    Char,
    Comment,
    Punctuation,
}

/// The bytes from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
}

/// A function from states to states: the table of its values, four bits each, the first state's
/// lowest.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Transition {
    table: u64,
}

/// The state after `state`.
#[warpfold::function]
fn next(transition: Transition, state: u32) -> u32 {
    (transition.table >> (4 * state)) as u32 & 15
}

/// First one function, `then` the other.
#[warpfold::monoid(identity = Transition { table: 0xfedc_ba98_7654_3210 }, exact)]
fn compose(first: Transition, then: Transition) -> Transition {
    let mut table = 0;
    for state in 0..16 {
        table |= (next(then, next(first, state)) as u64) << (4 * state);
    }
    Transition { table }
}

/// The tokens of `text`, by two scans.
fn in_parallel(device: &Device, text: &[u8]) -> Result<Vec<Token>> {
    let states = states(device, text)?;
    let state = |i: usize| states.get(i).copied().unwrap_or(State::Space);
    let before = |i: usize| i.checked_sub(1).map_or(State::Space, state);
    let starts = |i| automaton::begins_token(before(i), state(i));
    let ends = |i| state(i) != State::Space && !automaton::continues_token(state(i), state(i + 1));

    let counts = (0..text.len()).map(|i| u32::from(starts(i))).collect();
    let counts = device.upload_vec(counts)?;
    let numbers = device.inclusive_scan::<u32, Add>(&counts)?.into_vec()?;

    let count = numbers.last().map_or(0, |&count| count as usize);
    let mut tokens = vec![
        Token {
            kind: Kind::Word,
            start: 0,
            end: 0
        };
        count
    ];
    for (i, number) in numbers.into_iter().enumerate() {
        // The number of tokens that have begun, this one included.
        let token = (number as usize).wrapping_sub(1);
        if starts(i) {
            tokens[token].kind = state(i).kind().expect("a token begins here");
            tokens[token].start = i;
        }
        if ends(i) {
            tokens[token].end = i + 1;
        }
    }
    Ok(tokens)
}

/// The state after each byte.
fn states(device: &Device, text: &[u8]) -> Result<Vec<State>> {
    let transitions = device.upload_vec(transitions(text))?;
    let transitions = device
        .inclusive_scan::<Transition, Compose>(&transitions)?
        .into_vec()?;
    let after = |all: &Transition| State::ALL[next(*all, State::Space as u32) as usize];
    Ok(transitions.iter().map(after).collect())
}

/// Each byte as a function.
fn transitions(text: &[u8]) -> Vec<Transition> {
    let tables = automaton::Class::ALL.map(|class| {
        let value = |state| (automaton::step(state, class) as u64) << (4 * state as u32);
        let table = State::ALL.into_iter().map(value).sum();
        Transition { table }
    });
    (0..text.len())
        .map(|i| tables[automaton::classify(text, i) as usize])
        .collect()
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
        let bytes = &text[token.start..token.end];
        println!(
            "    {:<12} {}",
            format!("{:?}", token.kind),
            String::from_utf8_lossy(bytes)
        );
    }
    report.sequential(|| sequential::tokens(&text));
    for device in support::devices() {
        assert!(in_parallel(&device, &text)? == expected, "token by token");
        report.whole(&device, || in_parallel(&device, &text))?;
        report.scan::<Transition, Compose>(&device, &transitions(&text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::Primitive;

    fn check(text: &str) -> Result<Vec<(Kind, &str)>> {
        let tokens = in_parallel(&Device::cpu(), text.as_bytes())?;
        assert_eq!(tokens, sequential::tokens(text.as_bytes()), "{text:?}");
        let texts = tokens
            .iter()
            .map(|token| (token.kind, &text[token.start..token.end]));
        Ok(texts.collect())
    }

    #[test]
    fn a_line_has_its_known_tokens() -> Result<()> {
        use Kind::*;
        let tokens = check(r#"let x1 = "a\"//" + 'c'; // 1.5"#)?;
        let expected = [
            (Word, "let"),
            (Word, "x1"),
            (Punctuation, "="),
            (String, r#""a\"//""#),
            (Punctuation, "+"),
            (Char, "'c'"),
            (Punctuation, ";"),
            (Comment, "// 1.5"),
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
                (Comment, "/* a /* b */ c */"),
                (Word, "d"),
                (Comment, "/*/ */"),
                (Word, "e")
            ]
        );
        assert_eq!(
            check(r"'\''&'a 1.5e3..0x2")?,
            [
                (Char, r"'\''"),
                (Punctuation, "&"),
                (Punctuation, "'"),
                (Word, "a"),
                (Number, "1.5e3"),
                (Punctuation, "."),
                (Punctuation, "."),
                (Number, "0x2"),
            ]
        );
        assert_eq!(check("\"\"\"\"")?, [(String, "\"\""), (String, "\"\"")]);
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
    fn the_operator_compiles_as_cuda() {
        support::check_cuda::<Transition, Compose>(Primitive::Scan);
    }
}
