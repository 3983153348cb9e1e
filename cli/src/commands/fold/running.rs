//! Scans of numbers that come in pieces.

use super::overflow::{Overflow, Steps, is_finite, note_rounding, warn_of_overflow};
use super::{Start, only};
use crate::accumulate::Accumulation;
use crate::commands::ScanForm;
use crate::failure::{Failure, Result};
use crate::number::{DType, FoldWork, Number, Operator, with_fold};
use crate::text::Values;
use warpfold::{Device, Element, Monoid, Scanner};

impl Start<'_> {
    /// A scan that has not begun.
    pub(super) fn scan(self, inclusive: bool) -> Result<Running> {
        let init = self.parse_init()?;
        let (op, dtype) = (self.op, self.accumulation.dtype);
        let form = ScanForm {
            inclusive,
            reverse: false,
        };
        let scanning = Scanning {
            device: self.device,
            init: init.clone(),
            form,
        };
        let first = || match (init.clone(), op) {
            (Some(init), _) => init,
            (None, Operator::Mul) => Values::from(vec![1_u64]),
            (None, _) => Values::from(vec![0_u64]),
        };
        Ok(Running {
            scanner: with_fold(op, dtype, scanning)?,
            steps: match (self.accumulation.checked, dtype) {
                (false, _) => None,
                (true, DType::I64) => Some(Steps::<i64>::after(op, form, first)),
                (true, _) => Some(Steps::<u64>::after(op, form, first)),
            },
            inclusive,
            finite: init.as_ref().is_none_or(is_finite),
            exact: !self.elements.is_float(),
            accumulation: self.accumulation,
            name: self.name,
        })
    }
}

/// What is compiled for each type and operator of a scan that goes on.
pub(super) trait Scan {
    /// The results for the next numbers, of the type that is folded in.
    fn scan(&mut self, values: Values) -> Result<Values>;
}

pub(super) struct OnDevice<C: Element, Op: Monoid<C>> {
    device: Device,
    scanner: Scanner<C, Op, Device>,
}

impl<C: Number, Op: Monoid<C>> Scan for OnDevice<C, Op> {
    fn scan(&mut self, values: Values) -> Result<Values> {
        let mut piece = self.device.upload_vec(values.into_vec::<C>())?;
        self.scanner.scan_in_place(&mut piece)?;
        Ok(C::to_values(piece.into_vec()?))
    }
}

/// A scan, except its operator.
pub(super) struct Scanning<'a> {
    device: &'a Device,
    init: Option<Values>,
    form: ScanForm,
}

impl FoldWork for Scanning<'_> {
    type Output = Box<dyn Scan>;

    fn run<C: Number, Op: Monoid<C>>(self) -> Result<Box<dyn Scan>> {
        let prefixes = self.form.prefixes(self.init.map(only::<C>));
        Ok(Box::new(OnDevice {
            device: self.device.clone(),
            scanner: self.device.scanner::<C, Op>(prefixes),
        }))
    }
}

/// A scan of numbers that come in pieces.
pub(super) struct Running {
    scanner: Box<dyn Scan>,
    /// Where results may not wrap.
    steps: Option<Box<dyn Overflow>>,
    inclusive: bool,
    accumulation: Accumulation,
    name: String,
    /// Whether all numbers so far are finite, and all results.
    finite: bool,
    /// Whether a result of integers may be rounded, and none was so far.
    exact: bool,
}

impl Running {
    /// The results for the next numbers, and a failure if there are fewer. `position` says where a
    /// number of these stands in the input, for messages.
    pub(super) fn push(
        &mut self,
        values: Values,
        position: &dyn Fn(usize) -> usize,
    ) -> Result<(Values, Option<Failure>)> {
        let infinite = values.first_not_finite();
        let items = self.steps.is_some().then(|| values.clone());
        let mut results = self.scanner.scan(values)?.cast(self.accumulation.dtype);
        let overflow = match (&mut self.steps, items) {
            (Some(steps), Some(items)) => steps.first(&items, &results, self.inclusive),
            _ => None,
        };
        results.truncate(overflow.unwrap_or(results.len()));
        let failure = overflow.map(|number| {
            let what = format!(
                "the result for the number at position {}, from 0,",
                position(number)
            );
            self.accumulation.overflow(&self.name, what)
        });
        self.warn_of_range(infinite, &results, position);
        self.note_first_rounding(&results, position);
        Ok((results, failure))
    }

    /// Says which result of integers is the first that a type of floats may round.
    fn note_first_rounding(&mut self, results: &Values, position: &dyn Fn(usize) -> usize) {
        let dtype = results.dtype();
        if !self.exact || !dtype.is_float() {
            return;
        }
        let most = 2_f64.powi(dtype.exact_bits() as i32);
        if let Some(place) = (0..results.len()).find(|&row| results.float(row).abs() >= most) {
            let what = format!("the result at position {}, from 0,", position(place));
            note_rounding(&self.name, what, results, place);
            self.exact = false;
        }
    }

    /// Warns of the first result that is not finite, if all numbers in it are. Of the numbers of
    /// the piece, one may be infinite.
    fn warn_of_range(
        &mut self,
        infinite: Option<usize>,
        results: &Values,
        position: &dyn Fn(usize) -> usize,
    ) {
        if !self.finite {
            return;
        }
        let numbers = infinite.map_or(results.len(), |at| at + usize::from(!self.inclusive));
        let place = results.first_not_finite().filter(|&place| place < numbers);
        if let Some(result) = place {
            let what = format!("the result at position {}, from 0,", position(result));
            warn_of_overflow(&self.name, what, results, result);
        }
        self.finite = infinite.is_none() && place.is_none();
    }
}
