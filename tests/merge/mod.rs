//! Merges, and sorts by a comparison: the standard library's stable sort of all items.

#[cfg(feature = "cuda")]
mod compiled;
mod emulated;
mod host;
#[cfg(feature = "cuda")]
mod on_the_gpu;

use crate::sort::cases::{Floats, Key, compare};
use crate::support::data::Random;
use std::cmp::Ordering;
use warpfold::{Element, Order, function};

/// An item that no integer stands for: fractions are compared by a product.
#[derive(Debug, Clone, Copy, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Fraction {
    numerator: i32,
    denominator: i32,
    /// Where it stood.
    place: u32,
}

#[function]
pub(crate) fn less(a: Fraction, b: Fraction) -> bool {
    a.numerator as i64 * (b.denominator as i64) < b.numerator as i64 * a.denominator as i64
}

/// Fractions of which many are equal.
pub(crate) fn fractions(len: usize, seed: u64) -> Vec<Fraction> {
    let mut random = Random::new(seed);
    let fractions = (0..len as u32).map(|place| Fraction {
        numerator: (random.next() % 41) as i32 - 20,
        denominator: (random.next() % 9) as i32 + 1,
        place,
    });
    fractions.collect()
}

pub(crate) fn sorted(mut fractions: Vec<Fraction>) -> Vec<Fraction> {
    fractions.sort_by(|&a, &b| match (less(a, b), less(b, a)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    });
    fractions
}

/// Both, one behind the other, sorted: what their merge must be if they are sorted.
pub(crate) fn merged<K: Key>(order: (Order, bool, Floats), a: &[K], b: &[K]) -> Vec<K> {
    let mut all = [a, b].concat();
    all.sort_by(|&x, &y| compare(order, x, y));
    all
}

/// Lengths of two arrays: none, some, on both sides of a tile of `tile` items.
pub(crate) fn lengths(tile: usize) -> Vec<(usize, usize)> {
    vec![
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (5, 0),
        (0, tile + 1),
        (tile, tile),
        (tile - 1, 1),
        (1, 3 * tile),
        (2 * tile + 5, tile / 2),
        (tile + 1, 4 * tile - 3),
    ]
}
