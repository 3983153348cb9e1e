//! The engines that scans have, and which of them makes which scan.

use super::plan::{ScanPlan, SharePlan, WavePlan};
use crate::Element;
use crate::codegen::{
    BlockPolicy, CostlyScanPolicy, Engine, Plan, Primitive, RowPolicy, SharePolicy, WavePolicy,
};
use crate::cuda::block::Block;
use crate::cuda::kernels::{Lazy, Request};
use crate::source::Form;

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

/// The rows engine ([`Engine::Rows`]).
#[derive(Debug, Clone)]
pub(super) struct Rows {
    kernels: Lazy,
    policy: RowPolicy,
}

/// The shares engine ([`Engine::Shares`]), for at least so many elements a multiprocessor.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    from: u64,
    /// Each for up to so many elements a multiprocessor, from short inputs to all others.
    tiles: Vec<(u64, Lazy, SharePolicy)>,
}

/// The wave engine ([`Engine::Wave`]), where it can run.
#[derive(Debug, Clone)]
pub(super) struct Wave {
    kernels: Lazy,
    policy: WavePolicy,
    /// Those for unaligned addresses, no multiples of 16. They are loaded when one is met.
    anywhere: Option<(Lazy, WavePolicy)>,
    /// Whether it is to take short inputs too.
    always: bool,
}

/// The wave engine between two others: for at most so many tiles a multiprocessor.
#[derive(Debug, Clone)]
pub(super) struct Middle {
    wave: Wave,
    reach: u64,
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

impl Rows {
    /// Longer elements do not leave a thread enough registers for its tree.
    const LARGEST_ELEMENT: usize = 16;

    /// What a GPU holds at once is not for more of them: workspaces have room for no more blocks.
    const MOST_MULTIPROCESSORS: u32 = 1024;

    fn new(request: Request, policy: RowPolicy) -> Rows {
        Rows {
            kernels: Lazy::new(request, Engine::Rows(policy)),
            policy,
        }
    }

    fn plan(&self, input: Input) -> ScanPlan {
        let Input {
            len,
            inclusive,
            aligned: _,
            multiprocessors,
        } = input;
        let multiprocessors = multiprocessors.min(Self::MOST_MULTIPROCESSORS);
        ScanPlan::new(self.policy, len, inclusive, multiprocessors)
    }

    /// The first by which the GPU holds all at once.
    fn at_once(rows: &[Rows], input: Input) -> Option<Choice<'_>> {
        let mut plans = rows.iter().map(|rows| (&rows.kernels, rows.plan(input)));
        let (kernels, plan) = plans.find(|(_, plan)| !plan.by_ticket)?;
        Some(Choice::Rows(kernels, plan))
    }
}

impl Shares {
    fn of(request: Request, costly: &CostlyScanPolicy) -> Shares {
        let middle = costly.middle.iter().copied();
        let tiles = middle.chain([(u64::MAX, costly.shares)]);
        Shares::new(request, costly.from, tiles)
    }

    fn new(
        request: Request,
        from: u64,
        tiles: impl IntoIterator<Item = (u64, SharePolicy)>,
    ) -> Shares {
        let tiles = tiles.into_iter().map(|(most, policy)| {
            let kernels = Lazy::new(request, Engine::Shares(policy));
            (most, kernels, policy)
        });
        Shares {
            from,
            tiles: tiles.collect(),
        }
    }

    fn kernels(&self) -> impl Iterator<Item = &Lazy> {
        self.tiles.iter().map(|(_, kernels, _)| kernels)
    }

    /// The engine for `len` elements, if these are enough.
    fn choose(&self, len: usize, multiprocessors: u32) -> Option<Choice<'_>> {
        let each = (len as u64).div_ceil(multiprocessors.max(1).into());
        let fitting = self.tiles.iter().find(|(most, ..)| each <= *most);
        let (_, kernels, policy) = fitting.filter(|_| each >= self.from)?;
        Some(Choice::Shares(kernels, SharePlan::new(*policy, len)))
    }
}

impl Wave {
    fn new<F: Form<Item: Element>>(request: Request, policy: WavePolicy, always: bool) -> Wave {
        let lazy = |policy| Lazy::new(request, Engine::Wave(policy));
        let anywhere = policy.anywhere_of::<F>();
        Wave {
            kernels: lazy(policy),
            policy,
            anywhere: anywhere.map(|policy| (lazy(policy), policy)),
            always,
        }
    }

    /// The engine for `len` elements, if it takes addresses that all are `aligned`, or not.
    fn choose(&self, len: usize, aligned: bool) -> Option<(&Lazy, WavePlan)> {
        let (kernels, policy) = self.at(aligned)?;
        Some((kernels, WavePlan::new(policy, len)))
    }

