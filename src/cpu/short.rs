//! Short arrays: no working memory, no threads, a loop.
//!
//! A tree over up to 16 elements is straight code over registers. A counter takes the trees' sums.
//! Operators that are exact need no tree: there any bracketing gives the bits of the law.

use super::PrefixKind;
use super::counter::{Counter, blocks};
use super::tree::{fold_in_lanes, is_number};
use crate::{Element, Monoid};
use bytemuck::Zeroable;

/// The bytes of accumulators up to which this is faster than blocks with their working memory.
pub(crate) const SHORT_BYTES: usize = 4 << 10;

/// The most elements of a tree, and its levels.
const LEAF: usize = 16;
const LEVELS: u32 = LEAF.ilog2();

/// Whether so many elements are few.
pub(crate) fn is_short<T: Element>(len: usize) -> bool {
    len <= SHORT_BYTES / size_of::<T::Accumulator>()
}

/// The fold of `init` and all elements, by an exact operator; `None` if there is nothing.
pub(crate) fn fold<T: Element, Op: Monoid<T>>(
    init: Option<T::Accumulator>,
    input: &[T],
) -> Option<T::Accumulator> {
    debug_assert!(Op::EXACT);
    if const { is_number::<T::Accumulator>() && Op::COMMUTATIVE } && input.len() >= LANES {
        let sum = fold_in_lanes::<T, 16>(input, Op::combine);
        return append::<T, Op>(init, sum);
    }
    let (init, rest) = match (init, input) {
        (Some(init), _) => (init, input),
        (None, [first, rest @ ..]) => (first.widen(), rest),
        (None, []) => return None,
    };
    Some(
        rest.iter()
            .fold(init, |fold, x| Op::combine(fold, x.widen())),
    )
}

/// From so many elements on several sums go on at once. Each waits for the one before it.
const LANES: usize = 32;

/// Calls a function for a block of `2^level` elements, with their number as a constant.
macro_rules! of_size {
    ($level:expr, $function:ident::<$($type:ty),*>($block:expr $(, $argument:expr)*)) => {
        match $level {
            0 => $function::<$($type),*, 1>($block.try_into().expect("1") $(, $argument)*),
            1 => $function::<$($type),*, 2>($block.try_into().expect("2") $(, $argument)*),
            2 => $function::<$($type),*, 4>($block.try_into().expect("4") $(, $argument)*),
            3 => $function::<$($type),*, 8>($block.try_into().expect("8") $(, $argument)*),
            _ => $function::<$($type),*, LEAF>($block.try_into().expect("16") $(, $argument)*),
        }
    };
}

/// `prefix ⊕ sum`, or the sum alone.
#[inline(always)]
pub(crate) fn append<T: Element, Op: Monoid<T>>(
    prefix: Option<T::Accumulator>,
    sum: T::Accumulator,
) -> Option<T::Accumulator> {
    Some(match prefix {
        Some(prefix) => Op::combine(prefix, sum),
        None => sum,
    })
}

/// `init` and the sums of the aligned blocks of all of `input`, combined in their order. Blocks of
/// more than 16 elements are halved again and again.
#[inline(always)]
pub(crate) fn fold_blocks<T: Element, Op: Monoid<T>>(
    init: Option<T::Accumulator>,
    input: &[T],
) -> Option<T::Accumulator> {
    let (mut prefix, mut rest) = (init, input);
    while rest.len() >= LEAF {
        let (block, others) = rest.split_at(1 << rest.len().ilog2());
        prefix = append::<T, Op>(prefix, block_sum::<T, Op>(block));
        rest = others;
    }
    macro_rules! fold_few {
        ($($len:literal)*) => {$(
            if let Some((block, others)) = rest.split_first_chunk::<$len>() {
                prefix = append::<T, Op>(prefix, sum::<T, Op, $len>(block));
                rest = others;
            }
        )*};
    }
    fold_few!(8 4 2);
    match rest {
        [last] => append::<T, Op>(prefix, last.widen()),
        _ => prefix,
    }
}

fn block_sum<T: Element, Op: Monoid<T>>(block: &[T]) -> T::Accumulator {
    if block.len() > LEAF {
        let (left, right) = block.split_at(block.len() / 2);
        return Op::combine(block_sum::<T, Op>(left), block_sum::<T, Op>(right));
    }
    of_size!(block.len().ilog2(), sum::<T, Op>(block))
}

