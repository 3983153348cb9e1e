//! `warpfold completions` and `warpfold man`.

use crate::args::Arguments;
use crate::commands::print;
use crate::failure::{Failure, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;

const NAME: &str = "warpfold";

/// Prints a shell's completions.
pub(super) fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints a page of the manual.
pub(super) fn page(name: Option<&str>) -> Result<()> {
    let mut all = Arguments::command();
    all.build();
    let command = match name {
        None => all,
        Some(name) => match all.find_subcommand(name) {
            Some(command) => command.clone().display_name(format!("{NAME}-{name}")),
            None => {
                let names: Vec<_> = all.get_subcommands().map(Command::get_name).collect();
                return Err(Failure::with_remedy(
                    "man",
                    format_args!("there is no command `{name}`"),
                    format_args!("give one of {}", names.join(", ")),
                ));
            }
        },
    };
    let mut page = Vec::new();
    let source = format!("{NAME} {}", env!("CARGO_PKG_VERSION"));
    let rendered = clap_mangen::Man::new(command)
        .source(source)
        .render(&mut page);
    rendered.map_err(|error| Failure::at("man", error))?;
    print(&String::from_utf8_lossy(&page))
}
