"""Calls from several threads at once. The interpreter may have a lock or none."""

import functools
import os
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import warpfold as wf
from law import bits

THREADS = 8


def at_once(*calls):
    """What the calls return, each from a thread of its own; they begin together."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def parts(result):
    return [bits(part) for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("length", [0, 1, 100, 100_000])
def test_calls_at_once_give_what_each_gives_alone(length):
    rng = np.random.default_rng(length)
    x = rng.standard_normal(length, "float32")
    k = rng.integers(0, 50, length)
    calls = [
        lambda: wf.sum(x),
        lambda: wf.mean(x[::-1]),
        lambda: (wf.var(x), wf.sum(x, where=x > 0)),
        lambda: wf.cumsum(x, exclusive=True),
        lambda: wf.sort(x),
        lambda: wf.argsort(x, descending=True),
        lambda: tuple(wf.topk(x, min(length, 7))),
        lambda: wf.unique(k, return_counts=True),
        lambda: wf.histogram(x, 20, (-1, 1)),
        lambda: wf.bincount(k),
        lambda: wf.bincount(k, x),
        lambda: wf.segment_reduce(x, [0, length // 3, length]),
        lambda: tuple(wf.group_by(k, x)),
        lambda: wf.compress(x > 0, x),
    ]
    alone = [parts(call()) for call in calls]
    for _ in range(3):
        assert [parts(result) for result in at_once(*calls)] == alone


def test_what_the_first_calls_set_up_is_set_up_once():
    """In a process whose first calls come from all threads at once."""
    code = f"""if True:
        import threading
        import numpy as np
        import warpfold as wf
        barrier, results = threading.Barrier({THREADS}), []
        x = np.arange(100_000, dtype="float64").reshape(10, -1)
        def first():
            barrier.wait()
            results.append((wf.sum(x), wf.cumsum(x, axis=0)[-1].sum(), len(wf.sort(x[0]))))
        threads = [threading.Thread(target=first) for _ in range({THREADS})]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert len(results) == {THREADS} and len(set(results)) == 1, results
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_errors_stay_in_their_thread():
    def wrong():
        with pytest.raises(ValueError, match="negative value, -1"):
            wf.bincount([3, -1])

    at_once(*[wrong] * THREADS, lambda: wf.sum([1.0]))


def test_streams_take_every_chunk_or_refuse_it():
    """Also the first chunk, with which a stream gets its dtype."""
    chunk = np.ones(40_000)
    for _ in range(20):
        total = wf.Reducer()

        def push(total=total):
            try:
                total.push(chunk)
            except RuntimeError as error:
                assert "another call uses this stream" in str(error)
                return 0
            return len(chunk)

        taken = sum(at_once(*[push] * THREADS))
        assert taken > 0
        assert total.value() == taken == total.count


def test_a_stream_refuses_a_call_within_a_call():
    total = wf.Reducer()

    class Chunk:
        def __array__(self, dtype=None, copy=None):
            total.push([1.0])

    with pytest.raises(RuntimeError, match="push them one after the other, or take warpfold.Nodes"):
        total.push(Chunk())
    total.push([2.0])
    assert total.value() == 2


def test_threads_merge_nodes():
    x = np.random.default_rng(0).standard_normal(80_000, "float32")
    step = len(x) // THREADS
    for _ in range(5):
        nodes = wf.Nodes(x[:0], 0)

        def merge(start, nodes=nodes):
            nodes.merge(wf.Nodes(x[start : start + step], start))

        at_once(*[functools.partial(merge, start) for start in range(0, len(x), step)])
        assert nodes.ranges == [(0, len(x))]
        assert nodes.value(len(x)) == wf.sum(x)


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="the interpreter has a lock"
)
def test_the_import_brings_no_lock():
    environment = {k: v for k, v in os.environ.items() if k != "PYTHON_GIL"}
    code = "import warnings; warnings.simplefilter('always'); import warpfold"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "load module 'warpfold" not in done.stderr
