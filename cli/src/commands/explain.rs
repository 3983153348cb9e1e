//! `warpfold explain`: what a call does on a GPU, and why.

use super::print;
use crate::args::{ExplainArguments, Explained};
use crate::failure::{Failure, Result};
use crate::number::{DType, Number, Operator, Work, with_bound, with_number};
use warpfold::codegen::kernels::Kept;
use warpfold::codegen::{self, Explanation, Machine};
use warpfold::source::{Map, NonZero, Slice, Zip};
use warpfold::{Axis, Bins, Monoid};

/// Numbers beside flags of a byte.
type Flagged<T> = Zip<(Slice<T>, Map<NonZero<u8>, Slice<u8>>)>;

pub(super) fn run(arguments: &ExplainArguments) -> Result<()> {
    check_options(arguments)?;
    let (machine, name) = machine(arguments)?;
    let explanation = match arguments.primitive {
        Explained::Reduce => explain_fold(arguments, machine, false)?,
        Explained::Scan => explain_fold(arguments, machine, true)?,
        Explained::Vectors => {
            let count = segments_of(arguments)?;
            let what = "how many items each row has, such as --columns 64";
            let columns = needed(arguments.columns, "--columns", what)?;
            codegen::explain_segmented_reduce_vectors(count, columns)?
        }
        Explained::Decode => {
            codegen::explain_expand(items_of(arguments)?, segments_of(arguments)?)?
        }
        Explained::Scatter => {
            let items = items_of(arguments)?;
            codegen::explain_scatter(items, items)?
        }
        _ => explain_typed(arguments, machine)?,
    };
    print(&format!("{name}\n{explanation}"))
}

fn needed<T>(value: Option<T>, option: &str, what: &str) -> Result<T> {
    let missing = || Failure::with_remedy(option, "it is missing", format_args!("give {what}"));
    value.ok_or_else(missing)
}

fn items_of(arguments: &ExplainArguments) -> Result<usize> {
    needed(arguments.items, "-n", "the number of items, such as -n 1e6")
}

fn dtype_of(arguments: &ExplainArguments) -> Result<DType> {
    let what = "the type of the elements, such as --dtype f32";
    needed(arguments.dtype, "--dtype", what)
}

fn segments_of(arguments: &ExplainArguments) -> Result<usize> {
    let what = "the number of segments, such as --segments 1000";
    needed(arguments.segments, "--segments", what)
}

