//! Top-k of a stream.

use super::Candidate;
use crate::cpu::memory::reserve;
use crate::primitives::sort::{Order, Sortable};
use crate::source::{Host, Source};
use crate::{Device, Result};
use std::marker::PhantomData;

/// The greatest or the least items of a stream that is fed in pieces, and where they stand: for
/// data that does not fit into memory, or is not there yet.
///
/// The result has the bits of one call of [`top_k`](crate::top_k) or
/// [`bottom_k`](crate::bottom_k) over all pieces, wherever they end. Places are counted from the
/// first item of the first piece.
///
/// ```
/// use warpfold::{Order, TopK, top_k};
///
/// let data: Vec<f32> = (0..10_000).map(|i| (i as f32 * 0.7).sin()).collect();
/// let mut top = TopK::top(5, Order::default());
/// for piece in data.chunks(1234) {
///     top.push(piece)?;
/// }
/// let (values, places) = top_k(&data, 5, Order::default())?;
/// assert_eq!(top.values(), values);
/// assert_eq!(top.places(), places);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// A piece is any [source](crate::source), also one of items with flags. Pieces in host memory are
/// read on the CPU, and [`Device::top_k_stream`] makes one for what lies on a device. Complexity:
/// that of a call for each piece. Memory: `k` items with their places, twice, and what a call
/// takes.
#[derive(Debug, Clone)]
pub struct TopK<K: Sortable, P = Host> {
    k: usize,
    order: Order,
    device: Device,
    values: Vec<K>,
    places: Vec<u64>,
    seen: u64,
    place: PhantomData<fn() -> P>,
}

impl<K: Sortable> TopK<K> {
    /// For the `k` greatest items. Nothing was seen yet.
    pub fn top(k: usize, order: Order) -> TopK<K> {
        TopK::on(Device::cpu(), k, order.turned(true))
    }

    /// For the `k` least items.
    pub fn bottom(k: usize, order: Order) -> TopK<K> {
        TopK::on(Device::cpu(), k, order.turned(false))
    }

    /// Takes in the next piece.
    ///
    /// # Errors
    ///
    /// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths,
    /// [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory). Then the piece was not taken in.
    pub fn push<I: Candidate<Key = K>>(&mut self, piece: impl Source<Item = I>) -> Result<()> {
        let len = piece.items()?;
        let best = super::best_on_cpu(piece, self.k, self.order)?;
        self.take_in(best, len)
    }
}

impl<K: Sortable> TopK<K, Device> {
    /// Takes in the next piece, which lies on the device. Waits for what is best in it.
    ///
    /// # Errors
    ///
    /// Those of [`Device::top_k`]. Then the piece was not taken in.
    pub fn push<I: Candidate<Key = K>>(
        &mut self,
        piece: impl Source<Device, Item = I>,
    ) -> Result<()> {
        let len = piece.items()?;
        let device = self.device.clone();
        let (values, places) =
            super::best_on::<Device, I, _>(&device, piece, None, self.k, self.order)?;
        self.take_in((values.into_vec()?, places.into_vec()?), len)
    }
}

impl<K: Sortable, P> TopK<K, P> {
    fn on(device: Device, k: usize, order: Order) -> TopK<K, P> {
        TopK {
            k,
            order,
            device,
            values: Vec::new(),
            places: Vec::new(),
            seen: 0,
            place: PhantomData,
        }
    }

    /// The best items so far, the best first: `k` of them, or all if there were fewer.
    pub fn values(&self) -> &[K] {
        &self.values
    }

    /// Where these stand in the stream.
    pub fn places(&self) -> &[u64] {
        &self.places
    }

    /// The number of items so far.
    pub fn items(&self) -> u64 {
        self.seen
    }

    /// Merges what is best in a piece of so many items. Of equal items those seen before come
    /// first.
    fn take_in(&mut self, (values, places): (Vec<K>, Vec<u64>), items: usize) -> Result<()> {
        let len = self.k.min(self.values.len() + values.len());
        let (mut merged, mut merged_places) = (reserve(len)?, reserve(len)?);
        let map = K::key_map(self.order);
        let (mut old, mut new) = (0, 0);
        while merged.len() < len {
            let from_old = old < self.values.len()
                && (new == values.len() || map.rank(self.values[old]) <= map.rank(values[new]));
            if from_old {
                merged.push(self.values[old]);
                merged_places.push(self.places[old]);
                old += 1;
            } else {
                merged.push(values[new]);
                merged_places.push(self.seen + places[new]);
                new += 1;
            }
        }
        (self.values, self.places) = (merged, merged_places);
        self.seen += items as u64;
        Ok(())
    }
}

impl Device {
    /// The `k` greatest items of a stream whose pieces lie on this device; see [`TopK`].
    ///
    /// ```
    /// use warpfold::{Device, Order};
    ///
    /// let device = Device::cpu();
    /// let mut top = device.top_k_stream::<i32>(2, Order::default());
    /// for piece in [[5, 1, 7], [7, 9, 2]] {
    ///     top.push(&device.upload(&piece)?)?;
    /// }
    /// assert_eq!(top.values(), [9, 7]);
    /// assert_eq!(top.places(), [4, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn top_k_stream<K: Sortable>(&self, k: usize, order: Order) -> TopK<K, Device> {
        TopK::on(self.clone(), k, order.turned(true))
    }

    /// The `k` least items of a stream whose pieces lie on this device; see [`TopK`].
    pub fn bottom_k_stream<K: Sortable>(&self, k: usize, order: Order) -> TopK<K, Device> {
        TopK::on(self.clone(), k, order.turned(false))
    }
}
