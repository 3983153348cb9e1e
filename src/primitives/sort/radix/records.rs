//! What the radix sort sorts: keys, alone or with what they take along. Its records may lie in
//! memory that is not all written yet.

use crate::primitives::sort::order::Sortable;
use std::mem::MaybeUninit;

/// What is sorted: a key, with or without something that it takes along.
pub(in crate::primitives::sort) trait Record:
    Copy + Send + Sync
{
    type Key: Sortable;
    /// Whether all bytes of it have a value.
    const IS_DENSE: bool;
    fn key(&self) -> Self::Key;
}

impl<K: Sortable> Record for K {
    type Key = K;
    const IS_DENSE: bool = true;

    #[inline(always)]
    fn key(&self) -> K {
        *self
    }
}

/// A key with a value, which has no padding.
#[derive(Clone, Copy)]
pub(in crate::primitives::sort) struct Pair<K, V> {
    pub(in crate::primitives::sort) key: K,
    pub(in crate::primitives::sort) value: V,
}

impl<K: Sortable, V: Copy + Send + Sync> Record for Pair<K, V> {
    type Key = K;
    const IS_DENSE: bool = size_of::<Self>() == size_of::<K>() + size_of::<V>();

    #[inline(always)]
    fn key(&self) -> K {
        self.key
    }
}

/// A place that a key was at.
pub(in crate::primitives::sort) trait PlaceOf:
    Copy + Send + Sync
{
    fn of(place: usize) -> Self;
    fn place(self) -> usize;
}

macro_rules! places {
    ($($integer:ty),*) => {$(
        impl PlaceOf for $integer {
            #[inline(always)]
            fn of(place: usize) -> Self {
                place as $integer
            }

            #[inline(always)]
            fn place(self) -> usize {
                self as usize
            }
        }
    )*};
}

places!(u32, u64);

pub(super) type BitsOf<R> = <<R as Record>::Key as Sortable>::Bits;

/// # Safety
///
/// All are there.
pub(super) unsafe fn records<R>(of: &[MaybeUninit<R>]) -> &[R] {
    // SAFETY: `MaybeUninit<R>` has the layout of `R`; the rest is the caller's.
    unsafe { &*(&raw const *of as *const [R]) }
}

/// # Safety
///
/// All are there.
pub(super) unsafe fn records_mut<R>(of: &mut [MaybeUninit<R>]) -> &mut [R] {
    // SAFETY: as in `records`.
    unsafe { &mut *(&raw mut *of as *mut [R]) }
}
