//! Which axis of which array.

use crate::{Error, Result};

/// An axis of an array that lies row by row, seen as *outer* × *axis* × *inner*: what lies before
/// the axis in the shape, and what lies after it, as one number each. A *lane* is what lies along
/// the axis at one place of the others. There are outer · inner lanes.
///
/// ```
/// use warpfold::{Axis, ops::Add, reduce_axis};
///
/// let matrix = [
///     1, 2, 3, //
///     4, 5, 6,
/// ];
/// assert_eq!(reduce_axis::<i32, Add>(&matrix, Axis::of(&[2, 3], 0)?)?, [5, 7, 9]);
/// assert_eq!(reduce_axis::<i32, Add>(&matrix, Axis::of(&[2, 3], 1)?)?, [6, 15]);
///
/// let error = Axis::of(&[2, 3], 2).unwrap_err();
/// assert!(error.to_string().contains("axis 2 is not there"));
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    pub(crate) outer: usize,
    pub(crate) len: usize,
    pub(crate) inner: usize,
    /// From one outer place to the next, in items.
    pub(crate) outer_stride: usize,
    /// From one place along the axis to the next.
    pub(crate) stride: usize,
}

impl Axis {
    /// The axis of length `len` between `outer` and `inner`. The array has no gaps.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if the array has 2^64 items or more.
    pub fn new(outer: usize, len: usize, inner: usize) -> Result<Axis> {
        let product = |a: usize, b: usize| a.checked_mul(b);
        let outer_stride = product(len, inner);
        let all = outer_stride.and_then(|items| product(items, outer));
        let (Some(outer_stride), Some(_), Some(_)) = (outer_stride, all, product(outer, inner))
        else {
            return Err(fault(format!(
                "{outer} × {len} × {inner} items are more than a position can say"
            )));
        };
        Ok(Axis {
            outer,
            len,
            inner,
            outer_stride,
            stride: inner,
        })
    }

    /// Axis `axis` of an array of this shape, counted from 0. The array has no gaps.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if the shape has no such axis, or 2^64 items or more.
    pub fn of(shape: &[usize], axis: usize) -> Result<Axis> {
        let Some(&len) = shape.get(axis) else {
            let axes = match shape.len() {
                0 => "none".to_owned(),
                1 => "axis 0 only".to_owned(),
                count => format!("0 to {}", count - 1),
            };
            return Err(fault(format!(
                "axis {axis} is not there: the axes of the shape {shape:?} are {axes}"
            )));
        };
        // A product of nothing else may be beyond all bounds where there is a 0.
        let product = |part: &[usize]| {
            let product = part
                .iter()
                .try_fold(1_usize, |all, &one| all.checked_mul(one));
            match part.contains(&0) {
                true => Some(0),
                false => product,
            }
        };
        match (product(&shape[..axis]), product(&shape[axis + 1..])) {
            (Some(outer), Some(inner)) if shape.contains(&0) && outer.max(inner) > 1 << 31 => {
                // Nothing is there, so only that there are no items counts.
                Axis::new(outer.min(1), len.min(1), inner.min(1))
            }
            (Some(outer), Some(inner)) => Axis::new(outer, len, inner),
            _ => Err(fault(format!(
                "the shape {shape:?} has more items than a position can say"
            ))),
        }
    }

    /// The array has gaps: `outer_stride` items lie between the starts of neighbouring outer
    /// places, and `stride` items between those along the axis. Rows of 5 items that start every 8
    /// items are `Axis::new(rows, 5, 1)?.strides(8, 1)?` along the row, and
    /// `Axis::new(1, rows, 5)?.strides(8 * rows, 8)?` across rows.
    ///
    /// ```
    /// use warpfold::{Axis, ops::Max, reduce_axis};
    ///
    /// // Rows of two, padded to three.
    /// let padded = [1, 7, 0, 5, 2, 0];
    /// let across = Axis::new(1, 2, 2)?.strides(6, 3)?;
    /// assert_eq!(reduce_axis::<i32, Max>(&padded, across)?, [5, 7]);
    /// assert!(Axis::new(1, 2, 2)?.strides(6, 1).is_err());
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if places would overlap: if `stride` is less than the inner items, or
    /// `outer_stride` less than what lies from the first item of an outer place to its last.
    pub fn strides(self, outer_stride: usize, stride: usize) -> Result<Axis> {
        let Axis {
            outer, len, inner, ..
        } = self;
        if len > 1 && stride < inner {
            return Err(fault(format!(
                "a stride of {stride} is less than the {inner} inner items, so places along the axis overlap"
            )));
        }
        let span = len
            .saturating_sub(1)
            .checked_mul(stride)
            .and_then(|last| last.checked_add(inner));
        let all = span.and_then(|span| {
            let last = outer.saturating_sub(1).checked_mul(outer_stride)?;
            last.checked_add(span)
        });
        match span.zip(all) {
            None => Err(fault(
                "strides lead beyond what a position can say".to_owned(),
            )),
            Some((span, _)) if outer > 1 && len > 0 && outer_stride < span => Err(fault(format!(
                "an outer stride of {outer_stride} is less than the {span} items of an outer place, so these overlap"
            ))),
            Some(_) => Ok(Axis {
                outer_stride,
                stride,
                ..self
            }),
        }
    }

    /// The number of lanes, and so of results of a reduction.
    pub fn lanes(&self) -> usize {
        self.outer * self.inner
    }

    /// The number of items, and so of results of a scan.
    pub fn items(&self) -> usize {
        self.outer * self.len * self.inner
    }

    /// The number of inner places.
    pub fn inner_len(&self) -> usize {
        self.inner
    }

    /// The length of a lane.
    pub fn lane_len(&self) -> usize {
        self.len
    }

    /// Whether the array has no gaps.
    pub(crate) fn is_compact(&self) -> bool {
        let along = self.len < 2 || self.stride == self.inner;
        along && (self.outer < 2 || self.outer_stride == self.len * self.inner)
    }

    /// The array without gaps.
    pub(crate) fn compact(self) -> Axis {
        Axis {
            outer_stride: self.len * self.inner,
            stride: self.inner,
            ..self
        }
    }

    /// Whether the lanes are segments side by side.
    pub(crate) fn is_rows(&self) -> bool {
        self.inner == 1 && self.is_compact()
    }

    /// How many items a source must have.
    pub(crate) fn extent(&self) -> usize {
        match self.items() {
            0 => 0,
            _ => {
                let along = (self.len - 1) * self.stride + self.inner;
                (self.outer - 1) * self.outer_stride + along
            }
        }
    }

    /// An error unless so many items hold the array. Without gaps there must be no others.
    pub(crate) fn check(&self, items: usize) -> Result<()> {
        let Axis {
            outer, len, inner, ..
        } = *self;
        let extent = self.extent();
        let fits = match self.is_compact() {
            true => items == extent,
            false => items >= extent,
        };
        match fits {
            true => Ok(()),
            false => Err(fault(format!(
                "{outer} × {len} × {inner} places take {extent} items, but there are {items}"
            ))),
        }
    }
}

fn fault(fault: String) -> Error {
    Error::Axis { fault }
}
