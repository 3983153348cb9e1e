"""Arrays of other packages as NumPy's, and results as theirs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ._dtypes import BF16, BFLOAT16, CODES, DTYPES, known_code

#: DLPack's devices whose memory the host reads: itself, and what CUDA and ROCm pin.
_HOST_DEVICES = {1, 3, 11}

_COMPARISONS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

_MAPS: dict[str, Any] = {
    "abs": np.abs,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "negative": np.negative,
    "sqrt": np.sqrt,
    "square": np.square,
}

Wrap = Callable[[Any], Any]

_ndarray = np.ndarray
_code_of = CODES.get


def same(result: Any) -> Any:
    """NumPy's arrays are returned as they are."""
    return result


def native(x: Any, name: str = "x") -> tuple[np.ndarray[Any, Any], int, Wrap]:
    """The array, the code of its dtype, and what makes results of the caller's kind."""
    if type(x) is _ndarray:
        code = _code_of(x.dtype)
        if code is not None:
            return x, code, same
    return _from_any(x, name)


def _from_any(x: Any, name: str) -> tuple[np.ndarray[Any, Any], int, Wrap]:
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose mask would be lost: "
            f"take {name}.compressed(), or {name}.data with where=~{name}.mask"
        )
    if isinstance(x, np.ndarray | np.generic):
        return *_native_order(np.asarray(x)), same
    if _is_torch(x):
        return _from_torch(x, name)
    if hasattr(x, "__cuda_array_interface__"):
        raise _elsewhere(name, type(x), "a GPU")
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        check_device(x, name)
        try:
            array = np.from_dlpack(x)
        except (BufferError, RuntimeError):
            # Types that DLPack or NumPy lack.
            array = np.asarray(x)
        return *_native_order(array), _wrap_of(x)
    array = np.asarray(x)
    if array.dtype == object:
        raise TypeError(
            f"{name} is a {type(x).__name__}, of which NumPy makes no array of numbers: "
            f"convert it, as by np.asarray({name}, 'float64')"
        )
    return *_native_order(array), same


