//! The tree over one block, level by level.
//!
//! Level `d` of a block holds the sums of its complete sub-blocks of `2^d` elements. A loop over
//! pairs of neighbours computes a level from the one below. A loop that writes pairs computes the
//! prefixes of a level from those of the level above. Compilers vectorise such loops best: no
//! iteration depends on another, whatever the operator.
//!
//! A block that is cut off, by the start of a piece or the end of the input, is a few smaller ones.
//!
//! Only [`block_sums`] and [`scan`] are compiled for each pair of an element type and an operator,
//! once for every SIMD level of the CPU.

use super::counter::blocks;
use super::{block_len, with_simd};
use crate::{Element, Monoid};
use bytemuck::Zeroable;
use std::mem::MaybeUninit;

/// Which prefixes a scan gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrefixKind {
    /// The fold of what comes before an element.
    Exclusive,
    /// The fold up to and including the element.
    Inclusive,
}

/// Working memory for the trees of blocks over accumulators `A`.
pub(crate) struct Tree<A> {
    /// Levels 1, 2, … of the block. Each is an array of its own, so that the compiler sees that a
    /// loop's source and target do not overlap. Otherwise it would not vectorise.
    levels: Vec<Vec<A>>,
    /// The prefixes of the level above and of the level at hand, in turn.
    prefixes: [Vec<A>; 2],
}

impl<A: Copy + Zeroable> Tree<A> {
    pub(crate) fn new() -> Tree<A> {
        let len = block_len::<A>();
        let zeros = |len| vec![A::zeroed(); len];
        Tree {
            levels: (1..=len.ilog2()).map(|level| zeros(len >> level)).collect(),
            prefixes: [zeros(len / 2 + 1), zeros(len / 2 + 1)],
        }
    }

    /// Computes levels 1, 2, … over `input`, whose length is a power of two.
    #[inline(always)]
    fn up_sweep<T, Op>(&mut self, input: &[T])
    where
        T: Element<Accumulator = A>,
        Op: Monoid<T>,
    {
        let mut len = input.len() / 2;
        let mut levels = self.levels.iter_mut();
        let Some(mut level) = levels.next() else {
            return;
        };
        fold_pairs(input, &mut level[..len], |a, b| {
            Op::combine(a.widen(), b.widen())
        });
        for above in levels {
            fold_pairs(&level[..len], &mut above[..len / 2], Op::combine);
            level = above;
            len /= 2;
        }
    }

    /// The sum of a power of two of elements.
    #[inline(always)]
    fn sum<T, Op>(&mut self, input: &[T]) -> A
    where
        T: Element<Accumulator = A>,
        Op: Monoid<T>,
    {
        if let [element] = input {
            return element.widen();
        }
        // A condition of constants: what no type takes is not compiled for it.
        if const { is_number::<A>() && Op::EXACT && Op::COMMUTATIVE } {
            return fold_exactly(input, Op::combine);
        }
        self.up_sweep::<T, Op>(input);
        self.levels[input.len().ilog2() as usize - 1][0]
    }

    /// The prefixes of level 1: of the start of every pair of elements, and then that of the end of
    /// the last pair, which is `end`.
    #[inline(always)]
    fn pair_prefixes<T, Op>(&mut self, input: &[T], base: Option<A>, end: A) -> &[A]
    where
        T: Element<Accumulator = A>,
        Op: Monoid<T>,
    {
        let pairs = input.len() / 2;
        self.up_sweep::<T, Op>(input);
        let [above, below] = &mut self.prefixes;
        let (mut above, mut below) = (above, below);
        above[0] = base.unwrap_or_else(A::zeroed);
        for level in (1..input.len().ilog2()).rev() {
            let count = input.len() >> level;
            let sums = &self.levels[level as usize - 1][..count];
            spread_pairs(
                above,
                sums,
                &mut below[..count],
                base.is_some(),
                Op::combine,
            );
            std::mem::swap(&mut above, &mut below);
        }
        above[pairs] = end;
        &above[..pairs + 1]
    }
}

