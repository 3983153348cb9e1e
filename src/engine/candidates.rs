//! Which kernel takes which call: of a list of candidates, the first that fits. Pure, so that a
//! choice can be explained without a GPU.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::{
    Engine, Explanation, LaunchShape, Layouts, Order, Plan, Primitive, ReducePlan, ReducePolicy,
    RowPolicy, ScanPlan, SharePlan, WavePlan, WavePolicy,
};
use crate::{Error, Result};

/// What the choice depends on, of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// The number of items.
    pub(crate) len: usize,
    /// Whether it is an inclusive scan.
    pub(crate) inclusive: bool,
    /// Whether all addresses are multiples of [`WavePolicy::ALIGN`].
    pub(crate) aligned: bool,
    /// The number of multiprocessors of the GPU.
    pub(crate) multiprocessors: u32,
}

/// What calls a candidate is for, beside what its engine can do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fits {
    /// All.
    Always,
    /// Up to so many items.
    UpTo(u64),
    /// So many items for each multiprocessor.
    Each { from: u64, to: u64 },
    /// What the GPU holds at once.
    AtOnce,
    /// What one block holds.
    InOneBlock,
    /// A tile for a quarter of the multiprocessors at least, and at most so many tiles for each.
    Tiles(u64),
    /// What is more than two blocks of these rows for each multiprocessor.
    Long(RowPolicy),
}

/// How an engine cuts a call up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    /// One block of so many threads.
    Block(u32),
    /// A launch for each level: [`Plan`] has them.
    Levels,
    /// Rows, a result for each item.
    Rows(ScanPlan),
    /// Rows, one result.
    Chunks(ReducePlan),
    Shares(SharePlan),
    Wave(WavePlan),
}

/// The blocks of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    pub(crate) count: u64,
    pub(crate) threads: u32,
    pub(crate) shared_bytes: u32,
    /// Whether they take tiles in the order in which they start.
    pub(crate) by_ticket: bool,
    /// Whether they may start before what precedes the launch on the stream has ended.
    pub(crate) overlaps: bool,
}

impl Blocks {
    /// Blocks that take no tickets, and that may start before what precedes them has ended.
    pub(crate) fn new(count: u64, threads: u32, shared_bytes: u32) -> Blocks {
        Blocks {
            count,
            threads,
            shared_bytes,
            by_ticket: false,
            overlaps: true,
        }
    }
}

impl<K> Chosen<'_, K> {
    /// The one launch. Levels have several.
    pub(crate) fn blocks(&self, extent: Extent) -> Option<Blocks> {
        let Extent { inclusive, .. } = extent;
        let blocks = |count, threads| Blocks::new(count, threads, 0);
        Some(match &self.cut {
            Cut::Levels => return None,
            Cut::Block(threads) => blocks(1, *threads),
            Cut::Chunks(plan) => blocks(plan.blocks.into(), plan.threads),
            Cut::Rows(plan) => Blocks {
                by_ticket: plan.by_ticket,
                ..blocks(plan.blocks, 32 * plan.warps)
            },
            Cut::Shares(plan) => Blocks {
                shared_bytes: plan.shared_bytes(self.layouts),
                by_ticket: plan.by_ticket(inclusive),
                overlaps: plan.overlaps(inclusive, extent.multiprocessors),
                ..blocks(plan.tiles(inclusive), plan.threads())
            },
            // One for each multiprocessor, as far as there are tiles.
            Cut::Wave(plan) => Blocks {
                shared_bytes: WavePolicy::SHARED_BYTES,
                by_ticket: true,
                ..blocks(
                    plan.tiles(inclusive).min(extent.multiprocessors.into()),
                    plan.threads(),
                )
            },
        })
    }
}

/// What candidates do with items.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    /// They make one result, in some order, of an input that is cut so.
    Fold {
        order: Order,
        cut: ReducePolicy,
        item_bytes: usize,
    },
    /// They make a result for each item.
    Each,
}

/// Kernels with what they are for, in the order in which they are asked. `K` is the kernel, or
/// nothing if only the choice is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Candidates<K> {
    layouts: Layouts,
    does: Does,
    list: Vec<Candidate<K>>,
}

#[derive(Debug, Clone)]
struct Candidate<K> {
    kernel: K,
    engine: Engine,
    fits: Fits,
    /// Whether it is loaded with the others, or when it is first used.
    loads: bool,
}

/// The candidate that takes a call.
#[derive(Debug)]
pub(crate) struct Chosen<'a, K> {
    pub(crate) kernel: &'a K,
    pub(crate) engine: Engine,
    pub(crate) cut: Cut,
    fits: Fits,
    layouts: Layouts,
}

