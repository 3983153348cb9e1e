//! Folds of lanes on a GPU: sums, moments, and where extremes stand.

use super::{DeviceRepr, Gpu, View};
use crate::dtype::Number;
use crate::functions::{
    careful_mean, chosen_variance, quotient, rounded, row_of_packed, row_of_place,
};
use crate::reduce::Measure;
use candle_core::{CudaStorage, DType, Result};
use warpfold::cuda::AlongAxis;
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream};
use warpfold::ops::{Add, Min};
use warpfold::source::Source;
use warpfold::statistics::{
    Estimate, First, Merge, Moments, Place, QuickMerge, QuickMoments, greatest, greatest_packed,
    least, least_packed, measured, quickly_measured,
};
use warpfold::{Axis, Element, Monoid, map, map_with, zip};

impl Gpu {
    pub(crate) fn reduce<T, Op, S>(&self, source: S, axis: Axis) -> Result<CudaSlice<T>>
    where
        T: Element + DeviceRepr,
        Op: Monoid<T>,
        S: Source<CudaStream, Item = T>,
    {
        let mut results = self.allocate::<T>(axis.lanes())?;
        if axis.lanes() > 0 {
            let along = self.kernels(AlongAxis::<T, Op, S::Form>::load)?;
            self.with_workspace(along.workspace_bytes(axis), |workspace| {
                along.enqueue_reduce(&self.stream, source, axis, &mut results, workspace)
            })?;
        }
        Ok(results)
    }

    pub(crate) fn measures<T: Number>(
        &self,
        x: &View<'_, T>,
        axis: Axis,
        measure: Measure,
    ) -> Result<[CudaStorage; 1]> {
        let len = axis.lane_len() as f64;
        let measures = match measure {
            Measure::Mean if T::DTYPE != DType::F64 => {
                let sums = self.reduce::<f64, Add, _>(map::<T::AsF64, _>(x), axis)?;
                self.collect(map_with::<quotient, _, _>(&sums, len))?
            }
            Measure::Mean => {
                let careful = self.reduce::<Moments, Merge, _>(measured::<T, _>(x), axis)?;
                // SAFETY: these are six `f64`s in a row.
                let careful = unsafe { careful.transmute::<[f64; 6]>(axis.lanes()) };
                self.collect(map::<careful_mean, _>(&careful.expect("of one size")))?
            }
            Measure::Variance(estimate) => {
                let quick = quickly_measured::<T, _>(x);
                let quick = self.reduce::<QuickMoments, QuickMerge, _>(quick, axis)?;
                let careful = self.reduce::<Moments, Merge, _>(measured::<T, _>(x), axis)?;
                // SAFETY: these are three, and six, `f64`s in a row.
                let both = unsafe {
                    let quick = quick.transmute::<[f64; 3]>(axis.lanes());
                    (
                        quick.expect("of one size"),
                        careful.transmute::<[f64; 6]>(axis.lanes()),
                    )
                };
                let both = zip(&both.0, both.1.as_ref().expect("of one size"));
                let divisor = len - f64::from(estimate.ddof());
                self.collect(map_with::<chosen_variance, _, _>(both, divisor))?
            }
        };
        Ok([match crate::reduce::in_f64(T::DTYPE) {
            true => self.store(measures),
            false => self.store(self.collect(map::<rounded, _>(&measures))?),
        }])
    }

    /// Where extremes stand along lanes whose items are `strides` apart.
    pub(crate) fn places<T: Number>(
        &self,
        x: &View<'_, T>,
        (axis, strides): (Axis, [u64; 2]),
        top: bool,
    ) -> Result<[CudaStorage; 1]> {
        let len = x.len();
        let packed = match top {
            true => greatest_packed::<T, _>(x, len).map(|x| self.reduce::<u64, Min, _>(x, axis)),
            false => least_packed::<T, _>(x, len).map(|x| self.reduce::<u64, Min, _>(x, axis)),
        };
        let places = match packed {
            Some(packed) => self.collect(map_with::<row_of_packed, _, _>(&packed?, strides))?,
            None => {
                let places = match top {
                    true => self.reduce::<Place, First, _>(greatest::<T, _>(x, len), axis)?,
                    false => self.reduce::<Place, First, _>(least::<T, _>(x, len), axis)?,
                };
                // SAFETY: a place is a rank of two halves, and a position behind it.
                let places = unsafe { places.transmute::<[u64; 2]>(axis.lanes()) };
                let places = places.expect("of one size");
                self.collect(map_with::<row_of_place, _, _>(&places, strides))?
            }
        };
        Ok([self.store(places)])
    }
}
