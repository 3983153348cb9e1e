//! Weighted histograms on the CPU: each thread adds up a part of the items where additions are
//! exact, and bins of its own where they are not.

use crate::cpu::block_len;
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::memory::reserve;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::{Tree, block_sums};
use crate::ops::Add;
use crate::primitives::histogram::Counted;
use crate::primitives::histogram::bins::Bins;
use crate::primitives::histogram::cpu::{BLOCK, PART, TABLE_BYTES, place};
use crate::source::Items;
use crate::{Element, Error, Monoid, Result};
use rayon::prelude::*;

/// The sums of all channels' bins.
pub(super) fn add_up<W: Element, X: Counted>(
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
    } else if all <= SORTED_BINS && items.len() >= FEWEST_SORTED {
        add_up_sorted(items, weights, bins, all)
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

/// Up to so many bins, weights are sorted by bin: enough of a piece belong to one bin to be folded
/// as a tree.
const SORTED_BINS: usize = 1 << 12;

/// Fewer items are not worth it.
const FEWEST_SORTED: usize = 1 << 12;

/// The weights that a thread sorts at a time.
const PIECE: usize = 1 << 17;

/// The sums of bins whose weights are sorted by bin first.
fn add_up_sorted<W: Element, X: Counted>(
    items: &Items<'_, X>,
    weights: &Items<'_, W>,
    bins: &Bins<X::Value>,
    all: usize,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    let mut counters = filled(Counter::<W::Accumulator>::at(0), all)?;
    append_sorted(items, weights, bins, &mut counters)?;
    let sum = |counter: &Counter<W::Accumulator>| {
        let sum = counter.prefix(None, Add::combine);
        sum.map_or_else(Add::identity, W::narrow)
    };
    Ok(in_rust_mode(|| counters.iter().map(sum).collect()))
}

/// Appends the weights of each bin to its counter. Each thread sorts pieces of the weights by bin.
/// Then each takes bins of its own, and folds what the pieces have of them, one after the other.
pub(crate) fn append_sorted<W: Element, X: Counted>(
    items: &Items<'_, X>,
    weights: &Items<'_, W>,
    bins: &Bins<X::Value>,
    counters: &mut [Counter<W::Accumulator>],
) -> Result<()>
where
    Add: Monoid<W>,
{
    if items.len() == 0 {
        return Ok(());
    }
    let all = counters.len();
    let piece = (PIECE / X::CHANNELS / BLOCK).max(1) * BLOCK;
    let round = (piece * rayon::current_num_threads()).min(items.len());
    let mut sorted = filled(Add::identity(), round * X::CHANNELS)?;
    // Where the weights of each bin end in each piece; what has no bin is behind the others.
    let mut ends = filled(0_u32, round.div_ceil(piece) * (all + 1))?;
    for start in (0..items.len()).step_by(round) {
        let len = round.min(items.len() - start);
        let sorted = &mut sorted[..len * X::CHANNELS];
        let ends = &mut ends[..len.div_ceil(piece) * (all + 1)];
        let pieces = sorted.par_chunks_mut(piece * X::CHANNELS);
        let pieces = pieces.zip(ends.par_chunks_mut(all + 1)).enumerate();
        let room = || (Vec::new(), Vec::new(), Vec::new());
        pieces.for_each_init(room, |room, (number, (sorted, ends))| {
            let (items_room, weights_room, places) = room;
            let first = start + number * piece;
            let range = first..first + sorted.len() / X::CHANNELS;
            in_rust_mode(|| {
                places.resize(sorted.len(), 0);
                let blocks = places.chunks_mut(BLOCK * X::CHANNELS);
                for (places, first) in blocks.zip(range.clone().step_by(BLOCK)) {
                    let block = first..(first + BLOCK).min(range.end);
                    place(items.range(block, items_room), bins, all, places);
                }
                let weights = weights.range(range, weights_room);
                sort::<W, X>(places, weights, 0, ends, |at, _, weight| {
                    sorted[at] = weight
                });
            });
        });
        let room = || (Tree::new(), Vec::new());
        let counters = counters.par_iter_mut().enumerate();
        let counters = counters.with_min_len(if items.len() < PART { all } else { 1 });
        counters.for_each_init(room, |(tree, sums), (bin, counter)| {
            let pieces = sorted.chunks(piece * X::CHANNELS);
            in_rust_mode(|| {
                for (piece, ends) in pieces.zip(ends.chunks_exact(all + 1)) {
                    let first = bin.checked_sub(1).map_or(0, |before| ends[before]);
                    append(
                        counter,
                        &piece[first as usize..ends[bin] as usize],
                        tree,
                        sums,
                    );
                }
            });
        });
    }
    Ok(())
}

/// Appends the next weights of a bin.
fn append<W: Element>(
    counter: &mut Counter<W::Accumulator>,
    weights: &[W],
    tree: &mut Tree<W::Accumulator>,
    sums: &mut Vec<W::Accumulator>,
) where
    Add: Monoid<W>,
{
    let position = counter.end();
    sums.clear();
    block_sums::<W, Add>(tree, position, weights, sums);
    let most = block_len::<W::Accumulator>().ilog2();
    for ((level, _), &sum) in blocks(position, weights.len(), most).zip(&*sums) {
        counter.push(level, sum, Add::combine);
    }
}

/// The weights that are sorted at a time, before they are added up.
const ROUND: usize = 1 << 18;

/// Each thread adds up bins of its own, in the order of the items. Blocks of items are sorted by
/// thread first.
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
    // A thread's share of the bins.
    let share = all.div_ceil(threads).next_power_of_two();
    let log_share = share.ilog2();
    // What has no bin is behind the others, and may be a share of its own.
    let shares = (all >> log_share) + 1;
    let mut counters = Vec::new();
    for first in (0..all).step_by(share) {
        counters.push(Counters::<W>::new(first, share.min(all - first))?);
    }
    let round = (ROUND / X::CHANNELS / BLOCK).max(1) * BLOCK;
    let most = round.min(items.len());
    let mut places = filled(0_u32, most * X::CHANNELS)?;
    let mut values = filled(Add::identity(), most * X::CHANNELS)?;
    // Where each share of each block ends.
    let mut ends = filled(0_u32, most.div_ceil(BLOCK) * shares)?;
    for start in (0..items.len()).step_by(round) {
        let len = round.min(items.len() - start);
        let (places, values) = (
            &mut places[..len * X::CHANNELS],
            &mut values[..len * X::CHANNELS],
        );
        let ends = &mut ends[..len.div_ceil(BLOCK) * shares];
        let places_of = places.par_chunks_mut(BLOCK * X::CHANNELS);
        let values_of = values.par_chunks_mut(BLOCK * X::CHANNELS);
        let blocks = (places_of, values_of, ends.par_chunks_mut(shares)).into_par_iter();
        let blocks = blocks
            .enumerate()
            .with_min_len(if threads == 1 { ROUND } else { 1 });
        let room = || (Vec::new(), Vec::new(), Vec::new());
        blocks.for_each_init(room, |room, (number, (places, values, ends))| {
            let (items_room, weights_room, found) = room;
            let first = start + number * BLOCK;
            let block = first..first + places.len() / X::CHANNELS;
            in_rust_mode(|| {
                found.resize(places.len(), 0);
                place(items.range(block.clone(), items_room), bins, all, found);
                let weights = weights.range(block, weights_room);
                sort::<W, X>(found, weights, log_share, ends, |at, place, weight| {
                    places[at] = place;
                    values[at] = weight;
                });
            });
        });
        let push = |(number, counters): (usize, &mut Counters<W>)| {
            in_rust_mode(|| {
                for (block, ends) in ends.chunks_exact(shares).enumerate() {
                    let first = block * BLOCK * X::CHANNELS;
                    let before = number.checked_sub(1).map_or(0, |before| ends[before]);
                    let range = first + before as usize..first + ends[number] as usize;
                    for (&place, &weight) in places[range.clone()].iter().zip(&values[range]) {
                        let bin = place as usize - counters.first;
                        if bin < counters.counts.len() {
                            counters.push(bin, weight)?;
                        }
                    }
                }
                Ok(())
            })
        };
        counters.par_iter_mut().enumerate().try_for_each(push)?;
    }
    let sums = |counters: &Counters<W>| {
        let bins = 0..counters.counts.len();
        in_rust_mode(|| bins.map(|bin| counters.sum(bin)).collect::<Vec<_>>())
    };
    Ok(counters.par_iter().flat_map_iter(sums).collect())
}

