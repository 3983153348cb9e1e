"""Arrays on a GPU, of CuPy, PyTorch, JAX, Numba, and whoever has DLPack or
``__cuda_array_interface__``: where they lie, and calls on them."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native, _nvrtc
from ._arrays import axes_of, axis_of, check_lanes
from ._dtypes import (
    BF16,
    BOOL,
    DTYPES,
    F16,
    F32,
    F64,
    I64,
    IS_FLOAT,
    NAMES,
    READ_AS,
    U8,
    U64,
    WIDE,
    code_of,
    initial_bytes,
    known_code,
    operator_of,
    operator_on,
)

#: DLPack's devices: CUDA's own memory, and managed one. (CUDA's pinned memory is the host's.)
_CUDA = (2, 13)

#: ``CU_STREAM_LEGACY``, which others wait for.
_LEGACY = 1

_COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Place = tuple[int, int] | None

_ndarray = np.ndarray

_HOST = (np.ndarray, np.generic, list, tuple, int, float)


@dataclass(slots=True)
class Array:
    """Where an array lies. Strides are in items."""

    #: What keeps the memory, in the caller's library.
    owner: Any
    library: Library
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    code: int
    #: The GPU's number and the stream; tests have `None` for the host.
    place: Place

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def span(self) -> tuple[int, int]:
        """Of an array without gaps."""
        return self.address, self.size

    @property
    def is_contiguous(self) -> bool:
        return self.size == 0 or self.strides == contiguous_strides(self.shape)


class Library:
    """How a library's arrays are read and made. This one: by DLPack or the CUDA array interface."""

    #: Whether a call waits for its end, since the library may free what the call reads before.
    waits = True

    #: Whether results can be written to a caller's array.
    takes_out = False

    def has(self, x: Any) -> bool:
        """Whether it is an array of this library, on a GPU."""
        return _is_cuda(x)

    def read(self, x: Any, name: str) -> Array:
        if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
            return _by_dlpack(self, x, name, _LEGACY)
        return by_interface(self, x, name)

    def empty(self, like: Array, shape: tuple[int, ...], code: int) -> Array:
        """A new array without gaps on the same device."""
        return _own(self, like, shape, code)

    def result(self, array: Array, axes: list[int] | None) -> Any:
        """What the caller gets. Its axes are put into another order."""
        owner = array.owner
        if axes is not None and axes != sorted(axes):
            raise self.lacks("results with their axes in another order")
        return owner

    def contiguous(self, array: Array, axes: list[int] | None = None) -> Array:
        """A copy without gaps, with the axes in that order."""
        raise self.lacks("a copy without gaps")

    def astype(self, array: Array, code: int) -> Array:
        raise self.lacks(f"a conversion to {NAMES[code]}")

    def upload(self, like: Array, array: np.ndarray[Any, Any]) -> Any:
        """A small result that was computed on the host."""
        return array

    def assign(self, out: Array, array: Array) -> None:
        """Copies a result to the caller's array."""
        raise NotImplementedError

    def lacks(self, what: str) -> TypeError:
        return TypeError(
            f"the call needs {what}, which is there for arrays of CuPy, PyTorch and JAX alone: do "
            "it before the call"
        )


