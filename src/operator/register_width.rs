//! Operators on short integers that are extended to registers.
//!
//! A GPU computes with 32 bits. What C++ computes with 8 or 16 is extended before, and cut off
//! after, in instructions of their own. In a kernel short integers stay extended between
//! combinations (`kernels/warp/register_width.cuh`). So an operator on them is written a second
//! time, on integers that are extended already:
//!
//! - If it only adds, multiplies, and the like, the lower bits of a result depend on the lower bits
//!   of its operands alone. Then it is written for `u32`, and nothing is ever extended.
//! - Otherwise, for `rust::RegisterWidth<u8>` and so on. What it computes is extended where it may
//!   have left the type.

use super::pairs::SHORT;
use super::tokens::{closing, is_of_name, tokens};
use crate::definitions::{Definitions, FUNCTIONS, Function, REGISTER_WIDTH};

/// The functions of `kernels/machine/rust.cuh` of which lower bits depend on lower bits alone.
const OF_LOWER_BITS: [&str; 12] = [
    "add",
    "sub",
    "mul",
    "neg",
    "wrapping_add",
    "wrapping_sub",
    "wrapping_mul",
    "wrapping_neg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "not_",
];

/// An operator that was written for registers.
pub(crate) struct RegisterWidth {
    /// Its call for `a` and `b`, which are an `i32` each, as an expression that is one, too.
    pub(crate) call: String,
    /// Whether what is above the lower bits of a register does not matter.
    pub(crate) are_of_lower_bits: bool,
    /// Whether it multiplies or divides, which multiplies, too.
    pub(crate) multiplies: bool,
}

impl RegisterWidth {
    /// What the template names of it.
    pub(crate) fn variables(self) -> minijinja::Value {
        minijinja::context! {
            call => self.call,
            is_of_lower_bits => self.are_of_lower_bits.to_string(),
            multiplies => self.multiplies.to_string(),
        }
    }
}

impl Definitions {
    /// Writes the operator `called` for registers. `None` if it combines something else than short
    /// integers, or cannot be written so.
    pub(crate) fn define_register_width(&mut self, called: &str) -> Option<RegisterWidth> {
        let short = short_of(self.function(called)?)?.to_owned();
        let texts = self.texts_in_registers(called)?;
        let are_of_lower_bits = texts.iter().all(|text| is_of_lower_bits(text));
        let multiplies = texts.iter().any(|text| multiplies(text));
        // A machine adds what is not extended as fast.
        if are_of_lower_bits && !multiplies && short.ends_with("16") {
            return None;
        }
        let name = if are_of_lower_bits {
            self.write_at_register_width(called, |_| "u32".to_owned())?
        } else {
            self.extend(called)?
        };
        let call = if are_of_lower_bits {
            format!("(i32){name}((u32)a, (u32)b)")
        } else {
            let of = format!("rust::RegisterWidth<{short}>::of_word");
            format!("{name}({of}(a), {of}(b)).word")
        };
        Some(RegisterWidth {
            call,
            are_of_lower_bits,
            multiplies,
        })
    }

    /// Writes a function for integers at register width; returns the name by which CUDA calls it.
    /// `None` if it needs functions that a person wrote, or has structs or arrays: these may hold
    /// short integers as they lie in memory.
    #[doc(hidden)]
    pub fn extend(&mut self, called: &str) -> Option<String> {
        self.write_at_register_width(called, |short| format!("rust::RegisterWidth<{short}>"))
    }

    fn write_at_register_width(
        &mut self,
        called: &str,
        integer: impl Fn(&str) -> String,
    ) -> Option<String> {
        let texts = self.texts_in_registers(called)?;
        let written: Vec<_> = texts
            .iter()
            .map(|text| written_for(text, &integer))
            .collect();
        for text in written {
            if !self.register_width.contains(&text) {
                self.register_width.push(text);
            }
        }
        Some(called.replacen(FUNCTIONS, REGISTER_WIDTH, 1))
    }

    /// The texts of the functions that one needs, if they have nothing but numbers.
    fn texts_in_registers(&self, called: &str) -> Option<Vec<&str>> {
        let name = called.strip_prefix(FUNCTIONS)?.strip_prefix("::")?;
        self.needed(name)?
            .into_iter()
            .map(text_in_registers)
            .collect()
    }
}

/// The type of which a function takes two values and returns one, if these are short integers.
fn short_of(text: &str) -> Option<&str> {
    let all = tokens(text);
    let open = all.iter().position(|&token| token == "(")?;
    let arguments = &all[open + 1..];
    let arguments = &arguments[..closing(arguments)?];
    let [.., returned, _name] = &all[..open] else {
        return None;
    };
    let fits =
        matches!(arguments, [first, _, ",", second, _] if first == returned && second == returned);
    (fits && SHORT.contains(returned)).then_some(*returned)
}