/// Appends the sums of the aligned blocks that make up `input`, whose first element stands at
/// `position`: of the largest ones that a tree holds.
pub(crate) fn block_sums<T: Element, Op: Monoid<T>>(
    tree: &mut Tree<T::Accumulator>,
    position: u64,
    input: &[T],
    sums: &mut Vec<T::Accumulator>,
) {
    let len = block_len::<T::Accumulator>();
    let small_blocks = |tree: &mut Tree<_>, sums: &mut Vec<_>, position, input: &[T]| {
        for (_, block) in blocks(position, input.len(), len.ilog2()) {
            sums.push(tree.sum::<T, Op>(&input[block]));
        }
    };
    let head = position.next_multiple_of(len as u64) - position;
    let (head, rest) = input.split_at(input.len().min(head as usize));
    small_blocks(tree, sums, position, head);
    let whole = rest.chunks_exact(len);
    let tail = whole.remainder();
    with_simd(
        #[inline(always)]
        || {
            for block in whole {
                sums.push(tree.sum::<T, Op>(&block[..len]));
            }
        },
    );
    small_blocks(
        tree,
        sums,
        position + (input.len() - tail.len()) as u64,
        tail,
    );
}

/// The sum of a whole block of items, which are evaluated on the way: item `i` of it is `get(i)`.
///
/// `prefetch(i)` is called before items `i..i + STRIP` are evaluated.
#[inline(always)]
pub(crate) fn block_sum_of<T: Element, Op: Monoid<T>>(
    tree: &mut Tree<T::Accumulator>,
    get: impl Fn(usize) -> T,
    prefetch: impl Fn(usize),
) -> T::Accumulator {
    with_simd(
        #[inline(always)]
        || {
            let (get, prefetch) = (get, prefetch);
            let len = block_len::<T::Accumulator>();
            if const { !is_number::<T::Accumulator>() } {
                (0..len).step_by(STRIP).for_each(prefetch);
                fold_runs::<T, Op>(&mut tree.levels, len, get)
            } else if const { Op::EXACT && Op::COMMUTATIVE } {
                (0..len).step_by(STRIP).for_each(prefetch);
                let mut lanes: [_; 32] = std::array::from_fn(|i| get(i).widen());
                for row in (lanes.len()..len).step_by(lanes.len()) {
                    for (i, lane) in lanes.iter_mut().enumerate() {
                        *lane = Op::combine(*lane, get(row + i).widen());
                    }
                }
                fold_lanes(lanes, Op::combine)
            } else {
                for (strip, to) in tree.levels[0][..len / 2].chunks_mut(STRIP / 2).enumerate() {
                    prefetch(STRIP * strip);
                    for (pair, to) in to.iter_mut().enumerate() {
                        let i = STRIP * strip + 2 * pair;
                        *to = Op::combine(get(i).widen(), get(i + 1).widen());
                    }
                }
                fold_levels(&mut tree.levels, len / 2, Op::combine)
            }
        },
    )
}

/// The items of a block that memory is asked for at a time. Between two blocks the tree over the
/// first is folded. A processor that is asked only then lets memory wait meanwhile.
pub(crate) const STRIP: usize = 128;

/// The items whose sum stays in registers. More would not fit.
const RUN: usize = 8;

/// The sum of `len` items that are structs. The sums of runs stay in registers. There compilers see
/// which parts of an item are constants, and leave out what only those ask for.
#[inline(always)]
fn fold_runs<T: Element, Op: Monoid<T>>(
    levels: &mut [Vec<T::Accumulator>],
    len: usize,
    get: impl Fn(usize) -> T,
) -> T::Accumulator {
    let (levels, len) = (&mut levels[RUN.ilog2() as usize - 1..], len / RUN);
    for (number, to) in levels[0][..len].iter_mut().enumerate() {
        let mut run: [_; RUN] = std::array::from_fn(|i| get(number * RUN + i).widen());
        for log in (0..RUN.ilog2()).rev() {
            for i in 0..1 << log {
                run[i] = Op::combine(run[2 * i], run[2 * i + 1]);
            }
        }
        *to = run[0];
    }
    fold_levels(levels, len, Op::combine)
}

