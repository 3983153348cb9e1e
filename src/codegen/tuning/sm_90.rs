//! Compute capability 9.0. Found by `warpfold tune` on NVIDIA H200: NVRTC 13.0, scans of 1024 MiB.

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
    }, // u8: 87% of a copy
    WaveRow {
        element: 2,
        tile: 32 << 10,
        warps: 16,
        reducers: 8,
        stages: 7,
        loads: 2,
        wave: 128,
        batch: 2,
    }, // f16: 96% of a copy
    WaveRow {
        element: 4,
        tile: 32 << 10,
        warps: 16,
        reducers: 8,
        stages: 7,
        loads: 2,
        wave: 128,
        batch: 2,
    }, // f32: 96% of a copy
    WaveRow {
        element: 8,
        tile: 32 << 10,
        warps: 16,
        reducers: 8,
        stages: 6,
        loads: 2,
        wave: 128,
        batch: 2,
    }, // u64: 95% of a copy
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
