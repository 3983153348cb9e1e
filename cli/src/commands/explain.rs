//! `warpfold explain`: what a call does on a GPU, and why.

use super::print;
use crate::args::{ExplainArguments, Explained};
use crate::failure::{Failure, Result};
use crate::number::{Number, Operator, Work, with_number};
use warpfold::codegen::kernels::Kept;
use warpfold::codegen::{self, Explanation, Machine};
use warpfold::source::{Map, NonZero, Slice, Zip};
use warpfold::{Axis, Bins, Monoid};

/// Numbers beside flags of a byte.
type Flagged<T> = Zip<(Slice<T>, Map<NonZero<u8>, Slice<u8>>)>;

pub(super) fn run(arguments: &ExplainArguments) -> Result<()> {
    check_options(arguments)?;
    let (machine, name) = machine(arguments)?;
    let explanation = match fold_of(arguments)? {
        Some(fold) => {
            let op = arguments.op.unwrap_or(Operator::Add);
            let work = Explaining { fold, machine };
            with_number!(arguments.dtype, T => T::with_operator(op, work))?
        }
        None => explain_others(arguments, machine)?,
    };
    print(&format!("{name}\n{explanation}"))
}

/// Primitives that fold or scan, and so have an operator.
#[derive(Debug, Clone, Copy)]
enum Fold {
    Reduce(usize),
    Scan(usize),
    Segments {
        items: usize,
        count: usize,
        scans: bool,
    },
    Axis {
        axis: Axis,
        scans: bool,
    },
}

fn fold_of(arguments: &ExplainArguments) -> Result<Option<Fold>> {
    let scans = arguments.scan;
    Ok(Some(match arguments.primitive {
        Explained::Reduce => Fold::Reduce(items_of(arguments)?),
        Explained::Scan => Fold::Scan(items_of(arguments)?),
        Explained::Segments => Fold::Segments {
            items: items_of(arguments)?,
            count: segments_of(arguments)?,
            scans,
        },
        Explained::Axis => Fold::Axis {
            axis: axis_of(arguments)?,
            scans,
        },
        _ => return Ok(None),
    }))
}

fn needed<T>(value: Option<T>, option: &str, what: &str) -> Result<T> {
    let missing = || Failure::with_remedy(option, "it is missing", format_args!("give {what}"));
    value.ok_or_else(missing)
}

fn items_of(arguments: &ExplainArguments) -> Result<usize> {
    needed(arguments.items, "-n", "the number of items, such as -n 1e6")
}

fn segments_of(arguments: &ExplainArguments) -> Result<usize> {
    let what = "the number of segments, such as --segments 1000";
    needed(arguments.segments, "--segments", what)
}

fn axis_of(arguments: &ExplainArguments) -> Result<Axis> {
    let what = "the shape of the array, such as --shape 1000,5000";
    let shape = needed(arguments.shape.as_deref(), "--shape", what)?;
    let given = needed(arguments.axis, "--axis", "the axis, such as --axis 0")?;
    let axis = match given {
        0.. => usize::try_from(given).ok(),
        _ => shape.len().checked_add_signed(given as isize),
    };
    let Some(axis) = axis.filter(|&axis| axis < shape.len()) else {
        return Err(Failure::with_remedy(
            format_args!("--axis {given}"),
            format_args!("a shape of {} numbers has no such axis", shape.len()),
            format_args!("give 0 to {}", shape.len() - 1),
        ));
    };
    Ok(Axis::of(shape, axis)?)
}

/// Options that the primitive does not depend on are errors.
fn check_options(arguments: &ExplainArguments) -> Result<()> {
    use Explained::{Axis, Decode, Histogram, Reduce, Scan, Segments, Top};

    let primitive = arguments.primitive;
    let folds = matches!(primitive, Reduce | Scan | Segments | Axis);
    if arguments.op.is_some() && !folds {
        let subject = subject(primitive);
        return Err(Failure::with_remedy(
            "--op",
            format_args!("{subject} folds nothing, so there is no operator"),
            "leave it out, or ask for `reduce`, `scan`, `segments` or `axis`",
        ));
    }
    let of_axis = primitive == Axis;
    let checks = [
        (
            "-n",
            arguments.items.is_some(),
            !of_axis,
            "--shape says how many items there are",
        ),
        (
            "-k",
            arguments.k.is_some(),
            primitive == Top,
            "it is for `top`",
        ),
        (
            "--segments",
            arguments.segments.is_some(),
            matches!(primitive, Segments | Decode),
            "it is for `segments` and `decode`",
        ),
        (
            "--shape",
            arguments.shape.is_some(),
            of_axis,
            "it is for `axis`",
        ),
        (
            "--axis",
            arguments.axis.is_some(),
            of_axis,
            "it is for `axis`",
        ),
        (
            "--bins",
            arguments.bins.is_some(),
            primitive == Histogram,
            "it is for `histogram`",
        ),
        (
            "--scan",
            arguments.scan,
            matches!(primitive, Segments | Axis),
            "it is for `segments` and `axis`",
        ),
    ];
    for (option, is_given, fits, why) in checks {
        if is_given && !fits {
            let cause = format_args!("{} does not depend on it: {why}", subject(primitive));
            return Err(Failure::with_remedy(option, cause, "leave it out"));
        }
    }
    Ok(())
}

