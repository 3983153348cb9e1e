"""Arrays that are not plain ones of NumPy: taken, or refused with a reason."""

import os
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import warpfold as wf
from law import fold, same


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([1 + 2j]), r"complex128 is not supported: take x.real"),
        (np.array(["a"]), "is not supported"),
        (np.array([None]), "convert the array to a dtype of numbers"),
        (np.array(["2020"], "datetime64[Y]"), "NaT is the least number"),
        (np.zeros(2, "longdouble"), "float64"),
        (np.zeros(2, [("a", "i4")]), "is not supported"),
        (np.ma.masked_array([1, 2], [True, False]), "mask would be lost"),
        (object(), "no array of numbers"),
        ({1, 2}, "no array of numbers"),
    ],
)
def test_what_has_no_numbers_is_refused(x, message):
    for call in [wf.sum, wf.cumsum, wf.sort, wf.unique, wf.histogram]:
        with pytest.raises(TypeError, match=message):
            call(x)


def test_numbers_lists_and_arrays_without_axes():
    same(wf.sum(3), np.int64(3))
    same(wf.sum(np.float32(2.5)), np.float32(2.5))
    same(wf.max(np.array(7, "int8")), np.int8(7))
    same(wf.cumsum(5), np.array([5]))
    same(wf.sum([[1, 2], [3, 4]], 0), np.array([4, 6]))
    same(wf.mean(np.array(4)), np.float64(4))
    same(wf.argmax(np.array(4)), np.int64(0))
    with pytest.raises(np.exceptions.AxisError):
        wf.sort(np.array(4))
    with pytest.raises(np.exceptions.AxisError):
        wf.sum([1, 2], 1)
    with pytest.raises(ValueError, match="repeated"):
        wf.sum([[1]], (0, 0))


def test_of_nothing():
    nothing = np.empty(0, "float32")
    same(wf.sum(nothing), np.float32(0))
    same(wf.prod(nothing), np.float32(1))
    same(wf.cumsum(nothing), nothing)
    same(wf.sort(nothing), nothing)
    same(wf.unique(nothing), nothing)
    assert np.isnan(wf.mean(nothing)) and wf.all(nothing) and not wf.any(nothing)
    same(wf.reduce(nothing, "max"), np.float32(-np.inf))
    for call in [wf.min, wf.max, wf.argmin, wf.argmax]:
        with pytest.raises(ValueError, match="zero-size array"):
            call(nothing)
        with pytest.raises(ValueError, match="zero-size array"):
            call(np.empty((3, 0)), 1)
    same(wf.min(np.empty((0, 3)), 1), np.empty(0))
    same(wf.sum(np.empty((3, 0), "int8"), 1), np.zeros(3, "int64"))
    same(wf.min(nothing, initial=2.0), np.float32(2))


def test_initial_values_are_of_the_dtype():
    with pytest.raises(TypeError, match="2.5, which is not of dtype int64"):
        wf.sum([1, 2], initial=2.5)
    with pytest.raises(TypeError, match="not of dtype float64"):
        wf.sum([1.0], initial=np.complex128(1 + 2j))
    same(wf.sum([1.0], initial=np.int8(2)), np.float64(3))
    same(wf.sum([True], initial=True), np.int64(2))
    same(wf.max(np.array([1], "uint64"), initial=2**64 - 1), np.uint64(2**64 - 1))
    with pytest.raises(OverflowError):
        wf.max(np.array([1], "int8"), initial=300)
    with pytest.raises(TypeError):
        wf.sum([1.0], initial="1")
    with pytest.raises(ValueError, match="must be a number"):
        wf.sum([1.0], initial=[1.0, 2.0])


def test_subclasses_and_series_are_arrays():
    class Sub(np.ndarray):
        pass

    same(wf.sum(np.arange(3).view(Sub)), np.int64(3))
    assert type(wf.cumsum(np.arange(3).view(Sub))) is np.ndarray
    same(wf.sum(memoryview(b"abc")), np.uint64(294))


