//! A reduction of a stream.

use super::cpu;
use crate::device::{Backend, Call};
use crate::element::assert_element_size;
use crate::source::{Host, Items, Source, SumBlock};
use crate::{Carry, Device, Element, Error, Monoid, Result};
use std::marker::PhantomData;

/// A reduction that is fed pieces: for data that does not fit into memory, or is not there yet.
///
/// The value has the bits of one call of [`reduce`](crate::reduce()) over all elements, wherever
/// the pieces end: what passes from one to the next is a [`Carry`].
///
/// ```
/// use warpfold::{Reducer, ops::Add, reduce};
///
/// let data: Vec<f32> = (0..10_000).map(|i| (i as f32).sqrt()).collect();
/// let mut sum = Reducer::<f32, Add>::new();
/// for piece in data.chunks(1234) {
///     sum.push(piece)?;
/// }
/// assert_eq!(sum.value(), reduce::<f32, Add>(&data)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// A piece is any [source](crate::source). So [statistics](crate::statistics) of streams are
/// reductions, too:
///
/// ```
/// use warpfold::{Reducer, min_max, statistics::{Extremes, twice}};
///
/// let data: Vec<i16> = (0..10_000).map(|i| i % 97).collect();
/// let mut seen = Reducer::<[i16; 2], Extremes>::new();
/// for piece in data.chunks(1 << 12) {
///     seen.push(twice::<i16, _>(piece))?;
/// }
/// let [min, max] = seen.value();
/// assert_eq!(Some((min, max)), min_max(&data)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// [`MomentsReducer`](crate::statistics::MomentsReducer) has means and variances of streams.
///
/// Pieces in host memory are reduced on the CPU, long ones by all threads, and
/// [`Device::reducer`] makes a reducer for what lies on a device. Complexity: O(n) work for each
/// piece; from a million elements on it takes the time of a call of its own. Memory: at most 64
/// sums, and what a call takes.
pub struct Reducer<T: Element, Op, P = Host> {
    carry: Carry<T, Op>,
    device: Device,
    place: PhantomData<fn() -> P>,
}

impl<T: Element, Op: Monoid<T>> Reducer<T, Op> {
    /// A reducer of pieces in host memory, which has seen nothing.
    pub fn new() -> Reducer<T, Op> {
        Reducer::on(Device::cpu())
    }

    /// Takes in the next piece.
    ///
    /// # Errors
    ///
    /// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths. Then the piece
    /// was not taken in.
    pub fn push(&mut self, piece: impl Source<Item = T>) -> Result<()> {
        push_host(self, piece)
    }

    /// Takes in the next `len` elements, which `read` brings: a file, say, that is read in parallel
    /// and of which no more is in memory than is worked on.
    ///
    /// `read(start, to)` writes elements `start..start + to.len()` of this piece over `to`. Several
    /// threads call it at once, in no particular order, once for each element. What stood in `to`
    /// means nothing. A thread's buffer has 512 KiB, which stay in its cache.
    ///
    /// ```
    /// use std::fs::File;
    /// use std::io::{Error, Read, Seek, SeekFrom};
    /// use warpfold::{Reducer, bytemuck, ops::Add};
    ///
    /// # let folder = std::env::temp_dir().join(format!("warpfold-read-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("samples.f32");
    /// let samples: Vec<f32> = (0..1_000_000).map(|i| (i as f32).sqrt()).collect();
    /// std::fs::write(&path, bytemuck::cast_slice(&samples))?;
    ///
    /// let mut sum = Reducer::<f32, Add>::new();
    /// sum.push_read(samples.len(), |start, to: &mut [f32]| {
    ///     // Where there is `read_exact_at` (Unix), all threads can share one file.
    ///     let mut file = File::open(&path)?;
    ///     file.seek(SeekFrom::Start(4 * start as u64))?;
    ///     file.read_exact(bytemuck::cast_slice_mut(to))
    /// })?;
    /// assert_eq!(sum.value(), warpfold::reduce::<f32, Add>(&samples).map_err(Error::other)?);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// One of the errors of `read`. Then the piece was not taken in.
    pub fn push_read<E: Send>(
        &mut self,
        len: usize,
        read: impl Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync,
    ) -> std::result::Result<(), E> {
        // An error, and a panic of the operator, leave the carry as it was.
        let mut counter = self.carry.counter.clone();
        cpu::push_read::<T, Op, E>(len, read, &mut counter)?;
        self.carry.counter = counter;
        Ok(())
    }
}

impl<T: Element, Op: Monoid<T>> Default for Reducer<T, Op> {
    fn default() -> Self {
        Reducer::new()
    }
}

impl<T: Element, Op: Monoid<T>> Reducer<T, Op, Device> {
    /// Takes in the next piece, which lies on the device.
    ///
    /// # Errors
    ///
    /// Those of [`Device::reduce`]. Then the piece was not taken in.
    pub fn push(&mut self, piece: impl Source<Device, Item = T>) -> Result<()> {
        push_device(self, piece)
    }

