//! Patterns: what they ask of a value, and what names they give to its parts.

use super::Translator;
use super::literals::{float_text, integer_text};
use super::refused::{no_literal, no_reference};
use crate::names::{cuda_member, is_constant_name};
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, Pat, RangeLimits, Result, UnOp};

impl Translator {
    /// Names the parts of a value that always has them, as in `let` and parameters. `value` is
    /// stable.
    pub(super) fn bind(&mut self, pattern: &Pat, value: &str) -> Result<()> {
        match self.pattern(pattern, value)? {
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
        match pattern {
            Pat::Wild(_) | Pat::Rest(_) => Ok(None),
            Pat::Paren(inner) => self.pattern(&inner.pat, value),
            Pat::Type(typed) => self.pattern(&typed.pat, value),
            Pat::Ident(name) => {
                if let Some(by_ref) = &name.by_ref {
                    return Err(no_reference(by_ref));
                }
                if name.subpat.is_none() && is_constant_name(&name.ident) {
                    let constant = self.constant_hole(&name.ident);
                    return Ok(Some(format!("rust::is({value}, {constant})")));
                }
                if name.mutability.is_some() {
                    let variable = self.declare(&name.ident, true);
                    self.line(&format!("auto {variable} = {value};"));
                } else {
                    self.alias(&name.ident, value.to_owned(), false);
                }
                name.subpat
                    .as_ref()
                    .map_or(Ok(None), |(_, pattern)| self.pattern(pattern, value))
            }
            Pat::Lit(literal) => {
                let literal = self.literal_in_pattern(&Expr::Lit(literal.clone()))?;
                Ok(Some(format!("rust::is({value}, {literal})")))
            }
            Pat::Path(path) => {
                let constant = self.constant_hole(path);
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
                    let names = self.scopes.last().map_or(0, |scope| scope.len());
                    let condition = self.pattern(case, value)?;
                    if self.scopes.last().map_or(0, |scope| scope.len()) != names {
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
            Pat::Tuple(tuple) => self.elements(tuple.elems.iter(), value),
            Pat::TupleStruct(tuple) => self.elements(tuple.elems.iter(), value),
            Pat::Struct(fields) => {
                let mut conditions = Vec::new();
                for field in &fields.fields {
                    let part = format!("{value}.{}", cuda_member(&field.member));
                    conditions.extend(self.pattern(&field.pat, &part)?);
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
            conditions.extend(self.pattern(element, &format!("{value}._{number}"))?);
        }
        Ok(all(conditions))
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
            }) => Ok(format!("-{}", self.literal_in_pattern(expr)?)),
            Expr::Path(path) => Ok(self.constant_hole(path)),
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
