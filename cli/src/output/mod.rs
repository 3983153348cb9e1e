//! Where results go.

mod name;
mod packer;
mod replacement;
mod signals;
mod writer;

pub(crate) use name::Promise;
pub(crate) use writer::{TableWriter, Writer, quoted};

use crate::failure::{Failure, Result};
use packer::Packer;
use replacement::Replacement;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Seek, Stdout, Write};
use std::path::Path;

/// A place to write to, which is open. A file appears under its own name when it is
/// [finished](Output::finish), and not before.
pub(crate) struct Output {
    /// The name that messages use.
    pub(crate) name: String,
    /// What the name says of the bytes.
    pub(crate) promise: Promise,
    sink: Sink,
    /// What packs the bytes before they go there.
    packer: Option<Packer>,
    /// What was written, if its start may change yet and the place cannot go back there.
    spool: Option<File>,
}

enum Sink {
    Stdout(Stdout),
    /// A device or a pipe, which cannot be replaced.
    Special(File),
    File(Box<Replacement>),
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Sink::Stdout(stdout) => stdout.write_all(bytes),
            Sink::Special(file) => file.write_all(bytes),
            Sink::File(file) => file.write(bytes),
        }
    }
}

/// A spool is copied in blocks of this size.
const SPOOL_BYTES: usize = 1 << 20;

