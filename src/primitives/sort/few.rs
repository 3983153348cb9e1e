//! The sort of few records, stable: what the radix sort does not divide further.

use super::order::Bits;
use std::mem::MaybeUninit;

/// Up to so many records are sorted by comparisons. Their places have 8 bits.
pub(super) const FEW: usize = 192;

/// Up to so many are inserted one by one.
const INSERTED: usize = 20;

/// Sorts up to [`FEW`] records by their ranks. The ranks are sorted with their places, as numbers:
/// the standard library's sort takes long to compile for each kind of record.
pub(super) fn sort_few<R: Copy, B: Bits>(records: &mut [R], rank: impl Fn(&R) -> B) {
    if const { B::BITS > 64 } {
        return records.sort_by_key(rank);
    }
    if records.len() <= INSERTED {
        return insert_each(records, rank);
    }
    let word = |(place, record): (usize, &R)| rank(record).wide() << 8 | place as u128;
    let words = records.iter().enumerate().map(word);
    let mut places = [0_u8; FEW];
    if const { B::BITS <= 32 } {
        let mut room = [0_u64; FEW];
        let room = &mut room[..records.len()];
        let moved = room.iter_mut().zip(words);
        moved.for_each(|(to, word)| *to = word as u64);
        sort_narrow(room, &mut places);
    } else {
        let mut room = [0_u128; FEW];
        let room = &mut room[..records.len()];
        room.iter_mut().zip(words).for_each(|(to, word)| *to = word);
        sort_wide(room, &mut places);
    }
    let mut sorted = [MaybeUninit::<R>::uninit(); FEW];
    for (to, &place) in sorted.iter_mut().zip(&places[..records.len()]) {
        to.write(records[usize::from(place)]);
    }
    for (to, record) in records.iter_mut().zip(&sorted) {
        // SAFETY: as many as there are records were written.
        *to = unsafe { record.assume_init() };
    }
}

fn insert_each<R: Copy, B: Bits>(records: &mut [R], rank: impl Fn(&R) -> B) {
    for place in 1..records.len() {
        let record = records[place];
        let (rank_of_record, mut to) = (rank(&record), place);
        while to > 0 && rank(&records[to - 1]) > rank_of_record {
            records[to] = records[to - 1];
            to -= 1;
        }
        records[to] = record;
    }
}

/// Sorts words that end in a place, and says which places they have then.
fn sort_narrow(words: &mut [u64], places: &mut [u8; FEW]) {
    words.sort_unstable();
    let sorted = places.iter_mut().zip(words);
    sorted.for_each(|(to, word)| *to = *word as u8);
}

/// As [`sort_narrow`], for ranks of 64 bits.
fn sort_wide(words: &mut [u128], places: &mut [u8; FEW]) {
    words.sort_unstable();
    let sorted = places.iter_mut().zip(words);
    sorted.for_each(|(to, word)| *to = *word as u8);
}
