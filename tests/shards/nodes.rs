//! Nodes as values: merged in any order, stored, and refused where they do not fit.

use super::bounds;
use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::operators::{Affine, Bracketing, Sums, Then};
use crate::support::{oracle, seed};
use half::f16;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use warpfold::ops::{Add, Max};
use warpfold::shards::Nodes;
use warpfold::{Device, Monoid, Reducer};

/// The parts in some order.
fn shuffled<V>(mut parts: Vec<V>, seed: u64) -> Vec<V> {
    let mut random = Random::new(seed);
    for i in (1..parts.len()).rev() {
        parts.swap(i, (random.next() >> 8) as usize % (i + 1));
    }
    parts
}

fn check<T: Sample, Op: Monoid<T>>(input: &[T], bounds: &[usize], seed: u64) {
    let init = sample::<T>(1, 5)[0];
    let parts: Vec<_> = bounds.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let mut all = Nodes::<T, Op>::new();
    let device = Device::cpu();
    for part in shuffled(parts, seed) {
        let start = part.start as u64;
        let nodes = Nodes::<T, Op>::of(start, &input[part.clone()]).unwrap();
        let buffer = device.upload(&input[part.clone()]).unwrap();
        assert!(nodes == Nodes::on(&device, start, &buffer).unwrap());
        assert!(nodes == Nodes::from_bytes(&nodes.to_bytes()).unwrap());
        let packet = nodes.to_packet().unwrap();
        assert_eq!(packet.len(), Nodes::<T, Op>::PACKET_BYTES);
        assert!(nodes == Nodes::from_bytes(&packet).unwrap());
        for (block, sum) in nodes.iter() {
            let (len, at) = (block.end - block.start, block.start as usize);
            assert!(len.is_power_of_two() && block.start % len == 0);
            let block = &input[at..at + len as usize];
            let expected = oracle::reduce::<T, Op>(block, None);
            assert_same(&[T::narrow(sum)], &[expected], "a node");
        }
        all.merge(&nodes).unwrap();
        // What is merged so far can be stored, too.
        assert!(all == Nodes::from_bytes(&all.to_bytes()).unwrap());
    }
    let len = input.len() as u64;
    let values = [all.value(len).unwrap(), all.value_from(init, len).unwrap()];
    let expected = [None, Some(init)].map(|init| oracle::reduce::<T, Op>(input, init));
    assert_same(&values, &expected, &format!("{bounds:?}"));
    let reducer = Reducer::new().after(all.carry().unwrap());
    assert_same(&[reducer.value()], &expected[..1], "the carry");
    assert!(all == Nodes::from(all.carry().unwrap()));
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 12,
        rng_seed: RngSeed::Fixed(seed()),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_order_of_arrival(len in 0_usize..100_000, parts in 1_usize..40, seed: u64) {
        check::<u64, Bracketing>(&sample(len, seed), &bounds(len, parts, seed), seed);
    }

    #[test]
    fn all_types(len in 0_usize..5_000, parts in 1_usize..20, seed: u64) {
        let bounds = bounds(len, parts, seed);
        check::<u8, Bracketing>(&sample(len, seed), &bounds, seed);
        check::<f16, Add>(&sample(len, seed), &bounds, seed);
        check::<f32, Add>(&sample(len, seed), &bounds, seed);
        check::<Affine, Then>(&sample(len, seed), &bounds, seed);
        check::<[u64; 8], Sums>(&sample(len, seed), &bounds, seed);
    }
}

/// Every second part first, then those between, from the last one on.
#[test]
fn very_many_parts_arrive_out_of_order() {
    let len = 40_000;
    let input = sample::<u64>(len, 8);
    let mut all = Nodes::<u64, Bracketing>::new();
    let parts = (0..len / 2)
        .map(|i| 2 * i)
        .chain((0..len / 2).rev().map(|i| 2 * i + 1));
    for (count, at) in parts.enumerate() {
        all.merge(&Nodes::of(at as u64, &input[at..at + 1]).unwrap())
            .unwrap();
        if count + 1 == len / 2 {
            assert_eq!(all.ranges().count(), len / 2);
        }
    }
    assert!(all.ranges().eq(std::iter::once(0..len as u64)));
    let expected = oracle::reduce::<u64, Bracketing>(&input, None);
    assert_eq!(all.value(len as u64).unwrap(), expected);
}

/// Ascending blocks and then descending ones, of every length that there is. Each element is 1, so
/// the sum of a block is its length.
#[test]
fn the_most_nodes_fit_into_a_packet() {
    type All = Nodes<[u64; 8], Sums>;
    let ascending = (0..62).map(|level| [1 << level; 8]);
    let sums: Vec<_> = ascending.clone().chain(ascending.rev()).collect();
    let end = (1 << 63) - 1;
    let most = All::from_sums(1..end, sums.clone()).unwrap();
    assert_eq!(most.iter().count(), 124);
    assert!(
        most.iter()
            .all(|(block, sum)| sum == [block.end - block.start; 8])
    );
    let packet = most.to_packet().unwrap();
    assert_eq!(
        packet.len(),
        most.to_bytes().len(),
        "there is no room to spare"
    );
    assert_eq!((packet.len(), All::PACKET_BYTES), (8072, 8072));
    let mut all = All::from_bytes(&packet).unwrap();
    assert!(all == most);
    all.merge(&All::of(0, &[[1; 8]]).unwrap()).unwrap();
    assert_eq!(all.value(end).unwrap(), [end; 8]);

    assert!(All::from_sums(1..end, sums[1..].to_vec()).is_err());
    assert!(All::from_sums(1..1 << 63, sums.clone()).is_err());
    let backwards = std::ops::Range { start: 2, end: 1 };
    assert!(All::from_sums(backwards, vec![]).is_err());
    assert!(All::from_sums(2..2, vec![]).unwrap() == All::new());
}

