"""Scans: running sums and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _gpu, _native
from ._arrays import axis_of, flat, mapped, native, put, writable
from ._dtypes import (
    BF16,
    CODES,
    DTYPES,
    READ_AS,
    WIDE,
    code_of,
    initial_bytes,
    operator_of,
    operator_on,
)
from ._reductions import LONG, _as_dtype


def cumsum(
    x: Any,
    axis: Any = None,
    *,
    dtype: Any = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: Any = None,
    key: str | None = None,
    out: Any = None,
) -> Any:
    """Running sums along an axis: ``numpy.cumsum``.

    Dtypes are those of :func:`warpfold.sum`, and the last running sum has its bits. float16 and
    bfloat16 add up in float32: running sums of ones go on beyond 2048.

    Parameters
    ----------
    x : array of any shape
    axis : int; ``None`` takes all items in C's order, and gives one axis
    dtype : dtype of the result
    exclusive : whether each item is left out of its own sum: the first one is 0
    reverse : whether sums run from the last item to the first
    initial : number that the sums begin with
    key : name of what is added up of each item, as in :func:`warpfold.sum`
    out : array for the result; it may be ``x``

    Returns
    -------
    An array of the shape of ``x``.

    Raises
    ------
    TypeError
        If the dtype is none of numbers.
    numpy.exceptions.AxisError
        If there is no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold
    >>> warpfold.cumsum([3, 1, 7])
    array([ 3,  4, 11])
    >>> warpfold.cumsum([3, 1, 7], exclusive=True)
    array([0, 3, 4])
    >>> warpfold.cumsum(np.ones(5000, "float16"))[-1]
    np.float16(5e+03)
    """
    return _scan("add", x, axis, dtype, exclusive, reverse, initial, key, out, True)


def cumprod(
    x: Any,
    axis: Any = None,
    *,
    dtype: Any = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: Any = None,
    key: str | None = None,
    out: Any = None,
) -> Any:
    """Running products along an axis: ``numpy.cumprod``. Otherwise as :func:`cumsum`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.cumprod([1.0, 2.0, 3.0])
    array([1., 2., 6.])
    """
    return _scan("multiply", x, axis, dtype, exclusive, reverse, initial, key, out, True)


def scan(
    x: Any,
    op: str = "add",
    axis: Any = None,
    *,
    dtype: Any = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: Any = None,
    key: str | None = None,
    out: Any = None,
) -> Any:
    """The running folds by an operator, in the dtype of ``x``: ``numpy.ufunc.accumulate``.

    Operators are those of :func:`warpfold.reduce`, and other parameters those of :func:`cumsum`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.scan([3, 1, 7, 0], "maximum")
    array([3, 3, 7, 7])
    >>> warpfold.scan([3, 1, 7, 0], "minimum", reverse=True)
    array([0, 0, 0, 0])
    """
    name = operator_of(op)
    return _scan(name, x, axis, dtype, exclusive, reverse, initial, key, out, False)


def cumulative_sum(
    x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False, out: Any = None
) -> Any:
    """Running sums: the array API's ``cumulative_sum``. Dtypes are those of :func:`cumsum`.

    With ``include_initial`` there is a 0 before the first sum, and the axis is one longer. ``axis``
    may be left away for arrays of one axis alone.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.cumulative_sum([3, 1, 7], include_initial=True)
    array([ 0,  3,  4, 11])
    """
    return _cumulative("add", 0, x, axis, dtype, include_initial, out)


def cumulative_prod(
    x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False, out: Any = None
) -> Any:
    """Running products: the array API's ``cumulative_prod``. As :func:`cumulative_sum`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.cumulative_prod([3, 2], include_initial=True)
    array([1, 3, 6])
    """
    return _cumulative("multiply", 1, x, axis, dtype, include_initial, out)


def _cumulative(
    op: str, first: int, x: Any, axis: Any, dtype: Any, include_initial: bool, out: Any
) -> Any:
    if _gpu.library_of(x) is not None:
        if include_initial:
            raise TypeError("include_initial is not there for arrays on a GPU: leave it away")
        if axis is None and len(x.shape) != 1:
            raise ValueError(f"x has {len(x.shape)} axes: give axis")
        return _scan(op, x, axis, dtype, False, False, None, None, out, True)
    array, code, wrap = native(x)
    if array.ndim == 0:
        raise ValueError("x has no axis to go along")
    if axis is None and array.ndim != 1:
        raise ValueError(f"x has {array.ndim} axes: give axis")
    along = axis_of(0 if axis is None else axis, array.ndim)
    if not include_initial:
        return _scan(op, x, along, dtype, False, False, None, None, out, True)
    to = WIDE[code] if dtype is None else code_of(dtype)
    shape = list(array.shape)
    shape[along] += 1
    result = np.empty(shape, DTYPES[to])
    before, rest = [slice(None)] * array.ndim, [slice(None)] * array.ndim
    before[along], rest[along] = slice(0, 1), slice(1, None)
    result[tuple(before)] = first
    if array.ndim == 1 and to != BF16:
        _run(op, array, code, 0, to, (False, False), None, result[1:])
    else:
        result[tuple(rest)] = _run(op, array, code, along, to, (False, False), None, None)
    return wrap(result) if out is None else put(result, out)


def _scan(
    op: str,
    x: Any,
    axis: Any,
    dtype: Any,
    exclusive: bool,
    reverse: bool,
    initial: Any,
    key: str | None,
    out: Any,
    wide: bool,
) -> Any:
    form = (bool(exclusive), bool(reverse))
    library = _gpu.library_of(x)
    if library is not None:
        _gpu.refuse(key=key)
        return _gpu.scan(op, x, library, axis, dtype, form, initial, out, wide)
    array, code, wrap = native(x)
    array, code = mapped(array, code, key)
    to = WIDE[code] if wide else code
    if dtype is not None:
        to = code_of(dtype)
    if axis is None:
        array, along = flat(array), 0
    else:
        along = axis_of(axis, array.ndim)
    start = None if initial is None else initial_bytes(initial, to)
    if out is None:
        return wrap(_run(op, array, code, along, to, form, start, None))
    target = writable(out)
    if (
        target.ndim == 1
        and target.shape == array.shape
        and CODES.get(target.dtype) == to
        and target.flags.c_contiguous
        and target.flags.aligned
        and not np.may_share_memory(target, array)
    ):
        _run(op, array, code, along, to, form, start, target)
        return out
    return put(_run(op, array, code, along, to, form, start, None), out)


def _run(
    op: str,
    array: np.ndarray[Any, Any],
    code: int,
    along: int,
    to: int,
    form: tuple[bool, bool],
    start: bytes | None,
    output: np.ndarray[Any, Any] | None,
) -> Any:
    if to != code and (code, to) not in READ_AS:
        array, code = _as_dtype(array, code, to), to
    if array.nbytes >= LONG and array.ndim == 1 and to == code and not form[1]:
        # A stream has the same bits, and lets Ctrl-C end the call.
        folder = _native.Folder(code, operator_on(op, to), form, start)
        return folder.scan(array, output)
    return _native.scan(array, code, operator_on(op, to), along, to, form, start, output)
