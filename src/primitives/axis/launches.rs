//! The launches along an axis, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::Axis;
use super::kernel::{REDUCE, REDUCE_SUMS, SCAN, SCAN_SUMS};
use super::plan::{AxisPlan, AxisPolicy};
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, HEADER_BYTES, Launched, Machine, accumulator_layout};
use crate::primitives::segmented::kernel::SegmentedPolicy;
use crate::primitives::segmented::launches::Extent;
use crate::{Element, Result};

/// One launch: over the items, which are level 0, or over the sums of the level below.
#[derive(Debug, Clone, Copy)]
pub(super) struct AxisLaunch {
    pub(super) level: usize,
    pub(super) blocks: Blocks,
    /// Whether it is a scan, which gives prefixes; otherwise it folds.
    pub(super) scans: bool,
}

impl AxisLaunch {
    pub(super) fn function(&self) -> &'static str {
        match (self.scans, self.level) {
            (false, 0) => REDUCE,
            (false, _) => REDUCE_SUMS,
            (true, 0) => SCAN,
            (true, _) => SCAN_SUMS,
        }
    }

    fn launched(self) -> Launched {
        (self.function(), self.blocks)
    }
}

impl AxisPlan {
    fn launch(&self, policy: AxisPolicy, axis: &Axis, level: usize, scans: bool) -> AxisLaunch {
        let threads = axis.lanes() as u64 * self.levels[level].chunks();
        let blocks = threads.div_ceil(policy.threads.into());
        AxisLaunch {
            level,
            blocks: Blocks::new(blocks, policy.threads, 0),
            scans,
        }
    }

    /// The launches of a reduction: up from the items.
    pub(super) fn reduce_launches(
        &self,
        policy: AxisPolicy,
        axis: &Axis,
    ) -> impl Iterator<Item = AxisLaunch> {
        let levels = if axis.lanes() == 0 {
            0
        } else {
            self.levels.len()
        };
        (0..levels).map(move |level| self.launch(policy, axis, level, false))
    }

    /// The launches of a scan: up, for the sums of whole chunks, and down, for prefixes of sums,
    /// which seed the level below.
    pub(super) fn scan_launches(
        &self,
        policy: AxisPolicy,
        axis: &Axis,
    ) -> impl Iterator<Item = AxisLaunch> {
        let levels = if axis.items() == 0 {
            0
        } else {
            self.levels.len()
        };
        let cut = (0..levels).filter(|&level| !self.levels[level].is_last);
        let up = cut.map(move |level| self.launch(policy, axis, level, false));
        let down = (0..levels).rev();
        up.chain(down.map(move |level| self.launch(policy, axis, level, true)))
    }
}

/// What calls along an axis depend on: the policies, and the sizes of an item, of a sum and of the
/// GPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Explaining {
    pub(super) policy: AxisPolicy,
    pub(super) rows: SegmentedPolicy,
    pub(super) item_bytes: usize,
    pub(super) sum_bytes: usize,
    pub(super) multiprocessors: u32,
}

impl Explaining {
    fn of<T: Element>(machine: Machine) -> Explaining {
        Explaining {
            policy: AxisPolicy::of::<T>(),
            rows: SegmentedPolicy::of::<T>(),
            item_bytes: size_of::<T>(),
            sum_bytes: accumulator_layout::<T>().size(),
            multiprocessors: machine.multiprocessors,
        }
    }

    /// What a reduction does, or a scan.
    pub(super) fn explain(&self, axis: &Axis, scans: bool) -> Result<Explanation> {
        let (sum_bytes, sizes_of) = (self.sum_bytes, (self.item_bytes, self.multiprocessors));
        let name = if scans {
            "scan along an axis"
        } else {
            "reduce along an axis"
        };
        let (lanes, len) = (axis.lanes(), axis.lane_len());
        let given = format!("{lanes} lanes of {len} items");
        let plan = AxisPlan::for_sums(sum_bytes, self.policy, axis, HEADER_BYTES as u64);
        if axis.is_rows() {
            let of = Extent {
                len: axis.items(),
                count: lanes,
            };
            let said = match scans {
                false => self.rows.explain_reduce(sum_bytes, of, sizes_of)?,
                true => self.rows.explain_scan(sum_bytes, of, self.item_bytes)?,
            };
            let because = format!(
                "each lane is a row, and a segment of its own. By the number of items alone, {}",
                said.because
            );
            return Ok(Explanation {
                primitive: name,
                given,
                because,
                workspace_bytes: self.workspace_bytes(axis),
                ..said
            });
        }
        let cut = plan.levels.len() - 1;
        let why = match cut {
            0 => "each lane has a thread".to_owned(),
            1 => "lanes are cut into chunks, and each chunk has a thread".to_owned(),
            _ => format!("lanes are cut into chunks, {cut} times, and each chunk has a thread"),
        };
        let launches: Vec<_> = match scans {
            false => (plan.reduce_launches(self.policy, axis))
                .map(AxisLaunch::launched)
                .collect(),
            true => (plan.scan_launches(self.policy, axis))
                .map(AxisLaunch::launched)
                .collect(),
        };
        let (given, bytes) = ((given, axis.items() as u64), self.workspace_bytes(axis));
        let said = Explanation::new(name, given, ("lanes", why), launches, bytes)?;
        Ok(said.depending_on([("bytes of a sum", sum_bytes.to_string())]))
    }

    /// The bytes of a workspace for reductions and scans.
    pub(super) fn workspace_bytes(&self, axis: &Axis) -> usize {
        let (sum, items) = (self.sum_bytes, axis.items());
        let own = AxisPlan::for_sums(sum, self.policy, axis, HEADER_BYTES as u64).end as usize;
        match axis.is_rows() {
            true => own
                .max(self.rows.reduce_bytes_for(sum, items))
                .max(self.rows.scan_bytes_for(sum, items)),
            false => own,
        }
    }
}

/// What a reduction of a slice along an axis does on a GPU.
///
/// # Errors
///
/// Those of a call along such an axis.
pub fn explain_reduce_axis<T: Element>(machine: Machine, axis: Axis) -> Result<Explanation> {
    Explaining::of::<T>(machine).explain(&axis, false)
}

/// What a scan of a slice along an axis does on a GPU.
///
/// # Errors
///
/// Those of a call along such an axis.
pub fn explain_scan_axis<T: Element>(machine: Machine, axis: Axis) -> Result<Explanation> {
    Explaining::of::<T>(machine).explain(&axis, true)
}
