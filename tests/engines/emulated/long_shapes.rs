//! Shapes that `every_kernel.rs` leaves out, since they would take too long for every type: the
//! highest levels of sums, the longest parts, element types that are seldom used. Mutations of the
//! kernels (`scripts/mutation/`) said which ones are needed.

use super::cases::{slice, workspace_of};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::matrix::is_drawn;
use crate::support::operators::{
    Bracketing, Doubtful, Guarded, GuardedBracketing, LogAddExp, Sums,
};
use crate::support::oracle;
use crate::support::workspace::{KEY, used_workspace, used_workspace_of};
use half::f16;
use warpfold::bytemuck::{self, Pod, Zeroable};
use warpfold::codegen::kernels::{Reduce, ReduceArguments, Scan, ScanArguments};
use warpfold::codegen::translated::Part;
use warpfold::codegen::{
    Chunks, ComputeBoundReduce, ComputeBoundScan, Definitions, Engine, HEADER_BYTES, Kernels,
    Layouts, LevelArguments, Order, Policy, Primitive, ReducePlan, RowPolicy, ScanPlan, WavePlan,
    WavePolicy, WorkspaceArguments, WorkspaceKey, source,
};
use warpfold::ops::Add;
use warpfold::{CudaType, Element, Monoid, monoid};

fn module<K: Kernels>(name: &str, engine: Engine, kernel: &'static str) -> Option<Module> {
    let toolchain = Toolchain::get()?;
    let text = source::<K>(engine).expect("the source can be generated");
    Some(toolchain.module(&format!("long {name}"), &text, &[kernel]))
}

fn script<T: Element>(data: &[T], workspace: &[u8]) -> Script {
    let mut script = Script::new();
    script.file("data", bytemuck::cast_slice(data));
    script.file("workspace", workspace);
    script.filled("workspace", 0, workspace.len(), "workspace");
    script
}

/// What a script saved, as values.
fn values<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(bytes)
}

// ---- scans by rows ----

/// A scan by blocks of one warp, which take their tiles by ticket.
fn check_scan<T: Sample, Op: Monoid<T>>(name: &str, policy: RowPolicy, lengths: &[usize]) {
    let engine = Engine::Rows(policy);
    let Some(module) = module::<Scan<T, Op>>(name, engine, "scan_rows") else {
        return;
    };
    for (seed, &length) in (0..).zip(lengths) {
        let (data, bytes) = (sample::<T>(length, seed), length * size_of::<T>());
        let inclusive = seed % 2 == 1;
        let plan = ScanPlan::with_warps(policy, length, inclusive, 1, 1);
        let workspace = used_workspace(ScanPlan::workspace_bytes_for(
            Layouts::of_slice::<T>(),
            policy,
            plan.blocks,
        ));
        let mut script = script(&data, &workspace);
        script.seed(base_seed() + seed);
        script.filled("in", 0, bytes, "data");
        script.buffer("out", 0, bytes);
        let arguments = ScanArguments {
            source: slice("in"),
            out: address("out", 0),
            length: length as u64,
            workspace: workspace_of(2),
            init: Op::identity().widen(),
            identity: Op::identity().widen(),
            seeded: 0,
            inclusive: u32::from(inclusive),
            by_ticket: u32::from(plan.by_ticket),
        };
        let grid = Grid::new(plan.blocks, 32 * plan.warps);
        script.launch("scan_rows", grid, &[Argument::of_struct(&arguments)]);
        script.save("out");
        let expected = match inclusive {
            true => oracle::inclusive::<T, Op>(&data, None),
            false => oracle::exclusive::<T, Op>(&data, None),
        };
        let got = values::<T>(&script.run_to_the_end(name, &module));
        assert_same(&got, &expected, &format!("{name}: {length}"));
    }
}

/// 32 sums of tiles make a sum of the second level, and 32 of those one of the third. With 1055
/// tiles the first level ends where one more tile would make the second longer.
#[test]
fn sums_of_sums_of_tiles() {
    let policy = RowPolicy {
        rows: 1,
        batch: 1,
        ..RowPolicy::of_scan::<[u8; 24]>(false)
    };
    let tile = policy.elements() as usize;
    let lengths = [1055 * tile - 3, 1030 * tile + 1];
    check_scan::<[u8; 24], Bracketing>("scan sums of sums", policy, &lengths);
}

