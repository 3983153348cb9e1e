//! Plans as data: which kernels to launch, over which level, in what order.
//!
//! The levels engine works on *levels*. Level 0 is the input. Level `k + 1` holds one value for
//! every complete tile of level `k`, in the accumulator type. The levels above 0 live in the
//! workspace, one after the other.

use super::policy::{scan_sums_per_lane, scan_warps};
use super::workspace::HEADER_BYTES;
use super::{Engine, Order, Policy, Primitive, ReducePolicy, RowPolicy, WavePolicy, widens};
use crate::Element;

/// The most levels there can be: a tile has at least 256 elements, so 8 levels hold 2^64.
const MAX_LEVELS: usize = 8;

/// A kernel of a generated source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// `reduce_tiles(in, sums)`: the sum of every complete tile of a level, one block a tile.
    ReduceTiles,
    /// `reduce_finish(in, length, levels, out, init, seeded)`: the remainders of all levels, one
    /// block.
    ReduceFinish,
    /// `scan_tiles(in, out, length, bases, init, seeded, inclusive)`: the tiles of a level, seeded
    /// from the level above; one block a tile.
    ScanTiles,
    /// `reduce_once(in, length, out, header, key, init, seeded, chunks, log_chunk, log_batches)`:
    /// everything.
    ReduceOnce,
    /// `scan_once(in, out, length, header, key, init, seeded, inclusive, by_ticket)`: everything, a
    /// block a tile.
    ScanOnce,
    /// `scan_wave(in, out, length, header, key, init, seeded, inclusive)`: everything.
    ScanWave,
}

impl Kernel {
    /// The kernels of a source.
    pub fn of(primitive: Primitive, engine: Engine) -> &'static [Kernel] {
        match (primitive, engine) {
            (Primitive::Reduce, Engine::Blelloch) => &[Kernel::ReduceTiles, Kernel::ReduceFinish],
            (Primitive::Reduce, Engine::Tiles(_)) => &[Kernel::ReduceOnce],
            (Primitive::Reduce, Engine::Wave(_)) => &[],
            (Primitive::Scan, Engine::Blelloch) => &[Kernel::ReduceTiles, Kernel::ScanTiles],
            (Primitive::Scan, Engine::Tiles(_)) => &[Kernel::ScanOnce],
            (Primitive::Scan, Engine::Wave(_)) => &[Kernel::ScanWave],
        }
    }

    /// The name of the kernel's function for `level`. If elements are folded in a wider type
    /// (`widens`), the levels above 0 have functions of their own.
    pub fn function(self, level: usize, widens: bool) -> &'static str {
        match (self, widens && level > 0) {
            (Kernel::ReduceTiles, false) => "reduce_tiles",
            (Kernel::ReduceTiles, true) => "reduce_sums",
            (Kernel::ScanTiles, false) => "scan_tiles",
            (Kernel::ScanTiles, true) => "scan_sums",
            (Kernel::ReduceFinish, _) => "reduce_finish",
            (Kernel::ReduceOnce, _) => "reduce_once",
            (Kernel::ScanOnce, _) => "scan_once",
            (Kernel::ScanWave, _) => "scan_wave",
        }
    }
}

/// One launch of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// What is launched.
    pub kernel: Kernel,
    /// The level that the kernel reads.
    pub level: usize,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of threads of a block.
    pub threads: u32,
}

/// The levels of one call, and the launches that fill them.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    primitive: Primitive,
    element: Policy,
    sums: Policy,
    accumulator_bytes: usize,
    lengths: [u64; MAX_LEVELS],
    levels: usize,
}

impl Plan {
    /// The plan for `length` elements of type `T`.
    pub fn new<T: Element>(primitive: Primitive, length: usize) -> Plan {
        let mut plan = Plan {
            primitive,
            element: Policy::of::<T>(primitive),
            sums: Policy::of::<T::Accumulator>(primitive),
            accumulator_bytes: size_of::<T::Accumulator>(),
            lengths: [0; MAX_LEVELS],
            levels: 1,
        };
        plan.lengths[0] = length as u64;
        debug_assert!(widens::<T>() || plan.element == plan.sums);
        loop {
            let top = plan.levels - 1;
            // A scan is done when one tile is left. A reduction is done when less than one is left:
            // its finishing kernel folds what filled no tile.
            let tile = plan.policy(top).tile();
            let done = match primitive {
                Primitive::Scan => plan.lengths[top] <= tile,
                Primitive::Reduce => plan.lengths[top] < tile,
            };
            if done {
                return plan;
            }
            plan.lengths[plan.levels] = plan.lengths[top] / tile;
            plan.levels += 1;
        }
    }