class _Torch(Library):
    waits = False
    takes_out = True

    def has(self, x: Any) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(x, torch.Tensor) and x.device.type == "cuda"

    def __init__(self) -> None:
        #: The number of each dtype, and the dtype of each number.
        self.codes: dict[Any, int] = {}
        self.dtypes: list[Any] = []
        #: Of a GPU's number, the handle of the current stream.
        self.current_stream: Callable[[int], int] = lambda index: 0

    def prepare(self) -> Any:
        """PyTorch. What is asked in every call is asked once."""
        torch = sys.modules["torch"]
        if not self.codes:
            if torch.version.hip is not None:
                raise TypeError(
                    "this PyTorch is for AMD's GPUs; warpfold's kernels are for NVIDIA's"
                )
            # `current_stream` makes an object for the answer. Compilers of PyTorch's ask as here.
            slow = lambda index: torch.cuda.current_stream(index).cuda_stream  # noqa: E731
            self.current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", slow)
            self.dtypes = [getattr(torch, name, None) for name in NAMES]
            self.codes = {dtype: i for i, dtype in enumerate(self.dtypes) if dtype is not None}
        return torch

    def read(self, x: Any, name: str) -> Array:
        torch = self.prepare()
        if x.requires_grad:
            raise TypeError(
                f"{name} requires a gradient, which is not known here: use {name}.detach()"
            )
        if x.layout is not torch.strided:
            raise TypeError(f"{name} is of layout {x.layout}: use {name}.to_dense()")
        code = self.codes.get(x.dtype)
        if code is None:
            raise TypeError(f"{name} is of dtype {x.dtype}, which is not supported: convert it")
        if x.is_neg():
            x = x.resolve_neg()
        index = x.device.index
        place = (index, self.current_stream(index))
        return Array(x, self, x.data_ptr(), tuple(x.shape), x.stride(), code, place)

    def empty(self, like: Array, shape: tuple[int, ...], code: int) -> Array:
        torch = self.prepare()
        x = torch.empty(shape, dtype=self.dtypes[code], device=like.owner.device)
        return Array(x, self, x.data_ptr(), shape, contiguous_strides(shape), code, like.place)

    def result(self, array: Array, axes: list[int] | None) -> Any:
        return array.owner if axes is None else array.owner.permute(axes)

    def contiguous(self, array: Array, axes: list[int] | None = None) -> Array:
        x = array.owner if axes is None else array.owner.permute(axes)
        return self.read(x.contiguous(), "x")

    def astype(self, array: Array, code: int) -> Array:
        self.prepare()
        return self.read(array.owner.to(self.dtypes[code]), "x")

    def upload(self, like: Array, array: np.ndarray[Any, Any]) -> Any:
        import torch

        return torch.from_numpy(array).to(like.owner.device)

    def assign(self, out: Array, array: Array) -> None:
        out.owner.copy_(array.owner)


class _CuPy(Library):
    waits = False
    takes_out = True

    def has(self, x: Any) -> bool:
        cupy = sys.modules.get("cupy")
        return cupy is not None and isinstance(x, cupy.ndarray)

    def place(self, x: Any) -> Place:
        import cupy

        if cupy.cuda.runtime.is_hip:
            raise TypeError("this CuPy is for AMD's GPUs; warpfold's kernels are for NVIDIA's")
        device = x.device
        if device == cupy.cuda.Device():
            return device.id, cupy.cuda.get_current_stream().ptr
        with device:
            return device.id, cupy.cuda.get_current_stream().ptr

    def read(self, x: Any, name: str) -> Array:
        code = known_code(x.dtype)
        if not x.dtype.isnative:
            raise TypeError(f"{name} is of dtype {x.dtype}, in another byte order: convert it")
        strides = _in_items(x.strides, x.dtype.itemsize, x.shape, name)
        return Array(x, self, x.data.ptr, x.shape, strides, code, self.place(x))

    def empty(self, like: Array, shape: tuple[int, ...], code: int) -> Array:
        import cupy

        with like.owner.device:
            return self.read(cupy.empty(shape, DTYPES[code]), "out")

    def result(self, array: Array, axes: list[int] | None) -> Any:
        return array.owner if axes is None else array.owner.transpose(axes)

    def contiguous(self, array: Array, axes: list[int] | None = None) -> Array:
        import cupy

        x = array.owner if axes is None else array.owner.transpose(axes)
        with x.device:
            return self.read(cupy.ascontiguousarray(x), "x")

    def astype(self, array: Array, code: int) -> Array:
        with array.owner.device:
            return self.read(array.owner.astype(DTYPES[code]), "x")

    def upload(self, like: Array, array: np.ndarray[Any, Any]) -> Any:
        import cupy

        with like.owner.device:
            return cupy.asarray(array)

    def assign(self, out: Array, array: Array) -> None:
        with out.owner.device:
            out.owner[...] = array.owner


class _Jax(Library):
    def has(self, x: Any) -> bool:
        return type(x).__module__.partition(".")[0] in ("jax", "jaxlib") and _is_cuda(x)

    def read(self, x: Any, name: str) -> Array:
        array = _by_dlpack(self, x, name, _LEGACY)
        if array.is_contiguous:
            return array
        import jax.numpy as jnp

        return _by_dlpack(self, jnp.array(x, copy=True), name, _LEGACY)

    def result(self, array: Array, axes: list[int] | None) -> Any:
        import jax
        import jax.numpy as jnp

        is_wide = bool(jax.config.jax_enable_x64) or DTYPES[array.code].itemsize < 8
        # Without it JAX cuts 64 bits to 32 as it takes the array, and says nothing.
        with _x64():
            result = jnp.from_dlpack(array.owner)
            if not is_wide:
                narrow = result.astype(NAMES[array.code].replace("64", "32"))
                if not IS_FLOAT[array.code] and not bool((narrow == result).all()):
                    raise OverflowError(
                        f"a result of {result.dtype} does not fit into JAX's {narrow.dtype}: "
                        "set jax_enable_x64"
                    )
                result = narrow
        return result if axes is None else jnp.transpose(result, axes)

    def contiguous(self, array: Array, axes: list[int] | None = None) -> Array:
        import jax.numpy as jnp

        x = array.owner[0]
        return self.read(jnp.array(x if axes is None else jnp.transpose(x, axes), copy=True), "x")

    def astype(self, array: Array, code: int) -> Array:
        with _x64():
            return self.read(array.owner[0].astype(NAMES[code]), "x")

    def upload(self, like: Array, array: np.ndarray[Any, Any]) -> Any:
        import jax

        return jax.device_put(array, like.owner[0].device)


