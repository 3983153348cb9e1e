//! Bins of one width, by NumPy's rule.
//!
//! NumPy computes an item's bin in floats, `(x - lo) / (hi - lo) * bins`, and corrects it by one
//! against the edges on either side (`numpy/lib/_histograms_impl.py`). All of these steps are
//! monotone in `x`. A larger difference, quotient or product is not rounded to a smaller one. And a
//! correction cannot undo that: where the uncorrected bins of `x < y` are neighbours, `x` goes up
//! to the bin of `y` only from the edge between them on, and `y` goes down to that of `x` only
//! below it.
//!
//! So each bin is an interval of the type's numbers, and the first number of each says all. They
//! are found here, once, by the very rule. From then on an item is compared with numbers of its own
//! type, and every device puts it where NumPy does, to the last bit.

use super::number::{Binned, Edge, first_number};
use crate::cpu::threads;
use crate::{Error, Result};
use num_traits::{Float, NumCast};

/// NumPy's rule for some bins.
pub(super) struct Even<T: Binned> {
    bins: usize,
    /// What is dropped.
    range: Range<T>,
    first: T::Edge,
    width: Width<T::Edge>,
    /// One more than there are bins.
    pub(super) edges: Vec<T::Edge>,
}

/// What an item is compared with before anything else: edges, or items.
enum Range<T: Binned> {
    Edges(T::Edge, T::Edge),
    Items(T, T),
}

/// The type of the width, which is that of the quotient.
enum Width<E> {
    /// NumPy takes a range of Python's numbers as `f64`.
    Wide(f64),
    Own(E),
}

impl<T: Binned> Even<T> {
    /// `bins` bins from `lo` to `hi`, as NumPy takes a `range` of two Python floats.
    pub(super) fn new(lo: f64, hi: f64, bins: usize) -> Result<Even<T>> {
        for (argument, value) in [("lo", lo), ("hi", hi)] {
            if !value.is_finite() {
                return fault(argument, format!("is {value}; give a finite number"));
            }
        }
        if lo >= hi {
            return fault("hi", format!("is {hi}, which is not above lo, {lo}"));
        }
        let edges: Vec<_> = linspace(lo, hi, bins)
            .into_iter()
            .map(T::Edge::of)
            .collect();
        let range = Range::Edges(T::Edge::of(lo), T::Edge::of(hi));
        Even {
            bins,
            range,
            first: T::Edge::of(lo),
            width: Width::Wide(hi - lo),
            edges,
        }
        .checked()
    }

    /// `bins` bins from `least` to `greatest`, as NumPy takes the range of the data. If both are
    /// equal, the range goes from half below to half above.
    pub(super) fn of_range(least: T, greatest: T, bins: usize) -> Result<Even<T>> {
        for (argument, value) in [("least", least), ("greatest", greatest)] {
            let value = value.to_f64();
            if !value.is_finite() {
                return fault(argument, format!("is {value}; give a finite number"));
            }
        }
        if least > greatest {
            let (least, greatest) = (least.to_f64(), greatest.to_f64());
            return fault(
                "greatest",
                format!("is {greatest}, which is below least, {least}"),
            );
        }
        let half = T::Edge::of(0.5);
        let (mut first, mut last) = (least.to_edge(), greatest.to_edge());
        let mut range = Range::Items(least, greatest);
        let mut width = T::width(least, greatest);
        if least == greatest {
            (first, last) = (first - half, last + half);
            range = Range::Edges(first, last);
            width = last - first;
        }
        Even {
            bins,
            range,
            first,
            width: Width::Own(width),
            edges: linspace(first, last, bins),
        }
        .checked()
    }