    fn policy(&self, level: usize) -> Policy {
        if level == 0 { self.element } else { self.sums }
    }

    /// The number of elements of `level`.
    pub fn length(&self, level: usize) -> u64 {
        self.lengths[level]
    }

    /// The number of levels, the input included.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Where `level`, from 1 on, starts in the workspace, in bytes: a multiple of 16, after the
    /// header.
    pub fn offset(&self, level: usize) -> usize {
        let bytes =
            |k: usize| (self.lengths[k] as usize * self.accumulator_bytes).next_multiple_of(16);
        HEADER_BYTES + (1..level).map(bytes).sum::<usize>()
    }

    /// The size of the workspace in bytes: 0 if there is one level only.
    pub fn workspace_bytes(&self) -> usize {
        match self.levels {
            1 => 0,
            levels => self.offset(levels),
        }
    }

    /// The launches, in the order in which they must run.
    pub fn launches(&self) -> impl Iterator<Item = Launch> + '_ {
        let up = (0..self.levels - 1).map(|level| Launch {
            kernel: Kernel::ReduceTiles,
            level,
            blocks: self.lengths[level + 1],
            threads: self.policy(level).threads,
        });
        let down = (0..self.levels)
            .rev()
            .filter_map(|level| match self.primitive {
                Primitive::Reduce => (level == 0).then_some(Launch {
                    kernel: Kernel::ReduceFinish,
                    level: 0,
                    blocks: 1,
                    threads: self.element.threads,
                }),
                Primitive::Scan => Some(Launch {
                    kernel: Kernel::ScanTiles,
                    level,
                    blocks: self.lengths[level].div_ceil(self.policy(level).tile()),
                    threads: self.policy(level).threads,
                }),
            });
        up.chain(down)
    }
}

/// One reduction in a single launch: the number of blocks, and in the law's order, how the input is
/// cut into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReducePlan {
    /// The number of blocks, which the GPU holds at once.
    pub blocks: u32,
    /// The number of threads of a block. If there are several blocks, it is a power of two of
    /// warps.
    pub threads: u32,
    /// The number of whole chunks: 0 if there is one block, or in any order.
    pub chunks: u32,
    /// A chunk has 2^log_chunk elements,
    pub log_chunk: u32,
    /// of which every warp of a block folds 2^log_batches batches.
    pub log_batches: u32,
}

impl ReducePlan {
    /// The plan for `length` elements of type `T`, on a GPU of this many multiprocessors, with a
    /// kernel that was compiled with `rows`.
    pub fn new<T: Element>(
        rows: RowPolicy,
        order: Order,
        length: usize,
        multiprocessors: u32,
    ) -> ReducePlan {
        let policy = ReducePolicy::of::<T>();
        let batch = rows.elements();
        let (length, batches) = (length as u64, (length as u64).div_ceil(batch));
        if batches <= u64::from(policy.alone) {
            return ReducePlan {
                blocks: 1,
                threads: 32 * batches.max(1) as u32,
                chunks: 0,
                log_chunk: 0,
                log_batches: 0,
            };
        }
        // With more blocks, the last one collects their sums for longer. With fewer, each of them
        // takes longer.
        let (fewest_warps, enough_blocks) = match order {
            Order::Any => (4, multiprocessors),
            Order::Law => (2, multiprocessors / 2),
        };
        let mut warps = fewest_warps;
        while warps < policy.threads / 32 && batches.div_ceil(warps.into()) > enough_blocks.into() {
            warps *= 2;
        }
        let resident = u64::from((multiprocessors * policy.blocks).min(policy.chunks));
        match order {
            Order::Any => ReducePlan {
                blocks: batches.div_ceil(warps.into()).min(resident) as u32,
                threads: 32 * warps,
                chunks: 0,
                log_chunk: 0,
                log_batches: 0,
            },
            Order::Law => {
                let cut = |log_batches: u32| {
                    ReducePlan::with_chunks(rows, length as usize, warps, log_batches, resident)
                };
                let tasks =
                    |log_batches: u32| length.div_ceil((batch * u64::from(warps)) << log_batches);
                let log_batches = least(|log_batches| tasks(log_batches) <= resident);
                // If some multiprocessors got two chunks and others one, all may as well take one
                // of twice the length: there is less to collect. But for very long inputs it pays
                // to hand out shorter chunks.
                let some_have_less = (u64::from(multiprocessors) + 1..resident - resident / 8)
                    .contains(&tasks(log_batches));
                let bytes = length * size_of::<T>() as u64;
                if bytes > MOST_BYTES_AT_ONCE || (some_have_less && bytes > MOST_BYTES_UNEVENLY) {
                    let chunks = (bytes / CHUNK_BYTES).clamp(FEW_CHUNKS, policy.chunks.into());
                    cut(least(|log_batches| tasks(log_batches) <= chunks))
                } else {
                    cut(log_batches + u32::from(some_have_less))
                }
            }
        }
    }

