//! A recursive filter over a real signal: each result depends on the last ones, and all are
//! computed in parallel.
//!
//! The trend of the carbon dioxide in the air, without the seasons, by a Butterworth low-pass
//! filter of the second order:
//!
//! ```text
//! y[i] = p·y[i−1] + q·y[i−2] + u[i]      u[i] = b·(x[i] + 2·x[i−1] + x[i−2])
//! ```
//!
//! Its two poles are a complex number λ and its conjugate. Partial fractions make it a recurrence
//! of the first order in complex numbers:
//!
//! ```text
//! s[i] = λ·s[i−1] + g·x[i]      y[i] = d·x[i] + Re s[i]
//! ```
//!
//! Each step is an affine map of s. Affine maps compose associatively, so the inclusive scan of the
//! steps gives every s at once (Kogge & Stone 1973; Blelloch 1990, section 1.4, where the maps are
//! matrices and vectors; a complex number is a matrix of rotation and scaling).
//!
//! `cargo run --release --example linear_recurrence`

mod support;

use std::f64::consts::{PI, SQRT_2};
use std::ops::{Add, Mul};
use support::Report;
use warpfold::{Buffer, Device, Element, Result, Source, constant, map, zip, zip3};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Complex {
    re: f32,
    im: f32,
}

/// a·b + c.
#[warpfold::function]
fn mul_add(a: Complex, b: Complex, c: Complex) -> Complex {
    Complex {
        re: a.re * b.re - a.im * b.im + c.re,
        im: a.re * b.im + a.im * b.re + c.im,
    }
}

/// The map s ↦ slope·s + offset.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Affine {
    slope: Complex,
    offset: Complex,
}

const ZERO: Complex = Complex { re: 0.0, im: 0.0 };
const ONE: Complex = Complex { re: 1.0, im: 0.0 };

/// First one map, `then` the other.
#[warpfold::monoid(identity = Affine { slope: ONE, offset: ZERO })]
fn compose(first: Affine, then: Affine) -> Affine {
    Affine {
        slope: mul_add(then.slope, first.slope, ZERO),
        offset: mul_add(then.slope, first.offset, then.offset),
    }
}

/// A Butterworth low-pass filter of the second order.
#[derive(Clone, Copy, Debug)]
struct Filter {
    b: f64,
    p: f64,
    q: f64,
}

impl Filter {
    /// Lets through what takes longer than `period` samples.
    fn low_pass(period: f64) -> Filter {
        let k = (PI / period).tan();
        let norm = 1.0 / (1.0 + SQRT_2 * k + k * k);
        Filter {
            b: k * k * norm,
            p: 2.0 * (1.0 - k * k) * norm,
            q: -(1.0 - SQRT_2 * k + k * k) * norm,
        }
    }

    /// The filter in partial fractions.
    fn parts(self) -> Parts {
        let (b, p, q) = (self.b, self.p, self.q);
        // λ, a root of z² − p·z − q.
        let re = p / 2.0;
        let im = (-q - re * re).sqrt();
        // With v for z⁻¹ the filter is b·(1 + v)² / ((1 − λ·v)·(1 − λ̄·v)). As v grows, that
        // becomes b / (λ·λ̄). Twice the residue at v = 1/λ is 2·b·(1 + 1/λ)² / (1 − λ̄/λ), which is
        // b·(λ + 1)² / (λ·i·im).
        let square = ((re + 1.0) * (re + 1.0) - im * im, 2.0 * (re + 1.0) * im);
        let divisor = (-im * im, re * im);
        let norm = divisor.0 * divisor.0 + divisor.1 * divisor.1;
        Parts {
            pole: complex(re, im),
            gain: complex(
                b * (square.0 * divisor.0 + square.1 * divisor.1) / norm,
                b * (square.1 * divisor.0 - square.0 * divisor.1) / norm,
            ),
            direct: (b / -q) as f32,
        }
    }
}

fn complex(re: f64, im: f64) -> Complex {
    Complex {
        re: re as f32,
        im: im as f32,
    }
}

/// A filter in partial fractions.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Parts {
    /// λ
    pole: Complex,
    /// g
    gain: Complex,
    /// d
    direct: f32,
}

/// A sample as a map of the state.
#[warpfold::function]
fn step(parts: Parts, x: f32) -> Affine {
    Affine {
        slope: parts.pole,
        offset: Complex {
            re: parts.gain.re * x,
            im: parts.gain.im * x,
        },
    }
}

/// What the filter gives for a sample, after which it is in a state.
#[warpfold::function]
fn output(parts: Parts, x: f32, state: Affine) -> f32 {
    parts.direct * x + state.offset.re
}

/// The filtered signal, by a scan of the steps.
fn in_parallel(device: &Device, filter: Filter, signal: &Buffer<f32>) -> Result<Buffer<f32>> {
    let first = signal.slice(..signal.len().min(1)).to_vec()?;
    let Some(&first) = first.first() else {
        return device.collect(signal);
    };
    let parts = filter.parts();
    let states =
        device.inclusive_scan_from::<Affine, Compose>(start(parts, first), steps(parts, signal))?;
    let outputs = zip3(constant(parts, signal.len()), signal, &states);
    device.collect(map::<output, _>(outputs))
}

/// The program that filters by `filter`.
fn by(filter: Filter) -> impl Fn(&Device, &Buffer<f32>) -> Result<Buffer<f32>> {
    move |device, signal| in_parallel(device, filter, signal)
}