class _Numba(Library):
    def has(self, x: Any) -> bool:
        return type(x).__module__.partition(".")[0] in ("numba", "numba_cuda") and _is_cuda(x)

    def read(self, x: Any, name: str) -> Array:
        return by_interface(self, x, name)

    def empty(self, like: Array, shape: tuple[int, ...], code: int) -> Array:
        if code == BF16:
            raise self.lacks("results of bfloat16")
        from numba import cuda

        return self.read(cuda.device_array(shape, DTYPES[code]), "out")

    def upload(self, like: Array, array: np.ndarray[Any, Any]) -> Any:
        from numba import cuda

        return cuda.to_device(array)


#: Asked in this order.
LIBRARIES: list[Library] = [_Torch(), _CuPy(), _Jax(), _Numba(), Library()]


def _x64() -> Any:
    """What lets JAX have arrays of 64 bits meanwhile."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


def _is_cuda(x: Any) -> bool:
    """Whether DLPack or the CUDA array interface says so."""
    device = getattr(type(x), "__dlpack_device__", None)
    if device is not None:
        try:
            return int(device(x)[0]) in _CUDA
        except Exception:  # A tracer of JAX, or an array on several devices, has none.
            return False
    return hasattr(x, "__cuda_array_interface__")


def library_of(x: Any) -> Library | None:
    """The library of an array on a GPU, and `None` for anything else."""
    if type(x) is _ndarray or isinstance(x, _HOST):
        return None
    for library in LIBRARIES:
        if library.has(x):
            return library
    return None


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """In items."""
    strides: list[int] = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def _in_items(
    strides: tuple[int, ...], itemsize: int, shape: tuple[int, ...], name: str
) -> tuple[int, ...]:
    """Strides in items, of strides in bytes."""
    for step, length in zip(strides, shape):
        if step % itemsize and length > 1 and 0 not in shape:
            raise ValueError(
                f"{name} has a stride of {step} bytes for items of {itemsize}: make a copy of it"
            )
    return tuple(step // itemsize for step in strides)


def dtype_of_typestr(typestr: Any, name: str) -> int:
    """The code of a dtype that the CUDA array interface names."""
    try:
        dtype = np.dtype(typestr)
    except TypeError:
        raise TypeError(
            f"{name}.__cuda_array_interface__ has the typestr {typestr!r}, which NumPy does not "
            "know: convert the array"
        ) from None
    if not dtype.isnative:
        raise TypeError(f"{name} is of dtype {dtype.str}, in another byte order: convert it")
    return known_code(dtype)


def stream_of(stream: Any, name: str) -> int:
    """The stream of a CUDA array interface: 1 for the legacy default one, 2 for the thread's."""
    if stream is None:
        return _LEGACY
    if isinstance(stream, bool) or not isinstance(stream, int) or stream < 0:
        raise TypeError(
            f"{name}.__cuda_array_interface__ has the stream {stream!r}; it must be None or the "
            "handle of a stream"
        )
    if stream == 0:
        raise ValueError(
            f"{name}.__cuda_array_interface__ has the stream 0, which its definition forbids: it "
            "could be the legacy default stream, 1, or the thread's, 2"
        )
    return stream


def by_interface(library: Library, x: Any, name: str) -> Array:
    """An array by its CUDA array interface, version 2 or 3."""
    interface = x.__cuda_array_interface__
    missing = {"shape", "typestr", "data", "version"} - set(interface)
    if missing:
        raise TypeError(f"{name}.__cuda_array_interface__ lacks {', '.join(sorted(missing))}")
    if interface["version"] < 2:
        raise TypeError(
            f"{name}.__cuda_array_interface__ is of version {interface['version']}; versions from "
            "2 on are read"
        )
    if interface.get("mask") is not None:
        raise TypeError(f"{name} has a mask, which would be lost: select the valid items first")
    shape = tuple(int(length) for length in interface["shape"])
    code = dtype_of_typestr(interface["typestr"], name)
    itemsize = DTYPES[code].itemsize
    strides = interface.get("strides")
    if strides is None:
        steps = contiguous_strides(shape)
    else:
        steps = _in_items(tuple(int(step) for step in strides), itemsize, shape, name)
    stream = stream_of(interface.get("stream"), name)
    address = int(interface["data"][0])
    place = (_ordinal_of(address), stream)
    return Array(x, library, address, shape, steps, code, place)


