//! Softmax of a ragged batch: sequences of different lengths, one after the other, without padding.
//!
//! Each sequence is shifted by its greatest score, so that no exponential is beyond the range of
//! floats, and divided by its sum (Bridle 1990). These are two segmented reductions. What they give
//! comes back to the scores by gathers: each score takes what belongs to its sequence.
//!
//! `cargo run --release --example ragged_softmax`

mod support;

use support::Report;
use warpfold::ops::{Add, Max};
use warpfold::{Buffer, Device, Result, gather, map, zip};

/// The scores of all sequences, and where each sequence starts.
type Batch = (Vec<f32>, Vec<u32>);
type There = (Buffer<f32>, Buffer<u32>);

#[warpfold::function]
fn shifted_exp(score: f32, greatest: f32) -> f32 {
    (score - greatest).exp()
}

#[warpfold::function]
fn share(power: f32, sum: f32) -> f32 {
    power / sum
}

fn in_parallel(device: &Device, (scores, offsets): &There) -> Result<Buffer<f32>> {
    let sequences = device.offsets(offsets)?;
    let ids = device.segment_ids(sequences, scores.len())?;
    let ids = device.indices(&ids)?;
    let greatest = device.segmented_reduce::<f32, Max>(scores, sequences)?;
    let powers = map::<shifted_exp, _>(zip(scores, gather(&greatest, ids)));
    let powers = device.collect(powers)?;
    let sums = device.segmented_reduce::<f32, Add>(&powers, sequences)?;
    device.collect(map::<share, _>(zip(&powers, gather(&sums, ids))))
}

/// The sequential program, in `f64`: one sequence after the other.
fn sequentially((scores, offsets): &Batch) -> Vec<f64> {
    let mut shares = Vec::with_capacity(scores.len());
    for pair in offsets.windows(2) {
        let scores = &scores[pair[0] as usize..pair[1] as usize];
        let greatest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers = scores
            .iter()
            .map(|&x| (f64::from(x) - f64::from(greatest)).exp());
        let sum: f64 = powers.clone().sum();
        shares.extend(powers.map(|power| power / sum));
    }
    shares
}

/// Scores of sequences whose lengths are anything from none to many.
fn batch(length: usize) -> Batch {
    let mut offsets = vec![0];
    let mut random = support::random(3);
    while (offsets[offsets.len() - 1] as usize) < length {
        let bits = random.next().expect("it does not end");
        // Most are short, and some are long.
        let next = (bits >> 8) % (1 << (bits % 12));
        let end = offsets[offsets.len() - 1] + next as u32;
        offsets.push(end.min(length as u32));
    }
    let scores = random.map(|bits| (bits % 4096) as f32 / 128.0 - 16.0);
    (scores.take(length).collect(), offsets)
}

/// The greatest difference of the shares.
fn error(got: &[f32], expected: &[f64]) -> f64 {
    let pairs = got.iter().zip(expected);
    pairs
        .map(|(&got, expected)| (f64::from(got) - expected).abs())
        .fold(0.0, f64::max)
}

fn main() -> Result<()> {
    let length = support::length(1 << 20);
    let batch = batch(length);
    let report = Report {
        example: "ragged_softmax",
        length,
    };
    println!("{} sequences", batch.1.len() - 1);
    let expected = sequentially(&batch);
    report.sequential(|| sequentially(&batch));
    for device in support::devices() {
        let shares = report.parallel(&device, &batch, in_parallel)?;
        assert!(error(&shares, &expected) < 1e-6);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_sequential_program() -> Result<()> {
        for length in [0, 1, 100, 40_000] {
            let batch = batch(length);
            for device in support::devices() {
                let shares = support::answer(&device, &batch, in_parallel)?;
                assert!(
                    error(&shares, &sequentially(&batch)) < 1e-6,
                    "{length} on {device}"
                );
            }
        }
        Ok(())
    }

    /// Without the shift, the exponential of 1000 would be infinite.
    #[test]
    fn large_scores_do_not_overflow() -> Result<()> {
        let batch = (vec![1000.0, 1000.0, -1000.0, 7.0], vec![0, 3, 3, 4]);
        let shares = support::answer(&Device::cpu(), &batch, in_parallel)?;
        assert_eq!(shares, [0.5, 0.5, 0.0, 1.0]);
        Ok(())
    }
}
