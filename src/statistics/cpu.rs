//! Statistics on the CPU.
//!
//! There a reduction of pairs, of a least and a greatest number or of a rank and a position, does
//! several times the work of a reduction of numbers. So extremes are found as integers that have
//! the numbers' order, and a position is looked for in one block only. Moments are merged level by
//! level of the law's tree: their sums and their deviations lie in arrays of their own, and their
//! counts are known.

use super::Number;
use super::moments::{Merge, Moments, QuickMerge, QuickMoments};
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::mode::in_rust_mode;
use crate::cpu::stream::prefetch;
use crate::cpu::{threads, with_simd};
use crate::ops::{maximum, minimum};
use crate::source::Items;
use crate::{Function, Monoid};
use std::ops::Range;

/// The items of a chunk, the work of a thread. Reading that much takes far longer than handing it
/// to a thread.
const CHUNK: usize = 1 << 17;

/// What `of_chunk` makes of each chunk, in order.
fn chunks<T: Number, R: Send>(
    items: &Items<'_, T>,
    of_chunk: impl Fn(&mut Vec<T>, Range<usize>) -> R + Sync,
) -> Vec<R> {
    let len = items.len();
    threads::map(len.div_ceil(CHUNK), &Vec::new, &|room, number| {
        let start = number * CHUNK;
        of_chunk(room, start..len.min(start + CHUNK))
    })
}

/// The items whose extremes are found before they are compared with those of others.
const BLOCK: usize = 1 << 12;

/// The least and the greatest of all items, and `None` if there is none.
pub(super) fn min_max<T: Number>(items: &Items<'_, T>) -> Option<(T, T)> {
    let (lo, hi) = fold_blocks(items, |block, _| extreme_keys(block), outer)?;
    // The key of a NaN is the least or the greatest. So both get it.
    let (lo, hi) = (T::of_key(lo).widen(), T::of_key(hi).widen());
    let extremes = in_rust_mode(|| (minimum(lo, hi), maximum(lo, hi)));
    Some((T::narrow(extremes.0), T::narrow(extremes.1)))
}

/// The position of the first of the least items by `Rank`, and `None` if there is none.
///
/// The rank grows with the number, or falls. A NaN has the least.
pub(super) fn first<T: Number, Rank: Function<Input = (T,), Output = u64>>(
    items: &Items<'_, T>,
) -> Option<usize> {
    let rank = |key| Rank::call((T::of_key(key),));
    let of_block = |block: &[T], start| {
        let (lo, hi) = extreme_keys(block);
        (rank(lo).min(rank(hi)), start)
    };
    let (rank, start) = fold_blocks(items, of_block, |a, b| a.min(b))?;
    let mut room = Vec::new();
    let block = items.range(start..items.len().min(start + BLOCK), &mut room);
    let in_block = in_rust_mode(|| block.iter().position(|&x| Rank::call((x,)) == rank));
    Some(start + in_block.expect("the least item of the block"))
}

/// The fold of what blocks give, each with its first position, by an operator that is exact and
/// commutes. `None` if there is no block.
fn fold_blocks<T: Number, V: Send>(
    items: &Items<'_, T>,
    of_block: impl Fn(&[T], usize) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
) -> Option<V> {
    let of_chunks = chunks(items, |room, chunk| {
        let blocks = chunk.clone().step_by(BLOCK).map(|start| {
            let block = items.range(start..chunk.end.min(start + BLOCK), room);
            of_block(block, start)
        });
        blocks.reduce(&combine).expect("a chunk has a block")
    });
    of_chunks.into_iter().reduce(&combine)
}

/// The least and the greatest key of some items. There is one item at least.
fn extreme_keys<T: Number>(items: &[T]) -> (T::Key, T::Key) {
    if const { size_of::<T>() == 1 } {
        keys_in_lanes::<T, 128>(items)
    } else if const { size_of::<T>() == 2 } {
        keys_in_lanes::<T, 64>(items)
    } else if const { size_of::<T>() == 4 } {
        keys_in_lanes::<T, 32>(items)
    } else {
        keys_in_lanes::<T, 16>(items)
    }
}

