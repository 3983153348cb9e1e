//! What `warpfold select` keeps: intervals, and what lies outside them.

use crate::args::Condition;
use crate::failure::{Failure, Result};
use crate::number::{BadNumber, DType, Number};
use warpfold::{Buffer, Device, Element, Scalar, constant, function, map, zip3};

/// Keeps the numbers from `low` to `high`. A NaN is not among them.
#[function]
pub(crate) fn within<T: Scalar>(x: T, low: T, high: T) -> (T, bool) {
    (x, low <= x && x <= high)
}

/// Keeps all other numbers, NaN too.
#[function]
pub(crate) fn outside<T: Scalar>(x: T, low: T, high: T) -> (T, bool) {
    (x, !(low <= x && x <= high))
}

/// The same for halves, which are compared as `f32`. That is exact.
pub(crate) mod f16 {
    use warpfold::function;
    use warpfold::half::f16;

    #[function]
    pub(crate) fn within(x: f16, low: f32, high: f32) -> (f16, bool) {
        (x, low <= f32::from(x) && f32::from(x) <= high)
    }

    #[function]
    pub(crate) fn outside(x: f16, low: f32, high: f32) -> (f16, bool) {
        (x, !(low <= f32::from(x) && f32::from(x) <= high))
    }
}

/// The same for bfloat16.
pub(crate) mod bf16 {
    use warpfold::function;
    use warpfold::half::bf16;

    #[function]
    pub(crate) fn within(x: bf16, low: f32, high: f32) -> (bf16, bool) {
        (x, low <= f32::from(x) && f32::from(x) <= high)
    }

    #[function]
    pub(crate) fn outside(x: bf16, low: f32, high: f32) -> (bf16, bool) {
        (x, !(low <= f32::from(x) && f32::from(x) <= high))
    }
}

/// A condition for numbers of type `T`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Kept<T: Number> {
    /// The least number of the interval.
    low: T::Bound,
    /// The greatest.
    high: T::Bound,
    /// Whether all others are kept instead.
    outside: bool,
}

impl Condition {
    /// Fails if the condition has no meaning for a type, before anything is read.
    pub(crate) fn check(&self, dtype: DType) -> Result<()> {
        for (name, given) in [("--nan", self.nan), ("--not-nan", self.not_nan)] {
            if given && !dtype.is_float() {
                return Err(Failure::with_remedy(
                    name,
                    format_args!("not defined on {dtype}: integers are never NaN"),
                    "the types it takes are f16, bf16, f32, f64",
                ));
            }
        }
        Ok(())
    }

    /// The condition in the elements' own type.
    pub(crate) fn parse<T: Number>(&self) -> Result<Kept<T>> {
        let read = |name: &str, value: &Option<String>| -> Result<Option<T::Bound>> {
            let Some(text) = value else { return Ok(None) };
            match T::parse(text.as_bytes()) {
                Ok(value) => Ok(Some(value.widen())),
                Err(bad) => {
                    let cause = bad.describe(text, T::DTYPE);
                    Err(match bad {
                        BadNumber::NotANumber => Failure::at(name, cause),
                        BadNumber::NotAnInteger => Failure::with_remedy(
                            name,
                            cause,
                            "give an integer; for text, --dtype f64 reads floats",
                        ),
                        BadNumber::OutOfRange => Failure::with_remedy(
                            name,
                            cause,
                            format_args!(
                                "give a number that {} holds; any beyond keeps all or nothing",
                                T::DTYPE
                            ),
                        ),
                    })
                }
            }
        };
        let (least, greatest) = (T::Bound::LEAST, T::Bound::GREATEST);
        let low = match read("--gt", &self.gt)? {
            Some(bound) => T::next_above(bound),
            None => Some(read("--ge", &self.ge)?.unwrap_or(least)),
        };
        let high = match read("--lt", &self.lt)? {
            Some(bound) => T::next_below(bound),
            None => Some(read("--le", &self.le)?.unwrap_or(greatest)),
        };
        // Beyond the ends of a type there is nothing to keep, and nothing is at least the greatest
        // number and at most the least.
        let (low, high) = low.zip(high).unwrap_or((greatest, least));
        let mut kept = Kept {
            low,
            high,
            outside: self.nan,
        };
        if let Some(value) = read("--eq", &self.eq)? {
            (kept.low, kept.high) = (value, value);
        }
        if let Some(value) = read("--ne", &self.ne)? {
            (kept.low, kept.high, kept.outside) = (value, value, true);
        }
        Ok(kept)
    }
}

/// The flag beside a number.
#[function]
pub(crate) fn flag<T: Element>(_x: T, flag: bool) -> bool {
    flag
}

/// Evaluates an expression with the source of the pairs of a number and whether it is kept.
macro_rules! with_flags {
    ($kept:expr, $values:expr, $flagged:ident => $result:expr) => {{
        let (kept, values) = ($kept, $values);
        let len = values.len();
        let (low, high) = (constant(kept.low, len), constant(kept.high, len));
        let source = zip3(values, low, high);
        if kept.outside {
            let $flagged = map::<T::Outside, _>(source);
            $result
        } else {
            let $flagged = map::<T::Within, _>(source);
            $result
        }
    }};
}

impl<T: Number> Kept<T> {
    /// What is NaN.
    pub(crate) fn nan() -> Kept<T> {
        Kept {
            low: T::Bound::LEAST,
            high: T::Bound::GREATEST,
            outside: true,
        }
    }

    /// The numbers that are kept.
    pub(crate) fn select(self, device: &Device, values: Vec<T>) -> Result<Vec<T>> {
        let values = &device.upload_vec(values)?;
        let kept = with_flags!(self, values, flagged => device.select_flagged::<T>(flagged))?;
        Ok(kept.into_vec()?)
    }

    /// Their positions.
    pub(crate) fn positions(self, device: &Device, values: Vec<T>) -> Result<Vec<u64>> {
        let values = &device.upload_vec(values)?;
        let positions = with_flags!(self, values, flagged => {
            device.positions(map::<flag<T>, _>(flagged))
        })?;
        Ok(positions.into_vec()?)
    }

    /// Their number.
    pub(crate) fn count(self, device: &Device, values: &Buffer<T>) -> Result<usize> {
        let count = with_flags!(self, values, flagged => {
            device.count(map::<flag<T>, _>(flagged))
        });
        Ok(count?)
    }
}
