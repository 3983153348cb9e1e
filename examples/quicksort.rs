//! Quicksort of all segments at once, with segmented scans.
//!
//! Quicksort calls itself for two parts, for four, for eight, and soon for thousands of small ones.
//! Here the parts are *segments* of one array, and each round partitions all of them together
//! (Blelloch 1990, section 1.5). It needs sums that begin anew in every segment. They are no new
//! primitive, but a monoid of pairs of a flag and a value: a value behind a flag forgets what was
//! before it.
//!
//! The keys are the windows of four bytes of a real text, of which there are many equal ones.
//!
//! `cargo run --release --example quicksort`

mod support;

use std::cmp::Ordering;
use support::Report;
use warpfold::{
    Device, Element, Result,
    ops::{Max, Min},
};

/// How many keys of a segment are less than its pivot, equal to it, and greater.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Counts {
    /// 1 if a segment begins among the counted keys: the counts are those since then.
    begins: u32,
    less: u32,
    equal: u32,
    greater: u32,
}

const NONE: Counts = Counts {
    begins: 0,
    less: 0,
    equal: 0,
    greater: 0,
};

/// The sum, unless a segment begins in `b`.
#[warpfold::monoid(identity = NONE, exact)]
fn segmented_add(a: Counts, b: Counts) -> Counts {
    if b.begins != 0 {
        b
    } else {
        Counts {
            begins: a.begins,
            less: a.less.wrapping_add(b.less),
            equal: a.equal.wrapping_add(b.equal),
            greater: a.greater.wrapping_add(b.greater),
        }
    }
}

/// The sorted keys. There are fewer than 2^32 of them.
fn in_parallel(device: &Device, mut keys: Vec<u32>) -> Result<Vec<u32>> {
    // Where segments begin. At first all is one.
    let mut begins = vec![false; keys.len()];
    begins.iter_mut().take(1).for_each(|begins| *begins = true);
    while !keys.is_sorted() {
        (keys, begins) = partition(device, &keys, &begins)?;
    }
    Ok(keys)
}

/// Partitions every segment into three: what is less than its pivot, equal to it, and greater.
fn partition(device: &Device, keys: &[u32], begins: &[bool]) -> Result<(Vec<u32>, Vec<bool>)> {
    let firsts = firsts(device, begins)?;
    let lasts = lasts(device, begins)?;
    let pivot = |i: usize| keys[firsts[i].midpoint(lasts[i]) as usize];

    let counts: Vec<Counts> = (0..keys.len())
        .map(|i| count(keys[i], pivot(i), begins[i]))
        .collect();
    let counts = device.upload_vec(counts)?;
    let counts = device
        .inclusive_scan::<Counts, SegmentedAdd>(&counts)?
        .into_vec()?;

    let (mut new_keys, mut new_begins) = (keys.to_vec(), begins.to_vec());
    for i in 0..keys.len() {
        let (rank, total) = (counts[i], counts[lasts[i] as usize]);
        // How many of the segment go in front of this key's part, and how many of that part up to
        // this key.
        let (before, nth) = match keys[i].cmp(&pivot(i)) {
            Ordering::Less => (0, rank.less),
            Ordering::Equal => (total.less, rank.equal),
            Ordering::Greater => (total.less + total.equal, rank.greater),
        };
        let place = (firsts[i] + before + nth - 1) as usize;
        new_keys[place] = keys[i];
        new_begins[place] = nth == 1;
    }
    Ok((new_keys, new_begins))
}

/// One key, as a count.
fn count(key: u32, pivot: u32, begins: bool) -> Counts {
    let begins = u32::from(begins);
    match key.cmp(&pivot) {
        Ordering::Less => Counts {
            begins,
            less: 1,
            ..NONE
        },
        Ordering::Equal => Counts {
            begins,
            equal: 1,
            ..NONE
        },
        Ordering::Greater => Counts {
            begins,
            greater: 1,
            ..NONE
        },
    }
}

