//! Slices: what lies in memory as it is.

use super::{Form, HostBinder, Leaves, Source, sealed};
use crate::definitions::Definitions;
use crate::{Element, Result};
use std::marker::PhantomData;

/// The [form](Form) of everything that holds elements as they are: slices, arrays, vectors, buffers
/// and device memory.
#[derive(Debug)]
pub struct Slice<T>(PhantomData<fn() -> T>);

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SliceArguments {
    pub address: u64,
}

impl SliceArguments {
    pub(super) fn of_host<T>(data: &[T]) -> SliceArguments {
        SliceArguments {
            address: data.as_ptr() as u64,
        }
    }
}

impl<T> sealed::Sealed for Slice<T> {}

// SAFETY: `warpfold::Slice` in `kernels/source.cuh` holds a pointer.
unsafe impl<T: Element> Form for Slice<T> {
    type Item = T;
    type Arguments = SliceArguments;

    const LEAVES: Leaves = Leaves::slice(size_of::<T>());

    #[inline(always)]
    unsafe fn get(arguments: &SliceArguments, i: usize) -> T {
        // SAFETY: the caller's.
        unsafe { *(arguments.address as *const T).add(i) }
    }

    #[inline(always)]
    fn prefetch(arguments: &SliceArguments, items: std::ops::Range<usize>) {
        let start = (arguments.address as *const T).wrapping_add(items.start);
        crate::cpu::stream::prefetch(start.cast(), items.len() * size_of::<T>());
    }

    unsafe fn as_slice<'a>(arguments: &SliceArguments, len: usize) -> Option<&'a [T]> {
        // SAFETY: the caller's. The address is that of a slice, which is never null.
        Some(unsafe { std::slice::from_raw_parts(arguments.address as *const T, len) })
    }

    fn of_address(address: u64) -> Option<SliceArguments> {
        Some(SliceArguments { address })
    }

    fn address(arguments: &SliceArguments) -> Option<u64> {
        Some(arguments.address)
    }

    fn is_aligned(arguments: &SliceArguments, bytes: u64) -> bool {
        arguments.address.is_multiple_of(bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!("warpfold::Slice<{}>", T::cuda_type(definitions))
    }
}

/// What refers to a slice of the host.
macro_rules! host_slices {
    ($(($($generics:tt)*) $ty:ty;)*) => {$(
        impl<$($generics)*> Source for $ty {
            type Item = T;
            type Form = Slice<T>;

            fn items(&self) -> Result<usize> {
                Ok(self.len())
            }

            fn bind(&self, binder: &mut HostBinder) -> Result<SliceArguments> {
                binder.slice::<T>(&self[..])
            }
        }
    )*};
}

host_slices! {
    (T: Element) &[T];
    (T: Element) &mut [T];
    (T: Element, const N: usize) &[T; N];
    (T: Element) &Vec<T>;
    (T: Element) &Box<[T]>;
    (T: Element) &std::sync::Arc<[T]>;
}