impl Output {
    /// Opens a place, before all the work: one that cannot be written to is found out here. `-` and
    /// nothing are the standard output. A name that ends in .gz or .npz is kept: what is written is
    /// packed so.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Output {
                name: "standard output".into(),
                promise: Promise::default(),
                sink: Sink::Stdout(io::stdout()),
                packer: None,
                spool: None,
            });
        };
        Self::with_promise(path, Promise::of(path)?)
    }

    /// Opens a file whose name says nothing of the bytes.
    pub(crate) fn open_as_is(path: &Path) -> Result<Self> {
        Self::with_promise(path, Promise::default())
    }

    fn with_promise(path: &Path, promise: Promise) -> Result<Self> {
        let name = path.display().to_string();
        let packer = Packer::new(promise.packing).map_err(|error| Failure::at(&name, error))?;
        let sink = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(Failure::at(&name, "it is a folder"));
            }
            Ok(metadata) if !metadata.is_file() => OpenOptions::new()
                .write(true)
                .open(path)
                .map(Sink::Special)
                .map_err(|error| Failure::at(&name, error))?,
            Ok(metadata) => Sink::File(Replacement::open(path, &name, Some(metadata))?.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Sink::File(Replacement::open(path, &name, None)?.into())
            }
            Err(error) => return Err(Failure::at(&name, error)),
        };
        Ok(Output {
            name,
            promise,
            sink,
            packer,
            spool: None,
        })
    }

    /// Whether people read here, and binary data would be out of place.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.sink, Sink::Stdout(_)) && io::stdout().is_terminal()
    }

    /// Whether it replaces a file that is read; without a path that is the standard input.
    fn replaces(&self, input: Option<&Path>) -> bool {
        let input = input.filter(|path| *path != Path::new("-"));
        let input = fs::canonicalize(input.unwrap_or(Path::new("/dev/stdin")));
        match &self.sink {
            Sink::File(file) => input.is_ok_and(|input| input == file.target()),
            _ => false,
        }
    }

    /// Fails if the file would replace one of those that are read.
    pub(crate) fn refuse_inputs<'a>(
        &self,
        inputs: impl IntoIterator<Item = Option<&'a Path>>,
    ) -> Result<()> {
        match inputs.into_iter().any(|input| self.replaces(input)) {
            false => Ok(()),
            true => Err(Failure::with_remedy(
                &self.name,
                "this file is read, and other results would take its place",
                "give another name",
            )),
        }
    }

    /// Fails if two results would be written to one file.
    pub(crate) fn refuse_others<'a>(
        &self,
        others: impl IntoIterator<Item = &'a Output>,
    ) -> Result<()> {
        match others.into_iter().any(|other| self.is_same_file(other)) {
            false => Ok(()),
            true => Err(Failure::with_remedy(
                &self.name,
                "two results are to be written to this file",
                "give each its own",
            )),
        }
    }

    /// Whether both write the same file.
    fn is_same_file(&self, other: &Output) -> bool {
        match (&self.sink, &other.sink) {
            (Sink::File(one), Sink::File(other)) => one.target() == other.target(),
            _ => false,
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(spool) = &mut self.spool {
            let written = spool.write_all(bytes);
            return written.map_err(|error| spool_failure(&error));
        }
        let written = match &mut self.packer {
            Some(packer) => {
                let packed = packer.pack(bytes);
                packed.and_then(|bytes| self.sink.write(&bytes))
            }
            None => self.sink.write(bytes),
        };
        written.map_err(|error| self.failure(&error))
    }

    /// Says that the start will be written again. To be called before anything is written.
    pub(crate) fn keep_start(&mut self) -> Result<()> {
        if self.packer.is_some() || !matches!(self.sink, Sink::File(_)) {
            self.spool = Some(tempfile::tempfile().map_err(|error| spool_failure(&error))?);
        }
        Ok(())
    }

    /// Keeps all that is written until it is whole: a part of it would be of no use. To be called
    /// before anything is written.
    pub(crate) fn keep_all(&mut self) -> Result<()> {
        if !matches!(self.sink, Sink::File(_)) {
            self.spool = Some(tempfile::tempfile().map_err(|error| spool_failure(&error))?);
        }
        Ok(())
    }

    /// Writes other bytes in place of the first ones.
    pub(crate) fn write_start(&mut self, bytes: &[u8]) -> Result<()> {
        match (&mut self.spool, &mut self.sink) {
            (Some(spool), _) => {
                let written = spool.rewind().and_then(|()| spool.write_all(bytes));
                written.map_err(|error| spool_failure(&error))
            }
            (None, Sink::File(file)) => {
                let written = file.write_start(bytes);
                written.map_err(|error| self.failure(&error))
            }
            _ => unreachable!("a start that may change is kept"),
        }
    }

    /// Makes sure that all is written, and gives a file its name.
    pub(crate) fn finish(self) -> Result<()> {
        Self::finish_all([self])
    }

    /// Makes sure that several results are written before the first file gets its name: if one
    /// fails, all files stay as they were.
    pub(crate) fn finish_all(outputs: impl IntoIterator<Item = Output>) -> Result<()> {
        let mut outputs: Vec<Output> = outputs.into_iter().collect();
        // What streams take cannot be taken back.
        outputs.sort_by_key(|output| !matches!(output.sink, Sink::File(_)));
        outputs.iter_mut().try_for_each(Output::complete)?;
        outputs.iter_mut().try_for_each(Output::publish)
    }

    fn publish(&mut self) -> Result<()> {
        match &mut self.sink {
            Sink::File(file) => file
                .publish()
                .map_err(|error| Failure::at(&self.name, error)),
            _ => Ok(()),
        }
    }

    fn complete(&mut self) -> Result<()> {
        if let Some(mut spool) = self.spool.take() {
            spool.rewind().map_err(|error| spool_failure(&error))?;
            let mut block = vec![0; SPOOL_BYTES];
            loop {
                match spool
                    .read(&mut block)
                    .map_err(|error| spool_failure(&error))?
                {
                    0 => break,
                    count => self.write(&block[..count])?,
                }
            }
        }
        if let Some(packer) = self.packer.take() {
            let ended = packer.end().and_then(|bytes| self.sink.write(&bytes));
            ended.map_err(|error| self.failure(&error))?;
        }
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Special(file) => file.flush(),
            Sink::File(file) => file.complete(),
        }
        .map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        let to_stdout = matches!(self.sink, Sink::Stdout(_));
        if to_stdout && error.kind() == io::ErrorKind::BrokenPipe {
            Failure::BrokenPipe
        } else {
            Failure::at(&self.name, error)
        }
    }
}

fn spool_failure(error: &io::Error) -> Failure {
    Failure::at(
        format_args!("a temporary file in {}", std::env::temp_dir().display()),
        error,
    )
}