/// The number of blocks of a grid, if there can be one.
pub(crate) fn blocks_of_grid(blocks: u64, length: u64) -> Result<u32> {
    u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks <= i32::MAX as u32)
        .ok_or_else(|| Error::Codegen(format!("{length} elements are more than a grid can hold")))
}

/// What the GPU holds at once is not for more multiprocessors: workspaces have room for no more
/// blocks.
const MOST_MULTIPROCESSORS: u32 = 1024;

impl<K> Candidates<K> {
    pub(crate) fn new(layouts: Layouts, does: Does) -> Candidates<K> {
        Candidates {
            layouts,
            does,
            list: Vec::new(),
        }
    }

    /// Adds the next one. The last one is for all calls that are left.
    pub(crate) fn add(&mut self, kernel: K, engine: Engine, fits: Fits) {
        self.list.push(Candidate {
            kernel,
            engine,
            fits,
            loads: true,
        });
    }

    /// Adds one that is loaded when it is first used, or was added before.
    pub(crate) fn add_later(&mut self, kernel: K, engine: Engine, fits: Fits) {
        self.add(kernel, engine, fits);
        self.list.last_mut().expect("it was added").loads = false;
    }

    /// The kernels that are loaded at first.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &K> {
        let loaded = self.list.iter().filter(|candidate| candidate.loads);
        loaded.map(|candidate| &candidate.kernel)
    }

    /// The first that fits.
    pub(crate) fn choose(&self, extent: Extent) -> Chosen<'_, K> {
        let mut fitting = self.list.iter().filter_map(|candidate| {
            let cut = self.cut(candidate, extent)?;
            Some(Chosen {
                kernel: &candidate.kernel,
                engine: candidate.engine,
                cut,
                fits: candidate.fits,
                layouts: self.layouts,
            })
        });
        fitting.next().expect("the last candidate takes all calls")
    }

    fn cut(&self, candidate: &Candidate<K>, extent: Extent) -> Option<Cut> {
        let Extent {
            len,
            inclusive,
            aligned,
            multiprocessors,
        } = extent;
        let items = len as u64;
        let rows = |policy| {
            let multiprocessors = multiprocessors.min(MOST_MULTIPROCESSORS);
            ScanPlan::new(policy, len, inclusive, multiprocessors)
        };
        match candidate.fits {
            Fits::UpTo(most) if items > most => return None,
            Fits::Each { from, to } => {
                let each = items.div_ceil(multiprocessors.max(1).into());
                if each < from || each > to {
                    return None;
                }
            }
            Fits::Long(policy) if !rows(policy).is_long(multiprocessors) => return None,
            _ => {}
        }
        match (candidate.engine, self.does) {
            (Engine::Levels, _) => Some(Cut::Levels),
            (Engine::Block(policy), _) => {
                let fits = items <= policy.elements();
                fits.then(|| Cut::Block(policy.threads(len)))
            }
            (
                Engine::Rows(policy),
                Does::Fold {
                    order,
                    cut,
                    item_bytes,
                },
            ) => {
                let length = (len, item_bytes);
                let plan = ReducePlan::of((policy, cut), order, length, multiprocessors);
                Some(Cut::Chunks(plan))
            }
            (Engine::Rows(policy), Does::Each) => {
                let plan = rows(policy);
                let fits = match candidate.fits {
                    Fits::AtOnce => !plan.by_ticket,
                    Fits::InOneBlock => plan.blocks == 1,
                    _ => true,
                };
                fits.then_some(Cut::Rows(plan))
            }
            (Engine::Shares(policy), _) => Some(Cut::Shares(SharePlan::new(policy, len))),
            (Engine::Wave(policy), _) => {
                let plan = WavePlan::new(policy, len);
                let places = u64::from(multiprocessors);
                let fits = match candidate.fits {
                    Fits::Tiles(reach) => {
                        let tiles = plan.tiles(inclusive);
                        4 * tiles > places && tiles <= reach.saturating_mul(places)
                    }
                    _ => true,
                };
                (fits && items > 0 && (aligned || policy.anywhere)).then_some(Cut::Wave(plan))
            }
        }
    }

    /// The bytes of a workspace for `len` items or fewer, on any GPU.
    pub(crate) fn workspace_bytes(&self, len: usize) -> usize {
        let layouts = self.layouts;
        let mut most = 0;
        for candidate in &self.list {
            let bytes = match (candidate.engine, self.does) {
                // It is asked first.
                (Engine::Block(policy), _) if len as u64 <= policy.elements() => return 0,
                (Engine::Block(_), _) => 0,
                (Engine::Levels, does) => {
                    Plan::new(layouts, does.primitive(), len).workspace_bytes()
                }
                (Engine::Rows(policy), Does::Fold { cut, .. }) => {
                    // Those for shorter inputs count, too: so the bytes grow with the length.
                    let len = match candidate.fits {
                        Fits::UpTo(most) => len.min(usize::try_from(most).unwrap_or(usize::MAX)),
                        _ => len,
                    };
                    ReducePlan::workspace_bytes(layouts, (policy, cut), len)
                }
                (Engine::Rows(policy), Does::Each) => {
                    let bytes = ScanPlan::workspace_bytes(layouts, policy, len);
                    match candidate.fits {
                        Fits::InOneBlock => 0,
                        Fits::AtOnce => {
                            let blocks = u64::from(MOST_MULTIPROCESSORS * policy.blocks);
                            bytes.min(ScanPlan::workspace_bytes_for(layouts, policy, blocks))
                        }
                        _ => bytes,
                    }
                }
                (Engine::Shares(policy), _) => SharePlan::new(policy, len).workspace_bytes(layouts),
                (Engine::Wave(policy), _) => WavePlan::new(policy, len).workspace_bytes(layouts),
            };
            most = most.max(bytes);
        }
        most
    }

    /// What the choice is for a call, and why. The kernels are those of `name`, such as `scan`.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub(crate) fn explain(&self, name: &'static str, extent: Extent) -> Result<Explanation> {
        if let Does::Fold { .. } = self.does
            && extent.len as u64 > ReducePlan::MOST_ITEMS
        {
            return Err(Error::Items {
                items: extent.len,
                most: ReducePlan::MOST_ITEMS,
            });
        }
        let (chosen, layouts) = (self.choose(extent), self.layouts);
        let launches = match chosen.blocks(extent) {
            Some(blocks) => vec![LaunchShape {
                function: format!("{name}_{}", chosen.engine.name()),
                blocks: blocks.count,
                threads: blocks.threads,
                shared_bytes: blocks.shared_bytes,
            }],
            None => {
                let plan = Plan::new(layouts, self.does.primitive(), extent.len);
                let launches = plan.launches().filter(|launch| launch.blocks > 0);
                let is_sums = |level| level > 0 && layouts.has_functions_of_sums();
                let shape = |launch: super::Launch| LaunchShape {
                    function: launch.step.function(is_sums(launch.level)).to_owned(),
                    blocks: launch.blocks,
                    threads: launch.threads,
                    shared_bytes: 0,
                };
                launches.map(shape).collect()
            }
        };
        if let Some(launch) = launches.iter().max_by_key(|launch| launch.blocks) {
            blocks_of_grid(launch.blocks, extent.len as u64)?;
        }
        Ok(Explanation {
            primitive: name,
            given: format!("{} items", extent.len),
            engine: chosen.engine.name(),
            launches,
            times: 1,
            workspace_bytes: self.workspace_bytes(extent.len),
            because: chosen.reason(extent),
            depends: vec![
                ("multiprocessors", extent.multiprocessors.to_string()),
                (
                    "aligned to 16 bytes",
                    if extent.aligned { "yes" } else { "no" }.to_owned(),
                ),
            ],
        })
    }
}

