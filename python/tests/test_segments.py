"""Each segment has the bits of a call for it alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from law import ALL, FLOATS, any_array, same

OPS = ["add", "multiply", "minimum", "maximum"]


@st.composite
def cut(draw, dtypes=ALL, max_dims=1):
    x = draw(any_array(dtypes, max_dims=max_dims))
    ends = draw(st.lists(st.integers(0, len(x)), max_size=6))
    return x, np.sort(
        np.array(
            [*ends, *ends[:1]] or [0], draw(st.sampled_from(["int64", "uint32", "uint64", "int8"]))
        )
    )


@given(cut(max_dims=2), st.sampled_from(OPS), st.sampled_from([None, 1]))
def test_a_segment_is_reduced_as_alone(case, op, initial):
    x, offsets = case
    result = wf.segment_reduce(x, offsets, op=op, initial=initial)
    assert len(result) == len(offsets) - 1
    for row, a, b in zip(result, offsets, offsets[1:]):
        same(row, wf.reduce(x[a:b], op, 0, initial=initial))


@given(cut(), st.sampled_from(OPS), st.booleans(), st.booleans())
def test_a_segment_is_scanned_as_alone(case, op, exclusive, reverse):
    x, offsets = case
    expected = x.astype(x.dtype.newbyteorder("="))
    for a, b in zip(offsets, offsets[1:]):
        expected[a:b] = wf.scan(x[a:b], op, exclusive=exclusive, reverse=reverse)
    same(wf.segment_scan(x, offsets, op=op, exclusive=exclusive, reverse=reverse), expected)


@given(any_array(ALL, max_dims=1), st.data(), st.sampled_from(OPS))
def test_runs_of_keys_are_segments(x, data, op):
    keys = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(x), max_size=len(x))), "int32"
    )
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    offsets = np.append(heads, len(x))
    folds = wf.segment_reduce(x, offsets, op=op)
    same(wf.segment_reduce(x, keys=keys, op=op), folds)
    by = wf.reduce_by_key(keys, x, op)
    same(by.keys, keys[heads])
    same(by.values, folds)
    same(wf.segment_scan(x, keys=keys, op=op), wf.segment_scan(x, offsets, op=op))


@given(any_array(ALL, max_dims=2), st.data(), st.sampled_from(OPS))
def test_groups_are_reduced_in_the_order_of_the_input(x, data, op):
    keys = np.array(
        data.draw(st.lists(st.integers(-2, 2), min_size=len(x), max_size=len(x))), "int16"
    )
    groups = wf.group_by(keys, x, op)
    same(groups.keys, np.unique(keys))
    for key, value, count in zip(*groups):
        mine = x[keys == key]
        same(value, wf.reduce(mine, op, 0))
        assert count == len(mine)


@given(any_array(FLOATS, max_dims=1))
def test_groups_by_floats_are_the_distinct_ones(keys):
    groups = wf.group_by(keys, np.ones(len(keys), "int64"))
    values, counts = wf.unique_counts(keys)
    same(groups.keys, values)
    same(groups.counts, counts)
    same(groups.values, counts)


def test_each_nan_is_a_run():
    assert wf.reduce_by_key([np.nan, np.nan, 0.0, -0.0], [1, 2, 3, 4]).values.tolist() == [1, 2, 7]


def test_segments_in_another_dtype():
    x = np.array([100, 100, 100], "int8")
    assert wf.segment_reduce(x, [0, 3]).tolist() == [44]
    same(wf.segment_reduce(x, [0, 3], dtype="int64"), np.array([300]))
    same(wf.segment_scan(x, [0, 3], dtype="int16"), np.array([100, 200, 300], "int16"))


def test_long_segments_are_reduced_as_alone():
    rng = np.random.default_rng(5)
    x = rng.standard_normal(400_000, "float32")
    offsets = np.sort(rng.integers(0, len(x), 50))
    offsets[10:20] = offsets[10]
    result = wf.segment_reduce(x, offsets)
    for i, (a, b) in enumerate(zip(offsets, offsets[1:])):
        same(result[i], wf.sum(x[a:b]))


def test_segments_are_checked():
    x = [1, 2, 3]
    with pytest.raises(TypeError, match="either offsets or keys"):
        wf.segment_reduce(x)
    with pytest.raises(TypeError, match="either offsets or keys"):
        wf.segment_reduce(x, [0, 3], keys=x)
    with pytest.raises(ValueError, match="fall"):
        wf.segment_reduce(x, [0, 2, 1])
    with pytest.raises(ValueError, match="pass the end"):
        wf.segment_reduce(x, [0, 4])
    with pytest.raises(ValueError, match="negative: -1"):
        wf.segment_reduce(x, [-1, 2])
    with pytest.raises(TypeError, match="must be integers"):
        wf.segment_reduce(x, [0.0, 2.0])
    with pytest.raises(ValueError, match="are none"):
        wf.segment_reduce(x, np.array([], "int64"))
    with pytest.raises(ValueError, match="2 keys for 3 items"):
        wf.segment_reduce(x, keys=[1, 2])
    with pytest.raises(ValueError, match="2 keys for 3 values"):
        wf.group_by([1, 2], x)
    with pytest.raises(ValueError, match="operators are"):
        wf.segment_reduce(x, [0, 3], op="mean")
    for call in [wf.reduce, wf.scan, wf.Reducer, wf.Nodes]:
        with pytest.raises(TypeError, match="bitwise_and takes integers or bool, not float64"):
            call(*{wf.Reducer: ["&", "float64"], wf.Nodes: [[1.0], 0, "&"]}.get(call, [[1.0], "&"]))
    with pytest.raises(TypeError, match="bitwise_or takes integers or bool, not float32"):
        wf.segment_reduce(np.ones(1, "float32"), [0, 1], op="|")
