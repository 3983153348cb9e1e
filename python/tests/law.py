"""The law in its most obvious form, and arrays of all dtypes and layouts to test with."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
INTEGERS = SIGNED + UNSIGNED
ALL = BOOL + INTEGERS + FLOATS

_UFUNCS = {"add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum}


def wide(dtype):
    """What NumPy's sums are in."""
    kind = np.dtype(dtype).kind
    return np.dtype({"b": "int64", "i": "int64", "u": "uint64"}.get(kind, dtype))


def block(values, ufunc):
    """The fold of a power of two of items: a perfect binary tree."""
    while len(values) > 1:
        values = ufunc(values[0::2], values[1::2])
    return values[0]


def fold(x, op="add", initial=None):
    """The fold of an array by the law, without overflow warnings. Halves are folded in float32."""
    dtype, ufunc = x.dtype, _UFUNCS[op]
    values = x.astype("float32") if dtype == "float16" else x
    parts = [] if initial is None else [values.dtype.type(initial)]
    start = 0
    with np.errstate(all="ignore"):
        for bit in reversed(range(len(x).bit_length())):
            if len(x) >> bit & 1:
                parts.append(block(values[start : start + (1 << bit)], ufunc))
                start += 1 << bit
        total = parts[0]
        for part in parts[1:]:
            total = ufunc(total, part)
        return dtype.type(total)


def bits(value):
    """The bytes of a result, with one NaN for all, its shape and its dtype."""
    array = np.array(value)
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return array.tobytes(), array.shape, array.dtype


def same(a, b):
    assert bits(a) == bits(b), f"{a!r} is not {b!r}"


@st.composite
def laid_out(draw, dtype, min_dims=1, max_dims=3, max_side=9):
    """An array in any layout: transposed, with steps, reversed, misaligned, byte-swapped."""
    shape = draw(
        arrays.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=0, max_side=max_side)
    )
    x = draw(arrays.arrays(dtype, shape))
    layout = draw(
        st.sampled_from(
            ["C", "F", "step", "reversed", "misaligned", "swapped", "readonly", "padded"]
        )
    )
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "step":
        wider = np.zeros([2 * n for n in shape], x.dtype)
        wider[tuple(slice(None, None, 2) for _ in shape)] = x
        return wider[tuple(slice(None, None, 2) for _ in shape)]
    if layout == "padded" and shape:
        wider = np.zeros([*shape[:-1], shape[-1] + 3], x.dtype)
        wider[..., : shape[-1]] = x
        return wider[..., : shape[-1]]
    if layout == "reversed":
        return x[tuple(slice(None, None, -1) for _ in shape)]
    if layout == "misaligned":
        raw = np.zeros(x.nbytes + 1, "uint8")
        view = raw[1:].view(x.dtype).reshape(shape)
        view[...] = x
        return view
    if layout == "swapped":
        return x.astype(x.dtype.newbyteorder(">"))
    if layout == "readonly":
        x.flags.writeable = False
    return x


def any_array(dtypes=ALL, **options):
    return st.sampled_from(dtypes).flatmap(lambda dtype: laid_out(dtype, **options))


@st.composite
def with_axis(draw, dtypes=ALL, **options):
    """An array and one of its axes, or `None`."""
    x = draw(any_array(dtypes, **options))
    return x, draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