/// The fold of the first level, which has `len` sums, a power of two.
#[inline(always)]
fn fold_levels<A: Copy>(
    levels: &mut [Vec<A>],
    mut len: usize,
    combine: impl Fn(A, A) -> A + Copy,
) -> A {
    let (mut level, above) = levels.split_first_mut().expect("there are levels");
    for above in above {
        fold_pairs(&level[..len], &mut above[..len / 2], combine);
        level = above;
        len /= 2;
    }
    level[0]
}

/// Writes the prefixes of the elements of an aligned block to `output`, of the same length, and all
/// of it.
///
/// `base` is the prefix of the block's start, `end` that of its end. The block alone cannot give
/// its `end`: that may belong to a larger aligned block.
pub(crate) fn scan<T: Element, Op: Monoid<T>>(
    tree: &mut Tree<T::Accumulator>,
    input: &[T],
    output: &mut [MaybeUninit<T>],
    prefixes: PrefixKind,
    base: Option<T::Accumulator>,
    end: T::Accumulator,
) {
    assert!(input.len() == output.len() && input.len().is_power_of_two());
    let block = block_len::<T::Accumulator>();
    if input.len() == 1 {
        output[0].write(match prefixes {
            PrefixKind::Exclusive => base.map_or_else(Op::identity, T::narrow),
            PrefixKind::Inclusive => T::narrow(end),
        });
    } else if input.len() == block && base.is_some() {
        // Nearly every block comes here. The compiler knows the length, and that there is a prefix.
        with_simd(
            #[inline(always)]
            || {
                let (input, output) = (&input[..block], &mut output[..block]);
                let pairs = tree.pair_prefixes::<T, Op>(
                    input,
                    Some(base.unwrap_or_else(Zeroable::zeroed)),
                    end,
                );
                write_prefixes::<T, Op>(input, output, pairs, prefixes, true);
            },
        );
    } else {
        // The others are not worth compiling for every SIMD level.
        let pairs = tree.pair_prefixes::<T, Op>(input, base, end);
        write_prefixes::<T, Op>(input, output, pairs, prefixes, base.is_some());
    }
}

/// Whether an accumulator is a number. Structs of several would be stored and loaded for each
/// element of a sum in lanes.
pub(crate) const fn is_number<A>() -> bool {
    size_of::<A>() == align_of::<A>()
}

/// The fold of elements in any order, by an operator that is exact and commutes. There is one
/// element at least.
#[inline(always)]
fn fold_exactly<T: Element>(
    input: &[T],
    combine: impl Fn(T::Accumulator, T::Accumulator) -> T::Accumulator + Copy,
) -> T::Accumulator {
    if const { size_of::<T::Accumulator>() == 1 } {
        fold_in_lanes::<T, 256>(input, combine)
    } else if const { size_of::<T::Accumulator>() <= 4 } {
        fold_in_lanes::<T, 64>(input, combine)
    } else {
        fold_in_lanes::<T, 16>(input, combine)
    }
}

/// Such a fold: every `LANES`th element goes to one of as many sums, which stay in registers.
#[inline(always)]
pub(crate) fn fold_in_lanes<T: Element, const LANES: usize>(
    input: &[T],
    combine: impl Fn(T::Accumulator, T::Accumulator) -> T::Accumulator + Copy,
) -> T::Accumulator {
    let (rows, mut rest) = input.as_chunks::<LANES>();
    let sum = match rows {
        [first, others @ ..] => {
            let mut lanes = first.map(T::widen);
            for row in others {
                for (lane, x) in lanes.iter_mut().zip(row) {
                    *lane = combine(*lane, x.widen());
                }
            }
            fold_lanes(lanes, combine)
        }
        [] => {
            let first = rest[0].widen();
            rest = &rest[1..];
            first
        }
    };
    rest.iter().fold(sum, |sum, x| combine(sum, x.widen()))
}

