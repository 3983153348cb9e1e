//! Host memory that GPUs can copy while the host goes on.

use super::driver_error;
use crate::{Element, Result};
use cudarc::driver::{CudaContext, result};
use std::sync::Arc;

/// Host memory that stays where it is, so that the GPU can copy it while the host goes on.
#[derive(Debug)]
pub(crate) struct Pinned {
    context: Arc<CudaContext>,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: it owns its memory, as a box would.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Zeros.
    pub(crate) fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Pinned> {
        // SAFETY: the context is bound. The memory is new, and has so many bytes.
        let address = context.bind_to_thread().and_then(|()| unsafe {
            let address = result::malloc_host(bytes, 0)?.cast::<u8>();
            address.write_bytes(0, bytes);
            Ok(address)
        });
        let address = address.map_err(|error| {
            driver_error(&format!("pinning {bytes} bytes of host memory"), error)
        })?;
        Ok(Pinned {
            context: context.clone(),
            address,
            bytes,
        })
    }

    /// The first `len` elements of it.
    pub(crate) fn as_mut_slice<T: Element>(&mut self, len: usize) -> &mut [T] {
        assert!(len * size_of::<T>() <= self.bytes);
        // SAFETY: the memory is as long, aligned to pages, initialised, and borrowed with `self`;
        // an element may have any bits.
        unsafe { std::slice::from_raw_parts_mut(self.address.cast(), len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: it was allocated so, and is not used any more.
            let _ = unsafe { result::free_host(self.address.cast()) };
        }
    }
}
