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
//! Its two poles are a complex number λ and its conjugate, so y is the real part of a recurrence of
//! the first order in complex numbers, s[i] = λ·s[i−1] + g·u[i], where g = 1 − i·Re λ / Im λ
//! (partial fractions). Each step is an affine map of s. Affine maps compose associatively, so the
//! inclusive scan of the steps gives every s at once (Kogge & Stone 1973; Blelloch 1990, section
//! 1.4, where the maps are matrices and vectors; a complex number is a matrix of rotation and
//! scaling).
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

/// The recurrence: the weight of the input, and the pole λ, which says what p and q are.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Filter {
    b: f64,
    re: f64,
    im: f64,
}

impl Filter {
    /// Lets through what takes longer than `period` samples.
    fn low_pass(period: f64) -> Filter {
        let k = (PI / period).tan();
        let norm = 1.0 / (1.0 + SQRT_2 * k + k * k);
        let (p, q) = (
            2.0 * (1.0 - k * k) * norm,
            -(1.0 - SQRT_2 * k + k * k) * norm,
        );
        // λ is a root of z² − p·z − q.
        let re = p / 2.0;
        Filter {
            b: k * k * norm,
            re,
            im: (-q - re * re).sqrt(),
        }
    }

    fn p(self) -> f64 {
        2.0 * self.re
    }

    fn q(self) -> f64 {
        -(self.re * self.re + self.im * self.im)
    }
}

/// A sample with the two before it, weighted: u.
#[warpfold::function]
fn input(filter: Filter, before: f32, last: f32, x: f32) -> f64 {
    filter.b * (x as f64 + 2.0 * last as f64 + before as f64)
}

/// A sample, which comes after two others, as a map of the filter's state.
#[warpfold::function]
fn step(filter: Filter, window: (f32, f32, f32)) -> Affine {
    let u = input(filter, window.0, window.1, window.2);
    Affine {
        slope: Complex {
            re: filter.re as f32,
            im: filter.im as f32,
        },
        offset: Complex {
            re: u as f32,
            im: (-filter.re / filter.im * u) as f32,
        },
    }
}

/// What the filter gives in a state.
#[warpfold::function]
fn output(state: Affine) -> f32 {
    state.offset.re
}

/// The filtered signal, by a scan of the steps.
fn in_parallel(device: &Device, filter: Filter, signal: &[f32]) -> Result<Vec<f32>> {
    let Some(&first) = signal.first() else {
        return Ok(Vec::new());
    };
    let windows = support::windows(device, &[&[first; 2], signal].concat())?;
    let start = start(filter, first);
    let states = device.inclusive_scan_from::<Affine, Compose>(start, steps(filter, &windows))?;
    support::stored(device, map::<output, _>(&states))?.into_vec()
}

/// The steps of all samples. They are made where the scan needs them, in registers.
fn steps(filter: Filter, windows: &[Buffer<f32>; 3]) -> impl Source<Device, Item = Affine> {
    let [before, last, x] = windows;
    map::<step, _>(zip(constant(filter, x.len()), zip3(before, last, x)))
}

/// The map to the state in which the filter is if the signal has been `first` for ever, whatever
/// the state was.
fn start(filter: Filter, first: f32) -> Affine {
    // s = λ·s + g·u has the real part `first`, so this is what is left of it for the imaginary
    // part.
    let (y, u) = (f64::from(first), input(filter, first, first, first));
    let offset = Complex {
        re: first,
        im: ((filter.re * y + u - y) / filter.im) as f32,
    };
    Affine {
        slope: ZERO,
        offset,
    }
}

/// The sequential program: the recurrence as it is written, in the arithmetic of `F`.
fn sequentially<F>(filter: Filter, signal: &[f32], convert: impl Fn(f64) -> F) -> Vec<F>
where
    F: Copy + Add<Output = F> + Mul<Output = F>,
{
    let (p, q) = (convert(filter.p()), convert(filter.q()));
    let start = convert(signal.first().map_or(0.0, |&first| first.into()));
    let (mut y1, mut y2) = (start, start);
    let x = |i: usize, back| signal[i.saturating_sub(back)];
    let step = |i| {
        let y = p * y1 + q * y2 + convert(input(filter, x(i, 2), x(i, 1), x(i, 0)));
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
    let trend = in_parallel(&Device::cpu(), filter, &signal)?;
    let error = |result: &[f32]| error(result, &exact);
    println!(
        "error of the sequential program in f32: {:.1e} ppm",
        error(&sequential)
    );
    println!("error of the scan: {:.1e} ppm", error(&trend));
    assert!(error(&trend) < 0.001, "a tenth of the data's last digit");

    report.sequential(|| sequentially(filter, &signal, |x| x as f32));
    for device in support::devices() {
        let result = in_parallel(&device, filter, &signal)?;
        assert!(result == trend, "the same bits on every device");
        report.parallel(&device, || in_parallel(&device, filter, &signal))?;
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
        let filtered = in_parallel(&Device::cpu(), filter, &[0.5; 1000])?;
        assert!(filtered.iter().all(|y| (y - 0.5).abs() < 1e-5));
        Ok(())
    }

    #[test]
    fn random_signals_of_any_length_are_filtered_as_sequentially() -> Result<()> {
        let filter = Filter::low_pass(8.0);
        for length in [0, 1, 2, 3, 1000, 30_000] {
            let noise = support::random(7).map(|bits| (bits >> 40) as f32 / (1 << 24) as f32);
            let noise: Vec<f32> = noise.take(length).collect();
            let filtered = in_parallel(&Device::cpu(), filter, &noise)?;
            assert_eq!(filtered.len(), length);
            assert!(error(&filtered, &sequentially(filter, &noise, |x| x)) < 1e-5);
        }
        Ok(())
    }

    #[test]
    fn the_seasons_are_filtered_out() -> Result<()> {
        let signal = support::carbon_dioxide();
        let trend = in_parallel(&Device::cpu(), Filter::low_pass(36.0), &signal)?;
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
        let windows = support::windows(&Device::cpu(), &[1.0; 3])?;
        support::check_scan::<Affine, Compose, _>(steps(Filter::low_pass(8.0), &windows));
        Ok(())
    }
}
