//! A binary counter of block sums.

use std::ops::Range;

/// The sums of a stretch of elements: one for each of the largest aligned blocks that make it up,
/// left to right.
///
/// A stretch that starts at 0 has the aligned blocks of its end, as [the law](crate#the-law) takes
/// them: the counter is a binary number that has a sum beside each of its ones.
#[derive(Debug, Clone)]
pub(crate) struct Counter<A> {
    start: u64,
    end: u64,
    sums: Vec<A>,
}

impl<A: Copy> Counter<A> {
    /// Of no elements, at a position.
    pub(crate) fn at(position: u64) -> Counter<A> {
        Counter {
            start: position,
            end: position,
            sums: Vec::new(),
        }
    }

    /// Of the elements before `end`: one sum for each of its ones, the highest first. `None` if
    /// these are not as many.
    pub(crate) fn from_sums(end: u64, sums: Vec<A>) -> Option<Counter<A>> {
        let start = 0;
        (sums.len() == end.count_ones() as usize).then_some(Counter { start, end, sums })
    }

    /// Of a stretch, with the sum of each of its largest aligned blocks. `None` if these are not as
    /// many.
    pub(crate) fn of_stretch(stretch: Range<u64>, sums: Vec<A>) -> Option<Counter<A>> {
        let counter = Counter {
            start: stretch.start,
            end: stretch.end,
            sums,
        };
        (blocks_of(stretch).count() == counter.sums.len()).then_some(counter)
    }

    /// Where the first element stands.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Where the next element stands.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The sums of the blocks, left to right.
    pub(crate) fn sums(&self) -> &[A] {
        &self.sums
    }

    /// Appends the sum of the next `2^level` elements, which are an aligned block. Two halves of a
    /// block join, as a digit carries.
    #[inline]
    pub(crate) fn push(&mut self, level: u32, sum: A, combine: impl Fn(A, A) -> A) {
        debug_assert!(self.end.trailing_zeros() >= level);
        let (mut sum, mut size, mut start) = (sum, 1 << level, self.end);
        self.end += size;
        while start & size != 0 && start - size >= self.start {
            let left = self.sums.pop().expect("the left half of the block");
            sum = combine(left, sum);
            start -= size;
            size *= 2;
        }
        self.sums.push(sum);
    }

    /// Appends what another counter has counted from here on.
    pub(crate) fn append(&mut self, other: &Counter<A>, combine: fn(A, A) -> A) {
        debug_assert_eq!(self.end, other.start);
        for &sum in &other.sums {
            self.push(largest_block(self.end, other.end), sum, combine);
        }
    }

    /// `((init ⊕ S₁) ⊕ S₂) ⊕ …` over the blocks; `None` if there is nothing.
    #[inline]
    pub(crate) fn prefix(&self, init: Option<A>, combine: fn(A, A) -> A) -> Option<A> {
        fold(init, &self.sums, combine)
    }

    /// Splits a counter that starts at 0 for those who go on within the `2^level` elements around
    /// its end: the prefix of their start, and a counter of what comes after it.
    pub(crate) fn split(
        &self,
        level: u32,
        init: Option<A>,
        combine: fn(A, A) -> A,
    ) -> (Option<A>, Counter<A>) {
        debug_assert_eq!(self.start, 0);
        let start = self.end >> level << level;
        let (before, after) = self.sums.split_at(start.count_ones() as usize);
        let after = Counter {
            start,
            end: self.end,
            sums: after.to_vec(),
        };
        (fold(init, before, combine), after)
    }
}

fn fold<A: Copy>(init: Option<A>, sums: &[A], combine: fn(A, A) -> A) -> Option<A> {
    sums.iter().fold(init, |prefix, &sum| {
        Some(match prefix {
            Some(prefix) => combine(prefix, sum),
            None => sum,
        })
    })
}

/// The largest aligned block that starts at `start` and ends by `end`, which is greater: the
/// logarithm of its length.
#[inline]
pub(crate) fn largest_block(start: u64, end: u64) -> u32 {
    (end - start).ilog2().min(start.trailing_zeros())
}

/// The largest aligned blocks that make up a stretch: where each lies.
pub(crate) fn blocks_of(stretch: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let Range { mut start, end } = stretch;
    std::iter::from_fn(move || {
        let level = (start < end).then(|| largest_block(start, end))?;
        let block = start..start + (1 << level);
        start = block.end;
        Some(block)
    })
}

/// The largest aligned blocks that make up `len` elements from `position` on, of up to `2^most`
/// elements each: the logarithm of each one's length, and where it lies among the elements.
pub(crate) fn blocks(
    position: u64,
    len: usize,
    most: u32,
) -> impl Iterator<Item = (u32, Range<usize>)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == len {
            return None;
        }
        let level = largest_block(position + start as u64, position + len as u64).min(most);
        let block = start..start + (1 << level);
        start = block.end;
        Some((level, block))
    })
}