    /// The plan in the law's order: chunks of 2^log_batches batches for each of `warps`, a power of
    /// two, and up to this many blocks.
    pub fn with_chunks(
        rows: RowPolicy,
        length: usize,
        warps: u32,
        log_batches: u32,
        most_blocks: u64,
    ) -> ReducePlan {
        let chunk = (rows.elements() * u64::from(warps)) << log_batches;
        ReducePlan {
            blocks: (length as u64).div_ceil(chunk).min(most_blocks) as u32,
            threads: 32 * warps,
            chunks: (length as u64 / chunk) as u32,
            log_chunk: chunk.ilog2(),
            log_batches,
        }
    }

    /// The size of the workspace in bytes: 0 for short inputs. It grows with the length, so it is
    /// enough for all plans for shorter inputs.
    pub fn workspace_bytes<T: Element>(rows: RowPolicy, length: usize) -> usize {
        let policy = ReducePolicy::of::<T>();
        let batches = (length as u64).div_ceil(rows.elements());
        if batches <= u64::from(policy.alone) {
            return 0;
        }
        // Blocks have two warps or more.
        let sums = batches.div_ceil(2).min(policy.chunks.into());
        sums_bytes::<T>(sums, MOST_AT_ONCE)
    }
}

/// Up to this many bytes each block folds one chunk; beyond, chunks are handed out.
const MOST_BYTES_AT_ONCE: u64 = 128 << 20;
/// The same, if it leaves some multiprocessors less than others.
const MOST_BYTES_UNEVENLY: u64 = 32 << 20;

/// Chunks that are handed out have this many bytes, or less if there would be few of them.
const CHUNK_BYTES: u64 = 128 << 10;
const FEW_CHUNKS: u64 = 768;

/// The least number for which a condition holds.
fn least(holds: impl Fn(u32) -> bool) -> u32 {
    (0..).find(|&n| holds(n)).expect("it holds for some number")
}

/// The most sums that a warp of the rows engine reads at once, 4 a lane.
const MOST_AT_ONCE: u64 = 128;

/// The bytes of a workspace for this many sums. Each 8 bytes of a sum take a packet of 16. There is
/// room for whole groups of as many sums as a warp reads at once.
fn sums_bytes<T: Element>(sums: u64, at_once: u64) -> usize {
    let packets = size_of::<T::Accumulator>().div_ceil(8);
    HEADER_BYTES + sums.next_multiple_of(at_once) as usize * packets * 16
}

/// One scan by the rows engine (`Engine::Tiles`): a single launch, of a block a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanPlan {
    /// The number of blocks. An inclusive scan by several ends with one whose tile is not full; it
    /// may be empty.
    pub blocks: u64,
    /// The number of warps of a block, a power of two.
    pub warps: u32,
    /// Whether the GPU cannot hold all blocks at once. Then they take tiles in the order in which
    /// they start.
    pub by_ticket: bool,
}

impl ScanPlan {
    /// The plan for `length` elements of type `T`, on a GPU of this many multiprocessors.
    pub fn new<T: Element>(
        policy: RowPolicy,
        length: usize,
        inclusive: bool,
        multiprocessors: u32,
    ) -> ScanPlan {
        let (length, share, most) = (length as u64, policy.elements(), scan_warps::<T>());
        if length <= share * u64::from(most) {
            let warps = length.div_ceil(share).max(1).next_power_of_two() as u32;
            return ScanPlan {
                blocks: 1,
                warps,
                by_ticket: false,
            };
        }
        // With more blocks, exchanging sums takes longer. With fewer, each of them takes longer.
        let mut warps = 1;
        while warps < most && Self::BLOCKS_PER_WARP * u64::from(warps * warps) * share < length {
            warps *= 2;
        }
        let plan = |warps| {
            ScanPlan::with_warps(policy, length as usize, inclusive, multiprocessors, warps)
        };
        match plan(warps) {
            long if long.is_long(multiprocessors) => plan(warps.min(Self::LONG_WARPS)),
            plan => plan,
        }
    }

    /// Whether there are more than two blocks for each multiprocessor, at once or one after the
    /// other. If so, the wave engine is worth it: it is slower to start, but loads while it stores.
    pub fn is_long(&self, multiprocessors: u32) -> bool {
        self.blocks > 2 * u64::from(multiprocessors)
    }

