//! The library's own engines in the emulator.

use crate::data::{Data, Product};
use crate::operator::Operator;
use crate::{Error, Number, Result};
use std::any::type_name;
use warpfold::bytemuck::{cast_slice, pod_collect_to_vec};
use warpfold::codegen::kernels::{ReduceArguments, ScanArguments};
use warpfold::codegen::{
    self, Engine, Layouts, LevelArguments, Order, Plan, Primitive, ReducePlan, ReducePolicy,
    RowPolicy, ScanPlan, WavePlan, WavePolicy, WorkspaceArguments, WorkspaceKey,
};
use warpfold::ladder::Problem;
use warpfold::source::{Form, Map, Slice, SliceArguments, Zip, ZipArguments};
use warpfold_emulator::{Argument, Grid, Record, Script, Toolchain, address};

/// The products of two slices.
pub(crate) type Products<T> = Map<Product<T>, Zip<(Slice<T>, Slice<T>)>>;

/// A request for kernels, as data: what [`codegen::Kernels`] says of a type.
pub(crate) struct Kernels {
    name: &'static str,
    primitive: &'static str,
    kernel: fn(Engine) -> codegen::Kernel,
}

impl Kernels {
    pub(crate) fn of<K: codegen::Kernels>() -> Kernels {
        Kernels {
            name: type_name::<K>(),
            primitive: K::NAME,
            kernel: K::kernel,
        }
    }
}

/// The number of multiprocessors of the GPU that the emulator stands for.
const MULTIPROCESSORS: u32 = 4;

/// Random in earnest, a workspace's key is the same here in every run.
const KEY: WorkspaceKey = WorkspaceKey {
    key: 0x0123_4567_89ab_cdef,
    first_tag: 0xfedc_ba98_7654_3210,
};

/// What an engine gives for the first `length` items, and what it asks of the machine. `None` if
/// the engine cannot have such elements, or is not counted.
pub(crate) fn run<T: Number>(
    toolchain: &Toolchain,
    op: &Operator<T>,
    (problem, engine, order): (Problem, &str, Order),
    data: &Data<T>,
    length: usize,
) -> Result<Option<(Vec<T>, Record)>> {
    let call = Call {
        toolchain,
        op,
        data,
        length,
    };
    match (problem, engine, order) {
        (Problem::Reduce, "levels", _) => call.levels(&op.reduction, Primitive::Reduce),
        (Problem::Reduce, ..) => {
            let kernels = match order {
                Order::Law => &op.reduction_in_order,
                Order::Any => &op.reduction_in_any_order,
            };
            call.reduce::<Slice<T>>(kernels, order, slice("in"))
        }
        (Problem::Dot, ..) => {
            let source = ZipArguments(slice("in"), slice("second"));
            call.reduce::<Products<T>>(&op.products, Order::Law, source)
        }
        (Problem::Scan, "levels", _) => call.levels(&op.scans, Primitive::Scan),
        (Problem::Scan, "wave", _) => match WavePolicy::of::<T>() {
            Some(policy) => call.wave(policy),
            None => return Ok(None),
        },
        (Problem::Scan, ..) => call.scan(),
        (Problem::Sort, ..) => return Ok(None),
    }
    .map(Some)
}

/// A call of an engine.
struct Call<'a, T: Number> {
    toolchain: &'a Toolchain,
    op: &'a Operator<T>,
    data: &'a Data<T>,
    length: usize,
}

