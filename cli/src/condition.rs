//! What `warpfold select` keeps: intervals, and what lies outside them.

use crate::args::Condition;
use crate::bound::{Bound, bad_bound};
use crate::failure::Result;
use crate::number::{BadNumber, Number};
use std::cmp::Ordering;
use warpfold::codegen::kernels::Bits;
use warpfold::{Device, Function, Order, Scalar, flagged_with, function, map_with};

/// Declares, for unsigned integers of a width, whether the number that has these bits is kept:
/// whether its rank lies in a stretch of the ring of all ranks. Ranks grow as numbers do, and those
/// of NaN lie beyond the infinities.
macro_rules! widths {
    ($($kept:ident: $bits:ident as $signed:ident;)*) => {$(
        #[function]
        pub(crate) fn $kept(x: $bits, by: [$bits; 5]) -> bool {
            let bits = if x == by[0] { 0 } else { x };
            let negative = (bits as $signed >> ($bits::BITS - 1)) as $bits;
            let rank = bits ^ (negative & by[1] | by[2]);
            rank.wrapping_sub(by[3]) <= by[4]
        }

        impl Width for $bits {
            type Kept = $kept;
        }
    )*};
}

/// The bits of numbers. What keeps numbers is compiled for each width alone.
pub(crate) trait Width: Bits {
    type Kept: Function<Input = (Self, [Self; 5]), Output = bool>;
}

widths! {
    kept_u8: u8 as i8;
    kept_u16: u16 as i16;
    kept_u32: u32 as i32;
    kept_u64: u64 as i64;
}

/// A condition for numbers of type `T`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval<T: Number> {
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
    pub(crate) fn parse<T: Number>(&self) -> Result<Interval<T>> {
        let (least, greatest) = (T::Bound::LEAST, T::Bound::GREATEST);
        if !T::DTYPE.is_float() {
            // An integer is never NaN.
            let (nothing, everything) = ((greatest, least), (least, greatest));
            if self.nan || self.not_nan {
                let (low, high) = if self.nan { nothing } else { everything };
                return Ok(Interval {
                    low,
                    high,
                    outside: false,
                });
            }
            let ends = (least.to_integer(), greatest.to_integer());
            let (interval, outside) = self.integers(ends)?;
            let (low, high) = interval.unwrap_or((ends.1, ends.0));
            return Ok(Interval {
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
        let mut kept = Interval {
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

/// What is kept of the numbers of a type, as bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kept<B> {
    Nothing,
    /// What counts as 0 beside 0, and how bits become ranks; the first rank, and how many follow.
    Ranks([B; 5]),
}

impl<T: Number> Interval<T> {
    /// What the interval keeps, by the ranks of bits.
    pub(crate) fn ranks(self) -> Kept<T::Bits> {
        let map = T::key_map(Order::ascending());
        let all = T::Bits::of_wide(u128::MAX).wide();
        // Of halves the bounds may lie between two.
        let (low, high) = (T::narrow(self.low), T::narrow(self.high));
        let first = map.rank(low).wide() + u128::from(low.widen() < self.low);
        let end = map.rank(high).wide() + 1 - u128::from(high.widen() > self.high);
        let rises = self.low.partial_cmp(&self.high);
        let is_nothing = rises.is_none_or(Ordering::is_gt) || end <= first;
        let (first, count) = match (is_nothing, self.outside) {
            (true, false) => return Kept::Nothing,
            (true, true) => (0, all + 1),
            (false, false) => (first, end - first),
            (false, true) => (end, all + 1 - (end - first)),
        };
        if count == 0 {
            return Kept::Nothing;
        }
        let sign = all ^ all >> 1;
        let (zero, float, flip) = match (T::DTYPE.is_float(), T::DTYPE.is_signed()) {
            (true, _) => (sign, all, sign),
            (false, true) => (0, 0, sign),
            (false, false) => (0, 0, 0),
        };
        Kept::Ranks([zero, float, flip, first & all, count - 1].map(T::Bits::of_wide))
    }
}

impl<B: Width> Kept<B> {
    /// The numbers that are kept.
    pub(crate) fn select(self, device: &Device, values: Vec<B>) -> Result<Vec<B>> {
        let Kept::Ranks(by) = self else {
            return Ok(Vec::new());
        };
        let values = device.upload_vec(values)?;
        let kept = device.select_flagged(flagged_with::<B::Kept, _, _>(&values, by))?;
        Ok(kept.into_vec()?)
    }

    /// Their positions.
    pub(crate) fn positions(self, device: &Device, values: Vec<B>) -> Result<Vec<u64>> {
        let Kept::Ranks(by) = self else {
            return Ok(Vec::new());
        };
        let values = device.upload_vec(values)?;
        let positions = device.positions(map_with::<B::Kept, _, _>(&values, by))?;
        Ok(positions.into_vec()?)
    }
}
