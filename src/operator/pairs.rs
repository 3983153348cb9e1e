//! Operators that are operations which a GPU has for two short numbers at once.
//!
//! A maximum of bytes may be written as `a.max(b)`, or by `if`. Its translation is read here. What
//! is not recognised is folded one by one, with the same result.

use super::tokens::{tokens, without_parentheses};
use crate::definitions::Definitions;

/// Numbers of which two fit into a register.
pub(super) const SHORT: [&str; 4] = ["u8", "i8", "u16", "i16"];

/// How `kernels/warp/pairs.cuh` calls the operation that a function is. `called` is the function's
/// name in CUDA.
pub(super) fn operation(definitions: &Definitions, called: &str) -> Option<&'static str> {
    let text = definitions.function(called)?;
    let tokens = tokens(text);
    let open = tokens.iter().position(|&token| token == "(")?;
    let [
        "(",
        first_type,
        a,
        ",",
        second_type,
        b,
        ")",
        "{",
        body @ ..,
        "}",
    ] = &tokens[open..]
    else {
        return None;
    };
    // What comes before the arguments ends in the returned type and the name.
    let returned = tokens[..open].iter().rev().nth(1)?;
    let is_short = SHORT.contains(returned) && first_type == returned && second_type == returned;
    let are_both = |x: &str, y: &str| (x == *a && y == *b) || (x == *b && y == *a);
    if !is_short {
        return None;
    }
    let built_in = |function: &str| match built_in(function) {
        // A sum must leave room for what it carries over.
        Some("ADD") if first_type.ends_with("16") => None,
        known => known,
    };
    let call = |expression: &[&str]| match without_parentheses(expression) {
        [function, "(", x, ",", y, ")"] if are_both(x, y) => {
            built_in(function).or_else(|| operation(definitions, function))
        }
        _ => None,
    };
    match body {
        ["return", expression @ .., ";"] => call(expression),
        [
            "const",
            "auto",
            name,
            "=",
            expression @ ..,
            ";",
            "return",
            result,
            ";",
        ] if name == result => call(expression),
        ["if", "(", rest @ ..] => extreme(rest, are_both),
        _ => None,
    }
}

/// Which extreme an `if` returns, of which everything behind `if (` is given. `are_both` says
/// whether two names are those of the operands.
fn extreme(rest: &[&str], are_both: impl Fn(&str, &str) -> bool) -> Option<&'static str> {
    let close = rest.iter().position(|&token| token == "{")?;
    let (condition, rest) = rest.split_at(close);
    let condition = condition.strip_suffix(&[")"])?;
    let [x, comparison, y] = without_parentheses(condition) else {
        return None;
    };
    let ([
        "{",
        "return",
        chosen,
        ";",
        "}",
        "else",
        "{",
        "return",
        other,
        ";",
        "}",
    ]
    | ["{", "return", chosen, ";", "}", "return", other, ";"]) = rest
    else {
        return None;
    };
    let greater = match *comparison {
        ">" | ">=" => x,
        "<" | "<=" => y,
        _ => return None,
    };
    let name = if chosen == greater {
        "MAXIMUM"
    } else {
        "MINIMUM"
    };
    (are_both(x, y) && are_both(chosen, other)).then_some(name)
}

/// The functions of `kernels/machine/rust.cuh`, for integers.
pub(super) fn built_in(function: &str) -> Option<&'static str> {
    Some(match function.strip_prefix("rust::")? {
        "add" | "wrapping_add" => "ADD",
        "min" | "minimum" => "MINIMUM",
        "max" | "maximum" => "MAXIMUM",
        "bit_and" => "AND",
        "bit_or" => "OR",
        "bit_xor" => "XOR",
        _ => return None,
    })
}

#[cfg(test)]
// Odd operators are written on purpose.
#[allow(
    clippy::double_parens,
    clippy::if_same_then_else,
    clippy::let_and_return
)]
mod tests {
    use super::operation;
    use crate::definitions::Definitions;
    use crate::{Element, Monoid, monoid, ops};

    fn of<T: Element, Op: Monoid<T>>() -> Option<&'static str> {
        let mut definitions = Definitions::default();
        let combine = Op::cuda(&mut definitions);
        operation(&definitions, &combine)
    }

    macro_rules! operators {
        ($($name:ident $function:ident($a:ident, $b:ident: $t:ty) $body:block)*) => {$(
            #[monoid(name = $name, identity = 0)]
            fn $function($a: $t, $b: $t) -> $t $body
        )*};
    }

    operators! {
        Method method(a, b: u8) { a.max(b) }
        Swapped swapped(a, b: i16) { b.min(a) }
        ByIf by_if(a, b: i8) { if a > b { a } else { b } }
        Early early(x, y: u16) { if y <= x { return y; } x }
        Bound bound(a, b: u8) { let c = a | b; c }
        ByCall by_call(a, b: u8) { method(a, b) }
        Parted parted(a, b: u8) { ((a & b)) }
        First first(a, b: u8) { if a > b { a } else { a } }
        Same same(a, _b: u8) { a.max(a) }
        Wide wide(a, b: u32) { a.max(b) }
        More more(a, b: u8) { a.max(b) & 7 }
        Sum sum(a, b: u8) { a.wrapping_add(b) }
        Plain plain(a, b: i8) { a + b }
        WideSum wide_sum(a, b: u16) { a.wrapping_add(b) }
        Saturating saturating(a, b: u8) { a.saturating_add(b) }
        Equal equal(a, b: u8) { if a == b { a } else { b } }
        Late late(a, b: u8) { let c = a.max(1); c.max(b) }
    }

    #[test]
    fn operations_are_recognised_however_they_are_written() {
        assert_eq!(of::<u8, Method>(), Some("MAXIMUM"));
        assert_eq!(of::<i16, Swapped>(), Some("MINIMUM"));
        assert_eq!(of::<i8, ByIf>(), Some("MAXIMUM"));
        assert_eq!(of::<u16, Early>(), Some("MINIMUM"));
        assert_eq!(of::<u8, Bound>(), Some("OR"));
        assert_eq!(of::<u8, ByCall>(), Some("MAXIMUM"));
        assert_eq!(of::<u8, Parted>(), Some("AND"));
        assert_eq!(of::<u8, Sum>(), Some("ADD"));
        assert_eq!(of::<i8, Plain>(), Some("ADD"));
        assert_eq!(of::<i8, ops::Add>(), Some("ADD"));
        assert_eq!(of::<u8, ops::Max>(), Some("MAXIMUM"));
        assert_eq!(of::<i8, ops::Min>(), Some("MINIMUM"));
        assert_eq!(of::<i16, ops::BitXor>(), Some("XOR"));
        assert_eq!(of::<u16, ops::BitOr>(), Some("OR"));
        assert_eq!(of::<u8, ops::BitAnd>(), Some("AND"));
    }

    #[test]
    fn what_is_like_an_operation_is_none() {
        assert_eq!(of::<u8, First>(), None);
        assert_eq!(of::<u8, Same>(), None);
        assert_eq!(of::<u32, Wide>(), None);
        assert_eq!(of::<u8, More>(), None);
        assert_eq!(of::<u16, WideSum>(), None);
        assert_eq!(of::<u8, Saturating>(), None);
        assert_eq!(of::<u8, Equal>(), None);
        assert_eq!(of::<u8, Late>(), None);
        assert_eq!(of::<u32, ops::Max>(), None);
        assert_eq!(of::<half::f16, ops::Max>(), None);
    }
}