/// Other shapes than those of a sum.
#[test]
fn policies_of_compute_bound_operators() {
    fn check<T: Sample, Op: Monoid<T>>(name: &str) {
        if !is_drawn(&format!("compute-bound {name}"), name == "f32") {
            return;
        }
        let compute_bound = ComputeBoundScan::of(Layouts::of_slice::<T>(), 90, u32::MAX)
            .expect("elements are small");
        for short in compute_bound.short {
            let tile = short.elements() as usize;
            let name = format!("compute-bound scan {name} of {} rows", short.rows);
            check_scan::<T, Op>(&name, short, &[tile - 1, 3 * tile + 5]);
        }
        for cost in [89, u32::MAX] {
            let compute_bound = ComputeBoundReduce::of(Layouts::of_slice::<T>(), 90, cost)
                .expect("elements are small");
            for (bytes, rows) in compute_bound.rows {
                let batch = rows.elements() as usize;
                let cuts = [(batch - 1, 1, 0), (5 * batch + 33, 2, 1)];
                let name = format!("reduce {name} at {cost} to {bytes}");
                check_reductions::<T, Op>(&name, rows, &cuts);
            }
        }
    }
    check::<f16, Add>("f16");
    check::<f32, LogAddExp>("f32");
    check::<f32, Doubtful>("f32 in doubt");
    check::<u64, Bracketing>("u64");
    check::<[u8; 8], Bracketing>("8 bytes");
}

// ---- elements that are aligned to 16 bytes ----

/// The derive macro takes no such struct, but one can implement the traits by hand.
#[derive(Clone, Copy, Debug, PartialEq, Zeroable, Pod)]
#[repr(C, align(16))]
struct Aligned {
    words: [u32; 4],
}

// SAFETY: plain words without padding; the CUDA struct has the same.
unsafe impl Element for Aligned {
    type Accumulator = Aligned;

    fn widen(self) -> Aligned {
        self
    }

    fn narrow(accumulator: Aligned) -> Aligned {
        accumulator
    }
}

impl CudaType for Aligned {
    fn cuda_type(definitions: &mut Definitions) -> String {
        definitions.define_struct("Aligned", 16, 16, &[("words[4]", "alignas(16) u32".into())])
    }

    fn cuda_value(&self, definitions: &mut Definitions) -> String {
        let [a, b, c, d] = self.words;
        let name = Self::cuda_type(definitions);
        format!("{name}{{{{{a}u, {b}u, {c}u, {d}u}}}}")
    }

    fn parts(&self, visit: &mut dyn FnMut(Part)) {
        for word in self.words {
            word.parts(visit);
        }
    }
}

impl Sample for Aligned {
    fn sample(random: &mut Random) -> Aligned {
        let words = Sample::sample(random);
        Aligned { words }
    }
}

/// Sums that count what came before three times: they do not commute.
struct Append;

impl Monoid<Aligned> for Append {
    fn identity() -> Aligned {
        Aligned { words: [0; 4] }
    }

    fn combine(a: Aligned, b: Aligned) -> Aligned {
        let words = Weighted::combine(a.words, b.words);
        Aligned { words }
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let aligned = Aligned::cuda_type(definitions);
        definitions.define_function::<Self>("append", |_, name| {
            format!(
                "__device__ {aligned} {name}({aligned} a, {aligned} b) {{
    for (int i = 0; i < 4; i++) a.words[i] = a.words[i] * 3 + b.words[i];
    return a;
}}"
            )
        })
    }
}

#[test]
fn elements_aligned_to_16_bytes() {
    let policy = RowPolicy::of_scan::<Aligned>(false);
    let tile = policy.elements() as usize;
    check_scan::<Aligned, Append>("scan aligned", policy, &[1, tile, 5 * tile + 7]);
    let rows = RowPolicy::of_reduce::<Aligned>(Order::Law).taking_turns();
    let batch = rows.elements() as usize;
    let cuts = [(1, 1, 0), (5 * batch + 33, 1, 0), (9 * batch + 1, 2, 1)];
    check_reductions::<Aligned, Append>("reduce aligned", rows, &cuts);
}

// ---- reductions in the law's order ----