/// The text of a function that has nothing but numbers, if a macro translated it.
fn text_in_registers(function: &Function) -> Option<&str> {
    let text = function.text.as_deref().filter(|_| function.translated)?;
    let is_in_memory = |token: &str| token.starts_with("structs::") || token.ends_with("Array");
    (!tokens(text).into_iter().any(is_in_memory)).then_some(text)
}

/// Whether the lower bits of what a function returns depend on those of its arguments alone.
fn is_of_lower_bits(text: &str) -> bool {
    let is_of_them = |token: &str| match token.strip_prefix("rust::") {
        Some(function) => OF_LOWER_BITS.contains(&function),
        None if token.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') => {
            let others = [
                "if", "for", "while", "u32", "i32", "u64", "i64", "u128", "i128", "f32", "f64",
                "bool",
            ];
            !others.contains(&token)
        }
        None => ["(", ")", "{", "}", ",", ";", "="].contains(&token),
    };
    let tokens = tokens(text);
    let has_comparison = tokens.windows(2).any(|two| two == ["=", "="]);
    !has_comparison && tokens.into_iter().all(is_of_them)
}

/// Whether a function takes the multipliers.
fn multiplies(text: &str) -> bool {
    let is_product = |token: &str| {
        let function = token.strip_prefix("rust::").unwrap_or_default();
        ["mul", "div", "rem", "pow"]
            .iter()
            .any(|part| function.contains(part))
    };
    tokens(text).into_iter().any(is_product)
}

/// A text with other types for short integers.
fn written_for(text: &str, integer: impl Fn(&str) -> String) -> String {
    let mut written = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let start = rest.find(is_of_name).unwrap_or(rest.len());
        let (between, after) = rest.split_at(start);
        let end = after.find(|c: char| !is_of_name(c)).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        written += between;
        match name.strip_prefix(FUNCTIONS) {
            Some(path) if path.starts_with("::") => written += &format!("{REGISTER_WIDTH}{path}"),
            _ if SHORT.contains(&name) => written += &integer(name),
            _ => written += name,
        }
        rest = after;
    }
    written
}

#[cfg(test)]
mod tests {
    use crate::definitions::Definitions;
    use crate::{Element, Monoid, monoid, ops};

    fn written<T: Element, Op: Monoid<T>>() -> Option<(String, bool, bool)> {
        let mut definitions = Definitions::default();
        let called = Op::cuda(&mut definitions);
        let written = definitions.define_register_width(&called)?;
        let flags = (written.are_of_lower_bits, written.multiplies);
        let text = definitions.text().unwrap();
        let (_, text) = text.split_once("namespace register_width {").unwrap();
        Some((text.to_owned() + &written.call, flags.0, flags.1))
    }

    #[monoid(name = Saturating, identity = 0)]
    fn saturating(a: i8, b: i8) -> i8 {
        a.saturating_add(b)
    }

    #[monoid(name = Products, identity = 1)]
    fn products(a: u16, b: u16) -> u16 {
        let product = a.wrapping_mul(b);
        product ^ 1 ^ 1
    }

    #[monoid(name = Sums, identity = 0)]
    fn sums(a: u16, b: u16) -> u16 {
        a + b
    }

    #[monoid(name = Halves, identity = 0)]
    fn halves(a: u8, b: u8) -> u8 {
        a.wrapping_add(b) >> 1
    }

    #[monoid(name = ByArray, identity = 0)]
    fn by_array(a: u8, b: u8) -> u8 {
        [a, b][1]
    }

    #[test]
    fn integers_that_may_leave_their_type_are_extended() {
        let (text, of_lower_bits, multiplies) = written::<i8, Saturating>().unwrap();
        let signature = "rust::RegisterWidth<i8> saturating(rust::RegisterWidth<i8> a, rust::RegisterWidth<i8> b)";
        assert!(
            text.contains(signature) && !of_lower_bits && !multiplies,
            "{text}"
        );
        let of = "rust::RegisterWidth<i8>::of_word";
        let call = format!("register_width::saturating({of}(a), {of}(b)).word");
        assert!(text.ends_with(&call));
        let (_, of_lower_bits, _) = written::<u8, Halves>().unwrap();
        assert!(!of_lower_bits, "a shift moves upper bits down");
    }

    #[test]
    fn of_lower_bits_nothing_is_extended() {
        let (text, of_lower_bits, multiplies) = written::<u16, Products>().unwrap();
        assert!(text.contains("u32 products(u32 a, u32 b)") && of_lower_bits && multiplies);
        assert!(text.ends_with("(i32)register_width::products((u32)a, (u32)b)"));
    }

    #[test]
    fn what_gains_nothing_or_lies_in_memory_is_not_written() {
        assert!(written::<u16, Sums>().is_none());
        assert!(written::<u8, ByArray>().is_none());
        assert!(written::<u32, ops::Add>().is_none());
    }
}
