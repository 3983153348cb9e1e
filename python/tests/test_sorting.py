"""Sorts, search and distinct items are NumPy's, with the order of the documentation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from law import ALL, FLOATS, INTEGERS, any_array, same, with_axis


def keys(x, descending, nan):
    """Integers in the order that is wanted, and equal where numbers are."""
    native = x.astype(x.dtype.newbyteorder("="))
    if native.dtype.kind != "f":
        rank = np.unique(native, return_inverse=True)[1].reshape(native.shape)
        return -rank if descending else rank
    numbers = np.where(np.isnan(native), 0, native)
    rank = np.unique(numbers, return_inverse=True)[1].reshape(native.shape) + 1
    rank = -rank if descending else rank
    far = native.size + 2
    return np.where(np.isnan(native), -far if descending and nan == "greatest" else far, rank)


@given(with_axis(ALL), st.booleans(), st.sampled_from(["greatest", "last"]))
def test_sorts_are_stable_in_every_order(case, descending, nan):
    x, axis = case
    native = x.astype(x.dtype.newbyteorder("="))
    axis_ = -1 if axis is None else axis
    source = native.reshape(-1) if axis is None else native
    by = keys(source, descending, nan)
    places = np.argsort(by, axis_, kind="stable")
    same(wf.argsort(x, axis, descending=descending, nan=nan), places.astype("int64"))
    same(
        wf.sort(x, axis, descending=descending, nan=nan),
        np.take_along_axis(source, places, axis_),
    )


@given(with_axis(ALL))
def test_ascending_sorts_are_numpys(case):
    x, axis = case
    expected = np.sort(x, axis, kind="stable")
    assert np.array_equal(wf.sort(x, axis), expected, equal_nan=x.dtype.kind == "f")
    expected = np.argsort(x, axis, kind="stable")
    assert np.array_equal(wf.argsort(x, axis), expected)


@given(with_axis(ALL), st.booleans(), st.data())
def test_topk_is_the_beginning_of_the_sort(case, largest, data):
    x, axis = case
    axis = -1 if axis is None else axis
    k = data.draw(st.integers(0, x.shape[axis]))
    values, indices = wf.topk(x, k, axis, largest=largest)
    first = [slice(None)] * x.ndim
    first[axis] = slice(0, k)
    same(values, wf.sort(x, axis, descending=largest)[tuple(first)])
    same(indices, wf.argsort(x, axis, descending=largest)[tuple(first)])


def test_topk_takes_no_more_than_there_are():
    with pytest.raises(ValueError, match="k is 4, but axis -1 has 3 items"):
        wf.topk([1, 2, 3], 4)
    with pytest.raises(ValueError):
        wf.topk([1, 2, 3], -1)
    with pytest.raises(TypeError, match="integer"):
        wf.topk([1, 2, 3], 1.5)


@given(with_axis(ALL), st.data())
def test_partition_has_the_sorted_item_in_its_place(case, data):
    x, axis = case
    length = x.size if axis is None else x.shape[axis]
    if length == 0:
        return
    kth = data.draw(st.integers(-length, length - 1))
    axis_ = 0 if axis is None else axis
    result, expected = wf.partition(x, kth, axis), np.sort(x, axis)
    assert np.array_equal(
        np.take(result, kth, axis_), np.take(expected, kth, axis_), equal_nan=x.dtype.kind == "f"
    )


@given(with_axis(ALL), st.data())
def test_partition_keeps_the_order_of_what_is_less_equal_and_greater(case, data):
    """For few places and for many, along one axis and along rows."""
    x, axis = case
    length = x.size if axis is None else x.shape[axis]
    if length == 0:
        return
    kth = data.draw(st.lists(st.integers(-length, length - 1), min_size=1, max_size=12))
    axis_ = -1 if axis is None else axis
    source = x.reshape(-1) if axis is None else x
    source = source.astype(source.dtype.newbyteorder("="))
    by = keys(source, False, "greatest")
    pivots = np.take(np.sort(by, axis_), sorted({k % length for k in kth}), axis_)
    lanes = np.moveaxis(by, axis_, -1)[..., None]
    beside = np.moveaxis(pivots, axis_, -1)[..., None, :]
    classes = np.moveaxis((lanes > beside).sum(-1) + (lanes >= beside).sum(-1), -1, axis_)
    places = np.argsort(classes, axis_, kind="stable")
    same(wf.partition(x, kth, axis), np.take_along_axis(source, places, axis_))


def test_partition_checks_the_place():
    with pytest.raises(ValueError, match="kth is 3, but there are 3 items"):
        wf.partition([1, 2, 3], 3)


@given(any_array(ALL, max_dims=1), st.data(), st.sampled_from(["left", "right"]))
def test_search_is_numpys(x, data, side):
    a = wf.sort(x)
    v = data.draw(any_array([a.dtype.name], max_dims=2))
    same(wf.searchsorted(a, v, side), np.searchsorted(a, v, side).astype("int64"))
    same(wf.searchsorted(x, v, side, sorter=wf.argsort(x)), wf.searchsorted(a, v, side))


@given(any_array(ALL, max_dims=1), st.booleans(), st.sampled_from(["greatest", "last"]))
def test_search_follows_the_order_of_the_sort(x, descending, nan):
    a = wf.sort(x, descending=descending, nan=nan)
    by = keys(a, descending, nan)
    same(
        wf.searchsorted(a, a, descending=descending, nan=nan),
        np.searchsorted(by, by).astype("int64"),
    )


def test_search_promotes_as_numpy_does():
    a = np.array([1, 2, 3], "int8")
    same(wf.searchsorted(a, 2.5), np.int64(2))
    same(wf.searchsorted(a, 300), np.int64(3))
    same(
        wf.searchsorted(np.array([0.1], "float32"), 0.1),
        np.searchsorted(np.array([0.1], "float32"), 0.1),
    )
    same(wf.searchsorted(np.array([1, 2**63], "uint64"), 2), np.int64(1))
    with pytest.raises(TypeError, match="int64 and uint64 have no common dtype"):
        wf.searchsorted(np.array([2**53], "int64"), np.array([2**53 + 1], "uint64"))


@given(any_array(ALL))
def test_distinct_items_are_numpys(x):
    values, index, inverse, counts = wf.unique(x, True, True, True)
    theirs = np.unique(x, True, True, True)
    assert np.array_equal(values, theirs[0], equal_nan=x.dtype.kind == "f")
    assert values.dtype == x.dtype.newbyteorder("=")
    assert np.array_equal(index, theirs[1])
    assert np.array_equal(inverse, theirs[2].reshape(x.shape))
    assert np.array_equal(counts, theirs[3])
    same(wf.unique(x), values)
    same(wf.unique_values(x), values)
    same(wf.unique_counts(x).counts, counts)
    same(wf.unique_inverse(x).inverse_indices, inverse)
    same(wf.unique_all(x).indices, index)


def test_each_distinct_item_is_the_first():
    zeros = wf.unique([-0.0, 0.0, 1.0])
    assert zeros.tolist() == [0.0, 1.0] and np.signbit(zeros[0])
    assert wf.unique_counts([np.nan, 1.0, np.nan]).counts.tolist() == [1, 2]


@given(any_array(INTEGERS + FLOATS, max_dims=2))
def test_out_takes_a_sort(x):
    out = np.empty(x.shape, x.dtype.newbyteorder("="))
    assert wf.sort(x, out=out) is out
    same(out, wf.sort(x))
