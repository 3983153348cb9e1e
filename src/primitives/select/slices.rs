//! The forms of level 1 that write to slices: into given ones, and in place.

use super::kernel::{Kept, Sides};
use super::positions::{positions_of, store_positions_of};
use super::{Target, Targets, check_room, store, store_new};
use crate::device::{Bound, Call};
use crate::source::{
    Comparable, Equal, Feeds, Flagged, Form, Heads, Host, Slice, SliceArguments, Source, flagged,
    heads, heads_by,
};
use crate::{Device, Element, Function, Result};

/// Writes the items that the predicate `P` keeps to the front of `output`, and returns their
/// number. What comes after them stays as it is. Otherwise as [`select`](crate::select()).
///
/// No memory is taken for the result. A new vector would cost more than the select, since the
/// operating system clears memory that it hands out.
///
/// ```
/// use warpfold::{function, select_into};
///
/// #[function]
/// fn even(x: u32) -> bool {
///     x % 2 == 0
/// }
///
/// let mut output = [0; 4];
/// let count = select_into::<u32, even>(&[3, 4, 1, 6], &mut output)?;
/// assert_eq!(output[..count], [4, 6]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`select`](crate::select()), and [`Error::Length`](crate::Error::Length), with the size
/// needed, if the output is too small for what is kept. Then it holds the first items, as many as
/// it has room for.
pub fn select_into<T, P>(input: impl Source<Item = T>, output: &mut [T]) -> Result<usize>
where
    T: Element + Feeds<P::Input>,
    P: Function<Output = bool>,
{
    store_kept(flagged::<P, _>(input), output)
}

/// Writes the first parts of the pairs whose second part is true to the front of `output`, and
/// returns their number. What comes after them stays as it is. Otherwise as
/// [`select_flagged`](crate::select_flagged()).
///
/// # Errors
///
/// As [`select_into`].
pub fn select_flagged_into<T: Element>(
    input: impl Source<Item = (T, bool)>,
    output: &mut [T],
) -> Result<usize> {
    store_kept(input, output)
}

/// Moves the elements that the predicate `P` keeps to the front of `data`, in their order, and
/// returns their number. What comes after them stays as it is.
///
/// ```
/// use warpfold::{function, select_in_place};
///
/// #[function]
/// fn even(x: u32) -> bool {
///     x % 2 == 0
/// }
///
/// let mut data = vec![3, 4, 1, 6];
/// let count = select_in_place::<u32, even>(&mut data)?;
/// data.truncate(count);
/// assert_eq!(data, [4, 6]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: O(n) work. Memory on the CPU: up to 288 KiB for each thread.
///
/// # Errors
///
/// As [`select`](crate::select()), but that of memory on a GPU only.
///
/// # Panics
///
/// On the CPU if the predicate does. What stands in `data` then is not specified.
pub fn select_in_place<T, P>(data: &mut [T]) -> Result<usize>
where
    T: Element + Feeds<P::Input>,
    P: Function<Output = bool>,
{
    // SAFETY: item `i` is element `i` alone.
    unsafe { keep::<T, Flagged<P, Slice<T>>>(data) }
}

/// Writes the items that the predicate `P` keeps to the front of `kept`, the others to the front of
/// `others`, and returns the number of the first. What comes after them stays as it is. Otherwise
/// as [`partition`](crate::partition()).
///
/// ```
/// use warpfold::{function, partition_into};
///
/// #[function]
/// fn even(x: u32) -> bool {
///     x % 2 == 0
/// }
///
/// let (mut kept, mut others) = ([0; 4], [0; 4]);
/// let count = partition_into::<u32, even>(&[3, 4, 1, 6], &mut kept, &mut others)?;
/// assert_eq!((&kept[..count], &others[..4 - count]), (&[4, 6][..], &[3, 1][..]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`select_into`], for either output.
pub fn partition_into<T, P>(
    input: impl Source<Item = T>,
    kept: &mut [T],
    others: &mut [T],
) -> Result<usize>
where
    T: Element + Feeds<P::Input>,
    P: Function<Output = bool>,
{
    store_sides(flagged::<P, _>(input), kept, others)
}

/// Writes the first parts of the pairs whose second part is true to the front of `kept`, those of
/// the others to the front of `others`, and returns the number of the first. Otherwise as
/// [`partition_into`].
///
/// # Errors
///
/// As [`select_into`], for either output.
pub fn partition_flagged_into<T: Element>(
    input: impl Source<Item = (T, bool)>,
    kept: &mut [T],
    others: &mut [T],
) -> Result<usize> {
    store_sides(input, kept, others)
}

/// Writes the positions of what is true to the front of `output`, and returns their number. What
/// comes after them stays as it is. Otherwise as [`positions`](crate::positions()).
///
/// ```
/// use warpfold::{bools, positions_into};
///
/// let mut output = [0; 5];
/// let count = positions_into(bools(&[false, true, true, false, true]), &mut output)?;
/// assert_eq!(output[..count], [1, 2, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`select_into`].
pub fn positions_into(flags: impl Source<Item = bool>, output: &mut [u64]) -> Result<usize> {
    store_positions(flags, output)
}

/// Writes the first number of each run of equal neighbours to the front of `output`, and returns
/// their number. What comes after them stays as it is. Otherwise as [`unique`](crate::unique()).
///
/// ```
/// let mut output = [0; 4];
/// let count = warpfold::unique_into::<i32>(&[7, 7, 2, 2, 2, 7], &mut output)?;
/// assert_eq!(output[..count], [7, 2, 7]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`select_into`].
pub fn unique_into<T: Comparable>(input: impl Source<Item = T>, output: &mut [T]) -> Result<usize> {
    store_kept(heads::<T, _>(input), output)
}

