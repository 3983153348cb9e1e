//! The items at some places of the sorted order.

#[cfg(feature = "cuda")]
mod cuda;
pub(crate) mod kernel;
mod tuning;

use self::tuning::{FEW, MANY, SHORT, SHORT_ON_THE_CPU};
use super::{Candidate, Choice, best, digits};
#[cfg(doc)]
use crate::Buffer;
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::primitives::collect::collected;
use crate::primitives::sort::{self, Order, Sortable};
use crate::source::{Form, Host, Source};
use crate::{Device, Error, Result};

/// The item at place `n` of the sorted order, counted from 0: what
/// [`sort`](crate::sort())`(input, order)?[n]` is, also of items that are equal.
///
/// ```
/// use warpfold::{Order, select_nth};
///
/// let x = [30, 10, 40, 20];
/// assert_eq!(select_nth(&x, 1, Order::ascending())?, 20);
/// assert_eq!(select_nth(&x, 0, Order::descending())?, 40);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: see [`select_nths`](crate::select_nths), which finds several at once.
///
/// # Errors
///
/// [`Error::Argument`] if there are no more than `n` items; and those of [`sort`](crate::sort()).
pub fn select_nth<K: Sortable + Candidate<Key = K>>(
    input: impl Source<Item = K>,
    n: usize,
    order: Order,
) -> Result<K> {
    let all = nths_on::<Host, K, _>(&Device::for_host_data()?, input, order, |len| {
        at("n", &[n], len)
    })?;
    Ok(all[0])
}

/// The items at some places of the sorted order, counted from 0: as [`select_nth`] of each.
///
/// ```
/// use warpfold::{Order, select_nths};
///
/// let x = [30.5, f64::NAN, 10.5, 40.5, 20.5];
/// assert_eq!(select_nths(&x, &[3, 0], Order::ascending())?, [40.5, 10.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: that of [`bottom_k`](crate::bottom_k) where all places are among the first.
/// Otherwise each digit of the ranks takes one reading of all items. So a place takes O(n),
/// whatever they are. Many places take a [`sort`](crate::sort()). So do few items; on a GPU, also
/// 2^35 and more.
///
/// - The CPU reads digits until a small part of the items can be wanted. Another reading copies
///   these.
/// - A GPU reads longer digits for few places than for many. Where a wanted item is a zero or a
///   NaN, digits of positions follow: of equal items the first comes first.
///
/// Memory: on the CPU a rank and a position for each item that is copied, twice; on a GPU tables of
/// less than 1 MiB; that of a sort where items are sorted.
///
/// # Errors
///
/// [`Error::Argument`] if there are no more items than a place says; and those of
/// [`sort`](crate::sort()).
pub fn select_nths<K: Sortable + Candidate<Key = K>>(
    input: impl Source<Item = K>,
    places: &[usize],
    order: Order,
) -> Result<Vec<K>> {
    nths_on::<Host, K, _>(&Device::for_host_data()?, input, order, |len| {
        at("places", places, len)
    })
}

impl Device {
    /// The item at place `n` of the sorted order; see [`select_nth`](crate::select_nth). Waits for
    /// it.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if there are no more than `n` items; and those of [`Device::sort`] and
    /// [`Buffer::to_vec`].
    pub fn select_nth<K: Sortable + Candidate<Key = K>>(
        &self,
        input: impl Source<Device, Item = K>,
        n: usize,
        order: Order,
    ) -> Result<K> {
        let all = nths_on::<Device, K, _>(self, input, order, |len| at("n", &[n], len))?;
        Ok(all[0])
    }

    /// The items at some places of the sorted order; see [`select_nths`](crate::select_nths). Waits
    /// for them.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if there are no more items than a place says; and those of
    /// [`Device::sort`] and [`Buffer::to_vec`].
    pub fn select_nths<K: Sortable + Candidate<Key = K>>(
        &self,
        input: impl Source<Device, Item = K>,
        places: &[usize],
        order: Order,
    ) -> Result<Vec<K>> {
        nths_on::<Device, K, _>(self, input, order, |len| at("places", places, len))
    }
}

fn at(argument: &'static str, places: &[usize], len: usize) -> Result<Vec<usize>> {
    let Some(number) = places.iter().position(|&place| place >= len) else {
        return Ok(places.to_vec());
    };
    let place = places[number];
    let which = match argument {
        "n" => format!("is {place}"),
        _ => format!("have {place} at {number}"),
    };
    Err(Error::Argument {
        argument,
        fault: format!(
            "{which}, but there are {len} items\n  remedy: places are counted from 0, so give one below the number of items"
        ),
    })
}

/// The items at the places that are wanted of so many items.
pub(crate) fn nths_on<P, K, S>(
    device: &Device,
    input: S,
    order: Order,
    places: impl FnOnce(usize) -> Result<Vec<usize>>,
) -> Result<Vec<K>>
where
    P: OnDevice,
    K: Sortable + Candidate<Key = K>,
    S: Source<P, Item = K>,
{
    let call = Call::<P>::on(device);
    let places = places(input.items()?)?;
    nths(call.bind(&input)?, order, &places)
}

fn nths<K: Sortable + Candidate<Key = K>, F: Form<Item = K>>(
    input: Bound<'_, F>,
    order: Order,
    places: &[usize],
) -> Result<Vec<K>> {
    let (device, len) = (input.device(), input.len());
    let Some(&last) = places.iter().max() else {
        return Ok(Vec::new());
    };
    assert!(last < len);
    if last < FEW && last < len / 8 {
        let (values, _) = best(input, Choice::new(len, None, last + 1, order)?)?;
        let values = values.into_vec()?;
        return Ok(places.iter().map(|&place| values[place]).collect());
    }
    let short = if device.is_cpu() {
        SHORT_ON_THE_CPU
    } else {
        SHORT
    };
    if len > short && (device.is_cpu() || (len as u64) < COUNTED) {
        let mut wanted = places.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.len() <= MANY {
            let found = select(&input, order, &wanted)?;
            let at = |place: &usize| found[wanted.binary_search(place).expect("it is wanted")];
            return Ok(places.iter().map(at).collect());
        }
    }
    let mut sorted = collected(input)?;
    if device.is_cpu() {
        let sorted = sorted.as_host_mut();
        sort::cpu::sort(sorted, K::key_map(order))?;
        return Ok(places.iter().map(|&place| sorted[place]).collect());
    }
    device.sort_in_place(&mut sorted, order)?;
    let at = |&place: &usize| Ok(sorted.slice(place..=place).to_vec()?[0]);
    places.iter().map(at).collect()
}

/// The items at up to [`MANY`] places, which rise, by the digits of ranks.
fn select<K: Sortable + Candidate<Key = K>, F: Form<Item = K>>(
    input: &Bound<'_, F>,
    order: Order,
    wanted: &[usize],
) -> Result<Vec<K>> {
    let (arguments, len) = (input.arguments(), input.len());
    match &input.device().backend {
        // SAFETY: the source is in host memory; the last place is below `len`.
        Backend::Cpu => unsafe {
            digits::select::<K, F>(&arguments, len, K::key_map(order), wanted)
        },
        #[cfg(feature = "cuda")]
        // SAFETY: the source is on this GPU; the last place is below `len`, and there are no more
        // than `MANY`.
        Backend::Cuda(gpu) => unsafe { cuda::select::<F>(gpu, arguments, len, order, wanted) },
    }
}

/// Blocks of a GPU count digits in 32 bits. There are two for each multiprocessor, so eight at
/// least.
const COUNTED: u64 = 1 << 35;
