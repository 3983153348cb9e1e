"""Reductions: sums, extremes, means, counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _gpu, _native
from ._arrays import Wrap, axes_of, check_lanes, condition_of, flat, mapped, native, put
from ._dtypes import (
    BF16,
    BOOL,
    DTYPES,
    F64,
    IS_FLOAT,
    READ_AS,
    WIDE,
    code_of,
    initial_bytes,
    operator_of,
    operator_on,
)

_reduce = _native.reduce

#: From so many bytes on, folds and scans in one piece are streams. Below, a call is short.
LONG = 1 << 28


def sum(
    x: Any,
    axis: Any = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    key: str | None = None,
    out: Any = None,
) -> Any:
    """The sum of all items, or along axes: ``numpy.sum``.

    Integers and bool add up in 64 bits (unsigned ones in ``uint64``) and wrap; floats in their
    dtype. float16 and bfloat16 add up in float32 and are rounded once. The bits depend on the
    values and their order alone, not on strides, threads or the machine.

    Parameters
    ----------
    x : array of any shape
    axis : int, tuple of int, or None for all items
    dtype : dtype of the result
    keepdims : whether the axes stay, with length 1
    initial : number that the fold begins with
    where : bool array that broadcasts to the shape of ``x``, or a comparison and a number, as in
        :func:`warpfold.select`: adds up these items alone, with the bits of ``sum(x[where])``
    key : name of what is added up of each item, by NumPy's function of that name: ``"abs"``,
        ``"isfinite"``, ``"isinf"``, ``"isnan"``, ``"negative"``, ``"sqrt"`` or ``"square"``. The
        square of an int8 is an int8, and wraps. It takes the memory of an array
    out : array for the result

    Returns
    -------
    A scalar, or an array without the axes. The sum of nothing is 0.

    Raises
    ------
    TypeError
        If the dtype is none of numbers.
    numpy.exceptions.AxisError
        If there is no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold
    >>> warpfold.sum(np.array([100, 100, 100], "int8"))
    np.int64(300)
    >>> warpfold.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
    array([4., 6.])
    >>> warpfold.sum([1.0, np.nan, 2.0], where=[True, False, True])
    np.float64(3.0)
    >>> warpfold.sum([1.0, -5.0, 2.0], where=(">", 0))
    np.float64(3.0)
    >>> warpfold.sum([3.0, -4.0], key="square")
    np.float64(25.0)
    """
    return _fold("add", x, axis, dtype, keepdims, initial, where, key, out, True)


def prod(
    x: Any,
    axis: Any = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    key: str | None = None,
    out: Any = None,
) -> Any:
    """The product of all items, or along axes: ``numpy.prod``. Otherwise as :func:`sum`.

    The product of nothing is 1.

    Examples
    --------
    >>> import numpy as np, warpfold
    >>> warpfold.prod(np.array([2, 3, 4], "uint8"))
    np.uint64(24)
    """
    return _fold("multiply", x, axis, dtype, keepdims, initial, where, key, out, True)


def min(
    x: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    key: str | None = None,
    out: Any = None,
) -> Any:
    """The least item, or those along axes: ``numpy.min``.

    NaN if there is one. −0 is less than 0. Parameters are those of :func:`sum`.

    Raises
    ------
    ValueError
        If there are no items and no ``initial``.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.min([[3, 1], [2, 5]], axis=1)
    array([1, 2])
    """
    return _fold("minimum", x, axis, None, keepdims, initial, where, key, out, False)


def max(
    x: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    key: str | None = None,
    out: Any = None,
) -> Any:
    """The greatest item, or those along axes: ``numpy.max``. Otherwise as :func:`min`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.max([0.5, float("nan"), 2.0])
    np.float64(nan)
    """
    return _fold("maximum", x, axis, None, keepdims, initial, where, key, out, False)


def reduce(
    x: Any,
    op: str = "add",
    axis: Any = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    key: str | None = None,
    out: Any = None,
) -> Any:
    """The fold of all items, or along axes, by an operator, in the dtype of ``x``.

    ``op`` is ``"add"``, ``"multiply"``, ``"minimum"``, ``"maximum"``, ``"bitwise_and"``,
    ``"bitwise_or"`` or ``"bitwise_xor"``. Integers wrap: unlike :func:`sum`, an int8 stays one.
    Other parameters are those of :func:`sum`. The fold of nothing is the identity.

    Examples
    --------
    >>> import numpy as np, warpfold
    >>> warpfold.reduce(np.array([100, 100], "int8"), "add")
    np.int8(-56)
    >>> warpfold.reduce([[12, 10], [6, 3]], "bitwise_and", axis=1)
    array([8, 2])
    """
    name = operator_of(op)
    return _fold(name, x, axis, dtype, keepdims, initial, where, key, out, False, identity=True)


def _fold(
    op: str,
    x: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    key: str | None,
    out: Any,
    wide: bool,
    identity: bool = False,
) -> Any:
    library = _gpu.library_of(x)
    if library is not None:
        _gpu.refuse(where=where, key=key)
        return _gpu.fold(op, x, library, axis, dtype, keepdims, initial, out, wide, identity)
    array, code, wrap = native(x)
    flags = None if where is None else _flags(array, code, where)
    array, code = mapped(array, code, key)
    to = WIDE[code] if wide else code
    if dtype is not None:
        to = code_of(dtype)
    if to != code and (code, to) not in READ_AS:
        array, code = _as_dtype(array, code, to), to
    op = operator_on(op, to)
    along = axes_of(axis, array.ndim)
    needs_items = op in ("minimum", "maximum") and initial is None and not identity
    start = None if initial is None else initial_bytes(initial, to)
    if flags is not None:
        result = _fold_where(op, array, code, along, to, start, flags, needs_items)
    else:
        if needs_items and array.size == 0:
            check_lanes(array.shape, along, op)
        is_whole = along is None or len(along) == array.ndim
        if array.nbytes >= LONG and is_whole and to == code and array.flags.c_contiguous:
            # A stream has the same bits, and lets Ctrl-C end the call.
            folder = _native.Folder(code, op, (False, False), start)
            folder.push(flat(array))
            result = folder.value()
        else:
            result = _reduce(array, code, op, along, to, start)
    return _finish(result, array.ndim, along, keepdims, wrap, out)


def _finish(
    result: Any, ndim: int, along: tuple[int, ...] | None, keepdims: bool, wrap: Wrap, out: Any
) -> Any:
    if keepdims:
        axes = tuple(range(ndim)) if along is None else along
        result = np.expand_dims(result, axes)
    return wrap(result) if out is None else put(result, out)


def _as_dtype(array: np.ndarray[Any, Any], code: int, to: int) -> np.ndarray[Any, Any]:
    """A copy in another dtype, by NumPy's conversion. bfloat16 goes by ml_dtypes."""
    if code == BF16:
        array = array.view(DTYPES[BF16])
    converted = array.astype(DTYPES[to])
    return converted.view(np.uint16) if to == BF16 else converted


