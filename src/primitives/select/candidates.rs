//! The kernels that selects choose from.

use super::kernel::{Outputs, Select};
use crate::engine::candidates::{Candidates, Does, Extent, Fits};
use crate::engine::{Engine, Explanation, Layouts, Machine};
#[cfg(feature = "cuda")]
use crate::engine::{RowPolicy, WavePolicy};
use crate::source::Form;
use crate::{Element, Result};

/// Those that are fastest on GPUs of a compute capability.
pub(super) fn for_outputs<T: Element, F: Form<Item = (T, bool)>, O: Outputs, K>(
    kernel: &dyn Fn(Engine) -> K,
    capability: u32,
) -> Candidates<K> {
    let wave = Select::<T, F, O>::wave_policy(capability);
    let wave = wave.filter(|&policy| Engine::Wave(policy).runs_on(capability));
    let rows = Select::<T, F, O>::rows_policy(capability);
    let mut candidates = Candidates::new(sums::<T, F, O>(), Does::Each);
    let mut add = |engine, fits| candidates.add(kernel(engine), engine, fits);
    if let Some(policy) = wave {
        add(Engine::Wave(policy), Fits::Long(rows));
    }
    if let Some(policy) = Select::<T, F, O>::short_rows_policy(capability) {
        add(Engine::Rows(policy), Fits::InOneBlock);
    }
    if let Some(policy) = Select::<T, F, O>::long_rows_policy(capability) {
        add(Engine::Rows(policy), Fits::Long(rows));
    }
    add(Engine::Rows(rows), Fits::Always);
    candidates
}

/// The layouts of what blocks exchange: counts, with the position of the last item if there are
/// runs to measure.
fn sums<T: Element, F: Form<Item = (T, bool)>, O: Outputs>() -> Layouts {
    match Select::<T, F, O>::MEASURES {
        true => Layouts::of_slice::<[u64; 2]>(),
        false => Layouts::of_slice::<u64>(),
    }
}

/// What a select from aligned slices of so many items does on a GPU.
///
/// # Errors
///
/// Those of a call with so many items.
pub fn explain_select<T: Element, F: Form<Item = (T, bool)>, O: Outputs>(
    machine: Machine,
    len: usize,
) -> Result<Explanation> {
    let candidates = for_outputs::<T, F, O, ()>(&|_| (), machine.capability);
    let extent = Extent {
        len,
        inclusive: false,
        aligned: true,
        multiprocessors: machine.multiprocessors,
    };
    explain(&candidates, machine.capability, extent)
}

/// What a call does.
pub(super) fn explain<K>(
    candidates: &Candidates<K>,
    capability: u32,
    extent: Extent,
) -> Result<Explanation> {
    let explanation = candidates.explain("select", extent)?;
    let capability = format!("{}.{}", capability / 10, capability % 10);
    Ok(explanation.depending_on([("compute capability", capability)]))
}

/// These rows for every call, after the wave engine if there is one.
#[cfg(feature = "cuda")]
pub(super) fn only<T: Element, F: Form<Item = (T, bool)>, O: Outputs, K>(
    kernel: &dyn Fn(Engine) -> K,
    rows: RowPolicy,
    wave: Option<WavePolicy>,
) -> Candidates<K> {
    let mut candidates = Candidates::new(sums::<T, F, O>(), Does::Each);
    let mut add = |engine| candidates.add(kernel(engine), engine, Fits::Always);
    if let Some(policy) = wave {
        add(Engine::Wave(policy));
    }
    add(Engine::Rows(rows));
    candidates
}
