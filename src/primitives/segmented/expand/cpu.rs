//! Expansion on the CPU: threads get stretches of items and segments together.

use crate::Element;
use crate::cpu::threads::for_each_of_with;
use crate::primitives::segmented::cpu::{Bounds, stretch_of};
use crate::primitives::segmented::segments::Cut;
use crate::source::Items;
use std::mem::MaybeUninit;

/// Part of the items, and the number of segments that start before it.
struct Stretch<'a, T> {
    first: usize,
    end: usize,
    position: usize,
    output: &'a mut [MaybeUninit<T>],
}

/// Writes the value of each item's segment, and `none` for those of no segment.
pub(super) fn expand<T: Element, C: Cut>(
    values: &Items<'_, T>,
    bounds: &Bounds<'_, C>,
    none: T,
    mut output: &mut [MaybeUninit<T>],
) {
    let all = output.len() + bounds.count;
    let stretch = stretch_of(all);
    let mut stretches = Vec::new();
    let (mut first, mut position) = (0, 0);
    for diagonal in (stretch..all + stretch).step_by(stretch) {
        let diagonal = diagonal.min(all);
        // Unchecked offsets may fall.
        let end = bounds.starts_before(diagonal).max(first);
        let to = match diagonal == all {
            true => position + output.len(),
            false => (diagonal - end.min(diagonal)).clamp(position, position + output.len()),
        };
        stretches.push(Stretch {
            first,
            end,
            position,
            output: output.split_off_mut(..to - position).expect("so many"),
        });
        (first, position) = (end, to);
    }
    let work = |evaluated: &mut Vec<T>, stretch: Stretch<'_, T>| {
        fill(values, bounds, none, stretch, evaluated);
    };
    for_each_of_with(&mut stretches.into_iter(), &Vec::new, &work);
}

fn fill<T: Element, C: Cut>(
    values: &Items<'_, T>,
    bounds: &Bounds<'_, C>,
    none: T,
    stretch: Stretch<'_, T>,
    evaluated: &mut Vec<T>,
) {
    let Stretch {
        first,
        end,
        position,
        output,
    } = stretch;
    // The segment before the first one may go on here.
    let before = first.saturating_sub(1);
    let values = values.range(before..end, evaluated);
    let (mut at, mut rest) = (position, output);
    let mut write = |to: usize, value: T| {
        let length = to.saturating_sub(at).min(rest.len());
        let part = rest.split_off_mut(..length).expect("so many");
        part.fill(MaybeUninit::new(value));
        at += length;
    };
    let value_of = |number: usize| match number.checked_sub(1) {
        Some(segment) => values[segment - before],
        None => none,
    };
    for number in first..end {
        write(bounds.start(number), value_of(number));
    }
    if end < bounds.count {
        return write(usize::MAX, value_of(end));
    }
    write(bounds.start(end), value_of(end));
    write(usize::MAX, none);
}
