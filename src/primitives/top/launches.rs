//! The launches of top-k, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::Candidate;
use super::kernel::{Top, TopPlan, TopWay};
use super::tuning::{FILTER_BLOCKS, SORTED_PART};
use crate::engine::candidates::{Blocks, blocks_of_grid};
use crate::engine::{Explanation, Launched, Machine, sizes};
use crate::primitives::sort::Sortable;
use crate::primitives::sort::kernel::{SortPlan, SortShape};
use crate::primitives::sort::launches::SortWay;
use crate::source::{Form, Slice};
use crate::{Element, Result};

/// What a call does, in order.
#[derive(Debug, Clone, Copy)]
pub(super) enum TopStep {
    /// A launch, with these flags.
    Launch(TopFunction, Blocks, u32),
    /// The candidates are sorted by place.
    SortByPlace,
    /// They are sorted by rank.
    SortByRank,
}

/// A function of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopFunction {
    Rows,
    Once,
    Sample,
    Filter,
    Finish,
    All,
    Fill,
    Store,
}

/// What a call asks for, beside its plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct TopAsked {
    /// Whether items have flags.
    pub(super) flagged: bool,
    /// Whether the number of items found is stored.
    pub(super) counts: bool,
    pub(super) multiprocessors: u32,
}

impl TopPlan {
    /// How many times the steps are taken: once for each row, if rows are not in one launch.
    pub(super) fn times(self) -> usize {
        match self.k == 0 || self.way() == TopWay::Rows {
            true => 1,
            false => self.rows,
        }
    }

    /// What is done once: of a call whose rows take a call each, what is done for each row.
    pub(super) fn steps(self, asked: TopAsked) -> impl Iterator<Item = TopStep> {
        use TopFunction::{All, Fill, Filter, Finish, Once, Rows, Sample, Store};
        use TopStep::Launch;

        let (way, shape) = (self.way(), self.shape());
        let (shared, multiprocessors) = (
            shape.shared_bytes(),
            u64::from(asked.multiprocessors.max(1)),
        );
        // Blocks that share out so many items.
        let most = u64::from(FILTER_BLOCKS) * multiprocessors;
        let shared_out = |items: u64, threads: u32, most: u64| {
            let blocks = items.div_ceil(u64::from(threads));
            Blocks::new(blocks.clamp(1, most), threads, 0)
        };
        let sorts = |count: u64| Blocks::new(count, shape.threads, shared);
        let warps = (self.columns as u64).div_ceil(shape.chunk());
        let store = Launch(Store, shared_out(self.k as u64, 256, most), 0);
        let sample = Blocks::new(self.sample_blocks().into(), shape.filter_threads(), shared);
        let filter = shared_out(32 * warps, shape.filter_threads(), most);
        let mut steps = [None; 8];
        let mut at = 0;
        let mut add = |step| {
            steps[at] = Some(step);
            at += 1;
        };
        match way {
            _ if self.rows == 0 || (self.k == 0 && !asked.counts) => {}
            _ if self.k == 0 => add(Launch(Store, Blocks::new(1, 32, 0), 0)),
            TopWay::Rows => add(Launch(Rows, sorts(self.rows as u64), 0)),
            TopWay::Once => {
                // Each warp has a chunk, if there are enough multiprocessors.
                let blocks = warps.div_ceil(u64::from(shape.threads / 32));
                add(Launch(Once, sorts(blocks.clamp(1, multiprocessors)), 0));
            }
            TopWay::Filter | TopWay::FilterAndSort => {
                let by_sorts = way == TopWay::FilterAndSort;
                add(Launch(Sample, sample, 0));
                add(Launch(Filter, filter, 0));
                add(Launch(Finish, sorts(1), by_sorts.into()));
                if by_sorts {
                    add(Launch(Filter, filter, 3));
                    add(Launch(Fill, shared_out(self.room() as u64, 256, most), 0));
                    add(TopStep::SortByPlace);
                    add(TopStep::SortByRank);
                    add(store);
                }
            }
            TopWay::Sort => {
                add(Launch(
                    All,
                    shared_out(self.columns as u64, 256, 2 * most),
                    0,
                ));
                // All of a source without flags stand in their order already.
                if asked.flagged {
                    add(TopStep::SortByPlace);
                }
                add(TopStep::SortByRank);
                add(store);
            }
        }
        steps.into_iter().flatten()
    }

    fn chosen(self) -> (&'static str, String) {
        let (k, capacity) = (self.k, self.shape().capacity);
        match self.way() {
            TopWay::Rows => ("rows", "a block takes a row".to_owned()),
            _ if self.rows > 1 => {
                let mut of_row = self;
                of_row.rows = 1;
                let (way, why) = of_row.chosen();
                (way, format!("rows are taken one by one, and {why}"))
            }
            TopWay::Once => (
                "once",
                format!("{} items are few enough for one launch", self.columns),
            ),
            TopWay::Filter => ("filter", format!("one block sorts up to {capacity} items")),
            TopWay::FilterAndSort => (
                "filter and sort",
                format!("{k} items are more than a block sorts, which is {capacity}"),
            ),
            TopWay::Sort => (
                "sort",
                format!(
                    "{k} is more than one in {SORTED_PART} of {} items",
                    self.columns
                ),
            ),
        }
    }
}

