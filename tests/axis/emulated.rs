//! The kernels in the emulator.

use super::cases::{Case, Form, cases};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::support::data::{Sample, assert_same};
use crate::support::matrix::is_drawn;
use crate::support::operators::{
    Bicyclic, BicyclicProduct, Bracketing, Guarded, GuardedBracketing, Sums,
};
use crate::support::workspace::used_workspace;
use half::f16;
use warpfold::codegen::HEADER_BYTES;
use warpfold::codegen::kernels::{AxisArguments, AxisLanes, AxisLevel, AxisPlan, AxisPolicy};
use warpfold::ops::Add;
use warpfold::source::SliceArguments;
use warpfold::{Element, Monoid, bytemuck};

/// Short chunks, so that there are levels of them. Of few lanes they are shorter than they can be.
fn policy<T: Element>() -> AxisPolicy {
    let usual = AxisPolicy::of::<T>();
    AxisPolicy {
        log_most: usual.log_most.min(usual.log_group + 3),
        threads: 64,
        ..usual
    }
}

fn module<T: Sample, Op: Monoid<T>>(name: &str) -> Option<Module> {
    let toolchain = Toolchain::get()?;
    let name = format!("axis {name}");
    let always = ["axis floats", "axis ordered"].contains(&&*name);
    is_drawn(&name, always).then(|| {
        let kernel = AxisLanes::<T, Op>::kernel(policy::<T>());
        let text = kernel.source().expect("a source");
        toolchain.module(&name, &text, kernel.functions())
    })
}

/// A call: the launches that it takes.
struct Call<'a, T: Element> {
    case: &'a Case,
    plan: AxisPlan,
    init: (T::Accumulator, bool),
}

impl<T: Element> Call<'_, T> {
    /// What a launch of a level reads.
    fn arguments(
        &self,
        number: usize,
        from: &'static str,
    ) -> AxisArguments<SliceArguments, T::Accumulator> {
        let (axis, level) = (self.case.axis(), self.plan.levels[number]);
        let (source, strides) = match number {
            0 => {
                let strides = (self.case.outer_stride(), self.case.stride());
                (address(from, 0), strides)
            }
            _ => {
                let strides = (level.length as usize * self.case.inner, self.case.inner);
                (at(self.plan.levels[number - 1].sums), strides)
            }
        };
        let lanes = axis.lanes() as u64;
        AxisArguments {
            source: SliceArguments { address: source },
            out: 0,
            sums: 0,
            rests: 0,
            length: level.length,
            inner: self.case.inner as u64,
            outer_stride: strides.0 as u64,
            stride: strides.1 as u64,
            chunks: level.chunks(),
            threads: lanes * level.chunks(),
            whole_length: axis.lane_len() as u64,
            lanes,
            out_outer_stride: 0,
            out_stride: 0,
            log_chunk: level.log_chunk,
            shift: level.shift,
            reverse: 0,
            seeded: self.init.1.into(),
            inclusive: 0,
            closed: 0,
            init: self.init.0,
        }
    }

    fn launch(
        &self,
        script: &mut Script,
        function: &str,
        given: &AxisArguments<SliceArguments, T::Accumulator>,
    ) {
        let threads = policy::<T>().threads;
        let grid = Grid::new(given.threads.div_ceil(threads.into()), threads);
        script.launch(function, grid, &[Argument::of_struct(given)]);
    }

    fn reduce(&self, script: &mut Script) {
        for (number, level) in self.plan.levels.iter().enumerate() {
            let given = AxisArguments {
                out: address("out", 0),
                sums: if level.is_last { 0 } else { at(level.sums) },
                rests: at(self.plan.rests),
                ..self.arguments(number, "in")
            };
            let function = ["axis_reduce", "axis_reduce_sums"][usize::from(number > 0)];
            self.launch(script, function, &given);
        }
    }

    fn scan(&self, script: &mut Script, form: Form<T>, in_place: bool)
    where
        T: Sample,
    {
        let from = if in_place { "scanned" } else { "in" };
        let reverse = |number| u32::from(form.reverse && number == 0);
        let levels = || self.plan.levels.iter().enumerate();
        for (number, level) in levels().filter(|(_, level)| !level.is_last) {
            let given = AxisArguments {
                sums: at(level.sums),
                reverse: reverse(number),
                ..self.arguments(number, from)
            };
            let function = ["axis_reduce", "axis_reduce_sums"][usize::from(number > 0)];
            self.launch(script, function, &given);
        }
        for (number, level) in levels().rev() {
            let seeds = |level: &AxisLevel| if level.is_last { 0 } else { at(level.seeds) };
            let given = self.arguments(number, from);
            if number == 0 {
                let inner = self.case.inner;
                let strides = match in_place {
                    true => (self.case.outer_stride(), self.case.stride()),
                    false => (self.case.len * inner, inner),
                };
                let given = AxisArguments {
                    out: address("scanned", 0),
                    sums: seeds(level),
                    reverse: reverse(0),
                    inclusive: form.inclusive.into(),
                    out_outer_stride: strides.0 as u64,
                    out_stride: strides.1 as u64,
                    ..given
                };
                self.launch(script, "axis_scan", &given);
            } else {
                let given = AxisArguments {
                    out: seeds(&self.plan.levels[number - 1]),
                    sums: seeds(level),
                    closed: 1,
                    out_outer_stride: (level.length + 1) * self.case.inner as u64,
                    out_stride: self.case.inner as u64,
                    ..given
                };
                self.launch(script, "axis_scan_sums", &given);
            }
        }
    }
}

