"""Scans are NumPy's for integers, and the law's for floats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from law import ALL, BOOL, FLOATS, INTEGERS, any_array, fold, same, wide, with_axis


@given(with_axis(BOOL + INTEGERS))
def test_running_sums_of_integers_are_numpys(case):
    x, axis = case
    same(wf.cumsum(x, axis), np.cumsum(x, axis))
    same(wf.cumprod(x, axis), np.cumprod(x, axis))


@given(with_axis(FLOATS))
def test_running_sums_of_floats_are_the_laws(case):
    x, axis = case
    native = np.asarray(x, x.dtype.newbyteorder("="))
    expected = np.empty(native.size if axis is None else native.shape, native.dtype)
    source = native.reshape(-1) if axis is None else np.moveaxis(native, axis, -1)
    target = expected if axis is None else np.moveaxis(expected, axis, -1)
    for place in np.ndindex(source.shape[:-1]):
        for i in range(source.shape[-1]):
            target[(*place, i)] = fold(source[place][: i + 1])
    same(wf.cumsum(x, axis), expected)


@given(with_axis(ALL), st.sampled_from(["add", "minimum", "maximum"]))
def test_forms_of_a_scan_agree(case, op):
    """The exclusive scan is the inclusive one a place later, and the reverse one that of the
    reversed array."""
    x, axis = case
    inclusive = wf.scan(x, op, axis)
    axis_ = 0 if axis is None else axis
    flat = x.reshape(-1) if axis is None else x
    exclusive = wf.scan(x, op, axis, exclusive=True)
    head, tail = [slice(None)] * flat.ndim, [slice(None)] * flat.ndim
    head[axis_], tail[axis_] = slice(None, -1), slice(1, None)
    same(exclusive[tuple(tail)], inclusive[tuple(head)])
    backwards = wf.scan(np.flip(flat, axis_), op, axis_)
    same(wf.scan(x, op, axis, reverse=True), np.flip(backwards, axis_))


@given(with_axis(BOOL + INTEGERS, min_dims=1), st.booleans())
def test_cumulative_sum_is_the_array_apis(case, include_initial):
    x, axis = case
    if axis is None and x.ndim > 1:
        with pytest.raises(ValueError, match="give axis"):
            wf.cumulative_sum(x)
        return
    expected = np.cumulative_sum(x, axis=axis, include_initial=include_initial)
    same(wf.cumulative_sum(x, axis=axis, include_initial=include_initial), expected)


@given(any_array(FLOATS, max_dims=1))
def test_the_last_running_sum_is_the_sum(x):
    if x.size:
        same(wf.cumsum(x)[-1], wf.sum(x))


@given(any_array(FLOATS, max_dims=1))
def test_an_initial_value_comes_first(x):
    native = x.astype(x.dtype.newbyteorder("="))
    result = wf.cumsum(x, initial=0.1)
    for i in range(len(x)):
        same(result[i], fold(native[: i + 1], "add", 0.1))


def test_out_may_be_the_input():
    x = np.arange(10.0)
    expected = wf.cumsum(x)
    other = np.empty(10)
    assert wf.cumsum(x, out=other) is other
    same(other, expected)
    assert wf.cumsum(x, out=x) is x
    same(x, expected)
    y = np.arange(11.0)
    wf.cumsum(y[:-1], out=y[1:])
    same(y[1:], expected)
    z = np.empty((2, 5), order="F")
    wf.cumsum(np.arange(10.0).reshape(2, 5), 1, out=z)
    same(z, np.cumsum(np.arange(10.0).reshape(2, 5), 1))


def test_running_sums_in_another_dtype():
    same(wf.cumsum(np.array([200, 100], "uint8"), dtype="uint8"), np.array([200, 44], "uint8"))
    same(wf.cumsum(np.array([-1, 3], "int8"), dtype="uint64"), np.array([2**64 - 1, 2], "uint64"))
    x = np.array([0.1, 0.2, 0.3], "float32")
    same(wf.cumsum(x, dtype="float64"), wf.cumsum(x.astype("float64")))


def test_long_scans_are_the_laws_too():
    x = np.random.default_rng(3).standard_normal(300_001, "float32")
    result = wf.cumsum(x)
    for i in [0, 1, 1000, 65535, 65536, 262143, 300_000]:
        same(result[i], fold(x[: i + 1]))
    square = x[: 512 * 512].reshape(512, 512)
    for axis in [0, 1]:
        rows = np.moveaxis(square, axis, -1)
        same(np.moveaxis(wf.cumsum(square, axis), axis, -1)[7], wf.cumsum(rows[7].copy()))
        same(wf.cumsum(square.T, axis), wf.cumsum(square.T.copy(), axis))


@given(any_array(ALL, max_dims=1))
def test_out_takes_a_scan_of_any_layout(x):
    """What is in `out` before does not stay there."""
    out = np.full(x.shape, 7, wide(x.dtype.newbyteorder("=")))
    assert wf.cumsum(x, out=out) is out
    same(out, wf.cumsum(x))
