//! Moments of a stream.

use super::Number;
use super::moments::{Merge, Moments, QuickMerge, QuickMoments, measured, quickly_measured};
use crate::source::{ByReference, Host, Source};
use crate::{Device, Reducer, Result};
use std::convert::Infallible;

/// Moments of numbers that come in pieces.
///
/// The [value](MomentsReducer::value) has the bits of one call of [`moments`](super::moments())
/// over all numbers, wherever the pieces end. A stream cannot be read again, so this one computes
/// [`Moments`] and [`QuickMoments`] of every piece.
///
/// ```
/// use warpfold::{moments, statistics::MomentsReducer};
///
/// let data: Vec<i16> = (0..10_000).map(|i| i % 97).collect();
/// let mut seen = MomentsReducer::new();
/// for piece in data.chunks(1 << 12) {
///     seen.push::<i16>(piece)?;
/// }
/// assert_eq!(seen.value(), moments(&data)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Costs are those of two [`Reducer`]s. A GPU stores the moments of a piece before it reduces them,
/// which takes 48 bytes an item.
#[derive(Debug)]
pub struct MomentsReducer<P = Host> {
    quick: Reducer<QuickMoments, QuickMerge, P>,
    careful: Reducer<Moments, Merge, P>,
}

impl MomentsReducer {
    /// For pieces in host memory. It has seen nothing.
    pub fn new() -> MomentsReducer {
        MomentsReducer {
            quick: Reducer::new(),
            careful: Reducer::new(),
        }
    }
}

impl Default for MomentsReducer {
    fn default() -> Self {
        MomentsReducer::new()
    }
}

macro_rules! push {
    ($place:ty) => {
        impl MomentsReducer<$place> {
            /// Takes in the next piece.
            ///
            /// # Errors
            ///
            /// Those of [`Reducer::push`]. Then the piece was not taken in.
            pub fn push<T: Number>(&mut self, piece: impl Source<$place, Item = T>) -> Result<()> {
                let before = self.quick.carry().clone();
                self.quick
                    .push(quickly_measured::<T, _>(ByReference(&piece)))?;
                let careful = self.careful.push(measured::<T, _>(ByReference(&piece)));
                if careful.is_err() {
                    self.quick.set_carry(before);
                }
                careful
            }
        }
    };
}

push!(Host);
push!(Device);

impl<P> MomentsReducer<P> {
    /// The moments of all numbers so far. More pieces may follow.
    pub fn value(&self) -> Moments {
        let careful = || Ok::<_, Infallible>(self.careful.value());
        match Moments::choose(self.quick.value(), careful) {
            Ok(moments) => moments,
            Err(never) => match never {},
        }
    }
}

impl Device {
    /// The moments of numbers that come in pieces, which lie on this device; see
    /// [`MomentsReducer`].
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::cpu();
    /// let mut seen = device.moments_reducer();
    /// seen.push::<f32>(&device.upload(&[1.0, 2.0])?)?;
    /// seen.push::<f32>(&device.upload(&[6.0])?)?;
    /// assert_eq!(seen.value().mean(), 3.0);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn moments_reducer(&self) -> MomentsReducer<Device> {
        MomentsReducer {
            quick: self.reducer(),
            careful: self.reducer(),
        }
    }
}