def _ordinal_of(address: int) -> int:
    """The GPU that an address belongs to. The interface does not say."""
    return 0 if address == 0 else _native.gpu_of(address)


def _by_dlpack(library: Library, x: Any, name: str, stream: int) -> Array:
    """An array by DLPack, ready on a stream. The owner is a pair: of it, and of its capsule."""
    try:
        capsule = x.__dlpack__(stream=stream, max_version=(1, 1))
    except TypeError:
        # Of before 2023.12 of the array API.
        capsule = x.__dlpack__(stream=stream)
    taken = _native.from_capsule(capsule)
    if taken.device[0] not in _CUDA:
        raise TypeError(f"{name} is on DLPack's device type {taken.device[0]}, which is not CUDA's")
    shape = tuple(taken.shape)
    strides = contiguous_strides(shape) if taken.strides is None else tuple(taken.strides)
    place = (taken.device[1], stream)
    return Array((x, taken), library, taken.address, shape, strides, taken.dtype, place)


def _own(library: Library, like: Array, shape: tuple[int, ...], code: int) -> Array:
    """Memory of warpfold's, which another library can take over."""
    owner = _native.DeviceArray(like.place, list(shape), code)
    steps = contiguous_strides(shape)
    return Array(owner, library, owner.address, shape, steps, code, like.place)


def read(x: Any, library: Library, name: str = "x") -> Array:
    """The array, aligned."""
    _nvrtc.preload()
    array = library.read(x, name)
    itemsize = DTYPES[array.code].itemsize
    if array.address % itemsize and array.size:
        raise ValueError(f"{name} lies at an address that is no multiple of its items' {itemsize}")
    return array


def beside(x: Any, array: Array, name: str) -> Array:
    """Another argument, which must lie on the same GPU. A list or an array of the host is none."""
    library = library_of(x)
    if library is None:
        raise TypeError(
            f"{name} is a {type(x).__name__}, and x is on a GPU: both must be there, since nothing "
            "is copied without a word"
        )
    if library is not array.library:
        raise TypeError(f"{name} is a {type(x).__name__}: it must be of the library that x is of")
    other = read(x, library, name)
    if array.place is not None and other.place is not None and other.place[0] != array.place[0]:
        raise ValueError(
            f"{name} is on cuda:{other.place[0]}, and x on cuda:{array.place[0]}: both must be on "
            "one GPU"
        )
    if other.place != array.place:
        # It is ready on a stream of its own.
        _native.gpu_wait(other.place)
    return other


def refuse(**options: Any) -> None:
    """An error for options that calls on a GPU do not have."""
    remedies = {
        "key": "apply the function to the array first",
        "where": "select the items first",
        "sorter": "sort the array first",
        "density": "divide the counts by their sum and the widths",
        "correction": "take 0 or 1",
    }
    for name, value in options.items():
        if value is not None and value is not False:
            raise TypeError(f"{name} is not there for arrays on a GPU: {remedies[name]}")


def _axes(axis: Any, ndim: int) -> list[int] | None:
    along = axes_of(axis, ndim)
    return None if along is None else list(along)


class _Target:
    """Where a result goes: new memory, or the caller's `out`."""

    def __init__(self, like: Array, shape: tuple[int, ...], code: int, out: Any) -> None:
        self.given = out
        self.out: Array | None = None
        if out is not None:
            if not like.library.takes_out:
                raise TypeError("out is for arrays of CuPy and PyTorch alone: leave it away")
            self.out = beside(out, like, "out")
            if self.out.shape != shape or self.out.code != code:
                raise ValueError(
                    f"out is of shape {self.out.shape} and {NAMES[self.out.code]}; the result is "
                    f"of {shape} and {NAMES[code]}"
                )
        if self.out is not None and self.out.is_contiguous and _are_apart(self.out, like):
            self.array = self.out
        else:
            self.array = like.library.empty(like, shape, code)

    def result(self, axes: list[int] | None = None) -> Any:
        library = self.array.library
        if library.waits:
            _native.gpu_wait(self.array.place)
        if self.out is None:
            return library.result(self.array, axes)
        if self.out is not self.array:
            library.assign(self.out, self.array)
        return self.given


