"""Histograms, and counts of values."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import _gpu, _native
from ._arrays import flat, native, vector
from ._dtypes import BF16, BOOL, DTYPES, F16, F32, F64, I64, U8

#: The most bins that are counted at once.
_MOST_BINS = 1 << 24

#: From so many items on, a reading costs more than bins that are not needed.
_AT_ONCE = 1 << 16


def histogram(
    x: Any,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    *,
    density: bool = False,
    weights: Any = None,
) -> tuple[Any, Any]:
    """How many items fall into each bin, and the edges of the bins: ``numpy.histogram``.

    The counts are NumPy's, on any machine. NaN falls into no bin.

    Parameters
    ----------
    x : array of any shape
    bins : number of bins of one width; or edges that rise; or the name of one of NumPy's rules,
        such as ``"auto"``
    range : the first edge and the last one; without it those are the least and the greatest item
    density : whether counts are divided by their sum and the widths of the bins
    weights : array of the shape of ``x``: each bin has the sum of its weights, as
        :func:`warpfold.sum` adds them up in float64 (integers in int64)

    Returns
    -------
    ``(counts, edges)``: int64, or the dtype of the weights, or with ``density`` float64; and
    NumPy's edges.

    Raises
    ------
    ValueError
        If there are no bins or more than 2^24; if edges do not rise, or are not finite; without
        ``range``, if an item is not finite.
    TypeError
        If ``x`` is of bfloat16.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.histogram([1, 2, 1, 4], bins=[1, 2, 3, 4])
    (array([2, 1, 1]), array([1, 2, 3, 4]))
    """
    library = _gpu.library_of(x)
    if library is not None:
        return _on_gpu(x, library, bins, range, density, weights)
    array, code, wrap = native(x)
    if code == BF16:
        raise TypeError("histograms of bfloat16 are not supported: take x.astype('float32')")
    weight, weight_code, of_weights = _weights(weights, array)
    items = flat(array)
    edges: Any = None
    rule: Any
    if isinstance(bins, str):
        edges = np.histogram_bin_edges(items, bins, range, weights)
    elif np.ndim(bins) == 1:
        edges = native(bins, "bins")[0]
    elif np.ndim(bins) != 0:
        raise ValueError("bins has more than one axis")
    elif code == F16:
        # Edges of NumPy's are of float16 where the numbers are.
        edges = np.histogram_bin_edges(items, bins, range)
    if code == F16:
        items, code = items.astype(np.float32), F32
    if code == BOOL:
        items, code = items.view(np.uint8), U8
    if edges is not None:
        rule = _edges(edges, items, code)
    else:
        count = _count(bins)
        rule = count if range is None else (count, *_range(range))
    try:
        counts, own = _native.histogram(items, code, rule, weight, weight_code)
    except ValueError as error:
        if edges is None and range is None and not np.isfinite(items).all():
            raise ValueError("x has an item that is not finite: give range") from error
        raise
    if edges is None:
        # NumPy's edges of float32 are float32, if the range is of Python's numbers.
        edges = own.astype(np.float32) if code == F32 and _is_plain(range) else own
    if of_weights is not None:
        counts = counts.astype(of_weights)
    if density:
        counts = counts / np.diff(edges).astype(np.float64) / counts.sum()
    return wrap(counts), wrap(edges)


def _on_gpu(
    x: Any, library: _gpu.Library, bins: Any, range: Any, density: bool, weights: Any
) -> tuple[Any, Any]:
    _gpu.refuse(density=density)
    if isinstance(bins, str):
        raise TypeError(f"bins={bins!r} is not there on a GPU: give the number of bins, or edges")
    if _gpu.library_of(bins) is not None:
        raise TypeError("bins are on a GPU; edges must be in host memory, where they are checked")
    if np.ndim(bins) > 1:
        raise ValueError("bins has more than one axis")
    if np.ndim(bins) == 1:
        return _gpu.histogram(x, library, 0, None, native(bins, "bins")[0], weights)
    ends = None if range is None else _range(range)
    return _gpu.histogram(x, library, _count(bins), ends, _is_plain(range), weights)


def _is_plain(range: Any) -> bool:
    return range is None or all(type(end) in (int, float) for end in range)


def _count(bins: Any) -> int:
    try:
        return int(np.asarray(bins).__index__())
    except TypeError:
        raise TypeError(f"bins is {bins!r}; it must be an integer, edges, or a name") from None


def _range(range: Any) -> tuple[float, float]:
    try:
        low, high = range
    except (TypeError, ValueError):
        raise ValueError(f"range is {range!r}; it must be two numbers") from None
    low, high = float(low), float(high)
    if low > high:
        raise ValueError(f"range falls from {low} to {high}")
    if low == high:
        # NumPy's way out.
        low, high = low - 0.5, high + 0.5
    return low, high


def _edges(edges: np.ndarray[Any, Any], items: np.ndarray[Any, Any], code: int) -> Any:
    """Edges in the items' dtype, if they are integers both, or in float64; exact in either."""
    if edges.dtype.kind not in "iu":
        return edges.astype(np.float64), False
    if items.dtype.kind in "iu":
        common = edges.astype(items.dtype)
        if ((common.astype(edges.dtype) == edges) & ((common < 0) == (edges < 0))).all():
            return common, True
    exact = edges.astype(np.float64)
    is_wide = items.dtype.kind in "iu" and items.dtype.itemsize == 8
    if is_wide or (np.abs(exact) > 2.0**53).any():
        raise TypeError(f"bins are of {edges.dtype}, and x is of {items.dtype}: convert one")
    return exact, False


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each value from 0 on occurs: ``numpy.bincount``.

    Parameters
    ----------
    x : array of one axis, of integers that are not negative
    weights : array of the shape of ``x``: the sums of weights are counted, as :func:`warpfold.sum`
        adds them up in float64
    minlength : the least length of the result

    Returns
    -------
    int64, or float64 with weights; as long as the greatest value and 1, or ``minlength``.

    Raises
    ------
    ValueError
        If a value is negative.
    TypeError
        If the values are no integers.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.bincount([1, 3, 1])
    array([0, 2, 0, 1])
    >>> warpfold.bincount([1, 3, 1], weights=[0.5, 2.0, 0.25])
    array([0.  , 0.75, 0.  , 2.  ])
    """
    try:
        least = operator.index(minlength)
    except TypeError:
        raise TypeError(f"minlength is {minlength!r}; it must be an integer") from None
    if least < 0:
        raise ValueError(f"minlength is {least}; it must not be negative")
    library = _gpu.library_of(x)
    if library is not None:
        return _gpu.bincount(x, library, weights, least)
    array, code, wrap = vector(x, "x")
    if array.dtype.kind not in "iub" or code == BF16:
        if array.size or isinstance(x, np.ndarray):
            raise TypeError(f"x is of dtype {array.dtype}; bincount counts integers")
        array, code = array.astype(np.int64), I64
    weight, weight_code, _ = _weights(weights, array)
    if weight is not None and weight_code == I64:
        weight, weight_code = weight.astype(np.float64), F64
    kind = np.dtype(np.float64 if weight is not None else np.int64)
    counts = None
    if weight is None and array.size >= _AT_ONCE:
        # Negative numbers have the bits of greater ones.
        values = 256 if code == BOOL else int(np.iinfo(array.dtype).max) + 1
        counts = _native.bincount_at_once(array, code, min(values, _MOST_BINS))
    if counts is None:
        ends = _native.integer_range(array, code)
        if ends is None:
            return wrap(np.zeros(least, kind))
        if ends[0] < 0:
            raise ValueError(f"x has a negative value, {ends[0]}")
        count = ends[1] + 1
        if count <= _MOST_BINS:
            counts = _native.bincount(array, code, count, weight, weight_code)
        else:
            counts = _many(array, code, weight, max(count, least))
    if least > len(counts):
        counts = np.concatenate([counts, np.zeros(least - len(counts), kind)])
    return wrap(counts)


def _many(array: np.ndarray[Any, Any], code: int, weight: Any, length: int) -> Any:
    """Counts of more values than there can be bins: by a sort."""
    values, counts, _ = _native.unique(array, code, (False, False))
    if weight is None:
        result = np.zeros(length, np.int64)
        result[values] = counts
        return result
    sums = np.zeros(length, np.float64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    places = _native.sort(array, code, (False, False), True)
    sums[values] = _native.segment_reduce(
        _native.take(weight, F64, places), F64, "add", offsets, None
    )
    return sums


def _weights(weights: Any, array: np.ndarray[Any, Any]) -> tuple[Any, int, np.dtype[Any] | None]:
    """Weights in float64 or int64, and the dtype of their sums."""
    if weights is None:
        return None, F64, None
    given, code, _ = native(weights, "weights")
    if given.shape != array.shape:
        raise ValueError(f"weights are of shape {given.shape}, and x of {array.shape}")
    dtype = DTYPES[code]
    if code == BF16:
        given = given.view(dtype)
    is_exact = given.dtype.kind in "iub"
    wanted: np.dtype[Any] = np.dtype(np.int64 if is_exact else np.float64)
    wanted_code = I64 if is_exact else F64
    kind = wanted if code == BOOL else dtype
    return flat(given.astype(wanted, copy=False)), wanted_code, kind
