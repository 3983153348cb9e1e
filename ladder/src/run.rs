//! A run, step by step.

use crate::counts::{count, files, predictions};
use crate::data::Data;
use crate::operator::Operator;
use crate::report::{Machine, Outcome, Report, Row, Time, seeds, texts};
use crate::{Error, Number, Result, cpu, emulated, engines, picture};
use std::path::PathBuf;
use tempfile::TempDir;
use warpfold::ladder::{self, Kernel, MOST_RETRIED, Problem, Runner, Shape, Step};
use warpfold::{Device, Monoid, bytemuck};
use warpfold_emulator::{Module, Toolchain};

/// What is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The numbers that steps are timed on.
    pub elements: usize,
    /// The numbers that kernels are counted on, in the emulator; 0 for none.
    pub counted: usize,
    /// How many pairs of numbers each thread of the coarsened step takes.
    pub factor: u32,
    /// The number of the GPU that kernels are timed on, or why there is none.
    pub gpu: Result<usize, String>,
    /// The names of the steps to run; all if there are none.
    pub only: Vec<String>,
    /// Where the emulator's modules are kept until their source changes. Without a folder they are
    /// compiled for the run.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            elements: 1 << 24,
            counted: 1 << 14,
            factor: 4,
            gpu: Err("no GPU was asked for".to_owned()),
            only: Vec::new(),
            folder: None,
        }
    }
}

/// Runs the steps on numbers of a type, with an operator that the report calls `operator`.
///
/// # Errors
///
/// [`Error::NoStep`] for a name that is no step's; [`Error::Library`] if a GPU that was asked for
/// cannot be used, or runs out of memory; [`Error::Emulator`] if a kernel does not compile.
///
/// # Panics
///
/// If there is no number to run on, or the factor is 0.
pub fn run<T: Number, Op: Monoid<T>>(operator: &str, options: &Options) -> Result<Report> {
    run_with(&Operator::<T>::of::<Op>(), operator, options)
}

fn run_with<T: Number>(op: &Operator<T>, operator: &str, options: &Options) -> Result<Report> {
    assert!(options.elements > 0 && options.factor > 0, "{options:?}");
    if let Some(name) = options
        .only
        .iter()
        .find(|name| ladder::step(name).is_none())
    {
        return Err(Error::NoStep(name.clone()));
    }
    let data = Data::new(op, options.elements.max(options.counted));
    let timed = Data {
        items: data.items[..options.elements].to_vec(),
        second: data.second[..options.elements].to_vec(),
    };
    let mut runner = Runs::new(op, options, &timed)?;
    let is_wanted =
        |step: &&Step| options.only.is_empty() || options.only.iter().any(|name| name == step.name);
    let mut rows = Vec::new();
    for step in ladder::steps().filter(is_wanted) {
        rows.push(runner.row(step, &data, &timed)?);
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        operator: operator.to_owned(),
        element: T::NAME,
        element_bytes: size_of::<T>(),
        elements: options.elements,
        counted: options.counted,
        cpu: runner.cpu,
        gpu: runner.gpu_machine,
        missing: runner.missing,
        texts: texts(),
        steps: rows,
    })
}

/// What runs steps.
struct Runs<'a, T: Number> {
    op: &'a Operator<T>,
    factor: u32,
    counted: usize,
    cpu: Machine,
    gpu_machine: Option<Machine>,
    #[cfg(feature = "cuda")]
    gpu: Option<crate::gpu::Gpu<T>>,
    emulator: Option<(&'static Toolchain, Module)>,
    missing: Vec<String>,
    /// Removed at the end.
    _folder: Option<TempDir>,
}

impl<'a, T: Number> Runs<'a, T> {
    fn new(op: &'a Operator<T>, options: &Options, data: &Data<T>) -> Result<Self> {
        let copied = 2 * size_of_val(data.items.as_slice());
        let cpu = Machine {
            name: Device::cpu().description(),
            copy: copied as f64 / cpu::time_copy(data)? / 1e3,
        };
        let mut missing = Vec::new();
        #[cfg(feature = "cuda")]
        let (gpu, gpu_machine) = match options.gpu {
            Err(_) => (None, None),
            Ok(ordinal) => {
                let mut gpu = crate::gpu::Gpu::open(ordinal, options.factor, op, data)?;
                let machine = Machine {
                    name: gpu.name()?,
                    copy: copied as f64 / gpu.time_copy()? / 1e3,
                };
                (Some(gpu), Some(machine))
            }
        };
        #[cfg(not(feature = "cuda"))]
        let gpu_machine = None;
        if let Err(why) = &options.gpu {
            missing.push(format!("Kernels are not timed: {why}"));
        }
        let made = match &options.folder {
            Some(_) => None,
            None => Some(
                tempfile::tempdir().map_err(|error| Error::File(std::env::temp_dir(), error))?,
            ),
        };
        let folder = match (&options.folder, &made) {
            (Some(folder), _) => folder.as_path(),
            (None, Some(made)) => made.path(),
            (None, None) => unreachable!("a folder is given or made"),
        };
        // The compiler is not asked for what nobody wants.
        let toolchain = (options.counted > 0).then(|| Toolchain::get(folder));
        let emulator = match toolchain {
            None => None,
            Some(Ok(toolchain)) => Some((toolchain, emulated::module(op, toolchain)?)),
            Some(Err(why)) => {
                missing.push(format!("Kernels are not counted or drawn: {why}"));
                None
            }
        };
        Ok(Runs {
            op,
            factor: options.factor,
            counted: options.counted,
            cpu,
            gpu_machine,
            #[cfg(feature = "cuda")]
            gpu,
            emulator,
            missing,
            _folder: made,
        })
    }