/// The primitive, in a sentence.
fn subject(primitive: Explained) -> &'static str {
    match primitive {
        Explained::Reduce => "a reduction",
        Explained::Scan => "a scan",
        Explained::Select => "a select",
        Explained::Sort => "a sort",
        Explained::Argsort => "an argsort",
        Explained::SortSegments => "a sort of segments",
        Explained::Top => "a top-k",
        Explained::Merge => "a merge",
        Explained::Segments => "a fold of segments",
        Explained::Axis => "a fold along an axis",
        Explained::Histogram => "a histogram",
        Explained::Collect => "a collect",
        Explained::Decode => "a decoding",
        Explained::Scatter => "a scatter",
    }
}

/// What primitives without an operator do.
fn explain_others(arguments: &ExplainArguments, machine: Machine) -> Result<Explanation> {
    let items = items_of(arguments)?;
    Ok(
        with_number!(arguments.dtype, T => match arguments.primitive {
            Explained::Reduce | Explained::Scan | Explained::Segments | Explained::Axis => {
                unreachable!("they have an operator")
            }
            Explained::Select => codegen::explain_select::<T, Flagged<T>, Kept>(machine, items),
            Explained::Sort => codegen::explain_sort::<T>(machine, items),
            Explained::Argsort => codegen::explain_argsort::<T>(machine, items),
            Explained::SortSegments => codegen::explain_segmented_sort::<T>(machine, items),
            Explained::Top => {
                let k = needed(arguments.k, "-k", "how many are kept, such as -k 10")?;
                codegen::explain_top::<T>(machine, items, k)
            }
            Explained::Merge => codegen::explain_merge::<T>(items),
            Explained::Histogram => {
                let what = "the number of bins, such as --bins 256";
                let count = needed(arguments.bins, "--bins", what)?;
                let bins = Bins::even(0.0, count as f64, count)?;
                // Halves are counted as the `f32` that they are.
                codegen::explain_histogram::<Slice<<T as Number>::Bound>>(machine, &bins, items)
            }
            Explained::Collect => codegen::explain_collect::<Slice<T>>(machine, items),
            Explained::Decode => codegen::explain_expand(items, segments_of(arguments)?),
            Explained::Scatter => codegen::explain_scatter(items, items),
        })?,
    )
}

/// The GPU that is asked about, and its name.
fn machine(arguments: &ExplainArguments) -> Result<(Machine, String)> {
    match arguments.device {
        Some(ordinal) => of_device(ordinal),
        None => {
            let machine = Machine {
                capability: arguments.capability,
                multiprocessors: arguments.multiprocessors,
            };
            Ok((machine, name_of(machine)))
        }
    }
}

fn name_of(machine: Machine) -> String {
    let Machine {
        capability,
        multiprocessors,
    } = machine;
    let (major, minor) = (capability / 10, capability % 10);
    format!("on a GPU of compute capability {major}.{minor} with {multiprocessors} multiprocessors")
}

#[cfg(feature = "cuda")]
fn of_device(ordinal: usize) -> Result<(Machine, String)> {
    use warpfold::cuda::cudarc::driver::{CudaContext, sys::CUdevice_attribute};

    let name = format!("cuda:{ordinal}");
    super::choose_device(Some(&name))?;
    let failed = |error| Failure::at(format_args!("--device {name}"), format_args!("{error}"));
    let context = CudaContext::new(ordinal).map_err(failed)?;
    let (major, minor) = context.compute_capability().map_err(failed)?;
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    let multiprocessors = context.attribute(attribute).map_err(failed)?;
    let machine = Machine {
        capability: (10 * major + minor).unsigned_abs(),
        multiprocessors: multiprocessors.unsigned_abs(),
    };
    let gpu = context.name().map_err(failed)?;
    Ok((machine, format!("{gpu}: {}", name_of(machine))))
}

/// Says that the feature is missing.
#[cfg(not(feature = "cuda"))]
fn of_device(ordinal: usize) -> Result<(Machine, String)> {
    let device = super::choose_device(Some(&format!("cuda:{ordinal}")))?;
    unreachable!("{device} without CUDA")
}

struct Explaining {
    fold: Fold,
    machine: Machine,
}

impl<T: Number> Work<T> for Explaining {
    type Output = Explanation;

    fn run<Op: Monoid<T>>(self) -> Result<Explanation> {
        let Explaining { fold, machine } = self;
        Ok(match fold {
            Fold::Reduce(items) => codegen::explain_reduce::<T, Op>(machine, items),
            Fold::Scan(items) => codegen::explain_scan::<T, Op>(machine, true, items),
            Fold::Segments {
                items,
                count,
                scans,
            } => match scans {
                false => codegen::explain_segmented_reduce::<T>(machine, items, count),
                true => codegen::explain_segmented_scan::<T>(items, count),
            },
            Fold::Axis { axis, scans } => match scans {
                false => codegen::explain_reduce_axis::<T>(machine, axis),
                true => codegen::explain_scan_axis::<T>(machine, axis),
            },
        }?)
    }
}
