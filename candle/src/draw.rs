//! The steps of sampling, on the host as on a GPU.
//!
//! Candidates are all tokens of a row, or those of the greatest logits in falling order. Each has a
//! weight, and the sum of the weights up to it. A number from 0 to the greatest sum that is kept
//! falls to the first candidate whose sum is above it. Sums in floats may fall by a last digit, so
//! only candidates with a weight count.

use crate::sample::Draw;
use crate::steps::Steps;
use candle_core::Result;
use warpfold::ops::{Add, Max, Min};
use warpfold::source::{Slice, Source};
use warpfold::{Element, Indices, function, gather, index, map, map_with, zip, zip3};

/// What candidates are cut off by. `count` is how many a row has.
#[derive(Debug, Clone, Copy, Element)]
#[repr(C)]
struct Parameters {
    count: u64,
    seed: u64,
    top_p: f32,
    unused: u32,
}

/// How a logit becomes a weight. Less than `min_p` is none.
#[derive(Debug, Clone, Copy, Element)]
#[repr(C)]
struct Weighing {
    temperature: f32,
    min_p: f32,
}

/// The token of each row, `u32::MAX` if it has none.
pub(crate) fn draw<E, S>(steps: &E, logits: S, draw: &Draw) -> Result<E::Array<u32>>
where
    E: Steps,
    S: Source<E::Place, Item = f32, Form = Slice<f32>> + Copy,
{
    let (rows, len, sampling) = (draw.rows, draw.len, &draw.sampling);
    let is_greedy = sampling.temperature == 0.0;
    let is_ranked = is_greedy || sampling.top_k.is_some() || sampling.top_p < 1.0;
    let count = match sampling.top_k {
        _ if is_greedy => 1,
        Some(k) => k.min(len),
        None => len,
    };
    let best = match is_ranked {
        true => steps.greatest::<f32, _>(logits, (rows, len), count)?,
        false => steps.greatest::<f32, _>(logits, (rows, len), 1)?,
    };
    let (values, places) = (E::read(&best.0), E::read(&best.1));
    if is_greedy {
        return steps.collect(map::<greedy, _>(zip(values, places)));
    }
    let starts = map_with::<start_of, _, _>(index(rows), if is_ranked { count as u64 } else { 1 });
    let tops = steps.collect(gather(values, Indices::unchecked(starts)))?;
    let tops = E::read(&tops);

    let weighing = Weighing {
        temperature: sampling.temperature,
        min_p: sampling.min_p,
    };
    let parts = index(rows * count);
    let row = || Indices::unchecked(map_with::<row_of, _, _>(parts, count as u64));
    let weights = match is_ranked {
        true => steps.collect(map_with::<weight, _, _>(
            zip(values, gather(tops, row())),
            weighing,
        )),
        false => steps.collect(map_with::<weight, _, _>(
            zip(logits, gather(tops, row())),
            weighing,
        )),
    }?;
    let weights = E::read(&weights);
    let axis = steps.rows(rows, count)?;
    let sums = steps.prefixes::<f32, Add, _>(weights, axis)?;
    let sums = E::read(&sums);

    // Top-p is a part of what all tokens weigh, those that are cut off included.
    let totals = match sampling.top_p < 1.0 {
        true => {
            let all = Weighing {
                min_p: 0.0,
                ..weighing
            };
            let row = map_with::<row_of, _, _>(index(rows * len), len as u64);
            let tops = gather(tops, Indices::unchecked(row));
            let weights = map_with::<weight, _, _>(zip(logits, tops), all);
            steps.fold::<f32, Add, _>(weights, steps.rows(rows, len)?)?
        }
        false => steps.collect(map::<without_limit, _>(index(rows)))?,
    };
    let parameters = Parameters {
        count: count as u64,
        seed: draw.seed,
        top_p: sampling.top_p,
        unused: 0,
    };
    let before = Indices::unchecked(map::<before, _>(parts));
    let limits = zip(gather(sums, before), gather(E::read(&totals), row()));
    let kept = map_with::<kept_sum, _, _>(zip(zip3(parts, weights, sums), limits), parameters);
    let kept = steps.collect(kept)?;
    let kept = E::read(&kept);
    let greatest = steps.fold::<f32, Max, _>(kept, axis)?;
    let greatest = gather(E::read(&greatest), row());
    let candidates = map_with::<candidate, _, _>(zip(zip(parts, kept), greatest), parameters);
    let chosen = steps.fold::<u32, Min, _>(candidates, axis)?;
    let chosen = E::read(&chosen);
    match is_ranked {
        true => {
            let flat = map_with::<place_of, _, _>(zip(index(rows), chosen), count as u64);
            let places = gather(places, Indices::unchecked(flat));
            steps.collect(map::<token, _>(zip3(tops, places, chosen)))
        }
        false => steps.collect(map::<token_itself, _>(zip(tops, chosen))),
    }
}

/// A token's weight, or 0 if it is cut off by it. The greatest logit has 1, also if it is infinite.
#[function]
fn weight(logit: f32, greatest: f32, weighing: Weighing) -> f32 {
    if logit.is_nan() {
        0.0
    } else if logit == greatest {
        1.0
    } else {
        let weight = ((logit - greatest) / weighing.temperature).exp();
        if weight < weighing.min_p { 0.0 } else { weight }
    }
}

/// A number from 0 to below 1 for a row: 24 bits of SplitMix64 (Steele, Lea and Flood 2014), twice.
#[function]
fn uniform(seed: u64, row: u64) -> f32 {
    let seeded = mix(seed.wrapping_add(0x9e3779b97f4a7c15));
    let mixed = mix(seeded ^ row.wrapping_mul(0x9e3779b97f4a7c15));
    ((mixed >> 40) as u32) as f32 / 16777216.0
}

#[function]
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

#[function]
fn without_limit(_row: u64) -> f32 {
    f32::INFINITY
}

#[function]
fn greedy(logit: f32, place: u64) -> u32 {
    if logit > f32::NEG_INFINITY {
        place as u32
    } else {
        u32::MAX
    }
}

#[function]
fn row_of(at: u64, count: u64) -> u64 {
    at / count
}

#[function]
fn start_of(row: u64, count: u64) -> u64 {
    row * count
}

#[function]
fn before(at: u64) -> u64 {
    if at == 0 { 0 } else { at - 1 }
}

/// The sum up to a candidate that is kept, and a negative number for one that is not.
#[function]
fn kept_sum(token: (u64, f32, f32), limits: (f32, f32), parameters: Parameters) -> f32 {
    let rank = token.0 % parameters.count;
    let within = rank == 0 || limits.0 < parameters.top_p * limits.1;
    if token.1 > 0.0 && within {
        token.2
    } else {
        -1.0
    }
}

/// The rank of a candidate that the draw may fall to, and `u32::MAX` for others.
#[function]
fn candidate(token: (u64, f32), greatest: f32, parameters: Parameters) -> u32 {
    let row = token.0 / parameters.count;
    if token.1 > greatest * uniform(parameters.seed, row) {
        (token.0 % parameters.count) as u32
    } else {
        u32::MAX
    }
}

#[function]
fn place_of(row: u64, chosen: u32, count: u64) -> u64 {
    row * count + chosen as u64
}

#[function]
fn token(greatest: f32, place: u64, chosen: u32) -> u32 {
    if greatest > f32::NEG_INFINITY && chosen != u32::MAX {
        place as u32
    } else {
        u32::MAX
    }
}

#[function]
fn token_itself(greatest: f32, chosen: u32) -> u32 {
    if greatest > f32::NEG_INFINITY {
        chosen
    } else {
        u32::MAX
    }
}
