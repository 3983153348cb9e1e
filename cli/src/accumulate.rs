//! The types that sums and products have.

use crate::failure::{Failure, Result};
use crate::number::{DType, Operator};
use crate::text::Values;
use clap::ValueEnum;

/// What a command with these options offers where a result is out of range.
const REMEDY: &str =
    "give --accumulate f64, which rounds, or --wrapping, which computes modulo 2^64";

/// How a fold computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accumulation {
    /// The type of the result.
    pub(crate) dtype: DType,
    /// Whether a result out of range is an error.
    pub(crate) checked: bool,
    /// What to do if it is.
    pub(crate) remedy: &'static str,
}

impl Accumulation {
    /// As NumPy has it: sums and products of integers have 64 bits, and all else has the type of
    /// the elements; unless the user says otherwise. But products of floats are `f64`: each step
    /// of a long one in `f32` is rounded, and more often down than up.
    pub(crate) fn choose(
        op: Operator,
        elements: DType,
        wanted: Option<DType>,
        wrapping: bool,
    ) -> Result<Self> {
        op.check(elements)?;
        if !matches!(op, Operator::Add | Operator::Mul) {
            if wanted.is_some_and(|wanted| wanted != elements) {
                return Err(Failure::with_remedy(
                    "--accumulate",
                    format_args!("--op {op} gives one of the elements, which are {elements}"),
                    "leave it out; it is for --op add and --op mul",
                ));
            }
            return Ok(Accumulation {
                dtype: elements,
                checked: false,
                remedy: REMEDY,
            });
        }
        let dtype = wanted.unwrap_or(match (elements.is_float(), elements.is_signed()) {
            (true, _) if op == Operator::Mul => DType::F64,
            (true, _) => elements,
            (_, true) => DType::I64,
            (_, false) => DType::U64,
        });
        if !holds(dtype, elements) {
            let able: Vec<_> = types_that_hold(elements)
                .map(|able| able.to_string())
                .collect();
            return Err(Failure::with_remedy(
                format_args!("--accumulate {dtype}"),
                format_args!("it does not hold every {elements}, which the elements are"),
                format_args!("choose one of {}", able.join(", ")),
            ));
        }
        let narrow = !dtype.is_float() && dtype.size() < 8;
        if narrow && !wrapping {
            return Err(Failure::with_remedy(
                format_args!("--accumulate {dtype}"),
                "integers of less than 64 bits wrap",
                "give --wrapping too if that is meant, or leave --accumulate out",
            ));
        }
        Ok(Accumulation {
            dtype,
            checked: !dtype.is_float() && !wrapping,
            remedy: REMEDY,
        })
    }

    /// A result out of range. `what` names it.
    pub(crate) fn overflow(self, name: &str, what: impl std::fmt::Display) -> Failure {
        Failure::with_remedy(
            name,
            format_args!("{what} is out of the range of {}", self.dtype),
            self.remedy,
        )
    }

    /// Results that are integers of 64 bits.
    pub(crate) fn values(self, results: impl IntoIterator<Item = i128>) -> Values {
        let results = results.into_iter();
        match self.dtype {
            DType::I64 => Values::from(results.map(|result| result as i64).collect::<Vec<_>>()),
            _ => Values::from(results.map(|result| result as u64).collect::<Vec<_>>()),
        }
    }

    /// Whether an integer is in the range of the results.
    pub(crate) fn fits(self, value: i128) -> bool {
        match self.dtype {
            DType::I64 => i64::try_from(value).is_ok(),
            _ => u64::try_from(value).is_ok(),
        }
    }
}

/// The types that sums and products of some elements can be had in.
pub(crate) fn types_that_hold(elements: DType) -> impl Iterator<Item = DType> {
    let all = DType::value_variants().iter().copied();
    all.filter(move |dtype| holds(*dtype, elements))
}

/// Whether sums of some elements can be had in a type: it holds each element, or, as `f64`, what is
/// nearest to an integer.
fn holds(dtype: DType, elements: DType) -> bool {
    match (dtype.is_float(), elements.is_float()) {
        (true, true) => dtype == elements || dtype.size() > elements.size(),
        (true, false) => {
            let sign = u32::from(elements.is_signed());
            dtype == DType::F64 || dtype.exact_bits() >= elements.size() as u32 * 8 - sign
        }
        (false, true) => false,
        (false, false) if dtype.is_signed() == elements.is_signed() => {
            dtype.size() >= elements.size()
        }
        (false, false) => dtype.is_signed() && dtype.size() > elements.size(),
    }
}