    fn checked(self) -> Result<Even<T>> {
        let (first, last) = (self.first, self.edges[self.bins]);
        let width: f64 = match self.width {
            Width::Wide(width) => width,
            Width::Own(width) => width.into(),
        };
        if !(first.is_finite()
            && last.is_finite()
            && (last - first).is_finite()
            && width.is_finite())
        {
            return fault(
                "hi",
                "is too far from lo: a number of the items' type cannot hold the distance".into(),
            );
        }
        match self.edges.windows(2).position(|pair| pair[0] >= pair[1]) {
            None => Ok(self),
            Some(place) => fault(
                "bins",
                format!(
                    "are too many for the range: edges {place} and {} are both {}",
                    place + 1,
                    self.edges[place]
                ),
            ),
        }
    }

    fn is_below(&self, x: T) -> bool {
        match self.range {
            Range::Edges(lo, _) => x.to_edge() < lo,
            Range::Items(least, _) => x < least,
        }
    }

    fn is_above(&self, x: T) -> bool {
        match self.range {
            Range::Edges(_, hi) => x.to_edge() > hi,
            Range::Items(_, greatest) => x > greatest,
        }
    }

    /// The bin of a number that is not dropped. Above the range it is the last.
    fn bin(&self, x: T) -> usize {
        let x = x.to_edge();
        let distance = x - self.first;
        let bin = match self.width {
            Width::Wide(width) => scaled(distance.into(), width, self.bins),
            Width::Own(width) => scaled(distance, width, self.bins),
        };
        // NumPy fails if it is larger still.
        let bin = bin.min(self.bins - 1);
        if x < self.edges[bin] {
            bin - 1
        } else if x >= self.edges[bin + 1] && bin != self.bins - 1 {
            bin + 1
        } else {
            bin
        }
    }

    /// The first number of each bin, as far as there is one, and the last number of all.
    pub(super) fn numbers(&self) -> (Vec<T>, Option<T>) {
        let near = |edge: T::Edge| T::near(edge.into());
        let above = first_number(near(self.edges[self.bins]), |x| self.is_above(x));
        let last = above.map_or(T::ENDS.1, |above| {
            // Before the least number there is none, and then no bin has a first.
            T::of_rank(above.rank().saturating_sub(1))
        });
        let first = |bin: usize| {
            let in_bin = |x| self.is_above(x) || (!self.is_below(x) && self.bin(x) >= bin);
            first_number(near(self.edges[bin]), in_bin).filter(|&x| !self.is_above(x))
        };
        let firsts_of = |chunk: usize| -> Vec<Option<T>> {
            let bins = chunk * CHUNK..(chunk * CHUNK + CHUNK).min(self.bins);
            bins.map(first).collect()
        };
        let chunks = self.bins.div_ceil(CHUNK);
        let firsts = threads::map(chunks, &|| (), &|(), chunk| firsts_of(chunk));
        let firsts: Vec<T> = firsts
            .into_iter()
            .flatten()
            .map_while(|first| first)
            .collect();
        let last = (!firsts.is_empty()).then_some(last);
        (firsts, last)
    }
}

/// How many bins a thread takes at a time.
const CHUNK: usize = 1 << 12;

/// `distance / width * bins`, cut off.
fn scaled<E: Float>(distance: E, width: E, bins: usize) -> usize {
    let bins: E = NumCast::from(bins).expect("floats reach that far");
    // What is negative or NaN is 0, and what is too large is the most.
    let scaled = distance / width * bins;
    scaled.to_f64().expect("floats fit") as usize
}

/// `numpy.linspace(start, stop, bins + 1)`.
fn linspace<E: Edge>(start: E, stop: E, bins: usize) -> Vec<E> {
    let number = |i: usize| -> E { NumCast::from(i).expect("floats reach that far") };
    let (delta, parts) = (stop - start, number(bins));
    let step = delta / parts;
    let mut edges: Vec<E> = (0..=bins)
        .map(|i| match step == E::zero() {
            true => number(i) / parts * delta + start,
            false => number(i) * step + start,
        })
        .collect();
    edges[bins] = stop;
    edges
}

/// The error that says what is wrong with an argument of bins.
pub(super) fn fault<R>(argument: &'static str, fault: String) -> Result<R> {
    Err(Error::Bins { argument, fault })
}