impl Does {
    fn primitive(self) -> Primitive {
        match self {
            Does::Fold { .. } => Primitive::Reduce,
            Does::Each => Primitive::Scan,
        }
    }
}

impl<K> Chosen<'_, K> {
    fn reason(&self, extent: Extent) -> String {
        let each = (extent.len as u64).div_ceil(extent.multiprocessors.max(1).into());
        match (self.engine, self.fits) {
            (Engine::Block(policy), _) => {
                format!("one block holds up to {} items", policy.elements())
            }
            (_, Fits::UpTo(u64::MAX)) => "it takes all longer inputs".to_owned(),
            (_, Fits::UpTo(most)) => format!("it takes up to {most} items"),
            (_, Fits::Each { from, to: u64::MAX }) => {
                format!("there are {each} items for each multiprocessor, {from} or more")
            }
            (_, Fits::Each { from, to }) => {
                format!("there are {each} items for each multiprocessor, {from} to {to}")
            }
            (_, Fits::AtOnce) => "the GPU holds all items at once".to_owned(),
            (_, Fits::InOneBlock) => "one block holds all items".to_owned(),
            (_, Fits::Tiles(u64::MAX)) => "it takes all longer inputs".to_owned(),
            (_, Fits::Tiles(most)) => {
                format!("there are at most {most} tiles for each multiprocessor")
            }
            (_, Fits::Long(_)) => {
                "there are more than two blocks for each multiprocessor".to_owned()
            }
            (Engine::Wave(_), Fits::Always) => "the GPU does not hold all items at once".to_owned(),
            (_, Fits::Always) => "no other engine is faster".to_owned(),
        }
    }
}
