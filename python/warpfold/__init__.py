"""Parallel reduce, scan, sort, select, histogram and segments, with the same bits everywhere.

A result depends on the values and their order alone: not on threads, strides, chunks or the
machine. Functions have the names and the semantics of NumPy's, PyTorch's and the array API's;
``docs/python.md`` of the project says where they differ.

>>> import warpfold
>>> warpfold.cumsum([3, 1, 7])
array([ 3,  4, 11])
"""

import os as _os

from . import _native
from ._histograms import bincount, histogram
from ._reductions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    max,
    mean,
    min,
    prod,
    reduce,
    std,
    sum,
    var,
)
from ._scans import cumprod, cumsum, cumulative_prod, cumulative_sum, scan
from ._segments import (
    GroupBy,
    ReduceByKey,
    group_by,
    reduce_by_key,
    segment_reduce,
    segment_scan,
)
from ._selection import compress, flatnonzero, nonzero, select
from ._sorting import (
    TopK,
    UniqueAll,
    UniqueCounts,
    UniqueInverse,
    argsort,
    partition,
    searchsorted,
    sort,
    topk,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from ._streams import Nodes, Reducer, Scanner

__version__: str = _native.__version__

__all__ = [
    "GroupBy",
    "Nodes",
    "ReduceByKey",
    "Reducer",
    "Scanner",
    "TopK",
    "UniqueAll",
    "UniqueCounts",
    "UniqueInverse",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "bincount",
    "compress",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "flatnonzero",
    "group_by",
    "histogram",
    "max",
    "mean",
    "min",
    "nonzero",
    "partition",
    "prod",
    "reduce",
    "reduce_by_key",
    "scan",
    "searchsorted",
    "segment_reduce",
    "segment_scan",
    "select",
    "sort",
    "std",
    "sum",
    "topk",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "var",
]

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native.after_fork)