def _are_apart(a: Array, b: Array) -> bool:
    """Whether no byte is in the extents of both."""
    (first, end), (start, last) = _extent(a), _extent(b)
    return end <= start or last <= first


def _extent(array: Array) -> tuple[int, int]:
    """The first address and the end of what an array's items lie in."""
    itemsize = DTYPES[array.code].itemsize
    if array.size == 0:
        return array.address, array.address
    spans = [(length - 1) * step for length, step in zip(array.shape, array.strides)]
    first = array.address + itemsize * sum(span for span in spans if span < 0)
    last = array.address + itemsize * (1 + sum(span for span in spans if span > 0))
    return first, last


def _planned(array: Array, along: list[int] | None, any_order: bool) -> tuple[Array, Any]:
    """How lanes are read, of the array or of a copy."""
    plan = _native.Plan.of(array.shape, array.strides, along, any_order)
    if plan is not None:
        return array, plan
    array = array.library.contiguous(array)
    strides = list(contiguous_strides(array.shape))
    plan = _native.Plan.of(list(array.shape), strides, along, any_order)
    if plan is not None:
        return array, plan
    # Axes that are not side by side: a copy with those that are folded behind the others.
    named = set(range(array.ndim) if along is None else along)
    kept = [i for i in range(array.ndim) if i not in named]
    order = kept + sorted(named)
    array = array.library.contiguous(array, order)
    strides = list(contiguous_strides(array.shape))
    folded = list(range(len(kept), array.ndim))
    return array, _native.Plan.of(list(array.shape), strides, folded, any_order)


def _with_lanes(
    array: Array,
    axis: Any,
    to: int,
    keepdims: bool,
    out: Any,
    any_order: bool,
    call: Callable[[Array, Any, int], None],
) -> Any:
    """Folds lanes into a new array or `out`."""
    shape, along = array.shape, _axes(axis, array.ndim)
    array, plan = _planned(array, along, any_order)
    if len(plan.kept) > 1 and list(plan.kept) != sorted(plan.kept):
        # The results lie as the array does, with their axes in another order.
        if out is not None or keepdims:
            array, plan = _planned(array.library.contiguous(array), along, any_order)
        else:
            target = _Target(array, tuple(array.shape[i] for i in plan.kept), to, None)
            call(array, plan, target.array.address)
            return target.result(list(np.argsort(plan.kept)))
    named = set(range(len(shape)) if along is None else along)
    kept = [1 if i in named else n for i, n in enumerate(shape) if keepdims or i not in named]
    target = _Target(array, tuple(kept), to, out)
    call(array, plan, target.array.address)
    return target.result()


def _converted(array: Array, to: int) -> Array:
    """The array, if it is read as dtype `to` in place; else a copy."""
    if to == array.code or (array.code, to) in READ_AS:
        return array
    return array.library.astype(array, to)


def _read_as(x: Any, library: Library, dtype: Any, wide: bool) -> tuple[Array, int]:
    """The array, converted where that takes a copy, and the type of what is computed."""
    array = read(x, library)
    to = WIDE[array.code] if wide else array.code
    if dtype is not None:
        to = code_of(dtype)
    return _converted(array, to), to


def fold(
    op: str,
    x: Any,
    library: Library,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    out: Any,
    wide: bool,
    identity: bool,
) -> Any:
    array, to = _read_as(x, library, dtype, wide)
    name = operator_on(op, to)
    if op in ("minimum", "maximum") and initial is None and not identity:
        _check_lanes(array, axis, op)
    start = None if initial is None else initial_bytes(initial, to)
    any_order = not IS_FLOAT[to] or name in ("minimum", "maximum")

    def call(array: Array, plan: Any, out: int) -> None:
        _native.gpu_reduce(array.place, array.address, array.code, name, plan, to, start, out)

    return _with_lanes(array, axis, to, keepdims, out, any_order, call)


def _check_lanes(array: Array, axis: Any, op: str) -> None:
    along = _axes(axis, array.ndim)
    if array.size == 0:
        check_lanes(array.shape, None if along is None else tuple(along), op)


def arg(greatest: bool, x: Any, library: Library, axis: Any, keepdims: bool, out: Any) -> Any:
    array = read(x, library)
    if axis is not None and len(_axes(axis, array.ndim) or []) != 1:
        raise TypeError(f"axis is {axis!r}; it must be an int or None")
    _check_lanes(array, axis, "argmax" if greatest else "argmin")

    def call(array: Array, plan: Any, out: int) -> None:
        _native.gpu_arg_extreme(array.place, array.address, array.code, greatest, plan, out)

    return _with_lanes(array, axis, I64, keepdims, out, False, call)


