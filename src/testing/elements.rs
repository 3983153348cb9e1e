//! The strategy for those who do not say which elements to draw.

use super::parts::are_finite;
use crate::Element;
use proptest::prelude::*;
use std::fmt::Debug;

/// Elements of any bits, except that their floats are finite. Numbers are often small, and often at
/// the ends of their range.
///
/// It suits operators on integers, and minima and maxima. Sums and products of such floats overflow;
/// draw these from a range. It does not suit structs that are meant to hold some values only.
///
/// ```
/// use warpfold::testing::{assert_monoid, elements};
///
/// #[warpfold::monoid(identity = 0, exact, commutative)]
/// fn gcd(a: u32, b: u32) -> u32 {
///     let (mut a, mut b) = (a, b);
///     while b != 0 {
///         (a, b) = (b, a % b);
///     }
///     a
/// }
///
/// assert_monoid::<u32, Gcd>(elements());
/// ```
pub fn elements<T: Element + Debug>() -> impl Strategy<Value = T> {
    let byte = prop_oneof![3 => any::<u8>(), 2 => Just(0), 1 => Just(0xff), 1 => 1..4_u8];
    proptest::collection::vec(byte, size_of::<T>())
        .prop_map(|bytes| bytemuck::pod_read_unaligned::<T>(&bytes))
        .prop_filter("floats are finite", are_finite)
}
