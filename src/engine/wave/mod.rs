//! *Wave*: all tiles in one launch, which the copy engine brings. [`tuning`](super::tuning) has the
//! numbers.

mod plan;

pub use plan::WavePlan;

use super::tuning::row_for;
use super::tuning::wave::{self, WaveRow};
use super::{Layouts, UNKNOWN};
use crate::Element;
use crate::source::{Form, Leaves};
use std::alloc::Layout;

/// The shape of the wave engine's blocks, and of the tiles that they pass from warp to warp.
///
/// All numbers but `stages`, `loads` and `reducers` are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WavePolicy {
    /// Warps that scan. Each has its share of a tile.
    pub warps: u32,
    /// Rows of a warp's share: 32 runs, one a lane.
    pub rows: u32,
    /// Elements of a run, which take a multiple of 16 bytes.
    pub run: u32,
    /// Tiles that a block holds.
    pub stages: u32,
    /// Tiles that a block fetches at a time.
    pub loads: u32,
    /// Tiles of a wave, a multiple of 32.
    pub wave: u32,
    /// Rows that a warp scans at once.
    pub batch: u32,
    /// Warps that add up tiles before they are scanned; a divisor of `warps`.
    pub reducers: u32,
    /// Whether input and output may start anywhere. If not, both start at multiples of 16 bytes.
    pub anywhere: bool,
}

/// What the shape of a wave engine's blocks depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    leaves: Leaves,
    /// The bytes of a result.
    item: u32,
    /// The size and the alignment of what is folded.
    accumulator: (u32, u32),
    /// Of a select, the bytes for each item of a tile that warps hold beside the stages.
    select: Option<u32>,
}

impl Shape {
    pub(crate) fn of_scan(layouts: Layouts) -> Shape {
        Shape::of(layouts.leaves, layouts.item.size(), layouts.accumulator)
    }

    /// What is folded are counts of 64 bits.
    pub(crate) fn of_select<T: Element, F: Form>() -> Shape {
        Shape {
            select: Some(0),
            ..Shape::of(F::LEAVES, size_of::<T>(), Layout::new::<u64>())
        }
    }

    /// The position of the last item goes with the count. Warps hold positions of 16 bits.
    pub(crate) fn of_runs<T: Element, F: Form>() -> Shape {
        Shape {
            select: Some(2),
            ..Shape::of(F::LEAVES, size_of::<T>(), Layout::new::<[u64; 2]>())
        }
    }

    fn of(leaves: Leaves, item: usize, accumulator: Layout) -> Shape {
        Shape {
            leaves,
            item: item as u32,
            accumulator: (accumulator.size() as u32, accumulator.align() as u32),
            select: None,
        }
    }
}

/// The longest run that a lane holds of a scan, in bytes.
const SCAN_RUN_BYTES: u32 = 160;

/// The most bytes that all slices take for an item, unless the item takes as many.
const MOST_READ: u32 = 40;

impl WavePolicy {
    /// The shared memory that a block asks for: all that a multiprocessor gives to one.
    pub const SHARED_BYTES: u32 = 227 << 10;

    /// Addresses are multiples of this many bytes, unless the policy says `anywhere`.
    #[cfg(feature = "cuda")]
    pub(crate) const ALIGN: u64 = 16;

    /// The policy for elements of type `T` if no GPU is known: that for compute capability 9.0, the
    /// first to run the engine. `None` as for [`for_capability`](WavePolicy::for_capability).
    pub fn of<T: Element>() -> Option<WavePolicy> {
        WavePolicy::for_capability::<T>(UNKNOWN)
    }

    /// The policy for elements of type `T` on GPUs of a compute capability, such as 90 for 9.0.
    /// `None` as for [`for_form`](WavePolicy::for_form).
    pub fn for_capability<T: Element>(capability: u32) -> Option<WavePolicy> {
        WavePolicy::for_form(Layouts::of_slice::<T>(), capability)
    }

