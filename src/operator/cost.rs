//! What an operator costs, estimated from its translation.
//!
//! A sum waits for memory, a logarithm for the arithmetic. Engines and policies differ in what they
//! are good at, so the tuning tables have rows for operators bound by computing.

use super::pairs::SHORT;
use super::parts;
use super::tokens::{closing, number, split_argument, tokens};
use crate::definitions::Definitions;
use crate::{Element, Monoid};
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::RwLock;

/// About how many instructions of a GPU `Op` takes to combine two elements. Older ones than compute
/// capability 9.0 take more for extremes of bytes and shorts.
///
/// The first call for an operator takes as long as to write its CUDA text; later ones look it up.
pub fn cost<T: Element, Op: Monoid<T>>() -> u32 {
    struct Of<T, Op>(std::marker::PhantomData<(T, Op)>);
    known_or_found(TypeId::of::<Of<T, Op>>(), Op::cuda)
}

/// The part of [`cost`] that is compiled once.
fn known_or_found(operator: TypeId, cuda: fn(&mut Definitions) -> String) -> u32 {
    static KNOWN: RwLock<Option<HashMap<TypeId, u32>>> = RwLock::new(None);
    let known = KNOWN.read().expect("nobody panics holding it");
    if let Some(&cost) = known.as_ref().and_then(|known| known.get(&operator)) {
        return cost;
    }
    drop(known);
    let cost = of_operator(cuda);
    let mut known = KNOWN.write().expect("nobody panics holding it");
    known.get_or_insert_default().insert(operator, cost);
    cost
}

fn of_operator(cuda: fn(&mut Definitions) -> String) -> u32 {
    let mut definitions = Definitions::default();
    let combine = cuda(&mut definitions);
    // Functions may call each other in a circle: generating a kernel will say so.
    if definitions.is_wrong() {
        return 1;
    }
    match parts::operations(&definitions, &combine) {
        Some(parts) => parts.cost(),
        None => of_function(&definitions, &combine),
    }
}

/// How often a loop runs, if its text does not say.
const SOME_TIMES: u32 = 8;
/// A call that is not inlined: it is for what rarely runs.
const CALL: u32 = 4;
/// A division, a remainder, a root, a power; more where numbers of 64 or 128 bits are made of
/// others.
const DIVISION: [u32; 3] = [16, 32, 128];
/// A division of `u32` or `i32` by a number that the text names: a compiler multiplies.
const DIVISION_BY_LITERAL: u32 = 5;
/// An element of an array in registers, at an index that depends on data.
const INDEXED_BY_DATA: u32 = 5;
/// A saturating operation of a signed type, which has two ends.
const SATURATION: u32 = 3;
/// An element of less than a register, at an index that does not.
const PART: u32 = 2;

/// The cost of a function, by the name that CUDA calls it by, with what it calls.
fn of_function(definitions: &Definitions, called: &str) -> u32 {
    // It may come from a person: an unknown function is one instruction.
    let Some(text) = definitions.function(called) else {
        return 1;
    };
    let tokens = tokens(text);
    let body = tokens.iter().position(|&token| token == "{");
    let (signature, body) = tokens.split_at(body.unwrap_or(tokens.len()));
    if signature.contains(&"__noinline__") {
        return CALL;
    }
    of_body(definitions, signature, body)
}

/// The cost of some lines of a function.
pub(super) fn of_lines(definitions: &Definitions, lines: &str) -> u32 {
    of_body(definitions, &[], &tokens(lines))
}

fn of_body(definitions: &Definitions, signature: &[&str], body: &[&str]) -> u32 {
    let division = DIVISION[doublings(body)];
    // Elements of less than a register are taken out of one, and put into one.
    let has_parts = signature
        .windows(3)
        .any(|tokens| tokens[0].ends_with("Array") && SHORT.contains(&tokens[2]));
    let element = if has_parts { PART } else { 0 };
    let is_signed = |token: &&str| ["i8", "i16", "i32", "i64"].contains(token);
    let saturation = if signature.iter().any(is_signed) {
        SATURATION
    } else {
        1
    };
    // How often each of the open blocks runs, and the next to be opened.
    let (mut times, mut next) = (vec![1u32], 1u32);
    let (mut own, mut called) = (0u32, 0u32);
    let mut place = 0;
    while let Some(&token) = body.get(place) {
        let rest = &body[place + 1..];
        place += 1;
        let now = *times.last().unwrap_or(&1);
        let cost = match token {
            "{" => {
                times.push(now.saturating_mul(next));
                next = 1;
                0
            }
            "}" => {
                times.pop();
                0
            }
            "for" | "while" => {
                next = SOME_TIMES;
                0
            }
            "rust::Range" | "rust::Fixed" => {
                if let [_, "{", from, ",", to, "}", ..] = rest
                    && let (Some(from), Some(to)) = (number(from), number(to))
                {
                    next = to.saturating_sub(from);
                }
                // Their braces are no blocks, and a compiler does their arithmetic.
                let end = rest.iter().position(|&token| token == "}");
                place += end.map_or(0, |end| end + 1);
                0
            }
            "if" | "?" => 1,
            token if token.starts_with("functions::") => {
                let cost = of_function(definitions, token).saturating_mul(now);
                called = called.saturating_add(cost);
                0
            }
            token => token.strip_prefix("rust::").map_or(0, |name| {
                built_in(name, rest, (division, element, saturation))
            }),
        };
        own = own.saturating_add(cost.saturating_mul(now));
    }
    // Two registers for each number take two instructions, roughly.
    let registers = 1 << doublings(signature);
    own.saturating_mul(registers).saturating_add(called)
}

