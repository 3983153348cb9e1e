//! Weighted histograms: the sum of the weights of the items in each bin.

use super::bins::Bins;
use super::cpu::{BLOCK, PART, TABLE_BYTES, place};
use super::number::Counted;
use crate::cpu::mode::in_rust_mode;
use crate::device::Backend;
use crate::ops::Add;
use crate::source::{DeviceBinder, Form, HostBinder, Items, Source};
use crate::{Buffer, Device, Element, Error, Monoid, Result};
use rayon::prelude::*;

/// The sum of the weights of the items that fall into each of some [`Bins`]: `weights=` of NumPy's
/// `histogram`.
///
/// A bin's sum has the bits of [`reduce`](crate::reduce()) over its weights, in their order. The
/// sum of an empty bin is the identity of [`Add`], as of nothing. An item with several channels has
/// one weight, for all of them; see
/// [`histogram`](crate::histogram()).
///
/// It runs on the CPU, also if `WARPFOLD_DEVICE` names a GPU. Complexity: that of
/// [`histogram`](crate::histogram()), and O(n) additions.
///
/// Where additions are exact, memory is a sum for each bin and thread, but never more than 256 MiB,
/// or one table. Otherwise each thread adds up bins of its own. It looks at the bin of every item,
/// and the call takes as long as the fullest bins. Memory is a sum for each bin and each binary
/// digit of the most items of a bin, and 2^18 weights with the bins of their items.
///
/// ```
/// use warpfold::{Bins, histogram_weighted};
///
/// let (items, weights) = ([0.1_f64, 0.7, 0.2, 1.0], [2.0_f64, 1.0, 0.5, 4.0]);
/// let sums = histogram_weighted(&items, &weights, &Bins::even(0.0, 1.0, 2)?)?;
/// assert_eq!(sums, [2.5, 5.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Zip`] if there are not as many weights as items; [`Error::Bins`] if the bins count more
/// channels than items have; [`Error::OutOfHostMemory`] if there is no room for the sums.
pub fn histogram_weighted<W: Element, X: Counted>(
    items: impl Source<Item = X>,
    weights: impl Source<Item = W>,
    bins: &Bins<X::Value>,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    sums_of(items, weights, bins)
}

/// # Weighted histogram
impl Device {
    /// The sum of the weights of the items that fall into each bin, in a new buffer; see
    /// [`histogram_weighted`](crate::histogram_weighted()).
    ///
    /// A GPU evaluates items and weights, and the CPU adds them up: so there this takes the time of
    /// their way over the bus, and room for them in host memory.
    ///
    /// ```
    /// use warpfold::{Bins, Device};
    ///
    /// let device = Device::cpu();
    /// let samples = device.upload(&[0.1_f32, 0.7, 0.2, 1.0])?;
    /// let weights = device.upload(&[2.0_f64, 1.0, 0.5, 4.0])?;
    /// let sums = device.histogram_weighted(&samples, &weights, &Bins::even(0.0, 1.0, 2)?)?;
    /// assert_eq!(sums.to_vec()?, [2.5, 5.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`histogram_weighted`](crate::histogram_weighted()); [`Error::WrongDevice`] if a
    /// buffer lives elsewhere; on a GPU those of [`Device::collect`], [`Buffer::to_vec`] and
    /// [`Device::upload`].
    pub fn histogram_weighted<W: Element, X: Counted>(
        &self,
        items: impl Source<Device, Item = X>,
        weights: impl Source<Device, Item = W>,
        bins: &Bins<X::Value>,
    ) -> Result<Buffer<W>>
    where
        Add: Monoid<W>,
    {
        let sums = sums_on_device(self, items, weights, bins)?;
        self.upload_vec(sums)
    }
}

fn sums_on_device<W: Element, X: Counted, S, V>(
    device: &Device,
    items: S,
    weights: V,
    bins: &Bins<X::Value>,
) -> Result<Vec<W>>
where
    S: Source<Device, Item = X>,
    V: Source<Device, Item = W>,
    Add: Monoid<W>,
{
    let mut binder = DeviceBinder::new(device);
    let (first, second) = (items.items()?, weights.items()?);
    let all = places_of::<X>(first, second, bins)?;
    let (of_items, of_weights) = (items.bind(&mut binder)?, weights.bind(&mut binder)?);
    match &device.backend {
        // SAFETY: the binder gave addresses in host memory, and the sources outlive the call.
        Backend::Cpu => unsafe {
            add_up_sources::<W, X, S::Form, V::Form>(&of_items, &of_weights, first, bins, all)
        },
        #[cfg(feature = "cuda")]
        Backend::Cuda(_) => {
            // SAFETY: the binder saw to it that all buffers are on the device; they are borrowed.
            let (items, weights) = unsafe {
                let items = device.collect_bound::<X, S::Form>(of_items, first)?;
                (
                    items,
                    device.collect_bound::<W, V::Form>(of_weights, first)?,
                )
            };
            let (items, weights) = (items.into_vec()?, weights.into_vec()?);
            add_up(
                &Items::of_slice(&items),
                &Items::of_slice(&weights),
                bins,
                all,
            )
        }
    }
}

