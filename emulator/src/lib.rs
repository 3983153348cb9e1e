//! Runs CUDA kernels on a CPU, and stops where they break a rule of the machine.
//!
//! A C++ compiler compiles the kernels with the instrumentation of the thread sanitizer. The
//! emulator, the C++ in `cpp/`, stands in for that sanitizer's library and for the GPU.
//! `cpp/program.cpp` is where to start reading; it also says what a script may contain.
//!
//! [`Toolchain::get`] finds a compiler, [`Toolchain::module`] compiles kernels, and a [`Script`] of
//! buffers and launches runs them:
//!
//! ```no_run
//! use std::path::Path;
//! use warpfold_emulator::{Argument, Grid, Script, Toolchain};
//!
//! let text = r#"
//!     extern "C" __global__ void doubled(const unsigned* in, unsigned* out) {
//!         warpfold::begin_launch();
//!         out[threadIdx.x] = 2 * in[threadIdx.x];
//!     }
//! "#;
//! let toolchain = Toolchain::get(Path::new("/tmp/emulator")).expect("a C++ compiler");
//! let module = toolchain.module("doubled", text, &["doubled"]);
//!
//! let mut script = Script::new();
//! script.seed(7);
//! script.file("numbers", &[1; 128]);
//! script.filled("in", 0, 128, "numbers");
//! script.buffer("out", 0, 128);
//! let arguments = [Argument::At("in", 0), Argument::At("out", 0)];
//! script.launch("doubled", Grid::new(1, 32), &arguments);
//! script.save("out");
//! assert_eq!(script.run(&module), Ok(vec![2; 128]));
//! ```

mod script;
mod toolchain;

pub use script::{Argument, Grid, Record, Script, Tally, Touch, address, base_seed};
pub use toolchain::{Module, Toolchain};
