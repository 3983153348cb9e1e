//! Radix sort, made of stable partitions.
//!
//! All places in a text, in the order of the four bytes that stand there: the first round of
//! building a suffix array (Manber & Myers 1993). The sort takes the keys bit by bit from the
//! lowest. Each time it *splits* them: those with a 0 in front, those with a 1 behind, otherwise in
//! the order in which they were (Blelloch 1990, section 1.3). A split is a stable partition that
//! leaves both sides in one buffer: its scan of flags says how many zeros come before an element,
//! and thereby where it goes. Two buffers take turns. Bits that all keys share are passed over.
//!
//! `cargo run --release --example radix_sort`

mod support;

use support::Report;
use warpfold::{Buffer, Device, Element, Result, Source, constant, map, zip};

/// A key, and the place in the text where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Entry {
    key: u32,
    place: u32,
}

/// Whether the key has a 0 at `bit`.
#[warpfold::function]
fn has_zero(entry: Entry, bit: u32) -> bool {
    entry.key >> bit & 1 == 0
}

/// The bits that some keys have set, and those that all have.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Bits {
    any: u32,
    all: u32,
}

#[warpfold::monoid(identity = Bits { any: 0, all: u32::MAX }, exact, commutative)]
fn of_both(a: Bits, b: Bits) -> Bits {
    Bits {
        any: a.any | b.any,
        all: a.all & b.all,
    }
}

#[warpfold::function]
fn bits(entry: Entry) -> Bits {
    Bits {
        any: entry.key,
        all: entry.key,
    }
}

/// The entries in the order of their keys, equal keys in the order in which they were.
fn in_parallel(device: &Device, entries: &Buffer<Entry>) -> Result<Buffer<Entry>> {
    let Bits { any, all } = device.reduce::<Bits, OfBoth>(map::<bits, _>(entries))?;
    // Where all keys have the same bit, a split would change nothing.
    let mut differing = (0..u32::BITS).filter(|bit| (any & !all) >> bit & 1 == 1);
    let Some(first) = differing.next() else {
        return device.collect(entries);
    };
    let (mut sorted, _) = device.partition_flagged_joined(zeros(entries, first))?;
    let mut parted = device.allocate(sorted.len())?;
    for bit in differing {
        device.partition_flagged_joined_into(zeros(&sorted, bit), &mut parted)?;
        std::mem::swap(&mut sorted, &mut parted);
    }
    Ok(sorted)
}

/// The entries, each with whether its key has a 0 at `bit`.
fn zeros(entries: &Buffer<Entry>, bit: u32) -> impl Source<Device, Item = (Entry, bool)> {
    let bits = constant(bit, entries.len());
    zip(entries, map::<has_zero, _>(zip(entries, bits)))
}

/// The sequential program: the stable sort of the standard library.
fn sequentially(entries: &[Entry]) -> Vec<Entry> {
    let mut entries = entries.to_vec();
    entries.sort_by_key(|entry| entry.key);
    entries
}

/// Each place in a text with the four bytes from there on; behind the text there are zeros.
fn entries(text: &[u8]) -> Vec<Entry> {
    let byte = |i: usize| text.get(i).copied().unwrap_or(0);
    let key = |i| u32::from_be_bytes([byte(i), byte(i + 1), byte(i + 2), byte(i + 3)]);
    let entry = |i| Entry {
        key: key(i),
        place: i as u32,
    };
    (0..text.len()).map(entry).collect()
}

fn main() -> Result<()> {
    let length = support::length(1 << 19);
    let text = support::repeated(support::SOURCE.as_bytes(), length);
    let unsorted = entries(&text);
    let report = Report {
        example: "radix_sort",
        length,
    };

    let expected = sequentially(&unsorted);
    let Entry { key, place } = expected[length / 2];
    let key = key.to_be_bytes().escape_ascii().to_string();
    println!("in the middle stands {key:?}, from place {place} of the text");
    report.sequential(|| sequentially(&unsorted));
    for device in support::devices() {
        let sorted = report.parallel(&device, &unsorted, in_parallel)?;
        assert_eq!(sorted, expected);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::kernels;

    #[test]
    fn a_split_keeps_the_order_on_either_side() -> Result<()> {
        let device = Device::cpu();
        let entry = |key, place| Entry { key, place };
        let entries = [(5, 0), (4, 1), (3, 2), (2, 3), (4, 4), (7, 5)];
        let entries = device.upload(&entries.map(|(key, place)| entry(key, place)))?;
        let (parted, count) = device.partition_flagged_joined(zeros(&entries, 0))?;
        let zeros = parted.slice(..count).to_vec()?;
        assert_eq!(zeros, [entry(4, 1), entry(2, 3), entry(4, 4)]);
        let ones = parted.slice(count..).to_vec()?;
        assert_eq!(ones, [entry(5, 0), entry(3, 2), entry(7, 5)]);
        Ok(())
    }

    #[test]
    fn random_keys_are_sorted_as_by_the_standard_library() -> Result<()> {
        for (length, mask) in [(0, 0), (1, 0), (9, 0), (1000, 7), (10_000, u32::MAX)] {
            let keys = support::random(17)
                .map(|bits| bits as u32 & mask)
                .take(length);
            let entries = keys.zip(0..).map(|(key, place)| Entry { key, place });
            let entries: Vec<Entry> = entries.collect();
            let sorted = support::answer(&Device::cpu(), &entries, in_parallel)?;
            assert_eq!(sorted, sequentially(&entries));
        }
        Ok(())
    }

    #[test]
    fn the_kernels_compile_as_cuda() -> Result<()> {
        let entries = Device::cpu().upload(&[Entry { key: 0, place: 0 }])?;
        support::check_reduce::<Bits, OfBoth, _>(map::<bits, _>(&entries));
        support::check_select::<kernels::Sides, Entry, _>(zeros(&entries, 0));
        Ok(())
    }
}