/// As [`unique_into`], for any items; see [`unique_by`](crate::unique_by()).
///
/// # Errors
///
/// As [`select_into`].
pub fn unique_by_into<T, Same>(input: impl Source<Item = T>, output: &mut [T]) -> Result<usize>
where
    T: Element,
    Same: Function<Input = (T, T), Output = bool>,
{
    store_kept(heads_by::<Same, _>(input), output)
}

/// Moves the first number of each run of equal neighbours to the front of `data`, and returns their
/// number: [`Vec::dedup`] on all cores. What comes after them stays as it is.
///
/// ```
/// let mut data = vec![7, 7, 2, 2, 2, 7];
/// let count = warpfold::unique_in_place::<i32>(&mut data)?;
/// data.truncate(count);
/// assert_eq!(data, [7, 2, 7]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`select_in_place`].
pub fn unique_in_place<T: Comparable>(data: &mut [T]) -> Result<usize> {
    // SAFETY: item `i` is element `i` and the one before it.
    unsafe { keep::<T, Heads<Equal<T>, Slice<T>>>(data) }
}

/// As [`unique_in_place`], for any items; see [`unique_by`](crate::unique_by()).
///
/// # Errors
///
/// As [`select_in_place`].
///
/// # Panics
///
/// On the CPU if `Same` does. What stands in `data` then is not specified.
pub fn unique_by_in_place<T, Same>(data: &mut [T]) -> Result<usize>
where
    T: Element,
    Same: Function<Input = (T, T), Output = bool>,
{
    // SAFETY: item `i` is element `i` and the one before it.
    unsafe { keep::<T, Heads<Same, Slice<T>>>(data) }
}

impl Target {
    /// A slice of the host.
    fn of_slice<T>(slice: &mut [T]) -> Target {
        Target::new(slice.as_mut_ptr() as u64, slice.len())
    }
}

/// Copies to the front of a slice, as far as there is room.
fn copy_to_front<T: Copy>(items: &[T], output: &mut [T]) {
    let count = items.len().min(output.len());
    output[..count].copy_from_slice(&items[..count]);
}

fn store_kept<T: Element, S: Source<Item = (T, bool)>>(
    input: S,
    output: &mut [T],
) -> Result<usize> {
    let device = Device::for_host_data()?;
    let call = Call::<Host>::on(&device);
    let input = call.bind(&input)?;
    let count = if device.is_cpu() {
        let targets = Targets {
            kept: Target::of_slice(output),
            ..Targets::default()
        };
        // SAFETY: the output is borrowed for writing.
        unsafe { store::<T, _, Kept>(input, targets, false) }?
    } else {
        let kept = store_new::<T, _, Kept>(input)?.kept.into_vec()?;
        copy_to_front(&kept, output);
        kept.len()
    };
    check_room(count, output.len())?;
    Ok(count)
}

fn store_sides<T: Element, S: Source<Item = (T, bool)>>(
    input: S,
    kept: &mut [T],
    others: &mut [T],
) -> Result<usize> {
    let device = Device::for_host_data()?;
    let call = Call::<Host>::on(&device);
    let input = call.bind(&input)?;
    let count = if device.is_cpu() {
        let targets = Targets {
            kept: Target::of_slice(kept),
            others: Target::of_slice(others),
            ..Targets::default()
        };
        // SAFETY: the outputs are borrowed for writing.
        unsafe { store::<T, _, Sides>(input, targets, false) }?
    } else {
        let sides = store_new::<T, _, Sides>(input)?;
        let sides = (sides.kept.into_vec()?, sides.others.into_vec()?);
        copy_to_front(&sides.0, kept);
        copy_to_front(&sides.1, others);
        sides.0.len()
    };
    check_room(count, kept.len())?;
    check_room(input.len() - count, others.len())?;
    Ok(count)
}

fn store_positions<S: Source<Item = bool>>(flags: S, output: &mut [u64]) -> Result<usize> {
    let device = Device::for_host_data()?;
    let call = Call::<Host>::on(&device);
    let flags = call.bind(&flags)?;
    let count = if device.is_cpu() {
        let target = Target::of_slice(output);
        // SAFETY: the output is borrowed for writing.
        unsafe { store_positions_of(flags, target) }?
    } else {
        let places = positions_of(flags)?.into_vec()?;
        copy_to_front(&places, output);
        places.len()
    };
    check_room(count, output.len())?;
    Ok(count)
}

/// Keeps the flagged elements of a slice at its front.
///
/// # Safety
///
/// Item `i` is element `i`, and its flag depends on no other element than that and the one before.
unsafe fn keep<T, F>(data: &mut [T]) -> Result<usize>
where
    T: Element,
    F: Form<Item = (T, bool), Arguments = SliceArguments>,
{
    let device = Device::for_host_data()?;
    if device.is_cpu() {
        let targets = Targets {
            kept: Target::of_slice(data),
            ..Targets::default()
        };
        let arguments = SliceArguments {
            address: targets.kept.address,
        };
        // SAFETY: the slice is borrowed for writing; the rest is the caller's.
        return unsafe {
            let input = Bound::<F>::new(&device, arguments, data.len());
            store::<T, _, Kept>(input, targets, true)
        };
    }
    let buffer = device.upload(data)?;
    let arguments = SliceArguments {
        address: buffer.address(),
    };
    // SAFETY: the buffer is on the device, and outlives the call.
    let input = unsafe { Bound::<F>::new(&device, arguments, data.len()) };
    let kept = store_new::<T, _, Kept>(input)?.kept.into_vec()?;
    copy_to_front(&kept, data);
    Ok(kept.len())
}
