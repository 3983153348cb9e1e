//! Compute capability 9.0. From `warpfold tune` on an NVIDIA H200 (NVRTC 13.0, scans of 1024 MiB),
//! as far as the benchmark confirmed it: eight reducers gave `u64` 1.4% more there, but cost
//! operators in the law's order 5%.

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
    // By hand, from sums of [f32; 3] and an operator with a division.
    WaveRow {
        element: 12,
        tile: 24 << 10,
        warps: 8,
        reducers: 8,
        stages: 5,
        loads: 2,
        wave: 128,
        batch: 1,
    },
    WaveRow {
        element: 16,
        tile: 32 << 10,
        warps: 16,
        reducers: 4,
        stages: 5,
        loads: 2,
        wave: 64,
        batch: 1,
    }, // [f32; 4]: 66% of a copy
];
