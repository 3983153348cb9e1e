"""Streams have the bits of one call, wherever chunks end."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from law import ALL, any_array, same

OPS = ["add", "multiply", "minimum", "maximum"]


def chunks(data, x):
    ends = sorted(data.draw(st.lists(st.integers(0, len(x)), max_size=5)))
    return np.split(x, ends)


@given(any_array(ALL, max_dims=2), st.data(), st.sampled_from(OPS), st.sampled_from([None, 1]))
def test_a_reducer_has_the_bits_of_one_call(x, data, op, initial):
    reducer = wf.Reducer(op, initial=initial)
    for chunk in chunks(data, x):
        reducer.push(chunk)
        reducer = pickle.loads(pickle.dumps(reducer))
    whole = {"add": wf.sum, "multiply": wf.prod}.get(op)
    expected = whole(x, initial=initial) if whole else wf.reduce(x, op, initial=initial)
    same(reducer.value(), expected)
    assert reducer.count == x.size and reducer.dtype == expected.dtype


@given(
    any_array(ALL, max_dims=1),
    st.data(),
    st.sampled_from(OPS),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_a_scanner_has_the_bits_of_one_call(x, data, op, exclusive, initial):
    scanner = wf.Scanner(op, exclusive=exclusive, initial=initial)
    parts = []
    for chunk in chunks(data, x):
        parts.append(scanner.scan(chunk))
        assert parts[-1].shape == chunk.shape
        scanner = pickle.loads(pickle.dumps(scanner))
    whole = {"add": wf.cumsum, "multiply": wf.cumprod}.get(op)
    options = {"exclusive": exclusive, "initial": initial}
    same(np.concatenate(parts), whole(x, **options) if whole else wf.scan(x, op, **options))


def test_a_memmap_is_read_in_chunks(tmp_path):
    data = np.random.default_rng(0).standard_normal(1_000_003).astype("float32")
    path = tmp_path / "data.f32"
    data.tofile(path)
    mapped = np.memmap(path, "float32", "r")
    reducer = wf.Reducer()
    for start in range(0, len(mapped), 123_457):
        reducer.push(mapped[start : start + 123_457])
    same(reducer.value(), wf.sum(data))
    same(wf.cumsum(mapped), wf.cumsum(data))


def test_a_stream_keeps_its_dtype():
    reducer = wf.Reducer("add", "float64")
    reducer.push(np.array([0.1], "float32"))
    same(reducer.value(), np.float64(np.float32(0.1)))
    reducer = wf.Reducer("maximum")
    reducer.push(np.array([1], "int8"))
    with pytest.raises(TypeError, match="a chunk is of dtype float64, and the stream of int8"):
        reducer.push(np.array([2.5]))
    same(reducer.value(), np.int8(1))
    with pytest.raises(ValueError, match="no chunk"):
        wf.Reducer().value()
    same(wf.Reducer("add", "float32").value(), np.float32(0))
    with pytest.raises(ValueError, match="operators are"):
        wf.Reducer("mean")


@given(any_array(ALL, max_dims=1), st.data(), st.sampled_from(OPS), st.sampled_from([None, 1]))
def test_parts_are_merged_in_any_order(x, data, op, initial):
    parts, start = [], 0
    for chunk in chunks(data, x):
        parts.append(pickle.loads(pickle.dumps(wf.Nodes(chunk, start, op))))
        start += len(chunk)
    first, *others = data.draw(st.permutations(parts))
    for other in others:
        first.merge(other)
    assert first.ranges == ([(0, len(x))] if len(x) else [])
    whole = {"add": wf.sum, "multiply": wf.prod}.get(op)
    expected = whole(x, initial=initial) if whole else wf.reduce(x, op, initial=initial)
    same(first.value(len(x), initial=initial), expected)


def test_parts_are_checked():
    part = wf.Nodes([1.0, 2.0], 3)
    with pytest.raises(ValueError, match=r"\[3, 5\), not of \[0, 5\)"):
        part.value(5)
    with pytest.raises(ValueError, match="are there already"):
        part.merge(wf.Nodes([1.0], 4))
    with pytest.raises(TypeError, match="of add in float64, the others of maximum in float64"):
        part.merge(wf.Nodes([1.0], 0, "max"))
    with pytest.raises(TypeError, match="int64"):
        part.merge(wf.Nodes([1], 0))
    with pytest.raises(ValueError, match="negative"):
        wf.Nodes([1.0], -1)


INTERRUPTED = """
import signal, threading
import numpy as np
import warpfold as wf

# A job in the background of a shell is started with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupt():
    # Once the calls below have begun. They take much longer.
    threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()

x = np.zeros(1 << 31, "float16")  # no memory is touched but by reading
reducer, scanner = wf.Reducer("multiply"), wf.Scanner("add", "float16")
for call in [
    lambda: reducer.push(x),
    lambda: wf.prod(x),
    lambda: scanner.scan(x[: 1 << 29]),
    lambda: wf.cumsum(x[: 1 << 29]),
]:
    interrupt()
    try:
        call()
        print("went on")
    except KeyboardInterrupt:
        print("ended")
print(reducer.count, scanner.count)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a process alone")
def test_ctrl_c_ends_long_calls_and_leaves_streams_as_they_were():
    """A call that could not be cut would end, and the interrupt come after it."""
    shown = subprocess.check_output([sys.executable, "-c", INTERRUPTED], text=True).split()
    assert shown == ["ended"] * 4 + ["0", "0"]
