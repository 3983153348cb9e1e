//! A scan of a stream.

use super::Prefixes;
#[cfg(feature = "cuda")]
use super::carry::DeviceCarry;
use super::cpu::{self, Output};
use crate::cpu::memory::reserve;
#[cfg(feature = "cuda")]
use crate::cuda::Gpu;
use crate::device::{Backend, Bound, Call};
use crate::element::assert_element_size;
#[cfg(feature = "cuda")]
use crate::source::Slice;
use crate::source::{Form, Host, Items, Source};
use crate::{Buffer, Carry, Device, Element, Error, Monoid, Result};
use std::marker::PhantomData;

/// A scan that is fed pieces: for data that does not fit into memory, or is not there yet.
///
/// The prefixes have the bits of one scan over everything, wherever the pieces end: what passes
/// from one to the next is a [`Carry`].
///
/// ```
/// use warpfold::{Prefixes, Scanner, inclusive_scan, ops::Add};
///
/// let data: Vec<f32> = (0..10_000).map(|i| (i as f32).sqrt()).collect();
/// let mut sums = data.clone();
/// let mut scanner = Scanner::<f32, Add>::new(Prefixes::inclusive());
/// for piece in sums.chunks_mut(1234) {
///     scanner.scan_in_place(piece)?;
/// }
/// assert_eq!(sums, inclusive_scan::<f32, Add>(&data)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Pieces in host memory are scanned on the CPU, long ones by all threads, and
/// [`Device::scanner`] makes a scanner for what lies on a device. Complexity: O(n) work for each
/// piece; from a million elements on it takes the time of a call of its own. Memory: at most 64
/// sums, and what a call takes.
///
/// With [`Prefixes::reverse`] the pieces come from the last one to the first, and so do the
/// elements of each.
pub struct Scanner<T: Element, Op, P = Host> {
    prefixes: Prefixes<T>,
    carry: Carry<T, Op>,
    /// The carry, once a GPU has it. The other one is not kept up to date then.
    #[cfg(feature = "cuda")]
    on_gpu: Option<DeviceCarry<T>>,
    device: Device,
    place: PhantomData<fn() -> P>,
}

impl<T: Element, Op: Monoid<T>> Scanner<T, Op> {
    /// A scanner of pieces in host memory, which has seen nothing.
    pub fn new(prefixes: Prefixes<T>) -> Scanner<T, Op> {
        Scanner::on(Device::cpu(), prefixes)
    }

    /// The prefixes of the next piece, in a new vector.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory) if there is no room for them,
    /// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths. Then the piece
    /// was not taken in.
    pub fn scan(&mut self, piece: impl Source<Item = T>) -> Result<Vec<T>> {
        scan_host(self, piece)
    }

    /// Writes the prefixes of the next piece to `output`, of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::Length`](crate::Error::Length) if it has another length,
    /// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths. Then the piece
    /// was not taken in, and the output is as it was.
    pub fn scan_into(&mut self, piece: impl Source<Item = T>, output: &mut [T]) -> Result<()> {
        scan_host_into(self, piece, output)
    }

    /// Replaces each element of the next piece by its prefix.
    ///
    /// # Errors
    ///
    /// None yet.
    pub fn scan_in_place(&mut self, piece: &mut [T]) -> Result<()> {
        self.run(&Items::of_slice(&[]), Output::InPlace(piece));
        Ok(())
    }

    /// What it has seen so far.
    pub fn carry(&self) -> &Carry<T, Op> {
        &self.carry
    }
}

/// # Errors
///
/// Of every method: those of the methods of [`Device`] that have these names, and of
/// [`Device::collect`]. Then the piece was not taken in.
impl<T: Element, Op: Monoid<T>> Scanner<T, Op, Device> {
    /// The prefixes of the next piece, which lies on the device, in a new buffer.
    pub fn scan(&mut self, piece: impl Source<Device, Item = T>) -> Result<Buffer<T>> {
        scan_device(self, piece)
    }

    /// Writes the prefixes of the next piece to `output`, of the same length.
    pub fn scan_into(
        &mut self,
        piece: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        scan_device_into(self, piece, output)
    }

