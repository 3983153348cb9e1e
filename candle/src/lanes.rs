//! Which lanes of a tensor an operation runs along, and how they are read without a copy.

use crate::dtype::fault;
use crate::lacking::contiguous;
use candle_core::shape::{Dim, Dims};
use candle_core::{Result, Shape, Tensor};
use warpfold::Axis;

/// A tensor seen as lanes: a view whose memory is an [`Axis`], and the way back to the tensor's
/// dimensions.
///
/// - Dimensions other than those of the lanes may come in any order. So a transposed tensor is read
///   in the order of its memory, and the result is a transposed view.
/// - Those that are broadcast are computed once, and the result is broadcast.
/// - What is no axis even so is copied: a broadcast dimension *along* the
///   lanes, several narrowed dimensions, lanes over dimensions that do not lie side by side.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// The view: outer dimensions, those of the lanes, inner dimensions.
    pub view: Tensor,
    pub axis: Axis,
    /// How far the numbers of two outer places lie apart, and two along the lanes.
    pub strides: (usize, usize),
    /// How many numbers of the storage there are from the view's start to its end.
    pub extent: usize,
    /// The dimension of the tensor that each of the view's is.
    order: Vec<usize>,
    /// The dimensions of the lanes.
    along: Vec<usize>,
    /// The shape of the tensor.
    shape: Vec<usize>,
}

/// An axis in memory.
struct Memory {
    axis: Axis,
    strides: (usize, usize),
    extent: usize,
}

impl Lanes {
    /// The lanes along `dims`, which run through several dimensions row by row.
    pub(crate) fn of<D: Dims>(x: &Tensor, dims: D, operation: &'static str) -> Result<Lanes> {
        let mut along = dims.to_indexes(x.shape(), operation)?;
        along.sort_unstable();
        let shape = x.dims().to_vec();
        let mut view = x.clone();
        for dim in (0..shape.len()).filter(|dim| !along.contains(dim)) {
            if view.stride()[dim] == 0 && shape[dim] > 1 {
                view = view.narrow(dim, 0, 1)?;
            }
        }
        let order = Self::order(&view, &along);
        view = view.permute(order.clone())?;
        let first = order
            .iter()
            .position(|dim| along.contains(dim))
            .unwrap_or(order.len());
        let split = (first, first + along.len());
        let memory = match Self::memory(&view, split, operation)? {
            Some(memory) => memory,
            None => {
                view = contiguous(&view)?;
                let memory = Self::memory(&view, split, operation)?;
                memory
                    .ok_or_else(|| fault(operation, format!("the shape {shape:?} has no lanes")))?
            }
        };
        let Memory {
            axis,
            strides,
            extent,
        } = memory;
        Ok(Lanes {
            view,
            axis,
            strides,
            extent,
            order,
            along,
            shape,
        })
    }

    /// Dimensions that lie further apart than those of the lanes, the lanes', and the others; each
    /// group by falling strides.
    fn order(view: &Tensor, along: &[usize]) -> Vec<usize> {
        let (dims, strides) = (view.dims(), view.stride());
        let widest = along
            .iter()
            .filter(|&&dim| dims[dim] > 1)
            .map(|&dim| strides[dim])
            .max();
        let is_outer = |dim: usize| widest.is_none_or(|along| strides[dim] >= along);
        let others = (0..dims.len()).filter(|dim| !along.contains(dim));
        let (mut outer, mut inner): (Vec<_>, Vec<_>) =
            others.partition(|&dim| dims[dim] == 1 || is_outer(dim));
        outer.sort_by_key(|&dim| std::cmp::Reverse(strides[dim]));
        inner.sort_by_key(|&dim| std::cmp::Reverse(strides[dim]));
        outer.extend(along);
        outer.extend(inner);
        outer
    }

    /// The axis that dimensions `split.0..split.1` of a view are, if the memory is one.
    fn memory(
        view: &Tensor,
        split: (usize, usize),
        operation: &'static str,
    ) -> Result<Option<Memory>> {
        let (dims, strides) = (view.dims(), view.stride());
        let convert = |error| fault(operation, format!("{error} (the shape is {dims:?})"));
        let count = |dims: &[usize]| dims.iter().product::<usize>();
        let (outer, len) = (count(&dims[..split.0]), count(&dims[split.0..split.1]));
        let inner = count(&dims[split.1..]);
        let axis = Axis::new(outer, len, inner).map_err(convert)?;
        if outer * len * inner == 0 {
            return Ok(Some(Memory {
                axis,
                strides: (0, 0),
                extent: 0,
            }));
        }
        let merged = |from: usize, to: usize| merged(&dims[from..to], &strides[from..to]);
        let parts = (
            merged(0, split.0),
            merged(split.0, split.1),
            merged(split.1, dims.len()),
        );
        let (Some(outer_stride), Some(stride), Some(inner_stride)) = parts else {
            return Ok(None);
        };
        if inner > 1 && inner_stride != 1 {
            return Ok(None);
        }
        let stride = if len > 1 { stride } else { inner };
        let outer_stride = if outer > 1 {
            outer_stride
        } else {
            len * stride
        };
        let extent = (outer - 1) * outer_stride + (len - 1) * stride + inner;
        Ok(axis.strides(outer_stride, stride).ok().map(|axis| Memory {
            axis,
            strides: (outer_stride, stride),
            extent,
        }))
    }

