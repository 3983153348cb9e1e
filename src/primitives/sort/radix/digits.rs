//! The digits of records: some neighbouring bits of their ranks. They are found by vector
//! instructions, a group of records at a time.

use super::Sorter;
use super::records::{BitsOf, Record};
use crate::cpu::with_simd;
use crate::primitives::sort::order::Bits;

/// Records whose digits are found together, by vector instructions.
pub(super) const GROUP: usize = 64;

/// Some neighbouring bits of a rank.
#[derive(Clone, Copy)]
pub(super) struct Digit {
    pub(super) shift: u32,
    pub(super) mask: u32,
}

impl Digit {
    pub(super) fn new(shift: u32, bits: u32) -> Digit {
        Digit {
            shift,
            mask: (1 << bits) - 1,
        }
    }
}

impl<R: Record> Sorter<R> {
    #[inline(always)]
    pub(super) fn rank(&self, record: &R) -> BitsOf<R> {
        self.map.rank(record.key())
    }

    #[inline(always)]
    fn digit(&self, record: &R, digit: Digit) -> u32 {
        (self.rank(record) >> digit.shift as usize).low_word() & digit.mask
    }

    /// Calls `visit` with each record and its digit, in order.
    #[inline(always)]
    pub(super) fn for_each_digit(
        &self,
        records: &[R],
        digit: Digit,
        mut visit: impl FnMut(&R, usize),
    ) {
        let (groups, rest) = records.as_chunks::<GROUP>();
        let mut digits = [0; GROUP];
        for group in groups {
            self.find_digits(group, digit, &mut digits);
            for (record, &digit) in group.iter().zip(&digits) {
                visit(record, digit as usize);
            }
        }
        for record in rest {
            visit(record, self.digit(record, digit) as usize);
        }
    }

    fn find_digits(&self, records: &[R; GROUP], digit: Digit, digits: &mut [u32; GROUP]) {
        with_simd(
            #[inline(always)]
            || {
                for (to, record) in digits.iter_mut().zip(records) {
                    *to = self.digit(record, digit);
                }
            },
        );
    }
}