fn at(offset: u64) -> u64 {
    address("workspace", offset as usize)
}

fn check<T: Sample, Op: Monoid<T>>(name: &str) {
    let Some(module) = module::<T, Op>(name) else {
        return;
    };
    let policy = policy::<T>();
    let cases = cases(policy.log_most.max(3));
    let some = cases.iter().filter(|case| case.axis().items() > 0);
    for (number, case) in some.enumerate() {
        let (axis, data) = (case.axis(), case.data::<T>());
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        // Every other case has chunks that are as long as they can be.
        let wanted = [policy.wanted, 1][number % 2];
        let plan = AxisPlan::new::<T>(AxisPolicy { wanted, ..policy }, &axis, HEADER_BYTES as u64);
        let bytes = plan.end as usize;
        script.file("items", bytemuck::cast_slice(&data));
        script.file("workspace", &used_workspace(bytes));
        let mut expected = Vec::new();
        for form in Form::<T>::all() {
            let init = form.init.unwrap_or_else(Op::identity);
            let call = Call::<T> {
                case,
                plan: plan.clone(),
                init: (init.widen(), form.init.is_some()),
            };
            let items = data.len() * size_of::<T>();
            script.filled("in", number % 3 * align_of::<T>(), items, "items");
            script.filled("workspace", 0, bytes, "workspace");
            if !form.reverse && form.inclusive {
                script.buffer("out", 0, axis.lanes() * size_of::<T>());
                call.reduce(&mut script);
                script.save("out");
                expected.extend(case.folds::<T, Op>(&data, form.init));
            }
            let in_place = form.inclusive == form.reverse;
            match in_place {
                true => script.filled("scanned", 0, items, "items"),
                false => script.buffer("scanned", 0, axis.items() * size_of::<T>()),
            }
            call.scan(&mut script, form, in_place);
            script.save("scanned");
            script.clear();
            expected.extend(case.scans::<T, Op>(&data, form, in_place));
        }
        let what = format!("{name}: {case:?}, {} levels", plan.levels.len());
        let got: Vec<T> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        assert_same(&got, &expected, &what);
    }
}

macro_rules! types {
    ($($test:ident: $ty:ty, $op:ty;)*) => {$(
        #[test]
        fn $test() {
            check::<$ty, $op>(stringify!($test));
        }
    )*};
}

types! {
    floats: f32, Add;
    halves: f16, Add;
    bytes: u8, Bracketing;
    words: u64, Bracketing;
    ordered: Bicyclic, BicyclicProduct;
    triples: [u8; 3], Bracketing;
    pairs_of_words: [u64; 2], Sums;
    long_elements: [u64; 8], Sums;
    guarded: Guarded, GuardedBracketing;
}