/// The steps of all samples. They are made where the scan needs them, in registers.
fn steps(parts: Parts, signal: &Buffer<f32>) -> impl Source<Device, Item = Affine> {
    map::<step, _>(zip(constant(parts, signal.len()), signal))
}

/// The map to the state in which the filter is if the signal has been `first` for ever, whatever
/// the state was: s = λ·s + g·x, so s = g·x / (1 − λ).
fn start(parts: Parts, first: f32) -> Affine {
    let (re, im) = (1.0 - parts.pole.re, parts.pole.im);
    let scale = first / (re * re + im * im);
    let conjugate = Complex {
        re: re * scale,
        im: im * scale,
    };
    Affine {
        slope: ZERO,
        offset: mul_add(parts.gain, conjugate, ZERO),
    }
}

/// The sequential program: the recurrence as it is written, in the arithmetic of `F`.
fn sequentially<F>(filter: Filter, signal: &[f32], convert: impl Fn(f64) -> F) -> Vec<F>
where
    F: Copy + Add<Output = F> + Mul<Output = F>,
{
    let (p, q) = (convert(filter.p), convert(filter.q));
    let start = convert(signal.first().map_or(0.0, |&first| first.into()));
    let (mut y1, mut y2) = (start, start);
    let step = |i: usize| {
        let x = |back| f64::from(signal[i.saturating_sub(back)]);
        let u = filter.b * (x(0) + 2.0 * x(1) + x(2));
        let y = p * y1 + q * y2 + convert(u);
        (y1, y2) = (y, y1);
        y
    };
    (0..signal.len()).map(step).collect()
}

/// The largest distance from what `f64` gives.
fn error(result: &[f32], exact: &[f64]) -> f64 {
    let pairs = result.iter().zip(exact);
    pairs
        .map(|(&y, &e)| (f64::from(y) - e).abs())
        .fold(0.0, f64::max)
}

fn main() -> Result<()> {
    let length = support::length(1 << 20);
    let signal = support::repeated(&support::carbon_dioxide(), length);
    let filter = Filter::low_pass(36.0);
    let report = Report {
        example: "linear_recurrence",
        length,
    };

    let exact = sequentially(filter, &signal, |x| x);
    let sequential = sequentially(filter, &signal, |x| x as f32);
    let trend = support::answer(&Device::cpu(), &signal, by(filter))?;
    let error = |result: &[f32]| error(result, &exact);
    println!(
        "error of the sequential program in f32: {:.1e} ppm",
        error(&sequential)
    );
    println!("error of the scan: {:.1e} ppm", error(&trend));
    assert!(error(&trend) < 0.001, "a tenth of the data's last digit");

    report.sequential(|| sequentially(filter, &signal, |x| x as f32));
    for device in support::devices() {
        let result = report.parallel(&device, &signal, by(filter))?;
        assert!(result == trend, "the same bits on every device");
    }
    for (year, july) in (1975..2015).zip((6..length).step_by(12)).step_by(13) {
        println!(
            "July {year}: {:.2} ppm, trend {:.2} ppm",
            signal[july], trend[july]
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_signal_passes_unchanged() -> Result<()> {
        let filter = Filter::low_pass(10.0);
        let filtered = support::answer(&Device::cpu(), &[0.5; 1000][..], by(filter))?;
        assert!(filtered.iter().all(|y| (y - 0.5).abs() < 1e-5));
        Ok(())
    }

    #[test]
    fn random_signals_of_any_length_are_filtered_as_sequentially() -> Result<()> {
        let filter = Filter::low_pass(8.0);
        for length in [0, 1, 2, 3, 1000, 30_000] {
            let noise = support::random(7).map(|bits| (bits >> 40) as f32 / (1 << 24) as f32);
            let noise: Vec<f32> = noise.take(length).collect();
            let filtered = support::answer(&Device::cpu(), &noise, by(filter))?;
            assert_eq!(filtered.len(), length);
            assert!(error(&filtered, &sequentially(filter, &noise, |x| x)) < 1e-5);
        }
        Ok(())
    }

    #[test]
    fn the_seasons_are_filtered_out() -> Result<()> {
        let signal = support::carbon_dioxide();
        let trend = support::answer(&Device::cpu(), &signal, by(Filter::low_pass(36.0)))?;
        let swing = |series: &[f32]| {
            let year = &series[series.len() - 12..];
            year.iter().fold(0.0, |high, y| y.max(high))
                - year.iter().fold(999.0, |low, y| y.min(low))
        };
        assert!(swing(&signal) > 6.0);
        assert!(swing(&trend) < 3.0);
        Ok(())
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_operator_is_a_monoid() {
        use proptest::prelude::*;
        use warpfold::testing::assert_monoid_within;
        let numbers = || (-1_f32..1.0, -1_f32..1.0).prop_map(|(re, im)| Complex { re, im });
        let maps = (numbers(), numbers()).prop_map(|(slope, offset)| Affine { slope, offset });
        assert_monoid_within::<Affine, Compose>(1e-6, maps);
    }

    #[test]
    fn the_scan_compiles_as_cuda() -> Result<()> {
        let signal = Device::cpu().upload(&[1.0])?;
        let parts = Filter::low_pass(8.0).parts();
        support::check_scan::<Affine, Compose, _>(steps(parts, &signal));
        Ok(())
    }
}
