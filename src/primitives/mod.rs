//! The primitives, a room each. This list is the only one.
//!
//! To add one:
//!
//! 1. Write down its meaning, one element after the other, in a test.
//! 2. Write the sink: what becomes of the prefixes of a tile. It is a `.cuh` in `kernels/`
//!    (`select.cuh` is a short one). `template.rs` lists the files.
//! 3. Make a folder here, and add its line below. `kernel.rs` declares the arguments and names the
//!    engines. A template for each engine binds them.
//! 4. Name the primitive in `codegen::kernels`, `lib.rs`, `cuda/mod.rs` and the command line.
//! 5. Test it in the emulator over sources that start anywhere (`tests/emulated/sources.rs`), on the
//!    CPU and on a GPU. Time it in `benches/`.
//!
//! A kernel is done when it passes in the emulator for every type and operator, and then in
//! `dist/run tests` and `dist/run sanitizer`.

pub(crate) mod collect;
pub(crate) mod histogram;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod select;
pub(crate) mod weighted;
