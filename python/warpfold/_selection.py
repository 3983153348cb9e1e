"""Selection: items by flags or by a comparison, and their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _gpu, _native
from ._arrays import axis_of, condition_of, flat, native
from ._dtypes import BF16, BOOL, DTYPES


def nonzero(x: Any) -> tuple[Any, ...]:
    """The places of the items that are not 0: ``numpy.nonzero``.

    A tuple of int64 arrays, one for each axis, in C's order. NaN is not 0, and −0 is.

    Raises
    ------
    ValueError
        If ``x`` has no axis.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.nonzero([[0, 2], [3, 0]])
    (array([0, 1]), array([1, 0]))
    """
    library = _gpu.library_of(x)
    if library is not None:
        return _gpu.nonzero(x, library)
    array, code, wrap = native(x)
    if array.ndim == 0:
        raise ValueError("x is a number, which has no axes: take an array")
    places = _native.positions(flat(array), code)
    if array.ndim == 1:
        return (wrap(places),)
    return tuple(wrap(part) for part in np.unravel_index(places, array.shape))


def flatnonzero(x: Any) -> Any:
    """The places in C's order of the items that are not 0: ``numpy.flatnonzero``. int64.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.flatnonzero([[0, 2], [3, 0]])
    array([1, 2])
    """
    library = _gpu.library_of(x)
    if library is not None:
        return _gpu.flatnonzero(x, library)
    array, code, wrap = native(x)
    return wrap(_native.positions(flat(array), code))


def compress(condition: Any, x: Any, axis: int | None = None) -> Any:
    """The slices along an axis for which a flag is set: ``numpy.compress``.

    ``condition`` has one axis. It may be shorter than the axis of ``x``: then the rest is left out.
    Without ``axis`` slices are the items in C's order.

    Raises
    ------
    ValueError
        If ``condition`` has a flag behind the end of the axis.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.compress([True, False, True], [1, 2, 3])
    array([1, 3])
    """
    library = _gpu.library_of(x)
    if library is not None:
        if axis is not None and len(x.shape) != 1:
            raise TypeError("axis is not there for arrays on a GPU: take nonzero, and index by it")
        return _gpu.compress(condition, x, library)
    flags, flags_code, _ = native(condition, "condition")
    flags = flags.view(DTYPES[BF16]) if flags_code == BF16 else flags
    if flags.ndim != 1:
        raise ValueError(f"condition has {flags.ndim} axes; it must have one")
    flags = flags if flags.dtype == bool else flags != 0
    array, code, wrap = native(x)
    along = None if axis is None else axis_of(axis, array.ndim)
    items = flat(array) if along is None else array
    length = items.shape[along or 0]
    if len(flags) > length:
        if flags[length:].any():
            raise ValueError(f"condition has a flag behind the {length} items of the axis")
        flags = flags[:length]
    if items.ndim == 1:
        return wrap(_native.compress(flags, items[: len(flags)], code))
    places = _native.positions(flags, BOOL)
    taken = np.take(items, places, axis=along)
    return wrap(taken.view(DTYPES[BF16]) if code == BF16 else taken)


def select(x: Any, where: Any) -> Any:
    """The items in C's order that a condition keeps: ``x[where]``.

    Parameters
    ----------
    x : array of any shape
    where : bool array of the shape of ``x``; or a comparison and a number, such as ``(">", 0.5)``:
        one of ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, compared as NumPy does

    Raises
    ------
    TypeError
        If the condition is neither.
    ValueError
        If it has another shape.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.select([3, 1, 7, 0], (">", 2))
    array([3, 7])
    >>> warpfold.select([3, 1, 7, 0], [True, True, False, False])
    array([3, 1])
    """
    library = _gpu.library_of(x)
    if library is not None:
        return _gpu.select(x, library, where)
    array, code, wrap = native(x)
    flags = condition_of(array, code, where)
    if flags.shape != array.shape:
        raise ValueError(f"where is of shape {flags.shape}, and x of {array.shape}")
    return wrap(_native.compress(flat(flags), flat(array), code))
