//! Bounds and edges that a user writes. Beside integers they are exact, whatever their size.

use crate::failure::Failure;
use crate::number::{BadNumber, LONG_FLOAT, Number, with_short_exponent};

/// Up to here every integer is an `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number that integers of 64 bits are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bound {
    /// The nearest `f64`.
    pub(crate) float: f64,
    /// The greatest integer that is not above it; an end of `i128` if it is beyond that.
    floor: i128,
    /// How far it lies above that integer: less than 1, and 0 only if it is an integer.
    part: f64,
}

/// What a bound that is no number can be: a date.
pub(crate) fn bad_bound(place: &str, text: &str) -> Failure {
    let cause = format!("`{text}` is not a number");
    let mut parts = text.split(['-', '/']);
    let is_date = text.len() >= 8
        && parts.clone().count() >= 3
        && parts.all(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    match is_date {
        true => Failure::with_remedy(
            place,
            cause,
            format_args!(
                "times are integers of their unit: give numpy.datetime64('{text}', UNIT).astype(int)"
            ),
        ),
        false if text.contains(',') => Failure::with_remedy(
            place,
            cause,
            "write a point before the fraction, and nothing between thousands",
        ),
        false => Failure::at(place, cause),
    }
}

impl Bound {
    /// Reads what Rust reads as an `f64`.
    pub(crate) fn parse(text: &str) -> Result<Bound, BadNumber> {
        let short = match text.len() > LONG_FLOAT {
            true => with_short_exponent(text),
            false => text.into(),
        };
        let float: f64 = short.parse().map_err(|_| BadNumber::NotANumber)?;
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return Ok(Bound::from(float));
        }
        let (negative, digits) = match text.strip_prefix(['+', '-']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        };
        let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        // What does not fit moves the point beyond all digits in either direction.
        let exponent = exponent.parse().unwrap_or(match exponent.starts_with('-') {
            true => i64::MIN / 2,
            false => i64::MAX / 2,
        });
        let point = (whole.len() as i64).saturating_add(exponent);
        let split = point.clamp(0, digits.len() as i64) as usize;
        let (whole, fraction) = digits.split_at(split);
        let zeros = (point - split as i64).max(0);
        let mut magnitude: i128 = match whole.trim_start_matches('0') {
            "" => 0,
            whole => whole.parse().unwrap_or(i128::MAX),
        };
        if magnitude > 0 {
            let power = u32::try_from(zeros)
                .ok()
                .and_then(|n| 10_i128.checked_pow(n));
            magnitude = magnitude.saturating_mul(power.unwrap_or(i128::MAX));
        }
        let mut part = 0.0;
        if fraction.bytes().any(|digit| digit != b'0') {
            let zeros = "0".repeat((-point).clamp(0, 400) as usize);
            let near: f64 = format!("0.{zeros}{fraction}").parse().unwrap_or(0.5);
            part = near.clamp(f64::MIN_POSITIVE, 1.0_f64.next_down());
        }
        Ok(match negative {
            false => Bound {
                float,
                floor: magnitude,
                part,
            },
            true if part > 0.0 => Bound {
                float,
                floor: -magnitude - 1,
                part: (1.0 - part).clamp(f64::MIN_POSITIVE, 1.0_f64.next_down()),
            },
            true => Bound {
                float,
                floor: -magnitude,
                part,
            },
        })
    }

    /// A number of a file.
    pub(crate) fn of<T: Number>(value: T) -> Bound {
        match T::DTYPE.is_float() {
            true => Bound::from(value.to_float()),
            false => Bound::from(value.to_integer()),
        }
    }

    /// `numerator / denominator`.
    pub(crate) fn ratio(numerator: i128, denominator: i128) -> Bound {
        let floor = numerator.div_euclid(denominator);
        let part = numerator.rem_euclid(denominator) as f64 / denominator as f64;
        Bound {
            float: floor as f64 + part,
            floor,
            part,
        }
    }

    /// The least integer that is not below it.
    pub(crate) fn ceil(self) -> i128 {
        self.floor.saturating_add(i128::from(self.part > 0.0))
    }

    pub(crate) fn floor(self) -> i128 {
        self.floor
    }

    /// Its value, if it is an integer.
    pub(crate) fn integer(self) -> Option<i128> {
        (self.part == 0.0 && self.float.is_finite()).then_some(self.floor)
    }

    /// Whether it is below another. A NaN is not.
    pub(crate) fn is_below(self, other: Bound) -> bool {
        let equal = self.float == other.float;
        self.float < other.float || equal && (self.floor, self.part) < (other.floor, other.part)
    }

    /// Whether integers near it may not be `f64`s.
    pub(crate) fn is_large(self) -> bool {
        self.float.abs() >= EXACT
    }

    /// Twice its value, if that is an integer which leaves room to compute.
    pub(crate) fn doubled(self) -> Option<i128> {
        let has_room = self.float.abs() < 1e21 && (self.part == 0.0 || self.part == 0.5);
        has_room.then(|| 2 * self.floor + i128::from(self.part == 0.5))
    }

    /// The shortest text that tells it from its neighbours: of integers all digits.
    pub(crate) fn text(self) -> String {
        if !self.is_large() || self.float.abs() > 1e38 || self.float.is_nan() {
            return float_text(self.float);
        }
        let (whole, part) = match self.floor < 0 && self.part > 0.0 {
            true => (self.floor + 1, 1.0 - self.part),
            false => (self.floor, self.part),
        };
        match part > 0.0 {
            true => format!("{whole}{}", part.to_string().trim_start_matches('0')),
            false => whole.to_string(),
        }
    }
}