#[test]
fn nodes_that_do_not_fit_are_refused() {
    type Sum = Nodes<f32, Add>;
    let of = |start: u64, len: usize| Sum::of(start, &sample::<f32>(len, start)).unwrap();
    let says = |error: warpfold::Error, text: &str| {
        let message = error.to_string();
        assert!(message.contains(text), "{message}");
    };
    let mut nodes = of(10, 20);
    let before = nodes.clone();
    says(
        nodes.merge(&of(29, 5)).unwrap_err(),
        "of [29, 30) are there already",
    );
    says(
        nodes.merge(&of(12, 3)).unwrap_err(),
        "of [12, 15) are there already",
    );
    says(
        nodes.merge(&of(0, 64)).unwrap_err(),
        "of [10, 30) are there already",
    );
    assert!(nodes == before);
    says(
        nodes.value(30).unwrap_err(),
        "are of [10, 30), not of [0, 30)",
    );
    says(
        nodes.carry().unwrap_err(),
        "remedy: merge those of the elements between",
    );
    nodes.merge(&of(0, 5)).unwrap();
    says(
        nodes.value(30).unwrap_err(),
        "are of [0, 5), [10, 30), not of [0, 30)",
    );
    nodes.merge(&of(5, 5)).unwrap();
    assert!(nodes.ranges().eq(std::iter::once(0..30)));
    says(
        nodes.value(29).unwrap_err(),
        "are of [0, 30), not of [0, 29)",
    );
    assert!(nodes.value(30).is_ok());
    assert!(Sum::new().value(0).is_ok() && Sum::new().value(1).is_err());
    says(
        Sum::of(u64::MAX >> 1, &[1.0_f32]).unwrap_err(),
        "of 1 elements from 9223372036854775807 on pass 2^63",
    );
    nodes.merge(&of(40, 1)).unwrap();
    nodes.merge(&of(50, 1)).unwrap();
    assert!(nodes.to_packet().is_ok(), "there is room");
    for at in 0..200 {
        nodes.merge(&of(100 + 2 * at, 1)).unwrap();
    }
    says(
        nodes.to_packet().unwrap_err(),
        "a packet holds those of one part",
    );
}

#[test]
fn bytes_that_are_no_nodes_are_refused() {
    let nodes = Nodes::<f32, Add>::of(3, &[1.0, 2.0, 4.0, 8.0]).unwrap();
    let bytes = nodes.to_bytes();
    let says = |result: warpfold::Result<Nodes<f32, Add>>, text: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(text), "{message}");
    };
    for at in 0..bytes.len() {
        assert!(Nodes::<f32, Add>::from_bytes(&bytes[..at]).is_err(), "{at}");
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(Nodes::<f32, Add>::from_bytes(&damaged).is_err(), "{at}");
        }
    }
    let followed = [&bytes[..], b"x"].concat();
    says(Nodes::from_bytes(&followed), "are followed by other bytes");
    says(
        Nodes::from_bytes(b"something else that is not"),
        "are not there",
    );
    let of_f64 = Nodes::<f64, Add>::of(0, &[1.0]).unwrap().to_bytes();
    says(
        Nodes::from_bytes(&of_f64),
        "are of f64 with Add, not of f32 with Add",
    );
    let of_max = Nodes::<f32, Max>::of(0, &[1.0]).unwrap().to_bytes();
    says(
        Nodes::from_bytes(&of_max),
        "are of f32 with Max, not of f32 with Add",
    );
}

mod elsewhere {
    /// A sum of another definition, by the name of one.
    #[warpfold::monoid(identity = 0.0)]
    pub(crate) fn total(a: f32, b: f32) -> f32 {
        a + b
    }
}

#[warpfold::monoid(identity = 0.0)]
fn total(a: f32, b: f32) -> f32 {
    b + a + 0.0
}

#[test]
fn an_operator_with_another_definition_is_told_apart() {
    let bytes = Nodes::<f32, elsewhere::Total>::of(0, &[1.0])
        .unwrap()
        .to_bytes();
    let error = Nodes::<f32, Total>::from_bytes(&bytes)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("are of another definition of f32 with Total"),
        "{error}"
    );
}

#[cfg(feature = "serde")]
#[test]
fn serde_keeps_the_checks() {
    let nodes = Nodes::<f32, Add>::of(3, &sample::<f32>(100, 1)).unwrap();
    let text = serde_json::to_string(&nodes).unwrap();
    assert!(nodes == serde_json::from_str(&text).unwrap());
    let error = serde_json::from_str::<Nodes<f32, Max>>(&text).unwrap_err();
    assert!(error.to_string().contains("are of f32 with Add"), "{error}");
    assert!(serde_json::from_str::<Nodes<f32, Add>>("[1, 2, 3]").is_err());
    assert!(serde_json::from_str::<Nodes<f32, Add>>("\"text\"").is_err());
}
