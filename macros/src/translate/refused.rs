//! What is not translated, and what to write instead.

use quote::ToTokens;
use syn::visit_mut::{VisitMut, visit_block_mut, visit_signature_mut};
use syn::{Attribute, Block, Error, Expr, Lit, Macro, Result, Signature};

pub(super) const LOOP: &str = "a loop without an end in sight is not translated to CUDA: write `for i in 0..n { … }` with a `break`, or `while condition { … }`";

pub(super) const LABEL: &str = "labels are not translated to CUDA: put the inner loop into a function of its own, or set a flag";

/// Rejects what is compiled under a condition only: a macro cannot tell whether it holds.
pub(super) fn no_configuration(signature: &Signature, body: &Block) -> Result<()> {
    struct Configuration(Option<Error>);

    impl VisitMut for Configuration {
        fn visit_attribute_mut(&mut self, attribute: &mut Attribute) {
            let path = attribute.path();
            if path.is_ident("cfg") || path.is_ident("cfg_attr") {
                self.0.get_or_insert(Error::new_spanned(
                    &*attribute,
                    "`cfg` in a function that runs on a GPU is not translated: write two functions, each with its `#[cfg(…)]` before `#[function]`, or an `if cfg!(…)` outside",
                ));
            }
        }
    }

    let mut found = Configuration(None);
    visit_signature_mut(&mut found, &mut signature.clone());
    visit_block_mut(&mut found, &mut body.clone());
    found.0.map_or(Ok(()), Err)
}

pub(super) fn no_reference(tokens: &impl ToTokens) -> Error {
    Error::new_spanned(
        tokens,
        "there are no references in functions that run on a GPU: elements are small, pass and return them by value",
    )
}

pub(super) fn no_literal(literal: &Lit) -> Error {
    let message = match literal {
        Lit::Char(_) => {
            "there is no `char` on a GPU: write `b'x'` for a byte, or its code point as a `u32`"
        }
        Lit::Str(_) | Lit::ByteStr(_) | Lit::CStr(_) => {
            "there is no text on a GPU: work on bytes, `b'x'`, or on an array of them"
        }
        _ => "this literal is not translated to CUDA",
    };
    Error::new_spanned(literal, message)
}

pub(super) fn no_option(tokens: impl ToTokens) -> Error {
    Error::new_spanned(
        tokens,
        "`Option` and `Result` have no layout that a GPU shares: use a tuple `(bool, T)`, or a struct with a flag",
    )
}

pub(super) fn no_macro(makro: &Macro) -> Error {
    let name = makro
        .path
        .segments
        .last()
        .map(|segment| segment.ident.to_string())
        .unwrap_or_default();
    let advice = match name.as_str() {
        "vec" => "use a fixed array: `[x; N]`",
        "assert" | "assert_eq" | "assert_ne" | "debug_assert" | "debug_assert_eq"
        | "debug_assert_ne" | "panic" | "unreachable" | "todo" | "unimplemented" => {
            "a GPU cannot stop there: give a value that says so, such as a NaN or a flag in a struct"
        }
        "print" | "println" | "eprint" | "eprintln" | "dbg" => "a GPU has no console: remove it",
        "matches" => "write it as a `match` with `true` and `false`",
        _ => "write what it stands for, or call a function with #[warpfold::function]",
    };
    Error::new_spanned(
        makro,
        format!("`{name}!` is not translated to CUDA: {advice}"),
    )
}

/// An expression that stands where a value is wanted.
pub(super) fn not_a_value(expression: &Expr) -> Error {
    let message = match expression {
        Expr::Reference(reference) => return no_reference(reference),
        Expr::Macro(makro) => return no_macro(&makro.mac),
        Expr::Try(_) => return no_option(expression),
        Expr::Closure(_) => {
            "there are no closures on a GPU: write a function with #[warpfold::function] and call it by its name"
        }
        Expr::Let(_) => {
            "`if let` and `while let` are not translated to CUDA: use `match`, or `if` on a flag"
        }
        Expr::Range(_) => "a range can only stand in `for i in a..b`",
        Expr::Loop(_) => LOOP,
        Expr::Unsafe(_) => {
            "a function that runs on a GPU cannot be `unsafe`: nothing it can do needs it"
        }
        Expr::Async(_) | Expr::Await(_) => "a function that runs on a GPU cannot be `async`",
        Expr::Const(_) => "write a constant of its own: `const N: u32 = …;`",
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => {
            "a jump is not a value: write it as a statement of its own, in an `if` or a `match`"
        }
        Expr::Assign(_) | Expr::ForLoop(_) | Expr::While(_) => {
            "this has no value: write it as a statement of its own"
        }
        _ => "this is not translated to CUDA",
    };
    Error::new_spanned(expression, message)
}

/// What to write instead of a method that is not there.
pub(super) fn no_method(name: &str) -> String {
    let advice = match name {
        "checked_add" | "checked_sub" | "checked_mul" | "checked_div" | "checked_rem"
        | "checked_neg" | "checked_shl" | "checked_shr" | "checked_pow" => {
            "there is no `Option` on a GPU: test with `if` before, then use the `wrapping_` method"
        }
        "overflowing_add" | "overflowing_sub" | "overflowing_mul" => {
            "use the `wrapping_` method, and compare: `let sum = a.wrapping_add(b); let carry = sum < a;`"
        }
        "len" => "the length of `[T; N]` is `N`",
        "isqrt" => "of up to 32 bits write `(x as f64).sqrt() as u32`, of others a loop",
        "ilog2" => "write `T::BITS - 1 - x.leading_zeros()`",
        "is_multiple_of" => "write `x % n == 0`",
        "saturating_pow" | "saturating_neg" | "saturating_div" => {
            "compute with more bits, then `clamp`"
        }
        "to_le_bytes" | "to_be_bytes" | "to_ne_bytes" => {
            "write `(x >> (8 * i)) as u8` for byte `i`"
        }
        "to_f32" | "to_f64" => "a half is widened by `f32::from(x)`",
        "to_degrees" | "to_radians" => "multiply by a constant",
        "iter" | "into_iter" | "iter_mut" | "map" | "fold" | "sum" => {
            "go over an array by its index: `for i in 0..N { … array[i] … }`"
        }
        "unwrap" | "expect" | "unwrap_or" | "ok" | "and_then" => {
            "there is no `Option` on a GPU: use a flag in a tuple or struct"
        }
        "clone" | "to_owned" => "elements are copied: write the value itself",
        "into" | "try_into" => "write the type: `x as u32`, or `u64::from(x)`",
        "sin_cos" => "call `sin` and `cos`",
        "step_by" => "count the steps: `for k in 0..n { let i = start + k * step; … }`",
        "rev" => "only ranges of loops are reversed: `for i in (a..b).rev()`",
        "total_cmp" | "partial_cmp" | "cmp" | "eq" | "lt" | "gt" => {
            "compare with `<`, `==` and so on"
        }
        "log" => "divide two `ln`: `x.ln() / base.ln()`",
        "minimum" | "maximum" => "call `warpfold::ops::minimum(a, b)` or `maximum`",
        _ => {
            "numbers' methods are, as the documentation of `warpfold::function` lists them; for one of your own write a function with #[warpfold::function] and call it by its name"
        }
    };
    format!("`{name}` is not translated to CUDA: {advice}")
}
