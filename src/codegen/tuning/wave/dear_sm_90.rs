//! Scans by dearer operators, on compute capability 9.0, where these want other shapes than sums.
//! From tuning runs on an NVIDIA H200 (NVRTC 13.0), of merged means.

use super::WaveRow;

#[rustfmt::skip]
pub(super) const DEAR: &[WaveRow] = &[
    WaveRow { element: 12, tile: 48 << 10, warps: 16, reducers: 4, stages: 4, loads: 2, wave: 128, batch: 2 },
];
