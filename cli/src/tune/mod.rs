//! `warpfold tune`: finds the fastest policies on a GPU, and prints them as the table that the
//! library is built with.

mod bench;
mod classes;
mod search;
mod table;

use crate::args::TuneArguments;
use crate::commands::{choose_device, print};
use crate::failure::{Failure, Result};
use crate::logger;
use crate::progress::Status;
use bench::{Bench, driver_failure};
use classes::{Class, Visitor, for_each_class};
use search::Search;
use std::sync::Arc;
use table::Row;
use warpfold::codegen::{Engine, WavePolicy};
use warpfold::cuda::cudarc::driver::CudaContext;
use warpfold::cuda::{nvrtc, require_timing, without_disk_cache};

/// How much work a search is.
struct Effort {
    /// The size of the elements that are scanned, unless their number is given.
    bytes: usize,
    /// The times that a median is taken of.
    batches: usize,
    search: Search,
}

/// How a table is found. A gain below the noise is not worth a change of the table.
const THOROUGH: Effort = Effort {
    bytes: 1 << 30,
    batches: 9,
    search: Search {
        noise: 0.003,
        reach: usize::MAX,
    },
};

/// A first look, at fewer candidates.
const QUICK: Effort = Effort {
    bytes: 1 << 28,
    batches: 5,
    search: Search {
        noise: 0.01,
        reach: 1,
    },
};

pub(crate) fn tune(arguments: &TuneArguments) -> Result<()> {
    let name = format!("cuda:{}", arguments.device);
    choose_device(Some(&name))?;
    require_timing()?;
    let (major, minor) = nvrtc::version()?;
    let opening = |error| driver_failure(&format!("opening {name}"), error);
    let context = CudaContext::new(arguments.device).map_err(opening)?;
    let gpu = context.name().map_err(opening)?;
    let capability = context.compute_capability().map_err(opening)?;
    let capability = (10 * capability.0 + capability.1).unsigned_abs();
    if !WavePolicy::of::<f32>().is_some_and(|policy| Engine::Wave(policy).runs_on(capability)) {
        return Err(Failure::with_remedy(
            format_args!("--device {name}"),
            format_args!(
                "what is tuned, scans in one launch, needs compute capability 9.0 to 10.x, and the {gpu} has {}.{}",
                capability / 10,
                capability % 10
            ),
            "choose another GPU, if `warpfold devices` lists one; this one needs no table",
        ));
    }
    // Most of these kernels will never be needed again.
    without_disk_cache();
    let effort = if arguments.quick { QUICK } else { THOROUGH };
    let mut tuner = Tuner {
        name,
        context,
        capability,
        elements: arguments.elements,
        effort,
        rows: Vec::new(),
    };
    for_each_class(&mut tuner)?;
    let size = match arguments.elements {
        Some(elements) => format!("{elements} elements"),
        None => format!("{} MiB", tuner.effort.bytes >> 20),
    };
    let quick = if arguments.quick { " in haste" } else { "" };
    let conditions = format!("{gpu}{quick}: NVRTC {major}.{minor}, scans of {size}");
    print(&table::render(capability, &conditions, &tuner.rows))
}

/// Tunes class after class.
struct Tuner {
    name: String,
    context: Arc<CudaContext>,
    capability: u32,
    elements: Option<u64>,
    effort: Effort,
    rows: Vec<Row>,
}

impl Tuner {
    /// The elements of a class to scan, if they fit into the device's memory twice.
    fn elements<T: Class>(&self) -> Result<usize> {
        let size = size_of::<T>() as u64;
        let elements = self.elements.unwrap_or(self.effort.bytes as u64 / size);
        let needed = elements.saturating_mul(2 * size);
        let (free, _) = self
            .context
            .mem_get_info()
            .map_err(|error| driver_failure("asking for the free memory", error))?;
        // The rest is for the workspaces.
        if needed > free as u64 / 10 * 9 {
            let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
            return Err(Failure::with_remedy(
                &self.name,
                format_args!(
                    "{elements} elements of type {} take {:.1} GiB, in and out, and {:.1} GiB are free",
                    T::NAME,
                    gib(needed),
                    gib(free as u64)
                ),
                "give --elements, with a smaller number",
            ));
        }
        Ok(elements as usize)
    }
}

impl Visitor for Tuner {
    type Error = Failure;

    fn visit<T: Class>(&mut self) -> Result<()> {
        let status = Status::new();
        status.say(&format!("{}: preparing", T::NAME));
        let Effort {
            batches, search, ..
        } = self.effort;
        let mut bench = Bench::<T>::new(&self.context, self.elements::<T>()?, batches, &status)?;
        let start = WavePolicy::for_capability::<T>(self.capability)
            .expect("the engine takes elements of each class");
        let policy = search.run(start, &mut bench)?;
        let shares = bench.shares_of_a_copy(&[start, policy])?;
        let [Some(before), Some(after)] = shares[..] else {
            return Err(Failure::with_remedy(
                T::NAME,
                "the policy that the search starts from does not run on this GPU, as the warning says",
                "give this architecture a table of its own in src/engine/tuning/, with fewer stages",
            ));
        };
        let (tried, left_out) = bench.counts();
        drop(status);
        logger::show(
            "tuned",
            format_args!(
                "{}: {:.1}% of a copy, {:.1}% before; {tried} policies tried, {left_out} left out",
                T::NAME,
                after * 100.0,
                before * 100.0
            ),
        );
        self.rows.push(Row {
            name: T::NAME,
            element: size_of::<T>() as u32,
            policy,
            of_a_copy: after,
        });
        // Kernels stay loaded until the process ends, or until this.
        // SAFETY: the search captures no graph, and every call has ended: the search took its
        // result, or waited for an event behind it.
        #[allow(unsafe_code)]
        unsafe {
            warpfold::cuda::unload(&self.context);
        }
        Ok(())
    }
}
