"""Sorts, top-k, search, and distinct items."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _gpu, _native
from ._arrays import axis_of, flat, mapped, native, put, vector
from ._dtypes import BF16, CODES, DTYPES, I64, IS_FLOAT


class TopK(NamedTuple):
    """What :func:`topk` gives."""

    values: Any
    indices: Any


class UniqueCounts(NamedTuple):
    """What :func:`unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What :func:`unique_inverse` gives."""

    values: Any
    inverse_indices: Any


class UniqueAll(NamedTuple):
    """What :func:`unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


def _direction(descending: bool, nan: str) -> tuple[bool, bool]:
    if nan not in ("greatest", "last"):
        raise ValueError(f"nan is {nan!r}; it must be 'greatest' or 'last'")
    return bool(descending), nan == "last"


def sort(
    x: Any,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    nan: str = "greatest",
    key: str | None = None,
    out: Any = None,
) -> Any:
    """The items sorted along an axis: ``numpy.sort``.

    Sorts are always stable; ``stable`` is there for the array API. −0 and 0 are equal, and so are
    all NaN: equals stay in their order, also with ``descending``.

    Parameters
    ----------
    x : array of any shape
    axis : int; ``None`` sorts all items, and gives one axis
    descending : whether the greatest comes first
    nan : ``"greatest"``: NaN comes last in an ascending order, and first in a descending one.
        ``"last"``: it comes last in both, as in pandas and Arrow
    key : name of what the items are sorted by, as in :func:`warpfold.sum`
    out : array for the result

    Raises
    ------
    TypeError
        If the dtype is none of numbers.
    numpy.exceptions.AxisError
        If there is no such axis.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.sort([3, 1, 2], descending=True)
    array([3, 2, 1])
    >>> warpfold.sort([2.0, float("nan"), 1.0])
    array([ 1.,  2., nan])
    >>> warpfold.sort([-3, 2, 1], key="abs")
    array([ 1,  2, -3])
    """
    direction = _direction(descending, nan)
    library = _gpu.library_of(x)
    if library is not None:
        _gpu.refuse(key=key)
        return _gpu.sort(x, library, axis, direction, False, out)
    array, code, wrap = native(x)
    if key is None:
        result = _along_last(array, axis, lambda rows: _native.sort(rows, code, direction, False))
    else:
        result = _by_key(array, code, axis, direction, key)
    return wrap(result) if out is None else put(result, out)


def argsort(
    x: Any,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    nan: str = "greatest",
    key: str | None = None,
) -> Any:
    """The places of the sorted items along an axis: ``numpy.argsort`` with ``kind="stable"``.

    int64. Parameters are those of :func:`sort`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.argsort([3, 1, 2, 1])
    array([1, 3, 2, 0])
    >>> warpfold.argsort([3, 1, 2, 1], descending=True)
    array([0, 2, 1, 3])
    """
    direction = _direction(descending, nan)
    library = _gpu.library_of(x)
    if library is not None:
        _gpu.refuse(key=key)
        return _gpu.sort(x, library, axis, direction, True, None)
    array, code, wrap = native(x)
    array, code = mapped(array, code, key)
    return wrap(_along_last(array, axis, lambda rows: _native.sort(rows, code, direction, True)))


def _by_key(
    array: np.ndarray[Any, Any], code: int, axis: int | None, direction: tuple[bool, bool], key: str
) -> Any:
    """The items in the order of their keys."""
    keys, key_code = mapped(array, code, key)
    places = _along_last(keys, axis, lambda rows: _native.sort(rows, key_code, direction, True))
    items = flat(array) if axis is None else array
    taken = np.take_along_axis(items, places, 0 if axis is None else axis)
    return taken.view(DTYPES[BF16]) if code == BF16 else taken


def _along_last(array: np.ndarray[Any, Any], axis: int | None, work: Any) -> Any:
    """The work along the last axis, with another one brought there and back."""
    if axis is None:
        return work(flat(array))
    along = axis_of(axis, array.ndim)
    if along == array.ndim - 1:
        return work(array)
    return np.moveaxis(work(np.moveaxis(array, along, -1)), -1, along)


