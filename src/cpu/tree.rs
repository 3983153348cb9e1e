//! The tree over one block, level by level.
//!
//! Level `d` of a block holds the sums of its complete sub-blocks of `2^d` elements. A level is computed from the one
//! below by a loop over pairs of neighbours, and the prefixes of a level from those of the level above
//! by a loop that writes pairs. Loops of that form are what compilers vectorise best: there is
//! no dependence between iterations, whatever the operator.

use super::block_len;
use crate::{Element, Monoid};
use bytemuck::Zeroable;
use std::mem::MaybeUninit;

/// Working memory for the trees of blocks over accumulators `A`.
pub(super) struct Tree<A> {
    /// Levels 1, 2, … of the block, one after the other.
    sums: Vec<A>,
    /// The prefixes of the level above and of the level at hand, in turn.
    prefixes: [Vec<A>; 2],
}

/// Where the elements of a block are read and their prefixes are written.
pub(super) enum Target<'a, T> {
    /// From one array to another of the same length, which is written in full.
    Into(&'a [T], &'a mut [MaybeUninit<T>]),
    /// Within one array.
    InPlace(&'a mut [T]),
}

impl<'a, T> Target<'a, T> {
    pub(super) fn input(&self) -> &[T] {
        match self {
            Target::Into(input, _) => input,
            Target::InPlace(data) => data,
        }
    }

    /// Splits off the first `len` elements, or all if there are fewer.
    pub(super) fn take(&mut self, len: usize) -> Target<'a, T> {
        let len = len.min(self.input().len());
        match self {
            Target::Into(input, output) => {
                let (first, rest) = input.split_at(len);
                *input = rest;
                let (first_output, rest) = std::mem::take(output).split_at_mut(len);
                *output = rest;
                Target::Into(first, first_output)
            }
            Target::InPlace(data) => {
                let (first, rest) = std::mem::take(data).split_at_mut(len);
                *data = rest;
                Target::InPlace(first)
            }
        }
    }
}

impl<A: Copy + Zeroable> Tree<A> {
    pub(super) fn new() -> Tree<A> {
        let len = block_len::<A>();
        let prefixes = || vec![A::zeroed(); len / 2 + 1];
        Tree { sums: vec![A::zeroed(); len], prefixes: [prefixes(), prefixes()] }
    }

    /// The sum of `input`, whose length is a power of two and at most a block's.
    #[inline(always)]
    pub(super) fn sum<T, Op>(&mut self, input: &[T]) -> A
    where
        T: Element<Accumulator = A>,
        Op: Monoid<T>,
    {
        debug_assert!(input.len().is_power_of_two() && input.len() <= block_len::<A>());
        if let [single] = input {
            return single.widen();
        }
        let top = self.up_sweep::<T, Op>(input);
        self.sums[top]
    }

    /// Computes levels 1, 2, … over `input`; returns where the last one starts.
    #[inline(always)]
    fn up_sweep<T, Op>(&mut self, input: &[T]) -> usize
    where
        T: Element<Accumulator = A>,
        Op: Monoid<T>,
    {
        let mut len = input.len() / 2;
        fold_pairs(input, &mut self.sums[..len], |a, b| Op::combine(a.widen(), b.widen()));
        let mut start = 0;
        while len > 1 {
            let (level, above) = self.sums[start..].split_at_mut(len);
            fold_pairs(level, &mut above[..len / 2], Op::combine);
            start += len;
            len /= 2;
        }
        start
    }

    /// Writes the prefixes of the elements of a block: exclusive ones, or inclusive ones.
    ///
    /// `base` is the prefix of the block's start. `end` is that of its end, which for a complete block is not
    /// to be had from the block alone: it belongs to a larger aligned block.
    #[inline(always)]
    pub(super) fn scan<T, Op, const INCLUSIVE: bool>(
        &mut self,
        target: Target<'_, T>,
        base: Option<A>,
        end: Option<A>,
    ) where
        T: Element<Accumulator = A>,
        Op: Monoid<T>,
    {
        let len = target.input().len();
        if len == 0 {
            return;
        }
        let mut start = self.up_sweep::<T, Op>(target.input());

        let [above, below] = &mut self.prefixes;
        let (mut above, mut below) = (above, below);
        above[0] = base.unwrap_or_else(A::zeroed);
        let top = len.ilog2();
        for level in (1..=top).rev() {
            let count = len >> level;
            let sums = &self.sums[start..start + count];
            spread_pairs(above, sums, &mut below[..count + 1], base.is_some(), Op::combine);
            if level == top && len == block_len::<A>() {
                below[1] = end.unwrap_or(below[1]);
            }
            start -= if level > 1 { len >> (level - 1) } else { 0 };
            std::mem::swap(&mut above, &mut below);
        }
        write_prefixes::<T, Op, INCLUSIVE>(target, &above[..len / 2 + 1], base.is_some());
    }
}

