//! Selects, on compute capability 9.0.
//!
//! Measured: an NVIDIA H200, 2026-11-24, `cargo bench --bench gpu -- select partition`, by hand.

use crate::engine::tuning::WaveRow;

#[rustfmt::skip]
pub(super) const SELECT: &[WaveRow] = &[
    WaveRow {
        element: 1, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 7, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 2, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 7, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 4, run: 1, tile: 32 << 10, warps: 8, reducers: 4, stages: 7, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 8, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 6, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 12, run: 1, tile: 24 << 10, warps: 8, reducers: 8, stages: 5, loads: 2, wave: 128,
        batch: 1,
    },
    WaveRow {
        element: 16, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 5, loads: 2, wave: 64,
        batch: 1,
    },
];

/// A warp that packs both sides does twice as much: more of them share a tile.
#[rustfmt::skip]
pub(super) const PARTITION: &[WaveRow] = &[
    WaveRow {
        element: 1, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 7, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 2, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 7, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 4, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 7, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 8, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 6, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 12, run: 1, tile: 24 << 10, warps: 8, reducers: 8, stages: 5, loads: 2, wave: 128,
        batch: 1,
    },
    WaveRow {
        element: 16, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 5, loads: 2, wave: 64,
        batch: 1,
    },
];
