//! What the commands do.

mod distinct;
mod explain;
mod fold;
mod group;
mod histogram;
mod kept;
mod lanes;
mod manual;
mod quantiles;
pub(crate) mod rows;
mod select;
mod sort;
mod stats;
mod top;
mod unique;

use crate::args::{Command, FileArguments, OutputFormat, names_several};
use crate::columns::{Column, Columns};
use crate::failure::{Failure, Result, text_of};
use crate::npy::{self, Times};
use crate::number::DType;
use crate::output::{Output, TableWriter, Writer};
use crate::progress;
use crate::text::{Gaps, Values};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use warpfold::shards::Group;
use warpfold::{Device, Prefixes};

/// Carries out one command.
pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Reduce {
            fold: mut arguments,
            axis,
        } => {
            arguments.take_marks()?;
            match axis.axis {
                Some(axis) => lanes::along(&arguments, axis, None),
                None => fold::reduce(&arguments),
            }
        }
        Command::Scan {
            fold: mut arguments,
            exclusive,
            reverse,
            axis,
            ..
        } => {
            arguments.take_marks()?;
            let form = ScanForm {
                inclusive: !exclusive,
                reverse,
            };
            match axis.axis {
                Some(axis) => lanes::along(&arguments, axis, Some(form)),
                None => fold::scan(&arguments, form),
            }
        }
        Command::Segments(mut arguments) => {
            arguments.fold.take_marks()?;
            lanes::segments(&arguments)
        }
        Command::Group(arguments) => group::run(&arguments),
        Command::Decode(arguments) => lanes::decode(&arguments),
        Command::Select {
            mut condition,
            positions,
            files,
        } => {
            condition.take_marks(&files.input.text)?;
            select::run(&files, &condition, positions)
        }
        Command::Sort(arguments) => sort::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Unique(arguments) => unique::run(&arguments),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Histogram(arguments) => histogram::run(&arguments),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { command } => manual::page(command.as_deref()),
        Command::Devices { json } => list_devices(json),
        Command::Source {
            primitive,
            op,
            dtype,
            json,
        } => crate::source::run(primitive, op, dtype, json),
        Command::Explain(arguments) => explain::run(&arguments),
        #[cfg(feature = "ladder")]
        Command::Ladder(arguments) => crate::ladder::run(&arguments),
        #[cfg(feature = "tune")]
        Command::Tune(arguments) => crate::tune::tune(&arguments),
        #[cfg(not(feature = "ladder"))]
        Command::Ladder(_) => Err(left_out("ladder")),
        #[cfg(not(feature = "tune"))]
        Command::Tune(_) => Err(left_out("tune")),
    }
}

/// Which prefixes a scan gives.
#[derive(Debug, Clone, Copy)]
struct ScanForm {
    inclusive: bool,
    /// Whether it goes from the last number to the first.
    reverse: bool,
}

impl ScanForm {
    fn prefixes<T>(self, init: Option<T>) -> Prefixes<T> {
        let mut prefixes = match self.inclusive {
            true => Prefixes::inclusive(),
            false => Prefixes::exclusive(),
        };
        if let Some(init) = init {
            prefixes = prefixes.from(init);
        }
        match self.reverse {
            true => prefixes.reverse(),
            false => prefixes,
        }
    }
}

/// A command that takes long to compile, and is not in this build.
#[cfg(not(all(feature = "ladder", feature = "tune")))]
fn left_out(command: &str) -> Failure {
    Failure::with_remedy(
        format_args!("warpfold {command}"),
        "this build leaves it out, since it takes minutes to compile",
        format_args!(
            "from a clone of warpfold: cargo run --release -p warpfold-cli --features {command} -- {command}"
        ),
    )
}

/// A command on numbers that has opened everything, and read as little as it could.
struct Job {
    device: Device,
    /// All devices, where the user names several. Then `device` is the first.
    group: Option<Group>,
    columns: Columns,
    output: Output,
    output_format: OutputFormat,
}

impl Job {
    /// The output has the default format, or else that of the input, unless the user says
    /// otherwise. Columns that `keys` call may hold words. `check` says whether the command can
    /// work on a type, and which one it gives.
    fn open(
        files: &FileArguments,
        default_format: Option<OutputFormat>,
        gaps: Option<Gaps>,
        keys: &[String],
        check: impl Fn(DType) -> Result<DType>,
    ) -> Result<Job> {
        let device = choose_device(files.input.device.as_deref())?;
        Job::open_on((device, None), files, default_format, gaps, keys, check)
    }

