//! Folds of segments on a GPU.

use super::{Gpu, View};
use crate::dtype::Number;
use crate::functions::{at_most, bound_of, mean_of_segment, rounded, widened};
use crate::reduce::in_f64;
use crate::segments::Fold;
use candle_core::{CudaStorage, DType, Result, Tensor};
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream, CudaViewMut};
use warpfold::cuda::{Expand, SegmentedReduce, SegmentedReduceVectors};
use warpfold::ops::Add;
use warpfold::source::Source;
use warpfold::{Indices, Monoid, Offset, Offsets, Segments, gather, index, map, map_with, zip3};

impl Gpu {
    /// For each item the value of its segment.
    pub(super) fn expand<S, G>(
        &self,
        values: S,
        segments: G,
        none: u64,
        output: &mut CudaViewMut<'_, u64>,
    ) -> Result<()>
    where
        S: Source<CudaStream, Item = u64>,
        G: Segments<CudaStream>,
    {
        let expand = self.kernels(Expand::<u64, S::Form, G::Cut>::load)?;
        let call = expand.enqueue(&self.stream, values, segments, none, output);
        call.map_err(|error| self.fault(error))
    }

    pub(crate) fn segments<T: Number>(
        &self,
        x: &View<'_, T>,
        offsets: &Tensor,
        extent: (usize, usize),
        fold: Fold,
    ) -> Result<[CudaStorage; 1]> {
        match (offsets.dtype(), fold) {
            (DType::U32, Fold::Mean) => self.with::<u32, _>(offsets, |offsets| {
                let offsets = self.collect(map::<widened, _>(offsets))?;
                self.means_of_segments(x, &offsets.as_view(), extent)
            }),
            (_, Fold::Mean) => self.with::<i64, _>(offsets, |offsets| {
                self.means_of_segments(x, &self.cast::<i64, u64>(offsets)?, extent)
            }),
            (DType::U32, _) => self.with::<u32, _>(offsets, |offsets| {
                self.fold_segments(x, offsets, extent, fold)
            }),
            _ => self.with::<i64, _>(offsets, |offsets| {
                self.fold_segments(x, &self.cast::<i64, u64>(offsets)?, extent, fold)
            }),
        }
    }

    fn fold_segments<T: Number, I: Offset>(
        &self,
        x: &View<'_, T>,
        offsets: &View<'_, I>,
        extent: (usize, usize),
        fold: Fold,
    ) -> Result<[CudaStorage; 1]> {
        let segments = Offsets::unchecked::<CudaStream, I>(offsets);
        let segments = segments.map_err(|error| self.fault(error))?;
        let folds = match fold {
            Fold::Sum => self.vectors::<T, T::Add, _, _>(None, x, segments, extent),
            Fold::Prod => self.vectors::<T, T::Times, _, _>(None, x, segments, extent),
            Fold::Max => self.vectors::<T, T::Greatest, _, _>(None, x, segments, extent),
            Fold::Min => self.vectors::<T, T::Least, _, _>(None, x, segments, extent),
            Fold::Mean => return Err(self.fault("means have sums of another type")),
        };
        Ok([self.store(folds?)])
    }

    fn means_of_segments<T: Number>(
        &self,
        x: &View<'_, T>,
        offsets: &View<'_, u64>,
        (count, inner): (usize, usize),
    ) -> Result<[CudaStorage; 1]> {
        let segments = Offsets::unchecked::<CudaStream, u64>(offsets);
        let segments = segments.map_err(|error| self.fault(error))?;
        let wide = map::<T::AsF64, _>(x);
        let sums = self.vectors::<f64, Add, _, _>(None, wide, segments, (count, inner))?;
        let inner = inner.max(1) as u64;
        let rows = x.len() as u64 / inner;
        // Offsets beyond the last row count as its end.
        let bound = |next: u64| {
            let numbers = map_with::<bound_of, _, _>(index(sums.len()), [inner, next]);
            map_with::<at_most, _, _>(gather(offsets, Indices::unchecked(numbers)), rows)
        };
        let means = map::<mean_of_segment, _>(zip3(&sums, bound(0), bound(1)));
        let means = self.collect(means)?;
        Ok([match in_f64(T::DTYPE) {
            true => self.store(means),
            false => self.store(self.collect(map::<rounded, _>(&means))?),
        }])
    }

    /// The folds of segments of rows. Those of single numbers are cut where they are long.
    pub(super) fn vectors<T, Op, S, G>(
        &self,
        init: Option<T>,
        source: S,
        segments: G,
        (count, inner): (usize, usize),
    ) -> Result<CudaSlice<T>>
    where
        T: Number,
        Op: Monoid<T>,
        S: Source<CudaStream, Item = T>,
        G: Segments<CudaStream>,
    {
        let mut folds = self.allocate::<T>(count * inner)?;
        if count * inner == 0 {
            return Ok(folds);
        }
        let stream = &self.stream;
        if inner == 1 {
            let reduce = self.kernels(SegmentedReduce::<T, Op, S::Form, G::Cut>::load)?;
            let len = source.items().map_err(|error| self.fault(error))?;
            self.with_workspace(reduce.workspace_bytes(len), |workspace| match init {
                Some(init) => {
                    reduce.enqueue_from(stream, init, source, segments, &mut folds, workspace)
                }
                None => reduce.enqueue(stream, source, segments, &mut folds, workspace),
            })?;
            return Ok(folds);
        }
        let reduce = self.kernels(SegmentedReduceVectors::<T, Op, S::Form, G::Cut>::load)?;
        let call = match init {
            Some(init) => reduce.enqueue_from(stream, init, source, inner, segments, &mut folds),
            None => reduce.enqueue(stream, source, inner, segments, &mut folds),
        };
        call.map_err(|error| self.fault(error))?;
        Ok(folds)
    }

    /// The segment that each item belongs to, and the number of segments for those of none.
    pub(crate) fn segment_ids<T: Number>(
        &self,
        offsets: &View<'_, T>,
        items: usize,
    ) -> Result<[CudaStorage; 1]> {
        let mut ids = self.allocate::<u64>(items)?;
        if items > 0 {
            match T::DTYPE {
                DType::U32 => self.ids(&self.cast::<T, u32>(offsets)?, &mut ids)?,
                _ => self.ids(&self.cast::<T, u64>(offsets)?, &mut ids)?,
            }
        }
        Ok([self.store_signed(ids)])
    }

    fn ids<I: Offset>(&self, offsets: &View<'_, I>, ids: &mut CudaSlice<u64>) -> Result<()> {
        let segments = Offsets::unchecked::<CudaStream, I>(offsets);
        let segments = segments.map_err(|error| self.fault(error))?;
        let count = offsets.len() - 1;
        self.expand(index(count), segments, count as u64, &mut ids.slice_mut(..))
    }
}
