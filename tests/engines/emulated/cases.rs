//! One call of a primitive in the emulator, and the launches that it takes.

use crate::emulator::{Argument, Grid, Script, address};
use crate::support::workspace::KEY;
use warpfold::codegen::kernels::{ReduceArguments, ScanArguments};
use warpfold::codegen::{
    Chunks, Engine, Layouts, LevelArguments, Order, Plan, Primitive, ReducePlan, ReducePolicy,
    RowPolicy, ScanPlan, SharePlan, SharePolicy, WavePlan, WavePolicy, WorkspaceArguments,
};
use warpfold::source::SliceArguments;
use warpfold::{Element, Monoid};

/// The most chunks that a reduction is cut into here, but for those with more than a warp reads at
/// once.
const MOST_CHUNKS: usize = 64;
/// The most of all: two whole nodes of sums, and more.
const MANY_CHUNKS: usize = 300;

/// One call of a primitive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) primitive: Primitive,
    pub(crate) engine: Engine,
    pub(crate) length: usize,
    pub(crate) seeded: bool,
    pub(crate) inclusive: bool,
    /// Whether it is a scan from the last item on.
    pub(crate) reverse: bool,
    pub(crate) in_place: bool,
    /// How far input and output are from where an allocation starts, in units of the element's
    /// alignment: unaligned in every way that a slice, or a view of other memory, can be.
    pub(crate) shifts: (usize, usize),
}

/// What comes first in a scan, and the operator's identity.
type Inits<T> = (<T as Element>::Accumulator, <T as Element>::Accumulator);

impl Case {
    /// Appends the commands that run the case on a prefix of the file `data`. The output is saved.
    /// Other launches before it use the same workspace for a prefix of the file `other`: what they
    /// leave there must not show.
    pub(crate) fn append_to<T: Element, Op: Monoid<T>>(&self, script: &mut Script, init: T) {
        let bytes = self.length * size_of::<T>();
        let output_bytes = match self.primitive {
            Primitive::Scan => bytes,
            Primitive::Reduce => size_of::<T>(),
        };
        let shift = |units: usize| units * align_of::<T>();
        script.filled("in", shift(self.shifts.0), bytes, "data");
        script.filled("other", 0, bytes, "other");
        script.buffer("unused", 0, output_bytes);
        if !self.in_place {
            script.buffer("out", shift(self.shifts.1), output_bytes);
        }
        let out = if self.in_place { "in" } else { "out" };
        let init = if self.seeded { init } else { Op::identity() };
        let init = (init.widen(), Op::identity().widen());
        match self.engine {
            Engine::Levels => self.launch_levels::<T>(script, out, init.0),
            Engine::Rows(policy) => match self.primitive {
                Primitive::Reduce => {
                    self.launch_reductions::<T, Op>(script, out, init.0, policy);
                }
                Primitive::Scan => self.launch_scan::<T>(script, out, init, policy),
            },
            Engine::Block(policy) => match self.primitive {
                Primitive::Reduce => {
                    let plan = ReducePlan::in_one_block(policy.threads(self.length));
                    self.launch_reduction::<T>(script, "reduce_block", (out, init.0), "in", &plan);
                }
                Primitive::Scan => {
                    let threads = policy.threads(self.length);
                    self.launch_twice::<T>(script, "scan_block", (out, init), true, |_| {
                        (Grid::new(1, threads), false)
                    });
                }
            },
            Engine::Wave(policy) => self.launch_wave::<T>(script, out, init, policy),
            Engine::Shares(policy) => self.launch_shares::<T>(script, out, init, policy),
            _ => unreachable!("there are five engines"),
        }
        if !self.is_reduced_at_once() {
            script.save(out);
        }
        script.clear();
    }