/// The counters of all channels.
fn places_of<X: Counted>(first: usize, second: usize, bins: &Bins<X::Value>) -> Result<usize> {
    if first != second {
        return Err(Error::Zip { first, second });
    }
    Ok(bins.channels_of(X::CHANNELS)? * bins.count())
}

fn sums_of<W: Element, X: Counted, S: Source<Item = X>, V: Source<Item = W>>(
    items: S,
    weights: V,
    bins: &Bins<X::Value>,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    let (first, second) = (items.items()?, weights.items()?);
    let all = places_of::<X>(first, second, bins)?;
    let mut binder = HostBinder::new(&Device::cpu());
    let (of_items, of_weights) = (items.bind(&mut binder)?, weights.bind(&mut binder)?);
    // SAFETY: the binder gave addresses in host memory, and the sources outlive the call.
    unsafe { add_up_sources::<W, X, S::Form, V::Form>(&of_items, &of_weights, first, bins, all) }
}

/// # Safety
///
/// The arguments are those of sources in host memory, of so many items, which stay borrowed.
unsafe fn add_up_sources<W: Element, X: Counted, F: Form<Item = X>, G: Form<Item = W>>(
    items: &F::Arguments,
    weights: &G::Arguments,
    len: usize,
    bins: &Bins<X::Value>,
    all: usize,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    // SAFETY: the caller's.
    unsafe {
        Items::with::<F, _>(items, len, |items| {
            Items::with::<G, _>(weights, len, |weights| add_up(items, weights, bins, all))
        })
    }
}

/// The sums of all channels' bins.
fn add_up<W: Element, X: Counted>(
    items: &Items<'_, X>,
    weights: &Items<'_, W>,
    bins: &Bins<X::Value>,
    all: usize,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    if <Add as Monoid<W>>::EXACT {
        add_up_parts(items, weights, bins, all)
    } else {
        add_up_bins(items, weights, bins, all)
    }
}

/// For weights whose bracketing does not show: each thread adds up a part of the items, in a table
/// of its own.
fn add_up_parts<W: Element, X: Counted>(
    items: &Items<'_, X>,
    weights: &Items<'_, W>,
    bins: &Bins<X::Value>,
    all: usize,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    let bytes = (all + 1) * size_of::<W::Accumulator>();
    let most = (TABLE_BYTES / bytes).clamp(1, rayon::current_num_threads());
    let parts = items.len().div_ceil(PART.max(all)).clamp(1, most);
    let part = items.len().div_ceil(parts).max(1);
    let identity = <Add as Monoid<W>>::identity().widen();
    let add_up_part = |number: usize| {
        // What has no bin is added up, too, behind the others.
        let mut table = filled(identity, all + 1)?;
        let end = ((number + 1) * part).min(items.len());
        let (mut items_room, mut weights_room) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        for start in ((number * part).min(end)..end).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(end);
            let items = items.range(block.clone(), &mut items_room);
            places.resize(items.len() * X::CHANNELS, 0);
            place(items, bins, all, &mut places);
            let weights = weights.range(block, &mut weights_room);
            for (places, weight) in places.chunks_exact(X::CHANNELS).zip(weights) {
                for &place in places {
                    let sum = &mut table[place as usize];
                    *sum = Add::combine(*sum, weight.widen());
                }
            }
        }
        Ok::<_, Error>(table)
    };
    let tables = (0..parts).into_par_iter();
    let tables: Vec<_> = tables
        .map(|number| in_rust_mode(|| add_up_part(number)))
        .collect::<Result<_>>()?;
    let sum = |bin: usize| {
        let sums = tables.iter().map(|table| table[bin]);
        W::narrow(sums.reduce(Add::combine).unwrap_or(identity))
    };
    Ok(in_rust_mode(|| (0..all).map(sum).collect()))
}

/// The items whose bins are found at a time, before they are added up.
const ROUND: usize = 1 << 18;

