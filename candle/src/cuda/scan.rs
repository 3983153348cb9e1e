//! Prefixes of lanes on a GPU.

use super::{DeviceRepr, Gpu};
use candle_core::Result;
use warpfold::cuda::AlongAxis;
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream};
use warpfold::source::Source;
use warpfold::{Axis, Element, Monoid, Prefixes};

impl Gpu {
    pub(crate) fn scan<T, Op, S>(
        &self,
        prefixes: Prefixes<T>,
        source: S,
        axis: Axis,
    ) -> Result<CudaSlice<T>>
    where
        T: Element + DeviceRepr,
        Op: Monoid<T>,
        S: Source<CudaStream, Item = T>,
    {
        let mut results = self.allocate::<T>(axis.items())?;
        if axis.items() > 0 {
            let along = self.kernels(AlongAxis::<T, Op, S::Form>::load)?;
            self.with_workspace(along.workspace_bytes(axis), |workspace| {
                along.enqueue_scan(
                    &self.stream,
                    prefixes,
                    source,
                    axis,
                    &mut results,
                    workspace,
                )
            })?;
        }
        Ok(results)
    }
}