    /// The shape of a result that has a number for each lane.
    pub(crate) fn reduced(&self) -> Shape {
        let dims = self.order.iter().zip(self.view.dims());
        let dims: Vec<usize> = dims
            .filter(|(dim, _)| !self.along.contains(dim))
            .map(|(_, &len)| len)
            .collect();
        dims.into()
    }

    /// The lanes' place among the dimensions of the view.
    pub(crate) fn along_view(&self) -> Vec<usize> {
        (0..self.order.len())
            .filter(|&at| self.along.contains(&self.order[at]))
            .collect()
    }

    /// A result in the shape of the view, in that of the tensor.
    pub(crate) fn restore(&self, result: &Tensor) -> Result<Tensor> {
        let mut back = vec![0; self.order.len()];
        for (at, &dim) in self.order.iter().enumerate() {
            back[dim] = at;
        }
        let result = result.permute(back)?;
        let dims = (0..self.shape.len()).map(|dim| match self.along.contains(&dim) {
            true => result.dims()[dim],
            false => self.shape[dim],
        });
        let dims: Vec<usize> = dims.collect();
        match result.dims() == dims {
            true => Ok(result),
            false => result.broadcast_as(dims),
        }
    }

    /// A result with a number for each lane, in the shape of the tensor without the dimensions of
    /// the lanes, or with 1 for each.
    pub(crate) fn restore_reduced(&self, result: &Tensor, keep_dims: bool) -> Result<Tensor> {
        let dims = self.order.iter().zip(self.view.dims());
        let dims: Vec<usize> = dims
            .map(|(dim, &len)| if self.along.contains(dim) { 1 } else { len })
            .collect();
        let kept = self.restore(&result.reshape(dims)?)?;
        match keep_dims {
            true => Ok(kept),
            false => self
                .along
                .iter()
                .rev()
                .try_fold(kept, |kept, &dim| kept.squeeze(dim)),
        }
    }
}

/// The stride of the one dimension that several are, row by row, if they are one.
fn merged(dims: &[usize], strides: &[usize]) -> Option<usize> {
    let mut together: Option<(usize, usize)> = None;
    for (&len, &stride) in dims.iter().zip(strides).rev() {
        together = match together {
            _ if len == 1 => together,
            None => Some((stride, len)),
            Some((unit, count)) if stride == unit * count => Some((unit, count * len)),
            Some(_) => return None,
        };
    }
    Some(together.map_or(1, |(unit, _)| unit))
}

/// A tensor as rows along one dimension, without gaps.
#[derive(Debug)]
pub(crate) struct RowsOf {
    /// The view, in which the rows' dimension is the last one.
    pub view: Tensor,
    pub rows: usize,
    pub len: usize,
    dim: usize,
}

impl RowsOf {
    /// The rows along `dim`. Copies unless they lie side by side already.
    pub(crate) fn of<D: Dim>(x: &Tensor, dim: D, operation: &'static str) -> Result<RowsOf> {
        let dim = dim.to_index(x.shape(), operation)?;
        let mut order: Vec<usize> = (0..x.rank()).filter(|&other| other != dim).collect();
        order.push(dim);
        let view = contiguous(&x.permute(order)?)?;
        let len = x.dims()[dim];
        let rows = view.dims()[..x.rank() - 1].iter().product();
        Ok(RowsOf {
            view,
            rows,
            len,
            dim,
        })
    }

    /// The shape of a result with rows of another length, in the order of the view.
    pub(crate) fn shape(&self, len: usize) -> Shape {
        let mut dims = self.view.dims().to_vec();
        *dims.last_mut().expect("rows have a dimension") = len;
        dims.into()
    }

    /// A result in the order of the view, in that of the tensor.
    pub(crate) fn restore(&self, result: &Tensor) -> Result<Tensor> {
        let last = result.rank() - 1;
        let mut order: Vec<usize> = (0..last).collect();
        order.insert(self.dim, last);
        result.permute(order)
    }
}
