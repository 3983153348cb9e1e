//! A scan of a stream.

use super::Prefixes;
use super::cpu::{self, Output};
use crate::cpu::memory::reserve;
#[cfg(feature = "cuda")]
use crate::cuda::Gpu;
use crate::device::{Backend, Bound, Call};
use crate::element::assert_element_size;
use crate::primitives::collect::collected;
#[cfg(feature = "cuda")]
use crate::primitives::reduce::pieces::sums_are_elements;
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
}

/// # Errors
///
/// Of every method: those of the methods of [`Device`] that have these names, and of
/// [`Device::collect`]. Then the piece was not taken in.
impl<T: Element, Op: Monoid<T>> Scanner<T, Op, Device> {
    /// The prefixes of the next piece, which lies on the device, in a new buffer.
    pub fn scan(&mut self, piece: impl Source<Device, Item = T>) -> Result<Buffer<T>> {
        scan_device(self, piece, None)
    }

    /// Writes the prefixes of the next piece to `output`, of the same length.
    pub fn scan_into(
        &mut self,
        piece: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        scan_device_into(self, piece, output, None)
    }

    /// Replaces each element of the next piece by its prefix.
    ///
    /// If a kernel fails, some of the elements may have been replaced.
    pub fn scan_in_place(&mut self, piece: &mut Buffer<T>) -> Result<()> {
        self.scan_known_in_place(piece, None)
    }

    /// The prefixes of a piece, as [`scan`](Scanner::scan) gives them. Its aligned blocks have
    /// these sums; a GPU need not find them.
    pub(crate) fn scan_known(
        &mut self,
        piece: impl Source<Device, Item = T>,
        sums: Vec<T>,
    ) -> Result<Buffer<T>> {
        scan_device(self, piece, Some(sums))
    }

    /// [`scan_into`](Scanner::scan_into) of a piece whose blocks have these sums.
    pub(crate) fn scan_known_into(
        &mut self,
        piece: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
        sums: Vec<T>,
    ) -> Result<()> {
        scan_device_into(self, piece, output, Some(sums))
    }

