//! Radix sort, made of splits, which are made of scans.
//!
//! All places in a text, in the order of the four bytes that stand there: the first round of
//! building a suffix array (Manber & Myers 1993). The sort takes the keys bit by bit from the
//! lowest, 32 times. Each time it *splits* them: those with a 0 in front, those with a 1 behind,
//! otherwise in the order in which they were. The exclusive scan of "has a 0" says how many zeros
//! are in front of an element, and thereby where it goes (Blelloch 1990, section 1.3).
//!
//! `cargo run --release --example radix_sort`

mod support;

use support::Report;
use warpfold::{Device, Result, ops::Add};

/// A key, and the place in the text where it stands.
type Entry = (u32, u32);

/// The entries in the order of their keys, equal keys in the order in which they were.
fn in_parallel(device: &Device, mut entries: Vec<Entry>) -> Result<Vec<Entry>> {
    let mut sorted = entries.clone();
    for bit in 0..u32::BITS {
        split(device, bit, &entries, &mut sorted)?;
        std::mem::swap(&mut entries, &mut sorted);
    }
    Ok(entries)
}

/// The entries whose key has a 0 at `bit`, then those with a 1.
fn split(device: &Device, bit: u32, entries: &[Entry], output: &mut [Entry]) -> Result<()> {
    let is_zero = device.upload_vec(zeros(bit, entries))?;
    let zeros = device.reduce::<u32, Add>(&is_zero)? as usize;
    let zeros_before = device.scan::<u32, Add>(&is_zero)?.into_vec()?;

    for (i, (&entry, zeros_before)) in entries.iter().zip(zeros_before).enumerate() {
        let zeros_before = zeros_before as usize;
        let ones_before = i - zeros_before;
        let is_one = entry.0 >> bit & 1 == 1;
        output[if is_one {
            zeros + ones_before
        } else {
            zeros_before
        }] = entry;
    }
    Ok(())
}

/// 1 for each key with a 0 at `bit`, else 0.
fn zeros(bit: u32, entries: &[Entry]) -> Vec<u32> {
    entries.iter().map(|(key, _)| !key >> bit & 1).collect()
}

/// The sequential program: the stable sort of the standard library.
fn sequentially(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by_key(|&(key, _)| key);
    entries
}

/// Each place in a text with the four bytes from there on; behind the text there are zeros.
fn entries(text: &[u8]) -> Vec<Entry> {
    let byte = |i: usize| text.get(i).copied().unwrap_or(0);
    let key = |i| u32::from_be_bytes([byte(i), byte(i + 1), byte(i + 2), byte(i + 3)]);
    (0..text.len()).map(|i| (key(i), i as u32)).collect()
}

fn main() -> Result<()> {
    let length = support::length(1 << 19);
    let text = support::repeated(support::SOURCE.as_bytes(), length);
    let unsorted = entries(&text);
    let report = Report {
        example: "radix_sort",
        length,
    };

    let expected = sequentially(unsorted.clone());
    let (key, place) = expected[length / 2];
    let key = key.to_be_bytes().escape_ascii().to_string();
    println!("in the middle stands {key:?}, from place {place} of the text");
    report.sequential(|| sequentially(unsorted.clone()));
    for device in support::devices() {
        assert_eq!(in_parallel(&device, unsorted.clone())?, expected);
        report.whole(&device, || in_parallel(&device, unsorted.clone()))?;
        // One of 32.
        report.scan::<u32, Add>(&device, &zeros(0, &unsorted))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_keeps_the_order_on_either_side() -> Result<()> {
        let entries = [
            (5, 0),
            (7, 1),
            (3, 2),
            (1, 3),
            (4, 4),
            (2, 5),
            (7, 6),
            (2, 7),
        ];
        let mut output = entries;
        split(&Device::cpu(), 0, &entries, &mut output)?;
        assert_eq!(
            output,
            [
                (4, 4),
                (2, 5),
                (2, 7),
                (5, 0),
                (7, 1),
                (3, 2),
                (1, 3),
                (7, 6)
            ]
        );
        Ok(())
    }

    #[test]
    fn random_keys_are_sorted_as_by_the_standard_library() -> Result<()> {
        for (length, mask) in [(0, 0), (1, 0), (1000, 7), (10_000, u32::MAX)] {
            let keys = support::random(17)
                .map(|bits| bits as u32 & mask)
                .take(length);
            let entries: Vec<Entry> = keys.zip(0..).collect();
            let sorted = in_parallel(&Device::cpu(), entries.clone())?;
            assert_eq!(sorted, sequentially(entries));
        }
        Ok(())
    }
}
