//! Rows that are added to others by number, on a GPU.

use super::{DeviceRepr, Gpu, View};
use crate::dtype::Number;
use crate::functions::{flat, next, widened};
use candle_core::{CudaStorage, DType, Result, Tensor};
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream};
use warpfold::{
    Indices, Offset, Offsets, Order, SortKey, Sortable, Starts, gather, gather_rows, index, map,
    map_with, zip,
};

impl Gpu {
    pub(crate) fn sums_by_number<T: Number>(
        &self,
        x: &View<'_, T>,
        ids: &Tensor,
        extent: (usize, usize),
    ) -> Result<[CudaStorage; 1]> {
        let sums = match ids.dtype() {
            DType::U32 => self.with::<u32, _>(ids, |ids| self.sums(x, ids, extent)),
            _ => self.with::<i64, _>(ids, |ids| {
                self.sums(x, &self.cast::<i64, u64>(ids)?, extent)
            }),
        };
        Ok([self.store(sums?)])
    }

    /// Rows are put in the order of their numbers. A negative number is a very large one.
    fn sums<T: Number, I>(
        &self,
        x: &View<'_, T>,
        ids: &View<'_, I>,
        (count, inner): (usize, usize),
    ) -> Result<CudaSlice<T>>
    where
        I: SortKey + Sortable + Offset + warpfold::IndexNumber + DeviceRepr,
    {
        let mut places = self.allocate::<u64>(ids.len())?;
        let mut offsets = self.zeros::<u64>(count + 1)?;
        if !ids.is_empty() && count > 0 {
            self.argsort_into(ids, Order::ascending(), &mut places)?;
            let sorted = self.collect(gather(ids, Indices::unchecked(&places)))?;
            let starts = Starts::unchecked::<CudaStream, I>(&sorted);
            let starts = starts.map_err(|error| self.fault(error))?;
            let numbers = map::<next, _>(index(ids.len()));
            self.expand(numbers, starts, 0, &mut offsets.slice_mut(1..))?;
        }
        let rows = gather_rows(x, inner.max(1), Indices::unchecked(&places));
        let segments = Offsets::unchecked::<CudaStream, u64>(&offsets);
        let segments = segments.map_err(|error| self.fault(error))?;
        // Nothing is added to −0 without a trace, and a sum that starts with it is as without it.
        let zero = Some(T::from_f64(-0.0));
        self.vectors::<T, T::Add, _, _>(zero, rows, segments, (count, inner))
    }

    pub(crate) fn flat_places<T: Number>(
        &self,
        indices: &View<'_, T>,
        (len, rows): (usize, usize),
        inner: usize,
    ) -> Result<[CudaStorage; 1]> {
        let numbers = index(indices.len());
        let shape = [
            len as u64,
            (rows * inner).max(1) as u64,
            inner.max(1) as u64,
        ];
        let places = match T::DTYPE {
            DType::U32 => {
                let indices = self.cast::<T, u32>(indices)?;
                let indices = zip(numbers, map::<widened, _>(&indices));
                self.collect(map_with::<flat, _, _>(indices, shape))?
            }
            _ => {
                let indices = self.cast::<T, u64>(indices)?;
                self.collect(map_with::<flat, _, _>(zip(numbers, &indices), shape))?
            }
        };
        Ok([self.store_signed(places)])
    }
}