    /// [`scan_in_place`](Scanner::scan_in_place) of a piece whose blocks have these sums, if they
    /// are known.
    pub(crate) fn scan_known_in_place(
        &mut self,
        piece: &mut Buffer<T>,
        sums: Option<Vec<T>>,
    ) -> Result<()> {
        self.device.check_owns(piece)?;
        match &self.device.backend {
            Backend::Cpu => {
                drop(sums);
                self.run(&Items::of_slice(&[]), Output::InPlace(piece.as_host_mut()));
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) if on_the_gpu::<T>(self.prefixes) => {
                let gpu = gpu.clone();
                let (address, len) = (piece.address_mut(), piece.len());
                // SAFETY: the buffer is this GPU's, and borrowed for writing.
                unsafe { self.scan_at(&gpu, (address, address), len, sums)? };
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(_) => {
                let before = self.carry.clone();
                let mut data = piece.to_vec()?;
                self.run(&Items::of_slice(&[]), Output::InPlace(&mut data));
                let uploaded = self.device.upload_vec(data);
                let replaced = uploaded.and_then(|prefixes| piece.replace(prefixes));
                replaced.inspect_err(|_| self.carry = before)?;
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`Gpu::scan_piece`].
    #[cfg(feature = "cuda")]
    unsafe fn scan_at(
        &mut self,
        gpu: &Gpu,
        from_and_to: (u64, u64),
        len: usize,
        sums: Option<Vec<T>>,
    ) -> Result<()> {
        let mut counter = self.carry.counter.clone();
        // SAFETY: the caller's.
        unsafe {
            gpu.scan_piece::<T, Op>(from_and_to, len, self.prefixes, sums, &mut counter)?;
        }
        self.carry.counter = counter;
        Ok(())
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
            Backend::Cuda(gpu) if on_the_gpu::<T>(self.prefixes) => {
                let mut counter = self.carry.counter.clone();
                gpu.scan_slice::<T, Op>(piece, output, self.prefixes, &mut counter)?;
                self.carry.counter = counter;
            }
            _ => {
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
            device,
            place: PhantomData,
        }
    }

    /// The same, but what it has seen is what `carry` says.
    #[must_use]
    pub fn after(self, carry: Carry<T, Op>) -> Scanner<T, Op, P> {
        Scanner { carry, ..self }
    }

    /// What it has seen so far.
    pub fn carry(&self) -> &Carry<T, Op> {
        &self.carry
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

/// Whether a GPU scans pieces itself.
#[cfg(feature = "cuda")]
fn on_the_gpu<T: Element>(prefixes: Prefixes<T>) -> bool {
    sums_are_elements::<T>() && !prefixes.reverse
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
    sums: Option<Vec<T>>,
) -> Result<Buffer<T>> {
    let device = scanner.device.clone();
    let call = Call::<Device>::on(&device);
    let piece = call.bind(&piece)?;
    if device.is_cpu() {
        return device.upload_vec(scanner.scan_bound(piece)?);
    }
    #[cfg(feature = "cuda")]
    if let Some((gpu, from)) = scanned_from(&device, scanner.prefixes, &piece) {
        let len = piece.len();
        let mut output = Buffer::reserve(&device, len)?;
        // SAFETY: the piece is on this GPU, and there is room for all prefixes, which are written.
        unsafe {
            scanner.scan_at(&gpu, (from, output.address_mut()), len, sums)?;
            output.set_len(len);
        }
        return Ok(output);
    }
    let mut output = collected(piece)?;
    scanner.scan_known_in_place(&mut output, sums)?;
    Ok(output)
}

fn scan_device_into<T: Element, Op: Monoid<T>, S: Source<Device, Item = T>>(
    scanner: &mut Scanner<T, Op, Device>,
    piece: S,
    output: &mut Buffer<T>,
    sums: Option<Vec<T>>,
) -> Result<()> {
    let device = scanner.device.clone();
    device.check_owns(output)?;
    let call = Call::<Device>::on(&device);
    if device.is_cpu() {
        return scanner.scan_bound_into(call.bind(&piece)?, output.as_host_mut());
    }
    Error::check_length(piece.items()?, output.len())?;
    #[cfg(feature = "cuda")]
    {
        let bound = call.bind(&piece)?;
        if let Some((gpu, from)) = scanned_from(&device, scanner.prefixes, &bound) {
            let to = output.address_mut();
            // SAFETY: both are on this GPU, and the output is borrowed for writing.
            return unsafe { scanner.scan_at(&gpu, (from, to), bound.len(), sums) };
        }
    }
    device.collect_into(piece, output)?;
    scanner.scan_known_in_place(output, sums)
}

/// The GPU that scans a piece from where it lies, and where that is. Others are collected first.
#[cfg(feature = "cuda")]
fn scanned_from<F: Form<Item: Element>>(
    device: &Device,
    prefixes: Prefixes<F::Item>,
    piece: &Bound<'_, F>,
) -> Option<(Gpu, u64)> {
    match &device.backend {
        Backend::Cuda(gpu) if on_the_gpu(prefixes) => {
            Some((gpu.clone(), F::address(&piece.arguments())?))
        }
        _ => None,
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
    /// A GPU reduces and then scans each aligned block of a piece, as [`Device::reducer`] says, and
    /// the host waits for the sums in between. Halves are scanned by the CPU, from a copy, and so
    /// is everything [in reverse](Prefixes::reverse).
    pub fn scanner<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
    ) -> Scanner<T, Op, Device> {
        Scanner::on(self.clone(), prefixes)
    }
}

impl<T: Element, Op, P> std::fmt::Debug for Scanner<T, Op, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scanner")
            .field("device", &self.device)
            .field("prefixes", &self.prefixes.kind)
            .field("carry", &self.carry)
            .finish()
    }
}