def _flags(array: np.ndarray[Any, Any], code: int, where: Any) -> np.ndarray[Any, Any]:
    """The flag of each item."""
    flags = condition_of(array, code, where)
    try:
        return np.broadcast_to(flags, array.shape)
    except ValueError:
        raise ValueError(f"where is of shape {flags.shape}, and x of {array.shape}") from None


def _fold_where(
    op: str,
    array: np.ndarray[Any, Any],
    code: int,
    along: tuple[int, ...] | None,
    to: int,
    start: bytes | None,
    mask: np.ndarray[Any, Any],
    needs_items: bool,
) -> Any:
    """Folds what is left of each lane, by itself."""
    axes = range(array.ndim) if along is None else along
    kept = [i for i in range(array.ndim) if i not in axes]
    shape = tuple(array.shape[i] for i in kept)
    order = (*kept, *axes)
    lanes, items = math.prod(shape), math.prod(array.shape[i] for i in axes)
    rows = mask.transpose(order).reshape(lanes, items)
    values = _native.compress(rows.reshape(-1), array.transpose(order).reshape(-1), code)
    counts = _native.count_nonzero(rows, BOOL, [1])
    if needs_items and lanes and not counts.all():
        raise ValueError(
            f"zero-size array to reduction operation {op} which has no identity: "
            "where leaves no items; give initial"
        )
    offsets = np.zeros(lanes + 1, np.uint64)
    np.cumsum(counts, out=offsets[1:].view(np.int64))
    if to != code:
        values = _as_dtype(values, code, to)
    if to == BF16:
        values = values.view(np.uint16)
    folds = _native.segment_reduce(values, to, op, offsets, start)
    return folds.reshape(shape)[()]


