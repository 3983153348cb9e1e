//! Expressions, each as a value in C++.

use super::literals::{as_number, integer_text, is_bare_number};
use super::refused::{no_literal, no_option, no_reference, not_a_value};
use super::types::{check_type, wrap};
use super::{Translator, Value};
use crate::names::cuda_member;
use quote::quote;
use syn::{BinOp, Error, Expr, ExprBinary, ExprIndex, ExprLit, ExprPath, Lit, Result, UnOp};

impl Translator {
    /// The value of an expression, after the lines that prepare it.
    pub(super) fn value(&mut self, expression: &mut Expr) -> Result<Value> {
        match expression {
            Expr::Paren(inner) => self.value(&mut inner.expr),
            Expr::Group(inner) => self.value(&mut inner.expr),
            Expr::Lit(literal) => {
                let literal = literal.clone();
                self.literal(&literal, false, expression)
            }
            Expr::Path(path) => {
                let value = self.path(path)?;
                // `let` takes the name of a variable, and not that of a constant.
                if let Some(ident) = path.path.get_ident().filter(|it| self.may_be_imported(it)) {
                    *expression = Expr::Verbatim(quote!({ let #ident = #ident; #ident }));
                }
                Ok(value)
            }
            Expr::Unary(unary) => {
                if let (UnOp::Neg(_), Some(literal)) = (&unary.op, as_number(&unary.expr)) {
                    return self.literal(&literal, true, expression);
                }
                let function = match unary.op {
                    UnOp::Neg(_) => "neg",
                    UnOp::Not(_) => "not_",
                    _ => return Err(no_reference(expression)),
                };
                let value = self.number(&mut unary.expr)?;
                Ok(Value::computed(format!("rust::{function}({})", value.text)))
            }
            Expr::Binary(binary) => self.binary(binary),
            Expr::Cast(cast) => {
                if matches!(&*cast.ty, syn::Type::Infer(_)) {
                    return Err(Error::new_spanned(
                        &cast.ty,
                        "say which type it becomes: `as u32`",
                    ));
                }
                check_type(&cast.ty)?;
                // A bare number takes the type that it is cast to, if it can: Rust knows.
                if is_bare_number(&cast.expr) {
                    return Ok(Value::stable(self.constant_hole(&*cast)));
                }
                let value = self.number(&mut cast.expr)?;
                let ty = self.type_hole(&cast.ty);
                Ok(Value::computed(format!("rust::cast<{ty}>({})", value.text)))
            }
            Expr::MethodCall(call) => self.method(call),
            Expr::Call(call) => self.call(call),
            Expr::Field(field) => {
                let base = self.value(&mut field.base)?;
                Ok(Value {
                    text: format!("{}.{}", base.text, cuda_member(&field.member)),
                    ..base
                })
            }
            Expr::Index(index) => {
                if matches!(&*index.index, Expr::Range(_)) {
                    return Err(Error::new_spanned(
                        &index.index,
                        "there are no slices in functions that run on a GPU: use single elements, `a[i]`",
                    ));
                }
                let is_fixed = self.is_fixed(&index.index);
                let values = self.values([&mut *index.expr, &mut *index.index])?;
                let at = index_text(&values[1].text, is_fixed);
                Ok(Value::computed(format!(
                    "rust::at({}, {at})",
                    values[0].text
                )))
            }
            Expr::Struct(_) => self.structure(expression),
            Expr::Tuple(tuple) => {
                if tuple.elems.is_empty() {
                    return Err(Error::new_spanned(tuple, "`()` is not a value on a GPU"));
                }
                let values = self.values(tuple.elems.iter_mut())?;
                Ok(Value::computed(format!("rust::tuple({})", list(&values))))
            }
            Expr::Array(array) => {
                let values = self.values(array.elems.iter_mut())?;
                let ty = self.type_of(expression);
                Ok(Value::computed(format!("{ty}{{{{{}}}}}", list(&values))))
            }
            Expr::Repeat(repeat) => {
                let value = self.value(&mut repeat.expr)?;
                let ty = self.type_of(expression);
                Ok(Value::computed(format!(
                    "rust::filled<{ty}>({})",
                    value.text
                )))
            }
            Expr::If(_) | Expr::Match(_) | Expr::Block(_) => {
                let variable = self.fresh("value");
                let target = super::Target::Variable(variable.clone());
                let (lines, result) =
                    self.aside(|this| this.in_scope(|this| this.give_to(expression, &target)));
                result?;
                let ty = self.type_of(expression);
                self.line(&format!("{ty} {variable};"));
                self.lines += &lines;
                Ok(Value::stable(variable))
            }
            _ => Err(not_a_value(expression)),
        }
    }

    /// Values of several expressions, computed from left to right.
    pub(super) fn values<'a>(
        &mut self,
        expressions: impl IntoIterator<Item = &'a mut Expr>,
    ) -> Result<Vec<Value>> {
        let mut values: Vec<Value> = Vec::new();
        for expression in expressions {
            let (lines, value) = self.aside(|this| this.value(expression));
            if !lines.is_empty() {
                // What comes before these lines must be computed before them.
                for earlier in values.iter_mut().filter(|value| !value.is_stable) {
                    let text = std::mem::take(&mut earlier.text);
                    *earlier = Value::stable(self.keep(Value::computed(text), "before"));
                }
            }
            self.lines += &lines;
            values.push(value?);
        }
        Ok(values)
    }

    /// The value of an expression that must be a number or a boolean.
    pub(super) fn number(&mut self, expression: &mut Expr) -> Result<Value> {
        let value = self.value(expression)?;
        wrap(expression, "primitive", None);
        Ok(value)
    }

    fn literal(&mut self, literal: &ExprLit, is_negative: bool, whole: &mut Expr) -> Result<Value> {
        let digits = match &literal.lit {
            Lit::Bool(bool) => return Ok(Value::stable(bool.value.to_string())),
            Lit::Int(integer) => {
                integer_text(integer)?;
                integer.base10_digits()
            }
            Lit::Byte(byte) => &byte.value().to_string(),
            Lit::Float(float) => float.base10_digits(),
            other => return Err(no_literal(other)),
        };
        let hole = self.typed_hole();
        wrap(whole, "typed", Some(&hole));
        Ok(Value::stable(self.hole(
            quote!(::warpfold::codegen::translated::literal(#hole, #is_negative, #digits)),
        )))
    }

    fn path(&mut self, path: &ExprPath) -> Result<Value> {
        if let Some(variable) = path.path.get_ident().and_then(|ident| self.variable(ident)) {
            return Ok(Value {
                text: variable.text.clone(),
                is_stable: !variable.is_mutable,
            });
        }
        match path.path.get_ident() {
            Some(ident) if ident == "None" => Err(no_option(path)),
            Some(ident) if ident == "self" => Err(Error::new_spanned(
                path,
                "a function that runs on a GPU has no `self`",
            )),
            _ => Ok(Value::stable(self.constant_hole(path))),
        }
    }

    fn binary(&mut self, binary: &mut ExprBinary) -> Result<Value> {
        let sign = match binary.op {
            BinOp::And(_) | BinOp::Or(_) => return self.short_circuit(binary),
            BinOp::Eq(_) => "==",
            BinOp::Ne(_) => "!=",
            BinOp::Lt(_) => "<",
            BinOp::Le(_) => "<=",
            BinOp::Gt(_) => ">",
            BinOp::Ge(_) => ">=",
            _ => "",
        };
        let values = self.values([&mut *binary.left, &mut *binary.right])?;
        wrap(&mut binary.left, "primitive", None);
        wrap(&mut binary.right, "primitive", None);
        let (a, b) = (&values[0].text, &values[1].text);
        // C++ compares numbers of one type as Rust does; everything else it would promote.
        if !sign.is_empty() {
            return Ok(Value::computed(format!("({a} {sign} {b})")));
        }
        let function = arithmetic(&binary.op)
            .ok_or_else(|| Error::new_spanned(binary.op, "this is not translated to CUDA"))?;
        Ok(Value::computed(format!("rust::{function}({a}, {b})")))
    }

    /// `&&` and `||`, whose right side is computed only if the left does not decide.
    fn short_circuit(&mut self, binary: &mut ExprBinary) -> Result<Value> {
        let left = self.value(&mut binary.left)?;
        let (lines, right) = self.aside(|this| {
            this.depth += 1;
            let right = this.value(&mut binary.right);
            this.depth -= 1;
            right
        });
        let right = right?;
        let (sign, goes_on) = match binary.op {
            BinOp::And(_) => ("&&", ""),
            _ => ("||", "!"),
        };
        if lines.is_empty() {
            return Ok(Value::computed(format!(
                "({} {sign} {})",
                left.text, right.text
            )));
        }
        let variable = self.fresh("value");
        self.line(&format!("bool {variable} = {};", left.text));
        self.line(&format!("if ({goes_on}{variable}) {{"));
        self.lines += &lines;
        self.line(&format!("    {variable} = {};", right.text));
        self.line("}");
        Ok(Value::stable(variable))
    }

    /// A struct: its fields one by one, in the order in which they are written.
    fn structure(&mut self, expression: &mut Expr) -> Result<Value> {
        let Expr::Struct(structure) = expression else {
            unreachable!("by the caller")
        };
        if let Some(qself) = &structure.qself {
            return Err(Error::new_spanned(
                &qself.ty,
                "name the struct by a plain path",
            ));
        }
        let mut members = Vec::new();
        let mut parts = Vec::new();
        for field in &mut structure.fields {
            members.push(cuda_member(&field.member));
            // `{ x }` stands for `{ x: x }`.
            field.colon_token.get_or_insert_default();
            parts.push(&mut field.expr);
        }
        let count = parts.len();
        parts.extend(structure.rest.as_deref_mut());
        let values = self.values(parts)?;
        let ty = self.type_of(expression);
        let variable = self.fresh("made");
        match values.get(count) {
            Some(rest) => self.line(&format!("{ty} {variable} = {};", rest.text)),
            None => self.line(&format!("{ty} {variable};")),
        }
        for (member, value) in members.iter().zip(&values) {
            self.line(&format!("{variable}.{member} = {};", value.text));
        }
        Ok(Value::stable(variable))
    }

    /// Where an assignment goes.
    pub(super) fn target(&mut self, expression: &mut Expr) -> Result<Place> {
        match expression {
            Expr::Paren(inner) => self.target(&mut inner.expr),
            Expr::Group(inner) => self.target(&mut inner.expr),
            Expr::Index(index) => {
                let (array, index) = self.element(index)?;
                Ok(Place::Element(array, index))
            }
            other => self.place(other).map(Place::Whole),
        }
    }

    /// An array that is assigned to, and an index.
    fn element(&mut self, index: &mut ExprIndex) -> Result<(String, String)> {
        let array = self.place(&mut index.expr)?;
        let is_fixed = self.is_fixed(&index.index);
        let at = self.value(&mut index.index)?;
        let at = if is_fixed {
            at.text
        } else {
            self.keep(at, "index")
        };
        Ok((array, index_text(&at, is_fixed)))
    }

    /// Whether the value of an expression is fixed when the kernel is compiled: it is made of
    /// numbers, constants, and the counters of loops between such values. So a compiler that
    /// unrolls these loops knows it.
    pub(super) fn is_fixed(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Lit(_) => true,
            Expr::Paren(inner) => self.is_fixed(&inner.expr),
            Expr::Group(inner) => self.is_fixed(&inner.expr),
            Expr::Cast(cast) => self.is_fixed(&cast.expr),
            Expr::Unary(unary) => self.is_fixed(&unary.expr),
            Expr::Binary(binary) => self.is_fixed(&binary.left) && self.is_fixed(&binary.right),
            Expr::Path(path) => {
                match path.path.get_ident().and_then(|ident| self.variable(ident)) {
                    Some(variable) => variable.is_fixed,
                    None => true,
                }
            }
            _ => false,
        }
    }

    /// What an assignment changes a part of.
    fn place(&mut self, expression: &mut Expr) -> Result<String> {
        match expression {
            Expr::Paren(inner) => self.place(&mut inner.expr),
            Expr::Group(inner) => self.place(&mut inner.expr),
            Expr::Path(path) => {
                match path.path.get_ident().and_then(|ident| self.variable(ident)) {
                    Some(variable) => Ok(variable.text.clone()),
                    None => Err(Error::new_spanned(
                        path,
                        "only variables of the function can be assigned to: a GPU has no others",
                    )),
                }
            }
            Expr::Field(field) => Ok(format!(
                "{}.{}",
                self.place(&mut field.base)?,
                cuda_member(&field.member)
            )),
            Expr::Index(index) => {
                let (array, index) = self.element(index)?;
                Ok(format!("rust::place({array}, {index})"))
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => Err(no_reference(unary)),
            _ => Err(Error::new_spanned(
                expression,
                "only variables, fields and elements of arrays can be assigned to",
            )),
        }
    }
}

/// An index as C++ has it.
fn index_text(index: &str, is_fixed: bool) -> String {
    if is_fixed {
        format!("rust::Fixed{{{index}}}")
    } else {
        index.to_owned()
    }
}

/// Where an assignment goes.
pub(super) enum Place {
    /// A variable, or a field.
    Whole(String),
    /// An array, and an index.
    Element(String, String),
}

impl Place {
    /// Its value.
    pub(super) fn value(&self) -> String {
        match self {
            Place::Whole(place) => place.clone(),
            Place::Element(array, index) => format!("rust::at({array}, {index})"),
        }
    }

    /// The statement that gives it another one.
    pub(super) fn assign(&self, value: &str) -> String {
        match self {
            Place::Whole(place) => format!("{place} = {value};"),
            Place::Element(array, index) => format!("rust::put({array}, {index}, {value});"),
        }
    }
}

/// The function of `kernels/machine/rust.cuh` for an operator, with assignment or without.
pub(super) fn arithmetic(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) | BinOp::AddAssign(_) => "add",
        BinOp::Sub(_) | BinOp::SubAssign(_) => "sub",
        BinOp::Mul(_) | BinOp::MulAssign(_) => "mul",
        BinOp::Div(_) | BinOp::DivAssign(_) => "div",
        BinOp::Rem(_) | BinOp::RemAssign(_) => "rem",
        BinOp::BitAnd(_) | BinOp::BitAndAssign(_) => "bit_and",
        BinOp::BitOr(_) | BinOp::BitOrAssign(_) => "bit_or",
        BinOp::BitXor(_) | BinOp::BitXorAssign(_) => "bit_xor",
        BinOp::Shl(_) | BinOp::ShlAssign(_) => "shl",
        BinOp::Shr(_) | BinOp::ShrAssign(_) => "shr",
        _ => return None,
    })
}

pub(super) fn list(values: &[Value]) -> String {
    let texts: Vec<_> = values.iter().map(|value| value.text.as_str()).collect();
    texts.join(", ")
}
