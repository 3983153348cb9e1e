//! One look at all ranks: which bits vary, and whether the records are in order already. Records
//! in the opposite order are turned around.

use super::Sorter;
use super::records::{BitsOf, Record};
use crate::cpu::threads::{for_each_of, map};
use crate::cpu::with_simd;
use num_traits::PrimInt;

/// What a look at all keys tells.
pub(super) struct Survey<B> {
    /// The bits that some rank has, and those that all have.
    any: B,
    all: B,
    /// Whether no rank is less than the one before it.
    pub(super) rises: bool,
    /// Whether no rank is greater than the one before it.
    pub(super) falls: bool,
}

impl<B: PrimInt> Survey<B> {
    /// The bits that some ranks have, and others have not.
    pub(super) fn varying(&self) -> B {
        self.any ^ self.all
    }
}

impl<R: Record> Sorter<R> {
    /// In parallel, if there are many.
    pub(super) fn survey(&self, records: &[R]) -> Survey<BitsOf<R>> {
        let both = |a: Survey<_>, b: Survey<_>| Survey {
            any: a.any | b.any,
            all: a.all & b.all,
            rises: a.rises && b.rises,
            falls: a.falls && b.falls,
        };
        let parts = records.len().div_ceil(Self::LEAF);
        let parts = map(parts, &|| (), &|(), number| {
            let start = number * Self::LEAF;
            let end = (start + Self::LEAF).min(records.len());
            // With the record before the part.
            self.survey_part(&records[start.saturating_sub(1)..end])
        });
        parts.into_iter().reduce(both).expect("there are records")
    }

    fn survey_part(&self, records: &[R]) -> Survey<BitsOf<R>> {
        with_simd(
            #[inline(always)]
            || {
                let first = self.rank(&records[0]);
                let (mut any, mut all) = (first, first);
                let (mut rises, mut falls) = (true, true);
                for (before, record) in records.iter().zip(&records[1..]) {
                    let (before, rank) = (self.rank(before), self.rank(record));
                    any = any | rank;
                    all = all & rank;
                    rises &= before <= rank;
                    falls &= before >= rank;
                }
                Survey {
                    any,
                    all,
                    rises,
                    falls,
                }
            },
        )
    }

    /// Sorts records whose ranks fall: the last come first, and equals stay in their order.
    pub(super) fn turn(&self, records: &mut [R]) {
        let half = records.len() / 2;
        let (front, back) = records.split_at_mut(half);
        // The record in the middle stays.
        let skipped = back.len() - half;
        let back = &mut back[skipped..];
        let ends = front
            .chunks_mut(Self::LEAF)
            .zip(back.rchunks_mut(Self::LEAF));
        for_each_of(&mut { ends }, &|(front, back)| {
            let ends = front.iter_mut().zip(back.iter_mut().rev());
            ends.for_each(|(first, last)| std::mem::swap(first, last));
        });
        let equal = |a: &R, b: &R| self.rank(a) == self.rank(b);
        records.chunk_by_mut(equal).for_each(<[R]>::reverse);
    }
}
