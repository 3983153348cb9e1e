//! What `warpfold select` keeps: intervals, and what lies outside them.

use crate::args::Condition;
use crate::bound::{Bound, bad_bound};
use crate::failure::Result;
use crate::number::{BadNumber, Number};
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

/// Where a bound lies among the numbers of a type of floats.
enum Place<B> {
    At(B),
    /// Above all but infinity.
    Above,
    /// Below all but infinity.
    Below,
}

impl Condition {
    /// The condition in the elements' own type.
    pub(crate) fn parse<T: Number>(&self) -> Result<Kept<T>> {
        let (least, greatest) = (T::Bound::LEAST, T::Bound::GREATEST);
        if !T::DTYPE.is_float() {
            // An integer is never NaN.
            let (nothing, everything) = ((greatest, least), (least, greatest));
            if self.nan || self.not_nan {
                let (low, high) = if self.nan { nothing } else { everything };
                return Ok(Kept {
                    low,
                    high,
                    outside: false,
                });
            }
            let ends = (least.to_integer(), greatest.to_integer());
            let (interval, outside) = self.integers(ends)?;
            let (low, high) = interval.unwrap_or((ends.1, ends.0));
            return Ok(Kept {
                low: T::Bound::from_integer(low),
                high: T::Bound::from_integer(high),
                outside,
            });
        }
        let read = |name: &str, value: &Option<String>| -> Result<Option<Place<T::Bound>>> {
            let Some(text) = value else { return Ok(None) };
            match T::parse(text.as_bytes()) {
                Ok(value) => Ok(Some(Place::At(value.widen()))),
                Err(BadNumber::OutOfRange) if text.starts_with('-') => Ok(Some(Place::Below)),
                Err(BadNumber::OutOfRange) => Ok(Some(Place::Above)),
                Err(_) => Err(bad_bound(name, text)),
            }
        };
        let low = match (read("--gt", &self.gt)?, read("--ge", &self.ge)?) {
            (Some(Place::At(bound)), _) => T::next_above(bound),
            (None, Some(Place::At(bound))) => Some(bound),
            (Some(Place::Above), _) | (_, Some(Place::Above)) => Some(greatest),
            (Some(Place::Below), _) | (_, Some(Place::Below)) => T::next_above(least),
            (None, None) => Some(least),
        };
        let high = match (read("--lt", &self.lt)?, read("--le", &self.le)?) {
            (Some(Place::At(bound)), _) => T::next_below(bound),
            (None, Some(Place::At(bound))) => Some(bound),
            (Some(Place::Above), _) | (_, Some(Place::Above)) => T::next_below(greatest),
            (Some(Place::Below), _) | (_, Some(Place::Below)) => Some(least),
            (None, None) => Some(greatest),
        };
        // Nothing is at least the greatest number and at most the least.
        let nothing = (greatest, least);
        let (low, high) = low.zip(high).unwrap_or(nothing);
        let mut kept = Kept {
            low,
            high,
            outside: self.nan,
        };
        let only = |place| match place {
            Place::At(value) => (value, value),
            Place::Above | Place::Below => nothing,
        };
        if let Some(value) = read("--eq", &self.eq)? {
            (kept.low, kept.high) = only(value);
        }
        if let Some(value) = read("--ne", &self.ne)? {
            (kept.low, kept.high) = only(value);
            kept.outside = true;
        }
        Ok(kept)
    }

    /// The least and the greatest integer that are kept, if any is, of those between two; and
    /// whether all others are kept instead. A bound may be any number: it is compared exactly.
    fn integers(&self, (least, greatest): (i128, i128)) -> Result<(Option<(i128, i128)>, bool)> {
        let read = |name: &str, value: &Option<String>| -> Result<Option<Bound>> {
            let Some(text) = value else { return Ok(None) };
            let bound = Bound::parse(text).map_err(|_| bad_bound(name, text))?;
            Ok(Some(bound))
        };
        let only = |value: Bound| {
            let value = value.integer();
            value.filter(|value| (least..=greatest).contains(value))
        };
        if let Some(value) = read("--eq", &self.eq)? {
            return Ok((only(value).map(|value| (value, value)), false));
        }
        if let Some(value) = read("--ne", &self.ne)? {
            return Ok((only(value).map(|value| (value, value)), true));
        }
        let bounds = [
            (read("--gt", &self.gt)?, 1),
            (read("--ge", &self.ge)?, 0),
            (read("--lt", &self.lt)?, -1),
            (read("--le", &self.le)?, 0),
        ];
        let (mut low, mut high) = (least, greatest);
        for (position, (bound, step)) in bounds.into_iter().enumerate() {
            let Some(bound) = bound else { continue };
            if bound.float.is_nan() {
                return Ok((None, false));
            }
            match (position < 2, step == 0) {
                (true, false) => low = low.max(bound.floor().saturating_add(1)),
                (true, true) => low = low.max(bound.ceil()),
                (false, false) => high = high.min(bound.ceil().saturating_sub(1)),
                (false, true) => high = high.min(bound.floor()),
            }
        }
        Ok(((low <= high).then_some((low, high)), false))
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
