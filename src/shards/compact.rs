//! Select and its family over shards, and what evens out the lengths that they leave.

use super::communicator::{Call, number, unreadable};
use super::identity::{name_of, name_of_type};
use super::{Shard, Site};
use crate::cpu::memory::reserve;
use crate::source::ByReference;
use crate::source::{Feeds, Source, flagged};
use crate::{Element, Error, Function, Result, function, index, map_with, zip};
use std::ops::Range;

/// What a compaction gives a rank, and where that stands in the whole result: the results of all
/// ranks, one behind another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted<A> {
    /// What this rank has: a vector or a buffer.
    pub items: A,
    /// The number of items of the ranks before: the position of this rank's first one among all.
    pub start: u64,
    /// The number of items of all ranks.
    pub total: u64,
}

impl<A> Compacted<A> {
    /// Of a rank, where the numbers of all ranks' items are known.
    pub(super) fn new(items: A, rank: usize, counts: &[u64]) -> Compacted<A> {
        Compacted {
            items,
            start: counts[..rank].iter().sum(),
            total: counts.iter().sum(),
        }
    }
}

/// The bytes that a rank gives at a time where elements move.
const PIECE_BYTES: usize = 1 << 20;

/// # Select
///
/// Each rank keeps its results where they are, and learns where they stand in the whole: one
/// exchange. Costs and memory of a part are those of [the call of that name](crate::select()).
impl<P: Site> Shard<'_, P> {
    /// The items that the predicate `F` keeps, in their order; see [`select`](crate::select()).
    ///
    /// ```
    /// use warpfold::{function, shards::Communicator};
    ///
    /// #[function]
    /// fn even(x: u32) -> bool {
    ///     x % 2 == 0
    /// }
    ///
    /// # let alone = |mine: &[u8], all: &mut [u8]| {
    /// #     all.copy_from_slice(mine);
    /// #     Ok::<_, std::io::Error>(())
    /// # };
    /// let communicator = Communicator::new(0, 1, alone)?;
    /// let kept = communicator.shard(4)?.select::<u32, even>(&[3, 4, 1, 6])?;
    /// assert_eq!((kept.items, kept.start, kept.total), (vec![4, 6], 0, 2));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn select<T, F>(&self, source: impl Source<P, Item = T>) -> Result<Compacted<P::Array<T>>>
    where
        T: Element + Feeds<F::Input>,
        F: Function<Output = bool>,
    {
        let call = self.call("select").named(&name_of::<T, F>());
        self.select_with(call, flagged::<F, _>(source))
    }

    /// The first part of every pair whose second part is true; see
    /// [`select_flagged`](crate::select_flagged()).
    pub fn select_flagged<T: Element>(
        &self,
        source: impl Source<P, Item = (T, bool)>,
    ) -> Result<Compacted<P::Array<T>>> {
        let call = self.call("select_flagged").named(&name_of_type::<T>());
        self.select_with(call, source)
    }

    /// The positions in the whole of the flags that are set; see
    /// [`positions`](crate::positions()).
    pub fn positions(
        &self,
        flags: impl Source<P, Item = bool>,
    ) -> Result<Compacted<P::Array<u64>>> {
        let positions = index(self.len() as usize);
        let positions = map_with::<shifted, _, _>(positions, self.range().start);
        self.select_with(self.call("positions"), zip(positions, flags))
    }

    fn select_with<T: Element>(
        &self,
        call: Call,
        source: impl Source<P, Item = (T, bool)>,
    ) -> Result<Compacted<P::Array<T>>> {
        let kept = || {
            self.check(&source)?;
            P::select_flagged(&self.device, ByReference(&source))
        };
        let (kept, counts) = self.counted(call, kept(), |kept| Ok(vec![Self::count_of(kept)?]))?;
        let counts: Vec<_> = counts.iter().map(|counts| counts[0]).collect();
        Ok(Compacted::new(kept, self.communicator.rank(), &counts))
    }

    /// The items that the predicate `F` keeps, and the others; see
    /// [`partition`](crate::partition()). The others' positions are those among all others.
    #[allow(clippy::type_complexity)]
    pub fn partition<T, F>(
        &self,
        source: impl Source<P, Item = T>,
    ) -> Result<(Compacted<P::Array<T>>, Compacted<P::Array<T>>)>
    where
        T: Element + Feeds<F::Input>,
        F: Function<Output = bool>,
    {
        let call = self.call("partition").named(&name_of::<T, F>());
        self.partition_with(call, flagged::<F, _>(source))
    }

    /// The first part of every pair whose second part is true, and those of the other pairs; see
    /// [`partition_flagged`](crate::partition_flagged()).
    #[allow(clippy::type_complexity)]
    pub fn partition_flagged<T: Element>(
        &self,
        source: impl Source<P, Item = (T, bool)>,
    ) -> Result<(Compacted<P::Array<T>>, Compacted<P::Array<T>>)> {
        let call = self.call("partition_flagged").named(&name_of_type::<T>());
        self.partition_with(call, source)
    }

    #[allow(clippy::type_complexity)]
    fn partition_with<T: Element>(
        &self,
        call: Call,
        source: impl Source<P, Item = (T, bool)>,
    ) -> Result<(Compacted<P::Array<T>>, Compacted<P::Array<T>>)> {
        let both = || {
            self.check(&source)?;
            P::partition_flagged(&self.device, ByReference(&source))
        };
        let ((kept, others), counts) = self.counted(call, both(), |(kept, others)| {
            Ok(vec![Self::count_of(kept)?, Self::count_of(others)?])
        })?;
        let of = |side: usize| counts.iter().map(|counts| counts[side]).collect::<Vec<_>>();
        let rank = self.communicator.rank();
        Ok((
            Compacted::new(kept, rank, &of(0)),
            Compacted::new(others, rank, &of(1)),
        ))
    }

    /// What a rank has made, and numbers that say how much that is, of all ranks.
    fn counted<R>(
        &self,
        call: Call,
        own: Result<R>,
        count: impl Fn(&R) -> Result<Vec<u64>>,
    ) -> Result<(R, Vec<Vec<u64>>)> {
        let (own, counts) = match own.and_then(|own| Ok((count(&own)?, own))) {
            Ok((counts, own)) => (Some(own), Ok(bytemuck::pod_collect_to_vec(&counts))),
            Err(error) => (None, Err(error)),
        };
        let counts = self.communicator.gather(call, counts)?;
        let counts = counts.iter().map(|bytes| numbers(bytes));
        let counts = counts.collect::<Result<_>>()?;
        Ok((own.expect("its error would be one"), counts))
    }

    /// The number of elements of an array.
    pub(super) fn count_of<T: Element>(array: &P::Array<T>) -> Result<u64> {
        Ok(P::source(P::slice(array)).items()? as u64)
    }

    /// Moves elements to shards of even lengths, as
    /// [`even_shard`](super::Communicator::even_shard) has them: after a select, a shard of what
    /// each rank has kept, say.
    ///
    /// ```
    /// # let alone = |mine: &[u8], all: &mut [u8]| {
    /// #     all.copy_from_slice(mine);
    /// #     Ok::<_, std::io::Error>(())
    /// # };
    /// # let communicator = warpfold::shards::Communicator::new(0, 1, alone)?;
    /// # let kept = communicator.shard(0)?.select_flagged::<u32>(warpfold::zip(&[], warpfold::bools(&[])))?;
    /// let even = communicator.shard(kept.items.len())?.rebalance(&kept.items)?;
    /// let shard = communicator.even_shard(kept.total)?;
    /// assert_eq!(even.items.len() as u64, shard.range().end - shard.range().start);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// The exchange has no operation that sends to one rank alone. So every rank gets everything, a
    /// MiB of each rank at a time, and keeps what is its own. Memory: the result, and a MiB for
    /// each rank. Elements on a device go through host memory.
    pub fn rebalance<T: Element>(
        &self,
        source: impl Source<P, Item = T>,
    ) -> Result<Compacted<P::Array<T>>> {
        let items = || {
            self.check(&source)?;
            P::collect(&self.device, ByReference(&source)).and_then(P::to_vec)
        };
        let items = items();
        let even = self.communicator.even_shard(self.total())?.range();
        // If it has no room for its result, this rank still takes part: its error is one of all.
        let kept = reserve(length(even.clone()) as usize);
        let own = items
            .as_ref()
            .and_then(|items| kept.as_ref().map(|_| items))
            .map_err(Error::clone);
        let call = || self.call("rebalance").named(&name_of_type::<T>());
        let piece = (PIECE_BYTES / size_of::<T>()) as u64;
        let of_rank = |rank: usize| self.range_of(rank);
        let longest = (0..self.communicator.ranks()).map(|rank| length(of_rank(rank)));
        let pieces = longest.max().unwrap_or(0).div_ceil(piece).max(1);
        let mut parts: Vec<Vec<T>> = vec![Vec::new(); self.communicator.ranks()];
        for number in 0..pieces {
            let within = |range: Range<u64>| {
                let start = (range.start + number * piece).min(range.end);
                start..(start + piece).min(range.end)
            };
            let mine = within(self.range());
            let at = |position: u64| (position - self.range().start) as usize;
            let bytes = own.clone().map(|own| {
                bytemuck::cast_slice::<T, u8>(&own[at(mine.start)..at(mine.end)]).to_vec()
            });
            let payloads = self.communicator.gather(call(), bytes)?;
            for (rank, (part, payload)) in parts.iter_mut().zip(payloads).enumerate() {
                let there = within(of_rank(rank));
                if payload.len() as u64 != length(there.clone()) * size_of::<T>() as u64 {
                    return Err(unreadable());
                }
                let wanted = there.start.max(even.start)..there.end.min(even.end);
                if wanted.start < wanted.end {
                    let at = |position: u64| (position - there.start) as usize * size_of::<T>();
                    let bytes = &payload[at(wanted.start)..at(wanted.end)];
                    part.extend(bytemuck::pod_collect_to_vec::<u8, T>(bytes));
                }
            }
        }
        let mut kept = kept?;
        parts.into_iter().for_each(|part| kept.extend(part));
        Ok(Compacted {
            items: P::of_vec(&self.device, kept)?,
            start: even.start,
            total: self.total(),
        })
    }
}

fn length(range: Range<u64>) -> u64 {
    range.end - range.start
}

/// The numbers of a payload.
pub(super) fn numbers(payload: &[u8]) -> Result<Vec<u64>> {
    payload.chunks(8).map(number).collect()
}

#[function]
pub(super) fn shifted(position: u64, by: u64) -> u64 {
    position + by
}
