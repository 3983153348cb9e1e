//! Scans by dearer operators, on compute capability 9.0, where these want other shapes than sums:
//! the least cost of such an operator, and the shape; the costliest come first. From tuning runs on
//! an NVIDIA H200 (NVRTC 13.0), of saturating sums of signed bytes, of choices between two signed
//! bytes by several conditions, and of merged means (12 bytes).

use super::WaveRow;

#[rustfmt::skip]
pub(super) const DEAR: &[(u32, WaveRow)] = &[
    (5, WaveRow {
        element: 1, tile: 32 << 10, warps: 16, reducers: 8, stages: 6, loads: 2, wave: 128,
        batch: 2,
    }),
    (3, WaveRow {
        element: 1, tile: 32 << 10, warps: 8, reducers: 4, stages: 7, loads: 2, wave: 128, batch: 4,
    }),
    (20, WaveRow {
        element: 12, tile: 48 << 10, warps: 16, reducers: 4, stages: 4, loads: 2, wave: 128,
        batch: 2,
    }),
];
