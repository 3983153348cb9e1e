//! The engines that scans have, and which of them makes which scan.

mod rows;
mod shares;
#[cfg(test)]
mod tests;
mod wave;

use super::plan::{ScanPlan, SharePlan, WavePlan};
use crate::Element;
use crate::codegen::{
    BlockPolicy, CostlyScanPolicy, Engine, Plan, Primitive, RowPolicy, WavePolicy,
};
use crate::cuda::block::Block;
use crate::cuda::kernels::{Lazy, Request};
use crate::source::Form;
use rows::Rows;
use shares::Shares;
use wave::{Middle, Wave};

/// The engines that scans with one operator choose from.
#[derive(Debug, Clone)]
pub(super) struct Engines {
    /// For short inputs.
    block: Option<Block>,
    /// For all others.
    longer: Longer,
}

/// The engines for what one block does not hold.
#[derive(Debug, Clone)]
enum Longer {
    /// For elements too long for a thread's registers.
    Levels {
        /// For what the GPU holds at once: the first by which that is so.
        short: Vec<Rows>,
        /// For some of what is longer.
        wave: Option<Middle>,
        /// The levels engine ([`Engine::Levels`]), for everything else.
        levels: Lazy,
    },
    /// For all others.
    OneLaunch {
        /// For what is so long that this engine is the fastest.
        shares: Option<Shares>,
        /// For what the GPU holds at once: the first by which that is so. If no engine is left for
        /// what is longer, the last one takes it.
        rows: Vec<Rows>,
        /// For everything else. It is slower to start, but loads while it stores.
        wave: Option<Wave>,
    },
    /// For costly operators.
    Shares {
        /// For what the GPU holds at once: the first by which that is so.
        short: Vec<Rows>,
        /// For some of what is longer.
        wave: Option<Middle>,
        /// For everything else.
        shares: Shares,
    },
}

/// What the choice of an engine depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input {
    /// The number of elements.
    pub(super) len: usize,
    /// Whether the scan is an inclusive one.
    pub(super) inclusive: bool,
    /// Whether all addresses are multiples of [`WavePolicy::ALIGN`].
    pub(super) aligned: bool,
    /// The number of multiprocessors of the GPU.
    pub(super) multiprocessors: u32,
}

