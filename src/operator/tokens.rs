//! The text of a translation as tokens, for what is read in it: operations that a GPU has for
//! several numbers, and costs.

/// Whether a name with its path may have such a character.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// Names with their paths, comparisons, and single characters.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            c if is_of_name(c) => rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len()),
            '<' | '>' if rest[1..].starts_with('=') => 2,
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// What a literal such as `8ull` is.
pub(super) fn number(literal: &str) -> Option<u32> {
    literal.trim_end_matches(['u', 'l']).parse().ok()
}

/// How many brackets are open after each token. Below 0 are those that were opened before.
fn open_after(tokens: &[&str]) -> impl Iterator<Item = i32> {
    tokens.iter().scan(0, |open, &token| {
        match token {
            "(" | "{" => *open += 1,
            ")" | "}" => *open -= 1,
            _ => {}
        }
        Some(*open)
    })
}

/// The place of the bracket that closes one before these tokens.
pub(super) fn closing(tokens: &[&str]) -> Option<usize> {
    open_after(tokens).position(|open| open < 0)
}

/// The place of the first token that fits, and stands in no brackets.
pub(super) fn outside(tokens: &[&str], fits: impl Fn(&str) -> bool) -> Option<usize> {
    let mut all = open_after(tokens).zip(tokens);
    all.position(|(open, token)| open == 0 && fits(token))
}

/// The first argument, and those after it.
pub(super) fn split_argument<'a, 'b>(
    arguments: &'a [&'b str],
) -> Option<(&'a [&'b str], &'a [&'b str])> {
    match outside(arguments, |token| token == ",") {
        Some(comma) => Some((&arguments[..comma], &arguments[comma + 1..])),
        None => (!arguments.is_empty()).then_some((arguments, &[])),
    }
}

/// What stands in parentheses around all of it.
pub(super) fn without_parentheses<'a, 'b>(mut tokens: &'a [&'b str]) -> &'a [&'b str] {
    while let ["(", inner @ .., ")"] = tokens
        && closing(&tokens[1..]) == Some(inner.len())
    {
        tokens = inner;
    }
    tokens
}
