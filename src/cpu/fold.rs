//! An operator as the parallel drivers see it.

use super::tree::Tree;
use super::{PrefixKind, tree};
use crate::{Element, Monoid};
use std::mem::MaybeUninit;

/// The functions that are compiled for a pair of an element type and an operator.
///
/// The drivers call them through pointers, a block or a chunk of work at a time. That costs
/// nothing, and the code for threads is compiled once for an element type, not again for every
/// operator.
pub(crate) struct Fold<T: Element> {
    pub(crate) combine: fn(T::Accumulator, T::Accumulator) -> T::Accumulator,
    /// See [`tree::block_sums`].
    pub(crate) block_sums: SumBlocks<T>,
    /// See [`tree::scan`].
    pub(crate) scan: ScanBlock<T>,
}

type SumBlocks<T> =
    fn(&mut Tree<<T as Element>::Accumulator>, u64, &[T], &mut Vec<<T as Element>::Accumulator>);

type ScanBlock<T> = fn(
    &mut Tree<<T as Element>::Accumulator>,
    &[T],
    &mut [MaybeUninit<T>],
    PrefixKind,
    Option<<T as Element>::Accumulator>,
    <T as Element>::Accumulator,
);

impl<T: Element> Fold<T> {
    pub(crate) const fn new<Op: Monoid<T>>() -> Fold<T> {
        Fold {
            combine: Op::combine,
            block_sums: tree::block_sums::<T, Op>,
            scan: tree::scan::<T, Op>,
        }
    }
}

impl<T: Element> Clone for Fold<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for Fold<T> {}
