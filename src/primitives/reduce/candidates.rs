//! The kernels that reductions choose from.

use crate::engine::candidates::{Candidates, Does, Extent, Fits};
use crate::engine::tuning::scaled;
use crate::engine::{
    BlockPolicy, ComputeBoundReduce, Engine, Explanation, Layouts, Machine, Order, ReducePolicy,
    RowPolicy, facts,
};
use crate::operator::cost;
use crate::{Element, Monoid, Result};

/// Those that are fastest on a GPU, in some order, for an operator that
/// [costs](cost()) so many instructions.
pub(super) fn for_operator<K>(
    kernel: &dyn Fn(Engine) -> K,
    layouts: Layouts,
    machine: Machine,
    order: Order,
    cost: u32,
) -> Candidates<K> {
    let capability = machine.capability;
    let compute_bound = match order {
        Order::Law => ComputeBoundReduce::of(layouts, capability, cost),
        Order::Any => None,
    };
    let usual = || ReducePolicy::for_capability(layouts, capability);
    let (rows, cut) = match (compute_bound, order) {
        (Some(ComputeBoundReduce { rows, cut }), _) => (rows, cut),
        (None, Order::Law) => (RowPolicy::for_ordered_reduce(layouts, capability), usual()),
        (None, Order::Any) => {
            let rows = RowPolicy::for_any_order(layouts, capability, cost);
            (vec![(u64::MAX, rows)], usual())
        }
    };
    let group_bytes = scaled(cut.group_bytes, machine);
    let cut = ReducePolicy { group_bytes, ..cut };
    let mut candidates = Candidates::new(layouts, does(layouts, order, cut));
    if let Some(policy) = BlockPolicy::for_reduce(layouts, capability, order, cost) {
        let engine = Engine::Block(policy);
        candidates.add(kernel(engine), engine, Fits::Always);
    }
    for (bytes, policy) in rows {
        let most = match bytes {
            u64::MAX => u64::MAX,
            bytes => scaled(bytes, machine) / layouts.item.size() as u64,
        };
        let engine = Engine::Rows(policy);
        candidates.add(kernel(engine), engine, Fits::UpTo(most));
    }
    candidates
}

/// One engine, for every call. The block engine has the rows engine beside it, for longer inputs.
#[cfg(feature = "cuda")]
pub(super) fn only<K>(
    kernel: &dyn Fn(Engine) -> K,
    layouts: Layouts,
    capability: u32,
    order: Order,
    engine: Engine,
) -> Candidates<K> {
    let cut = ReducePolicy::for_capability(layouts, capability);
    let cut = match engine {
        Engine::Rows(policy) => cut.with_sums(policy.sums),
        _ => cut,
    };
    let mut candidates = Candidates::new(layouts, does(layouts, order, cut));
    candidates.add(kernel(engine), engine, Fits::Always);
    if let Engine::Block(_) = engine {
        let engine = Engine::Rows(RowPolicy::for_reduce(layouts, capability, order));
        candidates.add(kernel(engine), engine, Fits::Always);
    }
    candidates
}

fn does(layouts: Layouts, order: Order, cut: ReducePolicy) -> Does {
    Does::Fold {
        order,
        cut,
        item_bytes: layouts.item.size(),
    }
}

/// What a reduction of a slice of so many items does on a GPU.
///
/// # Errors
///
/// Those of a call with so many items.
pub fn explain_reduce<T: Element, Op: Monoid<T>>(
    machine: Machine,
    len: usize,
) -> Result<Explanation> {
    let cost = cost::<T, Op>();
    let facts = facts::<T, Op>(machine.capability, cost);
    let (layouts, order) = (Layouts::of_slice::<T>(), Order::of::<T, Op>());
    explain(layouts, machine, order, cost, len).map(|explanation| explanation.depending_on(facts))
}

/// The part of [`explain_reduce`] that is compiled once.
fn explain(
    layouts: Layouts,
    machine: Machine,
    order: Order,
    cost: u32,
    len: usize,
) -> Result<Explanation> {
    let candidates = for_operator(&|_| (), layouts, machine, order, cost);
    candidates.explain("reduce", extent(len, machine.multiprocessors))
}

/// What the choice depends on, of one call.
pub(super) fn extent(len: usize, multiprocessors: u32) -> Extent {
    Extent {
        len,
        inclusive: false,
        aligned: true,
        multiprocessors,
    }
}
