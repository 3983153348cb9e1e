//! What passes from one piece of a stream to the next.

use crate::cpu::counter::Counter;
use crate::{Element, Error, Result};
use std::fmt;
use std::marker::PhantomData;

/// What a [`Reducer`](crate::Reducer) or a [`Scanner`](crate::Scanner) keeps of what it has seen:
/// the number of elements, and the sum of each of their aligned blocks ([the law](crate#the-law)).
///
/// So it holds at most 64 sums, and whoever goes on from it gets the bits of one call over
/// everything. It can be stored, and read back in another process or on another machine: the sums
/// are plain data.
///
/// ```
/// use warpfold::{Carry, Reducer, bytemuck, ops::Add};
///
/// let mut today = Reducer::<f32, Add>::new();
/// today.push(&[0.1, 0.2, 0.3])?;
/// let (position, sums) = (today.carry().position(), today.carry().sums());
/// let stored: Vec<u8> = [&position.to_le_bytes(), bytemuck::cast_slice(sums)].concat();
///
/// let (position, sums) = stored.split_at(8);
/// let position = u64::from_le_bytes(position.try_into().unwrap());
/// let carry = Carry::from_sums(position, bytemuck::pod_collect_to_vec(sums))?;
/// let mut tomorrow = Reducer::<f32, Add>::new().after(carry);
/// tomorrow.push(&[0.4, 0.5])?;
/// assert_eq!(tomorrow.value(), warpfold::reduce::<f32, Add>(&[0.1, 0.2, 0.3, 0.4, 0.5])?);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct Carry<T: Element, Op> {
    pub(crate) counter: Counter<T::Accumulator>,
    operator: PhantomData<fn() -> Op>,
}

impl<T: Element, Op> Carry<T, Op> {
    /// That of no element.
    pub fn new() -> Carry<T, Op> {
        Carry::of(Counter::at(0))
    }

    /// One that was taken apart: what [`position`](Carry::position) and [`sums`](Carry::sums) gave.
    ///
    /// # Errors
    ///
    /// [`Error::Carry`] unless there is one sum for each one among the binary digits of `position`,
    /// and if `position` is 2^63 or more.
    pub fn from_sums(position: u64, sums: Vec<T::Accumulator>) -> Result<Carry<T, Op>> {
        let count = sums.len();
        Counter::from_sums(position, sums)
            .filter(|_| position >> 63 == 0)
            .map(Carry::of)
            .ok_or(Error::Carry {
                position,
                sums: count,
            })
    }

    pub(crate) fn of(counter: Counter<T::Accumulator>) -> Carry<T, Op> {
        Carry {
            counter,
            operator: PhantomData,
        }
    }

    /// The number of elements so far, which is the position of the next one.
    pub fn position(&self) -> u64 {
        self.counter.end()
    }

    /// The sums of the aligned blocks of the elements so far, the largest block first. Those of
    /// halves are `f32`.
    pub fn sums(&self) -> &[T::Accumulator] {
        self.counter.sums()
    }
}

impl<T: Element, Op> Default for Carry<T, Op> {
    fn default() -> Self {
        Carry::new()
    }
}

impl<T: Element, Op> Clone for Carry<T, Op> {
    fn clone(&self) -> Self {
        Carry::of(self.counter.clone())
    }
}

impl<T: Element, Op> fmt::Debug for Carry<T, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carry")
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}