    /// The policy for a scan of a form on GPUs of a compute capability. `None` if no short run
    /// takes a multiple of 16 bytes of every slice and of the results; if the slices take more than
    /// 40 bytes for an item, and more than the item; or if the copy engine cannot fetch the form.
    pub fn for_form(layouts: Layouts, capability: u32) -> Option<WavePolicy> {
        WavePolicy::for_shape(
            wave::scans(capability),
            SCAN_RUN_BYTES,
            Shape::of_scan(layouts),
        )
    }

    /// The policy for scans by an operator that `commutes` or not, of some
    /// [`cost`](crate::operator::cost). Some operators want another shape than
    /// [`for_form`](Self::for_form) gives.
    pub(crate) fn for_operator(
        layouts: Layouts,
        capability: u32,
        commutes: bool,
        cost: u32,
    ) -> Option<WavePolicy> {
        let size = (layouts.leaves.bytes as u32).max(layouts.item.size() as u32);
        match wave::scans_by(capability, size, commutes, cost) {
            Some(rows) => WavePolicy::for_shape(rows, SCAN_RUN_BYTES, Shape::of_scan(layouts)),
            None => WavePolicy::for_form(layouts, capability),
        }
    }

    /// Wave is the fastest up to this many tiles per multiprocessor, once a GPU cannot hold the
    /// input at once. The operator `commutes` or not, and has some
    /// [`cost`](crate::operator::cost).
    pub(crate) fn reach(layouts: Layouts, commutes: bool, cost: u32) -> u64 {
        let table = match commutes {
            true => wave::COMMUTING,
            false => wave::ORDERED,
        };
        let accumulator = layouts.accumulator_bytes();
        let mut rows = table.iter();
        let row = rows.find(|row| accumulator <= row.accumulator && cost <= row.cost);
        row.map_or(0, |row| row.tiles)
    }

    /// [`reach`](Self::reach) where the shares engine takes what is longer: by operators bound by
    /// computing.
    pub(crate) fn reach_before_shares(layouts: Layouts) -> u64 {
        let accumulator = layouts.accumulator_bytes();
        row_for(wave::BEFORE_SHARES, |row| row.0, accumulator).1
    }

    pub(crate) fn for_shape(
        table: &[WaveRow],
        longest_run: u32,
        shape: Shape,
    ) -> Option<WavePolicy> {
        let Shape { leaves, item, .. } = shape;
        let size = leaves.bytes as u32;
        if !leaves.fetched {
            return None;
        }
        let row = table.iter().find(|row| size.max(item) <= row.element)?;
        let run = (0..5).map(|power| 1 << power).find(|run| {
            (item <= 16 || *run >= row.run)
                && (run * leaves.granule as u32).is_multiple_of(16)
                && (run * item).is_multiple_of(16)
        })?;
        let longest_run = longest_run.max(row.run * item);
        if run * item.max(leaves.largest as u32) > longest_run || size > item.max(MOST_READ) {
            return None;
        }
        let rows = row.tile / (row.warps * 32 * run * size);
        let rows = 1 << rows.max(1).ilog2();
        let policy = WavePolicy {
            warps: row.warps,
            rows,
            run,
            stages: row.stages,
            loads: row.loads,
            wave: row.wave,
            batch: row.batch.min(rows),
            reducers: row.reducers,
            anywhere: false,
        };
        // Items may need more room than those that the row was measured with: if their size is no
        // power of two, or if they are folded in a much wider type.
        policy.fitted_to(shape)
    }

    /// The policy for input and output that start anywhere; `None` as for
    /// [`fitted`](WavePolicy::fitted).
    pub fn anywhere<T: Element>(self) -> Option<WavePolicy> {
        self.anywhere_of(Layouts::of_slice::<T>())
    }

    /// The policy for a form and an output that start anywhere.
    pub fn anywhere_of(self, layouts: Layouts) -> Option<WavePolicy> {
        let anywhere = true;
        WavePolicy { anywhere, ..self }.fitted_to(Shape::of_scan(layouts))
    }

