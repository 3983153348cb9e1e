//! What the commands do.

use crate::args::{
    Command, Condition, FileArguments, FoldArguments, Format, StatsArguments, UniqueArguments,
};
use crate::failure::{Failure, Result};
use crate::input::{Input, format_of_name};
use crate::number::{DType, Number, Work, with_number};
use crate::output::Destination;
use crate::progress::spin;
use crate::{npy, raw, stats, text};
use std::path::{Path, PathBuf};
use warpfold::Prefixes;
use warpfold::statistics::Estimate;
use warpfold::{Device, Monoid};

/// Carries out one command.
pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Reduce(arguments) => fold(&arguments, Task::Reduce),
        Command::Scan {
            fold: arguments,
            inclusive,
        } => fold(&arguments, Task::Scan { inclusive }),
        Command::Select {
            condition,
            positions,
            files,
        } => select(&files, &condition, positions),
        Command::Unique(arguments) => unique(&arguments),
        Command::Stats(arguments) => print_stats(&arguments),
        Command::Histogram(arguments) => crate::histogram::run(&arguments),
        Command::Devices => list_devices(),
        Command::Source {
            primitive,
            op,
            dtype,
        } => crate::source::run(primitive, op, dtype),
        Command::Ladder(arguments) => crate::ladder::run(&arguments),
        #[cfg(feature = "cuda")]
        Command::Tune(arguments) => crate::tune::tune(&arguments),
        // Says that the feature is missing.
        #[cfg(not(feature = "cuda"))]
        Command::Tune(arguments) => {
            choose_device(Some(&format!("cuda:{}", arguments.device))).map(|_| ())
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Task {
    Reduce,
    Scan { inclusive: bool },
}

/// The input once its type is known, and before it is read into elements.
pub(crate) enum Source {
    Npy(Input, npy::Header),
    Raw(Input),
    Text { text: Vec<u8>, name: String },
}

/// Reduces or scans. All that can fail early does so, before the long work.
fn fold(arguments: &FoldArguments, task: Task) -> Result<()> {
    let default_format = match task {
        Task::Reduce => Some(Format::Text),
        Task::Scan { .. } => None,
    };
    let Job {
        device,
        source,
        dtype,
        output_format,
        destination,
    } = Job::new(&arguments.files, default_format, |dtype| {
        arguments.op.check(dtype)?;
        Ok(dtype)
    })?;
    with_number!(dtype, T => {
        let init = parse_init::<T>(arguments.init.as_deref())?;
        let (values, shape) = read_elements::<T>(source)?;
        let bytes = size_of_val(values.as_slice()) as u64;
        let work = Fold { device, values, init, task };
        let values = spin("computing", bytes, || T::with_operator(arguments.op, work))?;
        let shape = match task {
            Task::Reduce => Vec::new(),
            Task::Scan { .. } => shape,
        };
        write_elements(&values, &shape, output_format, destination)
    })
}

/// Keeps what satisfies a condition, or its positions.
fn select(files: &FileArguments, condition: &Condition, positions: bool) -> Result<()> {
    let job = Job::new(files, None, |dtype| {
        condition.check(dtype)?;
        Ok(if positions { DType::U64 } else { dtype })
    })?;
    let (device, format, destination) = (job.device, job.output_format, job.destination);
    with_number!(job.dtype, T => {
        let kept = condition.parse::<T>()?;
        let (values, _) = read_elements::<T>(job.source)?;
        let bytes = size_of_val(values.as_slice()) as u64;
        if positions {
            let places = spin("computing", bytes, || kept.positions(&device, values))?;
            write_elements(&places, &[places.len()], format, destination)
        } else {
            let values = spin("computing", bytes, || kept.select(&device, values))?;
            write_elements(&values, &[values.len()], format, destination)
        }
    })
}

/// Keeps the first of equal neighbours, and counts them.
fn unique(arguments: &UniqueArguments) -> Result<()> {
    let job = Job::new(&arguments.files, None, Ok)?;
    let (device, format, destination) = (job.device, job.output_format, job.destination);
    if arguments.count && format.is_binary() {
        return Err(Failure::with_remedy(
            "--count",
            "binary output has no room for counts among its numbers",
            "give --counts FILE, or --output-format text",
        ));
    }
    let beside = |path: &Option<PathBuf>| -> Result<Option<(Destination, Format)>> {
        let Some(path) = path else { return Ok(None) };
        let format = format_of_name(path).unwrap_or(format);
        Ok(Some((Destination::look_at(Some(path))?, format)))
    };
    let (counts, starts) = (beside(&arguments.counts)?, beside(&arguments.starts)?);
    let counted = arguments.count || counts.is_some() || starts.is_some();
    with_number!(job.dtype, T => {
        let (values, _) = read_elements::<T>(job.source)?;
        let bytes = size_of_val(values.as_slice()) as u64;
        let (items, all_starts, lengths) = spin("computing", bytes, || -> Result<_> {
            let values = device.upload_vec(values)?;
            if !counted {
                return Ok((device.unique::<T>(&values)?.into_vec()?, Vec::new(), Vec::new()));
            }
            let runs = device.runs::<T>(&values)?;
            Ok((runs.items.into_vec()?, runs.starts.into_vec()?, runs.lengths.into_vec()?))
        })?;
        for (numbers, to) in [(&lengths, counts), (&all_starts, starts)] {
            if let Some((destination, format)) = to {
                write_elements(numbers, &[numbers.len()], format, destination)?;
            }
        }
        if arguments.count {
            let mut output = destination.open(None)?;
            text::write_counted(&lengths, &items, &mut output)?;
            return output.finish();
        }
        write_elements(&items, &[items.len()], format, destination)
    })
}

/// Prints a table: a line for each statistic, a column for each file.
fn print_stats(arguments: &StatsArguments) -> Result<()> {
    let device = choose_device(arguments.input.device.as_deref())?;
    let estimate = if arguments.sample {
        Estimate::Sample
    } else {
        Estimate::Population
    };
    let files = match arguments.files.as_slice() {
        [] => vec![None],
        files => files.iter().map(|file| Some(file.as_path())).collect(),
    };
    let mut columns = Vec::new();
    for file in files {
        let (input, format) = open(file, arguments.input.format)?;
        let (source, dtype) = look_into(input, format, arguments.input.dtype)?;
        let name = file.map_or_else(|| "-".into(), |file| file.display().to_string());
        let values = with_number!(dtype, T => {
            let (values, _) = read_elements::<T>(source)?;
            let bytes = size_of_val(values.as_slice()) as u64;
            spin("computing", bytes, || stats::of(&device, values, estimate))?
        });
        columns.push((name, values));
    }
    print(&stats::table(&columns))
}

/// A command on numbers that has looked at everything, and read as little as it could.
pub(crate) struct Job {
    pub(crate) device: Device,
    pub(crate) source: Source,
    pub(crate) dtype: DType,
    pub(crate) output_format: Format,
    pub(crate) destination: Destination,
}

impl Job {
    /// The output has the default format, or else that of the input, unless the user says
    /// otherwise. `check` says whether the command can work on a type, and which one it gives.
    pub(crate) fn new(
        files: &FileArguments,
        default_format: Option<Format>,
        check: impl FnOnce(DType) -> Result<DType>,
    ) -> Result<Job> {
        let device = choose_device(files.input.device.as_deref())?;
        let destination = Destination::look_at(files.output.as_deref())?;
        let (input, format) = open(files.file.as_deref(), files.input.format)?;
        let of_name = || files.output.as_deref().and_then(format_of_name);
        let output_format = files
            .output_format
            .or_else(of_name)
            .or(default_format)
            .unwrap_or(format);
        if output_format.is_binary() && destination.is_terminal() {
            return Err(Failure::with_remedy(
                &destination.name,
                "binary data would garble the terminal",
                "give -o FILE, or --output-format text",
            ));
        }
        let (source, dtype) = look_into(input, format, files.input.dtype)?;
        let written = check(dtype)?;
        if output_format == Format::Npy {
            npy::check_output(written, &destination.name)?;
        }
        Ok(Job {
            device,
            source,
            dtype,
            output_format,
            destination,
        })
    }
}

pub(crate) fn choose_device(name: Option<&str>) -> Result<Device> {
    let Some(name) = name else {
        return Ok(Device::for_host_data()?);
    };
    name.parse().map_err(|error| {
        let mut cause = format!("{error}");
        if !matches!(error, warpfold::Error::NoDevice { .. }) {
            let names: Vec<_> = Device::available().iter().map(Device::to_string).collect();
            cause += &format!("\n  available: {}", names.join(", "));
        }
        Failure::at(format_args!("--device {name}"), cause)
    })
}

/// Opens a file, and tells its format.
fn open(file: Option<&Path>, format: Option<Format>) -> Result<(Input, Format)> {
    let mut input = Input::open(file)?;
    let format = match format {
        Some(format) => format,
        None => input.guess_format()?,
    };
    Ok((input, format))
}

/// Finds the type of the elements; reads no further than needed for that.
fn look_into(mut input: Input, format: Format, dtype: Option<DType>) -> Result<(Source, DType)> {
    match format {
        Format::Npy => {
            let header = npy::read_header(&mut input)?;
            let held = header.dtype;
            if let Some(wanted) = dtype.filter(|&wanted| wanted != held) {
                return Err(Failure::with_remedy(
                    &input.name,
                    format_args!("the elements are {held}, but --dtype says {wanted}"),
                    "leave --dtype out, or convert the file",
                ));
            }
            Ok((Source::Npy(input, header), held))
        }
        Format::Raw => {
            let dtype = dtype.ok_or_else(|| {
                let cause = "raw data do not tell the type of their elements";
                Failure::with_remedy(&input.name, cause, "give --dtype, such as --dtype f32")
            })?;
            Ok((Source::Raw(input), dtype))
        }
        Format::Text => {
            let (text, _) = input.read_elements::<u8>(usize::MAX)?;
            let dtype = dtype.unwrap_or_else(|| text::infer_dtype(&text));
            Ok((
                Source::Text {
                    text,
                    name: input.name,
                },
                dtype,
            ))
        }
    }
}

fn parse_init<T: Number>(init: Option<&str>) -> Result<Option<T>> {
    let Some(init) = init else { return Ok(None) };
    match T::parse(init.as_bytes()) {
        Ok(value) => Ok(Some(value)),
        Err(bad) => Err(Failure::at("--init", bad.describe(init, T::DTYPE))),
    }
}

/// The elements and their shape.
pub(crate) fn read_elements<T: Number>(source: Source) -> Result<(Vec<T>, Vec<usize>)> {
    let values = match source {
        Source::Npy(mut input, header) => {
            return Ok((npy::read(&header, &mut input)?, header.shape));
        }
        Source::Raw(mut input) => raw::read(&mut input)?,
        Source::Text { text, name } => text::parse::<T>(&text, &name)?,
    };
    let shape = vec![values.len()];
    Ok((values, shape))
}

pub(crate) fn write_elements<T: Number>(
    values: &[T],
    shape: &[usize],
    format: Format,
    destination: Destination,
) -> Result<()> {
    let total = format.is_binary().then_some(size_of_val(values) as u64);
    let mut output = destination.open(total)?;
    match format {
        Format::Npy => npy::write(values, shape, &mut output)?,
        Format::Raw => raw::write(values, &mut output)?,
        Format::Text => text::write(values, &mut output)?,
    }
    output.finish()
}

/// A reduction or scan, except its operator. A reduction gives one element.
struct Fold<T> {
    device: Device,
    values: Vec<T>,
    init: Option<T>,
    task: Task,
}

impl<T: Number> Work<T> for Fold<T> {
    type Output = Vec<T>;

    fn run<Op: Monoid<T>>(self) -> Result<Vec<T>> {
        let Fold {
            device,
            values,
            init,
            task,
        } = self;
        let mut buffer = device.upload_vec(values)?;
        match (task, init) {
            (Task::Reduce, None) => return Ok(vec![device.reduce::<T, Op>(&buffer)?]),
            (Task::Reduce, Some(init)) => {
                return Ok(vec![device.reduce_from::<T, Op>(init, &buffer)?]);
            }
            (Task::Scan { inclusive: false }, None) => {
                device.scan_in_place::<T, Op>(Prefixes::exclusive(), &mut buffer)?;
            }
            (Task::Scan { inclusive: false }, Some(init)) => {
                device.scan_in_place::<T, Op>(Prefixes::exclusive().from(init), &mut buffer)?;
            }
            (Task::Scan { inclusive: true }, None) => {
                device.scan_in_place::<T, Op>(Prefixes::inclusive(), &mut buffer)?;
            }
            (Task::Scan { inclusive: true }, Some(init)) => {
                device.scan_in_place::<T, Op>(Prefixes::inclusive().from(init), &mut buffer)?;
            }
        }
        Ok(buffer.into_vec()?)
    }
}

fn list_devices() -> Result<()> {
    let devices = Device::available();
    let mut lines = String::new();
    for device in &devices {
        lines += &format!("{:<8} {}\n", device.to_string(), device.description());
    }
    if !devices
        .iter()
        .any(|device| device.to_string().starts_with("cuda"))
    {
        match Device::cuda(0) {
            Ok(device) => lines += &format!("{device:<8} {}\n", device.description()),
            Err(error) => lines += &format!("{:<8} none: {error}\n", "cuda"),
        }
    }
    print(&lines)
}

pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = Destination::look_at(None)?.open(None)?;
    output.write(text.as_bytes())?;
    if !text.ends_with('\n') {
        output.write(b"\n")?;
    }
    output.finish()
}
