//! Where results go.

use crate::failure::{Failure, Result};
use crate::progress::Progress;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// One write, between two looks at the progress.
const CHUNK_BYTES: usize = 1 << 20;

/// A place to write to. It was checked, but not touched.
#[derive(Debug)]
pub(crate) struct Destination {
    /// The name that messages use.
    pub(crate) name: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Stdout,
    /// A device or a pipe, which cannot be replaced.
    Special(PathBuf),
    /// A regular file that may exist already, and then with these permissions.
    File {
        target: PathBuf,
        permissions: Option<fs::Permissions>,
    },
}

impl Destination {
    /// Checks that a file can be written, before all the work. `-` and nothing are the standard
    /// output.
    pub(crate) fn look_at(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Destination {
                name: "standard output".into(),
                kind: Kind::Stdout,
            });
        };
        let name = path.display().to_string();
        let kind = Self::kind_of(path).map_err(|error| Failure::at(&name, error))?;
        Ok(Destination { name, kind })
    }

    fn kind_of(path: &Path) -> io::Result<Kind> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = parent_of(path);
                if !folder.is_dir() {
                    let message = format!("there is no folder `{}`", folder.display());
                    return Err(io::Error::new(io::ErrorKind::NotFound, message));
                }
                return Ok(Kind::File {
                    target: path.into(),
                    permissions: None,
                });
            }
            Err(error) => return Err(error),
        };
        if metadata.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a folder",
            ));
        }
        if !metadata.is_file() {
            return Ok(Kind::Special(path.into()));
        }
        // A rename needs no right to write the file it replaces: ask for that right here.
        OpenOptions::new().write(true).open(path)?;
        Ok(Kind::File {
            // Through a symbolic link the file is replaced, not the link.
            target: fs::canonicalize(path)?,
            permissions: Some(metadata.permissions()),
        })
    }

    /// Whether people read here, and binary data would be out of place.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.kind, Kind::Stdout) && io::stdout().is_terminal()
    }

    /// Opens the place for `total` bytes, if their number is known. A file appears under its own
    /// name when it is [finished](Output::finish), and not before.
    pub(crate) fn open(self, total: Option<u64>) -> Result<Output> {
        let progress = Progress::new("writing", total, !self.is_terminal());
        let name = self.name;
        let sink = match self.kind {
            Kind::Stdout => Ok(Sink::Stdout(io::stdout())),
            Kind::Special(path) => OpenOptions::new().write(true).open(path).map(Sink::Special),
            Kind::File {
                target,
                permissions,
            } => temporary_beside(&target, permissions).map(|file| Sink::File { file, target }),
        };
        let sink = sink.map_err(|error| Failure::at(&name, error))?;
        Ok(Output {
            name,
            sink,
            progress,
        })
    }
}

/// A new file in the folder of `target`, where a rename is atomic.
fn temporary_beside(target: &Path, old: Option<fs::Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".warpfold-").suffix(".tmp");
    #[cfg(unix)]
    {
        // As for any new file; the process's umask takes from it what it should.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(parent_of(target))?;
    if let Some(permissions) = old {
        file.as_file().set_permissions(permissions)?;
    }
    Ok(file)
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// An open place to write to.
pub(crate) struct Output {
    name: String,
    sink: Sink,
    progress: Progress,
}

enum Sink {
    Stdout(Stdout),
    Special(File),
    File {
        file: NamedTempFile,
        target: PathBuf,
    },
}

impl Output {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        for chunk in bytes.chunks(CHUNK_BYTES) {
            let written = match &mut self.sink {
                Sink::Stdout(stdout) => stdout.write_all(chunk),
                Sink::Special(file) => file.write_all(chunk),
                Sink::File { file, .. } => file.as_file_mut().write_all(chunk),
            };
            written.map_err(|error| self.failure(&error))?;
            self.progress.advance(chunk.len());
        }
        Ok(())
    }

    /// Makes sure that all is written, and gives a file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        let finished = match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Special(file) => file.flush(),
            // Some file systems report a full disk only here.
            Sink::File { file, .. } => file.as_file().sync_data(),
        };
        finished.map_err(|error| self.failure(&error))?;
        if let Sink::File { file, target } = self.sink {
            file.persist(target)
                .map_err(|error| Failure::at(&self.name, error.error))?;
        }
        Ok(())
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