/// The number that is chosen from a source of the form `F`.
type BitsOf<F> = <<<F as Form>::Item as Candidate>::Key as Sortable>::Bits;

impl<F: Form<Item: Candidate>> Top<F> {
    pub(super) fn name(function: TopFunction) -> &'static str {
        match function {
            TopFunction::Rows => Self::ROWS.name,
            TopFunction::Once => Self::ONCE.name,
            TopFunction::Sample => Self::SAMPLE.name,
            TopFunction::Filter => Self::FILTER.name,
            TopFunction::Finish => Self::FINISH.name,
            TopFunction::All => Self::ALL.name,
            TopFunction::Fill => Self::FILL.name,
            TopFunction::Store => Self::STORE.name,
        }
    }

    /// The sorts of candidates, by place and by rank.
    fn sorts(room: usize) -> [(SortPlan, SortWay); 2] {
        let by_place = SortShape::of_pairs::<u64, BitsOf<F>>();
        let by_rank = SortShape::of_pairs::<BitsOf<F>, u64>();
        [
            (SortPlan::new(by_place, room), SortWay::in_place::<u64>()),
            (
                SortPlan::new(by_rank, room),
                SortWay::in_place::<BitsOf<F>>(),
            ),
        ]
    }

    /// The bytes of a workspace.
    pub(super) fn workspace_bytes(plan: TopPlan) -> usize {
        let sorts = match plan.way() {
            TopWay::Rows | TopWay::Once | TopWay::Filter => 0,
            _ => {
                let ends = Self::sorts(plan.room()).map(|(plan, _)| plan.scratch(0, false).end);
                256 + ends[0].max(ends[1]) as usize
            }
        };
        plan.workspace_bytes() + sorts
    }

    /// What a call does that counts what it finds, which has one row; or that finds the first of
    /// each of some rows, and does not count them.
    pub(super) fn explain(
        plan: TopPlan,
        of_rows: bool,
        multiprocessors: u32,
    ) -> Result<Explanation> {
        let (rows, columns, k) = (plan.rows as u64, plan.columns as u64, plan.k);
        let (given, items) = match of_rows {
            true => (
                format!("{k} of each of {rows} rows of {columns} items"),
                rows.saturating_mul(columns),
            ),
            false => (format!("{k} of {columns} items"), columns),
        };
        // Room for the rows of more blocks than a grid has may be more than can be counted.
        if plan.way() == TopWay::Rows {
            blocks_of_grid(rows, items)?;
        }
        let asked = TopAsked {
            flagged: F::Item::FLAGGED,
            counts: !of_rows,
            multiprocessors,
        };
        let [by_place, by_rank] = Self::sorts(plan.room());
        let mut launches = Vec::<Launched>::new();
        for step in plan.steps(asked) {
            match step {
                TopStep::Launch(function, blocks, _) => {
                    launches.push((Self::name(function), blocks));
                }
                TopStep::SortByPlace => {
                    launches.extend(by_place.0.launched(by_place.1, multiprocessors));
                }
                TopStep::SortByRank => {
                    launches.extend(by_rank.0.launched(by_rank.1, multiprocessors));
                }
            }
        }
        let times = if launches.is_empty() { 1 } else { plan.times() };
        let (given, bytes) = ((given, items), Self::workspace_bytes(plan));
        let name = if of_rows { "top of rows" } else { "top" };
        let said = Explanation::new(name, given, plan.chosen(), launches, bytes)?;
        let item_bytes = size_of::<F::Item>();
        let said = said.depending_on(sizes(item_bytes, multiprocessors));
        Ok(Explanation { times, ..said })
    }
}

/// What finding the first `k` of a slice of `len` items does on a GPU.
///
/// # Errors
///
/// Those of a call with so many items.
pub fn explain_top<T>(machine: Machine, len: usize, k: usize) -> Result<Explanation>
where
    T: Element + Candidate,
{
    let plan = TopPlan::new(Top::<Slice<T>>::shape(), machine.multiprocessors, 1, len, k);
    Top::<Slice<T>>::explain(plan, false, machine.multiprocessors)
}

/// What finding the first `k` of each row of a slice does on a GPU. Each row has so many `columns`.
///
/// It depends on the bytes of an item and on the GPU's multiprocessors.
///
/// # Errors
///
/// Those of a call with so many rows.
pub fn explain_top_rows<T>(
    machine: Machine,
    rows: usize,
    columns: usize,
    k: usize,
) -> Result<Explanation>
where
    T: Sortable + Candidate<Key = T>,
{
    let (shape, multiprocessors) = (Top::<Slice<T>>::shape(), machine.multiprocessors);
    let plan = TopPlan::new(shape, multiprocessors, rows, columns, k);
    Top::<Slice<T>>::explain(plan, true, multiprocessors)
}
