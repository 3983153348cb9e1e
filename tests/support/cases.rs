//! Data with the results that a GPU must give, bit for bit.

use super::data::{Sample, assert_same, sample};
use super::oracle;
use warpfold::Monoid;

/// [`assert_same`], which is slow, only where bits differ.
#[track_caller]
pub(crate) fn assert_bits<T: Sample>(got: &[T], expected: &[T], what: &str) {
    let bytes = warpfold::bytemuck::cast_slice::<T, u8>;
    if bytes(got) != bytes(expected) {
        assert_same(got, expected, what);
    }
}

/// One input, and what it gives.
pub(crate) struct Case<T> {
    pub(crate) data: Vec<T>,
    pub(crate) exclusive: Vec<T>,
    pub(crate) inclusive: Vec<T>,
    pub(crate) total: T,
}

impl<T: Sample> Case<T> {
    pub(crate) fn new<Op: Monoid<T>>(length: usize, seed: u64) -> Case<T> {
        let data = sample::<T>(length, seed);
        Case {
            exclusive: oracle::exclusive::<T, Op>(&data, None),
            inclusive: oracle::inclusive::<T, Op>(&data, None),
            total: oracle::reduce::<T, Op>(&data, None),
            data,
        }
    }
}