    /// Kernels and policy for addresses that all are `aligned`, or not.
    fn at(&self, aligned: bool) -> Option<(&Lazy, WavePolicy)> {
        if self.policy.anywhere || aligned {
            return Some((&self.kernels, self.policy));
        }
        let (kernels, policy) = self.anywhere.as_ref()?;
        Some((kernels, *policy))
    }
}

impl Middle {
    /// If at least a quarter of the multiprocessors have a tile, and none has too many.
    fn choose(&self, input: Input) -> Option<Choice<'_>> {
        let Input {
            len,
            inclusive,
            aligned,
            multiprocessors,
        } = input;
        let (kernels, plan) = self.wave.choose(len, aligned)?;
        let (tiles, places) = (plan.tiles(inclusive), u64::from(multiprocessors));
        let fits = 4 * tiles > places && tiles <= self.reach.saturating_mul(places);
        fits.then_some(Choice::Wave(kernels, plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Monoid;
    use crate::codegen::Definitions;
    use crate::primitives::scan::kernel;
    use crate::source::Slice;

    /// The number of multiprocessors of an H100 and of an H200.
    const MULTIPROCESSORS: u32 = 132;

    const CHEAP: u32 = 1;
    const COSTLY: u32 = 100;

    /// Nothing is compiled, and nothing runs.
    struct Operator;

    impl<T: Element> Monoid<T> for Operator {
        fn identity() -> T {
            unreachable!()
        }

        fn combine(_: T::Accumulator, _: T::Accumulator) -> T::Accumulator {
            unreachable!()
        }

        fn cuda(_: &mut Definitions) -> String {
            unreachable!()
        }
    }

    fn request<T: Element>() -> Request {
        Request::of::<kernel::Scan<T, Operator>>()
    }

    fn engines<T: Element>(capability: u32, commutes: bool, cost: u32) -> Engines {
        Engines::for_operator::<Slice<T>>(request::<T>(), capability, commutes, || cost)
    }

    /// Of an exclusive scan of aligned slices.
    fn input(len: usize) -> Input {
        Input {
            len,
            inclusive: false,
            aligned: true,
            multiprocessors: MULTIPROCESSORS,
        }
    }

    /// The names of the engines that take 1000, 2^18, and 2^28 elements, at any address.
    fn names(engines: &Engines) -> [&'static str; 3] {
        [1000, 1 << 18, 1 << 28].map(|len| name(engines, len, false))
    }

    fn name(engines: &Engines, len: usize, aligned: bool) -> &'static str {
        let choice = engines.choose(Input {
            inclusive: true,
            aligned,
            ..input(len)
        });
        match choice {
            Choice::Block(..) => "block",
            Choice::Levels(_) => "levels",
            Choice::Rows(_, plan) if plan.by_ticket => "rows, in turns",
            Choice::Rows(..) => "rows",
            Choice::Shares(..) => "shares",
            Choice::Wave(_, plan) if plan.policy.anywhere => "wave, anywhere",
            Choice::Wave(..) => "wave",
        }
    }

    #[test]
    fn cheap_operators() {
        let hopper = engines::<f32>(90, true, CHEAP);
        assert_eq!(names(&hopper), ["block", "rows", "wave, anywhere"]);
        assert_eq!(name(&hopper, 1 << 28, true), "wave");
        let ampere = engines::<f32>(80, true, CHEAP);
        assert_eq!(names(&ampere), ["block", "rows", "rows, in turns"]);
        assert_eq!(name(&ampere, 1 << 28, true), "rows, in turns");
    }

    /// What the GPU holds at once is not scanned in turns: with up to 64 numbers a lane.
    #[test]
    fn middle_lengths() {
        let engines = engines::<f32>(90, true, CHEAP);
        let held = |len| match engines.choose(input(len)) {
            Choice::Rows(_, plan) if !plan.by_ticket => len as u64 / plan.blocks,
            other => panic!("{len}: {other:?}"),
        };
        let tiles = [
            1 << 20,
            1_100_000,
            2_700_000,
            2_710_000,
            3_240_000,
            3_250_000,
            4_325_000,
        ];
        // One with more elements a warp follows one with more blocks.
        let tiles = tiles.map(held).map(u64::next_power_of_two);
        assert_eq!(tiles, [8192, 4096, 4096, 4096, 4096, 8192, 8192]);
        assert_eq!(name(&engines, 4_330_000, true), "wave");
    }

    /// If one block a multiprocessor holds all, few warps that hold much are faster by cheap
    /// operators, and many warps by those that cost more.
    #[test]
    fn one_block_a_multiprocessor() {
        fn check<T: Element>(cost: u32, len: usize, warps: u32, elements_of_a_lane: u64) {
            let engines = engines::<T>(90, true, cost);
            let Choice::Rows(_, plan) = engines.choose(input(len)) else {
                panic!("{len} elements");
            };
            let lanes = plan.blocks * u64::from(32 * plan.warps);
            let elements = (len as u64).div_ceil(lanes).next_power_of_two();
            let found = (plan.blocks, plan.warps, elements);
            assert_eq!(found, (129, warps, elements_of_a_lane), "{len} elements");
        }
        check::<f32>(19, 1_050_000, 8, 32);
        check::<f32>(20, 1_050_000, 16, 16);
        check::<u16>(CHEAP, 2_100_000, 8, 64);
        check::<u8>(CHEAP, 2_100_000, 16, 32);
        check::<f64>(CHEAP, 525_000, 8, 16);
        check::<f64>(CHEAP, 1_050_000, 16, 16);
    }

    /// As the documentation of `Scan::load` says.
    #[test]
    fn a_scan_has_some_kernels() {
        fn most<T: Element>() -> usize {
            let engines = (0..300).map(|cost| engines::<T>(90, true, cost));
            engines
                .map(|engines| engines.kernels().count())
                .max()
                .unwrap()
        }
        let most = [
            most::<u8>(),
            most::<f32>(),
            most::<f64>(),
            most::<[f64; 2]>(),
        ];
        assert_eq!(most.into_iter().max(), Some(13));
    }

    /// Items that are widened leave registers for five blocks of four warps, not for six.
    #[test]
    fn widened_items() {
        fn policies<T: Element>() -> Vec<u32> {
            let policies = RowPolicy::for_scans_at_once::<Slice<T>>(90, CHEAP);
            policies.iter().map(|policy| policy.blocks).collect()
        }
        assert!(policies::<f32>().contains(&6));
        assert_eq!(policies::<half::f16>(), [1, 5, 4]);
    }

    /// The wave engine hides a medium cost behind memory, up to some length.
    #[test]
    fn costly_operators() {
        for capability in [80, 90] {
            let costly = engines::<f32>(capability, false, COSTLY);
            assert_eq!(names(&costly), ["block", "rows", "shares"]);
            assert_eq!(name(&costly, 1 << 28, true), "shares");
            // Tiles are small where there are few for each multiprocessor.
            let tile = |len, multiprocessors| {
                let choice = costly.choose(Input {
                    multiprocessors,
                    ..input(len)
                });
                match choice {
                    Choice::Shares(_, plan) => (len as u64).div_ceil(plan.tiles(false)),
                    other => panic!("{other:?}"),
                }
            };
            assert!(tile(1 << 21, MULTIPROCESSORS) < tile(1 << 24, MULTIPROCESSORS));
            assert_eq!(tile(1 << 20, 16), tile(1 << 24, MULTIPROCESSORS));
        }
        let medium = engines::<f64>(90, false, 19);
        assert_eq!(names(&medium), ["block", "rows", "shares"]);
        assert_eq!(name(&medium, 1 << 22, true), "wave");
        // Where it would combine each element three times for nothing, rows go on up to shares.
        let dear = engines::<f32>(90, false, 36);
        assert_eq!(names(&dear), ["block", "rows", "shares"]);
        assert_eq!(name(&dear, 3 << 20, true), "rows");
        assert_eq!(name(&dear, 1 << 22, true), "shares");
        let has_wave = |engines: &Engines| match &engines.longer {
            Longer::OneLaunch { wave, .. } => wave.is_some(),
            other => panic!("{other:?}"),
        };
        assert!(has_wave(&medium) && !has_wave(&dear));
        let turing = engines::<f32>(75, false, COSTLY);
        assert_eq!(names(&turing), ["block", "rows", "rows, in turns"]);
    }

    /// The longer elements are, and the more an operator costs, the sooner a launch a level is
    /// faster than waves; sooner still where the order of operands counts.
    #[test]
    fn long_elements() {
        let ordered = engines::<[f64; 6]>(90, false, CHEAP);
        assert_eq!(name(&ordered, 500_000, true), "wave");
        assert_eq!(name(&ordered, 1 << 20, true), "levels");
        let ordered = engines::<[f64; 6]>(90, false, 17);
        assert_eq!(names(&ordered), ["rows", "levels", "levels"]);
        assert_eq!(name(&ordered, 131 << 10, true), "wave");
        assert_eq!(name(&ordered, 133 << 10, true), "levels");
        for commuting in [
            engines::<[f64; 6]>(90, true, CHEAP),
            engines::<[f64; 8]>(90, true, CHEAP),
        ] {
            assert_eq!(
                names(&commuting),
                ["rows", "wave, anywhere", "wave, anywhere"]
            );
            assert_eq!(name(&commuting, 1 << 28, true), "wave");
        }
        for shorter in [
            engines::<[f64; 3]>(90, false, CHEAP),
            engines::<[f64; 5]>(90, false, CHEAP),
        ] {
            assert_eq!(
                names(&shorter),
                ["rows", "wave, anywhere", "wave, anywhere"]
            );
            assert_eq!(name(&shorter, 1 << 28, true), "wave");
        }
        let costly = engines::<[f64; 3]>(90, false, COSTLY);
        assert_eq!(names(&costly), ["rows", "shares", "shares"]);
        assert_eq!(name(&costly, 1 << 28, true), "shares");
        let costly = engines::<[f64; 8]>(90, true, COSTLY);
        assert_eq!(names(&costly), ["rows", "wave, anywhere", "levels"]);
        let costly = engines::<[f32; 9]>(90, false, 46);
        assert_eq!(names(&costly), ["rows", "wave, anywhere", "shares"]);
    }

    /// What a GPU holds at once takes one launch, also of long elements.
    #[test]
    fn long_elements_at_once() {
        let engines = engines::<[f64; 8]>(90, true, CHEAP);
        let held = |len: usize| match engines.choose(input(len)) {
            Choice::Rows(_, plan) if !plan.by_ticket => {
                let each = (len as u64).div_ceil(plan.blocks);
                (plan.blocks, each.next_power_of_two())
            }
            other => panic!("{len}: {other:?}"),
        };
        let blocks = [33_792, 33_793, 67_584].map(held);
        assert_eq!(blocks, [(132, 256), (67, 512), (132, 512)]);
        assert_eq!(name(&engines, 67_585, true), "wave");
    }

    /// Three floats have two shapes of blocks: for sums, and for what costs more.
    #[test]
    fn the_cost_decides_on_the_shape_of_blocks() {
        let warps = |cost| {
            let engines = engines::<[f32; 3]>(90, false, cost);
            match engines.choose(input(1 << 28)) {
                Choice::Wave(_, plan) => plan.policy.warps,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([CHEAP, 19, 20, 23].map(warps), [8, 8, 16, 16]);
    }

    #[test]
    fn one_engine_takes_everything() {
        let only = |engine| Engines::only::<Slice<f32>>(request::<f32>(), 90, engine);
        let names = |engine| names(&only(engine));
        assert_eq!(names(Engine::Levels), ["levels"; 3]);
        let rows = RowPolicy::for_scan::<Slice<f32>>(90, true);
        assert_eq!(
            names(Engine::Rows(rows)),
            ["rows", "rows", "rows, in turns"]
        );
        let costly = CostlyScanPolicy::of::<Slice<f32>>(90, COSTLY).unwrap();
        assert_eq!(names(Engine::Shares(costly.shares)), ["shares"; 3]);
        let wave = WavePolicy::for_form::<Slice<f32>>(90).unwrap();
        assert_eq!(names(Engine::Wave(wave)), ["wave, anywhere"; 3]);
        // A block is for short inputs alone.
        let block = BlockPolicy::for_scan::<Slice<f32>>(90, CHEAP).unwrap();
        assert_eq!(
            names(Engine::Block(block)),
            ["block", "rows", "rows, in turns"]
        );
    }

    /// A workspace for a length serves the engine of every shorter one.
    #[test]
    fn workspaces_are_large_enough() {
        fn check<T: Element>(engines: &Engines) {
            let packets = size_of::<T::Accumulator>().div_ceil(8);
            let lengths = (0..29).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1]);
            let mut needed = 0;
            for (len, inclusive) in lengths.flat_map(|len| [(len, false), (len, true)]) {
                let choice = engines.choose(Input {
                    inclusive,
                    ..input(len)
                });
                needed = needed.max(match choice {
                    Choice::Rows(_, plan) if plan.blocks == 1 => 0,
                    Choice::Rows(_, plan) => 8 * packets * plan.blocks as usize,
                    Choice::Shares(_, plan) => plan.workspace_bytes::<T>(),
                    Choice::Wave(_, plan) => plan.workspace_bytes::<T>(),
                    Choice::Block(..) => 0,
                    Choice::Levels(_) => unreachable!("elements are short"),
                });
                let has = engines.workspace_bytes::<T>(len);
                assert!(has >= needed, "{len} elements: {has} bytes of {needed}");
            }
        }
        for (capability, cost) in [(90, CHEAP), (90, COSTLY), (80, CHEAP), (90, 25)] {
            check::<f32>(&engines::<f32>(capability, true, cost));
            check::<[f64; 2]>(&engines::<[f64; 2]>(capability, true, cost));
        }
    }
}
