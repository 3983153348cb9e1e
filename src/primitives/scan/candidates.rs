//! The kernels that scans choose from.

use crate::engine::candidates::{Candidates, Does, Extent, Fits};
use crate::engine::{
    BlockPolicy, ComputeBoundScan, Engine, Explanation, Layouts, Machine, RowPolicy, SharePolicy,
    WavePolicy, facts,
};
use crate::operator::cost;
use crate::{Element, Monoid, Result};

/// Longer elements do not leave a thread enough registers for its tree.
const LARGEST_IN_ONE_LAUNCH: usize = 16;

/// Those that are fastest on GPUs of a compute capability, for an operator that `commutes` or not,
/// and [costs](cost()) so many instructions.
pub(super) fn for_operator<K: Clone>(
    kernel: &dyn Fn(Engine) -> K,
    layouts: Layouts,
    capability: u32,
    commutes: bool,
    cost: u32,
) -> Candidates<K> {
    let mut list = Builder::new(kernel, layouts);
    if let Some(policy) = BlockPolicy::for_scan(layouts, capability, cost) {
        list.add(Engine::Block(policy), Fits::Always);
    }
    let wave = WavePolicy::for_operator(layouts, capability, commutes, cost)
        .filter(|&policy| Engine::Wave(policy).runs_on(capability));
    let compute_bound = ComputeBoundScan::of(layouts, capability, cost);
    // Between what the GPU holds at once and what other engines take.
    let between = |list: &mut Builder<K>, reach: u64| {
        if let Some(policy) = wave.filter(|_| reach > 0) {
            list.add_wave(policy, Fits::Tiles(reach));
        }
    };
    if let Some(compute_bound) = &compute_bound
        && !compute_bound.short.is_empty()
    {
        for &policy in &compute_bound.short {
            list.add(Engine::Rows(policy), Fits::AtOnce);
        }
        between(&mut list, WavePolicy::reach_before_shares(layouts));
        list.add_shares(compute_bound);
        return list.candidates;
    }
    let mut at_once = RowPolicy::for_scans_at_once(layouts, capability, cost);
    if layouts.sum_bytes > LARGEST_IN_ONE_LAUNCH {
        for policy in at_once {
            list.add(Engine::Rows(policy), Fits::AtOnce);
        }
        between(&mut list, WavePolicy::reach(layouts, commutes, cost));
        list.add(Engine::Levels, Fits::Always);
        return list.candidates;
    }
    let from = compute_bound
        .as_ref()
        .map_or(u64::MAX, |compute_bound| compute_bound.from);
    let enough = at_once.iter().position(|policy| policy.at_once() >= from);
    let shares_follow = enough.is_some();
    at_once.truncate(enough.map_or(usize::MAX, |last| last + 1));
    let wave = wave.filter(|_| !shares_follow);
    let wave_follows =
        wave.is_some_and(|wave| wave.anywhere || wave.anywhere_of(layouts).is_some());
    if !shares_follow && !wave_follows {
        at_once.push(RowPolicy::for_scan(layouts, capability, true));
    }
    if let Some(compute_bound) = &compute_bound {
        list.add_shares(compute_bound);
    }
    list.add_rows_around(at_once, |list| {
        if let Some(policy) = wave {
            list.add_wave(policy, Fits::Always);
        }
    });
    list.candidates
}

/// One engine for every call, and rows where that one cannot run: for inputs that block does not
/// hold, and for addresses that wave cannot take.
#[cfg(any(feature = "cuda", test))]
pub(super) fn only<K: Clone>(
    kernel: &dyn Fn(Engine) -> K,
    layouts: Layouts,
    capability: u32,
    engine: Engine,
) -> Candidates<K> {
    let mut list = Builder::new(kernel, layouts);
    let rows = |long| RowPolicy::for_scan(layouts, capability, long);
    match engine {
        Engine::Levels => list.add(engine, Fits::Always),
        Engine::Shares(_) => list.add(engine, Fits::Always),
        Engine::Rows(policy) => list.add_rows_around(vec![policy], |_| ()),
        Engine::Block(_) => {
            list.add(engine, Fits::Always);
            list.add_rows_around(vec![rows(true)], |_| ());
        }
        Engine::Wave(policy) => {
            list.add_wave(policy, Fits::Always);
            list.add_rows_around(vec![rows(false), rows(true)], |_| ());
        }
    }
    list.candidates
}

