//! The least and the greatest number, and where they stand.

use super::on::{Alone, On};
use super::{Number, cpu};
use crate::ops::{Min, maximum, minimum};
use crate::source::{Index, Map, Place as Where, Slice, Source, Zip};
use crate::{Device, Element, Function, Monoid, Result, Scalar, function, index, map, monoid, zip};
use std::ops::ControlFlow;

/// The least and the greatest number, and `None` if there is none. Both are NaN if one of the
/// numbers is; −0 is less than +0.
///
/// ```
/// use warpfold::min_max;
/// assert_eq!(min_max(&[3, -7, 5])?, Some((-7, 5)));
/// assert_eq!(min_max::<f32>(&[])?, None);
/// assert!(min_max(&[1.0, f64::NAN])?.is_some_and(|(min, max)| min.is_nan() && max.is_nan()));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// For one of the two there are [`min`](crate::min()) and [`max`](crate::max()). The module
/// [`statistics`](crate::statistics) has the costs.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn min_max<T: Number>(input: impl Source<Item = T>) -> Result<Option<(T, T)>> {
    min_max_on(&Alone::host()?, input)
}

/// The position of the least number, the first of equal ones, and `None` if there is none. The
/// first NaN counts as less than all numbers, as in NumPy; −0 equals +0.
///
/// ```
/// use warpfold::{arg_min, zip, map, function};
///
/// assert_eq!(arg_min(&[3, -7, 5, -7])?, Some(1));
/// assert_eq!(arg_min(&[1.0, f64::NAN, 0.0])?, Some(1));
///
/// #[function]
/// fn distance(x: f32, y: f32) -> f32 {
///     (x - y).abs()
/// }
///
/// let (x, y) = ([1.0_f32, 2.0, 3.0], [4.0, 2.5, 1.0]);
/// assert_eq!(arg_min(map::<distance, _>(zip(&x, &y)))?, Some(1));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// The reduction is exact and commutative, so kernels bracket it as is fastest. The module
/// [`statistics`](crate::statistics) has the costs.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn arg_min<T: Number>(input: impl Source<Item = T>) -> Result<Option<usize>> {
    arg_min_on(&Alone::host()?, input)
}

/// The position of the greatest number, the first of equal ones, and `None` if there is none. The
/// first NaN counts as greater than all numbers, as in NumPy; −0 equals +0.
///
/// ```
/// use warpfold::arg_max;
/// assert_eq!(arg_max(&[3, 9, 5, 9])?, Some(1));
/// assert_eq!(arg_max(&[1.0, f64::NAN, 7.0])?, Some(1));
/// assert_eq!(arg_max::<f32>(&[])?, None);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Otherwise as [`arg_min`].
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn arg_max<T: Number>(input: impl Source<Item = T>) -> Result<Option<usize>> {
    arg_max_on(&Alone::host()?, input)
}

/// # Statistics: extremes
///
/// Each is one [reduction](Device::reduce), with its costs and errors, and waits for the result.
impl Device {
    /// The least and the greatest number; see [`min_max`](crate::min_max()).
    pub fn min_max<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<Option<(T, T)>> {
        min_max_on(&Alone::on(self), input)
    }

    /// The position of the least number; see [`arg_min`](crate::arg_min()).
    pub fn arg_min<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<Option<usize>> {
        arg_min_on(&Alone::on(self), input)
    }

    /// The position of the greatest number; see [`arg_max`](crate::arg_max()).
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::cpu();
    /// let scores = device.upload(&[0.25_f32, 0.5, 0.125])?;
    /// assert_eq!(device.arg_max(&scores)?, Some(1));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn arg_max<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<Option<usize>> {
        arg_max_on(&Alone::on(self), input)
    }
}

pub(crate) fn min_max_on<P: Where, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Option<(T, T)>> {
    let input = match on.on_cpu(input, cpu::min_max)? {
        ControlFlow::Break(extremes) => return Ok(extremes),
        ControlFlow::Continue(input) => input,
    };
    let len = on.whole(input.items()?);
    let [min, max] = on.reduce::<[T::Accumulator; 2], Extremes>(twice::<T, _>(input))?;
    Ok((len > 0).then(|| (T::narrow(min), T::narrow(max))))
}

fn arg_min_on<P: Where, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Option<usize>> {
    first_on::<P, T, T::RankUp>(on, input)
}

fn arg_max_on<P: Where, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Option<usize>> {
    first_on::<P, T, T::RankDown>(on, input)
}

/// The position of the first of the least items by `Rank`.
fn first_on<P: Where, T: Number, Rank: Function<Input = (T,), Output = u64>>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Option<usize>> {
    let input = match on.on_cpu(input, cpu::first::<T, Rank>)? {
        ControlFlow::Break(position) => return Ok(position),
        ControlFlow::Continue(input) => input,
    };
    let len = input.items()?;
    let ranks = zip(map::<Rank, _>(input), index(len));
    let position = if const { has_short_ranks::<T>() } && has_short_positions(len) {
        position_of(on.reduce::<u64, Min>(map::<pack, _>(ranks))?)
    } else {
        on.reduce::<Place, First>(map::<place, _>(ranks))?.position
    };
    Ok((len > 0).then_some(position as usize))
}

/// The least of all first parts, and the greatest of all second parts: [`Min`](crate::ops::Min) and
/// [`Max`](crate::ops::Max) at once. Of numbers [twice](twice()), their least and greatest.
#[derive(Debug, Clone, Copy)]
pub struct Extremes;

#[monoid]
impl<T: Scalar> Monoid<[T; 2]> for Extremes {
    const EXACT: bool = true;
    const COMMUTATIVE: bool = true;

    fn identity() -> [T; 2] {
        [T::GREATEST, T::LEAST]
    }

