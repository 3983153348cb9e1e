"""Segments: many slices of one array, and groups of equal keys."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _gpu, _native
from ._arrays import mapped, native, vector
from ._dtypes import (
    BF16,
    DTYPES,
    IS_FLOAT,
    U8,
    U16,
    U32,
    U64,
    code_of,
    initial_bytes,
    operator_of,
    operator_on,
)
from ._reductions import _as_dtype


class ReduceByKey(NamedTuple):
    """What :func:`reduce_by_key` gives."""

    keys: Any
    values: Any


class GroupBy(NamedTuple):
    """What :func:`group_by` gives."""

    keys: Any
    values: Any
    counts: Any


def segment_reduce(
    x: Any,
    offsets: Any = None,
    *,
    op: str = "add",
    keys: Any = None,
    initial: Any = None,
    dtype: Any = None,
    key: str | None = None,
) -> Any:
    """The fold of each segment of ``x`` along its first axis.

    Each result has the bits of :func:`warpfold.reduce` for its segment alone, wherever that lies.
    Empty segments give the identity. Integers keep their dtype and wrap; ``dtype`` names another.

    Parameters
    ----------
    x : array of one axis or more; of more, columns are folded by themselves
    offsets : array of n + 1 integers that do not fall: segment ``i`` is
        ``x[offsets[i]:offsets[i + 1]]``. Items before the first and behind the last are in none
    op : operator, as in :func:`warpfold.reduce`
    keys : array of one axis, instead of ``offsets``: each run of equal neighbours is a segment. NaN
        is equal to nothing
    initial : number that each fold begins with
    dtype : dtype in which it is folded
    key : name of what is folded of each item, as in :func:`warpfold.sum`

    Returns
    -------
    An array with as many rows as there are segments.

    Raises
    ------
    ValueError
        If offsets fall, are negative, or pass the end; if there are not as many keys as items.
    TypeError
        If there are neither offsets nor keys, or both.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.segment_reduce([1, 2, 3, 4, 5], [0, 2, 2, 5])
    array([ 3,  0, 12])
    >>> warpfold.segment_reduce([1, 2, 3, 4, 5], op="max", keys=[7, 7, 3, 3, 7])
    array([2, 4, 5])
    """
    library = _gpu.library_of(x)
    if library is not None:
        _gpu.refuse(key=key)
        return _gpu.segment_reduce(x, library, offsets, op, keys, initial, dtype)
    array, code, wrap = native(x)
    array, code = mapped(array, code, key)
    to, name, start = _form(code, op, initial, dtype)
    bounds = _bounds(array, offsets, keys)
    if to != code:
        array = _as_dtype(array, code, to)
    return wrap(_reduce(array, to, operator_on(name, to), bounds, start))


def segment_scan(
    x: Any,
    offsets: Any = None,
    *,
    op: str = "add",
    keys: Any = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: Any = None,
    dtype: Any = None,
    key: str | None = None,
) -> Any:
    """The running folds of each segment of ``x``, which has one axis.

    Each segment has the bits of :func:`warpfold.scan` for it alone. Items of no segment stay as
    they are. Other parameters are those of :func:`segment_reduce` and :func:`warpfold.cumsum`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.segment_scan([1, 2, 3, 4, 5], [0, 2, 2, 5])
    array([ 1,  3,  3,  7, 12])
    """
    array, code, wrap = vector(x, "x")
    array, code = mapped(array, code, key)
    to, name, start = _form(code, op, initial, dtype)
    bounds = _bounds(array, offsets, keys)
    if to != code:
        array = _as_dtype(array, code, to)
    form = (bool(exclusive), bool(reverse))
    return wrap(_native.segment_scan(array, to, operator_on(name, to), bounds, form, start))


def _reduce(
    array: np.ndarray[Any, Any],
    code: int,
    op: str,
    bounds: np.ndarray[Any, Any],
    start: bytes | None,
) -> np.ndarray[Any, Any]:
    """The folds of segments of rows, which may have no columns."""
    if 0 in array.shape[1:]:
        rows = np.zeros(len(array), np.uint8)
        _native.segment_reduce(rows, U8, "add", bounds, None)  # checks them
        return np.empty((len(bounds) - 1, *array.shape[1:]), DTYPES[code])
    folds: np.ndarray[Any, Any] = _native.segment_reduce(array, code, op, bounds, start)
    return folds


def _form(code: int, op: str, initial: Any, dtype: Any) -> tuple[int, str, bytes | None]:
    name = operator_of(op)
    to = code if dtype is None else code_of(dtype)
    return to, name, None if initial is None else initial_bytes(initial, to)


def _bounds(array: np.ndarray[Any, Any], offsets: Any, keys: Any) -> np.ndarray[Any, Any]:
    """Offsets as uint64."""
    if array.ndim == 0:
        raise ValueError("x has no axis to cut")
    if (offsets is None) == (keys is None):
        raise TypeError("give either offsets or keys")
    if keys is not None:
        by, code, _ = vector(keys, "keys")
        if len(by) != len(array):
            raise ValueError(f"there are {len(by)} keys for {len(array)} items")
        runs: np.ndarray[Any, Any] = _native.runs(by, code)
        return runs
    given, code, _ = vector(offsets, "offsets")
    if given.dtype.kind not in "iu" or code == BF16:
        raise TypeError(f"offsets are of dtype {given.dtype}; they must be integers")
    if given.dtype.kind == "i" and given.size:
        least = int(_native.reduce(given, code, "minimum", None, code, None))
        if least < 0:
            raise ValueError(f"an offset is negative: {least}")
    return given.astype(np.uint64, copy=False)


def _equal_bits(keys: np.ndarray[Any, Any], code: int) -> tuple[np.ndarray[Any, Any], int]:
    """Integers that are equal where keys are one: zeros of both signs, and all NaN."""
    unsigned = {1: U8, 2: U16, 4: U32, 8: U64}[keys.itemsize]
    bits = keys.view(DTYPES[unsigned])
    if not IS_FLOAT[code]:
        return bits, unsigned
    # As integers, for bfloat16's sake. Less the sign, what is greater than infinity is NaN.
    magnitudes = bits << 1
    infinity = np.asarray(np.inf, np.float32 if code == BF16 else DTYPES[code])
    infinity = infinity.view(f"uint{8 * infinity.itemsize}")
    greatest = (infinity >> 16 if code == BF16 else infinity).astype(bits.dtype) << 1
    bits = np.where(magnitudes == 0, magnitudes, bits)
    return np.where(magnitudes > greatest, ~np.zeros(1, bits.dtype), bits), unsigned


def reduce_by_key(keys: Any, values: Any, op: str = "add") -> ReduceByKey:
    """The key and the fold of each run of equal neighbouring keys.

    Runs of one key that do not lie side by side are not joined: :func:`group_by` does. NaN is equal
    to nothing, so each is a run. Values may have more axes than one.

    Returns
    -------
    ``(keys, values)``, one of each for a run.

    Raises
    ------
    ValueError
        If there are not as many keys as values.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.reduce_by_key([1, 1, 2, 1], [10, 20, 30, 40])
    ReduceByKey(keys=array([1, 2, 1]), values=array([30, 30, 40]))
    """
    by, by_code, wrap_keys = vector(keys, "keys")
    array, code, wrap = native(values, "values")
    bounds = _bounds(array, None, by if by_code != BF16 else by.view(DTYPES[BF16]))
    folds = _reduce(array, code, operator_on(operator_of(op), code), bounds, None)
    firsts = _native.take(by, by_code, bounds[:-1].view(np.int64))
    return ReduceByKey(wrap_keys(firsts), wrap(folds))


def group_by(keys: Any, values: Any, op: str = "add") -> GroupBy:
    """The fold of the values of each key, over keys in any order.

    Each fold has the bits of :func:`warpfold.reduce` for the values of that key alone, in the order
    of the input: ``values[keys == key]``. All NaN are one key, and so are −0 and 0. Values may have
    more axes than one.

    Returns
    -------
    ``(keys, values, counts)``: the distinct keys, sorted, the folds, and the number of values of
    each key.

    Raises
    ------
    ValueError
        If there are not as many keys as values.

    Examples
    --------
    >>> import warpfold
    >>> groups = warpfold.group_by([2, 1, 2], [10.0, 20.0, 30.0])
    >>> groups.keys, groups.values, groups.counts
    (array([1, 2]), array([20., 40.]), array([1, 2]))
    """
    by, by_code, wrap_keys = vector(keys, "keys")
    array, code, wrap = native(values, "values")
    if array.ndim == 0 or len(by) != len(array):
        count = "a number" if array.ndim == 0 else f"{len(array)} values"
        raise ValueError(f"there are {len(by)} keys for {count}")
    name = operator_on(operator_of(op), code)
    places = _native.sort(by, by_code, (False, False), True)
    sorted_ = _native.take(by, by_code, places)
    offsets = _native.runs(*_equal_bits(sorted_, by_code))
    distinct = _native.take(
        sorted_.view(np.uint16) if by_code == BF16 else sorted_,
        by_code,
        offsets[:-1].view(np.int64),
    )
    counts = np.diff(offsets.view(np.int64))
    if array.ndim == 1:
        ordered = _native.take(array, code, places)
        ordered = ordered.view(np.uint16) if code == BF16 else ordered
    else:
        ordered = np.take(array, places, axis=0)
    folds = _reduce(ordered, code, name, offsets, None)
    return GroupBy(wrap_keys(distinct), wrap(folds), wrap_keys(counts))
