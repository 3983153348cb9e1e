//! Segmented sort: the standard library's stable sort of each segment, on every backend.

#[cfg(feature = "cuda")]
mod compiled;
mod devices;
mod emulated;
#[cfg(feature = "cuda")]
mod on_the_gpu;

use crate::sort::cases::{Floats, Key, by_places, oracle};
use crate::support::data::Random;
use warpfold::Order;

/// Lengths of segments that go wrong in different ways.
#[derive(Debug, Clone, Copy)]
enum Mix {
    Ones,
    Tens,
    /// Some are empty, and many of them stand side by side.
    Empties,
    Hundreds,
    /// As many as a block sorts, one more and one less.
    Thousands(usize),
    /// Most are short, some very long.
    PowerLaw,
    /// One has half of all.
    HalfInOne,
    One,
}

const MIXES: [Mix; 8] = [
    Mix::Ones,
    Mix::Tens,
    Mix::Empties,
    Mix::Hundreds,
    Mix::Thousands(3360),
    Mix::PowerLaw,
    Mix::HalfInOne,
    Mix::One,
];

/// Offsets of segments that lie within so many items. The first and the last items may belong to
/// none.
fn offsets(mix: Mix, items: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut below = |most: u64| random.next() % most;
    let margin = (items as u64 / 50).min(3);
    let (mut at, end) = (below(margin + 1), items as u64 - below(margin + 1));
    let mut offsets = vec![at];
    let mut first = true;
    while at < end {
        let len = match mix {
            Mix::Ones => 1,
            Mix::Tens => 1 + below(20),
            Mix::Empties => match below(4) {
                0 => 1 + below(300),
                1 => {
                    offsets.extend(std::iter::repeat_n(at, 1500));
                    0
                }
                _ => 0,
            },
            Mix::Hundreds => 50 + below(100),
            Mix::Thousands(around) => around as u64 - 1 + below(3),
            Mix::PowerLaw => items as u64 / (1 + below(items as u64)),
            Mix::HalfInOne if first => items as u64 / 2,
            Mix::HalfInOne => 10,
            Mix::One => items as u64,
        };
        first = false;
        at = (at + len).min(end);
        offsets.push(at);
    }
    offsets
}

/// The keys with each segment sorted, and the places in the segments.
fn expected<K: Key>(
    order: (Order, bool, Floats),
    keys: &[K],
    offsets: &[u64],
) -> (Vec<K>, Vec<u64>) {
    let (mut sorted, mut places) = (keys.to_vec(), vec![0; keys.len()]);
    for pair in offsets.windows(2) {
        let range = pair[0] as usize..pair[1] as usize;
        let order = oracle(order, &keys[range.clone()]);
        sorted[range.clone()].copy_from_slice(&by_places(&keys[range.clone()], &order));
        places[range].copy_from_slice(&order);
    }
    (sorted, places)
}