    fn combine(a: [T; 2], b: [T; 2]) -> [T; 2] {
        [minimum(a[0], b[0]), maximum(a[1], b[1])]
    }
}

#[doc(hidden)]
#[function]
pub fn pair<T: Scalar>(x: T) -> [T; 2] {
    [x, x]
}

/// The [form](crate::source::Form) of what [`twice`] gives.
pub type Twice<T, S = Slice<T>> =
    Map<pair<<T as Element>::Accumulator>, Map<<T as Number>::Widened, S>>;

/// Each number of `source` twice; halves as `f32`. Reduced with [`Extremes`], they give the least
/// and the greatest, as [`min_max`].
pub fn twice<T: Number, S>(source: S) -> Twice<T, S> {
    map(map(source))
}

/// A position, and the rank of the number that stands there: what [`First`] compares. [`least`] and
/// [`greatest`] make sources of them.
///
/// The rank is kept in halves. Where numbers have up to 32 bits, the upper one is known to be 0,
/// and takes no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Element)]
#[repr(C)]
pub struct Place {
    high: u32,
    low: u32,
    pub(super) position: u64,
}

impl Place {
    /// The place of a rank and a position below 2^63.
    pub fn new(rank: u64, position: u64) -> Place {
        place(rank, position)
    }

    /// The rank. The least comes first; a NaN has 0.
    pub fn rank(&self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.low)
    }

    /// The position.
    pub fn position(&self) -> u64 {
        self.position
    }
}

/// The place of the lesser rank, and of equal ones the one that comes first.
#[derive(Debug, Clone, Copy)]
pub struct First;

#[monoid]
impl Monoid<Place> for First {
    const EXACT: bool = true;
    const COMMUTATIVE: bool = true;

    fn identity() -> Place {
        Place {
            high: u32::MAX,
            low: u32::MAX,
            position: i64::MAX as u64,
        }
    }

    // Without branches, which would take longer. Positions are compared as signed numbers, so that
    // compilers know of a position plus 1 that it comes later.
    fn combine(a: Place, b: Place) -> Place {
        let is_before = (b.position as i64) < a.position as i64;
        let is_lower = (b.low < a.low) | ((b.low == a.low) & is_before);
        if (b.high < a.high) | ((b.high == a.high) & is_lower) {
            b
        } else {
            a
        }
    }
}

#[doc(hidden)]
#[function]
pub fn place(rank: u64, position: u64) -> Place {
    Place {
        high: (rank >> 32) as u32,
        low: rank as u32,
        position,
    }
}

/// The [form](crate::source::Form) of what [`least`] gives; with `T::RankDown`, of what
/// [`greatest`] gives.
pub type Ranked<Rank, S> = Map<place, Zip<(Map<Rank, S>, Index)>>;

/// The places of the `len` numbers of `source`. Reduced with [`First`], they give that of the least
/// number, as [`arg_min`].
pub fn least<T: Number, S>(source: S, len: usize) -> Ranked<T::RankUp, S> {
    map(zip(map(source), index(len)))
}

/// The places of the `len` numbers of `source`. Reduced with [`First`], they give that of the
/// greatest number, as [`arg_max`].
pub fn greatest<T: Number, S>(source: S, len: usize) -> Ranked<T::RankDown, S> {
    map(zip(map(source), index(len)))
}

/// Whether ranks of numbers fit into half a word. It is asked for in `const`: what wider ones never
/// take is not compiled for them.
pub(super) const fn has_short_ranks<T: Number>() -> bool {
    size_of::<T>() <= 4
}

/// Whether positions of `len` numbers fit into half a word.
pub(super) fn has_short_positions(len: usize) -> bool {
    len as u64 <= 1 << 32
}

#[doc(hidden)]
#[function]
pub fn pack(rank: u64, position: u64) -> u64 {
    // Compilers need not keep the upper half of the position.
    rank << 32 | position as u32 as u64
}

/// The [form](crate::source::Form) of what [`least_packed`] gives; with `T::RankDown`, of what
/// [`greatest_packed`] gives.
pub type Packed<Rank, S> = Map<pack, Zip<(Map<Rank, S>, Index)>>;

/// The places of the `len` numbers of `source`, each in one word: the rank above the position.
/// Reduced with [`ops::Min`](crate::ops::Min), they give that of the least number, as [`arg_min`]
/// does; [`position_of`] takes the position from it. Half as large as [places](least), they are
/// folded faster.
///
/// `None` if ranks and positions do not fit: for numbers of 64 bits, and for more than 2^32
/// numbers. Then take [`least`].
///
/// ```
/// use warpfold::statistics::{least_packed, position_of};
/// use warpfold::{ops::Min, reduce};
///
/// let x = [3.0_f32, -7.0, 5.0, -7.0];
/// let places = least_packed::<f32, _>(&x, x.len()).expect("32 bits, and few numbers");
/// assert_eq!(position_of(reduce::<u64, Min>(places)?), 1);
/// assert!(least_packed::<f64, _>(&[1.0], 1).is_none());
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn least_packed<T: Number, S>(source: S, len: usize) -> Option<Packed<T::RankUp, S>> {
    (has_short_ranks::<T>() && has_short_positions(len)).then(|| map(zip(map(source), index(len))))
}

/// [Packed places](least_packed), of which the least is that of the greatest number: the one that
/// [`arg_max`] finds.
pub fn greatest_packed<T: Number, S>(source: S, len: usize) -> Option<Packed<T::RankDown, S>> {
    (has_short_ranks::<T>() && has_short_positions(len)).then(|| map(zip(map(source), index(len))))
}

/// The position in a [packed](least_packed) place.
pub fn position_of(packed: u64) -> u64 {
    packed & u64::from(u32::MAX)
}