    /// The most warps of a block for long inputs. Two blocks then share a multiprocessor: one loads
    /// while the other waits.
    const LONG_WARPS: u32 = 8;

    /// The same with blocks of this many warps, a power of two; for several blocks.
    pub fn with_warps(
        policy: RowPolicy,
        length: usize,
        inclusive: bool,
        multiprocessors: u32,
        warps: u32,
    ) -> ScanPlan {
        let (length, tile) = (length as u64, policy.elements() * u64::from(warps));
        let blocks = if inclusive {
            length / tile + 1
        } else {
            length.div_ceil(tile)
        };
        ScanPlan {
            blocks,
            warps,
            by_ticket: blocks > u64::from(multiprocessors) * u64::from(policy.blocks),
        }
    }

    const BLOCKS_PER_WARP: u64 = 8;

    /// The size of the workspace in bytes, for this length and all shorter ones: the header, and 16
    /// bytes for each 8 of the sums of tiles, of groups of tiles, of groups of groups.
    pub fn workspace_bytes<T: Element>(policy: RowPolicy, length: usize) -> usize {
        let most = scan_warps::<T>();
        let tile = policy.elements() * u64::from(most);
        if length as u64 <= tile {
            return 0;
        }
        let shortest = policy.elements() * u64::from(most.min(Self::LONG_WARPS));
        let tiles = (length as u64 / shortest).max(Self::BLOCKS_PER_WARP * u64::from(most)) + 1;
        ScanPlan::workspace_bytes_for::<T>(tiles)
    }

    /// The size of the workspace in bytes for this many blocks.
    pub fn workspace_bytes_for<T: Element>(blocks: u64) -> usize {
        let radix = u64::from(32 * scan_sums_per_lane::<T>());
        let levels = std::iter::successors(Some(blocks), |&nodes| {
            (nodes >= radix).then_some(nodes / radix)
        });
        sums_bytes::<T>(levels.map(|nodes| nodes + 1).sum(), MOST_AT_ONCE)
    }
}

/// One call of the wave engine: a single launch.
#[derive(Debug, Clone, Copy)]
pub struct WavePlan {
    policy: WavePolicy,
    length: u64,
}

impl WavePlan {
    /// The plan for `length` elements.
    pub fn new(policy: WavePolicy, length: usize) -> WavePlan {
        WavePlan {
            policy,
            length: length as u64,
        }
    }

    /// The number of tiles. An inclusive scan ends with a tile that is not full; it may be empty.
    pub fn tiles(&self, inclusive: bool) -> u64 {
        let tile = self.policy.tile();
        if inclusive {
            self.length / tile + 1
        } else {
            self.length.div_ceil(tile)
        }
    }

    /// The size of the workspace in bytes for elements of type `T`: the header, and 16 bytes for
    /// each 8 of every tile's sum. Sums come in whole waves, as they lie in memory.
    pub fn workspace_bytes<T: Element>(&self) -> usize {
        sums_bytes::<T>(self.tiles(true), self.policy.wave.into())
    }

