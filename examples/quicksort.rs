//! Quicksort, made of partitions.
//!
//! A stable partition moves the keys below a pivot to one side, a second one parts the pivot's
//! equals from the keys above it, and quicksort goes on with both sides (Hoare 1962; with three
//! sides: Dijkstra 1976). The pivot is the median of a sample, which is every so many keys: a
//! strided source. Parts that are too short for all cores to share are sorted by one core each.
//!
//! The keys are the windows of four bytes of a real text, of which there are many equal ones.
//!
//! `cargo run --release --example quicksort`

mod support;

use rayon::prelude::*;
use support::Report;
use warpfold::{Buffer, Device, Result, Source, constant, map, strided, zip};

/// Parts of no more keys are sorted by one core.
const SHORT: usize = 1 << 14;

/// The number of keys among which the pivot is the median.
const SAMPLE: usize = 63;

#[warpfold::function]
fn is_less(key: u32, pivot: u32) -> bool {
    key < pivot
}

#[warpfold::function]
fn is_equal(key: u32, pivot: u32) -> bool {
    key == pivot
}

/// The sorted keys.
fn in_parallel(device: &Device, keys: Vec<u32>) -> Result<Vec<u32>> {
    let mut parts = Vec::new();
    split(device, device.upload_vec(keys)?, &mut parts)?;
    parts.par_iter_mut().for_each(|part| part.sort_unstable());
    Ok(parts.concat())
}

/// Adds the keys to `parts` in their order, but for the order within a short part.
fn split(device: &Device, keys: Buffer<u32>, parts: &mut Vec<Vec<u32>>) -> Result<()> {
    if keys.len() <= SHORT {
        parts.push(keys.into_vec()?);
        return Ok(());
    }
    let pivot = pivot(device, &keys)?;
    let (less, others) = device.partition_flagged(flagged_less(&keys, pivot))?;
    drop(keys);
    let (equal, greater) = device.partition_flagged(flagged_equal(&others, pivot))?;
    drop(others);
    split(device, less, parts)?;
    parts.push(equal.into_vec()?);
    split(device, greater, parts)
}

/// The median of a sample.
fn pivot(device: &Device, keys: &Buffer<u32>) -> Result<u32> {
    let sample = strided(keys, 1, keys.len() / SAMPLE);
    let mut sample = device.collect(sample)?.into_vec()?;
    sample.sort_unstable();
    Ok(sample[sample.len() / 2])
}

/// The keys, each with whether it is less than the pivot.
fn flagged_less(keys: &Buffer<u32>, pivot: u32) -> impl Source<Device, Item = (u32, bool)> {
    zip(
        keys,
        map::<is_less, _>(zip(keys, constant(pivot, keys.len()))),
    )
}

/// The keys, each with whether it equals the pivot.
fn flagged_equal(keys: &Buffer<u32>, pivot: u32) -> impl Source<Device, Item = (u32, bool)> {
    zip(
        keys,
        map::<is_equal, _>(zip(keys, constant(pivot, keys.len()))),
    )
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
    let length = support::length(1 << 20);
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
        report.parallel(&device, || in_parallel(&device, keys.clone()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::kernels::Sides;

    #[test]
    fn random_keys_are_sorted_as_by_the_standard_library() -> Result<()> {
        for (length, mask) in [(0, 0), (1, 0), (2, 1), (20_000, 3), (100_000, u32::MAX)] {
            let keys = support::random(19).map(|bits| bits as u32 & mask);
            let keys: Vec<u32> = keys.take(length).collect();
            assert_eq!(
                in_parallel(&Device::cpu(), keys.clone())?,
                sequentially(keys)
            );
        }
        Ok(())
    }

    #[test]
    fn sorted_keys_are_sorted() -> Result<()> {
        let keys: Vec<u32> = (0..100_000).collect();
        assert_eq!(in_parallel(&Device::cpu(), keys.clone())?, keys);
        Ok(())
    }

    #[test]
    fn the_partitions_compile_as_cuda() -> Result<()> {
        let keys = Device::cpu().upload(&[0_u32])?;
        support::check_select::<Sides, u32, _>(flagged_less(&keys, 0));
        support::check_select::<Sides, u32, _>(flagged_equal(&keys, 0));
        Ok(())
    }
}
