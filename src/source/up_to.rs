//! The form of sources whose length is on the device.

use super::{Form, Leaves, sealed};
use crate::definitions::Definitions;
use std::marker::PhantomData;

/// The [form](Form) of a source whose length is a number in device memory;
#[cfg_attr(
    feature = "cuda",
    doc = "[`up_to`](crate::cuda::up_to) makes the source."
)]
#[cfg_attr(
    not(feature = "cuda"),
    doc = "the feature `cuda` has a function that makes the source."
)]
#[derive(Debug)]
pub struct UpTo<S>(PhantomData<fn() -> S>);

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct UpToArguments<A> {
    pub source: A,
    pub count: u64,
}

impl<S> sealed::Sealed for UpTo<S> {}

// SAFETY: `warpfold::UpTo` in `kernels/source.cuh` holds the source and a pointer.
unsafe impl<S: Form> Form for UpTo<S> {
    type Item = S::Item;
    type Arguments = UpToArguments<S::Arguments>;

    const LEAVES: Leaves = Leaves {
        plain: false,
        counted: true,
        fetched: S::LEAVES.fetched && S::LEAVES.before == 0,
        ..S::LEAVES
    };

    #[inline(always)]
    unsafe fn get(arguments: &Self::Arguments, i: usize) -> Self::Item {
        // SAFETY: the caller's.
        unsafe { S::get(&arguments.source, i) }
    }

    fn is_aligned(arguments: &Self::Arguments, bytes: u64) -> bool {
        S::is_aligned(&arguments.source, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!("warpfold::UpTo<{}>", S::cuda(definitions))
    }
}
