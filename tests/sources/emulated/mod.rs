//! Kernels that read other sources than slices, run in the emulator: they equal the oracle over the
//! items of the source, wherever its slices start.

mod cases;
mod drawn;
mod levels;
mod maps;
mod places;
mod reductions;
mod scans;

pub(crate) use cases::{Case, MOST, leaf, leaf_of, lengths, place, script, slice};
pub(crate) use drawn::{drawn_module, module};
pub(crate) use reductions::check_reductions;
pub(crate) use scans::{resident, tiny};

use crate::support::data::Sample;
use scans::check_scans;
use warpfold::Monoid;
use warpfold::source::Form;

fn check<T: Sample, Op: Monoid<T>, F: Form<Item = T>>(name: &str, case: &Case<F>) {
    check_reductions::<T, Op, F>(name, case);
    check_scans::<T, Op, F>(name, case);
}