/// The least and the greatest key. Every `LANES`th item goes to one of as many pairs, which stay in
/// registers.
fn keys_in_lanes<T: Number, const LANES: usize>(items: &[T]) -> (T::Key, T::Key) {
    with_simd(
        #[inline(always)]
        || {
            let (rows, rest) = items.as_chunks::<LANES>();
            let (mut least, mut greatest) = ([items[0].key(); LANES], [items[0].key(); LANES]);
            for row in rows {
                for ((least, greatest), x) in least.iter_mut().zip(&mut greatest).zip(row) {
                    (*least, *greatest) = outer((*least, *greatest), (x.key(), x.key()));
                }
            }
            let of_rest = rest.iter().map(|x| (x.key(), x.key()));
            let of_rows = least.into_iter().zip(greatest);
            of_rows.chain(of_rest).reduce(outer).expect("lanes")
        },
    )
}

#[inline(always)]
fn outer<K: Ord>(a: (K, K), b: (K, K)) -> (K, K) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The items of a block, whose moments stay in the L1 cache.
const MERGED: usize = 1 << LEVELS;

/// The levels of the tree over a block.
const LEVELS: u32 = 10;

/// The pairs of items that are read between two requests for memory.
const STRIP: usize = 32;

/// How many items ahead memory is asked for: half a block. Left alone, processors let memory wait
/// while the tree over a block is merged.
const AHEAD: usize = MERGED / 2;

/// The quick moments of all items, in the law's order.
pub(super) fn moments<T: Number>(items: &Items<'_, T>) -> QuickMoments {
    let counters = chunks(items, |room, chunk| {
        let mut counter = Counter::at(chunk.start as u64);
        let mut levels = [Level::EMPTY; 2];
        for (level, block) in blocks(chunk.start as u64, chunk.len(), LEVELS) {
            let block = chunk.start + block.start..chunk.start + block.end;
            let moments = merge(items.range(block, room), &mut levels);
            counter.push(level, moments, QuickMerge::combine);
        }
        counter
    });
    in_rust_mode(|| {
        let mut all = Counter::at(0);
        for counter in &counters {
            all.append(counter, QuickMerge::combine);
        }
        all.prefix(None, QuickMerge::combine)
            .unwrap_or(QuickMoments::EMPTY)
    })
}

/// A level of the tree over a block: the sums of its complete parts, and their deviations.
#[repr(align(64))]
struct Level {
    sums: [f64; MERGED / 2],
    deviations: [f64; MERGED / 2],
}

impl Level {
    const EMPTY: Level = Level {
        sums: [0.0; MERGED / 2],
        deviations: [0.0; MERGED / 2],
    };
}

/// The quick moments of a power of two of items, at most a block, as [`QuickMerge`] merges them.
/// Levels of the tree go to the two places in turn.
fn merge<T: Number>(items: &[T], levels: &mut [Level; 2]) -> QuickMoments {
    if let [x] = items {
        return QuickMoments::of(T::AsF64::call((*x,)));
    }
    with_simd(
        #[inline(always)]
        || match items.len() {
            // The compiler knows the length of nearly every block.
            MERGED => merge_levels(&items[..MERGED], levels),
            _ => merge_levels(items, levels),
        },
    )
}

#[inline(always)]
fn merge_levels<T: Number>(items: &[T], [level, above]: &mut [Level; 2]) -> QuickMoments {
    let (mut level, mut above) = (level, above);
    let (pairs, _) = items.as_chunks::<2>();
    for (i, strip) in pairs.chunks(STRIP).enumerate() {
        let ahead = items.as_ptr().wrapping_add(2 * STRIP * i + AHEAD);
        prefetch(ahead.cast(), size_of_val(strip));
        let sums = level.sums[STRIP * i..].iter_mut();
        let targets = sums.zip(&mut level.deviations[STRIP * i..]);
        for ((sum, deviations), &pair) in targets.zip(strip) {
            let [a, b] = pair.map(|x| T::AsF64::call((x,)));
            *sum = a + b;
            let difference = a - b;
            *deviations = difference * (difference * 0.5);
        }
    }
    let (mut len, mut weight) = (items.len() / 2, 0.5);
    while len > 1 {
        weight *= 0.5;
        let (sums, _) = level.sums[..len].as_chunks::<2>();
        let (deviations, _) = level.deviations[..len].as_chunks::<2>();
        let targets = above.sums.iter_mut().zip(&mut above.deviations);
        for ((to, merged), (&[a, b], &[of_a, of_b])) in targets.zip(sums.iter().zip(deviations)) {
            *to = a + b;
            let difference = a - b;
            *merged = (of_a + of_b) + difference * (difference * weight);
        }
        std::mem::swap(&mut level, &mut above);
        len /= 2;
    }
    QuickMoments::new(items.len() as f64, level.sums[0], level.deviations[0])
}