def argmin(x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """Where the least item stands, the first of equals: ``numpy.argmin``.

    The first NaN if there is one. −0 and 0 are equal. Without an axis, places are those in C's
    order. int64.

    Raises
    ------
    ValueError
        If there are no items.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.argmin([3, 1, 2, 1])
    np.int64(1)
    """
    return _arg(False, x, axis, keepdims, out)


def argmax(x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """Where the greatest item stands, the first of equals. Otherwise as :func:`argmin`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.argmax([[3, 1], [2, 5]], axis=1)
    array([0, 1])
    """
    return _arg(True, x, axis, keepdims, out)


def _arg(greatest: bool, x: Any, axis: Any, keepdims: bool, out: Any) -> Any:
    library = _gpu.library_of(x)
    if library is not None:
        return _gpu.arg(greatest, x, library, axis, keepdims, out)
    array, code, wrap = native(x)
    along = axes_of(axis, array.ndim)
    if along is not None and len(along) != 1:
        raise TypeError(f"axis is {axis!r}; it must be an int or None")
    if array.size == 0:
        check_lanes(array.shape, along, "argmax" if greatest else "argmin")
    result = _native.arg_extreme(array, code, greatest, along)
    return _finish(result, array.ndim, along, keepdims, wrap, out)


def mean(
    x: Any, axis: Any = None, *, dtype: Any = None, keepdims: bool = False, out: Any = None
) -> Any:
    """The mean of all items, or along axes: ``numpy.mean``.

    It is computed in float64, and rounded to the dtype of the result: that of ``x``, and float64
    for integers. (bfloat16 is rounded to float32 before.) Of finite items it is finite. The mean of
    nothing is NaN, without a warning. Axes other than the last ones are copied first.

    Parameters are those of :func:`sum`; ``dtype`` must be of floats.

    Examples
    --------
    >>> import numpy as np, warpfold
    >>> warpfold.mean(np.array([1, 2, 4], "int8"))
    np.float64(2.3333333333333335)
    >>> warpfold.mean(np.full(100, 60000, "float16"))
    np.float16(6e+04)
    """
    return _moments("mean", x, axis, 0, dtype, keepdims, out)


def var(
    x: Any,
    axis: Any = None,
    *,
    correction: float | None = None,
    ddof: float | None = None,
    dtype: Any = None,
    keepdims: bool = False,
    out: Any = None,
) -> Any:
    """The variance of all items, or along axes: ``numpy.var``.

    Squared deviations are divided by the number of items less ``correction`` (or ``ddof``), 0 by
    default. Equal items have a variance of exactly 0, and items far from 0 keep their digits.
    Otherwise as :func:`mean`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.var([1.0, 2.0, 6.0], correction=1)
    np.float64(7.0)
    """
    return _moments("var", x, axis, _correction(correction, ddof), dtype, keepdims, out)


def std(
    x: Any,
    axis: Any = None,
    *,
    correction: float | None = None,
    ddof: float | None = None,
    dtype: Any = None,
    keepdims: bool = False,
    out: Any = None,
) -> Any:
    """The standard deviation: ``numpy.std``. Otherwise as :func:`var`.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.std([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    np.float64(2.0)
    """
    return _moments("std", x, axis, _correction(correction, ddof), dtype, keepdims, out)


def _correction(correction: float | None, ddof: float | None) -> float:
    if correction is not None and ddof is not None:
        raise ValueError("correction and ddof are one thing: give one of them")
    given = ddof if correction is None else correction
    return 0.0 if given is None else float(given)


def _moments(
    what: str, x: Any, axis: Any, correction: float, dtype: Any, keepdims: bool, out: Any
) -> Any:
    library = _gpu.library_of(x)
    if library is not None:
        return _gpu.moments(what, x, library, axis, correction, dtype, keepdims, out)
    array, code, wrap = native(x)
    along = axes_of(axis, array.ndim)
    to = code if IS_FLOAT[code] else F64
    if dtype is not None:
        to = code_of(dtype)
        if not IS_FLOAT[to]:
            raise TypeError(f"dtype is {DTYPES[to]}; a {what} is a float")
    result = _native.moments(array, code, what, along, correction)
    if to != F64:
        result = result.astype(DTYPES[to]) if to != BF16 else _bfloat16(result)
    return _finish(result, array.ndim, along, keepdims, wrap, out)


def _bfloat16(result: Any) -> Any:
    """float64 as bfloat16, by way of float32."""
    bits = np.asarray(result, np.float64).astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    is_nan = bits & 0x7FFFFFFF > 0x7F800000
    return np.where(is_nan, 0x7FC0, rounded).astype(np.uint16).view(DTYPES[BF16])[()]


def count_nonzero(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many items are not 0: ``numpy.count_nonzero``. NaN is not 0, and −0 is. int64.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.count_nonzero([[0.0, -0.0, 2.0], [float("nan"), 1.0, 0.0]], axis=1)
    array([1, 2])
    """
    library = _gpu.library_of(x)
    if library is not None:
        return _gpu.count_nonzero(x, library, axis, keepdims)
    array, code, wrap = native(x)
    along = axes_of(axis, array.ndim)
    result = _native.count_nonzero(array, code, along)
    return _finish(result, array.ndim, along, keepdims, wrap, None)


def any(x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """Whether any item is not 0: ``numpy.any``. Of nothing it is false.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.any([[0, 0], [0, 7]], axis=1)
    array([False,  True])
    """
    return _truth(False, x, axis, keepdims, out)


def all(x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """Whether all items are other than 0: ``numpy.all``. Of nothing it is true.

    Examples
    --------
    >>> import warpfold
    >>> warpfold.all([1, 2, 0])
    np.False_
    """
    return _truth(True, x, axis, keepdims, out)


def _truth(every: bool, x: Any, axis: Any, keepdims: bool, out: Any) -> Any:
    library = _gpu.library_of(x)
    if library is not None:
        return _gpu.truth(every, x, library, axis, keepdims, out)
    array, code, wrap = native(x)
    along = axes_of(axis, array.ndim)
    if along is None:
        result = np.bool_(_native.truth(array, code, every))
    else:
        counts = _native.count_nonzero(array, code, along)
        lane = math.prod(array.shape[i] for i in along)
        result = counts == lane if every else counts > 0
    return _finish(result, array.ndim, along, keepdims, wrap, out)
