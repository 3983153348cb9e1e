//! Segmented sort on the CPU: segments are shared out among the threads, and all threads sort a
//! long one.

use crate::primitives::segmented::{Bounds, Cut};
use crate::primitives::sort::{KeyMap, Sortable, cpu as sorting};
use crate::{Error, Result};
use rayon::prelude::*;
use std::mem::MaybeUninit;

/// Places of items that belong to no segment.
pub(super) fn places(len: usize) -> Result<Vec<u64>> {
    let mut places = Vec::new();
    let requested = len.saturating_mul(size_of::<u64>());
    let no_room = |_| Error::OutOfHostMemory { requested };
    places.try_reserve_exact(len).map_err(no_room)?;
    places.resize(len, 0);
    Ok(places)
}

/// Sorts each segment, and writes where the items stood.
pub(super) fn sort<K: Sortable, C: Cut>(
    keys: &mut [K],
    places: Option<&mut [u64]>,
    segments: &Bounds<'_, C>,
    map: KeyMap<K::Bits>,
) -> Result<()> {
    let bounds = || (0..=segments.count).map(|i| segments.start(i));
    let parts = cut(keys, bounds());
    let Some(places) = places else {
        return parts
            .into_par_iter()
            .try_for_each(|keys| sorting::sort(keys, map));
    };
    let pairs = parts.into_par_iter().zip(cut(places, bounds()));
    pairs.try_for_each(|(keys, places)| {
        // SAFETY: a `u64` may be written as one that is not there yet.
        let places = unsafe { &mut *(&raw mut *places as *mut [MaybeUninit<u64>]) };
        sorting::argsort(keys, map, places)?;
        sorting::sort(keys, map)
    })
}

/// The segments of a slice. Those of unchecked bounds that fall are cut off where others end.
fn cut<T>(mut rest: &mut [T], mut bounds: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let Some(mut start) = bounds.next() else {
        return Vec::new();
    };
    let mut done = 0;
    let mut parts = Vec::new();
    for end in bounds {
        let (from, to) = (start.max(done), end.max(start.max(done)));
        let (part, behind) = std::mem::take(&mut rest)[from - done..].split_at_mut(to - from);
        parts.push(part);
        (rest, done, start) = (behind, to, end);
    }
    parts
}