    /// As [`open`](Job::open), on devices that were chosen.
    fn open_on(
        (device, group): (Device, Option<Group>),
        files: &FileArguments,
        default_format: Option<OutputFormat>,
        gaps: Option<Gaps>,
        keys: &[String],
        check: impl Fn(DType) -> Result<DType>,
    ) -> Result<Job> {
        let output = Output::open(files.output.as_deref())?;
        let columns = Columns::open(files.file.as_deref(), &files.input, gaps, keys)?;
        let usual = default_format.unwrap_or(columns.format.into());
        let output_format = files
            .output_format
            .or(files.json.then_some(OutputFormat::Json))
            .or(output.promise.format_instead(usual))
            .unwrap_or(usual);
        output.promise.check(&output.name, output_format)?;
        if let Some(path) = &files.output
            && files.output_format.is_none()
        {
            output.promise.check_unsaid(path, output_format)?;
        }
        if output.is_terminal() {
            if output_format.is_binary() {
                return Err(Failure::with_remedy(
                    &output.name,
                    "binary data would garble the terminal",
                    "give -o FILE, or --output-format text",
                ));
            }
            if default_format.is_none() {
                // The results scroll by, and tell enough.
                progress::hide();
            }
        }
        for dtype in columns.dtypes() {
            let written = check(dtype)?;
            if output_format == OutputFormat::Npy {
                npy::check_output(written, &output.name)?;
            }
        }
        Ok(Job {
            device,
            group,
            columns,
            output,
            output_format,
        })
    }
}

/// Writes results, column by column: one sequence, or a table.
enum Results {
    One(Writer),
    Table(TableWriter),
}

impl Results {
    /// Begins to write columns of some types. A single one has a shape, where that is known.
    fn new(
        output: Output,
        format: OutputFormat,
        columns: &[Column],
        delimiter: Option<u8>,
        shape: Option<Vec<usize>>,
    ) -> Result<Results> {
        Ok(match columns {
            [column] if column.words.is_none() => {
                Results::One(Writer::new(output, format, column.dtype, shape))
            }
            columns => {
                let separator = delimiter.unwrap_or(b' ');
                Results::Table(TableWriter::new(output, format, columns, separator)?)
            }
        })
    }

    /// Says that the numbers are times or durations.
    fn times(self, times: Option<Times>) -> Results {
        match self {
            Results::One(writer) => Results::One(writer.times(times)),
            table => table,
        }
    }

    fn write(&mut self, columns: Vec<Values>) -> Result<()> {
        self.write_spread(columns, &[])
    }

    /// Writes numbers, but for places that are absent.
    fn write_spread(&mut self, mut columns: Vec<Values>, absent: &[Vec<usize>]) -> Result<()> {
        match self {
            Results::Table(writer) => writer.write(&columns, absent),
            Results::One(writer) => match columns.pop() {
                Some(values) => {
                    writer.write_values(values, absent.first().map_or(&[], Vec::as_slice))
                }
                None => Ok(()),
            },
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Results::One(writer) => writer.finish(),
            Results::Table(writer) => writer.finish(),
        }
    }
}

/// The device that the user names, for a command that runs on one.
pub(crate) fn choose_device(name: Option<&str>) -> Result<Device> {
    if let Some((place, name)) = several(name) {
        return Err(Failure::with_remedy(
            format_args!("{place}{name}"),
            "only reduce without --axis runs on several devices yet",
            "write `cuda:N` for one of the GPUs",
        ));
    }
    let Some(name) = name else {
        return Ok(Device::for_host_data()?);
    };
    name.parse().map_err(|error| no_device(name, &error))
}

/// The devices that the user names, for a command that runs on any number: the first, and all if
/// they are several.
fn choose_devices(name: Option<&str>) -> Result<(Device, Option<Group>)> {
    let Some((place, name)) = several(name) else {
        return Ok((choose_device(name)?, None));
    };
    let group: Group = name.parse().map_err(|error| match place {
        FROM_ENV => Failure::at(format_args!("{place}{name}"), text_of(&error)),
        _ => no_device(&name, &error),
    })?;
    Ok((group.devices()[0].clone(), Some(group)))
}

const FROM_ENV: &str = "WARPFOLD_DEVICE=";

/// What names several devices, and where it stands.
fn several(name: Option<&str>) -> Option<(&'static str, String)> {
    let (place, name) = match name {
        Some(name) => ("--device ", name.to_owned()),
        None => (FROM_ENV, std::env::var("WARPFOLD_DEVICE").ok()?),
    };
    names_several(&name).then_some((place, name))
}

fn no_device(name: &str, error: &warpfold::Error) -> Failure {
    let mut cause = text_of(error);
    if !matches!(error, warpfold::Error::NoDevice { .. }) {
        let names: Vec<_> = Device::available().iter().map(Device::to_string).collect();
        cause += &format!("\n  available: {}", names.join(", "));
    }
    Failure::at(format_args!("--device {name}"), cause)
}