/// The next level: `to[i] = from[2i] ⊕ from[2i + 1]`, for all complete pairs.
#[inline(always)]
fn fold_pairs<F, A>(from: &[F], to: &mut [A], fold: impl Fn(F, F) -> A)
where
    F: Copy,
{
    let (pairs, _) = from.as_chunks::<2>();
    for (to, &[left, right]) in to.iter_mut().zip(pairs) {
        *to = fold(left, right);
    }
}

/// The prefixes of a level from those of the level above, one for the start of every sub-block and one for the
/// end of the last: `to[2i] = above[i]`, `to[2i + 1] = above[i] ⊕ sums[2i]`.
///
/// Unless `present`, there is no prefix of the block's start: `to[0]` is left as it is.
#[inline(always)]
fn spread_pairs<A: Copy>(
    above: &[A],
    sums: &[A],
    to: &mut [A],
    present: bool,
    combine: impl Fn(A, A) -> A,
) {
    let skipped = if present {
        0
    } else {
        to[1] = sums[0];
        1
    };
    let start = (2 * skipped).min(to.len());
    let (pairs, last) = to[start..].as_chunks_mut::<2>();
    let above = &above[skipped.min(above.len())..];
    let lefts = sums[(2 * skipped).min(sums.len())..].chunks(2);
    for ((pair, &prefix), left) in pairs.iter_mut().zip(above).zip(lefts) {
        *pair = [prefix, combine(prefix, left[0])];
    }
    if let [last] = last {
        *last = above[pairs.len()];
    }
}

/// Level 0: the prefixes of the elements from those of their pairs, written where they belong.
#[inline(always)]
fn write_prefixes<T, Op, const INCLUSIVE: bool>(
    target: Target<'_, T>,
    prefixes: &[T::Accumulator],
    present: bool,
) where
    T: Element,
    Op: Monoid<T>,
{
    // What a pair of elements becomes; only its left element has a part in it.
    let pair = |prefix: T::Accumulator, next: T::Accumulator, left: T| {
        let middle = T::narrow(Op::combine(prefix, left.widen()));
        if INCLUSIVE { [middle, T::narrow(next)] } else { [T::narrow(prefix), middle] }
    };
    // The same for the first pair of all, which no prefix precedes.
    let first_pair = |next: Option<&T::Accumulator>, left: T| {
        let next = next.map_or(left, |&next| T::narrow(next));
        if INCLUSIVE { [left, next] } else { [Op::identity(), left] }
    };
    let skipped = if present { 0 } else { 2 };
    let nexts = &prefixes[1..];
    match target {
        Target::Into(input, output) => {
            if !present {
                let values = first_pair(nexts.first(), input[0]).map(MaybeUninit::new);
                output.iter_mut().zip(values).for_each(|(output, value)| *output = value);
            }
            let skipped = skipped.min(input.len());
            let (prefixes, nexts) = (&prefixes[skipped.div_ceil(2).min(prefixes.len())..], &nexts[(skipped / 2).min(nexts.len())..]);
            let (inputs, _) = input[skipped..].as_chunks::<2>();
            let (outputs, last) = output[skipped..].as_chunks_mut::<2>();
            let sources = inputs.iter().zip(prefixes).zip(nexts);
            for (output, ((&[left, _], &prefix), &next)) in outputs.iter_mut().zip(sources) {
                *output = pair(prefix, next, left).map(MaybeUninit::new);
            }
            if let ([output], [.., input]) = (last, input) {
                let prefix = prefixes[outputs.len()];
                output.write(pair(prefix, prefix, *input)[0]);
            }
        }
        Target::InPlace(data) => {
            if !present {
                let values = first_pair(nexts.first(), data[0]);
                data.iter_mut().zip(values).for_each(|(data, value)| *data = value);
            }
            let skipped = skipped.min(data.len());
            let (prefixes, nexts) = (&prefixes[skipped.div_ceil(2).min(prefixes.len())..], &nexts[(skipped / 2).min(nexts.len())..]);
            let (pairs, last) = data[skipped..].as_chunks_mut::<2>();
            for ((data, &prefix), &next) in pairs.iter_mut().zip(prefixes).zip(nexts) {
                *data = pair(prefix, next, data[0]);
            }
            if let [data] = last {
                let prefix = prefixes[pairs.len()];
                *data = pair(prefix, prefix, *data)[0];
            }
        }
    }
}
