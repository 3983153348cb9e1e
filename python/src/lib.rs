//! The native part of the Python package `warpfold`: typed calls of the library.
//!
//! The package (`warpfold/`) has the names, defaults and checks of what users call. It gives these
//! functions arrays of NumPy with the code of their dtype, and the axes counted from 0.

mod array;
mod device;
mod dlpack;
mod dtype;
mod error;
mod gpu;
mod histogram;
mod nodes;
mod ops;
mod reduce;
mod run;
mod scan;
mod search;
mod segments;
mod sort;
mod stream;
mod wide;

use pyo3::prelude::*;

/// The native part of warpfold.
///
/// It needs no interpreter's lock: what it keeps is in locks and atomics, its classes are frozen or
/// refuse two borrows at a time, and arrays are read as they are without the lock elsewhere, too.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::device::{gpu_of, nvrtc};
    #[pymodule_export]
    use crate::dlpack::{Borrowed, DeviceArray, from_capsule, gpu_wait};
    #[pymodule_export]
    use crate::dtype::set_dtypes;
    #[pymodule_export]
    use crate::gpu::{
        Plan, gpu_arg_extreme, gpu_bincount, gpu_compress, gpu_count, gpu_count_nonzero,
        gpu_histogram, gpu_moments, gpu_positions, gpu_range, gpu_reduce, gpu_scan,
        gpu_segment_reduce, gpu_sort, gpu_topk,
    };
    #[pymodule_export]
    use crate::histogram::{bincount, bincount_at_once, histogram, integer_range};
    #[pymodule_export]
    use crate::nodes::Nodes;
    #[pymodule_export]
    use crate::reduce::{arg_extreme, count_nonzero, moments, reduce, truth};
    #[pymodule_export]
    use crate::run::after_fork;
    #[pymodule_export]
    use crate::scan::scan;
    #[pymodule_export]
    use crate::search::{compress, positions, searchsorted, take, unique};
    #[pymodule_export]
    use crate::segments::{runs, segment_reduce, segment_scan};
    #[pymodule_export]
    use crate::sort::{nths, sort, topk};
    #[pymodule_export]
    use crate::stream::Folder;

    #[pymodule_export]
    #[allow(non_upper_case_globals)] // The name is Python's.
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
