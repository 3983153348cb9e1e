"""Histograms count as NumPy does, and sum weights by the law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from law import FLOATS, INTEGERS, any_array, fold, same


def finite(x):
    return (
        np.nan_to_num(x, nan=0.5, posinf=2.0, neginf=-2.0).clip(-1e30, 1e30)
        if x.dtype.kind == "f"
        else x
    )


@given(any_array(INTEGERS + FLOATS), st.integers(1, 12))
def test_even_bins_are_numpys(x, count):
    x = finite(x.astype(x.dtype.newbyteorder("=")))
    try:
        counts, edges = np.histogram(x, count)
    except ValueError:
        with pytest.raises(ValueError):
            wf.histogram(x, count)
        return
    ours, own = wf.histogram(x, count)
    same(ours, counts)
    same(own, edges)


@given(
    any_array(INTEGERS + FLOATS),
    st.integers(1, 12),
    st.tuples(st.integers(-9, 9), st.integers(0, 9)),
)
def test_even_bins_of_a_range_are_numpys(x, count, ends):
    x = finite(x.astype(x.dtype.newbyteorder("=")))
    range_ = (ends[0] / 2, (ends[0] + ends[1]) / 2)
    counts, edges = np.histogram(x, count, range_)
    ours, own = wf.histogram(x, count, range_)
    same(ours, counts)
    same(own, edges)


@given(any_array(INTEGERS + FLOATS), st.lists(st.integers(-20, 20), min_size=2, unique=True))
def test_bins_between_edges_are_numpys(x, edges):
    for bins in [np.sort(edges) / 2, np.sort(np.array(edges, "float32")), np.sort(edges)]:
        x = x.astype(x.dtype.newbyteorder("="))
        if x.dtype == "uint64" and bins.dtype == "int64":
            continue
        same(wf.histogram(x, bins)[0], np.histogram(x, bins)[0])


def test_named_rules_density_and_dtypes_are_numpys():
    x = np.random.default_rng(0).standard_normal(1000)
    for rule in ["auto", "fd", "sturges"]:
        for ours, theirs in zip(wf.histogram(x, rule), np.histogram(x, rule)):
            same(ours, theirs)
    ours, theirs = wf.histogram(x, 7, density=True)[0], np.histogram(x, 7, density=True)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    assert wf.histogram(x, 3, weights=np.ones(1000, "float32"))[0].dtype == "float32"
    assert wf.histogram(x, 3, weights=np.ones(1000, "int8"))[0].dtype == "int8"
    same(wf.histogram(np.array([True, False, True]), [0, 1, 2])[0], np.array([1, 2]))


@given(st.integers(0, 400), st.integers(1, 5), st.randoms())
def test_weights_are_summed_as_each_bin_alone(length, count, random):
    rng = np.random.default_rng(random.randrange(2**32))
    x, weights = rng.uniform(0, 1, length), rng.standard_normal(length)
    sums, edges = wf.histogram(x, count, (0, 1), weights=weights)
    for i in range(count):
        inside = (x >= edges[i]) & ((x < edges[i + 1]) | (i == count - 1))
        same(sums[i], fold(weights[inside]) if inside.any() else np.float64(0))
    groups = (x * count).astype(int).clip(0, count - 1)
    sums = wf.bincount(groups, weights, count)
    for i in range(count):
        same(sums[i], fold(weights[groups == i]) if (groups == i).any() else np.float64(0))


@given(any_array(["bool", "uint8", "int8", "uint16", "int16"], max_dims=1), st.integers(0, 300))
def test_bincount_is_numpys(x, minlength):
    native = x.astype(x.dtype.newbyteorder("="))
    if native.size and native.min() < 0:
        with pytest.raises(ValueError, match="negative value"):
            wf.bincount(x)
        return
    same(
        wf.bincount(x, minlength=minlength),
        np.bincount(native.astype("int64"), minlength=minlength),
    )


@pytest.mark.parametrize("dtype", ["int64", "uint16", "int16", "int8", "uint8", "bool"])
def test_bincount_of_many_items(dtype):
    """One reading counts them; a value that a few others do not tell of takes two more."""
    greatest = 1 if dtype == "bool" else 99
    x = np.random.default_rng(0).integers(0, greatest, 300_000).astype(dtype)
    same(wf.bincount(x), np.bincount(x))
    same(wf.bincount(x[::-3], minlength=2000), np.bincount(x[::-3], minlength=2000))
    same(wf.bincount(np.sort(x)), np.bincount(np.sort(x)))
    same(wf.bincount(x * 0), np.array([len(x)]))
    if dtype == "bool":
        return
    # Of 64 parts only the first values are looked at.
    last = np.iinfo(dtype).max if dtype != "int64" else 5000
    x[100_123] = last
    same(wf.bincount(x), np.bincount(x))
    if dtype[0] == "i":
        for place in [0, 100_123]:
            x[place] = -7
            with pytest.raises(ValueError, match="negative value, -7"):
                wf.bincount(x)


def test_bincount_of_more_values_than_bins():
    x = np.array([1 << 24, 3, 1 << 24, 0], "int64")
    same(wf.bincount(x), np.bincount(x))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    sums = wf.bincount(x, weights)
    same(sums[1 << 24], fold(weights[[0, 2]]))
    assert sums[3] == 0.2 and len(sums) == (1 << 24) + 1


def test_bins_are_checked():
    with pytest.raises(ValueError, match="not be|must be|above|below"):
        wf.histogram([1.0], [2.0, 1.0])
    with pytest.raises(ValueError):
        wf.histogram([1.0], 0)
    with pytest.raises(TypeError, match="integer, edges, or a name"):
        wf.histogram([1.0], 2.5)
    with pytest.raises(ValueError, match="range falls"):
        wf.histogram([1.0], 2, (3, 1))
    with pytest.raises(ValueError, match="weights are of shape"):
        wf.histogram([1.0, 2.0], weights=[1.0])
    with pytest.raises(TypeError, match="minlength is 2.5"):
        wf.bincount([1], minlength=2.5)
    with pytest.raises(TypeError, match="counts integers"):
        wf.bincount(np.array([0.5]))
    with pytest.raises(ValueError, match="must have one"):
        wf.bincount([[1]])
    for item in [np.inf, np.nan]:
        with pytest.raises(ValueError, match="not finite: give range"):
            wf.histogram([item, 1.0])


def test_edges_of_64_bits_are_exact():
    odd = 2**53 + 1
    x = np.array([odd - 1, odd, odd + 2, odd + 3])
    same(wf.histogram(x, np.array([odd, odd + 2]))[0], np.array([2]))
    with pytest.raises(TypeError, match="convert one"):
        wf.histogram(x.astype("float64"), np.array([odd, odd + 2]))
