//! How a command fails.

use std::fmt::Display;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something the user should read.
    Message(String),
    /// Nobody reads the standard output any more.
    BrokenPipe,
}

/// A result whose error ends the command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure that names its place (a file, an option) and its cause.
    pub(crate) fn at(place: impl Display, cause: impl Display) -> Self {
        Failure::Message(format!("{place}: {cause}"))
    }

    /// A failure that also says what the user can do about it.
    pub(crate) fn with_remedy(
        place: impl Display,
        cause: impl Display,
        remedy: impl Display,
    ) -> Self {
        Failure::Message(format!("{place}: {cause}\n  remedy: {remedy}"))
    }
}

impl Failure {
    /// That of a file beside the data. Options say how the data are read, so none helps here but
    /// for those that are named.
    pub(crate) fn beside_data(self, but_for: &[&str]) -> Self {
        let but = match but_for {
            [] => String::new(),
            options => format!(", but for {}", options.join(", ")),
        };
        match self {
            Failure::Message(message) => match message.split_once("\n  remedy: ") {
                Some((what, remedy)) if remedy.contains("--") => Failure::Message(format!(
                    "{what}\n  remedy: mend this file; options for texts are for the data alone{but}"
                )),
                _ => Failure::Message(message),
            },
            other => other,
        }
    }
}

impl From<warpfold::Error> for Failure {
    fn from(error: warpfold::Error) -> Self {
        Failure::Message(text_of(&error))
    }
}

/// What the library says, with remedies for those who type commands.
pub(crate) fn text_of(error: &warpfold::Error) -> String {
    let text = error.to_string();
    text.replace("use Device::cpu()", "give `--device cpu`")
}