/// The engine that makes a scan, and how it cuts it up.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    /// By one block of so many threads.
    Block(&'a Lazy, u32),
    Rows(&'a Lazy, ScanPlan),
    Wave(&'a Lazy, WavePlan),
    Shares(&'a Lazy, SharePlan),
    Levels(&'a Lazy),
}

impl Engines {
    /// Those that are fastest on GPUs of compute capability `capability`, for an operator that
    /// `commutes` or not, and costs so many [instructions](crate::codegen::cost()).
    pub(super) fn for_operator<F: Form<Item: Element>>(
        request: Request,
        capability: u32,
        commutes: bool,
        cost: impl FnOnce() -> u32,
    ) -> Engines {
        let cost = cost();
        let block = BlockPolicy::for_scan::<F>(capability, cost);
        Engines {
            block: block.map(|policy| Block::new(request, policy)),
            longer: Longer::for_operator::<F>(request, capability, commutes, cost),
        }
    }

    /// One engine, for every input. The wave engine has the rows engine beside it, for addresses
    /// that it cannot have, and the block engine, for longer inputs.
    pub(super) fn only<F: Form<Item: Element>>(
        request: Request,
        capability: u32,
        engine: Engine,
    ) -> Engines {
        let (block, longer) = match engine {
            Engine::Block(policy) => (
                Some(Block::new(request, policy)),
                Engine::Rows(RowPolicy::for_scan::<F>(capability, true)),
            ),
            engine => (None, engine),
        };
        Engines {
            block,
            longer: Longer::only::<F>(request, capability, longer),
        }
    }

    /// The kernels of all engines but those for unaligned addresses.
    pub(super) fn kernels(&self) -> impl Iterator<Item = &Lazy> {
        let block = self.block.iter().map(|block| &block.kernels);
        block.chain(self.longer.kernels())
    }

    /// The size of the workspace in bytes for `len` elements of type `T` or fewer.
    pub(super) fn workspace_bytes<T: Element>(&self, len: usize) -> usize {
        match self.in_one_block(len) {
            Some(_) => 0,
            None => self.longer.workspace_bytes::<T>(len),
        }
    }

    /// The engine for `input`.
    pub(super) fn choose(&self, input: Input) -> Choice<'_> {
        let in_one_block = self.in_one_block(input.len);
        in_one_block.unwrap_or_else(|| self.longer.choose(input))
    }

    fn in_one_block(&self, len: usize) -> Option<Choice<'_>> {
        let block = self.block.as_ref()?;
        Some(Choice::Block(&block.kernels, block.threads(len)?))
    }
}

impl Longer {
    fn for_operator<F: Form<Item: Element>>(
        request: Request,
        capability: u32,
        commutes: bool,
        cost: u32,
    ) -> Longer {
        let wave = WavePolicy::for_operator::<F>(capability, commutes, cost)
            .filter(|&policy| Engine::Wave(policy).runs_on(capability));
        let costly = CostlyScanPolicy::of::<F>(capability, cost);
        let rows = |policies: Vec<RowPolicy>| -> Vec<Rows> {
            let policies = policies.into_iter();
            policies.map(|policy| Rows::new(request, policy)).collect()
        };
        let middle = |reach: u64| {
            let wave = wave.filter(|_| reach > 0);
            let wave = wave.map(|policy| Wave::new::<F>(request, policy, false));
            wave.map(|wave| Middle { wave, reach })
        };
        if let Some(costly) = &costly
            && !costly.short.is_empty()
        {
            return Longer::Shares {
                short: rows(costly.short.clone()),
                wave: middle(WavePolicy::reach_before_shares::<F>()),
                shares: Shares::of(request, costly),
            };
        }
        let mut at_once = RowPolicy::for_scans_at_once::<F>(capability, cost);
        let is_large = size_of::<<F::Item as Element>::Accumulator>() > Rows::LARGEST_ELEMENT;
        if !is_large {
            let from = costly.as_ref().map_or(u64::MAX, |costly| costly.from);
            let enough = at_once.iter().position(|policy| policy.at_once() >= from);
            let shares_follow = enough.is_some();
            at_once.truncate(enough.map_or(usize::MAX, |last| last + 1));
            let wave = wave.filter(|_| !shares_follow);
            let wave = wave.map(|policy| Wave::new::<F>(request, policy, false));
            let wave_follows = wave.as_ref().is_some_and(|wave| wave.at(false).is_some());
            if !shares_follow && !wave_follows {
                at_once.push(RowPolicy::for_scan::<F>(capability, true));
            }
            return Longer::OneLaunch {
                shares: costly.map(|costly| Shares::of(request, &costly)),
                rows: rows(at_once),
                wave,
            };
        }
        Longer::Levels {
            short: rows(at_once),
            wave: middle(WavePolicy::reach::<F>(commutes, cost)),
            levels: Lazy::new(request, Engine::Levels),
        }
    }

    fn only<F: Form<Item: Element>>(request: Request, capability: u32, engine: Engine) -> Longer {
        match engine {
            Engine::Levels => Longer::Levels {
                short: Vec::new(),
                wave: None,
                levels: Lazy::new(request, engine),
            },
            Engine::Rows(policy) => Longer::OneLaunch {
                shares: None,
                rows: vec![Rows::new(request, policy)],
                wave: None,
            },
            Engine::Shares(policy) => Longer::Shares {
                short: Vec::new(),
                wave: None,
                shares: Shares::new(request, 0, [(u64::MAX, policy)]),
            },
            Engine::Wave(policy) => {
                let rows = |long| Rows::new(request, RowPolicy::for_scan::<F>(capability, long));
                Longer::OneLaunch {
                    shares: None,
                    rows: vec![rows(false), rows(true)],
                    wave: Some(Wave::new::<F>(request, policy, true)),
                }
            }
            Engine::Block(_) => unreachable!("it is for short inputs"),
        }
    }

    fn kernels(&self) -> Vec<&Lazy> {
        match self {
            Longer::Levels {
                short,
                wave,
                levels,
            } => {
                let short = short.iter().map(|rows| &rows.kernels);
                let wave = wave.iter().map(|middle| &middle.wave.kernels);
                short.chain(wave).chain([levels]).collect()
            }
            Longer::OneLaunch { shares, rows, wave } => {
                let shares = shares.iter().flat_map(Shares::kernels);
                let rows = rows.iter().map(|rows| &rows.kernels);
                let wave = wave.iter().map(|wave| &wave.kernels);
                shares.chain(rows).chain(wave).collect()
            }
            Longer::Shares {
                short,
                wave,
                shares,
            } => {
                let short = short.iter().map(|rows| &rows.kernels);
                let wave = wave.iter().map(|middle| &middle.wave.kernels);
                shares.kernels().chain(short).chain(wave).collect()
            }
        }
    }

    fn workspace_bytes<T: Element>(&self, len: usize) -> usize {
        let of_rows = |rows: &Rows| ScanPlan::workspace_bytes::<T>(rows.policy, len);
        let of_short = |short: &[Rows]| {
            let at_once = |rows: &Rows| {
                let most = u64::from(Rows::MOST_MULTIPROCESSORS * rows.policy.blocks);
                of_rows(rows).min(ScanPlan::workspace_bytes_for::<T>(rows.policy, most))
            };
            short.iter().map(at_once).max()
        };
        let of_wave = |wave: &Wave| WavePlan::new(wave.policy, len).workspace_bytes::<T>();
        let of_shares = |shares: &Shares| {
            let tiles = shares.tiles.iter();
            let bytes = |policy| SharePlan::new(policy, len).workspace_bytes::<T>();
            tiles
                .map(|(_, _, policy)| bytes(*policy))
                .max()
                .unwrap_or(0)
        };
        let most = match self {
            Longer::Levels {
                short,
                wave,
                levels: _,
            } => vec![
                of_short(short),
                wave.as_ref().map(|middle| of_wave(&middle.wave)),
                Some(Plan::new::<T>(Primitive::Scan, len).workspace_bytes()),
            ],
            Longer::OneLaunch { shares, rows, wave } => vec![
                shares.as_ref().map(of_shares),
                rows.iter().map(of_rows).max(),
                wave.as_ref().map(of_wave),
            ],
            Longer::Shares {
                short,
                wave,
                shares,
            } => vec![
                of_short(short),
                wave.as_ref().map(|middle| of_wave(&middle.wave)),
                Some(of_shares(shares)),
            ],
        };
        most.into_iter().flatten().max().unwrap_or(0)
    }

    fn choose(&self, input: Input) -> Choice<'_> {
        let Input {
            len,
            inclusive: _,
            aligned,
            multiprocessors,
        } = input;
        let of_shares = |shares| Shares::choose(shares, len, multiprocessors);
        match self {
            Longer::Levels {
                short,
                wave,
                levels,
            } => {
                let of_wave = || wave.as_ref()?.choose(input);
                Rows::at_once(short, input)
                    .or_else(of_wave)
                    .unwrap_or(Choice::Levels(levels))
            }
            Longer::OneLaunch { shares, rows, wave } => {
                let always = wave.as_ref().is_some_and(|wave| wave.always);
                let of_wave = || {
                    let (kernels, plan) = wave.as_ref()?.choose(len, aligned)?;
                    Some(Choice::Wave(kernels, plan))
                };
                of_wave()
                    .filter(|_| always)
                    .or_else(|| shares.as_ref().and_then(of_shares))
                    .or_else(|| Rows::at_once(rows, input))
                    .or_else(of_wave)
                    .unwrap_or_else(|| {
                        let last = rows.last().expect("there are rows");
                        Choice::Rows(&last.kernels, last.plan(input))
                    })
            }
            Longer::Shares {
                short,
                wave,
                shares,
            } => Rows::at_once(short, input)
                .or_else(|| wave.as_ref()?.choose(input))
                .or_else(|| of_shares(shares))
                .expect("they are for all lengths"),
        }
    }
}