impl From<i128> for Bound {
    fn from(value: i128) -> Bound {
        Bound {
            float: value as f64,
            floor: value,
            part: 0.0,
        }
    }
}

impl From<f64> for Bound {
    fn from(float: f64) -> Bound {
        let floor = float.floor();
        let part = match float.is_finite() {
            true => (float - floor).min(1.0_f64.next_down()),
            false => 0.0,
        };
        Bound {
            float,
            floor: floor as i128,
            part,
        }
    }
}

/// A float in the shortest text, with an exponent where there would be many zeros.
pub(crate) fn float_text(value: f64) -> String {
    match value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs()) {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> (i128, i128) {
        let bound = Bound::parse(text).unwrap();
        (bound.floor(), bound.ceil())
    }

    #[test]
    fn integers_around_a_decimal_are_exact() {
        for (text, floor, ceil) in [
            (
                "9007199254740993",
                9_007_199_254_740_993,
                9_007_199_254_740_993,
            ),
            (
                "9007199254740993.0",
                9_007_199_254_740_993,
                9_007_199_254_740_993,
            ),
            (
                "9007199254740993.25",
                9_007_199_254_740_993,
                9_007_199_254_740_994,
            ),
            (
                "-9007199254740993.25",
                -9_007_199_254_740_994,
                -9_007_199_254_740_993,
            ),
            ("18446744073709551615", u64::MAX.into(), u64::MAX.into()),
            ("1.8446744073709551615e19", u64::MAX.into(), u64::MAX.into()),
            (
                "900719925474099.3e1",
                9_007_199_254_740_993,
                9_007_199_254_740_993,
            ),
            ("-.5", -1, 0),
            ("-1e-3", -1, 0),
            ("1e-400", 0, 1),
            ("-1e-400", -1, 0),
            ("0e99999999999999999999", 0, 0),
            ("-0", 0, 0),
            ("+12.50e1", 125, 125),
            ("00012e-1", 1, 2),
        ] {
            assert_eq!(ends(text), (floor, ceil), "{text}");
        }
        assert_eq!(ends("1e300"), (i128::MAX, i128::MAX));
        assert_eq!(ends("-inf").0, i128::MIN);
        assert_eq!(Bound::parse("1,5"), Err(BadNumber::NotANumber));
    }

    #[test]
    fn texts_are_short_and_exact() {
        for text in [
            "0.1",
            "-3",
            "9007199254740993",
            "-9007199254740993.5",
            "1e300",
            "1e-9",
            "inf",
            "-inf",
            "18446744073709551615",
            "100000",
        ] {
            assert_eq!(Bound::parse(text).unwrap().text(), text);
        }
        assert_eq!(
            Bound::ratio(2 * 9_007_199_254_740_993 + 1, 2).text(),
            "9007199254740993.5"
        );
    }

    proptest::proptest! {
        #[test]
        fn every_integer_reads_as_itself(value: i64, zeros in 0..4_usize) {
            let text = format!("{value}.{}", "0".repeat(zeros));
            proptest::prop_assert_eq!(Bound::parse(&text).unwrap().integer(), Some(value.into()));
        }

        #[test]
        fn order_is_that_of_numbers(a: f64, b: f64) {
            proptest::prop_assert_eq!(Bound::from(a).is_below(Bound::from(b)), a < b);
        }
    }
}