    /// The number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.policy.threads()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_goes_up_to_one_tile_and_down_again() {
        let tile = Policy::of::<f32>(Primitive::Scan).tile();
        let plan = Plan::new::<f32>(Primitive::Scan, (tile * tile + 1) as usize);
        let steps: Vec<_> = plan
            .launches()
            .map(|l| (l.kernel, l.level, l.blocks))
            .collect();
        assert_eq!(
            steps,
            [
                (Kernel::ReduceTiles, 0, tile),
                (Kernel::ScanTiles, 1, 1),
                (Kernel::ScanTiles, 0, tile + 1),
            ]
        );
        assert_eq!(plan.workspace_bytes() as u64, 64 + tile * 4);
    }

    #[test]
    fn a_reduction_leaves_less_than_a_tile() {
        let tile = Policy::of::<u8>(Primitive::Reduce).tile();
        let plan = Plan::new::<u8>(Primitive::Reduce, (tile * tile) as usize);
        assert_eq!(
            (plan.levels(), plan.length(1), plan.length(2)),
            (3, tile, 1)
        );
        assert_eq!(
            plan.launches().last().map(|l| l.kernel),
            Some(Kernel::ReduceFinish)
        );
    }

    #[test]
    fn the_longest_input_has_a_plan() {
        for primitive in Primitive::ALL {
            let plan = Plan::new::<[u8; 64]>(primitive, usize::MAX);
            assert!(plan.levels() <= MAX_LEVELS);
        }
    }

    /// One workspace serves all lengths up to the one it was asked for, exclusive and inclusive, on
    /// any GPU.
    #[test]
    fn a_workspace_serves_all_shorter_inputs() {
        fn check<T: Element>() {
            let lengths =
                || (0..34).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]);
            for multiprocessors in [1, 16, 132, 160] {
                let mut needed = 0;
                let mut granted = 0;
                for length in lengths() {
                    for long in [false, true] {
                        let policy = RowPolicy::of_scan::<T>(long);
                        for inclusive in [false, true] {
                            let plan =
                                ScanPlan::new::<T>(policy, length, inclusive, multiprocessors);
                            if plan.blocks > 1 {
                                needed =
                                    needed.max(ScanPlan::workspace_bytes_for::<T>(plan.blocks));
                            }
                        }
                        granted = granted.max(ScanPlan::workspace_bytes::<T>(policy, length));
                    }
                    assert!(needed <= granted, "scan {length}: {needed} > {granted}");
                }
                for order in [Order::Law, Order::Any] {
                    let (mut needed, mut granted) = (0, 0);
                    for length in lengths() {
                        let rows = RowPolicy::of_reduce::<T>(order);
                        let plan = ReducePlan::new::<T>(rows, order, length, multiprocessors);
                        if plan.blocks > 1 {
                            let sums = plan.chunks.max(plan.blocks - 1).into();
                            needed = needed.max(sums_bytes::<T>(sums, MOST_AT_ONCE));
                        }
                        let bytes = ReducePlan::workspace_bytes::<T>(rows, length);
                        assert!(bytes >= granted, "reduce {length}: {bytes} < {granted}");
                        granted = bytes;
                        assert!(needed <= granted, "reduce {length}: {needed} > {granted}");
                    }
                }
            }
        }
        check::<u8>();
        check::<half::f16>();
        check::<f32>();
        check::<u64>();
        check::<[f32; 3]>();
        check::<[u64; 2]>();
        check::<[u8; 33]>();
        check::<[f32; 16]>();
    }

    /// `TileSums::word` in `kernels/look_back.cuh`: where the last packet of the last tile ends.
    #[test]
    fn the_packets_of_every_tile_lie_in_the_workspace() {
        fn check<T: Element>() {
            let packets = size_of::<T::Accumulator>().div_ceil(8) as u64;
            let policy = WavePolicy::of::<T>().expect("a policy");
            for wave in [32, 64, 128, 256, 512] {
                let policy = WavePolicy { wave, ..policy };
                let per_lane = u64::from(wave) / 32;
                for tiles in (1..1200).chain([4095, 4096, 4097]) {
                    let length = (tiles * policy.tile()) as usize;
                    let plan = WavePlan::new(policy, length);
                    let last = (0..plan.tiles(true)).flat_map(|tile| {
                        (0..packets).map(move |packet| {
                            let row = tile / (32 * per_lane) * per_lane + tile % per_lane;
                            (row * packets + packet) * 32 + tile / per_lane % 32
                        })
                    });
                    let end = HEADER_BYTES as u64 + 16 * (1 + last.max().expect("a tile"));
                    let given = plan.workspace_bytes::<T>() as u64;
                    assert!(
                        end <= given,
                        "{tiles} tiles, waves of {wave}: {end} > {given}"
                    );
                }
            }
        }
        check::<u8>();
        check::<f64>();
        check::<[u64; 2]>();
    }

    #[test]
    fn the_workspace_is_under_one_percent_of_the_input() {
        fn check<T: Element>() {
            for primitive in Primitive::ALL {
                let plan = Plan::new::<T>(primitive, 1 << 24);
                assert_small::<T>(plan.workspace_bytes());
            }
            for long in [false, true] {
                let policy = RowPolicy::of_scan::<T>(long);
                assert_small::<T>(ScanPlan::workspace_bytes::<T>(policy, 1 << 24));
            }
            if let Some(policy) = WavePolicy::of::<T>() {
                assert_small::<T>(WavePlan::new(policy, 1 << 24).workspace_bytes::<T>());
            }
        }
        fn assert_small<T: Element>(workspace: usize) {
            let input = (1 << 24) * size_of::<T>();
            assert!(
                workspace * 100 <= input,
                "{}: {workspace} for {input}",
                std::any::type_name::<T>()
            );
        }
        check::<u8>();
        check::<half::f16>();
        check::<f32>();
        check::<u64>();
        check::<[f32; 3]>();
        check::<[u8; 33]>();
        check::<[f32; 16]>();
    }
}
