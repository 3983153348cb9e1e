//! The primitives, a room each.
//!
//! To add one, NAME:
//!
//! 1. Write down its meaning, one element after the other, in `tests/NAME/`.
//! 2. Write the algorithm, `kernels/NAME.cuh`. `collect.cuh` is a short one.
//! 3. Write `templates/NAME.cu.jinja`, or a folder `templates/NAME/` for several. It includes
//!    `request.cu.jinja`, which binds the source and the operator, and holds the functions that are
//!    launched. The build finds new files by itself.
//! 4. Make a folder here. `kernel.rs` declares the arguments with `arguments!`, names each function
//!    ([`Function`](crate::codegen::Function)) and makes the
//!    [`Kernel`](crate::codegen::Kernel) values. `cuda.rs` holds them as `cuda::kernels::Lazy` and
//!    launches them with `cuda::launch::launch`. `cpu.rs` is the CPU's side, and `mod.rs` the API.
//! 5. Add its line below, its names to `lib.rs`, and its command to `cli/`. What programs with
//!    `cudarc` use goes through the doors `cuda.rs` and `codegen.rs`.
//!
//! Nothing else in `src/` knows it. Test it in the emulator over sources that start anywhere
//! (`tests/sources/emulated/`), on the CPU and on a GPU. Time it in `benches/`.
//!
//! A kernel is done when it passes in the emulator for every type and operator, and then in
//! `dist/run tests` and `dist/run sanitizer`.

#[cfg(test)]
mod architectures_tests;
pub(crate) mod axis;
pub(crate) mod collect;
pub(crate) mod distinct;
pub(crate) mod histogram;
pub(crate) mod merge;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod search;
pub(crate) mod segmented;
pub(crate) mod segmented_sort;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod top;
pub(crate) mod weighted;
