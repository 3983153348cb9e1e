//! Scans on compute capability 9.0 by operators that want other shapes than sums.
//!
//! Measured: an NVIDIA H200, 2026-11-27, `warpfold tune` (NVRTC 13.0).

use super::WaveRow;

/// By costlier operators: the least cost of such an operator, and the shape, the costliest first.
/// Of saturating sums of signed bytes, of choices between two signed bytes by several conditions,
/// of merged means (12 bytes), of quaternions of `f64`, and of products of matrices (36 bytes).
#[rustfmt::skip]
pub(super) const SLOWEST: &[(u32, WaveRow)] = &[
    (5, WaveRow {
        element: 1, run: 1, tile: 32 << 10, warps: 16, reducers: 8, stages: 6, loads: 2, wave: 128,
        batch: 2,
    }),
    (3, WaveRow {
        element: 1, run: 1, tile: 32 << 10, warps: 8, reducers: 4, stages: 7, loads: 2, wave: 128,
        batch: 4,
    }),
    (20, WaveRow {
        element: 12, run: 1, tile: 48 << 10, warps: 16, reducers: 4, stages: 4, loads: 2, wave: 128,
        batch: 2,
    }),
    (17, WaveRow {
        element: 32, run: 4, tile: 32 << 10, warps: 8, reducers: 4, stages: 6, loads: 2, wave: 64,
        batch: 1,
    }),
    (17, WaveRow {
        element: 36, run: 4, tile: 36 << 10, warps: 8, reducers: 4, stages: 6, loads: 2, wave: 64,
        batch: 1,
    }),
];

/// By operators that do not commute. Lanes exchange more, so that tiles of many rows are faster. Of
/// maps, sums that start anew at flags, and sums that do not say that they commute.
#[rustfmt::skip]
pub(super) const ORDERED: &[WaveRow] = &[
    WaveRow {
        element: 32, run: 4, tile: 64 << 10, warps: 8, reducers: 4, stages: 3, loads: 2, wave: 64,
        batch: 1,
    },
    WaveRow {
        element: 36, run: 4, tile: 72 << 10, warps: 4, reducers: 4, stages: 3, loads: 2, wave: 64,
        batch: 1,
    },
    WaveRow {
        element: 44, run: 4, tile: 64 << 10, warps: 4, reducers: 4, stages: 4, loads: 2, wave: 64,
        batch: 1,
    },
    WaveRow {
        element: 48, run: 4, tile: 64 << 10, warps: 4, reducers: 4, stages: 4, loads: 2, wave: 64,
        batch: 1,
    },
];
