//! How lanes are cut into chunks, level by level. Results do not depend on it.

use super::Axis;
use crate::Element;
use crate::engine::accumulator_layout;

/// How the kernels are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisPolicy {
    /// The rows that a thread loads at once, as a power of two.
    pub log_group: u32,
    /// The most rows of a chunk, as a power of two.
    pub log_most: u32,
    /// The threads of a block.
    pub threads: u32,
    /// Lanes are cut until there are so many chunks: enough to keep memory busy.
    pub wanted: u64,
}

impl AxisPolicy {
    /// The policy for elements of type `T`: a thread has 32 bytes under way, and the tree of its
    /// chunk in registers.
    pub fn of<T: Element>() -> AxisPolicy {
        AxisPolicy::for_bytes(accumulator_layout::<T>().size())
    }

    /// The rows that a thread loads at once.
    pub fn group(self) -> u32 {
        1 << self.log_group
    }

    /// The rows of a chunk as a power of two, and whether a lane is one chunk.
    fn cut(self, lanes: u64, length: u64) -> (u32, bool) {
        let fits = length <= 1 << self.log_most;
        // A second launch costs more than what so few rows take.
        let least = (self.log_group + 2).min(self.log_most);
        if fits && (lanes >= self.wanted || length <= 1 << least) {
            return (self.log_most, true);
        }
        let rows = u128::from(length) * u128::from(lanes) / u128::from(self.wanted);
        let log = rows.max(1).ilog2().clamp(least, self.log_most);
        match length <= 1 << log {
            true => (self.log_most, true),
            false => (log, false),
        }
    }
}

/// One level: the items, or the sums of the chunks of the level below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisLevel {
    /// The length of a lane.
    pub length: u64,
    /// The rows of a chunk, as a power of two.
    pub log_chunk: u32,
    /// The rows that an item stands for, as a power of two.
    pub shift: u32,
    /// Whether a lane is one chunk.
    pub is_last: bool,
    /// Where the sums of whole chunks lie in the workspace.
    pub sums: u64,
    /// Where the prefixes of chunks lie.
    pub seeds: u64,
}

impl AxisLevel {
    /// The chunks of a lane that have all their rows.
    pub fn whole(&self) -> u64 {
        if self.is_last {
            0
        } else {
            self.length >> self.log_chunk
        }
    }

    /// The chunks of a lane.
    pub fn chunks(&self) -> u64 {
        if self.is_last {
            1
        } else {
            self.length.div_ceil(1 << self.log_chunk)
        }
    }
}

/// All levels, from the items up, and what they keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisPlan {
    /// The levels.
    pub levels: Vec<AxisLevel>,
    /// Where the nodes of the ends of lanes lie.
    pub rests: u64,
    /// The bytes of a workspace.
    pub end: u64,
}

impl AxisPlan {
    /// The plan for an axis, in a workspace from `start` on.
    pub fn new<T: Element>(policy: AxisPolicy, axis: &Axis, start: u64) -> AxisPlan {
        AxisPlan::for_sums(accumulator_layout::<T>().size(), policy, axis, start)
    }

    /// The plan for sums of so many bytes.
    pub(super) fn for_sums(
        sum_bytes: usize,
        policy: AxisPolicy,
        axis: &Axis,
        start: u64,
    ) -> AxisPlan {
        let sum = sum_bytes as u64;
        let lanes = axis.lanes() as u64;
        let (mut length, mut shift) = (axis.lane_len() as u64, 0);
        let (mut levels, mut at) = (Vec::new(), start);
        let mut take = |count: u64| {
            let place = at.next_multiple_of(16);
            at = place + count * sum;
            place
        };
        loop {
            let (log_chunk, is_last) = policy.cut(lanes, length);
            let mut level = AxisLevel {
                length,
                log_chunk,
                shift,
                is_last,
                sums: 0,
                seeds: 0,
            };
            if !is_last {
                level.sums = take(lanes * level.whole());
                level.seeds = take(lanes * (level.whole() + 1));
            }
            levels.push(level);
            if is_last {
                break;
            }
            (length, shift) = (level.whole(), shift + log_chunk);
        }
        let nodes = match levels.len() {
            1 => 0,
            _ => u64::from(axis.lane_len().count_ones()),
        };
        let rests = take(lanes * nodes);
        AxisPlan {
            levels,
            rests,
            end: at,
        }
    }
}
