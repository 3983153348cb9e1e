//! Operators that give back one of their operands as it is: the later one, the one with the greater
//! key.
//!
//! Elements of parts shorter than a register are held as words (`Held` in
//! `kernels/machine/types.cuh`). A compiler that returns one of two such elements chooses part by
//! part: it takes both words apart, and puts the result together again. So the translation is read
//! here. If it returns nothing but its arguments, and changes neither, it is written a second time,
//! as a function that says which; the kernel chooses words. What is not recognised is computed as
//! it stands, with the same result. So are texts that a person wrote.

use super::tokens::{closing, tokens};
use crate::definitions::Definitions;

/// The function that says whether an operator gives back its second operand: its arguments and its
/// body. `called` is the operator's name in CUDA. `None` if it may give back anything else.
pub(super) fn takes_second(definitions: &Definitions, called: &str) -> Option<String> {
    let text = definitions.translation(called)?;
    let all = tokens(text);
    let open = all.iter().position(|&token| token == "(")?;
    let arguments = &all[open + 1..];
    let close = closing(arguments)?;
    let body = &arguments[close + 1..];
    // Before it stand two words, the type, and the operator's name.
    let (_, ty) = all[..open].split_last()?.1.split_at_checked(2)?;
    let (first, second) = (
        *arguments.get(ty.len())?,
        *arguments.get(close.checked_sub(1)?)?,
    );
    if arguments[..close] != [ty, &[first, ","], ty, &[second]].concat() {
        return None;
    }
    let is_operand = |token: &str| token == first || token == second;
    let is_kept = |(place, &token): (usize, &&str)| {
        let (before, after) = (&body[..place], &body[place + 1..]);
        let is_field = before.ends_with(&["."]);
        !is_operand(token) || is_field || is_read(before, after)
    };
    // What a lambda returns is another thing. And an element of an array in an operand may change.
    let others = ["[", "rust::put", "rust::place"];
    let has_others = body.iter().any(|token| others.contains(token));
    let gives_operands = body
        .windows(3)
        .filter(|window| window[0] == "return")
        .all(|window| is_operand(window[1]) && window[2] == ";");
    if first == second || has_others || !gives_operands || !body.iter().enumerate().all(is_kept) {
        return None;
    }
    let start = text.find('(')?;
    let answer = |text: String, (operand, answer)| {
        text.replace(&format!("return {operand};"), &format!("return {answer};"))
    };
    let answers = [(first, "false"), (second, "true")];
    let written = answers.into_iter().fold(text[start..].to_owned(), answer);
    // Every `return` was one of them.
    let count = |text: &str, what: &str| tokens(text).iter().filter(|&&t| t == what).count();
    let answered = count(&written, "false") + count(&written, "true");
    let before = count(text, "false") + count(text, "true");
    (answered - before == count(text, "return")).then_some(written)
}

/// Whether an operand between these tokens is only read: it is returned, or a part of it is used.
fn is_read(before: &[&str], after: &[&str]) -> bool {
    let is_returned = before.ends_with(&["return"]) && after.starts_with(&[";"]);
    let is_indexed = before.ends_with(&["rust::at", "("]) && after.starts_with(&[","]);
    // The fields of fields.
    let mut rest = after;
    while let [".", _, fields @ ..] = rest {
        rest = fields;
    }
    let is_assigned = match rest {
        ["=", next, ..] => *next != "=",
        [operation, "=", next, ..] => *next != "=" && "+-*/%&|^".contains(operation),
        _ => false,
    };
    let has_field = rest.len() < after.len() && !before.ends_with(&["&"]) && !is_assigned;
    is_returned || is_indexed || has_field
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written for an operator of this body, on structs.
    fn of(body: &str) -> Option<String> {
        struct Key;
        let mut definitions = Definitions::default();
        let called = definitions.define_translation::<Key>("latest", |_, name| {
            format!(
                "__device__ __forceinline__ structs::Tag \
                 {name}(structs::Tag a, structs::Tag b) {{\n{body}\n}}"
            )
        });
        takes_second(&definitions, &called)
    }

    #[test]
    fn an_operand_as_it_is() {
        let written = of("    if ((b.key >= a.key)) {\n        return b;\n    }\n    return a;");
        assert_eq!(
            written.unwrap(),
            "(structs::Tag a, structs::Tag b) {\n    if ((b.key >= a.key)) {\n        return \
             true;\n    }\n    return false;\n}"
        );
        for body in [
            "return b;",
            "if ((a.inner.key == b.inner.key)) { return a; } return b;",
            "if ((a.b > b.b)) { return a; } return b;",
            "if ((rust::at(a, rust::Fixed{0ull}) < rust::at(b, rust::Fixed{0ull}))) { return b; } \
             return a;",
        ] {
            assert!(of(body).is_some(), "{body}");
        }
    }

    /// As a user writes them.
    #[test]
    fn translations() {
        use crate::{Monoid, monoid};

        #[monoid(name = Later, identity = [0, 0])]
        fn later(a: [u8; 2], b: [u8; 2]) -> [u8; 2] {
            if b[0] >= a[0] { b } else { a }
        }
        #[monoid(name = Least, identity = [0, 0])]
        fn least(a: [u8; 2], b: [u8; 2]) -> [u8; 2] {
            [a[0].min(b[0]), a[1]]
        }
        let of = |cuda: fn(&mut Definitions) -> String| {
            let mut definitions = Definitions::default();
            let called = cuda(&mut definitions);
            takes_second(&definitions, &called)
        };
        assert!(of(<Later as Monoid<[u8; 2]>>::cuda).is_some());
        assert!(of(<Least as Monoid<[u8; 2]>>::cuda).is_none());
    }

    #[test]
    fn anything_else() {
        for body in [
            "return structs::Tag{b.key, a.a};",
            "if ((b.key >= a.key)) { return b; } return c;",
            "a.key = b.key; return a;",
            "a.key += b.key; return a;",
            "a.inner.key = b.key; return a;",
            "rust::put(a, rust::Fixed{0ull}, 1); return a;",
            "rust::put(a.inner, rust::Fixed{0ull}, 1); return a;",
            "rust::place(a.inner, rust::Fixed{0ull}).key = 1; return a;",
            "functions::change(a); return a;",
            "auto& key = &a.key; return a;",
            "const auto c = a; return b;",
            "return (b.key > a.key) ? b : a;",
            "const auto c = [&] { return b; }(); return a;",
        ] {
            assert_eq!(of(body), None, "{body}");
        }
    }
}
