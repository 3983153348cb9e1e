//! The carry of a scanner on a GPU: it stays in the GPU's memory between pieces.

use crate::cpu::counter::Counter;
use crate::cuda::{DeviceArray, Gpu};
use crate::{Element, Result};
use bytemuck::Zeroable;

/// Room for the sum of a block of each size.
const SIZES: usize = 64;

/// The sums of the aligned blocks before a position of a stream, in a GPU's memory. A kernel reads
/// them, and leaves those of the next position beside them. So no piece waits for the one before.
#[derive(Debug)]
pub(super) struct DeviceCarry<T: Element> {
    position: u64,
    /// Twice room for the sum of a block of each size, by the size's logarithm.
    sums: DeviceArray<T::Accumulator>,
    /// Which of the two holds them.
    half: usize,
}

impl<T: Element> DeviceCarry<T> {
    /// Copies what a counter has counted to a GPU.
    pub(super) fn new(gpu: &Gpu, counter: &Counter<T::Accumulator>) -> Result<DeviceCarry<T>> {
        let mut sums = vec![T::Accumulator::zeroed(); 2 * SIZES];
        for (level, &sum) in levels(counter.end()).zip(counter.sums()) {
            sums[level] = sum;
        }
        Ok(DeviceCarry {
            position: counter.end(),
            sums: gpu.upload(&sums)?,
            half: 0,
        })
    }

    /// A copy, which the GPU makes in its turn.
    pub(super) fn fork(&self, gpu: &Gpu) -> Result<DeviceCarry<T>> {
        let copy = gpu.allocate::<T::Accumulator>(2 * SIZES)?;
        let bytes = 2 * SIZES * size_of::<T::Accumulator>();
        // SAFETY: both are this GPU's, have as many bytes, and are freed on its stream.
        unsafe { gpu.copy(self.sums.address(), copy.address(), bytes) }?;
        Ok(DeviceCarry {
            position: self.position,
            sums: copy,
            half: self.half,
        })
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Where the sums lie, and where those after the next piece go.
    pub(super) fn addresses(&self) -> [u64; 2] {
        let half = |half| (half * SIZES * size_of::<T::Accumulator>()) as u64;
        [self.half, 1 - self.half].map(|place| self.sums.address() + half(place))
    }

    /// Goes on behind a piece, whose kernel is enqueued.
    pub(super) fn advance(&mut self, len: usize) {
        self.position += len as u64;
        self.half = 1 - self.half;
    }

    /// Copies it to the host. Waits for the pieces before.
    pub(super) fn counter(&self, gpu: &Gpu) -> Result<Counter<T::Accumulator>> {
        let first = self.half * SIZES;
        let sums = gpu.download(&self.sums, first..first + SIZES)?;
        let sums = levels(self.position).map(|level| sums[level]).collect();
        Ok(Counter::from_sums(self.position, sums).expect("a sum for each one"))
    }
}

/// The logarithms of the aligned blocks before a position, the largest first.
fn levels(position: u64) -> impl Iterator<Item = usize> {
    (0..SIZES)
        .rev()
        .filter(move |&bit| position >> bit & 1 == 1)
}
