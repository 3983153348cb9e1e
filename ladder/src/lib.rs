//! What `warpfold ladder` does: it runs the steps of [`warpfold::ladder`], from a first reduction
//! to a good one.
//!
//! [`run()`] times the CPU's steps, times the kernels on a GPU if there is one, and counts in the
//! [emulator](warpfold_emulator) what they ask of the machine. Every result is compared with the
//! library's own. What is missing, such as a GPU or a C++ compiler, the [`Report`] says; the rest
//! is done. A report is shown as a [table](Report::table), as [JSON](Report::json), as a
//! [page](Report::html), or as [Markdown](Report::markdown()) with pictures beside it.
//!
//! ```
//! use warpfold::ops::Add;
//! use warpfold_ladder::{Options, run};
//!
//! let only = vec!["halving".to_owned()];
//! // A step of the CPU: nothing to count.
//! let options = Options { elements: 1 << 12, counted: 0, only, ..Options::default() };
//! let report = run::<f32, Add>("add", &options)?;
//! assert_eq!(report.steps[0].name, "halving");
//! assert!(report.faults().is_empty());
//! # Ok::<(), warpfold_ladder::Error>(())
//! ```

mod chart;
mod clock;
mod counts;
mod cpu;
mod data;
mod emulated;
mod engines;
mod error;
#[cfg(feature = "cuda")]
mod gpu;
mod number;
mod operator;
mod orders;
mod page;
mod picture;
mod report;
mod run;
mod table;

pub use error::{Error, Result};
pub use number::Number;
pub use page::Markdown;
pub use report::{Count, Machine, Outcome, Prediction, Report, Row, Seed, Time};
pub use run::{Options, run};
