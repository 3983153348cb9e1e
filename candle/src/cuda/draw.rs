//! Sampling on a GPU, step by step as on the CPU.

use super::{Gpu, View};
use crate::sample::{Draw, Weighing, uniform, weight};
use candle_core::{CudaStorage, Result};
use warpfold::cuda::cudarc::driver::CudaSlice;
use warpfold::ops::{Add, Max, Min};
use warpfold::{
    Axis, Element, Indices, Order, Prefixes, function, gather, index, map, map_with, zip, zip3,
};

/// What the draw of a row needs beside its sums. `count` is how many candidates a row has.
#[derive(Debug, Clone, Copy, Element)]
#[repr(C)]
struct Parameters {
    count: u64,
    seed: u64,
    top_p: f32,
    unused: u32,
}

impl Gpu {
    pub(crate) fn draw(&self, logits: &View<'_, f32>, draw: &Draw) -> Result<[CudaStorage; 1]> {
        let (rows, len, sampling) = (draw.rows, draw.len, &draw.sampling);
        if rows == 0 {
            return Ok([self.store(self.allocate::<u32>(0)?)]);
        }
        let order = Order::ascending().nan_last();
        let best = |k| self.best_of::<f32>(logits, (rows, len), k, true, order);
        let (greatest, first) = best(1)?;
        if sampling.temperature == 0.0 {
            let tokens = map::<greedy, _>(zip(&greatest, &first));
            return Ok([self.store(self.collect(tokens)?)]);
        }
        let ranked = match sampling.is_ranked() {
            true => Some(best(sampling.top_k.unwrap_or(len).min(len))?),
            false => None,
        };
        let count = ranked
            .as_ref()
            .map_or(len, |(values, _)| values.len() / rows);
        let parameters = Parameters {
            count: count as u64,
            seed: draw.seed,
            top_p: sampling.top_p,
            unused: 0,
        };
        let weighing = Weighing {
            temperature: sampling.temperature,
            min_p: sampling.min_p,
        };
        let weights = match &ranked {
            Some((values, _)) => self.weights(&values.slice(..), &greatest, weighing, count)?,
            None => self.weights(logits, &greatest, weighing, count)?,
        };
        let axis = Axis::new(rows, count, 1).map_err(|error| self.fault(error))?;
        let sums = self.scan::<f32, Add, _>(Prefixes::inclusive(), &weights, axis)?;
        // Without top-p there is no limit, and the totals are not needed.
        let totals = match sampling.top_p < 1.0 {
            true => {
                let all = Weighing {
                    min_p: 0.0,
                    ..weighing
                };
                let weights = self.weights(logits, &greatest, all, len)?;
                let axis = Axis::new(rows, len, 1).map_err(|error| self.fault(error))?;
                self.reduce::<f32, Add, _>(&weights, axis)?
            }
            false => self.collect(map::<without_limit, _>(index(rows)))?,
        };
        let parts = index(rows * count);
        let row = || Indices::unchecked(map_with::<row_of, _, _>(parts, count as u64));
        let before = Indices::unchecked(map::<before, _>(parts));
        let tokens = zip3(parts, &weights, &sums);
        let limits = zip(gather(&sums, before), gather(&totals, row()));
        let kept = map_with::<kept_sum, _, _>(zip(tokens, limits), parameters);
        let kept = self.collect(kept)?;
        let limits = self.reduce::<f32, Max, _>(&kept, axis)?;
        let tokens = zip(zip(parts, &kept), gather(&limits, row()));
        let candidates = map_with::<candidate, _, _>(tokens, parameters);
        let chosen = self.reduce::<u32, Min, _>(candidates, axis)?;
        let tokens = match &ranked {
            Some((_, places)) => {
                let flat = map_with::<place_of, _, _>(zip(index(rows), &chosen), count as u64);
                let places = gather(places, Indices::unchecked(flat));
                self.collect(map::<token, _>(zip3(&greatest, places, &chosen)))?
            }
            None => self.collect(map::<token_itself, _>(zip(&greatest, &chosen)))?,
        };
        Ok([self.store(tokens)])
    }

    /// The weights of rows of `count` logits.
    fn weights(
        &self,
        logits: &View<'_, f32>,
        greatest: &CudaSlice<f32>,
        weighing: Weighing,
        count: usize,
    ) -> Result<CudaSlice<f32>> {
        let row = map_with::<row_of, _, _>(index(logits.len()), count as u64);
        let greatest = gather(greatest, Indices::unchecked(row));
        self.collect(map_with::<weight, _, _>(zip(logits, greatest), weighing))
    }
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
fn before(at: u64) -> u64 {
    if at == 0 { 0 } else { at - 1 }
}

/// The sum up to a token that is kept, and a negative number for one that is not.
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

/// The rank of a token that may be drawn, and `u32::MAX` of others.
#[function]
fn candidate(token: (u64, f32), total: f32, parameters: Parameters) -> u32 {
    let row = token.0 / parameters.count;
    if token.1 > total * uniform(parameters.seed, row) {
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