fn list_devices(json: bool) -> Result<()> {
    let listed = |device: &Device| (device.to_string(), device.description());
    let mut devices: Vec<(String, String)> = Device::available().iter().map(listed).collect();
    let mut no_cuda = None;
    if !devices.iter().any(|(name, _)| name.starts_with("cuda")) {
        match Device::cuda(0) {
            Ok(device) => devices.push(listed(&device)),
            Err(error) => no_cuda = Some(text_of(&error)),
        }
    }
    if json {
        let devices = devices.iter().map(
            |(name, description)| serde_json::json!({ "name": name, "description": description }),
        );
        let devices: Vec<_> = devices.collect();
        let report = serde_json::json!({
            "devices": devices,
            "no_cuda": no_cuda,
            "links": links().iter().map(|link| serde_json::json!({
                "from": link.from,
                "to": link.to,
                "link": link.kind,
                "direct": link.direct,
                "atomics": link.atomics,
                "performance_rank": link.performance_rank,
            })).collect::<Vec<_>>(),
            "nvrtc": compiler(),
        });
        return print(&report.to_string());
    }
    let mut lines = String::new();
    for (name, description) in &devices {
        lines += &format!("{name:<8} {description}\n");
    }
    for line in lines_of(&links()) {
        lines += &format!("{:<8} {line}\n", "links");
    }
    if let Some(cause) = no_cuda {
        lines += &format!("{:<8} none: {cause}\n", "cuda");
    }
    if let Some(compiler) = compiler() {
        lines += &format!("{:<8} {compiler}\n", "nvrtc");
    }
    print(&lines)
}

/// How one GPU reaches the memory of another.
#[derive(Debug, Clone, PartialEq)]
struct LinkOf {
    from: String,
    to: String,
    kind: String,
    direct: bool,
    atomics: bool,
    performance_rank: u32,
}

/// The links between all GPUs. None if the driver does not tell.
#[cfg(feature = "cuda")]
fn links() -> Vec<LinkOf> {
    let links = warpfold::cuda::links().unwrap_or_default().into_iter();
    let links = links.map(|link| LinkOf {
        from: format!("cuda:{}", link.from),
        to: format!("cuda:{}", link.to),
        kind: link.to_string(),
        direct: link.direct,
        atomics: link.atomics,
        performance_rank: link.performance_rank,
    });
    links.collect()
}

#[cfg(not(feature = "cuda"))]
fn links() -> Vec<LinkOf> {
    Vec::new()
}

/// A line for each GPU that others are linked to in some way, or one for all if they are alike.
fn lines_of(links: &[LinkOf]) -> Vec<String> {
    let Some(first) = links.first() else {
        return Vec::new();
    };
    if links.iter().all(|link| link.kind == first.kind) {
        let mut names: Vec<&str> = links.iter().map(|link| link.from.as_str()).collect();
        names.dedup();
        return vec![format!("{}: {}", names.join(", "), first.kind)];
    }
    let of_one = links.chunk_by(|a, b| a.from == b.from && a.kind == b.kind);
    let line = |links: &[LinkOf]| {
        let to: Vec<&str> = links.iter().map(|link| link.to.as_str()).collect();
        format!("{} to {}: {}", links[0].from, to.join(", "), links[0].kind)
    };
    of_one.map(line).collect()
}

/// The release and the file of the compiler of kernels, or why there is none.
#[cfg(feature = "cuda")]
fn compiler() -> Option<String> {
    use warpfold::cuda::nvrtc;
    let found = nvrtc::file().and_then(|file| Ok((file, nvrtc::release()?)));
    Some(match found {
        Ok((file, release)) => format!("{release}, {}", file.display()),
        Err(error) => format!("none: {}", text_of(&error)),
    })
}

/// Without GPUs there is nothing to compile.
#[cfg(not(feature = "cuda"))]
fn compiler() -> Option<String> {
    None
}

/// What the user meant by a command that there is not, if other programs have it.
pub(crate) fn meant(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let command = match name.to_lowercase().as_str() {
        "sum" | "add" | "total" | "fold" => "reduce",
        "prod" | "product" | "mul" => "reduce --op mul",
        "max" | "maximum" => "reduce --op max",
        "min" | "minimum" => "reduce --op min",
        "cumsum" | "accumulate" | "prefix-sum" | "running" => "scan",
        "cumprod" => "scan --op mul",
        "mean" | "avg" | "average" | "std" | "stdev" | "stddev" | "var" | "variance" | "argmin"
        | "argmax" | "count" | "describe" | "summary" | "nanmean" => "stats",
        "median" | "quantile" | "quantiles" | "percentile" => "stats --quantiles",
        "filter" | "where" | "compress" => "select",
        "nonzero" | "positions" => "select --ne 0 --positions",
        "uniq" | "runs" | "rle" => "unique --count",
        "groupby" | "group-by" | "aggregate" | "reduce-by-key" => "group --by COLUMN",
        "segmented" | "segment" | "reduceat" => "segments --offsets FILE",
        "repeat" => "decode --counts FILE",
        "distinct" | "value-counts" | "value_counts" | "nunique" => "unique --sort --count",
        "order" | "lexsort" | "argsort" => "sort",
        "top-k" | "topk" | "head" | "nlargest" | "largest" => "top -k 10",
        "bottom" | "nsmallest" | "smallest" => "top --bottom -k 10",
        "hist" => "histogram",
        "bincount" => "histogram --bincount",
        _ => return None,
    };
    Some(format!(
        "there is no command `{name}`\n  remedy: warpfold {command}"
    ))
}

pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = Output::open(None)?;
    output.write(text.as_bytes())?;
    if !text.ends_with('\n') {
        output.write(b"\n")?;
    }
    output.finish()
}
