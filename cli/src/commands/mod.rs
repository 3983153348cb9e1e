//! What the commands do.

mod explain;
mod fold;
mod histogram;
mod manual;
mod select;
mod stats;
mod unique;

use crate::args::{Command, FileArguments, Format};
use crate::failure::{Failure, Result, text_of};
use crate::input::format_of_name;
use crate::npy;
use crate::number::DType;
use crate::numbers::Numbers;
use crate::output::Output;
use crate::progress;
use warpfold::Device;

/// Carries out one command.
pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Reduce(arguments) => fold::reduce(&arguments),
        Command::Scan {
            fold: arguments,
            exclusive,
            ..
        } => fold::scan(&arguments, !exclusive),
        Command::Select {
            condition,
            positions,
            files,
        } => select::run(&files, &condition, positions),
        Command::Unique(arguments) => unique::run(&arguments),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Histogram(arguments) => histogram::run(&arguments),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { command } => manual::page(command.as_deref()),
        Command::Devices => list_devices(),
        Command::Source {
            primitive,
            op,
            dtype,
        } => crate::source::run(primitive, op, dtype),
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
    numbers: Numbers,
    output: Output,
    output_format: Format,
}

impl Job {
    /// The output has the default format, or else that of the input, unless the user says
    /// otherwise. `check` says whether the command can work on a type, and which one it gives.
    fn open(
        files: &FileArguments,
        default_format: Option<Format>,
        check: impl FnOnce(DType) -> Result<DType>,
    ) -> Result<Job> {
        let device = choose_device(files.input.device.as_deref())?;
        let output = Output::open(files.output.as_deref())?;
        let numbers = Numbers::open(files.file.as_deref(), &files.input)?;
        let of_name = || files.output.as_deref().and_then(format_of_name);
        let output_format = files
            .output_format
            .or_else(of_name)
            .or(default_format)
            .unwrap_or(numbers.format);
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
        let written = check(numbers.dtype)?;
        if output_format == Format::Npy {
            npy::check_output(written, &output.name)?;
        }
        Ok(Job {
            device,
            numbers,
            output,
            output_format,
        })
    }
}

pub(crate) fn choose_device(name: Option<&str>) -> Result<Device> {
    let Some(name) = name else {
        return Ok(Device::for_host_data()?);
    };
    name.parse().map_err(|error| {
        let mut cause = text_of(&error);
        if !matches!(error, warpfold::Error::NoDevice { .. }) {
            let names: Vec<_> = Device::available().iter().map(Device::to_string).collect();
            cause += &format!("\n  available: {}", names.join(", "));
        }
        Failure::at(format_args!("--device {name}"), cause)
    })
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
            Err(error) => lines += &format!("{:<8} none: {}\n", "cuda", text_of(&error)),
        }
    }
    #[cfg(feature = "cuda")]
    {
        lines += &format!("{:<8} {}\n", "nvrtc", compiler());
    }
    print(&lines)
}

/// The release and the file of the compiler of kernels, or why there is none.
#[cfg(feature = "cuda")]
fn compiler() -> String {
    use warpfold::cuda::nvrtc;
    let found = nvrtc::file().and_then(|file| Ok((file, nvrtc::release()?)));
    match found {
        Ok((file, release)) => format!("{release}, {}", file.display()),
        Err(error) => format!("none: {}", text_of(&error)),
    }
}

pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = Output::open(None)?;
    output.write(text.as_bytes())?;
    if !text.ends_with('\n') {
        output.write(b"\n")?;
    }
    output.finish()
}
