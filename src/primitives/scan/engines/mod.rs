//! The engines that scans have, and which of them makes which scan.

mod rows;
mod shares;
#[cfg(test)]
mod tests;
mod wave;

use crate::Element;
use crate::cuda::block::Block;
use crate::cuda::kernels::Lazy;
use crate::engine::{
    BlockPolicy, CostlyScanPolicy, Engine, Plan, Primitive, RowPolicy, WavePolicy,
};
use crate::engine::{ScanPlan, SharePlan, WavePlan};
use crate::render::Kernel;
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
    /// For elements too long for a thread's registers, and for costly operators.
    Steps {
        /// For what the GPU holds at once: the first by which that is so.
        short: Vec<Rows>,
        /// For some of what is longer.
        middle: Option<Middle>,
        /// For everything else.
        rest: Rest,
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
}

/// An engine for every length.
#[derive(Debug, Clone)]
enum Rest {
    /// The levels engine ([`Engine::Levels`]).
    Levels(Lazy),
    /// For costly operators.
    Shares(Shares),
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
        kernel: fn(Engine) -> Kernel,
        capability: u32,
        commutes: bool,
        cost: u32,
    ) -> Engines {
        let block = BlockPolicy::for_scan::<F>(capability, cost);
        Engines {
            block: block.map(|policy| Block::new(kernel, policy)),
            longer: Longer::for_operator::<F>(kernel, capability, commutes, cost),
        }
    }

    /// One engine, for every input. The wave engine has the rows engine beside it, for addresses
    /// that it cannot have, and the block engine, for longer inputs.
    pub(super) fn only<F: Form<Item: Element>>(
        kernel: fn(Engine) -> Kernel,
        capability: u32,
        engine: Engine,
    ) -> Engines {
        let (block, longer) = match engine {
            Engine::Block(policy) => (
                Some(Block::new(kernel, policy)),
                Engine::Rows(RowPolicy::for_scan::<F>(capability, true)),
            ),
            engine => (None, engine),
        };
        Engines {
            block,
            longer: Longer::only::<F>(kernel, capability, longer),
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
        kernel: fn(Engine) -> Kernel,
        capability: u32,
        commutes: bool,
        cost: u32,
    ) -> Longer {
        let wave = WavePolicy::for_operator::<F>(capability, commutes, cost)
            .filter(|&policy| Engine::Wave(policy).runs_on(capability));
        let costly = CostlyScanPolicy::of::<F>(capability, cost);
        let rows = |policies: Vec<RowPolicy>| -> Vec<Rows> {
            let policies = policies.into_iter();
            policies.map(|policy| Rows::new(kernel, policy)).collect()
        };
        let middle = |reach: u64| {
            let wave = wave.filter(|_| reach > 0);
            let wave = wave.map(|policy| Wave::new::<F>(kernel, policy, false));
            wave.map(|wave| Middle { wave, reach })
        };
        if let Some(costly) = &costly
            && !costly.short.is_empty()
        {
            return Longer::Steps {
                short: rows(costly.short.clone()),
                middle: middle(WavePolicy::reach_before_shares::<F>()),
                rest: Rest::Shares(Shares::of(kernel, costly)),
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
            let wave = wave.map(|policy| Wave::new::<F>(kernel, policy, false));
            let wave_follows = wave.as_ref().is_some_and(|wave| wave.at(false).is_some());
            if !shares_follow && !wave_follows {
                at_once.push(RowPolicy::for_scan::<F>(capability, true));
            }
            return Longer::OneLaunch {
                shares: costly.map(|costly| Shares::of(kernel, &costly)),
                rows: rows(at_once),
                wave,
            };
        }
        Longer::Steps {
            short: rows(at_once),
            middle: middle(WavePolicy::reach::<F>(commutes, cost)),
            rest: Rest::Levels(Lazy::new(kernel(Engine::Levels))),
        }
    }

    fn only<F: Form<Item: Element>>(
        kernel: fn(Engine) -> Kernel,
        capability: u32,
        engine: Engine,
    ) -> Longer {
        let alone = |rest| Longer::Steps {
            short: Vec::new(),
            middle: None,
            rest,
        };
        match engine {
            Engine::Levels => alone(Rest::Levels(Lazy::new(kernel(engine)))),
            Engine::Rows(policy) => Longer::OneLaunch {
                shares: None,
                rows: vec![Rows::new(kernel, policy)],
                wave: None,
            },
            Engine::Shares(policy) => {
                let shares = Shares::new(kernel, 0, [(u64::MAX, policy)]);
                alone(Rest::Shares(shares))
            }
            Engine::Wave(policy) => {
                let rows = |long| Rows::new(kernel, RowPolicy::for_scan::<F>(capability, long));
                Longer::OneLaunch {
                    shares: None,
                    rows: vec![rows(false), rows(true)],
                    wave: Some(Wave::new::<F>(kernel, policy, true)),
                }
            }
            Engine::Block(_) => unreachable!("it is for short inputs"),
        }
    }

    fn kernels(&self) -> Vec<&Lazy> {
        match self {
            Longer::Steps {
                short,
                middle,
                rest,
            } => {
                let wave = middle.iter().map(|middle| &middle.wave.kernels);
                let short = short.iter().map(|rows| &rows.kernels);
                rest.kernels()
                    .into_iter()
                    .chain(short)
                    .chain(wave)
                    .collect()
            }
            Longer::OneLaunch { shares, rows, wave } => {
                let shares = shares.iter().flat_map(Shares::kernels);
                let rows = rows.iter().map(|rows| &rows.kernels);
                let wave = wave.iter().map(|wave| &wave.kernels);
                shares.chain(rows).chain(wave).collect()
            }
        }
    }

    fn workspace_bytes<T: Element>(&self, len: usize) -> usize {
        match self {
            Longer::Steps {
                short,
                middle,
                rest,
            } => {
                let short = short.iter().map(|rows| rows.at_once_bytes::<T>(len));
                let wave = middle.iter().map(|middle| middle.wave.bytes::<T>(len));
                short.chain(wave).fold(rest.bytes::<T>(len), usize::max)
            }
            Longer::OneLaunch { shares, rows, wave } => {
                let shares = shares.iter().map(|shares| shares.bytes::<T>(len));
                let rows = rows.iter().map(|rows| rows.bytes::<T>(len));
                let wave = wave.iter().map(|wave| wave.bytes::<T>(len));
                shares.chain(rows).chain(wave).max().unwrap_or(0)
            }
        }
    }

    fn choose(&self, input: Input) -> Choice<'_> {
        match self {
            Longer::Steps {
                short,
                middle,
                rest,
            } => Rows::at_once(short, input)
                .or_else(|| middle.as_ref()?.choose(input))
                .unwrap_or_else(|| rest.choose(input)),
            Longer::OneLaunch { shares, rows, wave } => {
                let always = wave.as_ref().is_some_and(|wave| wave.always);
                let of_wave = || {
                    let (kernels, plan) = wave.as_ref()?.choose(input)?;
                    Some(Choice::Wave(kernels, plan))
                };
                of_wave()
                    .filter(|_| always)
                    .or_else(|| shares.as_ref()?.choose(input))
                    .or_else(|| Rows::at_once(rows, input))
                    .or_else(of_wave)
                    .unwrap_or_else(|| {
                        let last = rows.last().expect("there are rows");
                        Choice::Rows(&last.kernels, last.plan(input))
                    })
            }
        }
    }
}

impl Rest {
    fn kernels(&self) -> Vec<&Lazy> {
        match self {
            Rest::Levels(levels) => vec![levels],
            Rest::Shares(shares) => shares.kernels().collect(),
        }
    }

    fn bytes<T: Element>(&self, len: usize) -> usize {
        match self {
            Rest::Levels(_) => Plan::new::<T>(Primitive::Scan, len).workspace_bytes(),
            Rest::Shares(shares) => shares.bytes::<T>(len),
        }
    }

    fn choose(&self, input: Input) -> Choice<'_> {
        match self {
            Rest::Levels(levels) => Choice::Levels(levels),
            Rest::Shares(shares) => shares.choose(input).expect("they are for all lengths"),
        }
    }
}
