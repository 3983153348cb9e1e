//! Weighted histograms on the CPU: each thread adds up a part of the items where additions are
//! exact, and bins of its own where they are not.

use crate::cpu::block_len;
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::memory::reserve;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::threads::{self, lock};
use crate::cpu::tree::{Tree, block_sums};
use crate::ops::Add;
use crate::primitives::histogram::Counted;
use crate::primitives::histogram::bins::Bins;
use crate::primitives::histogram::cpu::{BLOCK, PART, TABLE_BYTES, place};
use crate::source::Items;
use crate::{Element, Error, Monoid, Result};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

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

/// Up to so many bins, weights are sorted by bin: enough of a chunk belong to one bin to be folded
/// as a tree.
const SORTED_BINS: usize = 1 << 12;

/// Fewer items are not worth it.
const FEWEST_SORTED: usize = 1 << 12;

/// The weights that a thread sorts at a time.
const CHUNK: usize = 1 << 17;

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

/// Appends the weights of each bin to its counter. Each thread sorts chunks of the weights by bin.
/// Then each takes bins of its own, and folds what the chunks have of them, one after the other.
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
    let chunk = (CHUNK / X::CHANNELS / BLOCK).max(1) * BLOCK;
    let round = (chunk * rayon::current_num_threads()).min(items.len());
    let mut sorted = filled(Add::identity(), round * X::CHANNELS)?;
    // Where the weights of each bin end in each chunk; what has no bin is behind the others.
    let mut ends = filled(0_u32, round.div_ceil(chunk) * (all + 1))?;
    for start in (0..items.len()).step_by(round) {
        let len = round.min(items.len() - start);
        let sorted = &mut sorted[..len * X::CHANNELS];
        let ends = &mut ends[..len.div_ceil(chunk) * (all + 1)];
        let chunks = sorted.par_chunks_mut(chunk * X::CHANNELS);
        let chunks = chunks.zip(ends.par_chunks_mut(all + 1)).enumerate();
        let room = || (Vec::new(), Vec::new(), Vec::new());
        chunks.for_each_init(room, |room, (number, (sorted, ends))| {
            let (items_room, weights_room, places) = room;
            let first = start + number * chunk;
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
            let chunks = sorted.chunks(chunk * X::CHANNELS);
            in_rust_mode(|| {
                for (chunk, ends) in chunks.zip(ends.chunks_exact(all + 1)) {
                    let first = bin.checked_sub(1).map_or(0, |before| ends[before]);
                    append(
                        counter,
                        &chunk[first as usize..ends[bin] as usize],
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

/// The weights that are sorted by group at a time, at least.
const ROUND: usize = 1 << 18;

/// As many weights for each bin. So what a round reads of each group is worth it. Beyond a limit
/// of memory fewer will do.
const ROUND_OF_BIN: usize = 32;
const FEW_OF_BIN: usize = 8;
const LONG_ROUND: usize = 1 << 24;

/// The bytes of a group's rooms, which stay in a core's cache.
const GROUP_BYTES: usize = 128 << 10;

/// Where there are enough bins, each thread gets so many groups: some have more weights than
/// others.
const GROUPS_PER_THREAD: usize = 4;

/// The weights of a block for each group, at least, and the most of a block. A group reads its part
/// of each block: a short one costs as much as the wait for its first item.
const BLOCK_OF_GROUP: usize = 256;
const MOST_OF_BLOCK: usize = 1 << 15;

/// How bins are cut into groups, and items into rounds and blocks.
struct Sizes {
    /// A group has 2^log_group neighbouring bins.
    log_group: u32,
    /// The number of groups. What has no bin is behind the bins, and may be a group of its own.
    groups: usize,
    /// The items that one thread sorts at a time.
    block: usize,
    /// The items that are sorted before groups are added up: whole blocks.
    round: usize,
}

impl Sizes {
    /// For so many bins, and groups if there are enough bins.
    fn of<W: Element, X: Counted>(all: usize, wanted: usize) -> Sizes {
        let most = (GROUP_BYTES / size_of::<[W::Accumulator; ROOM]>()).max(1);
        let group = all.div_ceil(wanted).next_power_of_two();
        let log_group = group.min(1 << most.ilog2()).ilog2();
        let groups = (all >> log_group) + 1;
        let block = (BLOCK_OF_GROUP * groups).next_power_of_two();
        let block = (block.clamp(BLOCK, MOST_OF_BLOCK) / X::CHANNELS).max(1);
        let round = (ROUND_OF_BIN * all).min(LONG_ROUND).max(FEW_OF_BIN * all);
        Sizes {
            log_group,
            groups,
            block,
            round: (round.max(ROUND) / X::CHANNELS).next_multiple_of(block),
        }
    }
}

/// Neighbouring bins are a group. Blocks of items are sorted by group, in parallel. Then each group
/// is added up by one thread, in the order of the items and in its cache.
fn add_up_bins<W: Element, X: Counted>(
    items: &Items<'_, X>,
    weights: &Items<'_, W>,
    bins: &Bins<X::Value>,
    all: usize,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    let is_short = items.len() < PART;
    let wanted = match is_short {
        true => 1,
        false => GROUPS_PER_THREAD * rayon::current_num_threads(),
    };
    let Sizes {
        log_group,
        groups,
        block,
        round,
    } = Sizes::of::<W, X>(all, wanted);
    let group = 1 << log_group;
    let most = round.min(items.len());
    let mut places = filled(0_u32, most * X::CHANNELS)?;
    let mut values = filled(Add::identity(), most * X::CHANNELS)?;
    // Where each group of each block ends.
    let mut ends = filled(0_u32, most.div_ceil(block) * groups)?;
    let mut sums = filled(Add::identity(), all)?;
    // Of one round, no group is needed again.
    let mut kept = Vec::new();
    if round < items.len() {
        for first in (0..all).step_by(group) {
            kept.push(Counters::<W>::new(first, group.min(all - first))?);
        }
    }
    for start in (0..items.len()).step_by(round) {
        let len = round.min(items.len() - start);
        let places = &mut places[..len * X::CHANNELS];
        let values = &mut values[..len * X::CHANNELS];
        let ends = &mut ends[..len.div_ceil(block) * groups];
        let sort_block = |room: &mut Room<W, X>, number: usize, sorted: Sorted<'_, W>| {
            let first = start + number * block;
            room.sort((items, weights), first, (bins, all), log_group, sorted);
        };
        let places_of = places.chunks_mut(block * X::CHANNELS);
        let values_of = values.chunks_mut(block * X::CHANNELS);
        let blocks = places_of.zip(values_of).zip(ends.chunks_mut(groups));
        let mut blocks = blocks.map(|((places, values), ends)| (places, values, ends));
        if is_short {
            let mut room = Room::default();
            in_rust_mode(|| {
                (&mut blocks)
                    .enumerate()
                    .for_each(|(number, sorted)| sort_block(&mut room, number, sorted));
            });
        } else {
            let work = |room: &mut Room<W, X>, (number, sorted): (usize, Sorted<'_, W>)| {
                sort_block(room, number, sorted);
            };
            threads::for_each_of_with(&mut blocks.enumerate(), &Room::default, &work);
        }
        let push = |counters: &mut Counters<W>| {
            let number = counters.first >> log_group;
            for (at, ends) in ends.chunks_exact(groups).enumerate() {
                let first = at * block * X::CHANNELS;
                let before = number.checked_sub(1).map_or(0, |before| ends[before]);
                let range = first + before as usize..first + ends[number] as usize;
                counters.push(&places[range.clone()], &values[range])?;
            }
            Ok::<(), Error>(())
        };
        if round < items.len() {
            on_groups(is_short, &mut kept.iter_mut(), &|| (), &|(), counters| {
                push(counters)
            })?;
            continue;
        }
        let mut groups = sums.chunks_mut(group).enumerate();
        let counters = || Counters::new(0, group);
        on_groups(
            is_short,
            &mut groups,
            &counters,
            &|counters, (number, to)| {
                let counters = counters.as_mut().map_err(|error| error.clone())?;
                counters.start(number * group, to.len());
                push(counters)?;
                counters.write(to);
                Ok(())
            },
        )?;
    }
    if !kept.is_empty() {
        let mut groups = kept.iter().zip(sums.chunks_mut(group));
        on_groups(is_short, &mut groups, &|| (), &|(), (counters, to)| {
            counters.write(to);
            Ok(())
        })?;
    }
    Ok(sums)
}

/// What a thread sorts blocks with.
struct Room<W, X> {
    items: Vec<X>,
    weights: Vec<W>,
    places: Vec<u32>,
}

impl<W, X> Default for Room<W, X> {
    fn default() -> Self {
        Room {
            items: Vec::new(),
            weights: Vec::new(),
            places: Vec::new(),
        }
    }
}

impl<W: Element, X: Counted> Room<W, X> {
    /// Sorts the block that starts at item `first`, by groups of 2^`log_group` of `all` bins.
    fn sort(
        &mut self,
        (items, weights): (&Items<'_, X>, &Items<'_, W>),
        first: usize,
        (bins, all): (&Bins<X::Value>, usize),
        log_group: u32,
        (places, values, ends): Sorted<'_, W>,
    ) {
        let range = first..first + places.len() / X::CHANNELS;
        self.places.resize(places.len(), 0);
        let parts = self.places.chunks_mut(BLOCK * X::CHANNELS);
        for (found, first) in parts.zip(range.clone().step_by(BLOCK)) {
            let part = first..(first + BLOCK).min(range.end);
            place(items.range(part, &mut self.items), bins, all, found);
        }
        let weights = weights.range(range, &mut self.weights);
        let put = |at: usize, place, weight| {
            places[at] = place;
            values[at] = weight;
        };
        sort::<W, X>(&self.places, weights, log_group, ends, put);
    }
}

/// The places and the weights of a block, sorted by group, and where each group ends.
type Sorted<'s, W> = (&'s mut [u32], &'s mut [W], &'s mut [u32]);

/// Calls `task` for each group, all in this thread if there is little to do.
fn on_groups<V, G>(
    is_short: bool,
    groups: &mut (dyn ExactSizeIterator<Item = G> + Send),
    worker: &(dyn Fn() -> V + Sync),
    task: &(dyn Fn(&mut V, G) -> Result<()> + Sync),
) -> Result<()> {
    if is_short {
        let mut worker = worker();
        return in_rust_mode(|| {
            let mut groups = groups;
            Iterator::try_for_each(&mut groups, |group| task(&mut worker, group))
        });
    }
    let failure = Mutex::new(None);
    threads::for_each_of_with(groups, worker, &|worker, group| {
        if let Err(error) = task(worker, group) {
            *lock(&failure) = Some(error);
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Up to so many shares, the four quarters of what is sorted are counted and moved in turn. Else
/// each weight would wait for the one before it, which is often of the same share.
const FEW_SHARES: usize = 64;
const QUARTERS: usize = 4;

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
    if X::CHANNELS == 1 && ends.len() <= FEW_SHARES {
        return sort_quarters(found, weights, log_share, ends, put);
    }
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

/// Sorts items of one channel by few shares.
#[inline]
fn sort_quarters<W: Element>(
    found: &[u32],
    weights: &[W],
    log_share: u32,
    ends: &mut [u32],
    mut put: impl FnMut(usize, u32, W),
) {
    let share_of = |place: u32| (place >> log_share) as usize % FEW_SHARES;
    let quarter = found.len() / QUARTERS;
    let weights = &weights[..found.len()];
    // The last quarter has what is left over, too.
    let mut places = [[0_u32; FEW_SHARES]; QUARTERS];
    for i in 0..quarter {
        for (number, places) in places.iter_mut().enumerate() {
            places[share_of(found[number * quarter + i])] += 1;
        }
    }
    for &place in &found[QUARTERS * quarter..] {
        places[QUARTERS - 1][share_of(place)] += 1;
    }
    let mut sum = 0;
    for (share, end) in ends.iter_mut().enumerate() {
        for places in &mut places {
            sum += std::mem::replace(&mut places[share], sum);
        }
        *end = sum;
    }
    let mut put_next = |places: &mut [u32; FEW_SHARES], place: u32, weight: W| {
        let at = &mut places[share_of(place)];
        put(*at as usize, place, weight);
        *at += 1;
    };
    let cut = |number: usize| number * quarter..(number + 1) * quarter;
    let of_quarters: [(&[u32], &[W]); QUARTERS] =
        std::array::from_fn(|number| (&found[cut(number)], &weights[cut(number)]));
    for i in 0..quarter {
        for ((found, weights), places) in of_quarters.iter().zip(&mut places) {
            put_next(places, found[i], weights[i]);
        }
    }
    let rest = QUARTERS * quarter..;
    for (&place, &weight) in found[rest.clone()].iter().zip(&weights[rest]) {
        put_next(&mut places[QUARTERS - 1], place, weight);
    }
}

/// So many copies of a value, if there is room for them.
fn filled<V: Clone>(value: V, len: usize) -> Result<Vec<V>> {
    let mut values = reserve(len)?;
    values.resize(len, value);
    Ok(values)
}

/// A bin has room for so many weights before they are added up. Only every eighth weight then takes
/// a branch that no processor foresees.
const ROOM: usize = 1 << LOG_ROOM;
const LOG_ROOM: u32 = 3;

/// A binary counter of block sums for each bin of a group. Level by level, so that memory follows
/// the fullest bin.
struct Counters<W: Element> {
    /// The first of the bins.
    first: usize,
    counts: Vec<u64>,
    /// For each bin, the weights that are not added up yet.
    rooms: Vec<[W::Accumulator; ROOM]>,
    /// For each level above the rooms, and in it for each bin.
    sums: Vec<Vec<W::Accumulator>>,
}

impl<W: Element> Counters<W>
where
    Add: Monoid<W>,
{
    fn new(first: usize, bins: usize) -> Result<Self> {
        Ok(Counters {
            first,
            counts: filled(0, bins)?,
            rooms: filled([Add::identity().widen(); ROOM], bins)?,
            sums: Vec::new(),
        })
    }

    /// Begins with other bins, which are no more than before.
    fn start(&mut self, first: usize, bins: usize) {
        self.first = first;
        self.counts.clear();
        self.counts.resize(bins, 0);
    }

    /// Appends weights to the bins of their items.
    fn push(&mut self, places: &[u32], weights: &[W]) -> Result<()> {
        // Slices of their own: behind `self`, compilers read addresses again for each weight.
        let (counts, first) = (&mut self.counts[..], self.first);
        // The last group may be shorter than those that follow it here.
        let most = self.rooms.len();
        let rooms = &mut self.rooms[..counts.len()];
        for (&place, &weight) in places.iter().zip(weights) {
            let bin = (place as usize).wrapping_sub(first);
            // What has no bin may be with the last ones.
            let Some(count) = counts.get_mut(bin) else {
                continue;
            };
            let (number, room) = (*count, &mut rooms[bin]);
            *count += 1;
            let at = number as usize % ROOM;
            room[at] = weight.widen();
            if at == ROOM - 1 {
                let sum = sum_of::<W, ROOM>(room);
                carry::<W>(&mut self.sums, most, bin, number >> LOG_ROOM, sum)?;
            }
        }
        Ok(())
    }

    /// Writes the sums of all bins.
    fn write(&self, to: &mut [W]) {
        for (bin, to) in to.iter_mut().enumerate() {
            *to = self.sum(bin);
        }
    }

    fn sum(&self, bin: usize) -> W {
        let (count, room) = (self.counts[bin], &self.rooms[bin]);
        let full = count >> LOG_ROOM;
        let digits = (0..self.sums.len()).rev();
        let blocks = digits.filter(|digit| full >> digit & 1 == 1);
        let mut sum = blocks
            .map(|digit| self.sums[digit][bin])
            .reduce(Add::combine);
        let mut add = |block: W::Accumulator| {
            sum = Some(match sum {
                Some(sum) => Add::combine(sum, block),
                None => block,
            });
        };
        // The blocks of those that are left, as the law has them.
        let rest = count as usize % ROOM;
        let (four, two) = (rest & 4, rest & 6);
        if rest & 4 != 0 {
            add(sum_of::<W, 4>(room.first_chunk().expect("4")));
        }
        if rest & 2 != 0 {
            add(sum_of::<W, 2>(room[four..].first_chunk().expect("2")));
        }
        if rest & 1 != 0 {
            add(room[two]);
        }
        sum.map_or_else(Add::identity, W::narrow)
    }
}

/// Adds the sum of a full room to the levels. It is block `number` of its bin.
fn carry<W: Element>(
    levels: &mut Vec<Vec<W::Accumulator>>,
    bins: usize,
    bin: usize,
    number: u64,
    mut sum: W::Accumulator,
) -> Result<()>
where
    Add: Monoid<W>,
{
    let carries = number.trailing_ones() as usize;
    for level in &levels[..carries] {
        sum = Add::combine(level[bin], sum);
    }
    if carries == levels.len() {
        levels.push(filled(sum, bins)?);
    }
    levels[carries][bin] = sum;
    Ok(())
}

/// The sum of a power of two of weights.
#[inline(always)]
fn sum_of<W: Element, const N: usize>(weights: &[W::Accumulator; N]) -> W::Accumulator
where
    Add: Monoid<W>,
{
    let (mut sums, mut count) = (*weights, N);
    while count > 1 {
        count /= 2;
        for i in 0..count {
            sums[i] = Add::combine(sums[2 * i], sums[2 * i + 1]);
        }
    }
    sums[0]
}