/// Sorts the weights for the places that were found by share, where a share has 2^`log_share` bins.
/// Within a share they keep their order. `put` gets where a weight goes, its bin, and the weight.
/// `ends` becomes where each share ends.
#[inline]
fn sort<W: Element, X: Counted>(
    found: &[u32],
    weights: &[W],
    log_share: u32,
    ends: &mut [u32],
    mut put: impl FnMut(usize, u32, W),
) {
    ends.fill(0);
    for place in found {
        ends[(place >> log_share) as usize] += 1;
    }
    let mut sum = 0;
    for end in &mut *ends {
        sum += std::mem::replace(end, sum);
    }
    for (of_item, &weight) in found.chunks_exact(X::CHANNELS).zip(weights) {
        for &place in of_item {
            let end = &mut ends[(place >> log_share) as usize];
            put(*end as usize, place, weight);
            *end += 1;
        }
    }
}

/// So many copies of a value, if there is room for them.
fn filled<V: Clone>(value: V, len: usize) -> Result<Vec<V>> {
    let mut values = reserve(len)?;
    values.resize(len, value);
    Ok(values)
}

/// With up to so many bins in a share, a bin has room for 8 weights before they are added up. Only
/// every eighth weight then takes a branch that no processor foresees.
const FEW_BINS: usize = 1 << 14;

