//! Select: the items that a predicate keeps, in their order.

pub(crate) mod candidates;
mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod growing;
pub(crate) mod kernel;
mod tuning;

mod partition;
mod positions;
mod slices;
mod unique;

pub use partition::{partition, partition_flagged};
pub use positions::positions;
pub use slices::{
    partition_flagged_into, partition_into, positions_into, select_flagged_into, select_in_place,
    select_into, unique_by_in_place, unique_by_into, unique_in_place, unique_into,
};
pub use unique::{Runs, runs, runs_by, unique, unique_by};

use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::source::{Feeds, Flagged, Form, Host, Slice, SliceArguments, Source, flagged};
use crate::{Buffer, Device, Element, Error, Function, Result};
use kernel::{Kept, Outputs};

/// Where something is stored: an address in a device's memory, and for how many items there is
/// room.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Target {
    pub(crate) address: u64,
    pub(crate) room: usize,
}

impl Target {
    pub(crate) fn new(address: u64, room: usize) -> Target {
        Target { address, room }
    }

    /// A buffer, up to its length.
    fn of<T: Element>(buffer: &mut Buffer<T>) -> Target {
        Target::new(buffer.address_mut(), buffer.len())
    }

    /// The memory that was reserved for `room` items.
    #[cfg(feature = "cuda")]
    fn reserved<T: Element>(buffer: &mut Buffer<T>, room: usize) -> Target {
        Target::new(buffer.address_mut(), room)
    }
}

/// Where selects store: the items that have a flag, the others, the positions of the first, and the
/// distances between those. A select has those that its [outputs](Outputs) say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Targets {
    pub(crate) kept: Target,
    pub(crate) others: Target,
    pub(crate) places: Target,
    pub(crate) lengths: Target,
}

impl Targets {
    /// How many items that have a flag there is room for.
    #[cfg(feature = "cuda")]
    pub(crate) fn capacity<O: Outputs>(&self) -> usize {
        let rooms = [
            (O::KEPT, self.kept.room),
            (O::PLACES, self.places.room),
            (O::KEPT && O::PLACES, self.lengths.room),
        ];
        let stored = rooms.into_iter().filter(|(is_stored, _)| *is_stored);
        stored.map(|(_, room)| room).min().unwrap_or(0)
    }
}

/// The items that the predicate `P` keeps, in their order.
///
/// `P` is the type that [`#[function]`](macro@crate::function) makes of a function that returns a
/// `bool`. Stable compaction by a prefix sum of the flags: Billeter, Olsson and Assarsson,
/// "Efficient Stream Compaction on Wide SIMD Many-Core Architectures" (HPG 2009), in one pass: a
/// chunk is held in the cache until it knows its place. [`Device::for_host_data`] says where it
/// runs.
///
/// Complexity: O(n) work; every item is evaluated once. Memory on the CPU: it grows with the
/// result, to at most three times as much while it runs, and up to 288 KiB for each thread.
///
/// ```
/// use warpfold::{function, select};
///
/// #[function]
/// fn even(x: u32) -> bool {
///     x % 2 == 0
/// }
///
/// assert_eq!(select::<u32, even>(&[3, 1, 4, 1, 5, 9, 2, 6])?, [4, 2, 6]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// For a predicate with parameters, select [`flagged_with`](crate::flagged_with()) by
/// [`select_flagged`]; to keep something else than the items that it looks at, see there.
///
/// # Errors
///
/// [`Error::OutOfHostMemory`] if there is no room for the result, [`Error::Zip`] if zipped sources
/// have different lengths. If `WARPFOLD_DEVICE` is set, also those of [`Device::for_host_data`],
/// and if it names a GPU, those of [`Device::upload`], [`Device::select`] and [`Buffer::to_vec`].
pub fn select<T, P>(input: impl Source<Item = T>) -> Result<Vec<T>>
where
    T: Element + Feeds<P::Input>,
    P: Function<Output = bool>,
{
    select_on::<Host, T, _>(&Device::for_host_data()?, flagged::<P, _>(input))?.into_vec()
}

