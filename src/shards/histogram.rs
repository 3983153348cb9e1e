//! Histograms over shards.

use super::communicator::{Call, unreadable};
use super::identity::{hash_of, name_of_type};
use super::{Shard, Site};
use crate::cpu::counter::{Counter, blocks_of};
use crate::cpu::mode::in_rust_mode;
use crate::ops::Add;
use crate::primitives::histogram::check;
use crate::primitives::weighted::places_of;
use crate::source::ByReference;
use crate::source::Source;
use crate::{Bins, Count, Counted, Element, Monoid, Result};

/// # Histograms
///
/// Every rank gets the counts or sums of all bins, of everything. Memory of the exchange: what it
/// sends, for each rank.
impl<P: Site> Shard<'_, P> {
    /// How many items fall into each bin; see [`histogram`](crate::histogram()). All ranks give the
    /// same bins. Ranks exchange their counts, once.
    ///
    /// ```
    /// use warpfold::{Bins, shards::Communicator};
    ///
    /// # let alone = |mine: &[u8], all: &mut [u8]| {
    /// #     all.copy_from_slice(mine);
    /// #     Ok::<_, std::io::Error>(())
    /// # };
    /// let communicator = Communicator::new(0, 1, alone)?;
    /// let shard = communicator.shard(4)?;
    /// let counts = shard.histogram::<u64, u8>(&[0, 2, 2, 1], &Bins::values(3)?)?;
    /// assert_eq!(counts, [1, 1, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn histogram<C: Count, X: Counted>(
        &self,
        source: impl Source<P, Item = X>,
        bins: &Bins<X::Value>,
    ) -> Result<P::Array<C>> {
        let call = self.call("histogram");
        let call = with_bins::<X>(call.named(&name_of_type::<X>()), bins);
        let call = call.with(name_of_type::<C>().as_bytes());
        let counts = || {
            self.check(&source)?;
            check::<C, X>(self.total() as usize, bins)?;
            let counts = P::histogram::<C, X>(&self.device, ByReference(&source), bins)?;
            Ok(bytemuck::pod_collect_to_vec(&P::to_vec(counts)?))
        };
        let payloads = self.communicator.gather(call, counts())?;
        let counts = added(&payloads, C::and)?;
        P::of_vec(&self.device, counts)
    }

    /// The sum of the weights of the items that fall into each bin; see
    /// [`histogram_weighted`](crate::histogram_weighted()).
    ///
    /// Sums that are exact are exchanged, once. Others have the law's order, so the nodes of each
    /// bin's weights are exchanged, and before them how many each bin has. That takes two
    /// exchanges, and a histogram more. Memory: the weights of some pieces, sorted by bin, and 4
    /// bytes for each bin and thread; and at most 2·log₂ n nodes for each bin and rank.
    ///
    /// # Errors
    ///
    /// Also [`Error::Zip`](crate::Error::Zip) if there are not as many weights as items.
    pub fn histogram_weighted<W: Element, X: Counted>(
        &self,
        items: impl Source<P, Item = X>,
        weights: impl Source<P, Item = W>,
        bins: &Bins<X::Value>,
    ) -> Result<P::Array<W>>
    where
        Add: Monoid<W>,
    {
        let call = |operation| {
            let call = self.call(operation).named(&name_of_type::<X>());
            let call = call.with(&hash_of::<W, Add>().to_ne_bytes());
            with_bins::<X>(call, bins)
        };
        let places = || {
            self.check(&items)?;
            places_of::<X>(items.items()?, weights.items()?, bins)
        };
        let (device, items, weights) = (&self.device, ByReference(&items), ByReference(&weights));
        if <Add as Monoid<W>>::EXACT {
            let sums = || {
                places()?;
                let sums = P::histogram_weighted::<W, X>(device, items, weights, bins)?;
                Ok(bytemuck::pod_collect_to_vec(&P::to_vec(sums)?))
            };
            let payloads = self
                .communicator
                .gather(call("histogram_weighted"), sums())?;
            let add = |a: W, b: W| W::narrow(Add::combine(a.widen(), b.widen()));
            return P::of_vec(device, added(&payloads, add)?);
        }
        let counts = || {
            places()?;
            let counts = P::histogram::<u64, X>(device, items, bins)?;
            Ok(bytemuck::pod_collect_to_vec(&P::to_vec(counts)?))
        };
        let counts = self
            .communicator
            .gather(call("histogram_weighted"), counts())?;
        let counts: Vec<Vec<u64>> = counts.iter().map(|counts| read(counts)).collect();
        let all = counts[0].len();
        if counts.iter().any(|counts| counts.len() != all) {
            return Err(unreadable());
        }
        // A rank's nodes are those of a stretch of each bin's weights, which starts where those of the
        // ranks before end.
        let mut before = vec![0; all];
        for counts in &counts[..self.communicator.rank()] {
            before
                .iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
        let nodes = P::bin_nodes::<W, X>(device, items, weights, bins, &before);
        let nodes = nodes.map(|nodes| bytemuck::pod_collect_to_vec(&nodes));
        let call = call("the sums of histogram_weighted");
        let payloads = self.communicator.gather(call, nodes)?;
        let counters = joined::<W>(&counts, &payloads)?;
        let sum = |counter: &Counter<W::Accumulator>| {
            let sum = counter.prefix(None, Add::combine);
            sum.map_or_else(Add::identity, W::narrow)
        };
        let sums = in_rust_mode(|| counters.iter().map(sum).collect());
        P::of_vec(device, sums)
    }
}

/// What is added up of each bin over all ranks: each has sent how many weights it has of a bin, and
/// the nodes of these.
fn joined<W: Element>(
    counts: &[Vec<u64>],
    payloads: &[Vec<u8>],
) -> Result<Vec<Counter<W::Accumulator>>>
where
    Add: Monoid<W>,
{
    let mut counters = vec![Counter::at(0); counts[0].len()];
    for (counts, payload) in counts.iter().zip(payloads) {
        let mut nodes = read(payload).into_iter();
        for (counter, count) in counters.iter_mut().zip(counts) {
            let stretch = counter.end()..counter.end() + count;
            let sums = nodes
                .by_ref()
                .take(blocks_of(stretch.clone()).count())
                .collect();
            let counted = Counter::of_stretch(stretch, sums).ok_or_else(unreadable)?;
            in_rust_mode(|| counter.append(&counted, Add::combine));
        }
        if nodes.next().is_some() {
            return Err(unreadable());
        }
    }
    Ok(counters)
}

/// Bins must be the same on all ranks.
fn with_bins<X: Counted>(call: Call, bins: &Bins<X::Value>) -> Call {
    let channels = bins.channels_of(X::CHANNELS).unwrap_or(0);
    call.with(&[bins.count(), channels].map(usize::to_ne_bytes).concat())
        .with(bytemuck::cast_slice(bins.edges()))
        .with(bytemuck::cast_slice(bins.firsts()))
}

fn read<V: Element>(payload: &[u8]) -> Vec<V> {
    bytemuck::pod_collect_to_vec(payload)
}

/// The sums over all ranks, of what is added exactly.
fn added<V: Element>(payloads: &[Vec<u8>], add: impl Fn(V, V) -> V) -> Result<Vec<V>> {
    let mut sums = read::<V>(&payloads[0]);
    for payload in &payloads[1..] {
        let more = read::<V>(payload);
        if more.len() != sums.len() {
            return Err(unreadable());
        }
        for (sum, more) in sums.iter_mut().zip(more) {
            *sum = add(*sum, more);
        }
    }
    Ok(sums)
}
