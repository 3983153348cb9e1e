//! `warpfold explain`: what a call does on a GPU, and why.

use super::print;
use crate::args::{ExplainArguments, Explained};
use crate::failure::{Failure, Result};
use crate::number::{Number, Operator, Work, with_number};
use warpfold::Monoid;
use warpfold::codegen::kernels::Kept;
use warpfold::codegen::{Explanation, Machine, explain_reduce, explain_scan, explain_select};
use warpfold::source::{Map, NonZero, Slice, Zip};

/// Numbers beside flags of a byte.
type Flagged<T> = Zip<(Slice<T>, Map<NonZero<u8>, Slice<u8>>)>;

pub(super) fn run(arguments: &ExplainArguments) -> Result<()> {
    if arguments.op.is_some() && arguments.primitive == Explained::Select {
        return Err(Failure::with_remedy(
            "--op",
            "a select folds nothing, so there is no operator",
            "leave it out, or ask for `reduce` or `scan`",
        ));
    }
    let (machine, name) = machine(arguments)?;
    let op = arguments.op.unwrap_or(Operator::Add);
    let work = Explaining {
        primitive: arguments.primitive,
        machine,
        items: arguments.items,
    };
    let explanation = with_number!(arguments.dtype, T => T::with_operator(op, work))?;
    print(&format!("{name}\n{explanation}"))
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
    primitive: Explained,
    machine: Machine,
    items: usize,
}

impl<T: Number> Work<T> for Explaining {
    type Output = Explanation;

    fn run<Op: Monoid<T>>(self) -> Result<Explanation> {
        let Explaining { machine, items, .. } = self;
        Ok(match self.primitive {
            Explained::Reduce => explain_reduce::<T, Op>(machine, items),
            Explained::Scan => explain_scan::<T, Op>(machine, true, items),
            Explained::Select => explain_select::<T, Flagged<T>, Kept>(machine, items),
        }?)
    }
}