    /// Replaces each element of the next piece by its prefix.
    pub fn scan_in_place(&mut self, piece: &mut Buffer<T>) -> Result<()> {
        self.device.check_owns(piece)?;
        match &self.device.backend {
            Backend::Cpu => self.run(&Items::of_slice(&[]), Output::InPlace(piece.as_host_mut())),
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let gpu = gpu.clone();
                let place = (piece.address_mut(), piece.len());
                // SAFETY: the buffer is this GPU's, and borrowed for writing.
                unsafe { self.scan_on_gpu::<Slice<T>>(&gpu, None, place) }?;
            }
        }
        Ok(())
    }

    /// What it has seen so far. A GPU's carry is copied to the host, which waits for the pieces
    /// before.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], also if the kernel of a piece before failed.
    pub fn carry(&self) -> Result<Carry<T, Op>> {
        #[cfg(feature = "cuda")]
        if let (Backend::Cuda(gpu), Some(carry)) = (&self.device.backend, &self.on_gpu) {
            return Ok(Carry::of(carry.counter(gpu)?));
        }
        Ok(self.carry.clone())
    }

    /// # Safety
    ///
    /// As for [`Gpu::scan_piece`].
    #[cfg(feature = "cuda")]
    unsafe fn scan_on_gpu<F: Form<Item = T>>(
        &mut self,
        gpu: &Gpu,
        source: Option<F::Arguments>,
        place: (u64, usize),
    ) -> Result<()> {
        let prefixes = self.prefixes;
        let carry = self.carry_on(gpu)?;
        // SAFETY: the caller's.
        unsafe { gpu.scan_piece::<T, Op, F>(source, place, prefixes, carry) }
    }

    /// The carry in the GPU's memory.
    #[cfg(feature = "cuda")]
    fn carry_on(&mut self, gpu: &Gpu) -> Result<&mut DeviceCarry<T>> {
        let carry = match self.on_gpu.take() {
            Some(carry) => carry,
            None => DeviceCarry::new(gpu, &self.carry.counter)?,
        };
        Ok(self.on_gpu.insert(carry))
    }

    /// Writes the prefixes of the next piece, which lies in host memory, to `output`, of the same
    /// length. A GPU gets it in chunks of 8 MiB: while one is copied there, the one before is
    /// scanned, and the one before that is copied back. So the piece need not fit into the GPU's
    /// memory. The host copies chunks to pinned memory and back, which limits the speed, unless the
    /// piece and `output` are pinned (`CudaContext::alloc_pinned` of cudarc): then the bus does.
    /// [`Error::Driver`] if memory cannot be pinned.
    ///
    /// ```
    /// use warpfold::{Device, Prefixes, ops::Add};
    ///
    /// // Or `Device::cuda(0)?`.
    /// let mut scanner = Device::cpu().scanner::<u32, Add>(Prefixes::inclusive());
    /// let mut output = [0; 4];
    /// scanner.scan_slice_into(&[3, 1, 7], &mut output[..3])?;
    /// scanner.scan_slice_into(&[2], &mut output[3..])?;
    /// assert_eq!(output, [3, 4, 11, 13]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn scan_slice_into(&mut self, piece: &[T], output: &mut [T]) -> Result<()> {
        Error::check_length(piece.len(), output.len())?;
        match &self.device.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let (gpu, prefixes) = (gpu.clone(), self.prefixes);
                // If it fails, what was scanned of the piece counts for nothing.
                let mut carry = self.carry_on(&gpu)?.fork(&gpu)?;
                gpu.scan_slice::<T, Op>(piece, output, prefixes, &mut carry)?;
                self.on_gpu = Some(carry);
            }
            Backend::Cpu => {
                // SAFETY: the scan writes elements only.
                let output = unsafe { Output::over(output) };
                self.run(&Items::of_slice(piece), output);
            }
        }
        Ok(())
    }
}

impl<T: Element, Op: Monoid<T>, P> Scanner<T, Op, P> {
    fn on(device: Device, prefixes: Prefixes<T>) -> Scanner<T, Op, P> {
        const { assert_element_size::<T>() };
        Scanner {
            prefixes,
            carry: Carry::new(),
            #[cfg(feature = "cuda")]
            on_gpu: None,
            device,
            place: PhantomData,
        }
    }

    /// This scanner as if it had seen what `carry` says.
    #[must_use]
    pub fn after(self, carry: Carry<T, Op>) -> Scanner<T, Op, P> {
        Scanner {
            carry,
            #[cfg(feature = "cuda")]
            on_gpu: None,
            ..self
        }
    }

    /// A panic of the operator leaves the carry as it was.
    fn run(&mut self, input: &Items<'_, T>, output: Output<'_, T>) {
        let counter = self.carry.counter.clone();
        self.carry.counter = cpu::scan_after::<T, Op>(input, output, counter, self.prefixes);
    }