    /// One launch: of one block if the length is no multiple of 3 and fits one, or of several. They
    /// take tiles by index if all live at a time, or by ticket.
    fn launch_scan<T: Element>(
        &self,
        script: &mut Script,
        out: &'static str,
        init: Inits<T>,
        policy: RowPolicy,
    ) {
        let by_ticket = self.length % 2 == 1;
        let plan = |inclusive: bool| match ScanPlan::new(policy, self.length, inclusive, 1) {
            plan if plan.blocks == 1 && !self.length.is_multiple_of(3) => plan,
            _ => {
                let multiprocessors = if by_ticket { 1 } else { u32::MAX };
                let warps = [1, 2, 4][self.length / 3 % 3];
                ScanPlan::with_warps(policy, self.length, inclusive, multiprocessors, warps)
            }
        };
        let blocks = plan(true).blocks.max(plan(false).blocks);
        let workspace_bytes =
            ScanPlan::workspace_bytes_for(Layouts::of_slice::<T>(), policy, blocks);
        script.filled("workspace", 0, workspace_bytes, "workspace");
        self.launch_twice::<T>(script, "scan_rows", (out, init), blocks < 20, |inclusive| {
            let plan = plan(inclusive);
            let grid = Grid {
                blocks: plan.blocks,
                threads: 32 * plan.warps,
                shared: 0,
                // By index, all blocks must live at a time.
                resident: if plan.by_ticket {
                    0
                } else {
                    plan.blocks as u32
                },
            };
            (grid, plan.by_ticket)
        });
    }

    fn launch_wave<T: Element>(
        &self,
        script: &mut Script,
        out: &'static str,
        init: Inits<T>,
        policy: WavePolicy,
    ) {
        let plan = WavePlan::new(policy, self.length);
        script.filled(
            "workspace",
            0,
            plan.workspace_bytes(Layouts::of_slice::<T>()),
            "workspace",
        );
        let few = plan.tiles(true) < 8;
        self.launch_twice::<T>(script, "scan_wave", (out, init), few, |inclusive| {
            let grid = Grid {
                blocks: plan.tiles(inclusive).min(1 + self.length as u64 % 5),
                threads: plan.threads(),
                // No more than it uses.
                shared: policy.shared_bytes(Layouts::of_slice::<T>()) as usize,
                resident: 0,
            };
            (grid, true)
        });
    }

    fn launch_shares<T: Element>(
        &self,
        script: &mut Script,
        out: &'static str,
        init: Inits<T>,
        policy: SharePolicy,
    ) {
        let plan = SharePlan::new(policy, self.length);
        script.filled(
            "workspace",
            0,
            plan.workspace_bytes(Layouts::of_slice::<T>()),
            "workspace",
        );
        let few = plan.tiles(true) < 20;
        self.launch_twice::<T>(script, "scan_shares", (out, init), few, |inclusive| {
            let grid = Grid {
                blocks: plan.tiles(inclusive),
                threads: plan.threads(),
                shared: plan.shared_bytes(Layouts::of_slice::<T>()) as usize,
                resident: 0,
            };
            (grid, plan.by_ticket(inclusive))
        });
    }

