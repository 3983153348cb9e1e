//! Sorts and selections of the best on a GPU.

use super::{Gpu, View};
use crate::dtype::{Number, Stored};
use crate::functions::narrowed;
use candle_core::{CudaStorage, Result};
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream};
use warpfold::cuda::{ArgSort, SegmentedSort, TopK};
use warpfold::source::{Slice, Source};
use warpfold::{Candidate, Order, Rows, Sortable, map};

impl Gpu {
    pub(crate) fn argsort<T: Number>(
        &self,
        x: &View<'_, T>,
        rows: (usize, usize),
        order: Order,
    ) -> Result<[CudaStorage; 1]> {
        let mut places = self.allocate::<u64>(x.len())?;
        if !x.is_empty() && rows.0 == 1 {
            self.argsort_into(x, order, &mut places)?;
        } else if !x.is_empty() {
            let mut sorted = self.allocate::<T>(x.len())?;
            self.device.memcpy_dtod(x, &mut sorted)?;
            let sort = self.kernels(SegmentedSort::<T, Rows>::load)?;
            let rows = Rows::new(rows.0, rows.1);
            self.with_workspace(sort.workspace_bytes(x.len()), |workspace| {
                let (stream, places) = (&self.stream, &mut places);
                sort.enqueue_with_places(stream, order, &mut sorted, rows, places, workspace)
            })?;
        }
        Ok([self.store(self.collect(map::<narrowed, _>(&places))?)])
    }

    pub(super) fn argsort_into<K: Sortable>(
        &self,
        x: &View<'_, K>,
        order: Order,
        places: &mut CudaSlice<u64>,
    ) -> Result<()> {
        let sort = self.kernels(ArgSort::<K>::load)?;
        self.with_workspace(sort.workspace_bytes(x.len()), |workspace| {
            sort.enqueue(&self.stream, order, x, places, workspace)
        })
    }

    /// The `k` best of each row, and where they stand.
    pub(super) fn best_of<T, S>(
        &self,
        x: S,
        (rows, len): (usize, usize),
        k: usize,
        top: bool,
        order: Order,
    ) -> Result<(CudaSlice<T>, CudaSlice<u64>)>
    where
        T: Stored + Sortable + Candidate<Key = T>,
        S: Source<CudaStream, Item = T, Form = Slice<T>>,
    {
        let mut values = self.allocate::<T>(rows * k)?;
        let mut places = self.allocate::<u64>(rows * k)?;
        if rows * k > 0 {
            let kernels = self.kernels(TopK::<Slice<T>>::load)?;
            let bytes = kernels.workspace_bytes_of_rows(rows, len, k);
            let rows = Rows::new(rows, len);
            self.with_workspace(bytes, |workspace| {
                let (stream, outputs) = (&self.stream, (&mut values, &mut places));
                match top {
                    true => kernels.enqueue_top_rows(stream, order, x, rows, k, outputs, workspace),
                    false => {
                        kernels.enqueue_bottom_rows(stream, order, x, rows, k, outputs, workspace)
                    }
                }
            })?;
        }
        Ok((values, places))
    }

    pub(crate) fn best<T: Number>(
        &self,
        x: &View<'_, T>,
        rows: (usize, usize),
        k: usize,
        top: bool,
        order: Order,
    ) -> Result<[CudaStorage; 2]> {
        let (values, places) = self.best_of(x, rows, k, top, order)?;
        let places = self.collect(map::<narrowed, _>(&places))?;
        Ok([self.store(values), self.store(places)])
    }
}
