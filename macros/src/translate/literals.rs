//! Numbers as they are written.

use syn::{Error, Expr, ExprLit, Lit, LitFloat, LitInt, Result, UnOp};

/// A number without sign; parentheses and what macros put around do not count.
pub(super) fn as_number(expression: &Expr) -> Option<ExprLit> {
    match expression {
        Expr::Lit(literal) if matches!(literal.lit, Lit::Int(_) | Lit::Float(_)) => {
            Some(literal.clone())
        }
        Expr::Group(inner) => as_number(&inner.expr),
        _ => None,
    }
}

/// Whether an expression is a number, with a sign or without.
pub(super) fn is_bare_number(expression: &Expr) -> bool {
    match expression {
        Expr::Paren(inner) => is_bare_number(&inner.expr),
        Expr::Group(inner) => is_bare_number(&inner.expr),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && is_bare_number(&unary.expr),
        expression => as_number(expression).is_some(),
    }
}

/// An integer as C++ writes it. In patterns the sign belongs to the literal.
pub(super) fn integer_text(integer: &LitInt) -> Result<String> {
    let (digits, is_negative) = match integer.base10_digits().strip_prefix('-') {
        Some(magnitude) => (magnitude, true),
        None => (integer.base10_digits(), false),
    };
    let Ok(magnitude) = digits.parse::<u128>() else {
        return Err(Error::new_spanned(
            integer,
            "there are no integers of more than 128 bits",
        ));
    };
    // C++ has no literals of more than 64 bits.
    let (upper, lower) = (magnitude >> 64, magnitude as u64);
    let magnitude = if upper == 0 {
        format!("{lower}ull")
    } else {
        format!("(u128({upper}ull) << 64 | {lower}ull)")
    };
    Ok(if is_negative {
        format!("rust::negative({magnitude})")
    } else {
        magnitude
    })
}

/// A float as C++ writes it. Few are not the same `f32` by way of `f64`, which rounds them twice.
pub(super) fn float_text(float: &LitFloat) -> Result<String> {
    let (single, double): (f32, f64) = (float.base10_parse()?, float.base10_parse()?);
    if double as f32 == single {
        return Ok(format!("{double:?}"));
    }
    Ok(format!("rust::FloatLiteral{{{single:?}f, {double:?}}}"))
}