def _native_order(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """The array in the machine's byte order, with bfloat16 as the integers of its bits."""
    code = known_code(array.dtype)
    if code == BF16:
        # A view needs items without gaps where the width changes; here it does not.
        return array.astype(BFLOAT16, copy=False).view(np.uint16), code
    return array.astype(DTYPES[code], copy=False), code


def check_device(x: Any, name: str) -> None:
    """An error for memory that the host does not read."""
    kind = int(x.__dlpack_device__()[0])
    if kind not in _HOST_DEVICES:
        raise _elsewhere(name, type(x), "a GPU" if kind in (2, 10, 13) else f"device type {kind}")


def _elsewhere(name: str, kind: type, where: str) -> TypeError:
    return TypeError(
        f"{name} is a {kind.__module__}.{kind.__name__} on {where}: this call takes arrays in "
        "host memory; copy it there first (x.cpu(), cupy.asnumpy(x), jax.device_get(x))"
    )


def _is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _from_torch(x: Any, name: str) -> tuple[np.ndarray[Any, Any], int, Wrap]:
    import torch

    if x.device.type != "cpu":
        raise _elsewhere(name, type(x), f"device {x.device}")
    if x.requires_grad:
        raise TypeError(f"{name} requires a gradient, which is not known here: use {name}.detach()")
    if x.layout != torch.strided:
        raise TypeError(f"{name} is of layout {x.layout}: use {name}.to_dense()")
    x = x.resolve_conj().resolve_neg()
    if x.dtype == torch.bfloat16:
        return x.view(torch.int16).numpy().view(np.uint16), BF16, _to_torch_bfloat16
    array, code = _native_order(x.numpy())
    return array, code, _to_torch


def _to_torch(result: Any) -> Any:
    import torch

    return torch.from_numpy(np.asarray(result))


def _to_torch_bfloat16(result: Any) -> Any:
    """Results of bfloat16 tensors: NumPy has them as integers, or by ml_dtypes."""
    import torch

    array = np.asarray(result)
    if array.dtype != DTYPES[BF16]:
        return _to_torch(array)
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def _wrap_of(x: Any) -> Wrap:
    """What makes results of arrays with a namespace of the array API."""
    if type(x).__module__.partition(".")[0] in ("jax", "jaxlib"):
        return _to_jax
    namespace = getattr(x, "__array_namespace__", None)
    if namespace is None:
        return same
    from_dlpack = namespace().from_dlpack
    return lambda result: from_dlpack(np.asarray(result))


def _to_jax(result: Any) -> Any:
    import jax.numpy as jnp

    array = np.asarray(result)
    converted = jnp.asarray(array)
    if converted.dtype != array.dtype and array.dtype.kind in "iu":
        # Without jax_enable_x64 JAX cuts integers to 32 bits.
        if not np.array_equal(np.asarray(converted), array):
            raise OverflowError(
                f"a result of {array.dtype} does not fit into JAX's {converted.dtype}: "
                "set jax_enable_x64"
            )
    return converted


def axes_of(axis: Any, ndim: int) -> tuple[int, ...] | None:
    """Axes counted from 0, or `None` for all."""
    if axis is None:
        return None
    if not isinstance(axis, tuple | list):
        axis = (axis,)
    for i in axis:
        _check_axis(i)
    return tuple(int(i) for i in normalize_axis_tuple(axis, ndim))


def _check_axis(axis: Any) -> None:
    if isinstance(axis, bool | np.bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"axis is {axis!r}; it must be an integer")


def axis_of(axis: Any, ndim: int) -> int:
    """An axis counted from 0."""
    _check_axis(axis)
    return int(normalize_axis_index(axis, ndim))


def check_lanes(shape: tuple[int, ...], along: tuple[int, ...] | None, op: str) -> None:
    """An error if there are lanes without items: no such lane has a least one."""
    kept = [] if along is None else [n for i, n in enumerate(shape) if i not in along]
    if 0 not in kept:
        raise ValueError(f"zero-size array to reduction operation {op} which has no identity")


def flat(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All items in C's order; a copy if they do not lie so."""
    return array if array.ndim == 1 else array.reshape(-1)


def vector(x: Any, name: str) -> tuple[np.ndarray[Any, Any], int, Wrap]:
    """An array that must have one axis."""
    array, code, wrap = native(x, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} axes; it must have one")
    return array, code, wrap


def mapped(
    array: np.ndarray[Any, Any], code: int, key: str | None
) -> tuple[np.ndarray[Any, Any], int]:
    """What NumPy's function of a name gives of each item."""
    if key is None:
        return array, code
    function = _MAPS.get(key) if isinstance(key, str) else None
    if function is None:
        raise ValueError(f"key is {key!r}; keys are: {', '.join(_MAPS)}")
    return _native_order(np.asarray(function(array.view(DTYPES[BF16]) if code == BF16 else array)))


def condition_of(array: np.ndarray[Any, Any], code: int, where: Any) -> np.ndarray[Any, Any]:
    """The flags that a caller gives, or of a comparison and a number."""
    if isinstance(where, tuple) and len(where) == 2 and isinstance(where[0], str):
        compare = _COMPARISONS.get(where[0])
        if compare is None:
            known = ", ".join(_COMPARISONS)
            raise ValueError(f"where compares by {where[0]!r}; comparisons are: {known}")
        numbers = array.view(DTYPES[BF16]) if code == BF16 else array
        if np.ndim(where[1]) != 0:
            raise TypeError("where compares with an array; it must be a number")
        return np.asarray(compare(numbers, where[1]))
    if callable(where) or isinstance(where, str | tuple) and np.asarray(where).dtype.kind == "U":
        raise TypeError(f"where is {where!r}; it must be flags, or a comparison such as ('>', 0)")
    flags, _, _ = native(where, "where")
    if flags.dtype != bool:
        raise TypeError(f"where is of dtype {flags.dtype}; it must be bool, or a comparison")
    return flags


def put(result: Any, out: Any) -> Any:
    """Stores a result in the caller's array, and gives that back."""
    target = writable(out)
    if target.shape != np.shape(result):
        raise ValueError(f"out is of shape {target.shape}; the result is of {np.shape(result)}")
    np.copyto(target, result, casting="same_kind")
    return out


def writable(out: Any) -> np.ndarray[Any, Any]:
    """The memory of the caller's array, as an array of NumPy."""
    if _is_torch(out):
        if out.device.type != "cpu" or str(out.dtype) == "torch.bfloat16":
            raise TypeError(f"out is a tensor of {out.dtype} on {out.device}: leave it away")
        array: Any = out.detach().numpy()
    else:
        array = out
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"out is a {type(out).__name__}, which cannot be written to: leave it away")
    if not array.flags.writeable:
        raise ValueError("out is read-only")
    return array
