//! Compute capability 9.0. From tuning runs on an NVIDIA H200 (NVRTC 13.0, scans of 512 MiB): sums,
//! extremes, products of matrices, and merged means. Where they disagreed, the dearer operator
//! decided, unless sums lost more than 2%. The rows of 12, 20 and 28 bytes and more are from trials
//! of all their shapes with four and with eight warps, of sums and of maps. From 40 bytes on only
//! sums count: see `operators_sm_90.rs` for others.

use super::WaveRow;

#[rustfmt::skip]
pub(super) const WAVE: &[WaveRow] = &[
    WaveRow {
        element: 1, run: 1, tile: 32 << 10, warps: 16, reducers: 8, stages: 7, loads: 2, wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 2, run: 1, tile: 32 << 10, warps: 16, reducers: 8, stages: 7, loads: 2, wave: 128,
        batch: 4,
    },
    WaveRow {
        element: 4, run: 1, tile: 32 << 10, warps: 16, reducers: 8, stages: 7, loads: 2, wave: 128,
        batch: 4,
    },
    WaveRow {
        element: 8, run: 1, tile: 32 << 10, warps: 16, reducers: 4, stages: 6, loads: 2, wave: 128,
        batch: 4,
    },
    WaveRow {
        element: 12, run: 1, tile: 48 << 10, warps: 8, reducers: 4, stages: 4, loads: 2, wave: 64,
        batch: 4,
    },
    WaveRow {
        element: 16, run: 1, tile: 32 << 10, warps: 8, reducers: 4, stages: 6, loads: 2, wave: 64,
        batch: 4,
    },
    WaveRow {
        element: 20, run: 1, tile: 40 << 10, warps: 4, reducers: 4, stages: 5, loads: 2, wave: 64,
        batch: 2,
    },
    WaveRow {
        element: 24, run: 1, tile: 48 << 10, warps: 8, reducers: 4, stages: 4, loads: 2, wave: 64,
        batch: 4,
    },
    WaveRow {
        element: 28, run: 1, tile: 56 << 10, warps: 4, reducers: 4, stages: 4, loads: 2, wave: 64,
        batch: 1,
    },
    WaveRow {
        element: 32, run: 2, tile: 32 << 10, warps: 4, reducers: 4, stages: 6, loads: 2, wave: 64,
        batch: 2,
    },
    WaveRow {
        element: 36, run: 1, tile: 36 << 10, warps: 4, reducers: 4, stages: 6, loads: 2, wave: 64,
        batch: 1,
    },
    WaveRow {
        element: 40, run: 4, tile: 40 << 10, warps: 8, reducers: 4, stages: 4, loads: 2, wave: 64,
        batch: 1,
    },
    WaveRow {
        element: 48, run: 4, tile: 48 << 10, warps: 8, reducers: 4, stages: 4, loads: 2, wave: 64,
        batch: 1,
    },
    WaveRow {
        element: 52, run: 4, tile: 64 << 10, warps: 4, reducers: 4, stages: 4, loads: 2, wave: 64,
        batch: 1,
    },
    WaveRow {
        element: 64, run: 4, tile: 64 << 10, warps: 4, reducers: 4, stages: 3, loads: 2, wave: 32,
        batch: 1,
    },
];
