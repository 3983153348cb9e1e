//! The command as its users meet it: arguments in, files and messages out.

mod ambiguous;
mod commands;
mod devices;
mod doubts;
#[cfg(target_os = "linux")]
mod driver;
mod errors;
mod explain;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod followed;
mod formats;
mod headers;
mod histogram;
mod honesty;
#[cfg(feature = "ladder")]
mod ladder;
mod lanes;
mod layout;
mod manual;
mod marks;
mod misread;
mod missing;
mod numbers;
mod oddities;
mod others;
mod output;
mod printed;
mod remedies;
mod reverse;
mod select;
mod sort;
mod stats;
mod streams;
mod support;
mod tables;
#[cfg(target_os = "linux")]
mod terminal;
mod text;
mod top;
mod unique;