def topk(x: Any, k: int, axis: int = -1, *, largest: bool = True, nan: str = "greatest") -> TopK:
    """The ``k`` greatest items along an axis, and their places: ``torch.topk``.

    They are sorted, the greatest first (with ``largest=False`` the least), and of equals the first
    come first: it is the beginning of the stable sort.

    Parameters
    ----------
    x : array of at least one axis
    k : number of items, at most the length of the axis
    axis : int
    largest : whether the greatest are wanted
    nan : as in :func:`sort`: with ``"last"`` NaN is taken only where numbers run out

    Returns
    -------
    ``(values, indices)``; the indices are int64.

    Raises
    ------
    ValueError
        If the axis has fewer than ``k`` items.

    Examples
    --------
    >>> import warpfold
    >>> values, indices = warpfold.topk([3, 9, 4, 9, 1], 3)
    >>> values, indices
    (array([9, 9, 4]), array([1, 3, 2]))
    """
    last = _direction(largest, nan)[1]
    count = _index(k, "k")
    library = _gpu.library_of(x)
    if library is not None:
        return TopK(*_gpu.topk(x, library, count, axis, bool(largest), last))
    array, code, wrap = native(x)
    along = axis_of(axis, array.ndim)
    if not 0 <= count <= array.shape[along]:
        raise ValueError(f"k is {count}, but axis {axis} has {array.shape[along]} items")
    # `moveaxis` takes longer than the rest of a short call.
    is_last = along == array.ndim - 1
    rows = array if is_last else np.moveaxis(array, along, -1)
    values, places = _native.topk(rows, code, count, bool(largest), last)
    if not is_last:
        values, places = np.moveaxis(values, -1, along), np.moveaxis(places, -1, along)
    return TopK(wrap(values), wrap(places))


def _index(value: Any, name: str) -> int:
    try:
        return int(np.asarray(value).__index__())
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer") from None


def partition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """The items along an axis with those at places ``kth`` where a sort has them, no greater ones
    before and no less ones behind: ``numpy.partition``.

    What is less than such an item stays in its order, and so do its equals, and what is greater:
    so there is one result. Takes O(n) along one axis for up to 32 places.

    Raises
    ------
    ValueError
        If ``kth`` is no place of the axis.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.partition([9, 3, 8, 1, 2], 1)
    array([1, 2, 9, 3, 8])
    """
    array, code, wrap = native(x)
    len_ = array.size if axis is None else array.shape[axis_of(axis, array.ndim)]
    places = set()
    for place in np.atleast_1d(np.asarray(kth)):
        at = _index(place, "kth")
        if not -len_ <= at < len_:
            raise ValueError(f"kth is {at}, but there are {len_} items")
        places.add(at % len_)
    wanted = sorted(places)
    return wrap(_along_last(array, axis, lambda rows: _partition(rows, code, wanted)))


def _partition(rows: np.ndarray[Any, Any], code: int, places: list[int]) -> Any:
    """Rows in the order of their classes: less than the first pivot, equal to it, and so on."""
    if rows.ndim == 1 and len(places) <= _FEW:
        return _partition_one(rows, code, places)
    pivots = _native.sort(rows, code, (False, False), False)[..., places]
    classes = np.zeros(rows.shape, np.int64)
    for i in range(len(places)):
        above, not_below = _beside_pivot(rows, pivots[..., i : i + 1], code)
        classes += above
        classes += not_below
    order = _native.sort(classes, I64, (False, False), True)
    taken = np.take_along_axis(rows, order, -1)
    return taken.view(DTYPES[BF16]) if code == BF16 else taken


#: For so many places items are selected. For more they are sorted.
_FEW = 8


def _partition_one(rest: np.ndarray[Any, Any], code: int, places: list[int]) -> Any:
    parts = []
    for pivot in _native.nths(rest, code, places):
        above, not_below = _beside_pivot(rest, pivot, code)
        for flags in (~not_below, not_below & ~above):
            parts.append(_native.compress(flags, rest, code))
        rest = _native.compress(above, rest, code)
        rest = rest.view(np.uint16) if code == BF16 else rest
    return np.concatenate([*parts, rest.view(DTYPES[code])])


def _beside_pivot(x: np.ndarray[Any, Any], pivot: Any, code: int) -> tuple[Any, Any]:
    """Whether items are greater than a pivot, and whether they are not less. NaN is greatest."""
    if code == BF16:
        x, pivot = _widened(x), _widened(np.asarray(pivot).view(np.uint16))
    if not IS_FLOAT[code]:
        return x > pivot, x >= pivot
    is_nan = np.isnan(x)
    return (x > pivot) | (is_nan & ~np.isnan(pivot)), (x >= pivot) | is_nan