/// The number of rows, and the items of each.
fn rows_of(items: usize, rows: usize) -> Result<(usize, usize)> {
    match items.checked_rem(rows) {
        Some(0) => Ok((rows, items / rows)),
        None if items == 0 => Ok((0, 0)),
        _ => Err(Failure::with_remedy(
            format_args!("--rows {rows}"),
            format_args!("{items} items do not make so many rows of one length"),
            "give a -n that is a multiple of it",
        )),
    }
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
    use Explained::{Axis, Decode, Histogram, Reduce, Scan, Scatter, Segments, Top, Vectors};

    let primitive = arguments.primitive;
    let of_axis = primitive == Axis;
    let checks = [
        (
            "--op",
            arguments.op.is_some(),
            matches!(primitive, Reduce | Scan),
            "it is for `reduce` and `scan`",
        ),
        (
            "--dtype",
            arguments.dtype.is_some(),
            !matches!(primitive, Vectors | Decode | Scatter),
            "its launches are the same for all types",
        ),
        (
            "-n",
            arguments.items.is_some(),
            !matches!(primitive, Axis | Vectors),
            match of_axis {
                true => "--shape says how many items there are",
                false => "there is a thread for each column of a segment",
            },
        ),
        (
            "-k",
            arguments.k.is_some(),
            primitive == Top,
            "it is for `top`",
        ),
        (
            "--rows",
            arguments.rows.is_some(),
            primitive == Top,
            "it is for `top`",
        ),
        (
            "--segments",
            arguments.segments.is_some(),
            matches!(primitive, Segments | Vectors | Decode),
            "it is for `segments`, `vectors` and `decode`",
        ),
        (
            "--columns",
            arguments.columns.is_some(),
            primitive == Vectors,
            "it is for `vectors`",
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
            "--weights",
            arguments.weights.is_some(),
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
        Explained::Vectors => "a fold of segments of rows",
        Explained::Axis => "a fold along an axis",
        Explained::Histogram => "a histogram",
        Explained::Search => "a search",
        Explained::Collect => "a collect",
        Explained::Decode => "a decoding",
        Explained::Scatter => "a scatter",
    }
}

/// What a reduction or a scan does, which depend on the operator.
fn explain_fold(
    arguments: &ExplainArguments,
    machine: Machine,
    scans: bool,
) -> Result<Explanation> {
    let items = items_of(arguments)?;
    let work = Explaining {
        items,
        scans,
        machine,
    };
    let op = arguments.op.unwrap_or(Operator::Add);
    with_number!(dtype_of(arguments)?, T => T::with_operator(op, work))
}

/// What primitives do that depend on the type of the elements, and on no operator.
fn explain_typed(arguments: &ExplainArguments, machine: Machine) -> Result<Explanation> {
    let dtype = dtype_of(arguments)?;
    if arguments.primitive == Explained::Axis {
        let axis = axis_of(arguments)?;
        return Ok(with_number!(dtype, T => match arguments.scan {
            false => codegen::explain_reduce_axis::<T>(machine, axis),
            true => codegen::explain_scan_axis::<T>(machine, axis),
        })?);
    }
    let items = items_of(arguments)?;
    if arguments.primitive == Explained::Histogram {
        return explain_histogram(arguments, (machine, dtype, items));
    }
    Ok(with_number!(dtype, T => match arguments.primitive {
        Explained::Reduce
        | Explained::Scan
        | Explained::Vectors
        | Explained::Axis
        | Explained::Histogram
        | Explained::Decode
        | Explained::Scatter => unreachable!("they are explained elsewhere"),
        Explained::Select => codegen::explain_select::<T, Flagged<T>, Kept>(machine, items),
        Explained::Sort => codegen::explain_sort::<T>(machine, items),
        Explained::Argsort => codegen::explain_argsort::<T>(machine, items),
        Explained::SortSegments => codegen::explain_segmented_sort::<T>(machine, items),
        Explained::Top => {
            let k = needed(arguments.k, "-k", "how many are kept, such as -k 10")?;
            match arguments.rows {
                None => codegen::explain_top::<T>(machine, items, k),
                Some(rows) => {
                    let (rows, columns) = rows_of(items, rows)?;
                    codegen::explain_top_rows::<T>(machine, rows, columns, k)
                }
            }
        }
        Explained::Merge => codegen::explain_merge::<T>(items),
        Explained::Segments => {
            let count = segments_of(arguments)?;
            match arguments.scan {
                false => codegen::explain_segmented_reduce::<T>(machine, items, count),
                true => codegen::explain_segmented_scan::<T>(items, count),
            }
        }
        Explained::Search => codegen::explain_search::<T>(machine, items),
        Explained::Collect => codegen::explain_collect::<Slice<T>>(machine, items),
    })?)
}

/// What a histogram does, of counts or of weights. Halves are counted as the `f32` that they are.
fn explain_histogram(
    arguments: &ExplainArguments,
    (machine, dtype, items): (Machine, DType, usize),
) -> Result<Explanation> {
    let what = "the number of bins, such as --bins 256";
    let count = needed(arguments.bins, "--bins", what)?;
    Ok(with_bound!(dtype, T => {
        let bins = Bins::even(0.0, count as f64, count)?;
        match arguments.weights {
            None => codegen::explain_histogram::<Slice<T>>(machine, &bins, items),
            Some(weights) => with_number!(weights, W => {
                codegen::explain_histogram_weighted::<W, Slice<T>>(machine, &bins, items)
            }),
        }
    })?)
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
    items: usize,
    scans: bool,
    machine: Machine,
}

impl<T: Number> Work<T> for Explaining {
    type Output = Explanation;

    fn run<Op: Monoid<T>>(self) -> Result<Explanation> {
        let Explaining { items, machine, .. } = self;
        Ok(match self.scans {
            false => codegen::explain_reduce::<T, Op>(machine, items),
            true => codegen::explain_scan::<T, Op>(machine, true, items),
        }?)
    }
}
