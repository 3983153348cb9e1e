//! A recursive filter over a real signal: what depends on the last result, computed in parallel.
//!
//! The trend of the carbon dioxide in the air, without the seasons, by a Butterworth low-pass filter of the second order:
//!
//! ```text
//! y[i] = p·y[i−1] + q·y[i−2] + u[i]      u[i] = b·(x[i] + 2·x[i−1] + x[i−2])
//! ```
//!
//! Each step is an affine map of the state (y[i−1], y[i−2]): a 2×2 matrix and a vector. Affine maps compose
//! associatively, so the inclusive scan of the steps gives every y at once (Kogge & Stone 1973; Blelloch 1990, section 1.4).
//!
//! `cargo run --release --example linear_recurrence`

mod support;

use std::f64::consts::{PI, SQRT_2};
use std::ops::{Add, Mul};
use support::Report;
use warpfold::{Device, Element, Result};

/// The map s ↦ matrix·s + vector; the matrix row by row.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Affine {
    matrix: [f32; 4],
    vector: [f32; 2],
}

/// First one map, `then` the other.
#[warpfold::monoid(identity = Affine { matrix: [1.0, 0.0, 0.0, 1.0], vector: [0.0, 0.0] })]
fn compose(first: Affine, then: Affine) -> Affine {
    let (m, n) = (first.matrix, then.matrix);
    let (v, w) = (first.vector, then.vector);
    Affine {
        matrix: [
            n[0] * m[0] + n[1] * m[2],
            n[0] * m[1] + n[1] * m[3],
            n[2] * m[0] + n[3] * m[2],
            n[2] * m[1] + n[3] * m[3],
        ],
        vector: [
            n[0] * v[0] + n[1] * v[1] + w[0],
            n[2] * v[0] + n[3] * v[1] + w[1],
        ],
    }
}

/// The coefficients of the recurrence.
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
}

/// The filtered signal, by a scan of the steps.
fn in_parallel(device: &Device, filter: Filter, signal: &[f32]) -> Result<Vec<f32>> {
    let Some(&first) = signal.first() else {
        return Ok(Vec::new());
    };
    // The map that forgets its argument: before the signal, it had its first value for ever.
    let start = Affine {
        matrix: [0.0; 4],
        vector: [first; 2],
    };
    let steps = device.upload_vec(steps(filter, signal))?;
    let states = device.inclusive_scan_from::<Affine, Compose>(start, &steps)?;
    Ok(states
        .into_vec()?
        .iter()
        .map(|state| state.vector[0])
        .collect())
}

/// Each sample as a map of the filter's state.
fn steps(filter: Filter, signal: &[f32]) -> Vec<Affine> {
    let (b, p, q) = (filter.b as f32, filter.p as f32, filter.q as f32);
    (0..signal.len())
        .map(|i| {
            let [x0, x1, x2] = [0, 1, 2].map(|back| signal[i.saturating_sub(back)]);
            Affine {
                matrix: [p, q, 1.0, 0.0],
                vector: [b * (x0 + 2.0 * x1 + x2), 0.0],
            }
        })
        .collect()
}

/// The sequential program: the recurrence as it is written, in the arithmetic of `F`.
fn sequentially<F>(filter: Filter, signal: &[f32]) -> Vec<F>
where
    F: Copy + From<f32> + Add<Output = F> + Mul<Output = F>,
{
    let [b, p, q, two] = [filter.b as f32, filter.p as f32, filter.q as f32, 2.0].map(F::from);
    let start = F::from(signal.first().copied().unwrap_or(0.0));
    let (mut x1, mut x2, mut y1, mut y2) = (start, start, start, start);
    let step = |&x: &f32| {
        let x0 = F::from(x);
        let y0 = p * y1 + q * y2 + b * (x0 + two * x1 + x2);
        (x1, x2, y1, y2) = (x0, x1, y0, y1);
        y0
    };
    signal.iter().map(step).collect()
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

    let exact = sequentially::<f64>(filter, &signal);
    let sequential = sequentially::<f32>(filter, &signal);
    println!(
        "error of the sequential program in f32: {:.1e} ppm",
        error(&sequential, &exact)
    );
    report.sequential(|| sequentially::<f32>(filter, &signal));
    let mut trend = Vec::new();
    for device in support::devices() {
        trend = in_parallel(&device, filter, &signal)?;
        let error = error(&trend, &exact);
        println!("error of the scan on {device}: {error:.1e} ppm");
        assert!(error < 0.01, "the error shows in the data's last digit");
        report.whole(&device, || in_parallel(&device, filter, &signal))?;
        report.scan::<Affine, Compose>(&device, &steps(filter, &signal))?;
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
    use warpfold::codegen::{Engine, Primitive, source};

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
            assert!(error(&filtered, &sequentially(filter, &noise)) < 1e-5);
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

    #[test]
    fn the_operator_exists_in_cuda() {
        assert!(source::<Affine, Compose>(Primitive::Scan, Engine::Blelloch).is_ok());
    }
}
