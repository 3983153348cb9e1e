//! The oracle, and the forms of a scan.

use crate::support::data::{Sample, sample};
use crate::support::oracle;
use warpfold::{Axis, Monoid, Prefixes};

/// An array, with its strides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) outer: usize,
    pub(super) len: usize,
    pub(super) inner: usize,
    /// How many items lie between rows, and between outer places.
    pub(super) gaps: (usize, usize),
}

impl Case {
    pub(super) const fn new(outer: usize, len: usize, inner: usize) -> Case {
        Case {
            outer,
            len,
            inner,
            gaps: (0, 0),
        }
    }

    pub(super) fn axis(&self) -> Axis {
        let axis = Axis::new(self.outer, self.len, self.inner).unwrap();
        match self.gaps {
            (0, 0) => axis,
            _ => axis.strides(self.outer_stride(), self.stride()).unwrap(),
        }
    }

    pub(super) fn stride(&self) -> usize {
        self.inner + self.gaps.0
    }

    pub(super) fn outer_stride(&self) -> usize {
        self.len * self.stride() + self.gaps.1
    }

    /// The items, those in gaps among them.
    pub(super) fn data<T: Sample>(&self) -> Vec<T> {
        sample(self.outer * self.outer_stride(), 7)
    }

    fn place(&self, outer: usize, row: usize, inner: usize) -> usize {
        outer * self.outer_stride() + row * self.stride() + inner
    }

    /// Calls `take` with the outer and inner place of each lane, and its items.
    fn lanes<T: Copy>(&self, data: &[T], mut take: impl FnMut(usize, usize, Vec<T>)) {
        for outer in 0..self.outer {
            for inner in 0..self.inner {
                let item = |row| data[self.place(outer, row, inner)];
                take(outer, inner, (0..self.len).map(item).collect());
            }
        }
    }

    /// What the law gives for each lane alone.
    pub(super) fn folds<T: Sample, Op: Monoid<T>>(&self, data: &[T], init: Option<T>) -> Vec<T> {
        let mut folds = Vec::new();
        self.lanes(data, |_, _, lane| {
            folds.push(oracle::reduce::<T, Op>(&lane, init))
        });
        folds
    }

    /// The scan that the law gives for each lane alone: without gaps, or in the place of the items.
    pub(super) fn scans<T: Sample, Op: Monoid<T>>(
        &self,
        data: &[T],
        form: Form<T>,
        in_place: bool,
    ) -> Vec<T> {
        let to = if in_place {
            *self
        } else {
            Case {
                gaps: (0, 0),
                ..*self
            }
        };
        let mut results = match in_place {
            true => data.to_vec(),
            false => vec![T::zeroed(); self.outer * self.len * self.inner],
        };
        self.lanes(data, |outer, inner, mut lane| {
            if form.reverse {
                lane.reverse();
            }
            let mut prefixes = match form.inclusive {
                true => oracle::inclusive::<T, Op>(&lane, form.init),
                false => oracle::exclusive::<T, Op>(&lane, form.init),
            };
            if form.reverse {
                prefixes.reverse();
            }
            for (row, prefix) in prefixes.into_iter().enumerate() {
                results[to.place(outer, row, inner)] = prefix;
            }
        });
        results
    }
}

/// What a scan is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<T> {
    pub(super) inclusive: bool,
    pub(super) reverse: bool,
    pub(super) init: Option<T>,
}

impl<T: Sample> Form<T> {
    /// All eight.
    pub(super) fn all() -> Vec<Form<T>> {
        let init = sample::<T>(1, 99)[0];
        let form = |number: usize| Form {
            inclusive: number & 1 == 1,
            reverse: number & 2 == 2,
            init: (number & 4 == 4).then_some(init),
        };
        (0..8).map(form).collect()
    }

    pub(super) fn prefixes(&self) -> Prefixes<T> {
        let prefixes = match self.inclusive {
            true => Prefixes::inclusive(),
            false => Prefixes::exclusive(),
        };
        let prefixes = self.init.map_or(prefixes, |init| prefixes.from(init));
        match self.reverse {
            true => prefixes.reverse(),
            false => prefixes,
        }
    }
}

/// Around groups, chunks and levels of chunks of 2^`log` rows; empty axes; gaps.
pub(super) fn cases(log: u32) -> Vec<Case> {
    let chunk = 1 << log;
    let mut cases = vec![
        Case::new(0, 5, 3),
        Case::new(3, 0, 4),
        Case::new(2, 5, 0),
        Case::new(1, 1, 1),
        Case::new(1, 1, 100),
        Case::new(70, 3, 5),
        Case::new(5, 7, 33),
        Case::new(4, 100, 1),
        Case {
            gaps: (3, 0),
            ..Case::new(1, 21, 6)
        },
        Case {
            gaps: (0, 5),
            ..Case::new(7, 9, 4)
        },
        Case {
            gaps: (2, 3),
            ..Case::new(3, chunk + 3, 2)
        },
        Case {
            gaps: (0, 4),
            ..Case::new(6, 29, 1)
        },
    ];
    let lengths = [
        7,
        8,
        9,
        chunk - 1,
        chunk,
        chunk + 1,
        2 * chunk,
        3 * chunk + 5,
        4 * chunk,
        7 * chunk + 8,
        chunk * chunk,
        chunk * chunk + 3 * chunk + 13,
    ];
    cases.extend(lengths.map(|length| Case::new(1, length, 3)));
    cases.extend(lengths[..10].iter().map(|&length| Case::new(2, length, 2)));
    cases
}
