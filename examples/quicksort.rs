//! Quicksort with many pivots at a time, made of partitions.
//!
//! Pivots cut the keys into parts: a key's part is the number of pivots up to it. That number has a
//! few bits. A stable partition for each bit, from the lowest, brings the parts into their order,
//! all keys at once: as many levels of quicksort (Hoare 1962) as there are bits, without recursion,
//! whose parts get shorter and shorter. The pivots are every so many keys of a sorted sample
//! (Frazer & McKellar 1970), which a strided source picks. At last each part is sorted by one core.
//!
//! The keys are the windows of four bytes of a real text, of which there are many equal ones.
//!
//! `cargo run --release --example quicksort`

mod support;

use rayon::prelude::*;
use support::Report;
use warpfold::{Buffer, Device, Result, Source, constant, map, strided, zip, zip3};

/// The number of parts is a power of two.
const BITS: u32 = 4;
const PIVOTS: usize = (1 << BITS) - 1;

/// How many keys of the sample there are for each part.
const SAMPLE: usize = 64;

/// So few keys are sorted by one core.
const SHORT: usize = 1 << 14;

/// Whether the number of a key's part has a 0 at `bit`.
#[warpfold::function]
fn has_zero(key: u32, pivots: [u32; PIVOTS], bit: u32) -> bool {
    let mut part = 0_u32;
    for i in 0..PIVOTS {
        part += (pivots[i] <= key) as u32;
    }
    part >> bit & 1 == 0
}

/// The sorted keys.
fn in_parallel(device: &Device, keys: &Buffer<u32>) -> Result<Vec<u32>> {
    if keys.len() <= SHORT {
        let mut keys = keys.to_vec()?;
        keys.sort_unstable();
        return Ok(keys);
    }
    let pivots = pivots(device, keys)?;
    let (mut parted, _) = device.partition_flagged_joined(zeros(keys, pivots, 0))?;
    let mut other = device.allocate(keys.len())?;
    for bit in 1..BITS {
        device.partition_flagged_joined_into(zeros(&parted, pivots, bit), &mut other)?;
        std::mem::swap(&mut parted, &mut other);
    }
    let mut keys = parted.into_vec()?;
    parts(&mut keys, pivots)
        .into_par_iter()
        .for_each(<[u32]>::sort_unstable);
    Ok(keys)
}

/// Keys that cut all keys into parts of about the same length, in their order.
fn pivots(device: &Device, keys: &Buffer<u32>) -> Result<[u32; PIVOTS]> {
    let sample = strided(keys, 1, keys.len() / (SAMPLE << BITS));
    let mut sample = device.collect(sample)?.into_vec()?;
    sample.sort_unstable();
    Ok(std::array::from_fn(|i| sample[(i + 1) * SAMPLE]))
}

/// The keys, each with whether the number of its part has a 0 at `bit`.
fn zeros(
    keys: &Buffer<u32>,
    pivots: [u32; PIVOTS],
    bit: u32,
) -> impl Source<Device, Item = (u32, bool)> {
    let (pivots, bits) = (constant(pivots, keys.len()), constant(bit, keys.len()));
    zip(keys, map::<has_zero, _>(zip3(keys, pivots, bits)))
}

/// The parts of keys that lie in the order of their parts.
fn parts(mut keys: &mut [u32], pivots: [u32; PIVOTS]) -> Vec<&mut [u32]> {
    let mut parts = Vec::new();
    for pivot in pivots {
        let (part, rest) = keys.split_at_mut(keys.partition_point(|&key| key < pivot));
        parts.push(part);
        keys = rest;
    }
    parts.push(keys);
    parts
}

/// The sequential program: the quicksort of the standard library.
fn sequentially(keys: &[u32]) -> Vec<u32> {
    let mut keys = keys.to_vec();
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

    let expected = sequentially(&keys);
    let middle = expected[length / 2].to_be_bytes();
    println!(
        "in the middle stands {:?}",
        middle.escape_ascii().to_string()
    );
    report.sequential(|| sequentially(&keys));
    for device in support::devices() {
        let sorted = report.parallel(&device, &keys, in_parallel)?;
        assert_eq!(sorted, expected);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::kernels::Sides;

    fn check(keys: Vec<u32>) -> Result<()> {
        let sorted = support::answer(&Device::cpu(), &keys, in_parallel)?;
        assert_eq!(sorted, sequentially(&keys));
        Ok(())
    }

    #[test]
    fn random_keys_are_sorted_as_by_the_standard_library() -> Result<()> {
        for (length, mask) in [(0, 0), (1, 0), (2, 1), (20_000, 3), (100_000, u32::MAX)] {
            let keys = support::random(19).map(|bits| bits as u32 & mask);
            check(keys.take(length).collect())?;
        }
        Ok(())
    }

    #[test]
    fn sorted_keys_are_sorted() -> Result<()> {
        check((0..100_000).collect())?;
        check((0..100_000).rev().collect())?;
        check(vec![u32::MAX; SHORT + 1])
    }

    #[test]
    fn the_parts_are_about_as_long_as_each_other() -> Result<()> {
        let device = Device::cpu();
        let keys: Vec<u32> = support::random(5).map(|x| x as u32).take(100_000).collect();
        let pivots = pivots(&device, &device.upload(&keys)?)?;
        let mut sorted = sequentially(&keys);
        for part in parts(&mut sorted, pivots) {
            assert!(part.len() < (2 * keys.len()) >> BITS, "{}", part.len());
        }
        Ok(())
    }

    #[test]
    fn the_partition_compiles_as_cuda() -> Result<()> {
        let keys = Device::cpu().upload(&[0_u32])?;
        support::check_select::<Sides, u32, _>(zeros(&keys, [0; PIVOTS], 0));
        Ok(())
    }
}
