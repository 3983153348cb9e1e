//! Counts and searches on a GPU.

use super::{Gpu, View};
use crate::dtype::Number;
use candle_core::{CudaStorage, Result, Tensor};
use warpfold::cuda::{Histogram, Search};
use warpfold::source::Slice;
use warpfold::{Binned, Bins, Integer, Order};

impl Gpu {
    pub(crate) fn values<T: Integer>(
        &self,
        x: &View<'_, T>,
        bins: usize,
    ) -> Result<[CudaStorage; 1]> {
        let bins = Bins::<T>::values(bins).map_err(|error| self.fault(error))?;
        self.histogram(x, &bins)
    }

    pub(crate) fn histogram<T: Binned>(
        &self,
        x: &View<'_, T>,
        bins: &Bins<T>,
    ) -> Result<[CudaStorage; 1]> {
        let mut counts = self.zeros::<u64>(bins.count())?;
        if !x.is_empty() {
            let mut run = || {
                let histogram = Histogram::<u64, Slice<T>>::load(&self.stream, bins)?;
                histogram.enqueue(&self.stream, x, &mut counts)
            };
            run().map_err(|error| self.fault(error))?;
        }
        Ok([self.store_signed(counts)])
    }

    pub(crate) fn search<T: Number>(
        &self,
        sorted: &View<'_, T>,
        needles: &Tensor,
        right: bool,
        rows: usize,
    ) -> Result<[CudaStorage; 1]> {
        self.with::<T, _>(needles, |needles| {
            let mut places = self.allocate::<u64>(needles.len())?;
            let (each, of_each) = (sorted.len() / rows.max(1), needles.len() / rows.max(1));
            if of_each == 0 {
                return Ok([self.store_signed(places)]);
            }
            let search = self.kernels(Search::<T>::load)?;
            let (stream, order) = (&self.stream, Order::ascending());
            for row in 0..rows {
                let sorted = sorted.slice(row * each..(row + 1) * each);
                let of_row = row * of_each..(row + 1) * of_each;
                let needles = needles.slice(of_row.clone());
                let places = &mut places.slice_mut(of_row);
                let call = match right {
                    true => search.enqueue_upper_bound(stream, order, &sorted, &needles, places),
                    false => search.enqueue_lower_bound(stream, order, &sorted, &needles, places),
                };
                call.map_err(|error| self.fault(error))?;
            }
            Ok([self.store_signed(places)])
        })
    }
}