/// Reductions of this many elements by blocks of this many warps, each of whose parts has
/// 2^log_batches batches.
fn check_reductions<T: Sample, Op: Monoid<T>>(
    name: &str,
    rows: RowPolicy,
    cuts: &[(usize, u32, u32)],
) {
    let engine = Engine::Rows(rows);
    let Some(module) = module::<Reduce<T, Op>>(name, engine, "reduce_rows") else {
        return;
    };
    for (seed, &(length, warps, log_batches)) in (0..).zip(cuts) {
        let data = sample::<T>(length, seed);
        let plan = ReducePlan::with_chunks(rows, length, warps, log_batches, 5);
        let sums = ScanPlan::workspace_bytes_for(
            Layouts::of_slice::<T>(),
            rows,
            u64::from(plan.chunks.count),
        );
        let mut script = script(&data, &used_workspace(sums));
        script.seed(base_seed() + seed);
        script.filled("in", 0, length * size_of::<T>(), "data");
        script.buffer("out", 0, size_of::<T>());
        let arguments = reduction_arguments::<T, Op>(length, &plan);
        let grid = Grid {
            resident: plan.blocks,
            ..Grid::new(plan.blocks.into(), plan.threads)
        };
        script.launch("reduce_rows", grid, &arguments);
        script.save("out");
        let got = values::<T>(&script.run_to_the_end(name, &module));
        let expected = oracle::reduce::<T, Op>(&data, None);
        assert_same(&got, &[expected], &format!("{name}: {length}, {plan:?}"));
    }
}

fn reduction_arguments<T: Element, Op: Monoid<T>>(
    length: usize,
    plan: &ReducePlan,
) -> [Argument; 1] {
    let arguments = ReduceArguments {
        source: slice("in"),
        length: length as u64,
        out: address("out", 0),
        workspace: workspace_of(2),
        init: Op::identity().widen(),
        seeded: 0,
        chunks: plan.chunks,
    };
    [Argument::of_struct(&arguments)]
}

/// One row a batch: as many chunks as possible of as few elements as possible.
fn short_batches<T: Element>() -> RowPolicy {
    RowPolicy {
        rows: 1,
        batch: 1,
        ..RowPolicy::of_reduce::<T>(Order::Law).taking_turns()
    }
}

/// The most chunks that there are: the sums of 32 nodes of 32 chunks each are folded as one tree.
#[test]
fn the_most_chunks() {
    let rows = short_batches::<[u8; 64]>();
    let batch = rows.elements() as usize;
    let cuts = [(1024 * batch, 1, 0), (1040 * batch + 3, 1, 0)];
    check_reductions::<[u8; 64], Bracketing>("reduce most chunks", rows, &cuts);
}

/// Nothing is left over where the chunks fill nodes of the tree over their sums: no padding may
/// stand in for it.
#[test]
fn chunks_that_fill_nodes() {
    let rows = short_batches::<Guarded>();
    let batch = rows.elements() as usize;
    let cuts = [
        (128 * batch, 1, 0),
        (256 * batch, 1, 0),
        (256 * batch + 1, 1, 0),
    ];
    check_reductions::<Guarded, GuardedBracketing>("reduce full nodes", rows, &cuts);
}

/// Parts of so many batches that each lane of the counter over them holds a sum.
#[test]
fn parts_of_many_batches() {
    let rows = RowPolicy {
        rows: 2,
        batch: 2,
        ..RowPolicy::of_reduce::<Guarded>(Order::Law).taking_turns()
    };
    let batch = rows.elements() as usize;
    let cuts = [((2 * 64 + 63) * batch + 5, 1, 6), (127 * batch, 2, 6)];
    check_reductions::<Guarded, GuardedBracketing>("reduce long parts", rows, &cuts);
}

/// On a GPU a block with a higher index starts later. So reductions end even where few blocks live
/// at a time, and the last one waits for all others.
#[test]
fn reductions_end_if_blocks_start_in_order() {
    fn check<Op: Monoid<[u32; 3]>>(name: &str, order: Order) {
        let rows = RowPolicy::of_reduce::<[u32; 3]>(order);
        let by_law = rows.taking_turns();
        let rows = if order == Order::Law { by_law } else { rows };
        let engine = Engine::Rows(rows);
        let name = format!("reduce in order {name}");
        let Some(module) = module::<Reduce<[u32; 3], Op>>(&name, engine, "reduce_rows") else {
            return;
        };
        let length = 23 * rows.elements() as usize + 5;
        let data = sample::<[u32; 3]>(length, 1);
        let mut plan = ReducePlan::with_chunks(by_law, length, 1, 0, 9);
        if order == Order::Any {
            plan.chunks = Chunks::NONE;
        }
        let sums = ScanPlan::workspace_bytes_for(Layouts::of_slice::<[u32; 3]>(), rows, 64);
        for (seed, resident) in (0..).zip([1, 2, 3, 8]) {
            let mut script = script(&data, &used_workspace(sums));
            script.seed(base_seed() + seed);
            script.start_in_order();
            script.filled("in", 0, length * 12, "data");
            script.buffer("out", 0, 12);
            let arguments = reduction_arguments::<[u32; 3], Op>(length, &plan);
            let grid = Grid {
                resident,
                ..Grid::new(plan.blocks.into(), plan.threads)
            };
            script.launch("reduce_rows", grid, &arguments);
            script.save("out");
            let got = values::<[u32; 3]>(&script.run_to_the_end(&name, &module));
            let expected = oracle::reduce::<[u32; 3], Op>(&data, None);
            assert_same(
                &got,
                &[expected],
                &format!("{name}: {resident} blocks live"),
            );
        }
    }
    check::<Sums>("any", Order::Any);
    check::<Weighted>("law", Order::Law);
}

