//! What only looks like something that is not translated.

#![allow(
    uncommon_codepoints,
    clippy::let_and_return,
    reason = "some forms and names are odd on purpose"
)]

mod forms;
mod names;