/// The items of a block of careful moments.
const CAREFUL: usize = 1 << CAREFUL_LEVELS;

/// The levels of the tree over such a block.
const CAREFUL_LEVELS: u32 = 8;

/// The moments of all items, in the law's order, as [`Merge`] merges them.
pub(super) fn careful_moments<T: Number>(items: &Items<'_, T>) -> Moments {
    let counters = chunks(items, |room, chunk| {
        let mut counter = Counter::at(chunk.start as u64);
        let mut levels = [CarefulLevel::EMPTY; 2];
        for (level, block) in blocks(chunk.start as u64, chunk.len(), CAREFUL_LEVELS) {
            let block = chunk.start + block.start..chunk.start + block.end;
            let items = items.range(block, room);
            let moments = with_simd(
                #[inline(always)]
                || merge_carefully(items, &mut levels),
            );
            counter.push(level, moments, Merge::combine);
        }
        counter
    });
    in_rust_mode(|| {
        let mut all = Counter::at(0);
        for counter in &counters {
            all.append(counter, Merge::combine);
        }
        all.prefix(None, Merge::combine).unwrap_or(Moments::EMPTY)
    })
}

/// A level of the tree over a block: what [`Moments`] of groups of one size consist of.
#[repr(align(64))]
struct CarefulLevel {
    sums: [f64; CAREFUL],
    origins: [f64; CAREFUL],
    offsets: [f64; CAREFUL],
    deviations: [f64; CAREFUL],
    scales: [f64; CAREFUL],
}

impl CarefulLevel {
    const EMPTY: CarefulLevel = CarefulLevel {
        sums: [0.0; CAREFUL],
        origins: [0.0; CAREFUL],
        offsets: [0.0; CAREFUL],
        deviations: [0.0; CAREFUL],
        scales: [0.0; CAREFUL],
    };
}

/// The moments of a power of two of items, at most a block. All groups of a level have as many, so
/// each half has half of the weight. Otherwise each line is one of [`Merge`]'s.
#[inline(always)]
fn merge_carefully<T: Number>(items: &[T], [level, above]: &mut [CarefulLevel; 2]) -> Moments {
    let (mut level, mut above) = (level, above);
    for (i, &x) in items.iter().enumerate() {
        let moments = T::Measure::call((x,));
        level.sums[i] = moments.sum;
        level.origins[i] = moments.origin;
        level.offsets[i] = moments.offset;
        level.deviations[i] = moments.deviations;
        level.scales[i] = moments.scale;
    }
    let (mut len, mut weight) = (items.len(), 0.5);
    while len > 1 {
        let (sums, _) = level.sums[..len].as_chunks::<2>();
        let (origins, _) = level.origins[..len].as_chunks::<2>();
        let (offsets, _) = level.offsets[..len].as_chunks::<2>();
        let (deviations, _) = level.deviations[..len].as_chunks::<2>();
        let (scales, _) = level.scales[..len].as_chunks::<2>();
        let values = sums
            .iter()
            .zip(origins)
            .zip(offsets)
            .zip(deviations)
            .zip(scales);
        let to = above.sums.iter_mut().zip(&mut above.origins);
        let to = to.zip(&mut above.offsets).zip(&mut above.deviations);
        for (to, values) in to.zip(&mut above.scales).zip(values) {
            let ((((to_sum, to_origin), to_offset), to_deviations), to_scale) = to;
            let ((((sum, origin), offset), deviations), scales) = values;
            let scale = if scales[0] < scales[1] {
                scales[1]
            } else {
                scales[0]
            };
            let inverse = f64::from_bits((2046 << 52) - scale.to_bits());
            let (of_a, of_b) = (scales[0] * inverse, scales[1] * inverse);
            let shift = origin[1] * inverse - origin[0] * inverse;
            let difference = (offset[1] * of_b + shift) - offset[0] * of_a;
            let both = deviations[0] * (of_a * of_a) + deviations[1] * (of_b * of_b);
            *to_sum = sum[0] + sum[1];
            *to_origin = origin[0];
            *to_offset = offset[0] * of_a + difference * 0.5;
            *to_deviations = both + difference * (difference * weight);
            *to_scale = scale;
        }
        std::mem::swap(&mut level, &mut above);
        len /= 2;
        weight *= 2.0;
    }
    Moments {
        count: items.len() as f64,
        sum: level.sums[0],
        origin: level.origins[0],
        offset: level.offsets[0],
        deviations: level.deviations[0],
        scale: level.scales[0],
    }
}