/// How often a register's 32 bits double to those of the longest number that some code names.
fn doublings(tokens: &[&str]) -> usize {
    let has = |bits: &str| tokens.iter().any(|token| token.ends_with(bits));
    if has("128") {
        2
    } else {
        usize::from(has("64"))
    }
}

/// The cost of a function of `kernels/machine/rust.cuh`, where `rest` follows its name, and a
/// division, a known element of an array and a saturating operation have some cost.
fn built_in(name: &str, rest: &[&str], (division, element, saturation): (u32, u32, u32)) -> u32 {
    match name {
        "from_bits" | "to_bits" => 0,
        "at" if second_argument(rest) == Some("rust::Fixed") => element,
        "put" if second_argument(rest) == Some("rust::Fixed") => element.min(1),
        "at" | "put" => INDEXED_BY_DATA,
        _ if name.starts_with("saturating") => saturation,
        _ if ["div", "rem"]
            .iter()
            .any(|operation| name.contains(operation)) =>
        {
            let by_literal = |by: &str| number(by).is_some() && !by.ends_with("ll");
            if second_argument(rest).is_some_and(by_literal) {
                DIVISION_BY_LITERAL
            } else {
                division
            }
        }
        _ if ["sqrt", "recip", "pow"]
            .iter()
            .any(|operation| name.contains(operation)) =>
        {
            division
        }
        _ => 1,
    }
}

/// The first token of a call's second argument, where `rest` follows the function's name.
fn second_argument<'a>(rest: &[&'a str]) -> Option<&'a str> {
    let arguments = rest.strip_prefix(&["("])?;
    let (_, second) = split_argument(&arguments[..closing(arguments)?])?;
    second.first().copied()
}

#[cfg(test)]
mod tests {
    use super::cost;
    use crate::definitions::Definitions;
    use crate::{Monoid, monoid, ops};

    #[monoid(name = LogAdd, identity = f32::NEG_INFINITY)]
    fn log_add(a: f32, b: f32) -> f32 {
        let (more, less) = if a > b { (a, b) } else { (b, a) };
        more + (1.0 + (less - more).exp()).ln()
    }

    #[monoid(name = Compose, identity = [0, 1, 2, 3, 4, 5, 6, 7])]
    fn compose(a: [u8; 8], b: [u8; 8]) -> [u8; 8] {
        let mut both = a;
        for i in 0..8 {
            both[i] = b[(a[i] & 7) as usize];
        }
        both
    }

    #[monoid(name = Modular, identity = 1)]
    fn modular(a: u64, b: u64) -> u64 {
        a % 1_000_003 * (b % 1_000_003) % 1_000_003
    }

    /// The remainder is one of 64 bits.
    #[monoid(name = Modular32, identity = 1)]
    fn modular_32(a: u32, b: u32) -> u32 {
        (u64::from(a) * u64::from(b) % 998_244_353) as u32
    }

    /// Three divisions, and a sum.
    #[monoid(name = SumModulo, identity = 0)]
    fn sum_modulo(a: u32, b: u32) -> u32 {
        (a % 1_000_003 + b % 1_000_003) % 1_000_003
    }

    /// What divides is not known.
    #[monoid(name = Ratio, identity = 1)]
    fn ratio(a: u32, b: u32) -> u32 {
        a / (b | 1)
    }

    /// There is a product of 128 bits.
    #[monoid(name = Mersenne, identity = 1)]
    fn mersenne(a: u64, b: u64) -> u64 {
        const P: u64 = (1 << 61) - 1;
        let product = a as u128 * b as u128;
        (product as u64 & P) + (product >> 61) as u64
    }

    #[monoid(name = Sums, identity = [0.0; N])]
    fn sums<const N: usize>(mut a: [f32; N], b: [f32; N]) -> [f32; N] {
        for i in 0..N {
            a[i] += b[i];
        }
        a
    }

    /// The indices are fixed, however they are computed.
    #[monoid(name = Product, identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])]
    fn product(a: [f32; 9], b: [f32; 9]) -> [f32; 9] {
        let mut c = [0.0; 9];
        for i in 0..3 {
            let row = 3 * i;
            for j in 0..3 {
                for k in 0..3 {
                    c[row + j] += a[row + k] * b[3 * k + j];
                }
            }
        }
        c
    }

    /// Whoever writes CUDA by hand writes what they like.
    struct ByHand;

    impl Monoid<u32> for ByHand {
        fn identity() -> u32 {
            0
        }

        fn combine(a: u32, b: u32) -> u32 {
            a + b
        }

        fn cuda(definitions: &mut Definitions) -> String {
            definitions.define_function::<Self>("by_hand", |_, name| {
                format!("__device__ u32 {name}(u32 a, u32 b) {{ }} }} rust::Range {{ for rust::at(")
            })
        }
    }

    #[test]
    fn sums_are_cheap_and_logarithms_are_not() {
        assert_eq!(cost::<f32, ops::Add>(), 1);
        assert_eq!(cost::<u64, ops::Max>(), 2);
        assert!(cost::<[f32; 2], Sums>() < 10);
        assert!(cost::<u32, ByHand>() < 10);
        assert!((40..90).contains(&cost::<[u8; 8], Compose>()));
        assert!((45..60).contains(&cost::<[f32; 9], Product>()));
        assert!(cost::<u64, Modular>() > 80);
        assert!((32..48).contains(&cost::<u32, Modular32>()));
        assert!((15..20).contains(&cost::<u32, SumModulo>()));
        assert!((16..20).contains(&cost::<u32, Ratio>()));
        assert!((10..30).contains(&cost::<u64, Mersenne>()));
        // Its functions of f64 are called in turn: numbers of 64 bits count once.
        assert!((60..150).contains(&cost::<f32, LogAdd>()));
    }
}
