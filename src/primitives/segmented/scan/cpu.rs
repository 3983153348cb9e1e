//! Segmented scans on the CPU. Threads get stretches of items and segments together, and scan them
//! where the results lie. Long segments are shared out among all threads.

use crate::cpu::counter::Counter;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::{short, threads};
use crate::primitives::scan::cpu::{self as scan, Output};
use crate::primitives::segmented::cpu::{Bounds, LONG, stretch_of};
use crate::primitives::segmented::segments::Cut;
use crate::source::Items;
use crate::{Element, Monoid, Prefixes};
use std::ops::Range;

/// Segments between two bounds, and where their results go.
struct Stretch<'a, T> {
    segments: Range<usize>,
    items: Range<usize>,
    output: Output<'a, T>,
}

/// What is compiled for each operator.
struct Scans<T: Element> {
    /// See [`scan_short`].
    short: ScanShort<T>,
    /// See [`scan::scan`].
    long: ScanLong<T>,
}

type ScanShort<T> = fn(&mut [T], usize, &[Range<usize>], Prefixes<T>);
type ScanLong<T> = fn(&Items<'_, T>, Output<'_, T>, Prefixes<T>);

/// Scans each segment of `input` into `output`, of the same length, and copies the items of none.
/// In place, `input` is not looked at.
pub(crate) fn scan<T: Element, Op: Monoid<T>, C: Cut>(
    input: &Items<'_, T>,
    output: Output<'_, T>,
    bounds: &Bounds<'_, C>,
    prefixes: Prefixes<T>,
) {
    let scans = Scans {
        short: scan_short::<T, Op>,
        long: scan::scan::<T, Op>,
    };
    scan_with(input, output, bounds, prefixes, &scans);
}

fn scan_with<T: Element, C: Cut>(
    input: &Items<'_, T>,
    mut output: Output<'_, T>,
    bounds: &Bounds<'_, C>,
    prefixes: Prefixes<T>,
    scans: &Scans<T>,
) {
    let len = output.len();
    let all = len + bounds.count;
    let stretch = stretch_of(all);
    let mut stretches = Vec::new();
    let (mut segment, mut item) = (0, 0);
    for diagonal in (stretch..all + stretch).step_by(stretch) {
        let (mut next, mut to) = (bounds.count, len);
        if diagonal < all {
            next = bounds.starts_before(diagonal).max(segment);
            // Items before the first segment and behind the last one may be cut anywhere.
            let start = bounds.start(next);
            to = match next {
                _ if next == bounds.count => start.max(diagonal - next),
                0 => start.min(diagonal),
                _ => start,
            };
            // Unchecked offsets may fall.
            to = to.clamp(item, len);
        }
        stretches.push(Stretch {
            segments: segment..next,
            items: item..to,
            output: output.take(to - item, false),
        });
        (segment, item) = (next, to);
    }
    threads::for_each_of(&mut stretches.into_iter(), &|stretch| {
        scan_stretch(input, stretch, bounds, prefixes, scans);
    });
}

fn scan_stretch<T: Element, C: Cut>(
    input: &Items<'_, T>,
    stretch: Stretch<'_, T>,
    bounds: &Bounds<'_, C>,
    prefixes: Prefixes<T>,
    scans: &Scans<T>,
) {
    let Stretch {
        segments,
        items,
        mut output,
    } = stretch;
    // The items from `first` on have no results yet, and the segments of `some` lie among them.
    let (mut first, mut some, mut at) = (items.start, Vec::new(), items.start);
    for number in segments {
        let segment = bounds.items(number);
        let start = segment.start.clamp(at, items.end);
        let segment = start..segment.end.clamp(start, items.end);
        at = segment.end;
        if segment.len() <= LONG {
            if !segment.is_empty() {
                some.push(segment);
            }
            continue;
        }
        let before = first..segment.start;
        let room = output.take(before.len(), false);
        scan_some(input, room, before, &some, prefixes, scans);
        some.clear();
        first = segment.end;
        let output = output.take(segment.len(), false);
        match output {
            Output::InPlace(_) => (scans.long)(&Items::of_slice(&[]), output, prefixes),
            _ => input.with_part(segment, |part| (scans.long)(part, output, prefixes)),
        }
    }
    scan_some(input, output, first..items.end, &some, prefixes, scans);
}

/// Scans some segments that lie among these items.
fn scan_some<T: Element>(
    input: &Items<'_, T>,
    output: Output<'_, T>,
    items: Range<usize>,
    segments: &[Range<usize>],
    prefixes: Prefixes<T>,
    scans: &Scans<T>,
) {
    let data = match output {
        Output::InPlace(data) => data,
        into => input.with_part(items.clone(), |part| into.filled(part)),
    };
    in_rust_mode(|| (scans.short)(data, items.start, segments, prefixes));
    for segment in segments.iter().filter(|one| !is_short::<T>(one)) {
        let data = &mut data[segment.start - items.start..segment.end - items.start];
        (scans.long)(&Items::of_slice(&[]), Output::InPlace(data), prefixes);
    }
}

/// Scans the short ones of some segments, where they lie. The data start with item `first`.
fn scan_short<T: Element, Op: Monoid<T>>(
    data: &mut [T],
    first: usize,
    segments: &[Range<usize>],
    prefixes: Prefixes<T>,
) {
    let init = prefixes.init.map(T::widen);
    for segment in segments.iter().filter(|one| is_short::<T>(one)) {
        let data = &mut data[segment.start - first..segment.end - first];
        if prefixes.reverse {
            data.reverse();
        }
        match Op::EXACT {
            true => short::scan_exactly::<T, Op>(data, init, prefixes.kind),
            false => {
                let mut counter = Counter::at(0);
                short::scan::<T, Op>(data, &mut counter, init, prefixes.kind);
            }
        }
        if prefixes.reverse {
            data.reverse();
        }
    }
}

fn is_short<T: Element>(segment: &Range<usize>) -> bool {
    short::is_short::<T>(segment.len())
}