def test_bfloat16_is_a_dtype_with_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = ml_dtypes.bfloat16
    x = np.array([1.5, -2.0, 3.25, 256.0, 1.0], kind)
    assert wf.sum(x).dtype == kind and float(wf.sum(x)) == 260.0
    assert wf.sort(x).astype(float).tolist() == [-2.0, 1.0, 1.5, 3.25, 256.0]
    assert wf.cumsum(np.ones(300, kind))[-1] == 300
    assert wf.max(x) == 256 and wf.argmax(x) == 3 and wf.mean(x).dtype == kind
    assert float(wf.mean(x)) == 52.0
    assert wf.unique(x).dtype == kind and wf.select(x, (">", 1)).tolist() == [1.5, 3.25, 256.0]
    groups = wf.group_by([1, 0, 1, 0, 1], x)
    assert groups.values.astype(float).tolist() == [254.0, 5.75]
    assert wf.group_by(x, [1, 2, 3, 4, 5]).values.tolist() == [2, 5, 1, 3, 4]
    assert wf.sum(x, where=x > 1).astype(float) == 260.0
    assert wf.cumulative_sum(x, include_initial=True).dtype == kind
    assert wf.sum(np.stack([x, x]), 0).astype(float).tolist() == [3.0, -4.0, 6.5, 512.0, 2.0]
    assert wf.searchsorted(wf.sort(x), x).tolist() == [2, 0, 3, 4, 1]
    assert wf.sort(x, key="negative").tolist() == [256.0, 3.25, 1.5, 1.0, -2.0]
    assert wf.sort(x, key="negative").dtype == wf.sum(x, key="abs").dtype == kind
    with pytest.raises(TypeError, match="bfloat16"):
        wf.histogram(x)


class OnGpu:
    """As CuPy's arrays show themselves."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **_):
        raise AssertionError("the data must not be copied without a word")


class CudaOnly:
    __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (0, False), "version": 3}


def test_calls_for_the_host_copy_nothing_from_a_gpu():
    for x in [OnGpu(), CudaOnly()]:
        with pytest.raises(TypeError, match="on a GPU: .*copy it there first"):
            wf.unique(x)


class Exporter:
    """An array that is known by DLPack alone."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)


def test_arrays_come_by_dlpack():
    x = np.arange(6.0).reshape(2, 3)
    same(wf.sum(Exporter(x), 0), np.array([3.0, 5.0, 7.0]))
    same(wf.cumsum(Exporter(x[:, ::2]), 1), np.cumsum(x[:, ::2], 1))


def test_tensors_give_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    result = wf.cumsum(x, 1)
    assert isinstance(result, torch.Tensor) and torch.equal(result, torch.cumsum(x, 1))
    assert torch.equal(wf.cumsum(x.T, 0), torch.cumsum(x.T, 0))
    total = wf.sum(x)
    assert isinstance(total, torch.Tensor) and total.shape == () and total.item() == 15
    values, indices = wf.topk(x, 2)
    assert torch.equal(values, torch.topk(x, 2).values) and indices.dtype == torch.int64
    half = torch.tensor([1.5, 2.5, -1.0], dtype=torch.bfloat16)
    assert wf.sort(half).dtype == torch.bfloat16 and wf.sort(half).tolist() == [-1.0, 1.5, 2.5]
    assert wf.argsort(half).tolist() == [2, 0, 1]
    out = torch.empty(3)
    assert wf.sum(x, 0, out=out) is out and out.tolist() == [3, 5, 7]
    with pytest.raises(TypeError, match="detach"):
        wf.sum(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="to_dense"):
        wf.sum(x.to_sparse())
    with pytest.raises(TypeError, match="device meta"):
        wf.sum(torch.ones(2, device="meta"))
    with pytest.raises(TypeError, match="complex64 is not supported"):
        wf.sum(torch.ones(2, dtype=torch.complex64))
    assert wf.sum(x, dtype=torch.float64).dtype == torch.float64


def test_jax_arrays_give_jax_arrays():
    jnp = pytest.importorskip("jax.numpy")
    x = jnp.arange(6, dtype="float32").reshape(2, 3)
    result = wf.cumsum(x, 1)
    assert type(result) is type(x) and bool((result == jnp.cumsum(x, 1)).all())
    assert wf.argsort(x[0]).tolist() == [0, 1, 2]
    half = jnp.asarray([1.5, -1.0], "bfloat16")
    assert wf.sort(half).dtype == jnp.bfloat16 and wf.sort(half).tolist() == [-1.0, 1.5]
    assert wf.mean(jnp.ones(3, "int8")).dtype == "float32"
    with pytest.raises(OverflowError, match="jax_enable_x64"):
        wf.sum(jnp.full(4, 2**30, "int32"))
    with pytest.raises(TypeError, match="cannot be written"):
        wf.sum(x, out=x)


