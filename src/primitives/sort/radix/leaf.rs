//! The sort of a leaf, from the lowest digit on, by one thread in its cache. It takes as many of
//! the highest bits as tell most records apart, and leaves the rest to be mended.

use super::digits::Digit;
use super::records::{BitsOf, Record, records};
use super::{LEAF_BYTES, Sorter};
use crate::primitives::sort::order::Bits;
use num_traits::PrimInt;
use std::mem::MaybeUninit;

/// The most bits of a digit of a leaf: its counters, and the lines that it writes to, are in the
/// caches nearest to a core.
const LEAF_BITS: u32 = 11;

/// The most passes over a leaf.
const LEAF_PASSES: usize = 3;

/// A leaf is sorted by so many bits more than tell as many numbers apart. Of random records few are
/// equal in these.
const SPARE_BITS: u32 = 5;

impl<R: Record> Sorter<R> {
    /// Sorts a leaf from the lowest digit on, by one thread in its cache. Records end in `to` if
    /// they move, and else `to` is not written.
    ///
    /// # Safety
    ///
    /// As for [`sort`](Sorter::sort). Some bits are `varying`, and no others vary.
    pub(super) unsafe fn sort_leaf(
        &self,
        from: &mut [MaybeUninit<R>],
        to: &mut [MaybeUninit<R>],
        moves: bool,
        varying: BitsOf<R>,
        spare: &mut Vec<R>,
    ) {
        const { assert!(LEAF_BYTES.ilog2() + SPARE_BITS <= LEAF_PASSES as u32 * LEAF_BITS) };
        let len = from.len();
        let top = BitsOf::<R>::BITS - varying.leading_zeros();
        let wanted = (top - varying.trailing_zeros()).min(len.ilog2() + SPARE_BITS);
        let passes = wanted.div_ceil(LEAF_BITS);
        let bits = wanted.div_ceil(passes);
        let lowest = top.saturating_sub(passes * bits);
        let digits = (0..passes).map(|pass| Digit::new(lowest + pass * bits, bits));
        // Of the bits between, all may be constant.
        let varies = |digit: &Digit| (varying >> digit.shift as usize).low_word() & digit.mask != 0;
        let mut counted = [(Digit::new(0, 0), [0_u32; 1 << LEAF_BITS]); LEAF_PASSES];
        let mut passes = 0;
        for digit in digits.filter(varies) {
            counted[passes].0 = digit;
            passes += 1;
        }
        let counted = &mut counted[..passes];
        for (digit, counts) in &mut *counted {
            // SAFETY: all of `from` is there.
            self.for_each_digit(unsafe { records(from) }, *digit, |_, digit| {
                counts[digit & ((1 << LEAF_BITS) - 1)] += 1;
            });
            let mut end = 0;
            for count in &mut counts[..=digit.mask as usize] {
                end += std::mem::replace(count, end);
            }
        }
        spare.clear();
        spare.reserve(len);
        let (origin, other) = (from.as_mut_ptr(), to.as_mut_ptr());
        let spare = spare.spare_capacity_mut().as_mut_ptr();
        let goal = if moves { other } else { origin };
        // These two are in the cache; what lies in `to` is not.
        let targets = [spare, origin, spare];
        let mut source = origin;
        for ((digit, places), target) in counted.iter_mut().zip(targets) {
            // SAFETY: all of the source is there: it is `from`, or the pass before wrote it. The
            // target is another of three arrays, which have one length.
            let all = unsafe { std::slice::from_raw_parts(source.cast::<R>(), len) };
            self.for_each_digit(all, *digit, |record, digit| {
                let place = &mut places[digit & ((1 << LEAF_BITS) - 1)];
                // SAFETY: places are below the length: as many were counted.
                unsafe { (*target.add(*place as usize)).write(*record) };
                *place += 1;
            });
            source = target;
        }
        // SAFETY: the three arrays are apart from each other, and only used through the pointers
        // here. The source was written.
        unsafe {
            if varying.trailing_zeros() < lowest {
                let unused = if source == spare { origin } else { spare };
                let data = std::slice::from_raw_parts_mut(source, len);
                self.mend(data, std::slice::from_raw_parts_mut(unused, len), lowest);
            }
            if source != goal {
                goal.copy_from_nonoverlapping(source, len);
            }
        }
    }
}
