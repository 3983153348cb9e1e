//! Compute capability 9.0.

use super::WaveRow;

pub(super) const WAVE: &[WaveRow] = &[
    WaveRow {
        element: 1,
        tile: 32 << 10,
        warps: 16,
        reducers: 4,
        stages: 7,
        loads: 2,
        wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 2,
        tile: 32 << 10,
        warps: 16,
        reducers: 4,
        stages: 7,
        loads: 2,
        wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 4,
        tile: 32 << 10,
        warps: 16,
        reducers: 4,
        stages: 7,
        loads: 2,
        wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 8,
        tile: 32 << 10,
        warps: 16,
        reducers: 4,
        stages: 6,
        loads: 2,
        wave: 128,
        batch: 2,
    },
    WaveRow {
        element: 16,
        tile: 32 << 10,
        warps: 8,
        reducers: 4,
        stages: 6,
        loads: 2,
        wave: 64,
        batch: 1,
    },
];
