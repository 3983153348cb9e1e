//! Buckets: which digits share one, and where each lies. All digits are counted before records
//! move, in parallel, and buckets are sorted when all have moved.

use super::digits::Digit;
use super::records::{BitsOf, Record, records};
use super::{Sorter, copy};
use crate::cpu::threads::{for_each_of, for_each_of_with, map};
use crate::primitives::sort::order::Bits;
use num_traits::PrimInt;
use std::mem::MaybeUninit;

/// The most bits of a digit that buckets are made of, and the number of such digits.
const DIGIT_BITS: u32 = 13;
pub(super) const DIGITS: usize = 1 << DIGIT_BITS;

/// Digits share buckets of this part of all records, and no less than so many bytes.
const BUCKETS: usize = 512;
const BUCKET_BYTES: usize = 32 << 10;

/// With up to so many digits, each has a bucket of its own.
const FEW_DIGITS: usize = 1 << 10;

/// A thread that begins late leaves some of its share to others.
const CHUNKS_PER_THREAD: usize = 4;

impl<R: Record> Sorter<R> {
    /// Moves records to buckets, and sorts these. In parallel.
    ///
    /// # Safety
    ///
    /// As for [`sort`](Sorter::sort). Some bits are `varying`, and no others vary.
    pub(super) unsafe fn sort_buckets(
        &self,
        from: &mut [MaybeUninit<R>],
        to: &mut [MaybeUninit<R>],
        moves: bool,
        varying: BitsOf<R>,
    ) {
        // SAFETY: the caller's.
        let (ends, are_sorted) = unsafe { self.move_to_buckets(records(from), to, varying) };
        if are_sorted {
            if !moves {
                copy(to, from);
            }
            return;
        }
        let (mut parts, mut rest, mut start) = (Vec::new(), (to, from), 0);
        for end in ends {
            let (front, back) = rest.0.split_at_mut(end - start);
            let (other_front, other_back) = rest.1.split_at_mut(end - start);
            parts.push((front, other_front));
            rest = (back, other_back);
            start = end;
        }
        let mut parts = longest_first(parts, |(part, _)| part.len());
        type Part<'r, R> = (&'r mut [MaybeUninit<R>], &'r mut [MaybeUninit<R>]);
        let sort = |spare: &mut Vec<R>, (part, other): Part<'_, R>| {
            // SAFETY: all of the part was written.
            unsafe { self.sort(part, other, !moves, spare) };
        };
        for_each_of_with(&mut parts, &Vec::new, &sort);
    }

    /// Moves records to buckets, in parallel: where these end, and whether no bits are left to sort
    /// by.
    ///
    /// # Safety
    ///
    /// Both have one length. Some bits are `varying`, and no others vary.
    pub(super) unsafe fn move_to_buckets(
        &self,
        source: &[R],
        to: &mut [MaybeUninit<R>],
        varying: BitsOf<R>,
    ) -> (Vec<usize>, bool) {
        let top = BitsOf::<R>::BITS - varying.leading_zeros();
        let shift = top.saturating_sub(DIGIT_BITS).max(varying.trailing_zeros());
        let digit = Digit::new(shift, top - shift);
        let chunks = (CHUNKS_PER_THREAD * rayon::current_num_threads())
            .min(source.len().div_ceil(Self::LEAF))
            .max(source.len().div_ceil(1 << 31));
        let chunk = source.len().div_ceil(chunks);
        let counts = map(source.len().div_ceil(chunk), &|| (), &|(), number| {
            let end = ((number + 1) * chunk).min(source.len());
            let mut counts = vec![0_u32; DIGITS];
            self.for_each_digit(&source[number * chunk..end], digit, |_, digit| {
                counts[digit & (DIGITS - 1)] += 1;
            });
            counts
        });
        let least = BUCKET_BYTES / size_of::<R>();
        let buckets = Buckets::new(&counts, digit, (source.len() / BUCKETS).max(least));
        drop(counts);
        let target = Target(to.as_mut_ptr());
        let chunks = source.chunks(chunk).zip(&buckets.starts);
        for_each_of(&mut { chunks }, &|(records, starts)| {
            let target: &Target<R> = &target;
            // SAFETY: each chunk has places of its own for each bucket, as many as it counted.
            unsafe { self.scatter(records, digit, &buckets, starts, target.0) };
        });
        let are_sorted = shift == varying.trailing_zeros() && buckets.are_digits;
        (buckets.ends, are_sorted)
    }
}

/// Which digits share a bucket, and where buckets lie.
pub(super) struct Buckets {
    /// The bucket of each digit.
    pub(super) of_digit: Box<[u16; DIGITS]>,
    /// Whether no bucket has records of several digits.
    are_digits: bool,
    /// For each chunk, where its records of each bucket start.
    starts: Vec<Vec<usize>>,
    ends: Vec<usize>,
}

impl Buckets {
    /// Of about `share` records each, from what each chunk has of each digit.
    fn new(counts: &[Vec<u32>], digit: Digit, share: usize) -> Buckets {
        const { assert!(2 * BUCKETS + FEW_DIGITS < u16::MAX as usize) };
        let digits = digit.mask as usize + 1;
        let mut are_digits = true;
        let mut of_digit = vec![0; DIGITS];
        let (mut last, mut len) = (0, 0);
        for (digit, bucket) in of_digit.iter_mut().enumerate().take(digits) {
            let more: usize = counts.iter().map(|counts| counts[digit] as usize).sum();
            if len > 0 && more > 0 {
                if digits <= FEW_DIGITS || len + more > share {
                    (last, len) = (last + 1, 0);
                } else {
                    are_digits = false;
                }
            }
            len += more;
            *bucket = last;
        }
        let of_chunk = |counts: &Vec<u32>| {
            let mut sums = vec![0; usize::from(last) + 1];
            for (&bucket, &count) in of_digit[..digits].iter().zip(counts) {
                sums[usize::from(bucket)] += count as usize;
            }
            sums
        };
        let mut starts: Vec<_> = counts.iter().map(of_chunk).collect();
        let mut end = 0;
        let ends = (0..=usize::from(last)).map(|bucket| {
            for of_chunk in &mut starts {
                end += std::mem::replace(&mut of_chunk[bucket], end);
            }
            end
        });
        Buckets {
            ends: ends.collect(),
            starts,
            are_digits,
            of_digit: of_digit.try_into().expect("as many"),
        }
    }
}

/// Where threads write, each to places of its own.
struct Target<R>(*mut MaybeUninit<R>);

// SAFETY: the pointer is only written through, at places that no two threads share.
unsafe impl<R: Send> Sync for Target<R> {}

/// The longest parts first: no thread begins one when the others are done.
pub(super) fn longest_first<P: Send>(
    parts: Vec<P>,
    len: impl Fn(&P) -> usize,
) -> impl ExactSizeIterator<Item = P> + Send {
    // Their places are sorted, which is compiled once for all records.
    let order = order_of_lengths(parts.iter().map(len).collect());
    let mut parts: Vec<Option<P>> = parts.into_iter().map(Some).collect();
    let take = move |place: usize| parts[place].take().expect("each is taken once");
    order.into_iter().map(take)
}

/// Where the longest are, and then the others.
fn order_of_lengths(lengths: Vec<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(lengths[place]));
    order
}