/// A binary counter of block sums for each bin of a share. Level by level, so that memory follows
/// the fullest bin.
struct Counters<W: Element> {
    /// The first of the bins.
    first: usize,
    counts: Vec<u64>,
    /// For each bin, room for 2^`log_room` weights.
    rooms: Vec<W::Accumulator>,
    log_room: u32,
    /// For each level above the rooms, and in it for each bin.
    sums: Vec<Vec<W::Accumulator>>,
}

impl<W: Element> Counters<W>
where
    Add: Monoid<W>,
{
    fn new(first: usize, bins: usize) -> Result<Self> {
        let log_room = if bins <= FEW_BINS { 3 } else { 0 };
        Ok(Counters {
            first,
            counts: filled(0, bins)?,
            rooms: filled(Add::identity().widen(), bins << log_room)?,
            log_room,
            sums: Vec::new(),
        })
    }

    #[inline]
    fn push(&mut self, bin: usize, weight: W) -> Result<()> {
        let count = self.counts[bin];
        self.counts[bin] += 1;
        let last = (1 << self.log_room) - 1;
        let (room, place) = (bin << self.log_room, count as usize & last);
        self.rooms[room + place] = weight.widen();
        if place == last {
            self.carry(bin, count >> self.log_room)
        } else {
            Ok(())
        }
    }

    /// Adds the sum of a full room to the levels. It is block `number` of the bin.
    fn carry(&mut self, bin: usize, number: u64) -> Result<()> {
        let sum = sum_of::<W>(self.room(bin));
        let carries = number.trailing_ones() as usize;
        let below = self.sums[..carries].iter();
        let sum = below.fold(sum, |sum, level| Add::combine(level[bin], sum));
        if carries == self.sums.len() {
            self.sums.push(filled(sum, self.counts.len())?);
        }
        self.sums[carries][bin] = sum;
        Ok(())
    }

    fn room(&self, bin: usize) -> &[W::Accumulator] {
        &self.rooms[bin << self.log_room..][..1 << self.log_room]
    }

    fn sum(&self, bin: usize) -> W {
        let (full, mut rest) = (self.counts[bin] >> self.log_room, self.room(bin));
        let digits = (0..self.sums.len()).rev();
        let blocks = digits.filter(|digit| full >> digit & 1 == 1);
        let sums = blocks.map(|digit| self.sums[digit][bin]);
        let digits = (0..self.log_room).rev();
        let blocks = digits.filter(|digit| self.counts[bin] >> digit & 1 == 1);
        let of_rest = blocks.map(|digit| {
            let (block, others) = rest.split_at(1 << digit);
            rest = others;
            sum_of::<W>(block)
        });
        sums.chain(of_rest)
            .reduce(Add::combine)
            .map_or_else(Add::identity, W::narrow)
    }
}

/// The sum of a power of two of weights.
fn sum_of<W: Element>(weights: &[W::Accumulator]) -> W::Accumulator
where
    Add: Monoid<W>,
{
    if let &[weight] = weights {
        return weight;
    }
    let (first, second) = weights.split_at(weights.len() / 2);
    Add::combine(sum_of::<W>(first), sum_of::<W>(second))
}