    /// The policy with as many of its stages as there is room for; `None` if its blocks cannot
    /// start with any number of them.
    pub fn fitted<T: Element>(self) -> Option<WavePolicy> {
        self.fitted_to(Shape::of_scan(Layouts::of_slice::<T>()))
    }

    fn fitted_to(self, shape: Shape) -> Option<WavePolicy> {
        (self.loads..=self.stages)
            .rev()
            .map(|stages| WavePolicy { stages, ..self })
            .find(|policy| policy.fits(shape))
    }

    /// What is wrong with the policy for a kernel, if anything.
    pub(crate) fn fault(self, shape: Shape) -> Option<&'static str> {
        let powers = [self.warps, self.rows, self.run, self.wave, self.batch];
        let tiles_words = |size: usize| (self.run as usize * size).is_multiple_of(16);
        if !powers.iter().all(|n| n.is_power_of_two()) {
            Some("warps, rows, run, wave and batch are powers of two")
        } else if !shape.leaves.fetched {
            Some("the copy engine cannot fetch the source")
        } else if !tiles_words(shape.leaves.granule) || !tiles_words(shape.item as usize) {
            Some("a run takes a multiple of 16 bytes")
        } else if self.wave < 32 {
            Some("a wave has at least 32 tiles")
        } else if self.loads == 0 || self.loads > self.stages {
            Some("a block fetches at least one tile, and no more than it has stages")
        } else if self.reducers == 0 || !self.fits(shape) {
            Some(
                "reducers divide the warps, there are at most 32 rows and 1024 threads, and the stages fit into shared memory",
            )
        } else {
            None
        }
    }

    /// Whether the kernel compiles with this policy, and its blocks can start.
    fn fits(self, shape: Shape) -> bool {
        self.rows <= 32
            && self.warps.is_multiple_of(self.reducers)
            && self.threads() <= 1024
            && self.shared_bytes_of(shape) <= Self::SHARED_BYTES
    }

    /// What a block uses of its shared memory for elements of type `T`.
    pub fn shared_bytes(self, layouts: Layouts) -> u32 {
        self.shared_bytes_of(Shape::of_scan(layouts))
    }

    /// What a block uses of its shared memory: the size of `WaveEngine::Shared` in
    /// `kernels/engines/wave.cuh`, or a little more if the source is not a slice.
    fn shared_bytes_of(self, shape: Shape) -> u32 {
        let (leaves, (size, align)) = (shape.leaves, shape.accumulator);
        let align = align.max(8);
        let spare = if self.anywhere || !leaves.plain {
            16
        } else {
            0
        };
        let tile = self.tile() as u32 * leaves.bytes as u32 + spare * leaves.count as u32;
        // Of runs, what comes before the tile.
        let tile = tile + (leaves.before as u32).next_multiple_of(16);
        // In this order: the tile's number, a sum for each row or a flag for each item, a sum for
        // each warp, two prefixes, six barriers.
        let of_rows = match shape.select {
            None => self.warps * self.rows * size,
            Some(_) => self.warps * (self.rows * self.run).div_ceil(32) * 32 * 4,
        };
        let notes = (align + of_rows + (self.warps + 2) * size).next_multiple_of(8) + 6 * 8;
        let launch = 8 + self.tile() as u32 * shape.select.unwrap_or(0);
        let all = self.stages * (tile + notes.next_multiple_of(align)) + launch;
        // Tiles are aligned to words of 16.
        all.next_multiple_of(align.max(16))
    }

    /// The elements of a tile.
    pub fn tile(self) -> u64 {
        u64::from(self.warps * self.rows * 32 * self.run)
    }

    /// The threads of a block: the warps that scan, those that add up, and four more, which fetch
    /// and carry sums.
    pub fn threads(self) -> u32 {
        (self.warps + self.reducers + 4) * 32
    }
}
