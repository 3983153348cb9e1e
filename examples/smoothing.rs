//! Exponential smoothing of a million samples, in parallel.
//!
//! The recurrence y[i] = (1 − α)·y[i−1] + α·x[i] looks sequential. But each step is a map y ↦ slope·y + offset, maps
//! compose associatively, and so their inclusive scan gives every y at once.
//!
//! `cargo run --release --example smoothing`

use warpfold::{Element, inclusive_scan_from, monoid};

/// The map y ↦ slope·y + offset.
#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
struct Step {
    slope: f32,
    offset: f32,
}

/// First `a`, then `b`.
#[monoid(identity = Step { slope: 1.0, offset: 0.0 })]
fn then(a: Step, b: Step) -> Step {
    Step {
        slope: a.slope * b.slope,
        offset: a.offset * b.slope + b.offset,
    }
}

fn main() -> warpfold::Result<()> {
    const ALPHA: f32 = 0.01;
    let samples: Vec<f32> = (0..1_000_000)
        .map(|i| (i as f32 * 1e-5).sin() + 0.1 * ((i * 7919 % 1000) as f32 / 500.0 - 1.0))
        .collect();

    let steps: Vec<Step> = samples
        .iter()
        .map(|x| Step {
            slope: 1.0 - ALPHA,
            offset: ALPHA * x,
        })
        .collect();
    // The map that forgets its argument and gives the first sample starts the series.
    let start = Step {
        slope: 0.0,
        offset: samples[0],
    };
    let smoothed = inclusive_scan_from::<Step, Then>(start, &steps)?;

    // One after the other, to compare.
    let mut y = samples[0];
    let mut largest_difference = 0.0_f32;
    for (x, smoothed) in samples.iter().zip(&smoothed) {
        y = (1.0 - ALPHA) * y + ALPHA * x;
        largest_difference = largest_difference.max((y - smoothed.offset).abs());
    }
    for i in (0..samples.len()).step_by(200_000) {
        println!(
            "sample {i:>7}: {:>8.5}, smoothed {:>8.5}",
            samples[i], smoothed[i].offset
        );
    }
    println!("largest difference from the sequential recurrence: {largest_difference:.1e}");
    Ok(())
}