/// The first part of every pair whose second part is true, in their order.
///
/// [`flagged_with`](crate::flagged_with()) makes the pairs of a predicate with parameters:
///
/// ```
/// use warpfold::{flagged_with, function, select_flagged};
///
/// #[function]
/// fn up_to(x: f64, limit: f64) -> bool {
///     x <= limit
/// }
///
/// let x = [3.0, 1.0, 4.0, f64::NAN, 2.5];
/// assert_eq!(select_flagged::<f64>(flagged_with::<up_to, _, _>(&x, 3.0))?, [3.0, 1.0, 2.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// [`map`](crate::map()) makes any others. What is kept can be something else than what the
/// predicate looks at, such as the places of the items:
///
/// ```
/// use warpfold::{function, index, map, select_flagged, zip};
///
/// #[function]
/// fn place_of_nan(place: u64, x: f64) -> (u64, bool) {
///     (place, x.is_nan())
/// }
///
/// let x = [3.0, f64::NAN, 4.0, f64::NAN];
/// let places = select_flagged::<u64>(map::<place_of_nan, _>(zip(index(x.len()), &x)))?;
/// assert_eq!(places, [1, 3]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Otherwise as [`select`].
///
/// # Errors
///
/// As [`select`].
pub fn select_flagged<T: Element>(input: impl Source<Item = (T, bool)>) -> Result<Vec<T>> {
    select_on::<Host, T, _>(&Device::for_host_data()?, input)?.into_vec()
}

fn select_on<P: OnDevice, T: Element, S: Source<P, Item = (T, bool)>>(
    device: &Device,
    input: S,
) -> Result<Buffer<T>> {
    let call = Call::<P>::on(device);
    Ok(store_new::<T, _, Kept>(call.bind(&input)?)?.kept)
}