impl<T: Number> Call<'_, T> {
    fn script(&self, results: usize, workspace_bytes: usize) -> Script {
        let mut script = Script::new();
        script.start_in_order();
        for (name, items) in [("in", &self.data.items), ("second", &self.data.second)] {
            let bytes = cast_slice::<T, u8>(&items[..self.length]);
            script.file(name, bytes);
            script.filled(name, 0, bytes.len(), name);
        }
        script.buffer("out", 0, results * size_of::<T>());
        if workspace_bytes > 0 {
            let mut header = KEY.header().to_vec();
            header.resize(workspace_bytes, 0);
            script.file("workspace", &header);
            script.filled("workspace", 0, workspace_bytes, "workspace");
        }
        script
    }

    /// Runs the launches of a script.
    fn finish(
        &self,
        kernels: &Kernels,
        engine: Engine,
        script: Script,
    ) -> Result<(Vec<T>, Record)> {
        let name = format!("{} {} {}", kernels.primitive, engine.name(), kernels.name);
        let kernel = (kernels.kernel)(engine);
        let (text, functions) = (kernel.source()?, kernel.functions());
        let record = record(self.toolchain, &name, &text, functions, script)?;
        Ok((pod_collect_to_vec(&record.saved), record))
    }

    fn reduce<F: Form<Item = T>>(
        &self,
        kernels: &Kernels,
        order: Order,
        source: F::Arguments,
    ) -> Result<(Vec<T>, Record)> {
        let rows = RowPolicy::for_reduce(Layouts::of::<F>(), 90, order);
        let policies = (rows, ReducePolicy::of::<T>());
        let plan = ReducePlan::new(
            Layouts::of_slice::<T>(),
            policies,
            order,
            self.length,
            MULTIPROCESSORS,
        );
        let bytes = ReducePlan::workspace_bytes(Layouts::of_slice::<T>(), policies, self.length);
        let mut script = self.script(1, bytes);
        let arguments = ReduceArguments {
            source,
            length: self.length as u64,
            out: address("out", 0),
            workspace: workspace(bytes),
            init: self.op.identity,
            seeded: 0,
            chunks: plan.chunks,
        };
        let grid = Grid {
            resident: plan.blocks,
            ..Grid::new(plan.blocks.into(), plan.threads)
        };
        script.launch("reduce_rows", grid, &[Argument::of_struct(&arguments)]);
        self.finish(kernels, Engine::Rows(rows), script)
    }

    fn scan(&self) -> Result<(Vec<T>, Record)> {
        let policy = RowPolicy::of_scan::<T>(true);
        let plan = ScanPlan::new(policy, self.length, false, MULTIPROCESSORS);
        let bytes = ScanPlan::workspace_bytes(Layouts::of_slice::<T>(), policy, self.length);
        let mut script = self.script(self.length, bytes);
        let arguments = self.scan_arguments(bytes, plan.by_ticket);
        let grid = Grid {
            // Without tickets all blocks must live at a time.
            resident: if plan.by_ticket {
                0
            } else {
                plan.blocks as u32
            },
            ..Grid::new(plan.blocks, 32 * plan.warps)
        };
        script.launch("scan_rows", grid, &[Argument::of_struct(&arguments)]);
        self.finish(&self.op.scans, Engine::Rows(policy), script)
    }

    fn wave(&self, policy: WavePolicy) -> Result<(Vec<T>, Record)> {
        let plan = WavePlan::new(policy, self.length);
        let bytes = plan.workspace_bytes(Layouts::of_slice::<T>());
        let mut script = self.script(self.length, bytes);
        let arguments = self.scan_arguments(bytes, true);
        let grid = Grid {
            shared: policy.shared_bytes(Layouts::of_slice::<T>()) as usize,
            ..Grid::new(
                plan.tiles(false).min(MULTIPROCESSORS.into()),
                plan.threads(),
            )
        };
        script.launch("scan_wave", grid, &[Argument::of_struct(&arguments)]);
        self.finish(&self.op.scans, Engine::Wave(policy), script)
    }

    fn scan_arguments(
        &self,
        workspace_bytes: usize,
        by_ticket: bool,
    ) -> ScanArguments<SliceArguments, T::Accumulator> {
        ScanArguments {
            source: slice("in"),
            out: address("out", 0),
            length: self.length as u64,
            workspace: workspace(workspace_bytes),
            init: self.op.identity,
            identity: self.op.identity,
            seeded: 0,
            inclusive: 0,
            by_ticket: u32::from(by_ticket),
        }
    }

    fn levels(&self, kernels: &Kernels, primitive: Primitive) -> Result<(Vec<T>, Record)> {
        let plan = Plan::new(Layouts::of_slice::<T>(), primitive, self.length);
        let results = match primitive {
            Primitive::Reduce => 1,
            Primitive::Scan => self.length,
        };
        let mut script = self.script(results, plan.workspace_bytes());
        let level = |k: usize| match k {
            0 => address("in", 0),
            k if k == plan.levels() => 0,
            k => address("workspace", plan.offset(k)),
        };
        let widens = size_of::<T>() != size_of::<T::Accumulator>();
        for launch in plan.launches().filter(|launch| launch.blocks > 0) {
            let k = launch.level;
            let arguments = LevelArguments {
                source: SliceArguments { address: level(k) },
                length: plan.length(k),
                out: if k == 0 { address("out", 0) } else { level(k) },
                above: level(k + 1),
                init: self.op.identity,
                seeded: 0,
                inclusive: u32::from(k > 0),
            };
            let function = launch.step.function(k > 0 && widens);
            let grid = Grid::new(launch.blocks, launch.threads);
            script.launch(function, grid, &[Argument::of_struct(&arguments)]);
        }
        self.finish(kernels, Engine::Levels, script)
    }
}

/// Compiles kernels, and runs a script with them.
fn record(
    toolchain: &Toolchain,
    name: &str,
    text: &str,
    functions: &[&str],
    mut script: Script,
) -> Result<Record> {
    let short = format!("ladder ours {:016x}", short_name(name));
    let module = toolchain.try_module(&short, text, functions);
    script.save("out");
    let record = script.record(&module.map_err(Error::Emulator)?, false);
    record.map_err(Error::Emulator)
}

fn slice(buffer: &'static str) -> SliceArguments {
    SliceArguments {
        address: address(buffer, 0),
    }
}

fn workspace(bytes: usize) -> WorkspaceArguments {
    WorkspaceArguments {
        address: if bytes == 0 {
            0
        } else {
            address("workspace", 0)
        },
        key: KEY.key,
    }
}

/// The names of types are too long for files.
fn short_name(name: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