def moments(
    what: str,
    x: Any,
    library: Library,
    axis: Any,
    correction: float,
    dtype: Any,
    keepdims: bool,
    out: Any,
) -> Any:
    array = read(x, library)
    to = array.code if IS_FLOAT[array.code] else F64
    if dtype is not None:
        to = code_of(dtype)
        if not IS_FLOAT[to]:
            raise TypeError(f"dtype is {NAMES[to]}; a {what} is a float")
    if correction not in (0.0, 1.0):
        refuse(correction=correction)

    def call(array: Array, plan: Any, out: int) -> None:
        is_sample = correction == 1.0
        _native.gpu_moments(array.place, array.address, array.code, what, plan, is_sample, to, out)

    return _with_lanes(array, axis, to, keepdims, out, False, call)


def count_nonzero(x: Any, library: Library, axis: Any, keepdims: bool) -> Any:
    array = read(x, library)

    def call(array: Array, plan: Any, out: int) -> None:
        _native.gpu_count_nonzero(array.place, array.address, array.code, plan, out)

    return _with_lanes(array, axis, I64, keepdims, None, True, call)


def truth(every: bool, x: Any, library: Library, axis: Any, keepdims: bool, out: Any) -> Any:
    if out is not None:
        raise TypeError("out is not there for any and all on a GPU: leave it away")
    array = read(x, library)
    along = _axes(axis, array.ndim)
    lane = math.prod(array.shape if along is None else [array.shape[i] for i in along])
    counts = count_nonzero(x, library, axis, keepdims)
    try:
        verdict = counts == lane if every else counts > 0
    except TypeError:
        raise library.lacks("a comparison") from None
    if isinstance(verdict, bool):
        # Python's own comparison: whether they are one object.
        raise library.lacks("a comparison")
    return verdict


def scan(
    op: str,
    x: Any,
    library: Library,
    axis: Any,
    dtype: Any,
    form: tuple[bool, bool],
    initial: Any,
    out: Any,
    wide: bool,
) -> Any:
    array, to = _read_as(x, library, dtype, wide)
    if axis is None:
        array = _flat(array)
    along = [0 if axis is None else axis_of(axis, array.ndim)]
    start = None if initial is None else initial_bytes(initial, to)
    array, plan = _planned(array, along, False)
    # In memory's order: the outer axes, the one that is scanned, the inner ones.
    scanned = next(i for i in range(array.ndim) if i not in plan.kept)
    order = [*plan.kept[: plan.outer], scanned, *plan.kept[plan.outer :]]
    if array.size == 0:
        # Nothing lies in memory.
        order.sort()
    in_order = order == sorted(order)
    if out is not None and not in_order:
        array = array.library.contiguous(array)
        array, plan = _planned(array, along, False)
        order = list(range(array.ndim))
    target = _Target(array, tuple(array.shape[i] for i in order), to, out)
    _native.gpu_scan(
        array.place,
        array.address,
        array.code,
        operator_on(op, to),
        plan,
        to,
        form,
        start,
        target.array.address,
    )
    return target.result(None if order == sorted(order) else list(np.argsort(order)))


def _flat(array: Array) -> Array:
    """All items in C's order, side by side."""
    if not array.is_contiguous:
        array = array.library.contiguous(array)
    array.shape, array.strides = (array.size,), (1,)
    return array


def _rows(array: Array, axis: Any) -> tuple[Array, int | None]:
    """Rows without gaps along an axis, which is the last one then. Where it was, if elsewhere."""
    if axis is None:
        return _flat(array), None
    along = axis_of(axis, array.ndim)
    if along == array.ndim - 1:
        return array if array.is_contiguous else array.library.contiguous(array), None
    order = [i for i in range(array.ndim) if i != along] + [along]
    return array.library.contiguous(array, order), along


def _back(target: _Target, along: int | None) -> Any:
    """A result with its last axis brought back to where it was."""
    if along is None:
        return target.result()
    order = list(range(target.array.ndim - 1))
    order.insert(along, target.array.ndim - 1)
    return target.result(order)