/// Stores what `O` names in new buffers. On the CPU they grow. On a GPU there is room for all
/// items, or for those that were counted.
fn store_new<T: Element, F: Form<Item = (T, bool)>, O: Outputs>(
    input: Bound<'_, F>,
) -> Result<New<T>> {
    const { assert_element_size::<T>() };
    let device = input.device();
    match &device.backend {
        Backend::Cpu => {
            let stored = input.with_flagged_items(cpu::select_new::<T, O>)?;
            Ok(New {
                kept: Buffer::of_host(device, stored.kept),
                others: Buffer::of_host(device, stored.others),
                places: Buffer::of_host(device, stored.places),
                lengths: Buffer::of_host(device, stored.lengths),
            })
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(_) => {
            let len = input.len();
            let (mut new, kept, others) = match New::reserve::<O>(device, len, len) {
                Ok(new) => (new, len, len),
                Err(Error::OutOfMemory { .. }) => {
                    // Without room anywhere a select counts.
                    let nowhere = Targets::default();
                    // SAFETY: nothing is stored.
                    let kept = unsafe { store::<T, F, O>(input, nowhere, false) }?;
                    let others = len - kept;
                    (New::reserve::<O>(device, kept, others)?, kept, others)
                }
                Err(error) => return Err(error),
            };
            let targets = Targets {
                kept: Target::reserved(&mut new.kept, if O::KEPT { kept } else { 0 }),
                others: Target::reserved(&mut new.others, if O::OTHERS { others } else { 0 }),
                places: Target::reserved(&mut new.places, if O::PLACES { kept } else { 0 }),
                lengths: Target::reserved(
                    &mut new.lengths,
                    if O::KEPT && O::PLACES { kept } else { 0 },
                ),
            };
            // SAFETY: there is room for what is stored, and the select writes as many as it counts.
            unsafe {
                let count = store::<T, F, O>(input, targets, false)?;
                new.kept.set_len(count.min(targets.kept.room));
                new.others.set_len((len - count).min(targets.others.room));
                new.places.set_len(count.min(targets.places.room));
                new.lengths.set_len(count.min(targets.lengths.room));
            }
            Ok(new)
        }
    }
}

/// Stores what `O` names, as far as there is room, and returns how many flags are set. `in_place`
/// says that the items are read from where they are stored.
///
/// # Safety
///
/// The targets are in the device's memory, and borrowed for writing.
unsafe fn store<T: Element, F: Form<Item = (T, bool)>, O: Outputs>(
    input: Bound<'_, F>,
    targets: Targets,
    in_place: bool,
) -> Result<usize> {
    const { assert_element_size::<T>() };
    match &input.device().backend {
        Backend::Cpu => Ok(input.with_flagged_items(|items| {
            // SAFETY: the caller's.
            unsafe { cpu::select::<T, O>(items, targets, in_place) }
        })),
        #[cfg(feature = "cuda")]
        // SAFETY: the source is on this GPU; the rest is the caller's.
        Backend::Cuda(gpu) => unsafe {
            gpu.select::<T, F, O>(input.arguments(), input.len(), targets)
        },
    }
}

/// # Select
///
/// Every item is read once, and every kept one is written once. Calls wait for the number of kept
/// items. Memory: on the CPU up to 288 KiB for each thread; on a GPU a workspace that the device
/// keeps, less than 1% of a long input. The methods that give a new buffer take memory in addition.
/// On the CPU it grows with the result, to at most three times as much while they run. On a GPU
/// they reserve it for all items, as if every one were kept: [`positions`](Device::positions) 8
/// bytes an item, [`runs`](Device::runs) 16 bytes and an item. The buffer keeps that. If there is
/// not as much, they count first, which evaluates each item once more, and reserve what the result
/// takes.
///
/// To reserve no more than that on any device, count first:
///
/// ```
/// use warpfold::{Device, function, map};
///
/// #[function]
/// fn is_nan(x: f32) -> bool {
///     x.is_nan()
/// }
///
/// let device = Device::cpu();
/// let x = device.upload(&[1.0, f32::NAN, 3.0])?;
/// let count = device.count(map::<is_nan, _>(&x))?;
/// let mut places = device.allocate::<u64>(count)?;
/// device.positions_into(map::<is_nan, _>(&x), &mut places)?;
/// assert_eq!(places.to_vec()?, [1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// Of every method: [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if zipped
/// sources have different lengths; [`Error::Library`] without NVRTC; [`Error::Compile`] if a
/// function's CUDA text is wrong; [`Error::OutOfMemory`] or [`Error::OutOfHostMemory`], after which
/// the device is usable as before; [`Error::Driver`]. Of the `_into` methods also
/// [`Error::Length`], with the size needed, if the output is too small for what is kept. Then it
/// holds the first items, as many as it has room for. A call with another error leaves the output
/// as it was.
///
/// # Panics
///
/// On the CPU if the predicate does. What stands in an output then, or in a buffer whose items are
/// selected in place, is not specified.
impl Device {
    /// The items that `P` keeps, in a new buffer of their number; see [`select`](crate::select()).
    ///
    /// ```
    /// use warpfold::{Device, function};
    ///
    /// #[function]
    /// fn positive(x: f32) -> bool {
    ///     x > 0.0
    /// }
    ///
    /// let device = Device::cpu();
    /// let mut samples = device.upload(&[0.5_f32, -1.0, 2.0, f32::NAN])?;
    /// let kept = device.select::<f32, positive>(&samples)?;
    /// assert_eq!(kept.to_vec()?, [0.5, 2.0]);
    ///
    /// let count = device.select_in_place::<f32, positive>(&mut samples)?;
    /// assert_eq!((count, samples.to_vec()?), (2, vec![0.5, 2.0]));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn select<T, P>(&self, input: impl Source<Device, Item = T>) -> Result<Buffer<T>>
    where
        T: Element + Feeds<P::Input>,
        P: Function<Output = bool>,
    {
        select_on::<Device, T, _>(self, flagged::<P, _>(input))
    }

    /// The first parts of the pairs whose second part is true, in a new buffer of their number; see
    /// [`select_flagged`](crate::select_flagged()).
    pub fn select_flagged<T: Element>(
        &self,
        input: impl Source<Device, Item = (T, bool)>,
    ) -> Result<Buffer<T>> {
        select_on::<Device, T, _>(self, input)
    }

    /// Writes the items that `P` keeps to the front of `output`, and returns their number. What
    /// comes after them stays as it is.
    pub fn select_into<T, P>(
        &self,
        input: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<usize>
    where
        T: Element + Feeds<P::Input>,
        P: Function<Output = bool>,
    {
        self.select_source_into(flagged::<P, _>(input), output)
    }

    /// Writes the first parts of the pairs whose second part is true to the front of `output`, and
    /// returns their number. What comes after them stays as it is.
    pub fn select_flagged_into<T: Element>(
        &self,
        input: impl Source<Device, Item = (T, bool)>,
        output: &mut Buffer<T>,
    ) -> Result<usize> {
        self.select_source_into(input, output)
    }

    /// Keeps the elements of `data` that `P` keeps, in their order, and returns their number, which
    /// is the buffer's new length.
    pub fn select_in_place<T, P>(&self, data: &mut Buffer<T>) -> Result<usize>
    where
        T: Element + Feeds<P::Input>,
        P: Function<Output = bool>,
    {
        self.check_owns(data)?;
        let targets = Targets {
            kept: Target::of(data),
            ..Targets::default()
        };
        let arguments = SliceArguments {
            address: targets.kept.address,
        };
        // SAFETY: the buffer is borrowed for writing. Item `i` is element `i` alone.
        let count = unsafe {
            let input = Bound::<Flagged<P, Slice<T>>>::new(self, arguments, data.len());
            store::<T, _, Kept>(input, targets, true)
        }?;
        data.truncate(count);
        Ok(count)
    }

    fn select_source_into<T: Element, S: Source<Device, Item = (T, bool)>>(
        &self,
        input: S,
        output: &mut Buffer<T>,
    ) -> Result<usize> {
        let call = Call::<Device>::on(self);
        let input = call.bind(&input)?;
        self.check_owns(output)?;
        let targets = Targets {
            kept: Target::of(output),
            ..Targets::default()
        };
        // SAFETY: the output is on this device, and borrowed for writing.
        let count = unsafe { store::<T, _, Kept>(input, targets, false) }?;
        check_room(count, output.len())?;
        Ok(count)
    }
}

/// What a select has stored in new buffers; nothing of what its outputs do not name.
struct New<T: Element> {
    kept: Buffer<T>,
    others: Buffer<T>,
    places: Buffer<u64>,
    lengths: Buffer<u64>,
}

#[cfg(feature = "cuda")]
impl<T: Element> New<T> {
    /// Room for so many items that have a flag, and others, as far as `O` names them.
    fn reserve<O: Outputs>(device: &Device, kept: usize, others: usize) -> Result<New<T>> {
        let room = |is_stored: bool, len: usize| if is_stored { len } else { 0 };
        Ok(New {
            kept: Buffer::reserve(device, room(O::KEPT, kept))?,
            others: Buffer::reserve(device, room(O::OTHERS, others))?,
            places: Buffer::reserve(device, room(O::PLACES, kept))?,
            lengths: Buffer::reserve(device, room(O::KEPT && O::PLACES, kept))?,
        })
    }
}

/// An error if there were more items than room.
fn check_room(count: usize, room: usize) -> Result<()> {
    if count > room {
        return Err(Error::Length {
            input: count,
            output: room,
        });
    }
    Ok(())
}