    /// Runs a step on all that there is. `data` is what is counted on, `timed` what is timed on.
    fn row(&mut self, step: &Step, data: &Data<T>, timed: &Data<T>) -> Result<Row> {
        let kernel = step.kernel();
        let mut row = Row {
            name: step.name,
            title: step.title,
            problem: step.problem.name(),
            on_cpu: matches!(step.runner, Runner::Loop | Runner::Halving | Runner::Cpu),
            change: step.change,
            seeds: seeds(step),
            time: None,
            count: None,
            predictions: Vec::new(),
            outcome: Outcome::NotRun,
            files: kernel.map(files).unwrap_or_default(),
            picture: None,
        };
        if let Some((results, microseconds)) = cpu::time(step, self.op, timed)? {
            let elements = timed.items.len();
            let copy = self.cpu.copy;
            row.time = Some(time_of::<T>(step.problem, elements, microseconds, copy));
            judge(&mut row, step.problem, self.op, timed, &results, elements)?;
        }
        #[cfg(feature = "cuda")]
        if let (Some(gpu), Some(machine)) = (&mut self.gpu, &self.gpu_machine)
            && let Some(run) = gpu.run(step, timed)?
        {
            let (elements, copy) = (run.elements, machine.copy);
            row.time = Some(time_of::<T>(step.problem, elements, run.microseconds, copy));
            judge(
                &mut row,
                step.problem,
                self.op,
                timed,
                &run.results,
                elements,
            )?;
        }
        if let Some((toolchain, module)) = self.emulator.clone() {
            match &step.runner {
                Runner::Kernel(kernel) => self.count(&mut row, step, kernel, &module, data)?,
                Runner::Engine(engine, order) => {
                    let what = (step.problem, *engine, *order);
                    let ran = engines::run(toolchain, self.op, what, data, self.counted)?;
                    if let Some((results, record)) = ran {
                        row.count = Some(count(&record.tallies, self.counted));
                        judge(
                            &mut row,
                            step.problem,
                            self.op,
                            data,
                            &results,
                            self.counted,
                        )?;
                    }
                }
                Runner::Loop | Runner::Halving | Runner::Cpu => {}
            }
        }
        Ok(row)
    }

    /// Counts and draws a kernel.
    fn count(
        &self,
        row: &mut Row,
        step: &Step,
        kernel: &Kernel,
        module: &Module,
        data: &Data<T>,
    ) -> Result<()> {
        let length = (self.counted as u64).min((self.op.most_for)(kernel)) as usize;
        let shape = Shape {
            factor: self.factor,
            ..kernel.shape()
        };
        // Threads that try again and again are slow here.
        let length = match (self.op.most_for)(kernel) {
            MOST_RETRIED => length.min(1 << 11),
            _ => length,
        };
        let ran = emulated::run(module, self.op, kernel, shape, data, length, false);
        if kernel.races {
            row.outcome = match ran {
                Err(why) if why.contains("a race") => Outcome::FoundOut(shortened(&why)),
                Err(why) => Outcome::Wrong(why),
                Ok(_) => Outcome::Wrong("it races, and the emulator did not see it".to_owned()),
            };
            return Ok(());
        }
        let ran = match ran {
            Ok(ran) => ran,
            Err(why) => {
                row.outcome = Outcome::Wrong(why);
                return Ok(());
            }
        };
        let tallies = &ran.record.tallies;
        row.count = Some(count(tallies, length));
        row.predictions = predictions(step, kernel, tallies, length, size_of::<T>());
        judge(row, step.problem, self.op, data, &ran.results, length)?;
        let (shape, length) = emulated::small(kernel);
        let drawn = emulated::run(module, self.op, kernel, shape, data, length, true);
        match drawn {
            Ok(ran) => {
                let call = kernel.call(length as u64, shape);
                let sizes = (size_of::<T>(), size_of::<T::Accumulator>());
                row.picture = Some(picture::draw(row.title, &call, &ran.record.touches, sizes));
            }
            Err(why) => row.outcome = Outcome::Wrong(why),
        }
        Ok(())
    }
}

/// What the emulator says of a race, without how to run it again.
fn shortened(message: &str) -> String {
    let message = message.strip_prefix("emulator: ").unwrap_or(message);
    let lines = message
        .lines()
        .take_while(|line| !line.starts_with("in thread"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Compares results with the library's own. What was found wrong stays so.
fn judge<T: Number>(
    row: &mut Row,
    problem: Problem,
    op: &Operator<T>,
    data: &Data<T>,
    results: &[T],
    length: usize,
) -> Result<()> {
    if matches!(row.outcome, Outcome::Wrong(_)) {
        return Ok(());
    }
    let expected = data.expected(op, problem, length)?;
    let bytes = bytemuck::cast_slice::<T, u8>;
    row.outcome = if bytes(results) == bytes(&expected) {
        Outcome::Right
    } else {
        Outcome::Wrong(format!(
            "its results for {length} numbers are not the library's"
        ))
    };
    Ok(())
}

/// How fast a step is: what it has to read and write, by its time.
fn time_of<T>(problem: Problem, elements: usize, microseconds: f64, copy: f64) -> Time {
    let arrays = match problem {
        Problem::Reduce => 1,
        Problem::Dot | Problem::Scan | Problem::Sort => 2,
    };
    let speed = (arrays * elements * size_of::<T>()) as f64 / microseconds / 1e3;
    Time {
        elements,
        microseconds,
        gigabytes_per_second: speed,
        of_a_copy: speed / copy,
    }
}