struct Builder<'a, K> {
    kernel: &'a dyn Fn(Engine) -> K,
    layouts: Layouts,
    candidates: Candidates<K>,
}

impl<'a, K: Clone> Builder<'a, K> {
    fn new(kernel: &'a dyn Fn(Engine) -> K, layouts: Layouts) -> Self {
        Builder {
            kernel,
            layouts,
            candidates: Candidates::new(layouts, Does::Each),
        }
    }

    fn add(&mut self, engine: Engine, fits: Fits) {
        self.candidates.add((self.kernel)(engine), engine, fits);
    }

    /// The wave engine, and the one for unaligned addresses, which is loaded when one is met.
    fn add_wave(&mut self, policy: WavePolicy, fits: Fits) {
        self.add(Engine::Wave(policy), fits);
        if !policy.anywhere
            && let Some(anywhere) = policy.anywhere_of(self.layouts)
        {
            let engine = Engine::Wave(anywhere);
            let kernel = (self.kernel)(engine);
            self.candidates.add_later(kernel, engine, fits);
        }
    }

    /// The shares engine: tiles for some numbers of items a multiprocessor, and for all others.
    fn add_shares(&mut self, compute_bound: &ComputeBoundScan) {
        let from = compute_bound.from;
        let mut add = |to, policy: SharePolicy| {
            self.add(Engine::Shares(policy), Fits::Each { from, to });
        };
        for &(to, policy) in &compute_bound.middle {
            add(to, policy);
        }
        add(u64::MAX, compute_bound.shares);
    }

    /// The rows engine for what the GPU holds at once, then `others`, and for what is left the last
    /// of the rows.
    fn add_rows_around(&mut self, rows: Vec<RowPolicy>, others: impl FnOnce(&mut Self)) {
        let mut last = None;
        for policy in rows {
            let engine = Engine::Rows(policy);
            let kernel = (self.kernel)(engine);
            self.candidates.add(kernel.clone(), engine, Fits::AtOnce);
            last = Some((kernel, engine));
        }
        others(self);
        if let Some((kernel, engine)) = last {
            self.candidates.add_later(kernel, engine, Fits::Always);
        }
    }
}

/// What a scan of an aligned slice of so many items does on a GPU.
///
/// # Errors
///
/// Those of a call with so many items.
pub fn explain_scan<T: Element, Op: Monoid<T>>(
    machine: Machine,
    inclusive: bool,
    len: usize,
) -> Result<Explanation> {
    let cost = cost::<T, Op>();
    let facts = facts::<T, Op>(machine.capability, cost);
    let (layouts, how) = (Layouts::of_slice::<T>(), (inclusive, Op::COMMUTATIVE));
    explain(layouts, machine, how, cost, len).map(|explanation| explanation.depending_on(facts))
}

/// The part of [`explain_scan`] that is compiled once.
fn explain(
    layouts: Layouts,
    machine: Machine,
    (inclusive, commutes): (bool, bool),
    cost: u32,
    len: usize,
) -> Result<Explanation> {
    let candidates = for_operator(&|_| (), layouts, machine.capability, commutes, cost);
    let extent = Extent {
        len,
        inclusive,
        aligned: true,
        multiprocessors: machine.multiprocessors,
    };
    explain_of(&candidates, extent)
}

/// What a call does: nothing without items.
pub(super) fn explain_of<K>(candidates: &Candidates<K>, extent: Extent) -> Result<Explanation> {
    let mut explanation = candidates.explain("scan", extent)?;
    if extent.len == 0 {
        explanation.launches.clear();
    }
    Ok(explanation)
}

#[cfg(test)]
#[path = "candidates_tests.rs"]
mod tests;