def test_threads_run_at_once():
    x = np.random.default_rng(0).standard_normal(2_000_000)
    expected, results = wf.sum(x), []
    threads = [threading.Thread(target=lambda: results.append(wf.sum(x))) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(results) == 8
    for result in results:
        same(result, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_processes_have_threads():
    """The parent's threads are not in a forked process: a call that waited for them would hang."""
    program = """
import os, signal, numpy as np, warpfold as wf
x = np.random.default_rng(0).standard_normal(3_000_000)
expected = wf.sum(x)
for generation in range(2):
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        os._exit(os.waitstatus_to_exitcode(status))
    signal.alarm(60)
    assert wf.sum(x) == expected and wf.cumsum(x)[-1] == expected
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=120)
    assert done.returncode == 0


def test_a_result_does_not_depend_on_threads():
    program = """
import numpy as np, warpfold as wf
x = np.random.default_rng(0).standard_normal(1_000_001)
print(wf.sum(x).hex(), wf.cumsum(x)[777_777].hex())
"""
    outputs = set()
    for threads in ["1", "2", "3"]:
        environment = {**os.environ, "RAYON_NUM_THREADS": threads}
        outputs.add(subprocess.check_output([sys.executable, "-c", program], env=environment))
    assert len(outputs) == 1
    x = np.random.default_rng(0).standard_normal(1_000_001)
    assert outputs.pop().split()[0].decode() == float(fold(x)).hex()


def test_results_can_be_written():
    x = np.array([3, 1, 2])
    for result in [
        wf.sort(x),
        wf.unique(x),
        wf.cumsum(x),
        wf.sum([[1, 2]], 0),
        wf.topk(x, 2).values,
    ]:
        result[0] = 9
        assert result[0] == 9


SHAPES = [(1, 5), (5, 1), (1,), (1, 1, 1), (2, 1, 3), (3, 0, 2), (0,), (4, 1, 1), (1, 4, 1, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", ["C", "F", "reversed", "broadcast"])
def test_axes_of_length_1_and_0(shape, layout):
    x = np.arange(np.prod(shape), dtype="int32").reshape(shape, order="F" if layout == "F" else "C")
    if layout == "reversed":
        x = np.flip(x)
    if layout == "broadcast":
        x = np.broadcast_to(x[..., :1], shape) if x.size else x
    for axis in range(len(shape)):
        same(wf.cumsum(x, axis), np.cumsum(x, axis))
        same(wf.sum(x, axis, keepdims=True), np.sum(x, axis, keepdims=True))
        same(wf.sort(x, axis), np.sort(x, axis))
        same(wf.argsort(x, axis), np.argsort(x, axis, kind="stable"))
        if shape[axis]:
            same(wf.max(x, axis), np.max(x, axis))
            same(wf.argmax(x, axis), np.argmax(x, axis))
        assert np.array_equal(
            wf.mean(x, axis),
            np.full_like(wf.mean(x, axis), np.nan) if not shape[axis] else np.mean(x, axis),
            equal_nan=True,
        )
    for axes in [(), (0,), tuple(range(len(shape)))]:
        same(wf.sum(x, axes), np.sum(x, axes))
        same(wf.count_nonzero(x, axes), np.asarray(np.count_nonzero(x, axes), "int64")[()])
        same(wf.any(x, axes), np.any(x, axes))
    same(wf.sum(x, (), keepdims=True), np.sum(x, (), keepdims=True))


def test_a_device_that_is_not_there_is_an_error():
    environment = {**os.environ, "WARPFOLD_DEVICE": "cuda"}
    program = (
        "import warpfold\ntry: warpfold.sum([1.0])\nexcept RuntimeError as error: print(error)"
    )
    shown = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert "cuda" in shown and "remedy" in shown


def test_errors_say_what_to_do():
    x = np.ones((2, 3))
    for axis in [1.0, True, "0", (0, 1.5)]:
        with pytest.raises(TypeError, match="it must be an integer"):
            wf.sum(x, axis=axis)
    for axis in ["0", 1.0, True]:
        with pytest.raises(TypeError, match="it must be an integer"):
            wf.sort(x, axis=axis)
    with pytest.raises(np.exceptions.AxisError, match="^axis 2 is out of bounds"):
        wf.cumsum(x, axis=2)
    for item in [2**64, None, Decimal(1), Fraction(1, 3)]:
        with pytest.raises(TypeError, match="no array of numbers: convert it, as by np.asarray"):
            wf.sum([item])
    for where in [">1", (1, ">"), lambda x: x > 1]:
        with pytest.raises(TypeError, match="flags, or a comparison such as"):
            wf.select([1, 2], where)


def test_series_are_read_as_arrays():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, np.nan, 3.0], index=[5, 6, 7])
    assert np.isnan(wf.sum(series)) and np.sum(series) == 4
    assert type(wf.cumsum(series)) is np.ndarray
    same(wf.sum(series.dropna()), np.float64(4))