/// Each thread adds up bins of its own, in the order of the items.
fn add_up_bins<W: Element, X: Counted>(
    items: &Items<'_, X>,
    weights: &Items<'_, W>,
    bins: &Bins<X::Value>,
    all: usize,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    let threads = match items.len() {
        0..PART => 1,
        _ => rayon::current_num_threads(),
    };
    let share = all.div_ceil(threads.min(all)).max(1);
    let mut shares = Vec::new();
    for first in (0..all).step_by(share) {
        shares.push(Share {
            first: first as u32,
            counters: Counters::<W> {
                counts: filled(0, share.min(all - first))?,
                sums: Vec::new(),
            },
        });
    }
    let round = ROUND.min(items.len());
    let mut places = filled(0, round * X::CHANNELS)?;
    let mut values = filled(Add::identity(), round)?;
    for start in (0..items.len()).step_by(ROUND) {
        let len = round.min(items.len() - start);
        let (places, values) = (&mut places[..len * X::CHANNELS], &mut values[..len]);
        let find = |(number, (places, values)): (usize, (&mut [u32], &mut [W]))| {
            let first = start + number * BLOCK;
            let block = first..first + values.len();
            in_rust_mode(|| {
                place(
                    items.range(block.clone(), &mut Vec::new()),
                    bins,
                    all,
                    places,
                );
                values.copy_from_slice(weights.range(block, &mut Vec::new()));
            });
        };
        let blocks = places.par_chunks_mut(BLOCK * X::CHANNELS);
        let blocks = blocks.zip(values.par_chunks_mut(BLOCK)).enumerate();
        match shares.len() {
            1 => blocks.with_min_len(ROUND).for_each(find),
            _ => blocks.for_each(find),
        }
        let (places, values) = (&*places, &*values);
        let push = |share: &mut Share<W>| {
            in_rust_mode(|| share.push(places.chunks_exact(X::CHANNELS).zip(values)))
        };
        shares.par_iter_mut().try_for_each(push)?;
    }
    let sums = |share: &Share<W>| {
        let bins = 0..share.counters.counts.len();
        in_rust_mode(|| bins.map(|bin| share.counters.sum(bin)).collect::<Vec<_>>())
    };
    Ok(shares.par_iter().flat_map_iter(sums).collect())
}

/// The bins of a thread.
struct Share<W: Element> {
    first: u32,
    counters: Counters<W>,
}

impl<W: Element> Share<W>
where
    Add: Monoid<W>,
{
    /// Takes in the weights of those items that fall into these bins.
    fn push<'a>(&mut self, items: impl Iterator<Item = (&'a [u32], &'a W)>) -> Result<()> {
        let bins = self.counters.counts.len() as u32;
        for (places, &weight) in items {
            for place in places {
                let bin = place.wrapping_sub(self.first);
                if bin < bins {
                    self.counters.push(bin as usize, weight)?;
                }
            }
        }
        Ok(())
    }
}

/// So many copies of a value, if there is room for them.
fn filled<V: Clone>(value: V, len: usize) -> Result<Vec<V>> {
    let mut values = Vec::new();
    let requested = len.saturating_mul(size_of::<V>());
    values
        .try_reserve_exact(len)
        .map_err(|_| Error::OutOfHostMemory { requested })?;
    values.resize(len, value);
    Ok(values)
}

/// A binary counter of block sums for each bin. Level by level, so that memory follows the fullest
/// bin.
struct Counters<W: Element> {
    counts: Vec<u64>,
    /// For each level, and in it for each bin.
    sums: Vec<Vec<W::Accumulator>>,
}

impl<W: Element> Counters<W>
where
    Add: Monoid<W>,
{
    fn push(&mut self, bin: usize, weight: W) -> Result<()> {
        let carries = self.counts[bin].trailing_ones() as usize;
        let below = self.sums[..carries].iter();
        let sum = below.fold(weight.widen(), |sum, level| Add::combine(level[bin], sum));
        if carries == self.sums.len() {
            self.sums.push(filled(sum, self.counts.len())?);
        }
        self.sums[carries][bin] = sum;
        self.counts[bin] += 1;
        Ok(())
    }

    fn sum(&self, bin: usize) -> W {
        let digits = (0..self.sums.len()).rev();
        let blocks = digits.filter(|digit| self.counts[bin] >> digit & 1 == 1);
        let sums = blocks.map(|digit| self.sums[digit][bin]);
        sums.reduce(Add::combine)
            .map_or_else(Add::identity, W::narrow)
    }
}
