//! Sorts and top-k along a dimension.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::dtype::{Number, fault};
use crate::job::{Job, plain, run};
use crate::lanes::RowsOf;
use crate::reduce::{check_places, narrow};
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::shape::{D, Dim};
use candle_core::{CpuStorage, Result, Tensor};
use warpfold::{Order, Rows, bottom_k_rows, segmented_argsort, top_k_rows};

/// Sorts. All are stable: what is equal stays in the order of the tensor, in descending orders too.
/// Rows may have any width. NaN is the greatest number, whatever its sign, and −0 equals +0, unless
/// the [`Order`] says otherwise. Places are `u32`, as candle's.
///
/// Rows that do not lie side by side are copied first.
impl Warpfold<'_> {
    /// The places of each row's numbers in sorted order: candle's `arg_sort_last_dim` for any
    /// dimension, and `torch.argsort` with `stable=True`.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold::Order;
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[[2_f32, f32::NAN, 1.0, 2.0]], &Device::Cpu)?;
    /// let places = x.warpfold().argsort(1, Order::descending())?;
    /// assert_eq!(places.to_vec2::<u32>()?, [[1, 0, 3, 2]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such dimension, it has more than 2^32 numbers, or the dtype is not supported.
    pub fn argsort<N: Dim>(&self, dim: N, order: Order) -> Result<Tensor> {
        let rows = RowsOf::of(self.0, dim, "argsort")?;
        check_places("argsort", rows.len, self.0)?;
        let job = ArgSort {
            rows: (rows.rows, rows.len),
            order,
        };
        let [places] = run(&job, &rows.view, rows.rows * rows.len)?;
        rows.restore(&plain(places, rows.shape(rows.len)))
    }

    /// The numbers of each row in sorted order, and the places where they stood. Differentiable
    /// with regard to the numbers.
    ///
    /// # Errors
    ///
    /// As [`argsort`](Warpfold::argsort).
    pub fn sort<N: Dim>(&self, dim: N, order: Order) -> Result<(Tensor, Tensor)> {
        let dim = dim.to_index(self.0.shape(), "sort")?;
        let places = self.argsort(dim, order)?;
        Ok((self.gather(&places, dim)?, places))
    }

    /// [`argsort`](Warpfold::argsort) along the last dimension: candle's.
    ///
    /// # Errors
    ///
    /// As [`argsort`](Warpfold::argsort).
    pub fn arg_sort_last_dim(&self, ascending: bool) -> Result<Tensor> {
        self.argsort(D::Minus1, direction(ascending))
    }

    /// [`sort`](Warpfold::sort) along the last dimension: candle's.
    ///
    /// # Errors
    ///
    /// As [`argsort`](Warpfold::argsort).
    pub fn sort_last_dim(&self, ascending: bool) -> Result<(Tensor, Tensor)> {
        self.sort(D::Minus1, direction(ascending))
    }

    /// The `k` greatest numbers of each row, the greatest first, and where each stands in it; of
    /// equal ones the first. It is the beginning of the row sorted in descending order:
    /// `torch.topk`, with ties in order. Differentiable with regard to the numbers.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::WarpfoldExt;
    ///
    /// let x = Tensor::new(&[[3_u32, 9, 4, 9], [0, 0, 7, 1]], &Device::Cpu)?;
    /// let (values, places) = x.warpfold().topk(2, 1)?;
    /// assert_eq!(values.to_vec2::<u32>()?, [[9, 9], [7, 1]]);
    /// assert_eq!(places.to_vec2::<u32>()?, [[1, 3], [2, 3]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`argsort`](Warpfold::argsort), and if rows have fewer than `k` numbers.
    pub fn topk<N: Dim>(&self, k: usize, dim: N) -> Result<(Tensor, Tensor)> {
        self.best("topk", k, dim, true, Order::default())
    }

    /// The `k` least numbers of each row, the least first. NaN comes last. Otherwise as
    /// [`topk`](Warpfold::topk).
    ///
    /// # Errors
    ///
    /// As [`topk`](Warpfold::topk).
    pub fn bottomk<N: Dim>(&self, k: usize, dim: N) -> Result<(Tensor, Tensor)> {
        self.best("bottomk", k, dim, false, Order::default())
    }

    /// As [`topk`](Warpfold::topk), in an order that says where NaN and −0 stand. Its direction
    /// does not matter.
    ///
    /// # Errors
    ///
    /// As [`topk`](Warpfold::topk).
    pub fn topk_by<N: Dim>(&self, k: usize, dim: N, order: Order) -> Result<(Tensor, Tensor)> {
        self.best("topk", k, dim, true, order)
    }

    fn best<N: Dim>(
        &self,
        name: &'static str,
        k: usize,
        dim: N,
        top: bool,
        order: Order,
    ) -> Result<(Tensor, Tensor)> {
        let dim = dim.to_index(self.0.shape(), name)?;
        let rows = RowsOf::of(self.0, dim, name)?;
        check_places(name, rows.len, self.0)?;
        if k > rows.len {
            let (len, shape) = (rows.len, self.0.dims());
            return Err(fault(
                name,
                format!("k is {k}, and dimension {dim} has {len} numbers; the shape is {shape:?}"),
            ));
        }
        let job = Best {
            name,
            rows: (rows.rows, rows.len),
            k,
            top,
            order,
        };
        let [values, places] = run(&job, &rows.view, rows.rows * rows.len)?;
        let places = rows.restore(&plain(places, rows.shape(k)))?;
        let values = match self.0.track_op() {
            true => self.gather(&places, dim)?,
            false => rows.restore(&plain(values, rows.shape(k)))?,
        };
        Ok((values, places))
    }
}

fn direction(ascending: bool) -> Order {
    match ascending {
        true => Order::ascending(),
        false => Order::descending(),
    }
}

struct ArgSort {
    /// The number of rows, and that of the numbers of each.
    rows: (usize, usize),
    order: Order,
}

impl Job<1> for ArgSort {
    fn name(&self) -> &'static str {
        "argsort"
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 1]> {
        let places = segmented_argsort(x, Rows::new(self.rows.0, self.rows.1), self.order);
        let places = places.map_err(|error| fault(self.name(), error))?;
        Ok([CpuStorage::U32(narrow(&places))])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        gpu.argsort(x, self.rows, self.order)
    }
}

struct Best {
    name: &'static str,
    /// The number of rows, and that of the numbers of each.
    rows: (usize, usize),
    k: usize,
    top: bool,
    order: Order,
}

impl Job<2> for Best {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu<T: Number>(&self, x: &[T]) -> Result<[CpuStorage; 2]> {
        let rows = Rows::new(self.rows.0, self.rows.1);
        let best = match self.top {
            true => top_k_rows::<T>(x, rows, self.k, self.order),
            false => bottom_k_rows::<T>(x, rows, self.k, self.order),
        };
        let (values, places) = best.map_err(|error| fault(self.name, error))?;
        Ok([
            T::to_cpu_storage_owned(values),
            CpuStorage::U32(narrow(&places)),
        ])
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, x: &View<'_, T>) -> Result<[CudaStorage; 2]> {
        gpu.best(x, self.rows, self.k, self.top, self.order)
    }
}
