//! The mending of records that a leaf's digits left equal. The few that are out of order among
//! their neighbours are moved down, or sorted with all those around them.

use super::Sorter;
use super::digits::GROUP;
use super::records::{Record, records, records_mut};
use crate::cpu::with_simd;
use std::mem::MaybeUninit;

/// A record that is out of order by so many places is sorted with all those around it.
const NEAR: usize = 16;

impl<R: Record> Sorter<R> {
    /// Sorts neighbours that are equal but for the bits below `lowest`, given that all others are
    /// in order.
    ///
    /// # Safety
    ///
    /// All of `data` is there. `room` is as long.
    pub(super) unsafe fn mend(
        &self,
        data: &mut [MaybeUninit<R>],
        room: &mut [MaybeUninit<R>],
        lowest: u32,
    ) {
        for start in (0..data.len() - 1).step_by(GROUP) {
            // SAFETY: all of `data` is there.
            let falls = self.find_falls(unsafe { records(&data[start..]) });
            for (word, falls) in falls.as_chunks::<8>().0.iter().enumerate() {
                if u64::from_ne_bytes(*falls) == 0 {
                    continue;
                }
                let places = (start + 8 * word + 1..).zip(falls);
                for (mut place, _) in places.filter(|(_, falls)| **falls != 0) {
                    // What moved up may be greater than what comes behind it.
                    while place < data.len() {
                        // SAFETY: all of `data` is there.
                        let all = unsafe { records_mut(data) };
                        if self.rank(&all[place - 1]) <= self.rank(&all[place]) {
                            break;
                        }
                        place = match self.insert(all, place) {
                            true => place + 1,
                            // SAFETY: as above.
                            false => unsafe { self.sort_run(data, room, place, lowest) },
                        };
                    }
                }
            }
        }
    }

    /// Moves a record down to where its rank belongs, or some steps towards it. Whether it came
    /// there.
    #[inline]
    fn insert(&self, data: &mut [R], place: usize) -> bool {
        let record = data[place];
        let (rank, mut to) = (self.rank(&record), place);
        while to > 0 && place - to < NEAR && self.rank(&data[to - 1]) > rank {
            data[to] = data[to - 1];
            to -= 1;
        }
        data[to] = record;
        place - to < NEAR
    }

    /// Sorts the records around a place that are equal but for the bits below `lowest`. Returns
    /// where they end.
    ///
    /// # Safety
    ///
    /// As for [`mend`](Sorter::mend).
    unsafe fn sort_run(
        &self,
        data: &mut [MaybeUninit<R>],
        room: &mut [MaybeUninit<R>],
        place: usize,
        lowest: u32,
    ) -> usize {
        // SAFETY: all of `data` is there.
        let all = unsafe { records(data) };
        let high = |record: &R| self.rank(record) >> lowest as usize;
        let equal = |record: &&R| high(record) == high(&all[place]);
        let before = all[..place].iter().rev().take_while(equal).count();
        let behind = all[place..].iter().take_while(equal).count();
        let run = place - before..place + behind;
        // SAFETY: as above.
        unsafe {
            self.sort(
                &mut data[run.clone()],
                &mut room[run.clone()],
                false,
                &mut Vec::new(),
            )
        };
        run.end
    }

    /// Which of the first records have a rank greater than that of the next.
    fn find_falls(&self, all: &[R]) -> [u8; GROUP] {
        let falls = |a: &R, b: &R| u8::from(self.rank(a) > self.rank(b));
        let mut found = [0; GROUP];
        match all.first_chunk::<{ GROUP + 1 }>() {
            Some(all) => with_simd(
                #[inline(always)]
                || {
                    for i in 0..GROUP {
                        found[i] = falls(&all[i], &all[i + 1]);
                    }
                },
            ),
            None => {
                for (found, pair) in found.iter_mut().zip(all.windows(2)) {
                    *found = falls(&pair[0], &pair[1]);
                }
            }
        }
        found
    }
}
