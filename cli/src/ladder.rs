//! `warpfold ladder`: the steps from a first reduction to a good one.

use crate::args::LadderArguments;
use crate::commands::{choose_device, print};
use crate::failure::{Failure, Result, text_of};
use crate::number::{Number, Operator, Work, with_number};
use crate::output::Output;
use std::path::Path;
use warpfold::{Device, Monoid};
use warpfold_ladder::{Error, Options, Report};

/// Looks at all that can fail early, runs the ladder, and shows what it found.
pub(crate) fn run(arguments: &LadderArguments) -> Result<()> {
    arguments.op.check(arguments.dtype)?;
    let open = |path: Option<&Path>| path.map(Output::open_as_is).transpose();
    let html = open(arguments.html.as_deref())?;
    let markdown = open(arguments.markdown.as_deref())?;
    let options = Options {
        elements: usize::try_from(arguments.n).map_err(|error| Failure::at("--n", error))?,
        counted: arguments.counted as usize,
        factor: arguments.factor,
        gpu: gpu(arguments.device.as_deref())?,
        only: arguments.steps.clone(),
        folder: None,
    };
    let op = arguments.op;
    let work = Climb { op, options };
    let report = with_number!(arguments.dtype, T => T::with_operator(op, work))?;
    if let Some(to) = html {
        write(&report.html(), to)?;
    }
    if let (Some(to), Some(path)) = (markdown, &arguments.markdown) {
        write_markdown(&report, path, to)?;
    }
    match arguments.json {
        true => print(&report.json())?,
        false => print(&report.table())?,
    }
    match report.faults() {
        faults if faults.is_empty() => Ok(()),
        faults => Err(Failure::at("the ladder", faults.join("\n  "))),
    }
}

/// The number of the GPU to time kernels on, or why there is none.
fn gpu(device: Option<&str>) -> Result<Result<usize, String>> {
    let Some(name) = device else {
        let found = Device::cuda(0).map(|_| 0);
        return Ok(found.map_err(|error| text_of(&error)));
    };
    if choose_device(Some(name))?.is_cpu() {
        return Ok(Err("`--device cpu` leaves them out".to_owned()));
    }
    let number = name.strip_prefix("cuda:").unwrap_or("0");
    Ok(Ok(number.parse().expect("the device is there")))
}

/// The run, except its operator.
struct Climb {
    op: Operator,
    options: Options,
}

impl<T: Number + warpfold_ladder::Number> Work<T> for Climb {
    type Output = Report;

    fn run<Op: Monoid<T>>(self) -> Result<Report> {
        let report = warpfold_ladder::run::<T, Op>(&self.op.to_string(), &self.options);
        report.map_err(|error| match error {
            Error::Library(error) => Failure::from(error),
            error => Failure::Message(error.to_string()),
        })
    }
}

fn write(text: &str, mut to: Output) -> Result<()> {
    to.write(text.as_bytes())?;
    to.finish()
}

/// The pictures first, so that the page never shows what is not there.
fn write_markdown(report: &Report, path: &Path, to: Output) -> Result<()> {
    let folder = path.with_extension("");
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let page = report.markdown(&name, "..");
    std::fs::create_dir_all(&folder).map_err(|error| Failure::at(folder.display(), error))?;
    for (name, svg) in &page.pictures {
        write(svg, Output::open_as_is(&folder.join(name))?)?;
    }
    write(&page.text, to)
}
