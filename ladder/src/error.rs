//! What ends a run.

use std::fmt;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no report.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The library failed.
    Library(warpfold::Error),
    /// A kernel does not compile for the emulator: the compiler's messages.
    Emulator(String),
    /// There is no step of a name that was asked for.
    NoStep(String),
    /// A file could not be written.
    File(std::path::PathBuf, std::io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Library(error) => error.fmt(f),
            Error::Emulator(messages) => {
                write!(f, "the emulator does not compile a kernel:\n{messages}")
            }
            Error::NoStep(name) => {
                let names: Vec<_> = warpfold::ladder::steps().map(|step| step.name).collect();
                let names = names.join(", ");
                write!(
                    f,
                    "the ladder has no step `{name}`\n  remedy: name one of {names}"
                )
            }
            Error::File(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

impl From<warpfold::Error> for Error {
    fn from(error: warpfold::Error) -> Error {
        Error::Library(error)
    }
}
