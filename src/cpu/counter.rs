//! A binary counter of block sums.

/// The sums of the aligned blocks of what was pushed so far. The counter has one digit for every
/// power of two; a set digit holds the sum of a block of that many pushed values.
#[derive(Debug, Clone)]
pub(crate) struct Counter<A> {
    sums: [A; usize::BITS as usize],
    depth: usize,
    count: usize,
}

impl<A: Copy + bytemuck::Zeroable> Counter<A> {
    pub(crate) fn new() -> Counter<A> {
        Counter {
            sums: [A::zeroed(); usize::BITS as usize],
            depth: 0,
            count: 0,
        }
    }

    /// Appends the sum of the next block. Two blocks of one size join, as a digit carries.
    #[inline]
    pub(crate) fn push(&mut self, sum: A, combine: impl Fn(A, A) -> A) {
        let mut sum = sum;
        for _ in 0..self.count.trailing_ones() {
            self.depth -= 1;
            sum = combine(self.sums[self.depth], sum);
        }
        self.sums[self.depth] = sum;
        self.depth += 1;
        self.count += 1;
    }

    /// `((init ⊕ S₁) ⊕ S₂) ⊕ …` over the aligned blocks, left to right; `None` if there is nothing.
    #[inline]
    pub(crate) fn prefix(&self, init: Option<A>, combine: impl Fn(A, A) -> A) -> Option<A> {
        self.sums[..self.depth].iter().fold(init, |prefix, &sum| {
            Some(match prefix {
                Some(prefix) => combine(prefix, sum),
                None => sum,
            })
        })
    }
}
