//! Conditions, loops, assignments and jumps.

use super::expressions::{Place, arithmetic};
use super::literals::as_number;
use super::patterns::are_variables;
use super::refused::{LABEL, LOOP, no_reference};
use super::types::wrap;
use super::{Target, Translator, Value};
use quote::quote;
use syn::spanned::Spanned;
use syn::{
    BinOp, Error, Expr, ExprForLoop, ExprIf, ExprMatch, ExprRange, ExprWhile, Label, Lit, Pat,
    RangeLimits, Result,
};

/// Whether an expression is one whose value comes from the end of a block.
pub(super) fn has_blocks(expression: &Expr) -> bool {
    match expression {
        Expr::Paren(inner) => has_blocks(&inner.expr),
        Expr::Group(inner) => has_blocks(&inner.expr),
        expression => matches!(expression, Expr::If(_) | Expr::Match(_) | Expr::Block(_)),
    }
}

impl Translator {
    /// Computes an expression for a target; statements have none.
    pub(super) fn give_to(&mut self, expression: &mut Expr, target: &Target) -> Result<()> {
        match expression {
            Expr::Paren(inner) if has_blocks(&inner.expr) => self.give_to(&mut inner.expr, target),
            Expr::Group(inner) => self.give_to(&mut inner.expr, target),
            Expr::If(condition) => self.condition(condition, target),
            Expr::Match(arms) => self.choice(arms, target),
            Expr::Block(block) => {
                no_label(block.label.as_ref())?;
                self.block(&mut block.block, target);
                Ok(())
            }
            Expr::ForLoop(repeat) => self.for_loop(repeat),
            Expr::While(repeat) => self.while_loop(repeat),
            Expr::Loop(repeat) => Err(Error::new(repeat.loop_token.span, LOOP)),
            Expr::Assign(assignment) => {
                let value = self.value(&mut assignment.right)?;
                if let Expr::Tuple(places) = &mut *assignment.left {
                    let value = self.keep(value, "parts");
                    for (number, place) in places.elems.iter_mut().enumerate() {
                        if !matches!(place, Expr::Infer(_)) {
                            let place = self.target(place)?;
                            self.line(&place.assign(&format!("{value}._{number}")));
                        }
                    }
                    return Ok(());
                }
                if matches!(&*assignment.left, Expr::Infer(_)) {
                    return Ok(());
                }
                let (lines, place) = self.aside(|this| this.target(&mut assignment.left));
                self.assign(value, lines, &place?, |value| value)
            }
            Expr::Binary(binary) if is_assignment(&binary.op) => {
                let value = self.value(&mut binary.right)?;
                wrap(&mut binary.right, "primitive", None);
                let original = binary.left.clone();
                let (lines, place) = self.aside(|this| this.target(&mut binary.left));
                let function = arithmetic(&binary.op).expect("all that assign are arithmetic");
                let place = place?;
                self.assign(value, lines, &place, |value| {
                    format!("rust::{function}({}, {value})", place.value())
                })?;
                // Rust would also take a struct that has such an operator.
                let mut checked = *original;
                wrap(&mut checked, "primitive", None);
                let whole = expression.clone();
                *expression = Expr::Verbatim(quote!({ #checked; #whole }));
                Ok(())
            }
            Expr::Return(jump) => match &mut jump.expr {
                Some(value) => self.give_to(value, &Target::Return),
                None => Err(Error::new_spanned(
                    jump,
                    "a function that runs on a GPU must return a value",
                )),
            },
            Expr::Break(jump) => {
                if let Some(value) = &jump.expr {
                    return Err(Error::new_spanned(
                        value,
                        "a loop has no value here: assign it to a variable before the `break`",
                    ));
                }
                no_lifetime(jump.label.as_ref())?;
                self.jump("break;", jump.break_token.span)
            }
            Expr::Continue(jump) => {
                no_lifetime(jump.label.as_ref())?;
                self.jump("continue;", jump.continue_token.span)
            }
            _ => {
                let value = self.value(expression)?;
                self.give(value, target);
                Ok(())
            }
        }
    }

    /// An assignment: the value is computed first, then where it goes.
    fn assign(
        &mut self,
        value: Value,
        place_lines: String,
        place: &Place,
        stored: impl FnOnce(String) -> String,
    ) -> Result<()> {
        let text = if place_lines.is_empty() {
            value.text
        } else {
            self.keep(value, "value")
        };
        self.lines += &place_lines;
        self.line(&place.assign(&stored(text)));
        Ok(())
    }

    fn jump(&mut self, text: &str, span: proc_macro2::Span) -> Result<()> {
        if self.loops == 0 {
            return Err(Error::new(span, "this is not within a loop"));
        }
        self.line(text);
        Ok(())
    }

    fn condition(&mut self, condition: &mut ExprIf, target: &Target) -> Result<()> {
        let value = self.value(&mut condition.cond)?;
        self.braces(&format!("if ({}) ", value.text), |this| {
            this.block(&mut condition.then_branch, target)
        });
        let Some((_, otherwise)) = &mut condition.else_branch else {
            return Ok(());
        };
        // `else` on a line of its own keeps nested conditions, which may need lines before them,
        // simple.
        self.braces("else ", |this| this.give_to(otherwise, target))
    }

    fn choice(&mut self, choice: &mut ExprMatch, target: &Target) -> Result<()> {
        let value = self.value(&mut choice.expr)?;
        let value = self.keep(value, "matched");
        let count = choice.arms.len();
        let mut head = String::new();
        for (number, arm) in choice.arms.iter_mut().enumerate() {
            self.scopes.push(Vec::new());
            let (pattern, mut guard) = parts_of(&mut arm.pat);
            let (bindings, conditions) = self.aside(|this| -> Result<Vec<String>> {
                let mut conditions = Vec::from_iter(this.pattern(pattern, &value)?);
                if let Some(guard) = &mut guard {
                    let span = guard.span();
                    let (lines, guard) = this.aside(|this| this.value(guard));
                    if !lines.is_empty() {
                        return Err(Error::new(span, "this guard is too long for CUDA: compute it before the `match`, or in the arm"));
                    }
                    conditions.push(guard?.text);
                }
                Ok(conditions)
            });
            let conditions = conditions?;
            if !bindings.is_empty() && guard.is_some() {
                return Err(Error::new_spanned(
                    pattern,
                    "a name in a guarded pattern cannot be `mut`: copy it in the arm",
                ));
            }
            let is_last = number + 1 == count || conditions.is_empty();
            // Rust has made sure that the last arm takes what is left.
            if !(is_last && guard.is_none()) {
                head += &format!("if ({}) ", conditions.join(" && "));
            }
            self.braces(&head, |this| {
                for line in bindings.lines() {
                    this.line(line.trim_start());
                }
                this.give_to(&mut arm.body, target)
            })?;
            let names = are_variables(pattern);
            if !names.is_empty() {
                let body = &arm.body;
                *arm.body = Expr::Verbatim(quote!({ #names #body }));
            }
            head = "else ".to_owned();
            self.scopes.pop();
            if is_last && guard.is_none() {
                self.rest_of_arms(&mut choice.arms[number + 1..])?;
                break;
            }
        }
        Ok(())
    }

    /// Arms that are never reached. Rust warns of them; the shadow must contain them in their form.
    fn rest_of_arms(&mut self, arms: &mut [syn::Arm]) -> Result<()> {
        match arms.first() {
            Some(arm) => Err(Error::new_spanned(
                &arm.pat,
                "this is never reached: the arm before it takes every value",
            )),
            None => Ok(()),
        }
    }

    fn while_loop(&mut self, repeat: &mut ExprWhile) -> Result<()> {
        no_label(repeat.label.as_ref())?;
        self.depth += 1;
        let (lines, condition) = self.aside(|this| this.value(&mut repeat.cond));
        self.depth -= 1;
        let condition = condition?.text;
        self.loops += 1;
        if lines.is_empty() {
            self.braces(&format!("while ({condition}) "), |this| {
                this.block(&mut repeat.body, &Target::Nothing)
            });
        } else {
            self.braces("while (true) ", |this| {
                this.lines += &lines;
                this.line(&format!("if (!{condition}) break;"));
                this.block(&mut repeat.body, &Target::Nothing);
            });
        }
        self.loops -= 1;
        Ok(())
    }

    fn for_loop(&mut self, repeat: &mut ExprForLoop) -> Result<()> {
        no_label(repeat.label.as_ref())?;
        let (range, is_reversed) = range_of(&mut repeat.expr)?;
        let is_inclusive = matches!(range.limits, RangeLimits::Closed(_));
        let span = range.span();
        let (Some(start), Some(end)) = (&mut range.start, &mut range.end) else {
            return Err(Error::new(
                span,
                "a loop needs both its ends: `for i in a..b`",
            ));
        };
        // What a loop of many turns counts is as good as data: compilers do not unroll it.
        let is_fixed = self.is_fixed(start) && self.is_fixed(end) && !is_long(start, end);
        let is_short = is_fixed && literal(end).is_some();
        let values = self.values([&mut **start, &mut **end])?;
        wrap(start, "primitive", None);
        wrap(end, "primitive", None);
        let range = match (is_inclusive, is_reversed) {
            (false, false) => "Range",
            (false, true) => "RangeDown",
            (true, false) => "RangeInclusive",
            (true, true) => "RangeInclusiveDown",
        };
        let name = self.fresh("range");
        let head = format!(
            "for (rust::{range} {name}{{{}, {}}}; {name}.more(); {name}.step()) ",
            values[0].text, values[1].text
        );
        if is_short {
            // Arrays with indices that are fixed are in registers only if the loop is unrolled.
            self.line("#pragma unroll");
        }
        self.loops += 1;
        let result = self.braces(&head, |this| {
            match &*repeat.pat {
                Pat::Wild(_) => {}
                Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => {
                    let is_mutable = pattern.mutability.is_some();
                    let variable = this.declare(&pattern.ident, is_mutable);
                    let constant = if is_mutable { "" } else { "const " };
                    this.line(&format!("{constant}auto {variable} = {name}.at();"));
                    if is_fixed {
                        this.fix(&pattern.ident);
                    }
                }
                pattern => {
                    return Err(Error::new_spanned(
                        pattern,
                        "a number is not taken apart: use a plain name here",
                    ));
                }
            }
            this.block(&mut repeat.body, &Target::Nothing);
            Ok(())
        });
        self.loops -= 1;
        result
    }
}

/// Whether a range is known to be too long to unroll a loop over it. Of constants a macro does not
/// know the values.
fn is_long(start: &Expr, end: &Expr) -> bool {
    const MOST: u64 = 32;
    let begins_below_zero = matches!(start, Expr::Unary(_));
    begins_below_zero || literal(end).is_some_and(|end| end > MOST)
}

/// The value of a whole number without a sign.
fn literal(expression: &Expr) -> Option<u64> {
    match as_number(expression)?.lit {
        Lit::Int(number) => number.base10_parse().ok(),
        _ => None,
    }
}

/// The range that a loop goes over, and whether it goes backwards.
fn range_of(expression: &mut Expr) -> Result<(&mut ExprRange, bool)> {
    let wrong = match expression {
        Expr::MethodCall(call) if call.method == "step_by" => Error::new_spanned(
            &call.method,
            "`step_by` is not translated to CUDA: count the steps, `for k in 0..n { let i = start + k * step; … }`",
        ),
        Expr::Reference(reference) => no_reference(reference),
        _ => Error::new_spanned(
            &*expression,
            "loops on a GPU go over ranges of numbers: write `for i in 0..N { let x = array[i]; … }`",
        ),
    };
    match expression {
        Expr::Paren(inner) => range_of(&mut inner.expr),
        Expr::Group(inner) => range_of(&mut inner.expr),
        Expr::Range(range) => Ok((range, false)),
        Expr::MethodCall(call) => {
            if call.method != "rev" || !call.args.is_empty() {
                return Err(wrong);
            }
            range_of(&mut call.receiver).map(|(range, is_reversed)| (range, !is_reversed))
        }
        _ => Err(wrong),
    }
}

fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

/// The pattern of an arm, and the condition after its `if`.
fn parts_of(pattern: &mut Pat) -> (&Pat, Option<&mut Expr>) {
    match pattern {
        Pat::Guard(guarded) => (&guarded.pat, Some(&mut guarded.guard)),
        pattern => (pattern, None),
    }
}

fn no_label(label: Option<&Label>) -> Result<()> {
    label.map_or(Ok(()), |label| Err(Error::new_spanned(label, LABEL)))
}

fn no_lifetime(label: Option<&syn::Lifetime>) -> Result<()> {
    label.map_or(Ok(()), |label| Err(Error::new_spanned(label, LABEL)))
}
