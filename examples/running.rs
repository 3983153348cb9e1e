//! Running extremes, and a running logarithm of a sum of exponentials, of a real signal.
//!
//! The range of everything so far is the scan of (min, max). The range since the last January is a
//! scan, too, of pairs of a flag and a range: a range with a flag forgets what came before it. That
//! makes a segmented scan of any operator (Blelloch 1990, section 1.5).
//!
//! The smooth kin of the largest number so far is ln(e^x₁ + e^x₂ + …), the *log-add-exp*. It sums
//! probabilities that are kept as logarithms, and is the normaliser of a softmax. It overflows
//! where it is computed as it is written: e^330 is out of range for `f32`. So an element keeps its
//! largest exponent apart from a sum that is relative to it (Blanchard, Higham & Higham 2021; as a
//! running pair: Milakov & Gimelshein 2018).
//!
//! `cargo run --release --example running`

mod support;

use support::Report;
use warpfold::{Buffer, Device, Element, Result, Source, index, map, zip};

/// Everything so far lies between these.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Range {
    low: f32,
    high: f32,
}

/// The range of both.
#[warpfold::monoid(identity = Range { low: f32::INFINITY, high: f32::NEG_INFINITY }, commutative)]
fn hull(a: Range, b: Range) -> Range {
    Range {
        low: if b.low < a.low { b.low } else { a.low },
        high: if b.high > a.high { b.high } else { a.high },
    }
}

/// A range, and 1 if a year begins in it: then it is the range since then.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Since {
    begins: u32,
    range: Range,
}

const NOTHING: Since = Since {
    begins: 0,
    range: Range {
        low: f32::INFINITY,
        high: f32::NEG_INFINITY,
    },
};

/// The range of both, unless a year begins in `b`.
#[warpfold::monoid(identity = NOTHING, exact)]
fn hull_since(a: Since, b: Since) -> Since {
    if b.begins != 0 {
        b
    } else {
        Since {
            begins: a.begins,
            range: hull(a.range, b.range),
        }
    }
}

/// The number e^`exponent` · `sum`.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Scaled {
    exponent: f32,
    sum: f32,
}

/// The sum of both, relative to the larger exponent, so that no power of e is above 1.
// The least finite number stands for −∞ in the identity: ∞ − ∞ would be no number.
#[warpfold::monoid(identity = Scaled { exponent: f32::MIN, sum: 0.0 })]
fn log_add_exp(a: Scaled, b: Scaled) -> Scaled {
    if a.exponent > b.exponent {
        Scaled {
            exponent: a.exponent,
            sum: a.sum + b.sum * (b.exponent - a.exponent).exp(),
        }
    } else {
        Scaled {
            exponent: b.exponent,
            sum: a.sum * (a.exponent - b.exponent).exp() + b.sum,
        }
    }
}

impl Scaled {
    /// The logarithm, in a precision in which the two parts show as they are.
    fn ln(self) -> f64 {
        f64::from(self.exponent) + f64::from(self.sum).ln()
    }
}

/// A sample as a range.
#[warpfold::function]
fn point(x: f32) -> Range {
    Range { low: x, high: x }
}

/// The sample of a month as a range. Month 0 is a January.
#[warpfold::function]
fn month(x: f32, month: u64) -> Since {
    Since {
        begins: match month % 12 {
            0 => 1,
            _ => 0,
        },
        range: point(x),
    }
}

/// A sample x as e^x.
#[warpfold::function]
fn power(x: f32) -> Scaled {
    Scaled {
        exponent: x,
        sum: 1.0,
    }
}

/// The ranges of all prefixes, by a scan.
fn ranges(device: &Device, signal: &Buffer<f32>) -> Result<Buffer<Range>> {
    device.inclusive_scan::<Range, Hull>(map::<point, _>(signal))
}

/// The ranges from each January on, by a scan.
fn yearly_ranges(device: &Device, signal: &Buffer<f32>) -> Result<Buffer<Since>> {
    device.inclusive_scan::<Since, HullSince>(months(signal))
}

fn months(signal: &Buffer<f32>) -> impl Source<Device, Item = Since> {
    map::<month, _>(zip(signal, index(signal.len())))
}

/// The sums of the powers of e of all prefixes, by a scan.
fn sums_of_powers(device: &Device, signal: &Buffer<f32>) -> Result<Buffer<Scaled>> {
    device.inclusive_scan::<Scaled, LogAddExp>(map::<power, _>(signal))
}

/// The sequential program for the ranges.
fn ranges_sequentially(signal: &[f32]) -> Vec<Range> {
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    let step = |&x: &f32| {
        (low, high) = (low.min(x), high.max(x));
        Range { low, high }
    };
    signal.iter().map(step).collect()
}

/// The sequential program for the ranges from each January on.
fn yearly_ranges_sequentially(signal: &[f32]) -> Vec<Since> {
    let mut range = NOTHING.range;
    let step = |(month, &x): (usize, &f32)| {
        if month.is_multiple_of(12) {
            range = NOTHING.range;
        }
        range = hull(range, point(x));
        Since { begins: 1, range }
    };
    signal.iter().enumerate().map(step).collect()
}

/// The sequential program for the sums of powers, in `f32`.
fn sums_of_powers_sequentially(signal: &[f32]) -> Vec<Scaled> {
    let (mut exponent, mut sum) = (f32::MIN, 0.0);
    let step = |&x: &f32| {
        if x > exponent {
            sum *= (exponent - x).exp();
            exponent = x;
        }
        sum += (x - exponent).exp();
        Scaled { exponent, sum }
    };
    signal.iter().map(step).collect()
}

