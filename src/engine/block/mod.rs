//! *Block*: short inputs, by one block, with little code.

use super::tuning::rows;
use super::{Layouts, Order};

/// What the block engine ([`Engine::Block`](super::Engine::Block)) holds: all of a short input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockPolicy {
    /// Neighbouring elements of a lane, a power of two up to 16.
    pub run: u32,
    /// The most warps of the block, a power of two.
    pub warps: u32,
}

impl BlockPolicy {
    /// The policy of a reduction of a form, by an operator of some cost, on GPUs
    /// of a compute capability. `None` if another engine is faster.
    pub fn for_reduce(
        layouts: Layouts,
        capability: u32,
        order: Order,
        cost: u32,
    ) -> Option<BlockPolicy> {
        let tables = rows::tables(capability);
        // In any order the rows engine has few steps, too, and reads long elements better.
        if order == Order::Any && layouts.accumulator_bytes() > tables.block_any {
            return None;
        }
        BlockPolicy::of(layouts, tables.block_reduce, cost)
    }

    /// The policy of a scan, likewise.
    pub fn for_scan(layouts: Layouts, capability: u32, cost: u32) -> Option<BlockPolicy> {
        BlockPolicy::of(layouts, rows::tables(capability).block_scan, cost)
    }

    fn of(layouts: Layouts, table: &[rows::BlockRow], cost: u32) -> Option<BlockPolicy> {
        let accumulator = layouts.accumulator_bytes();
        let mut rows = table.iter();
        let row = rows.find(|row| accumulator <= row.accumulator && cost < row.costs_less)?;
        Some(BlockPolicy {
            run: row.run,
            warps: row.warps,
        })
    }

    /// The most elements of an input.
    pub fn elements(self) -> u64 {
        u64::from(32 * self.run * self.warps)
    }

    /// The threads of the block for `length` elements.
    pub fn threads(self, length: usize) -> u32 {
        32 * (length as u64).div_ceil(u64::from(32 * self.run)).max(1) as u32
    }

    /// What is wrong with a policy, if anything.
    pub(crate) fn fault(self) -> Option<&'static str> {
        let BlockPolicy { run, warps } = self;
        if !run.is_power_of_two() || !warps.is_power_of_two() {
            Some("run and warps are powers of two")
        } else if run > 16 || warps > 32 {
            Some("a run has at most 16 elements, and a block has at most 32 warps")
        } else {
            None
        }
    }
}