/// Appends the sums of `input`.
pub(crate) fn push<T: Element, Op: Monoid<T>>(input: &[T], counter: &mut Counter<T::Accumulator>) {
    for (level, block) in blocks(counter.end(), input.len(), LEVELS) {
        let sum = of_size!(level, sum::<T, Op>(&input[block]));
        counter.push(level, sum, Op::combine);
    }
}

/// Replaces each element by its prefix. What comes before stands in `counter`, which then goes on
/// to the end.
pub(crate) fn scan<T: Element, Op: Monoid<T>>(
    data: &mut [T],
    counter: &mut Counter<T::Accumulator>,
    init: Option<T::Accumulator>,
    kind: PrefixKind,
) {
    let mut next = counter.prefix(init, Op::combine);
    for (level, block) in blocks(counter.end(), data.len(), LEVELS) {
        let levels = of_size!(level, tree::<T, Op>(&data[block.clone()]));
        counter.push(level, levels[level as usize][0], Op::combine);
        let base = next;
        next = counter.prefix(init, Op::combine);
        let end = next.expect("there are elements");
        of_size!(
            level,
            spread::<T, Op>(&mut data[block], &levels, base, end, kind)
        );
    }
}

/// Replaces each element by its prefix, by an exact operator. What comes before is `init`.
pub(crate) fn scan_exactly<T: Element, Op: Monoid<T>>(
    data: &mut [T],
    init: Option<T::Accumulator>,
    kind: PrefixKind,
) {
    debug_assert!(Op::EXACT);
    // The identity of an exact operator does not show.
    let mut prefix = init.unwrap_or_else(|| Op::identity().widen());
    for x in data {
        let next = Op::combine(prefix, x.widen());
        *x = T::narrow(match kind {
            PrefixKind::Exclusive => prefix,
            PrefixKind::Inclusive => next,
        });
        prefix = next;
    }
}

/// Level 0 are the elements of a block, and each further one the sums of pairs of the level below.
type Levels<A> = [[A; LEAF]; LEVELS as usize + 1];

#[inline(always)]
fn tree<T: Element, Op: Monoid<T>, const N: usize>(input: &[T; N]) -> Levels<T::Accumulator> {
    let mut levels = Levels::zeroed();
    for (to, x) in levels[0].iter_mut().zip(input) {
        *to = x.widen();
    }
    for level in 0..N.ilog2() as usize {
        for i in 0..N >> (level + 1) {
            levels[level + 1][i] = Op::combine(levels[level][2 * i], levels[level][2 * i + 1]);
        }
    }
    levels
}

#[inline(always)]
fn sum<T: Element, Op: Monoid<T>, const N: usize>(input: &[T; N]) -> T::Accumulator {
    tree::<T, Op, N>(input)[N.ilog2() as usize][0]
}

/// The prefixes of the elements of a block from its tree, and the prefixes of its start and its
/// end.
#[inline(always)]
fn spread<T: Element, Op: Monoid<T>, const N: usize>(
    data: &mut [T; N],
    levels: &Levels<T::Accumulator>,
    base: Option<T::Accumulator>,
    end: T::Accumulator,
    kind: PrefixKind,
) {
    let mut above = [base.unwrap_or_else(Zeroable::zeroed); LEAF];
    for level in (0..N.ilog2() as usize).rev() {
        let mut prefixes = above;
        for i in 0..N >> (level + 1) {
            let left = levels[level][2 * i];
            prefixes[2 * i] = above[i];
            // No prefix precedes the first element, so nothing is combined with it.
            prefixes[2 * i + 1] = if i == 0 && base.is_none() {
                left
            } else {
                Op::combine(above[i], left)
            };
        }
        above = prefixes;
    }
    match kind {
        PrefixKind::Exclusive => {
            for (x, &prefix) in data.iter_mut().zip(&above) {
                *x = T::narrow(prefix);
            }
            if base.is_none() {
                data[0] = Op::identity();
            }
        }
        PrefixKind::Inclusive => {
            for (x, &next) in data.iter_mut().zip(&above[1..]) {
                *x = T::narrow(next);
            }
            data[N - 1] = T::narrow(end);
        }
    }
}
