"""Selection is NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from law import ALL, FLOATS, INTEGERS, any_array, same, with_axis


@given(any_array(ALL))
def test_places_are_numpys(x):
    ours, theirs = wf.nonzero(x), np.nonzero(x)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        same(a, b)
    same(wf.flatnonzero(x), np.flatnonzero(x))


@given(any_array(ALL), st.data())
def test_what_is_kept_is_numpys(x, data):
    mask = data.draw(st.lists(st.booleans(), min_size=x.size, max_size=x.size))
    mask = np.array(mask, bool).reshape(x.shape)
    native = x.astype(x.dtype.newbyteorder("="))
    same(wf.select(x, mask), native[mask])
    same(wf.select(x, np.asfortranarray(mask)), native[mask])


@given(with_axis(ALL), st.data())
def test_compress_is_numpys(case, data):
    x, axis = case
    length = x.size if axis is None else x.shape[axis]
    flags = data.draw(st.lists(st.booleans(), max_size=length))
    native = x.astype(x.dtype.newbyteorder("="))
    same(
        wf.compress(np.array(flags, bool), x, axis),
        np.compress(np.array(flags, bool), native, axis),
    )


def test_compress_checks_flags_behind_the_end():
    assert wf.compress([True, False, False], [5]).tolist() == [5]
    with pytest.raises(ValueError, match="behind the 1 items"):
        wf.compress([True, True], [5])


@given(any_array(ALL), st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
def test_comparisons_are_numpys(x, sign):
    native = x.astype(x.dtype.newbyteorder("="))
    value = native.reshape(-1)[0] if x.size else 0
    compare = {
        "==": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }[sign]
    same(wf.select(x, (sign, value)), native[compare(native, value)])


def test_conditions_are_checked():
    with pytest.raises(ValueError, match="comparisons are"):
        wf.select([1, 2], ("=", 1))
    with pytest.raises(TypeError, match="must be bool"):
        wf.select([1, 2], [1, 0])
    with pytest.raises(ValueError, match="shape"):
        wf.select([1, 2], [True])
    with pytest.raises(TypeError, match="must be a number"):
        wf.select([1, 2], ("<", [1, 2]))
    with pytest.raises(ValueError, match="no axes"):
        wf.nonzero(np.int64(3))


KEYS = ["abs", "isfinite", "isinf", "isnan", "negative", "square", "sqrt"]


@given(any_array(INTEGERS + FLOATS), st.sampled_from(KEYS))
def test_a_key_is_numpys_function_of_each_item(x, key):
    native = x.astype(x.dtype.newbyteorder("="))
    by = getattr(np, key)(native)
    same(wf.sum(x, key=key), wf.sum(by))
    same(wf.max(x, 0, key=key, initial=0), wf.max(by, 0, initial=0))
    same(wf.sum(x, key=key, where=(">", 0)), wf.sum(by[native > 0]))
    same(wf.cumsum(x, 0, key=key), wf.cumsum(by, 0))
    same(wf.scan(x, "max", key=key), wf.scan(by, "max"))
    same(wf.argsort(x, key=key), wf.argsort(by))
    same(wf.sort(x, key=key), np.take_along_axis(native, wf.argsort(by), -1))
    same(wf.sort(x, None, key=key), native.reshape(-1)[wf.argsort(by, None)])
    offsets = [0, len(x)]
    same(wf.segment_reduce(x, offsets, key=key), wf.segment_reduce(by, offsets))


def test_keys_are_checked():
    for call in [wf.sum, wf.cumsum, wf.sort, wf.argsort]:
        with pytest.raises(ValueError, match="keys are: abs, isfinite"):
            call([1.0], key="log")
    with pytest.raises(ValueError, match="keys are"):
        wf.sum([1.0], key=abs)
