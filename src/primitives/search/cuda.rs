//! Search for callers that bring their own stream and slices.

use super::launches::explain;
use super::{Bounds, bounds_of};
use crate::Result;
use crate::cuda::check_context;
use crate::engine::Explanation;
use crate::primitives::collect::cuda::Collect;
use crate::primitives::sort::{Order, Sortable};
use crate::source::{Slice, SliceArguments};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use std::sync::Arc;

/// Finds needles in sorted numbers, on a GPU's stream. Cheap to clone.
///
/// ```no_run
/// use warpfold::{Order, cuda::{Search, cudarc::driver::CudaContext}};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let sorted = stream.clone_htod(&[1.0_f32, 4.0, 4.0, 9.0])?;
/// let needles = stream.clone_htod(&[4.0_f32, 10.0])?;
/// let mut places = stream.alloc_zeros::<u64>(2)?;
/// let search = Search::<f32>::load(&context)?;
/// search.enqueue_lower_bound(&stream, Order::ascending(), &sorted, &needles, &mut places)?;
/// assert_eq!(stream.clone_dtoh(&places)?, [1, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One launch, and no workspace. [`lower_bound`](crate::lower_bound) says what is found.
#[derive(Debug, Clone)]
pub struct Search<K: Sortable> {
    context: Arc<CudaContext>,
    collect: Collect<Bounds<K, Slice<K>>>,
}

impl<K: Sortable> Search<K> {
    /// Loads the kernel, as [`Collect::load`] does.
    ///
    /// # Errors
    ///
    /// As [`Collect::load`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(Search {
            context: context.clone(),
            collect: Collect::load(context)?,
        })
    }

    /// What a call for so many needles does, whatever it searches: the launch, and what it depends
    /// on, which is the bytes of a needle. It needs no workspace.
    ///
    /// # Errors
    ///
    /// Those of a call with so many needles.
    pub fn explain(&self, needles: usize) -> Result<Explanation> {
        explain::<K>(self.collect.policy(), needles)
    }

    /// Enqueues, for each needle, how many of the sorted numbers come before it.
    ///
    /// # Errors
    ///
    /// [`Error::Length`](crate::Error::Length) if `output` has another length than `needles`,
    /// [`Error::WrongDevice`](crate::Error::WrongDevice) if something belongs to another context,
    /// [`Error::Driver`](crate::Error::Driver) if the launch fails.
    pub fn enqueue_lower_bound(
        &self,
        stream: &CudaStream,
        order: Order,
        sorted: &impl DevicePtr<K>,
        needles: &impl DevicePtr<K>,
        output: &mut impl DevicePtrMut<u64>,
    ) -> Result<()> {
        self.enqueue(stream, (order, false), sorted, needles, output)
    }

    /// Enqueues, for each needle, how many of the sorted numbers come before it or are equal.
    ///
    /// # Errors
    ///
    /// As [`enqueue_lower_bound`](Search::enqueue_lower_bound).
    pub fn enqueue_upper_bound(
        &self,
        stream: &CudaStream,
        order: Order,
        sorted: &impl DevicePtr<K>,
        needles: &impl DevicePtr<K>,
        output: &mut impl DevicePtrMut<u64>,
    ) -> Result<()> {
        self.enqueue(stream, (order, true), sorted, needles, output)
    }

    fn enqueue(
        &self,
        stream: &CudaStream,
        (order, equals): (Order, bool),
        sorted: &impl DevicePtr<K>,
        needles: &impl DevicePtr<K>,
        output: &mut impl DevicePtrMut<u64>,
    ) -> Result<()> {
        let (len, count) = (sorted.len(), needles.len());
        let others = [
            ("stream", stream),
            ("sorted", &**sorted.stream()),
            ("needles", &**needles.stream()),
            ("output", &**output.stream()),
        ];
        for (name, other) in others {
            check_context(&self.context, name, other.context())?;
        }
        crate::Error::check_length(count, output.len())?;
        let (address, _sorted) = sorted.device_ptr(stream);
        let (needles, _needles) = needles.device_ptr(stream);
        let (output, _output) = output.device_ptr_mut(stream);
        let needles = SliceArguments { address: needles };
        let source = bounds_of(needles, (address, len), order, equals);
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.collect.run(stream, source, count, output, false) }
    }
}
