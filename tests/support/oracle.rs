//! The law, word for word, one element after the other. It is slow and obvious, and everything is
//! compared with it.

use warpfold::{Element, Monoid};

/// The aligned blocks of the elements seen so far: one for every set bit of their number.
struct AlignedBlocks<A> {
    blocks: Vec<Block<A>>,
    count: usize,
}

struct Block<A> {
    sum: A,
    /// `(((init ⊕ S₁) ⊕ S₂) ⊕ …)` up to and including this block.
    prefix: A,
}

impl<A: Copy> AlignedBlocks<A> {
    fn new() -> AlignedBlocks<A> {
        AlignedBlocks {
            blocks: Vec::new(),
            count: 0,
        }
    }

    /// Adds one element. Two blocks of one size become one of twice the size, as in a binary
    /// counter.
    fn push(&mut self, element: A, init: Option<A>, combine: fn(A, A) -> A) {
        let mut sum = element;
        for _ in 0..self.count.trailing_ones() {
            let left = self.blocks.pop().expect("one block for every set bit");
            sum = combine(left.sum, sum);
        }
        let prefix = match self.prefix(init) {
            Some(before) => combine(before, sum),
            None => sum,
        };
        self.blocks.push(Block { sum, prefix });
        self.count += 1;
    }

    /// The fold of `init` and all blocks, or nothing.
    fn prefix(&self, init: Option<A>) -> Option<A> {
        self.blocks.last().map(|block| block.prefix).or(init)
    }
}

/// prefix(0), prefix(1), …, prefix(n).
fn prefixes<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> Vec<T> {
    let init = init.map(T::widen);
    let mut blocks = AlignedBlocks::new();
    let shown = |prefix: Option<T::Accumulator>| prefix.map_or_else(Op::identity, T::narrow);
    let mut output = vec![shown(init)];
    for &element in input {
        blocks.push(element.widen(), init, Op::combine);
        output.push(shown(blocks.prefix(init)));
    }
    output
}

pub(crate) fn reduce<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> T {
    let init = init.map(T::widen);
    let mut blocks = AlignedBlocks::new();
    for &element in input {
        blocks.push(element.widen(), init, Op::combine);
    }
    blocks.prefix(init).map_or_else(Op::identity, T::narrow)
}

pub(crate) fn exclusive<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> Vec<T> {
    let mut output = prefixes::<T, Op>(input, init);
    output.pop();
    output
}

pub(crate) fn inclusive<T: Element, Op: Monoid<T>>(input: &[T], init: Option<T>) -> Vec<T> {
    prefixes::<T, Op>(input, init).split_off(1)
}
