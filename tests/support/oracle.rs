//! The law, word for word, one element after the other. It is slow and obvious, and everything is
//! compared with it.

use warpfold::{Element, Monoid};

/// The sums of the aligned blocks of the elements seen so far: one for every set bit of their
/// number.
struct AlignedBlocks<A> {
    sums: Vec<A>,
    count: usize,
}

impl<A: Copy> AlignedBlocks<A> {
    /// Adds one element. Two blocks of one size become one of twice the size, as in a binary
    /// counter.
    fn push(&mut self, element: A, combine: fn(A, A) -> A) {
        let mut block = element;
        for _ in 0..self.count.trailing_ones() {
            block = combine(self.sums.pop().expect("one sum for every set bit"), block);
        }
        self.sums.push(block);
        self.count += 1;
    }

    /// `(((init ⊕ S₁) ⊕ S₂) ⊕ …)`, or nothing.
    fn prefix(&self, init: Option<A>, combine: fn(A, A) -> A) -> Option<A> {
        self.sums.iter().copied().fold(init, |prefix, sum| {
            Some(prefix.map_or(sum, |prefix| combine(prefix, sum)))
        })
    }
}

/// prefix(0), prefix(1), …, prefix(n).
fn prefixes<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> Vec<T> {
    let init = init.map(T::widen);
    let mut blocks = AlignedBlocks {
        sums: Vec::new(),
        count: 0,
    };
    let shown = |prefix: Option<T::Accumulator>| prefix.map_or_else(Op::identity, T::narrow);
    let mut output = vec![shown(init)];
    for &element in input {
        blocks.push(element.widen(), Op::combine);
        output.push(shown(blocks.prefix(init, Op::combine)));
    }
    output
}

pub(crate) fn reduce<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> T {
    let init = init.map(T::widen);
    let mut blocks = AlignedBlocks {
        sums: Vec::new(),
        count: 0,
    };
    for &element in input {
        blocks.push(element.widen(), Op::combine);
    }
    blocks
        .prefix(init, Op::combine)
        .map_or_else(Op::identity, T::narrow)
}

pub(crate) fn exclusive<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> Vec<T> {
    let mut output = prefixes::<T, Op>(input, init);
    output.pop();
    output
}

pub(crate) fn inclusive<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> Vec<T> {
    prefixes::<T, Op>(input, init).split_off(1)
}
