//! One array over several ranks: threads, processes, hosts. The bits do not depend on how many.
//!
//! Rank r holds the shard `[a_r, b_r)` of an array, of any length, also none. Ranks do not exchange
//! sums, but [nodes](Nodes) of [the law](crate#the-law)'s tree, at most 2·log₂ n each, and every
//! rank folds them in the tree's order. So the result has the bits of one call over everything,
//! for any monoid, floats included, wherever shards end.
//!
//! ```
//! use std::time::Duration;
//! use warpfold::shards::{Communicator, Threads};
//! use warpfold::{Prefixes, inclusive_scan, ops::Add};
//!
//! let data: Vec<f32> = (0..1000).map(|i| (i as f32).sqrt()).collect();
//! let expected = inclusive_scan::<f32, Add>(&data)?;
//! // Three ranks, with 500, none, and 500 elements.
//! let parts = [&data[..500], &data[500..500], &data[500..]];
//! let prefixes = std::thread::scope(|scope| {
//!     let ranks = Threads::group(3, Duration::from_secs(60)).into_iter().enumerate();
//!     let ranks: Vec<_> = ranks
//!         .map(|(rank, exchange)| {
//!             scope.spawn(move || {
//!                 let communicator = Communicator::new(rank, 3, exchange)?;
//!                 let shard = communicator.shard(parts[rank].len())?;
//!                 shard.scan::<f32, Add>(Prefixes::inclusive(), parts[rank])
//!             })
//!         })
//!         .collect();
//!     let results = ranks.into_iter().map(|rank| rank.join().unwrap());
//!     results.collect::<Result<Vec<_>, warpfold::Error>>()
//! })?;
//! assert_eq!(prefixes.concat(), expected);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! | | |
//! |---|---|
//! | [`Communicator`] | one rank: it makes shards, and checks that all ranks do the same |
//! | [`Exchange`] | what carries packets: one operation, which MPI, NCCL and sockets have |
//! | [`Threads`] | the exchange between threads of one process |
//! | `Peers` | the exchange between GPUs of one process, without a library |
//! | `Nccl` | the exchange between GPUs of any process and host, through NVIDIA's NCCL |
//! | [`Shard`] | this rank's part of an array, and the calls over the whole |
//! | [`Compacted`] | what a select gives a rank, and where that stands among everything selected |
//! | [`Group`] | several devices of one process as one, with arrays that are [spread](Spread) |
//! | [`Nodes`] | what a part leaves, as a value: merged in any order, stored, sent |
//!
//! Shards lie in host memory, or on a [`Device`](Shard::on). Each call is an exchange of a packet
//! of 8 KiB, and of a second one where a result needs more. `docs/scaling-out.md` has the drawing
//! of the nodes, and says how to use it with MPI and torchrun.

mod bytes;
mod communicator;
mod compact;
mod group;
mod histogram;
mod identity;
#[cfg(feature = "cuda")]
mod nccl;
mod nodes;
#[cfg(feature = "cuda")]
mod peers;
mod runs;
#[cfg(feature = "serde")]
mod serde;
mod site;
mod statistics;
mod threads;

pub use communicator::{Communicator, Exchange};
pub use compact::Compacted;
pub use group::{Group, Member, Spread};
#[cfg(feature = "cuda")]
pub use nccl::{Nccl, NcclId};
pub use nodes::Nodes;
#[cfg(feature = "cuda")]
pub use peers::Peers;
pub use site::Site;
pub use threads::Threads;

use crate::cpu::counter::{Counter, blocks_of};
use crate::cpu::mode::in_rust_mode;
use crate::primitives::reduce::cpu::value;
use crate::source::ByReference;
use crate::source::{Host, Indices, Source, gather, index};
use crate::{Carry, Device, Element, Error, Monoid, Prefixes, Result, function, map_with};
use communicator::{Call, fault, unreadable};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// This rank's part of an array, and the calls over the whole: [`Communicator::shard`] makes it.
///
/// Every call is collective: all ranks make it, with the same types and arguments, and each gives
/// the source of its own part. What a call gives each rank is said there. `P` says where the part
/// lies: in host memory, or on a device after [`on`](Shard::on).
///
/// # Errors
///
/// Of every call: [`Error::Ranks`] if ranks do not do the same, if one of them
/// failed, or gave another number of items than its shard has;
/// [`Error::Exchange`]; and those of the call on one part, which the other
/// ranks get as [`Error::Ranks`].
pub struct Shard<'c, P: Site = Host> {
    communicator: &'c Communicator,
    device: Device,
    /// Where shards begin, and the end.
    bounds: Vec<u64>,
    place: PhantomData<fn() -> P>,
}