/// The logarithms of the sums of powers, in `f64`.
fn exact_logarithms(signal: &[f32]) -> Vec<f64> {
    let (mut exponent, mut sum) = (f64::MIN, 0.0);
    let step = |&x: &f32| {
        let x = f64::from(x);
        if x > exponent {
            sum *= (exponent - x).exp();
            exponent = x;
        }
        sum += (x - exponent).exp();
        exponent + sum.ln()
    };
    signal.iter().map(step).collect()
}

/// The largest distance of the logarithms from those that `f64` gives.
fn error(sums: &[Scaled], exact: &[f64]) -> f64 {
    let pairs = sums.iter().zip(exact);
    pairs
        .map(|(sum, exact)| (sum.ln() - exact).abs())
        .fold(0.0, f64::max)
}

/// What the error of a scan over `length` samples cannot exceed, to first order.
///
/// A result has been through at most 2·log₂ n operations. Each rounds a product and a sum, by u =
/// ε/2 at most, and takes a power of e, which is right to two units in the last place, 4u. Its
/// argument, a difference d, is rounded too, which changes e^d by |d|·u of itself; but a sum of at
/// most n powers counts as little as n·e^d then, so this is 1 + ln n of u at most. And the
/// logarithm's absolute error is the relative error of the sum.
fn error_bound(length: usize) -> f64 {
    let length = length.max(1) as f64;
    2.0 * length.log2().ceil() * (7.0 + length.ln()) * f64::from(f32::EPSILON) / 2.0
}

fn main() -> Result<()> {
    let length = support::length(1 << 20);
    let signal = support::repeated(&support::carbon_dioxide(), length);

    let expected = ranges_sequentially(&signal);
    println!("all of it: {:?}", expected[length - 1]);
    let report = Report {
        example: "running_extremes",
        length,
    };
    report.sequential(|| ranges_sequentially(&signal));
    for device in support::devices() {
        let ranges = report.parallel(&device, &signal, ranges)?;
        assert_eq!(ranges, expected);
    }

    let expected = yearly_ranges_sequentially(&signal);
    let report = Report {
        example: "yearly_extremes",
        length,
    };
    report.sequential(|| yearly_ranges_sequentially(&signal));
    for device in support::devices() {
        let ranges = report.parallel(&device, &signal, yearly_ranges)?;
        assert_eq!(ranges, expected);
    }

    let exact = exact_logarithms(&signal);
    let sequential = sums_of_powers_sequentially(&signal);
    println!("ln of the sum of all powers of e: {:.6}", exact[length - 1]);
    println!(
        "error of the sequential program in f32: {:.1e}",
        error(&sequential, &exact)
    );
    let report = Report {
        example: "log_add_exp",
        length,
    };
    report.sequential(|| sums_of_powers_sequentially(&signal));
    for device in support::devices() {
        let sums = report.parallel(&device, &signal, sums_of_powers)?;
        let error = error(&sums, &exact);
        let bound = error_bound(length);
        println!("error of the scan on {device}: {error:.1e}, at most {bound:.1e}");
        assert!(error <= bound);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize) -> Vec<f32> {
        let number = |bits| ((bits >> 40) as f32 / (1 << 14) as f32) - 512.0;
        support::random(13).map(number).take(length).collect()
    }

    #[test]
    fn the_ranges_of_random_signals_are_those_of_the_sequential_program() -> Result<()> {
        for length in [0, 1, 2, 1000, 30_000] {
            let signal = noise(length);
            assert_eq!(
                support::answer(&Device::cpu(), &signal, ranges)?,
                ranges_sequentially(&signal)
            );
            assert_eq!(
                support::answer(&Device::cpu(), &signal, yearly_ranges)?,
                yearly_ranges_sequentially(&signal)
            );
        }
        Ok(())
    }

    #[test]
    fn equal_powers_add_up() -> Result<()> {
        let sums = support::answer(&Device::cpu(), &[1000.0; 8][..], sums_of_powers)?;
        assert_eq!(
            sums[7],
            Scaled {
                exponent: 1000.0,
                sum: 8.0
            }
        );
        Ok(())
    }

    #[test]
    fn the_logarithms_of_random_signals_keep_the_bound() -> Result<()> {
        for length in [0, 1, 2, 1000, 30_000] {
            for scale in [1.0, 0.01, 1e-5] {
                let signal: Vec<f32> = noise(length).iter().map(|x| x * scale).collect();
                let error = error(
                    &support::answer(&Device::cpu(), &signal, sums_of_powers)?,
                    &exact_logarithms(&signal),
                );
                assert!(error <= error_bound(length), "{length}, {scale}: {error}");
            }
        }
        Ok(())
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_operators_are_monoids() {
        use proptest::prelude::*;
        use warpfold::testing::{assert_monoid, assert_monoid_within};
        let ranges = (-1e3_f32..1e3, -1e3_f32..1e3).prop_map(|(low, high)| Range { low, high });
        assert_monoid::<Range, Hull>(ranges.clone());
        let since = (0_u32..2, ranges).prop_map(|(begins, range)| Since { begins, range });
        assert_monoid::<Since, HullSince>(since);
        let powers = (-40.0_f32..40.0, 0.5_f32..2.0);
        let powers = powers.prop_map(|(exponent, sum)| Scaled { exponent, sum });
        assert_monoid_within::<Scaled, LogAddExp>(1e-6, powers);
    }

    #[test]
    fn the_scans_compile_as_cuda() -> Result<()> {
        let signal = Device::cpu().upload(&[1.0_f32])?;
        support::check_scan::<Range, Hull, _>(map::<point, _>(&signal));
        support::check_scan::<Since, HullSince, _>(months(&signal));
        support::check_scan::<Scaled, LogAddExp, _>(map::<power, _>(&signal));
        Ok(())
    }
}