    /// Takes in the next piece, which lies in host memory. A GPU gets it in chunks of 8 MiB: while
    /// one is copied, the next goes to pinned memory, and the one before is reduced. A piece in
    /// pinned memory (`CudaContext::alloc_pinned` of cudarc) is copied from there. So the bus
    /// limits the speed, and the piece need not fit into the GPU's memory.
    ///
    /// ```
    /// use warpfold::{Device, ops::Add, reduce};
    ///
    /// let data: Vec<f32> = (0..10_000).map(|i| (i as f32).sqrt()).collect();
    /// // Or `Device::cuda(0)?`.
    /// let mut sum = Device::cpu().reducer::<f32, Add>();
    /// sum.push_slice(&data[..4321])?;
    /// sum.push_slice(&data[4321..])?;
    /// assert_eq!(sum.value(), reduce::<f32, Add>(&data)?);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Device::upload`] and [`Device::reduce`], and
    /// [`Error::Driver`](crate::Error::Driver) if memory cannot be pinned. Then the piece was not
    /// taken in.
    pub fn push_slice(&mut self, piece: &[T]) -> Result<()> {
        match &self.device.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let mut counter = self.carry.counter.clone();
                gpu.push_slice::<T, Op>(piece, &mut counter)?;
                self.carry.counter = counter;
            }
            Backend::Cpu => self.push_items(&Items::of_slice(piece), None),
        }
        Ok(())
    }

    /// Takes in the next `len` elements, which `read` brings to host memory, as for
    /// [`push_read`](Reducer::push_read) of a reducer without a device. A GPU gets them as
    /// [`push_slice`](Reducer::push_slice) says.
    ///
    /// # Errors
    ///
    /// One of the errors of `read`, or of [`push_slice`](Reducer::push_slice). Then the piece was
    /// not taken in.
    pub fn push_read<E: Send + From<Error>>(
        &mut self,
        len: usize,
        read: impl Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync,
    ) -> std::result::Result<(), E> {
        let mut counter = self.carry.counter.clone();
        match &self.device.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                gpu.push_read::<T, Op, E>(len, read, &mut counter)?;
            }
            Backend::Cpu => cpu::push_read::<T, Op, E>(len, read, &mut counter)?,
        }
        self.carry.counter = counter;
        Ok(())
    }
}

impl<T: Element, Op: Monoid<T>, P> Reducer<T, Op, P> {
    fn on(device: Device) -> Reducer<T, Op, P> {
        const { assert_element_size::<T>() };
        Reducer {
            carry: Carry::new(),
            device,
            place: PhantomData,
        }
    }

    /// This reducer as if it had seen what `carry` says.
    #[must_use]
    pub fn after(self, carry: Carry<T, Op>) -> Reducer<T, Op, P> {
        Reducer { carry, ..self }
    }

    /// Makes it one that has seen what `carry` says.
    pub(crate) fn set_carry(&mut self, carry: Carry<T, Op>) {
        self.carry = carry;
    }

    /// What it has seen so far.
    pub fn carry(&self) -> &Carry<T, Op> {
        &self.carry
    }

    /// The fold of all elements so far, and the identity if there are none: what
    /// [`reduce`](crate::reduce()) gives. More pieces may follow.
    pub fn value(&self) -> T {
        cpu::value::<T, Op>(&self.carry.counter, None)
    }

    /// The fold of `init` and all elements so far: what [`reduce_from`](crate::reduce_from())
    /// gives.
    pub fn value_from(&self, init: T) -> T {
        cpu::value::<T, Op>(&self.carry.counter, Some(init))
    }

    /// Takes in a piece in host memory.
    fn push_items(
        &mut self,
        items: &Items<'_, T>,
        sum_block: Option<SumBlock<'_, T::Accumulator>>,
    ) {
        // A panic of the operator leaves the carry as it was.
        let mut counter = self.carry.counter.clone();
        cpu::push::<T, Op>(items, sum_block, &mut counter);
        self.carry.counter = counter;
    }
}

fn push_host<T: Element, Op: Monoid<T>, S: Source<Item = T>>(
    reducer: &mut Reducer<T, Op>,
    piece: S,
) -> Result<()> {
    let device = reducer.device.clone();
    let call = Call::<Host>::on(&device);
    call.bind(&piece)?
        .with_sums::<Op, _>(|items, sum_block| reducer.push_items(items, sum_block));
    Ok(())
}

fn push_device<T: Element, Op: Monoid<T>, S: Source<Device, Item = T>>(
    reducer: &mut Reducer<T, Op, Device>,
    piece: S,
) -> Result<()> {
    let device = reducer.device.clone();
    let call = Call::<Device>::on(&device);
    let piece = call.bind(&piece)?;
    match &device.backend {
        Backend::Cpu => {
            piece.with_sums::<Op, _>(|items, sum_block| reducer.push_items(items, sum_block));
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let mut counter = reducer.carry.counter.clone();
            // SAFETY: the arguments are those of this source, which lies on this GPU.
            unsafe { gpu.push::<T, Op, S::Form>(piece.arguments(), piece.len(), &mut counter) }?;
            reducer.carry.counter = counter;
        }
    }
    Ok(())
}

impl Device {
    /// A reduction that is fed pieces that lie on this device; see [`Reducer`].
    ///
    /// ```
    /// use warpfold::{Device, ops::Add};
    ///
    /// let device = Device::cpu();
    /// let mut sum = device.reducer::<f32, Add>();
    /// for piece in [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]] {
    ///     sum.push(&device.upload(&piece)?)?;
    /// }
    /// assert_eq!(sum.value(), warpfold::reduce::<f32, Add>(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])?);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// A GPU folds a piece in one launch, wherever it starts and ends. Then the host waits for the
    /// sums of its aligned blocks.
    pub fn reducer<T: Element, Op: Monoid<T>>(&self) -> Reducer<T, Op, Device> {
        Reducer::on(self.clone())
    }
}

impl<T: Element, Op, P> std::fmt::Debug for Reducer<T, Op, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reducer")
            .field("device", &self.device)
            .field("carry", &self.carry)
            .finish()
    }
}
