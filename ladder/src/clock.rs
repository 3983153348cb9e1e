//! How times are taken.

use crate::Result;

/// The rounds that a median is taken of.
const MOST_ROUNDS: usize = 15;
/// Fewer, if they take longer than this together, in microseconds.
const PATIENCE: f64 = 500_000.0;
const FEWEST_ROUNDS: usize = 3;

/// The median of what `round` gives, in microseconds. The first round does not count.
pub(crate) fn median(round: &mut dyn FnMut() -> Result<f64>) -> Result<f64> {
    round()?;
    let (mut times, mut sum) = (Vec::new(), 0.0);
    while times.len() < FEWEST_ROUNDS || (times.len() < MOST_ROUNDS && sum < PATIENCE) {
        times.push(round()?);
        sum += times[times.len() - 1];
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
