//! The steps of one CPU core.

use crate::{Element, Monoid};

/// Folds one item after the other; the identity of none.
pub fn sequential_reduce<T: Element, Op: Monoid<T>>(items: impl Iterator<Item = T>) -> T {
    let folded = items.map(T::widen).reduce(Op::combine);
    folded.map_or_else(Op::identity, T::narrow)
}

/// Replaces each item by the fold of those before it, one after the other.
pub fn sequential_scan<T: Element, Op: Monoid<T>>(items: &[T], out: &mut [T]) {
    let mut before = Op::identity().widen();
    for (item, out) in items.iter().zip(out) {
        *out = T::narrow(before);
        before = Op::combine(before, item.widen());
    }
}

/// Folds the upper half onto the lower one, in place, until one item is left. It pairs items that
/// are no neighbours, so it is right only for operators that commute.
///
/// # Panics
///
/// If there is no item.
pub fn halving<T: Element, Op: Monoid<T>>(items: &mut [T::Accumulator]) -> T {
    if let [item] = items {
        return T::narrow(*item);
    }
    let (lower, upper) = items.split_at_mut(items.len().div_ceil(2));
    for (a, b) in lower.iter_mut().zip(upper) {
        *a = Op::combine(*a, *b);
    }
    halving::<T, Op>(lower)
}
