//! Sorting on the CPU: what is sorted, and what moves along.

use super::order::{Bits, KeyMap, Order, Sortable};
use super::radix::{Pair, PlaceOf, sort_records, sort_records_into};
use crate::cpu::memory::reserve;
use crate::cpu::threads::for_each_of;
use crate::{Element, Result};
use std::mem::MaybeUninit;

/// Values up to this size move with their keys. Larger ones move once, by places.
const MOVED_BYTES: usize = 16;

/// The items that a thread fills in at a time. To wake another thread takes longer.
const CHUNK: usize = 1 << 15;

/// Sorts `data`. Memory: as much again.
pub(crate) fn sort<K: Sortable>(data: &mut [K], map: KeyMap<K::Bits>) -> Result<()> {
    sort_records(bytemuck::cast_slice_mut::<K, K::Like>(data), map)
}

/// Writes the sorted `keys` to `output`, of the same length, and all of it. Memory: a cache's for
/// each thread, and what buckets take that fit no cache.
pub(crate) fn sort_into<K: Sortable>(
    keys: &[K],
    map: KeyMap<K::Bits>,
    output: &mut [MaybeUninit<K>],
) -> Result<()> {
    // SAFETY: `K::Like` has the size of `K`, and any bits of the one are a value of the other.
    let output = unsafe { &mut *(&raw mut *output as *mut [MaybeUninit<K::Like>]) };
    sort_records_into(bytemuck::cast_slice::<K, K::Like>(keys), output, map)
}

/// Sorts `keys`, and moves `values` along.
pub(crate) fn sort_pairs<K: Sortable, V: Element>(
    keys: &mut [K],
    values: &mut [V],
    map: KeyMap<K::Bits>,
) -> Result<()> {
    sort_pairs_like::<K::Like, V>(bytemuck::cast_slice_mut(keys), values, map)
}

fn sort_pairs_like<K: Sortable, V: Element>(
    keys: &mut [K],
    values: &mut [V],
    map: KeyMap<K::Bits>,
) -> Result<()> {
    assert_eq!(keys.len(), values.len());
    if const { size_of::<V>() <= MOVED_BYTES } {
        let mut pairs = fill(keys.len(), |i| Pair {
            key: keys[i],
            value: values[i],
        })?;
        sort_records(&mut pairs, map)?;
        let targets = keys.chunks_mut(CHUNK).zip(values.chunks_mut(CHUNK));
        for_each_of(&mut targets.zip(pairs.chunks(CHUNK)), &|(
            (keys, values),
            pairs,
        )| {
            for ((key, value), pair) in keys.iter_mut().zip(values).zip(pairs) {
                (*key, *value) = (pair.key, pair.value);
            }
        });
        return Ok(());
    }
    match u32::try_from(keys.len()) {
        Ok(_) => sort_by_places::<u32, K, V>(keys, values, map),
        Err(_) => sort_by_places::<u64, K, V>(keys, values, map),
    }
}

fn sort_by_places<P: PlaceOf, K: Sortable, V: Element>(
    keys: &mut [K],
    values: &mut [V],
    map: KeyMap<K::Bits>,
) -> Result<()> {
    let pairs = sorted_places::<P, K>(keys, map)?;
    let moved = fill(values.len(), |i| values[pairs[i].value.place()])?;
    let targets = keys.chunks_mut(CHUNK).zip(values.chunks_mut(CHUNK));
    let sources = pairs.chunks(CHUNK).zip(moved.chunks(CHUNK));
    for_each_of(&mut targets.zip(sources), &|(
        (keys, values),
        (pairs, moved),
    )| {
        values.copy_from_slice(moved);
        for (key, pair) in keys.iter_mut().zip(pairs) {
            *key = pair.key;
        }
    });
    Ok(())
}

/// Writes where each key of the sorted order stands in `keys`.
pub(crate) fn argsort<K: Sortable>(
    keys: &[K],
    map: KeyMap<K::Bits>,
    places: &mut [MaybeUninit<u64>],
) -> Result<()> {
    fn write<P: PlaceOf, K: Sortable>(pairs: &[Pair<K, P>], places: &mut [MaybeUninit<u64>]) {
        let targets = places.chunks_mut(CHUNK).zip(pairs.chunks(CHUNK));
        for_each_of(&mut { targets }, &|(places, pairs)| {
            for (to, pair) in places.iter_mut().zip(pairs) {
                to.write(pair.value.place() as u64);
            }
        });
    }
    /// Beside a place of 64 bits a shorter rank takes as much memory.
    fn wide<Rank: Bits, K: Sortable>(
        keys: &[K],
        map: KeyMap<K::Bits>,
    ) -> Result<Vec<Pair<Rank, u64>>> {
        let mut pairs = fill(keys.len(), |place| Pair {
            key: Rank::of_wide(map.rank(keys[place]).wide()),
            value: place as u64,
        })?;
        sort_records(&mut pairs, Rank::key_map(Order::ascending()))?;
        Ok(pairs)
    }
    assert_eq!(keys.len(), places.len());
    let all: &[K::Like] = bytemuck::cast_slice(keys);
    if u32::try_from(keys.len()).is_ok() {
        write(&sorted_places::<u32, K::Like>(all, map)?, places);
    } else if K::Bits::BITS <= u64::BITS {
        write(&wide::<u64, K::Like>(all, map)?, places);
    } else {
        write(&wide::<u128, K::Like>(all, map)?, places);
    }
    Ok(())
}

fn sorted_places<P: PlaceOf, K: Sortable>(
    keys: &[K],
    map: KeyMap<K::Bits>,
) -> Result<Vec<Pair<K, P>>> {
    let mut pairs = fill(keys.len(), |place| Pair {
        key: keys[place],
        value: P::of(place),
    })?;
    sort_records(&mut pairs, map)?;
    Ok(pairs)
}

/// So many items in a new vector, or an error if there is no room.
fn fill<T: Send>(len: usize, item: impl Fn(usize) -> T + Sync) -> Result<Vec<T>> {
    let mut all = reserve(len)?;
    let room = &mut all.spare_capacity_mut()[..len];
    for_each_of(&mut room.chunks_mut(CHUNK).enumerate(), &|(
        number,
        chunk,
    )| {
        for (i, to) in chunk.iter_mut().enumerate() {
            to.write(item(number * CHUNK + i));
        }
    });
    // SAFETY: all of them were written.
    unsafe { all.set_len(len) };
    Ok(all)
}
