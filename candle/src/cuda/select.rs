//! Selections on a GPU: by a mask, by position, of runs.

use super::{Gpu, View};
use crate::dtype::Number;
use crate::functions::{coordinate, one_if};
use candle_core::{CudaStorage, Result, Tensor};
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream};
use warpfold::cuda::{Positions, Runs, Select};
use warpfold::ops::Add;
use warpfold::source::{Source, flags};
use warpfold::{Element, Starts, heads, index, map, map_with, zip};

impl Gpu {
    pub(crate) fn count<T: Number>(&self, mask: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        Ok([self.store_signed(self.count_of(mask)?)])
    }

    fn count_of<T: Number>(&self, mask: &View<'_, T>) -> Result<CudaSlice<u64>> {
        let ones = map::<one_if, _>(flags::<T, _>(mask));
        self.reduce::<u64, Add, _>(ones, self.all(mask.len())?)
    }

    pub(crate) fn masked<T: Number>(
        &self,
        x: &View<'_, T>,
        mask: &Tensor,
        room: usize,
    ) -> Result<[CudaStorage; 1]> {
        let mut kept = self.zeros::<T>(room)?;
        self.with::<u8, _>(mask, |mask| {
            if x.is_empty() || room == 0 {
                return Ok(());
            }
            self.select(zip(x, flags::<u8, _>(mask)), &mut kept)
        })?;
        Ok([self.store(kept)])
    }

    fn select<T, S>(&self, source: S, kept: &mut CudaSlice<T>) -> Result<()>
    where
        T: Element,
        S: Source<CudaStream, Item = (T, bool)>,
    {
        let len = source.items().map_err(|error| self.fault(error))?;
        let select = self.kernels(Select::<T, S::Form>::load)?;
        let mut count = self.allocate::<u64>(1)?;
        self.with_workspace(select.workspace_bytes(len), |workspace| {
            select.enqueue(&self.stream, source, kept, &mut count, workspace)
        })
    }

    /// The positions of what is not 0: all of them, or as many as there is room for, and zeros.
    pub(crate) fn nonzero<T: Number>(
        &self,
        x: &View<'_, T>,
        room: Option<usize>,
    ) -> Result<[CudaStorage; 1]> {
        let mut positions = match room {
            Some(room) => self.zeros::<u64>(room)?,
            None if x.is_empty() => self.allocate::<u64>(0)?,
            None => self.allocate::<u64>(self.host_count(&self.count_of(x)?)?)?,
        };
        if !positions.is_empty() && !x.is_empty() {
            self.positions_of(flags::<T, _>(x), &mut positions)?;
        }
        Ok([self.store_signed(positions)])
    }

    fn positions_of<S>(&self, flags: S, positions: &mut CudaSlice<u64>) -> Result<()>
    where
        S: Source<CudaStream, Item = bool>,
    {
        let len = flags.items().map_err(|error| self.fault(error))?;
        let find = self.kernels(Positions::<S::Form>::load)?;
        let mut count = self.allocate::<u64>(1)?;
        self.with_workspace(find.workspace_bytes(len), |workspace| {
            find.enqueue(&self.stream, flags, positions, &mut count, workspace)
        })
    }

    /// Places along a dimension, of flat ones.
    pub(crate) fn coordinates(
        &self,
        positions: &View<'_, i64>,
        stride: u64,
        len: u64,
    ) -> Result<[CudaStorage; 1]> {
        let positions = self.cast::<i64, u64>(positions)?;
        let places = map_with::<coordinate, _, _>(&positions, [stride.max(1), len.max(1)]);
        Ok([self.store_signed(self.collect(places)?)])
    }

    pub(crate) fn runs<T: Number>(&self, x: &View<'_, T>) -> Result<[CudaStorage; 3]> {
        let len = x.len();
        let mut items = self.allocate::<T>(len)?;
        let (mut starts, mut lengths) = (self.allocate::<u64>(len)?, self.allocate::<u64>(len)?);
        let mut inverse = self.allocate::<u64>(len)?;
        let mut found = 0;
        if len > 0 {
            let mut count = self.allocate::<u64>(1)?;
            let outputs = (&mut items, &mut starts, &mut lengths);
            self.runs_of(heads::<T, _>(x), outputs, &mut count)?;
            found = self.host_count(&count)?;
            let known = starts.slice(..found);
            let starts = Starts::unchecked::<CudaStream, u64>(&known);
            let starts = starts.map_err(|error| self.fault(error))?;
            self.expand(index(found), starts, 0, &mut inverse.slice_mut(..))?;
        }
        let (items, lengths) = (self.shrunk(items, found)?, self.shrunk(lengths, found)?);
        Ok([
            self.store(items),
            self.store_signed(inverse),
            self.store_signed(lengths),
        ])
    }

    fn runs_of<T, S>(
        &self,
        heads: S,
        outputs: (&mut CudaSlice<T>, &mut CudaSlice<u64>, &mut CudaSlice<u64>),
        count: &mut CudaSlice<u64>,
    ) -> Result<()>
    where
        T: Element,
        S: Source<CudaStream, Item = (T, bool)>,
    {
        let len = heads.items().map_err(|error| self.fault(error))?;
        let runs = self.kernels(Runs::<T, S::Form>::load)?;
        self.with_workspace(runs.workspace_bytes(len), |workspace| {
            runs.enqueue(&self.stream, heads, outputs, count, workspace)
        })
    }
}
