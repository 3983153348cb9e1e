//! Results that are out of the range of their type, or rounded to it: what is found, and said.

use super::only;
use crate::commands::ScanForm;
use crate::logger;
use crate::number::{DType, Number, Operator};
use crate::text::Values;
use warpfold::bytemuck;

/// Whether no number is infinite or NaN.
pub(super) fn is_finite(values: &Values) -> bool {
    values.first_not_finite().is_none()
}

/// Says that a fold of finite numbers left the range of its type on the way. What it gives then
/// depends on the bracketing: an infinity, or NaN where that meets 0 or the other infinity.
pub(in crate::commands) fn warn_of_overflow(
    name: &str,
    what: impl std::fmt::Display,
    values: &Values,
    at: usize,
) {
    let dtype = values.dtype();
    let value = values.value(at).text();
    let wider = match dtype {
        DType::F64 => "",
        _ => "; --accumulate f64 has a wider range",
    };
    logger::insist(format!(
        "{name}: {what} is {value}, and all numbers are finite: a part of the fold is out of the \
         range of {dtype}{wider}"
    ));
}

/// Says that a result of integers is beyond those that a type of floats holds all of.
pub(in crate::commands) fn note_rounding(
    name: &str,
    what: impl std::fmt::Display,
    values: &Values,
    at: usize,
) {
    let (dtype, bits) = (values.dtype(), values.dtype().exact_bits());
    if dtype.is_float() && values.float(at).abs() >= 2_f64.powi(bits as i32) {
        logger::remark(
            "note",
            format!("{name}: {what} is 2^{bits} or beyond, and rounded to {dtype}"),
        );
    }
}

/// Finds results of a scan that are out of range.
pub(super) trait Overflow {
    /// The first result of a piece that is out of range: the step to it overflowed, and none
    /// before.
    fn first(&mut self, items: &Values, results: &Values, inclusive: bool) -> Option<usize>;
}

/// The steps of a scan, each from one result to the next by one number.
pub(super) struct Steps<C> {
    op: Operator,
    /// The result before the next piece.
    before: Option<C>,
    /// The number that the first step of the next piece folds in, if it is not of that piece.
    left: Option<C>,
}

impl<C: Number> Steps<C> {
    /// The steps of a scan that starts from a number.
    pub(super) fn after(
        op: Operator,
        form: ScanForm,
        first: impl FnOnce() -> Values,
    ) -> Box<dyn Overflow> {
        Box::new(Steps {
            op,
            before: form.inclusive.then(|| only::<C>(first())),
            left: None,
        })
    }
}

impl<C: Number> Overflow for Steps<C> {
    fn first(&mut self, items: &Values, results: &Values, inclusive: bool) -> Option<usize> {
        let items: &[C] = bytemuck::cast_slice(items.bytes());
        let results: &[C] = bytemuck::cast_slice(results.bytes());
        // No step leads to the first result of an exclusive scan.
        let first = usize::from(self.before.is_none());
        let befores = self.before.iter().chain(results);
        let numbers = self.left.iter().chain(items);
        let steps = befores.zip(numbers);
        let overflowed = |(before, item): (&C, &C)| C::overflowed(self.op, *before, *item);
        let step = steps
            .take(results.len().saturating_sub(first))
            .position(overflowed);
        if !results.is_empty() {
            self.before = results.last().copied();
            self.left = items.last().copied().filter(|_| !inclusive);
        }
        step.map(|step| step + first)
    }
}