def _widened(bits: np.ndarray[Any, Any]) -> Any:
    """The bits of bfloat16 as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def searchsorted(
    a: Any,
    v: Any,
    side: str = "left",
    sorter: Any = None,
    *,
    descending: bool = False,
    nan: str = "greatest",
) -> Any:
    """Where items would be inserted into sorted ones: ``numpy.searchsorted``.

    The two are compared in the dtype that NumPy promotes both to. int64, of the shape of ``v``.

    Parameters
    ----------
    a : array of one axis, sorted as by :func:`sort` with the same ``descending`` and ``nan``; in
        another order the result is unspecified
    v : array of any shape
    side : ``"left"``: before equals; ``"right"``: behind them
    sorter : places that sort ``a``, as :func:`argsort` gives them

    Raises
    ------
    TypeError
        If one is int64 and the other uint64: no dtype has the numbers of both.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.searchsorted([1, 2, 2, 3], [2, 0])
    array([1, 0])
    >>> warpfold.searchsorted([1, 2, 2, 3], 2, side="right")
    np.int64(3)
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}; it must be 'left' or 'right'")
    array, code, wrap = vector(a, "a")
    if type(v) is int and array.dtype.kind in "iu" and code != BF16:
        # A number of Python's is of the array's dtype, if it is one.
        info = np.iinfo(array.dtype)
        v = np.asarray(v, array.dtype if info.min <= v <= info.max else None)
    values, values_code, _ = native(v, "v")
    if sorter is not None:
        places = vector(sorter, "sorter")[0]
        array = _native.take(array, code, places.astype(np.int64, casting="safe"))
        array = array.view(np.uint16) if code == BF16 else array
    if code != values_code:
        array, values, code = _common(array, code, values, values_code)
    direction = _direction(descending, nan)
    result = _native.searchsorted(array, values, code, side == "right", direction)
    return wrap(result[()])


def _common(
    a: np.ndarray[Any, Any], a_code: int, b: np.ndarray[Any, Any], b_code: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """Two arrays in the dtype that both are promoted to."""
    if BF16 in (a_code, b_code):
        raise TypeError("one of the arrays is of bfloat16, the other is not: convert one")
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind == "f" and a.dtype.kind in "iu" and b.dtype.kind in "iu":
        raise TypeError(f"{a.dtype} and {b.dtype} have no common dtype of integers: convert one")
    code = CODES[dtype]
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False), code


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The distinct items, sorted: ``numpy.unique``.

    All NaN are one item, and so are −0 and 0: each is shown as it stands first.

    Parameters
    ----------
    x : array of any shape
    return_index : whether to give also where each stands first
    return_inverse : whether to give also which distinct item each item is, in the shape of ``x``
    return_counts : whether to give also how many there are of each

    Returns
    -------
    An array, or a tuple of it and those asked for, all int64.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.unique([3, 1, 3], return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    values, indices, inverse, counts = _unique(x, return_inverse)
    flags = (True, return_index, return_inverse, return_counts)
    parts = [p for p, wanted in zip((values, indices, inverse, counts), flags) if wanted]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _unique(x: Any, with_inverse: bool) -> tuple[Any, Any, Any, Any]:
    array, code, wrap = native(x)
    items = flat(array)
    ascending = (False, False)
    values, counts, indices = _native.unique(items, code, ascending)
    inverse = None
    if with_inverse:
        keys = values.view(np.uint16) if code == BF16 else values
        inverse = _native.searchsorted(keys, items, code, False, ascending).reshape(array.shape)
        inverse = wrap(inverse)
    return wrap(values), wrap(indices), inverse, wrap(counts)


def unique_values(x: Any) -> Any:
    """The array API's ``unique_values``, with NaN as :func:`unique` has it.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.unique_values([2, 1, 2])
    array([1, 2])
    """
    return _unique(x, False)[0]


def unique_counts(x: Any) -> UniqueCounts:
    """The array API's ``unique_counts``, with NaN as :func:`unique` has it.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.unique_counts([2, 1, 2]).counts
    array([1, 2])
    """
    values, _, _, counts = _unique(x, False)
    return UniqueCounts(values, counts)


def unique_inverse(x: Any) -> UniqueInverse:
    """The array API's ``unique_inverse``, with NaN as :func:`unique` has it.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.unique_inverse([2, 1, 2]).inverse_indices
    array([1, 0, 1])
    """
    values, _, inverse, _ = _unique(x, True)
    return UniqueInverse(values, inverse)


def unique_all(x: Any) -> UniqueAll:
    """The array API's ``unique_all``, with NaN as :func:`unique` has it.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.unique_all([2, 1, 2]).indices
    array([1, 0])
    """
    return UniqueAll(*_unique(x, True))