/// Sums that count what came before three times: they do not commute.
struct Weighted;

#[monoid]
impl<const N: usize> Monoid<[u32; N]> for Weighted {
    fn identity() -> [u32; N] {
        [0; N]
    }

    fn combine(mut a: [u32; N], b: [u32; N]) -> [u32; N] {
        for i in 0..N {
            a[i] = a[i].wrapping_mul(3).wrapping_add(b[i]);
        }
        a
    }
}

// ---- levels ----

/// `f16` is folded in `f32`, so sums of sums have a kernel of their own. By way of a plan it would
/// take 16 million elements to get there.
#[test]
fn sums_of_sums_in_a_wider_type() {
    let engine = Engine::Levels;
    let name = "reduce wider sums";
    let Some(module) = module::<Reduce<f16, Add>>(name, engine, "reduce_sums") else {
        return;
    };
    let policy = Policy::of::<f32>(Primitive::Reduce);
    let tile = policy.tile() as usize;
    let data = sample::<f32>(3 * tile, 2);
    let mut script = script(&data, &[]);
    script.seed(base_seed());
    script.filled("in", 0, 4 * data.len(), "data");
    script.buffer("out", 0, 12);
    let arguments = LevelArguments {
        source: slice("in"),
        length: data.len() as u64,
        out: 0,
        above: address("out", 0),
        init: 0_f32,
        seeded: 0,
        inclusive: 0,
    };
    let grid = Grid::new(3, policy.threads);
    script.launch("reduce_sums", grid, &[Argument::of_struct(&arguments)]);
    script.save("out");
    let got = values::<f32>(&script.run_to_the_end(name, &module));
    let expected = data
        .chunks(tile)
        .map(|tile| oracle::reduce::<f32, Add>(tile, None));
    assert_same(&got, &expected.collect::<Vec<_>>(), name);
}

// ---- the wave engine ----

/// A local variable that nothing has set could hold any word: also the tag of this launch, which a
/// launch before it left in the same register. Compilers fill such variables with a pattern here
/// (`-ftrivial-auto-var-init=pattern`), so this launch has the pattern for its tag.
#[test]
fn what_nothing_set_is_not_taken_for_a_sum() {
    let policy = WavePolicy {
        warps: 2,
        rows: 1,
        stages: 3,
        loads: 2,
        wave: 32,
        reducers: 1,
        ..WavePolicy::of::<u32>().expect("a policy")
    };
    let engine = Engine::Wave(policy);
    let name = "wave tag";
    let Some(module) = module::<Scan<u32, Add>>(name, engine, "scan_wave") else {
        return;
    };
    let length = 35 * policy.tile() as usize + 3;
    let data = sample::<u32>(length, 1);
    let plan = WavePlan::new(policy, length);
    // g++'s pattern, and clang++'s.
    for byte in [0xfe, 0xaa] {
        let key = WorkspaceKey {
            first_tag: u64::from_ne_bytes([byte; 8]),
            ..KEY
        };
        let workspace = used_workspace_of(key, plan.workspace_bytes(Layouts::of_slice::<u32>()));
        assert!(workspace.len() > HEADER_BYTES);
        let mut script = script(&data, &workspace);
        script.seed(base_seed() + u64::from(byte));
        script.filled("in", 0, 4 * length, "data");
        script.buffer("out", 0, 4 * length);
        let arguments = ScanArguments {
            source: slice("in"),
            out: address("out", 0),
            length: length as u64,
            workspace: WorkspaceArguments {
                key: key.key,
                ..workspace_of(2)
            },
            init: 0_u32,
            identity: 0,
            seeded: 0,
            inclusive: 0,
            by_ticket: 1,
        };
        let grid = Grid {
            shared: policy.shared_bytes(Layouts::of_slice::<u32>()) as usize,
            ..Grid::new(3, plan.threads())
        };
        script.launch("scan_wave", grid, &[Argument::of_struct(&arguments)]);
        script.save("out");
        let got = values::<u32>(&script.run_to_the_end(name, &module));
        assert_same(&got, &oracle::exclusive::<u32, Add>(&data, None), name);
    }
}
