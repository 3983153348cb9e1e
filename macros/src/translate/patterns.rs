//! Patterns: what they ask of a value, and what names they give to its parts.

use super::literals::{as_number, float_text, integer_text};
use super::refused::{no_literal, no_reference};
use super::{Translator, located_at};
use crate::names::{cuda_member, is_constant_name};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, Pat, RangeLimits, Result, UnOp};

/// What names without anything else can be in a pattern.
#[derive(Clone, Copy, PartialEq)]
enum Names {
    /// Those of variables, and of constants.
    AnyKind,
    /// In `let` and parameters: those of variables.
    Variables,
}

/// Statements that are correct if the names of a pattern are those of variables, and not of
/// constants: `let` takes no constant's name. Only Rust knows.
pub(super) fn are_variables(pattern: &Pat) -> TokenStream {
    match pattern {
        Pat::Ident(name) if name.subpat.is_none() && is_constant_name(&name.ident) => quote!(),
        Pat::Ident(name) => {
            let ident = &name.ident;
            let inner = name
                .subpat
                .iter()
                .map(|(_, pattern)| are_variables(pattern));
            quote!({ let #ident = #ident; let _ = #ident; } #(#inner)*)
        }
        Pat::Paren(inner) => are_variables(&inner.pat),
        Pat::Type(typed) => are_variables(&typed.pat),
        Pat::Tuple(tuple) => tuple.elems.iter().map(are_variables).collect(),
        Pat::TupleStruct(tuple) => tuple.elems.iter().map(are_variables).collect(),
        Pat::Struct(fields) => {
            let patterns = fields.fields.iter().map(|field| &*field.pat);
            patterns.map(are_variables).collect()
        }
        _ => quote!(),
    }
}

impl Translator {
    /// Names the parts of a value that always has them, as in `let` and parameters. `value` is
    /// stable.
    pub(super) fn bind(&mut self, pattern: &Pat, value: &str) -> Result<()> {
        match self.pattern_of(pattern, value, Names::Variables)? {
            None => Ok(()),
            Some(_) => Err(Error::new_spanned(
                pattern,
                "this does not fit every value: use `match` or `if`",
            )),
        }
    }

    /// What must hold for `value`, which is stable, to match (`None` if nothing). Names parts on
    /// the way.
    pub(super) fn pattern(&mut self, pattern: &Pat, value: &str) -> Result<Option<String>> {
        self.pattern_of(pattern, value, Names::AnyKind)
    }

    fn pattern_of(&mut self, pattern: &Pat, value: &str, names: Names) -> Result<Option<String>> {
        match pattern {
            Pat::Wild(_) | Pat::Rest(_) => Ok(None),
            Pat::Paren(inner) => self.pattern_of(&inner.pat, value, names),
            Pat::Type(typed) => self.pattern_of(&typed.pat, value, names),
            Pat::Ident(name) => {
                if let Some(by_ref) = &name.by_ref {
                    return Err(no_reference(by_ref));
                }
                if names == Names::AnyKind && name.subpat.is_none() {
                    if is_constant_name(&name.ident) {
                        let constant = self.pattern_constant(&name.ident);
                        return Ok(Some(format!("rust::is({value}, {constant})")));
                    }
                    if name.ident.to_string().starts_with(char::is_uppercase) {
                        return Err(Error::new_spanned(
                            &name.ident,
                            "a macro cannot tell whether this is a constant or a new variable: write constants in CAPITALS, and variables in lower case",
                        ));
                    }
                }
                if name.mutability.is_some() {
                    let variable = self.declare(&name.ident, true);
                    self.line(&format!("auto {variable} = {value};"));
                } else {
                    self.alias(&name.ident, value.to_owned(), false);
                }
                name.subpat.as_ref().map_or(Ok(None), |(_, pattern)| {
                    self.pattern_of(pattern, value, names)
                })
            }
            Pat::Lit(literal) => {
                let literal = self.literal_in_pattern(&Expr::Lit(literal.clone()))?;
                Ok(Some(format!("rust::is({value}, {literal})")))
            }
            Pat::Path(path) => {
                let constant = self.pattern_constant(path);
                Ok(Some(format!("rust::is({value}, {constant})")))
            }
            Pat::Range(range) => {
                let mut conditions = Vec::new();
                if let Some(start) = &range.start {
                    conditions.push(format!(
                        "rust::at_least({value}, {})",
                        self.literal_in_pattern(start)?
                    ));
                }
                if let Some(end) = &range.end {
                    let function = match range.limits {
                        RangeLimits::HalfOpen(_) => "below",
                        RangeLimits::Closed(_) => "at_most",
                    };
                    conditions.push(format!(
                        "rust::{function}({value}, {})",
                        self.literal_in_pattern(end)?
                    ));
                }
                Ok(all(conditions))
            }
            Pat::Or(or) => {
                let mut conditions = Vec::new();
                for case in &or.cases {
                    let before = self.scopes.last().map_or(0, Vec::len);
                    let condition = self.pattern_of(case, value, names)?;
                    if self.scopes.last().map_or(0, Vec::len) != before {
                        return Err(Error::new_spanned(
                            case,
                            "alternatives that name parts are not translated to CUDA: write an arm for each, or a name before all: `x @ (… | …)`",
                        ));
                    }
                    match condition {
                        Some(condition) => conditions.push(condition),
                        None => return Ok(None),
                    }
                }
                Ok(Some(format!("({})", conditions.join(" || "))))
            }
            Pat::Tuple(tuple) => self.elements(tuple.elems.iter(), value, names),
            Pat::TupleStruct(tuple) => self.elements(tuple.elems.iter(), value, names),
            Pat::Struct(fields) => {
                let mut conditions = Vec::new();
                for field in &fields.fields {
                    let part = format!("{value}.{}", cuda_member(&field.member));
                    conditions.extend(self.pattern_of(&field.pat, &part, names)?);
                }
                Ok(all(conditions))
            }
            Pat::Reference(reference) => Err(no_reference(reference)),
            Pat::Slice(slice) => Err(Error::new_spanned(
                slice,
                "arrays are not taken apart by patterns on a GPU: use their elements, `a[0]`",
            )),
            _ => Err(Error::new_spanned(
                pattern,
                "this pattern is not translated to CUDA: use `if`",
            )),
        }
    }

    fn elements<'a>(
        &mut self,
        elements: impl ExactSizeIterator<Item = &'a Pat>,
        value: &str,
        names: Names,
    ) -> Result<Option<String>> {
        let mut conditions = Vec::new();
        let count = elements.len();
        for (number, element) in elements.enumerate() {
            if matches!(element, Pat::Rest(_)) && number + 1 < count {
                return Err(Error::new_spanned(
                    element,
                    "`..` can only stand at the end here: write a `_` for each part",
                ));
            }
            conditions.extend(self.pattern_of(element, &format!("{value}._{number}"), names)?);
        }
        Ok(all(conditions))
    }

    /// The value of a constant in a pattern, which is a number or a `bool`.
    fn pattern_constant(&mut self, constant: &impl ToTokens) -> String {
        let span = located_at(constant);
        self.hole(quote_spanned!(
            span=> ::warpfold::codegen::translated::constant_of_pattern(#constant, definitions)
        ))
    }

    /// A literal or constant of a pattern. What it is compared with gives literals their type.
    fn literal_in_pattern(&mut self, expression: &Expr) -> Result<String> {
        match expression {
            Expr::Lit(ExprLit { lit, .. }) => match lit {
                Lit::Bool(bool) => Ok(bool.value.to_string()),
                Lit::Int(integer) => integer_text(integer),
                Lit::Byte(byte) => Ok(byte.value().to_string()),
                Lit::Float(float) => Ok(float_text(float)?),
                _ => Err(no_literal(lit)),
            },
            Expr::Unary(ExprUnary {
                op: UnOp::Neg(_),
                expr,
                ..
            }) => {
                let text = self.literal_in_pattern(expr)?;
                let is_integer = as_number(expr).is_some_and(|it| matches!(it.lit, Lit::Int(_)));
                // What an unsigned literal becomes by a minus depends on its type in C++.
                Ok(if is_integer {
                    format!("rust::negative({text})")
                } else {
                    format!("-{text}")
                })
            }
            Expr::Path(path) => Ok(self.pattern_constant(path)),
            _ => Err(Error::new_spanned(
                expression,
                "this is not translated to CUDA: use a number or a constant",
            )),
        }
    }
}

fn all(conditions: Vec<String>) -> Option<String> {
    match conditions.len() {
        0 => None,
        1 => conditions.into_iter().next(),
        _ => Some(format!("({})", conditions.join(" && "))),
    }
}