    /// The prefixes of a piece in host memory.
    fn scan_bound<F: Form<Item = T>>(&mut self, piece: Bound<'_, F>) -> Result<Vec<T>> {
        let mut output = reserve(piece.len())?;
        let room = &mut output.spare_capacity_mut()[..piece.len()];
        piece.with_items(|items| self.run(items, Output::Into(room)));
        // SAFETY: the scan wrote as many elements.
        unsafe { output.set_len(piece.len()) };
        Ok(output)
    }

    /// Writes the prefixes of a piece in host memory over `output`.
    fn scan_bound_into<F: Form<Item = T>>(
        &mut self,
        piece: Bound<'_, F>,
        output: &mut [T],
    ) -> Result<()> {
        Error::check_length(piece.len(), output.len())?;
        // SAFETY: the scan writes elements only.
        let output = unsafe { Output::over(output) };
        piece.with_items(|items| self.run(items, output));
        Ok(())
    }
}

fn scan_host<T: Element, Op: Monoid<T>, S: Source<Item = T>>(
    scanner: &mut Scanner<T, Op>,
    piece: S,
) -> Result<Vec<T>> {
    let device = scanner.device.clone();
    let call = Call::<Host>::on(&device);
    scanner.scan_bound(call.bind(&piece)?)
}

fn scan_host_into<T: Element, Op: Monoid<T>, S: Source<Item = T>>(
    scanner: &mut Scanner<T, Op>,
    piece: S,
    output: &mut [T],
) -> Result<()> {
    let device = scanner.device.clone();
    let call = Call::<Host>::on(&device);
    scanner.scan_bound_into(call.bind(&piece)?, output)
}

fn scan_device<T: Element, Op: Monoid<T>, S: Source<Device, Item = T>>(
    scanner: &mut Scanner<T, Op, Device>,
    piece: S,
) -> Result<Buffer<T>> {
    let device = scanner.device.clone();
    let call = Call::<Device>::on(&device);
    let piece = call.bind(&piece)?;
    match &device.backend {
        Backend::Cpu => device.upload_vec(scanner.scan_bound(piece)?),
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let len = piece.len();
            let mut output = Buffer::reserve(&device, len)?;
            let (source, place) = (piece.arguments(), (output.address_mut(), len));
            // SAFETY: the piece is on this GPU, and there is room for all prefixes, which are
            // written.
            unsafe {
                scanner.scan_on_gpu::<S::Form>(gpu, Some(source), place)?;
                output.set_len(len);
            }
            Ok(output)
        }
    }
}

fn scan_device_into<T: Element, Op: Monoid<T>, S: Source<Device, Item = T>>(
    scanner: &mut Scanner<T, Op, Device>,
    piece: S,
    output: &mut Buffer<T>,
) -> Result<()> {
    let device = scanner.device.clone();
    device.check_owns(output)?;
    let call = Call::<Device>::on(&device);
    let piece = call.bind(&piece)?;
    match &device.backend {
        Backend::Cpu => scanner.scan_bound_into(piece, output.as_host_mut()),
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            Error::check_length(piece.len(), output.len())?;
            let (source, place) = (piece.arguments(), (output.address_mut(), output.len()));
            // SAFETY: both are on this GPU, and the output is borrowed for writing.
            unsafe { scanner.scan_on_gpu::<S::Form>(gpu, Some(source), place) }
        }
    }
}

impl Device {
    /// A scan that is fed pieces that lie on this device; see [`Scanner`].
    ///
    /// ```
    /// use warpfold::{Device, Prefixes, ops::Add};
    ///
    /// let device = Device::cpu();
    /// let mut scanner = device.scanner::<u32, Add>(Prefixes::exclusive());
    /// assert_eq!(scanner.scan(&device.upload(&[3, 1])?)?.to_vec()?, [0, 3]);
    /// assert_eq!(scanner.scan(&device.upload(&[7, 2])?)?.to_vec()?, [4, 11]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// A GPU scans a piece in one launch, or in three if it is long, wherever it starts and ends,
    /// and reads it once. What passes from one piece to the next stays in the GPU's memory, so
    /// calls do not wait for each other.
    pub fn scanner<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
    ) -> Scanner<T, Op, Device> {
        Scanner::on(self.clone(), prefixes)
    }
}

impl<T: Element, Op, P> Scanner<T, Op, P> {
    /// The number of elements so far.
    fn position(&self) -> u64 {
        #[cfg(feature = "cuda")]
        if let Some(carry) = &self.on_gpu {
            return carry.position();
        }
        self.carry.position()
    }
}

impl<T: Element, Op, P> std::fmt::Debug for Scanner<T, Op, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scanner")
            .field("device", &self.device)
            .field("prefixes", &self.prefixes.kind)
            .field("position", &self.position())
            .finish()
    }
}
