//! Statistics over shards: reductions, as everywhere, by the ones of the whole.

use super::{Shard, Site};
use crate::source::Source;
use crate::statistics::{
    Estimate, First, Moments, Number, On, Place as Rank, all_on, any_on, count_on, max_on, mean_on,
    min_max_on, min_on, moments_on, place, sum_on,
};
use crate::{Element, Function, Monoid, Result, function, index, map, map_with, zip};
use std::ops::ControlFlow;

/// What reduces the parts of all ranks.
impl<P: Site> On<P> for Shard<'_, P> {
    fn whole(&self, _: usize) -> usize {
        self.total() as usize
    }

    fn reduce<T: Element, Op: Monoid<T>>(&self, input: impl Source<P, Item = T>) -> Result<T> {
        Shard::reduce::<T, Op>(self, input)
    }

    /// Other ranks must do the same, so each takes the way of reductions.
    fn on_cpu<T: Element, S: Source<P, Item = T>, R>(
        &self,
        input: S,
        _: impl FnOnce(&crate::source::Items<'_, T>) -> R,
    ) -> Result<ControlFlow<R, S>> {
        Ok(ControlFlow::Continue(input))
    }
}

/// # Statistics
///
/// Each has the bits of the function of its name over everything, on every rank. It is one
/// reduction, or two or three where [those](crate::statistics) take as many.
impl<P: Site> Shard<'_, P> {
    /// The sum, added up in 64 bits; see [`sum`](crate::sum()).
    pub fn sum<T: Number>(&self, input: impl Source<P, Item = T>) -> Result<T::Sum> {
        sum_on(self, self.checked(input)?)
    }

    /// The least number; see [`min`](crate::min()).
    pub fn min<T: Number>(&self, input: impl Source<P, Item = T>) -> Result<Option<T>> {
        min_on(self, self.checked(input)?)
    }

    /// The greatest number; see [`max`](crate::max()).
    pub fn max<T: Number>(&self, input: impl Source<P, Item = T>) -> Result<Option<T>> {
        max_on(self, self.checked(input)?)
    }

    /// The least and the greatest number; see [`min_max`](crate::min_max()).
    pub fn min_max<T: Number>(&self, input: impl Source<P, Item = T>) -> Result<Option<(T, T)>> {
        min_max_on(self, self.checked(input)?)
    }

    /// The position of the least number in the whole; see [`arg_min`](crate::arg_min()).
    pub fn arg_min<T: Number>(&self, input: impl Source<P, Item = T>) -> Result<Option<u64>> {
        self.first::<T, T::RankUp>(input)
    }

    /// The position of the greatest number in the whole; see [`arg_max`](crate::arg_max()).
    pub fn arg_max<T: Number>(&self, input: impl Source<P, Item = T>) -> Result<Option<u64>> {
        self.first::<T, T::RankDown>(input)
    }

    /// The position of the first number of the least rank.
    fn first<T: Number, Rank: Function<Input = (T,), Output = u64>>(
        &self,
        input: impl Source<P, Item = T>,
    ) -> Result<Option<u64>> {
        let ranks = zip(
            map::<Rank, _>(self.checked(input)?),
            index(self.len() as usize),
        );
        let places = map_with::<place_after, _, _>(ranks, self.range().start);
        let first = self.reduce::<self::Rank, First>(places)?;
        Ok((self.total() > 0).then_some(first.position()))
    }

    /// The mean; see [`mean`](crate::mean()).
    pub fn mean<T: Number>(&self, input: impl Source<P, Item = T>) -> Result<f64> {
        mean_on(self, self.checked(input)?)
    }

    /// The variance; see [`variance`](crate::variance()).
    pub fn variance<T: Number>(
        &self,
        input: impl Source<P, Item = T>,
        estimate: Estimate,
    ) -> Result<f64> {
        Ok(self.moments(input)?.variance(estimate))
    }

    /// The standard deviation; see [`std_dev`](crate::std_dev()).
    pub fn std_dev<T: Number>(
        &self,
        input: impl Source<P, Item = T>,
        estimate: Estimate,
    ) -> Result<f64> {
        Ok(self.moments(input)?.std_dev(estimate))
    }

    /// Count, sum, mean and variance at once; see [`moments`](crate::moments()).
    pub fn moments<T: Number>(&self, input: impl Source<P, Item = T>) -> Result<Moments> {
        moments_on(self, self.checked(input)?)
    }

    /// How many flags are set; see [`count`](crate::count()).
    pub fn count(&self, flags: impl Source<P, Item = bool>) -> Result<u64> {
        Ok(count_on(self, self.checked(flags)?)? as u64)
    }

    /// Whether some flag is set; see [`any`](crate::any()).
    pub fn any(&self, flags: impl Source<P, Item = bool>) -> Result<bool> {
        any_on(self, self.checked(flags)?)
    }

    /// Whether every flag is set; see [`all`](crate::all()).
    pub fn all(&self, flags: impl Source<P, Item = bool>) -> Result<bool> {
        all_on(self, self.checked(flags)?)
    }
}

/// A rank with its position in the whole.
#[function]
fn place_after(rank: u64, position: u64, start: u64) -> Rank {
    place(rank, start + position)
}