/// The place of the first key of each key's segment: the last place so far where one begins.
fn firsts(device: &Device, begins: &[bool]) -> Result<Vec<u32>> {
    let places = begins
        .iter()
        .zip(0..)
        .map(|(&begins, i)| if begins { i } else { 0 });
    let places = device.upload_vec(places.collect())?;
    device.inclusive_scan::<u32, Max>(&places)?.into_vec()
}

/// The place of the last key of each key's segment: the same, from the back.
fn lasts(device: &Device, begins: &[bool]) -> Result<Vec<u32>> {
    let ends = begins.iter().skip(1).chain([&true]);
    let places = ends.zip(0..).take(begins.len());
    let places = places.map(|(&ends, i)| if ends { i } else { u32::MAX });
    let mut backwards: Vec<u32> = places.collect();
    backwards.reverse();
    let backwards = device.upload_vec(backwards)?;
    let mut lasts = device.inclusive_scan::<u32, Min>(&backwards)?.into_vec()?;
    lasts.reverse();
    Ok(lasts)
}

/// The sequential program: the quicksort of the standard library.
fn sequentially(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort_unstable();
    keys
}

/// The windows of four bytes of a text.
fn windows(text: &[u8]) -> Vec<u32> {
    let key = |w: &[u8]| u32::from_be_bytes([w[0], w[1], w[2], w[3]]);
    text.windows(4).map(key).collect()
}

fn main() -> Result<()> {
    let length = support::length(1 << 18);
    let text = support::repeated(support::SOURCE.as_bytes(), length + 3);
    let keys = windows(&text);
    let report = Report {
        example: "quicksort",
        length,
    };

    let expected = sequentially(keys.clone());
    let middle = expected[length / 2].to_be_bytes();
    println!(
        "in the middle stands {:?}",
        middle.escape_ascii().to_string()
    );
    report.sequential(|| sequentially(keys.clone()));
    for device in support::devices() {
        assert_eq!(in_parallel(&device, keys.clone())?, expected);
        report.whole(&device, || in_parallel(&device, keys.clone()))?;
        // The segmented scan of the first round.
        let pivot = keys[(length - 1) / 2];
        let counts = keys
            .iter()
            .enumerate()
            .map(|(i, &key)| count(key, pivot, i == 0));
        report.scan::<Counts, SegmentedAdd>(&device, &counts.collect::<Vec<_>>())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::Primitive;

    #[test]
    fn one_round_partitions_every_segment_around_its_middle() -> Result<()> {
        let (yes, no) = (true, false);
        let (keys, begins) = partition(
            &Device::cpu(),
            &[3, 9, 5, 5, 1, /**/ 8, 2, 6],
            &[yes, no, no, no, no, yes, no, no],
        )?;
        assert_eq!(keys, [3, 1, 5, 5, 9, /**/ 2, 8, 6]);
        assert_eq!(begins, [yes, no, yes, no, yes, yes, yes, no]);
        Ok(())
    }

    #[test]
    fn random_keys_are_sorted_as_by_the_standard_library() -> Result<()> {
        for (length, mask) in [(0, 0), (1, 0), (2, 1), (500, 3), (10_000, u32::MAX)] {
            let keys = support::random(19).map(|bits| bits as u32 & mask);
            let keys: Vec<u32> = keys.take(length).collect();
            assert_eq!(
                in_parallel(&Device::cpu(), keys.clone())?,
                sequentially(keys)
            );
        }
        Ok(())
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_operator_is_a_monoid() {
        use proptest::prelude::*;
        use warpfold::testing::assert_monoid;
        let counts = (0_u32..2, any::<[u32; 3]>());
        let counts = counts.prop_map(|(begins, [less, equal, greater])| Counts {
            begins,
            less,
            equal,
            greater,
        });
        assert_monoid::<Counts, SegmentedAdd>(counts);
    }

    #[test]
    fn the_operator_compiles_as_cuda() {
        support::check_cuda::<Counts, SegmentedAdd>(Primitive::Scan);
    }
}