/// The fold of a power of two of sums.
#[inline(always)]
fn fold_lanes<A: Copy, const LANES: usize>(
    mut lanes: [A; LANES],
    combine: impl Fn(A, A) -> A,
) -> A {
    let mut count = LANES;
    while count > 1 {
        count /= 2;
        for i in 0..count {
            lanes[i] = combine(lanes[i], lanes[i + count]);
        }
    }
    lanes[0]
}

/// The next level: `to[i] = from[2i] ⊕ from[2i + 1]`, for all complete pairs.
#[inline(always)]
fn fold_pairs<F: Copy, A>(from: &[F], to: &mut [A], fold: impl Fn(F, F) -> A) {
    let (pairs, _) = from.as_chunks::<2>();
    for (to, &[left, right]) in to.iter_mut().zip(pairs) {
        *to = fold(left, right);
    }
}

/// The prefixes of the starts of a level's sub-blocks from those of the level above: `to[2i] =
/// above[i]`, `to[2i + 1] = above[i] ⊕ sums[2i]`.
///
/// Unless `present`, there is no prefix of the block's start: `to[0]` means nothing.
#[inline(always)]
fn spread_pairs<A: Copy>(
    above: &[A],
    sums: &[A],
    to: &mut [A],
    present: bool,
    combine: impl Fn(A, A) -> A,
) {
    let (pairs, _) = to.as_chunks_mut::<2>();
    let (lefts, _) = sums.as_chunks::<2>();
    // Slices, not `skip`: the compiler does not vectorise an iterator that skips.
    let skipped = usize::from(!present);
    let sources = above[skipped..].iter().zip(&lefts[skipped..]);
    for (pair, (&prefix, &[left, _])) in pairs[skipped..].iter_mut().zip(sources) {
        *pair = [prefix, combine(prefix, left)];
    }
    if !present {
        pairs[0] = [above[0], sums[0]];
    }
}

/// Level 0: the prefixes of the elements from those of their pairs. Only the left element of a pair
/// has a part in them.
#[inline(always)]
fn write_prefixes<T, Op>(
    input: &[T],
    output: &mut [MaybeUninit<T>],
    pairs: &[T::Accumulator],
    prefixes: PrefixKind,
    present: bool,
) where
    T: Element,
    Op: Monoid<T>,
{
    let middle = |prefix: T::Accumulator, left: T| T::narrow(Op::combine(prefix, left.widen()));
    let (inputs, _) = input.as_chunks::<2>();
    let (outputs, _) = output.as_chunks_mut::<2>();
    let skipped = usize::from(!present);
    let sources = inputs[skipped..].iter().zip(&pairs[skipped..]);
    let targets = outputs[skipped..].iter_mut();
    match prefixes {
        PrefixKind::Exclusive => {
            for (output, (&[left, _], &prefix)) in targets.zip(sources) {
                *output = [T::narrow(prefix), middle(prefix, left)].map(MaybeUninit::new);
            }
        }
        PrefixKind::Inclusive => {
            let nexts = &pairs[skipped + 1..];
            for (output, ((&[left, _], &prefix), &next)) in targets.zip(sources.zip(nexts)) {
                *output = [middle(prefix, left), T::narrow(next)].map(MaybeUninit::new);
            }
        }
    }
    if !present {
        // No prefix precedes the first element, so nothing is combined with it.
        let first = match prefixes {
            PrefixKind::Exclusive => [Op::identity(), input[0]],
            PrefixKind::Inclusive => [input[0], T::narrow(pairs[1])],
        };
        outputs[0] = first.map(MaybeUninit::new);
    }
}
