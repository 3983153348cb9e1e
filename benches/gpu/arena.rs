//! The buffers that calls rotate through, so that none finds its elements in the cache.

use crate::elements::Sample;
use std::ops::Range;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtrMut, result,
};

/// What short arrays rotate through: several times any L2 cache.
pub(crate) const POOL_BYTES: usize = 1 << 30;

/// No value that a result is likely to have.
pub(crate) const POISON: u8 = 0xA5;

/// Inputs and outputs in slots of one size. All inputs hold the same elements.
pub(crate) struct Arena<T> {
    stream: Arc<CudaStream>,
    elements: CudaSlice<T>,
    input: CudaSlice<T>,
    output: CudaSlice<T>,
    slots: usize,
    /// Elements of a slot.
    stride: usize,
    /// Where in a slot its array starts, in elements.
    offset: usize,
    length: usize,
    /// The slot of the last call.
    slot: usize,
}

impl<T: Sample> Arena<T> {
    /// Elements from the start of a slot to that of the next are a multiple of this many, so that
    /// slots are aligned.
    const GRANULE: usize = 256;

    /// For arrays of up to `longest` of the `elements`.
    pub(crate) fn new(stream: &Arc<CudaStream>, elements: CudaSlice<T>, longest: usize) -> Self {
        Self::with_slots(stream, elements, longest, 1)
    }

    /// With so many slots at least.
    pub(crate) fn with_slots(
        stream: &Arc<CudaStream>,
        elements: CudaSlice<T>,
        longest: usize,
        slots: usize,
    ) -> Self {
        let room = slots * (longest + 2 * Self::GRANULE);
        let room = room.max(POOL_BYTES / size_of::<T>());
        let pool = || stream.alloc_zeros::<T>(room).expect("memory");
        Arena {
            stream: stream.clone(),
            elements,
            input: pool(),
            output: pool(),
            slots: 0,
            stride: 0,
            offset: 0,
            length: 0,
            slot: 0,
        }
    }

    /// What an arena for arrays of `bytes` takes together with the elements and the expected
    /// results.
    pub(crate) fn bytes_for(bytes: usize) -> usize {
        2 * bytes + 2 * bytes.max(POOL_BYTES)
    }

    /// Lays out arrays of `length` elements, each `offset` elements after an aligned address.
    pub(crate) fn arrange(&mut self, length: usize, offset: usize) {
        self.length = length;
        self.offset = offset;
        self.stride = (length + offset).next_multiple_of(Self::GRANULE);
        self.slots = self.input.len() / self.stride;
        self.slot = 0;
        let first = &mut self.input.slice_mut(offset..offset + length);
        let elements = self.elements.slice(..length);
        self.stream.memcpy_dtod(&elements, first).expect("a copy");
        let mut filled = 1;
        while filled < self.slots {
            let more = filled.min(self.slots - filled) * self.stride;
            let (done, mut rest) = self.input.split_at_mut(filled * self.stride);
            self.stream
                .memcpy_dtod(&done.slice(..more), &mut rest.slice_mut(..more))
                .expect("a copy");
            filled *= 2;
        }
    }

    fn next_slot(&self) -> usize {
        (self.slot + 1) % self.slots
    }

    fn range(&self, slot: usize) -> Range<usize> {
        let start = slot * self.stride + self.offset;
        start..start + self.length
    }

    /// Goes on to the next slot: its input and its output.
    pub(crate) fn next(&mut self) -> (CudaView<'_, T>, CudaViewMut<'_, T>) {
        self.slot = self.next_slot();
        let range = self.range(self.slot);
        let input = self.input.slice(range.clone());
        (input, self.output.slice_mut(range))
    }

    /// Goes on to the next slot, whose input is changed in its place.
    pub(crate) fn next_in_place(&mut self) -> CudaViewMut<'_, T> {
        self.slot = self.next_slot();
        let range = self.range(self.slot);
        self.input.slice_mut(range)
    }

    /// Overwrites the output of the slot that comes next.
    pub(crate) fn poison_next(&mut self) {
        let range = self.range(self.next_slot());
        poison(&self.stream, &mut self.output.slice_mut(range));
    }

    /// What all inputs hold at first.
    pub(crate) fn elements(&self) -> CudaView<'_, T> {
        self.elements.slice(..self.length)
    }

    /// What the last call made of its input.
    pub(crate) fn last_input(&self) -> CudaView<'_, T> {
        self.input.slice(self.range(self.slot))
    }

    /// The output of the last call.
    pub(crate) fn last_output(&self) -> CudaView<'_, T> {
        self.output.slice(self.range(self.slot))
    }
}

/// Overwrites some memory.
pub(crate) fn poison<T: Sample>(stream: &Arc<CudaStream>, memory: &mut CudaViewMut<'_, T>) {
    let bytes = memory.len() * size_of::<T>();
    let (address, _writing) = memory.device_ptr_mut(stream);
    // SAFETY: the view is that long, and borrowed until the memset is enqueued.
    unsafe { result::memset_d8_async(address, POISON, bytes, stream.cu_stream()) }
        .expect("a memset");
}
