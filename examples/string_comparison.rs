//! The lexicographic order of two long texts: the first difference wins.
//!
//! Each pair of bytes is mapped to −1, 0 or 1. The order of the texts is the first of these that is
//! not 0: a reduction with "a, unless it is 0, else b" (Blelloch 1990, section 1.3). If there is
//! none, the shorter text comes first.
//!
//! `cargo run --release --example string_comparison`

mod support;

use std::cmp::Ordering;
use support::Report;
use warpfold::{Buffer, Device, Result, Source, map, zip};

/// The first that is not 0: the order of two texts from the orders of their parts.
#[warpfold::monoid(identity = 0, exact)]
fn first_difference(a: i8, b: i8) -> i8 {
    if a != 0 { a } else { b }
}

/// How a byte compares with its counterpart.
#[warpfold::function]
fn order(left: u8, right: u8) -> i8 {
    if left < right {
        -1
    } else if left > right {
        1
    } else {
        0
    }
}

/// How `left` compares with `right`, by a reduction.
fn in_parallel(device: &Device, (left, right): &(Buffer<u8>, Buffer<u8>)) -> Result<Ordering> {
    let first = device.reduce::<i8, FirstDifference>(orders(left, right))?;
    Ok(first.cmp(&0).then(left.len().cmp(&right.len())))
}

/// How each byte compares with its counterpart, as far as both texts go.
fn orders(left: &Buffer<u8>, right: &Buffer<u8>) -> impl Source<Device, Item = i8> {
    let common = left.len().min(right.len());
    map::<order, _>(zip(left.slice(..common), right.slice(..common)))
}

/// The sequential program: from the start to the first difference.
fn sequentially(left: &[u8], right: &[u8]) -> Ordering {
    for (a, b) in left.iter().zip(right) {
        if a != b {
            return a.cmp(b);
        }
    }
    left.len().cmp(&right.len())
}

fn main() -> Result<()> {
    let length = support::length(1 << 24);
    let text = support::repeated(support::SOURCE.as_bytes(), length);
    // The longest way to a difference: at the very end.
    let mut edited = text.clone();
    edited[length - 1] += 1;
    let report = Report {
        example: "string_comparison",
        length,
    };

    let expected = sequentially(&text, &edited);
    println!("the text is {expected:?} than its edited copy");
    report.sequential(|| sequentially(&text, &edited));
    let (both, reversed) = ((text.clone(), edited.clone()), (edited, text));
    for device in support::devices() {
        let order = report.parallel(&device, &both, in_parallel)?;
        assert_eq!(order, expected);
        let order = support::answer(&device, &reversed, in_parallel)?;
        assert_eq!(order, expected.reverse());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_the_cpu(left: &[u8], right: &[u8]) -> Result<Ordering> {
        let both = (left.to_vec(), right.to_vec());
        support::answer(&Device::cpu(), &both, in_parallel)
    }

    #[test]
    fn words_are_in_the_order_of_the_dictionary() -> Result<()> {
        let words = ["", "scan", "scanned", "scant", "span", "Zürich", "über"];
        for a in words {
            for b in words {
                let order = on_the_cpu(a.as_bytes(), b.as_bytes())?;
                assert_eq!(order, a.cmp(b), "{a:?} and {b:?}");
            }
        }
        Ok(())
    }

    #[test]
    fn random_texts_are_in_the_order_of_the_standard_library() -> Result<()> {
        let mut random = support::random(5);
        for _ in 0..100 {
            // Long common prefixes are likely with an alphabet of one letter and a rare second one.
            let mut text = || -> Vec<u8> {
                let length = random.next().expect("endless") % 2000;
                let letters = random.by_ref().map(|bits| u8::from(bits % 1000 == 0));
                letters.take(length as usize).collect()
            };
            let (a, b) = (text(), text());
            assert_eq!(on_the_cpu(&a, &b)?, a.cmp(&b));
            assert_eq!(sequentially(&a, &b), a.cmp(&b));
        }
        Ok(())
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_operator_is_a_monoid() {
        use warpfold::testing::assert_monoid;
        assert_monoid::<i8, FirstDifference>(-1_i8..=1);
    }

    #[test]
    fn the_reduction_compiles_as_cuda() -> Result<()> {
        let text = Device::cpu().upload(b"text")?;
        support::check_reduce::<i8, FirstDifference, _>(orders(&text, &text));
        Ok(())
    }
}