    /// One launch. If tiles are few, another one comes before, with other data and flags. `grid`
    /// gives the blocks, and whether they take tiles by ticket, for an inclusive scan or not.
    fn launch_twice<T: Element>(
        &self,
        script: &mut Script,
        kernel: &str,
        (out, (init, identity)): (&'static str, Inits<T>),
        few: bool,
        grid: impl Fn(bool) -> (Grid, bool),
    ) {
        let mut launch = |input, out, seeded: bool, inclusive: bool| {
            let (grid, by_ticket) = grid(inclusive);
            // The wave engine takes a workspace for a single block, too.
            let needs = if by_ticket { 2 } else { grid.blocks };
            let arguments = ScanArguments {
                source: slice(input),
                out: address(out, 0),
                length: self.length as u64,
                workspace: workspace_of(needs),
                init,
                identity,
                seeded: u32::from(seeded),
                inclusive: u32::from(inclusive),
                by_ticket: u32::from(by_ticket),
            };
            script.launch(kernel, grid, &[Argument::of_struct(&arguments)]);
        };
        if self.length > 0 && few {
            let same = self.length.is_multiple_of(2);
            launch(
                "other",
                "unused",
                self.seeded == same,
                self.inclusive == same,
            );
        }
        if self.length > 0 {
            launch("in", out, self.seeded, self.inclusive);
        }
    }

    /// A launch for each plan, in one workspace: on the data and on the other data in turn.
    fn launch_reductions<T: Element, Op: Monoid<T>>(
        &self,
        script: &mut Script,
        out: &'static str,
        init: T::Accumulator,
        policy: RowPolicy,
    ) {
        let bytes =
            ScanPlan::workspace_bytes_for(Layouts::of_slice::<T>(), policy, MANY_CHUNKS as u64 + 2);
        script.filled("workspace", 0, bytes, "workspace");
        for (number, plan) in self.reduce_plans::<T, Op>(policy).iter().enumerate() {
            let data = if number % 2 == 0 { "in" } else { "other" };
            self.launch_reduction::<T>(script, "reduce_rows", (out, init), data, plan);
            script.save(out);
        }
    }

    fn launch_reduction<T: Element>(
        &self,
        script: &mut Script,
        kernel: &str,
        (out, init): (&'static str, T::Accumulator),
        data: &'static str,
        plan: &ReducePlan,
    ) {
        let arguments = ReduceArguments {
            source: slice(data),
            length: self.length as u64,
            out: address(out, 0),
            workspace: workspace_of(plan.blocks.into()),
            init,
            seeded: u32::from(self.seeded),
            chunks: plan.chunks,
        };
        let mut grid = Grid::new(u64::from(plan.blocks), plan.threads);
        // All blocks must live at a time.
        grid.resident = plan.blocks;
        script.launch(kernel, grid, &[Argument::of_struct(&arguments)]);
    }

    /// The plan, and others that cut the input up in other ways: as many chunks as blocks, and
    /// more.
    fn reduce_plans<T: Element, Op: Monoid<T>>(&self, policy: RowPolicy) -> Vec<ReducePlan> {
        let (order, multiprocessors) = (Order::of::<T, Op>(), 1 + self.length as u32 % 3);
        let plan = ReducePlan::new(
            Layouts::of_slice::<T>(),
            (policy, ReducePolicy::of::<T>()),
            order,
            self.length,
            multiprocessors,
        );
        let mut plans = vec![plan];
        let batch = policy.elements() as usize;
        let in_turn = [
            (1, 0, 64),
            (1, 0, 3),
            (2, 0, 2),
            (1, 1, 64),
            (4, 2, 2),
            (2, 3, 5),
            // A block of all warps there can be, each of which has a whole part.
            (32, 0, 2),
        ];
        let one_each = [(1, 0), (2, 0), (1, 1), (4, 2), (2, 3), (32, 0)];
        let one_each = one_each.map(|(warps, log_batches)| (warps, log_batches, u64::MAX));
        let has_one_each = order == Order::Law && !policy.in_turn;
        let cuts = if has_one_each {
            &one_each[..]
        } else {
            &in_turn
        };
        for &(warps, log_batches, most_blocks) in cuts {
            if warps as u32 > policy.warps {
                continue;
            }
            let chunks = self.length / ((batch * warps) << log_batches);
            let many = (warps, log_batches, most_blocks) == (1, 0, 64);
            if chunks > if many { MANY_CHUNKS } else { MOST_CHUNKS } {
                continue;
            }
            let of_blocks = if has_one_each {
                policy
            } else {
                policy.taking_turns()
            };
            let mut plan = ReducePlan::with_chunks(
                of_blocks,
                self.length,
                warps as u32,
                log_batches,
                most_blocks,
            );
            if plan.blocks < 2 {
                continue;
            }
            if order == Order::Any {
                plan.chunks = Chunks::NONE;
            }
            plans.push(plan);
        }
        // Long chunks, and short ones after them.
        for (warps, log_batches, blocks) in [(1, 2, 3), (2, 1, 2)] {
            if !policy.in_turn || warps > policy.warps {
                continue;
            }
            let (length, most) = (self.length as u64, MOST_CHUNKS as u32);
            let plan = ReducePlan::with_chunks(policy, self.length, warps, log_batches, blocks);
            let all: Vec<_> = plan.with_short_ones_last(length, most).collect();
            // The fewest short ones, and the most.
            plans.extend(all.first());
            plans.extend(all.last().filter(|_| all.len() > 1));
        }
        // Groups of chunks, of which some have one less than others, with a rest and without one.
        // Chunks have fewer parts than a block has warps, or as many. A group has fewer, or more.
        let shapes = [
            (2, (1, 0), 2),
            (4, (0, 0), 3),
            (4, (1, 0), 5),
            (2, (2, 1), 2),
            (4, (2, 1), 3),
            (16, (4, 0), 8),
        ];
        for (warps, size, at_once) in shapes {
            if order == Order::Any || policy.in_turn || warps > policy.warps {
                continue;
            }
            let chunk = policy.elements() << size.0;
            let whole = self.length as u64 / chunk;
            let rest = u64::from(!(self.length as u64).is_multiple_of(chunk));
            let blocks = whole.div_ceil(at_once) + rest;
            if whole > 1 && blocks > 1 && whole as usize <= MOST_CHUNKS {
                let plan = ReducePlan::with_groups(policy, self.length, warps, size, blocks);
                plans.push(plan);
            }
        }
        plans
    }

    /// Whether there are several plans, each of which gives a result.
    fn is_reduced_at_once(&self) -> bool {
        self.primitive == Primitive::Reduce && matches!(self.engine, Engine::Rows(_))
    }

    /// How many results the reduction has: of the data and of the other data in turn.
    pub(crate) fn results<T: Element, Op: Monoid<T>>(&self) -> usize {
        match self.engine {
            Engine::Rows(policy) => self.reduce_plans::<T, Op>(policy).len(),
            _ => 1,
        }
    }

    fn launch_levels<T: Element>(
        &self,
        script: &mut Script,
        out: &'static str,
        init: T::Accumulator,
    ) {
        let plan = Plan::new(Layouts::of_slice::<T>(), self.primitive, self.length);
        script.buffer("workspace", 0, plan.workspace_bytes());
        let level = |k: usize| match k {
            0 => address("in", 0),
            k if k == plan.levels() => 0,
            k => address("workspace", plan.offset(k)),
        };
        for launch in plan.launches().filter(|launch| launch.blocks > 0) {
            let k = launch.level;
            let arguments = LevelArguments {
                source: SliceArguments { address: level(k) },
                length: plan.length(k),
                out: if k == 0 { address(out, 0) } else { level(k) },
                above: level(k + 1),
                init,
                seeded: u32::from(self.seeded),
                inclusive: u32::from(self.inclusive || k > 0),
            };
            let function = launch.step.function(
                k > 0 && (self.reverse || Layouts::of_slice::<T>().has_functions_of_sums()),
            );
            let grid = Grid::new(launch.blocks, launch.threads);
            script.launch(function, grid, &[Argument::of_struct(&arguments)]);
        }
    }
}

/// A slice that is a whole buffer.
pub(crate) fn slice(buffer: &'static str) -> SliceArguments {
    SliceArguments {
        address: address(buffer, 0),
    }
}

/// The workspace of a launch of some blocks. One block leaves it alone.
pub(crate) fn workspace_of(blocks: u64) -> WorkspaceArguments {
    WorkspaceArguments {
        address: if blocks == 1 {
            0
        } else {
            address("workspace", 0)
        },
        key: KEY.key,
    }
}