def sort(
    x: Any, library: Library, axis: Any, direction: tuple[bool, bool], places: bool, out: Any
) -> Any:
    array = read(x, library)
    to = I64 if places else array.code
    if array.size == 0:
        # Nothing moves, whichever axis it is.
        if axis is not None:
            axis_of(axis, array.ndim)
        return _Target(array, (0,) if axis is None else array.shape, to, out).result()
    array, along = _rows(array, axis)
    if out is not None and along is not None:
        raise TypeError("out is not there for sorts along an axis that is not the last one")
    target = _Target(array, array.shape, to, out)
    length = array.shape[-1]
    _native.gpu_sort(
        array.place,
        array.address,
        array.code,
        (array.size // length, length),
        direction,
        places,
        target.array.address,
    )
    return _back(target, along)


def topk(x: Any, library: Library, k: int, axis: Any, largest: bool, nan_last: bool) -> Any:
    array = read(x, library)
    length = array.shape[axis_of(axis, array.ndim)]
    if not 0 <= k <= length:
        raise ValueError(f"k is {k}, but axis {axis} has {length} items")
    array, along = _rows(array, axis)
    shape = (*array.shape[:-1], k)
    values, places = _Target(array, shape, array.code, None), _Target(array, shape, I64, None)
    rows = math.prod(shape[:-1])
    if rows * k:
        _native.gpu_topk(
            array.place,
            array.address,
            array.code,
            (rows, length),
            k,
            largest,
            nan_last,
            (values.array.address, places.array.address),
        )
    return _back(values, along), _back(places, along)


def flatnonzero(x: Any, library: Library) -> Any:
    array = _flat(read(x, library))
    return _positions(array).result()


def _positions(array: Array) -> _Target:
    count = _native.gpu_count(array.place, array.span, array.code)
    target = _Target(array, (count,), I64, None)
    _native.gpu_positions(array.place, array.span, array.code, target.array.span)
    return target


def nonzero(x: Any, library: Library) -> tuple[Any, ...]:
    array = read(x, library)
    if array.ndim == 0:
        raise ValueError("x is a number, which has no axes: take an array")
    shape = array.shape
    places = _positions(_flat(array)).result()
    parts: list[Any] = []
    for length in reversed(shape[1:]):
        parts.append(places % length)
        places = places // length
    return (places, *reversed(parts))


def compress(flags: Any, x: Any, library: Library) -> Any:
    """The items for which a flag is set, of which there may be fewer than items."""
    array = read(x, library)
    mask = beside(flags, array, "condition")
    if mask.ndim != 1:
        raise ValueError(f"condition has {mask.ndim} axes; it must have one")
    array, mask = _flat(array), _flat(mask)
    if mask.size > array.size:
        raise ValueError(f"condition has {mask.size} flags for {array.size} items")
    if mask.code not in (BOOL, U8):
        mask = mask.library.astype(mask, BOOL)
    return _kept(array, mask, mask.size)


def _kept(array: Array, mask: Array, size: int) -> Any:
    count = _native.gpu_count(array.place, (mask.address, size), U8)
    target = _Target(array, (count,), array.code, None)
    _native.gpu_compress(
        array.place, mask.address, (array.address, size), array.code, target.array.span
    )
    return target.result()


def select(x: Any, library: Library, where: Any) -> Any:
    if isinstance(where, tuple) and len(where) == 2 and isinstance(where[0], str):
        compare = _COMPARISONS.get(where[0])
        if compare is None:
            known = ", ".join(_COMPARISONS)
            raise ValueError(f"where compares by {where[0]!r}; comparisons are: {known}")
        if np.ndim(where[1]) != 0:
            raise TypeError("where compares with an array; it must be a number")
        try:
            where = compare(x, where[1])
        except TypeError:
            raise library.lacks("a comparison") from None
        except NotImplementedError:
            # PyTorch's, of unsigned integers of more than 8 bits.
            name = NAMES[read(x, library).code]
            raise TypeError(
                f"PyTorch compares no {name} on a GPU: convert x, or give flags as where"
            ) from None
    array = read(x, library)
    mask = beside(where, array, "where")
    if mask.code != BOOL:
        raise TypeError(f"where is of dtype {NAMES[mask.code]}; it must be bool, or a comparison")
    if mask.shape != array.shape:
        raise ValueError(f"where is of shape {mask.shape}, and x of {array.shape}")
    return _kept(_flat(array), _flat(mask), array.size)


def _weights(weights: Any, array: Array) -> tuple[Array | None, int, tuple[int, bool] | None]:
    """Weights, the dtype of their sums, and where they lie: as float64 or 64-bit integers."""
    if weights is None:
        return None, I64, None
    given = beside(weights, array, "weights")
    if given.shape != array.shape:
        raise ValueError(f"weights are of shape {given.shape}, and x of {array.shape}")
    is_exact = not IS_FLOAT[given.code]
    wanted = I64 if is_exact else F64
    to = wanted if given.code == BOOL else given.code
    if given.code != wanted and not (is_exact and given.code == U64):
        given = given.library.astype(given, wanted)
    given = _flat(given)
    return given, to, (given.address, is_exact)


def histogram(
    x: Any,
    library: Library,
    count: int,
    ends: tuple[float, float] | None,
    edges: np.ndarray[Any, Any] | bool,
    weights: Any,
) -> tuple[Any, Any]:
    """Counts of bins between `ends`, or between edges in host memory, and the edges. Those of
    float32 are float32 if `edges` is true."""
    array = read(x, library)
    if array.code in (F16, BF16):
        raise TypeError(f"histograms of {NAMES[array.code]} are not there on a GPU: take float32")
    weight, to, lies = _weights(weights, array)
    if to not in (I64, F64):
        raise TypeError(f"weights on a GPU are of int64 or float64, not {NAMES[to]}: convert them")
    exact = None
    if not isinstance(edges, bool):
        exact = edges.astype(np.float64)
        is_wide = array.code in (I64, U64) or edges.dtype.itemsize == 8
        if edges.dtype.kind in "iu" and is_wide and (np.abs(exact) > 2.0**53).any():
            raise TypeError(f"bins are of {edges.dtype} and beyond 2^53: give float64")
        count = max(len(edges) - 1, 0)
    array = _flat(array)
    counts = _Target(array, (count,), to, None)
    own = _native.gpu_histogram(
        array.place,
        array.span,
        U8 if array.code == BOOL else array.code,
        count,
        ends,
        None if exact is None else exact.tolist(),
        lies,
        counts.array.address,
    )
    if isinstance(edges, bool):
        edges = np.asarray(own, np.float32 if edges and array.code == F32 else np.float64)
    return counts.result(), library.upload(array, edges)


def bincount(x: Any, library: Library, weights: Any, minlength: int) -> Any:
    array = read(x, library)
    if array.ndim != 1:
        raise ValueError(f"x has {array.ndim} axes; it must have one")
    if IS_FLOAT[array.code]:
        raise TypeError(f"x is of dtype {NAMES[array.code]}; bincount counts integers")
    weight, _, lies = _weights(weights, array)
    if weight is not None and lies is not None and lies[1]:
        weight = weight.library.astype(weight, F64)
        lies = (weight.address, False)
    to = I64 if weight is None else F64
    array = _flat(array)
    code = U8 if array.code == BOOL else array.code
    ends = _native.gpu_range(array.place, array.span, code)
    if ends is not None and ends[0] < 0:
        raise ValueError(f"x has a negative value, {ends[0]}")
    count = max(0 if ends is None else ends[1] + 1, minlength)
    if count > 1 << 24:
        raise ValueError(
            f"x has the value {count - 1}; on a GPU values are below 2^24: use unique_counts on "
            "the host"
        )
    target = _Target(array, (count,), to, None)
    if count:
        _native.gpu_bincount(array.place, array.span, array.code, count, lies, target.array.address)
    return target.result()


def segment_reduce(
    x: Any, library: Library, offsets: Any, op: str, keys: Any, initial: Any, dtype: Any
) -> Any:
    if keys is not None or offsets is None:
        raise TypeError("on a GPU segments are given by offsets, not by keys")
    array = read(x, library)
    if array.ndim == 0:
        raise ValueError("x has no axis to cut")
    to = array.code if dtype is None else code_of(dtype)
    if to != array.code:
        array = array.library.astype(array, to)
    name = operator_on(operator_of(op), to)
    start = None if initial is None else initial_bytes(initial, to)
    bounds = beside(offsets, array, "offsets")
    if bounds.ndim != 1:
        raise ValueError(f"offsets has {bounds.ndim} axes; it must have one")
    if IS_FLOAT[bounds.code] or bounds.code == BOOL:
        raise TypeError(f"offsets are of dtype {NAMES[bounds.code]}; they must be integers")
    # Negative offsets are beyond the end then.
    if bounds.code not in (I64, U64):
        bounds = bounds.library.astype(bounds, I64)
    bounds = _flat(bounds)
    if not array.is_contiguous:
        array = array.library.contiguous(array)
    shape = (max(bounds.size - 1, 0), *array.shape[1:])
    target = _Target(array, shape, to, None)
    inner = math.prod(array.shape[1:])
    if inner or array.ndim == 1:
        _native.gpu_segment_reduce(
            array.place,
            array.span,
            to,
            name,
            inner if array.ndim > 1 else 1,
            bounds.span,
            start,
            target.array.address,
        )
    return target.result()
