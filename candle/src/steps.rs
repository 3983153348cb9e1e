//! What operations of several steps are made of, on the host and on a GPU: so they are written
//! once.

use crate::dtype::{Stored, fault};
use candle_core::Result;
use warpfold::source::{self, Place, Slice, Source};
use warpfold::{Axis, Candidate, Monoid, Order, Prefixes, Rows, Sortable};

/// The primitives at one place, and the arrays that they give.
pub(crate) trait Steps {
    /// Where sources lie.
    type Place: Place;

    /// The results of a step.
    type Array<T: Stored>;

    /// An error of the operation.
    fn fault(&self, cause: impl std::fmt::Display) -> candle_core::Error;

    /// An array as a source.
    fn read<T: Stored>(
        array: &Self::Array<T>,
    ) -> impl Source<Self::Place, Item = T, Form = Slice<T>> + Copy;

    /// The items of a source.
    fn collect<T: Stored, S>(&self, source: S) -> Result<Self::Array<T>>
    where
        S: Source<Self::Place, Item = T>;

    /// The inclusive prefixes of each lane.
    fn prefixes<T: Stored, Op: Monoid<T>, S>(
        &self,
        source: S,
        axis: Axis,
    ) -> Result<Self::Array<T>>
    where
        S: Source<Self::Place, Item = T>;

    /// The fold of each lane.
    fn fold<T: Stored, Op: Monoid<T>, S>(&self, source: S, axis: Axis) -> Result<Self::Array<T>>
    where
        S: Source<Self::Place, Item = T>;

    /// The `k` greatest of each of some rows of `len` items, NaN behind all numbers, and where each
    /// stands in its row.
    fn greatest<T, S>(
        &self,
        source: S,
        rows: (usize, usize),
        k: usize,
    ) -> Result<(Self::Array<T>, Self::Array<u64>)>
    where
        T: Stored + Sortable + Candidate<Key = T>,
        S: Source<Self::Place, Item = T, Form = Slice<T>>;

    /// The lanes of a matrix along its rows.
    fn rows(&self, rows: usize, len: usize) -> Result<Axis> {
        Axis::new(rows, len, 1).map_err(|error| self.fault(error))
    }
}

/// The order of [`Steps::greatest`].
pub(crate) const GREATEST: Order = Order::descending().nan_last();

/// Host memory, and the CPU.
pub(crate) struct Host {
    pub name: &'static str,
}

impl Steps for Host {
    type Place = source::Host;
    type Array<T: Stored> = Vec<T>;

    fn fault(&self, cause: impl std::fmt::Display) -> candle_core::Error {
        fault(self.name, cause)
    }

    fn read<T: Stored>(
        array: &Vec<T>,
    ) -> impl Source<source::Host, Item = T, Form = Slice<T>> + Copy {
        &array[..]
    }

    fn collect<T: Stored, S: Source<Item = T>>(&self, source: S) -> Result<Vec<T>> {
        warpfold::collect(source).map_err(|error| self.fault(error))
    }

    fn prefixes<T: Stored, Op: Monoid<T>, S: Source<Item = T>>(
        &self,
        source: S,
        axis: Axis,
    ) -> Result<Vec<T>> {
        let prefixes = warpfold::scan_axis::<T, Op>(Prefixes::inclusive(), source, axis);
        prefixes.map_err(|error| self.fault(error))
    }

    fn fold<T: Stored, Op: Monoid<T>, S: Source<Item = T>>(
        &self,
        source: S,
        axis: Axis,
    ) -> Result<Vec<T>> {
        warpfold::reduce_axis::<T, Op>(source, axis).map_err(|error| self.fault(error))
    }

    fn greatest<T, S>(
        &self,
        source: S,
        (rows, len): (usize, usize),
        k: usize,
    ) -> Result<(Vec<T>, Vec<u64>)>
    where
        T: Stored + Sortable + Candidate<Key = T>,
        S: Source<Item = T, Form = Slice<T>>,
    {
        let greatest = warpfold::top_k_rows::<T>(source, Rows::new(rows, len), k, GREATEST);
        greatest.map_err(|error| self.fault(error))
    }
}