impl<'c> Shard<'c> {
    /// This shard with its part on a device: sources are made of its
    /// [buffers](crate::Buffer), and so are results. Ranks may have different devices.
    #[must_use]
    pub fn on(self, device: &Device) -> Shard<'c, Device> {
        Shard {
            communicator: self.communicator,
            device: device.clone(),
            bounds: self.bounds,
            place: PhantomData,
        }
    }
}

impl<P: Site> Shard<'_, P> {
    /// The positions of the part in the whole.
    pub fn range(&self) -> Range<u64> {
        self.range_of(self.communicator.rank())
    }

    /// The number of elements of all parts.
    pub fn total(&self) -> u64 {
        self.bounds[self.bounds.len() - 1]
    }

    /// The number of elements of this part.
    fn len(&self) -> u64 {
        let Range { start, end } = self.range();
        end - start
    }

    fn range_of(&self, rank: usize) -> Range<u64> {
        self.bounds[rank]..self.bounds[rank + 1]
    }

    /// A call over these shards.
    fn call(&self, operation: &'static str) -> Call {
        Call::new(operation).with(bytemuck::cast_slice(&self.bounds))
    }

    /// An error unless a source is as long as the part.
    fn check<T>(&self, source: &impl Source<P, Item = T>) -> Result<()> {
        let (items, len, rank) = (source.items()?, self.len(), self.communicator.rank());
        match items as u64 == len {
            true => Ok(()),
            false => Err(fault(format!(
                "have shards of given lengths: that of rank {rank} has {len} elements, but its source {items} items"
            ))),
        }
    }

    /// A source that is as long as the part. Otherwise all ranks get an error, in the call that
    /// they make now.
    fn checked<T, S: Source<P, Item = T>>(&self, source: S) -> Result<S> {
        match self.check(&source) {
            Ok(()) => Ok(source),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Tells the other ranks of an error, in place of the call that they make now.
    fn fail(&self, error: Error) -> Error {
        let told = self
            .communicator
            .gather(self.call("a call"), Err(error.clone()));
        told.err().unwrap_or(error)
    }

    /// The fold of all elements, and the identity if there are none: on every rank the bits of
    /// [`reduce`](crate::reduce()) over everything.
    ///
    /// One exchange. Each rank reads its part once: see [`Nodes::of`] and [`Nodes::on`].
    pub fn reduce<T: Element, Op: Monoid<T>>(&self, source: impl Source<P, Item = T>) -> Result<T> {
        self.fold::<T, Op>(None, source)
    }

    /// The fold of `init` and all elements: [`reduce_from`](crate::reduce_from). All ranks give the
    /// same `init`.
    pub fn reduce_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        source: impl Source<P, Item = T>,
    ) -> Result<T> {
        self.fold::<T, Op>(Some(init), source)
    }

    fn fold<T: Element, Op: Monoid<T>>(
        &self,
        init: Option<T>,
        source: impl Source<P, Item = T>,
    ) -> Result<T> {
        let call = with_init(self.call("reduce").by::<T, Op>(), init);
        let nodes = || {
            self.check(&source)?;
            P::nodes::<T, Op>(&self.device, self.range().start, ByReference(&source))
        };
        let whole = self.gather_nodes::<T, Op>(call, false, nodes(), self.communicator.ranks())?;
        Ok(value::<T, Op>(&whole, init))
    }

    /// The nodes of this part, as a value.
    ///
    /// It exchanges nothing, so other ranks need not call it.
    ///
    /// # Errors
    ///
    /// Those of [`Nodes::of`] or [`Nodes::on`];
    /// [`Error::Ranks`] if the source has another length.
    pub fn nodes<T: Element, Op: Monoid<T>>(
        &self,
        source: impl Source<P, Item = T>,
    ) -> Result<Nodes<T, Op>> {
        self.check(&source)?;
        P::nodes::<T, Op>(&self.device, self.range().start, source)
    }

    /// The nodes of all parts, on every rank, where each rank gives those of its own: computed
    /// piece by piece, say, of a part that does not fit into memory.
    ///
    /// ```
    /// use warpfold::shards::{Communicator, Nodes};
    /// use warpfold::{Prefixes, Scanner, ops::Add};
    ///
    /// # let alone = |mine: &[u8], all: &mut [u8]| {
    /// #     all.copy_from_slice(mine);
    /// #     Ok::<_, std::io::Error>(())
    /// # };
    /// # let communicator = Communicator::new(0, 1, alone)?;
    /// let pieces = [[0.1_f32, 0.2, 0.3], [0.4, 0.5, 0.6]];
    /// let shard = communicator.shard(6)?;
    /// let mut own = Nodes::<f32, Add>::new();
    /// for (start, piece) in (shard.range().start..).step_by(3).zip(&pieces) {
    ///     own.merge(&Nodes::of(start, piece)?)?;
    /// }
    /// let sum = shard.gather(&own)?.value(shard.total())?;
    ///
    /// // A scan goes on from what the parts before leave.
    /// let before = shard.gather_before(&own)?;
    /// let mut scanner = Scanner::new(Prefixes::inclusive()).after(before);
    /// let prefixes = pieces.iter().map(|piece| scanner.scan(piece));
    /// assert_eq!(prefixes.collect::<Result<Vec<_>, _>>()?.concat().last(), Some(&sum));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Ranks`] also unless they are the nodes of this part.
    pub fn gather<T: Element, Op: Monoid<T>>(&self, nodes: &Nodes<T, Op>) -> Result<Nodes<T, Op>> {
        let (call, all) = (self.call("gather"), self.communicator.ranks());
        let whole = self.gather_nodes(call.by::<T, Op>(), false, self.own(nodes), all)?;
        Ok(Nodes::of_counter(whole))
    }

    /// The nodes of all parts before this one, from which a [`Scanner`](crate::Scanner) goes on
    /// piece by piece. Otherwise as [`gather`](Shard::gather).
    ///
    /// # Errors
    ///
    /// As [`gather`](Shard::gather).
    pub fn gather_before<T: Element, Op: Monoid<T>>(
        &self,
        nodes: &Nodes<T, Op>,
    ) -> Result<Carry<T, Op>> {
        let (call, rank) = (self.call("gather_before"), self.communicator.rank());
        let before = self.gather_nodes(call.by::<T, Op>(), false, self.own(nodes), rank)?;
        Ok(Carry::of(before))
    }

    /// Nodes of this part, and no other.
    fn own<T: Element, Op: Monoid<T>>(&self, nodes: &Nodes<T, Op>) -> Result<Nodes<T, Op>> {
        let own = Some(self.range()).filter(|own| own.start < own.end);
        match nodes.ranges().eq(own) {
            true => Ok(nodes.clone()),
            false => Err(fault(format!(
                "have shards of given lengths: that of rank {} is {:?}, but its nodes are of {:?}",
                self.communicator.rank(),
                self.range(),
                nodes.ranges().collect::<Vec<_>>()
            ))),
        }
    }

    /// The prefixes of this part's elements: those of one scan over everything, in every form that
    /// [`Prefixes`] has.
    ///
    /// One exchange. Each rank reads its part twice: once for its nodes, and once to scan it from
    /// the nodes of the ranks before. That scan is one of [`Scanner`](crate::Scanner): on a GPU,
    /// one launch or three.
    pub fn scan<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        source: impl Source<P, Item = T>,
    ) -> Result<P::Array<T>> {
        let carry = self.carry::<T, Op>(prefixes, &source)?;
        P::scan::<T, Op>(&self.device, carry, prefixes, source)
    }

    /// Writes the prefixes to `output`, which is as long as the part. Otherwise as
    /// [`scan`](Shard::scan).
    pub fn scan_into<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        source: impl Source<P, Item = T>,
        output: &mut P::Slice<T>,
    ) -> Result<()> {
        let room = P::source(output).items()?;
        if let Err(error) = Error::check_length(self.len() as usize, room) {
            return Err(self.fail(error));
        }
        let carry = self.carry::<T, Op>(prefixes, &source)?;
        P::scan_into::<T, Op>(&self.device, carry, prefixes, source, output)
    }

    /// Replaces each element of the part by its prefix. Otherwise as [`scan`](Shard::scan).
    pub fn scan_in_place<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        data: &mut P::Slice<T>,
    ) -> Result<()> {
        let carry = self.carry::<T, Op>(prefixes, &P::source(data))?;
        P::scan_in_place::<T, Op>(&self.device, carry, prefixes, data)
    }

    /// What comes before this part in the order of a scan.
    fn carry<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        source: &impl Source<P, Item = T>,
    ) -> Result<Carry<T, Op>> {
        let call = with_init(self.call("scan").by::<T, Op>(), prefixes.init);
        let call = call.with(&[prefixes.kind as u8, prefixes.reverse.into()]);
        let nodes = || {
            self.check(source)?;
            let (source, len) = (ByReference(source), self.len());
            match prefixes.reverse {
                false => P::nodes::<T, Op>(&self.device, self.range().start, source),
                true => {
                    let start = self.total() - self.range().end;
                    let positions = map_with::<from_the_end, _, _>(index(len as usize), len);
                    let reversed = gather(source, Indices::unchecked(positions));
                    P::nodes::<T, Op>(&self.device, start, reversed)
                }
            }
        };
        let rank = self.communicator.rank();
        let before = match prefixes.reverse {
            false => rank,
            true => self.communicator.ranks() - 1 - rank,
        };
        let reverse = prefixes.reverse;
        let gathered = self.gather_nodes::<T, Op>(call, reverse, nodes(), before)?;
        Ok(Carry::of(gathered))
    }

    /// The nodes of the first `count` shards, from the first or from the last one on.
    fn gather_nodes<T: Element, Op: Monoid<T>>(
        &self,
        call: Call,
        reverse: bool,
        own: Result<Nodes<T, Op>>,
        count: usize,
    ) -> Result<Counter<T::Accumulator>> {
        let sums = |nodes: Nodes<T, Op>| {
            let sums = nodes.stretches.iter().map(Counter::sums);
            sums.flat_map(bytemuck::cast_slice::<_, u8>)
                .copied()
                .collect()
        };
        let payloads = self.communicator.gather(call, own.map(sums))?;
        let mut ranks: Vec<_> = payloads.iter().enumerate().collect();
        if reverse {
            ranks.reverse();
        }
        in_rust_mode(|| {
            let mut counter = Counter::at(0);
            for (rank, payload) in ranks.into_iter().take(count) {
                let Range { start, end } = self.range_of(rank);
                let stretch = counter.end()..counter.end() + (end - start);
                let sums = sums_of::<T>(payload, blocks_of(stretch.clone()).count())?;
                let counted = Counter::of_stretch(stretch, sums).ok_or_else(unreadable)?;
                counter.append(&counted, Op::combine);
            }
            Ok(counter)
        })
    }
}

/// So many sums.
fn sums_of<T: Element>(payload: &[u8], count: usize) -> Result<Vec<T::Accumulator>> {
    match payload.len() == count * size_of::<T::Accumulator>() {
        true => Ok(bytemuck::pod_collect_to_vec(payload)),
        false => Err(unreadable()),
    }
}

fn with_init<T: Element>(call: Call, init: Option<T>) -> Call {
    match init {
        None => call,
        Some(init) => call.with(bytemuck::bytes_of(&init)),
    }
}

#[function]
fn from_the_end(i: u64, len: u64) -> u64 {
    len - 1 - i
}

impl<P: Site> Clone for Shard<'_, P> {
    fn clone(&self) -> Self {
        Shard {
            communicator: self.communicator,
            device: self.device.clone(),
            bounds: self.bounds.clone(),
            place: PhantomData,
        }
    }
}

impl<P: Site> fmt::Debug for Shard<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard")
            .field("rank", &self.communicator.rank())
            .field("device", &self.device)
            .field("range", &self.range())
            .field("total", &self.total())
            .finish_non_exhaustive()
    }
}
